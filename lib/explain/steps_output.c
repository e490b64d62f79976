/* steps_output.c: from the values to what the layer's attention gives. */
#include <math.h>
#include <stdio.h>

#include "explain/steps.h"
#include "model/batch.h"

enum {
    NAME_BYTES = 32,
    WORKED_ELEMENTS = 2, /* of a vector */
};

/* [0.0386 · (-0.2546), 0.0386 · (-0.2608), …]: the beginning of weight_0 · v_0, which is written
 * by one of these. */
static void add_product(struct builder *builder, size_t i)
{
    const struct trace *trace = builder->trace;
    const struct block *blocks = builder->table->blocks;
    formula_number(&builder->out, blocks[0].numeral, trace->weight[builder->key]);
    formula_times(&builder->out);
    formula_factor(&builder->out, blocks[1].numeral,
                   trace->v[builder->key * trace->config->d_v + i]);
}

static void add_result(struct builder *builder, size_t i)
{
    const struct trace *trace = builder->trace;
    size_t count = trace->keys * trace->config->d_v;
    float result = trace->weight[builder->key] * trace->v[builder->key * trace->config->d_v + i];
    formula_number(&builder->out, builder_numeral(builder, trace->v, count), result);
}

static void add_vector(struct builder *builder, void (*add)(struct builder *, size_t))
{
    size_t width = builder->trace->config->d_v;
    formula_add(&builder->out, "[", "[");
    for (size_t i = 0; i < width && i < WORKED_ELEMENTS; i++) {
        formula_add(&builder->out, i ? ", " : "", i ? ",\\, " : "");
        add(builder, i);
    }
    formula_add(&builder->out, width > WORKED_ELEMENTS ? ", …]" : "]",
                width > WORKED_ELEMENTS ? ",\\, \\ldots]" : "]");
}

/* weight_0 · v_0 = [0.0386 · (-0.2546), …] = [-0.0098, …] */
static int work_values(struct builder *builder)
{
    struct formula_writer *out = &builder->out;
    formula_symbol(out, "weight", "\\alpha", builder->key);
    formula_add(out, " · ", "\\, ");
    formula_symbol(out, "v", "v", builder->key);
    formula_equals(out);
    add_vector(builder, add_product);
    formula_equals(out);
    add_vector(builder, add_result);
    return builder_worked(builder);
}

int step_values(struct builder *builder)
{
    static const struct formula values[] = {{"v_j = x_j", "v_j = x_j"},
                                            {"v_j = x_j · W_v", "v_j = x_j\\,W_v"},
                                            {"v_j = x_j · W_v + b_v", "v_j = x_j\\,W_v + b_v"}};
    const struct trace *trace = builder->trace;
    builder_title(builder, "values", "Values and their weights");
    builder_projection(builder, &trace->weights.v, values);
    const struct given_columns own = {
        .name = "W_v",
        .bias = "b_v",
        .weight = &trace->weights.v,
        .first = trace->group * trace->config->d_v,
        .width = trace->config->d_v,
    };
    if (trace->config->projections && given_columns(builder, &own))
        return -1;
    builder_keys(builder);
    builder_column(builder, "weight", "weight_j", "\\alpha_j", trace->weight);
    builder_vectors(builder, "v", "v_j", "v_j", trace->v, trace->config->d_v);
    return work_values(builder);
}

/* From the first key that has any weight to the last. */
static struct span weighty_keys(const struct trace *trace)
{
    struct span span = {0, trace->keys};
    while (span.count > 1 && trace->weight[span.count - 1] == 0)
        span.count--;
    while (span.count > 1 && trace->weight[span.first] == 0) {
        span.first++;
        span.count--;
    }
    return span;
}

/* context_0 = -0.0098 + 0.4542 - 0.0175 + 0.0498 + 0.0824 - 0.0278 = 0.5313 */
static int work_context(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct formula_writer *out = &builder->out;
    const struct block *products = &builder->table->blocks[0];
    size_t width = trace->config->d_v;
    struct span keys = weighty_keys(trace);
    formula_symbol(out, "context", "z", 0);
    formula_equals(out);
    formula_sum(out, products->numeral, products->values + keys.first * width, width, keys.count);
    formula_equals(out);
    formula_number(out, products->numeral, trace->context[0]);
    return builder_worked(builder);
}

