#include "format/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/num.h"
#include "base/utf8.h"
#include "format/sniff_format.h"

/* --- the grammar ------------------------------------------------------------------------------ */

enum {
    END = -1, /* what peek finds after the last byte */
    FOUND_BYTES = 32,
};

struct document {
    const char *bytes;
    size_t size;
    size_t at;
    int depth; /* arrays and objects that are open */
    struct json_extent extent;
    struct err *err;
};

static int peek(const struct document *in)
{
    return in->at < in->size ? (unsigned char)in->bytes[in->at] : END;
}

/* Skip `c` if it comes next. */
static bool take(struct document *in, int c)
{
    if (peek(in) != c)
        return false;
    in->at++;
    return true;
}

/* Describe the next character for a message: `'x'`, `U+7231`, `the byte 0xff` or `the end`. */
static const char *found(char text[FOUND_BYTES], const struct document *in)
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

static int refuse(const struct document *in, const char *expected)
{
    char text[FOUND_BYTES];
    return err_set(in->err, "byte %zu: expected %s, found %s", in->at, expected, found(text, in));
}

static void pass_blanks(struct document *in)
{
    if (peek(in) <= ' ')
        in->at = (size_t)(json_blanks_end(in->bytes + in->at, in->bytes + in->size) - in->bytes);
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* One digit or more. */
static int check_digits(struct document *in)
{
    if (!is_digit(peek(in)))
        return refuse(in, "a digit");
    while (is_digit(peek(in)))
        in->at++;
    return 0;
}

/* [-] (0 | 1-9 digits) [. digits] [(e | E) [+ | -] digits] */
static int check_number(struct document *in)
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

static int check_word(struct document *in, const char *word)
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
static int check_unit(struct document *in, int *unit)
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
static int check_unicode(struct document *in)
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

static int check_escape(struct document *in)
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
static int check_character(struct document *in)
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

/* The end of the characters from here on that need no escape. */
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

static int check_text(struct document *in)
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

static int check_value(struct document *in);

static int check_member(struct document *in)
{
    if (peek(in) != '"')
        return refuse(in, "a name in quotes");
    if (check_text(in))
        return -1;
    pass_blanks(in);
    if (!take(in, ':'))
        return refuse(in, "':'");
    pass_blanks(in);
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

/* After a text that is plain; NULL: it takes a closer look. The others alike. */
static inline const char *pass_plain_text(const char *at, const char *end, size_t *text_bytes)
{
    if (*at != '"')
        return NULL;
    const char *quote = plain_end(at + 1, end);
    *text_bytes += (size_t)(quote - at - 1);
    return *quote == '"' ? quote + 1 : NULL;
}

static inline const char *pass_plain_number(const char *at, const char *end)
{
    const char *digits = at + (*at == ' ');
    for (at = digits; at < end && is_digit(*at); at++)
        ;
    return at == digits || (*digits == '0' && at > digits + 1) ? NULL : at;
}

static inline const char *pass_plain_pair(const char *at, const char *end, struct gap gaps[3],
                                          size_t *text_bytes)
{
    at = pass_plain_text(gap_end(&gaps[0], at + 1, end), end, text_bytes);
    if (!at || *at != ',')
        return NULL;
    at = pass_plain_text(gap_end(&gaps[1], at + 1, end), end, text_bytes);
    if (!at)
        return NULL;
    at = gap_end(&gaps[2], at, end);
    return *at == ']' ? at + 1 : NULL;
}

/* Pass the items of a long list that are `"text",`, `["a", "b"],` or `"name": 12,`, as long as no
 * other comes; how many that are. */
static size_t pass_plain_items(struct document *in, bool is_object)
{
    enum { NEAR_END = 64 }; /* more than one item goes beyond its last text */
    struct gap gaps[4] = {0};
    size_t count = 0;
    if (in->size - in->at <= NEAR_END)
        return 0;
    const char *at = in->bytes + in->at;
    const char *end = in->bytes + in->size - NEAR_END;
    for (size_t text_bytes = 0; at < end; count++, text_bytes = 0) {
        bool is_pair = *at == '[' && !is_object && in->depth < JSON_DEPTH_MAX;
        const char *next = is_pair ? pass_plain_pair(at, end, gaps + 1, &text_bytes)
                                   : pass_plain_text(at, end, &text_bytes);
        if (next && is_object)
            next = *next == ':' ? pass_plain_number(next + 1, end) : NULL;
        if (!next || next >= end || *next != ',')
            break;
        in->extent.text_bytes += text_bytes;
        in->extent.values += is_pair ? 3 : 1;
        at = gap_end(&gaps[0], next + 1, in->bytes + in->size);
    }
    in->at = (size_t)(at - in->bytes);
    return count;
}

/* An array or an object; the only place that recursion passes through, so depth is bounded here. */
static int check_container(struct document *in)
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
    pass_blanks(in);
    for (bool closed = take(in, close); !closed; count++) {
        count += pass_plain_items(in, is_object);
        if (is_object ? check_member(in) : check_value(in))
            return -1;
        pass_blanks(in);
        closed = take(in, close);
        if (!closed && !take(in, ','))
            return refuse(in, is_object ? "',' or '}'" : "',' or ']'");
        if (!closed)
            pass_blanks(in);
    }
    in->depth--;
    if (in->at - start >= JSON_CONTAINER_BYTES && extent->container_count < JSON_CONTAINERS)
        extent->containers[extent->container_count++] =
            (struct json_container){in->bytes + start, in->at - start, count};
    return 0;
}

static int check_value(struct document *in)
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
    struct document in = {.bytes = bytes, .size = size, .err = err};
    pass_blanks(&in);
    if (check_value(&in))
        return -1;
    pass_blanks(&in);
    if (extent)
        *extent = in.extent;
    return in.at == size ? 0 : refuse(&in, "the end");
}

