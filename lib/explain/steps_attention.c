/* steps_attention.c: the steps from the layer's input to the head's context.
 *
 * Weights come from a softmax or a division. With dropout, these values are called shares and are
 * recomputed, because the pass keeps only the weights after dropout. */
#include <math.h>
#include <string.h>

#include "base/language.h"
#include "explain/steps.h"
#include "math/portable_math.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/mechanism.h"

/* --- input ------------------------------------------------------------------------------------ */

void builder_embedding(struct builder *builder, const char *name)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    const struct tokenized *text = report_queries(trace->report, trace->branch);
    size_t position = config_position(config, text->ids, trace->query);
    builder_add(builder, "%s = ", name);
    if (trace->scale == sqrtf((float)config->n_embd))
        builder_add(builder, "√%z × ", config->n_embd);
    else if (trace->scale != 1)
        builder_add(builder, "%n × ", trace->scale);
    builder_add(builder, "wte[%z]%s", (size_t)text->ids[trace->query],
                trace->word_rows ? " · P_in" : "");
    if (trace->position)
        builder_add(builder, " + %s[%z]", config->sinusoids ? "PE" : "wpe",
                    position + config->position_offset);
    if (trace->segment)
        builder_add(builder, " + wse[%z]",
                    (size_t)(text->segments ? text->segments[trace->query] : 0));
    if (trace->position && config->sinusoids)
        builder_note(builder, "PE is the sinusoidal position embedding.");
    if (config->drops_masks)
        builder_note(builder, "Rows of masks are 0; others times %g / (1 - share of masks).",
                     EMBED_KEPT);
    builder_formula(builder, "");
}

/* Add a note on the origin of the residual stream, which is called h or, if no norm precedes the
 * attention, x. */
static void note_origin(struct builder *builder, const char *name)
{
    const struct trace *trace = builder->trace;
    const char *origin = trace->branch == BRANCH_CROSS ? "self-attention" : "the previous layer";
    bool bare = trace->config->kind == MODEL_ATTENTION;
    bool adds_up = !trace->rule->replaces;
    bool normed = trace->rule->norm_after && trace->has_norms;
    if (config_copies(trace->config))
        builder_note(builder, "%s is predicted_%z, the active copy.", name,
                     stack_of(trace->config, BRANCH_TEXT)->copies.active);
    else if (trace->embedding_norm.scale)
        builder_note(builder, "%s is the embedding after its norm.", name);
    else
        builder_note(builder,
                     adds_up ? "%s is the residual stream after %s%s."
                     : bare  ? "%s is the output of %s%s."
                             : "%s is the output of %s%s, without a residual connection.",
                     name, say(builder->language, origin),
                     normed ? say(builder->language, " and its norm") : "");
}

/* Explain the norm of the embedding. Its output, which may be projected, is the residual stream of
 * the first layer. */
void step_embedding(struct builder *builder, const struct trace *trace)
{
    const struct norm *norm = &trace->embedding_norm;
    size_t width = trace->sum_size;
    bool last = weight_exists(&trace->projection) && !trace->word_rows;
    const struct named_vector h = {trace->stream ? "h" : "x",
                                   trace->stream ? trace->stream : trace->x};
    bool alone = !trace->position && !trace->segment;
    float *sum = builder_floats(builder, width);
    float *normed = builder_floats(builder, width);
    for (size_t i = 0; sum && i < width; i++) {
        sum[i] = trace->token[i] * trace->scale;
        sum[i] += trace->segment ? trace->segment[i] : 0;
        sum[i] += trace->position ? trace->position[i] : 0;
    }
    if (builder->err->kind)
        return;
    norm_rows((struct matrix){normed, 1, width, width}, (struct matrix){sum, 1, width, width},
              norm);
    const struct named_vector terms[NORM_TERMS] = {
        {"wte", alone ? NULL : trace->token},
        {trace->config->sinusoids ? "PE" : "wpe", trace->position},
        {"wse", trace->segment}};
    builder_embedding(builder, "e");
    builder_norm(builder, (struct named_vector){last ? "n" : h.name, normed},
                 (struct named_vector){"e", sum}, norm, terms, width);
    if (last)
        builder_projection(builder, h.name, "n", "in", &trace->projection);
}

/* Explain the input of the query. The operands are the inputs of all tokens: readers can then also
 * recompute keys. */
void step_input(struct builder *builder, const struct trace *trace)
{
    const struct config *config = trace->config;
    const struct norm *norm = trace->stream && trace->has_norms ? &trace->block.self.norm : NULL;
    const char *position = config->sinusoids ? "PE" : "wpe";
    size_t width = trace->input_size;
    /* an earlier step shows the embedding */
    bool normed = trace->embedding_norm.scale || config_copies(config);
    bool embeds = trace->layer == 0 && trace->branch != BRANCH_CROSS && !normed;
    const struct named_vector h = {"h", trace->stream}, x = {"x", trace->x};
    const struct named_vector terms[NORM_TERMS + 1] = {
        {trace->word_rows ? "wte · P_in" : "wte", normed ? NULL : trace->token},
        {position, normed ? NULL : trace->position},
        {"wse", normed ? NULL : trace->segment},
        x,
    };
    if (trace->tokens && trace->scale != 1)
        give_number(builder, "embedding_scale", trace->scale);
    give_rows(builder, "wte", "wte", trace->word_rows ? trace->word_rows : trace->tokens,
              config_word_width(config), false);
    if (weight_exists(&trace->projection))
        give_whole(builder, trace->word_rows ? "P_in" : "W_in", &trace->projection);
    give_rows(builder, position, position, trace->positions, trace->sum_size, false);
    give_rows(builder, "wse", "wse", trace->segments, trace->sum_size, false);
    give_rows(builder, "h", "h_j", trace->streams, width, false);
    give_vector(builder, "gamma", norm && !norm->plain ? norm->scale : NULL, width);
    give_vector(builder, "beta", norm ? norm->shift : NULL, width);
    if (norm || trace_row(trace, SITE_RESID_POST))
        give_number(builder, "epsilon", config->epsilon);
    if (embeds && !trace->stream)
        builder->step->heading = say(builder->language, "Embedding");
    (embeds ? builder_embedding : note_origin)(builder, trace->stream ? "h" : "x");
    if (trace->stream)
        builder_norm(builder, x, h, norm, terms, width);
    else if (trace->token && !normed)
        builder_stack(builder, terms, NORM_TERMS + 1, width);
    else
        builder_vector(builder, x, width);
}

