/* steps_weights.c: from the keys to the weights of attention. */
#include <math.h>

#include "lens/draft.h"
#include "math/exp.h"

/* score_0 = 0.5667 · (-0.0823) + 1.8269 · (-0.3031) = -0.6004 */
static int work_score(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    struct pen *pen = &draft->pen;
    const struct block *blocks = draft->step->blocks;
    size_t width = walk->config->d_k;
    const struct numeral numerals[] = {draft_numeral(draft, walk->q, width), blocks[0].numeral};
    pen_symbol(pen, "score", "s", draft->key);
    pen_equals(pen);
    pen_dot(pen, numerals, walk->q, walk->k + draft->key * width, 1, width);
    pen_equals(pen);
    pen_number(pen, blocks[1].numeral, walk->scores[draft->key]);
    return draft_worked(draft);
}

/* Whose keys and values these are, where it is not plain. */
static void note_keys(struct draft *draft)
{
    const struct config *config = draft->walk->config;
    size_t served = config->n_head / config->n_kv_head;
    size_t first = draft->walk->group * served;
    if (config->cross)
        buf_text(draft_note(draft), "Keys and values are made of the source.");
    if (served > 1)
        buf_format(draft_note(draft), "The query heads %zu to %zu share key/value head %zu.", first,
                   first + served - 1, draft->walk->group);
}

int step_scores(struct draft *draft)
{
    static const struct formula keys[] = {{"k_j = x_j", "k_j = x_j"},
                                          {"k_j = x_j · W_k", "k_j = x_j\\,W_k"},
                                          {"k_j = x_j · W_k + b_k", "k_j = x_j\\,W_k + b_k"}};
    const struct walk *walk = draft->walk;
    draft_title(draft, "scores", "Keys and scores");
    draft_projection(draft, &walk->weights.k, keys);
    draft_formula(draft, "score_j = q · k_j", "s_j = q \\cdot k_j");
    note_keys(draft);
    draft_keys(draft);
    draft_vectors(draft, "k", "k_j", "k_j", walk->k, walk->config->d_k);
    draft_column(draft, "score", "score_j", "s_j", walk->scores);
    return work_score(draft);
}

/* What the scale is made of: √d_k, and in some checkpoints the layer's number; else a number. */
static int draw_scale(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    struct pen *pen = &draft->pen;
    size_t d_k = walk->config->d_k;
    float root = 1.0f / sqrtf((float)d_k);
    pen_add(pen, "scaled_j = score_j", "\\tilde{s}_j = s_j");
    if (walk->scale == root && d_k > 1) {
        buf_format(&pen->text, " / √d_k = score_j / √%zu", d_k);
        buf_format(&pen->latex, " / \\sqrt{d_k} = s_j / \\sqrt{%zu}", d_k);
    } else if (walk->scale == root / (float)(walk->layer + 1) && walk->layer > 0) {
        buf_format(&pen->text, " / (√d_k · layer) = score_j / (√%zu · %zu)", d_k, walk->layer + 1);
        buf_format(&pen->latex, " / (\\sqrt{d_k} \\cdot \\ell) = s_j / (\\sqrt{%zu} \\cdot %zu)",
                   d_k, walk->layer + 1);
    } else if (walk->scale != 1) {
        pen_times(pen);
        pen_number(pen, draft_numeral(draft, &walk->scale, 1), walk->scale);
    }
    return draft_drawn(draft);
}

/* scaled_0 = -0.6004 · 0.7071 = -0.4246 */
static int work_scale(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    struct pen *pen = &draft->pen;
    const struct block *blocks = draft->step->blocks;
    pen_symbol(pen, "scaled", "\\tilde{s}", draft->key);
    pen_equals(pen);
    pen_number(pen, blocks[0].numeral, walk->scores[draft->key]);
    pen_times(pen);
    pen_factor(pen, draft_numeral(draft, &walk->scale, 1), walk->scale);
    pen_equals(pen);
    pen_number(pen, blocks[1].numeral, blocks[1].values[draft->key]);
    return draft_worked(draft);
}

/* Those that the mask hides are nowhere in the pass. */
static float *take_scaled(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    float *scaled = draft_floats(draft, walk->keys);
    for (size_t j = 0; scaled && j < walk->keys; j++)
        scaled[j] = walk->scores[j] * walk->scale;
    return scaled;
}

