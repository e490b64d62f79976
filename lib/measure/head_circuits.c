#include "measure/head_circuits.h"

#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/rng.h"
#include "model/features.h"
#include "model/layer.h"
#include "model/points.h"

enum { ROWS_AT_ONCE = 64 }; /* rows of logits that are computed at a time */

int circuits_check(const struct model *model, bool of_logits, struct err *err)
{
    const struct config *c = &model->config;
    if (of_logits && !site_exists(c, SITE_LOGITS))
        return err_unsupported(err, "'%s': a model of type \"%s\" has no logits", model->name,
                               config_kind_name(c));
    if (c->kind == MODEL_ATTENTION || !c->out_proj || !c->projections)
        return err_unsupported(err,
                               "'%s': expected a model with a residual stream, found type \"%s\"",
                               model->name, config_kind_name(c));
    return features_expect(of_logits ? FOR_WORDS : FOR_CIRCUITS, c, model->name, err);
}

int circuits_all_words(struct circuit_words *words, const struct viewer *viewer, uint64_t seed,
                       struct arena *arena, struct err *err)
{
    size_t size = viewer->model.config.vocab_size;
    size_t count = size > CIRCUIT_WORDS_ALL ? CIRCUIT_WORDS_SAMPLE : size;
    uint32_t *all = arena_alloc(arena, size, sizeof *all, err);
    uint32_t *ids = arena_alloc(arena, count, sizeof *ids, err);
    if (!all || !ids)
        return -1;
    for (size_t i = 0; i < size; i++)
        all[i] = (uint32_t)i;
    for (size_t i = 0; i < count; i++) {
        size_t first = i * size / count;
        ids[i] = (uint32_t)(first + rng_below(seed, i, (i + 1) * size / count - first));
    }
    *words = (struct circuit_words){ids, ids, count, all, size};
    return 0;
}

/* The attention of a layer, and of the layer whose keys and values it reads. */
struct attending {
    const struct sublayer *s, *of_keys;
    struct attention_weights own, keys;
    struct weight v; /* W_V, which may be the same matrix as W_K */
};

static int find_attending(struct attending *a, struct weights *weights, size_t layer,
                          struct err *err)
{
    a->s = attention_of(weights->config, BRANCH_TEXT, layer);
    a->of_keys = attention_of(weights->config, BRANCH_TEXT, a->s->head.kv_layer);
    if (weights_attention(weights, BRANCH_TEXT, layer, &a->own, err) ||
        weights_attention(weights, BRANCH_TEXT, a->s->head.kv_layer, &a->keys, err))
        return -1;
    a->v = a->s->head.v_is_k ? a->keys.k : a->keys.v;
    return 0;
}

/* --- from tokens to logits -------------------------------------------------------------------- */

struct circuit {
    const struct circuit_words *words;
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    struct matrix embeddings; /* [count, C] embeddings of the words that are read */
    struct weight to_logits;  /* [C or n_word, V] the unembedding */
    int (*take)(struct circuit *, size_t layer, size_t head, struct matrix read, struct matrix out);
    size_t shift;                /* for the baseline, each pair gets the second word of the pair
                                  * that is `shift` pairs later */
    struct mean *found, *random; /* [heads] counts of pairs, as in circuits_count */
    struct matrix changes;       /* [heads · across, C or n_word] what each head adds to the stream
                                  * when it reads each of its `across` words */
    size_t across;
    struct arena arena, of_layer;
    struct err *err;
};

