/* steps_scores.c: from the layer's input to the scores of the keys before the mask. */
#include <math.h>
#include <string.h>

#include "explain/steps.h"
#include "math/bf16.h"
#include "math/portable_math.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "math/running_sum.h"

/* --- input ------------------------------------------------------------------------------------ */

/* h = √16 · wte[4] + wpe[2] */
static void draw_embedding(struct builder *builder, const char *name)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    struct buf *out = &builder->out;
    const struct number scale = builder_number(builder, config->embedding_scale);
    bool sinusoids = config->sinusoids;
    buf_format(out, "%s = ", name);
    if (config->embedding_scale == sqrtf((float)config->n_embd))
        buf_format(out, "√%zu · ", config->n_embd);
    else if (config->embedding_scale != 1)
        formula_write(out, "%n · ", 0, &scale);
    buf_format(out, "wte[%u]%s",
               report_queries(trace->report, trace->part)->tokens[trace->query].id,
               trace->word_rows ? " · P_in" : "");
    if (trace->position)
        buf_format(out, " + %s[%zu]", sinusoids ? "PE" : "wpe",
                   trace->query + config->position_offset);
    if (trace->position && sinusoids)
        builder_note(builder, "PE is the sinusoidal position embedding.");
    builder_end_formula(builder);
}

/* Where h comes from; or x, where no norm is between the two. */
static void note_origin(struct builder *builder, const char *name)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    const char *origin = trace->part == PART_CROSS ? "self-attention" : "the previous layer";
    bool bare = trace->config->kind == MODEL_ATTENTION;
    bool adds_up = !bare && !mechanism_lacks(mechanism, PART_RESIDUAL);
    bool normed = !bare && !trace->config->norm_first && !mechanism_lacks(mechanism, PART_NORM);
    if (trace->embedding_norm.scale) {
        builder_note(builder, "%s is the embedding after its norm.", name);
        return;
    }
    builder_note(builder,
                 adds_up ? "%s is the residual stream after %s%s%s" : "%s is the output of %s%s%s",
                 name, origin, normed ? " and its norm" : "",
                 adds_up || bare ? "." : ", without a residual connection.");
}

/* The embedding's own norm, whose result is the stream of the first layer. */
void step_embedding(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct norm *norm = &trace->embedding_norm;
    const struct named_vector vectors[] = {
        {"e", trace->token}, {"γ", norm->scale}, {"β", norm->shift}, {"h", trace->stream}};
    draw_embedding(builder, "e");
    builder_norm(builder, "h", vectors[0], norm);
    builder_stack(builder, vectors, sizeof vectors / sizeof *vectors, trace->input_size);
}

void step_input(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct norm *norm = trace_norm(trace);
    bool embeds = trace->layer == 0 && trace->part != PART_CROSS && !trace->embedding_norm.scale;
    const struct named_vector vectors[] = {
        {trace->word_rows ? "wte · P_in" : "wte",
         trace->embedding_norm.scale ? NULL : trace->token},
        {trace->config->sinusoids ? "PE" : "wpe", trace->position},
        {"h", trace->stream},
        {"γ", norm ? norm->scale : NULL},
        {"β", norm ? norm->shift : NULL},
        {"x", trace->x},
    };
    if (embeds && !trace->stream)
        builder->step->title = "Embedding";
    (embeds ? draw_embedding : note_origin)(builder, trace->stream ? "h" : "x");
    if (trace->stream)
        builder_norm(builder, "x", vectors[2], norm);
    if (trace->stream || trace->token)
        builder_stack(builder, vectors, sizeof vectors / sizeof *vectors, trace->input_size);
    else
        builder_vector(builder, vectors[5], trace->input_size);
}

/* --- query ------------------------------------------------------------------------------------ */

