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

static bool drops(const struct trace *trace)
{
    return trace->config->mechanism.dropout > 0;
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
static float *take_sum(struct builder *builder, const float *values)
{
    float *sum = builder_floats(builder, 1);
    if (!sum)
        return NULL;
    *sum = 0;
    for (size_t j = 0; j < builder->trace->keys; j++)
        *sum += values[j];
    return sum;
}

/* e^(x - max) */
static float *take_powers(struct builder *builder, const float *values)
{
    size_t keys = builder->trace->keys;
    float max = greatest(values, keys);
    float *powers = builder_floats(builder, keys);
    for (size_t j = 0; powers && j < keys; j++)
        powers[j] = exp_negative(values[j] - max);
    return powers;
}

static float *take_shares(struct builder *builder, const float *parts)
{
    const float *sum = take_sum(builder, parts);
    float *shares = sum ? builder_floats(builder, builder->trace->keys) : NULL;
    for (size_t j = 0; shares && j < builder->trace->keys; j++)
        shares[j] = parts[j] / *sum;
    return shares;
}

/* What becomes of parts of a sum: the weights, or what dropout takes in. */
static int find_result(struct quantity *result, struct builder *builder, const float *parts)
{
    bool dropped = drops(builder->trace);
    const float *values = dropped ? take_shares(builder, parts) : builder->trace->weight;
    *result = with(dropped ? share : weight, values);
    return values ? 0 : -1;
}

/* --- what steps have in common ---------------------------------------------------------------- */

static struct block *add_column(struct builder *builder, const struct quantity *quantity)
{
    return builder_column(builder, quantity->name, quantity->symbol.text, quantity->symbol.latex,
                          quantity->values);
}

/* A column with its sum below it. */
static struct block *add_summed(struct builder *builder, const struct quantity *quantity)
{
    struct block *block = add_column(builder, quantity);
    block->total = take_sum(builder, quantity->values);
    return block->total ? block : NULL;
}

/* The last one, parts of a whole. */
static int add_shares(struct builder *builder, const struct quantity *quantity)
{
    struct block *block = add_summed(builder, quantity);
    if (block)
        block->is_share = true;
    return block ? 0 : -1;
}

/* 0.0562 / 1.4557 = 0.0386: of the last two blocks. */
static int work_quotient(struct builder *builder)
{
    struct formula_writer *out = &builder->out;
    const struct block *result = &builder->table->blocks[builder->table->block_count - 1];
    const struct block *parts = result - 1;
    formula_add(out, " = ", " = \\dfrac{");
    formula_number(out, parts->numeral, parts->values[builder->key]);
    formula_add(out, " / ", "}{");
    formula_number(out, builder_numeral(builder, parts->total, 1), *parts->total);
    formula_add(out, " = ", "} = ");
    formula_number(out, result->numeral, result->values[builder->key]);
    return builder_worked(builder);
}

/* --- softmax ---------------------------------------------------------------------------------- */

/* weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max) */
static int draw_softmax(struct builder *builder, const struct quantity *to,
                        const struct quantity *of)
{
    struct formula_writer *out = &builder->out;
    const char *x = of->letter.latex;
    buf_format(&out->text, "%s = e^(%s - max) / Σ_t e^(%s_t - max)", to->symbol.text,
               of->symbol.text, of->letter.text);
    buf_format(&out->latex, "%s = \\frac{e^{%s - \\max %s}}{\\sum_t e^{%s_t - \\max %s}}",
               to->symbol.latex, of->symbol.latex, x, x, x);
    return builder_drawn(builder);
}

/* weight_0 = e^(-0.4246 - 2.4542) / 1.4557 = 0.0562 / 1.4557 = 0.0386 */
static int work_softmax(struct builder *builder, const struct quantity *to)
{
    struct formula_writer *out = &builder->out;
    const struct block *of = &builder->table->blocks[0];
    const struct block *powers = of + 1;
    formula_symbol(out, to->letter.text, to->letter.latex, builder->key);
    formula_add(out, " = e^(", " = \\dfrac{e^{");
    formula_number(out, of->numeral, of->values[builder->key]);
    formula_term(out, of->numeral, -greatest(of->values, builder->trace->keys));
    formula_add(out, ") / ", "}}{");
    formula_number(out, builder_numeral(builder, powers->total, 1), *powers->total);
    formula_add(out, "", "}");
    return work_quotient(builder);
}

static int show_softmax(struct builder *builder, const struct quantity *to,
                        const struct quantity *of, const float *powers)
{
    struct quantity power = {.name = "power", .values = powers};
    power.symbol =
        of->values == builder->trace->masked
            ? (struct formula){"e^(masked_j - max)", "e^{m_j - \\max m}"}
            : (struct formula){"e^(scaled_j - max)", "e^{\\tilde{s}_j - \\max \\tilde{s}}"};
    builder_keys(builder);
    builder->table->total = "sum";
    add_column(builder, of);
    return !add_summed(builder, &power) || add_shares(builder, to) || work_softmax(builder, to) ? -1
                                                                                                : 0;
}

/* Blocks come to the numbers of the whole row by another way. */
static void note_blocks(struct builder *builder)
{
    const struct mechanism *mechanism = &builder->trace->config->mechanism;
    if (mechanism->kind == ATTENTION_BLOCKED)
        buf_format(builder_note(builder),
                   "The pass takes %zu keys at a time: where a block brings a larger max, the sum "
                   "and the context so far are made smaller to match.",
                   mechanism->block);
}

int step_softmax(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool masks_before = !trace->softmax;
    const struct quantity of =
        masks_before ? with(masked, trace->masked) : with(scaled, builder_scaled(builder));
    const float *powers = of.values ? take_powers(builder, of.values) : NULL;
    struct quantity to = with(softmax, trace->softmax);
    if (!powers || (masks_before && find_result(&to, builder, powers)))
        return -1;
    builder_title(builder, masks_before ? (drops(trace) ? "shares" : "weights") : "softmax",
                  "Softmax");
    note_blocks(builder);
    return draw_softmax(builder, &to, &of) || show_softmax(builder, &to, &of, powers) ? -1 : 0;
}

/* --- shares of a sum -------------------------------------------------------------------------- */

/* Where the sums come from that need no weights. */
static void note_running_sum(struct builder *builder)
{
    if (builder->trace->config->mechanism.kind == ATTENTION_LINEAR)
        buf_text(builder_note(builder),
                 "Unless weights are watched, the pass makes none: it keeps two sums over the "
                 "keys so far, of g_j times v_j and of g_j, and divides their products with f.");
}

int step_shares(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool linear = trace->config->mechanism.kind == ATTENTION_LINEAR;
    struct quantity to;
    if (find_result(&to, builder, trace->masked))
        return -1;
    builder_title(builder, drops(trace) ? "shares" : "weights",
                  linear ? "Shares of the sum" : "Renormalise");
    builder_formula(
        builder,
        drops(trace) ? "share_j = masked_j / Σ_t masked_t" : "weight_j = masked_j / Σ_t masked_t",
        drops(trace) ? "a_j = \\frac{m_j}{\\sum_t m_t}" : "\\alpha_j = \\frac{m_j}{\\sum_t m_t}");
    note_running_sum(builder);
    builder_keys(builder);
    builder->table->total = "sum";
    const struct quantity of = with(masked, trace->masked);
    if (!add_summed(builder, &of) || add_shares(builder, &to))
        return -1;
    formula_symbol(&builder->out, to.letter.text, to.letter.latex, builder->key);
    return work_quotient(builder);
}

/* --- dropout ---------------------------------------------------------------------------------- */

/* weight_3 = 0.0840 / (1 - 0.5000) = 0.1680: of the first key that is left. */
static int work_dropout(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct block *blocks = builder->table->blocks;
    const float *dropout = &trace->config->mechanism.dropout;
    struct formula_writer *out = &builder->out;
    size_t key = 0;
    while (key < trace->keys && trace->weight[key] == 0)
        key++;
    if (key == trace->keys)
        return 0;
    formula_symbol(out, weight.letter.text, weight.letter.latex, key);
    formula_equals(out);
    formula_number(out, blocks[0].numeral, blocks[0].values[key]);
    formula_add(out, " / (1 - ", " / (1 - ");
    formula_number(out, builder_numeral(builder, dropout, 1), *dropout);
    formula_add(out, ") = ", ") = ");
    formula_number(out, blocks[1].numeral, blocks[1].values[key]);
    return builder_worked(builder);
}

int step_dropout(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    const float *parts = trace->softmax ? trace->masked : take_powers(builder, trace->masked);
    struct quantity before = with(share, parts ? take_shares(builder, parts) : NULL);
    struct quantity after = with(weight, trace->weight);
    if (!before.values)
        return -1;
    builder_title(builder, "weights", "Dropout");
    builder_formula(
        builder, "weight_j = 0 for keys that are dropped, share_j / (1 - P) for others",
        "\\alpha_j = 0 \\text{ for keys that are dropped,} \\quad \\alpha_j = \\frac{a_j}{1 "
        "- P} \\text{ for others}");
    buf_format(builder_note(builder),
               "Each key is dropped with the chance P = %g; the seed %llu says which.",
               (double)mechanism->dropout, (unsigned long long)mechanism->seed);
    if (given_number(builder, "dropout", mechanism->dropout))
        return -1;
    builder_keys(builder);
    builder->table->total = "sum";
    if (!add_summed(builder, &before) || add_shares(builder, &after))
        return -1;
    return work_dropout(builder);
}
