#include "measure/resid_parts.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/head_name.h"
#include "pass/forward.h"
#include "model/points.h"
#include "pass/tap.h"

enum {
    KEPT_MOST = 1 << 22
}; /* if the rows of all tokens have more floats, a pass keeps only the rows that it needs */

/* The stream to split into parts, at some kept rows of a pass. */
struct parts_request {
    const struct resid_pass *pass;
    const struct config *config;
    struct weights *weights;
    enum site_branch branch; /* which stream: BRANCH_TEXT or BRANCH_SOURCE */
    size_t first, count;     /* the kept rows: index of the first row, and number of rows */
    struct arena *arena;
    struct err *err;
};

static const struct resid_part here = {RESID_HERE, BRANCH_TEXT, -1, 0};

const char *resid_part_name(char name[RESID_PART_BYTES], struct resid_part part)
{
    static const char *const kinds[] = {[RESID_TOKEN] = "token",
                                        [RESID_PLACE] = "place",
                                        [RESID_SEGMENT] = "segment",
                                        [RESID_BIAS] = "bias",
                                        [RESID_MLP] = "mlp",
                                        [RESID_HERE] = "here",
                                        [RESID_PROBE] = "probe",
                                        [RESID_FEATURE_BIAS] = "feature_bias",
                                        [RESID_FEATURE_ERROR] = "feature_error"};
    char layer[16] = "", head[24];
    if (part.layer >= 0)
        snprintf(layer, sizeof layer, "L%d.", part.layer);
    snprintf(head, sizeof head, "%s%d", part.kind == RESID_FEATURE ? "feature" : "H", part.head);
    snprintf(name, RESID_PART_BYTES, "%s%s%s%s", part.of == BRANCH_SOURCE ? "enc." : "", layer,
             part.of == BRANCH_CROSS ? "cross." : "",
             part.kind == RESID_HEAD || part.kind == RESID_FEATURE ? head
             : part.of == BRANCH_PER_LAYER                         ? "per_layer"
                                                                   : kinds[part.kind]);
    return name;
}

const char *resid_part_title(char name[RESID_PART_BYTES], struct resid_part part)
{
    char head[HEAD_NAME_BYTES];
    if (part.kind != RESID_HEAD)
        return resid_part_name(name, part);
    snprintf(name, RESID_PART_BYTES, "%s%s",
             part.of == BRANCH_SOURCE  ? "enc."
             : part.of == BRANCH_CROSS ? "cross "
                                       : "",
             head_name(head, (size_t)part.layer, (size_t)part.head));
    return name;
}

/* Return the branch whose stream makes the queries of a head, or its keys and values: BRANCH_TEXT
 * or BRANCH_SOURCE. */
static enum site_branch resid_stream(const struct config *c, struct resid_head head,
                                     enum resid_side side)
{
    bool reads = attention_of(c, head.branch, head.layer)->kind == SUBLAYER_ATTEND_SOURCE;
    return head.branch == BRANCH_SOURCE || (reads && side != RESID_QUERY) ? BRANCH_SOURCE
                                                                          : BRANCH_TEXT;
}

static const struct tokenized *text_of(const struct text_with_source *pair, enum site_branch stream)
{
    return stream == BRANCH_SOURCE ? &pair->source : &pair->text;
}

const struct tokenized *resid_text(const struct config *c, const struct text_with_source *pair,
                                   struct resid_head head, enum resid_side side)
{
    return text_of(pair, resid_stream(c, head, side));
}

/* --- the pass --------------------------------------------------------------------------------- */

static size_t position_of(const struct resid_pass *pass, size_t row)
{
    return row < pass->position_count ? pass->positions[row] : pass->query;
}

/* Return the index of a row among the rows that a pass keeps. */
static size_t kept_index(const struct resid_pass *pass, size_t row)
{
    return pass->keeps_all ? position_of(pass, row) : row;
}

/* Keep the values of a site: the rows of all tokens (keeps_all), or of the positions and the query,
 * with the heads of a token side by side; keys and values are always kept for all tokens, head
 * by head. */
static int keep(void *context, const struct announcement *announced, struct err *err)
{
    struct resid_pass *pass = context;
    enum site id = site_id(announced->site);
    const struct tensor *values = &announced->values;
    size_t axis = values->rank - 2, tokens = values->shape[axis];
    size_t heads = axis ? values->shape[0] : 1, each = values->shape[axis + 1];
    bool whole = id == SITE_K || id == SITE_V;
    enum site_branch of =
        site_branch(announced->site) == BRANCH_SOURCE ? BRANCH_SOURCE : BRANCH_TEXT;
    const struct config *c = &pass->viewer->model.config;
    bool of_keys = of == resid_stream(c, pass->at, RESID_KEY);
    bool of_query = of == resid_stream(c, pass->at, RESID_QUERY);
    size_t count = whole || pass->keeps_all ? tokens : pass->position_count + 1;
    float *rows = arena_alloc(pass->arena, count * heads * each, sizeof *rows, err);
    if (!rows)
        return -1;
    if (whole)
        tensor_copy(rows, values);
    const struct head_rule *rule =
        stack_head(c, site_branch(announced->site), (size_t)announced->layer);
    if (id == SITE_V && rule->differ > 0) {
        float *pairs = arena_alloc(pass->arena, count * heads * each, sizeof *pairs, err);
        if (!pairs)
            return -1;
        context_values(pairs, rows, rule, count);
        rows = pairs;
    }
    for (size_t i = 0; i < count && !whole; i++) {
        bool is_query = i == pass->position_count;
        bool is_kept = pass->keeps_all || (is_query ? of_query : of_keys);
        size_t position = pass->keeps_all ? i : position_of(pass, i);
        for (size_t head = 0; head < heads && is_kept; head++)
            memcpy(rows + (i * heads + head) * each,
                   values->data + position * values->stride[axis] +
                       (axis ? head * values->stride[0] : 0),
                   each * sizeof *rows);
    }
    pass->kept[announced->layer][announced->site] = rows;
    return 0;
}

