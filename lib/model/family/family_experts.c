/* family_experts.c: decoders with experts, but without mixers. It has a table with a row for each
 * family, the names of the families' tensors, and functions that read the keys of config.json that
 * a row cannot describe. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "model/family/family_rows.h"

/* --- names of tensors, and how slots lie in them ---------------------------------------------- */

static const struct family_names experts_names =
    NAMES("model.", "layers.", &family_llama_names, {"mlp.gate", {SLOT_ROUTER}},
          {"mlp.gate.e_score_correction_bias", {SLOT_CORRECTION}, .bare = true},
          {"mlp.experts.{e}.gate_proj", {SLOT_EXPERT_GATE}},
          {"mlp.experts.{e}.up_proj", {SLOT_EXPERT_UP}},
          {"mlp.experts.{e}.down_proj", {SLOT_EXPERT_DOWN}},
          {"mlp.shared_experts.gate_proj", {SLOT_SHARED_GATE}},
          {"mlp.shared_experts.up_proj", {SLOT_SHARED_UP}},
          {"mlp.shared_experts.down_proj", {SLOT_SHARED_DOWN}});

const struct family_names family_qwen2_moe_names =
    NAMES("model.", "layers.", &experts_names, {"mlp.shared_expert.gate_proj", {SLOT_SHARED_GATE}},
          {"mlp.shared_expert.up_proj", {SLOT_SHARED_UP}},
          {"mlp.shared_expert.down_proj", {SLOT_SHARED_DOWN}},
          {"mlp.shared_expert_gate", {SLOT_SHARED_SWITCH}});

static const struct family_names mixtral_names =
    NAMES("model.", "layers.", &family_llama_names, {"block_sparse_moe.gate", {SLOT_ROUTER}},
          {"block_sparse_moe.experts.{e}.w1", {SLOT_EXPERT_GATE}},
          {"block_sparse_moe.experts.{e}.w3", {SLOT_EXPERT_UP}},
          {"block_sparse_moe.experts.{e}.w2", {SLOT_EXPERT_DOWN}});

static const struct family_names minimax_names =
    NAMES("model.", "layers.", &mixtral_names,
          {"block_sparse_moe.e_score_correction_bias", {SLOT_CORRECTION}, .bare = true});

static const struct family_names granite_names = NAMES(
    "model.", "layers.", &family_llama_names, {"block_sparse_moe.router.layer", {SLOT_ROUTER}},
    {"block_sparse_moe.input_linear", {SLOT_EXPERT_GATE, SLOT_EXPERT_UP}, .stacked = true},
    {"block_sparse_moe.output_linear", {SLOT_EXPERT_DOWN}, .stacked = true},
    {"shared_mlp.input_linear", {SLOT_SHARED_GATE, SLOT_SHARED_UP}},
    {"shared_mlp.output_linear", {SLOT_SHARED_DOWN}});

static const struct family_names hunyuan_names = NAMES(
    "model.", "layers.", &experts_names, {"self_attn.query_layernorm", {SLOT_Q_NORM}},
    {"self_attn.key_layernorm", {SLOT_K_NORM}}, {"mlp.gate.wg", {SLOT_ROUTER}},
    {"mlp.shared_mlp.gate_proj", {SLOT_SHARED_GATE}}, {"mlp.shared_mlp.up_proj", {SLOT_SHARED_UP}},
    {"mlp.shared_mlp.down_proj", {SLOT_SHARED_DOWN}});

static const struct family_names ernie_names =
    NAMES("model.", "layers.", &experts_names,
          {"mlp.moe_statics.e_score_correction_bias", {SLOT_CORRECTION}, .bare = true});

static const struct family_names gpt_oss_names =
    NAMES("model.", "layers.", &family_llama_names, {"mlp.router", {SLOT_ROUTER}},
          {"self_attn.sinks", {SLOT_SINKS}, .bare = true},
          {"mlp.experts.gate_up_proj",
           {SLOT_EXPERT_GATE, SLOT_EXPERT_UP},
           .groups = GROUPS_IN_TURN,
           TRANSPOSED,
           .bare = true,
           .stacked = true},
          {"mlp.experts.down_proj", {SLOT_EXPERT_DOWN}, TRANSPOSED, .bare = true, .stacked = true});

static const struct family_names gpt_oss_separate_names =
    NAMES("model.", "layers.", &experts_names, {"mlp.router", {SLOT_ROUTER}},
          {"self_attn.sinks", {SLOT_SINKS}, .bare = true});

