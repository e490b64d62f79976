#include "measure/score_report.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "lens/continuation.h"
#include "math/portable_math.h"
#include "text/label.h"
#include "write/text_line.h"

enum {
    DIGITS = 4,
    MODEL_COLUMNS = 16, /* a longer name above a column is shortened */
};

static const double LN_2 = 0.6931471805599453;

/* In the unit of the view; never -0. */
static double surprisal_of(const struct score_view *view, double logprob)
{
    return (0 - logprob) / (view->bits ? LN_2 : 1);
}

struct score_total score_total_of(const struct scored *scored, size_t first, size_t count)
{
    struct score_total total = {.sentence = COLUMN_MISSING};
    total.logprob = scored_sum(scored, first, count, &total.tokens);
    return total;
}

void score_total_add(struct score_total *sum, const struct score_total *total)
{
    sum->tokens += total->tokens;
    sum->logprob += total->logprob;
}

double score_perplexity(const struct score_total *total)
{
    return total->tokens ? exp_double(-total->logprob / (double)total->tokens) : (double)NAN;
}

const char *score_summary(const struct score_view *view, const struct score_total *total,
                          struct arena *arena, struct err *err)
{
    if (!total->tokens)
        return arena_format(arena, err, "0 tokens scored");
    return arena_format(arena, err,
                        "%zu token%s scored · logprob %.4f · %.4f %s a token · perplexity %.4f",
                        total->tokens, num_plural(total->tokens), num_shown(total->logprob, DIGITS),
                        surprisal_of(view, total->logprob) / (double)total->tokens,
                        view->bits ? "bits" : "nats", score_perplexity(total));
}

/* --- columns ---------------------------------------------------------------------------------- */

/* An amount in the unit of the view, which is part of its name. */
static struct column amount_column(const struct score_view *view, const char *nats,
                                   const char *bits, const double *values)
{
    return (struct column){.name = view->bits ? bits : nats,
                           .unit = view->bits ? "bits" : "nats",
                           .digits = DIGITS,
                           .values = values};
}

static struct column surprisal_column(const struct score_view *view, const double *values)
{
    struct column column = amount_column(view, "surprisal", "surprisal_bits", values);
    column.flags = COLUMN_COLOURED;
    return column;
}

static struct column logprob_column(const double *values)
{
    return (struct column){.name = "logprob", .unit = "nats", .digits = DIGITS, .values = values};
}

static struct column key_column(const char *name, const long long *values)
{
    return (struct column){
        .name = name, .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = values};
}

static struct column label_column(const char *name, const struct label *labels)
{
    return (struct column){
        .name = name, .kind = COLUMN_LABEL, .flags = COLUMN_KEY | COLUMN_SHRINKS, .values = labels};
}

/* Give the frame those columns that have values. */
static int add_columns(struct frame *frame, struct column *columns, size_t count,
                       struct arena *arena, struct err *err)
{
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        if (columns[i].values)
            columns[used++] = columns[i];
    return frame_columns(frame, columns, used, arena, err);
}

/* The total of all rows, as single values. */
static const struct frame *make_facts(const struct score_view *view,
                                      const struct score_total *total, size_t texts,
                                      struct arena *arena, struct err *err)
{
    struct facts *facts = facts_new(arena, err);
    if (!facts)
        return NULL;
    if (texts)
        facts_integer(facts, "texts", (long long)texts);
    if (total) {
        facts_integer(facts, "tokens_scored", (long long)total->tokens);
        facts_float(facts, "logprob", total->logprob);
        facts_float(facts, view->bits ? "surprisal_bits" : "surprisal",
                    surprisal_of(view, total->logprob));
        facts_float(facts, "perplexity", score_perplexity(total));
    }
    return &facts->frame;
}

/* --- tokens and words ------------------------------------------------------------------------- */

static double word_logprob(const struct scored *scored, const struct word_span *word)
{
    struct score_total total = score_total_of(scored, word->first, word->count);
    return total.tokens == word->count ? total.logprob : (double)NAN;
}

