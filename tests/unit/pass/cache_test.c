#include "pass/cache.h"

#include <math.h>

#include "../unit.h"
#include "../rigs/growth_rig.h"
#include "pass/forward.h"
#include "model/points.h"
#include "pass/tap.h"

/* Give a text its own cache of its source: the one that the last pass filled, or an empty one. */
static void take_source(struct growth *growth, struct text *text, struct cache *cache, bool empty)
{
    ck_assert_uint_eq(growth->of_source.count, GROWTH_SOURCE);
    *cache = growth->of_source;
    cache_init_source(&growth->of_source, &growth->model.config);
    if (empty)
        cache_forget(cache, 0);
    text->source_cache = cache;
}

TEST_LOOP(texts_of_different_lengths_grow_in_one_batch, PRECISIONS)
{
    enum { TEXTS = 5 };
    static const size_t lengths[TEXTS] = {1, 64, 0, 17, 130};
    static const size_t more[TEXTS] = {1, 3, 20, 70, 1};
    static const char *const configs[] = {growth_gpt2, growth_grouped, growth_norms_last,
                                          growth_norms_first};
    static struct growth growth;
    static struct record part;
    for (size_t c = 0; c < 4; c++) {
        struct cache caches[TEXTS] = {0};
        struct cache of_sources[TEXTS] = {0};
        struct text texts[TEXTS] = {0};
        growth_open(&growth, configs[c], 150, (enum precision)_i);
        for (size_t i = 0; i < TEXTS; i++) {
            texts[i] = growth_part(&growth, lengths[i], more[i], NULL);
            if (lengths[i] == 0)
                continue; /* without a cache */
            ck_assert_int_eq(cache_init(&caches[i], &growth.model.config, NULL), 0);
            growth_fill(&growth, &caches[i], lengths[i]);
            texts[i].cache = &caches[i];
            if (texts[i].source_count)
                take_source(&growth, &texts[i], &of_sources[i], i == 3);
        }
        struct record_watch watch = record_all(&growth.model);
        record_pass(&part, &growth.model, texts, TEXTS, &watch);
        for (size_t i = 0; i < TEXTS; i++) {
            record_expect_rows(&growth.whole, 0, &part, i, lengths[i]);
            cache_release(&caches[i]);
            cache_release(&of_sources[i]);
        }
        record_release(&part);
        growth_release(&growth);
    }
}

TEST_LOOP(logits_of_last_tokens_have_the_bits_of_all_logits, PRECISIONS)
{
    static struct growth growth;
    static struct record last;
    growth_open(&growth, growth_gpt2, 150, (enum precision)_i);
    struct record_watch watch = {.sites = SITE_SET(SITE_LOGITS), .last_logits = true};
    growth_fill(&growth, &growth.cache, 20);
    struct text texts[] = {{.ids = growth.ids, .count = 7},
                           {.ids = growth.ids, .count = 1},
                           {.ids = growth.ids + 20, .count = 80, .cache = &growth.cache}};
    record_pass(&last, &growth.model, texts, 3, &watch);
    ck_assert_uint_eq(last.count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(last.items[i].shape[0], 1);
        size_t row = (texts[i].cache ? 20 : 0) + texts[i].count - 1;
        record_expect_rows(&growth.whole, 0, &last, i, row);
    }
    record_release(&last);
    growth_release(&growth);
}

TEST_LOOP(forgotten_tokens_do_not_change_a_bit, PRECISIONS)
{
    static struct growth growth;
    growth_open(&growth, growth_grouped, 150, (enum precision)_i);
    growth_fill(&growth, &growth.cache, 100);
    static const size_t lengths[] = {99, 65, 64, 63, 1, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint32_t others[30] = {0};
        static struct record part;
        struct record_watch watch = {0};
        struct text wrong = {.ids = others, .count = 30, .cache = &growth.cache};
        cache_forget(&growth.cache, lengths[i]);
        record_pass(&part, &growth.model, &wrong, 1, &watch);
        cache_forget(&growth.cache, lengths[i]);
        growth_step(&growth, 1);
    }
    growth_release(&growth);
}

