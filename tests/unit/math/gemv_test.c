#include "base/err.h"
#include "math/gemm.h"
#include "math/kernel.h"
#include "math/machine.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/guarded.h"

enum { ROWS_MOST = 1100, COLUMNS_MOST = 100 };

/* Around the edges of blocks and of what one thread takes. */
static const size_t row_counts[] = {1, 7, 8, 9, 31, 32, 33, 47, 64, 1023, 1024, 1025, ROWS_MOST};
static const size_t column_counts[] = {1, 15, 16, 17, 31, 32, 33, 48, COLUMNS_MOST};

static struct guarded matrix_memory, x_memory, y_memory;

/* Products end where the next page must not be touched, and are one chain each. */
static void check_products(struct machine *machine, size_t rows, size_t columns, size_t pad)
{
    uint32_t dice = 3;
    size_t stride = columns + pad;
    size_t count = (rows - 1) * stride + columns;
    struct matrix matrix = {guarded_take(&matrix_memory, count), rows, columns, stride};
    float *x = guarded_take(&x_memory, columns);
    float *y = guarded_take(&y_memory, rows);
    dice_fill(matrix.data, count, &dice);
    dice_fill(x, columns, &dice);
    gemv(machine, y, matrix, x);
    for (size_t row = 0; row < rows; row++) {
        float sum = 0;
        for (size_t k = 0; k < columns; k++)
            sum = fmaf(x[k], matrix.data[row * stride + k], sum);
        if (memcmp(&sum, &y[row], sizeof sum) != 0)
            ck_abort_msg("[%zu, %zu]: row %zu has other bits", rows, columns, row);
    }
}

static void check_all(size_t threads)
{
    struct machine machine;
    struct err err = {0};
    ck_assert_int_eq(machine_open(&machine, threads, &err), 0);
    kernels_write_all(machine.kernels);
    matrix_memory = guarded_open(ROWS_MOST * (COLUMNS_MOST + 3));
    x_memory = guarded_open(COLUMNS_MOST);
    y_memory = guarded_open(ROWS_MOST);
    for (size_t i = 0; i < COUNT(row_counts); i++)
        for (size_t j = 0; j < COUNT(column_counts); j++)
            check_products(&machine, row_counts[i], column_counts[j], (i + j) % 2 * 3);
    guarded_close(&matrix_memory);
    guarded_close(&x_memory);
    guarded_close(&y_memory);
    machine_release(&machine);
}

TEST(each_product_is_one_chain)
{
    check_all(1);
}

TEST(threads_change_nothing)
{
    check_all(3);
}
