#include "measure/head_scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "write/text_heat.h"
#include "write/text_line.h"

enum {
    NUMBER_BYTES = 64,
    VERDICT_GAP = 2,
    VERDICT_BELOW = 12, /* where it begins below the numbers, if there is room for it */
    VERDICT_LEAST = 12, /* columns: narrower, what a head does stands below its numbers */
};

/* How the columns stand. */
struct layout {
    size_t layer, head; /* widths */
    size_t gap;         /* before every number */
    size_t width;       /* of a number */
    int digits;
    bool brief; /* short words */
};

static const struct layout wide = {5, 6, 2, 9, 3, false};
static const struct layout narrow = {5, 5, 1, 5, 2, true};

struct table {
    const struct layout *layout;
    const struct place *place;
    struct text_heat heats[SCORES];
    size_t numbers; /* columns up to the end of the numbers that stand beside each other now */
    struct buf line;
};

static size_t width_of_numbers(const struct layout *layout, size_t count)
{
    return layout->layer + layout->head + count * (layout->gap + layout->width);
}

/* --- what a head is --------------------------------------------------------------------------- */

static bool is_clear(const struct head_line *line, int score)
{
    return score_rows[score].clear && line->scores[score] >= score_rows[score].from;
}

static const char *word_of(const struct layout *layout, int score)
{
    return layout->brief ? score_rows[score].heading : score_rows[score].clear;
}

static size_t verdict_width(const struct layout *layout, const struct head_line *line)
{
    size_t width = 0;
    for (int score = 0; score < SCORES; score++)
        if (is_clear(line, score))
            width += (width ? 2 : 0) + strlen(word_of(layout, score));
    return width;
}

