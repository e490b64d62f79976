#include "lens/numeral.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BEFORE_DECIMALS = 5 }; /* columns for the sign, the whole part and the point */

size_t numeral_write(char text[NUMERAL_BYTES], struct numeral numeral, float value)
{
    int digits = numeral.digits;
    if (numeral.scientific)
        digits = digits > 2 ? digits - 2 : 1;
    int size =
        snprintf(text, NUMERAL_BYTES, numeral.scientific ? "%.*e" : "%.*f", digits, (double)value);
    return size > 0 ? (size_t)size : 0;
}

struct numeral numeral_between(float low, float high, int digits)
{
    char text[NUMERAL_BYTES];
    struct numeral numeral = {.digits = digits};
    float largest = fmaxf(-low, high);
    float smallest = (float)pow(10, digits > 2 ? 1 - digits : -digits);
    size_t most = (size_t)(BEFORE_DECIMALS + digits);
    /* With nothing larger than `smallest`, decimals would show little but zeros. */
    numeral.scientific = (largest > 0 && largest < smallest) ||
                         numeral_write(text, numeral, low) > most ||
                         numeral_write(text, numeral, high) > most;
    return numeral;
}

struct numeral numeral_of(const float *values, size_t count, int digits)
{
    float low = FLT_MAX;
    float high = -FLT_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        low = fminf(low, values[i]);
        high = fmaxf(high, values[i]);
    }
    return low > high ? numeral_between(0, 0, digits) : numeral_between(low, high, digits);
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
