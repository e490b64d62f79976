#include "write/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "write/text_line.h"

/* --- colours ---------------------------------------------------------------------------------- */

enum {
    QUIET = 10
}; /* levels from the end, or the middle, that is 0 without a colour of their own */

/* How far a level is from 0; negative below it. */
static int loudness(const struct text_heat *heat, unsigned level)
{
    return (int)level - (heat->norms.whole.two_sided ? RAMP_LEVELS / 2 : 1);
}

static bool is_quiet(const struct text_heat *heat, unsigned level)
{
    return level == 0 || abs(loudness(heat, level)) < QUIET;
}

/* The colours that terminals of 256 have after the first 16, which are the user's own: a cube of
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

/* The code that gives a cell one of the few colours of any terminal: ground and letters. */
static const char *few_of(const struct text_heat *heat, unsigned level)
{
    /* from quiet to loud, on a light ground and on a dark one */
    static const char *const rising[2][4] = {{"106;30", "46;30", "104;30", "44;97"},
                                             {"44;97", "46;30", "106;30", "107;30"}};
    static const char *const below[2][2] = {{"104;30", "44;97"}, {"44;97", "46;30"}};
    static const char *const above[2][2] = {{"103;30", "43;30"}, {"43;30", "103;30"}};
    int loud = loudness(heat, level);
    if (is_quiet(heat, level))
        return "107;30";
    if (!heat->norms.whole.two_sided)
        return rising[heat->dark][loud * 4 / RAMP_LEVELS];
    int step = abs(loud) * 2 / (RAMP_LEVELS / 2 + 1);
    return (loud < 0 ? below : above)[heat->dark][step];
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
    struct colour ground = heat->ramp.colours[level];
    int letters = colour_ink(ground).red ? 231 : 16; /* white or black, which no theme changes */
    if (heat->depth == DEPTH_FULL)
        buf_format(line, "\x1b[48;2;%d;%d;%d;38;5;%dm", ground.red, ground.green, ground.blue,
                   letters);
    else if (heat->depth == DEPTH_256)
        buf_format(line, "\x1b[48;5;%d;38;5;%dm", heat->fixed[level], letters);
    else
        buf_format(line, "\x1b[%sm", few_of(heat, level));
    heat->set = level;
}

/* The character for a level. */
static const char *shade_of(const struct text_heat *heat, unsigned level)
{
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    int whole = heat->norms.whole.two_sided ? RAMP_LEVELS / 2 : RAMP_LEVELS;
    return is_quiet(heat, level) ? " " : shades[1 + abs(loudness(heat, level)) * 4 / (whole + 1)];
}

/* -1.03 ▓▒░  ░▒▓ ≥ 1.03 */
void text_heat_legend(struct buf *line, struct text_heat *heat)
{
    enum { STEPS = 24 };
    const struct colour_norms *norms = &heat->norms;
    struct extent ends = norm_ends(&norms->whole);
    bool known = norms->range == RANGE_ALL;
    if (known)
        buf_format(line, "%s%.4g ", norms_below(norms), (double)ends.low);
    else
        buf_text(line, norms->whole.two_sided ? "-most " : "0 ");
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned level = 1 + i * (RAMP_LEVELS - 2) / (STEPS - 1);
        text_heat_set(line, heat, level);
        buf_text(line, heat->colours ? " " : shade_of(heat, level));
    }
    text_heat_reset(line, heat);
    if (known)
        buf_format(line, " %s%.4g", norms_above(norms), (double)ends.high);
    else
        buf_text(line,
                 norms->range == RANGE_ROW ? " the most of the row" : " the most of the head");
}

void text_heat_begin(struct text_heat *heat, struct stream *out, struct extent extent,
                     bool fraction, const struct place *place)
{
    const struct style *style = place->style ? place->style : &style_default;
    bool coloured = style->depth != DEPTH_NONE;
    enum style_cells cells = style->cells;
    if (cells == CELLS_FIT)
        cells = coloured ? CELLS_BOTH : CELLS_NUMBERS;
    *heat = (struct text_heat){
        .numbers = cells != CELLS_HEAT,
        .colours = cells != CELLS_NUMBERS && coloured,
        .shades = cells != CELLS_NUMBERS && !coloured,
        .depth = style->depth,
        .dark = style->dark,
    };
    heat->painted = heat->colours && style->any_ground;
    out->terminal.colours |= heat->colours;
    if (!heat->colours && !heat->shades)
        return;
    heat->norms = norms_of(extent, fraction, style, style->dark);
    ramp_make(&heat->ramp, heat->norms.palette);
    if (heat->depth == DEPTH_256)
        find_fixed(heat);
}

