/* csv_read.h: reads records of CSV (RFC 4180).
 *
 *     struct csv_reader reader = {bytes, bytes + size, 1, ','};
 *     struct csv_record record;
 *     while (!csv_read(&reader, &record, &arena, err) && record.count)
 *         use(record.fields[0]);
 */
#pragma once

#include "base/memory.h"

struct csv_reader {
    const char *at;
    const char *end;
    size_t line;    /* number of the line that contains `at`, from 1 */
    char separator; /* a comma, a semicolon or a tab; a newline makes each line one field */
};

struct csv_record {
    const char **fields; /* [count] the fields, 0-terminated, in the arena */
    size_t count;        /* 0 at the end of the file */
    size_t line;         /* number of the first line of the record */
};

/* Read the next record and skip empty lines. A quote that is not closed, text after a closing quote
 * and a zero byte are errors; the next call continues after that line or record. */
int csv_read(struct csv_reader *reader, struct csv_record *record, struct arena *arena,
             struct err *err);
