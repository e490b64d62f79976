/* back.c: the backward pass (back.h). A function whose name ends in _back computes the gradients
 * through the step of the forward pass after which it is named. */
#include "pass/back.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "math/machine.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/family/family.h"
#include "model/features.h"
#include "pass/pass.h"
#include "model/points.h"
#include "pass/tap.h"

/* --- the tape --------------------------------------------------------------------------------- */

static const float **place_of(const struct tape *tape, enum site site, int layer)
{
    return &tape->values[(size_t)(layer + 1) * SITE_COUNT + site];
}

const float *tape_of(const struct tape *tape, enum site site, int layer)
{
    return *place_of(tape, site, layer);
}

/* The context of `keep`, `lend` and `lend_rows`, which store the values of a pass in a tape. */
struct keeping {
    struct tape *tape;
    struct arena *arena;
    const struct config *config;
    size_t texts;
};

/* Return the memory of a site in the tape for all texts, with `count` floats for each text; NULL:
 * out of memory. */
static float *room_of(const struct keeping *keeping, enum site site, int layer, size_t count,
                      struct err *err)
{
    struct tape *tape = keeping->tape;
    const float **place = place_of(tape, site, layer);
    if (!*place)
        *place = arena_room(keeping->arena, count * keeping->texts, sizeof(float), err);
    return (float *)*place; /* the cast drops const, but the memory is in the arena and may be
                             * written */
}

/* The sink of a tape: copy a text's rows, whose heads are side by side. The stream that enters a
 * layer is not copied: it is the stream that left the previous layer. */
static int keep(void *context, const struct announcement *announced, struct err *err)
{
    const struct keeping *keeping = context;
    const struct tensor *values = &announced->values;
    const enum site post = SITE_OF(site_branch(announced->site), SITE_RESID_POST);
    const size_t rows = values->shape[values->rank - 2], count = tensor_count(values);
    const struct tensor joined = {
        values->data, 2, {rows, count / rows}, {values->stride[values->rank - 2], 1}};
    if (site_id(announced->site) == SITE_RESID_PRE && announced->layer > 0 &&
        tape_of(keeping->tape, post, announced->layer - 1)) {
        *place_of(keeping->tape, announced->site, announced->layer) =
            tape_of(keeping->tape, post, announced->layer - 1);
        return 0;
    }
    float *to = room_of(keeping, announced->site, announced->layer, count, err);
    if (!to)
        return -1;
    to += announced->text * count;
    if (to != values->data)
        tensor_copy(to, &joined);
    return 0;
}

static float *lend_rows(void *context, enum site site, int layer, size_t floats)
{
    const struct keeping *keeping = context;
    return room_of(keeping, site, layer, floats / keeping->texts, NULL);
}

/* The lender of a tape: lend the memory of an attention map in the tape, to which the pass writes
 * the map. */
static int lend(void *context, struct attention_map_loan *loan, struct err *err)
{
    const struct keeping *keeping = context;
    const size_t heads = stack_of(keeping->config, site_branch(loan->site))->heads;
    const size_t size = loan->queries * loan->keys;
    float *to = room_of(keeping, loan->site, loan->layer, heads * size, err);
    for (size_t head = 0; to && head < heads; head++)
        loan->heads[head] = to + (loan->text * heads + head) * size;
    return err_if(!to);
}

int tape_check(const struct run *run, struct err *err)
{
    const struct config *c = run->config;
    const struct mechanism *m = &c->mechanism;
    if (run->edits)
        return err_unsupported(err, "gradients: expected a run without edits");
    if (m->kind != ATTENTION_DENSE || m->renormalise || m->dropout > 0)
        return err_unsupported(err, "gradients: expected attention as the model has it");
    return features_expect(FOR_GRADIENTS, c, NULL, err);
}

/* Watch those values of a sublayer that the backward pass reads. */
static void watch_sublayer(struct watch *watch, const struct stack *stack, const struct sublayer *s,
                           size_t layer)
{
    enum { MOST = 9 };
    const enum site none = SITE_EMBEDDING, end = sublayer_end(s);
    const enum site sink = s->score.sink ? SITE_SINK : none;
    const enum site scores = s->score.cap > 0 ? SITE_SCORES : none;
    const enum site attention[MOST] = {SITE_Q,
                                       SITE_K,
                                       SITE_V,
                                       SITE_WEIGHTS,
                                       SITE_CONTEXT,
                                       sink,
                                       scores,
                                       context_map(&s->head),
                                       context_out(&s->head)};
    const enum site of_experts = s->mlp.mixture && s->mlp.mixture->beside ? SITE_LN_EXPERTS : none;
    const enum site mixture[MOST] = {SITE_ROUTER, SITE_EXPERT_WEIGHTS, of_experts};
    const enum site mlp[MOST] = {SITE_MLP_UP, SITE_MLP_ACT, s->mlp.gated ? SITE_MLP_GATE : none};
    const enum site *own = s->kind != SUBLAYER_MLP ? attention : s->mlp.mixture ? mixture : mlp;
    for (size_t i = 0; i < MOST; i++)
        if (own[i])
            watch_add(watch, SITE_OF(s->branch, own[i]), layer);
    if (end)
        watch_add(watch, SITE_OF(sublayer_stream_branch(s, end), end), layer);
    if (s->corrects)
        watch_add(watch, SITE_OF(stack->branch, SITE_CORRECTED), layer);
    if (s->norm_before && s->at_input)
        watch_add(watch, SITE_OF(s->branch, s->at_input), layer);
    if (s->norm_out)
        watch_add(watch, SITE_OF(s->branch, s->at_out), layer);
    if (s->norm_after || s->scales)
        watch_add(watch, SITE_OF(s->branch, s->norm_out ? s->at_out_norm : s->at_out), layer);
}

