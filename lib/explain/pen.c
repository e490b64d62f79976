#include <math.h>

#include "explain/steps.h"

enum {
    PRODUCTS = 4, /* at most so many are written out … */
    TERMS = 8,
    LAST = 1, /* … else the last one, and those there is room for before it and the dots */
};

void pen_add(struct pen *pen, const char *text, const char *latex)
{
    buf_text(&pen->text, text);
    buf_text(&pen->latex, latex);
}

void pen_symbol(struct pen *pen, const char *text, const char *latex, size_t index)
{
    buf_format(&pen->text, "%s_%zu", text, index);
    buf_format(&pen->latex, "%s_{%zu}", latex, index);
}

void pen_equals(struct pen *pen)
{
    pen_add(pen, " = ", " = ");
}

void pen_times(struct pen *pen)
{
    pen_add(pen, " · ", " \\cdot ");
}

void pen_number(struct pen *pen, struct numeral numeral, float value)
{
    char digits[NUMERAL_BYTES];
    numeral_write(digits, numeral, value);
    buf_text(&pen->text, digits);
    numeral_latex(&pen->latex, digits);
}

void pen_factor(struct pen *pen, struct numeral numeral, float value)
{
    bool negative = signbit(value);
    pen_add(pen, negative ? "(" : "", negative ? "(" : "");
    pen_number(pen, numeral, value);
    pen_add(pen, negative ? ")" : "", negative ? ")" : "");
}

void pen_term(struct pen *pen, struct numeral numeral, float value)
{
    const char *sign = signbit(value) ? " - " : " + ";
    pen_add(pen, sign, sign);
    pen_number(pen, numeral, fabsf(value));
}

/* Which of `count` things are written where there is room for `room`: all, or some, dots, and the
 * last. */
static size_t written_before_dots(size_t count, size_t room)
{
    return count <= room ? count : room - LAST - 1;
}

static void add_dots(struct pen *pen)
{
    pen_add(pen, " + …", " + \\cdots");
}

static void add_product(struct pen *pen, const struct numeral numerals[2], float a, float b)
{
    pen_factor(pen, numerals[0], a);
    pen_times(pen);
    pen_factor(pen, numerals[1], b);
}

void pen_dot(struct pen *pen, const struct numeral numerals[2], const float *a, const float *b,
             size_t stride, size_t count)
{
    size_t before = written_before_dots(count, PRODUCTS);
    for (size_t i = 0; i < before; i++) {
        if (i > 0)
            pen_add(pen, " + ", " + ");
        add_product(pen, numerals, a[i], b[i * stride]);
    }
    if (before == count)
        return;
    add_dots(pen);
    pen_add(pen, " + ", " + ");
    add_product(pen, numerals, a[count - 1], b[(count - 1) * stride]);
}

void pen_sum(struct pen *pen, struct numeral numeral, const float *values, size_t stride,
             size_t count)
{
    size_t before = written_before_dots(count, TERMS);
    pen_number(pen, numeral, values[0]);
    for (size_t i = 1; i < before; i++)
        pen_term(pen, numeral, values[i * stride]);
    if (before == count)
        return;
    add_dots(pen);
    pen_term(pen, numeral, values[(count - 1) * stride]);
}

int pen_finish(struct pen *pen, struct formula *formula, struct arena *arena, struct err *err)
{
    int failed = -1;
    if (buf_check(&pen->text, err) || buf_check(&pen->latex, err))
        goto done;
    formula->text = arena_text(arena, pen->text.bytes, pen->text.size, err);
    formula->latex = arena_text(arena, pen->latex.bytes, pen->latex.size, err);
    failed = formula->text && formula->latex ? 0 : -1;
done:
    buf_release(&pen->text);
    buf_release(&pen->latex);
    return failed;
}
