#include "model/forward.h"

#include "math/gemm.h"
#include "math/rows.h"
#include "math/tensor.h"
#include "model/block.h"

/* The message is in pass->err. */
static bool fail(struct pass *pass)
{
    pass->tap->failed = true;
    return true;
}

/* The rows of a text, the first of which stands at place `past`. */
static void embed(struct pass *pass, struct matrix x, const uint32_t *ids, size_t past)
{
    const struct config *c = pass->config;
    bool has_positions = !mechanism_lacks(&c->mechanism, PART_POSITIONS);
    for (size_t i = 0; i < x.rows; i++) {
        float *row = x.data + i * x.stride;
        weights_embed_token(pass->weights, row, ids[i]);
        if (c->embedding_scale != 1)
            scale_row(row, row, x.columns, c->embedding_scale);
        if (has_positions)
            weights_add_position(pass->weights, row, past + i);
    }
    if (c->sinusoids && has_positions)
        add_sinusoids(x, past);
}

static struct matrix span_rows(struct matrix whole, struct span span)
{
    return matrix_rows(whole, span.first, span.count);
}

/* token + position embedding of every sequence */
static bool embed_batch(struct pass *pass)
{
    const struct batch *batch = pass->batch;
    struct matrix x = pass->scratch.x;
    for (size_t s = 0; s < batch->count; s++)
        embed(pass, span_rows(x, batch->queries[s]), batch->sequences[s].ids, batch->past[s]);
    return pass_check_rows(pass, SITE_EMBEDDING, 0, x) || tap_rows(pass, SITE_EMBEDDING, 0, x);
}

/* The rows of every sequence that logits are wanted of, as columns. */
static void transpose_wanted(struct pass *pass, struct matrix y, struct matrix x)
{
    for (size_t s = 0; s < pass->batch->count; s++) {
        struct span columns = pass_logit_rows(pass, s);
        struct span rows = pass->batch->queries[s];
        size_t skipped = rows.count - columns.count;
        transpose(matrix_columns(y, columns.first, columns.count),
                  matrix_rows(x, rows.first + skipped, columns.count));
    }
}

/* logits [V, T] = unembedding [V, C] · yᵀ [C, T]: the large matrix stays as it is in the file. */
static int unembed_words(struct pass *pass, struct matrix y)
{
    struct scratch *s = &pass->scratch;
    const struct config *c = pass->config;
    const float *matrix = NULL;
    size_t count = s->logits.columns;
    float *turned = arena_alloc(pass->arena, c->n_embd * count, sizeof *turned, pass->err);
    if (!turned || weights_unembedding(pass->weights, &matrix, pass->err))
        return -1;
    /* both products only read their second matrix */
    struct matrix words = {(float *)matrix, c->vocab_size, c->n_embd, c->n_embd};
    struct weight tokens = {.data = turned, .in = c->n_embd, .out = count, .stride = count};
    transpose_wanted(pass, (struct matrix){turned, c->n_embd, count, count}, y);
    if (count == 1)
        gemv(pass->machine, s->logits.data, words, turned);
    else
        linear(pass->machine, s->logits, words, &tokens, ACTIVATION_NONE);
    return 0;
}

/* The rows of every sequence that logits are wanted of, one behind the other. */
static struct matrix gather_wanted(struct pass *pass, struct matrix x)
{
    struct matrix wanted = {NULL, pass->scratch.logits.rows, x.columns, x.columns};
    if (wanted.rows == x.rows)
        return x;
    wanted.data =
        arena_alloc(pass->arena, wanted.rows * wanted.columns, sizeof *wanted.data, pass->err);
    for (size_t s = 0; wanted.data && s < pass->batch->count; s++) {
        struct span to = pass_logit_rows(pass, s);
        struct span rows = pass->batch->queries[s];
        size_t skipped = rows.count - to.count;
        copy_rows(matrix_rows(wanted, to.first, to.count),
                  matrix_rows(x, rows.first + skipped, to.count));
    }
    return wanted;
}

/* logits [T, V] = y [T, C] · unembedding [C, V], which stands in panels. */
static int unembed_rows(struct pass *pass, struct matrix y)
{
    struct weight unembedding;
    struct matrix wanted = gather_wanted(pass, y);
    if (!wanted.data || weights_turned_unembedding(pass->weights, &unembedding, pass->err))
        return -1;
    linear(pass->machine, pass->scratch.logits, wanted, &unembedding, ACTIVATION_NONE);
    return 0;
}

