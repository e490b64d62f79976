#include "lens/walk.h"

#include <assert.h>

static const enum site sites[] = {SITE_EMBEDDING, SITE_RESID_PRE, SITE_LN_1,    SITE_Q,
                                  SITE_K,         SITE_V,         SITE_SCORES,  SITE_SOFTMAX,
                                  SITE_MASKED,    SITE_WEIGHTS,   SITE_CONTEXT, SITE_ATTN_OUT};

/* The layer, and the one before it, whose output is what bare attention takes in. */
static int select_sites(struct selection *selection, const struct config *config,
                        const struct walk_choice *choice, struct arena *arena, struct err *err)
{
    size_t count = 0;
    size_t *layers = arena_alloc(arena, 2, sizeof *layers, err);
    size_t *head = arena_alloc(arena, 1, sizeof *head, err);
    if (!layers || !head)
        return -1;
    *selection = (struct selection){.heads = head, .head_count = 1};
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (model_has_site(config, sites[i]))
            selection->sites |= site_bit(sites[i]);
    selection->whole = site_bit(SITE_CONTEXT);
    *head = choice->head;
    if (choice->layer > 0)
        layers[count++] = choice->layer - 1;
    layers[count++] = choice->layer;
    selection->layers = (struct layers){layers, count};
    return 0;
}

static const struct kept *find(const struct walk *walk, enum site site, size_t layer)
{
    int number = site_rows[site].in_layer ? (int)layer : -1;
    for (size_t i = 0; i < walk->report.tensor_count; i++)
        if (walk->report.tensors[i].site == site && walk->report.tensors[i].layer == number)
            return &walk->report.tensors[i];
    return NULL;
}

/* The query's row of a tensor of tokens, or of the one head that was kept. */
static const float *row_of(const struct walk *walk, enum site site, size_t layer, size_t *size)
{
    const struct kept *kept = find(walk, site, layer);
    assert(kept);
    *size = kept->shape[kept->rank - 1];
    return kept->data + walk->query * *size;
}

static const float *head_row(const struct walk *walk, enum site site)
{
    size_t size;
    return row_of(walk, site, walk->layer, &size);
}

/* What queries are made of: a normed stream, an embedding, or the output of the layer before. */
static void find_input(struct walk *walk)
{
    size_t *size = &walk->input_size;
    if (walk->config->kind == MODEL_GPT2) {
        walk->stream = row_of(walk, SITE_RESID_PRE, walk->layer, size);
        walk->x = row_of(walk, SITE_LN_1, walk->layer, size);
    } else if (walk->layer == 0) {
        walk->x = row_of(walk, SITE_EMBEDDING, 0, size);
    } else {
        walk->x = row_of(walk, SITE_ATTN_OUT, walk->layer - 1, size);
    }
}

static void find_rows(struct walk *walk)
{
    const struct kept *k = find(walk, SITE_K, walk->layer);
    const struct kept *v = find(walk, SITE_V, walk->layer);
    assert(k && v);
    find_input(walk);
    walk->keys = k->shape[1];
    walk->k = k->data;
    walk->v = v->data;
    walk->q = head_row(walk, SITE_Q);
    walk->scores = head_row(walk, SITE_SCORES);
    if (model_has_site(walk->config, SITE_SOFTMAX))
        walk->softmax = head_row(walk, SITE_SOFTMAX);
    walk->masked = head_row(walk, SITE_MASKED);
    walk->weight = head_row(walk, SITE_WEIGHTS);
    walk->context = walk_context(walk, walk->head);
    walk->out = row_of(walk, SITE_ATTN_OUT, walk->layer, &walk->out_size);
}

const float *walk_context(const struct walk *walk, size_t head)
{
    const struct kept *context = find(walk, SITE_CONTEXT, walk->layer);
    assert(context && head < context->shape[0]);
    return context->data + (head * context->shape[1] + walk->query) * context->shape[2];
}

/* The two embeddings whose sum GPT-2's first layer takes in. */
static int embed(struct walk *walk, const struct weights *weights, struct arena *arena,
                 struct err *err)
{
    size_t channels = walk->config->n_embd;
    if (walk->config->kind != MODEL_GPT2 || walk->layer > 0)
        return 0;
    float *token = arena_alloc(arena, channels, sizeof *token, err);
    float *position = arena_alloc(arena, channels, sizeof *position, err);
    if (!token || !position)
        return -1;
    weights_embed_token(weights, token, walk->report.sentence.tokens[walk->query].id);
    walk->token = token;
    if (mechanism_lacks(&walk->config->mechanism, PART_POSITIONS))
        return 0;
    weights_add_position(weights, position, walk->query);
    walk->position = position;
    return 0;
}

/* Without the temperature. */
static float scale_as_it_is(const struct config *config, size_t layer)
{
    struct config cold = *config;
    cold.mechanism.temperature = 0;
    return mechanism_scale(&cold, layer);
}

int walk_take(struct walk *walk, struct viewer *viewer, const struct subject *subject,
              const struct walk_choice *choice, struct arena *arena, struct err *err)
{
    struct model *model = &viewer->model;
    const struct config *config = &model->config;
    struct selection selection;
    struct block_weights block;
    assert(choice->layer < config->n_layer && choice->head < config->n_head);
    assert(choice->query < subject->sentence.count);
    *walk = (struct walk){
        .config = config,
        .layer = choice->layer,
        .head = choice->head,
        .query = choice->query,
        .group = choice->head / (config->n_head / config->n_kv_head),
        .scale = mechanism_scale(config, choice->layer),
        .base_scale = scale_as_it_is(config, choice->layer),
    };
    struct look look = {
        .selection = &selection,
        .subjects = subject,
        .count = 1,
        .reports = &walk->report,
    };
    if (select_sites(&selection, config, choice, arena, err) ||
        viewer_look(viewer, &look, arena, err) ||
        weights_block(&model->weights, choice->layer, SITE_ATTN_OUT, &block, err))
        return -1;
    walk->weights = block.self;
    find_rows(walk);
    return embed(walk, &model->weights, arena, err);
}
