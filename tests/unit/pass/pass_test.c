#include "pass/pass.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/patience.h"
#include "../rigs/small_models.h"
#include "model/points.h"
#include "pass/tap.h"

/* clang-format off */
static const char encoder_pre[] =
    JSON({"model_type": "transformer", "vocab_size": 40, "n_embd": 12, "n_encoder_layer": 2,
          "n_layer": 2, "n_head": 3, "norm_first": true, "positions": "learned", "n_positions": 30,
          "final_norm": false});
/* clang-format on */

static struct tiny_model model;
static struct rig rig;
static struct recording seen;

/* True if a pass that watches only `one` continues after `other`. */
static bool comes_after(const struct record *one, const struct record *other)
{
    rig_watch_nothing(&rig);
    watch_add(&rig.watch, one->site, (size_t)(one->layer < 0 ? 0 : one->layer));
    size_t layer = (size_t)(other->layer < 0 ? 0 : other->layer);
    return rig.watch.end > site_order(&model.config, other->site, layer);
}

static void check_order(const char *config, size_t sites)
{
    tiny_model_make(&model, config);
    rig_open(&rig, &model, 1);
    rig_watch_all(&rig);
    struct text texts[2] = {small_text(&model), small_text(&model)};
    seen = (struct recording){0};
    ck_assert_int_eq(rig_run(&rig, &seen, texts, 2, NULL), 0);
    ck_assert_uint_eq(seen.count, 2 * sites);
    for (size_t i = 1; i < seen.count; i++) {
        ck_assert_uint_eq(seen.records[i].text, i % 2);
        if (i % 2 == 0)
            ck_assert_msg(comes_after(&seen.records[i], &seen.records[i - 1]), "%s after %s",
                          site_name(seen.records[i].site), site_name(seen.records[i - 1].site));
    }
    recording_release(&seen);
    rig_close(&rig);
    tiny_model_release(&model);
}

TEST(announcements_are_in_the_order_of_the_pass)
{
    check_order(small_gpt2, 3 + 2 * 15);
    check_order(small_cross, 2 + 2 * 8);
    check_order(small_encoder, 2 + 2 * 15 + 1 + 2 * 25 + 2);
    check_order(encoder_pre, 2 + 2 * 15 + 2 * 25 + 1);
}

/* The part of a tensor. */
static enum site_branch part_of(const char *tensor)
{
    return strncmp(tensor, "enc.", 4) == 0 ? BRANCH_SOURCE
           : strstr(tensor, "cross")       ? BRANCH_CROSS
                                           : BRANCH_TEXT;
}

/* The first site that uses a tensor. */
static enum site first_use(const char *tensor)
{
    static const struct {
        const char *ending;
        enum site site;
    } uses[] = {
        {"wte.weight", SITE_EMBEDDING},
        {"wpe.weight", SITE_EMBEDDING},
        {".ln_1.weight", SITE_LN_1},
        {".ln_1.bias", SITE_LN_1},
        {".c_attn.weight", SITE_Q},
        {".c_attn.bias", SITE_Q},
        {"attn.c_proj.weight", SITE_ATTN_OUT},
        {"attn.c_proj.bias", SITE_ATTN_OUT},
        {".ln_2.weight", SITE_LN_2},
        {".ln_2.bias", SITE_LN_2},
        {".c_fc.weight", SITE_MLP_ACT},
        {".c_fc.bias", SITE_MLP_ACT},
        {"mlp.c_proj.weight", SITE_MLP_OUT},
        {"mlp.c_proj.bias", SITE_MLP_OUT},
        {"ln_f.weight", SITE_LN_F},
        {"ln_f.bias", SITE_LN_F},
        {"lm_head.weight", SITE_LOGITS},
        {".q_proj.", SITE_Q},
        {".k_proj.", SITE_K},
        {".v_proj.", SITE_V},
        {".out_proj.", SITE_ATTN_OUT},
        {".ln_cross.", SITE_LN_1},
    };
    for (size_t i = 0; i < COUNT(uses); i++)
        if (strstr(tensor, uses[i].ending))
            return SITE_OF(part_of(tensor), uses[i].site);
    ck_abort_msg("unknown tensor '%s'", tensor);
    return SITE_PASS_END;
}