/* x and W_q side by side, row by row, with their product q below them. */
static void show_product(struct builder *builder, struct named_vector q)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.q;
    size_t width = trace->config->d_k;
    size_t count = w->in + (w->bias != NULL);
    struct label *rows = builder_rows(builder, count);
    float *x = builder_floats(builder, count);
    const float *values = given_query_matrix(builder);
    if (builder->failed)
        return;
    for (size_t c = 0; c < count; c++) {
        rows[c] = c < w->in ? trace->report->numbers[c] : builder_label("b_q");
        x[c] = c < w->in ? trace->x[c] : NAN;
    }
    builder->table->corner = "channel";
    builder->table->total = q.name;
    builder_column(builder, "x", "x", x);
    builder_vectors(builder, "W_q", "W_q", values, width)->total = q.values;
    builder_dot(builder, q.name, trace->x, w, trace->head * width, *q.values);
}

void step_query(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    const struct named_vector q = trace_projected(trace);
    builder_projection(builder, q.name, 'q', &trace->weights.q);
    if (config->projections && given_query_is_small(trace)) {
        show_product(builder, q);
        return;
    }
    if (config->projections)
        builder_note(builder, "W_q: this head's columns of the query projection, [%zu, %zu].",
                     trace->weights.q.in, config->d_k);
    else
        builder_note(builder, "There are no projections: q, k and v are the inputs.");
    builder_vector(builder, q, config->d_k);
}

/* --- norms of heads --------------------------------------------------------------------------- */

/* q_pre = q_raw / √(mean(q_raw²) + ε) ⊙ γ, and mean(q_raw²) = 0.0198, ε = 1.00e-05. */
static void draw_head_norm(struct builder *builder, const char *y, const char *x, bool of_keys,
                           float square)
{
    const struct norm norm = trace_head_norm(builder->trace, of_keys);
    const struct number numbers[] = {builder_number(builder, square),
                                     builder_number(builder, norm.epsilon)};
    builder_norm_formula(builder, y, x, &norm);
    if (builder->trace->config->head_norm == HEAD_NORM_WHOLE)
        builder_note(builder, "The mean is over all heads together.");
    buf_format(&builder->out, "mean(%s²) = ", x);
    builder_work(builder, "%n, ε = %n", numbers);
}

void step_query_norm(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct norm norm = trace_head_norm(trace, false);
    const char *y = trace->q_pre ? "q_pre" : "q";
    const struct named_vector rows[] = {
        trace_projected(trace), {"γ", norm.scale}, {y, trace->q_pre ? trace->q_pre : trace->q}};
    float *squares = builder_floats(builder, 3);
    builder_stack(builder, rows, 3, trace->config->d_k);
    if (builder->failed)
        return;
    squares[0] = trace->raw_q.squares[trace->query];
    squares[1] = squares[2] = NAN;
    builder_column(builder, "mean_square", "mean(q_raw²)", squares);
    draw_head_norm(builder, y, "q_raw", false, squares[0]);
}

void step_key_norm(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool rotates = trace->k_pre != NULL;
    builder_keys(builder);
    builder_column(builder, "mean_square", "mean(k_raw_j²)", trace->raw_k.squares);
    builder_vectors(builder, rotates ? "k_pre" : "k", NULL, rotates ? trace->k_pre : trace->k,
                    trace->config->d_k);
    draw_head_norm(builder, rotates ? "k_pre_j" : "k_j", "k_raw_j", true, trace->raw_k.squares[0]);
}

/* --- rotary embedding ------------------------------------------------------------------------- */

/* (a', b') = (a · cos θ_i - b · sin θ_i, b · cos θ_i + a · sin θ_i) */
static void draw_rotation(struct builder *builder)
{
    builder_formula(builder, "(a', b') = %s(a · cos θ_i - b · sin θ_i, b · cos θ_i + a · sin θ_i)",
                    rotary_amplitude(builder->trace->rotary) != 1 ? "m · " : "");
}

