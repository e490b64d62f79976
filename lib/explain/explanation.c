/* explanation.c: runs the pass, collects the tensors of one head (the trace), and makes the steps
 * that step_rows lists. After a step that edits change, another step shows the edited values. */
#include "base/language.h"
#include "explain/explanation.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "explain/steps.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/features.h"
#include "model/parameter_table.h"
#include "model/points.h"
#include "pass/sampler.h"

/* --- captured tensors ------------------------------------------------------------------------- */

/* Return the site of the stream that enters the traced attention, before a norm. */
static enum site stream_site(const struct trace *trace)
{
    const struct sublayer *before = trace->rule - 1;
    return trace->rule > trace->list ? SITE_OF(before->branch, sublayer_end(before))
                                     : SITE_OF(trace->branch, SITE_RESID_PRE);
}

static enum site input_site(const struct trace *trace)
{
    enum site input = trace->rule->at_input;
    return input ? SITE_OF(trace->branch, input) : stream_site(trace);
}

/* Return the site that keys and values of cross-attention read: the source's embedding, or the
 * encoder's output. */
static enum site source_site(const struct config *config)
{
    return config->kind == MODEL_ATTENTION ? SITE_OF(BRANCH_SOURCE, SITE_EMBEDDING)
                                           : SITE_OF(BRANCH_SOURCE, site_of_logits(config));
}

/* True for models with a single stack whose layers have more than attention: their explanations go
 * on to the end of the layer. */
static bool is_decoder(const struct config *config)
{
    return config->kind != MODEL_ATTENTION && !has_encoder(config);
}

/* Find the requested attention among the sublayers, and select the sites of the layer. If only one
 * query is explained, and not in an encoder, only its rows are selected. In models of attention
 * alone, and with copies of the stream, the previous layer is selected as well, since it makes the
 * input; for cross-attention, source_site is selected as well. */
static int begin(struct trace *trace, struct selection *selection, const struct config *config,
                 const struct explain_request *request, struct arena *arena, struct err *err)
{
    bool in_encoder = request->branch == BRANCH_SOURCE;
    bool bare = config->kind == MODEL_ATTENTION;
    bool one = request->layer == 0 || !(bare || config_copies(config));
    enum site end = !is_decoder(config)                     ? SITE_ATTN_OUT
                    : request->layer + 1 == config->n_layer ? SITE_DISCRIMINATOR
                                                            : SITE_RESID_POST;
    size_t *numbers = arena_alloc(arena, 5, sizeof *numbers, err);
    assert(request->layer < stack_of(config, request->branch)->layers);
    if (!numbers)
        return -1;
    const struct layer *layer = layer_of(config, request->branch, request->layer);
    *trace = (struct trace){.config = config,
                            .branch = request->branch,
                            .list = layer->sublayers,
                            .count = layer->count,
                            .rule = layer_attention(layer, request->branch),
                            .layer = request->layer,
                            .head = request->head};
    assert(request->head < trace->rule->head.heads);
    const struct head_rule *head = &trace->rule->head;
    trace->context_head = request->head % context_heads(head);
    trace->own = request->head / context_heads(head);
    numbers[0] = trace->context_head;
    /* the number of the second of two heads that make one context */
    numbers[1] = trace->context_head + context_heads(head);
    numbers[2] = request->layer > 0 ? request->layer - 1 : 0;
    numbers[3] = request->layer;
    numbers[4] = stack_of(config, BRANCH_SOURCE)->layers - 1; /* last layer of the encoder, used
                                                               * only if there is one */
    *selection =
        (struct selection){.heads = numbers, .head_count = head->heads / context_heads(head)};
    *(in_encoder ? &selection->encoder_layers : &selection->layers) =
        one ? (struct layers){numbers + 3, 1} : (struct layers){numbers + 2, 2};
    for (enum site site = is_decoder(config) ? SITE_PREDICTED : SITE_Q_PRE; site <= end; site++)
        if (site != SITE_POOLED && site_exists(config, SITE_OF(request->branch, site)))
            site_set_add(&selection->sites, SITE_OF(request->branch, site));
    for (enum site_branch beside = BRANCH_PER_LAYER; beside < SITE_BRANCHES; beside++)
        for (enum site site = SITE_MLP_GATE; site <= SITE_LN_2_POST; site++)
            if (site_exists(config, SITE_OF(beside, site)))
                site_set_add(&selection->sites, SITE_OF(beside, site));
    if (config_copies(config) && request->layer == 0)
        site_set_add(&selection->sites, SITE_EMBEDDING);
    selection->whole = SITE_SET(SITE_OF(request->branch, SITE_CONTEXT));
    const enum site inputs[] = {bare ? SITE_EMBEDDING : stream_site(trace),
                                bare ? SITE_ATTN_OUT : input_site(trace)};
    for (size_t i = 0; i < 2; i++) {
        site_set_add(&selection->sites, inputs[i]);
        site_set_add(&selection->all_tokens, inputs[i]);
    }
    if (request->query_count == 1 && !in_encoder &&
        !(selection->queries = arena_format(arena, err, "%zu", request->query)))
        return -1;
    if (trace->rule->kind == SUBLAYER_ATTEND_SOURCE) {
        site_set_add(&selection->sites, source_site(config));
        selection->encoder_layers = (struct layers){numbers + 4, has_encoder(config)};
    }
    return 0;
}

/* --- tensors from the pass -------------------------------------------------------------------- */

static enum site trace_site(const struct trace *trace, enum site site)
{
    return site_branch(site) >= ATTENTION_BRANCHES ? site : SITE_OF(trace->branch, site);
}

static const struct array *trace_find(const struct trace *trace, enum site site)
{
    return report_find(trace->report, trace_site(trace, site), trace->layer);
}

