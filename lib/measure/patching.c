#include "measure/patching.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "lens/capture.h"
#include "math/rows.h"
#include "pass/cache.h"
#include "model/features.h"
#include "model/points.h"
#include "pass/sampler.h"
#include "pass/tap.h"

enum {
    BATCH_TOKENS = 1024,
    CACHE_BYTES = 256 << 20, /* memory for the caches of all copies in a pass; one copy may exceed
                              * it */
};

const struct patch_over_row patch_overs[PATCH_OVERS] = {
    [PATCH_HEADS] = {"heads", SITE_CONTEXT, "output of each head (default)"},
    [PATCH_RESID_PRE] = {"resid_pre", SITE_RESID_PRE,
                         "residual stream before a layer, at each token"},
    [PATCH_RESID_MID] = {"resid_mid", SITE_RESID_MID, "residual stream after attention"},
    [PATCH_ATTN_OUT] = {"attn_out", SITE_ATTN_OUT, "output of the attention layer, at each token"},
    [PATCH_MLP_OUT] = {"mlp_out", SITE_MLP_OUT, "output of the MLP, at each token"},
    [PATCH_MLP_ACT] = {"mlp_act", SITE_MLP_ACT, "each neuron of the MLP, at all tokens"},
    [PATCH_Q] = {"q", SITE_Q, "queries of each head"},
    [PATCH_K] = {"k", SITE_K, "keys of each head, or of each kv_head if heads share keys"},
    [PATCH_V] = {"v", SITE_V, "values of each head, or of each kv_head"},
    [PATCH_WEIGHTS] = {"weights", SITE_WEIGHTS, "attention weights of each head"},
    [PATCH_HEADS_BY_TOKEN] = {"heads_by_token", SITE_CONTEXT, "output of each head at each token"},
    [PATCH_CROSS_HEADS] = {"cross_heads", SITE_OF(BRANCH_CROSS, SITE_CONTEXT),
                           "output of each head of cross-attention"},
    [PATCH_CROSS_OUT] = {"cross_out", SITE_OF(BRANCH_CROSS, SITE_ATTN_OUT),
                         "output of the cross-attention layer, at each token"},
    [PATCH_MIX_HEADS] = {"mix_heads", SITE_OF(BRANCH_MIXER, SITE_CONTEXT),
                         "output of each head of a layer that keeps a state"},
    [PATCH_MIX_OUT] = {"mix_out", SITE_OF(BRANCH_MIXER, SITE_ATTN_OUT),
                       "output of a layer that keeps a state, at each token"},
    [PATCH_MIX_Q] = {"mix_q", SITE_OF(BRANCH_MIXER, SITE_Q), "its queries: what is read"},
    [PATCH_MIX_K] = {"mix_k", SITE_OF(BRANCH_MIXER, SITE_K), "its keys: where tokens write"},
    [PATCH_MIX_V] = {"mix_v", SITE_OF(BRANCH_MIXER, SITE_V), "its values: what tokens write"},
    [PATCH_MIX_STEP] = {"mix_step", SITE_OF(BRANCH_MIXER, SITE_STEP), "how strongly they write"},
    [PATCH_MIX_DECAY] = {"mix_decay", SITE_OF(BRANCH_MIXER, SITE_DECAY), "what they leave"},
    [PATCH_PATHS] = {"paths", SITE_CONTEXT,
                     "direct path from each head to the logits, or to the receivers of --path"},
    [PATCH_EDGES] = {"edges", SITE_CONTEXT,
                     "with --estimate: from the embedding, each head and MLP to q, k and v of each "
                     "later head, MLPs and logits"},
    [PATCH_PARTS] =
        {"parts", SITE_CONTEXT,
         "with --with: output of each head, and of each MLP at all tokens (its default)"},
};

const char *const patch_withs[PATCH_WITHS] = {"text", "zero", "mean", "resample", "edits"};

const struct patch_metric_row patch_metrics[PATCH_METRICS] = {
    [METRIC_LOGIT] = {"logit", "logit of the answer, or difference of two (default)", true},
    [METRIC_PROBABILITY] = {"probability", "its probability, or a difference", true},
    [METRIC_LOGPROB] = {"logprob", "its log-probability in nats, or a difference", false},
    [METRIC_KL] = {"kl",
                   "Kullback-Leibler divergence of the clean prediction from that of the "
                   "patched run, in nats",
                   false},
    [METRIC_JS] = {"js", "Jensen-Shannon divergence of the two, in nats", false},
    [METRIC_COSINE] = {"cosine",
                       "cosine:@FILE.npy: cosine of the last residual stream at the "
                       "position and a vector",
                       true},
};

/* The unpatched run of one text. */
struct unpatched {
    const struct text_with_source *pair;
    struct tensor *streams; /* [L] the stream before each layer, [T, C] */
    struct tensor *values;  /* [L] values of the patched site; rank 0: the layer lacks the site */
    struct tensor *outs;    /* [L] values of mlp_out, for PATCH_EDGES and PATCH_PARTS */
    const float *logits;    /* [V] logits at the position */
    const float *last;      /* [C] output of the last layer at the position */
};

struct patch_sweep {
    const struct patching_plan *plan;
    const struct config *config;
    struct patching *found;
    enum site site;
    bool by_head, by_token;       /* the cell that a patch replaces is a head, a token or, if both
                                   * are true, a head at a token; if both are false, it is a
                                   * neuron */
    size_t tokens;                /* number of tokens that are run: up to the position; with two-way
                                   * attention, all */
    size_t cells;                 /* number of cells of a layer */
    size_t mlp;                   /* with PATCH_PARTS: the column of the MLP; else SIZE_MAX */
    const float *clean_logits;    /* [V] logits of the clean run */
    size_t most;                  /* maximum number of copies in a pass */
    struct unpatched base, other; /* `base`: the patched run; `other`: the run that supplies
                                   * values */
    const struct edits *edits;    /* edits of all runs; NULL: no edits */
    bool from_ids; /* true if there are edits of resid_pre, an encoder, or layers that read more
                    * than the stream: copies then start from their token ids */
    bool whole;    /* true if copies run all tokens: with from_ids, --mask-after, layers that keep a
                    * state, or two-way attention */
    bool is_last;  /* true if the position is the last token that is run */
    struct cache cache;       /* keys and values of the tokens of `base` */
    struct arena kept, chunk; /* `kept`: memory for the whole sweep; `chunk`: memory for one pass */

    /* Copies of the base text in a pass, each with the patch of one column. */
    size_t layer;
    size_t count, *columns, *firsts; /* [most] for each copy of the text: `columns`: column of the
                                      * result that its patch fills; `firsts`: index of the first
                                      * token that it runs */
    struct cache *copies;            /* [most] keys and values of the tokens before each copy's
                                      * first token */
    struct edit_donor *received;     /* [most, receivers] inputs of the receivers of paths */
    double *logits;                  /* [most] the metric after each copy's patch */
    struct err *err;
};

