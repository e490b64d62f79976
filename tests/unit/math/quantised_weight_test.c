#include "base/err.h"
#include "math/argmax.h"
#include "math/gemm.h"
#include "math/kernel.h"
#include "math/machine.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/gemm_rig.h"
#include "../rigs/guarded.h"

/* Products of quantised matrices have the bits of the same numbers as floats, which weight_test and
 * gemm_test check. */

enum { OUT_MOST = 400, IN_MOST = 1024, ROWS_MOST = 70, TENSOR_ROWS = 3 + (OUT_MOST / 5 + 1) * 7 };

static const size_t out_counts[] = {1, 15, 33, 200, OUT_MOST};
static const size_t in_counts[] = {32, 288, 256, 768, IN_MOST};
static const size_t row_counts[] = {1, 4, 5, 8, 9, ROWS_MOST};
static const enum dtype types[] = {DTYPE_Q4_0, DTYPE_Q4_1, DTYPE_Q5_1, DTYPE_Q8_0, DTYPE_Q2_K,
                                   DTYPE_Q3_K, DTYPE_Q4_K, DTYPE_Q5_K, DTYPE_Q6_K, DTYPE_IQ4_XS};
static const struct row_view views[] = {{0, SIZE_MAX, 0}, {3, 5, 7}};

static struct guarded matrix_memory, wide_memory, packed_memory;
static float x[ROWS_MOST * IN_MOST], found[ROWS_MOST * OUT_MOST], expected[ROWS_MOST * OUT_MOST];

static void open_memory(void)
{
    uint32_t dice = 5;
    matrix_memory = guarded_open((size_t)TENSOR_ROWS * IN_MOST);
    wide_memory = guarded_open((size_t)TENSOR_ROWS * IN_MOST);
    packed_memory = guarded_open((size_t)(OUT_MOST + QUANT_COLUMNS) * IN_MOST);
    dice_fill(x, COUNT(x), &dice);
}

static void close_memory(void)
{
    guarded_close(&matrix_memory);
    guarded_close(&wide_memory);
    guarded_close(&packed_memory);
}

FIXTURE_ONCE(open_memory, close_memory)

/* Is a byte of a block the upper one of a scale or a minimum? Some types end with these. */
static bool is_upper(enum dtype dtype, size_t at, size_t block)
{
    if (dtype == DTYPE_Q3_K || dtype == DTYPE_Q6_K)
        return at == block - 1;
    return dtype == DTYPE_Q2_K ? at == block - 1 || at == block - 3 : at == 1 || at == 3;
}

/* Blocks of random bits, except for the exponents of scales; they end at a guard page. */
static const char *fill_blocks(enum dtype dtype, size_t count)
{
    uint32_t dice = 3;
    size_t bytes = dtype_bytes(dtype, count);
    size_t block = dtype_bytes(dtype, dtype_whole(dtype, 1));
    char *data = matrix_memory.pages + matrix_memory.usable_bytes - bytes;
    for (size_t i = 0; i < bytes; i++) {
        size_t at = i % block;
        bool upper = is_upper(dtype, at, block);
        data[i] = (char)(upper ? 0x30 | (dice_bits(&dice) >> 8 & 0x83) : dice_bits(&dice) >> 8);
    }
    return data;
}

/* The same matrix quantised and as floats. */
static void make_weights(struct weight *quantised, struct weight *wide, size_t out, size_t in,
                         enum dtype dtype, struct row_view view)
{
    size_t count = (row_view_at(&view, out - 1) + 1) * in;
    float *floats = guarded_take(&wide_memory, count);
    *quantised = *wide = (struct weight){.in = in, .out = out};
    quantised->rows =
        (struct weight_rows){.data = fill_blocks(dtype, count), .dtype = dtype, .view = view};
    dtype_to_float(floats, quantised->rows.data, dtype, count);
    wide->rows =
        (struct weight_rows){.data = (const char *)floats, .dtype = DTYPE_F32, .view = view};
}

static void multiply(struct machine *machine, float *y, size_t rows, const struct weight *w)
{
    linear(machine, (struct matrix){y, rows, w->out, w->out},
           (struct matrix){x, rows, w->in, w->in}, w, ACTIVATION_NONE);
}

static void check_product(struct machine *machine, size_t rows, const struct weight *quantised,
                          const struct weight *wide)
{
    multiply(machine, found, rows, quantised);
    multiply(machine, expected, rows, wide);
    ck_assert_msg(memcmp(found, expected, rows * wide->out * sizeof *found) == 0,
                  "%s, [%zu, %zu] x [%zu, %zu]: other bits", dtype_name(quantised->rows.dtype),
                  rows, wide->in, wide->in, wide->out);
}