/* Return the number of heads of a site in the layer; SITE_CONTEXT may have half as many as
 * other sites. */
static size_t heads_at(const struct trace *trace, enum site site)
{
    return site_heads(trace->config, trace_site(trace, site), trace->layer);
}

/* Return the index of the traced head, or of its context, in a captured tensor. SITE_CONTEXT has
 * all contexts; other sites have the traced head, or the two heads that make its context. */
static size_t own_head(const struct trace *trace, enum site site)
{
    bool is_of_heads = heads_at(trace, site) == trace->rule->head.heads;
    return site == SITE_CONTEXT ? trace->context_head : is_of_heads ? trace->own : 0;
}

const float *trace_row(const struct trace *trace, enum site site)
{
    return trace_row_of_head(trace, site, own_head(trace, site));
}

const float *trace_row_of_head(const struct trace *trace, enum site site, size_t head)
{
    const struct array *array = trace_find(trace, site);
    if (!array)
        return NULL;
    size_t row = array->rows.numbers ? 0 : trace->query;
    row += head ? head * array->rows.size : 0;
    return array->data + row * array->columns.size;
}

float *trace_product(const struct trace *trace, const float *x, size_t rows, const struct weight *w,
                     struct arena *arena, struct err *err)
{
    float *y = arena_alloc(arena, rows * w->out, sizeof *y, err);
    struct matrix from = {(float *)x, rows, w->in, w->in}; /* cast: linear only reads it */
    if (y)
        linear(&trace->viewer->machine, (struct matrix){y, rows, w->out, w->out}, from, w,
               ACTIVATION_NONE);
    return y;
}

/* Find the inputs, and the keys and values of the traced head. The input of queries is the stream,
 * with or without a norm; in models of attention alone, it is an embedding or the output of the
 * previous layer. */
static void find_inputs_and_keys(struct trace *trace)
{
    const struct config *config = trace->config;
    bool bare = config->kind == MODEL_ATTENTION;
    size_t layer = trace->layer - (bare && trace->layer > 0);
    enum site site = !bare ? input_site(trace) : trace->layer == 0 ? SITE_EMBEDDING : SITE_ATTN_OUT;
    const struct array *inputs = report_find(trace->report, site, layer);
    trace->inputs = trace->sources = inputs->data;
    trace->input_size = inputs->columns.size;
    if (trace->rule->norm_before)
        trace->streams = report_find(trace->report, stream_site(trace), layer)->data;
    if (trace->rule->kind == SUBLAYER_ATTEND_SOURCE)
        trace->sources = report_find(trace->report, source_site(config),
                                     stack_of(config, BRANCH_SOURCE)->layers - 1)
                             ->data;
    trace->keys = trace_find(trace, SITE_K)->rows.size;
    const size_t own = trace->own * trace->keys * trace->rule->head.d_k;
    trace->k = trace_find(trace, SITE_K)->data + own;
    trace->v = trace_find(trace, SITE_V)->data;
    if (trace->rotary && !trace->rule->head.borrows)
        trace->k_pre = trace_find(trace, SITE_K_PRE)->data + own;
}

/* If two heads make one context, put the values of these heads side by side. */
static int find_values(struct trace *trace, struct arena *arena, struct err *err)
{
    struct head_rule two = trace->rule->head;
    if (two.differ <= 0)
        return 0;
    two.kv_heads = 2;
    float *values = arena_alloc(arena, trace->keys * context_width(&two), sizeof *values, err);
    if (values)
        context_values(values, trace->v, &two, trace->keys);
    trace->v = values;
    return err_if(!values);
}

static float mean_square(const float *values, size_t count)
{
    return (float)(dot_rows(values, values, count) / (double)count);
}

/* Project the head's queries or keys of all tokens, without the norm of heads that follows. */
static int project_raw(struct trace *trace, struct raw_heads *raw, const float *from, bool of_keys,
                       struct arena *arena, struct err *err)
{
    const struct weight *w = of_keys ? &trace->block.self.k : &trace->block.self.q;
    bool whole = trace->rule->head.norm.whole;
    size_t width = trace->rule->head.d_k;
    size_t first = (of_keys ? trace->kv_head : trace->head) * width;
    const float *all = trace_product(trace, from, trace->keys, w, arena, err);
    raw->values = arena_alloc(arena, trace->keys * width, sizeof *raw->values, err);
    raw->squares = arena_alloc(arena, trace->keys, sizeof *raw->squares, err);
    if (!all || !raw->values || !raw->squares)
        return -1;
    for (size_t row = 0; row < trace->keys; row++) {
        const float *head = all + row * w->out + first;
        raw->squares[row] =
            whole ? mean_square(all + row * w->out, w->out) : mean_square(head, width);
        memcpy(raw->values + row * width, head, width * sizeof *head);
    }
    return 0;
}

/* Only for models that norm heads after the rotary embedding: set `rows` rows of `raw`, from
 * `first` on, to rotated queries or keys. */
static void turn_raw(struct trace *trace, struct raw_heads *raw, const float *pre, size_t first,
                     size_t rows)
{
    size_t width = trace->rule->head.d_k, turning = trace->rotary->components;
    float *to = raw->values + first * width;
    /* casts: rotate only reads these matrices */
    rotate((struct matrix){to, rows, width, width},
           (struct matrix){(float *)pre, rows, width, width}, width, trace->rotary,
           (struct matrix){(float *)trace->cos_sin + first * turning, rows, turning, turning});
    for (size_t row = 0; row < rows; row++)
        raw->squares[first + row] = mean_square(to + row * width, width);
}

