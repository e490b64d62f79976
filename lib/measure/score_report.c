#include "measure/score_report.h"

#include <math.h>
#include <stddef.h>
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

/* --- tables: rows of cells, of which each kind of table shows some ---------------------------- */

enum {
    SUMS = TOTALS_OF_TEXTS | TOTALS_OF_GROUPS | TOTALS_OF_CONTINUATIONS,
    OF_TOKENS = 32,
    OF_WORDS = 64,
    OF_LINES = 128,
    WITH_POSITIONS = 256,
    WITH_REGIONS = 512,
    WITH_BYTES = 1024, /* of the text */
    WITH_LIKELY = 2048,
    WITH_NUMBERS = 4096, /* of the texts */
    WITH_BAD = 8192,     /* texts of pairs, which leave less room for numbers */
    OF_ALL = 16383,
};

struct cells {
    long long sentence, position, id, rank, subwords, start, end, tokens, count;
    double logprob, bad_logprob, surprisal, mean, entropy, perplexity, difference, accuracy;
    struct label label, bad;
    const char *region, *likely;
};

static const struct cells blank_cells = {
    .position = COLUMN_MISSING,
    .id = COLUMN_MISSING,
    .rank = COLUMN_MISSING,
    .subwords = COLUMN_MISSING,
    .start = COLUMN_MISSING,
    .end = COLUMN_MISSING,
    .logprob = NAN,
    .surprisal = NAN,
    .entropy = NAN,
    .label = {"", "", ""},
};

#define COLUMN(name, type, flag, cell) \
    {(name), .kind = (type), .flags = (flag)}, offsetof(struct cells, cell)
#define KEY(name, type, flag, cell) COLUMN(name, type, COLUMN_KEY | (flag), cell)
#define NUMBER(name, in, flag, cell) \
    {(name), .digits = DIGITS, .unit = (in), .flags = (flag)}, offsetof(struct cells, cell)

static const struct column_plan {
    struct column column;
    size_t at;
    unsigned kinds, data_only; /* kinds that have it; of them, those that have it in data alone */
    const char *in_bits;       /* name with --bits; NULL: the same */
    const char *brief;         /* header of tokens, whose note has the unit */
} plans[] = {
    {KEY("sentence", COLUMN_INTEGER, COLUMN_DATA_ONLY, sentence), WITH_NUMBERS},
    {KEY("position", COLUMN_INTEGER, 0, position), WITH_POSITIONS},
    {KEY("id", COLUMN_INTEGER, COLUMN_DATA_ONLY, id), OF_TOKENS},
    {KEY("text", COLUMN_LABEL, COLUMN_SHRINKS, label), OF_ALL},
    {KEY("bad", COLUMN_LABEL, COLUMN_SHRINKS, bad), WITH_BAD},
    {KEY("region", COLUMN_TEXT, 0, region), WITH_REGIONS},
    {NUMBER("logprob_nats", "nats", 0, logprob), OF_TOKENS | OF_WORDS | SUMS, .brief = "logprob"},
    {NUMBER("logprob_good_nats", "nats", 0, logprob), TOTALS_OF_PAIRS, WITH_BAD},
    {NUMBER("logprob_bad_nats", "nats", 0, bad_logprob), TOTALS_OF_PAIRS, WITH_BAD},
    {NUMBER("surprisal_nats", "nats", COLUMN_COLOURED, surprisal), OF_TOKENS | OF_WORDS | SUMS,
     .in_bits = "surprisal_bits", .brief = "surprisal"},
    {NUMBER("entropy_nats", "nats", 0, entropy), OF_TOKENS | OF_WORDS, .in_bits = "entropy_bits",
     .brief = "entropy"},
    {COLUMN("rank", COLUMN_INTEGER, 0, rank), OF_TOKENS},
    {KEY("subwords", COLUMN_INTEGER, COLUMN_DATA_ONLY, subwords), OF_WORDS},
    {KEY("start", COLUMN_INTEGER, COLUMN_DATA_ONLY, start), WITH_BYTES},
    {KEY("end", COLUMN_INTEGER, COLUMN_DATA_ONLY, end), WITH_BYTES},
    {COLUMN("most likely", COLUMN_TEXT, COLUMN_TEXT_ONLY | COLUMN_SHRINKS, likely), WITH_LIKELY},
    {COLUMN("tokens", COLUMN_INTEGER, 0, tokens), SUMS},
    {NUMBER("perplexity", NULL, 0, perplexity), SUMS, TOTALS_OF_CONTINUATIONS},
    {NUMBER("nats_per_token", "nats", 0, mean), TOTALS_OF_GROUPS, .in_bits = "bits_per_token"},
    {NUMBER("difference_nats", "nats", 0, difference), TOTALS_OF_CONTINUATIONS | TOTALS_OF_PAIRS,
     .in_bits = "difference_bits"},
    {COLUMN("pairs", COLUMN_INTEGER, 0, count), TOTALS_OF_PAIRS, WITH_BAD},
    {COLUMN("items", COLUMN_INTEGER, 0, count), TOTALS_OF_PREDICTIONS},
    {{"accuracy", .digits = DIGITS, .fraction = true},
     offsetof(struct cells, accuracy),
     TOTALS_OF_PAIRS | TOTALS_OF_PREDICTIONS},
};

