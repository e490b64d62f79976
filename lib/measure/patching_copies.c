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
    int failed = forward_attended(&s->run, &(struct attended_rows){layer, x, context, NULL},
                                  scratch, s->err);
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
    const struct matrix *rows = context;
    struct tensor last = tensor_slice(&seen->values, seen->values.shape[0] - 1);
    (void)err;
    tensor_copy(rows->data + seen->text * rows->stride, &last);
    return 0;
}

/* --- copies in passes ------------------------------------------------------------------------- */

/* The tokens of each copy from the first that changes on. */
static struct text *changed_texts(struct sweep *s, const struct copies *copies)
{
    struct text *texts = arena_alloc(&s->chunk, copies->count, sizeof *texts, s->err);
    for (size_t i = 0; texts && i < copies->count; i++) {
        size_t first = copies->firsts[i];
        texts[i] = text_of(s, &s->base);
        texts[i].ids += first;
        texts[i].count -= first;
        if (s->whole)
            continue;
        struct copy_cache *copy = &s->copies[i]; /* of the base's tokens before that, no others */
        if (copy->sound < first && cache_copy(&copy->cache, &s->cache, s->err))
            return NULL;
        copy->sound = first;
        cache_forget(&copy->cache, first);
        texts[i].cache = &copy->cache;
    }
    return texts;
}

/* One row after the other, of each copy so many. */
static const float **streams_of(struct sweep *s, struct matrix x, size_t count)
{
    const float **streams = arena_alloc(&s->chunk, count, sizeof *streams, s->err);
    for (size_t i = 0; streams && i < count; i++)
        streams[i] = x.data + i * (x.rows / count) * x.stride;
    return streams;
}

/* What a site of the last layer has in the last row of each text. */
static int run_to(struct sweep *s, struct matrix rows, enum site site, const struct text_list *list)
{
    struct selection selection = {.sites = site_bit(site)};
    struct tap tap = {.sink = keep_last, .context = &rows};
    return selection_layers(&selection, "-1", s->config, &s->chunk, s->err) ||
           viewer_run(s->plan->viewer, &selection, list, tap, s->err);
}

/* Take the copies to the last layer, where what other rows are there for is in the caches, and
 * through it with the last row alone. */
static int run_cached(struct sweep *s, struct matrix rows, const struct text_list *list,
                      struct text *texts)
{
    struct stream_start last = {s->config->n_layer - 1, streams_of(s, rows, list->count)};
    struct text_list last_rows = {texts, list->count, 0, &last};
    if (!last.streams || run_to(s, rows, SITE_RESID_PRE, list))
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        cache_forget(texts[i].cache, s->tokens - 1);
        texts[i].ids = s->base.ids + s->tokens - 1;
        texts[i].count = 1;
    }
    return run_to(s, rows, logits_site(s->config), &last_rows);
}

/* Those of all runs, and then the patches. */
static int join_edits(struct sweep *s, struct edits *edits)
{
    size_t count = s->edits ? s->edits->count : 0;
    struct edit *items = arena_alloc(&s->chunk, count + edits->count, sizeof *items, s->err);
    if (!items)
        return -1;
    if (count)
        memcpy(items, s->edits->items, count * sizeof *items);
    if (edits->count)
        memcpy(items + count, edits->items, edits->count * sizeof *items);
    *edits = (struct edits){items, count + edits->count};
    return 0;
}

/* Run the copies from a layer on to their logits, each with the stream that it has there. */
static int run_on(struct sweep *s, struct copies *copies, const struct stream_start *start,
                  struct edits edits)
{
    struct viewer *viewer = s->plan->viewer;
    struct text *texts = changed_texts(s, copies);
    struct text_list list = {texts, copies->count, 0, s->from_ids ? NULL : start};
    struct matrix rows = new_rows(s, copies->count, s->config->n_embd);
    if (!texts || !rows.data || !start->streams || join_edits(s, &edits))
        return -1;
    viewer->edits = &edits;
    int failed = s->whole ? run_to(s, rows, logits_site(s->config), &list)
                          : run_cached(s, rows, &list, texts);
    viewer->edits = s->edits;
    return failed ? -1 : read_logits(s, rows, true, copies->logits);
}

/* All with the base's own stream into a layer. */
static const float **base_streams(struct sweep *s, const struct copies *copies, size_t layer)
{
    const float **streams = arena_alloc(&s->chunk, copies->count, sizeof *streams, s->err);
    for (size_t i = 0; streams && i < copies->count; i++)
        streams[i] = s->base.streams[layer] + copies->firsts[i] * s->config->n_embd;
    return streams;
}

int patching_run_edited(struct sweep *s, struct copies *copies)
{
    struct edit_source source = {
        .values = s->other.values, .count = 1, .longest = s->tokens, .exact = true};
    struct edit_range *places = arena_alloc(&s->chunk, copies->count, sizeof *places, s->err);
    struct edit_range layer = {(ptrdiff_t)copies->layer, (ptrdiff_t)copies->layer};
    struct edit *items = arena_alloc(&s->chunk, copies->count, sizeof *items, s->err);
    struct stream_start start = {copies->layer, base_streams(s, copies, copies->layer)};
    struct edits edits = {items, copies->count};
    if (!places || !items)
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
    return run_on(s, copies, &start, edits);
}

/* --- heads, and paths from them --------------------------------------------------------------- */

/* Rows of the copies from one token on, given what their heads give. */
struct sent {
    const struct copies *copies;
    size_t first, rows;
    struct matrix x, context; /* [copies · rows, C], [copies · rows, H · dv] */
};

