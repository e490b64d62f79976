/* arrows.c: vectors of three numbers as arrows from the origin, with the token at each tip, in a
 * box whose walls have a grid. All axes have one scale: channel 0 goes to the right, 1 up and 2
 * away, as in the animation Motion on the page. */
#include "draw/section.h"

#include <math.h>
#include <string.h>

/* in points: LARGEST is the largest side of a panel, LABELS the space for axis labels */
static const double LARGEST = 300, LABELS = 26;
static const double WIDTH = 1.3, BARB = 6, BARB_TURN = 0.35;
/* in points: GAP is the space around a name, NEAR the smallest distance of a name from its tip */
static const double GAP = 2, NEAR = 4;
static const struct pen grid = {{0xdd, 0xdd, 0xdd}, 0.5, 1};

/* Colours of the arrows in turn: matplotlib's r, g, b, c, m and y. */
static const uint32_t hues[] = {0xff0000, 0x008000, 0x0000ff, 0x00bfbf, 0xbf00bf, 0xbfbf00};

enum { HUES = sizeof hues / sizeof *hues, TURNS = 16, RINGS = 200, RINGS_CLEAR = 8 };

struct scene {
    struct scale scale; /* scale of all three axes */
    struct box area;
    struct point origin, *tips; /* [count] tips of the arrows */
    struct box *names;          /* [count] boxes around the names of tokens */
    size_t count;
};

bool sheet_is_spatial(const struct sheet *sheet)
{
    const char *columns = sheet->columns.name;
    return sheet->columns.size == 3 &&
           (strcmp(columns, "channel") == 0 || strcmp(columns, "dim") == 0);
}

void arrows_fit(struct section *section)
{
    double gap = section->style->form.font_size > 0 ? section->style->form.font_size : 9;
    double line = section_line(section, TYPE_NAME);
    section->panels = section->what.layers * section->what.heads;
    section->across = section->panels;
    while (section->across > 1 && section->limit / (double)section->across < LARGEST / 2)
        section->across = (section->across + 1) / 2;
    double across = (double)section->across;
    double side = fmin((section->limit + gap) / across - gap, LARGEST);
    section->area = (struct box){0, section->panels > 1 ? line : 0, side, side};
    section->top = section->head;
    section->panel_width = side + gap;
    section->panel_height = section->area.y + side + gap;
    section->width = across * section->panel_width - gap;
    section->foot = section->top +
                    section->panel_height * (double)axis_cells(section->panels, section->across) -
                    gap;
}

/* Project a point in space to the page: a parallel projection with matplotlib's default view,
 * azimuth -60 and elevation 30 degrees. */
static struct point project(const struct scene *scene, double x, double y, double z)
{
    double low = scene->scale.low, range = scene->scale.high - low;
    double scale =
        /* in this projection, a cube of side 1 is 1.366 wide and 1.549 high */
        (scene->area.width - 2 * LABELS) / 1.366;
    scale = fmin(scale, (scene->area.height - LABELS) / 1.549);
    x = (x - low) / range;
    y = (y - low) / range;
    z = (z - low) / range;
    double right = 0.866 * x + 0.5 * y;
    double up = -0.25 * x + 0.433 * y + 0.866 * z;
    return (struct point){scene->area.x + scene->area.width / 2 + scale * (right - 0.683),
                          scene->area.y + (1.299 - up) * scale};
}

