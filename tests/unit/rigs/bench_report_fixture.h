/* bench_report_fixture.h: a benchmark that nobody had to wait for. */
#ifndef ATTN_TESTS_BENCH_REPORT_FIXTURE_H
#define ATTN_TESTS_BENCH_REPORT_FIXTURE_H

#include "bench/benchmark.h"

static const struct bench_result example_results[] = {
    {{.kind = TASK_OPEN},
     {0, 0},
     {.seconds = 0.0003125},
     (const double[]){0.0003125, 0.00025, 0.0003125, 0.0005, 0.0003125}},
    {{TASK_PREFILL, {.texts = 1, .tokens = 6}, PRECISION_FP32},
     {1e9, 3e8},
     {.seconds = 0.016, .of_compute = 0.25, .of_kernel = 0.3125, .of_memory = 0.5},
     (const double[]){0.016, 0.0155, 0.016, 0.018, 0.0165}},
    {{TASK_CAPTURE, {.texts = 1, .tokens = 1024}, PRECISION_FP32},
     {2e11, 3e8},
     {.seconds = 2.048,
      .of_compute = 0.90625,
      .of_kernel = 0.9375,
      .of_memory = 0.0625,
      .over = 1.03125},
     (const double[]){2.048, 2, 2.5, 2.0625, 2.03125}},
    {{TASK_DECODE, {.texts = 1, .tokens = 1, .cached = 64}, PRECISION_FP32},
     {3e8, 5e8},
     {.seconds = 0.0125, .of_compute = 0.0625, .of_kernel = 0.0625, .of_memory = 0.875},
     (const double[]){0.0125, 0.0125, 0.0125, 0.0125, 0.0125}},
    {{TASK_BATCH, {.texts = 100, .tokens = 12}, PRECISION_FP32},
     {2e6, 3e3},
     {.seconds = 24e-6, .of_compute = 1.5, .of_kernel = 1.625},
     (const double[]){24e-6, 23e-6, 24e-6, 25e-6, 26e-6}},
};

static const struct bench_report example_report = {
    .version = "0.1.0",
    .model = "models/\tgpt2",
    .parameters = 124439808,
    .kernels = "avx512",
    .processor = "AMD EPYC",
    .rounds = 5,
    .alone = {1, {256e9, 128e9, 48.5e9}, 39.25e9, {240e9}},
    .together = {2, {512e9, 256e9, 96e9}, 42.5e9, {480e9}},
    .results = example_results,
    .result_count = sizeof example_results / sizeof *example_results,
};

/* The same machine with bf16 measured, too. */
static const struct bench_result example_bf16_results[] = {
    {{TASK_PREFILL, {.texts = 1, .tokens = 256}, PRECISION_FP32},
     {4e10, 3e8},
     {.seconds = 0.25, .of_compute = 0.875, .of_kernel = 0.90625, .of_memory = 0.0625},
     (const double[]){0.25, 0.25, 0.25, 0.25, 0.25}},
    {{TASK_PREFILL, {.texts = 1, .tokens = 256}, PRECISION_BF16},
     {4e10, 1.5e8},
     {.seconds = 0.125,
      .of_compute = 0.75,
      .of_kernel = 0.84375,
      .of_memory = 0.0625,
      .faster = 1.875},
     (const double[]){0.125, 0.125, 0.125, 0.125, 0.125}},
    {{TASK_DECODE, {.texts = 1, .tokens = 1, .cached = 64}, PRECISION_BF16},
     {3e8, 2.5e8},
     {.seconds = 0.00625,
      .of_compute = 0.0625,
      .of_kernel = 0.0625,
      .of_memory = 0.75,
      .faster = 2},
     (const double[]){0.00625, 0.00625, 0.00625, 0.00625, 0.00625}},
};

static inline struct bench_report example_bf16_report(void)
{
    struct bench_report report = example_report;
    report.results = example_bf16_results;
    report.result_count = sizeof example_bf16_results / sizeof *example_bf16_results;
    report.deviation = (struct deviation){256, 0.0041, 0.03, 4.516};
    return report;
}

#endif
