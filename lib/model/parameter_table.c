#include "model/parameter_table.h"

#include <stdio.h>

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
    BIAS = 1 << 8,
};

static int features_of(const struct config *c)
{
    bool gpt2 = c->kind == MODEL_GPT2;
    return (gpt2 ? GPT2 : 0) | (c->kind == MODEL_TRANSFORMER ? TRANSFORMER : 0) |
           (c->kind != MODEL_ATTENTION ? BLOCKS : 0) | (!gpt2 && c->projections ? SEPARATE : 0) |
           (c->sinusoids ? 0 : LEARNED_POSITIONS) | (c->final_norm ? FINAL_NORM : 0) |
           (c->tied ? 0 : UNTIED) | (!gpt2 && c->out_proj ? OUT_PROJ : 0) | (c->bias ? BIAS : 0);
}

/* A matrix with its bias, a norm's scale with its shift. */
#define LINEAR(id, name, in, out, needs, bias_needs)  \
    [id] = {name ".weight", {in, out}, needs, false}, \
    [(id) + 1] = {name ".bias", {out}, bias_needs, false}
#define NORM(id, name, needs)                       \
    [id] = {name ".weight", {DIM_C}, needs, false}, \
    [(id) + 1] = {name ".bias", {DIM_C}, needs, false}
/* A head's projection; those of an attention that needs `more`. */
#define PROJECTION(id, name, in, out, needs) LINEAR(id, name, in, out, needs, (needs) | BIAS)
#define ATTENTION(to, norm, attn, more)                                                        \
    NORM(PARAMETER_LN_1 + (to), norm, BLOCKS | (more)),                                        \
        PROJECTION(PARAMETER_Q + (to), attn ".q_proj", DIM_C, DIM_QUERIES, SEPARATE | (more)), \
        PROJECTION(PARAMETER_K + (to), attn ".k_proj", DIM_C, DIM_KEYS, SEPARATE | (more)),    \
        PROJECTION(PARAMETER_V + (to), attn ".v_proj", DIM_C, DIM_VALUES, SEPARATE | (more)),  \
        PROJECTION(PARAMETER_OUT + (to), attn ".out_proj", DIM_CONTEXT, DIM_C, OUT_PROJ | (more))

const struct parameter_row parameter_rows[PARAMETERS] = {
    [PARAMETER_WTE] = {"wte.weight", {DIM_V, DIM_C}, ANY, false},
    [PARAMETER_WPE] = {"wpe.weight", {DIM_P, DIM_C}, BLOCKS | LEARNED_POSITIONS, false},
    NORM(PARAMETER_ENCODER_LN_F, "enc.ln_f", TRANSFORMER | FINAL_NORM),
    NORM(PARAMETER_LN_F, "ln_f", BLOCKS | FINAL_NORM),
    [PARAMETER_LM_HEAD] = {"lm_head.weight", {DIM_V, DIM_C}, BLOCKS | UNTIED, true},
    ATTENTION(0, "ln_1", "attn", 0),
    LINEAR(PARAMETER_C_ATTN, "attn.c_attn", DIM_C, DIM_3C, GPT2, GPT2),
    LINEAR(PARAMETER_ATTN_PROJ, "attn.c_proj", DIM_C, DIM_C, GPT2, GPT2),
    ATTENTION(PARAMETERS_TO_CROSS, "ln_cross", "cross_attn", TRANSFORMER),
    NORM(PARAMETER_LN_2, "ln_2", BLOCKS),
    LINEAR(PARAMETER_FC, "mlp.c_fc", DIM_C, DIM_I, BLOCKS, BLOCKS),
    LINEAR(PARAMETER_MLP_PROJ, "mlp.c_proj", DIM_I, DIM_C, BLOCKS, BLOCKS),
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
