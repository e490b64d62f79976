/* npy.h: numpy's file of one array, version 1.0, float32, C order, data aligned to 64 bytes. */
#ifndef ATTN_FORMAT_NPY_H
#define ATTN_FORMAT_NPY_H

#include <stddef.h>

#include "base/stream.h"

/* Write header and data of a dense array; failures stick to the stream. */
void npy_write(struct stream *out, size_t rank, const size_t *shape, const float *data);

#endif
