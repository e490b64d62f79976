#include "model/pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "../rigs/patience.h"
#include "../rigs/reference_model.h"

/* clang-format off */
static const char *const self_configs[] = {
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 6}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 12, "n_head": 3, "causal": true,
          "bias": true, "out_proj": true}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 3, "d_k": 5,
          "d_v": 7, "bias": true}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 6, "n_kv_head": 2,
          "d_k": 7, "d_v": 3, "causal": true, "out_proj": true}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 4, "n_kv_head": 1,
          "d_k": 1, "d_v": 17, "out_proj": true, "bias": true, "n_layer": 3}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 8, "projections": false}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 8, "n_head": 2, "causal": true,
          "projections": false, "n_layer": 3, "scale": 3}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 8, "n_head": 2, "bias": true,
          "projections": false, "out_proj": true, "n_layer": 2}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 9, "n_head": 3, "n_layer": 2,
          "d_k": 64, "causal": true, "scale": -0.25}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 9, "n_head": 2, "d_k": 1,
          "d_v": 1, "scale": 0}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 9, "n_head": 2, "d_k": 65,
          "d_v": 80, "causal": true}),
};

static const char encoder_config[] =
    JSON({"model_type": "transformer", "vocab_size": 23, "n_embd": 12, "n_head": 3,
          "n_encoder_layer": 2, "n_layer": 1, "n_inner": 9});

static const char *const cross_configs[] = {
    JSON({"model_type": "attention", "attention": "cross", "vocab_size": 23, "n_embd": 10,
          "n_head": 6, "n_kv_head": 3, "d_k": 5, "d_v": 4, "out_proj": true, "bias": true,
          "n_layer": 2}),
    JSON({"model_type": "attention", "attention": "cross", "vocab_size": 23, "n_embd": 8,
          "n_head": 2, "projections": false, "n_layer": 2}),
    JSON({"model_type": "attention", "attention": "cross", "vocab_size": 23, "n_embd": 8,
          "d_k": 16, "d_v": 3}),
    encoder_config,
    JSON({"model_type": "transformer", "vocab_size": 23, "n_embd": 7, "n_head": 1,
          "n_encoder_layer": 1, "n_layer": 2, "norm_first": true, "positions": "learned",
          "n_positions": 200, "scale_embedding": false, "activation_function": "gelu",
          "tie_word_embeddings": false}),
    JSON({"model_type": "transformer", "vocab_size": 23, "n_embd": 10, "n_head": 5,
          "final_norm": false, "bias": false, "layer_norm_epsilon": 0.01}),
};
/* clang-format on */

static struct rig rig;
static struct tiny_model model;

static void open_config(const char *config, size_t threads)
{
    tiny_model_make(&model, config);
    rig_open(&rig, &model, threads);
    rig_watch_all(&rig);
}

static void close_config(void)
{
    rig_close(&rig);
    tiny_model_release(&model);
}

TEST(attention_to_the_own_text_is_as_the_formulas_say)
{
    static const size_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 130, 200};
    for (size_t i = 0; i < COUNT(self_configs); i += one_of(3)) {
        open_config(self_configs[i], 1);
        for (size_t k = 0; k < COUNT(lengths); k++)
            rig_judge_text(
                &rig, &(struct text){.ids = rig_ids(&model, 5, lengths[k]), .count = lengths[k]});
        close_config();
    }
}

static const struct lengths {
    size_t queries, keys;
} lengths[] = {{1, 1},   {1, 2},   {2, 1},   {1, 70},  {70, 1},   {15, 17},
               {64, 64}, {65, 63}, {63, 65}, {64, 16}, {17, 130}, {130, 17}};

static struct text pair(size_t i)
{
    return (struct text){.ids = rig_ids(&model, 200 * i, lengths[i].queries),
                         .count = lengths[i].queries,
                         .source_ids = rig_ids(&model, 50 + 200 * i, lengths[i].keys),
                         .source_count = lengths[i].keys};
}

TEST(attention_to_a_source_is_as_the_formulas_say)
{
    for (size_t c = 0; c < COUNT(cross_configs); c++) {
        open_config(cross_configs[c], 1);
        for (size_t i = 0; i < COUNT(lengths); i++) {
            struct text text = pair(i);
            rig_judge_text(&rig, &text);
        }
        close_config();
    }
}

static void check_same(const struct recording *alone, const struct recording *batch, size_t index)
{
    for (size_t i = 0; i < alone->count; i++) {
        const struct record *expected = &alone->records[i];
        const struct record *found = recording_find(batch, expected->site, expected->layer, index);
        ck_assert_ptr_nonnull(found);
        ck_assert_mem_eq(found->shape, expected->shape, sizeof found->shape);
        ck_assert_msg(!memcmp(found->values, expected->values, found->count * sizeof(float)),
                      "text %zu, layer %d, %s: other bits", index, found->layer,
                      site_rows[found->site].name);
    }
}

/* Everything of the batch, and of each of its texts alone on one thread. */
static void check_batch(const char *config, const struct text *texts, size_t count)
{
    static struct recording alone, batch;
    for (size_t threads = 1; threads <= 3; threads++) {
        batch = (struct recording){0};
        open_config(config, threads);
        ck_assert_int_eq(rig_run(&rig, &batch, texts, count, NULL), 0);
        close_config();
        open_config(config, 1);
        for (size_t s = 0; s < count; s++) {
            alone = (struct recording){0};
            ck_assert_int_eq(rig_run(&rig, &alone, &texts[s], 1, NULL), 0);
            check_same(&alone, &batch, s);
            recording_release(&alone);
        }
        close_config();
        recording_release(&batch);
    }
}

