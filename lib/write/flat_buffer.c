#include "write/flat_buffer.h"

#include <assert.h>
#include <string.h>

void flat_align(struct buf *buf, size_t to)
{
    buf_fill(buf, 0, (to - buf->size % to) % to);
}

/* The offset of four bytes at `at` leads here. */
static void link_here(struct buf *buf, size_t at)
{
    for (size_t i = 0; i < sizeof(uint32_t) && !buf->out_of_memory; i++)
        buf->bytes[at + i] = (char)((buf->size - at) >> 8 * i & 0xff);
}

void flat_table(struct buf *buf, size_t from, struct flat_field *fields, size_t count)
{
    enum { WORD = 2, OFFSET = 4 };
    size_t list_size = WORD * (2 + count);
    size_t places[FLAT_FIELDS_MAX] = {0};
    size_t size = OFFSET;
    assert(count <= FLAT_FIELDS_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!fields[i].size)
            continue;
        size += (fields[i].size - size % fields[i].size) % fields[i].size;
        places[i] = size;
        size += fields[i].size;
    }
    flat_align(buf, WORD);
    size_t list = buf->size;
    buf_number(buf, list_size, WORD);
    buf_number(buf, size, WORD);
    for (size_t i = 0; i < count; i++)
        buf_number(buf, places[i], WORD);
    flat_align(buf, FLAT_ALIGNMENT);
    size_t table = buf->size;
    link_here(buf, from);
    buf_number(buf, table - list, OFFSET);
    for (size_t i = 0; i < count; i++) {
        if (!fields[i].size)
            continue;
        flat_align(buf, fields[i].size);
        fields[i].at = buf->size;
        buf_number(buf, fields[i].value, fields[i].size);
    }
}

void flat_string(struct buf *buf, size_t from, const char *text)
{
    flat_align(buf, sizeof(uint32_t));
    link_here(buf, from);
    buf_number(buf, strlen(text), sizeof(uint32_t));
    buf_bytes(buf, text, strlen(text) + 1);
}

void flat_vector(struct buf *buf, size_t from, size_t count)
{
    flat_align(buf, sizeof(uint32_t));
    if (buf->size % FLAT_ALIGNMENT == 0)
        buf_number(buf, 0, sizeof(uint32_t));
    link_here(buf, from);
    buf_number(buf, count, sizeof(uint32_t));
}
