/* family_mixers.c: decoders with mixers, layers that keep a state; some also have experts. It has a
 * table with a row for each family, the names of the families' tensors, and functions that read the
 * keys of config.json that a row cannot describe. */
#include <math.h>
#include <string.h>

#include "model/family/family_rows.h"

/* --- names of tensors, and how slots lie in them ---------------------------------------------- */

#define OF_MIXER .branch = BRANCH_MIXER
#define PACKED(under)                                                                           \
    {under ".gate_up_proj", {SLOT_EXPERT_GATE, SLOT_EXPERT_UP}, .bare = true, .stacked = true}, \
    {                                                                                           \
        under ".down_proj", {SLOT_EXPERT_DOWN}, .bare = true, .stacked = true                   \
    }

/* Tensor names that Qwen3-Next and Qwen3.5 share. The gated delta rule is under "linear_attn", and
 * attention has a gate. */
static const struct family_names delta_names = NAMES(
    "model.", "layers.", &family_qwen2_moe_names,
    {"self_attn.q_proj", {SLOT_Q, SLOT_OUT_GATE}, .groups = GROUPS_HEAD},
    {"linear_attn.conv1d", {SLOT_CONV_Q, SLOT_CONV_K, SLOT_CONV_V}, OF_MIXER},
    {"linear_attn.dt_bias", {SLOT_STEP_SHIFT}, .bare = true, OF_MIXER},
    {"linear_attn.A_log", {SLOT_DECAY}, .bare = true, OF_MIXER},
    {"linear_attn.norm", {SLOT_OUT_NORM}, OF_MIXER}, {"linear_attn.out_proj", {SLOT_O}, OF_MIXER});

static const struct family_names qwen3_5_names =
    NAMES("model.", "layers.", &delta_names,
          {"linear_attn.in_proj_qkv", {SLOT_Q, SLOT_K, SLOT_V}, OF_MIXER},
          {"linear_attn.in_proj_z", {SLOT_OUT_GATE}, OF_MIXER},
          {"linear_attn.in_proj_b", {SLOT_BETA}, OF_MIXER},
          {"linear_attn.in_proj_a", {SLOT_STEP}, OF_MIXER});

static const struct family_names qwen3_next_names =
    NAMES("model.", "layers.", &delta_names,
          {"linear_attn.in_proj_qkvz",
           {SLOT_Q, SLOT_K, SLOT_V, SLOT_OUT_GATE},
           .groups = GROUPS_KV_HEAD,
           OF_MIXER},
          {"linear_attn.in_proj_ba", {SLOT_BETA, SLOT_STEP}, .groups = GROUPS_KV_HEAD, OF_MIXER});

/* Tensor names of Qwen3-Next from GGUF files, where a mixer's queries, keys and values are one
 * tensor. */
static const struct family_names qwen3_next_split_names =
    NAMES("model.", "layers.", &qwen3_next_names,
          {"linear_attn.in_proj_qkv", {SLOT_Q, SLOT_K, SLOT_V}, OF_MIXER},
          {"linear_attn.in_proj_z", {SLOT_OUT_GATE}, OF_MIXER});

static const struct family_names qwen3_5_packed_names =
    NAMES("model.", "layers.", &qwen3_5_names, PACKED("mlp.experts"));
static const struct family_names qwen3_next_packed_names =
    NAMES("model.", "layers.", &qwen3_next_names, PACKED("mlp.experts"));
static const struct family_names qwen3_5_wrapped_names = WRAPPED(&qwen3_5_names);
static const struct family_names qwen3_5_wrapped_packed_names = NAMES_OF(
    "model.", "layers.", NULL, "language_model.", &qwen3_5_names, false, PACKED("mlp.experts"));

static const struct family_names lfm2_names = NAMES(
    "model.", "layers.", &family_llama_names, {"embedding_norm", {SLOT_FINAL_NORM}},
    {"operator_norm", {SLOT_NORM_1}}, {"ffn_norm", {SLOT_NORM_2}}, {"self_attn.out_proj", {SLOT_O}},
    {"self_attn.q_layernorm", {SLOT_Q_NORM}}, {"self_attn.k_layernorm", {SLOT_K_NORM}},
    {"feed_forward.w1", {SLOT_GATE}}, {"feed_forward.w3", {SLOT_UP}},
    {"feed_forward.w2", {SLOT_DOWN}}, {"conv.in_proj", {SLOT_K, SLOT_Q, SLOT_V}, OF_MIXER},
    {"conv.conv", {SLOT_CONV_V}, OF_MIXER}, {"conv.out_proj", {SLOT_O}, OF_MIXER},
    {"feed_forward.gate", {SLOT_ROUTER}},
    {"feed_forward.expert_bias", {SLOT_CORRECTION}, .bare = true},
    {"feed_forward.experts.{e}.w1", {SLOT_EXPERT_GATE}},
    {"feed_forward.experts.{e}.w3", {SLOT_EXPERT_UP}},
    {"feed_forward.experts.{e}.w2", {SLOT_EXPERT_DOWN}});

/* Tensor names of a Mamba-2 mixer and of a Mamba mixer, where `under` is the beginning of all
 * names. */
#define MAMBA2_ROWS(under)                                                           \
    {under "in_proj", {SLOT_OUT_GATE, SLOT_V, SLOT_K, SLOT_Q, SLOT_STEP}, OF_MIXER}, \
        {under "conv1d", {SLOT_CONV_V, SLOT_CONV_K, SLOT_CONV_Q}, OF_MIXER},         \
        {under "dt_bias", {SLOT_STEP_SHIFT}, .bare = true, OF_MIXER},                \
        {under "A_log", {SLOT_DECAY}, .bare = true, OF_MIXER},                       \
        {under "D", {SLOT_SKIP}, .bare = true, OF_MIXER},                            \
        {under "norm", {SLOT_OUT_NORM}, OF_MIXER},                                   \
    {                                                                                \
        under "out_proj", {SLOT_O}, OF_MIXER                                         \
    }
#define MAMBA_ROWS(under)                                                  \
    {under "in_proj", {SLOT_V, SLOT_OUT_GATE}, OF_MIXER},                  \
        {under "conv1d", {SLOT_CONV_V}, OF_MIXER},                         \
        {under "x_proj", {SLOT_STEP_DOWN, SLOT_K, SLOT_Q}, OF_MIXER},      \
        {under "dt_proj", {SLOT_STEP}, OF_MIXER},                          \
        {under "dt_proj.bias", {SLOT_STEP_SHIFT}, .bare = true, OF_MIXER}, \
        {under "A_log", {SLOT_DECAY}, .bare = true, OF_MIXER},             \
        {under "D", {SLOT_SKIP}, .bare = true, OF_MIXER},                  \
    {                                                                      \
        under "out_proj", {SLOT_O}, OF_MIXER                               \
    }
