#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "explain/explain_walk.h"
#include "explain/steps.h"

#define OF_KEYS(name, latex)       \
    {                              \
#name, {#name, latex },    \
        {                          \
#name "_j", latex "_j" \
        }                          \
    }

const struct quantity quantity_k_raw = OF_KEYS(k_raw, "k^{\\mathrm{raw}}");
const struct quantity quantity_k_pre = OF_KEYS(k_pre, "k^{\\mathrm{pre}}");
const struct quantity quantity_k = OF_KEYS(k, "k");
const struct quantity quantity_v = OF_KEYS(v, "v");
const struct quantity quantity_g = OF_KEYS(g, "g");
const struct quantity quantity_score = OF_KEYS(score, "s");
const struct quantity quantity_scaled = OF_KEYS(scaled, "\\tilde{s}");
const struct quantity quantity_capped = OF_KEYS(capped, "\\hat{s}");
const struct quantity quantity_moved = OF_KEYS(moved, "\\bar{s}");
const struct quantity quantity_cooled = OF_KEYS(cooled, "\\check{s}");
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

void builder_say(struct builder *builder, const struct number *numbers, const char *form, ...)
{
    va_list args;
    char room[256]; /* names and a few signs */
    va_start(args, form);
    int size = vsnprintf(room, sizeof room, form, args);
    va_end(args);
    assert(size >= 0 && (size_t)size < sizeof room);
    formula_math(&builder->out, room, builder->key, numbers);
}

void builder_projection(struct builder *builder, const char *name, char letter,
                        const struct weight *w)
{
    builder_say(builder, NULL, "%s = x%s", name, strstr(name, "_j") ? "_j" : "");
    if (builder->trace->config->projections)
        builder_say(builder, NULL, " · W_%c", letter);
    if (w->bias)
        builder_say(builder, NULL, " + b_%c", letter);
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
    builder_say(builder, NULL, "%s_0 = ", name);
    formula_dot(&builder->out, numerals, x, factors, 1, w->in);
    if (w->bias)
        formula_write(&builder->out, "%t", "%t", 0, numbers);
    builder_work(builder, " = %n", " = %n", numbers + 1);
}

/* --- norms ------------------------------------------------------------------------------------ */

/* A number that a float32 may be too small for: a square of what is not. */
static void write_wide(struct builder *builder, double value)
{
    char digits[NUMERAL_BYTES];
    const struct number narrow = builder_number(builder, (float)value);
    if (isfinite(narrow.value)) {
        formula_write(&builder->out, "%n", "%n", 0, &narrow);
        return;
    }
    snprintf(digits, sizeof digits, "%.2e", value);
    buf_text(&builder->out.text, digits);
    numeral_latex(&builder->out.latex, digits);
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
        builder_say(builder, NULL, "mean(%s²) = ", x);
    } else {
        formula_write(&builder->out, "μ = ", "\\mu = ", 0, NULL);
        write_wide(builder, mean);
        formula_write(&builder->out, ", σ² = ", ",\\; \\sigma^2 = ", 0, NULL);
    }
    write_wide(builder, variance);
    builder_work(builder, ", ε = %n", ",\\; \\varepsilon = %n", &epsilon);
}

void builder_norm_formula(struct builder *builder, const char *y, const char *x,
                          const struct norm *norm)
{
    struct formula_writer *out = &builder->out;
    builder_say(builder, NULL, "%s = ", y);
    if (!norm) {
        formula_math(out, x, 0, NULL);
        builder_drawn(builder);
        return;
    }
    buf_format(&out->text, norm->rms ? "%s / √(mean(%s²) + ε)" : "(%s - μ) / √(σ² + ε)", x, x);
    buf_text(&out->latex, "\\frac{");
    latex_math(&out->latex, x);
    buf_text(&out->latex, norm->rms ? "}{\\sqrt{\\mathrm{mean}(" : " - \\mu}{\\sqrt{\\sigma^2");
    if (norm->rms)
        latex_math(&out->latex, x);
    buf_text(&out->latex, norm->rms ? "^2) + \\varepsilon}}" : " + \\varepsilon}}");
    const char *shift = norm->shift ? " + β" : "";
    formula_math(out, norm->offset != 0 ? " ⊙ (1 + γ)" : " ⊙ γ", 0, NULL);
    formula_math(out, shift, 0, NULL);
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
    builder_vectors(builder, &(struct quantity){name, {"", ""}, {"", ""}}, values, width);
}

void builder_stack(struct builder *builder, const struct named_vector *vectors, size_t count,
                   size_t width)
{
    static const struct quantity rows_of_vectors = {"vector", {"", ""}, {"", ""}};
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
