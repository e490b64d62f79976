#include "pass/pass.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/forward_rig.h"
#include "../rigs/patience.h"
#include "pass/tap.h"

enum { LENGTH = 70 };

/* clang-format off */
static const char gpt2[] =
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 80, "n_embd": 12, "n_layer": 2,
          "n_head": 3});
static const char one_panel_a_head[] =
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 80, "n_embd": 192, "n_layer": 2,
          "n_head": 3});
static const char grouped[] =
    JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 12, "n_layer": 2, "n_head": 6,
          "n_kv_head": 2, "d_k": 5, "d_v": 4, "causal": true, "out_proj": true, "bias": true});
static const char one_layer[] =
    JSON({"model_type": "gpt2", "vocab_size": 40, "n_positions": 80, "n_embd": 12, "n_layer": 1,
          "n_head": 3});
static const char bare[] =
    JSON({"model_type": "attention", "vocab_size": 40, "n_embd": 12, "n_layer": 2, "n_head": 3,
          "projections": false});
/* clang-format on */

static struct tiny_model model;
static struct rig rig;
static enum precision precision;

static void run(struct recording *seen)
{
    struct err err = {0};
    struct text text = {.ids = rig_ids(&model, 0, LENGTH), .count = LENGTH};
    *seen = (struct recording){0};
    ck_assert_msg(!rig_run(&rig, seen, &text, 1, &err), "%s", err.text);
}

/* Run with all sites with heads of the last layer watched. `memory` NULL: a new arena. */
static void run_heads(struct recording *seen, struct span heads, bool packed, struct arena *memory)
{
    rig_open(&rig, &model, 1);
    rig.memory = memory;
    rig.weights.packing = packed;
    rig.weights.precision = precision;
    rig.watch.first_head = heads.first;
    rig.watch.head_count = heads.count;
    for (int site = SITE_Q; site <= SITE_CONTEXT; site++)
        watch_add(&rig.watch, (enum site)site, model.config.n_layer - 1);
    run(seen);
    rig_close(&rig);
}

/* The key/value heads of some query heads. */
static struct span groups_of(struct span heads)
{
    size_t group = model.config.n_head / model.config.n_kv_head;
    size_t first = heads.first / group;
    return (struct span){first, (heads.first + heads.count - 1) / group + 1 - first};
}

/* Set `columns` of every row from `first` on to NaN, except those of some heads. */
static void poison(const char *name, size_t first, size_t columns, struct span heads, size_t width)
{
    struct tiny_tensor *tensor = tiny_model_tensor(&model, name);
    size_t stride = tensor->shape[tensor->rank - 1];
    for (size_t i = 0; i < tensor->count; i++) {
        size_t column = i % stride - first; /* wraps to a large number before `first` */
        if (column < columns && column / width - heads.first >= heads.count)
            tensor->values[i] = NAN;
    }
}

/* Set all weights of the last layer to NaN on which these heads do not depend. */
static void poison_others(struct span heads)
{
    const struct config *c = &model.config;
    size_t width = c->n_embd;
    struct span groups = groups_of(heads);
    if (c->kind == MODEL_GPT2) {
        for (size_t part = 0; part < 3; part++) {
            poison("h.1.attn.c_attn.weight", part * width, width, heads, c->d_k);
            poison("h.1.attn.c_attn.bias", part * width, width, heads, c->d_k);
        }
    } else if (c->projections) {
        poison("h.1.attn.q_proj.weight", 0, c->n_head * c->d_k, heads, c->d_k);
        poison("h.1.attn.q_proj.bias", 0, c->n_head * c->d_k, heads, c->d_k);
        poison("h.1.attn.k_proj.weight", 0, c->n_kv_head * c->d_k, groups, c->d_k);
        poison("h.1.attn.k_proj.bias", 0, c->n_kv_head * c->d_k, groups, c->d_k);
        poison("h.1.attn.v_proj.weight", 0, c->n_kv_head * c->d_v, groups, c->d_v);
        poison("h.1.attn.v_proj.bias", 0, c->n_kv_head * c->d_v, groups, c->d_v);
    }
    tiny_model_write(&model, 0);
}