/* Draw the floor and the two back walls, with grid lines, and the numbers and names of the axes. */
static void draw_box(const struct section *section, struct canvas *canvas,
                     const struct scene *scene)
{
    struct font font = section_font(section, TYPE_NUMBER, 0x555555);
    double low = scene->scale.low, high = scene->scale.high, step = scene->scale.step;
    for (double i = round(low / step); i * step <= high + 1e-9; i++) {
        char text[NUMERAL_BYTES];
        double at = i * step + 0.0; /* + 0.0 avoids -0 */
        struct point x = project(scene, at, low, low), x_back = project(scene, at, high, low);
        struct point y = project(scene, high, at, low), y_back = project(scene, low, at, low);
        struct point z = project(scene, low, low, at), z_back = project(scene, low, high, at);
        const struct stroke lines[] = {{x, x_back}, {x_back, project(scene, at, high, high)},
                                       {y, y_back}, {y_back, project(scene, low, at, high)},
                                       {z, z_back}, {z_back, project(scene, high, high, at)}};
        canvas->strokes(canvas, lines, sizeof lines / sizeof *lines, true, &grid);
        numeral_write(text, scene->scale.numeral, (float)at);
        font.anchor = ANCHOR_END;
        canvas->text(canvas, (struct point){x.x, x.y + font.size + GAP}, text, &font);
        canvas->text(canvas, (struct point){z.x - 2 * GAP, z.y}, text, &font);
        font.anchor = ANCHOR_START;
        canvas->text(canvas, (struct point){y.x + 2 * GAP, y.y + font.size / 2}, text, &font);
    }
    /* the name of an axis is centred between two numbers of the axis */
    double middle = (floor((low + high) / 2 / step + 1e-9) + 0.5) * step;
    double out = LABELS * 0.7;
    double left = fmax(out, 2 * (font.size + GAP)); /* distance between the vertical axis and its
                                                     * name, which is left of its numbers */
    font = section_font(section, TYPE_NAME, 0x111111);
    font.anchor = ANCHOR_MIDDLE;
    struct point x = project(scene, middle, low, low), y = project(scene, high, middle, low);
    struct point z = project(scene, low, low, middle);
    canvas->text(canvas, (struct point){x.x - out / 2, x.y + out + font.size / 2}, "0", &font);
    canvas->text(canvas, (struct point){y.x + out, y.y + out}, "2", &font);
    canvas->text(canvas, (struct point){z.x - left, z.y + font.size / 3}, "1", &font);
}

/* True if the line between two points crosses the box. */
static bool box_is_crossed(struct box box, struct point from, struct point to)
{
    const double at[] = {from.x, from.y}, by[] = {to.x - from.x, to.y - from.y};
    const double low[] = {box.x, box.y}, high[] = {box.x + box.width, box.y + box.height};
    /* where the line enters and leaves the box, as shares of its length */
    double enter = 0, leave = 1;
    for (int i = 0; i < 2; i++) {
        if (by[i] == 0 && (at[i] < low[i] || at[i] > high[i]))
            return false;
        if (by[i] == 0)
            continue;
        double a = (low[i] - at[i]) / by[i], b = (high[i] - at[i]) / by[i];
        enter = fmax(enter, fmin(a, b));
        leave = fmin(leave, fmax(a, b));
    }
    return enter <= leave;
}

/* Place the name of an arrow near its tip, on the side away from the origin if possible. On the
 * first RINGS_CLEAR rings around the tip, the name must cross neither an earlier name nor an arrow;
 * on later rings, it must cross no earlier name. */
static struct box place_name(const struct scene *scene, size_t own, double width, double height)
{
    const struct box *area = &scene->area;
    struct point tip = scene->tips[own], origin = scene->origin;
    double away = atan2(tip.y - origin.y, tip.x - origin.x);
    struct box box = {0};
    for (int ring = 0; ring < RINGS; ring++)
        for (int turn = 0; turn < TURNS; turn++) {
            int half = (turn + 1) / 2 * (turn % 2 ? 1 : -1);
            double angle = away + 2 * acos(-1) * half / TURNS;
            double far = NEAR + 0.5 * height * (ring < RINGS_CLEAR ? ring : ring - RINGS_CLEAR);
            box = (struct box){tip.x + cos(angle) * (far + width / 2) - width / 2,
                               tip.y + sin(angle) * (far + height / 2) - height / 2, width, height};
            bool is_free = box.x >= area->x && box.x + width <= area->x + area->width;
            for (size_t i = 0; i < own && is_free; i++) {
                const struct box *name = &scene->names[i];
                is_free = box.x >= name->x + name->width || name->x >= box.x + box.width ||
                          box.y >= name->y + name->height || name->y >= box.y + box.height;
            }
            double head = BARB * sin(BARB_TURN); /* half the width of an arrow's head */
            struct box wider = {box.x - head, box.y - head, width + 2 * head, height + 2 * head};
            for (size_t i = 0; i < scene->count && is_free && ring < RINGS_CLEAR; i++)
                is_free = !box_is_crossed(i == own ? box : wider, origin, scene->tips[i]);
            if (is_free)
                return box;
        }
    return box;
}

