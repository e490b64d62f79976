#include "model/forward.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "../rigs/patience.h"
#include "../rigs/reference_model.h"

/* clang-format off */
static const char odd_sizes[] =
    JSON({"model_type": "gpt2", "vocab_size": 71, "n_positions": 256, "n_embd": 24, "n_layer": 2,
          "n_head": 3, "n_inner": 37});
static const char three_layers[] =
    JSON({"model_type": "gpt2", "vocab_size": 71, "n_positions": 256, "n_embd": 24, "n_layer": 3,
          "n_head": 3, "n_inner": 37});
static const char encoder[] =
    JSON({"model_type": "transformer", "vocab_size": 71, "n_embd": 24, "n_encoder_layer": 1,
          "n_layer": 2, "n_head": 3, "n_inner": 37});
static const char encoder_pre[] =
    JSON({"model_type": "transformer", "vocab_size": 71, "n_embd": 24, "n_encoder_layer": 2,
          "n_layer": 1, "n_head": 3, "norm_first": true, "bias": false});
static const char wide[] =
    JSON({"model_type": "gpt2", "vocab_size": 71, "n_positions": 256, "n_embd": 96, "n_layer": 2,
          "n_head": 3});
static const char two_panels[] =
    JSON({"model_type": "gpt2", "vocab_size": 71, "n_positions": 256, "n_embd": 128, "n_layer": 1,
          "n_head": 2});
static const char with_activation[] =
    JSON({"model_type": "gpt2", "vocab_size": 20, "n_positions": 20, "n_embd": 12, "n_layer": 2,
          "n_head": 2, "activation_function": "%s"});
static const char *const configs[] = {
    JSON({"model_type": "gpt2", "vocab_size": 30, "n_positions": 100, "n_embd": 20, "n_layer": 3,
          "n_head": 5, "scale_attn_weights": false}),
    JSON({"model_type": "gpt2", "vocab_size": 30, "n_positions": 100, "n_embd": 20, "n_layer": 4,
          "n_head": 5, "scale_attn_by_inverse_layer_idx": true, "layer_norm_epsilon": 0.5}),
    JSON({"model_type": "gpt2", "vocab_size": 131, "n_positions": 100, "n_embd": 16, "n_layer": 1,
          "n_head": 1, "tie_word_embeddings": false}),
    JSON({"model_type": "gpt2", "vocab_size": 1, "n_positions": 100, "n_embd": 1, "n_layer": 2,
          "n_head": 1, "n_inner": 1}),
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 100, "n_embd": 9, "n_layer": 1,
          "n_head": 9, "n_inner": 129}),
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 100, "n_embd": 146, "n_layer": 1,
          "n_head": 2, "n_inner": 65}),
};
/* clang-format on */

/* Run one text of `length` tokens and hold everything against the reference. */
static void judge_length(struct rig *rig, size_t length)
{
    rig_judge_text(rig, &(struct text){.ids = rig_ids(rig->model, 3, length), .count = length});
}

static void judge_config(const char *config, const size_t *lengths, size_t count)
{
    struct tiny_model model;
    struct rig rig;
    tiny_model_make(&model, config);
    rig_open(&rig, &model, 1);
    rig_watch_all(&rig);
    for (size_t i = 0; i < count; i++)
        judge_length(&rig, lengths[i]);
    rig_close(&rig);
    tiny_model_release(&model);
}

TEST(texts_of_every_length_are_as_the_formulas_say)
{
    static const size_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 130, 200};
    judge_config(odd_sizes, lengths, COUNT(lengths));
}

TEST(every_activation_is_as_the_formulas_say)
{
    static const char *const names[] = {"gelu_new", "gelu_pytorch_tanh", "gelu", "relu", "silu",
                                        "tanh",     "quick_gelu"};
    static const size_t lengths[] = {17};
    for (size_t i = 0; i < COUNT(names); i++) {
        char config[256];
        snprintf(config, sizeof config, with_activation, names[i]);
        judge_config(config, lengths, COUNT(lengths));
    }
}

TEST(every_option_of_a_config_is_as_the_formulas_say)
{
    static const size_t lengths[] = {1, 18, 70};
    for (size_t i = 0; i < COUNT(configs); i++)
        judge_config(configs[i], lengths, COUNT(lengths));
}

/* --- the same bits ---------------------------------------------------------------------------- */

/* These hold for products of each precision. */
static void open_with(struct rig *rig, struct tiny_model *model, enum precision precision,
                      size_t threads)
{
    rig_open(rig, model, threads);
    rig->weights.precision = precision;
}

