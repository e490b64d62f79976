/* steps_layer.c: the steps from the heads' contexts to the end of the layer, and for the last layer
 * to the logits: output projection, sums, norms, MLP. */
#include <math.h>
#include <string.h>

#include "base/language.h"
#include "explain/steps.h"
#include "math/rows.h"
#include "pass/forward.h"
#include "pass/sampler.h"

/* Return the query's row at a site, with the site's name. */
static struct named_vector row_of(const struct trace *trace, enum site site)
{
    return (struct named_vector){site_name(site), trace_row(trace, site)};
}

/* --- output of the attention ------------------------------------------------------------------ */

/* Set the rows of the table: `count` rows, each named by `prefix` and its item of `numbers` (NULL:
 * its index), then a row named `last`, unless `last` is NULL. */
static void name_rows(struct builder *builder, const char *prefix, const size_t *numbers,
                      size_t count, const char *last)
{
    struct label *rows = builder_rows(builder, count + (last != NULL));
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = builder_label(
            arena_format(builder->arena, builder->err, "%s%zu", prefix, numbers ? numbers[i] : i));
    if (rows && last)
        rows[count] = builder_label(last);
}

/* Show each head's contribution to the output, which is its context [dv] times its rows of W_O, and
 * the bias, with their sum below. Terms are added in the order of the pass. */
static void show_shares(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->block.self.out;
    size_t heads = context_heads(&trace->rule->head);
    size_t width = context_width(&trace->rule->head);
    float *shares = builder_floats(builder, (heads + 1) * w->out);
    if (builder->err->kind)
        return;
    for (size_t at = 0; at < heads * w->out; at++) {
        size_t head = at / w->out;
        const float *context = trace_row(trace, SITE_GATED)
                                   ? trace_row(trace, SITE_GATED) + head * width
                                   : trace_row_of_head(trace, SITE_CONTEXT, head);
        for (size_t i = 0; i < width; i++)
            shares[at] =
                fmaf(context[i], weight_element(w, head * width + i, at % w->out), shares[at]);
    }
    if (w->bias)
        memcpy(shares + heads * w->out, w->bias, w->out * sizeof *shares);
    name_rows(builder, say(builder->language, "head "), NULL, heads, w->bias ? "b_O" : NULL);
    builder->table->working.own_row = trace->context_head;
    builder->table->working.total = "attn_out";
    builder_vectors(builder, "share", "", shares, w->out)->total = trace->out;
}

/* Give the head's rows of the output projection as an operand, with the head's context next to them
 * and the product below them. */
static void give_projection(struct builder *builder, const float *matrix)
{
    const struct trace *trace = builder->trace;
    const size_t width = context_width(&trace->rule->head), out = trace->block.self.out.out;
    const float *gated = trace_row(trace, SITE_GATED);
    const float *context = gated ? gated + trace->context_head * width : trace->context;
    const char *head = arena_format(builder->arena, builder->err, "%s%zu",
                                    say(builder->language, "head "), trace->context_head);
    const char *symbol = arena_format(builder->arena, builder->err, "W_O, %s", head);
    struct table *given = give_matrix(builder, "W_O", symbol, matrix, width, out);
    float *share = builder_floats(builder, out);
    if (!given || !share)
        return;
    for (size_t i = 0; i < width * out; i++)
        share[i % out] = fmaf(context[i / out], matrix[i], share[i % out]);
    given->rows.name = "dim";
    given->working.total = head;
    builder->table = given;
    builder_column(builder, "context", "context", context);
    builder->table = builder->step;
    if (builder->err->kind)
        return;
    struct column *columns = (struct column *)given->columns; /* cast away const: the builder's
                                                               * columns */
    const struct column projection = columns[0];
    columns[0] = columns[1];
    columns[1] = projection;
    columns[1].total = share;
}

/* Explain the output projection. The operands are the head's rows of W_O, and the bias. */
void step_output(struct builder *builder, const struct trace *trace)
{
    const struct head_rule *heads = &trace->rule->head;
    const struct weight *w = &trace->block.self.out;
    size_t width = context_width(heads);
    if (!trace->rule->head.no_out) {
        const float *matrix =
            builder_part(builder, w, trace->context_head * width, width, 0, w->out);
        give_projection(builder, matrix);
        give_vector(builder, "b_O", w->bias, w->out);
        builder_formula(builder, "attn_out = Σ_h %s_h · W_O,h%s", site_name(context_out(heads)),
                        w->bias ? " + b_O" : "");
        builder_note(builder, "W_O,h: the rows of the output projection that belong to head h.");
        show_shares(builder);
    } else if (heads->heads == 1) {
        builder_formula(builder, "attn_out = context");
        builder_note(builder, "One head and no output projection: the context is the output.");
    } else {
        builder_formula(builder, "attn_out = [context_0, context_1, …]");
        builder_note(builder,
                     "There is no output projection: the contexts of the heads are concatenated.");
        name_rows(builder, say(builder->language, "head "), NULL, heads->heads, NULL);
        builder->table->working.own_row = trace->head;
        builder_vectors(builder, "context", "context_h", trace->out, width);
    }
}

/* --- the residual stream and its norms -------------------------------------------------------- */

/* Return the stream that enters a sublayer. At the first sublayer, it is named h or, if no norm
 * follows, x. */
static struct named_vector stream_of(const struct trace *trace, size_t index)
{
    if (index > 0)
        return row_of(trace, sublayer_end(&trace->list[index - 1]));
    return trace->stream ? (struct named_vector){"h", trace->stream}
                         : (struct named_vector){"x", trace->x};
}

