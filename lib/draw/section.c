/* section.c: lays out and draws a section: subtitle, panels (panel.c), axis titles, the colour bar
 * or legend below, and notes. Bar charts, line charts and running text have no panels. */
#include "base/language.h"
#include "draw/section.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "model/head_name.h"

/* --- fonts ------------------------------------------------------------------------------------ */

static const struct {
    double size, line;
} kinds[] = {
    [TYPE_TITLE] = {9.5, 15}, [TYPE_SUBTITLE] = {7.5, 15}, [TYPE_NAME] = {7, 11.25},
    [TYPE_NUMBER] = {6, 9},   [TYPE_TEXT] = {8.5, 14},
};

double type_size(const struct figure_form *form, enum type_kind kind)
{
    return form->font_size > 0 ? form->font_size : kinds[kind].size;
}

double type_line(const struct figure_form *form, enum type_kind kind)
{
    return kinds[kind].line * type_size(form, kind) / kinds[kind].size;
}

double section_line(const struct section *section, enum type_kind kind)
{
    return type_line(&section->style->form, kind);
}

struct font section_font(const struct section *section, enum type_kind kind, uint32_t hex)
{
    return (struct font){.size = type_size(&section->style->form, kind),
                         .colour = colour_of_hex(hex)};
}

/* True if the whole section has a single label, such as "(a)", before the subtitle. */
static bool has_own_label(const struct section *section)
{
    return section->style->form.panel_labels && (section->by_layer || section->kind >= KIND_TEXT);
}

double section_draw_label(const struct section *section, size_t panel, struct canvas *canvas,
                          struct point at)
{
    static const double bold = 1.16; /* width of bold letters relative to regular letters */
    struct font letters = section_font(section, TYPE_NAME, 0);
    char label[PANEL_LABEL_BYTES];
    letters.bold = true;
    figure_form_label(label, &section->style->form, section->first_label + panel);
    canvas->text(canvas, at, label, &letters);
    return bold * letters_width(label, letters.size) + letters.size / 2;
}

/* --- layout of panels ------------------------------------------------------------------------- */

enum { FITS = 5 };

static const double TALLEST = 520;
static const double NARROWEST = 228;
static const double FOOT_GAP = 2;
static const double LAYER_NAMES = 1.4; /* space for layer names, in line heights */
/* Space between panels in points: GAP, or GAP_OF_MANY if a row has more than MANY panels. */
static const double GAP = 9, GAP_OF_MANY = 4.875, MANY = 8;
static const double GAP_SHARE = 0.2;  /* in print, the largest gap as a share of a panel's width */
static const double PANEL_LEAST = 90; /* smallest width in points of panels that are side by side */
/* in print, the largest width of labels as a share of the section's width */
static const double LABELS_SHARE = 0.3;
static const double LINES_ALONE = 150, LINES_LARGEST = 11;
static const double CELL_LARGEST = 25, ROW_LARGEST = 15, TEXT_LARGEST = 44;
/* largest width of labels in points: with one panel, and with many */
static const double LABELS_ALONE = 110, LABELS_OF_MANY = 56;
/* If there are several panels, only axes with at least this pitch or this length, in points, have
 * labels. */
static const double LABELLED = 6.25, LABELLED_AXIS = 84;

/* Choose the number of panels per row: up to four side by side if they fit; else one to one and a
 * half times the square root of their number, with as few empty places in the last row as
 * possible. */
static size_t choose_across(const struct section *section)
{
    size_t panels = section->panels;
    size_t first = (size_t)ceil(sqrt((double)panels));
    size_t best = panels;
    size_t least = panels;
    if (panels <= 4 && section->limit >= PANEL_LEAST * (double)panels)
        return panels;
    for (size_t across = first; across <= first + first / 2; across++) {
        size_t blanks = (across - panels % across) % across;
        if (blanks < least) {
            least = blanks;
            best = across;
        }
    }
    return best;
}

/* Fit both axes of the panels. Cells of queries and keys are square, and lines have the same pitch
 * on both sides. */
