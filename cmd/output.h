/* output.h: the format and the destination of results, and the style of pages and pictures.
 *
 *     struct output output = {0};
 *     if (output_choose(&output, &options->output, err) || output_open(&output, err) ||
 *         output_write(&output, &report, &layout, err) || output_commit(&output, err)) ...
 *     output_discard(&output);
 */
#pragma once

#include "base/names.h"
#include "base/replacement.h"
#include "base/stream.h"
#include "lens/selection.h"
#include "model/model.h"
#include "options.h"
#include "write/format.h"

/* The formats of reports, in the order of help. */
extern const struct format *const format_rows[FORMAT_COUNT];

const struct format *format_find(const char *name); /* NULL: unknown */

/* Choose one of the first `count` formats: by --format, else by the extension of -o, else the
 * first. Returns NULL with `err` on failure. Refused: unknown names and extensions; binary or large
 * output to a terminal without `-o -`. */
const struct format *format_choose(size_t count, const struct output_options *options,
                                   struct err *err);

/* The format among the first `count` whose extension a path has; NULL: none. */
const struct format *format_find_ending(const char *path, size_t count);

/* True if a format has one of the names, "json jsonl"; true if it is a picture or a page. */
bool format_is(const struct format *format, const char *names);
bool format_is_looked_at(const struct format *format);

/* Standard output is no path or `-`; a folder is a directory or a path that ends with a slash. */
bool output_is_standard(const char *path);
bool output_is_folder(const char *path);

/* False for a name with another ending than .html: browsers would not open the page. */
bool output_is_page(const char *path);

/* Open standard output, or a file, which appears when it is committed. */
int output_to(struct stream *out, const char *path, struct err *err);

/* The output of reports: one file, or a folder of files. */
struct output {
    const char *path; /* NULL or "-": standard output */
    const struct format *format;
    bool to_stdout, to_folder;
    bool replaces;         /* existing files in a folder may be replaced */
    bool draws_pages;      /* html is a page of pictures, not the interactive page of tensors */
    struct stream stream;  /* not for a folder */
    const char *rows_path; /* --stack: the file of `rows`, a line about each row; NULL: none */
    struct stream rows;
    struct target_folder folder; /* also set by a task, if its output is a file of a folder */
};

/* Set up the output. A folder that is not empty is refused without --force. output_choose_table is
 * for commands that write tables, in any format except html. */
int output_choose(struct output *output, const struct output_options *options, struct err *err);
int output_choose_table(struct output *output, const struct output_options *options,
                        struct err *err);

/* Refuse a selection that the format cannot hold; refuse several texts in a format for one. */
int output_check_selection(const struct output *output, const struct selection *selection,
                           struct err *err);
int output_check_count(const struct output *output, size_t texts, struct err *err);

/* The file of lines about the rows of an array: vectors.npy has vectors.jsonl. NULL: none, for
 * standard output, or a failure. */
const char *output_rows_path(const char *path, struct arena *arena, struct err *err);

/* Refuse `path` if its file is not one of rows, as --stack writes it, or may not be replaced. */
int output_check_rows(const char *path, struct err *err);

/* Open the output if it is not open; get the stream and the folder for reports; write a report;
 * commit, or discard what was not committed. */
int output_open(struct output *output, struct err *err);
struct target output_target(struct output *output);
int output_write(struct output *output, const struct report *report, const struct layout *layout,
                 struct err *err);
int output_commit(struct output *output, struct err *err);
void output_discard(struct output *output);

/* Open, write and commit a report of tables. `style` is for figures and may be NULL. */
int output_write_table(struct output *output, const struct report *report,
                       const struct options *options, const struct style *style, struct err *err);

/* Remove temporary files of a killed process from a folder of results. */
int output_clear_folder(const char *path, struct err *err);

/* Call `use` for each file that an option names and that results depend on; not for the file of
 * texts, nor for models. */
int options_files(const struct options *options,
                  int (*use)(void *context, const char *path, struct err *err), void *context,
                  struct arena *arena, struct err *err);

/* Hash the bytes of a file. `read` is the file if it was read before, else NULL. */
int file_hash(char digits[SHA256_DIGITS + 1], const char *path, const struct file *read,
              struct err *err);

/* Record the provenance of results: the command (in a batch, the one of --do) and the command line;
 * then each model that is opened. Of figures and pages also the input files, all with their names
 * alone, as ./NAME, unless --keep-paths is given or they are in a folder of results. */
int provenance_begin(const struct options *options, struct err *err);
int provenance_add_model(const struct model *model, struct err *err);
int provenance_add_beginning(const char *token, struct err *err); /* of the model opened last */

/* The layout of reports. The width is --width; else the terminal's, if that has at least 20
 * columns; else 80. Without --width, tables not for a terminal are as wide as they need. With
 * --full, the width and the number of rows of a matrix are unlimited. */
struct layout page_layout(const struct options *options, const struct style *style);

/* Identify the first of `count` reports, with the provenance of this run. */
struct identity identity_first(size_t count);

/* Read --palette, --range, --view and the like. --color auto depends on standard output. */
int display_read(struct style *style, const struct options *options, struct err *err);

/* The language of --lang: "en" (default) or "zh". */
int language_read(const char **language, const struct options *options, struct err *err);

/* Print a note that lists given options without effect on the format. If output->folder is open,
 * there are figures as well. */
void display_note(const struct display_options *options, const struct output *output);

/* Print a note if columns of the input have names of columns of results, which then get a
 * prefix. `own`: columns of CSV tables; NULL: as of matrices. `of_pairs`: some text is a pair. */
void columns_note(const struct output *output, const char *own, bool of_pairs,
                  struct names columns);

/* Write "columns": {"region": "NP"} with the columns that have a value, or nothing. */
void columns_put(struct json_writer *json, const char *name, const struct identity_column *extras,
                 size_t count);

/* Run a step of a lesson, with `options`, and add it to the page in `output` (page.c). */
struct page_lesson;
int page_add_lesson(struct output *output, struct identity *identity, const struct layout *layout,
                    const struct options *options, const struct page_lesson *lesson,
                    struct err *err);
