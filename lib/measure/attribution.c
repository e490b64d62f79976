#include "measure/attribution.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "lens/dictionary.h"
#include "lens/sheet.h"
#include "math/rows.h"
#include "model/features.h"
#include "pass/forward.h"
#include "model/layer.h"
#include "model/points.h"
#include "pass/tap.h"

enum { ROWS_AT_ONCE = 32 }; /* rows of a matrix that are copied at a time */

const struct attribution_way attribution_ways[ATTRIBUTION_WAYS] = {
    [BY_PART] = {"part", "heads, MLPs, biases and embeddings; they sum to the logit (default)",
                 "attribution"},
    [BY_KEY] = {"source", "heads, split by the source token", "attribution_by_source"},
    [BY_NEURON] = {"neuron", "neurons (hidden channels) of the MLPs", "attribution_by_neuron"},
    [BY_EXPERT] = {"expert", "experts of mixtures; those of a layer sum to its MLP",
                   "attribution_by_expert"},
    [BY_FEATURE] = {"feature", "features of --sae, its bias and its error; the rest of the logit",
                    "attribution_by_feature"},
    [BY_TOKEN] = {"token", "tokens of the text, by the gradients of the logit (--method)", NULL},
};

#define CROSS(id) SITE_OF(BRANCH_CROSS, SITE_##id)
#define PER_LAYER(id) SITE_OF(BRANCH_PER_LAYER, SITE_##id)
#define MIXER(id) SITE_OF(BRANCH_MIXER, SITE_##id)
#define LAUREL(id) SITE_OF(BRANCH_LAUREL, SITE_##id)

/* The sites to capture. Values (SITE_V) are kept for all tokens. The others keep only
 * the row of the question's position or, if the logit is computed from the mean of all tokens, all
 * rows. */
static const enum site captured_sites[] = {
    SITE_RESID_PRE,      SITE_V,          SITE_WEIGHTS,     SITE_CONTEXT,       SITE_ATTN_OUT,
    SITE_LN_1,           SITE_RESID_MID,  SITE_MLP_ACT,     SITE_MLP_OUT,       SITE_LN_2,
    SITE_EXPERT_WEIGHTS, SITE_SHARED_OUT, SITE_LN_EXPERTS,  SITE_RESID_MLP,     SITE_RESID_POST,
    SITE_LN_F,           SITE_LOGITS,     CROSS(V),         CROSS(WEIGHTS),     CROSS(CONTEXT),
    CROSS(ATTN_OUT),     CROSS(LN_1),     CROSS(RESID_MID), PER_LAYER(MLP_ACT), PER_LAYER(MLP_OUT),
    SITE_DIFFERENCE,     SITE_GATE,       MIXER(V),         MIXER(WEIGHTS),     MIXER(CONTEXT),
    MIXER(GATE),         MIXER(ATTN_OUT), SITE_EMBEDDING,   SITE_STREAMS,       SITE_MERGED,
    LAUREL(MLP_ACT),     LAUREL(MLP_OUT)};

/* The parts of a layer that read other tokens: attention, cross-attention and mixer. Each has its
 * own columns and arrays in the result. */
enum { OF_TEXT, OF_CROSS, OF_MIXER, READERS };

static const struct {
    enum site_branch branch;
    const char *prefix, *by_key;
} readers[READERS] = {
    [OF_TEXT] = {BRANCH_TEXT, "", "attribution_by_source"},
    [OF_CROSS] = {BRANCH_CROSS, "cross_", "cross_attribution_by_source"},
    [OF_MIXER] = {BRANCH_MIXER, "mix_", "mix_attribution_by_source"},
};

enum { CAPTURED_SITES = sizeof captured_sites / sizeof *captured_sites };

/* State of the backward pass from the logits to the embedding. */
struct way {
    struct attribution *attribution;
    const struct attribution_plan *plan;
    const struct config *config;
    struct weights *weights;
    const struct edits *edits; /* edits of the run; NULL: no edits */
    size_t position;
    size_t tokens, whole;             /* `tokens`: number of tokens that are run; `whole`: number of
                                       * tokens of the whole text */
    const struct tokenized *source;   /* text of the encoder, whose output is treated as constant */
    const float *(*rows)[SITE_COUNT]; /* [layer] captured rows; layer 0 also has sites outside of
                                       * layers */
    size_t (*steps)[SITE_COUNT];      /* stride, in floats, from a captured row to the next token's
                                       * row; 0: only one row was captured */
    bool of_all;                      /* true if the logit is computed from the mean of all
                                       * tokens */
    double *u;                        /* [C] the direction u: derivative of the logit with respect
                                       * to the residual stream */
    double *copies; /* [N, C] derivatives of the logit with respect to copies of the stream; NULL:
                     * no copies */
    double *beside; /* [C] derivative of the logit with respect to attention's normed input, for
                     * layers that add this input to the stream */
    double *added;  /* [C] derivative of the logit with respect to a sublayer's output */
    double *inner;  /* [I or H · dv] derivative of the logit with respect to the input of the
                     * sublayer's last matrix */
    bool is_split;  /* BY_FEATURE: true once the backward pass has reached the dictionary's site */
    double bias, edited; /* contributions in the current stage (the embedding, a layer, or the end):
                          * `bias`: of biases; `edited`: of edits */
    struct axis columns[READERS]; /* columns of each reader's result; unless BY_KEY, only the first
                                   * is used */
    float *cells[READERS];        /* [rows, columns] contributions; a row is a stage, a layer or a
                                   * head */
    struct arena scratch;
    struct err *err;
};

/* --- the pass --------------------------------------------------------------------------------- */

static int keep(void *context, const struct announcement *announced, struct err *err)
{
    struct way *way = context;
    const struct tensor *values = &announced->values;
    size_t axis = values->rank - 2;
    struct tensor part = *values;
    size_t layer = announced->layer < 0 ? 0 : (size_t)announced->layer, count = 1;
    if (site_id(announced->site) != SITE_V) {
        count = way->of_all ? values->shape[axis] : 1;
        part.data +=
            count == 1 && values->shape[axis] > 1 ? way->position * values->stride[axis] : 0;
        part.shape[axis] = 1;
    }
    const size_t size = tensor_count(&part);
    float *row = arena_room(&way->scratch, count * size, sizeof *row, err);
    if (!row)
        return -1;
    const float *const first = part.data;
    for (size_t i = 0; i < count; i++) {
        part.data = first + i * values->stride[axis];
        tensor_copy(row + i * size, &part);
    }
    way->rows[layer][announced->site] = row;
    way->steps[layer][announced->site] = count > 1 ? size : 0;
    return 0;
}

