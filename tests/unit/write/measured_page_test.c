
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/heap.h"
#include "measure/reduction.h"
#include "write/measured_data.h"

static const float weights[] = {1, 0, 0, 0.25f, 0.75f, 0, 0.5f, 0.25f, 0.25f};

static struct arena arena;
static struct err err;
static struct reduction reduction;

static void count(unsigned measures, bool causal)
{
    struct reduction_size size = {
        .layers = 3, .heads = 4, .queries = 5, .keys = 5, .causal = causal};
    struct tensor square = {weights, 2, {3, 3}, {3, 1}};
    arena = (struct arena){0};
    err = (struct err){0};
    ck_assert_int_eq(reduction_init(&reduction, measures, &size, &arena, &err), 0);
    ck_assert_int_eq(reduction_add(&reduction, 0, 0, &square, NULL, &err), 0);
    ck_assert_int_eq(reduction_add(&reduction, 1, 2, &square, NULL, &err), 0);
}

typedef int (*writer)(struct stream *, const struct reduction *, const char *, const struct place *,
                      struct err *);

static int measure(struct measured_list *list, struct measured *measured, const char *title)
{
    *measured = (struct measured){.title = title, .model = "life", .texts = 1};
    *list = (struct measured_list){"life", measured, 1};
    return reduction_measure(measured, &reduction, &arena, &err);
}

static int write_page(struct stream *out, const struct reduction *what, const char *title,
                      const struct place *place, struct err *error)
{
    struct measured measured;
    struct measured_list list;
    (void)what;
    return measure(&list, &measured, title) || measured_page_write(out, &list, place, error);
}

static int write_csv(struct stream *out, const struct reduction *what, const char *title,
                     const struct place *place, struct err *error)
{
    struct measured measured;
    struct measured_list list;
    (void)what, (void)place;
    return measure(&list, &measured, title) || measured_csv_write(out, &list, NULL, error);
}

static void expect(writer write, const char *title, struct place place, const char *text)
{
    struct stream out = {0};
    memory_stream_open(&out);
    ck_assert_int_eq(write(&out, &reduction, title, &place, &err), 0);
    stream_char(&out, '\0');
    struct file file = memory_stream_take(&out);
    ck_assert_str_eq(file.bytes, text);
    file_release(&file);
    arena_release(&arena);
}

static const struct place page = {.count = 1, .columns = 80, .lines = 24};

TEST(measures_of_rows_are_layers_and_heads)
{
    count(1u << MEASURE_FIRST_TOKEN, true);
    expect(write_page, NULL, page,
           "first-token · the weight on the first token\n"
           "mean over up to 3 queries\n"
           "\n"
           "layer  head 0  head 2\n"
           "0      0.5833\n"
           "1              0.5833\n");
}

TEST(a_narrow_page_has_fewer_decimals)
{
    count(1u << MEASURE_DISTANCE, true);
    expect(write_page, NULL, (struct place){.count = 1, .columns = 19},
           "distance · how far a query looks, in tokens: sum w |query - key|\n"
           "mean over up to 3 queries\n"
           "\n"
           "       head\n"
           "layer      0      2\n"
           "0      0.500\n"
           "1             0.500\n");
}

TEST(a_narrower_page_has_the_other_heads_below)
{
    count(1u << MEASURE_DISTANCE, true);
    expect(write_page, "model=life", (struct place){.count = 1, .columns = 16},
           "model=life\n"
           "\n"
           "distance · how far a query looks, in tokens: sum w |query - key|\n"
           "mean over up to 3 queries\n"
           "\n"
           "       head\n"
           "layer     0\n"
           "0      0.50\n"
           "1\n"
           "\n"
           "       head\n"
           "layer     2\n"
           "0\n"
           "1      0.50\n");
}

TEST(measures_of_cells_are_queries_and_keys)
{
    count(1u << MEASURE_MEAN, true);
    expect(write_page, NULL, (struct place){.count = 1, .columns = 80, .lines = 3},
           "mean · the mean weight of every query and key, over all texts that long\n"
           "mean over up to 1 text\n"
           "\n"
           "layer 0 head 0\n"
           "\n"
           "query       0       1       2\n"
           "0      1.0000\n"
           "1      0.2500  0.7500\n"
           "2      0.5000  0.2500  0.2500\n"
           "\n"
           "layer 1 head 2\n"
           "\n"
           "query       0       1       2\n"
           "0      1.0000\n"
           "1      0.2500  0.7500\n"
           "2      0.5000  0.2500  0.2500\n");
}

TEST(a_terminal_with_colours_has_heat)
{
    struct style style = {.depth = DEPTH_16};
    struct place place = page;
    place.style = &style;
    count(1u << MEASURE_FIRST_TOKEN, true);
    expect(write_page, NULL, place,
           "first-token · the weight on the first token\n"
           "mean over up to 3 queries\n"
           "\n"
           "layer  head 0  head 2\n"
           "0     \x1b[104;30m 0.5833 \x1b[0m\n"
           "1             \x1b[104;30m 0.5833 \x1b[0m\n");
    style.depth = DEPTH_NONE;
    style.cells = CELLS_HEAT;
    count(1u << MEASURE_MAX, true);
    expect(write_page, NULL, place,
           "max · the largest weight of every query and key\n"
           "over up to 1 text\n"
           "\n"
           "layer 0 head 0\n"
           "\n"
           "query       0       1       2\n"
           "0     ███████\n"
           "1     ░░░░░░░ ▓▓▓▓▓▓▓\n"
           "2     ▒▒▒▒▒▒▒ ░░░░░░░ ░░░░░░░\n"
           "\n"
           "layer 1 head 2\n"
           "\n"
           "query       0       1       2\n"
           "0     ███████\n"
           "1     ░░░░░░░ ▓▓▓▓▓▓▓\n"
           "2     ▒▒▒▒▒▒▒ ░░░░░░░ ░░░░░░░\n");
}

TEST(one_matrix_of_csv_stands_alone)
{
    count(1u << MEASURE_FIRST_TOKEN, true);
    expect(write_csv, "model=life", page,
           "layer\\head,0,2\n"
           "0,0.5833333,nan\n"
           "1,nan,0.5833333\n");
}

TEST(several_matrices_of_csv_are_one_table)
{
    count(1u << MEASURE_MAX | 1u << MEASURE_PREVIOUS_TOKEN, false);
    expect(write_csv, "model=life", page,
           "measure,layer,head,query,0,1,2\n"
           "max,0,0,0,1,0,0\n"
           "max,0,0,1,0.25,0.75,0\n"
           "max,0,0,2,0.5,0.25,0.25\n"
           "max,1,2,0,1,0,0\n"
           "max,1,2,1,0.25,0.75,0\n"
           "max,1,2,2,0.5,0.25,0.25\n"
           "previous-token,0,,,0.25,,nan\n"
           "previous-token,1,,,nan,,0.25\n");
}

TEST(every_allocation_may_fail)
{
    static const writer writers[] = {write_page, write_csv};
    for (size_t i = 0; i < 2; i++) {
        int failed = -1;
        count(1u << MEASURE_FIRST_TOKEN | 1u << MEASURE_MEAN, true);
        for (size_t nth = 1; failed; nth++) {
            struct stream out = {0};
            memory_stream_open(&out);
            int descriptor = out.descriptor;
            err = (struct err){0};
            heap_fail_at(nth, 0);
            failed = writers[i](&out, &reduction, NULL, &page, &err);
            heap_fail_at(0, 0);
            ck_assert_int_eq(err.out_of_memory, failed != 0);
            stream_discard(&out);
            close(descriptor);
        }
        arena_release(&arena);
    }
}