/* Refuse the escape \u0000, which would end texts early. In valid JSON a backslash occurs only in
 * strings and is never the last byte. */
static int check_zeros(const char *bytes, size_t size, struct err *err)
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

/* --- a walk without a tree -------------------------------------------------------------------- */

int json_cursor_open(struct json_cursor *cursor, struct json_extent *extent, const char *bytes,
                     size_t size, struct err *err)
{
    *cursor = (struct json_cursor){.at = bytes, .end = bytes + size, .extent = extent};
    json_cursor_skip_blanks(cursor);
    return err_if(sniff_format_refuse(bytes, size, "JSON", err) ||
                  json_grammar_check(extent, bytes, size, err));
}

struct json_cursor json_cursor_at(struct json_span value)
{
    return (struct json_cursor){.at = value.bytes, .end = value.bytes + value.size};
}

/* After the quote that closes the text whose first byte is at `at`. */
static const char *skip_text(const char *at)
{
    while (*at != '"')
        at += *at == '\\' ? 2 : 1;
    return at + 1;
}

struct json_span json_cursor_text(struct json_cursor *cursor)
{
    assert(*cursor->at == '"');
    const char *start = cursor->at + 1;
    cursor->at = skip_text(start);
    return (struct json_span){start, (size_t)(cursor->at - 1 - start)};
}

struct json_span json_cursor_name(struct json_cursor *cursor)
{
    struct json_span name = json_cursor_text(cursor);
    json_cursor_colon(cursor);
    return name;
}

