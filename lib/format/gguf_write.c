/* gguf_write.c: what gguf.c reads, made and written: version 3. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "format/gguf.h"

enum { VERSION = 3, ALIGNMENT = 32 };

static int put_pair(struct gguf *gguf, const char *key, struct gguf_value value, struct err *err)
{
    struct arena *arena = &gguf->arena;
    gguf->pairs = arena_grow(arena, gguf->pairs, gguf->pair_count, sizeof *gguf->pairs, err);
    const char *name = gguf->pairs ? arena_text(arena, key, strlen(key), err) : NULL;
    value.bytes = name ? arena_text(arena, value.bytes, value.size, err) : NULL;
    if (!value.bytes || map_put(&gguf->keys, name, strlen(name), (uint32_t)gguf->pair_count, err))
        return -1;
    gguf->pairs[gguf->pair_count++] = (struct gguf_pair){name, value};
    return 0;
}

static int put(struct gguf *gguf, const char *key, enum gguf_kind kind, const void *bytes,
               size_t size, struct err *err)
{
    struct gguf_value value = {.kind = kind, .count = 1, .bytes = bytes, .size = size};
    return put_pair(gguf, key, value, err);
}

int gguf_put_integer(struct gguf *gguf, const char *key, uint64_t number, struct err *err)
{
    uint32_t bits = (uint32_t)number;
    if (number > UINT32_MAX)
        return err_unsupported(err, "key '%s': expected a number of 32 bits, found %" PRIu64, key,
                               number);
    return put(gguf, key, GGUF_U32, &bits, sizeof bits, err);
}

int gguf_put_float(struct gguf *gguf, const char *key, float number, struct err *err)
{
    return put(gguf, key, GGUF_F32, &number, sizeof number, err);
}

int gguf_put_bool(struct gguf *gguf, const char *key, bool value, struct err *err)
{
    return put(gguf, key, GGUF_BOOL, &(char){value}, 1, err);
}

int gguf_put_text(struct gguf *gguf, const char *key, const char *text, struct err *err)
{
    return put(gguf, key, GGUF_TEXT, text, strlen(text), err);
}

int gguf_put_array(struct gguf *gguf, const char *key, enum gguf_kind item_kind, size_t count,
                   const struct buf *items, struct err *err)
{
    struct gguf_value value = {.kind = GGUF_ARRAY,
                               .item_kind = item_kind,
                               .count = count,
                               .bytes = items->size ? items->bytes : "",
                               .size = items->size};
    return buf_check(items, err) ? -1 : put_pair(gguf, key, value, err);
}

void gguf_add_text(struct buf *items, const char *bytes, size_t size)
{
    buf_number(items, size, GGUF_LENGTH_BYTES);
    buf_bytes(items, bytes, size);
}

size_t gguf_gap(const struct gguf *gguf, size_t size)
{
    size_t alignment = gguf->alignment ? gguf->alignment : ALIGNMENT;
    return (alignment - size % alignment) % alignment;
}

int gguf_add_tensor(struct gguf *gguf, const char *name, const char *type, size_t rank,
                    const size_t *shape, struct err *err)
{
    struct arena *arena = &gguf->arena;
    size_t count = gguf->tensor_count;
    struct gguf_tensor tensor = {.rank = rank, .count = 1};
    gguf->tensors = arena_grow(arena, gguf->tensors, count, sizeof *gguf->tensors, err);
    tensor.name = gguf->tensors ? arena_text(arena, name, strlen(name), err) : NULL;
    if (!tensor.name || map_put(&gguf->names, tensor.name, strlen(name), (uint32_t)count, err))
        return -1;
    assert(rank >= 1 && rank <= GGUF_RANK_MAX);
    for (size_t i = 0; i < rank; i++) {
        tensor.sizes[i] = shape[rank - 1 - i];
        tensor.count *= shape[i];
    }
    tensor.type = gguf_types;
    while (!tensor.type->name || strcmp(tensor.type->name, type) != 0)
        if (++tensor.type == gguf_types + GGUF_TYPES)
            return err_unsupported(err, "tensor '%s': expected a type that GGUF has, found %s",
                                   name, type);
    size_t end = count ? gguf->tensors[count - 1].end : 0;
    tensor.begin = end + gguf_gap(gguf, end);
    tensor.end = tensor.begin + tensor.count / tensor.type->block * tensor.type->block_bytes;
    gguf->tensors[gguf->tensor_count++] = tensor;
    return 0;
}

static void put_value(struct buf *out, const struct gguf_value *value)
{
    buf_number(out, value->kind, 4);
    if (value->kind == GGUF_ARRAY) {
        buf_number(out, value->item_kind, 4);
        buf_number(out, value->count, GGUF_LENGTH_BYTES);
    }
    if (value->kind == GGUF_TEXT)
        buf_number(out, value->size, GGUF_LENGTH_BYTES);
    buf_bytes(out, value->bytes, value->size);
}

int gguf_write_header(struct buf *out, const struct gguf *gguf, struct err *err)
{
    buf_text(out, "GGUF");
    buf_number(out, VERSION, 4);
    buf_number(out, gguf->tensor_count, 8);
    buf_number(out, gguf->pair_count, 8);
    for (size_t i = 0; i < gguf->pair_count; i++) {
        gguf_add_text(out, gguf->pairs[i].key, strlen(gguf->pairs[i].key));
        put_value(out, &gguf->pairs[i].value);
    }
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        const struct gguf_tensor *tensor = &gguf->tensors[i];
        gguf_add_text(out, tensor->name, strlen(tensor->name));
        buf_number(out, tensor->rank, 4);
        for (size_t axis = 0; axis < tensor->rank; axis++)
            buf_number(out, tensor->sizes[axis], 8);
        buf_number(out, (uint64_t)(tensor->type - gguf_types), 4);
        buf_number(out, tensor->begin, 8);
    }
    buf_fill(out, 0, gguf_gap(gguf, out->size));
    return buf_check(out, err);
}
