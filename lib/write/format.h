/* format.h: the table of output formats; one row and one file a format.
 *
 * A writer puts one report into a stream. Where several sentences share a stream, the writer is
 * called once for each, in order, and `place` tells which one this is. Failures to write stick to
 * the stream; a writer returns -1 only for what it can tell itself.
 *
 *     const struct format *format = format_find("csv");
 *     struct place place = {.index = 0, .count = 1, .columns = 80};
 *     if (format_write(format, &stream, report, &place, err)) ...
 */
#ifndef ATTN_WRITE_FORMAT_H
#define ATTN_WRITE_FORMAT_H

#include "base/stream.h"
#include "write/style.h"
#include "lens/report.h"

struct buf;
struct page_facts; /* of draw/page_facts.h */

struct place {
    size_t index;      /* which report of this stream … */
    size_t count;      /* … of how many */
    const char *model; /* csv, tidy: of several models a column says which; NULL: it is one … */
    size_t sentences;  /* … else so many sentences of each; 0: each report is a sentence */
    size_t blank;      /* lines before the sentence, which its number counts, too */
    size_t columns;    /* text: the width of the page; 0: endless */
    size_t lines;      /* text: rows shown of a matrix before the middle is left out; 0: all */
    bool show_tokens;  /* text: the table of tokens comes first */
    const char *document;      /* json: the JSON_FORMAT of what it is; NULL: that of run … */
    const char *item;          /* … members before that, of an item of a batch; NULL: none … */
    const char *members;       /* … and after it */
    const struct style *style; /* pictures: how they look; NULL: as usual */
    const struct page_facts *page; /* html: what is told besides the tensors; NULL: nothing */
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
    LOOKS_CELLS = 2,     /* --style */
    LOOKS_COLOURS = 4,   /* --color-scale, --range, --palette */
    LOOKS_TITLE = 8,     /* --title */
    LOOKS_TERMINAL = 16, /* --color, --width */
    LOOKS_FIGURE = 32,   /* --figure-width and all else of figures for papers, but for: */
    LOOKS_FONT = 64,     /* --font */
    LOOKS_PIXELS = 128,  /* --dpi */

    LOOKS_PICTURE = LOOKS_VIEW | LOOKS_CELLS | LOOKS_COLOURS | LOOKS_TITLE | LOOKS_FIGURE,
};

typedef int report_writer(struct stream *out, const struct report *report,
                          const struct place *place, struct err *err);

struct format {
    const char *name;   /* as in --format */
    const char *ending; /* of file names, with its dot */
    const char *about;  /* a line for help */
    enum format_unit unit;
    unsigned looks; /* LOOKS_… */
    bool is_picture;
    bool for_files;    /* bytes, or half a megabyte: nothing for a terminal */
    bool one_sentence; /* one stream can hold only one sentence */
    bool has_tables;   /* it holds the tables of a report as they are */
    bool has_tokens;   /* without any tensor there are still the tokens to write */
    bool can_show_all; /* whoever reads it can show and hide the first token himself */
    const char *show, *show_of_encoder, *layer; /* read by format_show and format_layer */
    report_writer *write;
    int (*check)(struct err *err); /* refuses what cannot be written here; NULL: all can */
};

extern const struct format format_rows[];
extern const size_t format_count;

/* By name; NULL when there is none. */
const struct format *format_find(const char *name);

/* Write a report with the row's writer, its tables as sheets where the format has none. */
int format_write(const struct format *format, struct stream *out, const struct report *report,
                 const struct place *place, struct err *err);

/* What is shown where --show and --layer name nothing, written as they are: the format's own
 * choice, else that of most formats (NULL: that one). A model with an encoder has more to show. */
const char *format_show(const struct format *format, bool has_encoder);
const char *format_layer(const struct format *format);

/* Spread a report over a folder that is open to be written: a file for every matrix, tensor or
 * sentence, DIR/weights.l00.h00.csv, each complete or not there; of several sentences each in a
 * folder of its own, DIR/0000/. Beside them stands manifest.json, written last: the model, the
 * sentence, its tokens, and which file holds which heads of which tensor. */
struct target_folder;
int folder_out_write(const struct target_folder *folder, const struct format *format,
                     const struct report *report, const struct place *place, struct err *err);

/* The rows' writers, each in the file of its name. */
extern report_writer csv_write, tidy_write, text_page_write, json_report_write, jsonl_report_write,
    figure_write_svg, figure_write_tex, html_report_write, figure_write_png, figure_write_pdf,
    npy_report_write, tensors_report_write;
/* Pictures of reports on a page for browsers: of what html's page knows nothing of. */
extern report_writer figure_write_page;
int drawing_check(struct err *err);

#endif
