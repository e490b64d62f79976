#include "base/num.h"
#include "measure/head_scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "write/csv.h"
#include "write/table.h"
#include "write/text_line.h"

enum {
    NUMBER_BYTES = 64,
    VERDICT_GAP = 2,
    VERDICT_BELOW = 12, /* where it begins below the numbers, if there is room for it */
    VERDICT_LEAST = 12, /* columns: narrower, what a head does stands below its numbers */
    NAMED_COUNT = 10,   /* fewer pairs or needles of a file name no head */
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
    const struct head_table *what;
    struct text_heat *heats; /* [column_count] */
    size_t numbers; /* columns up to the end of the numbers that stand beside each other now */
    struct table table;
};

static size_t width_of_numbers(const struct layout *layout, size_t count)
{
    return layout->layer + layout->head + count * (layout->gap + layout->width);
}

/* --- what a head is --------------------------------------------------------------------------- */

static bool is_clear(const struct head_table *what, const struct head_line *line, size_t column)
{
    const struct score *score = what->columns[column].score;
    const struct score_row *row = score->row;
    bool of_file = row->material == OF_PAIRS || row->material == OF_NEEDLES;
    return !what->columns[column].random && row->clear && line->values[column] >= row->from &&
           (!of_file || head_survey_count(score, line->layer, line->head) >= NAMED_COUNT);
}

/* "retrieval" has one word; a narrow page calls others as their columns are called. */
static const char *word_of(const struct layout *layout, const struct head_column *column)
{
    const struct score_row *row = column->score->row;
    return layout->brief && row->usual ? row->heading : row->clear;
}

static const char *title_of(const struct layout *layout, const struct head_column *column)
{
    const struct score_row *row = column->score->row;
    if (column->random)
        return "null";
    if (row->measure == MEASURE_OFFSET)
        return layout->brief ? column->score->name + strlen(row->name) : column->score->name;
    return layout->brief ? row->brief : row->heading;
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
    for (size_t i = 0; i < scores->what->column_count; i++) {
        if (!is_clear(scores->what, line, i))
            continue;
        const char *word = word_of(scores->layout, &scores->what->columns[i]);
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
    size_t count = scores->what->column_count;
    size_t fitting = columns ? room / (layout->gap + layout->width) : count;
    return fitting < 1 ? 1 : fitting < count ? fitting : count;
}

/* As many decimals as there is room for: a distance may have three digits before the point. */
static void add_number(struct scores *scores, double value, size_t column)
{
    size_t width = scores->layout->width;
    char text[NUMBER_BYTES];
    struct table *table = &scores->table;
    struct text_heat *heat = &scores->heats[column];
    bool heated = heat->colours || heat->shades;
    table->heat = heat;
    if (isnan(value)) {
        table_text(table, "");
        return;
    }
    for (int digits = scores->layout->digits; digits >= 0; digits--)
        if ((size_t)snprintf(text, sizeof text, "%.*f", digits, num_shown(value, digits)) <= width)
            break;
    table_heated(table, text, heated ? tone_level(&heat->tones.whole, (float)value) : 0);
}

/* Some of the scores of all heads; what a head is stands beside the last. */
static void write_block(struct scores *scores, size_t first)
{
    const struct head_table *what = scores->what;
    const struct layout *layout = scores->layout;
    struct table *table = &scores->table;
    struct table_column columns[2 + 2 * SCORES_MAX] = {{"layer", .width = layout->layer},
                                                       {" head", .width = layout->head}};
    size_t end = first + scores_that_fit(scores);
    bool last = end >= what->column_count;
    end = last ? what->column_count : end;
    table->columns = columns;
    table->count = 2;
    for (size_t i = first; i < end; i++)
        columns[table->count++] = (struct table_column){
            .title = title_of(layout, &what->columns[i]),
            .gap = layout->gap,
            .width = layout->width,
            .tight = true,
        };
    scores->numbers = width_of_numbers(layout, end - first);
    table_titles(table);
    for (size_t i = 0; i < what->count; i++) {
        const struct head_line *line = &what->lines[i];
        table_number(table, line->layer);
        table_number(table, line->head);
        for (size_t k = first; k < end; k++)
            add_number(scores, line->values[k], k);
        if (last)
            end_with_verdict(scores, line);
        else
            table_end(table);
    }
}

static void heat_columns(struct scores *scores)
{
    for (size_t k = 0; k < scores->what->column_count; k++) {
        struct extent extent = {0, 0};
        for (size_t i = 0; i < scores->what->count; i++) {
            float value = (float)scores->what->lines[i].values[k];
            if (!isnan(value))
                extent = extent_join(extent, (struct extent){value, value});
        }
        text_heat_begin(&scores->heats[k], scores->table.out, extent,
                        measure_is_fraction(scores->what->columns[k].score->row->measure),
                        scores->place);
    }
}

/* Long words and three decimals where all of it has room beside each other. */
static const struct layout *choose_layout(const struct head_table *what, const struct place *place)
{
    size_t verdict = 0;
    for (size_t i = 0; i < what->count; i++) {
        size_t width = 0;
        for (size_t k = 0; k < what->column_count; k++)
            if (is_clear(what, &what->lines[i], k))
                width += (width ? 2 : 0) + strlen(word_of(&wide, &what->columns[k]));
        verdict = width > verdict ? width : verdict;
    }
    size_t width = width_of_numbers(&wide, what->column_count) + VERDICT_GAP + verdict;
    return !place->columns || width <= place->columns ? &wide : &narrow;
}

int head_table_write(struct stream *out, const struct head_table *what, const struct place *place,
                     struct err *err)
{
    struct arena arena = {0};
    struct scores scores = {
        .layout = choose_layout(what, place), .place = place, .what = what, .table = {.out = out}};
    scores.heats = arena_alloc(&arena, what->column_count, sizeof *scores.heats, err);
    size_t step = scores_that_fit(&scores);
    if (scores.heats)
        heat_columns(&scores);
    for (size_t first = 0; scores.heats && first < what->column_count; first += step) {
        stream_text(out, first ? "\n" : "");
        write_block(&scores, first);
    }
    int failed = table_close(&scores.table, err) || !scores.heats;
    arena_release(&arena);
    return failed ? -1 : 0;
}

int head_table_csv(struct stream *out, const struct head_table *what, bool is_first,
                   struct err *err)
{
    struct buf model = {0};
    buf_text(&model, "");
    if (what->model) {
        csv_field(&model, what->model);
        buf_char(&model, ',');
    }
    int failed = buf_check(&model, err);
    if (is_first && !failed) {
        stream_format(out, "%slayer,head", what->model ? "model," : "");
        for (size_t k = 0; k < what->column_count; k++)
            stream_format(out, ",%s%s", what->columns[k].score->name,
                          what->columns[k].random ? ".null" : "");
        stream_char(out, '\n');
    }
    for (size_t i = 0; i < what->count && !failed; i++) {
        stream_format(out, "%s%zu,%zu", model.bytes, what->lines[i].layer, what->lines[i].head);
        for (size_t k = 0; k < what->column_count; k++) {
            stream_char(out, ',');
            stream_float(out, (float)what->lines[i].values[k]);
        }
        stream_char(out, '\n');
    }
    buf_release(&model);
    return failed;
}
