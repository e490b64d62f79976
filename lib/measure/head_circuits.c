/* head_circuits.c: from words, through a head's W_V and W_O, to logits. A layer's W_O goes on to
 * where logits are made once; each head's part of that, [dv, V], serves for all words. */
#include "measure/head_circuits.h"

#include <string.h>

#include "base/num.h"
#include "math/rng.h"
#include "model/config.h"

enum { ROWS_AT_ONCE = 64 }; /* of logits */

int circuits_check(const struct model *model, bool of_logits, struct err *err)
{
    const struct config *c = &model->config;
    if (of_logits && !site_exists(c, SITE_LOGITS))
        return err_unsupported(err, "'%s': a model of type \"%s\" has no logits to raise",
                               model->name, config_kind_name(c));
    if (c->kind == MODEL_ATTENTION || !c->out_proj || !c->projections)
        return err_unsupported(err,
                               "'%s': expected heads that write to a stream, found a model of "
                               "type \"%s\"",
                               model->name, config_kind_name(c));
    return 0;
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

struct circuit {
    const struct circuit_words *words;
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    float *embeddings;           /* [count, C] */
    struct weight to_logits;     /* [C or n_word, V] */
    const size_t *targets[2];    /* [count] places in `among`: of `to`, and of another pair */
    struct mean *found, *random; /* [heads] */
    struct arena arena, of_layer;
    struct err *err;
};

static struct matrix matrix_of(float *data, size_t rows, size_t columns)
{
    return (struct matrix){data, rows, columns, columns};
}

static struct matrix new_matrix(struct arena *arena, size_t rows, size_t columns, struct err *err)
{
    size_t cells = 0;
    bool fits = !__builtin_mul_overflow(rows, columns, &cells);
    return matrix_of(arena_alloc(arena, fits ? cells : SIZE_MAX, sizeof(float), err), rows,
                     columns);
}

static int embed(struct circuit *circuit)
{
    const struct config *c = circuit->config;
    const struct circuit_words *words = circuit->words;
    struct arena *arena = &circuit->arena;
    struct matrix tokens = new_matrix(arena, words->count, config_word_width(c), circuit->err);
    struct matrix stream = tokens;
    struct weight projection;
    struct norm norm;
    if (!tokens.data)
        return -1;
    for (size_t i = 0; i < words->count; i++)
        weights_embed_token(circuit->weights, tokens.data + i * tokens.stride, words->from[i]);
    scale_row(tokens.data, tokens.data, tokens.rows * tokens.columns, c->embedding_scale);
    if (c->n_word) {
        stream = new_matrix(arena, words->count, c->n_embd, circuit->err);
        if (!stream.data || weights_projection(circuit->weights, false, &projection, circuit->err))
            return -1;
        linear(circuit->machine, stream, tokens, &projection, ACTIVATION_NONE);
    }
    if (c->embedding_norm) {
        if (weights_embedding_norm(circuit->weights, &norm, circuit->err))
            return -1;
        norm_rows(stream, stream, &norm);
    }
    circuit->embeddings = stream.data;
    return 0;
}

void circuits_apply_scales(struct matrix rows, const struct norm *norm)
{
    for (size_t i = 0; i < rows.rows; i++) {
        float *row = rows.data + i * rows.stride;
        float mean = norm->rms ? 0 : sum_row(row, rows.columns) / (float)rows.columns;
        for (size_t k = 0; k < rows.columns; k++)
            row[k] = (row[k] - mean) * (norm->scale[k] + norm->offset);
    }
}

/* W_O [H · dv, C] on its way to where logits are made: [H · dv, C or n_word]. */
static int end_of_layer(struct circuit *circuit, struct matrix *out,
                        const struct attention_weights *w)
{
    const struct config *c = circuit->config;
    struct norm norm;
    struct weight projection;
    *out = new_matrix(&circuit->of_layer, c->n_head * c->d_v, c->n_embd, circuit->err);
    if (!out->data)
        return -1;
    weight_copy(out->data, c->n_embd, &w->out, (struct weight_piece){0, out->rows, 0});
    if (c->norm_out)
        circuits_apply_scales(*out, &w->post);
    if (c->final_norm) {
        if (weights_final_norm(circuit->weights, false, &norm, circuit->err))
            return -1;
        circuits_apply_scales(*out, &norm);
    }
    if (!c->n_word)
        return 0;
    struct matrix narrow = new_matrix(&circuit->of_layer, out->rows, c->n_word, circuit->err);
    if (!narrow.data || weights_projection(circuit->weights, true, &projection, circuit->err))
        return -1;
    linear(circuit->machine, narrow, *out, &projection, ACTIVATION_NONE);
    *out = narrow;
    return 0;
}

/* --- heads ------------------------------------------------------------------------------------ */

/* The place of the largest; the end where two are. */
static size_t place_of_largest(const float *row, size_t count)
{
    size_t best = 0;
    bool twice = false;
    for (size_t i = 1; i < count; i++) {
        twice = row[i] > row[best] ? false : twice || row[i] == row[best];
        best = row[i] > row[best] ? i : best;
    }
    return twice ? count : best;
}

/* read [count, dv] what the head reads of words; out [dv, C or n_word]. */
static int count_head(struct circuit *circuit, size_t layer, size_t head, struct matrix read,
                      struct matrix out)
{
    const struct circuit_words *words = circuit->words;
    struct arena arena = {0};
    struct matrix all = new_matrix(&arena, out.rows, circuit->to_logits.out, circuit->err);
    struct matrix part = new_matrix(&arena, out.rows, words->among_count, circuit->err);
    struct matrix logits = new_matrix(&arena, ROWS_AT_ONCE, words->among_count, circuit->err);
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
        for (size_t i = 0; i < logits.rows; i++) {
            size_t place = place_of_largest(logits.data + i * logits.stride, logits.columns);
            for (int way = 0; way < 2; way++)
                hits[way] += place == circuit->targets[way][first + i];
        }
    }
    arena_release(&arena);
    if (failed)
        return -1;
    size_t index = layer * circuit->config->n_head + head;
    circuit->found[index] = (struct mean){(double)hits[0], words->count};
    circuit->random[index] = (struct mean){(double)hits[1], words->count};
    return 0;
}

