/* A text for byte-level BPE with the vocabulary of tests/texts/bpe. */
#include "fuzz.h"

#include "base/utf8.h"

void fuzz_one(const char *bytes, size_t size)
{
    static struct tokenizer *tokenizer;
    struct folder folder = {.path = "tests/texts/bpe"};
    if (!tokenizer)
        fuzz_check(!tokenizer_open(&tokenizer, &folder, &fuzz_err), "a vocabulary");
    fuzz_encode(tokenizer, bytes, size, true);
}