/* --- cells ------------------------------------------------------------------------------------ */

static const struct table_column *next_column(struct table *table)
{
    const struct table_column *column = &table->columns[table->next];
    if (++table->again >= column->repeat) {
        table->next++;
        table->again = 0;
    }
    return column;
}

/* Blanks before what has no colours; the margin of a cell that had some comes first. */
static void leave_gap(struct table *table, size_t gap)
{
    size_t margin = table->heat && table->heat->set ? table->margin : 0;
    text_blanks(&table->line, margin);
    if (table->heat)
        text_heat_reset(&table->line, table->heat);
    text_blanks_up_to(&table->line, gap, margin);
}

void table_text(struct table *table, const char *text)
{
    const struct table_column *column = next_column(table);
    struct buf *line = &table->line;
    size_t size = strlen(text);
    size_t width = column->width || column->shortens ? utf8_width(text, size) : 0;
    leave_gap(table, column->gap);
    if (column->shortens && width > column->width) {
        (column->left ? text_left : text_right)(line, text, column->width);
        return;
    }
    text_blanks_up_to(line, column->left ? 0 : column->width, width);
    buf_bytes(line, text, size);
    text_blanks_up_to(line, column->left ? column->width : 0, width);
}

void table_number(struct table *table, size_t number)
{
    char text[NUM_COUNT_BYTES + 1];
    text[num_count(text, number)] = '\0';
    table_text(table, text);
}

void table_put(struct table *table)
{
    struct buf *cell = &table->cell;
    if (cell->out_of_memory && !table->line.out_of_memory) {
        table->line.out_of_memory = true;
        table->line.wanted_bytes = cell->wanted_bytes;
    }
    table_text(table, cell->size ? cell->bytes : "");
    buf_clear(cell);
}

/* Blanks around a number have its colours: the second is written with the next cell. */
void table_heated(struct table *table, const char *number, unsigned level)
{
    struct buf *line = &table->line;
    struct text_heat *heat = table->heat;
    const struct table_column *column = next_column(table);
    size_t margin = column->gap > 0;
    size_t size =
        heat->numbers ? utf8_width(number, strlen(number)) : column->width - column->tight;
    bool is_cut = heat->numbers && column->shortens && size > column->width;
    size_t marks = heat->numbers ? margin : margin + column->width;
    const char *mark = heat->shades ? shade_of(heat, level) : " ";
    if (column->tight) {
        marks = heat->numbers ? 1 : column->width;
        text_blanks_up_to(line, column->gap + column->width, size + 1);
    } else {
        text_blanks(line, column->gap - margin);
    }
    text_heat_set(line, heat, level);
    for (size_t i = 0; i < marks; i++)
        buf_text(line, mark);
    if (heat->numbers && !column->tight)
        text_blanks_up_to(line, column->width, size);
    if (is_cut)
        text_left(line, number, column->width);
    else if (heat->numbers)
        buf_text(line, number);
    if (column->tight)
        text_heat_reset(line, heat);
    table->margin = margin;
}

void table_beside(struct table *table, size_t gap)
{
    leave_gap(table, gap);
    table->next = table->again = 0;
}

void table_end(struct table *table)
{
    struct err err = {0};
    leave_gap(table, 0);
    text_shorten(&table->line, table->page);
    text_end(table->out, &table->line, &err);
    table->next = table->again = 0;
}

void table_begin(struct table *table, const struct table_column *columns, size_t count)
{
    stream_char(table->out, '\n');
    table->columns = columns;
    table->count = count;
}

void table_titles(struct table *table)
{
    while (table->next < table->count) {
        const char *title = table->columns[table->next].title;
        table_text(table, title ? title : "");
    }
    table_end(table);
}

int table_close(struct table *table, struct err *err)
{
    int failed = buf_check(&table->line, err);
    buf_release(&table->line);
    buf_release(&table->cell);
    return failed;
}
