/* train_pass.c: the forward pass of a training step, and the operations of both passes. Threads
 * share the blocks of rows. */
#include "train/train_pass.h"

#include <string.h>

#include "base/num.h"
#include "math/gemm.h"
#include "math/rng.h"
#include "model/family/family.h"

enum {
    BLOCK_ROWS = 64,
    COST = 8, /* multiply-adds that an element costs, about */
};

/* --- blocks of rows --------------------------------------------------------------------------- */

size_t row_blocks(size_t rows)
{
    return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

static void run_block(void *context, size_t round, size_t thread)
{
    const struct row_operation *op = context;
    struct row_block block = {.index = round, .first = round * BLOCK_ROWS};
    (void)thread;
    block.count = num_min(op->rows - block.first, BLOCK_ROWS);
    op->run(op, &block);
}

void row_operation_run(const struct train_step *step, struct row_operation op, struct matrix over)
{
    struct loop loop = {
        .rounds = row_blocks(over.rows),
        .work = (double)over.rows * (double)over.columns * COST,
        .round = run_block,
    };
    op.step = step;
    op.rows = over.rows;
    pool_run(step->plan.machine->pool, loop, &op);
}

static void transpose_block(const struct row_operation *op, const struct row_block *block)
{
    transpose(matrix_columns(op->y, block->first, block->count), block_rows(op->x, block));
}

void parallel_transpose(const struct train_step *step, struct matrix y, struct matrix x)
{
    row_operation_run(step, (struct row_operation){transpose_block, .y = y, .x = x}, x);
}

/* --- dropout ---------------------------------------------------------------------------------- */

uint64_t dropout_key(const struct train_step *step, enum drop_place place, size_t layer)
{
    return rng_fold_in(step->batch->key, layer * DROP_PLACES + place);
}

float dropout_rate(const struct train_step *step)
{
    return step->dropping ? step->plan.dropout : 0.0f;
}

void drop_rows(const struct row_operation *op, struct matrix x, const struct row_block *block)
{
    for (size_t row = 0; row < x.rows; row++)
        rng_dropout(x.data + row * x.stride, x.columns, op->key, block->first + row,
                    dropout_rate(op->step));
}

/* --- forward ---------------------------------------------------------------------------------- */

/* y = drop(scale · token + position) */
static void embed_block(const struct row_operation *op, const struct row_block *block)
{
    const struct train_step *step = op->step;
    const float *tokens = parameter_at(&step->weights, PARAMETER_WTE, 0);
    const float *positions =
        parameter_at(&step->weights, PARAMETER_WPE, 0); /* NULL: there are none */
    const struct config *c = step->config;
    struct matrix y = block_rows(op->y, block);
    for (size_t i = 0; i < y.rows; i++) {
        float *row = y.data + i * y.stride;
        size_t position = (block->first + i) % step->plan.tokens + c->position_offset;
        memcpy(row, tokens + step->batch->ids[block->first + i] * y.columns,
               y.columns * sizeof *row);
        if (c->embedding_scale != 1)
            scale_row(row, row, y.columns, c->embedding_scale);
        if (positions)
            add_to_row(row, positions + position * y.columns, y.columns);
    }
    drop_rows(op, y, block);
}

static void norm_block(const struct row_operation *op, const struct row_block *block)
{
    norm_rows(block_rows(op->y, block), block_rows(op->x, block), &op->norm);
}

static void norm(struct train_step *step, struct matrix y, struct matrix x, enum parameter_id id,
                 size_t layer)
{
    struct norm weights = parameter_norm(&step->weights, id, layer);
    row_operation_run(step, (struct row_operation){norm_block, .y = y, .x = x, .norm = weights}, y);
}

struct weight pass_weight(struct train_step *step, enum parameter_id id, size_t layer,
                          bool backward)
{
    struct matrix matrix = parameter_matrix(&step->weights, id, layer);
    bool by_outputs = step->config->family != NULL; /* stored as [out, in] */
    struct matrix transposed = {step->scratch.transposed_weight, matrix.columns, matrix.rows,
                                matrix.rows};
    if (by_outputs && !backward)
        return (struct weight){
            .rows = {.data = (const char *)matrix.data,
                     .bytes = sizeof(float),
                     .view = {0, SIZE_MAX, 0}},
            .in = matrix.columns,
            .out = matrix.rows,
        };
    if (backward && !by_outputs) {
        parallel_transpose(step, transposed, matrix);
        matrix = transposed;
    }
    return (struct weight){
        .data = matrix.data, .in = matrix.rows, .out = matrix.columns, .stride = matrix.stride};
}

static void project(struct train_step *step, struct matrix y, struct matrix x, enum parameter_id id,
                    size_t layer)
{
    struct weight w = pass_weight(step, id, layer, false);
    w.bias = parameter_bias(&step->weights, id, layer);
    linear(step->plan.machine, y, x, &w, ACTIVATION_NONE);
}

static void copy_block(const struct row_operation *op, const struct row_block *block)
{
    copy_rows(block_rows(op->y, block), block_rows(op->x, block));
}

void pass_split(struct train_step *step, const struct projections *heads, bool backward)
{
    static const enum parameter_id ids[] = {PARAMETER_Q, PARAMETER_K, PARAMETER_V};
    const struct matrix all[] = {heads->q_plain, heads->k_plain, heads->v};
    size_t width = step->config->d_k;
    for (size_t i = 0; i < 3; i++) {
        struct row_view view = family_view(ids[i], step->config);
        for (size_t at = 0; at < all[i].columns; at += width) {
            struct matrix one = matrix_columns(all[i], at, width);
            struct matrix place = matrix_columns(heads->joined, row_view_at(&view, at), width);
            struct row_operation op = {copy_block, .y = backward ? place : one,
                                       .x = backward ? one : place};
            row_operation_run(step, op, one);
        }
    }
}

static void rotate_block(const struct row_operation *op, const struct row_block *block)
{
    const struct config *c = op->step->config;
    rotate(block_rows(op->y, block), block_rows(op->x, block), c->d_k, &c->rotary,
           block_rows(op->more, block));
}

void pass_rotate(struct train_step *step, const struct projections *heads, size_t layer,
                 bool backward)
{
    const struct matrix both[] = {heads->q, heads->k};
    struct matrix cos_sin = backward ? step->scratch.cos_minus_sin : step->scratch.cos_sin;
    for (size_t i = 0; i < 2 && config_rotary(step->config, layer); i++)
        row_operation_run(
            step, (struct row_operation){rotate_block, .y = both[i], .x = both[i], .more = cos_sin},
            both[i]);
}

/* Queries, keys and values, with the norm of heads and the rotary embedding. */
static void project_heads(struct train_step *step, size_t layer, struct matrix x)
{
    const struct projections *heads = &step->tape.layers[layer].heads;
    size_t width = step->config->d_k;
    if (heads->joined.data)
        project(step, heads->joined, x, step->joined, layer);
    if (!step->config->family)
        return;
    if (heads->joined.data) {
        pass_split(step, heads, false);
    } else {
        project(step, heads->q_plain, x, PARAMETER_Q, layer);
        project(step, heads->k_plain, x, PARAMETER_K, layer);
        project(step, heads->v, x, PARAMETER_V, layer);
    }
    if (step->config->head_norm) {
        norm(step, pass_heads(heads->q, width), pass_heads(heads->q_plain, width), PARAMETER_Q_NORM,
             layer);
        norm(step, pass_heads(heads->k, width), pass_heads(heads->k_plain, width), PARAMETER_K_NORM,
             layer);
    }
    pass_rotate(step, heads, layer, false);
}

static void activation_block(const struct row_operation *op, const struct row_block *block)
{
    struct matrix y = block_rows(op->y, block);
    activate(y, block_rows(op->x, block), NULL, op->step->config->activation);
    if (op->more.data)
        multiply_rows(y, block_rows(op->more, block));
}

/* y = the activation of x, times `more` in a gated MLP */
static void apply_activation(struct train_step *step, struct matrix y, struct matrix x,
                             struct matrix more)
{
    row_operation_run(step, (struct row_operation){activation_block, .y = y, .x = x, .more = more},
                      y);
}

static void add_block(const struct row_operation *op, const struct row_block *block)
{
    struct matrix y = block_rows(op->y, block);
    struct matrix more = block_rows(op->more, block);
    drop_rows(op, more, block);
    copy_rows(y, block_rows(op->x, block));
    float scale = op->step->config->residual_scale;
    if (scale == 0)
        add_rows(y, more);
    for (size_t row = 0; scale != 0 && row < y.rows; row++)
        add_scaled_row(y.data + row * y.stride, more.data + row * more.stride, y.columns, scale,
                       more.data);
}

/* y = x + scale · drop(more) */
static void add_branch(struct train_step *step, struct matrix y, struct matrix x,
                       struct matrix more, uint64_t key)
{
    row_operation_run(
        step, (struct row_operation){add_block, .y = y, .x = x, .more = more, .key = key}, y);
}

/* x + attention(norm(x)), then x + mlp(norm(x)), of the sum or, in parallel, of the same x. */
static void block_forward(struct train_step *step, size_t layer)
{
    struct layer_tape *t = &step->tape.layers[layer];
    struct matrix x = step->tape.streams[layer];
    struct matrix out = step->scratch.out;

    norm(step, t->norm_1, x, PARAMETER_LN_1, layer);
    project_heads(step, layer, t->norm_1);
    train_attention(step, layer, false);
    project(step, out, t->context, step->out, layer);
    add_branch(step, t->mid, x, out, dropout_key(step, DROP_ATTENTION, layer));

    norm(step, t->norm_2, step->config->parallel ? x : t->mid, step->norm_2, layer);
    project(step, t->hidden, t->norm_2, step->hidden, layer);
    if (step->config->gated)
        project(step, t->up, t->norm_2, PARAMETER_FC, layer);
    apply_activation(step, t->active, t->hidden, t->up);
    project(step, out, t->active, PARAMETER_MLP_PROJ, layer);
    add_branch(step, step->tape.streams[layer + 1], t->mid, out,
               dropout_key(step, DROP_MLP, layer));
}

void train_forward(struct train_step *step)
{
    size_t layers = step->config->n_layer;
    struct matrix y = step->tape.streams[0];
    uint64_t key = dropout_key(step, DROP_EMBEDDING, 0);
    row_operation_run(step, (struct row_operation){embed_block, .y = y, .key = key}, y);
    for (size_t layer = 0; layer < layers; layer++)
        block_forward(step, layer);
    norm(step, step->tape.norm_f, step->tape.streams[layers], PARAMETER_LN_F, 0);
}
