/* steps_input.c: from the layer's input to the query. */
#include <math.h>
#include <string.h>

#include "explain/steps.h"

/* h = √16 · wte[4] + wpe[2]: the rows of the embeddings that the token and its place have. */
static void draw_embedding(struct builder *builder, const char *name)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    struct buf *out = &builder->out;
    uint32_t id = report_queries(trace->report, trace->part)->tokens[trace->query].id;
    bool waves = config->sinusoids;
    buf_format(out, "%s = ", name);
    const struct number scale = builder_number(builder, config->embedding_scale);
    if (config->embedding_scale == sqrtf((float)config->n_embd))
        buf_format(out, "√%zu · ", config->n_embd);
    else if (config->embedding_scale != 1)
        formula_write(out, "%n · ", 0, &scale);
    buf_format(out, "wte[%u]", id);
    if (trace->word_rows)
        buf_text(out, " · P_in");
    if (trace->position)
        buf_format(out, " + %s[%zu]", waves ? "PE" : "wpe", trace->query + config->position_offset);
    if (trace->position && waves)
        buf_text(builder_note(builder), "PE are sines and cosines of the place in the text.");
    builder_drawn(builder);
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
    if (trace->embedding_norm.scale) {
        buf_format(note, "%s is the embedding, normed.", name);
        return;
    }
    buf_format(note, adds_up ? "%s is the residual stream as %s left it" : "%s is what %s gave",
               name, giver);
    buf_text(note, normed ? ", normed" : "");
    buf_text(note, adds_up || bare ? "." : ": nothing is added up.");
}

/* What is normed before the first layer, and becomes its stream. */
void step_embedding(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct norm *norm = &trace->embedding_norm;
    const struct named_vector vectors[] = {
        {"e", trace->token}, {"γ", norm->scale}, {"β", norm->shift}, {"h", trace->stream}};
    draw_embedding(builder, "e");
    builder_norm(builder, "h", "e", norm, trace->token, trace->input_size);
    builder_stack(builder, vectors, sizeof vectors / sizeof *vectors, trace->input_size);
}

void step_input(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    bool embeds = trace->layer == 0 && trace->part != PART_CROSS && !trace->embedding_norm.scale;
    if (embeds && !trace->stream)
        builder->step->title = "Embedding";
    (embeds ? draw_embedding : note_giver)(builder, trace->stream ? "h" : "x");
    if (trace->stream)
        builder_norm(builder, "x", "h", given_norm(trace), trace->stream, trace->input_size);
    if (trace->stream || trace->token) {
        const struct norm *norm = given_norm(trace);
        const struct named_vector vectors[] = {
            {trace->word_rows ? "wte · P_in" : "wte",
             trace->embedding_norm.scale ? NULL : trace->token},
            {trace->config->sinusoids ? "PE" : "wpe", trace->position},
            {"h", trace->stream},
            {"γ", norm ? norm->scale : NULL},
            {"β", norm ? norm->shift : NULL},
            {"x", trace->x},
        };
        builder_stack(builder, vectors, sizeof vectors / sizeof *vectors, trace->input_size);
    } else {
        builder_vector(builder, "x", trace->x, trace->input_size);
    }
}

/* x and W_q beside each other, row by row; below them their product, q. */
static void show_product(struct builder *builder, const struct named_vector *q)
{
    static const struct quantity input = {"x", "x"};
    static const struct quantity matrix = {"W_q", "W_q"};
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
    builder->table->total = q->name;
    builder_column(builder, &input, x);
    builder_vectors(builder, &matrix, values, trace->config->d_k)->total = q->values;
    builder_dot(builder, q->name, trace->x, w, trace->head * trace->config->d_k, *q->values);
}

void step_query(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct config *config = trace->config;
    const struct named_vector q = trace_projected(trace);
    builder_projection(builder, q.name, 'q', &trace->weights.q);
    if (config->projections && given_query_is_small(trace)) {
        show_product(builder, &q);
        return;
    }
    if (config->projections)
        buf_format(builder_note(builder), "W_q is the [%zu, %zu] of this head.",
                   trace->weights.q.in, config->d_k);
    else
        buf_text(builder_note(builder),
                 "There are no projections: q, k and v are the inputs themselves.");
    builder_vector(builder, q.name, q.values, config->d_k);
}
