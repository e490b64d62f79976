#include <assert.h>

#include "explain/steps.h"
#include "math/rows.h"

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
    if (config->norm_first)
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

/* The layer, and the one before it, whose output is what bare attention takes in; for the source
 * the encoder's last one. */
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
    if (request->layer == 0)
        layers = (struct layers){numbers + 2, 1};
    *selection = (struct selection){.heads = numbers, .head_count = 1};
    *(in_encoder ? &selection->encoder_layers : &selection->layers) = layers;
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (site_exists(config, site_of(request->part, sites[i])))
            selection->sites |= site_bit(site_of(request->part, sites[i]));
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

/* A tensor of tokens, or of the heads that were kept. */
static const struct kept *find(const struct trace *trace, enum site site, size_t layer)
{
    int number = site_rows[site].in_layer ? (int)layer : -1;
    const struct kept *kept = trace->report->tensors;
    const struct kept *end = kept + trace->report->tensor_count;
    while (kept < end && (kept->site != site || kept->layer != number))
        kept++;
    assert(kept < end);
    return kept;
}

static size_t width_of(const struct kept *kept)
{
    return kept->shape[kept->rank - 1];
}

static const float *row_of(const struct trace *trace, enum site site)
{
    const struct kept *kept = find(trace, site_of(trace->part, site), trace->layer);
    return kept->data + trace->query * width_of(kept);
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
    if (config->kind != MODEL_ATTENTION && config->norm_first)
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
    trace->q = row_of(trace, SITE_Q);
    trace->scores = row_of(trace, SITE_SCORES);
    if (site_exists(trace->config, SITE_SOFTMAX))
        trace->softmax = row_of(trace, SITE_SOFTMAX);
    trace->masked = row_of(trace, SITE_MASKED);
    trace->weight = row_of(trace, SITE_WEIGHTS);
    trace->context = trace_context(trace, trace->head);
    trace->out = row_of(trace, SITE_ATTN_OUT);
}

const float *trace_context(const struct trace *trace, size_t head)
{
    const struct kept *context = find(trace, site_of(trace->part, SITE_CONTEXT), trace->layer);
    assert(head < context->shape[0]);
    return context->data + (head * context->shape[1] + trace->query) * context->shape[2];
}

/* The two embeddings whose sum a first layer takes in: of tokens as they stand in the file, and of
 * their places. */
static int embed(struct trace *trace, const struct weights *weights, struct arena *arena,
                 struct err *err)
{
    const struct tokenized *tokenized = report_queries(trace->report, trace->part);
    size_t channels = trace->config->n_embd;
    if (trace->config->kind == MODEL_ATTENTION || trace->layer > 0 || trace->part == PART_CROSS)
        return 0;
    float *tokens = arena_alloc(arena, tokenized->count * channels, sizeof *tokens, err);
    float *positions = arena_alloc(arena, tokenized->count * channels, sizeof *positions, err);
    if (!tokens || !positions)
        return -1;
    for (size_t i = 0; i < tokenized->count; i++)
        weights_embed_token(weights, tokens + i * channels, tokenized->tokens[i].id);
    trace->tokens = tokens;
    if (mechanism_lacks(&trace->config->mechanism, PART_POSITIONS))
        return 0;
    for (size_t i = 0; i < tokenized->count && !trace->config->sinusoids; i++)
        weights_add_position(weights, positions + i * channels, i);
    if (trace->config->sinusoids)
        add_sinusoids((struct matrix){positions, tokenized->count, channels, channels}, 0);
    trace->positions = positions;
    return 0;
}

/* Without the temperature. */
static float scale_as_it_is(const struct config *config, size_t layer)
{
    struct config cold = *config;
    cold.mechanism.temperature = 0;
    return mechanism_scale(&cold, layer);
}

/* The projections of that attention. */
static int find_weights(struct trace *trace, struct weights *weights, struct err *err)
{
    bool cross = trace->part == PART_CROSS;
    size_t place = trace->layer + (trace->part == PART_SOURCE ? trace->config->n_layer : 0);
    struct block_weights block;
    if (weights_block(weights, place, cross ? SITE_CROSS_OUT : SITE_ATTN_OUT, &block, err))
        return -1;
    trace->weights = cross ? block.cross : block.self;
    return 0;
}

/* Rotations, norms of heads and the like are not explained yet. */
static int check_type(const struct config *config, struct err *err)
{
    if (!config->family)
        return 0;
    return err_unsupported(err,
                           "expected a model of type \"gpt2\", \"attention\" or "
                           "\"transformer\" to explain, found \"%s\": `run` shows its tensors",
                           config_kind_name(config));
}

int trace_run(struct trace *trace, struct viewer *viewer, const struct text_pair *pair,
              const struct explain_request *request, struct arena *arena, struct err *err)
{
    struct model *model = &viewer->model;
    struct config *config = arena_alloc(arena, 1, sizeof *config, err);
    struct report *report = arena_alloc(arena, 1, sizeof *report, err);
    struct selection selection;
    if (!config || !report || check_type(&model->config, err))
        return -1;
    *config = config_of(&model->config, request->part);
    *trace = (struct trace){
        .report = report,
        .config = config,
        .part = request->part,
        .layer = request->layer,
        .head = request->head,
        .group = request->head / (config->n_head / config->n_kv_head),
        .scale = mechanism_scale(config, request->layer),
        .base_scale = scale_as_it_is(config, request->layer),
    };
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
    if (embed(trace, &model->weights, arena, err))
        return -1;
    trace_set_query(trace, request->query);
    return 0;
}
