/* steps_scores.c: from the query and the keys to scaled scores; in linear attention, to products of
 * their features. */
#include <math.h>
#include <string.h>

#include "explain/steps.h"
#include "math/running_sum.h"

/* What the formula of k_j is, and whose keys they are, where it is not plain. */
static void draw_keys(struct builder *builder)
{
    static const struct formula keys[] = {{"k_j = x_j", "k_j = x_j"},
                                          {"k_j = x_j · W_k", "k_j = x_j\\,W_k"},
                                          {"k_j = x_j · W_k + b_k", "k_j = x_j\\,W_k + b_k"}};
    const struct config *config = builder->trace->config;
    size_t served = config->n_head / config->n_kv_head;
    size_t first = builder->trace->group * served;
    builder_projection(builder, &builder->trace->weights.k, keys);
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
    formula_write(&builder->out, "score_%k = ", "s_%k = ", builder->key, NULL);
    formula_dot(&builder->out, numerals, a, b + builder->key * width, 1, width);
    builder_work(builder, " = %n", " = %n", &score);
}

void step_scores(struct builder *builder)
{
    draw_keys(builder);
    builder_formula(builder, "score_j = q · k_j", "s_j = q \\cdot k_j");
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

/* f_0 = e^(-0.2112) = 0.8096, or 0.5667 + 1 = 1.5667 */
static void work_feature(struct builder *builder, float feature)
{
    float q = builder->trace->q[0];
    struct numeral numeral = builder->table->blocks[0].numeral;
    const struct number numbers[] = {{numeral, q}, {numeral, feature}};
    if (q > 0)
        builder_work(builder, "f_0 = %n + 1 = %n", "f_{0} = %n + 1 = %n", numbers);
    else
        builder_work(builder, "f_0 = e^(%n) = %n", "f_{0} = e^{%n} = %n", numbers);
}

void step_features(struct builder *builder)
{
    static const struct quantity vectors = {"vector", {"", ""}, {"", ""}};
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    builder_formula(builder, "f = φ(q)", "f = \\varphi(q)");
    builder_formula(
        builder, "φ(x) = x + 1 for x > 0, e^x for x ≤ 0",
        "\\varphi(x) = x + 1 \\text{ for } x > 0, \\quad \\varphi(x) = e^x \\text{ for } "
        "x \\le 0");
    buf_text(builder_note(builder), "Features are above 0, and so are their products: there is no "
                                    "softmax, and nothing is scaled.");
    struct label *rows = builder_rows(builder, 2);
    float *both = builder_floats(builder, 2 * width);
    const float *features = take_features(builder, trace->q, 1);
    if (builder->failed)
        return;
    memcpy(both, trace->q, width * sizeof *both);
    memcpy(both + width, features, width * sizeof *both);
    rows[0] = builder_label("q");
    rows[1] = builder_label("f");
    builder_vectors(builder, &vectors, both, width);
    work_feature(builder, features[0]);
}

void step_keys(struct builder *builder)
{
    draw_keys(builder);
    builder_keys(builder);
    builder_vectors(builder, &quantity_k, builder->trace->k, builder->trace->config->d_k);
}

void step_products(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *f = take_features(builder, trace->q, 1);
    const float *g = take_features(builder, trace->k, trace->keys);
    builder_formula(builder, "g_j = φ(k_j)", "g_j = \\varphi(k_j)");
    builder_formula(builder, "score_j = f · g_j", "s_j = f \\cdot g_j");
    show_scores(builder, &quantity_g, f, g);
}

/* --- the scale -------------------------------------------------------------------------------- */

/* What the scale is made of: √d_k, and in some checkpoints the layer's number; else a number. */
static void draw_base(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct formula_writer *out = &builder->out;
    size_t d_k = trace->config->d_k;
    float root = 1.0f / sqrtf((float)d_k);
    const struct number scale = builder_number(builder, trace->base_scale);
    if (trace->base_scale == root && d_k > 1) {
        buf_format(&out->text, " / √d_k = score_j / √%zu", d_k);
        buf_format(&out->latex, " / \\sqrt{d_k} = s_j / \\sqrt{%zu}", d_k);
    } else if (trace->base_scale == root / (float)(trace->layer + 1) && trace->layer > 0) {
        buf_format(&out->text, " / (√d_k · layer) = score_j / (√%zu · %zu)", d_k, trace->layer + 1);
        buf_format(&out->latex, " / (\\sqrt{d_k} \\cdot \\ell) = s_j / (\\sqrt{%zu} \\cdot %zu)",
                   d_k, trace->layer + 1);
    } else if (trace->base_scale != 1) {
        formula_write(out, " · %f", " \\cdot %f", 0, &scale);
    }
}

/* And the temperature that scores are divided by, too. */
static void draw_scale(struct builder *builder)
{
    float temperature = builder->trace->config->mechanism.temperature;
    const struct number divisor = builder_number(builder, temperature);
    formula_write(&builder->out, "scaled_j = score_j", "\\tilde{s}_j = s_j", 0, NULL);
    draw_base(builder);
    if (temperature > 0) {
        formula_write(&builder->out, " / %n", " / %n", 0, &divisor);
        buf_text(builder_note(builder), "The last divisor is the temperature.");
    }
    builder_drawn(builder);
}

void step_scaled(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    draw_scale(builder);
    if (trace->scale == 1) {
        buf_text(builder_note(builder), "The scale is 1: the scores stay as they are.");
        return;
    }
    const float *values = builder_scaled(builder);
    if (!values)
        return;
    builder_keys(builder);
    const struct block *scores = builder_column(builder, &quantity_score, trace->scores);
    const struct block *scaled = builder_column(builder, &quantity_scaled, values);
    const struct number numbers[] = {block_number(scores, builder->key),
                                     builder_number(builder, trace->scale),
                                     block_number(scaled, builder->key)};
    builder_work(builder, "scaled_%k = %n · %f = %n", "\\tilde{s}_%k = %n \\cdot %f = %n", numbers);
}
