#include "model/logprob.h"

#include <math.h>

#include "math/isa.h"
#include "math/portable_math.h"

/* log x for x ≥ 1: x = m · 2^e with m in [√½, √2), log m = 2 artanh((m - 1) / (m + 1)), by its
 * series. */
static double natural_log(double x)
{
    static const double ln_2 = 0.6931471805599453;
    int exponent = 0;
    double m = frexp(x, &exponent);
    if (m < 0.7071067811865476) {
        m *= 2;
        exponent--;
    }
    double s = (m - 1) / (m + 1); /* at most 0.172: the terms beyond s^21 are below 1e-18 */
    double power = s * s;
    double series = 0;
    for (int n = 21; n >= 3; n -= 2)
        series = (series + 1.0 / n) * power;
    return 2 * s * (1 + series) + exponent * ln_2;
}

/* So many at a time, so that they are computed as vectors. */
enum { PART = 256 };

FOR_EACH_ISA
static void exponentials(float *y, const float *x, size_t count, float max)
{
    for (size_t i = 0; i < count; i++)
        y[i] = exp_negative(x[i] - max);
}

double logprob_total(const float *logits, size_t count)
{
    float part[PART];
    float max = logits[0];
    double total = 0;
    for (size_t i = 1; i < count; i++)
        max = logits[i] > max ? logits[i] : max;
    for (size_t first = 0; first < count; first += PART) {
        size_t size = count - first < PART ? count - first : PART;
        exponentials(part, logits + first, size, max);
        for (size_t i = 0; i < size; i++)
            total += (double)part[i];
    }
    return (double)max + natural_log(total);
}

/* Put an id where it belongs among the best so far. */
static void insert(uint32_t *best, size_t best_count, const float *logits, uint32_t id)
{
    size_t place = best_count;
    while (place > 0 && logits[id] > logits[best[place - 1]])
        place--;
    for (size_t i = best_count; i > place; i--)
        best[i] = best[i - 1];
    best[place] = id;
}

void logprob_best(uint32_t *best, size_t best_count, const float *logits, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count && best_count > 0; i++) {
        if (found == best_count && !(logits[i] > logits[best[found - 1]]))
            continue;
        found -= found == best_count;
        insert(best, found, logits, (uint32_t)i);
        found++;
    }
}
