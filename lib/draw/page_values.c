#include "draw/page_values.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    BASE = 92,
    ZERO = 0,
    MINUS_INFINITY = 1,
    FIRST = 2,
    SMALL = 99, /* codes of 1 to 99 units of the last power */
    DIGITS = 900,
    POWERS = 9,
    POWERS_OF_SIGNED = 4,
};

static const char letters[BASE + 1] =
    " !#$%&'()*+,-./0123456789:;=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~";

/* value · 10^power, rounded once. */
static double shift(double value, int power)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    enum { MOST = sizeof tens / sizeof *tens - 1 };
    for (; power > MOST; power -= MOST)
        value *= tens[MOST];
    for (; power < -MOST; power += MOST)
        value /= tens[MOST];
    return power < 0 ? value / tens[-power] : value * tens[power];
}

struct page_short page_short_of(const float *values, size_t count)
{
    struct page_short code = {0};
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            continue;
        code.has_sign |= values[i] < 0;
        most = fmax(most, fabs((double)values[i]));
    }
    if (most == 0)
        return code;
    code.top = (int)floor(log10(most));
    code.top += shift(most, 2 - code.top) >= 999.5; /* rounds up to the next power */
    return code;
}

static unsigned encode(const struct page_short *code, float value)
{
    int powers = code->has_sign ? POWERS_OF_SIGNED : POWERS;
    double size = fabs((double)value);
    int power = 0;
    if (!isfinite(value))
        return MINUS_INFINITY;
    /* what has less than 100 units here, rounded to a tenth of them, has more digits in the next */
    while (power < powers - 1 && shift(size, 2 - code->top + power) < 99.95)
        power++;
    long digits = lround(shift(size, 2 - code->top + power));
    if (digits == 0)
        return ZERO;
    unsigned c = digits < 100 ? (unsigned)digits - 1
                              : SMALL + (unsigned)digits - 100 + DIGITS * (unsigned)power;
    return FIRST + (code->has_sign ? 2 * c + (value < 0) : c);
}

void page_short_put(struct stream *out, const struct page_short *code, float value)
{
    unsigned pair = encode(code, value);
    char text[2] = {letters[pair / BASE], letters[pair % BASE]};
    stream_bytes(out, text, sizeof text);
}

static void put_three(struct page_exact *exact)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)exact->held[0] << 16 | (uint32_t)exact->held[1] << 8 | exact->held[2];
    char text[4] = "====";
    for (size_t i = 0; i <= exact->held_count; i++)
        text[i] = digits[bits >> (18 - 6 * i) & 63];
    stream_bytes(exact->out, text, sizeof text);
    memset(exact->held, 0, sizeof exact->held);
    exact->held_count = 0;
}

static void put_byte(struct page_exact *exact, unsigned char byte)
{
    exact->held[exact->held_count++] = byte;
    if (exact->held_count == 3)
        put_three(exact);
}

void page_exact_put(struct page_exact *exact, float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    for (int byte = 0; byte < 4; byte++)
        put_byte(exact, (unsigned char)(bits >> (8 * byte)));
}

void page_exact_bytes(struct page_exact *exact, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        put_byte(exact, (unsigned char)bytes[i]);
}

void page_exact_end(struct page_exact *exact)
{
    if (exact->held_count)
        put_three(exact);
}

void page_put_text(struct stream *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            stream_text(out, "&lt;");
        else if (*text == '&')
            stream_text(out, "&amp;");
        else
            stream_char(out, *text);
    }
}
