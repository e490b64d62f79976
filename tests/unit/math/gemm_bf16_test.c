#include "math/gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "base/memory.h"
#include "math/precision.h"
#include "math/machine.h"

/* AMX, vdpbf16ps and each instruction set for float32, as far as this processor has them. */
static const char *const targets[] = {"spr", "cpx", "skx", "hsw", "generic"};

/* Sizes around the edges of pairs, tiles, panels, chunks and groups. */
static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 129, 513};
static const size_t depths[] = {1, 2, 3, 31, 32, 33, 64, 767, 768, 769, 1537};

enum { ROWS = 513, OUT = 129, DEPTH = 1537, SIZES = COUNT(sizes) };

static float x[ROWS * DEPTH], w[DEPTH * OUT], y[ROWS * OUT], other[ROWS * OUT], bias[OUT];
static uint16_t halves[DEPTH * OUT];
static uint32_t pairs[(DEPTH + 1) / 2 * 2 * OUT];

static struct machine machine;

static void open_machine(const char *target, size_t threads)
{
    struct err err = {0};
    uint32_t dice = 7;
    dice_fill(x, COUNT(x), &dice);
    dice_fill(w, COUNT(w), &dice);
    dice_fill(bias, COUNT(bias), &dice);
    for (size_t i = 0; i < COUNT(w); i++)
        halves[i] = bf16_round(w[i]);
    ck_assert_int_eq(setenv("LIBXSMM_TARGET", target, 1), 0);
    ck_assert_msg(!machine_open(&machine, threads, &err), "%s", err.text);
    ck_assert_int_eq(machine_hold_rounded(&machine, ROWS, DEPTH, NULL), 0);
}

/* The first rows and columns of w, in the layout of this machine. */
static struct weight weight_of(size_t in, size_t out)
{
    struct weight made = {.in = in, .out = out, .stride = OUT, .bias = bias, .rounded = true};
    if (kernels_pair_way(machine.kernels) == PAIRS_NONE) {
        made.halves = (const char *)halves;
        return made;
    }
    memset(pairs, 0, sizeof pairs);
    for (size_t row = 0; row < in; row += 2)
        pairs_fill_rows(pairs, &made, row, w + row * OUT,
                        row + 1 < in ? w + (row + 1) * OUT : NULL);
    made.pairs = pairs;
    return made;
}

static struct matrix some_of(float *data, size_t rows, size_t columns, size_t stride)
{
    return (struct matrix){data, rows, columns, stride};
}

static void check_row(size_t row, size_t in, size_t out)
{
    for (size_t column = 0; column < out; column++) {
        double sum = 0, size = 0;
        for (size_t k = 0; k < in; k++) {
            double term = (double)bf16_rounded(x[row * DEPTH + k]) *
                          (double)bf16_rounded(w[k * OUT + column]);
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(sum + (double)bias[column] - (double)y[row * OUT + column]) <=
              2e-6 * size + 1e-6))
            ck_abort_msg("[%zu] x [%zu, %zu]: element %zu of row %zu is %g, expected %g", in, in,
                         out, column, row, (double)y[row * OUT + column], sum);
    }
}

TEST_LOOP(a_product_is_of_rounded_numbers, COUNT(targets))
{
    open_machine(targets[_i], 2);
    for (size_t i = 0; i < SIZES * COUNT(depths); i++) {
        size_t in = depths[i % COUNT(depths)];
        size_t rows = sizes[i % SIZES];
        size_t out = sizes[(i * 5 + 3) % (SIZES - 1)];
        struct weight weight = weight_of(in, out);
        linear(&machine, some_of(y, rows, out, OUT), some_of(x, rows, in, DEPTH), &weight,
               ACTIVATION_NONE);
        check_row(0, in, out);
        check_row(rows / 2, in, out);
        check_row(rows - 1, in, out);
    }
    machine_release(&machine);
}

