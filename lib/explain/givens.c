/* givens.c: weights of the model, and rows that the pass made before. A step's file draws formulas
 * with them; here they are listed, as they are.
 */
#include <assert.h>

#include "explain/steps.h"
#include "model/batch.h"

enum { SMALL = 8 }; /* rows and columns of a matrix that is shown anyway */

static bool is_small(size_t rows, size_t columns)
{
    return rows <= SMALL && columns <= SMALL;
}

/* The next one of the step; its table is the builder's until the next `end`. */
static struct given *begin(struct builder *builder, bool is_matrix)
{
    struct step *step = builder->step;
    if (!step->givens)
        step->givens = builder->givens =
            arena_alloc(builder->arena, STEP_GIVENS_MAX, sizeof *builder->givens, builder->err);
    builder->failed |= !step->givens;
    if (builder->failed)
        return NULL;
    assert(step->given_count < STEP_GIVENS_MAX);
    struct given *given = &builder->givens[step->given_count++];
    *given = (struct given){.is_matrix = is_matrix, .table = {.corner = "", .own_row = NO_ROW}};
    builder->table = &given->table;
    return given;
}

static void end(struct builder *builder)
{
    builder->table = &builder->step->table;
}

/* --- what the step shows anyway --------------------------------------------------------------- */

static void give_vector(struct builder *builder, const char *name, const float *values,
                        size_t width)
{
    struct given *given = begin(builder, false);
    if (!given)
        return;
    given->is_shown = true;
    builder_vector(builder, name, values, width);
    end(builder);
}

static void give_number(struct builder *builder, const char *name, float value)
{
    struct given *given = begin(builder, false);
    float *number = given ? builder_floats(builder, 1) : NULL;
    if (!number)
        return;
    *number = value;
    given->is_shown = true;
    builder_rows(builder, 1);
    builder_column(builder, &(struct quantity){name, {name, name}, {name, name}}, number);
    end(builder);
}

void give_scale(struct builder *builder)
{
    give_number(builder, "scale", builder->trace->scale);
}

void give_dropout(struct builder *builder)
{
    give_number(builder, "dropout", builder->trace->config->mechanism.dropout);
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

/* Vectors [count, C] of the text that is looked at, or of the one that looks; NULL: none. */
static void give_rows(struct builder *builder, const char *name, struct formula symbol,
                      const float *values, bool of_keys)
{
    size_t width = builder->trace->input_size;
    struct given *given = values ? begin(builder, true) : NULL;
    if (!given)
        return;
    if (of_keys || !builder->trace->config->cross)
        builder_keys(builder);
    else
        name_queries(builder);
    given->is_small = is_small(1, width);
    builder_vectors(builder, &(struct quantity){name, symbol, symbol}, values, width);
    end(builder);
}

const struct norm *given_norm(const struct trace *trace)
{
    bool normed = trace->stream && !mechanism_lacks(&trace->config->mechanism, PART_NORM);
    return normed ? &trace->weights.norm : NULL;
}

/* What the inputs of all tokens are the sum of, so that those of keys can be followed, too. */
void give_input(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct norm *norm = given_norm(trace);
    bool waves = trace->config->sinusoids;
    float scale = trace->config->embedding_scale;
    const struct formula place =
        waves ? (struct formula){"PE", "\\mathrm{PE}"} : (struct formula){"wpe", "\\mathrm{wpe}"};
    if (trace->tokens && scale != 1)
        give_number(builder, "embedding_scale", scale);
    give_rows(builder, "wte", (struct formula){"wte", "\\mathrm{wte}"}, trace->tokens, false);
    give_rows(builder, place.text, place, trace->positions, false);
    give_rows(builder, "h", (struct formula){"h_j", "h_j"}, trace->streams, false);
    if (!norm)
        return;
    give_vector(builder, "gamma", norm->scale, trace->input_size);
    give_vector(builder, "beta", norm->shift, trace->input_size);
    give_number(builder, "epsilon", norm->epsilon);
}

/* --- weights ---------------------------------------------------------------------------------- */

/* Columns of a projection, dense, with the bias below them. */
static float *take_columns(struct builder *builder, const struct weight *w, size_t first,
                           size_t width)
{
    size_t rows = w->in + (w->bias != NULL);
    float *matrix = builder_floats(builder, rows * width);
    for (size_t i = 0; matrix && i < rows * width; i++) {
        const float *row = i / width < w->in ? w->data + i / width * w->stride : w->bias;
        matrix[i] = row[first + i % width];
    }
    return matrix;
}

/* Some columns of a projection, and of its bias; `shown` by the step's table, too. */
static void give_columns(struct builder *builder, const char *const names[2],
                         const struct weight *w, struct span columns, bool shown)
{
    size_t width = columns.count;
    const float *matrix = take_columns(builder, w, columns.first, width);
    struct given *given = matrix ? begin(builder, true) : NULL;
    if (!given)
        return;
    const struct formula symbol = {names[0], names[0]};
    given->is_shown = shown;
    given->is_small = is_small(w->in, width);
    given->table.corner = "channel";
    given->table.rows = builder->trace->report->numbers;
    given->table.row_count = w->in;
    struct block *block =
        builder_vectors(builder, &(struct quantity){names[0], symbol, symbol}, matrix, width);
    end(builder);
    if (!w->bias)
        return;
    given->table.total = names[1];
    block->total = matrix + w->in * width;
    give_vector(builder, names[1], block->total, width);
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
    static const char *const names[] = {"W_q", "b_q"};
    const struct trace *trace = builder->trace;
    if (trace->config->projections)
        give_columns(builder, names, &trace->weights.q, query_columns(trace),
                     given_query_is_small(trace));
}

/* What keys are made of, of which values are, too; and by what. */
void give_keys(struct builder *builder)
{
    static const char *const names[] = {"W_k", "b_k"};
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_k;
    if (!trace->config->projections)
        return;
    give_rows(builder, "x_j", (struct formula){"x_j", "x_j"}, trace->sources, true);
    give_columns(builder, names, &trace->weights.k, (struct span){trace->group * width, width},
                 false);
}

void give_values(struct builder *builder)
{
    static const char *const names[] = {"W_v", "b_v"};
    const struct trace *trace = builder->trace;
    size_t width = trace->config->d_v;
    if (trace->config->projections)
        give_columns(builder, names, &trace->weights.v, (struct span){trace->group * width, width},
                     false);
}

/* The head's rows of the output projection, and the bias of all heads. */
void give_output(struct builder *builder)
{
    static const struct quantity W_O = {"W_O", {"W_O,h", "W_{O,h}"}, {"W_O,h", "W_{O,h}"}};
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.out;
    size_t width = trace->config->d_v;
    if (!trace->config->out_proj)
        return;
    float *matrix = builder_floats(builder, width * w->out);
    struct given *given = matrix ? begin(builder, true) : NULL;
    if (!given)
        return;
    for (size_t i = 0; i < width * w->out; i++)
        matrix[i] = w->data[(trace->head * width + i / w->out) * w->stride + i % w->out];
    given->is_small = is_small(width, w->out);
    given->table.corner = "dim";
    given->table.rows = trace->report->numbers;
    given->table.row_count = width;
    builder_vectors(builder, &W_O, matrix, w->out);
    end(builder);
    if (w->bias)
        give_vector(builder, "b_O", w->bias, w->out);
}
