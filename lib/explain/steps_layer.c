/* steps_layer.c: the steps from the heads' contexts to the end of the layer, and for the last layer
 * to the logits: output projection, sums, norms, MLP. */
#include <math.h>
#include <string.h>

#include "explain/steps.h"
#include "math/rows.h"
#include "model/layer.h"
#include "model/mechanism.h"
#include "model/sampler.h"

static struct named_vector row_of(const struct trace *trace, enum site site)
{
    return (struct named_vector){site_rows[site].name, trace_row(trace, site)};
}

/* --- output of the attention ------------------------------------------------------------------ */

/* Add a row for each head, and `more` rows after them. */
static struct label *take_heads(struct builder *builder, size_t more)
{
    size_t heads = builder->trace->config->n_head;
    struct label *rows = builder_rows(builder, heads + more);
    builder->table->own_row = builder->trace->head;
    for (size_t head = 0; rows && head < heads; head++) {
        rows[head] = builder_label(arena_format(builder->arena, builder->err, "head %zu", head));
    }
    return rows;
}

/* Show each head's contribution and the bias, with their sum below. Terms are added in the order of
 * the pass: y [C] = context [dv] · the head's rows of W_O. */
static void show_shares(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.out;
    size_t heads = trace->config->n_head;
    size_t width = trace->config->d_v;
    struct label *rows = take_heads(builder, w->bias != NULL);
    float *shares = builder_floats(builder, (heads + 1) * w->out);
    if (builder->err->kind)
        return;
    for (size_t at = 0; at < heads * w->out; at++) {
        size_t head = at / w->out;
        const float *context = trace_row_of_head(trace, SITE_CONTEXT, head);
        for (size_t i = 0; i < width; i++)
            shares[at] =
                fmaf(context[i], weight_element(w, head * width + i, at % w->out), shares[at]);
    }
    if (w->bias) {
        rows[heads] = builder_label("b_O");
        memcpy(shares + heads * w->out, w->bias, w->out * sizeof *shares);
    }
    builder->table->total = "attn_out";
    builder_vectors(builder, "share", "", shares, w->out)->total = trace->out;
}

/* Add the operands: the head's rows of the output projection, and the shared bias. */
static void give_output(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.out;
    size_t width = trace->config->d_v;
    float *matrix = builder_floats(builder, width * w->out);
    for (size_t i = 0; matrix && i < width * w->out; i++)
        matrix[i] = weight_element(w, trace->head * width + i / w->out, i % w->out);
    struct given *given = give_matrix(builder, "W_O", "W_O,h", matrix, width, w->out);
    if (given)
        given->table.corner = "dim";
    give_vector(builder, "b_O", w->bias, w->out);
}

void step_output(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    if (config->out_proj) {
        give_output(builder);
        builder_formula(builder, "attn_out = Σ_h context_h · W_O,h%s",
                        trace->weights.out.bias ? " + b_O" : "");
        builder_note(builder, "W_O,h: the rows of the output projection that belong to head h.");
        show_shares(builder);
    } else if (config->n_head == 1) {
        builder_formula(builder, "attn_out = context");
        builder_note(builder, "One head and no output projection: the context is the output.");
    } else {
        builder_formula(builder, "attn_out = [context_0, context_1, …]");
        builder_note(builder,
                     "There is no output projection: the contexts of the heads are concatenated.");
        take_heads(builder, 0);
        builder_vectors(builder, "context", "context_h", trace->out, config->d_v);
    }
}

/* --- the residual stream ---------------------------------------------------------------------- */

/* The residual stream to which the attention's output is added. */
static struct named_vector stream_of(const struct trace *trace)
{
    bool normed = trace->config->style == STYLE_TO_NORMED || !trace->stream;
    return (struct named_vector){normed ? "x" : "h", normed ? trace->x : trace->stream};
}

/* The output of a sublayer, normed if the model norms it before the addition. */
static struct named_vector added_of(const struct trace *trace, enum site out, enum site post)
{
    return row_of(trace, style_norms_outputs(trace->config->style) ? post : out);
}

/* Show resid_mid = h + 0.3000 · attn_out, without terms that are NULL. The first term, the stream,
 * is also omitted if the model has no residual connections. */
