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
    PIECE_BYTES = 32 << 20, /* logits computed at once */
    PIECE_LEAST = 32,       /* rows; fewer would read the unembedding matrix too often */
    PIECE_MOST = 512,
    PASS_TOKENS = 1024, /* windows share a pass up to this many */
};

size_t logits_piece_rows(size_t words, size_t rows)
{
    size_t fitting = num_max(PIECE_BYTES / (words * sizeof(float)), PIECE_LEAST);
    return num_min(num_min(fitting, PIECE_MOST), rows);
}

double logits_piece_bytes(const struct viewer *viewer, size_t rows)
{
    size_t words = viewer->model.config.vocab_size;
    return (double)logits_piece_rows(words, rows) * (double)words * sizeof(float);
}

struct piece {
    const struct logits_work *work;
    struct matrix logits;
    size_t first;
    atomic_bool unsound; /* some logits are not finite */
};

/* Check the logits here, so that the row is still in the cache when `see` reads it. */
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
    enum { WORTH = 16 }; /* multiply-adds that take as long as `see` for one logit */
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

/* --- scores ----------------------------------------------------------------------------------- */

int scoring_check(const struct scoring *scoring, struct err *err)
{
    const struct edits *edits = scoring->viewer->edits;
    if (text_origin_check(scoring->viewer, NEEDS_CAUSAL, err))
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

/* A token to score. Its logits come from the row before it in its window. */
struct score_target {
    size_t window, row;
    uint32_t id;
    struct token_score *score;
};

/* The windows of a pass, and the beginning of the next one. */
struct reading {
    const struct scoring *scoring;
    const struct look *look;
    struct scored *scored;
    size_t text, first, next; /* the next window's text, first token and first token to score */
    struct text *windows;     /* [count] */
    size_t count;
    struct score_target *targets; /* [target_count] in the order of their windows */
    size_t target_count;
    struct matrix rows;  /* [target_count, C] */
    size_t filled;       /* rows */
    struct likely *best; /* [target_count, best_count]; it outlives the pass */
    struct arena pass;
};

static int keep_rows(void *context, const struct announcement *seen, struct err *err)
{
    struct reading *reading = context;
    (void)err;
    for (; reading->filled < reading->target_count; reading->filled++) {
        const struct score_target *target = &reading->targets[reading->filled];
        if (target->window != seen->text)
            break;
        struct tensor row = tensor_slice(&seen->values, target->row);
        tensor_copy(reading->rows.data + reading->filled * reading->rows.stride, &row);
    }
    return 0;
}

/* Log-probability of all marked tokens together. */
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
    const struct score_target *target = &reading->targets[row];
    size_t best_count = reading->scored->best_count;
    struct likely *best = reading->best + row * best_count;
    const bool *begins = reading->scoring->begins;
    double entropy = 0;
    double total = logsumexp_entropy(&entropy, logits, count);
    topk(best, best_count, logits, count, total);
    *target->score = (struct token_score){
        .logprob = (float)((double)logits[target->id] - total),
        .entropy = (float)entropy,
        .begin = begins ? (float)log_share(begins, logits, count, total) : 0,
        .rank = likelier(logits, count, target->id) + 1,
        .best = best,
    };
}

/* Add the next window to the pass. With `begins` the last window of a text scores one more token:
 * the probability that a word ends with the text. */
static int add_window(struct reading *reading, struct err *err)
{
    const struct scoring *scoring = reading->scoring;
    const struct text_pair *pair = &reading->look->pairs[reading->text];
    const uint32_t *ids = pair->sentence.ids;
    size_t first = reading->first, tokens = pair->sentence.count;
    size_t end = scoring->context ? num_min(tokens, first + scoring->context) : tokens;
    bool is_last = end == tokens;
    reading->windows =
        arena_grow(&reading->pass, reading->windows, reading->count, sizeof(struct text), err);
    if (!reading->windows)
        return -1;
    for (size_t i = reading->next; i < end + (is_last && scoring->begins); i++) {
        reading->targets = arena_grow(&reading->pass, reading->targets, reading->target_count,
                                      sizeof(struct score_target), err);
        if (!reading->targets)
            return -1;
        reading->targets[reading->target_count++] =
            (struct score_target){reading->count, i - 1 - first, i < tokens ? ids[i] : 0,
                                  &reading->scored[reading->text].tokens[i]};
    }
    reading->windows[reading->count++] =
        (struct text){.ids = ids + first,
                      .count = end - first,
                      .source_ids = pair->source.count ? pair->source.ids : NULL,
                      .source_count = pair->source.count,
                      .prompt_count = pair->prompt_count};
    reading->next = is_last ? 1 : end;
    reading->first = is_last ? 0 : first + scoring->stride;
    reading->text += is_last;
    return 0;
}

