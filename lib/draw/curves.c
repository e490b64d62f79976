/* curves.c: a line chart with a line for each column of a sheet, such as surprisal by word and
 * condition. The name of each region of rows is above the region, and every other region has a grey
 * background. On logarithmic axes, a row is at the logarithm of its number. */
#include "draw/section.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* PITCH: usual width of a row in points; HEIGHT: height of the chart in points, in print at most
 * HEIGHT_SHARE of its width */
static const double PITCH = 30, HEIGHT = 150, HEIGHT_SHARE = 0.45;
static const double GAP = 4, POINT = 3, WIDTH = 1.2, LABELS = 90;
static const struct pen thin = {{0x99, 0x99, 0x99}, 0.5, 1};

struct scale scale_around(double low, double high, double step)
{
    int digits = step < 1 ? (int)ceil(-log10(step)) : 0;
    low = step * floor(low / step + 1e-9);
    high = step * ceil(high / step - 1e-9);
    return (struct scale){low, high, step, numeral_between((float)low, (float)high, digits)};
}

/* Return the scale of the vertical axis; if the axis is logarithmic, its numbers are the exponents
 * of ten. */
static struct scale scale_of(const struct section *section)
{
    if (section->what.sheets->display.logarithmic) {
        double first = floor(log10((double)section->norms.found.low));
        double last = ceil(log10((double)section->norms.found.high));
        return scale_around(first, fmax(last, first + 1), 1);
    }
    double low = fmin(0, (double)section->norms.found.low);
    double high = fmax((double)section->norms.found.high, low + 1e-3);
    return scale_around(low, high, nice_step(high - low));
}

void curves_fit(struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    const struct axis *rows = &sheet->rows;
    struct axis_fit *fit = &section->columns;
    double line = section_line(section, TYPE_NAME);
    const char *widest = sheet->display.logarithmic ? "0.0001" : "00.0";
    double left = line + letters_width(widest, type_size(&section->style->form, TYPE_NAME)) + GAP;
    bool printed = section_is_printed(section);
    /* the axis is wide enough for at least this number of rows */
    double least = sheet->display.logarithmic ? 12 : 4;
    for (int tries = 0; tries < 2; tries++) { /* the second pass leaves room for the first label */
        section->left = left;
        section->width = printed
                             ? section->limit
                             : fmin(section->limit, left + fmax(least, (double)rows->size) * PITCH);
        *fit = (struct axis_fit){
            .step = 1, .cells = rows->size, .pitch = (section->width - left) / (double)rows->size};
        axis_fit_labels(fit, rows, true, LABELS, &section->style->form);
        double first = letters_width(rows->labels[0].text, fit->size);
        if (fit->turn == -45) /* slanted labels end below the middle of their cell */
            left = fmax(left, SLANT * (fmin(first, fit->label) + GAP) - fit->pitch / 2);
    }
    section->area =
        (struct box){section->left, section->head + (sheet->display.regions ? line : GAP),
                     section->width - section->left,
                     printed ? fmin(HEIGHT, HEIGHT_SHARE * section->width) : HEIGHT};
    section->foot = section->area.y + section->area.height + axis_fit_snap(fit->depth) + 2 * GAP;
}

/* Return the name of a row's region ("": none), and set `end` to the row after the region. Without
 * regions, `end` is the end of the sheet. */
static const char *region_of(const struct sheet *sheet, size_t row, size_t *end)
{
    const char *const *regions = sheet->display.regions;
    const char *name = regions && regions[row] ? regions[row] : "";
    *end = regions ? row + 1 : sheet->rows.size;
    while (*end < sheet->rows.size && regions[*end] && strcmp(regions[*end], name) == 0)
        ++*end;
    return name;
}

static double height_of(double value, struct scale scale, struct box area)
{
    return area.y + area.height * ((scale.high - value) / (scale.high - scale.low));
}

/* Return the x coordinate at which a row is drawn. */
static double middle_of(const struct section *section, struct box area, size_t row)
{
    const struct axis *rows = &section->what.sheets->rows;
    double pitch = section->columns.pitch, share = (double)row;
    if (section->what.sheets->display.logarithmic && rows->size > 1) {
        double first = log((double)axis_number(rows, 0));
        share = log((double)axis_number(rows, row)) - first;
        share *=
            (double)(rows->size - 1) / (log((double)axis_number(rows, rows->size - 1)) - first);
    }
    return area.x + pitch * (share + 0.5);
}

