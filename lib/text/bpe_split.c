#include "text/bpe.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* \p{L}, \p{N}, \s, and what is none of them. */
enum class {
    LETTER = 'L',
    NUMBER = 'N',
    SPACE = 'S',
    OTHER = '.',
};

static const char ascii_classes[] = ".........SSSSS.."
                                    "................"
                                    "S..............."
                                    "NNNNNNNNNN......"
                                    ".LLLLLLLLLLLLLLL"
                                    "LLLLLLLLLLL....."
                                    ".LLLLLLLLLLLLLLL"
                                    "LLLLLLLLLLL.....";

static const char classes[] = {
    [UNICODE_CONTROL] = OTHER,    [UNICODE_LETTER] = LETTER,        [UNICODE_MARK] = OTHER,
    [UNICODE_DIGIT] = NUMBER,     [UNICODE_LETTER_NUMBER] = NUMBER, [UNICODE_OTHER_NUMBER] = NUMBER,
    [UNICODE_SPACE] = SPACE,      [UNICODE_CONNECTOR] = OTHER,      [UNICODE_SIGN] = OTHER,
    [UNICODE_ALPHABETIC] = OTHER, [UNICODE_JOINER] = OTHER,
};

struct bpe_splitter bpe_splitter(const char *text, size_t size)
{
    return (struct bpe_splitter){.text = text, .size = size, .run = unicode_run(0)};
}

/* The character at `text`, which is UTF-8 and not ASCII. */
static uint32_t read_long(const unsigned char *text, size_t *length)
{
    if (text[0] < 0xE0) {
        *length = 2;
        return (text[0] & 0x1Fu) << 6 | (text[1] & 0x3Fu);
    }
    if (text[0] < 0xF0) {
        *length = 3;
        return (text[0] & 0x0Fu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
    }
    *length = 4;
    return (text[0] & 0x07u) << 18 | (text[1] & 0x3Fu) << 12 | (text[2] & 0x3Fu) << 6 |
           (text[3] & 0x3Fu);
}

static char class_of_long(struct bpe_splitter *splitter, size_t at, size_t *length)
{
    uint32_t c = read_long((const unsigned char *)splitter->text + at, length);
    if (c < splitter->run.first || c > splitter->run.last)
        splitter->run = unicode_run(c);
    return classes[splitter->run.kind];
}

static inline char class_at(struct bpe_splitter *splitter, size_t at, size_t *length)
{
    unsigned char byte = (unsigned char)splitter->text[at];
    *length = 1;
    return byte < 0x80 ? ascii_classes[byte] : class_of_long(splitter, at, length);
}

/* After the last of the characters of a class that stand at `at`; `*last` is where that begins. */
static size_t run_end(struct bpe_splitter *splitter, size_t at, char class, size_t *last)
{
    size_t length = 0;
    for (; at < splitter->size && class_at(splitter, at, &length) == class; at += length)
        *last = at;
    return at;
}

/* The length of 's, 't, 're, 've, 'm, 'll or 'd; 0 where none of them stands. */
static size_t contraction(const char *text, size_t size)
{
    if (size < 2 || text[0] != '\'')
        return 0;
    if (text[1] && strchr("stmd", text[1]))
        return 2;
    if (size < 3)
        return 0;
    bool is_long = memcmp(text + 1, "re", 2) == 0 || memcmp(text + 1, "ve", 2) == 0 ||
                   memcmp(text + 1, "ll", 2) == 0;
    return is_long ? 3 : 0;
}

/* `\s+(?!\S)` leaves the last blank to the piece that follows, where there is one, and cannot do
 * with a single blank; `\s+` can. */
static size_t blanks_end(struct bpe_splitter *splitter, size_t at)
{
    size_t last = at;
    size_t end = run_end(splitter, at, SPACE, &last);
    return end == splitter->size || last == at ? end : last;
}

size_t bpe_split(struct bpe_splitter *splitter, size_t at)
{
    size_t length = 0;
    size_t last = 0;
    assert(at < splitter->size);
    size_t short_end = contraction(splitter->text + at, splitter->size - at);
    if (short_end)
        return at + short_end;
    size_t start = at + (splitter->text[at] == ' '); /* " ?" */
    char class = start < splitter->size ? class_at(splitter, start, &length) : SPACE;
    if (class == SPACE)
        return blanks_end(splitter, at);
    return run_end(splitter, start + length, class, &last);
}
