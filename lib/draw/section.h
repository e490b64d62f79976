/* section.h: a section of a figure, and what its files share: section.c, panel.c, curves.c and
 * arrows.c. A section shows each layer and head as a small picture, its panel, or is one chart or
 * coloured text. figure.c lays sections below one another.
 *
 *     struct section section = {.what = {.sheets = sheets, .layers = 1, .heads = 1}};
 *     if (section_plan(&section, style, width, &arena, err)) ...
 *     section_draw(&section, canvas);
 */
#pragma once

#include "draw/canvas.h"
#include "lens/sheet.h"
#include "write/style.h"

enum { SECTION_NOTES_MAX = 32 /* limit of lines of `notes` */ };

enum section_kind { KIND_MATRIX, KIND_LINES, KIND_ARROWS, KIND_TEXT, KIND_BARS, KIND_CURVES };

/* Matrices of one kind, drawn together; all have the size of the first. */
struct section_sheets {
    const struct sheet *sheets; /* [layers, heads] */
    size_t layers, heads;
    const char *attention; /* its name, if several sections show attention weights; else NULL */
    bool first_hidden, cropped;
    bool listed; /* single heads of layers, with different numbers: a panel names both */
    bool fills;  /* a single matrix without keys may be as wide as the page */
    bool barless, shares_bar; /* attentions share a colour bar; barless: another section has it */
};

/* An axis fitted to a length. If not all labels fit, every n-th position has one, or its number. */
struct axis_fit {
    size_t step;  /* positions per cell */
    size_t cells; /* number of cells */
    double pitch; /* size of a cell along the axis */
    double size;  /* font size of labels; 0: no labels */
    size_t every; /* label every n-th position: 1, 2 or 5 times a power of ten */
    double turn;  /* angle of column labels: 0, -45 or -90 degrees */
    double label; /* wider labels are shortened, except level ones of columns */
    double depth; /* space for labels perpendicular to the axis */
    double over;  /* space for column labels beyond the last cell */
};

struct section {
    enum section_kind kind;
    const struct style *style;
    struct section_sheets what;
    size_t panels, across; /* number of panels, in all and per row */
    size_t tracks;         /* heads per panel: 1, or in an overlay all of the layer */
    bool by_layer;         /* grid with a row for each layer and a column for each head */
    struct colour_norms norms;
    struct ramp ramp;
    struct axis_fit rows, columns;
    double number_size;                   /* font size of numbers in cells; 0: no numbers */
    struct numeral numeral;               /* format of numbers in cells */
    const char *row_title, *column_title; /* NULL: none */
    const char *bar_title;
    size_t first_label, label_count;  /* labels like "(a)": index of the first; number */
    struct point at;                  /* upper left corner in the figure */
    double limit;                     /* width limit of the section */
    double bar_limit;                 /* width limit of the colour bar with its title */
    double head;                      /* height of the subtitle */
    struct box area;                  /* cells or lines, in the panel; of curves in the section */
    double panel_width, panel_height; /* size of a panel with the gap after it */
    double left, top;                 /* space left of the panels and above them */
    double foot;                      /* y of the colour bar or legend, below the panels */
    double width, height;             /* size with titles and colour bar */
    const char *subtitle;
    const char *notes[SECTION_NOTES_MAX]; /* lines below the colour bar */
    size_t note_count;
    struct bars *bars; /* for KIND_BARS */
};

static const double FIGURE_MARGIN = 12;
static const double FIGURE_WIDEST = 504; /* two columns of a paper */
static const double SLANT = 0.7072;      /* sine and cosine of 45 degrees, about */

/* Weights below this share of the colour scale are not drawn as lines. */
static const double LINES_LEAST = 0.03;

/* Font size and line height for a kind of text; a given form.font_size applies to all kinds. */
enum type_kind { TYPE_TITLE, TYPE_SUBTITLE, TYPE_NAME, TYPE_NUMBER, TYPE_TEXT };

