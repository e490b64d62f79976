/* beams.c: the most likely continuation among several that grow at the same time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lens/continuation.h"
#include "lens/tokenized.h"
#include "lens/viewer.h"
#include "model/sampler.h"

/* A text that grows, prompt included. */
struct beam {
    struct cache cache, source_cache;
    uint32_t *ids; /* [room] */
    double total;  /* log-probability of what was added */
};

struct candidate {
    size_t beam;
    uint32_t id;
    double total;
};

struct search {
    struct continuation *text;
    size_t width;        /* of the search: beams at most */
    struct beam *beams;  /* [width] */
    struct beam **live;  /* [width] the first `live_count` grow, the others have no text */
    struct beam **grown; /* [width] what they become in a step */
    size_t live_count;
    struct candidate *candidates; /* [width, most] */
    size_t most;                  /* of each beam */
    size_t count;                 /* tokens of each beam, prompt included */
    size_t ended;                 /* texts with an end */
    double best;                  /* mean log-probability of the best text, `text->forced` */
    struct arena arena;           /* what lives as long as the search */
};

static int open_search(struct search *search, struct err *err)
{
    struct continuation *text = search->text;
    const struct config *config = &text->viewer->model.config;
    struct arena *arena = &search->arena;
    size_t width = search->width;
    search->most = config->vocab_size < 2 * width ? config->vocab_size : 2 * width;
    search->beams = arena_alloc(arena, width, sizeof *search->beams, err);
    search->live = arena_alloc(arena, width, sizeof *search->live, err);
    search->grown = arena_alloc(arena, width, sizeof *search->grown, err);
    search->candidates = arena_alloc(arena, width * search->most, sizeof *search->candidates, err);
    text->forced = arena_alloc(&text->arena, text->room, sizeof *text->forced, err);
    if (!search->beams || !search->live || !search->grown || !search->candidates || !text->forced)
        return -1;
    for (size_t i = 0; i < width; i++) {
        struct beam *beam = &search->beams[i];
        search->live[i] = beam;
        beam->ids = arena_alloc(arena, text->room, sizeof *beam->ids, err);
        if (!beam->ids || cache_init(&beam->cache, config, err))
            return -1;
        if (config->n_encoder_layer)
            cache_init_source(&beam->source_cache, config);
    }
    memcpy(search->live[0]->ids, text->ids, text->count * sizeof *text->ids);
    search->live_count = 1;
    search->count = text->count;
    search->best = -HUGE_VAL;
    return 0;
}

static void release_search(struct search *search)
{
    for (size_t i = 0; search->beams && i < search->width; i++) {
        if (search->beams[i].cache.config)
            cache_release(&search->beams[i].cache);
        if (search->beams[i].source_cache.config)
            cache_release(&search->beams[i].source_cache);
    }
    arena_release(&search->arena);
}

/* The most likely next tokens of a beam. */
static int take_logits(void *context, const struct announcement *seen, struct err *err)
{
    struct search *search = context;
    struct arena *step = &search->text->step;
    const struct tensor last = tensor_slice(&seen->values, seen->values.shape[0] - 1);
    struct candidate *candidates = search->candidates + seen->text * search->most;
    float *logits = arena_room(step, tensor_count(&last), sizeof *logits, err);
    uint32_t *best = arena_room(step, search->most, sizeof *best, err);
    if (!logits || !best)
        return -1;
    tensor_copy(logits, &last);
    double log_sum = logsumexp(logits, tensor_count(&last));
    topk(best, search->most, logits, tensor_count(&last));
    for (size_t i = 0; i < search->most; i++)
        candidates[i] =
            (struct candidate){seen->text, best[i],
                               search->live[seen->text]->total + (double)logits[best[i]] - log_sum};
    return 0;
}

