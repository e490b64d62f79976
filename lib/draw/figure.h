/* figure.h: the picture of a report: a title, and a section for each kind of tensor in it: a head,
 * the heads of a layer side by side, or all layers and heads, as small pictures (panels) of one
 * measure.
 *
 *     struct figure figure;
 *     if (figure_plan(&figure, report, style, &arena, err) ||
 *         figure_write(&stream, DRAWING_PDF, &figure, err)) ...
 */
#ifndef ATTN_DRAW_FIGURE_H
#define ATTN_DRAW_FIGURE_H

#include "draw/axis_fit.h"
#include "draw/drawing.h"
#include "lens/report.h"
#include "lens/strongest.h"
#include "write/figure_form.h"
#include "write/style.h"

enum {
    SECTION_NOTES_MAX = 32, /* lines */
    FIGURE_TITLE_LINES = 3, /* at most: the last one ends with "…" where there is more */
};

enum section_kind { KIND_MATRIX, KIND_LINES, KIND_OVERLAY, KIND_TEXT, KIND_BARS };

/* Matrices of one kind that are drawn together: all have the size of the first. */
struct section_sheets {
    const struct sheet *sheets; /* [layers, heads] */
    size_t layers, heads;
    const char *attention; /* which of several attentions: always written; NULL: one or none */
    bool first_hidden, cropped;
    bool barless, shares_range; /* another section has the bar; and the same range */
};

struct section {
    enum section_kind kind;
    const struct style *style;
    struct section_sheets what;
    size_t panels, across; /* how many there are, and in a row of them */
    bool by_layer;         /* a row of panels is a layer, a column a head */
    struct tones tones;
    struct ramp ramp;
    struct axis_fit rows, columns;
    const char *row_title, *column_title; /* NULL: none */
    const char *bar_title;
    size_t first_label;   /* of panels, all sections counted */
    struct point at;      /* its corner in the figure */
    double room;          /* that it may take across */
    double bar_room;      /* that its bar may take, with its title */
    double head;          /* what its subtitle takes */
    struct box area;      /* of cells or lines, from a panel's corner */
    double panel_width;   /* from one panel to the next … */
    double panel_height;  /* … and to the one below */
    double left, top;     /* room for what stands beside and above all panels */
    double foot;          /* where the scale stands, below them */
    double width, height; /* of all, with titles and the scale */
    const char *subtitle;
    const char *notes[SECTION_NOTES_MAX]; /* lines below */
    size_t note_count;
    const struct strongest *strongest; /* of KIND_BARS, and their names */
    const char *const *strong_names;
};

static const double FIGURE_MARGIN = 12;
static const double FIGURE_WIDEST = 504; /* two columns of a paper */

struct figure {
    const char *metadata;                        /* JSON for files that hold it; NULL: none */
    const char *title;                           /* all of it, which names the file … */
    const char *title_lines[FIGURE_TITLE_LINES]; /* … and what of it is on the picture */
    size_t title_count;
    struct section *sections;
    size_t section_count;
    double width, height; /* points */
    double margin;
    const struct figure_form *form;
};

/* Append the title: the one that was given, where it is not empty; else the model's name and the
 * sentence. */
void figure_title(struct buf *out, const struct report *report, const struct style *style);

/* How wide a figure of a report should be, so that lines of its title hold what it is about; 0:
 * that does not matter. Then room for the title above all, in a figure that is laid out. */
double figure_title_width(const struct report *report, const struct style *style,
                          const char *title);
int figure_place_title(struct figure *figure, const struct style *style, struct arena *arena,
                       struct err *err);
int figure_draw_title(const struct figure *figure, struct canvas *canvas, struct err *err);

/* Lay out a report, which lives longer than the figure. The memory is the arena's. */
int figure_plan(struct figure *figure, const struct report *report, const struct style *style,
                struct arena *arena, struct err *err);

int figure_draw(const struct figure *figure, struct canvas *canvas, struct err *err);

/* Draw it in one of the forms. */
int figure_write(struct stream *out, enum drawing_form form, const struct figure *figure,
                 struct err *err);

/* --- sections --------------------------------------------------------------------------------- */

/* The sheets of a site in all layers of a report, in memory of the arena; no layers: it has none.
 * Those that are no site's are kinds of their own. */
