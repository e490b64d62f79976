#include "model/features.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../unit.h"
#include "base/file.h"
#include "explain/explanation.h"
#include "measure/attribution.h"
#include "measure/head_circuits.h"
#include "measure/patching.h"
#include "model/family/family.h"
#include "train/train_step.h"

/* --- the wings -------------------------------------------------------------------------------- */

static struct viewer viewer;
static struct arena arena;
static struct err err;

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, leave)

/* Each is refused before anything else is read. */
static int try_explain(void)
{
    return explanation_make(NULL, &viewer, NULL, NULL, &arena, &err);
}

static int try_attribution(void)
{
    struct question question = {0};
    struct attribution_plan plan = {&viewer, BY_PART, &question, 0};
    struct attribution attribution;
    struct report report = {0};
    return attribution_make(&attribution, &report, &plan, &arena, &err);
}

static int try_patching(void)
{
    struct question question = {0};
    struct tokenized text = {0};
    struct patching_plan plan = {
        .viewer = &viewer, .clean = &text, .corrupt = &text, .question = &question};
    struct patching patching;
    return patching_make(&patching, &plan, &arena, &err);
}

static int try_circuits(void)
{
    return circuits_check(&viewer.model, false, &err);
}

static int try_train(void)
{
    return train_step_check(&viewer.model.config, &err);
}

static const struct wing {
    char letter;
    const uint64_t *features;
    int (*try)(void);
} wings[] = {
    {'e', &explain_features, try_explain},   {'a', &attribution_features, try_attribution},
    {'p', &patching_features, try_patching}, {'c', &circuit_features, try_circuits},
    {'t', &train_features, try_train},
};

/* --- configs with one feature ----------------------------------------------------------------- */

static const struct config plain = {
    .kind = MODEL_GPT2,
    .family = &family_rows[MODEL_GPT2],
    .n_layer = 1,
    .n_head = 4,
    .n_kv_head = 4,
    .d_k = 8,
    .d_v = 8,
    .embedding_scale = 1,
    .style = STYLE_PRE,
    .final_norm = true,
    .causal = true,
    .projections = true,
    .out_proj = true,
    .norm_shift = true,
    .layer_flags = {LAYER_WINDOW},
};

#define MEMBER(field) (((struct config *)0)->field)
#define SET(id, field, ...)                                             \
    FEATURE_##id, offsetof(struct config, field), sizeof MEMBER(field), \
        (const __typeof__(MEMBER(field))[])                             \
    {                                                                   \
        __VA_ARGS__                                                     \
    }

/* Of each feature, the value of a field that makes it, and the letters of the wings that support
 * it. A feature that no golden model has is supported by none. */
