#include "pass/cache.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "math/precision.h"
#include "math/rows.h"
#include "model/layer.h"
#include "model/points.h"
#include "model/site.h"

/* --- pages of pairs --------------------------------------------------------------------------- */

/* Zeros in place of a missing row of keys or of values. */
static const float
    none[(size_t)KEY_PANEL > (size_t)PAIR_COLUMNS ? (size_t)KEY_PANEL : (size_t)PAIR_COLUMNS];

size_t head_pairs_of_keys(size_t d_k)
{
    return bf16_pairs(d_k) * KEY_PANEL;
}

size_t head_pairs_of_values(size_t d_v)
{
    return (d_v + PAIR_COLUMNS - 1) / PAIR_COLUMNS * HEAD_PAIRS_APART;
}

/* put_key and put_value: store a key or a value as token `offset` of a page of bf16 pairs. */
static void put_key(uint32_t *page, size_t offset, const float *key, size_t d_k)
{
    enum { PART = 64 }; /* numbers that are rounded at a time */
    uint32_t part[PART / 2];
    uint32_t *column = page + offset;
    for (size_t first = 0; first < d_k; first += PART) {
        size_t count = num_min(d_k - first, PART);
        bf16_pair_row(part, key + first, count);
        for (size_t i = 0; i < bf16_pairs(count); i++, column += KEY_PANEL)
            *column = part[i];
    }
}

static void put_value(uint32_t *page, size_t offset, const float *value, size_t d_v)
{
    uint32_t *pairs = page + offset / 2 * PAIR_COLUMNS;
    for (size_t first = 0; first < d_v; first += PAIR_COLUMNS, pairs += HEAD_PAIRS_APART)
        if (offset % 2)
            bf16_put_second(pairs, value + first, num_min(d_v - first, PAIR_COLUMNS));
        else
            bf16_pair_rows(pairs, value + first, none, num_min(d_v - first, PAIR_COLUMNS));
}

/* Set the values of all tokens of a page from `offset` on to 0. */
static void cut_values(uint32_t *page, size_t offset, size_t d_v)
{
    uint32_t *panel = page;
    for (size_t first = 0; first < d_v; first += PAIR_COLUMNS, panel += HEAD_PAIRS_APART) {
        if (offset % 2)
            bf16_put_second(panel + offset / 2 * PAIR_COLUMNS, none, PAIR_COLUMNS);
        uint32_t *rest = panel + (offset + 1) / 2 * PAIR_COLUMNS;
        memset(rest, 0, (size_t)(panel + HEAD_PAIRS_APART - rest) * sizeof *rest);
    }
}

void head_pairs_fill_keys(uint32_t *page, const float *panel, size_t d_k)
{
    for (size_t i = 0; i < d_k; i += 2, page += KEY_PANEL) {
        const float *row = panel + i * KEY_PANEL;
        bf16_pair_rows(page, row, i + 1 < d_k ? row + KEY_PANEL : none, KEY_PANEL);
    }
}

void head_pairs_fill_values(uint32_t *page, struct matrix values)
{
    size_t count = num_min(values.rows, KEY_PANEL);
    cut_values(page, count / 2 * 2, values.columns);
    for (size_t row = 0; row < count; row += 2) {
        const float *value = matrix_row(values, row);
        uint32_t *pairs = page + row / 2 * PAIR_COLUMNS;
        for (size_t i = 0; i < values.columns; i += PAIR_COLUMNS, pairs += HEAD_PAIRS_APART)
            bf16_pair_rows(pairs, value + i, row + 1 < count ? value + values.stride + i : none,
                           num_min(values.columns - i, PAIR_COLUMNS));
    }
}

/* --- the cache -------------------------------------------------------------------------------- */

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
    if (mechanism_lacks(&config->mechanism, BLOCK_MASK))
        return err_usage(err, "--without mask: the tokens before a new one would attend to it: use "
                              "'attn-cli run'");
    if (!config->causal)
        return err_unsupported(err,
                               "generating: expected a causal model, found one that attends to "
                               "later tokens%s",
                               site_exists(config, SITE_LOGITS)
                                   ? ": 'attn-cli score \"… [MASK] …\" --top 5' fills in a word"
                                   : "");
    return 0;
}

void cache_init_source(struct cache *cache, const struct config *config)
{
    assert(has_encoder(config));
    *cache = (struct cache){.config = config};
}

