/* stream_text.c: texts and numbers on their way into a stream. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/heap.h"
#include "base/num.h"
#include "base/stream.h"

void stream_text(struct stream *stream, const char *text)
{
    stream_bytes(stream, text, strlen(text));
}

void stream_char(struct stream *stream, char c)
{
    stream_bytes(stream, &c, 1);
}

void stream_format(struct stream *stream, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (size >= 0 && (size_t)size < sizeof small) {
        stream_bytes(stream, small, (size_t)size);
        return;
    }
    char *large = size < 0 ? NULL : heap_alloc((size_t)size + 1, 1, NULL);
    if (!large) {
        stream->failure = stream->failure ? stream->failure : ENOMEM;
        return;
    }
    va_start(args, format);
    vsnprintf(large, (size_t)size + 1, format, args);
    va_end(args);
    stream_bytes(stream, large, (size_t)size);
    heap_free(large);
}

void stream_float(struct stream *stream, float value)
{
    char text[NUM_FLOAT_BYTES];
    stream_bytes(stream, text, num_float(text, value));
}
