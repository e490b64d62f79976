#include "model/parameter_table.h"

#include <stdio.h>

#include "model/family/family.h"
#include "model/layer.h"

/* What a model has; a parameter is part of one that has all it needs. */
enum {
    ANY = 0,
    GPT2 = 1 << 0,
    TRANSFORMER = 1 << 1,
    BLOCKS = 1 << 2,   /* norms, MLP and logits: what is more than attention */
    SEPARATE = 1 << 3, /* queries, keys and values each have a matrix of their own */
    LEARNED_POSITIONS = 1 << 4,
    FINAL_NORM = 1 << 5,
    UNTIED = 1 << 6,
    OUT_PROJ = 1 << 7,
    NORMS_IN = 1 << 8,
    SECOND_NORM = 1 << 9,
    NORMS_OUT = 1 << 10,
    SHIFT = 1 << 11,
    GATED = 1 << 12,
    HEAD_NORMS = 1 << 13,
    EMBEDDING_NORM = 1 << 14,
    PROJECTED = 1 << 15,
    OF_QKV = 1 << 16, /* biases */
    OF_OUT = 1 << 17,
    OF_MLP = 1 << 18,
    OF_LOGITS = 1 << 19,
    NEVER = 1 << 20,
};

static int given(bool has, int feature)
{
    return has ? feature : 0;
}

static int features_of(const struct config *c)
{
    bool gpt2 = c->kind == MODEL_GPT2;
    bool waves = c->sinusoids || config_rotates(c) || c->alibi;
    return given(gpt2, GPT2) | given(c->kind == MODEL_TRANSFORMER, TRANSFORMER) |
           given(c->kind != MODEL_ATTENTION, BLOCKS) | given(!gpt2 && c->projections, SEPARATE) |
           given(!waves, LEARNED_POSITIONS) | given(c->final_norm, FINAL_NORM) |
           given(!c->tied, UNTIED) | given(!gpt2 && c->out_proj, OUT_PROJ) |
           given(style_norms_first(c->style) || style_norms_sums(c->style), NORMS_IN) |
           given(c->style != STYLE_ONE_NORM, SECOND_NORM) |
           given(style_norms_outputs(c->style), NORMS_OUT) | given(c->norm_shift, SHIFT) |
           given(c->gated, GATED) | given(c->head_norm, HEAD_NORMS) |
           given(c->embedding_norm, EMBEDDING_NORM) | given(c->n_word, PROJECTED) |
           given(c->biases & BIAS_QKV, OF_QKV) | given(c->biases & BIAS_OUT, OF_OUT) |
           given(c->biases & BIAS_MLP, OF_MLP) | given(c->biases & BIAS_LOGITS, OF_LOGITS);
}

/* A matrix with its bias, a norm's scale with its shift. */
#define LINEAR(id, name, in, out, needs, bias_needs)  \
    [id] = {name ".weight", {in, out}, needs, false}, \
    [(id) + 1] = {name ".bias", {out}, (needs) | (bias_needs), false}
#define NORM(id, name, needs) NORM_OF(id, name, DIM_C, needs)
#define NORM_OF(id, name, size, needs)             \
    [id] = {name ".weight", {size}, needs, false}, \
    [(id) + 1] = {name ".bias", {size}, (needs) | SHIFT, false}
/* The norm and the projections of an attention that needs `more`, beside what it always does. */
#define ATTENTION(to, norm, norm_needs, attn, more)                                                \
    NORM(PARAMETER_LN_1 + (to), norm, BLOCKS | (norm_needs) | (more)),                             \
        LINEAR(PARAMETER_Q + (to), attn ".q_proj", DIM_C, DIM_QUERIES, SEPARATE | (more), OF_QKV), \
        LINEAR(PARAMETER_K + (to), attn ".k_proj", DIM_C, DIM_KEYS, SEPARATE | (more), OF_QKV),    \
        LINEAR(PARAMETER_V + (to), attn ".v_proj", DIM_C, DIM_VALUES, SEPARATE | (more), OF_QKV),  \
        LINEAR(PARAMETER_OUT + (to), attn ".out_proj", DIM_CONTEXT, DIM_OUT, OUT_PROJ | (more),    \
               OF_OUT)

