/* panel.c: draws a panel: cells or lines, with labels, names, borders and marks; fits axes to a
 * length. */
#include "base/language.h"
#include "draw/section.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "model/head_name.h"

static const double CAP = 0.36; /* half the height of a capital, relative to the font size */

/* --- axes ------------------------------------------------------------------------------------- */

static const double GRID = 0.375;    /* half a pixel, in points, at 96 pixels per inch */
static const double SMALLEST = 0.75; /* smallest size of a cell in points */
/* smallest font size of labels in points, unless a size is given */
static const double LABEL_LEAST = 5;
static const double LABEL_MOST = 7.5;
static const double LABEL_SHARE = 0.8; /* font size of labels relative to the pitch of cells */
static const double LABEL_GAP = 3;     /* distance in points between a label and its cell */
static const double LINE = 1.15;       /* line height relative to the font size */

enum { CELLS_MAX = 512, POSITION_BYTES = 24 };

size_t axis_cells(size_t size, size_t step)
{
    return step ? (size + step - 1) / step : 0;
}

double axis_fit_snap(double length)
{
    return ceil(length / GRID) * GRID;
}

struct axis_fit axis_fit_cells(const struct section *section, size_t size, double length,
                               double largest)
{
    double limit = fmax(fmin(floor(length / SMALLEST), CELLS_MAX), 1);
    struct axis_fit fit = {.step = axis_cells(size, (size_t)limit)};
    fit.cells = axis_cells(size, fit.step);
    if (section_is_printed(section)) {
        fit.pitch = fmin(fmax(length, SMALLEST) / (double)fit.cells, length);
        return fit;
    }
    fit.pitch = fmax(floor(fmin(length / (double)fit.cells, largest) / GRID) * GRID, GRID);
    return fit;
}

/* Return the index of the first position of an axis that has a label; the size of the axis if it
 * has no labels. */
static size_t first_label(const struct axis *axis, const struct axis_fit *fit)
{
    size_t first = axis->first > 0 ? (size_t)axis->first : 0; /* number of the first position */
    if (fit->size > 0 && fit->every > 1)
        return axis_cells(first, fit->every) * fit->every - (size_t)axis->first;
    return fit->size > 0 ? 0 : axis->size;
}

bool axis_is_numbered(const struct axis *axis, const struct axis_fit *fit)
{
    return fit->size > 0 && fit->every > 1 && strcmp(axis->labels->text, axis->labels->exact) != 0;
}

/* Return the label of a position; if not all labels are shown, and the label has another exact
 * form, return the position's number. `*middle` gets the coordinate of the centre of the position's
 * cell along the axis. */
static const char *label_at(char number[POSITION_BYTES], double *middle, const struct axis *axis,
                            const struct axis_fit *fit, size_t index)
{
    const struct label *label = &axis->labels[index];
    *middle = fit->pitch * ((double)(index / fit->step) + 0.5);
    snprintf(number, POSITION_BYTES, "%td", axis_number(axis, index));
    return fit->every == 1 || strcmp(label->text, label->exact) == 0 ? label->text : number;
}

static double widest(const struct axis *axis, const struct axis_fit *fit)
{
    char number[POSITION_BYTES];
    double middle, most = 0;
    for (size_t i = first_label(axis, fit); i < axis->size; i += fit->every)
        most = fmax(most, letters_width(label_at(number, &middle, axis, fit, i), fit->size));
    return most;
}

/* Choose the smallest `every` for which neighbouring labels are at least `apart` points apart. */
static void thin_out(struct axis_fit *fit, double apart)
{
    static const size_t steps[] = {1, 2, 5};
    double least = apart / fit->pitch * (double)fit->step;
    size_t power = 1;
    fit->every = 1;
    if (fit->pitch >= apart && fit->step == 1)
        return;
    for (size_t i = 0; (double)fit->every < least || fit->every < fit->step; i++) {
        power *= i && i % 3 == 0 ? 10 : 1;
        fit->every = steps[i % 3] * power;
    }
}

