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

const struct format *format_find(const char *name); /* finds a format by its name; NULL: unknown */

/* Choose one of the first `count` formats: by --format, else by the extension of -o, else the
 * first. Returns NULL with `err` on failure. Refused: unknown names and extensions; binary or large
 * output to a terminal without `-o -`. */
const struct format *format_choose(size_t count, const struct output_options *options,
                                   struct err *err);

/* The format, among the first `count`, whose extension the path has; NULL: no such format. */
const struct format *format_find_ending(const char *path, size_t count);

/* format_is: true if the format has one of the names, such as "json jsonl". format_is_looked_at:
 * true if the format is a picture or a page. */
bool format_is(const struct format *format, const char *names);
bool format_is_looked_at(const struct format *format);

/* output_is_standard: true if `path` is NULL or `-`. output_is_folder: true if `path` is a
 * directory or ends with a slash. */
bool output_is_standard(const char *path);
bool output_is_folder(const char *path);

/* False if the name of a file has an ending other than .html: browsers would not open it as a
 * page. */
bool output_is_page(const char *path);

/* Open standard output, or a file that gets its name only when it is committed. */
int output_to(struct stream *out, const char *path, struct err *err);

/* The output of reports: one file, or a folder of files. */
struct output {
    const char *path; /* NULL or "-": standard output */
    const struct format *format;
    bool to_stdout, to_folder;
    bool replaces;        /* existing files in a folder may be replaced */
    bool draws_pages;     /* html is a page of pictures, not the interactive page of tensors */
    struct stream stream; /* the open file or standard output; not used for a folder */
    /* for --stack: path of the file of `rows`, with a line about each row; NULL: no such file */
    const char *rows_path;
    struct stream rows;
    /* the folder of results; a task that writes a file into a folder also sets this member */
    struct target_folder folder;
};

/* output_choose sets up the output. A folder that is not empty is refused without --force.
 * output_choose_table is for commands that write tables, in any format except html. */
int output_choose(struct output *output, const struct output_options *options, struct err *err);
int output_choose_table(struct output *output, const struct output_options *options,
                        struct err *err);

/* Refuse a selection that the format cannot contain, and several texts in a format for a single
 * text. */
int output_check_selection(const struct output *output, const struct selection *selection,
                           struct err *err);
int output_check_count(const struct output *output, size_t texts, struct err *err);

/* The path of the file with a line about each row of an array: vectors.jsonl for vectors.npy.
 * Returns NULL if the path is standard output, or on failure. */
const char *output_rows_path(const char *path, struct arena *arena, struct err *err);

/* Refuse `path` if its file exists and was not written as a file of rows (--stack), or may not be
 * replaced. */
int output_check_rows(const char *path, struct err *err);

/* Functions in the order of calls: open the output, unless it is open; get the stream and the
 * folder for reports; write a report; commit, or discard what was not committed. */
int output_open(struct output *output, struct err *err);
struct target output_target(struct output *output);
int output_write(struct output *output, const struct report *report, const struct layout *layout,
                 struct err *err);
int output_commit(struct output *output, struct err *err);
void output_discard(struct output *output);

/* Open the output, write a report of tables, and commit it. `style` is for figures and may be
 * NULL. */
int output_write_table(struct output *output, const struct report *report,
                       const struct options *options, const struct style *style, struct err *err);

/* Remove temporary files of a killed process from a folder of results. */
int output_clear_folder(const char *path, struct err *err);

/* Call `use` for each file that an option names and that results depend on; the file of texts and
 * the models are left out. */
int options_files(const struct options *options,
                  int (*use)(void *context, const char *path, struct err *err), void *context,
                  struct arena *arena, struct err *err);

/* Hash the bytes of a file. `read` is its content if it was read before, else NULL. */
int file_hash(char digits[SHA256_DIGITS + 1], const char *path, const struct file *read,
              struct err *err);

/* Record the provenance of results. provenance_begin records the command (in a batch, the command
 * of --do) and the command line; provenance_add_model records each model that is opened. Figures
 * and pages also record the input files. All paths are shortened to ./NAME, unless --keep-paths is
 * given or the files are in a folder of results. */
int provenance_begin(const struct options *options, struct err *err);
int provenance_add_model(const struct model *model, struct err *err);
/* record the beginning token of the model that was opened last */
int provenance_add_beginning(const char *token, struct err *err);

/* The layout of reports. The width is --width; by default the width of the terminal, if that is at
 * least 20 columns; otherwise 80. Without --width, tables that are not for a terminal are as wide
 * as their content. With --full, the width and the number of rows of a matrix are unlimited. */
struct layout page_layout(const struct options *options, const struct style *style);

/* The identity of the first of `count` reports, with the provenance of this run. */
struct identity identity_first(size_t count);

/* Read the options of style, such as --palette, --range and --view. --color auto depends on
 * standard output. */
int display_read(struct style *style, const struct options *options, struct err *err);

/* Read the language of --lang: "en" (default) or "zh". */
int language_read(const char **language, const struct options *options, struct err *err);

/* Print a note that lists the given options that have no effect on the format. If output->folder is
 * open, figures are written as well. */
void display_note(const struct display_options *options, const struct output *output);

/* Print a note if columns of results have the same names as columns of the input: the columns of
 * results then get a prefix. `own`: columns of CSV tables; NULL: columns of matrices. `of_pairs`:
 * some text is a pair. */
void columns_note(const struct output *output, const char *own, bool of_pairs,
                  struct names columns);

/* Write the columns that have a value as an object under `name`, such as "columns": {"region":
 * "NP"}; write nothing if no column has a value. */
void columns_put(struct json_writer *json, const char *name, const struct identity_column *extras,
                 size_t count);

/* Run a step of a lesson, with `options`, and add it to the page in `output` (page.c). */
struct page_lesson;
int page_add_lesson(struct output *output, struct identity *identity, const struct layout *layout,
                    const struct options *options, const struct page_lesson *lesson,
                    struct err *err);