static int refuse(void *context, const struct announcement *seen, struct err *err)
{
    const int *layer = context;
    return seen->layer == *layer ? err_set(err, "no more") : 0;
}

/* Run a pass that must fail. */
static void fail_pass(struct growth *growth, const struct text *text, tap_sink sink, void *context,
                      struct err *err)
{
    struct arena arena = {0};
    struct watch watch;
    struct batch batch;
    ck_assert_int_eq(watch_init(&watch, &growth->model.config, &arena, NULL), 0);
    for (size_t layer = 0; layer < watch.layer_count; layer++)
        watch_add(&watch, SITE_CONTEXT, layer);
    struct tap tap = {.watch = &watch, .sink = sink, .context = context};
    struct run run = {&growth->model.machine, &growth->model.config, &growth->model.weights, &batch,
                      .edits = NULL};
    if (batch_init(&batch, &growth->model.config, text, 1, &arena, err) == 0)
        ck_assert_int_eq(forward(&run, &tap, &arena, err), -1);
    arena_release(&arena);
}

/* A copy replaces the contents of the target and leaves the original unchanged. */
TEST_LOOP(a_copy_of_a_cache_continues_with_the_same_bits, PRECISIONS)
{
    enum { TOKENS = 100, PAST = 70 };
    static struct growth growth;
    static struct record parts[2];
    struct cache caches[2] = {0};
    growth_open(&growth, growth_gpt2, TOKENS, (enum precision)_i);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(cache_init(&caches[i], &growth.model.config, NULL), 0);
        growth_fill(&growth, &caches[i], i ? 20 : PAST);
    }
    ck_assert_int_eq(cache_copy(&caches[1], &caches[0], NULL), 0);
    struct record_watch watch = record_all(&growth.model);
    for (int i = 1; i >= 0; i--) {
        struct text text = growth_part(&growth, PAST, TOKENS - PAST, &caches[i]);
        record_pass(&parts[i], &growth.model, &text, 1, &watch);
        record_expect_rows(&growth.whole, 0, &parts[i], 0, PAST);
        record_release(&parts[i]);
        cache_release(&caches[i]);
    }
    growth_release(&growth);
}

TEST(forgotten_values_are_set_to_0)
{
    static struct growth growth;
    growth_open(&growth, growth_grouped, 150, PRECISION_FP32);
    growth_fill(&growth, &growth.cache, 150);
    float *value = (float *)cache_values(&growth.cache, 1, 0, 30);
    float *on_next_page = (float *)cache_values(&growth.cache, 1, 0, 100);
    *value = *on_next_page = NAN;
    cache_forget(&growth.cache, 30);
    ck_assert(*value == 0 && *on_next_page == 0);
    growth_step(&growth, 1);
    growth_release(&growth);
}

/* The first pass of a text and its source fails and leaves both caches empty. */
static void fail_first(struct growth *growth, int layer)
{
    struct err err = {0};
    struct text first = growth_part(growth, 0, 30, &growth->cache);
    fail_pass(growth, &first, refuse, &layer, &err);
    ck_assert_str_eq(err.text, "no more");
    ck_assert_uint_eq(growth->cache.count, 0);
    ck_assert_uint_eq(growth->of_source.count, 0);
}

TEST(a_failed_pass_does_not_change_the_cache_of_a_source)
{
    static struct growth growth;
    growth_open(&growth, growth_norms_first, 150, PRECISION_FP32);
    for (int layer = 0; layer < 2; layer++) {
        struct err err = {0};
        fail_first(&growth, layer);
        growth_step(&growth, 30);
        struct text next = growth_part(&growth, 30, 20, &growth.cache);
        fail_pass(&growth, &next, refuse, &layer, &err);
        ck_assert_uint_eq(growth.of_source.count, GROWTH_SOURCE);
        growth_step(&growth, 1);
        cache_forget(&growth.cache, 0);
        cache_forget(&growth.of_source, 0);
    }
    growth_release(&growth);
}