const struct family_names family_latent_names =
    NAMES("model.", "layers.", &experts_names, {"self_attn.q_a_proj", {SLOT_Q_DOWN}},
          {"self_attn.q_a_layernorm", {SLOT_Q_DOWN_NORM}}, {"self_attn.q_b_proj", {SLOT_Q_UP}},
          {"self_attn.kv_a_proj_with_mqa", {SLOT_KV_DOWN, SLOT_K_ROTARY}},
          {"self_attn.kv_a_layernorm", {SLOT_KV_DOWN_NORM}},
          {"self_attn.kv_b_proj", {SLOT_K, SLOT_V}, .groups = GROUPS_KV_HEAD});

static const struct family_names dbrx_names =
    NAMES("transformer.", "blocks.", NULL, {"wte", {SLOT_TOKENS}}, {"norm_f", {SLOT_FINAL_NORM}},
          {"lm_head", {SLOT_UNEMBED}}, {"norm_attn_norm.norm_1", {SLOT_NORM_1}},
          {"norm_attn_norm.attn.Wqkv", {SLOT_Q, SLOT_K, SLOT_V}},
          {"norm_attn_norm.attn.out_proj", {SLOT_O}}, {"norm_attn_norm.norm_2", {SLOT_NORM_2}},
          {"ffn.router.layer", {SLOT_ROUTER}},
          {"ffn.experts.mlp.w1", {SLOT_EXPERT_GATE}, .bare = true, .stacked = true, .flat = true},
          {"ffn.experts.mlp.v1", {SLOT_EXPERT_UP}, .bare = true, .stacked = true, .flat = true},
          {"ffn.experts.mlp.w2",
           {SLOT_EXPERT_DOWN},
           TRANSPOSED,
           .bare = true,
           .stacked = true,
           .flat = true});

static const struct family_names dbrx_separate_names =
    NAMES("transformer.", "blocks.", &dbrx_names, {"ffn.experts.{e}.w1", {SLOT_EXPERT_GATE}},
          {"ffn.experts.{e}.v1", {SLOT_EXPERT_UP}}, {"ffn.experts.{e}.w2", {SLOT_EXPERT_DOWN}});

/* --- keys that a row cannot express ----------------------------------------------------------- */

bool family_has_separate_experts(const struct reading *r)
{
    bool has = false;
    json_get_bool(json_given(r->root, "separate_experts"), &has);
    return has;
}

void family_read_experts(struct reading *r, const char *experts, const char *chosen, size_t usual,
                         const char *inner)
{
    struct config *c = r->config;
    struct mixture *m = &c->mixture;
    const struct family *next = c->family + 1;
    /* transformers 5 writes "num_local_experts" in place of the key `experts` */
    const char *const names[FAMILY_NAMES_MAX] = {experts, "num_local_experts"};
    m->experts = (size_t)family_named(r, names, 1, DIMENSION_MAX, (double)m->experts);
    usual = chosen ? family_size(r, chosen, usual) : usual;
    m->inner = inner ? family_size(r, inner, m->inner) : c->n_inner;
    if (!m->inner)
        err_set(family_fail(r), "field '%s': expected a width of experts, found nothing", inner);
    if (family_has_separate_experts(r) && next->name && strchr(next->name, ' '))
        c->family = next; /* the next row of the table, with names of separate experts */
    if (m->experts > EXPERTS_MAX)
        err_set(family_fail(r), "field '%s': expected at most %d, found %zu", experts, EXPERTS_MAX,
                m->experts);
    if (usual > m->experts)
        err_set(family_fail(r), "field '%s': expected at most %s = %zu, found %zu",
                chosen ? chosen : experts, experts, m->experts, usual);
    for (size_t i = 0; i < c->n_layer && i < CONFIG_FLAGS_MAX; i++)
        m->chosen[i] = (unsigned short)usual;
}

static void settle_mixtral(struct reading *r)
{
    family_read_experts(r, "num_local_experts", "num_experts_per_tok", 2, NULL);
    family_settle_window(r);
}

static void settle_minimax(struct reading *r)
{
    family_read_experts(r, "num_local_experts", "num_experts_per_tok", 8, NULL);
}

/* Read the experts of Qwen: their number, how many each token uses, and which layers have them:
 * every n-th layer, where n is "decoder_sparse_step", except the layers in "mlp_only_layers". */
