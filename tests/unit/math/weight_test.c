#include "base/err.h"
#include "math/gemm.h"
#include "math/kernel.h"
#include "math/machine.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/gemm_rig.h"
#include "../rigs/guarded.h"
#include "../rigs/patience.h"

enum { OUT_MOST = 200, IN_MOST = 800, ROWS_MOST = 70, TENSOR_ROWS = 3 + (OUT_MOST / 5 + 1) * 7 };

/* Sizes around the edges of blocks, words, tiles, shares of threads, and copies. */
static const size_t out_counts[] = {1, 15, 16, 17, 31, 32, 33, 64, 65, 127, 128, 129, OUT_MOST};
static const size_t in_counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 65, 512, 513, IN_MOST};
static const size_t row_counts[] = {1, 2, 3, 4, 5, 8, 9, 12, 64, 65, ROWS_MOST};
static const size_t sizes[] = {FLOAT_BYTES, BF16_BYTES};
static const struct row_view views[] = {{0, SIZE_MAX, 0}, {2, SIZE_MAX, 0}, {3, 5, 7}, {1, 8, 11}};

static struct guarded matrix_memory, x_memory, y_memory;

static void open_memory(void)
{
    matrix_memory = guarded_open((size_t)TENSOR_ROWS * IN_MOST);
    x_memory = guarded_open((size_t)ROWS_MOST * IN_MOST);
    y_memory = guarded_open((size_t)ROWS_MOST * OUT_MOST);
}

static void close_memory(void)
{
    guarded_close(&matrix_memory);
    guarded_close(&x_memory);
    guarded_close(&y_memory);
}

FIXTURE_ONCE(open_memory, close_memory)

/* Numbers of a type that end at a guard page. */
static char *fill_numbers(size_t count, size_t bytes, uint32_t *dice)
{
    char *data = matrix_memory.pages + matrix_memory.usable_bytes - count * bytes;
    for (size_t i = 0; i < count; i++) {
        float value = dice_float(dice);
        uint16_t half = bf16_round(value);
        memcpy(data + i * bytes, bytes == BF16_BYTES ? (void *)&half : (void *)&value, bytes);
    }
    return data;
}

static struct weight make_weight(size_t out, size_t in, size_t bytes, struct row_view view)
{
    uint32_t dice = 3;
    size_t rows = row_view_at(&view, out - 1) + 1;
    struct weight w = {.in = in, .out = out};
    w.rows = (struct weight_rows){
        .data = fill_numbers(rows * in, bytes, &dice),
        .dtype = bytes == BF16_BYTES ? DTYPE_BF16 : DTYPE_F32,
        .view = view,
    };
    return w;
}

/* Element [t, column] must be the sum of segments of its row, each one chain of fmaf. */
static void check_element(struct matrix y, struct matrix x, const struct weight *w, size_t t,
                          size_t column)
{
    const struct weight_rows *rows = &w->rows;
    size_t at = row_view_at(&rows->view, rows->skipped + column) * w->in;
    struct number_rows row = {
        .at = {rows->data + dtype_bytes(rows->dtype, at)}, .count = 1, .dtype = rows->dtype};
    float sum = 0;
    for (size_t first = 0; first < w->in; first += SUM_SEGMENT) {
        float segment = 0;
        for (size_t k = first; k < w->in && k < first + SUM_SEGMENT; k++)
            segment = fmaf(x.data[t * x.stride + k], number_at(&row, 0, k), segment);
        sum = first > 0 ? sum + segment : segment;
    }
    if (memcmp(&sum, &y.data[t * y.stride + column], sizeof sum) != 0)
        ck_abort_msg("[%zu, %zu] x [%zu, %zu], %s: row %zu, column %zu has other bits", x.rows,
                     w->in, w->in, w->out, dtype_name(rows->dtype), t, column);
}

