/* mixture.c: MLPs with experts. A router gives each token the weights of a few experts, and only
 * these experts are read. All rows that chose an expert are multiplied together. The bits of a row
 * do not depend on other rows, and its experts are added in their order. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/gemm.h"
#include "math/rows.h"
#include "pass/forward.h"
#include "pass/pass.h"
#include "pass/sampler.h"

/* --- the router ------------------------------------------------------------------------------- */

/* Set all numbers except the `count` largest to -infinity; of equal numbers, the first are kept. */
static void keep_best(float *numbers, size_t size, size_t count)
{
    struct likely best[EXPERTS_MAX];
    topk(best, count, numbers, size, 0);
    for (size_t i = 0; i < size; i++)
        numbers[i] = -INFINITY;
    for (size_t i = 0; i < count; i++)
        numbers[best[i].id] = best[i].logprob;
}

/* Set the numbers of experts that are not in one of the best groups to -infinity. */
static void keep_groups(const struct mixture *m, float *picks)
{
    size_t size = m->experts / m->groups;
    float scores[EXPERTS_MAX];
    float sorted[EXPERTS_MAX];
    for (size_t g = 0; g < m->groups; g++) {
        memcpy(sorted, picks + g * size, size * sizeof *sorted);
        scores[g] = max_row(sorted, size);
        if (!m->two_best)
            continue;
        keep_best(sorted, size, 2);
        scores[g] = 0;
        for (size_t i = 0; i < size; i++)
            scores[g] += sorted[i] > -INFINITY ? sorted[i] : 0;
    }
    keep_best(scores, m->groups, m->chosen_groups);
    for (size_t i = 0; i < m->experts; i++)
        if (scores[i / size] == -INFINITY)
            picks[i] = -INFINITY;
}

size_t mixture_choose_one(const struct mixture *m, float *near, float *left, const float *logits)
{
    float top = max_row(left, m->experts);
    size_t best = 0;
    while (best + 1 < m->experts && left[best] != top)
        best++;
    for (size_t i = 0; i < m->experts; i++) {
        float distance = (top - left[i]) / fmaxf(fabsf(logits[i]), top);
        near[i] = distance > m->near ? -INFINITY : left[i];
    }
    softmax_row(near, m->experts);
    left[best] = -INFINITY;
    return best;
}

/* Set the weights of `count` experts that are chosen one by one (ROUTER_ONE_BY_ONE); other experts
 * get the weight 0. */
static void choose_one_by_one(const struct mixture *m, float *weights, const float *logits,
                              size_t count)
{
    float left[EXPERTS_MAX], near[EXPERTS_MAX];
    memcpy(left, logits, m->experts * sizeof *left);
    memset(weights, 0, m->experts * sizeof *weights);
    for (; count > 0; count--) {
        size_t best = mixture_choose_one(m, near, left, logits);
        weights[best] = near[best];
    }
}

/* Choose `count` experts by their logits [E] and set their weights [E]; other experts get the
 * weight 0. */
static void choose(const struct mixture *m, float *weights, const float *logits,
                   const float *correction, size_t count)
{
    float picks[EXPERTS_MAX];
    float sum = 0;
    if (m->router == ROUTER_ONE_BY_ONE) {
        choose_one_by_one(m, weights, logits, count);
        return;
    }
    memcpy(weights, logits, m->experts * sizeof *weights);
    if (m->router == ROUTER_OF_ALL)
        softmax_row(weights, m->experts);
    if (m->router == ROUTER_SIGMOID)
        logistic_row(weights, m->experts);
    for (size_t i = 0; i < m->experts; i++)
        picks[i] = weights[i] + (correction ? correction[i] : 0);
    if (m->groups > 1)
        keep_groups(m, picks);
    keep_best(picks, m->experts, count);
    for (size_t i = 0; i < m->experts; i++)
        if (picks[i] == -INFINITY)
            weights[i] = m->router == ROUTER_OF_CHOSEN ? -INFINITY : 0;
    if (m->router == ROUTER_OF_CHOSEN)
        softmax_row(weights, m->experts);
    for (size_t i = 0; m->renormalised && i < m->experts; i++)
        sum += weights[i];
    if (m->renormalised && (sum < m->least || m->more > 0))
        scale_row(weights, weights, m->experts, 1 / fmaxf(sum + m->more, m->least));
    else if (m->renormalised)
        normalise_row(weights, m->experts);
    if (m->factor > 0)
        scale_row(weights, weights, m->experts, m->factor);
}

