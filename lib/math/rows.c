#include "math/rows.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/isa.h"
#include "math/portable_math.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

enum {
    STREAMED_FLOATS = 256, /* minimum number of floats that are written past the caches */
    LINE = 16,             /* floats of a cache line */
};

static const double LN_10000 = 9.21034037197618273607;

FOR_EACH_ISA
float sum_row(const float *x, size_t count)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, lanes[lane] += x[i]);
    return add_lanes(lanes);
}

FOR_EACH_ISA
static float variance_row(const float *x, size_t count, float mean)
{
    float squares[LANES] = {0};
    FOR_LANES(count, squares[lane] += (x[i] - mean) * (x[i] - mean));
    return add_lanes(squares) / (float)count;
}

FOR_EACH_ISA
void norm_rows(struct matrix y, struct matrix x, const struct norm *norm)
{
    float columns = (float)x.columns;
    for (size_t row = 0; row < x.rows; row++) {
        const float *in = matrix_row(x, row);
        float *out = matrix_row(y, row);
        float mean = norm->rms ? 0 : sum_row(in, x.columns) / columns;
        float factor = 1.0f / sqrtf(variance_row(in, x.columns, mean) + norm->epsilon);
        for (size_t i = 0; i < x.columns; i++)
            out[i] = (in[i] - mean) * factor * (norm->offset + norm->scale[i]);
        for (size_t i = 0; norm->shift && i < x.columns; i++)
            out[i] += norm->shift[i];
    }
}

double norm_divisor(const float *x, size_t count, const struct norm *norm)
{
    double mean = 0, variance = 0;
    for (size_t i = 0; i < count && !norm->rms; i++)
        mean += (double)x[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        variance += ((double)x[i] - mean) * ((double)x[i] - mean) / (double)count;
    return sqrt(variance + (double)norm->epsilon);
}

FOR_EACH_ISA
void multiply_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++, y.data += y.stride, x.data += x.stride)
        for (size_t i = 0; i < y.columns; i++)
            y.data[i] *= x.data[i];
}

FOR_EACH_ISA
void cap_row(float *y, size_t count, float cap)
{
    for (size_t i = 0; i < count; i++)
        y[i] = cap * tanh_float(y[i] / cap);
}

void copy_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++)
        memcpy(matrix_row(y, row), matrix_row(x, row), y.columns * sizeof *y.data);
}

void average_rows(struct matrix y, struct matrix x)
{
    for (size_t i = 0; i < x.columns; i++) {
        double sum = 0;
        for (size_t row = 0; row < x.rows; row++)
            sum += (double)matrix_row(x, row)[i];
        for (size_t row = 0; row < y.rows; row++)
            matrix_row(y, row)[i] = (float)(sum / (double)x.rows);
    }
}

FOR_EACH_ISA
void clip_rows(struct matrix x, float limit)
{
    for (size_t row = 0; row < x.rows; row++, x.data += x.stride)
        for (size_t i = 0; i < x.columns; i++)
            x.data[i] = x.data[i] > limit ? limit : x.data[i] < -limit ? -limit : x.data[i];
}

FOR_EACH_ISA
void thin_rows(struct matrix x, float deviations)
{
    for (size_t row = 0; row < x.rows; row++, x.data += x.stride) {
        float mean = sum_row(x.data, x.columns) / (float)x.columns;
        float least = mean + deviations * sqrtf(variance_row(x.data, x.columns, mean));
        for (size_t i = 0; i < x.columns; i++)
            x.data[i] = x.data[i] > least ? x.data[i] - least : 0;
    }
}

FOR_EACH_ISA
void add_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++, y.data += y.stride, x.data += x.stride)
        for (size_t i = 0; i < y.columns; i++)
            y.data[i] += x.data[i];
}

FOR_EACH_ISA
void add_to_row(float *restrict y, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

FOR_EACH_ISA
void add_scaled_row(float *restrict y, const float *restrict x, size_t count, float factor,
                    const float *later)
{
    enum { STEP = 4 * LANES };
    size_t whole = count / STEP * STEP;
    for (size_t i = 0; i < whole; i += STEP) {
        for (size_t line = 0; line < STEP; line += LANES)
            __builtin_prefetch(later + i + line);
        for (size_t lane = 0; lane < STEP; lane++)
            y[i + lane] = fmaf(factor, x[i + lane], y[i + lane]);
    }
    for (size_t i = whole; i < count; i++)
        y[i] = fmaf(factor, x[i], y[i]);
}

FOR_EACH_ISA
void scale_row(float *y, const float *x, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++)
        y[i] = x[i] * factor;
}

