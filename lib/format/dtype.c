#include "format/dtype.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/for_each_isa.h"
#include "base/num.h"
#include "format/half.h"

/* --- quantised numbers --------------------------------------------------------------------------
 *
 * The blocks of a quantised row, in ggml's layouts: of 32 numbers, or of 256. A number is step · q,
 * in some types less a minimum; q is a whole number of up to eight bits. Scale and minimum of a
 * block are F16. In blocks of 256, whole numbers for each 16 or 32 numbers multiply both. */

enum {
    FEW = 32,   /* numbers of a small block, */
    MANY = 256, /* of a large one, */
    SLICE = 16, /* and of a vector */
    SLICES = MANY / SLICE,
    HALF_BYTES = 2,
    SCALE_BYTES = 12, /* sixteen scales of six bits, or eight and as many minima */
};

_Static_assert((int)SLICE == (int)DTYPE_ROWS, "a slice of so many rows is a square");

#define ALWAYS_INLINE inline __attribute__((always_inline))

typedef unsigned char slice __attribute__((vector_size(SLICE)));

/* The parts of blocks of some rows. A slice's step is scale · times, its minimum min · less. */
struct blocks {
    uint16_t scale[DTYPE_ROWS], min[DTYPE_ROWS];
    short times[SLICES][DTYPE_ROWS], less[SLICES][DTYPE_ROWS];
    slice q[SLICES][DTYPE_ROWS];
};

/* Which parts the blocks of a type have, where types share a function. */
struct form {
    bool has_min, has_fifth;
};

static ALWAYS_INLINE slice slice_at(const unsigned char *from)
{
    slice found;
    memcpy(&found, from, sizeof found);
    return found;
}

static ALWAYS_INLINE uint16_t half_at(const unsigned char *from)
{
    uint16_t half = 0;
    memcpy(&half, from, sizeof half);
    return half;
}

static ALWAYS_INLINE void set_slice(struct blocks *to, size_t row, int i, slice q, int times,
                                    int less)
{
    to->q[i][row] = q;
    to->times[i][row] = (short)times;
    to->less[i][row] = (short)less;
}

/* --- blocks of 32 ----------------------------------------------------------------------------- */

/* A bit of a byte for each number, the first eight or the last. */
static const slice first_bits = {1, 2, 4, 8, 16, 32, 64, 128};
static const slice last_bits = {0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 128};

/* Scale, minimum if there is one, the fifth bits if there are some, four bits of q: of numbers j
 * and j + 16 in one byte. */
static ALWAYS_INLINE void read_small(struct blocks *to, size_t row, const unsigned char *from,
                                     struct form form)
{
    const unsigned char *bits = from + (form.has_min ? 2 : 1) * HALF_BYTES;
    slice quants = slice_at(bits + (form.has_fifth ? sizeof(uint32_t) : 0));
    slice q[2] = {quants & 15, quants >> 4};
    unsigned char zero = form.has_min ? 0 : form.has_fifth ? 16 : 8;
    uint32_t fifth = 0;
    if (form.has_fifth)
        memcpy(&fifth, bits, sizeof fifth);
    for (int i = 0; form.has_fifth && i < 2; i++) {
        slice set = first_bits & (unsigned char)(fifth >> i * SLICE);
        set |= last_bits & (unsigned char)(fifth >> (i * SLICE + SLICE / 2));
        q[i] |= (slice)(set != 0) & 16;
    }
    to->scale[row] = half_at(from);
    to->min[row] = form.has_min ? half_at(from + HALF_BYTES) : 0;
    set_slice(to, row, 0, q[0] - zero, 1, -1);
    set_slice(to, row, 1, q[1] - zero, 1, -1);
}

static ALWAYS_INLINE void read_q8_0(struct blocks *to, size_t row, const unsigned char *from,
                                    struct form form)
{
    (void)form;
    to->scale[row] = half_at(from);
    for (int i = 0; i < FEW / SLICE; i++)
        set_slice(to, row, i, slice_at(from + HALF_BYTES + i * SLICE), 1, 0);
}

/* --- blocks of 256 ---------------------------------------------------------------------------- */

/* Number `part` of eight scales, and the minimum beside it: the first four have six bits of a byte
 * each, the others four bits of another, and the two that the first leave. */
