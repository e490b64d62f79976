/* gguf_pre.c: ways in which byte-level BPE cuts texts, as llama.cpp calls them. */
#include <string.h>

#include "format/json.h"
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

int gguf_refuse_stage(const char *type, struct err *err)
{
    return err_unsupported(err,
                           "expected a byte-level BPE that a tokenizer.ggml.pre of GGUF names, "
                           "found another '%s': without its tokenizer's files a model is written "
                           "for ids",
                           type);
}

/* One of those that rows have, and the only one: false where it is not. */
static bool take_pattern(struct gguf_pre *pre, const struct splitter_pattern *pattern)
{
    if (pre->pattern >= 0)
        return false;
    for (int i = 0; i < PATTERN_COUNT; i++)
        if (pattern == &splitter_patterns[i])
            pre->pattern = i;
    return pre->pattern >= 0;
}

/* A pre-tokenizer, or those of a Sequence. */
static int read_cut(struct gguf_pre *pre, const struct json *stage, struct err *err)
{
    const char *type = "";
    const char *regex = "";
    const char *behavior = "";
    bool with_regex = true;
    bool prefixes = true;
    bool flag = false;
    if (json_text(stage, "type", &type, err))
        return -1;
    if (strcmp(type, "ByteLevel") == 0) {
        if (json_bool(stage, "use_regex", &with_regex, err) ||
            json_bool(stage, "add_prefix_space", &prefixes, err))
            return -1;
        if (with_regex && !take_pattern(pre, &splitter_patterns[PATTERN_GPT2]))
            return gguf_refuse_stage("use_regex", err);
        return prefixes ? gguf_refuse_stage("add_prefix_space", err) : 0;
    }
    if (strcmp(type, "Digits") == 0) {
        if (json_bool(stage, "individual_digits", &pre->digits, err))
            return -1;
        return pre->digits ? 0 : gguf_refuse_stage(type, err);
    }
    if (strcmp(type, "Split") == 0) {
        if (json_text(json_member(stage, "pattern"), "Regex", &regex, err) ||
            json_text(stage, "behavior", &behavior, err) || json_bool(stage, "invert", &flag, err))
            return -1;
        bool is_known =
            !flag && strcmp(behavior, "Isolated") == 0 && take_pattern(pre, splitter_find(regex));
        return is_known ? 0 : gguf_refuse_stage(type, err);
    }
    return gguf_refuse_stage(type, err);
}

static int read_cuts(struct gguf_pre *pre, const struct json *stage, struct err *err)
{
    const struct json *several = json_member(stage, "pretokenizers");
    if (!several)
        return read_cut(pre, stage, err);
    for (const struct json *one = json_first(several); one; one = json_next(one))
        if (read_cut(pre, one, err))
            return -1;
    return 0;
}

int gguf_read_pre(const struct gguf_pre **row, const struct json *normalizer,
                  const struct json *cuts, bool takes_whole, struct err *err)
{
    struct gguf_pre pre = {.pattern = -1, .takes_whole = takes_whole};
    const char *type = "BPE";
    if (normalizer && json_text(normalizer, "type", &type, err))
        return -1;
    pre.composes = normalizer && strcmp(type, "NFC") == 0;
    if (normalizer && !pre.composes)
        return gguf_refuse_stage(type, err);
    if (cuts && read_cuts(&pre, cuts, err))
        return -1;
    for (size_t i = 0; cuts && i < sizeof pre_rows / sizeof *pre_rows; i++) {
        *row = &pre_rows[i];
        if ((*row)->pattern == pre.pattern && (*row)->digits == pre.digits &&
            (*row)->composes == pre.composes && (*row)->takes_whole == pre.takes_whole)
            return 0;
    }
    return gguf_refuse_stage("pre_tokenizer", err);
}