void axis_fit_labels(struct axis_fit *fit, const struct axis *axis, bool columns, double limit,
                     const struct figure_form *form)
{
    double own = fmin(fmax(LABEL_SHARE * fit->pitch, LABEL_LEAST), LABEL_MOST);
    fit->size = form->font_size > 0 ? form->font_size : own;
    fit->every = 1;
    double line = LINE * fit->size, width = widest(axis, fit);
    const struct label *first = axis->labels;
    bool numbers = columns && axis->size > 0 && !first->text[strspn(first->text, "0123456789")] &&
                   strcmp(first->text, first->exact) == 0;
    bool level = columns && (width + fmax(2, fit->size / 4) <= fit->pitch || numbers);
    thin_out(fit, level ? width + (numbers ? 4 : 2) : line);
    /* if only some of the labels are shown, they are usually numbers, which are drawn level */
    if (columns && !level && fit->every > 1) {
        thin_out(fit, widest(axis, fit) + 4);
        level = true;
    }
    fit->label = fmin(widest(axis, fit), limit - LABEL_GAP);
    fit->depth = width = fit->label + LABEL_GAP;
    if (!columns)
        return;
    fit->turn = level ? 0 : fit->pitch >= line / SLANT ? -45 : -90;
    /* on screen, the margin has room for the last label */
    if (fit->turn == -90 || (level && form->width <= 0)) {
        fit->depth = level ? line : fit->depth;
        return;
    }
    char number[POSITION_BYTES];
    double middle, most = axis_fit_length(fit); /* `most`: farthest end of a label or cell */
    for (size_t i = first_label(axis, fit); i < axis->size; i += fit->every) {
        double label = letters_width(label_at(number, &middle, axis, fit, i), fit->size);
        double reach = level ? label / 2 : SLANT * fmin(label, width) + fit->size / 2;
        most = fmax(most, middle + reach);
    }
    fit->depth = level ? line : SLANT * width + fit->size / 2;
    fit->over = most - axis_fit_length(fit);
}

void axis_draw(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
               struct point corner, enum axis_side side)
{
    bool rows = side == AXIS_LEFT || side == AXIS_RIGHT, level = !rows && fit->turn == 0;
    /* labels end next to the cells instead of beginning there */
    bool ends = side == AXIS_LEFT || side == AXIS_BELOW;
    const struct font font = {.size = fit->size,
                              .colour = colour_of_hex(0x333333),
                              .turn = fit->turn,
                              .anchor = level  ? ANCHOR_MIDDLE
                                        : ends ? ANCHOR_END
                                               : ANCHOR_START};
    char number[POSITION_BYTES];
    double cap = CAP * fit->size, gap = LABEL_GAP, middle = 0;
    double sink = level ? 0 : fit->turn == -45 ? SLANT * CAP * fit->size : cap;
    double away = side == AXIS_BELOW ? gap + CAP * (level ? 2 : 1) * fit->size : level ? -2 : -gap;
    for (size_t i = first_label(axis, fit); i < axis->size; i += fit->every) {
        const char *label = label_at(number, &middle, axis, fit, i);
        struct point at = {corner.x + middle + sink, corner.y + away};
        if (rows)
            at = (struct point){corner.x + (ends ? -gap : gap), corner.y + middle + cap};
        canvas_text_fit(canvas, at, label, level ? 1e9 : fit->label, &font);
    }
}

/* --- cells ------------------------------------------------------------------------------------ */

int cells_make(struct cells *cells, const struct section *section, const struct sheet *sheet,
               struct arena *arena, struct err *err)
{
    const struct axis_fit *rows = &section->rows, *columns = &section->columns;
    *cells = (struct cells){.rows = rows->cells, .columns = columns->cells};
    cells->levels = arena_alloc(arena, cells->rows, cells->columns, err);
    cells->values = arena_alloc(arena, cells->rows * cells->columns, sizeof *cells->values, err);
    if (!cells->levels || !cells->values)
        return -1;
    struct colour_norm norm = norm_of_sheet(&section->norms, sheet);
    /* the level of the value 0 or, on a one-sided scale, of the minimum */
    int zero = norm.two_sided ? RAMP_LEVELS / 2 : 1;
    for (size_t r = 0; r < sheet->rows.size; r++) {
        if (section->norms.range == RANGE_ROW)
            norm = norm_of_row(&section->norms, sheet, r);
        for (size_t c = 0; c < sheet->columns.size; c++) {
            size_t cell = r / rows->step * cells->columns + c / columns->step;
            int before = cells->levels[cell];
            int level = (int)norm_level(&norm, sheet_cell(sheet, r, c));
            if (level == 0 || sheet_hides(sheet, r, c) ||
                (before && abs(level - zero) <= abs(before - zero)))
                continue;
            cells->levels[cell] = (unsigned char)level;
            cells->values[cell] = sheet_cell(sheet, r, c);
        }
    }
    return 0;
}

