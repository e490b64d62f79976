#include "lens/viewer.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/portable_math.h"
#include "math/rows.h"
#include "model/config.h"
#include "pass/pass.h"
#include "model/points.h"
#include "model/score_rule.h"
#include "pass/tap.h"

/* The tensors of a layer that are kept to compute effective sites, such as rollout. */
enum ingredient { HELD_STREAM, HELD_VALUES, HELD_WEIGHTS, HELD_CONTEXT, INGREDIENTS };

/* Return the site of the map that multiplies the values: the attention weights or, if two heads
 * make one context, the differences of their weights. */
static enum site map_of(const struct config *config)
{
    return context_map(stack_head(config, BRANCH_TEXT, 0));
}

static bool pairs_heads(const struct config *config)
{
    return stack_head(config, BRANCH_TEXT, 0)->differ > 0;
}

/* The state of one text during its pass. */
struct held_text {
    float *held[INGREDIENTS]; /* copies of the current layer's tensors, contiguous */
    size_t room[INGREDIENTS]; /* number of floats allocated for each of `held`; layers may differ */
    size_t queries, keys;
    double *rollout; /* [T, T] rollout of the layers so far; NULL: no layer yet */
};

struct effective {
    const struct selection *selection;
    const struct run *run;
    struct tap next;
    struct held_text *texts;
    size_t rollout_layers;
    struct arena *arena;   /* memory of the pass */
    struct arena *scratch; /* memory for computing one site */
};

static bool is_selected(const struct effective *e, enum site site, int layer)
{
    struct layers layers = selection_layers_of(e->selection, site);
    bool found = layer < 0;
    for (size_t i = 0; i < layers.count; i++)
        found |= layers.items[i] == (size_t)layer;
    return site_set_has(e->selection->sites, site) && found;
}

/* Pass contiguous values to the caller's tap, as the tensor `site` of the text and layer of
 * `like`. */
static int show(const struct effective *e, const struct announcement *like, enum site site,
                const float *values, struct err *err)
{
    const struct held_text *text = &e->texts[like->text];
    const size_t heads = site_heads(e->run->config, site, (size_t)like->layer);
    const size_t shape[] = {heads, text->queries, text->keys};
    bool has_heads = site_has_heads(site);
    struct announcement made = {.site = site, .layer = like->layer, .text = like->text};
    made.values = tensor_dense(values, has_heads ? 3 : 2, has_heads ? shape : shape + 1);
    return e->next.sink(e->next.context, &made, err);
}

/* Pass a float64 matrix [T, T] to the caller's tap, as float32. */
static int show_square(const struct effective *e, const struct announcement *like, enum site site,
                       const double *square, struct err *err)
{
    size_t cells = e->texts[like->text].keys * e->texts[like->text].keys;
    float *values = arena_room(e->scratch, cells, sizeof *values, err);
    for (size_t i = 0; values && i < cells; i++)
        values[i] = (float)square[i];
    return values ? show(e, like, site, values, err) : -1;
}

static const struct head_rule *heads_of(const struct effective *e, const struct announcement *of)
{
    return stack_head(e->run->config, BRANCH_TEXT, (size_t)of->layer);
}

/* Return the values [keys, context_width] that the weights of a head multiply. */
static const float *values_of(const struct held_text *text, const struct head_rule *rule,
                              size_t head)
{
    return text->held[HELD_VALUES] + kv_head_of(rule, head) * text->keys * context_width(rule);
}

/* --- weights times norms of values ------------------------------------------------------------ */

/* Set `factors` [queries] to the factor by which the norm of contexts multiplies a head's context
 * at each query, without the norm's scale. */
static int scale_queries(double *factors, const struct effective *e,
                         const struct announcement *announced, size_t head, struct err *err)
{
    const struct held_text *text = &e->texts[announced->text];
    const size_t width = context_width(heads_of(e, announced)), layer = (size_t)announced->layer;
    struct norm norm;
    if (weights_norm(e->run->weights, slot_of(BRANCH_TEXT, SLOT_CONTEXT_NORM, layer), &norm, err))
        return -1;
    for (size_t i = 0; i < text->queries; i++) {
        const float *x = text->held[HELD_CONTEXT] + (head * text->queries + i) * width;
        factors[i] = (1 + (double)norm.offset) /
                     sqrt(dot_rows(x, x, width) / (double)width + (double)norm.epsilon);
    }
    return 0;
}

