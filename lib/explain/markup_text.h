/* markup_text.h: texts and formulas in HTML, LaTeX and Markdown: nothing in a token becomes markup.
 *
 *     html_text(&out, "a < b", 5);                  (a &lt; b)
 *     html_formula(&out, "k_j = x_j · W_k");        (<i>k</i><sub>j</sub> = …)
 *
 * In LaTeX they are set in typewriter. ASCII and é and its like need nothing but LaTeX; all else is
 * \sign{number}{character}, so that the preamble decides what its fonts have:
 *
 *     latex_preamble_signs(&out);           (\sign: the character, or its number in a frame)
 *     latex_text(&out, "50 % of 爱", 11);    (\texttt{50 \% of \sign{7231}{爱}})
 */
#ifndef ATTN_EXPLAIN_MARKUP_TEXT_H
#define ATTN_EXPLAIN_MARKUP_TEXT_H

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

/* Append a text to LaTeX, in UTF-8, without line ends. */
void latex_text(struct buf *out, const char *text, size_t size);

/* Append what defines \sign, for pdfLaTeX, XeLaTeX and LuaLaTeX, and chooses fonts with accents
 * where they are installed. */
void latex_preamble_signs(struct buf *out);

/* Append a text of one line to Markdown; a cell of a table will do, too. Backslashes stand before
 * whatever CommonMark, or the tables and formulas of GitHub and pandoc, would read otherwise. */
void markdown_text(struct buf *out, const char *text, size_t size);

#endif
