#include "draw/lines.h"

#include <math.h>

const double lines_least = 0.03;

enum { PENS = 16 }; /* lines of about one weight are drawn with one pen */

static const double THINNEST = 0.3, WIDEST = 1.9;

/* Okabe and Ito's, which no kind of colour-blindness confuses; without yellow and black, which are
 * too light and too heavy for lines. */
static const uint32_t few[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7,
                               0xe69f00, 0x56b4e9, 0x7a4fbf, 0x6b6b6b};
static const size_t few_count = sizeof few / sizeof *few;

struct colour lines_colour(size_t head, size_t heads)
{
    if (heads <= few_count)
        return colour_of_hex(few[head]);
    float turn = 6.2831853f * (float)head / (float)heads;
    return colour_of_oklab((struct oklab){0.6f, 0.13f * cosf(turn), 0.13f * sinf(turn)});
}

static unsigned pen_of(unsigned level)
{
    return level * PENS / RAMP_LEVELS;
}

/* The strokes whose levels belong to a pen. */
static size_t collect(struct stroke *strokes, const struct section *section,
                      const struct cells *cells, struct box area, unsigned pen)
{
    double pitch = section->rows.pitch;
    size_t count = 0;
    for (size_t r = 0; r < cells->rows; r++) {
        for (size_t c = 0; c < cells->columns; c++) {
            unsigned level = cells->levels[r * cells->columns + c];
            if (level < lines_least * RAMP_LEVELS || pen_of(level) != pen)
                continue;
            strokes[count++] = (struct stroke){
                {area.x, area.y + pitch * ((double)r + 0.5)},
                {area.x + area.width, area.y + pitch * ((double)c + 0.5)},
            };
        }
    }
    return count;
}

/* Alone, lines have the colours of the palette; of several heads, each its own. */
static struct pen choose_pen(const struct section *section, size_t head, unsigned pen)
{
    double share = (pen + 0.5) / PENS;
    double slim = fmin(section->rows.pitch / 8, 1);
    struct pen chosen = {.width = slim * (THINNEST + share * (WIDEST - THINNEST)), .opacity = 1};
    if (section->kind == KIND_OVERLAY) {
        chosen.colour = lines_colour(head, section->heads);
        chosen.opacity = 0.1 + 0.75 * share;
    } else {
        chosen.colour = section->ramp.colours[(unsigned)(share * (RAMP_LEVELS - 1))];
    }
    return chosen;
}

/* The lines of all heads that are drawn with a pen; `strokes` has room for those of one. */
static void draw_pen(const struct section *section, const struct cells *cells, unsigned pen,
                     struct canvas *canvas, struct box area, struct stroke *strokes)
{
    size_t heads = section->kind == KIND_OVERLAY ? section->heads : 1;
    for (size_t head = 0; head < heads; head++) {
        size_t count = collect(strokes, section, &cells[head], area, pen);
        struct pen chosen = choose_pen(section, head, pen);
        if (count)
            canvas_strokes(canvas, strokes, count, &chosen);
    }
}

/* Strong lines come last, over the weak ones, whatever their head. */
int lines_draw(const struct section *section, const struct sheet *sheet, struct canvas *canvas,
               struct box area, struct err *err)
{
    struct arena arena = {0};
    size_t heads = section->kind == KIND_OVERLAY ? section->heads : 1;
    size_t most = section->rows.cells * section->columns.cells;
    struct cell_room room = {section->rows.cells, section->columns.cells};
    struct cells *cells = arena_alloc(&arena, heads, sizeof *cells, err);
    struct stroke *strokes = arena_alloc(&arena, most, sizeof *strokes, err);
    int failed = !cells || !strokes;
    for (size_t head = 0; head < heads && !failed; head++)
        failed = cells_make(&cells[head], &sheet[head], &section->tones, room, &arena, err);
    for (unsigned pen = 0; pen < PENS && !failed; pen++)
        draw_pen(section, cells, pen, canvas, area, strokes);
    arena_release(&arena);
    return failed ? -1 : 0;
}
