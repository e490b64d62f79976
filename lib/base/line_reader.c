#include "base/line_reader.h"

#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "base/transfer.h"

enum { BUFFER_BYTES = 64 * 1024 };

/* Make room after what was not given yet: it moves to the front, and a long line doubles the
 * buffer. */
static int make_room(struct line_reader *reader, struct err *err)
{
    size_t held = reader->end - reader->begin;
    if (reader->begin) {
        memmove(reader->buffer, reader->buffer + reader->begin, held);
        reader->begin = 0;
        reader->end = held;
    }
    if (held < reader->capacity)
        return 0;
    size_t capacity = reader->capacity ? 2 * reader->capacity : BUFFER_BYTES;
    char *more = heap_resize(reader->buffer, capacity, 1, err);
    if (!more)
        return -1;
    reader->buffer = more;
    reader->capacity = capacity;
    return 0;
}

/* Read more of the file; how much, 0 at its end, -1 on failure. */
static ssize_t fill(struct line_reader *reader, struct err *err)
{
    if (make_room(reader, err))
        return -1;
    ssize_t got = transfer_read(reader->descriptor, reader->buffer + reader->end,
                                reader->capacity - reader->end);
    if (got < 0)
        err_set(err, "cannot read '%s': %s", reader->name, strerror(errno));
    else
        reader->end += (size_t)got;
    return got;
}

int line_reader_next(struct line_reader *reader, bool *more, struct err *err)
{
    size_t looked_at = 0;
    for (;;) {
        size_t held = reader->end - reader->begin;
        char *begin = reader->buffer ? reader->buffer + reader->begin : NULL;
        char *newline = held > looked_at ? memchr(begin + looked_at, '\n', held - looked_at) : NULL;
        ssize_t got = newline ? 1 : fill(reader, err);
        if (got < 0)
            return -1;
        if (newline || got == 0) {
            reader->line = newline ? begin : reader->buffer + reader->begin;
            reader->size = newline ? (size_t)(newline - begin) : held;
            reader->whole = newline != NULL;
            reader->begin += reader->size + reader->whole;
            *more = newline || held;
            return 0;
        }
        looked_at = held;
    }
}

void line_reader_release(struct line_reader *reader)
{
    heap_free(reader->buffer);
    *reader = (struct line_reader){0};
}
