#include "model/points.h"

#include <assert.h>

#include "base/num.h"
#include "model/mechanism.h"

/* --- the list of a model ---------------------------------------------------------------------- */

struct point_list {
    const struct config *config;
    struct description *made;
    enum site_part part; /* of the next points */
    int layer;
    size_t first; /* point of the layer, or of those outside of layers */
    bool is_out;  /* they are of a sublayer that --without leaves out */
};

/* Add a point of the maker's part, unless no model has it there or the layer has it already. */
static void put(struct point_list *m, enum site id, size_t heads, size_t columns,
                enum point_edit edit)
{
    const enum site site = SITE_OF(m->part, id);
    if (!site_about(site))
        return;
    if (m->is_out) {
        site_set_add(&m->made->left_out, site);
        return;
    }
    for (size_t i = m->first; i < m->made->point_count; i++)
        if (m->made->points[i].site == site)
            return;
    struct model_point *point = &m->made->points[m->made->point_count++];
    *point = (struct model_point){.site = (unsigned short)site,
                                  .layer = (short)(site_row(site)->in_layer ? m->layer : -1),
                                  .edit = (unsigned char)edit,
                                  .heads = (unsigned)heads,
                                  .columns = (unsigned)columns};
}

/* A value [T, C] of the stream, or beside it. */
static void put_rows(struct point_list *m, enum site_part part, enum site id, size_t columns)
{
    m->part = part;
    put(m, id, 1, columns, EDIT_YES);
}

static void attention_points(struct point_list *m, const struct sublayer *s)
{
    const struct config *c = m->config;
    const struct head_rule *r = &s->head;
    const bool borrows = r->borrows && s->part == PART_SENTENCE,
               dense = c->mechanism.kind == ATTENTION_DENSE;
    const enum point_edit q = r->by == HEADS_AS_IS ? EDIT_INPUT : EDIT_YES;
    const enum point_edit keys = q == EDIT_INPUT ? q : borrows ? EDIT_BORROWED : EDIT_YES;
    const enum point_edit map = dense ? EDIT_YES : EDIT_DENSE;
    const size_t all = c->n_embd; /* of maps, which have no columns */
    m->part = s->part;
    if (r->rotary)
        put(m, SITE_Q_PRE, r->heads, r->d_k, EDIT_YES);
    if (r->rotary && !r->borrows)
        put(m, SITE_K_PRE, r->kv_heads, r->d_k, EDIT_YES);
    put(m, SITE_Q, r->heads, r->d_k, q);
    put(m, SITE_K, r->kv_heads, r->d_k, keys);
    put(m, SITE_V, r->kv_heads, r->d_v, keys);
    put(m, SITE_SCORES, r->heads, all, map);
    if (c->mechanism.renormalise)
        put(m, SITE_SOFTMAX, r->heads, all, map);
    put(m, SITE_MASKED, r->heads, all, map);
    put(m, SITE_WEIGHTS, r->heads, all, map);
    if (r->differ > 0)
        put(m, SITE_DIFFERENCE, context_heads(r), all, map);
    if (s->score.sink)
        put(m, SITE_SINK, r->heads, all, EDIT_NOT);
    put(m, SITE_CONTEXT, context_heads(r), context_width(r), EDIT_YES);
    if (r->gate)
        put(m, SITE_GATE, r->heads, r->d_v, EDIT_YES);
    if (r->gate || r->differ > 0)
        put(m, SITE_GATED, 1, r->heads * r->d_v, EDIT_YES);
}

static void mixer_points(struct point_list *m, const struct mixer *r)
{
    const size_t all = m->config->n_embd; /* of maps, which have no columns */
    const bool state = r->update != MIXER_CONVOLVE;
    m->part = PART_MIXER;
    if (state && r->taps && !r->only_v) {
        put(m, SITE_Q_PRE, r->key_heads, r->d_k, EDIT_YES);
        put(m, SITE_K_PRE, r->key_heads, r->d_k, EDIT_YES);
    }
    if (state && r->taps)
        put(m, SITE_V_PRE, r->heads, r->d_v, EDIT_YES);
    if (r->taps)
        put(m, SITE_CONV, 1, mixer_convolved(r), EDIT_YES);
    put(m, SITE_Q, r->key_heads, r->d_k, EDIT_YES);
    put(m, SITE_K, r->key_heads, r->d_k, EDIT_YES);
    put(m, SITE_V, r->heads, r->d_v, EDIT_YES);
    if (state) {
        put(m, SITE_STEP, r->heads, all, EDIT_YES);
        put(m, SITE_DECAY, r->heads, mixer_decays(r), EDIT_YES);
    }
    put(m, SITE_WEIGHTS, r->heads, all, EDIT_FOLLOWS);
    put(m, SITE_MAP_NORM, 1, all, EDIT_FOLLOWS);
    if (state) {
        put(m, SITE_STATE, r->heads, r->d_v, EDIT_FOLLOWS);
        put(m, SITE_STATES, r->heads, r->d_k * r->d_v, EDIT_FOLLOWS);
    }
    put(m, SITE_CONTEXT, r->heads, r->d_v, EDIT_YES);
    if (r->gate)
        put(m, SITE_GATE, r->heads, r->d_v, EDIT_YES);
    if (r->gate || r->out_norm)
        put(m, SITE_GATED, 1, r->heads * r->d_v, EDIT_YES);
}

