/* patching_copies.c: copies of a text, patched and run to the answer. */
#include <string.h>

#include "measure/patching_parts.h"
#include "measure/token_scores.h"

/* --- from rows of the last layer to logits ---------------------------------------------------- */

struct reading {
    const struct sweep *sweep;
    double *logits;
};

static void see_logits(void *context, size_t row, const float *logits, size_t count)
{
    const struct reading *reading = context;
    (void)count;
    reading->logits[row] = patching_answer(reading->sweep, logits);
}

static int read_logits(struct sweep *s, struct matrix rows, bool normed, double *logits)
{
    struct reading reading = {s, logits};
    struct logits_work work = {s->plan->viewer, rows, normed, see_logits, &reading};
    return logits_of_rows(&work, s->err);
}

/* Take rows, given what their heads give, through a layer. */
static int attended(struct sweep *s, size_t layer, struct matrix x, struct matrix context)
{
    struct arena *scratch = &s->plan->viewer->scratch;
    int failed = forward_attended(&s->run, layer, x, context, scratch, s->err);
    arena_clear(scratch);
    return failed;
}

static struct matrix new_rows(struct sweep *s, size_t rows, size_t columns)
{
    float *data = arena_room(&s->chunk, rows, columns * sizeof *data, s->err);
    return (struct matrix){data, rows, columns, columns};
}

/* The last row of each text. */
static int keep_last(void *context, const struct announcement *seen, struct err *err)
{
    struct copies *copies = context;
    struct matrix to = seen->site == SITE_CONTEXT ? copies->context : copies->x;
    struct tensor last = seen->values;
    size_t axis = last.rank - 2;
    (void)err;
    last.data += (last.shape[axis] - 1) * last.stride[axis];
    last.shape[axis] = 1;
    tensor_copy(to.data + seen->text * to.stride, &last);
    return 0;
}

static struct text *new_texts(struct sweep *s, size_t count)
{
    struct text *texts = arena_alloc(&s->chunk, count, sizeof *texts, s->err);
    for (size_t i = 0; texts && i < count; i++)
        texts[i] = (struct text){.ids = s->base.ids, .count = s->tokens};
    return texts;
}

/* Run the copies from a layer on, each with the stream that it has there, under edits. Of the last
 * layer's rows the last one is enough, unless what comes after its heads is edited. */
static int run_on(struct sweep *s, struct copies *copies, const struct stream_start *start,
                  const struct edits *edits)
{
    struct viewer *viewer = s->plan->viewer;
    const struct config *c = s->config;
    bool late = edits && s->site > SITE_CONTEXT && start->layer + 1 == c->n_layer;
    struct selection selection = {.sites = site_bit(SITE_RESID_PRE) | site_bit(SITE_CONTEXT)};
    struct text *texts = new_texts(s, copies->count);
    struct text_list list = {texts, copies->count, 0, start};
    struct tap tap = {.sink = keep_last, .context = copies};
    copies->x = new_rows(s, copies->count, c->n_embd);
    copies->context = new_rows(s, copies->count, c->n_head * c->d_v);
    if (late)
        selection.sites = site_bit(logits_site(c));
    if (!texts || !copies->x.data || !copies->context.data ||
        selection_layers(&selection, "-1", c, &s->chunk, s->err))
        return -1;
    viewer->edits = edits;
    int failed = viewer_run(viewer, &selection, &list, tap, s->err) ||
                 (!late && attended(s, c->n_layer - 1, copies->x, copies->context));
    viewer->edits = NULL;
    return failed ? -1 : read_logits(s, copies->x, late, copies->logits);
}

/* All with the base's own stream into a layer. */
static const float **base_streams(struct sweep *s, size_t count, size_t layer)
{
    const float **streams = arena_alloc(&s->chunk, count, sizeof *streams, s->err);
    for (size_t i = 0; streams && i < count; i++)
        streams[i] = s->base.streams[layer];
    return streams;
}

/* --- values that are put there by edits ------------------------------------------------------- */

int patching_run_edited(struct sweep *s, struct copies *copies)
{
    struct edit_source source = {
        .values = s->other.values, .count = 1, .longest = s->tokens, .exact = true};
    struct edit_range *places = arena_alloc(&s->chunk, copies->count, sizeof *places, s->err);
    struct edit_range layer = {(ptrdiff_t)copies->layer, (ptrdiff_t)copies->layer};
    struct edit *items = arena_alloc(&s->chunk, copies->count, sizeof *items, s->err);
    struct stream_start start = {copies->layer, base_streams(s, copies->count, copies->layer)};
    struct edits edits = {items, copies->count, 0};
    if (!places || !items || !start.streams)
        return -1;
    for (size_t i = 0; i < copies->count; i++) {
        ptrdiff_t place = (ptrdiff_t)copies->columns[i];
        struct edit_places one = {&places[i], 1};
        places[i] = (struct edit_range){place, place};
        items[i] = (struct edit){.site = s->site,
                                 .op = EDIT_TAKE,
                                 .one_text = true,
                                 .text = i,
                                 .layers = {&layer, 1},
                                 .source = &source,
                                 .words = "--over"};
        *(site_has_heads(s->site) ? &items[i].heads : &items[i].tokens) = one;
    }
    return run_on(s, copies, &start, &edits);
}

/* --- heads, and paths from them --------------------------------------------------------------- */

