/* Each function of the walk is the transpose of the step of the pass that it is named after. */
#include "model/back.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/layer.h"
#include "model/pass.h"

/* --- the tape --------------------------------------------------------------------------------- */

const float *tape_of(const struct tape *tape, enum site site, int layer)
{
    return tape->values[(size_t)(layer + 1) * SITE_COUNT + site];
}

static int keep(void *context, const struct announcement *announced, struct err *err)
{
    struct tape *tape = context;
    float *copy = arena_room(tape->arena, tensor_count(&announced->values), sizeof *copy, err);
    if (!copy)
        return -1;
    tensor_copy(copy, &announced->values);
    tape->values[(size_t)(announced->layer + 1) * SITE_COUNT + announced->site] = copy;
    return 0;
}

static int check_run(const struct run *run, struct err *err)
{
    const struct config *c = run->config;
    const struct mechanism *m = &c->mechanism;
    if (run->edits)
        return err_unsupported(err, "gradients: expected a run without edits");
    if (m->kind != ATTENTION_DENSE || m->renormalise || m->dropout > 0)
        return err_unsupported(err, "gradients: expected attention as the model has it");
    if (c->score_bias == BIAS_DISENTANGLED)
        return err_unsupported(err, "gradients: expected a model without disentangled attention");
    return 0;
}

int tape_run(struct tape *tape, const struct run *run, struct err *err)
{
    const struct config *c = run->config;
    struct watch watch;
    struct tap tap = {.watch = &watch, .sink = keep, .context = tape};
    size_t layers = num_max(c->n_layer, stack_of(c, PART_SOURCE)->layers);
    tape->values = arena_alloc(tape->arena, (layers + 1) * SITE_COUNT, sizeof *tape->values, err);
    if (!tape->values || check_run(run, err) || watch_init(&watch, c, tape->arena, err))
        return -1;
    for (enum site site = 0; site != SITE_PASS_END; site = site_next(site))
        for (size_t layer = 0; site_exists(c, site) && layer < site_layers(c, site); layer++)
            if (!site_row(site)->in_layer || site_is_in_layer(c, site, layer))
                watch_add(&watch, site, layer);
    return forward(run, &tap, tape->arena, err);
}

/* --- the walk --------------------------------------------------------------------------------- */

/* A walk back over a stack. Matrices that a function returns are in `arena`. */
struct walk {
    struct back *back;
    const struct run *run;
    const struct config *config;
    const struct stack *stack;
    size_t layer;
    struct matrix memory;  /* [S, C] what cross-attention reads; no data: nothing */
    struct matrix dmemory; /* its gradient, summed over the layers of the text */
    struct matrix read;    /* the stream that a sublayer, or its norm, reads */
    struct arena arena;    /* of a layer */
    struct err *err;
};

static struct matrix dense_matrix(const float *data, size_t rows, size_t columns)
{
    return (struct matrix){(float *)data, rows, columns, columns}; /* values are only read */
}

/* A matrix of zeros; without data if there is no memory. */
static struct matrix zeros(struct walk *w, size_t rows, size_t columns)
{
    return dense_matrix(arena_alloc(&w->arena, rows * columns, sizeof(float), w->err), rows,
                        columns);
}

static struct matrix copy_of(struct walk *w, struct matrix x)
{
    struct matrix copy = zeros(w, x.rows, x.columns);
    if (copy.data)
        copy_rows(copy, x);
    return copy;
}

static const float *value_of(const struct walk *w, enum site_part part, enum site id)
{
    bool in_layer = site_row(id)->in_layer;
    return tape_of(w->back->tape, SITE_OF(part, id), in_layer ? (int)w->layer : -1);
}

static size_t rows_of(const struct walk *w, enum site_part part)
{
    const struct text *text = w->run->batch->texts;
    return part == PART_SOURCE ? text->source_count : text->count;
}

/* Add the seeds of a site to its gradient, and announce it. Shape: [rows, columns], or with heads
 * [heads, rows, columns]. */
static int show(struct walk *w, enum site_part part, enum site id, float *gradient, size_t heads,
                size_t rows, size_t columns)
{
    const struct back *back = w->back;
    const enum site site = SITE_OF(part, id);
    const bool in_layer = site_row(id)->in_layer, has_heads = site_has_heads(site);
    const size_t shape[] = {heads, rows, columns};
    struct announcement announced = {
        .site = site,
        .layer = in_layer ? (int)w->layer : -1,
        .values = tensor_dense(gradient, has_heads ? 3 : 2, has_heads ? shape : shape + 1),
    };
    for (size_t i = 0; i < back->seed_count; i++)
        if (back->seeds[i].site == site && back->seeds[i].layer == announced.layer)
            add_to_row(gradient, back->seeds[i].values, heads * rows * columns);
    return back->sink(back->context, &announced, w->err);
}

static int show_rows(struct walk *w, enum site_part part, enum site id, struct matrix gradient)
{
    return show(w, part, id, gradient.data, 1, gradient.rows, gradient.columns);
}

/* The stream has several names after a sublayer. */
static int show_stream(struct walk *w, const struct sublayer *s, const enum site sites[3],
                       struct matrix dx)
{
    for (size_t i = 3; i-- > 0;)
        if (sites[i] &&
            show_rows(w, sites[i] == SITE_RESID_POST ? w->stack->part : s->part, sites[i], dx))
            return -1;
    return 0;
}

/* --- products and norms ----------------------------------------------------------------------- */

static struct slot slot_in(const struct walk *w, enum site_part part, int id)
{
    return slot_of((int)part, id, w->layer);
}

/* y = x · W + b */
static struct matrix product(struct walk *w, struct slot slot, struct matrix x)
{
    struct weight weight;
    if (weights_matrix(w->run->weights, slot, &weight, w->err))
        return (struct matrix){0};
    struct matrix y = zeros(w, x.rows, weight.out);
    if (y.data)
        linear(w->run->machine, y, x, &weight, ACTIVATION_NONE);
    return y;
}

/* dx += dy · Wᵀ for a few numbers of dy. */
static int columns_back(struct walk *w, struct matrix dx, struct matrix dy,
                        const struct weight *weight)
{
    float *column = arena_room(&w->arena, weight->in, sizeof *column, w->err);
    for (size_t row = 0; row < dy.rows && column; row++)
        for (size_t i = 0; i < dy.columns; i++) {
            const float factor = matrix_row(dy, row)[i];
            if (factor == 0)
                continue;
            weight_copy(column, 1, weight, (struct weight_piece){0, weight->in, i});
            add_scaled_row(matrix_row(dx, row), column, dx.columns, factor, column);
        }
    return err_if(!column);
}