static void show_sum(struct builder *builder, const char *name, const float *sum,
                     const struct named_vector terms[3])
{
    const struct trace *trace = builder->trace;
    const struct config *c = trace->config;
    const struct named_vector rows[] = {terms[0], terms[1], terms[2], {name, sum}};
    bool alone = mechanism_lacks(&c->mechanism, PART_RESIDUAL);
    const char *sign = " = ";
    builder_add(builder, "%s", name);
    for (size_t i = 0; i < 3; i++) {
        if (!terms[i].values || (i == 0 && alone && terms[1].values))
            continue;
        builder_add(builder, "%s", sign);
        if (i > 0 && c->residual_scale != 0)
            builder_add(builder, "%n · ", c->residual_scale);
        builder_add(builder, "%s", terms[i].name);
        sign = " + ";
    }
    builder_formula(builder, "");
    builder_stack(builder, rows, 4, trace->input_size);
}

void step_middle(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct named_vector sum = row_of(trace, SITE_RESID_MID);
    const struct named_vector terms[3] = {stream_of(trace),
                                          added_of(trace, SITE_ATTN_OUT, SITE_LN_1_POST)};
    if (trace->config->residual_scale != 0)
        give_number(builder, "residual_scale", trace->config->residual_scale);
    show_sum(builder, sum.name, sum.values, terms);
}

/* The terms of the layer's last sum, and the sum itself, which a norm may follow. */
static const float *find_last_sum(struct named_vector terms[3], struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct config *c = trace->config;
    bool alone = mechanism_lacks(&c->mechanism, PART_RESIDUAL);
    enum site middle = style_norms_sums(c->style)    ? SITE_LN_1
                       : c->style == STYLE_TO_NORMED ? SITE_LN_2
                                                     : SITE_RESID_MID;
    terms[0] = style_is_parallel(c->style) ? stream_of(trace) : row_of(trace, middle);
    terms[1] = added_of(trace, SITE_MLP_OUT, SITE_LN_2_POST);
    terms[2] = (struct named_vector){0};
    if (style_is_parallel(c->style)) {
        terms[2] = terms[1];
        terms[1] = added_of(trace, SITE_ATTN_OUT, SITE_LN_1_POST);
    }
    if (c->style != STYLE_POST_STREAM || !terms[1].values)
        return trace_row(trace, SITE_RESID_POST);
    float *sum = builder_floats(builder, trace->input_size);
    for (size_t i = 0; sum && i < trace->input_size; i++)
        sum[i] = alone ? terms[1].values[i] : terms[0].values[i] + terms[1].values[i];
    return sum;
}

void step_stream(struct builder *builder)
{
    struct named_vector terms[3];
    const struct named_vector post = row_of(builder->trace, SITE_RESID_POST);
    const float *sum = find_last_sum(terms, builder);
    if (!builder->err->kind)
        show_sum(builder, sum != post.values ? "sum" : post.name, sum, terms);
}

/* --- norms ------------------------------------------------------------------------------------ */

/* The step is named like its norm. With norms last, ln_2 norms the last sum. */
void step_norm(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool lacks = mechanism_lacks(&trace->config->mechanism, PART_NORM);
    struct named_vector terms[3];
    struct named_vector from = row_of(trace, SITE_RESID_MID);
    struct norm norm = trace->mlp.norm;
    enum site to = SITE_LN_2;
    site_find(builder->step->name, strlen(builder->step->name), &to);
    if (to == SITE_LN_1) {
        norm = trace->weights.norm;
    } else if (to == SITE_LN_1_POST) {
        from = row_of(trace, SITE_ATTN_OUT);
        norm = trace->weights.post;
    } else if (to == SITE_LN_2_POST) {
        from = row_of(trace, SITE_MLP_OUT);
        norm = trace->mlp.post;
    } else if (to == SITE_LN_F) {
        struct weights *weights = &trace->viewer->model.weights;
        from = row_of(trace, SITE_RESID_POST);
        weights_final_norm(weights, false, &norm, builder->err);
    } else if (style_norms_sums(trace->config->style)) {
        from = (struct named_vector){"sum", find_last_sum(terms, builder)};
        to = SITE_RESID_POST;
    } else if (style_is_parallel(trace->config->style)) {
        from = (struct named_vector){"h", trace->stream};
    }
    if (!builder->err->kind)
        builder_norm_step(builder, from, row_of(trace, to), lacks ? NULL : &norm);
}

