#include <assert.h>

#include <string.h>

#include "explain/steps.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/attention_strip.h"
#include "model/parameter_table.h"

static const enum site sites[] = {SITE_Q,       SITE_K,       SITE_V,
                                  SITE_SCORES,  SITE_SOFTMAX, SITE_MASKED,
                                  SITE_WEIGHTS, SITE_CONTEXT, SITE_ATTN_OUT};

/* What the model's config says of one of its attentions. */
static struct config config_of(const struct config *model, enum site_part part)
{
    struct config own = *model;
    struct mechanism *mechanism = &own.mechanism;
    own.cross = part == PART_CROSS || config_is_cross(model);
    if (part != PART_SENTENCE)
        own.causal = mechanism->renormalise = false; /* there is no future to mask */
    if (part == PART_CROSS && mechanism->kind == ATTENTION_SPARSE)
        mechanism->kind = ATTENTION_DENSE; /* a pattern is about a text that looks at itself */
    return own;
}

/* The residual stream as it comes to an attention, and what its queries are made of. */
static enum site stream_site(enum site_part part)
{
    return part == PART_CROSS ? SITE_RESID_MID : site_of(part, SITE_RESID_PRE);
}

static enum site input_site(const struct config *config, enum site_part part)
{
    if (config->norm_first && config->norm_in)
        return site_of(part, SITE_LN_1);
    return part == PART_CROSS ? SITE_LN_1 : stream_site(part);
}

/* What keys and values are made of where they are another text's: its embedding, or what an encoder
 * made of it. */
static enum site source_site(const struct config *config)
{
    if (config->kind == MODEL_ATTENTION)
        return SITE_SOURCE_EMBEDDING;
    if (config->final_norm)
        return SITE_ENC_LN_F;
    bool ends_with_norm = !config->norm_first && !mechanism_lacks(&config->mechanism, PART_MLP);
    return ends_with_norm ? SITE_ENC_LN_2 : SITE_ENC_RESID_POST;
}

/* A decoder without an encoder, which is followed through its whole layer. */
static bool is_decoder(const struct config *config)
{
    return config->kind != MODEL_ATTENTION && !config->n_encoder_layer;
}

/* The layer, and in bare attention the one before it, whose output it takes in; for the source the
 * encoder's last one. */
static int select_sites(struct selection *selection, const struct config *config,
                        const struct explain_request *request, struct arena *arena, struct err *err)
{
    bool in_encoder = request->part == PART_SOURCE;
    bool bare = config->kind == MODEL_ATTENTION;
    size_t *numbers = arena_alloc(arena, 4, sizeof *numbers, err);
    assert(request->layer < (in_encoder ? config->n_encoder_layer : config->n_layer));
    assert(request->head < config->n_head);
    if (!numbers)
        return -1;
    numbers[0] = request->head;
    numbers[1] = request->layer > 0 ? request->layer - 1 : 0;
    numbers[2] = request->layer;
    numbers[3] = config->n_encoder_layer - 1; /* where there is an encoder */
    struct layers layers = {numbers + 1, 2};
    if (request->layer == 0 || !bare)
        layers = (struct layers){numbers + 2, 1};
    *selection = (struct selection){.heads = numbers, .head_count = 1};
    *(in_encoder ? &selection->encoder_layers : &selection->layers) = layers;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (site_exists(config, site_of(request->part, sites[i])))
            selection->sites |= site_bit(site_of(request->part, sites[i]));
    bool last = request->layer + 1 == config->n_layer;
    for (int site = SITE_RESID_PRE; site <= (last ? SITE_LN_F : SITE_RESID_POST); site++)
        if (is_decoder(config) && site_exists(config, (enum site)site))
            selection->sites |= site_bit((enum site)site);
    selection->whole = site_bit(site_of(request->part, SITE_CONTEXT));
    selection->sites |=
        bare ? site_bit(SITE_EMBEDDING)
             : site_bit(stream_site(request->part)) | site_bit(input_site(config, request->part));
    if (config->cross)
        selection->sites |= site_bit(source_site(config));
    if (config->cross && config->n_encoder_layer)
        selection->encoder_layers = (struct layers){numbers + 3, 1};
    return 0;
}

/* A tensor of tokens, or of the heads that were kept; NULL: there is none. */
static const struct kept *seek(const struct trace *trace, enum site site, size_t layer)
{
    int number = site_rows[site].in_layer ? (int)layer : -1;
    const struct kept *kept = trace->report->tensors;
    const struct kept *end = kept + trace->report->tensor_count;
    while (kept < end && (kept->site != site || kept->layer != number))
        kept++;
    return kept < end ? kept : NULL;
}

static const struct kept *find(const struct trace *trace, enum site site, size_t layer)
{
    const struct kept *kept = seek(trace, site, layer);
    assert(kept);
    return kept;
}

static size_t width_of(const struct kept *kept)
{
    return kept->shape[kept->rank - 1];
}

const float *trace_row(const struct trace *trace, enum site site)
{
    const struct kept *kept = seek(trace, site_of(trace->part, site), trace->layer);
    return kept ? kept->data + trace->query * width_of(kept) : NULL;
}