static int embed(struct circuit *circuit)
{
    const struct config *c = circuit->config;
    const struct circuit_words *words = circuit->words;
    struct arena *arena = &circuit->arena;
    struct matrix tokens = matrix_new(words->count, config_word_width(c), arena, circuit->err);
    struct matrix stream = tokens;
    struct weight projection;
    struct norm norm;
    if (!tokens.data)
        return -1;
    for (size_t i = 0; i < words->count; i++)
        weights_embed_token(circuit->weights, BRANCH_TEXT, matrix_row(tokens, i), words->from[i]);
    float scale = c->embedding_scale;
    for (size_t layer = 0; layer < c->n_layer && c->layer_scale; layer++) {
        const float *number = NULL; /* factor of the layer's output; only its sign counts */
        if (weights_vector(circuit->weights, slot_of(BRANCH_TEXT, SLOT_LAYER_SCALE, layer), &number,
                           circuit->err))
            return -1;
        scale = *number < 0 ? -scale : scale;
    }
    scale_row(tokens.data, tokens.data, tokens.rows * tokens.columns, scale);
    if (c->n_word) {
        stream = matrix_new(words->count, c->n_embd, arena, circuit->err);
        if (!stream.data || weights_matrix(circuit->weights, slot_of_text(SLOT_EMBED_PROJECT),
                                           &projection, circuit->err))
            return -1;
        linear(circuit->machine, stream, tokens, &projection, ACTIVATION_NONE);
    }
    if (c->embedding_norm) {
        if (weights_norm(circuit->weights, slot_of_text(SLOT_EMBED_NORM), &norm, circuit->err))
            return -1;
        norm_rows(stream, stream, &norm);
    }
    circuit->embeddings = stream;
    return 0;
}

/* Apply a norm to rows, without its divisor and shift. */
static void apply_scales(struct matrix rows, const struct norm *norm)
{
    for (size_t i = 0; i < rows.rows; i++) {
        float *row = matrix_row(rows, i);
        float mean = norm->rms ? 0 : sum_row(row, rows.columns) / (float)rows.columns;
        for (size_t k = 0; k < rows.columns; k++)
            row[k] = (row[k] - mean) * (norm->scale[k] + norm->offset);
    }
}

/* Compute W_O [H · dv, C], passed through the norms after it (without their divisors and shifts)
 * and, if there is one, the projection to embedding channels: [H · dv, C or n_word]. */
static int end_of_layer(struct circuit *circuit, struct matrix *out, const struct sublayer *s,
                        const struct attention_weights *w)
{
    const struct config *c = circuit->config;
    struct norm norm;
    struct weight projection;
    *out = matrix_new(c->n_head * s->head.d_v, c->n_embd, &circuit->of_layer, circuit->err);
    if (!out->data)
        return -1;
    weight_copy(out->data, c->n_embd, &w->out, (struct weight_piece){0, out->rows, 0});
    if (s->norm_out)
        apply_scales(*out, &w->post);
    if (c->final_norm) {
        if (weights_norm(circuit->weights, slot_of_text(SLOT_FINAL_NORM), &norm, circuit->err))
            return -1;
        apply_scales(*out, &norm);
    }
    if (!c->n_word)
        return 0;
    struct matrix narrow = matrix_new(out->rows, c->n_word, &circuit->of_layer, circuit->err);
    if (!narrow.data ||
        weights_matrix(circuit->weights, slot_of_text(SLOT_PROJECT_OUT), &projection, circuit->err))
        return -1;
    linear(circuit->machine, narrow, *out, &projection, ACTIVATION_NONE);
    *out = narrow;
    return 0;
}

/* Return the index of the maximum, or `count` if the maximum is not unique. */
static size_t index_of_largest(const float *row, size_t count)
{
    size_t best = 0;
    bool twice = false;
    for (size_t i = 1; i < count; i++) {
        twice = row[i] > row[best] ? false : twice || row[i] == row[best];
        best = row[i] > row[best] ? i : best;
    }
    return twice ? count : best;
}

/* Count the pairs whose second word a head raises most. read [count, dv] has the head's values of
 * the first words; out [dv, C or n_word] is the head's part of W_O, from end_of_layer. */
