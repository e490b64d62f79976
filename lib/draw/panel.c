#include "draw/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/num.h"

/* --- cells ------------------------------------------------------------------------------------ */

/* The one of two levels that is farther from the ramp's quiet end: its start, or its middle. */
static unsigned char louder(unsigned a, unsigned b, bool two_sided)
{
    int quiet = two_sided ? RAMP_LEVELS / 2 : 1;
    if (a == 0 || b == 0)
        return (unsigned char)(a | b);
    return (unsigned char)(abs((int)b - quiet) > abs((int)a - quiet) ? b : a);
}

static void add_row(struct cells *cells, const struct sheet *sheet, size_t row,
                    const struct tone *tone)
{
    size_t first = row / cells->row_step * cells->columns;
    unsigned char *levels = cells->levels + first;
    float *values = cells->values + first;
    for (size_t c = 0; c < sheet->columns.size; c++) {
        if (sheet_hides(sheet, row, c))
            continue;
        unsigned char *level = &levels[c / cells->column_step];
        unsigned char before = *level;
        *level = louder(before, tone_level(tone, sheet_cell(sheet, row, c)), tone->two_sided);
        if (*level != before)
            values[c / cells->column_step] = sheet_cell(sheet, row, c);
    }
}

int cells_make(struct cells *cells, const struct sheet *sheet, const struct tones *tones,
               struct cell_room room, struct arena *arena, struct err *err)
{
    struct tone tone = tone_of_sheet(tones, sheet);
    *cells = (struct cells){
        .row_step = cells_step(sheet->rows.size, room.rows),
        .column_step = cells_step(sheet->columns.size, room.columns),
    };
    cells->rows = cells_count(sheet->rows.size, cells->row_step);
    cells->columns = cells_count(sheet->columns.size, cells->column_step);
    cells->levels = arena_alloc(arena, cells->rows, cells->columns, err);
    cells->values = arena_alloc(arena, cells->rows * cells->columns, sizeof *cells->values, err);
    if (!cells->levels || !cells->values)
        return -1;
    for (size_t row = 0; row < sheet->rows.size; row++) {
        if (tones->range == RANGE_ROW)
            tone = tone_of_row(tones, sheet, row);
        add_row(cells, sheet, row, &tone);
    }
    return 0;
}

enum { NUMBER_BYTES = 64 }; /* the longest float32 with its decimals has 45 */

static const double NUMBER_LEAST = 5; /* in print, where the figure's letters have no room */
static const double TEXT_LEAST = 14;  /* a narrower cell has no room for words */
static const double HATCHED = 60;     /* in smaller pictures a hatching would be all one sees */
static const uint32_t EMPTY = 0xececec;
static const double CAP = 0.36; /* half the height of a digit, of its size */

static void write_number(char text[NUMBER_BYTES], float value, int decimals)
{
    snprintf(text, NUMBER_BYTES, "%.*f", decimals, num_shown((double)value, decimals));
}

/* The size of letters at which the widest number, the lowest or the highest, has room; 0: none. */
static double number_size(const struct section *section, int decimals)
{
    double most = type_size(&section->style->form, TYPE_NUMBER);
    double least = fmin(most, section_is_printed(section) ? NUMBER_LEAST : most);
    double size = fmin(most, section->rows.pitch - 3);
    if (section->what.sheets->texts)
        return TEXT_LEAST <= section->columns.pitch && size >= least ? size : 0;
    char low[NUMBER_BYTES];
    char high[NUMBER_BYTES];
    struct extent extent = section->tones.found;
    write_number(low, extent.low, decimals);
    write_number(high, extent.high, decimals);
    double width = fmax(letters_width(low, 1), letters_width(high, 1));
    size = fmin(size, (section->columns.pitch - 2.5) / width);
    return size >= least ? size : 0;
}