enum { PLANS = sizeof plans / sizeof *plans };

/* Columns of some kinds of tables; returns how many. `rows` names the labels, too, unless they are
 * those of tokens or words. */
static size_t plan_columns(struct column *columns, unsigned kinds, const char *rows,
                           const struct score_view *view)
{
    size_t count = 0;
    for (const struct column_plan *plan = plans; plan < plans + PLANS; plan++) {
        struct column *column = &columns[count];
        if (!(plan->kinds & kinds))
            continue;
        *column = plan->column;
        if (view->bits && plan->in_bits) {
            column->name = plan->in_bits;
            column->unit = "bits";
        } else if (kinds & OF_TOKENS && !view->bits) {
            column->title = plan->brief;
        }
        if (plan->at == offsetof(struct cells, position))
            column->title = rows;
        if (plan->at == offsetof(struct cells, label) && !(kinds & WITH_POSITIONS))
            column->name = rows;
        if (plan->data_only & kinds)
            column->flags |= COLUMN_DATA_ONLY;
        count++;
    }
    return count;
}

/* Fill in the planned columns, from the first one on. */
static void put_cells(const struct column *columns, size_t row, unsigned kinds,
                      const struct cells *cells)
{
    static const size_t sizes[] = {[COLUMN_FLOAT] = sizeof(double),
                                   [COLUMN_INTEGER] = sizeof(long long),
                                   [COLUMN_TEXT] = sizeof(const char *),
                                   [COLUMN_LABEL] = sizeof(struct label)};
    for (const struct column_plan *plan = plans; plan < plans + PLANS; plan++) {
        size_t size = sizes[plan->column.kind];
        if (plan->kinds & kinds)
            memcpy((char *)(columns++)->values + row * size, (const char *)cells + plan->at, size);
    }
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

/* The cells of a token, or of a word, whose entropy is that of its first token. */
static struct cells cells_of(const struct score_view *view, const struct tokenized *sentence,
                             const struct scored *scored, size_t row)
{
    struct word_span span = view->words ? sentence->words[row] : (struct word_span){row, 1};
    const struct token_score *score = &scored->tokens[span.first];
    struct score_total total = score_total_of(scored, span.first, span.count);
    struct cells cells = {
        .position = (long long)row,
        .id = sentence->tokens[span.first].id,
        .label = view->words ? sentence->word_labels[row] : sentence->labels[row],
        .logprob = total.tokens == span.count ? total.logprob : (double)NAN,
        .entropy = surprisal_of(view, -(double)score->entropy),
        .rank = score->rank ? (long long)score->rank : COLUMN_MISSING,
        .subwords = (long long)span.count,
    };
    cells.surprisal = surprisal_of(view, cells.logprob);
    if (view->regions && view->regions[span.first])
        cells.region = view->regions[span.first]->name;
    if (view->words && sentence->text) {
        struct text_range range = word_range(sentence, row);
        cells.start = (long long)range.start;
        cells.end = (long long)range.end;
    }
    return cells;
}

/* A row for each token or word; one that is blank for a text without tokens. */
static int add_scores(struct frame *frame, const struct score_view *view,
                      const struct tokenized *sentence, const struct scored *scored,
                      struct arena *arena, struct err *err)
{
    struct column columns[PLANS];
    bool words = view->words;
    size_t own = words ? sentence->word_count : sentence->count;
    const struct label *labels = words ? sentence->word_labels : sentence->labels;
    unsigned kinds = WITH_POSITIONS | (words ? OF_WORDS : OF_TOKENS);
    kinds |= view->has_regions ? WITH_REGIONS : 0;
    kinds |= words && (sentence->text || !sentence->count) ? WITH_BYTES : 0;
    kinds |= view->for_people && own && scored->best_count ? WITH_LIKELY : 0;
    *frame = (struct frame){
        "scores",
        {words ? "word" : "token", num_max(own, 1), own ? labels : &blank_cells.label, 0},
        .running = true};
    size_t count = plan_columns(columns, kinds, frame->rows.name, view);
    if (frame_columns(frame, columns, count, arena, err))
        return -1;
    if (!own)
        put_cells(frame->columns, 0, kinds, &blank_cells);
    for (size_t i = 0; i < own; i++) {
        const struct likely *best = kinds & WITH_LIKELY ? scored->tokens[i].best : NULL;
        struct cells cells = cells_of(view, sentence, scored, i);
        if (best && !(cells.likely = likely_text(best, scored->best_count,
                                                 view->origin.viewer->tokenizer, arena, err)))
            return -1;
        put_cells(frame->columns, i, kinds, &cells);
    }
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
    facts_float(facts, view->bits ? "surprisal_bits" : "surprisal_nats",
                surprisal_of(view, total.logprob));
    facts_float(facts, "perplexity", score_perplexity(&total));
    frames->note = score_summary(view, &total, arena, err);
    *report = text_origin_report(&view->origin, sentence);
    report->frames = frames;
    report->frame_count = with_best ? 2 : 1;
    report->facts = &facts->frame;
    return frames->note ? 0 : -1;
}

/* --- totals ----------------------------------------------------------------------------------- */

/* The cells of a total, which is compared with the first one; of pairs, sums are means. */
static struct cells cells_of_total(const struct score_view *view, const struct score_total *total,
                                   const struct score_totals *totals)
{
    bool pairs = totals->kind == TOTALS_OF_PAIRS;
    double logprob = pairs ? mean_of(total->logprob, total->count) : total->logprob;
    double other = pairs ? mean_of(total->bad_logprob, total->count) : totals->items->logprob;
    return (struct cells){
        .sentence = total->sentence,
        .label = total->label,
        .bad = total->bad,
        .logprob = logprob,
        .bad_logprob = other,
        .surprisal = surprisal_of(view, logprob),
        .mean = mean_of(surprisal_of(view, logprob), total->tokens),
        .tokens = (long long)total->tokens,
        .perplexity = score_perplexity(total),
        .difference = surprisal_of(view, other - logprob),
        .count = (long long)total->count,
        .accuracy = mean_of((double)total->correct, total->count),
    };
}

int score_totals_report(struct report *report, const struct score_view *view,
                        const struct score_totals *totals, struct arena *arena, struct err *err)
{
    size_t first = totals->name_count;
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    struct column *columns = arena_alloc(arena, first + PLANS, sizeof *columns, err);
    struct label *labels = arena_alloc(arena, totals->count, sizeof *labels, err);
    unsigned kinds = totals->kind;
    if (!frame || !columns || !labels)
        return -1;
    *frame = (struct frame){kinds & TOTALS_OF_CONTINUATIONS ? "continuations"
                            : kinds & TOTALS_OF_PAIRS       ? "pairs"
                            : kinds & TOTALS_OF_PREDICTIONS ? "predictions"
                                                            : "totals",
                            {totals->rows, totals->count, labels, 0}};
    kinds |= totals->are_single && !totals->sentence ? WITH_NUMBERS : 0;
    kinds |= totals->are_single && kinds & TOTALS_OF_PAIRS ? WITH_BAD : 0;
    size_t count = first + plan_columns(columns + first, kinds, totals->rows, view);
    for (size_t i = 0; i < first; i++) {
        unsigned flags = COLUMN_KEY | (totals->are_single ? COLUMN_DATA_ONLY : 0);
        columns[i] = (struct column){totals->names[i], .kind = COLUMN_TEXT, .flags = flags};
        for (size_t k = first; k < count; k++)
            if (strcmp(columns[i].name, columns[k].name) == 0)
                return err_usage(
                    err, "column '%s': results already have a column with this name: rename it",
                    columns[i].name);
    }
    if (frame_columns(frame, columns, count, arena, err))
        return -1;
    for (size_t i = 0; i < totals->count; i++) {
        const struct score_total *total = &totals->items[i];
        struct cells cells = cells_of_total(view, total, totals);
        labels[i] = total->label;
        put_cells(frame->columns + first, i, kinds, &cells);
        for (size_t k = 0; k < first; k++)
            frame_texts(frame, k)[i] = total->columns ? total->columns[k] : NULL;
    }
    if (!totals->sentence)
        return report_texts(report, view, frame, totals->texts, arena, err);
    *report = text_origin_report(&view->origin, totals->sentence);
    report->frames = frame;
    report->frame_count = 1;
    return 0;
}

/* --- surprisal in columns --------------------------------------------------------------------- */

static int check_rows(const struct score_lines *lines, const struct axis *rows, struct err *err)
{
    const struct label none = {"nothing", "", ""};
    size_t at = 0;
    while (at < rows->size && at < lines->count &&
           strcmp(lines->rows[at].label.plain, rows->labels[at].plain) == 0)
        at++;
    if (at == rows->size && at == lines->count)
        return 0;
    return err_usage(
        err,
        "expected the %ss of '%s', found '%s' in place of '%s' at %zu: --total compares models "
        "of different vocabularies",
        rows->name, lines->names.labels->plain, (at < rows->size ? &rows->labels[at] : &none)->text,
        (at < lines->count ? &lines->rows[at].label : &none)->text, at);
}

/* A row before `index`, of a word, with memory of its own. */
static int insert_row(struct score_lines *lines, size_t index, struct line_row row,
                      struct arena *arena, struct err *err)
{
    const struct label label = row.label;
    lines->rows = arena_grow(arena, lines->rows, lines->count, sizeof *lines->rows, err);
    row.label.text = row.label.exact = arena_text(arena, label.text, strlen(label.text), err);
    row.label.plain = arena_text(arena, label.plain, strlen(label.plain), err);
    if (row.name)
        row.name = arena_text(arena, row.name, strlen(row.name), err);
    if (err->kind)
        return -1;
    memmove(&lines->rows[index + 1], &lines->rows[index],
            (lines->count++ - index) * sizeof *lines->rows);
    lines->rows[index] = row;
    return 0;
}

/* Add a word to a row, whose label becomes "are/is", or "are/is/…" if it would be long. */
static int add_word(struct line_row *row, size_t line, double surprisal, const char *text,
                    struct arena *arena, struct err *err)
{
    size_t size = strlen(row->label.text);
    if (!strstr(row->label.text, text) && !strstr(row->label.text, "…")) {
        const char *more = size + strlen(text) <= LABEL_MOST ? text : "…";
        const char *both = arena_format(arena, err, "%s/%s", row->label.text, more);
        row->label = (struct label){both, both, both};
    }
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
    struct line_row row = {.key = 0};
    while (!(surprisal->flags & COLUMN_COLOURED))
        surprisal++;
    if (!lines->are_means && line && check_rows(lines, axis, err))
        return -1;
    lines->texts++;
    for (size_t i = 0, at = 0; i < axis->size; i++, row.key++) {
        size_t token = view->words && view->regions ? report->sentence.words[i].first : i;
        const struct region *region = view->regions ? view->regions[token] : NULL;
        if (region && region->number != row.key >> REGION_SHIFT)
            row.key = (uint64_t)region->number << REGION_SHIFT;
        row.name = region ? region->name : NULL;
        row.label = axis->labels[i];
        while (at < lines->count && lines->rows[at].key < row.key)
            at++;
        if ((at == lines->count || lines->rows[at].key > row.key) &&
            insert_row(lines, at, row, arena, err))
            return -1;
        if (add_word(&lines->rows[at], line, column_float(surprisal, i), row.label.text, arena,
                     err))
            return -1;
    }
    return 0;
}

/* A column of a line, called by its unit. */
static struct column line_column(const struct axis *names, size_t line, const char *unit,
                                 struct arena *arena, struct err *err)
{
    struct buf title = {0};
    text_label(&title, names, line, MODEL_COLUMNS);
    return (struct column){
        .unit = unit,
        .digits = DIGITS,
        .flags = COLUMN_COLOURED,
        .title = buf_keep(&title, arena, err),
        .name = arena_format(arena, err, "surprisal_%s:%s", unit, names->labels[line].plain)};
}

int score_lines_report(struct report *report, const struct score_lines *lines,
                       const struct score_view *view, struct arena *arena, struct err *err)
{
    const struct frame *scores = lines->are_means ? NULL : report->frames;
    const char *rows = scores ? scores->rows.name : "word";
    unsigned kinds = scores && strcmp(rows, "continuation") == 0 ? 0 : WITH_POSITIONS;
    struct frame *frame = arena_alloc(arena, 1, sizeof *frame, err);
    struct label *labels = arena_alloc(arena, lines->count, sizeof *labels, err);
    struct column *columns = arena_alloc(arena, PLANS + lines->names.size, sizeof *columns, err);
    if (!frame || !labels || !columns)
        return -1;
    kinds |= kinds && view->has_regions ? OF_LINES | WITH_REGIONS : OF_LINES;
    size_t keys = plan_columns(columns, kinds, rows, view);
    for (size_t i = 0; i < lines->names.size; i++)
        columns[keys + i] = line_column(&lines->names, i, view->bits ? "bits" : "nats", arena, err);
    *frame = (struct frame){view->bits ? "surprisal_bits" : "surprisal_nats",
                            {rows, lines->count, labels, 0},
                            .curves = true};
    frame->note = arena_format(arena, err, "%s %s%s (%s)",
                               scores ? "surprisal of each" : "mean surprisal at each", rows,
                               scores ? "" : " position", view->bits ? "bits" : "nats");
    if (err->kind || frame_columns(frame, columns, keys + lines->names.size, arena, err))
        return -1;
    for (size_t i = 0; i < lines->count; i++) {
        const struct line_row *row = &lines->rows[i];
        bool is_blank = lines->count == 1 && !*row->label.text;
        struct cells cells = {.position = is_blank ? COLUMN_MISSING : (long long)i,
                              .label = row->label,
                              .region = row->name};
        labels[i] = row->label;
        put_cells(frame->columns, i, kinds, &cells);
        for (size_t k = 0; k < lines->names.size; k++)
            frame_floats(frame, keys + k)[i] =
                k < row->line_count ? mean_of(row->lines[k].surprisal, row->lines[k].count)
                                    : (double)NAN;
    }
    if (!scores)
        return report_texts(report, view, frame, lines->texts, arena, err);
    report->frames = frame;
    report->frame_count = 1;
    report->facts = NULL;
    return 0;
}
