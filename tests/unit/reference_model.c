#include "reference_model.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "reference_attention.h"

double reference_activation(enum activation activation, double x)
{
    double u = sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
    switch (activation) {
    case ACTIVATION_GELU_NEW:
        return x / (1 + exp(-2 * u)); /* (1 + tanh u) / 2 = 1 / (1 + e^-2u) */
    case ACTIVATION_GELU:
        return x / 2 * erfc(-x / sqrt(2));
    case ACTIVATION_RELU:
        return x > 0 ? x : 0;
    case ACTIVATION_SILU:
        return x / (1 + exp(-x));
    case ACTIVATION_TANH:
        return tanh(x);
    case ACTIVATION_QUICK_GELU:
        return x / (1 + exp(-1.702 * x));
    default:
        return x;
    }
}

static double *taken(struct reference *r, size_t count)
{
    double *values = arena_alloc(&r->arena, count, sizeof *values, NULL);
    ck_assert_ptr_nonnull(values);
    return values;
}

static void keep(struct reference *r, enum site site, size_t layer, const double *values,
                 size_t count)
{
    double *copy = taken(r, count);
    memcpy(copy, values, count * sizeof *copy);
    r->sites[site][layer] = copy;
    r->counts[site][layer] = count;
}

static const float *of_layer(struct reference *r, size_t layer, const char *name)
{
    char whole[128];
    snprintf(whole, sizeof whole, "h.%zu.%s", layer, name);
    return tiny_model_tensor(r->model, whole)->values;
}

static const float *of_model(struct reference *r, const char *name)
{
    return tiny_model_tensor(r->model, name)->values;
}

/* y [rows, out] = x [rows, in] · w [in, out …] + bias, of columns first … first + out - 1 of w. */
struct columns {
    const float *w, *bias;
    size_t stride, first, in, out;
};

