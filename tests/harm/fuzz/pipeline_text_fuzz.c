/* A text for a tokenizer of tests/texts/tokenizers, selected by its first byte. */
#include "fuzz.h"

#include <stdio.h>

void fuzz_one(const char *bytes, size_t size)
{
    static const char *const names[] = {
        "gemma-like", "gpt-neox-like", "llama-2-like", "llama-3-like", "mistral-metaspace-like",
        "qwen2-like", "smollm2-like",
    };
    enum { NAMES = sizeof names / sizeof *names, PATH_BYTES = 64 };
    static struct tokenizer *tokenizers[NAMES];
    char path[PATH_BYTES];
    size_t i = size ? (unsigned char)bytes[0] % NAMES : 0;
    snprintf(path, sizeof path, "tests/texts/tokenizers/%s", names[i]);
    const struct folder folder = {.path = path};
    if (!tokenizers[i])
        fuzz_check(!tokenizer_open(&tokenizers[i], &folder, &fuzz_err), "a tokenizer");
    if (size)
        fuzz_encode(tokenizers[i], bytes + 1, size - 1, false);
}
