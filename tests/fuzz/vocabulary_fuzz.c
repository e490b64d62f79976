/* vocab.json, which alone is a vocabulary of words; with a byte of 0 and merges.txt behind it that
 * of byte-level BPE; and in the same way tokenizer_config.json, added_tokens.json and
 * special_tokens_map.json. */
#include "fuzz.h"

#include <string.h>

#include "text/word_table.h"

static void expect_same(const struct word_table *a, const struct word_table *b)
{
    fuzz_check(a->size == b->size, "a scan finds as many words");
    for (uint32_t id = 0; id < a->size; id++) {
        size_t sizes[2] = {0};
        const char *one = word_table_word(a, id, &sizes[0]);
        const char *other = word_table_word(b, id, &sizes[1]);
        fuzz_check(!one == !other && sizes[0] == sizes[1], "a scan finds words of the same size");
        fuzz_check(!one || memcmp(one, other, sizes[0]) == 0, "a scan finds the same words");
    }
}

/* What is scanned is read in the same way, and refused for nothing but a word that stands twice. */
static void scan(const char *bytes, size_t size)
{
    struct word_table scanned;
    struct word_table whole;
    struct json_cursor words;
    bool plain = false;
    bool single = true;
    fuzz_check(word_table_scan(&scanned, &plain, bytes, size, NULL) == 0, "there is memory");
    if (!plain)
        return;
    fuzz_check(word_table_index(&scanned, &single, NULL) == 0, "there is memory");
    fuzz_check(json_cursor_open(&words, NULL, bytes, size, NULL) == 0, "what is scanned is JSON");
    bool refused = word_table_read(&whole, words, WORD_BYTES, size, NULL);
    fuzz_check(refused == !single, "a scan takes what is no vocabulary");
    if (!refused)
        expect_same(&scanned, &whole);
    word_table_release(&scanned);
    if (!refused)
        word_table_release(&whole);
}

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
    scan(parts.parts[0], parts.sizes[0]);
    fuzz_tokenizer(&folder);
    fuzz_release(&parts);
}
