#include "measure/side_by_side.h"

#include <math.h>

#include "../unit.h"

static const char *const names[] = {"step8", "other", "step8"};
static const struct label score = {"surprisal", "surprisal", "surprisal"};
static const struct label rows[] = {
    {"␣is", "0:is", " is"}, {"short", "1:short", "short"}, {"eat", "2:eat", "eat"}};
static struct arena arena;
static struct err err;

static struct sheet column(const float *values, size_t first, size_t count)
{
    return (struct sheet){.rows = {"token", count, rows + first, 0},
                          .columns = {"score", 1, &score, 0},
                          .values = values};
}

TEST(models_are_columns_by_their_names)
{
    static const float values[3][2] = {{NAN, 1}, {2, 3}, {4, 5}};
    struct side_by_side beside;
    ck_assert(!side_by_side_init(&beside, names, 3, 1, &arena, &err));
    for (size_t model = 0; model < 3; model++) {
        struct sheet one = column(values[model], 0, 2);
        ck_assert(!side_by_side_add(&beside, model, 0, &one, &err));
    }
    const struct sheet *sheet = &beside.sheets[0];
    ck_assert_str_eq(sheet->tensor, "surprisal");
    ck_assert_str_eq(sheet->columns.labels[0].exact, "step8");
    ck_assert_str_eq(sheet->columns.labels[2].exact, "2:step8");
    ck_assert_str_eq(sheet->rows.labels[0].plain, " is");
    ck_assert(isnan(sheet_cell(sheet, 0, 0)));
    for (size_t model = 0; model < 3; model++)
        ck_assert_float_eq(sheet_cell(sheet, 1, model), values[model][1]);
    arena_release(&arena);
}

TEST(other_rows_are_refused_by_the_first_that_differs)
{
    static const float values[2] = {1, 2};
    struct side_by_side beside;
    struct sheet first = column(values, 0, 2);
    struct sheet later = column(values, 1, 2);
    struct sheet fewer = column(values, 0, 1);
    ck_assert(!side_by_side_init(&beside, names, 2, 1, &arena, &err));
    ck_assert(!side_by_side_add(&beside, 0, 0, &first, &err));
    ck_assert(side_by_side_add(&beside, 1, 0, &later, &err));
    ck_assert_str_eq(err.text, "expected the tokens of 'step8', found 'short' at 0, where that has "
                               "'␣is': --total compares models of any vocabulary");
    err = (struct err){0};
    ck_assert(side_by_side_add(&beside, 1, 0, &fewer, &err));
    ck_assert_str_eq(err.text, "expected the 2 tokens of 'step8', found 1: --total compares models "
                               "of any vocabulary");
    arena_release(&arena);
}