static ALWAYS_INLINE void part_scales(int *scale, int *min, const unsigned char *from, int part)
{
    int at = part % 4;
    bool first = part < 4;
    *scale = first ? from[at] & 63 : (from[at + 8] & 15) | from[at] >> 6 << 4;
    *min = first ? from[at + 4] & 63 : from[at + 8] >> 4 | from[at + 4] >> 6 << 4;
}

/* Scale, minimum, those of parts of 32, the fifth bits if there are some, four bits of q: of two
 * parts in one byte. */
static ALWAYS_INLINE void read_parts(struct blocks *to, size_t row, const unsigned char *from,
                                     struct form form)
{
    const unsigned char *scales = from + 2 * HALF_BYTES;
    const unsigned char *fifth = scales + SCALE_BYTES;
    const unsigned char *quants = fifth + (form.has_fifth ? FEW : 0);
    to->scale[row] = half_at(from);
    to->min[row] = half_at(from + HALF_BYTES);
    for (int i = 0; i < SLICES; i++) {
        int part = i / 2;
        int times = 0;
        int less = 0;
        part_scales(&times, &less, scales, part);
        slice q = slice_at(quants + part / 2 * FEW + i % 2 * SLICE);
        q = part % 2 ? q >> 4 : q & 15;
        if (form.has_fifth)
            q |= (slice_at(fifth + i % 2 * SLICE) >> (unsigned char)part & 1) << 4;
        set_slice(to, row, i, q, times, less);
    }
}

/* Two bits of q of slice i: a half of 128 has its numbers j, j + 32, j + 64 and j + 96 in one
 * byte. */
static ALWAYS_INLINE slice two_bits(const unsigned char *quants, int i)
{
    unsigned char shift = (unsigned char)(i / 2 % 4 * 2);
    return slice_at(quants + i / 8 * FEW + i % 2 * SLICE) >> shift & 3;
}

/* Scales and minima of slices, two bits of q, scale, minimum. */
static ALWAYS_INLINE void read_q2_k(struct blocks *to, size_t row, const unsigned char *from,
                                    struct form form)
{
    (void)form;
    enum { QUANTS = SLICES, END = QUANTS + MANY / 4 };
    to->scale[row] = half_at(from + END);
    to->min[row] = half_at(from + END + HALF_BYTES);
    for (int i = 0; i < SLICES; i++)
        set_slice(to, row, i, two_bits(from + QUANTS, i), from[i] & 15, from[i] >> 4);
}

/* Third bits of q, two bits, sixteen scales of six bits in the twelve bytes: four bits of slices i
 * and i + 8 in one, then two of slices i, i + 4, i + 8 and i + 12; scale. */
static ALWAYS_INLINE void read_q3_k(struct blocks *to, size_t row, const unsigned char *from,
                                    struct form form)
{
    (void)form;
    enum { QUANTS = MANY / 8, SCALES = QUANTS + MANY / 4, END = SCALES + SCALE_BYTES };
    const unsigned char *scales = from + SCALES;
    to->scale[row] = half_at(from + END);
    for (int i = 0; i < SLICES; i++) {
        slice third = slice_at(from + i % 2 * SLICE) >> (unsigned char)(i / 2) & 1;
        int times = (scales[i % 8] >> i / 8 * 4 & 15) | (scales[8 + i % 4] >> i / 4 * 2 & 3) << 4;
        set_slice(to, row, i, (two_bits(from + QUANTS, i) | third << 2) - 4, times - 32, 0);
    }
}

/* Four bits of q, two more, scales of slices, scale. A half of 128 has its numbers j and j + 64 in
 * one byte of the first, and its two bits as above. */
static ALWAYS_INLINE void read_q6_k(struct blocks *to, size_t row, const unsigned char *from,
                                    struct form form)
{
    (void)form;
    enum { HIGH = MANY / 2, SCALES = HIGH + MANY / 4, END = SCALES + SLICES };
    to->scale[row] = half_at(from + END);
    for (int i = 0; i < SLICES; i++) {
        slice q = slice_at(from + i / 8 * 2 * FEW + i / 2 % 2 * FEW + i % 2 * SLICE);
        q = i / 4 % 2 ? q >> 4 : q & 15;
        q |= two_bits(from + HIGH, i) << 4;
        set_slice(to, row, i, q - 32, (signed char)from[SCALES + i], 0);
    }
}

/* --- four bits that name one of sixteen numbers ----------------------------------------------- */

static const signed char named[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};

