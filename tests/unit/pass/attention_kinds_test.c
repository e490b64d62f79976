#include "pass/pass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "../rigs/patience.h"
#include "../rigs/reference_model.h"
#include "../rigs/targets.h"
#include "model/mechanism.h"
#include "pass/tap.h"

/* clang-format off */
static const char *const causal_configs[] = {
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 150, "n_embd": 12, "n_layer": 2,
          "n_head": 3, "scale_attn_by_inverse_layer_idx": true}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 6, "n_kv_head": 2,
          "d_k": 7, "d_v": 3, "causal": true, "out_proj": true, "n_layer": 2}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 9, "n_head": 2, "d_k": 65,
          "d_v": 80, "causal": true}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 8, "n_head": 2, "causal": true,
          "projections": false, "n_layer": 2, "scale": 3}),
};

static const char *const open_configs[] = {
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 3, "d_k": 5,
          "d_v": 7, "bias": true}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 12, "n_head": 4, "n_kv_head": 2,
          "out_proj": true, "n_layer": 2}),
};

static const char cross_config[] =
    JSON({"model_type": "attention", "attention": "cross", "vocab_size": 23, "n_embd": 10,
          "n_head": 6, "n_kv_head": 3, "d_k": 5, "d_v": 4, "out_proj": true, "bias": true,
          "n_layer": 2});

static const char encoder_config[] =
    JSON({"model_type": "transformer", "vocab_size": 23, "n_embd": 12, "n_layer": 2,
          "n_encoder_layer": 1, "n_head": 2, "n_inner": 8});
/* clang-format on */

static const char *const sparse[] = {
    "window:1",           "window:4",           "window:70",
    "strided:1",          "strided:3",          "strided:17",
    "global:1",           "global:20",          "random:1",
    "random:40:5",        "window:5+global:2",  "window:60+global:17",
    "strided:7+window:3", "strided:4+random:6", "window:20+global:3+strided:7+random:2:1",
};
static const char *const others[] = {"linear",     "blocked:1",  "blocked:7",
                                     "blocked:16", "blocked:64", "blocked:100"};

static struct rig rig;
static enum precision precision;
static struct tiny_model model;

static struct mechanism mechanism_of(const char *text)
{
    struct mechanism mechanism = {.seed = 3};
    ck_assert_int_eq(mechanism_set_attention(&mechanism, text, NULL), 0);
    return mechanism;
}

static void open_rig(const char *config, const char *attention, size_t threads)
{
    tiny_model_make(&model, config);
    model.config.mechanism = mechanism_of(attention);
    ck_assert_int_eq(mechanism_check(&model.config.mechanism, &model.config, NULL), 0);
    ck_assert(!config_describe(&model.config, NULL));
    rig_open(&rig, &model, threads);
    rig.weights.precision = precision;
    rig_watch_all(&rig);
}

static void close_rig(void)
{
    rig_close(&rig);
    tiny_model_release(&model);
}

static void judge_kind(const char *config, const char *attention)
{
    static const size_t lengths[] = {1, 2, 16, 17, 33, 130};
    open_rig(config, attention, 1);
    for (size_t i = 0; i < COUNT(lengths); i += one_of(2)) {
        struct text text = {.ids = rig_ids(&model, 5, lengths[i]), .count = lengths[i]};
        if (model.config.cross) {
            text.source_ids = rig_ids(&model, 200, 21 + 3 * lengths[i]);
            text.source_count = 21 + 3 * lengths[i];
        }
        rig_judge_text(&rig, &text);
    }
    close_rig();
}

TEST(sparse_attention_agrees_with_its_definition)
{
    for (size_t i = 0; i < COUNT(sparse); i += one_of(4)) {
        for (size_t c = i % 2; c < COUNT(causal_configs); c += 2)
            judge_kind(causal_configs[c], sparse[i]);
        for (size_t c = 0; c < COUNT(open_configs); c++)
            judge_kind(open_configs[c], sparse[i]);
        judge_kind(encoder_config, sparse[i]);
    }
}

/* Around the edges of strips and panels, and of the panels that a thread caches. */
TEST(windows_are_exact_around_the_edges_of_panels)
{
    static const char *const windows[] = {"window:1",  "window:15", "window:16", "window:17",
                                          "window:63", "window:64", "window:65"};
    const char *const configs[] = {causal_configs[1], open_configs[0]};
    static const size_t lengths[] = {15, 63, 64, 65, 81, 330};
    for (size_t i = 0; i < COUNT(windows) * COUNT(configs); i += one_of(3)) {
        open_rig(configs[i % COUNT(configs)], windows[i / COUNT(configs)], 2);
        for (size_t k = 0; k < COUNT(lengths); k++)
            rig_judge_text(
                &rig, &(struct text){.ids = rig_ids(&model, 5, lengths[k]), .count = lengths[k]});
        close_rig();
    }
}

