/* attention_sparse.c: attention with fewer products than dense attention, one query at a time: to
 * the keys of a pattern, to means of keys, or by sums over keys.
 *
 * Sparse: a query attends only to the keys of a pattern. Time and memory grow with the visible
 * keys. Sums have the order of dense attention: a pattern of all keys gives the same bits.
 *
 * Low-rank: the text is split into R segments of nearly equal size. A query attends to the mean key
 * and the mean value of each segment: time grows with T · R. The weight of a segment is multiplied
 * by its number of tokens, and its tokens share it equally. Thus the weights are as in dense
 * attention where each key is the mean of its segment; with one token in each segment, they are the
 * weights of dense attention.
 *
 * Linear: φ(q) · (Σ φ(k) vᵀ) / (φ(q) · Σ φ(k)), with φ(x) = elu(x) + 1; q and k are not scaled. The
 * sums run along the text and are stored in a cache: one more token costs the same for texts of any
 * length. Watched maps are computed row by row: scores are φ(q) · φ(k), masked scores have 0 for
 * masked keys, and weights are a row of masked scores divided by its sum. Queries with an earlier
 * key outside their window are computed from such rows as well: keys are never subtracted from the
 * sums. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/rows.h"
#include "pass/attention_strip.h"

/* --- sparse ----------------------------------------------------------------------------------- */

enum {
    FEW = 64,   /* number of keys whose scores are computed at a time */
    CHAINS = 8, /* number of sums that are computed at a time: a multiply-add takes four cycles, and
                 * a processor starts two in each cycle */
};

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct pattern *pattern = problem->attention->score.pattern;
    size->rows = size->part_rows = 1;
    size->strides.context = problem->attention->head.d_v;
    size->row = score_most(&problem->attention->score, problem->keys);
    size->visible = size->row;
    if (pattern->random)
        size->drawn = num_min(pattern->random + 1, problem->keys);
    return true;
}

/* y[i] = x · rows[i], where the elements of rows[i] are `step` floats apart. Each product is one
 * chain of multiply-adds, as in a kernel. */
FOR_EACH_ISA
static void multiply_chains(float *restrict y, const float *restrict x,
                            const float *const rows[CHAINS], size_t width, size_t step)
{
    float sums[CHAINS] = {0};
    for (size_t i = 0; i < width; i++)
        for (size_t c = 0; c < CHAINS; c++)
            sums[c] = fmaf(x[i], rows[c][i * step], sums[c]);
    memcpy(y, sums, sizeof sums);
}

/* Compute q · k of some keys, in ascending order. Cached keys are in panels. */
static void multiply_keys(const struct attention_head *head, size_t query, const uint32_t *keys,
                          size_t count, float *to)
{
    const float *q = matrix_row(head->q, query);
    for (size_t first = 0, some = 0; first < count; first += some) {
        const float *rows[CHAINS];
        float sums[CHAINS];
        bool cached = keys[first] < head->past;
        for (some = 0; some < CHAINS && first + some < count; some++) {
            size_t key = keys[first + some];
            if ((key < head->past) != cached)
                break;
            const float *panel = cached ? strip_panel(head, key) : NULL;
            rows[some] = cached ? panel + key % KEY_PANEL : matrix_row(head->k, key - head->past);
        }
        for (size_t unused = some; unused < CHAINS; unused++)
            rows[unused] = rows[0];
        multiply_chains(sums, q, rows, head->q.columns, cached ? KEY_PANEL : 1);
        memcpy(to + first, sums, some * sizeof *to);
    }
}

/* If raw scores are watched, compute them for all keys. Returns false if a score is not finite. */
static bool put_scores(const struct attention_head *head, size_t query)
{
    float *row = strip_map_row(head, head->scores, query);
    for (size_t key = 0; row && key < head->keys; key += FEW) {
        uint32_t keys[FEW];
        for (size_t i = 0; i < FEW; i++)
            keys[i] = (uint32_t)(key + i);
        multiply_keys(head, query, keys, num_min(FEW, head->keys - key), row + key);
    }
    return !row || first_nonfinite(row, head->keys) == head->keys;
}

