#include "bench/benchmark.h"

#include <math.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "base/memory.h"
#include "lens/report.h"
#include "model/mechanism.h"
#include "model/model.h"
#include "model/new_model.h"

/* Times are not tested, because machines are slow and busy. */

static struct new_model new_model;
static size_t announced;

static void make_shape(void)
{
    ck_assert_int_eq(shape_make(&new_model, "tiny", NULL), 0);
    announced = 0;
}

static void release_shape(void)
{
    new_model_release(&new_model);
}

FIXTURE(make_shape, release_shape)

static void count_progress(void *context, size_t done, size_t count, const char *note)
{
    ck_assert_ptr_eq(context, &announced);
    ck_assert_uint_eq(done, announced);
    ck_assert_uint_lt(done, count);
    ck_assert_ptr_nonnull(strstr(note, " tokens"));
    announced++;
}

static const struct progress_sink sink = {count_progress, &announced};

static struct bench_plan plan_of(const size_t *lengths, size_t count)
{
    return (struct bench_plan){
        .folder = &new_model.folder,
        .threads = 2,
        .rounds = one_of(2) == 1 ? 2 : 1,
        .kinds = TASKS_ALL,
        .lengths = lengths,
        .length_count = count,
        .progress = &sink,
    };
}

static double value_at(const struct report *result, const char *name, size_t row)
{
    const struct column *column = table_column(result->tables, name);
    ck_assert_msg(column, "no column %s", name);
    return column_float(column, row);
}

TEST(every_task_is_measured_in_every_round)
{
    static const size_t lengths[] = {2, 9};
    struct bench_plan plan = plan_of(lengths, COUNT(lengths));
    struct report result;
    struct arena arena = {0};
    struct err err = {0};
    for (int p = PRECISION_FP32; p <= PRECISION_BF16; p += (int)one_of(1)) {
        plan.precision = (enum precision)p;
        announced = 0;
        ck_assert_msg(!benchmark(&result, &plan, &arena, &err), "%s", err.text);
        ck_assert_uint_eq(result.tables->rows.size, 3); /* prefill twice, decode */
        ck_assert_uint_eq(announced, plan.rounds * 3);
        ck_assert_double_eq(value_at(&result, "tokens", 1), 9);
        ck_assert_double_eq(value_at(&result, "cached", 2), 63);
        ck_assert_double_eq(value_at(&result, "bytes", 0), p == PRECISION_BF16 ? 442368 : 884736);
        for (size_t i = 0; i < 3; i++) {
            ck_assert_double_gt(value_at(&result, "seconds", i), 0);
            ck_assert_double_gt(value_at(&result, "of_compute", i), 0);
            ck_assert(isnan(value_at(&result, "of_memory", i))); /* tiny fits every cache */
        }
    }
    arena_release(&arena);
}

TEST(the_longest_text_is_measured_if_the_one_before_is_fast)
{
    static const double usual[] = {1, 2, 6, 12, 24, 64, 256, 1024};
    struct bench_plan plan = plan_of(NULL, 0);
    struct folder folder;
    struct report result;
    struct arena arena = {0};
    struct err err = {0};
    plan.progress = NULL;
    plan.rounds = 2;
    plan.folder = &folder;
    ck_assert_int_eq(model_find(&folder, "life", &arena, &err), 0); /* has no limit of tokens */
    for (size_t dropped = 0; dropped < 2; dropped++) {
        plan.seconds_most = dropped ? 0 : (double)INFINITY;
        ck_assert_msg(!benchmark(&result, &plan, &arena, &err), "%s", err.text);
        ck_assert_uint_eq(result.tables->rows.size, COUNT(usual) - dropped);
        for (size_t i = 0; i < COUNT(usual) - dropped; i++)
            ck_assert_double_eq(value_at(&result, "tokens", i), usual[i]);
    }
    arena_release(&arena);
}

