/* train_pass.c: the forward and backward passes of a training step, and the loss.
 *
 * Threads process blocks of rows. A sum over rows is computed per block and then over the blocks in
 * order, so that the bits do not depend on the number of threads. */
#include "train/train_step.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/gemm.h"
#include "math/rng.h"
#include "model/layer.h"

enum { COST = 8 }; /* estimated multiply-adds per element */

/* --- blocks of rows --------------------------------------------------------------------------- */

struct row_operation {
    void (*run)(const struct row_operation *block);
    const struct train_step *step;
    struct matrix y, x, more; /* forward: y from x and more; in a block, its rows of each */
    struct matrix dx, dy;     /* backward: dx from dy */
    struct matrix whole; /* for all blocks: [columns, rows] transposed, or [blocks, …] sums */
    struct norm norm;
    uint64_t key;       /* for dropout */
    float factor;       /* scale of gradients, or of a branch */
    size_t rows, first; /* rows of all blocks; first row of this block */
    size_t index;       /* of this block */
};

static void run_block(void *context, size_t round, size_t thread)
{
    struct row_operation block = *(const struct row_operation *)context;
    struct matrix *const matrices[] = {&block.y, &block.x, &block.more, &block.dx, &block.dy};
    size_t first = round * TRAIN_BLOCK_ROWS;
    size_t rows = num_min(block.rows - first, TRAIN_BLOCK_ROWS);
    (void)thread;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        if (matrices[i]->data)
            *matrices[i] = matrix_rows(*matrices[i], first, rows);
    block.first += first;
    block.index = round;
    block.run(&block);
}

/* Run an operation on all blocks of rows of a matrix. */
static void run_rows(const struct train_step *step, struct matrix over, struct row_operation op)
{
    struct loop loop = {
        .rounds = train_blocks(over.rows),
        .work = (double)over.rows * (double)over.columns * COST,
        .round = run_block,
    };
    op.step = step;
    op.rows = over.rows;
    pool_run(step->plan.machine->pool, loop, &op);
}

static void transpose_block(const struct row_operation *block)
{
    transpose(matrix_columns(block->whole, block->first, block->x.rows), block->x);
}

/* y [C, T] = x [T, C]ᵀ */
static void transpose_rows(const struct train_step *step, struct matrix y, struct matrix x)
{
    run_rows(step, x, (struct row_operation){transpose_block, .whole = y, .x = x});
}

/* --- dropout ---------------------------------------------------------------------------------- */

uint64_t dropout_key(const struct train_step *step, enum drop_place place)
{
    return rng_fold_in(step->batch->key, step->layer * DROP_PLACES + place);
}

float dropout_rate(const struct train_step *step)
{
    return step->dropping ? step->plan.dropout : 0.0f;
}

static void drop_rows(const struct row_operation *block, struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++)
        rng_dropout(x.data + row * x.stride, x.columns, block->key, block->first + row,
                    dropout_rate(block->step));
}

/* --- forward ---------------------------------------------------------------------------------- */

/* y = drop(scale · token + position) */
static void embed_block(const struct row_operation *block)
{
    const struct train_step *step = block->step;
    struct matrix y = block->y;
    for (size_t i = 0; i < y.rows; i++) {
        float *row = y.data + i * y.stride;
        weights_embed_token(&step->model, row, step->batch->ids[block->first + i]);
        scale_row(row, row, y.columns, step->config->embedding_scale);
        weights_add_position(&step->model, row, (block->first + i) % step->plan.tokens);
    }
    drop_rows(block, y);
}

static void norm_block(const struct row_operation *block)
{
    norm_rows(block->y, block->x, &block->norm);
}

static void norm(struct train_step *step, struct matrix y, struct matrix x,
                 const struct norm *weights)
{
    run_rows(step, y, (struct row_operation){norm_block, .y = y, .x = x, .norm = *weights});
}

/* y = x · W + b */
static void project(struct train_step *step, struct matrix y, struct matrix x,
                    const struct weight *w)
{
    linear(step->plan.machine, y, x, w, ACTIVATION_NONE);
}

static void copy_block(const struct row_operation *block)
{
    copy_rows(block->y, block->x);
}

/* Copy each head from the joined matrix, where heads may be in groups, to its queries, keys or
 * values; `backward`: copy back. */