static void watch_stack(struct watch *watch, const struct stack *stack, size_t from)
{
    watch_add(watch, SITE_OF(stack->branch, stack->unembed.norm ? SITE_LN_F : SITE_EMBEDDING), 0);
    if (stack->embed.given || stack->copies.count)
        watch_add(watch, SITE_OF(stack->branch, SITE_EMBEDDING), 0);
    if (stack->copies.count)
        watch_add(watch, SITE_OF(stack->branch, SITE_MERGED), stack->layers - 1);
    for (size_t layer = from ? from - 1 : 0; stack->copies.count && layer < stack->layers; layer++)
        watch_add(watch, SITE_OF(stack->branch, SITE_STREAMS), layer);
    for (size_t layer = from; layer < stack->layers; layer++) {
        const struct layer *own = &stack->layer[layer];
        watch_add(watch, SITE_OF(stack->branch, SITE_RESID_PRE), layer);
        for (size_t i = 0; i < own->count; i++)
            watch_sublayer(watch, stack, &own->sublayers[i], layer);
    }
}

/* Watch all sites that the tape needs. If the pass starts at a layer, watch only the sites of this
 * layer that the tape lacks. */
static void watch_all(struct watch *watch, const struct tape *tape, const struct run *run)
{
    const struct config *c = run->config;
    for (const struct model_point *p = points_of(c); p < points_end(c); p++) {
        const size_t layer = (size_t)p->layer;
        const bool runs_again = tape->streams && p->layer >= 0 && p->site != SITE_RESID_PRE &&
                                site_branch(p->site) != BRANCH_SOURCE && layer + 1 < c->n_layer;
        if (run->start ? runs_again && layer == run->start->layer : !runs_again)
            watch_add(watch, p->site, layer);
    }
}

static int run_and_keep(struct tape *tape, const struct run *run, struct err *err)
{
    const struct config *c = run->config;
    struct watch watch;
    struct keeping keeping = {tape, run->start ? &tape->layer : tape->arena, c, run->batch->count};
    struct tap tap = {.watch = &watch,
                      .sink = keep,
                      .lend = lend,
                      .room = tape->lean ? lend_rows : NULL,
                      .context = &keeping};
    if (watch_init(&watch, c, keeping.arena, err))
        return -1;
    if (!tape->lean)
        watch_all(&watch, tape, run);
    if (tape->lean && config_reads_source(c))
        watch_stack(&watch, stack_of(c, BRANCH_SOURCE), 0);
    if (tape->lean)
        watch_stack(&watch, stack_of(c, BRANCH_TEXT), tape->from);
    return forward(run, &tap, tape->lean ? &tape->scratch : keeping.arena, err);
}

int tape_run(struct tape *tape, const struct run *run, struct err *err)
{
    const struct config *c = run->config;
    size_t layers = num_max(c->n_layer, stack_of(c, BRANCH_SOURCE)->layers);
    tape->streams &= config_starts_anywhere(c);
    tape->values = arena_alloc(tape->arena, (layers + 1) * SITE_COUNT, sizeof *tape->values, err);
    return err_if(!tape->values || tape_check(run, err) || run_and_keep(tape, run, err));
}

/* Run a layer again, from the stream that enters it, and keep the values of all its sites in the
 * tape. */
static int run_layer_again(struct tape *tape, const struct run *run, size_t layer, struct err *err)
{
    const size_t count = run->batch->count;
    const float *stream = tape_of(tape, SITE_RESID_PRE, (int)layer);
    struct run again = *run;
    arena_clear(&tape->layer);
    const float **streams = arena_alloc(&tape->layer, count, sizeof *streams, err);
    const struct stream_start start = {layer, streams};
    for (size_t i = 0; i < count && streams; i++)
        streams[i] = stream + i * run->batch->texts->count * run->config->n_embd;
    again.start = &start;
    return err_if(!streams || run_and_keep(tape, &again, err));
}

/* --- the walk --------------------------------------------------------------------------------- */

struct matrix walk_matrix(const float *data, size_t rows, size_t columns)
{
    return (struct matrix){(float *)data, rows, columns, columns}; /* the cast drops const, but the
                                                                    * values are only read */
}

/* walk_zeros: return a new matrix of zeros. walk_room: return a new matrix with undefined numbers.
 * The matrix has no data if there is no memory. */
struct matrix walk_zeros(struct walk *w, size_t rows, size_t columns)
{
    return walk_matrix(arena_alloc(w->arena, rows * columns, sizeof(float), w->err), rows, columns);
}

struct matrix walk_room(struct walk *w, size_t rows, size_t columns)
{
    return walk_matrix(arena_room(w->arena, rows * columns, sizeof(float), w->err), rows, columns);
}

struct matrix walk_copy(struct walk *w, struct matrix x)
{
    struct matrix copy = walk_room(w, x.rows, x.columns);
    if (copy.data)
        copy_rows(copy, x);
    return copy;
}

/* Return a matrix of zeros in the tape's arena, which is not cleared after each sublayer. */
struct matrix walk_lasting(struct walk *w, size_t rows, size_t columns)
{
    return walk_matrix(arena_alloc(w->back->tape->arena, rows * columns, sizeof(float), w->err),
                       rows, columns);
}

void walk_scale(struct matrix x, float factor)
{
    for (size_t row = 0; row < x.rows && factor != 1; row++)
        scale_row(matrix_row(x, row), matrix_row(x, row), x.columns, factor);
}