static void draw_numbers(const struct section *section, struct canvas *canvas, struct box area)
{
    struct font letters = section_font(section, TYPE_NAME, 0x111111);
    const struct axis *rows = &section->what.sheets->rows;
    double below = area.y + area.height, end = -INFINITY;
    letters.anchor = ANCHOR_MIDDLE;
    for (size_t i = 0; i < rows->size; i++) {
        double x = middle_of(section, area, i);
        double width = letters_width(rows->labels[i].text, letters.size);
        canvas->path(canvas, (struct point[]){{x, below}, {x, below + GAP / 2}}, 2, &thin);
        if (x - width / 2 < end)
            continue;
        end = x + width / 2 + GAP;
        canvas->text(canvas, (struct point){x, below + GAP + letters.size}, rows->labels[i].text,
                     &letters);
    }
}

static void draw_axes(const struct section *section, struct canvas *canvas, struct box area)
{
    struct font letters = section_font(section, TYPE_NAME, 0x111111);
    struct scale scale = scale_of(section);
    canvas->frame(canvas, area, &thin);
    letters.anchor = ANCHOR_END;
    for (double i = round(scale.low / scale.step); i * scale.step <= scale.high * (1 + 1e-9); i++) {
        char text[NUMERAL_BYTES];
        double y = height_of(i * scale.step, scale, area);
        numeral_write(text, scale.numeral, (float)(i * scale.step));
        if (section->what.sheets->display.logarithmic)
            snprintf(text, sizeof text, "%g", pow(10, i));
        canvas->path(canvas, (struct point[]){{area.x - GAP / 2, y}, {area.x, y}}, 2, &thin);
        canvas->text(canvas, (struct point){area.x - GAP, y + letters.size * 0.35}, text, &letters);
    }
    struct point below = {area.x, area.y + area.height};
    if (section->what.sheets->display.logarithmic)
        draw_numbers(section, canvas, area);
    else
        axis_draw(canvas, &section->what.sheets->rows, &section->columns, below, AXIS_BELOW);
}

/* Draw the line of a column. The line is broken only where the column has no value in a whole
 * region. */
static void draw_line(const struct section *section, struct canvas *canvas, struct box area,
                      size_t line)
{
    const struct sheet *sheet = section->what.sheets;
    size_t rows = sheet->rows.size;
    struct scale scale = scale_of(section);
    struct arena arena = {0};
    struct pen pen = {palette_line(line, sheet->columns.size), WIDTH, 1};
    struct point *points = arena_alloc(&arena, rows, sizeof *points, canvas->err);
    canvas->open(canvas, sheet->columns.labels[line].text);
    for (size_t first = 0, end, count = 0; points && first < rows; first = end) {
        size_t before = count;
        region_of(sheet, first, &end);
        for (size_t i = first; i < end; i++) {
            double value = (double)sheet_cell(sheet, i, line);
            double y = height_of(sheet->display.logarithmic ? log10(value) : value, scale, area);
            double x = middle_of(section, area, i);
            if (!isfinite(y))
                continue;
            points[count++] = (struct point){x, y};
            canvas->rect(canvas, (struct box){x - POINT / 2, y - POINT / 2, POINT, POINT},
                         pen.colour);
        }
        bool is_gap = count == before && sheet->display.regions && sheet->display.regions[first];
        if (count > 1 && (is_gap || end == rows))
            canvas->path(canvas, points, count, &pen);
        count = is_gap ? 0 : count;
    }
    canvas->close(canvas);
    arena_release(&arena);
}

void curves_draw(const struct section *section, struct canvas *canvas)
{
    const struct sheet *sheet = section->what.sheets;
    struct font letters = section_font(section, TYPE_NAME, 0x555555);
    struct box area = section->area;
    area.x += section->at.x;
    area.y += section->at.y;
    letters.anchor = ANCHOR_MIDDLE;
    for (size_t first = 0, end, shade = 0; sheet->display.regions && first < sheet->rows.size;
         first = end) {
        const char *name = region_of(sheet, first, &end);
        struct box box = {area.x + section->columns.pitch * (double)first, area.y,
                          section->columns.pitch * (double)(end - first), area.height};
        struct point above = {box.x + box.width / 2, box.y - GAP};
        if (shade++ % 2 == 0)
            canvas->rect(canvas, box, colour_of_hex(0xefefef));
        canvas_text_fit(canvas, above, name, box.width, &letters);
    }
    draw_axes(section, canvas, area);
    for (size_t i = 0; i < sheet->columns.size; i++)
        draw_line(section, canvas, area, i);
}
