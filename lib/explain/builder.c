#include <assert.h>

#include "explain/steps.h"

#define OF_KEYS(name, latex)       \
    {                              \
#name, {#name, latex },    \
        {                          \
#name "_j", latex "_j" \
        }                          \
    }

const struct quantity quantity_k = OF_KEYS(k, "k");
const struct quantity quantity_v = OF_KEYS(v, "v");
const struct quantity quantity_g = OF_KEYS(g, "g");
const struct quantity quantity_score = OF_KEYS(score, "s");
const struct quantity quantity_scaled = OF_KEYS(scaled, "\\tilde{s}");
const struct quantity quantity_masked = OF_KEYS(masked, "m");
const struct quantity quantity_softmax = OF_KEYS(softmax, "p");
const struct quantity quantity_share = OF_KEYS(share, "a");
const struct quantity quantity_weight = OF_KEYS(weight, "\\alpha");

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

void builder_drawn(struct builder *builder)
{
    struct formula drawn;
    if (formula_finish(&builder->out, &drawn, builder->arena, builder->err))
        builder->failed = true;
    else
        builder_formula(builder, drawn.text, drawn.latex);
}

void builder_work(struct builder *builder, const char *text, const char *latex,
                  const struct number *numbers)
{
    formula_write(&builder->out, text, latex, builder->key, numbers);
    if (formula_finish(&builder->out, &builder->step->worked, builder->arena, builder->err))
        builder->failed = true;
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
    const struct trace *trace = builder->trace;
    struct step_table *table = builder->table;
    table->corner = "key";
    table->of_keys = true;
    table->own_row = trace->config->cross ? NO_ROW : trace->query;
    table->rows = report_keys(trace->report, trace->part)->labels;
    table->row_count = trace->keys;
}

struct label *builder_rows(struct builder *builder, size_t count)
{
    struct label *rows = arena_alloc(builder->arena, count, sizeof *rows, builder->err);
    builder->failed |= !rows;
    builder->table->rows = rows;
    builder->table->row_count = count;
    return rows;
}

struct label builder_label(const char *name)
{
    return (struct label){name, name, name};
}

struct block *builder_vectors(struct builder *builder, const struct quantity *quantity,
                              const float *values, size_t width)
{
    struct step_table *table = builder->table;
    assert(table->block_count < STEP_BLOCKS_MAX);
    struct block *block = &table->blocks[table->block_count++];
    *block = (struct block){
        .name = quantity->name,
        .symbol = quantity->symbol,
        .is_vector = true,
        .width = width,
        .values = values,
        .stride = width,
        .numeral = builder_numeral(builder, values, values ? table->row_count * width : 0),
    };
    return block;
}

struct block *builder_column(struct builder *builder, const struct quantity *quantity,
                             const float *values)
{
    struct block *block = builder_vectors(builder, quantity, values, 1);
    block->is_vector = false;
    return block;
}

void builder_vector(struct builder *builder, const char *name, const float *values, size_t width)
{
    struct label *row = builder_rows(builder, 1);
    if (row)
        *row = builder_label(name);
    builder_vectors(builder, &(struct quantity){name, {"", ""}, {"", ""}}, values, width);
}

float *builder_floats(struct builder *builder, size_t count)
{
    float *values = arena_alloc(builder->arena, count, sizeof *values, builder->err);
    builder->failed |= !values;
    return values;
}

struct numeral builder_numeral(const struct builder *builder, const float *values, size_t count)
{
    return numeral_of(values, count, builder->digits);
}

struct number builder_number(const struct builder *builder, float value)
{
    return (struct number){builder_numeral(builder, &value, 1), value};
}

struct number block_number(const struct block *block, size_t at)
{
    return (struct number){block->numeral, block->values[at]};
}

float *builder_scaled(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    float *scaled = builder_floats(builder, trace->keys);
    for (size_t j = 0; scaled && j < trace->keys; j++)
        scaled[j] = trace->scores[j] * trace->scale;
    return scaled;
}
