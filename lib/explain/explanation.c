/* explanation.c: the steps of a trace. A step that edits change also shows values before and
 * after. */
#include "explain/explanation.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "explain/steps.h"
#include "model/features.h"
#include "model/layer.h"
#include "model/sampler.h"

const struct explain_format explain_formats[] = {
    {"text", ".txt", "text, fitted to the terminal", explain_text_write},
    {"markdown", ".md", "tables and formulas for GitHub, Jupyter or pandoc",
     explain_markdown_write},
    {"html", ".html", "page without scripts, for browsers and printing", explain_html_write},
    {"json", ".json", "all numbers and matrices", explain_json_write},
};

const size_t explain_format_count = sizeof explain_formats / sizeof *explain_formats;

/* --- keys shown on pages ---------------------------------------------------------------------- */

/* Choose the keys with the highest weights, in ascending order. */
static int choose_shown(struct explanation *explanation, const struct trace *trace, size_t most,
                        struct arena *arena, struct err *err)
{
    bool all = most == 0 || most >= trace->keys;
    size_t count = all ? 0 : most;
    struct likely *best = arena_alloc(arena, count + 1, sizeof *best, err);
    bool *marked = arena_alloc(arena, trace->keys, sizeof *marked, err);
    size_t *shown = arena_alloc(arena, trace->keys, sizeof *shown, err);
    if (!best || !marked || !shown)
        return -1;
    topk(best, count, trace->weight, trace->keys, 0);
    for (size_t n = 0; n < count; n++)
        marked[best[n].id] = true;
    for (size_t j = 0; j < trace->keys; j++) {
        if (!all && !marked[j])
            continue;
        shown[explanation->shown_count++] = j;
        explanation->shown_weight += trace->weight[j];
    }
    explanation->shown = shown;
    return 0;
}

/* --- the steps -------------------------------------------------------------------------------- */

/* Properties of a model that decide its steps. One of the first three computes the weights. */
enum way {
    BY_SOFTMAX = 1 << 0,
    BY_LATE_MASK = 1 << 1, /* mask after the softmax */
    BY_FEATURES = 1 << 2,  /* linear attention */
    ALWAYS = BY_SOFTMAX | BY_LATE_MASK | BY_FEATURES,
    DROPPED = 1 << 3,
    EMBEDDING_NORMED = 1 << 4,
    HEADS_NORMED = 1 << 5, /* norms of queries and keys */
    ROTATED = 1 << 6,      /* rotary embedding */
    CAPPED = 1 << 7,
    MOVED = 1 << 8,     /* the scores are moved by ALiBi */
    NORM_LAST = 1 << 9, /* norms follow the sums */
    LAST_LAYER = 1 << 10,
    COOLED = 1 << 11, /* temperature after a soft cap or ALiBi */
    KEYS_EDITED = 1 << 12,
};

/* All steps in the order of the pass. A row applies if the model has one of `ways` and the pass has
 * the tensor at `site` (0: no tensor needed). */