/* A row for each token; or for each word, which has no id, entropy, rank or likely tokens. */
static int add_scores(struct frame *frame, const struct score_view *view,
                      const struct tokenized *sentence, const struct scored *scored,
                      struct arena *arena, struct err *err)
{
    bool words = view->words;
    bool with_likely = view->for_people && scored->best_count;
    size_t count = words ? sentence->word_count : sentence->count;
    const struct label *labels = words ? sentence->word_labels : sentence->labels;
    long long *integers = arena_alloc(arena, count, 3 * sizeof *integers, err);
    double *floats = arena_alloc(arena, count, 3 * sizeof *floats, err);
    const char **likely = arena_alloc(arena, count, sizeof *likely, err);
    if (!integers || !floats || !likely)
        return -1;
    long long *positions = integers, *ids = positions + count, *ranks = ids + count;
    double *logprobs = floats, *surprisals = logprobs + count, *entropies = surprisals + count;
    for (size_t i = 0; i < count; i++) {
        const struct token_score *score = &scored->tokens[i];
        positions[i] = (long long)i;
        logprobs[i] = words ? word_logprob(scored, &sentence->words[i]) : (double)score->logprob;
        surprisals[i] = surprisal_of(view, logprobs[i]);
        if (words)
            continue;
        ids[i] = sentence->tokens[i].id;
        ranks[i] = score->rank ? (long long)score->rank : COLUMN_MISSING;
        entropies[i] = surprisal_of(view, -(double)score->entropy);
        if (with_likely && score->best &&
            !(likely[i] = likely_text(score->best, scored->best_count,
                                      view->origin.viewer->tokenizer, arena, err)))
            return -1;
    }
    struct column columns[] = {
        key_column("position", positions),
        key_column("id", words ? NULL : ids),
        label_column("text", labels),
        logprob_column(logprobs),
        surprisal_column(view, surprisals),
        amount_column(view, "entropy", "entropy_bits", words ? NULL : entropies),
        {.name = "rank", .kind = COLUMN_INTEGER, .values = words ? NULL : ranks},
        {.name = "most likely",
         .kind = COLUMN_TEXT,
         .flags = COLUMN_TEXT_ONLY | COLUMN_SHRINKS,
         .values = with_likely ? likely : NULL},
    };
    columns[0].title = words ? "word" : "token";
    columns[1].flags |= COLUMN_DATA_ONLY;
    *frame =
        (struct frame){"scores", {words ? "word" : "token", count, labels, 0}, .running = true};
    return add_columns(frame, columns, sizeof columns / sizeof *columns, arena, err);
}

/* For programs: the most likely tokens of each position, a row each. */
static int add_best(struct frame *frame, const struct score_view *view, const struct frame *scores,
                    const struct scored *scored, struct arena *arena, struct err *err)
{
    const struct likely **lists = arena_alloc(arena, scored->count, sizeof *lists, err);
    for (size_t i = 0; lists && i < scored->count; i++)
        lists[i] = scored->tokens[i].best;
    const struct likely_table best = {
        "best", scores, 1, lists, scored->best_count, view->origin.viewer->tokenizer};
    return lists ? likely_frame(frame, &best, arena, err) : -1;
}

int score_report(struct report *report, const struct score_view *view,
                 const struct tokenized *sentence, const struct scored *scored, struct arena *arena,
                 struct err *err)
{
    struct score_total total = score_total_of(scored, 0, scored->count);
    struct frame *frames = arena_alloc(arena, 2, sizeof *frames, err);
    bool with_best = scored->best_count && !view->for_people;
    if (!frames || add_scores(frames, view, sentence, scored, arena, err) ||
        (with_best && add_best(&frames[1], view, frames, scored, arena, err)))
        return -1;
    frames->note = score_summary(view, &total, arena, err);
    *report = text_origin_report(&view->origin, sentence);
    report->frames = frames;
    report->frame_count = with_best ? 2 : 1;
    report->facts = make_facts(view, &total, 0, arena, err);
    return frames->note && report->facts ? 0 : -1;
}

/* --- totals ----------------------------------------------------------------------------------- */

