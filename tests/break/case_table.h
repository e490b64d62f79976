/* case_table.h: tables of what may go wrong, a line a case.
 *
 *     model life                                   a copy of it, in the folder m, for what follows
 *     attn-cli run -m m -s 'Life is'               the command line of what follows
 *     let <widths> = [6, 4]                        what <widths> stands for in what follows
 *     3 | m/config.json: "n_embd": 3 -> 4 | expected <widths> | found [6, 3]
 *     0 | m/config.json += <0d><0a>       | Life
 *
 * A case is the exit status (with a + where files may stay with which another process can go on),
 * what is changed before the program starts (change.h; several changes stand with "; " between
 * them), and texts that the message, or with status 0 what was printed, must hold; `= TEXT` is the
 * whole message, after `attn-cli: error: `. `attn-cli ...` among the changes is a command line for
 * this case alone. A line that begins with # is a comment. <hh> is a byte in hexadecimal digits,
 * <3*ab> is ababab; blanks at both ends of a part do not count.
 *
 *     struct case_table table;
 *     if (case_table_open(&table, "tests/break/config.cases", &err)) ...
 *     for (size_t i = 0; i < table.count; i++)
 *         use(&table.cases[i]);
 *     case_table_release(&table);
 */
#ifndef ATTN_TESTS_CASE_TABLE_H
#define ATTN_TESTS_CASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

enum { CASE_PARTS_MAX = 16 };

struct case_row {
    size_t line;
    int status;
    bool leaves_files;
    const char *model;   /* NULL: none */
    const char *command; /* as it is written, behind `attn-cli` */
    const char *changes[CASE_PARTS_MAX];
    size_t change_count;
    const char *texts[CASE_PARTS_MAX];
    size_t text_count;
};

struct case_table {
    const char *path; /* borrowed */
    struct case_row *cases;
    size_t count;
    struct arena arena;
};

/* Read a table. Errors name the file and the line. On failure nothing is held. */
int case_table_open(struct case_table *table, const char *path, struct err *err);
void case_table_release(struct case_table *table);

/* Append what a text of a table stands for: <hh> and <3*ab> resolved. */
void case_table_decode(struct buf *bytes, const char *text, size_t size);

#endif