static void mlp_points(struct point_list *m, const struct sublayer *s)
{
    const struct mixture *mixture = s->mlp.mixture;
    m->part = s->part;
    if (mixture) {
        if (mixture->beside)
            put(m, SITE_LN_EXPERTS, 1, m->config->n_embd, EDIT_YES);
        put(m, SITE_ROUTER, 1, mixture->experts, EDIT_YES);
        put(m, SITE_EXPERT_WEIGHTS, 1, mixture->experts, EDIT_YES);
        if (mixture->shared_inner)
            put(m, SITE_SHARED_OUT, 1, m->config->n_embd, EDIT_YES);
        return;
    }
    if (s->mlp.gated) {
        put(m, SITE_MLP_GATE, 1, s->mlp.inner, EDIT_YES);
        put(m, SITE_MLP_UP, 1, s->mlp.inner, EDIT_YES);
    }
    put(m, SITE_MLP_ACT, 1, s->mlp.inner, EDIT_YES);
}

/* The values of a sublayer, from its norm to the sums after it. */
static void sublayer_points(struct point_list *m, const struct sublayer *s)
{
    const size_t width = m->config->n_embd;
    const bool attends = s->kind <= SUBLAYER_ATTEND_SOURCE && s->part == PART_SENTENCE;
    if (s->at_input)
        put_rows(m, sublayer_outside(s), s->at_input, width);
    if (s->kind == SUBLAYER_MIX)
        mixer_points(m, s->mixer);
    else if (s->kind == SUBLAYER_MLP)
        mlp_points(m, s);
    else
        attention_points(m, s);
    put_rows(m, s->part, s->at_out, attends ? config_out_width(m->config) : width);
    if (s->at_out_norm)
        put_rows(m, sublayer_outside(s), s->at_out_norm, width);
    for (size_t i = 0; i < 3; i++)
        if (s->at_sum[i])
            put_rows(m, sublayer_stream_part(s, s->at_sum[i]), s->at_sum[i], width);
    for (size_t i = 0; i < 3; i++)
        if (s->at_after[i])
            put_rows(m, sublayer_stream_part(s, s->at_after[i]), s->at_after[i], width);
}

static struct layer_points *of_layer(const struct config *c, struct description *made,
                                     enum site_part part, size_t layer)
{
    return &made->of_layer[part == PART_SOURCE ? c->n_layer + layer : layer];
}

static void layer_points(struct point_list *m, enum site_part stack, size_t index)
{
    const struct config *c = m->config;
    const struct layer *layer = layer_of(c, stack, index);
    const size_t copies = stack == PART_SENTENCE ? c->copies.count : 0;
    struct layer_points *own = of_layer(c, m->made, stack, index);
    own->first = (unsigned)(m->first = m->made->point_count);
    m->layer = (int)index;
    m->part = stack;
    if (copies)
        put(m, SITE_PREDICTED, copies, c->n_embd, EDIT_YES);
    if (c->style != STYLE_BARE)
        put(m, SITE_RESID_PRE, 1, c->n_embd, EDIT_YES);
    for (size_t i = 0; i < layer->all; i++) {
        m->is_out = i >= layer->count;
        sublayer_points(m, &layer->sublayers[i]);
        m->is_out = false;
        if (copies && layer->sublayers[i].corrects) {
            m->part = stack;
            put(m, SITE_CORRECTED, copies, c->n_embd, EDIT_YES);
        }
    }
    m->part = stack;
    if (copies) {
        put(m, SITE_STREAMS, copies, c->n_embd, EDIT_YES);
        put(m, SITE_MERGED, 1, c->n_embd, EDIT_STREAMS);
    }
    own->end = (unsigned)m->made->point_count;
}