/* --- query ------------------------------------------------------------------------------------ */

/* The query, or all keys, at each stage: as projected, before and after the norm of heads, and
 * before and after the rotary embedding (which comes before the norm in some models). Without a
 * norm, `raw.values` is NULL and `normed` must not be used; without a rotary embedding,
 * `pre.values` is NULL and `turned` must not be used. */
struct stages {
    struct named_vector projected, raw, normed, pre, turned;
};

static struct stages stages_of(const struct trace *t, bool of_keys)
{
    const float *q_raw = t->raw_q.values ? t->raw_q.values + t->query * t->rule->head.d_k : NULL;
    const struct named_vector q[] = {
        {t->turns_first ? "q_rot" : "q_raw", q_raw}, {"q_pre", t->q_pre}, {"q", t->q}};
    const struct named_vector k[] = {
        {t->turns_first ? "k_rot" : "k_raw", t->raw_k.values}, {"k_pre", t->k_pre}, {"k", t->k}};
    const struct named_vector *all = of_keys ? k : q, raw = all[0], pre = all[1], last = all[2];
    struct stages stages = {.raw = raw, .pre = pre};
    stages.normed = t->turns_first || !pre.values ? last : pre;
    stages.turned = t->turns_first ? raw : last;
    stages.projected = raw.values && !t->turns_first ? raw : pre.values ? pre : last;
    return stages;
}

/* Show x and W_q row by row, with the product q below. */
static void show_product(struct builder *builder, struct named_vector q)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->block.self.q;
    size_t width = trace->rule->head.d_k;
    size_t count = w->in + (w->bias != NULL);
    struct label *rows = builder_rows(builder, count);
    float *x = builder_floats(builder, count);
    const float *values = builder_part(builder, w, 0, count, trace->head * width, width);
    if (builder->err->kind)
        return;
    for (size_t c = 0; c < count; c++) {
        rows[c] = c < w->in ? trace->report->numbers[c] : builder_label("b_q");
        x[c] = c < w->in ? trace->x[c] : NAN;
    }
    builder->table->rows.name = "channel";
    builder->table->working.total = q.name;
    builder_column(builder, "x", "x", x);
    builder_vectors(builder, "W_q", "W_q", values, width)->total = q.values;
    float clip = trace->rule->head.clip;
    if (clip == 0 || fabsf(*q.values) != clip) /* a clipped number is not the dot product */
        builder_dot(builder, q.name, trace->x, w, trace->head * width, *q.values);
}

void step_query(struct builder *builder, const struct trace *trace)
{
    const struct weight *w = &trace->block.self.q;
    const struct named_vector q = stages_of(trace, false).projected;
    size_t d_k = trace->rule->head.d_k;
    bool is_small = w->in <= GIVEN_SMALL && d_k <= GIVEN_SMALL;
    builder_projection(builder, q.name, "x", "q", w);
    if (trace->rule->head.by == HEADS_AS_IS) {
        builder_note(builder, "There are no projections: q, k and v are the inputs.");
        builder_vector(builder, q, d_k);
        return;
    }
    struct table *given = give_columns(builder, "W_q", w, trace->head, d_k);
    if (given)
        given->working.is_shown = is_small;
    if (is_small) {
        show_product(builder, q);
    } else {
        builder_note(builder, "W_q: this head's columns of the query projection, [%z, %z].", w->in,
                     d_k);
        builder_vector(builder, q, d_k);
    }
}

/* --- norms of heads --------------------------------------------------------------------------- */

/* Write q_pre = q_raw / √(mean(q_raw²) + ε) ⊙ γ, with mean(q_raw²) = 0.0198, ε = 1.00e-05. Returns
 * the norm of this head. */
static struct norm draw_head_norm(struct builder *builder, const char *y, const char *x,
                                  bool of_keys, float square)
{
    const struct trace *trace = builder->trace;
    struct norm norm = of_keys ? trace->block.self.k_norm : trace->block.self.q_norm;
    const char *z = of_keys ? "z_j" : "z";
    bool clips = trace->rule->head.clip > 0;
    builder_norm_formula(builder, clips ? z : y, x, &norm);
    if (clips)
        builder_clip(builder, y, z);
    if (trace->rule->head.norm.whole) {
        norm.scale += (of_keys ? trace->kv_head : trace->head) * trace->rule->head.d_k;
        builder_note(builder, "The mean is over all heads together.");
    }
    builder_work(builder, "mean(%s²) = %n, ε = %n", x, square, norm.epsilon);
    return norm;
}

void step_query_norm(struct builder *builder, const struct trace *trace)
{
    const struct stages q = stages_of(trace, false);
    float square = trace->raw_q.squares[trace->query];
    const struct norm norm = draw_head_norm(builder, q.normed.name, q.raw.name, false, square);
    const struct named_vector rows[] = {q.raw, {"γ", norm.scale}, q.normed};
    float *squares = builder_floats(builder, 3);
    builder_stack(builder, rows, 3, trace->rule->head.d_k);
    if (builder->err->kind)
        return;
    squares[0] = square;
    squares[1] = squares[2] = NAN;
    builder_column(builder, "mean_square",
                   arena_format(builder->arena, builder->err, "mean(%s²)", q.raw.name), squares);
}

