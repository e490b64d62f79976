#include "measure/token_scores.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/num.h"
#include "lens/continuation.h"
#include "math/portable_math.h"
#include "math/rows.h"
#include "model/forward.h"
#include "measure/text_origin.h"

/* --- logits of kept rows ---------------------------------------------------------------------- */

enum {
    PIECE_BYTES = 32 << 20, /* of logits computed at once */
    PIECE_LEAST = 32,       /* rows: fewer would read the matrix of the vocabulary too often */
    PIECE_MOST = 512,
    PASS_TOKENS = 1024, /* of windows that share a pass */
};

size_t logits_piece_rows(size_t words, size_t rows)
{
    size_t fitting = num_max(PIECE_BYTES / (words * sizeof(float)), PIECE_LEAST);
    return num_min(num_min(fitting, PIECE_MOST), rows);
}

struct piece {
    const struct logits_work *work;
    struct matrix logits;
    size_t first;
    atomic_bool unsound; /* some are no numbers */
};

/* They are looked through here, where a row stays in a cache for what is done with it. */
static void see_row(void *context, size_t row, size_t thread)
{
    struct piece *piece = context;
    const float *logits = piece->logits.data + row * piece->logits.stride;
    size_t words = piece->logits.columns;
    (void)thread;
    if (first_nonfinite(logits, words) < words)
        atomic_store(&piece->unsound, true);
    else
        piece->work->see(piece->work->context, piece->first + row, logits, words);
}

static int make_piece(const struct logits_work *work, size_t first, size_t count, struct err *err)
{
    enum { WORTH = 16 }; /* multiply-adds that take as long as what is done with a logit */
    struct viewer *viewer = work->viewer;
    size_t words = viewer->model.config.vocab_size;
    struct run run = {.machine = &viewer->machine,
                      .config = &viewer->model.config,
                      .weights = &viewer->model.weights};
    struct piece piece = {.work = work, .logits = {NULL, count, words, words}, .first = first};
    struct loop loop = {count, WORTH * (double)count * (double)words, see_row};
    piece.logits.data = arena_room(&viewer->scratch, count, words * sizeof *piece.logits.data, err);
    int failed = !piece.logits.data ||
                 forward_logits(&run, piece.logits, matrix_rows(work->rows, first, count),
                                work->normed, &viewer->scratch, err);
    if (!failed)
        pool_run(viewer->machine.pool, loop, &piece);
    if (atomic_load(&piece.unsound))
        failed = forward_logits_blame(&run, err);
    arena_clear(&viewer->scratch);
    return err_if(failed);
}

