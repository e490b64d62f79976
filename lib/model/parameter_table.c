#include "model/parameter_table.h"

#include <stdio.h>

static bool always(const struct config *config)
{
    (void)config;
    return true;
}

static bool in_gpt2(const struct config *config)
{
    return config->kind == MODEL_GPT2;
}

static bool in_transformer(const struct config *config)
{
    return config->kind == MODEL_TRANSFORMER;
}

/* Norms, MLP and logits: what is more than attention. */
static bool in_blocks(const struct config *config)
{
    return in_gpt2(config) || in_transformer(config);
}

static bool with_places(const struct config *config)
{
    return in_blocks(config) && !config->sinusoids;
}

static bool with_final_norm(const struct config *config)
{
    return in_blocks(config) && config->final_norm;
}

static bool with_encoder_norm(const struct config *config)
{
    return in_transformer(config) && config->final_norm;
}

static bool untied(const struct config *config)
{
    return in_blocks(config) && !config->tied;
}

/* Queries, keys and values each have a matrix of their own. */
static bool in_attention(const struct config *config)
{
    return !in_gpt2(config) && config->projections;
}

static bool with_bias(const struct config *config)
{
    return in_attention(config) && config->bias;
}

static bool with_cross_bias(const struct config *config)
{
    return in_transformer(config) && config->bias;
}

static bool with_out(const struct config *config)
{
    return !in_gpt2(config) && config->out_proj;
}

static bool with_out_bias(const struct config *config)
{
    return with_out(config) && config->bias;
}

const struct parameter_row parameter_rows[PARAMETERS] = {
    [PARAMETER_WTE] = {"wte.weight", {DIM_V, DIM_C}, always, false},
    [PARAMETER_WPE] = {"wpe.weight", {DIM_P, DIM_C}, with_places, false},
    [PARAMETER_ENCODER_LN_F] = {"enc.ln_f.weight", {DIM_C}, with_encoder_norm, false},
    [PARAMETER_ENCODER_LN_F_SHIFT] = {"enc.ln_f.bias", {DIM_C}, with_encoder_norm, false},
    [PARAMETER_LN_F] = {"ln_f.weight", {DIM_C}, with_final_norm, false},
    [PARAMETER_LN_F_SHIFT] = {"ln_f.bias", {DIM_C}, with_final_norm, false},
    [PARAMETER_LM_HEAD] = {"lm_head.weight", {DIM_V, DIM_C}, untied, true},
    [PARAMETER_LN_1] = {"ln_1.weight", {DIM_C}, in_blocks, false},
    [PARAMETER_LN_1_SHIFT] = {"ln_1.bias", {DIM_C}, in_blocks, false},
    [PARAMETER_C_ATTN] = {"attn.c_attn.weight", {DIM_C, DIM_3C}, in_gpt2, false},
    [PARAMETER_C_ATTN_BIAS] = {"attn.c_attn.bias", {DIM_3C}, in_gpt2, false},
    [PARAMETER_ATTN_PROJ] = {"attn.c_proj.weight", {DIM_C, DIM_C}, in_gpt2, false},
    [PARAMETER_ATTN_PROJ_BIAS] = {"attn.c_proj.bias", {DIM_C}, in_gpt2, false},
    [PARAMETER_Q] = {"attn.q_proj.weight", {DIM_C, DIM_QUERIES}, in_attention, false},
    [PARAMETER_Q_BIAS] = {"attn.q_proj.bias", {DIM_QUERIES}, with_bias, false},
    [PARAMETER_K] = {"attn.k_proj.weight", {DIM_C, DIM_KEYS}, in_attention, false},
    [PARAMETER_K_BIAS] = {"attn.k_proj.bias", {DIM_KEYS}, with_bias, false},
    [PARAMETER_V] = {"attn.v_proj.weight", {DIM_C, DIM_VALUES}, in_attention, false},
    [PARAMETER_V_BIAS] = {"attn.v_proj.bias", {DIM_VALUES}, with_bias, false},
    [PARAMETER_OUT] = {"attn.out_proj.weight", {DIM_CONTEXT, DIM_C}, with_out, false},
    [PARAMETER_OUT_BIAS] = {"attn.out_proj.bias", {DIM_C}, with_out_bias, false},
    [PARAMETER_LN_CROSS] = {"ln_cross.weight", {DIM_C}, in_transformer, false},
    [PARAMETER_LN_CROSS_SHIFT] = {"ln_cross.bias", {DIM_C}, in_transformer, false},
    [PARAMETER_CROSS_Q] = {"cross_attn.q_proj.weight", {DIM_C, DIM_QUERIES}, in_transformer, false},
    [PARAMETER_CROSS_Q_BIAS] = {"cross_attn.q_proj.bias", {DIM_QUERIES}, with_cross_bias, false},
    [PARAMETER_CROSS_K] = {"cross_attn.k_proj.weight", {DIM_C, DIM_KEYS}, in_transformer, false},
    [PARAMETER_CROSS_K_BIAS] = {"cross_attn.k_proj.bias", {DIM_KEYS}, with_cross_bias, false},
    [PARAMETER_CROSS_V] = {"cross_attn.v_proj.weight", {DIM_C, DIM_VALUES}, in_transformer, false},
    [PARAMETER_CROSS_V_BIAS] = {"cross_attn.v_proj.bias", {DIM_VALUES}, with_cross_bias, false},
    [PARAMETER_CROSS_OUT] = {"cross_attn.out_proj.weight",
                             {DIM_CONTEXT, DIM_C},
                             in_transformer,
                             false},
    [PARAMETER_CROSS_OUT_BIAS] = {"cross_attn.out_proj.bias", {DIM_C}, with_cross_bias, false},
    [PARAMETER_LN_2] = {"ln_2.weight", {DIM_C}, in_blocks, false},
    [PARAMETER_LN_2_SHIFT] = {"ln_2.bias", {DIM_C}, in_blocks, false},
    [PARAMETER_FC] = {"mlp.c_fc.weight", {DIM_C, DIM_I}, in_blocks, false},
    [PARAMETER_FC_BIAS] = {"mlp.c_fc.bias", {DIM_I}, in_blocks, false},
    [PARAMETER_MLP_PROJ] = {"mlp.c_proj.weight", {DIM_I, DIM_C}, in_blocks, false},
    [PARAMETER_MLP_PROJ_BIAS] = {"mlp.c_proj.bias", {DIM_C}, in_blocks, false},
};

