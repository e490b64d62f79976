#include "by_hand.h"

#include <check.h>
#include <math.h>
#include <string.h>

static const double tolerance = 1e-5; /* of the largest number of a row */

struct by_hand by_hand;

/* --- what is in the file ---------------------------------------------------------------------- */

struct grid grid_make(size_t rows, size_t columns)
{
    struct grid grid = {NULL, rows, columns, rows * columns};
    grid.values = arena_alloc(&by_hand.arena, grid.count, sizeof *grid.values, &by_hand.err);
    ck_assert_ptr_nonnull(grid.values);
    return grid;
}

static double number_of(const struct json *value)
{
    double number = NAN;
    ck_assert(json_is_null(value) || json_get_number(value, &number));
    return number;
}

/* An array of numbers, one of arrays, or a number. */
static struct grid grid_read(const struct json *value)
{
    if (!value)
        return (struct grid){0};
    if (!json_is_array(value)) {
        struct grid single = grid_make(1, 1);
        single.values[0] = number_of(value);
        return single;
    }
    bool nested = json_is_array(json_first(value));
    struct grid grid =
        grid_make(nested ? json_count(value) : 1, json_count(nested ? json_first(value) : value));
    size_t i = 0;
    for (const struct json *row = nested ? json_first(value) : value; row;
         row = nested ? json_next(row) : NULL)
        for (const struct json *item = json_first(row); item; item = json_next(item))
            grid.values[i++] = number_of(item);
    ck_assert_uint_eq(i, grid.count);
    return grid;
}

struct grid taken(const char *name)
{
    return grid_read(json_member(by_hand.given, name));
}

bool is_taken(const char *name)
{
    return json_member(by_hand.given, name) != NULL;
}

const struct json *step_called(const char *name)
{
    for (const struct json *step = json_first(by_hand.steps); step; step = json_next(step)) {
        const char *found = "";
        ck_assert(json_get_text(json_member(step, "name"), &found));
        if (strcmp(found, name) == 0)
            return step;
    }
    return NULL;
}

/* A column, or the total below it; nothing where the step or the column is not there. */
struct grid printed(const char *step, const char *part, const char *name)
{
    const struct json *found = step_called(step);
    const struct json *columns = found ? json_member(found, part) : NULL;
    return grid_read(columns ? json_member(columns, name) : NULL);
}

/* The rows of the step's table of that name. */
struct grid printed_row(const char *step, const char *column, const char *name)
{
    const struct json *found = step_called(step);
    struct grid all = printed(step, "columns", column);
    size_t row = 0;
    ck_assert_ptr_nonnull(found);
    for (const struct json *label = json_first(json_member(found, "rows")); label;
         label = json_next(label), row++) {
        const char *text = "";
        ck_assert(json_get_text(label, &text));
        if (strcmp(text, name) == 0)
            return (struct grid){all.values + row * all.columns, 1, all.columns, all.columns};
    }
    return (struct grid){0};
}

/* --- arithmetic ------------------------------------------------------------------------------- */

void expect(const char *what, struct grid found, struct grid expected)
{
    double largest = 0;
    ck_assert_msg(found.count == expected.count && found.count, "%s: %zu numbers, expected %zu",
                  what, found.count, expected.count);
    for (size_t i = 0; i < expected.count; i++)
        largest = fmax(largest, fabs(expected.values[i]));
    for (size_t i = 0; i < expected.count; i++)
        ck_assert_msg(fabs(found.values[i] - expected.values[i]) <= tolerance * largest,
                      "%s, number %zu: by hand %.9g, printed %.9g", what, i, expected.values[i],
                      found.values[i]);
}

struct grid row_at(struct grid grid, size_t row)
{
    ck_assert_uint_lt(row, grid.rows);
    return (struct grid){grid.values + row * grid.columns, 1, grid.columns, grid.columns};
}

/* a · b + bias, where there is one */
struct grid product(struct grid a, struct grid b, struct grid bias)
{
    struct grid y = grid_make(a.rows, b.columns);
    ck_assert_uint_eq(a.columns, b.rows);
    for (size_t i = 0; i < y.count; i++) {
        size_t row = i / y.columns;
        size_t column = i % y.columns;
        y.values[i] = bias.count ? bias.values[column] : 0;
        for (size_t c = 0; c < a.columns; c++)
            y.values[i] += a.values[row * a.columns + c] * b.values[c * b.columns + column];
    }
    return y;
}

/* What the step says of a norm: which it is, and whether its scales are 1 + γ. */
bool says(const char *step, const char *what)
{
    const struct json *found = step_called(step);
    const struct json *formulas = found ? json_member(found, "formulas") : NULL;
    for (const struct json *one = formulas ? json_first(formulas) : NULL; one;
         one = json_next(one)) {
        const char *text = "";
        ck_assert(json_get_text(json_member(one, "text"), &text));
        if (strstr(text, what))
            return true;
    }
    return false;
}

double scale_at(const char *step, struct grid gamma, size_t c)
{
    return gamma.values[c] + says(step, "(1 + γ)");
}

/* Rows as the step's formula norms them. */
struct grid normed(const char *step, struct grid h, struct grid gamma, struct grid beta)
{
    struct grid y = grid_make(h.rows, h.columns);
    double size = (double)h.columns;
    if (!gamma.count) /* left out */
        return h;
    for (size_t row = 0; row < h.rows; row++) {
        const double *x = row_at(h, row).values;
        double mean = 0;
        double variance = 0;
        for (size_t c = 0; c < h.columns && !says(step, "mean("); c++)
            mean += x[c] / size;
        for (size_t c = 0; c < h.columns; c++)
            variance += (x[c] - mean) * (x[c] - mean) / size;
        for (size_t c = 0; c < h.columns; c++)
            y.values[row * h.columns + c] = (x[c] - mean) /
                                                sqrt(variance + taken("epsilon").values[0]) *
                                                scale_at(step, gamma, c) +
                                            (beta.count ? beta.values[c] : 0);
    }
    return y;
}

/* By the scales and shifts that its table shows. */
struct grid normed_by_rows(const char *step, struct grid h)
{
    return normed(step, h, printed_row(step, "vector", "γ"), printed_row(step, "vector", "β"));
}
