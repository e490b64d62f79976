#include "format/dtype.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/for_each_isa.h"
#include "base/num.h"
#include "format/half.h"

/* --- quantised numbers --------------------------------------------------------------------------
 *
 * The blocks of a quantised row, in ggml's layouts. Of 32 numbers: a scale d of
 * F16, for some an m, and whole numbers q, which mean d · q + m, or name another number ("IQ"). Of
 * 256: d and m for all, and for each part of 16 or 32 a whole number that multiplies them. */

enum {
    FEW = 32,   /* numbers of a small block, */
    MANY = 256, /* of a large one, */
    PART = 16,  /* and of a part of it that has a scale of its own */
    HALF_BYTES = 2,
    SCALE_BYTES = 12, /* sixteen scales of six bits, or eight and as many minima */
};

#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE float half_at(const unsigned char *from)
{
    uint16_t half = 0;
    memcpy(&half, from, sizeof half);
    return float_of_half(half);
}

/* --- blocks of 32 ----------------------------------------------------------------------------- */

/* d, m where it has one, the fifth bits where they have some, four bits of q: of numbers j and
 * j + 16 together. */
static ALWAYS_INLINE void widen_small(float *restrict to, const unsigned char *restrict from,
                                      bool has_min, bool has_fifth)
{
    const unsigned char *bits = from + (has_min ? 2 : 1) * HALF_BYTES;
    const unsigned char *quants = bits + (has_fifth ? sizeof(uint32_t) : 0);
    float scale = half_at(from);
    float min = has_min ? half_at(from + HALF_BYTES) : 0;
    int zero = has_min ? 0 : has_fifth ? 16 : 8; /* the q that means 0 */
    uint32_t fifth = 0;
    if (has_fifth)
        memcpy(&fifth, bits, sizeof fifth);
    for (int j = 0; j < FEW / 2; j++) {
        int low = (int)(quants[j] & 15u) | (int)(fifth >> j & 1u) << 4;
        int high = quants[j] >> 4 | (int)(fifth >> (j + FEW / 2) & 1u) << 4;
        float first = (float)(low - zero) * scale;
        float second = (float)(high - zero) * scale;
        to[j] = has_min ? first + min : first;
        to[j + FEW / 2] = has_min ? second + min : second;
    }
}

#define WIDEN_SMALL(name, has_min, has_fifth, block_bytes)                                  \
    FOR_EACH_ISA                                                                            \
    static void name(float *restrict to, const unsigned char *restrict from, size_t blocks) \
    {                                                                                       \
        for (size_t i = 0; i < blocks; i++)                                                 \
            widen_small(to + i * FEW, from + i * (block_bytes), has_min, has_fifth);        \
    }

WIDEN_SMALL(widen_q4_0, false, false, 18)
WIDEN_SMALL(widen_q4_1, true, false, 20)
WIDEN_SMALL(widen_q5_0, false, true, 22)
WIDEN_SMALL(widen_q5_1, true, true, 24)

FOR_EACH_ISA
static void widen_q8_0(float *restrict to, const unsigned char *restrict from, size_t blocks)
{
    for (size_t i = 0; i < blocks; i++, to += FEW, from += HALF_BYTES + FEW) {
        float scale = half_at(from);
        for (size_t j = 0; j < FEW; j++)
            to[j] = (float)(signed char)from[HALF_BYTES + j] * scale;
    }
}

/* --- blocks of 256 ---------------------------------------------------------------------------- */

/* Number `part` of eight scales, and the minimum beside it: the first four have six bits of a byte
 * each, the others four bits of another, and the two that the first leave. */
static ALWAYS_INLINE void part_scales(unsigned *scale, unsigned *min, const unsigned char *from,
                                      int part)
{
    int at = part % 4;
    if (part < 4) {
        *scale = from[at] & 63u;
        *min = from[at + 4] & 63u;
        return;
    }
    *scale = (from[at + 8] & 15u) | (unsigned)(from[at] >> 6) << 4;
    *min = (unsigned)from[at + 8] >> 4 | (unsigned)(from[at + 4] >> 6) << 4;
}

