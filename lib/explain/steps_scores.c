/* steps_scores.c: from the query and the keys to scaled scores; in linear attention, to products of
 * their features. */
#include <math.h>

#include "explain/steps.h"
#include "math/bf16.h"
#include "math/rows.h"
#include "math/running_sum.h"

/* Keys as they are projected: before they are normed, before they turn, or as they meet. */
static const struct quantity *keys_projected(const struct trace *trace)
{
    return trace->raw_k.values ? &quantity_k_raw : trace->k_pre ? &quantity_k_pre : &quantity_k;
}

/* What the formula of k_j is, and whose keys they are, where it is not plain. */
static void draw_keys(struct builder *builder)
{
    const struct config *config = builder->trace->config;
    size_t served = config->n_head / config->n_kv_head;
    size_t first = builder->trace->group * served;
    builder_projection(builder, keys_projected(builder->trace)->symbol, 'k',
                       &builder->trace->weights.k);
    if (config->cross)
        buf_text(builder_note(builder),
                 config->n_encoder_layer
                     ? "Keys and values are made of what the encoder gives: x_j "
                       "is its row of key j."
                     : "Keys and values are made of the source.");
    if (served > 1)
        buf_format(builder_note(builder), "The query heads %zu to %zu share key/value head %zu.",
                   first, first + served - 1, builder->trace->group);
}

/* score_0 = 0.5667 · (-0.0823) + 1.8269 · (-0.3031) = -0.6004: of a [dk] and b [S, dk], whose
 * vectors and scores are shown. */
static void show_scores(struct builder *builder, const struct quantity *vectors, const float *a,
                        const float *b)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    if (builder->failed)
        return;
    builder_keys(builder);
    const struct block *keys = builder_vectors(builder, vectors, b, width);
    const struct block *scores = builder_column(builder, &quantity_score, trace->scores);
    const struct numeral numerals[] = {builder_numeral(builder, a, width), keys->numeral};
    const struct number score = block_number(scores, builder->key);
    formula_write(&builder->out, "score_%k = ", builder->key, NULL);
    formula_dot(&builder->out, numerals, a, b + builder->key * width, 1, width);
    builder_work(builder, " = %n", &score);
}

void step_scores(struct builder *builder)
{
    if (keys_projected(builder->trace) == &quantity_k && !builder->trace->keys_edited)
        draw_keys(builder);
    builder_formula(builder, "score_j = q · k_j");
    show_scores(builder, &quantity_k, builder->trace->q, builder->trace->k);
}

/* --- linear attention ------------------------------------------------------------------------- */

/* φ of vectors [rows, dk]. */
static float *take_features(struct builder *builder, const float *vectors, size_t rows)
{
    size_t width = builder->trace->config->d_k;
    float *features = builder_floats(builder, rows * width);
    struct matrix to = {features, rows, width, width};
    struct matrix from = to;
    from.data = (float *)vectors; /* it is only read */
    if (features)
        phi_rows(to, from);
    return features;
}

void step_features(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    builder_formula(builder, "f = φ(q)");
    builder_formula(builder, "φ(x) = x + 1 for x > 0, e^x for x ≤ 0");
    buf_text(builder_note(builder), "Features are above 0, and so are their products: there is no "
                                    "softmax, and nothing is scaled.");
    const float *features = take_features(builder, trace->q, 1);
    const struct named_vector rows[] = {{"q", trace->q}, {"f", features}};
    builder_stack(builder, rows, 2, trace->config->d_k);
    if (builder->failed)
        return;
    /* f_0 = e^(-0.2112) = 0.8096, or 0.5667 + 1 = 1.5667 */
    float q = builder->trace->q[0];
    struct numeral numeral = builder->table->blocks[0].numeral;
    const struct number numbers[] = {{numeral, q}, {numeral, features[0]}};
    if (q > 0)
        builder_work(builder, "f_0 = %n + 1 = %n", numbers);
    else
        builder_work(builder, "f_0 = e^(%n) = %n", numbers);
}

