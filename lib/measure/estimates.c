#include "measure/estimates.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/gemm.h"
#include "math/rows.h"
#include "measure/gradients.h"

/* --- cells of a site -------------------------------------------------------------------------- */

struct cells {
    const struct estimate_plan *plan;
    size_t columns;
    double *effects;
};

static int add_cells(void *context, const struct announcement *announced, struct err *err)
{
    const struct cells *cells = context;
    const struct estimate_plan *plan = cells->plan;
    (void)err;
    const struct tensor *from = &plan->values.from[announced->layer];
    const float *to = plan->values.to[announced->layer].data;
    const struct tensor *of = &announced->values;
    const size_t *stride = of->stride + of->rank - 2, head_stride = of->rank > 2 ? *of->stride : 0;
    if (!from->rank)
        return 0;
    const size_t columns = from->shape[from->rank - 1], rows = from->shape[from->rank - 2];
    double *effects = cells->effects + (size_t)announced->layer * cells->columns;
    assert(tensor_count(from) == tensor_count(of));
    for (size_t i = 0; i < tensor_count(from); i++) {
        const size_t head = i / (rows * columns), token = i / columns % rows;
        const double change = (double)to[i] - (double)from->data[i];
        size_t cell = plan->by_token ? token : i % columns;
        if (plan->by_head)
            cell = plan->by_token ? head * rows + token : head;
        const float gradient =
            of->data[head * head_stride + token * stride[0] + i % columns * stride[1]];
        effects[cell] += isfinite(change) ? change * (double)gradient : 0;
    }
    return 0;
}

int estimate_cells(double *effects, const struct estimate_plan *plan, enum site site,
                   size_t columns, struct err *err)
{
    struct cells cells = {plan, columns, effects};
    struct arena arena = {0};
    struct selection selection = {.sites = SITE_SET(site)};
    struct gradient_walk walk = {.viewer = plan->viewer,
                                 .text = &plan->text,
                                 .question = plan->question,
                                 .selection = &selection,
                                 .sink = add_cells,
                                 .context = &cells,
                                 .arena = &arena};
    int failed = selection_layers(&selection, NULL, &plan->viewer->model.config, &arena, err) ||
                 gradient_walk(&walk, err);
    arena_release(&arena);
    return err_if(failed);
}

/* --- edges ------------------------------------------------------------------------------------ */

/* A sublayer, its first writer and reader, and the number of writers that come before it. */
struct edge_part {
    const struct sublayer *s;
    size_t layer, writer, reader, seen;
};

static bool is_mlp(const struct edge_part *part)
{
    return part->s->kind == SUBLAYER_MLP;
}

int edges_find(struct edges *edges, const struct viewer *viewer, struct arena *arena,
               struct err *err)
{
    const struct config *c = &viewer->model.config;
    const struct stack *stack = stack_of(c, PART_SENTENCE);
    struct edge_part *parts = arena_alloc(arena, stack->layers * SUBLAYERS_MAX, sizeof *parts, err);
    *edges = (struct edges){.parts = parts, .writers = 1};
    for (size_t layer = 0; parts && layer < stack->layers; layer++) {
        const struct layer *own = &stack->layer[layer];
        const size_t at_start = edges->writers;
        for (const struct sublayer *s = own->sublayers; s < own->sublayers + own->count; s++) {
            const char *found = s->kind == SUBLAYER_ATTEND_SOURCE ? "cross-attention"
                                : s->norm_out                     ? "norms of outputs"
                                : s->norm_after                   ? "norms of sums"
                                : s->adds_to_normed ? "outputs added to the normed input"
                                : s->replaces       ? "no residual connections"
                                                    : NULL;
            if (found)
                return err_unsupported(err,
                                       "--over edges: expected parts that add their outputs to the "
                                       "stream, found %s in '%s': use --over heads or mlp_out",
                                       found, viewer->model.name);
            parts[edges->count++] =
                (struct edge_part){s, layer, edges->writers, edges->readers,
                                   s->reads == READS_STREAM ? edges->writers : at_start};
            edges->writers += s->kind == SUBLAYER_MLP ? 1 : s->head.heads;
            edges->readers += s->kind == SUBLAYER_MLP ? 1 : 3 * s->head.heads;
        }
    }
    edges->readers++; /* the logits */
    return err_if(!parts);
}

/* Append a label, "1.2.q" for people and "L1H2.q" for data. */
static void add_label(struct label *labels, size_t at, const struct edge_part *part, size_t head,
                      const char *ending, struct arena *arena, struct err *err)
{
    struct label label = label_of_head(part->layer, head, arena, err);
    if (is_mlp(part)) {
        label.text = arena_format(arena, err, "%zu.mlp", part->layer);
        label.plain = arena_format(arena, err, "L%zu.mlp", part->layer);
    } else if (*ending) {
        label.text = arena_format(arena, err, "%s.%s", label.text, ending);
        label.plain = arena_format(arena, err, "%s.%s", label.plain, ending);
    }
    label.exact = label.plain;
    labels[at] = label;
}

