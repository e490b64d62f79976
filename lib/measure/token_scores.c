#include "measure/token_scores.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/num.h"
#include "model/layer.h"
#include "math/portable_math.h"
#include "math/rows.h"
#include "measure/question.h"
#include "pass/forward.h"
#include "model/points.h"
#include "pass/sampler.h"
#include "pass/tap.h"
#include "text/post_processor.h"

/* --- logits of kept rows ---------------------------------------------------------------------- */

enum {
    PIECE_BYTES = 32 << 20, /* maximum bytes of the logits that are computed at once */
    PIECE_LEAST = 32,       /* minimum number of rows computed at once; fewer would read the
                             * unembedding matrix too often */
    PIECE_MOST = 512,
    PASS_TOKENS = 1024, /* windows are added to a pass until it has this many tokens */
};

size_t logits_piece_rows(size_t words, size_t rows)
{
    size_t fitting = num_max(PIECE_BYTES / (words * sizeof(float)), PIECE_LEAST);
    return num_min(num_min(fitting, PIECE_MOST), rows);
}

double logits_piece_bytes(const struct viewer *viewer, size_t rows)
{
    size_t words = config_logits(&viewer->model.config);
    return (double)logits_piece_rows(words, rows) * (double)words * sizeof(float);
}

struct scored_piece {
    const struct logits_work *work;
    struct matrix logits;
    size_t first;
    atomic_bool unsound; /* true if some logits are not finite */
};

/* Check that the logits of a row are finite, then call `see`, which reads them while they are still
 * in the processor's cache. */
static void see_row(void *context, size_t row, size_t thread)
{
    struct scored_piece *piece = context;
    const float *logits = matrix_row(piece->logits, row);
    size_t words = piece->logits.columns;
    (void)thread;
    if (first_nonfinite(logits, words) < words)
        atomic_store(&piece->unsound, true);
    else
        piece->work->see(piece->work->context, piece->first + row, logits, words);
}

int logits_of_rows(const struct logits_work *work, struct err *err)
{
    enum { WORTH = 16 }; /* number of multiply-adds that take as long as `see` for one logit */
    struct viewer *viewer = work->viewer;
    size_t words = config_logits(&viewer->model.config);
    size_t rows = work->rows.rows, step = logits_piece_rows(words, rows);
    struct run run = {.machine = &viewer->machine,
                      .config = &viewer->model.config,
                      .weights = &viewer->model.weights};
    int failed = 0;
    for (size_t first = 0; first < rows && !failed; first += step) {
        size_t count = num_min(rows - first, step);
        struct scored_piece piece = {
            .work = work, .logits = {NULL, count, words, words}, .first = first};
        struct loop loop = {count, WORTH * (double)count * (double)words, see_row};
        float *data = piece.logits.data =
            arena_room(&viewer->scratch, count, words * sizeof *data, err);
        failed = !data || forward_logits(&run, piece.logits, matrix_rows(work->rows, first, count),
                                         work->normed, &viewer->scratch, err);
        if (!failed)
            pool_run(viewer->machine.pool, loop, &piece);
        if (atomic_load(&piece.unsound))
            failed = forward_logits_blame(&run, err);
        arena_clear(&viewer->scratch);
    }
    return err_if(failed);
}

/* --- scores ----------------------------------------------------------------------------------- */

int scoring_check(const struct scoring *scoring, struct err *err)
{
    const struct edits *edits = scoring->viewer->edits;
    bool masks = scoring->viewer->mask >= 0;
    if (logits_check(scoring->viewer, NEEDS_WORDS | (masks ? 0 : NEEDS_CAUSAL), err))
        return -1;
    if (mechanism_lacks(&scoring->viewer->model.config.mechanism, BLOCK_MASK))
        return err_usage(err, "--without mask: expected a causal mask: without it, a token is "
                              "scored by a model that has seen it: use 'attn-cli run'");
    if (masks && (scoring->stride || scoring->begins || scoring->next))
        return err_usage(err,
                         "%s: expected a causal model, found a masked one, which scores each "
                         "token given all others",
                         scoring->next     ? "--next"
                         : scoring->stride ? "--stride and --window"
                                           : "--begin-word");
    if (!masks && scoring->within_word)
        return err_usage(err, "--within-word: expected a masked model, found a causal one, which "
                              "scores each token given those before it");
    if (scoring->context && scoring->stride >= scoring->context)
        return err_usage(err,
                         "--stride: expected a number below the window's %zu tokens, found %zu",
                         scoring->context, scoring->stride);
    for (size_t i = 0; edits && i < edits->count && masks; i++)
        if (edits->items[i].donor && edits->items[i].donor->count > 1)
            return err_usage(err,
                             "%s: expected the same values for all copies of a text, found "
                             "'= resample', which draws a text for each: use '= mean'",
                             edits->items[i].words);
    for (size_t i = 0; edits && i < edits->count && scoring->stride; i++) {
        const struct edit *edit = &edits->items[i];
        if (edit->tokens.count || edit->columns.count || edit->donor)
            return err_usage(
                err, "%s: expected an edit of all tokens with --stride, found single tokens",
                edit->words);
    }
    return 0;
}

