/* Merges, read from both kinds of files and applied to pieces. */
#include "text/subword/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "base/memory.h"

/* --- merges ----------------------------------------------------------------------------------- */

/* ids: 0 a, 1 b, 2 c, 3 a blank, 4 ab, 5 abc, 6 " a", 7 "a b" (a text), 8 爱, 9 爱a (texts), 10 aa */
static const char vocab[] =
    "[\"a\", \"b\", \"c\", \"\\u0120\", \"ab\", \"abc\", \"Ġa\", \"a b\", \"爱\", \"爱a\", \"aa\"]";

static void open_json(struct json_cursor *cursor, const char *json)
{
    ck_assert_int_eq(json_cursor_open(cursor, NULL, json, strlen(json), NULL), 0);
}

/* Read merges from lines or, if the text begins with a bracket, from JSON. */
static int read_merges(struct bpe *bpe, const char *merges, size_t prefix, struct err *err)
{
    struct word_table words = {0};
    struct json_cursor cursor;
    open_json(&cursor, vocab);
    ck_assert_int_eq(word_table_read(&words, cursor, WORD_BYTES, strlen(vocab), NULL), 0);
    bpe_init(bpe, &words);
    ck_assert_uint_eq(bpe->byte_ids[' '], 3);
    ck_assert_uint_eq(bpe->byte_ids['d'], BPE_NONE);
    if (*merges == '[')
        open_json(&cursor, merges);
    int failed = *merges == '[' ? merges_read_json(bpe, cursor, prefix, err)
                                : merges_read_lines(bpe, merges, strlen(merges), err);
    word_table_release(&words);
    return failed;
}

TEST(merges_have_the_order_of_the_file)
{
    static const char three[] = "0 1 4,4 2 5,3 0 6,";
    static const struct {
        const char *merges;
        size_t prefix;
        const char *expected;
    } cases[] = {
        {"#version: 0.2\na b\nab c\nĠ a\n", 0, three},
        {"a b\nab c\nĠ a", 0, three},
        {"#version: 0.2\r\na b\r\nab c\r\nĠ a\r\n", 0, three},
        {"a b\n#version: 0.2\nab c\nĠ a\n\n", 0, three},
        {"[\"a b\", \"ab c\", \"\\u0120 a\"]", 0, three},
        {"[[\"a\", \"b\"], [\"ab\",\"c\"] , [\"Ġ\", \"a\"]]", 0, three},
        {"[ [ \"\\u0061\" , \"b\" ], \"ab c\", \"Ġ a\"]", 0, three},
        {"", 0, ""},
        {"#version: 0.2", 0, ""},
        {"\n", 0, ""},
        {"[]", 0, ""},
        {"爱 a\n", 0, "8 0 9,"}, /* not in the byte alphabet */
        {"[[\"爱\", \"a\"]]", 0, "8 0 9,"},
        {"[\"a Ġa\"]", 2, "0 6 10,"}, /* the prefix is removed */
        {"[[\"a\", \"Ġa\"]]", 2, "0 6 10,"},
        {"[\"a b\"]", 1, "0 1 4,"}, /* but not from a part that is not longer */
        {"[\"a b\"]", 9, "0 1 4,"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bpe bpe;
        struct err err = {0};
        struct buf found = {0};
        ck_assert_msg(!read_merges(&bpe, cases[i].merges, cases[i].prefix, &err), "%s", err.text);
        buf_text(&found, "");
        for (size_t k = 0; k < bpe.count; k++) {
            ck_assert_uint_eq(bpe.merges[k].rank, k);
            buf_format(&found, "%u %u %u,", bpe.merges[k].left, bpe.merges[k].right,
                       bpe.merges[k].id);
        }
        ck_assert_str_eq(found.bytes, cases[i].expected);
        buf_release(&found);
        bpe_release(&bpe);
    }
}

/* --- pieces ----------------------------------------------------------------------------------- */

enum { TEXT_BYTES = 600, LETTERS = 4 };

/* The ids of a, b, c and d are 0 to 3; ids of merges begin with 4. */
static void open_letters(struct bpe *bpe, struct word_table *words, const struct bpe_merge *merges,
                         size_t count)
{
    *words = (struct word_table){.form = WORD_BYTES};
    ck_assert_int_eq(word_table_begin(words, LETTERS, LETTERS, NULL), 0);
    for (size_t id = 0; id < LETTERS; id++)
        ck_assert_int_eq(word_table_add(words, (struct word){&"abcd"[id], 1}, id, NULL), 0);
    bpe_init(bpe, words);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(bpe_add(bpe, &merges[i], NULL), 0);
    ck_assert_int_eq(bpe_index(bpe, NULL), 0);
}

static void close_letters(struct bpe *bpe, struct word_table *words)
{
    bpe_release(bpe);
    word_table_release(words);
}

static void expect_token(struct bpe_token found, uint32_t id, uint32_t start, uint32_t end)
{
    ck_assert_uint_eq(found.id, id);
    ck_assert_uint_eq(found.start, start);
    ck_assert_uint_eq(found.end, end);
}

/* One merge at a time, comparing all pairs; the last of several merges of a pair counts. */
static size_t slow_encode(const struct bpe *bpe, struct bpe_token *tokens, const char *text,
                          size_t size)
{
    size_t count = size;
    for (uint32_t i = 0; i < size; i++)
        tokens[i] = (struct bpe_token){
            .id = bpe->byte_ids[(unsigned char)text[i]], .start = i, .end = i + 1};
    for (;;) {
        const struct bpe_merge *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            const struct bpe_merge *merge = NULL;
            for (size_t k = 0; k < bpe->count; k++)
                if (bpe->merges[k].left == tokens[i].id && bpe->merges[k].right == tokens[i + 1].id)
                    merge = &bpe->merges[k];
            if (!merge || (best && merge->rank >= best->rank))
                continue;
            best = merge;
            at = i;
        }
        if (!best)
            return count;
        tokens[at].id = best->id;
        tokens[at].end = tokens[at + 1].end;
        count--;
        memmove(&tokens[at + 1], &tokens[at + 2], (count - at - 1) * sizeof *tokens);
    }
}