size_t trace_width(const struct trace *trace, enum site site)
{
    const struct kept *kept = seek(trace, site_of(trace->part, site), trace->layer);
    return kept ? width_of(kept) : 0;
}

/* What queries are made of: a stream, normed by now or here; or in bare attention an embedding, or
 * the output of the layer before. */
static void find_inputs(struct trace *trace)
{
    const struct config *config = trace->config;
    const struct kept *inputs;
    if (config->kind != MODEL_ATTENTION)
        inputs = find(trace, input_site(config, trace->part), trace->layer);
    else if (trace->layer == 0)
        inputs = find(trace, SITE_EMBEDDING, 0);
    else
        inputs = find(trace, SITE_ATTN_OUT, trace->layer - 1);
    trace->inputs = trace->sources = inputs->data;
    trace->input_size = width_of(inputs);
    if (config->kind != MODEL_ATTENTION && config->norm_first && config->norm_in)
        trace->streams = find(trace, stream_site(trace->part), trace->layer)->data;
    if (config->cross)
        trace->sources = find(trace, source_site(config), config->n_encoder_layer - 1)->data;
}

static void find_keys(struct trace *trace)
{
    const struct kept *k = find(trace, site_of(trace->part, SITE_K), trace->layer);
    trace->keys = k->shape[1];
    trace->k = k->data;
    trace->v = find(trace, site_of(trace->part, SITE_V), trace->layer)->data;
    if (trace->rotary)
        trace->k_pre = find(trace, SITE_K_PRE, trace->layer)->data;
}

float *trace_product(const struct trace *trace, const float *x, size_t rows, const struct weight *w,
                     struct arena *arena, struct err *err)
{
    float *y = arena_alloc(arena, rows * w->out, sizeof *y, err);
    struct matrix from = {(float *)x, rows, w->in, w->in}; /* it is only read */
    if (y)
        linear(&trace->viewer->machine, (struct matrix){y, rows, w->out, w->out}, from, w,
               ACTIVATION_NONE);
    return y;
}

/* Queries or keys of all tokens as they are projected, before the norm of heads. */
static int project_raw(struct trace *trace, struct raw_heads *raw, const float *from, bool of_keys,
                       struct arena *arena, struct err *err)
{
    const struct weight *w = of_keys ? &trace->weights.k : &trace->weights.q;
    bool whole = trace->config->head_norm == HEAD_NORM_WHOLE;
    size_t width = trace->config->d_k;
    size_t first = (of_keys ? trace->group : trace->head) * width;
    size_t count = whole ? w->out : width;
    const float *all = trace_product(trace, from, trace->keys, w, arena, err);
    raw->values = arena_alloc(arena, trace->keys * width, sizeof *raw->values, err);
    raw->squares = arena_alloc(arena, trace->keys, sizeof *raw->squares, err);
    if (!all || !raw->values || !raw->squares)
        return -1;
    for (size_t row = 0; row < trace->keys; row++) {
        const float *head = all + row * w->out + first;
        const float *normed = whole ? all + row * w->out : head;
        double sum = 0;
        for (size_t i = 0; i < count; i++)
            sum += (double)normed[i] * (double)normed[i];
        raw->squares[row] = (float)(sum / (double)count);
        memcpy(raw->values + row * width, head, width * sizeof *head);
    }
    return 0;
}

/* What comes between projections and scores: norms of heads, and places as rotations. */
static int find_places(struct trace *trace, struct arena *arena, struct err *err)
{
    const struct rotary *rotary = trace->rotary;
    if (rotary) {
        size_t width = rotary->components;
        float *waves = arena_alloc(arena, trace->keys * width, sizeof *waves, err);
        if (!waves)
            return -1;
        rotary_fill((struct matrix){waves, trace->keys, width, width}, rotary, 0, trace->keys);
        trace->waves = waves;
    }
    if (trace->config->head_norm == HEAD_NORM_NONE ||
        mechanism_lacks(&trace->config->mechanism, PART_NORM))
        return 0;
    return project_raw(trace, &trace->raw_q, trace->inputs, false, arena, err) ||
                   project_raw(trace, &trace->raw_k, trace->sources, true, arena, err)
               ? -1
               : 0;
}

/* Row `query` of what there may be. */
static const float *row_at(const float *rows, size_t query, size_t size)
{
    return rows ? rows + query * size : NULL;
}

void trace_set_query(struct trace *trace, size_t query)
{
    size_t size = trace->input_size;
    assert(query < report_queries(trace->report, trace->part)->count);
    trace->query = query;
    trace->token = row_at(trace->tokens, query, size);
    trace->position = row_at(trace->positions, query, size);
    trace->stream = row_at(trace->streams, query, size);
    trace->x = row_at(trace->inputs, query, size);
    trace->q_pre = trace->rotary ? trace_row(trace, SITE_Q_PRE) : NULL;
    trace->q = trace_row(trace, SITE_Q);
    trace->scores = trace_row(trace, SITE_SCORES);
    if (site_exists(trace->config, SITE_SOFTMAX))
        trace->softmax = trace_row(trace, SITE_SOFTMAX);
    trace->masked = trace_row(trace, SITE_MASKED);
    trace->weight = trace_row(trace, SITE_WEIGHTS);
    trace->context = trace_context(trace, trace->head);
    trace->out = trace_row(trace, SITE_ATTN_OUT);
}