/* A column of the texts as one of the table; the row of all texts lacks it. */
static int copy_column(struct column *column, const struct score_totals *totals, size_t index,
                       struct arena *arena, struct err *err)
{
    const char **values = arena_alloc(arena, totals->count, sizeof *values, err);
    for (size_t i = 0; values && i < totals->count; i++)
        values[i] = totals->items[i].columns ? totals->items[i].columns[index] : NULL;
    *column = (struct column){.name = totals->names[index],
                              .kind = COLUMN_TEXT,
                              .flags = COLUMN_KEY | COLUMN_DATA_ONLY,
                              .values = values};
    return values ? 0 : -1;
}

static int add_totals(struct frame *frame, const struct score_view *view,
                      const struct score_totals *totals, struct arena *arena, struct err *err)
{
    size_t count = totals->count;
    bool compares = totals->compares;
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    long long *integers = arena_alloc(arena, count, 2 * sizeof *integers, err);
    double *floats = arena_alloc(arena, count, 4 * sizeof *floats, err);
    struct column *columns = arena_alloc(arena, totals->name_count + 7, sizeof *columns, err);
    if (!labels || !integers || !floats || !columns)
        return -1;
    long long *sentences = integers, *tokens = sentences + count;
    double *logprobs = floats, *surprisals = logprobs + count;
    double *perplexities = surprisals + count, *differences = perplexities + count;
    for (size_t i = 0; i < count; i++) {
        const struct score_total *total = &totals->items[i];
        labels[i] = total->label;
        sentences[i] = total->sentence;
        tokens[i] = (long long)total->tokens;
        logprobs[i] = total->logprob;
        surprisals[i] = surprisal_of(view, total->logprob);
        perplexities[i] = score_perplexity(total);
        differences[i] = surprisal_of(view, totals->items->logprob - total->logprob);
    }
    for (size_t i = 0; i < totals->name_count; i++)
        if (copy_column(&columns[i], totals, i, arena, err))
            return -1;
    const struct column own[] = {
        key_column("sentence", totals->is_numbered ? sentences : NULL),
        label_column(totals->rows, labels),
        logprob_column(logprobs),
        surprisal_column(view, surprisals),
        {.name = "tokens", .kind = COLUMN_INTEGER, .values = tokens},
        {.name = "perplexity",
         .flags = compares ? COLUMN_DATA_ONLY : 0,
         .digits = DIGITS,
         .values = perplexities},
        amount_column(view, "difference", "difference_bits", compares ? differences : NULL),
    };
    memcpy(columns + totals->name_count, own, sizeof own);
    columns[totals->name_count].flags |= COLUMN_DATA_ONLY;
    *frame =
        (struct frame){compares ? "continuations" : "totals", {totals->rows, count, labels, 0}};
    return add_columns(frame, columns, totals->name_count + sizeof own / sizeof *own, arena, err);
}

int score_totals_report(struct report *report, const struct score_view *view,
                        const struct score_totals *totals, struct arena *arena, struct err *err)
{
    static const struct tokenized none;
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    if (!frame || add_totals(frame, view, totals, arena, err))
        return -1;
    *report = text_origin_report(&view->origin, totals->sentence ? totals->sentence : &none);
    report->frames = frame;
    report->frame_count = 1;
    report->facts = make_facts(view, NULL, totals->texts, arena, err);
    if (!totals->sentence)
        report->about =
            arena_format(arena, err, "%zu text%s", totals->texts, num_plural(totals->texts));
    return report->facts && (totals->sentence || report->about) ? 0 : -1;
}

/* --- several models --------------------------------------------------------------------------- */

int score_models_init(struct score_models *models, const char *const *names, size_t count,
                      size_t texts, struct arena *arena, struct err *err)
{
    *models = (struct score_models){
        .names = names,
        .count = count,
        .labels = arena_alloc(arena, count, sizeof *models->labels, err),
        .title = arena_format(arena, err, "%zu models", count),
        .texts = arena_alloc(arena, texts, sizeof *models->texts, err),
        .arena = arena,
    };
    if (!models->labels || !models->title || !models->texts)
        return -1;
    for (size_t i = 0; i < count; i++) {
        struct buf visible = {0};
        label_line(&visible, names[i], strlen(names[i]));
        models->labels[i] = (struct label){buf_keep(&visible, arena, err), names[i], names[i]};
        if (!models->labels[i].text)
            return -1;
    }
    return 0;
}

