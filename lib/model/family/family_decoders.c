/* family_decoders.c: decoders whose families have no experts or mixers, and Gemma 4, which may have
 * experts. It has a table with a row for each family, the names of the families' tensors, and
 * functions that read the keys of config.json that a row cannot describe. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#include "model/family/family_rows.h"

/* --- names of tensors, and how slots lie in them ---------------------------------------------- */

const struct family_names family_llama_names = NAMES(
    "model.", "layers.", NULL, {"embed_tokens", {SLOT_TOKENS}}, {"norm", {SLOT_FINAL_NORM}},
    {"lm_head", {SLOT_UNEMBED}}, {"input_layernorm", {SLOT_NORM_1}}, {"self_attn.q_proj", {SLOT_Q}},
    {"self_attn.k_proj", {SLOT_K}}, {"self_attn.v_proj", {SLOT_V}}, {"self_attn.o_proj", {SLOT_O}},
    {"self_attn.q_norm", {SLOT_Q_NORM}}, {"self_attn.k_norm", {SLOT_K_NORM}},
    {"post_attention_layernorm", {SLOT_NORM_2}}, {"mlp.gate_proj", {SLOT_GATE}},
    {"mlp.up_proj", {SLOT_UP}}, {"mlp.down_proj", {SLOT_DOWN}});

static const struct family_names olmo2_names = NAMES(
    "model.", "layers.", &family_llama_names, {"post_attention_layernorm", {SLOT_NORM_1_POST}},
    {"post_feedforward_layernorm", {SLOT_NORM_2_POST}});

static const struct family_names hunyuan_names =
    NAMES("model.", "layers.", &family_llama_names, {"self_attn.query_layernorm", {SLOT_Q_NORM}},
          {"self_attn.key_layernorm", {SLOT_K_NORM}});

static const struct family_names apertus_names =
    NAMES("model.", "layers.", &family_llama_names, {"attention_layernorm", {SLOT_NORM_1}},
          {"feedforward_layernorm", {SLOT_NORM_2}},
          {"mlp.act_fn.alpha_p", {SLOT_XIELU_POSITIVE}, .bare = true},
          {"mlp.act_fn.alpha_n", {SLOT_XIELU_NEGATIVE}, .bare = true},
          {"mlp.act_fn.beta", {SLOT_XIELU_BETA}, .bare = true},
          {"mlp.act_fn.eps", {SLOT_XIELU_EPSILON}, .bare = true});

static const struct family_names diffllama_names =
    NAMES("model.", "layers.", &family_llama_names,
          {"self_attn.lambda_q1", {SLOT_LAMBDA_Q1}, .bare = true},
          {"self_attn.lambda_k1", {SLOT_LAMBDA_K1}, .bare = true},
          {"self_attn.lambda_q2", {SLOT_LAMBDA_Q2}, .bare = true},
          {"self_attn.lambda_k2", {SLOT_LAMBDA_K2}, .bare = true});

static const struct family_names glm_names = NAMES(
    "model.", "layers.", &family_llama_names, {"mlp.gate_up_proj", {SLOT_GATE, SLOT_UP}},
    {"post_self_attn_layernorm", {SLOT_NORM_1_POST}}, {"post_mlp_layernorm", {SLOT_NORM_2_POST}});

static const struct family_names cohere_names = NAMES(
    "model.", "layers.", &family_llama_names, {"self_attn.q_norm", {SLOT_Q_NORM}, .stacked = true},
    {"self_attn.k_norm", {SLOT_K_NORM}, .stacked = true});

static const struct family_names stablelm_names = NAMES(
    "model.", "layers.", &family_llama_names, {"self_attn.q_layernorm.norms.{e}", {SLOT_Q_NORM}},
    {"self_attn.k_layernorm.norms.{e}", {SLOT_K_NORM}});

static const struct family_names gemma_names =
    NAMES("model.", "layers.", &olmo2_names, {"pre_feedforward_layernorm", {SLOT_NORM_2}});

static const struct family_names gemma4_names = NAMES(
    "model.", "layers.", &gemma_names, {"embed_tokens_per_layer", {SLOT_GIVEN_TOKENS}},
    {"per_layer_model_projection", {SLOT_GIVEN_PROJECT}},
    {"per_layer_projection_norm", {SLOT_GIVEN_NORM}},
    {"per_layer_input_gate", {SLOT_GATE}, OF_PER_LAYER},
    {"per_layer_projection", {SLOT_DOWN}, OF_PER_LAYER},
    {"post_per_layer_input_norm", {SLOT_NORM_2_POST}, OF_PER_LAYER},
    {"layer_scalar", {SLOT_LAYER_SCALE}, .bare = true}, {"router.proj", {SLOT_ROUTER}},
    {"router.scale", {SLOT_ROUTER_NORM}, .bare = true},
    {"router.per_expert_scale", {SLOT_EXPERT_SCALE}, .bare = true},
    {"pre_feedforward_layernorm_2", {SLOT_EXPERT_NORM}},
    {"experts.gate_up_proj", {SLOT_EXPERT_GATE, SLOT_EXPERT_UP}, .bare = true, .stacked = true},
    {"experts.down_proj", {SLOT_EXPERT_DOWN}, .bare = true, .stacked = true},
    {"post_feedforward_layernorm_2", {SLOT_EXPERTS_POST}},
    {"post_feedforward_layernorm_1", {SLOT_SHARED_POST}}, {"mlp.gate_proj", {SLOT_SHARED_GATE}},
    {"mlp.up_proj", {SLOT_SHARED_UP}}, {"mlp.down_proj", {SLOT_SHARED_DOWN}});

static const struct family_names gemma4_separate_names =
    NAMES("model.", "layers.", &gemma4_names,
          {"experts.{e}.gate_up_proj", {SLOT_EXPERT_GATE, SLOT_EXPERT_UP}},
          {"experts.{e}.down_proj", {SLOT_EXPERT_DOWN}});

static const struct family_names gemma3n_names = NAMES(
    "model.", "layers.", &gemma4_names, {"altup_projections.{e}", {SLOT_COPY_IN}},
    {"altup_unembed_projections.{e}", {SLOT_COPY_OUT}}, {"altup.router_norm", {SLOT_COPY_NORM}},
    {"altup.modality_router", {SLOT_COPY_ROUTER}}, {"altup.prediction_coefs", {SLOT_COPY_PREDICT}},
    {"altup.correction_coefs", {SLOT_COPY_CORRECT}},
    {"altup.correct_output_scale", {SLOT_COPY_SCALE}, .bare = true},
    {"laurel.linear_left", {SLOT_UP}, OF_LAUREL}, {"laurel.linear_right", {SLOT_DOWN}, OF_LAUREL},
    {"laurel.post_laurel_norm", {SLOT_NORM_2_POST}, OF_LAUREL});

