/* utf8.h: characters in bytes: what they are and how wide they stand on a terminal.
 *
 * Classes are those of unicode.h, so that every machine cuts a text alike. Columns and graphemes
 * are utf8proc's (linked statically where it can be): they only align what is shown. Neither looks
 * at the locale, and neither costs anything at start-up.
 *
 *     for (size_t at = 0; at < size;) {
 *         uint32_t c;
 *         size_t length = utf8_decode(&c, text + at, size - at);
 *         ...
 *         at += length;
 *     }
 */
#ifndef ATTN_BASE_UTF8_H
#define ATTN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a character is to a tokenizer. Marks count as letters: they belong to the one before. */
enum utf8_class {
    UTF8_SPACE,   /* Unicode's White_Space */
    UTF8_LETTER,  /* letters and combining marks */
    UTF8_NUMBER,  /* digits and other numbers */
    UTF8_OTHER,   /* punctuation, symbols, emoji */
    UTF8_CONTROL, /* controls, format characters, unassigned */
};

/* Read the character at `bytes`; returns its length in bytes, or 0 when the bytes there are not
 * UTF-8 (overlong forms, surrogates and numbers beyond U+10FFFF included) or `size` is 0. */
size_t utf8_decode(uint32_t *character, const char *bytes, size_t size);

/* Write a character, which is no surrogate; returns its length in bytes. */
size_t utf8_encode(char out[4], uint32_t character);

/* The offset of the first byte that is not UTF-8; `size` when all of it is. */
size_t utf8_invalid_at(const char *bytes, size_t size);

enum utf8_class utf8_class(uint32_t character);

/* The small letter of a large one; any other character itself. */
uint32_t utf8_small(uint32_t character);

/* True when the character is shown as itself: not a control, not one that turns the direction of
 * the text around it, not invisible. */
bool utf8_is_visible(uint32_t character);

/* The bytes of the first grapheme (what a reader calls one character, an emoji family included). */
size_t utf8_grapheme(const char *bytes, size_t size);

/* Columns that valid UTF-8 takes on a terminal: 2 for 爱 and 🍰, 0 for a combining accent. */
size_t utf8_width(const char *bytes, size_t size);

/* The version of Unicode that classes are from, such as "16.0.0". */
const char *utf8_unicode_version(void);

#endif
