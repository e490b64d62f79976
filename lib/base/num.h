/* num.h: numbers in and out of text, and sizes that must not overflow. */
#ifndef ATTN_BASE_NUM_H
#define ATTN_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NUM_DOUBLE_BYTES = 32,
    NUM_FLOAT_BYTES = 24, /* the longest num_float and its closing 0 */
    NUM_SIZE_BYTES = 32,  /* the longest num_size and its closing 0 */
    NUM_COUNT_BYTES = 20, /* the longest num_count, which has no closing 0 */
};

/* Checked arithmetic: false, and `*result` untouched, when the result does not fit. */
bool num_add(size_t *result, size_t a, size_t b);
bool num_multiply(size_t *result, size_t a, size_t b);

/* The smaller and the larger of two sizes. */
static inline size_t num_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t num_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Up to 8 bytes as a number, the lowest first. */
uint64_t num_of_bytes(const char *bytes, size_t size);

/* The whole text, or `size` bytes of one, is one decimal number in [min, max], else false: no
 * blanks, no `3x`, no `0x1`. */
bool num_parse_integer(const char *text, long long min, long long max, long long *value);
bool num_parse_part(const char *text, size_t size, long long min, long long max, long long *value);
bool num_parse_double(const char *text, double min, double max, double *value);

/* Write the shortest decimal that reads back to the same float32, `0.1`, `3.4e-08`, `inf`, in every
 * locale alike; returns its length. */
size_t num_float(char text[NUM_FLOAT_BYTES], float value);

/* The same of a double, with at least 15 digits to choose from, as printf's %g lays them out;
 * decimal digits without a closing 0, whose number it returns; a size for people, `1.5 KiB`, which
 * returns `text`. */
void num_double(char text[NUM_DOUBLE_BYTES], double value);
size_t num_count(char text[NUM_COUNT_BYTES], uint64_t count);
const char *num_size(char text[NUM_SIZE_BYTES], uint64_t bytes);

/* The value for printf with so many decimals; 0 for what would read -0.00. */
double num_shown(double value, int decimals);

/* "s" but for one thing: "1 token", "2 tokens". */
static inline const char *num_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

#endif
