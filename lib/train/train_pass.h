/* train_pass.h: the forward and backward passes of a training step, and their operations. */
#ifndef ATTN_TRAIN_TRAIN_PASS_H
#define ATTN_TRAIN_TRAIN_PASS_H

#include "train/train_step.h"

/* --- operations on blocks of rows, shared between threads. Sums over rows are made block by block,
 * then added in the order of the blocks, so that the bits do not depend on the threads.
 */
struct row_block {
    size_t index;        /* of the block */
    size_t first, count; /* its rows */
};

struct row_operation {
    void (*run)(const struct row_operation *op, const struct row_block *block);
    const struct train_step *step;
    struct matrix y, x, more; /* forward: y of x and of more */
    struct matrix dx, dy;     /* backward: dx of dy */
    struct matrix parts;      /* [blocks, …] sums of each block */
    struct norm norm;
    uint64_t key; /* of dropout */
    size_t first; /* row of the batch, if the matrices have only some rows */
    float factor; /* of gradients */
    size_t rows;  /* of all blocks */
};

/* Run it on all blocks of rows of a matrix. */
void row_operation_run(const struct train_step *step, struct row_operation op, struct matrix over);

size_t row_blocks(size_t rows);

/* The block's rows of a matrix. */
static inline struct matrix block_rows(struct matrix whole, const struct row_block *block)
{
    return matrix_rows(whole, block->first, block->count);
}

/* y [C, T] = x [T, C]ᵀ, by all threads. */
void parallel_transpose(const struct train_step *step, struct matrix y, struct matrix x);

/* --- dropout: each place has its own key; the rate is 0 in a pass without dropout */
enum drop_place { DROP_EMBEDDING, DROP_WEIGHTS, DROP_ATTENTION, DROP_MLP, DROP_PLACES };

uint64_t dropout_key(const struct train_step *step, enum drop_place place, size_t layer);
float dropout_rate(const struct train_step *step);

/* A block's rows of x. */
void drop_rows(const struct row_operation *op, struct matrix x, const struct row_block *block);

/* --- forward: from the batch's ids to step->tape.norm_f; backward: from step->d.norm on, adds to
 * step->gradients */
void train_forward(struct train_step *step);
void train_backward(struct train_step *step);

/* gradient [in, out] += xᵀ · dy, summed in the order of the rows, from xᵀ. */
void add_weight_gradient(struct train_step *step, float *gradient, struct matrix transposed,
                         struct matrix dy);

/* A matrix for a product, [in, out] without its bias, or for the backward pass [out, in]: in place,
 * or in scratch memory that the next call overwrites. */
struct weight pass_weight(struct train_step *step, enum parameter_id id, size_t layer,
                          bool backward);

/* Rows of several heads as rows of one head each. */
static inline struct matrix pass_heads(struct matrix rows, size_t width)
{
    return (struct matrix){rows.data, rows.rows * (rows.columns / width), width, width};
}

/* Copy each head of a matrix in groups from `joined` to its queries, keys or values, or back. */
void pass_split(struct train_step *step, const struct projections *heads, bool backward);

/* Apply the rotary embedding to queries and keys, or its inverse. */
void pass_rotate(struct train_step *step, const struct projections *heads, size_t layer,
                 bool backward);

/* --- causal attention: context from q, k and v, keeping the weights; or backward d.heads from
 * d.context */
void train_attention(struct train_step *step, size_t layer, bool backward);

/* Allocate the scratch memory of each thread. */
int train_attention_init(struct train_step *step, struct err *err);

#endif