/* Compute |a| · ‖v W_O‖, which equals ‖a v W_O‖; for value_weighted, or without W_O, compute |a| ·
 * ‖v‖. A norm of the context is treated as a constant factor for each query. */
static int make_weighted(const struct effective *e, const struct announcement *announced,
                         enum site site, struct err *err)
{
    const struct config *c = e->run->config;
    const struct head_rule *rule = heads_of(e, announced);
    const size_t d_v = context_width(rule), heads = context_heads(rule);
    const struct held_text *text = &e->texts[announced->text];
    size_t keys = text->keys, cells = text->queries * keys;
    struct weight out;
    bool has_out = site == SITE_NORM_WEIGHTED && c->out_proj;
    bool is_normed = has_out && rule->differ > 0 && !mechanism_lacks(&c->mechanism, BLOCK_NORM);
    size_t width = has_out ? config_out_width(c) : d_v;
    double *lengths = arena_alloc(e->scratch, keys, sizeof *lengths, err);
    double *factors = arena_alloc(e->scratch, text->queries, sizeof *factors, err);
    float *values = arena_room(e->scratch, heads * cells, sizeof *values, err);
    float *rows = arena_room(e->scratch, d_v * width, sizeof *rows, err);
    float *products = arena_room(e->scratch, keys * width, sizeof *products, err);
    if (!lengths || !factors || !values || !rows || !products ||
        (has_out &&
         weights_matrix(e->run->weights, slot_of(BRANCH_TEXT, SLOT_O, (size_t)announced->layer),
                        &out, err)))
        return -1;
    for (size_t head = 0; head < heads; head++) {
        struct matrix v = {(float *)values_of(text, rule, head), keys, d_v, d_v};
        struct matrix y = v;
        if (has_out) {
            struct weight of_head = {.data = rows, .in = d_v, .out = width, .stride = width};
            y = (struct matrix){products, keys, width, width};
            weight_copy(rows, width, &out, (struct weight_piece){head * d_v, d_v, 0});
            linear(e->run->machine, y, v, &of_head, ACTIVATION_NONE);
        }
        for (size_t i = 0; i < text->queries; i++)
            factors[i] = 1;
        if (is_normed && scale_queries(factors, e, announced, head, err))
            return -1;
        for (size_t key = 0; key < keys; key++)
            lengths[key] = sqrt(dot_rows(matrix_row(y, key), matrix_row(y, key), width));
        for (size_t i = 0; i < cells; i++) {
            double weight = (double)text->held[HELD_WEIGHTS][head * cells + i];
            values[head * cells + i] =
                (float)(fabs(weight) * lengths[i % keys] * factors[i / keys]);
        }
    }
    return show(e, announced, site, values, err);
}

/* --- attention rollout ------------------------------------------------------------------------ */

/* Multiply the rollout of the layers below by this layer's matrix, and pass the product to the
 * caller's tap if it is selected. The matrix is (A + I) / 2 or, without a residual stream, A, where
 * A is the mean of the attention weights over heads, and I the identity. */
static int make_rollout(const struct effective *e, const struct announcement *announced,
                        enum site site, struct err *err)
{
    const struct config *c = e->run->config;
    bool stream = c->kind != MODEL_ATTENTION && !mechanism_lacks(&c->mechanism, BLOCK_RESIDUAL);
    struct held_text *text = &e->texts[announced->text];
    size_t width = text->keys, heads = context_heads(heads_of(e, announced));
    size_t cells = width * width;
    double *mixed = arena_room(e->scratch, cells, sizeof *mixed, err);
    double *y = arena_alloc(e->scratch, cells, sizeof *y, err);
    if (!text->rollout)
        text->rollout = arena_room(e->arena, cells, sizeof *text->rollout, err);
    if (!mixed || !y || !text->rollout)
        return -1;
    for (size_t i = 0; i < cells; i++) {
        double sum = 0;
        for (size_t head = 0; head < heads; head++)
            sum += (double)text->held[HELD_WEIGHTS][head * cells + i];
        double mean = sum / (double)heads;
        mixed[i] = stream ? (mean + (i / width == i % width)) / 2 : mean;
    }
    for (size_t i = 0; announced->layer > 0 && i < width; i++)
        for (size_t k = 0; k < width; k++)
            for (size_t j = 0; j < width && mixed[i * width + k] != 0; j++)
                y[i * width + j] += mixed[i * width + k] * text->rollout[k * width + j];
    memcpy(text->rollout, announced->layer > 0 ? y : mixed, cells * sizeof *y);
    return is_selected(e, site, announced->layer)
               ? show_square(e, announced, site, text->rollout, err)
               : 0;
}

