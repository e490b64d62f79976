/* unicode.h: what kind of character a code point is, by one version of Unicode.
 *
 * The cutting of texts into tokens hangs on it, so the table is the program's own: with a library
 * of another version, another machine would make other ids of the same text.
 *
 *     enum unicode_kind kind = unicode_run(0x7231).kind;
 */
#ifndef ATTN_BASE_UNICODE_H
#define ATTN_BASE_UNICODE_H

#include <stdbool.h>
#include <stdint.h>

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

/* Neighbours of one kind. */
struct unicode_run {
    uint32_t first;
    uint32_t last;
    enum unicode_kind kind;
};

/* The run in which a code point stands. */
struct unicode_run unicode_run(uint32_t character);

/* What \w of regular expressions is: Alphabetic, marks, digits, connectors and joiners. */
bool unicode_is_word(enum unicode_kind kind);

/* True for letters and marks of scripts that put no blanks between words: Han, Kana, Thai and more;
 * not for Hangul. Other characters of their blocks may be taken for such. */
bool unicode_is_unspaced(uint32_t character);

/* The version of the table: "16.0.0". */
const char *unicode_version(void);

#endif
