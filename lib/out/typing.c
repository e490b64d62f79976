#include "out/typing.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "text/label.h"

static bool stands_as_it_is(char c)
{
    return c == ' ' || c == '\n' || c == '\t';
}

/* How many bytes at the end may be the first ones of a character. */
static size_t begun_bytes(const char *bytes, size_t size)
{
    for (size_t back = 1; back < TYPING_HELD_BYTES && back <= size; back++) {
        unsigned char byte = (unsigned char)bytes[size - back];
        size_t whole = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        if (whole > back)
            return back;
        if ((byte & 0xc0) != 0x80)
            return 0;
    }
    return 0;
}

static void show(struct typing *typing, const char *bytes, size_t size)
{
    struct buf visible = {0};
    for (size_t at = 0; at < size;) {
        size_t end = at;
        while (end < size && !stands_as_it_is(bytes[end]))
            end++;
        label_visible(&visible, bytes + at, end - at);
        for (at = end; at < size && stands_as_it_is(bytes[at]); at++)
            buf_char(&visible, bytes[at]);
    }
    if (buf_check(&visible, NULL))
        typing->out->failure = ENOMEM;
    else if (visible.size)
        stream_bytes(typing->out, visible.bytes, visible.size);
    buf_release(&visible);
}

static void show_whole(struct typing *typing, const char *bytes, size_t size)
{
    struct buf all = {0};
    buf_bytes(&all, typing->held, typing->held_size);
    buf_bytes(&all, bytes, size);
    if (buf_check(&all, NULL)) {
        typing->out->failure = ENOMEM;
        return;
    }
    typing->held_size = begun_bytes(all.bytes, all.size);
    if (typing->held_size)
        memcpy(typing->held, all.bytes + all.size - typing->held_size, typing->held_size);
    show(typing, all.bytes, all.size - typing->held_size);
    buf_release(&all);
}

void typing_add(struct typing *typing, const char *bytes, size_t size)
{
    if (size == 0)
        return;
    if (typing->to_people)
        show_whole(typing, bytes, size);
    else
        stream_bytes(typing->out, bytes, size);
    stream_flush(typing->out);
}

void typing_end(struct typing *typing)
{
    show(typing, typing->held, typing->held_size);
    typing->held_size = 0;
}
