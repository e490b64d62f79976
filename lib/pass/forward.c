/* forward.c: the pass from its first step to its last: the batch, the embedding, attention, the
 * MLP, a layer, the logits, and the loop over layers. Sizes: T tokens of a batch, S tokens that
 * they attend to, C channels, H heads. */
#include "pass/forward.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/argmax.h"
#include "math/gemm.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "pass/cache.h"
#include "pass/pass.h"
#include "model/points.h"
#include "pass/tap.h"

/* --- the batch -------------------------------------------------------------------------------- */

int batch_check_length(const struct config *config, size_t count, struct err *err)
{
    if (count == 0)
        return err_set(err, "the text is empty: expected at least one token");
    if (!config->n_positions || count <= config->n_positions)
        return 0;
    err_set(err, "the text is too long: expected at most %zu tokens (n_positions), found %zu",
            config->n_positions, count);
    bool learned = slot_exists(slot_of_text(SLOT_POSITIONS), config);
    return err_about(err, learned ? ERR_ABOUT_LENGTH : ERR_ABOUT_CONTEXT);
}

int batch_check_ids(const struct config *config, enum site_branch branch, const uint32_t *ids,
                    size_t count, size_t past, struct err *err)
{
    size_t length = count > SIZE_MAX - past ? SIZE_MAX : past + count;
    if (batch_check_length(config, count ? length : 0, err))
        return -1;
    size_t rows = stack_of(config, branch)->embed.rows;
    const struct embed_rule *rule = &stack_of(config, branch)->embed;
    bool few = rule->given && !rule->given_lenient && rule->given_rows < rows;
    rows = few ? rule->given_rows : rows;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= rows)
            return err_set(err, "token %zu: expected an id below %s = %zu, found %u", i,
                           few ? "vocab_size_per_layer_input" : "vocab_size", rows, ids[i]);
    return 0;
}

static size_t in_cache(const struct cache *cache)
{
    return cache ? cache->count : 0;
}

static int check_text(const struct config *config, const struct text *text, struct err *err)
{
    size_t past = in_cache(text->cache);
    size_t encoded = in_cache(text->source_cache);
    assert(!text->cache || text->cache->config == config);
    assert(!text->source_cache == !(text->cache && has_encoder(config)));
    assert(!encoded || encoded == text->source_count);
    if (batch_check_ids(config, BRANCH_TEXT, text->ids, text->count, past, err))
        return -1;
    for (size_t i = 0; text->segments && config->n_segments && i < text->count; i++)
        if (text->segments[i] >= config->n_segments)
            return err_set(err,
                           "token %zu: expected a segment below type_vocab_size = %zu, found %u", i,
                           config->n_segments, text->segments[i]);
    if (!config_reads_source(config))
        return text->source_ids
                   ? err_usage(err, "expected no second text: the model has only self-attention")
                   : 0;
    if (!text->source_ids)
        return err_usage(err, "expected a second text (--source): the model has cross-attention");
    return batch_check_ids(config, BRANCH_SOURCE, text->source_ids, text->source_count, 0, err)
               ? err_prefix(err, "source")
               : 0;
}

static int lay_out(struct batch *batch, struct arena *arena, struct err *err)
{
    struct batch_rows *queries = arena_alloc(arena, batch->count, sizeof *queries, err);
    struct batch_rows *sources = arena_alloc(arena, batch->count, sizeof *sources, err);
    if (!queries || !sources)
        return -1;
    for (size_t s = 0; s < batch->count; s++) {
        const struct text *text = &batch->texts[s];
        size_t encoded = in_cache(text->source_cache);
        queries[s] = (struct batch_rows){batch->tokens, text->count, in_cache(text->cache)};
        sources[s] =
            (struct batch_rows){batch->source_tokens, text->source_count - encoded, encoded};
        batch->tokens += queries[s].count;
        batch->source_tokens += sources[s].count;
        batch->longest_queries = num_max(batch->longest_queries, text->count);
        batch->cached |= text->cache != NULL;
    }
    batch->queries = queries;
    batch->sources = sources;
    return 0;
}

/* Set the tokens that texts attend to: the tokens of their sources, or their own tokens. */
static void set_keys(struct batch *batch, bool to_sources)
{
    batch->keys = to_sources ? batch->sources : batch->queries;
    batch->key_tokens = to_sources ? batch->source_tokens : batch->tokens;
    batch->longest_keys = 0;
    for (size_t s = 0; s < batch->count; s++)
        batch->longest_keys = num_max(batch->longest_keys, batch_keys(batch, s));
}

int batch_init(struct batch *batch, const struct config *config, const struct text *texts,
               size_t count, struct arena *arena, struct err *err)
{
    *batch = (struct batch){.texts = texts, .count = count};
    for (size_t s = 0; s < count; s++)
        if (check_text(config, &texts[s], err))
            return -1;
    if (lay_out(batch, arena, err))
        return -1;
    set_keys(batch, config_is_cross(config));
    return 0;
}

/* Make a batch of the sources. A source that is in its cache has no tokens in this batch. */
static int batch_of_sources(struct batch *sources, const struct batch *batch, struct arena *arena,
                            struct err *err)
{
    struct text *texts = arena_alloc(arena, batch->count, sizeof *texts, err);
    if (!texts)
        return -1;
    for (size_t s = 0; s < batch->count; s++) {
        texts[s].ids = batch->texts[s].source_ids;
        texts[s].rows = batch->texts[s].source_rows;
        texts[s].count = batch->sources[s].count;
    }
    *sources = (struct batch){.texts = texts, .count = batch->count, .first = batch->first};
    if (lay_out(sources, arena, err))
        return -1;
    set_keys(sources, false);
    sources->cached = batch->cached;
    return 0;
}

/* --- the embedding ---------------------------------------------------------------------------- */

float embed_scale(const struct embed_rule *rule, const uint32_t *ids, size_t count, size_t token)
{
    size_t kept = 0;
    if (!rule->drops_masks)
        return rule->scale;
    for (size_t i = 0; i < count; i++)
        kept += ids[i] != rule->mask;
    return ids[token] == rule->mask
               ? 0
               : (float)((double)rule->scale * EMBED_KEPT * (double)count / (double)kept);
}

void embed_tokens(struct weights *weights, const struct stack *stack, const struct text *text,
                  struct matrix rows)
{
    for (size_t i = 0; i < rows.rows; i++) {
        float *row = matrix_row(rows, i);
        if (text->rows) {
            memcpy(row, text->rows + i * rows.columns, rows.columns * sizeof *row);
            continue;
        }
        weights_embed_token(weights, (int)stack->branch, row, text->ids[i]);
        scale_row(row, row, rows.columns, embed_scale(&stack->embed, text->ids, rows.rows, i));
    }
}

