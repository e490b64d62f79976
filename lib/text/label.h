/* label.h: tokens as people see them: blanks visible, nothing that could disturb a terminal or a
 * table. `the` stays, a blank becomes ␣, a newline ↵, a tab ⇥; other controls, characters that turn
 * the direction of the text, and bytes that are not UTF-8 become \xNN for each of their bytes.
 */
#ifndef ATTN_TEXT_LABEL_H
#define ATTN_TEXT_LABEL_H

#include "base/buf.h"

enum { LABEL_EXCERPT_BYTES = 96 };

/* Append the visible form of a token's bytes; or of a line to read, a path, whose blanks stay. */
void label_visible(struct buf *out, const char *bytes, size_t size);
void label_line(struct buf *out, const char *bytes, size_t size);

/* The same of a line in `room` bytes with a closing 0; returns how long it is. The first character
 * without room and all after it are left out. */
size_t label_fill(char *to, size_t room, const char *line);

/* A token's own bytes, which may be a part of a character. */
struct token_bytes {
    const char *bytes; /* NULL: they are not known */
    size_t size;
};

enum { LABEL_AROUND = 3 }; /* of a row, so many tokens before and after one may be a part, too */

/* The same for a token of a row. A part of a character is shown as that, with the part's number: 🍰
 * is `🍰₁` and `🍰₂`. Where the row has not all of it, or it cannot be seen, it is shown as its
 * bytes, and ‿ where it goes on: `\xf0\x9f‿` and `‿\x8d\xb0`. */
void label_token(struct buf *out, const struct token_bytes *row, size_t count, size_t index);

/* True when a token begins inside a character. */
bool label_is_rest(const char *bytes, size_t size);

/* The visible form for a message: "…" stands for what has no room. Returns `text`. */
const char *label_excerpt(char text[LABEL_EXCERPT_BYTES], const char *bytes, size_t size);

#endif
