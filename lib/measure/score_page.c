/* score_page.c: scores as pages to read. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "lens/continuation.h"
#include "measure/score_view.h"
#include "text/label.h"
#include "write/table.h"
#include "write/text_line.h"
#include "write/text_titles.h"

enum {
    NUMBER_BYTES = 64,
    TEXT_COLUMNS_MAX = 24, /* a longer token is shortened */
    TEXT_COLUMNS_MIN = 4,  /* that numbers beside it leave it, however narrow the page */
    RULE_WIDTH = 80,
};

/* A line of the table: a token or a word. */
struct line {
    const struct label *label;
    double logprob;                  /* NaN: it has no score */
    const struct token_score *score; /* NULL: a word */
};

static size_t line_count(const struct score_view *view, const struct scored_text *text)
{
    return view->words ? text->sentence->word_count : text->sentence->count;
}

static struct line line_at(const struct score_view *view, const struct scored_text *text,
                           size_t index)
{
    const struct tokenized *sentence = text->sentence;
    if (view->words)
        return (struct line){&sentence->word_labels[index],
                             score_of_word(text->scored, &sentence->words[index]), NULL};
    const struct token_score *score = &text->scored->tokens[index];
    return (struct line){&sentence->labels[index], (double)score->logprob, score};
}

static const char *write_number(char text[NUMBER_BYTES], double value)
{
    snprintf(text, NUMBER_BYTES, isnan(value) ? "" : "%.4f", num_shown(value, 4));
    return text;
}

static void write_coloured(struct table *table, const struct score_view *view,
                           const struct scored_text *text, const struct place *place)
{
    struct text_heat *heat = table->heat;
    struct tone tone = heat->tones.whole;
    size_t used = 0;
    if (!heat->colours)
        return;
    for (size_t i = 0; i < line_count(view, text); i++) {
        struct line line = line_at(view, text, i);
        size_t width = utf8_width(line.label->text, strlen(line.label->text)) + 1;
        if (place->columns && used && used + width > place->columns) {
            table_end(table);
            used = 0;
        }
        if (!isnan(line.logprob))
            text_heat_set(&table->line, heat,
                          tone_level(&tone, (float)score_surprisal(view, line.logprob)));
        buf_text(&table->line, line.label->text);
        text_heat_reset(&table->line, heat);
        buf_char(&table->line, ' ');
        used += width;
    }
    table_end(table);
    stream_char(table->out, '\n');
}

/* --- the table -------------------------------------------------------------------------------- */

enum { PLACE, TEXT, LOGPROB, SURPRISAL, RANK, ENTROPY, BEST, COLUMNS };

static void add_best(struct table *table, const struct score_view *view,
                     const struct token_score *score, size_t count)
{
    for (size_t i = 0; score->best && i < count; i++) {
        struct token_bytes own = {0};
        const struct likely *likely = &score->best[i];
        const struct tokenizer *tokenizer = view->origin.viewer->tokenizer;
        if (tokenizer)
            own.bytes = tokenizer_token(tokenizer, likely->id, &own.size);
        buf_text(&table->cell, i ? "  " : "");
        if (own.bytes)
            label_token(&table->cell, &own, 1, 0);
        else
            buf_format(&table->cell, "%u", likely->id);
        buf_format(&table->cell, " %.2f", num_shown((double)likely->logprob, 2));
    }
    table_put(table);
}

static void add_line(struct table *table, const struct score_view *view, const struct line *line,
                     size_t index)
{
    char text[NUMBER_BYTES];
    struct tone tone = table->heat->tones.whole;
    double surprisal = score_surprisal(view, line->logprob);
    table_number(table, index);
    table_text(table, line->label->text);
    if (isnan(surprisal))
        return;
    table_text(table, write_number(text, line->logprob));
    bool coloured = table->heat->colours || table->heat->shades;
    table_heated(table, write_number(text, surprisal),
                 coloured ? tone_level(&tone, (float)surprisal) : 0);
    if (!line->score)
        return;
    table_number(table, line->score->rank);
    table_text(table, write_number(text, score_surprisal(view, -(double)line->score->entropy)));
}

