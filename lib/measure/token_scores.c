#include "measure/token_scores.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/num.h"
#include "lens/continuation.h"
#include "math/portable_math.h"
#include "math/rows.h"
#include "model/forward.h"
#include "model/mechanism.h"

/* --- logits of kept rows ---------------------------------------------------------------------- */

enum {
    PIECE_BYTES = 32 << 20, /* of logits that stand side by side */
    PIECE_LEAST = 32,       /* rows: fewer would read the matrix of the vocabulary too often */
    PIECE_MOST = 512,
    PASS_TOKENS = 1024, /* of windows that share a pass */
};

enum site logits_site(const struct config *config)
{
    if (config->final_norm)
        return SITE_LN_F;
    return config->norm_first ? SITE_RESID_POST : SITE_LN_2;
}

size_t logits_piece_rows(size_t words, size_t rows)
{
    size_t fitting = PIECE_BYTES / (words * sizeof(float));
    size_t most = fitting < PIECE_LEAST ? PIECE_LEAST : fitting < PIECE_MOST ? fitting : PIECE_MOST;
    return most < rows ? most : rows;
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
    return failed ? -1 : 0;
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

/* Tokens of a text that are read together, and the first of them that is scored. */
struct window {
    size_t text;
    size_t first, count;
    size_t scored;
};

/* The next window of the same text, or the first of the next text. */
static void step_window(struct window *window, const struct scoring *scoring,
                        const struct look *look)
{
    size_t end = window->first + window->count;
    size_t count = look->pairs[window->text].sentence.count;
    if (end < count) {
        window->first += scoring->stride;
        window->scored = end;
    } else {
        *window = (struct window){.text = window->text + 1, .scored = 1};
        count = window->text < look->count ? look->pairs[window->text].sentence.count : 0;
    }
    size_t left = count - window->first;
    window->count = scoring->context && left > scoring->context ? scoring->context : left;
}

/* The windows that share a pass. */
struct windows {
    struct window *items;
    size_t count;
    size_t scored; /* tokens that are */
    size_t room;
};

/* One past the last token that is scored. To know whether the last word of a text ends there, a
 * token after the text is. */
static size_t scored_end(const struct window *window, const struct scoring *scoring,
                         const struct look *look)
{
    size_t end = window->first + window->count;
    return end + (scoring->begins && end == look->pairs[window->text].sentence.count);
}

static void take_windows(struct windows *windows, struct window *next,
                         const struct scoring *scoring, const struct look *look)
{
    size_t tokens = 0;
    windows->count = windows->scored = 0;
    while (next->text < look->count && windows->count < windows->room && tokens < PASS_TOKENS) {
        windows->items[windows->count++] = *next;
        windows->scored += scored_end(next, scoring, look) - next->scored;
        tokens += next->count;
        step_window(next, scoring, look);
    }
}

/* --- scores ----------------------------------------------------------------------------------- */

/* Logits are made of rows that the pass gives; windows have places of their own. */
static int check_edits(const struct scoring *scoring, struct err *err)
{
    const struct edits *edits = scoring->viewer->edits;
    for (size_t i = 0; edits && i < edits->count; i++) {
        const struct edit *edit = &edits->items[i];
        if (edit->site == SITE_LOGITS)
            return err_usage(err, "%s: expected an edit before the logits, found 'logits'",
                             edit->words);
        if (scoring->stride && (edit->tokens.count || edit->columns.count || edit->source))
            return err_usage(
                err, "%s: expected an edit of all tokens with --stride, found single tokens",
                edit->words);
    }
    return 0;
}

int scoring_check(const struct scoring *scoring, struct err *err)
{
    const struct model *model = &scoring->viewer->model;
    const struct config *config = &model->config;
    if (!site_exists(config, SITE_LOGITS))
        return err_unsupported(err, "'%s': expected a model with logits, found one of type \"%s\"",
                               model->name, config_kind_name(config));
    if (!config->causal)
        return err_unsupported(
            err, "'%s': expected a causal model, found one that attends to later tokens",
            model->name);
    if (scoring->context && scoring->stride >= scoring->context)
        return err_usage(err, "--stride: expected fewer tokens than a window has, %zu, found %zu",
                         scoring->context, scoring->stride);
    return check_edits(scoring, err);
}

/* One pass, from the rows that the sink copies to the scores of the tokens after them. */
struct reading {
    const struct scoring *scoring;
    const struct look *look;
    const struct windows *windows;
    struct matrix rows;   /* [scored, C] */
    size_t filled;        /* rows */
    uint32_t *ids;        /* [scored] the tokens that come after them … */
    struct scored *texts; /* … whose scores go here: */
    struct token_score **scores;
    struct likely *best; /* [scored, best_count] */
    uint32_t *best_ids;  /* likewise */
    struct arena pass;   /* all of this but `best`, which stays */
};

/* Of a window, the rows before the tokens that are scored. */
static int keep_rows(void *context, const struct announcement *seen, struct err *err)
{
    struct reading *reading = context;
    const struct window *window = &reading->windows->items[seen->text];
    size_t end = scored_end(window, reading->scoring, reading->look);
    (void)err;
    for (size_t token = window->scored; token < end; token++) {
        struct tensor row = tensor_slice(&seen->values, token - 1 - window->first);
        tensor_copy(reading->rows.data + reading->filled * reading->rows.stride, &row);
        reading->filled++;
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
    uint32_t *ids = reading->best_ids + row * best_count;
    const bool *begins = reading->scoring->begins;
    double entropy = 0;
    double total = logsumexp_entropy(&entropy, logits, count);
    topk(ids, best_count, logits, count);
    for (size_t i = 0; i < best_count; i++)
        best[i] = (struct likely){ids[i], (float)((double)logits[ids[i]] - total)};
    *score = (struct token_score){
        .logprob = (float)((double)logits[reading->ids[row]] - total),
        .entropy = (float)entropy,
        .begin = begins ? (float)log_share(begins, logits, count, total) : 0,
        .rank = likelier(logits, count, reading->ids[row]) + 1,
        .best = best,
    };
}

/* Memory for the windows of a pass, and what is read by it. */
static int begin_reading(struct reading *reading, struct text *texts, struct arena *arena,
                         struct err *err)
{
    const struct look *look = reading->look;
    const struct windows *windows = reading->windows;
    size_t count = windows->scored;
    size_t channels = reading->scoring->viewer->model.config.n_embd;
    size_t best_count = reading->texts->best_count;
    struct arena *pass = &reading->pass;
    size_t row = 0;
    reading->rows = (struct matrix){NULL, count, channels, channels};
    reading->rows.data = arena_room(pass, count, channels * sizeof *reading->rows.data, err);
    reading->ids = arena_room(pass, count, sizeof *reading->ids, err);
    reading->scores = arena_room(pass, count, sizeof *reading->scores, err);
    reading->best = arena_room(arena, count, best_count * sizeof *reading->best, err);
    reading->best_ids = arena_room(pass, count, best_count * sizeof *reading->best_ids, err);
    if (!reading->rows.data || !reading->ids || !reading->scores || !reading->best ||
        !reading->best_ids)
        return -1;
    for (size_t i = 0; i < windows->count; i++) {
        const struct window *window = &windows->items[i];
        const struct text_pair *pair = &look->pairs[window->text];
        const uint32_t *ids = pair->sentence.ids;
        texts[i] = (struct text){
            .ids = ids + window->first, .count = window->count, .prompt_count = pair->prompt_count};
        texts[i].source_ids = pair->source.count ? pair->source.ids : NULL;
        texts[i].source_count = pair->source.count;
        size_t end = scored_end(window, reading->scoring, look);
        for (size_t token = window->scored; token < end; token++) {
            reading->ids[row] = token < pair->sentence.count ? ids[token] : 0;
            reading->scores[row++] = &reading->texts[window->text].tokens[token];
        }
    }
    return 0;
}

static int read_windows(struct reading *reading, struct arena *arena, struct err *err)
{
    const struct look *look = reading->look;
    struct viewer *viewer = reading->scoring->viewer;
    const struct windows *windows = reading->windows;
    struct selection selection = {.sites = site_bit(logits_site(&viewer->model.config))};
    struct text *texts = arena_room(&reading->pass, windows->count, sizeof *texts, err);
    struct text_list list = {
        .items = texts, .count = windows->count, .first = look->first + windows->items[0].text};
    struct tap tap = {.sink = keep_rows, .context = reading};
    struct logits_work work = {.viewer = viewer, .normed = true, .see = score_row};
    if (!texts || begin_reading(reading, texts, arena, err) ||
        selection_layers(&selection, "-1", &viewer->model.config, &reading->pass, err) ||
        viewer_run(viewer, &selection, &list, tap, err))
        return -1;
    work.rows = reading->rows;
    work.context = reading;
    return logits_of_rows(&work, err);
}

static int begin_scores(struct scored *scored, const struct scoring *scoring,
                        const struct look *look, struct arena *arena, struct err *err)
{
    size_t words = scoring->viewer->model.config.vocab_size;
    for (size_t i = 0; i < look->count; i++) {
        size_t count = look->pairs[i].sentence.count;
        struct token_score *tokens =
            arena_room(arena, count + (scoring->begins != NULL), sizeof *tokens, err);
        if (!tokens)
            return -1;
        tokens[0] = (struct token_score){.logprob = NAN, .entropy = NAN};
        scored[i] = (struct scored){tokens, count, scoring->best_count};
        if (scored[i].best_count > words)
            scored[i].best_count = words;
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
    struct window next = {.scored = 1};
    struct machine *machine = &scoring->viewer->machine;
    const struct progress_sink *sink = machine->progress; /* it counts tokens, not layers */
    size_t tokens = 0;
    size_t done = 0;
    struct windows windows = {.room = PASS_TOKENS};
    struct reading reading = {
        .scoring = scoring, .look = look, .windows = &windows, .texts = scored};
    windows.items = arena_room(arena, windows.room, sizeof *windows.items, err);
    int failed = !windows.items || begin_scores(scored, scoring, look, arena, err);
    next.count = look->pairs[0].sentence.count;
    if (scoring->context && next.count > scoring->context)
        next.count = scoring->context;
    for (size_t i = 0; i < look->count; i++)
        tokens += look->pairs[i].sentence.count;
    machine->progress = NULL;
    while (!failed && next.text < look->count) {
        take_windows(&windows, &next, scoring, look);
        reading.filled = 0;
        failed = windows.scored && read_windows(&reading, arena, err);
        arena_clear(&reading.pass);
        progress_tell(sink, done += windows.scored, tokens);
    }
    machine->progress = sink;
    arena_release(&reading.pass);
    for (size_t i = 0; i < look->count && scoring->begins && !failed; i++)
        move_ends(&scored[i], look->pairs[i].sentence.ids, scoring->begins);
    return failed ? -1 : 0;
}

double scored_sum(const struct scored *scored, size_t first, size_t count, size_t *told)
{
    double sum = 0;
    *told = 0;
    for (size_t i = first; i < first + count; i++) {
        if (scored->tokens[i].rank == 0)
            continue;
        sum += (double)scored->tokens[i].logprob;
        (*told)++;
    }
    return sum;
}