static const double NUMBER_LEAST = 5; /* smallest font size in points of numbers in print */
static const double TEXT_LEAST = 14;  /* smallest width in points of cells with words */
static const double HATCHED = 60;     /* smallest side in points of a hatched area; smaller areas
                                       * are grey */

void panel_fit_numbers(struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    struct extent extent = section->norms.found;
    float largest = fmaxf(-extent.low, extent.high);
    double most = type_size(&section->style->form, TYPE_NUMBER);
    double least = fmin(most, section_is_printed(section) ? NUMBER_LEAST : most);
    double size = fmin(most, section->rows.pitch - 3);
    char low[NUMERAL_BYTES], high[NUMERAL_BYTES];
    section->numeral.digits = sheet->display.whole ? 0 : largest < 10 ? 2 : largest < 100 ? 1 : 0;
    numeral_write(low, section->numeral, extent.low);
    numeral_write(high, section->numeral, extent.high);
    double widest_number = fmax(letters_width(low, 1), letters_width(high, 1));
    if (!sheet->display.texts)
        size = fmin(size, (section->columns.pitch - 2.5) / widest_number);
    bool fits = size >= least && (!sheet->display.texts || section->columns.pitch >= TEXT_LEAST);
    bool tells = sheet->display.texts || largest >= 0.1f || largest == 0;
    bool single = section->rows.step == 1 && section->columns.step == 1;
    if (fits && tells && single && section->style->cells != CELLS_HEAT && extent.low <= extent.high)
        section->number_size = size;
}

static bool display_zero(const struct section *section, float value)
{
    char number[NUMERAL_BYTES];
    numeral_write(number, section->numeral, value);
    return isfinite(value) && !number[strspn(number, "-0.")];
}

bool panel_blanks(const struct section *section)
{
    const struct sheet *sheet = section->what.sheets, *end = sheet + section->panels;
    bool tells = section->style->form.mask == MASK_HATCH || !sheet->visible;
    bool may = section->kind == KIND_MATRIX && section->style->cells != CELLS_NUMBERS && tells &&
               sheet->columns.size > 1 && section->number_size > 0 && !sheet->display.whole &&
               !sheet->display.texts && section->norms.found.low < section->norms.found.high;
    for (; may && sheet < end; sheet++)
        for (size_t r = 0; r < sheet->rows.size; r++)
            for (size_t c = 0; c < sheet->columns.size; c++)
                if (!sheet_hides(sheet, r, c) && display_zero(section, sheet_cell(sheet, r, c)))
                    return true;
    return false;
}

static void draw_numbers(const struct section *section, const struct sheet *sheet,
                         const struct cells *cells, struct canvas *canvas, struct box area)
{
    struct font font = {.size = section->number_size, .anchor = ANCHOR_MIDDLE};
    bool heat = section->style->cells != CELLS_NUMBERS, blanks = panel_blanks(section);
    char number[NUMERAL_BYTES];
    for (size_t r = 0; r < sheet->rows.size; r++) {
        for (size_t c = 0; c < sheet->columns.size; c++) {
            unsigned level = cells->levels[r * cells->columns + c];
            struct point at = {area.x + section->columns.pitch * ((double)c + 0.5),
                               area.y + section->rows.pitch * ((double)r + 0.5) + CAP * font.size};
            if (level == 0 || sheet_hides(sheet, r, c))
                continue;
            font.colour = colour_ink(heat ? section->ramp.colours[level] : colour_of_hex(0xffffff));
            numeral_write(number, section->numeral, sheet_cell(sheet, r, c));
            const char *text = sheet_text(sheet, r, c);
            if (blanks && display_zero(section, sheet_cell(sheet, r, c)))
                continue;
            canvas_text_fit(canvas, at, text ? text : number, section->columns.pitch, &font);
        }
    }
}

static void draw_heat(const struct section *section, const struct sheet *sheet,
                      struct canvas *canvas, struct box area)
{
    struct arena arena = {0};
    struct cells cells;
    bool numbers = section->number_size > 0;
    if (!sheet->rows.size)
        return;
    bool failed = cells_make(&cells, section, sheet, &arena, canvas->err);
    if (!failed && (section->style->cells != CELLS_NUMBERS || !numbers)) {
        /* masked cells are hatched before the other cells are drawn */
        bool masked = section->style->form.mask == MASK_HATCH;
        if (masked && fmin(area.width, area.height) < HATCHED)
            canvas->rect(canvas, area, colour_of_hex(0xececec));
        else if (masked)
            canvas_hatch(canvas, area);
        canvas->cells(canvas, area, &cells, &section->ramp);
    }
    if (numbers && !failed)
        draw_numbers(section, sheet, &cells, canvas, area);
    arena_release(&arena);
}