/* True if an element is infinite or NaN. */
FOR_EACH_ISA
static bool any_special(const float *x, size_t count)
{
    const uint32_t exponent = 0x7f800000;
    uint32_t special = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = 0;
        memcpy(&bits, &x[i], sizeof bits);
        special |= (bits & exponent) == exponent;
    }
    return special != 0;
}

size_t first_nonfinite(const float *x, size_t count)
{
    if (!any_special(x, count))
        return count;
    size_t i = 0;
    while (isfinite(x[i]))
        i++;
    return i;
}

void add_sinusoids(struct matrix x, size_t first, enum sines order)
{
    bool sines_first = order != SINES_IN_TURN;
    size_t half = x.columns / 2;
    size_t pairs = sines_first ? half : x.columns - half;
    size_t step = sines_first ? 1 : 2;
    double last =
        order == SINES_OFFSET ? (double)half - 1 : (double)(sines_first ? half : x.columns);
    for (size_t sine_at = 0; sine_at < pairs * step; sine_at += step) {
        size_t cosine_at = sines_first ? sine_at + half : sine_at + 1;
        double rate = last > 0 ? exp_double(-LN_10000 * (double)sine_at / last) : 1;
        for (size_t row = 0; row < x.rows; row++) {
            float *at = matrix_row(x, row);
            double sine = 0, cosine = 0;
            sine_cosine(&sine, &cosine, (double)(first + row) * rate);
            at[sine_at] += (float)sine;
            if (cosine_at < x.columns)
                at[cosine_at] += (float)cosine;
        }
    }
}

/* --- softmax ---------------------------------------------------------------------------------- */

static inline float larger(float a, float b)
{
    return b > a ? b : a;
}

/* Maxima can be taken in any order: several chains hide the latency of comparisons. */
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

/* The new elements of x are summed in the order of sum_row. */
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

/* Replace x by its softmax; *max = the largest element, *total = Σ e^(x - max). Returns false in
 * the same cases as softmax_row. */
static bool softmax_parts(float *x, size_t count, float *max, float *total)
{
    *max = max_row(x, count);
    if (!isfinite(*max))
        return false;
    *total = exp_row(x, count, *max); /* NaN if an element is NaN, which max_row ignores */
    if (!(*total >= 1.0f) || isinf(*total))
        return false;
    divide_row(x, count, *total);
    return true;
}

bool softmax_row(float *x, size_t count)
{
    float max = 0, total = 0;
    return softmax_parts(x, count, &max, &total);
}

bool normalise_row(float *x, size_t count)
{
    float total = sum_row(x, count);
    if (!(total > 0.0f) || isinf(total))
        return false;
    divide_row(x, count, total);
    return true;
}

/* --- softmax over ranges of rows -------------------------------------------------------------- */

/* The columns from the first to the last one of a softmax_range, extended to multiples of
 * SOFTMAX_RANGE_STEP. */
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
        float *x = matrix_row(rows, row);
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
        float *x = matrix_row(rows, row) + steps.first;
        if (range->sink && *range->sink > range->largest)
            range->largest = *range->sink;
        range->sum = exp_row(x, steps.end - steps.first, range->largest);
        if (range->sink) {
            range->rest = *range->sink;
            range->sum += exp_row(&range->rest, 1, range->largest);
        }
        sound &= isfinite(range->largest) && range->sum >= 1.0f && !isinf(range->sum);
    }
    for (size_t row = 0; sound && row < rows.rows; row++) {
        struct steps steps = steps_of(&ranges[row]);
        float *x = matrix_row(rows, row);
        divide_row(x + steps.first, steps.end - steps.first, ranges[row].sum);
        ranges[row].rest /= ranges[row].sum;
        for (size_t i = 0; i < steps.first; i++)
            x[i] = 0.0f;
        for (size_t i = steps.end; i < rows.columns; i++)
            x[i] = 0.0f;
    }
    return sound;
}