static int count_head(struct circuit *circuit, size_t layer, size_t head, struct matrix read,
                      struct matrix out)
{
    const struct circuit_words *words = circuit->words;
    struct arena arena = {0};
    struct matrix all = matrix_new(out.rows, circuit->to_logits.out, &arena, circuit->err);
    struct matrix part = matrix_new(out.rows, words->among_count, &arena, circuit->err);
    struct matrix logits = matrix_new(ROWS_AT_ONCE, words->among_count, &arena, circuit->err);
    size_t hits[2] = {0};
    int failed = !all.data || !part.data || !logits.data;
    if (!failed)
        linear(circuit->machine, all, out, &circuit->to_logits, ACTIVATION_NONE);
    for (size_t i = 0; i < part.rows && !failed; i++)
        for (size_t k = 0; k < part.columns; k++)
            part.data[i * part.stride + k] = all.data[i * all.stride + words->among[k]];
    struct weight weight = {
        .data = part.data, .in = part.rows, .out = part.columns, .stride = part.stride};
    for (size_t first = 0; first < read.rows && !failed; first += ROWS_AT_ONCE) {
        logits.rows = num_min(read.rows - first, ROWS_AT_ONCE);
        linear(circuit->machine, logits, matrix_rows(read, first, logits.rows), &weight,
               ACTIVATION_NONE);
        for (size_t i = first; i < first + logits.rows; i++) {
            size_t best = index_of_largest(matrix_row(logits, i - first), logits.columns);
            if (best == logits.columns)
                continue;
            hits[0] += words->among[best] == words->to[i];
            hits[1] += words->among[best] == words->to[(i + circuit->shift) % words->count];
        }
    }
    arena_release(&arena);
    if (failed)
        return -1;
    size_t index = layer * circuit->config->n_head + head;
    circuit->found[index] = (struct mean){(double)hits[0], words->count, 0};
    circuit->random[index] = (struct mean){(double)hits[1], words->count, 0};
    return 0;
}

/* Insert a token into the list of the largest changes (sign 1) or the smallest (sign -1), unless
 * its change is too small for the list. */
static void promote(struct promoted *best, float sign, uint32_t id, float change)
{
    size_t at = PROMOTIONS;
    for (; at && sign * change > sign * best[at - 1].change; at--)
        if (at < PROMOTIONS)
            best[at] = best[at - 1];
    if (at < PROMOTIONS)
        best[at] = (struct promoted){id, change};
}

/* Compute the output of a head to the stream when it reads each of its `across` words. */
static int change_head(struct circuit *circuit, size_t layer, size_t head, struct matrix read,
                       struct matrix out)
{
    const size_t first = (layer * circuit->config->n_head + head) * circuit->across;
    struct weight weight = {
        .data = out.data, .in = out.rows, .out = out.columns, .stride = out.stride};
    linear(circuit->machine, matrix_rows(circuit->changes, first, circuit->across),
           matrix_rows(read, first, circuit->across), &weight, ACTIVATION_NONE);
    return 0;
}

/* Find the tokens whose logits the changes raise and lower most. */
static int find_promoted(struct circuit *circuit, struct promotion *promotions, struct arena *arena)
{
    struct matrix changes = circuit->changes;
    struct matrix logits = matrix_new(ROWS_AT_ONCE, circuit->to_logits.out, arena, circuit->err);
    for (size_t first = 0; logits.data && first < changes.rows; first += ROWS_AT_ONCE) {
        logits.rows = num_min(changes.rows - first, ROWS_AT_ONCE);
        linear(circuit->machine, logits, matrix_rows(changes, first, logits.rows),
               &circuit->to_logits, ACTIVATION_NONE);
        for (size_t i = 0; i < logits.rows; i++) {
            struct promotion *promotion = &promotions[first + i];
            const float *row = matrix_row(logits, i);
            for (size_t k = 0; k < PROMOTIONS; k++) {
                promotion->raised[k].change = -INFINITY;
                promotion->lowered[k].change = INFINITY;
            }
            for (size_t id = 0; id < logits.columns; id++) {
                promote(promotion->raised, 1, (uint32_t)id, row[id]);
                promote(promotion->lowered, -1, (uint32_t)id, row[id]);
            }
        }
    }
    return err_if(!logits.data);
}

