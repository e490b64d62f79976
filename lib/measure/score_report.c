#include "measure/score_report.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "lens/continuation.h"
#include "math/portable_math.h"
#include "text/aligned_text.h"
#include "write/text.h"

enum {
    DIGITS = 4,
    MODEL_COLUMNS = 16, /* a longer name above a column is shortened */
    REGION_SHIFT = 32,  /* of a region's number in a key */
    LABEL_MOST = 16,    /* bytes of the words of a row of means */
};

static const double LN_2 = 0.6931471805599453;

static const char *surprisal_name(const struct score_view *view)
{
    return view->bits ? "surprisal_bits" : "surprisal_nats";
}

/* In the unit of the view; never -0. */
static double surprisal_of(const struct score_view *view, double logprob)
{
    return (0 - logprob) / (view->bits ? LN_2 : 1);
}

/* --- totals of tokens ------------------------------------------------------------------------- */

struct score_total score_total_of(const struct scored *scored, size_t first, size_t count)
{
    struct score_total total = {.sentence = COLUMN_MISSING};
    for (size_t i = first; i < first + count; i++)
        if (scored->tokens[i].rank) {
            total.logprob += (double)scored->tokens[i].logprob;
            total.tokens++;
        }
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

static double mean_of(double sum, size_t count)
{
    return count ? sum / (double)count : (double)NAN;
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

/* --- tables ----------------------------------------------------------------------------------- */

/* A table that is filled row by row. Every row puts its cells in the same order; those of the first
 * row add the columns. */
struct row_table {
    struct column *columns;
    size_t count, rows;
    size_t row, at;     /* of the next cell */
    bool no_units;      /* headers lack the unit, which a note has */
    struct label spare; /* the cell after a failure */
    struct arena *arena;
    struct err *err;
};

static void next_row(struct row_table *table)
{
    table->row++;
    table->at = 0;
}

static void add_column(struct row_table *table, const struct column *column)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->columns[i].name, column->name) == 0)
            err_usage(table->err,
                      "column '%s': results already have a column with this name: rename it",
                      column->name);
    table->columns =
        arena_grow(table->arena, table->columns, table->count, sizeof *column, table->err);
    if (table->columns)
        table->columns[table->count++] = *column;
}

static void *next_cell(struct row_table *table, struct column column)
{
    static const size_t sizes[] = {[COLUMN_FLOAT] = sizeof(double),
                                   [COLUMN_INTEGER] = sizeof(long long),
                                   [COLUMN_TEXT] = sizeof(const char *),
                                   [COLUMN_LABEL] = sizeof(struct label)};
    size_t size = sizes[column.kind];
    if (table->row == 0 && !table->err->kind) {
        column.values = arena_alloc(table->arena, table->rows, size, table->err);
        add_column(table, &column);
    }
    if (table->err->kind)
        return &table->spare;
    return (char *)table->columns[table->at++].values + table->row * size;
}

/* The unit is that of the name. */
static void put_float(struct row_table *table, const char *name, unsigned flags, double value)
{
    struct column column = {.name = name, .flags = flags, .digits = DIGITS};
    column.unit = strstr(name, "nats") ? "nats" : strstr(name, "bits") ? "bits" : NULL;
    if (table->no_units && table->row == 0)
        column.title = arena_text(table->arena, name, strcspn(name, "_"), table->err);
    *(double *)next_cell(table, column) = value;
}

static void put_integer(struct row_table *table, const char *name, unsigned flags, long long value)
{
    struct column column = {name, .kind = COLUMN_INTEGER, .flags = flags};
    *(long long *)next_cell(table, column) = value;
}

static void put_text(struct row_table *table, const char *name, unsigned flags, const char *value)
{
    struct column column = {name, .kind = COLUMN_TEXT, .flags = flags};
    *(const char **)next_cell(table, column) = value;
}

static void put_label(struct row_table *table, const char *name, struct label label)
{
    struct column column = {name, .kind = COLUMN_LABEL, .flags = COLUMN_KEY | COLUMN_SHRINKS};
    *(struct label *)next_cell(table, column) = label;
}

