/* blocking.h: one dimension cut into blocks of equal size, but for the first and the last.
 *
 *     struct blocking blocking = blocking_of(100, 32, 8);          8, 32, 32, 28
 *     for (size_t i = 0; i < blocking.count; i++)
 *         work(blocking_start(&blocking, i), blocking_size(&blocking, i));
 */
#ifndef ATTN_MATH_BLOCKING_H
#define ATTN_MATH_BLOCKING_H

#include <stddef.h>

struct blocking {
    size_t size, part, first, count;
};

/* The first block has `first`, the others `part`, the last one what is left. */
struct blocking blocking_of(size_t size, size_t part, size_t first);

size_t blocking_start(const struct blocking *blocking, size_t index);
size_t blocking_size(const struct blocking *blocking, size_t index);

/* Blocks have three sizes at most: which of them one has, and what it is (0: none has it). */
enum blocking_kind { BLOCKING_FIRST, BLOCKING_INNER, BLOCKING_LAST, BLOCKING_KINDS };

enum blocking_kind blocking_kind(const struct blocking *blocking, size_t index);
size_t blocking_size_of(const struct blocking *blocking, enum blocking_kind which);

#endif
