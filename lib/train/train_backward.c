/* train_backward.c: the layers of a training step, backward. What is summed over rows is summed by
 * blocks, each into numbers of its own, then those in their order, so that the bits don't depend on
 * the threads. */
#include "train/train_pass.h"

#include <string.h>

#include "math/gemm.h"

void add_weight_gradient(struct train_step *step, float *gradient, struct matrix transposed,
                         struct matrix dy)
{
    struct matrix total = {gradient, transposed.rows, dy.columns, dy.columns};
    struct matrix nowhere = {0};
    struct weight w = {.data = dy.data, .in = dy.rows, .out = dy.columns, .stride = dy.stride};
    linear_add(step->plan.machine, total, nowhere, transposed, &w);
}

/* Sums of the blocks of so many rows, all 0. */
static struct matrix fresh_parts(struct train_step *step, size_t rows, size_t columns)
{
    size_t blocks = row_blocks(rows);
    memset(step->scratch.parts, 0, blocks * columns * sizeof(float));
    return (struct matrix){step->scratch.parts, blocks, columns, columns};
}

static void bias_block(const struct row_operation *op, const struct row_block *block)
{
    sum_columns(op->parts.data + block->index * op->parts.stride, block_rows(op->dy, block));
}

/* y = x · W + b: the gradients of W, [in, out] or [out, in], and of b. */
static void parameters_backward(struct train_step *step, struct matrix dy, struct matrix x,
                                enum parameter_id id, size_t layer)
{
    bool by_outputs = step->config->family != NULL;
    struct matrix rows = by_outputs ? dy : x;
    struct matrix transposed = {step->scratch.transposed, rows.columns, rows.rows,
                                step->scratch.transposed_stride};
    float *bias = parameter_bias(&step->gradients, id, layer);
    parallel_transpose(step, transposed, rows);
    add_weight_gradient(step, parameter_matrix(&step->gradients, id, layer).data, transposed,
                        by_outputs ? x : dy);
    if (bias) {
        struct matrix parts = fresh_parts(step, dy.rows, dy.columns);
        row_operation_run(step, (struct row_operation){bias_block, .dy = dy, .parts = parts}, dy);
        sum_columns(bias, parts);
    }
}

/* … and dx = dy · Wᵀ. */
static void project_backward(struct train_step *step, struct matrix dx, struct matrix dy,
                             struct matrix x, enum parameter_id id, size_t layer)
{
    parameters_backward(step, dy, x, id, layer);
    struct weight w = pass_weight(step, id, layer, true);
    linear(step->plan.machine, dx, dy, &w, ACTIVATION_NONE);
}

/* … or dx += dy · Wᵀ, where x is projected more than once. */
static void project_backward_add(struct train_step *step, struct matrix dx, struct matrix dy,
                                 struct matrix x, enum parameter_id id, size_t layer)
{
    parameters_backward(step, dy, x, id, layer);
    struct weight w = pass_weight(step, id, layer, true);
    linear_add(step->plan.machine, dx, (struct matrix){0}, dy, &w);
}

static void norm_backward_block(const struct row_operation *op, const struct row_block *block)
{
    float *scale_sum = op->parts.data + block->index * op->parts.stride;
    norm_rows_backward(block_rows(op->dx, block), block_rows(op->dy, block),
                       block_rows(op->x, block), &op->norm, scale_sum, scale_sum + op->dx.columns);
}

/* dx += the gradient of x in norm(x). */
static void norm_backward(struct train_step *step, struct matrix dx, struct matrix dy,
                          struct matrix x, enum parameter_id id, size_t layer)
{
    struct matrix parts = fresh_parts(step, dx.rows, 2 * dx.columns);
    float *shift = parameter_at(&step->gradients, id + 1, layer);
    struct norm weights = parameter_norm(&step->weights, id, layer);
    row_operation_run(step,
                      (struct row_operation){norm_backward_block, .dx = dx, .dy = dy, .x = x,
                                             .norm = weights, .parts = parts},
                      dx);
    sum_columns(parameter_at(&step->gradients, id, layer), matrix_columns(parts, 0, dx.columns));
    if (shift)
        sum_columns(shift, matrix_columns(parts, dx.columns, dx.columns));
}

/* dx = the gradient of the heads x before their norm */
static void head_norm_backward(struct train_step *step, struct matrix dx, struct matrix dy,
                               struct matrix x, enum parameter_id id, size_t layer)
{
    size_t width = step->config->d_k;
    memset(dx.data, 0, dx.rows * dx.stride * sizeof(float));
    norm_backward(step, pass_heads(dx, width), pass_heads(dy, width), pass_heads(x, width), id,
                  layer);
}

