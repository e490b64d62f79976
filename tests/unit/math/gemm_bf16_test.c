#include "math/gemm.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/guarded.h"
#include "../rigs/pair_judge.h"
#include "../rigs/pair_ways.h"
#include "../rigs/patience.h"
#include "base/heap.h"
#include "math/bf16.h"
#include "math/isa.h"
#include "math/kernel.h"
#include "math/machine.h"
#include "math/pool.h"

/* Around every edge of pairs, tiles, panels and chunks. */
static const size_t sizes[] = {1, 2, 3, 7, 11, 12, 13, 15, 16, 17, 63, 64, 65, 127, 128, 129};
static const size_t depths[] = {1, 2, 3, 63, 64, 767, 768, 769, 770, 1537};

enum { SIZE_MAX_HERE = 129, PAD = 3 };

static struct pair_judge judges[2]; /* of chains, of tiles */
static struct guarded x_memory, y_memory, panel_memory, rounded_memory;
static float bias[SIZE_MAX_HERE];

static void open_judge(void)
{
    uint32_t dice = 11;
    for (size_t tiles = 0; tiles < 2; tiles++)
        pair_judge_open(&judges[tiles], SIZE_MAX_HERE, SIZE_MAX_HERE, depths, COUNT(depths), tiles);
    x_memory = guarded_open(SIZE_MAX_HERE * (judges->depth + PAD));
    y_memory = guarded_open(SIZE_MAX_HERE * (SIZE_MAX_HERE + PAD));
    panel_memory = guarded_open(judges->depth * (SIZE_MAX_HERE + PAIR_COLUMNS));
    rounded_memory = guarded_open(SIZE_MAX_HERE * (judges->depth + 2 * LANES));
    dice_fill(bias, COUNT(bias), &dice);
}

static void close_judge(void)
{
    guarded_close(&x_memory);
    guarded_close(&y_memory);
    guarded_close(&panel_memory);
    guarded_close(&rounded_memory);
    for (size_t tiles = 0; tiles < 2; tiles++)
        pair_judge_close(&judges[tiles]);
}

FIXTURE_ONCE(open_judge, close_judge)

/* False: this processor has no such way. */
static bool open_machine(struct machine *machine, const struct pair_case *way, size_t threads)
{
    struct err err = {0};
    ck_assert_int_eq(setenv("LIBXSMM_TARGET", way->target, 1), 0);
    ck_assert_msg(!machine_open(machine, threads, &err), "%s", err.text);
    if (pair_way_take(way, machine->kernels))
        return true;
    machine_release(machine);
    return false;
}

/* A product of the judge's numbers. */
struct example {
    size_t rows, columns, depth; /* depth: which of `depths` */
    size_t pad;                  /* what strides have beyond the columns */
    const float *bias;
    enum activation activation;
};

/* The panels, the last one ending at the forbidden page. */
static const uint32_t *filled(const struct weight *w)
{
    uint32_t *pairs = (void *)guarded_take(&panel_memory, pairs_size(w));
    memset(pairs, 0, pairs_size(w) * sizeof *pairs);
    for (size_t row = 0; row < w->in; row += 2) {
        const float *first = judges->w + row * judges->columns;
        pairs_fill_rows(pairs, w, row, first, row + 1 < w->in ? first + judges->columns : NULL);
    }
    return pairs;
}

static struct matrix placed(const struct guarded *memory, size_t rows, size_t columns, size_t pad)
{
    size_t stride = columns + pad;
    float *data = guarded_take(memory, (rows - 1) * stride + columns);
    return (struct matrix){data, rows, columns, stride};
}

static const float untouched = 12345.0f;

static struct matrix untouched_y(const struct example *e)
{
    struct matrix y = placed(&y_memory, e->rows, e->columns, e->pad);
    float *first = (float *)(void *)y_memory.pages;
    for (float *cell = first; cell < y.data + (y.rows - 1) * y.stride + y.columns; cell++)
        *cell = untouched;
    return y;
}

