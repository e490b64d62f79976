#include "math/softmax_range.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/rows.h"

/* The whole steps that a range stands in. */
struct steps {
    size_t first, end;
};

static struct steps steps_of(const struct softmax_range *range)
{
    size_t first = range->low > 0 ? 0 : range->first;
    return (struct steps){
        .first = first / SOFTMAX_RANGE_STEP * SOFTMAX_RANGE_STEP,
        .end = (range->end + SOFTMAX_RANGE_STEP - 1) / SOFTMAX_RANGE_STEP * SOFTMAX_RANGE_STEP,
    };
}

/* One way to take the steps: each for all rows. */
struct softmax_way {
    void (*scale)(struct matrix rows, struct softmax_range *ranges, float scale);
    void (*exp)(struct matrix rows, struct softmax_range *ranges);
    void (*divide)(struct matrix rows, const struct softmax_range *ranges);
};

/* --- plain C ---------------------------------------------------------------------------------- */

static void hide(float *x, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        x[i] = -INFINITY;
}

static void scale_plain(struct matrix rows, struct softmax_range *ranges, float scale)
{
    float *x = rows.data;
    for (size_t row = 0; row < rows.rows; row++, x += rows.stride) {
        struct softmax_range *range = &ranges[row];
        struct steps steps = steps_of(range);
        size_t count = steps.end - steps.first;
        scale_row(x + steps.first, x + steps.first, count, scale);
        hide(x, range->low > steps.first ? range->low : steps.first, range->first);
        hide(x, range->end, steps.end);
        range->largest = max_row(x + steps.first, count);
    }
}

static void exp_plain(struct matrix rows, struct softmax_range *ranges)
{
    float *x = rows.data;
    for (size_t row = 0; row < rows.rows; row++, x += rows.stride) {
        struct steps steps = steps_of(&ranges[row]);
        ranges[row].sum = exp_row(x + steps.first, steps.end - steps.first, ranges[row].largest);
    }
}

static void divide_plain(struct matrix rows, const struct softmax_range *ranges)
{
    float *x = rows.data;
    for (size_t row = 0; row < rows.rows; row++, x += rows.stride) {
        struct steps steps = steps_of(&ranges[row]);
        divide_row(x + steps.first, steps.end - steps.first, ranges[row].sum);
    }
}

static const struct softmax_way plain = {scale_plain, exp_plain, divide_plain};

/* --- AVX-512 ---------------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
#include "math/exp_avx512.h"
#include "math/lanes_avx512.h"

#define IN_AVX512 __attribute__((target("avx512f")))

/* What is hidden need not be written first. A lane is in the window if it is less than `size`
 * behind its beginning; in front of that it is, unsigned, very far behind. */
IN_AVX512 static float scale_row_avx512(float *x, struct softmax_range range, float scale)
{
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 hidden = _mm512_set1_ps(-INFINITY);
    __m512i low = _mm512_set1_epi32((int)range.low);
    __m512i first = _mm512_set1_epi32((int)range.first);
    __m512i size = _mm512_set1_epi32((int)(range.end - range.first));
    struct steps steps = steps_of(&range);
    __m512 largest = hidden;
    for (size_t i = steps.first; i < steps.end; i += SOFTMAX_RANGE_STEP) {
        __m512i column = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)i));
        __mmask16 seen = _mm512_cmplt_epu32_mask(column, low) |
                         _mm512_cmplt_epu32_mask(_mm512_sub_epi32(column, first), size);
        __m512 scaled =
            _mm512_mask_mul_ps(hidden, seen, _mm512_loadu_ps(x + i), _mm512_set1_ps(scale));
        _mm512_storeu_ps(x + i, scaled);
        largest = _mm512_max_ps(scaled, largest); /* a NaN is passed over */
    }
    return _mm512_reduce_max_ps(largest);
}

IN_AVX512 static void scale_avx512(struct matrix rows, struct softmax_range *ranges, float scale)
{
    for (size_t row = 0; row < rows.rows; row++)
        ranges[row].largest = scale_row_avx512(rows.data + row * rows.stride, ranges[row], scale);
}

/* Some steps, side by side; their sums are added in the order of the steps. */
IN_AVX512 static inline __attribute__((always_inline)) __m512 exp_steps(float *x, int count,
                                                                        float largest, __m512 lanes)
{
    __m512 y[EXP_VECTORS];
    for (int i = 0; i < count; i++)
        y[i] = _mm512_sub_ps(_mm512_loadu_ps(x + i * SOFTMAX_RANGE_STEP), _mm512_set1_ps(largest));
    exp_negative_avx512(y, count);
    for (int i = 0; i < count; i++) {
        _mm512_storeu_ps(x + i * SOFTMAX_RANGE_STEP, y[i]);
        lanes = _mm512_add_ps(lanes, y[i]);
    }
    return lanes;
}

IN_AVX512 static void exp_avx512(struct matrix rows, struct softmax_range *ranges)
{
    enum { SOME = EXP_VECTORS * SOFTMAX_RANGE_STEP };
    float *x = rows.data;
    for (size_t row = 0; row < rows.rows; row++, x += rows.stride) {
        struct steps steps = steps_of(&ranges[row]);
        float largest = ranges[row].largest;
        __m512 lanes = _mm512_setzero_ps();
        size_t i = steps.first;
        for (; i + SOME <= steps.end; i += SOME)
            lanes = exp_steps(x + i, EXP_VECTORS, largest, lanes);
        for (; i < steps.end; i += SOFTMAX_RANGE_STEP)
            lanes = exp_steps(x + i, 1, largest, lanes);
        ranges[row].sum = add_lanes_avx512(lanes);
    }
}

IN_AVX512 static void divide_avx512(struct matrix rows, const struct softmax_range *ranges)
{
    float *x = rows.data;
    for (size_t row = 0; row < rows.rows; row++, x += rows.stride) {
        struct steps steps = steps_of(&ranges[row]);
        __m512 sum = _mm512_set1_ps(ranges[row].sum);
        for (size_t i = steps.first; i < steps.end; i += SOFTMAX_RANGE_STEP)
            _mm512_storeu_ps(x + i, _mm512_div_ps(_mm512_loadu_ps(x + i), sum));
    }
}

static const struct softmax_way avx512 = {scale_avx512, exp_avx512, divide_avx512};

static const struct softmax_way *best(void)
{
    return __builtin_cpu_supports("avx512f") ? &avx512 : &plain;
}
#else
static const struct softmax_way *best(void)
{
    return &plain;
}
#endif

/* --- the steps -------------------------------------------------------------------------------- */

void softmax_range_scale(struct matrix rows, struct softmax_range *ranges, float scale)
{
    assert(rows.columns % SOFTMAX_RANGE_STEP == 0);
    best()->scale(rows, ranges, scale);
}

static void clear_beside(float *x, size_t columns, const struct softmax_range *range)
{
    struct steps steps = steps_of(range);
    for (size_t i = 0; i < steps.first; i++)
        x[i] = 0.0f;
    for (size_t i = steps.end; i < columns; i++)
        x[i] = 0.0f;
}

bool softmax_range_apply(struct matrix rows, struct softmax_range *ranges)
{
    bool sound = true;
    best()->exp(rows, ranges);
    for (size_t row = 0; row < rows.rows; row++)
        sound &=
            isfinite(ranges[row].largest) && ranges[row].sum >= 1.0f && !isinf(ranges[row].sum);
    if (!sound)
        return false;
    best()->divide(rows, ranges);
    for (size_t row = 0; row < rows.rows; row++)
        clear_beside(rows.data + row * rows.stride, rows.columns, &ranges[row]);
    return true;
}
