#include "model/attention.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/num.h"
#include "math/rows.h"

enum {
    STRIP = 64, /* queries of a strip, keys of a panel */
    STEP = 16,  /* kernels exist for multiples of this many rows and keys */
    SIZES = STRIP / STEP,
};

struct strip_memory {
    float *panels;  /* [panel][dk, STRIP] the keys of one head, transposed */
    float *scores;  /* [STRIP, stride] */
    float *context; /* [STRIP, dv] */
    size_t stride;
};

/* What all heads of one layer share. */
struct layer_job {
    struct pass *pass;
    float scale;
    bool wants_context;
    struct kernel score_kernels[SIZES];             /* by rows */
    struct kernel context_kernels[SIZES][SIZES][2]; /* by rows, keys; add to what is there */
    atomic_size_t first_failure;                    /* the lowest round whose softmax failed */
};

/* One head of one sequence. */
struct head_job {
    const struct layer_job *layer;
    const struct strip_memory *memory;
    struct matrix q, k, v, context;   /* this head's columns, this sequence's rows */
    float *scores, *masked, *weights; /* [T, S] where watched, else NULL */
};

static size_t round_up(size_t size, size_t step)
{
    return (size + step - 1) / step * step;
}

static int take_strip(struct pass *pass, struct strip_memory *memory, size_t stride)
{
    const struct config *c = pass->config;
    size_t panels = 0;
    size_t scores = 0;
    if (!num_multiply(&panels, stride, c->d_k) || !num_multiply(&scores, stride, STRIP))
        return err_memory(pass->err, (size_t)-1);
    memory->stride = stride;
    memory->panels = arena_alloc(pass->arena, panels, sizeof(float), pass->err);
    memory->scores = arena_alloc(pass->arena, scores, sizeof(float), pass->err);
    memory->context = arena_alloc(pass->arena, STRIP * c->d_v, sizeof(float), pass->err);
    return memory->panels && memory->scores && memory->context ? 0 : -1;
}

int attention_take_strips(struct pass *pass)
{
    size_t threads = pool_threads(pass->machine->pool);
    size_t stride = matrix_stride(round_up(pass->batch->longest_keys, STRIP));
    struct strip_memory *strips = arena_alloc(pass->arena, threads, sizeof *strips, pass->err);
    if (!strips)
        return -1;
    for (size_t t = 0; t < threads; t++)
        if (take_strip(pass, &strips[t], stride))
            return -1;
    pass->scratch.strips = strips;
    return 0;
}

/* Keys [S, dk] as panels [dk, STRIP]; keys that do not exist are 0. */
static void transpose_keys(float *panels, struct matrix keys)
{
    size_t padded = round_up(keys.rows, STRIP);
    for (size_t key = 0; key < padded; key++) {
        float *panel = panels + key / STRIP * STRIP * keys.columns + key % STRIP;
        const float *from = keys.data + key * keys.stride;
        for (size_t i = 0; i < keys.columns; i++)
            panel[i * STRIP] = key < keys.rows ? from[i] : 0.0f;
    }
}

/* How many keys, from the first on, query `row` sees. */
static size_t visible_keys(const struct head_job *head, size_t row)
{
    return head->layer->pass->config->causal ? row + 1 : head->k.rows;
}

static void copy_row(float *square, size_t row, size_t columns, const float *from)
{
    if (square)
        memcpy(square + row * columns, from, columns * sizeof *from);
}

static void compute_scores(const struct head_job *head, size_t first, size_t rows, size_t keys)
{
    const struct strip_memory *memory = head->memory;
    const struct kernel *kernel = &head->layer->score_kernels[round_up(rows, STEP) / STEP - 1];
    const float *q = head->q.data + first * head->q.stride;
    for (size_t key = 0; key < keys; key += STRIP)
        kernel_call(kernel, memory->panels + key * head->k.columns, q, memory->scores + key, q);
}