/* Numbers j and j + 16 of 32 in one byte. */
static ALWAYS_INLINE void read_named(struct blocks *to, size_t row, const unsigned char *from,
                                     int part, int times)
{
    signed char q[2][SLICE];
    for (int j = 0; j < SLICE; j++) {
        q[0][j] = named[from[j] & 15];
        q[1][j] = named[from[j] >> 4];
    }
    set_slice(to, row, 2 * part, slice_at((unsigned char *)q[0]), times, 0);
    set_slice(to, row, 2 * part + 1, slice_at((unsigned char *)q[1]), times, 0);
}

/* Scale, then these. */
static ALWAYS_INLINE void read_iq4_nl(struct blocks *to, size_t row, const unsigned char *from,
                                      struct form form)
{
    (void)form;
    to->scale[row] = half_at(from);
    read_named(to, row, from + HALF_BYTES, 0, 1);
}

/* Scale, two bits more of each part's scale, four bits of two parts' in one byte, then these. */
static ALWAYS_INLINE void read_iq4_xs(struct blocks *to, size_t row, const unsigned char *from,
                                      struct form form)
{
    (void)form;
    enum { UPPER = HALF_BYTES, LOWER = UPPER + 2, QUANTS = LOWER + MANY / FEW / 2 };
    to->scale[row] = half_at(from);
    for (int part = 0; part < MANY / FEW; part++) {
        int times = (from[LOWER + part / 2] >> part % 2 * 4 & 15) |
                    (from[UPPER + part / 4] >> part % 4 * 2 & 3) << 4;
        read_named(to, row, from + QUANTS + part * FEW / 2, part, times - 32);
    }
}

/* --- blocks to floats ------------------------------------------------------------------------- */

/* Numbers of a row: q · step, less a minimum if the type has one. */
static ALWAYS_INLINE void widen_all(float *restrict to, const struct blocks *restrict some,
                                    size_t rows, size_t slices, bool has_min)
{
    for (size_t row = 0; row < rows; row++) {
        float scale = float_of_half(some->scale[row]);
        float min = has_min ? float_of_half(some->min[row]) : 0;
        for (size_t i = 0; i < slices; i++, to += SLICE) {
            float step = scale * (float)some->times[i][row];
            float low = min * (float)some->less[i][row];
            signed char q[SLICE];
            memcpy(q, &some->q[i][row], sizeof q);
#pragma omp simd
            for (int j = 0; j < SLICE; j++) {
                float product = (float)q[j] * step;
                to[j] = has_min ? product - low : product;
            }
        }
    }
}

#define LOW_HALVES(a, b) \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define HIGH_HALVES(a, b) \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)

