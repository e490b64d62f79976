/* format.h: the output formats, one row and one file each, and how a report is written in one.
 *
 * A writer gets a report without values first, then one sheet after another in the order of the
 * report's tensors; it keeps none, so that a pass can pass on each matrix when it is computed:
 *
 *     if (writer_begin(&writer, format_find("csv"), &target, &report, &place, err) ||
 *         writer_sheet(&writer, &sheet, err) || writer_end(&writer, err)) ...
 *     writer_release(&writer);
 *
 * Formats that need all values at once (text, pictures, pages) have `write` instead. report_write
 * writes a report in memory in any format. Write failures stick to the stream.
 */
#ifndef ATTN_WRITE_FORMAT_H
#define ATTN_WRITE_FORMAT_H

#include "base/stream.h"
#include "format/json_writer.h"
#include "lens/report.h"
#include "model/weights.h"
#include "write/style.h"

struct page_facts; /* of draw/page.h */
struct target_folder;

/* Origin of results: written into json, jsonl, safetensors, svg and the manifest of a folder. */
struct provenance {
    const char *version;             /* of the program */
    const char *command;             /* "run" */
    const char *command_line;        /* without options that do not change the result */
    const struct model_hash *models; /* opened, the last one first */
};

struct model_hash {
    const char *model; /* as in the report */
    char digits[WEIGHTS_SAMPLE_DIGITS + 1];
    const struct model_hash *next;
};

/* A setting, or a column copied from the input. */
struct place_column {
    const char *name;
    const char *value; /* NULL: the item has none */
    bool literal;      /* a number, true or false of JSON, written as it is */
};

struct place {
    size_t index;      /* of this report in its stream */
    size_t count;      /* reports of the stream */
    const char *model; /* csv, tidy: a column of several models; NULL: there is one */
    size_t sentences;  /* texts of each model; 0: each report is a text */
    size_t blank;      /* lines before the text, which its number counts, too */
    size_t columns;    /* text: the width of the page; 0: endless */
    size_t lines;      /* text: rows shown of a matrix before the middle is left out; 0: all */
    bool show_tokens;  /* text: the table of tokens comes first */
    const struct place_column *extras; /* csv, tidy: columns before all others */
    size_t extra_count;
    const char *item;                    /* json: members of an item of a batch, which come first */
    const struct style *style;           /* NULL: the default */
    const struct page_facts *page;       /* html: further facts; NULL: none */
    const struct provenance *provenance; /* NULL: not written */
};

/* The number of texts, and of this one among them. */
static inline size_t place_sentences(const struct place *place)
{
    return place->sentences ? place->sentences : place->count;
}

static inline size_t place_sentence(const struct place *place)
{
    return (place->sentences ? place->index % place->sentences : place->index) + place->blank;
}

/* Contents of one file of a folder. */
enum format_unit { UNIT_SENTENCE, UNIT_TENSOR, UNIT_SHEET };

/* Display options that have an effect on a format. */
enum format_looks {
    LOOKS_VIEW = 1,      /* --view */
    LOOKS_CELLS = 2,     /* --cells */
    LOOKS_COLOURS = 4,   /* --color-scale, --range, --palette */
    LOOKS_TITLE = 8,     /* --title */
    LOOKS_TERMINAL = 16, /* --color, --width */
    LOOKS_FIGURE = 32,   /* --figure-width and all else of figures for papers, but for: */
    LOOKS_FONT = 64,     /* --font */
    LOOKS_PIXELS = 128,  /* --dpi */

    LOOKS_PICTURE = LOOKS_VIEW | LOOKS_CELLS | LOOKS_COLOURS | LOOKS_TITLE | LOOKS_FIGURE,
};

struct writer;

typedef int report_writer(struct stream *out, const struct report *report,
                          const struct place *place, struct err *err);
typedef int writer_step(struct writer *writer, struct err *err);
typedef int writer_sheet_step(struct writer *writer, const struct sheet *sheet, struct err *err);

