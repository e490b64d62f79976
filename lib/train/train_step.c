/* train_step.c: the forward and backward passes of a training step, the loss, and their memory.
 *
 * Threads process blocks of rows. A sum over rows is computed per block and then over the blocks in
 * order, so that the bits do not depend on the number of threads. */
#include "train/train_step.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/gemm.h"
#include "math/rng.h"
#include "model/features.h"

enum {
    BLOCK_ROWS = 64,
    CHUNK_ROWS = 512, /* rows of logits that are computed at a time */
    LINE = 16,        /* floats per cache line */
    COST = 8,         /* estimated multiply-adds per element */
};

/* --- parameters ------------------------------------------------------------------------------- */

static struct parameters parameters_of(const struct new_model *new_model)
{
    const struct new_model_tensor *last = &new_model->tensors[new_model->count - 1];
    float *first = new_model->tensors[0].data;
    return (struct parameters){new_model, first, (size_t)(last->data - first) + last->count};
}

int parameters_alloc(struct parameters *parameters, const struct new_model *new_model,
                     struct arena *arena, struct err *err)
{
    *parameters = parameters_of(new_model);
    parameters->values = arena_alloc(arena, parameters->count, sizeof(float), err);
    return parameters->values ? 0 : -1;
}

float *parameter_of(const struct parameters *parameters, const struct new_model_tensor *tensor)
{
    return parameters->values + (tensor->data - parameters->new_model->tensors[0].data);
}

/* --- blocks of rows --------------------------------------------------------------------------- */

struct row_operation {
    void (*run)(const struct row_operation *block);
    const struct train_step *step;
    struct matrix y, x, more; /* forward: y from x and more; `run` gets the block's rows */
    struct matrix dx, dy;     /* backward: dx from dy */
    struct matrix whole; /* for all blocks: [columns, rows] transposed, or [blocks, …] sums */
    struct norm norm;
    const struct sublayer *rule;
    uint64_t key;       /* for dropout */
    float factor;       /* scale of gradients */
    size_t rows, first; /* rows of all blocks; first row of this block */
    size_t index;       /* of this block */
};

