#include "measure/patching.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "measure/patching_parts.h"
#include "measure/text_origin.h"
#include "model/sampler.h"

enum {
    BATCH_TOKENS = 1024,
    CACHE_BYTES = 256 << 20, /* of copies that share a pass, or one's */
};

const struct patch_over_row patch_overs[PATCH_OVERS] = {
    [PATCH_HEADS] = {"heads", SITE_CONTEXT, "what each head gives (default)"},
    [PATCH_RESID_PRE] = {"resid_pre", SITE_RESID_PRE, "the stream into a layer, at each token"},
    [PATCH_RESID_MID] = {"resid_mid", SITE_RESID_MID, "the stream after attention"},
    [PATCH_ATTN_OUT] = {"attn_out", SITE_ATTN_OUT, "what attention adds, at each token"},
    [PATCH_MLP_OUT] = {"mlp_out", SITE_MLP_OUT, "what the MLP adds"},
    [PATCH_Q] = {"q", SITE_Q, "the queries of each head"},
    [PATCH_K] = {"k", SITE_K, "its keys"},
    [PATCH_V] = {"v", SITE_V, "its values"},
    [PATCH_WEIGHTS] = {"weights", SITE_WEIGHTS, "its attention"},
    [PATCH_PATHS] = {"paths", SITE_CONTEXT, "from heads straight to --to"},
};

double patching_answer(const struct sweep *s, const float *logits)
{
    long long against = s->plan->against;
    return (double)logits[s->found->answer] - (against < 0 ? 0 : (double)logits[against]);
}

double patching_fraction(const struct patching *patching, double logit)
{
    return (logit - patching->corrupt) / (patching->clean - patching->corrupt);
}

/* --- the two texts' own runs ------------------------------------------------------------------ */

static int take_room(struct side *side, struct sweep *s)
{
    size_t layers = s->config->n_layer;
    side->streams = arena_alloc(&s->kept, layers, sizeof *side->streams, s->err);
    side->values = arena_alloc(&s->kept, layers, sizeof *side->values, s->err);
    return side->streams && side->values ? 0 : -1;
}

static void keep(struct side *side, const struct kept_list *list, enum site site)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct kept *kept = &list->items[i];
        if (kept->site == SITE_LOGITS)
            side->logits = kept->data;
        if (kept->site == SITE_RESID_PRE)
            side->streams[kept->layer] = kept->data;
        if (kept->site == site)
            side->values[kept->layer] = tensor_dense(kept->data, kept->rank, kept->shape);
    }
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
    if (take_room(&s->base, s) || take_room(&s->other, s) ||
        selection_layers(&selection, NULL, s->config, &s->kept, s->err) ||
        capture_init(&capture, &selection, s->config, 2, &s->kept, s->err) ||
        viewer_run(viewer, &selection, &both, tap, s->err))
        return -1;
    keep(&s->base, &capture.lists[0], s->site);
    keep(&s->other, &capture.lists[1], s->site);
    return 0;
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
    size_t at = column * base->stride[0];
    size_t token = column;
    bool late = layer + 1 == s->config->n_layer && s->site > SITE_CONTEXT;
    if (!site_has_heads(s->site))
        return (late && column + 1 < s->tokens) || !differ(s, layer, at, base->stride[0])
                   ? s->tokens
                   : token;
    for (token = 0; token < s->tokens; token++, at += base->stride[1])
        if (differ(s, layer, at, base->stride[1]))
            break;
    return token;
}

static int run_chunk(struct sweep *s, struct copies *copies)
{
    bool of_heads = s->plan->over == PATCH_HEADS && !s->edits;
    int failed = s->plan->over == PATCH_PATHS ? patching_run_paths(s, copies)
                 : of_heads                   ? patching_run_heads(s, copies)
                                              : patching_run_edited(s, copies);
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

static int ignore(void *context, const struct announcement *seen, struct err *err)
{
    (void)context, (void)seen, (void)err;
    return 0;
}

/* A pass over all of the text, for each layer of patches. */
static int time_pass(struct sweep *s)
{
    const struct text text = text_of(s, &s->base);
    const struct text_list one = {&text, 1, 0, NULL};
    struct selection selection = {.sites = site_bit(SITE_LOGITS), .last_logits = true};
    double begun = clock_seconds();
    if (!s->plan->timed)
        return 0;
    int failed =
        viewer_run(s->plan->viewer, &selection, &one, (struct tap){.sink = ignore}, s->err);
    double taken = clock_seconds() - begun;
    s->found->pass_seconds += taken / (double)s->found->layers;
    s->found->seconds -= taken;
    return failed;
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
        failed = time_pass(s) || run_layer(s, found->first_layer + i, copies);
    return failed ? -1 : 0;
}

/* --- what is asked for ------------------------------------------------------------------------ */

static void write_tokens(struct buf *out, const struct tokenized *text)
{
    for (size_t i = 0; i < text->count; i++)
        buf_format(out, "%s%s", i ? " " : "", text->labels[i].text);
}

int patching_check_texts(const struct tokenized *clean, const struct tokenized *corrupt,
                         struct err *err)
{
    struct buf lists[2] = {{0}, {0}};
    if (clean->count == corrupt->count)
        return 0;
    write_tokens(&lists[0], clean);
    write_tokens(&lists[1], corrupt);
    err_set(err, "expected texts of as many tokens, found %zu (%s) and %zu (%s)", clean->count,
            lists[0].bytes ? lists[0].bytes : "", corrupt->count,
            lists[1].bytes ? lists[1].bytes : "");
    buf_release(&lists[0]);
    buf_release(&lists[1]);
    return -1;
}

/* Logits are made of rows that passes give; all runs must be edited alike. */
static int check_edits(const struct patching_plan *plan, struct err *err)
{
    const struct edits *edits = plan->viewer->edits;
    bool early = plan->position + 1 < plan->clean->count;
    for (size_t i = 0; edits && i < edits->count; i++) {
        const struct edit *edit = &edits->items[i];
        if (edit->site == SITE_LOGITS)
            return err_usage(err, "%s: expected an edit of what logits are made of, found 'logits'",
                             edit->words);
        if (edit->source && edit->source->count > 1)
            return err_usage(err,
                             "%s: expected the same values in all runs, found '= resample', which "
                             "draws a text for each: '= mean' takes their mean",
                             edit->words);
        if (early && (edit->tokens.count || edit->columns.count || edit->source))
            return err_usage(err,
                             "%s: expected an edit of all tokens beside --position, found places: "
                             "leave out what comes after the position",
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
    found->clean = patching_answer(s, clean->logits);
    found->corrupt = patching_answer(s, corrupt->logits);
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
    double begun = clock_seconds();
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
    patching->seconds += clock_seconds() - begun;
    for (size_t i = 0; s.copies && i < s.most; i++)
        cache_release(&s.copies[i].cache);
    cache_release(&s.cache);
    arena_release(&s.chunk);
    arena_release(&s.kept);
    return failed ? -1 : 0;
}
