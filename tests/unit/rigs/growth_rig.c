#include "growth_rig.h"

#include "asserts.h"
#include "model/layer.h"

const char growth_tiny[] = "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_head\": 4, "
                           "\"n_embd\": 32, \"n_positions\": 64, \"vocab_size\": 512}";
const char growth_gpt2[] = "{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 2, "
                           "\"n_embd\": 20, \"n_positions\": 150, \"vocab_size\": 97, "
                           "\"scale_attn_by_inverse_layer_idx\": true}";
const char growth_grouped[] = "{\"model_type\": \"attention\", \"n_layer\": 2, \"n_head\": 6, "
                              "\"n_kv_head\": 2, \"d_k\": 5, \"d_v\": 9, \"n_embd\": 24, "
                              "\"vocab_size\": 30, \"causal\": true, \"out_proj\": true}";
const char growth_bare[] = "{\"model_type\": \"attention\", \"n_head\": 3, \"n_embd\": 12, "
                           "\"n_layer\": 2, \"vocab_size\": 30, \"causal\": true, "
                           "\"projections\": false}";
const char growth_wide_heads[] = "{\"model_type\": \"attention\", \"n_head\": 2, \"d_k\": 65, "
                                 "\"d_v\": 130, \"n_embd\": 24, \"vocab_size\": 30, "
                                 "\"causal\": true, \"out_proj\": true}";
const char growth_norms_last[] = "{\"model_type\": \"transformer\", \"n_encoder_layer\": 1, "
                                 "\"n_layer\": 3, \"n_head\": 3, \"n_embd\": 18, \"n_inner\": 20, "
                                 "\"vocab_size\": 40, \"final_norm\": false}";
const char growth_norms_first[] = "{\"model_type\": \"transformer\", \"n_encoder_layer\": 3, "
                                  "\"n_layer\": 2, \"n_head\": 2, \"n_embd\": 20, "
                                  "\"vocab_size\": 40, \"norm_first\": true, "
                                  "\"positions\": \"learned\", \"n_positions\": 150}";

struct text growth_part(struct growth *growth, size_t first, size_t count, struct cache *cache)
{
    struct text part = {.ids = growth->ids + first, .count = count, .cache = cache};
    if (!has_encoder(&growth->model.config))
        return part;
    part.source_ids = growth->source_ids;
    part.source_count = GROWTH_SOURCE;
    part.source_cache = cache ? &growth->of_source : NULL;
    return part;
}

void growth_open(struct growth *growth, const char *config, size_t count, enum precision precision)
{
    ck_assert_uint_le(count, GROWTH_MAX);
    random_model_open(&growth->model, config, 1);
    growth->model.weights.precision = precision;
    random_ids(growth->ids, count, growth->model.config.vocab_size);
    growth->count = count;
    for (size_t i = 0; i < GROWTH_SOURCE; i++)
        growth->source_ids[i] = growth->ids[count - 1 - i % count];
    struct record_watch watch = record_all(&growth->model);
    struct text text = growth_part(growth, 0, count, NULL);
    record_pass(&growth->whole, &growth->model, &text, 1, &watch);
    ck_assert_int_eq(cache_init(&growth->cache, &growth->model.config, NULL), 0);
    growth->of_source = (struct cache){0};
    if (has_encoder(&growth->model.config))
        cache_init_source(&growth->of_source, &growth->model.config);
}

void growth_release(struct growth *growth)
{
    cache_release(&growth->cache);
    cache_release(&growth->of_source);
    record_release(&growth->whole);
    random_model_release(&growth->model);
}

void growth_threads(struct growth *growth, size_t threads)
{
    machine_release(&growth->model.machine);
    ck_assert_int_eq(machine_open(&growth->model.machine, threads, NULL), 0);
    kernels_write_all(growth->model.machine.kernels);
}

void growth_step(struct growth *growth, size_t count)
{
    static struct record part;
    size_t past = growth->cache.count;
    size_t rest = growth->count - past;
    struct record_watch watch = record_all(&growth->model);
    struct text next = growth_part(growth, past, count < rest ? count : rest, &growth->cache);
    record_pass(&part, &growth->model, &next, 1, &watch);
    ck_assert_uint_eq(growth->cache.count, past + next.count);
    record_expect_rows(&growth->whole, 0, &part, 0, past);
    record_release(&part);
}

void growth_by(struct growth *growth, size_t count)
{
    cache_forget(&growth->cache, 0);
    if (has_encoder(&growth->model.config))
        cache_forget(&growth->of_source, 0);
    while (growth->cache.count < growth->count)
        growth_step(growth, count);
}

void growth_fill(struct growth *growth, struct cache *cache, size_t count)
{
    static struct record nothing;
    struct record_watch watch = {0};
    struct text text = growth_part(growth, 0, count, cache);
    record_pass(&nothing, &growth->model, &text, 1, &watch);
    ck_assert_uint_eq(nothing.count, 0);
    ck_assert_uint_eq(cache->count, count);
}
