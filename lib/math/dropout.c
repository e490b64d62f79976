#include "math/dropout.h"

#include "math/chance.h"

void dropout_apply(const struct dropout *dropout, float *weights, size_t first, size_t count)
{
    enum { STEPS = 1 << 24 }; /* the finest share that a float tells apart everywhere */
    const float factor = 1.0f / (1.0f - dropout->share);
    const float limit = dropout->share * (float)STEPS;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = chance(dropout->row + first + i);
        weights[i] = (float)(number >> 40) < limit ? 0.0f : weights[i] * factor;
    }
}