void embed_places(struct weights *weights, const struct config *config, const struct stack *stack,
                  const struct text *text, size_t past, struct matrix rows)
{
    const struct embed_rule *rule = &stack->embed;
    bool placed =
        !mechanism_lacks(&config->mechanism, BLOCK_POSITIONS) && rule->positions != POSITIONS_NONE;
    for (size_t i = 0; i < rows.rows; i++) {
        float *row = matrix_row(rows, i);
        bool counts = !rule->counted || text->ids[i] != rule->padding;
        if (rule->segments)
            weights_add_segment(weights, row, text->segments ? text->segments[i] : 0);
        if (placed)
            weights_add_position(weights, (int)stack->branch, row, counts ? past : SIZE_MAX);
        past += counts;
    }
}

static void scale_rows(struct matrix x, float factor)
{
    for (size_t row = 0; row < x.rows; row++)
        scale_row(matrix_row(x, row), matrix_row(x, row), x.columns, factor);
}

/* Compute the extra input of each layer, which has P channels: scratch.given [T, L·P] =
 * (norm(x · W / √C) + √P · table[id]) / √2. */
static enum pass_state embed_given(struct pass *pass, struct matrix x)
{
    struct matrix given = pass->scratch.given, row;
    const size_t channels = pass->stack->embed.given;
    if (!given.data)
        return PASS_ON;
    if (pass_matrix(pass, &row, 1, given.columns))
        return PASS_FAILED;
    PASS_TRY(pass_product(pass, slot_of_text(SLOT_GIVEN_PROJECT), given, x, ACTIVATION_NONE));
    scale_rows(given, 1 / sqrtf((float)x.columns));
    for (size_t first = 0; first < given.columns; first += channels) {
        struct matrix own = matrix_columns(given, first, channels);
        PASS_TRY(pass_norm(pass, slot_of_text(SLOT_GIVEN_NORM), own, own));
    }
    for (size_t s = 0, at = 0; s < pass->batch->count; s++)
        for (size_t i = 0; i < pass->batch->queries[s].count; i++, at++) {
            uint32_t id = pass->batch->texts[s].ids[i];
            id = id < pass->stack->embed.given_rows ? id : 0;
            weights_given_token(pass->weights, row.data, id);
            add_scaled_row(matrix_row(given, at), row.data, given.columns, sqrtf((float)channels),
                           row.data);
        }
    scale_rows(given, sqrtf(0.5f));
    return PASS_ON;
}

/* --- copies of the stream --------------------------------------------------------------------- */

static struct matrix copy_at(const struct pass *pass, size_t copy)
{
    size_t channels = pass->scratch.x.columns;
    return matrix_columns(pass->scratch.copies, copy * channels, channels);
}

double copy_factor(const float *y, const float *like, size_t channels)
{
    const double square = dot_rows(y, y, channels) / (double)channels;
    const double wanted = dot_rows(like, like, channels) / (double)channels;
    return sqrt(wanted / fmax(square, COPY_LEAST_SQUARE));
}

/* y = x · the matrix of a copy, where each row is scaled to the mean square of the same row of
 * `like`. */
static enum pass_state turn_copy(struct pass *pass, int id, size_t copy, struct matrix y,
                                 struct matrix x, struct matrix like)
{
    struct slot slot = slot_of_text(id);
    slot.expert = (short)(copy - 1);
    PASS_TRY(pass_product(pass, slot, y, x, ACTIVATION_NONE));
    for (size_t row = 0; row < y.rows; row++) {
        float *to = matrix_row(y, row);
        scale_row(to, to, y.columns, (float)copy_factor(to, matrix_row(like, row), y.columns));
    }
    return PASS_ON;
}

/* Make the copies from the embedding x: the first copy is x itself, each other copy is a product of
 * x. */
static enum pass_state make_copies(struct pass *pass)
{
    const struct matrix x = pass->scratch.x;
    if (!pass->scratch.copies.data)
        return PASS_ON;
    copy_rows(copy_at(pass, 0), x);
    for (size_t i = 1; i < pass->stack->copies.count; i++)
        PASS_TRY(turn_copy(pass, SLOT_COPY_IN, i, copy_at(pass, i), x, x));
    return PASS_ON;
}

/* Merge the copies: x = the mean of the first copy and of products of the other copies. */
static enum pass_state merge_copies(struct pass *pass)
{
    const struct matrix x = pass->scratch.x, first = copy_at(pass, 0);
    const size_t count = pass->stack->copies.count;
    copy_rows(x, first);
    for (size_t i = 1; i < count; i++) {
        PASS_TRY(turn_copy(pass, SLOT_COPY_OUT, i, pass->scratch.out, copy_at(pass, i), first));
        add_rows(x, pass->scratch.out);
    }
    scale_rows(x, 1 / (float)count);
    return PASS_ON;
}

/* y = tanh(norm(x) / C · W) · V: the numbers that weight the copies, for each token. */
static enum pass_state weigh_copies(struct pass *pass, int id, size_t layer, struct matrix x,
                                    struct matrix y)
{
    struct matrix out = pass->scratch.out;
    struct matrix modes = matrix_columns(pass->scratch.narrow, 0, pass->stack->copies.count);
    PASS_TRY(pass_norm(pass, pass_slot(pass, SLOT_COPY_NORM, layer), out, x));
    scale_rows(out, 1 / (float)x.columns);
    PASS_TRY(
        pass_product(pass, pass_slot(pass, SLOT_COPY_ROUTER, layer), modes, out, ACTIVATION_TANH));
    return pass_product(pass, pass_slot(pass, id, layer), y, modes, ACTIVATION_NONE);
}

const float *forward_mixing(const struct run *run, int id, size_t layer, const float *x,
                            struct arena *arena, struct err *err)
{
    struct pass pass = {.machine = run->machine,
                        .config = run->config,
                        .weights = run->weights,
                        .stack = stack_of(run->config, BRANCH_TEXT),
                        .err = err};
    const size_t C = run->config->n_embd, count = pass.stack->copies.count;
    const size_t size = id == SLOT_COPY_PREDICT ? count * count : count;
    float *y = arena_room(arena, C + count + size, sizeof *y, err);
    if (!x || !y)
        return NULL;
    pass.scratch.out = (struct matrix){y, 1, C, C};
    pass.scratch.narrow = (struct matrix){y + C, 1, count, count};
    struct matrix numbers = {y + C + count, 1, size, size};
    struct matrix from = {(float *)x, 1, C, C}; /* the cast drops const, but x is only read */
    return weigh_copies(&pass, id, layer, from, numbers) ? NULL : numbers.data;
}

/* Predict: each copy += a weighted sum of all copies. x becomes the copy that sublayers read, the
 * active one. */
static enum pass_state predict_copies(struct pass *pass, size_t layer)
{
    const size_t count = pass->stack->copies.count, active = pass->stack->copies.active;
    struct scratch *s = &pass->scratch;
    struct matrix factors = matrix_columns(s->narrow, count, count * count);
    const size_t channels = s->x.columns;
    PASS_TRY(weigh_copies(pass, SLOT_COPY_PREDICT, layer, copy_at(pass, active), factors));
    for (size_t row = 0; row < s->copies.rows; row++) {
        const float *factor = matrix_row(factors, row);
        copy_rows(s->before, matrix_rows(s->copies, row, 1));
        for (size_t to = 0; to < count; to++)
            for (size_t from = 0; from < count; from++) {
                const float *other = s->before.data + from * channels;
                add_scaled_row(matrix_row(copy_at(pass, to), row), other, channels,
                               factor[to * count + from], other);
            }
    }
    PASS_TRY(tap_rows(pass, SITE_PREDICTED, layer, s->copies));
    copy_rows(s->x, copy_at(pass, active));
    return PASS_ON;
}

