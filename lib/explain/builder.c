#include <assert.h>

#include "explain/steps.h"

void builder_title(struct builder *builder, const char *name, const char *title)
{
    builder->step->name = name;
    builder->step->title = title;
    builder->table->corner = "";
    builder->table->own_row = NO_ROW;
}

struct buf *builder_note(struct builder *builder)
{
    buf_text(&builder->note, builder->note.size ? " " : "");
    return &builder->note;
}

void builder_formula(struct builder *builder, const char *text, const char *latex)
{
    struct step *step = builder->step;
    assert(step->formula_count < STEP_FORMULAS_MAX);
    step->formulas[step->formula_count++] = (struct formula){text, latex};
}

int builder_drawn(struct builder *builder)
{
    struct formula drawn;
    if (formula_finish(&builder->out, &drawn, builder->arena, builder->err))
        return -1;
    builder_formula(builder, drawn.text, drawn.latex);
    return 0;
}

int builder_worked(struct builder *builder)
{
    return formula_finish(&builder->out, &builder->step->worked, builder->arena, builder->err);
}

void builder_projection(struct builder *builder, const struct weight *w,
                        const struct formula forms[3])
{
    bool projected = builder->trace->config->projections;
    const struct formula *form = &forms[projected ? 1 + (w->bias != NULL) : 0];
    builder_formula(builder, form->text, form->latex);
}

void builder_keys(struct builder *builder)
{
    const struct report *report = builder->trace->report;
    struct step_table *table = builder->table;
    table->corner = "key";
    table->of_keys = true;
    table->own_row = builder->trace->config->cross ? NO_ROW : builder->trace->query;
    table->rows = report_keys(report, builder->trace->part)->labels;
    table->row_count = builder->trace->keys;
}

struct label *builder_rows(struct builder *builder, size_t count)
{
    struct label *rows = arena_alloc(builder->arena, count, sizeof *rows, builder->err);
    builder->table->rows = rows;
    builder->table->row_count = count;
    return rows;
}

struct label builder_label(const char *name)
{
    return (struct label){name, name, name};
}

struct block *builder_column(struct builder *builder, const char *name, const char *text,
                             const char *latex, const float *values)
{
    struct step_table *table = builder->table;
    assert(table->block_count < STEP_BLOCKS_MAX);
    struct block *block = &table->blocks[table->block_count++];
    *block = (struct block){
        .name = name,
        .symbol = {text, latex},
        .width = 1,
        .values = values,
        .stride = 1,
        .numeral = builder_numeral(builder, values, table->row_count),
    };
    return block;
}

struct block *builder_vectors(struct builder *builder, const char *name, const char *text,
                              const char *latex, const float *values, size_t width)
{
    struct block *block = builder_column(builder, name, text, latex, values);
    block->is_vector = true;
    block->width = block->stride = width;
    block->numeral = builder_numeral(builder, values, builder->table->row_count * width);
    return block;
}

int builder_vector(struct builder *builder, const char *name, const float *values, size_t width)
{
    struct label *row = builder_rows(builder, 1);
    if (!row)
        return -1;
    *row = builder_label(name);
    builder_vectors(builder, name, "", "", values, width);
    return 0;
}

float *builder_floats(struct builder *builder, size_t count)
{
    return arena_alloc(builder->arena, count, sizeof(float), builder->err);
}

struct numeral builder_numeral(const struct builder *builder, const float *values, size_t count)
{
    return numeral_of(values, count, builder->digits);
}

float *builder_scaled(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    float *scaled = builder_floats(builder, trace->keys);
    for (size_t j = 0; scaled && j < trace->keys; j++)
        scaled[j] = trace->scores[j] * trace->scale;
    return scaled;
}
