/* style.h: the display of figures and coloured tables; a zeroed style is the default. Palettes, and
 * the colours of numbers.
 *
 *     struct style style = {.title = "Figure 1"};
 *     if (style_read(&style, &(struct style_words){.scale = "sqrt", .width = "icml"}, err)) ...
 *     struct colour_norms norms = norms_make(sheets, count, &style, false);
 *     struct colour_norm norm = norm_of_row(&norms, &sheet, row);
 *     ramp_make(&ramp, norms.palette);
 *     ramp.colours[norm_level(&norm, sheet_cell(&sheet, row, column))] ...
 */
#ifndef ATTN_WRITE_STYLE_H
#define ATTN_WRITE_STYLE_H

#include "base/err.h"
#include "lens/sheet.h"

/* --- colours ---------------------------------------------------------------------------------- */

struct colour {
    uint8_t red, green, blue; /* sRGB */
};

struct colour colour_of_hex(uint32_t hex); /* 0x1a2b3c */

struct colour colour_ink(struct colour ground); /* black or white, the easier to read on it */

/* Oklab: equal distances look equal. Lightness is 0 (black) to 1 (white); two axes of hue. */
struct oklab {
    float lightness, a, b;
};

struct oklab oklab_of(struct colour colour);
struct colour colour_of_oklab(struct oklab oklab); /* the nearest in sRGB */
float oklab_distance(struct oklab a, struct oklab b);

/* Steps along a palette look equally large, and lightness rises or falls all the way (from the
 * middle to either end, if two-sided), so that a grey copy keeps the order. None needs the
 * difference of red and green. */
struct palette {
    const char *name;
    const char *about;
    bool two_sided;     /* its middle is 0 */
    uint32_t stops[18]; /* at least two; a 0 ends them */
};

extern const struct palette palette_rows[];
extern const size_t palette_count;

const struct palette *palette_find(const char *name); /* NULL: there is none */

enum { RAMP_LEVELS = 256 };

/* The colours of levels 1 to 255; level 0 has none: nothing is drawn. */
struct ramp {
    struct colour colours[RAMP_LEVELS];
};

void ramp_make(struct ramp *ramp, const struct palette *palette);

/* The colour of line `index` of so many. */
struct colour palette_line(size_t index, size_t count);

/* --- styles ----------------------------------------------------------------------------------- */

enum style_scale { COLOURS_LINEAR, COLOURS_SQRT, COLOURS_LOG };

/* The numbers that share the colour scale. */
enum style_range { RANGE_ALL, RANGE_HEAD, RANGE_ROW };

/* VIEW_FIT: by the numbers. Lines go from queries to keys, with a panel for each head or, as an
 * overlay, for all heads of a layer; bars are the numbers farthest from 0. */
enum style_view { VIEW_FIT, VIEW_MATRIX, VIEW_LINES, VIEW_OVERLAY, VIEW_BARS };

/* CELLS_FIT: colours, and numbers if they fit, in figures; numbers, and colours if the terminal has
 * them, in text. */
enum style_cells { CELLS_FIT, CELLS_NUMBERS, CELLS_HEAT, CELLS_BOTH };

/* Colours of a terminal. */
enum style_depth { DEPTH_NONE, DEPTH_256, DEPTH_FULL };

/* Masked cells are hatched, or left out of the frame. */
enum figure_mask { MASK_HATCH, MASK_TRIANGLE };

/* The lowest and the highest number of a scale; low > high: there are none. */
struct extent {
    float low, high;
};

/* A cell that has a frame; -1: in every layer, every head. Rows and columns count as tokens do. */
struct cell_mark {
    int layer, head;
    size_t row, column;
};

enum { FIGURE_MARKS_MAX = 64 };

/* A figure for a paper. */
struct figure_form {
    double width;     /* points; 0: what it takes, up to two columns of a paper */
    double font_size; /* points, of all text but numbers in cells; 0: a size for each kind */
    const char *font; /* a family; NULL: sans serif */
    long long dpi;    /* of PNG; 0: the default */
    const char *panel_labels; /* "(a)"; NULL: none */
    enum figure_mask mask;
    bool has_token_range; /* only tokens from the first to the last of these */
    size_t first_token, last_token;
    struct cell_mark marks[FIGURE_MARKS_MAX];
    size_t mark_count;
};

