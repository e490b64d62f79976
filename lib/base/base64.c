#include "base/base64.h"

#include <stdint.h>

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool base64_decode(char *out, size_t *size, const char *text, size_t text_size)
{
    uint32_t bits = 0;
    size_t i = 0;
    *size = 0;
    for (int digit; i < text_size && (digit = digit_of(text[i])) >= 0; i++) {
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4)
            out[(*size)++] = (char)(bits >> (6 - 2 * (i % 4)));
    }
    bool whole = i % 4 != 1;
    while (i < text_size && text[i] == '=')
        i++;
    return whole && i == text_size;
}
