#include "text/matcher.h"

#include <oniguruma.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "text/label.h"

/* --- regular expressions ---------------------------------------------------------------------- */

enum {
    FREE_STEPS = 128,    /* a search of at most this many steps does not count against the limit */
    STEPS_FACTOR = 4,    /* factor by which the limit grows when a search is repeated */
    STACK_MAX = 1 << 26, /* maximum number of positions to which a search may go back */
    DEPTH_MAX = 64,      /* maximum nesting depth of parentheses */

    /* The patterns of all known models are a few hundred bytes, without calls and with few groups.
     * Oniguruma follows each call of a group, \g<name>, again: forty groups that each call the next
     * group twice would need years. The time to fold the case of a pattern grows with the square of
     * its size, and the time for each reference to a group with the number of groups. */
    PATTERN_BYTES_MAX = 8192,
    CALLS_MAX = 8,
    GROUPS_MAX = 64,
};

struct regex {
    regex_t *onig;
    char shown[LABEL_EXCERPT_BYTES];
};

static const unsigned char *bytes_of(const char *text)
{
    return (const unsigned char *)text;
}

/* --- newer characters than Oniguruma's --------------------------------------------------------
 *
 * Oniguruma may have an older Unicode (6.9.8: 14). Characters that Oniguruma leaves unassigned, but
 * that the table of base/utf8.h assigns, are added to \p{L}, \p{M}, \p{N}, \p{P} and \p{S}. */

enum { CATEGORIES = 5, RANGES_MAX = 1024 };

static const char *const category_names[CATEGORIES] = {"L", "M", "N", "P", "S"};

/* The category of a character that Oniguruma leaves unassigned, as an index in category_names; -1:
 * none of these. */
static int category_of(uint32_t character)
{
    static const struct unicode_range punctuation[] = {
        {0x1B4E, 0x1B4F},   {0x1B7F, 0x1B7F},   {0x10D6E, 0x10D6E},
        {0x113D4, 0x113D8}, {0x11B00, 0x11B09}, {0x11BE1, 0x11BE1},
        {0x11F43, 0x11F4F}, {0x16D6D, 0x16D6F}, {0x1E5FF, 0x1E5FF}};
    switch (unicode_kind(character)) {
    case UNICODE_LETTER:
        return 0;
    case UNICODE_MARK:
        return 1;
    case UNICODE_DIGIT:
    case UNICODE_LETTER_NUMBER:
    case UNICODE_OTHER_NUMBER:
        return 2;
    case UNICODE_SIGN:
    case UNICODE_ALPHABETIC:
        return unicode_is_in(punctuation, sizeof punctuation / sizeof *punctuation, character) ? 3
                                                                                               : 4;
    default:
        return -1;
    }
}

/* Oniguruma's ranges of a category: their number, then the first and last character of each. */
static const OnigCodePoint *ranges_of(const char *name)
{
    OnigEncoding encoding = ONIG_ENCODING_UTF8;
    const OnigCodePoint *ranges = NULL;
    OnigCodePoint single = 0;
    int type = ONIGENC_PROPERTY_NAME_TO_CTYPE(encoding, (OnigUChar *)name,
                                              (OnigUChar *)name + strlen(name));
    return type < 0 || ONIGENC_GET_CTYPE_CODE_RANGE(encoding, (OnigCtype)type, &single, &ranges)
               ? NULL
               : ranges;
}

/* Append a range, or extend the last range if the new one follows it directly. */
static void put_range(OnigCodePoint *ranges, OnigCodePoint first, OnigCodePoint last)
{
    OnigCodePoint *end = ranges + 1 + 2 * ranges[0];
    if (ranges[0] && end[-1] + 1 == first) {
        end[-1] = last;
    } else if (ranges[0] < RANGES_MAX) {
        end[0] = first;
        end[1] = last;
        ranges[0]++;
    }
}