/* Two decimals, fewer of large numbers; none where they do not fit or would all look like 0. */
bool panel_has_numbers(const struct section *section, int *decimals)
{
    struct extent extent = section->tones.found;
    float largest = fmaxf(-extent.low, extent.high);
    bool single = section->rows.step == 1 && section->columns.step == 1;
    *decimals = section->what.sheets->whole ? 0 : largest < 10 ? 2 : largest < 100 ? 1 : 0;
    bool tells = section->what.sheets->texts || largest >= 0.1f || largest == 0;
    return single && section->style->cells != CELLS_HEAT && extent.low <= extent.high && tells &&
           number_size(section, *decimals) > 0;
}

static int draw_numbers(const struct section *section, const struct sheet *sheet,
                        const struct cells *cells, struct canvas *canvas, struct box area,
                        struct err *err)
{
    int decimals = 0;
    struct lettering lettering = {.anchor = ANCHOR_MIDDLE};
    bool heat = section->style->cells != CELLS_NUMBERS;
    char text[NUMBER_BYTES];
    panel_has_numbers(section, &decimals);
    lettering.size = number_size(section, decimals);
    for (size_t r = 0; r < sheet->rows.size; r++) {
        for (size_t c = 0; c < sheet->columns.size; c++) {
            unsigned level = cells->levels[r * cells->columns + c];
            struct point at = {area.x + section->columns.pitch * ((double)c + 0.5),
                               area.y + section->rows.pitch * ((double)r + 0.5) +
                                   CAP * lettering.size};
            if (level == 0 || sheet_hides(sheet, r, c))
                continue;
            lettering.colour =
                colour_ink(heat ? section->ramp.colours[level] : colour_of_hex(0xffffff));
            write_number(text, sheet_cell(sheet, r, c), decimals);
            const char *said = sheet_text(sheet, r, c);
            if (canvas_text_fit(canvas, at, said ? said : text, section->columns.pitch, &lettering,
                                err))
                return -1;
        }
    }
    return 0;
}

/* What lies below cells, and is seen where there are none. */
static void draw_nothing(const struct section *section, struct canvas *canvas, struct box area)
{
    if (section->style->form.mask != MASK_HATCH)
        return;
    if (fmin(area.width, area.height) < HATCHED)
        canvas_rect(canvas, area, colour_of_hex(EMPTY));
    else
        canvas_hatch(canvas, area);
}

