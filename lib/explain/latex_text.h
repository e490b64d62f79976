/* latex_text.h: texts in LaTeX as they are, whatever is in them.
 *
 * They are set in typewriter. ASCII and é and its like need nothing but LaTeX; all else is
 * \sign{number}{character}, so that the preamble decides what its fonts have:
 *
 *     latex_preamble_signs(&out);           (\sign: the character, or its number in a frame)
 *     latex_text(&out, "50 % of 爱", 11);    (\texttt{50 \% of \sign{7231}{爱}})
 */
#ifndef ATTN_EXPLAIN_LATEX_TEXT_H
#define ATTN_EXPLAIN_LATEX_TEXT_H

#include <stddef.h>

#include "base/buf.h"

/* Append a text in UTF-8, without line ends. */
void latex_text(struct buf *out, const char *text, size_t size);

/* Append what defines \sign, for pdfLaTeX, XeLaTeX and LuaLaTeX, and chooses fonts with accents
 * where they are installed. */
void latex_preamble_signs(struct buf *out);

#endif