static void split_heads(struct train_step *step, const struct projections *heads, bool backward)
{
    const struct attention_weights *w = &step->layers[step->layer].w.self;
    const struct row_view views[] = {w->q.rows.view, w->k.rows.view, w->v.rows.view};
    const struct matrix all[] = {heads->q_plain, heads->k_plain, heads->v};
    size_t width = step->config->d_k;
    for (size_t i = 0; i < 3; i++)
        for (size_t at = 0; at < all[i].columns; at += width) {
            struct matrix one = matrix_columns(all[i], at, width);
            struct matrix joined = matrix_columns(heads->joined, row_view_at(&views[i], at), width);
            run_rows(step, one,
                     (struct row_operation){copy_block, .y = backward ? joined : one,
                                            .x = backward ? one : joined});
        }
}

static void rotate_block(const struct row_operation *block)
{
    const struct config *c = block->step->config;
    rotate(block->y, block->x, c->d_k, &c->rotary, block->more);
}

/* Apply the rotary embedding to queries and keys; `backward`: its inverse. */
static void rotate_heads(struct train_step *step, const struct projections *heads, bool backward)
{
    const struct matrix both[] = {heads->q, heads->k};
    struct matrix cos_sin = backward ? step->scratch.cos_minus_sin : step->scratch.cos_sin;
    for (size_t i = 0; i < 2 && config_rotary(step->config, step->layer); i++)
        run_rows(step, both[i],
                 (struct row_operation){rotate_block, .y = both[i], .x = both[i], .more = cos_sin});
}

/* View rows of several heads as rows of one head each. */
static struct matrix by_head(struct matrix rows, size_t width)
{
    return (struct matrix){rows.data, rows.rows * (rows.columns / width), width, width};
}

/* Compute queries, keys and values, with norms of heads and rotary embedding. */
static void project_heads(struct train_step *step, struct matrix x)
{
    const struct projections *heads = &step->layers[step->layer].heads;
    const struct attention_weights *w = &step->layers[step->layer].w.self;
    size_t width = step->config->d_k;
    if (heads->joined.data)
        project(step, heads->joined, x, &w->joined);
    if (step->config->kind == MODEL_GPT2)
        return;
    if (heads->joined.data) {
        split_heads(step, heads, false);
    } else {
        project(step, heads->q_plain, x, &w->q);
        project(step, heads->k_plain, x, &w->k);
        project(step, heads->v, x, &w->v);
    }
    if (step->config->head_norm) {
        norm(step, by_head(heads->q, width), by_head(heads->q_plain, width), &w->q_norm);
        norm(step, by_head(heads->k, width), by_head(heads->k_plain, width), &w->k_norm);
    }
    rotate_heads(step, heads, false);
}

/* y = activation(x), times `more` in a gated MLP */
static void activate_block(const struct row_operation *block)
{
    activate(block->y, block->x, NULL, block->step->config->activation);
    if (block->more.data)
        multiply_rows(block->y, block->more);
}

/* The scale of a branch's output. */
static float branch_scale(const struct train_step *step)
{
    return step->config->residual_scale != 0 ? step->config->residual_scale : 1;
}

/* y = x + factor · drop(more) */
static void add_block(const struct row_operation *block)
{
    struct matrix y = block->y;
    struct matrix more = block->more;
    drop_rows(block, more);
    copy_rows(y, block->x);
    for (size_t row = 0; row < y.rows; row++)
        add_scaled_row(y.data + row * y.stride, more.data + row * more.stride, y.columns,
                       block->factor, more.data);
}

static void add_branch(struct train_step *step, struct matrix y, struct matrix x,
                       enum drop_place place)
{
    run_rows(step, y,
             (struct row_operation){add_block, .y = y, .x = x, .more = step->scratch.out,
                                    .key = dropout_key(step, place), .factor = branch_scale(step)});
}

/* x + attention(norm(x)), then x + mlp(norm(x)) of the sum or, in parallel layers, of the input. */
static void layer_forward(struct train_step *step)
{
    struct layer_tape *t = &step->layers[step->layer];

    norm(step, t->norm_1, t->x, &t->w.self.norm);
    project_heads(step, t->norm_1);
    train_attention(step, false);
    project(step, step->scratch.out, t->context, &t->w.self.out);
    add_branch(step, t->mid, t->x, DROP_ATTENTION);

    norm(step, t->norm_2, style_is_parallel(step->config->style) ? t->x : t->mid, &t->w.mlp.norm);
    project(step, t->hidden, t->norm_2, step->config->gated ? &t->w.mlp.gate : &t->w.mlp.fc);
    if (step->config->gated)
        project(step, t->up, t->norm_2, &t->w.mlp.fc);
    run_rows(step, t->active,
             (struct row_operation){activate_block, .y = t->active, .x = t->hidden, .more = t->up});
    project(step, step->scratch.out, t->active, &t->w.mlp.proj);
    add_branch(step, t[1].x, t->mid, DROP_MLP);
}