static void add_newer_characters(void)
{
    static OnigCodePoint newer[CATEGORIES][1 + 2 * RANGES_MAX];
    static OnigCodePoint all[CATEGORIES][1 + 2 * RANGES_MAX];
    const OnigCodePoint *unassigned = ranges_of("Cn");
    /* the page whose code points are all UNICODE_CONTROL */
    uint8_t empty = unicode_page_of[UNICODE_LAST / UNICODE_PAGE];
    for (OnigCodePoint i = 0; unassigned && i < unassigned[0]; i++)
        for (OnigCodePoint c = unassigned[1 + 2 * i]; c <= unassigned[2 + 2 * i]; c++) {
            if (unicode_page_of[c / UNICODE_PAGE] == empty)
                c |= UNICODE_PAGE - 1; /* skip the rest of the page */
            else if (category_of(c) >= 0)
                put_range(newer[category_of(c)], c, c);
        }
    for (int i = 0; i < CATEGORIES; i++) {
        const OnigCodePoint *old = ranges_of(category_names[i]);
        OnigCodePoint at = 0, new_at = 0;
        while (old && (at < old[0] || new_at < newer[i][0])) {
            bool is_old = at < old[0] &&
                          (new_at == newer[i][0] || old[1 + 2 * at] < newer[i][1 + 2 * new_at]);
            const OnigCodePoint *next = is_old ? &old[1 + 2 * at++] : &newer[i][1 + 2 * new_at++];
            put_range(all[i], next[0], next[1]);
        }
        if (old && all[i][0] < RANGES_MAX)
            onig_unicode_define_user_property(category_names[i], all[i]);
    }
}

static void begin(void)
{
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    onig_set_retry_limit_in_match(FREE_STEPS);
    onig_set_retry_limit_in_search(FREE_STEPS);
    onig_set_match_stack_limit_size(STACK_MAX);
    onig_set_parse_depth_limit(DEPTH_MAX);
    onig_set_warn_func(onig_null_warn);
    onig_set_verb_warn_func(onig_null_warn);
    add_newer_characters();
}

static size_t count_calls(const char *pattern)
{
    size_t count = 0;
    for (const char *at = pattern; (at = strstr(at, "\\g")); at += 2)
        count++;
    return count;
}