static void fit(struct section *section, double across)
{
    const struct sheet *sheet = section->what.sheets;
    double least = 1.5 * section->style->form.font_size; /* smallest pitch of labelled rows */
    bool matrix = section->kind == KIND_MATRIX;
    bool shared = !matrix || strcmp(sheet->columns.name, "key") == 0;
    size_t most = shared ? num_max(sheet->rows.size, sheet->columns.size) : sheet->rows.size;
    double largest = fmax(matrix ? ROW_LARGEST : LINES_LARGEST, least);
    /* panels in a single row may grow to fit their labels */
    double tallest = section->panels == 1 ? TALLEST
                     : section->panels > section->across
                         ? across
                         : fmin(fmax(LABELLED * (double)sheet->rows.size, across), TALLEST);
    /* the largest side of a cell has room for a number */
    double cell = fmax(CELL_LARGEST, 2.5 * section->style->form.font_size);
    bool square = matrix && shared;
    double height = square ? fmin(across, TALLEST) : fmin(tallest, largest * (double)most);
    section->rows = axis_fit_cells(section, most, height, square ? cell : largest);
    section->columns = section->rows;
    section->rows.cells = axis_cells(sheet->rows.size, section->rows.step);
    section->columns.cells = axis_cells(sheet->columns.size, section->columns.step);
    if (!shared)
        section->columns = axis_fit_cells(section, sheet->columns.size, across,
                                          section->what.fills && section->panels == 1 ? across
                                          : sheet->display.texts                      ? TEXT_LARGEST
                                                                                      : cell);
}

/* Fit the labels of an axis. If there are several panels, the axis has labels only if its pitch or
 * length is large. */
static void fit_labels(const struct section *section, struct axis_fit *fit, const struct axis *axis,
                       bool columns)
{
    double limit = section->panels == 1 ? LABELS_ALONE : LABELS_OF_MANY;
    if (section_is_printed(section))
        limit = fmin(limit, LABELS_SHARE * section->limit);
    if (section->panels == 1 || fit->pitch >= LABELLED || axis_fit_length(fit) >= LABELLED_AXIS)
        axis_fit_labels(fit, axis, columns, limit, &section->style->form);
}

/* Lay out the panels within the section's limit: cells of one size, with labels if they are
 * legible. Labels and panel size depend on each other: small panels lose their labels. Two rounds
 * suffice; print needs more, as labels that extend beyond the last panel also count towards the
 * width. */
static void fit_panels(struct section *section)
{
    bool printed = section_is_printed(section);
    bool matrix = section->kind == KIND_MATRIX;
    size_t heads = section->what.heads / section->tracks;
    const struct sheet *sheet = section->what.sheets;
    double line = section_line(section, TYPE_NAME);
    double title = section->column_title ? line : 0;
    double left = (section->by_layer ? LAYER_NAMES * line : 0) + (section->row_title ? line : 0);
    double above = (section->by_layer ? line : 0) + (matrix ? title : 0);
    double share = 0;
    double right = 0, most = 0; /* `right`: space for labels right of the last panel */
    section->panels = section->what.layers * heads;
    section->across = section->by_layer ? heads : choose_across(section);
    double across = (double)section->across;
    double gap = across > MANY ? GAP_OF_MANY : GAP;
    if (printed)
        gap = fmin(gap, GAP_SHARE * section->limit / across);
    for (int i = 0; i <= (printed ? FITS : 1); i++) {
        most = fmax(most, right);
        double beside = left + axis_fit_snap(section->rows.depth) + most;
        share = (section->limit - beside + printed * gap) / across - gap;
        fit(section, share);
        fit_labels(section, &section->rows, &sheet->rows, false);
        fit_labels(section, &section->columns, &sheet->columns, matrix);
        right = matrix ? section->columns.over : section->columns.depth + title;
    }
    section->area.width = matrix                             ? axis_fit_length(&section->columns)
                          : section->panels == 1 && !printed ? LINES_ALONE
                                                             : share;
    section->area.height =
        fmax(axis_fit_length(&section->rows), matrix ? 0 : axis_fit_length(&section->columns));
    bool named = section->panels > 1 || section->style->form.panel_labels;
    section->area.y = named && !section->by_layer ? line : 0;
    section->left = axis_fit_snap(section->rows.depth) + left;
    section->top = section->head + (matrix ? axis_fit_snap(section->columns.depth) : 0) + above;
    section->panel_width = section->area.width + gap;
    section->panel_height = section->area.y + section->area.height + gap;
    section->width = section->left + across * section->panel_width + right;
    section->width = fmax(section->width, fmin(NARROWEST, section->limit));
    section->foot = section->top +
                    (double)axis_cells(section->panels, section->across) * section->panel_height +
                    FOOT_GAP;
}

/* --- running text, each token on the colour of its value -------------------------------------- */

static const double PAD = 1.5; /* width in points of the background on each side of a token */
static const double WORD_GAP = 2;

struct legend_word {
    const char *text;
    double x, width;
    size_t line;
};