/* Run the pass from token ids to norm_f. */
static void forward(struct train_step *step)
{
    size_t layers = step->config->n_layer;
    struct matrix y = step->layers[0].x;
    step->layer = 0;
    run_rows(step, y,
             (struct row_operation){embed_block, .y = y, .key = dropout_key(step, DROP_EMBEDDING)});
    for (size_t layer = 0; layer < layers; layer++) {
        step->layer = layer;
        layer_forward(step);
    }
    step->layer = 0;
    norm(step, step->norm_f, step->layers[layers].x, &step->final_norm);
}

/* --- gradients of products -------------------------------------------------------------------- */

/* The gradient of a model parameter; NULL for NULL. */
static float *gradient_of(const struct train_step *step, const float *number)
{
    return number ? step->gradients.values + (number - step->weights.values) : NULL;
}

/* A row of sums for each block, initialised to 0. */
static struct matrix fresh_sums(struct train_step *step, size_t rows, size_t columns)
{
    size_t blocks = train_blocks(rows);
    memset(step->scratch.sums, 0, blocks * columns * sizeof(float));
    return (struct matrix){step->scratch.sums, blocks, columns, columns};
}

static float *block_sums(const struct row_operation *block)
{
    return block->whole.data + block->index * block->whole.stride;
}

static void bias_block(const struct row_operation *block)
{
    sum_columns(block_sums(block), block->dy);
}

/* A matrix as stored: [in, out] or, in most files, [out, in]; the latter may be some rows of a
 * tensor. */
static struct matrix matrix_of(const struct weight *w)
{
    float *rows = (float *)(void *)w->rows.data;
    return w->data ? (struct matrix){(float *)w->data, w->in, w->out, w->stride}
                   : (struct matrix){rows + w->rows.view.first * w->in, w->out, w->in, w->in};
}

static struct weight weight_of(struct matrix matrix)
{
    return (struct weight){
        .data = matrix.data, .in = matrix.rows, .out = matrix.columns, .stride = matrix.stride};
}

/* Transpose a weight in scratch memory, which the next call overwrites. */
static struct weight transpose_weight(struct train_step *step, struct matrix matrix)
{
    struct matrix transposed = {step->scratch.transposed_weight, matrix.columns, matrix.rows,
                                matrix.rows};
    transpose_rows(step, transposed, matrix);
    return weight_of(transposed);
}

/* Gradients of y = x · W + b: those of W and b, and dx = dy · Wᵀ (added if `adds`, where x has
 * several projections). The gradient of W is summed in the order of the rows. */
static void project_backward(struct train_step *step, struct matrix dx, struct matrix dy,
                             struct matrix x, const struct weight *w, bool adds)
{
    struct matrix matrix = matrix_of(w);
    struct matrix left = w->data ? x : dy;
    struct matrix right = w->data ? dy : x;
    struct matrix transposed = {step->scratch.transposed, left.columns, left.rows,
                                matrix_stride(left.rows)};
    struct matrix gradient = matrix;
    struct weight factor = weight_of(right);
    float *bias = gradient_of(step, w->bias);
    transpose_rows(step, transposed, left);
    gradient.data = gradient_of(step, matrix.data);
    linear_add(step->plan.machine, gradient, (struct matrix){0}, transposed, &factor);
    if (bias) {
        struct matrix sums = fresh_sums(step, dy.rows, dy.columns);
        run_rows(step, dy, (struct row_operation){bias_block, .dy = dy, .whole = sums});
        sum_columns(bias, sums);
    }
    factor = w->data ? transpose_weight(step, matrix) : weight_of(matrix);
    if (adds)
        linear_add(step->plan.machine, dx, (struct matrix){0}, dy, &factor);
    else
        linear(step->plan.machine, dx, dy, &factor, ACTIVATION_NONE);
}

/* --- loss ------------------------------------------------------------------------------------- */

static void cross_entropy_block(const struct row_operation *block)
{
    const struct train_step *step = block->step;
    float divisor = step->config->logit_divisor;
    for (size_t i = 0; i < block->y.rows; i++) {
        float *logits = block->y.data + i * block->y.stride;
        size_t row = block->first + i;
        if (divisor > 0)
            divide_row(logits, block->y.columns, divisor);
        if (!cross_entropy_row(logits, block->y.columns, step->batch->targets[row], block->factor,
                               &step->scratch.losses[row]))
            step->scratch.losses[row] = (double)NAN;
    }
}

