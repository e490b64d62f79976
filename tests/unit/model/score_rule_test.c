#include "model/layer.h"
#include "model/score_rule.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/patience.h"
#include "model/config.h"
#include "../unit.h"

enum { KEYS = 40, ROOT = 7, DRAWN = 8 };

/* True if key j is visible to query i, by the definition in the header. */
static bool sees(const struct pattern *p, size_t i, size_t j, const uint32_t *drawn, size_t count)
{
    size_t distance = i > j ? i - j : j - i;
    if (p->window && distance < p->window)
        return true;
    if (p->stride && distance % p->stride == 0)
        return true;
    if (p->root && (distance < ROOT || distance % ROOT == 0))
        return true;
    if (p->log && (distance & (distance - 1)) == 0)
        return true;
    if (j < p->global || i < p->global)
        return true;
    for (size_t k = 0; k < count; k++)
        if (drawn[k] == j)
            return true;
    return false;
}

static const struct pattern patterns[] = {
    {.window = 1},
    {.window = 4},
    {.window = 100},
    {.stride = 1},
    {.stride = 3},
    {.stride = 39},
    {.global = 1},
    {.global = 5},
    {.global = 90},
    {.random = 1},
    {.random = 7, .seed = 3},
    {.window = 4, .global = 1},
    {.window = 4, .global = 6},
    {.window = 3, .stride = 5},
    {.window = 2, .stride = 7, .global = 3, .random = 5, .seed = 9},
    {.stride = 4, .random = 6},
    {.root = 1},
    {.log = 1},
    {.root = 1, .log = 1, .global = 2},
    {.window = 3, .stride = 9, .root = 1, .random = 2},
    {.window = 6, .log = 1},
};

/* The rule of a pattern under a mask and a window (0: none). */
static struct score_rule rule_of(const struct pattern *pattern, bool causal, size_t window)
{
    return (struct score_rule){.back = window ? window - 1 : SIZE_MAX,
                               .ahead = causal ? 0 : SIZE_MAX,
                               .kind = ATTENTION_SPARSE,
                               .pattern = pattern};
}

/* The random keys of a query, the only ones of a pattern without other parts. */
static size_t draw(const struct pattern *pattern, size_t query, size_t keys, bool causal,
                   uint32_t *drawn)
{
    uint32_t memory[DRAWN];
    struct pattern alone = {.random = pattern->random, .seed = pattern->seed};
    struct score_rule rule = rule_of(&alone, causal, 0);
    return score_keys(&rule, query, keys, drawn, memory);
}

static void check(const struct pattern *pattern, size_t query, bool causal, size_t window)
{
    uint32_t memory[DRAWN], drawn[KEYS], found[KEYS], expected[KEYS];
    struct score_rule rule = rule_of(pattern, causal, window);
    size_t end = causal ? query + 1 : KEYS;
    size_t first = window && window < end ? end - window : 0;
    size_t count = 0, drawn_count = draw(pattern, query, KEYS, causal, drawn);
    for (size_t key = first; key < end; key++)
        if (sees(pattern, query, key, drawn, drawn_count))
            expected[count++] = (uint32_t)key;
    ck_assert_uint_le(count, score_most(&rule, KEYS));
    ck_assert_uint_eq(score_keys(&rule, query, KEYS, found, memory), count);
    ck_assert_mem_eq(found, expected, count * sizeof *found);
}

TEST(visible_keys_agree_with_the_definition)
{
    for (size_t i = 0; i < COUNT(patterns); i++)
        for (size_t query = 0; query < KEYS; query += one_of(2)) {
            check(&patterns[i], query, false, 0);
            for (size_t window = 0; window < KEYS; window++)
                check(&patterns[i], query, true, window);
        }
}

