/* steps_input.c: from the layer's input to the query. */
#include <math.h>
#include <stdio.h>

#include "explain/steps.h"

/* The norm that x comes of; NULL: there is none. */
static const struct norm *norm_of(const struct trace *trace)
{
    bool normed = trace->stream && !mechanism_lacks(&trace->config->mechanism, PART_NORM);
    return normed ? &trace->weights.norm : NULL;
}

/* The input and what it comes from; what is not there is left out. */
static int show_stream(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct norm *norm = norm_of(trace);
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
    if (!rows || !values)
        return -1;
    for (size_t i = 0; i < COUNT; i++) {
        if (!vectors[i].values)
            continue;
        rows[used] = builder_label(vectors[i].name);
        for (size_t c = 0; c < width; c++)
            values[used * width + c] = vectors[i].values[c];
        used++;
    }
    builder->table->row_count = used;
    builder_vectors(builder, "vector", "", "", values, width);
    return 0;
}

/* The same of all tokens: what the inputs of keys come from can be followed, too. */
static int give_streams(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const char *place = trace->config->sinusoids ? "PE" : "wpe";
    const struct given_rows rows[] = {
        {"wte", {"wte", "\\mathrm{wte}"}, trace->tokens, false},
        {place,
         {place, trace->config->sinusoids ? "\\mathrm{PE}" : "\\mathrm{wpe}"},
         trace->positions,
         false},
        {"h", {"h_j", "h_j"}, trace->streams, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].values && given_rows(builder, &rows[i]))
            return -1;
    return 0;
}

static int give_norm(struct builder *builder)
{
    const struct norm *norm = norm_of(builder->trace);
    if (!norm)
        return 0;
    return given_channels(builder, "gamma", norm->scale) ||
                   given_channels(builder, "beta", norm->shift) ||
                   given_number(builder, "epsilon", norm->epsilon)
               ? -1
               : 0;
}

static int give_input(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    float scale = trace->config->embedding_scale;
    if (trace->tokens && scale != 1 && given_number(builder, "embedding_scale", scale))
        return -1;
    return give_streams(builder) || give_norm(builder) ? -1 : 0;
}

/* A number that a float32 may be too small for: a square of what is not. */
static void add_wide(struct builder *builder, double value)
{
    char digits[NUMERAL_BYTES];
    float narrow = (float)value;
    if (isfinite(narrow)) {
        formula_number(&builder->out, builder_numeral(builder, &narrow, 1), narrow);
        return;
    }
    snprintf(digits, sizeof digits, "%.2e", value);
    buf_text(&builder->out.text, digits);
    numeral_latex(&builder->out.latex, digits);
}

/* μ = 0.0021, σ² = 0.0198, ε = 1.00e-05: of what the norm takes in. */
static int work_norm(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const float *epsilon = &norm_of(trace)->epsilon;
    double mean = 0;
    double variance = 0;
    for (size_t c = 0; c < trace->input_size; c++)
        mean += (double)trace->stream[c] / (double)trace->input_size;
    for (size_t c = 0; c < trace->input_size; c++)
        variance += pow((double)trace->stream[c] - mean, 2) / (double)trace->input_size;
    formula_add(&builder->out, "μ = ", "\\mu = ");
    add_wide(builder, mean);
    formula_add(&builder->out, ", σ² = ", ",\\; \\sigma^2 = ");
    add_wide(builder, variance);
    formula_add(&builder->out, ", ε = ", ",\\; \\varepsilon = ");
    formula_number(&builder->out, builder_numeral(builder, epsilon, 1), *epsilon);
    return builder_worked(builder);
}

/* h = √16 · wte[4] + wpe[2]: the rows of the embeddings that the token and its place have. */
static int draw_embedding(struct builder *builder, const char *name)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    struct formula_writer *out = &builder->out;
    uint32_t id = report_queries(trace->report, trace->part)->tokens[trace->query].id;
    bool waves = config->sinusoids;
    formula_add(out, name, name);
    formula_equals(out);
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
    return builder_drawn(builder);
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

