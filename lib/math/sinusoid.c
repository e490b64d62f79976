#include "math/portable_math.h"
#include "math/rows.h"

static const double LN_10000 = 9.21034037197618273607;

void add_sinusoids(struct matrix x, size_t first)
{
    for (size_t column = 0; column < x.columns; column += 2) {
        double rate = exp_double(-LN_10000 * (double)column / (double)x.columns);
        for (size_t row = 0; row < x.rows; row++) {
            float *at = x.data + row * x.stride + column;
            double sine = 0;
            double cosine = 0;
            sine_cosine(&sine, &cosine, (double)(first + row) * rate);
            at[0] += (float)sine;
            if (column + 1 < x.columns)
                at[1] += (float)cosine;
        }
    }
}
