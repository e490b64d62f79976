/* givens.c: weights of the model, and rows that the pass made before. A step's file draws formulas
 * with them; here they are listed, as they are.
 */
#include <assert.h>

#include "explain/steps.h"
#include "math/rotary.h"
#include "model/attention_strip.h"

enum {
    SMALL = 8,       /* rows and columns of a matrix that is shown anyway */
    FOLLOWED = 4096, /* numbers of a matrix of a whole layer that is listed */
};

static bool is_small(size_t rows, size_t columns)
{
    return rows <= SMALL && columns <= SMALL;
}

/* The next one of the step. */
static struct given *begin(struct builder *builder)
{
    struct step *step = builder->step;
    if (!step->givens)
        step->givens = builder->givens =
            arena_alloc(builder->arena, STEP_GIVENS_MAX, sizeof *builder->givens, builder->err);
    builder->failed |= !step->givens;
    if (builder->failed)
        return NULL;
    assert(step->given_count < STEP_GIVENS_MAX);
    return &builder->givens[step->given_count++];
}

/* --- what the step shows anyway --------------------------------------------------------------- */

/* A vector, or of width 0 a number. */
static void give_values_of(struct builder *builder, const char *name, const float *values,
                           size_t width)
{
    struct given *given = begin(builder);
    if (!given)
        return;
    *given = (struct given){.is_shown = true, .table = {.row_count = 1, .block_count = 1}};
    given->table.blocks[0] = (struct block){
        .name = name, .is_vector = width > 0, .width = width ? width : 1, .values = values};
}

void give_number(struct builder *builder, const char *name, float value)
{
    float *number = builder->gives ? builder_floats(builder, 1) : NULL;
    if (!number)
        return;
    *number = value;
    give_values_of(builder, name, number, 0);
}

/* --- rows of tokens --------------------------------------------------------------------------- */

/* The tokens of the text that looks, which are called by their places. */
static void name_queries(struct builder *builder)
{
    const struct tokenized *tokenized =
        report_queries(builder->trace->report, builder->trace->part);
    struct label *rows = builder_rows(builder, tokenized->count);
    for (size_t i = 0; rows && i < tokenized->count; i++)
        rows[i] = builder_label(tokenized->labels[i].exact);
    builder->table->corner = "token";
    builder->table->own_row = builder->trace->query;
}

/* A matrix [rows, width], dense, whose rows are numbered: channels, unless another name is set. */
static struct given *give_matrix(struct builder *builder, const char *name, const char *symbol,
                                 const float *values, size_t rows, size_t width)
{
    struct given *given = values ? begin(builder) : NULL;
    if (!given)
        return NULL;
    *given = (struct given){.is_matrix = true, .is_small = is_small(rows, width)};
    given->table = (struct step_table){.corner = "channel",
                                       .rows = builder->trace->report->numbers,
                                       .row_count = rows,
                                       .own_row = NO_ROW,
                                       .block_count = 1};
    given->table.blocks[0] =
        (struct block){.name = name,
                       .symbol = symbol,
                       .is_vector = true,
                       .width = width,
                       .values = values,
                       .stride = width,
                       .numeral = builder_numeral(builder, values, rows * width)};
    return given;
}

/* Vectors [count, C] of the text that is looked at, or of the one that looks; NULL: none. */
static void give_rows(struct builder *builder, const char *name, const char *symbol,
                      const float *values, size_t width, bool of_keys)
{
    const struct trace *trace = builder->trace;
    bool keys = of_keys || !trace->config->cross;
    size_t count = keys ? trace->keys : report_queries(trace->report, trace->part)->count;
    struct given *given = give_matrix(builder, name, symbol, values, count, width);
    if (!given)
        return;
    given->is_small = is_small(1, width);
    builder->table = &given->table;
    (keys ? builder_keys : name_queries)(builder);
    builder->table = &builder->step->table;
}

