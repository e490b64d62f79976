/* numeral.h: how numbers of one kind are written, so that they can be compared at a glance: all
 * with so many decimals, or all as 1.23e-05 where decimals would show nothing but zeros or take too
 * much room.
 *
 *     struct numeral numeral = numeral_between(low, high, 4);
 *     char text[NUMERAL_BYTES];
 *     size_t size = numeral_write(text, numeral, value);
 */
#ifndef ATTN_LENS_NUMERAL_H
#define ATTN_LENS_NUMERAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum {
    NUMERAL_DIGITS = 4,     /* decimals where nobody asks for more */
    NUMERAL_DIGITS_MAX = 9, /* a float32 has no more to tell */
    NUMERAL_BYTES = 64,     /* the longest float32 with so many decimals has 50 */
};

struct numeral {
    int digits;
    bool scientific;
};

/* For numbers from `low` to `high`, both finite. */
struct numeral numeral_between(float low, float high, int digits);

/* For these numbers; what is not finite does not count. */
struct numeral numeral_of(const float *values, size_t count, int digits);

/* 0.0386 or 3.86e-02, 0-terminated; returns the length. */
size_t numeral_write(char text[NUMERAL_BYTES], struct numeral numeral, float value);

/* Append what was written as LaTeX has it in mathematics: infinity is a sign. */
void numeral_latex(struct buf *latex, const char *text);

#endif
