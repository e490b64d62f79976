#include <assert.h>

#include "explain/steps.h"

enum { SMALL = 8 }; /* rows and columns of a matrix that is shown anyway */

bool given_is_small(size_t rows, size_t columns)
{
    return rows <= SMALL && columns <= SMALL;
}

/* The next one of the step, whose table is the builder's from now on. */
static struct given *begin(struct builder *builder, enum given_shape shape)
{
    struct step *step = builder->step;
    if (!builder->givens)
        builder->givens =
            arena_alloc(builder->arena, STEP_GIVENS_MAX, sizeof *builder->givens, builder->err);
    if (!builder->givens)
        return NULL;
    assert(step->given_count < STEP_GIVENS_MAX);
    struct given *given = &builder->givens[step->given_count++];
    *given = (struct given){.shape = shape, .table = {.corner = "", .own_row = NO_ROW}};
    step->givens = builder->givens;
    builder->table = &given->table;
    return given;
}

static int end(struct builder *builder)
{
    builder->table = &builder->step->table;
    return 0;
}

/* --- what the step shows anyway --------------------------------------------------------------- */

static int add_vector(struct builder *builder, const char *name, const float *values, size_t width)
{
    struct given *given = begin(builder, GIVEN_VECTOR);
    if (!given || builder_vector(builder, name, values, width))
        return -1;
    given->is_shown = true;
    return end(builder);
}

int given_channels(struct builder *builder, const char *name, const float *values)
{
    return builder->gives ? add_vector(builder, name, values, builder->trace->input_size) : 0;
}

int given_number(struct builder *builder, const char *name, float value)
{
    if (!builder->gives)
        return 0;
    struct given *given = begin(builder, GIVEN_NUMBER);
    float *number = given ? builder_floats(builder, 1) : NULL;
    if (!number || !builder_rows(builder, 1))
        return -1;
    *number = value;
    given->is_shown = true;
    builder_column(builder, name, name, name, number);
    return end(builder);
}

/* --- rows of tokens --------------------------------------------------------------------------- */

/* The tokens of the text that looks, which are called by their places. */
static int name_queries(struct builder *builder)
{
    const struct tokenized *tokenized =
        report_queries(builder->trace->report, builder->trace->part);
    struct label *rows = builder_rows(builder, tokenized->count);
    for (size_t i = 0; rows && i < tokenized->count; i++)
        rows[i] = builder_label(tokenized->labels[i].exact);
    builder->table->corner = "token";
    builder->table->own_row = builder->trace->query;
    return rows ? 0 : -1;
}

int given_rows(struct builder *builder, const struct given_rows *rows)
{
    size_t width = builder->trace->input_size;
    if (!builder->gives)
        return 0;
    struct given *given = begin(builder, GIVEN_MATRIX);
    if (!given)
        return -1;
    if (rows->of_keys || !builder->trace->config->cross)
        builder_keys(builder);
    else if (name_queries(builder))
        return -1;
    given->is_small = given_is_small(1, width);
    builder_vectors(builder, rows->name, rows->symbol.text, rows->symbol.latex, rows->values,
                    width);
    return end(builder);
}

/* --- weights ---------------------------------------------------------------------------------- */

float *given_matrix(struct builder *builder, const struct given_columns *columns)
{
    const struct weight *w = columns->weight;
    size_t width = columns->width;
    size_t rows = w->in + (w->bias != NULL);
    float *matrix = builder_floats(builder, rows * width);
    for (size_t i = 0; matrix && i < rows * width; i++) {
        const float *row = i / width < w->in ? w->data + i / width * w->stride : w->bias;
        matrix[i] = row[columns->first + i % width];
    }
    return matrix;
}

int given_columns(struct builder *builder, const struct given_columns *columns)
{
    const struct weight *w = columns->weight;
    size_t width = columns->width;
    const float *matrix = builder->gives ? given_matrix(builder, columns) : NULL;
    if (!matrix)
        return builder->gives ? -1 : 0;
    struct given *given = begin(builder, GIVEN_MATRIX);
    if (!given)
        return -1;
    given->is_shown = columns->is_shown;
    given->is_small = given_is_small(w->in, width);
    builder->table->corner = "channel";
    builder->table->rows = builder->trace->report->numbers;
    builder->table->row_count = w->in;
    struct block *block =
        builder_vectors(builder, columns->name, columns->name, columns->name, matrix, width);
    end(builder);
    if (!w->bias)
        return 0;
    given->table.total = columns->bias;
    block->total = matrix + w->in * width;
    return add_vector(builder, columns->bias, block->total, width);
}

int given_output(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    const struct weight *w = &trace->weights.out;
    size_t width = trace->config->d_v;
    float *matrix = builder->gives ? builder_floats(builder, width * w->out) : NULL;
    struct given *given = matrix ? begin(builder, GIVEN_MATRIX) : NULL;
    if (!given)
        return builder->gives ? -1 : 0;
    for (size_t i = 0; i < width * w->out; i++)
        matrix[i] = w->data[(trace->head * width + i / w->out) * w->stride + i % w->out];
    given->is_small = given_is_small(width, w->out);
    builder->table->corner = "dim";
    builder->table->rows = trace->report->numbers;
    builder->table->row_count = width;
    builder_vectors(builder, "W_O", "W_O,h", "W_{O,h}", matrix, w->out);
    end(builder);
    return w->bias ? add_vector(builder, "b_O", w->bias, w->out) : 0;
}
