/* style.c: parses the options of a style. */
#include "write/style.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "base/platform.h"
#include "lens/selection.h"

#define INCHES(inches) (72.0 * (inches))
#define CENTIMETRES(cm) (72.0 * (cm) / 2.54)

static const double FONT_SIZE = 7;       /* in points, within Nature's limits of 5 and 7 points */
static const double FONT_SIZE_TALK = 12; /* in points, legible on a projected slide */
static const double NARROWEST = 72, WIDEST = 2880, ROUNDING = 1e-6;

const struct style style_default = {0};

const char *const style_scale_names[] = {"linear", "sqrt", "log"};
const char *const style_range_names[] = {"all", "head", "row"};
const char *const style_view_names[] = {"matrix", "lines", "overlay", "bars", "arrows"};
const char *const style_cells_names[] = {"numbers", "heat", "both"};
const char *const figure_mask_names[] = {"hatch", "triangle"};
const char *const style_preset_names[] = {"talk"};

const struct venue venue_rows[] = {
    /* acl.sty: a4paper, margin=2.5cm, \columnsep 0.6cm: (21 - 5 - 0.6) / 2 */
    {"acl", "one column of ACL, EMNLP or NAACL: 7.7 cm", CENTIMETRES(7.7)},
    {"acl-wide", "both columns: 16 cm", CENTIMETRES(16)},
    /* neurips_2026.sty and iclr2025_conference.sty: textwidth=5.5in */
    {"neurips", "text width of NeurIPS: 5.5 in", INCHES(5.5)},
    {"iclr", "text width of ICLR: 5.5 in", INCHES(5.5)},
    /* icml2025.sty: \textwidth 6.75in, \columnsep 0.25in: (6.75 - 0.25) / 2 */
    {"icml", "one column of ICML: 3.25 in", INCHES(3.25)},
    {"icml-wide", "both columns: 6.75 in", INCHES(6.75)},
    /* source: research-figure-guide.nature.com, "Building and exporting figure panels" */
    {"nature", "one column of Nature: 89 mm", CENTIMETRES(8.9)},
    {"nature-wide", "both columns: 183 mm", CENTIMETRES(18.3)},
};

const size_t venue_count = sizeof venue_rows / sizeof *venue_rows;

/* Find the index of a name among `names`. The index is 0 if the name is NULL. */
static int find(size_t *index, const char *option, struct names names, const char *name,
                struct err *err)
{
    *index = 0;
    return name ? names_choose(index, names, option, name, err) : 0;
}

/* Parse the range LOW:HIGH. A ramp begins at 0 or has 0 in its middle: LOW must be at most 0,
 * and HIGH above 0. */
static int parse_bounds(struct extent *bounds, const char *text, struct err *err)
{
    const char *colon = strchr(text, ':');
    char first[NUM_DOUBLE_BYTES] = "";
    double low = 0, high = 0;
    if ((size_t)(colon - text) < sizeof first)
        memcpy(first, text, (size_t)(colon - text));
    if (!num_parse_double(first, -FLT_MAX, 0, &low) ||
        !num_parse_double(colon + 1, 0, FLT_MAX, &high) || (float)high <= 0)
        return err_usage(err,
                         "--range: expected LOW:HIGH with LOW at most 0 and HIGH above it, "
                         "found '%s'",
                         text);
    *bounds = (struct extent){(float)low, (float)high};
    return 0;
}

/* --- figures for print ------------------------------------------------------------------------ */

static bool parse_length(double *points, const char *text)
{
    static const struct {
        const char *name;
        double points;
    } units[] = {
        {"in", INCHES(1)}, {"cm", CENTIMETRES(1)}, {"mm", CENTIMETRES(0.1)}, {"pt", 1}, {"bp", 1}};
    char number[NUM_DOUBLE_BYTES];
    size_t size = strspn(text, "0123456789.");
    if (size == 0 || size >= sizeof number)
        return false;
    memcpy(number, text, size);
    number[size] = '\0';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(text + size, units[i].name) == 0 && num_parse_double(number, 0, 1e6, points)) {
            *points *= units[i].points;
            return true;
        }
    return false;
}

