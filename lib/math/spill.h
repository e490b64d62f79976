/* spill.h: write what nobody reads soon: past the caches where that pays.
 *
 * A large result that goes through the caches is read from memory before it is written there, and
 * drives out what the next product needs.
 *
 *     spill_copy(square + row * columns, weights, visible);
 *     spill_fill(square + row * columns + visible, columns - visible, 0.0f);
 *     spill_end();
 */
#ifndef ATTN_MATH_SPILL_H
#define ATTN_MATH_SPILL_H

#include <stddef.h>

/* to[0..count) = from[0..count); to[0..count) = value. They must not overlap. */
void spill_copy(float *to, const float *from, size_t count);
void spill_fill(float *to, size_t count, float value);

/* From here on other threads see what this one has written. */
void spill_end(void);

#endif