TEST(linear_and_blocked_attention_agree_with_their_definitions)
{
    for (size_t i = 0; i < COUNT(others); i += one_of(2)) {
        for (size_t c = 0; c < COUNT(causal_configs); c += one_of(2))
            judge_kind(causal_configs[c], others[i]);
        for (size_t c = 0; c < COUNT(open_configs); c++)
            judge_kind(open_configs[c], others[i]);
        judge_kind(cross_config, others[i]);
        judge_kind(encoder_config, others[i]);
    }
}

/* --- the same bits ---------------------------------------------------------------------------- */

static const char *const few[] = {"window:20+global:3+strided:7+random:2:1",
                                  "strided:5",
                                  "random:20",
                                  "window:9",
                                  "window:33+global:20",
                                  "linear",
                                  "blocked:7"};

static void check_same(const struct recording *part, const struct recording *whole, size_t index)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct record *found = &part->records[i];
        const struct record *expected = recording_find(whole, found->site, found->layer, index);
        ck_assert_ptr_nonnull(expected);
        ck_assert_mem_eq(found->shape, expected->shape, sizeof found->shape);
        ck_assert_msg(!memcmp(found->values, expected->values, found->count * sizeof(float)),
                      "text %zu, layer %d, %s: other bits", index, found->layer,
                      site_name(found->site));
    }
}

static void run_texts(struct recording *seen, const struct text *texts, size_t count)
{
    struct err err = {0};
    *seen = (struct recording){0};
    ck_assert_msg(!rig_run(&rig, seen, texts, count, &err), "%s", err.text);
}

TEST_LOOP(threads_and_other_texts_do_not_change_a_bit, PRECISIONS)
{
    static const size_t lengths[] = {130, 1, 17, 40};
    static struct recording batch, alone;
    precision = (enum precision)_i;
    for (size_t k = 0; k < COUNT(few) * COUNT(causal_configs); k += one_of(3)) {
        struct text texts[COUNT(lengths)];
        open_rig(causal_configs[k % COUNT(causal_configs)], few[k / COUNT(causal_configs)], 3);
        for (size_t i = 0; i < COUNT(lengths); i++)
            texts[i] =
                (struct text){.ids = rig_ids(&model, 90 * i, lengths[i]), .count = lengths[i]};
        run_texts(&batch, texts, COUNT(lengths));
        close_rig();
        open_rig(causal_configs[k % COUNT(causal_configs)], few[k / COUNT(causal_configs)], 1);
        for (size_t i = 0; i < COUNT(lengths); i++) {
            run_texts(&alone, &texts[i], 1);
            check_same(&alone, &batch, i);
            recording_release(&alone);
        }
        close_rig();
        recording_release(&batch);
    }
}

TEST_LOOP(watched_sites_do_not_change_a_bit, PRECISIONS)
{
    static const enum site sites[] = {SITE_SCORES, SITE_MASKED, SITE_WEIGHTS, SITE_CONTEXT};
    static struct recording all, some;
    precision = (enum precision)_i;
    for (size_t k = 0; k < COUNT(few) * COUNT(causal_configs); k += one_of(3)) {
        open_rig(causal_configs[k % COUNT(causal_configs)], few[k / COUNT(causal_configs)], 1);
        struct text text = {.ids = rig_ids(&model, 5, 130), .count = 130};
        run_texts(&all, &text, 1);
        for (unsigned choice = 0; choice < 1U << COUNT(sites); choice++) {
            rig_watch_nothing(&rig);
            for (size_t i = 0; i < COUNT(sites); i++)
                if (choice >> i & 1)
                    watch_add(&rig.watch, sites[i], model.config.n_layer - 1);
            run_texts(&some, &text, 1);
            check_same(&some, &all, 0);
            recording_release(&some);
        }
        recording_release(&all);
        close_rig();
    }
}

TEST_LOOP(every_instruction_set_gives_the_same_bits, PRECISIONS)
{
    static const char *const targets[] = {"hsw", "snb", "generic"};
    static struct recording best, other;
    precision = (enum precision)_i;
    for (size_t k = 0; k < COUNT(few); k += one_of(2)) {
        take_best_target(precision);
        open_rig(causal_configs[1], few[k], 1);
        struct text text = {.ids = rig_ids(&model, 5, 130), .count = 130};
        run_texts(&best, &text, 1);
        close_rig();
        for (size_t t = 0; t < COUNT(targets); t++) {
            ck_assert_int_eq(setenv("LIBXSMM_TARGET", targets[t], 1), 0);
            open_rig(causal_configs[1], few[k], 1);
            run_texts(&other, &text, 1);
            check_same(&best, &other, 0);
            recording_release(&other);
            close_rig();
        }
        recording_release(&best);
    }
}