struct format {
    const char *name;   /* as in --format */
    const char *ending; /* of file names, with its dot */
    const char *about;  /* a line for help */
    enum format_unit unit;
    unsigned looks; /* LOOKS_… */
    bool is_picture;
    bool for_files;    /* binary or large: not for a terminal */
    bool one_sentence; /* a stream can hold only one text */
    bool has_tables;   /* else the numbers of tables are written as sheets */
    bool has_tokens;   /* tokens are written even without tensors */
    bool can_show_all; /* its reader can show and hide the first token */
    bool has_origin;   /* provenance is written */
    const char *show, *show_of_encoder, *layer; /* read by format_show and format_layer */
    writer_step *begin;
    writer_sheet_step *sheet;
    writer_step *end;              /* NULL: nothing is left to do */
    report_writer *write;          /* of all values at once, in place of the three */
    int (*check)(struct err *err); /* refuses if the machine cannot write it; NULL: it can */
};

extern const struct format format_rows[];
extern const size_t format_count;

const struct format *format_find(const char *name); /* NULL: there is none */

/* The defaults of --show and --layer: the format's own, else those of most formats (NULL). A model
 * with an encoder has more to show. */
const char *format_show(const struct format *format, bool has_encoder);
const char *format_layer(const struct format *format);

/* --- writing a report ------------------------------------------------------------------------- */

/* A stream, or an open folder, which gets a file for each matrix, tensor, table or text (each text
 * in a folder of its own, DIR/0000/, if there are several), and at last manifest.json: the origin,
 * and the heads and tensors of each file. Files are complete or absent. */
struct target {
    struct stream *stream;
    const struct target_folder *folder; /* NULL: the stream */
};

/* A report that is being written. */
struct writer {
    const struct format *format;
    struct stream *out;
    const struct report *report;
    const struct place *place;
    size_t tensor, sheet; /* of the next sheet: its tensor, and its index there */
    struct json_writer json;
    struct buf line, columns;    /* the format's own: empty at first, released for it */
    struct folder_files *folder; /* of a folder; NULL: a stream */
    struct arena arena;
};

/* Begin with a report that outlives the writer; its tensors need no values yet. Unless the report
 * is in memory, the format must take sheets. */
int writer_begin(struct writer *writer, const struct format *format, const struct target *target,
                 const struct report *report, const struct place *place, struct err *err);
int writer_sheet(struct writer *writer, const struct sheet *sheet, struct err *err);
int writer_end(struct writer *writer, struct err *err);

void writer_release(struct writer *writer); /* removes incomplete files of a folder */

/* True if the next sheet is the last of its tensor. */
bool writer_at_last(const struct writer *writer);

/* Write a report in memory; tables become sheets for formats without. */
int report_write(const struct format *format, const struct target *target,
                 const struct report *report, const struct place *place, struct err *err);

/* --- the rows' functions ---------------------------------------------------------------------- */

extern writer_step csv_begin, tidy_begin, json_begin, json_end, array_begin, tensors_begin;
extern writer_sheet_step csv_sheet, tidy_sheet, json_sheet, array_sheet;
extern report_writer text_page_write, figure_write_svg, figure_write_tex, html_report_write,
    figure_write_png, figure_write_pdf;
extern report_writer figure_write_page; /* figures on a page for browsers */
int drawing_check(struct err *err);

/* Parts of JSON for other documents: the command and its provenance (NULL: neither), the model, the
 * text with its tokens, the selection; "layer": 3, "heads": [0, 2], null if a tensor has none. */
void json_report_origin(struct json_writer *json, const struct report *report,
                        const struct provenance *provenance);
void json_report_place(struct json_writer *json, const struct kept *kept);

/* Append a result as JSON on one line, without tables and tensors: metadata of other formats. */
void json_report_metadata(struct buf *out, const struct report *report, const struct place *place);

/* Append a field of CSV (RFC 4180), quoted also if it begins like a formula of a spreadsheet.
 * Invisible characters become \xNN, and bytes that are not UTF-8 become U+FFFD. */
void csv_field(struct buf *out, const char *text);

#endif