static int regex_open(struct regex **regex, const char *pattern, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    unsigned char said[ONIG_MAX_ERROR_MESSAGE_LEN];
    size_t size = strlen(pattern);
    OnigErrorInfo info;
    pthread_once(&once, begin);
    if (size > PATTERN_BYTES_MAX)
        return err_set(err, "expected a pattern of at most %d bytes, found %zu", PATTERN_BYTES_MAX,
                       size);
    if (count_calls(pattern) > CALLS_MAX)
        return err_set(err, "expected a pattern with at most %d calls of groups, found %zu",
                       CALLS_MAX, count_calls(pattern));
    struct regex *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    strcpy(opened->shown, label_excerpt(pattern, size));
    int status = onig_new(&opened->onig, bytes_of(pattern), bytes_of(pattern) + size,
                          ONIG_OPTION_NONE, ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
    int groups = status == ONIG_NORMAL ? onig_number_of_captures(opened->onig) : 0;
    if (status == ONIG_NORMAL && groups <= GROUPS_MAX) {
        *regex = opened;
        return 0;
    }
    if (status == ONIGERR_MEMORY) {
        err_memory(err, size);
    } else if (status == ONIG_NORMAL) {
        err_set(err, "expected a pattern with at most %d groups, found %d", GROUPS_MAX, groups);
        onig_free(opened->onig);
    } else {
        onig_error_code_to_str(said, status, &info);
        err_set(err, "expected a regular expression, found '%s': %s", opened->shown,
                (const char *)said);
    }
    heap_free(opened);
    return -1;
}

static int search(struct matcher_walk *walk, OnigMatchParam *param)
{
    regex_t *onig = walk->matcher->regex->onig;
    const unsigned char *text = bytes_of(walk->text);
    const unsigned char *end = text + walk->size;
    const unsigned char *at = text + walk->at;
    return param ? onig_search_with_param(onig, text, end, at, end, walk->found, ONIG_OPTION_NONE,
                                          param)
                 : onig_search(onig, text, end, at, end, walk->found, ONIG_OPTION_NONE);
}

static bool is_over(int status)
{
    return status == ONIGERR_RETRY_LIMIT_IN_MATCH_OVER ||
           status == ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER;
}

/* Repeat a search that needs more than the free steps, with growing limits. Oniguruma does not
 * report the number of steps, so the limits of failed searches are subtracted from the limit of the
 * text. */
static int search_longer(struct matcher_walk *walk)
{
    struct text_limits *limits = walk->limits;
    OnigMatchParam *param = onig_new_match_param();
    int status = param ? ONIGERR_RETRY_LIMIT_IN_SEARCH_OVER : ONIGERR_MEMORY;
    for (size_t steps = FREE_STEPS; is_over(status) && limits->steps_left > steps;) {
        limits->steps_left -= steps;
        steps =
            limits->steps_left / STEPS_FACTOR < steps ? limits->steps_left : STEPS_FACTOR * steps;
        onig_set_retry_limit_in_match_of_match_param(param, steps);
        onig_set_retry_limit_in_search_of_match_param(param, steps);
        status = search(walk, param);
    }
    if (param)
        onig_free_match_param(param);
    return status;
}

static int explain(const struct matcher_walk *walk, int status, struct err *err)
{
    const char *pattern = walk->matcher->regex->shown;
    unsigned char said[ONIG_MAX_ERROR_MESSAGE_LEN];
    if (status == ONIGERR_MEMORY)
        return err_memory(err, walk->size);
    const char *shown = label_excerpt(walk->text + walk->at, walk->size - walk->at);
    if (is_over(status))
        return err_set(err,
                       "pattern '%s': expected at most %d steps of search and %d for each byte of "
                       "the text, found more at '%s'",
                       pattern, REGEX_STEPS, REGEX_STEPS_PER_BYTE, shown);
    onig_error_code_to_str(said, status);
    return err_set(err, "pattern '%s': %s at '%s'", pattern, (const char *)said, shown);
}

static int next_of_regex(struct matcher_walk *walk, struct text_range *match, struct err *err)
{
    uint32_t c = 0;
    if (walk->at > walk->size)
        return 0;
    if (!walk->found && !(walk->found = onig_region_new()))
        return err_memory(err, sizeof *walk->found);
    if (!walk->limits) {
        walk->own = text_limits_of(walk->size);
        walk->limits = &walk->own;
    }
    int status = search(walk, NULL);
    if (is_over(status))
        status = search_longer(walk);
    if (status == ONIG_MISMATCH)
        return 0;
    if (status < 0)
        return explain(walk, status, err);
    *match = (struct text_range){(size_t)walk->found->beg[0], (size_t)walk->found->end[0]};
    if (match->start > match->end) /* happens for \K in a lookahead */
        match->start = match->end;
    walk->at = match->end;
    if (match->start == match->end) /* continue after the next character */
        walk->at += match->end == walk->size
                        ? 1
                        : utf8_step(&c, walk->text + match->end, walk->size - match->end);
    return 1;
}

/* --- splitters -------------------------------------------------------------------------------- */

/* Classes of characters: \p{L}, \p{N}, \s and all others. */
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

static char class_of_long(const struct matcher_walk *walk, size_t at, size_t *length)
{
    uint32_t c = 0;
    *length = utf8_step(&c, walk->text + at, walk->size - at);
    return classes[unicode_kind(c)];
}

static inline char class_at(const struct matcher_walk *walk, size_t at, size_t *length)
{
    unsigned char byte = (unsigned char)walk->text[at];
    *length = 1;
    return byte < 0x80 ? ascii_classes[byte] : class_of_long(walk, at, length);
}

/* The end of a run of characters of a class from `at` on; `*last` gets the offset of its last
 * character, if there is one. */
static size_t run_end(const struct matcher_walk *walk, size_t at, char class, size_t *last)
{
    size_t length = 0;
    for (; at < walk->size && class_at(walk, at, &length) == class; at += length)
        *last = at;
    return at;
}

static bool is_newline(char c)
{
    return c == '\r' || c == '\n';
}

/* The end of a match of `\s+(?!\S)|\s+`: the last of several spaces belongs to the next piece, if
 * there is one. With `lines`, `\s*[\r\n]+` is tried first, which ends after the last line break. */
static size_t spaces_end(const struct matcher_walk *walk, size_t at, bool lines)
{
    size_t last = at;
    size_t end = run_end(walk, at, SPACE, &last);
    for (size_t i = end; lines && i > at; i--)
        if (is_newline(walk->text[i - 1]))
            return i;
    return end == walk->size || last == at ? end : last;
}

/* The end of a contraction that begins at `at`; `at` if there is none. If `any_case`, capitals
 * match as well, and ſ matches as an s. */
static size_t contraction_end(const struct matcher_walk *walk, size_t at, bool any_case)
{
    static const char *const endings[] = {"s", "t", "re", "ve", "m", "ll", "d", "ſ"};
    const char *text = walk->text + at + 1;
    size_t count = sizeof endings / sizeof *endings - !any_case;
    if (walk->text[at] != '\'')
        return at;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(endings[i]);
        size_t same = 0;
        if (walk->size - at <= length)
            continue;
        while (same < length && (text[same] == endings[i][same] ||
                                 (any_case && text[same] >= 'A' && text[same] <= 'Z' &&
                                  text[same] - 'A' + 'a' == endings[i][same])))
            same++;
        if (same == length)
            return at + 1 + length;
    }
    return at;
}

