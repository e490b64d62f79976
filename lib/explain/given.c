#include <assert.h>

#include "explain/steps.h"

enum { SMALL = 8 }; /* rows and columns of a matrix that is shown anyway */

bool given_is_small(size_t rows, size_t columns)
{
    return rows <= SMALL && columns <= SMALL;
}

/* The next one of the step, whose table is the board's from now on. */
static struct given *begin(struct board *board, enum given_shape shape)
{
    struct step *step = board->step;
    if (!board->givens)
        board->givens =
            arena_alloc(board->arena, STEP_GIVENS_MAX, sizeof *board->givens, board->err);
    if (!board->givens)
        return NULL;
    assert(step->given_count < STEP_GIVENS_MAX);
    struct given *given = &board->givens[step->given_count++];
    *given = (struct given){.shape = shape, .table = {.corner = "", .own_row = NO_ROW}};
    step->givens = board->givens;
    board->table = &given->table;
    return given;
}

static int end(struct board *board)
{
    board->table = &board->step->table;
    return 0;
}

/* --- what the step shows anyway --------------------------------------------------------------- */

static int add_vector(struct board *board, const char *name, const float *values, size_t width)
{
    struct given *given = begin(board, GIVEN_VECTOR);
    if (!given || board_vector(board, name, values, width))
        return -1;
    given->is_shown = true;
    return end(board);
}

int given_channels(struct board *board, const char *name, const float *values)
{
    return board->gives ? add_vector(board, name, values, board->walk->input_size) : 0;
}

int given_number(struct board *board, const char *name, float value)
{
    if (!board->gives)
        return 0;
    struct given *given = begin(board, GIVEN_NUMBER);
    float *number = given ? board_floats(board, 1) : NULL;
    if (!number || !board_rows(board, 1))
        return -1;
    *number = value;
    given->is_shown = true;
    board_column(board, name, name, name, number);
    return end(board);
}

/* --- rows of tokens --------------------------------------------------------------------------- */

/* The tokens of the text that looks, which are called by their places. */
static int name_queries(struct board *board)
{
    const struct reading *reading = report_queries(board->walk->report, board->walk->part);
    struct label *rows = board_rows(board, reading->count);
    for (size_t i = 0; rows && i < reading->count; i++)
        rows[i] = board_label(reading->labels[i].exact);
    board->table->corner = "token";
    board->table->own_row = board->walk->query;
    return rows ? 0 : -1;
}

int given_rows(struct board *board, const struct given_rows *rows)
{
    size_t width = board->walk->input_size;
    if (!board->gives)
        return 0;
    struct given *given = begin(board, GIVEN_MATRIX);
    if (!given)
        return -1;
    if (rows->of_keys || !board->walk->config->cross)
        board_keys(board);
    else if (name_queries(board))
        return -1;
    given->is_small = given_is_small(1, width);
    board_vectors(board, rows->name, rows->symbol.text, rows->symbol.latex, rows->values, width);
    return end(board);
}

/* --- weights ---------------------------------------------------------------------------------- */

float *given_matrix(struct board *board, const struct given_columns *columns)
{
    const struct weight *w = columns->weight;
    size_t width = columns->width;
    size_t rows = w->in + (w->bias != NULL);
    float *matrix = board_floats(board, rows * width);
    for (size_t i = 0; matrix && i < rows * width; i++) {
        const float *row = i / width < w->in ? w->data + i / width * w->stride : w->bias;
        matrix[i] = row[columns->first + i % width];
    }
    return matrix;
}

int given_columns(struct board *board, const struct given_columns *columns)
{
    const struct weight *w = columns->weight;
    size_t width = columns->width;
    const float *matrix = board->gives ? given_matrix(board, columns) : NULL;
    if (!matrix)
        return board->gives ? -1 : 0;
    struct given *given = begin(board, GIVEN_MATRIX);
    if (!given)
        return -1;
    given->is_shown = columns->is_shown;
    given->is_small = given_is_small(w->in, width);
    board->table->corner = "channel";
    board->table->rows = board->walk->report->numbers;
    board->table->row_count = w->in;
    struct block *block =
        board_vectors(board, columns->name, columns->name, columns->name, matrix, width);
    end(board);
    if (!w->bias)
        return 0;
    given->table.total = columns->bias;
    block->total = matrix + w->in * width;
    return add_vector(board, columns->bias, block->total, width);
}

int given_output(struct board *board)
{
    const struct walk *walk = board->walk;
    const struct weight *w = &walk->weights.out;
    size_t width = walk->config->d_v;
    float *matrix = board->gives ? board_floats(board, width * w->out) : NULL;
    struct given *given = matrix ? begin(board, GIVEN_MATRIX) : NULL;
    if (!given)
        return board->gives ? -1 : 0;
    for (size_t i = 0; i < width * w->out; i++)
        matrix[i] = w->data[(walk->head * width + i / w->out) * w->stride + i % w->out];
    given->is_small = given_is_small(width, w->out);
    board->table->corner = "dim";
    board->table->rows = walk->report->numbers;
    board->table->row_count = width;
    board_vectors(board, "W_O", "W_O,h", "W_{O,h}", matrix, w->out);
    end(board);
    return w->bias ? add_vector(board, "b_O", w->bias, w->out) : 0;
}