const float *walk_value(const struct walk *w, enum site_branch branch, enum site id)
{
    bool in_layer = site_row(id)->in_layer;
    return tape_of(w->back->tape, SITE_OF(branch, id), in_layer ? (int)w->layer : -1);
}

int walk_show(struct walk *w, enum site_branch branch, enum site id, struct tensor own)
{
    const struct back *back = w->back;
    const size_t size = tensor_count(&own);
    struct announcement announced = {
        .site = SITE_OF(branch, id),
        .layer = site_row(id)->in_layer ? (int)w->layer : -1,
        .values = own,
    };
    for (size_t i = 0; i < back->seed_count; i++)
        if (back->seeds[i].site == announced.site && back->seeds[i].layer == announced.layer)
            /* the cast drops const; the gradient is in the walk's own memory, so it may be
             * written */
            add_to_row((float *)own.data, back->seeds[i].values, size * w->texts);
    for (; back->sink && announced.text < w->texts; announced.text++) {
        if (back->sink(back->context, &announced, w->err))
            return -1;
        announced.values.data += size;
    }
    return 0;
}

int walk_show_rows(struct walk *w, enum site_branch branch, enum site id, struct matrix gradient)
{
    const size_t shape[] = {gradient.rows / w->texts, gradient.columns};
    return walk_show(w, branch, id, tensor_dense(gradient.data, 2, shape));
}

int walk_show_heads(struct walk *w, enum site_branch branch, enum site id, struct matrix gradient,
                    size_t heads)
{
    const size_t rows = gradient.rows / w->texts, width = gradient.columns / heads;
    const struct tensor own = {
        gradient.data, 3, {heads, rows, width}, {width, gradient.columns, 1}};
    return walk_show(w, branch, id, own);
}

/* --- blocks of rows --------------------------------------------------------------------------- */

enum { BLOCK_ROWS = 64 };

static void run_block(void *context, size_t round, size_t thread)
{
    struct row_operation block = *(const struct row_operation *)context;
    struct matrix *const matrices[] = {&block.y, &block.x, &block.more, &block.dx, &block.dy};
    (void)thread;
    block.first = round * BLOCK_ROWS;
    block.index = round;
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        if (matrices[i]->data)
            *matrices[i] = matrix_rows(*matrices[i], block.first,
                                       num_min(matrices[i]->rows - block.first, BLOCK_ROWS));
    block.run(&block);
}

static size_t block_count(size_t rows)
{
    return (rows + BLOCK_ROWS - 1) / BLOCK_ROWS;
}

void walk_rows(const struct walk *w, struct matrix over, struct row_operation operation)
{
    enum { COST = 8 }; /* estimated multiply-adds per element */
    double work = COST * (double)over.rows * (double)over.columns;
    pool_run(w->run->machine->pool, (struct loop){block_count(over.rows), work, run_block},
             &operation);
}

static void transpose_block(const struct row_operation *block)
{
    transpose(matrix_columns(block->whole, block->first, block->x.rows), block->x);
}

/* Return the transpose of x, with a stride that suits kernels. */
static struct matrix transposed(struct walk *w, struct matrix x)
{
    struct matrix y = {NULL, x.columns, x.rows, matrix_stride(x.rows)};
    y.data = walk_room(w, y.rows, y.stride).data;
    if (y.data)
        walk_rows(w, x, (struct row_operation){transpose_block, .x = x, .whole = y});
    return y;
}

static void sum_block(const struct row_operation *block)
{
    for (size_t row = 0; row < block->dy.rows; row++)
        add_to_row(matrix_row(block->whole, block->index), matrix_row(block->dy, row),
                   block->dy.columns);
}

/* --- gradients of parameters ------------------------------------------------------------------ */

/* Return the address to which the gradient of a slot's parameter is added: in the gradient of its
 * tensor, at the numbers of the slot's expert or head if it has one; NULL: the gradient is not
 * wanted. */
float *walk_gradient(const struct walk *w, struct slot slot, struct family_layout *layout)
{
    const struct back *back = w->back;
    size_t tensor = back->gradients ? weights_tensor(w->run->weights, slot, layout) : SIZE_MAX;
    return tensor == SIZE_MAX || !back->gradients[tensor]
               ? NULL
               : back->gradients[tensor] + layout->skipped;
}

/* Add all rows of `sums` to the gradient of a bias, or of the scales or shift of a norm. */
void walk_add_sums(const struct walk *w, struct slot slot, struct matrix sums)
{
    struct family_layout layout;
    float *gradient = walk_gradient(w, slot, &layout);
    for (size_t row = 0; gradient && row < sums.rows; row++) {
        const float *from = matrix_row(sums, row);
        if (!layout.view.stride)
            add_to_row(gradient + layout.view.first, from, sums.columns);
        for (size_t i = 0; layout.view.stride && i < sums.columns; i++)
            gradient[row_view_at(&layout.view, i)] += from[i];
    }
}

