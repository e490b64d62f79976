#include "bench/benchmark.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/bench_report_fixture.h"
#include "../rigs/memory_stream.h"
#include "base/utf8.h"

static void expect_page(const struct bench_report *report, const char *expected)
{
    struct stream out = {0};
    memory_stream_open(&out);
    ck_assert_int_eq(bench_page_write(&out, report, NULL), 0);
    struct file page = memory_stream_take(&out);
    ck_assert_msg(page.size == strlen(expected) && memcmp(page.bytes, expected, page.size) == 0,
                  "%.*s", (int)page.size, page.bytes);
    file_release(&page);
}

TEST(a_page_is_written_to_the_byte)
{
    expect_page(&example_report,
                "models/⇥gpt2 · 124,439,808 parameters\n"
                "AMD EPYC · 2 threads · avx512 kernels · medians of 5 rounds\n"
                "\n"
                "The machine                      1 thread      2 threads\n"
                "  compute, avx512             256 GFLOP/s    512 GFLOP/s\n"
                "  compute, avx2               128 GFLOP/s    256 GFLOP/s\n"
                "  compute, plain             48.5 GFLOP/s   96.0 GFLOP/s\n"
                "  a kernel in cache           240 GFLOP/s    480 GFLOP/s\n"
                "  memory, read                  39.2 GB/s      42.5 GB/s\n"
                "\n"
                "The model     tokens      time  tokens/s  of what it can do   of kernel\n"
                "  open                0.312 ms\n"
                "  prefill          6   16.0 ms       375  ████      50 % memory\n"
                "  capture       1024    2.05 s       500  ███████▎  91 % compute   94 %  1.03 ×\n"
                "  decode      64 + 1   12.5 ms        80  ███████   88 % memory\n"
                "  batch     100 × 12   24.0 µs  50000000  ████████ 150 % compute  162 %\n");
}

TEST(what_was_measured_in_bf16_stands_apart)
{
    struct bench_report report = example_bf16_report();
    report.together = report.alone = (struct bench_limits){1, {0, 0, 1e9}, 5e8, {8e8}};
    expect_page(&report,
                "models/⇥gpt2 · 124,439,808 parameters\n"
                "AMD EPYC · 1 thread · avx512 kernels · medians of 5 rounds\n"
                "\n"
                "The machine                      1 thread\n"
                "  compute, plain             1.00 GFLOP/s\n"
                "  a kernel in cache         0.800 GFLOP/s\n"
                "  memory, read                 0.500 GB/s\n"
                "\n"
                "The model     tokens      time  tokens/s  of what it can do   of kernel\n"
                "  prefill        256    250 ms      1024  ███████   88 % compute   91 %\n"
                "\n"
                "In bf16       tokens      time  tokens/s  of what it can do   of kernel  faster\n"
                "  prefill        256    125 ms      2048  ██████    75 % compute   84 %  1.88 ×\n"
                "  decode      64 + 1   6.25 ms       160  ██████    75 % memory          2.00 ×\n"
                "  off by 0.0041 at most in attention weights, 0.03 in logits up to 4.52\n");
}

/* Bare attention has no logits. */
TEST(nothing_is_said_of_logits_that_are_not_there)
{
    static const char end[] = "\n  off by 0.25 at most in attention weights\n";
    struct bench_report report = example_bf16_report();
    struct stream out = {0};
    report.deviation = (struct deviation){256, 0.25, 0, 0};
    memory_stream_open(&out);
    ck_assert_int_eq(bench_page_write(&out, &report, NULL), 0);
    struct file page = memory_stream_take(&out);
    ck_assert_uint_gt(page.size, sizeof end);
    ck_assert_mem_eq(page.bytes + page.size - (sizeof end - 1), end, sizeof end - 1);
    file_release(&page);
}

TEST(one_thread_needs_one_column_and_what_is_not_there_no_line)
{
    struct bench_report report = example_report;
    report.model = "tiny";
    report.parameters = 999;
    report.processor = "";
    report.rounds = 1;
    report.together = report.alone = (struct bench_limits){1, {0, 0, 1e9}, 5e8, {8e8}};
    report.result_count = 0;
    expect_page(&report,
                "tiny · 999 parameters\n"
                "1 thread · avx512 kernels · medians of 1 round\n"
                "\n"
                "The machine                      1 thread\n"
                "  compute, plain             1.00 GFLOP/s\n"
                "  a kernel in cache         0.800 GFLOP/s\n"
                "  memory, read                 0.500 GB/s\n"
                "\n"
                "The model     tokens      time  tokens/s  of what it can do   of kernel\n");
}