int step_context(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_v;
    float *products = builder_floats(builder, trace->keys * width);
    if (!products)
        return -1;
    for (size_t i = 0; i < trace->keys * width; i++)
        products[i] =
            trace->weight[i / width] * trace->v[i] + 0.0f; /* no -0 where nothing is seen */
    builder_title(builder, "context", "Weight times value, and the sum: the context");
    builder_formula(builder, "context = Σ_j weight_j · v_j", "z = \\sum_j \\alpha_j v_j");
    builder_keys(builder);
    builder->table->total = "context";
    builder_vectors(builder, "weighted", "weight_j · v_j", "\\alpha_j v_j", products, width)
        ->total = trace->context;
    return work_context(builder);
}

/* y [C] = context [dv] · the head's rows of W_O: one chain an element, as in the pass. */
static void project_head(float *y, const struct trace *trace, size_t head)
{
    const struct weight *w = &trace->weights.out;
    const float *context = trace_context(trace, head);
    size_t width = trace->config->d_v;
    for (size_t c = 0; c < w->out; c++)
        for (size_t i = 0; i < width; i++)
            y[c] = fmaf(context[i], w->data[(head * width + i) * w->stride + c], y[c]);
}

static int name_head(struct builder *builder, struct label *label, size_t head)
{
    char name[NAME_BYTES];
    int size = snprintf(name, sizeof name, "head %zu", head);
    const char *text = arena_text(builder->arena, name, (size_t)size, builder->err);
    *label = builder_label(text);
    return text ? 0 : -1;
}

/* Rows named after the heads, and `more` after them. */
static struct label *take_heads(struct builder *builder, size_t more)
{
    size_t heads = builder->trace->config->n_head;
    struct label *rows = builder_rows(builder, heads + more);
    builder->table->own_row = builder->trace->head;
    for (size_t head = 0; rows && head < heads; head++)
        if (name_head(builder, &rows[head], head))
            return NULL;
    return rows;
}

/* What every head adds to the output, and the bias; below them what they come to. */
static int show_shares(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.out;
    size_t heads = trace->config->n_head;
    struct label *rows = take_heads(builder, w->bias != NULL);
    float *shares = builder_floats(builder, (heads + 1) * w->out);
    if (!rows || !shares)
        return -1;
    for (size_t head = 0; head < heads; head++)
        project_head(shares + head * w->out, trace, head);
    if (w->bias) {
        rows[heads] = builder_label("b_O");
        for (size_t c = 0; c < w->out; c++)
            shares[heads * w->out + c] = w->bias[c];
    }
    builder->table->total = "attn_out";
    builder_vectors(builder, "share", "", "", shares, w->out)->total = trace->out;
    return 0;
}

/* The contexts of all heads, which stand side by side in the output. */
static int show_contexts(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_v;
    if (!take_heads(builder, 0))
        return -1;
    builder_vectors(builder, "context", "context_h", "z_h", trace->out, width);
    return 0;
}

int step_output(struct builder *builder)
{
    const struct config *config = builder->trace->config;
    bool bias = builder->trace->weights.out.bias != NULL;
    builder_title(builder, "output", "Output");
    if (config->out_proj) {
        builder_formula(builder,
                        bias ? "attn_out = Σ_h context_h · W_O,h + b_O"
                             : "attn_out = Σ_h context_h · W_O,h",
                        bias ? "o = \\sum_h z_h\\,W_{O,h} + b_O" : "o = \\sum_h z_h\\,W_{O,h}");
        buf_text(builder_note(builder),
                 "W_O,h: the rows of the output projection that belong to head h.");
        return given_output(builder) || show_shares(builder) ? -1 : 0;
    }
    if (config->n_head == 1) {
        builder_formula(builder, "attn_out = context", "o = z");
        buf_text(builder_note(builder),
                 "One head and no output projection: the context is the output.");
        return 0;
    }
    builder_formula(builder, "attn_out = [context_0, context_1, …]", "o = [z_0, z_1, \\ldots]");
    buf_text(builder_note(builder), "There is no output projection: the heads stand side by side.");
    return show_contexts(builder);
}
