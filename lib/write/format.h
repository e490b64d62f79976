/* format.h: output formats, and the writer of reports. A format is a FORMAT_ROW in lib/write or
 * lib/draw, and a word in FORMATS.
 *
 * A writer first gets the report without values, then its sheets in the order of the arrays. It
 * keeps no sheet: each matrix can be written as soon as it is computed.
 *
 *     if (writer_begin(&writer, &format_csv, &target, &report, &layout, err) ||
 *         writer_sheet(&writer, &sheet, err) || writer_end(&writer, err)) ...
 *     writer_release(&writer);
 *
 * Formats that need all values at once (pictures, pages, text) have a `write` function instead of
 * these steps, and Markdown and similar formats have a `markup` (write/working.h) instead of
 * functions. report_write writes a report in memory in any format. Write errors are kept in the
 * stream. */
#pragma once

#include "base/hash.h"
#include "base/stream.h"
#include "format/json_writer.h"
#include "format/pytorch.h"
#include "lens/report.h"
#include "model/weights.h"
#include "write/style.h"

struct page_facts; /* defined in draw/page.h */

/* The origin of results, which is written into json, jsonl, safetensors, figures, pages and the
 * manifest of a folder. */
struct provenance {
    const char *version;      /* program version */
    const char *command;      /* name of the command, such as "run" */
    const char *command_line; /* the command line, without options that do not affect the result */
    /* list of the models; the model that was opened last is first */
    const struct model_hash *models;
    bool is_batch;                 /* each report belongs to only one of the models */
    bool lists_inputs;             /* figures and pages list the models and `files` */
    const struct file_hash *files; /* list of the input files */
};

struct file_hash {
    const char *name; /* name of the file, as in the command line */
    char digits[SHA256_DIGITS + 1];
    const struct file_hash *next;
};

struct model_hash {
    const char *model;     /* model name as in the report */
    const char *shown;     /* name of the model, as in the command line */
    const char *beginning; /* token that --special auto put before texts; NULL: none */
    char digits[WEIGHTS_SAMPLE_DIGITS + 1];
    const struct model_hash *next;
};

/* How much of a report is shown to people, and in which form. If all members are 0, there are no
 * limits, and the style is the default. */
struct layout {
    /* width of the page in columns, for text and, in explain, html; 0: unlimited in text,
     * PAGE_COLUMNS in html */
    size_t columns;
    bool is_piped; /* no terminal shows the output: tables in text are as wide as they need to be */
    size_t lines;  /* in text, maximum number of lines of a matrix or table; 0: no limit, and
                   * explain shows everything */
    bool matrices; /* explain also shows large matrices, abbreviated */
    const char *locale; /* locale for excel, such as de_DE; NULL: the locale of the environment */
    bool show_tokens;   /* output of the format text begins with the table of tokens */
    const struct style *style; /* colours and form of figures and tables; NULL: the default style */
    const struct page_facts *page; /* additional facts for html pages; NULL: none */
    /* a function that prints a note for the user; NULL: notes are dropped */
    void (*note)(const char *format, ...);
};

/* What one file in a folder contains: a text's report, an array, or a sheet. */
enum format_unit { UNIT_TEXT, UNIT_ARRAY, UNIT_SHEET };

/* Bits for the display options that affect a format. */
enum format_display {
    DISPLAY_VIEW = 1,      /* affected by --view */
    DISPLAY_CELLS = 2,     /* affected by --cells */
    DISPLAY_COLOURS = 4,   /* affected by --color-scale, --range, --palette */
    DISPLAY_TITLE = 8,     /* affected by --title, --lang */
    DISPLAY_TERMINAL = 16, /* affected by --color, --width, --lang */
    DISPLAY_FIGURE = 32,   /* affected by --figure-width and other options for print */
    DISPLAY_FONT = 64,     /* affected by --font */
    DISPLAY_PIXELS = 128,  /* affected by --dpi */

    DISPLAY_PICTURE =
        DISPLAY_VIEW | DISPLAY_CELLS | DISPLAY_COLOURS | DISPLAY_TITLE | DISPLAY_FIGURE,
};

struct writer;
struct markup;

typedef int report_writer(struct stream *out, const struct report *report,
                          const struct layout *layout, struct err *err);
typedef int writer_step(struct writer *writer, struct err *err);
typedef int writer_sheet_step(struct writer *writer, const struct sheet *sheet, struct err *err);

struct format {
    const char *name;   /* value of --format */
    const char *like;   /* name of a format with the same properties; NULL: none */
    const char *ending; /* file name extension with its dot */
    const char *about;  /* description in the help */
    enum format_unit unit;
    unsigned display; /* set of bits of enum format_display */
    /* for people: by default the output is shorter, such as only the last layer */
    bool for_people;
    bool is_picture;
    bool for_files;    /* output is binary or large: refused on a terminal */
    bool single_text;  /* a file contains only one report, unless reports are stacked */
    bool has_tables;   /* writes tables; false: the numbers of tables are written as sheets */
    bool has_tokens;   /* writes tokens even if the report has no arrays */
    bool keeps_shape;  /* all heads of a site are one array; sinks are not appended to weights */
    bool can_show_all; /* readers of the output can show the first token if it is hidden */
    bool has_origin;   /* writes the provenance */
    int cell_bytes;    /* approximate size in bytes of one number of a large matrix in the output */
    const char *show;  /* default of --show for models without encoder or mixers; NULL: weights */
    /* default of --show for models with an encoder; NULL: enc.weights,weights,cross_weights */
    const char *show_of_encoder;
    writer_step *begin;
    writer_sheet_step *sheet;
    writer_step *end;     /* `begin`, `sheet` and `end` write a report in steps; NULL: no action */
    report_writer *write; /* writes all values at once, instead of `begin`, `sheet` and `end` */
    /* markup language of a format that has no functions (write/working.h); NULL: no markup */
    const struct markup *markup;
    int (*check)(struct err *err); /* fails if programs or fonts are missing; NULL: no check */
};

