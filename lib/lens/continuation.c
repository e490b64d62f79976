#include "lens/continuation.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "lens/viewer.h"
#include "math/portable_math.h"
#include "model/layer.h"
#include "model/points.h"
#include "pass/tap.h"

static const struct config *config_of(const struct continuation *text)
{
    return &text->viewer->model.config;
}

/* Return the tokens of `ids` [count] that are not yet in the cache, as the text of a pass. If the
 * rotary angles depend on the text's length, empty the cache first: all tokens are run again. */
static struct text unread_text(struct continuation *text, const uint32_t *ids, size_t count,
                               struct cache *cache)
{
    const struct config *c = config_of(text);
    size_t past = cache->count;
    if (past &&
        (rotary_depends(&c->rotary, past, count) || rotary_depends(&c->rotary_local, past, count)))
        cache_forget(cache, 0);
    return (struct text){.ids = ids + cache->count,
                         .count = count - cache->count,
                         .source_ids = text->source->ids,
                         .source_count = text->source->count,
                         .prompt_count = text->prompt_count,
                         .grows = true,
                         .cache = cache,
                         .source_cache = has_encoder(c) ? &text->source_cache : NULL};
}

/* Run texts up to the logits of their last tokens. */
static int run_texts(struct continuation *text, const struct text *texts, size_t count,
                     struct tap tap, struct err *err)
{
    const struct selection selection = {.sites = SITE_SET(SITE_LOGITS), .last_logits = true};
    const struct text_list list = {.items = texts, .count = count};
    arena_clear(&text->step);
    return viewer_run(text->viewer, &selection, &list, tap, err);
}

static int keep_logits(void *context, const struct announcement *announced, struct err *err)
{
    struct continuation *text = context;
    float *logits = arena_room(&text->step, tensor_count(&announced->values), sizeof *logits, err);
    if (logits)
        tensor_copy(logits, &announced->values);
    text->logits = logits;
    return logits ? 0 : -1;
}

/* Return the maximum number of new tokens after a prompt: the requested number, else the model's,
 * else 32. */
static size_t tokens_after(const struct viewer *viewer, const struct generation_config *generation,
                           size_t prompt)
{
    enum { USUAL = 32 };
    const struct generation_rules *rules = &viewer->model.config.generation;
    return generation->tokens           ? generation->tokens
           : rules->max_new             ? rules->max_new
           : rules->max_length > prompt ? rules->max_length - prompt
                                        : USUAL;
}

size_t continuation_capacity(const struct viewer *viewer,
                             const struct generation_config *generation, size_t prompt)
{
    size_t positions = viewer->model.config.n_positions;
    size_t tokens = tokens_after(viewer, generation, prompt);
    return num_min(prompt + tokens, positions ? positions : SIZE_MAX);
}

/* Return the number of beams of a beam search; 0: choose token by token, without a search. */
static size_t beams_of(const struct viewer *viewer, const struct generation_config *generation)
{
    size_t beams = generation->beams;
    if (!beams && generation->sampling.temperature <= 0)
        beams = viewer->model.config.generation.beams;
    return beams > 1 ? beams : 0;
}

/* --- rules of choice -------------------------------------------------------------------------- */

enum { FORBIDDEN = -1000000000 }; /* the score of a token that cannot be chosen */

/* True if `id`, after the last `size` - 1 tokens of `ids` [count], would repeat `size` tokens that
 * occur earlier in `ids`. */
static bool repeats(const uint32_t *ids, size_t count, size_t size, uint32_t id)
{
    const uint32_t *last = ids + count + 1 - size;
    for (size_t first = 0; first + size <= count; first++)
        if (ids[first + size - 1] == id && memcmp(ids + first, last, (size - 1) * sizeof *ids) == 0)
            return true;
    return false;
}

static bool ends_text(const struct config *config, long long id)
{
    bool ends = id == config->eos_id;
    for (size_t i = 0; i < config->more_end_count; i++)
        ends = ends || id == config->more_ends[i];
    return ends;
}

/* Apply the generation rules of a model with an encoder to the logits (or log-probabilities) of the
 * token after `ids` [count]: a token that must follow gets 0, and each token that cannot follow
 * gets FORBIDDEN. The scores of other models do not change. */