TEST(a_text_longer_than_the_context_is_refused)
{
    static struct growth growth;
    struct err err = {0};
    growth_open(&growth, growth_tiny, 64, PRECISION_FP32);
    growth_fill(&growth, &growth.cache, 60);
    struct text next = {.ids = growth.ids, .count = 5, .cache = &growth.cache};
    fail_pass(&growth, &next, refuse, NULL, &err);
    ck_assert_str_eq(err.text, "the text is too long: expected at most 64 tokens (n_positions), "
                               "found 65");
    err_clear(&err);
    next.count = 0;
    fail_pass(&growth, &next, refuse, NULL, &err);
    ck_assert_str_eq(err.text, "the text is empty: expected at least one token");
    growth_step(&growth, 4);
    growth_release(&growth);
}

/* Keys take half the bytes; values, in whole panels of columns, only if heads are wide. */
TEST(a_cache_of_wide_heads_in_bf16_takes_half_the_bytes)
{
    struct config config = {.n_layer = 2, .n_kv_head = 3, .d_k = 64, .d_v = 64, .causal = true};
    struct config odd = {.n_layer = 1, .n_kv_head = 2, .d_k = 5, .d_v = 65, .causal = true};
    struct cache cache;
    size_t page = 2 * 3 * (64 * 64 + 64 * 64) * sizeof(uint16_t);
    ck_assert(!config_describe(&config, NULL) && !config_describe(&odd, NULL));
    ck_assert_uint_eq(cache_bytes(&config, PRECISION_BF16, 64), page);
    ck_assert_uint_eq(cache_bytes(&config, PRECISION_BF16, 65), 2 * page);
    ck_assert_uint_eq(cache_bytes(&odd, PRECISION_BF16, 1),
                      2 * (3 * 64 + 2 * 32 * 64) * sizeof(uint32_t));
    ck_assert_int_eq(cache_init(&cache, &config, NULL), 0);
    ck_assert_int_eq(cache_reserve(&cache, PRECISION_BF16, 65, NULL), 0);
    ck_assert_uint_ge(cache.arena.taken_bytes, 2 * page);
    ck_assert_uint_lt(cache.arena.taken_bytes, 2 * page + 1000);
    cache_release(&cache);
    config_release(&config);
    config_release(&odd);
}

TEST(an_empty_cache_accepts_any_precision)
{
    static struct growth growth;
    growth_open(&growth, growth_gpt2, 150, PRECISION_BF16);
    for (int i = 0; i < 4; i++) {
        growth.model.weights.precision = (enum precision)(i % PRECISIONS);
        growth_fill(&growth, &growth.cache, 70);
        if (kernels_pair_way(growth.model.machine.kernels) != PAIRS_NONE)
            ck_assert_int_eq(growth.cache.precision, growth.model.weights.precision);
        if (growth.cache.precision == PRECISION_BF16)
            growth_step(&growth, 1);
        cache_forget(&growth.cache, 0);
    }
    growth_release(&growth);
}

TEST(cache_bytes_is_the_memory_of_a_cache)
{
    static struct growth growth;
    growth_open(&growth, growth_tiny, 64, PRECISION_FP32);
    size_t page = 2 * (4 * 8 * 64 + 64 * matrix_stride(4 * 8)) * sizeof(float);
    ck_assert_uint_eq(cache_bytes(&growth.model.config, PRECISION_FP32, 0), 0);
    ck_assert_uint_eq(cache_bytes(&growth.model.config, PRECISION_FP32, 1), page);
    ck_assert_uint_eq(cache_bytes(&growth.model.config, PRECISION_FP32, 65), 2 * page);
    ck_assert_int_eq(cache_reserve(&growth.cache, PRECISION_FP32, 65, NULL), 0);
    ck_assert_uint_ge(growth.cache.arena.taken_bytes, 2 * page);
    ck_assert_uint_lt(growth.cache.arena.taken_bytes, 2 * page + 1000);
    growth_release(&growth);
}