void cache_release(struct cache *cache)
{
    arena_release(&cache->arena);
    *cache = (struct cache){0};
}

/* Compute the sizes of a layer's part of a page in words, which are floats or bf16 pairs: key_words
 * for the keys of one head; value_words for a row of values or, in bf16, for the values of one
 * head; `words` for the complete part. */
static struct cache_layer layer_of_page(const struct head_rule *rule, enum precision precision)
{
    bool pairs = precision == PRECISION_BF16;
    if (!rule)
        return (struct cache_layer){.rule = NULL};
    struct cache_layer layer = {
        .rule = rule,
        .key_words = pairs ? head_pairs_of_keys(rule->d_k) : rule->d_k * KEY_PANEL,
        .value_words =
            pairs ? head_pairs_of_values(rule->d_v) : matrix_stride(rule->kv_heads * rule->d_v),
    };
    layer.words =
        rule->kv_heads * layer.key_words + (pairs ? rule->kv_heads : KEY_PANEL) * layer.value_words;
    return layer;
}

/* Return the number of words in a page. If `layers` [L] is not NULL, store each layer's part of a
 * page in it. */
static size_t page_words(struct cache_layer *layers, const struct config *c,
                         enum precision precision)
{
    size_t words = 0, mixed = 0;
    for (size_t i = 0; i < c->n_layer; i++) {
        const struct layer *own = layer_of(c, BRANCH_TEXT, i);
        const struct sublayer *attention = layer_attention(own, BRANCH_TEXT);
        const struct head_rule *rule = attention ? &attention->head : NULL;
        struct cache_layer layer = layer_of_page(rule, precision);
        bool borrows = rule && rule->borrows;
        layer.mixed = mixed;
        mixed += layer_mixer(own) ? mixer_kept(&c->mixer) : 0;
        layer.first = borrows && layers ? layers[rule->kv_layer].first : words;
        words += borrows ? 0 : layer.words;
        if (layers)
            layers[i] = layer;
    }
    return words;
}

static size_t pages_for(size_t count)
{
    return (count + KEY_PANEL - 1) / KEY_PANEL;
}

size_t cache_bytes(const struct config *config, enum precision precision, size_t count)
{
    return pages_for(count) * page_words(NULL, config, precision) * sizeof(float) +
           2 * layers_mixed_bytes(config);
}

static int add_page(struct cache *cache, struct err *err)
{
    float **pages = arena_grow(&cache->arena, cache->pages, cache->page_count, sizeof *pages, err);
    float *page = pages ? arena_alloc(&cache->arena, cache->page_words, sizeof *page, err) : NULL;
    if (!page)
        return -1;
    cache->pages = pages;
    cache->pages[cache->page_count++] = page;
    return 0;
}

static int take_sums(struct cache *cache, struct err *err)
{
    const struct config *c = cache->config;
    size_t size = 0, count = 0;
    for (size_t i = 0; i < c->n_layer; i++)
        size =
            num_max(size, running_sum_size(cache->layers[i].rule->d_k, cache->layers[i].rule->d_v));
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
    if (cache->precision != precision) { /* only an empty cache may change its precision */
        assert(cache->count == 0);
        arena_release(&cache->arena);
        *cache = (struct cache){.config = cache->config, .precision = precision};
    }
    if (!cache->layers) {
        cache->layers =
            arena_alloc(&cache->arena, cache->config->n_layer, sizeof *cache->layers, err);
        if (!cache->layers)
            return -1;
        cache->page_words = page_words(cache->layers, cache->config, precision);
    }
    size_t mixed = layers_mixed_bytes(cache->config);
    if (mixed && !cache->mixed) {
        cache->mixed = arena_alloc(&cache->arena, mixed, 1, err);
        cache->mixed_next = arena_alloc(&cache->arena, mixed, 1, err);
        if (!cache->mixed || !cache->mixed_next)
            return -1;
    }
    if (cache->config->mechanism.kind == ATTENTION_LINEAR && !cache->sums && take_sums(cache, err))
        return -1;
    while (cache->page_count < pages_for(cache->count + count))
        if (add_page(cache, err))
            return -1;
    return 0;
}

float *cache_mixer(const struct cache *cache, size_t layer, bool after)
{
    return (after ? cache->mixed_next : cache->mixed) + cache->layers[layer].mixed;
}