/* Correct: each copy += (1 + a number) · (x - the active copy), with a number for each token and
 * copy. x becomes the active copy, multiplied by scales if the model has them. */
static enum pass_state correct_copies(struct pass *pass, size_t layer)
{
    const struct stream_copies *rule = &pass->stack->copies;
    struct scratch *s = &pass->scratch;
    struct matrix factors = matrix_columns(s->narrow, rule->count, rule->count);
    const struct matrix x = s->x, active = copy_at(pass, rule->active);
    const float *scale = NULL;
    PASS_TRY(weigh_copies(pass, SLOT_COPY_CORRECT, layer, x, factors));
    for (size_t row = 0; row < x.rows; row++) {
        float *difference = matrix_row(s->out, row), *at = matrix_row(active, row);
        scale_row(difference, matrix_row(x, row), x.columns, 1);
        add_scaled_row(difference, at, x.columns, -1, at);
        for (size_t i = 0; i < rule->count; i++)
            add_scaled_row(matrix_row(copy_at(pass, i), row), difference, x.columns,
                           1 + matrix_row(factors, row)[i], difference);
    }
    PASS_TRY(tap_rows(pass, SITE_CORRECTED, layer, s->copies));
    copy_rows(x, active);
    if (rule->scaled &&
        weights_vector(pass->weights, pass_slot(pass, SLOT_COPY_SCALE, layer), &scale, pass->err))
        return PASS_FAILED;
    for (size_t row = 0; rule->scaled && row < x.rows; row++)
        for (size_t i = 0; i < x.columns; i++)
            matrix_row(x, row)[i] *= scale[i];
    return PASS_ON;
}

/* Pass the copies of the stream that leave a layer to the tap. They are merged after the last
 * layer, or if the merged stream is watched. */
static enum pass_state leave_copies(struct pass *pass, size_t layer)
{
    PASS_TRY(pass_check_rows(pass, SITE_STREAMS, layer, pass->scratch.copies));
    PASS_TRY(tap_rows(pass, SITE_STREAMS, layer, pass->scratch.copies));
    if (layer + 1 < pass->stack->layers && !pass_watches(pass, SITE_MERGED, layer))
        return PASS_ON;
    PASS_TRY(merge_copies(pass));
    return tap_unedited(pass, SITE_MERGED, layer, pass->scratch.x);
}

/* --- from ids to the stream ------------------------------------------------------------------- */

static enum pass_state embed(struct pass *pass)
{
    const struct embed_rule *rule = &pass->stack->embed;
    const struct batch *batch = pass->batch;
    struct slot projection = slot_of_text(SLOT_EMBED_PROJECT);
    struct matrix x = pass->scratch.x; /* [T, C] the stream */
    struct matrix tokens = x;          /* [T, width] embeddings of tokens */
    if (rule->project != PROJECT_NEVER && pass_matrix(pass, &tokens, x.rows, rule->width))
        return PASS_FAILED;
    for (size_t s = 0; s < batch->count; s++)
        embed_tokens(pass->weights, pass->stack, &batch->texts[s],
                     matrix_rows(tokens, batch->queries[s].first, batch->queries[s].count));
    if (rule->project == PROJECT_TOKENS)
        PASS_TRY(pass_product(pass, projection, x, tokens, ACTIVATION_NONE));
    struct matrix sum = rule->project == PROJECT_LAST ? tokens : x;
    for (size_t s = 0; s < batch->count; s++)
        embed_places(pass->weights, pass->config, pass->stack, &batch->texts[s],
                     batch->queries[s].past,
                     matrix_rows(sum, batch->queries[s].first, batch->queries[s].count));
    if (rule->norm) {
        int branch = pass->config->own_tables ? (int)pass->branch : BRANCH_TEXT;
        PASS_TRY(pass_norm(pass, slot_of_end(branch, SLOT_EMBED_NORM), sum, sum));
    }
    if (rule->project == PROJECT_LAST)
        PASS_TRY(pass_product(pass, projection, x, sum, ACTIVATION_NONE));
    PASS_TRY(pass_check_rows(pass, SITE_EMBEDDING, 0, x));
    PASS_TRY(tap_rows(pass, SITE_EMBEDDING, 0, x));
    dropout_rows(pass->machine, &pass->dropout, pass->branch, 0, DROP_EMBEDDING, x);
    PASS_TRY(embed_given(pass, x));
    return make_copies(pass);
}

/* --- attention -------------------------------------------------------------------------------- */

static enum pass_state fetch(struct pass *pass, int id, size_t layer, struct weight *w)
{
    return weights_matrix(pass->weights, pass_slot(pass, id, layer), w, pass->err) ? PASS_FAILED
                                                                                   : PASS_ON;
}

/* Queries, keys or values. `projections` has, for each of them, the sites before and after the
 * rotation (values are not rotated), the site that is computed from them, and the slot of their
 * matrix. */
enum projected { QUERIES, KEYS, VALUES, PROJECTED };

static const struct {
    enum site before, site, reader;
    int slot;
} projections[PROJECTED] = {
    [QUERIES] = {SITE_Q_PRE, SITE_Q, SITE_SCORES, SLOT_Q},
    [KEYS] = {SITE_K_PRE, SITE_K, SITE_SCORES, SLOT_K},
    [VALUES] = {SITE_V, SITE_V, SITE_CONTEXT, SLOT_V},
};

/* Whether queries, keys or values are needed: for attention, for the tap, or for a cache. */
static bool is_needed(const struct pass *pass, enum projected which, size_t layer)
{
    return (pass->batch->cached && which != QUERIES) ||
           pass_watches(pass, projections[which].site, layer) ||
           pass_goes_to(pass, projections[which].reader, layer);
}

/* If the batch is one token, the matrices of q, k and v are side by side in one tensor, and all
 * heads are needed, compute q, k and v by one product. This is faster, because the product reads
 * the tensor in the order of its addresses. *done: whether q, k and v were computed. */
static enum pass_state project_together(struct pass *pass, const struct head_rule *rule,
                                        size_t layer, struct matrix x, bool *done)
{
    struct scratch *s = &pass->scratch;
    struct weight joined;
    size_t width = x.columns;
    *done = false;
    if (x.rows != 1 || rule->clip > 0 || rule->by != HEADS_PROJECTED)
        return PASS_ON;
    if (weights_joined(pass->weights, pass_slot(pass, SLOT_Q, layer), &joined, pass->err))
        return PASS_FAILED;
    if (!weight_exists(&joined))
        return PASS_ON;
    for (enum projected which = 0; which < PROJECTED; which++)
        if (!is_needed(pass, which, layer) ||
            pass_heads(pass, projections[which].site, layer).count != rule->heads)
            return PASS_ON;
    linear(pass->machine, s->joined, x, &joined, ACTIVATION_NONE);
    copy_rows(s->q, matrix_columns(s->joined, 0, width));
    copy_rows(s->k, matrix_columns(s->joined, width, width));
    copy_rows(s->v, matrix_columns(s->joined, 2 * width, width));
    *done = true;
    return PASS_ON;
}

