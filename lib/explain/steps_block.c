/* steps_block.c: from what the attention gives to what leaves the layer: sums, norms, the MLP. */
#include "explain/steps.h"
#include "model/mechanism.h"

static struct named_vector row_of(const struct trace *trace, enum site site)
{
    return (struct named_vector){site_rows[site].name, trace_row(trace, site)};
}

/* --- norms ------------------------------------------------------------------------------------ */

static void show_norm(struct builder *builder, struct named_vector from, enum site to,
                      const struct norm *norm)
{
    const struct trace *trace = builder->trace;
    const struct named_vector y = row_of(trace, to);
    if (mechanism_lacks(&trace->config->mechanism, PART_NORM))
        norm = NULL;
    const struct named_vector rows[] = {
        from, {"γ", norm ? norm->scale : NULL}, {"β", norm ? norm->shift : NULL}, y};
    builder_norm(builder, y.name, from.name, norm, from.values, trace->input_size);
    builder_stack(builder, rows, sizeof rows / sizeof *rows, trace->input_size);
}

void step_attention_norm(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool last = !trace->config->norm_first; /* of the sum, or of what is added */
    if (last)
        show_norm(builder, row_of(trace, SITE_RESID_MID), SITE_LN_1, &trace->weights.norm);
    else
        show_norm(builder, row_of(trace, SITE_ATTN_OUT), SITE_LN_1_POST, &trace->weights.post);
}

void step_mlp_post(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    show_norm(builder, row_of(trace, SITE_MLP_OUT), SITE_LN_2_POST, &trace->mlp.post);
}

void step_final_norm(struct builder *builder)
{
    struct norm norm;
    if (weights_final_norm(&builder->trace->viewer->model.weights, false, &norm, builder->err))
        builder->failed = true;
    else
        show_norm(builder, row_of(builder->trace, SITE_RESID_POST), SITE_LN_F, &norm);
}

/* --- the residual stream ---------------------------------------------------------------------- */

/* What a sublayer's output is added to: of the attention, of the MLP. */
static struct named_vector stream_of(const struct trace *trace)
{
    bool normed = trace->config->residual_normed || !trace->stream;
    return (struct named_vector){normed ? "x" : "h", normed ? trace->x : trace->stream};
}

static struct named_vector middle_of(const struct trace *trace)
{
    const struct config *c = trace->config;
    if (c->parallel)
        return stream_of(trace);
    return row_of(trace, !c->norm_first       ? SITE_LN_1
                         : c->residual_normed ? SITE_LN_2
                                              : SITE_RESID_MID);
}

static struct named_vector added_of(const struct trace *trace, enum site out, enum site post)
{
    return row_of(trace, trace->config->norm_out ? post : out);
}

/* resid_mid = h + 0.3000 · attn_out; those that are NULL are left out, and the first one, the
 * stream, where nothing is added up. */
static void show_sum(struct builder *builder, const char *name, const float *sum,
                     const struct named_vector terms[3])
{
    const struct trace *trace = builder->trace;
    const struct config *c = trace->config;
    const struct number scale = builder_number(builder, c->residual_scale);
    bool alone = mechanism_lacks(&c->mechanism, PART_RESIDUAL);
    const char *sign = " = ";
    buf_text(&builder->out, name);
    for (size_t i = 0; i < 3; i++) {
        if (!terms[i].values || (i == 0 && alone && terms[1].values))
            continue;
        buf_text(&builder->out, sign);
        if (i > 0 && c->residual_scale != 0)
            formula_write(&builder->out, "%n · ", 0, &scale);
        buf_text(&builder->out, terms[i].name);
        sign = " + ";
    }
    builder_drawn(builder);
    const struct named_vector rows[] = {terms[0], terms[1], terms[2], {name, sum}};
    builder_stack(builder, rows, 4, trace->input_size);
}

void step_middle(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct named_vector terms[3] = {stream_of(trace),
                                          added_of(trace, SITE_ATTN_OUT, SITE_LN_1_POST)};
    if (trace->config->residual_scale != 0)
        give_number(builder, "residual_scale", trace->config->residual_scale);
    show_sum(builder, site_rows[SITE_RESID_MID].name, trace_row(trace, SITE_RESID_MID), terms);
}

/* The last sum of a layer, which may be normed in the next step. */
static const float *last_sum(struct builder *builder, const struct named_vector terms[3])
{
    const struct trace *trace = builder->trace;
    bool alone = mechanism_lacks(&trace->config->mechanism, PART_RESIDUAL);
    if (!trace->config->stream_normed || !terms[1].values)
        return trace_row(trace, SITE_RESID_POST);
    float *sum = builder_floats(builder, trace->input_size);
    for (size_t c = 0; sum && c < trace->input_size; c++)
        sum[c] = alone ? terms[1].values[c] : terms[0].values[c] + terms[1].values[c];
    return sum;
}

static void find_last_terms(struct named_vector terms[3], const struct trace *trace)
{
    bool parallel = trace->config->parallel;
    terms[0] = middle_of(trace);
    terms[1] = added_of(trace, SITE_MLP_OUT, SITE_LN_2_POST);
    if (parallel) {
        terms[2] = terms[1];
        terms[1] = added_of(trace, SITE_ATTN_OUT, SITE_LN_1_POST);
    }
}

