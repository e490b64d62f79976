#include "text/aligned_text.h"

#include <stdlib.h>
#include <string.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "base/memory.h"

static struct text_range place_of(const struct aligned_text *text, size_t start, size_t end)
{
    size_t hint = 0;
    return aligned_text_origin(text, (struct text_range){start, end}, &hint);
}

static void expect_place(const struct aligned_text *text, size_t start, size_t end, size_t from,
                         size_t to)
{
    struct text_range place = place_of(text, start, end);
    ck_assert_msg(place.start == from && place.end == to, "[%zu, %zu) at %zu-%zu, not %zu-%zu",
                  start, end, place.start, place.end, from, to);
}

TEST(a_text_without_changes_is_not_copied)
{
    const struct aligned_text text = {.bytes = "Life is", .size = 7, .start = 20};
    struct text_rewriter rewriter = {.in = &text};
    struct aligned_text out;
    text_rewriter_keep(&rewriter, 0, 3);
    text_rewriter_keep(&rewriter, 3, 7);
    ck_assert_int_eq(text_rewriter_finish(&rewriter, &out, NULL), 0);
    ck_assert(!rewriter.changed);
    ck_assert_ptr_null(rewriter.parts);
    ck_assert_ptr_null(rewriter.bytes.bytes);
    ck_assert_ptr_eq(out.bytes, text.bytes);
    expect_place(&out, 0, 7, 20, 27);
    expect_place(&out, 2, 2, 22, 22);
    text_rewriter_release(&rewriter);
}

/* "a" becomes "xy", then "x-y"; x and y both have the position of "a". */
TEST(inserted_text_has_the_position_of_the_start)
{
    const struct aligned_text text = {.bytes = "a", .size = 1, .start = 10};
    struct text_rewriter first = {.in = &text};
    struct aligned_text two;
    text_rewriter_replace(&first, 0, 1, "x", 1);
    text_rewriter_replace(&first, 0, 1, "y", 1);
    ck_assert_int_eq(text_rewriter_finish(&first, &two, NULL), 0);
    struct text_rewriter second = {.in = &two};
    struct aligned_text three;
    text_rewriter_keep(&second, 0, 1);
    text_rewriter_replace(&second, 1, 1, "-", 1);
    text_rewriter_keep(&second, 1, 2);
    ck_assert_int_eq(text_rewriter_finish(&second, &three, NULL), 0);
    expect_place(&three, 0, 1, 10, 11);
    expect_place(&three, 1, 2, 10, 10);
    expect_place(&three, 2, 3, 10, 11);
    text_rewriter_release(&second);
    text_rewriter_release(&first);
}

/* With "ab" and each of the calls that lengthen a text. */
TEST(a_text_that_grows_beyond_its_bound_is_refused)
{
    for (size_t way = 0; way < 2; way++)
        for (size_t most = 7; most <= 8; most++) {
            const struct aligned_text text = {.bytes = "ab", .size = 2};
            struct text_limits limits = {.size_max = most};
            struct text_rewriter rewriter = {.in = &text, .limits = &limits};
            struct aligned_text out;
            struct err err = {0};
            text_rewriter_replace(&rewriter, 0, 0, "xxxx", way < 1 ? 4 : 3);
            if (way == 0)
                text_rewriter_replace(&rewriter, 0, 2, "yyyy", 4);
            text_rewriter_keep(&rewriter, 2, 2);
            if (way == 1) {
                text_rewriter_replace(&rewriter, 0, 0, "xxx", 3);
                text_rewriter_keep(&rewriter, 0, 2);
            }
            int failed = text_rewriter_finish(&rewriter, &out, &err);
            ck_assert_msg(failed == (most == 8 ? 0 : -1), "way %zu, %zu bytes", way, most);
            if (failed)
                ck_assert_str_eq(err.text, "expected at most 7 bytes, 64 times the text and 65536, "
                                           "found more");
            text_rewriter_release(&rewriter);
        }
}

/* "a bcd" becomes "▁a▁B!": insertions, longer and shorter replacements. */
TEST(positions_are_those_of_the_replaced_text)
{
    const struct aligned_text text = {.bytes = "a bcd", .size = 5, .start = 10};
    struct text_rewriter rewriter = {.in = &text};
    struct aligned_text out;
    text_rewriter_replace(&rewriter, 0, 0, "▁", 3);
    text_rewriter_keep(&rewriter, 0, 1);
    text_rewriter_replace(&rewriter, 1, 2, "▁", 3);
    text_rewriter_replace(&rewriter, 2, 4, "B", 1);
    text_rewriter_replace(&rewriter, 5, 5, "!", 1); /* d is deleted */
    ck_assert_int_eq(text_rewriter_finish(&rewriter, &out, NULL), 0);
    ck_assert_uint_eq(out.size, 9);
    ck_assert_mem_eq(out.bytes, "▁a▁B!", 9);
    expect_place(&out, 0, 3, 10, 10);
    expect_place(&out, 0, 4, 10, 11);
    expect_place(&out, 3, 4, 10, 11);
    expect_place(&out, 4, 7, 11, 12);
    expect_place(&out, 5, 6, 11, 12); /* each byte of ▁ has the position of the blank */
    expect_place(&out, 7, 8, 12, 14);
    expect_place(&out, 8, 9, 15, 15);
    expect_place(&out, 0, 9, 10, 15);
    expect_place(&out, 0, 0, 10, 10);
    expect_place(&out, 8, 8, 14, 14);
    text_rewriter_release(&rewriter);
}

