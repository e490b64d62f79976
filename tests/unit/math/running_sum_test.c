#include "math/running_sum.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "math/rng.h"

enum { WIDTH = 100, TOKENS = 40, STRIDE = WIDTH + 3 };

static float q[TOKENS * STRIDE], k[TOKENS * STRIDE], v[TOKENS * STRIDE];
static float values[WIDTH * WIDTH + WIDTH], again[WIDTH * WIDTH + WIDTH];
static float y[TOKENS * STRIDE], other[TOKENS * STRIDE];
static float totals[TOKENS], other_totals[TOKENS];

static const size_t widths[][2] = {{1, 1},   {3, 5},   {16, 31}, {17, 32},
                                   {64, 64}, {65, 80}, {7, 100}};
static const size_t counts[] = {1, 3, 4, 5, 8, 39};

static struct matrix matrix_of(float *data, size_t rows, size_t columns)
{
    return (struct matrix){data, rows, columns, STRIDE};
}

static void prepare(void)
{
    rng_fill_uniform(q, COUNT(q), 1, 1.0f, 0.9f); /* φ is above 0 */
    rng_fill_uniform(k, COUNT(k), 2, 1.0f, 0.9f);
    rng_fill_uniform(v, COUNT(v), 3, 0.0f, 2.0f);
    memset(values, 0, sizeof values);
    memset(again, 0, sizeof again);
}

TEST(phi_is_elu_and_one_more)
{
    static const float x[] = {-100, -3, -0.5f, -0.0f, 0, 1e-8f, 0.5f, 7};
    float found[COUNT(x)];
    phi_rows((struct matrix){found, 1, COUNT(x), COUNT(x)},
             (struct matrix){(float *)x, 1, COUNT(x), COUNT(x)});
    for (size_t i = 0; i < COUNT(x); i++) {
        double expected = x[i] > 0 ? (double)x[i] + 1 : exp((double)x[i]);
        ck_assert_double_eq_tol((double)found[i], expected, 1e-7 * expected + 1e-37);
    }
    ck_assert(found[0] >= 0);
}

/* Query t over the first `keys` keys, in double. */
static void expect_answer(size_t t, size_t keys, size_t dk, size_t dv)
{
    double total = 0;
    for (size_t key = 0; key < keys; key++)
        for (size_t i = 0; i < dk; i++)
            total += (double)q[t * STRIDE + i] * (double)k[key * STRIDE + i];
    ck_assert_double_eq_tol((double)totals[t], total, 1e-5 * total);
    for (size_t j = 0; j < dv; j++) {
        double sum = 0;
        for (size_t key = 0; key < keys; key++)
            for (size_t i = 0; i < dk; i++)
                sum += (double)q[t * STRIDE + i] * (double)k[key * STRIDE + i] *
                       (double)v[key * STRIDE + j];
        ck_assert_double_eq_tol((double)y[t * STRIDE + j], sum, 2e-5 * total);
    }
}

TEST(each_query_sees_the_keys_up_to_its_own)
{
    for (size_t w = 0; w < COUNT(widths); w++) {
        size_t dk = widths[w][0];
        size_t dv = widths[w][1];
        struct running_sum sum = {values, dk, dv};
        prepare();
        running_sum_scan(&sum, matrix_of(y, 39, dv), totals, matrix_of(q, 39, dk),
                         matrix_of(k, 39, dk), matrix_of(v, 39, dv));
        for (size_t t = 0; t < 39; t += 1 + t / 3)
            expect_answer(t, t + 1, dk, dv);
    }
}

TEST(queries_that_come_last_see_all_keys)
{
    struct running_sum sum = {values, 17, 32};
    prepare();
    running_sum_add(&sum, matrix_of(k, 39, 17), matrix_of(v, 39, 32));
    running_sum_query(&sum, matrix_of(y, 5, 32), totals, matrix_of(q, 5, 17));
    for (size_t t = 0; t < 5; t++)
        expect_answer(t, 39, 17, 32);
}

/* One token at a time, as adding and asking. */
TEST(a_sum_has_the_same_bits_however_it_is_cut)
{
    for (size_t w = 0; w < COUNT(widths) * COUNT(counts); w++) {
        size_t dk = widths[w / COUNT(counts)][0];
        size_t dv = widths[w / COUNT(counts)][1];
        size_t count = counts[w % COUNT(counts)];
        struct running_sum sum = {values, dk, dv};
        struct running_sum single = {again, dk, dv};
        prepare();
        running_sum_scan(&sum, matrix_of(y, count, dv), totals, matrix_of(q, count, dk),
                         matrix_of(k, count, dk), matrix_of(v, count, dv));
        for (size_t t = 0; t < count; t++) {
            running_sum_add(&single, matrix_of(k + t * STRIDE, 1, dk),
                            matrix_of(v + t * STRIDE, 1, dv));
            running_sum_query(&single, matrix_of(other + t * STRIDE, 1, dv), other_totals + t,
                              matrix_of(q + t * STRIDE, 1, dk));
            ck_assert_mem_eq(y + t * STRIDE, other + t * STRIDE, dv * sizeof(float));
        }
        ck_assert_mem_eq(totals, other_totals, count * sizeof(float));
        ck_assert_mem_eq(values, again, running_sum_size(dk, dv) * sizeof(float));
    }
}