static int run(struct way *way, const struct tokenized *sentence)
{
    const struct config *c = way->config;
    bool last = way->position + 1 == way->tokens && !way->of_all;
    struct selection selection = {.last_logits = last, .head_count = c->n_head};
    struct text text = {.ids = sentence->ids,
                        .count = way->tokens,
                        .segments = sentence->segments,
                        .whole_count = way->whole,
                        .prompt_count = way->whole,
                        .source_ids = way->source->ids,
                        .source_count = way->source->count};
    struct text_list one = {&text, 1, way->plan->number, NULL};
    for (size_t i = 0; i < CAPTURED_SITES; i++) {
        enum site id = site_id(captured_sites[i]);
        bool of_source = id == SITE_V || id == SITE_WEIGHTS || id == SITE_DIFFERENCE;
        if (site_exists(c, captured_sites[i]) && (!of_source || way->plan->by == BY_KEY))
            site_set_add(&selection.sites, captured_sites[i]);
    }
    if (way->plan->by == BY_FEATURE) {
        site_set_add(&selection.sites, way->plan->dictionary->site);
        site_set_add(&selection.sites, way->plan->dictionary->site_out);
    }
    way->rows = arena_alloc(&way->scratch, c->n_layer, sizeof *way->rows, way->err);
    way->steps = arena_alloc(&way->scratch, c->n_layer, sizeof *way->steps, way->err);
    if (!way->rows || !way->steps || selection_layers(&selection, NULL, c, &way->scratch, way->err))
        return -1;
    return viewer_run(way->plan->viewer, &selection, &one,
                      (struct tap){.sink = keep, .context = way}, way->err);
}

/* --- backward through edits, norms and matrices ----------------------------------------------- */

enum { FEATURE_BIAS, FEATURE_ERROR, FEATURE_REST, FEATURE_TERMS };

/* Split the product of the direction u and the row at the dictionary's site into parts: features,
 * the bias of the reconstruction (with a transcoder's skip connection), and the error that
 * remains. */
static int features_back(struct way *way, const double *u)
{
    const struct dictionary *d = way->plan->dictionary;
    const size_t layer = site_row(d->site_out)->in_layer ? d->layer : 0;
    const float *row = way->rows[layer][d->site], *out = way->rows[layer][d->site_out];
    struct matrix x = matrix_new(1, d->in, &way->scratch, way->err);
    struct matrix y = matrix_new(1, d->out, &way->scratch, way->err);
    float *w = arena_room(&way->scratch, d->out, sizeof *w, way->err);
    float *cells = way->cells[0], *terms = cells + d->count;
    struct feature_row features = {0};
    if (!x.data || !y.data || !w)
        return -1;
    memcpy(x.data, row, d->in * sizeof *row);
    dictionary_rows(d, x);
    if (dictionary_encode(d, &way->plan->viewer->machine, &features, x, &way->scratch, way->err) ||
        dictionary_decode(d, y, &features, x, &way->scratch, way->err))
        return -1;
    double whole = dot_double_row(u, out, d->out), decoded = dot_double_row(u, y.data, d->out);
    double bias = decoded;
    for (size_t i = 0; i < features.count; i++) {
        const struct feature *f = &features.items[i];
        dictionary_direction(d, w, f->id, x.data);
        const double part = (double)f->value * dot_double_row(u, w, d->out);
        cells[f->id] += (float)part;
        bias -= part;
    }
    terms[FEATURE_BIAS] += (float)bias;
    terms[FEATURE_ERROR] += (float)(whole - decoded);
    terms[FEATURE_REST] -= (float)whole;
    way->is_split = true;
    return 0;
}

/* Go back through the edits of a site, which map each number x to a·x + b: multiply u by a, and add
 * u·b to the contribution of edits. a and b are found by editing rows of zeros and of ones.
 * BY_FEATURE: at the site that the dictionary writes, features_back is called first. */
static int edits_back(struct way *way, double *u, enum site site, size_t layer)
{
    size_t heads = site_heads(way->config, site, layer);
    size_t columns = site_columns(way->config, site, layer);
    size_t count = heads * columns;
    struct edit_block block = {
        .site = site,
        .layer = layer,
        .number = way->plan->number,
        .heads = heads,
        .rows = 1,
        .columns = columns,
        .head_stride = columns,
        .first_row = way->position,
        .row_places = way->whole,
        .column_places = SIZE_MAX,
    };
    const struct dictionary *d = way->plan->by == BY_FEATURE ? way->plan->dictionary : NULL;
    if (d && site == d->site_out && (layer == d->layer || !site_row(site)->in_layer) &&
        features_back(way, u))
        return -1;
    if (!edits_have(way->edits, site, layer))
        return 0;
    float *rows = arena_alloc(&way->scratch, 2 * count, sizeof *rows, way->err);
    if (!rows)
        return -1;
    for (size_t i = 0; i < count; i++)
        rows[count + i] = 1;
    for (size_t i = 0; i < 2; i++) {
        block.data = rows + i * count;
        edits_apply(way->edits, &block);
    }
    for (size_t i = 0; i < count; i++) {
        way->edited += u[i] * (double)rows[i];
        u[i] *= (double)rows[count + i] - (double)rows[i];
    }
    return 0;
}

/* Go back through a norm of x [count]. The divisor is treated as constant; the shift counts as a
 * bias. */