/* True if patches replace values of the clean run. */
static bool is_clean(const struct patching_plan *plan)
{
    return plan->noise || plan->with != PATCH_WITH_TEXT;
}

static double unpatched_logit(const struct patching *patching)
{
    return is_clean(patching->plan) ? patching->clean : patching->corrupt;
}

static struct text text_of(const struct patch_sweep *s, const struct unpatched *side)
{
    struct text text = viewer_text(side->pair);
    text.count = s->tokens;
    text.whole_count = s->plan->clean->text.count;
    return text;
}

/* Return the divergence of predictions from the predictions of the clean run: Kullback-Leibler or
 * Jensen-Shannon, as plan->metric says. */
static double divergence(const struct patch_sweep *s, const float *logits)
{
    const size_t count = config_logits(s->config);
    const double sums[] = {logsumexp(s->clean_logits, count), logsumexp(logits, count)};
    double total = 0;
    for (size_t i = 0; i < count; i++) {
        const double a = (double)s->clean_logits[i] - sums[0], b = (double)logits[i] - sums[1];
        const double p = exp(a), q = exp(b), middle = log((p + q) / 2);
        if (s->plan->metric == METRIC_KL)
            total += p > 0 ? p * (a - b) : 0;
        else
            total += (p > 0 ? p * (a - middle) : 0) / 2 + (q > 0 ? q * (b - middle) : 0) / 2;
    }
    return total;
}

/* Compute the metric at the position, from the logits or the last stream. */
static double answer_of(const struct patch_sweep *s, const float *logits, const float *last)
{
    struct question *question = s->plan->question;
    const size_t count = config_logits(s->config), width = s->config->n_embd;
    const bool differs = question->against >= 0;
    if (s->plan->metric == METRIC_COSINE)
        return dot_rows(last, s->plan->direction, width) /
               sqrt(dot_rows(last, last, width) *
                    dot_rows(s->plan->direction, s->plan->direction, width));
    if (s->plan->metric == METRIC_KL || s->plan->metric == METRIC_JS)
        return divergence(s, logits);
    const double logit = question_ask(question, logits, count);
    if (s->plan->metric == METRIC_LOGIT || (s->plan->metric == METRIC_LOGPROB && differs))
        return logit;
    const double sum = logsumexp(logits, count), logprob = logits[question->answer] - sum;
    if (s->plan->metric == METRIC_LOGPROB)
        return logprob;
    return exp(logprob) - (differs ? exp(logits[question->against] - sum) : 0);
}

/* Return the row of `position`: row 0 if only the last token was computed (is_last). */
static const float *row_of(const struct patch_sweep *s, const float *logits)
{
    return logits + (s->is_last ? 0 : s->plan->question->position * config_logits(s->config));
}

/* --- passes of copies ------------------------------------------------------------------------- */

/* Return the position's row of a stream that has all tokens that are run. */
static const float *stream_row(const struct patch_sweep *s, const struct tensor *stream)
{
    const size_t row =
        s->is_last ? stream->shape[stream->rank - 2] - 1 : s->plan->question->position;
    return stream->data + row * stream->stride[stream->rank - 2];
}

static int take_metric(void *context, const struct announcement *announced, struct err *err)
{
    struct patch_sweep *s = context;
    (void)err;
    s->logits[announced->text] = s->plan->metric == METRIC_COSINE
                                     ? answer_of(s, NULL, stream_row(s, &announced->values))
                                     : answer_of(s, row_of(s, announced->values.data), NULL);
    return 0;
}

/* Run the tokens of each copy from `firsts` on, starting with the base's stream before a layer, or
 * with the ids (from_ids). The edits of all runs are made first, then the patches. */
static int run_from(struct patch_sweep *s, const size_t *firsts, size_t layer,
                    const struct edits *patches, const struct selection *selection, tap_sink sink)
{
    struct viewer *viewer = s->plan->viewer;
    size_t own = s->edits ? s->edits->count : 0;
    struct text *texts = arena_alloc(&s->chunk, s->count, sizeof *texts, s->err);
    const float **streams = arena_alloc(&s->chunk, s->count, sizeof *streams, s->err);
    struct edit *items = arena_alloc(&s->chunk, own + patches->count, sizeof *items, s->err);
    struct stream_start start = {layer, streams};
    struct text_list list = {texts, s->count, 0, s->from_ids ? NULL : &start};
    struct edits edits = {items, own + patches->count};
    if (!texts || !streams || !items)
        return -1;
    for (size_t i = 0; i < s->count; i++) {
        streams[i] = s->base.streams[layer].data + firsts[i] * s->config->n_embd;
        texts[i] = text_of(s, &s->base);
        texts[i].ids += firsts[i];
        texts[i].segments += texts[i].segments ? firsts[i] : 0;
        texts[i].count -= firsts[i];
        if (s->whole)
            continue;
        if (cache_copy(&s->copies[i], &s->cache, s->err))
            return -1;
        cache_forget(&s->copies[i], firsts[i]);
        texts[i].cache = &s->copies[i];
    }
    if (own)
        memcpy(items, s->edits->items, own * sizeof *items);
    memcpy(items + own, patches->items, patches->count * sizeof *items);
    viewer->edits = &edits;
    int failed =
        viewer_run(viewer, selection, &list, (struct tap){.sink = sink, .context = s}, s->err);
    viewer->edits = s->edits;
    return failed;
}

static int run_to_logits(struct patch_sweep *s, size_t layer, const struct edits *patches)
{
    const size_t last = s->config->n_layer - 1;
    const bool of_stream = s->plan->metric == METRIC_COSINE;
    const struct selection selection = {
        .sites = SITE_SET(of_stream ? site_of_output(s->config) : SITE_LOGITS),
        .layers = {&last, of_stream},
        .last_logits = s->is_last};
    return run_from(s, s->firsts, layer, patches, &selection, take_metric);
}

/* --- patches as edits ------------------------------------------------------------------------- */

/* The indices of a cell: its layer and, if cells have them, its head, token and neuron. */
struct cell {
    size_t layer, column, head, token, neuron;
};

static struct cell cell_of(const struct patch_sweep *s, size_t column)
{
    const struct layer_head at =
        s->plan->heads ? s->plan->heads[column] : (struct layer_head){s->layer, column};
    return (struct cell){at.layer, at.head, s->by_token ? at.head / s->tokens : at.head,
                         at.head % s->tokens, at.head};
}

/* Return the tensor with the values of a cell, in the base run or the other run. */
static const struct tensor *values_of(const struct patch_sweep *s, const struct unpatched *side,
                                      struct cell cell)
{
    return (cell.column == s->mlp ? side->outs : side->values) + cell.layer;
}