/* Words go on below their own column, or, where there is no room for one, below the numbers. */
static int end_with_verdict(struct stream *out, struct table *table, const struct head_line *line,
                            struct err *err)
{
    size_t columns = table->place->columns;
    size_t begin = table->numbers + VERDICT_GAP;
    bool below = columns && columns < begin + VERDICT_LEAST;
    size_t at = below ? SIZE_MAX : begin - VERDICT_GAP;
    bool first = true;
    if (below)
        begin = columns < VERDICT_BELOW + VERDICT_LEAST ? VERDICT_GAP : VERDICT_BELOW;
    for (int score = 0; score < SCORES; score++) {
        const char *word = word_of(table->layout, score);
        if (!is_clear(line, score))
            continue;
        size_t width = strlen(word) + 2;
        buf_text(&table->line, first ? "" : ",");
        if (below ? first || at + width > columns : !first && columns && at + width > columns) {
            if (text_end(out, &table->line, err))
                return -1;
            text_blanks(&table->line, begin);
            at = begin - 2;
        } else {
            text_blanks(&table->line, first ? VERDICT_GAP : 1);
        }
        buf_text(&table->line, word);
        at += width;
        first = false;
    }
    return text_end(out, &table->line, err);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Numbers from `first` on, as many as fit below each other. */
static size_t scores_that_fit(const struct table *table)
{
    const struct layout *layout = table->layout;
    size_t columns = table->place->columns;
    size_t beside = layout->layer + layout->head;
    size_t room = columns > beside ? columns - beside : 0;
    size_t fitting = columns ? room / (layout->gap + layout->width) : SCORES;
    return fitting < 1 ? 1 : fitting < SCORES ? fitting : SCORES;
}

static void add_place(struct table *table, const struct head_line *line)
{
    buf_format(&table->line, "%*zu%*zu", (int)table->layout->layer, line->layer,
               (int)table->layout->head, line->head);
}

/* As many decimals as there is room for: a distance may have three digits before the point. */
static size_t write_number(char text[NUMBER_BYTES], const struct layout *layout, double value)
{
    size_t size = 0;
    for (int digits = layout->digits; digits >= 0; digits--) {
        size = (size_t)snprintf(text, NUMBER_BYTES, "%.*f", digits, value);
        if (size <= layout->width)
            break;
    }
    return size;
}

/* The blank before a number has its colour, or its shade. */
static void add_number(struct table *table, const struct head_line *line, int score)
{
    char text[NUMBER_BYTES] = "";
    const struct layout *layout = table->layout;
    struct text_heat *heat = &table->heats[score];
    double value = line->scores[score];
    bool counted = !isnan(value);
    bool heated = counted && (heat->colours || heat->shades);
    unsigned level = heated ? tone_level(&heat->tones.whole, (float)value) : 0;
    const char *mark = heated && heat->shades ? text_heat_shade(heat, level) : " ";
    size_t size = heat->numbers ? 0 : layout->width - 1;
    if (counted && heat->numbers)
        size = write_number(text, layout, value);
    text_blanks_up_to(&table->line, layout->gap + layout->width, size + 1);
    if (heated)
        text_heat_set(&table->line, heat, level);
    buf_text(&table->line, mark);
    for (size_t i = 0; i < size && !heat->numbers; i++)
        buf_text(&table->line, mark);
    buf_text(&table->line, text);
    text_heat_reset(&table->line, heat);
}

static int write_head(struct stream *out, struct table *table, int first, int end, struct err *err)
{
    const struct layout *layout = table->layout;
    text_right(&table->line, "layer", layout->layer);
    text_right(&table->line, " head", layout->head);
    for (int score = first; score < end; score++) {
        const struct score_row *row = &score_rows[score];
        text_blanks(&table->line, layout->gap);
        text_right(&table->line, layout->brief ? row->brief : row->heading, layout->width);
    }
    return text_end(out, &table->line, err);
}

/* Some of the scores of all heads; what a head is stands beside the last. */
static int write_block(struct stream *out, struct table *table, const struct head_line *lines,
                       size_t count, int first, struct err *err)
{
    int end = first + (int)scores_that_fit(table);
    bool last = end >= SCORES;
    end = last ? SCORES : end;
    table->numbers = width_of_numbers(table->layout, (size_t)(end - first));
    if (write_head(out, table, first, end, err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        add_place(table, &lines[i]);
        for (int score = first; score < end; score++)
            add_number(table, &lines[i], score);
        if (last ? end_with_verdict(out, table, &lines[i], err) : text_end(out, &table->line, err))
            return -1;
    }
    return 0;
}

static void heat_columns(struct stream *out, struct table *table, const struct head_line *lines,
                         size_t count)
{
    for (int score = 0; score < SCORES; score++) {
        struct extent extent = {0, 0};
        for (size_t i = 0; i < count; i++) {
            float value = (float)lines[i].scores[score];
            if (!isnan(value))
                extent = extent_join(extent, (struct extent){value, value});
        }
        text_heat_begin(&table->heats[score], out, extent, table->place);
    }
}

/* Long words and three decimals where all of it has room beside each other. */
static const struct layout *choose_layout(const struct head_line *lines, size_t count,
                                          const struct place *place)
{
    size_t verdict = 0;
    for (size_t i = 0; i < count; i++) {
        size_t width = verdict_width(&wide, &lines[i]);
        verdict = width > verdict ? width : verdict;
    }
    bool fits = width_of_numbers(&wide, SCORES) + VERDICT_GAP + verdict <= place->columns;
    return !place->columns || fits ? &wide : &narrow;
}

int head_table_write(struct stream *out, const struct head_line *lines, size_t count,
                     const struct place *place, struct err *err)
{
    struct table table = {.layout = choose_layout(lines, count, place), .place = place};
    int step = (int)scores_that_fit(&table);
    int failed = 0;
    heat_columns(out, &table, lines, count);
    for (int first = 0; first < SCORES && !failed; first += step) {
        stream_text(out, first ? "\n" : "");
        failed = write_block(out, &table, lines, count, first, err);
    }
    buf_release(&table.line);
    return failed;
}

void head_table_csv(struct stream *out, const struct head_line *lines, size_t count)
{
    stream_text(out, "layer,head");
    for (int score = 0; score < SCORES; score++)
        stream_format(out, ",%s", score_rows[score].name);
    stream_char(out, '\n');
    for (size_t i = 0; i < count; i++) {
        stream_format(out, "%zu,%zu", lines[i].layer, lines[i].head);
        for (int score = 0; score < SCORES; score++) {
            stream_char(out, ',');
            stream_float(out, (float)lines[i].scores[score]);
        }
        stream_char(out, '\n');
    }
}
