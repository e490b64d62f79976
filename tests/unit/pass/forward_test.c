#include "pass/forward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "../rigs/patience.h"
#include "pass/tap.h"

/* clang-format off */
static const char three_layers[] =
    JSON({"model_type": "gpt2", "vocab_size": 71, "n_positions": 256, "n_embd": 24, "n_layer": 3,
          "n_head": 3, "n_inner": 37});
static const char encoder[] =
    JSON({"model_type": "transformer", "vocab_size": 71, "n_embd": 24, "n_encoder_layer": 1,
          "n_layer": 2, "n_head": 3, "n_inner": 37});
static const char encoder_pre[] =
    JSON({"model_type": "transformer", "vocab_size": 71, "n_embd": 24, "n_encoder_layer": 2,
          "n_layer": 1, "n_head": 3, "norm_first": true, "bias": false});

/* Options that no golden model has. */
static const char *const options[] = {
    JSON({"model_type": "gpt2", "vocab_size": 30, "n_positions": 100, "n_embd": 20, "n_layer": 3,
          "n_head": 5, "scale_attn_weights": false}),
    JSON({"model_type": "gpt2", "vocab_size": 30, "n_positions": 100, "n_embd": 20, "n_layer": 4,
          "n_head": 5, "scale_attn_by_inverse_layer_idx": true, "layer_norm_epsilon": 0.5}),
    JSON({"model_type": "gpt2", "vocab_size": 20, "n_positions": 100, "n_embd": 12, "n_layer": 2,
          "n_head": 2, "activation_function": "tanh"}),
    JSON({"model_type": "gpt2", "vocab_size": 20, "n_positions": 100, "n_embd": 12, "n_layer": 2,
          "n_head": 2, "activation_function": "quick_gelu"}),
    JSON({"model_type": "gpt2", "vocab_size": 1, "n_positions": 100, "n_embd": 1, "n_layer": 2,
          "n_head": 1, "n_inner": 1}),
    /* the source is longer than a panel of keys */
    JSON({"model_type": "attention", "attention": "cross", "vocab_size": 23, "n_embd": 10,
          "n_head": 6, "n_kv_head": 3, "d_k": 5, "d_v": 4, "out_proj": true, "bias": true,
          "n_layer": 2}),
    JSON({"model_type": "transformer", "vocab_size": 23, "n_embd": 7, "n_head": 1,
          "n_encoder_layer": 1, "n_layer": 2, "norm_first": true, "positions": "learned",
          "n_positions": 300, "scale_embedding": false, "tie_word_embeddings": false}),
};

/* Head sizes below, at and above a panel of 64 columns, some shared by several query heads. */
static const char *const widths[] = {
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 6, "n_kv_head": 2,
          "d_k": 7, "d_v": 3, "causal": true, "out_proj": true}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 4, "n_kv_head": 1,
          "d_k": 1, "d_v": 17, "out_proj": true, "bias": true, "n_layer": 3}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 8, "n_head": 2, "causal": true,
          "projections": false, "n_layer": 3, "scale": 3}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 9, "n_head": 3, "n_layer": 2,
          "d_k": 64, "causal": true, "scale": -0.25}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 9, "n_head": 2, "d_k": 65,
          "d_v": 80, "causal": true}),
};
/* clang-format on */

static struct tiny_model model;
static struct rig rig;

static void open_config(const char *config)
{
    tiny_model_make(&model, config);
    rig_open(&rig, &model, 1);
    rig_watch_all(&rig);
}

static void close_config(void)
{
    rig_close(&rig);
    tiny_model_release(&model);
}

static struct text text_of(size_t count, size_t source_count)
{
    struct text text = {.ids = rig_ids(&model, 3, count), .count = count};
    if (model.config.cross) {
        text.source_ids = rig_ids(&model, 90, source_count);
        text.source_count = source_count;
    }
    return text;
}

static void run(struct recording *seen, const struct text *text)
{
    struct err err = {0};
    *seen = (struct recording){0};
    ck_assert_msg(!rig_run(&rig, seen, text, 1, &err), "%s", err.text);
}

TEST_LOOP(every_option_of_a_config_agrees_with_its_formula, COUNT(options))
{
    static const size_t lengths[] = {1, 18, 70};
    open_config(options[_i]);
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct text text = text_of(lengths[i], 3 * lengths[i]);
        rig_judge_text(&rig, &text);
    }
    close_config();
}

/* The tolerance is 2 % of the largest number of a tensor. */
TEST_LOOP(bf16_is_near_float32_for_every_width, COUNT(widths))
{
    static struct recording exact, rounded;
    open_config(widths[_i]);
    struct text text = text_of(67, 0);
    run(&exact, &text);
    rig.weights.precision = PRECISION_BF16;
    run(&rounded, &text);
    ck_assert_uint_eq(rounded.count, exact.count);
    for (size_t i = 0; i < exact.count; i++) {
        const struct record *expected = &exact.records[i];
        float largest = 0, worst = 0;
        for (size_t k = 0; k < expected->count; k++) {
            if (isinf(expected->values[k])) /* masked */
                continue;
            largest = fmaxf(largest, fabsf(expected->values[k]));
            worst = fmaxf(worst, fabsf(expected->values[k] - rounded.records[i].values[k]));
        }
        ck_assert_msg(worst <= 0.02f * largest, "layer %d, %s: off by %g of %g", expected->layer,
                      site_name(expected->site), (double)worst, (double)largest);
    }
    recording_release(&exact);
    recording_release(&rounded);
    close_config();
}