/* d, m, their parts' scales, the fifth bits where there are some, four bits of q: of two parts of
 * 32 together. A number is d · scale · q - m · minimum. */
static ALWAYS_INLINE void widen_parts(float *restrict to, const unsigned char *restrict from,
                                      bool has_fifth)
{
    float scale = half_at(from);
    float min = half_at(from + HALF_BYTES);
    const unsigned char *scales = from + 2 * HALF_BYTES;
    const unsigned char *fifth = scales + SCALE_BYTES;
    const unsigned char *quants = fifth + (has_fifth ? FEW : 0);
    for (int part = 0; part < MANY / FEW; part++, to += FEW) {
        unsigned times = 0;
        unsigned less = 0;
        part_scales(&times, &less, scales, part);
        float step = scale * (float)times;
        float low = min * (float)less;
        const unsigned char *pairs = quants + part / 2 * FEW;
        for (int j = 0; j < FEW; j++) {
            int q = (pairs[j] >> part % 2 * 4 & 15) | (has_fifth ? (fifth[j] >> part & 1) << 4 : 0);
            to[j] = step * (float)q - low;
        }
    }
}

FOR_EACH_ISA
static void widen_q4_k(float *restrict to, const unsigned char *restrict from, size_t blocks)
{
    enum { BYTES = 2 * HALF_BYTES + SCALE_BYTES + MANY / 2 };
    for (size_t i = 0; i < blocks; i++)
        widen_parts(to + i * MANY, from + i * BYTES, false);
}

FOR_EACH_ISA
static void widen_q5_k(float *restrict to, const unsigned char *restrict from, size_t blocks)
{
    enum { BYTES = 2 * HALF_BYTES + SCALE_BYTES + MANY / 8 + MANY / 2 };
    for (size_t i = 0; i < blocks; i++)
        widen_parts(to + i * MANY, from + i * BYTES, true);
}

/* Scales and minima of parts of 16, two bits of q, d, m. A half of 128 has its numbers j, j + 32,
 * j + 64 and j + 96 in one byte. */
FOR_EACH_ISA
static void widen_q2_k(float *restrict to, const unsigned char *restrict from, size_t blocks)
{
    enum { QUANTS = MANY / PART, END = QUANTS + MANY / 4 };
    for (size_t i = 0; i < blocks; i++, from += END + 2 * HALF_BYTES) {
        float scale = half_at(from + END);
        float min = half_at(from + END + HALF_BYTES);
        for (int part = 0; part < MANY / PART; part++, to += PART) {
            const unsigned char *quants = from + QUANTS + part / 8 * FEW + part % 2 * PART;
            int shift = part / 2 % 4 * 2;
            float step = scale * (float)(from[part] & 15);
            float low = min * (float)(from[part] >> 4);
            for (int j = 0; j < PART; j++)
                to[j] = step * (float)(quants[j] >> shift & 3) - low;
        }
    }
}

/* Third bits of q, two bits as above, sixteen scales of six bits in the twelve bytes: four bits of
 * parts i and i + 8 side by side, then two of parts i, i + 4, i + 8 and i + 12; d. */
FOR_EACH_ISA
static void widen_q3_k(float *restrict to, const unsigned char *restrict from, size_t blocks)
{
    enum { QUANTS = MANY / 8, SCALES = QUANTS + MANY / 4, END = SCALES + SCALE_BYTES };
    for (size_t i = 0; i < blocks; i++, from += END + HALF_BYTES) {
        const unsigned char *scales = from + SCALES;
        float scale = half_at(from + END);
        for (int part = 0; part < MANY / PART; part++, to += PART) {
            const unsigned char *third = from + part % 2 * PART;
            const unsigned char *quants = from + QUANTS + part / 8 * FEW + part % 2 * PART;
            int shift = part / 2 % 4 * 2;
            int times = (scales[part % 8] >> part / 8 * 4 & 15) |
                        (scales[8 + part % 4] >> part / 4 * 2 & 3) << 4;
            float step = scale * (float)(times - 32);
            for (int j = 0; j < PART; j++) {
                int q = (quants[j] >> shift & 3) | (third[j] >> part / 2 & 1) << 2;
                to[j] = step * (float)(q - 4);
            }
        }
    }
}

