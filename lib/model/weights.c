#include "model/weights.h"

#include <stdbool.h>
#include <string.h>

#include "math/argmax.h"
#include "math/gemm.h"
#include "model/family/family.h"
#include "model/family/family_rows.h"
#include "model/parameter_table.h"

struct parameter {
    struct found_tensor found;
    const float *data;     /* NULL until it is used as float32 */
    const float *panels;   /* NULL until it is packed */
    const uint32_t *pairs; /* NULL until it is rounded to bf16 */
};

static struct parameter *parameter_at(const struct weights *weights, enum parameter_id id,
                                      size_t layer)
{
    return &weights->parameters[parameter_index(id, layer)];
}

static const struct found_tensor *found_at(void *parameters, size_t index)
{
    return &((struct parameter *)parameters)[index].found;
}

static int find_parameters(struct weights *weights, struct err *err)
{
    const struct config *config = weights->config;
    if (checkpoint_check_layers(&weights->checkpoint, config, err))
        return -1;
    for (size_t i = 0; i < parameter_count(config); i++)
        if (checkpoint_find_parameter(&weights->parameters[i].found, &weights->checkpoint, config,
                                      i, err))
            return -1;
    return config->family ? checkpoint_check_wanted(&weights->checkpoint, config, found_at,
                                                    weights->parameters, err)
                          : 0;
}

int weights_open(struct weights *weights, const struct config *config, const struct folder *folder,
                 struct err *err)
{
    *weights = (struct weights){.config = config};
    if (checkpoint_open(&weights->checkpoint, folder, err))
        return -1;
    weights->parameters =
        arena_alloc(&weights->arena, parameter_count(config), sizeof *weights->parameters, err);
    if (!weights->parameters || find_parameters(weights, err)) {
        weights_release(weights);
        return -1;
    }
    return 0;
}

void weights_release(struct weights *weights)
{
    checkpoint_release(&weights->checkpoint);
    arena_release(&weights->arena);
    *weights = (struct weights){0};
}

/* The tensor as float32: where it lies, or converted and kept. NULL, with no error, when the model
 * has no such tensor. */
static int load(struct weights *weights, enum parameter_id id, size_t layer, const float **data,
                struct err *err)
{
    struct parameter *parameter = parameter_at(weights, id, layer);
    const struct safetensors_entry *entry = parameter->found.entry;
    if (entry && !parameter->data)
        parameter->data = safetensors_floats(entry);
    if (entry && !parameter->data) {
        float *copy = arena_alloc(&weights->arena, entry->count, sizeof *copy, err);
        if (!copy)
            return -1;
        dtype_to_float(copy, entry->data, entry->dtype, entry->count);
        parameter->data = copy;
    }
    *data = parameter->data;
    return 0;
}

static int load_norm(struct weights *weights, enum parameter_id scale, size_t layer,
                     struct norm *norm, struct err *err)
{
    norm->epsilon = weights->config->epsilon;
    norm->rms = weights->config->rms;
    norm->offset = weights->config->norm_offset ? 1.0f : 0.0f;
    return load(weights, scale, layer, &norm->scale, err) ||
                   load(weights, scale + 1, layer, &norm->shift, err)
               ? -1
               : 0;
}

/* A matrix of a family, which lies as [out, in]: its rows are packed, or rounded, as columns. */
static int load_rows(struct weights *weights, enum parameter_id id, size_t layer,
                     struct weight *weight, struct err *err)
{
    struct parameter *parameter = parameter_at(weights, id, layer);
    struct parameter *bias = parameter_at(weights, id + 1, layer);
    struct row_view view = family_view(id, weights->config);
    bool rounded = weights->precision == PRECISION_BF16;
    if (bias->found.entry && !bias->data) {
        bias->data = rows_copy_bias(bias->found.entry, &view, weight->out, &weights->arena, err);
        if (!bias->data)
            return -1;
    }
    if (rounded && !parameter->pairs)
        parameter->pairs =
            rows_to_pairs(parameter->found.entry, &view, weight, &weights->arena, err);
    if (!rounded && !parameter->panels)
        parameter->panels =
            rows_to_panels(parameter->found.entry, &view, weight, &weights->arena, err);
    weight->bias = bias->data;
    weight->pairs = rounded ? parameter->pairs : NULL;
    weight->panels = rounded ? NULL : parameter->panels;
    return weight_exists(weight) ? 0 : -1;
}