static int take_layer(struct circuit *circuit, size_t layer)
{
    const struct config *c = circuit->config;
    struct matrix words = circuit->embeddings;
    struct matrix out;
    const struct head_rule *rule = &attention_of(c, BRANCH_TEXT, layer)->head;
    const size_t d = context_width(rule), contexts = context_heads(rule);
    struct attending a;
    struct lambda lambda;
    arena_clear(&circuit->of_layer);
    struct matrix normed = matrix_new(words.rows, words.columns, &circuit->of_layer, circuit->err);
    struct matrix read =
        matrix_new(words.rows, rule->kv_heads * rule->d_v, &circuit->of_layer, circuit->err);
    struct matrix joined =
        rule->differ > 0 ? matrix_new(words.rows, read.columns, &circuit->of_layer, circuit->err)
                         : read;
    if (!normed.data || !read.data || !joined.data ||
        find_attending(&a, circuit->weights, layer, circuit->err) ||
        end_of_layer(circuit, &out, a.s, &a.own) ||
        (rule->differ > 0 &&
         weights_lambda(circuit->weights, BRANCH_TEXT, layer, &lambda, circuit->err)))
        return -1;
    if (a.of_keys->norm_before)
        norm_rows(normed, words, &a.keys.norm);
    else
        copy_rows(normed, words);
    a.v.bias = NULL;
    linear(circuit->machine, read, normed, &a.v, ACTIVATION_NONE);
    for (size_t i = 0; rule->differ > 0 && i < read.rows; i++)
        context_values(matrix_row(joined, i), matrix_row(read, i), rule, 1);
    for (size_t head = 0; head < c->n_head; head++) {
        const size_t context = head % contexts, values = kv_head_of(rule, context);
        if (head == contexts) /* from here on, each head is the second head of its context */
            scale_row(out.data, out.data, out.rows * out.columns, -lambda.lambda);
        if (circuit->take(circuit, layer, head, matrix_columns(joined, values * d, d),
                          matrix_rows(out, context * d, d)))
            return -1;
    }
    return 0;
}

static int take_heads(struct circuit *circuit, struct viewer *viewer)
{
    circuit->machine = &viewer->machine;
    circuit->config = &viewer->model.config;
    circuit->weights = &viewer->model.weights;
    int failed = circuits_check(&viewer->model, true, circuit->err) || embed(circuit) ||
                 weights_unembedding(circuit->weights, &circuit->to_logits, circuit->err);
    for (size_t layer = 0; layer < circuit->config->n_layer && !failed; layer++)
        failed = take_layer(circuit, layer);
    arena_release(&circuit->of_layer);
    arena_release(&circuit->arena);
    return err_if(failed);
}

int circuits_count(struct mean *found, struct mean *random, const struct circuit_words *words,
                   struct viewer *viewer, uint64_t seed, struct err *err)
{
    struct circuit circuit = {
        .words = words, .take = count_head, .found = found, .random = random, .err = err};
    if (words->count > 1)
        circuit.shift = 1 + rng_below(seed, 0, words->count - 1);
    return take_heads(&circuit, viewer);
}

int circuits_promote(struct promotion *promotions, size_t across, struct viewer *viewer,
                     struct err *err)
{
    const struct config *c = &viewer->model.config;
    const size_t count = c->n_layer * c->n_head * across;
    struct arena arena = {0};
    uint32_t *from = arena_alloc(&arena, count, sizeof *from, err);
    const struct circuit_words words = {.from = from, .count = count};
    struct circuit circuit = {.words = &words,
                              .take = change_head,
                              .changes = matrix_new(count, config_word_width(c), &arena, err),
                              .across = across,
                              .err = err};
    for (size_t i = 0; from && i < count; i++)
        from[i] = promotions[i].from;
    int failed = !from || !circuit.changes.data || take_heads(&circuit, viewer) ||
                 find_promoted(&circuit, promotions, &arena);
    arena_release(&arena);
    return err_if(failed);
}

/* --- composition ---------------------------------------------------------------------------------
 *
 * With A = V·O, B = X·Yᵀ, shapes [C, d] and [d, C], and M = O·X [d, d], d × d products suffice:
 *
 *     ‖A·B‖² = ‖V·M·Yᵀ‖² = Σ (VᵀV·M) ∘ (M·YᵀY)        ‖A‖² = Σ VᵀV ∘ O·Oᵀ
 *
 * where (X, Y) is (Q, K), (K, Q) or (V, Oᵀ) of the later head. */

const char *const composition_names[COMPOSITIONS] = {"q", "k", "v"};

enum { CIRCUIT_Q, CIRCUIT_K, CIRCUIT_V, CIRCUIT_O, CIRCUIT_MATRICES };

