/* steps_scores.c: from the query and the keys to scaled scores; in linear attention, to products of
 * their features. */
#include <math.h>

#include "explain/steps.h"
#include "math/running_sum.h"

/* What the formula of k_j is, and whose keys they are, where it is not plain. */
static void draw_keys(struct board *board)
{
    static const struct formula keys[] = {{"k_j = x_j", "k_j = x_j"},
                                          {"k_j = x_j · W_k", "k_j = x_j\\,W_k"},
                                          {"k_j = x_j · W_k + b_k", "k_j = x_j\\,W_k + b_k"}};
    const struct config *config = board->walk->config;
    size_t served = config->n_head / config->n_kv_head;
    size_t first = board->walk->group * served;
    board_projection(board, &board->walk->weights.k, keys);
    if (config->cross)
        buf_text(board_note(board), config->n_encoder_layer
                                        ? "Keys and values are made of what the encoder gives: x_j "
                                          "is its row of key j."
                                        : "Keys and values are made of the source.");
    if (served > 1)
        buf_format(board_note(board), "The query heads %zu to %zu share key/value head %zu.", first,
                   first + served - 1, board->walk->group);
}

/* What keys are made of, of which values are, too; and by what. */
static int give_keys(struct board *board)
{
    const struct walk *walk = board->walk;
    size_t width = walk->config->d_k;
    const struct given_rows inputs = {"x_j", {"x_j", "x_j"}, walk->sources, true};
    const struct given_columns own = {
        .name = "W_k",
        .bias = "b_k",
        .weight = &walk->weights.k,
        .first = walk->group * width,
        .width = width,
    };
    if (!walk->config->projections)
        return 0;
    return given_rows(board, &inputs) || given_columns(board, &own) ? -1 : 0;
}

/* score_0 = 0.5667 · (-0.0823) + 1.8269 · (-0.3031) = -0.6004: of a [dk] and b [S, dk], which is
 * the table's first block. */
static int work_score(struct board *board, const float *a, const float *b)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    const struct block *blocks = board->table->blocks;
    size_t width = walk->config->d_k;
    const struct numeral numerals[] = {board_numeral(board, a, width), blocks[0].numeral};
    pen_symbol(pen, "score", "s", board->key);
    pen_equals(pen);
    pen_dot(pen, numerals, a, b + board->key * width, 1, width);
    pen_equals(pen);
    pen_number(pen, blocks[1].numeral, walk->scores[board->key]);
    return board_worked(board);
}

int step_scores(struct board *board)
{
    const struct walk *walk = board->walk;
    board_title(board, "scores", "Keys and scores");
    draw_keys(board);
    if (give_keys(board))
        return -1;
    board_formula(board, "score_j = q · k_j", "s_j = q \\cdot k_j");
    board_keys(board);
    board_vectors(board, "k", "k_j", "k_j", walk->k, walk->config->d_k);
    board_column(board, "score", "score_j", "s_j", walk->scores);
    return work_score(board, walk->q, walk->k);
}

/* --- linear attention ------------------------------------------------------------------------- */

/* φ of vectors [rows, dk]. */
static float *take_features(struct board *board, const float *vectors, size_t rows)
{
    size_t width = board->walk->config->d_k;
    float *features = board_floats(board, rows * width);
    struct matrix to = {features, rows, width, width};
    struct matrix from = to;
    from.data = (float *)vectors; /* it is only read */
    if (features)
        phi_rows(to, from);
    return features;
}

/* f_0 = e^(-0.2112) = 0.8096, or 0.5667 + 1 = 1.5667 */
static int work_feature(struct board *board, float feature)
{
    struct pen *pen = &board->pen;
    float q = board->walk->q[0];
    struct numeral numeral = board->table->blocks[0].numeral;
    pen_symbol(pen, "f", "f", 0);
    pen_add(pen, q > 0 ? " = " : " = e^(", q > 0 ? " = " : " = e^{");
    pen_number(pen, numeral, q);
    pen_add(pen, q > 0 ? " + 1 = " : ") = ", q > 0 ? " + 1 = " : "} = ");
    pen_number(pen, numeral, feature);
    return board_worked(board);
}

