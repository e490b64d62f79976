#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/language.h"
#include "explain/steps.h"

/* --- texts ------------------------------------------------------------------------------------ */

enum {
    PRODUCTS = 4,
    TERMS = 8
}; /* maximum number of terms written for a dot product (PRODUCTS) or a sum (TERMS); a longer one is
    * written as its first terms, dots and the last term */

static void write_number(struct buf *out, struct numeral numeral, float value, char form)
{
    char text[NUMERAL_BYTES];
    numeral_write(text, numeral, value);
    bool negative = *text == '-';
    if (form == 't')
        buf_format(out, " %c %s", negative ? '-' : '+', text + negative);
    else
        buf_format(out, form == 'f' && negative ? "(%s)" : "%s", text);
}

static void write_list(const struct builder *builder, struct buf *out, const char *form,
                       va_list values)
{
    for (; *form; form++) {
        if (*form != '%')
            buf_char(out, *form);
        else if (*++form == 's')
            buf_text(out, va_arg(values, const char *));
        else if (*form == 'z')
            buf_format(out, "%zu", va_arg(values, size_t));
        else if (*form == 'k')
            buf_format(out, "%zu", builder->key);
        else if (*form == 'g')
            buf_format(out, "%g", va_arg(values, double));
        else {
            float value = (float)va_arg(values, double);
            write_number(out, numeral_of(&value, 1, builder->digits), value, *form);
        }
    }
}

void builder_note(struct builder *builder, const char *form, ...)
{
    va_list values;
    va_start(values, form);
    buf_text(&builder->note, builder->note.size ? " " : "");
    write_list(builder, &builder->note, say(builder->language, form), values);
    va_end(values);
}

void builder_add(struct builder *builder, const char *form, ...)
{
    va_list values;
    va_start(values, form);
    write_list(builder, &builder->out, say(builder->language, form), values);
    va_end(values);
}

void builder_end(struct builder *builder, bool is_worked)
{
    const char *text = buf_keep(&builder->out, builder->arena, builder->err);
    struct working *working = &builder->step->working;
    assert(is_worked || working->formula_count < WORKING_FORMULAS_MAX);
    if (is_worked)
        working->worked = text;
    else
        working->formulas[working->formula_count++] = text;
}

/* Return the index of the term to write after term `i`: the next term or, after dots that are added
 * here, the last term. */
static size_t next_written(struct builder *builder, size_t i, size_t count, size_t most)
{
    if (count <= most || i + 3 != most)
        return i + 1;
    builder_add(builder, " + …");
    return count - 1;
}

void builder_add_dot(struct builder *builder, const float *a, const float *b, size_t count)
{
    const struct numeral of_a = numeral_of(a, count, builder->digits);
    const struct numeral of_b = numeral_of(b, count, builder->digits);
    for (size_t i = 0; i < count; i = next_written(builder, i, count, PRODUCTS)) {
        builder_add(builder, i ? " + " : "");
        write_number(&builder->out, of_a, a[i], 'f');
        builder_add(builder, " × ");
        write_number(&builder->out, of_b, b[i], 'f');
    }
}

void builder_add_sum(struct builder *builder, const float *values, size_t stride, size_t count)
{
    const struct numeral numeral = numeral_of(values, (count - 1) * stride + 1, builder->digits);
    for (size_t i = 0; i < count; i = next_written(builder, i, count, TERMS))
        write_number(&builder->out, numeral, values[i * stride], i ? 't' : 'n');
}

void builder_projection(struct builder *builder, const char *y, const char *x, const char *letter,
                        const struct weight *w)
{
    const struct trace *trace = builder->trace;
    bool clips = *letter == 'v' || ((*letter == 'q' || *letter == 'k') && !trace->raw_q.values);
    clips &= trace->rule->head.clip > 0; /* q and k with norms are clipped after the norms */
    const char *z = strstr(x, "_j") ? "z_j" : "z";
    builder_add(builder, "%s = %s", clips ? z : y, x);
    if (trace->rule->head.by == HEADS_PROJECTED)
        builder_add(builder, " · W_%s", letter);
    builder_formula(builder, w->bias ? " + b_%s" : "", letter);
    if (clips)
        builder_clip(builder, y, z);
}

void builder_clip(struct builder *builder, const char *y, const char *x)
{
    float clip = builder->trace->rule->head.clip;
    give_number(builder, "clip", clip);
    builder_formula(builder, "%s = max(-%n, min(%n, %s))", y, clip, clip, x);
}

