/* steps_places.c: what families of models do to queries and keys before they meet: a norm of heads,
 * and a rotation by their places. */
#include <math.h>
#include <stdio.h>

#include "explain/steps.h"
#include "math/portable_math.h"
#include "math/rotary.h"

/* --- norms of heads --------------------------------------------------------------------------- */

struct norm given_head_norm(const struct trace *trace, bool of_keys)
{
    struct norm norm = of_keys ? trace->weights.k_norm : trace->weights.q_norm;
    if (trace->config->head_norm == HEAD_NORM_WHOLE)
        norm.scale += (of_keys ? trace->group : trace->head) * trace->config->d_k;
    return norm;
}

/* q_pre = q_raw / √(mean(q_raw²) + ε) ⊙ γ, and mean(q_raw²) = 0.0198, ε = 1.00e-05. */
static void draw_head_norm(struct builder *builder, const char *y, const char *x, bool of_keys,
                           float square)
{
    const struct norm norm = given_head_norm(builder->trace, of_keys);
    const struct number numbers[] = {builder_number(builder, square),
                                     builder_number(builder, norm.epsilon)};
    builder_norm_formula(builder, y, x, &norm);
    if (builder->trace->config->head_norm == HEAD_NORM_WHOLE)
        buf_text(builder_note(builder), "The mean is that of all heads side by side.");
    buf_format(&builder->out, "mean(%s²) = ", x);
    builder_work(builder, "%n, ε = %n", numbers);
}

void step_query_norm(struct builder *builder)
{
    static const struct quantity square = {.name = "mean_square", .symbol = "mean(q_raw²)"};
    const struct trace *trace = builder->trace;
    const struct norm norm = given_head_norm(trace, false);
    const char *y = trace->q_pre ? "q_pre" : "q";
    const struct named_vector rows[] = {{"q_raw", trace_projected(trace).values},
                                        {"γ", norm.scale},
                                        {y, trace->q_pre ? trace->q_pre : trace->q}};
    float *squares = builder_floats(builder, 3);
    builder_stack(builder, rows, 3, trace->config->d_k);
    if (builder->failed)
        return;
    squares[0] = trace->raw_q.squares[trace->query];
    squares[1] = squares[2] = NAN;
    builder_column(builder, &square, squares);
    draw_head_norm(builder, y, "q_raw", false, squares[0]);
}

void step_key_norm(struct builder *builder)
{
    static const struct quantity square = {.name = "mean_square", .symbol = "mean(k_raw_j²)"};
    const struct trace *trace = builder->trace;
    bool turns = trace->k_pre != NULL;
    const float *keys = turns ? trace->k_pre : trace->k;
    builder_keys(builder);
    builder_column(builder, &square, trace->raw_k.squares);
    builder_vectors(builder, turns ? &quantity_k_pre : &quantity_k, keys, trace->config->d_k);
    draw_head_norm(builder, turns ? "k_pre_j" : "k_j", "k_raw_j", true, trace->raw_k.squares[0]);
}

/* --- rotations -------------------------------------------------------------------------------- */

/* f_i = 10000^(-2i / 64), and what a scaling makes of it. */
static void draw_frequency(struct builder *builder)
{
    const struct rotary *r = builder->trace->rotary;
    size_t length = builder->trace->keys;
    double second = r->components > 2 ? rotary_frequency(r, 1, length) : 1;
    double half = (double)(r->components / 2);
    bool dynamic = r->scaling == ROTARY_DYNAMIC && second < 1;
    double theta = dynamic ? exp_double(-half * log_double(second)) : r->theta;
    bool mixed = r->scaling == ROTARY_LLAMA3 || r->scaling == ROTARY_YARN;
    if (mixed)
        buf_format(&builder->out, ", f_i = s_i · g_i + (1 - s_i) · g_i / %g", r->factor);
    buf_format(&builder->out, ", %s_i = %.9g^(-2i / %zu)", mixed ? "g" : "f", theta, r->components);
    if (r->scaling == ROTARY_LINEAR)
        buf_format(&builder->out, " / %g", r->factor);
    if (r->scaling == ROTARY_LONGROPE)
        buf_format(&builder->out, " / c_i");
}

/* What no formula says of a scaling. */
static void note_scaling(struct builder *builder)
{
    static const char *const notes[] = {
        [ROTARY_PLAIN] = "",
        [ROTARY_LINEAR] = "",
        [ROTARY_DYNAMIC] = " The base grows with texts beyond those of the config.",
        [ROTARY_LLAMA3] = " s_i goes from 0 for long waves to 1 for short ones.",
        [ROTARY_YARN] = " s_i goes from 1 for fast pairs to 0 for slow ones.",
        [ROTARY_LONGROPE] = " c_i are factors of the config.",
    };
    const struct rotary *r = builder->trace->rotary;
    buf_text(&builder->note, notes[r->scaling]);
    if (rotary_amplitude(r) != 1)
        buf_format(builder_note(builder), "m is %g.", rotary_amplitude(r));
}

