/* attention_linear.c: φ(q) · (Σ φ(k) vᵀ) / φ(q) · Σ φ(k), with φ(x) = elu(x) + 1 of q and k
 * unscaled.
 *
 * The sums over the keys run along the text: a token more costs the same, however long the text is,
 * and no weights are ever made. Where they are watched they are computed beside that: scores
 * φ(q) · φ(k), masked the same with the future at 0, weights rows of that divided by their sum.
 * Behind a cache the sums so far are kept in it.
 *
 * Nothing is ever taken from a sum again: queries before which a window has let go of keys are
 * computed by their weights.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/gather.h"
#include "math/rows.h"
#include "math/running_sum.h"
#include "model/attention_strip.h"

enum { CHUNK = 64 }; /* tokens whose φ is computed at once */

/* What a thread works in, beside the sums: φ of a chunk's queries and keys, and what their contexts
 * are divided by. */
struct room {
    struct matrix q, k;
    float *totals;
};

static struct room room_of(const struct attention_head *head)
{
    size_t width = head->q.columns;
    float *row = head->memory->row;
    return (struct room){
        .q = {row, CHUNK, width, width},
        .k = {row + CHUNK * width, CHUNK, width, width},
        .totals = row + 2 * CHUNK * width,
    };
}

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    bool rows = problem->maps || (c->window && problem->keys > c->window);
    size_t keys = rows ? strip_round_up(problem->keys, KEY_PANEL) : 0;
    size->rows = 1;
    size->stride = keys;
    size->context_stride = c->d_v;
    size->row = 2 * CHUNK * c->d_k + CHUNK;
    size->sums = running_sum_size(c->d_k, c->d_v);
    return num_multiply(&size->panels, keys, c->d_k);
}

static int prepare(struct attention_layer *layer)
{
    (void)layer;
    return 0;
}

/* --- the running sum -------------------------------------------------------------------------- */

/* Rows of a chunk that begins with one. */
static struct matrix chunk_of(struct matrix whole, size_t first)
{
    return matrix_rows(whole, first, num_min(whole.rows - first, CHUNK));
}

static struct matrix phi_of(struct matrix room, struct matrix x)
{
    room.rows = x.rows;
    phi_rows(room, x);
    return room;
}

/* Keys of a cache that are not in its sums yet. */
static void catch_up(const struct attention_head *head, const struct running_sum *sum,
                     struct cache_sum *kept)
{
    struct room room = room_of(head);
    struct matrix k = matrix_rows(room.q, 0, 1); /* not in use meanwhile */
    size_t past = head->keys - head->k.rows;
    for (; kept->count < past; kept->count++) {
        const float *from = strip_panel(head, kept->count) + kept->count % KEY_PANEL;
        struct matrix v = matrix_rows(head->v, 0, 1);
        v.data = (float *)strip_values(head, kept->count); /* it is only read */
        for (size_t i = 0; i < k.columns; i++)
            k.data[i] = from[i * KEY_PANEL];
        running_sum_add(sum, phi_of(room.k, k), v);
    }
}

/* The sums over what comes before the first query. */
static struct running_sum begin_sum(const struct attention_head *head, struct cache_sum *kept)
{
    struct running_sum sum = {head->memory->sums, head->k.columns, head->v.columns};
    if (kept)
        sum.values = kept->values;
    if (!kept || kept->count == 0)
        memset(sum.values, 0, running_sum_size(sum.dk, sum.dv) * sizeof *sum.values);
    if (kept)
        catch_up(head, &sum, kept);
    return sum;
}

static enum head_fault divide_rows(struct matrix context, const float *totals)
{
    for (size_t row = 0; row < context.rows; row++) {
        if (!isfinite(totals[row]))
            return HEAD_NO_NUMBER;
        if (totals[row] <= 0.0f)
            return HEAD_NO_WEIGHT;
        divide_row(context.data + row * context.stride, context.columns, totals[row]);
    }
    return HEAD_SOUND;
}

/* Every query after its own key. */
static enum head_fault follow(const struct attention_head *head, const struct running_sum *sum)
{
    struct room room = room_of(head);
    enum head_fault fault = HEAD_SOUND;
    for (size_t t = 0; t < head->q.rows && fault == HEAD_SOUND; t += CHUNK) {
        struct matrix context = chunk_of(head->context, t);
        running_sum_scan(sum, context, room.totals, phi_of(room.q, chunk_of(head->q, t)),
                         phi_of(room.k, chunk_of(head->k, t)), chunk_of(head->v, t));
        fault = divide_rows(context, room.totals);
    }
    return fault;
}