void family_read_qwen_experts(struct reading *r, size_t usual, bool renormalised)
{
    struct config *c = r->config;
    family_read_experts(r, "num_experts", "num_experts_per_tok", usual, "moe_intermediate_size");
    c->mixture.renormalised = family_flag(r, "norm_topk_prob", renormalised);
    size_t step = family_size(r, "decoder_sparse_step", 1);
    const struct json *list = family_list(r, "mlp_only_layers");
    for (size_t i = 0; i < c->n_layer && !r->failed; i++)
        if ((i + 1) % step)
            c->mixture.chosen[i] = 0;
    for (const struct json *item = json_first(list); item && !r->failed; item = json_next(item)) {
        long long layer = 0;
        if (json_get_integer(item, 0, (long long)c->n_layer - 1, &layer))
            c->mixture.chosen[layer] = 0;
        else
            err_set(family_fail(r), "field 'mlp_only_layers': expected layers below %zu",
                    c->n_layer);
    }
}

static void settle_qwen2_moe(struct reading *r)
{
    struct config *c = r->config;
    struct mixture *m = &c->mixture;
    family_read_qwen_experts(r, 4, false);
    family_bias(r, "qkv_bias", BIASED_QKV);
    m->shared_inner = family_size(r, "shared_expert_intermediate_size", m->shared_inner);
    family_settle_switched_window(r);
    size_t end = (size_t)family_integer(r, "max_window_layers", 0, INT32_MAX, 28);
    bool given = json_given(r->root, "layer_types");
    /* without "layer_types" layers 0, 2, 4, … before `end` have the window */
    for (size_t i = 0; c->window && i < c->n_layer && !given; i++)
        c->layer_flags[i] = i % 2 == 0 && i < end ? LAYER_WINDOW : 0;
}

static void settle_qwen3_moe(struct reading *r)
{
    family_read_qwen_experts(r, 8, false);
    family_settle_llama(r);
    if (family_flag(r, "use_sliding_window", false))
        family_settle_window(r);
    else
        json_given(r->root, "sliding_window"); /* only marks the key as read, so it is not listed as
                                                * unread */
}

static void settle_olmoe(struct reading *r)
{
    family_read_experts(r, "num_experts", "num_experts_per_tok", 8, NULL);
    r->config->mixture.renormalised = family_flag(r, "norm_topk_prob", false);
    family_settle_llama(r);
    r->config->clip = family_limit(r, "clip_qkv", 0);
}

static void settle_granitemoe(struct reading *r)
{
    family_read_experts(r, "num_local_experts", "num_experts_per_tok", 2, NULL);
    family_settle_granite(r);
    r->config->mixture.shared_inner =
        (size_t)family_integer(r, "shared_intermediate_size", 0, DIMENSION_MAX,
                               (long long)r->config->mixture.shared_inner);
}

static void settle_phimoe(struct reading *r)
{
    struct config *c = r->config;
    c->epsilon = (float)family_number(r, "rms_norm_eps", 0, 1, 1e-5);
    family_read_experts(r, "num_local_experts", NULL, 2, NULL);
    family_integer(r, "num_experts_per_tok", 2, 2, 2);
    c->mixture.near = (float)(2 * family_number(r, "router_jitter_noise", 0, 1e6, 0.01));
    family_settle_llama(r);
    family_bias(r, "lm_head_bias", BIASED_LOGITS);
    family_settle_window(r);
}

/* Read "moe_topk", the number of experts for each token: one number, or a list with a number for
 * each layer. */
static void settle_hunyuan(struct reading *r)
{
    static const char key[] = "moe_topk";
    struct config *c = r->config;
    const struct json *list = json_given(r->root, key);
    bool is_list = list && json_is_array(list);
    family_read_experts(r, "num_experts", is_list ? NULL : key, 1, NULL);
    c->mixture.shared_inner = c->n_inner;
    family_settle_llama(r);
    if (!is_list)
        return;
    const struct json *item = json_first(list);
    for (size_t i = 0; i < c->n_layer; i++, item = item ? json_next(item) : NULL) {
        long long chosen = 0;
        if (!item || !json_get_integer(item, 1, (long long)c->mixture.experts, &chosen))
            err_set(family_fail(r), "field '%s': expected %zu numbers from 1 to num_experts = %zu",
                    key, c->n_layer, c->mixture.experts);
        c->mixture.chosen[i] = (unsigned short)chosen;
    }
}

