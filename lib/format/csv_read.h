/* csv_read.h: records of CSV, as RFC 4180 has them.
 *
 *     struct csv_reader reader = {bytes, bytes + size, 1, ','};
 *     struct csv_record record;
 *     while (!csv_read(&reader, &record, &arena, err) && record.count)
 *         use(record.fields[0]);
 */
#ifndef ATTN_FORMAT_CSV_READ_H
#define ATTN_FORMAT_CSV_READ_H

#include "base/memory.h"

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

/* Read the next record, past empty lines. Refused, and passed so that reading can go on: a quote
 * that is not closed, anything after a closing quote, a zero byte. */
int csv_read(struct csv_reader *reader, struct csv_record *record, struct arena *arena,
             struct err *err);

#endif
