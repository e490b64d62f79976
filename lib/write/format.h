/* format.h: the output formats, one row and one file each, and how a report is written in one.
 *
 * A writer gets a report without values first: names, axes, tables and texts. Then it gets one
 * sheet after another, in the order of the report's tensors, and at last it is told that there are
 * no more. It keeps no sheet, so that a pass can hand over each matrix as soon as it is computed:
 *
 *     struct writer writer;
 *     const struct target target = {.stream = &out};
 *     if (writer_begin(&writer, format_find("csv"), &target, &report, &place, err)) ...
 *     for (size_t i = 0; i < report_sheet_count(&report); i++)
 *         if (writer_sheet(&writer, &sheets[i], err)) ...
 *     if (writer_end(&writer, err)) ...
 *     writer_release(&writer);
 *
 * Formats that need all values at once (text, pictures, pages) have one function in place of the
 * three: `write`. report_write does either, for a report in memory.
 *
 * Where several texts share a stream each is written in turn; `place` says which one this is.
 * Failures to write stick to the stream; a writer returns -1 only for errors that it finds itself.
 */
#ifndef ATTN_WRITE_FORMAT_H
#define ATTN_WRITE_FORMAT_H

#include "base/stream.h"
#include "format/json_writer.h"
#include "lens/report.h"
#include "model/weights.h"
#include "write/style.h"

struct page_facts; /* of draw/page_facts.h */
struct target_folder;

/* Where results come from, beside the report: written into json, jsonl, safetensors, svg and the
 * manifest of a folder. */
struct provenance {
    const char *version;             /* of the program */
    const char *command;             /* "run" */
    const char *command_line;        /* without options that do not change the result */
    const struct model_hash *models; /* those that were opened, the last one first */
};

struct model_hash {
    const char *model; /* the report's model is one of them, or it has no hash */
    char digits[WEIGHTS_SAMPLE_DIGITS + 1];
    const struct model_hash *next;
};

/* A setting, or a column that is copied from the input: what tells results apart. */
struct place_column {
    const char *name;
    const char *value; /* NULL: the item has none */
    bool literal;      /* a number, true or false of JSON, which JSON repeats as such */
};

struct place {
    size_t index;      /* which report of this stream … */
    size_t count;      /* … of how many */
    const char *model; /* csv, tidy: of several models a column says which; NULL: it is one … */
    size_t sentences;  /* … else so many sentences of each; 0: each report is a sentence */
    size_t blank;      /* lines before the sentence, which its number counts, too */
    size_t columns;    /* text: the width of the page; 0: endless */
    size_t lines;      /* text: rows shown of a matrix before the middle is left out; 0: all */
    bool show_tokens;  /* text: the table of tokens comes first */
    const struct place_column *extras;   /* csv, tidy: columns before all others … */
    size_t extra_count;                  /* … so many */
    const char *item;                    /* json: members of an item of a batch, which come first */
    const struct style *style;           /* pictures: how they look; NULL: as usual */
    const struct page_facts *page;       /* html: what is told besides the tensors; NULL: nothing */
    const struct provenance *provenance; /* NULL: not written */
};

/* How many sentences there are, and which of them this one is. */
static inline size_t place_sentences(const struct place *place)
{
    return place->sentences ? place->sentences : place->count;
}

static inline size_t place_sentence(const struct place *place)
{
    return (place->sentences ? place->index % place->sentences : place->index) + place->blank;
}

/* What one file holds when a folder is asked for. */
enum format_unit { UNIT_SENTENCE, UNIT_TENSOR, UNIT_SHEET };

/* The options of looks that a format has an effect for. */
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
    bool for_files;    /* bytes, or half a megabyte: nothing for a terminal */
    bool one_sentence; /* one stream can hold only one sentence */
    bool has_tables;   /* it holds tables as they are; else their numbers come as sheets */
    bool has_tokens;   /* without any tensor there are still the tokens to write */
    bool can_show_all; /* whoever reads it can show and hide the first token himself */
    const char *show, *show_of_encoder, *layer; /* read by format_show and format_layer */
    writer_step *begin;
    writer_sheet_step *sheet;
    writer_step *end;              /* NULL: nothing is left to do */
    report_writer *write;          /* of all values at once, in place of the three */
    int (*check)(struct err *err); /* refuses what cannot be written here; NULL: all can */
};