/* --- value zeroing: change of a layer's output without the values of a token ------------------ */

/* Return 1 - cosine; 1 if exactly one row is zero. Equal rows, which edits may produce, give
 * exactly 0. */
static double cosine_distance(const float *a, const float *b, size_t count)
{
    double length_a = sqrt(dot_rows(a, a, count)), length_b = sqrt(dot_rows(b, b, count));
    double lengths = length_a * length_b;
    if (memcmp(a, b, count * sizeof *a) == 0)
        return 0;
    return lengths > 0 ? fmax(1 - dot_rows(a, b, count) / lengths, 0) : length_a != length_b;
}

/* Set `distances` [keys] to how much the layer's output at a query changes if the values of a key
 * are left out. Row `key` of the context [keys + 1, H · dv] leaves out the values of that key; the
 * last row is complete. */
static int measure_query(double *distances, const struct effective *e,
                         const struct announcement *announced, size_t query, struct err *err)
{
    const struct run *run = e->run;
    const struct config *c = run->config;
    const struct head_rule *rule = heads_of(e, announced);
    const size_t d_v = context_width(rule), heads = context_heads(rule);
    const struct held_text *text = &e->texts[announced->text];
    const struct edit_token token = {run->batch->first + announced->text, query,
                                     batch_prompt(run->batch, announced->text),
                                     run->batch->texts[announced->text].grows};
    const struct sublayer *own = attention_of(c, BRANCH_TEXT, (size_t)announced->layer);
    size_t keys = score_visible(&own->score, query, text->keys).end;
    size_t width = config_out_width(c);
    struct arena arena = {0};
    struct matrix x = {NULL, keys + 1, width, width};
    struct matrix context = {NULL, keys + 1, heads * d_v, heads * d_v};
    x.data = arena_alloc(&arena, x.rows * x.columns, sizeof *x.data, err);
    context.data = arena_alloc(&arena, context.rows * context.columns, sizeof *x.data, err);
    int failed = !x.data || !context.data;
    for (size_t key = 0; key <= keys && !failed; key++) {
        const float *stream = text->held[HELD_STREAM];
        if (stream)
            scale_row(x.data + key * width, stream + query * width, width, 1);
        float *y = matrix_row(context, key);
        for (size_t head = 0; head < heads; head++, y += d_v) {
            size_t row = head * text->queries + query;
            float weight = key < keys ? text->held[HELD_WEIGHTS][row * text->keys + key] : 0;
            memcpy(y, text->held[HELD_CONTEXT] + row * d_v, d_v * sizeof *y);
            for (size_t d = 0; weight != 0 && d < d_v; d++)
                y[d] -= weight * values_of(text, rule, head)[key * d_v + d];
        }
    }
    struct attended_rows rows = {(size_t)announced->layer, x, context, &token};
    failed = failed || forward_attended(run, &rows, &arena, err);
    for (size_t i = 0; i < keys && !failed; i++)
        distances[i] = cosine_distance(x.data + i * width, x.data + keys * width, width);
    arena_release(&arena);
    return err_if(failed);
}

/* Compute value zeroing. If edits change the context, compute it first without edits, since
 * measure_query applies the edits to each of its rows. */
