/* gguf_pre.c: ways in which byte-level BPE cuts texts, as llama.cpp calls them. */
#include <string.h>

#include "model/gguf/gguf_model.h"
#include "text/splitter.h"

static const struct gguf_pre pre_rows[] = {
    {"gpt-2", PATTERN_GPT2},
    {"phi-2", PATTERN_GPT2},
    {"olmo", PATTERN_GPT2, false, true},
    {"llama-bpe", PATTERN_LLAMA3, false, false, true, true},
    {"llama3", PATTERN_LLAMA3, false, false, true, true},
    {"llama-v3", PATTERN_LLAMA3, false, false, true, true},
    {"qwen2", PATTERN_QWEN2, false, true},
    {"deepseek-r1-qwen", PATTERN_QWEN2, false, true},
    {"smollm", PATTERN_GPT2, true},
};

const struct gguf_pre *gguf_find_pre(struct gguf_text name)
{
    for (size_t i = 0; i < sizeof pre_rows / sizeof *pre_rows; i++)
        if (gguf_is(name, pre_rows[i].name))
            return &pre_rows[i];
    return NULL;
}