static const struct planted {
    enum feature feature;
    size_t offset, size;
    const void *value;
    const char *wings;
    uint64_t others; /* features of the same value */
} planted[] = {
    {SET(ATTENTION_ALONE, kind, MODEL_ATTENTION), "e"},
    {SET(ENCODER, n_encoder_layer, 1), "ec", HAS(CROSS)},
    {SET(SHARED_KEYS, n_kv_head, 2), "eapct"},
    {SET(VALUE_SIZE, d_v, 4), "e"},
    {SET(EMBEDDING_SCALE, embedding_scale, 2), "eapct"},
    {SET(SINUSOIDS, sinusoids, true), "ec"},
    {SET(NORMS_LAST, style, STYLE_POST), "eapc"},
    {SET(NO_FINAL_NORM, final_norm, false), "eapc"},
    {SET(LAYER_SCALE, scale_by_layer, true), "eapct"},
    {SET(BIDIRECTIONAL, causal, false), "e"},
    {SET(CROSS, cross, true), "ec"},
    {SET(NO_PROJECTIONS, projections, false), "e"},
    {SET(NO_OUT_PROJ, out_proj, false), "e"},
    {SET(LOGIT_BIAS, biases, BIAS_LOGITS), "eapct"},
    {SET(WORD_PROJECTION, n_word, 4), "eapc"},
    {SET(POSITION_OFFSET, position_offset, 2), "eapct"},
    {SET(EMBEDDING_NORM, embedding_norm, true), "eapc"},
    {SET(RMS, rms, true), "eapct"},
    {SET(NORM_OFFSET, norm_offset, true), "eapct"},
    {SET(NO_SHIFT, norm_shift, false), ""},
    {SET(NORM_OUT, style, STYLE_SANDWICH), "eapc"},
    {SET(NO_NORM_IN, style, STYLE_AFTER), "eapc", HAS(NORM_OUT)},
    {SET(PARALLEL, style, STYLE_PARALLEL), "eapct"},
    {SET(SHARED_NORM, style, STYLE_ONE_NORM), "eapct", HAS(PARALLEL)},
    {SET(RESIDUAL_NORMED, style, STYLE_TO_NORMED), "eapc"},
    {SET(STREAM_NORMED, style, STYLE_POST_STREAM), "eapc", HAS(NORMS_LAST)},
    {SET(GATED, gated, true), "eapct"},
    {SET(HEAD_NORM, head_norm, HEAD_NORM_SHARED), "eapct", HAS(HEAD_NORM_MEAN)},
    {SET(HEAD_NORM_WHOLE, head_norm, HEAD_NORM_WHOLE), "eapc",
     HAS(HEAD_NORM) | HAS(HEAD_NORM_MEAN)},
    {SET(HEAD_NORM_MEAN, head_norm, HEAD_NORM_SHARED), "", HAS(HEAD_NORM)},
    {SET(ALIBI, score_bias, BIAS_ALIBI), "eapc"},
    {SET(ALIBI_SCALED, score_bias, BIAS_ALIBI_ROUNDED), "eapc", HAS(ALIBI)},
    {SET(ROTARY, rotary, {.components = 8}), "eapct"},
    {SET(ROTARY_PART, rotary, {.components = 4}), "eapct", HAS(ROTARY)},
    {SET(ROTARY_PAIRS, rotary, {.neighbours = true}), "eapct"},
    {SET(ROTARY_LINEAR, rotary, {.scaling = ROTARY_LINEAR}), "eapct"},
    {SET(ROTARY_DYNAMIC, rotary, {.scaling = ROTARY_DYNAMIC}), "eapct"},
    {SET(ROTARY_LLAMA3, rotary, {.scaling = ROTARY_LLAMA3}), "eapct"},
    {SET(ROTARY_YARN, rotary, {.scaling = ROTARY_YARN}), "eapct"},
    {SET(ROTARY_LONGROPE, rotary, {.scaling = ROTARY_LONGROPE}), "eapct"},
    {SET(ROTARY_LOCAL, rotary_local, {.components = 8}), "eapc"},
    {SET(WINDOW, window, 4), "eapct"},
    {SET(SCORE_CAP, score_cap, 4), "eapc"},
    {SET(LOGIT_CAP, logit_cap, 4), "eapc"},
    {SET(RESIDUAL_SCALE, residual_scale, 2), "eapct"},
    {SET(LOGIT_DIVISOR, logit_divisor, 2), "eapct"},
    {SET(UNROTATED, layer_flags, {LAYER_UNROTATED}), "eapct"},
    /* kinds that were added to an enum, but not to the features */
    {SET(OTHER, kind, (enum model_kind)(MODEL_DECODER + 1)), ""},
    {SET(OTHER_RULE, head_norm, (enum head_norm)(HEAD_NORM_WHOLE + 1)), "",
     HAS(HEAD_NORM) | HAS(HEAD_NORM_MEAN)},
    {SET(OTHER_RULE, score_bias, (enum score_bias)(BIAS_BUCKETS + 1)), ""},
    {SET(OTHER, rotary, {.scaling = (enum rotary_scaling)(ROTARY_LONGROPE + 1)}), ""},
    {SET(OTHER, biases, 16), ""},
    {SET(OTHER, layer_flags, {8}), ""},
};