int logits_of_rows(const struct logits_work *work, struct err *err)
{
    size_t step = logits_piece_rows(work->viewer->model.config.vocab_size, work->rows.rows);
    for (size_t first = 0; first < work->rows.rows; first += step) {
        if (make_piece(work, first, num_min(work->rows.rows - first, step), err))
            return -1;
    }
    return 0;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* Tokens of a text that are read together, the first of them that is scored, and one past the last:
 * to know whether the last word of a text ends there, a token after the text is. */
struct window {
    size_t text;
    size_t first, count;
    size_t scored, end;
};

/* The windows of all texts; NULL with `err`. */
static struct window *find_windows(size_t *count, const struct scoring *scoring,
                                   const struct look *look, struct arena *arena, struct err *err)
{
    struct window *windows = NULL;
    *count = 0;
    for (size_t text = 0; text < look->count; text++) {
        size_t tokens = look->pairs[text].sentence.count;
        for (size_t first = 0, scored = 1, end = 0; end < tokens; first += scoring->stride) {
            size_t left = tokens - first;
            size_t size = scoring->context ? num_min(left, scoring->context) : left;
            windows = arena_grow(arena, windows, *count, sizeof *windows, err);
            if (!windows)
                return NULL;
            end = first + size;
            windows[(*count)++] = (struct window){text, first, size, scored,
                                                  end + (scoring->begins && end == tokens)};
            scored = end;
        }
    }
    return windows;
}

/* --- scores ----------------------------------------------------------------------------------- */

int scoring_check(const struct scoring *scoring, struct err *err)
{
    const struct edits *edits = scoring->viewer->edits;
    if (text_origin_check(scoring->viewer, err))
        return -1;
    if (scoring->context && scoring->stride >= scoring->context)
        return err_usage(err,
                         "--stride: expected a number below the window's %zu tokens, found %zu",
                         scoring->context, scoring->stride);
    for (size_t i = 0; edits && i < edits->count && scoring->stride; i++) {
        const struct edit *edit = &edits->items[i];
        if (edit->tokens.count || edit->columns.count || edit->source)
            return err_usage(
                err, "%s: expected an edit of all tokens with --stride, found single tokens",
                edit->words);
    }
    return 0;
}

/* One pass, from the rows that the sink copies to the scores of the tokens after them. */
struct reading {
    const struct scoring *scoring;
    const struct look *look;
    const struct window *windows; /* [count] that share the pass */
    size_t count;
    struct matrix rows;   /* [scored, C] */
    size_t filled;        /* rows */
    uint32_t *ids;        /* [scored] the tokens that come after them, */
    struct scored *texts; /* whose scores go here: */
    struct token_score **scores;
    struct likely *best; /* [scored, best_count] */
    struct arena pass;   /* all of this but `best`, which stays */
};

/* Of a window, the rows before the tokens that are scored. */
static int keep_rows(void *context, const struct announcement *seen, struct err *err)
{
    struct reading *reading = context;
    const struct window *window = &reading->windows[seen->text];
    (void)err;
    for (size_t token = window->scored; token < window->end; token++) {
        struct tensor row = tensor_slice(&seen->values, token - 1 - window->first);
        tensor_copy(reading->rows.data + reading->filled++ * reading->rows.stride, &row);
    }
    return 0;
}

/* The logarithm of the probability of marked tokens together. */
static double log_share(const bool *marks, const float *logits, size_t count, double total)
{
    double sum = 0;
    float most = -INFINITY;
    for (size_t i = 0; i < count; i++)
        if (marks[i] && logits[i] > most)
            most = logits[i];
    for (size_t i = 0; i < count; i++)
        if (marks[i])
            sum += exp_double((double)logits[i] - (double)most);
    return (double)most + log_double(sum) - total;
}

static void score_row(void *context, size_t row, const float *logits, size_t count)
{
    struct reading *reading = context;
    struct token_score *score = reading->scores[row];
    size_t best_count = reading->texts->best_count;
    struct likely *best = reading->best + row * best_count;
    const bool *begins = reading->scoring->begins;
    double entropy = 0;
    double total = logsumexp_entropy(&entropy, logits, count);
    topk(best, best_count, logits, count, total);
    *score = (struct token_score){
        .logprob = (float)((double)logits[reading->ids[row]] - total),
        .entropy = (float)entropy,
        .begin = begins ? (float)log_share(begins, logits, count, total) : 0,
        .rank = likelier(logits, count, reading->ids[row]) + 1,
        .best = best,
    };
}

/* The texts of the windows, and where the scores of their tokens go; NULL with `err`. */
static struct text *begin_reading(struct reading *reading, size_t scored, struct arena *arena,
                                  struct err *err)
{
    size_t channels = reading->scoring->viewer->model.config.n_embd;
    size_t best_count = reading->texts->best_count;
    struct arena *pass = &reading->pass;
    size_t row = 0;
    struct text *texts = arena_alloc(pass, reading->count, sizeof *texts, err);
    reading->filled = 0;
    reading->rows = (struct matrix){NULL, scored, channels, channels};
    reading->rows.data = arena_room(pass, scored, channels * sizeof *reading->rows.data, err);
    reading->ids = arena_room(pass, scored, sizeof *reading->ids, err);
    reading->scores = arena_room(pass, scored, sizeof *reading->scores, err);
    reading->best = arena_room(arena, scored, best_count * sizeof *reading->best, err);
    if (!texts || !reading->rows.data || !reading->ids || !reading->scores || !reading->best)
        return NULL;
    for (size_t i = 0; i < reading->count; i++) {
        const struct window *window = &reading->windows[i];
        const struct text_pair *pair = &reading->look->pairs[window->text];
        const uint32_t *ids = pair->sentence.ids;
        texts[i] = (struct text){
            .ids = ids + window->first, .count = window->count, .prompt_count = pair->prompt_count};
        texts[i].source_ids = pair->source.count ? pair->source.ids : NULL;
        texts[i].source_count = pair->source.count;
        for (size_t token = window->scored; token < window->end; token++) {
            reading->ids[row] = token < pair->sentence.count ? ids[token] : 0;
            reading->scores[row++] = &reading->texts[window->text].tokens[token];
        }
    }
    return texts;
}

static int read_windows(struct reading *reading, size_t scored, struct arena *arena,
                        struct err *err)
{
    struct viewer *viewer = reading->scoring->viewer;
    struct selection selection = {.sites = site_bit(site_of_logits(&viewer->model.config))};
    struct text *texts = begin_reading(reading, scored, arena, err);
    struct text_list list = {.items = texts,
                             .count = reading->count,
                             .first = reading->look->first + reading->windows->text};
    struct tap tap = {.sink = keep_rows, .context = reading};
    struct logits_work work = {viewer, reading->rows, true, score_row, reading};
    return err_if(!texts ||
                  selection_layers(&selection, "-1", &viewer->model.config, &reading->pass, err) ||
                  viewer_run(viewer, &selection, &list, tap, err) || logits_of_rows(&work, err));
}

static int begin_scores(struct scored *scored, const struct scoring *scoring,
                        const struct look *look, struct arena *arena, struct err *err)
{
    size_t most = num_min(scoring->best_count, scoring->viewer->model.config.vocab_size);
    for (size_t i = 0; i < look->count; i++) {
        size_t count = look->pairs[i].sentence.count;
        struct token_score *tokens =
            arena_room(arena, count + (scoring->begins != NULL), sizeof *tokens, err);
        if (!tokens)
            return -1;
        tokens[0] = (struct token_score){.logprob = NAN, .entropy = NAN};
        scored[i] = (struct scored){tokens, count, most};
    }
    return 0;
}

/* Move the probability that a word ends to its last token, from the first one of the next word. */
static void move_ends(struct scored *scored, const uint32_t *ids, const bool *begins)
{
    struct token_score *tokens = scored->tokens;
    for (size_t i = 1; i < scored->count; i++) {
        bool ends = i + 1 == scored->count || begins[ids[i + 1]];
        double moved = ends ? (double)tokens[i + 1].begin : 0;
        moved -= begins[ids[i]] ? (double)tokens[i].begin : 0;
        tokens[i].logprob = (float)((double)tokens[i].logprob + moved);
    }
}

int scoring_run(struct scored *scored, const struct scoring *scoring, const struct look *look,
                struct arena *arena, struct err *err)
{
    struct machine *machine = &scoring->viewer->machine;
    const struct progress_sink *sink = machine->progress; /* it counts tokens, not layers */
    size_t count = 0, tokens = 0, done = 0;
    const struct window *windows = find_windows(&count, scoring, look, arena, err);
    struct reading reading = {.scoring = scoring, .look = look, .texts = scored};
    int failed = !windows || begin_scores(scored, scoring, look, arena, err);
    for (size_t i = 0; i < look->count; i++)
        tokens += look->pairs[i].sentence.count;
    machine->progress = NULL;
    for (size_t at = 0; at < count && !failed; at += reading.count) {
        size_t rows = 0;
        reading.windows = &windows[at];
        reading.count = 0;
        for (size_t taken = 0; at + reading.count < count && taken < PASS_TOKENS;) {
            const struct window *window = &reading.windows[reading.count++];
            taken += window->count;
            rows += window->end - window->scored;
        }
        failed = rows && read_windows(&reading, rows, arena, err);
        arena_clear(&reading.pass);
        progress_tell(sink, done += rows, tokens);
    }
    machine->progress = sink;
    arena_release(&reading.pass);
    for (size_t i = 0; i < look->count && scoring->begins && !failed; i++)
        move_ends(&scored[i], look->pairs[i].sentence.ids, scoring->begins);
    return err_if(failed);
}
