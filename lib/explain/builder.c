#include <assert.h>
#include <math.h>
#include <string.h>

#include "explain/steps.h"

const struct quantity quantity_k_raw = {"k_raw", "k_raw_j"};
const struct quantity quantity_k_pre = {"k_pre", "k_pre_j"};
const struct quantity quantity_k = {"k", "k_j"};
const struct quantity quantity_v = {"v", "v_j"};
const struct quantity quantity_g = {"g", "g_j"};
const struct quantity quantity_score = {"score", "score_j"};
const struct quantity quantity_scaled = {"scaled", "scaled_j"};
const struct quantity quantity_capped = {"capped", "capped_j"};
const struct quantity quantity_moved = {"moved", "moved_j"};
const struct quantity quantity_cooled = {"cooled", "cooled_j"};
const struct quantity quantity_masked = {"masked", "masked_j"};
const struct quantity quantity_softmax = {"softmax", "softmax_j"};
const struct quantity quantity_share = {"share", "share_j"};
const struct quantity quantity_weight = {"weight", "weight_j"};

struct buf *builder_note(struct builder *builder)
{
    buf_text(&builder->note, builder->note.size ? " " : "");
    return &builder->note;
}

void builder_formula(struct builder *builder, const char *formula)
{
    struct step *step = builder->step;
    assert(step->formula_count < STEP_FORMULAS_MAX);
    step->formulas[step->formula_count++] = formula;
}

void builder_drawn(struct builder *builder)
{
    const char *drawn = buf_keep(&builder->out, builder->arena, builder->err);
    builder->failed |= !drawn;
    builder_formula(builder, drawn);
}

void builder_work(struct builder *builder, const char *form, const struct number *numbers)
{
    formula_write(&builder->out, form, builder->key, numbers);
    builder->step->worked = buf_keep(&builder->out, builder->arena, builder->err);
    builder->failed |= !builder->step->worked;
}

void builder_projection(struct builder *builder, const char *name, char letter,
                        const struct weight *w)
{
    buf_format(&builder->out, "%s = x%s", name, strstr(name, "_j") ? "_j" : "");
    if (builder->trace->config->projections)
        buf_format(&builder->out, " · W_%c", letter);
    if (w->bias)
        buf_format(&builder->out, " + b_%c", letter);
    builder_drawn(builder);
}

void builder_dot(struct builder *builder, const char *name, const float *x, const struct weight *w,
                 size_t column, float y)
{
    float *factors = builder_floats(builder, w->in);
    for (size_t i = 0; factors && i < w->in; i++)
        factors[i] = weight_element(w, i, column);
    if (builder->failed)
        return;
    const struct numeral numerals[] = {builder_numeral(builder, x, w->in),
                                       builder_numeral(builder, factors, w->in)};
    const struct number numbers[] = {{numerals[1], w->bias ? w->bias[column] : 0},
                                     builder_number(builder, y)};
    buf_format(&builder->out, "%s_0 = ", name);
    formula_dot(&builder->out, numerals, x, factors, 1, w->in);
    if (w->bias)
        formula_write(&builder->out, "%t", 0, numbers);
    builder_work(builder, " = %n", numbers + 1);
}

/* --- norms ------------------------------------------------------------------------------------ */

/* A number that a float32 may be too small for: a square of what is not. */
static void write_wide(struct builder *builder, double value)
{
    const struct number narrow = builder_number(builder, (float)value);
    if (isfinite(narrow.value))
        formula_write(&builder->out, "%n", 0, &narrow);
    else
        buf_format(&builder->out, "%.2e", value);
}

/* μ = 0.0021, σ² = 0.0198, ε = 1.00e-05; or mean(x²) = 0.0198, ε = 1.00e-05. */
static void work_norm(struct builder *builder, const char *x, const struct norm *norm,
                      const float *values, size_t width)
{
    const struct number epsilon = builder_number(builder, norm->epsilon);
    double mean = 0;
    double variance = 0;
    for (size_t c = 0; c < width && !norm->rms; c++)
        mean += (double)values[c] / (double)width;
    for (size_t c = 0; c < width; c++)
        variance += pow((double)values[c] - mean, 2) / (double)width;
    if (norm->rms) {
        buf_format(&builder->out, "mean(%s²) = ", x);
    } else {
        buf_text(&builder->out, "μ = ");
        write_wide(builder, mean);
        buf_text(&builder->out, ", σ² = ");
    }
    write_wide(builder, variance);
    builder_work(builder, ", ε = %n", &epsilon);
}

void builder_norm_formula(struct builder *builder, const char *y, const char *x,
                          const struct norm *norm)
{
    struct buf *out = &builder->out;
    buf_format(&builder->out, "%s = ", y);
    if (!norm) {
        buf_text(out, x);
        builder_drawn(builder);
        return;
    }
    buf_format(out, norm->rms ? "%s / √(mean(%s²) + ε)" : "(%s - μ) / √(σ² + ε)", x, x);
    buf_text(out, norm->offset != 0 ? " ⊙ (1 + γ)" : " ⊙ γ");
    buf_text(out, norm->shift ? " + β" : "");
    builder_drawn(builder);
}

void builder_norm(struct builder *builder, const char *y, const char *x, const struct norm *norm,
                  const float *values, size_t width)
{
    builder_norm_formula(builder, y, x, norm);
    if (norm)
        work_norm(builder, x, norm, values, width);
}

/* --- tables ----------------------------------------------------------------------------------- */

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
    builder_vectors(builder, &(struct quantity){name, ""}, values, width);
}

void builder_stack(struct builder *builder, const struct named_vector *vectors, size_t count,
                   size_t width)
{
    static const struct quantity rows_of_vectors = {"vector", ""};
    struct label *rows = builder_rows(builder, count);
    float *values = builder_floats(builder, count * width);
    size_t used = 0;
    for (size_t i = 0; i < count && !builder->failed; i++) {
        if (!vectors[i].values)
            continue;
        rows[used] = builder_label(vectors[i].name);
        memcpy(values + used++ * width, vectors[i].values, width * sizeof *values);
    }
    builder->table->row_count = used;
    builder_vectors(builder, &rows_of_vectors, values, width);
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
