#include "write/style.h"

#include <math.h>

#include "../unit.h"
#include "../rigs/report_fixture.h"
#include "base/arena.h"
#include "base/heap.h"
#include "draw/figure.h"

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

TEST(an_extent_knows_only_what_is_seen)
{
    struct sheet masked = kept_sheet(&fixture_layers, &fixture_layers.tensors[3], 0);
    struct extent row = extent_of_row(&masked, 1);
    struct extent all = extent_of_sheet(&masked);
    ck_assert_float_eq(row.low, -1);
    ck_assert_float_eq(row.high, 2);
    ck_assert_float_eq(all.low, -12.5f);
    ck_assert_float_eq(all.high, 3);
    static const float infinite[] = {-INFINITY, -INFINITY};
    struct sheet none = sheet_of(infinite, 1, 2);
    ck_assert_float_gt(extent_of_sheet(&none).low, extent_of_sheet(&none).high);
}

TEST(numbers_from_zero_up_fill_the_ramp)
{
    static const struct {
        enum style_scale scale;
        float value, share;
    } cases[] = {
        {COLOURS_LINEAR, 0, 0},      {COLOURS_LINEAR, 0.2f, 0.25f}, {COLOURS_LINEAR, 0.8f, 1},
        {COLOURS_LINEAR, 9, 1},      {COLOURS_SQRT, 0, 0},          {COLOURS_SQRT, 0.2f, 0.5f},
        {COLOURS_SQRT, 0.8f, 1},     {COLOURS_LOG, 0, 0},           {COLOURS_LOG, 0.8f, 1},
        {COLOURS_LOG, 0.08f, 0.75f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tone tone = {cases[i].scale, false, {0.1f, 0.8f}};
        ck_assert_float_eq_tol(tone_share(&tone, cases[i].value), cases[i].share, 1e-3f);
    }
}

TEST(zero_is_in_the_middle_of_two_sides)
{
    struct tone tone = {COLOURS_LINEAR, true, {-4, 2}};
    ck_assert_float_eq(tone_share(&tone, 0), 0.5f);
    ck_assert_float_eq(tone_share(&tone, -4), 0);
    ck_assert_float_eq(tone_share(&tone, 2), 0.75f);
    tone.scale = COLOURS_SQRT;
    ck_assert_float_eq(tone_share(&tone, -1), 0.25f);
    ck_assert_float_eq(tone_share(&tone, 1), 0.75f);
}

TEST(negative_numbers_fill_a_one_sided_ramp_from_the_lowest)
{
    struct tone tone = {COLOURS_LINEAR, false, {-3, 1}};
    ck_assert_float_eq(tone_share(&tone, -3), 0);
    ck_assert_float_eq(tone_share(&tone, 0), 0.75f);
}

TEST(levels_are_those_of_a_ramp_and_none_without_a_number)
{
    struct tone tone = {COLOURS_LINEAR, false, {0, 1}};
    ck_assert_uint_eq(tone_level(&tone, 0), 1);
    ck_assert_uint_eq(tone_level(&tone, 0.5f), 128);
    ck_assert_uint_eq(tone_level(&tone, 1), 255);
    ck_assert_uint_eq(tone_level(&tone, -INFINITY), 0);
    tone.extent.high = 0;
    ck_assert_uint_eq(tone_level(&tone, 0), 1);
}

TEST(bounds_of_colours_do_not_hang_on_the_numbers)
{
    static const float values[] = {0, 1, 0, 2};
    struct sheet sheet = sheet_of(values, 2, 2);
    struct style style = {0};
    struct err err = {0};
    ck_assert_int_eq(style_read(&style, &(struct style_words){.range = "0:8"}, &err), 0);
    struct tones tones = tones_make(&sheet, 1, &style, false);
    struct tone tone = tone_of_row(&tones, &sheet, 0);
    ck_assert_float_eq(tone_share(&tone, 2), 0.25f);
    ck_assert_float_eq(tone_share(&tone, 9), 1);
    ck_assert_float_eq(tones.found.high, 2);
    ck_assert_int_eq(style_read(&style, &(struct style_words){.range = "-1:1"}, &err), 0);
    ck_assert_float_eq(style.bounds.low, -1);
}

TEST(bounds_that_are_none_are_refused)
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

TEST(a_range_is_that_of_all_or_a_head_or_a_row)
{
    static const float first[] = {0, 1, 0, 2};
    static const float second[] = {0, 8, 4, 0};
    struct sheet sheets[] = {sheet_of(first, 2, 2), sheet_of(second, 2, 2)};
    static const float expected[] = {[RANGE_ALL] = 0.125f, [RANGE_HEAD] = 0.5f, [RANGE_ROW] = 1};
    for (int range = RANGE_ALL; range <= RANGE_ROW; range++) {
        struct style style = {.range = (enum style_range)range};
        struct tones tones = tones_make(sheets, 2, &style, false);
        struct tone tone = tone_of_row(&tones, &sheets[0], 0);
        ck_assert_str_eq(tones.palette->name, "blues");
        ck_assert_float_eq(tone_share(&tone, 1), expected[range]);
    }
}

TEST(both_signs_or_the_palette_make_two_sides)
{
    static const float signs[] = {-1, 1};
    static const float plus[] = {0, 1};
    struct sheet both = sheet_of(signs, 1, 2);
    struct sheet one = sheet_of(plus, 1, 2);
    struct style chosen = {.palette = palette_find("viridis")};
    ck_assert(tones_make(&both, 1, &style_default, false).whole.two_sided);
    ck_assert(!tones_make(&one, 1, &style_default, false).whole.two_sided);
    ck_assert(!tones_make(&both, 1, &chosen, false).whole.two_sided);
    chosen.palette = palette_find("dusk");
    ck_assert(tones_make(&one, 1, &chosen, false).whole.two_sided);
}

TEST(cells_show_the_largest_of_their_numbers)
{
    static const float values[3][5] = {{0, 0, 0, 0, 5}, {0, 0, 10, 0, 0}, {0, 1, 0, 0, 0}};
    static const unsigned char expected[] = {1, 255, 128, 26, 1, 1};
    struct sheet sheet = sheet_of(values[0], 3, 5);
    struct tones tones = tones_make(&sheet, 1, &style_default, false);
    struct cells cells;
    ck_assert_int_eq(cells_make(&cells, &sheet, &tones, (struct cell_room){2, 3}, &arena, NULL), 0);
    ck_assert_uint_eq(cells.rows, 2);
    ck_assert_uint_eq(cells.columns, 3);
    ck_assert_uint_eq(cells.row_step, 2);
    ck_assert_mem_eq(cells.levels, expected, sizeof expected);
}

TEST(of_both_signs_the_farther_from_zero_is_shown)
{
    static const float values[] = {1, -3, 2, 0.5f};
    struct sheet sheet = sheet_of(values, 1, 4);
    struct tones tones = tones_make(&sheet, 1, &style_default, false);
    struct cells cells;
    ck_assert_int_eq(cells_make(&cells, &sheet, &tones, (struct cell_room){1, 2}, &arena, NULL), 0);
    ck_assert_uint_eq(cells.levels[0], 1);
    ck_assert_uint_eq(cells.levels[1], 1 + 212);
}

TEST(hidden_cells_are_none)
{
    struct sheet sheet = report_sheet(&fixture_plain, 0);
    struct tones tones = tones_make(&sheet, 1, &style_default, false);
    struct cells cells;
    ck_assert_int_eq(cells_make(&cells, &sheet, &tones, (struct cell_room){9, 9}, &arena, NULL), 0);
    ck_assert_uint_eq(cells.levels[1], 0);
    ck_assert_uint_eq(cells.levels[3], 65);
    heap_fail_at(1, 1);
    struct arena empty = {0};
    struct err err = {0};
    ck_assert_int_eq(cells_make(&cells, &sheet, &tones, (struct cell_room){9, 9}, &empty, &err),
                     -1);
    heap_fail_at(0, 0);
}

static float high_of(float most, const struct style *style, bool fraction)
{
    float values[] = {0, most};
    struct sheet sheet = {
        .rows = {.size = 1}, .columns = {.size = 2}, .values = values, .fraction = fraction};
    return tones_make(&sheet, 1, style, false).whole.extent.high;
}

TEST(fractions_span_0_to_1_unless_a_range_is_given)
{
    struct err err = {0};
    struct style all = {0};
    ck_assert_int_eq(style_read(&all, &(struct style_words){.range = "all"}, &err), 0);
    ck_assert_float_eq(high_of(0.25f, &style_default, true), 1);
    ck_assert_float_eq(high_of(0.25f, &style_default, false), 0.25f);
    ck_assert_float_eq(high_of(0.25f, &all, true), 0.25f);
    ck_assert_float_eq(high_of(1.5f, &style_default, true), 1.5f); /* an edit may make it so */
}