void step_keys(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *keys = trace->raw_k.values ? trace->raw_k.values
                        : trace->k_pre      ? trace->k_pre
                                            : trace->k;
    draw_keys(builder);
    builder_keys(builder);
    builder_vectors(builder, keys_projected(trace), keys, trace->config->d_k);
}

void step_products(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *f = take_features(builder, trace->q, 1);
    const float *g = take_features(builder, trace->k, trace->keys);
    builder_formula(builder, "g_j = φ(k_j)");
    builder_formula(builder, "score_j = f · g_j");
    show_scores(builder, &quantity_g, f, g);
}

/* --- from raw scores to those that are masked ------------------------------------------------- */

enum bend { SCALED, CAPPED, MOVED, COOLED };

/* What the distance to key j adds. */
static float bias_of(const struct trace *trace, size_t key)
{
    float slope = given_slope(trace);
    if (trace->config->alibi == ALIBI_BLOOM)
        return slope * (float)key;
    return trace->scale * bf16_value(bf16_round(bf16_value(bf16_round(slope)) * (float)key));
}

static float *take_scores(struct builder *builder, enum bend bend)
{
    const struct trace *trace = builder->trace;
    float cap = trace->config->score_cap;
    float *scores = builder_floats(builder, trace->keys);
    for (size_t j = 0; scores && j < trace->keys; j++)
        scores[j] = trace->scores[j] * trace->scale;
    if (scores && bend >= CAPPED && cap > 0)
        cap_row(scores, trace->keys, cap);
    for (size_t j = 0; scores && bend >= MOVED && given_slope(trace) > 0 && j < trace->keys; j++)
        scores[j] += bias_of(trace, j);
    if (scores && bend >= COOLED && trace->cools)
        scale_row(scores, scores, trace->keys, 1.0f / trace->config->mechanism.temperature);
    return scores;
}

/* What scores are called before they are cooled. */
static const struct quantity *bent(const struct trace *trace)
{
    return given_slope(trace) > 0         ? &quantity_moved
           : trace->config->score_cap > 0 ? &quantity_capped
                                          : &quantity_scaled;
}

float *builder_scores(struct builder *builder, const struct quantity **quantity)
{
    *quantity = builder->trace->cools ? &quantity_cooled : bent(builder->trace);
    return take_scores(builder, COOLED);
}

/* Scores before a bend, `by` a number, and after it; and what the key's numbers come to: of
 * {by, before, by, after} all, or all but the first. */
static void show_bend(struct builder *builder, enum bend bend, const struct quantity *of,
                      struct number by, const char *work)
{
    static const struct quantity *const bent_to[] = {&quantity_scaled, &quantity_capped,
                                                     &quantity_moved, &quantity_cooled};
    const float *before = bend ? take_scores(builder, bend - 1) : builder->trace->scores;
    const float *after = take_scores(builder, bend);
    if (builder->failed)
        return;
    builder_keys(builder);
    const struct block *from = builder_column(builder, of, before);
    const struct block *to = builder_column(builder, bent_to[bend], after);
    const struct number numbers[] = {by, block_number(from, builder->key), by,
                                     block_number(to, builder->key)};
    builder_work(builder, work, numbers + (bend != CAPPED));
}

void step_capped(struct builder *builder)
{
    const struct number cap = builder_number(builder, builder->trace->config->score_cap);
    const struct number caps[] = {cap, cap};
    give_number(builder, "cap", cap.value);
    formula_write(&builder->out, "capped_j = %n · tanh(scaled_j / %n)", 0, caps);
    builder_drawn(builder);
    buf_text(builder_note(builder),
             "Small scores stay nearly as they are, none goes beyond the cap.");
    show_bend(builder, CAPPED, &quantity_scaled, cap, "capped_%k = %n · tanh(%n / %n) = %n");
}

