#include "model/layer.h"
#include "reference_model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "reference_parts.h"

static bool lacks(const struct reference *r, enum block_module module)
{
    return mechanism_lacks(&r->model->config.mechanism, module);
}

/* x += y; without a residual stream x = y */
static void add(const struct reference *r, double *x, const double *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = lacks(r, BLOCK_RESIDUAL) ? y[i] : x[i] + y[i];
}

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

static double *embedding(struct reference *r, const uint32_t *ids, size_t count)
{
    const struct config *c = &r->model->config;
    double *x = reference_taken(r, count * c->n_embd);
    for (size_t i = 0; i < count * c->n_embd; i++) {
        size_t row = i / c->n_embd;
        size_t column = i % c->n_embd;
        double angle = (double)row / pow(10000, (double)(column / 2 * 2) / (double)c->n_embd);
        x[i] = (double)reference_of_model(r, "wte.weight")[ids[row] * c->n_embd + column];
        if (c->kind == MODEL_TRANSFORMER && c->embedding_scale != 1)
            x[i] *= sqrt((double)c->n_embd);
        if (lacks(r, BLOCK_POSITIONS) || c->score_bias)
            continue;
        if (c->sinusoids)
            x[i] += column % 2 ? cos(angle) : sin(angle);
        else if (c->kind != MODEL_ATTENTION)
            x[i] += (double)reference_of_model(r, "wpe.weight")[i];
    }
    return x;
}

/* A stack of blocks. Names of parameters begin with `prefix`, "h" or "enc"; x is the stream. */
struct reference_stack {
    enum site_branch branch;
    const char *prefix;
    double *x;
    size_t rows;
    const double *source; /* NULL: no cross-attention */
    size_t source_rows;
};

static void keep_stream(struct reference *r, const struct reference_stack *stack, enum site site,
                        size_t layer, const double *values)
{
    reference_keep(r, site, layer, values, stack->rows * r->model->config.n_embd);
}

/* The norm of the stream. */
static double *norm_of(struct reference *r, const struct reference_stack *stack, size_t layer,
                       const char *name)
{
    char scale[64];
    char shift[64];
    snprintf(scale, sizeof scale, "%s.weight", name);
    snprintf(shift, sizeof shift, "%s.bias", name);
    return reference_norm(r, stack->x, stack->rows,
                          reference_of_layer(r, stack->prefix, layer, scale),
                          reference_of_layer(r, stack->prefix, layer, shift));
}

/* The input of a sublayer, and the stream after its output `out`. */
static const double *before(struct reference *r, const struct reference_stack *stack, size_t layer,
                            const char *name, enum site site)
{
    size_t size = stack->rows * r->model->config.n_embd;
    double *y = reference_taken(r, size);
    memcpy(y, stack->x, size * sizeof *y);
    if (layer_of(&r->model->config, BRANCH_TEXT, 0)->sublayers->norm_after)
        return y;
    y = norm_of(r, stack, layer, name);
    keep_stream(r, stack, site, layer, y);
    return y;
}

static void after(struct reference *r, const struct reference_stack *stack, size_t layer,
                  const char *name, enum site site, enum site sum, const double *out)
{
    size_t size = stack->rows * r->model->config.n_embd;
    add(r, stack->x, out, size);
    keep_stream(r, stack, sum, layer, stack->x);
    if (!layer_of(&r->model->config, BRANCH_TEXT, 0)->sublayers->norm_after)
        return;
    memcpy(stack->x, norm_of(r, stack, layer, name), size * sizeof *stack->x);
    keep_stream(r, stack, site, layer, stack->x);
}

/* Queries, keys and values are columns of one matrix. */
static void project_gpt2(struct reference *r, size_t layer, const double *x, struct inputs *in)
{
    size_t width = r->model->config.n_embd;
    struct columns part = {reference_of_layer(r, "h", layer, "attn.c_attn.weight"),
                           reference_of_layer(r, "h", layer, "attn.c_attn.bias"),
                           3 * width,
                           0,
                           width,
                           width};
    in->q = reference_product(r, x, in->queries, part);
    part.first = width;
    in->k = reference_product(r, x, in->keys, part);
    part.first = 2 * width;
    in->v = reference_product(r, x, in->keys, part);
}

