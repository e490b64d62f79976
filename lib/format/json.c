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

/* --- the scanner: checks the grammar, and moves cursors, for which it cannot fail ----------------
 *
 * A function that reads from `at` on returns the end of the bytes read, or NULL with `err`. */

enum {
    END = -1, /* what peek returns after the last byte */
    FOUND_BYTES = 32,
};

static const char infinity[] = "Infinity"; /* not JSON, but Python writes it */

struct scanner {
    const char *start, *end;    /* the document; errors count bytes from `start` */
    const char *zero;           /* the first escape \u0000; NULL: the document has none */
    size_t count;               /* items or members of the last value that was read; 0 if it has
                                 * none */
    size_t values, text_bytes;  /* so far: the number of all values, and the bytes of all texts as
                                 * written */
    size_t infinities;          /* so far: number of values that are Infinity */
    struct json_extent *extent; /* receives large containers; NULL: they are not listed */
    int depth;                  /* number of arrays and objects that are open */
    struct err *err;
};

static inline int peek(const struct scanner *in, const char *at)
{
    return at < in->end ? (unsigned char)*at : END;
}

/* Set the error "expected ..., found" with the next character: `'x'`, `U+7231`, `the byte 0xff` or
 * `the end`. Returns NULL. */
static const char *refuse(const struct scanner *in, const char *at, const char *expected)
{
    char found[FOUND_BYTES] = "the end";
    uint32_t character = 0;
    int c = peek(in, at);
    if (c >= ' ' && c <= '~')
        snprintf(found, sizeof found, "'%c'", c);
    else if (c != END && utf8_decode(&character, at, (size_t)(in->end - at)))
        snprintf(found, sizeof found, "U+%04X", (unsigned)character);
    else if (c != END)
        snprintf(found, sizeof found, "the byte 0x%02x", (unsigned)c);
    err_set(in->err, "byte %zu: expected %s, found %s", (size_t)(at - in->start), expected, found);
    return NULL;
}

static inline const char *scan_blanks(const struct scanner *in, const char *at)
{
    return peek(in, at) <= ' ' ? json_blanks_end(at, in->end) : at;
}

static inline bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* Scan one digit or more. */
static const char *scan_digits(const struct scanner *in, const char *at)
{
    if (!is_digit(peek(in, at)))
        return refuse(in, at, "a digit");
    while (is_digit(peek(in, at)))
        at++;
    return at;
}

/* Scan a number: [-] (0 | 1-9 digits) [. digits] [(e | E) [+ | -] digits]. */
static const char *scan_number(const struct scanner *in, const char *at)
{
    at += *at == '-';
    if (peek(in, at) != '0')
        at = scan_digits(in, at);
    else if (is_digit(peek(in, ++at)))
        return refuse(in, at, "no digit after a leading 0");
    if (at && peek(in, at) == '.')
        at = scan_digits(in, at + 1);
    if (!at || (peek(in, at) != 'e' && peek(in, at) != 'E'))
        return at;
    at++;
    return scan_digits(in, at + (peek(in, at) == '+' || peek(in, at) == '-'));
}

static const char *scan_word(const struct scanner *in, const char *at, const char *word)
{
    char expected[32];
    for (const char *c = word; *c; c++, at++) {
        if (peek(in, at) == *c)
            continue;
        snprintf(expected, sizeof expected, "'%c' of '%s'", *c, word);
        return refuse(in, at, expected);
    }
    return at;
}

