#include "product_judge.h"

#include <math.h>
#include <string.h>

#include "asserts.h"
#include "dice.h"
#include "math/kernel.h"

static void *taken(struct product_judge *judge, size_t count, size_t size)
{
    void *memory = arena_alloc(&judge->arena, count, size, NULL);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Store the sums of one element at every depth. */
static void judge_element(struct product_judge *judge, size_t row, size_t column)
{
    size_t at = row * judge->columns + column;
    float from_zero = 0;
    float sum = 0;
    float segment = 0;
    float from_start = judge->start[at];
    size_t next = 0;
    for (size_t k = 0; k < judge->depth; k++) {
        float x = judge->x[row * judge->depth + k];
        float w = judge->w[k * judge->columns + column];
        from_zero = fmaf(x, w, from_zero);
        if (k > 0 && k % SUM_SEGMENT == 0) {
            sum = k > SUM_SEGMENT ? sum + segment : segment;
            segment = 0;
        }
        segment = fmaf(x, w, segment);
        from_start = fmaf(x, w, from_start);
        if (k + 1 < judge->depths[next])
            continue;
        judge->sum[next][at] = k < SUM_SEGMENT ? segment : sum + segment;
        judge->from_zero[next][at] = from_zero;
        judge->from_start[next][at] = from_start;
        next++;
    }
}

void product_judge_open(struct product_judge *judge, size_t rows, size_t columns,
                        const size_t *depths, size_t depth_count)
{
    uint32_t dice = 2463534242;
    size_t cells = rows * columns;
    *judge = (struct product_judge){.rows = rows,
                                    .columns = columns,
                                    .depth = depths[depth_count - 1],
                                    .depths = depths,
                                    .depth_count = depth_count};
    ck_assert_uint_le(depth_count, JUDGE_DEPTHS_MAX);
    judge->x = taken(judge, rows * judge->depth, sizeof(float));
    judge->w = taken(judge, judge->depth * columns, sizeof(float));
    judge->start = taken(judge, cells, sizeof(float));
    dice_fill(judge->x, rows * judge->depth, &dice);
    dice_fill(judge->w, judge->depth * columns, &dice);
    dice_fill(judge->start, cells, &dice);
    for (size_t i = 0; i < depth_count; i++) {
        judge->sum[i] = taken(judge, cells, sizeof(float));
        judge->from_zero[i] = taken(judge, cells, sizeof(float));
        judge->from_start[i] = taken(judge, cells, sizeof(float));
    }
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            judge_element(judge, row, column);
}

void product_judge_close(struct product_judge *judge)
{
    arena_release(&judge->arena);
}