static int count_layer(struct circuit *circuit, size_t layer)
{
    const struct config *c = circuit->config;
    struct matrix words = matrix_of(circuit->embeddings, circuit->words->count, c->n_embd);
    struct matrix out;
    struct block_weights block;
    arena_clear(&circuit->of_layer);
    struct matrix normed = new_matrix(&circuit->of_layer, words.rows, words.columns, circuit->err);
    struct matrix read =
        new_matrix(&circuit->of_layer, words.rows, c->n_kv_head * c->d_v, circuit->err);
    if (!normed.data || !read.data ||
        weights_block(circuit->weights, layer, SITE_LN_1_POST, &block, circuit->err) ||
        end_of_layer(circuit, &out, &block.self))
        return -1;
    if (c->norm_first && c->norm_in)
        norm_rows(normed, words, &block.self.norm);
    else
        copy_rows(normed, words);
    block.self.v.bias = NULL;
    linear(circuit->machine, read, normed, &block.self.v, ACTIVATION_NONE);
    for (size_t head = 0; head < c->n_head; head++) {
        size_t group = head / (c->n_head / c->n_kv_head);
        if (count_head(circuit, layer, head, matrix_columns(read, group * c->d_v, c->d_v),
                       matrix_rows(out, head * c->d_v, c->d_v)))
            return -1;
    }
    return 0;
}

static size_t find(const struct circuit_words *words, uint32_t id)
{
    size_t low = 0;
    for (size_t end = words->among_count; end - low > 1;) {
        size_t middle = (low + end) / 2;
        *(words->among[middle] > id ? &end : &low) = middle;
    }
    return low;
}

static int set_targets(struct circuit *circuit, uint64_t seed)
{
    size_t count = circuit->words->count;
    size_t shift = count > 1 ? 1 + rng_below(seed, 0, count - 1) : 0;
    for (int way = 0; way < 2; way++) {
        size_t *targets = arena_alloc(&circuit->arena, count, sizeof *targets, circuit->err);
        if (!targets)
            return -1;
        for (size_t i = 0; i < count; i++)
            targets[i] = find(circuit->words, circuit->words->to[way ? (i + shift) % count : i]);
        circuit->targets[way] = targets;
    }
    return 0;
}

int circuits_count(struct mean *found, struct mean *random, const struct circuit_words *words,
                   struct viewer *viewer, uint64_t seed, struct err *err)
{
    struct circuit circuit = {
        .words = words,
        .machine = &viewer->machine,
        .config = &viewer->model.config,
        .weights = &viewer->model.weights,
        .found = found,
        .random = random,
        .err = err,
    };
    int failed = circuits_check(&viewer->model, true, err) || set_targets(&circuit, seed) ||
                 embed(&circuit) || weights_unembedding(circuit.weights, &circuit.to_logits, err);
    for (size_t layer = 0; layer < circuit.config->n_layer && !failed; layer++)
        failed = count_layer(&circuit, layer);
    arena_release(&circuit.of_layer);
    arena_release(&circuit.arena);
    return failed ? -1 : 0;
}
