#include "model/points.h"

#include <assert.h>

#include "base/memory.h"
#include "base/num.h"
#include "model/mechanism.h"

/* --- the list of a model ---------------------------------------------------------------------- */

/* The state while a model's sublayers are visited, to list their points or only to count them. */
struct point_list {
    const struct config *config;
    struct description *made;
    struct model_point *points; /* NULL: points are only counted */
    size_t count;
    enum site_branch branch; /* the branch of the points that are added next */
    int layer;
    struct site_set own; /* the sites that were already added in this layer, or outside of layers */
    bool is_out;         /* the next points belong to a sublayer that --without leaves out */
};

/* Add a point in the branch and layer of the list. Nothing is added if the site does not exist in
 * this branch or was already added in this layer. If m->is_out the site is only added to
 * made->left_out. */
static void add(struct point_list *m, enum site id, struct model_point point)
{
    const enum site site = SITE_OF(m->branch, id);
    if (!site_about(site))
        return;
    if (m->is_out) {
        site_set_add(&m->made->left_out, site);
        return;
    }
    if (site_set_has(m->own, site))
        return;
    site_set_add(&m->own, site);
    if (!site_set_has(m->made->sites, site))
        m->made->first_point[site] = (unsigned)m->count;
    site_set_add(&m->made->sites, site);
    point.site = (unsigned short)site;
    point.layer = (short)(site_row(site)->in_layer ? m->layer : -1);
    if (m->points)
        m->points[m->count] = point;
    m->count++;
}

/* Add a point without a gradient. */
static void put_unreached(struct point_list *m, enum site id, size_t heads, size_t columns,
                          enum point_edit edit)
{
    add(m, id,
        (struct model_point){
            .edit = (unsigned char)edit, .heads = (unsigned)heads, .columns = (unsigned)columns});
}

/* Add a point with a gradient. In mixers, and in models that are attention alone, it has none,
 * because no gradients are computed there. */
static void put(struct point_list *m, enum site id, size_t heads, size_t columns,
                enum point_edit edit)
{
    const bool walks = m->branch != BRANCH_MIXER && m->config->style != STYLE_BARE;
    add(m, id,
        (struct model_point){.edit = (unsigned char)edit,
                             .gradient = walks,
                             .heads = (unsigned)heads,
                             .columns = (unsigned)columns});
}

/* Add a point with the axes [T, columns] and no heads, such as one of the stream, in a branch. */
static void put_rows(struct point_list *m, enum site_branch branch, enum site id, size_t columns)
{
    m->branch = branch;
    put(m, id, 1, columns, EDIT_YES);
}

static void attention_points(struct point_list *m, const struct sublayer *s)
{
    const struct config *c = m->config;
    const struct head_rule *r = &s->head;
    const bool borrows = r->borrows && s->branch == BRANCH_TEXT,
               dense = c->mechanism.kind == ATTENTION_DENSE;
    const enum point_edit q = r->by == HEADS_AS_IS ? EDIT_INPUT : EDIT_YES;
    const enum point_edit keys = q == EDIT_INPUT ? q : borrows ? EDIT_BORROWED : EDIT_YES;
    const enum point_edit map = dense ? EDIT_YES : EDIT_DENSE;
    const size_t all = c->n_embd; /* placeholder for the columns of maps, whose number depends on
                                   * the text */
    m->branch = s->branch;
    if (r->rotary)
        put(m, SITE_Q_PRE, r->heads, r->d_k, EDIT_YES);
    if (r->rotary && !r->borrows)
        put(m, SITE_K_PRE, r->kv_heads, r->d_k, EDIT_YES);
    put(m, SITE_Q, r->heads, r->d_k, q);
    put(m, SITE_K, r->kv_heads, r->d_k, keys);
    put(m, SITE_V, r->kv_heads, r->d_v, keys);
    put(m, SITE_SCORES, r->heads, all, map);
    if (c->mechanism.renormalise)
        put_unreached(m, SITE_SOFTMAX, r->heads, all, map);
    put(m, SITE_MASKED, r->heads, all, map);
    put(m, SITE_WEIGHTS, r->heads, all, map);
    if (r->differ > 0)
        put(m, SITE_DIFFERENCE, context_heads(r), all, map);
    if (s->score.sink)
        put(m, SITE_SINK, r->heads, all, EDIT_NOT);
    put(m, SITE_CONTEXT, context_heads(r), context_width(r), EDIT_YES);
    if (r->gate)
        put_unreached(m, SITE_GATE, r->heads, r->d_v, EDIT_YES);
    if (r->gate || r->differ > 0)
        put(m, SITE_GATED, 1, r->heads * r->d_v, EDIT_YES);
}