static int parse_width(struct figure_form *form, const char *text, struct err *err)
{
    size_t venue = 0;
    double points = 0;
    if (!parse_length(&points, text)) {
        if (strchr("0123456789.-+", *text))
            return err_usage(err,
                             "--figure-width: expected a number with in, cm, mm or pt, such as "
                             "3.25in, or the name of a venue, such as icml, found '%s'",
                             text);
        if (names_choose(&venue, NAMES(venue_rows, venue_count), "--figure-width", text, err))
            return -1;
        points = venue_rows[venue].width;
    }
    if (points < NARROWEST - ROUNDING || points > WIDEST + ROUNDING)
        return err_usage(err, "--figure-width: expected 1 to 40 inches, found '%s'", text);
    form->width = points;
    if (form->font_size <= 0)
        form->font_size = FONT_SIZE;
    return 0;
}

enum { AROUND_MAX = 8 }; /* maximum size in bytes of the value of --panel-labels */

static const char *letter_of(const char *pattern)
{
    return strpbrk(pattern, "aA1");
}

const char *figure_form_label(char label[PANEL_LABEL_BYTES], const struct figure_form *form,
                              size_t panel)
{
    const char *letter = letter_of(form->panel_labels);
    int before = (int)(letter - form->panel_labels);
    char second[] = {(char)(*letter + (int)(panel % 26)), '\0'};
    char first[] = {panel < 26 ? '\0' : (char)(*letter + (int)(panel / 26 - 1) % 26), '\0'};
    if (*letter == '1')
        snprintf(label, PANEL_LABEL_BYTES, "%.*s%u%s", before, form->panel_labels,
                 (unsigned)(panel + 1), letter + 1);
    else
        snprintf(label, PANEL_LABEL_BYTES, "%.*s%s%s%s", before, form->panel_labels, first, second,
                 letter + 1);
    return label;
}

static int parse_tokens(struct figure_form *form, const char *text, struct err *err)
{
    int end = 0;
    bool plain = !text[strspn(text, "0123456789-")] && *text != '-' && !strstr(text, "--");
    form->has_token_range = true;
    int found = sscanf(text, "%9zu%n-%9zu%n", &form->first_token, &end, &form->last_token, &end);
    if (found == 1)
        form->last_token = form->first_token;
    if (!plain || found < 1 || text[end] || form->first_token > form->last_token)
        return err_usage(err,
                         "--token-range: expected the positions of the first and the last token, "
                         "such as 3-12, found '%s'",
                         text);
    return 0;
}

/* Parse a mark: a head or a layer and ROW:COLUMN, as in `L1H3:4:2` and `L1:4:2`, or ROW:COLUMN. */
static bool parse_mark(struct cell_mark *mark, const char *text, size_t size)
{
    enum { MOST = 1000000000 };
    const char *end = text + size;
    const char *second = platform_last_byte(text, ':', size);
    const char *first = second ? platform_last_byte(text, ':', (size_t)(second - text)) : NULL;
    const char *row = first ? first + 1 : text;
    struct head_range place = {.layers = {-1, -1}, .heads = {-1, -1}, .is_whole = true};
    long long numbers[2];
    if (!second || !num_parse_part(row, (size_t)(second - row), 0, MOST, &numbers[0]) ||
        !num_parse_part(second + 1, (size_t)(end - second) - 1, 0, MOST, &numbers[1]) ||
        (first && !head_range_read(&place, text, (size_t)(first - text), MOST, MOST)))
        return false;
    *mark = (struct cell_mark){(int)place.layers[0], place.is_whole ? -1 : (int)place.heads[0],
                               (size_t)numbers[0], (size_t)numbers[1]};
    return place.layers[0] == place.layers[1] && !place.of_keys && *text != '-' &&
           (place.is_whole || place.heads[0] == place.heads[1]);
}