static const struct family_names gemma3n_wrapped_names = WRAPPED(&gemma3n_names);
static const struct family_names gemma4_wrapped_names = WRAPPED(&gemma4_names);
static const struct family_names gemma3_names = WRAPPED(&gemma_names);
static const struct family_names mistral3_names = WRAPPED(&family_llama_names);

static const struct family_names phi3_names = NAMES(
    "model.", "layers.", &family_llama_names, {"self_attn.qkv_proj", {SLOT_Q, SLOT_K, SLOT_V}},
    {"mlp.gate_up_proj", {SLOT_GATE, SLOT_UP}});

static const struct family_names phi_names = NAMES(
    "model.", "layers.", &family_llama_names, {"final_layernorm", {SLOT_FINAL_NORM}},
    {"self_attn.dense", {SLOT_O}}, {"self_attn.q_layernorm", {SLOT_Q_NORM}},
    {"self_attn.k_layernorm", {SLOT_K_NORM}}, {"mlp.fc1", {SLOT_UP}}, {"mlp.fc2", {SLOT_DOWN}});

static const struct family_names starcoder2_names = NAMES(
    "model.", "layers.", &family_llama_names, {"mlp.c_fc", {SLOT_UP}}, {"mlp.c_proj", {SLOT_DOWN}});

static const struct family_names opt_names =
    NAMES("model.decoder.", "layers.", &family_llama_names, {"embed_positions", {SLOT_POSITIONS}},
          {"project_in", {SLOT_EMBED_PROJECT}}, {"project_out", {SLOT_PROJECT_OUT}},
          {"final_layer_norm", {SLOT_FINAL_NORM}}, {"self_attn_layer_norm", {SLOT_NORM_1}},
          {"final_layer_norm", {SLOT_NORM_2}}, {"self_attn.out_proj", {SLOT_O}}, {"fc1", {SLOT_UP}},
          {"fc2", {SLOT_DOWN}});

static const struct family_names biogpt_names =
    NAMES("biogpt.", "layers.", &opt_names, {"layer_norm", {SLOT_FINAL_NORM}},
          {"output_projection", {SLOT_UNEMBED}});

static const struct family_names xglm_names =
    NAMES("model.", "layers.", &opt_names, {"layer_norm", {SLOT_FINAL_NORM}});

static const struct family_names neox_names =
    NAMES("gpt_neox.", "layers.", &family_llama_names, {"embed_in", {SLOT_TOKENS}},
          {"final_layer_norm", {SLOT_FINAL_NORM}}, {"embed_out", {SLOT_UNEMBED}},
          {"attention.query_key_value", {SLOT_Q, SLOT_K, SLOT_V}, .groups = GROUPS_KV_HEAD},
          {"attention.dense", {SLOT_O}}, {"mlp.dense_h_to_4h", {SLOT_UP}},
          {"mlp.dense_4h_to_h", {SLOT_DOWN}});

static const struct family_names bloom_names =
    NAMES("transformer.", "h.", &neox_names, {"word_embeddings", {SLOT_TOKENS}},
          {"word_embeddings_layernorm", {SLOT_EMBED_NORM}}, {"ln_f", {SLOT_FINAL_NORM}},
          {"lm_head", {SLOT_UNEMBED}},
          {"self_attention.query_key_value", {SLOT_Q, SLOT_K, SLOT_V}, .groups = GROUPS_KV_HEAD},
          {"self_attention.dense", {SLOT_O}});

/* Tensor names of Falcon models with two norms of the same stream; Falcon models with one norm use
 * bloom_names. */
static const struct family_names falcon_names = NAMES(
    "transformer.", "h.", &bloom_names, {"ln_attn", {SLOT_NORM_1}}, {"ln_mlp", {SLOT_NORM_2}});

static const struct family_names gpt_neo_names = NAMES(
    "transformer.", "h.", NULL, {"wte", {SLOT_TOKENS}}, {"wpe", {SLOT_POSITIONS}},
    {"ln_f", {SLOT_FINAL_NORM}}, {"lm_head", {SLOT_UNEMBED}}, {"ln_1", {SLOT_NORM_1}},
    {"ln_2", {SLOT_NORM_2}}, {"attn.attention.q_proj", {SLOT_Q}},
    {"attn.attention.k_proj", {SLOT_K}}, {"attn.attention.v_proj", {SLOT_V}},
    {"attn.attention.out_proj", {SLOT_O}}, {"mlp.c_fc", {SLOT_UP}}, {"mlp.c_proj", {SLOT_DOWN}});

static const struct family_names gptj_names =
    NAMES("transformer.", "h.", &gpt_neo_names, {"attn.q_proj", {SLOT_Q}},
          {"attn.k_proj", {SLOT_K}}, {"attn.v_proj", {SLOT_V}}, {"attn.out_proj", {SLOT_O}},
          {"mlp.fc_in", {SLOT_UP}}, {"mlp.fc_out", {SLOT_DOWN}});

static const struct family_names codegen_names =
    NAMES("transformer.", "h.", &gptj_names,
          {"attn.qkv_proj", {SLOT_Q, SLOT_V, SLOT_K}, .groups = GROUPS_FOUR});

static const struct family_names bigcode_names = NAMES(
    "transformer.", "h.", &gpt_neo_names,
    {"attn.c_attn", {SLOT_Q, SLOT_K, SLOT_V}, .groups = GROUPS_KV_HEAD}, {"attn.c_proj", {SLOT_O}});

static const struct family_names mpt_names = NAMES(
    "transformer.", "blocks.", &gptj_names, {"norm_f", {SLOT_FINAL_NORM}},
    {"norm_1", {SLOT_NORM_1}}, {"norm_2", {SLOT_NORM_2}}, {"attn.Wqkv", {SLOT_Q, SLOT_K, SLOT_V}},
    {"ffn.up_proj", {SLOT_UP}}, {"ffn.down_proj", {SLOT_DOWN}});

static const struct family_names openai_names =
    NAMES("transformer.", "h.", &family_gpt2_names, {"tokens_embed", {SLOT_TOKENS}},
          {"positions_embed", {SLOT_POSITIONS}});

/* --- keys that a row cannot express ----------------------------------------------------------- */

void family_settle_llama(struct reading *r)
{
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
    family_bias(r, "mlp_bias", BIASED_MLP);
}

void family_settle_qkv_bias(struct reading *r)
{
    family_bias(r, "attention_bias", BIASED_QKV);
    family_bias(r, "mlp_bias", BIASED_MLP);
}