/* Add the gradients of W and b in y = x · W + b, summed in the order of rows. */
int walk_product_gradients(struct walk *w, struct slot slot, struct matrix dy, struct matrix x)
{
    struct family_layout layout, of_bias;
    float *gradient = walk_gradient(w, slot, &layout);
    if (gradient) {
        const struct row_view view = layout.view;
        const size_t length = layout.shape[layout.rank - 1];
        const struct matrix left = transposed(w, layout.transposed ? x : dy);
        const struct matrix right = layout.transposed ? dy : x;
        const struct weight factor = {
            .data = right.data, .in = right.rows, .out = right.columns, .stride = right.stride};
        struct matrix to = {gradient + (layout.transposed ? view.first : view.first * length),
                            left.rows, right.columns, length};
        if (!left.data)
            return -1;
        if (!view.stride) {
            linear_add(w->run->machine, to, (struct matrix){0}, left, &factor);
        } else {
            struct matrix sums = walk_room(w, left.rows, right.columns);
            if (!sums.data)
                return -1;
            linear(w->run->machine, sums, left, &factor, ACTIVATION_NONE);
            for (size_t row = 0; row < sums.rows && !layout.transposed; row++)
                add_to_row(gradient + row_view_at(&view, row) * length, matrix_row(sums, row),
                           length);
            for (size_t i = 0; i < sums.rows * sums.columns && layout.transposed; i++)
                gradient[i / sums.columns * length + row_view_at(&view, i % sums.columns)] +=
                    sums.data[i];
        }
    }
    if (walk_gradient(w, slot_bias(slot), &of_bias)) {
        struct matrix sums = walk_zeros(w, block_count(dy.rows), dy.columns);
        if (!sums.data)
            return -1;
        walk_rows(w, dy, (struct row_operation){sum_block, .dy = dy, .whole = sums});
        walk_add_sums(w, slot_bias(slot), sums);
    }
    return 0;
}

/* --- products and norms ----------------------------------------------------------------------- */

/* Return y = x · W + b. */
struct matrix walk_product(struct walk *w, struct slot slot, struct matrix x)
{
    struct weight weight;
    if (!x.data || weights_matrix(w->run->weights, slot, &weight, w->err))
        return (struct matrix){0};
    struct matrix y = walk_room(w, x.rows, weight.out);
    if (y.data)
        linear(w->run->machine, y, x, &weight, ACTIVATION_NONE);
    return y;
}

/* dx += dy · Wᵀ, for a dy that has only a few numbers other than 0. */
static int columns_back(struct walk *w, struct matrix dx, struct matrix dy,
                        const struct weight *weight)
{
    float *column = arena_room(w->arena, weight->in, sizeof *column, w->err);
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

/* total += x · factor or, if total.data is NULL, result = x · factor. */
static void multiply(struct machine *machine, struct matrix total, struct matrix result,
                     struct matrix x, const struct weight *factor)
{
    if (total.data)
        linear_add(machine, total, (struct matrix){0}, x, factor);
    else
        linear(machine, result, x, factor, ACTIVATION_NONE);
}

/* dx = dy · Wᵀ or, if `adds`, dx += dy · Wᵀ. If dy has only a few numbers other than 0, only their
 * columns of W are read. If W is stored as [out, in], this already is Wᵀ. Otherwise W is transposed
 * if it is smaller than dy; if not, rows of W times the transposed dy give the columns of dx. */
int walk_weight_back(struct walk *w, struct matrix dx, struct matrix dy,
                     const struct weight *weight, bool adds)
{
    enum { BLOCK = 256, FEW = 4 };
    const struct weight_rows *stored = &weight->rows;
    const struct row_view *view = &stored->view;
    size_t some = 0;
    if (!dx.data || !dy.data)
        return -1;
    for (size_t i = 0; i < dy.rows * dy.columns && some <= FEW; i++)
        some += matrix_row(dy, i / dy.columns)[i % dy.columns] != 0;
    const struct matrix none = {0}, total = adds ? dx : none, result = adds ? none : dx;
    if (some <= FEW && !adds)
        memset(dx.data, 0, dx.rows * dx.columns * sizeof *dx.data);
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
            multiply(w->run->machine, total, result, dy, &factor);
            return 0;
        }
    }
    if (weight->data && weight->in < dy.rows) { /* W is smaller than dy */
        struct matrix w_t = walk_room(w, weight->out, weight->in);
        const struct matrix own = {(float *)weight->data, weight->in, weight->out, weight->stride};
        const struct weight factor = {
            .data = w_t.data, .in = weight->out, .out = weight->in, .stride = weight->in};
        if (!w_t.data)
            return -1;
        walk_rows(w, own, (struct row_operation){transpose_block, .x = own, .whole = w_t});
        multiply(w->run->machine, total, result, dy, &factor);
        return 0;
    }
    struct matrix turned = walk_zeros(w, dy.columns, dy.rows),
                  product = walk_zeros(w, BLOCK, dy.rows);
    struct matrix columns = walk_zeros(w, dy.rows, BLOCK), rows = walk_zeros(w, BLOCK, weight->out);
    if (!turned.data || !product.data || !columns.data || !rows.data)
        return -1;
    transpose(turned, dy);
    if (!adds)
        memset(dx.data, 0, dx.rows * dx.columns * sizeof *dx.data);
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

/* dx += the gradient of x in y = x · W + b; also add the gradients of W and b. */
int walk_product_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                      struct matrix x)
{
    struct weight weight;
    return err_if(!dy.data || weights_matrix(w->run->weights, slot, &weight, w->err) ||
                  walk_product_gradients(w, slot, dy, x) ||
                  walk_weight_back(w, dx, dy, &weight, true));
}

/* Return the gradient of x in y = x · W + b; also add the gradients of W and b. */
struct matrix walk_product_gradient(struct walk *w, struct slot slot, struct matrix dy,
                                    struct matrix x)
{
    struct weight weight;
    if (!dy.data || weights_matrix(w->run->weights, slot, &weight, w->err) ||
        walk_product_gradients(w, slot, dy, x))
        return (struct matrix){0};
    struct matrix dx = walk_room(w, dy.rows, weight.in);
    return walk_weight_back(w, dx, dy, &weight, false) ? (struct matrix){0} : dx;
}

static void norm_block(const struct row_operation *block)
{
    float *sums = matrix_row(block->whole, block->index); /* sums of the gradients of scales, then
                                                           * of shifts */
    norm_rows_backward(block->dx, block->dy, block->x, block->own, sums, sums + block->dx.columns);
}

