#include "math/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/exp_avx512.h"
#include "math/portable_math.h"

static inline float larger(float a, float b)
{
    return b > a ? b : a;
}

/* Maxima may be taken in any order: in four chains, so that no one waits for the one before. */
FOR_EACH_ISA
float max_row(const float *x, size_t count)
{
    enum { CHAINS = 4 * LANES };
    float lanes[CHAINS];
    for (size_t lane = 0; lane < CHAINS; lane++)
        lanes[lane] = -INFINITY;
    size_t whole = count / CHAINS * CHAINS;
    for (size_t i = 0; i < whole; i += CHAINS)
        for (size_t lane = 0; lane < CHAINS; lane++)
            lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    for (size_t i = whole; i < count; i++)
        lanes[i - whole] = x[i] > lanes[i - whole] ? x[i] : lanes[i - whole];
    for (size_t lane = 0; lane < 2 * LANES; lane++)
        lanes[lane] = larger(lanes[lane], lanes[lane + 2 * LANES]);
    for (size_t lane = 0; lane < LANES; lane++)
        lanes[lane] = larger(lanes[lane], lanes[lane + LANES]);
    for (size_t lane = 0; lane < LANES / 2; lane++)
        lanes[lane] = larger(lanes[lane], lanes[lane + LANES / 2]);
    for (size_t lane = 0; lane < LANES / 4; lane++)
        lanes[lane] = larger(lanes[lane], lanes[lane + LANES / 4]);
    return larger(larger(lanes[0], lanes[2]), larger(lanes[1], lanes[3]));
}

/* x = e^(x - max), and their sum in the order of `sum_row`. */
FOR_EACH_ISA
float exp_row(float *x, size_t count, float max)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, {
        x[i] = exp_negative(x[i] - max);
        lanes[lane] += x[i];
    });
    return add_lanes(lanes);
}

FOR_EACH_ISA
void divide_row(float *x, size_t count, float divisor)
{
    for (size_t i = 0; i < count; i++)
        x[i] /= divisor;
}

/* softmax, the largest element and Σ e^(x - max). */
static bool softmax_parts(float *x, size_t count, float *max, float *total)
{
    *max = max_row(x, count);
    if (!isfinite(*max))
        return false;
    *total = exp_row(x, count, *max); /* NaN where an element was: maxima pass it over */
    if (!(*total >= 1.0f) || isinf(*total))
        return false;
    divide_row(x, count, *total);
    return true;
}

bool softmax_row(float *x, size_t count)
{
    float max = 0;
    float total = 0;
    return softmax_parts(x, count, &max, &total);
}

bool softmax_row_logsumexp(float *x, size_t count, double *log_sum)
{
    float max = 0;
    float total = 0;
    if (!softmax_parts(x, count, &max, &total))
        return false;
    *log_sum = (double)max + log((double)total);
    return true;
}

bool normalise_row(float *x, size_t count)
{
    float total = sum_row(x, count);
    if (!(total > 0.0f) || isinf(total))
        return false;
    divide_row(x, count, total);
    return true;
}

/* --- ranges of a few rows --------------------------------------------------------------------- */

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

/* One way to take the steps of a row: scale it, hide what is not in the range, and find the
 * largest; e^(x - largest), and their sum; divide by that. */
struct softmax_way {
    float (*scale)(float *x, const struct softmax_range *range, float scale);
    float (*exp)(float *x, size_t count, float largest);
    void (*divide)(float *x, size_t count, float sum);
};

/* --- plain C ---------------------------------------------------------------------------------- */

static void hide(float *x, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        x[i] = -INFINITY;
}

static float scale_plain(float *x, const struct softmax_range *range, float scale)
{
    struct steps steps = steps_of(range);
    scale_row(x + steps.first, x + steps.first, steps.end - steps.first, scale);
    hide(x, range->low > steps.first ? range->low : steps.first, range->first);
    hide(x, range->end, steps.end);
    return max_row(x + steps.first, steps.end - steps.first);
}

static const struct softmax_way plain = {scale_plain, exp_row, divide_row};

/* --- AVX-512 ---------------------------------------------------------------------------------- */

#ifdef AVX512

/* Some steps of which not everything is seen. What is hidden need not be written first. A lane is
 * in the window if it is less than `size` after its beginning; before that it is, unsigned, very
 * far after. */
IN_AVX512 static __m512 scale_masked(float *x, const struct softmax_range *range,
                                     struct steps steps, __m512 scale)
{
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512 hidden = _mm512_set1_ps(-INFINITY);
    __m512i low = _mm512_set1_epi32((int)range->low);
    __m512i first = _mm512_set1_epi32((int)range->first);
    __m512i size = _mm512_set1_epi32((int)(range->end - range->first));
    __m512 largest = hidden;
    for (size_t i = steps.first; i < steps.end; i += SOFTMAX_RANGE_STEP) {
        __m512i column = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)i));
        __mmask16 seen = _mm512_cmplt_epu32_mask(column, low) |
                         _mm512_cmplt_epu32_mask(_mm512_sub_epi32(column, first), size);
        __m512 scaled = _mm512_mask_mul_ps(hidden, seen, _mm512_loadu_ps(x + i), scale);
        _mm512_storeu_ps(x + i, scaled);
        largest = _mm512_max_ps(scaled, largest); /* a NaN is passed over */
    }
    return largest;
}