/* --- the same bits ---------------------------------------------------------------------------- */

/* Every tensor of `part` has the bits of `whole`. */
static void check_same(const struct recording *part, const struct recording *whole)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct record *found = &part->records[i];
        const struct record *expected = recording_find(whole, found->site, found->layer, 0);
        ck_assert_ptr_nonnull(expected);
        ck_assert_mem_eq(found->shape, expected->shape, found->rank * sizeof *found->shape);
        ck_assert_msg(!memcmp(found->values, expected->values, found->count * sizeof(float)),
                      "layer %d, %s: other bits", found->layer, site_name(found->site));
    }
}

TEST_LOOP(every_instruction_set_gives_the_same_bits, COUNT(widths))
{
    static const char *const targets[] = {"hsw", "snb", "generic"};
    static struct recording best, other;
    open_config(widths[_i]);
    struct text text = text_of(130, 0);
    run(&best, &text);
    close_config();
    for (size_t t = 0; t < COUNT(targets); t++) {
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", targets[t], 1), 0);
        open_config(widths[_i]);
        run(&other, &text);
        check_same(&other, &best);
        recording_release(&other);
        close_config();
    }
    recording_release(&best);
}

/* Watch the second layer of one site, if it has two, and the first of another. */
static void watch_two(const struct recording *whole, const struct text *text, enum site one,
                      enum site other)
{
    static struct recording both;
    size_t layers = rig_layers(&rig, one);
    if (layers == 0 || rig_layers(&rig, other) == 0)
        return;
    rig_watch_nothing(&rig);
    watch_add(&rig.watch, one, layers > 1);
    watch_add(&rig.watch, other, 0);
    run(&both, text);
    ck_assert_msg(both.count == (one == other && layers == 1 ? 1 : 2), "%s %s: %zu", site_name(one),
                  site_name(other), both.count);
    check_same(&both, whole);
    recording_release(&both);
}

TEST_LOOP(two_watched_sites_have_the_bits_of_a_pass_that_watches_all, PRECISIONS)
{
    static const char *const models[] = {three_layers, encoder, encoder_pre};
    static struct recording whole;
    for (size_t i = 0; i < COUNT(models); i++) {
        open_config(models[i]);
        rig.weights.precision = (enum precision)_i;
        struct text text = text_of(70, 80);
        run(&whole, &text);
        size_t pair = 0;
        for (enum site one = 0; one != SITE_PASS_END; one = site_next(one))
            for (enum site other = 0; other != SITE_PASS_END; other = site_next(other))
                if (pair++ % one_of(5) == 0)
                    watch_two(&whole, &text, one, other);
        recording_release(&whole);
        close_config();
    }
}

/* Watch every subset of these sites, each of which has its own buffer if it is watched. */
static void check_choices(const char *config, const struct text *text, const enum site *sites,
                          size_t count, size_t step)
{
    static struct recording all, some;
    open_config(config);
    run(&all, text);
    for (size_t choice = 0; choice < (size_t)1 << count; choice += step) {
        rig_watch_nothing(&rig);
        for (size_t i = 0; i < count; i++)
            if (choice >> i & 1)
                watch_add(&rig.watch, sites[i], 0);
        run(&some, text);
        check_same(&some, &all);
        recording_release(&some);
    }
    recording_release(&all);
    close_config();
}

TEST_LOOP(every_subset_of_watched_maps_has_the_same_bits, COUNT(widths))
{
    static const enum site sites[] = {SITE_SCORES, SITE_MASKED, SITE_WEIGHTS, SITE_CONTEXT};
    open_config(widths[_i]);
    struct text text = text_of(130, 0);
    close_config();
    check_choices(widths[_i], &text, sites, COUNT(sites), 1);
}

/* Three kinds of attention in each layer, with more keys than queries, and fewer. */
TEST(watched_sites_of_one_attention_do_not_change_another)
{
    static const enum site sites[] = {SITE_OF(BRANCH_SOURCE, SITE_SCORES),
                                      SITE_OF(BRANCH_SOURCE, SITE_WEIGHTS),
                                      SITE_SCORES,
                                      SITE_WEIGHTS,
                                      SITE_OF(BRANCH_CROSS, SITE_SCORES),
                                      SITE_OF(BRANCH_CROSS, SITE_MASKED),
                                      SITE_OF(BRANCH_CROSS, SITE_ATTN_OUT)};
    for (int longer = 0; longer < 2; longer++) {
        open_config(encoder);
        struct text text = text_of(longer ? 130 : 17, longer ? 17 : 130);
        close_config();
        check_choices(encoder, &text, sites, COUNT(sites), one_of(7));
    }
}

/* Precisions in turn, with the same weights: packed and rounded copies do not affect each other. */
TEST(the_precision_can_change_between_passes)
{
    static struct recording first[PRECISIONS], again;
    open_config(three_layers);
    struct text text = text_of(67, 0);
    for (int i = 0; i < 3 * PRECISIONS; i++) {
        enum precision precision = (enum precision)(i % PRECISIONS);
        rig.weights.precision = precision;
        rig.weights.packing = rig.weights.packing_words = i >= PRECISIONS;
        run(i < PRECISIONS ? &first[precision] : &again, &text);
        if (i < PRECISIONS)
            continue;
        check_same(&again, &first[precision]);
        recording_release(&again);
    }
    for (int precision = 0; precision < PRECISIONS; precision++)
        recording_release(&first[precision]);
    close_config();
}