static int make_zeroing(const struct effective *e, const struct announcement *announced,
                        enum site site, struct err *err)
{
    const struct held_text *text = &e->texts[announced->text];
    const struct head_rule *rule = heads_of(e, announced);
    size_t keys = text->keys, width = context_width(rule);
    bool edited = edits_have(e->run->edits, SITE_CONTEXT, (size_t)announced->layer);
    double *square = arena_alloc(e->scratch, keys * keys, sizeof *square, err);
    if (!square)
        return -1;
    for (size_t row = 0; edited && row < context_heads(rule) * text->queries; row++) {
        const float *weights = text->held[HELD_WEIGHTS] + row * keys;
        const float *values = values_of(text, rule, row / text->queries);
        for (size_t d = 0; d < width; d++) {
            double sum = 0;
            for (size_t key = 0; key < keys; key++)
                sum += (double)weights[key] * (double)values[key * width + d];
            text->held[HELD_CONTEXT][row * width + d] = (float)sum;
        }
    }
    for (size_t query = 0; query < text->queries; query++)
        if (measure_query(square + query * keys, e, announced, query, err))
            return -1;
    for (double *row = square; row < square + keys * keys; row += keys) {
        double sum = 0; /* divide each row by its sum, unless the row is all 0 */
        for (size_t i = 0; i < keys; i++)
            sum += row[i];
        for (size_t i = 0; i < keys && sum > 0; i++)
            row[i] /= sum;
    }
    return show_square(e, announced, site, square, err);
}

/* --- entropies -------------------------------------------------------------------------------- */

void visible_row(struct edit_block block, const struct score_rule *rule, const struct edits *edits,
                 uint32_t *memory)
{
    block.heads = block.rows = 1;
    block.row_stride = block.columns;
    size_t count = score_keys(rule, block.first_row, block.columns, memory, memory + block.columns);
    while (count-- > 0)
        block.data[memory[count]] = 1;
    for (size_t i = 0; edits && i < edits->count; i++) { /* only EDIT_FORBID hides keys */
        struct edits one = *edits;
        one.items += i;
        one.count = one.items->op == EDIT_FORBID;
        edits_apply(&one, &block);
    }
}

/* Compute the entropy of each row of weights (SITE_ENTROPY) or its share of the largest possible
 * entropy (SITE_ENTROPY_SHARE), in any attention branch, and pass it to the caller's tap. */
static int make_entropy(const struct effective *e, const struct announcement *announced,
                        enum site site, struct err *err)
{
    const struct batch *batch = e->run->batch;
    size_t heads = announced->values.shape[0], queries = announced->values.shape[1];
    size_t keys = announced->values.shape[2], prompt = batch_prompt(batch, announced->text);
    enum site_branch branch = site_branch(site);
    const struct sublayer *own = attention_of(e->run->config, branch, (size_t)announced->layer);
    float *row = arena_room(e->scratch, 2 * keys, sizeof *row, err), *visible = row + keys;
    uint32_t *memory = arena_room(e->scratch, 2 * keys, sizeof *memory, err);
    float *values = arena_room(e->scratch, heads * queries, sizeof *values, err);
    struct edit_block block = {.site = SITE_OF(branch, SITE_MASKED),
                               .layer = (size_t)announced->layer,
                               .text = announced->text,
                               .number = batch->first + announced->text,
                               .data = visible,
                               .columns = keys,
                               .grows = batch->texts[announced->text].grows,
                               .row_places = prompt,
                               .column_places = branch ? keys : prompt};
    if (!row || !memory || !values)
        return -1;
    for (size_t i = 0; i < heads * queries; i++) {
        struct tensor cells = tensor_slice(&announced->values, i / queries);
        cells = tensor_slice(&cells, i % queries);
        tensor_copy(row, &cells);
        double entropy = entropy_of_row(row, keys), count = 0;
        if (site_id(site) == SITE_ENTROPY_SHARE) {
            memset(visible, 0, keys * sizeof *visible);
            block.first_head = i / queries;
            block.first_row = i % queries;
            visible_row(block, &own->score, e->run->edits, memory);
            for (size_t key = 0; key < keys; key++)
                count += visible[key] == 1;
            entropy = count > 1 ? entropy / log_double(count) : (double)NAN;
        } else if (e->selection->bits) {
            entropy /= log_double(2);
        }
        values[i] = (float)entropy;
    }
    struct announcement made = *announced;
    made.site = site;
    made.values = tensor_dense(values, 3, (const size_t[]){heads, queries, 1});
    return e->next.sink(e->next.context, &made, err);
}

