#include <math.h>

#include "explain/explain_walk.h"
#include "explain/steps.h"

enum {
    PRODUCTS = 4, /* at most so many are written out … */
    TERMS = 8,
    LAST = 1, /* … else the last one, and those there is room for before it and the dots */
};

/* How a number stands among others: %n, %f or %t. */
static void write_number(struct buf *out, char how, const struct number *number, bool latex)
{
    char digits[NUMERAL_BYTES];
    bool negative = signbit(number->value);
    numeral_write(digits, number->numeral, how == 't' ? fabsf(number->value) : number->value);
    if (how == 't')
        buf_text(out, negative ? " - " : " + ");
    buf_text(out, how == 'f' && negative ? "(" : "");
    if (latex)
        numeral_latex(out, digits);
    else
        buf_text(out, digits);
    buf_text(out, how == 'f' && negative ? ")" : "");
}

static void write_notation(struct buf *out, const char *form, size_t key,
                           const struct number *numbers, bool latex)
{
    for (; *form; form++) {
        if (*form != '%')
            buf_char(out, *form);
        else if (*++form == 'k')
            buf_format(out, latex ? "{%zu}" : "%zu", key);
        else
            write_number(out, *form, numbers++, latex);
    }
}

void formula_write(struct formula_writer *out, const char *text, const char *latex, size_t key,
                   const struct number *numbers)
{
    write_notation(&out->text, text, key, numbers, false);
    write_notation(&out->latex, latex, key, numbers, true);
}

void formula_math(struct formula_writer *out, const char *text, size_t key,
                  const struct number *numbers)
{
    struct buf written = {0};
    write_notation(&written, text, key, numbers, false);
    buf_text(&out->text, written.size ? written.bytes : "");
    latex_math(&out->latex, written.size ? written.bytes : "");
    out->text.out_of_memory |= written.out_of_memory;
    buf_release(&written);
}

/* The one to write after number `i` of `count` things: the next one; or, where there is no room for
 * all of them, dots and the last. */
static size_t next_written(struct formula_writer *out, size_t i, size_t count, size_t room)
{
    if (count <= room || i + 1 != room - LAST - 1)
        return i + 1;
    formula_write(out, " + …", " + \\cdots", 0, NULL);
    return count - LAST;
}

void formula_dot(struct formula_writer *out, const struct numeral numerals[2], const float *a,
                 const float *b, size_t stride, size_t count)
{
    for (size_t i = 0; i < count; i = next_written(out, i, count, PRODUCTS)) {
        const struct number factors[] = {{numerals[0], a[i]}, {numerals[1], b[i * stride]}};
        formula_write(out, i ? " + %f · %f" : "%f · %f", i ? " + %f \\cdot %f" : "%f \\cdot %f", 0,
                      factors);
    }
}

void formula_sum(struct formula_writer *out, struct numeral numeral, const float *values,
                 size_t stride, size_t count)
{
    for (size_t i = 0; i < count; i = next_written(out, i, count, TERMS)) {
        const struct number term = {numeral, values[i * stride]};
        formula_write(out, i ? "%t" : "%n", i ? "%t" : "%n", 0, &term);
    }
}

int formula_finish(struct formula_writer *out, struct formula *formula, struct arena *arena,
                   struct err *err)
{
    formula->text = buf_keep(&out->text, arena, err);
    formula->latex = formula->text ? buf_keep(&out->latex, arena, err) : NULL;
    buf_release(&out->latex);
    return formula->latex ? 0 : -1;
}
