#include "math/softmax_range.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/avx512.h"
#include "math/portable_math.h"
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

#ifdef AVX512

/* What is hidden need not be written first. A lane is in the window if it is less than `size`
 * after its beginning; before that it is, unsigned, very far after. */
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

enum { EXP_VECTORS = 4 }; /* at a time, at most */

#define EACH _Pragma("GCC unroll 4") for (int i = 0; i < count; i++)

/* Step for step what exp_negative does, and so the same bits. Every step is taken for all vectors,
 * so that none waits for the one before; `count` is a constant wherever this is called. */
IN_AVX512 static inline __attribute__((always_inline)) void exp_negative_avx512(__m512 *x,
                                                                                int count)
{
    const __m512 magic = _mm512_set1_ps(EXP_MAGIC + 127.0f);
    const __m512 ln_2_low = _mm512_set1_ps(2.12194440e-4f);
    __m512 rounded[EXP_VECTORS];
    __m512 n[EXP_VECTORS];
    __m512 high[EXP_VECTORS];
    __m512 r[EXP_VECTORS];
    __m512 lost[EXP_VECTORS];
    __m512 p[EXP_VECTORS];
    EACH rounded[i] = _mm512_fmadd_ps(x[i], _mm512_set1_ps(1.44269504f), magic);
    EACH n[i] = _mm512_sub_ps(rounded[i], magic);
    EACH high[i] = _mm512_fmadd_ps(n[i], _mm512_set1_ps(-0.693359375f), x[i]);
    EACH r[i] = _mm512_fmadd_ps(n[i], ln_2_low, high[i]);
    EACH lost[i] = _mm512_fmadd_ps(n[i], ln_2_low, _mm512_sub_ps(high[i], r[i]));
    EACH p[i] = _mm512_fmadd_ps(_mm512_set1_ps(1.0f / 5040), r[i], _mm512_set1_ps(1.0f / 720));
    EACH p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(1.0f / 120));
    EACH p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(1.0f / 24));
    EACH p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(1.0f / 6));
    EACH p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(0.5f));
    EACH p[i] = _mm512_fmadd_ps(_mm512_mul_ps(r[i], r[i]), p[i], lost[i]);
    EACH p[i] = _mm512_add_ps(r[i], p[i]);
    EACH p[i] = _mm512_add_ps(_mm512_set1_ps(1.0f), p[i]);
    EACH
    {
        __m512i power = _mm512_slli_epi32(_mm512_castps_si512(rounded[i]), 23);
        __mmask16 normal = _mm512_cmp_ps_mask(x[i], _mm512_set1_ps(-87.33f), _CMP_NLT_UQ);
        x[i] = _mm512_maskz_mul_ps(normal, p[i], _mm512_castsi512_ps(power));
    }
}

#undef EACH

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
    return has_avx512() ? &avx512 : &plain;
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
