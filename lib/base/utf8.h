/* utf8.h: characters in UTF-8: their kinds, categories, normal forms and width on a terminal,
 * whatever the locale. Width, graphemes and normal forms come from utf8proc.
 *
 *     for (size_t at = 0; at < size; at += utf8_step(&c, text + at, size - at)) ... (any bytes)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buf;

/* --- kinds of characters ----------------------------------------------------------------------
 *
 * The program has its own table: other versions of Unicode would split texts differently. */
enum unicode_kind {
    UNICODE_CONTROL,       /* category C except joiners: controls, format characters, private use,
                            * unassigned */
    UNICODE_LETTER,        /* category L */
    UNICODE_MARK,          /* category M */
    UNICODE_DIGIT,         /* category Nd */
    UNICODE_LETTER_NUMBER, /* category Nl */
    UNICODE_OTHER_NUMBER,  /* category No */
    UNICODE_SPACE,         /* property White_Space, in any category: U+0085 has it, U+FEFF
                            * does not */
    UNICODE_CONNECTOR,     /* category Pc, such as _ */
    UNICODE_SIGN,          /* categories P and S except connectors and alphabetic symbols */
    UNICODE_ALPHABETIC,    /* category S with the property Alphabetic, such as Ⓐ */
    UNICODE_JOINER,        /* the joiners U+200C and U+200D */
};

enum {
    UNICODE_LAST = 0x10FFFF,
    UNICODE_PAGE = 256,
    UNICODE_PAGES_MAX = 192, /* maximum number of pages with different contents */
};

/* unicode_version: the table's version of Unicode, "16.0.0". unicode_letters: a letter for each
 * kind. unicode_runs: runs of code points of one kind, "C9W5" for 9 controls and 5 spaces; NULL
 * ends the list. unicode_page_of and unicode_pages: the kind of each code point by page, filled
 * before main. */
extern const char unicode_version[], unicode_letters[];
extern const char *const unicode_runs[];
extern uint8_t unicode_page_of[UNICODE_LAST / UNICODE_PAGE + 1];
extern uint8_t unicode_pages[UNICODE_PAGES_MAX][UNICODE_PAGE];

static inline enum unicode_kind unicode_kind(uint32_t character)
{
    uint8_t page = unicode_page_of[character / UNICODE_PAGE];
    return (enum unicode_kind)unicode_pages[page][character % UNICODE_PAGE];
}

/* True for kinds of characters that \w of regular expressions matches. */
bool unicode_is_word(enum unicode_kind kind);

/* unicode_is_in: true if one of the ranges contains the character. The ranges ascend. */
struct unicode_range {
    uint32_t first, last;
};

bool unicode_is_in(const struct unicode_range *ranges, size_t count, uint32_t character);

#define UNICODE_IS_IN(ranges, c) unicode_is_in(ranges, sizeof(ranges) / sizeof *(ranges), c)

/* True for characters in the blocks of scripts without spaces between words (Han, Kana, Thai, …;
 * not Hangul). */
bool unicode_is_unspaced(uint32_t character);

/* A coarser classification of characters. Marks count as letters: they belong to the letter before
 * them. */
enum utf8_class {
    UTF8_SPACE,   /* Unicode's White_Space */
    UTF8_LETTER,  /* letters and combining marks */
    UTF8_NUMBER,  /* digits and other numbers */
    UTF8_OTHER,   /* punctuation, symbols, emoji */
    UTF8_CONTROL, /* controls, format characters, private use, unassigned */
};

enum utf8_class utf8_class(uint32_t character);

/* False for characters of UTF8_CONTROL except joiners, for invisible letters, and for blanks except
 * U+0020. */
bool utf8_is_visible(uint32_t character);

/* The lowercase form of a character, or the character itself if it has none. */
uint32_t utf8_small(uint32_t character);

/* True for characters of one category, as Hugging Face's library has it: P (punctuation), Mn
 * (nonspacing) and C without unassigned characters (other) in Unicode 8, M (mark) in Unicode 9. */
bool utf8_is_punctuation(uint32_t character);
bool utf8_is_nonspacing(uint32_t character);
bool utf8_is_other(uint32_t character);
bool utf8_is_mark(uint32_t character);

/* --- characters in bytes ---------------------------------------------------------------------- */

