/* effective_zeroing.c: how far what leaves a layer moves where a token has no values. */
#include <math.h>
#include <string.h>

#include "lens/effective_parts.h"
#include "math/rows.h"
#include "model/batch.h"

/* 1 - cos; of a row of nothing, that is as far as one at right angles. What edits hold does not
 * move at all: of that no share is made of how doubles round. */
static double cosine_distance(const float *a, const float *b, size_t count)
{
    double product = 0;
    double length_a = effective_length(a, count);
    double length_b = effective_length(b, count);
    double lengths = length_a * length_b;
    if (memcmp(a, b, count * sizeof *a) == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        product += (double)a[i] * (double)b[i];
    return lengths > 0 ? fmax(1 - product / lengths, 0) : length_a != length_b;
}

/* A query's context [H · dv] without the values of one key; without none, beyond the last. */
static void leave_out(float *y, const struct effective *e, const struct held_text *text,
                      size_t query, size_t key)
{
    const struct config *c = e->run->config;
    for (size_t head = 0; head < c->n_head; head++, y += c->d_v) {
        size_t row = head * text->queries + query;
        for (size_t d = 0; d < c->d_v; d++)
            y[d] = text->held[HELD_CONTEXT][row * c->d_v + d];
        float weight = key < text->keys ? text->held[HELD_WEIGHTS][row * text->keys + key] : 0;
        for (size_t d = 0; weight != 0 && d < c->d_v; d++)
            y[d] -= weight * effective_values(e, text, head)[key * c->d_v + d];
    }
}

/* distances [T]: how far what leaves the layer at a query moves without each key. */
static int measure_query(double *distances, const struct effective *e, const struct run *run,
                         const struct announcement *seen, size_t query, struct err *err)
{
    const struct config *c = run->config;
    const struct held_text *text = &e->texts[seen->text];
    const struct edit_token token = {run->batch->first + seen->text, query,
                                     batch_prompt(run->batch, seen->text)};
    size_t keys = c->causal ? query + 1 : text->keys;
    size_t width = c->kind == MODEL_ATTENTION && !c->out_proj ? c->n_head * c->d_v : c->n_embd;
    struct arena arena = {0};
    struct matrix x = {NULL, keys + 1, width, width};
    struct matrix context = {NULL, keys + 1, c->n_head * c->d_v, c->n_head * c->d_v};
    x.data = arena_alloc(&arena, x.rows * x.columns, sizeof *x.data, err);
    context.data = arena_alloc(&arena, context.rows * context.columns, sizeof *x.data, err);
    int failed = !x.data || !context.data;
    for (size_t i = 0; i <= keys && !failed; i++) {
        const float *stream = text->held[HELD_STREAM];
        if (stream)
            scale_row(x.data + i * width, stream + query * width, width, 1);
        leave_out(context.data + i * context.columns, e, text, query, i < keys ? i : text->keys);
    }
    struct attended_rows rows = {(size_t)seen->layer, x, context, &token};
    failed = failed || forward_attended(run, &rows, &arena, err);
    for (size_t i = 0; i < keys && !failed; i++)
        distances[i] = cosine_distance(x.data + i * width, x.data + keys * width, width);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* What the heads had given before that was edited: it is edited again without a token. */
static void restore_context(const struct effective *e, const struct held_text *text)
{
    const struct config *c = e->run->config;
    float *context = text->held[HELD_CONTEXT];
    for (size_t row = 0; row < c->n_head * text->queries; row++) {
        const float *weights = text->held[HELD_WEIGHTS] + row * text->keys;
        const float *values = effective_values(e, text, row / text->queries);
        for (size_t d = 0; d < c->d_v; d++) {
            double sum = 0;
            for (size_t key = 0; key < text->keys; key++)
                sum += (double)weights[key] * (double)values[key * c->d_v + d];
            context[row * c->d_v + d] = (float)sum;
        }
    }
}

/* Those of this text that are still to be made: the stream has its own. */
static int edits_of_rest(struct edits *edits, const struct effective *e, size_t text,
                         struct arena *arena, struct err *err)
{
    const struct edits *all = e->run->edits;
    struct edit *items = arena_alloc(arena, all->count, sizeof *items, err);
    *edits = (struct edits){items, 0};
    for (size_t i = 0; items && i < all->count; i++) {
        const struct edit *edit = &all->items[i];
        if (edit->site == SITE_RESID_PRE || (edit->one_text && edit->text != text))
            continue;
        items[edits->count] = *edit;
        items[edits->count++].one_text = false;
    }
    return items ? 0 : -1;
}

int effective_zeroing(const struct effective *e, const struct announcement *seen, struct err *err)
{
    const struct held_text *text = &e->texts[seen->text];
    struct edits edits;
    struct run run = *e->run;
    struct arena arena = {0};
    double *square = arena_alloc(&arena, text->keys * text->keys, sizeof *square, err);
    int failed = !square || (run.edits && edits_of_rest(&edits, e, seen->text, &arena, err));
    if (!failed && run.edits) {
        if (edits_have(run.edits, SITE_CONTEXT, (size_t)seen->layer))
            restore_context(e, text);
        run.edits = &edits;
    }
    for (size_t query = 0; query < text->queries && !failed; query++)
        failed = measure_query(square + query * text->keys, e, &run, seen, query, err);
    if (!failed)
        effective_share_rows(square, text->keys);
    failed = failed || effective_show_square(e, seen, SITE_VALUE_ZEROING, square, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}
