#include "train/train_attention.h"

#include <string.h>

#include "math/rng.h"
#include "math/rows.h"
#include "math/tensor.h"
#include "train/train_forward.h"

enum {
    SIDE = 64,  /* queries, and keys, of a block */
    LINE = 16,  /* floats of a cache line */
    SIZES = 2,  /* of a block's side: SIDE, and what is left at the end */
    STRIPS = 2, /* of SIDE rows of weights, in each thread's memory */
};

/* C [n, m] (+)= B [n, k] · A [k, m] in blocks: one that sets and one that adds. */
struct pair {
    struct kernel set, add;
};

/* All heads of a layer; kernels by the sizes of queries and keys. */
struct layer_work {
    struct train_step *step;
    size_t layer;
    size_t width; /* of a head */
    float scale;
    double work;                      /* multiply-adds */
    struct pair scores[SIZES][SIZES]; /* [queries, keys] = [queries, d] · [d, keys] */
    struct pair slopes[SIZES][SIZES]; /* the same of the gradient of context */
    struct pair mixes[SIZES][SIZES];  /* [queries, d] = [queries, keys] · [keys, d]: context */
    struct pair query_mixes[SIZES][SIZES]; /* the same into the gradient of q */
    struct pair key_mixes[SIZES][SIZES]; /* [keys, d] = [keys, queries] · [queries, d] of q … */
    struct pair value_mixes[SIZES][SIZES]; /* … and of the gradient of context */
};

/* One head of one text. */
struct head_work {
    const struct layer_work *layer;
    struct matrix q, k, v, context;     /* [T, d] */
    struct matrix dq, dk, dv, dcontext; /* [T, d] */
    float *weights;                     /* [T, stride] */
    float *transposed;                  /* [d, stride] of keys, or of values */
    float *strips[STRIPS];              /* [SIDE, stride] */
    float *block;                       /* [SIDE, SIDE] */
    size_t number;                      /* of the head among all of the batch */
    size_t stride;
};

size_t train_attention_stride(size_t tokens)
{
    return (tokens + LINE - 1) / LINE * LINE;
}

int train_attention_init(struct train_step *step, struct err *err)
{
    size_t threads = pool_threads(step->plan.machine->pool);
    size_t width = step->config->d_k;
    size_t floats = step->weights_stride * (width + STRIPS * SIDE) + SIDE * SIDE;
    step->scratch.heads = arena_alloc(&step->arena, threads, sizeof *step->scratch.heads, err);
    for (size_t t = 0; step->scratch.heads && t < threads; t++) {
        step->scratch.heads[t] = arena_alloc(&step->arena, floats, sizeof(float), err);
        if (!step->scratch.heads[t])
            return -1;
    }
    return step->scratch.heads ? 0 : -1;
}

static size_t tokens_of(const struct head_work *head)
{
    return head->q.rows;
}

/* How many rows, or keys, the block that begins at `first` has; and which kernels it needs. */
static size_t side_at(const struct head_work *head, size_t first)
{
    size_t rest = tokens_of(head) - first;
    return rest < SIDE ? rest : SIDE;
}

static size_t size_at(const struct head_work *head, size_t first)
{
    return side_at(head, first) < SIDE;
}

static void call(const struct pair *pair, bool add, const float *a, const float *b, float *c)
{
    kernel_call(add ? &pair->add : &pair->set, a, b, c, a);
}

static float *row_of(struct matrix x, size_t row)
{
    return x.data + row * x.stride;
}

static void transpose_head(const struct head_work *head, struct matrix x)
{
    transpose((struct matrix){head->transposed, x.columns, x.rows, head->stride}, x);
}

/* A strip's rows times what is transposed: scores, or the gradients of weights. */
static void multiply_transposed(const struct head_work *head, const struct pair pairs[SIZES][SIZES],
                                float *strip, struct matrix rows, size_t first)
{
    for (size_t key = 0; key <= first; key += SIDE)
        call(&pairs[size_at(head, first)][size_at(head, key)], false, head->transposed + key,
             row_of(rows, first), strip + key);
}

/* The strip's weights behind dropout: its own, or those in `to`. */
static const float *drop_strip(const struct head_work *head, float *to, size_t first)
{
    const struct train_step *step = head->layer->step;
    size_t rows = side_at(head, first);
    const float *strip = head->weights + first * head->stride;
    float rate = dropout_rate(step);
    uint64_t key = dropout_key(step, DROP_WEIGHTS, head->layer->layer);
    if (rate == 0)
        return strip;
    memcpy(to, strip, rows * head->stride * sizeof *to);
    for (size_t row = 0; row < rows; row++)
        rng_dropout(to + row * head->stride, first + row + 1, key,
                    head->number * tokens_of(head) + first + row, rate);
    return to;
}