const struct parameter_row parameter_rows[PARAMETERS] = {
    [PARAMETER_WTE] = {"wte.weight", {DIM_V, DIM_WORD}, ANY, false},
    [PARAMETER_WPE] = {"wpe.weight", {DIM_P, DIM_C}, BLOCKS | LEARNED_POSITIONS, false},
    NORM(PARAMETER_EMBEDDING_NORM, "ln_embedding", EMBEDDING_NORM),
    LINEAR(PARAMETER_PROJECT_IN, "project_in", DIM_WORD, DIM_C, PROJECTED, NEVER),
    LINEAR(PARAMETER_PROJECT_OUT, "project_out", DIM_C, DIM_WORD, PROJECTED, NEVER),
    NORM(PARAMETER_ENCODER_LN_F, "enc.ln_f", TRANSFORMER | FINAL_NORM),
    NORM(PARAMETER_LN_F, "ln_f", BLOCKS | FINAL_NORM),
    [PARAMETER_LM_HEAD] = {"lm_head.weight", {DIM_V, DIM_WORD}, BLOCKS | UNTIED, true},
    [PARAMETER_LM_HEAD + 1] = {"lm_head.bias", {DIM_V}, BLOCKS | UNTIED | OF_LOGITS, false},
    ATTENTION(0, "ln_1", NORMS_IN, "attn", ANY),
    LINEAR(PARAMETER_C_ATTN, "attn.c_attn", DIM_C, DIM_3C, GPT2, ANY),
    LINEAR(PARAMETER_ATTN_PROJ, "attn.c_proj", DIM_C, DIM_C, GPT2, ANY),
    NORM_OF(PARAMETER_Q_NORM, "attn.q_norm", DIM_Q_NORM, HEAD_NORMS),
    NORM_OF(PARAMETER_K_NORM, "attn.k_norm", DIM_K_NORM, HEAD_NORMS),
    NORM(PARAMETER_LN_1_POST, "ln_1_post", NORMS_OUT),
    ATTENTION(PARAMETERS_TO_CROSS, "ln_cross", ANY, "cross_attn", TRANSFORMER),
    NORM(PARAMETER_LN_2, "ln_2", BLOCKS | NORMS_IN | SECOND_NORM),
    LINEAR(PARAMETER_GATE, "mlp.gate", DIM_C, DIM_I, GATED, OF_MLP),
    LINEAR(PARAMETER_FC, "mlp.c_fc", DIM_C, DIM_I, BLOCKS, OF_MLP),
    LINEAR(PARAMETER_MLP_PROJ, "mlp.c_proj", DIM_I, DIM_C, BLOCKS, OF_MLP),
    NORM(PARAMETER_LN_2_POST, "ln_2_post", NORMS_OUT),
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
    const struct parameter_row *row = &parameter_rows[id];
    bool of_decoder = id >= PARAMETER_CROSS && id < PARAMETER_LN_2;
    return !(row->needs & ~features_of(config)) && !(of_decoder && layer >= config->n_layer);
}

static size_t dimension_size(enum dimension dimension, const struct config *config)
{
    switch (dimension) {
    case DIM_NONE:
        return 1;
    case DIM_V:
        return config->vocab_size;
    case DIM_P:
        return config->n_positions + config->position_offset;
    case DIM_WORD:
        return config->n_word ? config->n_word : config->n_embd;
    case DIM_Q_NORM:
        return config->head_norm == HEAD_NORM_WHOLE ? config->n_head * config->d_k : config->d_k;
    case DIM_K_NORM:
        return config->head_norm == HEAD_NORM_WHOLE ? config->n_kv_head * config->d_k : config->d_k;
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
    case DIM_OUT:
        return config_out_width(config);
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
    if (config->family)
        return family_tensor_name(name, config->family, id, layer);
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