/* Place the next token, after a gap if it begins a word; wrap if the line is full. */
static struct legend_word word_after(const struct legend_word *before,
                                     const struct section *section, size_t row)
{
    static const char blank[] = "␣";
    const struct sheet *sheet = section->what.sheets;
    double size = type_size(&section->style->form, TYPE_TEXT);
    const char *text = sheet->rows.labels[row].text;
    bool has_blank = strncmp(text, blank, sizeof blank - 1) == 0 && text[sizeof blank - 1];
    bool is_apart = has_blank || strcmp(sheet->rows.name, "word") == 0;
    struct legend_word word = {.text = text + (has_blank ? sizeof blank - 1 : 0),
                               .line = before->line};
    word.x = before->x + before->width + (is_apart && row ? WORD_GAP : 0);
    word.width = letters_width(word.text, size) + 2 * PAD;
    if (word.x > 0 && word.x + word.width > section->limit) {
        word.x = 0;
        word.line++;
    }
    return word;
}

static void fit_text(struct section *section)
{
    struct legend_word word = {.line = 0};
    double widest = 0;
    for (size_t row = 0; row < section->what.sheets->rows.size; row++) {
        word = word_after(&word, section, row);
        widest = fmax(widest, word.x + word.width);
    }
    section->width = section->area.width = widest;
    section->area.height = section_line(section, TYPE_TEXT) * (double)(word.line + 1);
    section->top = section->head;
    section->foot = section->top + section->area.height + GAP_OF_MANY;
}

static void draw_text(const struct section *section, struct canvas *canvas)
{
    const struct sheet *sheet = section->what.sheets;
    const double line = section_line(section, TYPE_TEXT);
    struct colour_norm norm = norm_of_sheet(&section->norms, sheet);
    struct legend_word word = {.line = 0};
    for (size_t row = 0; row < sheet->rows.size; row++) {
        struct font font = section_font(section, TYPE_TEXT, 0);
        unsigned level = norm_level(&norm, sheet_cell(sheet, row, 0));
        word = word_after(&word, section, row);
        double x = section->at.x + word.x;
        double y = section->at.y + section->top + line * (double)word.line;
        if (level) {
            canvas->rect(canvas, (struct box){x, y, word.width, line - 2},
                         section->ramp.colours[level]);
            font.colour = colour_ink(section->ramp.colours[level]);
        }
        canvas->text(canvas, (struct point){x + PAD, y + line - 5}, word.text, &font);
    }
}

/* --- bars for the values of largest magnitude, to either side of 0 ---------------------------- */

static const double PITCH = 12, THICK = 8, LONGEST = 220, SHORTEST = 4;
static const double NAMES_MOST = 190, NAME_GAP = 6, NUMBER_GAP = 3;
static const double ROUNDING = 1e-6;
/* in print, the largest width of names as a share of the section's width */
static const double NAMES_SHARE = 0.45;

struct bars {
    struct strongest strongest;
    const char *names[STRONGEST_MAX];
    char numbers[STRONGEST_MAX][NUMERAL_BYTES];
    double scale; /* length of a bar in points, per unit of its value */
    double zero;  /* x coordinate of 0 in the section */
    double pitch, thick;
};

/* True if a section shows one head of each layer, or tensors without heads. */
static bool has_one_head(const struct section *section)
{
    return section->what.heads == 1 && !section->what.listed;
}

static int fit_bars(struct section *section, struct arena *arena, struct err *err)
{
    const struct figure_form *form = &section->style->form;
    struct bars *bars = section->bars = arena_alloc(arena, 1, sizeof *bars, err);
    bool printed = section_is_printed(section);
    double most = printed ? NAMES_SHARE * section->limit : NAMES_MOST;
    double lowest = 0, highest = 0, number = 0; /* `number`: width of the widest number, including
                                                 * its gap */
    double size = type_size(form, TYPE_NAME) / 7;
    float values[STRONGEST_MAX];
    if (!bars)
        return -1;
    for (size_t i = 0; i < section->what.layers * section->what.heads; i++)
        strongest_add(&bars->strongest, &section->what.sheets[i]);
    size_t count = bars->strongest.count;
    for (size_t i = 0; i < count; i++) {
        struct buf text = {0};
        struct strong_cell cell = bars->strongest.cells[i];
        /* the subtitle shows the sheet's name, and the head, or else the layer, if there is only
         * one */
        cell.sheet.name = "";
        if (section->what.layers == 1 && has_one_head(section))
            cell.sheet.layer = cell.sheet.head = -1;
        strong_cell_name(&text, &cell);
        bars->names[i] = buf_keep(&text, arena, err);
        if (!bars->names[i])
            return -1;
        double width = letters_width(bars->names[i], type_size(form, TYPE_NAME));
        section->left = fmin(fmax(section->left, width), most);
        values[i] = bars->strongest.cells[i].value;
        lowest = fmin(lowest, values[i]);
        highest = fmax(highest, values[i]);
    }
    struct numeral numeral = numeral_of(values, count, NUMERAL_DIGITS);
    for (size_t i = 0; i < count; i++) {
        numeral_write(bars->numbers[i], numeral, values[i]);
        double width = letters_width(bars->numbers[i], type_size(form, TYPE_NUMBER));
        number = fmax(number, width + NUMBER_GAP);
    }
    double numbers = number * ((lowest < 0) + (highest > 0));
    double longest =
        printed ? fmax(section->limit - section->left - NAME_GAP - numbers, SHORTEST) : LONGEST;
    bars->scale = highest > lowest ? longest / (highest - lowest) : 0;
    bars->zero = section->left + NAME_GAP + (lowest < 0 ? number - lowest * bars->scale : 0);
    bars->pitch = PITCH * size;
    bars->thick = THICK * size;
    section->width = bars->zero + (highest > 0 ? highest * bars->scale + number : 0);
    section->height = section->head + bars->pitch * (double)count;
    return 0;
}