void step_key_norm(struct builder *builder, const struct trace *trace)
{
    const struct stages k = stages_of(trace, true);
    const float *squares = trace->raw_k.squares;
    const char *x = arena_format(builder->arena, builder->err, "%s_j", k.raw.name);
    const char *y = arena_format(builder->arena, builder->err, "%s_j", k.normed.name);
    const char *mean = arena_format(builder->arena, builder->err, "mean(%s²)", x);
    if (builder->err->kind)
        return;
    const struct norm norm = draw_head_norm(builder, y, x, true, *squares);
    struct table *given =
        give_matrix(builder, "gamma_k", "γ", norm.scale, 1, trace->rule->head.d_k);
    if (given)
        given->rows.name = "";
    builder_keys(builder);
    builder_column(builder, "mean_square", mean, squares);
    builder_vectors(builder, k.normed.name, NULL, k.normed.values, trace->rule->head.d_k);
}

/* --- rotary embedding ------------------------------------------------------------------------- */

/* Return the factor by which the rotary embedding multiplies keys, or the query. */
static double turn_factor(const struct trace *trace, bool of_keys)
{
    return rotary_amplitude(trace->rotary, trace->keys) *
           (of_keys ? 1 : rotary_growth(trace->rotary, trace->query));
}

/* Write (a', b') = (a × cos θ_i - b × sin θ_i, b × cos θ_i + a × sin θ_i). */
static void draw_rotation(struct builder *builder, bool of_keys)
{
    builder_formula(builder, "(a', b') = %s(a × cos θ_i - b × sin θ_i, b × cos θ_i + a × sin θ_i)",
                    turn_factor(builder->trace, of_keys) != 1 ? "m × " : "");
}

/* Write θ_i = 1 × f_i, f_i = 10000^(-2i / 64), and how the frequencies are scaled. */
static void draw_frequency(struct builder *builder)
{
    static const char *const notes[] = {
        [ROTARY_PLAIN] = "",
        [ROTARY_LINEAR] = "",
        [ROTARY_DYNAMIC] = " The base grows with texts longer than in training.",
        [ROTARY_LLAMA3] = " s_i rises from 0 for low to 1 for high frequencies.",
        [ROTARY_YARN] = " s_i falls from 1 for high to 0 for low frequencies.",
        [ROTARY_LONGROPE] = " c_i: the factors in config.json.",
        [ROTARY_PROPORTIONAL] = "",
    };
    const struct rotary *r = builder->trace->rotary;
    double second = r->components > 2 ? rotary_frequency(r, 1, builder->trace->keys) : 1;
    double half = (double)(r->components / 2);
    bool dynamic = r->scaling == ROTARY_DYNAMIC && second < 1;
    double theta = dynamic ? exp_double(-half * log_double(second)) : r->theta;
    bool mixed = r->scaling == ROTARY_LLAMA3 || r->scaling == ROTARY_YARN;
    builder_add(builder, "θ_i = %z × f_i", builder->trace->query);
    if (mixed)
        builder_add(builder, ", f_i = s_i × g_i + (1 - s_i) × g_i / %g", r->factor);
    buf_format(&builder->out, ", %s_i = %.9g^(-2i / %zu)", mixed ? "g" : "f", theta, r->components);
    if (r->scaling == ROTARY_LINEAR || (r->scaling == ROTARY_PROPORTIONAL && r->factor != 1))
        builder_add(builder, " / %g", r->factor);
    builder_formula(builder, r->scaling == ROTARY_LONGROPE ? " / c_i" : "");
    buf_text(&builder->note, notes[r->scaling]);
    if (r->scaling == ROTARY_PROPORTIONAL && r->turning < r->components / 2)
        builder_note(builder, "Pairs from %z on are not rotated: f_i = 0.", r->turning);
    if (r->growth != 0)
        builder_note(builder, "m = %g × (1 + %g × ln(1 + ⌊%z / %g⌋)).",
                     rotary_amplitude(r, builder->trace->keys), r->growth, builder->trace->query,
                     r->trained_positions);
    else if (turn_factor(builder->trace, false) != 1)
        builder_note(builder, "m = %g.", turn_factor(builder->trace, false));
}

/* Work out pair 0 of a rotated vector: 0.52 × 0.28 - 0.31 × 0.96 = -0.15. */
static void work_rotation(struct builder *builder, const float *from, const float *to, bool of_keys)
{
    const struct rotary *r = builder->trace->rotary;
    float amplitude = (float)rotary_amplitude(r, builder->trace->keys);
    float factor = (float)turn_factor(builder->trace, of_keys);
    const float *cos_sin = builder->trace->cos_sin + builder->trace->query * r->components;
    float cosine = cos_sin[0] / amplitude;
    float sine = cos_sin[r->components / 2] / amplitude;
    float other = from[r->neighbours ? 1 : r->components / 2];
    if (factor != 1)
        builder_add(builder, "%n × (", factor);
    builder_add(builder, "%n × %f - %f × %f", *from, cosine, other, sine);
    builder_work(builder, factor != 1 ? ") = %n" : " = %n", *to);
}

enum { ROTATION_ROWS = 8, FREQUENCY_ROW = 2 };

/* Show the rotation of the query in a table with a column for each pair of components, and give the
 * operands that rotate the keys. */
static void show_rotation(struct builder *builder)
{
    static const char *const names[ROTATION_ROWS] = {"a",     "b",     "f",  "θ",
                                                     "cos θ", "sin θ", "a'", "b'"};
    const struct trace *trace = builder->trace;
    const struct rotary *r = trace->rotary;
    size_t pairs = r->components / 2;
    size_t apart = r->neighbours ? 1 : pairs;
    const float *turned = stages_of(trace, false).turned.values;
    float *all = builder_floats(builder, ROTATION_ROWS * pairs);
    struct named_vector rows[ROTATION_ROWS];
    for (size_t i = 0; all && i < pairs; i++) {
        size_t at = r->neighbours ? 2 * i : i;
        double frequency = rotary_frequency(r, i, trace->keys);
        double angle = (double)trace->query * frequency;
        double sine = 0, cosine = 0;
        sine_cosine(&sine, &cosine, angle);
        const float column[ROTATION_ROWS] = {trace->q_pre[at], trace->q_pre[at + apart],
                                             (float)frequency, (float)angle,
                                             (float)cosine,    (float)sine,
                                             turned[at],       turned[at + apart]};
        for (size_t row = 0; row < ROTATION_ROWS; row++)
            all[row * pairs + i] = column[row];
    }
    if (builder->err->kind)
        return;
    for (size_t row = 0; row < ROTATION_ROWS; row++)
        rows[row] = (struct named_vector){names[row], all + row * pairs};
    builder_stack(builder, rows, ROTATION_ROWS, pairs);
    builder->table->rows.name = "pair";
    give_vector(builder, "frequencies", rows[FREQUENCY_ROW].values, pairs);
    give_number(builder, "pair_distance", (float)apart);
    give_number(builder, "amplitude", (float)turn_factor(trace, false));
}

