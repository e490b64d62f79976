/* Every kind of attention in models with windows, score caps or ALiBi. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/bent_config.h"
#include "../rigs/forward_rig.h"
#include "../rigs/patience.h"
#include "model/layer.h"
#include "pass/tap.h"

/* clang-format off */
static const char *const configs[] = {
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 150, "n_embd": 12, "n_layer": 2,
          "n_head": 3, "scale_attn_by_inverse_layer_idx": true}),
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 6, "n_kv_head": 2,
          "d_k": 7, "d_v": 3, "causal": true, "out_proj": true, "n_layer": 3}),
};
/* clang-format on */

static const char *const kinds[] = {
    "dense",
    "window:4",
    "window:100",
    "strided:3",
    "random:5:2",
    "window:5+global:3",
    "window:20+global:12",
    "window:20+global:3+strided:7+random:2:1",
    "blocked:1",
    "blocked:7",
    "blocked:64",
    "linear",
};

enum { LINEAR = COUNT(kinds) - 1, TOKENS = 130 };

static struct rig rig;
static struct tiny_model model;

/* False if models of this kind have no such attention. */
static bool open_rig(const char *config, size_t way, const char *kind, struct mechanism mechanism)
{
    tiny_model_make(&model, config);
    bend_config(&model.config, way);
    ck_assert_int_eq(mechanism_set_attention(&mechanism, kind, NULL), 0);
    model.config.mechanism = mechanism;
    if (mechanism_check(&mechanism, &model.config, NULL)) {
        ck_assert_str_eq(kind, "linear");
        ck_assert_uint_ge(way, BENT_WINDOWS);
        tiny_model_release(&model);
        return false;
    }
    rig_open(&rig, &model, 2);
    rig_watch_all(&rig);
    return true;
}

static void close_rig(void)
{
    rig_close(&rig);
    tiny_model_release(&model);
}

static struct text text_of(size_t count)
{
    return (struct text){.ids = rig_ids(&model, 5, count), .count = count};
}

TEST_LOOP(every_kind_of_attention_agrees_with_its_definition, COUNT(kinds))
{
    static const size_t lengths[] = {1, 17, 130};
    for (size_t way = 0; way < BENT_WAYS; way += one_of(3)) {
        const char *config = configs[(way + (size_t)_i) % COUNT(configs)];
        if (!open_rig(config, way, kinds[_i], (struct mechanism){0}))
            continue;
        for (size_t i = 0; i < COUNT(lengths); i++) {
            struct text text = text_of(lengths[i]);
            rig_judge_text(&rig, &text);
        }
        close_rig();
    }
}

/* Values are summed in chains of 256 keys. */
TEST_LOOP(windows_are_exact_around_the_end_of_a_chain, 6)
{
    static const char *const ways[] = {
        "dense", "window:300+global:250", "window:20+global:290", "strided:3", "blocked:64",
        "linear"};
    static const size_t windows[] = {1, 70, 257};
    for (size_t i = 0; i < COUNT(windows); i += one_of(3)) {
        open_rig(configs[1], 1, ways[_i], (struct mechanism){0});
        model.config.window = windows[i];
        ck_assert(!config_describe(&model.config, NULL));
        struct text text = text_of(330);
        rig_judge_text(&rig, &text);
        close_rig();
    }
}

