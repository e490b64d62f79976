/* exact_sum.h: a sum of floats without rounding, so that its order does not matter. A finite
 * float32 is a whole number of units of 2^-149; 320 bits are enough for 2^42 of the largest.
 *
 *     struct exact_sum sum = {0};
 *     exact_sum_add(&sum, 0.1f);
 *     exact_sum_merge(&sum, &other);
 *     double mean = exact_sum_value(&sum) / count;
 */
#ifndef ATTN_MATH_EXACT_SUM_H
#define ATTN_MATH_EXACT_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXACT_SUM_LIMBS = 5,
    EXACT_SUM_BYTES = 1 + 16 * EXACT_SUM_LIMBS + 1, /* the longest text and its closing 0 */
};

/* Two's complement, the lowest limb first. All zero: nothing was added yet. */
struct exact_sum {
    uint64_t limbs[EXACT_SUM_LIMBS];
};

/* Add a finite number; of a double, below 2^128, the part below 2^-149 is dropped. */
void exact_sum_add(struct exact_sum *sum, float value);
void exact_sum_add_double(struct exact_sum *sum, double value);

void exact_sum_merge(struct exact_sum *sum, const struct exact_sum *other);

/* The double that is nearest. */
double exact_sum_value(const struct exact_sum *sum);

/* Write the number of units, "-1f", and return the length; read it back, false for anything else.
 */
size_t exact_sum_text(char text[EXACT_SUM_BYTES], const struct exact_sum *sum);
bool exact_sum_parse(struct exact_sum *sum, const char *text, size_t size);

#endif
