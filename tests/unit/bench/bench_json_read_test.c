#include "bench/benchmark.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/bench_report_fixture.h"
#include "../rigs/memory_stream.h"

static struct arena arena;
static struct err err;

static struct file write_report(const struct bench_report *report)
{
    struct stream out = {0};
    memory_stream_open(&out);
    ck_assert_int_eq(bench_json_write(&out, report, NULL), 0);
    return memory_stream_take(&out);
}

static void expect_same_again(const struct bench_report *report)
{
    struct bench_report again;
    struct file first = write_report(report);
    ck_assert_msg(!bench_json_parse(&again, first.bytes, first.size, &arena, &err), "%s", err.text);
    struct file second = write_report(&again);
    ck_assert_msg(first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0,
                  "%.*s", (int)second.size, second.bytes);
    file_release(&first);
    file_release(&second);
    arena_release(&arena);
}

TEST(what_is_read_is_written_again_to_the_byte)
{
    struct bench_report half = example_bf16_report();
    half.deviation = (struct deviation){0};
    half.pairs = "amx";
    half.alone.kernel[PRECISION_BF16] = half.together.kernel[PRECISION_BF16] = 1e12;
    expect_same_again(&example_report);
    expect_same_again(&half);
    half.result_count = 0;
    expect_same_again(&half);
}

/* Of what is written the first `old` becomes `new`. */
static const struct fault {
    const char *old, *new, *message;
} faults[] = {
    {"\"version\": \"0.1.0\", ", "", "field 'version': expected a text, found nothing"},
    {"\"0.1.0\"", "7", "field 'version': expected a text, found 7"},
    {"\"models/\\tgpt2\"", "null", "field 'model': expected a text, found nothing"},
    {"124439808", "-1",
     "field 'parameters': expected an integer from 0 to 9007199254740992, found -1"},
    {"\"AMD EPYC\"", "[]", "field 'processor': expected a text, found an array"},
    {"\"kernels\": \"avx512\"", "\"kernels\": {}",
     "field 'kernels': expected a text, found an object"},
    {"\"rounds\": 5", "\"rounds\": 0",
     "field 'rounds': expected an integer from 1 to 1000, found 0"},
    {"\"rounds\": 5", "\"rounds\": 1001",
     "field 'rounds': expected an integer from 1 to 1000, found 1001"},
    {"\"rounds\": 5, ", "", "field 'rounds': expected an integer, found nothing"},
    {"\"rounds\": 5", "\"rounds\": 4",
     "row 1 of 'results': field 'each': expected 4 numbers, as many as 'rounds', found 5"},
    {"\"one_thread\"", "\"one\"", "field 'one_thread': expected an object, found nothing"},
    {"\"one_thread\": {", "\"one_thread\": 1, \"x\": {",
     "field 'one_thread': expected an object, found 1"},
    {"\"threads\": 2", "\"threads\": 0",
     "'all_threads': field 'threads': expected an integer from 1 to 65536, found 0"},
    {"\"threads\": 2, ", "", "'all_threads': field 'threads': expected an integer, found nothing"},
    {"\"avx2\": 1.28e+11", "\"avx2\": -1",
     "'one_thread': field 'avx2': expected a number from 0 to 1e+30, found -1"},
    {"\"read\": 4.25e+10", "\"read\": \"fast\"",
     "'all_threads': field 'read': expected a number from 0 to 1e+30, found \"fast\""},
    {"\"kernel\": 2.4e+11", "\"kernel\": 1e31",
     "'one_thread': field 'kernel': expected a number from 0 to 1e+30, found 1e+31"},
    {"\"results\": [", "\"results\": 3, \"x\": [", "field 'results': expected an array, found 3"},
    {"\"results\"", "\"result\"", "field 'results': expected an array, found nothing"},
    {"\"results\"", "\"ways\"", "expected measurements of a model, found those of --attention"},
    {"{\"name\": \"open\"", "{\"nom\": \"open\"",
     "row 1 of 'results': field 'name': expected a text, found nothing"},
    {"\"capture\"", "\"captures\"",
     "row 3 of 'results': field 'name': expected one of open, prefill, in-place, capture, decode, "
     "greedy, batch, found 'captures': did you mean 'capture'?"},
    {"\"prefill\", ", "\"prefill\", \"precision\": \"fp8\", ",
     "row 2 of 'results': field 'precision': expected one of fp32, bf16, found 'fp8'"},
    {"\"sequences\": 1", "\"sequences\": 0",
     "row 2 of 'results': field 'sequences': expected an integer from 1 to 1073741824, found 0"},
    {"\"tokens\": 6", "\"tokens\": 6.5",
     "row 2 of 'results': field 'tokens': expected an integer from 1 to 1073741824, found 6.5"},
    {"\"cached\": 64", "\"cached\": true",
     "row 4 of 'results': field 'cached': expected an integer from 0 to 1073741824, found true"},
    {"\"seconds\": 0.016", "\"seconds\": 0",
     "row 2 of 'results': field 'seconds': expected a number from 1e-12 to 1e+09, found 0"},
    {"\"seconds\": 0.016, ", "",
     "row 2 of 'results': field 'seconds': expected a number, found nothing"},
    {"\"of_memory\": 0.5", "\"of_memory\": -0.5",
     "row 2 of 'results': field 'of_memory': expected a number from 0 to 1e+30, found -0.5"},
    {"\"each\": [0.016", "\"every\": [0.016",
     "row 2 of 'results': field 'each': expected the seconds of every round, found nothing"},
    {"\"each\": [0.016", "\"each\": 1, \"x\": [0.016",
     "row 2 of 'results': field 'each': expected the seconds of every round, found 1"},
    {", 0.0165]", "]",
     "row 2 of 'results': field 'each': expected 5 numbers, as many as 'rounds', found 4"},
    {"0.0165", "0",
     "row 2 of 'results': field 'each': expected numbers from 1e-12 to 1e+09, found 0"},
    {"0.0165", "\"x\"",
     "row 2 of 'results': field 'each': expected numbers from 1e-12 to 1e+09, found \"x\""},
    {"{\"name\": \"open\"", "7, {\"name\": \"open\"",
     "row 1 of 'results': field 'name': expected a text, found nothing"},
    {"\"bf16\": \"amx\"", "\"bf16\": 16", "field 'bf16': expected a text, found 16"},
};

TEST_LOOP(what_is_malformed_is_refused_by_its_name, COUNT(faults))
{
    const struct fault *fault = &faults[_i];
    struct bench_report report = example_report;
    report.pairs = "amx";
    struct file written = write_report(&report);
    const char *end = written.bytes + written.size;
    const char *at = memmem(written.bytes, written.size, fault->old, strlen(fault->old));
    static char changed[1 << 14];
    ck_assert_ptr_nonnull(at);
    const char *rest = at + strlen(fault->old);
    int size = snprintf(changed, sizeof changed, "%.*s%s%.*s", (int)(at - written.bytes),
                        written.bytes, fault->new, (int)(end - rest), rest);
    ck_assert_int_eq(bench_json_parse(&report, changed, (size_t)size, &arena, &err), -1);
    ck_assert_str_eq(err.text, fault->message);
    ck_assert_int_eq(err.kind, ERR_INPUT);
    file_release(&written);
    arena_release(&arena);
}