/* Set the scaling of rotary embeddings that a family has by default. False: nothing was set,
 * because config.json has an object "rope_scaling" or "rope_parameters". */
bool family_default_scaling(struct reading *r, enum rotary_scaling scaling, double factor,
                            double positions)
{
    struct rotary *rotary = &r->config->rotary;
    if (json_given(r->root, "rope_scaling") || json_given(r->root, "rope_parameters"))
        return false;
    rotary->scaling = scaling;
    rotary->factor = factor;
    rotary->trained_positions = positions;
    rotary->exact = scaling == ROTARY_YARN;
    return true;
}

static void settle_apertus(struct reading *r)
{
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
    if (family_default_scaling(r, ROTARY_LLAMA3, 8, 8192))
        r->config->rotary.theta = r->config->family->theta; /* the default scaling is always used
                                                             * with this base, whatever "rope_theta"
                                                             * says */
}

static void settle_diffllama(struct reading *r)
{
    const struct config *c = r->config;
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
    if (c->n_kv_head % 2)
        err_set(family_fail(r),
                "field 'num_key_value_heads': expected an even number, as two heads make one "
                "context, found %zu",
                c->n_kv_head);
}

static void settle_seed(struct reading *r)
{
    family_settle_qkv_bias(r);
    family_bias(r, "attention_out_bias", BIASED_OUT);
}

void family_settle_ernie(struct reading *r)
{
    family_bias(r, "use_bias", BIASED_ALL);
}

/* Read the window, and from "layer_types" which layers have it. Without this list all layers have
 * it except every n-th, where n is "sliding_window_pattern". `otherwise`: default of n. */
static void settle_pattern(struct reading *r, size_t otherwise)
{
    struct config *c = r->config;
    static const char key[] = "sliding_window_pattern";
    family_window(r, "sliding_window");
    bool given = family_layer_types(r);
    size_t pattern = given ? 0 : family_size(r, key, otherwise);
    json_given(r->root, key); /* only marks the key as read: with "layer_types" it has no effect,
                               * and may be a text */
    for (size_t i = 0; pattern && c->window && i < c->n_layer; i++)
        if ((i + 1) % pattern)
            c->layer_flags[i] |= LAYER_WINDOW;
}

/* Read OLMo 3. As in transformers 5, "rope_scaling" and a top-level "rope_theta" only apply to
 * layers without a window. */
static void settle_olmo3(struct reading *r)
{
    struct config *c = r->config;
    family_settle_llama(r);
    settle_pattern(r, 4);
    /* only a config that was made from a GGUF file has this key */
    family_local_rotary(r, "rope_local_base_freq", c->family->theta, false);
}

/* Read the windows of EXAONE 4 and Cohere 2. If the model has a window, the layers without the
 * window have no rotary embedding. */
static void settle_exaone4(struct reading *r)
{
    settle_pattern(r, 4);
    if (r->config->window)
        family_flag_layers(r->config, false, LAYER_UNROTATED);
}

static void settle_cohere(struct reading *r)
{
    struct config *c = r->config;
    bool normed = family_flag(r, "use_qk_norm", false);
    family_settle_llama(r);
    c->logit_divisor = (float)(1 / family_positive(r, "logit_scale", 0.0625));
    c->head_norm = (struct head_norm){.q = normed, .k = normed, .own = normed};
}

static void settle_cohere2(struct reading *r)
{
    settle_cohere(r);
    settle_exaone4(r);
}

void family_windows(struct reading *r, size_t first, size_t step)
{
    struct config *c = r->config;
    family_window(r, "sliding_window");
    bool given = family_layer_types(r);
    for (size_t i = first; c->window && i < c->n_layer && !given; i += step)
        c->layer_flags[i] |= LAYER_WINDOW;
}

void family_settle_window(struct reading *r)
{
    struct config *c = r->config;
    family_window(r, "sliding_window");
    for (size_t i = 0; c->window && i < c->n_layer; i++)
        c->layer_flags[i] |= LAYER_WINDOW;
}

static void settle_ministral(struct reading *r)
{
    family_windows(r, 0, 1);
}

/* Read which layers have a window. If "use_sliding_window" is true these are the layers in
 * "layer_types" or, without this list, all layers from "max_window_layers" on; otherwise there is
 * no window. */
void family_settle_switched_window(struct reading *r)
{
    struct config *c = r->config;
    bool used = family_flag(r, "use_sliding_window", false);
    if (used)
        family_window(r, "sliding_window");
    else
        json_given(r->root, "sliding_window"); /* only marks the key as read: it has no effect */
    bool given = family_layer_types(r);
    size_t first = (size_t)family_integer(r, "max_window_layers", 0, INT32_MAX, 28);
    if (!used)
        c->window = 0;
    for (size_t i = first; c->window && i < c->n_layer && !given; i++)
        c->layer_flags[i] |= LAYER_WINDOW;
}

static void settle_qwen3(struct reading *r)
{
    family_settle_llama(r);
    family_settle_switched_window(r);
}

void family_settle_granite(struct reading *r)
{
    struct config *c = r->config;
    family_settle_llama(r);
    c->embedding_scale = (float)family_positive(r, "embedding_multiplier", 1);
    c->scale = (float)family_positive(r, "attention_multiplier", 1);
    for (size_t i = 0; i < SUBLAYER_KINDS; i++)
        c->residual_scale[i] = (float)family_positive(r, "residual_multiplier", 1);
    c->logit_divisor = (float)family_positive(r, "logits_scaling", 1);
}

/* Read SmolLM3. "no_rope_layers" has, for each layer, 1 if it has a rotary embedding and 0 if not;
 * without this list every n-th layer has none, where n is "no_rope_layer_interval". If
 * "use_sliding_window" is true and there is no "layer_types", the layers without a rotary embedding
 * have the window. */
static void settle_smollm3(struct reading *r)
{
    struct config *c = r->config;
    family_settle_llama(r);
    const struct json *list = family_list(r, "no_rope_layers");
    size_t interval = family_size(r, "no_rope_layer_interval", 4);
    if (list && json_count(list) != c->n_layer)
        err_set(family_fail(r), "field 'no_rope_layers': expected %zu numbers, found %zu",
                c->n_layer, json_count(list));
    const struct json *item = json_first(list);
    for (size_t layer = 0; layer < c->n_layer && !r->failed; layer++) {
        long long rotates = (layer + 1) % interval != 0;
        if (list && !json_get_integer(item, 0, 1, &rotates))
            err_set(family_fail(r), "field 'no_rope_layers': expected 1 or 0 for each layer");
        if (!rotates)
            c->layer_flags[layer] |= LAYER_UNROTATED;
        item = list ? json_next(item) : NULL;
    }
    bool used = family_flag(r, "use_sliding_window", false);
    family_window(r, "sliding_window");
    bool given = family_layer_types(r);
    for (size_t layer = 0; layer < c->n_layer && used && !given; layer++)
        if (c->layer_flags[layer] & LAYER_UNROTATED)
            c->layer_flags[layer] |= LAYER_WINDOW;
}

