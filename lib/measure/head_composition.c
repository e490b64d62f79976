/* head_composition.c: how the heads of a model compose, by products of d × d.
 *
 * With A = V·O and B = X·Yᵀ, of [C, d] and [d, C], and M = O·X [d, d] that is
 *
 *     ‖A·B‖² = ‖V·M·Yᵀ‖² = Σ (VᵀV·M) ∘ (M·YᵀY)        ‖A‖² = Σ VᵀV ∘ O·Oᵀ
 *
 * where X, Y are Q, K; K, Q; or V, Oᵀ of the later head.
 */
#include <math.h>
#include <string.h>

#include "measure/head_circuits.h"
#include "model/config.h"

const char *const composition_names[COMPOSITIONS] = {"q", "k", "v"};

/* One of a layer's matrices as [C, heads · d], and of each head the products of its columns. */
struct part {
    struct matrix columns;
    size_t heads, size;
    double *squares; /* [heads, d, d] */
};

struct layer {
    struct part q, k, v, o;
    double *lengths; /* [H] ‖V·O‖ */
};

struct model_view {
    const struct config *config;
    struct weights *weights;
    struct machine *machine;
    struct err *err;
};

static int square(struct part *part, struct arena *arena, struct err *err)
{
    size_t d = part->size;
    part->squares = arena_alloc(arena, part->heads * d * d, sizeof *part->squares, err);
    for (size_t head = 0; part->squares && head < part->heads; head++) {
        double *squares = part->squares + head * d * d;
        for (size_t c = 0; c < part->columns.rows; c++) {
            const float *x = part->columns.data + c * part->columns.stride + head * d;
            for (size_t i = 0; i < d; i++)
                for (size_t k = 0; k < d; k++)
                    squares[i * d + k] += (double)x[i] * (double)x[k];
        }
    }
    return part->squares ? 0 : -1;
}

static int new_part(struct part *part, const struct model_view *view, size_t heads, size_t size,
                    struct arena *arena)
{
    size_t rows = view->config->n_embd;
    *part = (struct part){.heads = heads, .size = size};
    part->columns =
        (struct matrix){arena_alloc(arena, rows, heads * size * sizeof(float), view->err), rows,
                        heads * size, heads * size};
    return part->columns.data ? 0 : -1;
}

/* W_Q, W_K or W_V, with the norm in front and, of queries and keys, the scales of theirs. */
static int read_part(struct part *part, const struct model_view *view, const struct weight *w,
                     const struct norm *before, const struct norm *after)
{
    const struct config *c = view->config;
    struct matrix m = part->columns;
    weight_copy(m.data, m.columns, w, (struct weight_piece){0, m.rows, 0});
    for (size_t i = 0; after && i < m.rows; i++)
        for (size_t k = 0; k < m.columns; k++)
            m.data[i * m.stride + k] *=
                after->scale[c->head_norm == HEAD_NORM_WHOLE ? k : k % part->size] + after->offset;
    if (!c->norm_first || !c->norm_in)
        return 0;
    for (size_t i = 0; i < m.rows; i++)
        scale_row(m.data + i * m.stride, m.data + i * m.stride, m.columns,
                  before->scale[i] + before->offset);
    for (size_t k = 0; k < m.columns && !before->rms; k++) {
        double mean = 0;
        for (size_t i = 0; i < m.rows; i++)
            mean += (double)m.data[i * m.stride + k] / (double)m.rows;
        for (size_t i = 0; i < m.rows; i++)
            m.data[i * m.stride + k] -= (float)mean;
    }
    return 0;
}