static size_t block_count(size_t rows)
{
    return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

static void run_block(void *context, size_t round, size_t thread)
{
    struct row_operation block = *(const struct row_operation *)context;
    struct matrix *const matrices[] = {&block.y, &block.x, &block.more, &block.dx, &block.dy};
    size_t first = round * BLOCK_ROWS;
    size_t rows = num_min(block.rows - first, BLOCK_ROWS);
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
    double work = (double)over.rows * (double)over.columns * COST;
    op.step = step;
    op.rows = over.rows;
    pool_run(step->plan.machine->pool, (struct loop){block_count(over.rows), work, run_block}, &op);
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

uint64_t dropout_key(const struct train_step *step, enum dropout_place place)
{
    return rng_fold_in(step->batch->key, step->layer * DROP_PLACES + place);
}

float dropout_rate(const struct train_step *step)
{
    return step->batch->share > 0 ? step->plan.dropout : 0.0f;
}

static void drop_rows(const struct row_operation *block, struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++)
        rng_dropout(matrix_row(x, row), x.columns, block->key, block->first + row,
                    dropout_rate(block->step));
}

/* --- forward ---------------------------------------------------------------------------------- */

/* y = drop(scale · token + position) */
static void embed_block(const struct row_operation *block)
{
    const struct train_step *step = block->step;
    struct matrix y = block->y;
    for (size_t i = 0; i < y.rows; i++) {
        float *row = matrix_row(y, i);
        weights_embed_token(&step->model, PART_SENTENCE, row, step->batch->ids[block->first + i]);
        scale_row(row, row, y.columns, step->config->embedding_scale);
        weights_add_position(&step->model, PART_SENTENCE, row,
                             (block->first + i) % step->plan.tokens);
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
    const struct head_rule *head = &block->rule->head;
    rotate(block->y, block->x, head->d_k, head->rotary, block->more);
}

/* Apply the rotary embedding to queries and keys; `backward`: its inverse. */
static void rotate_heads(struct train_step *step, const struct projections *heads, bool backward)
{
    const struct sublayer *rule = step->layers[step->layer].list;
    const struct matrix both[] = {heads->q, heads->k};
    struct matrix cos_sin = backward ? step->scratch.cos_minus_sin : step->scratch.cos_sin;
    for (size_t i = 0; i < 2 && rule->head.rotary; i++)
        run_rows(step, both[i],
                 (struct row_operation){rotate_block, .y = both[i], .x = both[i], .more = cos_sin,
                                        .rule = rule});
}

/* View rows of several heads as rows of one head each. */
static struct matrix by_head(struct matrix rows, size_t width)
{
    return (struct matrix){rows.data, rows.rows * (rows.columns / width), width, width};
}

/* Compute the context from x: queries, keys and values, with norms of heads and rotary embedding,
 * and the attention. */
static void attend(struct train_step *step, const struct sublayer *rule, struct matrix x)
{
    const struct projections *heads = &step->layers[step->layer].heads;
    const struct attention_weights *w = &step->layers[step->layer].w.self;
    size_t width = rule->head.d_k;
    if (heads->joined.data)
        project(step, heads->joined, x, &w->joined);
    if (heads->joined.data && step->config->kind != MODEL_GPT2) {
        split_heads(step, heads, false);
    } else if (!heads->joined.data) {
        project(step, heads->q_plain, x, &w->q);
        project(step, heads->k_plain, x, &w->k);
        project(step, heads->v, x, &w->v);
    }
    if (rule->head.norm.q) {
        norm(step, by_head(heads->q, width), by_head(heads->q_plain, width), &w->q_norm);
        norm(step, by_head(heads->k, width), by_head(heads->k_plain, width), &w->k_norm);
    }
    rotate_heads(step, heads, false);
    train_attention(step, false);
}

/* y = activation(x), times `more` in a gated MLP */
static void activate_block(const struct row_operation *block)
{
    activate(block->y, block->x, NULL, block->rule->mlp.activation);
    if (block->more.data)
        multiply_rows(block->y, block->more);
}

/* Compute the channels of the MLP from x, up to those after the activation. */
static void mlp(struct train_step *step, const struct sublayer *rule, struct matrix x)
{
    struct layer_tape *t = &step->layers[step->layer];
    project(step, t->hidden, x, rule->mlp.gated ? &t->w.mlp.gate : &t->w.mlp.fc);
    if (rule->mlp.gated)
        project(step, t->up, x, &t->w.mlp.fc);
    run_rows(step, t->active,
             (struct row_operation){activate_block, .y = t->active, .x = t->hidden, .more = t->up,
                                    .rule = rule});
}

/* y = x + factor · drop(more) */
static void add_block(const struct row_operation *block)
{
    struct matrix y = block->y;
    struct matrix more = block->more;
    drop_rows(block, more);
    copy_rows(y, block->x);
    for (size_t row = 0; row < y.rows; row++)
        add_scaled_row(matrix_row(y, row), matrix_row(more, row), y.columns, block->rule->factor,
                       more.data);
}

/* The norm before a sublayer; the dropout of its output. */
static const struct norm *norm_of(const struct layer_tape *t, const struct sublayer *rule)
{
    return rule->kind == SUBLAYER_MLP ? &t->w.mlp.norm : &t->w.self.norm;
}

static enum dropout_place drop_of(const struct sublayer *rule)
{
    return rule->kind == SUBLAYER_MLP ? DROP_MLP : DROP_ATTENTION;
}

/* The stream that a sublayer reads through its norm. */
static struct matrix input_of(const struct layer_tape *t, size_t i)
{
    return t->stream[t->list[i].reads == READS_STREAM ? i : 0];
}

/* Run the pass from token ids to norm_f. */
static void run_forward(struct train_step *step)
{
    size_t layers = step->config->n_layer;
    struct matrix x = step->layers[0].stream[0], out = step->scratch.branch;
    step->layer = 0;
    run_rows(step, x,
             (struct row_operation){embed_block, .y = x, .key = dropout_key(step, DROP_EMBEDDING)});

    for (; step->layer < layers; step->layer++) {
        struct layer_tape *t = &step->layers[step->layer];
        for (size_t i = 0; i < t->count; i++) {
            const struct sublayer *rule = &t->list[i];
            bool is_mlp = rule->kind == SUBLAYER_MLP;
            struct matrix y = i + 1 < t->count ? t->stream[i + 1] : t[1].stream[0];
            norm(step, t->norm[i], input_of(t, i), norm_of(t, rule));
            (is_mlp ? mlp : attend)(step, rule, t->norm[i]);
            project(step, out, is_mlp ? t->active : t->context,
                    is_mlp ? &t->w.mlp.proj : &t->w.self.out);
            run_rows(step, y,
                     (struct row_operation){add_block, .y = y, .x = t->stream[i], .more = out,
                                            .rule = rule, .key = dropout_key(step, drop_of(rule))});
        }
    }

    step->layer = 0;
    norm(step, step->norm_f, step->layers[layers].stream[0], &step->final_norm);
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
    size_t blocks = block_count(rows);
    memset(step->scratch.sums, 0, blocks * columns * sizeof(float));
    return (struct matrix){step->scratch.sums, blocks, columns, columns};
}

static float *block_sums(const struct row_operation *block)
{
    return matrix_row(block->whole, block->index);
}

/* total [C] += the sum of each column. */
static void sum_columns(float *total, struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++)
        add_to_row(total, matrix_row(x, row), x.columns);
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

/* Transpose a weight into scratch memory, which the next call overwrites. */
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
        float *logits = matrix_row(block->y, i);
        size_t row = block->first + i;
        if (divisor > 0)
            divide_row(logits, block->y.columns, divisor);
        if (!cross_entropy_row(logits, block->y.columns, step->batch->targets[row], block->factor,
                               &step->scratch.losses[row]))
            step->scratch.losses[row] = (double)NAN;
    }
}