/* As wide as what stands in them. */
static void fit_columns(struct table_column columns[COLUMNS], const struct score_view *view,
                        const struct scored_text *text, const struct text_cut *cut)
{
    char number[NUMBER_BYTES];
    table_fit_number(&columns[PLACE], line_count(view, text));
    for (size_t slot = 0; slot < text_cut_slots(cut); slot++) {
        struct line line = line_at(view, text, text_cut_place(cut, slot));
        table_fit(&columns[TEXT], line.label->text);
        table_fit(&columns[LOGPROB], write_number(number, line.logprob));
        table_fit(&columns[SURPRISAL], write_number(number, score_surprisal(view, line.logprob)));
        if (line.score)
            table_fit_number(&columns[RANK], line.score->rank);
    }
    if (columns[TEXT].width > TEXT_COLUMNS_MAX)
        columns[TEXT].width = TEXT_COLUMNS_MAX;
}

static void write_table(struct table *table, const struct score_view *view,
                        const struct scored_text *text, const struct place *place)
{
    struct text_cut cut = text_cut_lines(line_count(view, text), place->lines);
    struct table_column columns[COLUMNS] = {
        [PLACE] = {view->words ? "word" : "token", .width = 5},
        [TEXT] = {"text", .gap = 2, .width = 4, .left = true, .shortens = true},
        [LOGPROB] = {"logprob", .gap = 2, .width = 7},
        [SURPRISAL] = {view->bits ? "bits" : "surprisal", .gap = 2, .width = 9},
        [RANK] = {"rank", .gap = 2, .width = 4},
        [ENTROPY] = {"entropy", .gap = 2, .width = 7},
        [BEST] = {"most likely", .gap = 2},
    };
    if (text_is_cut(&cut))
        stream_format(table->out, "(%zu of %zu %ss shown; --full shows all)\n",
                      cut.front + cut.back, cut.size, view->words ? "word" : "token");
    fit_columns(columns, view, text, &cut);
    table->columns = columns;
    table->count = view->words ? RANK : text->scored->best_count ? COLUMNS : BEST;
    table->page = place->columns;
    table_narrow(columns, table->count, TEXT, TEXT_COLUMNS_MIN, table->page);
    table_titles(table);
    for (size_t slot = 0; slot < text_cut_slots(&cut); slot++) {
        size_t index = text_cut_place(&cut, slot);
        struct line line = line_at(view, text, index);
        if (text_cut_between(&cut, slot)) {
            table_text(table, "…");
        } else {
            add_line(table, view, &line, index);
            if (line.score && line.score->best && text->scored->best_count)
                add_best(table, view, line.score, text->scored->best_count);
        }
        table_end(table);
    }
}

/* 5 tokens scored · logprob -20.1 · 4.02 nats a token · perplexity 55.7 */
static void write_sum(struct stream *out, const struct score_view *view,
                      const struct score_sum *sum)
{
    stream_format(out, "%zu token%s scored", sum->tokens, sum->tokens == 1 ? "" : "s");
    if (sum->tokens)
        stream_format(out, " · logprob %.4f · %.4f %s a token · perplexity %.4f",
                      num_shown(sum->logprob, 4),
                      score_surprisal(view, sum->logprob) / (double)sum->tokens, score_unit(view),
                      score_perplexity(sum));
    stream_char(out, '\n');
}

static int write_titles(struct stream *out, const struct score_view *view,
                        const struct tokenized *sentence, const struct place *place,
                        struct err *err)
{
    struct report report = text_origin_report(&view->origin, sentence);
    if (place->index > 0) {
        stream_char(out, '\n');
        for (size_t i = 0; i < (place->columns ? place->columns : RULE_WIDTH); i++)
            stream_char(out, '-');
        stream_text(out, "\n\n");
    }
    if (text_titles_write(out, &report, place, err))
        return -1;
    stream_char(out, '\n');
    return 0;
}

void score_all_write(struct stream *out, const struct score_view *view, const struct score_sum *sum,
                     size_t texts)
{
    stream_format(out, "\nall %zu texts · ", texts);
    write_sum(out, view, sum);
}

