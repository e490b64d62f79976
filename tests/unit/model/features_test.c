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
#include "measure/score_attribution.h"
#include "pass/back.h"
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
    struct text_with_source text = {0};
    struct patching_plan plan = {
        .viewer = &viewer, .clean = &text, .corrupt = &text, .question = &question};
    struct patching patching;
    return patching_make(&patching, &plan, &arena, &err);
}

static int try_circuits(void)
{
    return circuits_check(&viewer.model, false, &err);
}

static int try_words(void)
{
    return circuits_check(&viewer.model, true, &err);
}

static int try_gradients(void)
{
    const struct batch none = {0};
    struct tape tape = {.arena = &arena};
    return tape_run(&tape, &(struct run){.config = &viewer.model.config, .batch = &none}, &err);
}

static int try_scores(void)
{
    struct score_plan plan = {.viewer = &viewer};
    struct score_attribution found;
    struct report report = {0};
    return score_attribution_make(&found, &report, &plan, NULL, &arena, &err);
}

static int try_train(void)
{
    return train_step_check(&viewer.model.config, &err);
}

static const struct wing {
    char letter;
    enum purpose purpose;
    int (*try)(void);
} wings[] = {
    {'e', TO_EXPLAIN, try_explain},      {'a', TO_ATTRIBUTE, try_attribution},
    {'p', TO_PATCH, try_patching},       {'c', FOR_CIRCUITS, try_circuits},
    {'w', FOR_WORDS, try_words},         {'t', TO_TRAIN, try_train},
    {'g', FOR_GRADIENTS, try_gradients}, {'s', FOR_SCORES, try_scores},
};

/* --- configs with one feature ----------------------------------------------------------------- */