/* The values of lens/effective.c and measure/gradients.c, of layers with attention. */
static void effective_points(struct point_list *m, enum site_part part, size_t index)
{
    const struct config *c = m->config;
    const struct sublayer *s = attention_of(c, part, index);
    const bool chains = !c->cross && !c->mixer.heads;
    static const enum site of_all[] = {SITE_ENTROPY, SITE_ENTROPY_SHARE, SITE_ATTENTION_GRADIENT,
                                       SITE_MASK, SITE_VISIBLE};
    if (!s)
        return;
    m->part = part;
    m->layer = (int)index;
    const size_t heads = s->head.heads, contexts = context_heads(&s->head), all = c->n_embd;
    if (part == PART_SENTENCE) {
        put(m, SITE_VALUE_WEIGHTED, contexts, all, EDIT_NOT);
        if (!c->head_gate)
            put(m, SITE_NORM_WEIGHTED, contexts, all, EDIT_NOT);
        if (chains && !(c->given || c->copies.count))
            put(m, SITE_VALUE_ZEROING, 1, all, EDIT_NOT);
        if (chains)
            put(m, SITE_ROLLOUT, 1, all, EDIT_NOT);
    }
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++)
        if (of_all[i] != SITE_ATTENTION_GRADIENT || point_any(c, SITE_LOGITS))
            put(m, of_all[i], heads, all, EDIT_NOT);
}

/* All layers with attention have as many heads: they share the effective points of the first. */
static void stack_effective(struct point_list *m, enum site_part part)
{
    const struct layer_points *first = NULL;
    for (size_t i = 0; i < stack_of(m->config, part)->layers; i++) {
        struct layer_points *own = of_layer(m->config, m->made, part, i);
        own->effective = own->effective_end = 0;
        if (!attention_of(m->config, part, i))
            continue;
        if (first) {
            own->effective = first->effective;
            own->effective_end = first->effective_end;
            continue;
        }
        first = own;
        own->effective = (unsigned)(m->first = m->made->point_count);
        effective_points(m, part, i);
        if (part == PART_SENTENCE)
            effective_points(m, PART_CROSS, i);
        own->effective_end = (unsigned)m->made->point_count;
    }
}

/* The layers of a stack, and the norm after them. */
static void stack_points(struct point_list *m, const struct stack *stack)
{
    for (size_t i = 0; i < stack->layers; i++)
        layer_points(m, stack->part, i);
    m->first = m->made->point_count;
    if (stack->unembed.norm)
        put_rows(m, stack->part, SITE_LN_F, stack->width);
}

size_t points_of_layer(const struct config *c)
{
    enum { OF_TEXT = 19, OF_GATES = 4, OF_CROSS = 12, OF_MIXER = 18, OF_MIXTURE = 4, OF_MORE = 6 };
    const bool gates = c->head_gate || c->differs || c->sinks;
    return OF_TEXT + 2U * config_rotates(c) + 2U * c->gated + gates * OF_GATES +
           (c->n_encoder_layer > 0) * OF_CROSS + (c->mixer.heads > 0) * OF_MIXER +
           (c->mixture.experts > 0) * OF_MIXTURE + (c->given > 0) * OF_MORE +
           (c->copies.count > 0) * OF_MORE + (c->laurel > 0) * OF_MORE;
}

void points_make(const struct config *config, struct description *made)
{
    struct point_list m = {.config = config, .made = made};
    const struct unembed_rule *end = &made->text.unembed;
    made->point_count = 0;
    made->left_out = (struct site_set){{0}};
    const size_t words =
        end->at_dense == SITE_TRANSFORM ? config_word_width(config) : config->n_embd;
    put_rows(&m, PART_SENTENCE, SITE_EMBEDDING, config->n_embd);
    if (config->cross)
        put_rows(&m, PART_SOURCE, SITE_EMBEDDING, config->n_embd);
    stack_points(&m, &made->source);
    stack_points(&m, &made->text);
    if (end->at_dense)
        put_rows(&m, PART_SENTENCE, end->at_dense, words);
    if (end->at_result)
        put_rows(&m, PART_SENTENCE, end->at_result,
                 end->at_result == SITE_LOGITS ? made->text.embed.rows : 1);
    made->pass_count = made->point_count;
    for (enum site_part part = 0; part <= PART_SOURCE; part++)
        stack_effective(&m, part);
    assert(made->point_count <= config_layers(config) * points_of_layer(config) + POINTS_OUTSIDE);
}

/* --- readers ---------------------------------------------------------------------------------- */

enum { OUTSIDE_MOST = 8 }; /* neighbours outside of layers */

/* The point of a site in a range of the list. */
static const struct model_point *find_in(const struct description *made, enum site site,
                                         size_t first, size_t end)
{
    for (const struct model_point *p = made->points + first; p < made->points + end; p++)
        if (p->site == site)
            return p;
    return NULL;
}