static void norm_back(struct way *way, double *u, const float *x, size_t count,
                      const struct norm *norm)
{
    const double divisor = norm_divisor(x, count, norm);
    double mean_of_u = 0;
    for (size_t i = 0; i < count; i++) {
        way->bias += norm->shift ? u[i] * (double)norm->shift[i] : 0;
        u[i] *= ((double)norm->scale[i] + (double)norm->offset) / divisor;
        mean_of_u += norm->rms ? 0 : u[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++)
        u[i] -= mean_of_u;
}

/* Go back through the edits of a norm's output, and through the norm of x. */
static int site_back(struct way *way, double *u, enum site site, size_t layer, const float *x,
                     const struct norm *norm)
{
    if (edits_back(way, u, site, layer))
        return -1;
    norm_back(way, u, x, way->config->n_embd, norm);
    return 0;
}

/* Go back through a matrix: to [in] = W · u [out]. The matrix's bias counts as a bias. Does nothing
 * without a matrix: a mixture of experts has no last matrix. */
static int matrix_back(struct way *way, double *to, const struct weight *w, const double *u)
{
    struct arena arena = {0};
    if (!weight_exists(w))
        return 0;
    float *rows = arena_alloc(&arena, ROWS_AT_ONCE * w->out, sizeof *rows, way->err);
    for (size_t first = 0; rows && first < w->in; first += ROWS_AT_ONCE) {
        size_t count = num_min(w->in - first, ROWS_AT_ONCE);
        weight_copy(rows, w->out, w, (struct weight_piece){first, count, 0});
        for (size_t i = 0; i < count; i++)
            to[first + i] = dot_double_row(u, rows + i * w->out, w->out);
    }
    way->bias += w->bias ? dot_double_row(u, w->bias, w->out) : 0;
    arena_release(&arena);
    return rows ? 0 : -1;
}

/* Go back from the stream to a sublayer's output (way->added), and through its last matrix to the
 * matrix's input (way->inner). */
static int output_back(struct way *way, size_t layer, const struct sublayer *s,
                       const struct sublayer_weights *w)
{
    for (size_t i = 0; i < way->config->n_embd; i++)
        way->added[i] = (double)s->factor * way->u[i];
    if (s->norm_out && site_back(way, way->added, SITE_OF(sublayer_outside(s), s->at_out_norm),
                                 layer, way->rows[layer][SITE_OF(s->branch, s->at_out)], &w->post))
        return -1;
    return err_if(edits_back(way, way->added, SITE_OF(s->branch, s->at_out), layer) ||
                  matrix_back(way, way->inner, &w->last, way->added));
}

/* --- parts of a layer ------------------------------------------------------------------------- */

/* The columns after the columns of heads. Only models with per-layer inputs have TERM_PER_LAYER,
 * only models with low-rank branches have TERM_LAUREL, and only edited runs have TERM_EDITS. */
enum {
    TERM_MLP,
    TERM_BIAS,
    TERM_TOKEN,
    TERM_POSITION,
    TERM_PER_LAYER,
    TERM_LAUREL,
    TERM_EDITS,
    TERMS
};

/* Return the number of heads of a reader (attention, cross-attention or mixer); 0: the model lacks
 * this reader. A mixer of channels counts as one head. */
static size_t heads_of(const struct config *c, size_t reader)
{
    const enum site context = SITE_OF(readers[reader].branch, SITE_CONTEXT);
    return !site_exists(c, context)                             ? 0
           : reader == OF_MIXER && mixer_of_channels(&c->mixer) ? 1
                                                                : site_heads(c, context, 0);
}

/* Return the number of columns of the heads of all readers before `reader`. */
static size_t columns_before(const struct config *c, size_t reader)
{
    return reader ? columns_before(c, reader - 1) + heads_of(c, reader - 1) : 0;
}

static size_t head_columns(const struct config *c)
{
    return columns_before(c, READERS);
}

/* Add a part's contribution in stage `row` to its cell, and to the sum of all contributions. */
static void put(struct way *way, size_t row, size_t part, double value)
{
    way->attribution->sum += value;
    if (way->plan->by == BY_PART)
        way->cells[0][row * way->columns->size + part] += (float)value;
}

/* Finish a stage: add the contribution of its biases and, in the last column, of its edits. */
static void put_constants(struct way *way, size_t row)
{
    put(way, row, head_columns(way->config) + TERM_BIAS, way->bias);
    if (way->edits)
        put(way, row, way->columns->size - 1, way->edited);
    way->bias = way->edited = 0;
}

/* Return the number of context vectors of a sublayer's attention or mixer. */
static size_t count_contexts(const struct sublayer *s)
{
    return s->mixer ? s->mixer->heads : context_heads(&s->head);
}

static size_t width_of_context(const struct sublayer *s)
{
    return s->mixer ? s->mixer->d_v : context_width(&s->head);
}

/* Return the factor by which a gate multiplies a context; z: the gate before its activation. */
static double gate_factor(enum gate gate, float z)
{
    const double share = 1 / (1 + exp(-(double)z));
    return gate == GATE_SILU ? (double)z * share : share;
}

/* Go back through the gates and the norms of contexts; a mixer may have a norm for each group of
 * contexts. Gates and divisors are treated as constant. */
static int contexts_back(struct way *way, size_t layer, const struct sublayer *s,
                         const float *context)
{
    const struct mixer *m = s->mixer;
    const enum gate gate = m ? m->gate : s->head.gate;
    const bool normed = m ? m->out_norm : s->head.differ > 0, before = m && m->gate_first;
    const size_t count = count_contexts(s), inner = count * width_of_context(s);
    const size_t groups = m && m->out_groups ? m->out_groups : count, width = inner / groups;
    const float *z = way->rows[layer][SITE_OF(s->branch, SITE_GATE)];
    struct norm norm;
    if (!normed && !gate)
        return 0;
    float *x = arena_room(&way->scratch, inner, sizeof *x, way->err);
    if (!x || edits_back(way, way->inner, SITE_OF(s->branch, SITE_GATED), layer) ||
        (normed &&
         weights_norm(way->weights,
                      slot_of((int)s->branch, m ? SLOT_OUT_NORM : SLOT_CONTEXT_NORM, layer), &norm,
                      way->err)))
        return -1;
    memcpy(x, context, inner * sizeof *x);
    for (size_t i = 0; gate && i < inner; i++)
        if (before)
            x[i] = (float)(gate_factor(gate, z[i]) * (double)x[i]);
        else
            way->inner[i] *= gate_factor(gate, z[i]);
    for (size_t i = 0; normed && i < groups; i++) {
        norm_back(way, way->inner + i * width, x + i * width, width, &norm);
        norm.scale += m && m->out_groups ? width : 0;
    }
    for (size_t i = 0; gate && before && i < inner; i++)
        way->inner[i] *= gate_factor(gate, z[i]);
    return 0;
}

/* Split the contexts of a sublayer by source token: a context is a weighted sum of values. The
 * part that an edit adds to a context comes from no token and is left out. */
static int keys_back(struct way *way, size_t layer, const struct sublayer *s, size_t reader)
{
    const size_t keys = way->columns[reader].size, heads = heads_of(way->config, reader);
    const size_t each = count_contexts(s) / heads, d_v = width_of_context(s);
    const float *values = way->rows[layer][SITE_OF(s->branch, SITE_V)];
    const float *map =
        way->rows[layer][SITE_OF(s->branch, s->mixer ? SITE_WEIGHTS : context_map(&s->head))];
    const double edited = way->edited;
    if (edits_back(way, way->inner, SITE_OF(s->branch, SITE_CONTEXT), layer))
        return -1;
    way->edited = edited;
    if (!s->mixer && s->head.differ > 0) {
        float *pairs = arena_room(&way->scratch, s->head.kv_heads * keys * s->head.d_v,
                                  sizeof *pairs, way->err);
        if (!pairs)
            return -1;
        context_values(pairs, values, &s->head, keys);
        values = pairs;
    }
    for (size_t i = 0; i < heads * keys; i++) {
        const size_t first = i / keys * each, key = i % keys;
        double sum = 0;
        for (size_t head = first; head < first + each; head++) {
            const size_t of = s->mixer ? head : kv_head_of(&s->head, head);
            sum += (double)map[head * keys + key] *
                   dot_double_row(way->inner + head * d_v, values + (of * keys + key) * d_v, d_v);
        }
        way->cells[reader][layer * heads * keys + i] += (float)sum;
    }
    return 0;
}

static int heads_back(struct way *way, size_t layer, const struct sublayer *s,
                      const struct sublayer_weights *w)
{
    const size_t reader = s->mixer ? OF_MIXER : s->branch == BRANCH_CROSS ? OF_CROSS : OF_TEXT;
    const size_t heads = heads_of(way->config, reader);
    const size_t first = columns_before(way->config, reader);
    const size_t width = count_contexts(s) * width_of_context(s) / heads;
    const float *context = way->rows[layer][SITE_OF(s->branch, SITE_CONTEXT)];
    if (output_back(way, layer, s, w) || contexts_back(way, layer, s, context))
        return -1;
    for (size_t head = 0; head < heads; head++)
        put(way, layer + 1, first + head,
            dot_double_row(way->inner + head * width, context + head * width, width));
    return way->plan->by == BY_KEY ? keys_back(way, layer, s, reader) : 0;
}

static size_t expert_columns(const struct config *c)
{
    return c->mixture.experts + (c->mixture.shared_inner > 0);
}

/* Return the number of channels of an expert's output. */
static size_t expert_width(const struct config *c)
{
    return c->mixture.latent ? c->mixture.latent : c->n_embd;
}

/* Add to `sum` the outputs of the experts of a token, times their weights. */
static int sum_experts(struct way *way, float *sum, const float *x, size_t layer,
                       const float *weights, const float **outs)
{
    const struct config *c = way->config;
    const struct run run = {
        .machine = &way->plan->viewer->machine, .config = c, .weights = way->weights};
    const size_t experts = c->mixture.experts;
    for (size_t e = 0; e < experts; e++) {
        if (weights[e] == 0)
            continue;
        if (!(outs[e] = forward_expert(&run, x, layer, e, &way->scratch, way->err)))
            return -1;
        add_scaled_row(sum, outs[e], expert_width(c), weights[e], outs[e]);
    }
    return 0;
}

/* Go back from the output of the experts to their sum: through the norm of the sum, or the last
 * matrix. */
static int mixed_back(struct way *way, size_t layer, const struct mixture *mixture, double **u,
                      const float *sum)
{
    const int id = mixture->latent ? SLOT_EXPERT_OUT : SLOT_EXPERTS_POST;
    const struct slot slot = slot_of(BRANCH_TEXT, id, layer);
    struct weight w;
    struct norm norm;
    if (mixture->latent) {
        if (weights_matrix(way->weights, slot, &w, way->err) ||
            matrix_back(way, way->inner, &w, *u))
            return -1;
        *u = way->inner;
    } else if (mixture->beside) {
        if (weights_norm(way->weights, slot, &norm, way->err))
            return -1;
        norm_back(way, *u, sum, way->config->n_embd, &norm);
    }
    return 0;
}

/* Add the contribution of each expert of a token: its weight times the product of the direction u
 * and its output, which includes its bias. The weights, and the divisor of a norm of their sum, are
 * treated as constant, which makes experts independent of each other. */
static int experts_back(struct way *way, size_t layer, const struct sublayer *s)
{
    const struct config *c = way->config;
    const struct mixture *mixture = s->mlp.mixture;
    const float *const *rows = way->rows[layer], *weights = rows[SITE_EXPERT_WEIGHTS];
    const float *x = rows[mixture->beside                ? SITE_LN_EXPERTS
                          : s->at_input                  ? s->at_input
                          : s->reads == READS_LAST_INPUT ? s[-1].at_input
                                                         : sublayer_end(s - 1)];
    float *whole = arena_alloc(&way->scratch, expert_width(c), sizeof *whole, way->err);
    const float **outs = arena_alloc(&way->scratch, expert_columns(c), sizeof *outs, way->err);
    double *u = way->added, sum = 0;
    if (!whole || !outs || sum_experts(way, whole, x, layer, weights, outs))
        return -1;
    for (size_t e = expert_columns(c); e-- > 0;) {
        bool shared = e == mixture->experts;
        if (e + 1 == mixture->experts && mixed_back(way, layer, mixture, &u, whole))
            return -1;
        double part = shared    ? dot_double_row(u, rows[SITE_SHARED_OUT], c->n_embd)
                      : outs[e] ? (double)weights[e] * dot_double_row(u, outs[e], expert_width(c))
                                : 0;
        sum += part;
        if (way->plan->by == BY_EXPERT)
            way->cells[0][layer * expert_columns(c) + e] += (float)part;
    }
    put(way, layer + 1, head_columns(c) + TERM_MLP, sum);
    return 0;
}

static int mlp_back(struct way *way, size_t layer, const struct sublayer *s,
                    const struct sublayer_weights *w)
{
    const struct config *c = way->config;
    const float *const *rows = way->rows[layer];
    if (output_back(way, layer, s, w))
        return -1;
    if (s->mlp.mixture)
        return experts_back(way, layer, s);
    const size_t term = s->branch == BRANCH_PER_LAYER ? TERM_PER_LAYER
                        : s->branch == BRANCH_LAUREL  ? TERM_LAUREL - !c->given
                                                      : TERM_MLP;
    const float *active = rows[SITE_OF(s->branch, SITE_MLP_ACT)];
    const size_t columns = way->columns[0].size;
    put(way, layer + 1, head_columns(c) + term, dot_double_row(way->inner, active, s->mlp.inner));
    if (term != TERM_MLP)
        return 0;
    for (size_t i = 0; way->plan->by == BY_NEURON && i < columns; i++)
        way->cells[0][layer * columns + i] +=
            i < s->mlp.inner ? (float)(way->inner[i] * (double)active[i]) : NAN;
    for (size_t e = 0; way->plan->by == BY_EXPERT && e < expert_columns(c); e++)
        way->cells[0][layer * expert_columns(c) + e] = NAN;
    return 0;
}

/* Return the site `id` in the branch whose stream the sublayer reads or writes at this site. */
static enum site stream_site(const struct sublayer *s, enum site id)
{
    return SITE_OF(sublayer_stream_branch(s, id), id);
}

/* Go back through the edits of the stream at up to three sites, from the last site to the first. */
static int stream_back(struct way *way, const struct sublayer *s, const enum site sites[3],
                       size_t layer)
{
    for (size_t i = 3; i-- > 0;)
        if (sites[i] && edits_back(way, way->u, stream_site(s, sites[i]), layer))
            return -1;
    return 0;
}

/* Go back through the layer's scale, a number that multiplies the stream. */
static int scale_back(struct way *way, size_t layer)
{
    const float *number = NULL;
    if (weights_vector(way->weights, slot_of(BRANCH_TEXT, SLOT_LAYER_SCALE, layer), &number,
                       way->err))
        return -1;
    for (size_t i = 0; i < way->config->n_embd; i++)
        way->u[i] *= (double)*number;
    return 0;
}

/* Go back through the norm of a sum: the stream x plus a sublayer's output. The norm's input is the
 * captured sum or, if none was captured, x + factor · output. */
static int sum_back(struct way *way, size_t layer, const struct sublayer *s, const float *x,
                    const struct norm *norm)
{
    const float *const *rows = way->rows[layer];
    const float *out = rows[s->norm_out ? SITE_OF(sublayer_outside(s), s->at_out_norm)
                                        : SITE_OF(s->branch, s->at_out)];
    size_t count = way->config->n_embd;
    float *sum = arena_room(&way->scratch, count, sizeof *sum, way->err);
    if (!sum)
        return -1;
    for (size_t i = 0; i < count; i++)
        sum[i] = s->at_sum[0] ? rows[stream_site(s, s->at_sum[0])][i] : x[i] + s->factor * out[i];
    norm_back(way, way->u, sum, count, norm);
    return 0;
}

/* --- copies of the stream ---------------------------------------------------------------------
 *
 * The factors that mix the copies are functions of the stream. Like the divisors of norms, they are
 * treated as constant: the copies are then linear in what each part adds. */

static const struct stream_copies *copies_of(const struct way *way)
{
    return &stack_of(way->config, BRANCH_TEXT)->copies;
}

static void add_direction(double *to, const double *u, size_t count, double factor)
{
    for (size_t i = 0; i < count; i++)
        to[i] += factor * u[i];
}

/* Compute y, the product of a copy's matrix and x, and the factor that gives y the mean square of
 * `like`. */
static int turn_copy(struct way *way, float *y, double *factor, struct weight *w, struct slot slot,
                     const float *x, const float *like)
{
    const size_t C = way->config->n_embd;
    if (weights_matrix(way->weights, slot, w, way->err))
        return -1;
    linear(&way->plan->viewer->machine, (struct matrix){y, 1, C, C},
           (struct matrix){(float *)x, 1, C, C}, w, ACTIVATION_NONE);
    *factor = copy_factor(y, like, C);
    return 0;
}

/* Go back from the direction u in a copy, which is a matrix times x, to the direction `to` in x.
 * `id` is the slot of the matrix. */
static int turn_back(struct way *way, double *to, double *u, int id, size_t copy, const float *x,
                     const float *like)
{
    const size_t C = way->config->n_embd;
    struct slot slot = slot_of_text(id);
    struct weight w;
    double factor = 0;
    float *y = arena_room(&way->scratch, C, sizeof *y, way->err);
    slot.expert = (short)(copy - 1);
    if (!y || turn_copy(way, y, &factor, &w, slot, x, like))
        return -1;
    for (size_t i = 0; i < C; i++)
        u[i] *= factor;
    return matrix_back(way, to, &w, u);
}

/* Go back from the merged stream, which is the mean of the first copy and the other copies, each
 * times its matrix. */
static int merged_back(struct way *way)
{
    const size_t C = way->config->n_embd, count = copies_of(way)->count;
    const float *streams = way->rows[way->config->n_layer - 1][SITE_STREAMS];
    for (size_t copy = 0; copy < count; copy++) {
        double *to = way->copies + copy * C;
        memset(to, 0, C * sizeof *to);
        add_direction(to, way->u, C, 1 / (double)count);
        memcpy(way->added, to, C * sizeof *to);
        if (copy &&
            turn_back(way, to, way->added, SLOT_COPY_OUT, copy, streams + copy * C, streams))
            return -1;
    }
    return 0;
}

/* Go back from the copies that enter the first layer to the embedding: each copy but the first is
 * the product of the embedding and a matrix. */
static int copied_back(struct way *way)
{
    const size_t C = way->config->n_embd;
    const float *x = way->rows[0][SITE_EMBEDDING];
    memcpy(way->u, way->copies, C * sizeof *way->u);
    for (size_t copy = 1; copy < copies_of(way)->count; copy++) {
        if (turn_back(way, way->added, way->copies + copy * C, SLOT_COPY_IN, copy, x, x))
            return -1;
        add_direction(way->u, way->added, C, 1);
    }
    return 0;
}

/* Return the row of the active copy of the stream that enters a layer; NULL with an error. */
static const float *active_copy(struct way *way, size_t layer)
{
    const size_t C = way->config->n_embd, active = copies_of(way)->active;
    const float *x = way->rows[0][SITE_EMBEDDING];
    struct slot slot = slot_of_text(SLOT_COPY_IN);
    struct weight w;
    double factor = 0;
    if (layer > 0)
        return way->rows[layer - 1][SITE_STREAMS] + active * C;
    if (!active)
        return x;
    float *y = arena_room(&way->scratch, C, sizeof *y, way->err);
    slot.expert = (short)(active - 1);
    if (!y || turn_copy(way, y, &factor, &w, slot, x, x))
        return NULL;
    scale_row(y, y, C, (float)factor);
    return y;
}

static const float *mixing(struct way *way, int id, size_t layer, const float *x)
{
    const struct run run = {
        .machine = &way->plan->viewer->machine, .config = way->config, .weights = way->weights};
    return forward_mixing(&run, id, layer, x, &way->scratch, way->err);
}

/* Go back from the corrected copies to the stream x that corrects them, and to the predicted
 * copies. */
static int corrected_back(struct way *way, size_t layer, const float *x)
{
    const size_t C = way->config->n_embd;
    if (edits_back(way, way->copies, SITE_CORRECTED, layer))
        return -1;
    const float *numbers = mixing(way, SLOT_COPY_CORRECT, layer, x);
    if (!numbers)
        return -1;
    memset(way->u, 0, C * sizeof *way->u);
    for (size_t copy = 0; copy < copies_of(way)->count; copy++)
        add_direction(way->u, way->copies + copy * C, C, 1 + (double)numbers[copy]);
    add_direction(way->copies + copies_of(way)->active * C, way->u, C, -1);
    return 0;
}

/* Go back from the predicted copies to the copies that enter the layer. */
static int predicted_back(struct way *way, size_t layer)
{
    const size_t C = way->config->n_embd, count = copies_of(way)->count;
    add_direction(way->copies + copies_of(way)->active * C, way->u, C, 1);
    if (edits_back(way, way->copies, SITE_PREDICTED, layer))
        return -1;
    const float *numbers = mixing(way, SLOT_COPY_PREDICT, layer, active_copy(way, layer));
    double *u = arena_room(&way->scratch, count * C, sizeof *u, way->err);
    if (!numbers || !u)
        return -1;
    memcpy(u, way->copies, count * C * sizeof *u);
    for (size_t to = 0; to < count; to++)
        for (size_t from = 0; from < count; from++)
            add_direction(way->copies + from * C, u + to * C, C,
                          (double)numbers[to * count + from]);
    return 0;
}

/* Prepare to go back through a sublayer. If it spreads its output over the copies of the stream, or
 * corrects them with it, compute the direction in the output from the copies; otherwise do
 * nothing. */
static int enter_back(struct way *way, size_t layer, const struct sublayer *s)
{
    const size_t C = way->config->n_embd;
    const enum site end = sublayer_end(s);
    if (s->spreads)
        memset(way->u, 0, C * sizeof *way->u);
    for (size_t copy = 1; s->spreads && copy < copies_of(way)->count; copy++)
        add_direction(way->u, way->copies + copy * C, C, 1);
    return s->corrects ? corrected_back(way, layer, way->rows[layer][SITE_OF(BRANCH_TEXT, end)])
                       : 0;
}

/* Go back from a layer's output to its input, in the residual stream. */
static int layer_back(struct way *way, size_t layer)
{
    const float *const *rows = way->rows[layer];
    const struct layer *own = layer_of(way->config, BRANCH_TEXT, layer);
    const size_t C = way->config->n_embd;
    bool beside = false;
    if (way->copies && edits_back(way, way->copies, SITE_STREAMS, layer))
        return -1;
    for (size_t i = own->count; i-- > 0;) {
        const struct sublayer *s = &own->sublayers[i];
        struct sublayer_weights w;
        const float *x = rows[i ? stream_site(s - 1, sublayer_end(s - 1)) : SITE_RESID_PRE];
        if (weights_sublayer(way->weights, s, layer, &w, way->err) || enter_back(way, layer, s) ||
            stream_back(way, s, s->at_after, layer) ||
            (s->norm_after && sum_back(way, layer, s, x, &w.norm)) ||
            stream_back(way, s, s->at_sum, layer) || (s->scales && scale_back(way, layer)))
            return -1;
        for (size_t k = 0; k < C; k++)
            way->u[k] *= (double)s->sum_factor;
        if (s->adds_input)
            memcpy(way->beside, way->u, C * sizeof *way->u);
        if ((s->kind == SUBLAYER_MLP ? mlp_back : heads_back)(way, layer, s, &w) ||
            (s->adds_to_normed && site_back(way, way->u, s->at_input, layer, x, &w.norm)) ||
            (beside && site_back(way, way->beside, s->at_input, layer, x, &w.norm)))
            return -1;
        if (beside)
            add_direction(way->u, way->beside, C, 1);
        beside = s->adds_input;
    }
    if (edits_back(way, way->u, SITE_RESID_PRE, layer) ||
        (way->copies && predicted_back(way, layer)))
        return -1;
    put_constants(way, layer + 1);
    return 0;
}

static const float *last_stream(const struct way *way)
{
    size_t last = way->config->n_layer - 1;
    const struct layer *own = layer_of(way->config, BRANCH_TEXT, last);
    if (way->copies)
        return way->rows[last][SITE_MERGED];
    return way->rows[last][sublayer_end(&own->sublayers[own->count - 1])];
}

/* Go back through the dense layer before the logits, norm(act(y · W + b)), from the direction u in
 * its output to the direction in y. Like the divisor of the norm, act(z) / z is treated as
 * constant, so the contributions still sum to the logit. */
static int dense_back(struct way *way, double *to, double *direction, const float *y)
{
    const struct unembed_rule rule = stack_of(way->config, BRANCH_TEXT)->unembed;
    struct weight dense;
    struct norm norm;
    if (edits_back(way, direction, SITE_TRANSFORM, 0) ||
        weights_matrix(way->weights, slot_of_text((int)rule.dense), &dense, way->err) ||
        weights_norm(way->weights, slot_of_text(SLOT_TRANSFORM_NORM), &norm, way->err))
        return -1;
    float *z = arena_alloc(&way->scratch, 2 * dense.out, sizeof *z, way->err);
    if (!z)
        return -1;
    struct matrix before = {z, 1, dense.out, dense.out}, after = before;
    after.data += dense.out;
    linear(&way->plan->viewer->machine, before, (struct matrix){(float *)y, 1, dense.in, dense.in},
           &dense, ACTIVATION_NONE);
    activate(after, before, NULL, rule.activation);
    if (rule.dense_norm)
        norm_back(way, direction, after.data, dense.out, &norm);
    for (size_t i = 0; i < dense.out; i++)
        direction[i] *= z[i] != 0 ? (double)after.data[i] / (double)z[i] : 0;
    return matrix_back(way, to, &dense, direction);
}

/* Return the input of the dense layer or, without such a layer, of the logits: the position's row,
 * or the mean of all tokens. */
static const float *take_end(struct way *way)
{
    const struct config *c = way->config;
    const float *rows = c->final_norm ? way->rows[0][SITE_LN_F] : last_stream(way);
    if (!way->of_all)
        return rows;
    float *means = arena_alloc(&way->scratch, c->n_embd, sizeof *means, way->err);
    for (size_t i = 0; means && i < c->n_embd; i++) {
        double sum = 0;
        for (size_t t = 0; t < way->tokens; t++)
            sum += (double)rows[t * c->n_embd + i];
        means[i] = (float)(sum / (double)way->tokens);
    }
    return means;
}

/* Compute the direction u in the last norm's output, and the logit before a cap. */
static int logits_back(struct way *way)
{
    const struct config *c = way->config;
    const float *logits = way->rows[0][SITE_LOGITS];
    struct weight words;
    const float *bias = NULL;
    double *direction = way->inner; /* all zeros so far */
    double divisor = c->logit_divisor > 0 ? (double)c->logit_divisor : 1;
    struct question *question = way->plan->question;
    way->attribution->logit = question_ask(question, logits, config_logits(c));
    if (weights_unembedding(way->weights, &words, way->err) ||
        weights_vector(way->weights, slot_of_text(SLOT_UNEMBED_BIAS), &bias, way->err))
        return -1;
    const long long ids[] = {question->answer, question->against};
    for (int of = 0; of < 2 && ids[of] >= 0; of++) {
        size_t id = (size_t)ids[of];
        double sign = of ? -1 : 1;
        way->bias += bias ? sign * (double)bias[id] / divisor : 0;
        for (size_t i = 0; i < words.in; i++)
            direction[i] += sign * (double)weight_element(&words, i, id);
    }
    for (size_t i = 0; i < words.in; i++)
        direction[i] /= divisor;
    const float *normed = take_end(way);
    if (!normed)
        return -1;
    if (stack_of(c, BRANCH_TEXT)->unembed.dense) {
        if (dense_back(way, way->u, direction, normed))
            return -1;
    } else if (c->n_word) {
        struct weight projection;
        if (weights_matrix(way->weights, slot_of_text(SLOT_PROJECT_OUT), &projection, way->err) ||
            matrix_back(way, way->u, &projection, direction))
            return -1;
    } else {
        memcpy(way->u, direction, c->n_embd * sizeof *direction);
    }
    if (c->logit_cap > 0)
        way->attribution->logit = dot_double_row(way->u, normed, c->n_embd) + way->bias;
    return 0;
}

/* Go back from the last norm's output to the stream after the last layer. */
static int end_back(struct way *way)
{
    const struct config *c = way->config;
    struct norm norm;
    if (c->final_norm &&
        (weights_norm(way->weights, slot_of_text(SLOT_FINAL_NORM), &norm, way->err) ||
         site_back(way, way->u, SITE_LN_F, 0, last_stream(way), &norm)))
        return -1;
    put_constants(way, c->n_layer + 1);
    return way->copies ? merged_back(way) : 0;
}

/* Compute the contributions of the embeddings of the token, the position and the segment. */
static int begin_back(struct way *way, const uint32_t *ids, const unsigned char *segments)
{
    const struct config *c = way->config;
    size_t width = config_word_width(c), sum = c->projects_last ? width : c->n_embd;
    double *u = way->u;
    float *token = arena_alloc(&way->scratch, width, sizeof *token, way->err);
    float *place = arena_alloc(&way->scratch, c->n_embd, sizeof *place, way->err);
    float *x = arena_alloc(&way->scratch, c->n_embd, sizeof *x, way->err);
    struct weight projection;
    struct norm norm;
    if (!token || !place || !x || (way->copies && copied_back(way)) ||
        edits_back(way, way->u, SITE_EMBEDDING, 0))
        return -1;
    weights_embed_token(way->weights, BRANCH_TEXT, token, ids[way->position]);
    scale_row(token, token, width,
              embed_scale(&stack_of(c, BRANCH_TEXT)->embed, ids, way->tokens, way->position));
    weights_add_position(way->weights, BRANCH_TEXT, place, config_position(c, ids, way->position));
    weights_add_segment(way->weights, place, segments ? segments[way->position] : 0);
    if (c->n_word &&
        weights_matrix(way->weights, slot_of_text(SLOT_EMBED_PROJECT), &projection, way->err))
        return -1;
    if (c->n_word && c->projects_last) {
        if (matrix_back(way, way->inner, &projection, u))
            return -1;
        u = way->inner;
    }
    if (c->embedding_norm) {
        for (size_t i = 0; i < sum; i++)
            x[i] = token[i] + place[i];
        if (weights_norm(way->weights, slot_of_text(SLOT_EMBED_NORM), &norm, way->err))
            return -1;
        norm_back(way, u, x, sum, &norm);
    }
    put(way, 0, head_columns(c) + TERM_POSITION, dot_double_row(u, place, sum));
    if (c->n_word && !c->projects_last) {
        if (matrix_back(way, way->inner, &projection, u))
            return -1;
        u = way->inner;
    }
    put(way, 0, head_columns(c) + TERM_TOKEN, dot_double_row(u, token, width));
    put_constants(way, 0);
    return 0;
}

/* Go back from the last norm to the embedding. If the logit is computed from the mean of all
 * tokens, go back from each token's norm in turn. */
static int tokens_back(struct way *way, const struct tokenized *text)
{
    const struct config *c = way->config;
    const size_t count = way->of_all ? way->tokens : 1;
    double *whole = arena_alloc(&way->scratch, c->n_embd, sizeof *whole, way->err);
    if (!whole)
        return -1;
    for (size_t i = 0; i < c->n_embd; i++)
        whole[i] = way->u[i] / (double)count;
    for (size_t t = 0; t < count; t++) {
        memcpy(way->u, whole, c->n_embd * sizeof *whole);
        way->position = way->of_all ? t : way->position;
        if (end_back(way))
            return -1;
        for (size_t layer = c->n_layer; layer-- > 0;)
            if (layer_back(way, layer))
                return -1;
        if (begin_back(way, text->ids, text->segments))
            return -1;
        for (size_t layer = 0; layer < c->n_layer && t + 1 < count; layer++)
            for (size_t site = 0; site < SITE_COUNT; site++)
                if (way->steps[layer][site])
                    way->rows[layer][site] += way->steps[layer][site];
    }
    return 0;
}

/* --- report ----------------------------------------------------------------------------------- */

/* Make the columns of one reader's result, and its contributions, which are all 0 at first. */
static int make_cells(struct way *way, size_t reader, const struct tokenized *keys,
                      struct arena *arena)
{
    static const char *const parts[TERMS] = {"mlp",       "bias",   "token", "place",
                                             "per_layer", "laurel", "edits"};
    const struct config *c = way->config;
    const bool has[TERMS] = {true, true, true, true, c->given, c->laurel, way->edits != NULL};
    const enum attribution_by by = way->plan->by;
    struct axis *axis = &way->columns[reader];
    size_t rows = c->n_layer * (by == BY_KEY ? heads_of(c, reader) : 1) + 2 * (by == BY_PART);
    size_t one, neurons;
    int failed = 0;
    if (by == BY_KEY) {
        *axis = (struct axis){"key", keys->count, keys->labels, -(ptrdiff_t)keys->words_before};
    } else if (by == BY_NEURON) {
        site_most(&one, &neurons, c, SITE_MLP_ACT);
        failed = axis_of_numbers(axis, "neuron", NULL, neurons, arena, way->err);
    } else if (by == BY_FEATURE) {
        axis->name = "feature";
        failed = axis_add_numbers(axis, "", way->plan->dictionary->count, arena, way->err) ||
                 axis_add(axis, "bias", arena, way->err) ||
                 axis_add(axis, "error", arena, way->err) ||
                 axis_add(axis, "rest", arena, way->err);
    } else if (by == BY_EXPERT) {
        axis->name = "expert";
        const struct mixture *mixture = &c->mixture;
        failed = axis_add_numbers(axis, "", mixture->experts, arena, way->err) ||
                 (mixture->shared_inner && axis_add(axis, "shared", arena, way->err));
    } else {
        axis->name = "part";
        for (size_t of = 0; of < READERS && !failed; of++)
            failed =
                of == OF_MIXER && mixer_of_channels(&c->mixer)
                    ? axis_add(axis, "mixer", arena, way->err)
                    : axis_add_numbers(axis, readers[of].prefix, heads_of(c, of), arena, way->err);
        for (size_t i = 0; i < TERMS && !failed; i++)
            if (has[i])
                failed = axis_add(axis, parts[i], arena, way->err);
    }
    if (!failed)
        way->cells[reader] = arena_alloc(arena, rows * axis->size, sizeof(float), way->err);
    return way->cells[reader] ? 0 : -1;
}

/* Add an array with a row for each stage, or only for the listed layers. BY_KEY: add for each layer
 * an array with a row for each head. */
static int report_cells(struct report *report, const struct way *way, size_t reader,
                        struct arena *arena)
{
    const struct config *c = way->config;
    const struct layers listed = way->plan->layers;
    struct err *err = way->err;
    const enum attribution_by by = way->plan->by;
    bool by_key = by == BY_KEY;
    size_t before = by == BY_PART, columns = way->columns[reader].size;
    size_t count = by == BY_FEATURE ? 1 : listed.count ? listed.count : c->n_layer + 2 * before;
    size_t *numbers = arena_alloc(arena, count, sizeof *numbers, err);
    float *cells = way->cells[reader];
    const size_t heads = heads_of(c, reader);
    struct array array = {
        .name = by_key ? readers[reader].by_key : attribution_ways[by].tensor,
        .layer = -1,
        .data = cells,
        .rows.name = "layer",
        .columns = way->columns[reader],
        .display.parts = true,
    };
    for (size_t i = 0; numbers && i < count; i++) {
        size_t row = numbers[i] = listed.count ? listed.items[i] + before : i;
        if (by_key) {
            array.layer = (int)row;
            array.data = cells + row * heads * columns;
            if (site_is_in_layer(c, SITE_OF(readers[reader].branch, SITE_CONTEXT), row) &&
                (axis_of_heads(&array.rows, row, heads, arena, err) ||
                 report_add_array(report, &array, arena, err)))
                return -1;
            continue;
        }
        if (by == BY_FEATURE)
            numbers[i] = way->plan->dictionary->layer;
        const char *name = row < before ? "embed"
                           : row == c->n_layer + before
                               ? "final"
                               : arena_format(arena, err, "%zu", numbers[i] - before);
        memmove(cells + i * columns, cells + row * columns, columns * sizeof *cells);
        if (axis_add(&array.rows, name, arena, err))
            return -1;
    }
    array.rows.numbers = numbers;
    return err_if(!numbers || (!by_key && report_add_array(report, &array, arena, err)));
}

int attribution_make(struct attribution *attribution, struct report *report,
                     const struct attribution_plan *plan, struct arena *arena, struct err *err)
{
    struct viewer *viewer = plan->viewer;
    struct tokenized *text = &report->text;
    struct way way = {
        .attribution = attribution,
        .plan = plan,
        .config = &viewer->model.config,
        .weights = &viewer->model.weights,
        .edits = viewer->edits,
        .position = plan->question->position,
        .tokens =
            config_is_causal(&viewer->model.config) ? plan->question->position + 1 : text->count,
        .whole = text->count,
        .source = &report->source,
        .of_all = stack_of(&viewer->model.config, BRANCH_TEXT)->unembed.mean,
        .err = err,
    };
    const struct config *c = way.config;
    size_t inner = num_max(config_word_width(c), c->mixture.latent);
    *attribution = (struct attribution){0};
    if (logits_check(viewer, 0, err) || features_expect(TO_ATTRIBUTE, c, viewer->model.name, err))
        return -1;
    for (size_t i = 0; viewer->edits && i < viewer->edits->count; i++)
        if (viewer->edits->items[i].op == EDIT_PROJECT ||
            viewer->edits->items[i].function == feature_edit_apply)
            return err_unsupported(err,
                                   "%s: expected edits of single numbers, found one of whole rows: "
                                   "'attn-cli lens' or 'patch' measure the edited run",
                                   viewer->edits->items[i].words);
    bool mixes = c->mixture.experts;
    if (mixes ? plan->by == BY_NEURON : plan->by == BY_EXPERT)
        return err_unsupported(err, "--by %s: expected a model with%s experts, found one with%s",
                               attribution_ways[plan->by].name, mixes ? "out" : "",
                               mixes ? ": use --by expert" : "out");
    if (plan->by == BY_NEURON && !site_exists(c, SITE_MLP_ACT))
        return err_unsupported(err, "--by neuron: expected a model with MLPs, found one without");
    for (size_t layer = 0; layer < c->n_layer; layer++) {
        const struct layer *own = layer_of(c, BRANCH_TEXT, layer);
        for (const struct sublayer *s = own->sublayers; s < own->sublayers + own->count; s++)
            inner =
                num_max(inner, s->kind == SUBLAYER_MLP ? s->mlp.inner
                                                       : count_contexts(s) * width_of_context(s));
    }
    text->count = way.tokens;
    if (text->pair.bytes && text->second < way.tokens)
        text->pair.size = text->tokens[way.tokens - 1].end;
    else if (text->raw)
        text->size = text->tokens[way.tokens - 1].end;
    way.u = arena_alloc(&way.scratch, c->n_embd, sizeof *way.u, err);
    way.added = arena_alloc(&way.scratch, c->n_embd, sizeof *way.added, err);
    way.inner = arena_alloc(&way.scratch, inner, sizeof *way.inner, err);
    way.beside = arena_alloc(&way.scratch, c->n_embd, sizeof *way.beside, err);
    if (copies_of(&way)->count)
        way.copies =
            arena_alloc(&way.scratch, copies_of(&way)->count * c->n_embd, sizeof *way.copies, err);
    const size_t shown = plan->by == BY_KEY ? READERS : 1;
    int failed = err->kind != 0;
    for (size_t of = 0; of < shown && !failed; of++)
        failed = make_cells(&way, of, of == OF_CROSS ? way.source : text, arena);
    failed = failed || run(&way, text) || logits_back(&way) || tokens_back(&way, text);
    if (!failed && plan->by == BY_FEATURE) {
        way.cells[0][plan->dictionary->count + FEATURE_REST] += (float)attribution->sum;
        if (!way.is_split)
            failed = err_unsupported(err,
                                     "--by feature: expected features of what is added to the "
                                     "stream, found those of '%s'",
                                     site_name(plan->dictionary->site_out));
    }
    for (size_t of = 0; of < shown && !failed; of++)
        failed = report_cells(report, &way, of, arena);
    failed =
        failed || report_add_strongest(report, attribution_ways[plan->by].tensor, 0, arena, err);
    report->shows_arrays = true;
    arena_release(&way.scratch);
    return err_if(failed);
}

void attribution_add_memory(struct memory *memory, const struct viewer *viewer,
                            enum attribution_by by, const struct text_with_source *pair)
{
    const struct config *c = &viewer->model.config;
    struct selection selection = {0};
    if (by == BY_KEY)
        selection.sites = SITE_SET(SITE_WEIGHTS, MIXER(WEIGHTS));
    size_t keys = pair->text.count + pair->source.count;
    const size_t heads = num_max(head_columns(c), c->mixer.heads);
    size_t numbers = by == BY_KEY ? keys * (2 * heads + c->n_embd)
                                  : 2 * c->n_inner; /* number of floats in the captured rows and the
                                                     * results of one layer */
    if (stack_of(c, BRANCH_TEXT)->unembed.mean)     /* the rows of all tokens are captured */
        numbers += keys * (CAPTURED_SITES * c->n_embd + c->n_inner + keys * c->n_head);
    viewer_add_memory(memory, viewer, &selection, pair, CAPTURE_NOTHING);
    memory->held += (double)c->n_layer * (double)numbers * sizeof(float);
}