/* Write a row of a map, if the map is watched. The visible keys get the numbers in memory->row, all
 * other keys get `others`. */
static void put_row(const struct attention_head *head, float *map, size_t query, size_t count,
                    float others)
{
    float *row = strip_map_row(head, map, query);
    for (size_t key = 0; row && key < head->keys; key++)
        row[key] = others;
    for (size_t i = 0; row && i < count; i++)
        row[head->memory->visible[i]] = head->memory->row[i];
}

/* memory->context = the sum of the values times their weights, with one chain of multiply-adds for
 * every CHAIN keys of the text. */
static void sum_values(const struct attention_head *head, size_t count)
{
    const struct attention_memory *memory = head->memory;
    size_t width = head->v.columns;
    memset(memory->context, 0, width * sizeof(float));
    for (size_t first = 0, end = 0; first < count; first = end) {
        float *to = first ? memory->part : memory->context;
        memset(to, 0, width * sizeof(float));
        for (; end < count && memory->visible[end] / CHAIN == memory->visible[first] / CHAIN;
             end++) {
            const float *v = strip_values(head, memory->visible[end]);
            add_scaled_row(to, v, width, memory->row[end], v);
        }
        if (first)
            add_rows((struct matrix){memory->context, 1, width, width},
                     (struct matrix){memory->part, 1, width, width});
    }
}

static enum head_fault compute_query(const struct attention_head *head, const struct strip *strip)
{
    size_t query = strip->first;
    const struct attention_memory *memory = head->memory;
    const struct score_rule *rule = &head->layer->rule;
    size_t count = score_keys(rule, head->past + query, head->keys, memory->visible, memory->drawn);
    if (!put_scores(head, query))
        return HEAD_NO_NUMBER;
    if (count == 0)
        return HEAD_NO_KEY;
    multiply_keys(head, query, memory->visible, count, memory->row);
    if (!score_bends(rule))
        scale_row(memory->row, memory->row, count, rule->scale);
    for (size_t i = 0; score_bends(rule) && i < count; i++)
        score_apply(rule, &head->bias, head->past + query, memory->row + i,
                    (struct key_range){memory->visible[i], memory->visible[i] + 1}, head->keys);
    put_row(head, head->masked, query, count, -INFINITY);
    if (!softmax_row(memory->row, count))
        return HEAD_NO_NUMBER;
    for (size_t i = 0; head->layer->pass->config->mechanism.dropout > 0 && i < count; i++)
        strip_drop(head, memory->row + i, query,
                   (struct key_range){memory->visible[i], memory->visible[i] + 1});
    put_row(head, head->weights, query, count, 0.0f);
    if (!head->layer->wants_context)
        return HEAD_SOUND;
    sum_values(head, count);
    strip_write_context(head, strip);
    return HEAD_SOUND;
}

static enum head_fault compute(const struct attention_head *head)
{
    return strip_for_each(head, 0, 1, compute_query);
}

const struct attention_method attention_sparse = {measure, NULL, compute};

/* --- low-rank --------------------------------------------------------------------------------- */

static size_t count_segments(const struct config *config, size_t keys)
{
    return num_min(config->mechanism.segments, keys);
}

static bool measure_segments(struct attention_size *size, const struct attention_problem *problem)
{
    const struct head_rule *head = &problem->attention->head;
    size->rows = 1;
    size->strides.context = head->d_v;
    size->row = count_segments(problem->config, problem->keys);
    return num_multiply(&size->sums, size->row, head->d_k + head->d_v);
}

static struct key_range segment(const struct attention_head *head, size_t index, size_t count)
{
    return (struct key_range){index * head->keys / count, (index + 1) * head->keys / count};
}

/* Compute the mean key and the mean value of each segment. memory->sums becomes the mean keys [dk,
 * R], then the mean values [R, dv]. */
static void find_means(const struct attention_head *head, size_t count)
{
    size_t dk = head->k.columns;
    size_t dv = head->v.columns;
    float *keys = head->memory->sums;
    float *values = keys + dk * count;
    memset(keys, 0, count * (dk + dv) * sizeof *keys);
    for (size_t r = 0; r < count; r++) {
        struct key_range own = segment(head, r, count);
        float share = 1.0f / (float)(own.end - own.first);
        for (size_t key = own.first; key < own.end; key++) {
            const float *k = matrix_row(head->k, key);
            const float *v = matrix_row(head->v, key);
            for (size_t i = 0; i < dk; i++)
                keys[i * count + r] += k[i] * share;
            add_scaled_row(values + r * dv, v, dv, share, v);
        }
    }
}

