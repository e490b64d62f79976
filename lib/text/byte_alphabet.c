#include "text/byte_alphabet.h"

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

/* Read the sign at `text`, of two bytes at most; returns its length, or 0 where none stands. The
 * first 64 of the other signs begin with 0xC4, the last 4 with 0xC5; those from U+0080 on that
 * stand for themselves with 0xC2 or 0xC3. */
static size_t read_sign(char *byte, const unsigned char *text, size_t size)
{
    unsigned char first = text[0]; /* the byte may be written over it */
    if (first < 0x80) {
        *byte = (char)first;
        return is_itself(first);
    }
    if (size < 2 || (text[1] & 0xC0) != 0x80)
        return 0;
    uint32_t low = text[1] & 0x3F;
    uint32_t place = first == 0xC4 ? low : 64 + low;
    uint32_t self = first == 0xC2 ? 0x80 + low : 0xC0 + low;
    if (first == 0xC4 || (first == 0xC5 && place < OTHERS)) {
        *byte = (char)other_byte(place);
        return 2;
    }
    if ((first != 0xC2 && first != 0xC3) || !is_itself(self))
        return 0;
    *byte = (char)self;
    return 2;
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
