/* Into the residual stream and out of it: ids become embeddings, the last layer's rows logits. */
#include "math/argmax.h"
#include "math/gemm.h"
#include "math/rows.h"
#include "math/tensor.h"
#include "model/pass.h"

/* The rows of a text, the first of which stands at place `past`. */
static void embed_text(struct pass *pass, struct matrix x, const uint32_t *ids, size_t past)
{
    const struct config *c = pass->config;
    bool has_positions = !mechanism_lacks(&c->mechanism, PART_POSITIONS) && !c->n_word;
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

/* Embeddings of fewer channels than the stream has are projected before positions are added. */
static int project_words(struct pass *pass, struct matrix words)
{
    const struct batch *batch = pass->batch;
    struct matrix x = pass->scratch.x;
    struct weight weight;
    if (weights_projection(pass->weights, false, &weight, pass->err))
        return -1;
    linear(pass->machine, x, words, &weight, ACTIVATION_NONE);
    bool has_positions = !mechanism_lacks(&pass->config->mechanism, PART_POSITIONS);
    for (size_t s = 0; has_positions && s < batch->count; s++)
        for (size_t i = 0; i < batch->queries[s].count; i++)
            weights_add_position(pass->weights, x.data + (batch->queries[s].first + i) * x.stride,
                                 batch->past[s] + i);
    return 0;
}

enum pass_state embed(struct pass *pass)
{
    const struct batch *batch = pass->batch;
    const struct config *c = pass->config;
    struct matrix x = pass->scratch.x;
    struct matrix words = x;
    struct norm norm;
    if (c->n_word) {
        words = (struct matrix){NULL, x.rows, c->n_word, c->n_word};
        words.data = arena_alloc(pass->arena, x.rows * c->n_word, sizeof *words.data, pass->err);
        if (!words.data)
            return PASS_FAILED;
    }
    for (size_t s = 0; s < batch->count; s++) {
        struct matrix rows = matrix_rows(words, batch->queries[s].first, batch->queries[s].count);
        embed_text(pass, rows, batch->texts[s].ids, batch->past[s]);
    }
    if (c->n_word && project_words(pass, words))
        return PASS_FAILED;
    if (c->embedding_norm) {
        if (weights_embedding_norm(pass->weights, &norm, pass->err))
            return PASS_FAILED;
        pass_norm(pass, x, x, &norm);
    }
    PASS_TRY(pass_check_rows(pass, SITE_EMBEDDING, 0, x));
    return tap_rows(pass, SITE_EMBEDDING, 0, x);
}

enum pass_state embed_from(struct pass *pass, const float *const *streams)
{
    struct matrix x = pass->scratch.x;
    for (size_t s = 0; s < pass->batch->count; s++) {
        struct span rows = pass->batch->queries[s];
        struct matrix from = {(float *)streams[s], rows.count, x.columns, x.columns};
        copy_rows(matrix_rows(x, rows.first, rows.count), from); /* it is only read */
    }
    return PASS_ON;
}

/* The rows that logits are wanted of: all, or those of every text, one after the other, in memory
 * of their own. */
static int choose_rows(struct pass *pass, struct matrix *y)
{
    struct matrix wanted = {NULL, pass->scratch.logits.rows, y->columns, y->columns};
    if (wanted.rows == y->rows)
        return 0;
    wanted.data =
        arena_alloc(pass->arena, wanted.rows * wanted.columns, sizeof *wanted.data, pass->err);
    if (!wanted.data)
        return -1;
    for (size_t s = 0; s < pass->batch->count; s++) {
        struct span to = pass_logit_rows(pass, s);
        struct span rows = pass->batch->queries[s];
        copy_rows(matrix_rows(wanted, to.first, to.count),
                  matrix_rows(*y, rows.first + rows.count - to.count, to.count));
    }
    *y = wanted;
    return 0;
}

/* The largest logit alone, where that can be told. */
static int choose_likeliest(struct pass *pass, struct matrix y)
{
    struct argmax *argmax = NULL;
    struct likeliest *likeliest = pass->tap->likeliest;
    const float *last = y.data + (y.rows - 1) * y.stride;
    if (weights_argmax(pass->weights, pass->machine, &argmax, pass->err))
        return -1;
    likeliest->known = argmax_find(pass->machine, argmax, last, &likeliest->id);
    return 0;
}

/* What comes after the product: a bias, a divisor, a cap. */
static int finish_logits(struct pass *pass, struct matrix logits)
{
    const struct config *c = pass->config;
    const float *bias = NULL;
    if (weights_logit_bias(pass->weights, &bias, pass->err))
        return -1;
    for (size_t row = 0; row < logits.rows; row++) {
        float *at = logits.data + row * logits.stride;
        for (size_t i = 0; bias && i < logits.columns; i++)
            at[i] += bias[i];
        for (size_t i = 0; c->logit_divisor > 0 && i < logits.columns; i++)
            at[i] /= c->logit_divisor;
        if (c->logit_cap > 0)
            cap_row(at, logits.columns, c->logit_cap);
    }
    return 0;
}

/* The last rows in the channels of embeddings. */
int pass_project_out(struct pass *pass, struct matrix *y)
{
    size_t width = pass->config->n_word;
    struct weight weight;
    struct matrix narrow = {NULL, y->rows, width, width};
    if (!width)
        return 0;
    narrow.data = arena_alloc(pass->arena, y->rows * width, sizeof *narrow.data, pass->err);
    if (!narrow.data || weights_projection(pass->weights, true, &weight, pass->err))
        return -1;
    linear(pass->machine, narrow, *y, &weight, ACTIVATION_NONE);
    *y = narrow;
    return 0;
}

/* logits [T, V] = y [T, C] · unembedding [C, V], and what comes after it */
int pass_make_logits(struct pass *pass, struct matrix logits, struct matrix y)
{
    struct weight unembedding;
    if (weights_unembedding(pass->weights, &unembedding, pass->err))
        return -1;
    linear(pass->machine, logits, y, &unembedding, ACTIVATION_NONE);
    return finish_logits(pass, logits);
}

enum pass_state unembed(struct pass *pass, struct matrix y)
{
    bool changes = pass->config->biases & BIAS_LOGITS || pass_edits(pass, SITE_LOGITS, 0);
    struct likeliest *likeliest = changes ? NULL : pass->tap->likeliest;
    if (pass_project_out(pass, &y))
        return PASS_FAILED;
    if (likeliest && choose_likeliest(pass, y))
        return PASS_FAILED;
    if (likeliest && likeliest->known)
        return PASS_OVER;
    if (choose_rows(pass, &y) || pass_make_logits(pass, pass->scratch.logits, y))
        return PASS_FAILED;
    return tap_logits(pass);
}