/* Compute queries, keys or values, if they are needed: only the heads that are needed, or all heads
 * if they are normed as one row or if the matrix cannot be sliced there. (Keys of a source that is
 * in its cache have no rows.) */
static enum pass_state project(struct pass *pass, const struct head_rule *rule, size_t layer,
                               enum projected which, struct matrix y, struct matrix x)
{
    struct weight w;
    const enum site site = projections[which].site;
    size_t width = which == VALUES ? rule->d_v : rule->d_k;
    struct span heads = pass_heads(pass, site, layer);
    bool needed = is_needed(pass, which, layer) ||
                  pass_watches(pass, projections[which].before, layer) ||
                  (which == KEYS && rule->v_is_k && is_needed(pass, VALUES, layer));
    if (rule->by != HEADS_PROJECTED || !y.rows || !heads.count || !needed)
        return PASS_ON;
    PASS_TRY(fetch(pass, projections[which].slot, layer, &w));
    if (rule->norm.whole && which != VALUES)
        heads = (struct span){0, pass_heads_of(pass, site, layer)};
    struct span columns = {heads.first * width, heads.count * width};
    if (!weight_can_slice(&w, columns.first))
        columns = (struct span){0, w.out};
    struct weight part = weight_columns(&w, columns.first, columns.count);
    y = matrix_columns(y, columns.first, part.out);
    linear(pass->machine, y, x, &part, ACTIVATION_NONE);
    bool is_normed = which == QUERIES ? rule->norm.q : which == KEYS && rule->norm.k;
    if (rule->clip > 0 && !is_normed)
        clip_rows(y, rule->clip);
    return PASS_ON;
}

/* If the rule has a norm for them, norm queries (id SLOT_Q_NORM), keys (SLOT_K_NORM) or values
 * (SLOT_NONE), each head alone or all heads as one row, and then clip them. */
static enum pass_state norm_heads(struct pass *pass, const struct head_rule *rule, int id,
                                  size_t layer, struct matrix y)
{
    struct norm norm;
    size_t width = rule->norm.whole ? y.columns : id == SLOT_NONE ? rule->d_v : rule->d_k;
    bool is_normed = id == SLOT_Q_NORM   ? rule->norm.q
                     : id == SLOT_K_NORM ? rule->norm.k && !rule->borrows
                                         : rule->norm.v;
    bool lacks = mechanism_lacks(&pass->config->mechanism, BLOCK_NORM);
    struct slot slot = pass_slot(pass, id, layer);
    for (size_t first = 0; is_normed && !lacks && first < y.columns; first += width) {
        slot.expert = (short)(rule->norm.own ? (int)(first / width) : -1);
        if ((!first || rule->norm.own) && weights_norm(pass->weights, slot, &norm, pass->err))
            return PASS_FAILED;
        norm_rows(matrix_columns(y, first, width), matrix_columns(y, first, width), &norm);
    }
    if (is_normed && rule->clip > 0)
        clip_rows(y, rule->clip);
    return PASS_ON;
}

static enum pass_state norm_both(struct pass *pass, const struct head_rule *rule, size_t layer)
{
    PASS_TRY(norm_heads(pass, rule, SLOT_Q_NORM, layer, pass->scratch.q));
    return norm_heads(pass, rule, SLOT_K_NORM, layer, pass->scratch.k);
}

static void rotate_both(const struct pass *pass, const struct head_rule *rule)
{
    const struct scratch *s = &pass->scratch;
    const struct rotary *rotary = rule->rotary;
    struct matrix turns = rotary == &pass->config->rotary_local ? s->local : s->rotations;
    if (mechanism_lacks(&pass->config->mechanism, BLOCK_POSITIONS))
        return;
    rotate(s->q, s->q, rule->d_k, rotary, turns);
    if (!rule->borrows)
        rotate(s->k, s->k, rule->d_k, rotary, turns);
    for (size_t i = 0; i < pass->batch->count; i++) {
        const struct batch_rows *rows = &pass->batch->queries[i];
        rotary_grow(matrix_rows(s->q, rows->first, rows->count), rotary, rows->past);
    }
}

/* y = x · W, with a matrix of a layer */
static enum pass_state product(struct pass *pass, int id, size_t layer, struct matrix y,
                               struct matrix x)
{
    return pass_product(pass, pass_slot(pass, id, layer), y, x, ACTIVATION_NONE);
}

/* y = norm(x · W), with a matrix and a norm of a layer */
static enum pass_state narrow(struct pass *pass, int down, int scales, size_t layer,
                              struct matrix y, struct matrix x)
{
    PASS_TRY(product(pass, down, layer, y, x));
    return pass_norm(pass, pass_slot(pass, scales, layer), y, y);
}

/* Compute q, k and v of latent attention (DeepSeek-V2) before they are rotated. Keys and values are
 * made from a narrow vector of each token, and queries may be made from another. The channels of
 * keys that will be rotated are a product of the layer's input; all heads share them. */
static enum pass_state project_latent(struct pass *pass, const struct head_rule *rule, size_t layer,
                                      struct matrix x)
{
    struct scratch *s = &pass->scratch;
    struct matrix q = rule->latent_q ? matrix_columns(s->narrow, 0, rule->latent_q) : x;
    struct matrix kv = matrix_columns(s->narrow, 0, rule->latent_kv);
    size_t first = rule->d_k - s->k_rotary.columns;
    if (rule->latent_q)
        PASS_TRY(narrow(pass, SLOT_Q_DOWN, SLOT_Q_DOWN_NORM, layer, q, x));
    PASS_TRY(product(pass, rule->latent_q ? SLOT_Q_UP : SLOT_Q, layer, s->q, q));
    PASS_TRY(narrow(pass, SLOT_KV_DOWN, SLOT_KV_DOWN_NORM, layer, kv, x));
    PASS_TRY(product(pass, SLOT_K, layer, s->k_plain, kv));
    PASS_TRY(product(pass, SLOT_V, layer, s->v, kv));
    PASS_TRY(product(pass, SLOT_K_ROTARY, layer, s->k_rotary, x));
    for (size_t head = 0; head < rule->heads; head++) {
        struct matrix k = matrix_columns(s->k, head * rule->d_k, rule->d_k);
        copy_rows(matrix_columns(k, 0, first), matrix_columns(s->k_plain, head * first, first));
        copy_rows(matrix_columns(k, first, s->k_rotary.columns), s->k_rotary);
    }
    return PASS_ON;
}

