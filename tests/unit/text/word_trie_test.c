#include "text/word_table.h"

#include "../unit.h"

enum { SECONDS = 90 }; /* words that begin with the same byte */

static struct word nth(char bytes[2], size_t n)
{
    bytes[0] = (char)('!' + n / SECONDS);
    bytes[1] = (char)('!' + n % SECONDS);
    return (struct word){bytes, 2};
}

static uint32_t find(const struct word_trie *trie, struct word word)
{
    uint32_t node = 0;
    for (size_t i = 0; i < word.size; i++)
        if (!(node = word_trie_step(trie, node, (unsigned char)word.bytes[i])))
            return WORD_TRIE_NONE;
    return trie->ids[node];
}

/* Words are added in groups of sixteen. Memory for 1024 nodes is doubled inside of a group: at 1 +
 * 12 + 1011 nodes, and at 1 + 23 + 2024. */
static const size_t counts[] = {1,    2,    15,   16,   17,   32,   999,  1010, 1011, 1012,
                                1013, 1023, 1024, 1025, 1040, 2023, 2024, 2025, 2048, 5000};

TEST_LOOP(all_words_are_found_and_no_others, COUNT(counts))
{
    char bytes[2];
    size_t count = counts[_i];
    struct word_table words = {.form = WORD_TEXT};
    struct word_trie trie = {0};
    ck_assert_int_eq(word_table_begin(&words, count, 2 * count, NULL), 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(word_table_add(&words, nth(bytes, i), i, NULL), 0);
    ck_assert_int_eq(word_trie_init(&trie, &words, NULL), 0);
    ck_assert_uint_eq(trie.count, 1 + (count + SECONDS - 1) / SECONDS + count);
    ck_assert_uint_eq(trie.longest, 2);
    for (size_t i = 0; i < count + 100; i++)
        ck_assert_uint_eq(find(&trie, nth(bytes, i)), i < count ? i : WORD_TRIE_NONE);
    ck_assert_uint_eq(find(&trie, (struct word){"!", 1}), WORD_TRIE_NONE);
    word_trie_release(&trie);
    word_table_release(&words);
}