static double *product(struct reference *r, const double *x, size_t rows, struct columns c)
{
    double *y = taken(r, rows * c.out);
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

/* [rows, heads · d] as [heads, rows, d]. */
static double *by_heads(struct reference *r, const double *x, size_t rows, size_t heads, size_t d)
{
    double *y = taken(r, rows * heads * d);
    for (size_t head = 0; head < heads; head++)
        for (size_t row = 0; row < rows; row++)
            for (size_t i = 0; i < d; i++)
                y[(head * rows + row) * d + i] = x[row * heads * d + head * d + i];
    return y;
}

static bool lacks(const struct reference *r, enum block_part part)
{
    return mechanism_lacks(&r->model->config.mechanism, part);
}

static double *norm(struct reference *r, const double *x, size_t rows, const float *scale,
                    const float *shift)
{
    size_t width = r->model->config.n_embd;
    double *y = taken(r, rows * width);
    if (lacks(r, PART_NORM)) {
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

/* q [T, H·dk], k [S, Hkv·dk], v [S, Hkv·dv]; returns the heads side by side, [T, H·dv]. */
struct inputs {
    const double *q, *k, *v;
    size_t queries, keys;
};

static double *attend(struct reference *r, size_t layer, struct inputs in)
{
    const struct config *c = &r->model->config;
    size_t cells = c->n_head * in.queries * in.keys;
    const double *q = by_heads(r, in.q, in.queries, c->n_head, c->d_k);
    const double *k = by_heads(r, in.k, in.keys, c->n_kv_head, c->d_k);
    const double *v = by_heads(r, in.v, in.keys, c->n_kv_head, c->d_v);
    double *scores = taken(r, cells);
    double *softmax = taken(r, cells);
    double *masked = taken(r, cells);
    double *weights = taken(r, cells);
    double *context = taken(r, in.queries * c->n_head * c->d_v);
    double *joined = taken(r, in.queries * c->n_head * c->d_v);
    for (size_t row = 0; row < c->n_head * in.queries; row++) {
        size_t query = row % in.queries;
        size_t head = row / in.queries;
        size_t group = head / (c->n_head / c->n_kv_head);
        size_t first = row * in.keys;
        reference_attend(&(struct reference_row){c, layer, query, in.keys, q + row * c->d_k,
                                                 k + group * in.keys * c->d_k, scores + first,
                                                 softmax + first, masked + first, weights + first});
        for (size_t i = 0; i < c->d_v; i++) {
            double *cell = &context[row * c->d_v + i];
            for (size_t key = 0; key < in.keys; key++)
                *cell += weights[first + key] * v[(group * in.keys + key) * c->d_v + i];
            joined[(query * c->n_head + head) * c->d_v + i] = *cell;
        }
    }
    keep(r, SITE_Q, layer, q, in.queries * c->n_head * c->d_k);
    keep(r, SITE_K, layer, k, in.keys * c->n_kv_head * c->d_k);
    keep(r, SITE_V, layer, v, in.keys * c->n_kv_head * c->d_v);
    keep(r, SITE_SCORES, layer, scores, cells);
    if (c->mechanism.renormalise)
        keep(r, SITE_SOFTMAX, layer, softmax, cells);
    keep(r, SITE_MASKED, layer, masked, cells);
    keep(r, SITE_WEIGHTS, layer, weights, cells);
    keep(r, SITE_CONTEXT, layer, context, in.queries * c->n_head * c->d_v);
    return joined;
}

static double *embedding(struct reference *r, const uint32_t *ids, size_t count)
{
    const struct config *c = &r->model->config;
    double *x = taken(r, count * c->n_embd);
    for (size_t i = 0; i < count * c->n_embd; i++) {
        size_t row = i / c->n_embd;
        size_t column = i % c->n_embd;
        x[i] = (double)of_model(r, "wte.weight")[ids[row] * c->n_embd + column];
        if (c->kind == MODEL_GPT2 && !lacks(r, PART_POSITIONS))
            x[i] += (double)of_model(r, "wpe.weight")[i];
    }
    return x;
}

/* x += y; or x = y, where there is no residual stream. */
static void add(const struct reference *r, double *x, const double *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = lacks(r, PART_RESIDUAL) ? y[i] : x[i] + y[i];
}

static struct columns whole(const float *w, const float *bias, size_t in, size_t out)
{
    return (struct columns){w, bias, out, 0, in, out};
}

/* The second half of a GPT-2 layer; x is changed in place. */
static void gpt2_mlp(struct reference *r, size_t layer, double *x)
{
    size_t rows = r->sequence->count;
    size_t width = r->model->config.n_embd;
    size_t inner = r->model->config.n_inner;
    const double *normed =
        norm(r, x, rows, of_layer(r, layer, "ln_2.weight"), of_layer(r, layer, "ln_2.bias"));
    keep(r, SITE_LN_2, layer, normed, rows * width);
    double *hidden = product(r, normed, rows,
                             whole(of_layer(r, layer, "mlp.c_fc.weight"),
                                   of_layer(r, layer, "mlp.c_fc.bias"), width, inner));
    for (size_t i = 0; i < rows * inner; i++)
        hidden[i] = reference_activation(r->model->config.activation, hidden[i]);
    keep(r, SITE_MLP_ACT, layer, hidden, rows * inner);
    const double *out = product(r, hidden, rows,
                                whole(of_layer(r, layer, "mlp.c_proj.weight"),
                                      of_layer(r, layer, "mlp.c_proj.bias"), inner, width));
    keep(r, SITE_MLP_OUT, layer, out, rows * width);
    add(r, x, out, rows * width);
}

/* One GPT-2 layer; x is changed in place. */
static void gpt2_layer(struct reference *r, size_t layer, double *x)
{
    size_t rows = r->sequence->count;
    size_t width = r->model->config.n_embd;
    struct columns part = {of_layer(r, layer, "attn.c_attn.weight"),
                           of_layer(r, layer, "attn.c_attn.bias"),
                           3 * width,
                           0,
                           width,
                           width};
    keep(r, SITE_RESID_PRE, layer, x, rows * width);
    const double *normed =
        norm(r, x, rows, of_layer(r, layer, "ln_1.weight"), of_layer(r, layer, "ln_1.bias"));
    keep(r, SITE_LN_1, layer, normed, rows * width);
    struct inputs in = {.q = product(r, normed, rows, part), .queries = rows, .keys = rows};
    part.first = width;
    in.k = product(r, normed, rows, part);
    part.first = 2 * width;
    in.v = product(r, normed, rows, part);
    const double *out = product(r, attend(r, layer, in), rows,
                                whole(of_layer(r, layer, "attn.c_proj.weight"),
                                      of_layer(r, layer, "attn.c_proj.bias"), width, width));
    keep(r, SITE_ATTN_OUT, layer, out, rows * width);
    add(r, x, out, rows * width);
    keep(r, SITE_RESID_MID, layer, x, rows * width);

    if (!lacks(r, PART_MLP))
        gpt2_mlp(r, layer, x);
    keep(r, SITE_RESID_POST, layer, x, rows * width);
}

static void gpt2_end(struct reference *r, const double *x)
{
    const struct config *c = &r->model->config;
    size_t rows = r->sequence->count;
    const float *words = of_model(r, c->tied ? "wte.weight" : "lm_head.weight");
    const double *normed = norm(r, x, rows, of_model(r, "ln_f.weight"), of_model(r, "ln_f.bias"));
    double *logits = taken(r, rows * c->vocab_size);
    for (size_t i = 0; i < rows * c->vocab_size; i++)
        for (size_t k = 0; k < c->n_embd; k++)
            logits[i] += normed[i / c->vocab_size * c->n_embd + k] *
                         (double)words[i % c->vocab_size * c->n_embd + k];
    keep(r, SITE_LN_F, 0, normed, rows * c->n_embd);
    keep(r, SITE_LOGITS, 0, logits, rows * c->vocab_size);
}

/* A projection of bare attention, by its name. */
static const double *projected(struct reference *r, size_t layer, const char *name, const double *x,
                               size_t rows)
{
    char tensor[64];
    const float *bias = NULL;
    snprintf(tensor, sizeof tensor, "h.%zu.attn.%s.weight", layer, name);
    const struct tiny_tensor *w = tiny_model_tensor(r->model, tensor);
    snprintf(tensor, sizeof tensor, "attn.%s.bias", name);
    if (r->model->config.bias)
        bias = of_layer(r, layer, tensor);
    return product(r, x, rows, whole(w->values, bias, w->shape[0], w->shape[1]));
}

static const double *attention_layer(struct reference *r, size_t layer, const double *x,
                                     const double *source)
{
    const struct config *c = &r->model->config;
    size_t rows = r->sequence->count;
    struct inputs in = {x, source ? source : x, source ? source : x, rows, rows};
    if (source)
        in.keys = r->sequence->source_count;
    if (c->projections) {
        in.q = projected(r, layer, "q_proj", in.q, rows);
        in.v = projected(r, layer, "v_proj", in.v, in.keys);
        in.k = projected(r, layer, "k_proj", in.k, in.keys);
    }
    const double *out = attend(r, layer, in);
    if (c->out_proj)
        out = projected(r, layer, "out_proj", out, rows);
    keep(r, SITE_ATTN_OUT, layer, out, rows * (c->out_proj ? c->n_embd : c->n_head * c->d_v));
    return out;
}

void reference_run(struct reference *reference, struct tiny_model *model,
                   const struct sequence *sequence)
{
    const struct config *c = &model->config;
    *reference = (struct reference){.model = model, .sequence = sequence};
    double *x = embedding(reference, sequence->ids, sequence->count);
    const double *source =
        c->cross ? embedding(reference, sequence->source_ids, sequence->source_count) : NULL;
    const double *out = x;
    keep(reference, SITE_EMBEDDING, 0, x, sequence->count * c->n_embd);
    if (source)
        keep(reference, SITE_SOURCE_EMBEDDING, 0, source, sequence->source_count * c->n_embd);
    for (size_t layer = 0; layer < c->n_layer && c->kind == MODEL_GPT2; layer++)
        gpt2_layer(reference, layer, x);
    for (size_t layer = 0; layer < c->n_layer && c->kind == MODEL_ATTENTION; layer++)
        out = attention_layer(reference, layer, out, source);
    if (c->kind == MODEL_GPT2)
        gpt2_end(reference, x);
}

void reference_release(struct reference *reference)
{
    arena_release(&reference->arena);
}