static void settle_ernie_moe(struct reading *r)
{
    struct config *c = r->config;
    struct mixture *m = &c->mixture;
    family_read_experts(r, "moe_num_experts", "moe_k", 6, "moe_intermediate_size");
    m->shared_inner =
        m->inner * (size_t)family_integer(r, "moe_num_shared_experts", 0, EXPERTS_MAX, 2);
    long long first = family_integer(r, "moe_layer_start_index", 0, LAYERS_MAX, 1);
    long long last = family_integer(r, "moe_layer_end_index", -1, LAYERS_MAX, -1);
    size_t interval = family_size(r, "moe_layer_interval", 1);
    for (size_t i = 0; i < c->n_layer; i++)
        if ((long long)i < first || (last >= 0 && (long long)i > last) || (i + 1) % interval)
            m->chosen[i] = 0;
    m->least = (float)family_number(r, "moe_norm_min", 0, 1e6, 1e-12);
    family_settle_ernie(r);
}

static void settle_gpt_oss(struct reading *r)
{
    struct config *c = r->config;
    family_read_experts(r, "num_local_experts", "num_experts_per_tok", 4, NULL);
    json_given(r->root, "hidden_act"); /* only marks the key as read: experts always have
                                        * quick_gelu */
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
    c->clamp = (float)family_positive(r, "swiglu_limit", (double)c->clamp);
    c->gate_slope = (float)family_positive(r, "swiglu_alpha", 1.702);
    family_windows(r, 0, 2);
    family_default_scaling(r, ROTARY_YARN, 32, 4096);
}

/* Whether a model of type deepseek_v2 chooses among all experts, not by groups, even if config.json
 * has keys of groups. */
static bool chooses_greedily(struct reading *r)
{
    return strcmp(family_text(r, "topk_method", "greedy"), "greedy") == 0;
}

void family_check_groups(struct reading *r, const char *experts, const char *groups,
                         const char *chosen_groups, const char *chosen_key, size_t chosen)
{
    const struct mixture *m = &r->config->mixture;
    if (r->failed) /* after an error a divisor below may be 0 */
        return;
    size_t size = m->experts / m->groups;
    if (m->experts % m->groups || m->chosen_groups > m->groups ||
        (m->two_best && m->groups > 1 && size < 2))
        err_set(family_fail(r),
                "field '%s': expected groups of as many experts, at least %s = %zu groups, found "
                "%zu of %s = %zu",
                groups, chosen_groups, m->chosen_groups, m->groups, experts, m->experts);
    else if (chosen > m->chosen_groups * size)
        err_set(family_fail(r),
                "field '%s': expected at most the %zu experts of %s = %zu groups, found %zu",
                chosen_key, m->chosen_groups * size, chosen_groups, m->chosen_groups, chosen);
}

/* Read the experts of DeepSeek and related models: groups of experts, shared experts, and how many
 * of the first layers have no experts. Defaults: each token uses `usual` experts, there are
 * `shared` shared experts, and `plain` first layers have none. */
void family_read_grouped(struct reading *r, long long plain, size_t usual, long long shared)
{
    struct config *c = r->config;
    struct mixture *m = &c->mixture;
    family_read_experts(r, "n_routed_experts", "num_experts_per_tok", usual,
                        "moe_intermediate_size");
    size_t chosen = m->chosen[0];
    c->extra_layers = (size_t)family_integer(r, "num_nextn_predict_layers", 0, LAYERS_MAX, 0);
    plain = family_integer(r, "first_k_dense_replace", 0, LAYERS_MAX, plain);
    for (long long i = 0; i < plain && i < (long long)c->n_layer; i++)
        m->chosen[i] = 0;
    if (m->two_best || !chooses_greedily(r)) {
        m->groups = family_size(r, "n_group", m->groups);
        m->chosen_groups = family_size(r, "topk_group", m->chosen_groups);
    }
    m->shared_inner =
        m->inner * (family_is_null(r, "n_shared_experts")
                        ? 0
                        : (size_t)family_integer(r, "n_shared_experts", 0, EXPERTS_MAX, shared));
    m->factor = (float)family_positive(r, "routed_scaling_factor", (double)m->factor);
    m->renormalised = family_flag(r, "norm_topk_prob", m->renormalised);
    family_check_groups(r, "n_routed_experts", "n_group", "topk_group", "num_experts_per_tok",
                        chosen);
}