#define FEED_FORWARD                                                                  \
    {"final_layernorm", {SLOT_FINAL_NORM}}, {"pre_ff_layernorm", {SLOT_NORM_2}},      \
        {"feed_forward.gate_proj", {SLOT_GATE}}, {"feed_forward.up_proj", {SLOT_UP}}, \
    {                                                                                 \
        "feed_forward.down_proj",                                                     \
        {                                                                             \
            SLOT_DOWN                                                                 \
        }                                                                             \
    }

/* Tensor names of Bamba and Falcon-H1. */
static const struct family_names bamba_names =
    NAMES("model.", "layers.", &family_llama_names, FEED_FORWARD, MAMBA2_ROWS("mamba."));

static const struct family_names granite_names = NAMES(
    "model.", "layers.", &family_llama_names, MAMBA2_ROWS("mamba."),
    {"block_sparse_moe.router.layer", {SLOT_ROUTER}},
    {"block_sparse_moe.input_linear", {SLOT_EXPERT_GATE, SLOT_EXPERT_UP}, .stacked = true},
    {"block_sparse_moe.output_linear", {SLOT_EXPERT_DOWN}, .stacked = true},
    {"shared_mlp.input_linear", {SLOT_SHARED_GATE, SLOT_SHARED_UP}},
    {"shared_mlp.output_linear", {SLOT_SHARED_DOWN}},
    {"shared_mlp.input_linear", {SLOT_GATE, SLOT_UP}}, {"shared_mlp.output_linear", {SLOT_DOWN}});

static const struct family_names granite_separate_names =
    NAMES("model.", "layers.", &granite_names,
          {"block_sparse_moe.experts.{e}.gate_proj", {SLOT_EXPERT_GATE}},
          {"block_sparse_moe.experts.{e}.up_proj", {SLOT_EXPERT_UP}},
          {"block_sparse_moe.experts.{e}.down_proj", {SLOT_EXPERT_DOWN}},
          {"shared_mlp.gate_proj", {SLOT_SHARED_GATE}}, {"shared_mlp.up_proj", {SLOT_SHARED_UP}},
          {"shared_mlp.gate_proj", {SLOT_GATE}}, {"shared_mlp.up_proj", {SLOT_UP}});

static const struct family_names mamba2_names =
    NAMES("backbone.", "layers.", &family_llama_names, {"embeddings", {SLOT_TOKENS}},
          {"norm_f", {SLOT_FINAL_NORM}}, {"norm", {SLOT_NORM_1}}, MAMBA2_ROWS("mixer."));

static const struct family_names mamba_names =
    NAMES("backbone.", "layers.", &family_llama_names, {"embeddings", {SLOT_TOKENS}},
          {"norm_f", {SLOT_FINAL_NORM}}, {"norm", {SLOT_NORM_1}}, MAMBA_ROWS("mixer."));

/* Tensor names of Nemotron-H. Its layers have one sublayer each, which is called "mixer" whatever
 * it is. */
static const struct family_names nemotron_names = NAMES(
    "backbone.", "layers.", &mamba2_names, {"norm", {SLOT_NORM_2}}, {"mixer.q_proj", {SLOT_Q}},
    {"mixer.k_proj", {SLOT_K}}, {"mixer.v_proj", {SLOT_V}}, {"mixer.o_proj", {SLOT_O}},
    {"mixer.up_proj", {SLOT_UP}}, {"mixer.down_proj", {SLOT_DOWN}}, {"mixer.gate", {SLOT_ROUTER}},
    {"mixer.gate.e_score_correction_bias", {SLOT_CORRECTION}, .bare = true},
    {"mixer.fc1_latent_proj", {SLOT_EXPERT_IN}}, {"mixer.fc2_latent_proj", {SLOT_EXPERT_OUT}},
    {"mixer.experts.{e}.up_proj", {SLOT_EXPERT_UP}},
    {"mixer.experts.{e}.down_proj", {SLOT_EXPERT_DOWN}},
    {"mixer.shared_experts.up_proj", {SLOT_SHARED_UP}},
    {"mixer.shared_experts.down_proj", {SLOT_SHARED_DOWN}});
static const struct family_names nemotron_model_names =
    NAMES("model.", "layers.", &nemotron_names, {"norm", {SLOT_NORM_1}});

static const struct family_names jamba_names =
    NAMES("model.", "layers.", &family_llama_names, FEED_FORWARD, MAMBA_ROWS("mamba."),
          {"mamba.dt_layernorm", {SLOT_STEP_NORM}, OF_MIXER},
          {"mamba.b_layernorm", {SLOT_K_NORM}, OF_MIXER},
          {"mamba.c_layernorm", {SLOT_Q_NORM}, OF_MIXER}, {"feed_forward.router", {SLOT_ROUTER}},
          {"feed_forward.experts.{e}.gate_proj", {SLOT_EXPERT_GATE}},
          {"feed_forward.experts.{e}.up_proj", {SLOT_EXPERT_UP}},
          {"feed_forward.experts.{e}.down_proj", {SLOT_EXPERT_DOWN}});

/* Tensor names of OLMo Hybrid. Layers with a mixer have norms before their sublayers, layers with
 * attention have norms of sublayer outputs. */
static const struct family_names olmo_names = NAMES(
    "model.", "layers.", &family_llama_names, {"post_attention_layernorm", {SLOT_NORM_1_POST}},
    {"post_feedforward_layernorm", {SLOT_NORM_2_POST}}, {"post_attention_layernorm", {SLOT_NORM_2}},
    {"linear_attn.q_proj", {SLOT_Q}, OF_MIXER}, {"linear_attn.k_proj", {SLOT_K}, OF_MIXER},
    {"linear_attn.v_proj", {SLOT_V}, OF_MIXER}, {"linear_attn.o_proj", {SLOT_O}, OF_MIXER},
    {"linear_attn.a_proj", {SLOT_STEP}, OF_MIXER}, {"linear_attn.b_proj", {SLOT_BETA}, OF_MIXER},
    {"linear_attn.g_proj", {SLOT_OUT_GATE}, OF_MIXER},
    {"linear_attn.q_conv1d", {SLOT_CONV_Q}, OF_MIXER},
    {"linear_attn.k_conv1d", {SLOT_CONV_K}, OF_MIXER},
    {"linear_attn.v_conv1d", {SLOT_CONV_V}, OF_MIXER},
    {"linear_attn.dt_bias", {SLOT_STEP_SHIFT}, .bare = true, OF_MIXER},
    {"linear_attn.A_log", {SLOT_DECAY}, .bare = true, OF_MIXER},
    {"linear_attn.o_norm", {SLOT_OUT_NORM}, OF_MIXER});
static const struct family_names olmo_published_names =
    NAMES("model.", "layers.", &olmo_names, {"attention_layer_norm", {SLOT_NORM_1}},
          {"feedforward_layer_norm", {SLOT_NORM_2}});
