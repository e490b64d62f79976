#include "format/dtype.h"

#include <assert.h>
#include <math.h>

#include "base/num.h"
#include "base/platform.h"

/* --- quantised numbers --------------------------------------------------------------------------
 *
 * A quantised row has blocks of 32 or 256 numbers, in ggml's layouts. A number is scale · q, in
 * some types plus or minus a minimum; q has up to eight bits. A block's scale and minimum are F16,
 * or the scale is a power of 2. In a block of 256, every 16 or 32 numbers share integers by which
 * the scale and the minimum are multiplied.
 *
 * Blocks of sixteen rows are read together, word by word, so that compilers can vectorise the bit
 * operations. */

enum {
    FEW = 32,   /* numbers in a small block */
    MANY = 256, /* numbers in a large block */
    SLICE = 16, /* numbers in a slice, which share a scale in all types */
    WORD_BYTES = 4,
    LINE_BYTES = 64, /* bytes of a cache line */
    HALF = 16,       /* bits of a block's scale */
    SIZE_MOST = 210, /* bytes of the largest block */
};

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* One block of each of DTYPE_ROWS rows. The lower 16 bits of a row's `scales` are the block's
 * scale, the upper 16 bits its minimum, if the type has one. */
struct blocks {
    uint32_t scales[DTYPE_ROWS];
    uint32_t words[SIZE_MOST / WORD_BYTES][DTYPE_ROWS];
};

/* Read `count` bits of a row's words, from bit `bit` on, as a number. All bits must be in one
 * word. */
static ALWAYS_INLINE int bits_at(const struct blocks *some, int row, int bit, int count)
{
    return (int)(some->words[bit / 32][row] >> bit % 32 & ((1U << count) - 1));
}

/* Read `count` bits of a row's words, from bit `bit` of byte `byte` on, as a number. */
static ALWAYS_INLINE int byte_bits(const struct blocks *some, int row, int byte, int bit, int count)
{
    return bits_at(some, row, 8 * byte + bit, count);
}

/* Return a byte as a signed number. This needs no cast to 8 bits, so all numbers of a vectorised
 * loop have 32 bits. */
static ALWAYS_INLINE int as_signed(int byte)
{
    return (byte ^ 128) - 128;
}

/* A function that reads an integer from a block of one type: either q of number j in slice i, or
 * the factor by which slice i multiplies the block's scale (j = 0) or minimum (j = 4). */
typedef int part_of_block(const struct blocks *some, int row, int i, int j);

static ALWAYS_INLINE int one(const struct blocks *some, int row, int i, int j)
{
    (void)some, (void)row, (void)i, (void)j;
    return 1;
}

static ALWAYS_INLINE int minus_one(const struct blocks *some, int row, int i, int j)
{
    return -one(some, row, i, j);
}

/* --- blocks of 32 numbers --------------------------------------------------------------------- */

/* A block with q of four or five bits has the fifth bits, if there are any, then the lower four
 * bits, with the numbers n and n + 16 in one byte. A block of Q8_0 has one byte for each number. */

static ALWAYS_INLINE int q4_1(const struct blocks *some, int row, int i, int j)
{
    return byte_bits(some, row, j, i * 4, 4);
}

static ALWAYS_INLINE int q4_0(const struct blocks *some, int row, int i, int j)
{
    return q4_1(some, row, i, j) - 8;
}

static ALWAYS_INLINE int q5_1(const struct blocks *some, int row, int i, int j)
{
    return byte_bits(some, row, WORD_BYTES + j, i * 4, 4) | bits_at(some, row, i * SLICE + j, 1)
                                                                << 4;
}

static ALWAYS_INLINE int q5_0(const struct blocks *some, int row, int i, int j)
{
    return q5_1(some, row, i, j) - 16;
}

static ALWAYS_INLINE int q8_0(const struct blocks *some, int row, int i, int j)
{
    return as_signed(byte_bits(some, row, i * SLICE + j, 0, 8));
}

/* --- blocks of 256 numbers -------------------------------------------------------------------- */