/* Compute q [T, H·dk] from x [T, C]; k [S, Hkv·dk] and v [S, Hkv·dv] from `source` [S, C]. */
static enum pass_state project_all(struct pass *pass, const struct head_rule *rule, size_t layer,
                                   struct matrix x, struct matrix source)
{
    struct scratch *s = &pass->scratch;
    bool done = false;
    if (rule->by == HEADS_AS_IS) {
        s->q = x;
        s->k = s->v = source;
    }
    if (rule->by == HEADS_LATENT)
        PASS_TRY(project_latent(pass, rule, layer, x));
    PASS_TRY(project_together(pass, rule, layer, x, &done));
    if (!done) {
        PASS_TRY(project(pass, rule, layer, QUERIES, s->q, x));
        PASS_TRY(rule->borrows ? PASS_ON : project(pass, rule, layer, KEYS, s->k, source));
    }
    if (rule->v_is_k && !rule->borrows)
        copy_rows(s->v, s->k);
    if (!rule->norm.after_rotary)
        PASS_TRY(norm_both(pass, rule, layer));
    if (rule->rotary) {
        PASS_TRY(tap_rows(pass, SITE_Q_PRE, layer, s->q));
        if (!rule->borrows)
            PASS_TRY(tap_rows(pass, SITE_K_PRE, layer, s->k));
        rotate_both(pass, rule);
    }
    if (rule->norm.after_rotary)
        PASS_TRY(norm_both(pass, rule, layer));
    PASS_TRY(tap_rows(pass, SITE_Q, layer, s->q));
    if (rule->borrows) {
        PASS_TRY(tap_unedited(pass, SITE_K, layer, s->k));
        return tap_unedited(pass, SITE_V, layer, s->v);
    }
    PASS_TRY(tap_rows(pass, SITE_K, layer, s->k));
    if (!done && !rule->v_is_k)
        PASS_TRY(project(pass, rule, layer, VALUES, s->v, source));
    PASS_TRY(norm_heads(pass, rule, SLOT_NONE, layer, s->v));
    return tap_rows(pass, SITE_V, layer, s->v);
}

/* Choose the buffers for a layer's heads, and give them the layer's number of columns. The buffers
 * have room for the widest layer. */
static void fit_heads(struct scratch *s, const struct head_rule *rule)
{
    if (s->keys) {
        s->k = s->keys[rule->kv_layer].k;
        s->v = s->keys[rule->kv_layer].v;
    }
    s->q.columns = rule->heads * rule->d_k;
    s->k.columns = rule->kv_heads * rule->d_k;
    s->v.columns = rule->kv_heads * rule->d_v;
    s->context.columns = rule->heads * rule->d_v;
}

/* With differential attention: norm each context. */
static enum pass_state norm_contexts(struct pass *pass, const struct head_rule *rule, size_t layer)
{
    const struct matrix all = pass->scratch.context;
    const size_t width = context_width(rule);
    if (rule->differ <= 0)
        return PASS_ON;
    for (size_t first = 0; first < all.columns; first += width) {
        struct matrix own = matrix_columns(all, first, width);
        PASS_TRY(pass_norm(pass, pass_slot(pass, SLOT_CONTEXT_NORM, layer), own, own));
    }
    return tap_rows(pass, SITE_GATED, layer, all);
}

/* Compute the context [T, H·dv] of x [T, C], which attends to itself or to `source` [S, C]. */
static enum pass_state run_heads(struct pass *pass, const struct sublayer *rule, size_t layer,
                                 struct matrix x, struct matrix source)
{
    enum pass_state state = project_all(pass, &rule->head, layer, x, source);
    if (pass->batch->cached && pass->scratch.k.rows && !rule->head.borrows && state != PASS_FAILED)
        attention_store(pass, &rule->head,
                        layer); /* also if `state` is PASS_OVER: the keys and values in the cache
                                 * may be the last values that are needed */
    return state == PASS_ON ? attention(pass, rule, layer) : state;
}

/* scratch.active [T, H·dv] = the context of x [T, C], multiplied by its gate if the rule has
 * one. */
static enum pass_state attend(struct pass *pass, const struct sublayer *rule, size_t layer,
                              struct matrix x)
{
    struct matrix source = rule->kind == SUBLAYER_ATTEND_SOURCE ? pass->scratch.source : x;
    fit_heads(&pass->scratch, &rule->head);
    if (!pass->attended)
        PASS_TRY(run_heads(pass, rule, layer, x, source));
    PASS_TRY(norm_contexts(pass, &rule->head, layer));
    pass->scratch.active = pass->scratch.context;
    return rule->head.gate ? gate_context(pass, rule->head.gate, layer, x) : PASS_ON;
}

/* --- the MLP ---------------------------------------------------------------------------------- */

/* Compute the hidden channels [T, I] from y [T, C]: act(gate) · up, or act(up). With experts,
 * compute the output of the mixture [T, C]. */
static enum pass_state mlp(struct pass *pass, const struct mlp_rule *rule, size_t layer,
                           struct matrix y)
{
    if (rule->mixture)
        return mixture(pass, rule, layer, y);
    const enum activation activation = rule->activation;
    struct slot up_slot = pass_slot(pass, SLOT_UP, layer);
    const struct matrix own = matrix_columns(pass->scratch.hidden, 0, rule->inner);
    const enum site before = rule->gated ? SITE_MLP_GATE : SITE_MLP_UP;
    /* these activations change `hidden` in place, so `hidden` must not be memory that the tap
     * lent */
    const bool changes = rule->clamp > 0 || rule->xielu || rule->sparse;
    struct xielu xielu;
    struct matrix hidden = changes ? own : pass_lent(pass, before, layer, own), y_act = hidden;
    bool apart = rule->clamp > 0 || rule->sparse || pass_watches(pass, before, layer) ||
                 pass_edits(pass, SITE_MLP_GATE, layer);
    if (!changes && apart)
        y_act = pass_lent(pass, SITE_MLP_ACT, layer, own);
    pass->scratch.active = y_act;
    if (!rule->gated) { /* without a gate, the input of the activation has the site mlp_up, which
                         * only a tape watches */
        PASS_TRY(pass_product(pass, up_slot, hidden, y, apart ? ACTIVATION_NONE : activation));
        PASS_TRY(tap_rows(pass, SITE_MLP_UP, layer, hidden));
        if (apart && !rule->xielu)
            mlp_combine(pass->machine, rule, y_act, hidden, (struct matrix){0}, false);
        if (rule->xielu && weights_xielu(pass->weights, up_slot, &xielu, pass->err))
            return PASS_FAILED;
        if (rule->xielu)
            activate_xielu(hidden, &xielu);
        return tap_rows(pass, SITE_MLP_ACT, layer, y_act);
    }
    struct matrix up = matrix_columns(pass->scratch.up, 0, rule->inner);
    if (!changes)
        up = pass_lent(pass, SITE_MLP_UP, layer, up);
    PASS_TRY(pass_product(pass, pass_slot(pass, SLOT_GATE, layer), hidden, y,
                          apart ? ACTIVATION_NONE : activation));
    PASS_TRY(tap_rows(pass, SITE_MLP_GATE, layer, hidden));
    if (rule->sparse)
        thin_rows(hidden, rule->deviations);
    if (rule->given)
        up = matrix_columns(pass->scratch.given, layer * rule->inner, rule->inner);
    else
        PASS_TRY(pass_product(pass, up_slot, up, y, ACTIVATION_NONE));
    PASS_TRY(tap_rows(pass, SITE_MLP_UP, layer, up));
    mlp_combine(pass->machine, rule, y_act, hidden, up, !apart);
    return tap_rows(pass, SITE_MLP_ACT, layer, y_act);
}

