/* section.h: what a picture shows of one kind of tensor: a head, the heads of a layer side by side,
 * or all layers and heads, as small pictures (panels) of one measure.
 *
 *     struct section section;
 *     if (section_gather(&what, report, site, &arena, err) ||
 *         section_plan(&section, &what, style, &arena, err)) ...
 *     section.width, section.height
 *     if (section_draw(&section, canvas, (struct point){12, 40}, err)) ...
 */
#ifndef ATTN_DRAW_SECTION_H
#define ATTN_DRAW_SECTION_H

#include "draw/axis_fit.h"
#include "lens/report.h"

enum section_kind { KIND_MATRIX, KIND_LINES, KIND_OVERLAY };

/* Matrices of one kind that are drawn together: all have the size of the first. */
struct section_sheets {
    const struct sheet *sheets; /* [layers, heads] */
    size_t layers, heads;
    const char *const *names; /* [layers, heads] where they are no layers and heads; else NULL */
    const char *of;           /* what they are of, for the subtitle; NULL: nothing to say */
    const char *note;         /* a line below; NULL: none */
    bool first_hidden;
};

struct section {
    enum section_kind kind;
    const struct style *style;
    const struct sheet *sheets; /* [layers, heads] */
    size_t layers, heads;
    const char *const *names;
    size_t panels, across; /* how many there are, and in a row of them */
    bool by_layer;         /* a row of panels is a layer, a column a head */
    struct tones tones;
    struct ramp ramp;
    struct axis_fit rows, columns;
    struct box area;      /* of cells or lines, from a panel's corner */
    double panel_width;   /* from one panel to the next … */
    double panel_height;  /* … and to the one below */
    double left, top;     /* room for what stands beside and above all panels */
    double foot;          /* where the scale stands, below them */
    double width, height; /* of all, with titles and the scale */
    bool first_hidden;
    const char *subtitle, *note;
};

/* The sheets of a site in all layers of a report, in memory of the arena; no layers: it has none.
 */
int section_gather(struct section_sheets *what, const struct report *report, enum site site,
                   struct arena *arena, struct err *err);

/* Lay out sheets that live as long as the section, in memory of the arena. */
int section_plan(struct section *section, const struct section_sheets *what,
                 const struct style *style, struct arena *arena, struct err *err);

int section_draw(const struct section *section, struct canvas *canvas, struct point corner,
                 struct err *err);

/* --- its parts -------------------------------------------------------------------------------- */

/* Weights below this share of the highest have no line: there would be nothing but lines. */
#define PANEL_LINES_LEAST 0.03

/* Draw panel `index`, cells or lines with what stands around them; the corner is the section's. */
int panel_draw(const struct section *section, size_t index, struct canvas *canvas,
               struct point corner, struct err *err);

/* True when the cells of a section are large enough for its numbers, which are wanted; the decimals
 * they get. */
bool panel_has_numbers(const struct section *section, int *decimals);

/* What stands below: which colour is which number, or which head, and what else one must know. Its
 * width is the note's, which tells of the section; the others are short. */
double scale_bar_width(const struct section *section);
double scale_bar_height(const struct section *section);
int scale_bar_draw(const struct section *section, struct canvas *canvas, struct point corner,
                   struct err *err);

#endif
