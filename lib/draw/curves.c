/* curves.c: the columns of a sheet as lines over its rows, as surprisal by word with a line for
 * each condition; rows of one region have a common ground, and its name above it. */
#include "draw/figure.h"

#include <math.h>
#include <string.h>

static const double PITCH = 30, HEIGHT = 150, HEIGHT_SHARE = 0.45; /* of the width, in print */
static const double SLANT = 0.70711;                               /* of 45 degrees */
static const double GAP = 4, POINT = 3, WIDTH = 1.2, LABELS = 90;
static const struct pen thin = {{0x99, 0x99, 0x99}, 0.5, 1};

/* The numbers of the vertical axis. */
struct scale {
    double low, high, step;
};

static struct scale scale_of(const struct section *section)
{
    double low = fmin(0, (double)section->norms.found.low);
    double high = fmax((double)section->norms.found.high, low + 1e-3);
    double step = nice_step(high - low);
    return (struct scale){step * floor(low / step + 1e-9), step * ceil(high / step - 1e-9), step};
}

static struct point place_of(const struct section *section, size_t row, double value)
{
    struct scale scale = scale_of(section);
    double share = (scale.high - value) / (scale.high - scale.low);
    return (struct point){section->at.x + section->area.x +
                              section->columns.pitch * ((double)row + 0.5),
                          section->at.y + section->area.y + section->area.height * share};
}

void curves_fit(struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    size_t rows = sheet->rows.size;
    double line = section_line(section, TYPE_NAME);
    double left = line + letters_width("00.0", type_size(&section->style->form, TYPE_NAME)) + GAP;
    bool printed = section_is_printed(section);
    section->panels = section->across = 1;
    for (int tries = 0; tries < 2; tries++) { /* the second time with room for the first label */
        section->left = left;
        section->width =
            printed ? section->room : fmin(section->room, left + fmax(4, (double)rows) * PITCH);
        section->area =
            (struct box){left, section->head + (sheet->regions ? line : GAP), section->width - left,
                         printed ? fmin(HEIGHT, HEIGHT_SHARE * section->width) : HEIGHT};
        section->columns = (struct axis_fit){.step = 1,
                                             .cells = rows,
                                             .pitch = section->area.width / (double)rows,
                                             .print = section->style->form.font_size};
        section->rows = section->columns;
        axis_fit_columns(&section->columns, &sheet->rows, LABELS);
        const struct axis_fit *columns = &section->columns;
        double first = letters_width(sheet->rows.labels[0].text, columns->size);
        if (columns->turn == -45) /* the label ends below the middle of its cell */
            left = fmax(left, SLANT * (fmin(first, columns->label) + GAP) - columns->pitch / 2);
    }
    section->foot =
        section->area.y + section->area.height + axis_fit_snap(section->columns.room) + 2 * GAP;
}

static void draw_regions(const struct section *section, struct canvas *canvas)
{
    const struct sheet *sheet = section->what.sheets;
    struct font letters = section_font(section, TYPE_NAME, 0x555555);
    size_t rows = sheet->regions ? sheet->rows.size : 0;
    letters.anchor = ANCHOR_MIDDLE;
    for (size_t first = 0, end, shade = 0; first < rows; first = end) {
        const char *name = sheet->regions[first] ? sheet->regions[first] : "";
        for (end = first + 1;
             end < rows && sheet->regions[end] && !strcmp(sheet->regions[end], name);)
            end++;
        struct box box = {section->at.x + section->area.x + section->columns.pitch * (double)first,
                          section->at.y + section->area.y,
                          section->columns.pitch * (double)(end - first), section->area.height};
        struct point above = {box.x + box.width / 2, box.y - GAP};
        if (shade++ % 2 == 0)
            canvas->rect(canvas, box, colour_of_hex(0xefefef));
        canvas_text_fit(canvas, above, name, box.width, &letters);
    }
}

static void draw_axes(const struct section *section, struct canvas *canvas)
{
    struct font letters = section_font(section, TYPE_NAME, 0x111111);
    struct scale scale = scale_of(section);
    struct box box = {section->at.x + section->area.x, section->at.y + section->area.y,
                      section->area.width, section->area.height};
    int digits = scale.step < 1 ? (int)ceil(-log10(scale.step)) : 0;
    struct numeral numeral = numeral_between((float)scale.low, (float)scale.high, digits);
    canvas->frame(canvas, box, &thin);
    letters.anchor = ANCHOR_END;
    for (double i = round(scale.low / scale.step); i * scale.step <= scale.high * (1 + 1e-9); i++) {
        char text[NUMERAL_BYTES];
        double y = place_of(section, 0, i * scale.step).y;
        numeral_write(text, numeral, (float)(i * scale.step));
        canvas->path(canvas, (struct point[]){{box.x - GAP / 2, y}, {box.x, y}}, 2, &thin);
        canvas->text(canvas, (struct point){box.x - GAP, y + letters.size * 0.35}, text, &letters);
    }
    struct point below = {box.x, box.y + box.height};
    panel_draw_columns(canvas, &section->what.sheets->rows, &section->columns, below, true);
}

/* True if a region between two rows has no number: one that a condition lacks. */
static bool has_gap(const struct sheet *sheet, size_t row, size_t end)
{
    const char *const *regions = sheet->regions;
    for (size_t i = row + 1; i < end && regions; i++)
        if (regions[i] && !(regions[row] && !strcmp(regions[i], regions[row])) &&
            !(regions[end] && !strcmp(regions[i], regions[end])))
            return true;
    return false;
}

/* A line goes on where a number is missing in a shorter region, not where all of a region is. */
static void draw_line(const struct section *section, size_t line, struct canvas *canvas)
{
    const struct sheet *sheet = section->what.sheets;
    struct arena arena = {0};
    struct pen pen = {palette_line(line, sheet->columns.size), WIDTH, 1};
    struct point *points = arena_alloc(&arena, sheet->rows.size, sizeof *points, canvas->err);
    size_t count = 0, last = 0;
    canvas->open(canvas, sheet->columns.labels[line].text);
    for (size_t i = 0; points && i < sheet->rows.size; i++) {
        struct point at = place_of(section, i, (double)sheet_cell(sheet, i, line));
        if (!isfinite(at.y))
            continue;
        if (count && has_gap(sheet, last, i)) {
            if (count > 1)
                canvas->path(canvas, points, count, &pen);
            count = 0;
        }
        points[count++] = at;
        last = i;
        canvas->rect(canvas, (struct box){at.x - POINT / 2, at.y - POINT / 2, POINT, POINT},
                     pen.colour);
    }
    if (count > 1)
        canvas->path(canvas, points, count, &pen);
    canvas->close(canvas);
    arena_release(&arena);
}

void curves_draw(const struct section *section, struct canvas *canvas)
{
    draw_regions(section, canvas);
    draw_axes(section, canvas);
    for (size_t i = 0; i < section->what.sheets->columns.size; i++)
        draw_line(section, i, canvas);
}