/* --- the MLP ---------------------------------------------------------------------------------- */

static struct named_vector mlp_input(const struct trace *trace)
{
    const struct config *c = trace->config;
    if (style_norms_sums(c->style))
        return row_of(trace, SITE_LN_1);
    if (trace_row(trace, SITE_LN_2))
        return row_of(trace, SITE_LN_2);
    return c->style == STYLE_ONE_NORM ? (struct named_vector){"x", trace->x}
                                      : row_of(trace, SITE_RESID_MID);
}

/* Compute y · W_up + b_up, which the pass does not keep if there is no gate. */
static const float *take_up(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *up = trace_row(trace, SITE_MLP_UP);
    if (!up)
        up = trace_product(trace, mlp_input(trace).values, 1, &trace->mlp.fc, builder->arena,
                           builder->err);
    return up;
}

void step_hidden(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mlp_weights *w = &trace->mlp;
    const struct named_vector y = mlp_input(trace);
    const struct named_vector rows[] = {{"gate", trace_row(trace, SITE_MLP_GATE)},
                                        {"up", take_up(builder)}};
    bool gated = rows[0].values != NULL;
    if (builder->err->kind)
        return;
    give_whole(builder, "W_gate", &w->gate);
    give_whole(builder, "W_up", &w->fc);
    if (gated)
        builder_projection(builder, "gate", y.name, "gate", &w->gate);
    builder_projection(builder, "up", y.name, "up", &w->fc);
    builder_stack(builder, rows, 2, trace->config->n_inner);
    builder_dot(builder, rows[!gated].name, y.values, gated ? &w->gate : &w->fc, 0,
                *rows[!gated].values);
}

void step_activation(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    enum activation activation = trace->config->activation;
    const char *name = activation_name(activation);
    size_t width = trace->config->n_inner;
    const float *gate = trace_row(trace, SITE_MLP_GATE);
    const float *up = take_up(builder);
    const float *from = gate ? gate : up;
    const struct named_vector act = row_of(trace, SITE_MLP_ACT);
    float *curve = builder_floats(builder, width);
    const char *called = arena_format(builder->arena, builder->err, "%s(gate)", name);
    if (builder->err->kind)
        return;
    activate((struct matrix){curve, 1, width, width},
             (struct matrix){(float *)from, 1, width, width}, NULL, activation);
    builder_formula(builder, gate ? "mlp_act = %s(gate) ⊙ up" : "mlp_act = %s(up)", name);
    builder_formula(builder, "%s(x) = %s", name, activation_formula(activation));
    const struct named_vector rows[] = {
        {"gate", gate}, {called, gate ? curve : NULL}, {"up", up}, act};
    builder_stack(builder, rows, 4, width);
    builder_add(builder, "mlp_act_0 = %s(%n)", name, *from);
    if (gate)
        builder_add(builder, " · %f = %f · %f", *up, *curve, *up);
    builder_work(builder, " = %n", *act.values);
}

void step_mlp_out(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct named_vector out = row_of(trace, SITE_MLP_OUT);
    const struct named_vector act = row_of(trace, SITE_MLP_ACT);
    give_whole(builder, "W_down", &trace->mlp.proj);
    builder_projection(builder, out.name, act.name, "down", &trace->mlp.proj);
    builder_vector(builder, out, trace->input_size);
    builder_dot(builder, out.name, act.values, &trace->mlp.proj, 0, *out.values);
}

/* --- logits ----------------------------------------------------------------------------------- */

enum { SHOWN = 10 }; /* tokens with the largest logits */

/* The last vector before the logits, projected to the channels of the embedding. */
static struct named_vector take_input(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct named_vector y = row_of(trace, SITE_LN_F);
    struct weight projection;
    if (!y.values)
        y = row_of(trace, SITE_RESID_POST);
    if (!trace->config->n_word)
        return y;
    if (!builder_word_projection(builder, &projection, true))
        return y;
    give_whole(builder, "P_out", &projection);
    y.values = trace_product(trace, y.values, 1, &projection, builder->arena, builder->err);
    return y;
}

