/* back_mlp.c: the backward pass over MLPs and mixtures of experts. */
#include <math.h>
#include <string.h>

#include "math/rows.h"
#include "pass/back.h"
#include "model/family/family.h"
#include "model/layer.h"
#include "pass/pass.h"

/* dy, the gradient of act(x) · more, or of act(x) if more.data is NULL, becomes the gradient of x.
 * dx becomes the gradient of `more`. */
static void gate_block(const struct row_operation *block)
{
    const struct mlp_rule *rule = block->own;
    if (block->more.data) {
        activate(block->dx, block->x, NULL, rule->activation);
        multiply_rows(block->dx, block->dy);
        multiply_rows(block->dy, block->more);
    }
    activate_backward(block->dy, block->x, rule->activation);
}

/* d, the gradient of act(gate) · up, becomes the gradient of gate; dup becomes the gradient of
 * up. */
static int gated_back(struct walk *w, const struct mlp_rule *rule, struct matrix d,
                      struct matrix dup, struct matrix gate, struct matrix up)
{
    if (!d.data || !dup.data)
        return -1;
    if (rule->clamp <= 0) {
        walk_rows(w, d,
                  (struct row_operation){gate_block, .dx = dup, .dy = d, .x = gate, .more = up,
                                         .own = rule});
        return 0;
    }
    struct matrix g = walk_copy(w, gate), u = walk_copy(w, up),
                  slope = walk_room(w, d.rows, d.columns);
    if (!g.data || !u.data || !slope.data)
        return -1;
    const float steeper = mlp_limit(rule, g, u);
    for (size_t i = 0; i < d.rows * d.columns; i++)
        slope.data[i] = 1;
    activate_backward(slope, g, rule->activation);
    activate(g, g, NULL, rule->activation);
    for (size_t i = 0; i < d.rows * d.columns; i++) {
        bool of_gate = gate.data[i] <= rule->clamp, of_up = fabsf(up.data[i]) <= rule->clamp;
        dup.data[i] = of_up ? d.data[i] * g.data[i] / steeper : 0;
        d.data[i] = of_gate ? d.data[i] * u.data[i] * slope.data[i] * steeper : 0;
    }
    return 0;
}

/* dx += the gradient of x, from dout, the gradient of a gated MLP's output; dx is unchanged if dout
 * has no data. The MLP is an expert or the shared expert; its first slot is `first`. *out becomes
 * its output. */
static int feed_back(struct walk *w, const struct mlp_rule *rule, struct slot first,
                     struct matrix dx, struct matrix x, struct matrix dout, struct matrix *out)
{
    struct slot up = first, down = first;
    up.id = (unsigned char)(first.id + 2);
    down.id = (unsigned char)(first.id + 4);
    struct matrix gate = walk_product(w, first, x), raised = walk_product(w, up, x);
    if (!gate.data || !raised.data)
        return -1;
    struct matrix active = walk_copy(w, gate), other = walk_copy(w, raised);
    if (!active.data || !other.data)
        return -1;
    mlp_combine(w->run->machine, rule, active, active, other, false);
    *out = walk_product(w, down, active);
    if (!dout.data)
        return out->data ? 0 : -1;
    struct matrix d = walk_product_gradient(w, down, dout, active),
                  dup = walk_room(w, x.rows, gate.columns);
    return err_if(!out->data || gated_back(w, rule, d, dup, gate, raised) ||
                  walk_product_back(w, first, dx, d, x) || walk_product_back(w, up, dx, dup, x));
}

/* Multiply d by the slope of xIELU at x, as in activate_xielu, and add the gradients of its
 * parameters. */
static int xielu_back(struct walk *w, struct slot slot, struct matrix d, struct matrix x)
{
    struct xielu p;
    if (weights_xielu(w->run->weights, slot, &p, w->err))
        return -1;
    const float a = log1pf(expf(p.positive)), b = p.beta + log1pf(expf(p.negative));
    double sums[2] = {0, 0}; /* gradients of the parameters a and b */
    for (size_t i = 0; i < d.rows * d.columns; i++) {
        float at = x.data[i], low = at < p.epsilon ? expf(at) : 0;
        sums[at <= 0] +=
            (double)d.data[i] * (double)(at > 0 ? at * at : expm1f(fminf(at, p.epsilon)) - at);
        d.data[i] *= at > 0 ? 2 * a * at + p.beta : (low - 1) * b + p.beta;
    }
    float slopes[] = {p.positive, p.negative}; /* derivatives of softplus, by which a and b are
                                                * computed from the parameters */
    logistic_row(slopes, 2);
    for (int i = 0; i < 2; i++) {
        slopes[i] *= (float)sums[i];
        slot.id = (unsigned char)(SLOT_XIELU_POSITIVE + 2 * i);
        walk_add_sums(w, slot, walk_matrix(&slopes[i], 1, 1));
    }
    return 0;
}