void builder_dot(struct builder *builder, const char *name, const float *x, const struct weight *w,
                 size_t column, float y)
{
    const float *factors = builder_part(builder, w, 0, w->in, column, 1);
    if (builder->err->kind)
        return;
    builder_add(builder, "%s_0 = ", name);
    builder_add_dot(builder, x, factors, w->in);
    if (w->bias)
        builder_add(builder, "%t", w->bias[column]);
    builder_work(builder, " = %n", y);
}

/* --- norms ------------------------------------------------------------------------------------ */

void builder_norm_formula(struct builder *builder, const char *y, const char *x,
                          const struct norm *norm)
{
    if (!norm) {
        builder_formula(builder, "%s = %s", y, x);
        return;
    }
    builder_add(builder, "%s = ", y);
    builder_add(builder, norm->rms ? "%s / √(mean(%s²) + ε)" : "(%s - μ) / √(σ² + ε)", x, x);
    builder_formula(builder, "%s%s",
                    norm->plain         ? ""
                    : norm->offset != 0 ? " ⊙ (1 + γ)"
                                        : " ⊙ γ",
                    norm->shift ? " + β" : "");
}

/* Append a number that may exceed the range of float32, such as a square. */
static void add_wide(struct builder *builder, double value)
{
    if (isfinite((float)value))
        builder_add(builder, "%n", value);
    else
        buf_format(&builder->out, "%.2e", value);
}

/* Show a norm with its numbers: "μ = 0.0021, σ² = 0.0198, ε = 1.00e-05", or "mean(x²) = 0.0198, ε =
 * 1.00e-05" for an RMS norm. */
void builder_norm(struct builder *builder, struct named_vector y, struct named_vector x,
                  const struct norm *norm, const struct named_vector terms[NORM_TERMS],
                  size_t width)
{
    struct named_vector rows[NORM_TERMS + 4] = {[NORM_TERMS] = x,
                                                {"γ", norm && !norm->plain ? norm->scale : NULL},
                                                {"β", norm ? norm->shift : NULL},
                                                y};
    double mean = 0, variance = 0;
    for (size_t i = 0; terms && i < NORM_TERMS; i++)
        rows[i] = terms[i];
    builder_stack(builder, terms ? rows : rows + NORM_TERMS, terms ? NORM_TERMS + 4 : 4, width);
    builder_norm_formula(builder, y.name, x.name, norm);
    if (!norm)
        return;
    for (size_t c = 0; c < width && !norm->rms; c++)
        mean += (double)x.values[c] / (double)width;
    for (size_t c = 0; c < width; c++)
        variance += pow((double)x.values[c] - mean, 2) / (double)width;
    builder_add(builder, norm->rms ? "mean(%s²) = " : "μ = ", x.name);
    if (!norm->rms) {
        add_wide(builder, mean);
        builder_add(builder, ", σ² = ");
    }
    add_wide(builder, variance);
    builder_work(builder, ", ε = %n", norm->epsilon);
}

/* --- tables ----------------------------------------------------------------------------------- */

void builder_keys(struct builder *builder)
{
    const struct trace *trace = builder->trace;
    struct table *table = builder->table;
    table->rows = (struct axis){.name = "key",
                                .size = trace->keys,
                                .labels = report_keys(trace->report, trace->branch)->labels};
    table->working.of_keys = true;
    table->working.own_row = trace->rule->kind == SUBLAYER_ATTEND_SOURCE ? NO_ROW : trace->query;
}

struct label *builder_rows(struct builder *builder, size_t count)
{
    struct label *rows = arena_alloc(builder->arena, count, sizeof *rows, builder->err);
    builder->table->rows.labels = rows;
    builder->table->rows.size = count;
    return rows;
}

struct label builder_label(const char *name)
{
    return (struct label){name, name, name};
}

struct column *builder_vectors(struct builder *builder, const char *name, const char *symbol,
                               const float *values, size_t width)
{
    struct table *table = builder->table;
    /* cast away const: the builder made these columns */
    struct column *columns = (struct column *)table->columns;
    if (!columns)
        columns = arena_alloc(builder->arena, COLUMNS_MAX, sizeof *columns, builder->err);
    if (!symbol)
        symbol = arena_format(builder->arena, builder->err, "%s_j", name);
    if (builder->err->kind)
        return &builder->spare;
    assert(table->count < COLUMNS_MAX);
    struct column *column = &columns[table->count++];
    *column = (struct column){.name = name,
                              .title = symbol,
                              .kind = COLUMN_VECTOR,
                              .digits = builder->digits,
                              .values = values,
                              .width = width};
    table->columns = columns;
    return column;
}