static void settle_olmo(struct reading *r)
{
    family_settle_llama(r);
    r->config->clip = family_limit(r, "clip_qkv", 0);
    r->config->epsilon = 1e-5f;
}

static void settle_gemma(struct reading *r)
{
    r->config->embedding_scale = sqrtf((float)r->config->n_embd);
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
}

/* Read Gemma. "hidden_activation" names the activation; without this key "hidden_act" names it,
 * where "gelu" means gelu_pytorch_tanh. */
static void settle_gemma1(struct reading *r)
{
    static const char key[] = "hidden_act";
    settle_gemma(r);
    if (json_given(r->root, r->config->family->activation_key))
        return;
    const char *name = family_text(r, key, "gelu");
    if (strcmp(name, "gelu") != 0)
        family_activation(r, key, name);
}

/* Read the keys of scores and logits that Gemma 2 and Gemma 3 share. */
static void settle_gemma_scores(struct reading *r)
{
    struct config *c = r->config;
    settle_gemma(r);
    c->scale = (float)(1 / sqrt(family_positive(r, "query_pre_attn_scalar", 256)));
    c->score_cap = family_limit(r, "attn_logit_softcapping", c->score_cap);
    c->logit_cap = family_limit(r, "final_logit_softcapping", c->logit_cap);
}

static void settle_gemma2(struct reading *r)
{
    settle_gemma_scores(r);
    family_windows(r, 0, 2);
}

/* Read Gemma 3. Layers with a window have a rotary embedding of their own, and scores are not
 * capped. */
static void settle_gemma3(struct reading *r)
{
    settle_gemma_scores(r);
    settle_pattern(r, 6);
    r->config->score_cap = 0;
    family_local_rotary(r, "rope_local_base_freq", 10000, false);
    if (r->config->family->reads && family_flag(r, "use_bidirectional_attention", false)) {
        r->config->causal = false;
        r->config->window = r->config->window ? r->config->window / 2 + 1 : 0;
    }
}

/* The member of an object whose name is the index of a layer, with or without leading zeros; NULL:
 * there is none. */
static const struct json *member_of_layer(const struct json *object, size_t layer)
{
    long long number = 0;
    const struct json *member = json_first(object);
    while (member && !(num_parse_integer(json_key(member), 0, LAYERS_MAX, &number) &&
                       number == (long long)layer))
        member = json_next(member);
    return member;
}

/* Read the sizes of heads in layers without a window. "per_layer_config" has them for the layers
 * that differ from others. Without this key they are the values of "global_head_dim" and, if values
 * are keys, "num_global_key_value_heads". */
static void read_wide_heads(struct reading *r)
{
    struct config *c = r->config;
    static const char key[] = "per_layer_config";
    const struct json *root = r->root, *sizes = family_object(r, key);
    c->wide.v_is_k = family_flag(r, "attention_k_eq_v", false);
    size_t d = family_size(r, "global_head_dim", 512), keys = c->n_kv_head;
    if (c->wide.v_is_k)
        keys = family_size(r, "num_global_key_value_heads", keys);
    if (sizes) {
        d = c->d_k;
        keys = c->n_kv_head;
    }
    for (size_t i = 0; i < c->n_layer && !r->failed; i++) {
        bool wide = c->layer_flags[i] & LAYER_WIDE;
        struct wide_heads found = {wide ? d : c->d_k, wide ? keys : c->n_kv_head, c->wide.v_is_k};
        r->root = member_of_layer(sizes, i);
        if (r->root && !json_is_object(r->root))
            json_refuse(key, r->root, "an object for each layer", family_fail(r));
        found.d = family_size(r, "head_dim", found.d);
        found.kv_heads = family_size(r, "num_key_value_heads", found.kv_heads);
        r->root = root;
        if (wide && !c->wide.d)
            c->wide = found;
        if (found.d != (wide ? c->wide.d : c->d_k) ||
            found.kv_heads != (wide ? c->wide.kv_heads : c->n_kv_head))
            err_unsupported(family_fail(r),
                            "field 'per_layer_config': expected equal heads in all layers %s a "
                            "window (by 'layer_types'), found others in layer %zu",
                            wide ? "without" : "with", i);
    }
    if (!r->failed && c->n_head % c->wide.kv_heads)
        err_set(family_fail(r),
                "field 'num_attention_heads': expected a multiple of num_global_key_value_heads = "
                "%zu, found %zu",
                c->wide.kv_heads, c->n_head);
}

/* Read the keys of the layers' extra inputs (config.given), and how many of the last layers read an
 * earlier layer's keys and values. `borrowing`: default of this number. */
static void settle_gemma_layers(struct reading *r, long long borrowing)
{
    struct config *c = r->config;
    c->embedding_scale = sqrtf((float)c->n_embd);
    c->scale = 1;
    c->logit_cap = family_limit(r, "final_logit_softcapping", c->logit_cap);
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
    c->given =
        family_is_null(r, "hidden_size_per_layer_input")
            ? 0
            : (size_t)family_integer(r, "hidden_size_per_layer_input", 0, DIMENSION_MAX, 256);
    c->given_rows = family_size(r, "vocab_size_per_layer_input", 262144);
    c->n_borrowing =
        (size_t)family_integer(r, "num_kv_shared_layers", 0, (long long)c->n_layer, borrowing);
    if (c->n_borrowing > c->n_layer)
        err_set(family_fail(r),
                "field 'num_kv_shared_layers': expected a number up to num_hidden_layers = %zu, "
                "found none, which is %lld",
                c->n_layer, borrowing);
    for (size_t i = c->n_layer - c->n_borrowing; i < c->n_layer && !r->failed; i++)
        if (config_kv_layer(c, i) == SIZE_MAX)
            err_set(family_fail(r),
                    "field 'num_kv_shared_layers': expected keys before layer %zu, which has them "
                    "of a layer like it, found %zu layers without",
                    i, c->n_borrowing);
    if (strcmp(family_text(r, "use_bidirectional_attention", "vision"), "vision") != 0)
        err_unsupported(family_fail(r),
                        "field 'use_bidirectional_attention': expected a text that attends to "
                        "earlier tokens: vision or null");
}