/* Compute the dictionary's features of the kept rows, and their reconstructions. */
static int find_features(struct resid_pass *pass, struct err *err)
{
    const struct dictionary *d = pass->dictionary;
    const size_t rows = pass->position_count + 1;
    const float *from = pass->kept[d->layer][d->site];
    bool *is_active = arena_alloc(pass->arena, d->count, sizeof *is_active, err);
    pass->active = arena_alloc(pass->arena, d->count, sizeof *pass->active, err);
    pass->features = arena_alloc(pass->arena, rows, sizeof *pass->features, err);
    pass->read = matrix_new(rows, d->in, pass->arena, err);
    pass->decoded = matrix_new(rows, d->out, pass->arena, err);
    if (!is_active || !pass->active || !pass->features || !pass->read.data || !pass->decoded.data)
        return -1;
    for (size_t i = 0; i < rows; i++)
        memcpy(matrix_row(pass->read, i), from + kept_index(pass, i) * d->in, d->in * sizeof *from);
    dictionary_rows(d, pass->read);
    if (dictionary_encode(d, &pass->viewer->machine, pass->features, pass->read, pass->arena,
                          err) ||
        dictionary_decode(d, pass->decoded, pass->features, pass->read, pass->arena, err))
        return -1;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < pass->features[i].count; k++)
            is_active[pass->features[i].items[k].id] = true;
    for (uint32_t i = 0; i < d->count; i++)
        if (is_active[i])
            pass->active[pass->active_count++] = i;
    return 0;
}

int resid_capture(struct resid_pass *pass, struct arena *arena, struct err *err)
{
    struct viewer *viewer = pass->viewer;
    const struct config *c = &viewer->model.config;
    const struct text text = viewer_text(pass->pair);
    struct text_list one = {&text, 1, pass->number, NULL};
    size_t decoder = pass->at.branch == BRANCH_SOURCE ? 0 : pass->at.layer + 1;
    size_t encoder = pass->at.branch == BRANCH_SOURCE  ? pass->at.layer + 1
                     : pass->at.branch == BRANCH_CROSS ? stack_of(c, BRANCH_SOURCE)->layers
                                                       : 0;
    size_t most = num_max(c->n_layer, stack_of(c, BRANCH_SOURCE)->layers);
    size_t *numbers = arena_alloc(arena, most, sizeof *numbers, err);
    size_t tokens = num_max(pass->pair->text.count, pass->pair->source.count);
    pass->keeps_all = tokens * config_layers(c) * (2 * c->n_head * c->d_v + c->n_embd) <= KEPT_MOST;
    pass->arena = arena;
    pass->kept = arena_alloc(arena, most, sizeof *pass->kept, err);
    if (!numbers || !pass->kept)
        return -1;
    for (size_t i = 0; i < most; i++)
        numbers[i] = i;
    struct selection selection = {.layers = {numbers, decoder},
                                  .encoder_layers = {numbers, encoder}};
    for (enum site_branch branch = 0; branch < SITE_BRANCHES; branch++) {
        const enum site ids[] = {SITE_Q, SITE_K, SITE_V, SITE_CONTEXT, SITE_GATED, SITE_MLP_OUT};
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
            if ((branch == BRANCH_SOURCE ? encoder : decoder) &&
                site_exists(c, SITE_OF(branch, ids[i])))
                site_set_add(&selection.sites, SITE_OF(branch, ids[i]));
    }
    if (pass->dictionary)
        site_set_add(&selection.sites, pass->dictionary->site);
    return err_if(
        viewer_run(viewer, &selection, &one, (struct tap){.sink = keep, .context = pass}, err) ||
        (pass->dictionary && find_features(pass, err)));
}

/* --- attention -------------------------------------------------------------------------------- */

static size_t keys_of(const struct resid_pass *pass, struct resid_head head)
{
    return resid_text(&pass->viewer->model.config, pass->pair, head, RESID_KEY)->count;
}

const float *resid_values(const struct resid_pass *pass, struct resid_head head)
{
    const struct head_rule *rule =
        &attention_of(&pass->viewer->model.config, head.branch, head.layer)->head;
    return pass->kept[head.layer][SITE_OF(head.branch, SITE_V)] +
           kv_head_of(rule, head.head) * keys_of(pass, head) * context_width(rule);
}

