/* arena.h: memory that lives and dies together: one arena per lifetime (a model, a run, a capture),
 * released whole. Every piece stands on a 64-byte boundary, so that rows start on a cache line.
 *
 *     struct arena arena = {0};
 *     float *x = arena_alloc(&arena, rows * columns, sizeof *x, err);
 *     arena_release(&arena);
 */
#ifndef ATTN_BASE_ARENA_H
#define ATTN_BASE_ARENA_H

#include "base/err.h"

enum { ARENA_ALIGN_BYTES = 64 };

struct arena {
    struct arena_block *newest;
    size_t taken_bytes; /* all that was handed out, for reports */
    size_t next_bytes;  /* of the next block, at least: what is expected, or was before a clear */
};

/* `count` things of `size` bytes, zeroed, valid until the arena is released; NULL with `err`. The
 * second does not zero: for what is large and written before it is read. */
void *arena_alloc(struct arena *arena, size_t count, size_t size, struct err *err);
void *arena_room(struct arena *arena, size_t count, size_t size, struct err *err);

/* Room for one more of an array's things after `count` of them: where it is full, at 1, 2, 4, …,
 * they move into twice the room. NULL with `err`. */
void *arena_grow(struct arena *arena, void *things, size_t count, size_t size, struct err *err);

/* Say of an empty arena that so many bytes will be asked for: where they would fill large pages,
 * its block has room for all of them, and begins with one. */
void arena_expect(struct arena *arena, size_t size);

/* A copy of `size` bytes with a 0 byte after it; of a path without slashes at its end; a text as
 * printf makes it. NULL with `err`. */
char *arena_text(struct arena *arena, const char *bytes, size_t size, struct err *err);
char *arena_path(struct arena *arena, const char *path, struct err *err);
char *arena_format(struct arena *arena, struct err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Take everything back but keep the memory: the same work again takes nothing from the heap. */
void arena_clear(struct arena *arena);

/* Give everything back; the arena is empty and can be used again. */
void arena_release(struct arena *arena);

#endif