/* A matrix of a layer as [C, heads · d] (W_O transposed), and the Gram matrix of each head. */
struct circuit_matrix {
    struct matrix columns;
    size_t heads, size;
    double *squares; /* [heads, d, d] Gram matrix of each head's columns */
};

struct circuit_layer {
    struct circuit_matrix matrices[CIRCUIT_MATRICES];
    double *lengths; /* [contexts] ‖V·O‖ of each context */
};

/* Writers are the contexts of a layer; readers are its heads or, for composition by values, its
 * contexts. */
static size_t writers_of(const struct config *c)
{
    return site_heads(c, SITE_CONTEXT, 0);
}

static size_t readers_of(const struct config *c, enum composition way)
{
    return way == COMPOSE_V ? writers_of(c) : c->n_head;
}

static int square(struct circuit_matrix *matrix, struct arena *arena, struct err *err)
{
    size_t d = matrix->size;
    matrix->squares = arena_alloc(arena, matrix->heads * d * d, sizeof *matrix->squares, err);
    for (size_t head = 0; matrix->squares && head < matrix->heads; head++) {
        double *squares = matrix->squares + head * d * d;
        for (size_t c = 0; c < matrix->columns.rows; c++) {
            const float *x = matrix_row(matrix->columns, c) + head * d;
            for (size_t i = 0; i < d; i++)
                for (size_t k = 0; k < d; k++)
                    squares[i * d + k] += (double)x[i] * (double)x[k];
        }
    }
    return matrix->squares ? 0 : -1;
}

/* Load W_Q, W_K or W_V, with the norm before it and, unless `after` is NULL, the scales of the norm
 * after it. */
static void load_in(struct circuit_matrix *matrix, const struct sublayer *s, const struct weight *w,
                    const struct norm *before, const struct norm *after)
{
    struct matrix m = matrix->columns;
    weight_copy(m.data, m.columns, w, (struct weight_piece){0, m.rows, 0});
    for (size_t i = 0; after && i < m.rows; i++)
        for (size_t k = 0; k < m.columns; k++)
            m.data[i * m.stride + k] *=
                after->scale[s->head.norm.whole ? k : k % matrix->size] + after->offset;
    if (!s->norm_before)
        return;
    for (size_t i = 0; i < m.rows; i++)
        scale_row(matrix_row(m, i), matrix_row(m, i), m.columns, before->scale[i] + before->offset);
    for (size_t k = 0; k < m.columns && !before->rms; k++) {
        double mean = 0;
        for (size_t i = 0; i < m.rows; i++)
            mean += (double)m.data[i * m.stride + k] / (double)m.rows;
        for (size_t i = 0; i < m.rows; i++)
            m.data[i * m.stride + k] -= (float)mean;
    }
}

/* Load W_O, transposed, with the norm after it. */
static int load_out(struct circuit_matrix *matrix, const struct sublayer *s,
                    const struct attention_weights *w, struct err *err)
{
    struct arena arena = {0};
    struct matrix m = matrix->columns;
    struct matrix out = matrix_new(m.columns, m.rows, &arena, err);
    if (!out.data)
        return -1;
    weight_copy(out.data, out.columns, &w->out, (struct weight_piece){0, out.rows, 0});
    if (s->norm_out)
        apply_scales(out, &w->post);
    transpose(m, out);
    arena_release(&arena);
    return 0;
}