static size_t gpt2_end(const struct matcher_walk *walk, size_t at)
{
    size_t length = 0, last = 0;
    size_t start = at + (walk->text[at] == ' '); /* a space that " ?" in the pattern matches */
    char class = start < walk->size ? class_at(walk, start, &length) : SPACE;
    if (class == SPACE)
        return spaces_end(walk, at, false);
    return run_end(walk, start + length, class, &last);
}

static size_t llama3_end(const struct matcher_walk *walk, size_t at)
{
    size_t length = 0, next_length = 0, last = 0;
    char class = class_at(walk, at, &length);
    size_t end = at + length;
    char after = end < walk->size ? class_at(walk, end, &next_length) : SPACE;
    if (class == LETTER || (class != NUMBER && after == LETTER && !is_newline(walk->text[at])))
        return run_end(walk, end, LETTER, &last);
    if (class == NUMBER) {
        int more = walk->matcher->splitter == SPLITTER_LLAMA3 ? 2 : 0;
        for (; more && end < walk->size && class_at(walk, end, &length) == NUMBER; more--)
            end += length;
        return end;
    }
    if (class == SPACE && (walk->text[at] != ' ' || after != OTHER))
        return spaces_end(walk, at, true);
    end = run_end(walk, end, OTHER, &last); /* match ` ?[^\s\p{L}\p{N}]+[\r\n]*` */
    while (end < walk->size && is_newline(walk->text[end]))
        end++;
    return end;
}

static size_t clip_end(const struct matcher_walk *walk, size_t at)
{
    static const char *const tokens[] = {"<|startoftext|>", "<|endoftext|>"}; /* special tokens of
                                                                               * the pattern */
    size_t length = 0, last = 0;
    for (size_t i = 0; walk->matcher->splitter == SPLITTER_CLIP_SPECIAL && i < 2; i++) {
        size_t size = strlen(tokens[i]);
        if (walk->size - at >= size && memcmp(walk->text + at, tokens[i], size) == 0)
            return at + size;
    }
    char class = class_at(walk, at, &length);
    return class == NUMBER ? at + length : run_end(walk, at + length, class, &last);
}

