/* cut.h: one dimension cut into parts of equal size, but for the first and the last.
 *
 *     struct cut cut = cut_into(100, 32, 8);          8, 32, 32, 28
 *     for (size_t i = 0; i < cut.count; i++)
 *         work(cut_start(&cut, i), cut_size(&cut, i));
 */
#ifndef ATTN_MATH_CUT_H
#define ATTN_MATH_CUT_H

#include <stddef.h>

struct cut {
    size_t size, part, first, count;
};

/* The first part has `first`, the others `part`, the last one what is left. */
struct cut cut_into(size_t size, size_t part, size_t first);

size_t cut_start(const struct cut *cut, size_t index);
size_t cut_size(const struct cut *cut, size_t index);

/* Parts have three sizes at most: which of them a part has, and what it is (0: no part has it). */
enum cut_which { CUT_FIRST, CUT_INNER, CUT_LAST, CUT_SIZES };

enum cut_which cut_which(const struct cut *cut, size_t index);
size_t cut_size_of(const struct cut *cut, enum cut_which which);

#endif