/* --- linear attention ------------------------------------------------------------------------- */

size_t running_sum_size(size_t dk, size_t dv)
{
    return dk * dv + dk;
}

FOR_EACH_ISA
void phi_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++, y.data += y.stride, x.data += x.stride) {
        for (size_t i = 0; i < x.columns; i++) {
            float low = exp_negative(x.data[i]);
            y.data[i] = x.data[i] > 0.0f ? x.data[i] + 1.0f : low;
        }
    }
}

FOR_EACH_ISA
void row_times_matrix(float *restrict y, const float *restrict x, struct matrix matrix)
{
    enum { TILE = 4 * LANES }; /* columns whose results stay in registers */
    const float *restrict from = matrix.data;
    size_t whole = matrix.columns / TILE * TILE;
    for (size_t column = 0; column < whole; column += TILE) {
        float tile[TILE] = {0};
        for (size_t i = 0; i < matrix.rows; i++)
            for (size_t j = 0; j < TILE; j++)
                tile[j] = fmaf(x[i], from[i * matrix.stride + column + j], tile[j]);
        memcpy(y + column, tile, sizeof tile);
    }
    memset(y + whole, 0, (matrix.columns - whole) * sizeof *y);
    for (size_t i = 0; i < matrix.rows; i++)
        for (size_t j = whole; j < matrix.columns; j++)
            y[j] = fmaf(x[i], from[i * matrix.stride + j], y[j]);
}

FOR_EACH_ISA
void running_sum_add(const struct running_sum *sum, const float *restrict phi_k,
                     const float *restrict v)
{
    size_t dv = sum->dv;
    float *restrict to = sum->values;
    for (size_t i = 0; i < sum->dk; i++, to += dv)
        for (size_t j = 0; j < dv; j++)
            to[j] = fmaf(phi_k[i], v[j], to[j]);
    for (size_t i = 0; i < sum->dk; i++)
        to[i] += phi_k[i];
}

FOR_EACH_ISA
float running_sum_query(const struct running_sum *sum, float *y, const float *phi_q)
{
    const float *total = sum->values + sum->dk * sum->dv;
    float lanes[LANES] = {0};
    row_times_matrix(y, phi_q, (struct matrix){sum->values, sum->dk, sum->dv, sum->dv});
    FOR_LANES(sum->dk, lanes[lane] = fmaf(phi_q[i], total[i], lanes[lane]));
    return add_lanes(lanes);
}

/* --- backward --------------------------------------------------------------------------------- */

/* Return Σ (x - a) · (y - b). */
FOR_EACH_ISA
static float sum_of_products(const float *x, float a, const float *y, float b, size_t count)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, lanes[lane] = fmaf(x[i] - a, y[i] - b, lanes[lane]));
    return add_lanes(lanes);
}

FOR_EACH_ISA
void norm_rows_backward(struct matrix dx, struct matrix dy, struct matrix x,
                        const struct norm *norm, float *restrict scale_sum,
                        float *restrict shift_sum)
{
    const float *scales = norm->scale;
    float columns = (float)x.columns, offset = norm->offset;
    for (size_t row = 0; row < x.rows; row++) {
        float *restrict to = matrix_row(dx, row);
        const float *in = matrix_row(x, row), *g = matrix_row(dy, row);
        float mean = norm->rms ? 0 : sum_row(in, x.columns) / columns;
        float squares = sum_of_products(in, mean, in, mean, x.columns);
        float factor = 1.0f / sqrtf(squares / columns + norm->epsilon); /* 1 / deviation */
        float plain[LANES] = {0};                                       /* Σ g · scale */
        float weighted[LANES] = {0}; /* Σ g · scale · (x - mean) / deviation */
        FOR_LANES(x.columns, {
            float scaled = g[i] * (offset + scales[i]);
            plain[lane] += scaled;
            weighted[lane] = fmaf(scaled, (in[i] - mean) * factor, weighted[lane]);
        });
        float mean_plain = norm->rms ? 0 : add_lanes(plain) / columns; /* RMS norm: no mean is
                                                                        * subtracted */
        float mean_weighted = add_lanes(weighted) / columns;
        for (size_t i = 0; i < x.columns; i++) {
            float unit = (in[i] - mean) * factor;
            to[i] += factor * (g[i] * (offset + scales[i]) - mean_plain - unit * mean_weighted);
            scale_sum[i] = fmaf(g[i], unit, scale_sum[i]);
            shift_sum[i] += g[i];
        }
    }
}

