#include "lens/sheet.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

enum { BEFORE_DECIMALS = 5 }; /* columns for the sign, the whole part and the point */

static const double powers[NUMERAL_DIGITS_MAX + 1] = {1,   1e1, 1e2, 1e3, 1e4,
                                                      1e5, 1e6, 1e7, 1e8, 1e9};

/* "%.*f" of what is not too large, several times as fast, but no sign of what rounds to 0. A float
 * times a power of ten, of 24 and of 21 bits at most, is exact in a double, so that there is one
 * rounding, as in printf: to the nearest, or to even. */
static size_t write_decimals(char text[NUMERAL_BYTES], int digits, float value)
{
    char reversed[NUMERAL_BYTES];
    size_t size = 0;
    uint64_t rest = (uint64_t)llrint(fabs((double)value) * powers[digits]);
    bool is_zero = rest == 0;
    for (int place = 0; place <= digits || rest > 0; place++, rest /= 10) {
        if (place == digits && digits > 0)
            reversed[size++] = '.';
        reversed[size++] = (char)('0' + rest % 10);
    }
    if (signbit(value) && !is_zero)
        reversed[size++] = '-';
    for (size_t i = 0; i < size; i++)
        text[i] = reversed[size - 1 - i];
    text[size] = '\0';
    return size;
}

size_t numeral_write(char text[NUMERAL_BYTES], struct numeral numeral, float value)
{
    int digits = numeral.digits;
    if (!numeral.scientific && fabsf(value) < 1e6f)
        return write_decimals(text, digits, value);
    if (numeral.scientific)
        digits = digits > 2 ? digits - 2 : 1;
    int size = snprintf(text, NUMERAL_BYTES, numeral.scientific ? "%.*e" : "%.*f", digits,
                        value == 0 ? 0 : (double)value);
    return size > 0 ? (size_t)size : 0;
}

struct numeral numeral_between(float low, float high, int digits)
{
    char text[NUMERAL_BYTES];
    struct numeral numeral = {.digits = digits};
    assert(digits >= 0 && digits <= NUMERAL_DIGITS_MAX);
    float largest = fmaxf(-low, high);
    float smallest = (float)(1 / powers[digits > 2 ? digits - 1 : digits]);
    size_t most = (size_t)(BEFORE_DECIMALS + digits);
    /* With nothing larger than `smallest`, decimals would show little but zeros. */
    numeral.scientific = (largest > 0 && largest < smallest) ||
                         numeral_write(text, numeral, low) > most ||
                         numeral_write(text, numeral, high) > most;
    return numeral;
}

struct numeral_range numeral_range_empty(void)
{
    return (struct numeral_range){.low = INFINITY, .high = -INFINITY};
}

void numeral_range_add(struct numeral_range *range, float value)
{
    if (!isfinite(value)) {
        range->infinite = true;
        return;
    }
    if (value < range->low)
        range->low = value;
    if (value > range->high)
        range->high = value;
}

static bool is_empty(const struct numeral_range *range)
{
    return range->low > range->high;
}

struct numeral numeral_of_range(const struct numeral_range *range, int digits)
{
    return is_empty(range) ? numeral_between(0, 0, digits)
                           : numeral_between(range->low, range->high, digits);
}

/* Of two numbers with the same sign the farther from 0 is at least as wide; all exponents of a
 * float have two digits. */
size_t numeral_width(const struct numeral_range *range, struct numeral numeral)
{
    char text[NUMERAL_BYTES];
    size_t low = numeral_write(text, numeral, is_empty(range) ? 0 : range->low);
    size_t high = numeral_write(text, numeral, is_empty(range) ? 0 : range->high);
    size_t least = range->infinite ? strlen("-inf") : 0;
    size_t widest = low > high ? low : high;
    return widest > least ? widest : least;
}

struct numeral numeral_of(const float *values, size_t count, int digits)
{
    struct numeral_range range = numeral_range_empty();
    for (size_t i = 0; i < count; i++)
        numeral_range_add(&range, values[i]);
    return numeral_of_range(&range, digits);
}

void numeral_latex(struct buf *latex, const char *text)
{
    const char *exponent = strchr(text, 'e');
    const char *infinity = strstr(text, "inf");
    if (infinity)
        buf_format(latex, "%.*s\\infty", (int)(infinity - text), text);
    else if (exponent)
        buf_format(latex, "%.*s\\mathrm{e}{%s}", (int)(exponent - text), text, exponent + 1);
    else
        buf_text(latex, text);
}
