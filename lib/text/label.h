/* label.h: visible forms of tokens, safe for terminals and tables. `the` stays, a space becomes ␣,
 * a newline ↵, a tab ⇥, a no-break space ⍽; other controls and blanks, invisible characters but
 * joiners, characters that change the direction of text, and invalid UTF-8 become \xNN for each
 * byte. */
#pragma once

#include "base/buf.h"

enum { LABEL_EXCERPT_BYTES = 96, LABEL_EXCERPTS = 4 };

/* label_visible appends the visible form of a token's bytes; label_line the visible form of a line
 * for people, such as a path, and keeps its spaces. */
void label_visible(struct buf *out, const char *bytes, size_t size);
void label_line(struct buf *out, const char *bytes, size_t size);

/* Write the visible form of a line with a closing 0 to `capacity` bytes, as many characters as fit;
 * returns its length. */
size_t label_fill(char *to, size_t capacity, const char *line);

/* The bytes of a token, which may be part of a character. */
struct token_bytes {
    const char *bytes; /* NULL: the bytes are not known */
    size_t size;
};

/* Append the visible form of token `index` of a row of adjacent tokens. Parts of a character are
 * numbered: 🍰 becomes `🍰₁` and `🍰₂`. If the row lacks bytes of the character, or the character is
 * invisible, its bytes are shown, and ‿ where the character continues: `\xf0\x9f‿`
 * and `‿\x8d\xb0`. */
void label_token(struct buf *out, const struct token_bytes *row, size_t count, size_t index);

/* True if a token begins inside a character. */
bool label_is_rest(const char *bytes, size_t size);

/* The visible form for a message, cut with "…" at its end if LABEL_EXCERPT_BYTES are too few. The
 * text is valid until this thread has asked for LABEL_EXCERPTS more. */
const char *label_excerpt(const char *bytes, size_t size);
