#include "format/dtype.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/num.h"
#include "format/half.h"

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
    else if (dtype_is_quantised(dtype))
        quants_rows[dtype - DTYPE_COUNT].widen(out, in,
                                               count / quants_rows[dtype - DTYPE_COUNT].block);
    else if (count > 0)
        memcpy(out, in, count * sizeof *out);
}