struct named_vector trace_projected(const struct trace *trace)
{
    if (trace->raw_q.values)
        return (struct named_vector){"q_raw",
                                     trace->raw_q.values + trace->query * trace->config->d_k};
    return trace->q_pre ? (struct named_vector){"q_pre", trace->q_pre}
                        : (struct named_vector){"q", trace->q};
}

const float *trace_context(const struct trace *trace, size_t head)
{
    const struct kept *context = find(trace, site_of(trace->part, SITE_CONTEXT), trace->layer);
    assert(head < context->shape[0]);
    return context->data + (head * context->shape[1] + trace->query) * context->shape[2];
}

/* The two embeddings whose sum a first layer takes in: of tokens as they stand in the file, and of
 * their places. */
static int find_embeddings(struct trace *trace, struct weights *weights, struct arena *arena,
                           struct err *err)
{
    const struct tokenized *tokenized = report_queries(trace->report, trace->part);
    size_t channels = trace->config->n_embd;
    size_t width = config_word_width(trace->config);
    struct weight projection;
    if (trace->config->kind == MODEL_ATTENTION || trace->layer > 0 || trace->part == PART_CROSS)
        return 0;
    float *tokens = arena_alloc(arena, tokenized->count * width, sizeof *tokens, err);
    float *positions = arena_alloc(arena, tokenized->count * channels, sizeof *positions, err);
    if (!tokens || !positions)
        return -1;
    for (size_t i = 0; i < tokenized->count; i++)
        weights_embed_token(weights, tokens + i * width, tokenized->tokens[i].id);
    trace->tokens = tokens;
    if (trace->config->n_word) {
        trace->word_rows = tokens;
        if (weights_projection(weights, false, &projection, err))
            return -1;
        trace->tokens = trace_product(trace, tokens, tokenized->count, &projection, arena, err);
    }
    if (!trace->tokens)
        return -1;
    if (trace->config->embedding_norm && !mechanism_lacks(&trace->config->mechanism, PART_NORM) &&
        weights_embedding_norm(weights, &trace->embedding_norm, err))
        return -1;
    bool placed = trace->config->sinusoids || parameter_is_used(PARAMETER_WPE, 0, trace->config);
    if (mechanism_lacks(&trace->config->mechanism, PART_POSITIONS) || !placed)
        return 0;
    for (size_t i = 0; i < tokenized->count && !trace->config->sinusoids; i++)
        weights_add_position(weights, positions + i * channels, i);
    if (trace->config->sinusoids)
        add_sinusoids((struct matrix){positions, tokenized->count, channels, channels}, 0);
    trace->positions = positions;
    return 0;
}

static int find_weights(struct trace *trace, struct weights *weights, struct err *err)
{
    bool cross = trace->part == PART_CROSS;
    size_t place = trace->layer + (trace->part == PART_SOURCE ? trace->config->n_layer : 0);
    struct block_weights block;
    enum site last = cross                       ? SITE_CROSS_OUT
                     : is_decoder(trace->config) ? SITE_RESID_POST
                                                 : SITE_ATTN_OUT;
    if (weights_block(weights, place, last, &block, err))
        return -1;
    trace->weights = cross ? block.cross : block.self;
    trace->mlp = block.mlp;
    return 0;
}

int trace_run(struct trace *trace, struct viewer *viewer, const struct text_pair *pair,
              const struct explain_request *request, struct arena *arena, struct err *err)
{
    struct model *model = &viewer->model;
    struct config *config = arena_alloc(arena, 1, sizeof *config, err);
    struct report *report = arena_alloc(arena, 1, sizeof *report, err);
    struct selection selection;
    if (!config || !report)
        return -1;
    *config = config_of(&model->config, request->part);
    *trace = (struct trace){
        .report = report,
        .config = config,
        .part = request->part,
        .layer = request->layer,
        .head = request->head,
        .group = request->head / (config->n_head / config->n_kv_head),
        .viewer = viewer,
        .scale = mechanism_scale(config, request->layer),
        .base_scale = mechanism_base_scale(config, request->layer),
    };
    trace->cools = config->mechanism.temperature > 0 &&
                   (config->score_cap > 0 || attention_slope(config, 0) > 0);
    if (trace->cools)
        trace->scale = trace->base_scale;
    if (!mechanism_lacks(&config->mechanism, PART_POSITIONS))
        trace->rotary = config_rotary(config, request->layer);
    struct look look = {
        .selection = &selection,
        .pairs = pair,
        .count = 1,
        .reports = report,
    };
    if (select_sites(&selection, config, request, arena, err) ||
        viewer_look(viewer, &look, arena, err) || find_weights(trace, &model->weights, err))
        return -1;
    find_inputs(trace);
    find_keys(trace);
    if (find_places(trace, arena, err) || find_embeddings(trace, &model->weights, arena, err))
        return -1;
    trace_set_query(trace, request->query);
    return 0;
}
