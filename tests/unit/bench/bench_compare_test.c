#include "bench/bench_compare.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/bench_report_fixture.h"
#include "../rigs/memory_stream.h"
#include "base/amount.h"
#include "format/json.h"

static struct arena arena;

/* Runs of one task that are planted: its rounds, and how fast the machine was. */
struct timed {
    double each[8];
    size_t rounds;
    double compute, read;
    const char *processor;
};

static struct bench_result result_of(const struct timed *run, double of_memory)
{
    double sorted[8];
    struct bench_result result = {
        .task = {TASK_PREFILL, {.texts = 1, .tokens = 6}, PRECISION_FP32},
        .median = {.seconds = median(run->each, sizeof(double), run->rounds, sorted),
                   .of_compute = 0.5,
                   .of_memory = of_memory},
        .each = run->each,
    };
    return result;
}

static struct bench_report report_of(const struct timed *run, const struct bench_result *result)
{
    struct bench_report report = example_report;
    report.processor = run->processor ? run->processor : "one";
    report.rounds = run->rounds;
    report.together.fma[FMA_AVX512] = run->compute;
    report.together.fma[FMA_AVX2] = report.together.fma[FMA_PLAIN] = 0;
    report.together.read = run->read;
    report.results = result;
    report.result_count = 1;
    return report;
}

#define ROUNDS(...) {__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double)

static const struct planted {
    const char *what;
    struct timed then, now;
    double of_memory; /* above 0.5: memory binds the task, else compute */
    int expected;     /* 1: slower, -1: faster, 0: noise */
} planted[] = {
    {"all rounds slower",
     {ROUNDS(10, 11, 12, 10, 11), 9, 9, NULL},
     {ROUNDS(14, 13, 15, 14, 14), 9, 9, NULL},
     0,
     1},
    {"all rounds faster",
     {ROUNDS(14, 13, 15, 14, 14), 9, 9, NULL},
     {ROUNDS(10, 11, 12, 10, 11), 9, 9, NULL},
     0,
     -1},
    {"the same",
     {ROUNDS(10, 10, 10, 10, 10), 9, 9, NULL},
     {ROUNDS(10, 10, 10, 10, 10), 9, 9, NULL},
     0,
     0},
    {"slower in the middle, but as widely spread",
     {ROUNDS(8, 9, 10, 14, 15), 9, 9, NULL},
     {ROUNDS(9, 10, 13, 14, 16), 9, 9, NULL},
     0,
     0},
    {"one slow round of eight does not hide what seven say",
     {ROUNDS(10, 10.5, 11, 10, 10.5, 11, 10, 14.5), 9, 9, NULL},
     {ROUNDS(14, 15, 14, 15, 14, 15, 14, 15), 9, 9, NULL},
     0,
     1},
    {"less than 2 %",
     {ROUNDS(1, 1, 1, 1, 1), 9, 9, NULL},
     {ROUNDS(1.019, 1.019, 1.019, 1.019, 1.019), 9, 9, NULL},
     0,
     0},
    {"more than 2 %",
     {ROUNDS(1, 1, 1, 1, 1), 9, 9, NULL},
     {ROUNDS(1.021, 1.021, 1.021, 1.021, 1.021), 9, 9, NULL},
     0,
     1},
    {"four rounds are too few",
     {ROUNDS(1, 1, 1, 1), 9, 9, NULL},
     {ROUNDS(2, 2, 2, 2), 9, 9, NULL},
     0,
     0},
    {"the machine has become as much slower",
     {ROUNDS(10, 10, 10, 10, 10), 9, 9, NULL},
     {ROUNDS(15, 15, 15, 15, 15), 6, 9, NULL},
     0,
     0},
    {"its memory has, which does not bind",
     {ROUNDS(10, 10, 10, 10, 10), 9, 9, NULL},
     {ROUNDS(15, 15, 15, 15, 15), 9, 6, NULL},
     0,
     1},
    {"its memory has, which binds",
     {ROUNDS(10, 10, 10, 10, 10), 9, 9, NULL},
     {ROUNDS(15, 15, 15, 15, 15), 9, 6, NULL},
     0.75,
     0},
    {"the machine has become faster, and the task more than that",
     {ROUNDS(15, 15, 15, 15, 15), 6, 9, NULL},
     {ROUNDS(8, 8, 8, 8, 8), 9, 9, NULL},
     0,
     -1},
    {"the machine has become faster, and the task less than that",
     {ROUNDS(15, 15, 15, 15, 15), 6, 9, NULL},
     {ROUNDS(12, 12, 12, 12, 12), 9, 9, NULL},
     0,
     0},
    {"another machine is what it is",
     {ROUNDS(15, 15, 15, 15, 15), 6, 9, NULL},
     {ROUNDS(12, 12, 12, 12, 12), 9, 9, "two"},
     0,
     -1},
};