const struct norm *given_norm(const struct trace *trace)
{
    bool normed = trace->stream && !mechanism_lacks(&trace->config->mechanism, PART_NORM);
    return normed ? &trace->weights.norm : NULL;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* Columns of a projection, dense, with the bias below them. */
static float *take_columns(struct builder *builder, const struct weight *w, size_t first,
                           size_t width)
{
    size_t rows = w->in + (w->bias != NULL);
    float *matrix = builder_floats(builder, rows * width);
    for (size_t i = 0; matrix && i < rows * width; i++) {
        size_t column = first + i % width;
        matrix[i] = i / width < w->in ? weight_element(w, i / width, column) : w->bias[column];
    }
    return matrix;
}

/* Some columns of a projection, and of its bias; `shown` by the step's table, too. */
static void give_columns(struct builder *builder, const char *name, const char *bias,
                         const struct weight *w, struct span columns, bool shown)
{
    const float *matrix = take_columns(builder, w, columns.first, columns.count);
    struct given *given = give_matrix(builder, name, name, matrix, w->in, columns.count);
    if (!given)
        return;
    given->is_shown = shown;
    if (!w->bias)
        return;
    given->table.total = bias;
    given->table.blocks[0].total = matrix + w->in * columns.count;
    give_values_of(builder, bias, given->table.blocks[0].total, columns.count);
}

static struct span query_columns(const struct trace *trace)
{
    return (struct span){trace->head * trace->config->d_k, trace->config->d_k};
}

float *given_query_matrix(struct builder *builder)
{
    struct span columns = query_columns(builder->trace);
    return take_columns(builder, &builder->trace->weights.q, columns.first, columns.count);
}

bool given_query_is_small(const struct trace *trace)
{
    return is_small(trace->weights.q.in, trace->config->d_k);
}

void give_query(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    if (trace->config->projections)
        give_columns(builder, "W_q", "b_q", &trace->weights.q, query_columns(trace),
                     given_query_is_small(trace));
}

/* What keys are made of, of which values are, too; and by what. */
void give_keys(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    if (!trace->config->projections)
        return;
    give_rows(builder, "x_j", "x_j", trace->sources, trace->input_size, true);
    give_columns(builder, "W_k", "b_k", &trace->weights.k,
                 (struct span){trace->group * width, width}, false);
}

void give_met_keys(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    if (!trace->raw_k.values && !trace->k_pre && !trace->keys_edited)
        give_keys(builder);
}

void give_values(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_v;
    if (trace->config->projections)
        give_columns(builder, "W_v", "b_v", &trace->weights.v,
                     (struct span){trace->group * width, width}, false);
}

/* The head's rows of the output projection, and the bias of all heads. */
void give_output(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.out;
    size_t width = trace->config->d_v;
    if (!trace->config->out_proj)
        return;
    float *matrix = builder_floats(builder, width * w->out);
    for (size_t i = 0; matrix && i < width * w->out; i++)
        matrix[i] = weight_element(w, trace->head * width + i / w->out, i % w->out);
    struct given *given = give_matrix(builder, "W_O", "W_O,h", matrix, width, w->out);
    if (given)
        given->table.corner = "dim";
    if (w->bias)
        give_values_of(builder, "b_O", w->bias, w->out);
}

/* A matrix that may be large, if it is one to be followed by hand. */
static void give_followed(struct builder *builder, const char *name, const char *bias,
                          const struct weight *w)
{
    if (weight_exists(w) && w->in * w->out <= FOLLOWED)
        give_columns(builder, name, bias, w, (struct span){0, w->out}, false);
}

/* From the channels of embeddings to the stream's, or back. */
static void give_projection(struct builder *builder, const char *name, bool out)
{
    struct weight w;
    struct weights *weights = &builder->trace->viewer->model.weights;
    builder->failed |= weights_projection(weights, out, &w, builder->err) != 0;
    if (!builder->failed)
        give_followed(builder, name, "", &w);
}

/* What the inputs of all tokens are the sum of, so that those of keys can be followed, too. */
void give_input(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct norm *norm = given_norm(trace);
    bool waves = trace->config->sinusoids;
    float scale = trace->config->embedding_scale;
    const char *place = waves ? "PE" : "wpe";
    if (trace->tokens && scale != 1)
        give_number(builder, "embedding_scale", scale);
    give_rows(builder, "wte", "wte", trace->word_rows ? trace->word_rows : trace->tokens,
              config_word_width(trace->config), false);
    if (trace->word_rows)
        give_projection(builder, "P_in", false);
    give_rows(builder, place, place, trace->positions, trace->input_size, false);
    give_rows(builder, "h", "h_j", trace->streams, trace->input_size, false);
    if (norm)
        give_values_of(builder, "gamma", norm->scale, trace->input_size);
    if (norm && norm->shift)
        give_values_of(builder, "beta", norm->shift, trace->input_size);
    if (norm || trace_row(trace, SITE_RESID_POST))
        give_number(builder, "epsilon", trace->config->epsilon);
}

/* --- what families of models have besides ----------------------------------------------------- */

void give_key_norm(struct builder *builder)
{
    const struct norm norm = given_head_norm(builder->trace, true);
    size_t width = builder->trace->config->d_k;
    struct given *given = give_matrix(builder, "gamma_k", "γ", norm.scale, 1, width);
    if (given)
        given->table.corner = "";
}

/* The frequencies of pairs, how far the members of a pair are apart, and what all is times. */
void give_turn(struct builder *builder)
{
    const struct rotary *rotary = builder->trace->rotary;
    size_t pairs = rotary->components / 2;
    float *frequencies = builder_floats(builder, pairs);
    for (size_t i = 0; frequencies && i < pairs; i++)
        frequencies[i] = (float)rotary_frequency(rotary, i, builder->trace->keys);
    give_values_of(builder, "frequencies", frequencies, pairs);
    give_number(builder, "pair_distance", rotary->neighbours ? 1 : (float)pairs);
    give_number(builder, "amplitude", (float)rotary_amplitude(rotary));
}

float given_slope(const struct trace *trace)
{
    return trace->config->alibi ? attention_slope(trace->config, trace->head) : 0;
}

void give_hidden(struct builder *builder)
{
    const struct mlp_weights *w = &builder->trace->mlp;
    give_followed(builder, "W_gate", "b_gate", &w->gate);
    give_followed(builder, "W_up", "b_up", &w->fc);
}

void give_mlp_out(struct builder *builder)
{
    give_followed(builder, "W_down", "b_down", &builder->trace->mlp.proj);
}

void give_logits(struct builder *builder)
{
    if (builder->trace->config->n_word)
        give_projection(builder, "P_out", true);
}
