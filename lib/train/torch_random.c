#include "train/torch_random.h"

#include <math.h>
#include <string.h>

#include "math/isa.h"

enum {
    WORDS = TORCH_RANDOM_WORDS,
    MIDDLE = 397, /* the distance of the words that mt19937 mixes */
    BLOCK = 16,   /* normal numbers per block */
    PAIRS = BLOCK / 2,
};

static const double pi = 3.14159265358979323846;

/* --- mt19937 ---------------------------------------------------------------------------------- */

void torch_random_seed(struct torch_random *random, uint64_t seed)
{
    *random = (struct torch_random){.used = WORDS};
    random->state[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < WORDS; i++) {
        uint32_t last = random->state[i - 1];
        random->state[i] = 1812433253u * (last ^ last >> 30) + i;
    }
}

/* The new value of `word`, from its top bit and the other bits of the next word. */
static inline uint32_t twist(uint32_t word, uint32_t next, uint32_t other)
{
    uint32_t joined = (word & 0x80000000u) | (next & 0x7fffffffu);
    return other ^ joined >> 1 ^ (next & 1 ? 0x9908b0dfu : 0);
}

static void renew(struct torch_random *random)
{
    uint32_t *state = random->state;
    for (size_t i = 0; i < WORDS - MIDDLE; i++)
        state[i] = twist(state[i], state[i + 1], state[i + MIDDLE]);
    for (size_t i = WORDS - MIDDLE; i < WORDS - 1; i++)
        state[i] = twist(state[i], state[i + 1], state[i + MIDDLE - WORDS]);
    state[WORDS - 1] = twist(state[WORDS - 1], state[0], state[MIDDLE - 1]);
    random->used = 0;
}

static uint32_t draw_word(struct torch_random *random)
{
    if (random->used == WORDS)
        renew(random);
    uint32_t word = random->state[random->used++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

void torch_random_skip_uniform(struct torch_random *random, size_t count)
{
    while (count > 0) {
        if (random->used == WORDS)
            renew(random);
        size_t here = WORDS - random->used;
        here = count < here ? count : here;
        random->used += here;
        count -= here;
    }
}

/* In [0, 1). */
static double draw_double(struct torch_random *random)
{
    uint64_t high = draw_word(random);
    uint64_t bits = high << 32 | draw_word(random);
    return (double)(bits & 0x1fffffffffffff) * 0x1p-53;
}

/* --- functions of PyTorch's vector code ------------------------------------------------------- */

/* ln x for x in (0, 1]: Cephes' logf. x = m · 2^e with m from √½ to √2, and a polynomial in m - 1.
 */
static inline float log_float(float x)
{
    uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    float e = (float)((int32_t)(bits >> 23) - 126);
    bits = (bits & 0x007fffffu) | 0x3f000000u;
    memcpy(&x, &bits, sizeof x); /* from ½ to 1 */
    bool low = x < 0.707106781f;
    float m = low ? x - 1.0f + x : x - 1.0f;
    e = low ? e - 1.0f : e;
    float square = m * m;
    float p = 7.0376836292e-2f;
    p = fmaf(p, m, -1.1514610310e-1f);
    p = fmaf(p, m, 1.1676998740e-1f);
    p = fmaf(p, m, -1.2420140846e-1f);
    p = fmaf(p, m, 1.4249322787e-1f);
    p = fmaf(p, m, -1.6668057665e-1f);
    p = fmaf(p, m, 2.0000714765e-1f);
    p = fmaf(p, m, -2.4999993993e-1f);
    p = fmaf(p, m, 3.3333331174e-1f);
    p = fmaf(p * m, square, e * -2.12194440e-4f); /* ln 2 = large + small part: the small one */
    p = fmaf(square, -0.5f, p);
    return fmaf(e, 0.693359375f, m + p);
}

struct angle {
    float sine, cosine;
};

/* Cephes' sinf and cosf for x in [0, 2π): both are polynomials of the distance from the nearest
 * even multiple j of π/4. */
static inline struct angle sine_and_cosine(float x)
{
    int32_t j = ((int32_t)(x * 1.27323954f) + 1) & ~1; /* 4 / π */
    float octants = (float)j;
    x = fmaf(octants, -0.78515625f, x); /* π/4 in three parts */
    x = fmaf(octants, -2.41875648e-4f, x);
    x = fmaf(octants, -3.77489498e-8f, x);
    float square = x * x;
    float c = 2.44331571e-5f;
    c = fmaf(c, square, -1.38873163e-3f);
    c = fmaf(c, square, 4.16666456e-2f) * square;
    c = fmaf(c, square, square * -0.5f) + 1.0f;
    float s = -1.95152959e-4f;
    s = fmaf(s, square, 8.33216087e-3f);
    s = fmaf(s, square, -1.66666546e-1f) * square;
    s = fmaf(s, x, x);
    bool turned = j & 2; /* an odd multiple of π/2: sine and cosine are exchanged */
    float sine = turned ? c : s;
    float cosine = turned ? s : c;
    return (struct angle){j & 4 ? -sine : sine, (j + 2) & 4 ? -cosine : cosine};
}

/* Make blocks of uniform numbers in [0, 1) normal: radius √(-2 ln (1 - u)), angle 2π u'. */
FOR_EACH_ISA
static void make_normal(float *x, size_t blocks, float mean, float spread)
{
    const float turn = (float)(2 * pi);
    for (size_t block = 0; block < blocks; block++, x += BLOCK) {
        for (size_t j = 0; j < PAIRS; j++) {
            float radius = sqrtf(-2.0f * log_float(1.0f - x[j]));
            struct angle angle = sine_and_cosine(turn * x[j + PAIRS]);
            x[j] = fmaf(radius * angle.cosine, spread, mean);
            x[j + PAIRS] = fmaf(radius * angle.sine, spread, mean);
        }
    }
}

/* --- tensors ---------------------------------------------------------------------------------- */

/* Numbers in [0, 1). */
static void draw_floats(struct torch_random *random, float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(draw_word(random) & 0xffffff) * 0x1p-24f;
}

FOR_EACH_ISA
void torch_random_uniform(struct torch_random *random, float *x, size_t count, double low,
                          double high)
{
    float first = (float)low, width = (float)high - first;
    draw_floats(random, x, count);
    for (size_t i = 0; i < count; i++)
        x[i] = fmaf(x[i], width, first);
}

/* The first of a new pair, or the second of the last one. */
static double draw_normal(struct torch_random *random)
{
    if (random->waiting) {
        random->waiting = false;
        return random->second;
    }
    double angle = 2 * pi * draw_double(random);
    double radius = sqrt(-2 * log1p(-draw_double(random)));
    random->second = radius * sin(angle);
    random->waiting = true;
    return radius * cos(angle);
}

void torch_random_normal(struct torch_random *random, float *x, size_t count, double mean,
                         double spread)
{
    if (count < BLOCK) {
        for (size_t i = 0; i < count; i++)
            x[i] = (float)(draw_normal(random) * spread + mean);
        return;
    }
    draw_floats(random, x, count);
    make_normal(x, count / BLOCK, (float)mean, (float)spread);
    if (count % BLOCK == 0)
        return;
    float *last = x + count - BLOCK;
    draw_floats(random, last, BLOCK);
    make_normal(last, 1, (float)mean, (float)spread);
}

void torch_random_skip_normal(struct torch_random *random, size_t count)
{
    float unwanted[BLOCK];
    if (count < BLOCK)
        torch_random_normal(random, unwanted, count, 0, 1);
    else
        torch_random_skip_uniform(random, count + (count % BLOCK ? BLOCK : 0));
}
