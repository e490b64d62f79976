#include "draw/panel.h"

#include <math.h>
#include <stdio.h>

#include "draw/heat.h"
#include "draw/letters.h"
#include "draw/lines.h"

enum { NAME_BYTES = 64 };

static const struct lettering panel_name = {.size = 7, .colour = {0x11, 0x11, 0x11}};
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
    size_t sheets = section->kind == KIND_OVERLAY ? section->heads : 1;
    struct spot spot = {
        .row = index / section->across,
        .column = index % section->across,
        .area = section->area,
        .sheet = &section->sheets[index * sheets],
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
    bool heads = section->layers == 1 && section->kind != KIND_OVERLAY;
    int size = snprintf(name, NAME_BYTES, heads ? "head %d" : "layer %d",
                        heads ? sheet->head : sheet->layer);
    struct extent extent = extent_of_sheet(sheet);
    if (section->style->range == RANGE_HEAD && section->kind != KIND_OVERLAY && size > 0)
        snprintf(name + size, (size_t)(NAME_BYTES - size), " · up to %.2g",
                 (double)fmaxf(-extent.low, extent.high));
}

/* Above the labels where there are any. */
static int draw_name(const struct section *section, const struct spot *spot, const char *given,
                     struct canvas *canvas, struct err *err)
{
    char name[NAME_BYTES];
    struct buf text = {0};
    bool labelled = spot->row == 0 && section->kind == KIND_MATRIX;
    double y = spot->area.y - (labelled ? section->columns.room : 0) - NAME_GAP;
    name_panel(name, section, spot->sheet);
    letters_fit(&text, given ? given : name, given ? section->panel_width - NAME_GAP : 1e9,
                panel_name.size);
    int failed = buf_check(&text, err);
    if (!failed && text.size)
        canvas_text(canvas, (struct point){spot->area.x, y}, text.bytes, &panel_name);
    buf_release(&text);
    return failed;
}

/* The numbers of heads above the first row, those of layers beside the first column. */
static void draw_names_of_grid(const struct section *section, const struct spot *spot,
                               struct canvas *canvas)
{
    char name[NAME_BYTES];
    struct lettering lettering = panel_name;
    struct box area = spot->area;
    lettering.anchor = ANCHOR_MIDDLE;
    if (spot->row == 0) {
        double labels = section->kind == KIND_MATRIX ? section->columns.room : 0;
        snprintf(name, sizeof name, spot->column ? "%d" : "head %d", spot->sheet->head);
        canvas_text(canvas, (struct point){area.x + area.width / 2, area.y - labels - NAME_GAP},
                    name, &lettering);
    }
    if (spot->column == 0) {
        lettering.turn = -90;
        snprintf(name, sizeof name, spot->row ? "%d" : "layer %d", spot->sheet->layer);
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

static int draw_content(const struct section *section, const struct spot *spot,
                        struct canvas *canvas, struct err *err)
{
    if (section->kind == KIND_MATRIX) {
        if (heat_draw(section, spot->sheet, canvas, spot->area, err))
            return -1;
        canvas_frame(canvas, spot->area, &panel_border);
        return 0;
    }
    return lines_draw(section, spot->sheet, canvas, spot->area, err);
}

int panel_draw(const struct section *section, size_t index, struct canvas *canvas,
               struct point corner, struct err *err)
{
    char title[SHEET_NAME_BYTES];
    struct spot spot = spot_of(section, index, corner);
    bool last = spot.column + 1 == section->across || index + 1 == section->panels;
    bool named = section->names && section->kind != KIND_OVERLAY;
    const char *given = named ? section->names[index] : NULL;
    int failed = 0;
    canvas_open(canvas, given ? given : sheet_title(title, spot.sheet));
    if (section->by_layer)
        draw_names_of_grid(section, &spot, canvas);
    else if (section->panels > 1)
        failed = draw_name(section, &spot, given, canvas, err);
    failed = failed || draw_labels(section, &spot, last, canvas, err) ||
             draw_content(section, &spot, canvas, err);
    canvas_close(canvas);
    return failed ? -1 : 0;
}
