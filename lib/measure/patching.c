#include "measure/patching.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "measure/text_origin.h"
#include "measure/token_scores.h"
#include "model/cache.h"
#include "model/sampler.h"

enum {
    BATCH_TOKENS = 1024,
    CACHE_BYTES = 256 << 20, /* of copies that share a pass, or one's */
};

const struct patch_over_row patch_overs[PATCH_OVERS] = {
    [PATCH_HEADS] = {"heads", SITE_CONTEXT, "output of each head (default)"},
    [PATCH_RESID_PRE] = {"resid_pre", SITE_RESID_PRE,
                         "residual stream into a layer, at each token"},
    [PATCH_RESID_MID] = {"resid_mid", SITE_RESID_MID, "residual stream after attention"},
    [PATCH_ATTN_OUT] = {"attn_out", SITE_ATTN_OUT, "output of the attention layer, at each token"},
    [PATCH_MLP_OUT] = {"mlp_out", SITE_MLP_OUT, "output of the MLP, at each token"},
    [PATCH_Q] = {"q", SITE_Q, "queries of each head"},
    [PATCH_K] = {"k", SITE_K, "keys of each head"},
    [PATCH_V] = {"v", SITE_V, "values of each head"},
    [PATCH_WEIGHTS] = {"weights", SITE_WEIGHTS, "attention weights of each head"},
    [PATCH_HEADS_BY_TOKEN] = {"heads_by_token", SITE_CONTEXT,
                              "output of each head at each token: layers x heads x tokens"},
    [PATCH_PATHS] = {"paths", SITE_CONTEXT,
                     "direct paths from each head to the logits (or as --path says)"},
};

/* What a text's own run had. */
struct side {
    const uint32_t *ids;
    const float **streams; /* [L] resid_pre, [T, C] */
    struct tensor *values; /* [L] of the site; rank 0: the layer has none */
    const float *logits;   /* [V] after the position */
};

/* Of a copy: its first tokens are the base's. */
struct copy_cache {
    struct cache cache;
    size_t sound; /* so many */
};

struct sweep {
    const struct patching_plan *plan;
    const struct config *config;
    struct patching *found;
    enum site site;
    size_t tokens;             /* up to the position */
    size_t most;               /* copies that share a pass */
    struct side base, other;   /* whose run is patched; whose values are put there */
    const struct edits *edits; /* of all runs; NULL: none */
    bool whole;                /* tokens see those to come, or … */
    bool from_ids;             /* … the stream into layers is edited, once: copies run whole */
    struct cache cache;        /* the base's */
    struct copy_cache *copies; /* [most] */
    struct run run;            /* for rows by themselves */
    struct arena kept, chunk;
    size_t done;
    struct err *err;
};

/* Up to the position, as it stands in the whole. */
static struct text text_of(const struct sweep *s, const struct side *side)
{
    return (struct text){
        .ids = side->ids, .count = s->tokens, .whole_count = s->plan->clean->count};
}

/* Copies of the base's text, patched in one layer. Before the first token whose value is another
 * one they are as the base is. */
struct copies {
    size_t layer;
    size_t *columns; /* [count] what of it: a head, or a token */
    size_t *firsts;  /* [count] that token */
    size_t count;
    double *logits; /* [count] what comes of them */
};

/* The answer's logit, or the difference, of all logits. */
static double answer_of(const struct sweep *s, const float *logits)
{
    long long against = s->plan->against;
    return (double)logits[s->found->answer] - (against < 0 ? 0 : (double)logits[against]);
}

double patching_fraction(const struct patching *patching, double logit)
{
    return (logit - patching->corrupt) / (patching->clean - patching->corrupt);
}

/* --- from rows of the last layer to logits ---------------------------------------------------- */

struct reading {
    const struct sweep *sweep;
    double *logits;
};

