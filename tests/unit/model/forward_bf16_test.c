#include "model/forward.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "math/bf16.h"

enum { TOKENS = 67 }; /* more than a panel of keys */

/* clang-format off */
static const char *const configs[] = {
    JSON({"model_type": "gpt2", "vocab_size": 71, "n_positions": 100, "n_embd": 24, "n_layer": 2,
          "n_head": 3, "n_inner": 37}),
    JSON({"model_type": "gpt2", "vocab_size": 131, "n_positions": 100, "n_embd": 15, "n_layer": 2,
          "n_head": 3, "tie_word_embeddings": false}),
    JSON({"model_type": "gpt2", "vocab_size": 64, "n_positions": 100, "n_embd": 128, "n_layer": 1,
          "n_head": 2}),
    JSON({"model_type": "gpt2", "vocab_size": 1, "n_positions": 100, "n_embd": 1, "n_layer": 2,
          "n_head": 1, "n_inner": 1}),
    JSON({"model_type": "attention", "n_layer": 2, "n_head": 6, "n_kv_head": 2, "d_k": 5, "d_v": 9,
          "n_embd": 24, "vocab_size": 30, "causal": true, "out_proj": true}),
    JSON({"model_type": "attention", "n_layer": 1, "n_head": 2, "d_k": 33, "d_v": 70, "n_embd": 24,
          "vocab_size": 30, "causal": true, "out_proj": true}),
    JSON({"model_type": "attention", "n_layer": 1, "n_head": 3, "n_embd": 9, "vocab_size": 30,
          "projections": false}),
};
/* clang-format on */

/* One model, and its numbers with products of float32 and of bf16. */
struct both {
    struct tiny_model model;
    struct rig rig;
    struct recording seen[PRECISIONS];
};

static struct both both;

static void run_with(enum precision precision)
{
    struct err err = {0};
    struct text text = {.ids = rig_ids(&both.model, 3, TOKENS), .count = TOKENS};
    both.seen[precision] = (struct recording){0};
    both.rig.weights.precision = precision;
    ck_assert_msg(!rig_run(&both.rig, &both.seen[precision], &text, 1, &err), "%s", err.text);
}

static void open_both(const char *config)
{
    tiny_model_make(&both.model, config);
    rig_open(&both.rig, &both.model, 1);
    rig_watch_all(&both.rig);
    run_with(PRECISION_FP32);
    run_with(PRECISION_BF16);
}

static void close_both(void)
{
    recording_release(&both.seen[PRECISION_FP32]);
    recording_release(&both.seen[PRECISION_BF16]);
    rig_close(&both.rig);
    tiny_model_release(&both.model);
}

/* The largest difference between two records, and the largest number of the first. */
struct distance {
    float difference, size;
};

static struct distance distance_of(const struct record *a, const struct record *b)
{
    struct distance distance = {0};
    ck_assert_int_eq(a->site, b->site);
    ck_assert_int_eq(a->layer, b->layer);
    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        if (isinf(a->values[i])) {
            ck_assert(a->values[i] == b->values[i]);
            continue;
        }
        distance.difference = fmaxf(distance.difference, fabsf(a->values[i] - b->values[i]));
        distance.size = fmaxf(distance.size, fabsf(a->values[i]));
    }
    return distance;
}

/* Each number is off by less than a fiftieth of the largest of its tensor, attention weights by
 * less than a hundredth of 1. */
TEST(everything_is_near_float32)
{
    for (size_t c = 0; c < COUNT(configs); c++) {
        open_both(configs[c]);
        const struct recording *fp32 = &both.seen[PRECISION_FP32];
        const struct recording *bf16 = &both.seen[PRECISION_BF16];
        ck_assert_uint_eq(fp32->count, bf16->count);
        for (size_t i = 0; i < fp32->count; i++) {
            struct distance found = distance_of(&fp32->records[i], &bf16->records[i]);
            enum site site = fp32->records[i].site;
            float most = site == SITE_WEIGHTS ? 0.01f : 0.02f * found.size;
            if (!(found.difference <= most))
                ck_abort_msg("config %zu, layer %d, %s: off by %g of %g", c, fp32->records[i].layer,
                             site_rows[site].name, found.difference, found.size);
        }
        close_both();
    }
}