static int begin_table(struct score_table *table, const struct score_models *models,
                       const struct axis *rows, struct err *err)
{
    struct arena *arena = models->arena;
    table->rows = arena_alloc(arena, rows->size, sizeof *table->rows, err);
    table->surprisals = arena_alloc(arena, rows->size, models->count * sizeof(double), err);
    table->row_count = rows->size;
    if (!table->rows || !table->surprisals)
        return -1;
    for (size_t i = 0; i < rows->size; i++) {
        const struct label *label = &rows->labels[i];
        table->rows[i].text = arena_text(arena, label->text, strlen(label->text), err);
        table->rows[i].plain = arena_text(arena, label->plain, strlen(label->plain), err);
        if (!table->rows[i].text || !table->rows[i].plain)
            return -1;
    }
    return 0;
}

static int check_rows(const struct score_models *models, const struct score_table *table,
                      const struct axis *rows, struct err *err)
{
    static const char fix[] = "--total compares models of different vocabularies";
    if (table->row_count != rows->size)
        return err_usage(err, "expected the %zu %ss of '%s', found %zu: %s", table->row_count,
                         rows->name, models->names[0], rows->size, fix);
    for (size_t i = 0; i < rows->size; i++)
        if (strcmp(table->rows[i].plain, rows->labels[i].plain) != 0)
            return err_usage(
                err, "expected the %ss of '%s', found '%s' in place of '%s' at %zu: %s", rows->name,
                models->names[0], rows->labels[i].text, table->rows[i].text, i, fix);
    return 0;
}

/* The keys of the last model's table, and a column of each model. */
static int finish_table(struct report *report, const struct score_models *models,
                        const struct score_table *table, const struct column *surprisal,
                        struct arena *arena, struct err *err)
{
    const struct frame *scores = report->frames;
    const struct axis names = {"model", models->count, models->labels, 0};
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    struct column *columns =
        arena_alloc(arena, scores->count + models->count, sizeof *columns, err);
    const char *note = arena_format(arena, err, "surprisal in %s", surprisal->unit);
    size_t count = 0;
    if (!frame || !columns || !note)
        return -1;
    for (size_t i = 0; i < scores->count; i++)
        if (scores->columns[i].flags & COLUMN_KEY && !(scores->columns[i].flags & COLUMN_DATA_ONLY))
            columns[count++] = scores->columns[i];
    for (size_t i = 0; i < models->count; i++) {
        struct column *column = &columns[count++];
        struct buf title = {0};
        text_label(&title, &names, i, MODEL_COLUMNS);
        *column = *surprisal;
        column->name = models->labels[i].plain;
        column->title = buf_keep(&title, arena, err);
        column->values = table->surprisals + i * table->row_count;
        if (!column->title)
            return -1;
    }
    *frame = (struct frame){"surprisal", scores->rows, columns, count, .note = note};
    report->model = models->title;
    report->frames = frame;
    report->frame_count = 1;
    report->facts = NULL;
    return 0;
}

int score_models_add(struct score_models *models, size_t model, size_t text, struct report *report,
                     struct arena *arena, struct err *err)
{
    struct score_table *table = &models->texts[text];
    const struct axis *rows = &report->frames->rows;
    const struct column *surprisal = report->frames->columns;
    if ((model == 0 && begin_table(table, models, rows, err)) ||
        check_rows(models, table, rows, err))
        return -1;
    while (!(surprisal->flags & COLUMN_COLOURED))
        surprisal++;
    for (size_t i = 0; i < rows->size; i++)
        table->surprisals[model * rows->size + i] = column_float(surprisal, i);
    return model + 1 == models->count ? finish_table(report, models, table, surprisal, arena, err)
                                      : 0;
}
