/* A tokenizer.json of any kind, optionally followed by a 0 byte and tokenizer_config.json. */
#include "fuzz.h"

void fuzz_one(const char *bytes, size_t size)
{
    static const char *const names[] = {"tokenizer.json", "tokenizer_config.json"};
    struct folder_file files[2];
    struct folder folder = {"folder", files, 0};
    struct fuzz_parts parts;
    fuzz_split(&parts, bytes, size);
    for (; folder.file_count < parts.count && folder.file_count < 2; folder.file_count++) {
        size_t i = folder.file_count;
        files[i] = (struct folder_file){names[i], parts.parts[i], parts.sizes[i]};
    }
    fuzz_tokenizer(&folder);
    fuzz_release(&parts);
}
