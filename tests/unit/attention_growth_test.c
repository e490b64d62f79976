#include "model/attention.h"

#include <check.h>

#include "model/mechanism_text.h"
#include "pass_record.h"
#include "patience.h"
#include "random_model.h"

Suite *attention_growth_suite(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char *const configs[] = {
    "{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 2, \"n_embd\": 20, "
    "\"n_positions\": 150, \"vocab_size\": 97, \"scale_attn_by_inverse_layer_idx\": true}",
    "{\"model_type\": \"attention\", \"n_layer\": 2, \"n_head\": 6, \"n_kv_head\": 2, \"d_k\": 5, "
    "\"d_v\": 9, \"n_embd\": 24, \"vocab_size\": 30, \"causal\": true, \"out_proj\": true}",
    "{\"model_type\": \"attention\", \"n_head\": 3, \"n_embd\": 12, \"n_layer\": 2, "
    "\"vocab_size\": 30, \"causal\": true, \"projections\": false}",
};

static const char *const kinds[] = {
    "window:9", "global:3",  "strided:5", "window:20+global:3+strided:7+random:2:1",
    "linear",   "blocked:7",
};

enum { TOKENS = 130 };

/* A text, its pass as a whole, and a cache to make it again. */
struct growth {
    struct random_model model;
    uint32_t ids[TOKENS];
    struct record whole;
    struct record_watch watch;
    struct cache cache;
};

static enum precision precision; /* of this test */

static void growth_open(struct growth *growth, const char *config, const char *kind, float dropout)
{
    struct sequence text = {.ids = growth->ids, .count = TOKENS};
    random_model_open(&growth->model, config, 2);
    struct mechanism *mechanism = &growth->model.config.mechanism;
    growth->model.weights.precision = precision;
    *mechanism = (struct mechanism){.seed = 5, .dropout = dropout};
    ck_assert_int_eq(mechanism_set_attention(mechanism, kind, NULL), 0);
    random_ids(growth->ids, TOKENS, growth->model.config.vocab_size);
    growth->watch = record_all(&growth->model);
    record_pass(&growth->whole, &growth->model, &text, 1, &growth->watch);
    ck_assert_int_eq(cache_init(&growth->cache, &growth->model.config, NULL), 0);
}

static void growth_release(struct growth *growth)
{
    cache_release(&growth->cache);
    record_release(&growth->whole);
    random_model_release(&growth->model);
}

/* Each piece is held against the whole. */
static void grow_by(struct growth *growth, size_t piece)
{
    static struct record part;
    struct cache *cache = &growth->cache;
    while (cache->count < TOKENS) {
        size_t past = cache->count;
        size_t count = TOKENS - past < piece ? TOKENS - past : piece;
        struct sequence next = {.ids = growth->ids + past, .count = count, .cache = cache};
        record_pass(&part, &growth->model, &next, 1, &growth->watch);
        record_expect_rows(&growth->whole, 0, &part, 0, past);
        record_release(&part);
    }
}

START_TEST(a_text_that_grows_has_the_bits_of_the_whole)
{
    static const size_t pieces[] = {1, 7, 64, 100};
    static struct growth growth;
    precision = (enum precision)_i;
    for (size_t k = 0; k < COUNT(kinds) * COUNT(configs); k += one_of(3)) {
        growth_open(&growth, configs[k % COUNT(configs)], kinds[k / COUNT(configs)], 0);
        for (size_t i = 0; i < COUNT(pieces); i += one_of(3)) {
            cache_forget(&growth.cache, 0);
            grow_by(&growth, pieces[i]);
        }
        growth_release(&growth);
    }
}
END_TEST

START_TEST(a_text_goes_on_from_where_it_was_taken_back_to)
{
    static struct growth growth;
    precision = (enum precision)_i;
    for (size_t k = 0; k < COUNT(kinds); k++) {
        growth_open(&growth, configs[1], kinds[k], 0);
        grow_by(&growth, 40);
        for (size_t back = TOKENS - 1; back > 20; back -= 37) {
            cache_forget(&growth.cache, back);
            grow_by(&growth, 40);
        }
        growth_release(&growth);
    }
}
END_TEST

START_TEST(a_text_that_grows_loses_the_same_weights)
{
    static struct growth growth;
    static const char *const droppable[] = {"dense", "window:20+strided:7", "blocked:7"};
    precision = (enum precision)_i;
    for (size_t k = 0; k < COUNT(droppable); k++) {
        growth_open(&growth, configs[0], droppable[k], 0.3f);
        grow_by(&growth, 11);
        growth_release(&growth);
    }
}
END_TEST

Suite *attention_growth_suite(void)
{
    Suite *suite = suite_create("attention_growth");
    TCase *tests = tcase_create("attention_growth");
    tcase_add_loop_test(tests, a_text_that_grows_has_the_bits_of_the_whole, 0, PRECISIONS);
    tcase_add_loop_test(tests, a_text_goes_on_from_where_it_was_taken_back_to, 0, PRECISIONS);
    tcase_add_loop_test(tests, a_text_that_grows_loses_the_same_weights, 0, PRECISIONS);
    suite_add_tcase(suite, tests);
    return suite;
}
