/* text_layout.h: how the sheets of one tensor are fitted to a page.
 *
 * All heads of a tensor get one layout, so that equal numbers look equal and columns stand under
 * columns. Numbers have four decimals; where that takes more than 9 columns, or would show nothing
 * but zeros, they are written as 1.23e+08. A matrix that is too wide or too long loses its middle.
 */
#ifndef ATTN_WRITE_TEXT_LAYOUT_H
#define ATTN_WRITE_TEXT_LAYOUT_H

#include "write/format.h"
#include "write/text_line.h"

enum {
    TEXT_GAP = 2,        /* blanks before a column of numbers */
    TEXT_HEAT = 2,       /* columns of a cell without a number: about as wide as high */
    TEXT_BLOCK_GAP = 4,  /* blanks between two heads side by side */
    TEXT_LABEL_MAX = 16, /* columns; longer labels are shortened */
};

struct text_layout {
    struct text_cut rows;
    struct text_cut columns;
    size_t label_width; /* of the column of labels at the left … */
    size_t index_width; /* … which begin with their numbers, in so many columns; 0: without */
    size_t cell_width;
    size_t gap; /* blanks before every column */
    struct numeral numeral;
    size_t side_by_side; /* heads in one row of blocks */
};

/* `numbers`: cells hold them; else they are small, and labels begin with the numbers that stand
 * above the columns. */
struct text_layout text_layout(const struct report *report, const struct kept *kept,
                               const struct place *place, bool numbers);

enum {
    TEXT_CORNER_BYTES = 24,
};

/* "head 3", or nothing for a sheet without a head; returns `corner`. */
const char *text_corner(char corner[TEXT_CORNER_BYTES], const struct sheet *sheet);

#endif
