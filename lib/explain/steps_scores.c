/* steps_scores.c: from the query and the keys to scaled scores; in linear attention, to products of
 * their features. */
#include <math.h>

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

/* What keys are made of, of which values are, too; and by what. */
static int give_keys(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    const struct given_rows inputs = {"x_j", {"x_j", "x_j"}, trace->sources, true};
    const struct given_columns own = {
        .name = "W_k",
        .bias = "b_k",
        .weight = &trace->weights.k,
        .first = trace->group * width,
        .width = width,
    };
    if (!trace->config->projections)
        return 0;
    return given_rows(builder, &inputs) || given_columns(builder, &own) ? -1 : 0;
}

/* score_0 = 0.5667 · (-0.0823) + 1.8269 · (-0.3031) = -0.6004: of a [dk] and b [S, dk], which is
 * the table's first block. */
static int work_score(struct builder *builder, const float *a, const float *b)
{
    const struct trace *trace = builder->trace;
    struct formula_writer *out = &builder->out;
    const struct block *blocks = builder->table->blocks;
    size_t width = trace->config->d_k;
    const struct numeral numerals[] = {builder_numeral(builder, a, width), blocks[0].numeral};
    formula_symbol(out, "score", "s", builder->key);
    formula_equals(out);
    formula_dot(out, numerals, a, b + builder->key * width, 1, width);
    formula_equals(out);
    formula_number(out, blocks[1].numeral, trace->scores[builder->key]);
    return builder_worked(builder);
}

int step_scores(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    builder_title(builder, "scores", "Keys and scores");
    draw_keys(builder);
    if (give_keys(builder))
        return -1;
    builder_formula(builder, "score_j = q · k_j", "s_j = q \\cdot k_j");
    builder_keys(builder);
    builder_vectors(builder, "k", "k_j", "k_j", trace->k, trace->config->d_k);
    builder_column(builder, "score", "score_j", "s_j", trace->scores);
    return work_score(builder, trace->q, trace->k);
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
static int work_feature(struct builder *builder, float feature)
{
    struct formula_writer *out = &builder->out;
    float q = builder->trace->q[0];
    struct numeral numeral = builder->table->blocks[0].numeral;
    formula_symbol(out, "f", "f", 0);
    formula_add(out, q > 0 ? " = " : " = e^(", q > 0 ? " = " : " = e^{");
    formula_number(out, numeral, q);
    formula_add(out, q > 0 ? " + 1 = " : ") = ", q > 0 ? " + 1 = " : "} = ");
    formula_number(out, numeral, feature);
    return builder_worked(builder);
}

int step_features(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    builder_title(builder, "features", "Features of the query");
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
    if (!rows || !both || !features)
        return -1;
    for (size_t i = 0; i < width; i++) {
        both[i] = trace->q[i];
        both[width + i] = features[i];
    }
    rows[0] = builder_label("q");
    rows[1] = builder_label("f");
    builder_vectors(builder, "vector", "", "", both, width);
    return work_feature(builder, features[0]);
}

int step_keys(struct builder *builder)
{
    builder_title(builder, "keys", "Keys");
    draw_keys(builder);
    if (give_keys(builder))
        return -1;
    builder_keys(builder);
    builder_vectors(builder, "k", "k_j", "k_j", builder->trace->k, builder->trace->config->d_k);
    return 0;
}

int step_products(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *f = take_features(builder, trace->q, 1);
    const float *g = take_features(builder, trace->k, trace->keys);
    if (!f || !g)
        return -1;
    builder_title(builder, "scores", "Features of the keys, and scores");
    builder_formula(builder, "g_j = φ(k_j)", "g_j = \\varphi(k_j)");
    builder_formula(builder, "score_j = f · g_j", "s_j = f \\cdot g_j");
    builder_keys(builder);
    builder_vectors(builder, "g", "g_j", "g_j", g, trace->config->d_k);
    builder_column(builder, "score", "score_j", "s_j", trace->scores);
    return work_score(builder, f, g);
}

/* --- the scale -------------------------------------------------------------------------------- */

/* What the scale is made of: √d_k, and in some checkpoints the layer's number; else a number. */
static void draw_base(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct formula_writer *out = &builder->out;
    size_t d_k = trace->config->d_k;
    float root = 1.0f / sqrtf((float)d_k);
    if (trace->base_scale == root && d_k > 1) {
        buf_format(&out->text, " / √d_k = score_j / √%zu", d_k);
        buf_format(&out->latex, " / \\sqrt{d_k} = s_j / \\sqrt{%zu}", d_k);
    } else if (trace->base_scale == root / (float)(trace->layer + 1) && trace->layer > 0) {
        buf_format(&out->text, " / (√d_k · layer) = score_j / (√%zu · %zu)", d_k, trace->layer + 1);
        buf_format(&out->latex, " / (\\sqrt{d_k} \\cdot \\ell) = s_j / (\\sqrt{%zu} \\cdot %zu)",
                   d_k, trace->layer + 1);
    } else if (trace->base_scale != 1) {
        formula_times(out);
        formula_factor(out, builder_numeral(builder, &trace->base_scale, 1), trace->base_scale);
    }
}

/* And the temperature that scores are divided by, too. */
static int draw_scale(struct builder *builder)
{
    const float *temperature = &builder->trace->config->mechanism.temperature;
    struct formula_writer *out = &builder->out;
    formula_add(out, "scaled_j = score_j", "\\tilde{s}_j = s_j");
    draw_base(builder);
    if (*temperature > 0) {
        formula_add(out, " / ", " / ");
        formula_number(out, builder_numeral(builder, temperature, 1), *temperature);
        buf_text(builder_note(builder), "The last divisor is the temperature.");
    }
    return builder_drawn(builder);
}

/* scaled_0 = -0.6004 · 0.7071 = -0.4246 */
static int work_scale(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct formula_writer *out = &builder->out;
    const struct block *blocks = builder->table->blocks;
    formula_symbol(out, "scaled", "\\tilde{s}", builder->key);
    formula_equals(out);
    formula_number(out, blocks[0].numeral, trace->scores[builder->key]);
    formula_times(out);
    formula_factor(out, builder_numeral(builder, &trace->scale, 1), trace->scale);
    formula_equals(out);
    formula_number(out, blocks[1].numeral, blocks[1].values[builder->key]);
    return builder_worked(builder);
}

int step_scaled(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    builder_title(builder, "scaled", "Scale");
    if (draw_scale(builder) || given_number(builder, "scale", trace->scale))
        return -1;
    if (trace->scale == 1) {
        buf_text(builder_note(builder), "The scale is 1: the scores stay as they are.");
        return 0;
    }
    const float *scaled = builder_scaled(builder);
    if (!scaled)
        return -1;
    builder_keys(builder);
    builder_column(builder, "score", "score_j", "s_j", trace->scores);
    builder_column(builder, "scaled", "scaled_j", "\\tilde{s}_j", scaled);
    return work_scale(builder);
}
