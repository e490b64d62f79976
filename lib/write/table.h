/* table.h: tables on a terminal, cell by cell, each column with its width as a terminal shows it;
 * and colours below numbers, or in place of them.
 *
 *     static const struct table_column columns[] = {
 *         {"token", .width = 12, .left = true}, {"id", .gap = 2, .width = 6}};
 *     struct table table = {.out = out, .columns = columns, .count = 2};
 *     table_titles(&table);
 *     table_text(&table, "Life"), table_number(&table, id), table_end(&table);
 *     return table_close(&table, err);
 *
 * Memory failures stick until the table is closed. Lines end without blanks.
 */
#ifndef ATTN_WRITE_TABLE_H
#define ATTN_WRITE_TABLE_H

#include "write/format.h"

/* A terminal has 24-bit colours, 256, 16, or none: then characters of four shades. Numbers near 0
 * keep the terminal's own ground; if it is not known whether that is light or dark they have the
 * light end of the colours, or 0 would look stronger than the next colour on one of them. */
struct text_heat {
    bool numbers; /* they are written */
    bool colours; /* heat is shown by colours */
    bool shades;  /* or by characters */
    bool dark;    /* the terminal's ground */
    bool painted; /* numbers near 0 have a ground, too */
    enum style_depth depth;
    struct colour_norms norms;
    struct ramp ramp;
    uint8_t fixed[RAMP_LEVELS]; /* the colours of a level if there are 256 */
    unsigned set;               /* the level whose colours the line has now; 0: none */
};

/* For numbers, or fractions, in an extent. The stream learns that its colours are ours: others are
 * made visible (label.h). */
void text_heat_begin(struct text_heat *heat, struct stream *out, struct extent extent,
                     bool fraction, const struct place *place);

/* Give the line the colours of a level, or the terminal's own; nothing without colours. */
void text_heat_set(struct buf *line, struct text_heat *heat, unsigned level);
void text_heat_reset(struct buf *line, struct text_heat *heat);

/* Append the scale: colours with the numbers at both ends. */
void text_heat_legend(struct buf *line, struct text_heat *heat);

struct table_column {
    const char *title; /* NULL: none */
    size_t gap;        /* blanks before it */
    size_t width;
    size_t repeat; /* so many columns like it, side by side; 0: one */
    bool left;     /* its cells begin at the left; else they end at the right */
    bool shortens; /* wider cells end in an ellipsis; else they take the room they need */
    bool tight;    /* colour reaches from the blank before a number to its end, not further */
};

struct table {
    struct stream *out;
    const struct table_column *columns;
    size_t count;
    size_t page;            /* width at which a line is shortened; 0: endless */
    struct text_heat *heat; /* of table_heated; NULL if that is not used */
    struct buf line;        /* after the last cell more may be appended */
    struct buf cell;        /* the next cell, for table_put */
    size_t next, again;     /* the column of the next cell, and how many like it have been */
    size_t margin;          /* blanks that have the colours of the cell before them */
};

/* Begin another table after an empty line. */
void table_begin(struct table *table, const struct table_column *columns, size_t count);

/* Write a line of the columns' titles. */
void table_titles(struct table *table);

/* The next cell: a text; a number; what was gathered in `cell`; a number with the colours or shades
 * of a level, those alone if heat has no numbers. */
void table_text(struct table *table, const char *text);
void table_number(struct table *table, size_t number);
void table_put(struct table *table);
void table_heated(struct table *table, const char *number, unsigned level);

/* Continue the line with the first column again, so many blanks further right. */
void table_beside(struct table *table, size_t gap);

void table_end(struct table *table); /* the line */

/* Release its memory; -1 if some output is missing because memory ran out. */
int table_close(struct table *table, struct err *err);

#endif