/* The factor by which yarn multiplies scores: (0.1 · mscale_all_dim · ln(factor) + 1)²; 1 if the
 * scaling is not yarn. */
static double yarn_scale(struct reading *r)
{
    const struct json *root = r->root, *scaling = family_object(r, "rope_scaling");
    scaling = scaling ? scaling : family_object(r, "rope_parameters");
    if (!scaling || r->config->rotary.scaling != ROTARY_YARN)
        return 1;
    r->root = scaling;
    double factor = 0.1 * family_number(r, "mscale_all_dim", 0, 1e6, 0);
    r->root = root;
    factor = factor * log(r->config->rotary.factor) + 1;
    return factor * factor;
}

void family_expect_text(struct reading *r, const char *key, const char *value)
{
    const char *found = family_text(r, key, value);
    if (strcmp(found, value) != 0)
        err_unsupported(family_fail(r), "field '%s': expected \"%s\", found \"%s\"", key, value,
                        found);
}

void family_read_latent(struct reading *r, size_t latent_q, size_t unrotated, size_t d_v)
{
    struct config *c = r->config;
    family_expect(r, "attention_bias", false, false);
    c->latent_q = family_is_null(r, "q_lora_rank") ? 0 : family_size(r, "q_lora_rank", latent_q);
    c->latent_kv = family_size(r, "kv_lora_rank", 512);
    c->rotary.first = family_size(r, "qk_nope_head_dim", unrotated);
    c->d_k = c->rotary.first + c->rotary.components;
    c->d_v = family_size(r, "v_head_dim", d_v);
    c->n_kv_head = c->n_head;
    c->scale = (float)(yarn_scale(r) / sqrt((double)c->d_k));
}

static void settle_deepseek_v3(struct reading *r)
{
    family_read_grouped(r, 3, 8, 1);
    family_read_latent(r, 1536, 128, 128);
    r->config->rotary.neighbours = family_flag(r, "rope_interleave", true);
    family_expect_text(r, "scoring_func", "sigmoid");
    family_expect_text(r, "topk_method", "noaux_tc");
}

void family_read_mlp_layers(struct reading *r, size_t chosen)
{
    static const char key[] = "mlp_layer_types";
    struct config *c = r->config;
    const struct json *list = family_list(r, key), *item = json_first(list);
    bool known = !list || json_count(list) == c->n_layer;
    for (size_t layer = 0; item && known; item = json_next(item), layer++) {
        const char *kind = "";
        json_get_text(item, &kind);
        bool sparse = strcmp(kind, "sparse") == 0;
        known = sparse || strcmp(kind, "dense") == 0;
        c->mixture.chosen[layer] = (unsigned short)(sparse ? chosen : 0);
    }
    if (!known)
        err_set(family_fail(r), "field '%s': expected sparse or dense for each of %zu layers", key,
                c->n_layer);
}

/* Read GLM 4.7 Flash. Without "mlp_layer_types" all layers except the first have experts. */
static void settle_glm4_moe_lite(struct reading *r)
{
    family_read_grouped(r, 1, 4, 1);
    family_read_latent(r, 768, 192, 256);
    r->config->rotary.neighbours = family_flag(r, "rope_interleave", true);
    family_read_mlp_layers(r, family_size(r, "num_experts_per_tok", 4));
}

/* Refuse a config that lacks a key without a default. */
static void require(struct reading *r, const char *key)
{
    if (!json_member(r->root, key))
        err_set(family_fail(r), "field '%s': expected a number, found nothing", key);
}

static void settle_deepseek_v2(struct reading *r)
{
    require(r, "num_experts_per_tok");
    family_read_grouped(r, 0, 8, 2);
    family_read_latent(r, 1536, 128, 128);
    family_expect_text(r, "scoring_func", "softmax");
    family_expect(r, "norm_topk_prob", false, false);
    if (!chooses_greedily(r))
        family_expect_text(r, "topk_method", "group_limited_greedy");
}

static void settle_dots1(struct reading *r)
{
    require(r, "n_routed_experts");
    require(r, "num_experts_per_tok");
    require(r, "n_shared_experts");
    family_read_grouped(r, 0, 8, 1);
    family_settle_llama(r);
    family_windows(r, (size_t)family_integer(r, "max_window_layers", 0, INT32_MAX, 62), 1);
}