/* W_O, transposed, with the norm of what is added. */
static int read_out(struct part *part, const struct model_view *view,
                    const struct attention_weights *w)
{
    const struct config *c = view->config;
    struct arena arena = {0};
    struct matrix m = part->columns;
    struct matrix out = {arena_alloc(&arena, m.columns, m.rows * sizeof(float), view->err),
                         m.columns, m.rows, m.rows};
    if (!out.data)
        return -1;
    weight_copy(out.data, out.columns, &w->out, (struct weight_piece){0, out.rows, 0});
    if (c->norm_out)
        circuits_apply_scales(out, &w->post);
    transpose(m, out);
    arena_release(&arena);
    return 0;
}

static double product(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static const double *squares_of(const struct part *part, size_t head, size_t heads)
{
    return part->squares + head / (heads / part->heads) * part->size * part->size;
}

static double length(const struct part *x, const struct part *y, size_t head, size_t heads)
{
    return sqrt(product(squares_of(x, head, heads), squares_of(y, head, heads), x->size * x->size));
}

static int read_layer(struct layer *layer, const struct model_view *view, size_t number,
                      struct arena *arena)
{
    const struct config *c = view->config;
    struct block_weights block;
    const struct attention_weights *w = &block.self;
    struct err *err = view->err;
    bool normed = c->head_norm != HEAD_NORM_NONE;
    if (weights_block(view->weights, number, SITE_LN_1_POST, &block, err) ||
        new_part(&layer->q, view, c->n_head, c->d_k, arena) ||
        new_part(&layer->k, view, c->n_kv_head, c->d_k, arena) ||
        new_part(&layer->v, view, c->n_kv_head, c->d_v, arena) ||
        new_part(&layer->o, view, c->n_head, c->d_v, arena) ||
        read_part(&layer->q, view, &w->q, &w->norm, normed ? &w->q_norm : NULL) ||
        read_part(&layer->k, view, &w->k, &w->norm, normed ? &w->k_norm : NULL) ||
        read_part(&layer->v, view, &w->v, &w->norm, NULL) || read_out(&layer->o, view, w) ||
        square(&layer->q, arena, err) || square(&layer->k, arena, err) ||
        square(&layer->v, arena, err) || square(&layer->o, arena, err))
        return -1;
    layer->lengths = arena_alloc(arena, c->n_head, sizeof *layer->lengths, err);
    for (size_t head = 0; layer->lengths && head < c->n_head; head++)
        layer->lengths[head] = length(&layer->v, &layer->o, head, c->n_head);
    return layer->lengths ? 0 : -1;
}

/* ‖V·M·Yᵀ‖ of a head and a later one: m [dv, d], in `room` for as many twice. */
static double composed(const double *v, struct matrix m, const double *y, double *room)
{
    size_t rows = m.rows;
    size_t columns = m.columns;
    double *left = room;
    double *right = room + rows * columns;
    memset(room, 0, 2 * rows * columns * sizeof *room);
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < rows; k++)
            for (size_t n = 0; n < columns; n++)
                left[i * columns + n] += v[i * rows + k] * (double)m.data[k * m.stride + n];
        for (size_t k = 0; k < columns; k++)
            for (size_t n = 0; n < columns; n++)
                right[i * columns + n] += (double)m.data[i * m.stride + k] * y[k * columns + n];
    }
    double sum = product(left, right, rows * columns);
    return sum > 0 ? sqrt(sum) : 0;
}