static int pack(struct weights *weights, struct parameter *parameter, struct weight *weight,
                struct err *err)
{
    if (!parameter->panels) {
        float *panels = arena_alloc(&weights->arena, panels_size(weight), sizeof *panels, err);
        if (!panels)
            return -1;
        panels_fill(panels, weight);
        parameter->panels = panels;
    }
    weight->panels = parameter->panels;
    return 0;
}

/* Round a matrix to bf16, once: as one, or as `parts` of the same size that stand side by side. */
static int round_matrix(struct weights *weights, struct parameter *parameter, struct weight *weight,
                        size_t parts, struct err *err)
{
    struct weight part = {.in = weight->in, .out = weight->out / parts};
    const struct safetensors_entry *entry = parameter->found.entry;
    if (entry && !parameter->pairs)
        parameter->pairs = weights_bf16_matrix(entry, &part, &weights->arena, err);
    weight->pairs = parameter->pairs;
    return entry && !weight->pairs ? -1 : 0;
}

/* A matrix, in float32, packed or rounded, and its bias, which comes after it in the table. The
 * matrix may be several side by side. */
static int load_linear(struct weights *weights, enum parameter_id matrix, size_t layer,
                       struct weight *weight, size_t parts, struct err *err)
{
    size_t shape[2];
    struct parameter *parameter = parameter_at(weights, matrix, layer);
    parameter_shape(shape, matrix, weights->config);
    weight->in = shape[0];
    weight->out = weight->stride = shape[1];
    if (weights->config->family)
        return load_rows(weights, matrix, layer, weight, err);
    if (load(weights, matrix + 1, layer, &weight->bias, err))
        return -1;
    if (weights->precision == PRECISION_BF16)
        return round_matrix(weights, parameter, weight, parts, err);
    if (load(weights, matrix, layer, &weight->data, err))
        return -1;
    return weights->packing ? pack(weights, parameter, weight, err) : 0;
}

/* One of several matrices that stand side by side; rounded, each has panels of its own. */
static struct weight part_of(const struct weight *whole, size_t index, size_t columns)
{
    struct weight joined = *whole;
    joined.pairs = NULL;
    struct weight part = weight_columns(&joined, index * columns, columns);
    part.pairs = whole->pairs ? whole->pairs + index * pairs_size(&part) : NULL;
    return part;
}

/* GPT-2 keeps queries, keys and values side by side in one matrix [C, 3C]. */
static int load_joined(struct weights *weights, size_t layer, struct attention_weights *attention,
                       struct err *err)
{
    struct weight joined = {0};
    size_t width = weights->config->n_embd;
    if (load_linear(weights, PARAMETER_C_ATTN, layer, &joined, 3, err))
        return -1;
    attention->q = part_of(&joined, 0, width);
    attention->k = part_of(&joined, 1, width);
    attention->v = part_of(&joined, 2, width);
    if (weights->precision == PRECISION_FP32)
        attention->joined = joined;
    return 0;
}

