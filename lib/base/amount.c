#include "base/amount.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

const char *amount_write(char text[AMOUNT_BYTES], double value, const char *unit)
{
    int decimals = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0;
    snprintf(text, AMOUNT_BYTES, "%.*f %s", decimals, value, unit);
    return text;
}

const char *amount_seconds(char text[AMOUNT_BYTES], double seconds)
{
    if (seconds >= 1)
        return amount_write(text, seconds, "s");
    if (seconds >= 1e-4)
        return amount_write(text, 1e3 * seconds, "ms");
    return amount_write(text, 1e6 * seconds, "µs");
}

void amount_right(struct stream *out, const char *text, size_t columns)
{
    size_t width = utf8_width(text, strlen(text));
    for (; width < columns; width++)
        stream_char(out, ' ');
    stream_text(out, text);
}