/* Four bits of q, two more, scales of parts of 16, d. A half of 128 has its numbers j and j + 64 in
 * one byte of the first, and j, j + 32, j + 64, j + 96 in one of the second. */
FOR_EACH_ISA
static void widen_q6_k(float *restrict to, const unsigned char *restrict from, size_t blocks)
{
    enum { HALF = MANY / 2, HIGH = HALF, SCALES = HIGH + MANY / 4, END = SCALES + MANY / PART };
    for (size_t i = 0; i < blocks; i++, from += END + HALF_BYTES) {
        float scale = half_at(from + END);
        for (int part = 0; part < MANY / PART; part++, to += PART) {
            int half = part / 8;
            int quarter = part / 2 % 4;
            int at = part % 2 * PART;
            const unsigned char *low = from + half * (HALF / 2) + quarter % 2 * FEW + at;
            const unsigned char *high = from + HIGH + half * FEW + at;
            float step = scale * (float)(signed char)from[SCALES + part];
            for (int j = 0; j < PART; j++) {
                int q = (low[j] >> quarter / 2 * 4 & 15) | (high[j] >> quarter * 2 & 3) << 4;
                to[j] = step * (float)(q - 32);
            }
        }
    }
}

/* --- four bits that name one of sixteen numbers ----------------------------------------------- */

