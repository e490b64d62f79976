#include "math/argmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/guarded.h"
#include "base/memory.h"
#include "math/machine.h"

enum { ROWS_MOST = 5000, COLUMNS_MOST = 200, QUESTIONS = 6 };

static struct guarded matrix_memory, x_memory;
static struct machine machine;

static void open_all(size_t threads)
{
    ck_assert_int_eq(machine_open(&machine, threads, NULL), 0);
    matrix_memory = guarded_open(ROWS_MOST * COLUMNS_MOST);
    x_memory = guarded_open(COLUMNS_MOST);
}

static void close_all(void)
{
    guarded_close(&matrix_memory);
    guarded_close(&x_memory);
    machine_release(&machine);
}

static float product(struct matrix rows, size_t row, const float *x)
{
    float sum = 0;
    for (size_t k = 0; k < rows.columns; k++)
        sum = fmaf(x[k], rows.data[row * rows.stride + k], sum);
    return sum;
}

/* The row with the largest product, by computing all. */
static size_t judged(struct matrix rows, const float *x)
{
    size_t best = 0;
    float largest = product(rows, 0, x);
    for (size_t row = 1; row < rows.rows; row++) {
        float found = product(rows, row, x);
        if (found > largest) {
            best = row;
            largest = found;
        }
    }
    return best;
}

static float normal(uint32_t *dice)
{
    float sum = 0;
    for (int i = 0; i < 12; i++)
        sum += dice_float(dice);
    return sum / 2;
}

static float power(int least, int most, uint32_t *dice)
{
    return ldexpf(dice_float(dice), least + (int)(dice_bits(dice) % (uint32_t)(most - least + 1)));
}

/* --- rows and vectors ------------------------------------------------------------------------- */

typedef void fill(float *values, size_t row, size_t count, uint32_t *dice);

static void of_any_size(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row;
    dice_fill(values, count, dice);
}

static void normally(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row;
    for (size_t k = 0; k < count; k++)
        values[k] = normal(dice);
}

/* Two of three rows are copies of seven rows, so that many products are equal. */
static void often_equal(float *values, size_t row, size_t count, uint32_t *dice)
{
    uint32_t own = 1 + (uint32_t)row % 7;
    dice_fill(values, count, row % 3 ? &own : dice);
}

/* Rows that differ only in the last bit of one element. */
static void nearly_equal(float *values, size_t row, size_t count, uint32_t *dice)
{
    uint32_t own = 5;
    dice_fill(values, count, &own);
    size_t k = dice_bits(dice) % count;
    values[k] = nextafterf(values[k], row % 2 ? INFINITY : -INFINITY);
}

static void all_equal(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row, (void)dice;
    for (size_t k = 0; k < count; k++)
        values[k] = 0.5f + (float)k;
}

static void zeros(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row, (void)dice;
    memset(values, 0, count * sizeof *values);
}

static void sometimes_zeros(float *values, size_t row, size_t count, uint32_t *dice)
{
    (row % 2 ? zeros : of_any_size)(values, row, count, dice);
}

/* A huge element makes the quantisation step so large that the others round to 0. */
static void with_a_huge_element(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row;
    dice_fill(values, count, dice);
    values[dice_bits(dice) % count] *= 1e6f;
}

static void of_all_magnitudes(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row;
    for (size_t k = 0; k < count; k++)
        values[k] = power(-40, 40, dice);
}

static void of_tiny_numbers(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row;
    for (size_t k = 0; k < count; k++)
        values[k] = power(-149, -120, dice);
}

/* Around the size below which a row is treated as 0. */
static void of_small_numbers(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row;
    int least = -106 + (int)(dice_bits(dice) % 10);
    for (size_t k = 0; k < count; k++)
        values[k] = power(least, least + 2, dice);
}

static void of_large_numbers(float *values, size_t row, size_t count, uint32_t *dice)
{
    (void)row;
    for (size_t k = 0; k < count; k++)
        values[k] = power(58, 60, dice);
}

static void with_one_element(float *values, size_t row, size_t count, uint32_t *dice)
{
    zeros(values, row, count, dice);
    values[dice_bits(dice) % count] = dice_float(dice);
}