/* Compute cosines and sines of the rotary embedding, and queries and keys before norms of heads. */
static int find_heads(struct trace *trace, struct arena *arena, struct err *err)
{
    const struct rotary *rotary = trace->rotary;
    if (rotary) {
        size_t width = rotary->components;
        float *cos_sin = arena_alloc(arena, trace->keys * width, sizeof *cos_sin, err);
        if (!cos_sin)
            return -1;
        rotary_fill((struct matrix){cos_sin, trace->keys, width, width}, rotary, 0, trace->keys);
        trace->cos_sin = cos_sin;
    }
    if (!trace->rule->head.norm.q || !trace->has_norms)
        return 0;
    trace->turns_first = rotary && trace->rule->head.norm.after_rotary;
    if (project_raw(trace, &trace->raw_q, trace->inputs, false, arena, err) ||
        (!trace->rule->head.borrows &&
         project_raw(trace, &trace->raw_k, trace->sources, true, arena, err)))
        return -1;
    if (trace->turns_first)
        turn_raw(trace, &trace->raw_k, trace->k_pre, 0, trace->keys);
    return 0;
}

/* In layer 0, find the embeddings of tokens, positions and segments, which make up its input. */
static int find_embeddings(struct trace *trace, struct arena *arena, struct err *err)
{
    struct weights *weights = trace->weights;
    const struct config *config = trace->config;
    const struct tokenized *text = report_queries(trace->report, trace->branch);
    const struct embed_rule rule = stack_of(config, BRANCH_TEXT)->embed;
    int branch = config->own_tables ? (int)trace->branch : BRANCH_TEXT;
    size_t width = rule.width;
    size_t size = trace->sum_size = rule.project == PROJECT_LAST ? width : config->n_embd;
    if (config->kind == MODEL_ATTENTION || trace->layer > 0 || trace->branch == BRANCH_CROSS)
        return 0;
    float *tokens = arena_alloc(arena, text->count * width, sizeof *tokens, err);
    float *positions = arena_alloc(arena, text->count * size, sizeof *positions, err);
    float *segments = arena_alloc(arena, text->count * size, sizeof *segments, err);
    if (!tokens || !positions || !segments)
        return -1;
    for (size_t i = 0; i < text->count; i++)
        weights_embed_token(weights, (int)trace->branch, tokens + i * width, text->tokens[i].id);
    trace->tokens = tokens;
    if (rule.project != PROJECT_NEVER &&
        weights_matrix(weights, slot_of_text(SLOT_EMBED_PROJECT), &trace->projection, err))
        return -1;
    if (rule.project == PROJECT_TOKENS) {
        trace->word_rows = tokens;
        trace->tokens = trace_product(trace, tokens, text->count, &trace->projection, arena, err);
    }
    if (!trace->tokens)
        return -1;
    for (size_t i = 0; i < text->count && rule.segments; i++)
        weights_add_segment(weights, segments + i * size, text->segments ? text->segments[i] : 0);
    trace->segments = rule.segments ? segments : NULL;
    if (config->embedding_norm && trace->has_norms &&
        weights_norm(weights, slot_of_end(branch, SLOT_EMBED_NORM), &trace->embedding_norm, err))
        return -1;
    if (mechanism_lacks(&config->mechanism, BLOCK_POSITIONS) || rule.positions == POSITIONS_NONE)
        return 0;
    for (size_t i = 0; i < text->count; i++)
        weights_add_position(weights, (int)trace->branch, positions + i * size,
                             config_position(config, text->ids, i));
    trace->positions = positions;
    return 0;
}

/* The arguments of run(), and the traces of passes that it ran without some edits. One pass serves
 * all queries. */
struct passes {
    struct viewer *viewer;
    const struct text_with_source *pair;
    const struct explain_request *request;
    struct trace *before; /* [STEP_ROWS] for each step: the trace of a pass without the edits of
                           * this step; `viewer` NULL: not run */
};

static int run(struct trace *trace, const struct passes *passes, struct arena *arena,
               struct err *err)
{
    struct viewer *viewer = passes->viewer;
    struct weights *weights = &viewer->model.weights;
    const struct explain_request *request = passes->request;
    struct report *report = arena_alloc(arena, 1, sizeof *report, err);
    const struct config *config = &viewer->model.config;
    struct selection selection;
    const struct capture_request asked = {&selection, passes->pair, 1, 0, report};
    const float *biases = NULL, *sinks = NULL;
    struct slot slot = slot_of((int)request->branch, SLOT_SINKS, request->layer);
    if (!report || begin(trace, &selection, config, request, arena, err) ||
        viewer_capture(viewer, &asked, arena, err) ||
        weights_block(weights, (int)request->branch, request->layer, &trace->block, err) ||
        weights_vector(weights, slot, &sinks, err) ||
        weights_biases(weights, &viewer->machine, (int)request->branch, &trace->rule->score,
                       &biases, err))
        return -1;
    trace->report = report;
    trace->has_norms = !mechanism_lacks(&config->mechanism, BLOCK_NORM);
    trace->viewer = viewer;
    trace->weights = weights;
    trace->kv_head = kv_head_of(&trace->rule->head, request->head);
    trace->sink = sinks ? sinks + request->head : NULL;
    if (!mechanism_lacks(&config->mechanism, BLOCK_POSITIONS))
        trace->rotary = trace->rule->head.rotary;
    find_inputs_and_keys(trace);
    size_t d = trace->rule->head.d_k; /* trace->bias has no query yet: set_query sets it */
    trace->bias =
        score_head_bias(&trace->rule->score, biases, request->head, (struct matrix){.columns = d},
                        (struct matrix){(float *)trace->k, trace->keys, d, d});
    return err_if(find_values(trace, arena, err) || find_heads(trace, arena, err) ||
                  find_embeddings(trace, arena, err));
}