/* Tensor names of OLMo Hybrid in files that transformers 5 saved: "feedforward_layer_norm" is the
 * MLP's norm in layers with a mixer, and the norm of attention's output in the others. */
static const struct family_names olmo_saved_names = NAMES(
    "model.", "layers.", &olmo_published_names, {"attention_layer_norm", {SLOT_NORM_1}},
    {"feedforward_layer_norm", {SLOT_NORM_2}}, {"feedforward_layer_norm", {SLOT_NORM_1_POST}});

/* Tensor names of Kimi Linear, which has latent attention and a gated delta rule whose steps and
 * gates are computed from narrow vectors. */
static const struct family_names kimi_names = NAMES(
    "model.", "layers.", &family_latent_names, {"block_sparse_moe.gate", {SLOT_ROUTER}},
    {"block_sparse_moe.gate.e_score_correction_bias", {SLOT_CORRECTION}, .bare = true},
    {"block_sparse_moe.experts.{e}.w1", {SLOT_EXPERT_GATE}},
    {"block_sparse_moe.experts.{e}.w3", {SLOT_EXPERT_UP}},
    {"block_sparse_moe.experts.{e}.w2", {SLOT_EXPERT_DOWN}},
    {"block_sparse_moe.shared_experts.gate_proj", {SLOT_SHARED_GATE}},
    {"block_sparse_moe.shared_experts.up_proj", {SLOT_SHARED_UP}},
    {"block_sparse_moe.shared_experts.down_proj", {SLOT_SHARED_DOWN}},
    {"self_attn.q_proj", {SLOT_Q}, OF_MIXER}, {"self_attn.k_proj", {SLOT_K}, OF_MIXER},
    {"self_attn.v_proj", {SLOT_V}, OF_MIXER}, {"self_attn.o_proj", {SLOT_O}, OF_MIXER},
    {"self_attn.f_a_proj", {SLOT_STEP_DOWN}, OF_MIXER},
    {"self_attn.f_b_proj", {SLOT_STEP}, OF_MIXER}, {"self_attn.b_proj", {SLOT_BETA}, OF_MIXER},
    {"self_attn.g_a_proj", {SLOT_OUT_GATE_DOWN}, OF_MIXER},
    {"self_attn.g_b_proj", {SLOT_OUT_GATE}, OF_MIXER},
    {"self_attn.q_conv1d", {SLOT_CONV_Q}, OF_MIXER},
    {"self_attn.k_conv1d", {SLOT_CONV_K}, OF_MIXER},
    {"self_attn.v_conv1d", {SLOT_CONV_V}, OF_MIXER},
    {"self_attn.dt_bias", {SLOT_STEP_SHIFT}, .bare = true, OF_MIXER},
    {"self_attn.A_log", {SLOT_DECAY}, .bare = true, OF_MIXER},
    {"self_attn.o_norm", {SLOT_OUT_NORM}, OF_MIXER});
/* Tensor names of Kimi Linear in files that transformers 5 saved: the names of a plain MLP's
 * tensors also begin with "block_sparse_moe.". */
static const struct family_names kimi_saved_names =
    NAMES("model.", "layers.", &kimi_names, {"block_sparse_moe.gate_proj", {SLOT_GATE}},
          {"block_sparse_moe.up_proj", {SLOT_UP}}, {"block_sparse_moe.down_proj", {SLOT_DOWN}});

/* --- keys that a row cannot express ----------------------------------------------------------- */

/* Read which layers have a mixer from the list under `key`, which has the kind of each layer.
 * False: there is no such list. */
static bool read_kinds(struct reading *r, const char *key)
{
    static const char *const kinds[] = {"full_attention", "attention", "linear_attention", "mamba",
                                        "conv"};
    enum { MIXERS = 2, KINDS = 5 }; /* kinds[MIXERS] and the kinds after it are mixers */
    struct config *c = r->config;
    const struct json *list = family_list(r, key), *item = json_first(list);
    if (list && json_count(list) != c->n_layer)
        err_set(family_fail(r), "field '%s': expected a list of %zu layers, found %zu", key,
                c->n_layer, json_count(list));
    for (size_t layer = 0; item && !r->failed; item = json_next(item), layer++) {
        const char *text = "";
        size_t kind = 0;
        json_get_text(item, &text);
        while (kind < KINDS && strcmp(text, kinds[kind]) != 0)
            kind++;
        if (kind >= MIXERS)
            c->layer_flags[layer] |= LAYER_MIXER;
        if (kind == KINDS)
            err_unsupported(family_fail(r),
                            "field '%s': expected full_attention, linear_attention, attention, "
                            "mamba or conv, found \"%s\"",
                            key, text);
    }
    return list;
}

/* Refuse a mixer whose number of heads is not a multiple of the number of key heads, or whose heads
 * are too large. `heads` and `key_heads`: names of keys for error messages. */
static void check_mixer(struct reading *r, const char *heads, const char *key_heads)
{
    const struct mixer *m = &r->config->mixer;
    if (r->failed) /* after an error a divisor below may be 0 */
        return;
    if (m->heads % m->key_heads)
        err_set(family_fail(r), "field '%s': expected a multiple of %s = %zu, found %zu", heads,
                key_heads, m->key_heads, m->heads);
    if (m->heads > DIMENSION_MAX / m->d_v || m->heads > DIMENSION_MAX / m->d_k)
        err_set(family_fail(r), "field '%s': expected heads of at most %d channels", heads,
                DIMENSION_MAX);
}

static void settle_delta(struct reading *r)
{
    struct config *c = r->config;
    struct mixer *m = &c->mixer;
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
    m->heads = family_size(r, "linear_num_value_heads", 32);
    m->key_heads = family_size(r, "linear_num_key_heads", 16);
    m->d_k = family_size(r, "linear_key_head_dim", 128);
    m->d_v = family_size(r, "linear_value_head_dim", 128);
    m->taps = family_size(r, "linear_conv_kernel_dim", 4);
    m->activation = c->activation;
    check_mixer(r, "linear_num_value_heads", "linear_num_key_heads");
    bool given = read_kinds(r, "layer_types");
    size_t interval = family_size(r, "full_attention_interval", 4);
    for (size_t i = 0; !given && i < c->n_layer; i++)
        if ((i + 1) % interval)
            c->layer_flags[i] |= LAYER_MIXER;
}

static void settle_qwen3_5_moe(struct reading *r)
{
    struct mixture *m = &r->config->mixture;
    settle_delta(r);
    family_read_experts(r, "num_experts", "num_experts_per_tok", 8, "moe_intermediate_size");
    m->shared_inner = family_size(r, "shared_expert_intermediate_size", m->shared_inner);
}

static void settle_qwen3_next(struct reading *r)
{
    struct mixture *m = &r->config->mixture;
    settle_delta(r);
    family_read_qwen_experts(r, 10, true);
    m->shared_inner = family_size(r, "shared_expert_intermediate_size", m->shared_inner);
}

