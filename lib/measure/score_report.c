#include "measure/score_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "lens/continuation.h"
#include "math/portable_math.h"
#include "text/aligned_text.h"
#include "text/label.h"
#include "write/text.h"

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
    sum->bad_logprob += total->bad_logprob;
    sum->count += total->count;
    sum->correct += total->correct;
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
    struct column column = amount_column(view, "surprisal_nats", "surprisal_bits", values);
    column.flags = COLUMN_COLOURED;
    return column;
}

static struct column nats_column(const char *name, const double *values)
{
    return (struct column){.name = name, .unit = "nats", .digits = DIGITS, .values = values};
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
        facts_float(facts, "logprob_nats", total->logprob);
        facts_float(facts, view->bits ? "surprisal_bits" : "surprisal_nats",
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

/* Where a page shows a row, that has the most likely tokens as a text. */
static bool shows_likely(const struct score_view *view, size_t row, size_t rows)
{
    struct text_cut cut = text_cut_lines(rows, view->for_people ? view->lines : 1);
    return view->for_people && (row < cut.front || row + cut.back >= rows);
}

/* What the columns of a table of scores point to. */
struct score_cells {
    long long *integers[6]; /* position, id, rank; of words subwords, start, end */
    double *floats[3];      /* log-probability, surprisal, entropy */
    const char **likely, **regions;
};

static int make_cells(struct score_cells *cells, size_t count, struct arena *arena, struct err *err)
{
    enum { INTEGERS = 6, FLOATS = 3 };
    cells->likely = arena_alloc(arena, count, sizeof *cells->likely, err);
    cells->regions = arena_alloc(arena, count, sizeof *cells->regions, err);
    long long *integers = arena_alloc(arena, count, INTEGERS * sizeof *integers, err);
    double *floats = arena_alloc(arena, count, FLOATS * sizeof *floats, err);
    if (!cells->likely || !cells->regions || !integers || !floats)
        return -1;
    for (size_t i = 0; i < INTEGERS; i++)
        *(cells->integers[i] = integers + i * count) = COLUMN_MISSING;
    for (size_t i = 0; i < FLOATS; i++)
        *(cells->floats[i] = floats + i * count) = NAN;
    return 0;
}

/* A token, or a word: its entropy is that of its first token. */
static void fill_cells(struct score_cells *cells, size_t row, const struct score_view *view,
                       const struct tokenized *sentence, const struct scored *scored)
{
    struct word_span span = view->words ? sentence->words[row] : (struct word_span){row, 1};
    const struct token_score *score = &scored->tokens[span.first];
    struct text_range range = {0, 0};
    if (view->words && sentence->text)
        range = word_range(sentence, row);
    cells->integers[0][row] = (long long)row;
    cells->integers[1][row] = sentence->tokens[span.first].id;
    cells->integers[2][row] = score->rank ? (long long)score->rank : COLUMN_MISSING;
    cells->integers[3][row] = (long long)span.count;
    cells->integers[4][row] = (long long)range.start;
    cells->integers[5][row] = (long long)range.end;
    cells->floats[0][row] = view->words ? word_logprob(scored, &span) : (double)score->logprob;
    cells->floats[1][row] = surprisal_of(view, cells->floats[0][row]);
    cells->floats[2][row] = surprisal_of(view, -(double)score->entropy);
    cells->regions[row] = view->regions ? view->regions[span.first]->name : NULL;
}

/* A row for each token; or for each word, which has no id, rank or likely tokens. A text without
 * tokens has one in which all is missing. */
static int add_scores(struct frame *frame, const struct score_view *view,
                      const struct tokenized *sentence, const struct scored *scored,
                      struct arena *arena, struct err *err)
{
    static const struct label blank = {"", "", ""};
    bool words = view->words;
    bool has_places = words && (sentence->text || !sentence->count);
    size_t own = words ? sentence->word_count : sentence->count;
    size_t count = num_max(own, 1);
    const struct label *labels = !own ? &blank : words ? sentence->word_labels : sentence->labels;
    struct score_cells cells;
    if (make_cells(&cells, count, arena, err))
        return -1;
    for (size_t i = 0; i < own; i++) {
        const struct likely *best = scored->tokens[i].best;
        fill_cells(&cells, i, view, sentence, scored);
        if (!words && best && shows_likely(view, i, count) &&
            !(cells.likely[i] = likely_text(best, scored->best_count,
                                            view->origin.viewer->tokenizer, arena, err)))
            return -1;
    }
    struct column columns[] = {
        key_column("position", cells.integers[0]),
        key_column("id", words ? NULL : cells.integers[1]),
        label_column("text", labels),
        {.name = "region",
         .kind = COLUMN_TEXT,
         .flags = COLUMN_KEY,
         .values = view->has_regions ? cells.regions : NULL},
        nats_column("logprob_nats", cells.floats[0]),
        surprisal_column(view, cells.floats[1]),
        amount_column(view, "entropy_nats", "entropy_bits", cells.floats[2]),
        {.name = "rank", .kind = COLUMN_INTEGER, .values = words ? NULL : cells.integers[2]},
        key_column("subwords", words ? cells.integers[3] : NULL),
        key_column("start", has_places ? cells.integers[4] : NULL),
        key_column("end", has_places ? cells.integers[5] : NULL),
        {.name = "most likely",
         .kind = COLUMN_TEXT,
         .flags = COLUMN_TEXT_ONLY | COLUMN_SHRINKS,
         .values = view->for_people && own && scored->best_count ? cells.likely : NULL},
    };
    columns[0].title = words ? "word" : "token";
    if (view->for_people && !words) { /* the note below has the unit, the likely tokens the room */
        columns[4].title = "logprob";
        columns[5].title = view->bits ? NULL : "surprisal";
        columns[6].title = view->bits ? NULL : "entropy";
    }
    columns[1].flags |= COLUMN_DATA_ONLY;
    for (size_t i = 8; i < 11; i++)
        columns[i].flags |= COLUMN_DATA_ONLY;
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
                              .flags = COLUMN_KEY | (totals->shows_columns ? 0 : COLUMN_DATA_ONLY),
                              .values = values};
    return values ? 0 : -1;
}

static double mean_of(double sum, size_t count)
{
    return count ? sum / (double)count : (double)NAN;
}

/* What the columns of totals point to; of pairs sums are means. */
struct total_cells {
    struct label *labels, *bad;
    long long *sentences, *tokens, *counts;
    double *logprobs, *others, *differences, *perplexities, *accuracies;
};

static int fill_totals(struct total_cells *cells, const struct score_view *view,
                       const struct score_totals *totals, struct arena *arena, struct err *err)
{
    size_t count = totals->count;
    bool pairs = totals->kind == TOTALS_OF_PAIRS;
    cells->labels = arena_alloc(arena, count, 2 * sizeof *cells->labels, err);
    cells->sentences = arena_alloc(arena, count, 3 * sizeof *cells->sentences, err);
    cells->logprobs = arena_alloc(arena, count, 5 * sizeof *cells->logprobs, err);
    if (!cells->labels || !cells->sentences || !cells->logprobs)
        return -1;
    cells->bad = cells->labels + count;
    cells->tokens = cells->sentences + count;
    cells->counts = cells->tokens + count;
    cells->others = cells->logprobs + count;
    cells->differences = cells->others + count;
    cells->perplexities = cells->differences + count;
    cells->accuracies = cells->perplexities + count;
    for (size_t i = 0; i < count; i++) {
        const struct score_total *total = &totals->items[i];
        double good = pairs ? mean_of(total->logprob, total->count) : total->logprob;
        double other = pairs ? mean_of(total->bad_logprob, total->count) : totals->items->logprob;
        cells->labels[i] = total->label;
        cells->bad[i] = total->bad;
        cells->sentences[i] = total->sentence;
        cells->tokens[i] = (long long)total->tokens;
        cells->counts[i] = (long long)total->count;
        cells->logprobs[i] = good;
        cells->others[i] = pairs ? other : surprisal_of(view, good);
        cells->differences[i] = surprisal_of(view, other - good);
        cells->perplexities[i] = score_perplexity(total);
        cells->accuracies[i] = mean_of((double)total->correct, total->count);
    }
    return 0;
}

/* Columns of all kinds of totals: those of others have no values. */
static int add_totals(struct frame *frame, const struct score_view *view,
                      const struct score_totals *totals, struct arena *arena, struct err *err)
{
    static const char *const names[] = {"totals", "continuations", "pairs", "predictions"};
    bool compares = totals->kind == TOTALS_OF_CONTINUATIONS;
    bool pairs = totals->kind == TOTALS_OF_PAIRS;
    bool sums = compares || totals->kind == TOTALS_OF_TEXTS;
    unsigned narrow = pairs && !totals->shows_columns ? COLUMN_DATA_ONLY : 0; /* two texts */
    struct total_cells cells;
    struct column *columns = arena_alloc(arena, totals->name_count + 16, sizeof *columns, err);
    if (!columns || fill_totals(&cells, view, totals, arena, err))
        return -1;
    for (size_t i = 0; i < totals->name_count; i++)
        if (copy_column(&columns[i], totals, i, arena, err))
            return -1;
    const struct column own[] = {
        key_column("sentence", totals->is_numbered ? cells.sentences : NULL),
        label_column(totals->rows, cells.labels),
        label_column("bad", narrow ? cells.bad : NULL),
        nats_column("logprob_nats", sums ? cells.logprobs : NULL),
        nats_column("logprob_good_nats", pairs ? cells.logprobs : NULL),
        nats_column("logprob_bad_nats", pairs ? cells.others : NULL),
        surprisal_column(view, sums ? cells.others : NULL),
        {.name = "tokens", .kind = COLUMN_INTEGER, .values = sums ? cells.tokens : NULL},
        {.name = "perplexity",
         .flags = compares ? COLUMN_DATA_ONLY : 0,
         .digits = DIGITS,
         .values = sums ? cells.perplexities : NULL},
        amount_column(view, "difference_nats", "difference_bits",
                      compares || pairs ? cells.differences : NULL),
        {.name = pairs ? "pairs" : "items",
         .kind = COLUMN_INTEGER,
         .flags = narrow,
         .values = sums ? NULL : cells.counts},
        {.name = "accuracy",
         .digits = DIGITS,
         .fraction = true,
         .values = sums ? NULL : cells.accuracies},
    };
    for (size_t i = 0; i < totals->name_count * (sizeof own / sizeof *own); i++) {
        const char *name = totals->names[i % totals->name_count];
        const struct column *column = &own[i / totals->name_count];
        if (column->values && strcmp(column->name, name) == 0)
            return err_usage(err, "column '%s': results already have a column with this name: rename it",
                             name);
    }
    memcpy(columns + totals->name_count, own, sizeof own);
    columns[totals->name_count].flags |= COLUMN_DATA_ONLY;
    columns[totals->name_count + 4].flags |= narrow;
    columns[totals->name_count + 5].flags |= narrow;
    *frame = (struct frame){names[totals->kind], {totals->rows, totals->count, cells.labels, 0}};
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

/* --- means of words --------------------------------------------------------------------------- */

int word_means_add(struct word_means *means, size_t line, const struct score_view *view,
                   const struct tokenized *sentence, const struct scored *scored,
                   struct arena *arena, struct err *err)
{
    for (size_t i = 0, place = 0; i < sentence->word_count; i++) {
        const struct word_span *word = &sentence->words[i];
        const struct region *region = view->regions ? view->regions[word->first] : NULL;
        if (i && region && region != view->regions[word[-1].first])
            place = 0;
        struct word_record *items =
            arena_grow(arena, means->items, means->count, sizeof *items, err);
        const char *plain = sentence->word_labels[i].plain;
        const char *text = arena_text(arena, plain, strlen(plain), err);
        const char *name = region ? region->name : NULL;
        if (!items || !text || (name && !(name = arena_text(arena, name, strlen(name), err))))
            return -1;
        means->items = items;
        items[means->count++] =
            (struct word_record){line,    region ? region->number : 0,
                                 place++, name,
                                 text,    surprisal_of(view, word_logprob(scored, word))};
    }
    return 0;
}

/* By place in the text, then by line. */
static int compare_records(const void *a, const void *b)
{
    const struct word_record *x = a, *y = b;
    const size_t left[] = {x->region, x->place, x->line}, right[] = {y->region, y->place, y->line};
    for (size_t i = 0; i < 3; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Places of the means in their order, and the sums of their lines. */
struct mean_table {
    size_t lines, places;
    double *sums, *counts; /* [lines, records] */
    const char **regions;  /* [places] */
    struct label *labels;  /* [places] "are/is"; or all are numbers, where texts differ more */
};

enum { LABEL_MOST = 16 };

static int fill_table(struct mean_table *table, const struct word_means *means, struct arena *arena,
                      struct err *err)
{
    struct buf text = {0};
    bool are_many = false;
    for (size_t i = 0, place = 0; i < means->count && !err->kind; i++) {
        const struct word_record *record = &means->items[i];
        bool is_last = i + 1 == means->count || record->region != record[1].region ||
                       record->place != record[1].place;
        if (!text.size || !strstr(text.bytes, record->text))
            buf_format(&text, "%s%s", text.size ? "/" : "", record->text);
        table->regions[place] = record->name;
        table->sums[record->line * means->count + place] += record->surprisal;
        table->counts[record->line * means->count + place] += 1;
        if (!is_last)
            continue;
        are_many |= text.size > LABEL_MOST;
        const char *label = buf_keep(&text, arena, err);
        table->labels[place++] = (struct label){label, label, label};
        table->places = place;
    }
    for (size_t place = 0; are_many && place < table->places && !err->kind; place++) {
        const char *label = arena_format(arena, err, "%zu", place);
        table->labels[place] = (struct label){label, label, label};
    }
    return err->kind ? -1 : 0;
}

/* The column of a line, whose mean is missing where one of its words has no score. */
static int add_line(struct column *column, const struct mean_table *table, size_t line,
                    double *means, const struct score_view *view, const struct score_totals *lines,
                    struct arena *arena, struct err *err)
{
    struct buf title = {0};
    for (size_t i = 0; i <= lines->name_count; i++)
        buf_format(&title, "%s%s", i ? ", " : "", lines->items[line].columns[i]);
    for (size_t place = 0; place < table->places; place++)
        means[place] /= table->counts[(size_t)(means - table->sums) + place];
    *column = surprisal_column(view, means);
    column->title = buf_keep(&title, arena, err);
    column->name =
        column->title ? arena_format(arena, err, "%s:%s", column->name, column->title) : NULL;
    return column->name ? 0 : -1;
}

int word_means_report(struct report *report, struct word_means *means,
                      const struct score_view *view, const struct score_totals *lines,
                      struct arena *arena, struct err *err)
{
    static const struct tokenized none;
    size_t most = means->count;
    struct mean_table table = {.lines = lines->count,
                               .sums = arena_alloc(arena, most, lines->count * sizeof(double), err),
                               .counts =
                                   arena_alloc(arena, most, lines->count * sizeof(double), err),
                               .regions = arena_alloc(arena, most, sizeof *table.regions, err),
                               .labels = arena_alloc(arena, most, sizeof *table.labels, err)};
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    struct column *columns = arena_alloc(arena, lines->count + 3, sizeof *columns, err);
    long long *positions = arena_alloc(arena, most, sizeof *positions, err);
    size_t used = 0;
    if (err->kind)
        return -1;
    if (most)
        qsort(means->items, most, sizeof *means->items, compare_records);
    if (fill_table(&table, means, arena, err))
        return -1;
    for (size_t i = 0; i < table.places; i++)
        positions[i] = (long long)i;
    columns[used++] = key_column("position", positions);
    columns[used++] = label_column("text", table.labels);
    if (view->has_regions)
        columns[used++] = (struct column){
            .name = "region", .kind = COLUMN_TEXT, .flags = COLUMN_KEY, .values = table.regions};
    for (size_t line = 0; line < lines->count; line++)
        if (add_line(&columns[used++], &table, line, table.sums + line * most, view, lines, arena,
                     err))
            return -1;
    *report = text_origin_report(&view->origin, &none);
    report->frames = frame;
    report->frame_count = 1;
    report->about = arena_format(arena, err, "%zu text%s", lines->texts, num_plural(lines->texts));
    report->facts = make_facts(view, NULL, lines->texts, arena, err);
    *frame = (struct frame){.name = view->bits ? "surprisal_bits" : "surprisal_nats",
                            .rows = {"word", table.places, table.labels, 0},
                            .columns = columns,
                            .count = used,
                            .curves = true};
    return report->about && report->facts ? 0 : -1;
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
        column->name = arena_format(arena, err, "%s:%s", surprisal->name, models->labels[i].plain);
        column->title = buf_keep(&title, arena, err);
        column->values = table->surprisals + i * table->row_count;
        if (!column->name || !column->title)
            return -1;
    }
    *frame =
        (struct frame){"surprisal", scores->rows, columns, count, .note = note, .curves = true};
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