/* --- values of one query ---------------------------------------------------------------------- */

static void set_query(struct trace *trace, size_t query)
{
    const struct tokenized *text = report_queries(trace->report, trace->branch);
    size_t first = query * trace->input_size, of_sum = query * trace->sum_size;
    assert(query < text->count);
    trace->query = query;
    trace->scale =
        embed_scale(&stack_of(trace->config, BRANCH_TEXT)->embed, text->ids, text->count, query);
    trace->token = trace->tokens ? trace->tokens + of_sum : NULL;
    trace->position = trace->positions ? trace->positions + of_sum : NULL;
    trace->segment = trace->segments ? trace->segments + of_sum : NULL;
    trace->stream = trace->streams ? trace->streams + first : NULL;
    trace->x = trace->inputs + first;
    trace->q_pre = trace->rotary ? trace_row(trace, SITE_Q_PRE) : NULL;
    if (trace->turns_first)
        turn_raw(trace, &trace->raw_q, trace->q_pre, query, 1);
    trace->q = trace_row(trace, SITE_Q);
    trace->bias.q.data = (float *)trace->q; /* cast: the query is only read */
    trace->scores = trace_row(trace, SITE_SCORES);
    if (trace->rule->score.mask_after)
        trace->softmax = trace_row(trace, SITE_SOFTMAX);
    trace->masked = trace_row(trace, SITE_MASKED);
    trace->weight = trace_row(trace, SITE_WEIGHTS);
    trace->map = trace_row(trace, context_map(&trace->rule->head));
    trace->context = trace_row(trace, SITE_CONTEXT);
    trace->out = trace_row(trace, SITE_ATTN_OUT);
}

/* --- keys shown on pages ---------------------------------------------------------------------- */

/* Choose the `most` keys with the highest weights (0: all), in ascending order of their index. */
static int choose_shown(struct chapter *chapter, const struct trace *trace, size_t most,
                        struct arena *arena, struct err *err)
{
    bool all = most == 0 || most >= trace->keys;
    size_t count = all ? 0 : most;
    struct likely *best = arena_alloc(arena, count + 1, sizeof *best, err);
    size_t *shown = arena_alloc(arena, trace->keys, sizeof *shown, err);
    if (!best || !shown)
        return -1;
    topk(best, count, trace->weight, trace->keys, 0);
    for (size_t j = 0; j < trace->keys; j++) {
        bool is_shown = all;
        for (size_t n = 0; n < count; n++)
            is_shown |= best[n].id == j;
        if (!is_shown)
            continue;
        shown[chapter->shown_count++] = j;
        chapter->shown_weight += trace->weight[j];
    }
    chapter->shown = shown;
    return 0;
}

/* --- the steps -------------------------------------------------------------------------------- */

/* Properties of a sublayer that decide which steps explain it. An attention sublayer has exactly
 * one of the first three, which say how it computes weights. */
enum way {
    BY_SOFTMAX = 1 << 0,
    BY_LATE_MASK = 1 << 1, /* the mask is applied after the softmax */
    BY_FEATURES = 1 << 2,  /* linear attention */
    ATTENDS = BY_SOFTMAX | BY_LATE_MASK | BY_FEATURES,
    DROPPED = 1 << 3,
    EMBEDDING_NORMED = 1 << 4,
    HEADS_NORMED = 1 << 5, /* norms of queries and keys */
    ROTATED = 1 << 6,      /* rotary embedding */
    CAPPED = 1 << 7,
    MOVED = 1 << 8,  /* a position bias is added to the scores */
    COOLED = 1 << 9, /* a temperature divides the scores after a soft cap or bias */
    KEYS_EDITED = 1 << 10,
    OF_MLP = 1 << 11,
    MLP_NORMED = 1 << 12, /* a norm precedes the MLP */
    ADDS = 1 << 13,       /* any sublayer, if the explanation goes on to the end of the layer */
    LAST = 1 << 14,       /* the last sublayer of the last layer */
    OF_EXPERTS = 1 << 15,
    TURNED_FIRST = 1 << 16, /* the rotary embedding precedes the norms of queries and keys */
    OF_GIVEN = 1 << 17,     /* the sublayer that adds the layer's own input */
    OF_BRANCH = 1 << 18,    /* the low-rank branch beside the attention */
    MAKES_COPIES =
        1 << 19, /* the attention of the first layer, in models with copies of the stream */
    CORRECTS = 1 << 20,
    LEAVES_COPIES = 1 << 21, /* the last sublayer, in models with copies of the stream */
};

#define PER_LAYER(id) SITE_OF(BRANCH_PER_LAYER, SITE_##id)
#define BRANCH(id) SITE_OF(BRANCH_LAUREL, SITE_##id)

/* All steps in the order of the pass; `site` is a tensor that the step computes (0: none). A row
 * makes a step for each sublayer that has one of `ways`, if the pass computed the site. For ADDS,
 * the site must also be an output of the sublayer, or the stream after it. */
