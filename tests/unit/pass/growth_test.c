#include "../rigs/growth_rig.h"

#include <stdlib.h>

#include "../unit.h"
#include "../rigs/patience.h"
#include "../rigs/targets.h"

/* So wide that projections, MLP and logits of a single token use two threads. */
static const char wide[] = "{\"model_type\": \"gpt2\", \"n_layer\": 1, \"n_head\": 12, "
                           "\"n_embd\": 768, \"n_positions\": 70, \"vocab_size\": 700}";

static const char translating[] = "{\"model_type\": \"transformer\", \"n_encoder_layer\": 1, "
                                  "\"n_layer\": 2, \"n_head\": 12, \"n_embd\": 768, "
                                  "\"n_inner\": 800, \"vocab_size\": 700}";

/* Uses two threads for about a hundred tokens. */
static const char middling[] = "{\"model_type\": \"gpt2\", \"n_layer\": 2, \"n_head\": 3, "
                               "\"n_embd\": 96, \"n_positions\": 130, \"vocab_size\": 71}";

static struct growth growth;

/* Ways to compute a model; tests run once for each. */
static const struct way {
    size_t threads;
    bool packed;
    enum precision precision;
} ways[] = {
    {1, false, PRECISION_FP32}, {1, true, PRECISION_FP32},  {2, false, PRECISION_FP32},
    {2, true, PRECISION_FP32},  {1, false, PRECISION_BF16}, {2, false, PRECISION_BF16},
};

/* The whole text is computed with one thread and weights in place, before settings change. */
static void open_way(const char *config, size_t count, const struct way *way)
{
    growth_open(&growth, config, count, way->precision);
    growth_threads(&growth, way->threads);
    growth.model.weights.packing = way->packed;
    growth.model.weights.packing_words = way->packed;
}

/* Beginnings of the text, each in one pass without a cache: later tokens do not change them. */
static void check_beginnings(size_t step)
{
    static struct record shorter;
    struct record_watch watch = record_all(&growth.model);
    for (size_t length = 1; length <= growth.count; length += step) {
        struct text beginning = growth_part(&growth, 0, length, NULL);
        record_pass(&shorter, &growth.model, &beginning, 1, &watch);
        record_expect_rows(&growth.whole, 0, &shorter, 0, 0);
        record_release(&shorter);
    }
}

TEST_LOOP(threads_that_share_a_token_do_not_change_a_bit, COUNT(ways))
{
    open_way(one_of(2) == 1 ? wide : middling, 70, &ways[_i]); /* wide: minutes under valgrind */
    check_beginnings(one_of(5) * 7);
    growth_by(&growth, one_of(23));
    growth_release(&growth);
}

TEST_LOOP(threads_that_share_a_token_with_a_source_do_not_change_a_bit, COUNT(ways))
{
    open_way(one_of(2) == 1 ? translating : growth_norms_last, 20, &ways[_i]);
    growth_by(&growth, one_of(7));
    growth_release(&growth);
}

/* Sites compared in a batch of many texts; all sites would be thousands of items. */
static const struct record_watch few_sites = {
    .sites.words = {(uint64_t)1 << SITE_WEIGHTS | (uint64_t)1 << SITE_LOGITS}, .first_layer = 1};

TEST_LOOP(caches_of_all_lengths_can_be_in_one_batch, COUNT(ways))
{
    static struct record batch;
    static struct text texts[GROWTH_MAX];
    static struct cache caches[GROWTH_MAX];
    open_way(middling, 130, &ways[_i]);
    size_t count = 0;
    for (size_t past = 1 + (size_t)_i % 2; past < growth.count; past += 2 * one_of(15), count++) {
        ck_assert_int_eq(cache_init(&caches[count], &growth.model.config, NULL), 0);
        growth_fill(&growth, &caches[count], past);
        texts[count] = (struct text){.ids = growth.ids + past, .count = 1, .cache = &caches[count]};
    }
    record_pass(&batch, &growth.model, texts, count, &few_sites);
    for (size_t s = 0; s < count; s++) {
        record_expect_rows(&growth.whole, 0, &batch, s, caches[s].count - 1);
        cache_release(&caches[s]);
    }
    record_release(&batch);
    growth_release(&growth);
}

TEST_LOOP(a_text_may_grow_in_pieces_of_any_size, PRECISIONS)
{
    static const char *const configs[] = {growth_tiny, growth_gpt2,       growth_grouped,
                                          growth_bare, growth_wide_heads, growth_norms_first};
    static const size_t lengths[] = {64, 150, 200, 200, 150, 150};
    static const size_t pieces[] = {1, 2, 15, 16, 17, 63, 64, 65, 150};
    for (size_t i = 0; i < COUNT(configs); i++) {
        growth_open(&growth, configs[i], lengths[i], (enum precision)_i);
        for (size_t k = i % one_of(3); k < COUNT(pieces); k += one_of(3))
            growth_by(&growth, pieces[k]);
        growth_release(&growth);
    }
}

TEST_LOOP(settings_for_processors_do_not_change_a_bit, PRECISIONS)
{
    static const char *const targets[] = {"generic", "hsw", "skx"};
    take_best_target((enum precision)_i);
    growth_open(&growth, growth_gpt2, 150, (enum precision)_i);
    for (size_t i = 0; i < COUNT(targets) * COUNT(makers); i++)
        for (size_t threads = 1; threads <= 2; threads++) {
            ck_assert_int_eq(setenv("LIBXSMM_TARGET", targets[i / COUNT(makers)], 1), 0);
            cpu_tuning_pretend(&makers[i % COUNT(makers)]);
            growth_threads(&growth, threads);
            growth_by(&growth, i % 2 == threads % 2 ? one_of(19) : 70);
        }
    cpu_tuning_pretend(NULL);
    growth_release(&growth);
}