static fill *const fills[] = {of_any_size,         normally,
                              often_equal,         nearly_equal,
                              all_equal,           zeros,
                              sometimes_zeros,     of_tiny_numbers,
                              of_small_numbers,    of_large_numbers,
                              with_a_huge_element, of_all_magnitudes,
                              with_one_element};

static const size_t shapes[][2] = {
    {1, 1}, {2, 1}, {9, 63}, {63, 64}, {64, 65}, {130, 16}, {1023, 17}, {1025, 48}, {2100, 100},
};

static struct matrix fill_rows(fill *with, size_t rows, size_t columns, uint32_t *dice)
{
    struct matrix matrix = {.rows = rows, .columns = columns, .stride = columns};
    matrix.data = guarded_take(&matrix_memory, rows * columns);
    for (size_t row = 0; row < rows; row++)
        with(matrix.data + row * columns, row, columns, dice);
    return matrix;
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Rows without gaps, as in a file. */
static struct weight words_of(struct matrix rows)
{
    struct weight_rows lying = {(const char *)rows.data, DTYPE_F32, {0, SIZE_MAX, 0}, 0};
    ck_assert_uint_eq(rows.stride, rows.columns);
    return (struct weight){.in = rows.columns, .out = rows.rows, .rows = lying};
}

/* The row is the one of judged(), and no product exceeds its bound. */
static void check_answer(const struct argmax *argmax, const float *x, uint32_t found)
{
    size_t width = argmax->words.in;
    struct matrix rows = {(float *)(void *)argmax->words.rows.data, argmax->words.out, width,
                          width};
    size_t expected = judged(rows, x);
    if (found != expected)
        ck_abort_msg("[%zu, %zu]: expected row %zu, found %u", rows.rows, rows.columns, expected,
                     found);
    for (size_t row = 0; row < rows.rows; row++)
        if (!(argmax->bounds[row] >= (double)product(rows, row, x)))
            ck_abort_msg("[%zu, %zu]: row %zu is beyond its bound", rows.rows, rows.columns, row);
}

/* Find the row of the largest product. */
static void check_question(struct argmax *argmax, fill *with, uint32_t *dice)
{
    uint32_t found = UINT32_MAX;
    float *x = guarded_take(&x_memory, argmax->words.in);
    with(x, 0, argmax->words.in, dice);
    ck_assert(argmax_find(&machine, argmax, x, &found));
    check_answer(argmax, x, found);
}

static void check_shapes(fill *rows_with)
{
    uint32_t dice = 11;
    for (size_t shape = 0; shape < COUNT(shapes); shape++) {
        struct argmax argmax;
        struct arena arena = {0};
        struct matrix rows = fill_rows(rows_with, shapes[shape][0], shapes[shape][1], &dice);
        struct weight words = words_of(rows);
        ck_assert_int_eq(argmax_init(&argmax, &machine, &words, &arena, NULL), 0);
        for (size_t i = 0; i < COUNT(fills); i++)
            check_question(&argmax, fills[i], &dice);
        arena_release(&arena);
    }
}

TEST_LOOP(the_row_is_the_one_that_computing_all_products_finds, COUNT(fills))
{
    open_all(1 + (size_t)_i % 2);
    check_shapes(fills[_i]);
    close_all();
}

/* For random rows the bounds must exclude almost all; otherwise they would not save time. */
TEST(bounds_exclude_most_rows)
{
    open_all(1);
    uint32_t dice = 23;
    struct matrix rows = fill_rows(normally, ROWS_MOST, COLUMNS_MOST, &dice);
    struct argmax argmax;
    struct arena arena = {0};
    struct weight words = words_of(rows);
    ck_assert_int_eq(argmax_init(&argmax, &machine, &words, &arena, NULL), 0);
    for (int i = 0; i < QUESTIONS; i++) {
        check_question(&argmax, normally, &dice);
        const float *x = guarded_take(&x_memory, COLUMNS_MOST);
        double largest = (double)product(rows, judged(rows, x), x);
        size_t possible = 0;
        for (size_t row = 0; row < ROWS_MOST; row++)
            possible += argmax.bounds[row] >= largest;
        ck_assert_uint_le(possible, ROWS_MOST / 50);
    }
    arena_release(&arena);
    close_all();
}

/* If a logit may not be finite, the caller must compute all of them to report it. */
TEST(products_that_may_overflow_are_refused)
{
    static const struct {
        float row, x;
        bool told;
    } cases[] = {
        {NAN, 1, false},       {INFINITY, 1, false},
        {-INFINITY, 1, false}, {1, NAN, false},
        {1, INFINITY, false},  {1, -INFINITY, false},
        {1e20f, 1e20f, false}, {FLT_MAX, 1, false},
        {1, FLT_MAX, false},   {FLT_MAX / 4, 1e-9f, true},
        {1e-9f, 1e38f, true},  {1, 1, true},
    };
    open_all(1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t dice = 29;
        uint32_t found = UINT32_MAX;
        struct argmax argmax;
        struct arena arena = {0};
        float *x = guarded_take(&x_memory, 33);
        struct matrix rows = fill_rows(with_one_element, 70, 33, &dice);
        memset(x, 0, 33 * sizeof *x);
        rows.data[35 * 33 + 32] = cases[i].row;
        x[32] = cases[i].x;
        struct weight words = words_of(rows);
        ck_assert_int_eq(argmax_init(&argmax, &machine, &words, &arena, NULL), 0);
        ck_assert_int_eq(argmax_find(&machine, &argmax, x, &found), cases[i].told);
        ck_assert_uint_eq(found, cases[i].told ? judged(rows, x) : UINT32_MAX);
        arena_release(&arena);
    }
    close_all();
}

/* Up to the largest number of columns, and one more. A row and x have the largest numbers
 * everywhere, so their product is the largest, and rounding errors of its sum add up. */
TEST(rows_that_are_too_long_are_refused)
{
    enum { ROWS = 4, LONGEST = SUMS_ROOM };
    static const size_t lengths[] = {1000, 1 << 14, 20011, LONGEST, LONGEST + 1};
    uint32_t dice = 31;
    float *values = heap_alloc((ROWS + 1) * (LONGEST + 1), sizeof *values, NULL);
    ck_assert_ptr_nonnull(values);
    open_all(1);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        uint32_t found = 0;
        struct argmax argmax;
        struct arena arena = {0};
        struct matrix rows = {values, ROWS, lengths[i], lengths[i]};
        float *x = values + ROWS * lengths[i];
        dice_fill(values, ROWS * lengths[i], &dice);
        for (size_t k = 0; k < lengths[i]; k++)
            values[2 * lengths[i] + k] = 1;
        struct weight words = words_of(rows);
        ck_assert_int_eq(argmax_init(&argmax, &machine, &words, &arena, NULL), 0);
        for (int j = 1; j < 10; j++) {
            for (size_t k = 0; k < lengths[i]; k++)
                x[k] = (float)j / 10;
            bool told = argmax_find(&machine, &argmax, x, &found);
            ck_assert_int_eq(told, lengths[i] <= LONGEST);
            if (told)
                check_answer(&argmax, x, found);
        }
        arena_release(&arena);
    }
    heap_free(values);
    close_all();
}

TEST(a_failed_allocation_is_an_error)
{
    open_all(1);
    uint32_t dice = 37;
    struct matrix rows = fill_rows(normally, ROWS_MOST, 64, &dice);
    struct starve starve = {0};
    while (starve_next(&starve)) {
        struct argmax argmax;
        struct arena arena = {0};
        struct err err = {0};
        struct weight words = words_of(rows);
        starve_check(&starve, argmax_init(&argmax, &machine, &words, &arena, &err), &err);
        arena_release(&arena);
    }
    ck_assert_uint_gt(starve.nth, 1);
    struct argmax argmax;
    struct arena arena = {0};
    rows.rows = SIZE_MAX / 64;
    rows.columns = rows.stride = 65;
    struct weight words = words_of(rows);
    ck_assert_int_eq(argmax_init(&argmax, &machine, &words, &arena, NULL), -1);
    arena_release(&arena);
    close_all();
}
