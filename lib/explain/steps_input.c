/* steps_input.c: from the layer's input to the query. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain/steps.h"

static const struct quantity vectors_of_rows = {"vector", {"", ""}, {"", ""}};

/* The input and what it comes from; what is not there is left out. */
static void show_stream(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct norm *norm = given_norm(trace);
    const struct {
        const char *name;
        const float *values;
    } vectors[] = {{"wte", trace->token},
                   {trace->config->sinusoids ? "PE" : "wpe", trace->position},
                   {"h", trace->stream},
                   {"γ", norm ? norm->scale : NULL},
                   {"β", norm ? norm->shift : NULL},
                   {"x", trace->x}};
    enum { COUNT = sizeof vectors / sizeof *vectors };
    size_t width = trace->input_size;
    struct label *rows = builder_rows(builder, COUNT);
    float *values = builder_floats(builder, COUNT * width);
    size_t used = 0;
    if (builder->failed)
        return;
    for (size_t i = 0; i < COUNT; i++) {
        if (!vectors[i].values)
            continue;
        rows[used] = builder_label(vectors[i].name);
        memcpy(values + used++ * width, vectors[i].values, width * sizeof *values);
    }
    builder->table->row_count = used;
    builder_vectors(builder, &vectors_of_rows, values, width);
}

/* A number that a float32 may be too small for: a square of what is not. */
static void write_wide(struct builder *builder, double value)
{
    char digits[NUMERAL_BYTES];
    const struct number narrow = builder_number(builder, (float)value);
    if (isfinite(narrow.value)) {
        formula_write(&builder->out, "%n", "%n", 0, &narrow);
        return;
    }
    snprintf(digits, sizeof digits, "%.2e", value);
    buf_text(&builder->out.text, digits);
    numeral_latex(&builder->out.latex, digits);
}

/* μ = 0.0021, σ² = 0.0198, ε = 1.00e-05: of what the norm takes in. */
static void work_norm(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct number epsilon = builder_number(builder, given_norm(trace)->epsilon);
    double mean = 0;
    double variance = 0;
    for (size_t c = 0; c < trace->input_size; c++)
        mean += (double)trace->stream[c] / (double)trace->input_size;
    for (size_t c = 0; c < trace->input_size; c++)
        variance += pow((double)trace->stream[c] - mean, 2) / (double)trace->input_size;
    formula_write(&builder->out, "μ = ", "\\mu = ", 0, NULL);
    write_wide(builder, mean);
    formula_write(&builder->out, ", σ² = ", ",\\; \\sigma^2 = ", 0, NULL);
    write_wide(builder, variance);
    builder_work(builder, ", ε = %n", ",\\; \\varepsilon = %n", &epsilon);
}

/* h = √16 · wte[4] + wpe[2]: the rows of the embeddings that the token and its place have. */
static void draw_embedding(struct builder *builder, const char *name)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    struct formula_writer *out = &builder->out;
    uint32_t id = report_queries(trace->report, trace->part)->tokens[trace->query].id;
    bool waves = config->sinusoids;
    buf_format(&out->text, "%s = ", name);
    buf_format(&out->latex, "%s = ", name);
    if (config->embedding_scale != 1) {
        buf_format(&out->text, "√%zu · ", config->n_embd);
        buf_format(&out->latex, "\\sqrt{%zu}\\,", config->n_embd);
    }
    buf_format(&out->text, "wte[%u]", id);
    buf_format(&out->latex, "\\mathrm{wte}_{%u}", id);
    if (trace->position) {
        buf_format(&out->text, " + %s[%zu]", waves ? "PE" : "wpe", trace->query);
        buf_format(&out->latex, " + \\mathrm{%s}_{%zu}", waves ? "PE" : "wpe", trace->query);
    }
    if (trace->position && waves)
        buf_text(builder_note(builder), "PE are sines and cosines of the place in the text.");
    builder_drawn(builder);
}

