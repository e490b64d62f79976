#include "math/noise.h"

#include "math/isa.h"

/* A hash of 32 bits in which every bit of x changes about half of the result's. */
static inline uint32_t mix(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352dU;
    x = (x ^ x >> 15) * 0x846ca68bU;
    return x ^ x >> 16;
}

FOR_EACH_ISA
static void fill(float *x, size_t count, uint32_t first, float middle, float spread)
{
    const float unit = 1.0f / (1 << 23);
    for (size_t i = 0; i < count; i++) {
        int32_t even = (int32_t)(mix(first + (uint32_t)i) >> 8) - (1 << 23); /* of 24 bits: exact */
        x[i] = middle + (float)even * unit * spread;
    }
}

void noise_fill(float *x, size_t count, uint32_t seed, float middle, float spread)
{
    fill(x, count, mix(seed), middle, spread);
}