int section_gather(struct section_sheets *what, const struct report *report, enum site site,
                   const struct figure_form *form, struct arena *arena, struct err *err);

/* Leave of a sheet that is no site's the tokens that the form shows, in memory of the arena; not
 * cropped: it has no tokens, or all are shown. */
int section_crop(bool *cropped, struct sheet *sheet, const struct figure_form *form,
                 struct arena *arena, struct err *err);

/* Lay out sheets that live as long as the section, in memory of the arena; `room` is what it may
 * take across. */
int section_plan(struct section *section, const struct section_sheets *what,
                 const struct style *style, double room, struct arena *arena, struct err *err);

/* All measures of a section whose sheets, kind, tones and titles are known, but for those of its
 * foot (section_fit.c). */
void section_fit(struct section *section);

/* How large letters are, and what a line of them takes, in points: a size for each kind of text, or
 * one for all, where a paper wants it. Those of a section, in a colour. */
enum type_kind { TYPE_TITLE, TYPE_SUBTITLE, TYPE_NAME, TYPE_NUMBER, TYPE_TEXT };

double type_size(const struct figure_form *form, enum type_kind kind);
double type_line(const struct figure_form *form, enum type_kind kind);
double section_line(const struct section *section, enum type_kind kind);
struct lettering section_letters(const struct section *section, enum type_kind kind, uint32_t hex);

/* How many panels have labels, "(a)": each, or the section alone. */
size_t section_labels(const struct section *section);

/* A label in bold letters at a point; how wide it is, with a gap after it. */
double section_draw_label(const struct section *section, size_t panel, struct canvas *canvas,
                          struct point at);

/* Where widths are those of a paper: nothing may be wider, and no pixel counts. */
bool section_is_printed(const struct section *section);

int section_draw(const struct section *section, struct canvas *canvas, struct point corner,
                 struct err *err);

/* Weights below this share of the scale have no line: there would be nothing but lines. */
#define PANEL_LINES_LEAST 0.03

/* The most cells of each axis. */
struct cell_room {
    size_t rows, columns;
};

/* A sheet as cells. Where there are more numbers than cells, one shows that which stands out most:
 * the highest; of both signs the farthest from 0. A mean would let a single bright cell, which is
 * what one looks for, fade away. */
int cells_make(struct cells *cells, const struct sheet *sheet, const struct tones *tones,
               struct cell_room room, struct arena *arena, struct err *err);

/* Draw panel `index`, cells or lines with what stands around them; the corner is the section's. */
int panel_draw(const struct section *section, size_t index, struct canvas *canvas,
               struct point corner, struct err *err);

/* Attention as lines in an area; of an overlay the sheets of all heads. */
int panel_lines_draw(const struct section *section, const struct sheet *sheet,
                     struct canvas *canvas, struct box area, struct err *err);

/* Whether a mark is one of a sheet's cells. */
bool cell_is_marked(const struct cell_mark *mark, const struct sheet *sheet);

/* A sheet's rows as a text of lines that are so wide, each on the colour of its number; how high
 * that is. */
void running_text_draw(const struct section *section, struct canvas *canvas, struct point corner);
double running_text_height(const struct section *section, double room);

/* The strongest numbers of a section as bars on either side of 0 (bars.c). */
int bars_fit(struct section *section, struct arena *arena, struct err *err);
int bars_draw(const struct section *section, struct canvas *canvas, struct point corner,
              struct err *err);

/* True when the cells of a section are large enough for its numbers, which are wanted; the decimals
 * they get. */
bool panel_has_numbers(const struct section *section, int *decimals);

/* Lines of notes below all else (section_notes.c): made when all but these is known. */
int section_notes_make(struct section *section, struct arena *arena, struct err *err);
double section_notes_height(const struct section *section);
void section_notes_draw(const struct section *section, struct canvas *canvas, struct point corner);

/* What stands below: which colour is which number, or which head, and what else one must know; fit
 * it to a section whose other measures are known. */
int scale_bar_fit(struct section *section, struct arena *arena, struct err *err);
int scale_bar_draw(const struct section *section, struct canvas *canvas, struct point corner,
                   struct err *err);

#endif
