/* steps_weights.c: from scores to the weights of attention: a softmax, shares of a sum, dropout.
 *
 * What a softmax or a division gives are the weights, unless some of them are dropped: then they
 * are called shares, and computed again, because the pass keeps only what is left of them.
 */
#include <math.h>

#include "explain/steps.h"
#include "math/portable_math.h"

/* What a step takes in or gives. */
struct quantity {
    const char *name;      /* "weight" */
    struct formula letter; /* weight, in formulas */
    struct formula symbol; /* weight_j */
    const float *values;   /* [S] */
};

static const struct quantity scaled = {
    "scaled", {"scaled", "\\tilde{s}"}, {"scaled_j", "\\tilde{s}_j"}, NULL};
static const struct quantity masked = {"masked", {"masked", "m"}, {"masked_j", "m_j"}, NULL};
static const struct quantity softmax = {"softmax", {"softmax", "p"}, {"softmax_j", "p_j"}, NULL};
static const struct quantity share = {"share", {"share", "a"}, {"share_j", "a_j"}, NULL};
static const struct quantity weight = {
    "weight", {"weight", "\\alpha"}, {"weight_j", "\\alpha_j"}, NULL};

static struct quantity with(struct quantity quantity, const float *values)
{
    quantity.values = values;
    return quantity;
}