/* From d.heads to d.norm. */
static void heads_backward(struct train_step *step, size_t layer)
{
    const struct layer_tape *t = &step->tape.layers[layer];
    struct gradient_tape *d = &step->d;
    if (step->config->family)
        pass_rotate(step, &d->heads, layer, true);
    if (step->config->head_norm) {
        head_norm_backward(step, d->heads.q_plain, d->heads.q, t->heads.q_plain, PARAMETER_Q_NORM,
                           layer);
        head_norm_backward(step, d->heads.k_plain, d->heads.k, t->heads.k_plain, PARAMETER_K_NORM,
                           layer);
    }
    if (d->heads.joined.data) {
        if (step->config->family)
            pass_split(step, &d->heads, true);
        project_backward(step, d->norm, d->heads.joined, t->norm_1, step->joined, layer);
        return;
    }
    project_backward(step, d->norm, d->heads.q_plain, t->norm_1, PARAMETER_Q, layer);
    project_backward_add(step, d->norm, d->heads.k_plain, t->norm_1, PARAMETER_K, layer);
    project_backward_add(step, d->norm, d->heads.v, t->norm_1, PARAMETER_V, layer);
}

/* Of y = activation(x) · more: dx of more, and dy becomes that of x. */
static void activation_backward_block(const struct row_operation *op, const struct row_block *block)
{
    enum activation activation = op->step->config->activation;
    struct matrix dy = block_rows(op->dy, block);
    struct matrix x = block_rows(op->x, block);
    if (op->more.data) {
        struct matrix dx = block_rows(op->dx, block);
        activate(dx, x, NULL, activation);
        multiply_rows(dx, dy);
        multiply_rows(dy, block_rows(op->more, block));
    }
    activate_backward(dy, x, activation);
}

/* From d.hidden, the gradient of the input of the last projection, to d.norm. */
static void hidden_backward(struct train_step *step, size_t layer)
{
    const struct layer_tape *t = &step->tape.layers[layer];
    struct gradient_tape *d = &step->d;
    row_operation_run(step,
                      (struct row_operation){activation_backward_block, .dx = d->up,
                                             .dy = d->hidden, .x = t->hidden, .more = t->up},
                      d->hidden);
    project_backward(step, d->norm, d->hidden, t->norm_2, step->hidden, layer);
    if (step->config->gated)
        project_backward_add(step, d->norm, d->up, t->norm_2, PARAMETER_FC, layer);
}

static void drop_block(const struct row_operation *op, const struct row_block *block)
{
    struct matrix dx = block_rows(op->dx, block);
    copy_rows(dx, block_rows(op->dy, block));
    drop_rows(op, dx, block);
    for (size_t row = 0; op->factor != 0 && row < dx.rows; row++)
        scale_row(dx.data + row * dx.stride, dx.data + row * dx.stride, dx.columns, op->factor);
}

/* From d.stream to d.branch, of which `share` was added to it, 0: all; the same is dropped
 * as in the forward pass. */
static void branch_backward(struct train_step *step, enum drop_place place, size_t layer,
                            float share)
{
    struct row_operation op = {drop_block, .dx = step->d.branch, .dy = step->d.stream};
    op.key = dropout_key(step, place, layer);
    op.factor = share;
    row_operation_run(step, op, step->d.branch);
}

static void block_backward(struct train_step *step, size_t layer)
{
    const struct layer_tape *t = &step->tape.layers[layer];
    struct gradient_tape *d = &step->d;
    struct matrix x = step->tape.streams[layer];
    float share = step->config->residual_scale;
    bool parallel = step->config->parallel;

    branch_backward(step, DROP_MLP, layer, share);
    project_backward(step, d->hidden, d->branch, t->active, PARAMETER_MLP_PROJ, layer);
    hidden_backward(step, layer);
    if (parallel) /* before d.stream is that of x */
        branch_backward(step, DROP_ATTENTION, layer, share);
    norm_backward(step, d->stream, d->norm, parallel ? x : t->mid, step->norm_2, layer);

    if (!parallel)
        branch_backward(step, DROP_ATTENTION, layer, share);
    project_backward(step, d->context, d->branch, t->context, step->out, layer);
    train_attention(step, layer, true);
    heads_backward(step, layer);
    norm_backward(step, d->stream, d->norm, x, PARAMETER_LN_1, layer);
}

/* Rows of a table: one thread, in the order of tokens. */
static void embed_backward(struct train_step *step)
{
    struct matrix d = step->d.branch;
    float *tokens = parameter_at(&step->gradients, PARAMETER_WTE, 0);
    float *positions = parameter_at(&step->gradients, PARAMETER_WPE, 0);
    float scale = step->config->embedding_scale;
    branch_backward(step, DROP_EMBEDDING, 0, 0);
    for (size_t row = 0; row < d.rows; row++) {
        const float *from = d.data + row * d.stride;
        size_t position = row % step->plan.tokens + step->config->position_offset;
        float *token = tokens + step->batch->ids[row] * d.columns;
        if (scale == 1)
            add_to_row(token, from, d.columns);
        else
            add_scaled_row(token, from, d.columns, scale, d.data);
        if (positions)
            add_to_row(positions + position * d.columns, from, d.columns);
    }
}

void train_backward(struct train_step *step)
{
    size_t layers = step->config->n_layer;
    struct matrix stream = step->d.stream;
    memset(stream.data, 0, stream.rows * stream.stride * sizeof(float));
    norm_backward(step, stream, step->d.norm, step->tape.streams[layers], PARAMETER_LN_F, 0);
    for (size_t layer = layers; layer-- > 0;)
        block_backward(step, layer);
    embed_backward(step);
}
