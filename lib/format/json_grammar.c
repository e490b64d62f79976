#include "format/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum {
    END = -1, /* what peek finds after the last byte */
    FOUND_BYTES = 32,
};

struct reader {
    const char *bytes;
    size_t size;
    size_t at;
    int depth; /* arrays and objects that are open */
    struct json_extent extent;
    struct err *err;
};

static int peek(const struct reader *in)
{
    return in->at < in->size ? (unsigned char)in->bytes[in->at] : END;
}

/* Step over `c` if it stands here. */
static bool take(struct reader *in, int c)
{
    if (peek(in) != c)
        return false;
    in->at++;
    return true;
}

/* What stands here, for messages: `'x'`, `U+7231`, `the byte 0xff` or `the end`. */
static const char *found(char text[FOUND_BYTES], const struct reader *in)
{
    uint32_t character = 0;
    int c = peek(in);
    if (c == END)
        snprintf(text, FOUND_BYTES, "the end");
    else if (c >= ' ' && c <= '~')
        snprintf(text, FOUND_BYTES, "'%c'", c);
    else if (utf8_decode(&character, in->bytes + in->at, in->size - in->at))
        snprintf(text, FOUND_BYTES, "U+%04X", (unsigned)character);
    else
        snprintf(text, FOUND_BYTES, "the byte 0x%02x", (unsigned)c);
    return text;
}

static int refuse(const struct reader *in, const char *expected)
{
    char text[FOUND_BYTES];
    return err_set(in->err, "byte %zu: expected %s, found %s", in->at, expected, found(text, in));
}