/* Read LFM2. "layer_types" says which layers have a short convolution; without it, all layers
 * except those in the list "full_attn_idxs". Without both lists all layers have attention. */
static void settle_lfm2(struct reading *r)
{
    static const char key[] = "full_attn_idxs";
    struct config *c = r->config;
    c->epsilon = (float)family_number(r, "norm_eps", 0, 1, 1e-5);
    c->tied = family_flag(r, "tie_embedding", c->tied);
    c->mixer.heads = c->mixer.key_heads = c->n_embd;
    c->mixer.taps = family_size(r, "conv_L_cache", 3);
    family_bias(r, "conv_bias", BIASED_MIXER_IN | BIASED_MIXER_OUT | BIASED_CONVOLUTION);
    const struct json *list = family_list(r, key);
    if (read_kinds(r, "layer_types") || !list)
        return;
    for (size_t i = 0; i < c->n_layer; i++)
        c->layer_flags[i] |= LAYER_MIXER;
    for (const struct json *item = json_first(list); item && !r->failed; item = json_next(item)) {
        long long layer = 0;
        if (!json_get_integer(item, 0, (long long)c->n_layer - 1, &layer))
            err_set(family_fail(r), "field '%s': expected layers below %zu", key, c->n_layer);
        c->layer_flags[layer] &= (unsigned short)~LAYER_MIXER;
    }
}

/* Read LFM2 without experts. Unless "block_auto_adjust_ff_dim" is false, the MLP's width is two
 * thirds of the stated width, times "block_ffn_dim_multiplier", rounded up to a multiple of
 * "block_multiple_of". */
static void settle_lfm2_dense(struct reading *r)
{
    struct config *c = r->config;
    settle_lfm2(r);
    c->n_inner = family_size(r, "block_ff_dim", c->n_inner);
    bool adjusts = family_flag(r, "block_auto_adjust_ff_dim", true);
    size_t step = family_size(r, "block_multiple_of", 256);
    double factor = family_is_null(r, "block_ffn_dim_multiplier")
                        ? 1
                        : family_positive(r, "block_ffn_dim_multiplier", 1);
    const double width = adjusts ? floor(factor * (double)(2 * c->n_inner / 3)) : 1;
    if (width < 1 || width > DIMENSION_MAX)
        err_set(family_fail(r),
                "field 'block_ffn_dim_multiplier': expected a width from 1 to %d, found %.0f",
                DIMENSION_MAX, width);
    else if (adjusts)
        c->n_inner = ((size_t)width + step - 1) / step * step;
}

static void settle_lfm2_moe(struct reading *r)
{
    struct config *c = r->config;
    struct mixture *m = &c->mixture;
    settle_lfm2(r);
    family_read_experts(r, "num_experts", "num_experts_per_tok", 4, "moe_intermediate_size");
    m->renormalised = family_flag(r, "norm_topk_prob", true);
    m->corrected = family_flag(r, "use_expert_bias", true);
    m->factor = (float)family_positive(r, "routed_scaling_factor", 1);
    size_t plain = (size_t)family_integer(r, "num_dense_layers", 0, LAYERS_MAX, 2);
    for (size_t i = 0; i < plain && i < c->n_layer; i++)
        m->chosen[i] = 0;
}

/* Read an item of "time_step_limit": a number of at least 0, or infinity, which transformers 5
 * writes as {"__float__": "Infinity"}. */
static float read_limit(struct reading *r, const struct json *item)
{
    const char *word = "";
    double number = -1;
    if (item && json_is_object(item) && json_get_text(json_member(item, "__float__"), &word) &&
        strcmp(word, "Infinity") == 0)
        return INFINITY;
    if (!item || !json_get_number(item, &number) || number < 0)
        err_set(family_fail(r), "field 'time_step_limit': expected two numbers of at least 0");
    return (float)number;
}

/* Set the sizes of a Mamba-2 mixer: `heads` heads with `d` value channels and states of `state` ·
 * `d` numbers, and `groups` heads of keys; and read "time_step_limit". */
static void read_mamba2(struct reading *r, size_t heads, size_t d, size_t groups, size_t state)
{
    struct mixer *m = &r->config->mixer;
    m->heads = heads;
    m->d_v = d;
    m->key_heads = m->out_groups = groups;
    m->d_k = state;
    m->activation = r->config->activation;
    const struct json *limits = family_list(r, "time_step_limit"), *first = json_first(limits);
    if (limits) {
        m->step_least = read_limit(r, first);
        m->step_most = read_limit(r, first ? json_next(first) : NULL);
    }
}

/* Read the keys that begin with "mamba_", as Bamba, Granite 4 and Falcon-H1 have them. `inner`:
 * number of channels of the mixer; 0: "mamba_expand" times the channels of the stream. */
static void settle_usual_mamba2(struct reading *r, size_t inner)
{
    struct config *c = r->config;
    size_t heads = family_size(r, "mamba_n_heads", 128);
    inner = inner ? inner : family_size(r, "mamba_expand", 2) * c->n_embd;
    read_mamba2(r, heads, inner / heads, family_size(r, "mamba_n_groups", 1),
                family_size(r, "mamba_d_state", 256));
    c->mixer.taps = family_size(r, "mamba_d_conv", 4);
    json_given(r->root, "mamba_d_head"); /* only marks the key as read: the size of a head follows
                                          * from the numbers of channels and heads */
    family_bias(r, "mamba_conv_bias", BIASED_CONVOLUTION);
    family_bias(r, "mamba_proj_bias", BIASED_MIXER_IN | BIASED_MIXER_OUT);
    if (inner % heads)
        err_set(family_fail(r),
                "field 'mamba_n_heads': expected a divisor of the %zu channels, "
                "found %zu",
                inner, heads);
    check_mixer(r, "mamba_n_heads", "mamba_n_groups");
}

static void settle_bamba(struct reading *r)
{
    static const char key[] = "attn_layer_indices";
    struct config *c = r->config;
    family_settle_llama(r);
    settle_usual_mamba2(r, 0);
    for (size_t i = 0; i < c->n_layer; i++)
        c->layer_flags[i] |= LAYER_MIXER;
    const struct json *list = family_list(r, key);
    for (const struct json *item = json_first(list); item && !r->failed; item = json_next(item)) {
        long long layer = 0;
        if (!json_get_integer(item, 0, (long long)c->n_layer - 1, &layer))
            err_set(family_fail(r), "field '%s': expected layers below %zu", key, c->n_layer);
        c->layer_flags[layer] &= (unsigned short)~LAYER_MIXER;
    }
}

/* Read Granite 4. It has rotary embeddings only if "position_embedding_type" is "rope". Each token
 * uses the shared MLP, and the outputs of its experts are added to the output of this MLP. */
