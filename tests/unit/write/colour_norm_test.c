#include "write/style.h"

#include <math.h>

#include "../unit.h"
#include "base/memory.h"
#include "draw/section.h"

static struct arena arena;

static void release(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, release)

static struct sheet sheet_of(const float *values, size_t rows, size_t columns)
{
    return (struct sheet){.rows = {.size = rows}, .columns = {.size = columns}, .values = values};
}

TEST(numbers_are_mapped_to_shares_of_the_ramp)
{
    static const struct {
        struct colour_norm norm;
        float value, share;
    } cases[] = {
        {{COLOURS_LINEAR, false, {0.1f, 0.8f}}, 0, 0},
        {{COLOURS_LINEAR, false, {0.1f, 0.8f}}, 0.2f, 0.25f},
        {{COLOURS_LINEAR, false, {0.1f, 0.8f}}, 0.8f, 1},
        {{COLOURS_LINEAR, false, {0.1f, 0.8f}}, 9, 1},
        {{COLOURS_SQRT, false, {0.1f, 0.8f}}, 0, 0},
        {{COLOURS_SQRT, false, {0.1f, 0.8f}}, 0.2f, 0.5f},
        {{COLOURS_LOG, false, {0.1f, 0.8f}}, 0, 0},
        {{COLOURS_LOG, false, {0.1f, 0.8f}}, 0.08f, 0.75f},
        {{COLOURS_LOG, false, {0.1f, 0.8f}}, 0.8f, 1},
        {{COLOURS_LINEAR, false, {-3, 1}}, 0, 0.75f},
        {{COLOURS_LINEAR, true, {-4, 2}}, 0, 0.5f}, /* zero is in the middle of a diverging scale */
        {{COLOURS_LINEAR, true, {-4, 2}}, 2, 0.75f},
        {{COLOURS_SQRT, true, {-4, 2}}, -1, 0.25f},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_float_eq_tol(norm_share(&cases[i].norm, cases[i].value), cases[i].share, 1e-3f);
}

TEST(numbers_have_a_level_and_masked_cells_have_none)
{
    struct colour_norm norm = {COLOURS_LINEAR, false, {0, 1}};
    ck_assert_uint_eq(norm_level(&norm, 0), 1);
    ck_assert_uint_eq(norm_level(&norm, 0.5f), 128);
    ck_assert_uint_eq(norm_level(&norm, 1), 255);
    ck_assert_uint_eq(norm_level(&norm, -INFINITY), 0);
    norm.extent.high = 0;
    ck_assert_uint_eq(norm_level(&norm, 0), 1);
}

TEST(invalid_bounds_are_refused)
{
    static const char *const texts[] = {"1:2",   "0:0", "2:1",   ":1",     "1:",  ":",
                                        "0:1:2", "a:b", "0:nan", "-inf:1", "0: 1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct style style = {0};
        struct err err = {0};
        ck_assert_msg(style_read(&style, &(struct style_words){.range = texts[i]}, &err), "%s",
                      texts[i]);
        ck_assert_ptr_nonnull(strstr(err.text, "expected LOW:HIGH with LOW at most 0"));
        ck_assert_ptr_nonnull(strstr(err.text, texts[i]));
    }
}

TEST(a_range_is_of_all_heads_one_head_or_one_row)
{
    static const float first[] = {0, 1, 0, 2};
    static const float second[] = {0, 8, 4, 0};
    struct sheet sheets[] = {sheet_of(first, 2, 2), sheet_of(second, 2, 2)};
    static const float expected[] = {[RANGE_ALL] = 0.125f, [RANGE_HEAD] = 0.5f, [RANGE_ROW] = 1};
    for (int range = RANGE_ALL; range <= RANGE_ROW; range++) {
        struct style style = {.range = (enum style_range)range};
        struct colour_norms norms = norms_make(sheets, 2, &style);
        struct colour_norm norm = norm_of_row(&norms, &sheets[0], 0);
        ck_assert_str_eq(norms.palette->name, "blues");
        ck_assert_float_eq(norm_share(&norm, 1), expected[range]);
    }
}

TEST(pooled_cells_show_their_largest_number)
{
    static const float values[3][5] = {{0, 0, 0, 0, 5}, {0, 0, 10, 0, 0}, {0, 1, 0, 0, 0}};
    static const unsigned char expected[] = {1, 255, 128, 26, 1, 1};
    struct sheet sheet = sheet_of(values[0], 3, 5);
    struct section section = {.norms = norms_make(&sheet, 1, &style_default),
                              .rows = {.step = 2, .cells = 2},
                              .columns = {.step = 2, .cells = 3}};
    struct cells cells;
    ck_assert_int_eq(cells_make(&cells, &section, &sheet, &arena, NULL), 0);
    ck_assert_mem_eq(cells.levels, expected, sizeof expected);
}

TEST(pooled_cells_show_the_number_farthest_from_zero)
{
    static const float values[] = {1, -3, 2, 0.5f};
    struct sheet sheet = sheet_of(values, 1, 4);
    struct section section = {.norms = norms_make(&sheet, 1, &style_default),
                              .rows = {.step = 1, .cells = 1},
                              .columns = {.step = 2, .cells = 2}};
    struct cells cells;
    ck_assert_int_eq(cells_make(&cells, &section, &sheet, &arena, NULL), 0);
    ck_assert_uint_eq(cells.levels[0], 1);
    ck_assert_uint_eq(cells.levels[1], 1 + 212);
}