/* The cells that a column's patch changes: its own or, in the column of `joint`, all cells. */
static struct cell_range {
    size_t first, end;
} cells_of(const struct patch_sweep *s, size_t column)
{
    size_t heads = s->plan->head_count;
    return heads && column == heads ? (struct cell_range){0, heads}
                                    : (struct cell_range){column, column + 1};
}

static struct edit_range only(size_t index)
{
    return (struct edit_range){(ptrdiff_t)index, (ptrdiff_t)index};
}

/* Return the edit that gives copy number `text` the donor's values at a site of some layers. */
static struct edit take(enum site site, const struct edit_range *layers,
                        const struct edit_donor *donor, size_t text)
{
    return (struct edit){.site = site,
                         .op = EDIT_TAKE,
                         .one_text = true,
                         .text = text,
                         .layers = {layers, 1},
                         .donor = donor,
                         .words = "--over"};
}

static struct edit_donor donor_of(const struct patch_sweep *s, const struct tensor *values)
{
    return (struct edit_donor){.values = values, .count = 1, .longest = s->tokens, .exact = true};
}

/* Return the number of layers whose heads can be senders of a path: all layers before the last
 * receiver's layer or, for paths to the logits, all layers. */
static size_t end_of_paths(const struct patching_plan *plan, const struct config *config)
{
    size_t end = plan->receiver_count ? 0 : config->n_layer;
    for (size_t i = 0; i < plan->receiver_count; i++)
        end = num_max(end, plan->receivers[i].at.layer);
    return end;
}

/* Store the queries, keys or values of a copy's receivers. */
static int keep_received(void *context, const struct announcement *announced, struct err *err)
{
    struct patch_sweep *s = context;
    size_t count = s->plan->receiver_count, layer = (size_t)announced->layer;
    for (size_t i = 0; i < count; i++) {
        const struct patch_receiver *receiver = &s->plan->receivers[i];
        if (receiver->site != announced->site || receiver->at.layer != layer)
            continue;
        struct tensor head = tensor_slice(&announced->values, receiver->at.head);
        struct tensor *values = arena_alloc(&s->chunk, layer + 1, sizeof *values, err);
        float *data = arena_room(&s->chunk, tensor_count(&head), sizeof *data, err);
        if (!values || !data)
            return -1;
        tensor_copy(data, &head);
        values[layer] =
            (struct tensor){data, 3, {1, head.shape[0], head.shape[1]}, {0, head.shape[1], 1}};
        s->received[announced->text * count + i] = donor_of(s, values);
    }
    return 0;
}

/* Run two passes: the copies with the patches, up to the last receiver; then the base text, in
 * which only the receivers after the senders get the stored inputs. */
static int run_received(struct patch_sweep *s, const struct edits *patches)
{
    const struct patching_plan *plan = s->plan;
    size_t count = plan->receiver_count;
    struct selection selection = {0};
    struct edits taken = {0};
    size_t *layers = arena_alloc(&s->chunk, s->config->n_layer, sizeof *layers, s->err);
    struct edit_range *indices = arena_alloc(&s->chunk, 2 * count, sizeof *indices, s->err);
    struct edit *items = arena_alloc(&s->chunk, s->count * count, sizeof *items, s->err);
    size_t *zeros = arena_alloc(&s->chunk, s->count, sizeof *zeros, s->err);
    s->received = arena_alloc(&s->chunk, s->count * count, sizeof *s->received, s->err);
    if (!layers || !indices || !items || !zeros || !s->received)
        return -1;
    selection.layers.items = layers;
    for (size_t layer = s->layer + 1; layer < s->config->n_layer; layer++) {
        size_t before = taken.count;
        for (size_t i = 0; i < count; i++) {
            const struct patch_receiver *receiver = &plan->receivers[i];
            if (receiver->at.layer != layer)
                continue;
            site_set_add(&selection.sites, receiver->site);
            indices[2 * i] = only(layer);
            indices[2 * i + 1] = only(receiver->at.head);
            for (size_t text = 0; text < s->count; text++) {
                struct edit *item = &items[taken.count++];
                *item = take(receiver->site, &indices[2 * i], &s->received[text * count + i], text);
                item->heads = (struct edit_indices){&indices[2 * i + 1], 1};
            }
        }
        if (taken.count > before)
            layers[selection.layers.count++] = layer;
    }
    taken.items = items;
    return err_if(run_from(s, zeros, s->layer, patches, &selection, keep_received) ||
                  run_to_logits(s, layers[0], &taken));
}

/* Patch each copy with the other run's values at its column's cells. For paths, all other heads
 * from the first sender to the last receiver keep the base's values. */
static int run_copies(struct patch_sweep *s)
{
    bool by_paths = s->plan->over == PATCH_PATHS;
    struct edit_donor base = donor_of(s, s->base.values);
    struct edit_donor other = donor_of(s, s->other.values);
    struct edit_donor outs = donor_of(s, s->other.outs);
    struct edit_range frozen = {(ptrdiff_t)s->layer,
                                (ptrdiff_t)end_of_paths(s->plan, s->config) - 1};
    size_t most = s->count + s->plan->head_count + 1;
    struct edit_range *indices = arena_alloc(&s->chunk, 4 * most, sizeof *indices, s->err);
    struct edit *items = arena_alloc(&s->chunk, most, sizeof *items, s->err);
    struct edits patches = {items, 0};
    if (!indices || !items)
        return -1;
    if (by_paths) {
        items[patches.count] = take(SITE_CONTEXT, &frozen, &base, 0);
        items[patches.count++].one_text = false;
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct cell_range cells = cells_of(s, s->columns[i]);
        for (size_t k = cells.first; k < cells.end; k++) {
            struct edit *item = &items[patches.count];
            struct edit_range *place = &indices[4 * patches.count++];
            const struct cell cell = cell_of(s, k);
            place[0] = only(cell.layer);
            place[1] = only(cell.head);
            place[2] = only(cell.token);
            place[3] = only(cell.neuron);
            const bool is_mlp = cell.column == s->mlp;
            *item = take(is_mlp ? SITE_MLP_OUT : s->site, place, is_mlp ? &outs : &other, i);
            item->heads = (struct edit_indices){place + 1, s->by_head && !is_mlp};
            item->tokens = (struct edit_indices){place + 2, s->by_token};
            item->columns = (struct edit_indices){place + 3, !s->by_head && !s->by_token};
        }
    }
    return by_paths && s->plan->receiver_count ? run_received(s, &patches)
                                               : run_to_logits(s, s->layer, &patches);
}

/* --- unpatched runs of the two texts ---------------------------------------------------------- */