/* Is it the sum of embeddings, or what something else gave? */
static bool begins_with_embedding(const struct trace *trace)
{
    return trace->layer == 0 && trace->part != PART_CROSS;
}

/* Who gave h; or x, where there is no norm between the two: if norms come last, it went through
 * one. */
static void note_giver(struct builder *builder, const char *name)
{
    const struct trace *trace = builder->trace;
    const struct mechanism *mechanism = &trace->config->mechanism;
    const char *giver = trace->part == PART_CROSS ? "self-attention" : "the layer before";
    bool bare = trace->config->kind == MODEL_ATTENTION;
    bool adds_up = !bare && !mechanism_lacks(mechanism, PART_RESIDUAL);
    bool normed = !bare && !trace->config->norm_first && !mechanism_lacks(mechanism, PART_NORM);
    struct buf *note = builder_note(builder);
    buf_format(note, adds_up ? "%s is the residual stream as %s left it" : "%s is what %s gave",
               name, giver);
    buf_text(note, normed ? ", normed" : "");
    buf_text(note, adds_up || bare ? "." : ": nothing is added up.");
}

static void draw_norm(struct builder *builder)
{
    if (!given_norm(builder->trace)) {
        builder_formula(builder, "x = h", "x = h");
        return;
    }
    builder_formula(
        builder, "x = (h - μ) / √(σ² + ε) ⊙ γ + β",
        "x = \\frac{h - \\mu}{\\sqrt{\\sigma^2 + \\varepsilon}} \\odot \\gamma + \\beta");
    work_norm(builder);
}

void step_input(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool embeds = begins_with_embedding(trace);
    if (embeds && !trace->stream)
        builder->step->title = "Embedding";
    (embeds ? draw_embedding : note_giver)(builder, trace->stream ? "h" : "x");
    if (trace->stream)
        draw_norm(builder);
    if (trace->stream || trace->token)
        show_stream(builder);
    else
        builder_vector(builder, "x", trace->x, trace->input_size);
}

/* q_0 = x_0 · W_0,0 + x_1 · W_1,0 + … + b_0 = … */
static void work_product(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.q;
    const struct block *blocks = builder->table->blocks;
    const struct numeral numerals[] = {blocks[0].numeral, blocks[1].numeral};
    size_t width = blocks[1].width;
    const struct number q = {builder_numeral(builder, trace->q, width), trace->q[0]};
    const struct number bias = {numerals[1], w->bias ? blocks[1].values[w->in * width] : 0};
    formula_write(&builder->out, "q_0 = ", "q_{0} = ", 0, NULL);
    formula_dot(&builder->out, numerals, trace->x, blocks[1].values, width, w->in);
    if (w->bias)
        formula_write(&builder->out, "%t", "%t", 0, &bias);
    builder_work(builder, " = %n", " = %n", &q);
}

/* x and W_q beside each other, row by row; below them their product, q. */
static void show_product(struct builder *builder)
{
    static const struct quantity input = {"x", {"x", "x"}, {"x", "x"}};
    static const struct quantity matrix = {"W_q", {"W_q", "W_q"}, {"W_q", "W_q"}};
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.q;
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
    builder->table->total = "q";
    builder_column(builder, &input, x);
    builder_vectors(builder, &matrix, values, trace->config->d_k)->total = trace->q;
    work_product(builder);
}

void step_query(struct builder *builder)
{
    static const struct formula query[] = {{"q = x", "q = x"},
                                           {"q = x · W_q", "q = x\\,W_q"},
                                           {"q = x · W_q + b_q", "q = x\\,W_q + b_q"}};
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    builder_projection(builder, &trace->weights.q, query);
    if (config->projections && given_query_is_small(trace)) {
        show_product(builder);
        return;
    }
    if (config->projections)
        buf_format(builder_note(builder), "W_q is the [%zu, %zu] of this head.",
                   trace->weights.q.in, config->d_k);
    else
        buf_text(builder_note(builder),
                 "There are no projections: q, k and v are the inputs themselves.");
    builder_vector(builder, "q", trace->q, config->d_k);
}
