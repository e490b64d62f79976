#include "base/buf.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"

enum { FIRST_CAPACITY = 64 };

static bool refuse(struct buf *buf, size_t wanted_bytes)
{
    buf->out_of_memory = true;
    buf->wanted_bytes = wanted_bytes;
    return false;
}

/* Make room for `size` more bytes and the closing 0. Returns false if memory ran out. */
static bool reserve(struct buf *buf, size_t size)
{
    size_t needed = 0;
    if (buf->out_of_memory)
        return false;
    if (!num_add(&needed, buf->size, size) || !num_add(&needed, needed, 1))
        return refuse(buf, SIZE_MAX);
    if (needed <= buf->capacity)
        return true;
    size_t capacity = buf->capacity ? buf->capacity : FIRST_CAPACITY;
    while (capacity < needed)
        if (!num_multiply(&capacity, capacity, 2))
            capacity = needed;
    char *bytes = heap_resize(buf->bytes, capacity, 1, NULL);
    if (!bytes)
        return refuse(buf, capacity);
    buf->bytes = bytes;
    buf->capacity = capacity;
    return true;
}

void buf_bytes(struct buf *buf, const void *bytes, size_t size)
{
    if (!reserve(buf, size))
        return;
    if (size)
        memcpy(buf->bytes + buf->size, bytes, size);
    buf->size += size;
    buf->bytes[buf->size] = '\0';
}

void buf_text(struct buf *buf, const char *text)
{
    buf_bytes(buf, text, strlen(text));
}

void buf_char(struct buf *buf, char c)
{
    buf_bytes(buf, &c, 1);
}

/* Append `size` bytes `times` times. Each memcpy doubles the number of appended bytes, until they
 * are size · times. */
void buf_repeat(struct buf *buf, const void *bytes, size_t size, size_t times)
{
    size_t total = 0;
    if (!num_multiply(&total, size, times))
        refuse(buf, SIZE_MAX);
    if (!reserve(buf, total))
        return;
    char *begin = buf->bytes + buf->size;
    if (total)
        memcpy(begin, bytes, size);
    for (size_t done = size, part; done < total; done += part) {
        part = num_min(done, total - done);
        memcpy(begin + done, begin, part);
    }
    begin[total] = '\0';
    buf->size += total;
}

void buf_integer(struct buf *buf, uint64_t number, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        buf_char(buf, (char)(number >> 8 * i));
}

void buf_format(struct buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0) {
        refuse(buf, INT_MAX); /* the text is longer than printf can count */
        return;
    }
    if (!reserve(buf, (size_t)size))
        return;
    va_start(args, format);
    vsnprintf(buf->bytes + buf->size, (size_t)size + 1, format, args);
    va_end(args);
    buf->size += (size_t)size;
}

void buf_fail_with(struct buf *buf, const struct buf *part)
{
    if (part->out_of_memory)
        refuse(buf, part->wanted_bytes);
}

int buf_check(const struct buf *buf, struct err *err)
{
    return buf->out_of_memory ? err_memory(err, buf->wanted_bytes) : 0;
}

void buf_clear(struct buf *buf)
{
    buf->size = 0;
    if (buf->bytes)
        buf->bytes[0] = '\0';
}

void buf_release(struct buf *buf)
{
    heap_free(buf->bytes);
    *buf = (struct buf){0};
}

const char *buf_keep(struct buf *buf, struct arena *arena, struct err *err)
{
    const char *kept = NULL;
    if (!buf_check(buf, err))
        kept = arena_text(arena, buf->bytes ? buf->bytes : "", buf->size, err);
    buf_release(buf);
    return kept;
}
