#include "math/tensor.h"

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/guarded.h"

/* Sizes around the edges of blocks. */
static const size_t sizes[] = {0, 1, 2, 15, 16, 17, 31, 32, 33, 50};

enum { SIZE_MOST = 50, PAD = 3 };

static struct guarded from, to;

static void check_turned(size_t rows, size_t columns)
{
    uint32_t dice = 5;
    size_t x_count = rows > 0 ? (rows - 1) * (columns + PAD) + columns : 0;
    size_t y_count = columns > 0 ? (columns - 1) * (rows + PAD) + rows : 0;
    struct matrix x = {guarded_take(&from, x_count), rows, columns, columns + PAD};
    struct matrix y = {guarded_take(&to, y_count), columns, rows, rows + PAD};
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
    enum { ROOM = SIZE_MOST * (SIZE_MOST + PAD) };
    from = guarded_open(ROOM);
    to = guarded_open(ROOM);
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (size_t j = 0; j < COUNT(sizes); j++)
            check_turned(sizes[i], sizes[j]);
    guarded_close(&from);
    guarded_close(&to);
}