static int parse_marks(struct figure_form *form, const char *list, struct err *err)
{
    for (const char *at = list; at; at = list_next(at)) {
        struct cell_mark mark;
        if (!parse_mark(&mark, at, strcspn(at, ",")))
            return err_usage(err,
                             "--mark: expected ROW:COLUMN such as 4:2, or with a layer or head, "
                             "L0:4:2 or L0H1:4:2, found '%s'",
                             list);
        if (form->mark_count == FIGURE_MARKS_MAX)
            return err_usage(err, "--mark: expected at most %d cells, found more",
                             FIGURE_MARKS_MAX);
        form->marks[form->mark_count++] = mark;
    }
    return 0;
}

static int parse_form(struct figure_form *form, const struct style_words *words, struct err *err)
{
    size_t mask = MASK_HATCH;
    for (size_t i = 0; i < words->mark_count; i++)
        if (parse_marks(form, words->marks[i], err))
            return -1;
    if (words->font && (!*words->font || strpbrk(words->font, "'\"\\,")))
        return err_usage(
            err, "--font: expected the name of a font family such as 'DejaVu Serif', found '%s'",
            words->font);
    form->font = words->font;
    const char *labels = form->panel_labels = words->panel_labels;
    const char *letter = labels ? letter_of(labels) : NULL;
    if (words->width && parse_width(form, words->width, err))
        return -1;
    if (labels && (!letter || letter_of(letter + 1) || strlen(labels) > AROUND_MAX))
        return err_usage(err,
                         "--panel-labels: expected a, A or 1 once, alone or as in (a), and at most "
                         "%d bytes, found '%s'",
                         AROUND_MAX, labels);
    if (find(&mask, "--mask", NAMES_LIST(figure_mask_names), words->mask, err) ||
        (words->tokens && parse_tokens(form, words->tokens, err)))
        return -1;
    form->mask = (enum figure_mask)mask;
    return 0;
}

/* --- all options ------------------------------------------------------------------------------ */

int style_read(struct style *style, const struct style_words *given, struct err *err)
{
    static const char *const ranges[] = {"all", "head", "row", "LOW:HIGH"};
    struct style_words own = *given, *words = &own;
    bool bounds = words->range && strchr(words->range, ':');
    size_t preset, scale, range, view, cells, palette;
    if (words->preset) { /* talk is the only preset */
        own.cells = own.cells ? own.cells : "heat";
        own.mask = own.mask ? own.mask : "triangle";
        style->title = style->title ? style->title : "";
        style->form.font_size = style->form.font_size > 0 ? style->form.font_size : FONT_SIZE_TALK;
    }
    if (find(&preset, "--style", NAMES_LIST(style_preset_names), words->preset, err) ||
        find(&scale, "--color-scale", NAMES_LIST(style_scale_names), words->scale, err) ||
        find(&range, "--range", NAMES_LIST(ranges), bounds ? NULL : words->range, err) ||
        (bounds && parse_bounds(&style->bounds, words->range, err)) ||
        find(&view, "--view", NAMES_LIST(style_view_names), words->view, err) ||
        find(&cells, "--cells", NAMES_LIST(style_cells_names), words->cells, err) ||
        find(&palette, "--palette", NAMES(palette_rows, palette_count), words->palette, err))
        return -1;
    style->scale = (enum style_scale)scale;
    style->range = (enum style_range)range; /* RANGE_ALL if the range was LOW:HIGH */
    style->range_given = words->range;
    style->view = words->view ? (enum style_view)(view + 1) : VIEW_FIT;
    style->cells = words->cells ? (enum style_cells)(cells + 1) : CELLS_FIT;
    style->palette = words->palette ? &palette_rows[palette] : NULL;
    return parse_form(&style->form, words, err);
}