/* Define a format in the file that implements it: FORMAT_ROW(csv, ".csv", "a table", UNIT_SHEET,
 * .begin = …). */
#define FORMAT_ROW(name, ending, ...) \
    const struct format format_##name = {#name, NULL, ending, __VA_ARGS__};

/* All formats, in the order of help; the first is the default. The first FORMATS_OF_WORKING formats
 * can write table.working (lens/sheet.h); the command explain offers only these. */
#define FORMATS(row)                                                                              \
    row(text) row(markdown) row(html) row(json) row(csv) row(excel) row(tidy) row(jsonl) row(npy) \
        row(npz) row(safetensors) row(svg) row(tex) row(png) row(pdf)

#define FORMAT_DECLARE(name) extern const struct format format_##name;
#define FORMAT_ONE(name) +1
enum { FORMATS_OF_WORKING = 4, FORMAT_COUNT = FORMATS(FORMAT_ONE) };
FORMATS(FORMAT_DECLARE)

/* --- writing a report ------------------------------------------------------------------------- */

/* Where reports are written: a stream, or an open folder. A folder gets a file for each matrix,
 * tensor, table or text (if there are several texts, in subfolders DIR/0000/, …), and finally
 * manifest.json: the origin, and the tensors or tables in each file. Files are complete or
 * absent. */
struct target {
    struct stream *stream;
    const struct target_folder *folder; /* folder for the files; NULL: use the stream */
};

/* The state of writing a report. */
struct writer {
    const struct format *format;
    struct stream *out;
    const struct report *report;
    const struct layout *layout;
    /* the next sheet: `array` is the index of its array, `sheet` its index in this array */
    size_t array, sheet;
    struct json_writer json;
    char separator, decimal;  /* for excel: cell separator and decimal mark; else 0 */
    struct buf line, columns; /* buffers of the format; writer_release frees them */
    struct zip_writer zip;    /* for npz: the zip file; `tensors`: names and shapes of its arrays */
    const struct safetensors_tensor *tensors;
    struct folder_files *folder; /* the folder that is written; NULL: reports go to a stream */
    struct arena arena;
};

/* Begin writing a report, which must outlive the writer. Its arrays need no values yet. Unless all
 * values are in memory, the format must have the function `sheet`. */
int writer_begin(struct writer *writer, const struct format *format, const struct target *target,
                 const struct report *report, const struct layout *layout, struct err *err);
int writer_sheet(struct writer *writer, const struct sheet *sheet, struct err *err);
int writer_end(struct writer *writer, struct err *err);

void writer_release(struct writer *writer); /* also removes incomplete files */

/* True if the next sheet is the last one of its array. */
bool writer_at_last(const struct writer *writer);

/* Copy a report without its tables. If it has no arrays, convert its tables to arrays; with
 * `for_picture`, a table that has `pictures` is replaced by these, which are converted. */
int report_as_arrays(struct report *copy, const struct report *report, bool for_picture,
                     struct arena *arena, struct err *err);

/* Write a report whose values are in memory. Formats that cannot write tables get them as
 * sheets. */
int report_write(const struct format *format, const struct target *target,
                 const struct report *report, const struct layout *layout, struct err *err);

/* Write the manifest of files that a command has written, each of which contains a table. The
 * manifest contains the origin of `report` and the names of the `count` files and their tables. */
struct table_file {
    const char *name, *table;
};
int manifest_write(struct stream *stream, const struct report *report,
                   const struct table_file *files, size_t count, struct err *err);

/* --- functions of the formats ----------------------------------------------------------------- */

/* json_report_origin writes members of a report's JSON object: command and provenance (if
 * `provenance` is not NULL), model, texts with their tokens, and selection. json_report_selection
 * writes the layer and heads of one array: "layer": 3, "heads": [0, 2]; "heads" is null if the
 * array has no heads. */
void json_report_origin(struct json_writer *json, const struct report *report,
                        const struct provenance *provenance);
void json_report_selection(struct json_writer *json, const struct array *array);

/* Append a result, without tables and arrays, as one line of JSON: metadata for other formats. */
void json_report_metadata(struct buf *out, const struct report *report);

/* The name of a report's model as in the command line; report->model if the provenance lacks it. */
const char *report_model_name(const struct report *report);

/* Append {"provenance": …} without token ids, as one line that is valid inside an HTML element, for
 * figures that have no other metadata. `report->identity.provenance` must be set. */
void json_report_command(struct buf *out, const struct report *report);

/* True for names such as de_DE, de, de_DE.UTF-8 and C. */
bool locale_is_valid(const char *name);

/* Append a CSV field (RFC 4180), quoted also if a spreadsheet would read it as a formula. Control
 * characters other than white space become \xNN, invalid UTF-8 becomes U+FFFD. */
void csv_field(struct buf *out, const char *text);
