/* output.h: the format and the destination of results, and how pages and pictures look.
 *
 * Rows of a table of formats begin with a name and the ending of files, with its dot. --format
 * chooses the row, else the ending of -o, else the first row, which is for people.
 *
 *     const struct row *row = format_choose(NAMES(rows, ROWS), &options->output, err);
 *     if (!row || output_to(&stream, options->output.path, err) || row->write(...)) ...
 */
#ifndef ATTN_CMD_OUTPUT_H
#define ATTN_CMD_OUTPUT_H

#include "base/names.h"
#include "base/stream.h"
#include "base/target_folder.h"
#include "lens/selection.h"
#include "model/model.h"
#include "options.h"
#include "write/format.h"

/* The row, or NULL. Refused: unknown names and endings; bytes on a terminal without `-o -`. */
const void *format_choose(struct names formats, const struct output_options *options,
                          struct err *err);

/* The index of a row by the ending of a path; false: it has none of them. */
bool format_find_ending(size_t *index, struct names formats, const char *path);

/* Whether it has one of the names, "json jsonl"; whether it is a picture or a page. */
bool format_is(const struct format *format, const char *names);
bool format_is_looked_at(const struct format *format);

/* Standard output: no path, or `-`. A folder: a directory, or a path that ends in a slash. */
bool output_is_standard(const char *path);
bool output_is_folder(const char *path);

/* Open standard output, or a file that appears when it is committed. */
int output_to(struct stream *out, const char *path, struct err *err);

/* Reports: one file, or a folder of files. */
struct output {
    const char *path; /* NULL or "-": standard output */
    const struct format *format;
    bool to_stdout, to_folder;
    bool replaces;        /* files in a folder */
    bool draws_pages;     /* html is a page of pictures, not the interactive page of tensors */
    struct stream stream; /* unless it is a folder */
    struct target_folder folder; /* also the place of a file that a task names */
};

/* A folder that holds anything is refused without --force. The second is for commands that write
 * one table: any format except html. */
int output_choose(struct output *output, const struct output_options *options, struct err *err);
int output_choose_table(struct output *output, const struct output_options *options,
                        struct err *err);

/* Refuse a selection that the format cannot hold; several texts in a format that holds one. */
int output_check_selection(const struct output *output, const struct selection *selection,
                           struct err *err);
int output_check_count(const struct output *output, size_t texts, struct err *err);

/* Begin, unless that is done; write reports; commit, or discard (nothing after a commit). */
int output_open(struct output *output, struct err *err);
struct target output_target(struct output *output);
int output_write(struct output *output, const struct report *report, const struct place *place,
                 struct err *err);
int output_commit(struct output *output, struct err *err);
void output_discard(struct output *output);

/* All of that for a report of one table; `style` of figures, which may be NULL. */
int output_write_table(struct output *output, const struct report *report,
                       const struct options *options, const struct style *style, struct err *err);

/* Remove the temporary files that a killed process left in a folder of results. */
int output_clear_folder(const char *path, struct err *err);

/* The provenance of this process's results: the command (of a batch: --do), the whole line, and
 * each model that was opened. */
int provenance_begin(const struct options *options, struct err *err);
int provenance_add_model(const struct model *model, struct err *err);

/* The place of a single report. Its columns are --width, else the terminal's, else 80; without a
 * limit with --full, as the rows of a matrix that are shown before its middle is left out. */
struct place page_place(const struct looks_options *options, const struct style *style);

/* Read --palette, --range, --view and the like; --color auto depends on standard output. */
int looks_read(struct style *style, const struct options *options, struct err *err);

/* Print a note of those that have no effect on the format. A file of a folder that is open comes
 * with a figure. */
void looks_note(const struct looks_options *options, const struct output *output);

/* Put the text of other options, a step of the tour, into a page that is being written (page.c). */
struct page_lesson;
int page_add_lesson(struct output *output, struct place *place, const struct options *options,
                    const struct page_lesson *lesson, struct err *err);

#endif
