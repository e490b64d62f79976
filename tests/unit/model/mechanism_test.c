#include "model/mechanism.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "../rigs/patience.h"
#include "model/cache.h"

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 90, "n_embd": 12, "n_layer": 2,
          "n_head": 3, "tie_word_embeddings": false});
static const char causal[] =
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 10, "n_head": 6, "n_kv_head": 2,
          "d_k": 7, "d_v": 3, "causal": true, "out_proj": true, "n_layer": 2});
static const char open_to_all[] =
    JSON({"model_type": "attention", "vocab_size": 19, "n_embd": 12, "n_head": 3});
/* Norms after the sums, and before. */
static const char post[] =
    JSON({"model_type": "transformer", "vocab_size": 40, "n_embd": 12, "n_layer": 2,
          "n_encoder_layer": 2, "n_head": 3, "n_inner": 16});
static const char pre[] =
    JSON({"model_type": "transformer", "vocab_size": 40, "n_embd": 12, "n_layer": 1,
          "n_encoder_layer": 1, "n_head": 2, "n_inner": 8, "norm_first": true, "final_norm": true});
/* clang-format on */

static struct rig rig;
static struct tiny_model model;

static void open_rig(const char *config, struct mechanism mechanism, size_t threads)
{
    tiny_model_make(&model, config);
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

static struct text text_of(size_t count)
{
    struct text text = {.ids = rig_ids(&model, 3, count), .count = count};
    if (model.config.cross) {
        text.source_ids = rig_ids(&model, 200, count + 5);
        text.source_count = count + 5;
    }
    return text;
}

static void run_text(struct recording *seen, size_t count)
{
    struct err err = {0};
    struct text text = text_of(count);
    *seen = (struct recording){0};
    ck_assert_msg(!rig_run(&rig, seen, &text, 1, &err), "%s", err.text);
}

/* Against the formulas, in double. */
static void judge(const char *config, struct mechanism mechanism)
{
    static const size_t lengths[] = {1, 18, 80};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        open_rig(config, mechanism, 1);
        struct text text = text_of(lengths[i]);
        rig_judge_text(&rig, &text);
        close_rig();
    }
}

TEST(scale_and_temperature_are_as_the_formulas_say)
{
    static const struct mechanism cases[] = {
        {.scale_method = SCALE_SQRT},
        {.scale_method = SCALE_NUMBER, .scale = 1},
        {.scale_method = SCALE_NUMBER, .scale = -3},
        {.temperature = 0.25f},
        {.temperature = 40, .scale_method = SCALE_NUMBER, .scale = 2},
        {.kind = ATTENTION_SPARSE, .pattern = {.window = 5}, .temperature = 3},
        {.kind = ATTENTION_BLOCKED, .block = 9, .scale_method = SCALE_NUMBER, .scale = 2},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        judge(gpt2, cases[i]);
        judge(causal, cases[i]);
        judge(post, cases[i]);
    }
}

TEST(every_choice_of_parts_is_as_the_formulas_say)
{
    for (unsigned without = 0; without < 1U << BLOCK_PARTS; without += (unsigned)one_of(3)) {
        judge(gpt2, (struct mechanism){.without = without});
        judge(post, (struct mechanism){.without = without});
        judge(pre, (struct mechanism){.without = without});
    }
}

TEST(the_mask_behind_the_softmax_is_as_the_formulas_say)
{
    judge(gpt2, (struct mechanism){.renormalise = true});
    judge(causal, (struct mechanism){.renormalise = true, .temperature = 2});
    judge(pre, (struct mechanism){.renormalise = true});
}

TEST(both_ways_to_mask_agree)
{
    static struct recording before, after;
    open_rig(causal, (struct mechanism){0}, 1);
    run_text(&before, 70);
    close_rig();
    open_rig(causal, (struct mechanism){.renormalise = true}, 1);
    run_text(&after, 70);
    close_rig();
    static const enum site sites[] = {SITE_WEIGHTS, SITE_CONTEXT, SITE_ATTN_OUT};
    for (size_t i = 0; i < COUNT(sites); i++) {
        const struct record *expected = recording_find(&before, sites[i], 1, 0);
        const struct record *found = recording_find(&after, sites[i], 1, 0);
        for (size_t k = 0; k < expected->count; k++)
            ck_assert_double_eq_tol((double)found->values[k], (double)expected->values[k], 1e-6);
    }
    recording_release(&before);
    recording_release(&after);
}