/* --- attention as lines from queries (left) to keys (right) ----------------------------------- */

enum { PENS = 16 }; /* number of classes of weights; all lines of a class have the same pen */

static const double THINNEST = 0.3, WIDEST = 1.9;
static const double TRACKS = 0.7; /* share of the pitch of rows over which an overlay spreads the
                                   * lines of its heads */

/* Collect the lines of one head whose weights are in one class. In an overlay, each head is shifted
 * a little, so lines of heads with the same attention do not hide each other. */
static size_t collect(struct stroke *strokes, const struct section *section,
                      const struct cells *cells, struct box area, size_t head, unsigned pen)
{
    double pitch = section->rows.pitch;
    double least = LINES_LEAST * RAMP_LEVELS;
    size_t count = 0;
    area.y += TRACKS * pitch * (((double)head + 0.5) / (double)section->tracks - 0.5);
    for (size_t r = 0; r < cells->rows; r++) {
        for (size_t c = 0; c < cells->columns; c++) {
            unsigned level = cells->levels[r * cells->columns + c];
            if (level < least || level * PENS / RAMP_LEVELS != pen)
                continue;
            strokes[count++] = (struct stroke){
                {area.x, area.y + pitch * ((double)r + 0.5)},
                {area.x + area.width, area.y + pitch * ((double)c + 0.5)},
            };
        }
    }
    return count;
}

/* Choose the pen for a class of lines. A single head uses the palette's colours. In an overlay each
 * head has its own colour and thin lines: lines of several heads fit side by side. */
static struct pen choose_pen(const struct section *section, size_t head, unsigned pen)
{
    double share = (pen + 0.5) / PENS;
    double slim = fmin(section->rows.pitch / 8, 1);
    struct pen chosen = {.width = slim * (THINNEST + share * (WIDEST - THINNEST)), .opacity = 1};
    if (section->tracks > 1) {
        double track = TRACKS * section->rows.pitch / (double)section->tracks;
        chosen.width = fmin(chosen.width, fmax(track, THINNEST));
        chosen.colour = palette_line(head, section->tracks);
        chosen.opacity = 0.1 + 0.75 * share;
    } else {
        chosen.colour = section->ramp.colours[(unsigned)(share * (RAMP_LEVELS - 1))];
    }
    return chosen;
}

/* Draw the lines of all heads, strong lines last, over weak lines. In an overlay, `sheets` contains
 * a sheet for each head. */
static void draw_lines(const struct section *section, const struct sheet *sheets,
                       struct canvas *canvas, struct box area)
{
    struct arena arena = {0};
    size_t heads = section->tracks;
    size_t most = section->rows.cells * section->columns.cells; /* maximum number of lines of a
                                                                 * head */
    struct cells *cells = arena_alloc(&arena, heads, sizeof *cells, canvas->err);
    struct stroke *strokes = arena_alloc(&arena, most, sizeof *strokes, canvas->err);
    for (size_t head = 0; head < heads && !canvas->err->kind; head++)
        cells_make(&cells[head], section, &sheets[head], &arena, canvas->err);
    for (size_t i = 0; i < PENS * heads && !canvas->err->kind; i++) {
        unsigned rank = (unsigned)(i / heads);
        size_t count = collect(strokes, section, &cells[i % heads], area, i % heads, rank);
        struct pen pen = choose_pen(section, i % heads, rank);
        if (count)
            canvas->strokes(canvas, strokes, count, false, &pen);
    }
    arena_release(&arena);
}

/* --- names, borders and marks ----------------------------------------------------------------- */

enum { NAME_BYTES = 64 };

static const struct pen panel_border = {{0xbb, 0xbb, 0xbb}, 0.5, 1};
static const double NAME_GAP = 3;

struct spot {
    size_t row, column;
    struct box area;           /* area of the panel's cells or lines */
    const struct sheet *sheet; /* sheet of the panel; in an overlay, of the first head */
};

/* Draw the label of a panel, such as "(a)", and, if there are several panels, "layer 3" or "L0H1",
 * above any column labels. If each head has its own range, also draw the largest magnitude. */
