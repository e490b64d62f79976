/* case_table.h: tables of refusals, with a line for each case.
 *
 *     model life                                   following cases: a copy of it in the folder m
 *     attn-cli run -m m -s 'Life is'               following cases: this command line
 *     let <widths> = [6, 4]                        following lines: replace <widths>
 *     3 | m/config.json: "n_embd": 3 -> 4 | expected <widths> | found [6, 3]
 *     0 | m/config.json += <0d><0a>       | Life
 *
 * A case has, separated by |: the exit status (with a + if the command may leave files that can be
 * resumed); changes of files before the program starts (change.h), separated by "; "; texts that
 * the message, or with status 0 the output, must contain. `= TEXT` is the whole message, after
 * `attn-cli: error: `. `attn-cli ...` among the changes is the command line of this case alone.
 * {formats} are the names in a list of `attn-cli help --completion bash`, separated by ", ". Lines
 * that begin with # are comments. <hh> is a byte in hexadecimal digits, <3*ab> is ababab;
 * blanks at both ends of a part are ignored.
 *
 *     struct case_table table;
 *     if (case_table_open(&table, "tests/refusals/config.cases", lists, &err)) ...
 *     for (size_t i = 0; i < table.count; i++)
 *         use(&table.cases[i]);
 *     case_table_release(&table);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/memory.h"

enum { CASE_PARTS_MAX = 16 };

struct case_row {
    size_t line;
    int status;
    bool leaves_files;
    const char *model;   /* NULL: none */
    const char *command; /* the text after `attn-cli` */
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

/* Read a table. `lists` are the lines of help --completion. Errors name the file and the line;
 * after one there is nothing to release. */
int case_table_open(struct case_table *table, const char *path, const char *lists, struct err *err);
void case_table_release(struct case_table *table);

/* Append a text of a table with <hh> and <3*ab> expanded. */
void case_table_decode(struct buf *bytes, const char *text, size_t size);