static const struct step_row {
    int ways;
    enum site site;
    const char *name, *title;
    step_builder *make;
} step_rows[] = {
    {EMBEDDING_NORMED, 0, "embedding", "Embedding", step_embedding},
    {ALWAYS, 0, "input", "Input", step_input},
    {ALWAYS, 0, "query", "Query", step_query},
    {HEADS_NORMED, 0, "query_norm", "Norm of the query", step_query_norm},
    {ROTATED, 0, "query_rotary", "Rotary embedding of the query", step_query_rotary},
    {BY_FEATURES, 0, "features", "Features of the query", step_features},
    {BY_FEATURES | HEADS_NORMED | ROTATED | KEYS_EDITED, 0, "keys", "Keys", step_keys},
    {HEADS_NORMED, 0, "key_norm", "Norm of the keys", step_key_norm},
    {ROTATED, 0, "key_rotary", "Rotary embedding of the keys", step_key_rotary},
    {BY_FEATURES, 0, "scores", "Features of the keys and scores", step_products},
    {BY_SOFTMAX | BY_LATE_MASK, 0, "scores", "Keys and scores", step_scores},
    {BY_SOFTMAX | BY_LATE_MASK, 0, "scaled", "Scale", step_scaled},
    {CAPPED, 0, "capped", "Soft cap", step_capped},
    {MOVED, 0, "moved", "ALiBi", step_moved},
    {COOLED, 0, "cooled", "Temperature", step_cooled},
    {BY_LATE_MASK, 0, "softmax", "Softmax", step_softmax},
    {ALWAYS, 0, "masked", "Mask", step_masked},
    {BY_SOFTMAX, 0, "weights", "Softmax", step_softmax},
    {BY_LATE_MASK, 0, "weights", "Renormalise", step_shares},
    {BY_FEATURES, 0, "weights", "Normalise", step_shares},
    {DROPPED, 0, "weights", "Dropout", step_dropout},
    {ALWAYS, 0, "values", "Values and weights", step_values},
    {ALWAYS, 0, "context", "Context: weighted sum of the values", step_context},
    {ALWAYS, 0, "output", "Output", step_output},
    {ALWAYS, SITE_LN_1_POST, "ln_1_post", "Norm of the attention output", step_norm},
    {ALWAYS, SITE_RESID_MID, "resid_mid", "Residual stream after the attention", step_middle},
    {NORM_LAST, 0, "ln_1", "Norm of the sum", step_norm},
    {ALWAYS, SITE_LN_2, "ln_2", "Norm before the MLP", step_norm},
    {ALWAYS, SITE_MLP_ACT, "hidden", "MLP: hidden channels", step_hidden},
    {ALWAYS, SITE_MLP_ACT, "mlp_act", "MLP: activation", step_activation},
    {ALWAYS, SITE_MLP_OUT, "mlp_out", "MLP: output", step_mlp_out},
    {ALWAYS, SITE_LN_2_POST, "ln_2_post", "Norm of the MLP output", step_norm},
    {ALWAYS, SITE_RESID_POST, "resid_post", "Residual stream after the layer", step_stream},
    {NORM_LAST, SITE_MLP_OUT, "ln_2", "Norm of the sum", step_norm},
    {LAST_LAYER, SITE_LN_F, "ln_f", "Final norm", step_norm},
    {LAST_LAYER, SITE_RESID_POST, "logits", "Logits", step_logits},
};

enum { STEP_ROWS = sizeof step_rows / sizeof *step_rows };

static int ways_of(const struct trace *trace)
{
    const struct config *c = trace->config;
    int ways = c->mechanism.kind == ATTENTION_LINEAR ? BY_FEATURES
               : c->mechanism.renormalise            ? BY_LATE_MASK
                                                     : BY_SOFTMAX;
    bool decoder = trace_row(trace, SITE_RESID_POST) != NULL;
    ways |= c->mechanism.dropout > 0 ? DROPPED : 0;
    ways |= trace->embedding_norm.scale ? EMBEDDING_NORMED : 0;
    ways |= trace->raw_q.values ? HEADS_NORMED : 0;
    ways |= trace->rotary ? ROTATED : 0;
    ways |= c->score_cap > 0 ? CAPPED : 0;
    ways |= trace_slope(trace) > 0 ? MOVED : 0;
    ways |= trace->cools ? COOLED : 0;
    ways |= trace->keys_edited ? KEYS_EDITED : 0;
    ways |= decoder && style_norms_sums(c->style) ? NORM_LAST : 0;
    return ways | (trace->layer + 1 == c->n_layer ? LAST_LAYER : 0);
}

/* --- edits ------------------------------------------------------------------------------------ */

/* A step changed by edits is computed by a pass without these edits, so that its numbers match its
 * formula; a step with the edited values follows. */

enum { SITES_OF_STEP = 3 }; /* maximum */

struct passes {
    struct viewer *viewer;
    const struct text_pair *pair;
    const struct explain_request *request;
    struct trace *before; /* [STEP_ROWS] passes without the edits of one step, for all queries */
};

/* The tensors that a step computes for later steps, one bit each. */
static uint64_t sites_of(const struct trace *trace, const char *step)
{
    const struct config *c = trace->config;
    bool normed = trace->embedding_norm.scale != NULL;
    bool is_sum = strcmp(step, "resid_post") == 0 &&
                  c->style == STYLE_POST_STREAM; /* the stream is its norm */
    const struct {
        const char *step;
        enum site site;
        bool is_made;
    } rows[] = {
        {"embedding", SITE_EMBEDDING, trace->layer == 0},
        {"embedding", SITE_RESID_PRE, true},
        {"input", SITE_EMBEDDING, trace->layer == 0 && !normed},
        {"input", SITE_RESID_PRE, !normed},
        {"input", SITE_LN_1, !style_norms_sums(c->style)},
        {trace->raw_q.values ? "query_norm" : "query", trace->rotary ? SITE_Q_PRE : SITE_Q, true},
        {"query_rotary", SITE_Q, true},
        {trace->raw_k.values ? "key_norm" : "keys", trace->rotary ? SITE_K_PRE : SITE_K, true},
        {"key_rotary", SITE_K, true},
        {"values", SITE_V, true},
        {"output", SITE_ATTN_OUT, true},
        {"hidden", SITE_MLP_GATE, true},
        {"hidden", SITE_MLP_UP, true},
        {"ln_2", SITE_RESID_POST, c->style == STYLE_POST_STREAM},
    };
    enum site own;
    bool has_own = !is_sum && strcmp(step, "embedding") != 0 && site_find(step, strlen(step), &own);
    uint64_t sites = has_own ? site_bit(own) : 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].is_made && strcmp(rows[i].step, step) == 0)
            sites |= site_bit(rows[i].site);
    return sites;
}