static void draw_bars(const struct section *section, struct canvas *canvas)
{
    static const struct pen pen = {{0x99, 0x99, 0x99}, 0.5, 1};
    const struct bars *bars = section->bars;
    struct point corner = {section->at.x, section->at.y + section->head};
    struct font name = section_font(section, TYPE_NAME, 0);
    struct font number = section_font(section, TYPE_NUMBER, 0x333333);
    double zero = corner.x + bars->zero;
    name.anchor = ANCHOR_END;
    for (size_t i = 0; i < bars->strongest.count; i++) {
        float value = bars->strongest.cells[i].value;
        bool above = value > 0;
        double y = corner.y + bars->pitch * (double)i;
        double length = fabs((double)value) * bars->scale;
        double base = y + bars->thick - 1;
        double end = above ? zero + length + NUMBER_GAP : zero - length - NUMBER_GAP;
        number.anchor = above ? ANCHOR_START : ANCHOR_END;
        canvas_text_fit(canvas, (struct point){corner.x + section->left, base}, bars->names[i],
                        section->left + ROUNDING, &name);
        canvas->rect(canvas, (struct box){above ? zero : zero - length, y, length, bars->thick},
                     section->ramp.colours[above ? RAMP_LEVELS * 5 / 6 : RAMP_LEVELS / 6]);
        canvas->text(canvas, (struct point){end, base}, bars->numbers[i], &number);
    }
    double end = corner.y + bars->pitch * (double)bars->strongest.count;
    canvas->path(canvas, (struct point[]){{zero, corner.y - 1}, {zero, end - 3}}, 2, &pen);
}

/* --- colour bar, or legend of an overlay ------------------------------------------------------ */

enum { TICKS_MAX = 16, NUMBER_BYTES = 32, STEPS = 64 };

static const double BAR_WIDTH = 138, BAR_HEIGHT = 6;
/* smallest width of the colour bar as a share of the section's width; its title may use the
 * remaining width */
static const double BAR_LEAST = 0.4;
/* space for a number at an end of the bar, "≤ -1.23e+07", in font sizes */
static const double END_ROOM = 3.3;
static const double TICK = 2;
/* distance between legend entries, and size of their marks, in font sizes */
static const double LEGEND_PITCH = 7, LEGEND_MARK = 1;
static const struct pen edge = {{0x99, 0x99, 0x99}, 0.4, 1};

/* A row of numbers below a colour bar, with their extents: a number that would overlap another is
 * omitted. */
struct tick_row {
    const struct section *section;
    struct canvas *canvas;
    struct box bar;
    double taken[TICKS_MAX][2];
    size_t count;
};

static void draw_tick(const struct tick_row *row, double share, const char *text)
{
    struct font font = section_font(row->section, TYPE_NUMBER, 0x333333);
    double x = row->bar.x + share * row->bar.width, below = row->bar.y + row->bar.height;
    struct stroke stroke = {{x, below}, {x, below + TICK}};
    struct point at = {x, below + section_line(row->section, TYPE_NUMBER)};
    font.anchor = ANCHOR_MIDDLE;
    row->canvas->strokes(row->canvas, &stroke, 1, false, &edge);
    row->canvas->text(row->canvas, at, text, &font);
}

static void put_tick(struct tick_row *row, double share, const char *sign, float value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%s%.3g", sign, (double)value);
    double half = letters_width(text, type_size(&row->section->style->form, TYPE_NUMBER)) / 2 + 1.5;
    double from = share * row->bar.width - half, to = from + 2 * half;
    for (size_t i = 0; i < row->count; i++)
        if (to > row->taken[i][0] && from < row->taken[i][1])
            return;
    if (row->count == TICKS_MAX)
        return;
    row->taken[row->count][0] = from;
    row->taken[row->count++][1] = to;
    draw_tick(row, share, text);
}

