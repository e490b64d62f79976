#include "text/label.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { SIGN_BYTES = 4 * 4 + 1 }; /* the longest visible form of one character: four times \xNN */

/* Write the visible form of the first character; returns how many bytes it stands for. */
static size_t show(char sign[SIGN_BYTES], const char *bytes, size_t size)
{
    uint32_t c = 0;
    size_t length = utf8_decode(&c, bytes, size);
    const char *blank = c == ' ' ? "␣" : c == '\n' ? "↵" : c == '\t' ? "⇥" : NULL;
    if (blank) {
        strcpy(sign, blank);
    } else if (length > 0 && utf8_is_visible(c)) {
        memcpy(sign, bytes, length);
        sign[length] = '\0';
    } else {
        length = length ? length : 1;
        for (size_t i = 0; i < length; i++)
            snprintf(sign + 4 * i, 5, "\\x%02x", (unsigned char)bytes[i]);
    }
    return length;
}

void label_visible(struct buf *out, const char *bytes, size_t size)
{
    char sign[SIGN_BYTES];
    for (size_t at = 0; at < size;) {
        at += show(sign, bytes + at, size - at);
        buf_text(out, sign);
    }
}

/* As `show`, but for blanks. */
static size_t show_in_line(char sign[SIGN_BYTES], const char *bytes, size_t size)
{
    size_t length = show(sign, bytes, size);
    if (*bytes == ' ')
        strcpy(sign, " ");
    return length;
}

void label_line(struct buf *out, const char *bytes, size_t size)
{
    char sign[SIGN_BYTES];
    for (size_t at = 0; at < size;) {
        at += show_in_line(sign, bytes + at, size - at);
        buf_text(out, sign);
    }
}

void label_write_line(struct stream *out, const char *bytes, size_t size)
{
    char sign[SIGN_BYTES];
    for (size_t at = 0; at < size;) {
        at += show_in_line(sign, bytes + at, size - at);
        stream_text(out, sign);
    }
}

bool label_is_rest(const char *bytes, size_t size)
{
    return size > 0 && ((unsigned char)bytes[0] & 0xC0) == 0x80;
}

/* True when the last character has begun and wants more bytes. */
static bool wants_more(const char *bytes, size_t size)
{
    size_t rest = 0; /* bytes that go on a character, at the end */
    while (rest < size && rest < 3 && ((unsigned char)bytes[size - 1 - rest] & 0xC0) == 0x80)
        rest++;
    unsigned char first = rest < size ? (unsigned char)bytes[size - 1 - rest] : 0;
    return first >= 0xC2 && first <= 0xF4 && rest < (first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3);
}

void label_token(struct buf *out, const char *bytes, size_t size, bool goes_on)
{
    static const char tie[] = "‿";
    if (label_is_rest(bytes, size))
        buf_text(out, tie);
    label_visible(out, bytes, size);
    if (goes_on || wants_more(bytes, size))
        buf_text(out, tie);
}

const char *label_excerpt(char text[LABEL_EXCERPT_BYTES], const char *bytes, size_t size)
{
    static const char more[] = "…";
    char sign[SIGN_BYTES];
    size_t used = 0;
    size_t cut = 0; /* the last place between two signs where `more` has room */
    for (size_t at = 0; at < size;) {
        at += show(sign, bytes + at, size - at);
        size_t length = strlen(sign);
        if (used + length >= LABEL_EXCERPT_BYTES) {
            memcpy(text + cut, more, sizeof more);
            return text;
        }
        memcpy(text + used, sign, length);
        used += length;
        if (used + sizeof more <= LABEL_EXCERPT_BYTES)
            cut = used;
    }
    text[used] = '\0';
    return text;
}