static const struct config plain = {
    .kind = MODEL_GPT2,
    .family = &family_own[MODEL_GPT2],
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
#define SET(words, field, ...)                                   \
    words, offsetof(struct config, field), sizeof MEMBER(field), \
        (const __typeof__(MEMBER(field))[])                      \
    {                                                            \
        __VA_ARGS__                                              \
    }

/* Of each feature, the value of a field that makes it. */
static const struct planted {
    const char *words;
    size_t offset, size;
    const void *value;
} planted[] = {
    {SET("attention layers alone", kind, MODEL_ATTENTION)},
    {SET("an encoder", n_encoder_layer, 1)},
    {SET("an encoder with other heads", n_encoder_head, 1)},
    {SET("an encoder with another vocabulary", n_encoder_vocab, 1)},
    {SET("keys that heads share", n_kv_head, 2)},
    {SET("values of another size than keys", d_v, 4)},
    {SET("scaled embeddings", embedding_scale, 2)},
    {SET("masks without an embedding", drops_masks, true)},
    {SET("sinusoidal positions", sinusoids, true)},
    {SET("norms after sublayers", style, STYLE_POST)},
    {SET("a last stream without a norm", final_norm, false)},
    {SET("scores divided by the layer's number", scale_by_layer, true)},
    {SET("attention to later tokens", causal, false)},
    {SET("attention to a second text", cross, true)},
    {SET("queries that are the input", projections, false)},
    {SET("heads without an output projection", out_proj, false)},
    {SET("a bias of the logits", biases, BIASED_LOGITS)},
    {SET("a projection of embeddings", n_word, 4)},
    {SET("positions that begin later", position_offset, 2)},
    {SET("a norm of embeddings", embedding_norm, true)},
    {SET("segments", n_segments, 2)},
    {SET("layers that share parameters", n_group, 1)},
    {SET("layers without a first norm", layer_flags, {LAYER_FIRST_PLAIN})},
    {SET("positions without padding", counted, true)},
    {SET("a dense layer at the end", end, END_MASKED)},
    {SET("classes in place of tokens", n_class, 2)},
    {SET("a mean of all tokens before the classes", answers, ANSWER_OF_MEAN)},
    {SET("RMS norms", rms, true)},
    {SET("scales of norms that are 1 + w", norm_offset, true)},
    {SET("layer norms without a shift", norm_shift, false)},
    {SET("norms of sublayer outputs", style, STYLE_SANDWICH)},
    {SET("sublayers that read the stream without a norm", style, STYLE_AFTER)},
    {SET("attention and MLP in parallel", style, STYLE_PARALLEL)},
    {SET("a norm that sublayers share", style, STYLE_ONE_NORM)},
    {SET("sums with the normed stream", style, STYLE_TO_NORMED)},
    {SET("a normed stream", style, STYLE_POST_STREAM)},
    {SET("gated MLPs", gated, true)},
    {SET("attention sinks of the softmax", sinks, true)},
    {SET("clamped MLPs", clamp, 7)},
    {SET("clamped MLPs", up_offset, 1)},
    {SET("experts", mixture, {.experts = 4, .chosen = {2}})},
    {SET("norms of queries and keys", head_norm, {.q = true, .k = true})},
    {SET("a norm of queries or of keys alone", head_norm, {.k = true})},
    {SET("norms of heads with scales of their own", head_norm, {.own = true})},
    {SET("norms after rotary embeddings", head_norm, {.after_rotary = true})},
    {SET("ALiBi from the last key", score_bias, BIAS_ALIBI_FROM_END)},
    {SET("an activation with parameters", xielu, true)},
    {SET("norms without scales", norm_plain, true)},
    {SET("differences of heads", differs, true)},
    {SET("clipped queries, keys and values", clip, 8)},
    {SET("norms of all heads together", head_norm, {.whole = true})},
    {SET("layer norms of queries and keys", head_norm, {.q = true, .k = true})},
    {SET("ALiBi", score_bias, BIAS_ALIBI)},
    {SET("ALiBi in both directions", score_bias, BIAS_ALIBI_APART)},
    {SET("norms of sums before they are added", adds_twice, true)},
    {SET("scaled ALiBi", score_bias, BIAS_ALIBI_ROUNDED)},
    {SET("biases of distances", score_bias, BIAS_BUCKETS)},
    {SET("disentangled attention", score_bias, BIAS_DISENTANGLED)},
    {SET("rotary embeddings", rotary, {.components = 8})},
    {SET("channels without rotary embeddings", rotary, {.components = 4})},
    {SET("latent attention", latent_kv, 4)},
    {SET("rotary embeddings of the last channels", rotary, {.components = 4, .first = 4})},
    {SET("rotary embeddings of neighbours", rotary, {.neighbours = true})},
    {SET("linear rotary scaling", rotary, {.scaling = ROTARY_LINEAR})},
    {SET("dynamic rotary scaling", rotary, {.scaling = ROTARY_DYNAMIC})},
    {SET("llama3 rotary scaling", rotary, {.scaling = ROTARY_LLAMA3})},
    {SET("yarn rotary scaling", rotary, {.scaling = ROTARY_YARN})},
    {SET("longrope scaling", rotary, {.scaling = ROTARY_LONGROPE})},
    {SET("proportional rotary scaling", rotary, {.scaling = ROTARY_PROPORTIONAL})},
    {SET("layers with heads of other sizes", layer_flags, {LAYER_WIDE})},
    {SET("norms of values", head_norm, {.v = true})},
    {SET("keys of other layers", n_borrowing, 1)},
    {SET("layers that keep a state", mixer, {.heads = 2, .key_heads = 1, .d_k = 4, .d_v = 4})},
    {SET("layers of one sublayer", layer_flags, {LAYER_NO_MLP})},
    {SET("gates of the context", head_gate, GATE_LOGISTIC)},
    {SET("inputs of single layers", given, 4)},
    {SET("scaled layers", layer_scale, true)},
    {SET("copies of the stream", copies, {.count = 2})},
    {SET("low-rank branches beside attention", laurel, 4)},
    {SET("sparse gates", sparsity, {0.5f})},
    {SET("MLPs of different widths", inners, {8})},
    {SET("experts beside the MLP", mixture, {.experts = 4, .chosen = {2}, .beside = true})},
    {SET("experts without gates", mixture, {.experts = 4, .chosen = {2}})},
    {SET("experts of narrow vectors", mixture, {.experts = 4, .chosen = {2}, .latent = 4})},
    {SET("queries that grow with their positions", rotary, {.components = 8, .growth = 0.1})},
    {SET("two kinds of rotary embeddings", rotary_local, {.components = 8})},
    {SET("sliding windows", window, 4)},
    {SET("soft caps of scores", score_cap, 4)},
    {SET("soft caps of logits", logit_cap, 4)},
    {SET("scaled sublayer outputs", residual_scale, {2})},
    {SET("factors of products", factors, {{{BRANCH_TEXT, SLOT_K, 2, 1}}})},
    {SET("divided logits", logit_divisor, 2)},
    {SET("layers without rotary embeddings", layer_flags, {LAYER_UNROTATED})},
    /* kinds that were added to an enum, but not to the features */
    {SET("another kind of attention, norm or rotation", kind,
         (enum model_kind)(MODEL_DECODER + 1))},
    {SET("another kind of sublayer", score_bias, (enum score_bias)(BIAS_DISENTANGLED + 1))},
    {SET("another kind of attention, norm or rotation", rotary,
         {.scaling = (enum rotary_scaling)(ROTARY_PROPORTIONAL + 1)})},
    {SET("another kind of attention, norm or rotation", biases, 1024)},
    {SET("another kind of attention, norm or rotation", layer_flags, {256})},
};

/* Of each feature that no config has yet, a field of a sublayer that makes it, with its words. */
#define RULE(words, member, kind, ...)                                                      \
    words, kind, offsetof(struct sublayer, member), sizeof(((struct sublayer *)0)->member), \
        (const __typeof__(((struct sublayer *)0)->member)[])                                \
    {                                                                                       \
        __VA_ARGS__                                                                         \
    }

static const struct ruled {
    const char *words;
    enum sublayer_kind kind;
    size_t offset, size;
    const void *value;
} ruled[] = {
    {RULE("another kind of sublayer", kind, SUBLAYER_ATTEND,
          (enum sublayer_kind)(SUBLAYER_MIX + 1))},
    {RULE("another kind of sublayer", reads, SUBLAYER_ATTEND,
          (enum sublayer_input)(READS_LAST_INPUT + 1))},
    {RULE("another kind of sublayer", score.bias, SUBLAYER_ATTEND, BIAS_DISENTANGLED + 1)},
};

/* Features of the ends of a stack that no field alone makes. */
static const char *const ends[] = {"sines before cosines",
                                   "another kind of positions",
                                   "a projection of positions",
                                   "windows with later tokens",
                                   "a decoder that attends to later tokens",
                                   "values that are keys"};

static bool has(const struct feature_list *list, const char *words)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->words[i], words) == 0)
            return true;
    return false;
}