/* Write logit_v = 30 · tanh((dot_v + b_v) / 2.5 / 30). */
static void draw_logits(struct builder *builder, const char *y, bool bias, bool finished)
{
    const struct config *c = builder->trace->config;
    bool capped = c->logit_cap > 0;
    bool divided = c->logit_divisor > 0;
    builder_formula(builder, "%s_v = %s%s · w_v", finished ? "dot" : "logit", y,
                    c->n_word ? " · P_out" : "");
    if (!finished)
        return;
    builder_add(builder, capped ? "logit_v = %n · tanh(" : "logit_v = ", c->logit_cap);
    builder_add(builder, !bias ? "dot_v" : capped || divided ? "(dot_v + b_v)" : "dot_v + b_v");
    builder_add(builder, divided ? " / %n" : "", c->logit_divisor);
    builder_formula(builder, capped ? " / %n)" : "", c->logit_cap);
}

/* Show the unembedding of the tokens with the largest logits. Columns: the product with y (unless
 * it is the logit), the bias if there is one, and the logit. */
static void show_tokens(struct builder *builder, const float *y, const struct weight *words,
                        const float *columns[3])
{
    static const char *const names[3][2] = {
        {"dot", "dot_v"}, {"bias", "b_v"}, {"logit", "logit_v"}};
    const struct trace *trace = builder->trace;
    size_t width = words->in;
    size_t count = words->out < SHOWN ? words->out : SHOWN;
    struct likely best[SHOWN];
    struct label *rows = builder_rows(builder, count);
    float *vectors = builder_floats(builder, count * width);
    float *numbers = builder_floats(builder, 3 * count);
    topk(best, count, columns[2], words->out, 0);
    for (size_t i = 0; i < count && !builder->err->kind; i++) {
        uint32_t id = best[i].id;
        label_of_word(&rows[i], trace->viewer->tokenizer, id, builder->arena, builder->err);
        for (size_t k = 0; k < width; k++)
            vectors[i * width + k] = weight_element(words, k, id);
        for (size_t c = 0; c < 3; c++)
            numbers[c * count + i] = columns[c] ? columns[c][id] : 0;
    }
    if (builder->err->kind)
        return;
    builder->table->corner = "token";
    builder_vectors(builder, "words", "w_v", vectors, width);
    for (size_t c = 0; c < 3; c++)
        if (columns[c])
            builder_column(builder, names[c][0], names[c][1], numbers + c * count);
    builder_add(builder, columns[0] ? "dot = " : "logit = ");
    builder_add_dot(builder, y, vectors, width);
    builder_work(builder, " = %n", numbers[columns[0] ? 0 : 2 * count]);
}

void step_logits(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct config *c = trace->config;
    struct weights *weights = &trace->viewer->model.weights;
    const struct named_vector y = take_input(builder);
    struct weight words;
    const float *bias = NULL;
    float *logits = builder_floats(builder, c->vocab_size);
    if (builder->err->kind || weights_unembedding(weights, &words, builder->err) ||
        weights_logit_bias(weights, &bias, builder->err))
        return;
    const float *dots = trace_product(trace, y.values, 1, &words, builder->arena, builder->err);
    if (builder->err->kind)
        return;
    bool finished = bias || c->logit_divisor > 0 || c->logit_cap > 0;
    memcpy(logits, dots, c->vocab_size * sizeof *logits);
    for (size_t id = 0; bias && id < c->vocab_size; id++)
        logits[id] += bias[id];
    for (size_t id = 0; c->logit_divisor > 0 && id < c->vocab_size; id++)
        logits[id] /= c->logit_divisor;
    if (c->logit_cap > 0)
        cap_row(logits, c->vocab_size, c->logit_cap);
    draw_logits(builder, y.name, bias, finished);
    builder_note(builder, "The tokens with the largest of %z logits; w_v is %s.", c->vocab_size,
                 config_ties(c) ? "the token's embedding (tied weights)"
                                : "the token's row of the unembedding");
    show_tokens(builder, y.values, &words, (const float *[]){finished ? dots : NULL, bias, logits});
}