/* What the heads of a layer give, the base's, but in the layer that is patched for the sender. */
static void put_contexts(const struct sweep *s, struct copies *copies, size_t layer)
{
    const struct config *c = s->config;
    for (size_t row = 0; row < copies->context.rows; row++) {
        float *to = copies->context.data + row * copies->context.stride;
        size_t token = copies->first + row % copies->rows;
        for (size_t head = 0; head < c->n_head; head++, to += c->d_v) {
            bool sends = layer == copies->layer && head == copies->columns[row / copies->rows];
            const struct tensor *from = &(sends ? &s->other : &s->base)->values[layer];
            memcpy(to, from->data + head * from->stride[0] + token * from->stride[1],
                   c->d_v * sizeof *to);
        }
    }
}

/* Rows from a token on, as they leave the layer that is patched. */
static int send(struct sweep *s, struct copies *copies, size_t first)
{
    const struct config *c = s->config;
    copies->first = first;
    copies->rows = s->tokens - first;
    copies->x = new_rows(s, copies->count * copies->rows, c->n_embd);
    copies->context = new_rows(s, copies->count * copies->rows, c->n_head * c->d_v);
    if (!copies->x.data || !copies->context.data)
        return -1;
    size_t floats = copies->rows * c->n_embd;
    for (size_t i = 0; i < copies->count; i++)
        memcpy(copies->x.data + i * floats, s->base.streams[copies->layer] + first * c->n_embd,
               floats * sizeof(float));
    put_contexts(s, copies, copies->layer);
    return attended(s, copies->layer, copies->x, copies->context);
}

/* Where the rows of the copies stand; NULL with the error. */
static const float **streams_of(struct sweep *s, const struct copies *copies)
{
    const float **streams = arena_alloc(&s->chunk, copies->count, sizeof *streams, s->err);
    for (size_t i = 0; streams && i < copies->count; i++)
        streams[i] = copies->x.data + i * copies->rows * copies->x.stride;
    return streams;
}

int patching_run_heads(struct sweep *s, struct copies *copies)
{
    bool last = copies->layer + 1 == s->config->n_layer;
    if (send(s, copies, last ? s->tokens - 1 : 0))
        return -1;
    if (last)
        return read_logits(s, copies->x, false, copies->logits);
    struct stream_start start = {copies->layer + 1, streams_of(s, copies)};
    return start.streams ? run_on(s, copies, &start, NULL) : -1;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* What the receiver takes of each copy. */
struct received {
    const struct patch_path *path;
    struct edit_source *sources; /* [count] */
    struct arena *arena;
};

static int keep_received(void *context, const struct announcement *seen, struct err *err)
{
    const struct received *received = context;
    const struct patch_path *path = received->path;
    struct edit_source *source = &received->sources[seen->text];
    struct tensor head = tensor_slice(&seen->values, path->to_head);
    struct tensor *values = arena_alloc(received->arena, path->to_layer + 1, sizeof *values, err);
    float *data = arena_room(received->arena, tensor_count(&head), sizeof *data, err);
    if (!values || !data)
        return -1;
    tensor_copy(data, &head);
    values[path->to_layer] =
        (struct tensor){data, 3, {1, head.shape[0], head.shape[1]}, {0, head.shape[1], 1}};
    *source =
        (struct edit_source){.values = values, .count = 1, .longest = head.shape[0], .exact = true};
    return 0;
}

static int receive(struct sweep *s, struct copies *copies, struct received *received)
{
    const struct patch_path *path = received->path;
    struct selection selection = {.sites = site_bit(path->to), .layers = {&path->to_layer, 1}};
    struct stream_start start = {path->to_layer, streams_of(s, copies)};
    struct text *texts = new_texts(s, copies->count);
    struct text_list list = {texts, copies->count, 0, &start};
    struct tap tap = {.sink = keep_received, .context = received};
    return !texts || !start.streams ? -1
                                    : viewer_run(s->plan->viewer, &selection, &list, tap, s->err);
}

/* The receiver takes what arrived there; all else begins there as it was. */
static int run_received(struct sweep *s, struct copies *copies)
{
    const struct patch_path *path = &s->plan->path;
    struct received received = {path, NULL, &s->chunk};
    struct edit_range layer = {(ptrdiff_t)path->to_layer, (ptrdiff_t)path->to_layer};
    struct edit_range head = {(ptrdiff_t)path->to_head, (ptrdiff_t)path->to_head};
    struct edit *items = arena_alloc(&s->chunk, copies->count, sizeof *items, s->err);
    struct edits edits = {items, copies->count, 0};
    struct stream_start start = {path->to_layer, base_streams(s, copies->count, path->to_layer)};
    received.sources = arena_alloc(&s->chunk, copies->count, sizeof *received.sources, s->err);
    if (!items || !start.streams || !received.sources || receive(s, copies, &received))
        return -1;
    for (size_t i = 0; i < copies->count; i++)
        items[i] = (struct edit){.site = path->to,
                                 .op = EDIT_TAKE,
                                 .one_text = true,
                                 .text = i,
                                 .layers = {&layer, 1},
                                 .heads = {&head, 1},
                                 .source = &received.sources[i],
                                 .words = "--to"};
    return run_on(s, copies, &start, &edits);
}

/* From the sender on heads give what they give anyway: no row needs another, and what goes to the
 * logits needs but the last one. */
int patching_run_paths(struct sweep *s, struct copies *copies)
{
    const struct patch_path *path = &s->plan->path;
    bool to_logits = path->to == SITE_LOGITS;
    size_t end = to_logits ? s->config->n_layer : path->to_layer;
    int failed = send(s, copies, to_logits ? s->tokens - 1 : 0);
    for (size_t layer = copies->layer + 1; layer < end && !failed; layer++) {
        put_contexts(s, copies, layer);
        failed = attended(s, layer, copies->x, copies->context);
    }
    if (failed)
        return -1;
    return to_logits ? read_logits(s, copies->x, false, copies->logits) : run_received(s, copies);
}
