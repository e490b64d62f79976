#include "pass/pass.h"

#include <math.h>
#include <stdlib.h>

#include "../unit.h"
#include "../rigs/pass_record.h"
#include "../rigs/patience.h"
#include "../rigs/random_model.h"
#include "../rigs/targets.h"
#include "pass/cache.h"
#include "model/mechanism.h"

enum { TOKENS = 600, FAR = 3000 }; /* more than two chains of keys, and many chains */

static const char grouped[] =
    "{\"model_type\": \"attention\", \"n_head\": 4, \"n_kv_head\": 2, \"d_k\": 5, \"d_v\": 9, "
    "\"n_embd\": 12, \"vocab_size\": 30, \"causal\": true, \"out_proj\": true}";

/* A model with uniform attention. */
static const char even[] =
    "{\"model_type\": \"attention\", \"n_embd\": 64, \"vocab_size\": 3000, \"causal\": true, "
    "\"scale\": 0}";

static const char *const kinds[] = {
    "dense",      "window:9",    "window:300",
    "global:270", "strided:2",   "window:270+global:20+strided:3",
    "blocked:64", "blocked:300",
};

static struct random_model model;
static uint32_t ids[FAR];

static void open_kind(const char *config, const char *kind, enum precision precision)
{
    random_model_open(&model, config, 1);
    model.weights.precision = precision;
    model.config.mechanism = (struct mechanism){.seed = 5};
    ck_assert_int_eq(mechanism_set_attention(&model.config.mechanism, kind, NULL), 0);
    ck_assert(!config_describe(&model.config, NULL));
    random_ids(ids, COUNT(ids), model.config.vocab_size);
}

static void record_whole(struct record *whole, const struct record_watch *watch)
{
    struct text text = {.ids = ids, .count = TOKENS};
    record_pass(whole, &model, &text, 1, watch);
}

/* Compute the next tokens, which must have the bits of the whole. */
static void grow(const struct record *whole, struct cache *cache, size_t count,
                 const struct record_watch *watch)
{
    static struct record part;
    size_t past = cache->count;
    struct text next = {.ids = ids + past, .count = count, .cache = cache};
    record_pass(&part, &model, &next, 1, watch);
    record_expect_rows(whole, 0, &part, 0, past);
    record_release(&part);
}

/* A part that ends with a chain of keys, one that does not, single tokens, the rest. */
TEST_LOOP(a_growing_long_text_has_the_bits_of_the_whole, PRECISIONS)
{
    static struct record whole;
    const struct record_watch watch = {.sites = SITE_SET(SITE_CONTEXT)};
    for (size_t k = 0; k < COUNT(kinds); k += one_of(3)) {
        struct cache cache;
        open_kind(grouped, kinds[k], (enum precision)_i);
        ck_assert_int_eq(cache_init(&cache, &model.config, NULL), 0);
        record_whole(&whole, &watch);
        grow(&whole, &cache, 256, &watch);
        grow(&whole, &cache, 250, &watch);
        for (size_t i = 0; i < 12; i++)
            grow(&whole, &cache, 1, &watch);
        grow(&whole, &cache, TOKENS - cache.count, &watch);
        cache_release(&cache);
        record_release(&whole);
        random_model_release(&model);
    }
}

TEST_LOOP(every_instruction_set_gives_the_same_bits_for_a_long_text, PRECISIONS)
{
    static const char *const targets[] = {"hsw", "snb", "generic"};
    static struct record whole, other;
    const struct record_watch watch = {.sites = SITE_SET(SITE_CONTEXT)};
    for (size_t k = 0; k < COUNT(kinds) * COUNT(targets); k += one_of(5)) {
        take_best_target((enum precision)_i);
        open_kind(grouped, kinds[k / COUNT(targets)], (enum precision)_i);
        kernels_write_all(model.machine.kernels);
        record_whole(&whole, &watch);
        random_model_release(&model);
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", targets[k % COUNT(targets)], 1), 0);
        open_kind(grouped, kinds[k / COUNT(targets)], (enum precision)_i);
        record_whole(&other, &watch);
        record_expect_rows(&whole, 0, &other, 0, 0);
        record_release(&whole);
        record_release(&other);
        random_model_release(&model);
    }
}

/* The largest error of the last token's context, compared with double, relative to its largest
 * number. */
static double error_of(const struct record *values, const struct record *last)
{
    const float *v = values->items[0].data;
    const float *weights = last->items[0].data;
    const float *context = last->items[1].data;
    size_t width = last->items[1].shape[2];
    double worst = 0;
    double largest = 0;
    for (size_t column = 0; column < width; column++) {
        double sum = 0;
        for (size_t key = 0; key < FAR; key++)
            sum += (double)weights[key] * (double)v[key * width + column];
        worst = fmax(worst, fabs(sum - (double)context[column]));
        largest = fmax(largest, fabs(sum));
    }
    return worst / largest;
}

TEST(a_sum_over_thousands_of_keys_is_accurate)
{
    static const char *const some[] = {"dense", "window:3000", "strided:1", "blocked:64"};
    static struct record values, last;
    const struct record_watch v = {.sites = SITE_SET(SITE_V)};
    const struct record_watch rest = {.sites = SITE_SET(SITE_WEIGHTS, SITE_CONTEXT)};
    for (size_t k = 0; k < COUNT(some); k += one_of(4)) {
        struct cache cache;
        open_kind(even, some[k], PRECISION_FP32);
        ck_assert_int_eq(cache_init(&cache, &model.config, NULL), 0);
        struct text text = {.ids = ids, .count = FAR};
        struct text but_one = {.ids = ids, .count = FAR - 1, .cache = &cache};
        struct text one = {.ids = ids + FAR - 1, .count = 1, .cache = &cache};
        record_pass(&values, &model, &text, 1, &v);
        record_pass(&last, &model, &but_one, 1, &(struct record_watch){0});
        record_release(&last);
        record_pass(&last, &model, &one, 1, &rest);
        double error = error_of(&values, &last);
        ck_assert_msg(error < 5e-7, "%s: off by %.1e of the largest", some[k], error);
        cache_release(&cache);
        record_release(&values);
        record_release(&last);
        random_model_release(&model);
    }
}
