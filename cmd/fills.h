/* fills.h: the columns of --by, --group and --per, which group the rows of a table. A spreadsheet
 * writes the value of merged cells only into their first row; in such a column, a blank cell has
 * the value above it.
 *
 *     trial;word
 *     1;The
 *     ;key
 *     2;The
 */
#pragma once

#include "base/err.h"
#include "base/hash.h"
#include "options.h"

struct fill {
    const char *value; /* value of a cell (NULL: the cell is blank), or last value of a column so
                        * far (NULL: no value yet) */
    bool literal;      /* the value is JSON but not a string, as in struct row_cell
                        * (table_rows.h) */
};

struct fills {
    struct fill_column {
        const char *name;
        enum {
            FILL_BY, /* a column of --by: a row with another value begins a new text */
            /* a column of --group: a blank cell has the value above, as in columns of --by */
            FILL_GROUP,
            /* a column of --per: a blank cell keeps its blank value, but gets the value above it if
             * a --by cell of its row is blank */
            FILL_PER,
            FILL_NONE, /* a column whose blank cells stay blank: a row with a blank cell is in no
                        * group */
        } how;
        /* `filled`: number of blank cells that were filled; `blank`: number of cells that stayed
         * blank */
        size_t filled, blank;
        /* number of the first line that has a blank cell but no value above it; 0: no such line */
        size_t first_line;
    } * columns; /* [count] columns that group rows */
    size_t count;
    struct fill *now;        /* [count] last value of each column so far */
    struct hash_table texts; /* values of the --by columns of all texts so far */
    const char *text;        /* values of the --by columns in the row added last; NULL: no row
                              * yet */
};

/* Read the names of columns from the value of an option, a record of CSV such as a,"b, c". */
int column_names_read(struct texts *names, const char *option, const char *list,
                      struct arena *arena, struct err *err);

/* List the columns that group rows: the columns `by` of --by, the columns of --group and --per and,
 * for --total without these two, the column that numbers the items. */
int fills_init(struct fills *fills, const struct options *options, const struct texts *by,
               struct arena *arena, struct err *err);
void fills_release(struct fills *fills);

/* True if a row has a blank cell in a column of --by: then the row's other blank cells are merged
 * cells as well. */
bool fills_are_merged(const struct fills *fills, const struct fill *cells);

/* True if a blank cell of column `index` has the value of the cell above it. `is_merged`: what
 * fills_are_merged returned for the row of the cell. */
bool fills_has(const struct fills *fills, size_t index, bool is_merged);

/* Add the cells of a row, one for each column; the value of a blank cell is NULL. `line` is the
 * number of the row's line in the file. */
int fills_take(struct fills *fills, const struct fill *cells, size_t line, struct arena *arena,
               struct err *err);

/* True if the row added last begins a new text: its values in the --by columns differ from the
 * values of the row before it. Sets `err` if an earlier text already had these values. */
bool fills_begin_text(struct fills *fills, struct arena *arena, struct err *err);

/* Append to a note how many cells were blank, as in "; 2 blank cells of the column 'trial' …". */
void fills_write(struct buf *out, const struct fills *fills);