/* Write a row of a map, if the map is watched: each key gets the value of its segment in
 * memory->row or, if `shared`, an equal share of this value. */
static void put_segments(const struct attention_head *head, float *map, size_t query, size_t count,
                         bool shared)
{
    float *row = strip_map_row(head, map, query);
    for (size_t r = 0; row && r < count; r++) {
        struct key_range own = segment(head, r, count);
        float keys = shared ? (float)(own.end - own.first) : 1;
        for (size_t key = own.first; key < own.end; key++)
            row[key] = head->memory->row[r] / keys;
    }
}

static enum head_fault compute_by_segment(const struct attention_head *head,
                                          const struct strip *strip)
{
    size_t query = strip->first;
    size_t count = count_segments(head->layer->pass->config, head->keys);
    const struct attention_memory *memory = head->memory;
    size_t dk = head->k.columns;
    size_t dv = head->v.columns;
    const float *q = matrix_row(head->q, query);
    float *row = memory->row;
    memset(row, 0, count * sizeof *row);
    for (size_t i = 0; i < dk; i++)
        add_scaled_row(row, memory->sums + i * count, count, q[i], memory->sums);
    put_segments(head, head->scores, query, count, false);
    scale_row(row, row, count, head->layer->rule.scale);
    put_segments(head, head->masked, query, count, false);
    if (!softmax_row(row, count))
        return HEAD_NO_NUMBER;
    for (size_t r = 0; r < count; r++) {
        struct key_range own = segment(head, r, count);
        row[r] *= (float)(own.end - own.first);
    }
    normalise_row(row, count);
    put_segments(head, head->weights, query, count, true);
    memset(memory->context, 0, dv * sizeof(float));
    for (size_t r = 0; r < count; r++) {
        const float *v = memory->sums + dk * count + r * dv;
        add_scaled_row(memory->context, v, dv, row[r], v);
    }
    strip_write_context(head, strip);
    return HEAD_SOUND;
}

static enum head_fault compute_lowrank(const struct attention_head *head)
{
    find_means(head, count_segments(head->layer->pass->config, head->keys));
    return strip_for_each(head, 0, 1, compute_by_segment);
}

const struct attention_method attention_lowrank = {measure_segments, NULL, compute_lowrank};

/* --- linear ----------------------------------------------------------------------------------- */

static bool measure_linear(struct attention_size *size, const struct attention_problem *problem)
{
    const struct head_rule *head = &problem->attention->head;
    size_t window = problem->config->window;
    bool rows = problem->maps || (window && problem->keys > window);
    size_t keys = rows ? strip_round_up(problem->keys, KEY_PANEL) : 0;
    size->rows = 1;
    size->strides.scores = keys;
    size->strides.context = head->d_v;
    size->row = head->d_k;
    size->sums = running_sum_size(head->d_k, head->d_v);
    return num_multiply(&size->panels, keys, head->d_k);
}

/* Return φ(x) of a row x, in memory->row. */
static const float *phi(const struct attention_head *head, const float *x)
{
    size_t width = head->q.columns;
    phi_rows((struct matrix){head->memory->row, 1, width, width},
             (struct matrix){(float *)x, 1, width, width}); /* the cast drops const, but x is only
                                                             * read */
    return head->memory->row;
}

/* Return the sums over the keys before the first query. They are the cache's sums if there is a
 * cache; cached keys that these sums lack are added first. */
static struct running_sum begin_sum(const struct attention_head *head, struct cache_sum *kept)
{
    struct running_sum sum = {head->memory->sums, head->k.columns, head->v.columns};
    if (kept)
        sum.values = kept->values;
    if (!kept || kept->count == 0)
        memset(sum.values, 0, running_sum_size(sum.dk, sum.dv) * sizeof *sum.values);
    for (; kept && kept->count < head->keys - head->k.rows; kept->count++) {
        const float *panel = strip_panel(head, kept->count);
        for (size_t i = 0; i < sum.dk; i++)
            head->memory->row[i] = panel[i * KEY_PANEL + kept->count % KEY_PANEL];
        running_sum_add(&sum, phi(head, head->memory->row), strip_values(head, kept->count));
    }
    return sum;
}

