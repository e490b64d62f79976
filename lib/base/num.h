/* num.h: numbers to and from text, checked sizes, base64. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- sizes ------------------------------------------------------------------------------------ */

/* Checked arithmetic: false, and `*result` unchanged, if the result does not fit. */
bool num_add(size_t *result, size_t a, size_t b);
bool num_multiply(size_t *result, size_t a, size_t b);

static inline size_t num_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t num_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* --- text ------------------------------------------------------------------------------------- */

/* Bytes of the longest text of a number and its closing 0. */
enum { NUM_DOUBLE_BYTES = 32, NUM_FLOAT_BYTES = 24, NUM_SIZE_BYTES = 32, NUM_COUNT_BYTES = 20 };

/* Read a text, or `size` bytes (at most 23), that is nothing but a decimal number in [min, max]: no
 * blanks, no `3x`, no `0x1`. False: the text is something else. */
bool num_parse_integer(const char *text, long long min, long long max, long long *value);
bool num_parse_part(const char *text, size_t size, long long min, long long max, long long *value);
bool num_parse_double(const char *text, double min, double max, double *value);

/* Write a float32 rounded to the fewest decimal digits that read back the same (`0.1`, `3.4e-08`,
 * `inf`), in any locale. Returns the length of the text. */
size_t num_float(char text[NUM_FLOAT_BYTES], float value);

/* Write a double as printf's %g, with 15 digits, or 16 or 17 if fewer do not read back the same. */
void num_double(char text[NUM_DOUBLE_BYTES], double value);

/* Write decimal digits, without a closing 0. Returns the number of digits. */
size_t num_count(char text[NUM_COUNT_BYTES], uint64_t count);

/* The value to print with `decimals` decimals: 0, without a sign, if it would print as 0.00 or
 * -0.00. */
double num_shown(double value, int decimals);

/* The ending of a counted noun: "", as in "1 token", or "s", as in "2 tokens". */
static inline const char *num_plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Return up to 8 bytes as a number, the least significant byte first. */
uint64_t num_of_bytes(const char *bytes, size_t size);

/* The digits 0 to 63 of base64. */
extern const char base64_digits[];

/* Decode base64, with or without = at the end, to `out`, which has room for three quarters of the
 * text's size. False: the text is not base64. */
bool base64_decode(char *out, size_t *size, const char *text, size_t text_size);

/* --- for people ------------------------------------------------------------------------------- */

enum { BAR_COLUMNS = 16, BAR_BYTES = 3 * BAR_COLUMNS + 1 };

/* Write a number of bytes with a binary unit: `1.5 KiB`. Returns `text`. */
const char *num_size(char text[NUM_SIZE_BYTES], uint64_t bytes);

/* Draw a share, clamped to 0 … 1, as a bar (██████▊) in steps of an eighth of a column, with blanks
 * up to BAR_COLUMNS. Returns `bar`. */
const char *bar_draw(char bar[BAR_BYTES], double share);