static void apply_rules(float *scores, const struct continuation *text, const uint32_t *ids,
                        size_t count)
{
    const struct config *c = config_of(text);
    const struct generation_rules *rules = &c->generation;
    long long forced = count == 1 ? rules->first : -1;
    bool early = count < rules->min_length || count < text->prompt_count + rules->min_new;
    if (!has_encoder(c))
        return;
    if (count + 1 == text->capacity && rules->last >= 0)
        forced = rules->last;
    for (size_t id = 0; id < c->vocab_size; id++) {
        bool hidden = early && ends_text(c, (long long)id);
        for (size_t i = 0; i < rules->banned_count; i++)
            hidden |= rules->banned[i] == (long long)id;
        if (rules->no_repeat && count + 1 >= rules->no_repeat)
            hidden = hidden || repeats(ids, count, rules->no_repeat, (uint32_t)id);
        if (forced >= 0)
            scores[id] = forced == (long long)id ? 0 : FORBIDDEN;
        else if (hidden)
            scores[id] = FORBIDDEN;
    }
}

/* Allocate room for all tokens, and copy the prompt's tokens and text. If the prompt has only
 * ids, its text is made from them. */
static int begin_text(struct continuation *text, const struct tokenized *prompt, struct err *err)
{
    text->capacity = continuation_capacity(text->viewer, &text->generation, prompt->count);
    text->ids = arena_alloc(&text->arena, text->capacity, sizeof *text->ids, err);
    text->tokens = arena_alloc(&text->arena, text->capacity, sizeof *text->tokens, err);
    if (!text->ids || !text->tokens)
        return -1;
    if (prompt->raw)
        buf_bytes(&text->text, prompt->raw, prompt->size);
    for (size_t i = 0; i < prompt->count; i++) {
        text->ids[i] = prompt->tokens[i].id;
        text->tokens[i] = prompt->tokens[i];
        if (prompt->raw)
            continue;
        text->tokens[i].start = wording_add(&text->text, text->viewer->tokenizer, text->ids[i]);
        text->tokens[i].end = text->text.size;
    }
    text->count = text->prompt_count = prompt->count;
    text->prompt_bytes = text->text.size;
    text->queries = prompt->queries;
    text->keys = prompt->keys;
    text->added_before = prompt->added_before;
    size_t most = text->capacity - text->count + 1; /* + 1: ending the text is also a choice */
    if (text->generation.logits &&
        !(text->choices = arena_alloc(&text->arena, most, sizeof *text->choices, err)))
        return -1;
    return buf_check(&text->text, err);
}

/* True if screening is possible and pays off. Screening finds the most likely token without the
 * logits of all others. It copies the unembedding matrix, which does not pay off for few steps, or
 * if the matrix fits into a processor's cache. */
static bool can_screen(const struct viewer *viewer, const struct generation_config *generation,
                       size_t steps)
{
    enum { ENOUGH_STEPS = 8, ENOUGH_WEIGHTS = 1 << 20 };
    const struct model *model = &viewer->model;
    bool needs_logits = generation->sampling.temperature > 0 || generation->logits;
    return !needs_logits && steps >= ENOUGH_STEPS && model->weights.precision == PRECISION_FP32 &&
           model->config.vocab_size >= ENOUGH_WEIGHTS / model->config.n_embd;
}

int continuation_prepare(struct viewer *viewer, const struct generation_config *generation,
                         size_t texts, struct err *err)
{
    struct model *model = &viewer->model;
    struct cache cache;
    if (cache_init(&cache, &model->config, err)) {
        bool about_option = err && err->kind == ERR_USAGE;
        return about_option ? -1 : err_prefix(err, "'%s'", model->name);
    }
    if (!site_exists(&model->config, SITE_LOGITS) || config_classifies(&model->config))
        return err_unsupported(err,
                               "'%s': a model of type \"%s\" has no logits to choose a next "
                               "token by",
                               model->name, config_kind_name(&model->config));
    if ((!generation->past_end || has_encoder(&model->config)) &&
        config_read_generation(&model->config, &model->folder, err))
        return -1;
    size_t steps = tokens_after(viewer, generation, 1);
    viewer_expect(viewer, EXPECT_STEPS, can_screen(viewer, generation, steps) ? 0 : texts * steps);
    viewer_expect(viewer, EXPECT_DECODING, beams_of(viewer, generation) ? 0 : texts * steps);
    return 0;
}