static void find_features(struct feature_list *list, enum purpose purpose, const struct config *of)
{
    struct config config = *of;
    ck_assert(!config_describe(&config, NULL));
    features_find(list, purpose, &config);
    config_release(&config);
}

TEST_LOOP(what_a_sublayer_may_have_and_no_config_has_is_found_and_not_computed, COUNT(ruled))
{
    const struct ruled *r = &ruled[_i];
    struct feature_list none = {.count = 0}, found = {.count = 0};
    struct config config = plain;
    ck_assert(!config_describe(&config, NULL));
    struct sublayer s = layer_of(&config, BRANCH_TEXT, 0)->sublayers[r->kind == SUBLAYER_MLP];
    features_of_sublayer(&none, NO_PURPOSE, &s, &config);
    ck_assert_uint_eq(none.count, 0);
    memcpy((char *)&s + r->offset, r->value, r->size);
    features_of_sublayer(&found, TO_RUN, &s, &config);
    ck_assert(has(&found, r->words));
    config_release(&config);
}

TEST(a_plain_config_has_no_feature_and_every_feature_is_planted)
{
    struct feature_list none = {.count = 0};
    find_features(&none, NO_PURPOSE, &plain);
    ck_assert_uint_eq(none.count, 0);
    for (size_t k = 0; k < feature_count; k++) {
        bool is_planted = false;
        for (size_t i = 0; i < COUNT(planted); i++)
            is_planted |= strcmp(planted[i].words, feature_words[k]) == 0;
        for (size_t i = 0; i < COUNT(ruled); i++)
            is_planted |= strcmp(ruled[i].words, feature_words[k]) == 0;
        for (size_t i = 0; i < COUNT(ends); i++)
            is_planted |= strcmp(ends[i], feature_words[k]) == 0;
        ck_assert_msg(is_planted, "%s", feature_words[k]);
    }
}