static void check_product(struct machine *machine, size_t rows, const struct weight *w)
{
    uint32_t dice = 5;
    struct matrix x = {guarded_take(&x_memory, rows * w->in), rows, w->in, w->in};
    struct matrix y = {guarded_take(&y_memory, rows * w->out), rows, w->out, w->out};
    dice_fill(x.data, rows * w->in, &dice);
    linear(machine, y, x, w, ACTIVATION_NONE);
    for (size_t t = 0; t < rows; t++)
        for (size_t column = 0; column < w->out; column++)
            check_element(y, x, w, t, column);
}

/* Check every step-th combination of sizes; the step is coprime to all counts, so that every size
 * occurs. */
static void check_all(const char *target, size_t threads, size_t step)
{
    size_t all =
        COUNT(out_counts) * COUNT(in_counts) * COUNT(row_counts) * COUNT(sizes) * COUNT(views);
    struct machine machine;
    gemm_rig_machine(&machine, target, threads);
    for (size_t i = 0; i < all; i += step) {
        size_t rest = i;
        size_t out = out_counts[rest % COUNT(out_counts)];
        size_t in = in_counts[(rest /= COUNT(out_counts)) % COUNT(in_counts)];
        size_t rows = row_counts[(rest /= COUNT(in_counts)) % COUNT(row_counts)];
        size_t bytes = sizes[(rest /= COUNT(row_counts)) % COUNT(sizes)];
        struct weight w = make_weight(out, in, bytes, views[rest / COUNT(sizes)]);
        check_product(&machine, rows, &w);
    }
    machine_release(&machine);
}

TEST(every_product_is_a_sum_of_chains)
{
    check_all(NULL, 1, 17 * one_of(7));
}

TEST(threads_do_not_change_a_bit)
{
    check_all(NULL, 3, 37 * one_of(7));
}

TEST_LOOP(kernels_do_not_change_a_bit, 2)
{
    check_all(_i ? "hsw" : "generic", 1, 97 * one_of(7));
}

TEST(columns_of_a_matrix_give_columns_of_the_product)
{
    static float panels[256 * 97];
    struct machine machine;
    gemm_rig_machine(&machine, NULL, 1);
    for (size_t i = 0; i < COUNT(sizes) * COUNT(views); i++) {
        struct weight w = make_weight(129, 97, sizes[i % 2], views[i / 2]);
        panels_fill(panels, &w);
        w.panels = panels;
        struct weight part = weight_columns(&w, 37, 50);
        struct weight later = weight_columns(&w, 2 * PANEL_COLUMNS, 50);
        ck_assert_ptr_null(part.panels);
        ck_assert_ptr_eq(later.panels, panels + 2 * PANEL_COLUMNS * w.in);
        check_product(&machine, 1, &part);
        check_product(&machine, 20, &part);
        check_product(&machine, 1, &later);
        check_product(&machine, 20, &later);
    }
    machine_release(&machine);
}

/* Processors read rows in one of two ways. */
TEST_LOOP(reading_in_strips_does_not_change_a_bit, 2)
{
    uint32_t dice = 5;
    for (size_t i = 0; i < COUNT(out_counts) * COUNT(sizes) * COUNT(views); i++) {
        struct weight w =
            make_weight(out_counts[i % COUNT(out_counts)], 97, sizes[i % COUNT(sizes)],
                        views[i / COUNT(out_counts) / COUNT(sizes)]);
        struct matrix x = {guarded_take(&x_memory, w.in), 1, w.in, w.in};
        struct matrix y = {guarded_take(&y_memory, w.out), 1, w.out, w.out};
        dice_fill(x.data, w.in, &dice);
        gemv(y, x, &w, 0, _i == 1);
        for (size_t column = 0; column < w.out; column++)
            check_element(y, x, &w, 0, column);
    }
}

