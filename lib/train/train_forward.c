#include "train/train_pass.h"

#include <string.h>

#include "math/gemm.h"
#include "math/rows.h"

/* What an operation on blocks of rows works with. */
struct rows_operation {
    const struct train_step *step;
    struct matrix y, x, more;
    struct norm norm;
    uint64_t key;
};

static void embed_block(void *context, const struct row_block *block)
{
    const struct rows_operation *op = context;
    const struct train_step *step = op->step;
    const float *tokens = parameter_at(&step->weights, PARAMETER_WTE, 0);
    const float *positions = parameter_at(&step->weights, PARAMETER_WPE, 0);
    struct matrix y = block_rows(op->y, block);
    for (size_t i = 0; i < y.rows; i++) {
        float *row = y.data + i * y.stride;
        size_t position = (block->first + i) % step->plan.tokens;
        memcpy(row, tokens + step->batch->ids[block->first + i] * y.columns,
               y.columns * sizeof *row);
        add_to_row(row, positions + position * y.columns, y.columns);
    }
    dropout_rows(step, y, op->key, block->first);
}

/* y = drop(token + position) */
static void embed(struct train_step *step, struct matrix y)
{
    struct rows_operation op = {.step = step, .y = y, .key = dropout_key(step, DROP_EMBEDDING, 0)};
    parallel_rows(step->plan.machine, y.rows, y.columns, embed_block, &op);
}

static void norm_block(void *context, const struct row_block *block)
{
    const struct rows_operation *op = context;
    layernorm_rows(block_rows(op->y, block), block_rows(op->x, block), &op->norm);
}

static void norm(struct train_step *step, struct matrix y, struct matrix x, enum parameter_id id,
                 size_t layer)
{
    struct rows_operation op = {.y = y, .x = x, .norm = parameter_norm(&step->weights, id, layer)};
    parallel_rows(step->plan.machine, y.rows, y.columns, norm_block, &op);
}

static void project(struct train_step *step, struct matrix y, struct matrix x, enum parameter_id id,
                    size_t layer)
{
    struct weight w = parameter_weight(&step->weights, id, layer);
    linear(step->plan.machine, y, x, &w, ACTIVATION_NONE);
}

static void activation_block(void *context, const struct row_block *block)
{
    const struct rows_operation *op = context;
    activate(block_rows(op->y, block), block_rows(op->x, block), NULL,
             op->step->config->activation);
}

/* y = the activation of x */
static void apply_activation(struct train_step *step, struct matrix y, struct matrix x)
{
    struct rows_operation op = {.step = step, .y = y, .x = x};
    parallel_rows(step->plan.machine, y.rows, y.columns, activation_block, &op);
}

static void add_block(void *context, const struct row_block *block)
{
    const struct rows_operation *op = context;
    struct matrix y = block_rows(op->y, block);
    struct matrix more = block_rows(op->more, block);
    dropout_rows(op->step, more, op->key, block->first);
    copy_rows(y, block_rows(op->x, block));
    add_rows(y, more);
}

/* y = x + drop(more) */
static void add_branch(struct train_step *step, struct matrix y, struct matrix x,
                       struct matrix more, uint64_t key)
{
    struct rows_operation op = {.step = step, .y = y, .x = x, .more = more, .key = key};
    parallel_rows(step->plan.machine, y.rows, y.columns, add_block, &op);
}

/* x + attention(norm(x)), then x + mlp(norm(x)). */
static void block_forward(struct train_step *step, size_t layer)
{
    struct layer_tape *t = &step->tape.layers[layer];
    struct matrix x = step->tape.streams[layer];
    struct matrix out = step->scratch.out;

    norm(step, t->norm_1, x, PARAMETER_LN_1, layer);
    project(step, t->qkv, t->norm_1, PARAMETER_C_ATTN, layer);
    train_attention_forward(step, layer);
    project(step, out, t->context, PARAMETER_ATTN_PROJ, layer);
    add_branch(step, t->mid, x, out, dropout_key(step, DROP_ATTENTION, layer));

    norm(step, t->norm_2, t->mid, PARAMETER_LN_2, layer);
    project(step, t->hidden, t->norm_2, PARAMETER_FC, layer);
    apply_activation(step, t->active, t->hidden);
    project(step, out, t->active, PARAMETER_MLP_PROJ, layer);
    add_branch(step, step->tape.streams[layer + 1], t->mid, out,
               dropout_key(step, DROP_MLP, layer));
}

void train_forward(struct train_step *step)
{
    size_t layers = step->config->n_layer;
    embed(step, step->tape.streams[0]);
    for (size_t layer = 0; layer < layers; layer++)
        block_forward(step, layer);
    norm(step, step->tape.norm_f, step->tape.streams[layers], PARAMETER_LN_F, 0);
}
