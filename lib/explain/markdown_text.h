/* markdown_text.h: texts in Markdown as they are: nothing in a token becomes markup. */
#ifndef ATTN_EXPLAIN_MARKDOWN_TEXT_H
#define ATTN_EXPLAIN_MARKDOWN_TEXT_H

#include <stddef.h>

#include "base/buf.h"

/* Append a text of one line; a cell of a table will do, too. Backslashes stand before whatever
 * CommonMark, or the tables and formulas of GitHub and pandoc, would read otherwise. */
void markdown_text(struct buf *out, const char *text, size_t size);

#endif