/* For one row of the router, go from the gradients of experts' weights to the gradients of
 * logits. */
static void choose_back(const struct mlp_rule *rule, float *dlogits, float *dweights,
                        const float *logits, const float *weights)
{
    const struct mixture *m = rule->mixture;
    float score[EXPERTS_MAX], chosen[EXPERTS_MAX], sum = 0;
    for (size_t i = 0; i < m->experts; i++) {
        dweights[i] = weights[i] != 0 ? dweights[i] * (m->factor > 0 ? m->factor : 1) : 0;
        score[i] = m->router == ROUTER_OF_CHOSEN && weights[i] == 0 ? -INFINITY : logits[i];
    }
    if (m->router == ROUTER_SIGMOID)
        logistic_row(score, m->experts);
    else
        softmax_row(score, m->experts);
    for (size_t i = 0; i < m->experts; i++) {
        chosen[i] = weights[i] != 0 ? score[i] : 0;
        sum += chosen[i];
    }
    if (m->renormalised && sum < m->least)
        scale_row(dweights, dweights, m->experts, 1 / m->least);
    else if (m->renormalised) {
        float mean = (float)dot_rows(dweights, chosen, m->experts) / sum;
        for (size_t i = 0; i < m->experts; i++)
            dweights[i] = weights[i] != 0 ? (dweights[i] - mean) / sum : 0;
    }
    for (size_t i = 0; i < m->experts; i++)
        dlogits[i] = dweights[i];
    if (m->router == ROUTER_SIGMOID)
        for (size_t i = 0; i < m->experts; i++)
            dlogits[i] *= score[i] * (1 - score[i]);
    else
        softmax_row_backward(dlogits, score, m->experts, 1);
}

/* Go from the gradients of experts' weights to the gradients of logits, like choose_back, if
 * experts are chosen one by one: each weight is a softmax over the experts that are near the
 * best. */
static void one_by_one_back(const struct mlp_rule *rule, float *dlogits, const float *dweights,
                            const float *logits)
{
    const struct mixture *m = rule->mixture;
    float left[EXPERTS_MAX], near[EXPERTS_MAX], d[EXPERTS_MAX];
    memcpy(left, logits, m->experts * sizeof *left);
    memset(dlogits, 0, m->experts * sizeof *dlogits);
    for (size_t round = 0; round < rule->chosen; round++) {
        size_t best = mixture_choose_one(m, near, left, logits);
        memset(d, 0, m->experts * sizeof *d);
        d[best] = dweights[best];
        softmax_row_backward(d, near, m->experts, 1);
        add_to_row(dlogits, d, m->experts);
    }
}

/* dx += the gradient of x, from d, the gradient of the shared expert's output. */
static int shared_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                       struct matrix d)
{
    struct slot feed = walk_slot(w, s->branch, SLOT_SHARED_GATE);
    struct slot key = walk_slot(w, s->branch, SLOT_SHARED_SWITCH);
    struct matrix out, down = walk_copy(w, d);
    struct weight weight;
    if (!down.data || walk_show_rows(w, s->branch, SITE_SHARED_OUT, down) ||
        weights_matrix(w->run->weights, key, &weight, w->err))
        return -1;
    if (s->mlp.mixture->beside) {
        struct matrix none = {0}, dout = down;
        down = walk_zeros(w, d.rows, d.columns);
        if (feed_back(w, &s->mlp, feed, none, x, none, &out) ||
            walk_norm_back(w, walk_slot(w, s->branch, SLOT_SHARED_POST), down, dout, out))
            return -1;
    }
    if (weight_exists(&weight)) {
        struct matrix none = {0}, on = walk_product(w, key, x), don = walk_zeros(w, x.rows, 1);
        if (!on.data || !don.data || feed_back(w, &s->mlp, feed, none, x, none, &out))
            return -1;
        for (size_t row = 0; row < x.rows; row++) {
            float *factor = matrix_row(on, row);
            logistic_row(factor, 1);
            don.data[row] =
                (float)dot_rows(matrix_row(down, row), matrix_row(out, row), d.columns) * *factor *
                (1 - *factor);
            scale_row(matrix_row(down, row), matrix_row(down, row), d.columns, *factor);
        }
        if (walk_product_back(w, key, dx, don, x))
            return -1;
    }
    return feed_back(w, &s->mlp, feed, dx, x, down, &out);
}

/* Return the rows of x that chose an expert, one after the other. */
static struct matrix rows_of(struct walk *w, const struct sublayer *s, size_t expert,
                             struct matrix x)
{
    const float *weights = walk_value(w, s->branch, SITE_EXPERT_WEIGHTS) + expert;
    const size_t experts = s->mlp.mixture->experts;
    struct matrix rows = walk_room(w, x.rows, x.columns);
    rows.rows = 0;
    for (size_t row = 0; row < x.rows && rows.data; row++)
        if (weights[row * experts] != 0)
            copy_rows(matrix_rows(rows, rows.rows++, 1), matrix_rows(x, row, 1));
    return rows;
}