/* The visible form of a text that is borrowed. */
static int label_borrowed(struct label *label, const char *text, bool shows_blanks,
                          struct arena *arena, struct err *err)
{
    struct buf visible = {0};
    (shows_blanks ? label_visible : label_line)(&visible, text, strlen(text));
    *label = (struct label){buf_keep(&visible, arena, err), text, text};
    return label->text ? 0 : -1;
}

static int report_texts(struct report *report, const struct score_view *view,
                        const struct frame *frame, size_t texts, struct arena *arena,
                        struct err *err)
{
    static const struct tokenized none;
    struct facts *facts = facts_new(arena, err);
    *report = text_origin_report(&view->origin, &none);
    report->frames = frame;
    report->frame_count = 1;
    report->about = arena_format(arena, err, "%zu text%s", texts, num_plural(texts));
    if (!facts || !report->about)
        return -1;
    facts_integer(facts, "texts", (long long)texts);
    report->facts = &facts->frame;
    return 0;
}

/* --- tokens and words ------------------------------------------------------------------------- */

/* The row of a token or a word, whose entropy is that of its first token. */
static int put_score(struct row_table *table, const struct score_view *view,
                     const struct tokenized *sentence, const struct scored *scored)
{
    enum { KEY = COLUMN_KEY | COLUMN_DATA_ONLY };
    bool words = view->words;
    size_t row = table->row;
    struct word_span span = words ? sentence->words[row] : (struct word_span){row, 1};
    const struct token_score *score = &scored->tokens[span.first];
    struct score_total total = score_total_of(scored, span.first, span.count);
    double logprob = total.tokens == span.count ? total.logprob : (double)NAN;
    double entropy = surprisal_of(view, -(double)score->entropy);
    const struct region *region = view->regions ? view->regions[span.first] : NULL;
    const char *likely = NULL;
    put_integer(table, "position", COLUMN_KEY, (long long)row);
    if (!words)
        put_integer(table, "id", KEY, sentence->tokens[row].id);
    put_label(table, "text", words ? sentence->word_labels[row] : sentence->labels[row]);
    if (view->has_regions)
        put_text(table, "region", COLUMN_KEY, region ? region->name : NULL);
    put_float(table, "logprob_nats", 0, logprob);
    put_float(table, surprisal_name(view), COLUMN_COLOURED, surprisal_of(view, logprob));
    put_float(table, view->bits ? "entropy_bits" : "entropy_nats", 0, entropy);
    if (words)
        put_integer(table, "subwords", KEY, (long long)span.count);
    else
        put_integer(table, "rank", 0, score->rank ? (long long)score->rank : COLUMN_MISSING);
    if (words && sentence->text) {
        struct text_range range = word_range(sentence, row);
        put_integer(table, "start", KEY, (long long)range.start);
        put_integer(table, "end", KEY, (long long)range.end);
    }
    if (!view->for_people || !scored->best_count)
        return 0;
    if (score->best &&
        !(likely = likely_text(score->best, scored->best_count, view->origin.viewer->tokenizer,
                               table->arena, table->err)))
        return -1;
    put_text(table, "most likely", COLUMN_TEXT_ONLY | COLUMN_SHRINKS, likely);
    return 0;
}

