#include "math/rng.h"

#include "math/isa.h"

static uint64_t mix64(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static inline uint32_t mix32(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352dU;
    x = (x ^ x >> 15) * 0x846ca68bU;
    return x ^ x >> 16;
}

uint64_t splitmix64(uint64_t state)
{
    return mix64(state + 0x9e3779b97f4a7c15);
}

uint64_t rng_fold_in(uint64_t key, uint64_t number)
{
    return mix64(splitmix64(key) ^ (number * 0xd1342543de82ef95 + 1));
}

/* The high half of bits · limit: nearly uniform, without a division. */
uint64_t rng_below(uint64_t key, uint64_t number, uint64_t limit)
{
    uint64_t bits = rng_fold_in(key, number);
    uint64_t low = (bits & 0xffffffff) * limit;
    return ((bits >> 32) * limit + (low >> 32)) >> 32; /* limit < 2^32 */
}

FOR_EACH_ISA
void rng_dropout(float *x, size_t count, uint64_t key, uint64_t number, float rate)
{
    uint32_t first = (uint32_t)rng_fold_in(key, number);
    uint32_t low = (uint32_t)((double)rate * 4294967296.0);
    float factor = 1.0f / (1.0f - rate);
    if (rate <= 0)
        return;
    for (size_t i = 0; i < count; i++)
        x[i] = mix32(first + (uint32_t)i) < low ? 0.0f : x[i] * factor;
}

void rng_dropout_part(float *x, size_t count, size_t first, uint64_t key, float rate)
{
    enum { STEPS = 1 << 24 }; /* the resolution of a float below 1 */
    const float factor = 1.0f / (1.0f - rate);
    const float limit = rate * (float)STEPS;
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(splitmix64(key + first + i) >> 40) < limit ? 0.0f : x[i] * factor;
}

FOR_EACH_ISA
void rng_fill_uniform(float *x, size_t count, uint32_t seed, float middle, float spread)
{
    const float unit = 1.0f / (1 << 23);
    uint32_t first = mix32(seed);
    for (size_t i = 0; i < count; i++) {
        int32_t even = (int32_t)(mix32(first + (uint32_t)i) >> 8) - (1 << 23); /* 24 bits: exact */
        x[i] = middle + (float)even * unit * spread;
    }
}
