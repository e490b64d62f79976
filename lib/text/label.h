/* label.h: tokens as people see them: blanks visible, nothing that could disturb a terminal or a
 * table. `the` stays, a blank becomes ␣, a newline ↵, a tab ⇥; other controls, characters that turn
 * the direction of the text, and bytes that are not UTF-8 become \xNN for each of their bytes.
 */
#ifndef ATTN_TEXT_LABEL_H
#define ATTN_TEXT_LABEL_H

#include <stddef.h>

#include "base/buf.h"

enum { LABEL_EXCERPT_BYTES = 96 };

/* Append the visible form of a token's bytes. */
void label_visible(struct buf *out, const char *bytes, size_t size);

/* The visible form for a message, which a word of a megabyte must not fill: what has no room is
 * cut, and "…" stands in its place. Returns `text`. */
const char *label_excerpt(char text[LABEL_EXCERPT_BYTES], const char *bytes, size_t size);

#endif
