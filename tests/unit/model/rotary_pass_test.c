#include "model/pass.h"

#include <math.h>

#include "../unit.h"
#include "../rigs/pass_record.h"
#include "../rigs/patience.h"
#include "../rigs/random_model.h"
#include "../rigs/reference_rotary.h"
#include "model/cache.h"

enum { VOCABULARY = 29, HEADS = 4, WIDTH = 6 };

#define SIZES                                                                             \
    "\"vocab_size\": 29, \"hidden_size\": 24, \"num_hidden_layers\": 1, "                 \
    "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": 20, " \
    "\"layer_norm_eps\": 1e-5, \"layer_norm_epsilon\": 1e-5, "
#define MODEL(type, keys) "{\"model_type\": \"" type "\", " SIZES keys "}"
#define LONG(type, keys) MODEL(type, "\"max_position_embeddings\": 32768, " keys)
#define SCALED(keys) LONG("llama", "\"rope_scaling\": {" keys "}")
#define LLAMA3(trained) \
    "\"rope_type\": \"llama3\", \"factor\": 8, \"original_max_position_embeddings\": " trained

static struct random_model model;
static struct record whole, part;

/* --- shifts ---------------------------------------------------------------------------------- */

enum { FEW = 9, BEFORE = 400 };

/* Their frequencies do not depend on the text's length. (longrope's neither, once it is long.) */
static const char *const steady[] = {
    LONG("llama", "\"rope_theta\": 10000"),
    LONG("gptj", "\"rotary_dim\": 4"),
    LONG("phi", "\"partial_rotary_factor\": 0.7"),
    LONG("gemma3_text", "\"head_dim\": 6, \"layer_types\": [\"sliding_attention\"]"),
    SCALED("\"type\": \"linear\", \"factor\": 3"),
    SCALED(LLAMA3("64")),
    SCALED("\"rope_type\": \"yarn\", \"factor\": 8, \"original_max_position_embeddings\": 4096"),
    LONG("phi3", "\"original_max_position_embeddings\": 8, \"rope_scaling\": {\"type\": "
                 "\"longrope\", \"short_factor\": [1, 1, 1], \"long_factor\": [1.5, 3, 9]}"),
};

static void record_scores(struct record *record, const uint32_t *ids, size_t count)
{
    struct text text = {.ids = ids, .count = count};
    record_pass(record, &model, &text, 1, &(struct record_watch){.sites = site_bit(SITE_SCORES)});
    ck_assert_uint_eq(record->count, 1);
}

/* What the first layer reads has no position but by turning. */
TEST_LOOP(tokens_score_each_other_the_same_wherever_they_stand, COUNT(steady))
{
    uint32_t ids[BEFORE + FEW];
    random_model_open(&model, steady[_i], 1);
    random_ids(ids, COUNT(ids), VOCABULARY);
    record_scores(&part, ids + BEFORE, FEW);
    record_scores(&whole, ids, COUNT(ids));
    for (size_t i = 0; i < HEADS * FEW * FEW; i++) {
        size_t head = i / (FEW * FEW);
        size_t row = BEFORE + i / FEW % FEW;
        size_t at = (head * COUNT(ids) + row) * COUNT(ids) + BEFORE + i % FEW;
        double here = (double)part.items[0].data[i];
        ck_assert_double_eq_tol((double)whole.items[0].data[at], here, 1e-5);
    }
    record_release(&whole);
    record_release(&part);
    random_model_release(&model);
}

/* --- long texts ------------------------------------------------------------------------------ */

enum { MANY = 32768 };

static const char *const kinds[] = {
    LONG("llama", "\"rope_theta\": 10000"),
    LONG("llama", "\"rope_theta\": 1000000"),
    SCALED("\"type\": \"linear\", \"factor\": 4"),
    SCALED(LLAMA3("8192")),
    SCALED("\"rope_type\": \"yarn\", \"factor\": 8, \"original_max_position_embeddings\": 4096"),
    LONG("phi3", "\"original_max_position_embeddings\": 4096, \"rope_scaling\": {\"type\": "
                 "\"longrope\", \"short_factor\": [1, 1, 1], \"long_factor\": [1.5, 3, 9]}"),
    MODEL("llama", "\"max_position_embeddings\": 4096, \"rope_scaling\": {\"type\": \"dynamic\", "
                   "\"factor\": 8}"),
};