TEST(scale_temperature_and_masks_after_softmax_agree_with_the_definition)
{
    static const struct {
        const char *kind;
        struct mechanism mechanism;
    } cases[] = {
        {"dense", {.temperature = 0.5f}},
        {"window:20+strided:3", {.temperature = 3}},
        {"blocked:7", {.temperature = 3, .scale_method = SCALE_NUMBER, .scale = 2}},
        {"dense", {.scale_method = SCALE_SQRT}},
        {"dense", {.renormalise = true}},
        {"dense", {.renormalise = true, .temperature = 2}},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        for (size_t k = 0; k < COUNT(configs) * BENT_WAYS; k += one_of(5)) {
            open_rig(configs[k % 2], k / 2, cases[i].kind, cases[i].mechanism);
            struct text text = text_of(80);
            rig_judge_text(&rig, &text);
            close_rig();
        }
}

TEST(alibi_is_off_without_positions)
{
    for (size_t way = 0; way < BENT_WAYS; way++) {
        open_rig(configs[0], way, "window:9+global:1",
                 (struct mechanism){.without = 1U << BLOCK_POSITIONS});
        struct text text = text_of(40);
        rig_judge_text(&rig, &text);
        close_rig();
    }
}

/* Every kind of attention that a model has; windows then have later keys, too. */
TEST(without_the_mask_a_query_attends_to_later_keys)
{
    for (size_t k = 0; k < COUNT(kinds) * COUNT(configs) * BENT_WAYS; k += one_of(5)) {
        size_t i = k % COUNT(kinds), way = k / COUNT(kinds);
        if (!open_rig(configs[way % 2], way / 2, kinds[i],
                      (struct mechanism){.seed = 3, .without = 1U << BLOCK_MASK}))
            continue;
        struct text text = text_of(80);
        rig_judge_text(&rig, &text);
        close_rig();
    }
}

/* --- the same bits ---------------------------------------------------------------------------- */

static void run_text(struct recording *seen, size_t count)
{
    struct err err = {0};
    struct text text = text_of(count);
    *seen = (struct recording){0};
    ck_assert_msg(!rig_run(&rig, seen, &text, 1, &err), "%s", err.text);
}

static void check_same(const struct recording *found, const struct recording *expected)
{
    ck_assert_uint_eq(found->count, expected->count);
    for (size_t i = 0; i < found->count; i++) {
        const struct record *one = &found->records[i];
        const struct record *other = recording_find(expected, one->site, one->layer, 0);
        ck_assert_msg(!memcmp(one->values, other->values, one->count * sizeof(float)),
                      "layer %d, %s: other bits", one->layer, site_name(one->site));
    }
}

TEST_LOOP(a_pattern_of_all_keys_has_the_bits_of_dense_attention, BENT_WAYS)
{
    static const char *const all[] = {"window:130", "global:130", "window:100+global:30",
                                      "window:130+strided:3+random:9"};
    static struct recording dense, sparse;
    for (size_t c = 0; c < COUNT(configs); c++) {
        open_rig(configs[c], (size_t)_i, "dense", (struct mechanism){0});
        run_text(&dense, TOKENS);
        close_rig();
        for (size_t k = 0; k < COUNT(all); k++) {
            open_rig(configs[c], (size_t)_i, all[k], (struct mechanism){0});
            run_text(&sparse, TOKENS);
            check_same(&sparse, &dense);
            recording_release(&sparse);
            close_rig();
        }
        recording_release(&dense);
    }
}

TEST(a_window_of_the_model_has_the_bits_of_a_pattern)
{
    static const size_t windows[] = {1, 9, 16, 64, 129, 130, 500};
    static struct recording own, pattern;
    for (size_t i = 0; i < COUNT(windows); i++) {
        char kind[32];
        snprintf(kind, sizeof kind, "window:%zu", windows[i]);
        open_rig(configs[1], BENT_WINDOWS, "dense", (struct mechanism){0});
        model.config.window = windows[i];
        for (size_t layer = 0; layer < 3; layer++)
            model.config.layer_flags[layer] = LAYER_WINDOW;
        ck_assert(!config_describe(&model.config, NULL));
        run_text(&own, TOKENS);
        close_rig();
        open_rig(configs[1], BENT_WINDOWS, kind, (struct mechanism){0});
        run_text(&pattern, TOKENS);
        check_same(&pattern, &own);
        recording_release(&own);
        recording_release(&pattern);
        close_rig();
    }
}

TEST_LOOP(a_window_as_long_as_the_text_does_not_change_a_bit, COUNT(kinds))
{
    static struct recording open, windowed;
    for (size_t c = 0; c < COUNT(configs); c++) {
        tiny_model_make(&model, configs[c]);
        ck_assert_int_eq(mechanism_set_attention(&model.config.mechanism, kinds[_i], NULL), 0);
        rig_open(&rig, &model, 1);
        rig_watch_all(&rig);
        run_text(&open, TOKENS);
        model.config.window = TOKENS;
        for (size_t layer = 0; layer < 3; layer++)
            model.config.layer_flags[layer] = LAYER_WINDOW;
        ck_assert(!config_describe(&model.config, NULL));
        run_text(&windowed, TOKENS);
        check_same(&windowed, &open);
        recording_release(&open);
        recording_release(&windowed);
        close_rig();
    }
}

TEST_LOOP(watched_sites_do_not_change_a_bit, BENT_WAYS)
{
    static struct recording all, some;
    for (size_t k = 0; k < COUNT(kinds); k += one_of(3)) {
        if (!open_rig(configs[1], (size_t)_i, kinds[k], (struct mechanism){0}))
            continue;
        run_text(&all, TOKENS);
        rig_watch_nothing(&rig);
        watch_add(&rig.watch, SITE_CONTEXT, 2);
        run_text(&some, TOKENS);
        const struct record *expected = recording_find(&all, SITE_CONTEXT, 2, 0);
        for (size_t i = 0; i < expected->count; i++)
            ck_assert_msg(some.records[0].values[i] == expected->values[i], "%s: other bits at %zu",
                          kinds[k], i);
        recording_release(&some);
        recording_release(&all);
        close_rig();
    }
}

/* --- errors ----------------------------------------------------------------------------------- */

TEST(a_query_without_visible_keys_is_an_error)
{
    struct err err = {0};
    static struct recording seen;
    open_rig(configs[1], 0, "global:2", (struct mechanism){0});
    struct text text = text_of(10);
    ck_assert_int_eq(rig_run(&rig, &seen, &text, 1, &err), 0); /* the last token sees keys 1 … 9 */
    recording_release(&seen);
    text = text_of(11);
    seen = (struct recording){0};
    ck_assert_int_eq(rig_run(&rig, &seen, &text, 1, &err), -1);
    ck_assert_str_eq(err.text, "'h.0.weights' of L0H0: expected at least one visible key for each "
                               "query, found none with both --attention and the model's window: "
                               "add 'window:1+…' (text 0)");
    recording_release(&seen);
    close_rig();
}