int step_features(struct board *board)
{
    const struct walk *walk = board->walk;
    size_t width = walk->config->d_k;
    board_title(board, "features", "Features of the query");
    board_formula(board, "f = φ(q)", "f = \\varphi(q)");
    board_formula(board, "φ(x) = x + 1 for x > 0, e^x for x ≤ 0",
                  "\\varphi(x) = x + 1 \\text{ for } x > 0, \\quad \\varphi(x) = e^x \\text{ for } "
                  "x \\le 0");
    buf_text(board_note(board), "Features are above 0, and so are their products: there is no "
                                "softmax, and nothing is scaled.");
    struct label *rows = board_rows(board, 2);
    float *both = board_floats(board, 2 * width);
    const float *features = take_features(board, walk->q, 1);
    if (!rows || !both || !features)
        return -1;
    for (size_t i = 0; i < width; i++) {
        both[i] = walk->q[i];
        both[width + i] = features[i];
    }
    rows[0] = board_label("q");
    rows[1] = board_label("f");
    board_vectors(board, "vector", "", "", both, width);
    return work_feature(board, features[0]);
}

int step_keys(struct board *board)
{
    board_title(board, "keys", "Keys");
    draw_keys(board);
    if (give_keys(board))
        return -1;
    board_keys(board);
    board_vectors(board, "k", "k_j", "k_j", board->walk->k, board->walk->config->d_k);
    return 0;
}

int step_products(struct board *board)
{
    const struct walk *walk = board->walk;
    const float *f = take_features(board, walk->q, 1);
    const float *g = take_features(board, walk->k, walk->keys);
    if (!f || !g)
        return -1;
    board_title(board, "scores", "Features of the keys, and scores");
    board_formula(board, "g_j = φ(k_j)", "g_j = \\varphi(k_j)");
    board_formula(board, "score_j = f · g_j", "s_j = f \\cdot g_j");
    board_keys(board);
    board_vectors(board, "g", "g_j", "g_j", g, walk->config->d_k);
    board_column(board, "score", "score_j", "s_j", walk->scores);
    return work_score(board, f, g);
}

/* --- the scale -------------------------------------------------------------------------------- */

/* What the scale is made of: √d_k, and in some checkpoints the layer's number; else a number. */
static void draw_base(struct board *board)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    size_t d_k = walk->config->d_k;
    float root = 1.0f / sqrtf((float)d_k);
    if (walk->base_scale == root && d_k > 1) {
        buf_format(&pen->text, " / √d_k = score_j / √%zu", d_k);
        buf_format(&pen->latex, " / \\sqrt{d_k} = s_j / \\sqrt{%zu}", d_k);
    } else if (walk->base_scale == root / (float)(walk->layer + 1) && walk->layer > 0) {
        buf_format(&pen->text, " / (√d_k · layer) = score_j / (√%zu · %zu)", d_k, walk->layer + 1);
        buf_format(&pen->latex, " / (\\sqrt{d_k} \\cdot \\ell) = s_j / (\\sqrt{%zu} \\cdot %zu)",
                   d_k, walk->layer + 1);
    } else if (walk->base_scale != 1) {
        pen_times(pen);
        pen_factor(pen, board_numeral(board, &walk->base_scale, 1), walk->base_scale);
    }
}

/* And the temperature that scores are divided by, too. */
static int draw_scale(struct board *board)
{
    const float *temperature = &board->walk->config->mechanism.temperature;
    struct pen *pen = &board->pen;
    pen_add(pen, "scaled_j = score_j", "\\tilde{s}_j = s_j");
    draw_base(board);
    if (*temperature > 0) {
        pen_add(pen, " / ", " / ");
        pen_number(pen, board_numeral(board, temperature, 1), *temperature);
        buf_text(board_note(board), "The last divisor is the temperature.");
    }
    return board_drawn(board);
}

/* scaled_0 = -0.6004 · 0.7071 = -0.4246 */
static int work_scale(struct board *board)
{
    const struct walk *walk = board->walk;
    struct pen *pen = &board->pen;
    const struct block *blocks = board->table->blocks;
    pen_symbol(pen, "scaled", "\\tilde{s}", board->key);
    pen_equals(pen);
    pen_number(pen, blocks[0].numeral, walk->scores[board->key]);
    pen_times(pen);
    pen_factor(pen, board_numeral(board, &walk->scale, 1), walk->scale);
    pen_equals(pen);
    pen_number(pen, blocks[1].numeral, blocks[1].values[board->key]);
    return board_worked(board);
}

int step_scaled(struct board *board)
{
    const struct walk *walk = board->walk;
    board_title(board, "scaled", "Scale");
    if (draw_scale(board) || given_number(board, "scale", walk->scale))
        return -1;
    if (walk->scale == 1) {
        buf_text(board_note(board), "The scale is 1: the scores stay as they are.");
        return 0;
    }
    const float *scaled = board_scaled(board);
    if (!scaled)
        return -1;
    board_keys(board);
    board_column(board, "score", "score_j", "s_j", walk->scores);
    board_column(board, "scaled", "scaled_j", "\\tilde{s}_j", scaled);
    return work_scale(board);
}