static void draw_name(const struct section *section, const struct spot *spot, size_t index,
                      struct canvas *canvas)
{
    char name[NAME_BYTES], head[HEAD_NAME_BYTES];
    const struct font font = section_font(section, TYPE_NAME, 0x111111);
    bool printed = section_is_printed(section);
    bool labelled = spot->row == 0 && section->kind == KIND_MATRIX;
    struct point at = {spot->area.x,
                       spot->area.y - (labelled ? section->columns.depth : 0) - NAME_GAP};
    if (section->style->form.panel_labels)
        at.x += section_draw_label(section, index, canvas, at);
    if (section->panels == 1)
        return;
    bool heads = section->what.layers == 1 && section->tracks == 1;
    int number = heads ? spot->sheet->head : spot->sheet->layer;
    const char *language = section->style->language;
    double limit = section->panel_width - NAME_GAP;
    bool named = heads || section->what.listed;
    int size = named
                   ? snprintf(name, NAME_BYTES, "%s", sheet_head_name(head, spot->sheet, language))
                   : snprintf(name, NAME_BYTES, "%s %d", say(language, "layer"), number);
    if (letters_width(name, font.size) > limit && !section->what.listed)
        size = snprintf(name, NAME_BYTES, "%d", number);
    struct extent extent = extent_of_sheet(spot->sheet);
    if (section->style->range == RANGE_HEAD && section->tracks == 1 && size > 0)
        snprintf(name + size, (size_t)(NAME_BYTES - size), say(language, " · up to %.2g"),
                 (double)fmaxf(-extent.low, extent.high));
    limit -= at.x - spot->area.x;
    canvas_text_fit(canvas, at, name, printed ? limit : 1e9, &font);
}

/* In a grid of panels, write the numbers of heads above the first row, and the numbers of layers
 * left of the first column. */
static void draw_names_of_grid(const struct section *section, const struct spot *spot,
                               struct canvas *canvas)
{
    char name[NAME_BYTES];
    struct font font = section_font(section, TYPE_NAME, 0x111111);
    struct box area = spot->area;
    bool printed = section_is_printed(section);
    font.anchor = ANCHOR_MIDDLE;
    if (spot->row == 0) {
        double labels = section->kind == KIND_MATRIX ? section->columns.depth : 0;
        int head = spot->sheet->head;
        snprintf(name, sizeof name, "%s %d",
                 say(section->style->language, sheet_head_word(spot->sheet)), head);
        if (spot->column || (printed && letters_width(name, font.size) > area.width))
            snprintf(name, sizeof name, "%d", head);
        canvas->text(canvas, (struct point){area.x + area.width / 2, area.y - labels - NAME_GAP},
                     name, &font);
    }
    if (spot->column == 0) {
        bool whole = !spot->row && (!printed || letters_width("layer 0", font.size) <= area.height);
        struct point at = {area.x - section->rows.depth - NAME_GAP, area.y + area.height / 2};
        font.turn = -90;
        snprintf(name, sizeof name, whole ? say(section->style->language, "layer %d") : "%d",
                 spot->sheet->layer);
        canvas->text(canvas, at, name, &font);
    }
}

/* Frame all cells or, for MASK_TRIANGLE in a causal sheet, only the cells that the mask shows. */
static void draw_border(const struct section *section, const struct spot *spot,
                        struct canvas *canvas)
{
    struct box area = spot->area;
    struct point points[2 * CELLS_MAX + 3];
    size_t count = 0;
    if (section->style->form.mask != MASK_TRIANGLE || !spot->sheet->causal ||
        spot->sheet->rows.numbers) {
        canvas->frame(canvas, area, &panel_border);
        return;
    }
    for (size_t row = 0; row < section->rows.cells; row++) {
        double right =
            area.x + section->columns.pitch * (double)num_min(row + 1, section->columns.cells);
        double top = area.y + section->rows.pitch * (double)row;
        points[count++] = (struct point){right, top};
        points[count++] = (struct point){right, top + section->rows.pitch};
    }
    points[count++] = (struct point){area.x, area.y + area.height};
    points[count++] = (struct point){area.x, area.y};
    points[count++] = points[0];
    canvas->path(canvas, points, count, &panel_border);
}

/* Separate the two texts of a pair: in a matrix by a line across each axis, among lines by a line
 * from the first query of the second text to its first key. */