static void see_logits(void *context, size_t row, const float *logits, size_t count)
{
    const struct reading *reading = context;
    (void)count;
    reading->logits[row] = answer_of(reading->sweep, logits);
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

static int run_edited(struct sweep *s, struct copies *copies)
{
    struct edit_source source = {
        .values = s->other.values, .count = 1, .longest = s->tokens, .exact = true};
    struct edit_range *places = arena_alloc(&s->chunk, 2 * copies->count, sizeof *places, s->err);
    struct edit_range layer = {(ptrdiff_t)copies->layer, (ptrdiff_t)copies->layer};
    bool by_token = s->plan->over == PATCH_HEADS_BY_TOKEN;
    struct edit *items = arena_alloc(&s->chunk, copies->count, sizeof *items, s->err);
    struct stream_start start = {copies->layer, base_streams(s, copies, copies->layer)};
    struct edits edits = {items, copies->count};
    if (!places || !items)
        return -1;
    for (size_t i = 0; i < copies->count; i++) {
        size_t column = copies->columns[i];
        ptrdiff_t place = (ptrdiff_t)(by_token ? column / s->tokens : column);
        ptrdiff_t token = (ptrdiff_t)(column % s->tokens);
        struct edit_places one = {&places[2 * i], 1};
        places[2 * i] = (struct edit_range){place, place};
        places[2 * i + 1] = (struct edit_range){token, token};
        items[i] = (struct edit){.site = s->site,
                                 .op = EDIT_TAKE,
                                 .one_text = true,
                                 .text = i,
                                 .layers = {&layer, 1},
                                 .source = &source,
                                 .words = "--over"};
        *(site_has_heads(s->site) ? &items[i].heads : &items[i].tokens) = one;
        if (by_token)
            items[i].tokens = (struct edit_places){&places[2 * i + 1], 1};
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
                                 .words = "--path"};
    return run_on(s, copies, &start, edits);
}

/* Heads: all layers after the patched one run. Paths: after the sender the other heads keep their
 * values, so that rows are independent; the receiver alone takes what arrives. The logits need only
 * the last row. */
static int run_sent(struct sweep *s, struct copies *copies)
{
    size_t layers = s->config->n_layer;
    const struct patch_path *path = &s->plan->path;
    bool by_paths = s->plan->over == PATCH_PATHS;
    size_t end = !by_paths ? copies->layer + 1 : path->to == SITE_LOGITS ? layers : path->to_layer;
    struct sent sent;
    int failed = send(s, &sent, copies, end == layers ? s->tokens - 1 : change_together(copies));
    for (size_t layer = copies->layer + 1; layer < end && !failed; layer++) {
        put_contexts(s, &sent, layer);
        failed = attended(s, layer, sent.x, sent.context);
    }
    if (failed)
        return -1;
    if (end == layers)
        return read_logits(s, sent.x, false, copies->logits);
    if (by_paths)
        return run_received(s, &sent, copies);
    struct stream_start start = {end, streams_of(s, sent.x, copies->count)};
    return run_on(s, copies, &start, (struct edits){0});
}

/* --- the two texts' own runs ------------------------------------------------------------------ */

static int keep(struct side *side, const struct kept_list *list, struct sweep *s)
{
    side->streams = arena_alloc(&s->kept, s->config->n_layer, sizeof *side->streams, s->err);
    side->values = arena_alloc(&s->kept, s->config->n_layer, sizeof *side->values, s->err);
    if (!side->streams || !side->values)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        const struct kept *kept = &list->items[i];
        if (kept->site == SITE_LOGITS)
            side->logits = kept->data;
        if (kept->site == SITE_RESID_PRE)
            side->streams[kept->layer] = kept->data;
        if (kept->site == s->site)
            side->values[kept->layer] = tensor_dense(kept->data, kept->rank, kept->shape);
    }
    return 0;
}

static int run_both(struct sweep *s)
{
    struct viewer *viewer = s->plan->viewer;
    struct capture capture;
    struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = &capture};
    struct selection selection = {.sites = site_bit(SITE_RESID_PRE) | site_bit(s->site) |
                                           site_bit(SITE_LOGITS),
                                  .last_logits = true};
    struct text texts[] = {text_of(s, &s->base), text_of(s, &s->other)};
    struct text_list both = {texts, 2, 0, NULL};
    texts[0].cache = s->whole ? NULL : &s->cache;
    if (selection_layers(&selection, NULL, s->config, &s->kept, s->err) ||
        capture_init(&capture, &selection, s->config, 2, &s->kept, s->err) ||
        viewer_run(viewer, &selection, &both, tap, s->err))
        return -1;
    return keep(&s->base, &capture.lists[0], s) || keep(&s->other, &capture.lists[1], s) ? -1 : 0;
}

/* Caches for copies, as many as share a pass. */
static int take_copies(struct sweep *s)
{
    size_t columns = s->found->columns;
    size_t each = s->whole ? 1 : cache_bytes(s->config, s->cache.precision, s->tokens);
    size_t most = s->plan->batch_tokens ? s->plan->batch_tokens : BATCH_TOKENS;
    most = num_min(num_min(most / s->tokens, CACHE_BYTES / each), columns);
    s->most = most ? most : 1;
    s->copies = arena_alloc(&s->kept, s->most, sizeof *s->copies, s->err);
    for (size_t i = 0; s->copies && !s->whole && i < s->most; i++)
        if (cache_init(&s->copies[i].cache, s->config, s->err))
            return -1;
    return s->copies ? 0 : -1;
}