static int keep(struct unpatched *side, const struct array_list *list, struct patch_sweep *s)
{
    side->streams = arena_alloc(&s->kept, s->config->n_layer, sizeof *side->streams, s->err);
    side->values = arena_alloc(&s->kept, s->config->n_layer, sizeof *side->values, s->err);
    side->outs = arena_alloc(&s->kept, s->config->n_layer, sizeof *side->outs, s->err);
    if (!side->streams || !side->values || !side->outs)
        return -1;
    for (size_t i = 0; i < list->count; i++) {
        const struct array *array = &list->items[i];
        const struct tensor values = array_tensor(array);
        if (array->site == SITE_LOGITS)
            side->logits = row_of(s, array->data);
        if (array->site == site_of_output(s->config) &&
            (size_t)array->layer + 1 == s->config->n_layer)
            side->last = stream_row(s, &values);
        if (array->site == SITE_RESID_PRE)
            side->streams[array->layer] = array_tensor(array);
        if (array->site == SITE_MLP_OUT)
            side->outs[array->layer] = array_tensor(array);
        if (array->site == s->site && !site_is_borrowed(s->config, s->site, (size_t)array->layer))
            side->values[array->layer] = array_tensor(array);
    }
    return 0;
}

/* Make the values that an ablation puts in place of `from`: 0, the mean over the tokens, or the
 * values of reference texts. NULL with an error. */
static struct tensor *replace_values(struct patch_sweep *s, const struct tensor *from,
                                     const struct edit_donor *donor)
{
    struct tensor *to = arena_alloc(&s->kept, s->config->n_layer, sizeof *to, s->err);
    for (size_t layer = 0; to && layer < s->config->n_layer; layer++) {
        to[layer] = from[layer];
        const size_t count = to[layer].rank ? tensor_count(&from[layer]) : 0;
        const size_t columns = count ? from[layer].shape[from[layer].rank - 1] : 1;
        const size_t rows = count ? from[layer].shape[from[layer].rank - 2] : 1;
        float *data = arena_alloc(&s->kept, count, sizeof *data, s->err);
        const struct tensor *given =
            donor && count ? edit_donor_choose(donor, layer, s->plan->number, rows) : NULL;
        if (donor && count && !given) {
            err_usage(s->err,
                      "--with %s: expected a reference text of at least %zu tokens, found "
                      "at most %zu",
                      patch_withs[s->plan->with], rows, donor->longest);
            return NULL;
        }
        for (size_t i = 0; data && given && i < count; i++) {
            const size_t *stride = given->stride + given->rank - 2;
            const size_t head = i / (rows * columns), row = i / columns % rows;
            data[i] = given->data[(given->rank == 3 ? head * given->stride[0] : 0) +
                                  row * stride[0] + i % columns * stride[1]];
        }
        for (size_t i = 0; data && !given && s->plan->with == PATCH_WITH_MEAN && i < count; i++) {
            double sum = 0; /* sum over the tokens, for one channel of a head */
            for (size_t row = 0; row < rows; row++)
                sum +=
                    (double)from[layer]
                        .data[i / (rows * columns) * rows * columns + row * columns + i % columns];
            data[i] = (float)(sum / (double)rows);
        }
        to[layer].data = data;
    }
    return s->err->kind ? NULL : to;
}

static int replace_side(struct patch_sweep *s)
{
    const struct edit_donor *const *donors = s->plan->donors;
    s->other.logits = s->base.logits;
    s->other.last = s->base.last;
    s->other.values = replace_values(s, s->base.values, donors[0]);
    s->other.outs = replace_values(s, s->base.outs, donors[1]);
    if (s->plan->over == PATCH_EDGES)
        s->other.streams = replace_values(s, s->base.streams, NULL);
    return err_if(s->err->kind);
}

static int run_both(struct patch_sweep *s)
{
    struct viewer *viewer = s->plan->viewer;
    struct patching *found = s->found;
    struct capture capture;
    struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = &capture};
    struct selection selection = {.sites = SITE_SET(SITE_RESID_PRE, s->site, SITE_LOGITS),
                                  .last_logits = s->is_last};
    struct text texts[] = {text_of(s, &s->base), text_of(s, &s->other)};
    const bool ablates = s->plan->with != PATCH_WITH_TEXT;
    struct text_list both = {texts, ablates ? 1 : 2, 0, NULL};
    texts[0].cache = s->whole || s->plan->estimate ? NULL : &s->cache;
    const struct unpatched *clean = is_clean(s->plan) ? &s->base : &s->other;
    const struct unpatched *corrupt = s->plan->noise ? &s->other : &s->base;
    if (s->plan->over == PATCH_EDGES || s->mlp != SIZE_MAX)
        site_set_add(&selection.sites, SITE_MLP_OUT);
    if (s->plan->metric == METRIC_COSINE)
        site_set_add(&selection.sites, site_of_output(s->config));
    if (selection_layers(&selection, NULL, s->config, &s->kept, s->err) ||
        capture_init(&capture, &selection, s->config, 2, &s->kept, s->err) ||
        viewer_run(viewer, &selection, &both, tap, s->err) ||
        keep(&s->base, &capture.lists[0], s) ||
        (s->plan->with == PATCH_WITH_EDITS ? 0
         : ablates                         ? replace_side(s)
                                           : keep(&s->other, &capture.lists[1], s)))
        return -1;
    s->clean_logits = clean->logits;
    /* if the answer is -1, question_ask sets it */
    question_ask(s->plan->question, clean->logits, config_logits(s->config));
    found->clean = answer_of(s, clean->logits, clean->last);
    found->corrupt = ablates ? 0 : answer_of(s, corrupt->logits, corrupt->last);
    if (ablates || found->clean != found->corrupt)
        return 0;
    return err_set(s->err,
                   "expected texts whose %ss of the answer differ, found %.9g in both: there is "
                   "nothing to restore",
                   patch_metrics[s->plan->metric].name, found->clean);
}

/* Return the number of copies of a text in a pass: at least one, and at most `columns`. */
static size_t copies_of(const struct patching_plan *plan, size_t tokens, size_t cache_bytes,
                        size_t columns)
{
    size_t most = plan->batch_tokens ? plan->batch_tokens : BATCH_TOKENS;
    most = num_min(num_min(most / tokens, CACHE_BYTES / cache_bytes), columns);
    return num_max(most, 1);
}

static int take_copies(struct patch_sweep *s)
{
    size_t each = s->whole ? 1 : cache_bytes(s->config, s->cache.precision, s->tokens);
    s->most = copies_of(s->plan, s->tokens, each, s->found->columns);
    s->columns = arena_alloc(&s->kept, s->most, sizeof *s->columns, s->err);
    s->firsts = arena_alloc(&s->kept, s->most, sizeof *s->firsts, s->err);
    s->logits = arena_alloc(&s->kept, s->most, sizeof *s->logits, s->err);
    s->copies = arena_alloc(&s->kept, s->most, sizeof *s->copies, s->err);
    for (size_t i = 0; s->copies && !s->whole && i < s->most; i++)
        if (cache_init(&s->copies[i], s->config, s->err))
            return -1;
    return s->columns && s->firsts && s->logits && s->copies ? 0 : -1;
}

/* True if the layer of a cell has the site and, as layers may differ in their sizes, the cell's
 * head or neuron. */