int resid_attend(struct resid_attention *to, const struct resid_pass *pass, struct resid_head head,
                 size_t row, struct arena *arena, struct err *err)
{
    struct weights *weights = &pass->viewer->model.weights;
    const struct sublayer *s = attention_of(&pass->viewer->model.config, head.branch, head.layer);
    const struct score_rule *rule = &s->score;
    const size_t d = s->head.d_k, keys = keys_of(pass, head);
    const size_t query = position_of(pass, row);
    const float *q = pass->kept[head.layer][SITE_OF(head.branch, SITE_Q)] +
                     (kept_index(pass, row) * s->head.heads + head.head) * d;
    const float *k = pass->kept[head.layer][SITE_OF(head.branch, SITE_K)] +
                     kv_head_of(&s->head, head.head) * keys * d;
    const float *biases = NULL, *sinks = NULL;
    struct slot of_sinks = slot_of((int)head.branch, SLOT_SINKS, head.layer);
    float *raw = arena_alloc(arena, 2 * keys, sizeof *raw, err), *masked = raw + keys;
    uint32_t *list = arena_alloc(arena, 2 * keys, sizeof *list, err);
    double *numbers = arena_alloc(arena, 3 * keys, sizeof *numbers, err);
    struct score_rule before = *rule; /* rule for scores before a cap */
    before.cap = before.temperature = 0;
    if (!raw || !list || !numbers ||
        weights_biases(weights, &pass->viewer->machine, (int)head.branch, rule, &biases, err) ||
        weights_vector(weights, of_sinks, &sinks, err))
        return -1;
    *to = (struct resid_attention){.keys = keys,
                                   .list = list,
                                   .plain = numbers,
                                   .score = numbers + keys,
                                   .weights = numbers + 2 * keys};
    const struct head_bias bias = /* the stride of 0 makes all rows of q the same query */
        score_head_bias(rule, biases, head.head, (struct matrix){(float *)q, 1, d, 0},
                        (struct matrix){(float *)k, keys, d, d});
    for (size_t i = 0; i < keys; i++) {
        double product = dot_rows(q, k + i * d, d);
        to->plain[i] = (double)rule->scale * product;
        raw[i] = masked[i] = (float)product;
    }
    score_apply(&before, &bias, query, raw, (struct key_range){0, keys}, keys);
    score_apply(rule, &bias, query, masked, (struct key_range){0, keys}, keys);

    to->visible = score_keys(rule, query, keys, list, list + keys);
    double most = sinks ? (double)sinks[head.head] : -INFINITY, sum = 0;
    for (size_t i = 0; i < to->visible; i++)
        most = fmax(most, (double)masked[list[i]]);
    for (size_t i = 0; i < to->visible; i++)
        sum += to->weights[list[i]] = exp((double)masked[list[i]] - most);
    to->of_sink = sinks ? exp((double)sinks[head.head] - most) : 0;
    sum += to->of_sink;
    for (size_t i = 0; i < keys; i++) {
        to->weights[i] /= sum;
        to->score[i] = rule->bias == NO_BIAS ? to->plain[i] : (double)raw[i];
    }
    to->of_sink /= sum;
    return 0;
}

int resid_mix(struct resid_attention *to, const struct resid_pass *pass, struct resid_head head,
              size_t row, double *factor, struct arena *arena, struct err *err)
{
    struct weights *weights = &pass->viewer->model.weights;
    const struct head_rule *rule =
        &attention_of(&pass->viewer->model.config, head.branch, head.layer)->head;
    const size_t width = context_width(rule), contexts = context_heads(rule);
    const float *context = pass->kept[head.layer][SITE_OF(head.branch, SITE_CONTEXT)] +
                           (kept_index(pass, row) * contexts + head.head) * width;
    const struct slot slot = slot_of((int)head.branch, SLOT_CONTEXT_NORM, head.layer);
    struct resid_attention other;
    struct lambda lambda;
    struct norm norm;
    *factor = 1;
    if (resid_attend(to, pass, head, row, arena, err))
        return -1;
    if (rule->differ <= 0)
        return 0;
    head.head += contexts;
    if (resid_attend(&other, pass, head, row, arena, err) ||
        weights_lambda(weights, head.branch, head.layer, &lambda, err) ||
        weights_norm(weights, slot, &norm, err))
        return -1;
    for (size_t i = 0; i < to->keys; i++)
        to->weights[i] -= (double)lambda.lambda * other.weights[i];
    *factor = (1 + (double)norm.offset) /
              sqrt(dot_rows(context, context, width) / (double)width + (double)norm.epsilon);
    return 0;
}

/* --- parts of vectors ------------------------------------------------------------------------- */

static int parts_take(struct resid_parts *parts, size_t most, size_t rows, size_t width,
                      struct arena *arena, struct err *err)
{
    *parts = (struct resid_parts){.most = most, .rows = rows, .width = width};
    parts->items = arena_alloc(arena, most, sizeof *parts->items, err);
    parts->values = arena_room(arena, most * rows * width, sizeof *parts->values, err);
    return parts->items && parts->values ? 0 : -1;
}

static struct matrix parts_matrix(const struct resid_parts *parts, size_t first, size_t count)
{
    return (struct matrix){parts->values + first * parts->rows * parts->width, count * parts->rows,
                           parts->width, parts->width};
}