/* One row and some, and packed rows, which end at a guard page. */
static void check_packed(struct machine *machine, size_t rows, struct weight quantised,
                         const struct weight *wide)
{
    size_t size = quants_size(&quantised);
    char *quants = (char *)guarded_take(&packed_memory, size / sizeof(float));
    if (size > 0) {
        quants_fill(quants, &quantised);
        quantised.quants = quants;
    }
    check_product(machine, 1, &quantised, wide);
    check_product(machine, rows, &quantised, wide);
}

static void check_all(struct machine *machine, enum dtype dtype)
{
    struct weight quantised;
    struct weight wide;
    for (size_t i = 0; i < COUNT(out_counts) * COUNT(in_counts) * COUNT(views); i++) {
        size_t out = out_counts[i % COUNT(out_counts)];
        size_t in = in_counts[i / COUNT(out_counts) % COUNT(in_counts)];
        if (in != dtype_whole(dtype, in))
            continue;
        make_weights(&quantised, &wide, out, in, dtype, views[i % COUNT(views)]);
        check_product(machine, row_counts[i % COUNT(row_counts)], &quantised, &wide);
        check_product(machine, row_counts[(i + 3) % COUNT(row_counts)], &quantised, &wide);
        check_packed(machine, row_counts[i % COUNT(row_counts)], quantised, &wide);
    }
}

TEST_LOOP(products_have_the_bits_of_floats, COUNT(types))
{
    struct machine machine;
    gemm_rig_machine(&machine, NULL, 1 + (size_t)_i % 2 * 2);
    check_all(&machine, types[_i]);
    machine_release(&machine);
}

TEST(kernels_do_not_change_a_bit)
{
    struct machine machine;
    gemm_rig_machine(&machine, "generic", 1);
    check_all(&machine, DTYPE_Q4_K);
    machine_release(&machine);
}

/* Every type in every form that this processor can run. */
TEST_LOOP(packed_rows_have_the_bits_of_floats, VECTOR_FORMS)
{
    const struct vector_loops *loops = vectors_find((enum vector_form)_i);
    struct weight quantised, wide;
    struct machine machine;
    gemm_rig_machine(&machine, NULL, 1);
    for (size_t i = 0; loops && i < COUNT(types); i++) {
        make_weights(&quantised, &wide, QUANT_COLUMNS, 768, types[i], views[1]);
        char *quants =
            (char *)guarded_take(&packed_memory, quants_size(&quantised) / sizeof(float));
        quants_fill(quants, &quantised);
        loops->quants(found, 0, x, quants, 768, dtype_packing(types[i]));
        multiply(&machine, expected, 1, &wide);
        ck_assert_msg(memcmp(found, expected, QUANT_COLUMNS * sizeof *found) == 0, "%s",
                      dtype_name(types[i]));
        loops->quants(found, QUANT_COLUMNS, NULL, quants, 768, dtype_packing(types[i]));
        weight_copy(expected, QUANT_COLUMNS, &wide, (struct weight_piece){0, 768, 0});
        for (size_t at = 0; at < 768 * (size_t)QUANT_COLUMNS; at++) /* 0 may be -0 */
            ck_assert_msg(found[at] == expected[at], "%s: %zu", dtype_name(types[i]), at);
    }
    machine_release(&machine);
}

TEST_LOOP(columns_pieces_and_elements_have_the_bits_of_floats, COUNT(types))
{
    struct weight quantised;
    struct weight wide;
    struct machine machine;
    gemm_rig_machine(&machine, NULL, 1);
    make_weights(&quantised, &wide, 200, 768, types[_i], views[1]);
    quantised = weight_columns(&quantised, 37, 50);
    wide = weight_columns(&wide, 37, 50);
    check_product(&machine, 3, &quantised, &wide);
    weight_copy(found, 50, &quantised, (struct weight_piece){131, 300, 0});
    weight_copy(expected, 50, &wide, (struct weight_piece){131, 300, 0});
    ck_assert_mem_eq(found, expected, sizeof(float) * 300 * 50);
    for (size_t row = 0; row < 768; row += 85)
        ck_assert_float_eq(weight_element(&quantised, row, row % 50),
                           weight_element(&wide, row, row % 50));
    machine_release(&machine);
}

TEST_LOOP(argmax_finds_the_row_that_it_finds_for_floats, COUNT(types))
{
    struct arena arena = {0};
    struct err err;
    struct machine machine;
    struct weight words[2];
    struct argmax argmax[2];
    uint32_t rows[2] = {1, 2};
    gemm_rig_machine(&machine, NULL, 1);
    make_weights(&words[0], &words[1], OUT_MOST, 512, types[_i], views[0]);
    for (int i = 0; i < 2; i++) {
        ck_assert(!argmax_init(&argmax[i], &machine, &words[i], &arena, &err));
        ck_assert(argmax_find(&machine, &argmax[i], x, &rows[i]));
    }
    ck_assert_uint_eq(rows[0], rows[1]);
    arena_release(&arena);
    machine_release(&machine);
}
