/* train_attention.c: causal attention of a training step, for each head of each text, in blocks of
 * 64 queries by 64 keys; masked blocks are skipped. */
#include "base/num.h"
#include "math/rows.h"
#include "math/tensor.h"
#include "train/train_step.h"

#include <string.h>

#include "math/rng.h"

enum {
    SIDE = 64,  /* queries and keys of a block */
    SIZES = 2,  /* sizes of a block's side: SIDE, and the remainder */
    STRIPS = 2, /* scratch strips per thread: SIDE rows of weights or their gradients */
};

/* The products C [n, m] (+)= B [n, k] · A [k, m] of a block; d is the head size. */
enum product {
    SCORES,  /* [queries, keys] = q [queries, d] · kᵀ [d, keys] */
    SLOPES,  /* [queries, keys] = dcontext · vᵀ: gradients of weights */
    CONTEXT, /* [queries, d] = weights [queries, keys] · v [keys, d] */
    DQ,      /* [queries, d] = dscores · k */
    DK,      /* [keys, d] = dscoresᵀ · q [queries, d] */
    DV,      /* [keys, d] = weightsᵀ · dcontext */
    PRODUCTS,
};

/* All heads of a layer. */
struct layer_work {
    struct train_step *step;
    bool backward;
    size_t width; /* head size */
    float scale;
    double work;                                      /* multiply-adds, estimated */
    struct kernel kernels[PRODUCTS][SIZES][SIZES][2]; /* [product][queries][keys][adds] */
};

/* One head of one text. */
struct head_work {
    const struct layer_work *layer;
    struct matrix q, k, v, context;     /* [T, d] */
    struct matrix dq, dk, dv, dcontext; /* [T, d] */
    float *weights;                     /* [T, stride] */
    float *transposed;                  /* [d, stride] transposed keys or values */
    float *strips[STRIPS];              /* [SIDE, stride] */
    float *block;                       /* [SIDE, SIDE] */
    size_t number;                      /* index among all heads of the batch */
    bool adds; /* add to dk and dv, as another head with the same keys already wrote them */
    size_t stride;
};

size_t train_attention_floats(const struct train_step *step)
{
    return step->weights_stride * (step->config->d_k + STRIPS * SIDE) + SIDE * SIDE;
}

/* Number of queries, or keys, of the block that begins at `first`. */
static size_t side_at(const struct head_work *head, size_t first)
{
    return num_min(head->q.rows - first, SIDE);
}

/* The kernel of a product for the block of queries from `first` and keys from `key`. */
static const struct kernel *kernel_at(const struct head_work *head, enum product product,
                                      size_t first, size_t key, bool add)
{
    bool short_rows = side_at(head, first) < SIDE;
    bool short_keys = side_at(head, key) < SIDE;
    return &head->layer->kernels[product][short_rows][short_keys][add];
}

static void call(const struct kernel *kernel, const float *a, const float *b, float *c)
{
    kernel_call(kernel, a, b, c, a);
}

/* Multiply a strip's rows by the transposed keys or values: scores, or gradients of weights. */
static void multiply_transposed(const struct head_work *head, enum product product, float *strip,
                                struct matrix rows, size_t first)
{
    for (size_t key = 0; key <= first; key += SIDE)
        call(kernel_at(head, product, first, key, false), head->transposed + key,
             matrix_row(rows, first), strip + key);
}

/* Apply dropout to the strip's weights: a copy in `to`, or the strip itself without dropout. */
static const float *drop_strip(const struct head_work *head, float *to, size_t first)
{
    const struct train_step *step = head->layer->step;
    size_t rows = side_at(head, first);
    const float *strip = head->weights + first * head->stride;
    float rate = dropout_rate(step);
    uint64_t key = dropout_key(step, DROP_WEIGHTS);
    if (rate == 0)
        return strip;
    memcpy(to, strip, rows * head->stride * sizeof *to);
    for (size_t row = 0; row < rows; row++)
        rng_dropout(to + row * head->stride, first + row + 1, key,
                    head->number * head->q.rows + first + row, rate);
    return to;
}

