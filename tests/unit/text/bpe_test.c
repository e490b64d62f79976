#include "text/subword/bpe.h"

#include <stdlib.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "base/heap.h"

enum { TEXT_BYTES = 600 };

/* What is added to the id of a, b, c or d, where they are last or go a piece on. */
enum { LATER = 18, LAST = 22 };

/* Tokens are their bytes' ids: a is 0, b is 1, …, and what merges make follows from 26 on. */
static void open_letters(struct bpe *bpe, const struct bpe_merge *merges, size_t count)
{
    ck_assert_int_eq(bpe_init(bpe, count, NULL), 0);
    for (uint32_t c = 0; c < 26; c++)
        bpe->byte_ids['a' + c] = c;
    for (size_t i = 0; i < count; i++)
        bpe_add(bpe, &merges[i]);
    bpe_index(bpe);
}

/* a b -> 26 (ab), ab c -> 27 (abc), b c -> 28 (bc), a a -> 29 (aa), aa aa -> 30 */
static const struct bpe_merge few[] = {
    {0, 1, 26}, {26, 2, 27}, {1, 2, 28}, {0, 0, 29}, {29, 29, 30},
};

static void expect_token(struct bpe_token found, struct bpe_token expected)
{
    ck_assert_uint_eq(found.id, expected.id);
    ck_assert_uint_eq(found.start, expected.start);
    ck_assert_uint_eq(found.end, expected.end);
}

static void expect_tokens(const struct bpe *bpe, const char *text, const struct bpe_token *tokens,
                          size_t count)
{
    struct bpe_piece piece = {0};
    ck_assert_int_eq(bpe_encode(bpe, &piece, text, strlen(text), NULL), 0);
    ck_assert_uint_eq(piece.count, count);
    for (size_t i = 0; i < count; i++)
        expect_token(piece.tokens[i], tokens[i]);
    bpe_piece_release(&piece);
}

TEST(the_lowest_rank_is_joined_first_from_left_to_right)
{
    static const struct {
        const char *text;
        size_t count;
        struct bpe_token tokens[8];
    } cases[] = {
        {"a", 1, {{0, 0, 1}}},
        {"ab", 1, {{26, 0, 2}}},
        {"abc", 1, {{27, 0, 3}}},
        {"bc", 1, {{28, 0, 2}}},
        {"bcab", 2, {{28, 0, 2}, {26, 2, 4}}},
        {"aabc", 2, {{0, 0, 1}, {27, 1, 4}}},
        {"aaa", 2, {{29, 0, 2}, {0, 2, 3}}},
        {"aaaa", 1, {{30, 0, 4}}},
        {"aaaaaaa", 3, {{30, 0, 4}, {29, 4, 6}, {0, 6, 7}}},
        {"xyz", 3, {{23, 0, 1}, {24, 1, 2}, {25, 2, 3}}},
    };
    struct bpe bpe;
    open_letters(&bpe, few, COUNT(few));
    for (size_t i = 0; i < COUNT(cases); i++)
        expect_tokens(&bpe, cases[i].text, cases[i].tokens, cases[i].count);
    bpe_release(&bpe);
}

TEST(a_merge_may_have_a_lower_rank_than_its_parts)
{
    static const struct bpe_merge merges[] = {{26, 2, 27}, {0, 1, 26}}; /* ab c, a b */
    static const struct bpe_token tokens[] = {{27, 0, 3}, {26, 3, 5}};
    struct bpe bpe;
    open_letters(&bpe, merges, COUNT(merges));
    expect_tokens(&bpe, "abcab", tokens, 2);
    bpe_release(&bpe);
}

TEST(of_a_pair_that_comes_twice_the_last_rank_counts)
{
    static const struct bpe_merge merges[] = {{0, 1, 26}, {1, 2, 28}, {0, 1, 26}};
    static const struct bpe_token tokens[] = {{0, 0, 1}, {28, 1, 3}};
    struct bpe bpe;
    open_letters(&bpe, merges, COUNT(merges));
    expect_tokens(&bpe, "abc", tokens, 2);
    bpe_release(&bpe);
}

/* --- the judge: one merge after the other, all pairs looked at for each ----------------------- */

static size_t slow_rank(const struct bpe *bpe, uint32_t left, uint32_t right)
{
    size_t rank = bpe->count;
    while (rank > 0 && (bpe->merges[rank - 1].left != left || bpe->merges[rank - 1].right != right))
        rank--;
    return rank ? rank - 1 : SIZE_MAX;
}