static double product(const double *a, const double *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static const double *squares_of(const struct circuit_matrix *matrix, size_t head, size_t heads)
{
    return matrix->squares + head / (heads / matrix->heads) * matrix->size * matrix->size;
}

static double length(const struct circuit_matrix *x, const struct circuit_matrix *y, size_t head,
                     size_t heads)
{
    return sqrt(product(squares_of(x, head, heads), squares_of(y, head, heads), x->size * x->size));
}

/* Put the columns of two key/value heads that make one context side by side. */
static int join_values(struct circuit_matrix *matrix, const struct head_rule *rule,
                       struct arena *arena, struct err *err)
{
    struct matrix from = matrix->columns;
    matrix->heads /= 2;
    matrix->size *= 2;
    matrix->columns = matrix_new(from.rows, from.columns, arena, err);
    for (size_t i = 0; matrix->columns.data && i < from.rows; i++)
        context_values(matrix_row(matrix->columns, i), matrix_row(from, i), rule, 1);
    return err_if(!matrix->columns.data);
}

static int load_layer(struct circuit_layer *layer, struct viewer *viewer, size_t number,
                      struct arena *arena, struct err *err)
{
    const struct config *c = &viewer->model.config;
    struct attending a;
    if (find_attending(&a, &viewer->model.weights, number, err))
        return -1;
    const struct weight *const weights[] = {&a.own.q, &a.keys.k, &a.v};
    const struct norm *const norms[] = {&a.own.q_norm, &a.keys.k_norm};
    const struct head_rule *rule = &a.s->head;
    for (int i = 0; i < CIRCUIT_MATRICES; i++) {
        struct circuit_matrix *matrix = &layer->matrices[i];
        const bool of_keys = i == CIRCUIT_K || i == CIRCUIT_V;
        matrix->heads = of_keys          ? rule->kv_heads
                        : i == CIRCUIT_O ? context_heads(rule)
                                         : rule->heads;
        matrix->size = i == CIRCUIT_O   ? context_width(rule)
                       : i == CIRCUIT_V ? rule->d_v
                                        : rule->d_k;
        matrix->columns = matrix_new(c->n_embd, matrix->heads * matrix->size, arena, err);
        if (!matrix->columns.data || (i == CIRCUIT_O && load_out(matrix, a.s, &a.own, err)))
            return -1;
        if (i != CIRCUIT_O)
            load_in(matrix, of_keys ? a.of_keys : a.s, weights[i],
                    of_keys ? &a.keys.norm : &a.own.norm,
                    rule->norm.q && i < CIRCUIT_V ? norms[i] : NULL);
        if (i == CIRCUIT_V && rule->differ > 0 && join_values(matrix, rule, arena, err))
            return -1;
        if (square(matrix, arena, err))
            return -1;
    }
    const size_t writers = writers_of(c);
    layer->lengths = arena_alloc(arena, writers, sizeof *layer->lengths, err);
    for (size_t head = 0; layer->lengths && head < writers; head++)
        layer->lengths[head] =
            length(&layer->matrices[CIRCUIT_V], &layer->matrices[CIRCUIT_O], head, writers);
    return layer->lengths ? 0 : -1;
}

/* Return ‖V·M·Yᵀ‖ of a head and a later head. v [dv, dv] and y [d, d] are the Gram matrices of V
 * and Y, m [dv, d] is M; `scratch` is memory for two matrices of the size of m. */
static double composed(const double *v, struct matrix m, const double *y, double *scratch)
{
    size_t rows = m.rows;
    size_t columns = m.columns;
    double *left = scratch;
    double *right = scratch + rows * columns;
    memset(scratch, 0, 2 * rows * columns * sizeof *scratch);
    for (size_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < rows; k++)
            for (size_t n = 0; n < columns; n++)
                left[i * columns + n] += v[i * rows + k] * (double)m.data[k * m.stride + n];
        for (size_t k = 0; k < columns; k++)
            for (size_t n = 0; n < columns; n++)
                right[i * columns + n] += (double)m.data[i * m.stride + k] * y[k * columns + n];
    }
    double sum = product(left, right, rows * columns);
    return sum > 0 ? sqrt(sum) : 0;
}