TEST(every_pattern_of_attention_is_measured_at_every_length)
{
    static const size_t lengths[] = {1, 16, 40};
    static const char *const names[] = {"dense", "window:8+random:2:5", "linear"};
    struct mechanism ways[COUNT(names)] = {0};
    struct bench_plan plan = plan_of(lengths, COUNT(lengths));
    struct report result;
    struct arena arena = {0};
    struct err err = {0};
    for (size_t i = 0; i < COUNT(ways); i++)
        ck_assert_int_eq(mechanism_set_attention(&ways[i], names[i], NULL), 0);
    plan.ways = ways;
    plan.way_count = COUNT(ways);
    ck_assert_msg(!benchmark(&result, &plan, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(result.tables->rows.size, 9);
    for (size_t i = 0; i < 9; i++) {
        ck_assert_str_eq(result.tables->rows.labels[i].text, names[i / 3]);
        ck_assert_double_gt(value_at(&result, "memory_bytes", i), 0);
        ck_assert(isfinite(value_at(&result, "time_exponent", i)));
    }
    ck_assert_double_eq_tol(value_at(&result, "memory_exponent", 8), 0, 1e-9);
    announced = 0;
    plan.lengths = NULL; /* default: halve the context, which is short */
    plan.way_count = one_of(1) == 1 ? COUNT(ways) : 1;
    ck_assert_msg(!benchmark(&result, &plan, &arena, &err), "%s", err.text);
    for (size_t i = 0; i < 5; i++)
        ck_assert_double_eq(value_at(&result, "tokens", i), (double)(4 << i));
    arena_release(&arena);
}

TEST(an_exponent_is_fitted_over_the_second_half)
{
    static const size_t x[] = {10, 20, 40, 80, 160};
    static const double y[] = {7, 5, 3, 12, 48};
    ck_assert_double_eq_tol(growth_exponent(x, y, 5), 2, 1e-12);
    ck_assert_double_eq_tol(growth_exponent(x + 1, y + 1, 4), 2, 1e-12); /* uses three of four */
    ck_assert_double_eq_tol(growth_exponent(x + 3, y + 3, 2), 2, 1e-12);
    ck_assert(isnan(growth_exponent(x, y, 1)));
    ck_assert_double_eq_tol(growth_spread(x + 1, y + 1, 4), 0, 1e-12);
    ck_assert_double_eq_tol(growth_spread((size_t[]){1, 2, 4, 8}, (double[]){9, 1, 4, 64}, 4), 1,
                            1e-12); /* slopes 2 and 4, of which 3 is fitted */
    ck_assert(isnan(growth_spread(x, y, 1)));
    ck_assert(isnan(growth_exponent((size_t[]){5, 5}, y, 2)));
}

/* Allocations 1 to 16, 32, 64, …: later ones are made at the same few places. */
TEST(a_failed_allocation_is_an_error)
{
    static const size_t length = 3;
    struct bench_plan plan = plan_of(&length, 1);
    struct mechanism dense = {0};
    size_t step = one_of(3);
    plan.threads = 1;
    plan.rounds = 1;
    plan.progress = NULL;
    for (plan.way_count = 0; plan.way_count < 2; plan.way_count++) {
        size_t failures = 0;
        plan.ways = plan.way_count ? &dense : NULL;
        for (size_t nth = 1;; nth = nth < 16 ? nth + step : nth * (1 + step)) {
            struct report result;
            struct arena arena = {0};
            struct err err = {0};
            heap_fail_at(nth, 0);
            int failed = benchmark(&result, &plan, &arena, &err);
            heap_fail_at(0, 0);
            arena_release(&arena);
            if (!failed)
                break;
            ck_assert_msg(strstr(err.text, "out of memory") != NULL, "%s", err.text);
            failures++;
        }
        ck_assert_uint_gt(failures, step == 1 ? 14 : 1);
    }
}

TEST(large_numbers_have_three_digits)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0.000 B"},    {0.31234, "0.312 B"}, {1.234, "1.23 B"},
                 {17.25, "17.2 B"}, {251.4, "251 B"},     {12345, "12345 B"}};
    char text[AMOUNT_BYTES];
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(amount_write(text, cases[i].value, "B"), cases[i].text);
}

TEST(median_is_the_middle_value_or_the_mean_of_two)
{
    static const struct {
        size_t count;
        double values[6];
        double expected;
    } cases[] = {
        {1, {7}, 7},
        {2, {7, 1}, 4},
        {3, {9, 1, 2}, 2},
        {4, {9, 1, 2, 4}, 3},
        {5, {1e9, 5, 5, 4, -1e9}, 5},
        {6, {6, 5, 4, 3, 2, 1}, 3.5},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double sorted[6];
        double found = median(cases[i].values, sizeof(double), cases[i].count, sorted);
        ck_assert_double_eq(found, cases[i].expected);
    }
}

TEST(median_of_one_member_leaves_the_array_unchanged)
{
    static const struct row {
        double other, value;
    } rows[] = {{100, 3}, {200, 1}, {300, 2}};
    double sorted[3];
    ck_assert_double_eq(median(&rows[0].value, sizeof *rows, 3, sorted), 2);
    ck_assert_double_eq(median(&rows[0].other, sizeof *rows, 3, sorted), 200);
    ck_assert_double_eq(rows[0].value, 3);
}