/* Return the vector that a sublayer's matrices multiply. */
static struct named_vector input_of(const struct trace *trace, size_t index)
{
    const struct sublayer *s = &trace->list[index];
    if (index > 0 && s->reads == READS_LAST_INPUT)
        return input_of(trace, index - 1);
    if (index > 0)
        return s->at_input ? row_of(trace, s->at_input) : stream_of(trace, index);
    return (struct named_vector){"x", trace->x};
}

enum { TERMS_MAX = SUBLAYERS_MAX + 2 };

/* Find the terms of the stream after a sublayer: the last stream that has a name (in some models
 * after its norm), the outputs of all sublayers since then, and the input of this sublayer, if it
 * is added. Returns the number of terms. */
static size_t find_terms(struct named_vector terms[TERMS_MAX], const struct trace *trace,
                         size_t index)
{
    size_t first = index;
    while (first > 0 && !sublayer_end(&trace->list[first - 1]))
        first--;
    const struct sublayer *s = &trace->list[first];
    terms[0] = s->adds_to_normed ? input_of(trace, first) : stream_of(trace, first);
    for (; s <= &trace->list[index]; s++)
        terms[s - &trace->list[first] + 1] =
            row_of(trace, step_site(s, s->norm_out ? s->at_out_norm : s->at_out));
    terms[index - first + 2] = input_of(trace, index);
    return index - first + 2 + trace->list[index].adds_input;
}

/* Return the stream after a sublayer, before a norm that may follow: a tensor of the pass or, if
 * the pass has none, a sum computed here. */
static struct named_vector take_sum(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct sublayer *s = &trace->list[builder->sublayer];
    struct named_vector terms[TERMS_MAX];
    if (s->at_sum[0])
        return row_of(trace, s->at_sum[0]);
    size_t count = find_terms(terms, trace, builder->sublayer);
    float *sum = builder_floats(builder, trace->input_size);
    for (size_t term = s->replaces; sum && term < count; term++)
        for (size_t i = 0; i < trace->input_size; i++)
            sum[i] += (term ? s->factor : 1) * terms[term].values[i];
    return (struct named_vector){"sum", sum};
}

/* Show resid_mid = h + 0.3000 × attn_out, without h if there is no residual connection. After the
 * last sublayer, the stream may get a second name. */
void step_sum(struct builder *builder, const struct trace *trace)
{
    const struct sublayer *s = &trace->list[builder->sublayer];
    struct named_vector terms[TERMS_MAX + 1];
    bool is_renamed = s->at_sum[0] && s->at_sum[0] != builder->site;
    size_t count = is_renamed ? 1 : find_terms(terms, trace, builder->sublayer);
    const char *sign = " = ";
    if (is_renamed)
        terms[0] = row_of(trace, s->norm_after ? s->at_after[0] : s->at_sum[0]);
    terms[count] = is_renamed ? row_of(trace, builder->site) : take_sum(builder);
    if (s->factor != 1 && count == builder->sublayer + 2) /* list the operand only once in each
                                                           * layer */
        give_number(builder, "residual_scale", s->factor);
    const float *scale = NULL;
    if (s->scales &&
        weights_vector(trace->weights, slot_of(BRANCH_TEXT, SLOT_LAYER_SCALE, trace->layer), &scale,
                       builder->err))
        return;
    if (scale)
        give_number(builder, "layer_scale", *scale);
    else if (s->sum_factor != 1)
        give_number(builder, "sum_factor", *(scale = &s->sum_factor));
    builder_add(builder, "%s", terms[count].name);
    if (scale) {
        builder_add(builder, " = %n × (", *scale);
        sign = "";
    }
    for (size_t i = s->replaces && count > 1; i < count; i++) {
        builder_add(builder, "%s", sign);
        if (i > 0 && s->factor != 1)
            builder_add(builder, "%n × ", s->factor);
        builder_add(builder, "%s", terms[i].name);
        sign = " + ";
    }
    builder_formula(builder, scale ? ")" : "");
    builder_stack(builder, terms, count + 1, trace->input_size);
}

/* Return the stream after the layer: merged copies, or resid_post; if resid_post is only the sum
 * before the last norm, the output of this norm. */
static struct named_vector end_of(const struct trace *trace)
{
    const struct sublayer *s = &trace->list[trace->count - 1];
    bool is_output = !s->norm_after;
    for (size_t i = 0; i < 3; i++)
        is_output |= s->at_after[i] == SITE_RESID_POST;
    return row_of(trace, config_copies(trace->config) ? SITE_MERGED
                         : is_output                  ? SITE_RESID_POST
                                                      : sublayer_end(s));
}

void step_norm(struct builder *builder, const struct trace *trace)
{
    const struct sublayer *s = &trace->list[builder->sublayer];
    bool is_mlp = s->kind == SUBLAYER_MLP;
    struct norm norm = is_mlp ? trace->block.mlp.norm : trace->block.self.norm;
    struct named_vector from;
    struct named_vector to = row_of(trace, builder->site);
    if (builder->site == SITE_LN_F) {
        from = end_of(trace);
        weights_norm(trace->weights, slot_of_text(SLOT_FINAL_NORM), &norm, builder->err);
    } else if (builder->site == step_site(s, s->at_out_norm)) {
        from = row_of(trace, step_site(s, s->at_out));
        norm = is_mlp ? trace->block.mlp.post : trace->block.self.post;
        if (s->branch >= ATTENTION_BRANCHES)
            weights_norm(trace->weights, slot_of((int)s->branch, SLOT_NORM_2_POST, trace->layer),
                         &norm, builder->err);
    } else if (builder->site == SITE_LN_EXPERTS) {
        from = stream_of(trace, builder->sublayer);
        weights_norm(trace->weights, slot_of((int)trace->branch, SLOT_EXPERT_NORM, trace->layer),
                     &norm, builder->err);
    } else if (builder->site == s->at_input) {
        from = stream_of(trace, s->reads == READS_BLOCK_INPUT ? 0 : builder->sublayer);
    } else {
        from = take_sum(builder);
        to = row_of(trace, s->at_after[0]);
    }
    if (!builder->err->kind)
        builder_norm(builder, to, from, trace->has_norms ? &norm : NULL, NULL, trace->input_size);
}