TEST(a_pattern_of_all_keys_has_the_bits_of_dense_attention)
{
    static const char *const all[] = {"window:130", "global:130", "window:100+global:30",
                                      "window:3+global:127", "strided:1"};
    static struct recording dense, sparse_one;
    for (size_t c = 0; c < COUNT(causal_configs); c++) {
        open_rig(causal_configs[c], "dense", 1);
        struct text text = {.ids = rig_ids(&model, 5, 130), .count = 130};
        run_texts(&dense, &text, 1);
        close_rig();
        for (size_t k = 0; k < COUNT(all); k++) {
            open_rig(causal_configs[c], all[k], 2);
            run_texts(&sparse_one, &text, 1);
            check_same(&sparse_one, &dense, 0);
            recording_release(&sparse_one);
            close_rig();
        }
        recording_release(&dense);
    }
}

/* --- properties ------------------------------------------------------------------------------- */

TEST(masked_weights_are_0_and_rows_sum_to_1)
{
    static struct recording seen;
    for (size_t k = 0; k < COUNT(sparse); k++) {
        open_rig(causal_configs[1], sparse[k], 1);
        struct text text = {.ids = rig_ids(&model, 5, 90), .count = 90};
        run_texts(&seen, &text, 1);
        const struct record *weights = recording_find(&seen, SITE_WEIGHTS, 1, 0);
        const struct record *masked = recording_find(&seen, SITE_MASKED, 1, 0);
        for (size_t row = 0; row < 6 * 90; row++) {
            double sum = 0;
            for (size_t i = row * 90; i < (row + 1) * 90; i++) {
                bool hidden = masked->values[i] == -INFINITY;
                ck_assert_int_eq(weights->values[i] == 0, hidden);
                sum += (double)weights->values[i];
            }
            ck_assert_double_eq_tol(sum, 1, 1e-6);
        }
        recording_release(&seen);
        close_rig();
    }
}

TEST(blocked_attention_agrees_with_dense_attention)
{
    static struct recording dense, blocked;
    for (size_t c = 0; c < COUNT(causal_configs); c++) {
        open_rig(causal_configs[c], "dense", 1);
        struct text text = {.ids = rig_ids(&model, 5, 150), .count = 150};
        run_texts(&dense, &text, 1);
        close_rig();
        for (size_t block = 1; block < 200; block += 1 + block / 2) {
            char attention[32];
            snprintf(attention, sizeof attention, "blocked:%zu", block);
            open_rig(causal_configs[c], attention, 1);
            run_texts(&blocked, &text, 1);
            const struct record *expected = recording_find(&dense, SITE_CONTEXT, 0, 0);
            const struct record *found = recording_find(&blocked, SITE_CONTEXT, 0, 0);
            for (size_t i = 0; i < found->count; i++)
                ck_assert_double_eq_tol((double)found->values[i], (double)expected->values[i],
                                        1e-6);
            recording_release(&blocked);
            close_rig();
        }
        recording_release(&dense);
    }
}

/* For kinds that are documented as linear in memory. */
TEST(working_memory_is_linear_in_the_length_of_the_text)
{
    static const char *const kinds[] = {"window:64", "window:64+global:4", "random:8",
                                        "linear",    "blocked:64",         "strided:64"};
    for (size_t k = 0; k < COUNT(kinds); k++) {
        tiny_model_make(&model, causal_configs[2]);
        model.config.mechanism = mechanism_of(kinds[k]);
        ck_assert(!config_describe(&model.config, NULL));
        size_t once = attention_bytes(&model.config, 4096, 4096, 1);
        size_t twice = attention_bytes(&model.config, 8192, 8192, 1);
        ck_assert_uint_le(twice, 2 * once + 1024);
        tiny_model_release(&model);
    }
}

/* For texts that are longer than the window. */
TEST(working_memory_of_a_window_is_constant)
{
    static const char *const kinds[] = {"window:64", "window:1"};
    for (size_t k = 0; k < COUNT(kinds); k++) {
        tiny_model_make(&model, causal_configs[2]);
        model.config.mechanism = mechanism_of(kinds[k]);
        ck_assert(!config_describe(&model.config, NULL));
        ck_assert_uint_eq(attention_bytes(&model.config, 65536, 65536, 1),
                          attention_bytes(&model.config, 512, 512, 1));
        tiny_model_release(&model);
    }
}
