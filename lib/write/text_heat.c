#include "write/text_heat.h"

#include <float.h>
#include <stdlib.h>

#include "base/heap.h"

enum { QUIET = 10 }; /* levels from the quiet end that have no colour of their own */

static void choose(struct text_heat *heat, const struct style *style)
{
    enum style_cells cells = style->cells;
    if (cells == CELLS_FIT)
        cells = style->depth == DEPTH_NONE ? CELLS_NUMBERS : CELLS_BOTH;
    heat->numbers = cells != CELLS_HEAT;
    heat->colours = cells != CELLS_NUMBERS && style->depth != DEPTH_NONE;
    heat->shades = cells != CELLS_NUMBERS && style->depth == DEPTH_NONE;
    heat->depth = style->depth;
    heat->dark = style->dark;
    heat->painted = heat->colours && style->any_ground;
}

/* How far a level is from the end, or the middle, that stands for 0; negative below it. */
static int loudness(const struct text_heat *heat, unsigned level)
{
    return (int)level - (heat->tones.whole.two_sided ? RAMP_LEVELS / 2 : 1);
}

static bool is_quiet(const struct text_heat *heat, unsigned level)
{
    return level == 0 || abs(loudness(heat, level)) < QUIET;
}

/* The colours that terminals of 256 have beside the first 16, which are the user's own: a cube of
 * 6 · 6 · 6, then 24 greys. */
enum { FIXED_FIRST = 16, GREYS_FIRST = 232, FIXED_END = 256 };

static struct colour fixed_colour(int number)
{
    static const uint8_t steps[] = {0, 95, 135, 175, 215, 255};
    int cube = number - FIXED_FIRST;
    uint8_t grey = (uint8_t)(8 + 10 * (number - GREYS_FIRST));
    if (number >= GREYS_FIRST)
        return (struct colour){grey, grey, grey};
    return (struct colour){steps[cube / 36], steps[cube / 6 % 6], steps[cube % 6]};
}

/* For each level the fixed colour that looks most like it. */
static void find_fixed(struct text_heat *heat)
{
    struct oklab fixed[FIXED_END];
    for (int i = FIXED_FIRST; i < FIXED_END; i++)
        fixed[i] = oklab_of(fixed_colour(i));
    for (size_t level = 1; level < RAMP_LEVELS; level++) {
        struct oklab wanted = oklab_of(heat->ramp.colours[level]);
        int best = FIXED_FIRST;
        for (int i = FIXED_FIRST; i < FIXED_END; i++)
            if (oklab_distance(wanted, fixed[i]) < oklab_distance(wanted, fixed[best]))
                best = i;
        heat->fixed[level] = (uint8_t)best;
    }
}

/* Ground and letters of the few colours that any terminal has. */
struct few {
    int ground, letters;
};

/* From quiet to loud, on a light ground and on a dark one. */
static const struct few rising[2][4] = {{{106, 30}, {46, 30}, {104, 30}, {44, 97}},
                                        {{44, 97}, {46, 30}, {106, 30}, {107, 30}}};
static const struct few below[2][2] = {{{104, 30}, {44, 97}}, {{44, 97}, {46, 30}}};
static const struct few above[2][2] = {{{103, 30}, {43, 30}}, {{43, 30}, {103, 30}}};

static struct few few_of(const struct text_heat *heat, unsigned level)
{
    int loud = loudness(heat, level);
    if (is_quiet(heat, level))
        return (struct few){107, 30};
    if (!heat->tones.whole.two_sided)
        return rising[heat->dark][loud * 4 / RAMP_LEVELS];
    int step = abs(loud) * 2 / (RAMP_LEVELS / 2 + 1);
    return loud < 0 ? below[heat->dark][step] : above[heat->dark][step];
}

static void write_colours(struct buf *line, const struct text_heat *heat, unsigned level)
{
    struct colour ground = heat->ramp.colours[level];
    int letters = colour_ink(ground).red ? 231 : 16; /* white or black, which no theme changes */
    if (heat->depth == DEPTH_FULL) {
        buf_format(line, "\x1b[48;2;%d;%d;%d;38;5;%dm", ground.red, ground.green, ground.blue,
                   letters);
    } else if (heat->depth == DEPTH_256) {
        buf_format(line, "\x1b[48;5;%d;38;5;%dm", heat->fixed[level], letters);
    } else {
        struct few few = few_of(heat, level);
        buf_format(line, "\x1b[%d;%dm", few.ground, few.letters);
    }
}