/* --- the MLP ---------------------------------------------------------------------------------- */

/* Return y · W_up + b_up. If the MLP has no gate, the pass does not keep this product, so it is
 * computed here. */
static const float *take_up(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *up = trace_row(trace, SITE_MLP_UP);
    if (!up)
        up = trace_product(trace, input_of(trace, builder->sublayer).values, 1,
                           &trace->block.mlp.fc, builder->arena, builder->err);
    return up;
}

void step_hidden(struct builder *builder, const struct trace *trace)
{
    const struct mlp_weights *w = &trace->block.mlp;
    const struct named_vector y = input_of(trace, builder->sublayer);
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
    builder_stack(builder, rows, 2, trace->list[builder->sublayer].mlp.inner);
    builder_dot(builder, rows[!gated].name, y.values, gated ? &w->gate : &w->fc, 0,
                *rows[!gated].values);
}

void step_activation(struct builder *builder, const struct trace *trace)
{
    const struct mlp_rule *rule = &trace->list[builder->sublayer].mlp;
    enum activation activation = rule->activation;
    const char *name = activation_name(activation), *x = rule->sparse ? "thin" : "gate";
    size_t width = rule->inner;
    const float *gate = trace_row(trace, SITE_MLP_GATE);
    const float *up = take_up(builder);
    const struct named_vector act = row_of(trace, SITE_MLP_ACT);
    float *curve = builder_floats(builder, width), *thin = builder_floats(builder, width);
    const float *from = rule->sparse ? thin : gate ? gate : up;
    const char *called = arena_format(builder->arena, builder->err, "%s(%s)", name, x);
    if (builder->err->kind)
        return;
    if (rule->sparse) {
        memcpy(thin, gate, width * sizeof *thin);
        thin_rows((struct matrix){thin, 1, width, width}, rule->deviations);
        give_number(builder, "deviations", rule->deviations);
        builder_formula(builder, "thin = max(gate - mean(gate) - %n × √var(gate), 0)",
                        rule->deviations);
    }
    activate((struct matrix){curve, 1, width, width},
             (struct matrix){(float *)from, 1, width, width}, NULL, activation);
    builder_formula(builder, gate ? "mlp_act = %s(%s) ⊙ up" : "mlp_act = %s(up)", name, x);
    builder_formula(builder, "%s(x) = %s", name, activation_formula(activation));
    const struct named_vector rows[] = {{"gate", gate},
                                        {"thin", rule->sparse ? thin : NULL},
                                        {called, gate ? curve : NULL},
                                        {"up", up},
                                        act};
    builder_stack(builder, rows, 5, width);
    builder_add(builder, "mlp_act_0 = %s(%n)", name, *from);
    if (gate)
        builder_add(builder, " × %f = %f × %f", *up, *curve, *up);
    builder_work(builder, " = %n", *act.values);
}

/* --- a layer's own input ---------------------------------------------------------------------- */

/* Show g = (norm(e · P / √C) + √D × pte[id]) / √2, where e is the token's embedding, P a matrix of
 * the layer with the shape [C, D], and pte[id] the token's row in a table of the layer. */
void step_given(struct builder *builder, const struct trace *trace)
{
    const struct tokenized *text = report_queries(trace->report, trace->branch);
    const struct mlp_rule *rule = &trace->list[builder->sublayer].mlp;
    const struct named_vector input = row_of(trace, builder->site);
    const size_t id = text->ids[trace->query];
    builder_formula(builder, "%s = (n + √%z × pte[%z]) / √2", input.name, rule->inner,
                    id < stack_of(trace->config, BRANCH_TEXT)->embed.given_rows ? id : 0);
    builder_formula(builder, "z = e · P / √%z", trace->input_size);
    builder_formula(builder, trace->has_norms ? "n = z / √(mean(z²) + ε) ⊙ γ" : "n = z");
    builder_note(builder, "e is the token's embedding; pte and P are of this layer alone.");
    builder_vector(builder, input, rule->inner);
}

