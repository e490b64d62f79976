#include "model/attention.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/num.h"
#include "math/rows.h"
#include "math/transpose.h"

enum {
    STRIP = 64, /* queries of a strip */
    STEP = 16,  /* kernels exist for one row, and for multiples of this many rows and keys */
    ROW_SIZES = 1 + STRIP / STEP,
    KEY_SIZES = KEY_PANEL / STEP,
};

struct strip_memory {
    float *panels;  /* [panel][dk, KEY_PANEL] the keys of one head, transposed */
    float *scores;  /* [STRIP, stride], or as few rows as are needed */
    float *context; /* [STRIP, dv], likewise */
    size_t stride;
};

/* What all heads of one layer share. */
struct layer_job {
    struct pass *pass;
    size_t layer;
    float scale;
    bool wants_context;
    struct kernel score_kernels[ROW_SIZES]; /* by rows */
    struct kernel context_kernels[ROW_SIZES][KEY_SIZES]
                                 [2]; /* by rows, keys; add to what is there */
    atomic_size_t first_failure;      /* the lowest round whose softmax failed */
};

/* One head of one sequence. */
struct head_job {
    const struct layer_job *layer;
    const struct strip_memory *memory;
    struct matrix q, k, v, context;   /* this head's columns, this sequence's rows */
    const struct cache *cache;        /* NULL, or where all keys and values are */
    size_t group;                     /* of keys and values */
    size_t past, keys;                /* keys before the first query's own; all of them */
    float *scores, *masked, *weights; /* [T, S] where watched, else NULL */
};

static size_t round_up(size_t size, size_t step)
{
    return (size + step - 1) / step * step;
}

/* Kernels by the rows they compute: 1, 16, 32, 48, 64. One row is what every step of a text that
 * grows takes; it has less to compute than to read. */
static size_t row_size(size_t rows)
{
    return rows == 1 ? 0 : round_up(rows, STEP) / STEP;
}

static size_t rows_of_size(size_t size)
{
    return size == 0 ? 1 : size * STEP;
}

/* Keys that are not in a cache. */
static size_t longest_fresh_keys(const struct batch *batch)
{
    size_t longest = 0;
    for (size_t s = 0; s < batch->count; s++)
        if (!batch->sequences[s].cache && batch->keys[s].count > longest)
            longest = batch->keys[s].count;
    return longest;
}

static int take_strip(struct pass *pass, struct strip_memory *memory)
{
    const struct config *c = pass->config;
    size_t rows = pass->batch->longest_queries < STRIP ? pass->batch->longest_queries : STRIP;
    size_t stride = matrix_stride(round_up(pass->batch->longest_keys, KEY_PANEL));
    size_t panels = round_up(longest_fresh_keys(pass->batch), KEY_PANEL);
    size_t scores = 0;
    rows = rows_of_size(row_size(rows));
    if (!num_multiply(&panels, panels, c->d_k) || !num_multiply(&scores, stride, rows))
        return err_memory(pass->err, (size_t)-1);
    memory->stride = stride;
    memory->panels = arena_alloc(pass->arena, panels, sizeof(float), pass->err);
    memory->scores = arena_alloc(pass->arena, scores, sizeof(float), pass->err);
    memory->context = arena_alloc(pass->arena, rows * c->d_v, sizeof(float), pass->err);
    return memory->panels && memory->scores && memory->context ? 0 : -1;
}

/* Every thread's working memory, for the longest sequence of the batch; one layer uses it after the
 * other. */
static int take_strips(struct pass *pass)
{
    size_t threads = pool_threads(pass->machine->pool);
    struct strip_memory *strips = arena_alloc(pass->arena, threads, sizeof *strips, pass->err);
    if (!strips)
        return -1;
    for (size_t t = 0; t < threads; t++)
        if (take_strip(pass, &strips[t]))
            return -1;
    pass->scratch.strips = strips;
    return 0;
}

