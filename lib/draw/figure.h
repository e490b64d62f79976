/* figure.h: the figure of a report: a title, and a section for each kind of tensor in it: a head,
 * the heads of a layer side by side, or all layers and heads, as small pictures (panels) with one
 * scale.
 *
 *     struct figure figure;
 *     if (figure_plan(&figure, report, style, &arena, err) ||
 *         figure_draw(&figure, canvas, err)) ...
 */
#ifndef ATTN_DRAW_FIGURE_H
#define ATTN_DRAW_FIGURE_H

#include "draw/canvas.h"
#include "lens/report.h"
#include "lens/sheet.h"
#include "write/style.h"

enum {
    SECTION_NOTES_MAX = 32, /* lines */
    FIGURE_TITLE_LINES = 3, /* at most; the last one ends with "…" if there is more */
};

struct figure {
    struct drawing_page page;                    /* its size, and its whole title */
    const char *title_lines[FIGURE_TITLE_LINES]; /* the part that is drawn */
    size_t title_count;
    struct section *sections;
    size_t section_count;
    double margin;
    const struct figure_form *form;
};

/* Append the title: the user's, if it is not empty; else the model's name and the sentence. */
void figure_title(struct buf *out, const struct report *report, const struct style *style);

/* Lay out a report, which lives longer than the figure, in memory of the arena. Then draw it. */
int figure_plan(struct figure *figure, const struct report *report, const struct style *style,
                struct arena *arena, struct err *err);
int figure_draw(const struct figure *figure, struct canvas *canvas, struct err *err);

/* --- between figure.c, section.c and panel.c -------------------------------------------------- */

enum section_kind { KIND_MATRIX, KIND_LINES, KIND_TEXT, KIND_BARS, KIND_CURVES };

/* Matrices of one kind that are drawn together: all have the size of the first. */
struct section_sheets {
    const struct sheet *sheets; /* [layers, heads] */
    size_t layers, heads;
    const char *attention; /* which of several attentions, always written; NULL: one or none */
    bool first_hidden, cropped;
    bool fills; /* below a title of several lines, a matrix alone is as wide as the page */
    bool barless, shares_bar; /* another section has the bar; one bar is that of several */
};

/* An axis fitted to a length. Axes without room for all labels have the positions of a few. */
struct axis_fit {
    size_t step;  /* positions that share a cell */
    size_t cells; /* how many cells that makes */
    double pitch; /* from one cell to the next */
    double size;  /* of the labels; 0: there are none */
    size_t every; /* positions at multiples of this are labelled: 1, 2 or 5 times a power of ten */
    double turn;  /* of column labels: 0, -45 or -90 degrees */
    double label; /* their largest width: wider ones are shortened */
    double room;  /* that the labels take across the axis */
    double over;  /* how far those of columns reach beyond the last cell */
};

struct section {
    enum section_kind kind;
    const struct style *style;
    struct section_sheets what;
    size_t panels, across; /* how many there are, and in a row of them */
    size_t tracks;         /* heads in a panel: 1, or all of a layer as an overlay */
    bool by_layer;         /* a row of panels is a layer, a column a head */
    struct colour_norms norms;
    struct ramp ramp;
    struct axis_fit rows, columns;
    double number_size;                   /* of numbers in cells; 0: there are none */
    struct numeral numeral;               /* their form */
    const char *row_title, *column_title; /* NULL: none */
    const char *bar_title;
    size_t first_label, label_count;  /* "(a)": each panel, or the section alone */
    struct point at;                  /* its corner in the figure */
    double room;                      /* its largest width */
    double bar_room;                  /* the same of its bar, with its title */
    double head;                      /* height of its subtitle */
    struct box area;                  /* of cells or lines, from a panel's corner */
    double panel_width, panel_height; /* from one panel to the next and to the one below */
    double left, top;                 /* room at the left of all panels, and above them */
    double foot;                      /* upper edge of the scale, below them */
    double width, height;             /* of all, with titles and the scale */
    const char *subtitle;
    const char *notes[SECTION_NOTES_MAX]; /* lines below */
    size_t note_count;
    struct bars *bars; /* of KIND_BARS */
};

static const double FIGURE_MARGIN = 12;
static const double FIGURE_WIDEST = 504; /* two columns of a paper */
static const double SLANT = 0.7072;      /* sine and cosine of 45 degrees */

/* Weights below this share of the scale have no line. */
static const double LINES_LEAST = 0.03;

/* Size of letters and height of a line of them: by the kind of text, or one for all on paper. */
enum type_kind { TYPE_TITLE, TYPE_SUBTITLE, TYPE_NAME, TYPE_NUMBER, TYPE_TEXT };

double type_size(const struct figure_form *form, enum type_kind kind);
double type_line(const struct figure_form *form, enum type_kind kind);
double section_line(const struct section *section, enum type_kind kind);
struct font section_font(const struct section *section, enum type_kind kind, uint32_t hex);

/* With a width for paper nothing may be wider, and pixels do not matter. */
static inline bool section_is_printed(const struct section *section)
{
    return section->style->form.width > 0;
}

/* Lay out sheets that live as long as the section, within a width, in memory of the arena. */
int section_plan(struct section *section, const struct section_sheets *what,
                 const struct style *style, double room, struct arena *arena, struct err *err);
void section_draw(const struct section *section, struct canvas *canvas);

/* Draw a panel's label in bold letters; returns its width with a gap. */
double section_draw_label(const struct section *section, size_t panel, struct canvas *canvas,
                          struct point at);

/* Draw a panel: cells or lines with labels around them. */
void panel_draw(const struct section *section, size_t index, struct canvas *canvas);

/* The columns of a sheet as lines (curves.c). */
void curves_fit(struct section *section);
void curves_draw(const struct section *section, struct canvas *canvas);

/* A step of 1, 2 or 5 times a power of ten, of which at most five make `whole`. */
double nice_step(double whole);

/* A sheet as the section's cells. A cell for several numbers shows the highest, or with both signs
 * the farthest from 0: a mean would hide a single strong weight, which readers look for. */
int cells_make(struct cells *cells, const struct section *section, const struct sheet *sheet,
               struct arena *arena, struct err *err);

/* Choose the section's numeral, two decimals or fewer of large numbers, and the size of letters at
 * which the widest number fits; 0 if numbers are not wanted, do not fit or would all look like 0.
 */
void panel_fit_numbers(struct section *section);

/* True if a mark is one of a sheet's cells. */
bool cell_is_marked(const struct cell_mark *mark, const struct sheet *sheet);

/* Cells for `size` positions: on paper they fill the length; on screens none is larger than
 * `largest`, and pitches are multiples of half a pixel, as offsets are, so that cells are equally
 * large. */
struct axis_fit axis_fit_cells(const struct section *section, size_t size, double length,
                               double largest);
double axis_fit_snap(double length);
size_t axis_cells(size_t size, size_t step);

static inline double axis_fit_length(const struct axis_fit *fit)
{
    return fit->pitch * (double)fit->cells;
}

/* Labels with at most `room` across. Those of columns are level if they fit, numbers always. */
void axis_fit_labels(struct axis_fit *fit, const struct axis *axis, bool columns, double room,
                     const struct figure_form *form);

/* Draw labels left or right of rows, above or below columns, from a corner of the first cell. */
enum axis_side { AXIS_LEFT, AXIS_RIGHT, AXIS_ABOVE, AXIS_BELOW };
void axis_draw(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
               struct point corner, enum axis_side side);

#endif
