/* output.h: in which format results are written, where to, and how pages and pictures look.
 *
 * A table of formats has rows with the fields `name` and `ending`, of files. The row is that of
 * --format, else that of the ending of -o, else the first, which is for people.
 *
 *     const struct format_table table = FORMAT_TABLE(rows, ROWS);
 *     const struct row *row = format_choose(&table, &options->output, err);
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

struct format_table {
    const void *rows;
    struct names names, endings; /* endings with their dots */
};

#define FORMAT_TABLE(rows, count)                         \
    {                                                     \
        (rows), {&(rows)->name, (count), sizeof *(rows)}, \
        {                                                 \
            &(rows)->ending, (count), sizeof *(rows)      \
        }                                                 \
    }

/* The row, or NULL. Refused as usage are names and endings that are none, and bytes on a terminal
 * that `-` did not ask for. */
const void *format_choose(const struct format_table *table, const struct output_options *options,
                          struct err *err);

/* The index of a row by the ending of a path; false: it has none of them. */
bool format_find_ending(size_t *index, const struct format_table *table, const char *path);

/* True for standard output: no path, or `-`. Open that, or the file that a commit puts there. */
bool output_is_standard(const char *path);
bool output_is_folder(const char *path); /* a directory, or a path that ends in a slash */
int output_to(struct stream *out, const char *path, struct err *err);

/* Whether it is the one of that name; whether people look at it, in colours. */
bool format_is(const struct format *format, const char *name);
bool format_is_looked_at(const struct format *format);

/* Reports: one file, or a folder of files. */
struct output {
    const char *path; /* NULL or "-": standard output */
    const struct format *format;
    bool to_stdout;
    bool to_folder;
    bool replaces;        /* files in a folder */
    bool draws_pages;     /* a page for browsers is a picture, not that of tensors */
    struct stream stream; /* of anything but a folder … */
    struct target_folder folder;
};

/* A folder that holds anything is refused without --force. */
int output_choose(struct output *output, const struct output_options *options, struct err *err);

/* What was asked for must have a place in the format. */
int output_check_selection(const struct output *output, const struct selection *selection,
                           struct err *err);

/* Refuse several texts in a format that holds one, unless each has a file in a folder. */
int output_check_count(const struct output *output, size_t texts, struct err *err);

/* For commands that write one table: any format but html; and that report, as a whole. */
int output_choose_table(struct output *output, const struct output_options *options,
                        struct err *err);
int output_write_table(struct output *output, const struct report *report,
                       const struct options *options, struct err *err);

/* Where a writer writes to, once that is begun. */
struct target output_target(struct output *output);

/* Begin, if that is not done yet; write reports; finish, so that the file is there under its name;
 * or give up, so that it is not: nothing after a commit. */
int output_open(struct output *output, struct err *err);
int output_write(struct output *output, const struct report *report, const struct place *place,
                 struct err *err);
int output_commit(struct output *output, struct err *err);
void output_discard(struct output *output);

/* Remove the temporary files that a killed process left in a folder of results. */
int output_clear_folder(const char *path, struct err *err);

/* --- where results come from ------------------------------------------------------------------ */

/* Of this process: the command, what a batch does (NULL: run), the line after the command; and each
 * model that was opened. */
int provenance_begin(const char *command, const char *of_batch, const char *line, struct err *err);
int provenance_add_model(const struct model *model, struct err *err);
const struct provenance *provenance_here(void);

/* --- the page that people read ---------------------------------------------------------------- */

/* Columns: --width, else the terminal's, else 80; rows of a matrix that are shown before its middle
 * is left out. 0 with --full: endless. */
size_t page_columns(const struct looks_options *options);
size_t page_lines(const struct looks_options *options);

/* A page of one report, so wide and long. */
struct place page_place(const struct looks_options *options, const struct style *style);

/* Read --palette, --range, --view and the like; --color auto depends on standard output. */
int looks_read(struct style *style, const struct options *options, struct err *err);

/* Note each of these options, and --width, that has no effect on the format; with `draws_pages` the
 * html of the command holds pictures, and only --dpi has none. */
void looks_note(const struct looks_options *options, const struct format *format, bool draws_pages);

#endif