/* Keys [S, dk] as panels [dk, KEY_PANEL]; keys that do not exist are 0. */
static void transpose_keys(float *panels, struct matrix keys)
{
    size_t size = KEY_PANEL * keys.columns;
    for (size_t key = 0; key < keys.rows; key += KEY_PANEL, panels += size) {
        size_t rest = keys.rows - key;
        size_t count = rest < KEY_PANEL ? rest : KEY_PANEL;
        struct matrix panel = {panels, keys.columns, count, KEY_PANEL};
        if (count < KEY_PANEL)
            memset(panels, 0, size * sizeof *panels);
        transpose(panel, matrix_rows(keys, key, count));
    }
}

/* The panel that begins with a key, and the rows of values that do. */
static const float *panel_at(const struct head_job *head, size_t key)
{
    if (head->cache)
        return cache_keys(head->cache, head->layer->layer, head->group, key);
    return head->memory->panels + key * head->k.columns;
}

static const float *values_at(const struct head_job *head, size_t key)
{
    if (head->cache)
        return cache_values(head->cache, head->layer->layer, head->group, key);
    return head->v.data + key * head->v.stride;
}

/* How many keys, from the first on, query `row` sees. */
static size_t visible_keys(const struct head_job *head, size_t row)
{
    return head->layer->pass->config->causal ? head->past + row + 1 : head->keys;
}

static void copy_row(float *square, size_t row, size_t columns, const float *from)
{
    if (square)
        memcpy(square + row * columns, from, columns * sizeof *from);
}

static void compute_scores(const struct head_job *head, size_t first, size_t rows, size_t keys)
{
    const struct kernel *kernel = &head->layer->score_kernels[row_size(rows)];
    const float *q = head->q.data + first * head->q.stride;
    for (size_t key = 0; key < keys; key += KEY_PANEL)
        kernel_call(kernel, panel_at(head, key), q, head->memory->scores + key, q);
}

/* Scale, mask and softmax one row of the strip in place; what cannot be seen gets weight 0. */
static bool weigh_row(const struct head_job *head, float *row, size_t query, size_t padded_keys)
{
    size_t keys = head->keys;
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
    const struct kernel(*kernels)[2] = head->layer->context_kernels[row_size(rows)];
    for (size_t key = 0; key < keys; key += KEY_PANEL) {
        size_t count = keys - key < KEY_PANEL ? keys - key : KEY_PANEL;
        const struct kernel *kernel = &kernels[round_up(count, STEP) / STEP - 1][key > 0];
        const float *v = values_at(head, key);
        kernel_call(kernel, v, memory->scores + key, memory->context, v);
    }
    for (size_t row = 0; row < rows; row++)
        memcpy(head->context.data + (first + row) * head->context.stride,
               memory->context + row * head->v.columns, head->v.columns * sizeof(float));
}

/* Keys that a strip computes: those its last query sees, or all while raw scores are watched. */
static size_t strip_keys(const struct head_job *head, size_t first, size_t rows)
{
    return head->scores ? head->keys : visible_keys(head, first + rows - 1);
}

static bool compute_strip(const struct head_job *head, size_t first)
{
    size_t rest = head->q.rows - first;
    size_t rows = rest < STRIP ? rest : STRIP;
    size_t keys = strip_keys(head, first, rows);
    size_t width = head->masked || head->weights ? head->keys : keys;
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
    size_t cells = pass->batch->queries[sequence].count * batch_keys(pass->batch, sequence);
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
        .cache = pass->batch->sequences[sequence].cache,
        .group = group,
        .past = pass->batch->past[sequence],
        .keys = batch_keys(pass->batch, sequence),
        .scores = square_of(s->scores, pass, sequence, head),
        .masked = square_of(s->masked, pass, sequence, head),
        .weights = square_of(s->weights, pass, sequence, head),
    };
    bool sound = true;
    if (!job.cache)
        transpose_keys(job.memory->panels, job.k);
    for (size_t first = 0; first < job.q.rows; first += STRIP)
        sound &= compute_strip(&job, first);
    size_t lowest = atomic_load(&layer->first_failure);
    while (!sound && round < lowest)
        if (atomic_compare_exchange_weak(&layer->first_failure, &lowest, round))
            break;
}

