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

static unsigned char other_byte(uint32_t place)
{
    if (place < LOW_COUNT)
        return (unsigned char)place;
    place -= LOW_COUNT;
    return place < HIGH_COUNT ? (unsigned char)(HIGH_FIRST + place) : SOFT_HYPHEN;
}

/* Read the sign at `text`, of two bytes at most, which `byte` may be written over; returns its
 * length, or 0 where none stands. */
static size_t read_sign(char *byte, const unsigned char *text, size_t size)
{
    size_t length = 1;
    uint32_t c = text[0];
    if (c >= 0xC2 && c <= 0xC5 && size > 1 && (text[1] & 0xC0) == 0x80) {
        c = (c & 0x1F) << 6 | (text[1] & 0x3F);
        length = 2;
    } else if (c >= 0x80) {
        return 0;
    }
    if (c < FIRST_OTHER ? !is_itself(c) : c >= FIRST_OTHER + OTHERS)
        return 0;
    *byte = (char)(c < FIRST_OTHER ? c : other_byte(c - FIRST_OTHER));
    return length;
}

size_t byte_alphabet_decode(char *out, size_t *out_size, const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0;
    size_t used = 0;
    size_t length = 0;
    for (;; at += length) {
        while (at < size && bytes[at] > ' ' && bytes[at] < HIGH_FIRST) /* most of all texts */
            out[used++] = text[at++];
        if (at == size)
            break;
        length = read_sign(out + used, bytes + at, size - at);
        if (!length)
            break;
        used++;
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
