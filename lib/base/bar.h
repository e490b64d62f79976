/* bar.h: shares of a whole as bars of text, in eighths of a column: ██████▊ */
#ifndef ATTN_BASE_BAR_H
#define ATTN_BASE_BAR_H

enum { BAR_COLUMNS = 16, BAR_BYTES = 3 * BAR_COLUMNS + 1 };

/* A bar of BAR_COLUMNS for 1, with blanks behind it; less than 0 is 0, more than 1 is 1. Returns
 * `bar`. */
const char *bar_draw(char bar[BAR_BYTES], double share);

#endif