/* dx += dy · Wᵀ. What is stored as [out, in] is Wᵀ; of all else, rows of W by the transposed dy
 * give columns of dx, transposed. */
static int weight_back(struct walk *w, struct matrix dx, struct matrix dy,
                       const struct weight *weight)
{
    enum { BLOCK = 256, FEW = 4 };
    const struct weight_rows *stored = &weight->rows;
    const struct row_view *view = &stored->view;
    size_t some = 0;
    if (!dx.data || !dy.data)
        return -1;
    for (size_t i = 0; i < dy.rows * dy.columns && some <= FEW; i++)
        some += matrix_row(dy, i / dy.columns)[i % dy.columns] != 0;
    if (some <= FEW)
        return columns_back(w, dx, dy, weight);
    if (stored->data && stored->skipped + weight->out <= view->block) {
        const size_t bytes = stored->dtype == DTYPE_BF16 ? BF16_BYTES : FLOAT_BYTES;
        const char *at = stored->data + (view->first + stored->skipped) * weight->in * bytes;
        struct weight factor = {.in = weight->out, .out = weight->in, .stride = weight->in};
        if (stored->dtype == DTYPE_BF16)
            factor.halves = at;
        else if (stored->dtype == DTYPE_F32 && (uintptr_t)at % sizeof(float) == 0)
            factor.data = (const void *)at;
        if (weight_exists(&factor)) {
            linear_add(w->run->machine, dx, (struct matrix){0}, dy, &factor);
            return 0;
        }
    }
    struct matrix turned = zeros(w, dy.columns, dy.rows), product = zeros(w, BLOCK, dy.rows);
    struct matrix columns = zeros(w, dy.rows, BLOCK), rows = zeros(w, BLOCK, weight->out);
    if (!turned.data || !product.data || !columns.data || !rows.data)
        return -1;
    transpose(turned, dy);
    const struct weight factor = {
        .data = turned.data, .in = dy.columns, .out = dy.rows, .stride = dy.rows};
    for (size_t first = 0; first < weight->in; first += BLOCK) {
        size_t count = num_min(weight->in - first, BLOCK);
        product.rows = rows.rows = columns.columns = count;
        weight_copy(rows.data, weight->out, weight, (struct weight_piece){first, count, 0});
        linear(w->run->machine, product, rows, &factor, ACTIVATION_NONE);
        transpose(columns, product);
        add_rows(matrix_columns(dx, first, count), columns);
    }
    return 0;
}

static int product_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy)
{
    struct weight weight;
    return err_if(weights_matrix(w->run->weights, slot, &weight, w->err) ||
                  weight_back(w, dx, dy, &weight));
}

/* The gradient of a product's input. */
static struct matrix product_gradient(struct walk *w, struct slot slot, struct matrix dy)
{
    struct weight weight;
    if (weights_matrix(w->run->weights, slot, &weight, w->err))
        return (struct matrix){0};
    struct matrix dx = zeros(w, dy.rows, weight.in);
    return weight_back(w, dx, dy, &weight) ? (struct matrix){0} : dx;
}

/* dx += the gradient of x, of which dy is that of its norm. */
static int norm_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                     struct matrix x)
{
    struct norm norm;
    float *sums = arena_alloc(&w->arena, 2 * x.columns, sizeof *sums, w->err);
    if (!sums || !dx.data || !dy.data || !x.data ||
        weights_norm(w->run->weights, slot, &norm, w->err))
        return -1;
    if (mechanism_lacks(&w->config->mechanism, BLOCK_NORM))
        add_rows(dx, dy);
    else
        norm_rows_backward(dx, dy, x, &norm, sums, sums + x.columns);
    return 0;
}

/* --- queries, keys and values ----------------------------------------------------------------- */

/* [heads, T, d] to [T, heads · d], and back. */
static struct matrix join(struct walk *w, const float *heads, size_t count, size_t rows,
                          size_t width)
{
    struct matrix joined = zeros(w, rows, count * width);
    for (size_t head = 0; head < count && joined.data; head++)
        copy_rows(matrix_columns(joined, head * width, width),
                  dense_matrix(heads + head * rows * width, rows, width));
    return joined;
}

static float *split(struct walk *w, struct matrix joined, size_t count)
{
    size_t width = joined.columns / count;
    float *heads = arena_room(&w->arena, joined.rows * joined.columns, sizeof *heads, w->err);
    for (size_t head = 0; head < count && heads && joined.data; head++)
        copy_rows(dense_matrix(heads + head * joined.rows * width, joined.rows, width),
                  matrix_columns(joined, head * width, width));
    return joined.data ? heads : NULL;
}

/* Queries or keys of a sublayer, on the way from the product to the scores. */
struct side {
    const struct sublayer *s;
    bool of_keys;
    size_t heads, rows;
    struct matrix input; /* what they are made of */
};

/* Rotate all heads [heads, T, d], back if `back`: by the angles with the other sign, and the same
 * factors. */
static int turn(struct walk *w, const struct side *side, float *heads, bool back)
{
    const struct head_rule *rule = &side->s->head;
    if (!rule->rotary || mechanism_lacks(&w->config->mechanism, BLOCK_POSITIONS))
        return 0;
    const size_t half = rule->rotary->components / 2;
    struct matrix cos_sin = zeros(w, side->rows, 2 * half);
    if (!cos_sin.data)
        return -1;
    rotary_fill(cos_sin, rule->rotary, 0, side->rows);
    for (size_t row = 0; back && row < side->rows; row++)
        scale_row(matrix_row(cos_sin, row) + half, matrix_row(cos_sin, row) + half, half, -1);
    for (size_t head = 0; head < side->heads; head++) {
        struct matrix own =
            dense_matrix(heads + head * side->rows * rule->d_k, side->rows, rule->d_k);
        rotate(own, own, rule->d_k, rule->rotary, cos_sin);
        if (!side->of_keys)
            rotary_grow(own, rule->rotary, 0);
    }
    return 0;
}

/* Gradients of heads before a norm of each; x are the heads before it. */
static int heads_norm_back(struct walk *w, const struct side *side, float *gradient, const float *x)
{
    const struct head_rule *rule = &side->s->head;
    const size_t size = side->rows * rule->d_k;
    struct slot slot = slot_in(w, side->s->part, side->of_keys ? SLOT_K_NORM : SLOT_Q_NORM);
    for (size_t head = 0; head < side->heads; head++) {
        struct matrix dx = zeros(w, side->rows, rule->d_k);
        struct matrix own = dense_matrix(gradient + head * size, side->rows, rule->d_k);
        slot.expert = (short)(rule->norm.own ? (int)head : -1);
        if (norm_back(w, slot, dx, own, dense_matrix(x + head * size, side->rows, rule->d_k)))
            return -1;
        copy_rows(own, dx);
    }
    return 0;
}