/* Every form that this processor can run. */
TEST_LOOP(blocks_are_transposed, VECTOR_FORMS)
{
    const struct vector_loops *loops = vectors_find((enum vector_form)_i);
    for (size_t i = 0; loops && i < COUNT(in_counts) * COUNT(sizes); i++) {
        enum { STRIDE = LANES + 3 };
        static float to[IN_MOST * STRIDE];
        size_t in = in_counts[i / 2];
        struct weight w = make_weight(LANES, in, sizes[i % 2], views[2]);
        struct number_rows rows = weight_number_rows(&w, 0, 0);
        memset(to, 0, sizeof to);
        size_t done = loops->transpose(to, STRIDE, &rows, in);
        ck_assert(done <= in && in - done < 2 * LANES);
        for (size_t cell = 0; cell < done * STRIDE; cell++) {
            size_t row = cell % STRIDE;
            float expected = row < LANES ? number_at(&rows, row, cell / STRIDE) : 0;
            ck_assert_msg(to[cell] == expected, "number %zu of row %zu", cell / STRIDE, row);
        }
    }
}

TEST_LOOP(blocks_are_multiplied_in_chains, VECTOR_FORMS)
{
    const struct vector_loops *loops = vectors_find((enum vector_form)_i);
    uint32_t dice = 5;
    for (size_t i = 0; loops && i < COUNT(in_counts) * COUNT(sizes); i++) {
        size_t in = in_counts[i / 2];
        struct weight w = make_weight(LANES, in, sizes[i % 2], views[2]);
        struct number_rows rows = weight_number_rows(&w, 0, 0);
        struct matrix x = {guarded_take(&x_memory, in * GEMV_ROWS), 1, in, in};
        dice_fill(x.data, in * GEMV_ROWS, &dice);
        for (; x.rows <= loops->rows_most; x.rows++) {
            float sums[GEMV_ROWS][LANES], expected[GEMV_ROWS][LANES];
            dice_fill(*sums, LANES * x.rows, &dice);
            memcpy(expected, sums, sizeof sums);
            size_t done = loops->multiply(sums, x, &rows);
            ck_assert(done <= in && in - done < 2 * LANES);
            for (size_t k = 0; k < done * LANES * x.rows; k++) {
                size_t row = k % LANES;
                size_t number = k / LANES % done;
                size_t t = k / LANES / done;
                expected[t][row] =
                    fmaf(x.data[t * in + number], number_at(&rows, row, number), expected[t][row]);
            }
            ck_assert_mem_eq(sums, expected, x.rows * sizeof *sums);
        }
    }
}

/* --- transposing ------------------------------------------------------------------------------ */

/* Sizes around the edges of blocks. */
static const size_t edges[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 50};

enum { SIZE_MOST = 50, PAD = 3 };

static void check_turned(size_t rows, size_t columns)
{
    uint32_t dice = 5;
    size_t x_count = rows > 0 ? (rows - 1) * (columns + PAD) + columns : 0;
    size_t y_count = columns > 0 ? (columns - 1) * (rows + PAD) + rows : 0;
    struct matrix x = {guarded_take(&x_memory, x_count), rows, columns, columns + PAD};
    struct matrix y = {guarded_take(&y_memory, y_count), columns, rows, rows + PAD};
    dice_fill(x.data, x_count, &dice);
    for (size_t i = 0; i < y_count; i++)
        y.data[i] = 9;
    transpose(y, x);
    for (size_t i = 0; i < y_count; i++) {
        size_t row = i / y.stride;
        size_t column = i % y.stride;
        float expected = column < rows ? x.data[column * x.stride + row] : 9;
        if (y.data[i] != expected)
            ck_abort_msg("[%zu, %zu]: row %zu, column %zu", rows, columns, row, column);
    }
}

TEST(rows_become_columns_and_no_other_number_changes)
{
    for (size_t i = 0; i < COUNT(edges); i++)
        for (size_t j = 0; j < COUNT(edges); j++)
            check_turned(edges[i], edges[j]);
}