static size_t slow_encode(const struct bpe *bpe, struct bpe_token *tokens, const char *text,
                          size_t size)
{
    size_t count = size;
    for (size_t i = 0; i < size; i++) {
        uint32_t id = bpe->byte_ids[(unsigned char)text[i]];
        id += bpe->suffix.size && i + 1 == size ? LAST : bpe->prefix.size && i > 0 ? LATER : 0;
        tokens[i] = (struct bpe_token){id, (uint32_t)i, (uint32_t)i + 1};
    }
    for (;;) {
        size_t best = SIZE_MAX;
        size_t at = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            size_t rank = slow_rank(bpe, tokens[i].id, tokens[i + 1].id);
            if (rank < best) {
                best = rank;
                at = i;
            }
        }
        if (best == SIZE_MAX)
            return count;
        tokens[at] = (struct bpe_token){bpe->merges[best].id, tokens[at].start, tokens[at + 1].end};
        for (size_t i = at + 1; i + 1 < count; i++)
            tokens[i] = tokens[i + 1];
        count--;
    }
}

/* Merges of any two tokens that there are, so that ranks and lengths have no order; some make what
 * another one makes, too, so that pairs of a rank do not come up from left to right. */
static void open_random_of(struct bpe *bpe, unsigned *seed, uint32_t letters)
{
    enum { MERGES = 30, PLAIN = 4 };
    struct bpe_merge merges[MERGES];
    for (uint32_t i = 0; i < MERGES; i++) {
        uint32_t known = letters + i; /* ids from 26 on stand for the last of them */
        uint32_t left = (uint32_t)rand_r(seed) % known;
        uint32_t right = i % 3 ? (uint32_t)rand_r(seed) % known : left; /* aaa: the left two */
        merges[i].left = left < PLAIN ? left : 26 - letters + left;
        merges[i].right = right < PLAIN ? right : 26 - letters + right;
        merges[i].id = 26 + (i % 2 ? i : (uint32_t)rand_r(seed) % (i + 1));
    }
    for (uint32_t i = MERGES - 1; i > 0; i--) { /* in any order */
        uint32_t other = (uint32_t)rand_r(seed) % (i + 1);
        struct bpe_merge swapped = merges[i];
        merges[i] = merges[other];
        merges[other] = swapped;
    }
    open_letters(bpe, merges, MERGES);
}

static void open_random(struct bpe *bpe, unsigned *seed)
{
    open_random_of(bpe, seed, 4);
}

static size_t expect_slow(const struct bpe *bpe, struct bpe_piece *piece, const char *text,
                          size_t size)
{
    struct bpe_token tokens[TEXT_BYTES];
    size_t seen = 0;
    size_t count = slow_encode(bpe, tokens, text, size);
    ck_assert_int_eq(bpe_encode(bpe, piece, text, size, NULL), 0);
    do
        for (size_t i = 0; i < piece->count; i++, seen++)
            expect_token(piece->tokens[i], seen < count ? tokens[seen] : (struct bpe_token){0});
    while (bpe_go_on(piece));
    ck_assert_uint_eq(seen, count);
    return seen;
}

TEST(short_and_long_pieces_are_what_the_slow_way_makes_of_them)
{
    unsigned seed = 1;
    size_t merged = 0;
    struct bpe_piece piece = {0};
    for (size_t round = 0; round < 200 / one_of(2); round++) {
        char text[TEXT_BYTES];
        struct bpe bpe;
        size_t most = round % 2 ? BPE_SHORT_TOKENS : TEXT_BYTES;
        size_t size = 1 + (size_t)rand_r(&seed) % most;
        open_random(&bpe, &seed);
        for (size_t i = 0; i < size; i++)
            text[i] = (char)('a' + (rand_r(&seed) >> 4) % 4);
        merged += size - expect_slow(&bpe, &piece, text, size);
        bpe_release(&bpe);
        bpe_piece_release(&piece); /* its queue is of these merges */
    }
    ck_assert_uint_gt(merged, 5000 / one_of(2));
}

/* Few characters many times, at which no one looks one by one. */
TEST(runs_are_what_the_slow_way_makes_of_them)
{
    unsigned seed = 1;
    struct bpe_piece piece = {0};
    for (size_t round = 0; round < 400 / one_of(2); round++) {
        char text[TEXT_BYTES];
        struct bpe bpe;
        size_t size = 0;
        size_t most = 1 + (size_t)rand_r(&seed) % TEXT_BYTES;
        open_random(&bpe, &seed);
        while (size < TEXT_BYTES) {
            size_t count = 1 + (size_t)rand_r(&seed) % most;
            count = count < TEXT_BYTES - size ? count : TEXT_BYTES - size;
            memset(text + size, 'a' + (rand_r(&seed) >> 4) % 4, count);
            size += count;
        }
        expect_slow(&bpe, &piece, text, TEXT_BYTES);
        bpe_release(&bpe);
        bpe_piece_release(&piece);
    }
}