/* From the gradients of queries or keys [heads, T, d] to those of the product. */
static int side_back(struct walk *w, const struct side *side, float *gradient)
{
    const struct head_rule *rule = &side->s->head;
    const enum site_part part = side->s->part;
    const bool is_normed = side->of_keys ? rule->norm.k : rule->norm.q;
    const bool by_heads = is_normed && !rule->norm.whole;
    float *raw = NULL;
    if (by_heads &&
        !(raw = split(w, product(w, slot_in(w, part, side->of_keys ? SLOT_K : SLOT_Q), side->input),
                      side->heads)))
        return -1;
    if (by_heads && rule->norm.after_rotary &&
        (turn(w, side, raw, false) || heads_norm_back(w, side, gradient, raw)))
        return -1;
    if (rule->rotary &&
        (turn(w, side, gradient, true) || show(w, part, side->of_keys ? SITE_K_PRE : SITE_Q_PRE,
                                               gradient, side->heads, side->rows, rule->d_k)))
        return -1;
    return by_heads && !rule->norm.after_rotary ? heads_norm_back(w, side, gradient, raw) : 0;
}

/* Gradients of joined queries, keys or values before they are clipped, and normed as one row. */
static int clip_back(struct walk *w, const struct head_rule *rule, struct slot slot,
                     struct matrix dy, struct matrix input)
{
    const int id = slot.id;
    const bool is_normed =
        rule->norm.whole && (id == SLOT_Q ? rule->norm.q : id == SLOT_K && rule->norm.k);
    if (!is_normed && rule->clip <= 0)
        return 0;
    struct matrix raw = product(w, slot, input), x = raw, dx = zeros(w, dy.rows, dy.columns);
    struct norm norm;
    slot.id = id == SLOT_Q ? SLOT_Q_NORM : SLOT_K_NORM;
    if (!raw.data || !dx.data || (is_normed && weights_norm(w->run->weights, slot, &norm, w->err)))
        return -1;
    if (is_normed && rule->clip > 0) {
        x = copy_of(w, raw);
        if (!x.data)
            return -1;
        norm_rows(x, x, &norm);
    }
    for (size_t i = 0; rule->clip > 0 && i < dy.rows * dy.columns; i++)
        dy.data[i] = fabsf(x.data[i]) <= rule->clip ? dy.data[i] : 0;
    if (!is_normed)
        return 0;
    if (norm_back(w, slot, dx, dy, raw))
        return -1;
    copy_rows(dy, dx);
    return 0;
}

/* Latent attention: keys and values are made of a narrow vector, and queries may be. */
static int latent_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                       const float *dq, const float *dk, struct matrix dv)
{
    const struct head_rule *rule = &s->head;
    const size_t rows = x.rows, first = rule->rotary->first, rest = rule->d_k - first;
    struct matrix dplain = zeros(w, rows, rule->heads * first), drotary = zeros(w, rows, rest);
    struct matrix queries = join(w, dq, rule->heads, rows, rule->d_k);
    if (!dplain.data || !drotary.data || !queries.data)
        return -1;
    for (size_t head = 0; head < rule->heads; head++) {
        struct matrix own = dense_matrix(dk + head * rows * rule->d_k, rows, rule->d_k);
        copy_rows(matrix_columns(dplain, head * first, first), matrix_columns(own, 0, first));
        add_rows(drotary, matrix_columns(own, first, rest));
    }
    if (rule->latent_q) {
        struct matrix narrow = product(w, slot_in(w, s->part, SLOT_Q_DOWN), x);
        struct matrix dnarrow = zeros(w, rows, rule->latent_q);
        if (norm_back(w, slot_in(w, s->part, SLOT_Q_DOWN_NORM), dnarrow,
                      product_gradient(w, slot_in(w, s->part, SLOT_Q_UP), queries), narrow) ||
            product_back(w, slot_in(w, s->part, SLOT_Q_DOWN), dx, dnarrow))
            return -1;
    } else if (product_back(w, slot_in(w, s->part, SLOT_Q), dx, queries)) {
        return -1;
    }
    struct matrix narrow = product(w, slot_in(w, s->part, SLOT_KV_DOWN), x);
    struct matrix dnormed = product_gradient(w, slot_in(w, s->part, SLOT_K), dplain);
    struct matrix dnarrow = zeros(w, rows, rule->latent_kv);
    return err_if(!dnormed.data || product_back(w, slot_in(w, s->part, SLOT_V), dnormed, dv) ||
                  norm_back(w, slot_in(w, s->part, SLOT_KV_DOWN_NORM), dnarrow, dnormed, narrow) ||
                  product_back(w, slot_in(w, s->part, SLOT_KV_DOWN), dx, dnarrow) ||
                  product_back(w, slot_in(w, s->part, SLOT_K_ROTARY), dx, drotary));
}

/* Add to dx and dother the gradients of what queries [T, C], and keys and values [S, C], are made
 * of, from dq [H, T, d], dk and dv [Hkv, S, d]. */
static int project_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                        struct matrix dother, struct matrix other, float *dq, float *dk, float *dv)
{
    const struct head_rule *rule = &s->head;
    const struct side queries = {s, false, rule->heads, x.rows, x};
    const struct side keys = {s, true, rule->kv_heads, other.rows, other};
    static const int slots[] = {SLOT_Q, SLOT_K, SLOT_V};
    if (side_back(w, &keys, dk) || side_back(w, &queries, dq))
        return -1;
    struct matrix joined[] = {join(w, dq, rule->heads, x.rows, rule->d_k),
                              join(w, dk, rule->kv_heads, other.rows, rule->d_k),
                              join(w, dv, rule->kv_heads, other.rows, rule->d_v)};
    if (!joined[0].data || !joined[1].data || !joined[2].data)
        return -1;
    if (rule->by == HEADS_LATENT)
        return latent_back(w, s, dx, x, dq, dk, joined[2]);
    for (size_t i = 0; i < 3; i++) {
        struct slot slot = slot_in(w, s->part, slots[i]);
        struct matrix to = i ? dother : dx, input = i ? other : x;
        if (rule->by == HEADS_AS_IS)
            add_rows(to, joined[i]);
        else if (clip_back(w, rule, slot, joined[i], input) || product_back(w, slot, to, joined[i]))
            return -1;
    }
    return 0;
}

/* --- attention -------------------------------------------------------------------------------- */

