/* lossy_text.h: bytes that should be a text, and need not be: what is no UTF-8 becomes U+FFFD, one
 * for as many bytes as could have begun a character, as in other programs.
 */
#ifndef ATTN_TEXT_LOSSY_TEXT_H
#define ATTN_TEXT_LOSSY_TEXT_H

#include "base/buf.h"

#define LOSSY_TEXT_SIGN "\xEF\xBF\xBD"

/* Append bytes as a text, and take them out of `rest`. What may go on with the next bytes stays
 * there, unless these are the last. */
void lossy_text_write(struct buf *out, struct buf *rest, bool last);

#endif