/* Tokens of four letters that go a piece on, or are its last, or both, and of the letters. */
static void open_affixed(struct bpe *bpe, struct word_table *words, const char *letters,
                         size_t round)
{
    bpe->words = words;
    *(round % 2 ? &bpe->suffix : &bpe->prefix) = (struct word){round % 2 ? "$" : "#", 1};
    ck_assert_int_eq(word_table_begin(words, 16, 64, NULL), 0);
    for (uint32_t i = 0; i < 4; i++) {
        char both[] = {'#', letters[i], '$'};
        bpe->byte_ids[(unsigned char)letters[i]] = i;
        ck_assert_int_eq(word_table_add(words, (struct word){both, 2}, LATER + i, NULL), 0);
        ck_assert_int_eq(word_table_add(words, (struct word){both + 1, 2}, LAST + i, NULL), 0);
        ck_assert_int_eq(word_table_add(words, (struct word){both, 3}, i, NULL), 0);
    }
}

/* A character that goes a piece on, or is its last, is another token than the same elsewhere. Of
 * several bytes, each a token: what is joined first is within one, or of two of them. */
TEST(characters_in_a_row_are_what_the_slow_way_makes_of_their_bytes)
{
    static const char *const letters[] = {"abcd", "\xE6\x88\x91\xF0"};
    static const char *const characters[][5] = {
        {"a", "b", "c", "d", "a"},
        {"\xE6\x88\x91", "\xE6\x91\x88", "\xE6\x88\x88", "\xF0\x91\x88\x91", "\xE6\x91\x91"},
    };
    unsigned seed = 1;
    size_t merged = 0;
    struct bpe_piece piece = {0};
    for (size_t round = 0; round < 900 / one_of(2); round++) {
        char text[TEXT_BYTES];
        struct bpe bpe;
        struct word_table words = {.form = WORD_BYTES};
        size_t size = 0;
        size_t most = 2 + (size_t)rand_r(&seed) % TEXT_BYTES;
        int kind = round % 4 != 0;
        open_random_of(&bpe, &seed, round % 3 ? 12 : 4);
        open_affixed(&bpe, &words, letters[kind], round);
        if (round % 3 == 0)
            bpe.suffix.size = bpe.prefix.size = 0;
        bpe.by_characters = round % 6 == 3; /* none of which is known */
        memcpy(bpe.fallback_ids, bpe.byte_ids, sizeof bpe.fallback_ids);
        while (size + 4 <= TEXT_BYTES) {
            const char *character = characters[kind][(rand_r(&seed) >> 4) % 5];
            size_t count = 1 + (size_t)rand_r(&seed) % most;
            for (size_t bytes = strlen(character); count && size + 4 <= TEXT_BYTES; count--) {
                memcpy(text + size, character, bytes);
                size += bytes;
            }
        }
        merged += size - expect_slow(&bpe, &piece, text, size);
        bpe_release(&bpe);
        bpe_piece_release(&piece);
        word_table_release(&words);
    }
    ck_assert_uint_gt(merged, 5000 / one_of(2));
}

/* a b and c d make the same, so that its pairs with itself come up from left to right twice. */
TEST(pairs_that_come_up_out_of_order_are_joined_in_order)
{
    static const struct bpe_merge merges[] = {{0, 1, 26},   {2, 3, 26},   {26, 26, 27},
                                              {27, 26, 28}, {27, 27, 28}, {28, 28, 27}};
    struct bpe bpe;
    struct bpe_piece piece = {0};
    unsigned seed = 1;
    open_letters(&bpe, merges, COUNT(merges));
    for (int round = 0; round < 100; round++) {
        char text[TEXT_BYTES];
        for (size_t i = 0; i < TEXT_BYTES; i += 2)
            memcpy(text + i, (rand_r(&seed) >> 4) % 2 ? "ab" : "cd", 2);
        expect_slow(&bpe, &piece, text, TEXT_BYTES);
    }
    bpe_piece_release(&piece);
    bpe_release(&bpe);
}