int score_page_write(struct stream *out, const struct score_view *view,
                     const struct scored_text *text, const struct place *place, struct err *err)
{
    struct text_heat heat;
    struct table table = {.out = out, .heat = &heat};
    struct extent extent = {0, 0};
    if (write_titles(out, view, text->sentence, place, err))
        return -1;
    for (size_t i = 0; i < line_count(view, text); i++) {
        double surprisal = score_surprisal(view, line_at(view, text, i).logprob);
        extent.high = surprisal > (double)extent.high ? (float)surprisal : extent.high;
    }
    text_heat_begin(&heat, out, extent, false, place);
    write_coloured(&table, view, text, place);
    write_table(&table, view, text, place);
    if (table_close(&table, err))
        return -1;
    struct score_sum sum = score_sum_of(text->scored, 0, text->scored->count);
    stream_char(out, '\n');
    write_sum(out, view, &sum);
    return 0;
}

/* --- sums beside each other ------------------------------------------------------------------- */

enum { SUM_OF, SUM_TOKENS, SUM_LOGPROB, SUM_SURPRISAL, SUM_LAST, SUM_COLUMNS };

struct sum_numbers {
    char logprob[NUMBER_BYTES];
    char surprisal[NUMBER_BYTES];
    char last[NUMBER_BYTES]; /* perplexity, or the difference to the first */
};

static void write_sum_numbers(struct sum_numbers *texts, const struct score_view *view,
                              const struct score_sums *sums, size_t index)
{
    const struct score_sum *sum = &sums->items[index];
    write_number(texts->logprob, sum->logprob);
    write_number(texts->surprisal, score_surprisal(view, sum->logprob));
    write_number(texts->last,
                 sums->differences ? score_difference(view, sums, index) : score_perplexity(sum));
}

/* What the rows are of has at most half of the page, and no more than numbers leave. */
static void fit_sums(struct table_column columns[SUM_COLUMNS], const struct score_view *view,
                     const struct score_sums *sums, size_t page)
{
    struct sum_numbers numbers;
    for (size_t i = 0; i < sums->count; i++) {
        write_sum_numbers(&numbers, view, sums, i);
        table_fit(&columns[SUM_OF], sums->items[i].label.text);
        table_fit_number(&columns[SUM_TOKENS], sums->items[i].tokens);
        table_fit(&columns[SUM_LOGPROB], numbers.logprob);
        table_fit(&columns[SUM_SURPRISAL], numbers.surprisal);
        table_fit(&columns[SUM_LAST], numbers.last);
    }
    if (page && columns[SUM_OF].width > page / 2)
        columns[SUM_OF].width = page / 2;
    table_narrow(columns, SUM_COLUMNS, SUM_OF, TEXT_COLUMNS_MIN, page);
}

int score_sums_page_write(struct stream *out, const struct score_view *view,
                          const struct score_sums *sums, const struct place *place,
                          struct arena *arena, struct err *err)
{
    struct sum_numbers numbers;
    struct label *labels = arena_alloc(arena, sums->count, sizeof *labels, err);
    struct axis names = {sums->things, sums->count, labels, 0};
    struct table_column columns[SUM_COLUMNS] = {
        [SUM_OF] = {sums->things, .width = strlen(sums->things), .left = true, .shortens = true},
        [SUM_TOKENS] = {"tokens", .gap = 2, .width = 6},
        [SUM_LOGPROB] = {"logprob", .gap = 2, .width = 10},
        [SUM_SURPRISAL] = {view->bits ? "bits" : "surprisal", .gap = 2, .width = 10},
        [SUM_LAST] = {sums->differences ? "difference" : "perplexity", .gap = 2, .width = 10},
    };
    struct table table = {
        .out = out, .columns = columns, .count = SUM_COLUMNS, .page = place->columns};
    for (size_t i = 0; labels && i < sums->count; i++)
        labels[i] = sums->items[i].label;
    fit_sums(columns, view, sums, place->columns);
    if (!labels || write_titles(out, view, sums->sentence, place, err))
        return -1;
    table_titles(&table);
    for (size_t i = 0; i < sums->count; i++) {
        write_sum_numbers(&numbers, view, sums, i);
        text_label(&table.cell, &names, i, columns[SUM_OF].width);
        table_put(&table);
        table_number(&table, sums->items[i].tokens);
        table_text(&table, numbers.logprob);
        table_text(&table, numbers.surprisal);
        table_text(&table, numbers.last);
        table_end(&table);
    }
    return table_close(&table, err);
}
