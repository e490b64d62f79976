/* buf.h: bytes that grow, for building texts in memory. Additions never fail one by one: the first
 * that finds no memory marks the buffer, and buf_check says so once at the end.
 *
 *     struct buf buf = {0};
 *     buf_format(&buf, "h.%d", layer);
 *     if (buf_check(&buf, err)) ...
 *     buf_release(&buf);
 */
#ifndef ATTN_BASE_BUF_H
#define ATTN_BASE_BUF_H

#include <stdint.h>

#include "base/memory.h"

struct buf {
    char *bytes; /* with a 0 byte after the last one; NULL while nothing was added */
    size_t size;
    size_t capacity;
    bool out_of_memory;
    size_t wanted_bytes; /* the room that could not be had */
};

void buf_bytes(struct buf *buf, const void *bytes, size_t size);
void buf_text(struct buf *buf, const char *text);
void buf_char(struct buf *buf, char c);
void buf_fill(struct buf *buf, char c, size_t count);
void buf_repeat(struct buf *buf, const void *bytes, size_t size, size_t times);
void buf_format(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Where memory was out for a part of what is built, it was out for the whole. */
void buf_fail_with(struct buf *buf, const struct buf *part);

/* 0 when every addition found its memory, else -1 with `err`. */
int buf_check(const struct buf *buf, struct err *err);

/* Forget the content and keep the memory; or give it back. */
void buf_clear(struct buf *buf);
void buf_release(struct buf *buf);

/* The text as the arena's, 0-terminated; NULL: there was no memory. The buffer is released. */
const char *buf_keep(struct buf *buf, struct arena *arena, struct err *err);

#endif