static const struct step_row {
    int ways;
    enum site site;
    const char *name, *title;
    step_builder *make;
} step_rows[] = {
    {EMBEDDING_NORMED, 0, "embedding", "Embedding", step_embedding},
    {MAKES_COPIES, 0, "copies", "Copies of the stream", step_copies},
    {ATTENDS, SITE_PREDICTED, "predicted", "Predicted copies", step_predicted},
    {ATTENDS, 0, "input", "Input", step_input},
    {ATTENDS, 0, "query", "Query", step_query},
    {HEADS_NORMED, 0, "query_norm", "Norm of the query", step_query_norm},
    {ROTATED, SITE_Q, "query_rotary", "Rotary embedding of the query", step_query_rotary},
    {TURNED_FIRST, 0, "query_rotary", "Rotary embedding of the query", step_query_rotary},
    {TURNED_FIRST, SITE_Q, "query_norm", "Norm of the query", step_query_norm},
    {BY_FEATURES, 0, "features", "Features of the query", step_features},
    {BY_FEATURES | HEADS_NORMED | ROTATED | TURNED_FIRST | KEYS_EDITED, 0, "keys", "Keys",
     step_keys},
    {HEADS_NORMED, 0, "key_norm", "Norm of the keys", step_key_norm},
    {ROTATED, SITE_K, "key_rotary", "Rotary embedding of the keys", step_key_rotary},
    {TURNED_FIRST, 0, "key_rotary", "Rotary embedding of the keys", step_key_rotary},
    {TURNED_FIRST, SITE_K, "key_norm", "Norm of the keys", step_key_norm},
    {BY_FEATURES, SITE_SCORES, "scores", "Features of the keys and scores", step_products},
    {BY_SOFTMAX | BY_LATE_MASK, SITE_SCORES, "scores", "Keys and scores", step_scores},
    {BY_SOFTMAX | BY_LATE_MASK, 0, "scaled", "Scale", step_scaled},
    {CAPPED, 0, "capped", "Soft cap", step_capped},
    {MOVED, 0, "moved", "Position bias", step_moved},
    {COOLED, 0, "cooled", "Temperature", step_cooled},
    {BY_LATE_MASK, SITE_SOFTMAX, "softmax", "Softmax", step_softmax},
    {ATTENDS, SITE_MASKED, "masked", "Mask", step_masked},
    {BY_SOFTMAX, SITE_WEIGHTS, "weights", "Softmax", step_softmax},
    {BY_LATE_MASK, SITE_WEIGHTS, "weights", "Renormalise", step_shares},
    {BY_FEATURES, SITE_WEIGHTS, "weights", "Normalise", step_shares},
    {DROPPED, SITE_WEIGHTS, "weights", "Dropout", step_dropout},
    {ATTENDS, SITE_DIFFERENCE, "difference", "Difference of two heads", step_difference},
    {ATTENDS, SITE_V, "values", "Values and weights", step_values},
    {ATTENDS, SITE_CONTEXT, "context", "Context: weighted sum of the values", step_context},
    {ATTENDS, SITE_GATED, "gated", "Norm of the context", step_gated},
    {ATTENDS, SITE_ATTN_OUT, "output", "Output", step_output},
    {ADDS, SITE_LN_1_POST, "ln_1_post", "Norm of the attention output", step_norm},
    {OF_BRANCH, BRANCH(MLP_ACT), "laurel_act", "Low-rank branch: narrow vector", step_branch},
    {OF_BRANCH, BRANCH(MLP_OUT), "laurel_out", "Low-rank branch: output", step_mlp_out},
    {OF_BRANCH, BRANCH(LN_2_POST), "laurel_post", "Low-rank branch: norm of the output", step_norm},
    {ADDS, SITE_RESID_MID, "resid_mid", "Residual stream after the attention", step_sum},
    {ADDS, SITE_LN_1, "ln_1", "Norm of the sum", step_norm},
    {MLP_NORMED, SITE_LN_2, "ln_2", "Norm before the MLP", step_norm},
    {OF_MLP, 0, "hidden", "MLP: hidden channels", step_hidden},
    {OF_MLP, SITE_MLP_ACT, "mlp_act", "MLP: activation", step_activation},
    {OF_EXPERTS, SITE_LN_EXPERTS, "ln_experts", "Norm before the experts", step_norm},
    {OF_EXPERTS, SITE_ROUTER, "router", "Router: logits of the experts", step_router},
    {OF_EXPERTS, SITE_EXPERT_WEIGHTS, "expert_weights", "Chosen experts", step_chosen},
    {OF_EXPERTS, SITE_SHARED_OUT, "shared_out", "Shared expert", step_shared},
    {OF_EXPERTS, SITE_MLP_OUT, "mlp_out", "MLP: output", step_experts},
    {OF_MLP, SITE_MLP_OUT, "mlp_out", "MLP: output", step_mlp_out},
    {ADDS, SITE_LN_2_POST, "ln_2_post", "Norm of the MLP output", step_norm},
    {ADDS, SITE_RESID_MLP, "resid_mlp", "Residual stream after the MLP", step_sum},
    {CORRECTS, SITE_CORRECTED, "corrected", "Corrected copies", step_corrected},
    {OF_GIVEN, PER_LAYER(MLP_UP), "per_layer_input", "The layer's own input", step_given},
    {OF_GIVEN, PER_LAYER(MLP_ACT), "per_layer_act", "Own input: gate", step_given_act},
    {OF_GIVEN, PER_LAYER(MLP_OUT), "per_layer_out", "Own input: output", step_mlp_out},
    {OF_GIVEN, PER_LAYER(LN_2_POST), "per_layer_post", "Own input: norm of the output", step_norm},
    {LEAVES_COPIES, SITE_STREAMS, "streams", "Copies after the layer", step_streams},
    {LAST, SITE_MERGED, "merged", "Merged copies", step_merged},
    {ADDS, SITE_RESID_POST, "resid_post", "Residual stream after the layer", step_sum},
    {ADDS, SITE_LN_2, "ln_2", "Norm of the sum", step_norm},
    {LAST, SITE_LN_F, "ln_f", "Final norm", step_norm},
    {LAST, SITE_TRANSFORM, "transform", "Dense layer before the logits", step_transform},
    {LAST, SITE_DISCRIMINATOR, "discriminator", "Discriminator", step_discriminator},
    {LAST, SITE_LOGITS, "logits", "Logits", step_logits},
};

