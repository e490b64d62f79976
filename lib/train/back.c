#include "train/back.h"

#include <string.h>

#include "math/gemm.h"
#include "math/rng.h"
#include "math/rows.h"
#include "math/tensor.h"
#include "train/attend.h"
#include "train/blocks.h"
#include "train/forth.h"

/* What a verb on blocks of rows works with. */
struct verb {
    const struct study *study;
    struct matrix dx, dy, x;
    struct norm norm;
    struct matrix parts; /* [blocks, …] sums of each block */
    uint64_t key;
};

static void turn_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    transpose(matrix_columns(verb->dx, block->first, block->count), block_rows(verb->x, block));
}

void back_turn(struct machine *machine, struct matrix y, struct matrix x)
{
    struct verb verb = {.dx = y, .x = x};
    blocks_run(machine, x.rows, x.columns, turn_block, &verb);
}

void back_multiply(struct study *study, float *gradient, struct matrix turned, struct matrix dy)
{
    struct matrix total = {gradient, turned.rows, dy.columns, dy.columns};
    struct matrix nowhere = {0};
    struct weight w = {.data = dy.data, .in = dy.rows, .out = dy.columns, .stride = dy.stride};
    linear_add(study->plan.machine, total, nowhere, turned, &w);
}

/* Sums of blocks, all 0. */
static struct matrix fresh_parts(struct study *study, size_t columns)
{
    size_t blocks = blocks_count(study->rows);
    memset(study->room.parts, 0, blocks * columns * sizeof(float));
    return (struct matrix){study->room.parts, blocks, columns, columns};
}

static void bias_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    sum_columns(verb->parts.data + block->index * verb->parts.stride, block_rows(verb->dy, block));
}

static void bias_back(struct study *study, float *gradient, struct matrix dy)
{
    struct verb verb = {.dy = dy, .parts = fresh_parts(study, dy.columns)};
    blocks_run(study->plan.machine, dy.rows, dy.columns, bias_block, &verb);
    sum_columns(gradient, verb.parts);
}

/* y = x · W + b: the gradients of W and b, and dx = dy · Wᵀ. */
static void project_back(struct study *study, struct matrix dx, struct matrix dy, struct matrix x,
                         enum parameter_id id, size_t layer)
{
    struct weight w = parameter_weight(&study->weights, id, layer);
    struct study_room *room = &study->room;
    struct machine *machine = study->plan.machine;
    struct matrix turned = {room->turned, x.columns, x.rows, room->turned_stride};
    struct matrix weight = {(float *)w.data, w.in, w.out, w.stride}; /* only read */
    struct matrix turned_weight = {room->turned_weight, w.out, w.in, w.in};
    struct weight reversed = {.data = turned_weight.data, .in = w.out, .out = w.in, .stride = w.in};

    back_turn(machine, turned, x);
    back_multiply(study, parameter_at(&study->gradients, id, layer), turned, dy);
    bias_back(study, parameter_at(&study->gradients, id + 1, layer), dy);
    transpose(turned_weight, weight);
    linear(machine, dx, dy, &reversed, ACTIVATION_NONE);
}

static void norm_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    float *scale_sum = verb->parts.data + block->index * verb->parts.stride;
    layernorm_rows_backward(block_rows(verb->dx, block), block_rows(verb->dy, block),
                            block_rows(verb->x, block), &verb->norm, scale_sum,
                            scale_sum + verb->dx.columns);
}

/* dx += the gradient of x in norm(x). */
static void norm_back(struct study *study, struct matrix dx, struct matrix dy, struct matrix x,
                      enum parameter_id id, size_t layer)
{
    struct verb verb = {
        .dx = dx,
        .dy = dy,
        .x = x,
        .norm = parameter_norm(&study->weights, id, layer),
        .parts = fresh_parts(study, 2 * dx.columns),
    };
    blocks_run(study->plan.machine, dx.rows, dx.columns, norm_block, &verb);
    sum_columns(parameter_at(&study->gradients, id, layer),
                matrix_columns(verb.parts, 0, dx.columns));
    sum_columns(parameter_at(&study->gradients, id + 1, layer),
                matrix_columns(verb.parts, dx.columns, dx.columns));
}

static void curve_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    activate_backward(block_rows(verb->dy, block), block_rows(verb->x, block),
                      verb->study->config->activation);
}

/* dy, of the curve's result, becomes that of x. */
static void curve_back(struct study *study, struct matrix dy, struct matrix x)
{
    struct verb verb = {.study = study, .dy = dy, .x = x};
    blocks_run(study->plan.machine, dy.rows, dy.columns, curve_block, &verb);
}

static void drop_block(void *context, const struct block_of_rows *block)
{
    const struct verb *verb = context;
    struct matrix dx = block_rows(verb->dx, block);
    copy_rows(dx, block_rows(verb->dy, block));
    for (size_t row = 0; row < dx.rows; row++)
        rng_dropout(dx.data + row * dx.stride, dx.columns, verb->key, block->first + row,
                    forth_rate(verb->study));
}

/* dx = drop(dy), the same elements as on the way forward. */
static void drop_back(struct study *study, struct matrix dx, struct matrix dy, uint64_t key)
{
    struct verb verb = {.study = study, .dx = dx, .dy = dy, .key = key};
    blocks_run(study->plan.machine, dx.rows, dx.columns, drop_block, &verb);
}

static void block_back(struct study *study, size_t layer)
{
    const struct layer_tape *t = &study->tape.layers[layer];
    struct back_tape *d = &study->back;
    struct matrix x = study->tape.streams[layer];

    drop_back(study, d->branch, d->stream, forth_key(study, DROP_MLP, layer));
    project_back(study, d->hidden, d->branch, t->active, PARAMETER_MLP_PROJ, layer);
    curve_back(study, d->hidden, t->hidden);
    project_back(study, d->norm, d->hidden, t->norm_2, PARAMETER_FC, layer);
    norm_back(study, d->stream, d->norm, t->mid, PARAMETER_LN_2, layer);

    drop_back(study, d->branch, d->stream, forth_key(study, DROP_ATTENTION, layer));
    project_back(study, d->context, d->branch, t->context, PARAMETER_ATTN_PROJ, layer);
    attend_back(study, layer);
    project_back(study, d->norm, d->qkv, t->norm_1, PARAMETER_C_ATTN, layer);
    norm_back(study, d->stream, d->norm, x, PARAMETER_LN_1, layer);
}

/* Rows of a table: one thread, in the order of tokens. */
static void embed_back(struct study *study)
{
    struct matrix d = study->back.branch;
    float *tokens = parameter_at(&study->gradients, PARAMETER_WTE, 0);
    float *positions = parameter_at(&study->gradients, PARAMETER_WPE, 0);
    drop_back(study, d, study->back.stream, forth_key(study, DROP_EMBEDDING, 0));
    for (size_t row = 0; row < d.rows; row++) {
        const float *from = d.data + row * d.stride;
        size_t position = row % study->plan.tokens;
        add_to_row(tokens + study->batch->ids[row] * d.columns, from, d.columns);
        add_to_row(positions + position * d.columns, from, d.columns);
    }
}

void back(struct study *study)
{
    size_t layers = study->config->n_layer;
    struct matrix stream = study->back.stream;
    memset(stream.data, 0, stream.rows * stream.stride * sizeof(float));
    norm_back(study, stream, study->back.norm, study->tape.streams[layers], PARAMETER_LN_F, 0);
    for (size_t layer = layers; layer-- > 0;)
        block_back(study, layer);
    embed_back(study);
}
