#include "model/cache.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "math/running_sum.h"

int cache_init(struct cache *cache, const struct config *config, struct err *err)
{
    *cache = (struct cache){.config = config};
    if (config->cross)
        return err_unsupported(err, "a text cannot grow token by token where it attends to another "
                                    "text: expected causal self-attention, found cross-attention");
    if (config->mechanism.renormalise)
        return err_usage(err, "--mask-method renormalise: its softmax sees keys to come, which are "
                              "not known while a text grows: 'attn-cli run' shows it");
    if (!config->causal)
        return err_unsupported(err,
                               "a text cannot grow token by token where every token sees those "
                               "behind it: expected field 'causal' to be true, found false");
    return 0;
}

void cache_release(struct cache *cache)
{
    arena_release(&cache->arena);
    *cache = (struct cache){0};
}

size_t cache_stride(const struct config *config)
{
    return matrix_stride(config->n_kv_head * config->d_v);
}

/* Floats of one layer in a page: its keys, and its keys and values. */
static size_t key_floats(const struct config *c)
{
    return c->n_kv_head * c->d_k * KEY_PANEL;
}

static size_t layer_floats(const struct config *c)
{
    return key_floats(c) + cache_stride(c) * KEY_PANEL;
}

static size_t pages_for(size_t count)
{
    return (count + KEY_PANEL - 1) / KEY_PANEL;
}

size_t cache_bytes(const struct config *config, size_t count)
{
    return pages_for(count) * config->n_layer * layer_floats(config) * sizeof(float);
}

/* The table of pages doubles; the old one, small beside a page, stays in the arena. */
static int make_room(struct cache *cache, struct err *err)
{
    size_t room = cache->page_room ? 2 * cache->page_room : 1;
    float **pages = arena_alloc(&cache->arena, room, sizeof *pages, err);
    if (!pages)
        return -1;
    if (cache->page_count)
        memcpy(pages, cache->pages, cache->page_count * sizeof *pages);
    cache->pages = pages;
    cache->page_room = room;
    return 0;
}

static int add_page(struct cache *cache, struct err *err)
{
    size_t floats = 0;
    if (!num_multiply(&floats, cache->config->n_layer, layer_floats(cache->config)))
        return err_memory(err, (size_t)-1);
    if (cache->page_count == cache->page_room && make_room(cache, err))
        return -1;
    float *page = arena_alloc(&cache->arena, floats, sizeof *page, err);
    if (!page)
        return -1;
    cache->pages[cache->page_count++] = page;
    return 0;
}

static int take_sums(struct cache *cache, struct err *err)
{
    const struct config *c = cache->config;
    size_t size = running_sum_size(c->d_k, c->d_v);
    size_t count = 0;
    if (!num_multiply(&count, c->n_layer, c->n_head))
        return err_memory(err, SIZE_MAX);
    struct cache_sum *sums = arena_alloc(&cache->arena, count, sizeof *sums, err);
    for (size_t i = 0; sums && i < count; i++) {
        sums[i].values = arena_room(&cache->arena, size, sizeof(float), err);
        if (!sums[i].values)
            return -1;
    }
    cache->sums = sums;
    return sums ? 0 : -1;
}

int cache_reserve(struct cache *cache, size_t count, struct err *err)
{
    if (cache->config->mechanism.kind == ATTENTION_LINEAR && !cache->sums && take_sums(cache, err))
        return -1;
    while (cache->page_count < pages_for(cache->count + count))
        if (add_page(cache, err))
            return -1;
    return 0;
}

static float *layer_of(const struct cache *cache, size_t layer, size_t token)
{
    assert(token / KEY_PANEL < cache->page_count);
    return cache->pages[token / KEY_PANEL] + layer * layer_floats(cache->config);
}

static float *panel_of(const struct cache *cache, size_t layer, size_t group, size_t token)
{
    return layer_of(cache, layer, token) + group * cache->config->d_k * KEY_PANEL;
}

static float *value_of(const struct cache *cache, size_t layer, size_t group, size_t token)
{
    const struct config *c = cache->config;
    float *values = layer_of(cache, layer, token) + key_floats(c);
    return values + token % KEY_PANEL * cache_stride(c) + group * c->d_v;
}

void cache_store(struct cache *cache, size_t layer, size_t group, struct matrix k, struct matrix v)
{
    for (size_t row = 0; row < k.rows; row++) {
        size_t token = cache->count + row;
        float *column = panel_of(cache, layer, group, token) + token % KEY_PANEL;
        const float *key = k.data + row * k.stride;
        for (size_t i = 0; i < k.columns; i++)
            column[i * KEY_PANEL] = key[i];
        memcpy(value_of(cache, layer, group, token), v.data + row * v.stride,
               v.columns * sizeof(float));
    }
}

void cache_add(struct cache *cache, size_t count)
{
    cache->count += count;
    assert(pages_for(cache->count) <= cache->page_count);
}

/* Values behind the last token are multiplied with 0, so they must be numbers; keys there give
 * scores that nobody reads. */
static void clear_values(struct cache *cache, size_t layer, size_t first)
{
    size_t stride = cache_stride(cache->config);
    for (size_t token = first; token < cache->page_count * KEY_PANEL; token++)
        memset(value_of(cache, layer, 0, token), 0, stride * sizeof(float));
}

void cache_forget(struct cache *cache, size_t count)
{
    size_t sums = cache->sums ? cache->config->n_layer * cache->config->n_head : 0;
    assert(count <= cache->count);
    cache->count = count;
    for (size_t i = 0; i < sums; i++) /* nothing is taken out of a sum: it begins anew */
        if (cache->sums[i].count > count)
            cache->sums[i].count = 0;
    for (size_t layer = 0; layer < cache->config->n_layer; layer++)
        clear_values(cache, layer, count);
}

const float *cache_keys(const struct cache *cache, size_t layer, size_t group, size_t key)
{
    return panel_of(cache, layer, group, key);
}

const float *cache_values(const struct cache *cache, size_t layer, size_t group, size_t key)
{
    return value_of(cache, layer, group, key);
}

struct cache_sum *cache_sum(const struct cache *cache, size_t layer, size_t head)
{
    assert(cache->sums);
    return &cache->sums[layer * cache->config->n_head + head];
}