#undef PER_LAYER
#undef BRANCH

enum { STEP_ROWS = sizeof step_rows / sizeof *step_rows };

static int ways_of(const struct trace *trace, size_t index)
{
    const struct mechanism *m = &trace->config->mechanism;
    const struct sublayer *s = &trace->list[index];
    const bool copied = config_copies(trace->config);
    int ways = 0;
    if (s == trace->rule) {
        ways = s->score.kind == ATTENTION_LINEAR ? BY_FEATURES
               : s->score.mask_after             ? BY_LATE_MASK
                                                 : BY_SOFTMAX;
        ways |= m->dropout > 0 ? DROPPED : 0;
        ways |= trace->embedding_norm.scale ? EMBEDDING_NORMED : 0;
        ways |= trace->turns_first
                    ? TURNED_FIRST
                    : (trace->raw_q.values ? HEADS_NORMED : 0) | (trace->rotary ? ROTATED : 0);
        ways |= s->score.cap > 0 ? CAPPED : 0;
        ways |= trace->bias.slope > 0 || trace->bias.near ? MOVED : 0;
        ways |= s->score.temperature > 0 ? COOLED : 0;
        ways |= trace->keys_edited ? KEYS_EDITED : 0;
        ways |= copied && trace->layer == 0 ? MAKES_COPIES : 0;
    }
    if (!is_decoder(trace->config))
        return ways;
    ways |= index + 1 == trace->count && trace->layer + 1 == trace->config->n_layer ? LAST : 0;
    ways |= s->corrects ? CORRECTS : 0;
    ways |= index + 1 == trace->count && copied ? LEAVES_COPIES : 0;
    if (s->kind == SUBLAYER_MLP)
        ways |= (s->mlp.given                 ? OF_GIVEN
                 : s->branch == BRANCH_LAUREL ? OF_BRANCH
                 : s->mlp.mixture             ? OF_EXPERTS
                                              : OF_MLP) |
                (s->norm_before ? MLP_NORMED : 0);
    return ways | ADDS;
}

static bool applies(const struct step_row *row, const struct trace *trace, size_t index)
{
    const struct sublayer *s = &trace->list[index];
    bool is_captured = !row->site || trace_row(trace, row->site) ||
                       (row->site == SITE_LOGITS && site_exists(trace->config, SITE_LOGITS));
    bool is_own = !(row->ways & ADDS) || step_site(s, s->at_out_norm) == row->site;
    bool of_keys = row->make == step_keys || row->make == step_key_norm ||
                   row->make == step_key_rotary; /* another layer may have made the keys */
    for (size_t i = 0; i < 3; i++)
        is_own |= s->at_sum[i] == row->site || s->at_after[i] == row->site;
    return row->ways & ways_of(trace, index) && is_captured && is_own &&
           !(of_keys && trace->rule->head.borrows);
}

/* --- edits ------------------------------------------------------------------------------------ */

/* A step changed by edits is computed by a pass without these edits: its numbers then match its
 * formula. A step with the edited values follows. */

/* Return the sites of the tensors that a step computes for later steps. */
static struct site_set sites_of(const struct trace *trace, const struct step_row *row)
{
    bool normed = trace->embedding_norm.scale != NULL;
    enum site input = trace->rule->at_input;
    /* the output of the layer's last norm may be called both resid_post and ln_2 */
    bool is_two_names = trace->list[trace->count - 1].at_after[0] == SITE_RESID_POST;
    bool is_sum = row->make == step_sum && row->site == SITE_RESID_POST;
    struct site_set sites = {0};
    if (row->make == (normed ? step_embedding : step_input))
        site_set_add(&sites, SITE_RESID_PRE);
    if (row->make == (config_copies(trace->config) ? step_copies
                      : normed                     ? step_embedding
                                                   : step_input) &&
        trace->layer == 0)
        site_set_add(&sites, SITE_EMBEDDING);
    if (row->make == step_input && input)
        site_set_add(&sites, input);
    bool norms = trace->raw_q.values && !trace->turns_first; /* true: heads are normed before the
                                                              * rotary embedding */
    if (row->make == (norms ? step_query_norm : step_query))
        site_set_add(&sites, trace->rotary ? SITE_Q_PRE : SITE_Q);
    if (row->make == (norms ? step_key_norm : step_keys))
        site_set_add(&sites, trace->rotary ? SITE_K_PRE : SITE_K);
    if (row->make == step_given_act)
        site_set_add(&sites, SITE_OF(BRANCH_PER_LAYER, SITE_MLP_GATE));
    if (row->make == step_hidden)
        sites = SITE_SET(SITE_MLP_GATE, SITE_MLP_UP);
    if (row->site && !(is_two_names && is_sum))
        site_set_add(&sites, row->site);
    if (is_two_names && row->site == SITE_LN_2)
        site_set_add(&sites, SITE_RESID_POST);
    return sites;
}

/* Return the number of copies of the stream at a site; 1 at sites without copies. */
static size_t copies_at(const struct trace *trace, enum site site)
{
    return site_axes(site) == AXES_COPY_TOKEN_CHANNEL ? config_copies(trace->config) : 1;
}

/* True if an edit changes a site's values of the query or, at sites of keys and values, of a
 * key. */