static double *part_of(struct reference *r, const struct reference_stack *stack, size_t layer,
                       const char *attention, const char *part, const double *x, size_t rows)
{
    char name[64];
    snprintf(name, sizeof name, "%s.%s_proj", attention, part);
    return reference_projected(r, stack->prefix, layer, name, r->model->config.biases & BIASED_QKV,
                               x, rows);
}

/* Attention with its residual connection; keys and values are from `y`. */
static const double *attended(struct reference *r, const struct reference_stack *stack,
                              size_t layer, const char *name, const double *x, const double *y,
                              struct inputs in)
{
    if (r->model->config.kind == MODEL_GPT2) {
        project_gpt2(r, layer, x, &in);
        return reference_projected(r, "h", layer, "attn.c_proj", true,
                                   reference_attend_heads(r, layer, in), in.queries);
    }
    in.q = part_of(r, stack, layer, name, "q", x, in.queries);
    in.k = part_of(r, stack, layer, name, "k", y, in.keys);
    in.v = part_of(r, stack, layer, name, "v", y, in.keys);
    return part_of(r, stack, layer, name, "out", reference_attend_heads(r, layer, in), in.queries);
}

static const double *mlp_of(struct reference *r, const struct reference_stack *stack, size_t layer,
                            const double *x)
{
    size_t cells = stack->rows * r->model->config.n_inner;
    double *hidden = reference_projected(r, stack->prefix, layer, "mlp.c_fc", true, x, stack->rows);
    for (size_t i = 0; i < cells; i++)
        hidden[i] = reference_activation(r->model->config.activation, hidden[i]);
    reference_keep(r, SITE_OF(stack->branch, SITE_MLP_ACT), layer, hidden, cells);
    return reference_projected(r, stack->prefix, layer, "mlp.c_proj", true, hidden, stack->rows);
}

static void block_of(struct reference *r, const struct reference_stack *stack, size_t layer)
{
    enum site_branch branch = stack->branch;
    struct inputs self = {.queries = stack->rows,
                          .keys = stack->rows,
                          .causal = branch == BRANCH_TEXT && !lacks(r, BLOCK_MASK),
                          .branch = branch};
    struct inputs cross = {
        .queries = stack->rows, .keys = stack->source_rows, .branch = BRANCH_CROSS};
    keep_stream(r, stack, SITE_OF(branch, SITE_RESID_PRE), layer, stack->x);

    const double *x = before(r, stack, layer, "ln_1", SITE_OF(branch, SITE_LN_1));
    const double *out = attended(r, stack, layer, "attn", x, x, self);
    keep_stream(r, stack, SITE_OF(branch, SITE_ATTN_OUT), layer, out);
    after(r, stack, layer, "ln_1", SITE_OF(branch, SITE_LN_1), SITE_OF(branch, SITE_RESID_MID),
          out);

    if (stack->source) {
        x = before(r, stack, layer, "ln_cross", SITE_OF(BRANCH_CROSS, SITE_LN_1));
        out = attended(r, stack, layer, "cross_attn", x, stack->source, cross);
        keep_stream(r, stack, SITE_OF(BRANCH_CROSS, SITE_ATTN_OUT), layer, out);
        after(r, stack, layer, "ln_cross", SITE_OF(BRANCH_CROSS, SITE_LN_1),
              SITE_OF(BRANCH_CROSS, SITE_RESID_MID), out);
    }
    if (lacks(r, BLOCK_MLP)) {
        keep_stream(r, stack, SITE_OF(branch, SITE_RESID_POST), layer, stack->x);
        return;
    }
    x = before(r, stack, layer, "ln_2", SITE_OF(branch, SITE_LN_2));
    out = mlp_of(r, stack, layer, x);
    keep_stream(r, stack, SITE_OF(branch, SITE_MLP_OUT), layer, out);
    after(r, stack, layer, "ln_2", SITE_OF(branch, SITE_LN_2), SITE_OF(branch, SITE_RESID_POST),
          out);
}