static void draw_second(const struct section *section, const struct spot *spot,
                        struct canvas *canvas)
{
    struct box area = spot->area;
    size_t row = spot->sheet->rows.second, column = spot->sheet->columns.second;
    bool matrix = section->kind == KIND_MATRIX;
    const struct pen pen = {colour_of_hex(matrix ? 0x444444 : 0x999999), 0.75, 1};
    double down = section->rows.pitch * (double)axis_cells(row, section->rows.step);
    double across = section->columns.pitch * (double)axis_cells(column, section->columns.step);
    double end = matrix ? down : across;
    struct stroke lines[] = {
        {{area.x, area.y + down}, {area.x + area.width, area.y + end}},
        {{area.x + across, area.y}, {area.x + across, area.y + area.height}},
    };
    if (row && (matrix || column))
        canvas->strokes(canvas, lines, 1, true, &pen);
    if (column && matrix)
        canvas->strokes(canvas, lines + 1, 1, true, &pen);
}

bool cell_is_marked(const struct cell_mark *mark, const struct sheet *sheet)
{
    return (mark->layer < 0 || mark->layer == sheet->layer) &&
           (mark->head < 0 || mark->head / (int)num_max(sheet->shared_by, 1) == sheet->head) &&
           axis_index(&sheet->rows, mark->row) < sheet->rows.size &&
           axis_index(&sheet->columns, mark->column) < sheet->columns.size;
}

/* Frame the marked cells, inside their edges unless cells are very small. */
static void draw_marks(const struct section *section, const struct spot *spot,
                       struct canvas *canvas)
{
    /* smallest side of a frame in points, in a matrix of small cells */
    static const double least = 3;
    const struct figure_form *form = &section->style->form;
    for (size_t i = 0; i < form->mark_count; i++) {
        const struct cell_mark *mark = &form->marks[i];
        if (!cell_is_marked(mark, spot->sheet))
            continue;
        double width = fmin(1.2, section->rows.pitch / 5);
        struct pen pen = {{0xd9, 0x48, 0x01}, width, 1};
        size_t row = axis_index(&spot->sheet->rows, mark->row) / section->rows.step;
        size_t column = axis_index(&spot->sheet->columns, mark->column) / section->columns.step;
        struct box box = {spot->area.x + section->columns.pitch * (double)column + width / 2,
                          spot->area.y + section->rows.pitch * (double)row + width / 2,
                          fmax(section->columns.pitch - width, least),
                          fmax(section->rows.pitch - width, least)};
        box.x = fmin(box.x, spot->area.x + spot->area.width - box.width);
        box.y = fmin(box.y, spot->area.y + spot->area.height - box.height);
        canvas->frame(canvas, box, &pen);
    }
}

/* Draw a panel. Row labels are left of the first panel of each row. Column labels are above the
 * first row of panels or, for lines, right of the last panel of each row. */
void panel_draw(const struct section *section, size_t index, struct canvas *canvas)
{
    char title[SHEET_NAME_BYTES];
    struct spot spot = {
        .row = index / section->across,
        .column = index % section->across,
        .area = section->area,
        .sheet = &section->what.sheets[index * section->tracks],
    };
    bool last = spot.column + 1 == section->across || index + 1 == section->panels;
    spot.area.x += section->at.x + section->left + (double)spot.column * section->panel_width;
    spot.area.y += section->at.y + section->top + (double)spot.row * section->panel_height;
    canvas->open(canvas, sheet_title(title, spot.sheet));
    if (section->by_layer)
        draw_names_of_grid(section, &spot, canvas);
    else if (section->panels > 1 || section->style->form.panel_labels)
        draw_name(section, &spot, index, canvas);
    if (section->kind == KIND_ARROWS) {
        arrows_draw(section, spot.sheet, canvas, spot.area);
        canvas->close(canvas);
        return;
    }
    struct point corner = {spot.area.x, spot.area.y};
    struct point end = {corner.x + spot.area.width, corner.y};
    if (spot.column == 0)
        axis_draw(canvas, &spot.sheet->rows, &section->rows, corner, AXIS_LEFT);
    if (section->kind == KIND_MATRIX && spot.row == 0)
        axis_draw(canvas, &spot.sheet->columns, &section->columns, corner, AXIS_ABOVE);
    else if (section->kind == KIND_LINES && last)
        axis_draw(canvas, &spot.sheet->columns, &section->columns, end, AXIS_RIGHT);
    if (section->kind == KIND_MATRIX) {
        draw_heat(section, spot.sheet, canvas, spot.area);
        draw_marks(section, &spot, canvas);
        draw_border(section, &spot, canvas);
    } else {
        draw_lines(section, spot.sheet, canvas, spot.area);
    }
    draw_second(section, &spot, canvas);
    canvas->close(canvas);
}