static bool ends_scalar(char c)
{
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* After the bracket that closes the object or array at `at`; commas outside of inner ones are
 * counted. */
static const char *skip_container(const char *at, size_t *commas)
{
    size_t depth = 0;
    do {
        char c = *at++;
        if (c == '"') {
            at = skip_text(at);
        } else if (c == ',') {
            *commas += depth == 1;
        } else if (c >= '[') { /* a bracket, or a letter */
            depth += c == '{' || c == '[';
            depth -= c == '}' || c == ']';
        }
    } while (depth);
    return at;
}

/* What is known of a large container; NULL: nothing. */
static const struct json_container *find_container(const struct json_cursor *cursor)
{
    const struct json_extent *extent = cursor->extent;
    for (size_t i = 0; extent && i < extent->container_count; i++)
        if (extent->containers[i].bytes == cursor->at)
            return &extent->containers[i];
    return NULL;
}

struct json_span json_cursor_count(struct json_cursor *cursor, size_t *count)
{
    const char *start = cursor->at;
    struct json_cursor inside = *cursor;
    const struct json_container *large = find_container(cursor);
    *count = large ? large->count : 0;
    if (large) {
        cursor->at += large->size;
    } else if (*start == '"') {
        cursor->at = skip_text(start + 1);
    } else if (*start == '{' || *start == '[') {
        cursor->at = skip_container(start, count);
        json_cursor_enter(&inside);
        *count += json_cursor_next(&inside); /* one more than commas, or none at all */
    } else {
        while (cursor->at < cursor->end && !ends_scalar(*cursor->at))
            cursor->at++;
    }
    return (struct json_span){start, (size_t)(cursor->at - start)};
}

struct json_span json_cursor_value(struct json_cursor *cursor)
{
    size_t count = 0;
    return json_cursor_count(cursor, &count);
}

bool json_cursor_number(struct json_cursor *cursor, size_t max, size_t *value)
{
    const char *at = cursor->at;
    size_t number = 0;
    for (; at < cursor->end && *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (size_t)(*at - '0');
        if (number > max)
            return false;
    }
    if (at == cursor->at || (at < cursor->end && !ends_scalar(*at)))
        return false;
    cursor->at = at;
    *value = number;
    return true;
}

static uint32_t read_unit(const char *digits)
{
    return (uint32_t)(hex_value(digits[0]) << 12 | hex_value(digits[1]) << 8 |
                      hex_value(digits[2]) << 4 | hex_value(digits[3]));
}

/* The escape at `in`, of 2, 6 or 12 bytes; returns how many. */
static size_t unescape(char **out, const char *in)
{
    static const char letters[] = "bfnrt";
    static const char controls[] = "\b\f\n\r\t";
    if (in[1] != 'u') {
        const char *letter = strchr(letters, in[1]);
        *(*out)++ = letter ? controls[letter - letters] : in[1];
        return 2;
    }
    uint32_t c = read_unit(in + 2);
    bool pair = c >= 0xD800 && c <= 0xDBFF; /* a low half follows: sound JSON has no other */
    if (pair)
        c = 0x10000 + ((c - 0xD800) << 10) + (read_unit(in + 8) - 0xDC00);
    *out += utf8_encode(*out, c);
    return pair ? 12 : 6;
}

size_t json_cursor_read(struct json_cursor *cursor, char *out)
{
    const char *start = out;
    const char *at = cursor->at + 1;
    while (*at != '"') {
        if (*at == '\\')
            at += unescape(&out, at);
        else
            *out++ = *at++;
    }
    cursor->at = at + 1;
    return (size_t)(out - start);
}

size_t json_unescape(char *out, struct json_span text)
{
    struct json_cursor cursor = {.at = text.bytes - 1}; /* the quotes are there */
    return json_cursor_read(&cursor, out);
}

bool json_span_is(struct json_span text, const char *name)
{
    return text.size == strlen(name) && memcmp(text.bytes, name, text.size) == 0;
}

/* --- documents -------------------------------------------------------------------------------- */

enum { DESCRIPTION_BYTES = 80 };

/* From 2^53 on doubles skip integers: what was written can no longer be known. */
#define EXACT_INTEGER_MAX 9007199254740991.0

static const cJSON *tree_of(const struct json *value)
{
    return (const cJSON *)value;
}

static const struct json *value_of(const cJSON *tree)
{
    return (const struct json *)tree;
}

/* cJSON keeps its allocator in a global, which it first sets to malloc: once for all threads. */
static void hook(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){heap_hook, heap_free});
}