struct style {
    enum style_scale scale;
    enum style_range range;
    enum style_view view;
    enum style_cells cells;
    bool range_given;              /* else attention and other fractions have the range 0 to 1 */
    struct extent bounds;          /* of RANGE_ALL, unless both are 0 */
    const struct palette *palette; /* NULL: one that fits the numbers */
    bool two_sided;                /* a palette of both signs, whatever the numbers are */
    const char *title;             /* NULL: the model and the sentence; "": none, nor subtitles */
    bool hide_first;               /* for pages that can show and hide it */
    enum style_depth depth;
    bool dark; /* the terminal's background, as far as known */
    struct figure_form form;
};

extern const struct style style_default;

/* Names on the command line, in the order of the enums; of views and cells without what fits. */
extern const char *const style_scale_names[3];
extern const char *const style_range_names[3];
extern const char *const style_view_names[4];
extern const char *const style_cells_names[3];
extern const char *const figure_mask_names[2];

/* Columns of papers; style.c names the source of each width. */
struct venue {
    const char *name, *about;
    double width; /* points */
};

extern const struct venue venue_rows[];
extern const size_t venue_count;

/* Options of style, each NULL if it was not given. A range may be LOW:HIGH. A width is 3.25in,
 * 8.25cm, 82.5mm, 234pt or a venue, and then text is of 7 points unless form.font_size is set.
 * Panel labels are a, A or 1 with what is around it. Tokens are 3-12, or 3. Marks are lists of
 * 4:2, 0:4:2 (in layer 0) and 0.1:4:2 (in its head 1). */
struct style_words {
    const char *scale, *range, *view, *cells, *palette;
    const char *width, *font, *panel_labels, *mask, *tokens;
    const char *const *marks;
    size_t mark_count;
};

/* Errors are usage and list the alternatives. */
int style_read(struct style *style, const struct style_words *words, struct err *err);

static inline bool style_is_untitled(const struct style *style)
{
    return style->title && !*style->title;
}

static inline bool style_has_bounds(const struct style *style)
{
    return style->bounds.high > style->bounds.low;
}

enum { PANEL_LABEL_BYTES = 24 };

/* The label of panel 0, 1, …: a, b, …, z, aa, ab; returns `label`. */
const char *figure_form_label(char label[PANEL_LABEL_BYTES], const struct figure_form *form,
                              size_t panel);

/* --- from numbers to colours ------------------------------------------------------------------ */

/* Numbers of one sign fill the ramp from the lowest (at most 0) to the highest; those of both signs
 * fill it from its middle, which is 0, to either end. */
struct colour_norm {
    enum style_scale scale;
    bool two_sided;
    struct extent extent;
};

/* The position of a finite number on the ramp, from 0 to 1; its level, 0 for what is not finite;
 * and the numbers at the two ends. */
float norm_share(const struct colour_norm *norm, float value);
unsigned norm_level(const struct colour_norm *norm, float value);
struct extent norm_ends(const struct colour_norm *norm);

/* Of sheets that are shown together. */
struct colour_norms {
    enum style_range range;
    const struct palette *palette;
    struct colour_norm whole; /* of all of them: 0 to 1 of fractions without a range of their own */
    struct extent found;      /* of the numbers, whatever the colours' bounds */
};

/* `fraction`: the numbers are fractions (sheet.h). `dark`: on a dark ground. */
struct colour_norms norms_of(struct extent extent, bool fraction, const struct style *style,
                             bool dark);
struct colour_norms norms_make(const struct sheet *sheets, size_t count, const struct style *style,
                               bool dark);

/* The norm of a sheet or of one of its rows. */
struct colour_norm norm_of_sheet(const struct colour_norms *norms, const struct sheet *sheet);
struct colour_norm norm_of_row(const struct colour_norms *norms, const struct sheet *sheet,
                               size_t row);

/* "≤ " or "≥ " if numbers lie beyond the low or the high end of the ramp, else "". */
const char *norms_beyond(const struct colour_norms *norms, bool high);

/* Of the finite numbers that are not hidden. */
struct extent extent_of_sheet(const struct sheet *sheet);
struct extent extent_join(struct extent a, struct extent b);

#endif