/* The gradients of a head's scores from those of its masked scores. */
static void scores_back(const struct score_rule *rule, float *gradient, const float *scores,
                        size_t count)
{
    float factor = rule->scale / (rule->temperature > 0 ? rule->temperature : 1);
    for (size_t i = 0; i < count; i++) {
        float bent = rule->cap > 0 ? tanhf(scores[i] * rule->scale / rule->cap) : 0;
        gradient[i] = gradient[i] == 0 ? 0 : gradient[i] * (1 - bent * bent) * factor;
    }
}

/* The context's heads: from the gradient of each [T, S] map to those of q, k and v. */
struct head_gradients {
    float *maps;         /* [H, T, S] */
    float *dq, *dk, *dv; /* [H, T, d], [Hkv, S, d] */
    const float *q, *k, *v, *weights;
};

static void head_back(const struct head_gradients *g, const struct head_rule *rule, size_t head,
                      size_t rows, size_t keys, const float *dcontext)
{
    const size_t kv = kv_head_of(rule, head), d = rule->d_k, e = rule->d_v;
    for (size_t t = 0; t < rows; t++) {
        const float *ds = g->maps + (head * rows + t) * keys;
        const float *weights = g->weights + (head * rows + t) * keys;
        float *dq = g->dq + (head * rows + t) * d;
        const float *q = g->q + (head * rows + t) * d, *dc = dcontext + (head * rows + t) * e;
        for (size_t s = 0; s < keys; s++) {
            if (ds[s] != 0) {
                add_scaled_row(dq, g->k + (kv * keys + s) * d, d, ds[s], g->k);
                add_scaled_row(g->dk + (kv * keys + s) * d, q, d, ds[s], q);
            }
            if (weights[s] > 0 || weights[s] < 0)
                add_scaled_row(g->dv + (kv * keys + s) * e, dc, e, weights[s], dc);
        }
    }
}

/* Give a reader the gradient of the stream, from that of its normed input. */
static int show_reader(struct walk *w, const struct sublayer *s, enum site id, size_t head,
                       struct matrix dy)
{
    struct back_reader reader = {SITE_OF(s->part, id), w->layer, head, dy};
    while (s->reads == READS_LAST_INPUT)
        s--;
    if (s->norm_before) {
        reader.gradient = zeros(w, dy.rows, dy.columns);
        if (norm_back(w, slot_in(w, s->part, (int)s->norm), reader.gradient, dy, w->read))
            return -1;
    }
    return w->back->reader(w->back->context, &reader, w->err);
}

/* Show queries, keys or values of one query head as a reader. */
static int head_reader(struct walk *w, const struct sublayer *s, const struct head_gradients *all,
                       enum site id, size_t head, struct matrix x, const float *dcontext)
{
    const struct head_rule *rule = &s->head;
    const bool cross = s->kind == SUBLAYER_ATTEND_SOURCE;
    const struct matrix other = cross ? w->memory : x;
    struct head_gradients own = *all;
    struct matrix dx = zeros(w, x.rows, x.columns);
    struct matrix dother = cross ? zeros(w, other.rows, other.columns) : dx;
    struct matrix d[] = {zeros(w, rule->heads * x.rows, rule->d_k),
                         zeros(w, rule->kv_heads * other.rows, rule->d_k),
                         zeros(w, rule->kv_heads * other.rows, rule->d_v)};
    if (w->err->kind)
        return -1;
    own.dq = d[0].data, own.dk = d[1].data, own.dv = d[2].data;
    head_back(&own, rule, head, x.rows, other.rows, dcontext);
    for (enum site i = SITE_Q; i <= SITE_V; i++)
        if (i != id)
            memset(d[i - SITE_Q].data, 0,
                   d[i - SITE_Q].rows * d[i - SITE_Q].columns * sizeof(float));
    return err_if(project_back(w, s, dx, x, dother, other, own.dq, own.dk, own.dv) ||
                  show_reader(w, s, id, head, dx));
}

/* Show the readers of a sublayer's heads. */
static int show_readers(struct walk *w, const struct sublayer *s, const struct head_gradients *all,
                        struct matrix x, const float *dcontext)
{
    const struct arena arena = w->arena;
    const enum site last = s->kind == SUBLAYER_ATTEND_SOURCE ? SITE_Q : SITE_V;
    int failed = 0;
    w->arena = (struct arena){0};
    for (size_t head = 0; head < s->head.heads; head++)
        for (enum site id = SITE_Q; id <= last && !failed; id++) {
            failed = head_reader(w, s, all, id, head, x, dcontext);
            arena_clear(&w->arena);
        }
    arena_release(&w->arena);
    w->arena = arena;
    return err_if(failed);
}

/* Add to dx and dother the gradients of what the sublayer reads, from that of its heads side by
 * side, [T, H · d]. */
static int attend_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                       struct matrix djoined)
{
    const struct head_rule *rule = &s->head;
    const enum site_part part = s->part;
    const bool cross = s->kind == SUBLAYER_ATTEND_SOURCE;
    const struct matrix other = cross ? w->memory : x, dother = cross ? w->dmemory : dx;
    const size_t rows = x.rows, keys = other.rows, map = rows * keys, e = rule->d_v;
    const float *masked = value_of(w, part, SITE_MASKED), *scores = value_of(w, part, SITE_SCORES);
    float *dcontext = split(w, djoined, rule->heads);
    float *sink = zeros(w, rule->heads, rows).data; /* nothing reads what is left to a sink */
    struct head_gradients g = {
        .maps = zeros(w, rule->heads * rows, keys).data,
        .dq = zeros(w, rule->heads * rows, rule->d_k).data,
        .dk = zeros(w, rule->kv_heads * keys, rule->d_k).data,
        .dv = zeros(w, rule->kv_heads * keys, e).data,
        .q = value_of(w, part, SITE_Q),
        .k = value_of(w, part, SITE_K),
        .v = value_of(w, part, SITE_V),
        .weights = value_of(w, part, SITE_WEIGHTS),
    };
    if (!dcontext || !sink || !g.maps || !g.dq || !g.dk || !g.dv ||
        show(w, part, SITE_CONTEXT, dcontext, rule->heads, rows, e) ||
        (s->score.sink && show(w, part, SITE_SINK, sink, rule->heads, rows, 1)))
        return -1;
    for (size_t i = 0; i < rule->heads * map; i++)
        if (isfinite(masked[i]))
            g.maps[i] = (float)dot_rows(dcontext + i / keys * e,
                                        g.v + (kv_head_of(rule, i / map) * keys + i % keys) * e, e);
    if (show(w, part, SITE_WEIGHTS, g.maps, rule->heads, rows, keys))
        return -1;
    for (size_t row = 0; row < rule->heads * rows; row++)
        softmax_row_backward(g.maps + row * keys, g.weights + row * keys, keys, 1);
    for (size_t i = 0; i < rule->heads * map; i++)
        g.maps[i] = isfinite(masked[i]) ? g.maps[i] : 0;
    if (show(w, part, SITE_MASKED, g.maps, rule->heads, rows, keys))
        return -1;
    scores_back(&s->score, g.maps, scores, rule->heads * map);
    if (show(w, part, SITE_SCORES, g.maps, rule->heads, rows, keys))
        return -1;
    for (size_t head = 0; head < rule->heads; head++)
        head_back(&g, rule, head, rows, keys, dcontext);
    return err_if(show(w, part, SITE_V, g.dv, rule->kv_heads, keys, e) ||
                  show(w, part, SITE_K, g.dk, rule->kv_heads, keys, rule->d_k) ||
                  show(w, part, SITE_Q, g.dq, rule->heads, rows, rule->d_k) ||
                  (w->back->reader && show_readers(w, s, &g, x, dcontext)) ||
                  project_back(w, s, dx, x, dother, other, g.dq, g.dk, g.dv));
}