/* The largest logit alone, where that can be told: true when it is known, or something failed. */
static bool choose_likeliest(struct pass *pass, struct matrix y)
{
    struct argmax *argmax = NULL;
    struct likeliest *likeliest = pass->tap->likeliest;
    const float *last = y.data + (y.rows - 1) * y.stride;
    if (weights_argmax(pass->weights, pass->machine, &argmax, pass->err))
        return fail(pass);
    likeliest->known = argmax_find(pass->machine, argmax, last, &likeliest->id);
    return likeliest->known;
}

static bool unembed(struct pass *pass, struct matrix y)
{
    bool rows = pass_memory_logits_are_in_rows(pass);
    if (pass->tap->likeliest && choose_likeliest(pass, y))
        return true;
    if ((rows ? unembed_rows : unembed_words)(pass, y))
        return fail(pass);
    return tap_logits(pass);
}

/* What leaves the last layer, normed where the model does that. */
static bool final_norm(struct pass *pass, struct matrix *y)
{
    struct norm norm;
    *y = pass->scratch.x;
    if (!pass->config->final_norm)
        return false;
    if (weights_final_norm(pass->weights, pass->part == PART_SOURCE, &norm, pass->err))
        return fail(pass);
    *y = pass->scratch.norm;
    pass_norm(pass, *y, pass->scratch.x, &norm);
    return pass_check_rows(pass, SITE_LN_F, 0, *y) || tap_rows(pass, SITE_LN_F, 0, *y);
}

/* The layers of an encoder come before those of its decoder. */
static void tell_layer(const struct pass *pass, size_t layer)
{
    const struct config *c = pass->config;
    size_t before = pass->part == PART_SOURCE ? 0 : c->n_encoder_layer;
    progress_tell(pass->machine->progress, before + layer + 1, c->n_encoder_layer + c->n_layer);
}

static bool run_layers(struct pass *pass)
{
    for (size_t layer = 0; layer < pass->layers; layer++) {
        if (block(pass, layer))
            return true;
        tell_layer(pass, layer);
    }
    return false;
}

/* Is there a source that is not in a cache, and of use for one or for anything that is watched? */
static bool needs_sources(const struct pass *pass)
{
    enum site first_look = pass->config->n_encoder_layer ? SITE_CROSS_K : SITE_K;
    return pass->batch->source_tokens &&
           (pass->batch->cached || watch_has_any(pass->tap->watch, PART_SOURCE) ||
            watch_from(pass->tap->watch, first_look, 0));
}

/* The encoder: a pass of its own over the sources. What comes out is what the sentences look at.
 * (Without an encoder that is the embedding: no layers, no norm.) */
static bool read_sources(struct pass *pass)
{
    struct pass sources = *pass;
    struct batch batch;
    if (!needs_sources(pass))
        return false;
    sources.batch = &batch;
    sources.part = PART_SOURCE;
    sources.layers = pass->config->n_encoder_layer;
    sources.first_layer = pass->config->n_layer;
    sources.scratch = (struct scratch){0};
    if (batch_of_sources(&batch, pass->batch, pass->arena, pass->err) || pass_init(&sources))
        return fail(pass);
    return embed_batch(&sources) || run_layers(&sources) ||
           final_norm(&sources, &pass->scratch.source);
}

/* The decoder; GPT-2 is one. */
static bool read_sentences(struct pass *pass)
{
    struct pass cross;
    struct batch at_sources = batch_at_sources(pass->batch);
    struct matrix y;
    if (pass->config->n_encoder_layer) {
        if (pass_init_cross(&cross, pass, &at_sources))
            return fail(pass);
        pass->cross = &cross;
    }
    return run_layers(pass) || final_norm(pass, &y) || unembed(pass, y);
}

int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err)
{
    struct pass pass = {
        .machine = run->machine,
        .config = run->config,
        .weights = run->weights,
        .batch = run->batch,
        .layers = run->config->n_layer,
        .tap = tap,
        .arena = arena,
        .err = err,
    };
    if (pass_init(&pass))
        return -1;
    if (!embed_batch(&pass) && !read_sources(&pass))
        read_sentences(&pass);
    (tap->failed ? pass_forget_caches : pass_keep_caches)(&pass);
    return tap->failed ? -1 : 0;
}