/* The parameters of a block: which row of the table goes where, and which site needs it first. */
static const struct block_row {
    enum parameter_id id;
    enum site site;
    size_t offset; /* in struct block_weights */
} block_rows[] = {
    {PARAMETER_LN_1, SITE_LN_1, offsetof(struct block_weights, self.norm)},
    {PARAMETER_C_ATTN, SITE_Q, offsetof(struct block_weights, self)},
    {PARAMETER_ATTN_PROJ, SITE_ATTN_OUT, offsetof(struct block_weights, self.out)},
    {PARAMETER_Q, SITE_Q_PRE, offsetof(struct block_weights, self.q)},
    {PARAMETER_K, SITE_K_PRE, offsetof(struct block_weights, self.k)},
    {PARAMETER_V, SITE_V, offsetof(struct block_weights, self.v)},
    {PARAMETER_Q_NORM, SITE_Q_PRE, offsetof(struct block_weights, self.q_norm)},
    {PARAMETER_K_NORM, SITE_K_PRE, offsetof(struct block_weights, self.k_norm)},
    {PARAMETER_OUT, SITE_ATTN_OUT, offsetof(struct block_weights, self.out)},
    {PARAMETER_LN_1_POST, SITE_LN_1_POST, offsetof(struct block_weights, self.post)},
    {PARAMETER_LN_2, SITE_LN_2, offsetof(struct block_weights, mlp.norm)},
    {PARAMETER_GATE, SITE_MLP_GATE, offsetof(struct block_weights, mlp.gate)},
    {PARAMETER_FC, SITE_MLP_UP, offsetof(struct block_weights, mlp.fc)},
    {PARAMETER_MLP_PROJ, SITE_MLP_OUT, offsetof(struct block_weights, mlp.proj)},
    {PARAMETER_LN_2_POST, SITE_LN_2_POST, offsetof(struct block_weights, mlp.post)},
};

static int load_row(struct weights *weights, const struct block_row *row, size_t layer,
                    enum site last, struct block_weights *block, struct err *err)
{
    void *to = (char *)block + row->offset;
    if (last < row->site || !parameter_is_used(row->id, layer, weights->config))
        return 0;
    if (row->id == PARAMETER_C_ATTN)
        return load_joined(weights, layer, to, err);
    if (parameter_rows[row->id].shape[1] == DIM_NONE)
        return load_norm(weights, row->id, layer, to, err);
    return load_linear(weights, row->id, layer, to, 1, err);
}

/* The same row where the text looks at its source. */
static struct block_row cross_row(const struct block_row *row)
{
    size_t from_self = row->offset - offsetof(struct block_weights, self);
    enum site turned = row->site == SITE_Q_PRE   ? SITE_Q
                       : row->site == SITE_K_PRE ? SITE_K
                                                 : row->site; /* nothing turns there */
    return (struct block_row){.id = row->id + PARAMETERS_TO_CROSS,
                              .site = site_of(PART_CROSS, turned),
                              .offset = offsetof(struct block_weights, cross) + from_self};
}

int weights_block(struct weights *weights, size_t layer, enum site last,
                  struct block_weights *block, struct err *err)
{
    *block = (struct block_weights){0};
    for (size_t i = 0; i < sizeof block_rows / sizeof *block_rows; i++) {
        const struct block_row *row = &block_rows[i];
        struct block_row cross = cross_row(row);
        if (load_row(weights, row, layer, last, block, err) ||
            (row->id <= PARAMETER_OUT && load_row(weights, &cross, layer, last, block, err)))
            return -1;
    }
    return 0;
}

int weights_embedding_norm(struct weights *weights, struct norm *norm, struct err *err)
{
    return load_norm(weights, PARAMETER_EMBEDDING_NORM, 0, norm, err);
}

int weights_projection(struct weights *weights, bool out, struct weight *weight, struct err *err)
{
    *weight = (struct weight){0};
    return load_linear(weights, out ? PARAMETER_PROJECT_OUT : PARAMETER_PROJECT_IN, 0, weight, 1,
                       err);
}

int weights_logit_bias(struct weights *weights, const float **bias, struct err *err)
{
    return load(weights, PARAMETER_LM_HEAD + 1, 0, bias, err);
}

int weights_final_norm(struct weights *weights, bool of_encoder, struct norm *norm, struct err *err)
{
    return load_norm(weights, of_encoder ? PARAMETER_ENCODER_LN_F : PARAMETER_LN_F, 0, norm, err);
}

static enum parameter_id unembedding_of(const struct weights *weights)
{
    bool own = !weights->config->tied && parameter_at(weights, PARAMETER_LM_HEAD, 0)->found.entry;
    return own ? PARAMETER_LM_HEAD : PARAMETER_WTE;
}

int weights_unembedding(struct weights *weights, const float **matrix, struct err *err)
{
    return load(weights, unembedding_of(weights), 0, matrix, err);
}