/* Read two bits of q for a number of slice i. `from` is the byte offset of these bits in the block,
 * plus the index of the number in the slice. In each half of the block (128 numbers), the numbers
 * n, n + 32, n + 64 and n + 96 share a byte. */
static ALWAYS_INLINE int two_bits(const struct blocks *some, int row, int i, int from)
{
    return byte_bits(some, row, from + i / 8 * 32 + i % 2 * SLICE, i % 8 / 2 * 2, 2);
}

/* Q2_K: a block has, for each slice, a byte with the factors of scale and minimum, then the two
 * bits of each q. */
static ALWAYS_INLINE int q2_k(const struct blocks *some, int row, int i, int j)
{
    return two_bits(some, row, i, SLICE + j);
}

static ALWAYS_INLINE int q2_k_factor(const struct blocks *some, int row, int i, int j)
{
    return byte_bits(some, row, i, j, 4);
}

/* Q3_K: a block has the third bits of q, then the lower two bits, then sixteen factors of six bits
 * in twelve bytes: the lower four bits of slices i and i + 8 share a byte, then the upper two bits
 * of slices i, i + 4, i + 8 and i + 12 share a byte. */
static ALWAYS_INLINE int q3_k(const struct blocks *some, int row, int i, int j)
{
    return (two_bits(some, row, i, 32 + j) | byte_bits(some, row, i % 2 * SLICE + j, i / 2, 1)
                                                 << 2) -
           4;
}

static ALWAYS_INLINE int q3_k_times(const struct blocks *some, int row, int i, int j)
{
    (void)j;
    return (byte_bits(some, row, 96 + i % 8, i / 8 * 4, 4) |
            byte_bits(some, row, 104 + i % 4, i / 4 * 2, 2) << 4) -
           32;
}

/* Q4_K and Q5_K: a block begins with the factors of eight parts of 32 numbers, in twelve bytes:
 * each of the first four parts has six bits of a byte; each later part has four bits of another
 * byte, and the two bits that one of the first parts does not use. Then Q5_K has the fifth bits of
 * q. Last come the lower four bits of q, with two parts in one byte. */
static ALWAYS_INLINE int q4_k(const struct blocks *some, int row, int i, int j)
{
    return byte_bits(some, row, 12 + i / 4 * 32 + i % 2 * SLICE + j, i / 2 % 2 * 4, 4);
}

static ALWAYS_INLINE int q5_k(const struct blocks *some, int row, int i, int j)
{
    return byte_bits(some, row, 44 + i / 4 * 32 + i % 2 * SLICE + j, i / 2 % 2 * 4, 4) |
           byte_bits(some, row, 12 + i % 2 * SLICE + j, i / 2, 1) << 4;
}

static ALWAYS_INLINE int parts_factor(const struct blocks *some, int row, int i, int j)
{
    int at = i / 2 % 4;
    int first = byte_bits(some, row, at + j, 0, 6);
    int later = byte_bits(some, row, at + 8, j, 4) | byte_bits(some, row, at + j, 6, 2) << 4;
    return i / 2 < 4 ? first : later;
}

/* Q6_K: a block has the lower four bits of q, where the numbers n and n + 64 of each half (128
 * numbers) share a byte; then two more bits of q; then the factors of the slices. */
static ALWAYS_INLINE int q6_k(const struct blocks *some, int row, int i, int j)
{
    return (byte_bits(some, row, i / 8 * 64 + i % 4 * SLICE + j, i % 8 / 4 * 4, 4) |
            two_bits(some, row, i, 128 + j) << 4) -
           32;
}

static ALWAYS_INLINE int q6_k_times(const struct blocks *some, int row, int i, int j)
{
    (void)j;
    return as_signed(byte_bits(some, row, 192 + i, 0, 8));
}

/* --- types whose four bits are an index into a table ------------------------------------------ */

static ALWAYS_INLINE int named_in(const uint32_t four[4], int index)
{
    uint32_t first = index & 4 ? four[1] : four[0];
    uint32_t last = index & 4 ? four[3] : four[2];
    return as_signed((int)((index & 8 ? last : first) >> index % 4 * 8 & 255));
}

