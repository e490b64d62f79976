/* bars.c: the numbers of a section that are farthest from 0: a name, a bar to the right or the left
 * of 0, a number. */
#include "draw/figure.h"

#include <math.h>

static const double SUBTITLE = 15, PITCH = 12, THICK = 8, LONGEST = 220;
static const double NAMES_MOST = 190, GAP = 6, NUMBER_GAP = 3;
static const struct lettering name = {.size = 7, .anchor = ANCHOR_END};
static const struct lettering number = {.size = 6, .colour = {0x33, 0x33, 0x33}};
static const struct pen zero_line = {{0x99, 0x99, 0x99}, 0.5, 1};

/* How far the bars reach on either side of 0, and the room of the widest number. */
struct reach {
    float below, above;
    double number;
    struct numeral numeral;
};

static struct reach reach_of(const struct strongest *strongest)
{
    struct reach reach = {0};
    float values[STRONGEST_MAX];
    char text[NUMERAL_BYTES];
    for (size_t i = 0; i < strongest->count; i++) {
        values[i] = strongest->cells[i].value;
        reach.below = fmaxf(reach.below, -values[i]);
        reach.above = fmaxf(reach.above, values[i]);
    }
    reach.numeral = numeral_of(values, strongest->count, NUMERAL_DIGITS);
    for (size_t i = 0; i < strongest->count; i++) {
        numeral_write(text, reach.numeral, values[i]);
        reach.number = fmax(reach.number, letters_width(text, number.size) + NUMBER_GAP);
    }
    return reach;
}

/* Points for a number. */
static double scale_of(const struct reach *reach)
{
    double whole = (double)reach->below + (double)reach->above;
    return whole > 0 ? LONGEST / whole : 0;
}

/* Where 0 is. */
static double zero_of(const struct section *section, const struct reach *reach)
{
    double left = reach->below > 0 ? reach->number + (double)reach->below * scale_of(reach) : 0;
    return section->left + GAP + left;
}

int bars_fit(struct section *section, struct arena *arena, struct err *err)
{
    struct strongest *strongest = arena_alloc(arena, 1, sizeof *strongest, err);
    const char **names = arena_alloc(arena, STRONGEST_MAX, sizeof *names, err);
    if (!strongest || !names)
        return -1;
    for (size_t i = 0; i < section->layers * section->heads; i++)
        strongest_add(strongest, &section->sheets[i]);
    for (size_t i = 0; i < strongest->count; i++) {
        struct buf text = {0};
        strong_cell_name(&text, &strongest->cells[i]);
        names[i] = buf_keep(&text, arena, err);
        if (!names[i])
            return -1;
        section->left = fmin(fmax(section->left, letters_width(names[i], name.size)), NAMES_MOST);
    }
    struct reach reach = reach_of(strongest);
    double right = reach.above > 0 ? (double)reach.above * scale_of(&reach) + reach.number : 0;
    section->strongest = strongest;
    section->strong_names = names;
    section->width = zero_of(section, &reach) + right;
    section->height = SUBTITLE + PITCH * (double)strongest->count;
    return 0;
}

int bars_draw(const struct section *section, struct canvas *canvas, struct point corner,
              struct err *err)
{
    const struct strongest *strongest = section->strongest;
    struct reach reach = reach_of(strongest);
    double zero = corner.x + zero_of(section, &reach);
    for (size_t i = 0; i < strongest->count; i++) {
        float value = strongest->cells[i].value;
        double y = corner.y + PITCH * (double)i;
        double length = fabs((double)value) * scale_of(&reach);
        double base = y + THICK - 1;
        struct lettering its = number;
        char text[NUMERAL_BYTES];
        its.anchor = value > 0 ? ANCHOR_START : ANCHOR_END;
        numeral_write(text, reach.numeral, value);
        if (canvas_text_fit(canvas, (struct point){corner.x + section->left, base},
                            section->strong_names[i], NAMES_MOST, &name, err))
            return -1;
        canvas_rect(canvas, (struct box){value > 0 ? zero : zero - length, y, length, THICK},
                    section->ramp.colours[value > 0 ? RAMP_LEVELS * 5 / 6 : RAMP_LEVELS / 6]);
        canvas_text(canvas,
                    (struct point){
                        value > 0 ? zero + length + NUMBER_GAP : zero - length - NUMBER_GAP, base},
                    text, &its);
    }
    double end = corner.y + PITCH * (double)strongest->count;
    canvas_path(canvas, (struct point[]){{zero, corner.y - 1}, {zero, end - 3}}, 2, &zero_line);
    return 0;
}