/* --- a layer ---------------------------------------------------------------------------------- */

/* Compute the output of a sublayer: the context or the hidden channels times the sublayer's last
 * matrix, or the output of a mixture. Norm it and add it to the stream x, or replace x by it. If
 * only the stream needs the product, the output is not stored. */
static enum pass_state write_out(struct pass *pass, const struct sublayer *s, size_t layer)
{
    struct scratch *scratch = &pass->scratch;
    struct matrix x = scratch->x, out = scratch->out; /* [T, C] the stream, and the output of the
                                                       * sublayer */
    struct matrix from = scratch->active;             /* [T, H·dv] contexts, or [T, I] hidden
                                                       * channels */
    struct weight w;
    bool is_mlp = s->kind == SUBLAYER_MLP;
    bool is_out = s->head.no_out || s->mlp.mixture; /* `from` is the output itself */
    if (s->mlp.mixture)
        from = out;
    if (!is_out)
        PASS_TRY(fetch(pass, is_mlp ? SLOT_DOWN : SLOT_O, layer, &w));
    if (!is_out && !s->norm_out && !s->replaces && s->factor == 1 && pass->dropout.rate <= 0 &&
        !pass_edits(pass, s->at_out, layer)) {
        if (!pass_watches(pass, s->at_out, layer))
            out.data = NULL;
        linear_add(pass->machine, x, out, from, &w);
        return tap_rows(pass, s->at_out, layer, out);
    }
    if (is_out)
        out = from;
    else
        linear(pass->machine, out, from, &w, ACTIVATION_NONE);
    PASS_TRY(tap_rows(pass, s->at_out, layer, out));
    if (s->norm_out) {
        int id = is_mlp ? SLOT_NORM_2_POST : SLOT_NORM_1_POST;
        for (size_t row = 0; s->adds_twice && row < x.rows; row++)
            add_scaled_row(matrix_row(out, row), matrix_row(x, row), x.columns, 1, x.data);
        PASS_TRY(pass_norm(pass, pass_slot(pass, id, layer), out, out));
        PASS_TRY(tap_rows(pass, s->at_out_norm, layer, out));
    }
    dropout_rows(pass->machine, &pass->dropout, s->branch, layer,
                 is_mlp ? DROP_MLP : DROP_ATTENTION, out);
    if (s->replaces && x.columns != out.columns) {
        scratch->x = out; /* only in the last layer, whose output may be wider or narrower than the
                           * stream */
        return PASS_ON;
    }
    for (size_t row = 0; row < x.rows; row++) {
        float *sum = matrix_row(x, row);
        const float *added = matrix_row(out, row);
        if (s->replaces)
            scale_row(sum, added, x.columns, s->factor);
        else
            add_scaled_row(sum, added, x.columns, s->factor, out.data);
    }
    return PASS_ON;
}

/* Multiply the stream x by the layer's scale (SLOT_LAYER_SCALE), which is one number. */
static enum pass_state scale_layer(struct pass *pass, size_t layer)
{
    struct slot slot = slot_of(BRANCH_TEXT, SLOT_LAYER_SCALE, layer);
    const float *number = NULL;
    if (weights_vector(pass->weights, slot, &number, pass->err))
        return PASS_FAILED;
    scale_rows(pass->scratch.x, *number);
    return PASS_ON;
}

/* Pass the stream x to the tap at each of `sites`, up to the first 0, as a site of this pass or of
 * the pass of cross-attention. */
static enum pass_state tap_stream(struct pass *pass, const struct sublayer *s,
                                  const enum site sites[3], size_t layer)
{
    for (size_t i = 0; i < 3 && sites[i]; i++) {
        bool of_cross = sublayer_stream_branch(s, sites[i]) == BRANCH_CROSS;
        PASS_TRY(tap_rows(of_cross ? pass->cross : pass, sites[i], layer, pass->scratch.x));
    }
    return PASS_ON;
}

/* *y becomes the input of a sublayer: the stream x [T, C], or its norm. */
static enum pass_state enter_sublayer(struct pass *pass, const struct sublayer *s, size_t layer,
                                      struct matrix *y)
{
    *y = s->norm_before ? pass->scratch.norm : pass->scratch.x;
    if (s->norm_before && s->at_input)
        *y = pass_lent(pass, s->at_input, layer, *y);
    return s->norm_before
               ? pass_norm(pass, pass_slot(pass, (int)s->norm, layer), *y, pass->scratch.x)
               : PASS_ON;
}

/* Run all sublayers of a layer on the stream x [T, C]. */
static enum pass_state run_layer(struct pass *pass, size_t layer)
{
    const struct layer *own = &pass->stack->layer[layer];
    const struct sublayer *list = own->sublayers, *end = list + own->count;
    const bool copies = pass->stack->copies.count;
    struct pass beside = *pass; /* a copy of `pass` for sublayers of another branch, such as mixers;
                                 * shares the buffers of `pass` */
    struct matrix x = pass->scratch.x, y = x; /* y: the input of the current sublayer */
    if (copies)
        PASS_TRY(predict_copies(pass, layer));
    if (!pass->attended) /* with `attended`, x already has the edits of resid_pre */
        PASS_TRY(tap_rows(pass, SITE_RESID_PRE, layer, x));
    for (const struct sublayer *s = list; s < end; s++) {
        beside.branch = s->branch;
        struct pass *p = s->branch == pass->branch   ? pass
                         : s->branch == BRANCH_CROSS ? pass->cross
                                                     : &beside;
        struct pass *outside = s->branch == BRANCH_MIXER ? pass : p;
        if (s->reads == READS_STREAM)
            PASS_TRY(enter_sublayer(outside, s, layer, &y));
        if (s->at_input)
            PASS_TRY(tap_rows(outside, s->at_input, layer, y));
        if (s->adds_to_normed)
            copy_rows(x, y);
        PASS_TRY(s->kind == SUBLAYER_MLP   ? mlp(p, &s->mlp, layer, y)
                 : s->kind == SUBLAYER_MIX ? mix(p, s->mixer, layer, y)
                                           : attend(p, s, layer, y));
        if (s + 1 < end && s[1].reads == READS_BLOCK_INPUT)
            /* y must be computed before x changes */
            PASS_TRY(enter_sublayer(outside, s + 1, layer, &y));
        PASS_TRY(write_out(p, s, layer));
        if (s->adds_input)
            add_rows(x, y);
        if (s->sum_factor != 1)
            scale_rows(x, s->sum_factor);
        if (s->scales)
            PASS_TRY(scale_layer(pass, layer));
        PASS_TRY(tap_stream(pass, s, s->at_sum, layer));
        if (s->norm_after)
            PASS_TRY(pass_norm(outside, pass_slot(outside, (int)s->norm, layer), x, x));
        PASS_TRY(tap_stream(pass, s, s->at_after, layer));
        if (s->corrects)
            PASS_TRY(correct_copies(pass, layer));
        for (size_t i = 1; s->spreads && i < pass->stack->copies.count; i++)
            add_rows(copy_at(pass, i), x);
    }
    if (copies)
        return leave_copies(pass, layer);
    return pass_check_rows(pass,
                           list[0].at_sum[0] || own->count > 1 ? SITE_RESID_POST : SITE_ATTN_OUT,
                           layer, pass->scratch.x);
}

