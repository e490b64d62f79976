/* amount.h: measurements for people: the median of several, three significant digits and a unit
 * ("251 GFLOP/s"), and shares of a whole as bars of text.
 *
 *     char text[AMOUNT_BYTES];
 *     stream_text(out, amount_write(text, 251, "GFLOP/s"));
 */
#ifndef ATTN_BASE_AMOUNT_H
#define ATTN_BASE_AMOUNT_H

#include <stddef.h>

enum { AMOUNT_BYTES = 32 };

/* Returns `text`. */
const char *amount_write(char text[AMOUNT_BYTES], double value, const char *unit);

/* The median of one member of `count` structs, at least one, that stand `step_bytes` apart, the
 * first at `first`; the mean of the middle two where count is even. `sorted` has room for `count`.
 */
double median(const double *first, size_t step_bytes, size_t count, double *sorted);

/* The exponent b of y = a * x^b, fitted over the second half of the points; NAN: fewer than two. */
double growth_exponent(const size_t *x, const double *y, size_t count);

enum { BAR_COLUMNS = 16, BAR_BYTES = 3 * BAR_COLUMNS + 1 };

/* A bar in eighths of a column, ██████▊, blanks after it, BAR_COLUMNS wide at most; shares are cut
 * to 0 … 1. Returns `bar`. */
const char *bar_draw(char bar[BAR_BYTES], double share, int columns);

#endif