static void settle_granite_hybrid(struct reading *r)
{
    struct config *c = r->config;
    struct mixture *m = &c->mixture;
    c->family += family_has_separate_experts(r); /* the next row of the table, with the names of
                                                  * GGUF files */
    family_settle_granite(r);
    settle_usual_mamba2(r, 0);
    if (strcmp(family_text(r, "position_embedding_type", ""), "rope") != 0)
        c->rotary = (struct rotary){.components = 0};
    if (!read_kinds(r, "layer_types"))
        for (size_t i = 0; i < c->n_layer; i++)
            c->layer_flags[i] |= LAYER_MIXER;
    size_t shared = family_size(r, "shared_intermediate_size", 1024);
    if (family_integer(r, "num_local_experts", 0, EXPERTS_MAX, 8)) {
        family_read_experts(r, "num_local_experts", "num_experts_per_tok", 2, NULL);
        m->shared_inner = shared;
    } else {
        *m = (struct mixture){.experts = 0};
    }
    c->n_inner = shared;
}

/* Read a list of `count` factors into `factors`, which do not change if the key is absent. */
static void read_factors(struct reading *r, const char *key, float *factors, size_t count)
{
    const struct json *list = family_list(r, key), *item = json_first(list);
    if (list && json_count(list) != count)
        err_set(family_fail(r), "field '%s': expected %zu numbers, found %zu", key, count,
                json_count(list));
    for (; item && !r->failed; item = json_next(item)) {
        double number = 0;
        if (!json_get_number(item, &number) || !(number > 0) || !(number < 1e9))
            err_set(family_fail(r), "field '%s': expected numbers above 0", key);
        *factors++ = (float)number;
    }
}

/* Read the factors by which Falcon-H1 multiplies products and their inputs. The bias of a product
 * is multiplied by the product's factor, but not by the input's factor. */
static void read_multipliers(struct reading *r)
{
    struct config *c = r->config;
    float mixers[] = {1, 1, 1, 1, 1}, mlp[] = {1, 1};
    read_factors(r, "ssm_multipliers", mixers, 5);
    read_factors(r, "mlp_multipliers", mlp, 2);
    const float into_mixers = (float)family_positive(r, "ssm_in_multiplier", 1);
    const float into_heads = (float)family_positive(r, "attention_in_multiplier", 1);
    const float keys = (float)family_positive(r, "key_multiplier", 1);
    const struct {
        unsigned char branch, slot;
        float input, product;
    } factors[PRODUCT_FACTORS_MAX - 1] = {
        {BRANCH_MIXER, SLOT_OUT_GATE, into_mixers, mixers[0]},
        {BRANCH_MIXER, SLOT_V, into_mixers, mixers[1]},
        {BRANCH_MIXER, SLOT_K, into_mixers, mixers[2]},
        {BRANCH_MIXER, SLOT_Q, into_mixers, mixers[3]},
        {BRANCH_MIXER, SLOT_STEP, into_mixers, mixers[4]},
        {BRANCH_TEXT, SLOT_Q, into_heads, 1},
        {BRANCH_TEXT, SLOT_K, into_heads, keys},
        {BRANCH_TEXT, SLOT_V, into_heads, 1},
        {BRANCH_TEXT, SLOT_GATE, 1, mlp[0]},
    };
    for (size_t i = 0; i < PRODUCT_FACTORS_MAX - 1; i++)
        c->factors.list[i] =
            (struct product_factor){factors[i].branch, factors[i].slot,
                                    factors[i].input * factors[i].product, factors[i].product};
    c->residual_scale[SUBLAYER_ATTEND] = (float)family_positive(r, "attention_out_multiplier", 1);
    c->residual_scale[SUBLAYER_MIX] = (float)family_positive(r, "ssm_out_multiplier", 1);
    c->residual_scale[SUBLAYER_MLP] = mlp[1];
    c->embedding_scale = (float)family_positive(r, "embedding_multiplier", 1);
    c->logit_divisor = (float)(1 / family_positive(r, "lm_head_multiplier", 1));
}

/* Read Falcon-H1. Each layer has attention and a mixer in parallel. */
static void settle_falcon_h1(struct reading *r)
{
    static const char inner[] = "mamba_d_ssm";
    struct config *c = r->config;
    struct mixer *m = &c->mixer;
    family_settle_llama(r);
    settle_usual_mamba2(r, family_is_null(r, inner) ? 0 : family_size(r, inner, 1024));
    c->biases &= ~(unsigned)BIASED_MIXER_OUT;
    family_bias(r, "projectors_bias", BIASED_MIXER_OUT);
    m->out_norm = family_flag(r, "mamba_rms_norm", false);
    m->gate_first = !family_flag(r, "mamba_norm_before_gate", true);
    read_multipliers(r);
}

/* Read a model whose layers have a mixer and nothing else. */
static void settle_alone(struct reading *r)
{
    struct config *c = r->config;
    c->epsilon = (float)family_number(r, "layer_norm_epsilon", 0, 1, 1e-5);
    c->mixer.taps = family_size(r, "conv_kernel", 4);
    family_bias(r, "use_bias", BIASED_MIXER_IN | BIASED_MIXER_OUT);
    family_bias(r, "use_conv_bias", BIASED_CONVOLUTION);
    for (size_t i = 0; i < c->n_layer; i++)
        c->layer_flags[i] = LAYER_MIXER | LAYER_NO_MLP;
}

static void settle_mamba2(struct reading *r)
{
    settle_alone(r);
    read_mamba2(r, family_size(r, "num_heads", 128), family_size(r, "head_dim", 64),
                family_size(r, "n_groups", 8), family_size(r, "state_size", 128));
    check_mixer(r, "num_heads", "n_groups");
}

/* Read the kind of each layer, in a model whose layers have one sublayer each: from the list
 * "layers_block_type", or else from the text "hybrid_override_pattern", which has a letter for each
 * layer. Also read the experts, if some layers have them. */
