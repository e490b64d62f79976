/* format_choice.h: which row of a table of formats is meant: --format, else the ending of -o, else
 * the first row, which is for people.
 *
 *     static const struct format_table table = FORMAT_TABLE(rows, ROWS);
 *     size_t index = 0;
 *     if (format_choose(&index, &table, options->format, options->output, err))
 *         return -1;
 *     ... rows[index]
 */
#ifndef ATTN_CMD_FORMAT_CHOICE_H
#define ATTN_CMD_FORMAT_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/names.h"
#include "base/stream.h"

struct format_table {
    struct names names, endings; /* a row has both; endings with their dots */
    const bool *first_for_files; /* the first row's field; NULL: no row is */
};

/* Rows with the fields `name`, `ending` and `for_files`; rows without the last. */
#define FORMAT_TABLE(rows, count)                                                \
    {                                                                            \
        {&(rows)->name, (count), sizeof *(rows), NULL},                          \
            {&(rows)->ending, (count), sizeof *(rows), NULL}, &(rows)->for_files \
    }
#define FORMAT_TABLE_OF_TEXT(rows, count)                          \
    {                                                              \
        {&(rows)->name, (count), sizeof *(rows), NULL},            \
            {&(rows)->ending, (count), sizeof *(rows), NULL}, NULL \
    }

/* `name` and `path` are NULL where they were not given. Refused as usage are names and endings that
 * are none, and bytes on a terminal that `-` did not ask for. */
int format_choose(size_t *index, const struct format_table *table, const char *name,
                  const char *path, struct err *err);

/* The same for a name alone, wherever it goes. */
int format_choose_name(size_t *index, const struct format_table *table, const char *name,
                       struct err *err);

/* The row whose ending a path has; false where it has none of them. */
bool format_find_ending(size_t *index, const struct format_table *table, const char *path);

/* True for standard output: no path, or `-`. */
bool format_to_standard_output(const char *path);

/* Open what -o names: that, or the file that a commit puts there. */
int format_open_output(struct stream *out, const char *path, struct err *err);

#endif
