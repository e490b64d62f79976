#include "math/rows.h"

#include <math.h>

/* In two parts: a multiple of the first, which has few bits, is exact. */
static const double LN_2 = 6.93147180369123816490e-01;
static const double LN_2_REST = 1.90821492927058770002e-10;
static const double QUARTER = 1.57079632673412561417e+00; /* of a turn: π/2 */
static const double QUARTER_REST = 6.07710050650619224932e-11;

static const double LN_10000 = 9.21034037197618273607;

/* Of |r| ≤ ln 2 / 2 and |r| ≤ π/4 further terms would add less than a bit. */
enum { EXP_TERMS = 14, WAVE_TERMS = 9 };

/* e^x = 2^n · e^r, and e^r = 1 + r/1 · (1 + r/2 · (1 + r/3 · …)) */
static double exponential(double x)
{
    double n = rint(x / LN_2);
    double r = x - n * LN_2 - n * LN_2_REST;
    double sum = 1;
    for (int k = EXP_TERMS; k > 0; k--)
        sum = 1 + r / k * sum;
    return ldexp(sum, (int)n);
}

/* 1 - r²/(k·(k+1)) · (1 - r²/((k+2)·(k+3)) · …) with k = first: sin r / r from 2 on, cos r from 1
 * on. */
static double series(double r, int first)
{
    double sum = 1;
    for (int k = first + 2 * WAVE_TERMS; k >= first; k -= 2)
        sum = 1 - r * r / (k * (k + 1)) * sum;
    return sum;
}

/* Of an angle ≥ 0. */
static void find_wave(double *sine, double *cosine, double angle)
{
    double quarters = rint(angle / QUARTER);
    double r = angle - quarters * QUARTER - quarters * QUARTER_REST;
    double s = r * series(r, 2);
    double c = series(r, 1);
    int quadrant = (int)fmod(quarters, 4);
    *sine = quadrant % 2 ? c : s;
    *cosine = quadrant % 2 ? s : c;
    *sine = quadrant >= 2 ? -*sine : *sine;
    *cosine = quadrant == 1 || quadrant == 2 ? -*cosine : *cosine;
}

void add_sinusoids(struct matrix x, size_t first)
{
    for (size_t column = 0; column < x.columns; column += 2) {
        double rate = exponential(-LN_10000 * (double)column / (double)x.columns);
        for (size_t row = 0; row < x.rows; row++) {
            float *at = x.data + row * x.stride + column;
            double sine = 0;
            double cosine = 0;
            find_wave(&sine, &cosine, (double)(first + row) * rate);
            at[0] += (float)sine;
            if (column + 1 < x.columns)
                at[1] += (float)cosine;
        }
    }
}