static const signed char named[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

/* Numbers j and j + 16 of 32 in one byte. */
static ALWAYS_INLINE void widen_named(float *restrict to, const unsigned char *restrict from,
                                      float step)
{
    for (int j = 0; j < FEW / 2; j++) {
        to[j] = step * (float)named[from[j] & 15];
        to[j + FEW / 2] = step * (float)named[from[j] >> 4];
    }
}

/* d, then these. */
FOR_EACH_ISA
static void widen_iq4_nl(float *restrict to, const unsigned char *restrict from, size_t blocks)
{
    for (size_t i = 0; i < blocks; i++, to += FEW, from += HALF_BYTES + FEW / 2)
        widen_named(to, from + HALF_BYTES, half_at(from));
}

/* d, two bits more of each part's scale, four bits of two parts' side by side, then these. */
FOR_EACH_ISA
static void widen_iq4_xs(float *restrict to, const unsigned char *restrict from, size_t blocks)
{
    enum { UPPER = HALF_BYTES, LOWER = UPPER + 2, QUANTS = LOWER + MANY / FEW / 2 };
    for (size_t i = 0; i < blocks; i++, from += QUANTS + MANY / 2) {
        float scale = half_at(from);
        for (int part = 0; part < MANY / FEW; part++, to += FEW) {
            int times = (from[LOWER + part / 2] >> part % 2 * 4 & 15) |
                        (from[UPPER + part / 4] >> part % 4 * 2 & 3) << 4;
            widen_named(to, from + QUANTS + part * FEW / 2, scale * (float)(times - 32));
        }
    }
}

/* Blocks of `block` numbers in `bytes` bytes, in the order of the enum. */
static const struct quants {
    const char *name;
    size_t block, bytes;
    void (*widen)(float *restrict to, const unsigned char *restrict from, size_t blocks);
} quants_rows[] = {
    {"Q4_0", FEW, 18, widen_q4_0},     {"Q4_1", FEW, 20, widen_q4_1},
    {"Q5_0", FEW, 22, widen_q5_0},     {"Q5_1", FEW, 24, widen_q5_1},
    {"Q8_0", FEW, 34, widen_q8_0},     {"Q2_K", MANY, 84, widen_q2_k},
    {"Q3_K", MANY, 110, widen_q3_k},   {"Q4_K", MANY, 144, widen_q4_k},
    {"Q5_K", MANY, 176, widen_q5_k},   {"Q6_K", MANY, 210, widen_q6_k},
    {"IQ4_NL", FEW, 18, widen_iq4_nl}, {"IQ4_XS", MANY, 136, widen_iq4_xs},
};

_Static_assert(sizeof quants_rows / sizeof *quants_rows == DTYPE_END - DTYPE_COUNT,
               "a row for each");

/* --- types ------------------------------------------------------------------------------------ */

/* Tensor files are little-endian, and weights are used where they lie. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "a little-endian machine");

static const struct {
    const char *name;
    size_t size_bytes;
} types[DTYPE_COUNT] = {
    [DTYPE_BOOL] = {"BOOL", 1},       [DTYPE_U8] = {"U8", 1},           [DTYPE_I8] = {"I8", 1},
    [DTYPE_F8_E5M2] = {"F8_E5M2", 1}, [DTYPE_F8_E4M3] = {"F8_E4M3", 1}, [DTYPE_I16] = {"I16", 2},
    [DTYPE_U16] = {"U16", 2},         [DTYPE_F16] = {"F16", 2},         [DTYPE_BF16] = {"BF16", 2},
    [DTYPE_I32] = {"I32", 4},         [DTYPE_U32] = {"U32", 4},         [DTYPE_F32] = {"F32", 4},
    [DTYPE_F64] = {"F64", 8},         [DTYPE_I64] = {"I64", 8},         [DTYPE_U64] = {"U64", 8},
};

const char *dtype_name(enum dtype dtype)
{
    return dtype_is_quantised(dtype) ? quants_rows[dtype - DTYPE_COUNT].name : types[dtype].name;
}

size_t dtype_size_bytes(enum dtype dtype)
{
    assert(!dtype_is_quantised(dtype));
    return types[dtype].size_bytes;
}

size_t dtype_bytes(enum dtype dtype, size_t count)
{
    if (!dtype_is_quantised(dtype))
        return count * types[dtype].size_bytes;
    const struct quants *quants = &quants_rows[dtype - DTYPE_COUNT];
    return count / quants->block * quants->bytes;
}

size_t dtype_whole(enum dtype dtype, size_t count)
{
    size_t block = dtype_is_quantised(dtype) ? quants_rows[dtype - DTYPE_COUNT].block : 1;
    return (count + block - 1) / block * block;
}

size_t dtype_float_bytes(size_t rank, const size_t *shape)
{
    size_t size = sizeof(float);
    for (size_t i = 0; i < rank; i++) {
        bool fits = num_multiply(&size, size, shape[i]);
        assert(fits);
        (void)fits;
    }
    return size;
}

bool dtype_find(const char *name, enum dtype *dtype)
{
    for (int i = 0; i < DTYPE_END; i++) {
        if (strcmp(dtype_name((enum dtype)i), name) == 0) {
            *dtype = (enum dtype)i;
            return true;
        }
    }
    return false;
}

bool dtype_is_weight(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16 || dtype == DTYPE_F64 ||
           dtype_is_quantised(dtype);
}

void dtype_to_float(float *out, const void *in, enum dtype dtype, size_t count)
{
    const char *from = in;
    uint16_t half = 0;
    double wide = 0;
    assert(dtype_is_weight(dtype));
    if (dtype_is_quantised(dtype)) {
        const struct quants *quants = &quants_rows[dtype - DTYPE_COUNT];
        quants->widen(out, in, count / quants->block);
    } else if (dtype == DTYPE_F32 && count > 0) {
        memcpy(out, in, count * sizeof *out);
    }
    for (size_t i = 0; dtype == DTYPE_F16 && i < count; i++) {
        memcpy(&half, from + i * sizeof half, sizeof half);
        out[i] = float_of_half(half);
    }
    for (size_t i = 0; dtype == DTYPE_BF16 && i < count; i++) { /* the upper half of a float32 */
        memcpy(&half, from + i * sizeof half, sizeof half);
        out[i] = float_of_bits((uint32_t)half << 16);
    }
    for (size_t i = 0; dtype == DTYPE_F64 && i < count; i++) {
        memcpy(&wide, from + i * sizeof wide, sizeof wide);
        out[i] = (float)wide;
    }
}
