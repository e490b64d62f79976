#include <string.h>

#include "odd.h"
#include "tensors.h"

enum { RANK_MAX = 2 * SAFETENSORS_RANK_MAX, FLOAT_EXPONENT = 23, SCALES = 200 };

static size_t count_of(const struct tensor_made *tensor)
{
    return tensor->size / dtype_size_bytes(tensor->dtype);
}

/* Elements in a row of the last axis. */
static size_t width_of(const struct tensor_made *tensor)
{
    size_t width = tensor->rank ? tensor->shape[tensor->rank - 1] : 1;
    return width ? width : 1;
}

static void odd_bytes(char bytes[8], enum dtype dtype, struct made *made)
{
    uint32_t single = odd_float(made);
    uint16_t half = dtype == DTYPE_F16 ? odd_half(made) : odd_bf16(made);
    float value;
    memcpy(&value, &single, sizeof value);
    double wide = value;
    memset(bytes, 0, 8);
    if (dtype == DTYPE_F64)
        memcpy(bytes, &wide, sizeof wide);
    else if (dtype == DTYPE_F32)
        memcpy(bytes, &single, sizeof single);
    else
        memcpy(bytes, &half, sizeof half);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* So many elements from one on are the same odd number. */
static void fill(struct tensor_made *tensor, size_t first, size_t count, struct made *made)
{
    char bytes[8];
    size_t size = dtype_size_bytes(tensor->dtype);
    odd_bytes(bytes, tensor->dtype, made);
    for (size_t i = first; i < first + count && i < count_of(tensor); i++)
        memcpy(tensor->data + i * size, bytes, size);
}

static void odd_elements(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    size_t count = 1 + made_below(made, 4);
    (void)tensors;
    for (size_t i = 0; i < count && count_of(tensor); i++)
        fill(tensor, made_below(made, count_of(tensor)), 1, made);
}

static void equal_row(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    size_t width = width_of(tensor);
    size_t rows = count_of(tensor) / width;
    (void)tensors;
    if (rows)
        fill(tensor, made_below(made, rows) * width, width, made);
}

static void equal_all(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    (void)tensors;
    fill(tensor, 0, count_of(tensor), made);
}

/* All of it, or all tensors, by a power of two, as far as exponents go. */
static void scale(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    int power = (int)made_below(made, SCALES) - SCALES / 2;
    bool all = made_one_in(made, 4);
    for (size_t t = 0; t < tensors->count; t++) {
        struct tensor_made *one = all ? &tensors->items[t] : tensor;
        for (size_t i = 0; one->dtype == DTYPE_F32 && i < count_of(one); i++) {
            uint32_t bits;
            memcpy(&bits, one->data + 4 * i, sizeof bits);
            int exponent = (int)(bits >> FLOAT_EXPONENT & 0xff) + power;
            exponent = exponent < 0 ? 0 : exponent > 254 ? 254 : exponent;
            bits = (bits & 0x807fffff) | (uint32_t)exponent << FLOAT_EXPONENT;
            memcpy(one->data + 4 * i, &bits, sizeof bits);
        }
        if (!all)
            break;
    }
}

static void same_rows(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    size_t bytes = width_of(tensor) * dtype_size_bytes(tensor->dtype);
    size_t rows = tensor->size / bytes;
    (void)tensors;
    (void)made;
    for (size_t i = 1; i < rows; i++)
        memcpy(tensor->data + i * bytes, tensor->data, bytes);
}

/* --- types and shapes ------------------------------------------------------------------------- */

/* The same numbers as another type. */
static void retype(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    size_t count = count_of(tensor);
    (void)tensors;
    if (tensor->dtype == DTYPE_F16 || tensor->dtype == DTYPE_BF16) {
        tensor->dtype = tensor->dtype == DTYPE_F16 ? DTYPE_BF16 : DTYPE_F16;
        return;
    }
    if (tensor->dtype != DTYPE_F32)
        return;
    bool wide = made_one_in(made, 2);
    char *data = made_memory(arena_alloc(&made->arena, count * 8 + 1, 1, NULL));
    for (size_t i = 0; i < count; i++) {
        float value;
        memcpy(&value, tensor->data + 4 * i, sizeof value);
        double number = value;
        if (wide)
            memcpy(data + 8 * i, &number, sizeof number);
        else
            memcpy(data + 2 * i, tensor->data + 4 * i + 2, 2); /* the upper half of a float */
    }
    tensor->data = data;
    tensor->dtype = wide ? DTYPE_F64 : DTYPE_BF16;
    tensor->size = count * dtype_size_bytes(tensor->dtype);
}

static void any_type(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    enum dtype dtype = (enum dtype)made_below(made, DTYPE_COUNT);
    (void)tensors;
    if (dtype_size_bytes(dtype) == dtype_size_bytes(tensor->dtype))
        tensor->dtype = dtype;
}

/* Axes exchanged, an axis of 1 more, or all in one: the bytes stay. */
static void reshape(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    size_t last = tensor->rank ? tensor->rank - 1 : 0;
    size_t first = tensor->shape[0];
    size_t axes = made_below(made, RANK_MAX + 1 - tensor->rank);
    (void)tensors;
    switch (made_below(made, 3)) {
    case 0:
        tensor->shape[0] = tensor->shape[last];
        tensor->shape[last] = first;
        break;
    case 1:
        for (size_t i = 0; i < axes; i++)
            tensor->shape[tensor->rank++] = 1;
        break;
    default:
        tensor->rank = 1;
        tensor->shape[0] = count_of(tensor);
    }
}

/* --- names and order -------------------------------------------------------------------------- */

static const char *prefixed(const char *prefix, const char *name, struct made *made)
{
    struct buf text = {0};
    buf_format(&text, "%s%s", prefix, name);
    const char *kept = made_memory(arena_text(&made->arena, text.bytes, text.size, NULL));
    buf_release(&text);
    return kept;
}

static void rename_one(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    static const char *const prefixes[] = {"transformer.", "model.", "transformer.transformer."};
    (void)tensors;
    tensor->name = made_one_in(made, 2) ? odd_text(made)
                                        : prefixed(MADE_PICK(made, prefixes), tensor->name, made);
}

static void rename_all(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    (void)tensor;
    for (size_t i = 0; i < tensors->count; i++)
        tensors->items[i].name = prefixed("transformer.", tensors->items[i].name, made);
}

static void reorder(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    (void)tensor;
    for (size_t i = 0; i < tensors->count; i++) {
        struct tensor_made held = tensors->items[i];
        struct tensor_made *other = &tensors->items[made_below(made, tensors->count)];
        tensors->items[i] = *other;
        *other = held;
    }
}

/* One more that nobody asked for: of another name, of no elements, of no axes, of many. */
static void add_tensor(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    if (tensors->count == TENSORS_MAX)
        return;
    struct tensor_made *more = &tensors->items[tensors->count++];
    *more = *tensor;
    more->name =
        made_one_in(made, 3) ? odd_text(made) : prefixed("transformer.", tensor->name, made);
    if (made_one_in(made, 2))
        return;
    more->rank = made_below(made, SAFETENSORS_RANK_MAX + 2);
    for (size_t i = 0; i < more->rank; i++)
        more->shape[i] = 1;
    size_t length = made_below(made, 2);
    if (more->rank)
        more->shape[made_below(made, more->rank)] = length;
    more->size = more->rank ? more->shape[0] : 1;
    for (size_t i = 1; i < more->rank; i++)
        more->size *= more->shape[i];
    more->size *= dtype_size_bytes(more->dtype);
}

static void leave_out(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    (void)made;
    *tensor = tensors->items[--tensors->count];
}

static void add_note(struct tensors *tensors, struct tensor_made *tensor, struct made *made)
{
    static const size_t paddings[] = {0, 1, 7, 8, 100, 100000};
    (void)tensor;
    tensors->note = odd_text(made);
    tensors->padding = MADE_PICK(made, paddings);
}

void tensors_change(struct tensors *tensors, struct made *made)
{
    static void (*const changes[])(struct tensors *, struct tensor_made *, struct made *) = {
        odd_elements, odd_elements, odd_elements, equal_row, equal_row, equal_all,  scale,
        scale,        same_rows,    retype,       any_type,  reshape,   rename_one, rename_all,
        reorder,      add_tensor,   add_tensor,   leave_out, add_note,
    };
    if (!tensors->count)
        return;
    size_t change = made_below(made, sizeof changes / sizeof *changes);
    changes[change](tensors, &tensors->items[made_below(made, tensors->count)], made);
}