/* Return the rows of a part. A part that is missing is added, with rows of zeros. */
static struct matrix part_rows(struct resid_parts *parts, struct resid_part part)
{
    size_t i = 0;
    while (i < parts->count &&
           (parts->items[i].kind != part.kind || parts->items[i].of != part.of ||
            parts->items[i].layer != part.layer || parts->items[i].head != part.head))
        i++;
    struct matrix rows = parts_matrix(parts, i, 1);
    if (i == parts->count) {
        assert(i < parts->most);
        parts->items[parts->count++] = part;
        memset(rows.data, 0, rows.rows * rows.columns * sizeof *rows.data);
    }
    return rows;
}

static void add_constant(struct resid_parts *parts, struct resid_part constant, const float *values)
{
    if (!values)
        return;
    struct matrix rows = part_rows(parts, constant);
    for (size_t row = 0; row < rows.rows; row++)
        add_to_row(matrix_row(rows, row), values, rows.columns);
}

/* Add `factor` times all parts of `from` to the columns of `to` that begin at `column`. */
static void add_parts(struct resid_parts *to, size_t column, const struct resid_parts *from,
                      float factor)
{
    for (size_t i = 0; i < from->count; i++) {
        struct matrix y = matrix_columns(part_rows(to, from->items[i]), column, from->width);
        struct matrix x = parts_matrix(from, i, 1);
        for (size_t row = 0; row < x.rows; row++)
            add_scaled_row(matrix_row(y, row), matrix_row(x, row), x.columns, factor, x.data);
    }
}

/* Return an element of the sum of all parts; probes add nothing. */
static double sum_of_parts(const struct resid_parts *parts, size_t element)
{
    double sum = 0;
    for (size_t p = 0; p < parts->count; p++)
        if (parts->items[p].kind != RESID_PROBE)
            sum += (double)parts->values[p * parts->rows * parts->width + element];
    return sum;
}

/* Replace the parts of x by the parts of norm(x), with the divisor of x, which is the sum of all
 * parts. The shift of the norm is added to the part `constant`. */
static void norm_parts(struct resid_parts *parts, const struct norm *norm,
                       struct resid_part constant)
{
    const size_t width = parts->width;
    for (size_t row = 0; row < parts->rows; row++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < width; i++) {
            double x = sum_of_parts(parts, row * width + i);
            sum += norm->rms ? 0 : x;
            square += x * x;
        }
        double mean = sum / (double)width, divisor = 0;
        divisor = sqrt(fmax(square / (double)width - mean * mean, 0) + (double)norm->epsilon);
        for (size_t p = 0; p < parts->count; p++) {
            float *x = parts->values + (p * parts->rows + row) * width;
            double own = 0;
            for (size_t i = 0; i < width && !norm->rms; i++)
                own += (double)x[i] / (double)width;
            for (size_t i = 0; i < width; i++)
                x[i] = (float)(((double)x[i] - own) / divisor *
                               ((double)norm->scale[i] + (double)norm->offset));
        }
    }
    add_constant(parts, constant, norm->shift);
}

/* Set `to` to the parts of x · W; the bias of W is added to the part `constant`. */
static int product_parts(struct resid_parts *to, const struct resid_parts *from,
                         const struct weight *w, struct resid_part constant,
                         const struct parts_request *asked)
{
    struct weight matrix = *w;
    matrix.bias = NULL;
    if (parts_take(to, from->most, from->rows, w->out, asked->arena, asked->err))
        return -1;
    memcpy(to->items, from->items, from->count * sizeof *to->items);
    to->count = from->count;
    linear(&asked->pass->viewer->machine, parts_matrix(to, 0, to->count),
           parts_matrix(from, 0, from->count), &matrix, ACTIVATION_NONE);
    add_constant(to, constant, w->bias);
    return 0;
}

/* --- parts of the stream ---------------------------------------------------------------------- */

static size_t count_probes(const struct parts_request *asked)
{
    const struct resid_part *probe = asked->pass->probe;
    if (!probe)
        return 0;
    const struct head_rule *rule =
        &attention_of(asked->config, probe->of, (size_t)probe->layer)->head;
    return (probe->head < 0 ? context_heads(rule) : 1) * context_width(rule);
}

/* Return the largest number of parts that a dictionary makes: the active features, bias and
 * error. */
static size_t count_features(const struct parts_request *asked)
{
    return asked->pass->dictionary ? asked->pass->active_count + 2 : 0;
}

/* At a site that the dictionary writes, replace the parts by the dictionary's features, its bias
 * and its error. */
