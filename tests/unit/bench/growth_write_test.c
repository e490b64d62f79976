#include "bench/growth.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/heap.h"
#include "draw/drawing.h"

static const size_t lengths[] = {256, 512, 1024};
static double square[] = {1e-4, 4e-4, 16e-4};
static double even[] = {1e-4, 2e-4, 4e-4};
static double sizes[] = {2048, 4096, 8192};
static double level[] = {1024, 1024, 1024};
static double pairs[] = {32000, 128000, 512000};
static double sums[] = {16000, 32000, 64000};

static struct growth_way ways[] = {
    {"dense", square, sizes, pairs, 2, 1},
    {"linear", even, level, sums, 1, 0},
};

static struct growth example(size_t length_count)
{
    return (struct growth){
        .model = "head\t64",
        .config = {.n_layer = 1, .n_head = 2, .d_k = 64, .d_v = 32, .causal = true},
        .threads = 1,
        .rounds = 5,
        .kernels = "avx2",
        .lengths = lengths,
        .length_count = length_count,
        .ways = ways,
        .way_count = 2,
    };
}

typedef int (*writer)(struct stream *, const struct growth *, struct err *);

static struct file write_with(writer write, const struct growth *growth)
{
    struct stream out = {0};
    struct err err = {0};
    memory_stream_open(&out);
    ck_assert_msg(!write(&out, growth, &err), "%s", err.text);
    return memory_stream_take(&out);
}

static void expect(writer write, const struct growth *growth, const char *expected)
{
    struct file file = write_with(write, growth);
    ck_assert_msg(file.size == strlen(expected) && memcmp(file.bytes, expected, file.size) == 0,
                  "%.*s", (int)file.size, file.bytes);
    file_release(&file);
}

TEST(a_page_is_written_to_the_byte)
{
    struct growth growth = example(3);
    expect(growth_page_write, &growth,
           "head⇥64 · 1 layer, 2 heads of 64, causal\n"
           "attention alone · 1 thread · avx2 kernels · best of 5 rounds\n"
           "\n"
           "time          256        512       1024  grows as\n"
           "dense    0.100 ms   0.400 ms    1.60 ms    n^2.00\n"
           "linear   0.100 ms   0.200 ms   0.400 ms    n^1.00\n"
           "\n"
           "memory        256        512       1024  grows as\n"
           "dense     2.0 KiB    4.0 KiB    8.0 KiB    n^1.00\n"
           "linear    1.0 KiB    1.0 KiB    1.0 KiB    n^0.00\n"
           "\n"
           "time, both axes logarithmic\n"
           "           │                                            ·o  o dense, n^2.00\n"
           "           │                                         ···\n"
           "   1.00 ms │                                      ···\n"
           "           │                                   ···\n"
           "           │                               ····\n"
           "           │                            ···\n"
           "           │                         ···\n"
           "           │                      ·o·                 ···x  x linear, n^1.00\n"
           "           │                   ···              ······\n"
           "           │               ····           ······\n"
           "           │            ···         ······\n"
           "           │         ···     ······x\n"
           "           │     ···· ·······\n"
           "           │  ········\n"
           "  0.100 ms │x···\n"
           "           └──────────────────────────────────────────────\n"
           "            256                    512                   1024  tokens\n"
           "\n"
           "memory, both axes logarithmic\n"
           "           │\n"
           "           │                                             o  o dense, n^1.00\n"
           "           │                                        ·····\n"
           "           │                                  ······\n"
           "           │                             ·····\n"
           "           │                        ·····\n"
           "   4.0 KiB │                  ·····o\n"
           "           │             ·····\n"
           "           │        ·····\n"
           "           │  ······\n"
           "           │o·\n"
           "           │\n"
           "           │\n"
           "           │\n"
           "   1.0 KiB │x······················x·····················x  x linear, n^0.00\n"
           "           └──────────────────────────────────────────────\n"
           "            256                    512                   1024  tokens\n"
           "\n"
           "beside dense, at 1024 tokens\n"
           "           time  multiply-adds\n"
           "linear    0.250          0.125\n");
}