struct column *builder_column(struct builder *builder, const char *name, const char *symbol,
                              const float *values)
{
    return builder_vectors(builder, name, symbol, values, 0);
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
    for (size_t i = 0; i < count && !builder->err->kind; i++) {
        if (!vectors[i].values)
            continue;
        rows[used] = builder_label(vectors[i].name);
        memcpy(values + used++ * width, vectors[i].values, width * sizeof *values);
    }
    builder->table->rows.size = used;
    builder_vectors(builder, "vector", "", values, width);
}

float *builder_floats(struct builder *builder, size_t count)
{
    return arena_alloc(builder->arena, count, sizeof(float), builder->err);
}

/* --- operands: numbers and matrices ----------------------------------------------------------- */

/* Add an operand with numbers `values` to the step. Returns NULL if `values` is NULL, if this query
 * lists no operands, or if memory ran out. */
static struct table *add_operand(struct builder *builder, const char *name, const char *symbol,
                                 const float *values, struct axis rows, size_t width)
{
    struct working *working = &builder->step->working;
    if (!values || !builder->gives)
        return NULL;
    if (!builder->operands)
        working->operands = builder->operands =
            arena_alloc(builder->arena, OPERANDS_MAX, sizeof *builder->operands, builder->err);
    if (builder->err->kind)
        return NULL;
    assert(working->operand_count < OPERANDS_MAX);
    struct table *operand = &builder->operands[working->operand_count++];
    *operand = (struct table){.name = name, .rows = rows};
    operand->working = (struct working){.chapter = working->chapter, .own_row = NO_ROW};
    builder->table = operand;
    builder_vectors(builder, name, symbol, values, width);
    builder->table = builder->step;
    return operand;
}

void give_vector(struct builder *builder, const char *name, const float *values, size_t width)
{
    struct table *operand =
        add_operand(builder, name, "", values, (struct axis){.name = "", .size = 1}, width);
    if (operand)
        operand->working.is_shown = true;
}

void give_number(struct builder *builder, const char *name, float value)
{
    float *number = builder_floats(builder, 1);
    if (number)
        *number = value;
    give_vector(builder, name, number, 0);
}

struct table *give_matrix(struct builder *builder, const char *name, const char *symbol,
                          const float *values, size_t rows, size_t width)
{
    const struct axis channels = {
        .name = "channel", .size = rows, .labels = builder->trace->report->numbers};
    struct table *operand = add_operand(builder, name, symbol, values, channels, width);
    if (operand)
        operand->working.is_small = rows <= GIVEN_SMALL && width <= GIVEN_SMALL;
    return operand;
}

void give_rows(struct builder *builder, const char *name, const char *symbol, const float *values,
               size_t width, bool of_keys)
{
    const struct trace *trace = builder->trace;
    const struct tokenized *text = report_queries(trace->report, trace->branch);
    const struct axis tokens = {.name = "token", .size = text->count, .labels = text->labels};
    struct table *operand = add_operand(builder, name, symbol, values, tokens, width);
    if (!operand)
        return;
    operand->working.is_small = width <= GIVEN_SMALL;
    operand->working.own_row = trace->query;
    builder->table = operand;
    if (of_keys || trace->rule->kind == SUBLAYER_ATTEND)
        builder_keys(builder);
    builder->table = builder->step;
}

float *builder_part(struct builder *builder, const struct weight *w, size_t first_row, size_t rows,
                    size_t first_column, size_t columns)
{
    float *matrix = builder_floats(builder, rows * columns);
    for (size_t i = 0; matrix && i < rows * columns; i++) {
        size_t row = first_row + i / columns;
        size_t column = first_column + i % columns;
        matrix[i] = row < w->in ? weight_element(w, row, column) : w->bias[column];
    }
    return matrix;
}

struct table *give_columns(struct builder *builder, const char *name, const struct weight *w,
                           size_t head, size_t width)
{
    const char *bias = arena_format(builder->arena, builder->err, "b_%s", name + strlen("W_"));
    const float *matrix = NULL;
    if (builder->gives)
        matrix = builder_part(builder, w, 0, w->in + (w->bias != NULL), head * width, width);
    struct table *given = give_matrix(builder, name, name, matrix, w->in, width);
    if (given && w->bias && given->count) {
        given->working.total = bias;
        /* cast away const: the builder made these columns */
        ((struct column *)given->columns)->total = matrix + w->in * width;
        give_vector(builder, bias, matrix + w->in * width, width);
    }
    return given;
}

void give_whole(struct builder *builder, const char *name, const struct weight *w)
{
    if (weight_exists(w) && w->in * w->out <= GIVEN_WHOLE)
        give_columns(builder, name, w, 0, w->out);
}
