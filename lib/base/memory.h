/* memory.h: the heap, and arenas: memory that is released all at once.
 *
 * Use an arena for each lifetime (a model, a run, a capture). Only this module calls malloc.
 *
 *     struct arena arena = {0};
 *     float *x = arena_alloc(&arena, rows * columns, sizeof *x, err);
 *     arena_release(&arena);
 */
#pragma once

#include "base/err.h"

/* --- the heap --------------------------------------------------------------------------------- */

/* Allocate `count` elements of `size` bytes, zeroed. Returns NULL only on failure, with `err`. */
void *heap_alloc(size_t count, size_t size, struct err *err);

/* Resize `memory`, which stays as it is on failure; NULL: allocate. New bytes are not zeroed. */
void *heap_resize(void *memory, size_t count, size_t size, struct err *err);

void heap_free(void *memory);

/* Fail, with a message that begins with `what`, if a size is above the free memory. Call this
 * before you use a large allocation: the system has only reserved its memory. Sizes below 64 MiB
 * are not checked. */
int heap_expect(size_t size_bytes, const char *what, struct err *err);

/* The free memory in bytes; SIZE_MAX: unknown. */
size_t heap_available(void);

/* From now on, return large freed blocks to the system: malloc would keep them. */
void heap_give_back(void);

/* Allocate memory for a library that accepts an allocator instead of malloc; NULL on failure. */
void *heap_hook(size_t size);

/* For tests: fail the nth allocation from now on (0: none) or, if `for_ever`, all from the nth
 * on. */
void heap_fail_at(size_t nth, int for_ever);
bool heap_has_failed(void); /* true if heap_fail_at has made an allocation fail */

/* --- arenas ----------------------------------------------------------------------------------- */

enum { ARENA_ALIGN_BYTES = 64 }; /* each piece begins at a cache line */

struct arena {
    struct arena_block *newest;
    size_t taken_bytes; /* total size of all pieces since the last arena_clear, for reports */
    size_t next_bytes;  /* minimum size of the next block, from arena_expect or arena_clear */
};

/* Allocate `count` elements of `size` bytes, valid until the arena is cleared or released; NULL
 * with `err` on failure. arena_alloc zeroes them; arena_room does not: write before you read. */
void *arena_alloc(struct arena *arena, size_t count, size_t size, struct err *err);
void *arena_room(struct arena *arena, size_t count, size_t size, struct err *err);

/* Make room for one more element of an array of `count` elements: at counts 1, 2, 4, … the array is
 * copied into twice the memory. Returns the array; NULL with `err` on failure. */
void *arena_grow(struct arena *arena, void *things, size_t count, size_t size, struct err *err);

/* Tell an arena that has no memory yet the total size of the pieces to come. From 1 MiB on, the
 * first block has this size, rounded up to large pages of 2 MiB, and begins at a large page. */
void arena_expect(struct arena *arena, size_t size);

/* arena_text copies `size` bytes and adds a 0 byte; arena_path copies a path without slashes at its
 * end (except "/"); arena_format formats a text as printf does. NULL with `err` on failure. */
char *arena_text(struct arena *arena, const char *bytes, size_t size, struct err *err);
char *arena_path(struct arena *arena, const char *path, struct err *err);
char *arena_format(struct arena *arena, struct err *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Forget all pieces. A single block is kept; several are freed, and the next block has at least
 * their total size, so that the same work again needs only this block. */
void arena_clear(struct arena *arena);

/* Free all memory. The arena is empty and can be used again. */
void arena_release(struct arena *arena);
