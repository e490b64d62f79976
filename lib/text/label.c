#include "text/label.h"

#include <string.h>

#include "base/stream.h"
#include "base/utf8.h"

/* Write the visible form of the first character; returns its size in bytes. */
static size_t show(char sign[TERMINAL_SIGN_BYTES], const char *bytes, size_t size)
{
    static const struct {
        const char *blank, *sign;
    } signs[] = {{" ", "␣"}, {"\n", "↵"}, {"\t", "⇥"}, {"\u00a0", "⍽"}};
    if (size && *bytes > ' ' && *bytes <= '~') { /* most are letters, which need no search */
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

/* The visible form of all of it, whose blanks stay blanks in a line to read. */
static void show_all(struct buf *out, const char *bytes, size_t size, bool is_line)
{
    char sign[TERMINAL_SIGN_BYTES];
    for (size_t at = 0; at < size;) {
        const char *shown = is_line && bytes[at] == ' ' ? " " : sign;
        at += show(sign, bytes + at, size - at);
        buf_text(out, shown);
    }
}

void label_visible(struct buf *out, const char *bytes, size_t size)
{
    show_all(out, bytes, size, false);
}

void label_line(struct buf *out, const char *bytes, size_t size)
{
    show_all(out, bytes, size, true);
}

size_t label_fill(char *to, size_t room, const char *line)
{
    char sign[TERMINAL_SIGN_BYTES];
    size_t used = 0;
    for (size_t at = 0, size = strlen(line); at < size;) {
        const char *shown = line[at] == ' ' ? " " : sign;
        at += show(sign, line + at, size - at);
        if (strlen(shown) >= room - used)
            break;
        memcpy(to + used, shown, strlen(shown));
        used += strlen(shown);
    }
    to[used] = '\0';
    return used;
}

bool label_is_rest(const char *bytes, size_t size)
{
    return size > 0 && ((unsigned char)bytes[0] & 0xC0) == 0x80;
}

/* How many bytes at the end have begun a character that wants more. */
static size_t unfinished(const char *bytes, size_t size)
{
    size_t rest = 0; /* bytes that go on a character, at the end */
    while (rest < size && rest < 3 && label_is_rest(bytes + size - 1 - rest, 1))
        rest++;
    unsigned char first = rest < size ? (unsigned char)bytes[size - 1 - rest] : 0;
    size_t wanted = first < 0xE0 ? 1 : first < 0xF0 ? 2 : 3;
    return first >= 0xC2 && first <= 0xF4 && rest < wanted ? rest + 1 : 0;
}

/* A byte of tokens in a row. */
struct row_place {
    const struct token_bytes *row;
    size_t count;
    size_t index, at;
};

static const char *byte_at(const struct row_place *place)
{
    return place->row[place->index].bytes + place->at;
}

static bool step_back(struct row_place *place)
{
    while (place->at == 0) {
        if (place->index == 0 || !place->row[place->index - 1].bytes)
            return false;
        place->at = place->row[--place->index].size;
    }
    place->at--;
    return true;
}

static bool step_on(struct row_place *place)
{
    place->at++;
    while (place->at == place->row[place->index].size) {
        if (++place->index == place->count || !place->row[place->index].bytes)
            return false;
        place->at = 0;
    }
    return true;
}

/* A character that several tokens share. */
struct shared {
    char bytes[4];
    size_t size;
    size_t before; /* so many of its bytes stand before the one that was asked for */
    size_t part;   /* which part of it has that one, from 1 */
};

/* The character that has the byte at a place; false where the row has not all of it. */
static bool find_shared(struct shared *shared, struct row_place place)
{
    uint32_t character = 0;
    *shared = (struct shared){.part = 1};
    for (; shared->before < 4 && label_is_rest(byte_at(&place), 1); shared->before++) {
        size_t index = place.index;
        if (!step_back(&place))
            return false;
        shared->part += place.index != index;
    }
    do
        shared->bytes[shared->size++] = *byte_at(&place);
    while (shared->size < 4 && step_on(&place));
    shared->size = utf8_decode(&character, shared->bytes, shared->size);
    return shared->before < shared->size && utf8_is_visible(character);
}

/* Show a part of a character, whose first byte is at a place; returns how many bytes of the token
 * it has, 0 where it is not known of what it is a part. */
static size_t show_shared(struct buf *out, const struct row_place *place)
{
    static const char first[] = "₁"; /* the others follow by their last bytes */
    struct shared shared;
    if (!find_shared(&shared, *place))
        return 0;
    size_t rest = shared.size - shared.before;
    size_t room = place->row[place->index].size - place->at;
    if (utf8_width(shared.bytes, shared.size) == 0)
        buf_text(out, "◌"); /* to stand upon */
    buf_bytes(out, shared.bytes, shared.size);
    buf_bytes(out, first, sizeof first - 2);
    buf_char(out, (char)(first[sizeof first - 2] + (int)shared.part - 1));
    return rest < room ? rest : room;
}

/* Do all bytes of a token go on a character, and those of the next as well? */
static bool is_inner(const struct row_place *place)
{
    const struct token_bytes *own = &place->row[place->index];
    for (size_t at = 0; at < own->size; at++)
        if (!label_is_rest(own->bytes + at, 1))
            return false;
    return place->index + 1 < place->count && own[1].bytes &&
           label_is_rest(own[1].bytes, own[1].size);
}

void label_token(struct buf *out, const struct token_bytes *row, size_t count, size_t index)
{
    static const char tie[] = "‿";
    const char *bytes = row[index].bytes;
    size_t size = row[index].size;
    struct row_place place = {row, count, index, 0};
    size_t start = 0;
    bool tied = false;
    if (label_is_rest(bytes, size)) {
        start = show_shared(out, &place);
        tied = !start && is_inner(&place);
        buf_text(out, start ? "" : tie);
    }
    size_t open = unfinished(bytes + start, size - start);
    label_visible(out, bytes + start, size - start - open);
    place.at = size - open;
    if (open && show_shared(out, &place))
        return;
    label_visible(out, bytes + place.at, open);
    buf_text(out, open || tied ? tie : "");
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
