/* arrow_table.h: a table in the file format of Apache Arrow's interprocess messages, version 5,
 * written row by row. Only so many rows stay in memory: they go out as record batches.
 *
 *     static const struct arrow_column columns[] = {{"word", ARROW_TEXT}, {"value", ARROW_FLOAT}};
 *     struct arrow_table table = {.out = &out};
 *     arrow_table_begin(&table, columns, 2);
 *     arrow_table_text(&table, "Life");
 *     arrow_table_float(&table, 0.25f);            ... a value a column, then the next row
 *     if (arrow_table_end(&table, err)) ...
 *     arrow_table_release(&table);
 *
 * What describes it are FlatBuffers of a few fixed forms, put together here: Debian has neither
 * Arrow's library nor one in C. The forms are those of Schema.fbs, Message.fbs and File.fbs of
 * https://arrow.apache.org/docs/format/Columnar.html.
 */
#ifndef ATTN_WRITE_ARROW_TABLE_H
#define ATTN_WRITE_ARROW_TABLE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/stream.h"

enum arrow_type { ARROW_INTEGER, ARROW_LONG, ARROW_FLOAT, ARROW_TEXT }; /* int32, int64, float32 */

struct arrow_column {
    const char *name;
    enum arrow_type type;
};

enum { ARROW_COLUMNS_MAX = 64 };

/* The rows of a column that wait. */
struct arrow_values {
    struct buf values, ends; /* ends: of texts, an int32 each; a row that is null has zeros there */
    struct buf valid;        /* a byte a row: 0 is null */
    size_t nulls;
};

struct arrow_table {
    struct stream *out;
    const struct arrow_column *columns; /* [column_count], borrowed */
    size_t column_count, column;        /* `column`: that of the next value */
    struct arrow_values values[ARROW_COLUMNS_MAX];
    size_t rows, text_bytes; /* that wait */
    struct buf blocks;       /* of batches that are written: struct Block of File.fbs */
    uint64_t position;       /* in the file */
};

/* The file's beginning, with the names and types of all columns. */
void arrow_table_begin(struct arrow_table *table, const struct arrow_column *columns, size_t count);

/* The next value of the row, of that column's type. Bytes that are no UTF-8 become U+FFFD. */
void arrow_table_integer(struct arrow_table *table, long long value);
void arrow_table_float(struct arrow_table *table, float value);
void arrow_table_text(struct arrow_table *table, const char *text);
void arrow_table_null(struct arrow_table *table);

/* After every row: what waits goes out where it is much. */
int arrow_table_end_row(struct arrow_table *table, struct err *err);

/* Send what waits; and then the end of the file, which says where all batches are. 0, or -1 where
 * there was no memory, or a text was too long; what fails to be written sticks to the stream. */
int arrow_table_flush(struct arrow_table *table, struct err *err);
int arrow_table_end(struct arrow_table *table, struct err *err);

void arrow_table_release(struct arrow_table *table);

#endif
