/* bench_report_fixture.h: a benchmark that nobody had to wait for. */
#ifndef ATTN_TESTS_BENCH_REPORT_FIXTURE_H
#define ATTN_TESTS_BENCH_REPORT_FIXTURE_H

#include "bench/benchmark.h"

static const struct bench_result example_results[] = {
    {{.kind = TASK_OPEN}, {0, 0}, {.seconds = 0.0003125}},
    {{TASK_PREFILL, {.sequences = 1, .tokens = 6}},
     {1e9, 3e8},
     {.seconds = 0.016, .of_compute = 0.25, .of_memory = 0.5}},
    {{TASK_CAPTURE, {.sequences = 1, .tokens = 1024}},
     {2e11, 3e8},
     {.seconds = 2.048, .of_compute = 0.90625, .of_memory = 0.0625, .over = 1.03125}},
    {{TASK_DECODE, {.sequences = 1, .tokens = 1, .cached = 64}},
     {3e8, 5e8},
     {.seconds = 0.0125, .of_compute = 0.0625, .of_memory = 0.875}},
    {{TASK_BATCH, {.sequences = 100, .tokens = 12}},
     {2e6, 3e3},
     {.seconds = 24e-6, .of_compute = 1.5}},
};

static const struct bench_report example_report = {
    .model = "models/\tgpt2",
    .parameters = 124439808,
    .kernels = "avx512",
    .processor = "AMD EPYC",
    .rounds = 5,
    .alone = {1, {256e9, 128e9, 48.5e9}, 39.25e9},
    .together = {2, {512e9, 256e9, 96e9}, 42.5e9},
    .results = example_results,
    .result_count = sizeof example_results / sizeof *example_results,
};

#endif