/* Compute the logits and losses of the rows x, which begin at row `first`. The gradients of the
 * logits overwrite the logits. */
static struct matrix logits_forward(struct train_step *step, struct matrix x, size_t first,
                                    const struct weight *words)
{
    struct matrix logits = matrix_rows(step->scratch.logits, 0, x.rows);
    float factor = step->batch->share / (float)step->rows;
    if (step->config->logit_divisor > 0)
        factor /= step->config->logit_divisor;
    project(step, logits, x, words);
    run_rows(
        step, logits,
        (struct row_operation){cross_entropy_block, .y = logits, .first = first, .factor = factor});
    return logits;
}

static int sum_losses(const struct train_step *step, double *loss, struct err *err)
{
    double sum = 0;
    for (size_t row = 0; row < step->rows; row++) {
        if (!isfinite(step->scratch.losses[row]))
            return err_set(err, "the loss of token %zu of text %zu is not finite",
                           row % step->plan.tokens, row / step->plan.tokens);
        sum += step->scratch.losses[row];
    }
    *loss = sum / (double)step->rows;
    return 0;
}

/* Compute the mean loss over the step's rows, from norm_f. `backward` also computes d.norm, the
 * gradient of norm_f, and the gradient of the unembedding. Fails if a loss is not finite. */
static int loss_of_rows(struct train_step *step, bool backward, double *loss, struct err *err)
{
    float *bias = gradient_of(step, step->logit_bias);
    struct weight words = transpose_weight(step, matrix_of(&step->words));
    words.bias = step->logit_bias;
    for (size_t first = 0; first < step->rows; first += TRAIN_CHUNK_ROWS) {
        size_t count = num_min(step->rows - first, TRAIN_CHUNK_ROWS);
        struct matrix x = matrix_rows(step->norm_f, first, count);
        struct matrix logits = logits_forward(step, x, first, &words);
        if (backward && bias)
            sum_columns(bias, logits);
        if (backward)
            project_backward(step, matrix_rows(step->d.norm, first, count), logits, x, &step->words,
                             false);
    }
    return sum_losses(step, loss, err);
}

/* --- backward --------------------------------------------------------------------------------- */

static void norm_backward_block(const struct row_operation *block)
{
    float *sums = block_sums(block); /* of scales, then of shifts */
    norm_rows_backward(block->dx, block->dy, block->x, &block->norm, sums,
                       sums + block->dx.columns);
}

/* dx += gradient of x in norm(x) */
static void norm_backward(struct train_step *step, struct matrix dx, struct matrix dy,
                          struct matrix x, const struct norm *norm)
{
    struct matrix sums = fresh_sums(step, dx.rows, 2 * dx.columns);
    float *shift = gradient_of(step, norm->shift);
    run_rows(step, dx,
             (struct row_operation){norm_backward_block, .dx = dx, .dy = dy, .x = x, .norm = *norm,
                                    .whole = sums});
    sum_columns(gradient_of(step, norm->scale), matrix_columns(sums, 0, dx.columns));
    if (shift)
        sum_columns(shift, matrix_columns(sums, dx.columns, dx.columns));
}

/* dx = gradient of the heads x before their norm */
static void head_norm_backward(struct train_step *step, struct matrix dx, struct matrix dy,
                               struct matrix x, const struct norm *norm)
{
    size_t width = step->config->d_k;
    memset(dx.data, 0, dx.rows * dx.stride * sizeof(float));
    norm_backward(step, by_head(dx, width), by_head(dy, width), by_head(x, width), norm);
}

/* Compute d.norm from d.heads. */
static void heads_backward(struct train_step *step)
{
    const struct layer_tape *t = &step->layers[step->layer];
    const struct projections *d = &step->d.heads;
    struct matrix dx = step->d.norm;
    if (step->config->kind != MODEL_GPT2)
        rotate_heads(step, d, true);
    if (step->config->head_norm) {
        head_norm_backward(step, d->q_plain, d->q, t->heads.q_plain, &t->w.self.q_norm);
        head_norm_backward(step, d->k_plain, d->k, t->heads.k_plain, &t->w.self.k_norm);
    }
    if (d->joined.data) {
        if (step->config->kind != MODEL_GPT2)
            split_heads(step, d, true);
        project_backward(step, dx, d->joined, t->norm_1, &t->w.self.joined, false);
        return;
    }
    project_backward(step, dx, d->q_plain, t->norm_1, &t->w.self.q, false);
    project_backward(step, dx, d->k_plain, t->norm_1, &t->w.self.k, true);
    project_backward(step, dx, d->v, t->norm_1, &t->w.self.v, true);
}