size_t parameter_index(enum parameter_id id, size_t layer)
{
    return (size_t)id + (id < PARAMETERS_OF_MODEL ? 0 : layer * PARAMETERS_OF_LAYER);
}

struct parameter_key parameter_key(size_t index)
{
    if (index < PARAMETERS_OF_MODEL)
        return (struct parameter_key){.id = (enum parameter_id)index};
    size_t in_layers = index - PARAMETERS_OF_MODEL;
    size_t row = PARAMETERS_OF_MODEL + in_layers % PARAMETERS_OF_LAYER;
    return (struct parameter_key){(enum parameter_id)row, in_layers / PARAMETERS_OF_LAYER};
}

size_t parameter_count(const struct config *config)
{
    return PARAMETERS_OF_MODEL + config_layers(config) * PARAMETERS_OF_LAYER;
}

bool parameter_is_used(enum parameter_id id, size_t layer, const struct config *config)
{
    bool of_decoder = id >= PARAMETER_LN_CROSS && id <= PARAMETER_CROSS_OUT_BIAS;
    return parameter_rows[id].used(config) && !(of_decoder && layer >= config->n_layer);
}

static size_t dimension_size(enum dimension dimension, const struct config *config)
{
    switch (dimension) {
    case DIM_NONE:
        return 1;
    case DIM_V:
        return config->vocab_size;
    case DIM_P:
        return config->n_positions;
    case DIM_C:
        return config->n_embd;
    case DIM_3C:
        return 3 * config->n_embd;
    case DIM_I:
        return config->n_inner;
    case DIM_QUERIES:
        return config->n_head * config->d_k;
    case DIM_KEYS:
        return config->n_kv_head * config->d_k;
    case DIM_VALUES:
        return config->n_kv_head * config->d_v;
    case DIM_CONTEXT:
        return config->n_head * config->d_v;
    }
    return 1;
}

size_t parameter_shape(size_t shape[2], enum parameter_id id, const struct config *config)
{
    const struct parameter_row *row = &parameter_rows[id];
    shape[0] = dimension_size(row->shape[0], config);
    shape[1] = dimension_size(row->shape[1], config);
    return row->shape[1] == DIM_NONE ? 1 : 2;
}

const char *parameter_name(char name[PARAMETER_NAME_BYTES], enum parameter_id id, size_t layer,
                           const struct config *config)
{
    bool of_encoder = layer >= config->n_layer;
    if (id < PARAMETERS_OF_MODEL)
        snprintf(name, PARAMETER_NAME_BYTES, "%s", parameter_rows[id].name);
    else
        snprintf(name, PARAMETER_NAME_BYTES, "%s.%zu.%s", of_encoder ? "enc" : "h",
                 of_encoder ? layer - config->n_layer : layer, parameter_rows[id].name);
    return name;
}

const char *parameter_shape_text(char text[PARAMETER_SHAPE_BYTES], size_t rank, const size_t *shape)
{
    size_t used = (size_t)snprintf(text, PARAMETER_SHAPE_BYTES, "[");
    for (size_t axis = 0; axis < rank; axis++)
        used += (size_t)snprintf(text + used, PARAMETER_SHAPE_BYTES - used, "%s%zu",
                                 axis ? ", " : "", shape[axis]);
    snprintf(text + used, PARAMETER_SHAPE_BYTES - used, "]");
    return text;
}
