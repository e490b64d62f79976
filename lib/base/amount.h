/* amount.h: amounts for people, with three significant digits and a unit: "0.312 ms", "251
 * GFLOP/s".
 *
 *     char text[AMOUNT_BYTES];
 *     stream_text(out, amount_seconds(text, 0.000312));
 */
#ifndef ATTN_BASE_AMOUNT_H
#define ATTN_BASE_AMOUNT_H

#include <stddef.h>

#include "base/stream.h"

enum { AMOUNT_BYTES = 32 };

/* Both return `text`. */
const char *amount_write(char text[AMOUNT_BYTES], double value, const char *unit);

/* In s, ms or µs. */
const char *amount_seconds(char text[AMOUNT_BYTES], double seconds);

/* Any text, at the right of so many columns. */
void amount_right(struct stream *out, const char *text, size_t columns);

#endif