void step_query_rotary(struct builder *builder, const struct trace *trace)
{
    const struct rotary *r = trace->rotary;
    draw_rotation(builder, false);
    if (r->neighbours)
        builder_note(builder, "Pair i, (a, b): components 2i and 2i + 1.");
    else
        builder_note(builder, "Pair i, (a, b): components i and i + %z.", r->components / 2);
    if (r->components < trace->rule->head.d_k)
        builder_note(builder, "Components from %z on are not rotated.", r->components);
    draw_frequency(builder);
    show_rotation(builder);
    const struct named_vector turned = stages_of(trace, false).turned;
    builder_add(builder, "%s_0 = ", turned.name);
    work_rotation(builder, trace->q_pre, turned.values, false);
}

/* The worked example is the key at the query's position. The table of scores has all rotated keys;
 * if a later step changes them, this step shows them as well. */
void step_key_rotary(struct builder *builder, const struct trace *trace)
{
    const struct named_vector turned = stages_of(trace, true).turned;
    size_t width = trace->rule->head.d_k;
    size_t at = trace->query * width;
    draw_rotation(builder, true);
    builder_formula(builder, "θ_i = j × f_i");
    builder_note(builder,
                 "a and b are a pair of k_pre_j: each key is rotated by its own position j. Below: "
                 "component 0 of key %z.",
                 trace->query);
    if (trace->rule->score.kind == ATTENTION_LINEAR || trace->turns_first) {
        builder_keys(builder);
        builder_vectors(builder, turned.name, NULL, turned.values, width);
    }
    builder_add(builder, "%s_%z,0 = ", turned.name, trace->query);
    work_rotation(builder, trace->k_pre + at, turned.values + at, true);
}

/* --- keys and scores -------------------------------------------------------------------------- */

static void draw_keys(struct builder *builder, const char *symbol)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    const struct head_rule *head = &trace->rule->head;
    size_t served = head->heads / head->kv_heads;
    size_t first = trace->kv_head * served;
    if (head->borrows)
        builder_note(builder, "Keys and values are those of layer %z.", (size_t)head->kv_layer);
    else if (head->by == HEADS_PROJECTED) {
        give_rows(builder, "x_j", "x_j", trace->sources, trace->input_size, true);
        give_columns(builder, "W_k", &trace->block.self.k, trace->kv_head, head->d_k);
    }
    if (!head->borrows)
        builder_projection(builder, symbol, "x_j", "k", &trace->block.self.k);
    if (trace->rule->kind == SUBLAYER_ATTEND_SOURCE)
        builder_note(builder,
                     has_encoder(config)
                         ? "Keys and values come from the encoder: x_j is row j of its output."
                         : "Keys and values come from the source text.");
    if (served > 1)
        builder_note(builder, "Query heads %z to %z share key/value head %z.", first,
                     first + served - 1, trace->kv_head);
}

void step_keys(struct builder *builder, const struct trace *trace)
{
    const struct named_vector keys = stages_of(trace, true).projected;
    builder_keys(builder);
    const struct column *column =
        builder_vectors(builder, keys.name, NULL, keys.values, trace->rule->head.d_k);
    if (!builder->err->kind)
        draw_keys(builder, column->title);
}

/* Work out score_0 = 0.5667 × (-0.0823) + 1.8269 × (-0.3031) = -0.6004, for a query `a` [dk] and
 * keys `b` [S, dk]. */
static void show_scores(struct builder *builder, const char *name, const float *a, const float *b)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->rule->head.d_k;
    if (builder->err->kind)
        return;
    builder_keys(builder);
    builder_vectors(builder, name, NULL, b, width);
    builder_column(builder, "score", NULL, trace->scores);
    builder_add(builder, "score_%k = ");
    builder_add_dot(builder, a, b + builder->key * width, width);
    builder_work(builder, " = %n", trace->scores[builder->key]);
}

void step_scores(struct builder *builder, const struct trace *trace)
{
    if (stages_of(trace, true).projected.values == trace->k && !trace->keys_edited)
        draw_keys(builder, "k_j");
    builder_formula(builder, "score_j = q · k_j");
    show_scores(builder, "k", trace->q, trace->k);
}

/* Apply φ (linear attention) to vectors [rows, dk]. */
static float *take_features(struct builder *builder, const float *vectors, size_t rows)
{
    size_t width = builder->trace->rule->head.d_k;
    float *features = builder_floats(builder, rows * width);
    if (features)
        phi_rows((struct matrix){features, rows, width, width},
                 (struct matrix){(float *)vectors, rows, width, width}); /* cast: phi_rows only
                                                                          * reads it */
    return features;
}

void step_features(struct builder *builder, const struct trace *trace)
{
    const float *q = trace->q;
    const float *features = take_features(builder, q, 1);
    const struct named_vector rows[] = {{"q", q}, {"f", features}};
    builder_formula(builder, "f = φ(q)");
    builder_formula(builder, "φ(x) = x + 1 for x > 0, e^x for x ≤ 0");
    builder_note(
        builder,
        "Features are positive, and so are their products: there is no softmax and no scale.");
    builder_stack(builder, rows, 2, trace->rule->head.d_k);
    if (!builder->err->kind)
        builder_work(builder, *q > 0 ? "f_0 = %n + 1 = %n" : "f_0 = e^(%n) = %n", *q, *features);
}