static const float *find_site(const struct record *record, enum site site)
{
    for (size_t i = 0; i < record->count; i++)
        if (record->items[i].site == site)
            return record->items[i].data;
    ck_abort_msg("'%s' is missing", site_rows[site].name);
    return NULL;
}

/* The last query's scores of a head as they should be: what has not turned, turned here. */
static double *expect_scores(size_t head)
{
    static double scores[MANY];
    const struct rotary *rotary = &model.config.rotary;
    const float *q = find_site(&whole, SITE_Q_PRE) + (head * MANY + MANY - 1) * WIDTH;
    const float *k = find_site(&whole, SITE_K_PRE) + head / 2 * MANY * WIDTH;
    long double wide = reference_amplitude(rotary) * reference_amplitude(rotary);
    for (size_t i = 0; i < MANY; i++, k += WIDTH) {
        scores[i] = 0;
        for (size_t a = 0, b = WIDTH / 2; a < WIDTH / 2; a++, b++) { /* by how far they are apart */
            long double angle = (long double)(MANY - 1 - i) * reference_frequency(rotary, a, MANY);
            double along = (double)q[a] * (double)k[a] + (double)q[b] * (double)k[b];
            double across = (double)q[a] * (double)k[b] - (double)q[b] * (double)k[a];
            scores[i] += (double)(wide * (along * cosl(angle) + across * sinl(angle)));
        }
    }
    return scores;
}

static double product(const float *q, const float *k)
{
    double sum = 0;
    for (size_t i = 0; i < WIDTH; i++)
        sum += (double)q[i] * (double)k[i];
    return sum;
}

/* The last token after all others, by a cache, as `generate` has it. */
static void record_last(const uint32_t *ids)
{
    struct cache cache;
    ck_assert_int_eq(cache_init(&cache, &model.config, NULL), 0);
    struct text before = {.ids = ids, .count = MANY - 1, .cache = &cache};
    struct text last = {.ids = ids + MANY - 1, .count = 1, .cache = &cache};
    record_pass(&part, &model, &before, 1, &(struct record_watch){0});
    record_release(&part);
    record_pass(&part, &model, &last, 1, &(struct record_watch){.sites = site_bit(SITE_SCORES)});
    cache_release(&cache);
}

TEST_LOOP(scores_are_right_at_position_32767, COUNT(kinds))
{
    static uint32_t ids[MANY];
    struct text text = {.ids = ids, .count = MANY};
    const struct record_watch watch = {.sites = site_bit(SITE_Q_PRE) | site_bit(SITE_K_PRE) |
                                                site_bit(SITE_Q) | site_bit(SITE_K)};
    if ((size_t)_i % one_of(3))
        return;
    random_model_open(&model, kinds[_i], 1);
    random_ids(ids, MANY, VOCABULARY);
    record_pass(&whole, &model, &text, 1, &watch);
    bool grows = model.config.rotary.scaling != ROTARY_DYNAMIC;
    if (grows)
        record_last(ids);
    for (size_t head = 0; head < HEADS; head++) {
        const double *expected = expect_scores(head);
        const float *q = find_site(&whole, SITE_Q) + (head * MANY + MANY - 1) * WIDTH;
        const float *k = find_site(&whole, SITE_K) + head / 2 * MANY * WIDTH;
        for (size_t i = 0; i < MANY; i++) {
            double whole_score = product(q, k + i * WIDTH);
            double grown = grows ? (double)part.items[0].data[head * MANY + i] : expected[i];
            if (!(fabs(whole_score - expected[i]) <= 2e-6 && fabs(grown - expected[i]) <= 2e-6))
                ck_abort_msg("head %zu, key %zu: expected %.9g, found %.9g, by a cache %.9g", head,
                             i, expected[i], whole_score, grown);
        }
    }
    if (grows)
        record_release(&part);
    record_release(&whole);
    random_model_release(&model);
}