static void put_value(struct tick_row *row, double value)
{
    float tick = (float)value;
    put_tick(row, (double)norm_share(&row->section->norms.whole, tick), "", tick);
}

double nice_step(double whole)
{
    double power = pow(10, floor(log10(whole / 5)));
    double steps = whole / 5 / power;
    return power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
}

/* Write numbers at the ends of a colour bar, then at steps of 1, 2 or 5 times a power of ten. On a
 * logarithmic scale, write the four highest powers of ten, with both signs if there are negative
 * numbers, and 0. */
static void put_ticks(struct tick_row *row)
{
    const struct colour_norms *norms = &row->section->norms;
    struct extent ends = norm_ends(&norms->whole);
    double low = (double)ends.low, high = (double)ends.high;
    double most = fmax(-low, high);
    if (most <= 0)
        return;
    if (low < 0 || *norms_beyond(norms, false))
        put_tick(row, 0, norms_beyond(norms, false), ends.low);
    put_tick(row, 1, norms_beyond(norms, true), ends.high);
    if (norms->whole.scale == COLOURS_LOG) {
        double power = pow(10, floor(log10(most)));
        for (int i = 0; i < 4; i++, power /= 10) {
            put_value(row, power);
            if (low < 0)
                put_value(row, -power);
        }
        put_value(row, 0);
        return;
    }
    double step = nice_step(norms->whole.two_sided ? 2 * most : high - low);
    for (double i = ceil(low / step - 1e-9); i * step <= high * (1 + 1e-6); i++)
        put_value(row, i * step + 0.0); /* + 0.0 avoids -0 */
}

static void draw_bar(const struct section *section, struct canvas *canvas, struct box bar)
{
    unsigned char levels[STEPS];
    const struct cells cells = {.rows = 1, .columns = STEPS, .levels = levels};
    struct tick_row row = {.section = section, .canvas = canvas, .bar = bar};
    enum style_range range = section->style->range;
    bool two_sided = section->norms.whole.two_sided;
    for (size_t i = 0; i < STEPS; i++)
        levels[i] = (unsigned char)(1 + i * (RAMP_LEVELS - 2) / (STEPS - 1));
    canvas->cells(canvas, bar, &cells, &section->ramp);
    canvas->frame(canvas, bar, &edge);
    if (range == RANGE_ALL || (range == RANGE_HEAD && section->panels == 1)) {
        put_ticks(&row);
        return;
    }
    const char *language = section->style->language;
    const char *high =
        say(language, range == RANGE_ROW ? "highest of the row" : "highest of the head");
    if (two_sided)
        draw_tick(&row, 0.5, "0");
    draw_tick(&row, two_sided ? 1 : 0, two_sided ? say(language, "largest") : "0");
    draw_tick(&row, two_sided ? 0 : 1, two_sided ? say(language, "-largest") : high);
}

/* Return the number of legend entries per line, for curves or for the heads of an overlay; 0: no
 * legend. `*count`: number of entries; `*pitch`: width of an entry. */
static size_t legend_across(const struct section *section, size_t *count, double *pitch)
{
    const struct axis *curves = &section->what.sheets->columns;
    bool has_curves = section->kind == KIND_CURVES;
    double size = type_size(&section->style->form, TYPE_NUMBER);
    double width = section_is_printed(section) ? section->limit : section->width;
    *count = has_curves ? curves->size : section->tracks > 1 ? section->tracks : 0;
    *pitch = LEGEND_PITCH * size;
    for (size_t i = 0; has_curves && i < *count; i++)
        *pitch = fmax(*pitch, letters_width(curves->labels[i].text, size) + 3 * size);
    return num_min(num_max((size_t)(width / *pitch), 1), *count);
}

static void draw_legend(const struct section *section, struct canvas *canvas, struct point corner)
{
    const struct font font = section_font(section, TYPE_NUMBER, 0x333333);
    size_t count;
    double pitch, mark = LEGEND_MARK * font.size;
    size_t across = legend_across(section, &count, &pitch);
    bool curves = section->kind == KIND_CURVES;
    for (size_t i = 0; i < count; i++) {
        char head[HEAD_NAME_BYTES];
        double x = corner.x + pitch * (double)(i % across);
        double y = corner.y + section_line(section, TYPE_NUMBER) * (double)(i / across);
        const char *name = curves ? section->what.sheets->columns.labels[i].text : head;
        if (!curves)
            sheet_head_name(head, &section->what.sheets[i], section->style->language);
        canvas->rect(canvas, (struct box){x, y, mark, mark}, palette_line(i, count));
        canvas->text(canvas, (struct point){x + mark + 3, y + mark - 0.5}, name, &font);
    }
}

/* True if the section has a colour bar. False for curves, arrows and cells that show only numbers,
 * and if another section shows the bar. */
