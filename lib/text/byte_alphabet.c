#include "text/byte_alphabet.h"

/* The bytes that do not stand for themselves: 0x00 to 0x20, 0x7F to 0xA0, and 0xAD. */
enum {
    LOW_COUNT = 0x21,
    HIGH_FIRST = 0x7F,
    HIGH_COUNT = 0x22,
    SOFT_HYPHEN = 0xAD,
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

/* The character at `text`, and its length, when it has one byte or two; else length 0. */
static uint32_t read_short(const unsigned char *text, size_t size, size_t *length)
{
    *length = text[0] < 0x80 ? 1 : 0;
    if (*length || size < 2 || text[0] < 0xC2 || text[0] >= 0xE0 || (text[1] & 0xC0) != 0x80)
        return text[0];
    *length = 2;
    return (text[0] & 0x1Fu) << 6 | (text[1] & 0x3Fu);
}

size_t byte_alphabet_decode(char *out, size_t *out_size, const char *text, size_t size)
{
    size_t at = 0;
    size_t used = 0;
    size_t length = 0;
    for (;; at += length) {
        while (at < size && text[at] > ' ' && text[at] < HIGH_FIRST) /* most of all texts */
            out[used++] = text[at++];
        if (at == size)
            break;
        uint32_t c = read_short((const unsigned char *)text + at, size - at, &length);
        if (length && is_itself(c))
            out[used++] = (char)c;
        else if (length && c >= BYTE_ALPHABET_FIRST_OTHER && c < BYTE_ALPHABET_END)
            out[used++] = (char)other_byte(c - BYTE_ALPHABET_FIRST_OTHER);
        else
            break;
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
    return BYTE_ALPHABET_FIRST_OTHER + place;
}
