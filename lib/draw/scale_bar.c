#include "draw/figure.h"

#include <math.h>
#include <stdio.h>

#include "base/num.h"

enum { TICKS_MAX = 7, NUMBER_BYTES = 32, STEPS = 64 };

static const double BAR_WIDTH = 138, BAR_HEIGHT = 6;
static const double TICK = 2, TICK_ROOM = 9;
static const double NOTE_ROOM = 9;
static const struct lettering number = {.size = 6, .colour = {0x33, 0x33, 0x33}};
static const struct lettering note = {.size = 6, .colour = {0x66, 0x66, 0x66}};
static const struct pen edge = {{0x99, 0x99, 0x99}, 0.4, 1};

/* --- notes ------------------------------------------------------------------------------------ */

/* What must be said besides, a line each. */
static int write_notes(struct section *section, struct arena *arena, struct err *err)
{
    size_t rows = section->rows.step;
    size_t columns = section->columns.step;
    bool lines = section->kind == KIND_LINES || section->kind == KIND_OVERLAY;
    bool wanted = section->style->cells == CELLS_NUMBERS || section->style->cells == CELLS_BOTH;
    int decimals = 0;
    const char **next = section->notes;
    if (section->note)
        *next++ = section->note;
    if (section->style->range == RANGE_HEAD && section->panels > 1)
        *next++ = "every head has its own range";
    if (section->style->range == RANGE_ROW)
        *next++ = "every row has its own range";
    if ((rows > 1 || columns > 1) &&
        !(*next++ = arena_format(arena, err, "a %s stands for the largest of %zu × %zu numbers",
                                 lines ? "line" : "cell", rows, columns)))
        return -1;
    if (wanted && !lines && !panel_has_numbers(section, &decimals))
        *next++ = "the cells have no room for numbers";
    if (lines && !(*next++ = arena_format(arena, err, "no line below %.0f %% of the highest",
                                          100 * PANEL_LINES_LEAST)))
        return -1;
    if (section->first_hidden)
        *next++ = "the first token is hidden";
    section->note_count = (size_t)(next - section->notes);
    return 0;
}

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

static void draw_tick(struct canvas *canvas, struct box bar, double share, const char *text)
{
    struct lettering lettering = number;
    double x = bar.x + share * bar.width;
    double below = bar.y + bar.height;
    struct stroke stroke = {{x, below}, {x, below + TICK}};
    lettering.anchor = ANCHOR_MIDDLE;
    canvas_strokes(canvas, &stroke, 1, &edge);
    canvas_text(canvas, (struct point){x, below + TICK_ROOM}, text, &lettering);
}

/* The numbers below a bar, and where they stand: one that would touch another is left out. */
struct tick_row {
    struct canvas *canvas;
    struct box bar;
    double taken[2 * TICKS_MAX + 2][2];
    size_t count;
};

static void put_tick(struct tick_row *row, double share, const char *sign, float value)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%s%g", sign, (double)value);
    double half = letters_width(text, number.size) / 2 + 1.5;
    double from = share * row->bar.width - half;
    double to = from + 2 * half;
    for (size_t i = 0; i < row->count; i++)
        if (to > row->taken[i][0] && from < row->taken[i][1])
            return;
    row->taken[row->count][0] = from;
    row->taken[row->count++][1] = to;
    draw_tick(row->canvas, row->bar, share, text);
}

/* An end that stands for what lies beyond it, too, says so. */
static void draw_ticks(const struct tones *tones, struct canvas *canvas, struct box bar)
{
    struct ticks ticks = choose_ticks(&tones->whole);
    struct extent ends = tone_ends(&tones->whole);
    struct tick_row row = {.canvas = canvas, .bar = bar};
    if (*tones_below(tones))
        put_tick(&row, 0, tones_below(tones), ends.low);
    if (*tones_above(tones))
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
        draw_tick(canvas, bar, 0.5, "0");
    draw_tick(canvas, bar, two_sided ? 1 : 0, two_sided ? "largest" : "0");
    draw_tick(canvas, bar, two_sided ? 0 : 1, two_sided ? "-largest" : high);
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
        draw_ticks(&section->tones, canvas, bar);
}

/* --- the heads of an overlay ------------------------------------------------------------------ */

static const double LEGEND_PITCH = 42, LEGEND_MARK = 6;

static size_t legend_across(const struct section *section)
{
    return num_min((size_t)(section->width / LEGEND_PITCH), section->heads);
}

static void draw_legend(const struct section *section, struct canvas *canvas, struct point corner)
{
    size_t across = legend_across(section);
    for (size_t i = 0; i < section->heads; i++) {
        char name[NUMBER_BYTES];
        double x = corner.x + LEGEND_PITCH * (double)(i % across);
        double y = corner.y + NOTE_ROOM * (double)(i / across);
        snprintf(name, sizeof name, "head %d", section->sheets[i].head);
        canvas_rect(canvas, (struct box){x, y, LEGEND_MARK, LEGEND_MARK},
                    palette_line(i, section->heads));
        canvas_text(canvas, (struct point){x + LEGEND_MARK + 3, y + LEGEND_MARK - 0.5}, name,
                    &number);
    }
}

/* Numbers without colours need no scale. */
static bool has_bar(const struct section *section)
{
    int decimals = 0;
    return section->kind != KIND_MATRIX || section->style->cells != CELLS_NUMBERS ||
           !panel_has_numbers(section, &decimals);
}

static double height_of_scale(const struct section *section)
{
    size_t across = legend_across(section);
    if (section->kind == KIND_OVERLAY)
        return NOTE_ROOM * (double)((section->heads + across - 1) / across);
    return has_bar(section) ? BAR_HEIGHT + TICK_ROOM + 1 : 0;
}

int scale_bar_fit(struct section *section, struct arena *arena, struct err *err)
{
    if (write_notes(section, arena, err))
        return -1;
    if (section->note) /* the others are short */
        section->width = fmax(section->width, letters_width(section->note, note.size));
    double height = height_of_scale(section) + NOTE_ROOM * (double)section->note_count + 3;
    section->height = section->foot + height;
    return 0;
}

void scale_bar_draw(const struct section *section, struct canvas *canvas, struct point corner)
{
    double y = corner.y + height_of_scale(section);
    struct box bar = {corner.x + section->left, corner.y, BAR_WIDTH, BAR_HEIGHT};
    if (section->kind == KIND_OVERLAY)
        draw_legend(section, canvas, corner);
    else if (has_bar(section))
        draw_bar(section, canvas, bar);
    for (size_t i = 0; i < section->note_count; i++)
        canvas_text(canvas, (struct point){corner.x, y + NOTE_ROOM * (double)(i + 1)},
                    section->notes[i], &note);
}
