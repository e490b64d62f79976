#include <math.h>

#include "explain/steps.h"

enum {
    PRODUCTS = 4, /* at most so many are written out … */
    TERMS = 8,
    LAST = 1, /* … else the last one, and those there is room for before it and the dots */
};

void formula_add(struct formula_writer *out, const char *text, const char *latex)
{
    buf_text(&out->text, text);
    buf_text(&out->latex, latex);
}

void formula_symbol(struct formula_writer *out, const char *text, const char *latex, size_t index)
{
    buf_format(&out->text, "%s_%zu", text, index);
    buf_format(&out->latex, "%s_{%zu}", latex, index);
}

void formula_equals(struct formula_writer *out)
{
    formula_add(out, " = ", " = ");
}

void formula_times(struct formula_writer *out)
{
    formula_add(out, " · ", " \\cdot ");
}

void formula_number(struct formula_writer *out, struct numeral numeral, float value)
{
    char digits[NUMERAL_BYTES];
    numeral_write(digits, numeral, value);
    buf_text(&out->text, digits);
    numeral_latex(&out->latex, digits);
}

void formula_factor(struct formula_writer *out, struct numeral numeral, float value)
{
    bool negative = signbit(value);
    formula_add(out, negative ? "(" : "", negative ? "(" : "");
    formula_number(out, numeral, value);
    formula_add(out, negative ? ")" : "", negative ? ")" : "");
}

void formula_term(struct formula_writer *out, struct numeral numeral, float value)
{
    const char *sign = signbit(value) ? " - " : " + ";
    formula_add(out, sign, sign);
    formula_number(out, numeral, fabsf(value));
}

/* Which of `count` things are written where there is room for `room`: all, or some, dots, and the
 * last. */
static size_t written_before_dots(size_t count, size_t room)
{
    return count <= room ? count : room - LAST - 1;
}

static void add_dots(struct formula_writer *out)
{
    formula_add(out, " + …", " + \\cdots");
}

static void add_product(struct formula_writer *out, const struct numeral numerals[2], float a,
                        float b)
{
    formula_factor(out, numerals[0], a);
    formula_times(out);
    formula_factor(out, numerals[1], b);
}

void formula_dot(struct formula_writer *out, const struct numeral numerals[2], const float *a,
                 const float *b, size_t stride, size_t count)
{
    size_t before = written_before_dots(count, PRODUCTS);
    for (size_t i = 0; i < before; i++) {
        if (i > 0)
            formula_add(out, " + ", " + ");
        add_product(out, numerals, a[i], b[i * stride]);
    }
    if (before == count)
        return;
    add_dots(out);
    formula_add(out, " + ", " + ");
    add_product(out, numerals, a[count - 1], b[(count - 1) * stride]);
}

void formula_sum(struct formula_writer *out, struct numeral numeral, const float *values,
                 size_t stride, size_t count)
{
    size_t before = written_before_dots(count, TERMS);
    formula_number(out, numeral, values[0]);
    for (size_t i = 1; i < before; i++)
        formula_term(out, numeral, values[i * stride]);
    if (before == count)
        return;
    add_dots(out);
    formula_term(out, numeral, values[(count - 1) * stride]);
}

int formula_finish(struct formula_writer *out, struct formula *formula, struct arena *arena,
                   struct err *err)
{
    formula->text = buf_keep(&out->text, arena, err);
    formula->latex = formula->text ? buf_keep(&out->latex, arena, err) : NULL;
    buf_release(&out->latex);
    return formula->latex ? 0 : -1;
}