/* --- forward --------------------------------------------------------------------------------- */

/* Scores become weights; what cannot be seen gets 0. A score that is no number stays one, and makes
 * the loss none. */
static void weigh(const struct head_work *head, float *strip, size_t first)
{
    size_t rows = side_at(head, first);
    for (size_t row = 0; row < rows; row++) {
        float *weights = strip + row * head->stride;
        size_t visible = first + row + 1;
        scale_row(weights, weights, visible, head->layer->scale);
        softmax_row(weights, visible);
        memset(weights + visible, 0, (first + rows - visible) * sizeof *weights);
    }
}

static void strip_forward(const struct head_work *head, size_t first)
{
    const struct layer_work *layer = head->layer;
    float *strip = head->weights + first * head->stride;
    multiply_transposed(head, layer->scores, strip, head->q, first);
    weigh(head, strip, first);
    const float *dropped = drop_strip(head, head->strips[0], first);
    for (size_t key = 0; key <= first; key += SIDE)
        call(&layer->mixes[size_at(head, first)][size_at(head, key)], key > 0, row_of(head->v, key),
             dropped + key, row_of(head->context, first));
}

static void head_forward(const struct head_work *head)
{
    transpose_head(head, head->k);
    for (size_t first = 0; first < tokens_of(head); first += SIDE)
        strip_forward(head, first);
}

/* --- back ------------------------------------------------------------------------------------ */

/* The strip's gradients of weights become those of raw scores. */
static void weigh_backward(const struct head_work *head, float *strip, size_t first)
{
    const struct train_step *step = head->layer->step;
    size_t rows = side_at(head, first);
    uint64_t key = dropout_key(step, DROP_WEIGHTS, head->layer->layer);
    for (size_t row = 0; row < rows; row++) {
        float *gradients = strip + row * head->stride;
        size_t visible = first + row + 1;
        rng_dropout(gradients, visible, key, head->number * tokens_of(head) + first + row,
                    dropout_rate(step));
        softmax_row_backward(gradients, head->weights + (first + row) * head->stride, visible,
                             head->layer->scale);
        memset(gradients + visible, 0, (first + rows - visible) * sizeof *gradients);
    }
}

/* to [keys, d] (+)= blockᵀ · from [queries, d]; the first strip that sees a key is its own. */
static void mix_transposed(const struct head_work *head, const struct pair *pair, struct matrix to,
                           const float *strip, struct matrix from, size_t first, size_t key)
{
    size_t rows = side_at(head, first);
    size_t keys = side_at(head, key);
    struct matrix block = {(float *)strip + key, rows, keys, head->stride}; /* only read */
    transpose((struct matrix){head->block, keys, rows, SIDE}, block);
    call(pair, key < first, row_of(from, first), head->block, row_of(to, key));
}

static void strip_backward(const struct head_work *head, size_t first)
{
    const struct layer_work *layer = head->layer;
    float *gradients = head->strips[0];
    const float *dropped = drop_strip(head, head->strips[1], first);
    multiply_transposed(head, layer->slopes, gradients, head->dcontext, first);
    weigh_backward(head, gradients, first);
    for (size_t key = 0; key <= first; key += SIDE) {
        size_t rows = size_at(head, first);
        size_t keys = size_at(head, key);
        call(&layer->query_mixes[rows][keys], key > 0, row_of(head->k, key), gradients + key,
             row_of(head->dq, first));
        mix_transposed(head, &layer->key_mixes[rows][keys], head->dk, gradients, head->q, first,
                       key);
        mix_transposed(head, &layer->value_mixes[rows][keys], head->dv, dropped, head->dcontext,
                       first, key);
    }
}

static void head_backward(const struct head_work *head)
{
    transpose_head(head, head->v);
    for (size_t first = 0; first < tokens_of(head); first += SIDE)
        strip_backward(head, first);
}

/* --- all heads ------------------------------------------------------------------------------- */

static struct matrix head_part(struct matrix whole, size_t text, size_t tokens, size_t column,
                               size_t width)
{
    return matrix_columns(matrix_rows(whole, text * tokens, tokens), column, width);
}

