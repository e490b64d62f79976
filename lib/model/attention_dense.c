#include "model/attention_dense.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/rows.h"
#include "math/spill.h"
#include "math/transpose.h"

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

/* The floats of a strip's parts; false: too many to count. */
struct strip_size {
    size_t stride, panels, scores, context;
};

static bool strip_size(struct strip_size *size, const struct config *c, size_t queries, size_t keys,
                       size_t fresh_keys)
{
    size_t rows = rows_of_size(row_size(queries < STRIP ? queries : STRIP));
    size->stride = matrix_stride(round_up(keys, KEY_PANEL));
    size->context = rows * c->d_v;
    return num_multiply(&size->panels, round_up(fresh_keys, KEY_PANEL), c->d_k) &&
           num_multiply(&size->scores, size->stride, rows);
}

size_t attention_dense_bytes(const struct config *config, size_t queries, size_t keys)
{
    struct strip_size size;
    if (!strip_size(&size, config, queries, keys, keys))
        return SIZE_MAX;
    return (size.panels + size.scores + size.context) * sizeof(float);
}

static int take_strip(struct pass *pass, struct strip_memory *memory)
{
    const struct batch *batch = pass->batch;
    struct strip_size size;
    if (!strip_size(&size, pass->config, batch->longest_queries, batch->longest_keys,
                    longest_fresh_keys(batch)))
        return err_memory(pass->err, SIZE_MAX);
    memory->stride = size.stride;
    memory->panels = arena_room(pass->arena, size.panels, sizeof(float), pass->err);
    memory->scores = arena_room(pass->arena, size.scores, sizeof(float), pass->err);
    memory->context = arena_room(pass->arena, size.context, sizeof(float), pass->err);
    return memory->panels && memory->scores && memory->context ? 0 : -1;
}

int attention_dense_take(struct pass *pass)
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

/* Write one row of a square that is wanted: its first `count` cells, and what the others are. */
static void put_row(const struct head_job *head, float *square, size_t row, const float *from,
                    size_t count, float others)
{
    if (!square)
        return;
    spill_copy(square + row * head->keys, from, count);
    spill_fill(square + row * head->keys + count, head->keys - count, others);
}

static void compute_scores(const struct head_job *head, size_t first, size_t rows, size_t keys)
{
    const struct kernel *kernel = &head->layer->score_kernels[row_size(rows)];
    const float *q = head->q.data + first * head->q.stride;
    for (size_t key = 0; key < keys; key += KEY_PANEL)
        kernel_call(kernel, panel_at(head, key), q, head->memory->scores + key, q);
}

/* Scale, mask and softmax one row of the strip in place; what cannot be seen gets weight 0. What is
 * no number is found in the scores, or by the softmax. */
static bool weigh_row(const struct head_job *head, float *row, size_t query, size_t padded_keys)
{
    size_t visible = visible_keys(head, query);
    bool sound = !head->scores || first_bad(row, head->keys) == head->keys;
    put_row(head, head->scores, query, row, head->keys, 0.0f);
    scale_row(row, row, visible, head->layer->scale);
    put_row(head, head->masked, query, row, visible, -INFINITY);
    sound &= softmax_row(row, visible);
    put_row(head, head->weights, query, row, visible, 0.0f);
    for (size_t key = visible; key < padded_keys; key++)
        row[key] = 0.0f;
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

static bool compute_strip(const struct head_job *head, size_t first)
{
    size_t rest = head->q.rows - first;
    size_t rows = rest < STRIP ? rest : STRIP;
    size_t keys = visible_keys(head, first + rows - 1);
    bool sound = true;
    compute_scores(head, first, rows, head->scores ? head->keys : keys);
    for (size_t row = 0; row < rows; row++) {
        float *scores = head->memory->scores + row * head->memory->stride;
        sound &= weigh_row(head, scores, first + row, round_up(keys, STEP));
    }
    if (head->layer->wants_context)
        compute_context(head, first, rows, keys);
    return sound;
}

bool attention_dense_head(const struct head_job *head)
{
    bool sound = true;
    if (!head->cache)
        transpose_keys(head->memory->panels, head->k);
    for (size_t first = 0; first < head->q.rows; first += STRIP)
        sound &= compute_strip(head, first);
    spill_end();
    return sound;
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

void attention_dense_prepare(struct layer_job *layer)
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