/* --- the tap ---------------------------------------------------------------------------------- */

/* Inputs of an effective site in addition to `from`. OF_MAP: the map that multiplies the values;
 * OF_MAPS_BELOW: the maps of all lower layers; OF_VALUES: the values; OF_STREAM: the residual
 * stream. */
enum { OF_MAP = 1 << 0, OF_MAPS_BELOW = 1 << 1, OF_VALUES = 1 << 2, OF_STREAM = 1 << 3 };

/* Effective sites, in the order in which they are computed. Each is computed when its last input
 * arrives from the pass: `from` or, if two heads make one context, `from_pairs`. If `make` is NULL,
 * the input is passed on as the site, and the viewer turns these scores into masks. */
static const struct maker {
    enum site site, from, from_pairs;
    int (*make)(const struct effective *, const struct announcement *, enum site, struct err *);
    unsigned inputs;
} makers[] = {
    {SITE_MASK, SITE_MASKED, SITE_MASKED, NULL},
    {SITE_VISIBLE, SITE_MASKED, SITE_MASKED, NULL},
    {SITE_ENTROPY, SITE_WEIGHTS, SITE_WEIGHTS, make_entropy},
    {SITE_ENTROPY_SHARE, SITE_WEIGHTS, SITE_WEIGHTS, make_entropy},
    {SITE_VALUE_WEIGHTED, SITE_WEIGHTS, SITE_DIFFERENCE, make_weighted, OF_MAP | OF_VALUES},
    {SITE_NORM_WEIGHTED, SITE_WEIGHTS, SITE_CONTEXT, make_weighted, OF_MAP | OF_VALUES},
    {SITE_ROLLOUT, SITE_WEIGHTS, SITE_DIFFERENCE, make_rollout, OF_MAP | OF_MAPS_BELOW},
    {SITE_VALUE_ZEROING, SITE_CONTEXT, SITE_CONTEXT, make_zeroing, OF_MAP | OF_VALUES | OF_STREAM},
};

enum { MAKERS = sizeof makers / sizeof *makers };

/* Return the last input of an effective site: the site is computed when this tensor arrives. */
static enum site input_of(const struct maker *maker, const struct config *config)
{
    return pairs_heads(config) ? maker->from_pairs : maker->from;
}

/* For models in which two heads make one context: put the values of such heads side by side, in
 * place. */
static int pair_values(const struct effective *e, const struct announcement *announced,
                       float *values, struct err *err)
{
    struct arena scratch = {0};
    size_t count = tensor_count(&announced->values);
    float *v = arena_room(&scratch, count, sizeof *v, err);
    if (v) {
        memcpy(v, values, count * sizeof *v);
        context_values(values, v, heads_of(e, announced), announced->values.shape[1]);
    }
    arena_release(&scratch);
    return v ? 0 : -1;
}

static int sink(void *context, const struct announcement *announced, struct err *err)
{
    struct effective *e = context;
    struct held_text *text = &e->texts[announced->text];
    size_t cells = tensor_count(&announced->values);
    if (is_selected(e, announced->site, announced->layer) &&
        e->next.sink(e->next.context, announced, err))
        return -1;
    const enum site map = map_of(e->run->config);
    const enum site ingredients[INGREDIENTS] = {SITE_RESID_PRE, SITE_V, map, SITE_CONTEXT};
    for (int which = 0; which < INGREDIENTS; which++) {
        float **held = &text->held[which];
        if (announced->site != ingredients[which])
            continue;
        if (text->room[which] < cells && !(*held = arena_room(e->arena, cells, sizeof **held, err)))
            return -1;
        text->room[which] = num_max(text->room[which], cells);
        tensor_copy(*held, &announced->values);
        if (which == HELD_VALUES && pairs_heads(e->run->config) &&
            pair_values(e, announced, *held, err))
            return -1;
    }
    if (announced->site == map) {
        text->queries = announced->values.shape[1];
        text->keys = announced->values.shape[2];
    }
    for (const struct maker *maker = makers; maker < makers + MAKERS; maker++) {
        enum site site = SITE_OF(site_branch(announced->site), maker->site);
        bool through =
            maker->inputs & OF_MAPS_BELOW && (size_t)announced->layer < e->rollout_layers;
        if (announced->site != SITE_OF(site_branch(site), input_of(maker, e->run->config)) ||
            !(through || is_selected(e, site, announced->layer)))
            continue;
        struct announcement made = *announced;
        struct arena scratch = {0};
        made.site = site;
        e->scratch = &scratch;
        int failed = maker->make ? maker->make(e, announced, site, err)
                                 : e->next.sink(e->next.context, &made, err);
        arena_release(&scratch);
        if (failed)
            return -1;
    }
    return 0;
}