static int split_parts(struct resid_parts *parts, const struct parts_request *asked, enum site site,
                       size_t layer)
{
    const struct resid_pass *pass = asked->pass;
    const struct dictionary *d = pass->dictionary;
    struct resid_part part = {RESID_FEATURE, asked->branch, (int)layer, 0};
    if (!d || pass->probe || asked->branch != BRANCH_TEXT || site != d->site_out ||
        layer != d->layer)
        return 0;
    const size_t cells = parts->rows * parts->width;
    float *w = arena_room(asked->arena, d->out, sizeof *w, asked->err);
    double *sums = arena_room(asked->arena, cells, sizeof *sums, asked->err);
    if (!w || !sums)
        return -1;
    for (size_t i = 0; i < cells; i++)
        sums[i] = sum_of_parts(parts, i);
    parts->count = 0;
    for (size_t k = 0; k < pass->active_count; k++) {
        part.head = (int)pass->active[k];
        const struct matrix y = part_rows(parts, part);
        for (size_t i = 0; i < y.rows; i++) {
            const struct feature_row *features = &pass->features[asked->first + i];
            for (size_t j = 0; j < features->count; j++)
                if (features->items[j].id == pass->active[k]) {
                    dictionary_direction(d, w, pass->active[k],
                                         matrix_row(pass->read, asked->first + i));
                    scale_row(matrix_row(y, i), w, d->out, features->items[j].value);
                }
        }
    }
    part.head = 0;
    part.kind = RESID_FEATURE_BIAS;
    const struct matrix bias = part_rows(parts, part);
    part.kind = RESID_FEATURE_ERROR;
    const struct matrix error = part_rows(parts, part);
    for (size_t i = 0; i < cells; i++) {
        const double decoded =
            (double)matrix_row(pass->decoded, asked->first + i / d->out)[i % d->out];
        bias.data[i] = (float)(decoded - sum_of_parts(parts, i));
        error.data[i] = (float)(sums[i] - decoded);
    }
    return 0;
}

/* Return the largest number of parts of a stream, or of any vector that is made from the stream. */
static size_t most_parts(const struct parts_request *asked)
{
    enum { ENDS = 6 };
    const struct stack *stack = stack_of(asked->config, asked->branch);
    bool whole = asked->pass->probe && asked->config->out_proj; /* all heads of a layer are one
                                                                 * part */
    return ENDS + count_probes(asked) + count_features(asked) +
           stack->layers * 2 * ((whole ? 1 : stack->heads) + 1);
}

/* Make the parts of the embedding: tokens, positions, segments, and the biases of norms and
 * projections. */
static int embed_parts(struct resid_parts *parts, const struct parts_request *asked)
{
    const struct config *c = asked->config;
    struct weights *weights = asked->weights;
    const struct stack *stack = stack_of(c, asked->branch);
    const struct embed_rule *rule = &stack->embed;
    const struct tokenized *text = text_of(asked->pass->pair, asked->branch);
    const struct resid_part token = {RESID_TOKEN, asked->branch, -1, 0},
                            place = {RESID_PLACE, asked->branch, -1, 0},
                            segment = {RESID_SEGMENT, asked->branch, -1, 0},
                            bias = {RESID_BIAS, asked->branch, -1, 0};
    struct resid_parts projected;
    struct weight projection;
    struct norm norm;
    if (rule->project != PROJECT_NEVER &&
        weights_matrix(weights, slot_of_text(SLOT_EMBED_PROJECT), &projection, asked->err))
        return -1;

    if (parts_take(parts, most_parts(asked), asked->count, rule->width, asked->arena, asked->err))
        return -1;
    struct matrix x = part_rows(parts, token);
    for (size_t i = 0; i < asked->count; i++) {
        size_t position = position_of(asked->pass, asked->first + i);
        weights_embed_token(weights, (int)asked->branch, matrix_row(x, i), text->ids[position]);
        scale_row(matrix_row(x, i), matrix_row(x, i), x.columns,
                  embed_scale(rule, text->ids, text->count, position));
    }
    if (rule->project == PROJECT_TOKENS) {
        if (product_parts(&projected, parts, &projection, bias, asked))
            return -1;
        *parts = projected;
    }
    for (size_t i = 0; i < asked->count; i++) {
        size_t position = position_of(asked->pass, asked->first + i);
        if (rule->positions != POSITIONS_NONE) {
            x = part_rows(parts, place);
            weights_add_position(weights, (int)asked->branch, matrix_row(x, i),
                                 config_position(c, text->ids, position));
        }
        if (rule->segments) {
            x = part_rows(parts, segment);
            weights_add_segment(weights, matrix_row(x, i),
                                text->segments ? text->segments[position] : 0);
        }
    }
    if (rule->norm) {
        int branch = c->own_tables ? (int)asked->branch : BRANCH_TEXT;
        if (weights_norm(weights, slot_of_end(branch, SLOT_EMBED_NORM), &norm, asked->err))
            return -1;
        norm_parts(parts, &norm, bias);
    }
    if (rule->project == PROJECT_LAST) {
        if (product_parts(&projected, parts, &projection, bias, asked))
            return -1;
        *parts = projected;
    }
    return 0;
}

/* Add the parts of the heads of an attention, and probes. With a probe, only the sum of all heads
 * is needed: it is one part. */