void text_heat_reset(struct buf *line, struct text_heat *heat)
{
    if (heat->set)
        buf_text(line, "\x1b[0m");
    heat->set = 0;
}

void text_heat_set(struct buf *line, struct text_heat *heat, unsigned level)
{
    if (!heat->colours || level == heat->set)
        return;
    if (level == 0 || (is_quiet(heat, level) && !heat->painted)) {
        text_heat_reset(line, heat);
        return;
    }
    write_colours(line, heat, level);
    heat->set = level;
}

const char *text_heat_shade(const struct text_heat *heat, unsigned level)
{
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    int whole = heat->tones.whole.two_sided ? RAMP_LEVELS / 2 : RAMP_LEVELS;
    if (is_quiet(heat, level))
        return " ";
    return shades[1 + abs(loudness(heat, level)) * 4 / (whole + 1)];
}

/* -1.03 ▓▒░  ░▒▓ ≥ 1.03 */
void text_heat_legend(struct buf *line, struct text_heat *heat)
{
    enum { STEPS = 24 };
    const struct tones *tones = &heat->tones;
    struct extent ends = tone_ends(&tones->whole);
    bool known = tones->range == RANGE_ALL;
    if (known)
        buf_format(line, "%s%.4g ", tones_below(tones), (double)ends.low);
    else
        buf_text(line, tones->whole.two_sided ? "-most " : "0 ");
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned level = 1 + i * (RAMP_LEVELS - 2) / (STEPS - 1);
        text_heat_set(line, heat, level);
        buf_text(line, heat->colours ? " " : text_heat_shade(heat, level));
    }
    text_heat_reset(line, heat);
    if (known)
        buf_format(line, " %s%.4g", tones_above(tones), (double)ends.high);
    else
        buf_text(line,
                 tones->range == RANGE_ROW ? " the most of the row" : " the most of the head");
}

void text_heat_begin(struct text_heat *heat, struct stream *out, struct extent extent,
                     bool fraction, const struct place *place)
{
    const struct style *style = place->style ? place->style : &style_default;
    *heat = (struct text_heat){0};
    choose(heat, style);
    out->terminal.colours |= heat->colours;
    if (!heat->colours && !heat->shades)
        return;
    heat->tones = tones_of(extent, fraction, style, style->dark);
    ramp_make(&heat->ramp, heat->tones.palette);
    if (heat->depth == DEPTH_256)
        find_fixed(heat);
}

int text_heat_open(struct text_heat *heat, struct stream *out, const struct report *report,
                   const struct kept *kept, const struct place *place, struct err *err)
{
    size_t count = kept_sheet_count(kept);
    struct extent extent = {FLT_MAX, -FLT_MAX};
    bool fraction = false;
    for (size_t i = 0; i < count; i++) {
        struct sheet sheet = kept_sheet(report, kept, i);
        extent = extent_join(extent, extent_of_sheet(&sheet));
        fraction = sheet.fraction;
    }
    text_heat_begin(heat, out, extent, fraction, place);
    if ((!heat->colours && !heat->shades) || heat->tones.range != RANGE_HEAD)
        return 0;
    heat->heads = heap_alloc(count, sizeof *heat->heads, err);
    for (size_t i = 0; i < count && heat->heads; i++) {
        struct sheet sheet = kept_sheet(report, kept, i);
        heat->heads[i] = tone_of_sheet(&heat->tones, &sheet);
    }
    return heat->heads ? 0 : -1;
}

void text_heat_release(struct text_heat *heat)
{
    heap_free(heat->heads);
    *heat = (struct text_heat){0};
}

struct tone text_heat_tone(const struct text_heat *heat, size_t index, const struct sheet *sheet,
                           size_t row)
{
    return heat->heads ? heat->heads[index] : tone_of_row(&heat->tones, sheet, row);
}