static bool has_bar(const struct section *section)
{
    return !section->what.barless && section->kind != KIND_CURVES && section->kind != KIND_ARROWS &&
           (section->kind != KIND_MATRIX || section->style->cells != CELLS_NUMBERS ||
            section->number_size <= 0);
}

static double height_of_scale(const struct section *section)
{
    size_t count;
    double pitch, line = section_line(section, TYPE_NUMBER);
    size_t across = legend_across(section, &count, &pitch);
    if (across)
        return line * (double)axis_cells(count, across);
    return has_bar(section) ? BAR_HEIGHT + line + 1 : 0;
}

/* Draw the colour bar, and its title as far as there is room. */
static void draw_scale(const struct section *section, struct canvas *canvas)
{
    const struct font font = section_font(section, TYPE_NUMBER, 0x333333);
    double left = section->left;
    double width = BAR_WIDTH;
    if (section_is_printed(section)) {
        left = fmax(left, END_ROOM * font.size);
        double limit = section->bar_limit - left;
        double title = letters_width(section->bar_title, font.size);
        width = fmin(BAR_WIDTH, fmax(BAR_LEAST * limit, limit - title - 2.1 * font.size));
    }
    struct box bar = {section->at.x + left, section->at.y + section->foot, width, BAR_HEIGHT};
    draw_bar(section, canvas, bar);
    double limit = section->bar_limit - (bar.x - section->at.x) - width - 2 * font.size;
    struct point at = {bar.x + width + 2 * font.size, bar.y + bar.height};
    if (limit > 2 * font.size)
        canvas_text_fit(canvas, at, section->bar_title, limit, &font);
}

/* --- notes ------------------------------------------------------------------------------------ */

static int make_notes(struct section *section, struct arena *arena, struct err *err)
{
    enum { NOTES = 8 };
    const char *notes[NOTES];
    size_t count = 0;
    const struct style *style = section->style;
    const struct figure_form *form = &style->form;
    bool lines = section->kind == KIND_LINES;
    bool wanted = style->cells == CELLS_NUMBERS || style->cells == CELLS_BOTH;
    bool numbers = section->number_size > 0;
    if (style->range == RANGE_HEAD && section->panels > 1)
        notes[count++] = say(style->language, "each head has its own range");
    if (style->range == RANGE_ROW)
        notes[count++] = say(style->language, "each row has its own range");
    if (section->rows.step > 1 || section->columns.step > 1)
        notes[count++] = arena_format(
            arena, err,
            say(style->language, lines ? "each line shows the largest of %zu × %zu numbers"
                                       : "each cell shows the largest of %zu × %zu numbers"),
            section->rows.step, section->columns.step);
    if (section->kind == KIND_MATRIX && section->what.sheets->display.beside_texts &&
        style->cells != CELLS_HEAT && !numbers)
        notes[count++] =
            say(style->language,
                "the cells are too small for token labels: --token-range A-B shows fewer tokens");
    else if (wanted && !numbers && (section->kind == KIND_MATRIX || section->kind == KIND_TEXT))
        notes[count++] = say(style->language, "the cells are too small for numbers");
    if (panel_blanks(section))
        notes[count++] = say(style->language, "numbers that round to 0 are left blank");
    if (lines)
        notes[count++] = arena_format(
            arena, err, say(style->language, "lines below %.0f %% of the scale are not drawn"),
            100 * LINES_LEAST);
    if (section->what.cropped)
        notes[count++] = arena_format(arena, err, say(style->language, "tokens %zu to %zu"),
                                      form->first_token, form->last_token);
    if (section->what.first_hidden)
        notes[count++] = say(style->language, "the first token is hidden");
    /* a note is one line on screen, and wrapped in print */
    struct letter_lines lines_of_notes = {.lines = section->notes,
                                          .count = section->note_count,
                                          .most = SECTION_NOTES_MAX,
                                          .width = section_is_printed(section) ? section->limit
                                                                               : INFINITY,
                                          .size = type_size(&style->form, TYPE_NUMBER)};
    for (size_t i = 0; i < count; i++)
        if (!notes[i] || letters_break(&lines_of_notes, notes[i], arena, err))
            return -1;
    section->note_count = lines_of_notes.count;
    return 0;
}

/* --- section ---------------------------------------------------------------------------------- */

/* Choose the kind of picture. Lines need attention from queries to keys, without negative
 * values. */