/* --- logits ----------------------------------------------------------------------------------- */

/* Reduce y to the rows that are needed: the first token of each text if `first`, otherwise the
 * tokens whose logits are needed, which are all tokens or the last of each text. The rows are
 * copied one after the other. */
static int choose_rows(struct pass *pass, struct matrix *y, bool first)
{
    size_t rows = first ? pass->batch->count : pass->scratch.logits.rows;
    struct matrix wanted;
    if (rows == y->rows)
        return 0;
    if (pass_matrix(pass, &wanted, rows, y->columns))
        return -1;
    for (size_t s = 0; s < pass->batch->count; s++) {
        struct batch_rows to = first ? (struct batch_rows){s, 1, 0} : pass_logit_rows(pass, s);
        struct batch_rows from = pass->batch->queries[s];
        size_t skipped = first ? 0 : from.count - to.count;
        copy_rows(matrix_rows(wanted, to.first, to.count),
                  matrix_rows(*y, from.first + skipped, to.count));
    }
    *y = wanted;
    return 0;
}

/* *y becomes act(y · W + b), in a new matrix; `id` is the slot of W. */
static enum pass_state dense(struct pass *pass, int id, struct matrix *y,
                             enum activation activation)
{
    struct weight weight;
    struct matrix out;
    if (weights_matrix(pass->weights, slot_of_text(id), &weight, pass->err) ||
        pass_matrix(pass, &out, y->rows, weight.out))
        return PASS_FAILED;
    linear(pass->machine, out, *y, &weight, activation);
    *y = out;
    return PASS_ON;
}

/* Apply the steps between the final norm and the last matrix to y: a projection to the channels of
 * token embeddings, and a dense layer, y = norm(act(y · W + b)), for all rows or for the first
 * token of each text. Models may lack one or both. */
static enum pass_state transform(struct pass *pass, const struct unembed_rule *rule,
                                 struct matrix *y)
{
    if (rule->project)
        PASS_TRY(dense(pass, SLOT_PROJECT_OUT, y, ACTIVATION_NONE));
    if (!rule->dense)
        return PASS_ON;
    if (rule->first_only && choose_rows(pass, y, true))
        return PASS_FAILED;
    PASS_TRY(dense(pass, (int)rule->dense, y, rule->activation));
    return rule->dense_norm ? pass_norm(pass, slot_of_text(SLOT_TRANSFORM_NORM), *y, *y) : PASS_ON;
}

/* logits [T, V] = cap((y [T, C] · unembedding [C, V] + bias) / divisor) */
static int make_logits(struct pass *pass, struct matrix logits, struct matrix y)
{
    const struct unembed_rule *rule = &stack_of(pass->config, BRANCH_TEXT)->unembed;
    struct weight unembedding;
    const float *bias = NULL;
    if (weights_unembedding(pass->weights, &unembedding, pass->err) ||
        weights_vector(pass->weights, slot_of_text(SLOT_UNEMBED_BIAS), &bias, pass->err))
        return -1;
    linear(pass->machine, logits, y, &unembedding, ACTIVATION_NONE);
    for (size_t row = 0; row < logits.rows; row++) {
        float *at = matrix_row(logits, row);
        for (size_t i = 0; bias && i < logits.columns; i++)
            at[i] += bias[i];
        if (rule->divisor > 0)
            divide_row(at, logits.columns, rule->divisor);
        if (rule->cap > 0)
            cap_row(at, logits.columns, rule->cap);
    }
    return 0;
}

/* Replace each row of y by the mean of its text's rows. */
static int average(struct pass *pass, struct matrix *y)
{
    struct matrix means;
    if (pass_matrix(pass, &means, y->rows, y->columns))
        return -1;
    for (size_t s = 0; s < pass->batch->count; s++) {
        const struct batch_rows rows = pass->batch->queries[s];
        average_rows(matrix_rows(means, rows.first, rows.count),
                     matrix_rows(*y, rows.first, rows.count));
    }
    *y = means;
    return 0;
}

