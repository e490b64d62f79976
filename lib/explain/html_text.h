/* html_text.h: texts and formulas in HTML: nothing in a token becomes markup.
 *
 *     html_text(&out, "a < b", 5);                  (a &lt; b)
 *     html_formula(&out, "k_j = x_j · W_k");        (<i>k</i><sub>j</sub> = …)
 */
#ifndef ATTN_EXPLAIN_HTML_TEXT_H
#define ATTN_EXPLAIN_HTML_TEXT_H

#include <stddef.h>

#include "base/buf.h"

/* Append a text, in an element or in the quotes of an attribute. */
void html_text(struct buf *out, const char *text, size_t size);

/* Append a formula in the notation of a terminal (struct formula): indices are set low, exponents
 * high, what is below a root has a line above it; single letters slant. */
void html_formula(struct buf *out, const char *formula);

/* The same in pango's markup, which has no line above a root. */
void html_markup(struct buf *out, const char *formula);

/* Append a sentence with names of formulas in it, which are all that has an index: W_q. */
void html_prose(struct buf *out, const char *sentence);

#endif