/* Of each feature that no config has yet, a field of a sublayer that makes it, with its words. */
#define RULE(id, member, kind, ...)                                                                \
    FEATURE_##id, kind, offsetof(struct sublayer, member), sizeof(((struct sublayer *)0)->member), \
        (const __typeof__(((struct sublayer *)0)->member)[])                                       \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static const struct ruled {
    enum feature feature;
    enum sublayer_kind kind;
    size_t offset, size;
    const void *value;
    const char *words;
} ruled[] = {
    {RULE(LATENT, head.by, SUBLAYER_ATTEND, HEADS_LATENT), "latent attention"},
    {RULE(NORM_AFTER_ROTARY, head.norm_after_rotary, SUBLAYER_ATTEND, true),
     "norms after rotary embeddings"},
    {RULE(ROTARY_FIRST, head.rotary_first, SUBLAYER_ATTEND, 2),
     "rotary embeddings of the last channels"},
    {RULE(CLIP, head.clip, SUBLAYER_ATTEND, 8), "clipped queries, keys and values"},
    {RULE(ALIBI_FROM_END, score.bias, SUBLAYER_ATTEND, BIAS_ALIBI_FROM_END),
     "ALiBi from the last key"},
    {RULE(BUCKETS, score.bias, SUBLAYER_ATTEND, BIAS_BUCKETS), "biases of distances"},
    {RULE(WINDOW_AHEAD, score.ahead, SUBLAYER_ATTEND, 4), "windows with later tokens"},
    {RULE(SINK, score.sink, SUBLAYER_ATTEND, true), "attention sinks of the softmax"},
    {RULE(CLAMP, mlp.clamp, SUBLAYER_MLP, 7), "clamped MLPs"},
    {RULE(CLAMP, mlp.up_offset, SUBLAYER_MLP, 1), "clamped MLPs"},
    {RULE(EXPERTS, mlp.experts, SUBLAYER_MLP, 4), "experts"},
    {RULE(OTHER_RULE, kind, SUBLAYER_ATTEND, (enum sublayer_kind)(SUBLAYER_MLP + 1)),
     "another kind of sublayer"},
    {RULE(OTHER_RULE, reads, SUBLAYER_ATTEND, (enum sublayer_input)(READS_LAST_INPUT + 1)),
     "another kind of sublayer"},
    {RULE(OTHER_RULE, score.bias, SUBLAYER_ATTEND, BIAS_BUCKETS + 1), "another kind of sublayer"},
};

/* Features of the ends of a stack that no config has yet. */
static const uint64_t ends = HAS(OTHER_POSITIONS) | HAS(SEGMENTS) | HAS(OTHER_END);

TEST_LOOP(the_pass_and_the_wings_refuse_what_a_sublayer_may_have_and_no_config_has, COUNT(ruled))
{
    const struct ruled *r = &ruled[_i];
    uint64_t feature = UINT64_C(1) << r->feature;
    struct sublayer list[SUBLAYERS_MAX];
    layer_read(list, &plain, PART_SENTENCE, 0);
    struct sublayer *s = &list[r->kind == SUBLAYER_MLP];
    ck_assert_uint_eq(sublayer_features(s, &plain), 0);
    memcpy((char *)s + r->offset, r->value, r->size);
    ck_assert(sublayer_features(s, &plain) & feature);
    ck_assert(!(pass_features & (feature | ends)));
    ck_assert(features_refuse(pass_features, feature, &plain, "to run", &err));
    ck_assert_msg(err.kind == ERR_UNSUPPORTED && strstr(err.text, r->words), "%s", err.text);
    for (const struct wing *wing = wings; wing < wings + COUNT(wings); wing++)
        ck_assert_msg(!(*wing->features & ~pass_features), "%c", wing->letter);
}

