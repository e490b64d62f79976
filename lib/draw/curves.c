/* curves.c: the columns of a sheet as lines over its rows, as surprisal by word with a line for
 * each condition; rows of one region have a common ground, and its name above it. */
#include "draw/figure.h"

#include <math.h>
#include <string.h>

static const double PITCH = 30, HEIGHT = 150, HEIGHT_SHARE = 0.45; /* of the width, in print */
static const double GAP = 4, POINT = 3, SWATCH = 12, WIDTH = 1.2;
static const double SLANT = 0.7071; /* of labels that have no room beside each other */
static const struct pen thin = {{0x99, 0x99, 0x99}, 0.5, 1};

/* Where things are, from the section's corner. */
struct plot {
    struct box area;
    double low, high, step; /* of the numbers */
    double pitch;           /* from one row to the next */
    bool slants;            /* labels of rows do */
    double legend;          /* the top of the names of lines */
};

static struct plot plan_plot(const struct section *section)
{
    const struct sheet *sheet = section->what.sheets;
    double size = type_size(&section->style->form, TYPE_NAME);
    double line = section_line(section, TYPE_NAME);
    double widest = 0;
    struct plot plot = {.low = fmin(0, (double)section->norms.found.low)};
    for (size_t i = 0; i < sheet->rows.size; i++)
        widest = fmax(widest, letters_width(sheet->rows.labels[i].text, size));
    plot.high = fmax((double)section->norms.found.high, plot.low + 1e-3);
    plot.step = nice_step(plot.high - plot.low);
    plot.high = plot.step * ceil(plot.high / plot.step - 1e-9);
    plot.low = plot.step * floor(plot.low / plot.step + 1e-9);
    plot.area.x = section->left;
    plot.area.y = section->head + (sheet->regions ? line : GAP);
    plot.area.width = section->width - section->left;
    plot.area.height =
        section_is_printed(section) ? fmin(HEIGHT, HEIGHT_SHARE * section->width) : HEIGHT;
    plot.pitch = plot.area.width / (double)sheet->rows.size;
    plot.slants = widest > plot.pitch - GAP;
    plot.legend =
        plot.area.y + plot.area.height + 2 * GAP + (plot.slants ? SLANT * (widest + size) : line);
    return plot;
}

static struct point place_of(const struct plot *plot, struct point corner, size_t row, double value)
{
    double share = (plot->high - value) / (plot->high - plot->low);
    return (struct point){corner.x + plot->area.x + plot->pitch * ((double)row + 0.5),
                          corner.y + plot->area.y + plot->area.height * share};
}

/* The names of lines, beside each other; returns where they end. Without a canvas nothing is
 * drawn. */
static double put_legend(const struct section *section, struct canvas *canvas, struct point corner,
                         double top)
{
    const struct axis *lines = &section->what.sheets->columns;
    struct font letters = section_font(section, TYPE_NAME, 0x111111);
    double line = section_line(section, TYPE_NAME);
    double x = section->left;
    for (size_t i = 0; i < lines->size; i++) {
        double width = SWATCH + 3 * GAP + letters_width(lines->labels[i].text, letters.size);
        if (x > section->left && x + width > section->width) {
            x = section->left;
            top += line;
        }
        struct pen pen = {palette_line(i, lines->size), WIDTH, 1};
        struct point at = {corner.x + x, corner.y + top + line / 2};
        struct point name = {at.x + SWATCH + GAP, at.y + letters.size * 0.35};
        if (canvas) {
            canvas->path(canvas, (struct point[]){at, {at.x + SWATCH, at.y}}, 2, &pen);
            canvas->text(canvas, name, lines->labels[i].text, &letters);
        }
        x += width;
    }
    return top + line;
}

