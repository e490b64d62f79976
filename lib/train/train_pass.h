/* train_pass.h: the passes that a training step is made of, and what they share. */
#ifndef ATTN_TRAIN_TRAIN_PASS_H
#define ATTN_TRAIN_TRAIN_PASS_H

#include "train/train_step.h"

/* --- operations on blocks of rows, shared between threads: what is summed over rows is summed by
 * blocks, each into numbers of its own, then those in their order, so that the bits don't depend on
 * the threads.
 */
struct row_block {
    size_t index;        /* of the block */
    size_t first, count; /* its rows */
};

/* What an operation works with. */
struct row_operation {
    void (*run)(const struct row_operation *op, const struct row_block *block);
    const struct train_step *step;
    struct matrix y, x, more; /* forward: y of x and of more */
    struct matrix dx, dy;     /* backward: dx of dy */
    struct matrix parts;      /* [blocks, …] sums of each block */
    struct norm norm;
    uint64_t key; /* of what is dropped */
    size_t first; /* of the batch's rows, where the matrices have some of them alone */
    float factor; /* of gradients */
    size_t rows;  /* of all blocks */
};

/* Run it on all rows of a matrix. */
void row_operation_run(const struct train_step *step, struct row_operation op, struct matrix over);

size_t row_blocks(size_t rows);

/* The block's rows of a matrix. */
static inline struct matrix block_rows(struct matrix whole, const struct row_block *block)
{
    return matrix_rows(whole, block->first, block->count);
}

/* y [C, T] = x [T, C]ᵀ, by all threads. */
void parallel_transpose(const struct train_step *step, struct matrix y, struct matrix x);

/* --- dropout: the key of each place differs; the rate is 0 where this pass drops nothing */
enum drop_place { DROP_EMBEDDING, DROP_WEIGHTS, DROP_ATTENTION, DROP_MLP, DROP_PLACES };

uint64_t dropout_key(const struct train_step *step, enum drop_place place, size_t layer);
float dropout_rate(const struct train_step *step);

/* A block's rows of x. */
void drop_rows(const struct row_operation *op, struct matrix x, const struct row_block *block);

/* --- forward: from the batch's ids to step->tape.norm_f; backward: from step->d.norm on, adds to
 * step->gradients */
void train_forward(struct train_step *step);
void train_backward(struct train_step *step);

/* gradient [in, out] += xᵀ · dy, summed over rows in their order; xᵀ is given. */
void add_weight_gradient(struct train_step *step, float *gradient, struct matrix transposed,
                         struct matrix dy);

/* A matrix as products take it, [in, out] without its bias, or for the way back [out, in]: where it
 * lies, or transposed or packed into memory that the next one takes again. */
struct weight pass_weight(struct train_step *step, enum parameter_id id, size_t layer,
                          bool backward);

/* Heads side by side as rows of one head each. */
static inline struct matrix pass_heads(struct matrix rows, size_t width)
{
    return (struct matrix){rows.data, rows.rows * (rows.columns / width), width, width};
}

/* Where a family's one matrix has them group by group: each head from its place in `joined` to that
 * among its like, or back. */
void pass_split(struct train_step *step, const struct projections *heads, bool backward);

/* Queries and keys turn by their positions, or back. */
void pass_turn(struct train_step *step, const struct projections *heads, size_t layer,
               bool backward);

/* --- causal attention: context from q, k and v, keeping the weights; or backward d.heads from
 * d.context */
void train_attention(struct train_step *step, size_t layer, bool backward);

/* Each thread's memory. */
int train_attention_init(struct train_step *step, struct err *err);

#endif
