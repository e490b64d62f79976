/* steps_weights.c: from scores to the context of the head: mask, softmax or a division, dropout,
 * and the weighted sum of the values.
 *
 * A softmax or a division gives the weights. With dropout they are called shares, and computed
 * again, because the pass keeps only what dropout leaves.
 */
#include <math.h>

#include "explain/steps.h"
#include "math/portable_math.h"
#include "model/mechanism.h"

/* --- mask ------------------------------------------------------------------------------------- */

/* The keys that the causal mask and the layer's window leave visible. */
static struct span visible(const struct trace *trace)
{
    size_t end = trace->config->causal ? trace->query + 1 : trace->keys;
    size_t window = config_window(trace->config, trace->layer);
    size_t count = window && window < end ? window : end;
    return (struct span){end - count, count};
}

static bool hides_any(const struct trace *trace)
{
    for (size_t j = 0; j < trace->keys; j++)
        if (trace->masked[j] == -INFINITY)
            return true;
    return visible(trace).count < trace->keys;
}

static void draw_causal(struct builder *builder, const char *name, const char *hidden)
{
    const struct trace *trace = builder->trace;
    size_t query = trace->query;
    size_t window = config_window(trace->config, trace->layer);
    size_t first = visible(trace).first;
    buf_format(&builder->out, "masked_j = %s_j", name);
    if (!trace->config->causal) {
        builder_note(builder, "There is no mask: every query attends to every key.");
    } else if (first) {
        buf_format(&builder->out, " for %zu ≤ j ≤ %zu, %s for others", first, query, hidden);
    } else {
        buf_format(&builder->out, " for j ≤ %zu, %s for j > %zu", query, hidden, query);
        builder_note(builder, "A query attends to itself and to earlier tokens%s",
                     hides_any(trace) ? ", not to later ones." : ": the last one to all.");
    }
    if (window)
        builder_note(builder, "This layer has a sliding window: the last %zu keys.", window);
    builder_end_formula(builder);
}

/* Each part of the pattern as a condition on j. */
static void draw_conditions(struct buf *out, const struct trace *trace)
{
    const struct pattern *pattern = &trace->config->mechanism.pattern;
    const char *bar = trace->config->causal ? "" : "|";
    const char *before = ": ";
    if (pattern->window) {
        buf_format(out, "%s%s%zu - j%s < %zu", before, bar, trace->query, bar, pattern->window);
        before = " or ";
    }
    if (pattern->stride) {
        buf_format(out, "%s(%zu - j) mod %zu = 0", before, trace->query, pattern->stride);
        before = " or ";
    }
    if (pattern->global) {
        buf_format(out, "%sj < %zu", before, pattern->global);
        before = " or ";
    }
    if (pattern->random)
        buf_format(out, "%sj = %zu or j drawn", before, trace->query);
}

/* S = {j ≤ 5: 5 - j < 2 or j < 1}, and how many keys the pattern leaves of those that the mask
 * allows. */
static void draw_pattern(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    const struct span all = visible(trace);
    bool sees_all = trace->query < mechanism->pattern.global;
    size_t seen = 0;
    for (size_t j = 0; j < trace->keys; j++)
        seen += trace->masked[j] != -INFINITY;
    mechanism_write_attention(&builder->note, mechanism);
    buf_format(&builder->note, " lets this query attend to %zu of %zu keys.", seen, all.count);
    if (sees_all)
        builder_note(builder, "The first %zu queries attend to all keys.",
                     mechanism->pattern.global);
    builder_formula(builder, "masked_j = scaled_j for j in S, -inf for others");
    buf_text(&builder->out, "S = {");
    if (all.first)
        buf_format(&builder->out, "%zu ≤ ", all.first);
    buf_format(&builder->out, "j ≤ %zu", all.first + all.count - 1);
    if (!sees_all)
        draw_conditions(&builder->out, trace);
    builder_formula(builder, "}");
}

