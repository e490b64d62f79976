#include "bench/benchmark.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/bench_report_fixture.h"
#include "../rigs/memory_stream.h"
#include "format/json.h"

static void expect_object(const struct bench_report *report, const char *expected)
{
    struct stream out = {0};
    struct json *root = NULL;
    struct err err = {0};
    memory_stream_open(&out);
    ck_assert_int_eq(bench_json_write(&out, report, NULL), 0);
    struct file file = memory_stream_take(&out);
    ck_assert_msg(!json_parse(&root, file.bytes, file.size, &err), "%s", err.text);
    ck_assert_msg(file.size == strlen(expected) && memcmp(file.bytes, expected, file.size) == 0,
                  "%.*s", (int)file.size, file.bytes);
    json_free(root);
    file_release(&file);
}

TEST(an_object_is_written_to_the_byte)
{
    static const char expected[] =
        "{\"format\": \"attn-cli/bench/1\", \"version\": \"0.1.0\", \"model\": \"models/\\tgpt2\", "
        "\"parameters\": 124439808, "
        "\"processor\": \"AMD EPYC\", "
        "\"kernels\": \"avx512\", \"rounds\": 5, "
        "\"one_thread\": {\"threads\": 1, \"avx512\": 2.56e+11, \"avx2\": 1.28e+11, \"plain\": "
        "4.85e+10, \"kernel\": 2.4e+11, \"read\": 3.925e+10}, "
        "\"all_threads\": {\"threads\": 2, \"avx512\": 5.12e+11, \"avx2\": 2.56e+11, \"plain\": "
        "9.6e+10, \"kernel\": 4.8e+11, \"read\": 4.25e+10}, "
        "\"results\": [{\"name\": \"open\", \"seconds\": 0.0003125, "
        "\"each\": [0.0003125, 0.00025, 0.0003125, 0.0005, 0.0003125]}, "
        "{\"name\": \"prefill\", \"seconds\": 0.016, "
        "\"sequences\": 1, \"tokens\": 6, \"cached\": 0, "
        "\"tokens_per_second\": 375, "
        "\"operations\": 1e+09, \"bytes\": 300000000, \"of_compute\": 0.25, \"of_kernel\": 0.3125, "
        "\"of_memory\": 0.5, \"each\": [0.016, 0.0155, 0.016, 0.018, 0.0165]}, "
        "{\"name\": \"capture\", \"seconds\": 2.048, "
        "\"sequences\": 1, \"tokens\": 1024, \"cached\": 0, "
        "\"tokens_per_second\": 500, "
        "\"operations\": 2e+11, \"bytes\": 300000000, \"of_compute\": 0.90625, \"of_kernel\": "
        "0.9375, \"of_memory\": "
        "0.0625, \"over\": 1.03125, \"each\": [2.048, 2, 2.5, 2.0625, 2.03125]}, "
        "{\"name\": \"decode\", \"seconds\": 0.0125, "
        "\"sequences\": 1, \"tokens\": 1, \"cached\": 64, "
        "\"tokens_per_second\": 80, "
        "\"operations\": 300000000, \"bytes\": 500000000, \"of_compute\": 0.0625, \"of_kernel\": "
        "0.0625, "
        "\"of_memory\": 0.875, \"each\": [0.0125, 0.0125, 0.0125, 0.0125, 0.0125]}, "
        "{\"name\": \"batch\", \"seconds\": 0.000024, "
        "\"sequences\": 100, \"tokens\": 12, \"cached\": 0, "
        "\"tokens_per_second\": 50000000, "
        "\"operations\": 2000000, \"bytes\": 3000, \"of_compute\": 1.5, \"of_kernel\": 1.625, "
        "\"of_memory\": 0, \"each\": [0.000024, 0.000023, 0.000024, 0.000025, 0.000026]}]}"
        "\n";
    expect_object(&example_report, expected);
}

TEST(what_was_measured_in_bf16_says_so)
{
    static const char expected[] =
        "{\"format\": \"attn-cli/bench/1\", \"version\": \"0.1.0\", \"model\": \"models/\\tgpt2\", "
        "\"parameters\": 124439808, "
        "\"processor\": \"AMD EPYC\", "
        "\"kernels\": \"avx512\", \"rounds\": 5, "
        "\"one_thread\": {\"threads\": 1, \"avx512\": 2.56e+11, \"avx2\": 1.28e+11, \"plain\": "
        "4.85e+10, \"kernel\": 2.4e+11, \"read\": 3.925e+10}, "
        "\"all_threads\": {\"threads\": 2, \"avx512\": 5.12e+11, \"avx2\": 2.56e+11, \"plain\": "
        "9.6e+10, \"kernel\": 4.8e+11, \"read\": 4.25e+10}, "
        "\"results\": ["
        "{\"name\": \"prefill\", \"seconds\": 0.25, "
        "\"sequences\": 1, \"tokens\": 256, \"cached\": 0, "
        "\"tokens_per_second\": 1024, "
        "\"operations\": 4e+10, \"bytes\": 300000000, \"of_compute\": 0.875, \"of_kernel\": "
        "0.90625, \"of_memory\": "
        "0.0625, \"each\": [0.25, 0.25, 0.25, 0.25, 0.25]}, "
        "{\"name\": \"prefill\", \"precision\": \"bf16\", \"seconds\": 0.125, "
        "\"sequences\": 1, \"tokens\": 256, \"cached\": 0, "
        "\"tokens_per_second\": 2048, "
        "\"operations\": 4e+10, \"bytes\": 150000000, \"of_compute\": 0.75, \"of_kernel\": "
        "0.84375, \"of_memory\": 0.0625, "
        "\"faster\": 1.875, \"each\": [0.125, 0.125, 0.125, 0.125, 0.125]}, "
        "{\"name\": \"decode\", \"precision\": \"bf16\", \"seconds\": 0.00625, "
        "\"sequences\": 1, \"tokens\": 1, \"cached\": 64, "
        "\"tokens_per_second\": 160, "
        "\"operations\": 300000000, \"bytes\": 250000000, \"of_compute\": 0.0625, \"of_kernel\": "
        "0.0625, "
        "\"of_memory\": 0.75, \"faster\": 2, "
        "\"each\": [0.00625, 0.00625, 0.00625, 0.00625, 0.00625]}], "
        "\"deviation\": {\"tokens\": 256, \"weights\": 0.0041, \"logits\": 0.03, "
        "\"largest_logit\": 4.516}}\n";
    struct bench_report report = example_bf16_report();
    expect_object(&report, expected);
}