/* --- the MLP ---------------------------------------------------------------------------------- */

/* From the gradient of act(gate) · up to those of gate and up. */
static int gated_back(struct walk *w, const struct mlp_rule *rule, struct matrix dgate,
                      struct matrix dup, struct matrix d, struct matrix gate, struct matrix up)
{
    struct matrix g = copy_of(w, gate), u = copy_of(w, up), slope = zeros(w, d.rows, d.columns);
    if (!g.data || !u.data || !slope.data)
        return -1;
    const float steeper = rule->clamp > 0 ? mlp_limit(rule, g, u) : 1;
    for (size_t i = 0; i < d.rows * d.columns; i++)
        slope.data[i] = 1;
    activate_backward(slope, g, rule->activation);
    activate(g, g, NULL, rule->activation);
    for (size_t i = 0; i < d.rows * d.columns; i++) {
        bool of_gate = rule->clamp <= 0 || gate.data[i] <= rule->clamp;
        bool of_up = rule->clamp <= 0 || fabsf(up.data[i]) <= rule->clamp;
        dgate.data[i] = of_gate ? d.data[i] * u.data[i] * slope.data[i] * steeper : 0;
        dup.data[i] = of_up ? d.data[i] * g.data[i] / steeper : 0;
    }
    return 0;
}

/* dx += the gradient of x, from that of the output of a gated MLP with slots from `first` on, the
 * shared one or an expert; `out` gets the output. */
static int feed_back(struct walk *w, const struct mlp_rule *rule, struct slot first,
                     struct matrix dx, struct matrix x, struct matrix dout, struct matrix *out)
{
    struct slot up = first, down = first;
    up.id = (unsigned char)(first.id + 2);
    down.id = (unsigned char)(first.id + 4);
    struct matrix gate = product(w, first, x), raised = product(w, up, x);
    struct matrix active = copy_of(w, gate), other = copy_of(w, raised);
    struct matrix dgate = zeros(w, x.rows, gate.columns), dup = zeros(w, x.rows, gate.columns);
    if (!active.data || !other.data || !dgate.data || !dup.data)
        return -1;
    mlp_combine(rule, active, other, false);
    *out = product(w, down, active);
    if (!dout.data)
        return out->data ? 0 : -1;
    struct matrix d = product_gradient(w, down, dout);
    return err_if(!out->data || !d.data || gated_back(w, rule, dgate, dup, d, gate, raised) ||
                  product_back(w, first, dx, dgate) || product_back(w, up, dx, dup));
}

/* The slope of xIELU, as activate_xielu has it. */
static int xielu_back(struct walk *w, struct matrix d, struct matrix x)
{
    float numbers[4] = {0, 0, 0.5f, -1e-6f};
    for (int i = 0; i < 4; i++) {
        const float *number = NULL;
        struct slot slot = slot_in(w, w->stack->part, SLOT_XIELU_POSITIVE + 2 * i);
        if (weights_vector(w->run->weights, slot, &number, w->err))
            return -1;
        numbers[i] = number ? *number : numbers[i];
    }
    float a = log1pf(expf(numbers[0])), beta = numbers[2], b = beta + log1pf(expf(numbers[1]));
    for (size_t i = 0; i < d.rows * d.columns; i++) {
        float at = x.data[i], low = at < numbers[3] ? expf(at) : 0;
        d.data[i] *= at > 0 ? 2 * a * at + beta : (low - 1) * b + beta;
    }
    return 0;
}

/* One row of the router: from the gradients of the weights to those of its logits. */
static void choose_back(const struct mlp_rule *rule, float *dlogits, float *dweights,
                        const float *logits, const float *weights)
{
    const struct mixture *m = rule->mixture;
    float score[EXPERTS_MAX], chosen[EXPERTS_MAX], sum = 0;
    for (size_t i = 0; i < m->experts; i++) {
        dweights[i] = weights[i] != 0 ? dweights[i] * (m->factor > 0 ? m->factor : 1) : 0;
        score[i] = m->router == ROUTER_OF_CHOSEN && weights[i] == 0 ? -INFINITY : logits[i];
    }
    if (m->router == ROUTER_SIGMOID)
        logistic_row(score, m->experts);
    else
        softmax_row(score, m->experts);
    for (size_t i = 0; i < m->experts; i++) {
        chosen[i] = weights[i] != 0 ? score[i] : 0;
        sum += chosen[i];
    }
    if (m->renormalised && sum < m->least)
        scale_row(dweights, dweights, m->experts, 1 / m->least);
    else if (m->renormalised) {
        float mean = (float)dot_rows(dweights, chosen, m->experts) / sum;
        for (size_t i = 0; i < m->experts; i++)
            dweights[i] = weights[i] != 0 ? (dweights[i] - mean) / sum : 0;
    }
    for (size_t i = 0; i < m->experts; i++)
        dlogits[i] = dweights[i];
    if (m->router == ROUTER_SIGMOID)
        for (size_t i = 0; i < m->experts; i++)
            dlogits[i] *= score[i] * (1 - score[i]);
    else
        softmax_row_backward(dlogits, score, m->experts, 1);
}

/* The same for experts that are chosen one by one, each by a softmax among those near it. */
static void one_by_one_back(const struct mlp_rule *rule, float *dlogits, const float *dweights,
                            const float *logits)
{
    const struct mixture *m = rule->mixture;
    float left[EXPERTS_MAX], near[EXPERTS_MAX], d[EXPERTS_MAX];
    memcpy(left, logits, m->experts * sizeof *left);
    memset(dlogits, 0, m->experts * sizeof *dlogits);
    for (size_t round = 0; round < rule->chosen; round++) {
        size_t best = mixture_choose_one(m, near, left, logits);
        memset(d, 0, m->experts * sizeof *d);
        d[best] = dweights[best];
        softmax_row_backward(d, near, m->experts, 1);
        add_to_row(dlogits, d, m->experts);
    }
}

