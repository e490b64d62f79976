#include "model/attention_strip.h"

#include <string.h>

#include "base/num.h"
#include "math/rng.h"
#include "math/rows.h"
#include "math/tensor.h"

size_t strip_round_up(size_t size, size_t step)
{
    return (size + step - 1) / step * step;
}

size_t strip_row_size(size_t rows)
{
    return rows == 1 ? 0 : strip_round_up(rows, STEP) / STEP;
}

size_t strip_rows_of_size(size_t size)
{
    return size == 0 ? 1 : size * STEP;
}

bool strip_measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    size->context_stride = c->d_v;
    if (problem->keys > CHAIN)
        size->part_rows = size->rows;
    if (problem->bf16)
        return attention_bf16_measure(size, problem);
    return num_multiply(&size->panels, strip_round_up(problem->fresh_keys, KEY_PANEL), c->d_k);
}

/* What all heads do with a kernel: about a call for every strip. */
static double work_of(const struct attention_layer *layer, const struct kernel_shape *shape)
{
    const struct pass *pass = layer->pass;
    size_t strips = pass->batch->tokens / (size_t)shape->n + 1;
    double calls = (double)(pass->config->n_head * strips);
    return calls * (double)shape->m * (double)shape->n * (double)shape->k;
}

void strip_fetch_scores(struct attention_layer *layer, size_t row_size, size_t keys)
{
    const struct pass *pass = layer->pass;
    struct kernel_shape shape = {
        .m = (int)keys,
        .n = (int)strip_rows_of_size(row_size),
        .k = (int)pass->config->d_k,
        .a_stride = KEY_PANEL,
        .b_stride = (int)pass->scratch.q.stride,
        .c_stride = (int)pass->scratch.attention[0].stride,
    };
    if (layer->bf16)
        attention_bf16_score_shape(&shape, pass);
    kernels_get(pass->machine->kernels, &layer->score_kernels[row_size][keys / STEP - 1], &shape,
                work_of(layer, &shape));
}

void strip_fetch_context(struct attention_layer *layer, size_t row_size, size_t keys, bool add)
{
    const struct pass *pass = layer->pass;
    struct kernel_shape shape = {
        .m = (int)pass->config->d_v,
        .n = (int)strip_rows_of_size(row_size),
        .k = (int)keys,
        .a_stride = (int)pass->scratch.v.stride,
        .b_stride = (int)pass->scratch.attention[0].stride,
        .c_stride = (int)pass->scratch.attention[0].context_stride,
        .accumulate = add,
    };
    if (layer->bf16)
        attention_bf16_context_shape(&shape, pass);
    kernels_get(pass->machine->kernels, &layer->context_kernels[row_size][keys / STEP - 1][add],
                &shape, work_of(layer, &shape));
}

void strip_fetch_all(struct attention_layer *layer, size_t row_size)
{
    size_t widest = layer->pass->scratch.attention[0].stride;
    for (size_t keys = STEP; keys <= KEY_PANEL && keys <= widest; keys += STEP) {
        strip_fetch_scores(layer, row_size, keys);
        strip_fetch_context(layer, row_size, keys, false);
        strip_fetch_context(layer, row_size, keys, true);
    }
}

struct key_range strip_visible(const struct attention_head *head, size_t query)
{
    return score_visible(&head->layer->rule, head->past + query, head->keys);
}

void strip_transpose_panel(const struct attention_head *head, size_t key, float *panel)
{
    struct matrix keys = head->k;
    size_t count = num_min(keys.rows - key, KEY_PANEL);
    if (count < KEY_PANEL)
        memset(panel, 0, KEY_PANEL * keys.columns * sizeof *panel);
    transpose((struct matrix){panel, keys.columns, count, KEY_PANEL},
              matrix_rows(keys, key, count));
}

void strip_pack_keys(const struct attention_head *head)
{
    if (head->layer->bf16)
        attention_bf16_begin(head);
    for (size_t key = 0; !head->layer->bf16 && !head->cache && key < head->k.rows; key += KEY_PANEL)
        strip_transpose_panel(head, key, head->memory->panels + key * head->k.columns);
}

static void give_rows(const struct attention_head *head, const struct strip *strip)
{
    const struct pass *pass = head->layer->pass;
    float *const maps[ATTENTION_MAPS] = {head->scores, head->softmax, head->masked, head->weights};
    for (size_t i = 0; i < ATTENTION_MAPS * strip->rows; i++) {
        size_t map = i / strip->rows, query = strip->first + i % strip->rows;
        const struct attention_map_row row = {
            .site = SITE_OF(pass->part, SITE_SCORES + map),
            .layer = (int)head->layer->layer,
            .text = head->text,
            .head = head->head,
            .query = query,
            .keys = head->keys,
            .values = strip_map_row(head, maps[map], query),
        };
        if (row.values)
            head->lent.take(pass->tap->context, &row);
    }
}

enum head_fault strip_for_each(const struct attention_head *head, size_t first, size_t most,
                               strip_work *work)
{
    enum head_fault fault = HEAD_SOUND;
    for (; first < head->q.rows && fault == HEAD_SOUND; first += most) {
        struct strip strip = {first, num_min(head->q.rows - first, most)};
        fault = work(head, &strip);
        if (fault == HEAD_SOUND && head->lent.take)
            give_rows(head, &strip);
    }
    return fault;
}

const float *strip_panel(const struct attention_head *head, size_t key)
{
    if (head->cache)
        return cache_keys(head->cache, head->layer->layer, head->group, key);
    return head->memory->panels + key / KEY_PANEL * KEY_PANEL * head->k.columns;
}