/* --- forward --------------------------------------------------------------------------------- */

/* A NaN among the scores is kept, so that the loss becomes NaN. */
static void strip_forward(const struct head_work *head, size_t first)
{
    float *strip = head->weights + first * head->stride;
    size_t rows = side_at(head, first);
    multiply_transposed(head, SCORES, strip, head->q, first);
    for (size_t row = 0; row < rows; row++) { /* softmax, with 0 for later keys */
        float *weights = strip + row * head->stride;
        size_t visible = first + row + 1;
        scale_row(weights, weights, visible, head->layer->scale);
        softmax_row(weights, visible);
        memset(weights + visible, 0, (first + rows - visible) * sizeof *weights);
    }
    const float *dropped = drop_strip(head, head->strips[0], first);
    for (size_t key = 0; key <= first; key += SIDE)
        call(kernel_at(head, CONTEXT, first, key, key > 0), matrix_row(head->v, key), dropped + key,
             matrix_row(head->context, first));
}

/* --- backward --------------------------------------------------------------------------------- */

/* to [keys, d] (+)= blockᵀ · from [queries, d]. The first strip that sees the keys, in the first
 * head that shares them, sets `to`; all others add to it. */
static void mix_transposed(const struct head_work *head, enum product product, const float *strip,
                           size_t first, size_t key)
{
    struct matrix to = product == DK ? head->dk : head->dv;
    struct matrix from = product == DK ? head->q : head->dcontext;
    size_t rows = side_at(head, first);
    size_t keys = side_at(head, key);
    struct matrix block = {(float *)strip + key, rows, keys, head->stride}; /* cast: only read */
    transpose((struct matrix){head->block, keys, rows, SIDE}, block);
    call(kernel_at(head, product, first, key, key < first || head->adds), matrix_row(from, first),
         head->block, matrix_row(to, key));
}

static void strip_backward(const struct head_work *head, size_t first)
{
    const struct train_step *step = head->layer->step;
    float *strip = head->strips[0]; /* gradients of weights, then of scores */
    size_t rows = side_at(head, first);
    uint64_t drops = dropout_key(step, DROP_WEIGHTS);
    const float *dropped = drop_strip(head, head->strips[1], first);
    multiply_transposed(head, SLOPES, strip, head->dcontext, first);
    for (size_t row = 0; row < rows; row++) {
        float *gradients = strip + row * head->stride;
        size_t visible = first + row + 1;
        rng_dropout(gradients, visible, drops, head->number * head->q.rows + first + row,
                    dropout_rate(step));
        softmax_row_backward(gradients, head->weights + (first + row) * head->stride, visible,
                             head->layer->scale);
        memset(gradients + visible, 0, (first + rows - visible) * sizeof *gradients);
    }
    for (size_t key = 0; key <= first; key += SIDE) {
        call(kernel_at(head, DQ, first, key, key > 0), matrix_row(head->k, key), strip + key,
             matrix_row(head->dq, first));
        mix_transposed(head, DK, strip, first, key);
        mix_transposed(head, DV, dropped, first, key);
    }
}

/* --- all heads ------------------------------------------------------------------------------- */

static struct matrix head_part(struct matrix whole, size_t text, size_t tokens, size_t column,
                               size_t width)
{
    return matrix_columns(matrix_rows(whole, text * tokens, tokens), column, width);
}

