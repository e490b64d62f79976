#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "explain/steps.h"

/* --- formulas --------------------------------------------------------------------------------- */

enum {
    PRODUCTS = 4,
    TERMS = 8
}; /* of longer sums the first ones are written, dots, and the last */

void formula_write(struct buf *out, const char *form, size_t key, const struct number *numbers)
{
    char digits[NUMERAL_BYTES];
    for (; *form; form++) {
        if (*form != '%') {
            buf_char(out, *form);
        } else if (*++form == 'k') {
            buf_format(out, "%zu", key);
        } else {
            numeral_write(digits, numbers->numeral, numbers->value);
            bool negative = *digits == '-';
            if (*form == 't')
                buf_format(out, " %c %s", negative ? '-' : '+', digits + negative);
            else
                buf_format(out, *form == 'f' && negative ? "(%s)" : "%s", digits);
            numbers++;
        }
    }
}

/* The index to write after `i`: the next one, or, after dots, the last of too many. */
static size_t next_written(struct buf *out, size_t i, size_t count, size_t most)
{
    if (count <= most || i + 3 != most)
        return i + 1;
    buf_text(out, " + …");
    return count - 1;
}

void formula_dot(struct buf *out, const struct numeral numerals[2], const float *a, const float *b,
                 size_t count)
{
    for (size_t i = 0; i < count; i = next_written(out, i, count, PRODUCTS)) {
        const struct number factors[] = {{numerals[0], a[i]}, {numerals[1], b[i]}};
        formula_write(out, i ? " + %f · %f" : "%f · %f", 0, factors);
    }
}

void formula_sum(struct buf *out, struct numeral numeral, const float *values, size_t stride,
                 size_t count)
{
    for (size_t i = 0; i < count; i = next_written(out, i, count, TERMS)) {
        const struct number term = {numeral, values[i * stride]};
        formula_write(out, i ? "%t" : "%n", 0, &term);
    }
}

/* --- texts ------------------------------------------------------------------------------------ */

void builder_note(struct builder *builder, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    buf_text(&builder->note, builder->note.size ? " " : "");
    buf_format_list(&builder->note, format, values);
    va_end(values);
}

void builder_end_formula(struct builder *builder)
{
    struct step *step = builder->step;
    const char *formula = buf_keep(&builder->out, builder->arena, builder->err);
    assert(step->formula_count < STEP_FORMULAS_MAX);
    step->formulas[step->formula_count++] = formula;
    builder->failed |= !formula;
}

void builder_formula(struct builder *builder, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    buf_format_list(&builder->out, format, values);
    va_end(values);
    builder_end_formula(builder);
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
    builder_end_formula(builder);
}

void builder_dot(struct builder *builder, const char *name, const float *x, const struct weight *w,
                 size_t column, float y)
{
    float *factors = builder_floats(builder, w->in);
    for (size_t i = 0; factors && i < w->in; i++)
        factors[i] = weight_element(w, i, column);
    if (builder->failed)
        return;
    const struct numeral numerals[] = {numeral_of(x, w->in, builder->digits),
                                       numeral_of(factors, w->in, builder->digits)};
    const struct number numbers[] = {{numerals[1], w->bias ? w->bias[column] : 0},
                                     builder_number(builder, y)};
    buf_format(&builder->out, "%s_0 = ", name);
    formula_dot(&builder->out, numerals, x, factors, w->in);
    if (w->bias)
        formula_write(&builder->out, "%t", 0, numbers);
    builder_work(builder, " = %n", numbers + 1);
}

/* --- norms ------------------------------------------------------------------------------------ */

/* A square may be beyond float32. */
static void write_wide(struct builder *builder, double value)
{
    const struct number narrow = builder_number(builder, (float)value);
    if (isfinite(narrow.value))
        formula_write(&builder->out, "%n", 0, &narrow);
    else
        buf_format(&builder->out, "%.2e", value);
}

void builder_norm_formula(struct builder *builder, const char *y, const char *x,
                          const struct norm *norm)
{
    if (!norm) {
        builder_formula(builder, "%s = %s", y, x);
        return;
    }
    buf_format(&builder->out, "%s = ", y);
    buf_format(&builder->out, norm->rms ? "%s / √(mean(%s²) + ε)" : "(%s - μ) / √(σ² + ε)", x, x);
    builder_formula(builder, "%s%s", norm->offset != 0 ? " ⊙ (1 + γ)" : " ⊙ γ",
                    norm->shift ? " + β" : "");
}

/* μ = 0.0021, σ² = 0.0198, ε = 1.00e-05; or mean(x²) = 0.0198, ε = 1.00e-05. */
void builder_norm(struct builder *builder, const char *y, struct named_vector x,
                  const struct norm *norm)
{
    size_t width = builder->trace->input_size;
    double mean = 0;
    double variance = 0;
    builder_norm_formula(builder, y, x.name, norm);
    if (!norm)
        return;
    for (size_t c = 0; c < width && !norm->rms; c++)
        mean += (double)x.values[c] / (double)width;
    for (size_t c = 0; c < width; c++)
        variance += pow((double)x.values[c] - mean, 2) / (double)width;
    if (norm->rms) {
        buf_format(&builder->out, "mean(%s²) = ", x.name);
    } else {
        buf_text(&builder->out, "μ = ");
        write_wide(builder, mean);
        buf_text(&builder->out, ", σ² = ");
    }
    write_wide(builder, variance);
    const struct number epsilon = builder_number(builder, norm->epsilon);
    builder_work(builder, ", ε = %n", &epsilon);
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

struct block *builder_vectors(struct builder *builder, const char *name, const char *symbol,
                              const float *values, size_t width)
{
    struct step_table *table = builder->table;
    assert(table->block_count < STEP_BLOCKS_MAX);
    struct block *block = &table->blocks[table->block_count++];
    if (!symbol)
        symbol = arena_format(builder->arena, builder->err, "%s_j", name);
    builder->failed |= !symbol;
    *block = (struct block){
        .name = name,
        .symbol = symbol,
        .is_vector = true,
        .width = width,
        .values = values,
        .stride = width,
        .numeral = numeral_of(values, values ? table->row_count * width : 0, builder->digits),
    };
    return block;
}

struct block *builder_column(struct builder *builder, const char *name, const char *symbol,
                             const float *values)
{
    struct block *block = builder_vectors(builder, name, symbol, values, 1);
    block->is_vector = false;
    return block;
}

void builder_vector(struct builder *builder, struct named_vector vector, size_t width)
{
    struct label *row = builder_rows(builder, 1);
    if (row)
        *row = builder_label(vector.name);
    builder_vectors(builder, vector.name, "", vector.values, width);
}

void builder_stack(struct builder *builder, const struct named_vector *vectors, size_t count,
                   size_t width)
{
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
    builder_vectors(builder, "vector", "", values, width);
}

float *builder_floats(struct builder *builder, size_t count)
{
    float *values = arena_alloc(builder->arena, count, sizeof *values, builder->err);
    builder->failed |= !values;
    return values;
}

struct number builder_number(const struct builder *builder, float value)
{
    return (struct number){numeral_of(&value, 1, builder->digits), value};
}

struct number block_number(const struct block *block, size_t at)
{
    return (struct number){block->numeral, block->values[at]};
}
