#include "format/safetensors.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/num.h"

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
    return types[dtype].name;
}

size_t dtype_size_bytes(enum dtype dtype)
{
    return types[dtype].size_bytes;
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
    for (int i = 0; i < DTYPE_COUNT; i++) {
        if (strcmp(types[i].name, name) == 0) {
            *dtype = (enum dtype)i;
            return true;
        }
    }
    return false;
}

bool dtype_is_weight(enum dtype dtype)
{
    return dtype == DTYPE_F32 || dtype == DTYPE_F16 || dtype == DTYPE_BF16 || dtype == DTYPE_F64;
}

static float float_of_bits(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 1 sign, 5 exponent (bias 15), 10 fraction bits; float32 has 1, 8 (bias 127), 23. A subnormal is
 * fraction · 2^-24 and a normal float32. No branches, so that compilers make a vector loop of it.
 */
static float float_of_half(uint16_t half)
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

static void read_halves(float *restrict out, const char *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half = 0;
        memcpy(&half, in + i * sizeof half, sizeof half);
        out[i] = float_of_half(half);
    }
}

/* The upper half of a float32. */
static void read_brain_floats(float *restrict out, const char *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t upper = 0;
        memcpy(&upper, in + i * sizeof upper, sizeof upper);
        out[i] = float_of_bits((uint32_t)upper << 16);
    }
}

static void read_doubles(float *restrict out, const char *restrict in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value = 0;
        memcpy(&value, in + i * sizeof value, sizeof value);
        out[i] = (float)value;
    }
}

void dtype_to_float(float *out, const void *in, enum dtype dtype, size_t count)
{
    assert(dtype_is_weight(dtype));
    if (dtype == DTYPE_F16)
        read_halves(out, in, count);
    else if (dtype == DTYPE_BF16)
        read_brain_floats(out, in, count);
    else if (dtype == DTYPE_F64)
        read_doubles(out, in, count);
    else if (count > 0)
        memcpy(out, in, count * sizeof *out);
}
