#include "math/gather.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/guarded.h"
#include "math/rng.h"

enum { ROWS = 70, WIDTH = 130 };

static float rows[ROWS * WIDTH], x[WIDTH];

/* One chain of fused multiply-adds, in order. */
static float chain(const float *row, size_t width, size_t step)
{
    float sum = 0;
    for (size_t i = 0; i < width; i++)
        sum = fmaf(x[i], row[i * step], sum);
    return sum;
}

TEST(each_is_one_chain_in_the_order_of_the_elements)
{
    rng_fill_uniform(rows, ROWS * WIDTH, 1, 0.0f, 1.0f);
    rng_fill_uniform(x, WIDTH, 2, 0.0f, 1.0f);
    for (size_t step = 1; step <= 2; step++)
        for (size_t width = 1; width <= WIDTH / step; width += 1 + width / 2)
            for (size_t count = 0; count <= ROWS; count++) {
                const float *where[ROWS];
                float found[ROWS + 1];
                for (size_t i = 0; i < count; i++) /* anywhere, some twice */
                    where[i] = rows + (i * 7 % 13 + i % 3) * WIDTH;
                found[count] = 5;
                gather_dots(found, x, where, count, (struct gather_form){width, step});
                for (size_t i = 0; i < count; i++)
                    ck_assert_float_eq(found[i], chain(where[i], width, step));
                ck_assert_float_eq(found[count], 5);
            }
}

/* Of the rows, in their order, onto what is there. */
TEST(a_sum_is_one_chain_in_the_order_of_the_rows)
{
    static float factors[ROWS];
    rng_fill_uniform(rows, ROWS * WIDTH, 3, 0.0f, 1.0f);
    rng_fill_uniform(factors, ROWS, 4, 0.0f, 1.0f);
    for (size_t width = 1; width <= WIDTH; width += 1 + width / 4)
        for (size_t count = 0; count <= ROWS; count += 1 + count / 4) {
            const float *where[ROWS];
            float found[WIDTH + 1];
            for (size_t i = 0; i < count; i++)
                where[i] = rows + (i * 7 % 13 + i % 3) * WIDTH;
            for (size_t c = 0; c <= width; c++)
                found[c] = (float)c;
            gather_sum(found, where, factors, count, width);
            for (size_t c = 0; c < width; c++) {
                float sum = (float)c;
                for (size_t i = 0; i < count; i++)
                    sum = fmaf(factors[i], where[i][c], sum);
                ck_assert_float_eq(found[c], sum);
            }
            ck_assert_float_eq(found[width], (float)width);
        }
}

/* The last row of all may be the last thing that there is. */
TEST(nothing_behind_a_row_is_read)
{
    for (size_t width = 1; width <= 80; width++) {
        struct guarded memory = guarded_open(width);
        const float *row = memset(guarded_take(&memory, width), 0, width * sizeof(float));
        float found = 1;
        float y[80] = {0};
        gather_dots(&found, x, &row, 1, (struct gather_form){width, 1});
        ck_assert_float_eq(found, 0);
        gather_sum(y, &row, &found, 1, width);
        guarded_close(&memory);
    }
}
