#include "math/rows.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"

/* Around the number of parallel lanes of a sum, and the width of a real model. */
static const size_t widths[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 48, 100, 768, 1025};

enum { WIDTH_MAX = 1025 };

static float x[WIDTH_MAX], y[WIDTH_MAX], scale[WIDTH_MAX], shift[WIDTH_MAX];

static void roll(void)
{
    uint32_t dice = 5;
    dice_fill(x, WIDTH_MAX, &dice);
    dice_fill(scale, WIDTH_MAX, &dice);
    dice_fill(shift, WIDTH_MAX, &dice);
}

FIXTURE(roll, NULL)

/* Compare y with the norm of one row in double. */
static void check_norm(size_t width, const struct norm *norm)
{
    double mean = 0;
    double variance = 0;
    for (size_t i = 0; i < width && !norm->rms; i++)
        mean += (double)x[i] / (double)width;
    for (size_t i = 0; i < width; i++)
        variance += (x[i] - mean) * (x[i] - mean) / (double)width;
    double factor = 1 / sqrt(variance + (double)norm->epsilon);
    for (size_t i = 0; i < width; i++) {
        double gain = (double)norm->offset + (double)scale[i];
        double added = norm->shift ? (double)norm->shift[i] : 0;
        double expected = (x[i] - mean) * factor * gain + added;
        double size = (fabs(x[i]) + fabs(mean) + 0.1) * factor * fabs(gain) + fabs(added);
        ck_assert_msg(fabs(y[i] - expected) <= 4e-7 * size, "width %zu: expected %.9g, found %.9g",
                      width, expected, y[i]);
    }
}

static const struct norm norms[] = {
    {.scale = scale, .shift = shift, .epsilon = 1e-5f},
    {.scale = scale, .shift = shift, .epsilon = 1e-12f},
    {.scale = scale, .shift = shift, .epsilon = 1.0f},
    {.scale = scale, .epsilon = 1e-5f},
    {.scale = scale, .shift = shift, .epsilon = 1e-5f, .offset = 1},
    {.scale = scale, .epsilon = 1e-5f, .offset = 1},
    {.scale = scale, .epsilon = 1e-6f, .rms = true},
    {.scale = scale, .epsilon = 1e-6f, .rms = true, .offset = 1},
};

TEST_LOOP(a_norm_agrees_with_the_formula, COUNT(norms))
{
    for (size_t i = 0; i < COUNT(widths); i++) {
        struct matrix row = {y, 1, widths[i], widths[i]};
        norm_rows(row, (struct matrix){x, 1, widths[i], widths[i]}, &norms[_i]);
        check_norm(widths[i], &norms[_i]);
    }
}

TEST(a_divisor_is_the_root_of_the_variance_or_of_the_mean_square)
{
    const float row[] = {1, 2, 3, 6};
    const struct norm norm = {.epsilon = 0.5f}, rms = {.epsilon = 0.5f, .rms = true};
    ck_assert_double_eq_tol(norm_divisor(row, 4, &norm), sqrt(3.5 + 0.5), 1e-15);
    ck_assert_double_eq_tol(norm_divisor(row, 4, &rms), sqrt(12.5 + 0.5), 1e-15);
}

TEST(a_cap_is_the_limit_and_nearly_linear_at_0)
{
    float row[] = {0, 1e-3f, -2, 29, 30, 1e4f, -1e30f, INFINITY};
    float before[COUNT(row)];
    memcpy(before, row, sizeof row);
    cap_row(row, COUNT(row) - 1, 30);
    for (size_t i = 0; i + 1 < COUNT(row); i++) {
        double expected = 30 * tanh((double)before[i] / 30);
        ck_assert_double_eq_tol((double)row[i], expected, 1e-6 * (1 + fabs(expected)));
        ck_assert(fabsf(row[i]) <= 30);
    }
    ck_assert(isinf(row[COUNT(row) - 1]));
}

/* For a large mean, it must be subtracted before the squares are summed. */
TEST(layernorm_survives_a_large_mean)
{
    struct norm norm = {.scale = scale, .shift = shift, .epsilon = 1e-5f};
    for (size_t i = 0; i < 768; i++)
        x[i] = 1000.0f + roundf(x[i] * 64) / 64; /* exact */
    norm_rows((struct matrix){y, 1, 768, 768}, (struct matrix){x, 1, 768, 768}, &norm);
    check_norm(768, &norm);
}