/* For y = activation(x) · more: dx becomes the gradient of `more`, and dy the gradient of x. */
static void activation_backward_block(const struct row_operation *block)
{
    enum activation activation = block->step->config->activation;
    if (block->more.data) {
        activate(block->dx, block->x, NULL, activation);
        multiply_rows(block->dx, block->dy);
        multiply_rows(block->dy, block->more);
    }
    activate_backward(block->dy, block->x, activation);
}

static void drop_block(const struct row_operation *block)
{
    struct matrix dx = block->dx;
    copy_rows(dx, block->dy);
    drop_rows(block, dx);
    for (size_t row = 0; block->factor != 1 && row < dx.rows; row++)
        scale_row(dx.data + row * dx.stride, dx.data + row * dx.stride, dx.columns, block->factor);
}

/* d.branch = share · d.stream, with the forward pass's dropout. */
static void branch_backward(struct train_step *step, enum drop_place place, float share)
{
    run_rows(step, step->d.branch,
             (struct row_operation){drop_block, .dx = step->d.branch, .dy = step->d.stream,
                                    .key = dropout_key(step, place), .factor = share});
}

static void layer_backward(struct train_step *step)
{
    const struct layer_tape *t = &step->layers[step->layer];
    struct gradient_tape *d = &step->d;
    float share = branch_scale(step);
    bool parallel = style_is_parallel(step->config->style);

    branch_backward(step, DROP_MLP, share);
    project_backward(step, d->hidden, d->branch, t->active, &t->w.mlp.proj, false);
    run_rows(step, d->hidden,
             (struct row_operation){activation_backward_block, .dx = d->up, .dy = d->hidden,
                                    .x = t->hidden, .more = t->up});
    project_backward(step, d->norm, d->hidden, t->norm_2,
                     step->config->gated ? &t->w.mlp.gate : &t->w.mlp.fc, false);
    if (step->config->gated)
        project_backward(step, d->norm, d->up, t->norm_2, &t->w.mlp.fc, true);
    if (parallel) /* here d.stream is the gradient of the layer's output */
        branch_backward(step, DROP_ATTENTION, share);
    norm_backward(step, d->stream, d->norm, parallel ? t->x : t->mid, &t->w.mlp.norm);

    if (!parallel)
        branch_backward(step, DROP_ATTENTION, share);
    project_backward(step, d->context, d->branch, t->context, &t->w.self.out, false);
    train_attention(step, true);
    heads_backward(step);
    norm_backward(step, d->stream, d->norm, t->x, &t->w.self.norm);
}

/* Runs on one thread and adds to the embedding tables in the order of tokens. */
static void embed_backward(struct train_step *step)
{
    struct matrix d = step->d.branch;
    float *tokens = gradient_of(step, step->wte);
    float *positions = gradient_of(step, step->wpe);
    float scale = step->config->embedding_scale;
    branch_backward(step, DROP_EMBEDDING, 1);
    for (size_t row = 0; row < d.rows; row++) {
        const float *from = d.data + row * d.stride;
        size_t position = row % step->plan.tokens + step->config->position_offset;
        float *token = tokens + step->batch->ids[row] * d.columns;
        add_scaled_row(token, from, d.columns, scale, d.data);
        if (positions)
            add_to_row(positions + position * d.columns, from, d.columns);
    }
}

/* Compute all gradients from d.norm, the gradient of norm_f. */
static void backward(struct train_step *step)
{
    size_t layers = step->config->n_layer;
    struct matrix stream = step->d.stream;
    memset(stream.data, 0, stream.rows * stream.stride * sizeof(float));
    step->layer = 0;
    norm_backward(step, stream, step->d.norm, step->layers[layers].x, &step->final_norm);
    for (step->layer = layers; step->layer-- > 0;)
        layer_backward(step);
    step->layer = 0;
    embed_backward(step);
}

/* --- steps ------------------------------------------------------------------------------------ */

int train_step_run(struct train_step *step, const struct train_batch *batch, double *loss,
                   struct err *err)
{
    step->batch = batch;
    step->dropping = step->plan.dropout > 0;
    forward(step);
    if (loss_of_rows(step, true, loss, err))
        return -1;
    backward(step);
    return 0;
}

int train_step_evaluate(struct train_step *step, const struct train_batch *batch, double *loss,
                        struct err *err)
{
    step->batch = batch;
    step->dropping = false;
    forward(step);
    return loss_of_rows(step, false, loss, err);
}