void step_products(struct builder *builder, const struct trace *trace)
{
    const float *f = take_features(builder, trace->q, 1);
    const float *g = take_features(builder, trace->k, trace->keys);
    builder_formula(builder, "g_j = φ(k_j)");
    builder_formula(builder, "score_j = f · g_j");
    show_scores(builder, "g", f, g);
}

/* --- scale, cap, ALiBi, temperature ----------------------------------------------------------- */

/* Changes of scores in the order of the pass; each model makes some of them. */
enum change { NONE, SCALED, CAPPED, MOVED, COOLED, CHANGES };

static const char *const changed[] = {"score", "scaled", "capped", "moved", "cooled"};

/* Return the scores of all keys after the change `last` or, if the model lacks it, after the
 * nearest earlier change that it has. The scores are computed again: no tensor of the pass has them
 * for masked keys. */
static struct named_vector take_scores(struct builder *builder, enum change last)
{
    const struct trace *trace = builder->trace;
    struct score_rule rule = trace->rule->score;
    const struct head_bias none = {0}, *bias = &trace->bias;
    const bool has[] = {true, rule.scale != 1, rule.cap > 0, bias->slope > 0 || bias->near,
                        rule.temperature > 0};
    float *scores = builder_floats(builder, trace->keys);
    while (!has[last])
        last--;
    rule.scale = last >= SCALED ? rule.scale : 1;
    rule.cap = last >= CAPPED ? rule.cap : 0;
    rule.temperature = last >= COOLED ? rule.temperature : 0;
    if (scores) {
        memcpy(scores, trace->scores, trace->keys * sizeof *scores);
        score_apply(&rule, last >= MOVED ? bias : &none, trace->query, scores,
                    (struct key_range){0, trace->keys}, trace->keys);
    }
    return (struct named_vector){changed[last], scores};
}

/* Show scores before and after a change; `form` is the format of the worked example, for one key's
 * score and the number `by`. */
static void show_change(struct builder *builder, enum change change, const char *form, float by)
{
    const struct trace *trace = builder->trace;
    const struct named_vector before = take_scores(builder, change - 1);
    const struct named_vector after = take_scores(builder, change);
    float *biases = change == MOVED ? builder_floats(builder, trace->keys) : NULL;
    if (builder->err->kind)
        return;
    for (size_t j = 0; biases && j < trace->keys; j++)
        biases[j] = score_bias(&trace->rule->score, &trace->bias, trace->query, j, trace->keys);
    builder_keys(builder);
    builder_column(builder, before.name, NULL, before.values);
    if (biases)
        builder_column(builder, "bias", NULL, biases);
    builder_column(builder, after.name, NULL, after.values);
    builder_add(builder, "%s_%k = ", after.name);
    if (change == CAPPED)
        builder_add(builder, "%n × ", by);
    builder_add(builder, form, before.values[builder->key], by);
    builder_work(builder, " = %n", after.values[builder->key]);
}

void step_scaled(struct builder *builder, const struct trace *trace)
{
    const struct score_rule *rule = &trace->rule->score;
    size_t d_k = trace->rule->head.d_k;
    float root = 1.0f / sqrtf((float)d_k);
    float temperature = trace->config->mechanism.temperature;
    give_number(builder, "scale", rule->scale);
    builder_add(builder, "scaled_j = score_j");
    if (rule->base_scale == root && d_k > 1)
        builder_add(builder, " / √d_k = score_j / √%z", d_k);
    else if (rule->base_scale == root / (float)(trace->layer + 1) && trace->layer > 0)
        builder_add(builder, " / (√d_k × layer) = score_j / (√%z × %z)", d_k, trace->layer + 1);
    else if (rule->base_scale != 1)
        builder_add(builder, " × %f", rule->base_scale);
    if (temperature > 0 && rule->temperature == 0) {
        builder_add(builder, " / %n", temperature);
        builder_note(builder, "The last divisor is the temperature.");
    }
    builder_formula(builder, "");
    if (rule->scale == 1)
        builder_note(builder, "The scale is 1: the scores do not change.");
    else
        show_change(builder, SCALED, "%n × %f", rule->scale);
}

void step_capped(struct builder *builder, const struct trace *trace)
{
    float cap = trace->rule->score.cap;
    give_number(builder, "cap", cap);
    builder_formula(builder, "capped_j = %n × tanh(%s_j / %n)", cap,
                    take_scores(builder, SCALED).name, cap);
    builder_note(builder, "Small scores hardly change; none exceeds the cap.");
    show_change(builder, CAPPED, "tanh(%n / %n)", cap);
}

/* Explain moved_j = scaled_j + 0.2500 × j, or + bias(j - i); the worked example is the key at the
 * query's position. */
void step_moved(struct builder *builder, const struct trace *trace)
{
    const struct score_rule *rule = &trace->rule->score;
    bool scaled = rule->bias == BIAS_ALIBI_ROUNDED;
    if (!trace->bias.near)
        give_number(builder, "slope", trace->bias.slope);
    builder_add(builder, "moved_j = %s_j + ", take_scores(builder, CAPPED).name);
    if (scaled)
        builder_add(builder, "%n × ", rule->scale);
    if (rule->bias == BIAS_DISENTANGLED) {
        bool both = trace->bias.keys && trace->bias.queries;
        builder_add(builder, "%f × (", rule->scale);
        if (trace->bias.keys)
            builder_add(builder, "q · k[%z - j]%s", trace->query, both ? " + " : "");
        if (trace->bias.queries)
            builder_add(builder, "k_j · q[%z - j]", trace->query);
        builder_formula(builder, ")");
        builder_note(builder,
                     "The bias depends on contents and on the distance from key to query: k[d] and "
                     "q[d] are the key and the query of a learned row for the distance d.");
    } else if (trace->bias.near) {
        builder_formula(builder, "bias(j - %z)", trace->query);
        builder_note(builder,
                     "The bias depends on the distance from the query to the key: a number "
                     "of this head in a table, with a row for each range of distances.");
    } else if (rule->bias == BIAS_ALIBI_APART) {
        builder_formula(builder, "-%n × |j - %z|", trace->bias.slope, trace->query);
        builder_note(builder,
                     "The bias falls with the distance by the slope of this head (ALiBi).");
    } else {
        builder_formula(builder, "%n × j", trace->bias.slope);
        builder_note(builder,
                     "The bias grows with the key's position by the slope of this head (ALiBi).");
    }
    if (scaled)
        builder_note(builder, "Slope and product are rounded to bf16, as in training.");
    builder->key = trace->query;
    show_change(builder, MOVED, "%n%t",
                score_bias(rule, &trace->bias, trace->query, trace->query, trace->keys));
}