int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err)
{
    const struct config *c = weights->config;
    const float *words = NULL;
    if (!weights->argmax) {
        struct argmax *made = arena_alloc(&weights->arena, 1, sizeof *made, err);
        if (!made || weights_unembedding(weights, &words, err))
            return -1;
        /* they are only read */
        size_t width = config_word_width(c);
        struct matrix rows = {(float *)words, c->vocab_size, width, width};
        if (argmax_init(made, machine, rows, &weights->arena, err))
            return -1;
        weights->argmax = made;
    }
    *argmax = weights->argmax;
    return 0;
}

bool weights_unembedding_is_packed(const struct weights *weights)
{
    return weights->precision == PRECISION_BF16 || weights->packing_words;
}

static int round_unembedding(struct weights *weights, struct weight *weight, struct err *err)
{
    struct parameter *parameter = parameter_at(weights, unembedding_of(weights), 0);
    if (!parameter->pairs)
        parameter->pairs =
            weights_bf16_transpose(parameter->found.entry, weight, &weights->arena, err);
    weight->pairs = parameter->pairs;
    return weight->pairs ? 0 : -1;
}

static int pack_unembedding(struct weights *weights, struct weight *weight, struct err *err)
{
    struct parameter *parameter = parameter_at(weights, unembedding_of(weights), 0);
    if (!parameter->panels) {
        const float *words = NULL;
        float *panels = arena_room(&weights->arena, panels_size(weight), sizeof *panels, err);
        if (!panels || weights_unembedding(weights, &words, err))
            return -1;
        /* they are only read */
        struct matrix rows = {(float *)words, weight->out, weight->in, weight->in};
        panels_fill_transposed(panels, rows);
        parameter->panels = panels;
    }
    weight->panels = parameter->panels;
    return 0;
}

int weights_packed_unembedding(struct weights *weights, struct weight *weight, struct err *err)
{
    const struct config *c = weights->config;
    bool rounded = weights->precision == PRECISION_BF16;
    *weight = (struct weight){.in = config_word_width(c), .out = c->vocab_size};
    return (rounded ? round_unembedding : pack_unembedding)(weights, weight, err);
}

void weights_embed_token(const struct weights *weights, float *y, uint32_t id)
{
    const struct safetensors_entry *wte = parameter_at(weights, PARAMETER_WTE, 0)->found.entry;
    dtype_to_float(y, safetensors_row(wte, id), wte->dtype, wte->shape[1]);
}

void weights_add_position(const struct weights *weights, float *y, size_t position)
{
    enum { PART = 256 };
    float part[PART];
    const struct safetensors_entry *wpe = parameter_at(weights, PARAMETER_WPE, 0)->found.entry;
    if (!wpe)
        return;
    const char *row = safetensors_row(wpe, position + weights->config->position_offset);
    size_t step = PART * dtype_size_bytes(wpe->dtype);
    for (size_t done = 0; done < wpe->shape[1]; done += PART, row += step) {
        size_t rest = wpe->shape[1] - done;
        size_t count = rest < PART ? rest : PART;
        dtype_to_float(part, row, wpe->dtype, count);
        for (size_t i = 0; i < count; i++)
            y[done + i] += part[i];
    }
}

int weights_check_finite(struct weights *weights, int layer, struct err *err)
{
    int first = layer < 0 ? 0 : PARAMETERS_OF_MODEL;
    int end = layer < 0 ? PARAMETERS_OF_MODEL : PARAMETERS;
    size_t at_layer = layer < 0 ? 0 : (size_t)layer;
    for (int id = first; id < end; id++) {
        const struct parameter *parameter = parameter_at(weights, (enum parameter_id)id, at_layer);
        if (checkpoint_check_finite(&weights->checkpoint, parameter->found, err))
            return -1;
    }
    return 0;
}

size_t weights_parameter_count(const struct weights *weights)
{
    return parameter_count(weights->config);
}

struct parameter_info weights_parameter(const struct weights *weights, size_t index)
{
    struct parameter_key key = parameter_key(index);
    struct parameter_info info = {.entry = weights->parameters[index].found.entry,
                                  .file = weights->parameters[index].found.file};
    parameter_name(info.name, key.id, key.layer, weights->config);
    return info;
}
