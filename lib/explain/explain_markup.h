/* explain_markup.h: explanations in a markup that is text: a table of its marks, and what no mark
 * can say as functions. All of them are laid out by the same walk.
 *
 *     static const struct markup markdown = {.title = {"# ", "\n\n"}, .text = markdown_text, ...
 *     return explain_markup_write(out, explanations, &page, &markdown, err);
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_MARKUP_H
#define ATTN_EXPLAIN_EXPLAIN_MARKUP_H

#include "explain/explanation.h"
#include "explain/explain_walk.h"

/* What stands before something and after it. */
struct marks {
    const char *before, *after;
};

struct markup {
    bool latex; /* formulas are in LaTeX's notation, not the terminal's */
    void (*text)(struct buf *out, const char *text, size_t size); /* whatever is in it, as it is */
    bool escapes_words;                                           /* of our own, too */
    void (*formula)(struct buf *out, const char *formula);
    void (*prose)(struct buf *out, const char *sentence);

    /* The document: what is above its title; links to queries, or NULL; its end. */
    void (*begin)(struct buf *out, const struct report *report);
    struct marks title;
    void (*links)(struct buf *out, const struct explanations *explanations);
    const char *end;

    struct marks facts; /* of a list of facts */
    bool one_list;      /* the facts of a single query go on in the list above */
    struct marks fact;  /* of its name */
    struct marks quote, query_quote;
    const char *fact_end;

    /* A query of several: the first one and the others begin with these, then comes its token. */
    struct marks anchor; /* of the number of any query */
    const char *query_breaks[2];
    struct marks query;
    const char *query_end;
    struct {
        const char *before, *number, *after;
    } step[2]; /* of one query, of several */
    const char *step_end;
    struct marks paragraphs[EXPLAIN_TEXTS];

    /* A table: its beginning, what its columns are, each of its lines, the name of a row. */
    const char *table_begin;
    struct {
        const char *label, *number, *share, *end;
        bool below_titles;
    } columns;
    struct {
        const char *before, *after; /* of its label */
        const char *end;
    } lines[EXPLAIN_LINES];
    struct marks own_row; /* in place of those of other rows */
    struct marks name;
    const char *dots, *gap; /* columns, and rows, that are left out */
    struct marks titles[CELL_KINDS], cells[CELL_KINDS];
    const char *table_end[2]; /* without a total, and with one */
    bool says_parts;          /* below: how many elements are shown of how many */
    size_t rows_max;          /* a table goes on in another one after so many; 0: never */

    void (*title_cell)(struct buf *out, const struct explain_cell *cell);
    void (*number_cell)(struct buf *out, const struct explain_cell *cell);
    void (*bar_cell)(struct buf *out, double share); /* of a row, with its marks */
    /* The line above the titles; NULL: there is none. */
    void (*symbol)(struct buf *out, const struct formula *symbol);
    void (*heading_cell)(struct buf *out, const struct explain_table *table,
                         const struct explain_cell *cell, const char *heading);
};

/* `page`: the columns that a table may take. */
int explain_markup_write(struct stream *out, const struct explanations *explanations,
                         const struct explain_page *page, const struct markup *markup,
                         struct err *err);

#endif
