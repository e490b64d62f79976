/* steps_weights.c: from the keys to the weights of attention. */
#include <math.h>

#include "lens/board.h"
#include "math/exp.h"

/* score_0 = 0.5667 · (-0.0823) + 1.8269 · (-0.3031) = -0.6004 */
static int work_score(struct board *board)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    const struct block *blocks = board->step->blocks;
    size_t width = walk->config->d_k;
    const struct numeral numerals[] = {board_numeral(board, walk->q, width), blocks[0].numeral};
    pen_symbol(pen, "score", "s", board->key);
    pen_equals(pen);
    pen_dot(pen, numerals, walk->q, walk->k + board->key * width, 1, width);
    pen_equals(pen);
    pen_number(pen, blocks[1].numeral, walk->scores[board->key]);
    return board_worked(board);
}

/* Whose keys and values these are, where it is not plain. */
static void note_keys(struct board *board)
{
    const struct config *config = board->walk->config;
    size_t served = config->n_head / config->n_kv_head;
    size_t first = board->walk->group * served;
    if (config->cross)
        buf_text(board_note(board), "Keys and values are made of the source.");
    if (served > 1)
        buf_format(board_note(board), "The query heads %zu to %zu share key/value head %zu.", first,
                   first + served - 1, board->walk->group);
}

int step_scores(struct board *board)
{
    static const struct formula keys[] = {{"k_j = x_j", "k_j = x_j"},
                                          {"k_j = x_j · W_k", "k_j = x_j\\,W_k"},
                                          {"k_j = x_j · W_k + b_k", "k_j = x_j\\,W_k + b_k"}};
    const struct walk *walk = board->walk;
    board_title(board, "scores", "Keys and scores");
    board_projection(board, &walk->weights.k, keys);
    board_formula(board, "score_j = q · k_j", "s_j = q \\cdot k_j");
    note_keys(board);
    board_keys(board);
    board_vectors(board, "k", "k_j", "k_j", walk->k, walk->config->d_k);
    board_column(board, "score", "score_j", "s_j", walk->scores);
    return work_score(board);
}

/* What the scale is made of: √d_k, and in some checkpoints the layer's number; else a number. */
static int draw_scale(struct board *board)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
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
        pen_number(pen, board_numeral(board, &walk->scale, 1), walk->scale);
    }
    return board_drawn(board);
}

/* scaled_0 = -0.6004 · 0.7071 = -0.4246 */
static int work_scale(struct board *board)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    const struct block *blocks = board->step->blocks;
    pen_symbol(pen, "scaled", "\\tilde{s}", board->key);
    pen_equals(pen);
    pen_number(pen, blocks[0].numeral, walk->scores[board->key]);
    pen_times(pen);
    pen_factor(pen, board_numeral(board, &walk->scale, 1), walk->scale);
    pen_equals(pen);
    pen_number(pen, blocks[1].numeral, blocks[1].values[board->key]);
    return board_worked(board);
}

/* Those that the mask hides are nowhere in the pass. */
static float *take_scaled(struct board *board)
{
    const struct walk *walk = board->walk;
    float *scaled = board_floats(board, walk->keys);
    for (size_t j = 0; scaled && j < walk->keys; j++)
        scaled[j] = walk->scores[j] * walk->scale;
    return scaled;
}

int step_scaled(struct board *board)
{
    const struct walk *walk = board->walk;
    board_title(board, "scaled", "Scale");
    if (draw_scale(board))
        return -1;
    if (walk->scale == 1) {
        buf_text(board_note(board), "The scale is 1: the scores stay as they are.");
        return 0;
    }
    const float *scaled = take_scaled(board);
    if (!scaled)
        return -1;
    board_keys(board);
    board_column(board, "score", "score_j", "s_j", walk->scores);
    board_column(board, "scaled", "scaled_j", "\\tilde{s}_j", scaled);
    return work_scale(board);
}

static bool hides_any(const struct walk *walk)
{
    for (size_t j = 0; j < walk->keys; j++)
        if (walk->masked[j] == -INFINITY)
            return true;
    return false;
}

static int draw_mask(struct board *board)
{
    size_t query = board->walk->query;
    if (!board->walk->config->causal) {
        board_formula(board, "masked_j = scaled_j", "m_j = \\tilde{s}_j");
        buf_text(board_note(board), "There is no mask: every query sees every key.");
        return 0;
    }
    buf_format(&board->pen.text, "masked_j = scaled_j for j ≤ %zu, -inf for j > %zu", query, query);
    buf_format(&board->pen.latex,
               "m_j = \\tilde{s}_j \\text{ for } j \\le %zu, \\quad m_j = -\\infty \\text{ for } "
               "j > %zu",
               query, query);
    buf_format(board_note(board), "A query sees itself and what came before%s",
               hides_any(board->walk) ? ", not the future." : ": the last one sees all.");
    return board_drawn(board);
}

int step_masked(struct board *board)
{
    const struct walk *walk = board->walk;
    board_title(board, "masked", "Mask");
    if (draw_mask(board))
        return -1;
    if (!hides_any(walk))
        return 0;
    const float *scaled = take_scaled(board);
    if (!scaled)
        return -1;
    board_keys(board);
    board_column(board, "scaled", "scaled_j", "\\tilde{s}_j", scaled);
    board_column(board, "masked", "masked_j", "m_j", walk->masked);
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
static int work_softmax(struct board *board, float max)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    const struct block *blocks = board->step->blocks;
    const struct block *powers = &blocks[1];
    struct numeral sum = board_numeral(board, powers->total, 1);
    pen_symbol(pen, "weight", "\\alpha", board->key);
    pen_add(pen, " = e^(", " = \\dfrac{e^{");
    pen_number(pen, blocks[0].numeral, walk->masked[board->key]);
    pen_term(pen, blocks[0].numeral, -max);
    pen_add(pen, ") / ", "}}{");
    pen_number(pen, sum, *powers->total);
    pen_add(pen, " = ", "} = \\dfrac{");
    pen_number(pen, powers->numeral, powers->values[board->key]);
    pen_add(pen, " / ", "}{");
    pen_number(pen, sum, *powers->total);
    pen_add(pen, " = ", "} = ");
    pen_number(pen, blocks[2].numeral, walk->weight[board->key]);
    return board_worked(board);
}

int step_weights(struct board *board)
{
    const struct walk *walk = board->walk;
    float *powers = board_floats(board, walk->keys);
    float *sums = board_floats(board, 2);
    float max = greatest(walk->masked, walk->keys);
    if (!powers || !sums)
        return -1;
    for (size_t j = 0; j < walk->keys; j++)
        powers[j] = exp_float(walk->masked[j] - max);
    sums[0] = sum_of(powers, walk->keys);
    sums[1] = sum_of(walk->weight, walk->keys);
    board_title(board, "weights", "Softmax");
    board_formula(board, "weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max)",
                  "\\alpha_j = \\frac{e^{m_j - \\max m}}{\\sum_t e^{m_t - \\max m}}");
    board_keys(board);
    board->step->total = "sum";
    board_column(board, "masked", "masked_j", "m_j", walk->masked);
    board_column(board, "power", "e^(masked_j - max)", "e^{m_j - \\max m}", powers)->total = sums;
    struct block *weight = board_column(board, "weight", "weight_j", "\\alpha_j", walk->weight);
    weight->total = sums + 1;
    weight->is_share = true;
    return work_softmax(board, max);
}