/* θ_i = 1 · f_i, f_i = 10000^(-2i / 64), with the scaling of the frequencies. */
static void draw_frequency(struct builder *builder)
{
    static const char *const notes[] = {
        [ROTARY_PLAIN] = "",
        [ROTARY_LINEAR] = "",
        [ROTARY_DYNAMIC] = " The base grows with texts longer than in training.",
        [ROTARY_LLAMA3] = " s_i rises from 0 for low to 1 for high frequencies.",
        [ROTARY_YARN] = " s_i falls from 1 for high to 0 for low frequencies.",
        [ROTARY_LONGROPE] = " c_i: the factors in config.json.",
    };
    const struct rotary *r = builder->trace->rotary;
    size_t length = builder->trace->keys;
    double second = r->components > 2 ? rotary_frequency(r, 1, length) : 1;
    double half = (double)(r->components / 2);
    bool dynamic = r->scaling == ROTARY_DYNAMIC && second < 1;
    double theta = dynamic ? exp_double(-half * log_double(second)) : r->theta;
    bool mixed = r->scaling == ROTARY_LLAMA3 || r->scaling == ROTARY_YARN;
    buf_format(&builder->out, "θ_i = %zu · f_i", builder->trace->query);
    if (mixed)
        buf_format(&builder->out, ", f_i = s_i · g_i + (1 - s_i) · g_i / %g", r->factor);
    buf_format(&builder->out, ", %s_i = %.9g^(-2i / %zu)", mixed ? "g" : "f", theta, r->components);
    if (r->scaling == ROTARY_LINEAR)
        buf_format(&builder->out, " / %g", r->factor);
    builder_formula(builder, "%s", r->scaling == ROTARY_LONGROPE ? " / c_i" : "");
    buf_text(&builder->note, notes[r->scaling]);
    if (rotary_amplitude(r) != 1)
        builder_note(builder, "m = %g.", rotary_amplitude(r));
}

/* Pair 0 of a rotated vector: q_0 = 0.52 · 0.28 - 0.31 · 0.96 = -0.15 */
static void work_rotation(struct builder *builder, const char *name, const float *from,
                          const float *to)
{
    const struct trace *trace = builder->trace;
    const struct rotary *r = trace->rotary;
    float amplitude = (float)rotary_amplitude(r);
    const float *cos_sin = trace->cos_sin + trace->query * r->components;
    const struct number numbers[] = {
        builder_number(builder, amplitude),
        builder_number(builder, from[0]),
        builder_number(builder, cos_sin[0] / amplitude),
        builder_number(builder, from[r->neighbours ? 1 : r->components / 2]),
        builder_number(builder, cos_sin[r->components / 2] / amplitude),
        builder_number(builder, to[0])};
    buf_format(&builder->out, "%s = ", name);
    if (amplitude != 1)
        builder_work(builder, "%n · (%n · %f - %f · %f) = %n", numbers);
    else
        builder_work(builder, "%n · %f - %f · %f = %n", numbers + 1);
}

enum { ROTATION_ROWS = 8 };

/* A column a pair. */
static void show_rotation(struct builder *builder)
{
    static const char *const names[ROTATION_ROWS] = {"a",     "b",     "f",  "θ",
                                                     "cos θ", "sin θ", "a'", "b'"};
    const struct trace *trace = builder->trace;
    const struct rotary *r = trace->rotary;
    size_t pairs = r->components / 2;
    size_t apart = r->neighbours ? 1 : pairs;
    float *all = builder_floats(builder, ROTATION_ROWS * pairs);
    struct named_vector rows[ROTATION_ROWS];
    for (size_t i = 0; all && i < pairs; i++) {
        size_t at = r->neighbours ? 2 * i : i;
        double frequency = rotary_frequency(r, i, trace->keys);
        double angle = (double)trace->query * frequency;
        double sine = 0;
        double cosine = 0;
        sine_cosine(&sine, &cosine, angle);
        const float column[ROTATION_ROWS] = {trace->q_pre[at], trace->q_pre[at + apart],
                                             (float)frequency, (float)angle,
                                             (float)cosine,    (float)sine,
                                             trace->q[at],     trace->q[at + apart]};
        for (size_t row = 0; row < ROTATION_ROWS; row++)
            all[row * pairs + i] = column[row];
    }
    if (builder->failed)
        return;
    for (size_t row = 0; row < ROTATION_ROWS; row++)
        rows[row] = (struct named_vector){names[row], all + row * pairs};
    builder_stack(builder, rows, ROTATION_ROWS, pairs);
    builder->table->corner = "pair";
}

