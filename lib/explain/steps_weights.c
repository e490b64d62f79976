/* steps_weights.c: from scores to the weights of attention: a softmax, shares of a sum, dropout.
 *
 * What a softmax or a division gives are the weights, unless some of them are dropped: then they
 * are called shares, and computed again, because the pass keeps only what is left of them.
 */
#include <math.h>

#include "explain/steps.h"
#include "math/portable_math.h"

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
    for (size_t j = 0; sum && values && j < builder->trace->keys; j++)
        *sum += values[j];
    return sum;
}

/* e^(x - max) */
static float *take_powers(struct builder *builder, const float *values)
{
    size_t keys = builder->trace->keys;
    float max = values ? greatest(values, keys) : 0;
    float *powers = builder_floats(builder, keys);
    for (size_t j = 0; powers && values && j < keys; j++)
        powers[j] = exp_negative(values[j] - max);
    return powers;
}

static float *take_shares(struct builder *builder, const float *parts)
{
    const float *sum = take_sum(builder, parts);
    float *shares = builder_floats(builder, builder->trace->keys);
    for (size_t j = 0; sum && shares && parts && j < builder->trace->keys; j++)
        shares[j] = parts[j] / *sum;
    return shares;
}

/* What becomes of parts of a sum: the weights; or what dropout takes in. */
static const float *take_result(struct builder *builder, const struct quantity **quantity,
                                const float *parts)
{
    bool dropped = builder->trace->config->mechanism.dropout > 0;
    *quantity = dropped ? &quantity_share : &quantity_weight;
    builder->step->name = dropped ? "shares" : "weights";
    return dropped ? take_shares(builder, parts) : builder->trace->weight;
}

/* --- what steps have in common ---------------------------------------------------------------- */

/* A column with its sum below it. */
static struct block *add_summed(struct builder *builder, const struct quantity *quantity,
                                const float *values)
{
    struct block *block = builder_column(builder, quantity, values);
    block->total = take_sum(builder, values);
    builder->table->total = "sum";
    return block;
}

/* The last one, parts of a whole. */
static struct block *add_shares(struct builder *builder, const struct quantity *quantity,
                                const float *values)
{
    struct block *block = add_summed(builder, quantity, values);
    block->is_share = true;
    return block;
}

/* 0.0562 / 1.4557 = 0.0386 */
static void work_quotient(struct builder *builder, const struct block *parts,
                          const struct block *result)
{
    const struct number numbers[] = {block_number(parts, builder->key),
                                     builder_number(builder, *parts->total),
                                     block_number(result, builder->key)};
    builder_work(builder, " = %n / %n = %n", numbers);
}

/* weight_0 = e^(-0.4246 - 2.4542) / 1.4557 */
static void work_powers(struct builder *builder, const struct quantity *to, const struct block *of,
                        const struct block *powers)
{
    struct buf *out = &builder->out;
    const struct number numbers[] = {
        block_number(of, builder->key),
        {of->numeral, -greatest(of->values, builder->trace->keys)},
        builder_number(builder, *powers->total),
    };
    buf_text(out, to->name);
    formula_write(out, "_%k = e^(%n%t) / %n", builder->key, numbers);
}

void step_softmax(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    const struct quantity *of = &quantity_masked;
    const struct quantity *to = &quantity_softmax;
    const float *values = trace->softmax ? builder_scores(builder, &of) : trace->masked;
    const char *power = arena_format(builder->arena, builder->err, "e^(%s - max)", of->symbol);
    const struct quantity quantity_power = {.name = "power", .symbol = power};
    const float *powers = take_powers(builder, values);
    const float *results = trace->softmax ? trace->softmax : take_result(builder, &to, powers);
    if (mechanism->kind == ATTENTION_BLOCKED)
        buf_format(builder_note(builder),
                   "The pass takes %zu keys at a time: where a block brings a larger max, the sum "
                   "and the context so far are made smaller to match.",
                   mechanism->block);
    /* weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max) */
    buf_format(&builder->out, "%s = e^(%s - max) / Σ_t e^(%s_t - max)", to->symbol, of->symbol,
               of->name);
    builder_drawn(builder);
    builder_keys(builder);
    const struct block *from = builder_column(builder, of, values);
    const struct block *parts = add_summed(builder, &quantity_power, powers);
    const struct block *shares = add_shares(builder, to, results);
    builder->failed |= !power;
    if (builder->failed)
        return;
    work_powers(builder, to, from, parts);
    work_quotient(builder, parts, shares);
}

void step_shares(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct buf *out = &builder->out;
    const struct quantity *to;
    const float *results = take_result(builder, &to, trace->masked);
    buf_format(out, "%s = masked_j / Σ_t masked_t", to->symbol);
    builder_drawn(builder);
    if (trace->config->mechanism.kind == ATTENTION_LINEAR)
        buf_text(builder_note(builder),
                 "Unless weights are watched, the pass makes none: it keeps two sums over the "
                 "keys so far, of g_j times v_j and of g_j, and divides their products with f.");
    builder_keys(builder);
    const struct block *parts = add_summed(builder, &quantity_masked, trace->masked);
    const struct block *shares = add_shares(builder, to, results);
    if (builder->failed)
        return;
    buf_format(out, "%s_%zu", to->name, builder->key);
    work_quotient(builder, parts, shares);
}

/* weight_3 = 0.0840 / (1 - 0.5000) = 0.1680: of the first key that is left. */
static void work_dropout(struct builder *builder, const struct block *shares,
                         const struct block *weights)
{
    size_t key = 0;
    while (key < builder->trace->keys && weights->values[key] == 0)
        key++;
    if (key == builder->trace->keys)
        return;
    const struct number numbers[] = {
        block_number(shares, key),
        builder_number(builder, builder->trace->config->mechanism.dropout),
        block_number(weights, key),
    };
    builder->key = key;
    builder_work(builder, "weight_%k = %n / (1 - %n) = %n", numbers);
}

void step_dropout(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    give_number(builder, "dropout", mechanism->dropout);
    const float *parts = trace->softmax ? trace->masked : take_powers(builder, trace->masked);
    builder_formula(builder,
                    "weight_j = 0 for keys that are dropped, share_j / (1 - P) for others");
    buf_format(builder_note(builder),
               "Each key is dropped with the chance P = %g; the seed %llu says which.",
               (double)mechanism->dropout, (unsigned long long)mechanism->seed);
    builder_keys(builder);
    const struct block *shares = add_summed(builder, &quantity_share, take_shares(builder, parts));
    const struct block *weights = add_shares(builder, &quantity_weight, trace->weight);
    if (!builder->failed)
        work_dropout(builder, shares, weights);
}
