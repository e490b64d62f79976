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

/* Sums of blocks, all 0. */
static struct matrix fresh_parts(struct train_step *step, size_t columns)
{
    size_t blocks = row_blocks(step->rows);
    memset(step->scratch.parts, 0, blocks * columns * sizeof(float));
    return (struct matrix){step->scratch.parts, blocks, columns, columns};
}

static void bias_block(const struct row_operation *op, const struct row_block *block)
{
    sum_columns(op->parts.data + block->index * op->parts.stride, block_rows(op->dy, block));
}

static void bias_backward(struct train_step *step, float *gradient, struct matrix dy)
{
    struct matrix parts = fresh_parts(step, dy.columns);
    row_operation_run(step, (struct row_operation){bias_block, .dy = dy, .parts = parts}, dy);
    sum_columns(gradient, parts);
}

/* y = x · W + b: the gradients of W and b, and dx = dy · Wᵀ. */
static void project_backward(struct train_step *step, struct matrix dx, struct matrix dy,
                             struct matrix x, enum parameter_id id, size_t layer)
{
    struct weight w = parameter_weight(&step->weights, id, layer);
    struct train_scratch *scratch = &step->scratch;
    struct machine *machine = step->plan.machine;
    struct matrix transposed = {scratch->transposed, x.columns, x.rows, scratch->transposed_stride};
    struct matrix weight = {(float *)w.data, w.in, w.out, w.stride}; /* only read */
    struct matrix transposed_weight = {scratch->transposed_weight, w.out, w.in, w.in};
    struct weight reversed = {
        .data = transposed_weight.data, .in = w.out, .out = w.in, .stride = w.in};

    parallel_transpose(step, transposed, x);
    add_weight_gradient(step, parameter_at(&step->gradients, id, layer), transposed, dy);
    bias_backward(step, parameter_at(&step->gradients, id + 1, layer), dy);
    transpose(transposed_weight, weight);
    linear(machine, dx, dy, &reversed, ACTIVATION_NONE);
}

static void norm_backward_block(const struct row_operation *op, const struct row_block *block)
{
    float *scale_sum = op->parts.data + block->index * op->parts.stride;
    layernorm_rows_backward(block_rows(op->dx, block), block_rows(op->dy, block),
                            block_rows(op->x, block), &op->norm, scale_sum,
                            scale_sum + op->dx.columns);
}

/* dx += the gradient of x in norm(x). */
static void norm_backward(struct train_step *step, struct matrix dx, struct matrix dy,
                          struct matrix x, enum parameter_id id, size_t layer)
{
    struct matrix parts = fresh_parts(step, 2 * dx.columns);
    struct norm weights = parameter_norm(&step->weights, id, layer);
    row_operation_run(step,
                      (struct row_operation){norm_backward_block, .dx = dx, .dy = dy, .x = x,
                                             .norm = weights, .parts = parts},
                      dx);
    sum_columns(parameter_at(&step->gradients, id, layer), matrix_columns(parts, 0, dx.columns));
    sum_columns(parameter_at(&step->gradients, id + 1, layer),
                matrix_columns(parts, dx.columns, dx.columns));
}

static void activation_backward_block(const struct row_operation *op, const struct row_block *block)
{
    activate_backward(block_rows(op->dy, block), block_rows(op->x, block),
                      op->step->config->activation);
}

/* dy, of the activation, becomes that of x. */
static void activation_backward(struct train_step *step, struct matrix dy, struct matrix x)
{
    row_operation_run(step, (struct row_operation){activation_backward_block, .dy = dy, .x = x},
                      dy);
}

static void drop_block(const struct row_operation *op, const struct row_block *block)
{
    struct matrix dx = block_rows(op->dx, block);
    copy_rows(dx, block_rows(op->dy, block));
    drop_rows(op, dx, block);
}

/* dx = drop(dy), the same elements as in the forward pass. */
static void drop_backward(struct train_step *step, struct matrix dx, struct matrix dy, uint64_t key)
{
    row_operation_run(step, (struct row_operation){drop_block, .dx = dx, .dy = dy, .key = key}, dx);
}

static void block_backward(struct train_step *step, size_t layer)
{
    const struct layer_tape *t = &step->tape.layers[layer];
    struct gradient_tape *d = &step->d;
    struct matrix x = step->tape.streams[layer];

    drop_backward(step, d->branch, d->stream, dropout_key(step, DROP_MLP, layer));
    project_backward(step, d->hidden, d->branch, t->active, PARAMETER_MLP_PROJ, layer);
    activation_backward(step, d->hidden, t->hidden);
    project_backward(step, d->norm, d->hidden, t->norm_2, PARAMETER_FC, layer);
    norm_backward(step, d->stream, d->norm, t->mid, PARAMETER_LN_2, layer);

    drop_backward(step, d->branch, d->stream, dropout_key(step, DROP_ATTENTION, layer));
    project_backward(step, d->context, d->branch, t->context, PARAMETER_ATTN_PROJ, layer);
    train_attention(step, layer, true);
    project_backward(step, d->norm, d->qkv, t->norm_1, PARAMETER_C_ATTN, layer);
    norm_backward(step, d->stream, d->norm, x, PARAMETER_LN_1, layer);
}

/* Rows of a table: one thread, in the order of tokens. */
static void embed_backward(struct train_step *step)
{
    struct matrix d = step->d.branch;
    float *tokens = parameter_at(&step->gradients, PARAMETER_WTE, 0);
    float *positions = parameter_at(&step->gradients, PARAMETER_WPE, 0);
    drop_backward(step, d, step->d.stream, dropout_key(step, DROP_EMBEDDING, 0));
    for (size_t row = 0; row < d.rows; row++) {
        const float *from = d.data + row * d.stride;
        size_t position = row % step->plan.tokens;
        add_to_row(tokens + step->batch->ids[row] * d.columns, from, d.columns);
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