TEST(texts_and_sources_in_a_batch_have_the_bits_they_have_alone)
{
    for (size_t c = 0; c < COUNT(cross_configs); c++) {
        struct text texts[COUNT(lengths)];
        open_config(cross_configs[c], 1);
        for (size_t i = 0; i < COUNT(lengths); i++)
            texts[i] = pair(i);
        close_config();
        check_batch(cross_configs[c], texts, COUNT(lengths));
    }
}

TEST(texts_in_a_batch_have_the_bits_they_have_alone)
{
    for (size_t c = 0; c < COUNT(self_configs); c += one_of(3)) {
        struct text texts[COUNT(lengths)];
        open_config(self_configs[c], 1);
        for (size_t i = 0; i < COUNT(lengths); i++)
            texts[i] = (struct text){.ids = rig_ids(&model, 150 * i, lengths[i].queries),
                                     .count = lengths[i].queries};
        close_config();
        check_batch(self_configs[c], texts, COUNT(lengths));
    }
}

/* Every instruction set; the widths are those where libxsmm's kernels of
 * AVX-512 would split a sum. */
TEST(every_instruction_set_gives_the_same_bits)
{
    static const char *const targets[] = {"hsw", "snb", "generic"};
    static struct recording best, other;
    for (size_t c = 0; c < COUNT(self_configs); c += one_of(3)) {
        ck_assert_int_eq(unsetenv("LIBXSMM_TARGET"), 0);
        open_config(self_configs[c], 1);
        struct text text = {.ids = rig_ids(&model, 5, 130), .count = 130};
        best = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &best, &text, 1, NULL), 0);
        close_config();
        for (size_t t = 0; t < COUNT(targets); t++) {
            ck_assert_int_eq(setenv("LIBXSMM_TARGET", targets[t], 1), 0);
            open_config(self_configs[c], 1);
            other = (struct recording){0};
            ck_assert_int_eq(rig_run(&rig, &other, &text, 1, NULL), 0);
            check_same(&best, &other, 0);
            recording_release(&other);
            close_config();
        }
        recording_release(&best);
    }
}

/* Every choice of the sites, or every so manyth, has the bits that all sites have together. */
static void check_choices(const struct text *text, const enum site *sites, size_t count,
                          size_t step)
{
    static struct recording all, some;
    all = (struct recording){0};
    ck_assert_int_eq(rig_run(&rig, &all, text, 1, NULL), 0);
    for (size_t choice = 0; choice < (size_t)1 << count; choice += step) {
        some = (struct recording){0};
        rig_watch_nothing(&rig);
        for (size_t i = 0; i < count; i++)
            if (choice >> i & 1)
                watch_add(&rig.watch, sites[i], 0);
        ck_assert_int_eq(rig_run(&rig, &some, text, 1, NULL), 0);
        check_same(&some, &all, 0);
        recording_release(&some);
    }
    recording_release(&all);
}

/* Each of scores, masked, weights and context has a buffer of its own, or none: all 16 choices. */
TEST(what_is_watched_of_the_squares_does_not_change_them)
{
    static const enum site sites[] = {SITE_SCORES, SITE_MASKED, SITE_WEIGHTS, SITE_CONTEXT};
    for (size_t c = 0; c < COUNT(self_configs); c += one_of(3)) {
        open_config(self_configs[c], 1);
        struct text text = {.ids = rig_ids(&model, 5, 130), .count = 130};
        check_choices(&text, sites, COUNT(sites), 1);
        close_config();
    }
}

/* Three attentions a layer, over texts of two lengths: each has its own buffers or none. */
TEST(what_is_watched_of_one_attention_does_not_change_another)
{
    static const enum site sites[] = {SITE_ENC_SCORES, SITE_ENC_WEIGHTS,  SITE_SCORES,
                                      SITE_WEIGHTS,    SITE_CROSS_SCORES, SITE_CROSS_MASKED,
                                      SITE_CROSS_OUT};
    static const size_t pairs[] = {10, 11}; /* more keys than queries, and fewer */
    for (size_t p = 0; p < COUNT(pairs); p++) {
        open_config(encoder_config, 1);
        struct text text = pair(pairs[p]);
        check_choices(&text, sites, COUNT(sites), one_of(7));
        close_config();
    }
}

TEST(weights_of_a_row_add_up_to_one_and_stop_at_the_mask)
{
    static struct recording seen;
    open_config(self_configs[1], 1);
    struct text text = {.ids = rig_ids(&model, 5, 130), .count = 130};
    seen = (struct recording){0};
    ck_assert_int_eq(rig_run(&rig, &seen, &text, 1, NULL), 0);
    const struct record *weights = recording_find(&seen, SITE_WEIGHTS, 0, 0);
    const struct record *masked = recording_find(&seen, SITE_MASKED, 0, 0);
    for (size_t row = 0; row < 3 * 130; row++) {
        double sum = 0;
        for (size_t key = 0; key < 130; key++) {
            bool future = key > row % 130;
            float weight = weights->values[row * 130 + key];
            if (future ? weight != 0 : weight <= 0)
                ck_abort_msg("row %zu, key %zu has weight %g", row, key, weight);
            if (future != (masked->values[row * 130 + key] == -INFINITY))
                ck_abort_msg("row %zu, key %zu is masked wrongly", row, key);
            sum += weight;
        }
        ck_assert_double_eq_tol(sum, 1, 1e-6);
    }
    recording_release(&seen);
    close_config();
}