/* Does an edit change a site's values of the query or, at sites of keys and values, of any key? */
static bool touches(const struct edit *edit, const struct trace *trace, enum site site)
{
    bool of_keys = site_rows[site].axes == AXES_GROUP_TOKEN_DIM;
    struct edit_block block = {
        .site = site_of(trace->part, site),
        .layer = trace->layer,
        .first_head = of_keys                ? trace->group
                      : site_has_heads(site) ? trace->head
                                             : 0,
        .row_places = of_keys ? trace->keys : report_queries(trace->report, trace->part)->count,
    };
    bool found = false;
    for (size_t row = 0; row < (of_keys ? trace->keys : 1) && !found; row++) {
        block.first_row = of_keys ? row : trace->query;
        found = edit_touches(edit, &block);
    }
    return found;
}

/* Append the edits that change a step to a note, unless it is NULL; false: no edit does. */
static bool write_changes(struct buf *note, const struct trace *trace, uint64_t sites)
{
    const struct edits *edits = trace->viewer->edits;
    bool any = false;
    for (size_t i = 0; edits && i < edits->count; i++) {
        bool changes = false;
        for (enum site site = 0; site < SITE_COUNT && !changes; site++)
            changes = sites & site_bit(site) && touches(&edits->items[i], trace, site);
        if (changes && note)
            buf_format(note, "%s%s", any ? ", " : "Changed by ", edits->items[i].words);
        any |= changes;
    }
    return any;
}

/* Exclude the traced layer from an edit; false: the edit has no other layer. */
static bool leave_layer(struct edit *edit, const struct trace *trace, struct builder *builder)
{
    const struct config *c = trace->config;
    size_t layers = c->n_layer > c->n_encoder_layer ? c->n_layer : c->n_encoder_layer;
    struct edit_range *ranges = arena_alloc(builder->arena, layers, sizeof *ranges, builder->err);
    struct edit_places others = {ranges, 0};
    for (size_t layer = 0; ranges && layer < layers && site_rows[edit->site].in_layer; layer++)
        if (layer != trace->layer && edits_have(&(struct edits){edit, 1}, edit->site, layer))
            ranges[others.count++] = (struct edit_range){(ptrdiff_t)layer, (ptrdiff_t)layer};
    edit->layers = others;
    return others.count > 0;
}

static int run_without(struct trace *before, const struct passes *passes, uint64_t sites,
                       struct builder *builder)
{
    struct viewer *viewer = passes->viewer;
    const struct edits *edits = viewer->edits;
    struct edit *items = arena_alloc(builder->arena, edits->count, sizeof *items, builder->err);
    struct edits rest = {.items = items};
    for (size_t i = 0; items && i < edits->count; i++) {
        bool is_own = false;
        for (enum site site = 0; site < SITE_COUNT && !is_own; site++)
            is_own = sites & site_bit(site) &&
                     edits_have(&(struct edits){&edits->items[i], 1},
                                site_of(builder->trace->part, site), builder->trace->layer);
        items[rest.count] = edits->items[i];
        rest.count += !is_own || leave_layer(&items[rest.count], builder->trace, builder);
    }
    if (builder->err->kind)
        return -1;
    viewer->edits = rest.count ? &rest : NULL;
    int failed =
        trace_run(before, viewer, passes->pair, passes->request, builder->arena, builder->err);
    viewer->edits = edits;
    return failed;
}

/* Return the query's trace in which a step has the values of its formula; NULL if no edit changes
 * them, or if the builder failed. */