static int hex_value(int c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Scan the `uXXXX` of an escape. */
static const char *scan_unit(const struct scanner *in, const char *at, int *unit)
{
    *unit = 0;
    at++; /* skip the u */
    for (int i = 0; i < 4; i++, at++) {
        int digit = hex_value(peek(in, at));
        if (digit < 0)
            return refuse(in, at, "a hexadecimal digit");
        *unit = *unit * 16 + digit;
    }
    return at;
}

/* Scan an escape `\uXXXX`. A character from U+10000 on is escaped as two units, first D800 to DBFF,
 * then DC00 to DFFF; one such unit alone is refused. */
static const char *scan_unicode(struct scanner *in, const char *backslash)
{
    int high = 0, low = 0;
    const char *at = scan_unit(in, backslash + 1, &high);
    if (!high && !in->zero)
        in->zero = backslash;
    if (!at || high < 0xd800 || high > 0xdfff)
        return at;
    if (high < 0xdc00 && peek(in, at) == '\\' && peek(in, at + 1) == 'u') {
        at = scan_unit(in, at + 1, &low);
        if (!at || (low >= 0xdc00 && low <= 0xdfff))
            return at;
    }
    err_set(in->err, "byte %zu: expected a pair of surrogates, found \\u%04x alone",
            (size_t)(backslash - in->start), (unsigned)high);
    return NULL;
}

/* Scan one character of a text, escaped or not. */
static const char *scan_character(struct scanner *in, const char *at)
{
    uint32_t character = 0;
    if (at == in->end)
        return refuse(in, at, "a closing '\"'");
    if (*at == '\\') {
        int c = peek(in, at + 1);
        if (c == 'u')
            return scan_unicode(in, at);
        bool known = c > 0 && strchr("\"\\/bfnrt", c);
        return known ? at + 2 : refuse(in, at + 1, "one of \"\\/bfnrtu after '\\'");
    }
    if (peek(in, at) < ' ')
        return refuse(in, at, "an escape for a control character");
    size_t length = utf8_decode(&character, at, (size_t)(in->end - at));
    return length ? at + length : refuse(in, at, "UTF-8");
}

/* plain_end skips bytes of a text that need neither decoding nor a closer check. It may stop early:
 * scan_text then goes on with scan_character. */
#ifdef __SSE2__

enum { BLOCK_BYTES = 16, BLOCK_BITS = (1 << BLOCK_BYTES) - 1 };

/* Return a set of bits: bit i is set if byte i of the block, as a signed number, is from `first` to
 * `last`. */
static inline unsigned bytes_in(__m128i block, int first, int last)
{
    __m128i below = _mm_cmplt_epi8(block, _mm_set1_epi8((char)first));
    __m128i above = _mm_cmpgt_epi8(block, _mm_set1_epi8((char)last));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(below, above)) ^ BLOCK_BITS;
}

/* Return a set of bits: bit i is set if byte i of the block is a quote, a backslash or a control
 * character. */
static inline unsigned bytes_that_stop(__m128i block)
{
    __m128i quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
    __m128i slashes = _mm_cmpeq_epi8(block, _mm_set1_epi8('\\'));
    __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(' ' - 1)), block);
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quotes, slashes), controls));
}

/* Bytes C2 to DF begin UTF-8 characters of two bytes, and E1 to EC characters of three; these only
 * need continuation bytes, and scan_character checks all other characters. In a block that passes
 * this check, only the stopping byte decides how far to skip, so that processors need not wait for
 * the check. */
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

/* Skip a text in quotes. It is inlined into the functions of cursors, so that the compiler leaves
 * out the count `text_bytes`, which they do not need. */
static inline __attribute__((always_inline)) const char *scan_text(struct scanner *in,
                                                                   const char *at)
{
    const char *start = ++at; /* after the opening quote */
    while (at) {
        at = plain_end(at, in->end);
        if (at < in->end && *at == '"') {
            in->text_bytes += (size_t)(at - start);
            return at + 1;
        }
        at = scan_character(in, at);
    }
    return NULL;
}

/* Scan a member's name and the colon, up to the member's value. */
static inline const char *scan_name(struct scanner *in, const char *at)
{
    if (peek(in, at) != '"')
        return refuse(in, at, "a name in quotes");
    at = scan_text(in, at);
    if (at)
        at = scan_blanks(in, at);
    if (at && peek(in, at) != ':')
        return refuse(in, at, "':'");
    return at ? scan_blanks(in, at + 1) : NULL;
}

static const char *scan_value(struct scanner *in, const char *at);

/* Scan an array or an object. Only this function recurses, so depth is limited here. */
static const char *scan_container(struct scanner *in, const char *at)
{
    struct json_extent *extent = in->extent;
    const char *start = at;
    bool is_object = *start == '{';
    char close = is_object ? '}' : ']';
    size_t count = 0;
    if (in->depth == JSON_DEPTH_MAX) {
        err_set(in->err, "byte %zu: expected at most %d levels of nesting, found more",
                (size_t)(start - in->start), JSON_DEPTH_MAX);
        return NULL;
    }
    in->depth++;
    at = scan_blanks(in, at + 1);
    for (bool closed = peek(in, at) == close; !closed; count++) {
        if (is_object && !(at = scan_name(in, at)))
            return NULL;
        if (!(at = scan_value(in, at)))
            return NULL;
        at = scan_blanks(in, at);
        int next = peek(in, at);
        closed = next == close;
        if (!closed && next != ',')
            return refuse(in, at, is_object ? "',' or '}'" : "',' or ']'");
        if (!closed)
            at = scan_blanks(in, at + 1);
    }
    in->depth--;
    in->count = count;
    size_t size = (size_t)(++at - start);
    if (extent && size >= JSON_CONTAINER_BYTES && extent->container_count < JSON_CONTAINERS)
        extent->containers[extent->container_count++] = (struct json_container){start, size, count};
    return at;
}

