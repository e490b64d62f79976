/* utf8.h: characters in bytes: what they are and how wide they stand on a terminal, whatever the
 * locale. Columns and graphemes, which only align what is shown, are utf8proc's.
 *
 *     for (size_t at = 0; at < size; at += utf8_decode(&c, text + at, size - at)) ...
 */
#ifndef ATTN_BASE_UTF8_H
#define ATTN_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- kinds of characters, by one version of Unicode -------------------------------------------
 *
 * The table is the program's own: a library of another version would cut other tokens. */
enum unicode_kind {
    UNICODE_CONTROL,       /* C: controls, format characters, private use, unassigned */
    UNICODE_LETTER,        /* L */
    UNICODE_MARK,          /* M */
    UNICODE_DIGIT,         /* Nd */
    UNICODE_LETTER_NUMBER, /* Nl */
    UNICODE_OTHER_NUMBER,  /* No */
    UNICODE_SPACE,         /* White_Space, of whatever category: U+0085 is, U+FEFF is not */
    UNICODE_CONNECTOR,     /* Pc: _ and its kind */
    UNICODE_SIGN,          /* the rest of P and S */
    UNICODE_ALPHABETIC,    /* what of S is Alphabetic: Ⓐ */
    UNICODE_JOINER,        /* U+200C and U+200D */
};

enum {
    UNICODE_LAST = 0x10FFFF,
    UNICODE_PAGE = 256,
    UNICODE_PAGES_MAX = 192, /* that differ */
};

/* The table's version, "16.0.0"; a letter for each kind; how many code points of which kind follow
 * each other, "C9W5C18", in texts up to NULL; and, made of them before main, all kinds by pages, of
 * which most are of one kind. */
extern const char unicode_version[], unicode_letters[];
extern const char *const unicode_runs[];
extern uint8_t unicode_page_of[UNICODE_LAST / UNICODE_PAGE + 1];
extern uint8_t unicode_pages[UNICODE_PAGES_MAX][UNICODE_PAGE];

/* The kind of a code point; what \w of regular expressions is; letters and marks of scripts that
 * put no blanks between words (Han, Kana, Thai, …; not Hangul), by blocks. */
static inline enum unicode_kind unicode_kind(uint32_t character)
{
    uint8_t page = unicode_page_of[character / UNICODE_PAGE];
    return (enum unicode_kind)unicode_pages[page][character % UNICODE_PAGE];
}

bool unicode_is_word(enum unicode_kind kind);
bool unicode_is_unspaced(uint32_t character);

/* --- characters in bytes ---------------------------------------------------------------------- */

/* What a character is to a tokenizer. Marks count as letters: they belong to the one before. */
enum utf8_class {
    UTF8_SPACE,   /* Unicode's White_Space */
    UTF8_LETTER,  /* letters and combining marks */
    UTF8_NUMBER,  /* digits and other numbers */
    UTF8_OTHER,   /* punctuation, symbols, emoji */
    UTF8_CONTROL, /* controls, format characters, unassigned */
};

/* Read the character at `bytes`; returns its length in bytes, 0 where they are not UTF-8 (overlong
 * forms and surrogates included) or `size` is 0. Write one; returns its length. */
size_t utf8_decode_long(uint32_t *character, const char *bytes, size_t size); /* of any form */
size_t utf8_encode(char out[4], uint32_t character);

static inline size_t utf8_decode(uint32_t *character, const char *bytes, size_t size)
{
    const unsigned char *b = (const unsigned char *)bytes;
    if (size && b[0] < 0x80) {
        *character = b[0];
        return 1;
    }
    /* most others have three, and need no more than bytes that go on */
    if (size < 3 || (b[0] & 0xF0) != 0xE0 || b[0] == 0xE0 || b[0] == 0xED ||
        (b[1] & 0xC0) != 0x80 || (b[2] & 0xC0) != 0x80)
        return utf8_decode_long(character, bytes, size);
    *character = (b[0] & 0xFu) << 12 | (b[1] & 0x3Fu) << 6 | (b[2] & 0x3Fu);
    return 3;
}

/* The end of a row of equal characters, of which the first, of `length` bytes, stands at `at`. */
static inline size_t utf8_row_end(const char *text, size_t size, size_t at, size_t length)
{
    size_t end = at + length;
    while (end < size && text[end] == text[end - length])
        end++;
    return end - (end - at) % length; /* the first bytes of characters may be the same */
}

/* The offset of the first byte that is not UTF-8; `size` when all of it is. */
size_t utf8_invalid_at(const char *bytes, size_t size);

/* Its class; its small letter, or itself; is it shown as itself: no control, not invisible, not one
 * that turns the text's direction? */
enum utf8_class utf8_class(uint32_t character);
uint32_t utf8_small(uint32_t character);
bool utf8_is_visible(uint32_t character);

/* Categories as Hugging Face's library has them, by tables of Unicode 8 and, of marks, 9: P; Mn;
 * Cc, Cf and Co, but not what is not assigned; M. And what is younger than these tables, where it
 * would be one of them; or has a form of Unicode (unicode_form.h). */
bool utf8_is_punctuation(uint32_t character);
bool utf8_is_nonspacing(uint32_t character);
bool utf8_is_other(uint32_t character);
bool utf8_is_mark(uint32_t character);
bool unicode_is_after_8(uint32_t character);
bool unicode_is_mark_after_9(uint32_t character);
bool unicode_is_form_after_9(uint32_t character);

/* The bytes of the first grapheme (what a reader calls one character, an emoji family included);
 * columns that valid UTF-8 takes on a terminal: 2 for 爱 and 🍰, 0 for a combining accent. */
size_t utf8_grapheme(const char *bytes, size_t size);
size_t utf8_width(const char *bytes, size_t size);

/* True where the last letter is of a script that goes from right to left. */
bool utf8_ends_leftwards(const char *bytes, size_t size);

#endif