TEST(a_norm_of_nan_or_infinity_is_nan)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    struct norm norm = {.scale = scale, .shift = shift, .epsilon = 1e-5f};
    for (size_t i = 0; i < COUNT(bad); i++) {
        x[20] = bad[i];
        norm_rows((struct matrix){y, 1, 33, 33}, (struct matrix){x, 1, 33, 33}, &norm);
        ck_assert_uint_lt(first_nonfinite(y, 33), 33);
    }
}

/* Compare softmax_row() of `before` with e^(x - max) / Σ in double. Rounding x - max costs a weight
 * as many digits as the difference has before its decimal point. */
static void check_softmax(const float *before, const float *after, size_t count)
{
    double max = -INFINITY;
    double total = 0;
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        if ((double)before[i] > max)
            max = (double)before[i];
    for (size_t i = 0; i < count; i++)
        total += exp(before[i] - max);
    for (size_t i = 0; i < count; i++) {
        double expected = exp(before[i] - max) / total;
        double digits = 1e-7 * (5 + max - before[i]);
        ck_assert_msg(fabs(after[i] - expected) <= digits * expected + 1e-37,
                      "%zu of %zu: expected %.9g, found %.9g", i, count, expected, after[i]);
        sum += after[i];
    }
    ck_assert_msg(fabs(sum - 1) <= 1e-6, "%zu: the sum is %.9g", count, sum);
}

TEST(softmax_agrees_with_the_formula)
{
    static const float spreads[] = {0, 1e-3f, 1, 10, 80, 1000, 1e30f};
    for (size_t i = 0; i < COUNT(widths) * COUNT(spreads); i++) {
        size_t width = widths[i % COUNT(widths)];
        float before[WIDTH_MAX];
        for (size_t k = 0; k < width; k++)
            before[k] = y[k] = x[k] * spreads[i / COUNT(widths)];
        ck_assert(softmax_row(y, width));
        check_softmax(before, y, width);
    }
}

TEST(minus_infinity_has_weight_zero)
{
    for (size_t at = 0; at < 37; at++) {
        float row[37];
        for (size_t i = 0; i < COUNT(row); i++)
            row[i] = i == at ? x[i] : -INFINITY;
        ck_assert(softmax_row(row, COUNT(row)));
        for (size_t i = 0; i < COUNT(row); i++)
            ck_assert(row[i] == (i == at ? 1.0f : 0.0f) && !signbit(row[i]));
    }
}

TEST(nan_and_plus_infinity_are_refused_at_every_index)
{
    static const float bad[] = {NAN, -NAN, INFINITY};
    for (size_t w = 0; w < COUNT(widths); w++) {
        for (size_t at = 0; at < widths[w]; at += 1 + widths[w] / 40) {
            for (size_t i = 0; i < COUNT(bad); i++) {
                memcpy(y, x, widths[w] * sizeof *y);
                y[at] = bad[i];
                if (softmax_row(y, widths[w]))
                    ck_abort_msg("%g at %zu of %zu was accepted", bad[i], at, widths[w]);
            }
        }
    }
}

TEST(a_row_of_minus_infinity_is_refused)
{
    for (size_t w = 0; w < COUNT(widths); w++) {
        for (size_t i = 0; i < widths[w]; i++)
            y[i] = -INFINITY;
        ck_assert(!softmax_row(y, widths[w]));
    }
}

TEST(a_row_is_normalised_if_its_sum_is_positive_and_finite)
{
    float row[] = {1, 0, 2, 5};
    ck_assert(normalise_row(row, 4));
    ck_assert_mem_eq(row, ((float[]){0.125f, 0, 0.25f, 0.625f}), sizeof row);
    static const float none[][2] = {{0, 0}, {1, -1}, {NAN, 1}, {INFINITY, 1}, {3e38f, 3e38f}};
    for (size_t i = 0; i < COUNT(none); i++) {
        float bad[] = {none[i][0], none[i][1]};
        ck_assert(!normalise_row(bad, 2));
    }
    ck_assert(!normalise_row(row, 0));
}

/* All lengths and positions, so that every lane has it once. */
TEST(the_largest_number_of_a_row_is_found_at_every_index)
{
    float row[150];
    for (size_t count = 1; count <= COUNT(row); count++) {
        for (size_t at = 0; at < count; at++) {
            for (size_t i = 0; i < count; i++)
                row[i] = i % 5 == 4 ? NAN : -(float)(i + 2);
            row[at] = -1;
            ck_assert_float_eq(max_row(row, count), -1);
        }
    }
    ck_assert_float_eq(max_row(NULL, 0), -INFINITY);
}