static enum section_kind choose_kind(const struct section *section)
{
    enum style_view view = section->style->view;
    if (section->what.sheets->display.curves && (view == VIEW_FIT || view == VIEW_LINES))
        return KIND_CURVES;
    if (section->what.sheets->display.running && view == VIEW_FIT)
        return KIND_TEXT;
    if (view == VIEW_BARS || (section->what.sheets->display.parts && view == VIEW_FIT))
        return KIND_BARS;
    if (view == VIEW_ARROWS && sheet_is_spatial(section->what.sheets))
        return KIND_ARROWS;
    bool is_attention =
        strcmp(section->what.sheets->columns.name, "key") == 0 && section->norms.found.low >= 0;
    return is_attention && (view == VIEW_LINES || view == VIEW_OVERLAY) ? KIND_LINES : KIND_MATRIX;
}

/* Append a subtitle like "weights · layer 3 · head 1 · rows: query, columns: key". */
static void describe(struct buf *text, const struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    bool matrix = section->kind == KIND_MATRIX;
    const char *language = section->style->language;
    char name[HEAD_NAME_BYTES];
    buf_text(text, section->what.attention ? say(language, section->what.attention)
                   : sheet->display.title  ? say(language, sheet->display.title)
                                           : sheet->name);
    if (style_is_untitled(section->style) || section->kind == KIND_CURVES)
        return;
    const bool one_head = has_one_head(section) && sheet->head >= 0;
    if (section->what.layers == 1 && sheet->layer >= 0 && !(one_head && sheet_names_head(sheet)))
        buf_format(text, say(language, " · layer %d"), sheet->layer);
    if (one_head && section->what.layers == 1)
        buf_format(text, " · %s", sheet_head_name(name, sheet, language));
    else if (one_head)
        buf_format(text, " · %s %d", say(language, sheet_head_word(sheet)), sheet->head);
    sheet_add_sharing(text, sheet, section->what.layers * section->what.heads, language);
    if (sheet->mean_of_layers)
        buf_text(text, say(language, " · mean of layers"));
    if (sheet->mean_of_heads)
        buf_format(text, say(language, " · mean of %ss"),
                   say(language, head_word(sheet->shared_by)));
    if (section->kind == KIND_BARS) {
        buf_format(text, say(language, " · the %zu farthest from 0%s"),
                   section->bars->strongest.count,
                   section->what.first_hidden ? say(language, ", without the first token") : "");
        return;
    }
    if (section->kind == KIND_TEXT) {
        buf_format(text, say(language, " · %s of every %s"), sheet->columns.labels[0].text,
                   say(language, sheet->rows.name));
        return;
    }
    buf_format(text,
               say(language, matrix                         ? " · rows: %s, columns: %s"
                             : section->kind == KIND_ARROWS ? " · arrows: %s, axes: %s"
                                                            : " · left: %s, right: %s"),
               say(language, sheet->rows.name), say(language, sheet->columns.name));
    sheet_add_joined(text, sheet, language);
    if (sheet->display.beside_texts)
        buf_format(text, say(language, ", colours: %s"), sheet->display.beside_texts);
}

static bool has_subtitle(const struct section *section)
{
    return !style_is_untitled(section->style) || section->what.attention;
}

static void name_axes(struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    bool has_axes = section->kind < KIND_ARROWS;
    /* if the figure has titles, the axes need none: the subtitle names rows and columns */
    if (has_axes && style_is_untitled(section->style)) {
        section->row_title = say(section->style->language, sheet->rows.name);
        section->column_title = say(section->style->language, sheet->columns.name);
    }
    if (section->kind == KIND_CURVES)
        section->row_title = say(section->style->language, sheet->name);
    section->bar_title = sheet->display.beside_texts ? sheet->display.beside_texts : sheet->name;
    if (section->kind == KIND_TEXT)
        section->bar_title = sheet->columns.labels[0].text;
    if (section->what.shares_bar) /* one colour bar serves all sections with attention
                                   * weights, such as self- and cross-attention */
        section->bar_title = say(section->style->language, "attention weights, all panels");
}

