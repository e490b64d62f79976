#include "model/weights.h"

#include <stdbool.h>
#include <string.h>

#include "base/num.h"
#include "math/argmax.h"
#include "model/family/family.h"
#include "model/weights_load.h"

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
    *weights = (struct weights){.config = config, .packing_bytes = SIZE_MAX};
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

int weights_share(struct weights *shared, const struct weights *weights,
                  const struct config *config, struct err *err)
{
    size_t count = parameter_count(config);
    *shared = *weights;
    shared->config = config;
    shared->argmax = NULL; /* it is written to */
    shared->arena = (struct arena){0};
    shared->parameters = arena_alloc(&shared->arena, count, sizeof *shared->parameters, err);
    if (!shared->parameters)
        return -1;
    memcpy(shared->parameters, weights->parameters, count * sizeof *shared->parameters);
    return 0;
}

void weights_release_shared(struct weights *shared)
{
    arena_release(&shared->arena);
    *shared = (struct weights){0};
}

/* One of several matrices stored side by side; in bf16 each has its own panels. */
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
    if (weights_load_matrix(weights, PARAMETER_C_ATTN, layer, &joined, 3, err))
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
        return weights_load_norm(weights, row->id, layer, to, err);
    return weights_load_matrix(weights, row->id, layer, to, 1, err);
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
    return weights_load_norm(weights, PARAMETER_EMBEDDING_NORM, 0, norm, err);
}

int weights_projection(struct weights *weights, bool out, struct weight *weight, struct err *err)
{
    *weight = (struct weight){0};
    return weights_load_matrix(weights, out ? PARAMETER_PROJECT_OUT : PARAMETER_PROJECT_IN, 0,
                               weight, 1, err);
}

int weights_logit_bias(struct weights *weights, const float **bias, struct err *err)
{
    return weights_load(weights, PARAMETER_LM_HEAD + 1, 0, bias, err);
}

int weights_final_norm(struct weights *weights, bool of_encoder, struct norm *norm, struct err *err)
{
    return weights_load_norm(weights, of_encoder ? PARAMETER_ENCODER_LN_F : PARAMETER_LN_F, 0, norm,
                             err);
}

int weights_unembedding(struct weights *weights, struct weight *weight, struct err *err)
{
    static const struct row_view all = {0, SIZE_MAX, 0};
    const struct config *c = weights->config;
    bool own = !c->tied && parameter_at(weights, PARAMETER_LM_HEAD, 0)->found.entry;
    *weight = (struct weight){.in = config_word_width(c), .out = c->vocab_size};
    return weights_load_rows(weights, own ? PARAMETER_LM_HEAD : PARAMETER_WTE, 0, weight, &all,
                             weights->packing_words, err);
}

int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err)
{
    struct weight words;
    if (!weights->argmax) {
        struct argmax *made = arena_alloc(&weights->arena, 1, sizeof *made, err);
        if (!made || weights_unembedding(weights, &words, err) ||
            argmax_init(made, machine, &words, &weights->arena, err))
            return -1;
        weights->argmax = made;
    }
    *argmax = weights->argmax;
    return 0;
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
    size_t step = dtype_bytes(wpe->dtype, PART);
    for (size_t done = 0; done < wpe->shape[1]; done += PART, row += step) {
        size_t count = num_min(wpe->shape[1] - done, PART);
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

size_t weights_read_bytes(const struct weights *weights, size_t index, size_t count)
{
    const struct safetensors_entry *entry = weights->parameters[index].found.entry;
    bool in_place = entry && (entry->dtype == DTYPE_BF16 || dtype_is_quantised(entry->dtype));
    bool rounded = weights->precision == PRECISION_BF16;
    return dtype_bytes(rounded ? DTYPE_BF16 : in_place ? entry->dtype : DTYPE_F32, count);
}

size_t weights_heap_bytes(const struct weights *weights)
{
    enum parameter_id words = weights->config->tied ? PARAMETER_WTE : PARAMETER_LM_HEAD;
    size_t bytes = 0;
    for (size_t i = 0; i < parameter_count(weights->config); i++) {
        const struct safetensors_entry *entry = weights->parameters[i].found.entry;
        enum parameter_id id = parameter_key(i).id;
        if (!entry)
            continue;
        bool is_matrix = entry->rank > 1;
        bool is_widened = entry->dtype == DTYPE_BF16 || dtype_is_quantised(entry->dtype);
        bool is_read_in_place = entry->dtype == DTYPE_F32 || (is_widened && is_matrix);
        bool is_packed = is_matrix && (!is_widened || weights->packing_widened) &&
                         (id == words                ? weights->packing_words
                          : id < PARAMETERS_OF_MODEL ? false
                                                     : weights->packing);
        if (is_matrix && weights->precision == PRECISION_BF16)
            bytes += entry->count * BF16_BYTES;
        else
            bytes += entry->count * sizeof(float) * ((size_t)!is_read_in_place + is_packed);
    }
    return bytes;
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
