#include "math/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/isa.h"
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

/* The range, extended to whole steps. */
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

static void hide(float *x, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        x[i] = -INFINITY;
}

void softmax_range_scale(struct matrix rows, struct softmax_range *ranges, float scale)
{
    assert(rows.columns % SOFTMAX_RANGE_STEP == 0);
    for (size_t row = 0; row < rows.rows; row++) {
        struct softmax_range *range = &ranges[row];
        struct steps steps = steps_of(range);
        float *x = rows.data + row * rows.stride;
        scale_row(x + steps.first, x + steps.first, steps.end - steps.first, scale);
        hide(x, range->low > steps.first ? range->low : steps.first, range->first);
        hide(x, range->end, steps.end);
        range->largest = max_row(x + steps.first, steps.end - steps.first);
    }
}

bool softmax_range_apply(struct matrix rows, struct softmax_range *ranges)
{
    bool sound = true;
    for (size_t row = 0; row < rows.rows; row++) {
        struct softmax_range *range = &ranges[row];
        struct steps steps = steps_of(range);
        float *x = rows.data + row * rows.stride + steps.first;
        range->sum = exp_row(x, steps.end - steps.first, range->largest);
        sound &= isfinite(range->largest) && range->sum >= 1.0f && !isinf(range->sum);
    }
    for (size_t row = 0; sound && row < rows.rows; row++) {
        struct steps steps = steps_of(&ranges[row]);
        float *x = rows.data + row * rows.stride;
        divide_row(x + steps.first, steps.end - steps.first, ranges[row].sum);
        for (size_t i = 0; i < steps.first; i++)
            x[i] = 0.0f;
        for (size_t i = steps.end; i < rows.columns; i++)
            x[i] = 0.0f;
    }
    return sound;
}