/* A row for each token or word; a text without any has a row whose numbers are missing. */
static int add_scores(struct frame *frame, const struct score_view *view,
                      const struct tokenized *sentence, const struct scored *scored,
                      struct arena *arena, struct err *err)
{
    static const struct token token;
    static const struct label label = {"", "", ""};
    static const struct word_span word = {0, 1};
    static const struct tokenized blank = {"",
                                           0,
                                           &token,
                                           .labels = &label,
                                           .count = 1,
                                           .words = &word,
                                           .word_labels = &label,
                                           .word_count = 1};
    static struct token_score no_score = {.logprob = NAN, .entropy = NAN};
    static const struct scored nothing = {&no_score, 1, 0};
    bool is_blank = !(view->words ? sentence->word_count : sentence->count);
    sentence = is_blank ? &blank : sentence;
    scored = is_blank ? &nothing : scored;
    struct row_table table = {.rows = view->words ? sentence->word_count : sentence->count,
                              .no_units = !view->words && !view->bits,
                              .arena = arena,
                              .err = err};
    for (; table.row < table.rows; next_row(&table))
        if (put_score(&table, view, sentence, scored) || err->kind)
            return -1;
    for (size_t i = 0; i < table.count && is_blank; i++)
        if (table.columns[i].kind == COLUMN_INTEGER)
            *(long long *)table.columns[i].values = COLUMN_MISSING;
    *frame = (struct frame){"scores",
                            {view->words ? "word" : "token", table.rows,
                             view->words ? sentence->word_labels : sentence->labels, 0},
                            table.columns,
                            table.count,
                            .running = true};
    table.columns->title = frame->rows.name;
    return 0;
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
    struct facts *facts = facts_new(arena, err);
    bool with_best = scored->best_count && !view->for_people;
    if (!frames || !facts || add_scores(frames, view, sentence, scored, arena, err) ||
        (with_best && add_best(&frames[1], view, frames, scored, arena, err)))
        return -1;
    facts_integer(facts, "tokens_scored", (long long)total.tokens);
    facts_float(facts, "logprob_nats", total.logprob);
    facts_float(facts, surprisal_name(view), surprisal_of(view, total.logprob));
    facts_float(facts, "perplexity", score_perplexity(&total));
    frames->note = score_summary(view, &total, arena, err);
    *report = text_origin_report(&view->origin, sentence);
    report->frames = frames;
    report->frame_count = with_best ? 2 : 1;
    report->facts = &facts->frame;
    return frames->note ? 0 : -1;
}

/* --- totals ----------------------------------------------------------------------------------- */

/* A total is compared with the first one; of pairs, sums are means. */
static void put_total(struct row_table *table, const struct score_view *view,
                      const struct score_totals *totals, const struct score_total *total,
                      double first, struct label label)
{
    enum totals_kind kind = totals->kind;
    size_t last = totals->key_count - 1;
    bool single = totals->are_single, pairs = kind == TOTALS_OF_PAIRS;
    bool continued = kind == TOTALS_OF_CONTINUATIONS;
    const char *bad = total->bad ? total->bad : "";
    unsigned in_data = single ? COLUMN_DATA_ONLY : 0;
    double logprob = pairs ? mean_of(total->logprob, total->count) : total->logprob;
    double other = pairs ? mean_of(total->bad_logprob, total->count) : first;
    double surprisal = surprisal_of(view, logprob);
    for (size_t i = 0; i < last; i++)
        put_text(table, totals->names[i], COLUMN_KEY | in_data, total->keys[i]);
    if (single && !totals->sentence)
        put_integer(table, "sentence", COLUMN_KEY | COLUMN_DATA_ONLY, total->sentence);
    put_label(table, totals->names[last], label);
    if (pairs) {
        if (single)
            put_label(table, "bad", (struct label){bad, bad, bad});
        put_float(table, "logprob_good_nats", in_data, logprob);
        put_float(table, "logprob_bad_nats", in_data, other);
    } else if (kind != TOTALS_OF_PREDICTIONS) {
        put_float(table, "logprob_nats", 0, logprob);
        put_float(table, surprisal_name(view), COLUMN_COLOURED, surprisal);
        put_integer(table, "tokens", 0, (long long)total->tokens);
        put_float(table, "perplexity", continued ? COLUMN_DATA_ONLY : 0, score_perplexity(total));
    }
    if (kind == TOTALS_OF_GROUPS)
        put_float(table, view->bits ? "bits_per_token" : "nats_per_token", 0,
                  mean_of(surprisal, total->tokens));
    if (continued || pairs)
        put_float(table, view->bits ? "difference_bits" : "difference_nats", 0,
                  surprisal_of(view, other - logprob));
    if (pairs)
        put_integer(table, "pairs", in_data, (long long)total->count);
    if (kind == TOTALS_OF_PREDICTIONS)
        put_integer(table, "items", 0, (long long)total->count);
    if (pairs || kind == TOTALS_OF_PREDICTIONS)
        put_float(table, "accuracy", 0, mean_of((double)total->correct, total->count));
}