/* Compute the context of each query from the running sums, to which all keys up to the last one
 * that is visible to the query are added first. */
static enum head_fault compute_sums(const struct attention_head *head)
{
    struct cache_sum *kept =
        head->cache ? cache_sum(head->cache, head->layer->layer, head->head) : NULL;
    struct running_sum sum = begin_sum(head, kept);
    size_t added = 0;
    for (size_t t = 0; t < head->q.rows; t++) {
        size_t end = strip_visible(head, t).end - (head->keys - head->k.rows);
        for (; added < end; added++)
            running_sum_add(&sum, phi(head, matrix_row(head->k, added)),
                            matrix_row(head->v, added));
        float *context = matrix_row(head->context, t);
        float total = running_sum_query(&sum, context, phi(head, matrix_row(head->q, t)));
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

static enum head_fault compute_linear_row(const struct attention_head *head,
                                          const struct strip *strip)
{
    size_t query = strip->first;
    const struct attention_memory *memory = head->memory;
    struct key_range visible = strip_visible(head, query);
    size_t width = head->k.columns;
    const float *phi_q = phi(head, matrix_row(head->q, query));
    float *row = memory->scores;
    for (size_t key = 0; key < head->keys; key += KEY_PANEL)
        row_times_matrix(
            row + key, phi_q,
            (struct matrix){memory->panels + key * width, width, KEY_PANEL, KEY_PANEL});
    if (head->scores && first_nonfinite(row, head->keys) < head->keys)
        return HEAD_NO_NUMBER;
    strip_put_row(head, head->scores, query, row, head->keys);
    memset(row, 0, visible.first * sizeof *row);
    strip_put_row(head, head->masked, query, row, visible.end);
    if (first_nonfinite(row, visible.end) < visible.end)
        return HEAD_NO_NUMBER;
    if (!normalise_row(row, visible.end))
        return HEAD_NO_WEIGHT;
    strip_put_row(head, head->weights, query, row, visible.end);
    if (visible.first == 0 || !head->layer->wants_context)
        return HEAD_SOUND;
    float *context = matrix_row(head->context, query);
    memset(context, 0, head->v.columns * sizeof *context);
    for (size_t key = visible.first; key < visible.end; key++) {
        const float *v = strip_values(head, key);
        add_scaled_row(context, v, head->v.columns, row[key], v);
    }
    return HEAD_SOUND;
}

static enum head_fault compute_linear(const struct attention_head *head)
{
    /* summed: the head with only the queries before the first query whose window excludes an
     * earlier key */
    struct attention_head summed = *head;
    size_t count = 0;
    while (count < head->q.rows && strip_visible(head, count).first == 0)
        count++;
    if (count < head->q.rows) {
        summed.keys = count ? strip_visible(head, count - 1).end : head->past;
        summed.q.rows = summed.context.rows = count;
        summed.k.rows = summed.v.rows = summed.keys - head->past;
    }

    bool maps = head->scores || head->masked || head->weights;
    size_t first = maps ? 0 : summed.q.rows; /* the first query that is computed row by row */
    size_t width = head->k.columns;
    if (first < head->q.rows)
        strip_pack_keys(head);
    for (size_t key = 0; first < head->q.rows && key < head->keys; key += KEY_PANEL) {
        struct matrix to = {head->memory->panels + key * width, width, KEY_PANEL, KEY_PANEL};
        struct matrix from = to;
        from.data = strip_panel(head, key); /* the panel is only read */
        phi_rows(to, from);
    }
    enum head_fault fault = strip_for_each(head, first, 1, compute_linear_row);
    if (fault == HEAD_SOUND && head->layer->wants_context && summed.q.rows)
        fault = compute_sums(&summed);
    return fault;
}

const struct attention_method attention_linear = {measure_linear, NULL, compute_linear};
