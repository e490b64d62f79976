#include "model/batch.h"

#include <assert.h>

#include "base/arena.h"
#include "base/num.h"
#include "model/cache.h"
#include "model/config.h"
#include "model/parameter_table.h"

int batch_check_length(const struct config *config, size_t count, struct err *err)
{
    if (count == 0)
        return err_set(err, "the text is empty: expected at least one token");
    if (!config->n_positions || count <= config->n_positions)
        return 0;
    err_set(err, "the text is too long: expected at most %zu tokens (n_positions), found %zu",
            config->n_positions, count);
    bool learned = slot_exists(slot_of_text(SLOT_POSITIONS), config);
    return err_about(err, learned ? ERR_ABOUT_LENGTH : ERR_ABOUT_CONTEXT);
}

int batch_check_ids(const struct config *config, const uint32_t *ids, size_t count, size_t past,
                    struct err *err)
{
    size_t length = count > SIZE_MAX - past ? SIZE_MAX : past + count;
    if (batch_check_length(config, count ? length : 0, err))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= config->vocab_size)
            return err_set(err, "token %zu: expected an id below vocab_size = %zu, found %u", i,
                           config->vocab_size, ids[i]);
    return 0;
}

static size_t in_cache(const struct cache *cache)
{
    return cache ? cache->count : 0;
}

static int check_text(const struct config *config, const struct text *text, struct err *err)
{
    size_t past = in_cache(text->cache);
    size_t encoded = in_cache(text->source_cache);
    assert(!text->cache || text->cache->config == config);
    assert(!text->source_cache == !(text->cache && config->n_encoder_layer));
    assert(!encoded || encoded == text->source_count);
    if (batch_check_ids(config, text->ids, text->count, past, err))
        return -1;
    if (!config->cross)
        return text->source_ids
                   ? err_usage(err, "expected no second text: the model has only self-attention")
                   : 0;
    if (!text->source_ids)
        return err_usage(err, "expected a second text (--source): the model has cross-attention");
    return batch_check_ids(config, text->source_ids, text->source_count, 0, err)
               ? err_prefix(err, "source")
               : 0;
}

static int lay_out(struct batch *batch, struct arena *arena, struct err *err)
{
    struct span *queries = arena_alloc(arena, batch->count, sizeof *queries, err);
    struct span *sources = arena_alloc(arena, batch->count, sizeof *sources, err);
    size_t *past = arena_alloc(arena, batch->count, sizeof *past, err);
    size_t *past_sources = arena_alloc(arena, batch->count, sizeof *past_sources, err);
    if (!queries || !sources || !past || !past_sources)
        return -1;
    for (size_t s = 0; s < batch->count; s++) {
        const struct text *text = &batch->texts[s];
        past[s] = in_cache(text->cache);
        past_sources[s] = in_cache(text->source_cache);
        queries[s] = (struct span){batch->tokens, text->count};
        sources[s] = (struct span){batch->source_tokens, text->source_count - past_sources[s]};
        batch->tokens += queries[s].count;
        batch->source_tokens += sources[s].count;
        batch->longest_queries = num_max(batch->longest_queries, text->count);
        batch->cached |= text->cache != NULL;
    }
    batch->queries = queries;
    batch->sources = sources;
    batch->past = past;
    batch->past_sources = past_sources;
    return 0;
}

static void find_longest_keys(struct batch *batch)
{
    batch->longest_keys = 0;
    for (size_t s = 0; s < batch->count; s++)
        batch->longest_keys = num_max(batch->longest_keys, batch_keys(batch, s));
}

static void look_at_themselves(struct batch *batch)
{
    batch->keys = batch->queries;
    batch->past_keys = batch->past;
    batch->key_tokens = batch->tokens;
    find_longest_keys(batch);
}

int batch_init(struct batch *batch, const struct config *config, const struct text *texts,
               size_t count, struct arena *arena, struct err *err)
{
    *batch = (struct batch){.texts = texts, .count = count};
    for (size_t s = 0; s < count; s++)
        if (check_text(config, &texts[s], err))
            return -1;
    if (lay_out(batch, arena, err))
        return -1;
    look_at_themselves(batch);
    if (config_is_cross(config))
        *batch = batch_at_sources(batch);
    return 0;
}

int batch_of_sources(struct batch *sources, const struct batch *batch, struct arena *arena,
                     struct err *err)
{
    struct text *texts = arena_alloc(arena, batch->count, sizeof *texts, err);
    if (!texts)
        return -1;
    for (size_t s = 0; s < batch->count; s++) {
        texts[s].ids = batch->texts[s].source_ids;
        texts[s].count = batch->sources[s].count;
    }
    *sources = (struct batch){.texts = texts, .count = batch->count, .first = batch->first};
    if (lay_out(sources, arena, err))
        return -1;
    look_at_themselves(sources);
    sources->cached = batch->cached;
    return 0;
}

struct batch batch_at_sources(const struct batch *batch)
{
    struct batch at_sources = *batch;
    at_sources.keys = batch->sources;
    at_sources.past_keys = batch->past_sources;
    at_sources.key_tokens = batch->source_tokens;
    find_longest_keys(&at_sources);
    return at_sources;
}