/* Where all the weight lies in the future, nothing is left to divide. */
TEST(a_row_that_the_late_mask_empties_is_an_error)
{
    struct err err = {0};
    open_rig(causal,
             (struct mechanism){.renormalise = true, .scale_method = SCALE_NUMBER, .scale = 100000},
             1);
    struct text text = {.ids = rig_ids(&model, 3, 40), .count = 40};
    static struct recording seen;
    seen = (struct recording){0};
    ck_assert_int_eq(rig_run(&rig, &seen, &text, 1, &err), -1);
    ck_assert_str_eq(err.text, "'h.0.weights' head 0: expected rows that sum to more than 0, found "
                               "one of 0 (text 0)");
    recording_release(&seen);
    close_rig();
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* Weights are 0 or heavier by 1 / (1 - P), and the context is theirs. */
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

TEST(dropout_leaves_weights_out_and_makes_the_others_heavier)
{
    static struct recording plain, dropped;
    for (size_t i = 0; i < COUNT(droppable); i++) {
        struct mechanism mechanism = droppable[i];
        open_rig(causal, mechanism, 1);
        run_text(&plain, 90);
        close_rig();
        mechanism.dropout = 0.3f;
        open_rig(causal, mechanism, 1);
        run_text(&dropped, 90);
        check_dropped(&plain, &dropped, 90);
        close_rig();
        recording_release(&plain);
        recording_release(&dropped);
    }
}

TEST(a_seed_drops_the_same_whatever_the_threads_and_the_batch)
{
    static struct recording batch, alone;
    for (size_t i = 0; i < COUNT(droppable); i++) {
        struct mechanism mechanism = droppable[i];
        mechanism.dropout = 0.3f;
        mechanism.seed = 11;
        open_rig(causal, mechanism, 3);
        struct text texts[] = {{.ids = rig_ids(&model, 3, 40), .count = 40},
                               {.ids = rig_ids(&model, 3, 70), .count = 70}};
        batch = (struct recording){0};
        ck_assert_int_eq(rig_run(&rig, &batch, texts, 2, NULL), 0);
        close_rig();
        open_rig(causal, mechanism, 1);
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

TEST(heads_and_seeds_lose_other_weights_and_texts_the_same)
{
    static struct recording one, other;
    struct mechanism mechanism = {.dropout = 0.5f, .seed = 1};
    open_rig(open_to_all, mechanism, 1);
    struct text texts[] = {{.ids = rig_ids(&model, 3, 20), .count = 20},
                           {.ids = rig_ids(&model, 3, 20), .count = 20}};
    one = (struct recording){0};
    ck_assert_int_eq(rig_run(&rig, &one, texts, 2, NULL), 0);
    close_rig();
    mechanism.seed = 2;
    open_rig(open_to_all, mechanism, 1);
    run_text(&other, 20);
    close_rig();
    const struct record *first = recording_find(&one, SITE_WEIGHTS, 0, 0);
    const struct record *second = recording_find(&one, SITE_WEIGHTS, 0, 1);
    const struct record *seeded = recording_find(&other, SITE_WEIGHTS, 0, 0);
    size_t in_head = 0;
    size_t in_text = 0;
    size_t by_seed = 0;
    for (size_t i = 0; i < 400; i++) {
        bool gone = first->values[i] == 0;
        in_head += gone == (first->values[400 + i] == 0); /* the second head */
        in_text += gone == (second->values[i] == 0);
        by_seed += gone == (seeded->values[i] == 0);
    }
    ck_assert_double_eq_tol((double)in_head, 200, 50); /* five deviations */
    ck_assert_double_eq_tol((double)by_seed, 200, 50);
    ck_assert_uint_eq(in_text, 400);
    recording_release(&one);
    recording_release(&other);
}

/* --- what does not fit ------------------------------------------------------------------------ */

TEST(what_does_not_fit_is_refused)
{
    static const struct config bare = {.kind = MODEL_ATTENTION};
    static const struct config masked = {.kind = MODEL_GPT2, .causal = true};
    static const struct config cross = {.kind = MODEL_ATTENTION, .cross = true};
    static const char unscaled[] = ": expected another --attention than linear beside it: that one "
                                   "takes q and k unscaled, and makes no weights";
    static const struct {
        struct mechanism mechanism;
        const struct config *config;
        const char *option, *message;
    } cases[] = {
        {{.without = 1},
         &bare,
         "--without",
         ": expected a model of type \"gpt2\" or \"transformer\": bare attention "
         "has none of these parts"},
        {{.kind = ATTENTION_SPARSE},
         &cross,
         "--attention",
         ": a pattern is about a text that looks at itself: expected dense, linear or blocked:B "
         "where attention is \"cross\""},
        {{.renormalise = true},
         &bare,
         "--mask-method renormalise",
         ": expected a causal model: this one has no future to mask"},
        {{.renormalise = true, .kind = ATTENTION_BLOCKED},
         &masked,
         "--mask-method renormalise",
         ": expected --attention dense beside it: its softmax is over all keys"},
        {{.kind = ATTENTION_LINEAR, .scale_method = SCALE_SQRT}, &masked, "--scale", unscaled},
        {{.kind = ATTENTION_LINEAR, .temperature = 2}, &masked, "--temperature", unscaled},
        {{.kind = ATTENTION_LINEAR, .dropout = 0.5f}, &masked, "--dropout", unscaled},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[256];
        struct err err = {0};
        snprintf(expected, sizeof expected, "%s%s", cases[i].option, cases[i].message);
        ck_assert_int_eq(mechanism_check(&cases[i].mechanism, cases[i].config, &err), -1);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(err.kind, ERR_USAGE);
    }
}

TEST(a_text_does_not_grow_under_a_mask_behind_the_softmax)
{
    struct config config = {.causal = true, .mechanism.renormalise = true};
    struct cache cache;
    struct err err = {0};
    ck_assert_int_eq(cache_init(&cache, &config, &err), -1);
    ck_assert_str_eq(err.text, "--mask-method renormalise: its softmax sees keys to come, which "
                               "are not known while a text grows: 'attn-cli run' shows it");
    ck_assert_int_eq(err.kind, ERR_USAGE);
}