/* Some steps of which everything is. Maxima are taken in a few chains, so that none waits for the
 * one before. */
IN_AVX512 static __m512 scale_seen(float *x, struct steps steps, __m512 scale)
{
    enum { CHAINS = 4, SOME = CHAINS * SOFTMAX_RANGE_STEP };
    __m512 chains[CHAINS];
    size_t i = steps.first;
    for (int chain = 0; chain < CHAINS; chain++)
        chains[chain] = _mm512_set1_ps(-INFINITY);
    for (size_t end = i + (steps.end - i) / SOME * SOME; i < end; i += SOME)
#pragma GCC unroll 4
        for (size_t chain = 0; chain < CHAINS; chain++) {
            float *step = x + i + chain * SOFTMAX_RANGE_STEP;
            __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(step), scale);
            _mm512_storeu_ps(step, scaled);
            chains[chain] = _mm512_max_ps(scaled, chains[chain]);
        }
    for (; i < steps.end; i += SOFTMAX_RANGE_STEP) {
        __m512 scaled = _mm512_mul_ps(_mm512_loadu_ps(x + i), scale);
        _mm512_storeu_ps(x + i, scaled);
        chains[0] = _mm512_max_ps(scaled, chains[0]);
    }
    return _mm512_max_ps(_mm512_max_ps(chains[0], chains[1]), _mm512_max_ps(chains[2], chains[3]));
}

/* What comes before the steps that are seen whole, those, and what comes after. */
IN_AVX512 static float scale_avx512(float *x, const struct softmax_range *range, float scale)
{
    enum { STEP = SOFTMAX_RANGE_STEP };
    __m512 factor = _mm512_set1_ps(scale);
    struct steps steps = steps_of(range);
    struct steps seen = {(range->first + STEP - 1) / STEP * STEP, range->end / STEP * STEP};
    if (seen.first >= seen.end)
        seen = (struct steps){steps.end, steps.end};
    struct steps before = {steps.first, seen.first};
    struct steps after = {seen.end, steps.end};
    __m512 largest = _mm512_max_ps(scale_masked(x, range, before, factor),
                                   scale_masked(x, range, after, factor));
    return _mm512_reduce_max_ps(_mm512_max_ps(scale_seen(x, seen, factor), largest));
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

IN_AVX512 static float exp_avx512(float *x, size_t count, float largest)
{
    enum { SOME = EXP_VECTORS * LANES };
    __m512 lanes = _mm512_setzero_ps();
    size_t i = 0;
    for (; i + SOME <= count; i += SOME)
        lanes = exp_steps(x + i, EXP_VECTORS, largest, lanes);
    for (; i < count; i += LANES)
        lanes = exp_steps(x + i, 1, largest, lanes);
    return add_lanes_avx512(lanes);
}

IN_AVX512 static void divide_avx512(float *x, size_t count, float sum)
{
    __m512 divisor = _mm512_set1_ps(sum);
    for (size_t i = 0; i < count; i += LANES)
        _mm512_storeu_ps(x + i, _mm512_div_ps(_mm512_loadu_ps(x + i), divisor));
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
    const struct softmax_way *way = best();
    assert(rows.columns % SOFTMAX_RANGE_STEP == 0);
    for (size_t row = 0; row < rows.rows; row++)
        ranges[row].largest = way->scale(rows.data + row * rows.stride, &ranges[row], scale);
}

bool softmax_range_apply(struct matrix rows, struct softmax_range *ranges)
{
    const struct softmax_way *way = best();
    bool sound = true;
    for (size_t row = 0; row < rows.rows; row++) {
        struct softmax_range *range = &ranges[row];
        struct steps steps = steps_of(range);
        float *x = rows.data + row * rows.stride + steps.first;
        range->sum = way->exp(x, steps.end - steps.first, range->largest);
        sound &= isfinite(range->largest) && range->sum >= 1.0f && !isinf(range->sum);
    }
    for (size_t row = 0; sound && row < rows.rows; row++) {
        struct steps steps = steps_of(&ranges[row]);
        float *x = rows.data + row * rows.stride;
        way->divide(x + steps.first, steps.end - steps.first, ranges[row].sum);
        for (size_t i = 0; i < steps.first; i++)
            x[i] = 0.0f;
        for (size_t i = steps.end; i < rows.columns; i++)
            x[i] = 0.0f;
    }
    return sound;
}
