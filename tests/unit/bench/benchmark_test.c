#include "bench/benchmark.h"

#include <math.h>
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
    if (announced % 10 == 0)
        ck_assert_str_eq(note, "open");
    announced++;
}

static const struct progress_sink sink = {count_progress, &announced};

static void check_limits(const struct bench_limits *limits, size_t threads)
{
    ck_assert_uint_eq(limits->threads, threads);
    ck_assert_double_gt(limits->fma[FMA_PLAIN], 1e6);
    ck_assert_double_gt(limits->read, 1e6);
    ck_assert_double_gt(limits->kernel[PRECISION_FP32], 1e6);
    ck_assert_double_eq(limits->kernel[PRECISION_BF16], 0);
    for (int form = 0; form < FMA_FORMS; form++)
        ck_assert_int_eq(limits->fma[form] > 0, fma_loop_find((enum fma_form)form) != NULL);
}

static void check_result(const struct bench_result *result)
{
    bool is_pass = result->task.size.texts > 0;
    ck_assert_double_gt(result->median.seconds, 0);
    ck_assert_double_lt(result->median.seconds, 60);
    ck_assert_double_eq(result->median.of_memory, 0); /* tiny fits every cache */
    ck_assert_int_eq(result->median.of_compute > 0, is_pass);
    ck_assert_int_eq(result->median.of_kernel > 0, is_pass);
    ck_assert_int_eq(bench_tokens_per_second(result) > 0, is_pass);
    bool is_other_way = result->task.kind == TASK_CAPTURE || result->task.kind == TASK_IN_PLACE;
    ck_assert_int_eq(result->median.over > 0, is_other_way);
}

/* Two threads wait for each other where there is but one; valgrind takes minutes. */
TEST(everything_is_measured_in_every_round)
{
    static const size_t lengths[] = {2, 9};
    struct bench_plan plan = {&new_model.folder, .threads = 2, .rounds = 2,
                              .choice = {TASKS_ALL, lengths, 2, PRECISION_FP32}, .progress = &sink};
    struct bench_report report;
    struct arena arena = {0};
    struct err err = {0};
    ck_assert_msg(!benchmark(&report, &plan, &arena, &err), "%s", err.text);
    ck_assert_str_eq(report.model, "tiny");
    ck_assert_uint_eq(report.parameters, 352896);
    ck_assert_uint_eq(report.rounds, 2);
    ck_assert_uint_eq(report.result_count, 10);
    ck_assert_uint_eq(announced, 20);
    check_limits(&report.alone, 1);
    check_limits(&report.together, 2);
    for (size_t i = 0; i < report.result_count; i++)
        check_result(&report.results[i]);
    arena_release(&arena);
}

/* Where it is not there, that is what it says. */
TEST(bf16_is_measured_beside_float32)
{
    static const size_t length = 9;
    struct bench_plan plan = {&new_model.folder, .threads = 1, .rounds = 2,
                              .choice = {TASKS_ALL, &length, 1, PRECISION_BF16}};
    struct bench_report report;
    struct arena arena = {0};
    struct err err = {0};
    int failed = benchmark(&report, &plan, &arena, &err);
    ck_assert_int_eq(err.kind, failed ? ERR_UNSUPPORTED : ERR_NONE);
    for (size_t i = 0; !failed && i < report.result_count; i++) {
        const struct bench_result *result = &report.results[i];
        bool is_bf16 = result->task.precision == PRECISION_BF16;
        ck_assert_int_eq(result->median.faster > 0, is_bf16);
        if (is_bf16) {
            ck_assert_int_eq(result[-1].task.kind, result->task.kind);
            ck_assert_int_eq(result[-1].task.precision, PRECISION_FP32);
            ck_assert_double_lt(result->work.bytes, result[-1].work.bytes);
        }
    }
    if (!failed) {
        ck_assert_uint_eq(report.result_count, 10);
        ck_assert_uint_eq(report.deviation.tokens, 64);
        ck_assert_double_gt(report.deviation.weights, 0);
        ck_assert_double_lt(report.deviation.weights, 0.02);
    }
    arena_release(&arena);
}

TEST(every_kind_of_model_can_be_measured)
{
    for (size_t i = 0; i < bundled_count; i++) {
        static const size_t length = 4;
        struct bench_plan plan = {&bundled_models[i], .threads = 1, .rounds = 1,
                                  .choice = {TASKS_ALL, &length, 1, PRECISION_FP32}};
        struct bench_report report;
        struct arena arena = {0};
        struct err err = {0};
        ck_assert_msg(!benchmark(&report, &plan, &arena, &err), "%s: %s", bundled_models[i].path,
                      err.text);
        bool grows = i == 0; /* the default model is the only one with logits */
        ck_assert_uint_eq(report.result_count, grows ? 7 : 5);
        arena_release(&arena);
    }
}

TEST(attention_kept_alone_has_nothing_to_be_held_against)
{
    static const size_t length = 4;
    struct bench_plan plan = {&new_model.folder, .threads = 1, .rounds = 1,
                              .choice = {1 << TASK_CAPTURE, &length, 1, PRECISION_FP32}};
    struct bench_report report;
    struct arena arena = {0};
    ck_assert_int_eq(benchmark(&report, &plan, &arena, NULL), 0);
    ck_assert_uint_eq(report.result_count, 1);
    ck_assert_double_eq(report.results[0].median.over, 0);
    arena_release(&arena);
}

TEST(errors_come_from_where_they_arise)
{
    static const size_t length = 65;
    static const struct folder nowhere = {.path = "no/such/folder"};
    struct bench_plan plan = {&new_model.folder, .threads = 1, .rounds = 1,
                              .choice = {TASKS_ALL, &length, 1, PRECISION_FP32}};
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
    struct bench_plan plan = {&new_model.folder, .threads = 1, .rounds = 1,
                              .choice = {TASKS_ALL, &length, 1, PRECISION_FP32}};
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