void step_query_rotary(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct rotary *r = trace->rotary;
    draw_rotation(builder);
    if (r->neighbours)
        builder_note(builder, "Pair i, (a, b): components 2i and 2i + 1.");
    else
        builder_note(builder, "Pair i, (a, b): components i and i + %zu.", r->components / 2);
    if (r->components < trace->config->d_k)
        builder_note(builder, "Components from %zu on are not rotated.", r->components);
    draw_frequency(builder);
    show_rotation(builder);
    work_rotation(builder, "q_0", trace->q_pre, trace->q);
}

/* The numbers of the query's own key; all keys are in the table of scores. */
void step_key_rotary(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    size_t at = trace->query * width;
    const char *name = arena_format(builder->arena, builder->err, "k_%zu,0", trace->query);
    draw_rotation(builder);
    builder_formula(builder, "θ_i = j · f_i");
    builder_note(builder,
                 "a and b are a pair of k_pre_j: each key is rotated by its own position j. Below: "
                 "component 0 of key %zu.",
                 trace->query);
    if (trace->config->mechanism.kind == ATTENTION_LINEAR) {
        builder_keys(builder);
        builder_vectors(builder, "k", NULL, trace->k, width);
    }
    builder->failed |= !name;
    if (name)
        work_rotation(builder, name, trace->k_pre + at, trace->k + at);
}

/* --- keys and scores -------------------------------------------------------------------------- */

/* Keys as they are projected: before a norm, before the rotary embedding, or final. */
static struct named_vector projected_keys(const struct trace *trace)
{
    if (trace->raw_k.values)
        return (struct named_vector){"k_raw", trace->raw_k.values};
    return trace->k_pre ? (struct named_vector){"k_pre", trace->k_pre}
                        : (struct named_vector){"k", trace->k};
}

static void draw_keys(struct builder *builder, const char *symbol)
{
    const struct config *config = builder->trace->config;
    size_t served = config->n_head / config->n_kv_head;
    size_t first = builder->trace->group * served;
    builder_projection(builder, symbol, 'k', &builder->trace->weights.k);
    if (config->cross && config->n_encoder_layer)
        builder_note(builder, "Keys and values come from the encoder: x_j is row j of its output.");
    else if (config->cross)
        builder_note(builder, "Keys and values come from the source text.");
    if (served > 1)
        builder_note(builder, "Query heads %zu to %zu share key/value head %zu.", first,
                     first + served - 1, builder->trace->group);
}

void step_keys(struct builder *builder)
{
    const struct named_vector keys = projected_keys(builder->trace);
    builder_keys(builder);
    const struct block *block =
        builder_vectors(builder, keys.name, NULL, keys.values, builder->trace->config->d_k);
    if (!builder->failed)
        draw_keys(builder, block->symbol);
}

/* score_0 = 0.5667 · (-0.0823) + 1.8269 · (-0.3031) = -0.6004: of a [dk] and b [S, dk]. */
static void show_scores(struct builder *builder, const char *name, const float *a, const float *b)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    if (builder->failed)
        return;
    builder_keys(builder);
    const struct block *keys = builder_vectors(builder, name, NULL, b, width);
    const struct block *scores = builder_column(builder, "score", NULL, trace->scores);
    const struct numeral numerals[] = {numeral_of(a, width, builder->digits), keys->numeral};
    const struct number score = block_number(scores, builder->key);
    formula_write(&builder->out, "score_%k = ", builder->key, NULL);
    formula_dot(&builder->out, numerals, a, b + builder->key * width, width);
    builder_work(builder, " = %n", &score);
}

void step_scores(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    if (projected_keys(trace).values == trace->k && !trace->keys_edited)
        draw_keys(builder, "k_j");
    builder_formula(builder, "score_j = q · k_j");
    show_scores(builder, "k", trace->q, trace->k);
}