TEST_LOOP(planted_differences_are_told_from_noise, COUNT(planted))
{
    const struct planted *p = &planted[_i];
    struct bench_result results[] = {result_of(&p->then, p->of_memory),
                                     result_of(&p->now, p->of_memory)};
    struct bench_report then = report_of(&p->then, &results[0]);
    struct bench_report now = report_of(&p->now, &results[1]);
    struct bench_compared compared;
    ck_assert_int_eq(bench_compare(&compared, "old", &then, &now, &arena, NULL), 0);
    ck_assert_uint_eq(compared.change_count, 1);
    const struct bench_change *change = &compared.changes[0];
    ck_assert_double_eq(change->ratio, results[1].median.seconds / results[0].median.seconds);
    int found = !change->beyond_noise ? 0 : change->ratio > 1 ? 1 : -1;
    ck_assert_msg(found == p->expected, "%s: found %d", p->what, found);
    ck_assert_int_eq(compared.can_tell, p->then.rounds >= 5);
    arena_release(&arena);
}

/* --- two runs, to the byte -------------------------------------------------------------------- */

static const struct bench_result later_results[] = {
    {{TASK_PREFILL, {.texts = 1, .tokens = 6}, PRECISION_FP32},
     {1e9, 3e8},
     {.seconds = 0.012, .of_compute = 0.25, .of_kernel = 0.3125, .of_memory = 0.5},
     (const double[]){0.012, 0.0125, 0.012, 0.0115, 0.0118}},
    {{TASK_PREFILL, {.texts = 1, .tokens = 6}, PRECISION_BF16},
     {1e9, 3e8},
     {.seconds = 0.006, .of_compute = 0.25, .of_kernel = 0.3125, .of_memory = 0.5},
     (const double[]){0.006, 0.006, 0.006, 0.006, 0.006}},
    {{TASK_DECODE, {.texts = 1, .tokens = 1, .cached = 64}, PRECISION_FP32},
     {3e8, 5e8},
     {.seconds = 0.025, .of_compute = 0.0625, .of_kernel = 0.0625, .of_memory = 0.875},
     (const double[]){0.025, 0.025, 0.025, 0.025, 0.025}},
    {{TASK_BATCH, {.texts = 100, .tokens = 12}, PRECISION_FP32},
     {2e6, 3e3},
     {.seconds = 24.24e-6, .of_compute = 1.5, .of_kernel = 1.625},
     (const double[]){24.24e-6, 23e-6, 24e-6, 25e-6, 26e-6}},
};

static struct bench_report later_report(void)
{
    struct bench_report report = example_report;
    report.results = later_results;
    report.result_count = COUNT(later_results);
    report.together.fma[FMA_AVX512] = 500e9;
    return report;
}

static struct bench_report elsewhere_report(void)
{
    struct bench_report report = example_report;
    report.version = "0.2.0";
    report.model = "mine";
    report.parameters = 7;
    report.processor = "Intel\n";
    report.kernels = "avx2";
    report.together.threads = 4;
    report.rounds = 1;
    report.results = later_results;
    report.result_count = 1;
    report.together.fma[FMA_AVX512] = report.together.fma[FMA_AVX2] = 0;
    report.together.fma[FMA_PLAIN] = 0;
    return report;
}

static void expect(const struct bench_report *now, bool json, const char *expected)
{
    struct bench_compared compared;
    struct bench_report report = *now;
    struct stream out = {0};
    struct json *root = NULL;
    ck_assert_int_eq(bench_compare(&compared, "o\tld.json", &example_report, now, &arena, NULL), 0);
    report.compared = &compared;
    memory_stream_open(&out);
    ck_assert_int_eq((json ? bench_json_write : bench_page_write)(&out, &report, NULL), 0);
    struct file all = memory_stream_take(&out);
    const char *part = memmem(all.bytes, all.size, expected, 12);
    ck_assert_ptr_nonnull(part);
    size_t size = (size_t)(all.bytes + all.size - part);
    ck_assert_msg(size == strlen(expected) && memcmp(part, expected, size) == 0, "%.*s", (int)size,
                  part);
    ck_assert(!json || !json_parse(&root, all.bytes, all.size, NULL));
    json_free(root);
    file_release(&all);
    arena_release(&arena);
}

TEST(a_table_below_the_page)
{
    struct bench_report now = later_report();
    expect(&now, false,
           "\nBeside o⇥ld.json\n"
           "                    tokens          then           now   now/then\n"
           "  compute                    512 GFLOP/s   500 GFLOP/s     0.98 ×\n"
           "  memory, read                 42.5 GB/s     42.5 GB/s     1.00 ×\n"
           "  prefill                6       16.0 ms       12.0 ms     0.75 ×  faster\n"
           "  prefill, bf16          6             –       6.00 ms\n"
           "  decode            64 + 1       12.5 ms       25.0 ms     2.00 ×  slower\n"
           "  batch           100 × 12       24.0 µs       24.2 µs     1.01 ×\n"
           "  open                          0.312 ms             –\n"
           "  capture             1024        2.05 s             –\n"
           "  slower, faster: by 2 % or more, with rounds so far apart as chance puts them\n"
           "  once in eighty times, and by more than the machine's own speed\n");
}