static bool has_cell(const struct patch_sweep *s, struct cell cell)
{
    const struct tensor *values = values_of(s, &s->base, cell);
    return values->rank &&
           (cell.column == s->mlp ? true
            : s->by_head          ? cell.head < values->shape[0]
                                  : s->by_token || cell.neuron < values->shape[values->rank - 1]);
}

/* Return the first token that can affect the answer and has a different value in a cell, or
 * s->tokens if there is none. From the last layer's contexts on, and on a path to the logits, only
 * the position can affect the answer. */
static size_t first_change(const struct patch_sweep *s, size_t column)
{
    const struct cell cell = cell_of(s, column);
    const size_t layer = cell.layer;
    const struct tensor *base = values_of(s, &s->base, cell);
    const float *other = values_of(s, &s->other, cell)->data;
    if (!has_cell(s, cell))
        return s->tokens;
    const bool by_neuron = !s->by_head && !s->by_token;
    size_t stride = base->stride[base->rank - 2], size = by_neuron ? 1 : stride;
    size_t start = cell.column == s->mlp ? 0
                   : s->by_head          ? cell.head * base->stride[0]
                   : by_neuron           ? cell.neuron
                                         : 0;
    size_t first = s->by_token ? cell.token : 0;
    size_t end = s->by_token ? first + 1 : s->tokens;
    if ((layer + 1 == s->config->n_layer && site_id(s->site) >= SITE_CONTEXT) ||
        (s->plan->over == PATCH_PATHS && !s->plan->receiver_count)) {
        first = num_max(first, s->plan->question->position);
        end = num_min(end, s->plan->question->position + 1);
    }
    for (size_t token = first; token < end; token++)
        if (memcmp(base->data + start + token * stride, other + start + token * stride,
                   size * sizeof(float)))
            return token;
    return s->tokens;
}

static int run_layer(struct patch_sweep *s, size_t row)
{
    struct patching *found = s->found;
    double *logits = found->logits + row * found->columns;
    s->layer = found->numbers[row];
    for (size_t i = 0; i < found->columns; i++) {
        const struct cell_range cells = cells_of(s, i);
        size_t first = s->tokens;
        for (size_t k = cells.first; k < cells.end; k++)
            first = num_min(first, first_change(s, k));
        if (has_cell(s, cell_of(s, cells.first)))
            logits[i] = unpatched_logit(found);
        if (first < s->tokens) {
            s->columns[s->count] = i;
            s->firsts[s->count++] = s->whole ? 0 : first;
        }
        if (s->count < s->most && (i + 1 < found->columns || !s->count))
            continue;
        int failed = run_copies(s);
        arena_clear(&s->chunk);
        if (failed)
            return -1;
        while (s->count > 0) {
            s->count--;
            logits[s->columns[s->count]] = s->logits[s->count];
        }
    }
    progress_tell(s->plan->progress, (row + 1) * found->columns, found->layers * found->columns);
    return 0;
}

/* Run the clean text with all edits; it was run without them before. */
static int run_edits(struct patch_sweep *s, const struct edits *edits)
{
    double metric = 0;
    size_t first = 0;
    s->count = 1;
    s->firsts = &first;
    s->logits = &metric;
    s->from_ids = s->whole = true;
    int failed = run_to_logits(s, 0, edits);
    s->found->logits[0] = metric;
    return failed;
}

/* Run the patches of all rows. */
static int run_patches(struct patch_sweep *s)
{
    int failed = take_copies(s);
    for (size_t row = 0; !failed && row < s->found->layers; row++)
        failed = run_layer(s, row);
    return err_if(failed);
}

/* --- estimates -------------------------------------------------------------------------------- */

/* Estimate the patches of all cells. The estimate of several patches at once is the sum of their
 * estimates. */
static int estimate_patches(struct patch_sweep *s)
{
    struct patching *found = s->found;
    const struct text other = text_of(s, &s->other);
    const struct estimate_plan plan = {
        .viewer = s->plan->viewer,
        .question = s->plan->question,
        .text = text_of(s, &s->base),
        .by_head = s->by_head,
        .by_token = s->by_token,
        .values = {s->base.values, s->other.values},
        .outs = {s->base.outs, s->other.outs},
        .streams = {s->base.streams, s->other.streams},
        .steps = num_max(s->plan->steps, 1),
        .other = &other,
    };
    const double unpatched = unpatched_logit(found);
    const size_t cells = found->layers * found->columns;
    if (s->plan->over == PATCH_EDGES) {
        if (estimate_edges(found->logits, &plan, &found->edges, s->err))
            return -1;
        for (size_t i = 0; i < cells; i++)
            found->logits[i] += unpatched;
        return 0;
    }
    double *effects = arena_alloc(&s->kept, s->config->n_layer * s->cells, sizeof *effects, s->err);
    if (!effects || estimate_cells(effects, &plan, s->site, s->cells, s->err))
        return -1;
    if (s->mlp != SIZE_MAX) { /* an MLP's estimate is the sum over its tokens */
        double *outs = arena_alloc(&s->kept, s->config->n_layer * s->tokens, sizeof *outs, s->err);
        struct estimate_plan of_mlps = plan;
        of_mlps.values = plan.outs;
        of_mlps.by_head = false;
        of_mlps.by_token = true;
        if (!outs || estimate_cells(outs, &of_mlps, SITE_MLP_OUT, s->tokens, s->err))
            return -1;
        for (size_t i = 0; i < s->config->n_layer * s->tokens; i++)
            effects[i / s->tokens * s->cells + s->mlp] += outs[i];
    }
    for (size_t i = 0; i < cells; i++) {
        const struct cell_range own = cells_of(s, i % found->columns);
        double sum = unpatched;
        s->layer = found->numbers[i / found->columns];
        for (size_t k = own.first; k < own.end; k++) {
            const struct cell cell = cell_of(s, k);
            sum += has_cell(s, cell) ? effects[cell.layer * s->cells + cell.column] : NAN;
        }
        found->logits[i] = sum;
    }
    return 0;
}