int section_plan(struct section *section, const struct style *style, double limit,
                 struct arena *arena, struct err *err)
{
    const struct figure_form *form = &style->form;
    const struct section_sheets *what = &section->what;
    struct buf text = {0};
    section->style = style;
    section->limit = limit;
    section->panels = section->across = section->rows.step = section->columns.step = 1;
    section->norms = norms_make(what->sheets, what->layers * what->heads, style);
    ramp_make(&section->ramp, section->norms.palette);
    section->kind = choose_kind(section);
    name_axes(section);
    section->tracks = section->kind == KIND_LINES && style->view == VIEW_OVERLAY ? what->heads : 1;
    section->by_layer = what->layers > 1 && what->heads > section->tracks;
    if (has_subtitle(section) || has_own_label(section))
        section->head = type_line(form, TYPE_SUBTITLE);
    if (section->kind == KIND_CURVES)
        curves_fit(section);
    else if (section->kind == KIND_ARROWS)
        arrows_fit(section);
    else if (section->kind == KIND_TEXT)
        fit_text(section);
    else if (section->kind != KIND_BARS)
        fit_panels(section);
    panel_fit_numbers(section);
    if (section->kind == KIND_BARS ? fit_bars(section, arena, err)
                                   : make_notes(section, arena, err))
        return -1;
    if (section->kind != KIND_BARS) { /* the colour bar and the notes are below the panels */
        double size = type_size(form, TYPE_NUMBER);
        double notes = section_line(section, TYPE_NUMBER) * (double)section->note_count;
        if (has_bar(section) && !section_is_printed(section))
            section->width = fmax(section->width, section->left + BAR_WIDTH + 2 * size +
                                                      letters_width(section->bar_title, size));
        section->height = section->foot + (height_of_scale(section) + notes + 3);
    }
    section->label_count = has_own_label(section) ? 1 : section->panels;
    section->height = axis_fit_snap(section->height);
    describe(&text, section);
    section->subtitle = buf_keep(&text, arena, err);
    if (section->subtitle && !section_is_printed(section) && has_subtitle(section))
        section->width =
            fmax(section->width, letters_width(section->subtitle, type_size(form, TYPE_SUBTITLE)));
    return section->subtitle ? 0 : -1;
}

void section_drop_notes(struct section *section, const struct section *other)
{
    size_t kept = 0;
    for (size_t i = 0; i < section->note_count; i++) {
        size_t same = 0;
        while (same < other->note_count && strcmp(section->notes[i], other->notes[same]) != 0)
            same++;
        if (same == other->note_count)
            section->notes[kept++] = section->notes[i];
    }
    section->height -= section_line(section, TYPE_NUMBER) * (double)(section->note_count - kept);
    section->height = axis_fit_snap(section->height);
    section->note_count = kept;
}

/* Draw the titles of the axes: the rows' title left of all panels, the columns' title above the
 * panels or, for lines, right of them. */
static void draw_axis_titles(const struct section *section, struct canvas *canvas)
{
    struct font font = section_font(section, TYPE_NAME, 0x111111);
    struct point corner = section->at;
    size_t down = axis_cells(section->panels, section->across);
    double width = section->area.width + section->panel_width * (double)(section->across - 1);
    double first = corner.y + section->top + section->area.y;
    double height = section->area.height + section->panel_height * (double)(down - 1);
    double start = corner.x + section->left;
    double line = section_line(section, TYPE_NAME);
    struct point left = {corner.x + font.size, first + height / 2};
    struct point above = {start + width / 2, corner.y + section->head + font.size};
    struct point right = {start + width + section->columns.depth + line - 2, left.y};
    bool matrix = section->kind == KIND_MATRIX;
    font.anchor = ANCHOR_MIDDLE;
    font.turn = -90;
    if (section->row_title)
        canvas_text_fit(canvas, left, section->row_title, height, &font);
    font.turn = matrix ? 0 : -90;
    if (section->column_title)
        canvas_text_fit(canvas, matrix ? above : right, section->column_title,
                        matrix ? width : height, &font);
}

void section_draw(const struct section *section, struct canvas *canvas)
{
    const struct font font = section_font(section, TYPE_SUBTITLE, 0x555555);
    double limit = section_is_printed(section) ? section->limit : 1e9;
    struct point at = {section->at.x, section->at.y + font.size};
    if (has_own_label(section))
        at.x += section_draw_label(section, 0, canvas, at);
    limit -= at.x - section->at.x;
    if (has_subtitle(section))
        canvas_text_fit(canvas, at, section->subtitle, limit, &font);
    if (section->kind == KIND_CURVES)
        curves_draw(section, canvas);
    if (section->kind == KIND_BARS) {
        draw_bars(section, canvas);
        return;
    }
    if (section->kind == KIND_TEXT)
        draw_text(section, canvas);
    for (size_t i = 0; section->kind < KIND_TEXT && i < section->panels; i++)
        panel_draw(section, i, canvas);
    draw_axis_titles(section, canvas);
    const struct font small = section_font(section, TYPE_NUMBER, 0x666666);
    struct point foot = {section->at.x, section->at.y + section->foot};
    if (section->kind == KIND_CURVES || section->tracks > 1)
        draw_legend(section, canvas, foot);
    else if (has_bar(section))
        draw_scale(section, canvas);
    foot.y += height_of_scale(section);
    for (size_t i = 0; i < section->note_count; i++) {
        double line = section_line(section, TYPE_NUMBER) * (double)(i + 1);
        canvas->text(canvas, (struct point){foot.x, foot.y + line}, section->notes[i], &small);
    }
}