int continuation_open(struct continuation *text, struct viewer *viewer,
                      const struct text_with_source *pair,
                      const struct generation_config *generation, struct err *err)
{
    const struct tokenized *prompt = &pair->text;
    *text =
        (struct continuation){.viewer = viewer, .generation = *generation, .source = &pair->source};
    text->generation.tokens = tokens_after(viewer, generation, prompt->count);
    text->generation.beams = beams_of(viewer, generation);
    if (cache_init(&text->cache, config_of(text), err) ||
        batch_check_length(config_of(text), prompt->count, err) || begin_text(text, prompt, err) ||
        sampler_init(&text->sampler, &generation->sampling, config_of(text)->vocab_size,
                     &text->arena, err)) {
        continuation_release(text);
        return -1;
    }
    if (has_encoder(config_of(text)))
        cache_init_source(&text->source_cache, config_of(text));
    text->screens = !has_encoder(config_of(text)) &&
                    can_screen(viewer, generation, text->capacity - text->prompt_count);
    return 0;
}

void continuation_add_memory(struct memory *memory, const struct viewer *viewer,
                             const struct generation_config *generation,
                             const struct text_with_source *pair)
{
    const struct selection logits = {.sites = SITE_SET(SITE_LOGITS), .last_logits = true};
    const struct config *config = &viewer->model.config;
    size_t tokens = continuation_capacity(viewer, generation, pair->text.count);
    size_t beams = beams_of(viewer, generation);
    size_t cache = cache_bytes(config, viewer->model.weights.precision, tokens);
    viewer_add_memory(memory, viewer, &logits, pair, CAPTURE_NOTHING);
    memory->held += (double)cache * (beams ? 2 * (double)beams : 1);
    if (can_screen(viewer, generation, tokens - pair->text.count))
        memory->held += (double)config->vocab_size * (double)config->n_embd;
}

void continuation_release(struct continuation *text)
{
    cache_release(&text->cache);
    cache_release(&text->source_cache);
    buf_release(&text->text);
    arena_release(&text->arena);
    arena_release(&text->step);
    *text = (struct continuation){0};
}

/* --- beam search ---------------------------------------------------------------------------------
 *
 * As in Hugging Face's transformers: each step ranks the most likely candidates of all beams. A
 * candidate that ends the text, and ranks among the first `width`, may replace a finished text with
 * a lower score. */

/* One text of a beam search, including its prompt. */
struct beam {
    struct cache cache;
    uint32_t *ids; /* [capacity] token ids */
    double total;  /* log-probability of the new tokens; in `ended`, the score of the text */
    size_t count;  /* in `ended`: number of tokens of the text; 0: the item is free */
};

struct beam_candidate {
    size_t beam;
    uint32_t id;
    double total;
};

struct beam_search {
    struct continuation *text;
    size_t width;
    struct beam *beams; /* [3, width] memory of `live`, `grown` and `ended` */
    struct beam *live;  /* [width] current beams; the first `live_count` are in use */
    struct beam *grown; /* [width] the beams after the current step, which swaps them with `live` */
    struct beam *ended; /* [width] finished texts, the best first */
    size_t live_count;
    struct text *texts;                /* [width] for each live beam, the tokens that are not yet in
                                        * its cache */
    struct beam_candidate *candidates; /* [width, most] possible next tokens of each live beam */
    size_t most;                       /* number of candidates of each beam */
    size_t count;                      /* number of tokens of each beam, including the prompt */
    struct arena arena;                /* memory of the search */
};

static int open_search(struct beam_search *search, struct err *err)
{
    struct continuation *text = search->text;
    const struct config *config = config_of(text);
    struct arena *arena = &search->arena;
    size_t width = search->width;
    size_t ends = text->generation.past_end ? 0 : 1 + config->more_end_count;
    search->most = num_min(config->vocab_size, num_max(2, 1 + ends) * width);
    search->beams = arena_alloc(arena, 3 * width, sizeof *search->beams, err);
    search->texts = arena_alloc(arena, width, sizeof *search->texts, err);
    search->candidates = arena_alloc(arena, width * search->most, sizeof *search->candidates, err);
    text->forced = arena_alloc(&text->arena, text->capacity, sizeof *text->forced, err);
    if (!search->beams || !search->texts || !search->candidates || !text->forced)
        return -1;
    search->live = search->beams;
    search->grown = search->beams + width;
    search->ended = search->beams + 2 * width;
    for (size_t i = 0; i < 3 * width; i++) {
        struct beam *beam = &search->beams[i];
        beam->ids = arena_alloc(arena, text->capacity, sizeof *beam->ids, err);
        if (!beam->ids || cache_init(&beam->cache, config, err))
            return -1;
    }
    memcpy(search->live->ids, text->ids, text->count * sizeof *text->ids);
    search->live_count = 1;
    search->count = text->count;
    return 0;
}