FOR_EACH_ISA
void thin_rows_backward(struct matrix dy, struct matrix x, float deviations)
{
    const float columns = (float)x.columns;
    for (size_t row = 0; row < x.rows; row++, x.data += x.stride, dy.data += dy.stride) {
        float mean = sum_row(x.data, x.columns) / columns;
        float deviation = sqrtf(variance_row(x.data, x.columns, mean));
        float least = mean + deviations * deviation;
        for (size_t i = 0; i < x.columns; i++)
            dy.data[i] = x.data[i] > least ? dy.data[i] : 0;
        float share = sum_row(dy.data, x.columns) / columns;
        float slope = deviation > 0 ? deviations / deviation : 0;
        for (size_t i = 0; i < x.columns; i++)
            dy.data[i] -= share * (1 + slope * (x.data[i] - mean));
    }
}

FOR_EACH_ISA
void softmax_row_backward(float *restrict dy, const float *restrict y, size_t count, float factor)
{
    float mean = sum_of_products(dy, 0.0f, y, 0.0f, count);
    for (size_t i = 0; i < count; i++)
        dy[i] = factor * (y[i] * (dy[i] - mean));
}

double dot_rows(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

double dot_double_row(const double *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * (double)b[i];
    return sum;
}

double entropy_of_row(const float *weights, size_t count)
{
    enum { BLOCK = 64 }; /* terms computed in parallel before they are added up */
    double sum = 0;
    double terms[BLOCK];
    for (; count; weights += BLOCK) {
        size_t size = count < BLOCK ? count : BLOCK;
        for (size_t i = 0; i < size; i++) {
            double weight = (double)weights[i];
            terms[i] = weight * log_double(weight > 0 ? weight : 1);
        }
        for (size_t i = 0; i < size; i++)
            sum -= terms[i];
        count -= size;
    }
    return sum;
}

bool cross_entropy_row(float *x, size_t count, uint32_t target, float factor, double *loss)
{
    double logit = (double)x[target];
    float max = 0, total = 0;
    if (!softmax_parts(x, count, &max, &total))
        return false;
    *loss = (double)max + log((double)total) - logit;
    scale_row(x, x, count, factor);
    x[target] -= factor;
    return true;
}

/* --- past the caches -------------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
static inline void stream_line(float *to, const float *from)
{
    const __m128 line[] = {_mm_loadu_ps(from), _mm_loadu_ps(from + 4), _mm_loadu_ps(from + 8),
                           _mm_loadu_ps(from + 12)};
    for (size_t i = 0; i < LINE / 4; i++)
        _mm_stream_ps(to + 4 * i, line[i]);
}

void nontemporal_fence(void)
{
    _mm_sfence();
}
#else
static inline void stream_line(float *to, const float *from)
{
    memcpy(to, from, LINE * sizeof *to);
}

void nontemporal_fence(void)
{
}
#endif

/* Return the number of floats from x to the next cache line; 0 if x begins a cache line. */
static size_t to_line(const float *x)
{
    return -((uintptr_t)x / sizeof *x) % LINE;
}

void nontemporal_copy(float *to, const float *from, size_t count)
{
    size_t done = count < STREAMED_FLOATS ? count : to_line(to);
    memcpy(to, from, done * sizeof *to);
    if (done == count)
        return;
    for (; done + LINE <= count; done += LINE)
        stream_line(to + done, from + done);
    memcpy(to + done, from + done, (count - done) * sizeof *to);
}

void nontemporal_fill(float *to, size_t count, float value)
{
    size_t done = count < STREAMED_FLOATS ? count : to_line(to);
    float line[LINE];
    for (size_t i = 0; i < done; i++)
        to[i] = value;
    if (done == count)
        return;
    for (size_t i = 0; i < LINE; i++)
        line[i] = value;
    for (; done + LINE <= count; done += LINE)
        stream_line(to + done, line);
    memcpy(to + done, line, (count - done) * sizeof *to);
}