/* A token to score. Its logits come from the row before it in its window or, in a masked model,
 * from its own row, where the token is masked. */
struct score_target {
    size_t window, row;
    uint32_t id;
    struct token_score *score;
};

/* The windows of one pass, and where the next window begins. */
struct score_reading {
    const struct scoring *scoring;
    const struct capture_request *asked;
    struct scored *scored;
    size_t text, first, next; /* the next window's text, first token and first token to score */
    struct text *windows;     /* [count] the windows of the pass */
    size_t count, tokens;
    struct score_target *targets; /* [target_count] tokens to score, in the order of their
                                   * windows */
    size_t target_count;
    struct matrix rows;            /* [target_count, C] the row that predicts each target */
    size_t filled;                 /* number of `rows` that are filled so far */
    struct text_templates special; /* special tokens of a masked model */
    size_t best_count;             /* largest best_count of any text */
    struct likely *best;           /* [target_count, best_count] most likely tokens; they outlive
                                    * the pass */
    struct arena pass;
};

static int keep_rows(void *context, const struct announcement *announced, struct err *err)
{
    struct score_reading *reading = context;
    (void)err;
    for (; reading->filled < reading->target_count; reading->filled++) {
        const struct score_target *target = &reading->targets[reading->filled];
        if (target->window != announced->text)
            break;
        struct tensor row = tensor_slice(&announced->values, target->row);
        tensor_copy(matrix_row(reading->rows, reading->filled), &row);
    }
    return 0;
}

/* Return the log-probability of all marked tokens together. */
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
    struct score_reading *reading = context;
    const struct score_target *target = &reading->targets[row];
    struct likely *best = reading->best + row * reading->best_count;
    const bool *begins = reading->scoring->begins;
    double entropy = 0;
    double total = logsumexp_entropy(&entropy, logits, count);
    topk(best, reading->best_count, logits, count, total);
    bool is_open = /* true if there is no token to score: a mask or, with `next`, the position after
                    * the text */
        reading->scoring->next || (long long)target->id == reading->scoring->viewer->mask;
    *target->score = (struct token_score){
        .logprob = is_open ? NAN : (float)((double)logits[target->id] - total),
        .entropy = (float)entropy,
        .begin = begins ? (float)log_share(begins, logits, count, total) : 0,
        .rank = is_open ? 0 : likelier(logits, count, target->id) + 1,
        .best = best,
    };
}

static int add_target(struct score_reading *reading, size_t token, size_t row, uint32_t id,
                      struct err *err)
{
    reading->targets = arena_grow(&reading->pass, reading->targets, reading->target_count,
                                  sizeof *reading->targets, err);
    if (!reading->targets)
        return -1;
    reading->targets[reading->target_count++] = (struct score_target){
        reading->count, row, id, &reading->scored[reading->text].tokens[token]};
    return 0;
}

static bool is_special(const struct text_templates *special, uint32_t id)
{
    const struct text_template *templates[] = {&special->single, &special->pair};
    bool found = false;
    for (size_t t = 0; t < 2; t++)
        for (size_t i = 0; i < templates[t]->count; i++)
            found |=
                templates[t]->parts[i].kind == TEMPLATE_SPECIAL && templates[t]->parts[i].id == id;
    return found;
}

/* Add to the pass the next copy of a text, with one token masked (with within_word, also the later
 * tokens of its word); or, if the text has mask tokens, the text as it is. */