void *cache_keys(const struct cache *cache, size_t layer, size_t kv_head, size_t token)
{
    const struct cache_layer *own = &cache->layers[layer];
    assert(token / KEY_PANEL < cache->page_count);
    return cache->pages[token / KEY_PANEL] + own->first + kv_head * own->key_words;
}

void *cache_values(const struct cache *cache, size_t layer, size_t kv_head, size_t token)
{
    const struct cache_layer *own = &cache->layers[layer];
    float *values =
        cache_keys(cache, layer, own->rule->kv_heads, token); /* in a page, values follow the
                                                               * keys */
    return cache->precision == PRECISION_BF16
               ? values + kv_head * own->value_words
               : values + token % KEY_PANEL * own->value_words + kv_head * own->rule->d_v;
}

void cache_store(struct cache *cache, size_t layer, size_t kv_head, struct matrix k,
                 struct matrix v)
{
    const struct head_rule *rule = cache->layers[layer].rule;
    for (size_t row = 0; row < k.rows; row++) {
        size_t token = cache->count + row, offset = token % KEY_PANEL;
        const float *key = matrix_row(k, row), *value = matrix_row(v, row);
        void *keys = cache_keys(cache, layer, kv_head, token);
        void *values = cache_values(cache, layer, kv_head, token);
        if (cache->precision == PRECISION_BF16) {
            put_key(keys, offset, key, rule->d_k);
            put_value(values, offset, value, rule->d_v);
            continue;
        }
        for (size_t i = 0; i < rule->d_k; i++)
            ((float *)keys)[i * KEY_PANEL + offset] = key[i];
        memcpy(values, value, rule->d_v * sizeof *value);
    }
}

static void swap_mixed(struct cache *cache)
{
    float *next = cache->mixed_next;
    cache->mixed_next = cache->mixed;
    cache->mixed = next;
}

void cache_add(struct cache *cache, size_t count)
{
    cache->before = cache->count;
    swap_mixed(cache);
    cache->count += count;
    assert(pages_for(cache->count) <= cache->page_count);
}

/* Set values after the last token to 0, because products read them with weights of 0. Scores of
 * keys after the last token are not read. */
void cache_forget(struct cache *cache, size_t count)
{
    const struct config *c = cache->config;
    bool pairs = cache->precision == PRECISION_BF16;
    size_t sums = cache->sums ? c->n_layer * c->n_head : 0;
    size_t end = cache->page_count * KEY_PANEL;
    assert(count <= cache->count);
    assert(!cache->mixed || !count || count == cache->count || count == cache->before);
    if (count < cache->count && count == cache->before)
        swap_mixed(cache);
    cache->before = count < cache->count ? SIZE_MAX : cache->before;
    cache->count = count;
    for (size_t i = 0; i < sums; i++) /* keys cannot be subtracted from a sum: it is computed
                                       * again */
        if (cache->sums[i].count > count)
            cache->sums[i].count = 0;
    for (size_t layer = 0; layer < c->n_layer; layer++) /* set the values of tokens from index
                                                         * `count` on to 0 */
        for (size_t token = count; token < end; token = (token / KEY_PANEL + 1) * KEY_PANEL) {
            const struct cache_layer *own = &cache->layers[layer];
            size_t offset = token % KEY_PANEL;
            if (!own->rule)
                break;
            if (!pairs)
                memset(cache_values(cache, layer, 0, token), 0,
                       (KEY_PANEL - offset) * own->value_words * sizeof(float));
            for (size_t kv_head = 0; pairs && kv_head < own->rule->kv_heads; kv_head++)
                cut_values(cache_values(cache, layer, kv_head, token), offset, own->rule->d_v);
        }
}

/* Running sums are not copied: the copy computes them again. */
int cache_copy(struct cache *cache, const struct cache *from, struct err *err)
{
    cache_forget(cache, 0);
    if (cache_reserve(cache, from->precision, from->count, err))
        return -1;
    for (size_t page = 0; page < pages_for(from->count); page++)
        memcpy(cache->pages[page], from->pages[page], from->page_words * sizeof(float));
    if (from->count && from->mixed)
        memcpy(cache->mixed_next, from->mixed, layers_mixed_bytes(from->config));
    cache_add(cache, from->count);
    return 0;
}

struct cache_sum *cache_sum(const struct cache *cache, size_t layer, size_t head)
{
    assert(cache->sums);
    return &cache->sums[layer * cache->config->n_head + head];
}