static bool is_used_after(const char *tensor, enum site site, size_t layer)
{
    struct watch watch;
    struct arena arena = {0};
    const char *dot = strchr(tensor, '.');
    bool in_layer = dot[1] >= '0' && dot[1] <= '9';
    ck_assert_int_eq(watch_init(&watch, &model.config, &arena, NULL), 0);
    watch_add(&watch, first_use(tensor), in_layer ? (size_t)(dot[1] - '0') : 0);
    bool after = watch.end > site_order(&model.config, site, layer);
    arena_release(&arena);
    return after;
}

/* Run with one site watched and the tensors that `is_poisoned` selects set to NaN, an error if they
 * are used. */
static int run_poisoned(const char *config, enum site site, size_t layer,
                        bool (*is_poisoned)(const char *tensor, enum site site, size_t layer),
                        struct err *err)
{
    tiny_model_make(&model, config);
    for (size_t t = 0; t < model.count; t++)
        for (size_t i = 0; i < model.tensors[t].count; i++)
            if (is_poisoned(model.tensors[t].name, site, layer))
                model.tensors[t].values[i] = NAN;
    tiny_model_write(&model, 0);
    rig_open(&rig, &model, 1);
    watch_add(&rig.watch, site, layer);
    int failed = small_run(&rig, &seen, err);
    rig_close(&rig);
    tiny_model_release(&model);
    return failed;
}

/* Count the layers of each site in a model. */
static void count_layers(size_t layers[SITE_COUNT], const char *config)
{
    tiny_model_make(&model, config);
    rig_open(&rig, &model, 1);
    for (enum site site = 0; site != SITE_PASS_END; site = site_next(site))
        layers[site] = rig_layers(&rig, site);
    rig_close(&rig);
    tiny_model_release(&model);
}

TEST(sites_after_the_last_watched_one_are_not_computed)
{
    static const char *const configs[] = {small_gpt2, small_encoder};
    size_t layers[SITE_COUNT] = {0};
    for (size_t i = 0; i < COUNT(configs) * SITE_COUNT; i += one_of(5)) {
        const char *config = configs[i / SITE_COUNT];
        enum site site = (enum site)(i % SITE_COUNT);
        if (i % SITE_COUNT == 0)
            count_layers(layers, config);
        for (size_t layer = 0; layer < layers[site]; layer++) {
            struct err err;
            int failed = run_poisoned(config, site, layer, is_used_after, &err);
            ck_assert_msg(!failed, "%s of layer %zu: %s", site_name(site), layer, err.text);
            ck_assert_uint_eq(seen.count, 1);
        }
    }
}

static bool is_of_encoder(const char *tensor, enum site site, size_t layer)
{
    (void)site, (void)layer;
    return part_of(tensor) == BRANCH_SOURCE;
}

TEST(an_encoder_is_run_only_if_a_watched_site_needs_it)
{
    static const struct {
        enum site site;
        size_t layer;
        bool needs_it;
    } cases[] = {
        {SITE_EMBEDDING, 0, false},
        {SITE_WEIGHTS, 0, false},
        {SITE_RESID_MID, 0, false},
        {SITE_OF(BRANCH_CROSS, SITE_Q), 0, false},
        {SITE_OF(BRANCH_CROSS, SITE_K), 0, true},
        {SITE_OF(BRANCH_CROSS, SITE_WEIGHTS), 0, true},
        {SITE_WEIGHTS, 1, true},
        {SITE_LOGITS, 0, true},
        {SITE_OF(BRANCH_SOURCE, SITE_Q), 0, true},
        {SITE_OF(BRANCH_SOURCE, SITE_EMBEDDING), 0, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err;
        int failed =
            run_poisoned(small_encoder, cases[i].site, cases[i].layer, is_of_encoder, &err);
        ck_assert_msg(!failed == !cases[i].needs_it, "%s %zu: %s", site_name(cases[i].site),
                      cases[i].layer, err.text);
    }
}