static bool touches(const struct edit *edit, const struct trace *trace, enum site site)
{
    bool of_keys = site_axes(site) == AXES_KV_HEAD_TOKEN_DIM;
    const size_t copies = copies_at(trace, site), rows = of_keys ? trace->keys : 1;
    struct edit_block block = {
        .site = trace_site(trace, site),
        .layer = trace->layer,
        .first_head = of_keys ? trace->kv_head : trace->head % heads_at(trace, site),
        .row_places = of_keys ? trace->keys : report_queries(trace->report, trace->branch)->count,
    };
    bool found = false;
    if (site_is_borrowed(trace->config, site, trace->layer))
        return false; /* the edits are in the layer that made the keys or values */
    for (size_t i = 0; i < rows * copies && !found; i++) {
        block.first_row = of_keys ? i : trace->query;
        if (copies > 1)
            block.first_head = i;
        found = edit_touches(edit, &block);
    }
    return found;
}

/* Append to `note`, unless it is NULL, the edits that change one of the sites. Returns false if no
 * edit does. */
static bool write_changes(struct buf *note, const struct trace *trace, struct site_set sites,
                          const char *language)
{
    const struct edits *edits = trace->viewer->edits;
    bool any = false;
    for (size_t i = 0; edits && i < edits->count; i++) {
        bool changes = false;
        for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
            changes |= touches(&edits->items[i], trace, site);
        if (changes && note)
            buf_format(note, "%s%s", any ? ", " : say(language, "Changed by "),
                       edits->items[i].words);
        any |= changes;
    }
    return any;
}

static void show_vectors(struct builder *builder, const struct trace *before,
                         const struct step_row *row, struct site_set sites)
{
    const struct trace *trace = builder->trace;
    struct named_vector rows[2 * COPIES_MAX];
    size_t count = 0, width = 0;
    bool of_input = row->make == step_input || row->make == step_embedding;
    for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site)) {
        const struct array *array = trace_find(before, site);
        const char *name = !of_input                            ? site_name(site)
                           : site != SITE_LN_1 && trace->stream ? "h"
                                                                : "x";
        if (!array)
            continue;
        width = array->columns.size;
        const size_t copies = copies_at(trace, site);
        for (size_t i = 0; i < copies; i++) {
            const size_t head = copies > 1 ? i : own_head(trace, site);
            if (copies > 1)
                name = arena_format(builder->arena, builder->err, "%s_%zu", site_name(site), i);
            rows[count++] = (struct named_vector){name, trace_row_of_head(before, site, head)};
            const char *edited = arena_format(builder->arena, builder->err, "%s, edited", name);
            rows[count++] = (struct named_vector){edited, trace_row_of_head(trace, site, head)};
        }
    }
    if (count && !builder->err->kind)
        builder_stack(builder, rows, count, width);
}

static void show_edited(struct builder *builder, const struct trace *before,
                        const struct step_row *row)
{
    struct site_set sites = sites_of(builder->trace, row);
    static const char *const of_maps[SITE_IDS] = {[SITE_SCORES] = "score",
                                                  [SITE_SOFTMAX] = "softmax",
                                                  [SITE_MASKED] = "masked",
                                                  [SITE_DIFFERENCE] = "difference",
                                                  [SITE_WEIGHTS] = "weight"};
    const enum site site = site_first(sites);
    const bool is_end = site == SITE_LOGITS;
    buf_text(&builder->note, builder->note.size ? " " : "");
    write_changes(&builder->note, builder->trace, sites, builder->language);
    buf_text(&builder->note,
             say(builder->language, is_end ? ": 'run --show logits' prints the result."
                                           : ": later steps use these values."));
    if (is_end)
        return;
    if (site_axes(site) == AXES_HEAD_QUERY_KEY) {
        builder_keys(builder);
        builder_column(builder, of_maps[site], NULL, trace_row(before, site));
        builder_column(builder, "edited", "edited", trace_row(builder->trace, site));
    } else if (site == SITE_V) { /* step_values shows values and weights */
        step_values(builder, builder->trace);
        builder->step->working.formula_count = 0;
    } else if (site == SITE_K || site == SITE_K_PRE) {
        builder_keys(builder);
        builder_vectors(builder, site_name(site), NULL,
                        site == SITE_K ? builder->trace->k : builder->trace->k_pre,
                        builder->trace->rule->head.d_k);
    } else {
        show_vectors(builder, before, row, sites);
    }
}

/* --- making a step ---------------------------------------------------------------------------- */

/* Make a step or, if `before` is set, the step after it that shows the effect of the edits. */
static int make_step(struct table *step, const struct step_row *row, const struct trace *before,
                     const struct chapter *chapter, struct builder builder)
{
    *step = (struct table){
        .name =
            before ? arena_format(builder.arena, builder.err, "%s_edited", row->name) : row->name,
        .heading = say(builder.language, before ? "Edit" : row->title),
        .rows.name = "",
        .working = {.chapter = chapter, .own_row = NO_ROW},
    };
    builder.step = builder.table = step;
    builder.site = row->site;
    builder.gives &= !before;
    if (!builder.err->kind && before)
        show_edited(&builder, before, row);
    else if (!builder.err->kind)
        row->make(&builder, builder.trace);
    if (!builder.err->kind && (builder.note.size || builder.note.out_of_memory))
        step->note = buf_keep(&builder.note, builder.arena, builder.err);
    buf_release(&builder.note);
    buf_release(&builder.out); /* a failed step may leave a partial formula */
    return err_if(builder.err->kind);
}

/* Add a step. If edits change its values, add two: a step with the values that its formula gives,
 * from a pass without the edits of its sites in the traced layer, and a step with the edited
 * values. */