static void read_alone(struct reading *r)
{
    static const struct {
        const char *name, *old;
        char letter;
        unsigned short flags;
    } kinds[] = {{"linear_attention", "mamba", 'M', LAYER_MIXER | LAYER_NO_MLP},
                 {"full_attention", "attention", '*', LAYER_NO_MLP},
                 {"mlp", "mlp", '-', LAYER_MLP_ALONE},
                 {"moe", "moe", 'E', LAYER_MLP_ALONE}};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    struct config *c = r->config;
    const char *letters = family_text(r, "hybrid_override_pattern", "ME*-");
    const struct json *list = family_list(r, "layers_block_type"), *item = json_first(list);
    const char *key = list ? "layers_block_type" : "hybrid_override_pattern";
    size_t mixtures = 0;
    c->n_layer = list ? json_count(list) : strlen(letters);
    if (!c->n_layer || c->n_layer > CONFIG_FLAGS_MAX)
        err_set(family_fail(r), "field '%s': expected 1 to %d layers, found %zu", key,
                CONFIG_FLAGS_MAX, c->n_layer);
    family_read_grouped(r, 0, 2, 1);
    for (size_t i = 0; i < c->n_layer && !r->failed; i++, item = item ? json_next(item) : NULL) {
        const char letter[] = {list ? '?' : letters[i], '\0'}, *name = letter;
        size_t kind = 0;
        if (item)
            json_get_text(item, &name);
        while (kind < KINDS && kinds[kind].letter != *letter &&
               strcmp(kinds[kind].name, name) != 0 && strcmp(kinds[kind].old, name) != 0)
            kind++;
        if (kind == KINDS) {
            err_unsupported(family_fail(r),
                            "field '%s': expected linear_attention (M), full_attention (*), mlp "
                            "(-) or moe (E), found \"%s\"",
                            key, name);
            return;
        }
        c->layer_flags[i] = kinds[kind].flags;
        mixtures += kinds[kind].letter == 'E';
        if (kinds[kind].letter != 'E')
            c->mixture.chosen[i] = 0;
    }
    if (!mixtures)
        c->mixture = (struct mixture){.experts = 0};
}

/* Read Nemotron-H. Each layer has one sublayer: a mixer, attention without rotary embeddings, an
 * MLP or experts. */
static void settle_nemotron_h(struct reading *r)
{
    static const char latent[] = "moe_latent_size", act[] = "mamba_hidden_act";
    struct config *c = r->config;
    struct mixer *m = &c->mixer;
    const enum activation activation = c->activation;
    settle_alone(r);
    read_alone(r);
    family_expect(r, "attention_bias", false, false);
    family_bias(r, "mlp_bias", BIASED_MLP);
    family_activation(r, act, family_text(r, act, "silu"));
    read_mamba2(r, family_size(r, "mamba_num_heads", 128), family_size(r, "mamba_head_dim", 64),
                family_size(r, "n_groups", 8), family_size(r, "ssm_state_size", 128));
    c->activation = activation;
    /* steps have only a lower limit, as in transformers */
    m->step_least = (float)family_number(r, "time_step_min", 0, 1e9, 0.001);
    m->step_most = 0;
    check_mixer(r, "mamba_num_heads", "n_groups");
    if (!c->mixture.experts)
        return;
    c->mixture.shared_inner = family_size(r, "moe_shared_expert_intermediate_size", 7688);
    c->mixture.latent = family_is_null(r, latent) ? 0 : family_size(r, latent, 0);
}

/* Read a Mamba mixer, in which each channel is a head. `expand`, `state` and `rank`: names of keys.
 * If the value of `rank` is "auto" (the default), the narrow vector of steps has a sixteenth of the
 * stream's channels. */
static void read_mamba(struct reading *r, const char *expand, const char *state, const char *rank)
{
    struct config *c = r->config;
    struct mixer *m = &c->mixer;
    const char *word = "";
    const struct json *narrow = json_given(r->root, rank);
    m->heads = family_size(r, expand, 2) * c->n_embd;
    m->d_k = family_size(r, state, 16);
    m->activation = c->activation;
    m->step_rank = (c->n_embd + 15) / 16;
    if (!narrow || !json_get_text(narrow, &word))
        m->step_rank = family_size(r, rank, m->step_rank);
    check_mixer(r, expand, state);
}

static void settle_mamba(struct reading *r)
{
    settle_alone(r);
    read_mamba(r, "expand", "state_size", "time_step_rank");
    r->config->mixer.heads = family_size(r, "intermediate_size", r->config->mixer.heads);
    if (r->config->mixer.inner_norms)
        r->config->mixer.epsilon = (float)family_number(r, "mixer_rms_eps", 0, 1, 1e-6);
}

/* Whether `layer` is one of the layers offset, offset + period, offset + 2 · period, …. `period`
 * and `offset`: names of the keys with these numbers; `otherwise` and `first`: their defaults. */
static bool is_each(struct reading *r, const char *period, size_t otherwise, const char *offset,
                    long long first, size_t layer)
{
    size_t step = family_size(r, period, otherwise);
    return layer % step == (size_t)family_integer(r, offset, 0, LAYERS_MAX, first);
}

static void settle_jamba(struct reading *r)
{
    struct config *c = r->config;
    read_mamba(r, "mamba_expand", "mamba_d_state", "mamba_dt_rank");
    c->mixer.taps = family_size(r, "mamba_d_conv", 4);
    family_bias(r, "mamba_conv_bias", BIASED_CONVOLUTION);
    family_bias(r, "mamba_proj_bias", BIASED_MIXER_IN | BIASED_MIXER_OUT);
    family_read_experts(r, "num_experts", "num_experts_per_tok", 2, NULL);
    if (read_kinds(r, "layer_types")) { /* only a config that was made from a GGUF file has this
                                         * list */
        family_read_qwen_experts(r, 2, false);
        return;
    }
    for (size_t i = 0; i < c->n_layer && !r->failed; i++) {
        if (!is_each(r, "attn_layer_period", 8, "attn_layer_offset", 4, i))
            c->layer_flags[i] |= LAYER_MIXER;
        if (c->mixture.experts == 1 ||
            !is_each(r, "expert_layer_period", 2, "expert_layer_offset", 1, i))
            c->mixture.chosen[i] = 0;
    }
}

static void settle_olmo_hybrid(struct reading *r)
{
    struct config *c = r->config;
    struct mixer *m = &c->mixer;
    size_t last = c->n_layer - 1;
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
    m->heads = family_size(r, "linear_num_value_heads", c->n_head);
    m->key_heads = family_size(r, "linear_num_key_heads", c->n_head);
    m->d_k = family_size(r, "linear_key_head_dim", 3 * c->n_embd / (4 * m->key_heads));
    m->d_v = family_size(r, "linear_value_head_dim", 2 * m->d_k);
    m->taps = family_size(r, "linear_conv_kernel_dim", 4);
    m->activation = c->activation;
    m->strength =
        family_flag(r, "linear_allow_neg_eigval", true) ? STRENGTH_TWICE : STRENGTH_LOGISTIC;
    check_mixer(r, "linear_num_value_heads", "linear_num_key_heads");
    const struct json *rotary = family_object(r, "rope_parameters");
    if (json_is_null(json_member(rotary ? rotary : r->root, "rope_theta")))
        c->rotary = (struct rotary){.components = 0};
    bool given = read_kinds(r, "layer_types");
    for (size_t i = 0; !given && i < c->n_layer; i++)
        if (i % 4 != 3 && !(last < 3 && i == last))
            c->layer_flags[i] |= LAYER_MIXER;
}

/* Read which layers have a mixer from two lists of layers, counted from 1: the layers with
 * attention under the key `others`, the layers with a mixer under `own`. Without both lists layers
 * 4, 8, 12, … have attention (counted from 0). */