/* Rows are given by their size. */
static void fetch_score_kernel(struct layer_job *layer, size_t rows)
{
    const struct pass *pass = layer->pass;
    struct kernel_shape shape = {
        .m = KEY_PANEL,
        .n = (int)rows_of_size(rows),
        .k = (int)pass->config->d_k,
        .a_stride = KEY_PANEL,
        .b_stride = (int)pass->scratch.q.stride,
        .c_stride = (int)pass->scratch.strips[0].stride,
    };
    kernels_get(pass->machine->kernels, &layer->score_kernels[rows], &shape);
}

static void fetch_context_kernel(struct layer_job *layer, size_t rows, size_t keys, int add)
{
    const struct pass *pass = layer->pass;
    struct kernel_shape shape = {
        .m = (int)pass->config->d_v,
        .n = (int)rows_of_size(rows),
        .k = (int)keys,
        .a_stride = (int)pass->scratch.v.stride,
        .b_stride = (int)pass->scratch.strips[0].stride,
        .c_stride = (int)pass->config->d_v,
        .accumulate = add,
    };
    kernels_get(pass->machine->kernels, &layer->context_kernels[rows][keys / STEP - 1][add],
                &shape);
}

/* The kernels that strips of so many queries against `keys` keys call. */
static void fetch_kernels_of(struct layer_job *layer, size_t rows, size_t keys)
{
    size_t rest = round_up(keys % KEY_PANEL, STEP);
    fetch_score_kernel(layer, rows);
    if (!layer->wants_context)
        return;
    if (keys >= KEY_PANEL)
        fetch_context_kernel(layer, rows, KEY_PANEL, 0);
    if (keys >= 2 * KEY_PANEL)
        fetch_context_kernel(layer, rows, KEY_PANEL, 1);
    if (rest)
        fetch_context_kernel(layer, rows, rest, keys > KEY_PANEL);
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
            size_t keys = causal ? batch->past[s] + first + rows : batch->keys[s].count;
            fetch_kernels_of(layer, row_size(rows), keys);
        }
    }
}

/* About how many multiply-adds all heads take, so that the pool can judge. */
static double work_of(const struct pass *pass)
{
    const struct config *c = pass->config;
    double cells = 0;
    for (size_t s = 0; s < pass->batch->count; s++)
        cells += (double)pass->batch->queries[s].count * (double)batch_keys(pass->batch, s);
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

/* One round: a key/value head of a sequence. */
static void store_head(void *context, size_t round, size_t thread)
{
    const struct layer_job *job = context;
    const struct pass *pass = job->pass;
    const struct config *c = pass->config;
    const struct scratch *s = &pass->scratch;
    size_t sequence = round / c->n_kv_head;
    size_t group = round % c->n_kv_head;
    struct span rows = pass->batch->keys[sequence];
    struct cache *cache = pass->batch->sequences[sequence].cache;
    (void)thread;
    if (cache)
        cache_store(cache, job->layer, group, head_part(s->k, rows, group, c->d_k),
                    head_part(s->v, rows, group, c->d_v));
}

void attention_store(struct pass *pass, size_t layer)
{
    const struct config *c = pass->config;
    struct layer_job job = {.pass = pass, .layer = layer};
    struct loop loop = {
        .rounds = pass->batch->count * c->n_kv_head,
        .work = (double)pass->batch->tokens * (double)(c->n_kv_head * (c->d_k + c->d_v)),
        .round = store_head,
    };
    pool_run(pass->machine->pool, loop, &job);
}

bool attention(struct pass *pass, size_t layer)
{
    struct layer_job job = {
        .pass = pass,
        .layer = layer,
        .scale = config_scale(pass->config, layer),
        .wants_context = pass_goes_to(pass, SITE_CONTEXT, layer),
    };
    size_t heads = pass->config->n_head;
    size_t rounds = pass->batch->count * heads;
    if (!pass->scratch.strips && take_strips(pass)) {
        pass->tap->failed = true;
        return true;
    }
    atomic_init(&job.first_failure, rounds);
    fetch_kernels(&job);
    pool_run(pass->machine->pool,
             (struct loop){.rounds = rounds, .work = work_of(pass), .round = compute_head}, &job);
    size_t failure = atomic_load(&job.first_failure);
    if (failure < rounds)
        return pass_fail_number(
            pass, &(struct place_in_pass){SITE_SCORES, layer, failure / heads, failure % heads});
    return announce_all(pass, layer);
}