/* Return, for each row of x, the sum of the outputs of its experts times their weights. */
static struct matrix sum_experts(struct walk *w, const struct sublayer *s, struct matrix x)
{
    const size_t experts = s->mlp.mixture->experts;
    const struct matrix none = {0};
    struct slot slot = walk_slot(w, s->branch, SLOT_EXPERT_GATE);
    struct matrix sum = walk_zeros(w, x.rows, x.columns), out;
    for (size_t expert = 0; expert < experts && sum.data; expert++) {
        const float *weights = walk_value(w, s->branch, SITE_EXPERT_WEIGHTS) + expert;
        struct matrix rows = rows_of(w, s, expert, x);
        slot.expert = (short)expert;
        if (!rows.data || (rows.rows && feed_back(w, &s->mlp, slot, none, rows, none, &out)))
            return none;
        for (size_t row = 0, next = 0; row < x.rows; row++)
            if (weights[row * experts] != 0)
                add_scaled_row(matrix_row(sum, row), matrix_row(out, next++), x.columns,
                               weights[row * experts], out.data);
    }
    return sum;
}

/* dx += the gradient of x through one expert, for the rows that chose it. The expert's column of
 * dweights becomes the gradient of its weights. */
static int expert_back(struct walk *w, const struct sublayer *s, size_t expert, struct matrix dx,
                       struct matrix x, struct matrix d, struct matrix dweights)
{
    const float *weights = walk_value(w, s->branch, SITE_EXPERT_WEIGHTS) + expert;
    const size_t experts = s->mlp.mixture->experts;
    struct slot slot = walk_slot(w, s->branch, SLOT_EXPERT_GATE);
    struct matrix rows = rows_of(w, s, expert, x), dout = rows_of(w, s, expert, d);
    struct matrix drows = walk_zeros(w, x.rows, x.columns), out;
    slot.expert = (short)expert;
    if (!rows.data || !dout.data || !drows.data)
        return -1;
    if (!rows.rows)
        return 0;
    drows.rows = rows.rows;
    for (size_t row = 0, next = 0; row < x.rows; row++)
        if (weights[row * experts] != 0) {
            scale_row(matrix_row(dout, next), matrix_row(dout, next), d.columns,
                      weights[row * experts]);
            next++;
        }
    if (feed_back(w, &s->mlp, slot, drows, rows, dout, &out))
        return -1;
    for (size_t row = 0, next = 0; row < x.rows; row++) {
        if (weights[row * experts] == 0)
            continue;
        matrix_row(dweights, row)[expert] =
            (float)dot_rows(matrix_row(d, row), matrix_row(out, next), d.columns);
        add_to_row(matrix_row(dx, row), matrix_row(drows, next++), x.columns);
    }
    return 0;
}

/* The backward pass over the router: dx += the gradient of its input, from dweights, the gradients
 * of experts' weights. */
static int router_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                       struct matrix dweights)
{
    const struct mixture *m = s->mlp.mixture;
    const struct slot slot = walk_slot(w, s->branch, SLOT_EXPERT_SCALE);
    struct matrix weights =
        walk_matrix(walk_value(w, s->branch, SITE_EXPERT_WEIGHTS), x.rows, m->experts);
    struct matrix logits = walk_matrix(walk_value(w, s->branch, SITE_ROUTER), x.rows, m->experts);
    struct matrix dlogits = walk_zeros(w, x.rows, m->experts);
    const float *scales = NULL;
    if (!dlogits.data || weights_vector(w->run->weights, slot, &scales, w->err))
        return -1;
    if (scales) { /* a weight is the router's weight times the scale of the expert */
        struct matrix dscales = walk_zeros(w, x.rows, m->experts);
        for (size_t i = 0; i < x.rows * m->experts && dscales.data; i++) {
            const float scale = scales[i % m->experts];
            dscales.data[i] = scale != 0 ? dweights.data[i] * weights.data[i] / scale : 0;
            dweights.data[i] *= scale;
        }
        if (!dscales.data)
            return -1;
        walk_add_sums(w, slot, dscales);
    }
    for (size_t row = 0; row < x.rows; row++)
        if (m->router == ROUTER_ONE_BY_ONE)
            one_by_one_back(&s->mlp, matrix_row(dlogits, row), matrix_row(dweights, row),
                            matrix_row(logits, row));
        else
            choose_back(&s->mlp, matrix_row(dlogits, row), matrix_row(dweights, row),
                        matrix_row(logits, row), matrix_row(weights, row));
    if (walk_show_rows(w, s->branch, SITE_ROUTER, dlogits))
        return -1;
    walk_scale(dlogits, m->router_factor > 0 ? m->router_factor : 1);
    return walk_product_back(w, walk_slot(w, s->branch, SLOT_ROUTER), dx, dlogits, x);
}

