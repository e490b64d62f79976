/* base64.h: texts in base64, which stand for three bytes with four letters.
 *
 *     size_t size = 0;
 *     if (!base64_decode(bytes, &size, text, text_size)) ...
 */
#ifndef ATTN_BASE_BASE64_H
#define ATTN_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/* Write the bytes that a text stands for to `out`, which has room for three quarters of it; false
 * where it is none. Without the = at its end it is one, too. */
bool base64_decode(char *out, size_t *size, const char *text, size_t text_size);

#endif