double type_size(const struct figure_form *form, enum type_kind kind);
double type_line(const struct figure_form *form, enum type_kind kind);
double section_line(const struct section *section, enum type_kind kind);
struct font section_font(const struct section *section, enum type_kind kind, uint32_t hex);

/* True if the figure has a given width, which nothing may exceed, and pixels do not matter. */
static inline bool section_is_printed(const struct section *section)
{
    return section->style->form.width > 0;
}

/* Lay out a section within a width; all its members but `what` are 0 before. The arena owns the
 * layout; the sheets and the style must outlive the section. */
int section_plan(struct section *section, const struct style *style, double limit,
                 struct arena *arena, struct err *err);

/* Remove the notes that `other`, the section with the common colour bar, has as well. */
void section_drop_notes(struct section *section, const struct section *other);
void section_draw(const struct section *section, struct canvas *canvas);

/* Draw a panel's label in bold; returns its width including a gap. */
double section_draw_label(const struct section *section, size_t panel, struct canvas *canvas,
                          struct point at);

/* Draw a panel: its cells, lines or arrows, and the labels around them. */
void panel_draw(const struct section *section, size_t index, struct canvas *canvas);

/* A line for each column of a sheet (curves.c). */
void curves_fit(struct section *section);
void curves_draw(const struct section *section, struct canvas *canvas);

/* Vectors of three numbers as arrows in space (arrows.c). */
bool sheet_is_spatial(const struct sheet *sheet);
void arrows_fit(struct section *section);
void arrows_draw(const struct section *section, const struct sheet *sheet, struct canvas *canvas,
                 struct box area);

/* Return 1, 2 or 5 times a power of ten that fits at most five times into `whole`. */
double nice_step(double whole);

/* An axis of numbers: multiples of a step, and their number format. */
struct scale {
    double low, high, step;
    struct numeral numeral;
};

/* The multiples of a step that enclose two numbers (curves.c). */
struct scale scale_around(double low, double high, double step);

/* Reduce a sheet to the section's cells. A cell of several values shows the maximum, or on a
 * two-sided scale the value farthest from 0: a mean would hide a single high weight. */
int cells_make(struct cells *cells, const struct section *section, const struct sheet *sheet,
               struct arena *arena, struct err *err);

/* Choose the number format (at most two decimals, fewer for large numbers) and the font size at
 * which the widest number fits. Size 0: there are no numbers, they are off or do not fit, cells
 * have several values or, unless cells have texts, all are below 0.1 in magnitude but not all 0. */
void panel_fit_numbers(struct section *section);

/* True if some numbers are left out because they round to 0: the colours tell their cells from
 * masked ones. A single column has all its numbers. */
bool panel_blanks(const struct section *section);

/* True if the mark refers to a cell of the sheet. */
bool cell_is_marked(const struct cell_mark *mark, const struct sheet *sheet);

/* Divide a length into cells for `size` positions. In print the cells fill the length. On screen, a
 * cell is at most `largest`, and pitches are multiples of half a pixel: all cells look equally
 * large. axis_fit_snap rounds a length up to such a multiple. */
struct axis_fit axis_fit_cells(const struct section *section, size_t size, double length,
                               double largest);
double axis_fit_snap(double length);
size_t axis_cells(size_t size, size_t step);

static inline double axis_fit_length(const struct axis_fit *fit)
{
    return fit->pitch * (double)fit->cells;
}

/* Fit labels into `limit` across the axis; of columns, level ones if they fit or are numbers. */
void axis_fit_labels(struct axis_fit *fit, const struct axis *axis, bool columns, double limit,
                     const struct figure_form *form);

/* True if the axis shows numbers of positions in place of labels. */
bool axis_is_numbered(const struct axis *axis, const struct axis_fit *fit);

/* Draw labels beside rows, or above or below columns. `corner`: the first cell's on that side. */
enum axis_side { AXIS_LEFT, AXIS_RIGHT, AXIS_ABOVE, AXIS_BELOW };
void axis_draw(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
               struct point corner, enum axis_side side);