static bool differ(const struct sweep *s, size_t layer, size_t first, size_t count)
{
    return memcmp(s->base.values[layer].data + first, s->other.values[layer].data + first,
                  count * sizeof(float)) != 0;
}

/* The first token whose value in a cell is not the same in both texts. Past the end: there is none,
 * or it is of no use to the answer. */
static size_t first_change(const struct sweep *s, size_t layer, size_t column)
{
    const struct tensor *base = &s->base.values[layer];
    bool by_token = s->plan->over == PATCH_HEADS_BY_TOKEN;
    size_t token = by_token ? column % s->tokens : column;
    size_t at = by_token ? column / s->tokens * base->stride[0] + token * base->stride[1]
                         : column * base->stride[0];
    bool late = layer + 1 == s->config->n_layer && s->site >= SITE_CONTEXT;
    if (by_token || !site_has_heads(s->site))
        return (late && token + 1 < s->tokens) || !differ(s, layer, at, base->stride[by_token])
                   ? s->tokens
                   : token;
    for (token = 0; token < s->tokens; token++, at += base->stride[1])
        if (differ(s, layer, at, base->stride[1]))
            break;
    return token;
}

static int run_chunk(struct sweep *s, struct copies *copies)
{
    bool is_sent = s->plan->over == PATCH_PATHS || (s->plan->over == PATCH_HEADS && !s->edits);
    int failed = is_sent ? run_sent(s, copies) : run_edited(s, copies);
    arena_clear(&s->chunk);
    return failed;
}

/* The cells of a layer, some at a time. */
static int run_layer(struct sweep *s, size_t layer, struct copies copies)
{
    struct patching *found = s->found;
    double *cells = found->logits + (layer - found->first_layer) * found->columns;
    double unpatched = s->plan->noise ? found->clean : found->corrupt;
    copies.layer = layer;
    if (!s->base.values[layer].rank)
        return 0;
    for (size_t i = 0; i < found->columns; i++) {
        size_t column = found->first_column + i;
        size_t first = first_change(s, layer, column);
        cells[i] = unpatched;
        if (first < s->tokens) {
            copies.columns[copies.count] = column;
            copies.firsts[copies.count++] = s->whole ? 0 : first;
        }
        if (copies.count < s->most && (i + 1 < found->columns || !copies.count))
            continue;
        if (run_chunk(s, &copies))
            return -1;
        for (size_t k = 0; k < copies.count; k++)
            cells[copies.columns[k] - found->first_column] = copies.logits[k];
        copies.count = 0;
    }
    s->done += found->columns;
    progress_tell(s->plan->progress, s->done, found->layers * found->columns);
    return 0;
}

static int run_all(struct sweep *s)
{
    struct patching *found = s->found;
    struct copies copies = {
        .columns = arena_alloc(&s->kept, s->most, sizeof *copies.columns, s->err),
        .firsts = arena_alloc(&s->kept, s->most, sizeof *copies.firsts, s->err),
        .logits = arena_alloc(&s->kept, s->most, sizeof *copies.logits, s->err),
    };
    int failed = !copies.columns || !copies.firsts || !copies.logits;
    for (size_t i = 0; i < found->layers && !failed; i++)
        failed = run_layer(s, found->first_layer + i, copies);
    return failed ? -1 : 0;
}

/* --- what is asked for ------------------------------------------------------------------------ */

int patching_check_texts(const struct tokenized *clean, const struct tokenized *corrupt,
                         struct err *err)
{
    const struct tokenized *const texts[] = {clean, corrupt};
    struct buf lists[2] = {{0}, {0}};
    if (clean->count == corrupt->count)
        return 0;
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < texts[side]->count; i++)
            buf_format(&lists[side], "%s%s", i ? " " : "", texts[side]->labels[i].text);
    err_set(err, "expected texts of as many tokens, found %zu (%s) and %zu (%s)", clean->count,
            lists[0].bytes ? lists[0].bytes : "", corrupt->count,
            lists[1].bytes ? lists[1].bytes : "");
    buf_release(&lists[0]);
    buf_release(&lists[1]);
    return -1;
}