/* Return the distance between two points. This does not call hypot: a program linked with hypot of
 * glibc 2.35 needs that version of glibc or a later one. */
static double distance(struct point a, struct point b)
{
    double x = a.x - b.x, y = a.y - b.y;
    return sqrt(x * x + y * y);
}

/* Draw a token's arrow and its name. If the name is far from the tip, also draw a line between
 * them. */
static void draw_token(const struct section *section, struct canvas *canvas, struct scene *scene,
                       size_t row, const char *name)
{
    struct font font = section_font(section, TYPE_NAME, 0x111111);
    struct pen pen = {colour_of_hex(hues[row % HUES]), WIDTH, 1};
    double share = ((double)row + 0.5) / (double)scene->count;
    double width = fmin(letters_width(name, font.size) + GAP, scene->area.width / 3);
    double height = font.size + GAP;
    struct box box = scene->names[row] = place_name(scene, row, width, height);
    struct point from = scene->origin, tip = scene->tips[row];
    struct point middle = {box.x + width / 2, box.y + height / 2};
    double back = atan2(from.y - tip.y, from.x - tip.x);
    double barb = fmin(BARB, distance(tip, from) / 2);
    const struct point head[] = {
        {tip.x + barb * cos(back - BARB_TURN), tip.y + barb * sin(back - BARB_TURN)},
        tip,
        {tip.x + barb * cos(back + BARB_TURN), tip.y + barb * sin(back + BARB_TURN)}};
    if (section->style->palette) /* skip the first colours, since palettes may begin with white */
        pen.colour = section->ramp.colours[(size_t)(RAMP_LEVELS * (0.2 + 0.8 * share))];
    canvas->open(canvas, name);
    canvas->path(canvas, (struct point[]){from, tip}, 2, &pen);
    canvas->path(canvas, head, 3, &pen);
    pen.width = grid.width;
    if (distance(middle, tip) > NEAR + width / 2 + height)
        canvas->path(canvas, (struct point[]){tip, middle}, 2, &pen);
    canvas_text_fit(canvas, (struct point){box.x + GAP / 2, box.y + font.size - GAP / 2}, name,
                    width, &font);
    canvas->close(canvas);
}

void arrows_draw(const struct section *section, const struct sheet *sheet, struct canvas *canvas,
                 struct box area)
{
    struct arena arena = {0};
    struct extent found = section->norms.found;
    double low = fmin(0, (double)found.low), high = fmax(0, (double)found.high);
    size_t count = sheet->rows.size;
    struct scene scene = {.area = area, .count = count};
    scene.tips = arena_alloc(&arena, count, sizeof *scene.tips, canvas->err);
    scene.names = arena_alloc(&arena, count, sizeof *scene.names, canvas->err);
    high = high > low ? high : 1;
    scene.scale = scale_around(low, high, nice_step(1.25 * (high - low)));
    scene.origin = project(&scene, 0, 0, 0);
    draw_box(section, canvas, &scene);
    for (size_t i = 0; !canvas->err->kind && i < count; i++) {
        double at[3];
        for (size_t k = 0; k < 3; k++) {
            float value = sheet_cell(sheet, i, k);
            at[k] = isfinite(value) ? (double)value : 0;
        }
        scene.tips[i] = project(&scene, at[0], at[2], at[1]);
    }
    for (size_t i = 0; !canvas->err->kind && i < count; i++)
        draw_token(section, canvas, &scene, i, sheet->rows.labels[i].text);
    arena_release(&arena);
}