TEST(one_length_has_no_picture)
{
    struct growth growth = example(1);
    struct growth_way one[] = {ways[0], ways[1]};
    for (size_t i = 0; i < 2; i++)
        one[i].time_exponent = one[i].memory_exponent = NAN;
    growth.ways = one;
    expect(growth_page_write, &growth,
           "head⇥64 · 1 layer, 2 heads of 64, causal\n"
           "attention alone · 1 thread · avx2 kernels · best of 5 rounds\n"
           "\n"
           "time          256\n"
           "dense    0.100 ms\n"
           "linear   0.100 ms\n"
           "\n"
           "memory        256\n"
           "dense     2.0 KiB\n"
           "linear    1.0 KiB\n"
           "\n"
           "beside dense, at 256 tokens\n"
           "           time  multiply-adds\n"
           "linear    1.000          0.500\n");
}

TEST(json_has_every_number)
{
    struct growth growth = example(3);
    expect(growth_json_write, &growth,
           "{\"format\": \"attn-cli/bench-attention/1\", \"model\": \"head\\t64\", \"n_layer\": 1, "
           "\"n_head\": 2, \"d_k\": 64, \"d_v\": 32, "
           "\"causal\": true,\n"
           " \"kernels\": \"avx2\", \"threads\": 1, \"rounds\": 5, \"tokens\": [256, 512, 1024], "
           "\"ways\": [\n"
           " {\"attention\": \"dense\", \"seconds\": [0.0001, 0.0004, 0.0016], \"bytes\": [2048, "
           "4096, 8192], \"products\": [32000, 128000, 512000], \"time_exponent\": 2, "
           "\"memory_exponent\": 1},\n"
           " {\"attention\": \"linear\", \"seconds\": [0.0001, 0.0002, 0.0004], \"bytes\": [1024, "
           "1024, 1024], \"products\": [16000, 32000, 64000], \"time_exponent\": 1, "
           "\"memory_exponent\": 0}]}\n");
}

static int write_svg(struct stream *out, const struct growth *growth, struct err *err)
{
    return growth_figure_write(out, DRAWING_SVG, growth, err);
}

static int write_png(struct stream *out, const struct growth *growth, struct err *err)
{
    return growth_figure_write(out, DRAWING_PNG, growth, err);
}

static int write_pdf(struct stream *out, const struct growth *growth, struct err *err)
{
    return growth_figure_write(out, DRAWING_PDF, growth, err);
}

TEST(a_figure_has_both_panels)
{
    struct growth growth = example(3);
    struct file file = write_with(write_svg, &growth);
    static const char *const texts[] = {
        "<title>head⇥64 · attention of 1 layer, 2 heads of 64, causal</title>",
        "<title>time</title>",
        "<title>working memory</title>",
        ">dense  n^2.00<",
        ">linear  n^0.00<",
        ">1 ms<",
        ">100 µs<",
        ">8 KiB<",
        ">1 KiB<",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_msg(memmem(file.bytes, file.size, texts[i], strlen(texts[i])) != NULL,
                      "no '%s' in %.*s", texts[i], (int)file.size, file.bytes);
    file_release(&file);
}

TEST(without_dense_nothing_is_promised)
{
    struct growth growth = example(3);
    growth.ways = ways + 1;
    growth.way_count = 1;
    struct file file = write_with(growth_page_write, &growth);
    ck_assert_ptr_nonnull(memmem(file.bytes, file.size, "linear", 6));
    ck_assert_ptr_null(memmem(file.bytes, file.size, "dense", 5));
    file_release(&file);
}

/* Where pango and cairo are not installed, tests/pictures.sh says so. */
TEST(a_figure_can_be_a_png_or_a_pdf)
{
    struct growth growth = example(3);
    if (drawing_check(NULL))
        return;
    struct file png = write_with(write_png, &growth);
    struct file pdf = write_with(write_pdf, &growth);
    ck_assert_mem_eq(png.bytes, "\x89PNG", 4);
    ck_assert_mem_eq(pdf.bytes, "%PDF", 4);
    file_release(&png);
    file_release(&pdf);
}

TEST(every_allocation_may_fail)
{
    static const writer writers[] = {growth_page_write, write_svg, growth_json_write, write_pdf};
    struct growth growth = example(3);
    size_t count = drawing_check(NULL) ? 3 : 4;
    for (size_t i = 0; i < count; i++) {
        int failed = -1;
        for (size_t nth = 1; failed; nth++) {
            struct stream out = {0};
            struct err err = {0};
            memory_stream_open(&out);
            int descriptor = out.descriptor;
            heap_fail_at(nth, 0);
            failed = writers[i](&out, &growth, &err);
            heap_fail_at(0, 0);
            ck_assert_int_eq(err.out_of_memory, failed != 0);
            stream_discard(&out);
            close(descriptor);
        }
    }
}