/* All runs must be edited alike. */
static int check_edits(const struct patching_plan *plan, struct err *err)
{
    const struct edits *edits = plan->viewer->edits;
    bool early = plan->position + 1 < plan->clean->count;
    if (text_origin_check_edits(edits, err))
        return -1;
    for (size_t i = 0; edits && i < edits->count; i++) {
        const struct edit *edit = &edits->items[i];
        if (edit->source && edit->source->count > 1)
            return err_usage(err,
                             "%s: expected the same values in all runs, found '= resample', which "
                             "draws a text for each: '= mean' takes their mean",
                             edit->words);
        if (early && (edit->tokens.count || edit->columns.count || edit->source))
            return err_usage(err,
                             "%s: expected an edit of all tokens with --position, found single "
                             "tokens: leave out the text after the position",
                             edit->words);
    }
    return 0;
}

static int check_site(const struct patching_plan *plan, enum site site, struct err *err)
{
    const struct viewer *viewer = plan->viewer;
    const struct config *c = &viewer->model.config;
    const struct edit edit = {.site = site, .words = "--over"};
    const struct edits edits = {&edit, 1};
    if (!site_exists(c, site))
        return err_unsupported(err, "--over: '%s' has no '%s'", viewer->model.name,
                               site_rows[site].name);
    return edits_check(&edits, c, err);
}

/* Of what there are so many cells. */
static void lay_out(struct sweep *s)
{
    struct patching *found = s->found;
    const struct config *c = s->config;
    const struct patch_path *path = &s->plan->path;
    bool of_keys = site_rows[s->site].axes == AXES_GROUP_TOKEN_DIM;
    found->layers = c->n_layer;
    found->columns = !site_has_heads(s->site) ? s->tokens : of_keys ? c->n_kv_head : c->n_head;
    found->columns *= s->plan->over == PATCH_HEADS_BY_TOKEN ? s->tokens : 1;
    if (s->plan->over == PATCH_PATHS && path->to != SITE_LOGITS)
        found->layers = path->to_layer;
    if (s->plan->over != PATCH_PATHS || !path->has_sender)
        return;
    found->first_layer = path->from_layer;
    found->first_column = path->from_head;
    found->layers = found->columns = 1;
}

/* The answer, and what there is to come back. */
static int read_sides(struct sweep *s)
{
    struct patching *found = s->found;
    const struct side *clean = s->plan->noise ? &s->base : &s->other;
    const struct side *corrupt = s->plan->noise ? &s->other : &s->base;
    uint32_t best = 0;
    topk(&best, 1, clean->logits, s->config->vocab_size);
    found->answer = s->plan->answer < 0 ? best : s->plan->answer;
    found->clean = answer_of(s, clean->logits);
    found->corrupt = answer_of(s, corrupt->logits);
    if (found->clean != found->corrupt)
        return 0;
    return err_set(s->err,
                   "expected texts whose logits of the answer differ, found %.9g in both: there is "
                   "nothing to come back",
                   found->clean);
}

int patching_make(struct patching *patching, const struct patching_plan *plan, struct arena *arena,
                  struct err *err)
{
    struct viewer *viewer = plan->viewer;
    const struct tokenized *base = plan->noise ? plan->clean : plan->corrupt;
    const struct tokenized *other = plan->noise ? plan->corrupt : plan->clean;
    struct sweep s = {
        .plan = plan,
        .config = &viewer->model.config,
        .found = patching,
        .site = patch_overs[plan->over].site,
        .tokens = plan->position + 1,
        .base.ids = base->ids,
        .other.ids = other->ids,
        .edits = viewer->edits,
        .cache.config = &viewer->model.config,
        .run = {&viewer->machine, &viewer->model.config, &viewer->model.weights, NULL, NULL, NULL},
        .err = err,
    };
    *patching = (struct patching){.plan = plan};
    if (text_origin_check(viewer, err) || patching_check_texts(plan->clean, plan->corrupt, err) ||
        check_site(plan, s.site, err) || check_edits(plan, err))
        return -1;
    for (size_t layer = 0; layer < s.config->n_layer; layer++)
        s.from_ids = s.from_ids || edits_have(viewer->edits, SITE_RESID_PRE, layer);
    s.whole = s.from_ids || s.config->mechanism.renormalise;
    lay_out(&s);
    size_t cells = patching->layers * patching->columns;
    patching->logits = arena_alloc(arena, cells, sizeof *patching->logits, err);
    for (size_t i = 0; patching->logits && i < cells; i++)
        patching->logits[i] = NAN;
    int failed =
        !patching->logits || run_both(&s) || read_sides(&s) || take_copies(&s) || run_all(&s);
    for (size_t i = 0; s.copies && i < s.most; i++)
        cache_release(&s.copies[i].cache);
    cache_release(&s.cache);
    arena_release(&s.chunk);
    arena_release(&s.kept);
    return failed ? -1 : 0;
}

