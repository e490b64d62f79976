/* trace.c: the tensors of one head, from a pass. */
#include <assert.h>
#include <string.h>

#include "explain/steps.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/attention_strip.h"
#include "model/layer.h"
#include "model/parameter_table.h"

/* --- captured tensors ------------------------------------------------------------------------- */

/* The model's config, adapted to one of its attentions. */
static struct config config_of(const struct config *model, enum site_part part)
{
    struct config own = *model;
    struct mechanism *mechanism = &own.mechanism;
    own.cross = part == PART_CROSS || config_is_cross(model);
    if (part != PART_SENTENCE)
        own.causal = mechanism->renormalise = false; /* no future tokens to mask */
    if (part == PART_CROSS && mechanism->kind == ATTENTION_SPARSE)
        mechanism->kind = ATTENTION_DENSE; /* patterns only apply to self-attention */
    return own;
}

/* The residual stream before an attention, from which its queries are computed. */
static enum site stream_site(enum site_part part)
{
    return part == PART_CROSS ? SITE_RESID_MID : site_of(part, SITE_RESID_PRE);
}

static enum site input_site(const struct config *config, enum site_part part)
{
    if (style_norms_first(config->style))
        return site_of(part, SITE_LN_1);
    return part == PART_CROSS ? SITE_LN_1 : stream_site(part);
}

/* The input of keys and values of another text: its embedding, or the encoder's output. */
static enum site source_site(const struct config *config)
{
    return config->kind == MODEL_ATTENTION ? SITE_SOURCE_EMBEDDING
                                           : site_of(PART_SOURCE, site_of_logits(config));
}

/* A model with a decoder only is explained to the end of its layer. */
static bool is_decoder(const struct config *config)
{
    return config->kind != MODEL_ATTENTION && !config->n_encoder_layer;
}

/* Select the layer's sites; in bare attention also the previous layer, whose output is the input;
 * with a source, the encoder's last layer. */