/* Return the correlation of two rows of numbers; NaN: one of the rows does not vary. */
static double correlation_of(const double *a, const double *b, size_t count)
{
    double mean[2] = {0, 0}, sums[3] = {0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        mean[0] += a[i] / (double)count;
        mean[1] += b[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++) {
        sums[0] += (a[i] - mean[0]) * (a[i] - mean[0]);
        sums[1] += (b[i] - mean[1]) * (b[i] - mean[1]);
        sums[2] += (a[i] - mean[0]) * (b[i] - mean[1]);
    }
    return sums[2] / sqrt(sums[0] * sums[1]);
}

/* Run the patches with the largest estimates, and correlate the results with the estimates. */
static int verify(struct patching *patching, struct arena *arena, struct err *err)
{
    const struct patching_plan *plan = patching->plan;
    const size_t cells = patching->layers * patching->columns;
    const double unpatched = unpatched_logit(patching);
    struct layer_head *heads = arena_alloc(arena, plan->verify + 1, sizeof *heads, err);
    double *estimates = arena_alloc(arena, plan->verify + 1, sizeof *estimates, err);
    struct patching_plan exact = *plan;
    struct patching found;
    size_t count = 0;
    for (size_t i = 0; heads && estimates && i < cells; i++) {
        size_t at = count;
        for (;
             at > 0 && fabs(estimates[at - 1] - unpatched) < fabs(patching->logits[i] - unpatched);
             at--) {
            estimates[at] = estimates[at - 1];
            heads[at] = heads[at - 1];
        }
        if (isnan(patching->logits[i]))
            continue;
        estimates[at] = patching->logits[i];
        heads[at] =
            (struct layer_head){patching->numbers[i / patching->columns], i % patching->columns};
        count = num_min(count + 1, plan->verify);
    }
    exact.estimate = false;
    exact.heads = heads;
    exact.head_count = count;
    if (!heads || !estimates || patching_make(&found, &exact, arena, err))
        return -1;
    patching->verified = heads;
    patching->verified_count = count;
    patching->exact = found.logits;
    patching->correlation = correlation_of(estimates, found.logits, count);
    return 0;
}

/* --- plan ------------------------------------------------------------------------------------- */

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
    err_set(err, "expected texts of equal length, found %zu (%s) and %zu (%s)", clean->count,
            lists[0].bytes ? lists[0].bytes : "", corrupt->count,
            lists[1].bytes ? lists[1].bytes : "");
    buf_release(&lists[0]);
    buf_release(&lists[1]);
    return -1;
}

/* Return how many tokens are run: all or, in a causal model, the tokens up to the position. */
static size_t patched_tokens(const struct patching_plan *plan)
{
    return config_is_causal(&plan->viewer->model.config) ? plan->question->position + 1
                                                         : plan->clean->text.count;
}

/* Refuse edits that have different effects in different runs. */
static int check_edits(const struct patching_plan *plan, struct err *err)
{
    const struct edits *edits = plan->viewer->edits;
    bool early = patched_tokens(plan) < plan->clean->text.count;
    for (size_t i = 0; edits && i < edits->count; i++) {
        const struct edit *edit = &edits->items[i];
        if (edit->donor && edit->donor->count > 1)
            return err_usage(err,
                             "%s: expected the same values in all runs, found '= resample', which "
                             "draws a text for each run: use '= mean'",
                             edit->words);
        if (early && (edit->tokens.count || edit->columns.count || edit->donor))
            return err_usage(err,
                             "%s: expected an edit of all tokens with --query, found single "
                             "tokens: remove the text after the position",
                             edit->words);
    }
    return 0;
}

/* Refuse receivers whose keys or values another layer makes. */
static int check_receivers(const struct patching_plan *plan, struct err *err)
{
    for (size_t i = 0; i < plan->receiver_count; i++) {
        const struct edit_range layer = only(plan->receivers[i].at.layer);
        const struct edit edit = {
            .site = plan->receivers[i].site, .layers = {&layer, 1}, .words = "--path"};
        if (edits_check(&(struct edits){&edit, 1}, &plan->viewer->model.config, err))
            return -1;
    }
    return 0;
}

static int lay_out(struct patch_sweep *s, struct arena *arena)
{
    struct patching *found = s->found;
    const struct patching_plan *plan = s->plan;
    const struct config *c = s->config;
    size_t heads, neurons;
    bool by_paths = plan->over == PATCH_PATHS, listed = plan->layers.count && !by_paths;
    s->by_head = site_has_heads(s->site);
    s->by_token =
        (!s->by_head && plan->over != PATCH_MLP_ACT) || plan->over == PATCH_HEADS_BY_TOKEN;
    size_t *numbers = arena_alloc(arena, c->n_layer, sizeof *numbers, s->err);
    found->layers = listed ? plan->layers.count : by_paths ? end_of_paths(plan, c) : c->n_layer;
    site_most(&heads, &neurons, c, s->site);
    found->columns =
        (plan->over == PATCH_MLP_ACT ? neurons : heads) * (s->by_token ? s->tokens : 1);
    s->mlp = SIZE_MAX;
    if (plan->over == PATCH_PARTS && site_exists(c, SITE_MLP_OUT))
        s->mlp = found->columns++;
    s->cells = found->columns;
    if (plan->over == PATCH_EDGES) {
        found->layers = found->edges.writers;
        found->columns = found->edges.readers;
    }
    if (plan->head_count) {
        found->layers = 1;
        found->columns = plan->head_count + plan->joint;
    }
    for (size_t row = 0; numbers && row < num_min(found->layers, c->n_layer); row++)
        numbers[row] = listed ? plan->layers.items[row] : row;
    for (size_t i = 0; numbers && i < plan->head_count; i++)
        numbers[0] = i ? num_min(numbers[0], plan->heads[i].layer) : plan->heads[0].layer;
    found->numbers = numbers;
    return numbers ? 0 : -1;
}

/* Refuse an estimate for a model without gradients, which exact patches do not need. */
static int check_estimate(const struct patching_plan *plan, struct err *err)
{
    const struct model *model = &plan->viewer->model;
    if (!plan->estimate || !features_expect(FOR_GRADIENTS, &model->config, model->name, err))
        return 0;
    return err_append(err, plan->over == PATCH_EDGES
                               ? ": use --over heads or mlp_out without --estimate"
                               : ": leave out --estimate");
}

