/* fills.h: columns that group the rows of a table: of --by, --group and --per. A spreadsheet writes
 * the value of merged cells into the first of their rows alone; in such a column, a blank cell has
 * the value above.
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
    const char *value; /* NULL: none yet */
    bool literal;      /* as in row_cell (items.c) */
};

struct fills {
    struct fill_column {
        const char *name;
        enum {
            FILL_BY,    /* a column of --by: another value begins a text */
            FILL_GROUP, /* blank cells have the value above, as in columns of --by */
            FILL_PER,   /* a blank cell is a value of --per, but filled if one of --by is blank */
            FILL_NONE,  /* rows with a blank cell are in no group */
        } how;
        size_t filled, blank; /* cells without a value that were filled; others */
        size_t first_line;    /* first line with a blank cell without a value above; 0: none */
    } * columns;              /* [count] */
    size_t count;
    struct fill *now;        /* [count] values of the last row */
    struct hash_table texts; /* values of --by of all texts so far */
    const char *text;        /* values of --by of the last row */
};

/* Read a list of columns that an option names, as a record of CSV: a,"b, c". */
int column_names_read(struct texts *names, const char *option, const char *list,
                      struct arena *arena, struct err *err);

/* List the columns of the options that group rows; `id` numbers the items. */
int fills_init(struct fills *fills, const struct options *options, const struct texts *by,
               struct arena *arena, struct err *err);
void fills_release(struct fills *fills);

/* True if a row has a blank cell of --by: then its other blank cells are merged cells as well. */
bool fills_are_merged(const struct fills *fills, const struct fill *cells);

/* True if a blank cell of column `index` has the value above. */
bool fills_has(const struct fills *fills, size_t index, bool is_merged);

/* Add a row: cells [count] without a value where they are blank. */
int fills_take(struct fills *fills, const struct fill *cells, size_t line, struct arena *arena,
               struct err *err);

/* True if the last row begins a text: its values of --by differ from the values of the row before.
 * Refused: values of an earlier text. */
bool fills_begin_text(struct fills *fills, struct arena *arena, struct err *err);

/* Append how many cells were blank, "; 2 blank cells of the column 'trial' …". */
void fills_write(struct buf *out, const struct fills *fills);