static ALWAYS_INLINE int named(int index)
{
    const uint32_t four[] = {0xbfad9881, 0xf6eaddcf, 0x26190d01, 0x71594535};
    return named_in(four, index);
}

/* MXFP4: the table has twice the value of each float of four bits: 0, 1, 2, 3, 4, 6, 8 or 12, with
 * a sign. The scale is halved to make up for this. */
static ALWAYS_INLINE int mxfp4(const struct blocks *some, int row, int i, int j)
{
    const uint32_t four[] = {0x03020100, 0x0c080604, 0xfdfeff00, 0xf4f8fafc};
    return named_in(four, q4_1(some, row, i, j));
}

/* Return the factor of the scale, always 1, for a type whose scale is a power of 2. read_scales
 * recognises such a type by this function. */
static ALWAYS_INLINE int one_of_power(const struct blocks *some, int row, int i, int j)
{
    return one(some, row, i, j);
}

static ALWAYS_INLINE int iq4_nl(const struct blocks *some, int row, int i, int j)
{
    return named(q4_1(some, row, i, j));
}

/* IQ4_XS: after the scale come the factors of the parts of 32 numbers: first the upper two bits of
 * each factor, then the lower four bits, with two parts in one byte. */
static ALWAYS_INLINE int iq4_xs(const struct blocks *some, int row, int i, int j)
{
    return named(byte_bits(some, row, 8 + i / 2 * SLICE + j, i % 2 * 4, 4));
}

static ALWAYS_INLINE int iq4_xs_times(const struct blocks *some, int row, int i, int j)
{
    (void)j;
    int part = i / 2;
    return (byte_bits(some, row, 4 + part / 2, part % 2 * 4, 4) |
            byte_bits(some, row, 2, part * 2, 2) << 4) -
           32;
}

/* --- blocks to floats ------------------------------------------------------------------------- */

/* The layout of a block, in bytes: the offset of the scale, the offset of the words, and the size
 * of all words (`count`). */
struct dtype_layout {
    int scale, words, count;
};

typedef uint32_t quad __attribute__((vector_size(4 * WORD_BYTES)));

/* Read four words of each of four rows, from byte `byte` on, and transpose them. */
static ALWAYS_INLINE void read_quads(uint32_t (*to)[DTYPE_ROWS], const char *const from[4],
                                     int byte)
{
    quad a[4];
    for (int i = 0; i < 4; i++)
        memcpy(&a[i], from[i] + byte, sizeof a[i]);
    quad low[] = {__builtin_shufflevector(a[0], a[1], 0, 4, 1, 5),
                  __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5)};
    quad high[] = {__builtin_shufflevector(a[0], a[1], 2, 6, 3, 7),
                   __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7)};
    a[0] = __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5);
    a[1] = __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7);
    a[2] = __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5);
    a[3] = __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7);
    for (int i = 0; i < 4; i++)
        memcpy(to[i], &a[i], sizeof a[i]);
}

static ALWAYS_INLINE void read_blocks(struct blocks *some, const char *const from[DTYPE_ROWS],
                                      size_t ahead, struct dtype_layout layout, bool has_min)
{
    int words = layout.count / WORD_BYTES;
    for (int row = 0; row < DTYPE_ROWS; row++) {
        some->scales[row] = 0;
        memcpy(&some->scales[row], from[row] + layout.scale, has_min ? 4 : 2);
        for (int line = 0; line < layout.count; line += LINE_BYTES)
            __builtin_prefetch(from[row] + ahead + line, 0, 2);
    }
    for (int row = 0; row < DTYPE_ROWS; row += 4)
        for (int i = 0; i < words; i += 4) { /* the last four words may overlap the previous four */
            int first = i < words - 4 ? i : words - 4;
            read_quads((uint32_t(*)[DTYPE_ROWS]) & some->words[first][row], from + row,
                       layout.words + first * WORD_BYTES);
        }
}

/* The scale and the minimum of one block of each row. */
struct scales {
    float scale[DTYPE_ROWS], min[DTYPE_ROWS];
};

