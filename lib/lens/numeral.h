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
    NUMERAL_DIGITS = 4,     /* decimals unless others are asked for */
    NUMERAL_DIGITS_MAX = 9, /* a float32 has no more to tell */
    NUMERAL_BYTES = 64,     /* the longest float32 with so many decimals has 50 */
};

struct numeral {
    int digits;
    bool scientific;
};

/* The lowest and the highest of some numbers, in the order of what is written: -0 is below 0, for
 * it has a sign. What is not finite is known to be there, and nothing else. */
struct numeral_range {
    float low; /* above `high` while there is no number */
    float high;
    bool infinite;
};

struct numeral_range numeral_range_empty(void);
void numeral_range_add(struct numeral_range *range, float value);

/* For the numbers of a range. */
struct numeral numeral_of_range(const struct numeral_range *range, int digits);

/* The columns of the widest number that the range may hold, written in that way. */
size_t numeral_width(const struct numeral_range *range, struct numeral numeral);

/* For numbers from `low` to `high`, both finite. */
struct numeral numeral_between(float low, float high, int digits);

/* For these numbers; what is not finite does not count. */
struct numeral numeral_of(const float *values, size_t count, int digits);

/* 0.0386 or 3.86e-02, 0-terminated; returns the length. */
size_t numeral_write(char text[NUMERAL_BYTES], struct numeral numeral, float value);

/* Append what was written as LaTeX has it in mathematics: infinity is a sign. */
void numeral_latex(struct buf *latex, const char *text);

#endif
