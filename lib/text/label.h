/* label.h: tokens as people see them: blanks visible, nothing that could disturb a terminal or a
 * table. `the` stays, a blank becomes ␣, a newline ↵, a tab ⇥; other controls, characters that turn
 * the direction of the text, and bytes that are not UTF-8 become \xNN for each of their bytes.
 */
#ifndef ATTN_TEXT_LABEL_H
#define ATTN_TEXT_LABEL_H

#include "base/buf.h"

struct stream;

enum { LABEL_EXCERPT_BYTES = 96 };

/* Append the visible form of a token's bytes; or of a line to read, a path, whose blanks stay. */
void label_visible(struct buf *out, const char *bytes, size_t size);
void label_line(struct buf *out, const char *bytes, size_t size);
void label_write_line(struct stream *out, const char *bytes, size_t size);

/* The same for a token, whose bytes may be a part of a character: ‿ stands where that goes on, 🍰 is
 * `\xf0\x9f‿` and `‿\x8d\xb0`. `goes_on`: the next token begins with such a part. */
void label_token(struct buf *out, const char *bytes, size_t size, bool goes_on);

/* True when a token begins inside a character. */
bool label_is_rest(const char *bytes, size_t size);

/* The visible form for a message: "…" stands for what has no room. Returns `text`. */
const char *label_excerpt(char text[LABEL_EXCERPT_BYTES], const char *bytes, size_t size);

#endif