/* Every query after all keys. */
static enum head_fault add_and_ask(const struct attention_head *head, const struct running_sum *sum)
{
    struct room room = room_of(head);
    enum head_fault fault = HEAD_SOUND;
    for (size_t t = 0; t < head->k.rows; t += CHUNK)
        running_sum_add(sum, phi_of(room.k, chunk_of(head->k, t)), chunk_of(head->v, t));
    for (size_t t = 0; t < head->q.rows && fault == HEAD_SOUND; t += CHUNK) {
        struct matrix context = chunk_of(head->context, t);
        running_sum_query(sum, context, room.totals, phi_of(room.q, chunk_of(head->q, t)));
        fault = divide_rows(context, room.totals);
    }
    return fault;
}

static enum head_fault compute_context(const struct attention_head *head)
{
    bool causal = head->layer->pass->batch->causal;
    struct cache_sum *kept =
        head->cache ? cache_sum(head->cache, head->layer->layer, head->head) : NULL;
    struct running_sum sum = begin_sum(head, kept);
    enum head_fault fault = (causal ? follow : add_and_ask)(head, &sum);
    if (kept)
        kept->count += head->k.rows;
    return fault;
}

/* --- row by row: attention maps that are watched, and windows ------------------------------- */

/* φ of all keys, as panels. */
static void pack_phi(const struct attention_head *head)
{
    size_t width = head->k.columns;
    strip_pack_keys(head, 0, head->keys);
    for (size_t key = 0; key < head->keys; key += KEY_PANEL) {
        struct matrix to = {head->memory->panels + key * width, width, KEY_PANEL, KEY_PANEL};
        struct matrix from = to;
        from.data = (float *)strip_panel(head, key); /* it is only read */
        phi_rows(to, from);
    }
}

static void sum_values(const struct attention_head *head, size_t query, const float *weights)
{
    float *context = head->context.data + query * head->context.stride;
    size_t visible = strip_visible(head, query);
    memset(context, 0, head->v.columns * sizeof *context);
    for (size_t key = attention_first(head, query); key < visible; key++) {
        const float *v = strip_values(head, key);
        gather_sum(context, &v, &weights[key], 1, head->v.columns);
    }
}

static enum head_fault compute_row(const struct attention_head *head, size_t query)
{
    const struct attention_memory *memory = head->memory;
    size_t visible = strip_visible(head, query);
    size_t first = attention_first(head, query);
    size_t width = head->k.columns;
    struct matrix phi = phi_of(room_of(head).q, matrix_rows(head->q, query, 1));
    float *row = memory->scores;
    for (size_t key = 0; key < head->keys; key += KEY_PANEL)
        row_times_matrix(
            row + key, phi.data,
            (struct matrix){memory->panels + key * width, width, KEY_PANEL, KEY_PANEL});
    if (head->scores && first_nonfinite(row, head->keys) < head->keys)
        return HEAD_NO_NUMBER;
    strip_put_row(head, head->scores, query, row, head->keys, 0.0f);
    memset(row, 0, first * sizeof *row);
    strip_put_row(head, head->masked, query, row, visible, 0.0f);
    if (first_nonfinite(row, visible) < visible)
        return HEAD_NO_NUMBER;
    if (!normalise_row(row, visible))
        return HEAD_NO_WEIGHT;
    strip_put_row(head, head->weights, query, row, visible, 0.0f);
    if (first > 0 && head->layer->wants_context)
        sum_values(head, query, row);
    return HEAD_SOUND;
}

/* The head up to the first query whose window leaves a key out. */
static struct attention_head before_window(const struct attention_head *head)
{
    struct attention_head part = *head;
    size_t count = 0;
    while (count < head->q.rows && attention_first(head, count) == 0)
        count++;
    if (count < head->q.rows) {
        part.q.rows = part.k.rows = part.v.rows = part.context.rows = count;
        part.keys = head->past + count;
    }
    return part;
}

static enum head_fault compute(const struct attention_head *head)
{
    struct attention_head summed = before_window(head);
    bool maps = head->scores || head->masked || head->weights;
    size_t first = maps ? 0 : summed.q.rows; /* that is computed row by row */
    enum head_fault fault = HEAD_SOUND;
    if (first < head->q.rows)
        pack_phi(head);
    for (size_t query = first; query < head->q.rows && fault == HEAD_SOUND; query++)
        fault = compute_row(head, query);
    if (fault == HEAD_SOUND && head->layer->wants_context && summed.q.rows)
        fault = compute_context(&summed);
    return fault;
}

const struct attention_method attention_linear = {measure, prepare, compute};