/* Compute the router's logits, and the weights of experts, for all rows. */
static enum pass_state route(struct pass *pass, const struct mlp_rule *rule, size_t layer,
                             struct matrix x)
{
    struct scratch *s = &pass->scratch;
    const struct mixture *m = rule->mixture;
    const float *correction = NULL, *scales = NULL;
    if (m->beside) {
        PASS_TRY(pass_norm(pass, pass_slot(pass, SLOT_ROUTER_NORM, layer), s->gathered, s->x));
        x = s->gathered;
    }
    PASS_TRY(
        pass_product(pass, pass_slot(pass, SLOT_ROUTER, layer), s->router, x, ACTIVATION_NONE));
    if (weights_vector(pass->weights, pass_slot(pass, SLOT_CORRECTION, layer), &correction,
                       pass->err) ||
        weights_vector(pass->weights, pass_slot(pass, SLOT_EXPERT_SCALE, layer), &scales,
                       pass->err))
        return PASS_FAILED;
    for (size_t row = 0; m->router_factor > 0 && row < x.rows; row++)
        scale_row(matrix_row(s->router, row), matrix_row(s->router, row), m->experts,
                  m->router_factor);
    PASS_TRY(pass_check_rows(pass, SITE_ROUTER, layer, s->router));
    PASS_TRY(tap_rows(pass, SITE_ROUTER, layer, s->router));
    for (size_t row = 0; row < x.rows; row++) {
        float *weights = matrix_row(s->experts, row);
        choose(m, weights, matrix_row(s->router, row), correction, rule->chosen);
        for (size_t i = 0; scales && i < m->experts; i++)
            weights[i] *= scales[i];
    }
    return tap_rows(pass, SITE_EXPERT_WEIGHTS, layer, s->experts);
}

/* --- experts ---------------------------------------------------------------------------------- */

float mlp_limit(const struct mlp_rule *rule, struct matrix gate, struct matrix up)
{
    float steeper = rule->gate_slope > 0 ? rule->gate_slope / 1.702f : 1;
    for (size_t row = 0; row < up.rows; row++) {
        float *g = matrix_row(gate, row), *u = matrix_row(up, row);
        for (size_t i = 0; i < up.columns; i++) {
            g[i] = g[i] > rule->clamp ? rule->clamp : g[i];
            u[i] = u[i] > rule->clamp ? rule->clamp : u[i] < -rule->clamp ? -rule->clamp : u[i];
            u[i] = (u[i] + rule->up_offset) / steeper;
            g[i] *= steeper;
        }
    }
    return steeper;
}

enum { COMBINED_ROWS = 64 }; /* rows that a thread combines at a time */

struct combination {
    const struct mlp_rule *rule;
    struct matrix y, gate, up;
    bool active;
};

static void combine_some(void *context, size_t round, size_t thread)
{
    const struct combination *all = context;
    const size_t first = round * COMBINED_ROWS;
    const size_t count = num_min(all->gate.rows - first, COMBINED_ROWS);
    struct matrix gate = matrix_rows(all->gate, first, count), up = all->up;
    struct matrix y = matrix_rows(all->y, first, count);
    (void)thread;
    if (up.data)
        up = matrix_rows(up, first, count);
    if (up.data && all->rule->clamp > 0)
        mlp_limit(all->rule, gate, up);
    if (!all->active)
        activate(y, gate, NULL, all->rule->activation);
    if (up.data)
        multiply_rows(y, up);
}

