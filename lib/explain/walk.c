#include "explain/walk.h"

#include <assert.h>

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

/* That site, and where it is in a layer, the encoder's last one. */
static int select_source(struct selection *selection, const struct config *config,
                         struct arena *arena, struct err *err)
{
    selection->sites |= site_bit(source_site(config));
    if (!config->n_encoder_layer)
        return 0;
    size_t *last = arena_alloc(arena, 1, sizeof *last, err);
    if (!last)
        return -1;
    *last = config->n_encoder_layer - 1;
    selection->encoder_layers = (struct layers){last, 1};
    return 0;
}

/* The layer, and the one before it, whose output is what bare attention takes in. */
static int select_sites(struct selection *selection, const struct config *config,
                        const struct explain_wish *wish, struct arena *arena, struct err *err)
{
    bool in_encoder = wish->part == PART_SOURCE;
    size_t count = 0;
    size_t *layers = arena_alloc(arena, 2, sizeof *layers, err);
    size_t *head = arena_alloc(arena, 1, sizeof *head, err);
    assert(wish->layer < (in_encoder ? config->n_encoder_layer : config->n_layer));
    assert(wish->head < config->n_head);
    if (!layers || !head)
        return -1;
    *selection = (struct selection){.heads = head, .head_count = 1};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        enum site site = site_of(wish->part, sites[i]);
        if (site_exists(config, site))
            selection->sites |= site_bit(site);
    }
    if (config->kind == MODEL_ATTENTION)
        selection->sites |= site_bit(SITE_EMBEDDING);
    else
        selection->sites |=
            site_bit(stream_site(wish->part)) | site_bit(input_site(config, wish->part));
    selection->whole = site_bit(site_of(wish->part, SITE_CONTEXT));
    *head = wish->head;
    if (wish->layer > 0)
        layers[count++] = wish->layer - 1;
    layers[count++] = wish->layer;
    *(in_encoder ? &selection->encoder_layers : &selection->layers) =
        (struct layers){layers, count};
    return config->cross ? select_source(selection, config, arena, err) : 0;
}

static const struct kept *find(const struct walk *walk, enum site site, size_t layer)
{
    int number = site_rows[site].in_layer ? (int)layer : -1;
    for (size_t i = 0; i < walk->report->tensor_count; i++)
        if (walk->report->tensors[i].site == site && walk->report->tensors[i].layer == number)
            return &walk->report->tensors[i];
    return NULL;
}

/* The rows of a tensor of tokens, or of the one head that was kept. */
static const float *rows_of(const struct walk *walk, enum site site, size_t layer, size_t *size)
{
    const struct kept *kept = find(walk, site, layer);
    assert(kept);
    *size = kept->shape[kept->rank - 1];
    return kept->data;
}

static const float *row_of(const struct walk *walk, enum site site)
{
    size_t size;
    const float *rows = rows_of(walk, site_of(walk->part, site), walk->layer, &size);
    return rows + walk->query * size;
}

/* What queries are made of: a stream, normed by now or here; or in bare attention an embedding, or
 * the output of the layer before. */
static void find_inputs(struct walk *walk)
{
    size_t *size = &walk->input_size;
    if (walk->config->kind != MODEL_ATTENTION) {
        walk->inputs = rows_of(walk, input_site(walk->config, walk->part), walk->layer, size);
        if (walk->config->norm_first)
            walk->streams = rows_of(walk, stream_site(walk->part), walk->layer, size);
    } else if (walk->layer == 0) {
        walk->inputs = rows_of(walk, SITE_EMBEDDING, 0, size);
    } else {
        walk->inputs = rows_of(walk, SITE_ATTN_OUT, walk->layer - 1, size);
    }
}

static void find_keys(struct walk *walk)
{
    const struct kept *k = find(walk, site_of(walk->part, SITE_K), walk->layer);
    const struct kept *v = find(walk, site_of(walk->part, SITE_V), walk->layer);
    size_t size = walk->input_size;
    assert(k && v);
    walk->sources = walk->inputs;
    if (walk->config->cross)
        walk->sources =
            rows_of(walk, source_site(walk->config), walk->config->n_encoder_layer - 1, &size);
    assert(size == walk->input_size);
    walk->keys = k->shape[1];
    walk->k = k->data;
    walk->v = v->data;
}

