#include "train/forth.h"

#include <string.h>

#include "math/gemm.h"
#include "math/rng.h"
#include "math/rows.h"
#include "train/attend.h"
#include "train/blocks.h"

uint64_t forth_key(const struct study *study, enum drop_place place, size_t layer)
{
    return rng_fold_in(study->batch->key, layer * DROP_PLACES + place);
}

float forth_rate(const struct study *study)
{
    return study->dropping ? study->plan.dropout : 0.0f;
}

/* What a verb on blocks of rows works with. */
struct verb {
    const struct study *study;
    struct matrix y, x, more;
    struct norm norm;
    uint64_t key;
};

static void drop_rows(const struct verb *verb, struct matrix y, size_t first)
{
    for (size_t row = 0; row < y.rows; row++)
        rng_dropout(y.data + row * y.stride, y.columns, verb->key, first + row,
                    forth_rate(verb->study));
}

static void embed_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    const struct study *study = verb->study;
    const float *tokens = parameter_at(&study->weights, PARAMETER_WTE, 0);
    const float *positions = parameter_at(&study->weights, PARAMETER_WPE, 0);
    struct matrix y = block_rows(verb->y, block);
    for (size_t i = 0; i < y.rows; i++) {
        float *row = y.data + i * y.stride;
        size_t position = (block->first + i) % study->plan.tokens;
        memcpy(row, tokens + study->batch->ids[block->first + i] * y.columns,
               y.columns * sizeof *row);
        add_to_row(row, positions + position * y.columns, y.columns);
    }
    drop_rows(verb, y, block->first);
}

/* y = drop(token + position) */
static void embed(struct study *study, struct matrix y)
{
    struct verb verb = {.study = study, .y = y, .key = forth_key(study, DROP_EMBEDDING, 0)};
    blocks_run(study->plan.machine, y.rows, y.columns, embed_block, &verb);
}

static void norm_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    layernorm_rows(block_rows(verb->y, block), block_rows(verb->x, block), &verb->norm);
}

static void norm(struct study *study, struct matrix y, struct matrix x, enum parameter_id id,
                 size_t layer)
{
    struct verb verb = {.y = y, .x = x, .norm = parameter_norm(&study->weights, id, layer)};
    blocks_run(study->plan.machine, y.rows, y.columns, norm_block, &verb);
}

static void project(struct study *study, struct matrix y, struct matrix x, enum parameter_id id,
                    size_t layer)
{
    struct weight w = parameter_weight(&study->weights, id, layer);
    linear(study->plan.machine, y, x, &w, ACTIVATION_NONE);
}

static void curve_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    activate(block_rows(verb->y, block), block_rows(verb->x, block), NULL,
             verb->study->config->activation);
}

/* y = the activation of x */
static void curve(struct study *study, struct matrix y, struct matrix x)
{
    struct verb verb = {.study = study, .y = y, .x = x};
    blocks_run(study->plan.machine, y.rows, y.columns, curve_block, &verb);
}

static void add_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    struct matrix y = block_rows(verb->y, block);
    struct matrix more = block_rows(verb->more, block);
    drop_rows(verb, more, block->first);
    copy_rows(y, block_rows(verb->x, block));
    add_rows(y, more);
}

/* y = x + drop(more) */
static void add_branch(struct study *study, struct matrix y, struct matrix x, struct matrix more,
                       uint64_t key)
{
    struct verb verb = {.study = study, .y = y, .x = x, .more = more, .key = key};
    blocks_run(study->plan.machine, y.rows, y.columns, add_block, &verb);
}

/* x + attention(norm(x)), then x + mlp(norm(x)). */
static void block_forth(struct study *study, size_t layer)
{
    struct layer_tape *t = &study->tape.layers[layer];
    struct matrix x = study->tape.streams[layer];
    struct matrix out = study->room.out;

    norm(study, t->norm_1, x, PARAMETER_LN_1, layer);
    project(study, t->qkv, t->norm_1, PARAMETER_C_ATTN, layer);
    attend_forth(study, layer);
    project(study, out, t->context, PARAMETER_ATTN_PROJ, layer);
    add_branch(study, t->mid, x, out, forth_key(study, DROP_ATTENTION, layer));

    norm(study, t->norm_2, t->mid, PARAMETER_LN_2, layer);
    project(study, t->hidden, t->norm_2, PARAMETER_FC, layer);
    curve(study, t->active, t->hidden);
    project(study, out, t->active, PARAMETER_MLP_PROJ, layer);
    add_branch(study, study->tape.streams[layer + 1], t->mid, out,
               forth_key(study, DROP_MLP, layer));
}

void forth(struct study *study)
{
    size_t layers = study->config->n_layer;
    embed(study, study->tape.streams[0]);
    for (size_t layer = 0; layer < layers; layer++)
        block_forth(study, layer);
    norm(study, study->tape.norm_f, study->tape.streams[layers], PARAMETER_LN_F, 0);
}
