/* style.h: display options of figures and coloured tables, with palettes and colour mapping. A
 * zeroed style is the default.
 *
 *     struct style style = {.title = "Figure 1"};
 *     if (style_read(&style, &(struct style_words){.scale = "sqrt", .width = "icml"}, err)) ...
 *     struct colour_norms norms = norms_make(sheets, count, &style);
 *     struct colour_norm norm = norm_of_row(&norms, &sheet, row);
 *     ramp_make(&ramp, norms.palette);
 *     ramp.colours[norm_level(&norm, sheet_cell(&sheet, row, column))] ...
 */
#pragma once

#include "base/err.h"
#include "lens/sheet.h"

/* --- colours ---------------------------------------------------------------------------------- */

struct colour {
    uint8_t red, green, blue; /* components in sRGB */
};

struct colour colour_of_hex(uint32_t hex); /* converts a number such as 0x1a2b3c */

struct colour colour_ink(struct colour ground); /* black or white, whichever contrasts more with
                                                 * `ground` */

/* The Oklab colour space is perceptually uniform. Lightness is 0 (black) to 1 (white). */
struct oklab {
    float lightness, a, b;
};

struct oklab oklab_of(struct colour colour);
struct colour colour_of_oklab(struct oklab oklab); /* components outside of sRGB are clamped */
float oklab_distance(struct oklab a, struct oklab b);

/* A palette is perceptually uniform. Its lightness is monotonic (from the middle to either end, if
 * two-sided), so that colours keep their order when printed in grey. No palette relies on telling
 * red from green. */
struct palette {
    const char *name;
    const char *about;
    bool two_sided;     /* 0 has the colour in the middle, with the colours of negative numbers
                         * before it and of positive numbers after it */
    uint32_t stops[18]; /* two or more colours as 0xRRGGBB, followed by 0 */
};

extern const struct palette palette_rows[];
extern const size_t palette_count;

/* finds a palette by its name; NULL: unknown */
const struct palette *palette_find(const char *name);

enum { RAMP_LEVELS = 256 };

/* Colours of levels 1 to 255. Cells of level 0 are not drawn. */
struct ramp {
    struct colour colours[RAMP_LEVELS];
};

void ramp_make(struct ramp *ramp, const struct palette *palette);

/* The colour of line `index` in a chart of `count` lines. */
struct colour palette_line(size_t index, size_t count);

/* --- styles ----------------------------------------------------------------------------------- */

enum style_scale { COLOURS_LINEAR, COLOURS_SQRT, COLOURS_LOG };

/* Which numbers share one colour range: all numbers, the numbers of a head, or the numbers of a
 * row. */
enum style_range { RANGE_ALL, RANGE_HEAD, RANGE_ROW };

/* How figures show attention. VIEW_FIT chooses a view that suits the data. Lines connect queries to
 * keys, with a panel for each head or, in an overlay, one panel for all heads of a layer. Bars show
 * the values of largest magnitude, arrows show vectors of three numbers. */
enum style_view { VIEW_FIT, VIEW_MATRIX, VIEW_LINES, VIEW_OVERLAY, VIEW_BARS, VIEW_ARROWS };

/* What cells show. CELLS_FIT: figures show colours, and numbers if they fit; text shows numbers,
 * and colours if the terminal has colours. */
enum style_cells { CELLS_FIT, CELLS_NUMBERS, CELLS_HEAT, CELLS_BOTH };

/* Colours supported by a terminal. */
enum style_depth { DEPTH_NONE, DEPTH_256, DEPTH_FULL };

/* How cells that the mask hides are drawn: hatched, or not at all; a causal map then has a triangle
 * as its frame. */
enum figure_mask { MASK_HATCH, MASK_TRIANGLE };

/* Minimum and maximum of a range; low > high: the range is empty. */
struct extent {
    float low, high;
};

/* A cell that gets a frame. Layer or head -1 means all. Rows and columns are numbered as on their
 * axes. */
struct cell_mark {
    int layer, head;
    size_t row, column;
};

enum { FIGURE_MARKS_MAX = 64 };

/* Options of figures for print. */
struct figure_form {
    double width; /* width in points; 0: natural width, up to two columns of a paper */
    /* font size in points; numbers in small cells get a smaller one; 0: each kind of text has its
     * default size */
    double font_size;
    const char *font;         /* font family; NULL: sans serif */
    long long dpi;            /* resolution of PNG in dots per inch; 0: default */
    const char *panel_labels; /* label of the first panel, such as "(a)"; NULL: no labels */
    enum figure_mask mask;
    bool has_token_range; /* show only tokens first_token to last_token */
    size_t first_token, last_token;
    struct cell_mark marks[FIGURE_MARKS_MAX];
    size_t mark_count;
};

