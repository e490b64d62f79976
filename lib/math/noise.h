/* noise.h: numbers that look like chance, fast, and the same on every machine.
 *
 * Number i depends on the seed and on i alone, so that compilers make vector code of it: a gigabyte
 * takes a fraction of a second. Good enough to measure with; nobody should draw statistics from it.
 *
 *     noise_fill(weights, count, 7, 0.0f, 0.05f);
 */
#ifndef ATTN_MATH_NOISE_H
#define ATTN_MATH_NOISE_H

#include <stddef.h>
#include <stdint.h>

/* Numbers spread evenly from middle - spread to middle + spread. */
void noise_fill(float *x, size_t count, uint32_t seed, float middle, float spread);

#endif