/* Explain the layer's own input, multiplied by a gate that reads the stream. */
void step_given_act(struct builder *builder, const struct trace *trace)
{
    const struct sublayer *s = &trace->list[builder->sublayer];
    const size_t width = s->mlp.inner;
    const struct stream_copies *copies = &stack_of(trace->config, BRANCH_TEXT)->copies;
    struct named_vector y = stream_of(trace, builder->sublayer);
    const float *scale = NULL;
    const struct named_vector gate = row_of(trace, SITE_OF(s->branch, SITE_MLP_GATE));
    const struct named_vector given = row_of(trace, SITE_OF(s->branch, SITE_MLP_UP));
    const struct named_vector act = row_of(trace, builder->site);
    const char *name = activation_name(s->mlp.activation);
    float *curve = builder_floats(builder, width);
    const char *called = arena_format(builder->arena, builder->err, "%s(gate)", name);
    struct weight w;
    if (s[-1].corrects)
        y.name =
            arena_format(builder->arena, builder->err,
                         copies->scaled ? "(corrected_%zu ⊙ s)" : "corrected_%zu", copies->active);
    if (builder->err->kind ||
        weights_vector(trace->weights, slot_of((int)trace->branch, SLOT_COPY_SCALE, trace->layer),
                       &scale, builder->err) ||
        weights_matrix(trace->weights, slot_of((int)s->branch, SLOT_GATE, trace->layer), &w,
                       builder->err))
        return;
    give_vector(builder, "s", copies->scaled ? scale : NULL, trace->input_size);
    activate((struct matrix){curve, 1, width, width},
             (struct matrix){(float *)gate.values, 1, width, width}, NULL, s->mlp.activation);
    give_whole(builder, "W_own", &w);
    builder_projection(builder, gate.name, y.name, "own", &w);
    builder_formula(builder, "%s = %s(%s) ⊙ %s", act.name, name, gate.name, given.name);
    builder_formula(builder, "%s(x) = %s", name, activation_formula(s->mlp.activation));
    builder_stack(builder, (const struct named_vector[]){gate, {called, curve}, given, act}, 4,
                  width);
    builder_work(builder, "%s_0 = %s(%n) × %f = %f × %f = %n", act.name, name, *gate.values,
                 *given.values, *curve, *given.values, *act.values);
}

/* --- experts ---------------------------------------------------------------------------------- */

void step_router(struct builder *builder, const struct trace *trace)
{
    const struct named_vector y = input_of(trace, builder->sublayer);
    const struct named_vector router = row_of(trace, SITE_ROUTER);
    const struct mixture *m = trace->list[builder->sublayer].mlp.mixture;
    struct weight w;
    struct norm norm;
    if (weights_matrix(trace->weights, slot_of((int)trace->branch, SLOT_ROUTER, trace->layer), &w,
                       builder->err) ||
        weights_norm(trace->weights, slot_of((int)trace->branch, SLOT_ROUTER_NORM, trace->layer),
                     &norm, builder->err))
        return;
    give_whole(builder, "W_router", &w);
    if (m->beside) { /* the router reads the stream, through a norm of its own */
        give_vector(builder, "gamma_router", norm.scale, trace->input_size);
        builder_norm_formula(builder, "r", stream_of(trace, builder->sublayer).name,
                             trace->has_norms ? &norm : NULL);
        builder_projection(builder, "z", "r", "router", &w);
        builder_formula(builder, "router = %n × z", m->router_factor);
        builder_vector(builder, router, w.out);
        return;
    }
    builder_projection(builder, router.name, y.name, "router", &w);
    builder_vector(builder, router, w.out);
    builder_dot(builder, router.name, y.values, &w, 0, *router.values);
}

/* Write how router logits become the weights of experts. */
static void write_choice(struct builder *builder, const struct mlp_rule *rule)
{
    static const char *const scores[] = {
        [ROUTER_OF_ALL] = "p = softmax(router)",
        [ROUTER_OF_CHOSEN] = "w = softmax(router of the chosen experts)",
        [ROUTER_SIGMOID] = "p = sigmoid(router)",
        [ROUTER_ONE_BY_ONE] = "w_e = softmax(router of the experts near router_e)_e",
    };
    const struct mixture *m = rule->mixture;
    builder_formula(builder, "%s", scores[m->router]);
    if (m->router == ROUTER_OF_ALL || m->router == ROUTER_SIGMOID) {
        builder_add(builder, m->renormalised ? "w_e = p_e / Σ_chosen p" : "w_e = p_e");
        if (m->factor > 0 && m->factor != 1)
            builder_add(builder, " × %n", m->factor);
        builder_formula(builder, m->beside ? " × s_e" : "");
    }
    builder_note(builder,
                 "The %z of %z experts with the largest %s are chosen%s; the others are 0.",
                 rule->chosen, m->experts,
                 m->corrected                     ? "p + correction"
                 : m->router == ROUTER_OF_CHOSEN  ? "logits"
                 : m->router == ROUTER_ONE_BY_ONE ? "logits, one after the other,"
                                                  : "p",
                 m->groups > 1 ? say(builder->language, ", from the best groups") : "");
}

/* List the experts that have a weight for the query, ascending; returns their number. */
static size_t list_chosen(const struct builder *builder, size_t chosen[EXPERTS_MAX])
{
    const float *weights = trace_row(builder->trace, SITE_EXPERT_WEIGHTS);
    size_t count = 0;
    for (size_t e = 0; e < builder->trace->config->mixture.experts; e++)
        if (weights[e] != 0)
            chosen[count++] = e;
    return count;
}

/* Add a column with the values of the chosen experts; `row` has the values of all experts. */
static struct column *add_chosen(struct builder *builder, const char *name, const char *symbol,
                                 const float *row)
{
    size_t chosen[EXPERTS_MAX], count = list_chosen(builder, chosen);
    float *column = builder_floats(builder, count);
    for (size_t i = 0; column && i < count; i++)
        column[i] = row[chosen[i]];
    return builder_column(builder, name, symbol, column);
}