/* Everything in `part` has the bits that it has in `whole`. */
static void check_same(const struct recording *part, size_t part_index,
                       const struct recording *whole, size_t whole_index)
{
    for (size_t i = 0; i < part->count; i++) {
        const struct record *found = &part->records[i];
        if (found->text != part_index)
            continue;
        const struct record *expected =
            recording_find(whole, found->site, found->layer, whole_index);
        ck_assert_ptr_nonnull(expected);
        ck_assert_mem_eq(found->shape, expected->shape, found->rank * sizeof *found->shape);
        ck_assert_msg(!memcmp(found->values, expected->values, found->count * sizeof(float)),
                      "layer %d, %s: other bits", found->layer, site_rows[found->site].name);
    }
}

/* A text of 70 tokens, everything watched. */
static void run_whole(struct rig *rig, struct recording *seen, struct text *text)
{
    struct err err = {0};
    *text = (struct text){.ids = rig_ids(rig->model, 0, 70), .count = 70};
    if (rig->model->config.cross) {
        text->source_ids = rig_ids(rig->model, 90, 80);
        text->source_count = 80;
    }
    *seen = (struct recording){0};
    rig_watch_all(rig);
    ck_assert_msg(!rig_run(rig, seen, text, 1, &err), "%s", err.text);
}

static void watch_alone(struct rig *rig, const struct recording *whole, const struct text *text,
                        enum site site, size_t layer)
{
    static struct recording alone;
    alone = (struct recording){0};
    rig_watch_nothing(rig);
    watch_add(&rig->watch, site, layer);
    ck_assert_int_eq(rig_run(rig, &alone, text, 1, NULL), 0);
    ck_assert_msg(alone.count == 1, "%s", site_rows[site].name);
    ck_assert_int_eq(alone.records[0].site, site);
    ck_assert_int_eq(alone.records[0].layer, site_rows[site].in_layer ? (int)layer : -1);
    check_same(&alone, 0, whole, 0);
    recording_release(&alone);
}

TEST_LOOP(a_site_watched_alone_has_the_bits_it_has_among_all, PRECISIONS)
{
    static const char *const models[] = {three_layers, encoder, encoder_pre};
    static struct recording whole;
    for (size_t i = 0; i < COUNT(models); i++) {
        struct tiny_model model;
        struct text text;
        struct rig rig;
        tiny_model_make(&model, models[i]);
        open_with(&rig, &model, (enum precision)_i, 1);
        run_whole(&rig, &whole, &text);
        for (int site = 0; site < SITE_COUNT; site++)
            for (size_t layer = 0; layer < rig_layers(&rig, (enum site)site); layer++)
                watch_alone(&rig, &whole, &text, (enum site)site, layer);
        recording_release(&whole);
        rig_close(&rig);
        tiny_model_release(&model);
    }
}

/* The second layer of one site, where it has two, and the first of another. */
static void watch_two(struct rig *rig, const struct recording *whole, const struct text *text,
                      enum site one, enum site other)
{
    static struct recording both;
    size_t layers = rig_layers(rig, one);
    if (layers == 0 || rig_layers(rig, other) == 0)
        return;
    both = (struct recording){0};
    rig_watch_nothing(rig);
    watch_add(&rig->watch, one, layers > 1);
    watch_add(&rig->watch, other, 0);
    ck_assert_int_eq(rig_run(rig, &both, text, 1, NULL), 0);
    ck_assert_uint_eq(both.count, one == other && layers == 1 ? 1 : 2);
    check_same(&both, 0, whole, 0);
    recording_release(&both);
}

TEST_LOOP(two_sites_watched_together_have_the_bits_they_have_among_all, PRECISIONS)
{
    static const char *const models[] = {three_layers, encoder};
    static struct recording whole;
    for (size_t i = 0; i < COUNT(models); i++) {
        struct tiny_model model;
        struct text text;
        struct rig rig;
        tiny_model_make(&model, models[i]);
        open_with(&rig, &model, (enum precision)_i, 1);
        run_whole(&rig, &whole, &text);
        for (int pair = 0; pair < SITE_COUNT * SITE_COUNT; pair += (int)one_of(5))
            watch_two(&rig, &whole, &text, (enum site)(pair / SITE_COUNT),
                      (enum site)(pair % SITE_COUNT));
        recording_release(&whole);
        rig_close(&rig);
        tiny_model_release(&model);
    }
}

static const size_t ragged_lengths[] = {1, 64, 7, 130, 2, 65, 16};