/* The work of head `number` of the batch. */
static struct head_work head_work(const struct layer_work *layer, size_t number, size_t thread)
{
    struct train_step *step = layer->step;
    const struct config *c = step->config;
    struct layer_tape *tape = &step->layers[step->layer];
    const struct projections *heads = &tape->heads;
    const struct projections *gradients = &step->d.heads;
    size_t tokens = step->plan.tokens;
    size_t width = layer->width;
    size_t text = number / c->n_head;
    size_t shared = c->n_head / c->n_kv_head;
    size_t at = number % c->n_head * width;
    size_t key = number % c->n_head / shared * width;
    float *scratch = step->scratch.heads + thread * train_attention_floats(step);
    size_t stride = step->weights_stride;
    return (struct head_work){
        .layer = layer,
        .q = head_part(heads->q, text, tokens, at, width),
        .k = head_part(heads->k, text, tokens, key, width),
        .v = head_part(heads->v, text, tokens, key, width),
        .context = head_part(tape->context, text, tokens, at, width),
        .dq = head_part(gradients->q, text, tokens, at, width),
        .dk = head_part(gradients->k, text, tokens, key, width),
        .dv = head_part(gradients->v, text, tokens, key, width),
        .dcontext = head_part(step->d.context, text, tokens, at, width),
        .weights = tape->weights + number * tokens * stride,
        .block = scratch,
        .transposed = scratch + SIDE * SIDE,
        .strips = {scratch + SIDE * SIDE + width * stride,
                   scratch + SIDE * SIDE + (width + SIDE) * stride},
        .number = number,
        .adds = number % shared != 0,
        .stride = stride,
    };
}

/* Run the heads that share keys one after another, since their gradients are added. */
static void run_group(void *context, size_t round, size_t thread)
{
    const struct layer_work *layer = context;
    const struct config *c = layer->step->config;
    size_t shared = c->n_head / c->n_kv_head;
    for (size_t number = round * shared; number < (round + 1) * shared; number++) {
        struct head_work head = head_work(layer, number, thread);
        struct matrix x = layer->backward ? head.v : head.k;
        if (!head.adds)
            transpose((struct matrix){head.transposed, x.columns, x.rows, head.stride}, x);
        for (size_t first = 0; first < head.q.rows; first += SIDE)
            (layer->backward ? strip_backward : strip_forward)(&head, first);
    }
}

/* Get the kernels for blocks of SIDE rows and keys or, if short, of tokens % SIDE. */
static void get_kernels(struct layer_work *layer, bool short_rows, bool short_keys)
{
    const struct train_step *step = layer->step;
    const struct layer_tape *tape = &step->layers[step->layer];
    int rest = (int)(step->plan.tokens % SIDE);
    int rows = short_rows ? rest : SIDE;
    int keys = short_keys ? rest : SIDE;
    int d = (int)layer->width;
    int strip = (int)step->weights_stride;
    int q = (int)tape->heads.q.stride;
    int kv = (int)tape->heads.k.stride;
    int out = (int)tape->context.stride;
    const struct kernel_shape shapes[PRODUCTS] = {
        /* columns m, rows n, terms k; strides of a, b and c */
        [SCORES] = {keys, rows, d, strip, q, strip, 0, 0, 0},
        [SLOPES] = {keys, rows, d, strip, out, strip, 0, 0, 0},
        [CONTEXT] = {d, rows, keys, kv, strip, out, 0, 0, 0},
        [DQ] = {d, rows, keys, kv, strip, q, 0, 0, 0},
        [DK] = {d, keys, rows, q, SIDE, kv, 0, 0, 0},
        [DV] = {d, keys, rows, out, SIDE, kv, 0, 0, 0},
    };
    for (int i = 0; i < 2 * PRODUCTS; i++) {
        struct kernel_shape shape = shapes[i / 2];
        shape.accumulate = i % 2;
        kernels_get(step->plan.machine->kernels,
                    &layer->kernels[i / 2][short_rows][short_keys][i % 2], &shape, layer->work);
    }
}

void train_attention(struct train_step *step, bool backward)
{
    const struct config *c = step->config;
    size_t tokens = step->plan.tokens;
    struct layer_work work = {
        .step = step,
        .backward = backward,
        .width = c->d_k,
        .scale = step->layers[step->layer].list->score.scale,
        .work = 2 * (double)step->rows * (double)tokens * (double)(c->n_head * c->d_k),
    };
    kernels_begin(step->plan.machine->kernels);
    if (tokens >= SIDE) /* kernels have no side of 0 */
        get_kernels(&work, false, false);
    if (tokens % SIDE)
        get_kernels(&work, true, true);
    if (tokens % SIDE && tokens > SIDE)
        get_kernels(&work, true, false);
    pool_run(step->plan.machine->pool,
             (struct loop){step->plan.texts * c->n_kv_head, work.work, run_group}, &work);
}