/* The backward pass over experts as in Gemma 4: the experts and the router read the stream, each
 * through a norm, and the sum of the experts is normed. Only the shared expert reads the input of
 * the MLP. */
static int experts_beside_back(struct walk *w, const struct sublayer *s, struct matrix d)
{
    const struct mixture *m = s->mlp.mixture;
    const struct slot router = walk_slot(w, s->branch, SLOT_ROUTER_NORM);
    const struct matrix read =
        walk_matrix(walk_value(w, s->branch, SITE_LN_EXPERTS), d.rows, d.columns);
    struct matrix dweights = walk_zeros(w, d.rows, m->experts);
    struct matrix dsum = walk_zeros(w, d.rows, d.columns), dread = walk_zeros(w, d.rows, d.columns),
                  drouted = walk_zeros(w, d.rows, d.columns);
    if (!dweights.data || !dsum.data || !dread.data || !drouted.data ||
        walk_norm_back(w, walk_slot(w, s->branch, SLOT_EXPERTS_POST), dsum, d,
                       sum_experts(w, s, read)))
        return -1;
    for (size_t expert = 0; expert < m->experts; expert++)
        if (expert_back(w, s, expert, dread, read, dsum, dweights))
            return -1;
    struct matrix routed = walk_normed(w, router, w->read);
    return err_if(
        walk_show_rows(w, s->branch, SITE_EXPERT_WEIGHTS, dweights) || !routed.data ||
        router_back(w, s, drouted, routed, dweights) ||
        walk_norm_back(w, router, w->dread, drouted, w->read) ||
        walk_show_rows(w, s->branch, SITE_LN_EXPERTS, dread) ||
        walk_norm_back(w, walk_slot(w, s->branch, SLOT_EXPERT_NORM), w->dread, dread, w->read));
}

static int mixture_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                        struct matrix d)
{
    const struct mixture *m = s->mlp.mixture;
    struct matrix dweights = walk_zeros(w, x.rows, m->experts);
    if (!dweights.data || (m->shared_inner && shared_back(w, s, dx, x, d)))
        return -1;
    if (m->beside)
        return experts_beside_back(w, s, d);
    for (size_t expert = 0; expert < m->experts; expert++)
        if (expert_back(w, s, expert, dx, x, d, dweights))
            return -1;
    return err_if(walk_show_rows(w, s->branch, SITE_EXPERT_WEIGHTS, dweights) ||
                  router_back(w, s, dx, x, dweights));
}

int walk_mlp_back(struct walk *w, const struct sublayer *s, struct matrix dx, struct matrix x,
                  struct matrix d)
{
    const struct mlp_rule *rule = &s->mlp;
    struct slot up_slot = walk_slot(w, s->branch, SLOT_UP);
    if (rule->mixture)
        return mixture_back(w, s, dx, x, d);
    if (walk_show_rows(w, s->branch, SITE_MLP_ACT, d))
        return -1;
    if (!rule->gated) {
        const float *kept = walk_value(w, s->branch, SITE_MLP_UP);
        struct matrix before =
            kept ? walk_matrix(kept, d.rows, d.columns) : walk_product(w, up_slot, x);
        if (!before.data || (rule->xielu && xielu_back(w, up_slot, d, before)))
            return -1;
        if (!rule->xielu)
            walk_rows(w, d, (struct row_operation){gate_block, .dy = d, .x = before, .own = rule});
        return walk_product_back(w, up_slot, dx, d, x);
    }
    struct matrix gate = walk_matrix(walk_value(w, s->branch, SITE_MLP_GATE), d.rows, d.columns);
    struct matrix up = walk_matrix(walk_value(w, s->branch, SITE_MLP_UP), d.rows, d.columns);
    struct matrix dup = walk_room(w, d.rows, d.columns);
    struct matrix thin = rule->sparse ? walk_copy(w, gate) : gate;
    if (rule->sparse && thin.data)
        thin_rows(thin, rule->deviations);
    if (!thin.data || gated_back(w, rule, d, dup, thin, up) ||
        walk_show_rows(w, s->branch, SITE_MLP_UP, dup))
        return -1;
    if (rule->sparse)
        thin_rows_backward(d, gate, rule->deviations);
    if (walk_show_rows(w, s->branch, SITE_MLP_GATE, d) ||
        walk_product_back(w, walk_slot(w, s->branch, SLOT_GATE), dx, d, x))
        return -1;
    if (!rule->given)
        return walk_product_back(w, up_slot, dx, dup, x);
    copy_rows(matrix_columns(w->dgiven, w->layer * rule->inner, rule->inner), dup);
    return 0;
}