/* Llama 2's blanks grow: two are joined last, and take what follows first. */
TEST_LOOP(a_megabyte_of_one_character_takes_no_second, 2)
{
    enum { SIZE = (1 << 20) + 2 };
    static const struct bpe_merge growing[] = {{27, 0, 30}, {29, 0, 27}, {0, 0, 29}};
    struct bpe bpe;
    uint32_t end = 0;
    struct bpe_piece piece = {0};
    char *text = heap_alloc(SIZE, 1, NULL);
    memset(text, 'a', SIZE);
    open_letters(&bpe, _i ? growing : few, _i ? COUNT(growing) : COUNT(few));
    ck_assert_int_eq(bpe_encode(&bpe, &piece, text, SIZE, NULL), 0);
    do
        for (size_t i = 0; i < piece.count; i++, end += end + 4 < SIZE ? 4 : 2)
            expect_token(piece.tokens[i], end + 4 < SIZE ? (struct bpe_token){30, end, end + 4}
                                                         : (struct bpe_token){29, end, SIZE});
    while (bpe_go_on(&piece));
    ck_assert(end == SIZE && !piece.room); /* in portions */
    bpe_piece_release(&piece);
    heap_free(text);
    bpe_release(&bpe);
}

TEST(a_byte_without_a_token_is_dropped)
{
    struct bpe bpe;
    struct bpe_piece piece = {0};
    char text[100];
    open_letters(&bpe, few, COUNT(few));
    for (size_t size = 10; size <= sizeof text; size += 90) { /* short and long */
        memset(text, 'a', sizeof text);
        text[7] = '!';
        ck_assert_int_eq(bpe_encode(&bpe, &piece, text, size, NULL), 0);
        ck_assert_uint_eq(piece.dropped, 1);
        expect_token(piece.dropped_first, (struct bpe_token){BPE_NONE, 7, 8});
        expect_token(piece.tokens[1], (struct bpe_token){30, 4, 9}); /* neighbours now */
        ck_assert_uint_eq(piece.tokens[piece.count - 1].end, size);
    }
    ck_assert_int_eq(bpe_encode(&bpe, &piece, "!", 1, NULL), 0);
    ck_assert_uint_eq(piece.count, 0);
    ck_assert_uint_eq(piece.dropped, 1);
    bpe_piece_release(&piece);
    bpe_release(&bpe);
}

TEST(what_is_too_large_is_refused)
{
    struct bpe bpe;
    struct bpe_piece piece = {0};
    struct err err = {0};
    ck_assert_int_eq(bpe_init(&bpe, HASH_NUMBER_MAX + 1, &err), -1);
    ck_assert_str_eq(err.text, "expected at most 16777214 merges, found 16777215");
    err_clear(&err);
    open_letters(&bpe, few, COUNT(few));
    ck_assert_int_eq(bpe_encode(&bpe, &piece, "a", (size_t)INT32_MAX, &err), -1);
    ck_assert_str_eq(err.text, "expected at most 1073741823 bytes in a row that nothing cuts, "
                               "found 2147483647");
    bpe_release(&bpe);
}

TEST(an_allocation_that_fails_is_an_error)
{
    char text[TEXT_BYTES];
    size_t nth = 1;
    memset(text, 'a', sizeof text);
    for (;; nth++) {
        struct bpe bpe = {0};
        struct bpe_piece piece = {0};
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed =
            bpe_init(&bpe, 4000, &err) || bpe_encode(&bpe, &piece, text, sizeof text, &err);
        heap_fail_at(0, 0);
        bpe_piece_release(&piece);
        bpe_release(&bpe);
        if (!strstr(err.text, "out of memory: "))
            break;
        ck_assert(failed);
    }
    ck_assert_uint_ge(nth, 3);
}

TEST(a_piece_that_finds_no_memory_is_refused)
{
    char text[TEXT_BYTES];
    struct bpe bpe;
    struct bpe_piece piece = {0};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 2);
    open_letters(&bpe, few, COUNT(few));
    bool came = true;
    for (size_t nth = 1; came; nth++) { /* what was used and refused is used again */
        struct err err = {0};
        bpe_piece_release(&piece);
        heap_fail_at(nth, 0);
        int failed = bpe_encode(&bpe, &piece, text, sizeof text, &err);
        came = heap_has_failed();
        heap_fail_at(0, 0);
        ck_assert_int_eq(failed, came ? -1 : 0);
        ck_assert_int_eq(err.out_of_memory, came);
        ck_assert_int_eq(bpe_encode(&bpe, &piece, text, sizeof text, NULL), 0);
        ck_assert_uint_eq(piece.count, TEXT_BYTES / 2);
        ck_assert(came || nth > 4);
    }
    bpe_piece_release(&piece);
    bpe_release(&bpe);
}
