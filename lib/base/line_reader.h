/* line_reader.h: a file's lines one after another, in memory for one of them.
 *
 *     struct line_reader reader = {.descriptor = descriptor};
 *     bool more = true;
 *     while (!line_reader_next(&reader, &more, err) && more)
 *         use(reader.line, reader.size);
 *     line_reader_release(&reader);
 */
#ifndef ATTN_BASE_LINE_READER_H
#define ATTN_BASE_LINE_READER_H

#include "base/err.h"

struct line_reader {
    int descriptor;   /* borrowed; read from where it stands */
    const char *name; /* for messages */
    char *line;       /* without its end; valid until the next one is read */
    size_t size;
    bool whole; /* it ends in a new line: false only for the last of a file that was cut off */
    char *buffer;
    size_t capacity, begin, end; /* the bytes of the buffer that were not given yet */
};

/* Read the next line; `*more` is false at the end. */
int line_reader_next(struct line_reader *reader, bool *more, struct err *err);
void line_reader_release(struct line_reader *reader);

#endif