/* dx += the gradient of x, from that of the output of the shared expert. */
static int shared_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                       struct matrix d)
{
    struct slot feed = slot_in(w, s->part, SLOT_SHARED_GATE);
    struct slot key = slot_in(w, s->part, SLOT_SHARED_SWITCH);
    struct matrix out, down = copy_of(w, d);
    struct weight weight;
    if (!down.data || show_rows(w, s->part, SITE_SHARED_OUT, down) ||
        weights_matrix(w->run->weights, key, &weight, w->err))
        return -1;
    if (weight_exists(&weight)) {
        struct matrix none = {0}, on = product(w, key, x), don = zeros(w, x.rows, 1);
        if (!on.data || !don.data || feed_back(w, &s->mlp, feed, none, x, none, &out))
            return -1;
        for (size_t row = 0; row < x.rows; row++) {
            float *factor = matrix_row(on, row);
            logistic_row(factor, 1);
            don.data[row] =
                (float)dot_rows(matrix_row(down, row), matrix_row(out, row), d.columns) * *factor *
                (1 - *factor);
            scale_row(matrix_row(down, row), matrix_row(down, row), d.columns, *factor);
        }
        if (product_back(w, key, dx, don))
            return -1;
    }
    return feed_back(w, &s->mlp, feed, dx, x, down, &out);
}

/* dx += the gradient of x through one expert, for the rows that chose it; dweights gets that of its
 * weights. */
static int expert_back(struct walk *w, const struct sublayer *s, size_t expert, struct matrix dx,
                       struct matrix x, struct matrix d, struct matrix dweights)
{
    const float *weights = value_of(w, s->part, SITE_EXPERT_WEIGHTS) + expert;
    const size_t experts = s->mlp.mixture->experts;
    struct slot slot = slot_in(w, s->part, SLOT_EXPERT_GATE);
    struct matrix rows = zeros(w, x.rows, x.columns), dout = zeros(w, x.rows, d.columns);
    struct matrix drows = zeros(w, x.rows, x.columns), out;
    size_t count = 0;
    slot.expert = (short)expert;
    if (!rows.data || !dout.data || !drows.data)
        return -1;
    for (size_t row = 0; row < x.rows; row++) {
        if (weights[row * experts] == 0)
            continue;
        copy_rows(matrix_rows(rows, count, 1), matrix_rows(x, row, 1));
        scale_row(matrix_row(dout, count++), matrix_row(d, row), d.columns, weights[row * experts]);
    }
    rows.rows = dout.rows = drows.rows = count;
    if (!count)
        return 0;
    if (feed_back(w, &s->mlp, slot, drows, rows, dout, &out))
        return -1;
    for (size_t row = 0, next = 0; row < x.rows; row++) {
        if (weights[row * experts] == 0)
            continue;
        matrix_row(dweights, row)[expert] =
            (float)dot_rows(matrix_row(d, row), matrix_row(out, next), d.columns);
        add_to_row(matrix_row(dx, row), matrix_row(drows, next++), x.columns);
    }
    return 0;
}

static int mixture_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                        struct matrix d)
{
    const struct mixture *m = s->mlp.mixture;
    struct matrix weights =
        dense_matrix(value_of(w, s->part, SITE_EXPERT_WEIGHTS), x.rows, m->experts);
    struct matrix logits = dense_matrix(value_of(w, s->part, SITE_ROUTER), x.rows, m->experts);
    struct matrix dweights = zeros(w, x.rows, m->experts), dlogits = zeros(w, x.rows, m->experts);
    if (!dweights.data || !dlogits.data || (m->shared_inner && shared_back(w, s, dx, x, d)))
        return -1;
    for (size_t expert = 0; expert < m->experts; expert++)
        if (expert_back(w, s, expert, dx, x, d, dweights))
            return -1;
    if (show_rows(w, s->part, SITE_EXPERT_WEIGHTS, dweights))
        return -1;
    for (size_t row = 0; row < x.rows; row++)
        if (m->router == ROUTER_ONE_BY_ONE)
            one_by_one_back(&s->mlp, matrix_row(dlogits, row), matrix_row(dweights, row),
                            matrix_row(logits, row));
        else
            choose_back(&s->mlp, matrix_row(dlogits, row), matrix_row(dweights, row),
                        matrix_row(logits, row), matrix_row(weights, row));
    return err_if(show_rows(w, s->part, SITE_ROUTER, dlogits) ||
                  product_back(w, slot_in(w, s->part, SLOT_ROUTER), dx, dlogits));
}

/* dx += the gradient of x, from that of the hidden channels, or of the output of a mixture. */
static int mlp_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                    struct matrix d)
{
    const struct mlp_rule *rule = &s->mlp;
    struct slot up_slot = slot_in(w, s->part, SLOT_UP);
    if (rule->mixture)
        return mixture_back(w, s, dx, x, d);
    if (show_rows(w, s->part, SITE_MLP_ACT, d))
        return -1;
    if (!rule->gated) {
        struct matrix before = product(w, up_slot, x);
        if (!before.data || (rule->xielu && xielu_back(w, d, before)))
            return -1;
        if (!rule->xielu)
            activate_backward(d, before, rule->activation);
        return product_back(w, up_slot, dx, d);
    }
    struct matrix gate = dense_matrix(value_of(w, s->part, SITE_MLP_GATE), d.rows, d.columns);
    struct matrix up = dense_matrix(value_of(w, s->part, SITE_MLP_UP), d.rows, d.columns);
    struct matrix dgate = zeros(w, d.rows, d.columns), dup = zeros(w, d.rows, d.columns);
    return err_if(!dgate.data || !dup.data || gated_back(w, rule, dgate, dup, d, gate, up) ||
                  show_rows(w, s->part, SITE_MLP_UP, dup) ||
                  show_rows(w, s->part, SITE_MLP_GATE, dgate) ||
                  product_back(w, up_slot, dx, dup) ||
                  product_back(w, slot_in(w, s->part, SLOT_GATE), dx, dgate));
}

/* --- a layer ---------------------------------------------------------------------------------- */

/* The stream that enters a sublayer of the walk's layer. */
static struct matrix stream_before(const struct walk *w, const struct sublayer *s)
{
    const struct sublayer *first = w->stack->layer[w->layer].sublayers;
    const enum site_part part = w->stack->part;
    enum site end = s > first ? sublayer_end(s - 1) : SITE_EMBEDDING;
    const float *values = end == SITE_EMBEDDING
                              ? value_of(w, part, SITE_RESID_PRE)
                              : value_of(w, end == SITE_RESID_POST ? part : s[-1].part, end);
    return dense_matrix(values, rows_of(w, part), w->stack->width);
}

