#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <string.h>

#include "text/word_table.h"

/* The bytes 0x00 to 0x20, 0x7F to 0xA0 and 0xAD are written as U+0100 and on, all others as the
 * characters of the same number. */
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

/* By character, from U+0080 on: its byte + 1, or 0. By form: true for bytes of a JSON text that are
 * copied as they are. */
static uint16_t long_signs[FIRST_OTHER + OTHERS - 0x80];
static bool is_plain[WORD_TEXT + 1][256];

__attribute__((constructor)) static void fill_tables(void)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        uint32_t sign = byte_alphabet_sign((unsigned char)byte);
        bool plain = byte > ' ' && byte != '"' && byte != '\\';
        is_plain[WORD_BYTES][byte] = plain && byte < HIGH_FIRST;
        is_plain[WORD_TEXT][byte] = plain;
        if (sign >= 0x80)
            long_signs[sign - 0x80] = (uint16_t)(byte + 1);
    }
}

/* The byte of the two-byte character at the start, + 1; or 0. */
static unsigned long_sign(const unsigned char *bytes)
{
    if (bytes[0] < 0xC2 || bytes[0] > 0xC5 || (bytes[1] & 0xC0) != 0x80)
        return 0;
    size_t sign = (size_t)(bytes[0] - 0xC2) << 6 | (bytes[1] & 0x3F);
    return sign < sizeof long_signs / sizeof *long_signs ? long_signs[sign] : 0;
}

/* Copy bytes as they are, sixteen at a time while there is room; returns the position of another
 * one, or where fewer are left. */
#ifdef __SSE2__

static inline const char *copy_plain(char **out, const char *limit, const char *at, const char *end,
                                     enum word_form form)
{
    enum { BLOCK_BYTES = 16 };
    int high =
        form == WORD_BYTES ? (1 << BLOCK_BYTES) - 1 : 0; /* high bytes begin such characters */
    char *to = *out;
    for (int stop = 0; !stop && end - at >= BLOCK_BYTES && limit - to >= BLOCK_BYTES;) {
        __m128i block = _mm_loadu_si128((const __m128i *)at);
        __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(' ')), block);
        __m128i quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
        __m128i slashes = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
        __m128i last = _mm_cmpeq_epi8(block, _mm_set1_epi8(HIGH_FIRST));
        stop = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(low, quotes), slashes)) |
               (_mm_movemask_epi8(_mm_or_si128(block, last)) & high);
        _mm_storeu_si128((__m128i *)to, block);
        int plain = __builtin_ctz((unsigned)stop | 1u << BLOCK_BYTES);
        at += plain;
        to += plain;
    }
    *out = to;
    return at;
}

#else

static const char *copy_plain(char **out, const char *limit, const char *at, const char *end,
                              enum word_form form)
{
    (void)out, (void)limit, (void)end, (void)form;
    return at;
}

#endif

const char *word_signs_read(char **out, const char *limit, const char *text, const char *end,
                            enum word_form form)
{
    const bool *plain = is_plain[form];
    bool blank = form == WORD_BYTES && *out < limit && end - text > 1 && memcmp(text, "Ġ", 2) == 0;
    **out = ' '; /* without a branch: half of all words begin with one */
    *out += blank;
    text += 2 * blank;
    for (unsigned sign; *out < limit; *(*out)++ = (char)(sign - 1)) {
        text = copy_plain(out, limit, text, end, form);
        for (; plain[(unsigned char)*text] && *out < limit; text++)
            *(*out)++ = *text;
        if (*out == limit || form == WORD_TEXT || !(sign = long_sign((const unsigned char *)text)))
            break;
        text += 2;
    }
    return text;
}

size_t byte_alphabet_decode(char *out, size_t *out_size, const char *text, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t at = 0;
    size_t used = 0;
    for (;; at += 2) {
        while (at < size && bytes[at] > ' ' && bytes[at] < HIGH_FIRST) /* most of all texts */
            out[used++] = text[at++];
        unsigned sign = size - at < 2 ? 0 : long_sign(bytes + at);
        if (!sign)
            break;
        out[used++] = (char)(sign - 1);
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