/* Show the chosen experts with their logits, the router's scores and their weights. */
void step_chosen(struct builder *builder, const struct trace *trace)
{
    const struct mlp_rule *rule = &trace->list[builder->sublayer].mlp;
    const struct mixture *m = rule->mixture;
    const float *router = trace_row(trace, SITE_ROUTER), *correction = NULL, *scales = NULL;
    size_t chosen[EXPERTS_MAX], count = list_chosen(builder, chosen);
    float *score = builder_floats(builder, m->experts);
    if (weights_vector(trace->weights, slot_of((int)trace->branch, SLOT_CORRECTION, trace->layer),
                       &correction, builder->err) ||
        weights_vector(trace->weights, slot_of((int)trace->branch, SLOT_EXPERT_SCALE, trace->layer),
                       &scales, builder->err) ||
        builder->err->kind)
        return;
    memcpy(score, router, m->experts * sizeof *score);
    if (m->router == ROUTER_SIGMOID)
        logistic_row(score, m->experts);
    else
        softmax_row(score, m->experts);
    write_choice(builder, rule);
    name_rows(builder, "", chosen, count, NULL);
    builder->table->rows.name = "expert";
    add_chosen(builder, "router", "router_e", router);
    if (m->router == ROUTER_OF_ALL || m->router == ROUTER_SIGMOID)
        add_chosen(builder, "p", "p_e", score);
    if (correction)
        add_chosen(builder, "correction", "correction_e", correction);
    if (scales)
        add_chosen(builder, "scale", "s_e", scales);
    add_chosen(builder, "weight", "w_e", trace_row(trace, SITE_EXPERT_WEIGHTS))->fraction = true;
}

void step_shared(struct builder *builder, const struct trace *trace)
{
    const struct named_vector y = input_of(trace, builder->sublayer);
    const struct named_vector out = row_of(trace, SITE_SHARED_OUT);
    struct weight w;
    if (weights_matrix(trace->weights,
                       slot_of((int)trace->branch, SLOT_SHARED_SWITCH, trace->layer), &w,
                       builder->err))
        return;
    const bool beside = trace->list[builder->sublayer].mlp.mixture->beside;
    struct norm norm;
    builder_formula(builder, "%s = mlp_shared(%s)%s", beside ? "u" : "shared_out", y.name,
                    weight_exists(&w) ? " × g" : "");
    if (beside &&
        !weights_norm(trace->weights, slot_of((int)trace->branch, SLOT_SHARED_POST, trace->layer),
                      &norm, builder->err))
        builder_norm_formula(builder, "shared_out", "u", trace->has_norms ? &norm : NULL);
    if (weight_exists(&w))
        builder_formula(builder, "g = sigmoid(%s · w_g)", y.name);
    builder_note(builder, "All tokens have this expert.");
    builder_vector(builder, out, trace->input_size);
}

/* Apply a norm to the sum of `count` weighted outputs: divide each output by the sum's divisor, and
 * multiply it by the norm's scale. */
static int norm_shares(struct builder *builder, float *shares, size_t count)
{
    const struct trace *trace = builder->trace;
    const size_t width = trace->input_size;
    float *sum = builder_floats(builder, width);
    struct norm norm;
    if (!sum ||
        weights_norm(trace->weights, slot_of((int)trace->branch, SLOT_EXPERTS_POST, trace->layer),
                     &norm, builder->err))
        return -1;
    for (size_t i = 0; i < count * width; i++)
        sum[i % width] += shares[i];
    const double divisor = norm_divisor(sum, width, &norm);
    for (size_t i = 0; i < count * width && trace->has_norms; i++)
        shares[i] = (float)((double)shares[i] / divisor *
                            ((double)norm.scale[i % width] + (double)norm.offset));
    return 0;
}

/* Show the weighted outputs of the chosen experts, and of the shared expert (if there is one), with
 * their sum. */
void step_experts(struct builder *builder, const struct trace *trace)
{
    const bool beside = trace->list[builder->sublayer].mlp.mixture->beside;
    const struct named_vector y =
        beside ? row_of(trace, SITE_LN_EXPERTS) : input_of(trace, builder->sublayer);
    const struct run run = {
        &trace->viewer->machine, trace->config, trace->weights, NULL, NULL, NULL};
    const float *shared = trace_row(trace, SITE_SHARED_OUT);
    const float *weights = trace_row(trace, SITE_EXPERT_WEIGHTS);
    size_t chosen[EXPERTS_MAX], count = list_chosen(builder, chosen), width = trace->input_size;
    float *shares = builder_floats(builder, (count + 1) * width);
    for (size_t i = 0; i < count && !builder->err->kind; i++) {
        const float *out =
            forward_expert(&run, y.values, trace->layer, chosen[i], builder->arena, builder->err);
        if (out)
            scale_row(shares + i * width, out, width, weights[chosen[i]]);
    }
    if (builder->err->kind || (beside && norm_shares(builder, shares, count)))
        return;
    if (shared)
        memcpy(shares + count * width, shared, width * sizeof *shares);
    name_rows(builder, "", chosen, count, shared ? "shared" : NULL);
    builder->table->rows.name = "expert";
    const bool normed = beside && trace->has_norms;
    builder_formula(builder, normed ? "u = Σ_e w_e × mlp_e(%s)" : "mlp_out = Σ_e w_e × mlp_e(%s)%s",
                    y.name, shared ? " + shared_out" : "");
    if (normed)
        builder_formula(builder, "mlp_out = u / √(mean(u²) + ε) ⊙ γ + shared_out");
    builder->table->working.total = "mlp_out";
    builder_vectors(builder, "share", normed ? "w_e × mlp_e / √(mean(u²) + ε) ⊙ γ" : "w_e × mlp_e",
                    shares, width)
        ->total = trace_row(trace, SITE_MLP_OUT);
}

/* Show y = x · W + b; `name` is the name of W, such as "W_down". */
static void show_product(struct builder *builder, struct named_vector x, int id, const char *name)
{
    const struct trace *trace = builder->trace;
    const struct sublayer *s = &trace->list[builder->sublayer];
    const struct named_vector y = row_of(trace, builder->site);
    struct weight w;
    if (weights_matrix(trace->weights, slot_of((int)s->branch, id, trace->layer), &w, builder->err))
        return;
    give_whole(builder, name, &w);
    builder_projection(builder, y.name, x.name, name + strlen("W_"), &w);
    builder_vector(builder, y, w.out);
    builder_dot(builder, y.name, x.values, &w, 0, *y.values);
}