static int select_sites(struct selection *selection, const struct config *config,
                        const struct explain_request *request, struct arena *arena, struct err *err)
{
    bool decodes = is_decoder(config);
    bool in_encoder = request->part == PART_SOURCE;
    bool bare = config->kind == MODEL_ATTENTION;
    enum site end = !decodes                                ? SITE_ATTN_OUT
                    : request->layer + 1 == config->n_layer ? SITE_LN_F
                                                            : SITE_RESID_POST;
    size_t *numbers = arena_alloc(arena, 4, sizeof *numbers, err);
    assert(request->layer < (in_encoder ? config->n_encoder_layer : config->n_layer));
    assert(request->head < config->n_head);
    if (!numbers)
        return -1;
    numbers[0] = request->head;
    numbers[1] = request->layer > 0 ? request->layer - 1 : 0;
    numbers[2] = request->layer;
    numbers[3] = config->n_encoder_layer - 1; /* if there is an encoder */
    bool one = request->layer == 0 || !bare;
    *selection = (struct selection){.heads = numbers, .head_count = 1};
    *(in_encoder ? &selection->encoder_layers : &selection->layers) =
        one ? (struct layers){numbers + 2, 1} : (struct layers){numbers + 1, 2};
    for (enum site site = decodes ? SITE_RESID_PRE : SITE_Q_PRE; site <= end; site++)
        if (site_exists(config, site_of(request->part, site)))
            selection->sites |= site_bit(site_of(request->part, site));
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

/* --- tensors from the pass -------------------------------------------------------------------- */

const struct kept *trace_find(const struct trace *trace, enum site site)
{
    return report_find(trace->report, site_of(trace->part, site), trace->layer);
}

const float *trace_row(const struct trace *trace, enum site site)
{
    return trace_row_of_head(trace, site, site == SITE_CONTEXT ? trace->head : 0);
}

const float *trace_row_of_head(const struct trace *trace, enum site site, size_t head)
{
    const struct kept *kept = trace_find(trace, site);
    size_t first = head ? head * kept->shape[1] : 0;
    return kept ? kept->data + (first + trace->query) * kept->shape[kept->rank - 1] : NULL;
}

float *trace_product(const struct trace *trace, const float *x, size_t rows, const struct weight *w,
                     struct arena *arena, struct err *err)
{
    float *y = arena_alloc(arena, rows * w->out, sizeof *y, err);
    struct matrix from = {(float *)x, rows, w->in, w->in}; /* cast: only read */
    if (y)
        linear(&trace->viewer->machine, (struct matrix){y, rows, w->out, w->out}, from, w,
               ACTIVATION_NONE);
    return y;
}

/* The input of queries is the stream, with or without a norm; in bare attention, an embedding or
 * the output of the previous layer. */
static void find_inputs_and_keys(struct trace *trace)
{
    const struct config *config = trace->config;
    size_t layer = trace->layer;
    const struct kept *inputs;
    if (config->kind != MODEL_ATTENTION)
        inputs = report_find(trace->report, input_site(config, trace->part), layer);
    else if (layer == 0)
        inputs = report_find(trace->report, SITE_EMBEDDING, 0);
    else
        inputs = report_find(trace->report, SITE_ATTN_OUT, layer - 1);
    trace->inputs = trace->sources = inputs->data;
    trace->input_size = inputs->shape[inputs->rank - 1];
    if (config->kind != MODEL_ATTENTION && style_norms_first(config->style))
        trace->streams = report_find(trace->report, stream_site(trace->part), layer)->data;
    if (config->cross)
        trace->sources =
            report_find(trace->report, source_site(config), config->n_encoder_layer - 1)->data;
    trace->keys = trace_find(trace, SITE_K)->shape[1];
    trace->k = trace_find(trace, SITE_K)->data;
    trace->v = trace_find(trace, SITE_V)->data;
    if (trace->rotary)
        trace->k_pre = trace_find(trace, SITE_K_PRE)->data;
}

/* Project queries or keys of all tokens, before the norm of heads. */
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

/* Find the norms of heads and the rotary embedding. */
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
    if (trace->config->head_norm == HEAD_NORM_NONE ||
        mechanism_lacks(&trace->config->mechanism, PART_NORM))
        return 0;
    return err_if(project_raw(trace, &trace->raw_q, trace->inputs, false, arena, err) ||
                  project_raw(trace, &trace->raw_k, trace->sources, true, arena, err));
}

/* Find the embeddings of tokens and positions, whose sum is the input of the first layer. */
static int find_embeddings(struct trace *trace, struct arena *arena, struct err *err)
{
    struct weights *weights = &trace->viewer->model.weights;
    const struct config *config = trace->config;
    const struct tokenized *text = report_queries(trace->report, trace->part);
    size_t channels = config->n_embd;
    size_t width = config_word_width(config);
    struct weight projection;
    if (config->kind == MODEL_ATTENTION || trace->layer > 0 || trace->part == PART_CROSS)
        return 0;
    float *tokens = arena_alloc(arena, text->count * width, sizeof *tokens, err);
    float *positions = arena_alloc(arena, text->count * channels, sizeof *positions, err);
    if (!tokens || !positions)
        return -1;
    for (size_t i = 0; i < text->count; i++)
        weights_embed_token(weights, tokens + i * width, text->tokens[i].id);
    trace->tokens = tokens;
    if (config->n_word) {
        trace->word_rows = tokens;
        if (weights_projection(weights, false, &projection, err))
            return -1;
        trace->tokens = trace_product(trace, tokens, text->count, &projection, arena, err);
    }
    if (!trace->tokens)
        return -1;
    if (config->embedding_norm && !mechanism_lacks(&config->mechanism, PART_NORM) &&
        weights_embedding_norm(weights, &trace->embedding_norm, err))
        return -1;
    bool placed =
        config->sinusoids || slot_exists(slot_of_end(PART_SENTENCE, SLOT_POSITIONS), config);
    if (mechanism_lacks(&config->mechanism, PART_POSITIONS) || !placed)
        return 0;
    for (size_t i = 0; i < text->count && !config->sinusoids; i++)
        weights_add_position(weights, positions + i * channels, i);
    if (config->sinusoids)
        add_sinusoids((struct matrix){positions, text->count, channels, channels}, 0);
    trace->positions = positions;
    return 0;
}