static void settle_glm4_moe(struct reading *r)
{
    bool normed = family_flag(r, "use_qk_norm", false);
    family_read_grouped(r, 1, 8, 1);
    family_settle_qkv_bias(r);
    r->config->head_norm = (struct head_norm){.q = normed, .k = normed};
}

static void settle_dbrx(struct reading *r)
{
    struct config *c = r->config;
    const struct json *root = family_enter(r, "attn_config");
    c->n_kv_head = family_size(r, "kv_n_heads", 1);
    if (c->n_head % c->n_kv_head)
        err_set(family_fail(r),
                "field 'kv_n_heads': expected a divisor of n_heads = %zu, found %zu", c->n_head,
                c->n_kv_head);
    c->clip = family_limit(r, "clip_qkv", 0);
    if (!json_given(root, "rope_parameters") && !json_given(root, "rope_theta"))
        c->rotary.theta = family_number(r, "rope_theta", 1, 1e12, c->rotary.theta);
    r->root = root;
    family_enter(r, "ffn_config");
    family_read_experts(r, "moe_num_experts", "moe_top_k", 1, "ffn_hidden_size");
    c->n_inner = c->mixture.inner;
    static const char key[] = "moe_normalize_expert_weights";
    c->mixture.renormalised = !family_is_null(r, key);
    if (c->mixture.renormalised && family_number(r, key, -1e9, 1e9, 1) != 1)
        err_unsupported(family_fail(r), "field '%s': expected 1 or null, found another number",
                        key);
    family_enter(r, "ffn_act_fn");
    family_activation(r, "name", family_text(r, "name", "silu"));
    r->root = root;
}

/* --- families --------------------------------------------------------------------------------- */

#define EXPERTS(...) .mixture = {.experts = __VA_ARGS__}
#define GROUPED(...)                                                                         \
    EXPERTS(128, .router = ROUTER_SIGMOID, .corrected = true, .two_best = true, .factor = 1, \
            .groups = 1, .chosen_groups = 1, .inner = 1408, __VA_ARGS__)
#define DBRX                                                                                \
    WITH(DECODER, .n_positions = 2048, .style = STYLE_PRE, .epsilon = 1e-5f, .gated = true, \
         EXPERTS(4, .inner = 3584))
#define GPT_OSS                                                                           \
    WITH(LLAMA_5, .n_positions = 131072, .d_k = 64, .n_kv_head = 8, .n_inner = 2880,      \
         .window = 128, .biases = BIASED_ALL | BIASED_EXPERTS, .sinks = true, .clamp = 7, \
         .up_offset = 1, EXPERTS(128, .router = ROUTER_OF_CHOSEN, .router_bias = true))