/* Random merges of any two tokens; some have the same result or the same rank. */
static size_t draw_merges(struct bpe_merge *merges, size_t count, unsigned *seed)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t known = LETTERS + i;
        uint32_t left = (uint32_t)rand_r(seed) % known;
        merges[i] = (struct bpe_merge){
            .left = left,
            .right = i % 3 ? (uint32_t)rand_r(seed) % known : left,
            .id = LETTERS + (i % 2 ? i : (uint32_t)rand_r(seed) % (i + 1)),
            .rank = (uint32_t)rand_r(seed) % 24,
        };
    }
    return count;
}

TEST(merging_agrees_with_comparing_all_pairs)
{
    enum { MERGES = 30 };
    unsigned seed = 1;
    size_t joined = 0;
    struct bpe_piece piece = {0};
    for (size_t round = 0; round < 400 / one_of(2); round++) {
        struct bpe_merge merges[MERGES];
        struct bpe_token tokens[TEXT_BYTES];
        char text[TEXT_BYTES];
        struct word_table words;
        struct bpe bpe;
        size_t size = 1 + (size_t)rand_r(&seed) % (round % 3 ? TEXT_BYTES : 30);
        size_t most = round % 2 ? 1 : 1 + (size_t)rand_r(&seed) % TEXT_BYTES; /* runs of letters */
        open_letters(&bpe, &words, merges, draw_merges(merges, MERGES, &seed));
        for (size_t at = 0, end; at < size; at = end) {
            end = at + 1 + (size_t)rand_r(&seed) % most;
            end = end < size ? end : size;
            memset(text + at, 'a' + (rand_r(&seed) >> 4) % LETTERS, end - at);
        }
        size_t count = slow_encode(&bpe, tokens, text, size);
        ck_assert_int_eq(bpe_encode(&bpe, &piece, text, size, NULL), 0);
        ck_assert_uint_eq(piece.count, count);
        for (size_t i = 0; i < count; i++)
            expect_token(piece.tokens[i], tokens[i].id, tokens[i].start, tokens[i].end);
        joined += size - count;
        close_letters(&bpe, &words);
    }
    bpe_piece_release(&piece);
    ck_assert_uint_gt(joined, 5000 / one_of(2));
}

TEST(a_byte_without_a_token_is_dropped_and_its_neighbours_are_joined)
{
    static const struct bpe_merge merge = {0, 1, 4, 0};
    struct word_table words;
    struct bpe bpe;
    struct bpe_piece piece = {0};
    open_letters(&bpe, &words, &merge, 1);
    ck_assert_int_eq(bpe_encode(&bpe, &piece, "ca!bd?", 6, NULL), 0);
    ck_assert_uint_eq(piece.count, 3);
    expect_token(piece.tokens[1], 4, 1, 4);
    ck_assert_uint_eq(piece.dropped, 2);
    expect_token(piece.dropped_first, BPE_NONE, 2, 3);
    ck_assert_int_eq(bpe_encode(&bpe, &piece, "!", 1, NULL), 0);
    ck_assert_uint_eq(piece.count, 0);
    bpe_piece_release(&piece);
    close_letters(&bpe, &words);
}

TEST(sizes_above_the_limits_are_refused)
{
    struct word_table words;
    struct bpe bpe;
    struct bpe_piece piece = {0};
    struct err err = {0};
    open_letters(&bpe, &words, NULL, 0);
    ck_assert_int_eq(bpe_encode(&bpe, &piece, "a", (size_t)INT32_MAX, &err), -1);
    ck_assert_str_eq(err.text,
                     "expected at most 1073741823 bytes without a split, found 2147483647");
    err_clear(&err);
    bpe.count = HASH_NUMBER_MAX;
    ck_assert_int_eq(bpe_add(&bpe, &(struct bpe_merge){0}, &err), -1);
    ck_assert_str_eq(err.text, "expected at most 16777214 merges, found more");
    close_letters(&bpe, &words);
}

TEST(a_failed_allocation_is_an_error)
{
    struct bpe_piece piece = {0};
    bool came = true;
    for (size_t nth = 1; came; nth++) { /* reuses the piece after a failure */
        struct word_table words = {0};
        struct json_cursor cursor;
        struct bpe bpe;
        struct err err = {0};
        open_json(&cursor, vocab);
        ck_assert_int_eq(word_table_read(&words, cursor, WORD_BYTES, strlen(vocab), NULL), 0);
        bpe_init(&bpe, &words);
        heap_fail_at(nth, 0);
        int failed =
            merges_read_lines(&bpe, "a b\n", 4, &err) || bpe_encode(&bpe, &piece, "abc", 3, &err);
        came = heap_has_failed();
        heap_fail_at(0, 0);
        ck_assert_int_eq(failed, came);
        ck_assert_int_eq(err.out_of_memory, came);
        bpe_release(&bpe);
        word_table_release(&words);
    }
    bpe_piece_release(&piece);
}