static int draw_heat(const struct section *section, const struct sheet *sheet,
                     struct canvas *canvas, struct box area, struct err *err)
{
    struct arena arena = {0};
    struct cells cells;
    int decimals = 0;
    struct cell_room room = {section->rows.cells, section->columns.cells};
    bool numbers = panel_has_numbers(section, &decimals);
    if (cells_make(&cells, sheet, &section->tones, room, &arena, err)) {
        arena_release(&arena);
        return -1;
    }
    if (section->style->cells != CELLS_NUMBERS || !numbers) {
        draw_nothing(section, canvas, area);
        canvas_cells(canvas, area, &cells, &section->ramp);
    }
    int failed = numbers && draw_numbers(section, sheet, &cells, canvas, area, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* --- what stands around them ------------------------------------------------------------------ */

enum { NAME_BYTES = 64 };

static const struct pen panel_border = {{0xbb, 0xbb, 0xbb}, 0.5, 1};
static const double NAME_GAP = 3;

/* Where a panel is among the others. */
struct spot {
    size_t row, column;
    struct box area;           /* of its cells or lines */
    const struct sheet *sheet; /* the first of an overlay's */
};

static struct spot spot_of(const struct section *section, size_t index, struct point corner)
{
    size_t sheets = section->kind == KIND_OVERLAY ? section->what.heads : 1;
    struct spot spot = {
        .row = index / section->across,
        .column = index % section->across,
        .area = section->area,
        .sheet = &section->what.sheets[index * sheets],
    };
    spot.area.x += corner.x + section->left + (double)spot.column * section->panel_width;
    spot.area.y += corner.y + section->top + (double)spot.row * section->panel_height;
    return spot;
}

/* "layer 3", "head 1": what tells the panels of a section apart; where each has its own range, its
 * largest number, too. */
static void name_panel(char name[NAME_BYTES], const struct section *section,
                       const struct sheet *sheet)
{
    bool heads = section->what.layers == 1 && section->kind != KIND_OVERLAY;
    int number = heads ? sheet->head : sheet->layer;
    int size = snprintf(name, NAME_BYTES, heads ? "head %d" : "layer %d", number);
    double room = section->panel_width - NAME_GAP;
    if (section_is_printed(section) &&
        letters_width(name, type_size(&section->style->form, TYPE_NAME)) > room)
        size = snprintf(name, NAME_BYTES, "%d", number);
    struct extent extent = extent_of_sheet(sheet);
    if (section->style->range == RANGE_HEAD && section->kind != KIND_OVERLAY && size > 0)
        snprintf(name + size, (size_t)(NAME_BYTES - size), " · up to %.2g",
                 (double)fmaxf(-extent.low, extent.high));
}

/* Above the labels where there are any. */
static int draw_name(const struct section *section, const struct spot *spot, size_t index,
                     struct canvas *canvas, struct err *err)
{
    char name[NAME_BYTES];
    const struct lettering letters = section_letters(section, TYPE_NAME, 0x111111);
    double room = section->panel_width - NAME_GAP;
    bool labelled = spot->row == 0 && section->kind == KIND_MATRIX;
    double y = spot->area.y - (labelled ? section->columns.room : 0) - NAME_GAP;
    name_panel(name, section, spot->sheet);
    double x = spot->area.x;
    if (section->style->form.panel_labels)
        x += section_draw_label(section, index, canvas, (struct point){x, y});
    if (section->panels == 1)
        return 0;
    room -= x - spot->area.x;
    return canvas_text_fit(canvas, (struct point){x, y}, name,
                           section_is_printed(section) ? room : 1e9, &letters, err);
}

/* The numbers of heads above the first row, those of layers beside the first column. */
static void draw_names_of_grid(const struct section *section, const struct spot *spot,
                               struct canvas *canvas)
{
    char name[NAME_BYTES];
    struct lettering lettering = section_letters(section, TYPE_NAME, 0x111111);
    struct box area = spot->area;
    lettering.anchor = ANCHOR_MIDDLE;
    if (spot->row == 0) {
        double labels = section->kind == KIND_MATRIX ? section->columns.room : 0;
        bool whole = !spot->column && (!section_is_printed(section) ||
                                       letters_width("head 0", lettering.size) <= area.width);
        snprintf(name, sizeof name, whole ? "head %d" : "%d", spot->sheet->head);
        canvas_text(canvas, (struct point){area.x + area.width / 2, area.y - labels - NAME_GAP},
                    name, &lettering);
    }
    if (spot->column == 0) {
        bool whole = !spot->row && (!section_is_printed(section) ||
                                    letters_width("layer 0", lettering.size) <= area.height);
        lettering.turn = -90;
        snprintf(name, sizeof name, whole ? "layer %d" : "%d", spot->sheet->layer);
        canvas_text(
            canvas,
            (struct point){area.x - section->rows.room - NAME_GAP, area.y + area.height / 2}, name,
            &lettering);
    }
}

/* Rows have labels beside the first panel, columns above the first; lines beside the last. */
static int draw_labels(const struct section *section, const struct spot *spot, bool last,
                       struct canvas *canvas, struct err *err)
{
    struct point corner = {spot->area.x, spot->area.y};
    struct point end = {corner.x + spot->area.width, corner.y};
    bool matrix = section->kind == KIND_MATRIX;
    if (spot->column == 0 &&
        axis_draw_rows(canvas, &spot->sheet->rows, &section->rows, corner, ANCHOR_END, err))
        return -1;
    if (matrix)
        return spot->row == 0 ? axis_draw_columns(canvas, &spot->sheet->columns, &section->columns,
                                                  corner, err)
                              : 0;
    return last ? axis_draw_rows(canvas, &spot->sheet->columns, &section->columns, end,
                                 ANCHOR_START, err)
                : 0;
}

/* Around all cells; or around those that can be seen alone, in steps. */
static int draw_border(const struct section *section, const struct spot *spot,
                       struct canvas *canvas, struct err *err)
{
    struct box area = spot->area;
    size_t rows = section->rows.cells;
    size_t count = 0;
    struct arena arena = {0};
    if (section->style->form.mask != MASK_TRIANGLE || !spot->sheet->causal) {
        canvas_frame(canvas, area, &panel_border);
        return 0;
    }
    struct point *points = arena_alloc(&arena, 2 * rows + 3, sizeof *points, err);
    for (size_t row = 0; points && row < rows; row++) {
        double right =
            area.x + section->columns.pitch * (double)num_min(row + 1, section->columns.cells);
        double top = area.y + section->rows.pitch * (double)row;
        points[count++] = (struct point){right, top};
        points[count++] = (struct point){right, top + section->rows.pitch};
    }
    if (points) {
        points[count++] = (struct point){area.x, area.y + area.height};
        points[count++] = (struct point){area.x, area.y};
        points[count] = points[0];
        canvas_path(canvas, points, count + 1, &panel_border);
    }
    arena_release(&arena);
    return points ? 0 : -1;
}

bool cell_is_marked(const struct cell_mark *mark, const struct sheet *sheet)
{
    return (mark->layer < 0 || mark->layer == sheet->layer) &&
           (mark->head < 0 || mark->head == sheet->head) && mark->row >= sheet->rows.first &&
           mark->row - sheet->rows.first < sheet->rows.size &&
           mark->column >= sheet->columns.first &&
           mark->column - sheet->columns.first < sheet->columns.size;
}

/* Frames within cells: what is beside them stays as it is. */
static void draw_marks(const struct section *section, const struct spot *spot,
                       struct canvas *canvas)
{
    static const double least = 3; /* of a frame in small cells */
    const struct figure_form *form = &section->style->form;
    for (size_t i = 0; i < form->mark_count; i++) {
        const struct cell_mark *mark = &form->marks[i];
        if (!cell_is_marked(mark, spot->sheet))
            continue;
        double width = fmin(1.2, section->rows.pitch / 5);
        struct pen pen = {{0xd9, 0x48, 0x01}, width, 1};
        size_t row = (mark->row - spot->sheet->rows.first) / section->rows.step;
        size_t column = (mark->column - spot->sheet->columns.first) / section->columns.step;
        struct box box = {spot->area.x + section->columns.pitch * (double)column + width / 2,
                          spot->area.y + section->rows.pitch * (double)row + width / 2,
                          fmax(section->columns.pitch - width, least),
                          fmax(section->rows.pitch - width, least)};
        box.x = fmin(box.x, spot->area.x + spot->area.width - box.width);
        box.y = fmin(box.y, spot->area.y + spot->area.height - box.height);
        canvas_frame(canvas, box, &pen);
    }
}

static int draw_content(const struct section *section, const struct spot *spot,
                        struct canvas *canvas, struct err *err)
{
    if (section->kind == KIND_MATRIX) {
        if (draw_heat(section, spot->sheet, canvas, spot->area, err))
            return -1;
        draw_marks(section, spot, canvas);
        return draw_border(section, spot, canvas, err);
    }
    return panel_lines_draw(section, spot->sheet, canvas, spot->area, err);
}

int panel_draw(const struct section *section, size_t index, struct canvas *canvas,
               struct point corner, struct err *err)
{
    char title[SHEET_NAME_BYTES];
    struct spot spot = spot_of(section, index, corner);
    bool last = spot.column + 1 == section->across || index + 1 == section->panels;
    int failed = 0;
    canvas_open(canvas, sheet_title(title, spot.sheet));
    if (section->by_layer)
        draw_names_of_grid(section, &spot, canvas);
    else if (section->panels > 1 || section->style->form.panel_labels)
        failed = draw_name(section, &spot, index, canvas, err);
    failed = failed || draw_labels(section, &spot, last, canvas, err) ||
             draw_content(section, &spot, canvas, err);
    canvas_close(canvas);
    return failed ? -1 : 0;
}