void step_mlp_out(struct builder *builder, const struct trace *trace)
{
    const struct sublayer *s = &trace->list[builder->sublayer];
    show_product(builder, row_of(trace, step_site(s, SITE_MLP_ACT)), SLOT_DOWN,
                 s->branch == BRANCH_PER_LAYER ? "W_proj"
                 : s->branch == BRANCH_LAUREL  ? "W_right"
                                               : "W_down");
}

/* Explain the narrow vector of a low-rank branch, which has no activation function. */
void step_branch(struct builder *builder, const struct trace *trace)
{
    show_product(builder, input_of(trace, builder->sublayer), SLOT_UP, "W_left");
}

/* --- copies of the stream --------------------------------------------------------------------- */

/* Return the query's copies of the stream [N, C] at a site of a layer; NULL if memory ran out. */
static float *take_copies(struct builder *builder, enum site site, size_t layer)
{
    struct trace of_layer = *builder->trace;
    const size_t count = config_copies(of_layer.config), width = of_layer.input_size;
    float *copies = builder_floats(builder, count * width);
    of_layer.layer = layer;
    for (size_t i = 0; copies && i < count; i++)
        memcpy(copies + i * width, trace_row_of_head(&of_layer, site, i), width * sizeof *copies);
    return copies;
}

/* Compute y = z × √(mean(like²) / mean(z²)), where z is the product of x and a copy's matrix. */
static void turn_copy(struct builder *builder, int id, size_t copy, float *y, const float *x,
                      const float *like)
{
    const struct trace *trace = builder->trace;
    struct slot slot = slot_of_text(id);
    struct weight w;
    slot.expert = (short)(copy - 1);
    if (weights_matrix(trace->weights, slot, &w, builder->err))
        return;
    const float *z = trace_product(trace, x, 1, &w, builder->arena, builder->err);
    if (z)
        scale_row(y, z, w.out, (float)copy_factor(z, like, w.out));
}

/* Return the query's copies of the stream [N, C] that enter the layer; NULL on failure. */
static float *take_entering(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const size_t count = config_copies(trace->config), width = trace->input_size;
    if (trace->layer > 0)
        return take_copies(builder, SITE_STREAMS, trace->layer - 1);
    const float *x = trace_row(trace, SITE_EMBEDDING);
    float *copies = builder_floats(builder, count * width);
    if (copies)
        memcpy(copies, x, width * sizeof *copies);
    for (size_t i = 1; copies && i < count; i++)
        turn_copy(builder, SLOT_COPY_IN, i, copies + i * width, x, x);
    return builder->err->kind ? NULL : copies;
}

/* Show a table with a row for each copy of the stream: its vector in `from`, its `count` numbers in
 * `numbers` (`count` 0: one number), and its vector in `to`. Arguments without values get no
 * column. */
static void show_copies(struct builder *builder, struct named_vector from,
                        struct named_vector numbers, size_t count, struct named_vector to)
{
    const size_t width = builder->trace->input_size;
    const struct {
        struct named_vector vector;
        size_t width;
    } columns[] = {{from, width}, {numbers, count}, {to, width}};
    name_rows(builder, "copy ", NULL, config_copies(builder->trace->config), NULL);
    for (size_t i = 0; i < 3; i++)
        if (columns[i].vector.values)
            builder_vectors(
                builder, columns[i].vector.name,
                arena_format(builder->arena, builder->err, "%s_i", columns[i].vector.name),
                columns[i].vector.values, columns[i].width);
}

void step_copies(struct builder *builder, const struct trace *trace)
{
    const float *copies = take_entering(builder);
    if (!copies)
        return;
    builder_embedding(builder, "copy_0");
    builder_formula(builder, "copy_i = z_i × √(mean(copy_0²) / mean(z_i²)), z_i = copy_0 · P_i");
    name_rows(builder, "copy ", NULL, config_copies(trace->config), NULL);
    builder_vectors(builder, "copy", "copy_i", copies, trace->input_size);
}

/* Return the numbers that mix copies, p = tanh(norm(x) / C · W_r) · W_p; NULL with an error. `name`
 * is the name of the last matrix, such as "W_p". */
static const float *take_mixing(struct builder *builder, int id, struct named_vector x,
                                const char *name)
{
    const struct trace *trace = builder->trace;
    const struct run run = {
        .machine = &trace->viewer->machine, .config = trace->config, .weights = trace->weights};
    struct weight router, last;
    struct norm norm;
    if (weights_norm(trace->weights, slot_of((int)trace->branch, SLOT_COPY_NORM, trace->layer),
                     &norm, builder->err) ||
        weights_matrix(trace->weights, slot_of((int)trace->branch, SLOT_COPY_ROUTER, trace->layer),
                       &router, builder->err) ||
        weights_matrix(trace->weights, slot_of((int)trace->branch, id, trace->layer), &last,
                       builder->err))
        return NULL;
    if (id == SLOT_COPY_PREDICT) { /* the correction uses the same norm and W_r */
        give_vector(builder, "gamma_r", trace->has_norms ? norm.scale : NULL, trace->input_size);
        give_whole(builder, "W_r", &router);
    }
    give_whole(builder, name, &last);
    builder_norm_formula(builder, "n", x.name, trace->has_norms ? &norm : NULL);
    builder_formula(builder, "%s = tanh(n / %z · W_r) · %s", name + strlen("W_"), trace->input_size,
                    name);
    return forward_mixing(&run, id, trace->layer, x.values, builder->arena, builder->err);
}