/* Read the window, and from "layer_types" which layers have it. Without this list all layers have
 * it except every n-th. */
static void read_kinds(struct reading *r, size_t n)
{
    struct config *c = r->config;
    family_window(r, "sliding_window");
    bool given = family_layer_types(r);
    for (size_t i = 0; i < c->n_layer && !given; i++)
        if ((i + 1) % n)
            c->layer_flags[i] |= LAYER_WINDOW;
}

static void settle_gemma4(struct reading *r)
{
    struct config *c = r->config;
    struct mixture *m = &c->mixture;
    read_kinds(r, 6);
    c->layer_flags[c->n_layer - 1] &= (unsigned char)~LAYER_WINDOW;
    family_flag_layers(c, false, LAYER_WIDE);
    family_flag_layers(c, true, LAYER_ROTARY_LOCAL);
    read_wide_heads(r);
    settle_gemma_layers(r, 0);
    c->layer_scale = true;
    family_kind_rotary(r, &c->rotary, "full_attention", c->wide.d, 1e6, 0.25);
    family_kind_rotary(r, &c->rotary_local, "sliding_attention", c->d_k, 1e4, 1);
    bool doubles = family_flag(r, "use_double_wide_mlp", false) && c->n_borrowing;
    for (size_t i = c->n_layer - c->n_borrowing; doubles && i < c->n_layer; i++)
        c->inners[i] = 2 * (unsigned)c->n_inner;
    if (!family_flag(r, "enable_moe_block", false))
        return;
    m->beside = m->renormalised = true;
    m->router_factor = 1 / sqrtf((float)c->n_embd);
    m->shared_inner = c->n_inner;
    family_read_experts(r, "num_experts", "top_k_experts", 8, "moe_intermediate_size");
    if (doubles)
        err_unsupported(family_fail(r),
                        "field 'use_double_wide_mlp': expected false beside experts, found true");
}

/* Read, for each layer, the share of the MLP's gates that become 0. Default: 0.95 in the first 10
 * layers of a model with more than 10 layers, and 0 in other layers. */
static void read_sparsity(struct reading *r)
{
    enum { SPARSE_LAYERS = 10 };
    static const char key[] = "activation_sparsity_pattern";
    struct config *c = r->config;
    const struct json *list = json_given(r->root, key), *item = json_first(list);
    if (list && (!json_is_array(list) || json_count(list) != c->n_layer))
        err_set(family_fail(r), "field '%s': expected a list of %zu layers", key, c->n_layer);
    for (size_t i = 0; i < c->n_layer && !r->failed; i++) {
        double share = i < SPARSE_LAYERS && c->n_layer > SPARSE_LAYERS ? 0.95 : 0;
        if (list && (!json_get_number(item, &share) || !(share >= 0) || !(share < 1)))
            err_set(family_fail(r), "field '%s': expected numbers from 0 to below 1", key);
        c->sparsity[i] = (float)share;
        item = list ? json_next(item) : NULL;
    }
}

static void settle_gemma3n(struct reading *r)
{
    struct config *c = r->config;
    read_kinds(r, 5);
    family_local_rotary(r, "rope_local_base_freq", 10000, false);
    settle_gemma_layers(r, 15);
    c->given_lenient = true;
    read_sparsity(r);
    c->laurel = family_size(r, "laurel_rank", 64);
    c->copies.count = (size_t)family_integer(r, "altup_num_inputs", 2, COPIES_MAX, 4);
    c->copies.active =
        (size_t)family_integer(r, "altup_active_idx", 0, (long long)c->copies.count - 1, 0);
    c->copies.scaled = family_flag(r, "altup_correct_scale", true);
    family_number(r, "altup_coef_clip", 0, 1e9, 120);       /* read, but it has an effect only in
                                                             * training */
    family_number(r, "query_pre_attn_scalar", 0, 1e9, 256); /* read, but it has no effect, as in
                                                             * transformers */
}

/* Read Mistral 3. Whatever "tie_word_embeddings" says, the token embedding is used as unembedding
 * only if the file has no unembedding. */
static void settle_mistral3(struct reading *r)
{
    family_settle_window(r);
    r->config->tied = false;
}

static void settle_ministral3(struct reading *r)
{
    struct rotary *rotary = &r->config->rotary;
    family_settle_window(r);
    if (r->config->family->wrapped)
        r->config->tied = false; /* as in settle_mistral3: tied only if the file has no
                                  * unembedding */
    if (!family_default_scaling(r, ROTARY_YARN, 16, 16384))
        return;
    rotary->theta = 1e6;
    rotary->exact = false;
    rotary->amplitude = 1;
    rotary->growth = 0.1;
}

static void settle_phi(struct reading *r)
{
    bool normed = family_flag(r, "qk_layernorm", false);
    r->config->head_norm = (struct head_norm){.q = normed, .k = normed, .shift = normed};
}

static void settle_codegen(struct reading *r)
{
    if (r->config->n_head % 4)
        err_set(family_fail(r), "field 'n_head': expected a multiple of 4, found %zu",
                r->config->n_head);
}

static void settle_bigcode(struct reading *r)
{
    struct config *c = r->config;
    c->n_kv_head = family_flag(r, "multi_query", true) ? 1 : c->n_head;
    if (!family_flag(r, "scale_attn_weights", true))
        c->scale = 1;
}

/* Read MPT. The keys of attention are in the object "attn_config" or, in a config that was made
 * from a GGUF file, at the top level. */
static void settle_mpt(struct reading *r)
{
    struct config *c = r->config;
    family_expect(r, "no_bias", true, true);
    c->n_inner = family_size(r, "expansion_ratio", 4) * c->n_embd;
    const struct json *root = family_enter(r, "attn_config");
    c->clip = family_limit(r, "clip_qkv", 0);
    c->scale = family_is_null(r, "softmax_scale")
                   ? c->scale
                   : (float)family_positive(r, "softmax_scale", (double)c->scale);
    family_expect(r, "alibi", true, true);
    family_expect(r, "qk_ln", false, false);
    family_expect(r, "prefix_lm", false, false);
    if (family_number(r, "alibi_bias_max", 1, 1e6, 8) != 8)
        err_unsupported(family_fail(r), "field 'alibi_bias_max': expected 8, found another number");
    r->root = root;
}

/* Read the first GPT, in whose files "gelu" means gelu_new. */
static void settle_openai(struct reading *r)
{
    r->config->final_norm = false;
    if (strcmp(family_text(r, "afn", "gelu"), "gelu") == 0)
        r->config->activation = ACTIVATION_GELU_NEW;
}