/* Compute the mean loss over the step's rows, from norm_f; the gradients of logits overwrite the
 * logits. A batch with a share also gets d.norm, the gradient of norm_f, and the gradients of the
 * unembedding. Fails if a loss is not finite. */
static int loss_of_rows(struct train_step *step, double *loss, struct err *err)
{
    bool backward = step->batch->share > 0;
    float *bias = gradient_of(step, step->logit_bias);
    struct weight words = transpose_weight(step, matrix_of(&step->words));
    float factor = step->batch->share / (float)step->rows;
    double sum = 0;
    if (step->config->logit_divisor > 0)
        factor /= step->config->logit_divisor;
    words.bias = step->logit_bias;
    for (size_t first = 0; first < step->rows; first += CHUNK_ROWS) {
        size_t count = num_min(step->rows - first, CHUNK_ROWS);
        struct matrix x = matrix_rows(step->norm_f, first, count);
        struct matrix logits = matrix_rows(step->scratch.logits, 0, count);
        project(step, logits, x, &words);
        run_rows(step, logits,
                 (struct row_operation){cross_entropy_block, .y = logits, .first = first,
                                        .factor = factor});
        if (backward && bias)
            sum_columns(bias, logits);
        if (backward)
            project_backward(step, matrix_rows(*step->d.norm, first, count), logits, x,
                             &step->words, false);
    }
    for (size_t row = 0; row < step->rows; row++) {
        if (!isfinite(step->scratch.losses[row]))
            return err_set(err, "the loss of token %zu of text %zu is not finite",
                           row % step->plan.tokens, row / step->plan.tokens);
        sum += step->scratch.losses[row];
    }
    *loss = sum / (double)step->rows;
    return 0;
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

/* Compute d.norm from scratch.branch: back through the projections, the attention and the heads. */
static void attend_backward(struct train_step *step, const struct sublayer *rule, struct matrix x)
{
    const struct layer_tape *t = &step->layers[step->layer];
    const struct attention_weights *w = &t->w.self;
    const struct projections *d = &step->d.heads;
    struct matrix dx = *step->d.norm;
    project_backward(step, step->d.context, step->scratch.branch, t->context, &w->out, false);
    train_attention(step, true);
    rotate_heads(step, d, true);
    if (rule->head.norm.q) {
        head_norm_backward(step, d->q_plain, d->q, t->heads.q_plain, &w->q_norm);
        head_norm_backward(step, d->k_plain, d->k, t->heads.k_plain, &w->k_norm);
    }
    if (d->joined.data) {
        if (step->config->kind != MODEL_GPT2)
            split_heads(step, d, true);
        project_backward(step, dx, d->joined, x, &w->joined, false);
        return;
    }
    project_backward(step, dx, d->q_plain, x, &w->q, false);
    project_backward(step, dx, d->k_plain, x, &w->k, true);
    project_backward(step, dx, d->v, x, &w->v, true);
}

/* For y = activation(x) · more: dx becomes the gradient of `more`, if any, and dy that of x. */
static void activation_backward_block(const struct row_operation *block)
{
    enum activation activation = block->rule->mlp.activation;
    if (block->more.data) {
        activate(block->dx, block->x, NULL, activation);
        multiply_rows(block->dx, block->dy);
        multiply_rows(block->dy, block->more);
    }
    activate_backward(block->dy, block->x, activation);
}

/* Compute d.norm from scratch.branch. */
static void mlp_backward(struct train_step *step, const struct sublayer *rule, struct matrix x)
{
    const struct layer_tape *t = &step->layers[step->layer];
    const struct mlp_weights *w = &t->w.mlp;
    struct layer_tape *d = &step->d;
    project_backward(step, d->hidden, step->scratch.branch, t->active, &w->proj, false);
    run_rows(step, d->hidden,
             (struct row_operation){activation_backward_block, .dx = d->up, .dy = d->hidden,
                                    .x = t->hidden, .more = t->up, .rule = rule});
    project_backward(step, *d->norm, d->hidden, x, rule->mlp.gated ? &w->gate : &w->fc, false);
    if (rule->mlp.gated)
        project_backward(step, *d->norm, d->up, x, &w->fc, true);
}

static void drop_block(const struct row_operation *block)
{
    struct matrix dx = block->dx;
    copy_rows(dx, block->dy);
    drop_rows(block, dx);
    for (size_t row = 0; block->factor != 1 && row < dx.rows; row++)
        scale_row(matrix_row(dx, row), matrix_row(dx, row), dx.columns, block->factor);
}

/* scratch.branch = factor · d.stream, with the forward pass's dropout. */
static void branch_backward(struct train_step *step, enum dropout_place place, float factor)
{
    run_rows(step, step->scratch.branch,
             (struct row_operation){drop_block, .dx = step->scratch.branch, .dy = *step->d.stream,
                                    .key = dropout_key(step, place), .factor = factor});
}

/* Replace d.stream, the gradient of the layer's output, by the gradient of its input. In a parallel
 * layer, the outputs of both sublayers have the gradient of the layer's output. */
static void layer_backward(struct train_step *step)
{
    const struct layer_tape *t = &step->layers[step->layer];
    struct layer_tape *d = &step->d;
    bool is_ready = false; /* scratch.branch is the gradient of the sublayer's output */
    for (size_t i = t->count; i-- > 0;) {
        const struct sublayer *rule = &t->list[i];
        if (!is_ready)
            branch_backward(step, drop_of(rule), rule->factor);
        (rule->kind == SUBLAYER_MLP ? mlp_backward : attend_backward)(step, rule, t->norm[i]);
        is_ready = rule->reads != READS_STREAM;
        if (is_ready)
            branch_backward(step, drop_of(rule - 1), rule[-1].factor);
        norm_backward(step, *d->stream, *d->norm, input_of(t, i), norm_of(t, rule));
    }
}

/* Compute all other gradients from d.norm, the gradient of norm_f. */
static void backward(struct train_step *step)
{
    size_t layers = step->config->n_layer;
    struct matrix stream = *step->d.stream, d = step->scratch.branch;
    float *tokens = gradient_of(step, step->wte), *positions = gradient_of(step, step->wpe);
    memset(stream.data, 0, stream.rows * stream.stride * sizeof(float));
    step->layer = 0;
    norm_backward(step, stream, *step->d.norm, step->layers[layers].stream[0], &step->final_norm);
    for (step->layer = layers; step->layer-- > 0;)
        layer_backward(step);

    step->layer = 0;
    branch_backward(step, DROP_EMBEDDING, 1);
    for (size_t row = 0; row < d.rows; row++) { /* on one thread, in the order of tokens */
        const float *from = matrix_row(d, row);
        size_t position = row % step->plan.tokens + step->config->position_offset;
        float *token = tokens + step->batch->ids[row] * d.columns;
        add_scaled_row(token, from, d.columns, step->config->embedding_scale, d.data);
        if (positions)
            add_to_row(positions + position * d.columns, from, d.columns);
    }
}

/* --- memory ----------------------------------------------------------------------------------- */

static int take_matrix(struct train_step *step, struct matrix *matrix, size_t columns,
                       struct err *err)
{
    *matrix = (struct matrix){NULL, step->rows, columns, columns};
    matrix->data = arena_alloc(&step->arena, step->rows * columns, sizeof(float), err);
    return matrix->data ? 0 : -1;
}

/* Allocate queries, keys and values, in one matrix, in three, or in both forms. */
static int take_heads(struct train_step *step, struct projections *heads, struct err *err)
{
    const struct config *c = step->config;
    size_t queries = c->n_head * c->d_k;
    size_t keys = c->n_kv_head * c->d_k;
    if (weight_exists(&step->layers->w.self.joined) &&
        take_matrix(step, &heads->joined, queries + 2 * keys, err))
        return -1;
    if (c->kind == MODEL_GPT2) {
        heads->q = matrix_columns(heads->joined, 0, queries);
        heads->k = matrix_columns(heads->joined, queries, queries);
        heads->v = matrix_columns(heads->joined, 2 * queries, queries);
    } else if (take_matrix(step, &heads->q, queries, err) ||
               take_matrix(step, &heads->k, keys, err) || take_matrix(step, &heads->v, keys, err))
        return -1;
    heads->q_plain = heads->q;
    heads->k_plain = heads->k;
    return err_if(step->layers->list->head.norm.q &&
                  (take_matrix(step, &heads->q_plain, queries, err) ||
                   take_matrix(step, &heads->k_plain, keys, err)));
}

/* Allocate the matrices that a layer's activations and its gradients have in common, with the
 * streams and inputs of `count` sublayers. */
static int take_layer(struct train_step *step, struct layer_tape *t, size_t count, struct err *err)
{
    const struct config *c = step->config;
    bool gated = layer_mlp(layer_of(c, PART_SENTENCE, 0))->mlp.gated;
    for (size_t i = 0; i < count; i++)
        if (take_matrix(step, &t->stream[i], c->n_embd, err) ||
            take_matrix(step, &t->norm[i], c->n_embd, err))
            return -1;
    return take_heads(step, &t->heads, err) ||
           take_matrix(step, &t->context, c->n_head * c->d_v, err) ||
           take_matrix(step, &t->hidden, c->n_inner, err) ||
           (gated && take_matrix(step, &t->up, c->n_inner, err));
}

/* Open the weights of layers, and allocate their activations. Queries, keys and values that are
 * stored in groups share one matrix, as in GPT-2. */
static int take_tape(struct train_step *step, struct err *err)
{
    const struct config *c = step->config;
    size_t squares = step->plan.texts * c->n_head * step->plan.tokens;
    step->layers = arena_alloc(&step->arena, c->n_layer + 1, sizeof *step->layers, err);
    for (size_t i = 0; step->layers && i < c->n_layer; i++) {
        const struct new_model_tensor *bias =
            new_model_tensor(step->plan.new_model, slot_of(PART_SENTENCE, SLOT_Q_BIAS, i));
        struct layer_tape *t = &step->layers[i];
        struct block_weights *w = &t->w;
        t->list = layer_of(c, PART_SENTENCE, i)->sublayers;
        t->count = layer_of(c, PART_SENTENCE, i)->count;
        if (weights_block(&step->model, PART_SENTENCE, i, w, err))
            return -1;
        if (t->list[t->count - 1].reads == READS_LAST_INPUT)
            w->mlp.norm = w->self.norm;
        if (w->self.q.rows.view.stride > 0) {
            w->self.joined = w->self.q;
            w->self.joined.out = (c->n_head + 2 * c->n_kv_head) * c->d_k;
            w->self.joined.bias = bias ? bias->data : NULL;
            w->self.joined.rows.view = (struct row_view){0, SIZE_MAX, 0};
        }
        if (take_layer(step, t, t->count, err) || take_matrix(step, &t->active, c->n_inner, err) ||
            !(t->weights =
                  arena_alloc(&step->arena, squares * step->weights_stride, sizeof(float), err)))
            return -1;
    }
    return !step->layers || take_matrix(step, step->layers[c->n_layer].stream, c->n_embd, err) ||
           take_matrix(step, &step->norm_f, c->n_embd, err);
}

static int take_scratch(struct train_step *step, struct err *err)
{
    const struct config *c = step->config;
    struct train_scratch *scratch = &step->scratch;
    struct arena *arena = &step->arena;
    size_t heads = (c->n_head + 2 * c->n_kv_head) * c->d_k;
    size_t widest = num_max(num_max(c->n_embd, heads), c->n_inner);
    size_t chunk = num_min(step->rows, CHUNK_ROWS);
    size_t tall = num_max(widest * matrix_stride(step->rows), c->vocab_size * matrix_stride(chunk));
    size_t matrix = c->n_embd * num_max(widest, c->vocab_size);
    scratch->transposed = arena_alloc(arena, tall, sizeof(float), err);
    scratch->transposed_weight = arena_alloc(arena, matrix, sizeof(float), err);
    scratch->sums = arena_alloc(arena, block_count(step->rows) * 2 * widest, sizeof(float), err);
    scratch->losses = arena_alloc(arena, step->rows, sizeof *scratch->losses, err);
    scratch->logits = (struct matrix){NULL, chunk, c->vocab_size, matrix_stride(c->vocab_size)};
    scratch->logits.data = arena_alloc(arena, chunk * scratch->logits.stride, sizeof(float), err);
    scratch->heads = arena_alloc(arena, pool_threads(step->plan.machine->pool),
                                 train_attention_floats(step) * sizeof(float), err);
    bool all = scratch->transposed && scratch->transposed_weight && scratch->sums &&
               scratch->losses && scratch->logits.data && scratch->heads;
    if (!all || take_matrix(step, &scratch->branch, c->n_embd, err))
        return -1;

    /* rotary tables of all texts; the inverse rotation negates the sines */
    const struct rotary *rotary = &c->rotary;
    size_t tokens = step->plan.tokens, pairs = rotary->components / 2;
    if (!config_rotates(c))
        return 0;
    if (take_matrix(step, &scratch->cos_sin, rotary->components, err) ||
        take_matrix(step, &scratch->cos_minus_sin, rotary->components, err))
        return -1;
    for (size_t text = 0; text < step->plan.texts; text++)
        rotary_fill(matrix_rows(scratch->cos_sin, text * tokens, tokens), rotary, 0, tokens);
    copy_rows(scratch->cos_minus_sin, scratch->cos_sin);
    struct matrix sines = matrix_columns(scratch->cos_minus_sin, pairs, pairs);
    for (size_t row = 0; row < sines.rows; row++)
        scale_row(matrix_row(sines, row), matrix_row(sines, row), pairs, -1);
    return 0;
}

/* --- trainable models and texts --------------------------------------------------------------- */

int train_step_check(const struct config *c, struct err *err)
{
    if (c->kind != MODEL_GPT2 && c->kind != MODEL_DECODER)
        return err_unsupported(err,
                               "expected a model of type \"gpt2\", \"llama\" or like it to train, "
                               "found \"%s\"",
                               config_kind_name(c));
    return features_expect(TO_TRAIN, c, NULL, err);
}

/* --- steps ------------------------------------------------------------------------------------ */

/* Weights are read in place, so that updates take effect. */
int train_step_open(struct train_step *step, const struct train_step_plan *plan, struct err *err)
{
    struct new_model *new_model = plan->new_model;
    struct config *config = &new_model->config;
    struct weights *model = &step->model;
    *step = (struct train_step){.plan = *plan, .config = config};
    if (train_step_check(config, err))
        return -1;
    if (config->n_positions && plan->tokens > config->n_positions)
        return err_set(err,
                       "expected texts of at most %zu tokens, the model's positions, found %zu",
                       config->n_positions, plan->tokens);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        const struct score_rule *rule = &attention_of(config, PART_SENTENCE, layer)->score;
        if (plan->tokens - 1 > rule->back) /* a window as long as the texts hides no key */
            return err_unsupported(err,
                                   "expected texts of at most %zu tokens, the window of layer "
                                   "%zu, found %zu: longer ones are not trained",
                                   rule->back + 1, layer, plan->tokens);
    }

    step->rows = plan->texts * plan->tokens;
    step->weights_stride = (plan->tokens + LINE - 1) / LINE * LINE;
    step->weights = parameters_of(new_model);
    if (weights_open(model, config, &new_model->folder, err) ||
        weights_vector(model, slot_of_text(SLOT_TOKENS), &step->wte, err) ||
        weights_vector(model, slot_of_text(SLOT_POSITIONS), &step->wpe, err) ||
        weights_vector(model, slot_of_text(SLOT_HEAD_BIAS), &step->logit_bias, err) ||
        weights_unembedding(model, &step->words, err) ||
        weights_norm(model, slot_of_text(SLOT_FINAL_NORM), &step->final_norm, err) ||
        parameters_alloc(&step->gradients, new_model, &step->arena, err) || take_tape(step, err) ||
        take_layer(step, &step->d, 1, err) || take_scratch(step, err)) {
        train_step_release(step);
        return -1;
    }
    return 0;
}

void train_step_release(struct train_step *step)
{
    weights_release(&step->model);
    arena_release(&step->arena);
    *step = (struct train_step){0};
}

int train_step_run(struct train_step *step, const struct train_batch *batch, double *loss,
                   struct err *err)
{
    step->batch = batch;
    run_forward(step);
    if (loss_of_rows(step, loss, err))
        return -1;
    if (batch->share > 0)
        backward(step);
    return 0;
}