void step_predicted(struct builder *builder, const struct trace *trace)
{
    const struct stream_copies *rule = &stack_of(trace->config, BRANCH_TEXT)->copies;
    const size_t width = trace->input_size;
    const float *in = take_entering(builder);
    const float *out = take_copies(builder, SITE_PREDICTED, trace->layer);
    float *channel = builder_floats(builder, rule->count);
    const char *active = arena_format(builder->arena, builder->err, "copy_%zu", rule->active);
    if (builder->err->kind)
        return;
    const float *p = take_mixing(builder, SLOT_COPY_PREDICT,
                                 (struct named_vector){active, in + rule->active * width}, "W_p");
    if (!p)
        return;
    if (trace->layer > 0)
        builder_note(builder, "copy_i is streams_i of the previous layer.");
    builder_formula(builder, "predicted_i = copy_i + Σ_k p_ik × copy_k");
    show_copies(builder, (struct named_vector){"copy", in}, (struct named_vector){"p", p},
                rule->count, (struct named_vector){"predicted", out});
    for (size_t i = 0; i < rule->count; i++)
        channel[i] = in[i * width];
    builder_add(builder, "predicted_0,0 = %n + ", *in);
    builder_add_dot(builder, p, channel, rule->count);
    builder_work(builder, " = %n", *out);
}

void step_corrected(struct builder *builder, const struct trace *trace)
{
    const size_t active = stack_of(trace->config, BRANCH_TEXT)->copies.active,
                 width = trace->input_size;
    const struct named_vector x = row_of(trace, sublayer_end(&trace->list[builder->sublayer]));
    const float *in = take_copies(builder, SITE_PREDICTED, trace->layer);
    const float *out = take_copies(builder, SITE_CORRECTED, trace->layer);
    float *d = builder_floats(builder, width);
    const float *c = take_mixing(builder, SLOT_COPY_CORRECT, x, "W_c");
    if (builder->err->kind)
        return;
    for (size_t i = 0; i < width; i++)
        d[i] = x.values[i] - in[active * width + i];
    give_vector(builder, "d", d, width);
    builder_formula(builder, "corrected_i = predicted_i + (1 + c_i) × d, d = %s - predicted_%z",
                    x.name, active);
    show_copies(builder, (struct named_vector){"predicted", in}, (struct named_vector){"c", c}, 0,
                (struct named_vector){"corrected", out});
    builder_work(builder, "corrected_0,0 = %n + (1%t) × %f = %n", *in, *c, *d, *out);
}

void step_streams(struct builder *builder, const struct trace *trace)
{
    const float *in = take_copies(builder, SITE_CORRECTED, trace->layer);
    const float *out = take_copies(builder, SITE_STREAMS, trace->layer);
    if (builder->err->kind)
        return;
    if (trace->list[builder->sublayer].spreads) {
        builder_formula(builder, "streams_0 = corrected_0");
        builder_formula(builder, "streams_i = corrected_i + per_layer_post, i > 0");
    } else {
        builder_formula(builder, "streams_i = corrected_i");
    }
    show_copies(builder, (struct named_vector){"corrected", in}, (struct named_vector){0}, 0,
                (struct named_vector){"streams", out});
}

/* Show the stream that the logits read: the mean of the first copy and of products of the
 * others. */
void step_merged(struct builder *builder, const struct trace *trace)
{
    const size_t count = config_copies(trace->config), width = trace->input_size;
    const float *in = take_copies(builder, SITE_STREAMS, trace->layer);
    float *shares = take_copies(builder, SITE_STREAMS, trace->layer);
    for (size_t i = 0; shares && in && i < count; i++) {
        float *share = shares + i * width;
        if (i)
            turn_copy(builder, SLOT_COPY_OUT, i, share, in + i * width, in);
        scale_row(share, share, width, 1 / (float)count);
    }
    if (builder->err->kind)
        return;
    builder_formula(builder, "merged = Σ_i share_i, share_0 = streams_0 / %z", count);
    builder_formula(builder,
                    "share_i = z_i × √(mean(streams_0²) / mean(z_i²)) / %z, z_i = streams_i · U_i",
                    count);
    builder->table->working.total = "merged";
    name_rows(builder, "copy ", NULL, count, NULL);
    builder_vectors(builder, "streams", "streams_i", in, width);
    builder_vectors(builder, "share", "share_i", shares, width)->total =
        trace_row(trace, SITE_MERGED);
}

/* --- logits ----------------------------------------------------------------------------------- */

enum { SHOWN = 10 }; /* number of tokens that are shown: the ones with the largest logits */

/* Return the stream after the last layer, and after the final norm if there is one. */
static struct named_vector last_of(const struct trace *trace)
{
    const struct named_vector normed = row_of(trace, SITE_LN_F);
    return normed.values ? normed : end_of(trace);
}

/* Explain the dense layer before the logits: dense = y · W_d + b_d, act = f(dense). Returns its
 * width; 0 on failure. */
