/* unicode_form.h: Unicode's normal forms, stretch by stretch, so that whoever changes a text knows
 * what became of which characters. As in Hugging Face's library, what came after Unicode 9 is not
 * taken apart.
 *
 *     for (size_t at = 0, end; at < size; at = end) {
 *         end = unicode_form_end(UNICODE_NFC, text, size, at, &stays);
 *         if (!stays && unicode_form_put(UNICODE_NFC, &buf, text + at, end - at)) …   it changes
 *     }
 */
#ifndef ATTN_BASE_UNICODE_FORM_H
#define ATTN_BASE_UNICODE_FORM_H

#include "base/buf.h"

enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD };

/* The end of the stretch that begins at `at`: a run of characters that stay as they are, or one
 * with all that may combine with it. The form of a text is that of its stretches in a row. */
size_t unicode_form_end(enum unicode_form form, const char *text, size_t size, size_t at,
                        bool *stays);

/* Append a stretch's form, in time linear in its size; false, and nothing added, where it is the
 * stretch itself. */
bool unicode_form_put(enum unicode_form form, struct buf *out, const char *text, size_t size);

#endif