static inline const char *scan_value(struct scanner *in, const char *at)
{
    int c = peek(in, at);
    in->count = 0;
    in->values++;
    if (c == '"')
        return scan_text(in, at);
    if (c == '{' || c == '[')
        return scan_container(in, at);
    if (c == '-' || is_digit(c))
        return scan_number(in, at);
    in->infinities += c == *infinity;
    const char *word = c == 't'         ? "true"
                       : c == 'f'       ? "false"
                       : c == 'n'       ? "null"
                       : c == *infinity ? infinity
                                        : NULL;
    return word ? scan_word(in, at, word) : refuse(in, at, "a value");
}

static int scan_document(struct scanner *in, struct json_extent *extent, const char *bytes,
                         size_t size, struct err *err)
{
    *in = (struct scanner){.start = bytes, .end = bytes + size, .extent = extent, .err = err};
    const char *at = scan_value(in, scan_blanks(in, bytes));
    at = at ? scan_blanks(in, at) : NULL;
    return err_if(!at || (at != in->end && !refuse(in, at, "the end")));
}

/* --- a walk without a tree -------------------------------------------------------------------- */

int json_cursor_open(struct json_cursor *cursor, struct json_extent *extent, const char *bytes,
                     size_t size, struct err *err)
{
    struct scanner in;
    *cursor = (struct json_cursor){.at = bytes, .end = bytes + size, .extent = extent};
    json_cursor_skip_blanks(cursor);
    return err_if(file_refuse_format(bytes, size, "JSON", err) ||
                  scan_document(&in, extent, bytes, size, err));
}

struct json_cursor json_cursor_at(struct json_span value)
{
    return (struct json_cursor){.at = value.bytes, .end = value.bytes + value.size};
}

struct json_span json_cursor_text(struct json_cursor *cursor)
{
    struct scanner in = {.end = cursor->end};
    const char *start = cursor->at;
    assert(*start == '"');
    cursor->at = scan_text(&in, start);
    return (struct json_span){start + 1, (size_t)(cursor->at - start) - 2};
}

struct json_span json_cursor_name(struct json_cursor *cursor)
{
    struct json_span name = json_cursor_text(cursor);
    json_cursor_colon(cursor);
    return name;
}

struct json_span json_cursor_count(struct json_cursor *cursor, size_t *count)
{
    const struct json_extent *extent = cursor->extent;
    struct scanner in = {.end = cursor->end};
    const char *start = cursor->at;
    const struct json_container *large = NULL;
    for (size_t i = 0; extent && i < extent->container_count && !large; i++)
        if (extent->containers[i].bytes == start)
            large = &extent->containers[i];
    cursor->at = large ? start + large->size : scan_value(&in, start);
    *count = large ? large->count : in.count;
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
    if (at == cursor->at || (at < cursor->end && memchr(".eE", *at, 3)))
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

/* Decode the escape at `in`, which has 2, 6 or 12 bytes. Returns the number of bytes. */
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
    bool pair = c >= 0xD800 && c <= 0xDBFF; /* a low surrogate follows: the document was checked */
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
    struct json_cursor cursor = {.at = text.bytes - 1}; /* the opening quote is before the span */
    return json_cursor_read(&cursor, out);
}

bool json_span_is(struct json_span text, const char *name)
{
    return text.size == strlen(name) && memcmp(text.bytes, name, text.size) == 0;
}

/* --- documents -------------------------------------------------------------------------------- */

enum { DESCRIPTION_BYTES = 80 };

/* From 2^53 on doubles skip integers: a number may differ from the one in the text. */
#define EXACT_INTEGER_MAX 9007199254740991.0

static const cJSON *tree_of(const struct json *value)
{
    return (const cJSON *)value;
}

static const struct json *value_of(const cJSON *tree)
{
    return (const struct json *)tree;
}

/* Set cJSON's allocator. This runs once for all threads, as cJSON keeps the allocator in a global
 * variable. */
static void hook(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){heap_hook, heap_free});
}

/* Make the tree of a checked document; NULL: out of memory. cJSON does not know Infinity, so each
 * Infinity is replaced with a number too large for a double. */
static cJSON *make_tree(const struct scanner *checked)
{
    static const char too_large[sizeof infinity] = "1e999   ";
    struct scanner in = {.end = checked->end};
    const size_t size = (size_t)(checked->end - checked->start);
    char *copy = checked->infinities ? heap_alloc(size, 1, NULL) : NULL;
    if (!checked->infinities)
        return cJSON_ParseWithLength(checked->start, size);
    for (const char *at = checked->start, *from = at; copy && at < in.end; from = at) {
        const bool found = *at == *infinity;
        at = *at == '"' ? scan_text(&in, at) : at + (found ? strlen(infinity) : 1);
        memcpy(copy + (from - checked->start), found ? too_large : from, (size_t)(at - from));
    }
    cJSON *tree = copy ? cJSON_ParseWithLength(copy, size) : NULL;
    heap_free(copy);
    return tree;
}

