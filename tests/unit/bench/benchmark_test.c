#include "bench/benchmark.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"
#include "model/model.h"
#include "model/new_model.h"

/* No time is tested: machines are slow and busy. What is tested is what must be so on all. */

static struct new_model new_model;
static size_t announced;

static void make_shape(void)
{
    ck_assert_int_eq(shape_make(&new_model, "tiny", NULL), 0);
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
    if (done == 0)
        ck_assert_str_eq(note, "prefill, 2 tokens");
    announced++;
}

static const struct progress_sink sink = {count_progress, &announced};

/* Two threads wait for each other where there is but one; valgrind takes minutes. */
TEST(every_task_is_measured_in_every_round)
{
    static const size_t lengths[] = {2, 9};
    static const struct {
        enum task_kind kind;
        size_t texts, tokens, cached;
    } expected[] = {{TASK_PREFILL, 1, 2, 0}, {TASK_CAPTURE, 1, 2, 0}, {TASK_PREFILL, 1, 9, 0},
                    {TASK_CAPTURE, 1, 9, 0}, {TASK_DECODE, 1, 1, 63}, {TASK_GREEDY, 1, 1, 63},
                    {TASK_BATCH, 100, 12, 0}};
    struct bench_plan plan = {"1.0",
                              &new_model.folder,
                              .threads = 2,
                              .rounds = 2,
                              .kinds = TASKS_ALL,
                              .lengths = lengths,
                              .length_count = 2,
                              .progress = &sink};
    struct bench_report report;
    struct arena arena = {0};
    struct err err = {0};
    ck_assert_msg(!benchmark(&report, &plan, &arena, &err), "%s", err.text);
    ck_assert_str_eq(report.model, "tiny");
    ck_assert_uint_eq(report.parameters, 352896);
    ck_assert_uint_eq(report.threads, 2);
    ck_assert_uint_eq(report.result_count, COUNT(expected));
    ck_assert_uint_eq(announced, 2 * COUNT(expected));
    ck_assert_double_gt(report.limits.operations, 1e6);
    ck_assert_double_gt(report.limits.bytes, 1e6);
    ck_assert_ptr_null(report.bf16);
    for (size_t i = 0; i < report.result_count; i++) {
        const struct bench_result *result = &report.results[i];
        ck_assert_int_eq(result->kind, expected[i].kind);
        ck_assert_uint_eq(result->size.texts, expected[i].texts);
        ck_assert_uint_eq(result->size.tokens, expected[i].tokens);
        ck_assert_uint_eq(result->size.cached, expected[i].cached);
        ck_assert_double_gt(result->median, 0);
        ck_assert_double_lt(result->median, 60);
        ck_assert_double_eq(2 * result->median, result->seconds[0] + result->seconds[1]);
        ck_assert_double_gt(result->of_compute, 0);
        ck_assert_double_eq(result->of_memory, 0); /* tiny fits every cache */
    }
    arena_release(&arena);
}

TEST(bf16_reads_half_the_bytes)
{
    static const size_t length = 9;
    struct bench_plan plan = {"1.0",
                              &new_model.folder,
                              .threads = 1,
                              .rounds = 1,
                              .kinds = 1 << TASK_PREFILL,
                              .lengths = &length,
                              .length_count = 1};
    struct bench_report fp32, bf16;
    struct arena arena = {0};
    ck_assert_int_eq(benchmark(&fp32, &plan, &arena, NULL), 0);
    plan.precision = PRECISION_BF16;
    ck_assert_int_eq(benchmark(&bf16, &plan, &arena, NULL), 0);
    ck_assert_ptr_nonnull(bf16.bf16);
    ck_assert_uint_eq(bf16.result_count, 1);
    ck_assert_double_eq(2 * bf16.results[0].work.bytes, fp32.results[0].work.bytes);
    arena_release(&arena);
}

TEST(every_kind_of_model_can_be_measured)
{
    for (size_t i = 0; i < bundled_count; i++) {
        static const size_t length = 4;
        struct bench_plan plan = {"1.0",
                                  &bundled_models[i],
                                  .threads = 1,
                                  .rounds = 1,
                                  .kinds = TASKS_ALL,
                                  .lengths = &length,
                                  .length_count = 1};
        struct bench_report report;
        struct arena arena = {0};
        struct err err = {0};
        ck_assert_msg(!benchmark(&report, &plan, &arena, &err), "%s: %s", bundled_models[i].path,
                      err.text);
        bool grows = i == 0; /* the default model is the only one with logits */
        ck_assert_uint_eq(report.result_count, grows ? 5 : 3);
        arena_release(&arena);
    }
}

TEST(errors_come_from_where_they_arise)
{
    static const size_t length = 65;
    static const struct folder nowhere = {.path = "no/such/folder"};
    struct bench_plan plan = {"1.0",
                              &new_model.folder,
                              .threads = 1,
                              .rounds = 1,
                              .kinds = TASKS_ALL,
                              .lengths = &length,
                              .length_count = 1};
    struct bench_report report;
    struct arena arena = {0};
    struct err err = {0};
    ck_assert_int_eq(benchmark(&report, &plan, &arena, &err), -1);
    ck_assert_str_eq(err.text, "--tokens: expected at most 64 (n_positions), found 65");
    err_clear(&err);
    plan.folder = &nowhere;
    ck_assert_int_eq(benchmark(&report, &plan, &arena, &err), -1);
    ck_assert_str_eq(err.text,
                     "cannot open 'no/such/folder/config.json': No such file or directory");
    arena_release(&arena);
}

/* Doubling: what is between fails in the same few places. */
TEST(an_allocation_that_fails_is_an_error)
{
    static const size_t length = 3;
    struct bench_plan plan = {"1.0",
                              &new_model.folder,
                              .threads = 1,
                              .rounds = 1,
                              .kinds = TASKS_ALL,
                              .lengths = &length,
                              .length_count = 1};
    size_t failures = 0;
    for (size_t nth = 1;; nth = nth < 32 ? nth + 1 : 2 * nth) {
        struct bench_report report;
        struct arena arena = {0};
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = benchmark(&report, &plan, &arena, &err);
        heap_fail_at(0, 0);
        arena_release(&arena);
        if (!failed)
            break;
        ck_assert_msg(strstr(err.text, "out of memory") != NULL, "%s", err.text);
        failures++;
    }
    ck_assert_uint_gt(failures, 20);
}