static void skip_blanks(struct reader *in)
{
    if (peek(in) <= ' ')
        in->at = (size_t)(json_blanks_end(in->bytes + in->at, in->bytes + in->size) - in->bytes);
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* One digit or more. */
static int check_digits(struct reader *in)
{
    if (!is_digit(peek(in)))
        return refuse(in, "a digit");
    while (is_digit(peek(in)))
        in->at++;
    return 0;
}

/* [-] (0 | 1-9 digits) [. digits] [(e | E) [+ | -] digits] */
static int check_number(struct reader *in)
{
    take(in, '-');
    if (take(in, '0')) {
        if (is_digit(peek(in)))
            return refuse(in, "no digit after a leading 0");
    } else if (check_digits(in)) {
        return -1;
    }
    if (take(in, '.') && check_digits(in))
        return -1;
    if (!take(in, 'e') && !take(in, 'E'))
        return 0;
    if (!take(in, '+'))
        take(in, '-');
    return check_digits(in);
}

static int check_word(struct reader *in, const char *word)
{
    char expected[32];
    for (const char *c = word; *c; c++) {
        if (take(in, *c))
            continue;
        snprintf(expected, sizeof expected, "'%c' of '%s'", *c, word);
        return refuse(in, expected);
    }
    return 0;
}

static int hex_value(int c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The `uXXXX` of an escape. */
static int check_unit(struct reader *in, int *unit)
{
    *unit = 0;
    in->at++; /* the u */
    for (int i = 0; i < 4; i++, in->at++) {
        int digit = hex_value(peek(in));
        if (digit < 0)
            return refuse(in, "a hexadecimal digit");
        *unit = *unit * 16 + digit;
    }
    return 0;
}

/* U+10000 and beyond are escaped as two units, D800-DBFF and DC00-DFFF; one alone is no text. */
static int check_unicode(struct reader *in)
{
    size_t start = in->at - 1;
    int high = 0;
    int low = 0;
    if (check_unit(in, &high))
        return -1;
    if (high < 0xd800 || high > 0xdfff)
        return 0;
    if (high < 0xdc00 && take(in, '\\') && peek(in) == 'u') {
        if (check_unit(in, &low))
            return -1;
        if (low >= 0xdc00 && low <= 0xdfff)
            return 0;
    }
    return err_set(in->err, "byte %zu: expected a pair of surrogates, found \\u%04x alone", start,
                   (unsigned)high);
}

static int check_escape(struct reader *in)
{
    in->at++; /* the backslash */
    int c = peek(in);
    if (c == 'u')
        return check_unicode(in);
    if (c <= 0 || !strchr("\"\\/bfnrt", c))
        return refuse(in, "one of \"\\/bfnrtu after '\\'");
    in->at++;
    return 0;
}

/* One character of a text, escaped or not. */
static int check_character(struct reader *in)
{
    uint32_t character = 0;
    int c = peek(in);
    if (c == '\\')
        return check_escape(in);
    if (c == END)
        return refuse(in, "a closing '\"'");
    if (c < ' ')
        return refuse(in, "an escape for a control character");
    size_t length = c < 0x80 ? 1 : utf8_decode(&character, in->bytes + in->at, in->size - in->at);
    if (length == 0)
        return refuse(in, "UTF-8");
    in->at += length;
    return 0;
}

static bool goes_on(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* The high bits of those of eight bytes that need a look: controls, quotes, backslashes, and what
 * is not ASCII. Above the lowest of them some may be set that should not. */
static uint64_t odd_bytes(uint64_t eight)
{
    static const uint64_t ones = 0x0101010101010101u;
    uint64_t quotes = eight ^ '"' * ones;
    uint64_t slashes = eight ^ '\\' * ones;
    uint64_t found = (((eight - ' ' * ones) | (quotes - ones) | (slashes - ones)) & ~eight) | eight;
    return found & 0x80 * ones;
}

/* The size of a character of two or three bytes that takes no closer look; or 0. */
static size_t long_size(const char *bytes, size_t size)
{
    unsigned char c = (unsigned char)*bytes;
    if (size < 3 || c < 0xC2 || c == 0xE0 || c > 0xEC || !goes_on(bytes[1]))
        return 0;
    return c < 0xE0 ? 2 : goes_on(bytes[2]) ? 3 : 0;
}

/* How many bytes from here on are characters of one to three bytes that stand for themselves. */
static size_t plain_run(const char *bytes, size_t size)
{
    size_t at = 0;
    for (;;) {
        for (uint64_t eight, odd; size - at >= sizeof eight; at += sizeof eight) {
            memcpy(&eight, bytes + at, sizeof eight);
            if ((odd = odd_bytes(eight))) {
                at += (size_t)__builtin_ctzll(odd) / 8;
                break;
            }
        }
        while (at < size && (unsigned char)(bytes[at] - ' ') < 0x80 - ' ' && bytes[at] != '"' &&
               bytes[at] != '\\')
            at++;
        size_t length = at < size ? long_size(bytes + at, size - at) : 0;
        if (!length)
            return at;
        do
            at += length;
        while (at < size && (length = long_size(bytes + at, size - at)));
    }
}

static int check_text(struct reader *in)
{
    size_t start = ++in->at; /* after the quote */
    for (;;) {
        in->at += plain_run(in->bytes + in->at, in->size - in->at);
        if (take(in, '"')) {
            in->extent.text_bytes += in->at - 1 - start;
            return 0;
        }
        if (check_character(in))
            return -1;
    }
}

static int check_value(struct reader *in);

static int check_member(struct reader *in)
{
    if (peek(in) != '"')
        return refuse(in, "a name in quotes");
    if (check_text(in))
        return -1;
    skip_blanks(in);
    if (!take(in, ':'))
        return refuse(in, "':'");
    skip_blanks(in);
    return check_value(in);
}

/* An array or an object; the only place that recursion passes through, so depth is bounded here. */
static int check_container(struct reader *in)
{
    struct json_extent *extent = &in->extent;
    size_t start = in->at;
    size_t count = 0;
    bool is_object = peek(in) == '{';
    char close = is_object ? '}' : ']';
    if (in->depth == JSON_DEPTH_MAX)
        return err_set(in->err, "byte %zu: expected at most %d levels of nesting, found more",
                       in->at, JSON_DEPTH_MAX);
    in->depth++;
    in->at++; /* the bracket */
    skip_blanks(in);
    for (bool closed = take(in, close); !closed; count++) {
        if (is_object ? check_member(in) : check_value(in))
            return -1;
        skip_blanks(in);
        closed = take(in, close);
        if (!closed && !take(in, ','))
            return refuse(in, is_object ? "',' or '}'" : "',' or ']'");
        if (!closed)
            skip_blanks(in);
    }
    in->depth--;
    if (in->at - start >= JSON_CONTAINER_BYTES && extent->container_count < JSON_CONTAINERS)
        extent->containers[extent->container_count++] =
            (struct json_container){in->bytes + start, in->at - start, count};
    return 0;
}

static int check_value(struct reader *in)
{
    int c = peek(in);
    in->extent.values++;
    if (c == '{' || c == '[')
        return check_container(in);
    if (c == '"')
        return check_text(in);
    if (c == '-' || is_digit(c))
        return check_number(in);
    const char *word = c == 't' ? "true" : c == 'f' ? "false" : c == 'n' ? "null" : NULL;
    return word ? check_word(in, word) : refuse(in, "a value");
}

int json_grammar_check(struct json_extent *extent, const char *bytes, size_t size, struct err *err)
{
    struct reader in = {.bytes = bytes, .size = size, .err = err};
    skip_blanks(&in);
    if (check_value(&in))
        return -1;
    skip_blanks(&in);
    if (extent)
        *extent = in.extent;
    return in.at == size ? 0 : refuse(&in, "the end");
}

/* In sound JSON a backslash stands only in texts and is never the last byte. */
int json_grammar_check_zeros(const char *bytes, size_t size, struct err *err)
{
    const char *end = bytes + size;
    const char *at = bytes;
    while ((at = memchr(at, '\\', (size_t)(end - at)))) {
        if (at[1] == 'u' && memcmp(at + 2, "0000", 4) == 0)
            return err_set(err, "byte %zu: expected no \\u0000 in a text, found one",
                           (size_t)(at - bytes));
        at += 2;
    }
    return 0;
}