TEST(random_keys_are_different_and_visible)
{
    struct pattern pattern = {.random = 7, .seed = 1};
    uint32_t drawn[DRAWN];
    for (size_t query = 0; query < KEYS; query++) {
        for (size_t visible = query + 1; visible <= KEYS; visible++) {
            size_t count = draw(&pattern, query, visible, false, drawn);
            bool own = false;
            ck_assert_uint_eq(count, visible < 8 ? visible : 8);
            for (size_t i = 0; i < count; i++) {
                ck_assert_uint_lt(drawn[i], visible);
                ck_assert(i == 0 || drawn[i] > drawn[i - 1]);
                own |= drawn[i] == query;
            }
            ck_assert(own);
        }
    }
}

TEST(random_keys_are_uniform)
{
    enum { ROUNDS = 20000 };
    size_t often[KEYS] = {0};
    for (size_t seed = 0; seed < ROUNDS; seed++) {
        struct pattern pattern = {.random = 4, .seed = seed};
        uint32_t drawn[DRAWN];
        size_t count = draw(&pattern, 17, KEYS, false, drawn);
        for (size_t i = 0; i < count; i++)
            often[drawn[i]]++;
    }
    for (size_t key = 0; key < KEYS; key++) {
        if (key == 17)
            ck_assert_uint_eq(often[key], ROUNDS);
        else /* 4 of 39; five standard deviations of 43 */
            ck_assert_uint_le(llabs((long long)often[key] - ROUNDS * 4 / 39), 215);
    }
}

TEST(a_seed_determines_the_random_keys)
{
    struct pattern pattern = {.random = 3, .seed = 5};
    uint32_t drawn[DRAWN], again[DRAWN];
    ck_assert_uint_eq(draw(&pattern, 20, 30, false, drawn), 4);
    ck_assert_mem_eq(drawn, ((uint32_t[]){3, 20, 21, 26}), 4 * sizeof *drawn);
    pattern.seed = 6;
    draw(&pattern, 20, 30, false, again);
    ck_assert_int_ne(memcmp(drawn, again, 4 * sizeof *drawn), 0);
}

/* The first visible key and the end of a text of 10 keys. */
TEST(a_window_hides_keys_before_and_after_the_query)
{
    static const struct {
        size_t back, ahead, query, first, end;
    } rows[] = {
        {SIZE_MAX, SIZE_MAX, 4, 0, 10},
        {SIZE_MAX, 0, 4, 0, 5},
        {0, 0, 4, 4, 5},
        {3, 0, 2, 0, 3},
        {3, 0, 3, 0, 4},
        {3, 0, 4, 1, 5},
        {2, 2, 4, 2, 7},
        {2, 2, 9, 7, 10},
        {SIZE_MAX, SIZE_MAX, 12, 0, 10},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct score_rule rule = {.back = rows[i].back, .ahead = rows[i].ahead};
        struct key_range seen = score_visible(&rule, rows[i].query, 10);
        ck_assert_uint_eq(seen.first, rows[i].first);
        ck_assert_uint_eq(seen.end, rows[i].end);
    }
}

TEST(only_the_decoder_of_a_model_with_an_encoder_is_masked)
{
    static const struct {
        enum site_branch branch;
        size_t back, ahead;
        enum attention_kind kind;
        bool mask_after;
    } rows[] = {
        {BRANCH_TEXT, 3, 0, ATTENTION_SPARSE, true},
        {BRANCH_SOURCE, SIZE_MAX, SIZE_MAX, ATTENTION_SPARSE, false},
        {BRANCH_CROSS, SIZE_MAX, SIZE_MAX, ATTENTION_DENSE, false},
    };
    struct config config = {.causal = true,
                            .cross = true,
                            .n_layer = 2,
                            .n_encoder_layer = 2,
                            .n_head = 1,
                            .n_kv_head = 1,
                            .window = 4,
                            .layer_flags = {0, LAYER_WINDOW}};
    config.mechanism =
        (struct mechanism){.kind = ATTENTION_SPARSE, .pattern = {.window = 2}, .renormalise = true};
    ck_assert(!config_describe(&config, NULL));
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct score_rule rule = attention_of(&config, rows[i].branch, 1)->score;
        ck_assert_uint_eq(rule.back, rows[i].back);
        ck_assert_uint_eq(rule.ahead, rows[i].ahead);
        ck_assert_int_eq(rule.kind, rows[i].kind);
        ck_assert_int_eq(rule.pattern != NULL, rule.kind == ATTENTION_SPARSE);
        ck_assert_int_eq(rule.mask_after, rows[i].mask_after);
    }
    ck_assert_uint_eq(attention_of(&config, BRANCH_TEXT, 0)->score.back, SIZE_MAX);
    config_release(&config);
}