TEST_LOOP(wings_refuse_by_name_each_feature_that_they_do_not_support, COUNT(planted))
{
    const struct planted *p = &planted[_i];
    struct feature_list all = {.count = 0};
    viewer.model = (struct model){.name = "planted", .config = plain};
    memcpy((char *)&viewer.model.config + p->offset, p->value, p->size);
    ck_assert(!config_describe(&viewer.model.config, NULL));
    features_find(&all, NO_PURPOSE, &viewer.model.config);
    ck_assert(has(&all, p->words));
    for (const struct wing *wing = wings; wing < wings + COUNT(wings); wing++) {
        struct feature_list list = {.count = 0};
        features_find(&list, wing->purpose, &viewer.model.config);
        if (!has(&list, p->words))
            continue;
        ck_assert(wing->try());
        ck_assert_msg(err.kind == ERR_UNSUPPORTED && strstr(err.text, "expected a "), "%c: %s",
                      wing->letter, err.text);
        ck_assert_msg(strstr(err.text, p->words) || !strstr(err.text, "without"), "%s", err.text);
        err = (struct err){0};
    }
    config_release(&viewer.model.config);
}

/* --- golden models ---------------------------------------------------------------------------- */

static void add_file(struct feature_list *all, const char *path)
{
    struct file file = {0};
    struct config config;
    int failed = file_map(&file, path, &err) || config_parse(&config, file.bytes, file.size, &err);
    ck_assert_msg(!failed, "%s: %s", path, err.text);
    file_release(&file);
    find_features(all, NO_PURPOSE, &config);
}

/* Add the features of all models in a folder: FOLDER/NAME/config.json, or FOLDER/NAME.json. */
static void add_folder(struct feature_list *all, const char *folder)
{
    DIR *open = opendir(folder);
    ck_assert_msg(open, "%s (run from the repository's root)", folder);
    for (const struct dirent *item = readdir(open); item; item = readdir(open)) {
        char path[512];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s/config.json", folder, item->d_name);
        if (stat(path, &status))
            snprintf(path, sizeof path, "%s/%s", folder, item->d_name);
        if (strstr(path, ".json") && item->d_name[0] != '.')
            add_file(all, path);
    }
    closedir(open);
}

/* Scores divided by the layer's number are tested elsewhere, too: attention_kinds_test.c,
 * explanation_test.c. Files, not configs, have classes: golden-families/bert-classes. */
static const struct checked {
    char wing;
    const char *folders[3];
    bool has_layer_scale;
} checked[] = {
    {'e', {"tests/references/golden", "tests/references/golden-families"}, true}, /* walk_check.c */
    {'a',
     {"tests/references/golden", "tests/references/golden-families"},
     true}, /* suites: attribution, */
    {'p', {"tests/references/golden", "tests/references/golden-families"}, true}, /* patching, */
    {'c',
     {"tests/references/golden", "tests/references/golden-families"},
     true}, /* head_circuits, */
    {'w', {"tests/references/golden", "tests/references/golden-families"}, true}, /* the same, */
    {'t', {"tests/references/golden", "tests/references/golden-families"}, true}, /* back, */
    {'g', {"tests/references/golden", "tests/references/golden-families"}, true}, /* gradients, */
    {'s',
     {"tests/references/golden", "tests/references/golden-families"},
     true}, /* score_attribution */
};

TEST_LOOP(a_golden_model_has_each_feature_that_a_wing_supports, COUNT(checked))
{
    const struct checked *c = &checked[_i];
    struct feature_list golden = {.count = 0};
    ck_assert_int_eq(wings[_i].letter, c->wing);
    for (const char *const *folder = c->folders; *folder; folder++)
        add_folder(&golden, *folder);
    for (const struct planted *p = planted; p < planted + COUNT(planted); p++) {
        struct config config = plain;
        struct feature_list refused = {.count = 0};
        memcpy((char *)&config + p->offset, p->value, p->size);
        find_features(&refused, wings[_i].purpose, &config);
        bool elsewhere = c->has_layer_scale && strstr(p->words, "the layer's number");
        elsewhere |= strstr(p->words, "classes") != NULL;
        ck_assert_msg(has(&refused, p->words) || has(&golden, p->words) || elsewhere, "%c: %s",
                      c->wing, p->words);
    }
}
