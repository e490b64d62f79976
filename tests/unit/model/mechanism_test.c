#include "model/mechanism.h"

#include <math.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "base/buf.h"

/* clang-format off */
static const char causal[] =
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 6, "n_kv_head": 2,
          "d_k": 7, "d_v": 3, "causal": true, "out_proj": true, "n_layer": 2});
/* clang-format on */

static struct rig rig;
static struct tiny_model model;

static void open_rig(struct mechanism mechanism, size_t threads)
{
    tiny_model_make(&model, causal);
    model.config.mechanism = mechanism;
    ck_assert_int_eq(mechanism_check(&model.config.mechanism, &model.config, NULL), 0);
    rig_open(&rig, &model, threads);
    rig_watch_all(&rig);
}

static void close_rig(void)
{
    rig_close(&rig);
    tiny_model_release(&model);
}

static void run_text(struct recording *seen, size_t count)
{
    struct err err = {0};
    struct text text = {.ids = rig_ids(&model, 3, count), .count = count};
    *seen = (struct recording){0};
    ck_assert_msg(!rig_run(&rig, seen, &text, 1, &err), "%s", err.text);
}

/* Weights are 0 or multiplied by 1 / (1 - P), and the context is their weighted sum. */
static void check_dropped(const struct recording *plain, const struct recording *dropped,
                          size_t count)
{
    const struct config *c = &model.config;
    const struct record *whole = recording_find(plain, SITE_WEIGHTS, 0, 0);
    const struct record *weights = recording_find(dropped, SITE_WEIGHTS, 0, 0);
    const struct record *v = recording_find(dropped, SITE_V, 0, 0);
    const struct record *context = recording_find(dropped, SITE_CONTEXT, 0, 0);
    size_t gone = 0;
    size_t there = 0;
    for (size_t row = 0; row < c->n_head * count; row++) {
        size_t group = row / count / (c->n_head / c->n_kv_head);
        const float *w = weights->values + row * count;
        for (size_t key = 0; key < count; key++) {
            double expected = (double)whole->values[row * count + key] / 0.7;
            there += expected > 0;
            gone += expected > 0 && w[key] == 0;
            ck_assert(w[key] == 0 || fabs((double)w[key] - expected) < 1e-6);
        }
        for (size_t i = 0; i < c->d_v; i++) {
            double sum = 0;
            for (size_t key = 0; key < count; key++)
                sum += (double)w[key] * (double)v->values[(group * count + key) * c->d_v + i];
            ck_assert_double_eq_tol((double)context->values[row * c->d_v + i], sum, 1e-6);
        }
    }
    double share = (double)gone / (double)there;
    ck_assert_double_eq_tol(share, 0.3, 4 * sqrt(0.21 / (double)there));
}

static const struct mechanism droppable[] = {
    {0},
    {.renormalise = true},
    {.kind = ATTENTION_SPARSE, .pattern = {.window = 30, .global = 2, .stride = 9}},
    {.kind = ATTENTION_BLOCKED, .block = 7},
};

TEST(dropout_sets_weights_to_0_and_scales_the_others)
{
    static struct recording plain, dropped;
    for (size_t i = 0; i < COUNT(droppable); i++) {
        struct mechanism mechanism = droppable[i];
        open_rig(mechanism, 1);
        run_text(&plain, 90);
        close_rig();
        mechanism.dropout = 0.3f;
        open_rig(mechanism, 1);
        run_text(&dropped, 90);
        check_dropped(&plain, &dropped, 90);
        close_rig();
        recording_release(&plain);
        recording_release(&dropped);
    }
}

TEST(threads_and_batches_do_not_change_dropped_weights)
{
    static struct recording batch, alone;
    for (size_t i = 0; i < COUNT(droppable); i++) {
        struct mechanism mechanism = droppable[i];
        mechanism.dropout = 0.3f;
        mechanism.seed = 11;
        open_rig(mechanism, 3);
        struct text texts[] = {{.ids = rig_ids(&model, 3, 40), .count = 40},
                               {.ids = rig_ids(&model, 3, 70), .count = 70}};
        batch = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &batch, texts, 2, NULL), 0);
        close_rig();
        open_rig(mechanism, 1);
        run_text(&alone, 40);
        for (size_t r = 0; r < alone.count; r++) {
            const struct record *found = &alone.records[r];
            const struct record *expected = recording_find(&batch, found->site, found->layer, 0);
            ck_assert_mem_eq(found->values, expected->values, found->count * sizeof(float));
        }
        close_rig();
        recording_release(&batch);
        recording_release(&alone);
    }
}

/* --- names ------------------------------------------------------------------------------------ */

static void expect_words(const struct mechanism *mechanism, const char *expected)
{
    struct buf words = {0};
    mechanism_write(&words, mechanism);
    ck_assert_str_eq(words.bytes ? words.bytes : "", expected);
    buf_release(&words);
}

TEST(every_kind_of_attention_is_read_and_written)
{
    static const struct {
        const char *text, *words;
        enum attention_kind kind;
        struct pattern pattern;
        size_t block;
    } cases[] = {
        {"dense", "", ATTENTION_DENSE, {0}, 0},
        {"window:4", "attention window:4", ATTENTION_SPARSE, {.window = 4}, 0},
        {"strided:100000000",
         "attention strided:100000000",
         ATTENTION_SPARSE,
         {.stride = 100000000},
         0},
        {"global:1", "attention global:1", ATTENTION_SPARSE, {.global = 1}, 0},
        {"random:3", "attention random:3:7", ATTENTION_SPARSE, {.random = 3, .seed = 7}, 0},
        {"random:3:0", "attention random:3:0", ATTENTION_SPARSE, {.random = 3}, 0},
        {"random:3:9223372036854775807",
         "attention random:3:9223372036854775807",
         ATTENTION_SPARSE,
         {.random = 3, .seed = 9223372036854775807u},
         0},
        {"global:2+random:1:5+window:3",
         "attention window:3+global:2+random:1:5",
         ATTENTION_SPARSE,
         {.window = 3, .global = 2, .random = 1, .seed = 5},
         0},
        {"linear", "attention linear", ATTENTION_LINEAR, {0}, 0},
        {"blocked:64", "attention blocked:64", ATTENTION_BLOCKED, {0}, 64},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct mechanism mechanism = {.seed = 7};
        ck_assert_int_eq(mechanism_set_attention(&mechanism, cases[i].text, NULL), 0);
        ck_assert_int_eq(mechanism.kind, cases[i].kind);
        ck_assert_mem_eq(&mechanism.pattern, &cases[i].pattern, sizeof mechanism.pattern);
        ck_assert_uint_eq(mechanism.block, cases[i].block);
        expect_words(&mechanism, cases[i].words);
    }
}

TEST(every_difference_from_the_model_is_written)
{
    struct mechanism mechanism = {.seed = 7, .temperature = 0.5f, .dropout = 0.1f};
    ck_assert_int_eq(mechanism_set_attention(&mechanism, "window:2", NULL), 0);
    ck_assert_int_eq(mechanism_set_scale(&mechanism, "sqrt", NULL), 0);
    ck_assert_int_eq(mechanism_set_without(&mechanism, "mask,norm", NULL), 0);
    expect_words(&mechanism,
                 "attention window:2, scale sqrt, attention-temperature 0.5, dropout 0.1 seed 7, "
                 "without norm, without mask");
}
