#include "model/cache.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "math/rows.h"

int cache_init(struct cache *cache, const struct config *config, struct err *err)
{
    *cache = (struct cache){.config = config};
    if (config_is_cross(config))
        return err_unsupported(err,
                               "generating: expected causal self-attention, found cross-attention");
    if (config->mechanism.renormalise)
        return err_usage(err, "--mask-after: the softmax over later keys is not available while "
                              "generating: use 'attn-cli run'");
    if (config->mechanism.pattern.root)
        return err_usage(err, "--attention sqrt: its window depends on the length of the text, "
                              "which changes while generating: use 'attn-cli run'");
    if (!config->causal)
        return err_unsupported(err, "generating: expected field 'causal' to be true, found false");
    return 0;
}

void cache_init_source(struct cache *cache, const struct config *config)
{
    assert(config->n_encoder_layer);
    *cache = (struct cache){.config = config};
}

void cache_release(struct cache *cache)
{
    arena_release(&cache->arena);
    *cache = (struct cache){0};
}

static size_t value_stride(const struct config *config)
{
    return matrix_stride(config->n_kv_head * config->d_v);
}

/* Floats or pairs in a page, which are of the same size: those of a head's keys, of a layer. */
static size_t key_words(const struct config *c, enum precision precision)
{
    return precision == PRECISION_BF16 ? head_pairs_of_keys(c->d_k) : c->d_k * KEY_PANEL;
}

static size_t layer_words(const struct config *c, enum precision precision)
{
    size_t values = precision == PRECISION_BF16 ? c->n_kv_head * head_pairs_of_values(c->d_v)
                                                : value_stride(c) * KEY_PANEL;
    return c->n_kv_head * key_words(c, precision) + values;
}

static size_t pages_for(size_t count)
{
    return (count + KEY_PANEL - 1) / KEY_PANEL;
}

size_t cache_bytes(const struct config *config, enum precision precision, size_t count)
{
    return pages_for(count) * config->n_layer * layer_words(config, precision) * sizeof(float);
}

static int add_page(struct cache *cache, struct err *err)
{
    size_t words = 0;
    size_t of_layer = layer_words(cache->config, cache->precision);
    if (!num_multiply(&words, cache->config->n_layer, of_layer))
        return err_memory(err, (size_t)-1);
    float **pages = arena_grow(&cache->arena, cache->pages, cache->page_count, sizeof *pages, err);
    float *page = pages ? arena_alloc(&cache->arena, words, sizeof *page, err) : NULL;
    if (!page)
        return -1;
    cache->pages = pages;
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

int cache_reserve(struct cache *cache, enum precision precision, size_t count, struct err *err)
{
    if (cache->precision != precision) { /* an empty cache is for passes of any */
        assert(cache->count == 0);
        arena_release(&cache->arena);
        *cache = (struct cache){.config = cache->config, .precision = precision};
    }
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
    return cache->pages[token / KEY_PANEL] + layer * layer_words(cache->config, cache->precision);
}

float *cache_keys(const struct cache *cache, size_t layer, size_t group, size_t token)
{
    return layer_of(cache, layer, token) + group * key_words(cache->config, cache->precision);
}

float *cache_values(const struct cache *cache, size_t layer, size_t group, size_t token)
{
    const struct config *c = cache->config;
    float *values = layer_of(cache, layer, token) + c->n_kv_head * key_words(c, PRECISION_FP32);
    return values + token % KEY_PANEL * value_stride(c) + group * c->d_v;
}

uint32_t *cache_key_pairs(const struct cache *cache, size_t layer, size_t group, size_t token)
{
    return (void *)cache_keys(cache, layer, group, token);
}

uint32_t *cache_value_pairs(const struct cache *cache, size_t layer, size_t group, size_t token)
{
    const struct config *c = cache->config;
    float *values = layer_of(cache, layer, token) + c->n_kv_head * key_words(c, PRECISION_BF16);
    return (uint32_t *)(void *)values + group * head_pairs_of_values(c->d_v);
}

static void store_floats(struct cache *cache, size_t layer, size_t group, size_t token,
                         const float *key, const float *value)
{
    const struct config *c = cache->config;
    float *column = cache_keys(cache, layer, group, token) + token % KEY_PANEL;
    for (size_t i = 0; i < c->d_k; i++)
        column[i * KEY_PANEL] = key[i];
    memcpy(cache_values(cache, layer, group, token), value, c->d_v * sizeof *value);
}

static void store_pairs(struct cache *cache, size_t layer, size_t group, size_t token,
                        const float *key, const float *value)
{
    const struct config *c = cache->config;
    size_t place = token % KEY_PANEL;
    head_pairs_put_key(cache_key_pairs(cache, layer, group, token), place, key, c->d_k);
    head_pairs_put_value(cache_value_pairs(cache, layer, group, token), place, value, c->d_v);
}

void cache_store(struct cache *cache, size_t layer, size_t group, struct matrix k, struct matrix v)
{
    bool in_pairs = cache->precision == PRECISION_BF16;
    for (size_t row = 0; row < k.rows; row++)
        (in_pairs ? store_pairs : store_floats)(cache, layer, group, cache->count + row,
                                                k.data + row * k.stride, v.data + row * v.stride);
}

void cache_add(struct cache *cache, size_t count)
{
    cache->count += count;
    assert(pages_for(cache->count) <= cache->page_count);
}

/* Values after the last token are multiplied with 0, so they must be numbers; keys there give
 * scores that are never read. */
static void clear_floats(struct cache *cache, size_t layer, size_t token)
{
    size_t rows = KEY_PANEL - token % KEY_PANEL;
    memset(cache_values(cache, layer, 0, token), 0,
           rows * value_stride(cache->config) * sizeof(float));
}

static void clear_pairs(struct cache *cache, size_t layer, size_t token)
{
    const struct config *c = cache->config;
    for (size_t group = 0; group < c->n_kv_head; group++)
        head_pairs_cut_values(cache_value_pairs(cache, layer, group, token), token % KEY_PANEL,
                              c->d_v);
}

void cache_forget(struct cache *cache, size_t count)
{
    size_t sums = cache->sums ? cache->config->n_layer * cache->config->n_head : 0;
    size_t end = cache->page_count * KEY_PANEL;
    bool in_pairs = cache->precision == PRECISION_BF16;
    assert(count <= cache->count);
    cache->count = count;
    for (size_t i = 0; i < sums; i++) /* nothing is taken out of a sum: it begins anew */
        if (cache->sums[i].count > count)
            cache->sums[i].count = 0;
    for (size_t layer = 0; layer < cache->config->n_layer; layer++) /* page by page */
        for (size_t token = count; token < end; token = (token / KEY_PANEL + 1) * KEY_PANEL)
            (in_pairs ? clear_pairs : clear_floats)(cache, layer, token);
}

/* Its running sums begin anew. */
int cache_copy(struct cache *cache, const struct cache *from, struct err *err)
{
    size_t words = from->config->n_layer * layer_words(from->config, from->precision);
    cache_forget(cache, 0);
    if (cache_reserve(cache, from->precision, from->count, err))
        return -1;
    for (size_t page = 0; page < pages_for(from->count); page++)
        memcpy(cache->pages[page], from->pages[page], words * sizeof(float));
    cache_add(cache, from->count);
    return 0;
}

struct cache_sum *cache_sum(const struct cache *cache, size_t layer, size_t head)
{
    assert(cache->sums);
    return &cache->sums[layer * cache->config->n_head + head];
}