/* Sizes that config_parse() refuses, but a caller may pass. */
TEST(a_cache_that_is_too_large_is_refused)
{
    static const enum attention_kind kinds[] = {ATTENTION_DENSE, ATTENTION_LINEAR};
    for (size_t i = 0; i < 2; i++) {
        struct config config = {.n_layer = SIZE_MAX / 2,
                                .n_head = 4,
                                .n_kv_head = 4,
                                .d_k = 8,
                                .d_v = 8,
                                .causal = true,
                                .mechanism.kind = kinds[i]};
        struct cache cache;
        struct err err = {0};
        ck_assert_int_eq(cache_init(&cache, &config, &err), 0);
        ck_assert_int_eq(cache_reserve(&cache, PRECISION_FP32, 1, &err), -1);
        ck_assert(err.out_of_memory);
        cache_release(&cache);
    }
}

/* --- watched sites while a text grows -------------------------------------------------------- */

/* A pass that watches one site, then one that watches all and continues. */
static void watch_one(struct growth *growth, enum site site, size_t layer)
{
    static struct record part;
    struct record_watch watch = {.sites = SITE_SET(site), .first_layer = layer};
    struct text text = growth_part(growth, 0, 40, &growth->cache);
    cache_forget(&growth->cache, 0);
    if (text.source_cache)
        cache_forget(text.source_cache, 0);
    record_pass(&part, &growth->model, &text, 1, &watch);
    record_expect_rows(&growth->whole, 0, &part, 0, 0);
    record_release(&part);
    growth_step(growth, 1);
}

TEST_LOOP(watched_sites_do_not_change_the_cache, PRECISIONS)
{
    static const char *const configs[] = {growth_gpt2, growth_norms_last, growth_norms_first};
    static struct growth growth;
    for (size_t c = 0; c < COUNT(configs); c++) {
        growth_open(&growth, configs[c], 150, (enum precision)_i);
        const struct site_set all = record_all(&growth.model).sites;
        for (enum site site = site_first(all); site != SITE_END; site = site_after(all, site))
            for (size_t layer = 0; layer < 3; layer++)
                if (layer < site_layers(&growth.model.config, site))
                    watch_one(&growth, site, layer);
        growth_release(&growth);
    }
}

TEST_LOOP(a_source_is_encoded_once, PRECISIONS)
{
    static struct growth growth;
    static struct record part;
    growth_open(&growth, growth_norms_first, 150, (enum precision)_i);
    const struct site_set all = record_all(&growth.model).sites;
    struct record_watch of_source = {0};
    for (enum site site = site_first(all); site != SITE_END; site = site_after(all, site))
        if (site_is_of_source(site))
            site_set_add(&of_source.sites, site);
    for (int round = 0; round < 2; round++) {
        struct text text = growth_part(&growth, 0, 5, &growth.cache);
        record_pass(&part, &growth.model, &text, 1, &of_source);
        record_expect_rows(&growth.whole, 0, &part, 0, 0);
        record_release(&part);
        text = growth_part(&growth, 5, 9, &growth.cache);
        record_pass(&part, &growth.model, &text, 1, &of_source);
        ck_assert_uint_eq(part.count, 0);
        record_release(&part);
        growth_step(&growth, 1);
        cache_forget(&growth.cache, 0);
        growth_step(&growth, 20); /* another text, but the same source */
        cache_forget(&growth.cache, 0);
        cache_forget(&growth.of_source, 0);
    }
    growth_release(&growth);
}

/* A pass that watches one head fills the cache of all heads. */
TEST_LOOP(every_head_is_cached, PRECISIONS)
{
    static const enum site sites[] = {SITE_Q, SITE_K, SITE_WEIGHTS, SITE_CONTEXT};
    static const char *const configs[] = {growth_gpt2, growth_grouped, growth_norms_last};
    static struct growth growth;
    static struct record part;
    for (size_t i = 0; i < 3 * COUNT(sites); i++) {
        growth_open(&growth, configs[i % 3], 60, (enum precision)_i);
        struct record_watch watch = {.sites = SITE_SET(sites[i / 3]),
                                     .first_layer = growth.model.config.n_layer - 1,
                                     .head_count = 1};
        struct text text = growth_part(&growth, 0, 40, &growth.cache);
        record_pass(&part, &growth.model, &text, 1, &watch);
        record_release(&part);
        growth_step(&growth, 20);
        growth_release(&growth);
    }
}
