/* dtype.h: the number types of tensor files, and how to read them as float32. */
#ifndef ATTN_FORMAT_DTYPE_H
#define ATTN_FORMAT_DTYPE_H

#include <stdbool.h>
#include <stddef.h>

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
    DTYPE_COUNT,
};

/* safetensors' name ("BF16") and the bytes of one element. */
const char *dtype_name(enum dtype dtype);
size_t dtype_size_bytes(enum dtype dtype);

/* The bytes of a dense float32 array, which is there or will be: they are a size_t. */
size_t dtype_float_bytes(size_t rank, const size_t *shape);

/* The type of that name; false when there is none. */
bool dtype_find(const char *name, enum dtype *dtype);

/* True for the types that weights may have: F32, F16, BF16, F64. */
bool dtype_is_weight(enum dtype dtype);

/* Read `count` elements as float32. Only weight types; `in` needs no alignment. F16 and BF16 are
 * exact, subnormals and infinities included; F64 is rounded to the nearest. */
void dtype_to_float(float *out, const void *in, enum dtype dtype, size_t count);

#endif