/* Explain cooled_j = moved_j / 2. */
void step_cooled(struct builder *builder, const struct trace *trace)
{
    float temperature = trace->rule->score.temperature;
    give_number(builder, "temperature", temperature);
    builder_formula(builder, "cooled_j = %s_j / %n", take_scores(builder, MOVED).name, temperature);
    show_change(builder, COOLED, "%n / %n", temperature);
}

/* --- mask ------------------------------------------------------------------------------------- */

/* Explain the mask. A mask before the softmax sets hidden scores to -inf; a mask after the softmax,
 * or in linear attention, sets them to 0. */
void step_masked(struct builder *builder, const struct trace *trace)
{
    const struct score_rule *rule = &trace->rule->score;
    bool linear = rule->kind == ATTENTION_LINEAR;
    const char *hidden = trace->softmax || linear ? "0" : "-inf";
    const struct named_vector from = trace->softmax
                                         ? (struct named_vector){"softmax", trace->softmax}
                                         : take_scores(builder, linear ? NONE : COOLED);
    size_t query = trace->query;
    const struct key_range range = score_visible(rule, query, trace->keys);
    size_t in_range = range.end - range.first;
    size_t visible = 0;
    for (size_t j = 0; j < trace->keys; j++)
        visible += trace->masked[j] != -INFINITY;
    bool hides = visible < trace->keys || in_range < trace->keys;
    builder_add(builder, "masked_j = %s_j", from.name);
    if (rule->pattern) {
        builder_add(builder, " for visible keys, %s for others", hidden);
        mechanism_write_attention(&builder->note, &trace->config->mechanism);
        builder_note(builder, "lets this query attend to %z of %z keys.", visible, in_range);
    } else if (rule->ahead == SIZE_MAX && rule->back == SIZE_MAX) {
        builder_note(builder, "There is no mask: every query attends to every key.");
    } else if (range.first || rule->ahead > 0) {
        builder_add(builder, " for %z ≤ j ≤ %z, %s for others", range.first, range.end - 1, hidden);
    } else {
        builder_add(builder, " for j ≤ %z, %s for j > %z", query, hidden, query);
        builder_note(builder,
                     hides
                         ? "A query attends to itself and to earlier tokens, not to later ones."
                         : "A query attends to itself and to earlier tokens: the last one to all.");
    }
    if (rule->back < SIZE_MAX)
        builder_note(builder,
                     rule->ahead > 0 && rule->ahead < SIZE_MAX
                         ? "This layer has a sliding window: the last %z keys and the next %z."
                         : "This layer has a sliding window: the last %z keys.",
                     rule->back + 1, rule->ahead);
    builder_formula(builder, "");
    if (!hides)
        return;
    builder_note(builder, "'run --show mask' prints the mask of all queries.");
    builder_keys(builder);
    builder_column(builder, from.name, NULL, from.values);
    builder_column(builder, "masked", NULL, trace->masked);
}

/* --- softmax, division, dropout --------------------------------------------------------------- */

static float sum_of(const float *values, size_t count)
{
    float sum = 0;
    for (size_t j = 0; j < count; j++)
        sum += values[j];
    return sum;
}

/* Return the number of scores in a softmax: one for each key, and one for the sink if the
 * head has one. */
static size_t count_rows(const struct trace *trace)
{
    return trace->keys + (trace->sink != NULL);
}

/* Return the values of the keys, followed by `*sink` unless `sink` is NULL. */
static const float *with_sink(struct builder *builder, const float *values, const float *sink)
{
    size_t keys = builder->trace->keys;
    float *all = sink ? builder_floats(builder, keys + 1) : NULL;
    if (!all || !values)
        return values;
    memcpy(all, values, keys * sizeof *all);
    all[keys] = *sink;
    return all;
}

/* Compute e^(x - max) for the values of all keys and, if the head has one, of the sink. */
static float *take_powers(struct builder *builder, const float *values)
{
    size_t keys = count_rows(builder->trace);
    float *powers = builder_floats(builder, keys);
    float max = values ? max_row(values, keys) : 0;
    for (size_t j = 0; powers && values && j < keys; j++)
        powers[j] = exp_negative(values[j] - max);
    return powers;
}

static float *take_shares(struct builder *builder, const float *parts)
{
    size_t keys = count_rows(builder->trace);
    float *shares = builder_floats(builder, keys);
    float sum = parts ? sum_of(parts, keys) : 1;
    for (size_t j = 0; shares && parts && j < keys; j++)
        shares[j] = parts[j] / sum;
    return shares;
}

/* Add a column of numbers, with their sum below. */
static struct column *add_summed(struct builder *builder, const char *name, const char *symbol,
                                 const float *values)
{
    struct column *column = builder_column(builder, name, symbol, values);
    float *sum = builder_floats(builder, 1);
    if (sum && values)
        *sum = sum_of(values, builder->table->rows.size);
    column->total = sum;
    builder->table->working.total = "sum";
    return column;
}

/* Return `parts` divided by their sum: the weights of the pass or, with dropout, the shares. Sets
 * `name` and the step's name to "weight" or "share". */
static const float *take_result(struct builder *builder, const char **name, const float *parts)
{
    bool dropped = builder->trace->config->mechanism.dropout > 0;
    *name = dropped ? "share" : "weight";
    builder->step->name = dropped ? "shares" : "weights";
    const struct trace *trace = builder->trace;
    return dropped ? take_shares(builder, parts)
                   : with_sink(builder, trace->weight, trace_row(trace, SITE_SINK));
}