/* Compute the compositions of each head of a layer with each head of a later layer. */
static int compose_layers(float *cells, struct viewer *viewer, const struct circuit_layer *first,
                          const struct circuit_layer *later, enum composition way, struct err *err)
{
    static const int sides[COMPOSITIONS][2] = {[COMPOSE_Q] = {CIRCUIT_Q, CIRCUIT_K},
                                               [COMPOSE_K] = {CIRCUIT_K, CIRCUIT_Q},
                                               [COMPOSE_V] = {CIRCUIT_V, CIRCUIT_O}};
    const struct circuit_matrix *x = &later->matrices[sides[way][0]],
                                *y = &later->matrices[sides[way][1]];
    const struct config *c = &viewer->model.config;
    const size_t heads = writers_of(c), readers = readers_of(c, way);
    struct arena arena = {0};
    struct weight w = {.data = x->columns.data,
                       .in = x->columns.rows,
                       .out = x->columns.columns,
                       .stride = x->columns.stride};
    const size_t d = first->matrices[CIRCUIT_O].size;
    struct matrix out = matrix_new(heads * d, c->n_embd, &arena, err);
    struct matrix m = matrix_new(heads * d, w.out, &arena, err);
    double *scratch = arena_alloc(&arena, 2 * d * x->size, sizeof *scratch, err);
    bool ready = out.data && m.data && scratch;
    if (ready) {
        transpose(out, first->matrices[CIRCUIT_O].columns);
        linear(&viewer->machine, m, out, &w, ACTIVATION_NONE);
    }
    for (size_t i = 0; i < heads * readers && ready; i++) {
        size_t one = i / readers;
        size_t other = i % readers;
        struct matrix both = matrix_columns(matrix_rows(m, one * d, d),
                                            other / (readers / x->heads) * x->size, x->size);
        double lengths = first->lengths[one] * length(x, y, other, readers);
        double found = composed(squares_of(&first->matrices[CIRCUIT_V], one, heads), both,
                                squares_of(y, other, readers), scratch);
        cells[one * c->n_layer * readers + other] = lengths > 0 ? (float)(found / lengths) : NAN;
    }
    arena_release(&arena);
    return ready ? 0 : -1;
}

/* Compute values [L · writers, L · readers]: NaN unless the column's head is in a later layer than
 * the row's and, for composition by keys or values, the layer that makes them is also later. */
static int compose(float *values, enum composition way, struct viewer *viewer, struct err *err)
{
    const struct config *c = &viewer->model.config;
    const size_t writers = writers_of(c), readers = readers_of(c, way);
    struct arena arena = {0};
    size_t across = c->n_layer * readers;
    struct circuit_layer *layers = arena_alloc(&arena, c->n_layer, sizeof *layers, err);
    for (size_t i = 0; i < c->n_layer * writers * across; i++)
        values[i] = NAN;
    int failed = !layers;
    for (size_t later = 0; later < c->n_layer && !failed; later++) {
        failed = load_layer(&layers[later], viewer, later, &arena, err);
        const size_t kv_layer = attention_of(c, BRANCH_TEXT, later)->head.kv_layer;
        const size_t end = way == COMPOSE_Q ? later : kv_layer;
        for (size_t first = 0; first < end && !failed; first++)
            failed = compose_layers(values + first * writers * across + later * readers, viewer,
                                    &layers[first], &layers[later], way, err);
    }
    arena_release(&arena);
    return err_if(failed);
}

int circuits_report(struct report *report, enum composition way, struct viewer *viewer,
                    struct arena *arena, struct err *err)
{
    const struct config *c = &viewer->model.config;
    double baseline = 1 / sqrt((double)c->n_embd);
    const size_t sizes[2] = {writers_of(c), readers_of(c, way)};
    struct axis axes[2] = {{"head", c->n_layer * sizes[0]}, {"later", c->n_layer * sizes[1]}};
    float *values = arena_alloc(arena, axes[0].size * axes[1].size, sizeof *values, err);
    struct facts *facts = facts_new(arena, err);
    if (!values || !facts || circuits_check(&viewer->model, false, err) ||
        compose(values, way, viewer, err))
        return -1;
    for (int side = 0; side < 2; side++) {
        struct label *labels = arena_alloc(arena, axes[side].size, sizeof *labels, err);
        for (size_t i = 0; labels && i < axes[side].size; i++)
            labels[i] = label_of_head(i / sizes[side], i % sizes[side], arena, err);
        axes[side].labels = labels;
    }
    const struct array array = {
        .name = arena_format(arena, err, "%s_composition", composition_names[way]),
        .layer = -1,
        .data = values,
        .rows = axes[0],
        .columns = axes[1],
    };
    facts_float(facts, "baseline", baseline);
    *report =
        (struct report){.model = viewer->model.name, .facts = &facts->table, .has_encoder = true};
    report->about = arena_format(arena, err, "%s-composition of heads; random matrices give %.4f",
                                 (const char *[]){"Q", "K", "V"}[way], baseline);
    return err_if(err->kind || report_add_array(report, &array, arena, err));
}