static ALWAYS_INLINE void read_scales(struct scales *of, const struct blocks *restrict some,
                                      part_of_block *times, part_of_block *less)
{
#pragma omp simd
    for (int row = 0; row < DTYPE_ROWS; row++) {
        /* a scale that is a power of 2 is half of 2^(power - 127), subnormal if power is below 2 */
        uint32_t power = some->scales[row] & 255;
        of->scale[row] = times != one_of_power
                             ? float_of_half((uint16_t)some->scales[row])
                             : float_of_bits(power < 2 ? 0x200000U << power : (power - 1) << 23);
        of->min[row] = less ? float_of_half((uint16_t)(some->scales[row] >> HALF)) : 0;
    }
}

/* Set, for all rows, `step`, by which each q of slice i is multiplied, and `low`, which is
 * subtracted from the product. */
static ALWAYS_INLINE void read_steps(float *restrict step, float *restrict low,
                                     const struct scales *restrict of,
                                     const struct blocks *restrict some, int i,
                                     part_of_block *times, part_of_block *less)
{
#pragma omp simd
    for (int row = 0; row < DTYPE_ROWS; row++) {
        step[row] = of->scale[row] * (float)times(some, row, i, 0);
        low[row] = less ? of->min[row] * (float)less(some, row, i, 4) : 0;
    }
}

/* What to do with the numbers of one block of each row: store them as columns, add their products
 * with `x` to sums, or pack them. */
struct use {
    float *to; /* output: columns, `stride` floats apart; or, with `x`, a sum for each row */
    size_t stride;
    const float *x; /* the vector to multiply by; NULL: no products */
    char *packed;   /* output of packing: packed parts, `stride` bytes apart; NULL: nothing is
                     * packed */
};

static ALWAYS_INLINE void use_numbers(const struct use *use, const struct blocks *restrict some,
                                      int count, part_of_block *q, part_of_block *times,
                                      part_of_block *less, bool dots)
{
    float *restrict to = use->to;
    float sums[DTYPE_ROWS] = {0};
    struct scales of;
    read_scales(&of, some, times, less);
    if (dots)
        memcpy(sums, to, sizeof sums);
    for (int i = 0; i < count / SLICE; i++) {
        float step[DTYPE_ROWS], low[DTYPE_ROWS];
        read_steps(step, low, &of, some, i, times, less);
        float values[SLICE][DTYPE_ROWS];
        for (int j = 0; j < SLICE; j++) {
            float *restrict value = dots ? values[j] : to + j * use->stride;
#pragma omp simd
            for (int row = 0; row < DTYPE_ROWS; row++) {
                float product = (float)q(some, row, i, j) * step[row];
                value[row] = less ? product - low[row] : product;
            }
        }
        to += SLICE * use->stride;
        if (!dots)
            continue;
#pragma GCC unroll 16
        for (int j = 0; j < SLICE; j++) {
#pragma omp simd
            for (int row = 0; row < DTYPE_ROWS; row++)
                sums[row] = fmaf(use->x[i * SLICE + j], values[j][row], sums[row]);
        }
    }
    if (dots)
        memcpy(use->to, sums, sizeof sums);
}

static ALWAYS_INLINE void pack_numbers(const struct use *use, const struct blocks *restrict some,
                                       int count, part_of_block *q, part_of_block *times,
                                       part_of_block *less, struct dtype_packing packing)
{
    int numbers = (int)packing.numbers, bits = (int)packing.bits;
    int of_words = numbers * bits / 32;
    char *to = use->packed;
    struct scales of;
    read_scales(&of, some, times, less);
    for (int n = 0; n < count; n += numbers, to += use->stride) {
        float steps[2][DTYPE_ROWS];
        uint32_t words[FEW / WORD_BYTES][DTYPE_ROWS] = {{0}};
        read_steps(steps[0], steps[1], &of, some, n / SLICE, times, less);
        for (int k = n; k < n + numbers; k++) {
#pragma omp simd
            for (int row = 0; row < DTYPE_ROWS; row++) {
                int integer = q(some, row, k / SLICE, k % SLICE) - packing.offset;
                words[(k - n) % of_words][row] |= (uint32_t)integer << (k - n) / of_words * bits;
            }
        }
        size_t head = sizeof steps[0] * (packing.has_less ? 2 : 1);
        memcpy(to, steps, head);
        memcpy(to + head, words, (size_t)of_words * sizeof words[0]);
    }
}