/* What the heads of a layer give, the base's, but in the layer that is patched for the sender. */
static void put_contexts(const struct sweep *s, struct sent *sent, size_t layer)
{
    const struct config *c = s->config;
    const struct copies *copies = sent->copies;
    for (size_t row = 0; row < sent->context.rows; row++) {
        float *to = sent->context.data + row * sent->context.stride;
        size_t token = sent->first + row % sent->rows;
        for (size_t head = 0; head < c->n_head; head++, to += c->d_v) {
            bool sends = layer == copies->layer && head == copies->columns[row / sent->rows];
            const struct tensor *from = &(sends ? &s->other : &s->base)->values[layer];
            memcpy(to, from->data + head * from->stride[0] + token * from->stride[1],
                   c->d_v * sizeof *to);
        }
    }
}

/* Rows from a token on, as they leave the layer that is patched. */
static int send(struct sweep *s, struct sent *sent, const struct copies *copies, size_t first)
{
    const struct config *c = s->config;
    size_t rows = s->tokens - first;
    *sent = (struct sent){copies, first, rows, new_rows(s, copies->count * rows, c->n_embd),
                          new_rows(s, copies->count * rows, c->n_head * c->d_v)};
    if (!sent->x.data || !sent->context.data)
        return -1;
    size_t floats = rows * c->n_embd;
    for (size_t i = 0; i < copies->count; i++)
        memcpy(sent->x.data + i * floats, s->base.streams[copies->layer] + first * c->n_embd,
               floats * sizeof(float));
    put_contexts(s, sent, copies->layer);
    return attended(s, copies->layer, sent->x, sent->context);
}

/* Let all change from the first token on that one of them does. */
static size_t change_together(struct copies *copies)
{
    size_t first = copies->firsts[0];
    for (size_t i = 1; i < copies->count; i++)
        first = copies->firsts[i] < first ? copies->firsts[i] : first;
    for (size_t i = 0; i < copies->count; i++)
        copies->firsts[i] = first;
    return first;
}

int patching_run_heads(struct sweep *s, struct copies *copies)
{
    bool last = copies->layer + 1 == s->config->n_layer;
    struct sent sent;
    if (send(s, &sent, copies, last ? s->tokens - 1 : change_together(copies)))
        return -1;
    if (last)
        return read_logits(s, sent.x, false, copies->logits);
    struct stream_start start = {copies->layer + 1, streams_of(s, sent.x, copies->count)};
    return run_on(s, copies, &start, (struct edits){0});
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

static int receive(struct sweep *s, const struct sent *sent, struct received *received)
{
    const struct patch_path *path = received->path;
    size_t count = sent->copies->count;
    size_t width = s->config->n_embd;
    struct selection selection = {.sites = site_bit(path->to), .layers = {&path->to_layer, 1}};
    struct matrix x = new_rows(s, count * s->tokens, width);
    struct stream_start start = {path->to_layer, streams_of(s, x, count)};
    struct text *texts = arena_alloc(&s->chunk, count, sizeof *texts, s->err);
    struct text_list list = {texts, count, 0, &start};
    struct tap tap = {.sink = keep_received, .context = received};
    if (!x.data || !texts || !start.streams)
        return -1;
    for (size_t i = 0; i < count; i++) {
        float *row = x.data + i * s->tokens * width;
        size_t floats = sent->rows * width;
        texts[i] = text_of(s, &s->base);
        memcpy(row, s->base.streams[path->to_layer], sent->first * width * sizeof *row);
        memcpy(row + sent->first * width, sent->x.data + i * floats, floats * sizeof *row);
    }
    return viewer_run(s->plan->viewer, &selection, &list, tap, s->err);
}

/* The receiver takes what arrived there; all else begins there as it was. */
static int run_received(struct sweep *s, const struct sent *sent, struct copies *copies)
{
    const struct patch_path *path = &s->plan->path;
    struct received received = {path, NULL, &s->chunk};
    struct edit_range layer = {(ptrdiff_t)path->to_layer, (ptrdiff_t)path->to_layer};
    struct edit_range head = {(ptrdiff_t)path->to_head, (ptrdiff_t)path->to_head};
    struct edit *items = arena_alloc(&s->chunk, copies->count, sizeof *items, s->err);
    struct edits edits = {items, copies->count};
    struct stream_start start = {path->to_layer, base_streams(s, copies, path->to_layer)};
    received.sources = arena_alloc(&s->chunk, copies->count, sizeof *received.sources, s->err);
    if (!items || !received.sources || receive(s, sent, &received))
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
    return run_on(s, copies, &start, edits);
}

/* From the sender on heads give what they give anyway: no row needs another, and what goes to the
 * logits needs but the last one. */
int patching_run_paths(struct sweep *s, struct copies *copies)
{
    const struct patch_path *path = &s->plan->path;
    bool to_logits = path->to == SITE_LOGITS;
    size_t end = to_logits ? s->config->n_layer : path->to_layer;
    struct sent sent;
    int failed = send(s, &sent, copies, to_logits ? s->tokens - 1 : change_together(copies));
    for (size_t layer = copies->layer + 1; layer < end && !failed; layer++) {
        put_contexts(s, &sent, layer);
        failed = attended(s, layer, sent.x, sent.context);
    }
    if (failed)
        return -1;
    return to_logits ? read_logits(s, sent.x, false, copies->logits)
                     : run_received(s, &sent, copies);
}