static void read_counted_layers(struct reading *r, const char *others, const char *own)
{
    struct config *c = r->config;
    const struct json *lists[] = {family_list(r, others), family_list(r, own)};
    const char *const keys[] = {others, own};
    if (!lists[0] != !lists[1])
        err_set(family_fail(r), "field '%s': expected the layers that '%s' lacks, found nothing",
                keys[lists[0] != NULL], keys[lists[0] == NULL]);
    for (size_t i = 0; i < c->n_layer; i++)
        if (lists[0] || !i || i % 4)
            c->layer_flags[i] |= LAYER_MIXER;
    unsigned char seen[CONFIG_FLAGS_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; i < 2; i++)
        for (const struct json *item = json_first(lists[i]); item && !r->failed;
             item = json_next(item), count++) {
            long long layer = 0;
            if (!json_get_integer(item, 1, (long long)c->n_layer, &layer) || seen[layer - 1]++)
                err_set(family_fail(r),
                        "field '%s': expected layers from 1 to %zu, each in one of '%s' and '%s'",
                        keys[i], c->n_layer, others, own);
            else if (i == 0)
                c->layer_flags[layer - 1] &= (unsigned short)~LAYER_MIXER;
        }
    if (lists[0] && count != c->n_layer)
        err_set(family_fail(r), "field '%s': expected %zu layers here and in '%s', found %zu", own,
                c->n_layer, others, count);
}

/* Read the sizes of Kimi Linear's mixers, and which layers have one. Published files have the keys
 * in the object "linear_attn_config"; files of transformers have other keys at the top level. */
static void read_kimi_mixers(struct reading *r)
{
    struct config *c = r->config;
    struct mixer *m = &c->mixer;
    bool given = read_kinds(r, "layer_types");
    m->heads = family_size(r, "linear_num_heads", 32);
    m->d_k = family_size(r, "linear_head_dim", 128);
    m->taps = family_size(r, "linear_conv_kernel_dim", 4);
    const struct json *root = family_enter(r, "linear_attn_config");
    bool published = root != r->root;
    if (published) {
        m->heads = family_size(r, "num_heads", m->heads);
        m->d_k = family_size(r, "head_dim", m->d_k);
        m->taps = family_size(r, "short_conv_kernel_size", m->taps);
        given = given || read_kinds(r, "layer_types"); /* a config that was made from a GGUF file
                                                        * has this list */
    }
    m->key_heads = m->heads;
    m->d_v = m->step_rank = m->gate_rank = m->d_k;
    m->activation = c->activation;
    if (!given)
        read_counted_layers(r, "full_attn_layers", "kda_layers");
    r->root = root;
    check_mixer(r, published ? "num_heads" : "linear_num_heads", "num_heads");
}

/* Read Kimi Linear. No layer has rotary embeddings. Experts are chosen as in DeepSeek, with other
 * names of keys. */
static void settle_kimi(struct reading *r)
{
    static const char *const groups[FAMILY_NAMES_MAX] = {"num_expert_group", "n_group"};
    struct config *c = r->config;
    struct mixture *e = &c->mixture;
    family_read_latent(r, 0, 128, 128);
    family_expect(r, "mla_use_nope", true, true);
    family_expect_text(r, "moe_router_activation_func", "sigmoid");
    c->n_positions = family_size(r, "model_max_length", c->n_positions);
    family_read_experts(r, "num_experts", "num_experts_per_token", 8, "moe_intermediate_size");
    e->groups = (size_t)family_named(r, groups, 1, DIMENSION_MAX, 1);
    e->chosen_groups = family_size(r, "topk_group", 1);
    family_integer(r, "moe_layer_freq", 1, 1, 1);
    e->shared_inner = e->inner * family_size(r, "num_shared_experts", 1);
    e->factor = (float)family_positive(r, "routed_scaling_factor", 2.446);
    e->renormalised = family_flag(r, "moe_renormalize", true);
    const unsigned short chosen = e->chosen[0];
    family_check_groups(r, "num_experts", "num_expert_group", "topk_group", "num_experts_per_token",
                        chosen);
    size_t plain = (size_t)family_integer(r, "first_k_dense_replace", 0, LAYERS_MAX, 1);
    for (size_t i = 0; i < c->n_layer; i++) {
        c->layer_flags[i] = LAYER_UNROTATED;
        e->chosen[i] = i < plain ? 0 : e->chosen[i];
    }
    family_read_mlp_layers(r, chosen);
    read_kimi_mixers(r);
}

/* --- families --------------------------------------------------------------------------------- */

#define DELTA                                                                         \
    LLAMA, .d_k = 256, .norm_offset = true, NORMED_HEADS, .head_gate = GATE_LOGISTIC, \
           .mixer = {.update = MIXER_DELTA,                                           \
                     .unit = true,                                                    \
                     .strength = STRENGTH_LOGISTIC,                                   \
                     .gate = GATE_SILU,                                               \
                     .out_norm = true,                                                \
                     .style = STYLE_PRE}
#define DELTA_EXPERTS(count, width)           \
    DELTA, .n_kv_head = 2,                    \
           .mixture = {.experts = count,      \
                       .inner = 512,          \
                       .shared_inner = width, \
                       .shared_gate = true,   \
                       .renormalised = true}
#define MIXER_OF(...) .mixer = {.style = STYLE_PRE, __VA_ARGS__}
#define LFM2                                                                    \
    LLAMA_5, .tied = true, .n_positions = 128000, NORMED_HEADS, .n_kv_head = 8, \
             MIXER_OF(.update = MIXER_CONVOLVE, .d_k = 1, .d_v = 1)
#define MAMBA2_AS(...)            \
    .biases = BIASED_CONVOLUTION, \
    MIXER_OF(.update = MIXER_ADD, .skip = true, .gate = GATE_SILU, __VA_ARGS__)
#define MAMBA2 MAMBA2_AS(.gate_first = true, .out_norm = true)
#define MAMBA(...)                                                                              \
    .biases = BIASED_CONVOLUTION,                                                               \
    MIXER_OF(.update = MIXER_ADD, .key_heads = 1, .d_v = 1, .only_v = true, .decay_each = true, \
             .skip = true, .gate = GATE_SILU, __VA_ARGS__)
#define ALONE LLAMA_5, .n_layer = 32, .vocab_size = 50280, .n_embd = 768
#define NEMOTRON                                                                      \
    WITH(DECODER, .rms = true, .style = STYLE_PRE, .n_layer = 4, .n_positions = 4096, \
         .n_kv_head = 8, .d_k = 128, .n_inner = 21504, MAMBA2,                        \
         .mixture = {.experts = 8,                                                    \
                     .inner = 7688,                                                   \
                     .router = ROUTER_SIGMOID,                                        \
                     .corrected = true,                                               \
                     .two_best = true,                                                \
                     .factor = 1,                                                     \
                     .groups = 1,                                                     \
                     .chosen_groups = 1,                                              \
                     .renormalised = true}),                                          \
        "mlp_hidden_act", "relu2", 0, 0
