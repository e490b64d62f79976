#include "math/tensor.h"

#include <string.h>

#include "base/memory.h"

struct matrix matrix_new(size_t rows, size_t columns, struct arena *arena, struct err *err)
{
    float *data = arena_alloc(arena, rows, columns * sizeof *data, err);
    return (struct matrix){data, rows, columns, columns};
}

size_t matrix_stride(size_t columns)
{
    enum { LINE = 16 }; /* floats of a cache line */
    size_t lines = (columns + LINE - 1) / LINE;
    return (lines | 1) * LINE;
}

struct tensor tensor_dense(const float *data, size_t rank, const size_t *shape)
{
    struct tensor tensor = {.data = data, .rank = rank};
    size_t stride = 1;
    for (size_t axis = rank; axis-- > 0; stride *= shape[axis]) {
        tensor.shape[axis] = shape[axis];
        tensor.stride[axis] = stride;
    }
    return tensor;
}

size_t tensor_count(const struct tensor *tensor)
{
    size_t count = 1;
    for (size_t axis = 0; axis < tensor->rank; axis++)
        count *= tensor->shape[axis];
    return count;
}

struct tensor tensor_slice(const struct tensor *tensor, size_t index)
{
    struct tensor slice = {.data = tensor->data + index * tensor->stride[0],
                           .rank = tensor->rank - 1};
    for (size_t axis = 0; axis < slice.rank; axis++) {
        slice.shape[axis] = tensor->shape[axis + 1];
        slice.stride[axis] = tensor->stride[axis + 1];
    }
    return slice;
}

void tensor_copy(float *out, const struct tensor *tensor)
{
    size_t inner = tensor->rank - 1;
    if (tensor->rank > 1) {
        for (size_t i = 0; i < tensor->shape[0]; i++) {
            struct tensor slice = tensor_slice(tensor, i);
            tensor_copy(out + i * tensor_count(&slice), &slice);
        }
    } else if (tensor->stride[inner] == 1) {
        memcpy(out, tensor->data, tensor->shape[inner] * sizeof *out);
    } else {
        for (size_t i = 0; i < tensor->shape[inner]; i++)
            out[i] = tensor->data[i * tensor->stride[inner]];
    }
}