static int add_copy(struct score_reading *reading, struct err *err)
{
    const struct text_with_source *pair = &reading->asked->pairs[reading->text];
    const struct tokenized *text = &pair->text;
    uint32_t mask = (uint32_t)reading->scoring->viewer->mask;
    bool fills = reading->scored[reading->text].fills;
    const struct word_span scored = pair->scored;
    size_t token = num_max(reading->next, scored.count ? scored.first : pair->prompt_count);
    size_t end = scored.count ? scored.first + scored.count : text->count;
    while (token < end && !fills && is_special(&reading->special, text->ids[token]))
        token++;
    if (token < end) {
        uint32_t *ids = arena_alloc(&reading->pass, text->count, sizeof *ids, err);
        reading->windows =
            arena_grow(&reading->pass, reading->windows, reading->count, sizeof(struct text), err);
        if (!ids || !reading->windows)
            return -1;
        memcpy(ids, text->ids, text->count * sizeof *ids);
        for (size_t i = fills ? 0 : token; i < (fills ? text->count : token + 1); i++)
            if ((!fills || ids[i] == mask) && add_target(reading, i, i, ids[i], err))
                return -1;
        for (size_t i = token; !fills && i < text->count; i++)
            if (i == token || (reading->scoring->within_word && text->tokens[i].joins))
                ids[i] = mask;
            else
                break;
        reading->windows[reading->count] = viewer_text(pair);
        reading->windows[reading->count++].ids = ids;
        reading->tokens += text->count;
    }
    bool is_last = fills || token + 1 >= end;
    reading->next = is_last ? 0 : token + 1;
    reading->text += is_last;
    return 0;
}

/* Add the next window to the pass. With `begins` the last window of a text scores one more token:
 * the probability that a word ends with the text; with `next`, only that token. */
static int add_window(struct score_reading *reading, struct err *err)
{
    const struct scoring *scoring = reading->scoring;
    const struct text_with_source *pair = &reading->asked->pairs[reading->text];
    const uint32_t *ids = pair->text.ids;
    size_t first = reading->first, tokens = pair->text.count;
    size_t end = scoring->context ? num_min(tokens, first + scoring->context) : tokens;
    bool is_last = end == tokens;
    reading->windows =
        arena_grow(&reading->pass, reading->windows, reading->count, sizeof(struct text), err);
    if (!reading->windows)
        return -1;
    bool has_next = is_last && (scoring->begins || scoring->next || scoring->ends);
    for (size_t i = scoring->next ? end : reading->next; i < end + has_next; i++)
        if (add_target(reading, i, i - 1 - first, i < tokens ? ids[i] : 0, err))
            return -1;
    struct text *window = &reading->windows[reading->count++];
    *window = viewer_text(pair);
    window->ids += first;
    window->segments += window->segments ? first : 0;
    window->count = end - first;
    reading->tokens += window->count;
    reading->next = is_last ? 1 : end;
    reading->first = is_last ? 0 : first + scoring->stride;
    reading->text += is_last;
    return 0;
}

/* Score as many windows as fit into a pass. */
static int score_windows(struct score_reading *reading, struct arena *arena, struct err *err)
{
    struct viewer *viewer = reading->scoring->viewer;
    const struct config *config = &viewer->model.config;
    struct selection selection = {.sites = SITE_SET(site_of_logits(config))};
    struct text_list list = {.first = reading->asked->first + reading->text};
    struct tap tap = {.sink = keep_rows, .context = reading};
    size_t channels = config->n_embd;
    reading->count = reading->tokens = reading->target_count = reading->filled = 0;
    while (reading->tokens < PASS_TOKENS && reading->text < reading->asked->count)
        if (viewer->mask < 0 ? add_window(reading, err) : add_copy(reading, err))
            return -1;
    size_t rows = reading->target_count;
    if (!rows)
        return 0;
    list.items = reading->windows;
    list.count = reading->count;
    reading->best = arena_room(arena, rows, reading->best_count * sizeof *reading->best, err);
    reading->rows = (struct matrix){NULL, rows, channels, channels};
    reading->rows.data = arena_room(&reading->pass, rows, channels * sizeof(float), err);
    struct logits_work work = {viewer, reading->rows, true, score_row, reading};
    return err_if(!reading->best || !reading->rows.data ||
                  selection_layers(&selection, "-1", config, &reading->pass, err) ||
                  viewer_run(viewer, &selection, &list, tap, err) || logits_of_rows(&work, err));
}

