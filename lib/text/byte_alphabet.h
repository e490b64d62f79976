/* byte_alphabet.h: GPT-2's way to write any bytes as a visible text: a character for each byte.
 *
 * 188 bytes stand for themselves (! to ~, ¡ to ¬, ® to ÿ, as code points); the other 68, in their
 * order, are U+0100 and on. A blank is Ġ, a newline Ċ. Vocabularies and merges are written so.
 */
#ifndef ATTN_TEXT_BYTE_ALPHABET_H
#define ATTN_TEXT_BYTE_ALPHABET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Write the bytes that a text stands for to `out`, which may be the text itself: `*out_size` of
 * them, not more than the text has. Returns how much of the text was read: all of it, or up to what
 * is no character of the alphabet. */
size_t byte_alphabet_decode(char *out, size_t *out_size, const char *text, size_t size);

/* The character that stands for a byte. */
uint32_t byte_alphabet_sign(unsigned char byte);

#endif
