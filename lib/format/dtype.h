/* dtype.h: the number types of tensor files, and their conversion to float32: the types of
 * safetensors, and GGUF's quantised types, which store a row as blocks.
 *
 *     dtype_to_float(row, data + dtype_bytes(DTYPE_Q4_K, i * columns), DTYPE_Q4_K, columns);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum dtype {
    DTYPE_BOOL,
    DTYPE_U8,
    DTYPE_I8,
    DTYPE_F8_E5M2,
    DTYPE_F8_E4M3,
    DTYPE_I16,
    DTYPE_U16,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_I32,
    DTYPE_U32,
    DTYPE_F32,
    DTYPE_F64,
    DTYPE_I64,
    DTYPE_U64,
    DTYPE_COUNT, /* the number of types in safetensors files; the types that follow occur only in
                  * GGUF files */
    DTYPE_Q4_0 = DTYPE_COUNT,
    DTYPE_Q4_1,
    DTYPE_Q5_0,
    DTYPE_Q5_1,
    DTYPE_Q8_0,
    DTYPE_Q2_K,
    DTYPE_Q3_K,
    DTYPE_Q4_K,
    DTYPE_Q5_K,
    DTYPE_Q6_K,
    DTYPE_IQ4_NL,
    DTYPE_IQ4_XS,
    DTYPE_MXFP4,
    DTYPE_END,
};

enum { DTYPE_BLOCK_MAX = 256 }; /* elements of the largest block; a multiple of every block size */

/* dtype_name returns the name of a type in files, such as "BF16". dtype_find finds the type with a
 * name, and returns false if there is none. */
const char *dtype_name(enum dtype dtype);
bool dtype_find(const char *name, enum dtype *dtype);

/* dtype_size_bytes returns the bytes of one element; the type must not be quantised. dtype_bytes
 * returns the bytes of `count` elements, which must be whole blocks if the type is quantised. */
size_t dtype_size_bytes(enum dtype dtype);
size_t dtype_bytes(enum dtype dtype, size_t count);

/* Round a number of elements up to whole blocks. */
size_t dtype_whole(enum dtype dtype, size_t count);

/* Return the size in bytes of a dense float32 array; the size must fit in a size_t. */
size_t dtype_float_bytes(size_t rank, const size_t *shape);

/* True for the types that weights may have: F32, F16, BF16, F64, and the quantised types. */
bool dtype_is_weight(enum dtype dtype);

static inline bool dtype_is_quantised(enum dtype dtype)
{
    return dtype >= DTYPE_COUNT;
}

/* Convert `count` elements of a weight type, in whole blocks, to float32. `in` needs no alignment.
 * F16 and BF16 are exact, F64 is rounded to nearest; a quantised number is computed in float32,
 * with each product and each difference rounded. */
void dtype_to_float(float *out, const void *in, enum dtype dtype, size_t count);

/* Convert `count` numbers, in whole blocks, of sixteen quantised rows, and transpose them: to[i *
 * stride + row] = number i of from[row]. Prefetches the bytes that are `jump` bytes after each
 * block. */
enum { DTYPE_ROWS = 16 };
void dtype_to_columns(float *to, size_t stride, const char *const from[DTYPE_ROWS],
                      enum dtype dtype, size_t count, size_t jump);

/* For each of sixteen rows, add the dot product of x and from[row] to sums[row], by fused
 * multiply-adds in order. `from`, `count` and `jump` are as for dtype_to_columns. */
void dtype_add_dots(float sums[DTYPE_ROWS], const float *x, const char *const from[DTYPE_ROWS],
                    enum dtype dtype, size_t count, size_t jump);

/* The packed form of DTYPE_ROWS quantised rows, for rows that are multiplied by many vectors: a
 * sequence of parts. A part has `numbers` numbers of each row: first the steps [DTYPE_ROWS] as
 * floats; then, if `has_less`, the values to subtract [DTYPE_ROWS]; then words [numbers · bits /
 * 32][DTYPE_ROWS], whose lowest bits are the first numbers and whose next bits are the next
 * numbers. A number is (integer + offset) · step - less, where each product and each difference is
 * rounded once. */
struct dtype_packing {
    size_t numbers; /* how many numbers of a row share a step: 16 or 32 */
    size_t bits;    /* bits of each packed integer, which is unsigned: 4 or 8 */
    int offset;
    bool has_less;
};
struct dtype_packing dtype_packing(enum dtype dtype);
size_t dtype_packed_bytes(const struct dtype_packing *packing); /* returns the bytes of a packed
                                                                 * part */

/* Pack `count` numbers, in whole blocks, of DTYPE_ROWS rows; the parts begin `apart`
 * bytes apart. */
void dtype_pack(char *to, size_t apart, const char *const from[DTYPE_ROWS], enum dtype dtype,
                size_t count);

static inline float float_of_bits(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Convert an IEEE 754 binary16, which has 1 sign bit, 5 exponent bits (bias 15) and 10 fraction
 * bits, to a float32, which has 1, 8 (bias 127) and 23. A subnormal half is fraction · 2^-24, which
 * is a normal float32. There is no branch, so compilers can vectorise the conversion. */
static inline float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;
    uint32_t subnormal = 0;
    float small = (float)(int32_t)fraction * 0x1p-24f;
    memcpy(&subnormal, &small, sizeof subnormal);
    uint32_t normal = (exponent == 0x1f ? 0xff : exponent + 127 - 15) << 23 | fraction << 13;
    return float_of_bits(sign | (exponent ? normal : subnormal));
}

/* Convert a float32 to binary16: round to nearest, ties to even. For a result that is subnormal,
 * adding 1/2 rounds at the last place of binary16. */
static inline uint16_t half_of_float(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t rest = bits & 0x7fffffff;
    if (rest >= 0x47800000)
        return sign | (rest > 0x7f800000 ? 0x7e00 : 0x7c00);
    float small = float_of_bits(rest) + 0.5f;
    memcpy(&bits, &small, sizeof bits);
    bool is_subnormal = rest < 0x38800000;
    rest += 0xfff + (rest >> 13 & 1) - (112 << 23);
    return (uint16_t)(sign | (is_subnormal ? bits - 0x3f000000 : rest >> 13));
}