bool text_has_mask(const struct tokenized *text, const struct viewer *viewer)
{
    for (size_t i = 0; i < text->count; i++)
        if ((long long)text->ids[i] == viewer->mask)
            return true;
    return false;
}

int scoring_run(struct scored *scored, const struct scoring *scoring,
                const struct capture_request *asked, struct arena *arena, struct err *err)
{
    struct machine *machine = &scoring->viewer->machine;
    /* this progress counts scored tokens; the passes must not also report their layers */
    const struct progress_sink *sink = machine->progress;
    const struct viewer *viewer = scoring->viewer;
    size_t words = viewer->model.config.vocab_size;
    struct score_reading reading = {
        .scoring = scoring, .asked = asked, .scored = scored, .next = viewer->mask < 0};
    size_t tokens = 0, done = 0;
    if (viewer->mask >= 0 && tokenizer_special(&reading.special, viewer->tokenizer, err))
        return -1;
    for (size_t i = 0; i < asked->count; i++) {
        size_t count = asked->pairs[i].text.count;
        bool has_next = scoring->begins || scoring->next || scoring->ends;
        struct token_score *scores = arena_room(arena, count + has_next, sizeof *scores, err);
        if (!scores)
            return -1;
        bool fills = scoring->next || text_has_mask(&asked->pairs[i].text, viewer);
        size_t best_count = num_min(fills ? scoring->fill_count : scoring->best_count, words);
        for (size_t k = 0; k < count; k++)
            scores[k] = (struct token_score){.logprob = NAN, .entropy = NAN};
        scored[i] = (struct scored){scores, count, best_count, fills};
        reading.best_count = num_max(reading.best_count, best_count);
        tokens += count;
    }
    int failed = 0;
    machine->progress = NULL;
    while (reading.text < asked->count && !failed) {
        failed = score_windows(&reading, arena, err);
        arena_clear(&reading.pass);
        progress_tell(sink, done += reading.target_count, tokens);
    }
    machine->progress = sink;
    arena_release(&reading.pass);

    /* the probability that a word ends moves from the first token of the next word to the word's
     * last token */
    const bool *begins = scoring->begins;
    for (size_t k = 0; k < asked->count && begins && !failed; k++) {
        const uint32_t *ids = asked->pairs[k].text.ids;
        for (size_t i = 1; i < scored[k].count; i++) {
            struct token_score *token = &scored[k].tokens[i];
            bool ends = i + 1 == scored[k].count || begins[ids[i + 1]];
            double moved = ends ? (double)token[1].begin : 0;
            moved -= begins[ids[i]] ? (double)token->begin : 0;
            token->logprob = (float)((double)token->logprob + moved);
        }
    }
    return failed;
}

struct scoring_memory scoring_memory(const struct scoring *scoring,
                                     const struct text_with_source *pair)
{
    const struct viewer *viewer = scoring->viewer;
    const struct config *config = &viewer->model.config;
    const struct selection selection = {.sites = SITE_SET(site_of_logits(config))};
    size_t tokens = pair->text.count;
    bool masks = viewer->mask >= 0;
    size_t most = scoring->context ? PASS_TOKENS + scoring->context
                  : masks          ? PASS_TOKENS + tokens
                                   : tokens;
    size_t row = config->n_embd * sizeof(float) + sizeof(struct score_target);
    size_t best = num_min(num_max(scoring->best_count, scoring->fill_count), config->vocab_size) *
                  sizeof(struct likely);
    struct text_with_source pass = *pair;
    struct memory memory = {0};
    pass.text.count = num_min(masks ? tokens * tokens : tokens, most); /* copies of a text share
                                                                        * passes */
    viewer_add_memory(&memory, viewer, &selection, &pass, CAPTURE_NOTHING);
    return (struct scoring_memory){.pass = memory.during,
                                   .rows = (double)(pass.text.count * row),
                                   .logits = logits_piece_bytes(viewer, pass.text.count),
                                   .held = (double)(tokens * (best + sizeof(struct token_score)))};
}

void scoring_add_memory(struct memory *memory, const struct scoring *scoring,
                        const struct text_with_source *pair)
{
    const struct scoring_memory own = scoring_memory(scoring, pair);
    memory->during = fmax(memory->during, fmax(own.pass, own.logits)) + own.rows;
    memory->held += own.held;
}