/* One pass over what is new in each beam. */
static int read_beams(struct search *search, struct err *err)
{
    struct continuation *text = search->text;
    const struct config *c = &text->viewer->model.config;
    const struct selection selection = {.sites = site_bit(SITE_LOGITS), .last_logits = true};
    const struct tap tap = {.sink = take_logits, .context = search};
    struct arena arena = {0};
    struct text *texts = arena_alloc(&arena, search->live_count, sizeof *texts, err);
    for (size_t i = 0; texts && i < search->live_count; i++) {
        struct beam *beam = search->live[i];
        size_t past = continuation_keep_past(&beam->cache, search->count);
        texts[i] = (struct text){.ids = beam->ids + past,
                                 .count = search->count - past,
                                 .source_ids = text->source->ids,
                                 .source_count = text->source->count,
                                 .prompt_count = text->prompt_count,
                                 .cache = &beam->cache,
                                 .source_cache = c->n_encoder_layer ? &beam->source_cache : NULL};
    }
    const struct text_list list = {.items = texts, .count = search->live_count};
    arena_clear(&text->step);
    int failed = !texts || viewer_run(text->viewer, &selection, &list, tap, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* The most likely first; equal ones in the order of beams and ids. */
static int compare(const void *a, const void *b)
{
    const struct candidate *one = a;
    const struct candidate *other = b;
    if (one->total != other->total)
        return one->total > other->total ? -1 : 1;
    if (one->beam != other->beam)
        return one->beam < other->beam ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

/* A text that a token would end, or that stops here (`end` is NULL): keep the best. */
static void keep_best(struct search *search, const struct beam *beam, const uint32_t *end,
                      double total)
{
    struct continuation *text = search->text;
    size_t added = search->count - text->prompt_count;
    double mean = total / (double)(added + (end != NULL));
    if (mean <= search->best)
        return;
    search->best = mean;
    memcpy(text->forced, beam->ids + text->prompt_count, added * sizeof *text->forced);
    if (end)
        text->forced[added] = *end;
}

/* A beam without a text takes that of another, its caches included. */
static int copy_beam(struct beam *beam, const struct beam *from, size_t count, struct err *err)
{
    memcpy(beam->ids, from->ids, count * sizeof *beam->ids);
    if (from->source_cache.config && !beam->source_cache.count &&
        cache_copy(&beam->source_cache, &from->source_cache, err))
        return -1;
    return cache_copy(&beam->cache, &from->cache, err);
}

/* Let the chosen candidates be the beams: the first of a beam takes its place, others take places
 * whose beams do not grow on. */
static int grow(struct search *search, const struct candidate *chosen, size_t count,
                struct err *err)
{
    struct beam **live = search->live;
    struct beam **grown = search->grown;
    bool *used = arena_alloc(&search->text->step, search->width, sizeof *used, err);
    size_t place = 0;
    if (!used)
        return -1;
    for (size_t i = 0; i < count; i++) {
        size_t parent = chosen[i].beam;
        grown[i] = used[parent] ? NULL : live[parent];
        used[parent] = true;
    }
    for (size_t i = 0; i < count; i++) {
        if (grown[i])
            continue;
        while (used[place])
            place++;
        used[place] = true;
        grown[i] = live[place];
        if (copy_beam(grown[i], live[chosen[i].beam], search->count, err))
            return -1;
    }
    for (size_t i = 0, free = count; i < search->width; i++)
        if (!used[i])
            grown[free++] = live[i];
    for (size_t i = 0; i < count; i++) {
        grown[i]->ids[search->count] = chosen[i].id;
        grown[i]->total = chosen[i].total;
    }
    search->live = grown;
    search->grown = live;
    search->live_count = count;
    search->count++;
    return 0;
}

/* Choose the most likely candidates of a step. */
static int choose(struct search *search, struct err *err)
{
    struct continuation *text = search->text;
    const struct config *config = &text->viewer->model.config;
    struct candidate *candidates = search->candidates;
    size_t all = search->live_count * search->most;
    size_t count = 0; /* of those that are chosen, which move to the front */
    qsort(candidates, all, sizeof *candidates, compare);
    for (size_t i = 0; i < all && count < search->width; i++) {
        const struct candidate candidate = candidates[i];
        if (text->generation.past_end || !config_ends(config, candidate.id)) {
            candidates[count++] = candidate;
        } else if (i < search->width) {
            keep_best(search, search->live[candidate.beam], &candidate.id, candidate.total);
            search->ended++;
        }
    }
    return grow(search, candidates, count, err);
}

int continuation_search(struct continuation *text, size_t beams, struct err *err)
{
    struct search search = {.text = text, .width = beams};
    int failed = open_search(&search, err);
    while (!failed && search.live_count && search.count < text->room && search.ended < beams)
        failed = read_beams(&search, err) || choose(&search, err);
    for (size_t i = 0; !failed && search.ended < beams && i < search.live_count; i++)
        keep_best(&search, search.live[i], NULL, search.live[i]->total);
    release_search(&search);
    return failed ? -1 : 0;
}
