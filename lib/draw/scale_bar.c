#include "draw/figure.h"

#include <math.h>
#include <stdio.h>

#include "base/num.h"

enum { TICKS_MAX = 7, NUMBER_BYTES = 32, STEPS = 64 };

static const double BAR_WIDTH = 138, BAR_HEIGHT = 6;
static const double BAR_LEAST = 0.4; /* of a printed width; its title may have the rest */
static const double END_ROOM = 3.3; /* of a number beside the bar's end, in sizes: "≤ -1.23e+07" */
static const double TICK = 2;
static const struct pen edge = {{0x99, 0x99, 0x99}, 0.4, 1};

/* --- the scale -------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, so that at most five steps make `whole`. */
static double nice_step(double whole)
{
    double power = pow(10, floor(log10(whole / 5)));
    double steps = whole / 5 / power;
    return power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
}

struct ticks {
    size_t count;
    float values[2 * TICKS_MAX];
};

static void add_tick(struct ticks *ticks, double value)
{
    if (ticks->count < sizeof ticks->values / sizeof *ticks->values)
        ticks->values[ticks->count++] = (float)value;
}

/* Even steps; on a logarithmic scale, powers of ten below the highest. */
static struct ticks choose_ticks(const struct tone *tone)
{
    struct ticks ticks = {0};
    double low = (double)tone_ends(tone).low;
    double high = (double)tone_ends(tone).high;
    double most = fmax(-low, high);
    if (most <= 0)
        return ticks;
    if (tone->scale == COLOURS_LOG) {
        double power = pow(10, floor(log10(most)));
        for (int i = 0; i < 4; i++, power /= 10) {
            add_tick(&ticks, power);
            if (low < 0)
                add_tick(&ticks, -power);
        }
        add_tick(&ticks, 0);
        return ticks;
    }
    double step = nice_step(tone->two_sided ? 2 * most : high - low);
    for (double i = ceil(low / step - 1e-9); i * step <= high * (1 + 1e-6); i++)
        add_tick(&ticks, i * step + 0.0); /* no -0 */
    return ticks;
}

static void draw_tick(const struct section *section, struct canvas *canvas, struct box bar,
                      double share, const char *text)
{
    struct lettering lettering = section_letters(section, TYPE_NUMBER, 0x333333);
    double x = bar.x + share * bar.width;
    double below = bar.y + bar.height;
    struct stroke stroke = {{x, below}, {x, below + TICK}};
    lettering.anchor = ANCHOR_MIDDLE;
    canvas_strokes(canvas, &stroke, 1, &edge);
    canvas_text(canvas, (struct point){x, below + section_line(section, TYPE_NUMBER)}, text,
                &lettering);
}

/* The numbers below a bar, and where they stand: one that would touch another is left out. */
struct tick_row {
    const struct section *section;
    struct canvas *canvas;
    struct box bar;
    double taken[2 * TICKS_MAX + 2][2];
    size_t count;
};

static void put_tick(struct tick_row *row, double share, const char *sign, float value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%s%.3g", sign, (double)value);
    double half = letters_width(text, type_size(&row->section->style->form, TYPE_NUMBER)) / 2 + 1.5;
    double from = share * row->bar.width - half;
    double to = from + 2 * half;
    for (size_t i = 0; i < row->count; i++)
        if (to > row->taken[i][0] && from < row->taken[i][1])
            return;
    row->taken[row->count][0] = from;
    row->taken[row->count++][1] = to;
    draw_tick(row->section, row->canvas, row->bar, share, text);
}

/* Both ends have their numbers; one that stands for what lies beyond it, too, says so. */
static void draw_ticks(const struct section *section, struct canvas *canvas, struct box bar)
{
    const struct tones *tones = &section->tones;
    struct ticks ticks = choose_ticks(&tones->whole);
    struct extent ends = tone_ends(&tones->whole);
    struct tick_row row = {.section = section, .canvas = canvas, .bar = bar};
    if (ticks.count && (ends.low < 0 || *tones_below(tones)))
        put_tick(&row, 0, tones_below(tones), ends.low);
    if (ticks.count)
        put_tick(&row, 1, tones_above(tones), ends.high);
    for (size_t i = 0; i < ticks.count; i++)
        put_tick(&row, (double)tone_share(&tones->whole, ticks.values[i]), "", ticks.values[i]);
}

/* Where heads or rows have their own ranges there are no numbers, only ends. */
static void draw_ends(const struct section *section, struct canvas *canvas, struct box bar)
{
    bool two_sided = section->tones.whole.two_sided;
    const char *high =
        section->style->range == RANGE_ROW ? "highest of the row" : "highest of the head";
    if (two_sided)
        draw_tick(section, canvas, bar, 0.5, "0");
    draw_tick(section, canvas, bar, two_sided ? 1 : 0, two_sided ? "largest" : "0");
    draw_tick(section, canvas, bar, two_sided ? 0 : 1, two_sided ? "-largest" : high);
}

