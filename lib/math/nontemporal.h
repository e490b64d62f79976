/* nontemporal.h: copy and fill past the caches, by non-temporal stores: a large result that is not
 * read soon drives out what the next product needs. */
#ifndef ATTN_MATH_NONTEMPORAL_H
#define ATTN_MATH_NONTEMPORAL_H

#include <stddef.h>

/* to[0..count) = from[0..count); to[0..count) = value. They must not overlap. */
void nontemporal_copy(float *to, const float *from, size_t count);
void nontemporal_fill(float *to, size_t count, float value);

/* From here on other threads see what this one has written. */
void nontemporal_fence(void);

#endif
