/* heap.h: the only door to malloc: sizes are multiplied with a check, fresh memory is zero,
 * failures are errors, and tests let the nth allocation fail.
 *
 *     struct node *nodes = heap_alloc(count, sizeof *nodes, err);
 *     heap_free(nodes);
 */
#ifndef ATTN_BASE_HEAP_H
#define ATTN_BASE_HEAP_H

#include "base/err.h"

/* `count` things of `size` bytes, zeroed; never NULL on success, even for nothing; NULL with `err`.
 */
void *heap_alloc(size_t count, size_t size, struct err *err);

/* Grow or shrink `memory` (or NULL), keeping its content; new bytes are not cleared. On failure the
 * old memory stays as it was. */
void *heap_resize(void *memory, size_t count, size_t size, struct err *err);

void heap_free(void *memory);

/* Refuse what takes more memory than there is (platform_memory_bytes): to be asked before memory is
 * written that the system has promised. `what` begins the message. Less than 64 MiB is let through.
 */
int heap_expect(size_t size_bytes, const char *what, struct err *err);

/* Bytes of memory that there is; SIZE_MAX: unknown. */
size_t heap_available(void);

/* From now on freed memory goes back to the system: malloc would keep gaps for hours. */
void heap_give_back(void);

/* malloc's own signature, for libraries that take an allocator. NULL on failure. */
void *heap_hook(size_t size);

/* Test: let the nth allocation from now on fail (0: none), once or for ever after; did it come? */
void heap_fail_at(size_t nth, int for_ever);
bool heap_has_failed(void);

/* Count a piece of memory that is there as an allocation; true: it is the one that is to fail. */
bool heap_fails_here(void);

#endif