int edges_axes(struct axis *writers, struct axis *readers, const struct edges *edges,
               struct arena *arena, struct err *err)
{
    static const char *const endings[] = {"q", "k", "v"};
    struct label *from = arena_alloc(arena, edges->writers, sizeof *from, err);
    struct label *to = arena_alloc(arena, edges->readers, sizeof *to, err);
    if (!from || !to)
        return -1;
    from[0] = (struct label){"embed", "embed", "embed"};
    to[edges->readers - 1] = (struct label){"logits", "logits", "logits"};
    for (const struct edge_part *part = edges->parts; part < edges->parts + edges->count; part++) {
        const size_t heads = is_mlp(part) ? 1 : part->s->head.heads;
        for (size_t head = 0; head < heads; head++)
            add_label(from, part->writer + head, part, head, "", arena, err);
        for (size_t i = 0; i < (is_mlp(part) ? 1 : 3 * heads); i++)
            add_label(to, part->reader + i, part, i % heads, endings[i / heads], arena, err);
    }
    *writers = (struct axis){"writer", edges->writers, from, 0, NULL, 0};
    *readers = (struct axis){"reader", edges->readers, to, 0, NULL, 0};
    return err_if(err->kind);
}

struct edge_walk {
    const struct estimate_plan *plan;
    const struct edges *edges;
    double *effects;
    size_t tokens, width;
    struct matrix changes;   /* [writers, T·C] of the stream at all tokens */
    struct matrix gradients; /* [readers of a sublayer, T·C] */
    struct arena arena;
};

/* The change of what a head or an MLP adds to the stream. */
static int write_part(struct edge_walk *w, const struct edge_part *part, struct arena *arena,
                      struct err *err)
{
    const struct estimate_plan *plan = w->plan;
    const struct head_rule *rule = &part->s->head;
    const struct estimate_values *values = is_mlp(part) ? &plan->outs : &plan->values;
    const struct tensor *from = &values->from[part->layer], *to = &values->to[part->layer];
    const size_t size = tensor_count(from), d = rule->d_v, heads = is_mlp(part) ? 1 : rule->heads;
    struct matrix out = {matrix_row(w->changes, part->writer), heads * w->tokens, w->width,
                         w->width};
    struct matrix apart = {NULL, heads * w->tokens, heads * d,
                           heads * d}; /* a head in each block */
    struct weight weight;
    if (is_mlp(part)) {
        for (size_t i = 0; i < size; i++)
            out.data[i] = to->data[i] - from->data[i];
    } else {
        apart.data = arena_alloc(arena, apart.rows * apart.columns, sizeof *apart.data, err);
        if (!apart.data ||
            weights_matrix(&plan->viewer->model.weights,
                           slot_of(PART_SENTENCE, SLOT_O, part->layer), &weight, err))
            return -1;
        for (size_t i = 0; i < size; i++)
            matrix_row(apart, i / d)[i / d / w->tokens * d + i % d] = to->data[i] - from->data[i];
        weight.bias = NULL;
        linear(&plan->viewer->machine, out, apart, &weight, ACTIVATION_NONE);
    }
    scale_row(out.data, out.data, out.rows * w->width, part->s->factor);
    return 0;
}

static int write_changes(struct edge_walk *w, struct err *err)
{
    const struct estimate_values *streams = &w->plan->streams;
    struct arena arena = {0};
    int failed = 0;
    for (size_t i = 0; i < w->changes.columns; i++)
        w->changes.data[i] = streams->to->data[i] - streams->from->data[i];
    for (size_t i = 0; i < w->edges->count && !failed; i++) {
        failed = write_part(w, &w->edges->parts[i], &arena, err);
        arena_clear(&arena);
    }
    arena_release(&arena);
    return failed;
}

/* Add the products of the gradients of `count` readers with the changes that came before them. */
static int add_edges(struct edge_walk *w, size_t reader, size_t count, size_t seen, struct err *err)
{
    const struct weight gradients = {
        .in = w->gradients.columns,
        .out = count,
        .stride = count,
        .rows = {(const char *)w->gradients.data, DTYPE_F32, {0, count, count}, 0},
    };
    struct arena arena = {0};
    struct matrix y = {arena_room(&arena, seen * count, sizeof(float), err), seen, count, count};
    if (y.data)
        linear(&w->plan->viewer->machine, y, matrix_rows(w->changes, 0, seen), &gradients,
               ACTIVATION_NONE);
    for (size_t i = 0; y.data && i < seen * count; i++)
        w->effects[i / count * w->edges->readers + reader + i % count] +=
            (double)y.data[i] / (double)w->plan->steps;
    arena_release(&arena);
    return err_if(!y.data);
}