const struct model_point *point_find(const struct config *config, enum site site, size_t layer)
{
    struct description *made = config->description;
    const enum site_part part = site_part(site);
    const bool in_layer = site_row(site)->in_layer;
    if (in_layer && layer >= stack_of(config, part)->layers)
        return NULL;
    if (!in_layer) { /* before the first layer, after those of a stack */
        const size_t layers[] = {made->text.layers, made->source.layers};
        const bool of_source = part == PART_SOURCE && site != SITE_OF(PART_SOURCE, SITE_EMBEDDING);
        const size_t last = of_source || !layers[0] ? layers[0] + layers[1] : layers[0];
        const bool ahead = site_id(site) == SITE_EMBEDDING || !last;
        const size_t first = ahead ? 0 : made->of_layer[last - 1].end;
        return find_in(made, site, first, num_min(first + OUTSIDE_MOST, made->pass_count));
    }
    const struct layer_points *own = of_layer(config, made, part, layer);
    return site_is_effective(site) ? find_in(made, site, own->effective, own->effective_end)
                                   : find_in(made, site, own->first, own->end);
}

const struct model_point *point_any(const struct config *config, enum site site)
{
    const struct model_point *found = NULL;
    const size_t layers = site_layers(config, site);
    for (size_t i = 0; !found && i < layers; i++)
        found = point_find(config, site, i);
    return found;
}

size_t site_layers(const struct config *config, enum site site)
{
    if (!site_row(site)->in_layer)
        return 1;
    return stack_of(config, site_part(site))->layers;
}

enum site site_of_output(const struct config *config)
{
    const struct layer *first = layer_of(config, PART_SENTENCE, 0);
    enum site end = sublayer_end(&first->sublayers[first->count - 1]);
    return config->copies.count ? SITE_MERGED : end == SITE_LN_2 ? SITE_LN_2 : SITE_RESID_POST;
}

enum site site_of_logits(const struct config *config)
{
    return config->final_norm ? SITE_LN_F : site_of_output(config);
}

/* The point of a site in a layer, else in another; NULL: the model has none. */
static const struct model_point *like(const struct config *config, enum site site, size_t layer)
{
    const struct model_point *own = point_find(config, site, layer);
    return own ? own : point_any(config, site);
}

size_t site_heads(const struct config *config, enum site site, size_t layer)
{
    const struct model_point *point = like(config, site, layer);
    return point ? point->heads : 1;
}

size_t site_columns(const struct config *config, enum site site, size_t layer)
{
    const struct model_point *point = like(config, site, layer);
    return point ? point->columns : 0;
}

size_t site_shared_by(const struct config *config, enum site site, size_t layer)
{
    const struct model_point *point = like(config, site, layer);
    const struct model_point *map = like(config, SITE_OF(site_part(site), SITE_WEIGHTS), layer);
    const bool is_shared = point && map && site_axes(site) == AXES_GROUP_TOKEN_DIM;
    return is_shared ? map->heads / point->heads : 1;
}

void site_most(size_t *heads, size_t *columns, const struct config *config, enum site site)
{
    *heads = *columns = 0;
    for (size_t layer = 0; layer < site_layers(config, site); layer++) {
        const struct model_point *point = point_find(config, site, layer);
        *heads = num_max(*heads, point ? point->heads : 0);
        *columns = num_max(*columns, point ? point->columns : 0);
    }
}

bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source)
{
    enum site_part part = site_part(site);
    size_t columns, most;
    site_most(&most, &columns, config, site);
    bool all = part == PART_MIXER && heads >= config->n_head; /* mixers may have more heads */
    bool at_itself = has_encoder(config) && part == PART_SENTENCE;
    const struct site_extent extent = {.heads = all ? most : num_min(heads, most),
                                       .copies = config->copies.count,
                                       .queries = part == PART_SOURCE ? source : tokens,
                                       .keys = at_itself || !config->cross ? tokens : source,
                                       .rows = config->mixer.d_k,
                                       .columns = columns};
    return site_cells(count, site, &extent);
}

/* Points have even numbers; sites that a layer lacks, those between. */
size_t site_order(const struct config *config, enum site site, size_t layer)
{
    const struct description *made = config->description;
    const struct model_point *point = point_find(config, site, layer);
    if (point)
        return 2 * (size_t)(point - made->points) + 2;
    for (enum site next = site_next(site); next != SITE_END && !point; next = site_next(next))
        if (site_row(next)->in_layer == site_row(site)->in_layer)
            point = point_find(config, next, layer);
    return point ? 2 * (size_t)(point - made->points) + 1 : 2 * made->pass_count + 1;
}