static int next_piece(struct matcher_walk *walk, struct text_range *match)
{
    enum splitter_kind kind = walk->matcher->splitter;
    size_t last = 0;
    size_t at = kind < SPLITTER_CLIP ? walk->at : run_end(walk, walk->at, SPACE, &last);
    if (at == walk->size)
        return 0;
    bool clips = kind >= SPLITTER_CLIP;
    walk->at = contraction_end(walk, at, kind != SPLITTER_GPT2 && !clips);
    if (walk->at == at)
        walk->at = kind == SPLITTER_GPT2 ? gpt2_end(walk, at)
                   : clips               ? clip_end(walk, at)
                                         : llama3_end(walk, at);
    *match = (struct text_range){at, walk->at};
    return 1;
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
#define CLIP "'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"

const struct splitter_pattern splitter_patterns[PATTERN_COUNT] = {
    [PATTERN_GPT2] = {"gpt2", "'s|'t|'re|'ve|'m|'ll|'d" GPT2_REST, SPLITTER_GPT2},
    [PATTERN_LLAMA3] = {"llama3", LLAMA3("\\p{N}{1,3}"), SPLITTER_LLAMA3},
    [PATTERN_QWEN2] = {"qwen2", LLAMA3("\\p{N}"), SPLITTER_QWEN2},
    [PATTERN_O200K] = {"o200k", O200K_WORD("*", "+") O200K_WORD("+", "*") O200K_REST,
                       SPLITTER_NONE},
    [PATTERN_CLIP] = {"clip", CLIP, SPLITTER_CLIP},
    [PATTERN_CLIP_SPECIAL] = {"clip", "<\\|startoftext\\|>|<\\|endoftext\\|>|" CLIP,
                              SPLITTER_CLIP_SPECIAL},
    [PATTERN_GPT2_SHORT] = {"gpt2", "'(?:[sdmt]|ll|ve|re)" GPT2_REST, SPLITTER_GPT2},
};

/* --- literals and characters ------------------------------------------------------------------ */

static int next_literal(struct matcher_walk *walk, struct text_range *match)
{
    size_t size = walk->matcher->literal_size;
    const char *at = walk->text + walk->at;
    const char *literal = walk->matcher->literal;
    size_t left = walk->size - walk->at;
    if (!size || !left)
        return 0;
    const char *found = *at == *literal ? at : memchr(at, *literal, left); /* usually the text
                                                                            * lacks the byte */
    if (found && size > 1) {
        left -= (size_t)(found - at);
        bool here = left >= size && memcmp(found, literal, size) == 0;
        found = here ? found : memmem(found, left, literal, size);
    }
    if (!found)
        return 0;
    match->start = (size_t)(found - walk->text);
    match->end = walk->at = match->start + size;
    return 1;
}

/* The end of a run from `at` of at most `most` characters for which `is` returns `wanted`. */
static size_t pass_over(const struct matcher_walk *walk, size_t at, bool wanted, size_t most)
{
    const struct matcher *matcher = walk->matcher;
    const char *text = walk->text;
    uint32_t last = 0; /* the last character of more than two bytes; `last_is` is its result */
    bool last_is = false;
    for (size_t length; most && at < walk->size; at += length, most--) {
        uint32_t c = (unsigned char)text[at];
        bool is = false;
        length = c < 0x80 ? 1 : 2;
        if (c < 0x80) {
            is = matcher->near[c];
        } else if (c < 0xE0 && at + 1 < walk->size) {
            is = matcher->near[(c & 0x1F) << 6 | ((unsigned char)text[at + 1] & 0x3F)];
        } else {
            length = utf8_step(&c, text + at, walk->size - at);
            last_is = c == last ? last_is : matcher->is(c);
            last = c;
            is = last_is;
        }
        if (is != wanted)
            break;
    }
    return at;
}

static int next_characters(struct matcher_walk *walk, struct text_range *match)
{
    size_t row = walk->matcher->row;
    for (;;) {
        size_t at = pass_over(walk, walk->at, false, SIZE_MAX);
        walk->at = pass_over(walk, at, true, row);
        *match = (struct text_range){at, walk->at};
        if (at == walk->size)
            return 0;
        if (row == 1 || row == ROW_ALL || walk->at - at == row)
            return 1; /* a match of a fixed number of characters is ASCII: each character is one
                       * byte */
    }
}

/* --- walks ------------------------------------------------------------------------------------ */

void matcher_set_kind(struct matcher *matcher, bool (*is)(uint32_t character))
{
    matcher->is = is;
    matcher->row = 1;
    for (uint32_t c = 0; c < sizeof matcher->near; c++)
        matcher->near[c] = is(c);
}

static bool is_space(uint32_t c)
{
    return unicode_kind(c) == UNICODE_SPACE;
}

static bool is_ascii_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

int matcher_set_pattern(struct matcher *matcher, const char *pattern, struct err *err)
{
    static const struct {
        const char *pattern;
        bool (*is)(uint32_t character);
        size_t row;
    } rows[] = {{"\\s+", is_space, ROW_ALL}, {"[0-9][0-9][0-9]", is_ascii_digit, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(pattern, rows[i].pattern) != 0)
            continue;
        matcher_set_kind(matcher, rows[i].is);
        matcher->row = rows[i].row;
        return 0;
    }
    for (size_t i = 0; i < PATTERN_COUNT; i++) {
        if (strcmp(pattern, splitter_patterns[i].pattern) != 0)
            continue;
        matcher->pattern = splitter_patterns[i].name;
        matcher->splitter = splitter_patterns[i].kind;
    }
    return matcher->splitter ? 0 : regex_open(&matcher->regex, pattern, err);
}

void matcher_release(struct matcher *matcher)
{
    if (matcher->regex)
        onig_free(matcher->regex->onig);
    heap_free(matcher->regex);
    matcher->regex = NULL;
}

struct matcher_walk matcher_walk(const struct matcher *matcher, const char *text, size_t size,
                                 struct text_limits *limits)
{
    return (struct matcher_walk){.matcher = matcher, .text = text, .size = size, .limits = limits};
}

int matcher_next(struct matcher_walk *walk, struct text_range *match, struct err *err)
{
    return walk->matcher->splitter  ? next_piece(walk, match)
           : walk->matcher->is      ? next_characters(walk, match)
           : walk->matcher->literal ? next_literal(walk, match)
                                    : next_of_regex(walk, match, err);
}

void matcher_walk_release(struct matcher_walk *walk)
{
    if (walk->found)
        onig_region_free(walk->found, 1);
    walk->found = NULL;
}

bool matcher_replace(const struct matcher *matcher, struct buf *out, const char *text, size_t size,
                     const char *content, size_t content_size)
{
    struct matcher_walk walk = matcher_walk(matcher, text, size, NULL);
    struct text_range match;
    size_t at = 0;
    bool found = false;
    for (; matcher_next(&walk, &match, NULL) > 0; found = true) {
        buf_bytes(out, text + at, match.start - at);
        buf_bytes(out, content, content_size);
        at = match.end;
    }
    buf_bytes(out, text + at, size - at);
    matcher_walk_release(&walk);
    return found;
}