/* Compute the example between forbidden pages, what is rounded on the way included. */
static struct matrix product_of(struct machine *machine, const struct example *e)
{
    size_t depth = depths[e->depth];
    struct matrix x = placed(&x_memory, e->rows, depth, e->pad);
    struct matrix y = untouched_y(e);
    struct weight w = {.in = depth, .out = e->columns, .bias = e->bias};
    for (size_t row = 0; row < e->rows; row++)
        memcpy(x.data + row * x.stride, judges->x + row * judges->depth, depth * sizeof *x.data);
    w.pairs = filled(&w);
    machine->pairs_held = pairs_of_input(machine, e->rows, depth);
    machine->pairs = (void *)guarded_take(&rounded_memory, machine->pairs_held);
    linear(machine, y, x, &w, e->activation);
    machine->pairs = NULL;
    machine->pairs_held = 0;
    return y;
}

/* What comes before y's first row and what stands between its rows is as it was. */
static void check_untouched(struct matrix y)
{
    const float *first = (const float *)(const void *)y_memory.pages;
    for (const float *cell = first; cell < y.data; cell++)
        if (*cell != untouched)
            ck_abort_msg("a cell %zu before y was written", (size_t)(y.data - cell));
    for (size_t row = 0; row + 1 < y.rows; row++)
        for (size_t i = y.columns; i < y.stride; i++)
            if (y.data[row * y.stride + i] != untouched)
                ck_abort_msg("a cell after row %zu was written", row);
}

static void check_bits(struct machine *machine, const struct example *e)
{
    enum pair_way way = kernels_pair_way(machine->kernels);
    const struct pair_judge *judge = &judges[pair_way_is_tiles(way)];
    struct matrix y = product_of(machine, e);
    float expected[SIZE_MAX_HERE];
    for (size_t row = 0; row < e->rows; row++) {
        memcpy(expected, judge->from_zero[e->depth] + row * judge->columns, sizeof expected);
        struct matrix line = {expected, 1, e->columns, e->columns};
        activate(line, line, e->bias, e->activation);
        if (memcmp(expected, y.data + row * y.stride, e->columns * sizeof *expected) != 0)
            ck_abort_msg("%s, %zu threads: [%zu, %zu] x [%zu, %zu]: row %zu has other bits",
                         pair_way_name(way), pool_threads(machine->pool), e->rows, depths[e->depth],
                         depths[e->depth], e->columns, row);
    }
    check_untouched(y);
}

/* Plain C must do for all columns of a panel: a few cases show it. */
static size_t patient(const struct machine *machine, size_t few)
{
    enum pair_way way = kernels_pair_way(machine->kernels);
    bool slow = way == PAIRS_BY_C || way == PAIRS_BY_TILES_IN_C;
    return slow ? few : one_of(few);
}

TEST_LOOP(every_size_has_the_bits_of_its_chains, COUNT(pair_ways))
{
    struct machine machine;
    if (!open_machine(&machine, &pair_ways[_i], 1))
        return;
    for (size_t depth = 0; depth < COUNT(depths); depth++)
        for (size_t i = 0; i < COUNT(sizes) * COUNT(sizes); i += patient(&machine, 67))
            check_bits(&machine, &(struct example){.rows = sizes[i / COUNT(sizes)],
                                                   .columns = sizes[i % COUNT(sizes)],
                                                   .depth = depth,
                                                   .pad = i % 2 ? PAD : 0});
    machine_release(&machine);
}

TEST_LOOP(threads_do_not_change_a_bit, COUNT(pair_ways))
{
    for (size_t threads = 2; threads <= 5; threads++) {
        struct machine machine;
        if (!open_machine(&machine, &pair_ways[_i], threads))
            return;
        for (size_t i = 0; i < COUNT(sizes); i += patient(&machine, 8))
            check_bits(&machine, &(struct example){.rows = 129,
                                                   .columns = sizes[i],
                                                   .depth = COUNT(depths) - 1 - i % 3,
                                                   .pad = PAD,
                                                   .bias = bias,
                                                   .activation = ACTIVATION_GELU_NEW});
        machine_release(&machine);
    }
}