/* Every product is one of bf16: each matrix changes what comes out of it. */
TEST(every_product_is_rounded)
{
    static const enum site sites[] = {SITE_Q,       SITE_K,       SITE_V,     SITE_ATTN_OUT,
                                      SITE_MLP_ACT, SITE_MLP_OUT, SITE_LOGITS};
    open_both(configs[0]);
    for (size_t i = 0; i < COUNT(sites); i++) {
        int layer = site_rows[sites[i]].in_layer ? 0 : -1;
        const struct record *fp32 = recording_find(&both.seen[PRECISION_FP32], sites[i], layer, 0);
        const struct record *bf16 = recording_find(&both.seen[PRECISION_BF16], sites[i], layer, 0);
        ck_assert_ptr_nonnull(fp32);
        ck_assert_ptr_nonnull(bf16);
        ck_assert_msg(distance_of(fp32, bf16).difference > 0, "%s", site_rows[sites[i]].name);
    }
    close_both();
}

/* q of the first layer, which nothing rounded has gone into before. */
TEST(the_first_product_is_that_of_rounded_numbers)
{
    open_both(configs[0]);
    const struct record *norm = recording_find(&both.seen[PRECISION_BF16], SITE_LN_1, 0, 0);
    const struct record *q = recording_find(&both.seen[PRECISION_BF16], SITE_Q, 0, 0);
    const struct tiny_tensor *w = tiny_model_tensor(&both.model, "h.0.attn.c_attn.weight");
    const struct tiny_tensor *bias = tiny_model_tensor(&both.model, "h.0.attn.c_attn.bias");
    size_t width = norm->shape[1];
    for (size_t i = 0; i < q->count; i++) { /* [head, token, dim] */
        size_t head = i / (q->shape[1] * q->shape[2]);
        size_t token = i / q->shape[2] % q->shape[1];
        size_t column = head * q->shape[2] + i % q->shape[2];
        double sum = (double)bias->values[column];
        for (size_t k = 0; k < width; k++)
            sum += (double)bf16_value(bf16_round(norm->values[token * width + k])) *
                   (double)w->values[k * w->shape[1] + column]; /* it is bf16 already */
        ck_assert_double_lt(fabs(sum - (double)q->values[i]), 1e-6);
    }
    close_both();
}

static const struct record *of_bf16(enum site site)
{
    const struct record *found = recording_find(&both.seen[PRECISION_BF16], site, 0, 0);
    ck_assert_ptr_nonnull(found);
    return found;
}

static double rounded(float value)
{
    return (double)bf16_value(bf16_round(value));
}

/* [heads, rows, columns]: of a head that may stand for several. */
static float cell(const struct record *of, size_t head, size_t heads, size_t row, size_t column)
{
    size_t own = head / (heads / of->shape[0]);
    return of->values[(own * of->shape[1] + row) * of->shape[2] + column];
}

static void check_cell(double expected, float found, const char *what)
{
    if (!(fabs(expected - (double)found) <= 2e-6 * (1 + fabs(expected))))
        ck_abort_msg("%s: expected %.9g, found %.9g", what, expected, (double)found);
}