TEST(notes_of_another_machine_and_of_few_rounds)
{
    struct bench_report now = elsewhere_report();
    expect(&now, false,
           "\nBeside o⇥ld.json\n"
           "                    tokens          then           now   now/then\n"
           "  compute                    512 GFLOP/s             –\n"
           "  memory, read                 42.5 GB/s     42.5 GB/s     1.00 ×\n"
           "  prefill                6       16.0 ms       12.0 ms     0.75 ×\n"
           "  open                          0.312 ms             –\n"
           "  capture             1024        2.05 s             –\n"
           "  decode            64 + 1       12.5 ms             –\n"
           "  batch           100 × 12       24.0 µs             –\n"
           "  processor: AMD EPYC then, Intel↵ now\n"
           "  threads: 2 then, 4 now\n"
           "  kernels: avx512 then, avx2 now\n"
           "  version: 0.1.0 then, 0.2.0 now\n"
           "  model: models/⇥gpt2 then, mine now\n"
           "  parameters: 124439808 then, 7 now\n"
           "  5 and 1 rounds are too few to tell a difference from noise: --repeat 5\n");
}

TEST(a_part_of_the_object)
{
    struct bench_report now = later_report();
    expect(&now, true,
           "\"compared\": {\"file\": \"o\\tld.json\", \"differences\": [], \"compute\": "
           "0.9765625, \"read\": 1, \"can_tell\": true, \"results\": [{\"name\": "
           "\"prefill\", \"sequences\": 1, \"tokens\": 6, \"cached\": 0, \"then\": 0.016, "
           "\"now\": 0.012, \"ratio\": 0.75, \"beyond_noise\": true}, {\"name\": "
           "\"prefill\", \"precision\": \"bf16\", \"sequences\": 1, \"tokens\": 6, "
           "\"cached\": 0, \"then\": null, \"now\": 0.006, \"beyond_noise\": false}, "
           "{\"name\": \"decode\", \"sequences\": 1, \"tokens\": 1, \"cached\": 64, \"then\": "
           "0.0125, \"now\": 0.025, \"ratio\": 2, \"beyond_noise\": true}, {\"name\": "
           "\"batch\", \"sequences\": 100, \"tokens\": 12, \"cached\": 0, \"then\": "
           "0.000024, \"now\": 0.00002424, \"ratio\": 1.01, \"beyond_noise\": false}, "
           "{\"name\": \"open\", \"then\": 0.0003125, \"now\": null, \"beyond_noise\": "
           "false}, {\"name\": \"capture\", \"sequences\": 1, \"tokens\": 1024, \"cached\": "
           "0, \"then\": 2.048, \"now\": null, \"beyond_noise\": false}]}}\n");
}

TEST(differences_stand_in_the_object)
{
    struct bench_report now = elsewhere_report();
    expect(&now, true,
           "\"compared\": {\"file\": \"o\\tld.json\", \"differences\": [{\"name\": "
           "\"processor\", \"then\": \"AMD EPYC\", \"now\": \"Intel\\n\"}, {\"name\": "
           "\"threads\", \"then\": \"2\", \"now\": \"4\"}, {\"name\": \"kernels\", \"then\": "
           "\"avx512\", \"now\": \"avx2\"}, {\"name\": \"version\", \"then\": \"0.1.0\", \"now\": "
           "\"0.2.0\"}, {\"name\": \"model\", \"then\": \"models/\\tgpt2\", \"now\": \"mine\"}, "
           "{\"name\": \"parameters\", \"then\": \"124439808\", \"now\": \"7\"}], \"read\": 1, "
           "\"can_tell\": false, \"results\": [{\"name\": \"prefill\", \"sequences\": 1, "
           "\"tokens\": 6, \"cached\": 0, \"then\": 0.016, \"now\": 0.012, \"ratio\": 0.75, "
           "\"beyond_noise\": false}, {\"name\": \"open\", \"then\": 0.0003125, \"now\": "
           "null, \"beyond_noise\": false}, {\"name\": \"capture\", \"sequences\": 1, "
           "\"tokens\": 1024, \"cached\": 0, \"then\": 2.048, \"now\": null, "
           "\"beyond_noise\": false}, {\"name\": \"decode\", \"sequences\": 1, \"tokens\": "
           "1, \"cached\": 64, \"then\": 0.0125, \"now\": null, \"beyond_noise\": false}, "
           "{\"name\": \"batch\", \"sequences\": 100, \"tokens\": 12, \"cached\": 0, "
           "\"then\": 0.000024, \"now\": null, \"beyond_noise\": false}]}}\n");
}
