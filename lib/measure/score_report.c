#include "measure/score_report.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "lens/continuation.h"
#include "math/portable_math.h"
#include "text/aligned_text.h"
#include "text/word_table.h"
#include "write/text.h"

enum {
    DIGITS = 4,
    MODEL_COLUMNS = 16, /* maximum width of a column header in terminal columns; longer names are
                         * shortened */
    LABEL_MOST = 16,    /* maximum bytes of a row's label, such as "are/is" */
};

static const double LN_2 = 0.6931471805599453;

static const char *surprisal_name(const struct score_view *view)
{
    return view->bits ? "surprisal_bits" : "surprisal_nats";
}

/* Return the surprisal in the unit of the view; never -0. */
static double surprisal_of(const struct score_view *view, double logprob)
{
    return (0 - logprob) / (view->bits ? LN_2 : 1);
}

/* --- totals of tokens ------------------------------------------------------------------------- */

/* Return the log-probability of a total; NaN if no token has a score. */
static double logprob_of(const struct score_total *total)
{
    return total->tokens ? total->logprob : (double)NAN;
}

struct score_total score_total_of(const struct scored *scored, size_t first, size_t count)
{
    struct score_total total = {.number = COLUMN_MISSING};
    for (size_t i = first; i < first + count; i++)
        if (scored->tokens[i].rank) {
            total.logprob += (double)scored->tokens[i].logprob;
            total.tokens++;
        }
    return total;
}