/* Scale, mask and softmax one row of the strip in place; what cannot be seen gets weight 0. */
static bool weigh_row(const struct head_job *head, float *row, size_t query, size_t padded_keys)
{
    size_t keys = head->k.rows;
    size_t visible = visible_keys(head, query);
    copy_row(head->scores, query, keys, row);
    scale_row(row, row, visible, head->layer->scale);
    if (head->masked) {
        for (size_t key = visible; key < keys; key++)
            row[key] = -INFINITY;
        copy_row(head->masked, query, keys, row);
    }
    bool sound = softmax_row(row, visible);
    for (size_t key = visible; key < padded_keys; key++)
        row[key] = 0.0f;
    copy_row(head->weights, query, keys, row);
    return sound;
}

/* context [rows, dv] = weights [rows, keys] · v [keys, dv], a panel of keys at a time. */
static void compute_context(const struct head_job *head, size_t first, size_t rows, size_t keys)
{
    const struct strip_memory *memory = head->memory;
    size_t row_size = round_up(rows, STEP) / STEP - 1;
    for (size_t key = 0; key < keys; key += STRIP) {
        size_t count = keys - key < STRIP ? keys - key : STRIP;
        const struct kernel *kernel =
            &head->layer->context_kernels[row_size][round_up(count, STEP) / STEP - 1][key > 0];
        const float *v = head->v.data + key * head->v.stride;
        kernel_call(kernel, v, memory->scores + key, memory->context, v);
    }
    for (size_t row = 0; row < rows; row++)
        memcpy(head->context.data + (first + row) * head->context.stride,
               memory->context + row * head->v.columns, head->v.columns * sizeof(float));
}

/* Keys that a strip computes: those its last query sees, or all while raw scores are watched. */
static size_t strip_keys(const struct head_job *head, size_t first, size_t rows)
{
    return head->scores ? head->k.rows : visible_keys(head, first + rows - 1);
}

static bool compute_strip(const struct head_job *head, size_t first)
{
    size_t rest = head->q.rows - first;
    size_t rows = rest < STRIP ? rest : STRIP;
    size_t keys = strip_keys(head, first, rows);
    size_t width = head->masked || head->weights ? head->k.rows : keys;
    bool sound = true;
    compute_scores(head, first, rows, keys);
    for (size_t row = 0; row < rows; row++) {
        float *scores = head->memory->scores + row * head->memory->stride;
        sound &= weigh_row(head, scores, first + row, round_up(width, STEP));
    }
    if (head->layer->wants_context)
        compute_context(head, first, rows, visible_keys(head, first + rows - 1));
    return sound;
}

static struct matrix head_part(struct matrix whole, struct span rows, size_t head, size_t width)
{
    return matrix_columns(matrix_rows(whole, rows.first, rows.count), head * width, width);
}

static float *square_of(float *squares, const struct pass *pass, size_t sequence, size_t head)
{
    size_t cells = pass->batch->queries[sequence].count * pass->batch->keys[sequence].count;
    return squares ? squares + pass->scratch.square_first[sequence] + head * cells : NULL;
}

/* One round: a head of a sequence, all its strips. */
static void compute_head(void *context, size_t round, size_t thread)
{
    struct layer_job *layer = context;
    const struct pass *pass = layer->pass;
    const struct config *c = pass->config;
    const struct scratch *s = &pass->scratch;
    size_t sequence = round / c->n_head;
    size_t head = round % c->n_head;
    size_t group = head / (c->n_head / c->n_kv_head);
    struct span queries = pass->batch->queries[sequence];
    struct span keys = pass->batch->keys[sequence];
    struct head_job job = {
        .layer = layer,
        .memory = &s->strips[thread],
        .q = head_part(s->q, queries, head, c->d_k),
        .k = head_part(s->k, keys, group, c->d_k),
        .v = head_part(s->v, keys, group, c->d_v),
        .context = head_part(s->context, queries, head, c->d_v),
        .scores = square_of(s->scores, pass, sequence, head),
        .masked = square_of(s->masked, pass, sequence, head),
        .weights = square_of(s->weights, pass, sequence, head),
    };
    bool sound = true;
    transpose_keys(job.memory->panels, job.k);
    for (size_t first = 0; first < job.q.rows; first += STRIP)
        sound &= compute_strip(&job, first);
    size_t lowest = atomic_load(&layer->first_failure);
    while (!sound && round < lowest)
        if (atomic_compare_exchange_weak(&layer->first_failure, &lowest, round))
            break;
}