int patching_make(struct patching *patching, const struct patching_plan *plan, struct arena *arena,
                  struct err *err)
{
    struct viewer *viewer = plan->viewer;
    const struct edits *edits = viewer->edits;
    struct patch_sweep s = {
        .plan = plan,
        .config = &viewer->model.config,
        .found = patching,
        .site = patch_overs[plan->over].site,
        .tokens = patched_tokens(plan),
        .base.pair = is_clean(plan) ? plan->clean : plan->corrupt,
        .other.pair = plan->noise ? plan->corrupt : plan->clean,
        .edits = viewer->edits,
        .cache.config = &viewer->model.config,
        .err = err,
    };
    *patching = (struct patching){.plan = plan};
    if (plan->over == PATCH_EDGES && s.config->differs)
        s.site = SITE_GATED; /* contexts after their norm */
    if (plan->over == PATCH_PATHS && has_encoder(s.config))
        return err_unsupported(err,
                               "--over paths: expected a decoder without cross-attention, found "
                               "'%s': use --over heads or cross_heads",
                               viewer->model.name);
    if (plan->over == PATCH_PATHS && config_keeps_state(s.config))
        return err_unsupported(err,
                               "--over paths: expected a model without layers that keep a state, "
                               "found '%s': use --over heads or mix_heads",
                               viewer->model.name);
    if (logits_check(viewer, 0, err) ||
        features_expect(TO_PATCH, s.config, viewer->model.name, err) ||
        (plan->with == PATCH_WITH_TEXT &&
         patching_check_texts(&plan->clean->text, &plan->corrupt->text, err)))
        return -1;
    if (!site_exists(s.config, s.site))
        return err_unsupported(
            err, "--over: '%s' has no '%s'%s", viewer->model.name, site_name(s.site),
            config_keeps_state(s.config) && s.site == SITE_CONTEXT ? ": use --over mix_heads" : "");
    const struct edit edit = {.site = s.site, .words = "--over"};
    if (edits_check(&(struct edits){&edit, 1}, s.config, err) || check_receivers(plan, err) ||
        check_edits(plan, err) || check_estimate(plan, err))
        return -1;
    for (size_t layer = 0; layer < s.config->n_layer; layer++)
        s.from_ids = s.from_ids || edits_have(viewer->edits, SITE_RESID_PRE, layer);
    /* An encoder, and inputs of layers other than the stream, are computed again from the ids. */
    s.from_ids = s.from_ids || has_encoder(s.config) || !config_starts_anywhere(s.config);
    s.whole = s.from_ids || s.config->mechanism.renormalise || config_keeps_state(s.config) ||
              !config_is_causal(s.config); /* states cannot go back to an earlier token */
    s.is_last = plan->question->position + 1 == s.tokens;
    patching->layers = patching->columns = 1;
    if (plan->with == PATCH_WITH_EDITS)
        s.edits = viewer->edits = NULL;
    else if ((plan->over == PATCH_EDGES && edges_find(&patching->edges, viewer, arena, err)) ||
             lay_out(&s, arena))
        return -1;
    size_t cells = patching->layers * patching->columns;
    patching->logits = arena_alloc(arena, cells, sizeof *patching->logits, err);
    for (size_t i = 0; patching->logits && i < cells; i++)
        patching->logits[i] = NAN;
    int failed = !patching->logits || run_both(&s) ||
                 (plan->with == PATCH_WITH_EDITS ? run_edits(&s, edits)
                  : plan->estimate               ? estimate_patches(&s)
                                                 : run_patches(&s));
    viewer->edits = edits;
    for (size_t i = 0; s.copies && i < s.most; i++)
        cache_release(&s.copies[i]);
    cache_release(&s.cache);
    arena_release(&s.chunk);
    arena_release(&s.kept);
    return err_if(failed || (plan->estimate && plan->verify && verify(patching, arena, err)));
}

/* --- report ----------------------------------------------------------------------------------- */

const struct patch_number_row patch_numbers[PATCH_NUMBERS] = {
    [PATCH_FRACTION] =
        {"fraction", "fraction of the answer restored: 0 in the corrupt run, 1 in the clean run"},
    [PATCH_LOGIT] = {"logit", "logit of the answer, or the difference of two"},
    [PATCH_EFFECT] = {"effect", "the logit less that of the run without the patch"},
};

/* Label tokens, with both variants where the texts differ: Mary|John. */
static const struct label *label_tokens(const struct patching *patching, struct arena *arena,
                                        struct err *err)
{
    const struct tokenized *clean = &patching->plan->clean->text;
    const struct tokenized *corrupt = patching->plan->with ? clean : &patching->plan->corrupt->text;
    size_t count = patched_tokens(patching->plan);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    for (size_t i = 0; labels && i < count; i++) {
        const struct label *a = &clean->labels[i], *b = &corrupt->labels[i];
        labels[i] = *a;
        if (clean->ids[i] != corrupt->ids[i])
            labels[i] = (struct label){arena_format(arena, err, "%s|%s", a->text, b->text),
                                       arena_format(arena, err, "%s|%s", a->exact, b->text),
                                       arena_format(arena, err, "%s|%s", a->plain, b->plain)};
    }
    return err->kind ? NULL : labels;
}

/* Make the axes of an array: heads by tokens of one layer; writers by readers for edges; else
 * layers by heads, tokens, neurons or parts. */
static int make_array(struct array *array, const struct patching *patching, size_t index,
                      struct arena *arena, struct err *err)
{
    const struct patching_plan *plan = patching->plan;
    bool by_token = plan->over == PATCH_HEADS_BY_TOKEN;
    *array = (struct array){.layer = -1};
    if (plan->over == PATCH_EDGES)
        return edges_axes(&array->rows, &array->columns, &patching->edges, arena, err);
    enum site site = patch_overs[plan->over].site;
    bool of_tokens = by_token || (!site_has_heads(site) && plan->over != PATCH_MLP_ACT);
    const struct config *c = &plan->viewer->model.config;
    size_t shared_by = 0;
    for (size_t i = 0; site_axes(site) == AXES_KV_HEAD_TOKEN_DIM && i < c->n_layer; i++)
        shared_by = num_max(shared_by, site_shared_by(c, site, i));
    size_t columns = of_tokens ? patched_tokens(plan) : patching->columns;
    size_t first = plan->heads ? plan->heads->head : 0;
    const struct label *labels = of_tokens ? label_tokens(patching, arena, err)
                                           : labels_of_numbers(NULL, first + columns, arena, err);
    *array = (struct array){.layer = by_token ? (int)index : -1, .shared_by = shared_by};
    if (!labels)
        return -1;
    if (plan->over == PATCH_PARTS && !plan->heads) {
        const bool has_mlp = site_exists(c, SITE_MLP_OUT);
        array->columns.name = "part";
        return err_if(axis_add_numbers(&array->columns, "", columns - has_mlp, arena, err) ||
                      (has_mlp && axis_add(&array->columns, "mlp", arena, err)) ||
                      axis_of_numbers(&array->rows, "layer", patching->numbers, patching->layers,
                                      arena, err));
    }
    array->columns = (struct axis){of_tokens                     ? "token"
                                   : plan->over == PATCH_MLP_ACT ? "neuron"
                                                                 : head_word(shared_by),
                                   columns, labels + first, (ptrdiff_t)first};
    return by_token ? axis_of_heads(&array->rows, index, patching->columns / columns, arena, err)
                    : axis_of_numbers(&array->rows, "layer", patching->numbers, patching->layers,
                                      arena, err);
}

static double number_of(const struct patching *patching, size_t number, double logit)
{
    return number == PATCH_LOGIT ? logit
           : number == PATCH_EFFECT
               ? logit - unpatched_logit(patching)
               : (logit - patching->corrupt) / (patching->clean - patching->corrupt);
}

static const char *number_name(const struct patching_plan *plan, size_t number)
{
    return number == PATCH_LOGIT ? patch_metrics[plan->metric].name : patch_numbers[number].name;
}

static const char *note_of(const struct patching *patching)
{
    return patching->plan->estimate ? "first-order estimates" : NULL;
}

/* Report a table with a row for each listed head, and a row for all heads, or all edits, at
 * once. */