static struct head_work head_work(const struct layer_work *layer, size_t round, size_t thread)
{
    struct train_step *step = layer->step;
    struct layer_tape *tape = &step->tape.layers[layer->layer];
    size_t heads = step->config->n_head;
    size_t tokens = step->plan.tokens;
    size_t width = layer->width;
    size_t text = round / heads;
    size_t at = round % heads * width;
    size_t channels = step->config->n_embd;
    float *room = step->scratch.heads[thread];
    size_t stride = step->weights_stride;
    return (struct head_work){
        .layer = layer,
        .q = head_part(tape->qkv, text, tokens, at, width),
        .k = head_part(tape->qkv, text, tokens, channels + at, width),
        .v = head_part(tape->qkv, text, tokens, 2 * channels + at, width),
        .context = head_part(tape->context, text, tokens, at, width),
        .dq = head_part(step->d.qkv, text, tokens, at, width),
        .dk = head_part(step->d.qkv, text, tokens, channels + at, width),
        .dv = head_part(step->d.qkv, text, tokens, 2 * channels + at, width),
        .dcontext = head_part(step->d.context, text, tokens, at, width),
        .weights = tape->weights + round * tokens * stride,
        .block = room,
        .transposed = room + SIDE * SIDE,
        .strips = {room + SIDE * SIDE + width * stride,
                   room + SIDE * SIDE + (width + SIDE) * stride},
        .number = round,
        .stride = stride,
    };
}

static void forward_round(void *context, size_t round, size_t thread)
{
    struct head_work head = head_work(context, round, thread);
    head_forward(&head);
}

static void backward_round(void *context, size_t round, size_t thread)
{
    struct head_work head = head_work(context, round, thread);
    head_backward(&head);
}

/* Fetch a product's two kernels: n rows, m columns, k terms, and their strides. */
static void fetch(const struct layer_work *layer, struct pair *pair, struct kernel_shape shape)
{
    struct kernels *kernels = layer->step->plan.machine->kernels;
    kernels_get(kernels, &pair->set, &shape, layer->work);
    shape.accumulate = 1;
    kernels_get(kernels, &pair->add, &shape, layer->work);
}

static void fetch_size(struct layer_work *layer, size_t rows, size_t keys)
{
    const struct train_step *step = layer->step;
    size_t rest = step->plan.tokens % SIDE;
    int n = rows ? (int)rest : SIDE;
    int m = keys ? (int)rest : SIDE;
    int d = (int)layer->width;
    int strip = (int)step->weights_stride;
    int qkv = (int)step->tape.layers[0].qkv.stride;
    int out = (int)step->tape.layers[0].context.stride;
    fetch(layer, &layer->scores[rows][keys],
          (struct kernel_shape){
              .m = m, .n = n, .k = d, .a_stride = strip, .b_stride = qkv, .c_stride = strip});
    fetch(layer, &layer->slopes[rows][keys],
          (struct kernel_shape){
              .m = m, .n = n, .k = d, .a_stride = strip, .b_stride = out, .c_stride = strip});
    fetch(layer, &layer->mixes[rows][keys],
          (struct kernel_shape){
              .m = d, .n = n, .k = m, .a_stride = qkv, .b_stride = strip, .c_stride = out});
    fetch(layer, &layer->query_mixes[rows][keys],
          (struct kernel_shape){
              .m = d, .n = n, .k = m, .a_stride = qkv, .b_stride = strip, .c_stride = qkv});
    fetch(layer, &layer->key_mixes[rows][keys],
          (struct kernel_shape){
              .m = d, .n = m, .k = n, .a_stride = qkv, .b_stride = SIDE, .c_stride = qkv});
    fetch(layer, &layer->value_mixes[rows][keys],
          (struct kernel_shape){
              .m = d, .n = m, .k = n, .a_stride = out, .b_stride = SIDE, .c_stride = qkv});
}

/* No kernel has a side of 0: texts of whole blocks have no rest, shorter ones no whole block. */
static void fetch_kernels(struct layer_work *layer)
{
    size_t tokens = layer->step->plan.tokens;
    kernels_begin(layer->step->plan.machine->kernels);
    if (tokens >= SIDE)
        fetch_size(layer, 0, 0);
    if (tokens % SIDE) {
        fetch_size(layer, 1, 1);
        if (tokens > SIDE)
            fetch_size(layer, 1, 0);
    }
}

static void run(struct train_step *step, size_t layer,
                void (*round)(void *context, size_t round, size_t thread))
{
    const struct config *c = step->config;
    struct layer_work work = {
        .step = step,
        .layer = layer,
        .width = c->d_k,
        .scale = config_scale(c, layer),
        .work = 2 * (double)step->rows * (double)step->plan.tokens * (double)c->n_embd,
    };
    size_t rounds = step->plan.texts * c->n_head;
    fetch_kernels(&work);
    pool_run(step->plan.machine->pool,
             (struct loop){.rounds = rounds, .work = work.work, .round = round}, &work);
}

void train_attention_forward(struct train_step *step, size_t layer)
{
    run(step, layer, forward_round);
}

void train_attention_backward(struct train_step *step, size_t layer)
{
    run(step, layer, backward_round);
}