static int draw_origin(struct builder *builder, const char *name)
{
    if (begins_with_embedding(builder->trace))
        return draw_embedding(builder, name);
    note_giver(builder, name);
    return 0;
}

static int normed_input(struct builder *builder)
{
    builder_title(builder, "input", "Input");
    if (draw_origin(builder, "h"))
        return -1;
    if (mechanism_lacks(&builder->trace->config->mechanism, PART_NORM)) {
        builder_formula(builder, "x = h", "x = h");
        return show_stream(builder);
    }
    builder_formula(
        builder, "x = (h - μ) / √(σ² + ε) ⊙ γ + β",
        "x = \\frac{h - \\mu}{\\sqrt{\\sigma^2 + \\varepsilon}} \\odot \\gamma + \\beta");
    return work_norm(builder) || show_stream(builder) ? -1 : 0;
}

int step_input(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    if (give_input(builder))
        return -1;
    if (trace->stream)
        return normed_input(builder);
    builder_title(builder, "input", begins_with_embedding(trace) ? "Embedding" : "Input");
    if (draw_origin(builder, "x"))
        return -1;
    return trace->token ? show_stream(builder)
                        : builder_vector(builder, "x", trace->x, trace->input_size);
}

/* q_0 = x_0 · W_0,0 + x_1 · W_1,0 + … + b_0 = … */
static int work_product(struct builder *builder, const struct weight *w)
{
    const struct trace *trace = builder->trace;
    struct formula_writer *out = &builder->out;
    const struct block *blocks = builder->table->blocks;
    const struct numeral numerals[] = {blocks[0].numeral, blocks[1].numeral};
    size_t width = blocks[1].width;
    formula_symbol(out, "q", "q", 0);
    formula_equals(out);
    formula_dot(out, numerals, trace->x, blocks[1].values, width, w->in);
    if (w->bias)
        formula_term(out, blocks[1].numeral, blocks[1].values[w->in * width]);
    formula_equals(out);
    formula_number(out, builder_numeral(builder, trace->q, width), trace->q[0]);
    return builder_worked(builder);
}

/* x and W_q beside each other, row by row; below them their product, q. */
static int show_product(struct builder *builder, const struct given_columns *own)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = own->weight;
    size_t count = w->in + (w->bias != NULL);
    struct label *rows = builder_rows(builder, count);
    float *x = builder_floats(builder, count);
    const float *matrix = given_matrix(builder, own);
    if (!rows || !x || !matrix)
        return -1;
    for (size_t c = 0; c < w->in; c++) {
        rows[c] = trace->report->numbers[c];
        x[c] = trace->x[c];
    }
    if (w->bias) {
        rows[w->in] = builder_label(own->bias);
        x[w->in] = NAN;
    }
    builder->table->corner = "channel";
    builder->table->total = "q";
    builder_column(builder, "x", "x", "x", x);
    builder_vectors(builder, own->name, own->name, own->name, matrix, own->width)->total = trace->q;
    return work_product(builder, w);
}

int step_query(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    const struct weight *w = &trace->weights.q;
    builder_title(builder, "query", "Query");
    if (!config->projections) {
        builder_formula(builder, "q = x", "q = x");
        buf_text(builder_note(builder),
                 "There are no projections: q, k and v are the inputs themselves.");
    } else if (w->bias) {
        builder_formula(builder, "q = x · W_q + b_q", "q = x\\,W_q + b_q");
    } else {
        builder_formula(builder, "q = x · W_q", "q = x\\,W_q");
    }
    if (!config->projections)
        return builder_vector(builder, "q", trace->q, config->d_k);
    bool is_small = given_is_small(w->in, config->d_k);
    const struct given_columns own = {
        .name = "W_q",
        .bias = "b_q",
        .weight = w,
        .first = trace->head * config->d_k,
        .width = config->d_k,
        .is_shown = is_small,
    };
    if (given_columns(builder, &own))
        return -1;
    if (is_small)
        return show_product(builder, &own);
    buf_format(builder_note(builder), "W_q is the [%zu, %zu] of this head.", w->in, own.width);
    return builder_vector(builder, "q", trace->q, config->d_k);
}