/* The output of a stack: its stream, after a norm if the model has one. */
static const double *run_stack(struct reference *r, const struct reference_stack *stack,
                               size_t layers)
{
    bool encoder = stack->branch == BRANCH_SOURCE;
    for (size_t layer = 0; layer < layers; layer++)
        block_of(r, stack, layer);
    if (!r->model->config.final_norm)
        return stack->x;
    const double *y =
        reference_norm(r, stack->x, stack->rows,
                       reference_of_model(r, encoder ? "enc.ln_f.weight" : "ln_f.weight"),
                       reference_of_model(r, encoder ? "enc.ln_f.bias" : "ln_f.bias"));
    keep_stream(r, stack, SITE_OF(stack->branch, SITE_LN_F), 0, y);
    return y;
}

static void unembed(struct reference *r, const double *y)
{
    const struct config *c = &r->model->config;
    size_t rows = r->text->count;
    const float *words = reference_of_model(r, c->tied ? "wte.weight" : "lm_head.weight");
    double *logits = reference_taken(r, rows * c->vocab_size);
    for (size_t i = 0; i < rows * c->vocab_size; i++)
        for (size_t k = 0; k < c->n_embd; k++)
            logits[i] += y[i / c->vocab_size * c->n_embd + k] *
                         (double)words[i % c->vocab_size * c->n_embd + k];
    reference_keep(r, SITE_LOGITS, 0, logits, rows * c->vocab_size);
}

/* Run GPT-2, or encoder and decoder. */
static void run_blocks(struct reference *r, double *x, double *source)
{
    const struct config *c = &r->model->config;
    struct reference_stack decoder = {.prefix = "h", .x = x, .rows = r->text->count};
    if (c->kind == MODEL_TRANSFORMER) {
        struct reference_stack encoder = {.branch = BRANCH_SOURCE, .prefix = "enc", .x = source};
        encoder.rows = decoder.source_rows = r->text->source_count;
        decoder.source = run_stack(r, &encoder, has_encoder(c));
    }
    unembed(r, run_stack(r, &decoder, c->n_layer));
}

static const double *attention_layer(struct reference *r, size_t layer, const double *x,
                                     const double *source)
{
    const struct config *c = &r->model->config;
    size_t rows = r->text->count;
    const double *y = source ? source : x;
    struct inputs in = {
        .q = x, .k = y, .v = y, rows, rows, .causal = c->causal && !lacks(r, BLOCK_MASK)};
    if (source)
        in.keys = r->text->source_count;
    if (c->projections) {
        in.q = reference_projected(r, "h", layer, "attn.q_proj", c->biases, x, rows);
        in.v = reference_projected(r, "h", layer, "attn.v_proj", c->biases, y, in.keys);
        in.k = reference_projected(r, "h", layer, "attn.k_proj", c->biases, y, in.keys);
    }
    const double *out = reference_attend_heads(r, layer, in);
    if (c->out_proj)
        out = reference_projected(r, "h", layer, "attn.out_proj", c->biases, out, rows);
    reference_keep(r, SITE_ATTN_OUT, layer, out,
                   rows * (c->out_proj ? c->n_embd : c->n_head * c->d_v));
    return out;
}

void reference_run(struct reference *reference, struct tiny_model *model, const struct text *text)
{
    const struct config *c = &model->config;
    *reference = (struct reference){.model = model, .text = text};
    double *x = embedding(reference, text->ids, text->count);
    double *source = c->cross ? embedding(reference, text->source_ids, text->source_count) : NULL;
    const double *out = x;
    reference_keep(reference, SITE_EMBEDDING, 0, x, text->count * c->n_embd);
    if (source)
        reference_keep(reference, SITE_OF(BRANCH_SOURCE, SITE_EMBEDDING), 0, source,
                       text->source_count * c->n_embd);
    for (size_t layer = 0; layer < c->n_layer && c->kind == MODEL_ATTENTION; layer++)
        out = attention_layer(reference, layer, out, source);
    if (c->kind != MODEL_ATTENTION)
        run_blocks(reference, x, source);
}

void reference_release(struct reference *reference)
{
    arena_release(&reference->arena);
}