TEST(a_text_may_become_empty)
{
    const struct aligned_text text = {.bytes = "abc", .size = 3};
    struct text_rewriter rewriter = {.in = &text};
    struct aligned_text out;
    ck_assert_int_eq(text_rewriter_finish(&rewriter, &out, NULL), 0);
    ck_assert_uint_eq(out.size, 0);
    ck_assert_ptr_nonnull(out.bytes);
    text_rewriter_release(&rewriter);
    rewriter.in = &text;
    text_rewriter_keep(&rewriter, 0, 2); /* the rest is deleted without a call */
    ck_assert_int_eq(text_rewriter_finish(&rewriter, &out, NULL), 0);
    ck_assert_uint_eq(out.size, 2);
    ck_assert_mem_eq(out.bytes, "ab", 2);
    expect_place(&out, 0, 2, 0, 2);
    text_rewriter_release(&rewriter);
}

/* Megabytes become one character, which becomes megabytes. */
TEST(replacements_of_any_size_have_correct_positions)
{
    enum { LARGE = 3 << 20 };
    char *bytes = heap_alloc(2 * LARGE, 1, NULL);
    memset(bytes, 'a', 2 * LARGE);
    const struct aligned_text text = {.bytes = bytes, .size = 2 * LARGE, .start = 7};
    struct text_rewriter first = {.in = &text};
    struct aligned_text one;
    text_rewriter_keep(&first, 0, 1);
    text_rewriter_replace(&first, 1, LARGE, "x", 1);
    text_rewriter_replace(&first, LARGE, 2 * LARGE - 1, "y", 1);
    text_rewriter_keep(&first, 2 * LARGE - 1, 2 * LARGE);
    ck_assert_int_eq(text_rewriter_finish(&first, &one, NULL), 0);
    struct text_rewriter second = {.in = &one};
    struct aligned_text two;
    text_rewriter_keep(&second, 0, 1);
    text_rewriter_replace(&second, 1, 2, bytes, LARGE);
    text_rewriter_replace(&second, 2, 3, bytes, LARGE);
    text_rewriter_keep(&second, 3, 4);
    ck_assert_int_eq(text_rewriter_finish(&second, &two, NULL), 0);
    struct text_rewriter third = {.in = &two};
    struct aligned_text three;
    text_rewriter_keep(&third, LARGE - 9, two.size); /* from inside a replacement */
    ck_assert_int_eq(text_rewriter_finish(&third, &three, NULL), 0);
    expect_place(&one, 0, 2, 7, 7 + LARGE);
    expect_place(&one, 2, 4, 7 + LARGE, 7 + 2 * LARGE);
    expect_place(&two, 0, 2, 7, 7 + LARGE);
    expect_place(&two, LARGE, LARGE + 1, 8, 7 + LARGE);
    expect_place(&two, LARGE + 1, LARGE + 2, 7 + LARGE, 6 + 2 * LARGE);
    expect_place(&two, 2 * LARGE, 2 * LARGE + 2, 7 + LARGE, 7 + 2 * LARGE);
    expect_place(&three, 0, 9, 8, 7 + LARGE);
    expect_place(&three, 9, 11, 8, 6 + 2 * LARGE);
    expect_place(&three, three.size - 1, three.size, 6 + 2 * LARGE, 7 + 2 * LARGE);
    text_rewriter_release(&third);
    text_rewriter_release(&second);
    text_rewriter_release(&first);
    heap_free(bytes);
}

TEST(a_replacement_of_four_gigabytes_is_refused)
{
    const size_t size = (size_t)UINT32_MAX + 1;
    const struct aligned_text text = {.bytes = "", .size = size}; /* not read */
    for (size_t more = 0; more < 2; more++) {
        struct err err = {0};
        struct aligned_text out;
        struct text_rewriter rewriter = {.in = &text};
        text_rewriter_replace(&rewriter, 0, size - 1 + more, "x", 1);
        ck_assert_int_eq(text_rewriter_finish(&rewriter, &out, &err), more ? -1 : 0);
        if (more)
            ck_assert_str_eq(err.text, "expected at most 4294967295 bytes in one replacement, "
                                       "found 4294967296");
        text_rewriter_release(&rewriter);
    }
}