/* Score as many windows as fit into a pass. */
static int read_windows(struct reading *reading, struct arena *arena, struct err *err)
{
    struct viewer *viewer = reading->scoring->viewer;
    const struct config *config = &viewer->model.config;
    struct selection selection = {.sites = SITE_SET(site_of_logits(config))};
    struct text_list list = {.first = reading->look->first + reading->text};
    struct tap tap = {.sink = keep_rows, .context = reading};
    size_t channels = config->n_embd, best_count = reading->scored->best_count;
    reading->count = reading->target_count = reading->filled = 0;
    for (size_t tokens = 0; tokens < PASS_TOKENS && reading->text < reading->look->count;) {
        if (add_window(reading, err))
            return -1;
        tokens += reading->windows[reading->count - 1].count;
    }
    size_t rows = reading->target_count;
    if (!rows)
        return 0;
    list.items = reading->windows;
    list.count = reading->count;
    reading->best = arena_room(arena, rows, best_count * sizeof *reading->best, err);
    reading->rows = (struct matrix){NULL, rows, channels, channels};
    reading->rows.data = arena_room(&reading->pass, rows, channels * sizeof(float), err);
    struct logits_work work = {viewer, reading->rows, true, score_row, reading};
    return err_if(!reading->best || !reading->rows.data ||
                  selection_layers(&selection, "-1", config, &reading->pass, err) ||
                  viewer_run(viewer, &selection, &list, tap, err) || logits_of_rows(&work, err));
}

/* Move the probability that a word ends from the first token of the next word to its last token. */
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
    size_t best_count = num_min(scoring->best_count, scoring->viewer->model.config.vocab_size);
    struct reading reading = {.scoring = scoring, .look = look, .scored = scored, .next = 1};
    size_t tokens = 0, done = 0;
    int failed = 0;
    for (size_t i = 0; i < look->count; i++) {
        size_t count = look->pairs[i].sentence.count;
        struct token_score *scores =
            arena_room(arena, count + (scoring->begins != NULL), sizeof *scores, err);
        if (!scores)
            return -1;
        scores[0] = (struct token_score){.logprob = NAN, .entropy = NAN};
        scored[i] = (struct scored){scores, count, best_count};
        tokens += count;
    }
    machine->progress = NULL;
    while (reading.text < look->count && !failed) {
        failed = read_windows(&reading, arena, err);
        arena_clear(&reading.pass);
        progress_tell(sink, done += reading.target_count, tokens);
    }
    machine->progress = sink;
    arena_release(&reading.pass);
    for (size_t i = 0; i < look->count && scoring->begins && !failed; i++)
        move_ends(&scored[i], look->pairs[i].sentence.ids, scoring->begins);
    return failed;
}

void scoring_add_memory(struct memory *memory, const struct scoring *scoring,
                        const struct text_pair *pair)
{
    const struct viewer *viewer = scoring->viewer;
    const struct config *config = &viewer->model.config;
    const struct selection selection = {.sites = SITE_SET(site_of_logits(config))};
    size_t tokens = pair->sentence.count;
    size_t most = scoring->context ? PASS_TOKENS + scoring->context : tokens;
    size_t row = config->n_embd * sizeof(float) + sizeof(struct score_target);
    size_t best = num_min(scoring->best_count, config->vocab_size) * sizeof(struct likely);
    struct text_pair pass = *pair;
    pass.sentence.count = num_min(tokens, most);
    viewer_add_memory(memory, viewer, &selection, &pass, LOOK_RUN);
    memory->during = fmax(memory->during, logits_piece_bytes(viewer, pass.sentence.count)) +
                     (double)(pass.sentence.count * row);
    memory->held += (double)(tokens * (best + sizeof(struct token_score)));
}
