#include "lines_change.h"

#include <ctype.h>
#include <string.h>

#include "odd.h"

enum { COPIES_MAX = 64, LONG_BYTES = 1500 };

/* A stretch of a text. */
struct stretch {
    const char *begin, *end;
};

struct text {
    const char *begin, *end;
    struct made *made;
    struct buf *out;
};

bool lines_find(const char **line, size_t *line_size, const char *bytes, size_t size, size_t index)
{
    const char *end = bytes + size;
    for (; bytes < end; index--) {
        const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
        const char *stop = newline ? newline : end;
        *line = bytes;
        *line_size = (size_t)(stop - bytes);
        if (!index)
            return true;
        bytes = newline ? newline + 1 : end;
    }
    return false;
}

size_t lines_count(const char *bytes, size_t size)
{
    const char *line;
    size_t line_size;
    size_t count = 0;
    while (lines_find(&line, &line_size, bytes, size, count))
        count++;
    return count;
}

static void add(const struct text *text, struct stretch what)
{
    buf_bytes(text->out, what.begin, (size_t)(what.end - what.begin));
}

/* A line with its end; the text must have a byte. */
static struct stretch pick_line(const struct text *text)
{
    struct stretch line = {text->begin, text->end};
    const char *at = text->begin + made_below(text->made, (size_t)(text->end - text->begin));
    while (at > text->begin && at[-1] != '\n')
        at--;
    line.begin = at;
    const char *newline = memchr(at, '\n', (size_t)(text->end - at));
    line.end = newline ? newline + 1 : text->end;
    return line;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Letters and digits in a row, or one other character. */
static struct stretch pick_word(const struct text *text)
{
    const char *at = text->begin + made_below(text->made, (size_t)(text->end - text->begin));
    struct stretch word = {at, at + 1};
    while (in_word(*at) && word.begin > text->begin && in_word(word.begin[-1]))
        word.begin--;
    while (in_word(*at) && word.end < text->end && in_word(*word.end))
        word.end++;
    return word;
}

/* The text with other bytes in the place of a stretch. */
static void put(const struct text *text, struct stretch place, struct stretch what)
{
    add(text, (struct stretch){text->begin, place.begin});
    add(text, what);
    add(text, (struct stretch){place.end, text->end});
}

static struct stretch stretch_of(const char *bytes)
{
    return (struct stretch){bytes, bytes + strlen(bytes)};
}

/* --- changes ---------------------------------------------------------------------------------- */

static void odd_word(const struct text *text)
{
    struct stretch word = pick_word(text);
    bool number = isdigit((unsigned char)*word.begin);
    put(text, word, stretch_of(number ? odd_integer(text->made) : odd_text(text->made)));
}

static void odd_insertion(const struct text *text)
{
    struct stretch word = pick_word(text);
    put(text, (struct stretch){word.begin, word.begin}, stretch_of(odd_text(text->made)));
}

static void other_word(const struct text *text)
{
    struct stretch word = pick_word(text);
    put(text, word, pick_word(text));
}

static void repeat_word(const struct text *text)
{
    struct stretch word = pick_word(text);
    size_t copies = 1 + made_below(text->made, COPIES_MAX);
    if (made_one_in(text->made, 8))
        copies = LONG_BYTES / (size_t)(word.end - word.begin);
    add(text, (struct stretch){text->begin, word.end});
    for (size_t i = 0; i < copies; i++)
        add(text, word);
    add(text, (struct stretch){word.end, text->end});
}

static void leave_word_out(const struct text *text)
{
    put(text, pick_word(text), (struct stretch){0});
}

static void other_line(const struct text *text)
{
    struct stretch line = pick_line(text);
    put(text, line, pick_line(text));
}

static void repeat_line(const struct text *text)
{
    struct stretch line = pick_line(text);
    size_t copies = 1 + made_below(text->made, COPIES_MAX);
    add(text, (struct stretch){text->begin, line.end});
    for (size_t i = 0; i < copies; i++)
        add(text, line);
    add(text, (struct stretch){line.end, text->end});
}

static void leave_line_out(const struct text *text)
{
    put(text, pick_line(text), (struct stretch){0});
}

static void move_line(const struct text *text)
{
    struct stretch line = pick_line(text);
    add(text, line);
    put(text, line, (struct stretch){0});
}

static void odd_line(const struct text *text)
{
    struct stretch line = pick_line(text);
    add(text, (struct stretch){text->begin, line.begin});
    buf_text(text->out, odd_text(text->made));
    buf_char(text->out, '\n');
    add(text, (struct stretch){line.begin, text->end});
}

static void other_ends(const struct text *text)
{
    static const char *const ends[] = {"\r\n", "\n\n", "\n \n", " \n", "\r", "\t\n"};
    const char *end = MADE_PICK(text->made, ends);
    for (const char *at = text->begin; at < text->end; at++)
        if (*at == '\n')
            buf_text(text->out, end);
        else
            buf_char(text->out, *at);
}

static void no_last_end(const struct text *text)
{
    const char *end = text->end;
    while (end > text->begin && end[-1] == '\n')
        end--;
    add(text, (struct stretch){text->begin, end});
}

static void double_all(const struct text *text)
{
    size_t copies = 2 + made_below(text->made, 6);
    for (size_t i = 0; i < copies; i++)
        add(text, (struct stretch){text->begin, text->end});
}

void lines_change(struct buf *out, const char *bytes, size_t size, struct made *made)
{
    static void (*const changes[])(const struct text *) = {
        odd_word,    odd_word,       odd_insertion, other_word,     other_word,
        repeat_word, other_line,     repeat_line,   leave_word_out, move_line,
        odd_line,    leave_line_out, other_ends,    no_last_end,    double_all,
    };
    struct text text = {bytes, bytes + size, made, out};
    if (size)
        MADE_PICK(made, changes)(&text);
}