static void fetch_score_kernel(struct layer_job *layer, size_t rows)
{
    const struct pass *pass = layer->pass;
    struct kernel_shape shape = {
        .m = STRIP,
        .n = (int)rows,
        .k = (int)pass->config->d_k,
        .a_stride = STRIP,
        .b_stride = (int)pass->scratch.q.stride,
        .c_stride = (int)pass->scratch.strips[0].stride,
    };
    kernels_get(pass->machine->kernels, &layer->score_kernels[rows / STEP - 1], &shape);
}

static void fetch_context_kernel(struct layer_job *layer, size_t rows, size_t keys, int add)
{
    const struct pass *pass = layer->pass;
    struct kernel_shape shape = {
        .m = (int)pass->config->d_v,
        .n = (int)rows,
        .k = (int)keys,
        .a_stride = (int)pass->scratch.v.stride,
        .b_stride = (int)pass->scratch.strips[0].stride,
        .c_stride = (int)pass->config->d_v,
        .accumulate = add,
    };
    kernels_get(pass->machine->kernels,
                &layer->context_kernels[rows / STEP - 1][keys / STEP - 1][add], &shape);
}

/* The kernels that strips of `rows` queries against `keys` keys call. */
static void fetch_kernels_of(struct layer_job *layer, size_t rows, size_t keys)
{
    size_t rest = round_up(keys % STRIP, STEP);
    fetch_score_kernel(layer, rows);
    if (!layer->wants_context)
        return;
    if (keys >= STRIP)
        fetch_context_kernel(layer, rows, STRIP, 0);
    if (keys >= 2 * STRIP)
        fetch_context_kernel(layer, rows, STRIP, 1);
    if (rest)
        fetch_context_kernel(layer, rows, rest, keys > STRIP);
}

static void fetch_kernels(struct layer_job *layer)
{
    const struct batch *batch = layer->pass->batch;
    bool causal = layer->pass->config->causal;
    kernels_begin(layer->pass->machine->kernels);
    for (size_t s = 0; s < batch->count; s++) {
        size_t queries = batch->queries[s].count;
        for (size_t first = 0; first < queries; first += STRIP) {
            size_t rows = queries - first < STRIP ? queries - first : STRIP;
            size_t keys = causal ? first + rows : batch->keys[s].count;
            fetch_kernels_of(layer, round_up(rows, STEP), keys);
        }
    }
}

/* About how many multiply-adds all heads take, so that the pool can judge. */
static double work_of(const struct pass *pass)
{
    const struct config *c = pass->config;
    double cells = 0;
    for (size_t s = 0; s < pass->batch->count; s++)
        cells += (double)pass->batch->queries[s].count * (double)pass->batch->keys[s].count;
    return cells * (double)c->n_head * (double)(c->d_k + c->d_v);
}

static bool announce_all(struct pass *pass, size_t layer)
{
    struct scratch *s = &pass->scratch;
    return tap_squares(pass, SITE_SCORES, layer, s->scores) ||
           tap_squares(pass, SITE_MASKED, layer, s->masked) ||
           tap_squares(pass, SITE_WEIGHTS, layer, s->weights) ||
           tap_heads(pass, SITE_CONTEXT, layer, s->context);
}

bool attention(struct pass *pass, size_t layer)
{
    struct layer_job job = {
        .pass = pass,
        .scale = config_scale(pass->config, layer),
        .wants_context = watch_from(pass->tap->watch, SITE_CONTEXT, layer),
    };
    size_t heads = pass->config->n_head;
    size_t rounds = pass->batch->count * heads;
    atomic_init(&job.first_failure, rounds);
    fetch_kernels(&job);
    pool_run(pass->machine->pool,
             (struct loop){.rounds = rounds, .work = work_of(pass), .round = compute_head}, &job);
    size_t failure = atomic_load(&job.first_failure);
    if (failure < rounds)
        return pass_fail_number(pass, SITE_SCORES, layer, failure / heads);
    return announce_all(pass, layer);
}
