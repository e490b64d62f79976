#include "math/rotary.h"

#include <math.h>

#include "math/isa.h"
#include "math/portable_math.h"
#include "math/rows.h"

static const double TURN = 6.28318530717958647693; /* 2π */

static double power(double base, double exponent)
{
    return exp_double(exponent * log_double(base));
}

static double clamp(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* --- frequencies ------------------------------------------------------------------------------ */

static double plain_frequency(const struct rotary *rotary, size_t pair, double theta)
{
    return power(theta, -2.0 * (double)pair / (double)(rotary->components - rotary->odd));
}

/* The base θ of dynamic scaling for texts of `length` tokens. */
static double dynamic_theta(const struct rotary *rotary, size_t length)
{
    double r = (double)rotary->components;
    double n = (double)length > rotary->positions ? (double)length : rotary->positions;
    double growth = rotary->factor * n / rotary->positions - (rotary->factor - 1);
    return r > 2 ? rotary->theta * power(growth, r / (r - 2)) : rotary->theta;
}

/* The pair that makes `turns` full turns over the length of the training texts, as a fractional
 * index. */
static double yarn_pair(const struct rotary *rotary, double turns)
{
    double ratio = rotary->trained_positions / (turns * TURN);
    return (double)rotary->components * log_double(ratio) / (2 * log_double(rotary->theta));
}

static double yarn_share(const struct rotary *rotary, size_t pair)
{
    double low = yarn_pair(rotary, rotary->fast);
    double high = yarn_pair(rotary, rotary->slow);
    double last = (double)rotary->components - 1;
    if (!rotary->exact)
        low = floor(low), high = ceil(high);
    low = low > 0 ? low : 0;
    high = high < last ? high : last;
    return 1 - clamp(((double)pair - low) / (high > low || high < low ? high - low : 0.001));
}

double rotary_frequency(const struct rotary *rotary, size_t pair, size_t length)
{
    double frequency = plain_frequency(rotary, pair, rotary->theta);
    /* number of full turns of the pair over the length of the training texts */
    double waves = rotary->trained_positions * frequency / TURN;
    double share = 1; /* share of `frequency` in the mixture of frequencies; `frequency` / factor
                       * has the share 1 - share */
    switch (rotary->scaling) {
    case ROTARY_PLAIN:
        return frequency;
    case ROTARY_LINEAR:
        return frequency / rotary->factor;
    case ROTARY_PROPORTIONAL:
        return pair < rotary->turning ? frequency / rotary->factor : 0;
    case ROTARY_DYNAMIC:
        return plain_frequency(rotary, pair, dynamic_theta(rotary, length));
    case ROTARY_LONGROPE:
        return frequency / (double)((double)length > rotary->trained_positions
                                        ? rotary->long_factors
                                        : rotary->short_factors)[pair];
    case ROTARY_LLAMA3:
        share = clamp((waves - rotary->low_frequency) /
                      (rotary->high_frequency - rotary->low_frequency));
        break;
    case ROTARY_YARN:
        share = yarn_share(rotary, pair);
        break;
    }
    return share * frequency + (1 - share) * (frequency / rotary->factor);
}

double rotary_amplitude(const struct rotary *rotary, size_t length)
{
    double growth =
        rotary->factor > 0 ? rotary->factor : rotary->positions / rotary->trained_positions;
    if (rotary->scaling != ROTARY_YARN && rotary->scaling != ROTARY_LONGROPE)
        return 1;
    if (rotary->long_amplitude > 0 && (double)length > rotary->trained_positions)
        return rotary->long_amplitude;
    if (rotary->amplitude > 0)
        return rotary->amplitude;
    if (rotary->scaling == ROTARY_YARN)
        return rotary->factor > 1 ? 0.1 * log_double(rotary->factor) + 1 : 1;
    return growth > 1 ? sqrt(1 + log_double(growth) / log_double(rotary->trained_positions)) : 1;
}

double rotary_growth(const struct rotary *rotary, size_t position)
{
    if (rotary->growth == 0)
        return 1;
    return 1 + rotary->growth * log_double(1 + floor((double)position / rotary->trained_positions));
}

void rotary_grow(struct matrix queries, const struct rotary *rotary, size_t first)
{
    for (size_t i = 0; rotary->growth != 0 && i < queries.rows; i++)
        scale_row(matrix_row(queries, i), matrix_row(queries, i), queries.columns,
                  (float)rotary_growth(rotary, first + i));
}

bool rotary_depends(const struct rotary *rotary, size_t before, size_t length)
{
    if (rotary->scaling == ROTARY_DYNAMIC)
        return before != length && (double)length > rotary->positions;
    return rotary->scaling == ROTARY_LONGROPE && (double)length > rotary->trained_positions &&
           (double)before <= rotary->trained_positions;
}

void rotary_fill(struct matrix cos_sin, const struct rotary *rotary, size_t first, size_t length)
{
    size_t pairs = rotary->components / 2;
    double amplitude = rotary_amplitude(rotary, length);
    for (size_t pair = 0; pair < pairs; pair++) {
        double frequency = rotary_frequency(rotary, pair, length);
        for (size_t row = 0; row < cos_sin.rows; row++) {
            float *at = matrix_row(cos_sin, row) + pair;
            double sine = 0, cosine = 0;
            sine_cosine(&sine, &cosine, (double)(first + row) * frequency);
            at[0] = (float)(amplitude * cosine);
            at[pairs] = (float)(amplitude * sine);
        }
    }
}

/* --- rotating --------------------------------------------------------------------------------- */

/* (a, b) = (a cos - b sin, b cos + a sin) for pairs (a, b) whose elements are `apart` floats apart.
 * Pairs begin `step` floats apart. y may be x. */
static inline void rotate_pairs(float *y, const float *x, const float *cos_sin, size_t pairs,
                                size_t apart, size_t step)
{
    _Pragma("omp simd") for (size_t i = 0; i < pairs; i++)
    {
        float a = x[i * step];
        float b = x[i * step + apart];
        y[i * step] = a * cos_sin[i] - b * cos_sin[pairs + i];
        y[i * step + apart] = b * cos_sin[i] + a * cos_sin[pairs + i];
    }
}

FOR_EACH_ISA
void rotate(struct matrix y, struct matrix x, size_t width, const struct rotary *rotary,
            struct matrix cos_sin)
{
    size_t pairs = rotary->components / 2, first = rotary->first;
    for (size_t row = 0; row < x.rows; row++) {
        const float *from = matrix_row(x, row);
        const float *angles = matrix_row(cos_sin, row);
        float *to = matrix_row(y, row);
        for (size_t head = 0; head < x.columns; head += width) {
            for (size_t i = 0; i < first; i++)
                to[head + i] = from[head + i];
            if (rotary->neighbours)
                rotate_pairs(to + head + first, from + head + first, angles, pairs, 1, 2);
            else
                rotate_pairs(to + head + first, from + head + first, angles, pairs, pairs, 1);
            for (size_t i = first + rotary->components; i < width; i++)
                to[head + i] = from[head + i];
        }
    }
}