int step_scaled(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    draft_title(draft, "scaled", "Scale");
    if (draw_scale(draft))
        return -1;
    if (walk->scale == 1) {
        buf_text(draft_note(draft), "The scale is 1: the scores stay as they are.");
        return 0;
    }
    const float *scaled = take_scaled(draft);
    if (!scaled)
        return -1;
    draft_keys(draft);
    draft_column(draft, "score", "score_j", "s_j", walk->scores);
    draft_column(draft, "scaled", "scaled_j", "\\tilde{s}_j", scaled);
    return work_scale(draft);
}

static bool hides_any(const struct walk *walk)
{
    for (size_t j = 0; j < walk->keys; j++)
        if (walk->masked[j] == -INFINITY)
            return true;
    return false;
}

static int draw_mask(struct draft *draft)
{
    size_t query = draft->walk->query;
    if (!draft->walk->config->causal) {
        draft_formula(draft, "masked_j = scaled_j", "m_j = \\tilde{s}_j");
        buf_text(draft_note(draft), "There is no mask: every query sees every key.");
        return 0;
    }
    buf_format(&draft->pen.text, "masked_j = scaled_j for j ≤ %zu, -inf for j > %zu", query, query);
    buf_format(&draft->pen.latex,
               "m_j = \\tilde{s}_j \\text{ for } j \\le %zu, \\quad m_j = -\\infty \\text{ for } "
               "j > %zu",
               query, query);
    buf_format(draft_note(draft), "A query sees itself and what came before%s",
               hides_any(draft->walk) ? ", not the future." : ": the last one sees all.");
    return draft_drawn(draft);
}

int step_masked(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    draft_title(draft, "masked", "Mask");
    if (draw_mask(draft))
        return -1;
    if (!hides_any(walk))
        return 0;
    const float *scaled = take_scaled(draft);
    if (!scaled)
        return -1;
    draft_keys(draft);
    draft_column(draft, "scaled", "scaled_j", "\\tilde{s}_j", scaled);
    draft_column(draft, "masked", "masked_j", "m_j", walk->masked);
    return 0;
}

static float greatest(const float *values, size_t count)
{
    float max = values[0];
    for (size_t i = 1; i < count; i++)
        max = fmaxf(max, values[i]);
    return max;
}

static float sum_of(const float *values, size_t count)
{
    float sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* weight_0 = e^(-0.4246 - 2.4542) / 1.4557 = 0.0562 / 1.4557 = 0.0386 */
static int work_softmax(struct draft *draft, float max)
{
    const struct walk *walk = draft->walk;
    struct pen *pen = &draft->pen;
    const struct block *blocks = draft->step->blocks;
    const struct block *powers = &blocks[1];
    struct numeral sum = draft_numeral(draft, powers->total, 1);
    pen_symbol(pen, "weight", "\\alpha", draft->key);
    pen_add(pen, " = e^(", " = \\dfrac{e^{");
    pen_number(pen, blocks[0].numeral, walk->masked[draft->key]);
    pen_term(pen, blocks[0].numeral, -max);
    pen_add(pen, ") / ", "}}{");
    pen_number(pen, sum, *powers->total);
    pen_add(pen, " = ", "} = \\dfrac{");
    pen_number(pen, powers->numeral, powers->values[draft->key]);
    pen_add(pen, " / ", "}{");
    pen_number(pen, sum, *powers->total);
    pen_add(pen, " = ", "} = ");
    pen_number(pen, blocks[2].numeral, walk->weight[draft->key]);
    return draft_worked(draft);
}

int step_weights(struct draft *draft)
{
    const struct walk *walk = draft->walk;
    float *powers = draft_floats(draft, walk->keys);
    float *sums = draft_floats(draft, 2);
    float max = greatest(walk->masked, walk->keys);
    if (!powers || !sums)
        return -1;
    for (size_t j = 0; j < walk->keys; j++)
        powers[j] = exp_float(walk->masked[j] - max);
    sums[0] = sum_of(powers, walk->keys);
    sums[1] = sum_of(walk->weight, walk->keys);
    draft_title(draft, "weights", "Softmax");
    draft_formula(draft, "weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max)",
                  "\\alpha_j = \\frac{e^{m_j - \\max m}}{\\sum_t e^{m_t - \\max m}}");
    draft_keys(draft);
    draft->step->total = "sum";
    draft_column(draft, "masked", "masked_j", "m_j", walk->masked);
    draft_column(draft, "power", "e^(masked_j - max)", "e^{m_j - \\max m}", powers)->total = sums;
    struct block *weight = draft_column(draft, "weight", "weight_j", "\\alpha_j", walk->weight);
    weight->total = sums + 1;
    weight->is_share = true;
    return work_softmax(draft, max);
}
