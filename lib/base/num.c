#include "base/num.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIGITS_MAX = 9, /* number of significant digits that is enough for every float32 */
    EXACT_TEN = 22, /* 10^0 … 10^22 are exact in a double */
};

static const double ten_to[EXACT_TEN + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                             1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                             1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

bool num_add(size_t *result, size_t a, size_t b)
{
    if (a > SIZE_MAX - b)
        return false;
    *result = a + b;
    return true;
}

bool num_multiply(size_t *result, size_t a, size_t b)
{
    if (b && a > SIZE_MAX / b)
        return false;
    *result = a * b;
    return true;
}

uint64_t num_of_bytes(const char *bytes, size_t size)
{
    uint64_t number = 0;
    while (size-- > 0)
        number = number << 8 | (unsigned char)bytes[size];
    return number;
}

bool num_parse_integer(const char *text, long long min, long long max, long long *value)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if (*digits == '\0' || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    long long parsed = strtoll(text, NULL, 10);
    if (errno || parsed < min || parsed > max)
        return false;
    *value = parsed;
    return true;
}

bool num_parse_part(const char *text, size_t size, long long min, long long max, long long *value)
{
    char digits[24];
    if (size >= sizeof digits)
        return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    return num_parse_integer(digits, min, max, value);
}

bool num_parse_double(const char *text, double min, double max, double *value)
{
    if (*text == '\0' || strspn(text, "+-.0123456789eE") != strlen(text))
        return false;
    char *end = NULL;
    double parsed = strtod(text, &end);
    if (*end || !(parsed >= min && parsed <= max))
        return false;
    *value = parsed;
    return true;
}

/* A decimal number: digits · 10^exponent. */
struct decimal {
    uint32_t digits;
    int exponent;
};

/* Round `value` to `count` digits; true if the decimal reads back as `value`. `magnitude` is
 * floor(log10(value)). The powers of ten are exact, so `back` is the decimal rounded once, to a
 * double; rounding it again gives the float that a reader gets. This was tested for all decimals of
 * up to 8 digits; decimals of 9 digits are never near enough to the middle of two floats. */
static bool round_to(struct decimal *out, float value, int magnitude, int count)
{
    int shift = count - 1 - magnitude; /* value · 10^shift has `count` digits before the point */
    double scaled = shift >= 0 ? value * ten_to[shift] : value / ten_to[-shift];
    out->digits = (uint32_t)rint(scaled); /* a tie goes to the even digit, as in printf */
    out->exponent = -shift;
    double back = shift >= 0 ? out->digits / ten_to[shift] : out->digits * ten_to[-shift];
    return (float)back == value;
}

/* Round a value of any magnitude with the C library: slow, and rarely needed. Only the nearest
 * decimal of each length is tried: 2^-96, 2^87 and 2^90 get 9 digits, although one with 8 digits
 * that is not the nearest reads back the same. */
static struct decimal round_slowly(float value)
{
    char text[32], shorter[32];
    snprintf(text, sizeof text, "%.*e", DIGITS_MAX - 1, (double)value);
    for (int count = DIGITS_MAX - 1; count >= 1; count--) {
        snprintf(shorter, sizeof shorter, "%.*e", count - 1, (double)value);
        if (strtof(shorter, NULL) != value)
            break;
        strcpy(text, shorter);
    }
    char *end = NULL;
    if (text[1] != 'e') /* remove the point */
        memmove(text + 1, text + 2, strlen(text + 1));
    uint32_t digits = (uint32_t)strtoul(text, &end, 10);
    return (struct decimal){digits, atoi(end + 1) - (int)(end - text - 1)};
}

/* The shortest decimal of a positive, finite float. */
static struct decimal shorten(float value)
{
    int magnitude = (int)floor(log10((double)value));
    if (magnitude < -(EXACT_TEN - DIGITS_MAX) || magnitude > EXACT_TEN - 1)
        return round_slowly(value);
    struct decimal best = {0}, shorter = {0};
    if (!round_to(&best, value, magnitude, DIGITS_MAX))
        return round_slowly(value);
    for (int count = DIGITS_MAX - 1; count >= 1; count--) {
        if (!round_to(&shorter, value, magnitude, count))
            break;
        best = shorter;
    }
    return best;
}

static size_t put_scientific(char *text, const char *digits, int count, int magnitude)
{
    size_t size = 0;
    text[size++] = digits[0];
    if (count > 1) {
        text[size++] = '.';
        memcpy(text + size, digits + 1, (size_t)count - 1);
        size += (size_t)count - 1;
    }
    text[size++] = 'e';
    text[size++] = magnitude < 0 ? '-' : '+';
    int power = magnitude < 0 ? -magnitude : magnitude;
    text[size++] = (char)('0' + power / 10);
    text[size++] = (char)('0' + power % 10);
    return size;
}

static size_t put_plain(char *text, const char *digits, int count, int magnitude)
{
    size_t size = 0;
    if (magnitude < 0) {
        text[size++] = '0';
        text[size++] = '.';
        for (int i = -1; i > magnitude; i--)
            text[size++] = '0';
    }
    for (int i = 0; i < count || i <= magnitude; i++) {
        if (i == magnitude + 1 && i > 0 && magnitude >= 0)
            text[size++] = '.';
        text[size++] = i < count ? digits[i] : '0';
    }
    return size;
}

void num_double(char text[NUM_DOUBLE_BYTES], double value)
{
    enum { FEW = 15, ALL = 17 };
    double same = 0;
    for (int digits = FEW; digits <= ALL; digits++) {
        snprintf(text, NUM_DOUBLE_BYTES, "%.*g", digits, value);
        if (num_parse_double(text, -DBL_MAX, DBL_MAX, &same) && same == value)
            break;
    }
}

size_t num_float(char text[NUM_FLOAT_BYTES], float value)
{
    size_t sign = signbit(value) && !isnan(value) ? 1 : 0;
    text[0] = '-';
    value = fabsf(value);
    const char *special = isnan(value) ? "nan" : isinf(value) ? "inf" : value == 0 ? "0" : NULL;
    if (special) {
        strcpy(text + sign, special);
        return sign + strlen(special);
    }
    struct decimal decimal = shorten(value);
    while (decimal.digits % 10 == 0) {
        decimal.digits /= 10;
        decimal.exponent++;
    }
    char digits[16];
    int count = 0;
    for (uint32_t rest = decimal.digits; rest; rest /= 10)
        count++;
    for (int i = count - 1; i >= 0; i--, decimal.digits /= 10)
        digits[i] = (char)('0' + decimal.digits % 10);
    int magnitude = decimal.exponent + count - 1;
    bool plain = magnitude >= -5 && magnitude < DIGITS_MAX;
    size_t size =
        sign + (plain ? put_plain : put_scientific)(text + sign, digits, count, magnitude);
    text[size] = '\0';
    return size;
}

size_t num_count(char text[NUM_COUNT_BYTES], uint64_t count)
{
    size_t length = 1;
    for (uint64_t limit = 10; count >= limit && length < NUM_COUNT_BYTES; limit *= 10)
        length++;
    for (size_t at = length; at > 0; count /= 10)
        text[--at] = (char)('0' + count % 10);
    return length;
}

const char *num_size(char text[NUM_SIZE_BYTES], uint64_t bytes)
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(text, NUM_SIZE_BYTES, "%u B", (unsigned)bytes);
        return text;
    }
    double value = (double)bytes / 1024;
    size_t unit = 0;
    while (value >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        value /= 1024;
        unit++;
    }
    snprintf(text, NUM_SIZE_BYTES, "%.1f %s", value, units[unit]);
    return text;
}

