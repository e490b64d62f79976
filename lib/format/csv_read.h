/* csv_read.h: records of CSV, as RFC 4180 has them: commas, or what else separates fields, quotes
 * around a field that holds one, quotes within it doubled, lines that end in a field.
 *
 *     struct csv_reader reader = {bytes, bytes + size, 1, ','};
 *     struct csv_record record;
 *     while (!csv_read(&reader, &record, &arena, err) && record.count)
 *         use(record.fields[0]);
 */
#ifndef ATTN_FORMAT_CSV_READ_H
#define ATTN_FORMAT_CSV_READ_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct csv_reader {
    const char *at;
    const char *end;
    size_t line;    /* the number of the line at `at` */
    char separator; /* a comma, a semicolon or a tab */
};

struct csv_record {
    const char **fields; /* [count], 0-terminated, the arena's */
    size_t count;        /* 0: there is none left */
    size_t line;         /* where it begins */
};

/* Read the next record; empty lines between them are passed. Refused: a quote that is not closed,
 * anything after a closing quote, a zero byte. The line of what was refused is passed, so that
 * reading can go on. */
int csv_read(struct csv_reader *reader, struct csv_record *record, struct arena *arena,
             struct err *err);

#endif