/* The quantised types, in the order of enum dtype. Columns: the name; the functions that read q,
 * the factor of the scale and the factor of the minimum (NULL: no minimum); the numbers and the
 * bytes of a block; in packed form, the numbers that share a step, the bits of an integer and its
 * offset; the dtype_layout of a block. */
#define FOR_EACH_QUANTS(DO)                                                    \
    DO(Q4_0, q4_0, one, NULL, FEW, 18, 32, 4, -8, 0, 2, 16)                    \
    DO(Q4_1, q4_1, one, minus_one, FEW, 20, 32, 4, 0, 0, 4, 16)                \
    DO(Q5_0, q5_0, one, NULL, FEW, 22, 32, 8, -128, 0, 2, 20)                  \
    DO(Q5_1, q5_1, one, minus_one, FEW, 24, 32, 8, 0, 0, 4, 20)                \
    DO(Q8_0, q8_0, one, NULL, FEW, 34, 32, 8, -128, 0, 2, 32)                  \
    DO(Q2_K, q2_k, q2_k_factor, q2_k_factor, MANY, 84, 16, 4, 0, 80, 0, 80)    \
    DO(Q3_K, q3_k, q3_k_times, NULL, MANY, 110, 16, 4, -8, 108, 0, 108)        \
    DO(Q4_K, q4_k, parts_factor, parts_factor, MANY, 144, 32, 4, 0, 0, 4, 140) \
    DO(Q5_K, q5_k, parts_factor, parts_factor, MANY, 176, 32, 8, 0, 0, 4, 172) \
    DO(Q6_K, q6_k, q6_k_times, NULL, MANY, 210, 16, 8, -128, 208, 0, 208)      \
    DO(IQ4_NL, iq4_nl, one, NULL, FEW, 18, 32, 8, -128, 0, 2, 16)              \
    DO(IQ4_XS, iq4_xs, iq4_xs_times, NULL, MANY, 136, 32, 8, -128, 0, 0, 136)  \
    DO(MXFP4, mxfp4, one_of_power, NULL, FEW, 17, 32, 8, -128, 0, 1, 16)

typedef void block_loop(const struct use *use, const char *const *from, size_t ahead);

#define MAKE_LOOP(loop, function, how, q, times, less, count, ...)                           \
    FOR_EACH_ISA                                                                             \
    static void loop(const struct use *use, const char *const *from, size_t ahead)           \
    {                                                                                        \
        struct blocks some;                                                                  \
        read_blocks(&some, from, ahead, (struct dtype_layout){__VA_ARGS__}, (less) != NULL); \
        function(use, &some, count, q, times, less, how);                                    \
    }

#define PACKING(less, numbers, bits, offset)  \
    (struct dtype_packing)                    \
    {                                         \
        numbers, bits, offset, (less) != NULL \
    }