static int head_parts(struct resid_parts *parts, const struct parts_request *asked,
                      const struct sublayer *s, size_t layer, const struct weight *last)
{
    const struct resid_pass *pass = asked->pass;
    const struct resid_part *probe = pass->probe;
    const size_t d = context_width(&s->head), heads = context_heads(&s->head);
    const size_t width = heads * d, columns = parts->width;
    const bool whole = probe && !s->head.no_out;
    const bool is_probed = probe && probe->of == s->branch && probe->layer == (int)layer;
    const float *context = pass->kept[layer][SITE_OF(s->branch, context_out(&s->head))];
    float *w = arena_room(asked->arena, d * columns, sizeof *w, asked->err);
    struct resid_part part = {RESID_HEAD, s->branch, (int)layer, 0};
    if (!w)
        return -1;
    if (whole) {
        struct weight all = *last;
        all.bias = NULL;
        struct matrix y = part_rows(parts, part), x = {(float *)context, 1, width, width};
        for (size_t i = 0; i < y.rows; i++) {
            x.data = (float *)context + kept_index(pass, asked->first + i) * width;
            linear(&pass->viewer->machine, matrix_rows(y, i, 1), x, &all, ACTIVATION_NONE);
        }
    }
    for (size_t head = 0; head < heads; head++) {
        bool probes = is_probed && (probe->head < 0 || probe->head == (int)head);
        if (whole && !probes)
            continue;
        if (!s->head.no_out)
            weight_copy(w, columns, last, (struct weight_piece){head * d, d, 0});
        for (size_t k = 0; k < d && s->head.no_out; k++) /* without W_O: an identity matrix */
            for (size_t i = 0; i < columns; i++)
                w[k * columns + i] = i == head * d + k;
        part.head = (int)head;
        struct matrix y = whole ? (struct matrix){0} : part_rows(parts, part);
        for (size_t i = 0; i < y.rows; i++) {
            const float *from = context + kept_index(pass, asked->first + i) * width + head * d;
            for (size_t k = 0; k < d; k++)
                add_scaled_row(matrix_row(y, i), w + k * columns, columns, from[k], w);
        }
        for (size_t k = 0; k < d && probes; k++)
            add_constant(
                parts, (struct resid_part){RESID_PROBE, s->branch, (int)layer, (int)(head * d + k)},
                w + k * columns);
    }
    return 0;
}

/* Make the parts of a sublayer's output: its heads or its MLP, and its bias. */
static int output_parts(struct resid_parts *parts, const struct parts_request *asked,
                        const struct sublayer *s, size_t layer, const struct weight *last)
{
    const struct resid_pass *pass = asked->pass;
    const struct stack *stack = stack_of(asked->config, asked->branch);
    const struct resid_part bias = {RESID_BIAS, asked->branch, (int)layer, 0};
    bool is_mlp = s->kind == SUBLAYER_MLP, has_bias = weight_exists(last) && last->bias;
    size_t most = (is_mlp ? 2 : s->head.heads + count_probes(asked) + 1) + count_features(asked);
    if (parts_take(parts, most, asked->count, stack->width, asked->arena, asked->err) ||
        (!is_mlp && head_parts(parts, asked, s, layer, last)))
        return -1;
    if (is_mlp) {
        const float *out = pass->kept[layer][SITE_OF(s->branch, SITE_MLP_OUT)];
        struct matrix y =
            part_rows(parts, (struct resid_part){RESID_MLP, s->branch, (int)layer, 0});
        for (size_t i = 0; i < asked->count; i++)
            for (size_t k = 0; k < y.columns; k++)
                matrix_row(y, i)[k] = out[kept_index(pass, asked->first + i) * y.columns + k] -
                                      (has_bias ? last->bias[k] : 0);
    }
    if (has_bias)
        add_constant(parts, bias, last->bias);
    return 0;
}

/* Multiply all parts of the stream by the layer's scale. */
static int scale_parts(struct resid_parts *parts, const struct parts_request *asked, size_t layer)
{
    const struct slot slot = slot_of((int)asked->branch, SLOT_LAYER_SCALE, layer);
    const float *number = NULL;
    if (weights_vector(asked->weights, slot, &number, asked->err))
        return -1;
    scale_row(parts->values, parts->values, parts->count * parts->rows * parts->width, *number);
    return 0;
}

/* Make the parts of the stream that the attention `reader` of a layer reads; for layer SIZE_MAX, of
 * the stream at the end of the stack, after an encoder's last norm. */
