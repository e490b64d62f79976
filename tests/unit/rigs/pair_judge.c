#include "pair_judge.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "dice.h"

static float *taken(struct pair_judge *judge, size_t count)
{
    float *memory = arena_alloc(&judge->arena, count, sizeof *memory, NULL);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* To 8 bits of precision, of two equally near numbers to the even one. */
static float rounded(float value)
{
    int exponent = 0;
    float fraction = frexpf(value, &exponent);
    return ldexpf(rintf(fraction * 256), exponent - 8);
}

static float *rounded_copy(struct pair_judge *judge, const float *values, size_t count)
{
    float *copy = taken(judge, count);
    for (size_t i = 0; i < count; i++)
        copy[i] = rounded(values[i]);
    return copy;
}

/* What a sum becomes with the number at `k`, and before it the one after, if that is in. */
static float add_pair(const struct pair_judge *judge, float sum, size_t row, size_t column,
                      size_t k, size_t depth)
{
    const float *x = judge->rounded_x + row * judge->depth;
    const float *w = judge->rounded_w + column;
    if (k + 1 < depth)
        sum = fmaf(x[k + 1], w[(k + 1) * judge->columns], sum);
    return fmaf(x[k], w[k * judge->columns], sum);
}

/* The sums of one element, written down at every depth. */
static void judge_element(struct pair_judge *judge, size_t row, size_t column)
{
    size_t at = row * judge->columns + column;
    float from_zero = 0;
    float from_start = judge->start[at];
    size_t k = 0;
    for (size_t i = 0; i < judge->depth_count; i++) {
        size_t depth = judge->depths[i];
        for (; k + 2 <= depth; k += 2) {
            from_zero = add_pair(judge, from_zero, row, column, k, depth);
            from_start = add_pair(judge, from_start, row, column, k, depth);
        }
        bool half = k < depth; /* a pair that is cut in two, and whole at the next depth */
        judge->from_zero[i][at] =
            half ? add_pair(judge, from_zero, row, column, k, depth) : from_zero;
        judge->from_start[i][at] =
            half ? add_pair(judge, from_start, row, column, k, depth) : from_start;
    }
}

void pair_judge_open(struct pair_judge *judge, size_t rows, size_t columns, const size_t *depths,
                     size_t depth_count)
{
    uint32_t dice = 1234567;
    *judge = (struct pair_judge){.rows = rows,
                                 .columns = columns,
                                 .depth = depths[depth_count - 1],
                                 .depths = depths,
                                 .depth_count = depth_count};
    ck_assert_uint_le(depth_count, PAIR_JUDGE_DEPTHS_MAX);
    judge->x = taken(judge, rows * judge->depth);
    judge->w = taken(judge, judge->depth * columns);
    judge->start = taken(judge, rows * columns);
    dice_fill(judge->x, rows * judge->depth, &dice);
    dice_fill(judge->w, judge->depth * columns, &dice);
    dice_fill(judge->start, rows * columns, &dice);
    judge->rounded_x = rounded_copy(judge, judge->x, rows * judge->depth);
    judge->rounded_w = rounded_copy(judge, judge->w, judge->depth * columns);
    for (size_t i = 0; i < depth_count; i++) {
        judge->from_zero[i] = taken(judge, rows * columns);
        judge->from_start[i] = taken(judge, rows * columns);
    }
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            judge_element(judge, row, column);
}

void pair_judge_close(struct pair_judge *judge)
{
    arena_release(&judge->arena);
}
