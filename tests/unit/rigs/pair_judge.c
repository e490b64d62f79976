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

/* A sum of the first `depth` numbers, a pair at a time. */
static float add_pairs(const struct pair_judge *judge, float sum, size_t row, size_t column,
                       size_t depth)
{
    for (size_t k = 0; k < depth; k += 2)
        sum = add_pair(judge, sum, row, column, k, depth);
    return sum;
}

/* The same as tiles have it: sixteen pairs at a time, second and first numbers apart. */
static float add_tiles(const struct pair_judge *judge, float sum, size_t row, size_t column,
                       size_t depth)
{
    enum { STEP = 32 };
    const float *x = judge->rounded_x + row * judge->depth;
    const float *w = judge->rounded_w + column;
    for (size_t step = 0; step < depth; step += STEP) {
        float parts[2] = {0, 0};
        for (size_t k = step; k < depth && k < step + STEP; k++)
            parts[k % 2] = fmaf(x[k], w[k * judge->columns], parts[k % 2]);
        sum += parts[0] + parts[1];
    }
    return sum;
}

typedef float add_up(const struct pair_judge *judge, float sum, size_t row, size_t column,
                     size_t depth);

void pair_judge_open(struct pair_judge *judge, size_t rows, size_t columns, const size_t *depths,
                     size_t depth_count, bool tiles)
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
        for (size_t at = 0; at < rows * columns; at++) {
            add_up *add = tiles ? add_tiles : add_pairs;
            size_t row = at / columns;
            size_t column = at % columns;
            judge->from_zero[i][at] = add(judge, 0, row, column, depths[i]);
            judge->from_start[i][at] = add(judge, judge->start[at], row, column, depths[i]);
        }
    }
}

void pair_judge_close(struct pair_judge *judge)
{
    arena_release(&judge->arena);
}
