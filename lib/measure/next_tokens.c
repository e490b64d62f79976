#include "measure/next_tokens.h"

#include <stdlib.h>
#include <string.h>

enum { LENS_LISTED = 3 }; /* likeliest tokens of a layer that is not the last */

int next_tokens_plan(struct lens_plan *plan, bool of_all_layers, struct arena *arena,
                     struct err *err)
{
    const struct config *config = &plan->viewer->model.config;
    size_t all = config->n_layer;
    size_t count = of_all_layers ? all : 1;
    size_t *items = arena_alloc(arena, count, sizeof *items, err);
    for (size_t i = 0; items && i < count; i++)
        items[i] = all - count + i;
    plan->layers = (struct layers){items, count};
    plan->target = plan->against = -1;
    return items ? lens_find_site(&plan->site, NULL, config, err) : -1;
}

static int compare_ids(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a;
    uint32_t other = *(const uint32_t *)b;
    return (one > other) - (one < other);
}

/* What the ids are called, each once. */
static int name_ids(struct page_next *next, const struct viewer *viewer, struct arena *arena,
                    struct err *err)
{
    size_t count = 0;
    for (size_t i = 0; i < next->layer_count; i++)
        count += next->layers[i].best_count * next->token_count;
    uint32_t *ids = arena_alloc(arena, count, sizeof *ids, err);
    struct label *names = arena_alloc(arena, count, sizeof *names, err);
    if (!ids || !names)
        return -1;
    count = 0;
    for (size_t i = 0; i < next->layer_count; i++)
        for (size_t k = 0; k < next->layers[i].best_count * next->token_count; k++)
            ids[count++] = next->layers[i].best[k].id;
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && ids[i] == ids[next->name_count - 1])
            continue;
        ids[next->name_count] = ids[i];
        if (label_of_word(&names[next->name_count++], viewer->tokenizer, ids[i], arena, err))
            return -1;
    }
    next->named = ids;
    next->names = names;
    return 0;
}

static int take_layer(struct page_next_layer *to, const struct logit_lens *lens, size_t layer,
                      struct arena *arena, struct err *err)
{
    size_t count = lens->tokens;
    bool last = layer + 1 == lens->layers.count;
    const struct lens_cell *cells = lens->cells + layer * count;
    size_t best_count = last || lens->best_count < LENS_LISTED ? lens->best_count : LENS_LISTED;
    struct likely *best = arena_alloc(arena, count * best_count, sizeof *best, err);
    float *came = arena_alloc(arena, count, sizeof *came, err);
    float *entropies = arena_alloc(arena, count, sizeof *entropies, err);
    size_t *ranks = arena_alloc(arena, count, sizeof *ranks, err);
    if (!best || !came || !entropies || !ranks)
        return -1;
    for (size_t i = 0; i < count; i++) {
        memcpy(best + i * best_count, cells[i].best, best_count * sizeof *best);
        came[i] = cells[i].target;
        entropies[i] = cells[i].entropy;
        ranks[i] = cells[i].rank;
    }
    *to = (struct page_next_layer){
        lens->layers.items[layer], best_count, best, came, entropies, ranks};
    return 0;
}

int next_tokens_of_lens(const struct page_next **found, const struct logit_lens *lens,
                        const struct viewer *viewer, struct arena *arena, struct err *err)
{
    struct page_next *next = arena_alloc(arena, 1, sizeof *next, err);
    struct page_next_layer *layers = arena_alloc(arena, lens->layers.count, sizeof *layers, err);
    if (!next || !layers)
        return -1;
    for (size_t i = 0; i < lens->layers.count; i++)
        if (take_layer(&layers[i], lens, i, arena, err))
            return -1;
    *next = (struct page_next){.layers = layers,
                               .layer_count = lens->layers.count,
                               .token_count = lens->tokens,
                               .vocabulary = viewer->model.config.vocab_size};
    *found = next;
    return name_ids(next, viewer, arena, err);
}