static size_t take_dense(struct builder *builder, struct named_vector rows[2])
{
    const struct trace *trace = builder->trace;
    const struct unembed_rule rule = stack_of(trace->config, BRANCH_TEXT)->unembed;
    const struct named_vector y = last_of(trace);
    const char *name = activation_name(rule.activation);
    struct weight w;
    if (weights_matrix(trace->weights, slot_of_text((int)rule.dense), &w, builder->err))
        return 0;
    float *dense = trace_product(trace, y.values, 1, &w, builder->arena, builder->err);
    float *act = builder_floats(builder, w.out);
    if (builder->err->kind)
        return 0;
    activate((struct matrix){act, 1, w.out, w.out}, (struct matrix){dense, 1, w.out, w.out}, NULL,
             rule.activation);
    give_whole(builder, "W_d", &w);
    builder_projection(builder, "dense", y.name, "d", &w);
    builder_formula(builder, "act = %s(dense), %s(x) = %s", name, name,
                    activation_formula(rule.activation));
    rows[0] = (struct named_vector){"dense", dense};
    rows[1] = (struct named_vector){"act", act};
    return w.out;
}

/* Explain the dense layer, its activation and its norm before the logits of a masked model. */
void step_transform(struct builder *builder, const struct trace *trace)
{
    struct named_vector rows[2];
    struct norm norm;
    bool normed = stack_of(trace->config, BRANCH_TEXT)->unembed.dense_norm;
    size_t width = take_dense(builder, rows);
    if (builder->err->kind ||
        weights_norm(trace->weights, slot_of_text(SLOT_TRANSFORM_NORM), &norm, builder->err))
        return;
    builder_norm(builder, row_of(trace, SITE_TRANSFORM), rows[1],
                 trace->has_norms && normed ? &norm : NULL,
                 (const struct named_vector[NORM_TERMS]){rows[0]}, width);
}

/* Explain the logit of a discriminator, which says whether the token was replaced. */
void step_discriminator(struct builder *builder, const struct trace *trace)
{
    struct named_vector rows[2];
    const struct named_vector logit = row_of(trace, SITE_DISCRIMINATOR);
    struct weight w;
    size_t width = take_dense(builder, rows);
    if (builder->err->kind ||
        weights_matrix(trace->weights, slot_of_text(SLOT_DISCRIMINATOR_LOGIT), &w, builder->err))
        return;
    give_whole(builder, "W_o", &w);
    builder_projection(builder, logit.name, "act", "o", &w);
    builder_stack(builder, rows, 2, width);
    builder_dot(builder, logit.name, rows[1].values, &w, 0, *logit.values);
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
        rows[i] = label_of_word(trace->viewer->words, id, builder->arena, builder->err);
        for (size_t k = 0; k < width; k++)
            vectors[i * width + k] = weight_element(words, k, id);
        for (size_t c = 0; c < 3; c++)
            numbers[c * count + i] = columns[c] ? columns[c][id] : 0;
    }
    if (builder->err->kind)
        return;
    builder->table->rows.name = config_classifies(trace->config) ? "class" : "token";
    builder_vectors(builder, "words", "w_v", vectors, width);
    for (size_t c = 0; c < 3; c++)
        if (columns[c])
            builder_column(builder, names[c][0], names[c][1], numbers + c * count);
    builder_add(builder, columns[0] ? "dot = " : "logit = ");
    builder_add_dot(builder, y, vectors, width);
    builder_work(builder, " = %n", numbers[columns[0] ? 0 : 2 * count]);
}

void step_logits(struct builder *builder, const struct trace *trace)
{
    const struct config *c = trace->config;
    const struct unembed_rule rule = stack_of(c, BRANCH_TEXT)->unembed;
    bool capped = rule.cap > 0, divided = rule.divisor > 0;
    struct named_vector y = rule.dense ? row_of(trace, rule.at_dense) : last_of(trace);
    struct weight words, projection;
    const float *bias = NULL;
    float *logits = builder_floats(builder, config_logits(c));
    if (rule.project && !weights_matrix(trace->weights, slot_of_text(SLOT_PROJECT_OUT), &projection,
                                        builder->err)) {
        give_whole(builder, "P_out", &projection);
        y.values = trace_product(trace, y.values, 1, &projection, builder->arena, builder->err);
    }
    if (builder->err->kind || weights_unembedding(trace->weights, &words, builder->err) ||
        weights_vector(trace->weights, slot_of_text(SLOT_UNEMBED_BIAS), &bias, builder->err))
        return;
    const float *dots = trace_product(trace, y.values, 1, &words, builder->arena, builder->err);
    if (builder->err->kind)
        return;
    bool finished = bias || divided || capped;
    memcpy(logits, dots, config_logits(c) * sizeof *logits);
    if (bias)
        add_to_row(logits, bias, config_logits(c));
    if (divided)
        divide_row(logits, config_logits(c), rule.divisor);
    if (capped)
        cap_row(logits, config_logits(c), rule.cap);

    builder_formula(builder, "%s_v = %s%s · w_v", finished ? "dot" : "logit", y.name,
                    rule.project ? " · P_out" : "");
    if (finished) { /* add a formula like logit_v = 30 × tanh((dot_v + b_v) / 2.5 / 30) */
        builder_add(builder, capped ? "logit_v = %n × tanh(" : "logit_v = ", rule.cap);
        builder_add(builder, !bias ? "dot_v" : capped || divided ? "(dot_v + b_v)" : "dot_v + b_v");
        builder_add(builder, divided ? " / %n" : "", rule.divisor);
        builder_formula(builder, capped ? " / %n)" : "", rule.cap);
    }
    if (config_classifies(c))
        builder_note(builder, "There is a logit for each of %z classes; w_v is the row of a class.",
                     config_logits(c));
    else
        builder_note(builder, "The tokens with the largest of %z logits; w_v is %s.",
                     config_logits(c),
                     say(builder->language, config_ties(c) ? "the token's embedding (tied weights)"
                                                           : "the token's row of the unembedding"));
    show_tokens(builder, y.values, &words, (const float *[]){finished ? dots : NULL, bias, logits});
}
