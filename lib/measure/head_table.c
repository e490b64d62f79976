#include "measure/head_scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "write/table.h"
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

struct scores {
    const struct layout *layout;
    const struct place *place;
    struct text_heat heats[SCORES];
    size_t numbers; /* columns up to the end of the numbers that stand beside each other now */
    struct table table;
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
static void end_with_verdict(struct scores *scores, const struct head_line *line)
{
    struct buf *text = &scores->table.line;
    size_t columns = scores->place->columns;
    size_t begin = scores->numbers + VERDICT_GAP;
    bool below = columns && columns < begin + VERDICT_LEAST;
    size_t at = below ? SIZE_MAX : begin - VERDICT_GAP;
    bool first = true;
    if (below)
        begin = columns < VERDICT_BELOW + VERDICT_LEAST ? VERDICT_GAP : VERDICT_BELOW;
    for (int score = 0; score < SCORES; score++) {
        const char *word = word_of(scores->layout, score);
        if (!is_clear(line, score))
            continue;
        size_t width = strlen(word) + 2;
        buf_text(text, first ? "" : ",");
        if (below ? first || at + width > columns : !first && columns && at + width > columns) {
            table_end(&scores->table);
            text_blanks(text, begin);
            at = begin - 2;
        } else {
            text_blanks(text, first ? VERDICT_GAP : 1);
        }
        buf_text(text, word);
        at += width;
        first = false;
    }
    table_end(&scores->table);
}

/* --- the table -------------------------------------------------------------------------------- */

/* Numbers from `first` on, as many as fit below each other. */
static size_t scores_that_fit(const struct scores *scores)
{
    const struct layout *layout = scores->layout;
    size_t columns = scores->place->columns;
    size_t beside = layout->layer + layout->head;
    size_t room = columns > beside ? columns - beside : 0;
    size_t fitting = columns ? room / (layout->gap + layout->width) : SCORES;
    return fitting < 1 ? 1 : fitting < SCORES ? fitting : SCORES;
}

/* As many decimals as there is room for: a distance may have three digits before the point. */
static void write_number(char text[NUMBER_BYTES], const struct layout *layout, double value)
{
    for (int digits = layout->digits; digits >= 0; digits--)
        if ((size_t)snprintf(text, NUMBER_BYTES, "%.*f", digits, value) <= layout->width)
            break;
}

static void add_number(struct scores *scores, double value, int score)
{
    char text[NUMBER_BYTES];
    struct table *table = &scores->table;
    struct text_heat *heat = &scores->heats[score];
    bool heated = heat->colours || heat->shades;
    table->heat = heat;
    if (isnan(value)) {
        table_text(table, "");
        return;
    }
    write_number(text, scores->layout, value);
    table_heated(table, text, heated ? tone_level(&heat->tones.whole, (float)value) : 0);
}

/* Some of the scores of all heads; what a head is stands beside the last. */
static void write_block(struct scores *scores, const struct head_line *lines, size_t count,
                        int first)
{
    const struct layout *layout = scores->layout;
    struct table *table = &scores->table;
    struct table_column columns[2 + SCORES] = {{"layer", .width = layout->layer},
                                               {" head", .width = layout->head}};
    int end = first + (int)scores_that_fit(scores);
    bool last = end >= SCORES;
    end = last ? SCORES : end;
    table->columns = columns;
    table->count = 2;
    for (int score = first; score < end; score++)
        columns[table->count++] = (struct table_column){
            .title = layout->brief ? score_rows[score].brief : score_rows[score].heading,
            .gap = layout->gap,
            .width = layout->width,
            .tight = true,
        };
    scores->numbers = width_of_numbers(layout, (size_t)(end - first));
    table_titles(table);
    for (size_t i = 0; i < count; i++) {
        table_number(table, lines[i].layer);
        table_number(table, lines[i].head);
        for (int score = first; score < end; score++)
            add_number(scores, lines[i].scores[score], score);
        if (last)
            end_with_verdict(scores, &lines[i]);
        else
            table_end(table);
    }
}

static void heat_columns(struct scores *scores, const struct head_line *lines, size_t count)
{
    for (int score = 0; score < SCORES; score++) {
        struct extent extent = {0, 0};
        for (size_t i = 0; i < count; i++) {
            float value = (float)lines[i].scores[score];
            if (!isnan(value))
                extent = extent_join(extent, (struct extent){value, value});
        }
        text_heat_begin(&scores->heats[score], scores->table.out, extent, scores->place);
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
    struct scores scores = {
        .layout = choose_layout(lines, count, place), .place = place, .table = {.out = out}};
    int step = (int)scores_that_fit(&scores);
    heat_columns(&scores, lines, count);
    for (int first = 0; first < SCORES; first += step) {
        stream_text(out, first ? "\n" : "");
        write_block(&scores, lines, count, first);
    }
    return table_close(&scores.table, err);
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
