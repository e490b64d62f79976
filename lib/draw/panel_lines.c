/* panel_lines.c: attention as lines, from queries at the left to keys at the right: the more
 * weight, the darker and wider. */
#include "draw/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PENS = 16 }; /* lines of about one weight are drawn with one pen */

static const double THINNEST = 0.3, WIDEST = 1.9;
static const double TRACKS = 0.7; /* of a pitch, that the lines of heads have beside each other */

struct weight {
    float value;
    size_t place;
};

/* The strongest first; of equal ones the first. */
static int compare(const void *a, const void *b)
{
    const struct weight *x = a;
    const struct weight *y = b;
    if (x->value > y->value || x->value < y->value)
        return x->value > y->value ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* A copy of a sheet in which only the `top` largest weights are not 0. */
static int choose(struct sheet *chosen, const struct sheet *sheet, size_t top, struct arena *arena,
                  struct err *err)
{
    size_t size = sheet->rows.size * sheet->columns.size;
    size_t count = 0;
    float *values = arena_alloc(arena, size, sizeof *values, err);
    struct weight *weights = arena_alloc(arena, size, sizeof *weights, err);
    if (!values || !weights)
        return -1;
    for (size_t row = 0; row < sheet->rows.size; row++)
        for (size_t c = 0; c < sheet->columns.size; c++)
            if (!sheet_hides(sheet, row, c) && sheet_cell(sheet, row, c) >= 0)
                weights[count++] =
                    (struct weight){sheet_cell(sheet, row, c), row * sheet->columns.size + c};
    qsort(weights, count, sizeof *weights, compare);
    count = count < top ? count : top;
    memset(values, 0, size * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[weights[i].place] = weights[i].value;
    *chosen = *sheet;
    chosen->values = values;
    return 0;
}

/* Heads over each other have tracks of their own: where they look alike, all are seen. */
static double track_of(const struct section *section, size_t head)
{
    double share = ((double)head + 0.5) / (double)section->what.heads - 0.5;
    return section->kind == KIND_OVERLAY ? TRACKS * section->rows.pitch * share : 0;
}

/* The strokes of a head whose levels belong to a pen. */
static size_t collect(struct stroke *strokes, const struct section *section,
                      const struct cells *cells, struct box area, size_t head, unsigned pen)
{
    double pitch = section->rows.pitch;
    double least = PANEL_LINES_LEAST * RAMP_LEVELS;
    size_t count = 0;
    area.y += track_of(section, head);
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

/* Alone, lines have the colours of the palette; of several heads, each its own, and no more width
 * than their track. */
static struct pen choose_pen(const struct section *section, size_t head, unsigned pen)
{
    double share = (pen + 0.5) / PENS;
    double slim = fmin(section->rows.pitch / 8, 1);
    struct pen chosen = {.width = slim * (THINNEST + share * (WIDEST - THINNEST)), .opacity = 1};
    if (section->kind == KIND_OVERLAY) {
        double track = TRACKS * section->rows.pitch / (double)section->what.heads;
        chosen.width = fmin(chosen.width, fmax(track, THINNEST));
        chosen.colour = palette_line(head, section->what.heads);
        chosen.opacity = 0.1 + 0.75 * share;
    } else {
        chosen.colour = section->ramp.colours[(unsigned)(share * (RAMP_LEVELS - 1))];
    }
    return chosen;
}

static int make_cells(struct cells *cells, const struct section *section, const struct sheet *sheet,
                      struct arena *arena, struct err *err)
{
    size_t top = (size_t)section->style->form.top;
    struct cell_room room = {section->rows.cells, section->columns.cells};
    struct sheet chosen = *sheet;
    if (top && choose(&chosen, sheet, top, arena, err))
        return -1;
    return cells_make(cells, &chosen, &section->tones, room, arena, err);
}

/* Strong lines come last, over the weak ones, whatever their head. */
int panel_lines_draw(const struct section *section, const struct sheet *sheet,
                     struct canvas *canvas, struct box area, struct err *err)
{
    struct arena arena = {0};
    size_t heads = section->kind == KIND_OVERLAY ? section->what.heads : 1;
    size_t most = section->rows.cells * section->columns.cells; /* of a head */
    struct cells *cells = arena_alloc(&arena, heads, sizeof *cells, err);
    struct stroke *strokes = arena_alloc(&arena, most, sizeof *strokes, err);
    int failed = !cells || !strokes;
    for (size_t head = 0; head < heads && !failed; head++)
        failed = make_cells(&cells[head], section, &sheet[head], &arena, err);
    for (size_t i = 0; i < PENS * heads && !failed; i++) {
        unsigned rank = (unsigned)(i / heads);
        size_t count = collect(strokes, section, &cells[i % heads], area, i % heads, rank);
        struct pen pen = choose_pen(section, i % heads, rank);
        if (count)
            canvas_strokes(canvas, strokes, count, &pen);
    }
    arena_release(&arena);
    return failed ? -1 : 0;
}