double num_shown(double value, int decimals)
{
    /* half a unit of the last decimal; without decimals, printf rounds 0.5 to even, that is to 0 */
    double half = 0.5;
    for (int i = 0; i < decimals; i++)
        half /= 10;
    bool is_zero = fabs(value) < half || (decimals == 0 && fabs(value) == half);
    return is_zero ? 0 : value;
}

/* --- base64 ----------------------------------------------------------------------------------- */

const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool base64_decode(char *out, size_t *size, const char *text, size_t text_size)
{
    uint32_t bits = 0;
    size_t i = 0;
    *size = 0;
    for (const char *digit; i < text_size && (digit = memchr(base64_digits, text[i], 64)); i++) {
        bits = bits << 6 | (uint32_t)(digit - base64_digits);
        if (i % 4)
            out[(*size)++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    bool whole = i % 4 != 1;
    while (i < text_size && text[i] == '=')
        i++;
    return whole && i == text_size;
}

const char *bar_draw(char bar[BAR_BYTES], double share)
{
    enum { EIGHTHS = 8 };
    static const char *const parts[EIGHTHS] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)lround(fmax(fmin(share, 1), 0) * BAR_COLUMNS * EIGHTHS);
    char *at = bar;
    for (int column = 0; column < BAR_COLUMNS; column++, eighths -= EIGHTHS) {
        const char *part = eighths >= EIGHTHS ? "█" : parts[eighths > 0 ? eighths : 0];
        at += snprintf(at, (size_t)(bar + BAR_BYTES - at), "%s", part);
    }
    return bar;
}