/* Explain weight_j = e^(masked_j - max) / Σ_t e^(masked_t - max), with an example:
 *
 *     weight_0 = e^(-0.4246 - 2.4542) / 1.4556 = 0.0562 / 1.4556 = 0.0386
 *
 * If the mask changes no score, or comes after the softmax, masked_j is called by the name of the
 * last change of the scores, such as scaled_j or, without any change, score_j. */
void step_softmax(struct builder *builder, const struct trace *trace)
{
    const struct named_vector open = take_scores(builder, COOLED);
    if (builder->err->kind)
        return;
    const bool is_open = memcmp(open.values, trace->masked, trace->keys * sizeof(float)) == 0;
    const struct named_vector from =
        trace->softmax || is_open ? open : (struct named_vector){"masked", trace->masked};
    const struct label *keys;
    const char *of = from.name;
    const char *to = "softmax";
    size_t key = builder->key;
    const float *values = with_sink(builder, from.values, trace->sink);
    const char *power = arena_format(builder->arena, builder->err, "e^(%s_j - max)", of);
    const float *powers = take_powers(builder, values);
    const float *results = trace->softmax ? trace->softmax : take_result(builder, &to, powers);
    if (builder->err->kind)
        return;
    if (trace->rule->score.kind == ATTENTION_BLOCKED)
        builder_note(
            builder,
            "The pass takes %z keys at a time (online softmax): when a block raises the max, "
            "the running sum and context are rescaled.",
            trace->config->mechanism.block);
    builder_add(builder, "%s_j = e^(%s_j - max) / ", to, of);
    builder_formula(
        builder, trace->sink ? "(Σ_t e^(%s_t - max) + e^(sink - max))" : "Σ_t e^(%s_t - max)", of);
    builder_keys(builder);
    keys = builder->table->rows.labels;
    if (trace->sink) {
        struct label *rows = builder_rows(builder, trace->keys + 1);
        if (!rows)
            return;
        memcpy(rows, keys, trace->keys * sizeof *rows);
        rows[trace->keys] = builder_label("sink");
        builder_note(builder, "The sink of the head is a score that no key has: what the softmax "
                              "gives to it does not reach the context.");
    }
    builder_column(builder, trace->softmax ? of : "masked",
                   arena_format(builder->arena, builder->err, "%s_j", of), values);
    add_summed(builder, "power", power, powers);
    add_summed(builder, to, NULL, results)->fraction = true;
    float sum = sum_of(powers, count_rows(trace));
    builder_work(builder, "%s_%k = e^(%n%t) / %n = %n / %n = %n", to, values[key],
                 -max_row(values, count_rows(trace)), sum, powers[key], sum, results[key]);
}

/* Explain weights that are the masked scores divided by their sum, without a softmax. */
void step_shares(struct builder *builder, const struct trace *trace)
{
    const char *to;
    const float *results = take_result(builder, &to, trace->masked);
    builder_formula(builder, "%s_j = masked_j / Σ_t masked_t", to);
    if (trace->rule->score.kind == ATTENTION_LINEAR)
        builder_note(
            builder,
            "The weights are computed to be shown: otherwise the pass keeps two running sums "
            "over the keys, of g_j times v_j and of g_j, and divides their products with f.");
    builder_keys(builder);
    add_summed(builder, "masked", NULL, trace->masked);
    add_summed(builder, to, NULL, results)->fraction = true;
    if (!builder->err->kind)
        builder_work(builder, "%s_%k = %n / %n = %n", to, trace->masked[builder->key],
                     sum_of(trace->masked, trace->keys), results[builder->key]);
}

/* Explain dropout. The worked example is the first key that dropout keeps. */
void step_dropout(struct builder *builder, const struct trace *trace)
{
    const struct mechanism *mechanism = &trace->config->mechanism;
    const float *parts = trace->softmax
                             ? trace->masked
                             : take_powers(builder, with_sink(builder, trace->masked, trace->sink));
    const float *shares = take_shares(builder, parts);
    size_t key = 0;
    give_number(builder, "dropout", mechanism->dropout);
    builder_formula(builder,
                    "weight_j = 0 for keys that are dropped, share_j / (1 - P) for others");
    builder_note(builder, "Each key is dropped with probability P = %g (seed %z).",
                 mechanism->dropout, (size_t)mechanism->seed);
    builder_keys(builder);
    add_summed(builder, "share", NULL, shares);
    add_summed(builder, "weight", NULL, trace->weight)->fraction = true;
    while (key < trace->keys && trace->weight[key] == 0)
        key++;
    if (builder->err->kind || key == trace->keys)
        return;
    builder->key = key;
    builder_work(builder, "weight_%k = %n / (1 - %n) = %n", shares[key], mechanism->dropout,
                 trace->weight[key]);
}

/* --- two heads -------------------------------------------------------------------------------- */

/* Explain difference_j = weight_j - λ × other_j; in the second of the two heads, other_j - λ ×
 * weight_j. */
void step_difference(struct builder *builder, const struct trace *trace)
{
    static const char *const names[] = {"lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"};
    const struct head_rule *head = &trace->rule->head;
    const size_t half = context_heads(head), other = (trace->head + half) % head->heads;
    const float *others = trace_row_of_head(trace, SITE_WEIGHTS, !trace->own);
    const float *rows[] = {trace->own ? others : trace->weight,
                           trace->own ? trace->weight : others};
    struct lambda lambda;
    if (weights_lambda(trace->weights, trace->branch, trace->layer, &lambda, builder->err))
        return;
    for (size_t i = 0; i < 4; i++)
        give_vector(builder, names[i], lambda.vectors[i], head->d_k);
    builder_formula(builder, trace->own ? "difference_j = other_j - λ × weight_j"
                                        : "difference_j = weight_j - λ × other_j");
    builder_formula(builder, "λ = e^(λ_q1 · λ_k1) - e^(λ_q2 · λ_k2) + %n = %n%t%t = %n",
                    head->differ, lambda.powers[0], -lambda.powers[1], head->differ, lambda.lambda);
    builder_note(builder,
                 "Heads %z and %z make one context, with the difference of their weights: other_j "
                 "are the weights of head %z.",
                 trace->context_head, trace->context_head + half, other);
    builder_keys(builder);
    builder_column(builder, "weight", NULL, trace->weight);
    builder_column(builder, "other", NULL, others);
    builder_column(builder, "difference", NULL, trace->map);
    if (!builder->err->kind)
        builder_work(builder, "difference_%k = %n - %f × %n = %n", rows[0][builder->key],
                     lambda.lambda, rows[1][builder->key], trace->map[builder->key]);
}

