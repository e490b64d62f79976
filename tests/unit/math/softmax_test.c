#include <math.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/guarded.h"
#include "math/rows.h"

enum { ROWS = 5, COLUMNS_MOST = 7 * SOFTMAX_RANGE_STEP };

static const float scale = 0.3f;

static struct guarded memory;

/* Rows of random scores up to the end of what may be touched; what lies beside them is 9. */
static struct matrix scores_of(size_t columns, size_t stride)
{
    size_t count = (ROWS - 1) * stride + columns;
    struct matrix rows = {guarded_take(&memory, count), ROWS, columns, stride};
    uint32_t dice = (uint32_t)(columns + stride);
    dice_fill(rows.data, count, &dice);
    for (size_t i = 0; i < count; i++)
        rows.data[i] = i % stride < columns ? 40 * rows.data[i] : 9;
    return rows;
}

static bool is_seen(const struct softmax_range *range, size_t column)
{
    return column < range->low || (column >= range->first && column < range->end);
}

/* A row of scores, and -infinity where nothing is seen. */
static void judge_row(const struct softmax_range *range, const float *found, const float *scores,
                      size_t columns)
{
    float expected[COLUMNS_MOST];
    for (size_t i = 0; i < columns; i++)
        expected[i] = is_seen(range, i) ? scores[i] * scale : -INFINITY;
    ck_assert(softmax_row(expected, columns));
    for (size_t i = 0; i < columns; i++)
        if (memcmp(&expected[i], &found[i], sizeof *found) != 0)
            ck_abort_msg("low %zu, %zu to %zu of %zu: column %zu is %.9g, expected %.9g",
                         range->low, range->first, range->end, columns, i, found[i], expected[i]);
}

/* Every row sees a column more than the one before it, as far as there are any. */
static void judge(size_t columns, size_t stride, struct softmax_range range)
{
    static float scores[ROWS * (COLUMNS_MOST + SOFTMAX_RANGE_STEP)];
    struct softmax_range ranges[ROWS];
    struct matrix rows = scores_of(columns, stride);
    memcpy(scores, rows.data, ((ROWS - 1) * stride + columns) * sizeof *scores);
    for (size_t row = 0; row < ROWS; row++) {
        ranges[row] = range;
        ranges[row].end += range.end + row <= columns ? row : 0;
    }
    softmax_range_scale(rows, ranges, scale);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t i = 0; i < columns; i++)
            if (is_seen(&ranges[row], i))
                ck_assert_float_eq(rows.data[row * stride + i], scores[row * stride + i] * scale);
    ck_assert(softmax_range_apply(rows, ranges));
    for (size_t row = 0; row < ROWS; row++)
        judge_row(&ranges[row], rows.data + row * stride, scores + row * stride, columns);
    for (size_t i = 0; i + stride - columns < ROWS * stride; i++)
        ck_assert(i % stride < columns || rows.data[i] == 9);
}

TEST(weights_are_those_of_rows_that_are_hidden_beside_their_bands)
{
    memory = guarded_open((size_t)ROWS * (COLUMNS_MOST + SOFTMAX_RANGE_STEP));
    for (size_t columns = SOFTMAX_RANGE_STEP; columns <= COLUMNS_MOST;
         columns += SOFTMAX_RANGE_STEP)
        for (size_t first = 0; first < columns; first += 1 + first / 3)
            for (size_t end = first + 1; end <= columns; end += 1 + end / 5) {
                judge(columns, columns + SOFTMAX_RANGE_STEP,
                      (struct softmax_range){.first = first, .end = end});
                judge(columns, columns, (struct softmax_range){first / 2, first, end, 0, 0});
            }
    for (size_t low = 1; low <= COLUMNS_MOST; low += one_of(5))
        judge(COLUMNS_MOST, COLUMNS_MOST, (struct softmax_range){low, low, low, 0, 0});
    guarded_close(&memory);
}

/* Five steps are seen whole, and a part of one before and after them. */
enum { FIRST = 17, END = 115, SOME = 8 * SOFTMAX_RANGE_STEP };

/* What becomes of a number that is none, in the range or beside it. */
static bool softens(size_t column, float number)
{
    struct softmax_range ranges[ROWS];
    struct matrix rows = scores_of(SOME, SOME);
    for (size_t row = 0; row < ROWS; row++)
        ranges[row] = (struct softmax_range){.low = 2, .first = FIRST, .end = END};
    rows.data[2 * rows.stride + column] = number;
    softmax_range_scale(rows, ranges, scale);
    bool sound = softmax_range_apply(rows, ranges);
    for (size_t i = 0; sound && i < SOME; i++)
        ck_assert(is_seen(&ranges[2], i) || rows.data[2 * rows.stride + i] == 0);
    return sound;
}

TEST(what_is_no_number_counts_where_it_is_seen)
{
    static const float numbers[] = {NAN, INFINITY};
    memory = guarded_open((size_t)ROWS * SOME);
    for (size_t i = 0; i < COUNT(numbers); i++)
        for (size_t column = 0; column < SOME; column++)
            ck_assert_int_eq(softens(column, numbers[i]),
                             !(column < 2 || (column >= FIRST && column < END)));
    ck_assert(softens(20, -INFINITY)); /* a key of weight 0 */
    guarded_close(&memory);
}