/* --- as a report ------------------------------------------------------------------------------ */

const struct patch_number_row patch_numbers[PATCH_NUMBERS] = {
    [PATCH_FRACTION] =
        {"fraction", "part of the answer restored: 0 as in the corrupt run, 1 as in the clean run"},
    [PATCH_LOGIT] = {"logit", "logit of the answer, or the difference of two"},
};

/* Mary|John: where the texts differ. */
static int label_both(struct label *label, const struct label *clean, const struct label *corrupt,
                      struct arena *arena, struct err *err)
{
    label->text = arena_format(arena, err, "%s|%s", clean->text, corrupt->text);
    label->exact = arena_format(arena, err, "%s|%s", clean->exact, corrupt->text);
    label->plain = arena_format(arena, err, "%s|%s", clean->plain, corrupt->plain);
    return label->text && label->exact && label->plain ? 0 : -1;
}

static const struct label *label_tokens(const struct patching *patching, struct arena *arena,
                                        struct err *err)
{
    const struct tokenized *clean = patching->plan->clean;
    const struct tokenized *corrupt = patching->plan->corrupt;
    size_t count = patching->plan->position + 1;
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    for (size_t i = 0; labels && i < count; i++) {
        labels[i] = clean->labels[i];
        if (clean->ids[i] != corrupt->ids[i] &&
            label_both(&labels[i], &clean->labels[i], &corrupt->labels[i], arena, err))
            return NULL;
    }
    return labels;
}

/* Of a layer heads by tokens, else layers by heads or tokens; without numbers. */
static int make_frame(struct sheet *frame, const struct patching *patching, size_t index,
                      struct arena *arena, struct err *err)
{
    bool by_token = patching->plan->over == PATCH_HEADS_BY_TOKEN;
    bool of_tokens = by_token || !site_has_heads(patch_overs[patching->plan->over].site);
    size_t columns = of_tokens ? patching->plan->position + 1 : patching->columns;
    size_t layers = patching->first_layer + patching->layers;
    const struct label *numbers =
        labels_of_numbers(layers + patching->first_column + columns, arena, err);
    const struct label *labels = of_tokens ? label_tokens(patching, arena, err) : numbers;
    *frame = (struct sheet){.layer = by_token ? (int)index : -1, .head = -1};
    if (!numbers || !labels)
        return -1;
    frame->rows = (struct axis){"layer", patching->layers, numbers + patching->first_layer,
                                patching->first_layer};
    frame->columns = (struct axis){of_tokens ? "token" : "head", columns,
                                   labels + patching->first_column, patching->first_column};
    return by_token ? axis_of_heads(&frame->rows, index, patching->columns / columns, arena, err)
                    : 0;
}

int patching_report(struct report *report, const struct patching *patching, unsigned numbers,
                    const struct text_origin *origin, struct arena *arena, struct err *err)
{
    size_t count = patching->plan->over == PATCH_HEADS_BY_TOKEN ? patching->layers : 1;
    size_t cells = patching->layers * patching->columns / count;
    struct sheet *sheets = arena_alloc(arena, PATCH_NUMBERS * count, sizeof *sheets, err);
    struct kept *kept = arena_alloc(arena, PATCH_NUMBERS * count, sizeof *kept, err);
    if (!sheets || !kept)
        return -1;
    *report = text_origin_report(origin, patching->plan->clean);
    report->corrupt = patching->plan->corrupt;
    report->tensors = kept;
    for (size_t n = 0; n < PATCH_NUMBERS * count; n++) {
        size_t number = n / count;
        const double *logits = patching->logits + n % count * cells;
        struct sheet *sheet = &sheets[report->tensor_count];
        if (!(numbers >> number & 1))
            continue;
        float *values = arena_alloc(arena, cells, sizeof *values, err);
        if (!values || make_frame(sheet, patching, n % count, arena, err))
            return -1;
        for (size_t i = 0; i < cells; i++)
            values[i] =
                (float)(number == PATCH_LOGIT ? logits[i] : patching_fraction(patching, logits[i]));
        sheet->tensor = patch_numbers[number].name;
        sheet->values = values;
        kept[report->tensor_count++] = kept_made(sheet);
    }
    return 0;
}
