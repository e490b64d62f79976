/* figure_form.h: the form of a figure for a paper: how wide it is printed, in what letters, and
 * what is left out or added. A zeroed form is that of pictures to look at.
 *
 *     struct figure_form form = {.dpi = 300};
 *     if (figure_form_read_width(&form, "icml", err)) ...          234 points
 */
#ifndef ATTN_WRITE_FIGURE_FORM_H
#define ATTN_WRITE_FIGURE_FORM_H

#include "base/err.h"

/* Masked cells, such as the future: hatched, or left out of the frame. */
enum figure_mask { MASK_HATCH, MASK_TRIANGLE };

enum { FIGURE_MARKS_MAX = 64 };

/* A cell that has a frame; -1: in every layer, every head. Rows and columns count as tokens do. */
struct cell_mark {
    int layer, head;
    size_t row, column;
};

struct figure_form {
    double width;     /* points; 0: what it takes, up to two columns of a paper */
    double font_size; /* points, of all letters but numbers in cells; 0: a size for each kind */
    const char *font; /* a family; NULL: sans serif */
    long long dpi;    /* pixels an inch, of PNG; 0: as usual */
    const char *panel_labels; /* "(a)"; NULL: none */
    enum figure_mask mask;
    bool has_token_range; /* only tokens from the first to the last of these */
    size_t first_token, last_token;
    struct cell_mark marks[FIGURE_MARKS_MAX];
    size_t mark_count;
};

/* Columns of papers: each width has its source in figure_form.c. */
struct venue {
    const char *name, *about;
    double width; /* points */
};

extern const struct venue venue_rows[];
extern const size_t venue_count;

/* Names as on the command line, in the order of the enum, with NULL after the last. */
extern const char *const figure_mask_names[];

/* 3.25in, 8.25cm, 82.5mm, 234pt, or a venue; letters are then of 7 points unless others were
 * chosen. One letter, a, A or 1, and what stands around it. 4:2, 0:4:2 (in layer 0) or 0.1:4:2 (in
 * its head 1), several with commas between them. Errors are usage. */
int figure_form_read_width(struct figure_form *form, const char *text, struct err *err);
int figure_form_read_labels(struct figure_form *form, const char *text, struct err *err);
int figure_form_read_marks(struct figure_form *form, const char *list, struct err *err);
/* 3-12, or 3. */
int figure_form_read_tokens(struct figure_form *form, const char *text, struct err *err);
int figure_form_read_mask(struct figure_form *form, const char *name, struct err *err);

enum { PANEL_LABEL_BYTES = 24 };

/* The label of panel 0, 1, …: a, b, …, z, aa, ab; returns `label`. */
const char *figure_form_label(char label[PANEL_LABEL_BYTES], const struct figure_form *form,
                              size_t panel);

#endif