/* Set the candidates of a beam to its most likely next tokens, search->most of them. */
static int take_logits(void *context, const struct announcement *announced, struct err *err)
{
    struct beam_search *search = context;
    struct continuation *text = search->text;
    struct beam_candidate *candidates = search->candidates + announced->text * search->most;
    const struct beam *beam = &search->live[announced->text];
    size_t count = config_of(text)->vocab_size;
    float *scores = arena_room(&text->step, count, sizeof *scores, err);
    struct likely *best = arena_room(&text->step, search->most, sizeof *best, err);
    if (!best || !scores)
        return -1;
    tensor_copy(scores, &announced->values); /* one row: the logits of the last token */
    double log_sum = logsumexp(scores, count);
    for (size_t i = 0; i < count && has_encoder(config_of(text)); i++)
        scores[i] = (float)((double)scores[i] - log_sum);
    apply_rules(scores, text, beam->ids, search->count);
    if (has_encoder(config_of(text)))
        log_sum = config_of(text)->generation.renormalised ? logsumexp(scores, count) : 0;
    topk(best, search->most, scores, count, 0);
    for (size_t i = 0; i < search->most; i++)
        candidates[i] = (struct beam_candidate){announced->text, best[i].id,
                                                beam->total + (double)best[i].logprob - log_sum};
    return 0;
}

