/* explain_layout.h: how the table of a step is fitted to a page: which rows and which elements of
 * its vectors are shown, and how wide they are.
 *
 * A page is counted in columns of a terminal; where there is none, so are the characters that a
 * line of paper holds. Long vectors keep their ends, long lists of keys those with the most weight.
 *
 *     struct explain_layout layout = explain_layout(explanation, table, 80);
 *     for (size_t slot = 0; slot < explain_row_count(explanation, table); slot++)
 *         use(explain_row(explanation, table, slot));
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_LAYOUT_H
#define ATTN_EXPLAIN_EXPLAIN_LAYOUT_H

#include "explain/explanation.h"
#include "write/text_line.h"

enum {
    EXPLAIN_GAP = 2,      /* blanks between the elements of a vector */
    EXPLAIN_BLOCK_GAP = 4 /* before the first of them, and before a number, where there is room */
};

struct explain_layout {
    int number_width;                      /* of the keys' numbers; 0: rows have none */
    size_t label_width;                    /* of what rows are called, their numbers included */
    size_t cells[STEP_BLOCKS_MAX];         /* of one element of each block */
    struct text_cut cuts[STEP_BLOCKS_MAX]; /* its elements that are shown */
    size_t gap;                            /* before every block */
    size_t width;                          /* of it all */
};

/* `columns` 0: endless, nothing is left out. */
struct explain_layout explain_layout(const struct explanation *explanation,
                                     const struct step_table *table, size_t columns);

/* The columns of a block, gaps between its elements included. */
size_t explain_block_width(const struct explain_layout *layout, size_t block);

/* What stands above the elements of a vector: its symbol, in whatever notation, and "6 of 64" where
 * some are left out; may be nothing. */
void explain_heading(struct buf *heading, const char *symbol, const struct text_cut *cut);

/* Append a sentence in which W_q is a formula: $W_{q}$, for Markdown and LaTeX. */
void explain_prose(struct buf *out, const char *sentence);

/* Is it on a page, by itself? `full`: nothing is left out. */
bool explain_shows(const struct given *given, bool full);

/* The rows that are shown; and whether some are left out before a slot or, at the last one's
 * successor, behind all. */
size_t explain_row_count(const struct explanation *explanation, const struct step_table *table);
size_t explain_row(const struct explanation *explanation, const struct step_table *table,
                   size_t slot);
bool explain_gap(const struct explanation *explanation, const struct step_table *table,
                 size_t slot);

/* An element of a row, or of the total; NAN: there is nothing. */
float explain_cell(const struct block *block, size_t row, size_t element);
float explain_total(const struct block *block, size_t element);

#endif