/* dx += the gradient of x, from dy, the gradient of norm(x). */
int walk_norm_back(struct walk *w, struct slot slot, struct matrix dx, struct matrix dy,
                   struct matrix x)
{
    struct norm norm;
    const size_t columns = x.columns;
    struct matrix sums = walk_zeros(w, block_count(x.rows), 2 * columns);
    if (!sums.data || !dx.data || !dy.data || !x.data ||
        weights_norm(w->run->weights, slot, &norm, w->err))
        return -1;
    if (mechanism_lacks(&w->config->mechanism, BLOCK_NORM)) {
        add_rows(dx, dy);
        return 0;
    }
    walk_rows(w, dx,
              (struct row_operation){norm_block, .dx = dx, .dy = dy, .x = x, .own = &norm,
                                     .whole = sums});
    walk_add_sums(w, slot, matrix_columns(sums, 0, columns));
    walk_add_sums(w, slot_bias(slot), matrix_columns(sums, columns, columns));
    return 0;
}

/* Return a copy of x, normed with the parameters of a slot. */
struct matrix walk_normed(struct walk *w, struct slot slot, struct matrix x)
{
    struct norm norm;
    struct matrix y = x.data ? walk_copy(w, x) : x;
    if (!y.data || weights_norm(w->run->weights, slot, &norm, w->err))
        return (struct matrix){0};
    if (!mechanism_lacks(&w->config->mechanism, BLOCK_NORM))
        norm_rows(y, y, &norm);
    return y;
}

/* --- the ends --------------------------------------------------------------------------------- */

static void enter_stack(struct walk *w, enum site_branch branch)
{
    const struct text *text = w->run->batch->texts;
    w->stack = stack_of(w->config, branch);
    w->tokens = branch == BRANCH_SOURCE ? text->source_count : text->count;
}

static bool is_seeded(const struct walk *w, enum site id)
{
    for (size_t i = 0; i < w->back->seed_count; i++)
        if (w->back->seeds[i].site == SITE_OF(w->stack->branch, id))
            return true;
    return false;
}

/* Return the stream that leaves the last layer. */
static struct matrix last_stream(struct walk *w)
{
    const struct stack *stack = w->stack;
    const float *values = walk_value(w, stack->branch, SITE_EMBEDDING);
    if (stack->layers) {
        const struct layer *last = &stack->layer[stack->layers - 1];
        w->layer = stack->layers - 1;
        values = walk_value(w, stack->branch,
                            stack->copies.count ? SITE_MERGED
                                                : sublayer_end(&last->sublayers[last->count - 1]));
    }
    return walk_matrix(values, w->texts * w->tokens, stack->width);
}

/* Return the input of the matrices that follow the last layer: the stream that left the layer, or
 * its final norm. */
static struct matrix left_of(struct walk *w)
{
    struct matrix left = last_stream(w);
    if (w->stack->unembed.norm)
        left.data = (float *)walk_value(w, w->stack->branch, SITE_LN_F); /* the cast drops const,
                                                                          * but the values are only
                                                                          * read */
    return left;
}

struct loss_rows {
    const struct back_loss *loss;
    const size_t *rows; /* indices of the rows for which logits were computed */
    float factor;
};

/* Compute the losses of the block's rows, and replace logits by their gradients. */
static void loss_block(const struct row_operation *block)
{
    const struct loss_rows *own = block->own;
    for (size_t i = 0; i < block->y.rows; i++) {
        const size_t row = own->rows[block->first + i];
        if (own->loss->of_numbers) {
            float *logit = matrix_row(block->y, i), target = 0;
            memcpy(&target, &own->loss->targets[row], sizeof target);
            const float error = *logit - target;
            own->loss->losses[row] = (double)error * (double)error;
            *logit = 2 * own->factor * error;
        } else if (!cross_entropy_row(matrix_row(block->y, i), block->y.columns,
                                      own->loss->targets[row], own->factor,
                                      &own->loss->losses[row]))
            own->loss->losses[row] = (double)NAN;
    }
}

/* Rows of the last layer's output for which logits are needed. */
struct end_rows {
    const size_t *rows; /* [count]: indices of the rows */
    size_t count;
    struct matrix left; /* the input of the matrices after the last layer, for these rows */
};

/* From the loss or the seeds, return the gradients of the logits as they were before the division
 * by the divisor and the cap. */
static struct matrix logits_back(struct walk *w, const struct end_rows *some)
{
    const struct unembed_rule *rule = &w->stack->unembed;
    const struct back_loss *loss = w->back->loss;
    const float divisor = rule->divisor > 0 ? rule->divisor : 1;
    struct matrix d = loss ? walk_room(w, some->count, config_logits(w->config))
                           : walk_zeros(w, some->count, config_logits(w->config));
    struct matrix logits = d;
    if (!d.data)
        return d;
    if (!loss)
        /* the cast drops const, but the values are only read */
        logits.data = (float *)walk_value(w, w->stack->branch, SITE_LOGITS);
    if (loss ? forward_logits(w->run, d, some->left, true, w->arena, w->err)
             : walk_show_rows(w, w->stack->branch, SITE_LOGITS, d))
        return (struct matrix){0};
    if (loss && rule->cap > 0)
        logits = walk_copy(w, d);
    if (loss) {
        const struct loss_rows own = {loss, some->rows, loss->factor / divisor};
        walk_rows(w, d, (struct row_operation){loss_block, .y = d, .own = &own});
    }
    for (size_t i = 0; logits.data && (!loss || rule->cap > 0) && i < d.rows * d.columns; i++) {
        float bent = rule->cap > 0 ? logits.data[i] / rule->cap : 0;
        d.data[i] *= (1 - bent * bent) / (loss ? 1 : divisor);
    }
    return logits.data ? d : logits;
}