/* The cells of a layer and a later one. */
static int compose_layers(float *cells, const struct model_view *view, const struct layer *first,
                          const struct part *x, const struct part *y)
{
    const struct config *c = view->config;
    size_t heads = c->n_head;
    size_t across = c->n_layer * heads;
    struct arena arena = {0};
    struct weight w = {.data = x->columns.data,
                       .in = x->columns.rows,
                       .out = x->columns.columns,
                       .stride = x->columns.stride};
    size_t rows = heads * c->d_v;
    struct matrix out = {arena_alloc(&arena, rows, c->n_embd * sizeof(float), view->err), rows,
                         c->n_embd, c->n_embd};
    struct matrix m = {arena_alloc(&arena, rows, w.out * sizeof(float), view->err), rows, w.out,
                       w.out};
    double *room = arena_alloc(&arena, 2 * c->d_v * x->size, sizeof *room, view->err);
    bool ready = out.data && m.data && room;
    if (ready) {
        transpose(out, first->o.columns);
        linear(view->machine, m, out, &w, ACTIVATION_NONE);
    }
    for (size_t i = 0; i < heads * heads && ready; i++) {
        size_t one = i / heads;
        size_t later = i % heads;
        struct matrix both = matrix_columns(matrix_rows(m, one * c->d_v, c->d_v),
                                            later / (heads / x->heads) * x->size, x->size);
        double lengths = first->lengths[one] * length(x, y, later, heads);
        double found =
            composed(squares_of(&first->v, one, heads), both, squares_of(y, later, heads), room);
        cells[one * across + later] = lengths > 0 ? (float)(found / lengths) : NAN;
    }
    arena_release(&arena);
    return ready ? 0 : -1;
}

int circuits_compose(float *values, enum composition way, struct viewer *viewer, struct err *err)
{
    const struct config *c = &viewer->model.config;
    struct model_view view = {c, &viewer->model.weights, &viewer->machine, err};
    struct arena arena = {0};
    size_t across = c->n_layer * c->n_head;
    if (circuits_check(&viewer->model, false, err))
        return -1;
    struct layer *layers = arena_alloc(&arena, c->n_layer, sizeof *layers, err);
    for (size_t i = 0; i < across * across; i++)
        values[i] = NAN;
    int failed = !layers;
    for (size_t later = 0; later < c->n_layer && !failed; later++) {
        struct layer *at = &layers[later];
        failed = read_layer(at, &view, later, &arena);
        const struct part *x = way == COMPOSE_Q ? &at->q : way == COMPOSE_K ? &at->k : &at->v;
        const struct part *y = way == COMPOSE_Q ? &at->k : way == COMPOSE_K ? &at->q : &at->o;
        for (size_t first = 0; first < later && !failed; first++)
            failed = compose_layers(values + first * c->n_head * across + later * c->n_head, &view,
                                    &layers[first], x, y);
    }
    arena_release(&arena);
    return failed ? -1 : 0;
}

int circuits_report(struct report *report, enum composition way, struct viewer *viewer,
                    struct arena *arena, struct err *err)
{
    const struct config *c = &viewer->model.config;
    double baseline = 1 / sqrt((double)c->n_embd);
    size_t heads = c->n_layer * c->n_head;
    float *values = arena_alloc(arena, heads * heads, sizeof *values, err);
    struct label *labels = arena_alloc(arena, heads, sizeof *labels, err);
    struct sheet *sheet = arena_alloc(arena, 1, sizeof *sheet, err);
    struct kept *kept = arena_alloc(arena, 1, sizeof *kept, err);
    struct facts *facts = facts_new(arena, err);
    if (!values || !labels || !sheet || !kept || !facts ||
        circuits_compose(values, way, viewer, err))
        return -1;
    for (size_t i = 0; i < heads; i++)
        if (label_of_head(&labels[i], i / c->n_head, i % c->n_head, arena, err))
            return -1;
    *sheet = (struct sheet){
        .tensor = arena_format(arena, err, "%s_composition", composition_names[way]),
        .layer = -1,
        .head = -1,
        .rows = {"head", heads, labels, 0},
        .columns = {"later", heads, labels, 0},
        .values = values,
    };
    *kept = kept_made(sheet);
    facts_float(facts, "baseline", baseline);
    *report = (struct report){.model = viewer->model.name,
                              .tensors = kept,
                              .tensor_count = 1,
                              .facts = &facts->frame,
                              .has_encoder = true};
    report->about = arena_format(arena, err, "%s-composition of heads; at random %.4f",
                                 (const char *[]){"Q", "K", "V"}[way], baseline);
    return sheet->tensor && report->about ? 0 : -1;
}