const struct family family_experts[] = {
    {"mixtral", &mixtral_names, settle_mixtral,
     WITH(LLAMA_5, .n_inner = 14336, .n_positions = 131072, .n_kv_head = 8,
          EXPERTS(8, .renormalised = true)),
     SILU_OF(1e6)},
    {"minimax_m2", &minimax_names, settle_minimax,
     WITH(LLAMA, .n_inner = 1536, .n_positions = 196608, .d_k = 128, .n_kv_head = 8,
          EXPERTS(256, .router = ROUTER_SIGMOID, .corrected = true, .renormalised = true),
          .head_norm = {.q = true, .k = true, .whole = true}),
     SILU_OF(5e6), .width_key = "rotary_dim", .reads = " partial_rotary_factor "},
    {"qwen2_moe", &family_qwen2_moe_names, settle_qwen2_moe,
     WITH(LLAMA, .n_kv_head = 16, .n_inner = 5632, .n_positions = 32768, .biases = BIASED_QKV,
          .window = 4096, EXPERTS(60, .shared_inner = 5632, .inner = 1408, .shared_gate = true)),
     SILU},
    {"qwen3_moe", &experts_names, settle_qwen3_moe,
     WITH(LLAMA, .n_inner = 6144, .n_positions = 32768, NORMED_HEADS, .n_kv_head = 4,
          .window = 4096, EXPERTS(128, .inner = 768)),
     SILU},
    {"olmoe", &experts_names, settle_olmoe,
     WITH(LLAMA_5, .n_inner = 2048, .n_positions = 4096, EXPERTS(64),
          .head_norm = {.q = true, .k = true, .whole = true}),
     SILU, .reads = " clip_qkv "},
    {"granitemoe", &granite_names, settle_granitemoe,
     WITH(LLAMA, .n_inner = 11008, .n_positions = 2048, EXPERTS(8, .router = ROUTER_OF_CHOSEN)),
     SILU},
    {"granitemoe with separate experts", &experts_names, settle_granitemoe,
     WITH(LLAMA, .n_inner = 11008, .n_positions = 2048, EXPERTS(8, .router = ROUTER_OF_CHOSEN)),
     SILU},
    {"granitemoeshared", &granite_names, settle_granitemoe,
     WITH(LLAMA, .n_inner = 11008, .n_positions = 2048, EXPERTS(8, .router = ROUTER_OF_CHOSEN)),
     SILU},
    {"phimoe", &mixtral_names, settle_phimoe,
     WITH(SHIFTED, .n_inner = 6400, .n_positions = 131072, .style = STYLE_PRE, .gated = true,
          .n_kv_head = 8, EXPERTS(16, .router = ROUTER_ONE_BY_ONE)),
     SILU_OF(1e6), .reads = " short_mscale long_mscale partial_rotary_factor "},
    {"gpt_oss", &gpt_oss_names, settle_gpt_oss, GPT_OSS, NULL, "quick_gelu", 1, 150000},
    {"gpt_oss with separate experts", &gpt_oss_separate_names, settle_gpt_oss, GPT_OSS, NULL,
     "quick_gelu", 1, 150000},
    {"hunyuan_v1_moe", &hunyuan_names, settle_hunyuan,
     WITH(LLAMA_5, .n_inner = 11008, .n_positions = 2048, EXPERTS(1, .renormalised = true),
          .head_norm = {.q = true, .k = true, .after_rotary = true}),
     SILU},
    {"ernie4_5_moe", &ernie_names, settle_ernie_moe,
     WITH(LLAMA_5, .n_inner = 12288, .n_positions = 131072, .n_kv_head = 4, .tied = true,
          NEIGHBOURS, EXPERTS(64, .inner = 1536, .corrected = true, .renormalised = true)),
     SILU_OF(5e5)},
    {"dots1", &experts_names, settle_dots1,
     WITH(LLAMA, .n_kv_head = 32, .n_inner = 10944, .n_positions = 2048, NORMED_HEADS,
          .window = 4096, GROUPED(.renormalised = false)),
     SILU},
    {"glm4_moe", &experts_names, settle_glm4_moe,
     WITH(LLAMA_5, .n_kv_head = 8, .n_inner = 10944, .n_positions = 131072,
          GROUPED(.renormalised = true)),
     "hidden_act", "silu", 0.5, 1e4},
    {"deepseek_v2", &family_latent_names, settle_deepseek_v2,
     WITH(LLAMA, .n_inner = 11008, .n_positions = 2048, .d_k = 1024,
          .rotary = {.components = 64, .neighbours = true},
          EXPERTS(64, .factor = 1, .groups = 1, .chosen_groups = 1, .inner = 1407)),
     SILU, .width_key = "qk_rope_head_dim"},
    {"deepseek_v3", &family_latent_names, settle_deepseek_v3,
     WITH(LLAMA, .n_inner = 18432, .n_positions = 4096, .d_k = 1024,
          .rotary = {.components = 64, .neighbours = true},
          EXPERTS(256, .router = ROUTER_SIGMOID, .corrected = true, .two_best = true, .factor = 2.5,
                  .groups = 8, .chosen_groups = 4, .inner = 2048, .renormalised = true)),
     SILU, .width_key = "qk_rope_head_dim"},
    {"glm4_moe_lite", &family_latent_names, settle_glm4_moe_lite,
     WITH(LLAMA_5, .n_inner = 10240, .n_positions = 202752, .d_k = 1024,
          .rotary = {.components = 64, .neighbours = true},
          EXPERTS(64, .router = ROUTER_SIGMOID, .corrected = true, .two_best = true, .factor = 1.8f,
                  .groups = 1, .chosen_groups = 1, .inner = 1536, .renormalised = true)),
     SILU, .width_key = "qk_rope_head_dim"},
    {"dbrx", &dbrx_names, settle_dbrx, DBRX, NULL, "silu", 1, 1e4, .reads = " clip_qkv "},
    {"dbrx with separate experts", &dbrx_separate_names, settle_dbrx, DBRX, NULL, "silu", 1, 1e4,
     .reads = " clip_qkv "},
    {NULL},
};