/* Return the gradient of some->left, the input of the matrices after the last layer; without data
 * if no seed or loss needs it, or if there is an error. */
static struct matrix result_back(struct walk *w, const struct end_rows *some)
{
    const struct unembed_rule *rule = &w->stack->unembed;
    const struct slot project = slot_of_text(SLOT_PROJECT_OUT),
                      dense = slot_of_text((int)rule->dense);
    const struct slot norm = slot_of_text(SLOT_TRANSFORM_NORM);
    struct matrix x = rule->project ? walk_product(w, project, some->left) : some->left;
    struct matrix d = {0}, before = {0}, active = x, last = x;
    if (rule->dense) {
        before = walk_product(w, dense, x);
        active = before.data ? walk_copy(w, before) : before;
        if (!active.data)
            return active;
        activate(active, before, NULL, rule->activation);
        last = rule->dense_norm ? walk_normed(w, norm, active) : active;
    }
    if (rule->at_result == SITE_LOGITS && (w->back->loss || is_seeded(w, SITE_LOGITS))) {
        struct family_layout layout;
        struct slot words = slot_of_text(SLOT_UNEMBED);
        struct weight unembedding;
        struct matrix dlogits = logits_back(w, some);
        if (weights_tensor(w->run->weights, words, &layout) == SIZE_MAX)
            words = slot_of_text(SLOT_TOKENS);
        if (!dlogits.data || !last.data ||
            weights_unembedding(w->run->weights, &unembedding, w->err))
            return (struct matrix){0};
        if (w->back->loss && w->back->loss->factor == 0)
            return (struct matrix){0};
        if (words.id == SLOT_TOKENS)
            walk_add_sums(w, slot_of_text(SLOT_UNEMBED_BIAS), dlogits);
        d = walk_room(w, some->count, unembedding.in);
        if (walk_product_gradients(w, words, dlogits, last) ||
            walk_weight_back(w, d, dlogits, &unembedding, false))
            return (struct matrix){0};
    }
    if (rule->dense && (d.data || is_seeded(w, rule->at_dense))) {
        d = d.data ? d : walk_zeros(w, some->count, before.columns);
        struct matrix dactive = rule->dense_norm ? walk_zeros(w, some->count, before.columns) : d;
        if (!d.data || (rule->at_dense && walk_show_rows(w, w->stack->branch, rule->at_dense, d)) ||
            (rule->dense_norm && walk_norm_back(w, norm, dactive, d, active)))
            return (struct matrix){0};
        activate_backward(dactive, before, rule->activation);
        d = walk_product_gradient(w, dense, dactive, x);
    }
    return rule->project && d.data ? walk_product_gradient(w, project, d, some->left) : d;
}

/* Replace each row of a text by the mean of the text's rows. This step is its own transpose, so the
 * backward pass uses it as well. */
static void average_texts(const struct walk *w, struct matrix y, struct matrix x)
{
    for (size_t first = 0; first < x.rows; first += w->tokens)
        average_rows(matrix_rows(y, first, w->tokens), matrix_rows(x, first, w->tokens));
}

enum { CHUNK_ROWS = 512 }; /* with a loss, the logits of this many rows are computed at a time */

/* Add to dleft the gradient of `left`, the input of the matrices after the last layer, for all rows
 * that have a target or, without a loss, a result. With a loss, the rows are processed in
 * chunks. */
static int results_back(struct walk *w, struct matrix dleft, struct matrix left)
{
    const struct unembed_rule *rule = &w->stack->unembed;
    const struct back_loss *loss = w->back->loss;
    struct end_rows all = {.count = 0};
    struct arena *arena = w->back->tape->arena;
    size_t *rows = arena_alloc(arena, left.rows, sizeof *rows, w->err);
    float *means =
        rule->mean ? arena_room(arena, left.rows * left.columns, sizeof *means, w->err) : NULL;
    if (!rows || (rule->mean && !means))
        return -1;
    if (rule->mean) {
        average_texts(w, walk_matrix(means, left.rows, left.columns), left);
        left = walk_matrix(means, left.rows, left.columns);
    }
    for (size_t row = 0; row < left.rows; row++)
        if (loss ? loss->targets[row] != BACK_NO_TARGET : !rule->first_only || row % w->tokens == 0)
            rows[all.count++] = row;
    for (size_t first = 0; first < all.count; first += CHUNK_ROWS) {
        arena_clear(w->arena);
        const size_t count = loss ? num_min(all.count - first, CHUNK_ROWS) : all.count;
        struct end_rows some = {rows + first, count, {0}};
        const bool is_whole = some.rows[count - 1] - some.rows[0] == count - 1;
        some.left =
            is_whole ? matrix_rows(left, some.rows[0], count) : walk_room(w, count, left.columns);
        for (size_t i = 0; i < count && some.left.data && !is_whole; i++)
            copy_rows(matrix_rows(some.left, i, 1), matrix_rows(left, some.rows[i], 1));
        struct matrix d = some.left.data ? result_back(w, &some) : some.left;
        if (w->err->kind)
            return -1;
        for (size_t i = 0; i < count && d.data; i++)
            add_to_row(matrix_row(dleft, some.rows[i]), matrix_row(d, i), d.columns);
        if (!loss)
            break;
    }
    if (rule->mean)
        average_texts(w, dleft, dleft);
    return 0;
}

/* dx += the gradient of the stream that leaves the last layer. dleft is the gradient of the final
 * norm's result or, without such a norm, of the stream. */