/* moved_j = scaled_j + 0.2500 · j */
void step_moved(struct builder *builder)
{
    static const struct quantity bias = {.name = "bias", .symbol = "bias_j"};
    const struct trace *trace = builder->trace;
    bool capped = trace->config->score_cap > 0;
    bool scaled = trace->config->alibi == ALIBI_FALCON;
    const struct quantity *of = capped ? &quantity_capped : &quantity_scaled;
    const struct number factors[] = {builder_number(builder, trace->scale),
                                     builder_number(builder, given_slope(trace))};
    give_number(builder, "slope", factors[1].value);
    buf_format(&builder->out, "moved_j = %s + ", of->symbol);
    formula_write(&builder->out, scaled ? "%n · %n · j" : "%n · j", 0, factors + !scaled);
    builder_drawn(builder);
    buf_text(builder_note(builder), "ALiBi: later keys gain by the slope of this head.");
    if (scaled)
        buf_text(builder_note(builder), "Slope and product are rounded to bf16, as in training.");
    const float *before = take_scores(builder, CAPPED);
    const float *after = take_scores(builder, MOVED);
    float *biases = builder_floats(builder, trace->keys);
    for (size_t j = 0; biases && j < trace->keys; j++)
        biases[j] = bias_of(trace, j);
    if (builder->failed)
        return;
    builder_keys(builder);
    const struct block *from = builder_column(builder, of, before);
    const struct block *moves = builder_column(builder, &bias, biases);
    const struct block *to = builder_column(builder, &quantity_moved, after);
    const size_t key = trace->query;
    const struct number numbers[] = {block_number(from, key), block_number(moves, key),
                                     block_number(to, key)};
    builder->key = key;
    builder_work(builder, "moved_%k = %n%t = %n", numbers);
}

/* cooled_j = moved_j / 2 */
void step_cooled(struct builder *builder)
{
    const struct quantity *of = bent(builder->trace);
    const float temperature = builder->trace->config->mechanism.temperature;
    const struct number divisor = builder_number(builder, temperature);
    give_number(builder, "temperature", divisor.value);
    buf_format(&builder->out, "cooled_j = %s", of->symbol);
    formula_write(&builder->out, " / %n", 0, &divisor);
    builder_drawn(builder);
    show_bend(builder, COOLED, of, divisor, "cooled_%k = %n / %n = %n");
}

/* What the scale is made of: √d_k, and in some checkpoints the layer's number; else a number. */
static void draw_base(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct buf *out = &builder->out;
    size_t d_k = trace->config->d_k;
    float root = 1.0f / sqrtf((float)d_k);
    const struct number scale = builder_number(builder, trace->base_scale);
    if (trace->base_scale == root && d_k > 1)
        buf_format(out, " / √d_k = score_j / √%zu", d_k);
    else if (trace->base_scale == root / (float)(trace->layer + 1) && trace->layer > 0)
        buf_format(out, " / (√d_k · layer) = score_j / (√%zu · %zu)", d_k, trace->layer + 1);
    else if (trace->base_scale != 1)
        formula_write(out, " · %f", 0, &scale);
}

void step_scaled(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    float temperature = trace->config->mechanism.temperature;
    const struct number divisor = builder_number(builder, temperature);
    give_number(builder, "scale", trace->scale);
    buf_text(&builder->out, "scaled_j = score_j");
    draw_base(builder);
    if (temperature > 0 && !trace->cools) {
        formula_write(&builder->out, " / %n", 0, &divisor);
        buf_text(builder_note(builder), "The last divisor is the temperature.");
    }
    builder_drawn(builder);
    if (trace->scale == 1) {
        buf_text(builder_note(builder), "The scale is 1: the scores stay as they are.");
        return;
    }
    show_bend(builder, SCALED, &quantity_score, builder_number(builder, trace->scale),
              "scaled_%k = %n · %f = %n");
}
