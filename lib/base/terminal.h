/* terminal.h: what a terminal is given of texts that others chose: bytes of controls, of what turns
 * the direction of the text and of what is not UTF-8 as \xNN, all else as it is. Streams (stream.h)
 * ask here; no writer has to.
 *
 *     struct terminal terminal = {.shows = isatty(STDOUT_FILENO)};
 *     for (size_t at = 0; at < size; write(sign))
 *         at += terminal_take(&terminal, sign, bytes + at, size - at);
 *     terminal_rest(&terminal, sign);
 */
#ifndef ATTN_BASE_TERMINAL_H
#define ATTN_BASE_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum {
    TERMINAL_HELD_BYTES = 4,  /* of the longest character */
    TERMINAL_SIGN_BYTES = 40, /* the longest of our colours; \xNN four times is shorter */
};

struct terminal {
    bool shows;   /* people read it; else every byte goes its way untouched */
    bool colours; /* what sets colours is ours: its writer has made all else visible itself */
    char held[TERMINAL_HELD_BYTES]; /* the beginning of a character */
    size_t held_size;
};

/* Take the first of `size` bytes, at least 1, and fill `sign` with what is shown of them: nothing,
 * while half a character waits for its rest. Returns how many were taken, which may be 0. */
size_t terminal_take(struct terminal *terminal, char sign[TERMINAL_SIGN_BYTES], const char *bytes,
                     size_t size);

/* The bytes of a sequence that sets colours, `ESC [ numbers m`; 0: something else. */
size_t terminal_colour(const char *bytes, size_t size);

/* What still waits comes out as the bytes that it is. */
void terminal_rest(struct terminal *terminal, char sign[TERMINAL_SIGN_BYTES]);

/* The visible form of the first character in a label, where blanks of all kinds but U+0020 are to
 * be seen, too: itself or \xNN. Returns how many bytes it stands for. */
size_t terminal_sign(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size);

#endif