TEST(a_plain_config_has_no_feature_and_every_feature_is_planted)
{
    uint64_t all = ends;
    for (size_t i = 0; i < COUNT(planted); i++)
        all |= UINT64_C(1) << planted[i].feature;
    for (size_t i = 0; i < COUNT(ruled); i++)
        all |= UINT64_C(1) << ruled[i].feature;
    ck_assert_uint_eq(config_features(&plain), 0);
    ck_assert_uint_eq(all, UINT64_MAX >> (64 - FEATURE_COUNT));
}

TEST_LOOP(wings_refuse_each_feature_that_they_do_not_declare, COUNT(planted))
{
    const struct planted *p = &planted[_i];
    uint64_t feature = UINT64_C(1) << p->feature;
    viewer.model = (struct model){.name = "planted", .config = plain};
    memcpy((char *)&viewer.model.config + p->offset, p->value, p->size);
    ck_assert_uint_eq(config_features(&viewer.model.config), feature | p->others);
    for (const struct wing *wing = wings; wing < wings + COUNT(wings); wing++) {
        bool supports = strchr(p->wings, wing->letter);
        ck_assert_msg(!(*wing->features & feature) == !supports, "%c", wing->letter);
        ck_assert(!features_expect(feature | p->others, &viewer.model.config, "to train", &err));
        if (supports)
            continue;
        ck_assert(wing->try());
        ck_assert_msg(err.kind == ERR_UNSUPPORTED && strstr(err.text, "expected a "), "%c: %s",
                      wing->letter, err.text);
        err = (struct err){0};
    }
}

/* --- golden models ---------------------------------------------------------------------------- */

static uint64_t features_of_file(const char *path)
{
    struct file file = {0};
    struct config config;
    int failed = file_map(&file, path, &err) || config_parse(&config, file.bytes, file.size, &err);
    ck_assert_msg(!failed, "%s: %s", path, err.text);
    file_release(&file);
    return config_features(&config);
}

/* The features of all models in a folder: FOLDER/NAME/config.json, or FOLDER/NAME.json. */
static uint64_t features_of_folder(const char *folder)
{
    DIR *open = opendir(folder);
    uint64_t all = 0;
    ck_assert_msg(open, "%s (run from the repository's root)", folder);
    for (const struct dirent *item = readdir(open); item; item = readdir(open)) {
        char path[512];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s/config.json", folder, item->d_name);
        if (stat(path, &status))
            snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
        if (strstr(path, ".json") && item->d_name[0] != '.')
            all |= features_of_file(path);
    }
    closedir(open);
    return all;
}

static const struct checked {
    char wing;
    const char *folders[3];
    uint64_t elsewhere; /* attention_kinds_test.c, explanation_test.c */
} checked[] = {
    {'e', {"tests/golden", "tests/golden-families"}, HAS(LAYER_SCALE)}, /* walk_check.c */
    {'a', {"tests/golden-families"}, HAS(LAYER_SCALE)},                 /* suites: attribution, */
    {'p', {"tests/golden-families"}, HAS(LAYER_SCALE)},                 /* patching, */
    {'c', {"tests/golden", "tests/golden-families"}, HAS(LAYER_SCALE)}, /* head_circuits, */
    {'t', {"tests/training"}},                                          /* train_step */
};

TEST_LOOP(a_golden_model_has_each_feature_that_a_wing_declares, COUNT(checked))
{
    uint64_t golden = checked[_i].elsewhere;
    for (const char *const *folder = checked[_i].folders; *folder; folder++)
        golden |= features_of_folder(*folder);
    ck_assert_int_eq(wings[_i].letter, checked[_i].wing);
    for (enum feature i = 0; i < FEATURE_COUNT; i++)
        ck_assert_msg(!(*wings[_i].features & ~golden & UINT64_C(1) << i), "%c: feature %d",
                      checked[_i].wing, i);
}