#define OLMO_HYBRID                                                                           \
    WITH(RMS, .epsilon = 1e-6f, .n_inner = 11008, .n_positions = 65536, .style = STYLE_AFTER, \
         .head_norm = {.q = true, .k = true, .whole = true},                                  \
         MIXER_OF(.update = MIXER_DELTA, .unit = true, .gate = GATE_SILU, .out_norm = true,   \
                  .epsilon = 1e-5f))
#define KIMI                                                                               \
    WITH(LLAMA_5, .n_positions = 1048576, .d_k = 1024, .rotary = {.components = 64},       \
         .n_inner = 9216, .n_kv_head = 32,                                                 \
         MIXER_OF(.update = MIXER_DELTA, .unit = true, .step_each = true,                  \
                  .strength = STRENGTH_LOGISTIC, .gate = GATE_LOGISTIC, .out_norm = true), \
         .mixture = {.experts = 256,                                                       \
                     .inner = 1024,                                                        \
                     .router = ROUTER_SIGMOID,                                             \
                     .corrected = true,                                                    \
                     .two_best = true,                                                     \
                     .groups = 1,                                                          \
                     .chosen_groups = 1})
#define QUARTER "hidden_act", "silu", 0.25, 1e4, .rounds_share = true

const struct family family_mixers[] = {
    {"qwen3_5_text", &qwen3_5_names, settle_delta,
     WITH(DELTA, .n_kv_head = 4, .n_inner = 12288, .n_positions = 32768), QUARTER},
    {"qwen3_5", &qwen3_5_wrapped_names, settle_delta,
     WITH(DELTA, .n_kv_head = 4, .n_inner = 12288, .n_positions = 32768), QUARTER, .wrapped = true},
    {"qwen3_5_moe_text", &qwen3_5_names, settle_qwen3_5_moe,
     WITH(DELTA_EXPERTS(256, 512), .n_positions = 32768), QUARTER},
    {"qwen3_5_moe_text with packed experts", &qwen3_5_packed_names, settle_qwen3_5_moe,
     WITH(DELTA_EXPERTS(256, 512), .n_positions = 32768), QUARTER, .by_file = true},
    {"qwen3_5_moe", &qwen3_5_wrapped_names, settle_qwen3_5_moe,
     WITH(DELTA_EXPERTS(256, 512), .n_positions = 32768), QUARTER, .wrapped = true},
    {"qwen3_5_moe with packed experts", &qwen3_5_wrapped_packed_names, settle_qwen3_5_moe,
     WITH(DELTA_EXPERTS(256, 512), .n_positions = 32768), QUARTER, .wrapped = true,
     .by_file = true},
    {"qwen3_next", &qwen3_next_names, settle_qwen3_next,
     WITH(DELTA_EXPERTS(512, 512), .n_inner = 5632, .n_positions = 32768), QUARTER},
    {"qwen3_next with packed experts", &qwen3_next_packed_names, settle_qwen3_next,
     WITH(DELTA_EXPERTS(512, 512), .n_inner = 5632, .n_positions = 32768), QUARTER,
     .by_file = true},
    {"qwen3_next of a GGUF file", &qwen3_next_split_names, settle_qwen3_next,
     WITH(DELTA_EXPERTS(512, 512), .n_inner = 5632, .n_positions = 32768), QUARTER,
     .by_file = true},
    {"lfm2", &lfm2_names, settle_lfm2_dense, WITH(LFM2, .n_inner = 12288), NULL, "silu", 1, 1e6},
    {"lfm2_moe", &lfm2_names, settle_lfm2_moe,
     WITH(LFM2, .n_inner = 7168,
          .mixture = {.experts = 32, .inner = 1792, .router = ROUTER_SIGMOID, .more = 1e-6f}),
     NULL, "silu", 1, 1e6},
    {"bamba", &bamba_names, settle_bamba,
     WITH(LLAMA_5, .n_inner = 14336, .n_positions = 262144, .n_kv_head = 8, MAMBA2), "hidden_act",
     "silu", 0.5, 1e4, .nested_share = true},
    {"falcon_h1", &bamba_names, settle_falcon_h1,
     WITH(LLAMA_5, .n_inner = 14336, .n_positions = 8192, .n_kv_head = 8,
          MAMBA2_AS(.beside = true)),
     SILU},
    {"granitemoehybrid", &granite_names, settle_granite_hybrid,
     WITH(LLAMA, .n_inner = 11008, .n_positions = 2048, MAMBA2,
          .mixture = {.experts = 8, .router = ROUTER_OF_CHOSEN}),
     SILU, .reads = " num_local_experts "},
    {"granitemoehybrid with separate experts", &granite_separate_names, settle_granite_hybrid,
     WITH(LLAMA, .n_inner = 11008, .n_positions = 2048, MAMBA2,
          .mixture = {.experts = 8, .router = ROUTER_OF_CHOSEN}),
     SILU},
    {"mamba2", &mamba2_names, settle_mamba2, WITH(ALONE, .n_head = 128, .d_k = 64, MAMBA2),
     "hidden_act", "silu", 0, 0},
    {"mamba", &mamba_names, settle_mamba, WITH(ALONE, .tied = true, .n_head = 1, MAMBA()),
     "hidden_act", "silu", 0, 0},
    {"falcon_mamba", &mamba_names, settle_mamba,
     WITH(ALONE, .tied = true, .n_head = 1, MAMBA(.inner_norms = true, .plain_norms = true)),
     "hidden_act", "silu", 0, 0},
    {"jamba", &jamba_names, settle_jamba,
     WITH(LLAMA, .n_inner = 14336, .n_positions = 262144, .n_kv_head = 8,
          .mixture = {.experts = 16}, MAMBA(.inner_norms = true)),
     "hidden_act", "silu", 0, 0},
    {"nemotron_h", &nemotron_names, settle_nemotron_h, NEMOTRON},
    {"nemotron_h as a model", &nemotron_model_names, settle_nemotron_h, NEMOTRON, .by_file = true},
    {"olmo_hybrid", &olmo_names, settle_olmo_hybrid, OLMO_HYBRID, SILU},
    {"olmo_hybrid as saved", &olmo_saved_names, settle_olmo_hybrid, OLMO_HYBRID, SILU,
     .by_file = true},
    {"olmo_hybrid with published names", &olmo_published_names, settle_olmo_hybrid, OLMO_HYBRID,
     SILU, .by_file = true},
    {"kimi_linear", &kimi_names, settle_kimi, KIMI, SILU, .width_key = "qk_rope_head_dim"},
    {"kimi_linear as saved", &kimi_saved_names, settle_kimi, KIMI, SILU,
     .width_key = "qk_rope_head_dim", .by_file = true},
    {NULL},
};
