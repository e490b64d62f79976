/* score_sheet.c: scores as sheets: a row a token, a word or a text, a column a number. */
#include <math.h>

#include "math/portable_math.h"
#include "measure/score_view.h"

enum { COLUMNS_MAX = 4 };

static const double LN_2 = 0.6931471805599453;

const char *score_unit(const struct score_view *view)
{
    return view->bits ? "bits" : "nats";
}

double score_surprisal(const struct score_view *view, double logprob)
{
    return (0 - logprob) / (view->bits ? LN_2 : 1); /* never -0 */
}

struct score_sum score_sum_of(const struct scored *scored, size_t first, size_t count)
{
    struct score_sum sum = {.tokens = 0};
    sum.logprob = scored_sum(scored, first, count, &sum.tokens);
    return sum;
}

double score_perplexity(const struct score_sum *sum)
{
    return sum->tokens ? exp_double(-sum->logprob / (double)sum->tokens) : NAN;
}

double score_difference(const struct score_view *view, const struct score_sums *sums, size_t index)
{
    return score_surprisal(view, sums->items->logprob - sums->items[index].logprob);
}

double score_of_word(const struct scored *scored, const struct word_span *word)
{
    struct score_sum sum = score_sum_of(scored, word->first, word->count);
    return sum.tokens == word->count ? sum.logprob : NAN;
}

/* --- sheets ----------------------------------------------------------------------------------- */

enum { NATS, BITS };

/* What the columns are called. */
#define LABEL(name)      \
    {                    \
        name, name, name \
    }
static const struct label token_labels[][COLUMNS_MAX] = {
    [NATS] = {LABEL("logprob"), LABEL("surprisal"), LABEL("entropy"), LABEL("rank")},
    [BITS] = {LABEL("logprob"), LABEL("surprisal_bits"), LABEL("entropy_bits"), LABEL("rank")},
};
static const struct label sum_labels[][COLUMNS_MAX] = {
    [NATS] = {LABEL("logprob"), LABEL("surprisal"), LABEL("tokens"), LABEL("perplexity")},
    [BITS] = {LABEL("logprob"), LABEL("surprisal_bits"), LABEL("tokens"), LABEL("perplexity")},
};
static const struct label difference_labels[][COLUMNS_MAX] = {
    [NATS] = {LABEL("logprob"), LABEL("surprisal"), LABEL("tokens"), LABEL("difference")},
    [BITS] = {LABEL("logprob"), LABEL("surprisal_bits"), LABEL("tokens"), LABEL("difference_bits")},
};

/* The report of a sheet that is not filled yet; its numbers, or NULL. */
static float *begin_report(struct report *report, const struct score_view *view,
                           const struct tokenized *sentence, struct sheet frame,
                           struct arena *arena, struct err *err)
{
    size_t cells = frame.rows.size * frame.columns.size;
    struct sheet *sheet = arena_alloc(arena, 1, sizeof *sheet, err);
    struct kept *kept = arena_alloc(arena, 1, sizeof *kept, err);
    float *values = arena_alloc(arena, cells, sizeof *values, err);
    if (!sheet || !kept || !values)
        return NULL;
    *sheet = frame;
    sheet->tensor = "score";
    sheet->layer = sheet->head = -1;
    sheet->values = values;
    *kept = kept_made(sheet);
    *report = text_origin_report(&view->origin, sentence);
    report->tensors = kept;
    report->tensor_count = 1;
    return values;
}

static void fill_token(float *row, const struct score_view *view, const struct token_score *score,
                       size_t columns)
{
    bool is_scored = score->rank > 0;
    float surprisal = (float)score_surprisal(view, (double)score->logprob);
    if (columns == 1) {
        row[0] = surprisal;
        return;
    }
    row[0] = score->logprob;
    row[1] = surprisal;
    row[2] = view->bits ? (float)((double)score->entropy / LN_2) : score->entropy;
    row[3] = is_scored ? (float)score->rank : NAN;
}

static void fill_word(float *row, const struct score_view *view, double logprob, size_t columns)
{
    if (columns > 1)
        *row++ = (float)logprob;
    *row = (float)score_surprisal(view, logprob);
}

int score_report(struct report *report, const struct score_view *view,
                 const struct scored_text *text, bool alone, struct arena *arena, struct err *err)
{
    const struct tokenized *sentence = text->sentence;
    size_t columns = alone ? 1 : view->words ? 2 : COLUMNS_MAX;
    size_t rows = view->words ? sentence->word_count : sentence->count;
    struct sheet frame = {
        .rows = {view->words ? "word" : "token", rows,
                 view->words ? sentence->word_labels : sentence->labels, 0},
        .columns = {"score", columns, token_labels[view->bits] + alone, 0},
        .running = alone,
    };
    float *values = begin_report(report, view, sentence, frame, arena, err);
    if (!values)
        return -1;
    for (size_t i = 0; i < rows; i++) {
        float *row = values + i * columns;
        if (view->words)
            fill_word(row, view, score_of_word(text->scored, &sentence->words[i]), columns);
        else
            fill_token(row, view, &text->scored->tokens[i], columns);
    }
    return 0;
}

int score_sums_report(struct report *report, const struct score_view *view,
                      const struct score_sums *sums, bool alone, struct arena *arena,
                      struct err *err)
{
    const struct label *names =
        sums->differences ? difference_labels[view->bits] : sum_labels[view->bits];
    size_t columns = alone ? 1 : COLUMNS_MAX;
    struct label *labels = arena_alloc(arena, sums->count, sizeof *labels, err);
    struct sheet frame = {
        .rows = {sums->things, sums->count, labels, 0},
        .columns = {"score", columns, names + alone, 0},
    };
    float *values = labels ? begin_report(report, view, sums->sentence, frame, arena, err) : NULL;
    if (!values)
        return -1;
    for (size_t i = 0; i < sums->count; i++) {
        const struct score_sum *sum = &sums->items[i];
        float *row = values + i * columns;
        labels[i] = sum->label;
        fill_word(row, view, sum->logprob, columns);
        if (alone)
            continue;
        row[2] = (float)sum->tokens;
        row[3] =
            (float)(sums->differences ? score_difference(view, sums, i) : score_perplexity(sum));
    }
    return 0;
}