/* Order candidates by probability, the highest first; equal ones by beam, then by id. */
static int compare(const void *a, const void *b)
{
    const struct beam_candidate *one = a;
    const struct beam_candidate *other = b;
    if (one->total != other->total)
        return one->total > other->total ? -1 : 1;
    if (one->beam != other->beam)
        return one->beam < other->beam ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

static double penalty_of(const struct beam_search *search)
{
    const struct config *c = config_of(search->text);
    return has_encoder(c) ? c->generation.length_penalty : 1;
}

/* Return total / (number of new tokens)^penalty, for a text of `count` tokens. */
static double score_of(const struct beam_search *search, double total, size_t count)
{
    double penalty = penalty_of(search), tokens = (double)(count - search->text->prompt_count);
    return total / (penalty == 1 ? tokens : pow(tokens, penalty));
}

/* Add the text that ends with a candidate to `ended`, if it is among the `width` best texts. */
static void keep_ended(struct beam_search *search, const struct beam_candidate *candidate)
{
    struct beam *ended = search->ended, last = ended[search->width - 1];
    size_t at = search->width - 1;
    double score = score_of(search, candidate->total, search->count + 1);
    if (last.count && last.total >= score)
        return;
    for (; at > 0 && (!ended[at - 1].count || ended[at - 1].total < score); at--)
        ended[at] = ended[at - 1];
    ended[at] = last;
    ended[at].total = score;
    ended[at].count = search->count + 1;
    memcpy(last.ids, search->live[candidate->beam].ids, search->count * sizeof *last.ids);
    last.ids[search->count] = candidate->id;
}

/* True if the beam search goes on: a beam is live, the text has room for another token, and either
 * fewer than `width` texts are finished or, by the model's rule for early stopping, a live beam may
 * still become better than the worst of them. */
static bool may_improve(const struct beam_search *search)
{
    const struct continuation *text = search->text;
    const struct generation_rules *rules = &config_of(text)->generation;
    const struct beam *last = &search->ended[search->width - 1];
    bool never = rules->early == EARLY_NEVER && penalty_of(search) > 0;
    if (!search->live_count || search->count == text->capacity)
        return false;
    if (!last->count)
        return true;
    return rules->early != EARLY_YES &&
           score_of(search, search->live->total, never ? text->capacity : search->count) >
               last->total;
}

/* Extend the beams by the most likely candidates of a step. Candidates that end or fill a text, and
 * rank among the first `width`, are passed to keep_ended. */
static int choose(struct beam_search *search, struct err *err)
{
    const struct continuation *text = search->text;
    const struct config *config = config_of(text);
    struct beam_candidate *candidates = search->candidates;
    size_t all = search->live_count * search->most;
    size_t count = 0; /* number of chosen candidates, which move to the start of `candidates` */
    qsort(candidates, all, sizeof *candidates, compare);
    for (size_t i = 0; i < all && count < search->width; i++) {
        const struct beam_candidate candidate = candidates[i];
        bool ends = !text->generation.past_end && ends_text(config, candidate.id);
        if (candidate.total <= FORBIDDEN)
            break;
        if ((ends || search->count + 1 == text->capacity) && i < search->width)
            keep_ended(search, &candidate);
        if (!ends)
            candidates[count++] = candidate;
    }

    struct beam *live = search->live, *grown = search->grown;
    for (size_t i = 0; i < count; i++) {
        const struct beam *from = &live[candidates[i].beam];
        if (cache_copy(&grown[i].cache, &from->cache, err))
            return -1;
        memcpy(grown[i].ids, from->ids, search->count * sizeof *from->ids);
        grown[i].ids[search->count] = candidates[i].id;
        grown[i].total = candidates[i].total;
    }
    search->live = grown;
    search->grown = live;
    search->live_count = count;
    search->count++;
    return 0;
}

/* Find the continuation with the highest score, and keep its tokens as `text->forced`. */
static int search_all(struct continuation *text, struct err *err)
{
    struct beam_search search = {.text = text, .width = text->generation.beams};
    const struct tap tap = {.sink = take_logits, .context = &search};
    int failed = open_search(&search, err);
    bool more = search.count < text->capacity;
    while (!failed && more) {
        for (size_t i = 0; i < search.live_count; i++)
            search.texts[i] =
                unread_text(text, search.live[i].ids, search.count, &search.live[i].cache);
        failed = run_texts(text, search.texts, search.live_count, tap, err) || choose(&search, err);
        more = !failed && may_improve(&search);
    }
    if (!failed && search.ended->count) {
        size_t added = search.ended->count - text->prompt_count;
        memcpy(text->forced, search.ended->ids + text->prompt_count, added * sizeof *text->forced);
        text->score = search.ended->total;
    }
    for (size_t i = 0; search.beams && i < 3 * search.width; i++)
        cache_release(&search.beams[i].cache);
    arena_release(&search.arena);
    return err_if(failed);
}

/* --- steps ------------------------------------------------------------------------------------ */

const float *continuation_ruled(struct continuation *text, const float *logits, struct arena *arena,
                                struct err *err)
{
    size_t words = config_of(text)->vocab_size;
    if (!has_encoder(config_of(text)))
        return logits;
    float *ruled = arena_room(arena, words, sizeof *ruled, err);
    if (!ruled)
        return NULL;
    memcpy(ruled, logits, words * sizeof *ruled);
    apply_rules(ruled, text, text->ids, text->count);
    return ruled;
}

bool continuation_ends(const struct continuation *text, uint32_t id)
{
    return ends_text(config_of(text), id);
}

int continuation_add(struct continuation *text, uint32_t id, struct err *err)
{
    struct token *token = &text->tokens[text->count];
    assert(text->count < text->capacity);
    text->shown = text->text.size;
    text->ids[text->count] = token->id = id;
    token->start = wording_add(&text->text, text->viewer->tokenizer, id);
    token->end = text->text.size;
    text->count++;
    return buf_check(&text->text, err);
}

int continuation_next(struct continuation *text, bool *more, struct err *err)
{
    struct likeliest choice = {0};
    size_t words = config_of(text)->vocab_size;
    *more = false;
    if (text->generation.beams && !text->forced && search_all(text, err))
        return -1;
    if (text->count - text->prompt_count == text->generation.tokens)
        text->end = END_AS_ASKED;
    else if (text->count == text->capacity)
        text->end = END_OF_CONTEXT;
    if (text->end != GOES_ON)
        return 0;
    text->logits = NULL;
    if (!text->forced || text->generation.logits) {
        struct text unread = unread_text(text, text->ids, text->count, &text->cache);
        struct tap tap = {
            .sink = keep_logits, .likeliest = text->screens ? &choice : NULL, .context = text};
        if (run_texts(text, &unread, 1, tap, err))
            return -1;
    }

    const float *scores = text->logits;
    if (!text->forced && !choice.known &&
        !(scores = continuation_ruled(text, scores, &text->step, err)))
        return -1;
    text->chosen = text->forced   ? text->forced[text->count - text->prompt_count]
                   : choice.known ? choice.id
                                  : sampler_next(&text->sampler, scores);
    if (text->choices) {
        struct choice *made = &text->choices[text->count - text->prompt_count];
        double total = logsumexp(text->logits, words);
        made->chosen =
            (struct likely){text->chosen, (float)((double)text->logits[text->chosen] - total)};
        made->best_count = num_min(words, CHOICE_BEST);
        topk(made->best, made->best_count, text->logits, words, total);
    }
    if (!text->generation.past_end && ends_text(config_of(text), text->chosen)) {
        text->end = END_OF_TEXT;
        return 0;
    }
    *more = true;
    return continuation_add(text, text->chosen, err);
}

int continuation_run(struct continuation *text, size_t count, const struct selection *selection,
                     struct tap tap, struct err *err)
{
    struct text unread = unread_text(text, text->ids, count, &text->cache);
    const struct text_list list = {.items = &unread, .count = 1};
    unread.whole_count = text->count;
    unread.prompt_count = 0;
    unread.grows = false;
    if (!selection)
        return run_texts(text, &unread, 1, (struct tap){.sink = keep_logits, .context = text}, err);
    return viewer_run(text->viewer, selection, &list, tap, err);
}

void continuation_forget(struct continuation *text, size_t count)
{
    struct cache *cache = &text->cache;
    bool stays = !cache->mixed || count == cache->before; /* recurrent states can go back only to
                                                           * `before` tokens */
    if (count < cache->count)
        cache_forget(cache, stays ? count : 0);
}

void continuation_cut(struct continuation *text, size_t count)
{
    assert(count >= text->prompt_count && count <= text->count);
    continuation_forget(text, count);
    text->count = count;
    text->text.size = count > text->prompt_count ? text->tokens[count - 1].end : text->prompt_bytes;
}

int continuation_whole(struct tokenized *whole, const struct continuation *text,
                       struct arena *arena, struct err *err)
{
    struct tokens tokens = {.items = arena_alloc(arena, text->count, sizeof *tokens.items, err),
                            .count = text->count,
                            .added = {text->added_before}};
    const char *bytes =
        arena_text(arena, text->text.size ? text->text.bytes : "", text->text.size, err);
    if (!tokens.items || !bytes)
        return -1;
    memcpy(tokens.items, text->tokens, text->count * sizeof *tokens.items);
    if (tokenized_label(whole, &tokens, text->viewer->tokenizer, arena, err))
        return -1;
    whole->raw = text->viewer->tokenizer ? bytes : NULL;
    whole->size = whole->raw ? text->text.size : 0;
    whole->queries = text->queries;
    whole->keys = text->keys;
    return 0;
}

int continuation_translate(struct text_with_source *pair, struct viewer *viewer, uint32_t **choices,
                           struct arena *kept, struct arena *arena, struct err *err)
{
    const struct generation_config usual = {.sampling = {.top_p = 1}};
    struct continuation text;
    bool more = true;
    if (continuation_prepare(viewer, &usual, 1, err) ||
        continuation_open(&text, viewer, pair, &usual, err))
        return -1;
    text.forced = *choices;
    int failed = 0;
    while (!failed && more)
        failed = continuation_next(&text, &more, err);
    failed = failed || continuation_whole(&pair->text, &text, arena, err);
    /* number of new tokens, without an end-of-text token */
    size_t added = text.count - text.prompt_count;
    if (!failed && !*choices && (*choices = arena_alloc(kept, added + 1, sizeof **choices, err))) {
        memcpy(*choices, text.ids + text.prompt_count, added * sizeof **choices);
        (*choices)[added] = text.chosen;
    }
    continuation_release(&text);
    return failed || !*choices ? -1 : 0;
}

int continuation_report(struct continuation *text, struct report *report, struct arena *arena,
                        struct err *err)
{
    static const struct selection nothing = {0};
    const struct selection *selection = text->generation.selection;
    struct text_with_source pair = {
        .source = *text->source, .prompt_count = text->prompt_count, .grows = true};
    struct capture_request asked = {
        .selection = selection ? selection : &nothing,
        .pairs = &pair,
        .count = 1,
        .reports = report,
    };
    return err_if(continuation_whole(&pair.text, text, arena, err) ||
                  viewer_capture(text->viewer, &asked, arena, err) ||
                  (!selection && continuation_tables(report, text, arena, err)));
}

/* --- tables ----------------------------------------------------------------------------------- */

int likely_table(struct table *table, const struct likely_best *best, struct arena *arena,
                 struct err *err)
{
    const struct column *keys = best->positions->columns;
    struct table_rows rows = {
        .most = best->positions->rows.size * best->each, .arena = arena, .err = err};
    for (size_t i = 0; i < rows.most && !err->kind; i++) {
        size_t row = i / best->each, rank = i % best->each;
        if (!best->lists[row])
            continue;
        const struct likely *likely = &best->lists[row][rank];
        for (size_t k = 0; k < best->keys; k++)
            if (keys[k].kind == COLUMN_TEXT)
                rows_text(&rows, keys[k].name, keys[k].flags, column_text(&keys[k], row, false));
            else
                rows_integer(&rows, keys[k].name, keys[k].flags, column_integer(&keys[k], row));
        rows_integer(&rows, "rank", COLUMN_KEY, (long long)rank + 1);
        rows_integer(&rows, "id", COLUMN_KEY, likely->id);
        rows_label(&rows, "text", COLUMN_KEY,
                   label_of_word(best->tokenizer, likely->id, arena, err));
        if (best->alone)
            rows_float(&rows, (struct column){"probability", .digits = 4},
                       exp_float(likely->logprob));
        rows_float(&rows, /* in a report with other tables, this column has no unit: the table
                           * of positions states it */
                   (struct column){"logprob", .unit = best->alone ? "nats" : NULL, .digits = 4},
                   likely->logprob);
        rows_next(&rows);
    }
    int failed = rows_finish(table, &rows, best->name, "choice");
    table->flags = best->alone ? 0 : COLUMN_DATA_ONLY;
    return failed;
}

const char *likely_text(const struct likely *list, size_t count, const struct tokenizer *tokenizer,
                        struct arena *arena, struct err *err)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++) {
        const char *label = label_of_word(tokenizer, list[i].id, arena, err).text;
        buf_format(&text, "%s%s %.2f", i ? "  " : "", label ? label : "",
                   num_shown((double)list[i].logprob, 2));
    }
    const char *kept = buf_keep(&text, arena, err);
    return err->kind ? NULL : kept;
}

