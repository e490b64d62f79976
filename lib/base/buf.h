/* buf.h: a growing buffer of bytes. Additions report no error: buf_check tells afterwards if
 * memory ran out.
 *
 *     struct buf buf = {0};
 *     buf_format(&buf, "h.%d", layer);
 *     if (buf_check(&buf, err)) ...
 *     buf_release(&buf);
 */
#pragma once

#include <stdint.h>

#include "base/memory.h"

struct buf {
    char *bytes; /* followed by a 0 byte; NULL until an addition succeeds */
    size_t size;
    size_t capacity;
    bool out_of_memory;
    size_t wanted_bytes; /* if `out_of_memory`: the size that could not be allocated */
};

void buf_bytes(struct buf *buf, const void *bytes, size_t size);
void buf_text(struct buf *buf, const char *text);
void buf_char(struct buf *buf, char c);
void buf_repeat(struct buf *buf, const void *bytes, size_t size, size_t times);
void buf_integer(struct buf *buf, uint64_t number, size_t bytes); /* adds `bytes` bytes,
                                                                   * little-endian */
void buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Mark `buf` as out of memory if `part`, from which it is built, is out of memory. */
void buf_fail_with(struct buf *buf, const struct buf *part);

/* Return 0, or -1 with `err` if memory ran out during an addition. */
int buf_check(const struct buf *buf, struct err *err);

void buf_clear(struct buf *buf); /* empties the buffer; keeps its memory, and `out_of_memory` */
void buf_release(struct buf *buf);

/* Copy the buffer's text to the arena, and release the buffer. Returns NULL with `err` if memory
 * ran out, for an addition or for the copy. */
const char *buf_keep(struct buf *buf, struct arena *arena, struct err *err);