static void settle_biogpt(struct reading *r)
{
    struct config *c = r->config;
    c->epsilon = 1e-5f;
    if (family_flag(r, "scale_embedding", true))
        c->embedding_scale = sqrtf((float)c->n_embd);
}

static void settle_neox(struct reading *r)
{
    bool parallel = family_flag(r, "use_parallel_residual", true);
    r->config->style = parallel ? STYLE_PARALLEL : STYLE_PRE;
    family_bias(r, "attention_bias", BIASED_QKV | BIASED_OUT);
}

static void settle_stablelm(struct reading *r)
{
    bool normed = family_flag(r, "qk_layernorm", false);
    r->config->head_norm = (struct head_norm){.q = normed, .k = normed, .own = normed};
    bool parallel = family_flag(r, "use_parallel_residual", false);
    r->config->style = parallel ? STYLE_ONE_NORM : STYLE_PRE;
    family_bias(r, "use_qkv_bias", BIASED_QKV);
}

static void settle_starcoder2(struct reading *r)
{
    family_bias(r, "use_bias", BIASED_ALL);
    family_settle_window(r);
}

static void settle_bloom(struct reading *r)
{
    r->config->n_inner = 4 * r->config->n_embd;
    if (family_flag(r, "apply_residual_connection_post_layernorm", false))
        r->config->style = STYLE_TO_NORMED;
}

static void settle_falcon(struct reading *r)
{
    struct config *c = r->config;
    bool grouped = family_flag(r, "new_decoder_architecture", false);
    bool multi_query = family_flag(r, "multi_query", true);
    bool parallel = family_flag(r, "parallel_attn", true);
    bool alibi = family_flag(r, "alibi", false);
    family_bias(r, "bias", BIASED_ALL);
    size_t norms = family_size(r, "num_ln_in_parallel_attn", 2);
    if (norms != 1 && norms != 2)
        err_unsupported(family_fail(r),
                        "field 'num_ln_in_parallel_attn': expected 1 or 2, found %zu", norms);
    if (!grouped)
        c->n_kv_head = multi_query ? 1 : c->n_head;
    if (parallel || grouped)
        c->style = grouped && norms == 2 ? STYLE_PARALLEL : STYLE_ONE_NORM;
    if (grouped && norms == 2)
        c->family++; /* the next row of the table, with names for two norms */
    if (alibi)
        c->score_bias = BIAS_ALIBI_ROUNDED;
    else
        family_read_rotary(r, 1, 1e4);
}

/* Read a list of the words "local" and "global" `times` times: each word is the kind of a layer,
 * from *layer on, and local layers get the window. False: there are more items than layers, or an
 * item is another word. */
static bool add_local_layers(struct config *c, const struct json *list, size_t *layer,
                             long long times)
{
    for (; times > 0; times--)
        for (const struct json *item = json_first(list); item; item = json_next(item), ++*layer) {
            const char *text = "";
            json_get_text(item, &text);
            bool local = strcmp(text, "local") == 0;
            if ((!local && strcmp(text, "global") != 0) || *layer >= c->n_layer)
                return false;
            if (local)
                c->layer_flags[*layer] |= LAYER_WINDOW;
        }
    return true;
}

/* Read GPT-Neo. "attention_layers" or "attention_types" says which layers have a window; without
 * both keys layers 1, 3, 5, … have one. */
static void settle_gpt_neo(struct reading *r)
{
    struct config *c = r->config;
    size_t layer = 0;
    family_window(r, "window_size");
    const struct json *types = family_list(r, "attention_types");
    const struct json *layers = family_list(r, "attention_layers");
    bool known = add_local_layers(c, layers, &layer, 1);
    const struct json *item = layer ? NULL : json_first(types);
    for (; item && known && !r->failed; item = json_next(item)) {
        const struct json *list = json_is_array(item) ? json_first(item) : NULL;
        const struct json *count = list ? json_next(list) : NULL;
        long long times = 0;
        if (!count || !json_get_integer(count, 1, (long long)c->n_layer, &times))
            err_set(family_fail(r),
                    "field 'attention_types': expected lists of a pattern and how often");
        known = add_local_layers(c, list, &layer, times);
    }
    if (!known || (layer && layer < c->n_layer))
        err_set(family_fail(r),
                "field 'attention_types': expected global or local for each of %zu layers",
                c->n_layer);
    for (; layer < c->n_layer; layer++)
        if (layer % 2)
            c->layer_flags[layer] |= LAYER_WINDOW;
}

static void settle_opt(struct reading *r)
{
    struct config *c = r->config;
    bool first = family_flag(r, "do_layer_norm_before", true);
    c->epsilon = 1e-5f;
    c->final_norm = !family_flag(r, "_remove_final_layer_norm", false) && first;
    c->style = first ? STYLE_PRE : STYLE_POST_STREAM;
    c->n_word = family_size(r, "word_embed_proj_dim", c->n_embd);
    family_bias(r, "enable_bias", BIASED_ALL);
    c->norm_shift = family_flag(r, "layer_norm_elementwise_affine", true);
    c->norm_plain = !c->norm_shift;
    if (c->n_word == c->n_embd)
        c->n_word = 0;
}

/* --- families --------------------------------------------------------------------------------- */

#define GEMMA RMS, .epsilon = 1e-6f, .tied = true, .norm_offset = true, .d_k = 256
#define GEMMA4                                                                                    \
    RMS, .epsilon = 1e-6f, .tied = true, .d_k = 256, .style = STYLE_SANDWICH, .window = 512,      \
         .n_positions = 131072, .vocab_size = 262144, .n_embd = 2304, .n_layer = 30, .n_head = 8, \
         .n_kv_head = 4, .n_inner = 9216, .head_norm = {.q = true, .k = true, .v = true}
#define GEMMA4_READS " num_experts use_bidirectional_attention "
#define GEMMA3N                                                                                  \
    RMS, .epsilon = 1e-6f, .tied = true, .d_k = 256, .style = STYLE_SANDWICH, .window = 512,     \
         .n_positions = 32768, .vocab_size = 262400, .n_embd = 2048, .n_layer = 35, .n_head = 8, \
         .n_kv_head = 2, .n_inner = 16384, .logit_cap = 30,                                      \
         .head_norm = {.q = true, .k = true, .v = true}
#define GLM RMS, .epsilon = 1.5625e-7f, .d_k = 128, .n_kv_head = 2, .biases = BIASED_QKV, NEIGHBOURS
#define MINISTRAL3 LLAMA_5, .n_positions = 262144, .d_k = 128, .n_kv_head = 8, .n_inner = 14336
#define COHERE \
    DECODER, .style = STYLE_ONE_NORM, .epsilon = 1e-5f, .gated = true, .tied = true, NEIGHBOURS

