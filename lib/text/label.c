#include "text/label.h"

#include <string.h>

#include "base/stream.h"
#include "base/terminal.h"

/* Write the visible form of the first character; returns how many bytes it stands for. */
static size_t show(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size)
{
    const char *blank = *bytes == ' ' ? "␣" : *bytes == '\n' ? "↵" : *bytes == '\t' ? "⇥" : NULL;
    if (!blank)
        return terminal_sign(sign, bytes, size);
    strcpy(sign, blank);
    return 1;
}

/* The visible form of all of it, whose blanks stay blanks in a line to read, to one of the two. */
static void show_all(struct buf *buf, struct stream *stream, const char *bytes, size_t size,
                     bool is_line)
{
    char sign[TERMINAL_SIGN_BYTES];
    for (size_t at = 0; at < size;) {
        const char *shown = is_line && bytes[at] == ' ' ? " " : sign;
        at += show(sign, bytes + at, size - at);
        if (buf)
            buf_text(buf, shown);
        else
            stream_text(stream, shown);
    }
}

void label_visible(struct buf *out, const char *bytes, size_t size)
{
    show_all(out, NULL, bytes, size, false);
}

void label_line(struct buf *out, const char *bytes, size_t size)
{
    show_all(out, NULL, bytes, size, true);
}

void label_write_line(struct stream *out, const char *bytes, size_t size)
{
    show_all(NULL, out, bytes, size, true);
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
    char sign[TERMINAL_SIGN_BYTES];
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