/* Rows become columns: each of four steps moves a bit of the column's index to the row's. */
static ALWAYS_INLINE void transpose_slices(slice a[DTYPE_ROWS])
{
    slice b[DTYPE_ROWS];
#pragma GCC unroll 4
    for (int step = 0; step < 4; step++) {
#pragma GCC unroll 8
        for (int i = 0; i < DTYPE_ROWS / 2; i++) {
            b[2 * i] = LOW_HALVES(a[i], a[i + DTYPE_ROWS / 2]);
            b[2 * i + 1] = HIGH_HALVES(a[i], a[i + DTYPE_ROWS / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < DTYPE_ROWS; i++)
            a[i] = b[i];
    }
}

/* The same numbers of all rows as columns. */
static ALWAYS_INLINE void spread_all(float *restrict to, size_t stride,
                                     struct blocks *restrict some, size_t slices, bool has_min)
{
    float scale[DTYPE_ROWS];
    float min[DTYPE_ROWS];
    for (int row = 0; row < DTYPE_ROWS; row++) {
        scale[row] = float_of_half(some->scale[row]);
        min[row] = has_min ? float_of_half(some->min[row]) : 0;
    }
    for (size_t i = 0; i < slices; i++) {
        const signed char *q = (const signed char *)some->q[i];
        float step[DTYPE_ROWS];
        float low[DTYPE_ROWS];
        transpose_slices(some->q[i]);
        for (int row = 0; row < DTYPE_ROWS; row++) {
            step[row] = scale[row] * (float)some->times[i][row];
            low[row] = min[row] * (float)some->less[i][row];
        }
        for (int j = 0; j < SLICE; j++, to += stride, q += DTYPE_ROWS)
            for (int row = 0; row < DTYPE_ROWS; row++) {
                float product = (float)q[row] * step[row];
                to[row] = has_min ? product - low[row] : product;
            }
    }
}

FOR_EACH_ISA
static void widen_plain(float *to, const struct blocks *some, size_t rows, size_t slices)
{
    widen_all(to, some, rows, slices, false);
}

FOR_EACH_ISA
static void widen_less(float *to, const struct blocks *some, size_t rows, size_t slices)
{
    widen_all(to, some, rows, slices, true);
}

FOR_EACH_ISA
static void spread_plain(float *to, size_t stride, struct blocks *some, size_t slices)
{
    spread_all(to, stride, some, slices, false);
}

FOR_EACH_ISA
static void spread_less(float *to, size_t stride, struct blocks *some, size_t slices)
{
    spread_all(to, stride, some, slices, true);
}

/* In the order of the enum: how a block is read, its numbers and bytes; has it a minimum, has it
 * fifth bits? */
#define FOR_EACH_QUANTS(DO)                   \
    DO(Q4_0, small, FEW, 18, false, false)    \
    DO(Q4_1, small, FEW, 20, true, false)     \
    DO(Q5_0, small, FEW, 22, false, true)     \
    DO(Q5_1, small, FEW, 24, true, true)      \
    DO(Q8_0, q8_0, FEW, 34, false, false)     \
    DO(Q2_K, q2_k, MANY, 84, true, false)     \
    DO(Q3_K, q3_k, MANY, 110, false, false)   \
    DO(Q4_K, parts, MANY, 144, true, false)   \
    DO(Q5_K, parts, MANY, 176, true, true)    \
    DO(Q6_K, q6_k, MANY, 210, false, false)   \
    DO(IQ4_NL, iq4_nl, FEW, 18, false, false) \
    DO(IQ4_XS, iq4_xs, MANY, 136, false, false)

#define MAKE_READER(name, read, count, bytes, ...)                                              \
    FOR_EACH_ISA                                                                                \
    static void rows_of_##name(struct blocks *to, const char *const *from, size_t rows)         \
    {                                                                                           \
        for (size_t row = 0; row < rows; row++)                                                 \
            read_##read(to, row, (const unsigned char *)from[row], (struct form){__VA_ARGS__}); \
    }

FOR_EACH_QUANTS(MAKE_READER)

#define MAKE_ROW(name, read, count, bytes, has_min, has_fifth) \
    [DTYPE_##name - DTYPE_COUNT] = {#name, count, bytes, has_min, rows_of_##name},

static const struct quants {
    const char *name;
    size_t block, bytes; /* numbers of a block, and their bytes */
    bool has_min;
    void (*read)(struct blocks *to, const char *const *from, size_t rows); /* a block of each */
} quants_rows[] = {FOR_EACH_QUANTS(MAKE_ROW)};

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

/* A row, some blocks at a time. */
static void widen_quants(float *out, const char *in, const struct quants *quants, size_t count)
{
    const char *from[DTYPE_ROWS];
    for (size_t some = 0; count > 0; out += some * quants->block, count -= some * quants->block) {
        struct blocks blocks;
        some = num_min(DTYPE_ROWS, count / quants->block);
        for (size_t i = 0; i < some; i++, in += quants->bytes)
            from[i] = in;
        quants->read(&blocks, from, some);
        (quants->has_min ? widen_less : widen_plain)(out, &blocks, some, quants->block / SLICE);
    }
}

void dtype_to_float(float *out, const void *in, enum dtype dtype, size_t count)
{
    const char *from = in;
    uint16_t half = 0;
    double wide = 0;
    assert(dtype_is_weight(dtype));
    if (dtype_is_quantised(dtype)) {
        widen_quants(out, in, &quants_rows[dtype - DTYPE_COUNT], count);
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

void dtype_to_columns(float *to, size_t stride, const char *const from[DTYPE_ROWS],
                      enum dtype dtype, size_t count)
{
    assert(dtype_is_quantised(dtype));
    const struct quants *quants = &quants_rows[dtype - DTYPE_COUNT];
    const char *at[DTYPE_ROWS];
    memcpy(at, from, sizeof at);
    for (size_t i = 0; i < count; i += quants->block) {
        struct blocks blocks;
        quants->read(&blocks, at, DTYPE_ROWS);
        (quants->has_min ? spread_less : spread_plain)(to + i * stride, stride, &blocks,
                                                       quants->block / SLICE);
        for (size_t row = 0; row < DTYPE_ROWS; row++)
            at[row] += quants->bytes;
    }
}