static int report_joint(struct report *report, const struct patching *patching, unsigned numbers,
                        struct arena *arena, struct err *err)
{
    size_t count = patching->plan->head_count;
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct table_rows rows = {.most = count + 1, .arena = arena, .err = err};
    for (size_t i = 0; table && i <= count; i++, rows_next(&rows)) {
        const struct layer_head *head = &patching->plan->heads[i];
        rows_label(&rows, patching->plan->with == PATCH_WITH_EDITS ? "edits" : "head", COLUMN_KEY,
                   i < count ? label_of_head(head->layer, head->head, arena, err)
                             : (struct label){"all", "all", "all"});
        for (size_t n = 0; n < PATCH_NUMBERS; n++)
            if (numbers >> n & 1)
                rows_float(&rows, (struct column){number_name(patching->plan, n), .digits = 4},
                           number_of(patching, n, patching->logits[i]));
    }
    report->tables = table;
    report->table_count = 1;
    if (!table || rows_finish(table, &rows, "joint", "head"))
        return -1;
    table->note = note_of(patching);
    return 0;
}

/* Report a table of the verified estimates, in place of the table of the strongest numbers. */
static int report_verified(struct report *report, const struct patching *patching, size_t number,
                           struct arena *arena, struct err *err)
{
    const struct patching_plan *plan = patching->plan;
    const bool by_token = plan->over == PATCH_HEADS_BY_TOKEN;
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct table_rows rows = {.most = patching->verified_count, .arena = arena, .err = err};
    for (size_t i = 0; table && i < patching->verified_count; i++, rows_next(&rows)) {
        const struct layer_head at = patching->verified[i];
        const size_t width = by_token ? report->arrays->columns.size : patching->columns;
        size_t row = 0;
        while (patching->numbers[row] != at.layer)
            row++;
        const double estimate = patching->logits[row * patching->columns + at.head];
        struct strong_cell cell = {array_matrix(report, &report->arrays[by_token ? row : 0], 0),
                                   by_token ? at.head / width : row, at.head % width, 0};
        struct buf name = {0}, plain_name = {0};
        strong_cell_name(&name, &cell);
        strong_cell_plain_name(&plain_name, &cell);
        const char *text = buf_keep(&name, arena, err), *plain = buf_keep(&plain_name, arena, err);
        rows_label(&rows, "part", COLUMN_KEY, (struct label){text, plain, plain});
        rows_integer(&rows, "layer", COLUMN_KEY | COLUMN_DATA_ONLY, (long long)at.layer);
        if (by_token)
            rows_integer(&rows, "head", COLUMN_KEY | COLUMN_DATA_ONLY, (long long)cell.row);
        rows_integer(&rows, cell.sheet.columns.name, COLUMN_KEY | COLUMN_DATA_ONLY,
                     (long long)cell.column);
        rows_float(&rows, (struct column){"estimate", .digits = 4},
                   number_of(patching, number, estimate));
        rows_float(&rows, (struct column){"exact", .digits = 4},
                   number_of(patching, number, patching->exact[i]));
    }
    report->tables = table;
    report->table_count = 1;
    report->strongest = NULL;
    if (!table || rows_finish(table, &rows, "verified", "part"))
        return -1;
    table->note = isnan(patching->correlation)
                      ? "first-order estimates and exact patches"
                      : arena_format(arena, err,
                                     "correlation of first-order estimates and exact patches: %.4f",
                                     patching->correlation);
    return table->note ? 0 : -1;
}

int patching_report(struct report *report, const struct patching *patching, unsigned numbers,
                    struct arena *arena, struct err *err)
{
    size_t count = patching->plan->over == PATCH_HEADS_BY_TOKEN ? patching->layers : 1;
    size_t cells = patching->layers * patching->columns / count;
    const bool of_logits = patching->plan->metric == METRIC_LOGIT;
    const size_t shown = numbers & 1 << PATCH_FRACTION              ? PATCH_FRACTION
                         : of_logits || numbers & 1 << PATCH_EFFECT ? PATCH_EFFECT
                                                                    : PATCH_LOGIT;
    if (patching->plan->with == PATCH_WITH_TEXT)
        report->corrupt = &patching->plan->corrupt->text;
    if (patching->plan->joint || patching->plan->with == PATCH_WITH_EDITS)
        return report_joint(report, patching, numbers, arena, err);
    for (size_t n = 0; n < PATCH_NUMBERS * count; n++) {
        size_t number = n / count;
        const double *logits = patching->logits + n % count * cells;
        struct array array;
        if (!(numbers >> number & 1))
            continue;
        float *values = arena_alloc(arena, cells, sizeof *values, err);
        if (!values || make_array(&array, patching, patching->numbers[n % count], arena, err))
            return -1;
        for (size_t i = 0; i < cells; i++)
            values[i] = (float)number_of(patching, number, logits[i]);
        array.name = number_name(patching->plan, number);
        if (patching->plan->estimate)
            array.display.title = arena_format(arena, err, "%s, first-order estimate", array.name);
        array.data = values;
        if (report_add_array(report, &array, arena, err))
            return -1;
    }
    const float origin = (float)number_of(patching, shown, unpatched_logit(patching));
    report->shows_arrays = patching->plan->over != PATCH_EDGES;
    if (patching->verified_count)
        return report_verified(report, patching, shown, arena, err);
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    if (!table ||
        report_add_strongest(report, number_name(patching->plan, shown), origin, arena, err))
        return -1;
    *table = *report->tables;
    table->note = note_of(patching);
    report->tables = table;
    return 0;
}

/* Add the memory of all passes. Two texts share the first pass. Later passes run copies, which have
 * a cache each if the model is causal. */
void patching_add_memory(struct memory *memory, const struct patching_plan *plan,
                         const struct text_with_source *pair)
{
    const struct viewer *viewer = plan->viewer;
    const struct config *config = &viewer->model.config;
    struct selection selection = {.sites = SITE_SET(SITE_RESID_PRE, patch_overs[plan->over].site),
                                  .layers.count = config->n_layer};
    if (plan->over == PATCH_PARTS)
        site_set_add(&selection.sites, SITE_MLP_OUT);
    struct memory captured = {0};
    size_t tokens = pair->text.count;
    size_t cache =
        config_is_causal(config) ? cache_bytes(config, viewer->model.weights.precision, tokens) : 0;
    size_t copies = copies_of(plan, tokens, num_max(cache, 1), config->n_head * tokens);
    if (plan->estimate)
        memory->during += estimate_bytes(config, pair, plan->over == PATCH_EDGES);
    viewer_add_memory(&captured, viewer, &selection, pair, CAPTURE_ALL);
    memory->held += 2 * captured.held + (double)cache * (double)(1 + copies);
    memory->during = fmax(memory->during, captured.during * (double)num_max(copies, 2));
    memory->held += (double)(copies * plan->receiver_count * tokens) *
                    (double)num_max(num_max(config->d_k, config->d_v), config->wide.d) *
                    sizeof(float);
}