void step_stream(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct named_vector terms[3] = {0};
    find_last_terms(terms, trace);
    const float *sum = last_sum(builder, terms);
    bool normed = sum && sum != trace_row(trace, SITE_RESID_POST);
    if (!builder->failed)
        show_sum(builder, normed ? "sum" : site_rows[SITE_RESID_POST].name, sum, terms);
}

/* In front of the MLP, or of the sum that leaves the layer. */
void step_mlp_norm(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct named_vector terms[3] = {0};
    if (trace->config->norm_first) {
        bool parallel = trace->config->parallel;
        const struct named_vector stream = {"h", trace->stream};
        show_norm(builder, parallel ? stream : row_of(trace, SITE_RESID_MID), SITE_LN_2,
                  &trace->mlp.norm);
        return;
    }
    find_last_terms(terms, trace);
    const struct named_vector sum = {"sum", last_sum(builder, terms)};
    if (!builder->failed)
        show_norm(builder, sum, SITE_RESID_POST, &trace->mlp.norm);
}

/* --- the MLP ---------------------------------------------------------------------------------- */

static struct named_vector mlp_input(const struct trace *trace)
{
    const struct config *c = trace->config;
    if (!c->norm_first)
        return row_of(trace, SITE_LN_1);
    if (trace_row(trace, SITE_LN_2))
        return row_of(trace, SITE_LN_2);
    return c->shared_norm ? (struct named_vector){"x", trace->x} : row_of(trace, SITE_RESID_MID);
}

/* y · W_up + b_up: no site, where there is no gate. */
static const float *take_up(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *up = trace_row(trace, SITE_MLP_UP);
    if (!up)
        up = trace_product(trace, mlp_input(trace).values, 1, &trace->mlp.fc, builder->arena,
                           builder->err);
    builder->failed |= !up;
    return up;
}

static void draw_product(struct builder *builder, const char *y, const char *x, const char *name,
                         const struct weight *w)
{
    buf_format(&builder->out, "%s = %s · W_%s", y, x, name);
    if (w->bias)
        buf_format(&builder->out, " + b_%s", name);
    builder_drawn(builder);
}

void step_hidden(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mlp_weights *w = &trace->mlp;
    const struct named_vector y = mlp_input(trace);
    const struct named_vector rows[] = {{"gate", trace_row(trace, SITE_MLP_GATE)},
                                        {"up", take_up(builder)}};
    bool gated = rows[0].values != NULL;
    if (builder->failed)
        return;
    if (gated)
        draw_product(builder, "gate", y.name, "gate", &w->gate);
    draw_product(builder, "up", y.name, "up", &w->fc);
    builder_stack(builder, rows, 2, trace->config->n_inner);
    builder_dot(builder, rows[!gated].name, y.values, gated ? &w->gate : &w->fc, 0,
                *rows[!gated].values);
}

static const char *const curves[ACTIVATION_COUNT] = {
    [ACTIVATION_NONE] = "x",
    [ACTIVATION_GELU_NEW] = "x / 2 · (1 + tanh(√(2 / π) · (x + 0.044715 · x^3)))",
    [ACTIVATION_GELU] = "x / 2 · (1 + erf(x / √2))",
    [ACTIVATION_RELU] = "max(0, x)",
    [ACTIVATION_SILU] = "x / (1 + e^(-x))",
    [ACTIVATION_TANH] = "tanh(x)",
    [ACTIVATION_QUICK_GELU] = "x / (1 + e^(-1.702 · x))",
};

void step_activation(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    enum activation activation = trace->config->activation;
    const char *name = activation_name(activation);
    size_t width = trace->config->n_inner;
    const float *gate = trace_row(trace, SITE_MLP_GATE);
    const float *up = take_up(builder);
    const struct named_vector act = row_of(trace, SITE_MLP_ACT);
    float *curve = builder_floats(builder, width);
    const char *called = arena_format(builder->arena, builder->err, "%s(gate)", name);
    builder->failed |= !called;
    if (builder->failed)
        return;
    const float *from = gate ? gate : up;
    activate((struct matrix){curve, 1, width, width},
             (struct matrix){(float *)from, 1, width, width}, NULL, activation);
    buf_format(&builder->out, gate ? "mlp_act = %s(gate) ⊙ up" : "mlp_act = %s(up)", name);
    builder_drawn(builder);
    buf_format(&builder->out, "%s(x) = %s", name, curves[activation]);
    builder_drawn(builder);
    const struct named_vector rows[] = {
        {"gate", gate}, {called, gate ? curve : NULL}, {"up", up}, act};
    builder_stack(builder, rows, 4, width);
    const struct number numbers[] = {builder_number(builder, *from), builder_number(builder, *up),
                                     builder_number(builder, *curve), builder_number(builder, *up),
                                     builder_number(builder, *act.values)};
    const struct number plain[] = {numbers[0], numbers[4]};
    buf_format(&builder->out, "mlp_act_0 = %s(", name);
    builder_work(builder, gate ? "%n) · %f = %f · %f = %n" : "%n) = %n", gate ? numbers : plain);
}

void step_mlp_out(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct named_vector out = row_of(trace, SITE_MLP_OUT);
    const float *act = trace_row(trace, SITE_MLP_ACT);
    draw_product(builder, out.name, site_rows[SITE_MLP_ACT].name, "down", &trace->mlp.proj);
    builder_vector(builder, out.name, out.values, trace->input_size);
    builder_dot(builder, out.name, act, &trace->mlp.proj, 0, *out.values);
}