static int add_step(struct table **end, const struct step_row *row, const struct passes *passes,
                    const struct chapter *chapter, struct builder builder)
{
    const struct trace *trace = builder.trace;
    struct viewer *viewer = passes->viewer;
    struct trace *before = &passes->before[row - step_rows];
    struct site_set sites = sites_of(trace, row);
    bool dropped_later = row->make == step_softmax && trace->config->mechanism.dropout > 0;
    bool is_edited = !dropped_later && write_changes(NULL, trace, sites, NULL);
    struct table *step = (*end)++;
    if (is_edited && !before->viewer) {
        const struct edits *edits = viewer->edits;
        struct edits rest = {
            .items = edits->items, .count = edits->count, .without_layer = trace->layer};
        for (enum site site = site_first(sites); site != SITE_END; site = site_after(sites, site))
            site_set_add(&rest.without, trace_site(trace, site));
        viewer->edits = &rest;
        int failed = run(before, passes, builder.arena, builder.err);
        viewer->edits = edits;
        if (failed)
            return -1;
    }
    if (is_edited) {
        before->keys_edited = trace->keys_edited;
        set_query(before, trace->query);
        builder.trace = before;
    }
    if (builder.err->kind || make_step(step, row, NULL, chapter, builder))
        return -1;
    if (!is_edited)
        return 0;
    if (row->make == step_values) /* only the step with the edited values has an example */
        step->working.worked = NULL;
    builder.trace = trace;
    return make_step((*end)++, row, before, chapter, builder);
}

static int explain(struct table **end, const struct trace *trace, const struct passes *passes,
                   struct arena *arena, struct err *err)
{
    const struct explain_request *request = passes->request;
    size_t visible = request->key; /* the key of the worked example: the requested key or, if it is
                                    * hidden, the first visible key */
    if (trace->masked[visible] == -INFINITY)
        visible = 0;
    while (visible + 1 < trace->keys && trace->masked[visible] == -INFINITY)
        visible++;
    struct builder builder = {
        .trace = trace,
        .key = visible,
        .digits = request->digits,
        .language = request->language,
        .gives = trace->query == request->query,
        .arena = arena,
        .err = err,
    };
    struct chapter *chapter = arena_alloc(arena, 1, sizeof *chapter, err);
    if (!chapter)
        return -1;
    *chapter = (struct chapter){
        .branch = has_encoder(trace->config) ? &attention_branches[trace->branch] : NULL,
        .text = report_queries(trace->report, trace->branch),
        .layer = trace->layer,
        .head = trace->head,
        .query = trace->query,
        .layer_count = stack_of(trace->config, trace->branch)->layers,
        .head_count = trace->rule->head.heads,
        .key_count = trace->keys,
        .is_listed = request->is_list,
    };
    if (choose_shown(chapter, trace, request->keys, arena, err))
        return -1;
    for (const struct sublayer *s = trace->list; s < trace->list + trace->count; s++)
        for (const struct step_row *row = step_rows; row < step_rows + STEP_ROWS; row++) {
            builder.sublayer = (size_t)(s - trace->list);
            if (applies(row, trace, builder.sublayer) &&
                add_step(end, row, passes, chapter, builder))
                return -1;
        }
    return 0;
}

int explanation_make(struct report *report, struct viewer *viewer,
                     const struct text_with_source *pair, const struct explain_request *request,
                     struct arena *arena, struct err *err)
{
    struct trace trace;
    struct passes passes = {.viewer = viewer, .pair = pair, .request = request};
    if (viewer->model.config.mechanism.kind == ATTENTION_LOWRANK)
        return err_usage(err, "--attention lowrank cannot be explained: use 'attn-cli run'");
    passes.before = arena_alloc(arena, STEP_ROWS, sizeof *passes.before, err);
    if (!passes.before ||
        features_expect(TO_EXPLAIN, &viewer->model.config, viewer->model.name, err) ||
        run(&trace, &passes, arena, err))
        return -1;
    trace.keys_edited = write_changes(NULL, &trace, SITE_SET(SITE_K), NULL);
    struct table *steps =
        arena_alloc(arena, request->query_count, 2 * STEP_ROWS * sizeof *steps, err);
    struct table *end = steps;
    for (size_t i = 0; i < request->query_count; i++) {
        set_query(&trace, request->query + i);
        if (!steps || explain(&end, &trace, &passes, arena, err))
            return -1;
    }
    *report = *trace.report;
    report->heads = NULL; /* chapters name the head and its queries */
    report->array_count = 0;
    report->tables = steps;
    report->table_count = (size_t)(end - steps);
    return 0;
}

int explanation_add_memory(struct memory *memory, const struct viewer *viewer,
                           const struct text_with_source *pair,
                           const struct explain_request *request, struct arena *arena,
                           struct err *err)
{
    /* estimated bytes of the steps of a query: measured for models of several sizes */
    enum { STEPS = 26000, KEY = 52, CHANNEL = 175, INNER_CHANNEL = 49, WORD = 8, COPY = 40 };
    const struct config *c = &viewer->model.config;
    size_t keys = num_max(pair->text.count, pair->source.count);
    const struct head_rule *head = &attention_of(c, request->branch, request->layer)->head;
    bool predicts = site_exists(c, SITE_LOGITS) && request->layer + 1 == c->n_layer;
    struct trace trace;
    struct selection selection;
    double bytes = STEPS + (double)keys * (double)(KEY + sizeof(float) * head->d_v) +
                   (double)c->n_embd * (double)(CHANNEL + sizeof(float) * head->d_k) +
                   INNER_CHANNEL * (double)config_inner(c, request->layer) +
                   (double)(COPY * config_copies(c) * c->n_embd) +
                   (predicts ? WORD * (double)config_logits(c) : 0);
    memory->held += bytes * (double)request->query_count;
    if (begin(&trace, &selection, &viewer->model.config, request, arena, err))
        return -1;
    viewer_add_memory(memory, viewer, &selection, pair, CAPTURE_ALL);
    return 0;
}