static bool drops(const struct walk *walk)
{
    return walk->config->mechanism.dropout > 0;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static float greatest(const float *values, size_t count)
{
    float max = values[0];
    for (size_t i = 1; i < count; i++)
        max = fmaxf(max, values[i]);
    return max;
}

/* The sum of all keys', to stand below a column. */
static float *take_sum(struct board *board, const float *values)
{
    float *sum = board_floats(board, 1);
    if (!sum)
        return NULL;
    *sum = 0;
    for (size_t j = 0; j < board->walk->keys; j++)
        *sum += values[j];
    return sum;
}

/* e^(x - max) */
static float *take_powers(struct board *board, const float *values)
{
    size_t keys = board->walk->keys;
    float max = greatest(values, keys);
    float *powers = board_floats(board, keys);
    for (size_t j = 0; powers && j < keys; j++)
        powers[j] = exp_negative(values[j] - max);
    return powers;
}

static float *take_shares(struct board *board, const float *parts)
{
    const float *sum = take_sum(board, parts);
    float *shares = sum ? board_floats(board, board->walk->keys) : NULL;
    for (size_t j = 0; shares && j < board->walk->keys; j++)
        shares[j] = parts[j] / *sum;
    return shares;
}

/* What becomes of parts of a sum: the weights, or what dropout takes in. */
static int find_result(struct quantity *result, struct board *board, const float *parts)
{
    bool dropped = drops(board->walk);
    const float *values = dropped ? take_shares(board, parts) : board->walk->weight;
    *result = with(dropped ? share : weight, values);
    return values ? 0 : -1;
}

/* --- what steps have in common ---------------------------------------------------------------- */

static struct block *add_column(struct board *board, const struct quantity *quantity)
{
    return board_column(board, quantity->name, quantity->symbol.text, quantity->symbol.latex,
                        quantity->values);
}

/* A column with its sum below it. */
static struct block *add_summed(struct board *board, const struct quantity *quantity)
{
    struct block *block = add_column(board, quantity);
    block->total = take_sum(board, quantity->values);
    return block->total ? block : NULL;
}

/* The last one, parts of a whole. */
static int add_shares(struct board *board, const struct quantity *quantity)
{
    struct block *block = add_summed(board, quantity);
    if (block)
        block->is_share = true;
    return block ? 0 : -1;
}

/* 0.0562 / 1.4557 = 0.0386: of the last two blocks. */
static int work_quotient(struct board *board)
{
    struct pen *pen = &board->pen;
    const struct block *result = &board->table->blocks[board->table->block_count - 1];
    const struct block *parts = result - 1;
    pen_add(pen, " = ", " = \\dfrac{");
    pen_number(pen, parts->numeral, parts->values[board->key]);
    pen_add(pen, " / ", "}{");
    pen_number(pen, board_numeral(board, parts->total, 1), *parts->total);
    pen_add(pen, " = ", "} = ");
    pen_number(pen, result->numeral, result->values[board->key]);
    return board_worked(board);
}

/* --- softmax ---------------------------------------------------------------------------------- */

/* weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max) */
static int draw_softmax(struct board *board, const struct quantity *to, const struct quantity *of)
{
    struct pen *pen = &board->pen;
    const char *x = of->letter.latex;
    buf_format(&pen->text, "%s = e^(%s - max) / Σ_t e^(%s_t - max)", to->symbol.text,
               of->symbol.text, of->letter.text);
    buf_format(&pen->latex, "%s = \\frac{e^{%s - \\max %s}}{\\sum_t e^{%s_t - \\max %s}}",
               to->symbol.latex, of->symbol.latex, x, x, x);
    return board_drawn(board);
}

/* weight_0 = e^(-0.4246 - 2.4542) / 1.4557 = 0.0562 / 1.4557 = 0.0386 */
static int work_softmax(struct board *board, const struct quantity *to)
{
    struct pen *pen = &board->pen;
    const struct block *of = &board->table->blocks[0];
    const struct block *powers = of + 1;
    pen_symbol(pen, to->letter.text, to->letter.latex, board->key);
    pen_add(pen, " = e^(", " = \\dfrac{e^{");
    pen_number(pen, of->numeral, of->values[board->key]);
    pen_term(pen, of->numeral, -greatest(of->values, board->walk->keys));
    pen_add(pen, ") / ", "}}{");
    pen_number(pen, board_numeral(board, powers->total, 1), *powers->total);
    pen_add(pen, "", "}");
    return work_quotient(board);
}

static int show_softmax(struct board *board, const struct quantity *to, const struct quantity *of,
                        const float *powers)
{
    struct quantity power = {.name = "power", .values = powers};
    power.symbol =
        of->values == board->walk->masked
            ? (struct formula){"e^(masked_j - max)", "e^{m_j - \\max m}"}
            : (struct formula){"e^(scaled_j - max)", "e^{\\tilde{s}_j - \\max \\tilde{s}}"};
    board_keys(board);
    board->table->total = "sum";
    add_column(board, of);
    return !add_summed(board, &power) || add_shares(board, to) || work_softmax(board, to) ? -1 : 0;
}

/* Blocks come to the numbers of the whole row by another way. */
static void note_blocks(struct board *board)
{
    const struct mechanism *mechanism = &board->walk->config->mechanism;
    if (mechanism->kind == ATTENTION_BLOCKED)
        buf_format(board_note(board),
                   "The pass takes %zu keys at a time: where a block brings a larger max, the sum "
                   "and the context so far are made smaller to match.",
                   mechanism->block);
}

int step_softmax(struct board *board)
{
    const struct walk *walk = board->walk;
    bool masks_before = !walk->softmax;
    const struct quantity of =
        masks_before ? with(masked, walk->masked) : with(scaled, board_scaled(board));
    const float *powers = of.values ? take_powers(board, of.values) : NULL;
    struct quantity to = with(softmax, walk->softmax);
    if (!powers || (masks_before && find_result(&to, board, powers)))
        return -1;
    board_title(board, masks_before ? (drops(walk) ? "shares" : "weights") : "softmax", "Softmax");
    note_blocks(board);
    return draw_softmax(board, &to, &of) || show_softmax(board, &to, &of, powers) ? -1 : 0;
}

/* --- shares of a sum -------------------------------------------------------------------------- */

/* Where the sums come from that nobody has to make weights for. */
static void note_running_sum(struct board *board)
{
    if (board->walk->config->mechanism.kind == ATTENTION_LINEAR)
        buf_text(board_note(board),
                 "Unless weights are watched, the pass makes none: it keeps two sums over the "
                 "keys so far, of g_j times v_j and of g_j, and divides their products with f.");
}

int step_shares(struct board *board)
{
    const struct walk *walk = board->walk;
    bool linear = walk->config->mechanism.kind == ATTENTION_LINEAR;
    struct quantity to;
    if (find_result(&to, board, walk->masked))
        return -1;
    board_title(board, drops(walk) ? "shares" : "weights",
                linear ? "Shares of the sum" : "Renormalise");
    board_formula(
        board,
        drops(walk) ? "share_j = masked_j / Σ_t masked_t" : "weight_j = masked_j / Σ_t masked_t",
        drops(walk) ? "a_j = \\frac{m_j}{\\sum_t m_t}" : "\\alpha_j = \\frac{m_j}{\\sum_t m_t}");
    note_running_sum(board);
    board_keys(board);
    board->table->total = "sum";
    const struct quantity of = with(masked, walk->masked);
    if (!add_summed(board, &of) || add_shares(board, &to))
        return -1;
    pen_symbol(&board->pen, to.letter.text, to.letter.latex, board->key);
    return work_quotient(board);
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* weight_3 = 0.0840 / (1 - 0.5000) = 0.1680: of the first key that is left. */
static int work_dropout(struct board *board)
{
    const struct walk *walk = board->walk;
    const struct block *blocks = board->table->blocks;
    const float *dropout = &walk->config->mechanism.dropout;
    struct pen *pen = &board->pen;
    size_t key = 0;
    while (key < walk->keys && walk->weight[key] == 0)
        key++;
    if (key == walk->keys)
        return 0;
    pen_symbol(pen, weight.letter.text, weight.letter.latex, key);
    pen_equals(pen);
    pen_number(pen, blocks[0].numeral, blocks[0].values[key]);
    pen_add(pen, " / (1 - ", " / (1 - ");
    pen_number(pen, board_numeral(board, dropout, 1), *dropout);
    pen_add(pen, ") = ", ") = ");
    pen_number(pen, blocks[1].numeral, blocks[1].values[key]);
    return board_worked(board);
}

int step_dropout(struct board *board)
{
    const struct walk *walk = board->walk;
    const struct mechanism *mechanism = &walk->config->mechanism;
    const float *parts = walk->softmax ? walk->masked : take_powers(board, walk->masked);
    struct quantity before = with(share, parts ? take_shares(board, parts) : NULL);
    struct quantity after = with(weight, walk->weight);
    if (!before.values)
        return -1;
    board_title(board, "weights", "Dropout");
    board_formula(
        board, "weight_j = 0 for keys that are dropped, share_j / (1 - P) for others",
        "\\alpha_j = 0 \\text{ for keys that are dropped,} \\quad \\alpha_j = \\frac{a_j}{1 "
        "- P} \\text{ for others}");
    buf_format(board_note(board),
               "Each key is dropped with the chance P = %g; the seed %llu says which.",
               (double)mechanism->dropout, (unsigned long long)mechanism->seed);
    if (given_number(board, "dropout", mechanism->dropout))
        return -1;
    board_keys(board);
    board->table->total = "sum";
    if (!add_summed(board, &before) || add_shares(board, &after))
        return -1;
    return work_dropout(board);
}
