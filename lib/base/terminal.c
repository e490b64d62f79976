#include "base/terminal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static void escape(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size)
{
    *sign = '\0';
    for (size_t i = 0; i < size; i++)
        snprintf(sign + 4 * i, 5, "\\x%02x", (unsigned char)bytes[i]);
}

static void copy(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size)
{
    memcpy(sign, bytes, size);
    sign[size] = '\0';
}

size_t terminal_sign(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size)
{
    uint32_t c = 0;
    size_t length = utf8_decode(&c, bytes, size);
    bool shown = length > 0 && utf8_is_visible(c);
    length = length ? length : 1;
    (shown ? copy : escape)(sign, bytes, length);
    return length;
}

size_t terminal_colour(const char *bytes, size_t size)
{
    size_t at = 2;
    if (size < 3 || bytes[0] != '\x1b' || bytes[1] != '[')
        return 0;
    while (at < size && at < TERMINAL_SIGN_BYTES - 2 &&
           (bytes[at] == ';' || (bytes[at] >= '0' && bytes[at] <= '9')))
        at++;
    return at < size && bytes[at] == 'm' ? at + 1 : 0;
}

/* Blanks that are no controls: a no-break space, the wide one of Chinese. */
static bool is_space(uint32_t c)
{
    return c == '\n' || c == '\t' || (c >= 0xa0 && utf8_class(c) == UTF8_SPACE);
}

/* Are the held bytes the first ones of a character? */
static bool is_begun(const struct terminal *terminal)
{
    unsigned char first = (unsigned char)terminal->held[0];
    unsigned char last = (unsigned char)terminal->held[terminal->held_size - 1];
    size_t whole = first < 0xc2 || first > 0xf4 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return terminal->held_size < whole && (terminal->held_size == 1 || (last & 0xc0) == 0x80);
}

size_t terminal_take(struct terminal *terminal, char sign[TERMINAL_SIGN_BYTES], const char *bytes,
                     size_t size)
{
    uint32_t c = 0;
    size_t before = terminal->held_size;
    size_t colour = terminal->colours && !before ? terminal_colour(bytes, size) : 0;
    if (colour) {
        copy(sign, bytes, colour);
        return colour;
    }
    terminal->held[terminal->held_size++] = *bytes;
    *sign = '\0';
    size_t length = utf8_decode(&c, terminal->held, terminal->held_size);
    if (!length && is_begun(terminal))
        return 1;
    if (!length && before) { /* it was no beginning: the byte is looked at once more, alone */
        terminal->held_size = before;
        terminal_rest(terminal, sign);
        return 0;
    }
    if (length && is_space(c))
        copy(sign, terminal->held, length);
    else
        terminal_sign(sign, terminal->held, terminal->held_size);
    terminal->held_size = 0;
    return 1;
}

void terminal_rest(struct terminal *terminal, char sign[TERMINAL_SIGN_BYTES])
{
    escape(sign, terminal->held, terminal->held_size);
    terminal->held_size = 0;
}
