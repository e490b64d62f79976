#include "measure/head_scores.h"

#include <math.h>

#include "../unit.h"
#include "base/names.h"

static double entropy(const float *weights, size_t keys)
{
    struct attention_row row = {.weights = weights, .keys = keys};
    size_t index = 0;
    ck_assert(names_find(&index, NAMES(score_rows, score_row_count), "entropy", 7));
    return score_rows[index].measure(&row);
}

TEST(the_entropy_of_an_even_look_is_the_logarithm_of_its_keys)
{
    float weights[200];
    for (size_t keys = 1; keys <= COUNT(weights); keys++) {
        for (size_t i = 0; i < keys; i++)
            weights[i] = 1.0f / (float)keys;
        ck_assert_double_eq_tol(entropy(weights, keys), log((double)keys), 2e-6);
    }
}

TEST(the_entropy_is_that_of_the_c_library)
{
    float weights[150];
    double right = 0;
    for (size_t i = 0; i < COUNT(weights); i++) {
        weights[i] = (float)pow(0.7, (double)i); /* down to 1e-23 */
        right -= (double)weights[i] * log((double)weights[i]);
    }
    ck_assert_double_eq_tol(entropy(weights, COUNT(weights)), right, 1e-13);
}