int json_parse(struct json **root, const char *bytes, size_t size, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct scanner in;
    if (scan_document(&in, NULL, bytes, size, err))
        return -1;
    if (in.zero) /* cJSON would end the text at U+0000 */
        return err_set(err, "byte %zu: expected no \\u0000 in a text, found one",
                       (size_t)(in.zero - bytes));
    if (in.values > JSON_VALUES_MAX) /* a tree needs up to forty times the bytes of its text */
        return err_set(err, "expected at most %d values, found %zu", JSON_VALUES_MAX, in.values);
    if (in.text_bytes > JSON_TEXT_BYTES_MAX)
        return err_set(err, "expected at most %d bytes of texts, found %zu", JSON_TEXT_BYTES_MAX,
                       in.text_bytes);
    pthread_once(&once, hook);
    cJSON *tree = make_tree(&in);
    if (!tree)
        return err_memory(err, size);
    *root = (struct json *)tree;
    return 0;
}

void json_free(struct json *root)
{
    cJSON_Delete((cJSON *)root);
}

struct json_reader {
    int (*read)(void *context, const struct json *root, struct err *err);
    void *context;
};

static int read_root(void *context, const struct file *file, struct err *err)
{
    const struct json_reader *reader = context;
    struct json *root = NULL;
    int failed = file_refuse_format(file->bytes, file->size, "JSON", err) ||
                 json_parse(&root, file->bytes, file->size, err) ||
                 reader->read(reader->context, root, err);
    json_free(root);
    return err_if(failed);
}

int json_read_file(const struct folder *folder, const char *name,
                   int (*read)(void *context, const struct json *root, struct err *err),
                   void *context, struct err *err)
{
    struct json_reader reader = {read, context};
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

/* Write a text in quotes, on one line, with escapes for invisible characters. A text that is too
 * long is shortened and ends with "...". */
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

enum {
    WAS_READ = 1 << 12
}; /* set in the `type` of a member that was read: a bit that cJSON does
                              * not use */

const struct json *json_member(const struct json *object, const char *name)
{
    cJSON *member =
        json_is_object(object) ? cJSON_GetObjectItemCaseSensitive(tree_of(object), name) : NULL;
    if (member)
        member->type |= WAS_READ;
    return value_of(member);
}

bool json_was_read(const struct json *member)
{
    return tree_of(member)->type & WAS_READ;
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
    return tree_of(member)->string ? tree_of(member)->string : "";
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
    struct hash_table keys = {0};
    int failed = hash_table_reserve(&keys, json_count(object), err);
    for (const struct json *v = json_first(object); v && !failed; v = json_next(v))
        failed = hash_table_add(&keys, "field", json_key(v), strlen(json_key(v)), 0, err);
    hash_table_release(&keys);
    return failed;
}

const struct json *json_given(const struct json *object, const char *name)
{
    const struct json *member = json_member(object, name);
    return json_is_null(member) ? NULL : member;
}

int json_refuse(const char *field, const struct json *value, const char *expected, struct err *err)
{
    char text[DESCRIPTION_BYTES];
    return err_set(err, "field '%s': expected %s, found %s", field, expected,
                   json_describe(value, text, sizeof text));
}

int json_integer(const struct json *object, const char *name, long long min, long long max,
                 long long *out, struct err *err)
{
    const struct json *member = json_given(object, name);
    if (!member || json_get_integer(member, min, max, out))
        return 0;
    char expected[DESCRIPTION_BYTES];
    snprintf(expected, sizeof expected, "an integer from %lld to %lld", min, max);
    return json_refuse(name, member, expected, err);
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
    return json_refuse(name, member, expected, err);
}

int json_bool(const struct json *object, const char *name, bool *out, struct err *err)
{
    const struct json *member = json_given(object, name);
    return !member || json_get_bool(member, out) ? 0
                                                 : json_refuse(name, member, "true or false", err);
}

int json_text(const struct json *object, const char *name, const char **out, struct err *err)
{
    const struct json *member = json_given(object, name);
    return !member || json_get_text(member, out) ? 0 : json_refuse(name, member, "a text", err);
}

int json_list(const struct json *object, const char *name, const struct json **out, struct err *err)
{
    *out = json_given(object, name);
    return !*out || json_is_array(*out) ? 0 : json_refuse(name, *out, "a list", err);
}

int json_object(const struct json *object, const char *name, const struct json **out,
                struct err *err)
{
    *out = json_given(object, name);
    return !*out || json_is_object(*out) ? 0 : json_refuse(name, *out, "an object", err);
}