static const struct trace *find_before(const struct passes *passes, const struct step_row *row,
                                       struct builder *builder)
{
    uint64_t sites = sites_of(builder->trace, row->name);
    struct trace *before = &passes->before[row - step_rows];
    if (!write_changes(NULL, builder->trace, sites))
        return NULL;
    if (!before->viewer && run_without(before, passes, sites, builder))
        return NULL;
    before->keys_edited = builder->trace->keys_edited;
    trace_set_query(before, builder->trace->query);
    return before;
}

/* Show vectors before and after the edits. */
static void show_vectors(struct builder *builder, const struct trace *before, const char *step,
                         uint64_t sites)
{
    const struct trace *trace = builder->trace;
    struct named_vector rows[2 * SITES_OF_STEP];
    size_t count = 0;
    size_t width = 0;
    bool of_input = strcmp(step, "input") == 0 || strcmp(step, "embedding") == 0;
    for (enum site site = 0; site < SITE_COUNT; site++) {
        const struct kept *kept = sites & site_bit(site) ? trace_find(before, site) : NULL;
        const char *name = !of_input                            ? site_rows[site].name
                           : site != SITE_LN_1 && trace->stream ? "h"
                                                                : "x";
        if (!kept)
            continue;
        width = kept->shape[kept->rank - 1];
        rows[count++] = (struct named_vector){name, trace_row(before, site)};
        name = arena_format(builder->arena, builder->err, "%s, edited", name);
        rows[count++] = (struct named_vector){name, trace_row(trace, site)};
    }
    if (count && !builder->err->kind)
        builder_stack(builder, rows, count, width);
}

static void show_edited(struct builder *builder, const struct trace *before, const char *step)
{
    uint64_t sites = sites_of(builder->trace, step);
    enum site site = 0;
    while (!(sites & site_bit(site)))
        site++;
    buf_text(&builder->note, builder->note.size ? " " : "");
    write_changes(&builder->note, builder->trace, sites);
    buf_text(&builder->note, site == SITE_LOGITS ? ": 'run --show logits' prints the result."
                                                 : ": later steps use these values.");
    if (site == SITE_LOGITS)
        return;
    if (site_rows[site].axes == AXES_HEAD_QUERY_KEY) {
        const char *name = site == SITE_SCORES    ? "score"
                           : site == SITE_SOFTMAX ? "softmax"
                           : site == SITE_MASKED  ? "masked"
                                                  : "weight";
        builder_keys(builder);
        builder_column(builder, name, NULL, trace_row(before, site));
        builder_column(builder, "edited", "edited", trace_row(builder->trace, site));
    } else if (site == SITE_V) { /* and their weights */
        step_values(builder);
        builder->step->formula_count = 0;
    } else if (site == SITE_K || site == SITE_K_PRE) {
        builder_keys(builder);
        builder_vectors(builder, site == SITE_K ? "k" : "k_pre", NULL,
                        site == SITE_K ? builder->trace->k : builder->trace->k_pre,
                        builder->trace->config->d_k);
    } else {
        show_vectors(builder, before, step, sites);
    }
}

/* --- making a step ---------------------------------------------------------------------------- */

/* Make a step or, if `before` is set, the step after it that shows the effect of the edits. */
static int make_step(struct step *step, const struct step_row *row, const struct trace *before,
                     struct builder builder)
{
    *step = (struct step){
        .name =
            before ? arena_format(builder.arena, builder.err, "%s_edited", row->name) : row->name,
        .title = before ? "Edit" : row->title,
        .table = {.corner = "", .own_row = NO_ROW},
    };
    builder.step = step;
    builder.table = &step->table;
    builder.gives &= !before;
    if (!builder.err->kind && before)
        show_edited(&builder, before, row->name);
    else if (!builder.err->kind)
        row->make(&builder);
    if (!builder.err->kind && (builder.note.size || builder.note.out_of_memory))
        step->note = buf_keep(&builder.note, builder.arena, builder.err);
    buf_release(&builder.note);
    buf_release(&builder.out); /* partial formula of a failed step */
    return err_if(builder.err->kind);
}

static int add_step(struct explanation *explanation, struct step *steps, const struct step_row *row,
                    const struct passes *passes, struct builder builder)
{
    struct step *step = &steps[explanation->step_count++];
    const struct trace *trace = builder.trace;
    bool dropped_later = row->make == step_softmax && trace->config->mechanism.dropout > 0;
    const struct trace *before = dropped_later ? NULL : find_before(passes, row, &builder);
    builder.trace = before ? before : trace;
    if (builder.err->kind || make_step(step, row, NULL, builder))
        return -1;
    if (!before)
        return 0;
    if (row->make == step_values) /* the formula weights the edited values */
        step->worked = NULL;
    builder.trace = trace;
    return make_step(&steps[explanation->step_count++], row, before, builder);
}

