#include "../unit.h"

#include <math.h>

#include "lens/frame_mean.h"

static struct arena arena;
static struct err err;

static void release(void)
{
    arena_release(&arena);
}
FIXTURE(NULL, release)

enum { MOST = 4 };

/* A table with a row for each value of layer `layers[i]`, position i and token `tokens[i]`. */
static struct frame table(const char *name, const long long *layers, const char *tokens,
                          const double *values, size_t count)
{
    struct frame_rows rows = {.most = count, .arena = &arena, .err = &err};
    struct frame frame;
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        const char *token = arena_format(&arena, &err, "%c", tokens[i]);
        rows_integer(&rows, "layer", COLUMN_KEY, layers[i]);
        rows_integer(&rows, "position", COLUMN_KEY, (long long)i % 2);
        rows_label(&rows, "token", COLUMN_KEY, (struct label){token, token, token});
        rows_float(&rows, (struct column){name}, values[i]);
        rows_integer(&rows, "rank", 0, (long long)i);
        rows_text(&rows, "best", 0, token);
    }
    ck_assert_int_eq(rows_finish(&frame, &rows, "t", "token"), 0);
    return frame;
}

static const long long layers[] = {0, 0, 1, 1};
static const long long reversed[] = {1, 1, 0, 0};

static const double *floats(const struct frame *frame, size_t column)
{
    return frame->columns[column].values;
}

static long long integer(const struct frame *frame, size_t column, size_t row)
{
    return column_integer(&frame->columns[column], row);
}

/* Tokens and the order of rows differ. */
TEST(a_mean_of_texts_has_a_row_and_a_count_for_each_position)
{
    static const double one[] = {1, 2, 3, NAN};
    static const double other[] = {30, 40, 10};
    struct frame_mean mean = {.how = {.mean_of_texts = true}};
    struct frame first = table("x", layers, "abab", one, 4);
    struct frame second = table("x", reversed, "cdcd", other, 3);
    struct frame frame;
    ck_assert_int_eq(frame_mean_add(&mean, &first, &arena, &err), 0);
    ck_assert_int_eq(frame_mean_add(&mean, &second, &arena, &err), 0);
    ck_assert_int_eq(frame_mean_make(&frame, &mean, &arena, &err), 0);
    static const char *const names[] = {"layer", "position", "texts", "x", "rank"};
    static const double x[] = {5.5, 2, 16.5, 40}, ranks[] = {1, 1, 1, 2};
    static const long long texts[] = {2, 1, 2, 2};
    ck_assert_uint_eq(frame.count, COUNT(names));
    ck_assert_uint_eq(frame.rows.size, MOST);
    for (size_t i = 0; i < frame.count; i++)
        ck_assert_str_eq(frame.columns[i].name, names[i]);
    for (size_t i = 0; i < MOST; i++) {
        ck_assert_int_eq(integer(&frame, 0, i), layers[i]);
        ck_assert_int_eq(integer(&frame, 1, i), (long long)i % 2);
        ck_assert_int_eq(integer(&frame, 2, i), texts[i]);
        ck_assert_double_eq(floats(&frame, 3)[i], x[i]);
        ck_assert_double_eq(floats(&frame, 4)[i], ranks[i]);
        ck_assert_str_eq(frame.rows.labels[i].text, i % 2 ? "1" : "0");
    }
}

TEST(a_mean_of_layers_keeps_the_other_keys)
{
    static const double values[] = {1, NAN, 3, NAN};
    struct frame_mean mean = {.how = {.mean_of_layers = true}};
    struct frame both = table("x", layers, "abab", values, 4);
    struct frame frame;
    ck_assert(column_is_averaged(&both.columns[0], &mean.how));
    ck_assert(!column_is_averaged(&both.columns[1], &mean.how));
    ck_assert_int_eq(frame_mean_add(&mean, &both, &arena, &err), 0);
    ck_assert_int_eq(frame_mean_make(&frame, &mean, &arena, &err), 0);
    ck_assert_uint_eq(frame.rows.size, 2);
    ck_assert_str_eq(frame.columns[0].name, "position");
    ck_assert_str_eq(column_text(&frame.columns[1], 1, true), "b");
    ck_assert_double_eq(floats(&frame, 2)[0], 2);
    ck_assert(isnan(floats(&frame, 2)[1]));
}

TEST(texts_with_other_columns_are_refused)
{
    static const double values[] = {1, 2, 3, 4};
    struct frame_mean mean = {.how = {.mean_of_texts = true}};
    struct frame first = table("x", layers, "abab", values, 4);
    struct frame second = table("y", layers, "abab", values, 4);
    ck_assert_int_eq(frame_mean_add(&mean, &first, &arena, &err), 0);
    ck_assert_int_eq(frame_mean_add(&mean, &second, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--mean: expected the column 'x' for all texts as for the first");
}