/* Row `query` of what there may be. */
static const float *row_at(const float *rows, size_t query, size_t size)
{
    return rows ? rows + query * size : NULL;
}

void walk_turn(struct walk *walk, size_t query)
{
    size_t size = walk->input_size;
    assert(query < report_queries(walk->report, walk->part)->count);
    walk->query = query;
    walk->token = row_at(walk->tokens, query, size);
    walk->position = row_at(walk->positions, query, size);
    walk->stream = row_at(walk->streams, query, size);
    walk->x = row_at(walk->inputs, query, size);
    walk->q = row_of(walk, SITE_Q);
    walk->scores = row_of(walk, SITE_SCORES);
    if (site_exists(walk->config, SITE_SOFTMAX))
        walk->softmax = row_of(walk, SITE_SOFTMAX);
    walk->masked = row_of(walk, SITE_MASKED);
    walk->weight = row_of(walk, SITE_WEIGHTS);
    walk->context = walk_context(walk, walk->head);
    walk->out = row_of(walk, SITE_ATTN_OUT);
}

const float *walk_context(const struct walk *walk, size_t head)
{
    const struct kept *context = find(walk, site_of(walk->part, SITE_CONTEXT), walk->layer);
    assert(context && head < context->shape[0]);
    return context->data + (head * context->shape[1] + walk->query) * context->shape[2];
}

/* The two embeddings whose sum a first layer takes in: of tokens as they stand in the file, and of
 * their places. */
static int embed(struct walk *walk, const struct weights *weights, struct arena *arena,
                 struct err *err)
{
    const struct reading *reading = report_queries(walk->report, walk->part);
    size_t channels = walk->config->n_embd;
    if (walk->config->kind == MODEL_ATTENTION || walk->layer > 0 || walk->part == PART_CROSS)
        return 0;
    float *tokens = arena_alloc(arena, reading->count * channels, sizeof *tokens, err);
    float *positions = arena_alloc(arena, reading->count * channels, sizeof *positions, err);
    if (!tokens || !positions)
        return -1;
    for (size_t i = 0; i < reading->count; i++)
        weights_embed_token(weights, tokens + i * channels, reading->tokens[i].id);
    walk->tokens = tokens;
    if (mechanism_lacks(&walk->config->mechanism, PART_POSITIONS))
        return 0;
    for (size_t i = 0; i < reading->count && !walk->config->sinusoids; i++)
        weights_add_position(weights, positions + i * channels, i);
    if (walk->config->sinusoids)
        add_sinusoids((struct matrix){positions, reading->count, channels, channels}, 0);
    walk->positions = positions;
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
static int find_weights(struct walk *walk, struct weights *weights, struct err *err)
{
    bool cross = walk->part == PART_CROSS;
    size_t place = walk->layer + (walk->part == PART_SOURCE ? walk->config->n_layer : 0);
    struct block_weights block;
    if (weights_block(weights, place, cross ? SITE_CROSS_OUT : SITE_ATTN_OUT, &block, err))
        return -1;
    walk->weights = cross ? block.cross : block.self;
    return 0;
}

int walk_take(struct walk *walk, struct viewer *viewer, const struct subject *subject,
              const struct explain_wish *wish, struct arena *arena, struct err *err)
{
    struct model *model = &viewer->model;
    struct config *config = arena_alloc(arena, 1, sizeof *config, err);
    struct report *report = arena_alloc(arena, 1, sizeof *report, err);
    struct selection selection;
    if (!config || !report)
        return -1;
    *config = config_of(&model->config, wish->part);
    *walk = (struct walk){
        .report = report,
        .config = config,
        .part = wish->part,
        .layer = wish->layer,
        .head = wish->head,
        .group = wish->head / (config->n_head / config->n_kv_head),
        .scale = mechanism_scale(config, wish->layer),
        .base_scale = scale_as_it_is(config, wish->layer),
    };
    struct look look = {
        .selection = &selection,
        .subjects = subject,
        .count = 1,
        .reports = report,
    };
    if (select_sites(&selection, config, wish, arena, err) ||
        viewer_look(viewer, &look, arena, err) || find_weights(walk, &model->weights, err))
        return -1;
    find_inputs(walk);
    find_keys(walk);
    if (embed(walk, &model->weights, arena, err))
        return -1;
    walk_turn(walk, wish->query);
    return 0;
}