void mlp_combine(struct machine *machine, const struct mlp_rule *rule, struct matrix y,
                 struct matrix gate, struct matrix up, bool active)
{
    enum { WORTH = 16 }; /* estimated multiply-adds for an element */
    struct combination all = {rule, y, gate, up, active};
    double work = WORTH * (double)gate.rows * (double)gate.columns;
    pool_run(machine->pool,
             (struct loop){(gate.rows + COMBINED_ROWS - 1) / COMBINED_ROWS, work, combine_some},
             &all);
}

/* y = the output of a gated or plain MLP for x. `gate` is the slot of its gate, which also
 * identifies the MLP (an expert, the shared expert or a plain MLP) if it has no gate. */
static int feed(struct pass *pass, const struct mlp_rule *rule, struct slot gate, struct matrix y,
                struct matrix x)
{
    struct weight w[3];
    for (size_t i = 0; i < 3; i++) {
        struct slot slot = gate;
        slot.id = (unsigned char)(gate.id + 2 * i);
        if (weights_matrix(pass->weights, slot, &w[i], pass->err))
            return -1;
    }
    struct scratch *s = &pass->scratch;
    struct matrix hidden = matrix_rows(matrix_columns(s->hidden, 0, w[1].out), 0, x.rows), up = {0};
    bool apart = rule->clamp > 0;
    linear(pass->machine, hidden, x, &w[!rule->gated], apart ? ACTIVATION_NONE : rule->activation);
    if (rule->gated) {
        up = matrix_rows(matrix_columns(s->up, 0, w[1].out), 0, x.rows);
        linear(pass->machine, up, x, &w[1], ACTIVATION_NONE);
    }
    mlp_combine(pass->machine, rule, hidden, hidden, up, !apart);
    linear(pass->machine, y, hidden, &w[2], ACTIVATION_NONE);
    return 0;
}

/* sum += the output of an expert times the expert's weight, for the rows that chose the expert. */
static int add_expert(struct pass *pass, const struct mlp_rule *rule, struct slot gate,
                      struct matrix x, struct matrix sum)
{
    struct scratch *s = &pass->scratch;
    const float *weights = s->experts.data + gate.expert;
    struct matrix rows = matrix_rows(matrix_columns(s->gathered, 0, x.columns), 0, 0);
    struct matrix y = matrix_columns(s->expert_out, 0, x.columns);
    for (size_t row = 0; row < x.rows; row++)
        if (weights[row * s->experts.stride] != 0)
            copy_rows(matrix_rows(s->gathered, rows.rows++, 1), matrix_rows(x, row, 1));
    y.rows = rows.rows;
    if (!rows.rows)
        return 0;
    if (feed(pass, rule, gate, y, rows))
        return -1;
    for (size_t row = 0; row < x.rows; row++) {
        float weight = weights[row * s->experts.stride];
        if (weight == 0)
            continue;
        add_scaled_row(matrix_row(sum, row), y.data, y.columns, weight, y.data);
        y.data += y.stride;
    }
    return 0;
}

/* out += the output of the shared expert, multiplied by a factor for each token if the shared
 * expert has a gate (SLOT_SHARED_SWITCH). */
static enum pass_state add_shared(struct pass *pass, const struct mlp_rule *rule, size_t layer,
                                  struct matrix x)
{
    struct scratch *s = &pass->scratch;
    struct matrix y = matrix_columns(s->expert_out, 0, x.columns);
    struct matrix gate = matrix_columns(s->gathered, 0, 1);
    struct weight w;
    if (feed(pass, rule, pass_slot(pass, SLOT_SHARED_GATE, layer), y, x) ||
        weights_matrix(pass->weights, pass_slot(pass, SLOT_SHARED_SWITCH, layer), &w, pass->err))
        return PASS_FAILED;
    if (weight_exists(&w))
        linear(pass->machine, gate, x, &w, ACTIVATION_NONE);
    for (size_t row = 0; weight_exists(&w) && row < y.rows; row++) {
        float *at = matrix_row(y, row), *factor = matrix_row(gate, row);
        logistic_row(factor, 1);
        scale_row(at, at, y.columns, *factor);
    }
    if (rule->mixture->beside)
        PASS_TRY(pass_norm(pass, pass_slot(pass, SLOT_SHARED_POST, layer), y, y));
    PASS_TRY(tap_rows(pass, SITE_SHARED_OUT, layer, y));
    add_rows(s->out, y);
    return PASS_ON;
}

