#include "text/splitter.h"

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

struct splitter splitter_of(enum splitter_kind kind, const char *text, size_t size)
{
    return (struct splitter){.kind = kind, .text = text, .size = size};
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

static char class_of_long(struct splitter *splitter, size_t at, size_t *length)
{
    return classes[unicode_kind(read_long((const unsigned char *)splitter->text + at, length))];
}

static inline char class_at(struct splitter *splitter, size_t at, size_t *length)
{
    unsigned char byte = (unsigned char)splitter->text[at];
    *length = 1;
    return byte < 0x80 ? ascii_classes[byte] : class_of_long(splitter, at, length);
}

/* After the last of the characters of a class that stand at `at`; `*last` is where that begins. */
static size_t run_end(struct splitter *splitter, size_t at, char class, size_t *last)
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
static size_t blanks_end(struct splitter *splitter, size_t at)
{
    size_t last = at;
    size_t end = run_end(splitter, at, SPACE, &last);
    return end == splitter->size || last == at ? end : last;
}

static size_t gpt2_end(struct splitter *splitter, size_t at)
{
    size_t length = 0;
    size_t last = 0;
    size_t short_end = contraction(splitter->text + at, splitter->size - at);
    if (short_end)
        return at + short_end;
    size_t start = at + (splitter->text[at] == ' '); /* " ?" */
    char class = start < splitter->size ? class_at(splitter, start, &length) : SPACE;
    if (class == SPACE)
        return blanks_end(splitter, at);
    return run_end(splitter, start + length, class, &last);
}

/* --- Llama 3, Qwen 2 -------------------------------------------------------------------------- */

static bool is_newline(char c)
{
    return c == '\r' || c == '\n';
}

/* The length of a contraction in letters of any case; ſ is a small s, too. */
static size_t caseless_contraction(const char *text, size_t size)
{
    static const char long_s[] = "'ſ";
    char small[3];
    size_t count = size < sizeof small ? size : sizeof small;
    if (size < 2 || text[0] != '\'')
        return 0;
    if (count == sizeof small && memcmp(text, long_s, sizeof long_s - 1) == 0)
        return sizeof long_s - 1;
    for (size_t i = 0; i < count; i++)
        small[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + ('a' - 'A') : text[i]);
    return contraction(small, count);
}

/* `\s*[\r\n]+` ends after the last line break of the blanks; else they are as GPT-2's. */
static size_t lines_end(struct splitter *splitter, size_t at)
{
    size_t last = at;
    size_t end = run_end(splitter, at, SPACE, &last);
    for (size_t i = end; i > at; i--)
        if (is_newline(splitter->text[i - 1]))
            return i;
    return end == splitter->size || last == at ? end : last;
}

static size_t numbers_end(struct splitter *splitter, size_t at, size_t most)
{
    size_t length = 0;
    for (size_t i = 0; i < most && at < splitter->size; i++, at += length)
        if (class_at(splitter, at, &length) != NUMBER)
            break;
    return at;
}

/* ` ?[^\s\p{L}\p{N}]+[\r\n]*` */
static size_t signs_end(struct splitter *splitter, size_t at)
{
    size_t last = 0;
    size_t end = run_end(splitter, at, OTHER, &last);
    while (end < splitter->size && is_newline(splitter->text[end]))
        end++;
    return end;
}

static size_t llama3_end(struct splitter *splitter, size_t at)
{
    size_t length = 0;
    size_t next_length = 0;
    size_t last = 0;
    size_t short_end = caseless_contraction(splitter->text + at, splitter->size - at);
    if (short_end)
        return at + short_end;
    char class = class_at(splitter, at, &length);
    size_t next = at + length;
    char after = next < splitter->size ? class_at(splitter, next, &next_length) : SPACE;
    if (class == LETTER || (class != NUMBER && after == LETTER && !is_newline(splitter->text[at])))
        return run_end(splitter, next, LETTER, &last);
    if (class == NUMBER)
        return numbers_end(splitter, next, splitter->kind == SPLITTER_LLAMA3 ? 2 : 0);
    if (class == OTHER)
        return signs_end(splitter, next);
    if (splitter->text[at] == ' ' && after == OTHER)
        return signs_end(splitter, next);
    return lines_end(splitter, at);
}

/* --- CLIP ------------------------------------------------------------------------------------- */

/* The length of a special token, which is cut out of the text already where it is not text. */
static size_t special(const char *text, size_t size)
{
    static const char *const tokens[] = {"<|startoftext|>", "<|endoftext|>"};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        size_t length = strlen(tokens[i]);
        if (size >= length && memcmp(text, tokens[i], length) == 0)
            return length;
    }
    return 0;
}

static size_t clip_end(struct splitter *splitter, size_t at)
{
    size_t length = 0;
    size_t last = 0;
    const char *text = splitter->text + at;
    size_t size = splitter->size - at;
    size_t short_end = splitter->kind == SPLITTER_CLIP_SPECIAL ? special(text, size) : 0;
    if (!short_end)
        short_end = contraction(text, size);
    if (short_end)
        return at + short_end;
    char class = class_at(splitter, at, &length);
    return class == NUMBER ? at + length : run_end(splitter, at + length, class, &last);
}

size_t splitter_blanks_end(struct splitter *splitter, size_t at)
{
    size_t last = 0;
    return run_end(splitter, at, SPACE, &last);
}

size_t splitter_next(struct splitter *splitter, size_t at)
{
    assert(at < splitter->size);
    return splitter->kind == SPLITTER_GPT2   ? gpt2_end(splitter, at)
           : splitter->kind >= SPLITTER_CLIP ? clip_end(splitter, at)
                                             : llama3_end(splitter, at);
}

#define LLAMA3(numbers)                                                   \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" numbers \
    "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2_REST "| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define CAPITALS "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define SMALLS "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define O200K_WORD(capitals, smalls) \
    "[^\\r\\n\\p{L}\\p{N}]?" CAPITALS capitals SMALLS smalls "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
#define O200K_REST "\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

const struct splitter_pattern splitter_patterns[PATTERN_COUNT] = {
    [PATTERN_GPT2] = {"gpt2", "'s|'t|'re|'ve|'m|'ll|'d" GPT2_REST, SPLITTER_GPT2},
    [PATTERN_LLAMA3] = {"llama3", LLAMA3("\\p{N}{1,3}"), SPLITTER_LLAMA3},
    [PATTERN_QWEN2] = {"qwen2", LLAMA3("\\p{N}"), SPLITTER_QWEN2},
    [PATTERN_O200K] = {"o200k", O200K_WORD("*", "+") O200K_WORD("+", "*") O200K_REST,
                       SPLITTER_NONE},
};

#define CLIP "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"

static const struct splitter_pattern clip_patterns[] = {
    {"clip", CLIP, SPLITTER_CLIP},
    {"clip", "<\\|startoftext\\|>|<\\|endoftext\\|>|" CLIP, SPLITTER_CLIP_SPECIAL},
};

const struct splitter_pattern *splitter_find(const char *pattern)
{
    for (size_t i = 0; i < sizeof clip_patterns / sizeof *clip_patterns; i++)
        if (strcmp(pattern, clip_patterns[i].pattern) == 0)
            return &clip_patterns[i];
    if (strcmp(pattern, "'(?:[sdmt]|ll|ve|re)" GPT2_REST) == 0)
        return &splitter_patterns[PATTERN_GPT2];
    for (size_t i = 0; i < PATTERN_COUNT; i++)
        if (strcmp(pattern, splitter_patterns[i].pattern) == 0)
            return &splitter_patterns[i];
    return NULL;
}