/* Scores before a softmax become -inf; shares of one, and products of features, 0. */
void step_masked(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool linear = trace->config->mechanism.kind == ATTENTION_LINEAR;
    const char *name = trace->softmax ? "softmax" : "score";
    const float *values = trace->softmax ? trace->softmax : trace->scores;
    if (!trace->softmax && !linear)
        values = builder_scores(builder, &name);
    if (trace->config->mechanism.kind == ATTENTION_SPARSE)
        draw_pattern(builder);
    else
        draw_causal(builder, name, trace->softmax || linear ? "0" : "-inf");
    if (!hides_any(trace))
        return;
    builder_keys(builder);
    builder_column(builder, name, NULL, values);
    builder_column(builder, "masked", NULL, trace->masked);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static float greatest(const float *values, size_t count)
{
    float max = values[0];
    for (size_t i = 1; i < count; i++)
        max = fmaxf(max, values[i]);
    return max;
}

/* The sum of a column, to be shown below it. */
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

/* Parts divided by their sum: the weights, or with dropout shares. */
static const float *take_result(struct builder *builder, const char **name, const float *parts)
{
    bool dropped = builder->trace->config->mechanism.dropout > 0;
    *name = dropped ? "share" : "weight";
    builder->step->name = dropped ? "shares" : "weights";
    return dropped ? take_shares(builder, parts) : builder->trace->weight;
}

static struct block *add_summed(struct builder *builder, const char *name, const char *symbol,
                                const float *values)
{
    struct block *block = builder_column(builder, name, symbol, values);
    block->total = take_sum(builder, values);
    builder->table->total = "sum";
    return block;
}

static struct block *add_shares(struct builder *builder, const char *name, const float *values)
{
    struct block *block = add_summed(builder, name, NULL, values);
    block->is_share = true;
    return block;
}

/* --- softmax, division, dropout --------------------------------------------------------------- */

/* weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max), and with numbers
 * weight_0 = e^(-0.4246 - 2.4542) / 1.4566 = 0.0562 / 1.4566 = 0.0386 */
void step_softmax(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    const char *of = "masked";
    const char *to = "softmax";
    const float *values = trace->softmax ? builder_scores(builder, &of) : trace->masked;
    const char *power = arena_format(builder->arena, builder->err, "e^(%s_j - max)", of);
    const float *powers = take_powers(builder, values);
    const float *results = trace->softmax ? trace->softmax : take_result(builder, &to, powers);
    if (mechanism->kind == ATTENTION_BLOCKED)
        builder_note(
            builder,
            "The pass takes %zu keys at a time (online softmax): when a block raises the max, "
            "the running sum and context are rescaled.",
            mechanism->block);
    builder_formula(builder, "%s_j = e^(%s_j - max) / Σ_t e^(%s_t - max)", to, of, of);
    builder_keys(builder);
    builder->failed |= !power;
    if (builder->failed)
        return;
    const struct block *from = builder_column(builder, of, NULL, values);
    const struct block *parts = add_summed(builder, "power", power, powers);
    const struct block *shares = add_shares(builder, to, results);
    if (builder->failed)
        return;
    const struct number sum = builder_number(builder, *parts->total);
    const struct number numbers[] = {block_number(from, builder->key),
                                     {from->numeral, -greatest(values, trace->keys)},
                                     sum,
                                     block_number(parts, builder->key),
                                     sum,
                                     block_number(shares, builder->key)};
    buf_text(&builder->out, to);
    builder_work(builder, "_%k = e^(%n%t) / %n = %n / %n = %n", numbers);
}

/* A division by the sum, without a softmax before it. */
void step_shares(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const char *to;
    const float *results = take_result(builder, &to, trace->masked);
    builder_formula(builder, "%s_j = masked_j / Σ_t masked_t", to);
    if (trace->config->mechanism.kind == ATTENTION_LINEAR)
        builder_note(
            builder,
            "The weights are computed to be shown: otherwise the pass keeps two running sums "
            "over the keys, of g_j times v_j and of g_j, and divides their products with f.");
    builder_keys(builder);
    const struct block *parts = add_summed(builder, "masked", NULL, trace->masked);
    const struct block *shares = add_shares(builder, to, results);
    if (builder->failed)
        return;
    const struct number numbers[] = {block_number(parts, builder->key),
                                     builder_number(builder, *parts->total),
                                     block_number(shares, builder->key)};
    buf_text(&builder->out, to);
    builder_work(builder, "_%k = %n / %n = %n", numbers);
}

/* The numbers are those of the first key that is left. */
void step_dropout(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    const float *parts = trace->softmax ? trace->masked : take_powers(builder, trace->masked);
    size_t key = 0;
    give_number(builder, "dropout", mechanism->dropout);
    builder_formula(builder,
                    "weight_j = 0 for keys that are dropped, share_j / (1 - P) for others");
    builder_note(builder, "Each key is dropped with probability P = %g (seed %llu).",
                 (double)mechanism->dropout, (unsigned long long)mechanism->seed);
    builder_keys(builder);
    const struct block *shares = add_summed(builder, "share", NULL, take_shares(builder, parts));
    const struct block *weights = add_shares(builder, "weight", trace->weight);
    while (key < trace->keys && trace->weight[key] == 0)
        key++;
    if (builder->failed || key == trace->keys)
        return;
    const struct number numbers[] = {block_number(shares, key),
                                     builder_number(builder, mechanism->dropout),
                                     block_number(weights, key)};
    builder->key = key;
    builder_work(builder, "weight_%k = %n / (1 - %n) = %n", numbers);
}

/* --- values and context ----------------------------------------------------------------------- */

enum { WORKED_ELEMENTS = 2 }; /* of a vector */

/* The first elements of weight_0 · v_0 as products, or as results. */
static void write_vector(struct builder *builder, bool product)
{
    const struct block *blocks = builder->table->blocks;
    struct buf *out = &builder->out;
    size_t width = builder->trace->config->d_v;
    const struct number weight = block_number(&blocks[0], builder->key);
    for (size_t i = 0; i < width && i < WORKED_ELEMENTS; i++) {
        const struct number value = block_number(&blocks[1], builder->key * width + i);
        const struct number result = {value.numeral, weight.value * value.value};
        buf_text(out, i ? ", " : "[");
        formula_write(out, product ? "%n · %f" : "%n", 0,
                      product ? (const struct number[]){weight, value} : &result);
    }
    buf_text(out, width <= WORKED_ELEMENTS ? "]" : ", …]");
}

/* weight_0 · v_0 = [0.0386 · (-0.2546), …] = [-0.0098, …] */
void step_values(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    builder_projection(builder, "v_j", 'v', &trace->weights.v);
    builder_keys(builder);
    builder_column(builder, "weight", NULL, trace->weight);
    builder_vectors(builder, "v", NULL, trace->v, trace->config->d_v);
    formula_write(&builder->out, "weight_%k · v_%k = ", builder->key, NULL);
    write_vector(builder, true);
    buf_text(&builder->out, " = ");
    write_vector(builder, false);
    builder_work(builder, "", NULL);
}

/* context_0 = -0.0098 + 0.4542 - 0.0175 + 0.0498 + 0.0824 - 0.0278 = 0.5313: from the first key
 * that has any weight to the last. */
void step_context(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_v;
    size_t first = 0;
    size_t end = trace->keys;
    float *products = builder_floats(builder, trace->keys * width);
    if (!products)
        return;
    for (size_t i = 0; i < trace->keys * width; i++)
        products[i] = trace->weight[i / width] * trace->v[i] + 0.0f; /* no -0 for hidden keys */
    builder_formula(builder, "context = Σ_j weight_j · v_j");
    builder_keys(builder);
    builder->table->total = "context";
    struct block *block = builder_vectors(builder, "weighted", "weight_j · v_j", products, width);
    block->total = trace->context;
    while (end > 1 && trace->weight[end - 1] == 0)
        end--;
    while (first + 1 < end && trace->weight[first] == 0)
        first++;
    const struct number context = {block->numeral, trace->context[0]};
    buf_text(&builder->out, "context_0 = ");
    formula_sum(&builder->out, block->numeral, products + first * width, width, end - first);
    builder_work(builder, " = %n", &context);
}
