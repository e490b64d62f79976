#include "explain/steps.h"

enum {
    PRODUCTS = 4, /* at most so many are written out … */
    TERMS = 8,
    LAST = 1, /* … else the last one, and those there is room for before it and the dots */
};

/* How a number stands among others: %n, %f or %t. */
static void write_number(struct buf *out, char how, const struct number *number)
{
    char digits[NUMERAL_BYTES];
    numeral_write(digits, number->numeral, number->value);
    bool negative = *digits == '-';
    if (how == 't')
        buf_text(out, negative ? " - " : " + ");
    buf_format(out, how == 'f' && negative ? "(%s)" : "%s", digits + (how == 't' && negative));
}

void formula_write(struct buf *out, const char *form, size_t key, const struct number *numbers)
{
    for (; *form; form++) {
        if (*form != '%')
            buf_char(out, *form);
        else if (*++form == 'k')
            buf_format(out, "%zu", key);
        else
            write_number(out, *form, numbers++);
    }
}

/* The one to write after number `i` of `count` things: the next one; or, where there is no room for
 * all of them, dots and the last. */
static size_t next_written(struct buf *out, size_t i, size_t count, size_t room)
{
    if (count <= room || i + 1 != room - LAST - 1)
        return i + 1;
    buf_text(out, " + …");
    return count - LAST;
}

void formula_dot(struct buf *out, const struct numeral numerals[2], const float *a, const float *b,
                 size_t stride, size_t count)
{
    for (size_t i = 0; i < count; i = next_written(out, i, count, PRODUCTS)) {
        const struct number factors[] = {{numerals[0], a[i]}, {numerals[1], b[i * stride]}};
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