TEST(the_first_number_that_is_not_finite_is_found)
{
    static const struct {
        float values[4];
        size_t first;
    } cases[] = {
        {{0, -1, 3.4e38f, -1e-45f}, 4},   {{0, NAN, NAN, 0}, 1},
        {{INFINITY, 0, 0, 0}, 0},         {{0, 0, 0, -INFINITY}, 3},
        {{-INFINITY, INFINITY, 0, 0}, 0}, {{0, 0, -NAN, 0}, 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_uint_eq(first_nonfinite(cases[i].values, 4), cases[i].first);
    ck_assert_uint_eq(first_nonfinite(NULL, 0), 0);
}

/* Positions as in "Attention is all you need", computed with libm, in every quadrant. */
TEST(sinusoids_agree_with_the_formula)
{
    static const size_t positions[] = {0, 1, 2, 3, 4, 5, 6, 7, 100, 355, 511, 44444, 16777213};
    for (size_t i = 0; i < COUNT(positions) * COUNT(widths); i++) {
        size_t width = widths[i % COUNT(widths)];
        size_t position = positions[i / COUNT(widths)];
        memset(y, 0, sizeof y);
        add_sinusoids((struct matrix){y, 1, width, width}, position, SINES_IN_TURN);
        for (size_t k = 0; k < width; k++) {
            double angle = (double)position / pow(10000, (double)(k / 2 * 2) / (double)width);
            ck_assert_double_eq_tol((double)y[k], k % 2 ? cos(angle) : sin(angle), 3.1e-8);
        }
    }
}

/* --- stores past the caches ------------------------------------------------------------------- */

enum { ROOM = 2200, LINE = 16 };

static float source[ROOM], stored[ROOM], expected[ROOM];

/* Around the length from which stores bypass caches, and around whole lines. */
static const size_t store_counts[] = {0,   1,   15,  16,  17,  255, 256,  257, 270,
                                      271, 272, 273, 287, 288, 511, 1024, 2047};

/* Untouched cells are -1. */
static void clear_stores(void)
{
    for (size_t i = 0; i < ROOM; i++) {
        source[i] = (float)i;
        stored[i] = expected[i] = -1;
    }
}

TEST(a_copy_is_complete_at_every_alignment)
{
    for (size_t i = 0; i < COUNT(store_counts); i++) {
        for (size_t offset = 0; offset < 2 * LINE; offset++) {
            clear_stores();
            memcpy(expected + offset, source + 3 + i, store_counts[i] * sizeof *stored);
            nontemporal_copy(stored + offset, source + 3 + i, store_counts[i]);
            nontemporal_fence();
            ck_assert_mem_eq(stored, expected, sizeof stored);
        }
    }
}

TEST(a_fill_is_complete_at_every_alignment)
{
    for (size_t i = 0; i < COUNT(store_counts); i++) {
        for (size_t offset = 0; offset < 2 * LINE; offset++) {
            clear_stores();
            for (size_t k = 0; k < store_counts[i]; k++)
                expected[offset + k] = 7.5f;
            nontemporal_fill(stored + offset, store_counts[i], 7.5f);
            nontemporal_fence();
            ck_assert_mem_eq(stored, expected, sizeof stored);
        }
    }
}

/* Σ shift · thin_rows(x), in double. */
static double thin_sum(size_t width, double deviations)
{
    double mean = 0, square = 0, sum = 0;
    for (size_t i = 0; i < width; i++)
        mean += (double)x[i] / (double)width;
    for (size_t i = 0; i < width; i++)
        square += (x[i] - mean) * (x[i] - mean) / (double)width;
    for (size_t i = 0; i < width; i++)
        sum += shift[i] * fmax(x[i] - mean - deviations * sqrt(square), 0);
    return sum;
}

TEST(a_gradient_of_thinned_rows_is_what_a_small_change_makes)
{
    enum { WIDTH = 33 };
    const float deviations = 0.25f, step = 1.0f / 4096;
    memcpy(y, shift, WIDTH * sizeof *y);
    thin_rows_backward((struct matrix){y, 1, WIDTH, WIDTH}, (struct matrix){x, 1, WIDTH, WIDTH},
                       deviations);
    for (size_t i = 0; i < WIDTH; i++) {
        const float at = x[i];
        double sums[2];
        for (int side = 0; side < 2; side++) {
            x[i] = side ? at + step : at - step;
            sums[side] = thin_sum(WIDTH, (double)deviations);
        }
        x[i] = at;
        ck_assert_double_eq_tol((double)y[i], (sums[1] - sums[0]) / (2 * (double)step), 1e-4);
    }
}