/* The temperature is a part of the scale, unless something is between them. */
TEST(a_temperature_divides_after_cap_and_bias)
{
    static const struct {
        float cap;
        enum score_bias own;
        unsigned without;
        float scale, temperature;
        enum score_bias bias;
    } rows[] = {
        {0, NO_BIAS, 0, 0.125f, 0, NO_BIAS},
        {5, NO_BIAS, 0, 0.5f, 4, NO_BIAS},
        {0, BIAS_ALIBI, 0, 0.5f, 4, BIAS_ALIBI},
        {0, BIAS_ALIBI_ROUNDED, 0, 0.5f, 4, BIAS_ALIBI_ROUNDED},
        {0, BIAS_ALIBI, 1 << BLOCK_POSITIONS, 0.125f, 0, NO_BIAS},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct config config = {.scale = 0.5f,
                                .score_cap = rows[i].cap,
                                .score_bias = rows[i].own,
                                .n_layer = 1,
                                .n_head = 8,
                                .n_kv_head = 8,
                                .mechanism = {.temperature = 4, .without = rows[i].without}};
        ck_assert(!config_describe(&config, NULL));
        const struct score_rule rule = attention_of(&config, BRANCH_TEXT, 0)->score;
        ck_assert_float_eq(rule.scale, rows[i].scale);
        ck_assert_float_eq(rule.base_scale, 0.5f);
        ck_assert_float_eq(rule.temperature, rows[i].temperature);
        ck_assert_int_eq(rule.bias, rows[i].bias);
        const struct matrix none = {0};
        ck_assert_float_eq(score_head_bias(&rule, NULL, 1, none, none).slope,
                           rule.bias ? 0.25f : 0);
        config_release(&config);
    }
}

/* Distances and buckets of transformers' T5 (32 buckets, 128) and of a small table (10, 20). */
TEST(biases_by_distance_are_those_of_the_buckets_of_t5)
{
    static const struct {
        size_t ahead;
        unsigned short buckets, reach;
        int distance, bucket;
    } rows[] = {
        {SIZE_MAX, 32, 128, 0, 0},    {SIZE_MAX, 32, 128, -7, 7},   {SIZE_MAX, 32, 128, 7, 23},
        {SIZE_MAX, 32, 128, -8, 8},   {SIZE_MAX, 32, 128, -11, 8},  {SIZE_MAX, 32, 128, 12, 25},
        {SIZE_MAX, 32, 128, -16, 10}, {SIZE_MAX, 32, 128, 64, 30},  {SIZE_MAX, 32, 128, -90, 14},
        {SIZE_MAX, 32, 128, -91, 15}, {SIZE_MAX, 32, 128, 900, 31}, {0, 32, 128, -15, 15},
        {0, 32, 128, -18, 16},        {0, 32, 128, -19, 17},        {0, 32, 128, -112, 30},
        {0, 32, 128, -113, 31},       {0, 32, 128, -5000, 31},      {0, 10, 20, -4, 4},
        {0, 10, 20, -9, 7},           {0, 10, 20, -19, 9},          {SIZE_MAX, 10, 20, 2, 7},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        enum { HEADS = 3, MOST = 1 << 12 };
        static float table[64 * HEADS], biases[MOST];
        struct score_rule rule = {.bias = BIAS_BUCKETS,
                                  .heads = HEADS,
                                  .buckets = rows[i].buckets,
                                  .reach = rows[i].reach,
                                  .back = SIZE_MAX,
                                  .ahead = rows[i].ahead};
        for (size_t k = 0; k < COUNT(table); k++)
            table[k] = (float)k;
        ck_assert_uint_le(score_biases_count(&rule), MOST);
        score_biases_fill(biases, &rule, table);
        struct head_bias bias =
            score_head_bias(&rule, biases, 2, (struct matrix){0}, (struct matrix){0});
        float expected = (float)(rows[i].bucket * HEADS + 2);
        size_t query = 6000, key = query + (size_t)rows[i].distance;
        float score = 1;
        ck_assert_float_eq(score_bias(&rule, &bias, query, key, 7000), expected);
        rule.scale = 0.5f;
        score_apply(&rule, &bias, query, &score, (struct key_range){key, key + 1}, 7000);
        ck_assert_float_eq(score, 0.5f + expected);
    }
}