static int parts_before(struct resid_parts *parts, const struct parts_request *asked, size_t layer,
                        enum site_branch reader)
{
    const struct stack *stack = stack_of(asked->config, asked->branch);
    if (embed_parts(parts, asked))
        return -1;
    for (size_t at = 0; at < stack->layers && at <= layer; at++) {
        const struct layer *own = layer_of(asked->config, asked->branch, at);
        const struct resid_part bias = {RESID_BIAS, asked->branch, (int)at, 0};
        if (split_parts(parts, asked, SITE_RESID_PRE, at))
            return -1;
        for (const struct sublayer *s = own->sublayers; s < own->sublayers + own->count; s++) {
            struct sublayer_weights w;
            struct arena scratch = {0};
            struct parts_request of_output = *asked;
            struct resid_parts out;
            of_output.arena = &scratch;
            if (at == layer && s->kind != SUBLAYER_MLP && s->branch == reader)
                return 0;
            if (weights_sublayer(asked->weights, s, at, &w, asked->err) ||
                output_parts(&out, &of_output, s, at, &w.last) ||
                split_parts(&out, &of_output, s->at_out, at)) {
                arena_release(&scratch);
                return -1;
            }
            int failed = 0;
            if (s->norm_out) {
                norm_parts(&out, &w.post, bias);
                failed = split_parts(&out, &of_output, s->at_out_norm, at);
            }
            if (s->adds_to_normed)
                norm_parts(parts, &w.norm, bias);
            if (s->replaces)
                parts->count = 0;
            add_parts(parts, 0, &out, s->factor);
            failed = failed || (s->scales && scale_parts(parts, asked, at));
            for (size_t i = 0; i < 3 && !failed; i++)
                failed = split_parts(parts, asked, s->at_sum[i], at);
            if (s->norm_after)
                norm_parts(parts, &w.norm, bias);
            for (size_t i = 0; i < 3 && !failed; i++)
                failed = split_parts(parts, asked, s->at_after[i], at);
            arena_release(&scratch);
            if (failed)
                return -1;
        }
    }
    struct norm norm;
    if (!stack->unembed.norm || asked->branch != BRANCH_SOURCE)
        return 0;
    if (weights_norm(asked->weights, slot_of_end(BRANCH_SOURCE, SLOT_FINAL_NORM), &norm,
                     asked->err))
        return -1;
    norm_parts(parts, &norm, (struct resid_part){RESID_BIAS, BRANCH_SOURCE, -1, 0});
    return 0;
}

/* --- parts of queries and keys ---------------------------------------------------------------- */

/* Set `to` to `count` columns, from `first` on, of all parts of `from`. */
static int cut_parts(struct resid_parts *to, const struct resid_parts *from, size_t first,
                     size_t count, const struct parts_request *asked)
{
    if (parts_take(to, from->most, from->rows, count, asked->arena, asked->err))
        return -1;
    for (size_t i = 0; i < from->count; i++)
        copy_rows(part_rows(to, from->items[i]),
                  matrix_columns(parts_matrix(from, i, 1), first, count));
    return 0;
}

/* Set `to` to the parts of `count` columns of x · W, from column `first` on. */
static int project_parts(struct resid_parts *to, const struct resid_parts *from,
                         const struct weight *w, size_t first, size_t count,
                         const struct parts_request *asked)
{
    struct weight columns = *w;
    struct resid_parts all;
    bool slices = weight_can_slice(w, first);
    if (slices)
        columns = weight_columns(w, first, count);
    if (product_parts(&all, from, &columns, here, asked))
        return -1;
    *to = all;
    return all.width == count ? 0 : cut_parts(to, &all, first, count, asked);
}

/* Set `to` to the parts of norm(x · W), the narrow vectors of latent attention. */
static int narrow_parts(struct resid_parts *to, const struct resid_parts *from, int down,
                        int scales, const struct parts_request *asked)
{
    const struct resid_head at = asked->pass->at;
    const int branch = (int)at.branch;
    struct weight w;
    struct norm norm;
    if (weights_matrix(asked->weights, slot_of(branch, down, at.layer), &w, asked->err) ||
        weights_norm(asked->weights, slot_of(branch, scales, at.layer), &norm, asked->err) ||
        product_parts(to, from, &w, here, asked))
        return -1;
    norm_parts(to, &norm, here);
    return 0;
}

/* Clip the sum of the parts: an element beyond `clip` becomes `clip` or -clip, all of it a constant
 * of the head, and 0 in every other part. */
static void clip_parts(struct resid_parts *parts, float clip)
{
    struct matrix constant = part_rows(parts, here);
    size_t cells = parts->rows * parts->width;
    for (size_t i = 0; i < cells; i++) {
        double x = sum_of_parts(parts, i);
        for (size_t p = 0; fabs(x) > (double)clip && p < parts->count; p++)
            parts->values[p * cells + i] = 0;
        if (fabs(x) > (double)clip)
            constant.data[i] = x > 0 ? clip : -clip;
    }
}

/* Set `to` to the parts of the head's query, keys or values, made from the parts of the attention's
 * input. If two heads make one context, the values are of this head alone. */
