#include "measure/estimates.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/gemm.h"
#include "math/rows.h"
#include "measure/gradients.h"
#include "model/head_name.h"
#include "pass/tap.h"

/* --- cells of a site -------------------------------------------------------------------------- */

struct effect_cells {
    const struct estimate_plan *plan;
    size_t columns;
    double *effects;
};

static int add_cells(void *context, const struct announcement *announced, struct err *err)
{
    const struct effect_cells *cells = context;
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
    struct effect_cells cells = {plan, columns, effects};
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

/* The writers of a sublayer (its contexts, or its MLP) and its readers (q, k and v of its heads, or
 * its MLP). `writer` and `reader` are the indices of its first writer and reader, `writers` and
 * `readers` their numbers; `seen` is the number of writers whose outputs the sublayer reads: all
 * earlier ones or, if it does not read the stream after the sublayer before it, only the
 * writers of earlier layers. */
struct edge_part {
    const struct sublayer *s;
    size_t layer, writer, reader, writers, readers, seen;
};

static bool is_mlp(const struct edge_part *part)
{
    return part->s->kind == SUBLAYER_MLP;
}

int edges_find(struct edges *edges, const struct viewer *viewer, struct arena *arena,
               struct err *err)
{
    const struct stack *stack = stack_of(&viewer->model.config, BRANCH_TEXT);
    struct edge_part *parts = arena_alloc(arena, stack->layers * SUBLAYERS_MAX, sizeof *parts, err);
    *edges = (struct edges){.parts = parts, .writers = 1};
    for (size_t layer = 0; parts && layer < stack->layers; layer++) {
        const struct layer *own = &stack->layer[layer];
        const size_t at_start = edges->writers;
        for (const struct sublayer *s = own->sublayers; s < own->sublayers + own->count; s++) {
            const size_t heads = s->kind == SUBLAYER_MLP ? 0 : s->head.heads;
            const char *found = s->kind == SUBLAYER_ATTEND_SOURCE ? "cross-attention"
                                : s->kind == SUBLAYER_MIX         ? "layers that keep a state"
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
            struct edge_part *part = &parts[edges->count++];
            *part = (struct edge_part){s,
                                       layer,
                                       edges->writers,
                                       edges->readers,
                                       heads ? context_heads(&s->head) : 1,
                                       heads ? 3 * heads : 1,
                                       s->reads == READS_STREAM ? edges->writers : at_start};
            edges->writers += part->writers;
            edges->readers += part->readers;
        }
    }
    edges->readers++; /* the last reader: the logits */
    return err_if(!parts);
}

/* Make the label of a writer or reader: "L1H2.q"; of an MLP "L1.mlp". */
static struct label label_of(const struct edge_part *part, size_t head, const char *ending,
                             struct arena *arena, struct err *err)
{
    char name[HEAD_NAME_BYTES];
    const char *text =
        is_mlp(part) ? arena_format(arena, err, "L%zu.mlp", part->layer)
                     : arena_format(arena, err, "%s%s", head_name(name, part->layer, head), ending);
    return (struct label){text, text, text};
}

int edges_axes(struct axis *writers, struct axis *readers, const struct edges *edges,
               struct arena *arena, struct err *err)
{
    static const char *const endings[] = {".q", ".k", ".v"};
    struct label *from = arena_alloc(arena, edges->writers, sizeof *from, err);
    struct label *to = arena_alloc(arena, edges->readers, sizeof *to, err);
    if (!from || !to)
        return -1;
    from[0] = (struct label){"embed", "embed", "embed"};
    to[edges->readers - 1] = (struct label){"logits", "logits", "logits"};
    for (const struct edge_part *part = edges->parts; part < edges->parts + edges->count; part++) {
        const size_t heads = is_mlp(part) ? 1 : part->s->head.heads;
        for (size_t i = 0; i < part->writers; i++)
            from[part->writer + i] = label_of(part, i, "", arena, err);
        for (size_t i = 0; i < part->readers; i++)
            to[part->reader + i] = label_of(part, i % heads, endings[i / heads], arena, err);
    }
    *writers = (struct axis){"writer", edges->writers, from, 0, NULL, 0};
    *readers = (struct axis){"reader", edges->readers, to, 0, NULL, 0};
    return err_if(err->kind);
}

struct edge_walk {
    const struct estimate_plan *plan;
    const struct edges *edges;
    double *effects;
    struct matrix changes;   /* [writers, T·C] how each writer's patch changes the stream, at all
                              * tokens */
    struct matrix gradients; /* [readers of a sublayer, T·C] gradients at the readers' inputs */
};

/* Fill y with the differences to - from. In y each of `heads`, which may be side by side in
 * `values`, has its own rows and columns, with zeros elsewhere: y · W_O is then each head's
 * contribution to the stream. */
static void subtract(struct matrix y, const struct estimate_values *values, size_t layer,
                     size_t heads)
{
    const struct tensor *from = &values->from[layer], *to = &values->to[layer];
    const size_t columns = from->shape[from->rank - 1], rows = from->shape[from->rank - 2];
    const size_t d = from->rank > 2 ? columns : columns / heads;
    for (size_t i = 0; i < tensor_count(from); i++) {
        const size_t head = from->rank > 2 ? i / columns / rows : i % columns / d;
        matrix_row(y, head * rows + i / columns % rows)[head * d + i % d] =
            to->data[i] - from->data[i];
    }
}

/* Compute how each writer's patch changes the stream. */
static int write_changes(struct edge_walk *w, size_t width, struct err *err)
{
    const struct estimate_plan *plan = w->plan;
    const size_t tokens = plan->text.count;
    struct arena arena = {0};
    subtract((struct matrix){w->changes.data, tokens, width, width}, &plan->streams, 0, 1);
    for (size_t i = 0; i < w->edges->count && !err->kind; i++) {
        const struct edge_part *part = &w->edges->parts[i];
        const size_t rows = part->writers * tokens;
        struct matrix out = {matrix_row(w->changes, part->writer), rows, width, width};
        struct weight weight;
        if (is_mlp(part)) {
            subtract(out, &plan->outs, part->layer, 1);
        } else {
            const size_t columns = part->s->head.heads * part->s->head.d_v;
            struct matrix apart = matrix_new(rows, columns, &arena, err);
            if (!apart.data ||
                weights_matrix(&plan->viewer->model.weights,
                               slot_of(BRANCH_TEXT, SLOT_O, part->layer), &weight, err))
                break;
            weight.bias = NULL;
            subtract(apart, &plan->values, part->layer, part->writers);
            linear(&plan->viewer->machine, out, apart, &weight, ACTIVATION_NONE);
        }
        scale_row(out.data, out.data, rows * width, part->s->factor);
        arena_clear(&arena);
    }
    arena_release(&arena);
    return err_if(err->kind);
}

/* Add the effects of the edges to `count` readers: the products of the readers' gradients and the
 * changes of the `seen` writers that come before them. */
static int add_edges(struct edge_walk *w, size_t reader, size_t count, size_t seen, struct err *err)
{
    const struct weight gradients = {
        .in = w->gradients.columns,
        .out = count,
        .rows = {(const char *)w->gradients.data, DTYPE_F32, {0, count, count}, 0},
    };
    struct arena arena = {0};
    struct matrix y = matrix_new(w->edges->writers, count, &arena, err);
    if (y.data)
        linear(&w->plan->viewer->machine, matrix_rows(y, 0, seen), matrix_rows(w->changes, 0, seen),
               &gradients, ACTIVATION_NONE);
    for (size_t i = 0; y.data && i < y.rows * count; i++) {
        double *effect = &w->effects[i / count * w->edges->readers + reader + i % count];
        *effect = i < seen * count ? *effect + (double)y.data[i] / (double)w->plan->steps : NAN;
    }
    arena_release(&arena);
    return err_if(!y.data);
}

static int read_part(void *context, const struct back_reader *reader, struct err *err)
{
    struct edge_walk *w = context;
    const struct edge_part *part = w->edges->parts;
    const struct matrix of = reader->gradient;
    while (part->layer != reader->layer || is_mlp(part) != (reader->site == SITE_MLP_OUT))
        part++;
    const size_t at =
        is_mlp(part) ? 0 : (size_t)(reader->site - SITE_Q) * part->s->head.heads + reader->head;
    copy_rows((struct matrix){matrix_row(w->gradients, at), of.rows, of.columns, of.columns}, of);
    return at + 1 < part->readers ? 0 : add_edges(w, part->reader, part->readers, part->seen, err);
}

/* Add the edges to the last reader, the logits, which read the stream that leaves the last
 * sublayer. */
static int read_logits(void *context, const struct announcement *announced, struct err *err)
{
    struct edge_walk *w = context;
    if (announced->layer != (int)w->edges->parts[w->edges->count - 1].layer)
        return 0;
    tensor_copy(w->gradients.data, &announced->values);
    return add_edges(w, w->edges->readers - 1, 1, w->edges->writers, err);
}

int estimate_edges(double *effects, const struct estimate_plan *plan, const struct edges *edges,
                   struct err *err)
{
    const struct config *c = &plan->viewer->model.config;
    const struct stack *stack = stack_of(c, BRANCH_TEXT);
    const size_t tokens = plan->text.count, row = tokens * stack->width;
    struct selection selection = {.sites =
                                      SITE_SET(sublayer_end(edges->parts[edges->count - 1].s))};
    struct arena arena = {0}, scratch = {0};
    struct matrix rows = matrix_new(tokens, stack->embed.width, &arena, err);
    struct matrix from = matrix_new(tokens, stack->embed.width, &arena, err);
    struct matrix to = matrix_new(tokens, stack->embed.width, &arena, err);
    struct edge_walk w = {plan, edges, effects, matrix_new(edges->writers, row, &arena, err),
                          matrix_new(3 * stack->heads, row, &arena, err)};
    if (!err->kind && !selection_layers(&selection, NULL, c, &arena, err) &&
        !write_changes(&w, stack->width, err)) {
        embed_tokens(&plan->viewer->model.weights, stack, &plan->text, from);
        embed_tokens(&plan->viewer->model.weights, stack, plan->other, to);
    }
    memset(effects, 0, edges->writers * edges->readers * sizeof *effects);
    for (size_t step = 0; step < plan->steps && !err->kind; step++) {
        struct text text = plan->text;
        struct gradient_walk walk = {.viewer = plan->viewer,
                                     .text = &text,
                                     .question = plan->question,
                                     .selection = &selection,
                                     .sink = read_logits,
                                     .context = &w,
                                     .reader = read_part,
                                     .arena = &scratch};
        const float part = (float)step / (float)plan->steps;
        for (size_t i = 0; i < tokens * rows.columns; i++)
            rows.data[i] = from.data[i] + part * (to.data[i] - from.data[i]);
        text.rows = rows.data;
        gradient_walk(&walk, err);
        arena_clear(&scratch);
    }
    arena_release(&scratch);
    arena_release(&arena);
    return err_if(err->kind);
}

double estimate_bytes(const struct config *config, const struct text_with_source *pair,
                      bool of_edges)
{
    const size_t most = config->n_layer * (config->n_head + 1) + 1 + 3 * config->n_head;
    return gradient_bytes(config, pair) +
           (of_edges ? (double)(most * config->n_embd) * (double)pair->text.count * sizeof(float)
                     : 0);
}
