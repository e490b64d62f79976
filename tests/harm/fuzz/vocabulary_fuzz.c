/* vocab.json, alone a vocabulary of words; further files, each after a 0 byte: merges.txt for
 * byte-level BPE, tokenizer_config.json, added_tokens.json, special_tokens_map.json. */
#include "fuzz.h"

void fuzz_one(const char *bytes, size_t size)
{
    static const char *const names[] = {"vocab.json", "merges.txt", "tokenizer_config.json",
                                        "added_tokens.json", "special_tokens_map.json"};
    enum { NAMES = sizeof names / sizeof *names };
    struct folder_file files[NAMES];
    struct folder folder = {"folder", files, 0};
    struct fuzz_parts parts;
    fuzz_split(&parts, bytes, size);
    for (; folder.file_count < parts.count && folder.file_count < NAMES; folder.file_count++) {
        size_t i = folder.file_count;
        files[i] = (struct folder_file){names[i], parts.parts[i], parts.sizes[i]};
    }
    fuzz_tokenizer(&folder);
    fuzz_release(&parts);
}
