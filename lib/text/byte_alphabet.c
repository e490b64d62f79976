#include "text/word_table.h"

/* The bytes that do not stand for themselves: 0x00 to 0x20, 0x7F to 0xA0, and 0xAD. Their signs are
 * U+0100 and on. */
enum {
    LOW_COUNT = 0x21,
    HIGH_FIRST = 0x7F,
    HIGH_COUNT = 0x22,
    SOFT_HYPHEN = 0xAD,
    FIRST_OTHER = 0x100,
    OTHERS = LOW_COUNT + HIGH_COUNT + 1,
};

static bool is_itself(uint32_t c)
{
    return c >= LOW_COUNT && c <= 0xFF && (c < HIGH_FIRST || c >= HIGH_FIRST + HIGH_COUNT) &&
           c != SOFT_HYPHEN;
}

/* By sign of two bytes, from U+0080 on: its byte and 1, or 0. */
static uint16_t long_signs[FIRST_OTHER + OTHERS - 0x80];

__attribute__((constructor)) static void fill_long_signs(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t sign = byte_alphabet_sign((unsigned char)byte);
        if (sign >= 0x80)
            long_signs[sign - 0x80] = (uint16_t)(byte + 1);
    }
}

size_t byte_alphabet_decode(char *out, size_t *out_size, const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0;
    size_t used = 0;
    for (;; at += 2) {
        while (at < size && bytes[at] > ' ' && bytes[at] < HIGH_FIRST) /* most of all texts */
            out[used++] = text[at++];
        if (size - at < 2 || bytes[at] < 0xC2 || bytes[at] > 0xC5 || (bytes[at + 1] & 0xC0) != 0x80)
            break;
        size_t sign = (size_t)(bytes[at] - 0xC2) << 6 | (bytes[at + 1] & 0x3F);
        if (sign >= sizeof long_signs / sizeof *long_signs || !long_signs[sign])
            break;
        out[used++] = (char)(long_signs[sign] - 1);
    }
    *out_size = used;
    return at;
}

uint32_t byte_alphabet_sign(unsigned char byte)
{
    if (is_itself(byte))
        return byte;
    uint32_t place = byte < LOW_COUNT      ? byte
                     : byte != SOFT_HYPHEN ? (uint32_t)(LOW_COUNT + byte - HIGH_FIRST)
                                           : LOW_COUNT + HIGH_COUNT;
    return FIRST_OTHER + place;
}