static int find_weights(struct trace *trace, struct err *err)
{
    bool cross = trace->part == PART_CROSS;
    size_t index = trace->layer + (trace->part == PART_SOURCE ? trace->config->n_layer : 0);
    struct block_weights block;
    enum site last = cross                       ? SITE_CROSS_OUT
                     : is_decoder(trace->config) ? SITE_RESID_POST
                                                 : SITE_ATTN_OUT;
    if (weights_block(&trace->viewer->model.weights, index, last, &block, err))
        return -1;
    trace->weights = cross ? block.cross : block.self;
    trace->mlp = block.mlp;
    return 0;
}

int trace_run(struct trace *trace, struct viewer *viewer, const struct text_pair *pair,
              const struct explain_request *request, struct arena *arena, struct err *err)
{
    struct config *config = arena_alloc(arena, 1, sizeof *config, err);
    struct report *report = arena_alloc(arena, 1, sizeof *report, err);
    struct selection selection;
    if (!config || !report)
        return -1;
    *config = config_of(&viewer->model.config, request->part);
    *trace = (struct trace){
        .report = report,
        .config = config,
        .part = request->part,
        .layer = request->layer,
        .head = request->head,
        .group = config_kv_head(config, request->head),
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
    const struct look look = {&selection, pair, 1, 0, report};
    if (select_sites(&selection, config, request, arena, err) ||
        viewer_look(viewer, &look, arena, err) || find_weights(trace, err))
        return -1;
    find_inputs_and_keys(trace);
    if (find_heads(trace, arena, err) || find_embeddings(trace, arena, err))
        return -1;
    trace_set_query(trace, request->query);
    return 0;
}

int trace_add_memory(struct memory *memory, const struct viewer *viewer,
                     const struct text_pair *pair, const struct explain_request *request,
                     struct arena *arena, struct err *err)
{
    struct selection selection;
    if (select_sites(&selection, &viewer->model.config, request, arena, err))
        return -1;
    viewer_add_memory(memory, viewer, &selection, pair, LOOK_AT_ALL);
    return 0;
}

/* --- values of one query ---------------------------------------------------------------------- */

void trace_set_query(struct trace *trace, size_t query)
{
    size_t first = query * trace->input_size;
    assert(query < report_queries(trace->report, trace->part)->count);
    trace->query = query;
    trace->token = trace->tokens ? trace->tokens + first : NULL;
    trace->position = trace->positions ? trace->positions + first : NULL;
    trace->stream = trace->streams ? trace->streams + first : NULL;
    trace->x = trace->inputs + first;
    trace->q_pre = trace->rotary ? trace_row(trace, SITE_Q_PRE) : NULL;
    trace->q = trace_row(trace, SITE_Q);
    trace->scores = trace_row(trace, SITE_SCORES);
    if (site_exists(trace->config, SITE_SOFTMAX))
        trace->softmax = trace_row(trace, SITE_SOFTMAX);
    trace->masked = trace_row(trace, SITE_MASKED);
    trace->weight = trace_row(trace, SITE_WEIGHTS);
    trace->context = trace_row(trace, SITE_CONTEXT);
    trace->out = trace_row(trace, SITE_ATTN_OUT);
}

float trace_slope(const struct trace *trace)
{
    return trace->config->alibi ? attention_slope(trace->config, trace->head) : 0;
}