TEST_LOOP(bias_and_activation_follow_the_sum, COUNT(pair_ways))
{
    struct machine machine;
    if (!open_machine(&machine, &pair_ways[_i], 1))
        return;
    for (int activation = 0; activation < ACTIVATION_COUNT; activation++)
        for (size_t i = 0; i < COUNT(sizes); i += patient(&machine, 8))
            check_bits(&machine, &(struct example){.rows = 65,
                                                   .columns = sizes[i],
                                                   .depth = i % COUNT(depths),
                                                   .pad = PAD,
                                                   .bias = i % 2 ? bias : NULL,
                                                   .activation = (enum activation)activation});
    machine_release(&machine);
}

/* Groups of rows: each row has the bits it has among sixteen. */
TEST_LOOP(the_number_of_rows_changes_no_bit, COUNT(pair_ways))
{
    enum { ROWS = 600, IN = 101, OUT = 450, SOME = 16 };
    static const size_t counts[] = {1,  2,   3,   7,   8,   9,   63,  64,
                                    65, 511, 512, 513, 575, 576, 577, ROWS};
    static float x[ROWS * IN], y[ROWS * OUT], judged[ROWS * OUT], w[2 * OUT];
    static uint32_t pairs[(IN + 1) / 2 * 512];
    struct weight weight = {.in = IN, .out = OUT, .pairs = pairs};
    struct machine machine;
    uint32_t dice = 5;
    if (!open_machine(&machine, &pair_ways[_i], 2))
        return;
    ck_assert_int_eq(machine_hold_pairs(&machine, pairs_of_input(&machine, ROWS, IN), NULL), 0);
    dice_fill(x, COUNT(x), &dice);
    for (size_t row = 0; row < IN; row += 2) {
        dice_fill(w, COUNT(w), &dice);
        pairs_fill_rows(pairs, &weight, row, w, row + 1 < IN ? w + OUT : NULL);
    }
    struct matrix all = {x, ROWS, IN, IN};
    struct matrix judge_rows = {judged, ROWS, OUT, OUT};
    for (size_t row = 0; row + SOME <= ROWS + SOME / 2; row += SOME / 2) { /* they overlap */
        size_t first = row + SOME <= ROWS ? row : ROWS - SOME;
        linear(&machine, matrix_rows(judge_rows, first, SOME), matrix_rows(all, first, SOME),
               &weight, ACTIVATION_NONE);
    }
    for (size_t i = 0; i < COUNT(counts); i += patient(&machine, 5)) {
        linear(&machine, (struct matrix){y, counts[i], OUT, OUT}, matrix_rows(all, 0, counts[i]),
               &weight, ACTIVATION_NONE);
        ck_assert_msg(memcmp(y, judged, counts[i] * OUT * sizeof *y) == 0, "%zu rows", counts[i]);
    }
    machine_release(&machine);
}

/* By rows or by columns: the same panels, and what no number fills is 0. */
TEST(a_matrix_and_its_transpose_fill_the_same_panels)
{
    static const size_t few[] = {1, 2, 5, 63, 64, 65, 129};
    for (size_t i = 0; i < COUNT(few) * COUNT(few); i++) {
        struct weight w = {.in = few[i % COUNT(few)], .out = few[i / COUNT(few)]};
        struct arena arena = {0};
        size_t size = pairs_size(&w);
        const uint32_t *by_rows = filled(&w);
        uint32_t *by_columns = arena_alloc(&arena, size, sizeof *by_columns, NULL);
        ck_assert_ptr_nonnull(by_columns);
        for (size_t column = 0; column < w.out; column++) {
            float numbers[SIZE_MAX_HERE];
            uint32_t rounded[SIZE_MAX_HERE];
            for (size_t row = 0; row < w.in; row++)
                numbers[row] = judges->w[row * judges->columns + column];
            bf16_pair_row(rounded, numbers, w.in);
            pairs_fill_column(by_columns, &w, column, rounded);
        }
        ck_assert_uint_eq(size % PAIR_COLUMNS, 0);
        ck_assert_mem_eq(by_rows, by_columns, size * sizeof *by_rows);
        arena_release(&arena);
    }
}