/* --- linear attention ------------------------------------------------------------------------- */

/* φ of vectors [rows, dk]. */
static float *take_features(struct builder *builder, const float *vectors, size_t rows)
{
    size_t width = builder->trace->config->d_k;
    float *features = builder_floats(builder, rows * width);
    if (features)
        phi_rows((struct matrix){features, rows, width, width},
                 (struct matrix){(float *)vectors, rows, width, width}); /* it is only read */
    return features;
}

void step_features(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *features = take_features(builder, trace->q, 1);
    const struct named_vector rows[] = {{"q", trace->q}, {"f", features}};
    builder_formula(builder, "f = φ(q)");
    builder_formula(builder, "φ(x) = x + 1 for x > 0, e^x for x ≤ 0");
    builder_note(
        builder,
        "Features are positive, and so are their products: there is no softmax and no scale.");
    builder_stack(builder, rows, 2, trace->config->d_k);
    if (builder->failed)
        return;
    struct numeral numeral = builder->table->blocks[0].numeral;
    const struct number numbers[] = {{numeral, *trace->q}, {numeral, *features}};
    builder_work(builder, *trace->q > 0 ? "f_0 = %n + 1 = %n" : "f_0 = e^(%n) = %n", numbers);
}

void step_products(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *f = take_features(builder, trace->q, 1);
    const float *g = take_features(builder, trace->k, trace->keys);
    builder_formula(builder, "g_j = φ(k_j)");
    builder_formula(builder, "score_j = f · g_j");
    show_scores(builder, "g", f, g);
}

/* --- scale, cap, ALiBi, temperature ----------------------------------------------------------- */

/* In the order of the pass; a model has some of them. */
enum change { SCALED, CAPPED, MOVED, COOLED };

static const char *const changed[] = {"scaled", "capped", "moved", "cooled"};

/* ALiBi's bias of a key. */
static float bias_of(const struct trace *trace, size_t key)
{
    float slope = trace_slope(trace);
    if (trace->config->alibi == ALIBI_BLOOM)
        return slope * (float)key;
    return trace->scale * bf16_value(bf16_round(bf16_value(bf16_round(slope)) * (float)key));
}

static float *take_scores(struct builder *builder, enum change last)
{
    const struct trace *trace = builder->trace;
    float cap = trace->config->score_cap;
    float *scores = builder_floats(builder, trace->keys);
    for (size_t j = 0; scores && j < trace->keys; j++)
        scores[j] = trace->scores[j] * trace->scale;
    if (scores && last >= CAPPED && cap > 0)
        cap_row(scores, trace->keys, cap);
    for (size_t j = 0; scores && last >= MOVED && trace_slope(trace) > 0 && j < trace->keys; j++)
        scores[j] += bias_of(trace, j);
    if (scores && last >= COOLED && trace->cools)
        scale_row(scores, scores, trace->keys, 1.0f / trace->config->mechanism.temperature);
    return scores;
}

/* The last change before the temperature. */
static enum change last_change(const struct trace *trace)
{
    return trace_slope(trace) > 0 ? MOVED : trace->config->score_cap > 0 ? CAPPED : SCALED;
}

float *builder_scores(struct builder *builder, const char **name)
{
    *name = changed[builder->trace->cools ? COOLED : last_change(builder->trace)];
    return take_scores(builder, COOLED);
}

/* Scores named `of` before a change, `by` a number, and after it; and the numbers of one key: of
 * {by, before, by, after} all, or all but the first. */
static void show_change(struct builder *builder, enum change change, const char *of,
                        struct number by, const char *work)
{
    const float *before = change ? take_scores(builder, change - 1) : builder->trace->scores;
    const float *after = take_scores(builder, change);
    if (builder->failed)
        return;
    builder_keys(builder);
    const struct block *from = builder_column(builder, of, NULL, before);
    const struct block *to = builder_column(builder, changed[change], NULL, after);
    const struct number numbers[] = {by, block_number(from, builder->key), by,
                                     block_number(to, builder->key)};
    builder_work(builder, work, numbers + (change != CAPPED));
}