#define GPTJ                                                                     \
    WITH(SHIFTED, .style = STYLE_ONE_NORM, .biases = BIASED_MLP | BIASED_LOGITS, \
         .n_positions = 2048, .rotary = {.neighbours = true, .components = 64}), \
        "activation_function", "gelu_new", 1, 1e4, .width_key = "rotary_dim", .fixed_rotary = true

const struct family family_decoders[] = {
    {"llama", &family_llama_names, family_settle_llama,
     WITH(LLAMA, .n_inner = 11008, .n_positions = 2048), SILU},
    {"diffllama", &diffllama_names, settle_diffllama,
     WITH(LLAMA_5, .n_inner = 8192, .n_positions = 2048, .differs = true), SILU},
    {"mistral", &family_llama_names, family_settle_window,
     WITH(LLAMA, .n_inner = 14336, .n_positions = 131072, .n_kv_head = 8, .window = 4096), SILU},
    {"ministral", &family_llama_names, settle_ministral,
     WITH(LLAMA, .n_inner = 14336, .n_positions = 131072, .n_kv_head = 8, .window = 4096), SILU},
    {"ministral3", &family_llama_names, settle_ministral3, WITH(MINISTRAL3), SILU,
     .reads = " llama_4_scaling_beta "},
    {"qwen2", &family_llama_names, family_settle_switched_window,
     WITH(LLAMA, .n_kv_head = 32, .n_inner = 22016, .n_positions = 32768, .biases = BIASED_QKV,
          .window = 4096),
     SILU},
    {"qwen3", &family_llama_names, settle_qwen3,
     WITH(LLAMA, .n_kv_head = 32, .n_inner = 22016, .n_positions = 32768, .d_k = 128, NORMED_HEADS,
          .window = 4096),
     SILU},
    {"arcee", &family_llama_names, family_settle_llama,
     WITH(DECODER, .n_inner = 18432, .n_positions = 4096, .rms = true, .style = STYLE_PRE,
          .epsilon = 1e-5f),
     "hidden_act", "relu2", 1, 1e4},
    {"seed_oss", &family_llama_names, settle_seed,
     WITH(LLAMA, .n_kv_head = 8, .n_inner = 27648, .n_positions = 524288, .d_k = 128,
          .biases = BIASED_QKV),
     SILU},
    {"helium", &family_llama_names, family_settle_qkv_bias,
     WITH(RMS, .n_inner = 7040, .n_positions = 4096, .style = STYLE_PRE, .d_k = 128,
          .n_kv_head = 20, .epsilon = 1e-8f, NEIGHBOURS),
     SILU_OF(1e5)},
    {"ernie4_5", &family_llama_names, family_settle_ernie,
     WITH(LLAMA_5, .n_inner = 3072, .n_positions = 131072, .d_k = 128, .n_kv_head = 2, .tied = true,
          NEIGHBOURS),
     SILU_OF(5e5)},
    {"hunyuan_v1_dense", &hunyuan_names, family_settle_llama,
     WITH(LLAMA_5, .n_inner = 11008, .n_positions = 2048,
          .head_norm = {.q = true, .k = true, .after_rotary = true}),
     SILU, .reads = " num_experts "},
    {"apertus", &apertus_names, settle_apertus,
     WITH(DECODER, .n_inner = 14336, .n_positions = 65536, .rms = true, .style = STYLE_PRE,
          .epsilon = 1e-5f, NORMED_HEADS),
     "hidden_act", "xielu", 1, 1.2e7},
    {"glm", &glm_names, family_settle_qkv_bias,
     WITH(GLM, .n_inner = 13696, .n_positions = 131072, .style = STYLE_PRE), "hidden_act", "silu",
     0.5, 1e4},
    {"glm4", &glm_names, family_settle_qkv_bias,
     WITH(GLM, .n_inner = 13696, .n_positions = 131072, .style = STYLE_SANDWICH), "hidden_act",
     "silu", 0.5, 1e4},
    {"cohere", &cohere_names, settle_cohere, WITH(COHERE, .n_inner = 22528, .n_positions = 8192),
     SILU_OF(5e5)},
    {"cohere2", &family_llama_names, settle_cohere2,
     WITH(COHERE, .n_inner = 22528, .n_positions = 8192, .window = 4096), SILU},
    {"granite", &family_llama_names, family_settle_granite,
     WITH(LLAMA, .n_inner = 11008, .n_positions = 2048), SILU},
    {"smollm3", &family_llama_names, settle_smollm3,
     WITH(LLAMA, .n_kv_head = 4, .n_inner = 11008, .n_positions = 32768, .tied = true),
     SILU_OF(2e6)},
    {"phi3", &phi3_names, family_settle_window, WITH(LLAMA_5, .n_inner = 8192, .n_positions = 4096),
     SILU, .reads = " partial_rotary_factor ", .trained_positions = 4096},
    {"olmo", &family_llama_names, settle_olmo,
     WITH(DECODER, .n_inner = 11008, .n_positions = 2048, .style = STYLE_PRE, .norm_plain = true,
          .gated = true),
     SILU, .reads = " clip_qkv "},
    {"olmo2", &olmo2_names, family_settle_llama,
     WITH(RMS, .n_inner = 11008, .n_positions = 2048, .style = STYLE_AFTER, .epsilon = 1e-5f,
          .head_norm = {.q = true, .k = true, .whole = true}),
     SILU},
    {"olmo3", &olmo2_names, settle_olmo3,
     WITH(RMS, .n_inner = 11008, .n_positions = 2048, .style = STYLE_AFTER, .epsilon = 1e-5f,
          .window = 4096, .head_norm = {.q = true, .k = true, .whole = true}),
     SILU_OF(5e5)},
    {"exaone4", &olmo2_names, settle_exaone4,
     WITH(RMS, .n_kv_head = 32, .n_inner = 16384, .n_positions = 2048, .style = STYLE_AFTER,
          .epsilon = 1e-5f, .window = 4096, NORMED_HEADS),
     SILU},
    {"gemma", &family_llama_names, settle_gemma1,
     WITH(GEMMA, .n_kv_head = 16, .n_inner = 24576, .n_positions = 8192, .style = STYLE_PRE),
     "hidden_activation", "gelu_pytorch_tanh", 1, 1e4},
    {"gemma2", &gemma_names, settle_gemma2,
     WITH(GEMMA, .n_kv_head = 4, .n_inner = 9216, .n_positions = 8192, .style = STYLE_SANDWICH,
          .window = 4096, .score_cap = 50, .logit_cap = 30),
     "hidden_activation", "gelu_pytorch_tanh", 1, 1e4},
    {"gemma3_text", &gemma_names, settle_gemma3,
     WITH(GEMMA, .n_kv_head = 4, .n_inner = 9216, .n_positions = 131072, .style = STYLE_SANDWICH,
          .window = 4096, NORMED_HEADS),
     "hidden_activation", "gelu_pytorch_tanh", 1, 1e6, .reads = " use_bidirectional_attention "},
    {"gemma3", &gemma3_names, settle_gemma3,
     WITH(GEMMA, .n_positions = 131072, .style = STYLE_SANDWICH, .window = 4096, NORMED_HEADS,
          .vocab_size = 262208, .n_embd = 2304, .n_layer = 26, .n_head = 8, .n_kv_head = 4,
          .n_inner = 9216),
     "hidden_activation", "gelu_pytorch_tanh", 1, 1e6, .wrapped = true},
    {"gemma3n_text", &gemma3n_names, settle_gemma3n, WITH(GEMMA3N), "hidden_activation",
     "gelu_pytorch_tanh", 1, 1e6, .reads = " intermediate_size "},
    {"gemma3n", &gemma3n_wrapped_names, settle_gemma3n, WITH(GEMMA3N), "hidden_activation",
     "gelu_pytorch_tanh", 1, 1e6, .wrapped = true, .reads = " intermediate_size "},
    {"gemma4_text", &gemma4_names, settle_gemma4, WITH(GEMMA4), "hidden_activation",
     "gelu_pytorch_tanh", 0, 0, .reads = GEMMA4_READS},
    {"gemma4_text with separate experts", &gemma4_separate_names, settle_gemma4, WITH(GEMMA4),
     "hidden_activation", "gelu_pytorch_tanh", 0, 0, .reads = GEMMA4_READS},
    {"gemma4", &gemma4_wrapped_names, settle_gemma4, WITH(GEMMA4), "hidden_activation",
     "gelu_pytorch_tanh", 0, 0, .wrapped = true, .reads = GEMMA4_READS},
    {"mistral3", &mistral3_names, settle_mistral3,
     WITH(LLAMA, .n_positions = 131072, .n_kv_head = 8, .window = 4096, .vocab_size = 32000,
          .n_embd = 4096, .n_layer = 32, .n_head = 32, .n_inner = 14336),
     SILU, .wrapped = true},
    {"mistral3 with ministral3", &mistral3_names, settle_ministral3, WITH(MINISTRAL3), SILU,
     .wrapped = true, .reads = " llama_4_scaling_beta "},
    {"phi", &phi_names, settle_phi,
     WITH(SHIFTED, .n_inner = 8192, .n_positions = 2048, .style = STYLE_ONE_NORM,
          .biases = BIASED_ALL | BIASED_LOGITS),
     "hidden_act", "gelu_new", 0.5, 1e4},
    {"stablelm", &stablelm_names, settle_stablelm,
     WITH(SHIFTED, .n_kv_head = 32, .n_inner = 6912, .n_positions = 4096, .style = STYLE_PRE,
          .gated = true),
     "hidden_act", "silu", 0.25, 1e4},
    {"nemotron", &family_llama_names, family_settle_llama,
     WITH(SHIFTED, .n_inner = 24576, .n_positions = 4096, .style = STYLE_PRE, .norm_offset = true),
     "hidden_act", "relu2", 0.5, 1e4},
    {"starcoder2", &starcoder2_names, settle_starcoder2,
     WITH(TIED, .n_kv_head = 2, .n_inner = 12288, .n_positions = 4096, .biases = BIASED_ALL),
     "hidden_act", "gelu_pytorch_tanh", 1, 1e4},
    {"gpt_neox", &neox_names, settle_neox,
     WITH(SHIFTED, .n_inner = 24576, .n_positions = 2048, .style = STYLE_PARALLEL,
          .biases = BIASED_ALL),
     "hidden_act", "gelu", 0.25, 1e4, "rotary_emb_base", "rotary_pct"},
    {"gpt_neo", &gpt_neo_names, settle_gpt_neo,
     WITH(TIED, .biases = BIASED_OUT | BIASED_MLP, .n_positions = 2048, .window = 256, .scale = 1),
     "activation_function", "gelu_new", 0, 0, .own_mask = true},
    {"gptj", &gptj_names, NULL, GPTJ},
    {"codegen", &codegen_names, settle_codegen, GPTJ},
    {"gpt_bigcode", &bigcode_names, settle_bigcode,
     WITH(TIED, .biases = BIASED_ALL, .n_positions = 1024), "activation_function",
     "gelu_pytorch_tanh", 0, 0},
    {"biogpt", &biogpt_names, settle_biogpt,
     WITH(TIED, .biases = BIASED_ALL, .n_inner = 4096, .n_positions = 1024, .position_offset = 2),
     "hidden_act", "gelu", 0, 0},
    {"xglm", &xglm_names, settle_biogpt,
     WITH(TIED, .biases = BIASED_ALL, .n_inner = 4096, .n_positions = 2048, .position_offset = 2,
          .sinusoids = true, .sines = SINES_OFFSET),
     "activation_function", "gelu", 0, 0},
    {"mpt", &mpt_names, settle_mpt,
     WITH(DECODER, .style = STYLE_PRE, .epsilon = 1e-5f, .tied = true, .n_positions = 2048,
          .score_bias = BIAS_ALIBI_FROM_END),
     NULL, "gelu", 0, 0, .reads = " clip_qkv "},
    {"openai-gpt", &openai_names, settle_openai,
     WITH(SHIFTED, .style = STYLE_POST_STREAM, .tied = true, .biases = BIASED_ALL,
          .n_positions = 512),
     "afn", "gelu", 0, 0, .own_mask = true},
    {"opt", &opt_names, settle_opt,
     WITH(TIED, .biases = BIASED_ALL, .n_inner = 3072, .n_positions = 2048, .position_offset = 2),
     "activation_function", "relu", 0, 0},
    {"bloom", &bloom_names, settle_bloom,
     WITH(TIED, .biases = BIASED_ALL, .embedding_norm = true, .score_bias = BIAS_ALIBI), NULL,
     "gelu_new", 0, 0},
    {"falcon", &bloom_names, settle_falcon, WITH(TIED, .n_positions = 2048), "activation", "gelu",
     0, 0},
    {"falcon with two norms", &falcon_names, settle_falcon, WITH(TIED, .n_positions = 2048),
     "activation", "gelu", 0, 0},
    {NULL},
};
