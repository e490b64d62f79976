#include "text/label.h"

#include <string.h>

#include "base/stream.h"
#include "base/utf8.h"

/* Write the visible form of the first character; returns the number of bytes read. If `is_line`,
 * spaces are kept. */
static size_t show(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size, bool is_line)
{
    static const struct {
        const char *blank, *sign;
    } signs[] = {{" ", "␣"}, {"\n", "↵"}, {"\t", "⇥"}, {"\u00a0", "⍽"}};
    /* most characters are visible ASCII */
    if (size && *bytes >= (is_line ? ' ' : '!') && *bytes <= '~') {
        sign[0] = *bytes;
        sign[1] = '\0';
        return 1;
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t length = strlen(signs[i].blank);
        if (size < length || memcmp(bytes, signs[i].blank, length) != 0)
            continue;
        strcpy(sign, signs[i].sign);
        return length;
    }
    return terminal_sign(sign, bytes, size);
}

static void show_all(struct buf *out, const char *bytes, size_t size, bool is_line)
{
    char sign[TERMINAL_SIGN_BYTES];
    for (size_t at = 0; at < size;) {
        at += show(sign, bytes + at, size - at, is_line);
        buf_text(out, sign);
    }
}

/* Write the visible form with a closing 0. If it does not fit, cut it and put `more` at its end. */
static size_t fit(char *to, size_t capacity, const char *bytes, size_t size, bool is_line,
                  const char *more)
{
    char sign[TERMINAL_SIGN_BYTES];
    size_t used = 0;
    size_t fitting = 0; /* the longest size that leaves room for `more` */
    for (size_t at = 0; at < size;) {
        at += show(sign, bytes + at, size - at, is_line);
        size_t length = strlen(sign);
        if (used + length >= capacity) {
            strcpy(to + fitting, more);
            return fitting + strlen(more);
        }
        memcpy(to + used, sign, length);
        used += length;
        if (used + strlen(more) < capacity)
            fitting = used;
    }
    to[used] = '\0';
    return used;
}

void label_visible(struct buf *out, const char *bytes, size_t size)
{
    show_all(out, bytes, size, false);
}

void label_line(struct buf *out, const char *bytes, size_t size)
{
    show_all(out, bytes, size, true);
}

size_t label_fill(char *to, size_t capacity, const char *line)
{
    return fit(to, capacity, line, strlen(line), true, "");
}

const char *label_excerpt(const char *bytes, size_t size)
{
    static _Thread_local char texts[LABEL_EXCERPTS][LABEL_EXCERPT_BYTES];
    static _Thread_local unsigned next;
    char *text = texts[next++ % LABEL_EXCERPTS];
    fit(text, LABEL_EXCERPT_BYTES, bytes, size, false, "…");
    return text;
}

/* --- parts of characters ---------------------------------------------------------------------- */

bool label_is_rest(const char *bytes, size_t size)
{
    return size > 0 && utf8_continues(*bytes);
}

/* The number of bytes at the end that begin a character but do not complete it. */
static size_t unfinished(const char *bytes, size_t size)
{
    size_t rest = 0;
    while (rest < size && rest < 3 && utf8_continues(bytes[size - 1 - rest]))
        rest++;
    unsigned char first = rest < size ? (unsigned char)bytes[size - 1 - rest] : 0;
    size_t wanted = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    return first >= 0xC2 && first <= 0xF4 && rest < wanted ? rest + 1 : 0;
}

/* The position of a byte in a row of adjacent tokens. */
struct row_position {
    const struct token_bytes *row;
    size_t count;
    size_t index, at;
};

/* Move by `offset` bytes, -1 or 1; false at an end of the row or if the next token is unknown. */
static bool move(struct row_position *position, int offset)
{
    const struct token_bytes *row = position->row;
    for (; offset < 0; offset++, position->at--)
        while (position->at == 0) {
            if (position->index == 0 || !row[position->index - 1].bytes)
                return false;
            position->at = row[--position->index].size;
        }
    for (; offset > 0; offset--)
        for (position->at++; position->at == row[position->index].size; position->at = 0)
            if (++position->index == position->count || !row[position->index].bytes)
                return false;
    return true;
}

/* Append the visible form of the part of a character that begins at a position. Returns how many
 * bytes of the token belong to the character; 0: nothing was appended, because bytes of the
 * character are missing or it is invisible. */
static size_t show_shared(struct buf *out, const struct row_position *position)
{
    static const char first[] = "₁"; /* sign of part 1; other signs differ in the last byte */
    struct row_position now = *position;
    char bytes[4];
    size_t size = 0;
    size_t before = 0; /* bytes of the character before the position */
    int part = 0;      /* index of this part of the character, from 0 */
    uint32_t character = 0;
    for (; before < 4 && utf8_continues(now.row[now.index].bytes[now.at]); before++) {
        size_t index = now.index;
        if (!move(&now, -1))
            return 0;
        part += now.index != index;
    }
    do
        bytes[size++] = now.row[now.index].bytes[now.at];
    while (size < 4 && move(&now, 1));
    size = utf8_decode(&character, bytes, size);
    if (before >= size || !utf8_is_visible(character))
        return 0;
    if (utf8_width(bytes, size) == 0)
        buf_text(out, "◌"); /* the base on which a combining mark is shown */
    buf_bytes(out, bytes, size);
    buf_bytes(out, first, sizeof first - 2);
    buf_char(out, (char)(first[sizeof first - 2] + part));
    size_t own = position->row[position->index].size - position->at;
    return size - before < own ? size - before : own;
}

void label_token(struct buf *out, const struct token_bytes *row, size_t count, size_t index)
{
    static const char tie[] = "‿";
    const char *bytes = row[index].bytes;
    size_t size = row[index].size;
    struct row_position position = {row, count, index, 0};
    size_t start = 0;
    bool tied = false;
    if (label_is_rest(bytes, size)) {
        start = show_shared(out, &position);
        /* true if all bytes of the token are inside a character that the next token continues */
        tied = !start && index + 1 < count && row[index + 1].bytes &&
               label_is_rest(row[index + 1].bytes, row[index + 1].size);
        for (size_t at = 0; at < size; at++)
            tied = tied && utf8_continues(bytes[at]);
        buf_text(out, start ? "" : tie);
    }
    size_t open = unfinished(bytes + start, size - start);
    label_visible(out, bytes + start, size - start - open);
    position.at = size - open;
    if (open && show_shared(out, &position))
        return;
    label_visible(out, bytes + position.at, open);
    buf_text(out, open || tied ? tie : "");
}