TEST_LOOP(other_rows_and_threads_do_not_change_a_bit, COUNT(targets))
{
    for (size_t threads = 1; threads <= 3; threads++) {
        open_machine(targets[_i], threads);
        struct weight weight = weight_of(101, OUT);
        if (threads == 1)
            for (size_t row = 0; row < ROWS; row++)
                linear(&machine, some_of(other + row * OUT, 1, OUT, OUT),
                       some_of(x + row * DEPTH, 1, 101, DEPTH), &weight, ACTIVATION_GELU_NEW);
        for (size_t i = 0; i < SIZES; i++) {
            linear(&machine, some_of(y, sizes[i], OUT, OUT), some_of(x, sizes[i], 101, DEPTH),
                   &weight, ACTIVATION_GELU_NEW);
            ck_assert_msg(memcmp(y, other, sizes[i] * OUT * sizeof *y) == 0, "%zu rows", sizes[i]);
        }
        machine_release(&machine);
    }
}

/* Filling by rows and by columns gives the same panels; padding is 0. */
TEST(a_matrix_and_its_transpose_fill_the_same_panels)
{
    static const size_t few[] = {1, 2, 5, 63, 64, 65, 129};
    open_machine("cpx", 1);
    for (size_t i = 0; i < COUNT(few) * COUNT(few); i++) {
        struct weight of = {.in = few[i % COUNT(few)], .out = few[i / COUNT(few)]};
        static uint32_t by_columns[COUNT(pairs)];
        memset(pairs, 0, sizeof pairs);
        memset(by_columns, 0, sizeof by_columns);
        for (size_t row = 0; row < of.in; row += 2)
            pairs_fill_rows(pairs, &of, row, w + row * OUT,
                            row + 1 < of.in ? w + (row + 1) * OUT : NULL);
        for (size_t column = 0; column < of.out; column++) {
            float numbers[OUT];
            uint32_t rounded[OUT];
            for (size_t row = 0; row < of.in; row++)
                numbers[row] = w[row * OUT + column];
            bf16_pair_row(rounded, numbers, of.in);
            pairs_fill_column(by_columns, &of, column, rounded);
        }
        ck_assert_mem_eq(pairs, by_columns, sizeof pairs);
    }
    machine_release(&machine);
}

TEST(memory_for_rounded_numbers_is_reused_and_grows)
{
    struct err err = {0};
    ck_assert_msg(!machine_open(&machine, 1, &err), "%s", err.text);
    ck_assert_int_eq(machine_hold_rounded(&machine, 10, 16, &err), 0);
    const float *held = machine.rounded;
    ck_assert_int_eq(machine_hold_rounded(&machine, 9, 16, &err), 0);
    ck_assert_ptr_eq(machine.rounded, held);
    heap_fail_at(1, 0);
    ck_assert_int_eq(machine_hold_rounded(&machine, 11, 16, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
    ck_assert_ptr_eq(machine.rounded, held);
    ck_assert_int_eq(machine_hold_rounded(&machine, 11, 16, NULL), 0);
    machine_release(&machine);
    ck_assert_ptr_null(machine.rounded);
}

/* A run in bf16 keeps nothing else of a matrix than panels of pairs, and some matrices are panels
 * of floats. */
TEST(a_matrix_that_is_only_packed_is_copied)
{
    enum { IN = 33, FIRST = 62, WIDTH = OUT - FIRST + 3 };
    static float panels[IN * (OUT + PANEL_COLUMNS)], copy[3 * WIDTH];
    const struct weight_piece piece = {5, 3, FIRST};
    struct weight floats = {.in = IN, .out = OUT, .stride = OUT, .data = w};
    uint32_t dice = 7;
    dice_fill(w, COUNT(w), &dice);
    panels_fill(panels, &floats);
    for (size_t row = 0; row < IN; row += 2)
        pairs_fill_rows(pairs, &floats, row, w + row * OUT,
                        row + 1 < IN ? w + (row + 1) * OUT : NULL);
    for (int in_pairs = 0; in_pairs < 2; in_pairs++) {
        struct weight packed = {.in = IN, .out = OUT};
        packed.pairs = in_pairs ? pairs : NULL;
        packed.panels = in_pairs ? NULL : panels;
        for (size_t at = 0; at < COUNT(copy); at++)
            copy[at] = 9;
        weight_copy(copy, WIDTH, &packed, piece);
        for (size_t at = 0; at < COUNT(copy); at++) {
            size_t column = FIRST + at % WIDTH;
            float number = column < OUT ? w[(piece.row + at / WIDTH) * OUT + column] : 9;
            ck_assert_float_eq(copy[at], in_pairs ? bf16_rounded(number) : number);
        }
    }
}