/* Explain gated = context / √(mean(context²) + ε) ⊙ γ, where γ is 1 - λ_init. */
void step_gated(struct builder *builder, const struct trace *trace)
{
    const size_t width = context_width(&trace->rule->head);
    const float *all = trace_row(trace, SITE_GATED);
    float *scales = builder_floats(builder, width);
    struct norm norm;
    if (!scales ||
        weights_norm(trace->weights, slot_of((int)trace->branch, SLOT_CONTEXT_NORM, trace->layer),
                     &norm, builder->err))
        return;
    for (size_t i = 0; i < width; i++)
        scales[i] = norm.scale[i] + norm.offset;
    norm.scale = scales;
    norm.offset = 0;
    norm.plain = false;
    builder_norm(builder, (struct named_vector){"gated", all + trace->context_head * width},
                 (struct named_vector){"context", trace->context}, trace->has_norms ? &norm : NULL,
                 NULL, width);
    if (!trace->has_norms)
        return;
    give_number(builder, "epsilon", norm.epsilon);
    builder_note(builder, "γ is 1 - λ_init = %n.", *scales);
}

/* --- values and context ----------------------------------------------------------------------- */

enum { WORKED_ELEMENTS = 2 }; /* number of a vector's elements in the worked example */

static const char *map_name(const struct trace *trace)
{
    return trace->rule->head.differ > 0 ? "difference" : "weight";
}

/* Work out weight_0 × v_0 = [0.0386 × (-0.2546), …] = [-0.0098, …]. */
void step_values(struct builder *builder, const struct trace *trace)
{
    size_t width = context_width(&trace->rule->head);
    const char *end = width <= WORKED_ELEMENTS ? "]" : ", …]";
    float weight = trace->map[builder->key];
    const float *v = trace->v + builder->key * width;
    const struct head_rule *head = &trace->rule->head;
    const struct weight *w = head->v_is_k ? &trace->block.self.k : &trace->block.self.v;
    const char *name = map_name(trace);
    const char *letter = head->v_is_k ? "k" : "v", *product = head->norm.v ? "z_j" : "v_j";
    struct norm norm;
    if (head->borrows) {
        builder_note(builder, "They are those of layer %z.", (size_t)head->kv_layer);
    } else if (head->differ > 0) {
        const char *bias = w->bias ? " + b_v" : "";
        const size_t first = kv_head_of(head, trace->context_head);
        const size_t second = first + head->kv_heads / 2;
        give_columns(builder, "W_v", w, first, head->d_v);
        give_columns(builder, "W_v2", w, second, head->d_v);
        builder_formula(builder, "v_j = [x_j · W_v%s, x_j · W_v2%s]", bias,
                        w->bias ? " + b_v2" : "");
        builder_note(builder, "The values of key/value heads %z and %z, side by side.", first,
                     second);
    } else {
        if (head->by == HEADS_PROJECTED)
            give_columns(builder, head->v_is_k ? "W_k" : "W_v", w, trace->kv_head, width);
        builder_projection(builder, product, "x_j", letter, w);
        if (head->norm.v && trace->has_norms &&
            !weights_norm(trace->weights, slot_of((int)trace->branch, SLOT_NONE, trace->layer),
                          &norm, builder->err))
            builder_norm_formula(builder, "v_j", product, &norm);
        else if (head->norm.v)
            builder_formula(builder, "v_j = %s", product);
    }
    builder_keys(builder);
    builder_column(builder, name, NULL, trace->map);
    builder_vectors(builder, "v", NULL, trace->v, width);
    builder_add(builder, "%s_%k × v_%k = [", name);
    for (size_t i = 0; i < width && i < WORKED_ELEMENTS; i++)
        builder_add(builder, i ? ", %n × %f" : "%n × %f", weight, v[i]);
    builder_add(builder, "%s = [", end);
    for (size_t i = 0; i < width && i < WORKED_ELEMENTS; i++)
        builder_add(builder, i ? ", %n" : "%n", weight * v[i]);
    builder_work(builder, end);
}

/* Work out context_0 = -0.0098 + 0.4542 - 0.0175 + 0.0498 + 0.0824 - 0.0278 = 0.5313, from the
 * first to the last key whose weight is not 0. */
void step_context(struct builder *builder, const struct trace *trace)
{
    size_t width = context_width(&trace->rule->head);
    size_t first = 0;
    size_t end = trace->keys;
    const char *name = map_name(trace);
    float *products = builder_floats(builder, trace->keys * width);
    if (!products)
        return;
    for (size_t i = 0; i < trace->keys * width; i++)
        products[i] = trace->map[i / width] * trace->v[i] + 0.0f; /* avoids -0 for masked keys */
    builder_formula(builder, "context = Σ_j %s_j × v_j", name);
    builder_keys(builder);
    builder->table->working.total = "context";
    builder_vectors(builder, "weighted",
                    arena_format(builder->arena, builder->err, "%s_j × v_j", name), products, width)
        ->total = trace->context;
    while (end > 1 && trace->map[end - 1] == 0)
        end--;
    while (first + 1 < end && trace->map[first] == 0)
        first++;
    builder_add(builder, "context_0 = ");
    builder_add_sum(builder, products + first * width, width, end - first);
    builder_work(builder, " = %n", trace->context[0]);
}
