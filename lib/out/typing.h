/* typing.h: a text on its way out while it is made, piece by piece.
 *
 * A program at the other end gets every byte at once and as it is. People at a terminal see whole
 * characters, and nothing that could disturb it: controls are shown as labels show them, but lines
 * break and tabs jump.
 *
 *     struct typing typing = {.out = &out, .to_people = isatty(STDOUT_FILENO)};
 *     typing_add(&typing, " Ca", 3);
 *     typing_add(&typing, "f\xc3", 2);      (half a character waits)
 *     typing_end(&typing);
 */
#ifndef ATTN_OUT_TYPING_H
#define ATTN_OUT_TYPING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/stream.h"

enum { TYPING_HELD_BYTES = 4 }; /* the longest character */

struct typing {
    struct stream *out;
    bool to_people;
    char held[TYPING_HELD_BYTES]; /* the beginning of a character */
    size_t held_size;
};

/* Send a piece, and do not wait for the next. Failures stick to the stream. */
void typing_add(struct typing *typing, const char *bytes, size_t size);

/* What still waits comes out as what it is. */
void typing_end(struct typing *typing);

#endif