struct score_total score_total_of_rows(const struct score_text *text, bool words)
{
    const struct tokenized *sentence = &text->pairs->text;
    struct score_total total = score_total_of(text->scored, 0, text->at ? 0 : text->scored->count);
    for (size_t i = 0; text->at && i < text->at_count; i++) {
        size_t at = text->at[i];
        struct word_span span = {at, 1};
        span = words ? sentence->words[at] : span;
        struct score_total row = score_total_of(text->scored, span.first, span.count);
        score_total_add(&total, &row);
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
    sum->unigrams += total->unigrams;
    sum->words += total->words;
    sum->unknown += total->unknown;
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

static void put_facts(struct facts *facts, const struct score_view *view,
                      const struct score_total *total)
{
    facts_integer(facts, "tokens_scored", (long long)total->tokens);
    facts_float(facts, "logprob_nats", logprob_of(total));
    facts_float(facts, surprisal_name(view), surprisal_of(view, logprob_of(total)));
    facts_float(facts, "perplexity", score_perplexity(total));
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Put a number into a row. The column's name contains the unit, if it is nats or bits:
 * nats_per_token. */
static void put_float(struct table_rows *rows, const char *name, unsigned flags, double value)
{
    const char *unit = strstr(name, "nats") ? "nats" : strstr(name, "bits") ? "bits" : NULL;
    rows_float(rows, (struct column){name, .unit = unit, .flags = flags, .digits = DIGITS}, value);
}

/* --- tokens and words ------------------------------------------------------------------------- */

static size_t rows_of(const struct score_view *view, const struct tokenized *text)
{
    return view->words ? text->word_count : text->count;
}

/* Return the name of the region that contains a token; NULL: no region contains it. */
static const char *region_of(const struct score_region *parts, size_t count, size_t token)
{
    const char *name = NULL;
    for (size_t i = 0; i < count; i++)
        name = token - parts[i].first < parts[i].count ? parts[i].name : name;
    return name;
}

/* Put the row of a token or word, unless it is outside a continuation; a word has the entropy of
 * its first token. Integers of a blank text are 0 here; add_scores makes them missing. */
static void put_score(struct table_rows *rows, const struct score_view *view,
                      const struct score_text *text, size_t part, size_t row)
{
    enum { KEY = COLUMN_KEY | COLUMN_DATA_ONLY };
    static const struct token_score no_score = {.logprob = NAN, .entropy = NAN};
    static const struct label no_label = {"", "", ""};
    static const struct score_region no_part = {.name = ""};
    const struct tokenized *sentence = &text->pairs[part].text;
    const struct scored *scored = &text->scored[part];
    bool words = view->words, is_blank = !rows_of(view, sentence);
    const struct score_region *own = text->continues && !is_blank ? &text->parts[part] : &no_part;
    const struct label *labels = words ? sentence->word_labels : sentence->labels;
    struct word_span span = words && !is_blank ? sentence->words[row] : (struct word_span){row, 1};
    size_t first = num_max(own->first, span.first), end = span.first + span.count;
    end = own->count ? num_min(end, own->first + own->count) : end;
    bool has_columns = view->of_rows && row < text->part_count;
    const struct score_region *given = has_columns ? &text->parts[row] : NULL;
    if (end <= first && !given)
        return;
    span.count = end - first;
    const struct token_score *score = is_blank || !span.count ? &no_score : &scored->tokens[first];
    struct score_total total = score_total_of(scored, first, is_blank ? 0 : span.count);
    double logprob = total.tokens && total.tokens == span.count ? total.logprob : (double)NAN;
    double entropy = surprisal_of(view, -(double)score->entropy);
    if (text->continues)
        rows_text(rows, "continuation", COLUMN_KEY,
                  view->for_people ? label_borrowed(own->name, true, rows->arena, rows->err).text
                                   : own->name);
    for (size_t i = 0; given && i < given->column_count; i++) {
        const struct identity_column *column = &given->columns[i];
        const unsigned literal = column->literal || !column->value ? COLUMN_LITERAL : 0;
        rows_text(rows, column->name, KEY | COLUMN_LEADS | literal, column->value);
    }
    rows_integer(rows, "position", COLUMN_KEY,
                 words ? (long long)row : tokenized_number(sentence, row));
    rows_title(rows, words ? "word" : "token");
    if (!words)
        rows_integer(rows, "id", KEY, is_blank ? 0 : sentence->tokens[row].id);
    rows_label(rows, "text", COLUMN_KEY | COLUMN_SHRINKS, is_blank ? no_label : labels[row]);
    if (view->of_pairs)
        rows_integer(rows, "segment", KEY, sentence->second && first >= sentence->second);
    if (view->has_regions)
        rows_text(rows, "region", COLUMN_KEY,
                  text->continues ? NULL : region_of(text->parts, text->part_count, first));
    put_float(rows, "logprob_nats", 0, logprob);
    put_float(rows, surprisal_name(view), COLUMN_COLOURED, surprisal_of(view, logprob));
    put_float(rows, view->bits ? "entropy_bits" : "entropy_nats", 0, entropy);
    if (words && view->ends) {
        bool has_next = !is_blank && span.count;
        const struct token_score *after =
            has_next ? &scored->tokens[first + span.count] : &no_score;
        double next = surprisal_of(view, -(double)after->entropy);
        put_float(rows, view->bits ? "entropy_next_bits" : "entropy_next_nats", COLUMN_DATA_ONLY,
                  next);
        put_float(rows, view->bits ? "entropy_reduction_bits" : "entropy_reduction_nats",
                  COLUMN_DATA_ONLY, entropy - next);
    }
    if (words)
        rows_integer(rows, "subwords", KEY, (long long)span.count);
    else
        rows_integer(rows, "rank", 0, score->rank ? (long long)score->rank : COLUMN_MISSING);
    if (words && (is_blank || sentence->raw)) {
        struct text_range range = is_blank ? (struct text_range){0} : word_range(sentence, row);
        rows_integer(rows, "start", KEY, (long long)range.start);
        rows_integer(rows, "end", KEY, (long long)range.end);
    }
    if (view->for_people && scored->best_count)
        rows_text(rows, "most likely", COLUMN_TEXT_ONLY | COLUMN_SHRINKS,
                  score->best ? likely_text(score->best, scored->best_count,
                                            view->viewer->tokenizer, rows->arena, rows->err)
                              : NULL);
    rows_next(rows);
}

/* Add a row for each token or word. A blank text has one row, without numbers; continuations of a
 * blank text have none. */
static int add_scores(struct table *table, const struct score_view *view,
                      const struct score_text *text, struct arena *arena, struct err *err)
{
    struct table_rows rows = {.arena = arena, .err = err};
    size_t count = text->continues ? num_max(text->part_count, 1) : 1;
    bool is_blank = !rows_of(view, &text->pairs->text);
    for (size_t i = 0; i < count; i++)
        rows.most += num_max(rows_of(view, &text->pairs[i].text), 1);
    for (size_t p = 0; p < count; p++) {
        const struct tokenized *sentence = &text->pairs[p].text;
        size_t first = view->words || is_blank ? 0 : sentence->words_before;
        size_t end = text->at ? text->at_count : num_max(rows_of(view, sentence), 1) - first;
        for (size_t i = 0; i < end && !err->kind; i++)
            put_score(&rows, view, text, p, text->at ? text->at[i] : first + i);
    }
    if (rows_finish(table, &rows, "scores", view->words ? "word" : "token"))
        return -1;
    for (struct column *column = rows.columns; column < rows.columns + rows.count; column++)
        if (is_blank && column->kind == COLUMN_INTEGER)
            *(long long *)column->values = COLUMN_MISSING;
    table->rows.size = is_blank && text->continues ? 0 : table->rows.size;
    table->running = !text->at && !text->continues;
    return 0;
}

int score_report(struct report *report, const struct score_view *view,
                 const struct text_with_source *pair, const struct score_text *text,
                 struct arena *arena, struct err *err)
{
    const struct scored *scored = text->scored;
    struct score_total total = score_total_of_rows(text, view->words);
    struct table *tables = arena_alloc(arena, 2, sizeof *tables, err);
    struct facts *facts = facts_new(arena, err);
    bool only_best = view->fills || view->lists;
    size_t keys = view->next ? 0 : 1; /* number of columns before the scores, up to the position */
    keys += view->of_rows && text->part_count ? text->parts->column_count : 0;
    bool with_best = only_best || (scored->best_count && !view->for_people);
    const struct likely **lists = arena_alloc(arena, scored->count, sizeof *lists, err);
    if (!tables || !facts || !lists || add_scores(tables, view, text, arena, err))
        return -1;
    size_t places = !scored->count ? 0 : view->next ? 1 : tables->rows.size;
    for (size_t i = 0; with_best && i < places; i++) {
        size_t at =
            view->next ? scored->count : (size_t)column_integer(&tables->columns[keys - 1], i);
        if (!view->next)
            at = view->words ? pair->text.words[at].first : at + pair->text.words_before;
        lists[i] = scored->tokens[at].best;
    }
    const struct likely_best best = {
        "best", tables, keys, lists, scored->best_count, view->viewer->tokenizer, only_best};
    if (with_best && likely_table(&tables[1], &best, arena, err))
        return -1;
    *report = view->origin;
    report->text = pair->text;
    report->source = pair->source;
    report->tables = only_best ? &tables[1] : tables;
    report->table_count = with_best && !only_best ? 2 : 1;
    if (text->continues)
        return 0;
    if (!view->fills)
        put_facts(facts, view, &total);
    tables->note = score_summary(view, &total, arena, err);
    report->facts = &facts->table;
    return tables->note ? 0 : -1;
}

/* --- words of minimal pairs ------------------------------------------------------------------- */

/* Align words: element i * (bad words + 1) + j of the result is the smallest number of words that
 * differ between the good words from i on and the bad words from j on. */
static const size_t *align(const struct tokenized *good, const struct tokenized *bad,
                           struct arena *arena, struct err *err)
{
    size_t rows = good->word_count, columns = bad->word_count, width = columns + 1;
    size_t *with = arena_alloc(arena, rows + 1, width * sizeof *with, err);
    for (size_t i = rows + 1; with && i-- > 0;)
        for (size_t j = width; j-- > 0;) {
            size_t *least = &with[i * width + j];
            *least = i == rows ? columns - j : rows - i;
            if (i == rows || j == columns)
                continue;
            bool same = strcmp(good->word_labels[i].plain, bad->word_labels[j].plain) == 0;
            *least = num_min(with[(i + 1) * width + j], with[i * width + j + 1]) + 1;
            *least = num_min(*least, with[(i + 1) * width + j + 1] + !same);
        }
    return with;
}

/* Put the label and the position of a word, and return its surprisal; NaN: one of its tokens has no
 * score, or the text lacks the word. */
static double put_side(struct table_rows *rows, const struct score_view *view,
                       const struct score_text *text, size_t side, size_t word)
{
    static const struct label no_word = {"", "", ""};
    const struct tokenized *sentence = &text->pairs[side].text;
    bool is_here = word < sentence->word_count;
    rows_integer(rows, side ? "position_bad" : "position", COLUMN_KEY,
                 is_here ? (long long)word : COLUMN_MISSING);
    rows_label(rows, side ? "text_bad" : "text", COLUMN_KEY | COLUMN_SHRINKS,
               is_here ? sentence->word_labels[word] : no_word);
    if (!is_here)
        return (double)NAN;
    struct word_span span = sentence->words[word];
    struct score_total total = score_total_of(&text->scored[side], span.first, span.count);
    return total.tokens == span.count ? surprisal_of(view, total.logprob) : (double)NAN;
}

int score_pair_report(struct report *report, const struct score_view *view,
                      const struct score_text *text, struct arena *arena, struct err *err)
{
    const struct tokenized *good = &text->pairs[0].text, *bad = &text->pairs[1].text;
    size_t width = bad->word_count + 1;
    const size_t *with = align(good, bad, arena, err);
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct table_rows rows = {
        .most = good->word_count + bad->word_count, .arena = arena, .err = err};
    for (size_t i = 0, j = 0; with && (i < good->word_count || j < bad->word_count);) {
        const size_t *least = &with[i * width + j];
        bool in_good = i < good->word_count, in_bad = j < bad->word_count;
        bool same =
            in_good && in_bad && strcmp(good->word_labels[i].plain, bad->word_labels[j].plain) == 0;
        /* if the best alignment does not pair the two words, the row has only one of them */
        if (in_good && in_bad && *least != least[width + 1] + !same) {
            in_bad = *least != least[width] + 1;
            in_good = !in_bad;
        }
        double surprisals[2];
        surprisals[0] = put_side(&rows, view, text, 0, in_good ? i : SIZE_MAX);
        surprisals[1] = put_side(&rows, view, text, 1, in_bad ? j : SIZE_MAX);
        if (view->has_regions)
            rows_text(&rows, "region", COLUMN_KEY,
                      in_good ? region_of(text->parts, text->part_count, good->words[i].first)
                              : region_of(text->bad_parts, text->part_count, bad->words[j].first));
        put_float(&rows, view->bits ? "surprisal_good_bits" : "surprisal_good_nats", 0,
                  surprisals[0]);
        put_float(&rows, view->bits ? "surprisal_bad_bits" : "surprisal_bad_nats", 0,
                  surprisals[1]);
        put_float(&rows, view->bits ? "difference_bits" : "difference_nats", COLUMN_COLOURED,
                  surprisals[1] - surprisals[0]);
        rows_next(&rows);
        i += in_good;
        j += in_bad;
    }
    if (!with || !table || rows_finish(table, &rows, "words", "word"))
        return -1;
    *report = view->origin;
    report->text = *good;
    report->tables = table;
    report->table_count = 1;
    return 0;
}

/* --- rows by their keys ----------------------------------------------------------------------- */

/* Join the keys of a row to a name, such as "reduced, verb", and leave out missing keys. NULL with
 * `err`. */
static const char *name_of(const char *const *keys, size_t count, struct arena *arena,
                           struct err *err)
{
    struct buf name = {0};
    for (size_t i = 0; i < count; i++)
        buf_format(&name, "%s%s", i && keys[i - 1] ? ", " : "", keys[i] ? keys[i] : "");
    return buf_keep(&name, arena, err);
}

size_t score_totals_add(struct score_totals *totals, const struct score_total *total, size_t after,
                        struct arena *arena, struct err *err)
{
    size_t count = totals->key_count;
    uint64_t hash = hash_mix(total->earlier, total->position);
    if (totals->most > HASH_NUMBER_MAX)
        err_usage(err, "expected at most %d totals, found %zu", HASH_NUMBER_MAX, totals->most);
    if (err->kind || (totals->most && !totals->count &&
                      hash_index_init(&totals->found, totals->most, arena, err)))
        return 0;
    for (size_t i = 0; i < count && totals->most; i++)
        hash = hash_mix(hash, hash_bytes(total->keys[i], strlen(total->keys[i])));
    struct hash_probe probe = hash_probe(&totals->found, hash);
    for (uint32_t index; totals->most && hash_next(&probe, &index);) {
        struct score_total *row = &totals->rows[index];
        bool same = row->earlier == total->earlier && row->position == total->position;
        for (size_t i = 0; i < count && same; i++)
            same = strcmp(row->keys[i], total->keys[i]) == 0;
        if (same) {
            score_total_add(row, total);
            return index + 1;
        }
    }
    if (totals->most)
        hash_put(&probe, (uint32_t)totals->count);
    /* one more than the keys, for the bad text */
    const char **keys = arena_alloc(arena, count + 1, sizeof *keys, err);
    totals->rows = arena_grow(arena, totals->rows, totals->count, sizeof *total, err);
    for (size_t i = 0; i <= count && keys; i++) {
        const char *text = i < count ? total->keys[i] : total->bad;
        keys[i] = text ? arena_text(arena, text, strlen(text), err) : NULL;
    }
    const char *name = keys && !totals->are_single ? name_of(keys, count, arena, err) : NULL;
    if (err->kind)
        return 0;
    struct score_total *row = &totals->rows[totals->count++];
    size_t *link = after ? &totals->rows[after - 1].next : &totals->first;
    *row = *total;
    row->name = name;
    row->keys = keys;
    row->bad = keys[count];
    row->next = *link;
    *link = totals->count;
    return *link;
}

/* --- words of several models or conditions ---------------------------------------------------- */

/* Return the name of a word's region, or "". Words of one region have the same pointer. */
static const char *region_name(const struct column *regions, size_t word)
{
    const char *name = regions ? column_text(regions, word, false) : NULL;
    return name ? name : "";
}

/* The label of a row has the words of all models or conditions: "are/is", or "are/is/…" if it would
 * be long. */
int score_totals_add_words(struct score_totals *totals, size_t line, const struct report *report,
                           struct arena *arena, struct err *err)
{
    const struct axis *axis = &report->tables->rows;
    const struct column *logprobs = table_column(report->tables, "logprob_nats");
    const struct column *regions = table_column(report->tables, "region");
    const char *region = NULL;
    struct score_total total = {.keys = &region, .count = 1};
    totals->texts++;
    totals->most = num_max(totals->most, axis->size);
    for (size_t i = 0, last = 0; i < axis->size; i++, total.position++) {
        const struct label *label = &axis->labels[i];
        if (region_name(regions, i) != region) {
            region = region_name(regions, i);
            total.position = total.earlier = 0;
            for (size_t k = 1; k <= i; k++) /* count a region of the same name that ends before word
                                             * k */
                total.earlier += region_name(regions, k) != region_name(regions, k - 1) &&
                                 strcmp(region_name(regions, k - 1), region) == 0;
        }
        if (totals->kind == TOTALS_OF_MODELS && line &&
            (axis->size != totals->count || strcmp(totals->rows[i].name, label->plain) != 0))
            return err_usage(
                err,
                "expected the same %ss as of '%s', found others from %s %zu ('%s') on: "
                "--words or --total compares models of different vocabularies",
                axis->name, names_at(totals->lines, 0), axis->name, i, label->text);
        total.logprob = column_float(logprobs, i);
        last = score_totals_add(totals, &total, last, arena, err);
        if (!last)
            return -1;
        struct score_total *row = &totals->rows[last - 1];
        const char *word = label->plain;
        if (!row->name)
            row->name = arena_text(arena, word, strlen(word), err);
        else if (!strstr(row->name, word) && !strstr(row->name, "…"))
            row->name = arena_format(arena, err, "%s/%s", row->name,
                                     strlen(row->name) + strlen(word) <= LABEL_MOST ? word : "…");
        while (row->line_count <= line && !err->kind)
            row->lines = arena_grow(arena, row->lines, row->line_count++, sizeof *row->lines, err);
        if (err->kind)
            return -1;
        score_total_add(&row->lines[line], &total);
    }
    return 0;
}

/* Put the row of a word, with a column for each model or condition. */
static void put_word(struct table_rows *rows, const struct score_view *view,
                     const struct score_totals *totals, const struct score_total *total)
{
    const char *name = *totals->names, *region = *total->keys;
    bool continued = strcmp(name, "continuation") == 0;
    bool is_blank = totals->count == 1 && !*total->name;
    const char *kind = totals->kind == TOTALS_OF_WORDS ? "condition" : "model";
    if (!continued) {
        rows_integer(rows, "position", COLUMN_KEY,
                     is_blank ? COLUMN_MISSING : (long long)rows->row);
        rows_title(rows, name);
    }
    rows_label(rows, continued ? name : "text", COLUMN_KEY | COLUMN_SHRINKS,
               label_borrowed(total->name, true, rows->arena, rows->err));
    if (!continued && view->has_regions)
        rows_text(rows, "region", COLUMN_KEY, *region ? region : NULL);
    for (size_t i = 0; i < totals->lines.count; i++) {
        struct score_total sum = i < total->line_count ? total->lines[i] : (struct score_total){0};
        struct column column = {
            .unit = view->bits ? "bits" : "nats", .digits = DIGITS, .flags = COLUMN_COLOURED};
        if (!rows->row) {
            const char *line = names_at(totals->lines, i);
            struct label label = label_borrowed(line, false, rows->arena, rows->err);
            struct buf title = {0};
            if (label.text)
                text_label(&title, &(struct axis){kind, 1, &label, 0}, 0, MODEL_COLUMNS);
            column.name = arena_format(rows->arena, rows->err, "%s:%s", surprisal_name(view), line);
            column.title = buf_keep(&title, rows->arena, rows->err);
        }
        rows_float(rows, column, surprisal_of(view, mean_of(sum.logprob, sum.count)));
    }
}

/* --- tables of totals ------------------------------------------------------------------------- */

/* Put a row of totals. Differences are relative to the first row, the first text of a group, or the
 * bad text of a pair; pairs have means, not sums. */
static void put_total(struct table_rows *rows, const struct score_view *view,
                      const struct score_totals *totals, const struct score_total *total)
{
    enum totals_kind kind = totals->kind;
    size_t last = totals->key_count - 1;
    bool single = totals->are_single, pairs = kind == TOTALS_OF_PAIRS;
    bool judged = pairs || kind == TOTALS_OF_PREDICTIONS;
    bool continued = kind == TOTALS_OF_CONTINUATIONS, groups = kind == TOTALS_OF_GROUPS;
    struct label label = label_borrowed(total->keys[last], continued, rows->arena, rows->err);
    unsigned in_data = single ? COLUMN_DATA_ONLY : 0;
    double logprob = pairs ? mean_of(total->logprob, total->count) : logprob_of(total);
    const struct score_total *first = totals->count ? totals->rows : total;
    double other = pairs             ? mean_of(total->bad_logprob, total->count)
                   : totals->grouped ? total->bad_logprob
                                     : first->logprob;
    double surprisal = surprisal_of(view, logprob);
    const struct names names = {totals->names, totals->key_count, sizeof *totals->names};
    for (size_t i = 0; i < last; i++)
        rows_text(rows, totals->names[i], COLUMN_KEY | COLUMN_LEADS | in_data, total->keys[i]);
    if (single && !totals->pair)
        rows_integer(rows, names_unused("sentence", names, rows->arena, rows->err),
                     COLUMN_KEY | COLUMN_DATA_ONLY, total->number);
    rows_label(rows, totals->names[last],
               COLUMN_KEY | COLUMN_SHRINKS | (totals->hides_text ? COLUMN_TEXT_ONLY : 0), label);
    if (pairs) {
        if (single)
            rows_label(rows, "bad", COLUMN_KEY | COLUMN_SHRINKS,
                       label_borrowed(total->bad ? total->bad : "", false, rows->arena, rows->err));
        put_float(rows, "logprob_good_nats", in_data, logprob);
        put_float(rows, "logprob_bad_nats", in_data, other);
    } else if (!judged) {
        put_float(rows, "logprob_nats", 0, logprob);
        put_float(rows, surprisal_name(view), groups ? 0 : COLUMN_COLOURED, surprisal);
        rows_integer(rows, "tokens", 0, (long long)total->tokens);
        put_float(rows, "perplexity", continued ? COLUMN_DATA_ONLY : 0, score_perplexity(total));
    }
    if (groups) /* a mean, because figures compare groups of different sizes */
        put_float(rows, view->bits ? "bits_per_token" : "nats_per_token", COLUMN_COLOURED,
                  mean_of(surprisal, total->tokens));
    if (continued || pairs || totals->grouped)
        put_float(rows, view->bits ? "difference_bits" : "difference_nats",
                  pairs && single ? COLUMN_COLOURED : 0, surprisal_of(view, other - logprob));
    if (totals->has_unigrams)
        put_float(rows, "slor", 0, mean_of(logprob_of(total) - total->unigrams, total->words));
    if (judged) {
        rows_integer(rows, pairs ? "pairs" : "items", in_data, (long long)total->count);
        put_float(rows, "accuracy", single ? 0 : COLUMN_COLOURED,
                  mean_of(total->correct, total->count));
    }
}

int score_totals_report(struct report *report, const struct score_view *view,
                        const struct score_totals *totals, struct arena *arena, struct err *err)
{
    enum { SUMS_MAX = FACTS_MAX / 2 };
    static const char *const names[] = {"totals", "totals", "continuations", "pairs",
                                        "predictions"};
    bool pairs = totals->kind == TOTALS_OF_PAIRS, predicted = totals->kind == TOTALS_OF_PREDICTIONS;
    const char *unit = view->bits ? "bits" : "nats";
    bool means = totals->kind == TOTALS_OF_WORDS;
    bool of_words = means || totals->kind == TOTALS_OF_MODELS;
    size_t last = totals->key_count - 1, next = totals->first;
    bool is_group = last && !totals->are_single;
    const char *row = is_group ? name_of(totals->names, last + 1, arena, err) : totals->names[last];
    /* this total defines the columns if there are no rows */
    const struct score_total none = {"", totals->names};
    struct table_rows rows = {.most = num_max(totals->count, 1), .arena = arena, .err = err};
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct facts *facts = facts_new(arena, err);
    for (; rows.row < rows.most && !err->kind; rows_next(&rows)) {
        const struct score_total *total = next ? &totals->rows[next - 1] : &none;
        next = total->next;
        if (is_group)
            rows_label(&rows, "", COLUMN_HIDDEN, label_borrowed(total->name, false, arena, err));
        if (of_words)
            put_word(&rows, view, totals, total);
        else
            put_total(&rows, view, totals, total);
    }
    if (!table || !row || !facts ||
        rows_finish(table, &rows, of_words ? surprisal_name(view) : names[totals->kind], row))
        return -1;

    table->rows.size = totals->count;
    table->curves = of_words;
    if (of_words)
        table->note = arena_format(
            arena, err, "%s each %s%s (%s)%s%s", means ? "mean surprisal at" : "surprisal of", row,
            means ? " position" : "", unit, totals->factors ? "; conditions: " : "",
            totals->factors ? totals->factors : "");
    else if (totals->kind == TOTALS_OF_GROUPS)
        table->note = arena_format(
            arena, err, "logprob and surprisal are sums over tokens, %s_per_token is the mean",
            unit);
    else if (totals->query)
        table->note = arena_format(arena, err, "sums over the tokens of --query %s", totals->query);

    *report = view->origin;
    report->tables = table;
    report->table_count = 1;
    if (totals->pair) {
        report->text = totals->pair->text;
        report->source = totals->pair->source;
        return err_if(err->kind);
    }
    report->about = arena_format(arena, err, "%zu %s%s", totals->texts, pairs ? "pair" : "text",
                                 num_plural(totals->texts));
    report->facts = &facts->table;
    facts_integer(facts, "texts", (long long)totals->texts);
    for (size_t i = 0; i < num_min(totals->sum_count, SUMS_MAX); i++) {
        const struct score_total *sum = &totals->sums[i];
        const char *name =
            predicted ? arena_format(arena, err, "accuracy: %s", sum->keys[1]) : "accuracy";
        if (pairs || predicted)
            facts_float(facts, name, mean_of(sum->correct, sum->count));
        else
            put_facts(facts, view, sum);
    }
    return err_if(err->kind);
}

/* --- unigrams --------------------------------------------------------------------------------- */

enum {
    SMALL_BYTES = 256
}; /* maximum bytes of a word that is looked up in lower case; a longer
                             * word is cut */

static const struct unigram *find(const struct unigrams *unigrams, struct hash_probe *probe,
                                  const char *word, size_t size)
{
    *probe = hash_probe(&unigrams->found, hash_bytes(word, size));
    for (uint32_t index; hash_next(probe, &index);)
        if (unigrams->items[index].size == size &&
            memcmp(unigrams->items[index].word, word, size) == 0)
            return &unigrams->items[index];
    return NULL;
}

int unigrams_read(struct unigrams *unigrams, const char *bytes, size_t size, struct arena *arena,
                  struct err *err)
{
    size_t lines = 1;
    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    *unigrams = (struct unigrams){0};
    if (lines > HASH_NUMBER_MAX)
        return err_set(err, "expected at most %d words, found %zu", HASH_NUMBER_MAX, lines);
    unigrams->items = arena_alloc(arena, lines, sizeof *unigrams->items, err);
    if (!unigrams->items || hash_index_init(&unigrams->found, lines, arena, err))
        return -1;
    const char *next = utf8_begin(bytes, size), *end = bytes + size;
    for (size_t number = 1; next < end; number++) {
        struct word line = word_take_line(&next, end);
        const char *tab = memchr(line.bytes, '\t', line.size);
        size_t length = tab ? (size_t)(tab - line.bytes) : line.size, digits = 0;
        long long count = 0;
        while (length + 1 + digits < line.size && tab[1 + digits] != '\t')
            digits++;
        if (!tab || !num_parse_part(tab + 1, digits, 0, 1LL << 52, &count)) {
            if (!line.size || number == 1)
                continue;
            return err_set(err, "line %zu: expected a word, a tab and a count, found '%.*s'",
                           number, (int)num_min(line.size, 40), line.bytes);
        }
        struct hash_probe probe;
        if (find(unigrams, &probe, line.bytes, length))
            return err_set(err, "line %zu: expected each word once, found '%.*s' again", number,
                           (int)num_min(length, 40), line.bytes);
        hash_put(&probe, (uint32_t)unigrams->count);
        unigrams->items[unigrams->count++] = (struct unigram){line.bytes, length, (double)count};
        unigrams->total += (double)count;
    }
    return unigrams->total > 0 ? 0 : err_set(err, "expected words with their counts, found none");
}

/* Remove characters that do not belong to words, such as punctuation, from both ends of a word. */
static void trim(const char **word, size_t *size)
{
    uint32_t c = 0;
    for (size_t length; *size; *word += length, *size -= length) {
        length = utf8_decode(&c, *word, *size);
        if (!length || unicode_is_word(unicode_kind(c)))
            break;
    }
    while (*size) {
        size_t start = utf8_before(*word, *size);
        if (!utf8_decode(&c, *word + start, *size - start) || unicode_is_word(unicode_kind(c)))
            break;
        *size = start;
    }
}

double unigrams_logprob(const struct unigrams *unigrams, const char *word, size_t size,
                        size_t *unknown)
{
    char small[SMALL_BYTES + 4];
    size_t length = 0;
    struct hash_probe probe;
    const struct unigram *found = find(unigrams, &probe, word, size);
    if (!found) {
        trim(&word, &size);
        found = find(unigrams, &probe, word, size);
    }
    for (size_t at = 0, step; !found && at < size && length < SMALL_BYTES; at += step) {
        uint32_t c = 0;
        step = utf8_step(&c, word + at, size - at);
        length += utf8_encode(small + length, utf8_small(c));
    }
    found = found ? found : find(unigrams, &probe, small, length);
    *unknown += !found || found->count < 1;
    return log_double(found && found->count > 1 ? found->count : 1) - log_double(unigrams->total);
}