void curves_fit(struct section *section)
{
    double size = type_size(&section->style->form, TYPE_NAME);
    double wanted = fmax(4, (double)section->what.sheets->rows.size) * PITCH;
    section->panels = section->across = 1;
    section->left = section_line(section, TYPE_NAME) + letters_width("00.0", size) + GAP;
    section->width =
        section_is_printed(section) ? section->room : fmin(section->room, section->left + wanted);
    section->height = put_legend(section, NULL, (struct point){0, 0}, plan_plot(section).legend);
}

static void draw_regions(const struct section *section, const struct plot *plot,
                         struct canvas *canvas, struct point corner)
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
        struct box box = {corner.x + plot->area.x + plot->pitch * (double)first,
                          corner.y + plot->area.y, plot->pitch * (double)(end - first),
                          plot->area.height};
        struct point above = {box.x + box.width / 2, box.y - GAP};
        if (shade++ % 2 == 0)
            canvas->rect(canvas, box, colour_of_hex(0xefefef));
        canvas_text_fit(canvas, above, name, box.width, &letters);
    }
}

static void draw_axes(const struct section *section, const struct plot *plot, struct canvas *canvas,
                      struct point corner)
{
    const struct sheet *sheet = section->what.sheets;
    struct font letters = section_font(section, TYPE_NAME, 0x111111);
    struct box box = {corner.x + plot->area.x, corner.y + plot->area.y, plot->area.width,
                      plot->area.height};
    int digits = plot->step < 1 ? (int)ceil(-log10(plot->step)) : 0;
    struct numeral numeral = numeral_between((float)plot->low, (float)plot->high, digits);
    canvas->frame(canvas, box, &thin);
    letters.anchor = ANCHOR_END;
    for (double i = round(plot->low / plot->step); i * plot->step <= plot->high * (1 + 1e-9); i++) {
        char text[NUMERAL_BYTES];
        double y = place_of(plot, corner, 0, i * plot->step).y;
        numeral_write(text, numeral, (float)(i * plot->step));
        canvas->path(canvas, (struct point[]){{box.x - GAP / 2, y}, {box.x, y}}, 2, &thin);
        canvas->text(canvas, (struct point){box.x - GAP, y + letters.size * 0.35}, text, &letters);
    }
    letters.anchor = plot->slants ? ANCHOR_END : ANCHOR_MIDDLE;
    letters.turn = plot->slants ? -45 : 0;
    for (size_t i = 0; i < sheet->rows.size; i++) {
        struct point at = place_of(plot, corner, i, plot->low);
        at.x += plot->slants ? GAP : 0;
        at.y += GAP + letters.size * 0.8;
        canvas->text(canvas, at, sheet->rows.labels[i].text, &letters);
    }
    letters.anchor = ANCHOR_MIDDLE;
    letters.turn = -90;
    struct point beside = {corner.x + letters.size, box.y + box.height / 2};
    canvas_text_fit(canvas, beside, sheet->tensor, box.height, &letters);
}

/* A line goes on where a number is missing, as in a shorter region. */
static void draw_line(const struct section *section, const struct plot *plot, size_t line,
                      struct canvas *canvas, struct point corner)
{
    const struct sheet *sheet = section->what.sheets;
    struct arena arena = {0};
    struct pen pen = {palette_line(line, sheet->columns.size), WIDTH, 1};
    struct point *points = arena_alloc(&arena, sheet->rows.size, sizeof *points, canvas->err);
    size_t count = 0;
    canvas->failed |= !points;
    canvas->open(canvas, sheet->columns.labels[line].text);
    for (size_t i = 0; points && i < sheet->rows.size; i++) {
        struct point at = place_of(plot, corner, i, (double)sheet_cell(sheet, i, line));
        if (!isfinite(at.y))
            continue;
        points[count++] = at;
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
    struct point corner = section->at;
    struct plot plot = plan_plot(section);
    draw_regions(section, &plot, canvas, corner);
    draw_axes(section, &plot, canvas, corner);
    for (size_t i = 0; i < section->what.sheets->columns.size; i++)
        draw_line(section, &plot, i, canvas, corner);
    put_legend(section, canvas, corner, plot.legend);
}