static int side_parts(struct resid_parts *to, struct resid_parts *from, enum resid_side side,
                      const struct parts_request *asked)
{
    struct weights *weights = asked->weights;
    const struct resid_head at = asked->pass->at;
    const struct head_rule *rule = &attention_of(asked->config, at.branch, at.layer)->head;
    const int branch = (int)at.branch;
    const bool of_query = side == RESID_QUERY, of_value = side == RESID_VALUE;
    const size_t layer = at.layer, d = of_value ? rule->d_v : rule->d_k;
    const size_t head = of_query ? at.head : kv_head_of(rule, at.head);
    const size_t heads = of_query ? rule->heads : rule->kv_heads;
    const bool is_normed = of_query ? rule->norm.q : of_value ? rule->norm.v : rule->norm.k;
    const bool whole = is_normed && rule->norm.whole && !of_value, each = is_normed && !whole;
    struct slot scales = slot_of(branch,
                                 of_query   ? SLOT_Q_NORM
                                 : of_value ? SLOT_NONE
                                            : SLOT_K_NORM,
                                 layer);
    struct resid_parts narrow, plain, turned;
    struct norm norm;
    struct weight w;
    if (is_normed && rule->norm.own)
        scales.expert = (short)head;
    if (is_normed && weights_norm(weights, scales, &norm, asked->err))
        return -1;

    if (rule->by == HEADS_AS_IS)
        return cut_parts(to, from, head * d, d, asked);
    if (rule->by == HEADS_LATENT && !of_query &&
        narrow_parts(&narrow, from, SLOT_KV_DOWN, SLOT_KV_DOWN_NORM, asked))
        return -1;
    if (rule->by == HEADS_LATENT && side == RESID_KEY) {
        size_t first = rule->rotary->first;
        if (weights_matrix(weights, slot_of(branch, SLOT_K, layer), &w, asked->err) ||
            project_parts(&plain, &narrow, &w, head * first, first, asked) ||
            weights_matrix(weights, slot_of(branch, SLOT_K_ROTARY, layer), &w, asked->err) ||
            product_parts(&turned, from, &w, here, asked) ||
            parts_take(to, from->most, from->rows, d, asked->arena, asked->err))
            return -1;
        add_parts(to, 0, &plain, 1);
        add_parts(to, first, &turned, 1);
    } else {
        bool latent = rule->by == HEADS_LATENT && (of_value || rule->latent_q);
        int id = of_value && !rule->v_is_k ? SLOT_V
                 : !of_query               ? SLOT_K
                 : latent                  ? SLOT_Q_UP
                                           : SLOT_Q;
        if ((latent && of_query &&
             narrow_parts(&narrow, from, SLOT_Q_DOWN, SLOT_Q_DOWN_NORM, asked)) ||
            weights_matrix(weights, slot_of(branch, id, layer), &w, asked->err) ||
            project_parts(to, latent ? &narrow : from, &w, whole ? 0 : head * d,
                          whole ? heads * d : d, asked))
            return -1;
        if (whole)
            norm_parts(to, &norm, here);
        if (rule->clip > 0 && !each)
            clip_parts(to, rule->clip);
        struct resid_parts all = *to;
        if (whole && cut_parts(to, &all, head * d, d, asked))
            return -1;
    }

    if (each && !rule->norm.after_rotary)
        norm_parts(to, &norm, here);
    if (rule->rotary && !of_value) {
        size_t length = text_of(asked->pass->pair, asked->branch)->count,
               columns = rule->rotary->components;
        struct matrix turns = {
            arena_room(asked->arena, asked->count * columns, sizeof(float), asked->err),
            asked->count, columns, columns};
        if (!turns.data)
            return -1;
        for (size_t i = 0; i < asked->count; i++)
            rotary_fill(matrix_rows(turns, i, 1), rule->rotary,
                        position_of(asked->pass, asked->first + i), length);
        for (size_t i = 0; i < to->count; i++) {
            struct matrix own = parts_matrix(to, i, 1);
            rotate(own, own, d, rule->rotary, turns);
            for (size_t row = 0; of_query && row < own.rows; row++)
                rotary_grow(matrix_rows(own, row, 1), rule->rotary,
                            position_of(asked->pass, asked->first + row));
        }
    }
    if (each && rule->norm.after_rotary)
        norm_parts(to, &norm, here);
    return 0;
}

int resid_side_parts(struct resid_parts *parts, const struct resid_pass *pass, enum resid_side side,
                     struct key_range some, struct arena *arena, struct err *err)
{
    struct model *model = &pass->viewer->model;
    struct resid_pass made_at = *pass; /* keys and values may be an earlier layer's */
    struct resid_head at = pass->at;
    const struct sublayer *attention = attention_of(&model->config, at.branch, at.layer);
    if (side != RESID_QUERY && attention->head.borrows) {
        at.layer = made_at.at.layer = attention->head.kv_layer;
        attention = attention_of(&model->config, at.branch, at.layer);
    }
    const struct parts_request asked = {.pass = &made_at,
                                        .config = &model->config,
                                        .weights = &model->weights,
                                        .branch = resid_stream(&model->config, at, side),
                                        .first = some.first,
                                        .count = some.end - some.first,
                                        .arena = arena,
                                        .err = err};
    bool of_source = attention->kind == SUBLAYER_ATTEND_SOURCE && side != RESID_QUERY;
    struct sublayer_weights w;
    struct resid_parts before;
    if (weights_sublayer(&model->weights, attention, at.layer, &w, err) ||
        parts_before(&before, &asked, of_source ? SIZE_MAX : at.layer, at.branch))
        return -1;
    if (attention->norm_before && !of_source)
        norm_parts(&before, &w.norm, here);
    const struct head_rule *rule = &attention->head;
    if (side != RESID_VALUE || rule->differ <= 0)
        return side_parts(parts, &before, side, &asked);
    struct resid_parts halves[2]; /* values of both heads of a context */
    for (int i = 0; i < 2; i++, made_at.at.head += context_heads(rule))
        if (side_parts(&halves[i], &before, side, &asked))
            return -1;
    if (parts_take(parts, before.most, before.rows, 2 * rule->d_v, arena, err))
        return -1;
    add_parts(parts, 0, &halves[0], 1);
    add_parts(parts, rule->d_v, &halves[1], 1);
    return 0;
}