static int explain(struct explanation *explanation, const struct trace *trace,
                   const struct passes *passes, struct arena *arena, struct err *err)
{
    const struct explain_request *request = passes->request;
    size_t seen = 0; /* first visible key: the example */
    while (seen + 1 < trace->keys && trace->masked[seen] == -INFINITY)
        seen++;
    const struct builder builder = {
        .trace = trace,
        .key = seen,
        .digits = request->digits,
        .gives = trace->query == request->query,
        .arena = arena,
        .err = err,
    };
    bool has_several = trace->config->n_encoder_layer > 0;
    int ways = ways_of(trace);
    struct step *steps = arena_alloc(arena, 2 * STEP_ROWS, sizeof *steps, err);
    *explanation = (struct explanation){
        .report = trace->report,
        .part = has_several ? &attention_parts[trace->part] : NULL,
        .text = report_queries(trace->report, trace->part),
        .layer = trace->layer,
        .head = trace->head,
        .query = trace->query,
        .layer_count =
            trace->part == PART_SOURCE ? trace->config->n_encoder_layer : trace->config->n_layer,
        .head_count = trace->config->n_head,
        .key_count = trace->keys,
        .steps = steps,
    };
    if (!steps || choose_shown(explanation, trace, request->keys, arena, err))
        return -1;
    for (const struct step_row *row = step_rows; row < step_rows + STEP_ROWS; row++) {
        bool norm_moves = ways & NORM_LAST && row->site == SITE_LN_2; /* it follows the last sum */
        if (row->ways & ways && !norm_moves && (!row->site || trace_row(trace, row->site)) &&
            add_step(explanation, steps, row, passes, builder))
            return -1;
    }
    return 0;
}

const uint64_t explain_features = HAS_OF_DECODERS | HAS(ATTENTION_ALONE) | HAS(ENCODER) |
                                  HAS(VALUE_SIZE) | HAS(SINUSOIDS) | HAS(BIDIRECTIONAL) |
                                  HAS(CROSS) | HAS(NO_PROJECTIONS) | HAS(NO_OUT_PROJ);

int explanation_make(struct explanation *explanations, struct viewer *viewer,
                     const struct text_pair *pair, const struct explain_request *request,
                     struct arena *arena, struct err *err)
{
    struct trace trace;
    struct passes passes = {.viewer = viewer, .pair = pair, .request = request};
    if (viewer->model.config.mechanism.kind == ATTENTION_LOWRANK)
        return err_usage(err, "--attention lowrank cannot be explained: use 'attn-cli run'");
    passes.before = arena_alloc(arena, STEP_ROWS, sizeof *passes.before, err);
    if (!passes.before ||
        features_expect(explain_features, &viewer->model.config, "to explain", err) ||
        trace_run(&trace, viewer, pair, request, arena, err))
        return -1;
    trace.keys_edited = write_changes(NULL, &trace, site_bit(SITE_K));
    for (size_t i = 0; i < request->query_count; i++) {
        trace_set_query(&trace, request->query + i);
        if (explain(&explanations[i], &trace, &passes, arena, err))
            return -1;
    }
    return 0;
}

/* The bytes of the steps of a query, about: measured for models of several sizes. */
static double query_bytes(const struct config *config, const struct explain_request *request,
                          size_t keys)
{
    enum { STEPS = 26000, KEY = 52, CHANNEL = 175, INNER_CHANNEL = 49, WORD = 8 };
    bool predicts = site_exists(config, SITE_LOGITS) && request->layer + 1 == config->n_layer;
    return STEPS + (double)keys * (double)(KEY + sizeof(float) * config->d_v) +
           (double)config->n_embd * (double)(CHANNEL + sizeof(float) * config->d_k) +
           INNER_CHANNEL * (double)config->n_inner +
           (predicts ? WORD * (double)config->vocab_size : 0);
}

int explanation_add_memory(struct memory *memory, const struct viewer *viewer,
                           const struct text_pair *pair, const struct explain_request *request,
                           struct arena *arena, struct err *err)
{
    size_t keys = num_max(pair->sentence.count, pair->source.count);
    memory->held +=
        query_bytes(&viewer->model.config, request, keys) * (double)request->query_count;
    return trace_add_memory(memory, viewer, pair, request, arena, err);
}