/* The watched heads have the bits of a pass that watches all. */
static void check_heads(const struct recording *some, const struct recording *all,
                        struct span heads)
{
    ck_assert_uint_eq(some->count, all->count);
    for (size_t i = 0; i < some->count; i++) {
        const struct record *found = &some->records[i];
        const struct record *expected = &all->records[i];
        bool of_keys = site_row(found->site)->axes == AXES_KV_HEAD_TOKEN_DIM;
        struct span span = of_keys ? groups_of(heads) : heads;
        size_t size = found->shape[1] * found->shape[2];
        ck_assert_int_eq(found->site, expected->site);
        ck_assert_mem_eq(found->shape, expected->shape, sizeof found->shape);
        ck_assert_msg(!memcmp(found->values + span.first * size,
                              expected->values + span.first * size,
                              span.count * size * sizeof *found->values),
                      "heads %zu, %zu of them: %s has other bits", heads.first, heads.count,
                      site_name(found->site));
    }
}

/* In bf16 heads that share a panel with watched ones may be computed, without effect. */
TEST_LOOP(heads_that_are_not_watched_are_not_computed, PRECISIONS)
{
    static const char *const configs[] = {gpt2, one_panel_a_head, grouped, bare};
    static struct recording all, some;
    precision = (enum precision)_i;
    for (size_t i = 0; i < COUNT(configs); i++) {
        tiny_model_make(&model, configs[i]);
        run_heads(&all, (struct span){0}, false, NULL);
        size_t n = model.config.n_head;
        tiny_model_release(&model);
        for (size_t pair = 0; pair < n * n; pair += one_of(2)) {
            struct span heads = {pair / n, 1 + pair % n};
            if (heads.first + heads.count > n)
                continue;
            tiny_model_make(&model, configs[i]);
            poison_others(heads);
            run_heads(&some, heads, pair % 2, NULL);
            check_heads(&some, &all, heads);
            recording_release(&some);
            tiny_model_release(&model);
        }
        recording_release(&all);
    }
}

/* Memory of heads that are not computed, also by earlier layers, may contain anything. */
TEST_LOOP(memory_of_heads_that_are_not_computed_is_not_read, PRECISIONS)
{
    static struct recording seen;
    struct arena memory = {0};
    precision = (enum precision)_i;
    tiny_model_make(&model, one_layer);
    rig_soil(&memory);
    run_heads(&seen, (struct span){1, 1}, false, &memory);
    recording_release(&seen);
    arena_release(&memory);
    tiny_model_release(&model);
}

/* Earlier layers and all sites after attention depend on every head. */
TEST(heads_on_which_a_watched_site_depends_are_computed)
{
    static const struct {
        enum site site;
        size_t layer;
    } uses[] = {{SITE_ATTN_OUT, 1}, {SITE_LOGITS, 0}, {SITE_Q, 1}, {SITE_RESID_PRE, 1}};
    static struct recording all, some;
    for (size_t i = 0; i < COUNT(uses); i++) {
        tiny_model_make(&model, gpt2);
        rig_open(&rig, &model, 1);
        watch_add(&rig.watch, SITE_WEIGHTS, 0);
        watch_add(&rig.watch, uses[i].site, uses[i].layer);
        run(&all);
        rig.watch.first_head = 1;
        rig.watch.head_count = 1;
        run(&some);
        const struct record *weights = &some.records[0];
        const struct record *use = &some.records[1];
        size_t heads = use->rank == 3 ? use->shape[0] : 1;
        size_t size = use->count / heads; /* compare the second of three heads, or all */
        ck_assert_mem_eq(weights->values, all.records[0].values, weights->count * sizeof(float));
        ck_assert_mem_eq(use->values + heads / 2 * size, all.records[1].values + heads / 2 * size,
                         size * sizeof(float));
        recording_release(&all);
        recording_release(&some);
        rig_close(&rig);
        tiny_model_release(&model);
    }
}
