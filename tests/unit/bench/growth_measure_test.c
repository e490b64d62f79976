#include "bench/growth.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "base/heap.h"
#include "model/pass.h"
#include "model/mechanism.h"
#include "model/new_model.h"

/* No time is tested: machines are slow and busy. */

static struct new_model new_model;
static struct mechanism ways[3];
static struct growth growth;
static struct arena arena;
static struct err err;
static size_t announced;

static const char *const names[COUNT(ways)] = {"dense", "window:8+random:2:5", "linear"};

static void prepare(void)
{
    arena = (struct arena){0};
    err = (struct err){0};
    announced = 0;
    ck_assert_int_eq(shape_make_head(&new_model, NULL), 0);
    for (size_t i = 0; i < COUNT(ways); i++) {
        ways[i] = (struct mechanism){0};
        ck_assert_int_eq(mechanism_set_attention(&ways[i], names[i], NULL), 0);
    }
}

static void release(void)
{
    new_model_release(&new_model);
    arena_release(&arena);
}

FIXTURE(prepare, release)

static void count_progress(void *context, size_t done, size_t count, const char *note)
{
    ck_assert_ptr_eq(context, &announced);
    ck_assert_uint_eq(done, announced);
    ck_assert_uint_lt(done, count);
    ck_assert_str_eq(strstr(note, ", ") + 2, names[announced % COUNT(ways)]);
    announced++;
}

static const struct progress_sink sink = {count_progress, &announced};

static struct growth_plan plan_of(const size_t *lengths, size_t count)
{
    return (struct growth_plan){
        .folder = &new_model.folder,
        .threads = 2,
        .rounds = 2,
        .ways = ways,
        .way_count = COUNT(ways),
        .lengths = lengths,
        .length_count = count,
        .progress = &sink,
    };
}

TEST(every_way_and_length_is_measured)
{
    static const size_t lengths[] = {1, 16, 40};
    struct growth_plan plan = plan_of(lengths, COUNT(lengths));
    ck_assert_msg(!growth_measure(&growth, &plan, &arena, &err), "%s", err.text);
    ck_assert_str_eq(growth.model, "head-64");
    ck_assert_uint_eq(growth.threads, 2);
    ck_assert_uint_eq(announced, 2 * COUNT(lengths) * COUNT(ways));
    for (size_t w = 0; w < COUNT(ways); w++) {
        struct config config = new_model.config;
        config.mechanism = ways[w];
        ck_assert_str_eq(growth.ways[w].name, names[w]);
        for (size_t i = 0; i < COUNT(lengths); i++) {
            size_t bytes = attention_whole_bytes(&config, lengths[i], lengths[i], 2);
            ck_assert_double_gt(growth.ways[w].values[GROWTH_SECONDS][i], 0);
            ck_assert_double_lt(growth.ways[w].values[GROWTH_SECONDS][i], 10);
            ck_assert_double_eq(growth.ways[w].values[GROWTH_BYTES][i], (double)bytes);
        }
        ck_assert(isfinite(growth.ways[w].exponents[GROWTH_SECONDS]));
    }
    ck_assert_double_eq_tol(growth.ways[2].exponents[GROWTH_BYTES], 0, 1e-9);
}

TEST(lengths_are_halves_of_a_short_context)
{
    struct new_model tiny = {0};
    struct growth_plan plan = plan_of(NULL, 0);
    ck_assert_int_eq(shape_make(&tiny, "tiny", NULL), 0);
    plan.folder = &tiny.folder;
    plan.rounds = 1;
    ck_assert_msg(!growth_measure(&growth, &plan, &arena, &err), "%s", err.text);
    ck_assert_uint_eq(growth.length_count, 5);
    ck_assert_mem_eq(growth.lengths, ((size_t[]){4, 8, 16, 32, 64}), 5 * sizeof(size_t));
    new_model_release(&tiny);
}

TEST(what_does_not_fit_the_model_is_refused)
{
    static const size_t lengths[] = {8, 65};
    struct new_model tiny = {0};
    struct growth_plan plan = plan_of(lengths, COUNT(lengths));
    ck_assert_int_eq(shape_make(&tiny, "tiny", NULL), 0);
    plan.folder = &tiny.folder;
    ck_assert_int_eq(growth_measure(&growth, &plan, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--tokens: expected at most 64 (n_positions), found 65");
    plan = plan_of(lengths, 1);
    ways[1].without = 1U << PART_MLP;
    err_clear(&err);
    ck_assert_int_eq(growth_measure(&growth, &plan, &arena, &err), -1);
    ck_assert_int_eq(err.kind, ERR_USAGE);
    new_model_release(&tiny);
}

TEST(an_exponent_is_fitted_over_the_longer_half)
{
    static const size_t x[] = {10, 20, 40, 80, 160};
    static const double y[] = {7, 5, 3, 12, 48};
    ck_assert_double_eq_tol(growth_exponent(x, y, 5), 2, 1e-12);
    ck_assert_double_eq_tol(growth_exponent(x + 1, y + 1, 4), 2, 1e-12); /* three of four */
    ck_assert_double_eq_tol(growth_exponent(x + 3, y + 3, 2), 2, 1e-12);
    ck_assert(isnan(growth_exponent(x, y, 1)));
    ck_assert(isnan(growth_exponent((size_t[]){5, 5}, y, 2)));
}

TEST(without_memory_for_the_usual_lengths_nothing_is_measured)
{
    struct growth_plan plan = plan_of(NULL, 0);
    for (size_t nth = 1; nth < 40; nth++) { /* before anything runs */
        struct arena fresh = {0};
        err_clear(&err);
        heap_fail_at(nth, 1);
        ck_assert_int_eq(growth_measure(&growth, &plan, &fresh, &err), -1);
        heap_fail_at(0, 0);
        ck_assert(err.out_of_memory);
        arena_release(&fresh);
    }
    ck_assert_uint_eq(announced, 0);
}

TEST(every_allocation_may_fail)
{
    static const size_t lengths[] = {3, 6};
    struct growth_plan plan = plan_of(lengths, COUNT(lengths));
    int failed = -1;
    plan.threads = 1;
    plan.rounds = 1;
    plan.progress = NULL;
    for (size_t nth = 1; failed;
         nth += nth < 500 ? 1 : nth / 32) { /* passes are repeated for a time */
        struct arena fresh = {0};
        err_clear(&err);
        heap_fail_at(nth, 0);
        failed = growth_measure(&growth, &plan, &fresh, &err);
        heap_fail_at(0, 0);
        if (failed)
            ck_assert_msg(strstr(err.text, "out of memory: ") != NULL, "'%s'", err.text);
        arena_release(&fresh);
    }
    ck_assert_int_eq(failed, 0);
}