enum pass_state mixture(struct pass *pass, const struct mlp_rule *rule, size_t layer,
                        struct matrix x)
{
    struct slot gate = pass_slot(pass, SLOT_EXPERT_GATE, layer);
    /* sum: the sum of the experts' outputs; read: the input of the experts */
    struct matrix out = pass->scratch.out, sum = out, read = x;
    const size_t latent = rule->mixture->latent;
    if (latent) {
        read = matrix_columns(pass->scratch.beside, 0, latent);
        sum = matrix_columns(pass->scratch.beside, latent, latent);
        PASS_TRY(
            pass_product(pass, pass_slot(pass, SLOT_EXPERT_IN, layer), read, x, ACTIVATION_NONE));
    }
    if (rule->mixture->beside) {
        read = pass->scratch.beside;
        PASS_TRY(pass_norm(pass, pass_slot(pass, SLOT_EXPERT_NORM, layer), read, pass->scratch.x));
        PASS_TRY(tap_rows(pass, SITE_LN_EXPERTS, layer, read));
    }
    PASS_TRY(route(pass, rule, layer, x));
    for (size_t row = 0; row < sum.rows; row++)
        memset(matrix_row(sum, row), 0, sum.columns * sizeof *sum.data);
    for (size_t e = 0; e < rule->mixture->experts; e++) {
        gate.expert = (short)e;
        if (add_expert(pass, rule, gate, read, sum))
            return PASS_FAILED;
    }
    if (latent)
        PASS_TRY(
            pass_product(pass, pass_slot(pass, SLOT_EXPERT_OUT, layer), out, sum, ACTIVATION_NONE));
    if (rule->mixture->beside)
        PASS_TRY(pass_norm(pass, pass_slot(pass, SLOT_EXPERTS_POST, layer), out, out));
    return rule->mixture->shared_inner ? add_shared(pass, rule, layer, x) : PASS_ON;
}

const float *forward_expert(const struct run *run, const float *x, size_t layer, size_t expert,
                            struct arena *arena, struct err *err)
{
    struct pass pass = {
        .machine = run->machine, .config = run->config, .weights = run->weights, .err = err};
    const struct mlp_rule *rule =
        &layer_mlp(layer_of(run->config, BRANCH_TEXT, layer), BRANCH_TEXT)->mlp;
    struct slot gate = slot_of(BRANCH_TEXT, SLOT_EXPERT_GATE, layer);
    const size_t channels = run->config->n_embd, latent = rule->mixture->latent;
    const size_t width = latent ? latent : channels;
    float *y = arena_alloc(arena, width + 2 * rule->inner + latent, sizeof *y, err);
    if (!y)
        return NULL;
    gate.expert = (short)expert;
    pass.scratch.hidden = (struct matrix){y + width, 1, rule->inner, rule->inner};
    pass.scratch.up = (struct matrix){y + width + rule->inner, 1, rule->inner, rule->inner};
    struct matrix from = {(float *)x, 1, channels, channels}; /* the cast drops const, but x is only
                                                               * read */
    struct matrix narrow = {y + width + 2 * rule->inner, 1, latent, latent};
    const struct slot in = slot_of(BRANCH_TEXT, SLOT_EXPERT_IN, layer);
    if (latent && pass_product(&pass, in, narrow, from, ACTIVATION_NONE) == PASS_FAILED)
        return NULL;
    from = latent ? narrow : from;
    return feed(&pass, rule, gate, (struct matrix){y, 1, width, width}, from) ? NULL : y;
}
