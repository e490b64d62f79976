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
#include "math/rows.h"
#include "model/attention_strip.h"

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    bool rows = problem->maps || (c->window && problem->keys > c->window);
    size_t keys = rows ? strip_round_up(problem->keys, KEY_PANEL) : 0;
    size->rows = 1;
    size->stride = keys;
    size->context_stride = c->d_v;
    size->row = c->d_k;
    size->sums = running_sum_size(c->d_k, c->d_v);
    return num_multiply(&size->panels, keys, c->d_k);
}

/* --- the running sum -------------------------------------------------------------------------- */

/* φ of one row, in memory->row. */
static const float *phi(const struct attention_head *head, const float *x)
{
    size_t width = head->q.columns;
    phi_rows((struct matrix){head->memory->row, 1, width, width},
             (struct matrix){(float *)x, 1, width, width}); /* it is only read */
    return head->memory->row;
}

static const float *row_of(struct matrix matrix, size_t row)
{
    return matrix.data + row * matrix.stride;
}

/* The sums over what comes before the first query; keys of a cache that are not in its sums yet are
 * added. */
static struct running_sum begin_sum(const struct attention_head *head, struct cache_sum *kept)
{
    struct running_sum sum = {head->memory->sums, head->k.columns, head->v.columns};
    if (kept)
        sum.values = kept->values;
    if (!kept || kept->count == 0)
        memset(sum.values, 0, running_sum_size(sum.dk, sum.dv) * sizeof *sum.values);
    for (; kept && kept->count < head->keys - head->k.rows; kept->count++) {
        const float *key = strip_panel(head, kept->count) + kept->count % KEY_PANEL;
        for (size_t i = 0; i < sum.dk; i++)
            head->memory->row[i] = key[i * KEY_PANEL];
        running_sum_add(&sum, phi(head, head->memory->row), strip_values(head, kept->count));
    }
    return sum;
}

/* Every query after its own key; without a mask after all keys. */
static enum head_fault compute_context(const struct attention_head *head)
{
    struct cache_sum *kept =
        head->cache ? cache_sum(head->cache, head->layer->layer, head->head) : NULL;
    struct running_sum sum = begin_sum(head, kept);
    size_t added = 0;
    for (size_t t = 0; t < head->q.rows; t++) {
        size_t end = strip_visible(head, t).end - (head->keys - head->k.rows);
        for (; added < end; added++)
            running_sum_add(&sum, phi(head, row_of(head->k, added)), row_of(head->v, added));
        float *context = head->context.data + t * head->context.stride;
        float total = running_sum_query(&sum, context, phi(head, row_of(head->q, t)));
        if (!isfinite(total))
            return HEAD_NO_NUMBER;
        if (total <= 0.0f)
            return HEAD_NO_WEIGHT;
        divide_row(context, head->context.columns, total);
    }
    if (kept)
        kept->count += head->k.rows;
    return HEAD_SOUND;
}

/* --- row by row: attention maps that are watched, and windows ------------------------------- */

/* φ of all keys, as panels. */
static void pack_phi(const struct attention_head *head)
{
    size_t width = head->k.columns;
    strip_pack_keys(head);
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
    struct key_range seen = strip_visible(head, query);
    memset(context, 0, head->v.columns * sizeof *context);
    for (size_t key = seen.first; key < seen.end; key++) {
        const float *v = strip_values(head, key);
        add_scaled_row(context, v, head->v.columns, weights[key], v);
    }
}

static enum head_fault compute_row(const struct attention_head *head, const struct strip *strip)
{
    size_t query = strip->first;
    const struct attention_memory *memory = head->memory;
    struct key_range seen = strip_visible(head, query);
    size_t width = head->k.columns;
    const float *phi_q = phi(head, row_of(head->q, query));
    float *row = memory->scores;
    for (size_t key = 0; key < head->keys; key += KEY_PANEL)
        row_times_matrix(
            row + key, phi_q,
            (struct matrix){memory->panels + key * width, width, KEY_PANEL, KEY_PANEL});
    if (head->scores && first_nonfinite(row, head->keys) < head->keys)
        return HEAD_NO_NUMBER;
    strip_put_row(head, head->scores, query, row, head->keys, 0.0f);
    memset(row, 0, seen.first * sizeof *row);
    strip_put_row(head, head->masked, query, row, seen.end, 0.0f);
    if (first_nonfinite(row, seen.end) < seen.end)
        return HEAD_NO_NUMBER;
    if (!normalise_row(row, seen.end))
        return HEAD_NO_WEIGHT;
    strip_put_row(head, head->weights, query, row, seen.end, 0.0f);
    if (seen.first > 0 && head->layer->wants_context)
        sum_values(head, query, row);
    return HEAD_SOUND;
}

/* The head up to the first query whose window leaves a key out. */
static struct attention_head before_window(const struct attention_head *head)
{
    struct attention_head part = *head;
    size_t count = 0;
    while (count < head->q.rows && strip_visible(head, count).first == 0)
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
    if (first < head->q.rows)
        pack_phi(head);
    enum head_fault fault = strip_for_each(head, first, 1, compute_row);
    if (fault == HEAD_SOUND && head->layer->wants_context && summed.q.rows)
        fault = compute_context(&summed);
    return fault;
}

const struct attention_method attention_linear = {measure, NULL, compute};
