#include "tensors.h"

#include <string.h>

enum { HEADER_BYTES = 8 };

static void read_entry(struct tensor_made *tensor, const struct safetensors_entry *entry,
                       struct made *made)
{
    size_t size = entry->end - entry->begin;
    *tensor = (struct tensor_made){.dtype = entry->dtype, .rank = entry->rank, .size = size};
    tensor->name = made_memory(arena_text(&made->arena, entry->name, strlen(entry->name), NULL));
    tensor->data = made_memory(arena_text(&made->arena, entry->data, size, NULL));
    memcpy(tensor->shape, entry->shape, entry->rank * sizeof *entry->shape);
}

int tensors_read(struct tensors *tensors, const struct folder_file *file, struct made *made)
{
    static struct err err;
    struct folder folder = {"made", file, 1};
    struct safetensors read = {0};
    *tensors = (struct tensors){0};
    err_clear(&err);
    if (safetensors_open(&read, &folder, file->name, &err))
        return -1;
    for (; tensors->count < read.count && tensors->count < TENSORS_MAX; tensors->count++)
        read_entry(&tensors->items[tensors->count], &read.entries[tensors->count], made);
    int failed = tensors->count < read.count;
    safetensors_release(&read);
    return failed ? -1 : 0;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void add_text(struct buf *out, const char *text)
{
    buf_char(out, '"');
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\')
            buf_format(out, "\\u%04x", *text);
        else
            buf_char(out, *text);
    buf_char(out, '"');
}

static void add_entry(struct buf *out, const struct tensor_made *tensor, size_t begin)
{
    add_text(out, tensor->name);
    buf_format(out, ": {\"dtype\": \"%s\", \"shape\": [", dtype_name(tensor->dtype));
    for (size_t i = 0; i < tensor->rank; i++)
        buf_format(out, i ? ", %zu" : "%zu", tensor->shape[i]);
    buf_format(out, "], \"data_offsets\": [%zu, %zu]}", begin, begin + tensor->size);
}

void tensors_write_some(struct buf *out, const struct tensors *tensors, size_t first, size_t end)
{
    struct buf header = {0};
    size_t begin = 0;
    const char *comma = "";
    buf_char(&header, '{');
    if (tensors->note) {
        buf_text(&header, "\"__metadata__\": {\"note\": ");
        add_text(&header, tensors->note);
        buf_char(&header, '}');
        comma = ", ";
    }
    for (size_t i = first; i < end; begin += tensors->items[i++].size, comma = ", ") {
        buf_text(&header, comma);
        add_entry(&header, &tensors->items[i], begin);
    }
    buf_char(&header, '}');
    buf_fill(&header, ' ', tensors->padding);
    for (size_t i = 0; i < HEADER_BYTES; i++)
        buf_char(out, (char)(header.size >> 8 * i & 0xff));
    buf_bytes(out, header.bytes, header.size);
    for (size_t i = first; i < end; i++)
        buf_bytes(out, tensors->items[i].data, tensors->items[i].size);
    buf_release(&header);
}

void tensors_write(struct buf *out, const struct tensors *tensors)
{
    tensors_write_some(out, tensors, 0, tensors->count);
}

struct tensor_made *tensors_find(struct tensors *tensors, const char *ending)
{
    size_t size = strlen(ending);
    for (size_t i = 0; i < tensors->count; i++) {
        size_t length = strlen(tensors->items[i].name);
        if (length >= size && strcmp(tensors->items[i].name + length - size, ending) == 0)
            return &tensors->items[i];
    }
    return NULL;
}

void tensors_double_rows(struct tensor_made *tensor, struct made *made)
{
    char *data = made_memory(arena_alloc(&made->arena, 2 * tensor->size + 1, 1, NULL));
    memcpy(data, tensor->data, tensor->size);
    memcpy(data + tensor->size, tensor->data, tensor->size);
    tensor->data = data;
    tensor->size *= 2;
    tensor->shape[0] *= 2;
}
