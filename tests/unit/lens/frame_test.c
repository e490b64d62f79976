#include "lens/sheet.h"

#include <math.h>

#include "../unit.h"

static const char *const names[] = {"a", "b"};
static const struct label labels[] = {{"a", "0:a", "a"}, {"b", "1:b", "b"}};
static const long long layers[] = {3, COLUMN_MISSING};
static const double scores[] = {0.5, NAN};
static const long long ranks[] = {7, 8};
static const struct column columns[] = {
    {.name = "name", .kind = COLUMN_TEXT, .values = names},
    {.name = "layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = layers},
    {.name = "score", .flags = COLUMN_COLOURED, .fraction = true, .values = scores},
    {.name = "rank", .kind = COLUMN_INTEGER, .values = ranks},
    {.name = "shown", .flags = COLUMN_TEXT_ONLY, .values = scores},
};
static const struct frame frame = {"frame", {"token", 2, labels, 0}, columns, 5};

TEST(the_results_of_a_frame_are_a_matrix)
{
    struct arena arena = {0};
    struct err err = {0};
    struct sheet sheet;
    ck_assert_int_eq(frame_sheet(&sheet, &frame, false, &arena, &err), 0);
    ck_assert_uint_eq(sheet.columns.size, 2);
    ck_assert_str_eq(sheet.columns.labels[0].plain, "score");
    ck_assert_str_eq(sheet.columns.labels[1].plain, "rank");
    ck_assert(sheet_cell(&sheet, 0, 0) == 0.5F && isnan(sheet_cell(&sheet, 1, 0)));
    ck_assert(sheet_cell(&sheet, 0, 1) == 7 && sheet_cell(&sheet, 1, 1) == 8);
    ck_assert(!sheet.fraction);
    ck_assert_int_eq(frame_sheet(&sheet, &frame, true, &arena, &err), 0);
    ck_assert_uint_eq(sheet.columns.size, 1);
    ck_assert(sheet.fraction);
    arena_release(&arena);
}

TEST(a_key_is_found_by_its_name)
{
    ck_assert_int_eq(frame_key(&frame, "layer", 0), 3);
    ck_assert_int_eq(frame_key(&frame, "layer", 1), -1);
    ck_assert_int_eq(frame_key(&frame, "head", 0), -1);
}

TEST(a_table_of_several_models_has_a_key_of_that_name)
{
    const struct column models[] = {
        {.name = "model", .kind = COLUMN_TEXT, .flags = COLUMN_KEY, .values = names}};
    const struct frame several = {"frame", {"token", 2, labels, 0}, models, 1};
    ck_assert_ptr_eq(frame_models(&several), models);
    ck_assert_ptr_null(frame_models(&frame));
}

TEST(columns_without_values_get_memory)
{
    struct arena arena = {0};
    struct err err = {0};
    const struct column template[] = {
        {"score"},
        {"layer", .kind = COLUMN_INTEGER},
        {"text", .kind = COLUMN_TEXT},
        {"token", .kind = COLUMN_LABEL},
        {"given", .values = scores},
    };
    struct frame made = {"made", {"token", 2, labels, 0}};
    ck_assert_int_eq(frame_columns(&made, template, COUNT(template), &arena, &err), 0);
    ck_assert_double_eq(column_number(&made.columns[0], 1), 0);
    ck_assert_ptr_null(column_text(&made.columns[2], 0, true));
    ck_assert_ptr_null(column_text(&made.columns[3], 1, false));
    ck_assert_ptr_eq(made.columns[4].values, scores);
    frame_floats(&made, 0)[1] = 0.25;
    frame_integers(&made, 1)[0] = 7;
    frame_texts(&made, 2)[1] = "b";
    frame_labels(&made, 3)[0] = labels[0];
    ck_assert_double_eq(column_number(&made.columns[0], 1), 0.25);
    ck_assert_int_eq(frame_key(&made, "layer", 0), 7);
    ck_assert_str_eq(column_text(&made.columns[2], 1, true), "b");
    ck_assert_str_eq(column_text(&made.columns[3], 0, true), "a");
    arena_release(&arena);
}