void step_scaled(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct buf *out = &builder->out;
    size_t d_k = trace->config->d_k;
    float root = 1.0f / sqrtf((float)d_k);
    float temperature = trace->config->mechanism.temperature;
    const struct number scale = builder_number(builder, trace->base_scale);
    const struct number divisor = builder_number(builder, temperature);
    give_number(builder, "scale", trace->scale);
    buf_text(out, "scaled_j = score_j");
    if (trace->base_scale == root && d_k > 1)
        buf_format(out, " / √d_k = score_j / √%zu", d_k);
    else if (trace->base_scale == root / (float)(trace->layer + 1) && trace->layer > 0)
        buf_format(out, " / (√d_k · layer) = score_j / (√%zu · %zu)", d_k, trace->layer + 1);
    else if (trace->base_scale != 1)
        formula_write(out, " · %f", 0, &scale);
    if (temperature > 0 && !trace->cools) {
        formula_write(out, " / %n", 0, &divisor);
        builder_note(builder, "The last divisor is the temperature.");
    }
    builder_end_formula(builder);
    if (trace->scale == 1)
        builder_note(builder, "The scale is 1: the scores do not change.");
    else
        show_change(builder, SCALED, "score", builder_number(builder, trace->scale),
                    "scaled_%k = %n · %f = %n");
}

void step_capped(struct builder *builder)
{
    const struct number cap = builder_number(builder, builder->trace->config->score_cap);
    const struct number caps[] = {cap, cap};
    give_number(builder, "cap", cap.value);
    formula_write(&builder->out, "capped_j = %n · tanh(scaled_j / %n)", 0, caps);
    builder_end_formula(builder);
    builder_note(builder, "Small scores hardly change; none exceeds the cap.");
    show_change(builder, CAPPED, "scaled", cap, "capped_%k = %n · tanh(%n / %n) = %n");
}

/* moved_j = scaled_j + 0.2500 · j; the numbers are those of the query's own key. */
void step_moved(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool scaled = trace->config->alibi == ALIBI_FALCON;
    const char *of = changed[trace->config->score_cap > 0 ? CAPPED : SCALED];
    const struct number factors[] = {builder_number(builder, trace->scale),
                                     builder_number(builder, trace_slope(trace))};
    give_number(builder, "slope", factors[1].value);
    buf_format(&builder->out, "moved_j = %s_j + ", of);
    formula_write(&builder->out, scaled ? "%n · %n · j" : "%n · j", 0, factors + !scaled);
    builder_end_formula(builder);
    builder_note(builder, "The bias grows with the key's position by the slope of this head.");
    if (scaled)
        builder_note(builder, "Slope and product are rounded to bf16, as in training.");
    const float *before = take_scores(builder, CAPPED);
    const float *after = take_scores(builder, MOVED);
    float *biases = builder_floats(builder, trace->keys);
    for (size_t j = 0; biases && j < trace->keys; j++)
        biases[j] = bias_of(trace, j);
    if (builder->failed)
        return;
    builder_keys(builder);
    builder->key = trace->query;
    const struct block *from = builder_column(builder, of, NULL, before);
    const struct block *bias = builder_column(builder, "bias", NULL, biases);
    const struct block *to = builder_column(builder, changed[MOVED], NULL, after);
    const struct number numbers[] = {block_number(from, builder->key),
                                     block_number(bias, builder->key),
                                     block_number(to, builder->key)};
    builder_work(builder, "moved_%k = %n%t = %n", numbers);
}

/* cooled_j = moved_j / 2 */
void step_cooled(struct builder *builder)
{
    const char *of = changed[last_change(builder->trace)];
    const struct number divisor =
        builder_number(builder, builder->trace->config->mechanism.temperature);
    give_number(builder, "temperature", divisor.value);
    buf_format(&builder->out, "cooled_j = %s_j", of);
    formula_write(&builder->out, " / %n", 0, &divisor);
    builder_end_formula(builder);
    show_change(builder, COOLED, of, divisor, "cooled_%k = %n / %n = %n");
}
