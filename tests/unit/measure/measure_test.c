#include "measure/reduction.h"

#include <math.h>
#include <string.h>

#include "../unit.h"

static double of_row(enum measure measure, const float *weights, size_t keys, size_t query)
{
    struct attention_row row = {.weights = weights, .keys = keys, .query = query};
    return measure_rows[measure].of_row(&row);
}

TEST(every_measure_is_found_by_its_name)
{
    enum measure found;
    for (int i = 0; i < MEASURE_COUNT; i++) {
        ck_assert(measure_find(measure_rows[i].name, strlen(measure_rows[i].name), &found));
        ck_assert_int_eq(found, i);
        ck_assert(strlen(measure_rows[i].about) > 0);
    }
    ck_assert(!measure_find("entrop", 6, &found));
    ck_assert(!measure_find("entropy,max", 11, &found));
    ck_assert(measure_find("entropy,max", 7, &found));
}

TEST(the_entropy_of_an_even_look_is_the_logarithm_of_its_keys)
{
    float weights[200];
    for (size_t keys = 1; keys <= COUNT(weights); keys++) {
        for (size_t i = 0; i < keys; i++)
            weights[i] = 1.0f / (float)keys;
        ck_assert_double_eq_tol(of_row(MEASURE_ENTROPY, weights, keys, 0), log((double)keys), 2e-6);
    }
}

TEST(a_look_at_one_key_has_no_entropy)
{
    static const float weights[] = {0, 0, 1, 0};
    ck_assert(of_row(MEASURE_ENTROPY, weights, COUNT(weights), 2) == 0);
}

TEST(the_entropy_is_that_of_the_c_library)
{
    float weights[150];
    double right = 0;
    for (size_t i = 0; i < COUNT(weights); i++) {
        weights[i] = (float)pow(0.7, (double)i); /* down to 1e-23 */
        right -= (double)weights[i] * log((double)weights[i]);
    }
    ck_assert_double_eq_tol(of_row(MEASURE_ENTROPY, weights, COUNT(weights), 0), right, 1e-13);
}

TEST(single_keys_and_distances_are_read_off)
{
    static const float weights[] = {0.5f, 0.25f, 0.125f, 0.125f};
    ck_assert(of_row(MEASURE_FIRST_TOKEN, weights, 4, 3) == 0.5);
    ck_assert(of_row(MEASURE_PREVIOUS_TOKEN, weights, 4, 3) == 0.125);
    ck_assert(of_row(MEASURE_PREVIOUS_TOKEN, weights, 4, 1) == 0.5);
    ck_assert(of_row(MEASURE_DISTANCE, weights, 4, 3) == 1.5 + 0.5 + 0.125);
    ck_assert(of_row(MEASURE_DISTANCE, weights, 4, 1) == 0.5 + 0.125 + 0.25);
    ck_assert_uint_eq(measure_rows[MEASURE_PREVIOUS_TOKEN].first_query, 1);
}