const float *strip_values(const struct attention_head *head, size_t key)
{
    if (head->cache)
        return cache_values(head->cache, head->layer->layer, head->group, key);
    return head->v.data + key * head->v.stride;
}

/* The part of a range from `key` on that lies in one panel. */
static size_t part_of_panel(struct key_range keys, size_t key)
{
    size_t in_panel = KEY_PANEL - key % KEY_PANEL;
    return keys.end - key < in_panel ? keys.end - key : in_panel;
}

void strip_scores(const struct attention_head *head, const struct strip *strip,
                  struct key_range keys, float *to)
{
    const struct kernel *kernels = head->layer->score_kernels[strip_row_size(strip->rows)];
    const float *q = head->q.data + strip->first * head->q.stride;
    for (size_t key = keys.first, count = 0; key < keys.end; key += count, to += count) {
        count = part_of_panel(keys, key);
        const struct kernel *kernel = &kernels[count / STEP - 1];
        if (head->layer->bf16)
            attention_bf16_scores(head, strip, kernel, key, to);
        else
            kernel_call(kernel, strip_panel(head, key) + key % KEY_PANEL, q, to, q);
    }
}

/* --- sums over values ------------------------------------------------------------------------- */

enum { NO_CHAIN = -1 };

/* A context as it grows. */
struct sum {
    const float *weights; /* of what comes next */
    float *to;            /* of the chain that is worked on: memory->context, or memory->part */
    ptrdiff_t chain;      /* its number, or NO_CHAIN */
};

static void end_chain(const struct attention_head *head, const struct strip *strip, struct sum *sum)
{
    const struct attention_memory *memory = head->memory;
    size_t stride = memory->context_stride;
    struct matrix context = {memory->context, strip->rows, head->v.columns, stride};
    struct matrix part = {memory->part, strip->rows, head->v.columns, stride};
    if (sum->chain != NO_CHAIN && sum->to == memory->part)
        add_rows(context, part);
    sum->to = memory->part;
}

/* Some keys of one panel. */
static void add_part(const struct attention_head *head, const struct strip *strip, struct sum *sum,
                     struct key_range keys)
{
    const struct kernel(*kernels)[2] = head->layer->context_kernels[strip_row_size(strip->rows)];
    size_t count = keys.end - keys.first;
    ptrdiff_t chain = (ptrdiff_t)(keys.first / CHAIN);
    bool goes_on = chain == sum->chain;
    if (!goes_on && sum->chain != NO_CHAIN)
        end_chain(head, strip, sum);
    sum->chain = chain;
    const struct kernel *kernel = &kernels[count / STEP - 1][goes_on];
    if (head->layer->bf16) {
        attention_bf16_context(head, strip, kernel, keys, sum->weights, sum->to);
    } else {
        const float *v = strip_values(head, keys.first);
        kernel_call(kernel, v, sum->weights, sum->to, v);
    }
    sum->weights += count;
}

static void add_range(const struct attention_head *head, const struct strip *strip, struct sum *sum,
                      struct key_range keys)
{
    for (size_t key = keys.first, count = 0; key < keys.end; key += count) {
        count = part_of_panel(keys, key);
        add_part(head, strip, sum, (struct key_range){key, key + count});
    }
}

void strip_context(const struct attention_head *head, const struct strip *strip,
                   struct key_range keys, const float *weights)
{
    struct sum sum = {weights, head->memory->context, NO_CHAIN};
    add_range(head, strip, &sum, keys);
    end_chain(head, strip, &sum);
}

void strip_add_context(const struct attention_head *head, const struct strip *strip,
                       struct key_range keys, const float *weights)
{
    const struct attention_memory *memory = head->memory;
    struct sum sum = {weights, memory->context, 0}; /* of the first chain, which goes on */
    if (keys.first >= CHAIN)
        sum = (struct sum){weights, memory->part, NO_CHAIN};
    add_range(head, strip, &sum, keys);
    end_chain(head, strip, &sum);
}

void strip_write_context(const struct attention_head *head, const struct strip *strip)
{
    const struct attention_memory *memory = head->memory;
    size_t stride = head->context.stride;
    float *to = head->context.data + strip->first * stride;
    struct matrix context = {memory->context, strip->rows, head->v.columns, memory->context_stride};
    copy_rows((struct matrix){to, strip->rows, context.columns, stride}, context);
}

float *strip_map_row(const struct attention_head *head, float *map, size_t query)
{
    size_t row = head->lent.take ? query % STRIP : head->lent.rows ? head->lent.rows[query] : query;
    return map && row != ATTENTION_NO_ROW ? map + row * head->keys : NULL;
}

void strip_put_row(const struct attention_head *head, float *map, size_t query, const float *from,
                   size_t count, float others)
{
    strip_put_range(head, map, query, from, (struct key_range){0, count}, others);
}

void strip_put_range(const struct attention_head *head, float *map, size_t query, const float *from,
                     struct key_range keys, float others)
{
    float *row = strip_map_row(head, map, query);
    if (!row)
        return;
    nontemporal_fill(row, keys.first, others);
    nontemporal_copy(row + keys.first, from + keys.first, keys.end - keys.first);
    nontemporal_fill(row + keys.end, head->keys - keys.end, others);
}

void strip_drop(const struct attention_head *head, float *weights, size_t query,
                struct key_range keys)
{
    float rate = head->layer->pass->config->mechanism.dropout;
    uint64_t key = splitmix64(head->dropout_key + head->past + query);
    if (rate > 0)
        rng_dropout_part(weights, keys.end - keys.first, keys.first, key, rate);
}