/* Seven texts of other lengths, everything watched. */
static void run_ragged(struct rig *rig, struct recording *seen, struct text *texts)
{
    struct err err = {0};
    for (size_t s = 0; s < COUNT(ragged_lengths); s++)
        texts[s] = (struct text){.ids = rig_ids(rig->model, 100 * s, ragged_lengths[s]),
                                 .count = ragged_lengths[s]};
    *seen = (struct recording){0};
    rig_watch_all(rig);
    ck_assert_msg(!rig_run(rig, seen, texts, COUNT(ragged_lengths), &err), "%s", err.text);
}

TEST_LOOP(a_text_in_a_batch_has_the_bits_it_has_alone, PRECISIONS)
{
    static struct recording batch, alone;
    struct text texts[COUNT(ragged_lengths)];
    struct tiny_model model;
    struct rig rig;
    tiny_model_make(&model, three_layers);
    open_with(&rig, &model, (enum precision)_i, 1);
    run_ragged(&rig, &batch, texts);
    for (size_t s = 0; s < COUNT(ragged_lengths); s++) {
        alone = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &alone, &texts[s], 1, NULL), 0);
        ck_assert_uint_eq(alone.count * COUNT(ragged_lengths), batch.count);
        check_same(&alone, 0, &batch, s);
        if (_i == PRECISION_FP32)
            rig_judge(&rig, &batch, s, &texts[s]);
        recording_release(&alone);
    }
    recording_release(&batch);
    rig_close(&rig);
    tiny_model_release(&model);
}

/* Large enough that the pool shares the work. */
TEST_LOOP(threads_do_not_change_a_bit, PRECISIONS)
{
    static struct recording one, several;
    struct text texts[COUNT(ragged_lengths)];
    struct tiny_model model;
    struct rig rig;
    tiny_model_make(&model, wide);
    open_with(&rig, &model, (enum precision)_i, 1);
    run_ragged(&rig, &one, texts);
    rig_close(&rig);
    for (size_t threads = 2; threads <= 3; threads += one_of(2)) {
        open_with(&rig, &model, (enum precision)_i, threads);
        run_ragged(&rig, &several, texts);
        ck_assert_uint_eq(several.count, one.count);
        for (size_t s = 0; s < COUNT(texts); s++)
            check_same(&several, s, &one, s);
        recording_release(&several);
        rig_close(&rig);
    }
    recording_release(&one);
    tiny_model_release(&model);
}

TEST_LOOP(weights_of_every_type_and_place_give_the_same_bits, PRECISIONS)
{
    static const struct {
        enum dtype dtype;
        size_t shift;
    } cases[] = {{DTYPE_F16, 0}, {DTYPE_BF16, 0}, {DTYPE_F64, 0},  {DTYPE_F32, 1}, {DTYPE_F32, 2},
                 {DTYPE_F32, 4}, {DTYPE_F16, 1},  {DTYPE_BF16, 3}, {DTYPE_F64, 5}};
    static struct recording plain, other;
    struct tiny_model model;
    struct text text;
    struct rig rig;
    tiny_model_make(&model, three_layers);
    open_with(&rig, &model, (enum precision)_i, 1);
    run_whole(&rig, &plain, &text);
    rig_close(&rig);
    for (size_t i = 0; i < COUNT(cases); i++) {
        tiny_model_retype(&model, cases[i].dtype);
        tiny_model_write(&model, cases[i].shift);
        open_with(&rig, &model, (enum precision)_i, 1);
        run_whole(&rig, &other, &text);
        ck_assert_uint_eq(other.count, plain.count);
        check_same(&other, 0, &plain, 0);
        recording_release(&other);
        rig_close(&rig);
    }
    recording_release(&plain);
    tiny_model_release(&model);
}

/* Where q, k and v are cut at the edges of panels, and where they are not. */
TEST(packed_weights_give_the_same_bits)
{
    static const char *const shapes[] = {three_layers, wide, two_panels};
    static struct recording plain, packed;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct tiny_model model;
        struct text text;
        struct rig rig;
        tiny_model_make(&model, shapes[i]);
        rig_open(&rig, &model, 1);
        run_whole(&rig, &plain, &text);
        rig.weights.packing = rig.weights.packing_words = true;
        for (int times = 0; times < 2; times++) { /* the second time they are there */
            run_whole(&rig, &packed, &text);
            ck_assert_uint_eq(packed.count, plain.count);
            check_same(&packed, 0, &plain, 0);
            recording_release(&packed);
        }
        recording_release(&plain);
        rig_close(&rig);
        tiny_model_release(&model);
    }
}