static enum pass_state unembed(struct pass *pass, struct matrix y)
{
    const struct unembed_rule *rule = &pass->stack->unembed;
    bool changes = rule->bias || pass_edits(pass, SITE_LOGITS, 0);
    struct likeliest *likeliest = changes ? NULL : pass->tap->likeliest;
    if (rule->mean && average(pass, &y))
        return PASS_FAILED;
    PASS_TRY(transform(pass, rule, &y));
    if (rule->at_dense)
        PASS_TRY(tap_rows(pass, rule->at_dense, 0, y));
    if (rule->at_result == SITE_DISCRIMINATOR) { /* [T, 1]: one logit for each token */
        PASS_TRY(dense(pass, SLOT_DISCRIMINATOR_LOGIT, &y, ACTIVATION_NONE));
        return tap_rows(pass, SITE_DISCRIMINATOR, 0, y);
    }
    if (rule->at_result != SITE_LOGITS)
        return PASS_ON;
    if (likeliest) { /* find only the largest logit, if this is possible without computing all
                      * logits */
        const float *last = matrix_row(y, y.rows - 1);
        struct argmax *argmax = NULL;
        if (weights_argmax(pass->weights, pass->machine, &argmax, pass->err))
            return PASS_FAILED;
        likeliest->known = argmax_find(pass->machine, argmax, last, &likeliest->id);
        if (likeliest->known)
            return PASS_OVER;
    }
    if (choose_rows(pass, &y, false) || make_logits(pass, pass->scratch.logits, y))
        return PASS_FAILED;
    return tap_rows(pass, SITE_LOGITS, 0, pass->scratch.logits);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* *y becomes the final norm of the stream x, in scratch.norm, or x if the model has no such
 * norm. */
static enum pass_state norm_last(struct pass *pass, struct matrix *y)
{
    bool normed = pass->stack->unembed.norm;
    *y = normed ? pass_lent(pass, SITE_LN_F, 0, pass->scratch.norm) : pass->scratch.x;
    return normed ? pass_norm(pass, slot_of_end((int)pass->branch, SLOT_FINAL_NORM), *y,
                              pass->scratch.x)
                  : PASS_ON;
}

static enum pass_state final_norm(struct pass *pass, struct matrix *y)
{
    PASS_TRY(norm_last(pass, y));
    if (y->data == pass->scratch.x.data)
        return PASS_ON;
    PASS_TRY(pass_check_rows(pass, SITE_LN_F, 0, *y));
    return tap_rows(pass, SITE_LN_F, 0, *y);
}

/* Run the layers from `first` on. The progress counts the layers of an encoder before the layers of
 * its decoder. */
static enum pass_state run_layers(struct pass *pass, size_t first)
{
    const struct config *c = pass->config;
    size_t before = pass->branch == BRANCH_SOURCE ? 0 : stack_of(c, BRANCH_SOURCE)->layers;
    for (size_t layer = first; layer < pass->stack->layers; layer++) {
        PASS_TRY(run_layer(pass, layer));
        progress_tell(pass->machine->progress, before + layer + 1, config_layers(c));
    }
    return PASS_ON;
}

/* Run the encoder: a pass over the sources, whose output the texts attend to. (A model without an
 * encoder has no layers here and no norm: the output is the embedding.) */
static enum pass_state encode(struct pass *pass)
{
    const struct stack *stack = stack_of(pass->config, BRANCH_SOURCE);
    struct pass sources = *pass;
    struct batch batch;
    enum site first_use = stack->layers ? SITE_OF(BRANCH_CROSS, SITE_K) : SITE_K;
    bool needed = site_set_has_branch(pass->tap->watch->any, BRANCH_SOURCE) ||
                  /* true: the decoder needs keys, which are made from the sources */
                  site_order(pass->config, first_use, 0) <= pass->end;
    if (!needed || !pass->batch->source_tokens)
        return PASS_ON;
    sources.batch = &batch;
    sources.branch = BRANCH_SOURCE;
    sources.stack = stack;
    sources.first_layer = pass->config->n_layer;
    sources.scratch = (struct scratch){0};
    if (batch_of_sources(&batch, pass->batch, pass->arena, pass->err) || pass_init(&sources))
        return PASS_FAILED;
    PASS_TRY(embed(&sources));
    PASS_TRY(run_layers(&sources, 0));
    return final_norm(&sources, &pass->scratch.source);
}

/* Run the layers of the texts, and compute logits. */
static enum pass_state decode(struct pass *pass, size_t first)
{
    struct pass cross;
    struct batch at_sources = *pass->batch; /* the same texts, with the tokens of the sources as
                                             * keys */
    struct matrix y;
    if (has_encoder(pass->config)) {
        set_keys(&at_sources, true);
        if (pass_init_cross(&cross, pass, &at_sources))
            return PASS_FAILED;
        pass->cross = &cross;
    }
    PASS_TRY(run_layers(pass, first));
    PASS_TRY(final_norm(pass, &y));
    return unembed(pass, y);
}

static enum pass_state run_pass(struct pass *pass, const struct stream_start *start)
{
    struct matrix x = pass->scratch.x;
    for (size_t s = 0; start && s < pass->batch->count; s++) {
        struct batch_rows rows = pass->batch->queries[s];
        struct matrix from = {(float *)start->streams[s], rows.count, x.columns, x.columns};
        /* the cast drops const, but the streams are only read */
        copy_rows(matrix_rows(x, rows.first, rows.count), from);
    }
    if (!start)
        PASS_TRY(embed(pass));
    PASS_TRY(encode(pass));
    return decode(pass, start ? start->layer : 0);
}

/* Return the site_order after which the pass may stop: the last watched site, or the last value
 * that caches store. Values of cross-attention are stored when a source is encoded. */
static size_t end_of(const struct run *run, const struct watch *watch)
{
    const struct config *c = run->config;
    bool encodes = has_encoder(c) && run->batch->source_tokens;
    bool mixes = layer_mixer(layer_of(c, BRANCH_TEXT, c->n_layer - 1));
    enum site last = encodes                     ? SITE_OF(BRANCH_CROSS, SITE_V)
                     : mixes && !c->mixer.beside ? SITE_OF(BRANCH_MIXER, SITE_CONTEXT)
                                                 : SITE_V;
    return run->batch->cached ? num_max(watch->end, site_order(c, last, c->n_layer - 1))
                              : watch->end;
}

/* Return a pass over the batch of a run, before its buffers are allocated. */
static struct pass begin_pass(const struct run *run, struct arena *arena, struct err *err)
{
    return (struct pass){.machine = run->machine,
                         .config = run->config,
                         .stack = stack_of(run->config, BRANCH_TEXT),
                         .weights = run->weights,
                         .batch = run->batch,
                         .dropout = run->dropout,
                         .arena = arena,
                         .err = err};
}

int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err)
{
    struct pass pass = begin_pass(run, arena, err);
    pass.tap = tap;
    pass.end = end_of(run, tap->watch);
    pass.edits = run->edits && run->edits->count ? run->edits : NULL;
    if (pass_init(&pass))
        return -1;
    bool failed = run_pass(&pass, run->start) == PASS_FAILED;
    pass_end_caches(&pass, !failed);
    return failed ? -1 : 0;
}

/* --- parts of a pass -------------------------------------------------------------------------- */

int forward_attended(const struct run *run, const struct attended_rows *rows, struct arena *arena,
                     struct err *err)
{
    struct batch_rows all = {0, rows->x.rows, 0};
    struct batch batch = {
        .count = 1,
        .queries = &all,
        .keys = &all,
        .tokens = all.count,
        .key_tokens = all.count,
    };
    struct watch watch;
    struct tap tap = {.watch = &watch};
    struct pass pass = begin_pass(run, arena, err);
    pass.batch = &batch;
    pass.tap = &tap;
    pass.end = SIZE_MAX; /* nothing is watched, but the layer must run to its end */
    pass.attended = true;
    pass.edits = rows->token ? run->edits : NULL;
    pass.edit_token = rows->token;
    if (watch_init(&watch, run->config, arena, err))
        return -1;
    if (pass_memory_take(&pass, false) || pass_hold_rounded(&pass))
        return -1;
    struct scratch *s = &pass.scratch;
    if (rows->x.columns == s->x.columns)
        copy_rows(s->x, rows->x);
    s->context.columns = rows->context.columns;
    copy_rows(s->context, rows->context);
    pass_edit_rows(&pass, SITE_CONTEXT, rows->layer, s->context);
    if (run_layer(&pass, rows->layer) == PASS_FAILED)
        return -1;
    copy_rows(rows->x, s->x);
    return 0;
}

int forward_logits(const struct run *run, struct matrix logits, struct matrix stream, bool normed,
                   struct arena *arena, struct err *err)
{
    struct pass pass = begin_pass(run, arena, err);
    pass.scratch.x = stream;
    if ((!normed && (pass_matrix(&pass, &pass.scratch.norm, stream.rows, stream.columns) ||
                     norm_last(&pass, &stream) == PASS_FAILED)) ||
        transform(&pass, &pass.stack->unembed, &stream) == PASS_FAILED)
        return -1;
    return make_logits(&pass, logits, stream);
}

int forward_logits_blame(const struct run *run, struct err *err)
{
    return weights_check_finite(run->weights, -1, err)
               ? -1
               : err_set(err, "'logits': expected finite numbers, found infinity or nan");
}
