#include <assert.h>

#include "explain/steps.h"

void board_title(struct board *board, const char *name, const char *title)
{
    board->step->name = name;
    board->step->title = title;
    board->table->corner = "";
    board->table->own_row = NO_ROW;
}

struct buf *board_note(struct board *board)
{
    buf_text(&board->note, board->note.size ? " " : "");
    return &board->note;
}

void board_formula(struct board *board, const char *text, const char *latex)
{
    struct step *step = board->step;
    assert(step->formula_count < STEP_FORMULAS_MAX);
    step->formulas[step->formula_count++] = (struct formula){text, latex};
}

int board_drawn(struct board *board)
{
    struct formula drawn;
    if (pen_finish(&board->pen, &drawn, board->arena, board->err))
        return -1;
    board_formula(board, drawn.text, drawn.latex);
    return 0;
}

int board_worked(struct board *board)
{
    return pen_finish(&board->pen, &board->step->worked, board->arena, board->err);
}

void board_projection(struct board *board, const struct weight *w, const struct formula forms[3])
{
    bool projected = board->walk->config->projections;
    const struct formula *form = &forms[projected ? 1 + (w->bias != NULL) : 0];
    board_formula(board, form->text, form->latex);
}

void board_keys(struct board *board)
{
    const struct report *report = board->walk->report;
    struct step_table *table = board->table;
    table->corner = "key";
    table->of_keys = true;
    table->own_row = board->walk->config->cross ? NO_ROW : board->walk->query;
    table->rows = report_keys(report, board->walk->part)->labels;
    table->row_count = board->walk->keys;
}

struct label *board_rows(struct board *board, size_t count)
{
    struct label *rows = arena_alloc(board->arena, count, sizeof *rows, board->err);
    board->table->rows = rows;
    board->table->row_count = count;
    return rows;
}

struct label board_label(const char *name)
{
    return (struct label){name, name, name};
}

struct block *board_column(struct board *board, const char *name, const char *text,
                           const char *latex, const float *values)
{
    struct step_table *table = board->table;
    assert(table->block_count < STEP_BLOCKS_MAX);
    struct block *block = &table->blocks[table->block_count++];
    *block = (struct block){
        .name = name,
        .symbol = {text, latex},
        .width = 1,
        .values = values,
        .stride = 1,
        .numeral = board_numeral(board, values, table->row_count),
    };
    return block;
}

struct block *board_vectors(struct board *board, const char *name, const char *text,
                            const char *latex, const float *values, size_t width)
{
    struct block *block = board_column(board, name, text, latex, values);
    block->is_vector = true;
    block->width = block->stride = width;
    block->numeral = board_numeral(board, values, board->table->row_count * width);
    return block;
}

int board_vector(struct board *board, const char *name, const float *values, size_t width)
{
    struct label *row = board_rows(board, 1);
    if (!row)
        return -1;
    *row = board_label(name);
    board_vectors(board, name, "", "", values, width);
    return 0;
}

float *board_floats(struct board *board, size_t count)
{
    return arena_alloc(board->arena, count, sizeof(float), board->err);
}

struct numeral board_numeral(const struct board *board, const float *values, size_t count)
{
    return numeral_of(values, count, board->digits);
}

float *board_scaled(struct board *board)
{
    const struct walk *walk = board->walk;
    float *scaled = board_floats(board, walk->keys);
    for (size_t j = 0; scaled && j < walk->keys; j++)
        scaled[j] = walk->scores[j] * walk->scale;
    return scaled;
}