extern const struct format format_rows[];
extern const size_t format_count;

/* By name; NULL when there is none. */
const struct format *format_find(const char *name);

/* What is shown where --show and --layer name nothing, written as they are: the format's own
 * choice, else that of most formats (NULL: that one). A model with an encoder has more to show. */
const char *format_show(const struct format *format, bool has_encoder);
const char *format_layer(const struct format *format);

/* --- writing a report ------------------------------------------------------------------------- */

/* A stream; or a folder that is open to be written, which gets a file for every matrix, tensor,
 * table or sentence, DIR/weights.l00.h00.csv, each complete or not there; of several sentences each
 * in a folder of its own, DIR/0000/. Beside them stands manifest.json, written last: what JSON says
 * of the origin, and which file holds which heads of which tensor. */
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
    size_t tensor, sheet; /* of the sheet that comes next: its tensor, and which of that */
    struct json_writer json;
    struct buf line, columns; /* the format's own: empty at first, released for it */
    struct folder_files *folder;           /* NULL: a stream; it holds all of what follows */
    struct arena arena;
};

/* Begin, with a report that outlives the writer and whose tensors need no values yet. The format
 * must take sheets (format->sheet), unless the report is in memory. */
int writer_begin(struct writer *writer, const struct format *format, const struct target *target,
                 const struct report *report, const struct place *place, struct err *err);
int writer_sheet(struct writer *writer, const struct sheet *sheet, struct err *err);
int writer_end(struct writer *writer, struct err *err);

/* Whether this sheet is the first, or the last, of its tensor. */
bool writer_at_first(const struct writer *writer);
bool writer_at_last(const struct writer *writer);

/* After the end, or in place of it after a failure. */
void writer_release(struct writer *writer);

/* Write a report that is in memory, its tables as sheets where the format has none; the same for a
 * stream. */
int report_write(const struct format *format, const struct target *target,
                 const struct report *report, const struct place *place, struct err *err);
int format_write(const struct format *format, struct stream *out, const struct report *report,
                 const struct place *place, struct err *err);

/* --- the rows' functions ---------------------------------------------------------------------- */

extern writer_step csv_begin, tidy_begin, json_begin, json_end, jsonl_begin, array_begin,
    tensors_begin, folder_end;
extern writer_sheet_step csv_sheet, tidy_sheet, json_sheet, array_sheet, folder_sheet;
extern report_writer text_page_write, figure_write_svg, figure_write_tex, html_report_write,
    figure_write_png, figure_write_pdf;
/* Pictures of reports on a page for browsers: of what html's page knows nothing of. */
extern report_writer figure_write_page;
int drawing_check(struct err *err);

/* Parts of JSON that other documents have, too: the command and its provenance (NULL: neither), the
 * model, the text and its tokens, and what was selected, each but the first on a line of its own;
 * "layer": 3, "heads": [0, 2], null where a tensor has none. */
void json_report_origin(struct json_writer *json, const struct report *report,
                        const struct provenance *provenance);
void json_report_place(struct json_writer *json, const struct kept *kept);

/* Append the result as JSON, without its tables or tensors, on one line: metadata of other formats.
 */
void json_report_metadata(struct buf *out, const struct report *report, const struct place *place);

/* Append a field of CSV as in RFC 4180: in quotes, its own quotes doubled, if it holds a comma, a
 * quote or the end of a line, or begins as a spreadsheet's formula does. Controls and invisible
 * characters become \xNN, as in labels, and bytes that are not UTF-8 (a token may be a part of a
 * character) U+FFFD, because readers of data files refuse the whole file for them. */
void csv_field(struct buf *out, const char *text);

/* A folder in place of a stream; without a file that is not complete. */
int folder_begin(struct writer *writer, const struct target_folder *target, struct err *err);
void folder_release(struct folder_files *folder);

#endif