/* What a sublayer reads, and the stream that this is the norm of, or is. */
static struct matrix input_of(const struct walk *w, const struct sublayer *s, struct matrix *read)
{
    const struct sublayer *first = w->stack->layer[w->layer].sublayers;
    if (s->reads == READS_LAST_INPUT)
        return input_of(w, s - 1, read);
    *read = s->reads == READS_BLOCK_INPUT ? stream_before(w, first) : stream_before(w, s);
    return s->norm_before
               ? dense_matrix(value_of(w, s->part, s->at_input), read->rows, read->columns)
               : *read;
}

/* The sum of a sublayer's output and the stream, before the norm that follows it. */
static struct matrix sum_of(struct walk *w, const struct sublayer *s)
{
    const struct matrix x = stream_before(w, s);
    const float *out = value_of(w, s->part, s->norm_out ? s->at_out_norm : s->at_out);
    struct matrix sum = zeros(w, x.rows, x.columns);
    if (!sum.data)
        return sum;
    if (!s->replaces)
        copy_rows(sum, x);
    for (size_t row = 0; row < x.rows; row++)
        add_scaled_row(matrix_row(sum, row), out + row * x.columns, x.columns, s->factor, out);
    return sum;
}

/* From the gradient of the sum to that of what the last product read: the context's heads side by
 * side, the hidden channels, or the output of a mixture. */
static struct matrix write_out_back(struct walk *w, const struct sublayer *s, struct matrix dx)
{
    const bool is_mlp = s->kind == SUBLAYER_MLP;
    const struct matrix none = {0};
    struct matrix d = zeros(w, dx.rows, dx.columns);
    for (size_t row = 0; row < dx.rows && d.data; row++)
        scale_row(matrix_row(d, row), matrix_row(dx, row), dx.columns, s->factor);
    if (!d.data)
        return none;
    if (s->norm_out) {
        struct matrix out = dense_matrix(value_of(w, s->part, s->at_out), d.rows, d.columns);
        struct matrix dout = zeros(w, d.rows, d.columns);
        int id = is_mlp ? SLOT_NORM_2_POST : SLOT_NORM_1_POST;
        if (show_rows(w, s->part, s->at_out_norm, d) ||
            norm_back(w, slot_in(w, s->part, id), dout, d, out))
            return none;
        d = dout;
    }
    if (show_rows(w, s->part, s->at_out, d))
        return none;
    if (s->head.no_out || s->mlp.mixture)
        return d;
    return product_gradient(w, slot_in(w, s->part, is_mlp ? SLOT_DOWN : SLOT_O), d);
}

/* Make dx, the gradient of what leaves the layer, that of what enters it. */
static int layer_back(struct walk *w, struct matrix dx)
{
    const struct layer *own = &w->stack->layer[w->layer];
    struct matrix dfirst = zeros(w, dx.rows, dx.columns), dshared = zeros(w, dx.rows, dx.columns);
    if (!dfirst.data || !dshared.data)
        return -1;
    for (const struct sublayer *s = own->sublayers + own->count; s-- > own->sublayers;) {
        struct matrix y = input_of(w, s, &w->read), dy = zeros(w, dx.rows, dx.columns);
        if (!dy.data || show_stream(w, s, s->at_after, dx))
            return -1;
        if (s->norm_after) {
            struct matrix dsum = zeros(w, dx.rows, dx.columns);
            if (norm_back(w, slot_in(w, s->part, (int)s->norm), dsum, dx, sum_of(w, s)))
                return -1;
            copy_rows(dx, dsum);
        }
        if (show_stream(w, s, s->at_sum, dx))
            return -1;
        struct matrix d = write_out_back(w, s, dx);
        if (!d.data ||
            (s->kind == SUBLAYER_MLP ? mlp_back(w, s, dy, y, d) : attend_back(w, s, dy, y, d)) ||
            (s->kind == SUBLAYER_MLP && w->back->reader && show_reader(w, s, SITE_MLP_OUT, 0, dy)))
            return -1;
        if (s->adds_to_normed)
            add_rows(dy, dx);
        if (s->adds_to_normed || s->replaces)
            memset(dx.data, 0, dx.rows * dx.columns * sizeof *dx.data);
        add_rows(dy, dshared);
        memset(dshared.data, 0, dx.rows * dx.columns * sizeof *dx.data);
        if (s->reads == READS_LAST_INPUT) {
            copy_rows(dshared, dy);
            continue;
        }
        if (s->at_input && show_rows(w, s->part, s->at_input, dy))
            return -1;
        struct matrix to = s->reads == READS_BLOCK_INPUT ? dfirst : dx;
        if (!s->norm_before)
            add_rows(to, dy);
        else if (norm_back(w, slot_in(w, s->part, (int)s->norm), to, dy, w->read))
            return -1;
    }
    add_rows(dx, dfirst);
    return show_rows(w, w->stack->part, SITE_RESID_PRE, dx);
}

/* --- the ends --------------------------------------------------------------------------------- */

static bool is_seeded(const struct walk *w, enum site id)
{
    for (size_t i = 0; i < w->back->seed_count; i++)
        if (w->back->seeds[i].site == SITE_OF(w->stack->part, id))
            return true;
    return false;
}

/* The stream that leaves the last layer. */
static struct matrix last_stream(struct walk *w)
{
    const struct stack *stack = w->stack;
    const enum site_part part = stack->part;
    const float *values = value_of(w, part, SITE_EMBEDDING);
    if (stack->layers) {
        const struct layer *last = &stack->layer[stack->layers - 1];
        w->layer = stack->layers - 1;
        values = value_of(w, part, sublayer_end(&last->sublayers[last->count - 1]));
    }
    return dense_matrix(values, rows_of(w, part), stack->width);
}

/* Add the gradients of the logits, or of what else a model returns, to that of `left`, which the
 * last matrices read. */