static int unembed_back(struct walk *w, struct matrix dx, struct matrix dleft)
{
    const struct slot norm = slot_of_end((int)w->stack->branch, SLOT_FINAL_NORM);
    if (w->stack->branch == BRANCH_TEXT && results_back(w, dleft, left_of(w)))
        return -1;
    arena_clear(w->arena);
    if (!w->stack->unembed.norm) {
        add_rows(dx, dleft);
        return 0;
    }
    return err_if(walk_show_rows(w, w->stack->branch, SITE_LN_F, dleft) ||
                  walk_norm_back(w, norm, dx, dleft, last_stream(w)));
}

/* Return text `index` of the batch or, if the backward pass is over the sources, its source. */
static struct text text_in(const struct walk *w, size_t index)
{
    struct text text = w->run->batch->texts[index];
    if (w->stack->branch == BRANCH_SOURCE)
        text = (struct text){
            .ids = text.source_ids, .rows = text.source_rows, .count = text.source_count};
    return text;
}

/* token_rows: return the scaled embeddings of all tokens. embedded: return their sums with the
 * embeddings of positions and segments, which are the input of the embedding's norm. */
static struct matrix token_rows(struct walk *w)
{
    struct matrix x = walk_room(w, w->texts * w->tokens, w->stack->embed.width);
    for (size_t i = 0; i < w->texts && x.data; i++) {
        const struct text text = text_in(w, i);
        embed_tokens(w->run->weights, w->stack, &text, matrix_rows(x, i * w->tokens, w->tokens));
    }
    return x;
}

static struct matrix embedded(struct walk *w)
{
    struct matrix x = token_rows(w);
    if (w->stack->embed.project == PROJECT_TOKENS)
        x = walk_product(w, slot_of_text(SLOT_EMBED_PROJECT), x);
    for (size_t i = 0; i < w->texts && x.data; i++) {
        const struct text text = text_in(w, i);
        embed_places(w->run->weights, w->config, w->stack, &text, 0,
                     matrix_rows(x, i * w->tokens, w->tokens));
    }
    return x;
}

/* Return the address to which the gradient of a table is added, and set *rows to its number of
 * rows. The table is the slot `id` of the branch or, for segments or if the branch has no such
 * table, of the text. NULL: the gradient is not wanted. */
static float *table_of(const struct walk *w, int id, size_t *rows)
{
    struct family_layout layout;
    const enum site_branch branch = w->stack->branch;
    struct slot slot = slot_of_end((int)branch, id);
    if (id == SLOT_SEGMENTS || weights_tensor(w->run->weights, slot, &layout) == SIZE_MAX)
        slot = slot_of_text(id);
    float *table = walk_gradient(w, slot, &layout);
    *rows = table ? layout.shape[0] : 0;
    return table;
}

/* Add the gradients of the tables of positions and segments, from dx, the gradient of the sum of
 * the embeddings. */
static void places_back(const struct walk *w, struct matrix dx)
{
    const struct embed_rule *rule = &w->stack->embed;
    const size_t columns = dx.columns;
    size_t places = 0, kinds = 0, past = 0;
    float *positions =
        rule->positions == POSITIONS_TABLE ? table_of(w, SLOT_POSITIONS, &places) : NULL;
    float *segments = rule->segments ? table_of(w, SLOT_SEGMENTS, &kinds) : NULL;
    for (size_t row = 0; row < dx.rows && (positions || segments); row++) {
        const struct text text = text_in(w, row / w->tokens);
        const size_t token = row % w->tokens;
        const bool counts = !rule->counted || text.ids[token] != rule->padding;
        past = token ? past : 0;
        const size_t place = (counts ? past : SIZE_MAX) + w->config->position_offset;
        past += counts;
        if (positions && place < places)
            add_to_row(positions + place * columns, matrix_row(dx, row), columns);
        if (segments)
            add_to_row(segments + (text.segments ? text.segments[token] : 0) * columns,
                       matrix_row(dx, row), columns);
    }
}

struct matrix walk_embedding(struct walk *w)
{
    const float *values = walk_value(w, w->stack->branch, SITE_EMBEDDING);
    struct matrix x = walk_copy(w, walk_matrix(values, w->texts * w->tokens, w->stack->width));
    if (x.data)
        dropout_rows(w->run->machine, &w->run->dropout, w->stack->branch, 0, DROP_EMBEDDING, x);
    return x;
}

/* dx += the gradient of the embedding through the extra inputs of the layers. */
static int given_back(struct walk *w, struct matrix dx)
{
    const struct slot project = slot_of_text(SLOT_GIVEN_PROJECT),
                      norm = slot_of_text(SLOT_GIVEN_NORM);
    const size_t channels = w->stack->embed.given;
    const float root = 1 / sqrtf((float)dx.columns);
    struct matrix d = w->dgiven;
    size_t rows = 0;
    if (!d.data)
        return 0;
    walk_scale(d, sqrtf(0.5f));
    float *table = table_of(w, SLOT_GIVEN_TOKENS, &rows);
    for (size_t row = 0; row < d.rows && table; row++) {
        const size_t id = text_in(w, row / w->tokens).ids[row % w->tokens];
        add_scaled_row(table + (id < rows ? id : 0) * d.columns, matrix_row(d, row), d.columns,
                       sqrtf((float)channels), d.data);
    }
    struct matrix x = walk_embedding(w), own = walk_product(w, project, x),
                  down = walk_zeros(w, d.rows, d.columns);
    if (!own.data || !down.data)
        return -1;
    walk_scale(own, root);
    for (size_t first = 0; first < d.columns; first += channels)
        if (walk_norm_back(w, norm, matrix_columns(down, first, channels),
                           matrix_columns(d, first, channels),
                           matrix_columns(own, first, channels)))
            return -1;
    walk_scale(down, root);
    return walk_product_back(w, project, dx, down, x);
}