static void mixer_points(struct point_list *m, const struct mixer *r)
{
    const size_t all = m->config->n_embd; /* placeholder for the columns of maps, whose number
                                           * depends on the text */
    const bool state = r->update != MIXER_CONVOLVE;
    m->branch = BRANCH_MIXER;
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
    m->branch = s->branch;
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

/* Add the points of a sublayer, from its norm to the sums after it. */
static void sublayer_points(struct point_list *m, const struct sublayer *s)
{
    const size_t width = m->config->n_embd;
    const bool attends = s->kind <= SUBLAYER_ATTEND_SOURCE && s->branch == BRANCH_TEXT;
    m->branch = sublayer_outside(s);
    if (s->at_input)
        put(m, s->at_input, 1, width, EDIT_YES);
    if (s->kind == SUBLAYER_MIX)
        mixer_points(m, s->mixer);
    else if (s->kind == SUBLAYER_MLP)
        mlp_points(m, s);
    else
        attention_points(m, s);
    put_rows(m, s->branch, s->at_out, attends ? config_out_width(m->config) : width);
    if (s->at_out_norm)
        put_rows(m, sublayer_outside(s), s->at_out_norm, width);
    for (size_t i = 0; i < 3; i++)
        if (s->at_sum[i])
            put_rows(m, sublayer_stream_branch(s, s->at_sum[i]), s->at_sum[i], width);
    for (size_t i = 0; i < 3; i++)
        if (s->at_after[i])
            put_rows(m, sublayer_stream_branch(s, s->at_after[i]), s->at_after[i], width);
}

static struct layer_points *of_layer(const struct config *c, struct description *made,
                                     enum site_branch branch, size_t layer)
{
    return &made->of_layer[branch == BRANCH_SOURCE ? c->n_layer + layer : layer];
}

static void layer_points(struct point_list *m, enum site_branch stack, size_t index)
{
    const struct config *c = m->config;
    const struct layer *layer = layer_of(c, stack, index);
    const size_t copies = stack == BRANCH_TEXT ? c->copies.count : 0;
    struct layer_points *own = of_layer(c, m->made, stack, index);
    own->first = (unsigned)m->count;
    m->own = (struct site_set){0};
    m->layer = (int)index;
    m->branch = stack;
    if (copies)
        put(m, SITE_PREDICTED, copies, c->n_embd, EDIT_YES);
    if (c->style != STYLE_BARE)
        put(m, SITE_RESID_PRE, 1, c->n_embd, EDIT_YES);
    for (size_t i = 0; i < layer->all; i++) {
        m->is_out = i >= layer->count;
        sublayer_points(m, &layer->sublayers[i]);
        m->is_out = false;
        if (copies && layer->sublayers[i].corrects) {
            m->branch = stack;
            put(m, SITE_CORRECTED, copies, c->n_embd, EDIT_YES);
        }
    }
    m->branch = stack;
    if (copies) {
        put(m, SITE_STREAMS, copies, c->n_embd, EDIT_YES);
        put(m, SITE_MERGED, 1, c->n_embd, EDIT_STREAMS);
    }
    own->end = (unsigned)m->count;
}

/* Add the effective points of a layer's attention: the values that lens/effective.c and
 * measure/gradients.c compute. */
static void effective_points(struct point_list *m, enum site_branch branch, size_t index)
{
    const struct config *c = m->config;
    const struct sublayer *s = attention_of(c, branch, index);
    const bool chains = !c->cross && !c->mixer.heads;
    static const enum site of_all[] = {SITE_ENTROPY, SITE_ENTROPY_SHARE, SITE_ATTENTION_GRADIENT,
                                       SITE_MASK, SITE_VISIBLE};
    if (!s)
        return;
    m->branch = branch;
    m->layer = (int)index;
    const size_t heads = s->head.heads, contexts = context_heads(&s->head), all = c->n_embd;
    if (branch == BRANCH_TEXT) {
        put_unreached(m, SITE_VALUE_WEIGHTED, contexts, all, EDIT_NOT);
        if (!c->head_gate)
            put_unreached(m, SITE_NORM_WEIGHTED, contexts, all, EDIT_NOT);
        if (chains && !(c->given || c->copies.count))
            put_unreached(m, SITE_VALUE_ZEROING, 1, all, EDIT_NOT);
        if (chains)
            put_unreached(m, SITE_ROLLOUT, 1, all, EDIT_NOT);
    }
    for (size_t i = 0; i < sizeof of_all / sizeof *of_all; i++)
        if (of_all[i] != SITE_ATTENTION_GRADIENT || site_exists(c, SITE_LOGITS))
            put_unreached(m, of_all[i], heads, all, EDIT_NOT);
}

/* Add the effective points of a stack once for all its layers, since all layers with attention have
 * the same number of heads. The points are made from the first layer with attention. */
static void stack_effective(struct point_list *m, enum site_branch branch)
{
    const size_t layers = stack_of(m->config, branch)->layers;
    size_t first = 0;
    while (first < layers && !attention_of(m->config, branch, first))
        first++;
    if (first == layers)
        return;
    m->own = (struct site_set){0};
    effective_points(m, branch, first);
    if (branch == BRANCH_TEXT)
        effective_points(m, BRANCH_CROSS, first);
}

/* Add the points of a stack's layers, and of the norm after them. */
static void stack_points(struct point_list *m, const struct stack *stack)
{
    for (size_t i = 0; i < stack->layers; i++)
        layer_points(m, stack->branch, i);
    m->own = (struct site_set){0};
    if (stack->unembed.norm)
        put_rows(m, stack->branch, SITE_LN_F, stack->width);
}

static void model_points(struct point_list *m)
{
    const struct config *c = m->config;
    const struct unembed_rule *end = &m->made->text.unembed;
    const size_t words = end->at_dense == SITE_TRANSFORM ? config_word_width(c) : c->n_embd;
    m->made->sites = m->made->left_out = (struct site_set){0};
    put_rows(m, BRANCH_TEXT, SITE_EMBEDDING, c->n_embd);
    if (c->cross)
        put_rows(m, BRANCH_SOURCE, SITE_EMBEDDING, c->n_embd);
    stack_points(m, &m->made->source);
    stack_points(m, &m->made->text);
    m->branch = BRANCH_TEXT;
    if (end->at_dense)
        put(m, end->at_dense, 1, words, EDIT_YES);
    if (end->at_result == SITE_LOGITS)
        put(m, SITE_LOGITS, 1, m->made->text.embed.rows, EDIT_YES);
    else if (end->at_result)
        put_unreached(m, end->at_result, 1, 1, EDIT_YES);
    m->made->pass_count = m->count;
    m->made->pass_sites = m->made->sites;
    for (enum site_branch branch = 0; branch <= BRANCH_SOURCE; branch++)
        stack_effective(m, branch);
    m->made->point_count = m->count;
}

int points_make(const struct config *config, struct description *made, struct err *err)
{
    struct point_list counted = {.config = config, .made = made};
    model_points(&counted);
    if (counted.count > made->point_room) {
        void *room = heap_resize(made->points, counted.count, sizeof *made->points, err);
        if (!room) {
            made->sites = made->pass_sites = (struct site_set){0};
            made->point_count = made->pass_count = 0;
            return -1;
        }
        made->points = room;
        made->point_room = counted.count;
    }
    struct point_list listed = {.config = config, .made = made, .points = made->points};
    model_points(&listed);
    assert(listed.count == counted.count);
    return 0;
}

/* --- readers ---------------------------------------------------------------------------------- */

const struct model_point *point_any(const struct config *config, enum site site)
{
    const struct description *made = config->description;
    return site_set_has(made->sites, site) ? made->points + made->first_point[site] : NULL;
}

const struct model_point *point_find(const struct config *config, enum site site, size_t layer)
{
    struct description *made = config->description;
    const struct model_point *any = point_any(config, site);
    const enum site_branch branch = site_branch(site);
    if (!any || !site_row(site)->in_layer)
        return any;
    if (layer >= stack_of(config, branch)->layers)
        return NULL;
    if (site_is_effective(site))
        return attention_of(config, branch, layer) ? any : NULL;
    const struct layer_points *own = of_layer(config, made, branch, layer);
    const struct layer_points *first = of_layer(config, made, branch, (size_t)any->layer);
    /* most layers have the same sites: first try the same offset from the layer's first point as in
     * the first layer that has the site */
    size_t at = own->first + made->first_point[site] - first->first;
    if (at < own->end && made->points[at].site == site)
        return &made->points[at];
    for (at = own->first; at < own->end; at++)
        if (made->points[at].site == site)
            return &made->points[at];
    return NULL;
}

size_t site_layers(const struct config *config, enum site site)
{
    if (!site_row(site)->in_layer)
        return 1;
    return stack_of(config, site_branch(site))->layers;
}

enum site site_of_output(const struct config *config)
{
    const struct layer *first = layer_of(config, BRANCH_TEXT, 0);
    enum site end = sublayer_end(&first->sublayers[first->count - 1]);
    return config->copies.count ? SITE_MERGED : end == SITE_LN_2 ? SITE_LN_2 : SITE_RESID_POST;
}

enum site site_of_logits(const struct config *config)
{
    return config->final_norm ? SITE_LN_F : site_of_output(config);
}

/* The point of a site in a layer; if the layer lacks the site, the point in the first layer that
 * has it; NULL: the model lacks the site. */
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
    const struct model_point *map = like(config, SITE_OF(site_branch(site), SITE_WEIGHTS), layer);
    const bool is_shared = point && map && site_axes(site) == AXES_KV_HEAD_TOKEN_DIM;
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
    enum site_branch branch = site_branch(site);
    size_t columns, most;
    site_most(&most, &columns, config, site);
    /* a mixer may have more heads than attention: if all heads are asked for, all heads of the
     * mixer are meant */
    bool all = branch == BRANCH_MIXER && heads >= config->n_head;
    bool at_itself = has_encoder(config) && branch == BRANCH_TEXT;
    const struct site_extent extent = {.heads = all ? most : num_min(heads, most),
                                       .copies = config->copies.count,
                                       .queries = branch == BRANCH_SOURCE ? source : tokens,
                                       .keys = at_itself || !config->cross ? tokens : source,
                                       .rows = config->mixer.d_k,
                                       .columns = columns};
    return site_cells(count, site, &extent);
}

/* The key of a point is even. A site that the layer lacks has an odd key, just below the key of the
 * next site that the layer has. */
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