/* Rows of transformers' make_log_bucket_position (256 rows up to 512 in each direction; 4 up to 20)
 * and of distances that are not in buckets. */
TEST(biases_of_deberta_are_products_with_rows_of_distances)
{
    enum { D = 20, HEADS = 2, ROWS = 512, REACH = 512 };
    static const struct {
        unsigned short buckets, reach;
        unsigned char terms;
        int distance, row; /* from key to query */
    } rows[] = {
        {256, 512, TERM_LOG, 0, 256},   {256, 512, TERM_LOG, -128, 128},
        {256, 512, TERM_LOG, 129, 385}, {256, 512, TERM_LOG, -129, 127},
        {256, 512, TERM_LOG, 300, 463}, {256, 512, TERM_LOG, 511, 511},
        {256, 512, TERM_LOG, -511, 1},  {256, 512, TERM_LOG, -512, 0},
        {256, 512, TERM_LOG, -9000, 0}, {256, 512, TERM_LOG, 9000, 511},
        {4, 20, TERM_LOG, 2, 6},        {4, 20, TERM_LOG, 3, 7},
        {4, 20, TERM_LOG, -19, 1},      {4, 20, TERM_LOG, -20, 0},
        {5, 5, TERM_NORMED, 4, 9},      {5, 5, TERM_NORMED, 5, 9},
        {5, 5, TERM_NORMED, -5, 0},     {5, 5, TERM_NORMED, -1, 4},
    };
    static float biases[2 * REACH + 1 + 2 * ROWS * HEADS * D], q[D], k[D];
    for (int i = 0; i < D; i++)
        q[i] = (float)(1 + i), k[i] = (float)(i % 3 - 1);
    for (size_t i = 0; i < 2 * COUNT(rows); i++) {
        bool queries = i % 2, both = i % 3 == 0;
        struct score_rule rule = {.bias = BIAS_DISENTANGLED,
                                  .scale = 0.5f,
                                  .heads = HEADS,
                                  .buckets = rows[i / 2].buckets,
                                  .reach = rows[i / 2].reach};
        size_t row = (size_t)rows[i / 2].row, table = 2 * (size_t)rule.buckets * HEADS * D;
        float *tables = biases + score_biases_count(&rule);
        double expected = 0;
        rule.terms = rows[i / 2].terms | (both      ? TERM_KEYS | TERM_QUERIES
                                          : queries ? TERM_QUERIES
                                                    : TERM_KEYS);
        score_biases_fill(biases, &rule, NULL);
        for (size_t e = 0; e < (both ? 2 : 1) * table; e++)
            tables[e] = (float)(e * 7 % 11) - 5;
        for (size_t e = 0; e < D; e++) {
            size_t at = (row * HEADS + 1) * D + e, second = at + table * both;
            expected += both || !queries ? (double)(q[e] * tables[at]) : 0;
            expected += both || queries ? (double)(k[e] * tables[second]) : 0;
        }
        struct head_bias bias = score_head_bias(&rule, biases, 1, (struct matrix){q, 1, D, 0},
                                                (struct matrix){k, 1, D, 0});
        size_t query = 10000, key = query - (size_t)rows[i / 2].distance;
        ck_assert_float_eq(score_bias(&rule, &bias, query, key, 20000), (float)(expected / 2));
    }
}