/* Scores of rounded queries and keys, context of rounded weights and values, each in float32. */
TEST(attention_multiplies_rounded_numbers)
{
    for (size_t c = 0; c < COUNT(configs); c++) {
        open_both(configs[c]);
        const struct record *q = of_bf16(SITE_Q), *k = of_bf16(SITE_K), *v = of_bf16(SITE_V);
        const struct record *scores = of_bf16(SITE_SCORES), *weights = of_bf16(SITE_WEIGHTS);
        const struct record *context = of_bf16(SITE_CONTEXT);
        size_t heads = q->shape[0], tokens = q->shape[1];
        for (size_t i = 0; i < heads * tokens * tokens; i++) {
            size_t head = i / tokens / tokens, row = i / tokens % tokens, key = i % tokens;
            double sum = 0;
            for (size_t d = 0; d < q->shape[2]; d++)
                sum +=
                    rounded(cell(q, head, heads, row, d)) * rounded(cell(k, head, heads, key, d));
            check_cell(sum, cell(scores, head, heads, row, key), "scores");
        }
        for (size_t i = 0; i < context->count; i++) {
            size_t head = i / v->shape[2] / tokens, row = i / v->shape[2] % tokens;
            double sum = 0;
            for (size_t key = 0; key < tokens; key++)
                sum += rounded(cell(weights, head, heads, row, key)) *
                       rounded(cell(v, head, heads, key, i % v->shape[2]));
            check_cell(sum, context->values[i], "context");
        }
        close_both();
    }
}

/* In blocks, weights are rounded before they are divided by their sum. */
TEST(attention_in_blocks_is_near_that_at_once)
{
    static struct recording dense;
    for (size_t c = 0; c < COUNT(configs); c++) {
        open_both(configs[c]);
        dense = both.seen[PRECISION_BF16];
        both.model.config.mechanism = (struct mechanism){.kind = ATTENTION_BLOCKED, .block = 7};
        run_with(PRECISION_BF16);
        const struct record *whole = recording_find(&dense, SITE_CONTEXT, 0, 0);
        struct distance scores =
            distance_of(recording_find(&dense, SITE_SCORES, 0, 0), of_bf16(SITE_SCORES));
        struct distance context = distance_of(whole, of_bf16(SITE_CONTEXT));
        ck_assert(scores.difference == 0);
        ck_assert(context.difference > 0 && context.difference < context.size / 128);
        recording_release(&dense);
        close_both();
    }
}

/* Without projections nothing else is multiplied. */
TEST(patterns_and_running_sums_stay_float32)
{
    static const struct mechanism kinds[] = {
        {.kind = ATTENTION_SPARSE, .pattern = {.window = 9, .stride = 3}},
        {.kind = ATTENTION_LINEAR},
    };
    open_both(configs[COUNT(configs) - 1]);
    for (size_t k = 0; k < COUNT(kinds); k++) {
        both.model.config.mechanism = kinds[k];
        for (int precision = 0; precision < PRECISIONS; precision++) {
            recording_release(&both.seen[precision]);
            run_with((enum precision)precision);
        }
        for (size_t i = 0; i < both.seen[PRECISION_FP32].count; i++)
            ck_assert(distance_of(&both.seen[PRECISION_FP32].records[i],
                                  &both.seen[PRECISION_BF16].records[i])
                          .difference == 0);
    }
    close_both();
}

/* One precision after the other on the same weights: what was packed or rounded stays as it is. */
TEST(precisions_take_turns)
{
    static struct recording first[PRECISIONS];
    open_both(configs[1]);
    memcpy(first, both.seen, sizeof first);
    both.rig.weights.packing = both.rig.weights.packing_words = true;
    for (int i = 0; i < 2 * PRECISIONS; i++) {
        enum precision precision = (enum precision)(i % PRECISIONS);
        run_with(precision);
        for (size_t k = 0; k < first[precision].count; k++)
            ck_assert_mem_eq(both.seen[precision].records[k].values,
                             first[precision].records[k].values,
                             first[precision].records[k].count * sizeof(float));
        recording_release(&both.seen[precision]);
    }
    recording_release(&first[PRECISION_FP32]);
    recording_release(&first[PRECISION_BF16]);
    rig_close(&both.rig);
    tiny_model_release(&both.model);
}
