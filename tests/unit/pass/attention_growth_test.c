#include "pass/cache.h"
#include "pass/pass.h"

#include "../unit.h"
#include "../rigs/bent_config.h"
#include "../rigs/pass_record.h"
#include "../rigs/patience.h"
#include "../rigs/random_model.h"
#include "model/mechanism.h"

static const char *const configs[] = {
    "{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 2, \"n_embd\": 20, "
    "\"n_positions\": 150, \"vocab_size\": 97, \"scale_attn_by_inverse_layer_idx\": true}",
    "{\"model_type\": \"attention\", \"n_layer\": 2, \"n_head\": 6, \"n_kv_head\": 2, \"d_k\": 5, "
    "\"d_v\": 9, \"n_embd\": 24, \"vocab_size\": 30, \"causal\": true, \"out_proj\": true}",
    "{\"model_type\": \"attention\", \"n_head\": 3, \"n_embd\": 12, \"n_layer\": 2, "
    "\"vocab_size\": 30, \"causal\": true, \"projections\": false}",
    "{\"model_type\": \"transformer\", \"n_encoder_layer\": 2, \"n_layer\": 3, \"n_head\": 3, "
    "\"n_embd\": 18, \"n_inner\": 20, \"vocab_size\": 30}",
};

static const char *const kinds[] = {
    "window:9",  "window:64", "global:3",
    "strided:5", "random:20", "window:20+global:3+strided:7+random:2:1",
    "linear",    "blocked:7",
};

enum { TOKENS = 130, SOURCE = 70 };

/* A text, the tensors of one pass over it, and a cache to compute it again in parts. */
struct growth {
    struct random_model model;
    uint32_t ids[TOKENS];
    struct record whole;
    struct record_watch watch;
    struct cache cache, of_source;
};

static enum precision precision;
static int bent = -1; /* see bent_config.h */

/* Tokens of the text, with the source if the model has an encoder. */
static struct text part_of(struct growth *growth, size_t first, size_t count)
{
    struct text part = {.ids = growth->ids + first, .count = count};
    if (has_encoder(&growth->model.config)) {
        part.source_ids = growth->ids + TOKENS - SOURCE;
        part.source_count = SOURCE;
    }
    return part;
}

static void growth_open(struct growth *growth, const char *config, const char *kind, float dropout)
{
    random_model_open(&growth->model, config, 2);
    struct mechanism *mechanism = &growth->model.config.mechanism;
    growth->model.weights.precision = precision;
    *mechanism = (struct mechanism){.seed = 5, .dropout = dropout};
    ck_assert_int_eq(mechanism_set_attention(mechanism, kind, NULL), 0);
    if (bent >= 0)
        bend_config(&growth->model.config, (size_t)bent);
    ck_assert(!config_describe(&growth->model.config, NULL));
    random_ids(growth->ids, TOKENS, growth->model.config.vocab_size);
    growth->watch = record_all(&growth->model);
    struct text text = part_of(growth, 0, TOKENS);
    record_pass(&growth->whole, &growth->model, &text, 1, &growth->watch);
    ck_assert_int_eq(cache_init(&growth->cache, &growth->model.config, NULL), 0);
    growth->of_source = (struct cache){0};
    if (has_encoder(&growth->model.config))
        cache_init_source(&growth->of_source, &growth->model.config);
}

static void growth_release(struct growth *growth)
{
    cache_release(&growth->cache);
    cache_release(&growth->of_source);
    record_release(&growth->whole);
    random_model_release(&growth->model);
}

/* Compute the text in pieces, and compare each with the whole. */
static void grow_by(struct growth *growth, size_t piece)
{
    static struct record part;
    struct cache *cache = &growth->cache;
    while (cache->count < TOKENS) {
        size_t past = cache->count;
        size_t count = TOKENS - past < piece ? TOKENS - past : piece;
        struct text next = part_of(growth, past, count);
        next.cache = cache;
        next.source_cache = next.source_count ? &growth->of_source : NULL;
        record_pass(&part, &growth->model, &next, 1, &growth->watch);
        record_expect_rows(&growth->whole, 0, &part, 0, past);
        record_release(&part);
    }
}

/* Every kind of attention, with half of the sizes of pieces; the next config has the others. */
static void grow_under_every_kind(size_t c)
{
    static const size_t pieces[] = {1, 7, 64, 100};
    static struct growth growth;
    for (size_t k = 0; k < COUNT(kinds); k += one_of(5)) {
        growth_open(&growth, configs[c], kinds[k], 0);
        for (size_t i = (k + c) % 2; i < COUNT(pieces); i += 1 + one_of(1)) {
            cache_forget(&growth.cache, 0);
            if (i != 1 && has_encoder(&growth.model.config)) /* else reuse the source's cache */
                cache_forget(&growth.of_source, 0);
            grow_by(&growth, pieces[i]);
            if (has_encoder(&growth.model.config))
                continue;
            site_set_remove(&growth.watch.sites, SITE_SCORES); /* which need masked keys, too */
            cache_forget(&growth.cache, 0);
            grow_by(&growth, pieces[i]);
            growth.watch = record_all(&growth.model);
        }
        growth_release(&growth);
    }
}

TEST_LOOP(a_growing_text_has_the_bits_of_the_whole, COUNT(configs) * PRECISIONS)
{
    precision = (enum precision)(_i % PRECISIONS);
    grow_under_every_kind((size_t)_i / PRECISIONS);
}

TEST_LOOP(windows_caps_and_alibi_have_the_bits_of_the_whole, BENT_WAYS *PRECISIONS)
{
    static const char *const ways[] = {"dense", "window:20+global:12", "strided:5+random:4",
                                       "blocked:7", "linear"};
    static const size_t pieces[] = {1, 7, 64};
    static struct growth growth;
    precision = (enum precision)(_i % PRECISIONS);
    bent = _i / PRECISIONS;
    size_t kinds_here = COUNT(ways) - (bent >= BENT_WINDOWS); /* without the linear one */
    for (size_t k = 0; k < kinds_here; k += one_of(2)) {
        growth_open(&growth, configs[1], ways[k], 0);
        for (size_t i = 0; i < COUNT(pieces); i += one_of(2)) {
            cache_forget(&growth.cache, 0);
            grow_by(&growth, pieces[i]);
        }
        cache_forget(&growth.cache, 50);
        grow_by(&growth, 9);
        growth_release(&growth);
    }
}

TEST_LOOP(a_text_continues_after_tokens_were_forgotten, PRECISIONS)
{
    static struct growth growth;
    precision = (enum precision)_i;
    for (size_t k = 0; k < COUNT(kinds); k += one_of(2)) {
        growth_open(&growth, configs[1], kinds[k], 0);
        grow_by(&growth, 40);
        for (size_t back = TOKENS - 1; back > 20; back -= 37) {
            cache_forget(&growth.cache, back);
            grow_by(&growth, 40);
        }
        growth_release(&growth);
    }
}

TEST_LOOP(a_growing_text_drops_the_same_weights, PRECISIONS)
{
    static struct growth growth;
    static const char *const droppable[] = {"dense", "window:20+strided:7", "blocked:7"};
    precision = (enum precision)_i;
    for (size_t k = 0; k < COUNT(droppable); k++) {
        for (size_t i = 0; i < COUNT(configs); i += 3 * one_of(2)) {
            growth_open(&growth, configs[i], droppable[k], 0.3f);
            grow_by(&growth, 11);
            growth_release(&growth);
        }
    }
}