static int result_back(struct walk *w, struct matrix dleft, struct matrix left)
{
    const struct unembed_rule *rule = &w->stack->unembed;
    const size_t rows = rule->first_only ? 1 : left.rows;
    struct matrix x = left, d = {0}, before = {0}, active;
    if (rule->project)
        x = product(w, slot_of_text(SLOT_PROJECT_OUT), left);
    if (rule->dense) {
        before = product(w, slot_of_text((int)rule->dense), matrix_rows(x, 0, rows));
        active = copy_of(w, before);
        if (!active.data)
            return -1;
        activate(active, before, NULL, rule->activation);
    }
    if (rule->at_result == SITE_LOGITS && is_seeded(w, SITE_LOGITS)) {
        const size_t words = w->config->vocab_size;
        struct weight unembedding;
        struct matrix dlogits = zeros(w, rows, words);
        const float *logits = value_of(w, w->stack->part, SITE_LOGITS);
        if (!dlogits.data || weights_unembedding(w->run->weights, &unembedding, w->err) ||
            show_rows(w, w->stack->part, SITE_LOGITS, dlogits))
            return -1;
        for (size_t i = 0; i < rows * words; i++) {
            float bent = rule->cap > 0 ? logits[i] / rule->cap : 0;
            dlogits.data[i] *= (1 - bent * bent) / (rule->divisor > 0 ? rule->divisor : 1);
        }
        d = zeros(w, rows, unembedding.in);
        if (weight_back(w, d, dlogits, &unembedding))
            return -1;
    }
    if (rule->dense && (d.data || is_seeded(w, rule->at_dense))) {
        d = d.data ? d : zeros(w, rows, before.columns);
        struct matrix dactive = rule->dense_norm ? zeros(w, rows, before.columns) : d;
        if (!d.data || (rule->at_dense && show_rows(w, w->stack->part, rule->at_dense, d)) ||
            (rule->dense_norm &&
             norm_back(w, slot_of_text(SLOT_TRANSFORM_NORM), dactive, d, active)))
            return -1;
        activate_backward(dactive, before, rule->activation);
        d = product_gradient(w, slot_of_text((int)rule->dense), dactive);
    }
    if (rule->project && d.data)
        d = product_gradient(w, slot_of_text(SLOT_PROJECT_OUT), d);
    if (d.data)
        add_rows(matrix_rows(dleft, 0, rows), d);
    return err_if(w->err->kind);
}

/* dx += the gradient of the stream that leaves the last layer. dleft: of what reads its norm. */
static int unembed_back(struct walk *w, struct matrix dx, struct matrix dleft)
{
    const struct unembed_rule *rule = &w->stack->unembed;
    const struct matrix last = last_stream(w);
    struct matrix left = last;
    if (rule->norm)
        left = dense_matrix(value_of(w, w->stack->part, SITE_LN_F), last.rows, last.columns);
    if (result_back(w, dleft, left))
        return -1;
    if (!rule->norm) {
        add_rows(dx, dleft);
        return 0;
    }
    return err_if(show_rows(w, w->stack->part, SITE_LN_F, dleft) ||
                  norm_back(w, slot_of_end((int)w->stack->part, SLOT_FINAL_NORM), dx, dleft, last));
}

/* The rows of tokens, with their positions and segments: what the norm of the embedding reads. */
static struct matrix embedded(struct walk *w)
{
    struct text text = *w->run->batch->texts;
    struct matrix x = zeros(w, rows_of(w, w->stack->part), w->stack->embed.width);
    if (w->stack->part == PART_SOURCE)
        text = (struct text){.ids = text.source_ids, .rows = text.source_rows};
    if (!x.data)
        return x;
    embed_tokens(w->run->weights, w->stack, &text, x);
    if (w->stack->embed.project == PROJECT_TOKENS)
        x = product(w, slot_of_text(SLOT_EMBED_PROJECT), x);
    if (x.data)
        embed_places(w->run->weights, w->config, w->stack, &text, 0, x);
    return x;
}

static int embed_back(struct walk *w, enum site_part part, struct matrix dx)
{
    w->stack = stack_of(w->config, part);
    const struct embed_rule *rule = &w->stack->embed;
    const struct slot projection = slot_of_text(SLOT_EMBED_PROJECT);
    if (show_rows(w, part, SITE_EMBEDDING, dx))
        return -1;
    if (rule->project == PROJECT_LAST)
        dx = product_gradient(w, projection, dx);
    if (rule->norm) {
        int of = w->config->own_tables ? (int)part : PART_SENTENCE;
        struct matrix dsum = zeros(w, dx.rows, dx.columns);
        if (norm_back(w, slot_of_end(of, SLOT_EMBED_NORM), dsum, dx, embedded(w)))
            return -1;
        dx = dsum;
    }
    if (rule->project == PROJECT_TOKENS)
        dx = product_gradient(w, projection, dx);
    struct matrix *rows = &w->back->token_rows[part];
    *rows = dense_matrix(
        arena_alloc(w->back->tape->arena, dx.rows * dx.columns, sizeof *rows->data, w->err),
        dx.rows, dx.columns);
    if (!dx.data || !rows->data)
        return -1;
    copy_rows(*rows, dx);
    return 0;
}

/* Walk back over the layers of a stack, to dx; dleft: the gradient of what reads its end. */
static int stack_back(struct walk *w, enum site_part part, struct matrix *dx, struct matrix dleft,
                      struct arena *arena)
{
    const size_t rows = dleft.rows, columns = dleft.columns;
    w->stack = stack_of(w->config, part);
    *dx = dense_matrix(arena_alloc(arena, rows * columns, sizeof(float), w->err), rows, columns);
    int failed = !dx->data || unembed_back(w, *dx, dleft);
    const size_t until = part == PART_SENTENCE ? w->back->until : 0;
    for (w->layer = w->stack->layers; !failed && w->layer > until;) {
        w->layer--;
        arena_clear(&w->arena);
        failed = layer_back(w, *dx);
    }
    return err_if(failed);
}

int back_run(struct back *back, struct err *err)
{
    const struct config *c = back->run->config;
    struct arena arena = {0};
    struct walk w = {.back = back, .run = back->run, .config = c, .err = err};
    const size_t sources = rows_of(&w, PART_SOURCE), width = c->n_embd;
    struct matrix dx, dsource;
    struct matrix dleft =
        dense_matrix(arena_alloc(&arena, rows_of(&w, PART_SENTENCE) * width, sizeof(float), err),
                     rows_of(&w, PART_SENTENCE), width);
    int failed = !dleft.data;
    if (sources && !failed) {
        w.stack = stack_of(c, PART_SOURCE);
        w.memory = last_stream(&w);
        if (w.stack->unembed.norm)
            w.memory.data = (float *)tape_of(back->tape, SITE_OF(PART_SOURCE, SITE_LN_F), -1);
        w.dmemory =
            dense_matrix(arena_alloc(&arena, sources * width, sizeof(float), err), sources, width);
        failed = !w.dmemory.data;
    }
    failed =
        failed || stack_back(&w, PART_SENTENCE, &dx, dleft, &arena) ||
        (!back->until && ((sources && (stack_back(&w, PART_SOURCE, &dsource, w.dmemory, &arena) ||
                                       embed_back(&w, PART_SOURCE, dsource))) ||
                          embed_back(&w, PART_SENTENCE, dx)));
    arena_release(&w.arena);
    arena_release(&arena);
    return err_if(failed);
}
