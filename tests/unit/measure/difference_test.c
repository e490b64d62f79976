#include "measure/comparison.h"

#include "../unit.h"

static const size_t heads[] = {0, 3};

/* Two heads of two queries, two keys and one dimension. */
static const float weights_a[] = {1, 0, 0.25f, 0.75f, 1, 0, 0.5f, 0.5f};
static const float weights_b[] = {1, 0, 0, 1, 0.5f, 0.5f, 0.25f, 0.75f};
static const float context_a[] = {1, 2, 3, 4};
static const float context_b[] = {1, 2.5f, 3, 3};

static struct kept tensor_of(enum site site, int layer, size_t width, const float *data)
{
    return (struct kept){site, layer, 3, {2, 2, width}, data, heads, NULL};
}

static void expect(struct difference found, double max, double mean, double kept, double overlap)
{
    ck_assert_double_eq(found.max, max);
    ck_assert_double_eq(found.mean, mean);
    ck_assert_double_eq(found.kept, kept);
    ck_assert_double_eq(found.overlap, overlap);
}

TEST(each_head_is_measured_by_itself)
{
    struct difference_sum sums[6] = {{0}};
    struct kept a[] = {tensor_of(SITE_WEIGHTS, 2, 2, weights_a),
                       tensor_of(SITE_CONTEXT, 2, 1, context_a)};
    struct kept b[] = {tensor_of(SITE_WEIGHTS, 2, 2, weights_b),
                       tensor_of(SITE_CONTEXT, 2, 1, context_b)};
    struct report first = {.tensors = a, .tensor_count = 2};
    struct report second = {.tensors = b, .tensor_count = 2};
    difference_add(sums, &first, &second);
    expect(difference_of(&sums[0], 1), 0.5, 0.25, 0.875, 0.875);
    expect(difference_of(&sums[1], 1), 1, 0.5, 1, 0.625);
    expect(difference_of(sums, 2), 1, 0.375, 0.9375, 0.75);
    difference_add(sums, &first, &first); /* another text */
    expect(difference_of(&sums[1], 1), 1, 0.25, 1, 0.8125);
}

TEST(layers_come_in_pieces)
{
    struct difference_sum sums[6] = {{0}};
    struct kept a[] = {
        tensor_of(SITE_WEIGHTS, 4, 2, weights_a), tensor_of(SITE_CONTEXT, 4, 1, context_a),
        tensor_of(SITE_WEIGHTS, 7, 2, weights_a), tensor_of(SITE_CONTEXT, 7, 1, context_a)};
    struct kept b[] = {
        tensor_of(SITE_WEIGHTS, 4, 2, weights_a), tensor_of(SITE_CONTEXT, 4, 1, context_b),
        tensor_of(SITE_WEIGHTS, 7, 2, weights_b), tensor_of(SITE_CONTEXT, 7, 1, context_a)};
    struct report first = {.tensors = a, .tensor_count = 4};
    struct report second = {.tensors = b, .tensor_count = 4};
    difference_add(sums + 2, &first, &second);
    ck_assert_uint_eq(sums[0].queries, 0);
    expect(difference_of(&sums[2], 1), 0.5, 0.25, 1, 1);
    expect(difference_of(&sums[4], 1), 0, 0, 0.875, 0.875);
}