enum { UTF8_REPLACEMENT = 0xFFFD }; /* the character for bytes that are not UTF-8 */

/* True for a byte that is not the first byte of its character. */
static inline bool utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* The start of a text, after a byte order mark if there is one. */
static inline const char *utf8_begin(const char *text, size_t size)
{
    return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
}

/* The byte offset of the character that ends at byte offset `end`, which must not be 0. */
static inline size_t utf8_before(const char *text, size_t end)
{
    do
        end--;
    while (end && utf8_continues(text[end]));
    return end;
}

/* Read the character at `bytes`, which is not ASCII for utf8_decode_long. Returns its length in
 * bytes; 0 if the bytes are not UTF-8 (overlong forms and surrogates included) or `size` is 0. */
size_t utf8_decode_long(uint32_t *character, const char *bytes, size_t size);

static inline size_t utf8_decode(uint32_t *character, const char *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (size && b[0] < 0x80) {
        *character = b[0];
        return 1;
    }
    /* most characters beyond ASCII have three bytes, the last two without further conditions */
    if (size < 3 || (b[0] & 0xF0) != 0xE0 || b[0] == 0xE0 || b[0] == 0xED ||
        !utf8_continues(bytes[1]) || !utf8_continues(bytes[2]))
        return utf8_decode_long(character, bytes, size);
    *character = (b[0] & 0xFu) << 12 | (b[1] & 0x3Fu) << 6 | (b[2] & 0x3Fu);
    return 3;
}

/* utf8_decode for loops, which must advance: a byte that is not UTF-8 is read as U+FFFD of length
 * 1. The length is from 1 to `size`, or 0 if `size` is 0. */
static inline size_t utf8_step(uint32_t *character, const char *bytes, size_t size)
{
    size_t length = utf8_decode(character, bytes, size);
    if (length || !size)
        return length;
    *character = UTF8_REPLACEMENT;
    return 1;
}

/* Write a character as UTF-8; returns its length in bytes. */
size_t utf8_encode(char out[4], uint32_t character);

/* The offset of the first byte that is not UTF-8; `size` if all bytes are UTF-8. */
size_t utf8_invalid_at(const char *bytes, size_t size);

/* The end of a run of equal characters. The first begins at byte offset `at` and has `length`
 * bytes. */
static inline size_t utf8_row_end(const char *text, size_t size, size_t at, size_t length)
{
    size_t end = at + length;
    while (end < size && text[end] == text[end - length])
        end++;
    return end - (end - at) % length; /* different characters may have the same first bytes */
}

/* The number of bytes of the first grapheme, which readers see as one character, such as a family
 * emoji; 1 for a byte that is not UTF-8; 0 if `size` is 0. */
size_t utf8_grapheme(const char *bytes, size_t size);

/* The width of a text on a terminal in columns: 2 for 爱 and 🍰, 0 for a combining accent or a byte
 * that is not UTF-8. */
size_t utf8_width(const char *bytes, size_t size);

/* True if the last letter is of a script written from right to left. */
bool utf8_ends_leftwards(const char *bytes, size_t size);

/* --- normal forms -----------------------------------------------------------------------------
 *
 * A text is normalized segment by segment, so that the caller knows which characters changed. As in
 * Hugging Face's library, characters added after Unicode 9 are not decomposed.
 *
 *     for (size_t at = 0, end; at < size; at = end) {
 *         end = unicode_form_end(UNICODE_NFC, text, size, at, &stays);
 *         if (!stays && unicode_form_put(UNICODE_NFC, &buf, text + at, end - at)) …   it changes
 *     }
 */
enum unicode_form { UNICODE_NFC, UNICODE_NFD, UNICODE_NFKC, UNICODE_NFKD };

/* The end of the segment that begins at `at`: a run of characters that stay as they are, or a
 * character with all characters that may combine with it. `*stays` is set to true for a run that
 * stays, else to false. */
size_t unicode_form_end(enum unicode_form form, const char *text, size_t size, size_t at,
                        bool *stays);

/* Append the normal form of a segment, in linear time; false, and nothing is appended, if the form
 * equals the segment. */
bool unicode_form_put(enum unicode_form form, struct buf *out, const char *text, size_t size);

/* True for a character added after Unicode 9 that has a decomposition. */
bool unicode_is_form_after_9(uint32_t character);