#define MAKE_LOOPS(name, q, times, less, count, bytes, numbers, bits, offset, ...)            \
    MAKE_LOOP(columns_of_##name, use_numbers, false, q, times, less, count, __VA_ARGS__)      \
    MAKE_LOOP(dots_of_##name, use_numbers, true, q, times, less, count, __VA_ARGS__)          \
    MAKE_LOOP(packed_of_##name, pack_numbers, PACKING(less, numbers, bits, offset), q, times, \
              less, count, __VA_ARGS__)

FOR_EACH_QUANTS(MAKE_LOOPS)

#define MAKE_ROW(name, q, times, less, count, bytes, numbers, bits, offset, ...) \
    [DTYPE_##name - DTYPE_COUNT] = {#name,                                       \
                                    count,                                       \
                                    bytes,                                       \
                                    columns_of_##name,                           \
                                    dots_of_##name,                              \
                                    packed_of_##name,                            \
                                    {numbers, bits, offset, (less) != NULL}},

static const struct quants {
    const char *name;
    size_t block, bytes; /* `block`: numbers in a block; `bytes`: bytes of a block */
    block_loop *columns, *dots, *packed;
    struct dtype_packing packing;
} quants_rows[] = {FOR_EACH_QUANTS(MAKE_ROW)};

_Static_assert(sizeof quants_rows / sizeof *quants_rows == DTYPE_END - DTYPE_COUNT,
               "a row for each type");

/* --- types ------------------------------------------------------------------------------------ */

/* Files are little-endian, and weights are used in place. */
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

/* Convert a quantised row to floats, sixteen blocks at a time. */
static void widen_quants(float *out, const char *in, const struct quants *quants, size_t count)
{
    const char *from[DTYPE_ROWS];
    float columns[MANY * DTYPE_ROWS];
    for (size_t blocks = count / quants->block, some = 0; blocks > 0; blocks -= some) {
        some = num_min(DTYPE_ROWS, blocks);
        for (size_t i = 0; i < DTYPE_ROWS; i++) /* copies of the last block replace missing rows */
            from[i] = in + (i < some ? i : some - 1) * quants->bytes;
        quants->columns(&(struct use){.to = columns, .stride = DTYPE_ROWS}, from, 0);
        for (size_t i = 0; i < some; i++, in += quants->bytes)
            for (size_t n = 0; n < quants->block; n++)
                *out++ = columns[n * DTYPE_ROWS + i];
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
    /* BF16 is the upper half of a float32 */
    for (size_t i = 0; dtype == DTYPE_BF16 && i < count; i++) {
        memcpy(&half, from + i * sizeof half, sizeof half);
        out[i] = float_of_bits((uint32_t)half << 16);
    }
    for (size_t i = 0; dtype == DTYPE_F64 && i < count; i++) {
        memcpy(&wide, from + i * sizeof wide, sizeof wide);
        out[i] = (float)wide;
    }
}

struct dtype_packing dtype_packing(enum dtype dtype)
{
    return quants_rows[dtype - DTYPE_COUNT].packing;
}

size_t dtype_packed_bytes(const struct dtype_packing *packing)
{
    size_t steps = packing->has_less ? 2 : 1;
    return DTYPE_ROWS * (steps * sizeof(float) + packing->numbers * packing->bits / 8);
}

static void use_rows(struct use use, const char *const from[DTYPE_ROWS], enum dtype dtype,
                     size_t count, size_t jump)
{
    assert(dtype_is_quantised(dtype));
    const struct quants *quants = &quants_rows[dtype - DTYPE_COUNT];
    const char *at[DTYPE_ROWS];
    memcpy(at, from, sizeof at);
    for (size_t i = 0; i < count; i += quants->block) {
        (use.packed ? quants->packed : use.x ? quants->dots : quants->columns)(&use, at, jump);
        if (use.packed)
            use.packed += quants->block / quants->packing.numbers * use.stride;
        else
            use.to += use.x ? 0 : quants->block * use.stride;
        use.x += use.x ? quants->block : 0;
        for (size_t row = 0; row < DTYPE_ROWS; row++)
            at[row] += quants->bytes;
    }
}

void dtype_to_columns(float *to, size_t stride, const char *const from[DTYPE_ROWS],
                      enum dtype dtype, size_t count, size_t jump)
{
    use_rows((struct use){.to = to, .stride = stride}, from, dtype, count, jump);
}

void dtype_add_dots(float sums[DTYPE_ROWS], const float *x, const char *const from[DTYPE_ROWS],
                    enum dtype dtype, size_t count, size_t jump)
{
    use_rows((struct use){.to = sums, .x = x}, from, dtype, count, jump);
}

void dtype_pack(char *to, size_t apart, const char *const from[DTYPE_ROWS], enum dtype dtype,
                size_t count)
{
    use_rows((struct use){.packed = to, .stride = apart}, from, dtype, count, 0);
}