/* How far it is from the product of what was not rounded. */
TEST(against_float32_only_the_roundings_remain)
{
    size_t depth = COUNT(depths) - 1;
    for (size_t at = 0; at < judges->rows * judges->columns; at++) {
        const float *x = judges->x + at / judges->columns * judges->depth;
        double exact = 0;
        double bound = 0;
        for (size_t k = 0; k < judges->depth; k++) {
            double term =
                (double)x[k] * (double)judges->w[k * judges->columns + at % judges->columns];
            exact += term;
            bound += fabs(term);
        }
        if (!(fabs(judges->from_zero[depth][at] - exact) <= bound * 1.01 / 128))
            ck_abort_msg("element %zu is off by %g of %g", at, judges->from_zero[depth][at] - exact,
                         bound);
    }
}

/* What a residual stream gets: the sum, and y as it is without it. */
TEST_LOOP(a_total_grows_by_what_the_product_is, COUNT(pair_ways))
{
    enum { DEPTH = 3 };
    struct machine machine;
    if (!open_machine(&machine, &pair_ways[_i], 2))
        return;
    for (size_t i = 0; i < COUNT(sizes); i += patient(&machine, 4)) {
        struct example e = {.rows = 129, .columns = sizes[i], .depth = DEPTH, .bias = bias};
        static float total[SIZE_MAX_HERE * SIZE_MAX_HERE], y[SIZE_MAX_HERE * SIZE_MAX_HERE];
        struct matrix plain = product_of(&machine, &e);
        struct weight w = {.in = depths[DEPTH], .out = e.columns, .bias = bias};
        struct matrix x = {judges->x, e.rows, w.in, judges->depth};
        struct matrix to = {total, e.rows, e.columns, SIZE_MAX_HERE};
        w.pairs = filled(&w);
        memcpy(total, judges->start, sizeof total);
        ck_assert_int_eq(machine_hold_pairs(&machine, pairs_of_input(&machine, e.rows, w.in), NULL),
                         0);
        linear_add(&machine, to, (struct matrix){y, e.rows, e.columns, e.columns}, x, &w);
        for (size_t at = 0; at < e.rows * e.columns; at++) {
            size_t row = at / e.columns;
            size_t in_total = row * SIZE_MAX_HERE + at % e.columns;
            float expected = plain.data[row * plain.stride + at % e.columns];
            ck_assert_mem_eq(&y[at], &expected, sizeof expected);
            expected += judges->start[in_total];
            ck_assert_mem_eq(&total[in_total], &expected, sizeof expected);
        }
        heap_free(machine.pairs);
        machine.pairs = NULL;
        machine.pairs_held = 0;
    }
    machine_release(&machine);
}

TEST_LOOP(no_rows_are_no_work, COUNT(pair_ways))
{
    struct machine machine;
    static const uint32_t pairs[PAIR_COLUMNS];
    struct weight w = {.pairs = pairs, .in = 2, .out = 2};
    if (!open_machine(&machine, &pair_ways[_i], 2))
        return;
    linear(&machine, (struct matrix){NULL, 0, 2, 2}, (struct matrix){NULL, 0, 2, 2}, &w,
           ACTIVATION_GELU);
    machine_release(&machine);
}

TEST(memory_for_what_is_rounded_is_kept_and_grows)
{
    struct machine machine;
    struct err err = {0};
    ck_assert_msg(!machine_open(&machine, 1, &err), "%s", err.text);
    ck_assert_int_eq(machine_hold_pairs(&machine, 100, &err), 0);
    const uint32_t *held = machine.pairs;
    ck_assert_int_eq(machine_hold_pairs(&machine, 99, &err), 0);
    ck_assert_ptr_eq(machine.pairs, held);
    heap_fail_at(1, 0);
    ck_assert_int_eq(machine_hold_pairs(&machine, 101, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
    ck_assert_ptr_eq(machine.pairs, held);
    ck_assert_uint_eq(machine.pairs_held, 100);
    ck_assert_int_eq(machine_hold_pairs(&machine, 101, NULL), 0);
    ck_assert_uint_eq(machine.pairs_held, 101);
    machine_release(&machine);
    ck_assert_ptr_null(machine.pairs);
}