int json_parse(struct json **root, const char *bytes, size_t size, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct json_extent extent;
    if (json_grammar_check(&extent, bytes, size, err) || check_zeros(bytes, size, err))
        return -1;
    if (extent.values > JSON_VALUES_MAX) /* a tree takes up to forty times the bytes of its text */
        return err_set(err, "expected at most %d values, found %zu", JSON_VALUES_MAX,
                       extent.values);
    if (extent.text_bytes > JSON_TEXT_BYTES_MAX)
        return err_set(err, "expected at most %d bytes of texts, found %zu", JSON_TEXT_BYTES_MAX,
                       extent.text_bytes);
    pthread_once(&once, hook);
    cJSON *tree = cJSON_ParseWithLength(bytes, size);
    if (!tree)
        return err_memory(err, size);
    *root = (struct json *)tree;
    return 0;
}

void json_free(struct json *root)
{
    cJSON_Delete((cJSON *)root);
}

struct reader {
    int (*read)(void *context, const struct json *root, struct err *err);
    void *context;
};

static int read_root(void *context, const struct file *file, struct err *err)
{
    const struct reader *reader = context;
    struct json *root = NULL;
    int failed = sniff_format_refuse(file->bytes, file->size, "JSON", err) ||
                 json_parse(&root, file->bytes, file->size, err) ||
                 reader->read(reader->context, root, err);
    json_free(root);
    return err_if(failed);
}

int json_read_file(const struct folder *folder, const char *name,
                   int (*read)(void *context, const struct json *root, struct err *err),
                   void *context, struct err *err)
{
    struct reader reader = {read, context};
    return folder_read(folder, name, read_root, &reader, err);
}

bool json_is_object(const struct json *value)
{
    return cJSON_IsObject(tree_of(value));
}

bool json_is_array(const struct json *value)
{
    return cJSON_IsArray(tree_of(value));
}

bool json_is_null(const struct json *value)
{
    return cJSON_IsNull(tree_of(value));
}

bool json_get_text(const struct json *value, const char **out)
{
    if (!cJSON_IsString(tree_of(value)))
        return false;
    *out = tree_of(value)->valuestring;
    return true;
}

bool json_get_number(const struct json *value, double *out)
{
    if (!cJSON_IsNumber(tree_of(value)))
        return false;
    *out = tree_of(value)->valuedouble;
    return true;
}

bool json_get_bool(const struct json *value, bool *out)
{
    if (!cJSON_IsBool(tree_of(value)))
        return false;
    *out = cJSON_IsTrue(tree_of(value));
    return true;
}

bool json_get_integer(const struct json *value, long long min, long long max, long long *out)
{
    double number = 0;
    if (!json_get_number(value, &number) || !(fabs(number) <= EXACT_INTEGER_MAX))
        return false;
    long long integer = (long long)number;
    if ((double)integer != number || integer < min || integer > max)
        return false;
    *out = integer;
    return true;
}

/* The text in quotes on one line, what cannot be seen as an escape; "..." stands for the rest. */
static void describe_text(const char *bytes, char *text, size_t size)
{
    enum { TAIL_BYTES = sizeof "...\"" };
    size_t left = strlen(bytes);
    size_t used = 1;
    snprintf(text, size, "\"");
    while (left > 0) {
        char piece[16];
        uint32_t character = 0;
        size_t length = utf8_decode(&character, bytes, left);
        if (utf8_is_visible(character))
            snprintf(piece, sizeof piece, "%.*s", (int)length, bytes);
        else
            snprintf(piece, sizeof piece, "\\u%04x", (unsigned)character);
        if (used + strlen(piece) + TAIL_BYTES > size)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s", piece);
        bytes += length;
        left -= length;
    }
    if (used < size)
        snprintf(text + used, size - used, "%s", left > 0 ? "...\"" : "\"");
}

