#include "format/json.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

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

/* The end of what stands for itself from here on, seen at a glance: whole characters. */
#ifdef __SSE2__

enum { BLOCK_BYTES = 16, BLOCK_BITS = (1 << BLOCK_BYTES) - 1 };

/* A bit for each byte from `first` to `last`, both as signed numbers. */
static inline unsigned bytes_in(__m128i block, int first, int last)
{
    __m128i below = _mm_cmplt_epi8(block, _mm_set1_epi8((char)first));
    __m128i above = _mm_cmpgt_epi8(block, _mm_set1_epi8((char)last));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(below, above)) ^ BLOCK_BITS;
}

/* A bit for each quote, backslash and control. */
static inline unsigned bytes_that_stop(__m128i block)
{
    __m128i quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
    __m128i slashes = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
    __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(' ' - 1)), block);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, slashes), controls));
}

/* C2 to DF begin characters of two bytes, E1 to EC of three, and all that is asked of these is that
 * the others go on; what else is not ASCII takes a closer look. What comes after a text waits for
 * the stop alone, not for what is asked of its characters. */
static inline const char *plain_end(const char *at, const char *end)
{
    while (end - at >= BLOCK_BYTES) {
        __m128i block = _mm_loadu_si128((const __m128i *)at);
        unsigned stop = (unsigned)__builtin_ctz(bytes_that_stop(block) | 1u << BLOCK_BYTES);
        unsigned two = bytes_in(block, 0xC2 - 256, 0xDF - 256);
        unsigned three = bytes_in(block, 0xE1 - 256, 0xEC - 256);
        unsigned go_on = bytes_in(block, 0x80 - 256, 0xBF - 256);
        unsigned expected = (two | three) << 1 | three << 2;
        unsigned known = bytes_in(block, 0, 0x7F) | two | three | go_on;
        unsigned odd = ((go_on ^ expected) | ~known) & BLOCK_BITS & ((2u << stop) - 1);
        if (!odd && stop < BLOCK_BYTES)
            return at + stop;
        unsigned whole = (unsigned)__builtin_ctz(odd | 1u << BLOCK_BYTES);
        at += whole - ((two | three) << 1 >> whole & 1) - 2 * (three << 2 >> whole & 1);
        if (odd)
            return at;
    }
    return at;
}

#else

static const char *plain_end(const char *at, const char *end)
{
    while (at < end && *at >= ' ' && *at <= 0x7E && *at != '"' && *at != '\\')
        at++;
    return at;
}

#endif

static int check_text(struct reader *in)
{
    size_t start = ++in->at; /* after the quote */
    for (;;) {
        in->at = (size_t)(plain_end(in->bytes + in->at, in->bytes + in->size) - in->bytes);
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

/* Blanks between items, most often the same ones again: then where the next item is does not wait
 * for a look at them. */
struct gap {
    uint64_t blanks, mask; /* of at most 7 */
    size_t size;
};

static const char *gap_end(struct gap *gap, const char *at, const char *end)
{
    uint64_t seen;
    memcpy(&seen, at, sizeof seen);
    if (((seen ^ gap->blanks) & gap->mask) == 0 && at[gap->size] > ' ')
        return at + gap->size;
    const char *found = json_blanks_end(at, end);
    if (found - at < (ptrdiff_t)sizeof seen)
        *gap = (struct gap){seen, ((uint64_t)1 << 8 * (found - at)) - 1, (size_t)(found - at)};
    return found;
}

/* Pass the items of a long list that are `"text",` or `"name": 12,`, as long as no other comes; how
 * many that are. */
static size_t pass_plain_items(struct reader *in, bool is_object)
{
    enum { NEAR_END = 64 };
    struct gap gap = {0};
    const char *at = in->bytes + in->at;
    const char *end = in->bytes + in->size;
    size_t count = 0;
    for (; end - at > NEAR_END && *at == '"'; count++) {
        const char *quote = plain_end(at + 1, end - NEAR_END);
        const char *next = quote + 1;
        if (*quote != '"')
            break;
        if (is_object) {
            if (*next++ != ':')
                break;
            next += *next == ' ';
            const char *digits = next;
            while (next < end && is_digit(*next))
                next++;
            if (next == digits || (*digits == '0' && next > digits + 1))
                break;
        }
        if (next >= end - NEAR_END || *next != ',')
            break;
        in->extent.text_bytes += (size_t)(quote - at - 1);
        at = gap_end(&gap, next + 1, end);
    }
    in->at = (size_t)(at - in->bytes);
    in->extent.values += count;
    return count;
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
        count += pass_plain_items(in, is_object);
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