static void draw_bar(const struct section *section, struct canvas *canvas, struct box bar)
{
    unsigned char levels[STEPS];
    struct cells cells = {.rows = 1, .columns = STEPS, .levels = levels};
    for (size_t i = 0; i < STEPS; i++)
        levels[i] = (unsigned char)(1 + i * (RAMP_LEVELS - 2) / (STEPS - 1));
    canvas_cells(canvas, bar, &cells, &section->ramp);
    canvas_frame(canvas, bar, &edge);
    bool own_ranges = section->style->range == RANGE_ROW ||
                      (section->style->range == RANGE_HEAD && section->panels > 1);
    if (own_ranges)
        draw_ends(section, canvas, bar);
    else
        draw_ticks(section, canvas, bar);
}

/* --- the heads of an overlay ------------------------------------------------------------------ */

static const double LEGEND_PITCH = 7; /* in sizes of letters, as are these */
static const double LEGEND_MARK = 1;

static double legend_pitch(const struct section *section)
{
    return LEGEND_PITCH * type_size(&section->style->form, TYPE_NUMBER);
}

static size_t legend_across(const struct section *section)
{
    double width = section_is_printed(section) ? section->room : section->width;
    return num_min(num_max((size_t)(width / legend_pitch(section)), 1), section->what.heads);
}

static void draw_legend(const struct section *section, struct canvas *canvas, struct point corner)
{
    const struct lettering letters = section_letters(section, TYPE_NUMBER, 0x333333);
    size_t across = legend_across(section);
    double mark = LEGEND_MARK * letters.size;
    for (size_t i = 0; i < section->what.heads; i++) {
        char name[NUMBER_BYTES];
        double x = corner.x + legend_pitch(section) * (double)(i % across);
        double y = corner.y + section_line(section, TYPE_NUMBER) * (double)(i / across);
        snprintf(name, sizeof name, "head %d", section->what.sheets[i].head);
        canvas_rect(canvas, (struct box){x, y, mark, mark}, palette_line(i, section->what.heads));
        canvas_text(canvas, (struct point){x + mark + 3, y + mark - 0.5}, name, &letters);
    }
}

/* Numbers without colours need no scale. */
static bool has_bar(const struct section *section)
{
    int decimals = 0;
    return !section->what.barless &&
           (section->kind != KIND_MATRIX || section->style->cells != CELLS_NUMBERS ||
            !panel_has_numbers(section, &decimals));
}

static double height_of_scale(const struct section *section)
{
    size_t across = legend_across(section);
    if (section->kind == KIND_OVERLAY)
        return section_line(section, TYPE_NUMBER) *
               (double)((section->what.heads + across - 1) / across);
    return has_bar(section) ? BAR_HEIGHT + section_line(section, TYPE_NUMBER) + 1 : 0;
}

int scale_bar_fit(struct section *section, struct arena *arena, struct err *err)
{
    double size = type_size(&section->style->form, TYPE_NUMBER);
    if (section_notes_make(section, arena, err))
        return -1;
    if (has_bar(section) && !section_is_printed(section))
        section->width = fmax(section->width, section->left + BAR_WIDTH + 2 * size +
                                                  letters_width(section->bar_title, size));
    double height = height_of_scale(section) + section_notes_height(section) + 3;
    section->height = section->foot + height;
    return 0;
}

/* Beside the bar, of a section that begins so far at the left. */
static int draw_title(const struct section *section, struct canvas *canvas, struct box bar,
                      double left, struct err *err)
{
    const struct lettering letters = section_letters(section, TYPE_NUMBER, 0x333333);
    double x = bar.x + bar.width + 2 * letters.size; /* clear of the last number */
    double room = section->bar_room - (bar.x - left) - bar.width - 2 * letters.size;
    struct point at = {x, bar.y + bar.height};
    return room > 2 * letters.size
               ? canvas_text_fit(canvas, at, section->bar_title, room, &letters, err)
               : 0;
}

static struct box place_bar(const struct section *section, struct point corner)
{
    struct box bar = {corner.x + section->left, corner.y, BAR_WIDTH, BAR_HEIGHT};
    if (!section_is_printed(section))
        return bar;
    double left = fmax(section->left, END_ROOM * type_size(&section->style->form, TYPE_NUMBER));
    bar.x = corner.x + left;
    double size = type_size(&section->style->form, TYPE_NUMBER);
    double title = letters_width(section->bar_title, size);
    double room = section->bar_room - left;
    bar.width = fmin(BAR_WIDTH, fmax(BAR_LEAST * room, room - title - 2.1 * size));
    return bar;
}

int scale_bar_draw(const struct section *section, struct canvas *canvas, struct point corner,
                   struct err *err)
{
    struct box bar = place_bar(section, corner);
    int failed = 0;
    if (section->kind == KIND_OVERLAY) {
        draw_legend(section, canvas, corner);
    } else if (has_bar(section)) {
        draw_bar(section, canvas, bar);
        failed = draw_title(section, canvas, bar, corner.x, err);
    }
    section_notes_draw(section, canvas,
                       (struct point){corner.x, corner.y + height_of_scale(section)});
    return failed;
}
