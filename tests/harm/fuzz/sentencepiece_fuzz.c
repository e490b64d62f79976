/* A tokenizer.model of SentencePiece. */
#include "fuzz.h"

void fuzz_one(const char *bytes, size_t size)
{
    struct folder_file file = {"tokenizer.model", bytes, size};
    struct folder folder = {"folder", &file, 1};
    fuzz_tokenizer(&folder);
}
