#include "reference_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "reference_attention.h"

double *reference_taken(struct reference *r, size_t count)
{
    double *values = arena_alloc(&r->arena, count, sizeof *values, NULL);
    ck_assert_ptr_nonnull(values);
    return values;
}

void reference_keep(struct reference *r, enum site site, size_t layer, const double *values,
                    size_t count)
{
    double *copy = reference_taken(r, count);
    memcpy(copy, values, count * sizeof *copy);
    r->sites[site][layer] = copy;
    r->counts[site][layer] = count;
}

const float *reference_of_layer(struct reference *r, const char *prefix, size_t layer,
                                const char *name)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s.%zu.%s", prefix, layer, name);
    return tiny_model_tensor(r->model, whole)->values;
}

const float *reference_of_model(struct reference *r, const char *name)
{
    return tiny_model_tensor(r->model, name)->values;
}

double *reference_product(struct reference *r, const double *x, size_t rows, struct columns c)
{
    double *y = reference_taken(r, rows * c.out);
    for (size_t row = 0; row < rows; row++) {
        for (size_t column = 0; column < c.out; column++) {
            double sum = c.bias ? (double)c.bias[c.first + column] : 0;
            for (size_t k = 0; k < c.in; k++)
                sum += x[row * c.in + k] * (double)c.w[k * c.stride + c.first + column];
            y[row * c.out + column] = sum;
        }
    }
    return y;
}

/* Transpose [rows, heads · d] to [heads, rows, d]. */
static double *by_heads(struct reference *r, const double *x, size_t rows, size_t heads, size_t d)
{
    double *y = reference_taken(r, rows * heads * d);
    for (size_t head = 0; head < heads; head++)
        for (size_t row = 0; row < rows; row++)
            for (size_t i = 0; i < d; i++)
                y[(head * rows + row) * d + i] = x[row * heads * d + head * d + i];
    return y;
}

double *reference_norm(struct reference *r, const double *x, size_t rows, const float *scale,
                       const float *shift)
{
    size_t width = r->model->config.n_embd;
    double *y = reference_taken(r, rows * width);
    if (mechanism_lacks(&r->model->config.mechanism, BLOCK_NORM)) {
        memcpy(y, x, rows * width * sizeof *y);
        return y;
    }
    for (size_t row = 0; row < rows; row++, x += width) {
        double mean = 0;
        double variance = 0;
        for (size_t i = 0; i < width; i++)
            mean += x[i] / (double)width;
        for (size_t i = 0; i < width; i++)
            variance += (x[i] - mean) * (x[i] - mean) / (double)width;
        for (size_t i = 0; i < width; i++)
            y[row * width + i] =
                (x[i] - mean) / sqrt(variance + (double)r->model->config.epsilon) * scale[i] +
                shift[i];
    }
    return y;
}

double *reference_attend_heads(struct reference *r, size_t layer, struct inputs in)
{
    const struct config *c = &r->model->config;
    size_t cells = c->n_head * in.queries * in.keys;
    const double *q = by_heads(r, in.q, in.queries, c->n_head, c->d_k);
    const double *k = by_heads(r, in.k, in.keys, c->n_kv_head, c->d_k);
    const double *v = by_heads(r, in.v, in.keys, c->n_kv_head, c->d_v);
    double *scores = reference_taken(r, cells);
    double *softmax = reference_taken(r, cells);
    double *masked = reference_taken(r, cells);
    double *weights = reference_taken(r, cells);
    double *context = reference_taken(r, in.queries * c->n_head * c->d_v);
    double *joined = reference_taken(r, in.queries * c->n_head * c->d_v);
    for (size_t row = 0; row < c->n_head * in.queries; row++) {
        size_t query = row % in.queries;
        size_t head = row / in.queries;
        size_t group = head / (c->n_head / c->n_kv_head);
        size_t first = row * in.keys;
        reference_attend(
            &(struct reference_row){c, layer, query, in.keys, in.causal, in.branch == BRANCH_CROSS,
                                    q + row * c->d_k, k + group * in.keys * c->d_k, scores + first,
                                    softmax + first, masked + first, weights + first, head});
        for (size_t i = 0; i < c->d_v; i++) {
            double *cell = &context[row * c->d_v + i];
            for (size_t key = 0; key < in.keys; key++)
                *cell += weights[first + key] * v[(group * in.keys + key) * c->d_v + i];
            joined[(query * c->n_head + head) * c->d_v + i] = *cell;
        }
    }
    reference_keep(r, SITE_OF(in.branch, SITE_Q), layer, q, in.queries * c->n_head * c->d_k);
    reference_keep(r, SITE_OF(in.branch, SITE_K), layer, k, in.keys * c->n_kv_head * c->d_k);
    reference_keep(r, SITE_OF(in.branch, SITE_V), layer, v, in.keys * c->n_kv_head * c->d_v);
    reference_keep(r, SITE_OF(in.branch, SITE_SCORES), layer, scores, cells);
    if (c->mechanism.renormalise && in.branch == BRANCH_TEXT)
        reference_keep(r, SITE_SOFTMAX, layer, softmax, cells);
    reference_keep(r, SITE_OF(in.branch, SITE_MASKED), layer, masked, cells);
    reference_keep(r, SITE_OF(in.branch, SITE_WEIGHTS), layer, weights, cells);
    reference_keep(r, SITE_OF(in.branch, SITE_CONTEXT), layer, context,
                   in.queries * c->n_head * c->d_v);
    return joined;
}

struct columns reference_whole(const float *w, const float *bias, size_t in, size_t out)
{
    return (struct columns){w, bias, out, 0, in, out};
}

double *reference_projected(struct reference *r, const char *prefix, size_t layer, const char *name,
                            bool bias, const double *x, size_t rows)
{
    char tensor[64];
    snprintf(tensor, sizeof tensor, "%s.%zu.%s.weight", prefix, layer, name);
    const struct tiny_tensor *w = tiny_model_tensor(r->model, tensor);
    snprintf(tensor, sizeof tensor, "%s.bias", name);
    const float *b = bias ? reference_of_layer(r, prefix, layer, tensor) : NULL;
    return reference_product(r, x, rows, reference_whole(w->values, b, w->shape[0], w->shape[1]));
}