const char *json_describe(const struct json *value, char *text, size_t size)
{
    const cJSON *tree = tree_of(value);
    char shortest[NUM_DOUBLE_BYTES];
    const char *kind = cJSON_IsObject(tree)  ? "an object"
                       : cJSON_IsArray(tree) ? "an array"
                       : cJSON_IsNull(tree)  ? "null"
                       : cJSON_IsTrue(tree)  ? "true"
                       : cJSON_IsFalse(tree) ? "false"
                                             : "nothing";
    if (cJSON_IsNumber(tree) && !isinf(tree->valuedouble))
        num_double(shortest, tree->valuedouble);
    if (cJSON_IsString(tree))
        describe_text(tree->valuestring, text, size);
    else if (cJSON_IsNumber(tree) && isinf(tree->valuedouble))
        snprintf(text, size, "a number that is too large");
    else if (cJSON_IsNumber(tree))
        snprintf(text, size, "%s", shortest);
    else
        snprintf(text, size, "%s", kind);
    return text;
}

enum { ASKED_FOR = 1 << 12 }; /* beside cJSON's own bits of a type */

const struct json *json_member(const struct json *object, const char *name)
{
    cJSON *member =
        json_is_object(object) ? cJSON_GetObjectItemCaseSensitive(tree_of(object), name) : NULL;
    if (member)
        member->type |= ASKED_FOR;
    return value_of(member);
}

bool json_was_asked_for(const struct json *member)
{
    return tree_of(member)->type & ASKED_FOR;
}

const struct json *json_first(const struct json *container)
{
    return container ? value_of(tree_of(container)->child) : NULL;
}

const struct json *json_next(const struct json *value)
{
    return value_of(tree_of(value)->next);
}

const char *json_key(const struct json *member)
{
    return tree_of(member)->string;
}

size_t json_count(const struct json *container)
{
    size_t count = 0;
    for (const struct json *v = json_first(container); v; v = json_next(v))
        count++;
    return count;
}

int json_unique_keys(const struct json *object, struct err *err)
{
    struct map seen = {0};
    int failed = map_reserve(&seen, json_count(object), err);
    for (const struct json *v = json_first(object); v && !failed; v = json_next(v)) {
        const char *key = json_key(v);
        if (map_get(&seen, key, strlen(key), NULL))
            failed = err_set(err, "field '%s': expected once, found twice", key);
        else
            failed = map_put(&seen, key, strlen(key), 0, err);
    }
    map_release(&seen);
    return failed;
}

const struct json *json_given(const struct json *object, const char *name)
{
    const struct json *member = json_member(object, name);
    return json_is_null(member) ? NULL : member;
}

int json_refuse(const struct json *member, const char *expected, struct err *err)
{
    char text[DESCRIPTION_BYTES];
    return err_set(err, "field '%s': expected %s, found %s", json_key(member), expected,
                   json_describe(member, text, sizeof text));
}

int json_integer(const struct json *object, const char *name, long long min, long long max,
                 long long *out, struct err *err)
{
    const struct json *member = json_given(object, name);
    if (!member || json_get_integer(member, min, max, out))
        return 0;
    char expected[DESCRIPTION_BYTES];
    snprintf(expected, sizeof expected, "an integer from %lld to %lld", min, max);
    return json_refuse(member, expected, err);
}

int json_double(const struct json *object, const char *name, double min, double max, double *out,
                struct err *err)
{
    const struct json *member = json_given(object, name);
    double number = 0;
    if (!member)
        return 0;
    if (json_get_number(member, &number) && isfinite(number) && number >= min && number <= max) {
        *out = number;
        return 0;
    }
    char expected[DESCRIPTION_BYTES];
    snprintf(expected, sizeof expected, "a number from %g to %g", min, max);
    return json_refuse(member, expected, err);
}

int json_bool(const struct json *object, const char *name, bool *out, struct err *err)
{
    const struct json *member = json_given(object, name);
    return !member || json_get_bool(member, out) ? 0 : json_refuse(member, "true or false", err);
}

int json_text(const struct json *object, const char *name, const char **out, struct err *err)
{
    const struct json *member = json_given(object, name);
    return !member || json_get_text(member, out) ? 0 : json_refuse(member, "a text", err);
}

int json_list(const struct json *object, const char *name, const struct json **out, struct err *err)
{
    *out = json_given(object, name);
    return !*out || json_is_array(*out) ? 0 : json_refuse(*out, "a list", err);
}