static int read_part(void *context, const struct back_reader *reader, struct err *err)
{
    struct edge_walk *w = context;
    const struct edge_part *part = w->edges->parts;
    while (part->layer != reader->layer || is_mlp(part) != (reader->site == SITE_MLP_OUT))
        part++;
    const size_t heads = is_mlp(part) ? 1 : part->s->head.heads;
    const size_t count = is_mlp(part) ? 1 : 3 * heads;
    const size_t at = is_mlp(part) ? 0 : (size_t)(reader->site - SITE_Q) * heads + reader->head;
    copy_rows((struct matrix){matrix_row(w->gradients, at), w->tokens, w->width, w->width},
              reader->gradient);
    return at + 1 < count ? 0 : add_edges(w, part->reader, count, part->seen, err);
}

/* The logits read what leaves the last sublayer. */
static int read_logits(void *context, const struct announcement *announced, struct err *err)
{
    struct edge_walk *w = context;
    const struct edge_part *last = &w->edges->parts[w->edges->count - 1];
    if (announced->layer != (int)last->layer)
        return 0;
    tensor_copy(w->gradients.data, &announced->values);
    return add_edges(w, w->edges->readers - 1, 1, w->edges->writers, err);
}

/* The rows of tokens of a step, or NULL: those of the text. */
static int make_rows(float **rows, const struct edge_walk *w, size_t step, struct arena *arena,
                     struct err *err)
{
    const struct estimate_plan *plan = w->plan;
    const struct stack *stack = stack_of(&plan->viewer->model.config, PART_SENTENCE);
    const size_t width = stack->embed.width, count = w->tokens * width;
    const float part = (float)step / (float)plan->steps;
    struct matrix from = {NULL, w->tokens, width, width}, to = from;
    *rows = NULL;
    if (!step)
        return 0;
    from.data = arena_room(arena, count, sizeof *from.data, err);
    to.data = arena_room(arena, count, sizeof *to.data, err);
    if (!from.data || !to.data)
        return -1;
    embed_tokens(&plan->viewer->model.weights, stack, &plan->text, from);
    embed_tokens(&plan->viewer->model.weights, stack, plan->other, to);
    for (size_t i = 0; i < count; i++)
        from.data[i] += part * (to.data[i] - from.data[i]);
    *rows = from.data;
    return 0;
}

int estimate_edges(double *effects, const struct estimate_plan *plan, const struct edges *edges,
                   struct err *err)
{
    struct edge_walk w = {.plan = plan,
                          .edges = edges,
                          .effects = effects,
                          .tokens = plan->text.count,
                          .width = plan->viewer->model.config.n_embd};
    const size_t row = w.tokens * w.width;
    const struct edge_part *last = &edges->parts[edges->count - 1];
    struct selection selection = {.sites = SITE_SET(sublayer_end(last->s))};
    struct arena arena = {0};
    size_t most = 1;
    for (size_t i = 0; i < edges->count; i++)
        most = is_mlp(&edges->parts[i]) || most > 3 * edges->parts[i].s->head.heads
                   ? most
                   : 3 * edges->parts[i].s->head.heads;
    w.changes = (struct matrix){arena_alloc(&w.arena, edges->writers * row, sizeof(float), err),
                                edges->writers, row, row};
    w.gradients =
        (struct matrix){arena_alloc(&w.arena, most * row, sizeof(float), err), most, row, row};
    int failed = !w.changes.data || !w.gradients.data || write_changes(&w, err) ||
                 selection_layers(&selection, NULL, &plan->viewer->model.config, &w.arena, err);
    memset(effects, 0, edges->writers * edges->readers * sizeof *effects);
    for (size_t step = 0; step < plan->steps && !failed; step++) {
        struct text text = plan->text;
        float *rows = NULL;
        failed = make_rows(&rows, &w, step, &arena, err);
        text.rows = rows;
        struct gradient_walk walk = {.viewer = plan->viewer,
                                     .text = &text,
                                     .question = plan->question,
                                     .selection = &selection,
                                     .sink = read_logits,
                                     .context = &w,
                                     .reader = read_part,
                                     .arena = &arena};
        failed = failed || gradient_walk(&walk, err);
        arena_clear(&arena);
    }
    for (size_t i = 0; i < edges->count; i++) {
        const struct edge_part *part = &edges->parts[i];
        const size_t count = is_mlp(part) ? 1 : 3 * part->s->head.heads;
        for (size_t writer = part->seen; writer < edges->writers; writer++)
            for (size_t reader = part->reader; reader < part->reader + count; reader++)
                effects[writer * edges->readers + reader] = NAN;
    }
    arena_release(&arena);
    arena_release(&w.arena);
    return err_if(failed);
}

double estimate_bytes(const struct config *config, const struct text_with_source *pair,
                      bool of_edges)
{
    const size_t heads = config->n_layer * (config->n_head + 1) + 1 + 3 * config->n_head;
    return gradient_bytes(config, pair) + (of_edges
                                               ? (double)heads * (double)config->n_embd *
                                                     (double)pair->sentence.count * sizeof(float)
                                               : 0);
}