struct style {
    enum style_scale scale;
    enum style_range range;
    enum style_view view;
    enum style_cells cells;
    /* --range is given, in any form; false: fractions such as attention weights have the range
     * 0 to 1 */
    bool range_given;
    struct extent bounds;          /* range of the colours with RANGE_ALL; both bounds 0: not set */
    const struct palette *palette; /* colours for the numbers; NULL: a default that suits them */
    /* without `palette`, choose a two-sided palette even if no number is negative */
    bool two_sided;
    /* title of figures; NULL: model and text; "": no title, and subtitles only if they must tell
     * encoder self-attention, decoder self-attention and cross-attention apart */
    const char *title;
    const char *language; /* language of figures, pages and explanations, as in HTML; NULL: en */
    bool hide_first;      /* pages hide the first token until the reader shows it */
    enum style_depth depth;
    bool dark; /* the terminal is known to have a dark background */
    struct figure_form form;
};

extern const struct style style_default;

/* Option values in the order of the enums; the names of views and cells omit VIEW_FIT and
 * CELLS_FIT. */
extern const char *const style_scale_names[3];
extern const char *const style_range_names[3];
extern const char *const style_view_names[5];
extern const char *const style_cells_names[3];
extern const char *const figure_mask_names[2];
extern const char *const style_preset_names[1];

/* Column and text widths of papers; style.c gives the sources. */
struct venue {
    const char *name, *about;
    double width; /* width in points */
};

extern const struct venue venue_rows[];
extern const size_t venue_count;

/* The options of a style as text; NULL: not given. The range may be LOW:HIGH. The width is a
 * length (3.25in, 8.25cm, 82.5mm, 234pt) or the name of a venue; it sets the font size to 7 points
 * unless form.font_size is set. Panel labels are a, A or 1, alone or inside other characters: (a).
 * Tokens are a range such as 3-12, or one number. Each of `marks` is a list of cells: 4:2 (row 4,
 * column 2), 0:4:2 (in layer 0) or 0.1:4:2 (in layer 0, head 1). */
struct style_words {
    /* "talk": heat, triangle, no title and 12 points, unless other options are given */
    const char *preset;
    const char *scale, *range, *view, *cells, *palette;
    const char *width, *font, *panel_labels, *mask, *tokens;
    const char *const *marks;
    size_t mark_count;
};

/* Parse the options of a style. Its title and form.font_size may be set before the call. Errors are
 * usage errors. */
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

/* Write the label of panel number `panel`, from 0. If form->panel_labels is "(a)", the labels are
 * (a), (b), …, (z), (aa), (ab), …. Returns `label`. */
const char *figure_form_label(char label[PANEL_LABEL_BYTES], const struct figure_form *form,
                              size_t panel);

/* --- mapping numbers to colours --------------------------------------------------------------- */

/* A mapping from numbers to a ramp of colours. The ramp goes from the minimum (at most 0) to the
 * maximum or, if two-sided, as is usual with negative numbers, from 0 in the middle to the largest
 * magnitude at either end. */
struct colour_norm {
    enum style_scale scale;
    bool two_sided;
    struct extent extent;
};

/* norm_share: the position of a finite number on the ramp, from 0 to 1. norm_level: the level of
 * its colour, 0 if the number is not finite. norm_ends: the numbers at both ends of the ramp. */
float norm_share(const struct colour_norm *norm, float value);
unsigned norm_level(const struct colour_norm *norm, float value);
struct extent norm_ends(const struct colour_norm *norm);

/* Colour mapping for sheets that are displayed together. */
struct colour_norms {
    enum style_range range;
    const struct palette *palette;
    /* mapping for all sheets; the range of fractions is 0 to 1 unless --range is given */
    struct colour_norm whole;
    struct extent found; /* range of the numbers in the sheets, without regard to given bounds */
};

/* Make the colour mapping for numbers in a range (norms_of), or for sheets on a light background
 * (norms_make). `fraction`: the numbers are fractions (sheet.h). `dark`: the background is dark. */
struct colour_norms norms_of(struct extent extent, bool fraction, const struct style *style,
                             bool dark);
struct colour_norms norms_make(const struct sheet *sheets, size_t count, const struct style *style);

/* The colour mapping for a sheet, or for one of its rows. */
struct colour_norm norm_of_sheet(const struct colour_norms *norms, const struct sheet *sheet);
struct colour_norm norm_of_row(const struct colour_norms *norms, const struct sheet *sheet,
                               size_t row);

/* Prefix for the number at an end of the ramp: "≤ " or "≥ " if numbers exceed the low or high end,
 * else "". */
const char *norms_beyond(const struct colour_norms *norms, bool high);

/* extent_of_sheet: the range of the finite, visible numbers. extent_join: the range that includes
 * both ranges. */
struct extent extent_of_sheet(const struct sheet *sheet);
struct extent extent_join(struct extent a, struct extent b);
