/* steps_output.c: from the values to what the layer's attention gives. */
#include <math.h>
#include <string.h>

#include "explain/steps.h"
#include "model/batch.h"

enum { WORKED_ELEMENTS = 2 }; /* of a vector */

/* The beginning of weight_0 · v_0, each element written by a template: of weight and value, or of
 * their product. */
static void write_vector(struct builder *builder, const char *form, bool product)
{
    const struct block *blocks = builder->table->blocks;
    struct buf *out = &builder->out;
    size_t width = builder->trace->config->d_v;
    bool whole = width <= WORKED_ELEMENTS;
    for (size_t i = 0; i < width && i < WORKED_ELEMENTS; i++) {
        const struct number weight = block_number(&blocks[0], builder->key);
        const struct number value = block_number(&blocks[1], builder->key * width + i);
        const struct number numbers[] = {
            {value.numeral, weight.value * value.value}, weight, value};
        buf_text(out, i ? ", " : "[");
        formula_write(out, form, 0, product ? numbers : numbers + 1);
    }
    buf_text(out, whole ? "]" : ", …]");
}

void step_values(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    builder_projection(builder, "v_j", 'v', &trace->weights.v);
    builder_keys(builder);
    builder_column(builder, &quantity_weight, trace->weight);
    builder_vectors(builder, &quantity_v, trace->v, trace->config->d_v);
    /* weight_0 · v_0 = [0.0386 · (-0.2546), …] = [-0.0098, …] */
    formula_write(&builder->out, "weight_%k · v_%k = ", builder->key, NULL);
    write_vector(builder, "%n · %f", false);
    buf_text(&builder->out, " = ");
    write_vector(builder, "%n", true);
    builder_work(builder, "", NULL);
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

void step_context(struct builder *builder)
{
    static const struct quantity weighted = {.name = "weighted", .symbol = "weight_j · v_j"};
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_v;
    float *products = builder_floats(builder, trace->keys * width);
    if (!products)
        return;
    for (size_t i = 0; i < trace->keys * width; i++)
        products[i] =
            trace->weight[i / width] * trace->v[i] + 0.0f; /* no -0 where nothing is seen */
    builder_formula(builder, "context = Σ_j weight_j · v_j");
    builder_keys(builder);
    builder->table->total = "context";
    struct block *block = builder_vectors(builder, &weighted, products, width);
    block->total = trace->context;
    /* context_0 = -0.0098 + 0.4542 - 0.0175 + 0.0498 + 0.0824 - 0.0278 = 0.5313 */
    struct span keys = weighty_keys(trace);
    const struct number context = {block->numeral, trace->context[0]};
    buf_text(&builder->out, "context_0 = ");
    formula_sum(&builder->out, block->numeral, block->values + keys.first * block->width,
                block->width, keys.count);
    builder_work(builder, " = %n", &context);
}

/* y [C] = context [dv] · the head's rows of W_O: one chain an element, as in the pass. */
static void project_head(float *y, const struct trace *trace, size_t head)
{
    const struct weight *w = &trace->weights.out;
    const float *context = trace_context(trace, head);
    size_t width = trace->config->d_v;
    for (size_t c = 0; c < w->out; c++)
        for (size_t i = 0; i < width; i++)
            y[c] = fmaf(context[i], weight_element(w, head * width + i, c), y[c]);
}

/* Rows named after the heads, and `more` after them. */
static struct label *take_heads(struct builder *builder, size_t more)
{
    size_t heads = builder->trace->config->n_head;
    struct label *rows = builder_rows(builder, heads + more);
    builder->table->own_row = builder->trace->head;
    for (size_t head = 0; rows && head < heads; head++) {
        rows[head] = builder_label(arena_format(builder->arena, builder->err, "head %zu", head));
        builder->failed |= !rows[head].text;
    }
    return rows;
}

/* What every head adds to the output, and the bias; below them what they come to. */
static void show_shares(struct builder *builder)
{
    static const struct quantity share = {.name = "share", .symbol = ""};
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.out;
    size_t heads = trace->config->n_head;
    struct label *rows = take_heads(builder, w->bias != NULL);
    float *shares = builder_floats(builder, (heads + 1) * w->out);
    if (builder->failed)
        return;
    for (size_t head = 0; head < heads; head++)
        project_head(shares + head * w->out, trace, head);
    if (w->bias) {
        rows[heads] = builder_label("b_O");
        memcpy(shares + heads * w->out, w->bias, w->out * sizeof *shares);
    }
    builder->table->total = "attn_out";
    builder_vectors(builder, &share, shares, w->out)->total = trace->out;
}

void step_output(struct builder *builder)
{
    static const struct quantity contexts = {.name = "context", .symbol = "context_h"};
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    bool bias = trace->weights.out.bias != NULL;
    if (config->out_proj) {
        builder_formula(builder, bias ? "attn_out = Σ_h context_h · W_O,h + b_O"
                                      : "attn_out = Σ_h context_h · W_O,h");
        buf_text(builder_note(builder),
                 "W_O,h: the rows of the output projection that belong to head h.");
        show_shares(builder);
    } else if (config->n_head == 1) {
        builder_formula(builder, "attn_out = context");
        buf_text(builder_note(builder),
                 "One head and no output projection: the context is the output.");
    } else {
        builder_formula(builder, "attn_out = [context_0, context_1, …]");
        buf_text(builder_note(builder),
                 "There is no output projection: the heads stand side by side.");
        take_heads(builder, 0);
        builder_vectors(builder, &contexts, trace->out, config->d_v);
    }
}