int continuation_tables(struct report *report, const struct continuation *text, struct arena *arena,
                        struct err *err)
{
    /* indexed by enum continuation_end */
    static const char *const ends[] = {"", "tokens", "text", "context"};
    const struct tokenizer *tokenizer = text->viewer->tokenizer;
    const struct choice *choices = text->choices;
    size_t added = text->count - text->prompt_count;
    size_t count = added + (text->end == END_OF_TEXT);
    struct table_rows rows = {.most = count, .arena = arena, .err = err};
    struct table *tables = arena_alloc(arena, 2, sizeof *tables, err);
    struct facts *facts = facts_new(arena, err);
    const struct likely **lists = arena_alloc(arena, count, sizeof *lists, err);
    if (!tables || !facts || !lists)
        return -1;
    for (size_t i = 0; i < count; i++, rows_next(&rows)) {
        uint32_t id = i < added ? text->ids[text->prompt_count + i] : text->chosen;
        rows_integer(&rows, "step", COLUMN_KEY, (long long)i);
        rows_integer(&rows, "id", 0, id);
        rows_label(&rows, "text", COLUMN_SHRINKS, label_of_word(tokenizer, id, arena, err));
        rows_title(&rows, "token");
        if (!choices)
            continue;
        lists[i] = choices[i].best;
        rows_float(&rows, (struct column){"logprob", .unit = "nats", .digits = 4},
                   choices[i].chosen.logprob);
        rows_text(&rows, "most likely", COLUMN_TEXT_ONLY | COLUMN_SHRINKS,
                  likely_text(lists[i], choices[i].best_count, tokenizer, arena, err));
    }
    if (rows_finish(tables, &rows, "tokens", "step"))
        return -1;
    const struct likely_best best = {
        "choices", tables, 1, lists, choices && count ? choices->best_count : 0, tokenizer};
    if (choices && likely_table(&tables[1], &best, arena, err))
        return -1;
    facts_integer(facts, "prompt_tokens", (long long)text->prompt_count);
    facts_text(facts, "end_of", ends[text->end]);
    if (text->forced)
        facts_float(facts, "score", text->score);
    report->tables = tables;
    report->table_count = choices ? 2 : 1;
    report->facts = &facts->table;
    return 0;
}