int score_totals_report(struct report *report, const struct score_view *view,
                        const struct score_totals *totals, struct arena *arena, struct err *err)
{
    static const char *const names[] = {"totals", "totals", "continuations", "pairs",
                                        "predictions"};
    size_t last = totals->key_count - 1;
    const struct score_total none = {.keys = totals->names}; /* without rows, for the columns */
    const struct score_total *rows = totals->count ? totals->rows : &none;
    struct row_table table = {.rows = num_max(totals->count, 1), .arena = arena, .err = err};
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    struct label *labels = arena_alloc(arena, table.rows, sizeof *labels, err);
    for (; table.row < table.rows && labels; next_row(&table)) {
        const struct score_total *total = &rows[table.row];
        struct label *label = &labels[table.row];
        if (label_borrowed(label, total->keys[last], totals->kind == TOTALS_OF_CONTINUATIONS, arena,
                           err))
            return -1;
        put_total(&table, view, totals, total, rows->logprob, *label);
    }
    if (err->kind)
        return -1;
    *frame = (struct frame){names[totals->kind],
                            {totals->names[last], totals->count, labels, 0},
                            table.columns,
                            table.count};
    if (totals->kind == TOTALS_OF_GROUPS)
        frame->note = arena_format(arena, err,
                                   "logprob and surprisal are sums over tokens, "
                                   "%s_per_token is the mean",
                                   view->bits ? "bits" : "nats");
    if (err->kind)
        return -1;
    if (!totals->sentence)
        return report_texts(report, view, frame, totals->texts, arena, err);
    *report = text_origin_report(&view->origin, totals->sentence);
    report->frames = frame;
    report->frame_count = 1;
    return 0;
}

/* --- surprisal in columns --------------------------------------------------------------------- */

/* The row of a key, which is row `*at`, a later one or a new one. NULL with `err`. */
static struct line_row *find_row(struct score_lines *lines, size_t *at, uint64_t key,
                                 struct arena *arena, struct err *err)
{
    while (*at < lines->count && lines->rows[*at].key < key)
        ++*at;
    if (*at < lines->count && lines->rows[*at].key == key)
        return &lines->rows[*at];
    lines->rows = arena_grow(arena, lines->rows, lines->count, sizeof *lines->rows, err);
    if (!lines->rows)
        return NULL;
    struct line_row *row = &lines->rows[*at];
    memmove(row + 1, row, (lines->count++ - *at) * sizeof *row);
    *row = (struct line_row){.key = key};
    return row;
}

/* Add a word to a row, whose label becomes "are/is", or "are/is/…" if it would be long. */
static int add_word(struct line_row *row, size_t line, const char *word, double surprisal,
                    struct arena *arena, struct err *err)
{
    if (!row->words)
        row->words = arena_text(arena, word, strlen(word), err);
    else if (!strstr(row->words, word) && !strstr(row->words, "…"))
        row->words = arena_format(arena, err, "%s/%s", row->words,
                                  strlen(row->words) + strlen(word) <= LABEL_MOST ? word : "…");
    while (row->line_count <= line && !err->kind)
        row->lines = arena_grow(arena, row->lines, row->line_count++, sizeof *row->lines, err);
    if (err->kind)
        return -1;
    row->lines[line].surprisal += surprisal;
    row->lines[line].count++;
    return 0;
}

