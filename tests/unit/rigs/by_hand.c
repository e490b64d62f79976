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
    const struct json *rows = found ? json_member(found, "rows") : NULL;
    for (const struct json *label = rows ? json_first(rows) : NULL; label;
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

/* --- from the output of the attention to the logits ------------------------------------------- */

/* A sum as its formula has it, of the vectors that its table shows: their names, and what the last
 * two terms are times. */
static struct grid follow_sum(const char *step, struct grid base, struct grid a, struct grid b)
{
    const struct grid none = {0};
    double scale = is_taken("residual_scale") ? taken("residual_scale").values[0] : 1;
    struct grid sum = grid_make(1, base.columns);
    bool alone = a.count && !says(step, " + ");
    for (size_t c = 0; c < sum.count; c++)
        sum.values[c] = (alone ? 0 : base.values[c]) + (a.count ? scale * a.values[c] : 0) +
                        (b.count ? scale * b.values[c] : 0);
    struct grid found = printed_row(step, "vector", step);
    expect(step, found.count ? found : printed_row(step, "vector", "sum"), sum);
    return a.count || b.count ? sum : none.count ? none : base;
}

static double curve(double x)
{
    if (says("mlp_act", "silu"))
        return x / (1 + exp(-x));
    if (says("mlp_act", "gelu_new"))
        return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    if (says("mlp_act", "erf"))
        return x / 2 * (1 + erf(x / sqrt(2)));
    ck_assert(says("mlp_act", "relu"));
    return x > 0 ? x : 0;
}

/* What the MLP gives for y. */
static struct grid follow_mlp(struct grid y)
{
    struct grid up = product(y, taken("W_up"), taken("b_up"));
    struct grid gate = is_taken("W_gate") ? product(y, taken("W_gate"), taken("b_gate")) : up;
    struct grid act = grid_make(1, up.columns);
    expect("up", printed_row("hidden", "vector", "up"), up);
    if (is_taken("W_gate"))
        expect("gate", printed_row("hidden", "vector", "gate"), gate);
    for (size_t i = 0; i < act.count; i++)
        act.values[i] = curve(gate.values[i]) * (is_taken("W_gate") ? up.values[i] : 1);
    expect("mlp_act", printed_row("mlp_act", "vector", "mlp_act"), act);
    struct grid out = product(act, taken("W_down"), taken("b_down"));
    expect("mlp_out", printed("mlp_out", "columns", "mlp_out"), out);
    return out;
}

/* The step's vector, normed, and that it is what the table shows last. */
static struct grid follow_norm(const char *step, struct grid x, const char *name)
{
    struct grid y = normed_by_rows(step, x);
    expect(step, printed_row(step, "vector", name), y);
    return y;
}

void follow_block(struct grid x)
{
    struct grid none = {0};
    struct grid h = printed_row("input", "vector", "h");
    struct grid a = printed("output", "total", "share");
    if (!step_called("resid_post") || (step_called("hidden") && !is_taken("W_down")))
        return; /* it ends with the attention, or has too many weights to be listed */
    h = h.count ? h : x;
    if (step_called("ln_1_post"))
        a = follow_norm("ln_1_post", a, "ln_1_post");
    bool parallel = !step_called("resid_mid");
    bool last = step_called("ln_1") != NULL;
    struct grid mid = parallel ? h : follow_sum("resid_mid", h, a, none);
    struct grid y = mid;
    if (last)
        y = mid = follow_norm("ln_1", mid, "ln_1");
    else if (step_called("ln_2"))
        y = follow_norm("ln_2", mid, "ln_2");
    else if (says("hidden", "= x ·"))
        y = x;
    struct grid m = step_called("hidden") ? follow_mlp(y) : none;
    if (step_called("ln_2_post"))
        m = follow_norm("ln_2_post", m, "ln_2_post");
    struct grid out = follow_sum("resid_post", mid, parallel ? a : m, parallel ? m : none);
    if (last && step_called("ln_2"))
        out = follow_norm("ln_2", out, "resid_post");
    if (step_called("ln_f"))
        out = follow_norm("ln_f", out, "ln_f");
    if (!step_called("logits"))
        return;
    if (is_taken("P_out"))
        out = product(out, taken("P_out"), none);
    struct grid words = printed("logits", "columns", "words");
    struct grid dots = grid_make(1, words.rows);
    for (size_t i = 0; i < words.count; i++)
        dots.values[i / words.columns] += words.values[i] * out.values[i % words.columns];
    struct grid dot = printed("logits", "columns", "dot");
    expect("dots", dot.count ? dot : printed("logits", "columns", "logit"), dots);
}

void turn(double *x, size_t place)
{
    struct grid f = taken("frequencies");
    size_t apart = (size_t)taken("pair_distance").values[0];
    double m = taken("amplitude").values[0];
    for (size_t i = 0; i < f.count; i++) {
        double *a = x + (apart == 1 ? 2 * i : i);
        double cosine = m * cos((double)place * f.values[i]);
        double sine = m * sin((double)place * f.values[i]);
        double before = *a;
        *a = before * cosine - a[apart] * sine;
        a[apart] = a[apart] * cosine + before * sine;
    }
}

struct grid go_on(struct grid after, struct grid value)
{
    return after.count ? after : value;
}
