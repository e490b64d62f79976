/* bars.c: the numbers of a section that are farthest from 0: a name, a bar to the right or the left
 * of 0, a number. */
#include "draw/figure.h"

#include <math.h>

static const double PITCH = 12, THICK = 8, LONGEST = 220, SHORTEST = 4;
static const double NAMES_MOST = 190, GAP = 6, NUMBER_GAP = 3;
static const double ROUNDING = 1e-6;
static const double NAMES_SHARE = 0.45; /* the most of a printed width */
static const struct pen zero_line = {{0x99, 0x99, 0x99}, 0.5, 1};

/* How far the bars reach on either side of 0, and the room of the widest number. */
struct reach {
    float below, above;
    double number;
    struct numeral numeral;
    double longest; /* points, of all bars from the lowest to the highest number */
    double pitch, thick;
};

static struct reach reach_of(const struct section *section)
{
    const struct strongest *strongest = section->strongest;
    const struct figure_form *form = &section->style->form;
    double scale = type_size(form, TYPE_NAME) / 7;
    struct reach reach = {.longest = LONGEST, .pitch = PITCH * scale, .thick = THICK * scale};
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
        reach.number =
            fmax(reach.number, letters_width(text, type_size(form, TYPE_NUMBER)) + NUMBER_GAP);
    }
    double numbers = reach.number * ((reach.below > 0) + (reach.above > 0));
    if (section_is_printed(section))
        reach.longest = fmax(section->room - section->left - GAP - numbers, SHORTEST);
    return reach;
}

/* Points for a number. */
static double scale_of(const struct reach *reach)
{
    double whole = (double)reach->below + (double)reach->above;
    return whole > 0 ? reach->longest / whole : 0;
}

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
    const struct figure_form *form = &section->style->form;
    double most = section_is_printed(section) ? NAMES_SHARE * section->room : NAMES_MOST;
    for (size_t i = 0; i < section->what.layers * section->what.heads; i++)
        strongest_add(strongest, &section->what.sheets[i]);
    for (size_t i = 0; i < strongest->count; i++) {
        struct buf text = {0};
        strong_cell_name(&text, &strongest->cells[i]);
        names[i] = buf_keep(&text, arena, err);
        if (!names[i])
            return -1;
        double width = letters_width(names[i], type_size(form, TYPE_NAME));
        section->left = fmin(fmax(section->left, width), most);
    }
    section->strongest = strongest;
    struct reach reach = reach_of(section);
    double right = reach.above > 0 ? (double)reach.above * scale_of(&reach) + reach.number : 0;
    section->strong_names = names;
    section->width = zero_of(section, &reach) + right;
    section->height = section->head + reach.pitch * (double)strongest->count;
    return 0;
}

int bars_draw(const struct section *section, struct canvas *canvas, struct point corner,
              struct err *err)
{
    const struct strongest *strongest = section->strongest;
    struct lettering name = section_letters(section, TYPE_NAME, 0);
    struct lettering number = section_letters(section, TYPE_NUMBER, 0x333333);
    struct reach reach = reach_of(section);
    double zero = corner.x + zero_of(section, &reach);
    name.anchor = ANCHOR_END;
    for (size_t i = 0; i < strongest->count; i++) {
        float value = strongest->cells[i].value;
        double y = corner.y + reach.pitch * (double)i;
        double length = fabs((double)value) * scale_of(&reach);
        double base = y + reach.thick - 1;
        char text[NUMERAL_BYTES];
        number.anchor = value > 0 ? ANCHOR_START : ANCHOR_END;
        numeral_write(text, reach.numeral, value);
        if (canvas_text_fit(canvas, (struct point){corner.x + section->left, base},
                            section->strong_names[i], section->left + ROUNDING, &name, err))
            return -1;
        canvas_rect(canvas, (struct box){value > 0 ? zero : zero - length, y, length, reach.thick},
                    section->ramp.colours[value > 0 ? RAMP_LEVELS * 5 / 6 : RAMP_LEVELS / 6]);
        canvas_text(canvas,
                    (struct point){
                        value > 0 ? zero + length + NUMBER_GAP : zero - length - NUMBER_GAP, base},
                    text, &number);
    }
    double end = corner.y + reach.pitch * (double)strongest->count;
    canvas_path(canvas, (struct point[]){{zero, corner.y - 1}, {zero, end - 3}}, 2, &zero_line);
    return 0;
}
