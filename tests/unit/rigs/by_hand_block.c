#include <check.h>
#include <math.h>

#include "by_hand.h"

/* A sum as its formula has it, of the vectors that its table shows: their names, and what the last
 * two terms are times. */
static struct grid follow_sum(const char *step, struct grid base, struct grid a, struct grid b)
{
    const struct grid none = {0};
    double scale = is_taken("residual_scale") ? taken("residual_scale").values[0] : 1;
    struct grid sum = grid_make(1, base.columns);
    bool alone = a.count && !says(step, " + ");
    for (size_t c = 0; c < sum.count; c++)
        sum.values[c] = (alone ? 0 : base.values[c]) + (a.count ? scale * a.values[c] : 0) +
                        (b.count ? scale * b.values[c] : 0);
    struct grid found = printed_row(step, "vector", step);
    expect(step, found.count ? found : printed_row(step, "vector", "sum"), sum);
    return a.count || b.count ? sum : none.count ? none : base;
}

static double curve(double x)
{
    if (says("mlp_act", "silu"))
        return x / (1 + exp(-x));
    if (says("mlp_act", "gelu_new"))
        return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    if (says("mlp_act", "erf"))
        return x / 2 * (1 + erf(x / sqrt(2)));
    ck_assert(says("mlp_act", "relu"));
    return x > 0 ? x : 0;
}

/* What the MLP gives for y. */
static struct grid follow_mlp(struct grid y)
{
    struct grid up = product(y, taken("W_up"), taken("b_up"));
    struct grid gate = is_taken("W_gate") ? product(y, taken("W_gate"), taken("b_gate")) : up;
    struct grid act = grid_make(1, up.columns);
    expect("up", printed_row("hidden", "vector", "up"), up);
    if (is_taken("W_gate"))
        expect("gate", printed_row("hidden", "vector", "gate"), gate);
    for (size_t i = 0; i < act.count; i++)
        act.values[i] = curve(gate.values[i]) * (is_taken("W_gate") ? up.values[i] : 1);
    expect("mlp_act", printed_row("mlp_act", "vector", "mlp_act"), act);
    struct grid out = product(act, taken("W_down"), taken("b_down"));
    expect("mlp_out", printed("mlp_out", "columns", "mlp_out"), out);
    return out;
}

/* The step's vector, normed, and that it is what the table shows last. */
static struct grid follow_norm(const char *step, struct grid x, const char *name)
{
    struct grid y = normed_by_rows(step, x);
    expect(step, printed_row(step, "vector", name), y);
    return y;
}

void follow_block(struct grid x)
{
    struct grid none = {0};
    struct grid h = printed_row("input", "vector", "h");
    struct grid a = printed("output", "total", "share");
    if (!step_called("resid_post") || (step_called("hidden") && !is_taken("W_down")))
        return; /* it ends with the attention, or has too many weights to be listed */
    h = h.count ? h : x;
    if (step_called("ln_1_post"))
        a = follow_norm("ln_1_post", a, "ln_1_post");
    bool parallel = !step_called("resid_mid");
    bool last = step_called("ln_1") != NULL;
    struct grid mid = parallel ? h : follow_sum("resid_mid", h, a, none);
    struct grid y = mid;
    if (last)
        y = mid = follow_norm("ln_1", mid, "ln_1");
    else if (step_called("ln_2"))
        y = follow_norm("ln_2", mid, "ln_2");
    else if (says("hidden", "= x ·"))
        y = x;
    struct grid m = step_called("hidden") ? follow_mlp(y) : none;
    if (step_called("ln_2_post"))
        m = follow_norm("ln_2_post", m, "ln_2_post");
    struct grid out = follow_sum("resid_post", mid, parallel ? a : m, parallel ? m : none);
    if (last && step_called("ln_2"))
        out = follow_norm("ln_2", out, "resid_post");
    if (step_called("ln_f"))
        out = follow_norm("ln_f", out, "ln_f");
    if (!step_called("logits"))
        return;
    if (is_taken("P_out"))
        out = product(out, taken("P_out"), none);
    struct grid words = printed("logits", "columns", "words");
    struct grid dots = grid_make(1, words.rows);
    for (size_t i = 0; i < words.count; i++)
        dots.values[i / words.columns] += words.values[i] * out.values[i % words.columns];
    struct grid dot = printed("logits", "columns", "dot");
    expect("dots", dot.count ? dot : printed("logits", "columns", "logit"), dots);
}