/* (a', b') = (a · cos θ - b · sin θ, b · cos θ + a · sin θ) */
static void draw_turn(struct builder *builder, char place)
{
    bool longer = rotary_amplitude(builder->trace->rotary) != 1;
    buf_format(&builder->out, "(a', b') = %s(a · cos θ_i - b · sin θ_i, b · cos θ_i + a · sin θ_i)",
               longer ? "m · " : "");
    builder_drawn(builder);
    if (place == 'j')
        buf_format(&builder->out, "θ_i = j · f_i");
    else
        buf_format(&builder->out, "θ_i = %zu · f_i", builder->trace->query);
    if (place != 'j')
        draw_frequency(builder);
    builder_drawn(builder);
}

/* Pair 0 of a vector that turns from `from` to `to`: q_0 = 0.52 · 0.28 - 0.31 · 0.96 = -0.15 */
static void work_turn(struct builder *builder, const char *name, const float *from, const float *to,
                      size_t place)
{
    const struct trace *trace = builder->trace;
    const struct rotary *r = trace->rotary;
    float amplitude = (float)rotary_amplitude(r);
    const float *wave = trace->waves + place * r->components;
    const struct number numbers[] = {
        builder_number(builder, amplitude),
        builder_number(builder, from[0]),
        builder_number(builder, wave[0] / amplitude),
        builder_number(builder, from[r->neighbours ? 1 : r->components / 2]),
        builder_number(builder, wave[r->components / 2] / amplitude),
        builder_number(builder, to[0])};
    buf_format(&builder->out, "%s = ", name);
    if (amplitude != 1)
        builder_work(builder, "%n · (%n · %f - %f · %f) = %n", numbers);
    else
        builder_work(builder, "%n · %f - %f · %f = %n", numbers + 1);
}

enum { TURN_ROWS = 8 };

/* A column a pair: what turns, its frequency and angle, cosine and sine, and what comes of it. */
static void show_turn(struct builder *builder)
{
    static const char *const names[TURN_ROWS] = {"a", "b", "f", "θ", "cos θ", "sin θ", "a'", "b'"};
    const struct trace *trace = builder->trace;
    const struct rotary *r = trace->rotary;
    size_t pairs = r->components / 2;
    size_t apart = r->neighbours ? 1 : pairs;
    float *all = builder_floats(builder, TURN_ROWS * pairs);
    struct named_vector rows[TURN_ROWS];
    for (size_t i = 0; all && i < pairs; i++) {
        size_t at = r->neighbours ? 2 * i : i;
        double frequency = rotary_frequency(r, i, trace->keys);
        double sine = 0;
        double cosine = 0;
        sine_cosine(&sine, &cosine, (double)trace->query * frequency);
        const float column[TURN_ROWS] = {
            trace->q_pre[at], trace->q_pre[at + apart],
            (float)frequency, (float)((double)trace->query * frequency),
            (float)cosine,    (float)sine,
            trace->q[at],     trace->q[at + apart]};
        for (size_t row = 0; row < TURN_ROWS; row++)
            all[row * pairs + i] = column[row];
    }
    if (builder->failed)
        return;
    for (size_t row = 0; row < TURN_ROWS; row++)
        rows[row] = (struct named_vector){names[row], all + row * pairs};
    builder_stack(builder, rows, TURN_ROWS, pairs);
    builder->table->corner = "pair";
}

void step_query_turn(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct rotary *r = trace->rotary;
    draw_turn(builder, 't');
    if (r->neighbours)
        buf_text(builder_note(builder), "Pair i, a and b, is components 2i and 2i + 1.");
    else
        buf_format(builder_note(builder), "Pair i, a and b, is components i and i + %zu.",
                   r->components / 2);
    if (r->components < trace->config->d_k)
        buf_format(builder_note(builder), "Those from %zu on do not turn.", r->components);
    note_scaling(builder);
    show_turn(builder);
    work_turn(builder, "q_0", trace->q_pre, trace->q, trace->query);
}

/* The numbers of the query's own key; all keys are in the table of scores. */
void step_key_turn(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    size_t at = trace->query * width;
    draw_turn(builder, 'j');
    buf_format(
        builder_note(builder),
        "a and b are k_pre_j's: keys turn as the query does, each by its own place j. Below: "
        "component 0 of key %zu.",
        trace->query);
    if (trace->config->mechanism.kind == ATTENTION_LINEAR) {
        builder_keys(builder);
        builder_vectors(builder, &quantity_k, trace->k, width);
    }
    char name[32];
    snprintf(name, sizeof name, "k_%zu,0", trace->query);
    work_turn(builder, name, trace->k_pre + at, trace->k + at, trace->query);
}