static int embed_back(struct walk *w, enum site_branch branch, struct matrix dx)
{
    enter_stack(w, branch);
    arena_clear(w->arena);
    const struct embed_rule *rule = &w->stack->embed;
    if (branch == BRANCH_TEXT && given_back(w, dx))
        return -1;
    const struct slot projection = slot_of_text(SLOT_EMBED_PROJECT);
    const struct slot norm =
        slot_of_end(w->config->own_tables ? (int)branch : BRANCH_TEXT, SLOT_EMBED_NORM);
    dropout_rows(w->run->machine, &w->run->dropout, branch, 0, DROP_EMBEDDING, dx);
    if (walk_show_rows(w, branch, SITE_EMBEDDING, dx))
        return -1;
    if (rule->project == PROJECT_LAST)
        dx = walk_product_gradient(w, projection, dx,
                                   rule->norm ? walk_normed(w, norm, embedded(w)) : embedded(w));
    if (rule->norm && dx.data) {
        struct matrix dsum = walk_zeros(w, dx.rows, dx.columns);
        if (walk_norm_back(w, norm, dsum, dx, embedded(w)))
            return -1;
        dx = dsum;
    }
    if (dx.data)
        places_back(w, dx);
    if (rule->project == PROJECT_TOKENS)
        dx = walk_product_gradient(w, projection, dx, token_rows(w));
    if (!dx.data)
        return -1;
    size_t words = 0;
    float *table = table_of(w, SLOT_TOKENS, &words);
    for (size_t row = 0; row < dx.rows && table; row++) { /* gradients are added in the order of the
                                                           * tokens */
        const uint32_t *ids = text_in(w, row / w->tokens).ids;
        const size_t token = row % w->tokens;
        add_scaled_row(table + ids[token] * dx.columns, matrix_row(dx, row), dx.columns,
                       embed_scale(rule, ids, w->tokens, token), dx.data);
    }
    w->back->token_rows[branch] = walk_lasting(w, dx.rows, dx.columns);
    if (w->back->token_rows[branch].data)
        copy_rows(w->back->token_rows[branch], dx);
    return err_if(!w->back->token_rows[branch].data);
}

/* The backward pass over the layers of a stack. dleft is the gradient of the result of the stack;
 * *dx becomes the gradient of the input of its first layer or, with a lean tape, of layer
 * tape->from. */
static int stack_back(struct walk *w, enum site_branch branch, struct matrix *dx,
                      struct matrix dleft)
{
    const size_t until = branch == BRANCH_TEXT ? w->back->tape->from : 0;
    enter_stack(w, branch);
    *dx = walk_lasting(w, dleft.rows, dleft.columns);
    w->dfirst = w->dshared = w->dcopies = (struct matrix){0};
    for (size_t i = 0; i < w->stack->layers && !w->dfirst.data; i++)
        for (size_t k = 0; k < w->stack->layer[i].count && !w->dfirst.data; k++)
            if (w->stack->layer[i].sublayers[k].reads != READS_STREAM) {
                w->dfirst = walk_lasting(w, dleft.rows, dleft.columns);
                w->dshared = walk_lasting(w, dleft.rows, dleft.columns);
            }
    if (w->stack->copies.count)
        w->dcopies = walk_lasting(w, dleft.rows, dleft.columns * w->stack->copies.count);
    int failed = w->err->kind || unembed_back(w, *dx, dleft);
    for (w->layer = w->stack->layers; !failed && w->layer > until;) {
        const bool is_kept = w->layer-- == w->stack->layers || branch == BRANCH_SOURCE;
        failed = (!is_kept && w->back->tape->streams &&
                  run_layer_again(w->back->tape, w->run, w->layer, w->err)) ||
                 walk_layer_back(w, *dx);
    }
    arena_clear(w->arena);
    return err_if(failed || (!until && w->dcopies.data && walk_make_back(w, *dx)));
}

int back_run(struct back *back, struct err *err)
{
    const struct config *c = back->run->config;
    struct err unread = {0};
    struct walk w = {
        .back = back,
        .run = back->run,
        .config = c,
        .texts = back->run->batch->count,
        .arena = &back->tape->scratch,
        .err = err ? err : &unread,
    };
    struct matrix dx, dsource, dleft;
    enter_stack(&w, BRANCH_SOURCE);
    const size_t sources = w.texts * w.tokens;
    if (sources) {
        w.memory = left_of(&w);
        w.dmemory = walk_lasting(&w, sources, c->n_embd);
    }
    enter_stack(&w, BRANCH_TEXT);
    if (w.stack->embed.given)
        w.dgiven = walk_lasting(&w, w.texts * w.tokens, w.stack->layers * w.stack->embed.given);
    w.lent = arena_alloc(back->tape->arena, w.stack->layers, sizeof *w.lent, w.err);
    dleft = walk_lasting(&w, w.texts * w.tokens, c->n_embd);
    int failed = w.err->kind;
    if (back->loss && back->loss->factor == 0)
        return err_if(failed || results_back(&w, dleft, left_of(&w)));
    failed =
        failed || stack_back(&w, BRANCH_TEXT, &dx, dleft) ||
        (!back->tape->from && ((sources && (stack_back(&w, BRANCH_SOURCE, &dsource, w.dmemory) ||
                                            embed_back(&w, BRANCH_SOURCE, dsource))) ||
                               embed_back(&w, BRANCH_TEXT, dx)));
    if (!back->tape->lean)
        arena_release(&back->tape->scratch);
    arena_release(&back->tape->layer);
    return err_if(failed);
}