TEST(positions_can_be_requested_in_any_order)
{
    static const struct alignment parts[] = {{0, 0, 1, 1}, {2, 5, 1, 4}, {3, 9, 1, 0}};
    const struct aligned_text text = {.bytes = "abcd", .size = 4, .parts = parts, .part_count = 3};
    size_t hint = 0;
    static const struct text_range asked[] = {{3, 4}, {0, 1}, {1, 3}, {2, 3}, {0, 4}};
    static const struct text_range places[] = {{9, 9}, {0, 1}, {1, 9}, {5, 9}, {0, 9}};
    for (size_t i = 0; i < COUNT(asked); i++) {
        struct text_range place = aligned_text_origin(&text, asked[i], &hint);
        ck_assert_uint_eq(place.start, places[i].start);
        ck_assert_uint_eq(place.end, places[i].end);
    }
}

/* --- compared with a position for every byte ------------------------------------------------- */

enum { BYTES_MAX = 400, PASSES = 4 };

struct slow_text {
    char bytes[BYTES_MAX];
    struct text_range places[BYTES_MAX];
    size_t size;
};

/* From the start of the first byte to the end of the last. */
static struct text_range slow_place(const struct slow_text *text, size_t start, size_t end)
{
    return (struct text_range){text->places[start].start, text->places[end - 1].end};
}

/* Keep, replace or delete some bytes, and insert others. */
static void rewrite(struct text_rewriter *rewriter, const struct slow_text *in,
                    struct slow_text *out, unsigned *seed)
{
    out->size = 0;
    for (size_t at = 0, end; at < in->size; at = end) {
        int what = rand_r(seed) % 5;
        end = at + 1 + (size_t)rand_r(seed) % 3;
        end = end < in->size ? end : in->size;
        size_t count = what == 0 ? 0 : what == 1 ? 1 + (size_t)rand_r(seed) % 3 : end - at;
        if (out->size + count > BYTES_MAX)
            break;
        if (what > 1)
            text_rewriter_keep(rewriter, at, end);
        else
            text_rewriter_replace(rewriter, at, end, "xyz", count);
        for (size_t i = 0; i < count; i++, out->size++) {
            out->bytes[out->size] = what > 1 ? in->bytes[at + i] : "xyz"[i];
            out->places[out->size] = what > 1 ? in->places[at + i] : slow_place(in, at, end);
        }
    }
}

TEST(repeated_rewriting_keeps_all_positions)
{
    static struct slow_text slow[2];
    for (unsigned round = 0; round < 500; round++) {
        unsigned seed = round;
        struct text_rewriter rewriters[PASSES] = {0};
        struct aligned_text texts[PASSES + 1];
        slow[0].size = 1 + round % 100;
        for (size_t i = 0; i < slow[0].size; i++) {
            slow[0].bytes[i] = (char)('a' + i % 26);
            slow[0].places[i] = (struct text_range){round + i, round + i + 1};
        }
        texts[0] = (struct aligned_text){.size = slow[0].size, .start = round};
        static char first[BYTES_MAX];
        memcpy(first, slow[0].bytes, slow[0].size);
        texts[0].bytes = first;
        for (size_t pass = 0; pass < PASSES; pass++) {
            struct slow_text *out = &slow[(pass + 1) % 2];
            rewriters[pass].in = &texts[pass];
            rewrite(&rewriters[pass], &slow[pass % 2], out, &seed);
            ck_assert_int_eq(text_rewriter_finish(&rewriters[pass], &texts[pass + 1], NULL), 0);
            ck_assert_uint_eq(texts[pass + 1].size, out->size);
            ck_assert_mem_eq(texts[pass + 1].bytes, out->bytes, out->size);
            for (size_t i = 0; i + 1 < out->size; i++)
                expect_place(&texts[pass + 1], i, i + 2, slow_place(out, i, i + 2).start,
                             slow_place(out, i, i + 2).end);
        }
        for (size_t pass = 0; pass < PASSES; pass++)
            text_rewriter_release(&rewriters[pass]);
    }
}

TEST(a_failed_allocation_is_an_error)
{
    const struct aligned_text text = {.bytes = "abc", .size = 3};
    struct starve starve = {.least = 3};
    while (starve_next(&starve)) {
        struct text_rewriter rewriter = {.in = &text};
        struct aligned_text out;
        struct err err = {0};
        for (size_t i = 0; i < 3; i++)
            for (size_t times = 0; times < 40; times++)
                text_rewriter_replace(&rewriter, i, i + (times == 39), "xyz", 3);
        int failed = starve_check(&starve, text_rewriter_finish(&rewriter, &out, &err), &err);
        ck_assert(failed || starve.over);
        text_rewriter_release(&rewriter);
    }
}