int score_lines_add(struct score_lines *lines, size_t line, const struct report *report,
                    const struct score_view *view, struct arena *arena, struct err *err)
{
    const struct axis *axis = &report->frames->rows;
    const struct column *surprisal = report->frames->columns;
    uint64_t key = 0;
    while (!(surprisal->flags & COLUMN_COLOURED))
        surprisal++;
    lines->texts++;
    for (size_t i = 0, at = 0; i < axis->size; i++, key++) {
        const char *word = axis->labels[i].plain;
        size_t token = view->words && view->regions ? report->sentence.words[i].first : i;
        const struct region *region = view->regions ? view->regions[token] : NULL;
        if (region && region->number != key >> REGION_SHIFT)
            key = (uint64_t)region->number << REGION_SHIFT;
        struct line_row *row = find_row(lines, &at, key, arena, err);
        if (!row)
            return -1;
        if (!lines->are_means && line &&
            (axis->size != lines->count || strcmp(row->words, word) != 0))
            return err_usage(err,
                             "expected the %ss of '%s', found others from '%s' at %zu on: --words "
                             "or --total compares models of different vocabularies",
                             axis->name, lines->names[0], axis->labels[i].text, i);
        if (region && !row->region &&
            !(row->region = arena_text(arena, region->name, strlen(region->name), err)))
            return -1;
        if (add_word(row, line, word, column_float(surprisal, i), arena, err))
            return -1;
    }
    return 0;
}

/* A column for each line, called by its unit. */
static void add_lines(struct row_table *table, const struct score_lines *lines,
                      const struct score_view *view)
{
    for (size_t line = 0; line < lines->name_count; line++) {
        struct label label;
        struct buf title = {0};
        double *values = arena_alloc(table->arena, lines->count, sizeof *values, table->err);
        if (label_borrowed(&label, lines->names[line], false, table->arena, table->err))
            return;
        text_label(&title, &(struct axis){lines->kind, 1, &label, 0}, 0, MODEL_COLUMNS);
        struct column column = {.name = arena_format(table->arena, table->err, "%s:%s",
                                                     surprisal_name(view), label.plain),
                                .title = buf_keep(&title, table->arena, table->err),
                                .unit = view->bits ? "bits" : "nats",
                                .digits = DIGITS,
                                .flags = COLUMN_COLOURED,
                                .values = values};
        if (table->err->kind)
            return;
        for (size_t i = 0; i < lines->count; i++) {
            const struct line_row *row = &lines->rows[i];
            values[i] = line < row->line_count
                            ? mean_of(row->lines[line].surprisal, row->lines[line].count)
                            : (double)NAN;
        }
        add_column(table, &column);
    }
}

int score_lines_report(struct report *report, const struct score_lines *lines,
                       const struct score_view *view, struct arena *arena, struct err *err)
{
    const char *rows = lines->are_means ? "word" : report->frames->rows.name;
    bool continued = strcmp(rows, "continuation") == 0;
    bool is_blank = lines->count == 1 && !*lines->rows->words;
    struct row_table table = {.rows = lines->count, .arena = arena, .err = err};
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    struct label *labels = arena_alloc(arena, lines->count, sizeof *labels, err);
    for (; table.row < table.rows && labels; next_row(&table)) {
        const struct line_row *row = &lines->rows[table.row];
        if (label_borrowed(&labels[table.row], row->words, true, arena, err))
            return -1;
        if (!continued)
            put_integer(&table, "position", COLUMN_KEY,
                        is_blank ? COLUMN_MISSING : (long long)table.row);
        put_label(&table, continued ? rows : "text", labels[table.row]);
        if (!continued && view->has_regions)
            put_text(&table, "region", COLUMN_KEY, row->region);
    }
    if (!err->kind && !continued && table.columns)
        table.columns->title = rows;
    add_lines(&table, lines, view);
    if (err->kind)
        return -1;
    *frame = (struct frame){view->bits ? "surprisal_bits" : "surprisal_nats",
                            {rows, lines->count, labels, 0},
                            table.columns,
                            table.count,
                            .curves = true};
    frame->note =
        arena_format(arena, err, "%s %s%s (%s)",
                     lines->are_means ? "mean surprisal at each" : "surprisal of each", rows,
                     lines->are_means ? " position" : "", view->bits ? "bits" : "nats");
    if (lines->are_means || !frame->note)
        return frame->note ? report_texts(report, view, frame, lines->texts, arena, err) : -1;
    report->frames = frame;
    report->frame_count = 1;
    report->facts = NULL;
    return 0;
}