/* Watch the inputs of each selected effective site in its layer or, for rollout, in all layers up
 * to it. `*tap` becomes a tap that computes the effective sites. Without such a site, do
 * nothing. */
int effective_begin(const struct selection *selection, const struct run *run, struct watch *watch,
                    struct tap *tap, struct arena *arena, struct err *err)
{
    if (!site_set_has_effective(selection->sites))
        return 0;
    for (enum site_branch branch = 0; branch < SITE_BRANCHES; branch++)
        if (site_set_has(selection->sites, SITE_OF(branch, SITE_ATTENTION_GRADIENT)))
            return err_usage(err, "'%s': expected 'attn-cli run', not as a page, or attn_gradient",
                             site_name(SITE_OF(branch, SITE_ATTENTION_GRADIENT)));
    struct effective *e = arena_alloc(arena, 1, sizeof *e, err);
    if (!e)
        return -1;
    *e = (struct effective){.selection = selection, .run = run, .next = *tap, .arena = arena};
    for (size_t i = 0; i < (size_t)MAKERS * SITE_BRANCHES; i++) {
        const struct maker *maker = &makers[i / SITE_BRANCHES];
        enum site_branch branch = (enum site_branch)(i % SITE_BRANCHES);
        enum site site = SITE_OF(branch, maker->site);
        struct layers layers = selection_layers_of(selection, site);
        for (size_t k = 0; site_set_has(selection->sites, site) && k < layers.count; k++) {
            size_t layer = layers.items[k], first = maker->inputs & OF_MAPS_BELOW ? 0 : layer;
            watch_add(watch, SITE_OF(branch, input_of(maker, run->config)), layer);
            for (size_t below = first; below <= layer && maker->inputs & OF_MAP; below++)
                watch_add(watch, map_of(run->config), below);
            if (maker->inputs & OF_MAPS_BELOW)
                e->rollout_layers = num_max(e->rollout_layers, layer + 1);
            if (maker->inputs & OF_VALUES)
                watch_add(watch, SITE_V, layer);
            if (maker->inputs & OF_STREAM && site_exists(run->config, SITE_RESID_PRE))
                watch_add(watch, SITE_RESID_PRE, layer);
        }
    }
    watch->head_count = 0; /* effective sites need all heads, whichever are selected */
    e->texts = arena_alloc(arena, run->batch->count, sizeof *e->texts, err);
    *tap = (struct tap){.watch = watch, .sink = sink, .context = e};
    return e->texts ? 0 : -1;
}

double effective_bytes(const struct selection *selection, const struct config *config,
                       size_t tokens)
{
    double square = (double)tokens * (double)tokens;
    /* bytes of the maps of all heads of a layer */
    double maps = (double)config->n_head * square * sizeof(float);
    double most = 0;
    double products = config->n_layer > 1 ? 2 : 1;
    if (site_set_has(selection->sites, SITE_VALUE_WEIGHTED) ||
        site_set_has(selection->sites, SITE_NORM_WEIGHTED))
        most = maps;
    if (site_set_has(selection->sites, SITE_VALUE_ZEROING))
        most = fmax(most, square * (sizeof(double) + sizeof(float)) +
                              (double)pass_memory_bytes(config, tokens));
    if (site_set_has(selection->sites, SITE_ROLLOUT))
        most = fmax(most, products * square * sizeof(double)) + square * sizeof(double);
    return most > 0 ? maps + most : 0;
}
