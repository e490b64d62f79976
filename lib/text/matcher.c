#include "text/matcher.h"

#include <string.h>

#include "format/json.h"

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

/* Patterns that are characters in a row. */
static bool set_row(struct matcher *matcher, const char *pattern)
{
    static const struct {
        const char *pattern;
        bool (*is)(uint32_t character);
        size_t row;
    } known[] = {{"\\s+", is_space, ROW_ALL}, {"[0-9][0-9][0-9]", is_ascii_digit, 3}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(pattern, known[i].pattern) != 0)
            continue;
        matcher_set_kind(matcher, known[i].is);
        matcher->row = known[i].row;
        return true;
    }
    return false;
}

int matcher_set_pattern(struct matcher *matcher, const char *pattern, struct err *err)
{
    if (set_row(matcher, pattern))
        return 0;
    const struct splitter_pattern *known = splitter_find(pattern);
    matcher->pattern = known ? known->name : NULL;
    matcher->splitter = known ? known->kind : SPLITTER_NONE;
    return matcher->splitter ? 0 : regex_open(&matcher->regex, pattern, err);
}

int matcher_read(struct matcher *matcher, const struct json *pattern, struct arena *arena,
                 struct err *err)
{
    const char *text = NULL;
    *matcher = (struct matcher){0};
    if (json_get_text(json_member(pattern, "String"), &text)) {
        matcher->literal_size = strlen(text);
        matcher->literal = arena_text(arena, text, matcher->literal_size, err);
        return matcher->literal ? 0 : -1;
    }
    if (!json_get_text(json_member(pattern, "Regex"), &text))
        return err_set(err, "field 'pattern': expected {\"String\": …} or {\"Regex\": …}");
    return matcher_set_pattern(matcher, text, err);
}

void matcher_release(struct matcher *matcher)
{
    regex_free(matcher->regex);
    matcher->regex = NULL;
}

struct matcher_walk matcher_walk(const struct matcher *matcher, const char *text, size_t size,
                                 struct text_limits *limits)
{
    return (struct matcher_walk){
        .matcher = matcher,
        .splitter = splitter_of(matcher->splitter, text, size),
        .regex = {.regex = matcher->regex, .text = text, .size = size, .limits = limits},
    };
}

/* After the characters from `at` on that are such, or that are none, so many of them at most. */
static size_t pass_over(const struct matcher *matcher, const char *text, struct text_range range,
                        bool such, size_t most)
{
    uint32_t last = 0; /* of those of more than two bytes the one that was asked for */
    bool last_is = false;
    size_t at = range.start;
    for (size_t length; most && at < range.end; at += length, most--) {
        uint32_t c = (unsigned char)text[at];
        bool is = false;
        length = c < 0x80 ? 1 : 2;
        if (c < 0x80) {
            is = matcher->near[c];
        } else if (c < 0xE0) {
            is = matcher->near[(c & 0x1F) << 6 | ((unsigned char)text[at + 1] & 0x3F)];
        } else {
            length = utf8_decode(&c, text + at, range.end - at);
            last_is = c == last ? last_is : matcher->is(c);
            last = c;
            is = last_is;
        }
        if (is != such)
            break;
    }
    return at;
}

size_t matcher_find_kind(const struct matcher *matcher, const char *text, size_t size, size_t at)
{
    return pass_over(matcher, text, (struct text_range){at, size}, false, SIZE_MAX);
}

static int next_character(struct matcher_walk *walk, struct text_range *match)
{
    const struct matcher *matcher = walk->matcher;
    const struct splitter *text = &walk->splitter;
    for (;;) {
        size_t at = matcher_find_kind(matcher, text->text, text->size, walk->at);
        struct text_range rest = {at, text->size};
        walk->at = pass_over(matcher, text->text, rest, true, matcher->row);
        *match = (struct text_range){at, walk->at};
        if (at == text->size)
            return 0;
        if (matcher->row == 1 || matcher->row == ROW_ALL || walk->at - at == matcher->row)
            return 1; /* rows that are counted are of ASCII */
    }
}

static int next_literal(struct matcher_walk *walk, struct text_range *match)
{
    const struct splitter *text = &walk->splitter;
    size_t size = walk->matcher->literal_size;
    const char *at = text->text + walk->at;
    const char *literal = walk->matcher->literal;
    size_t left = text->size - walk->at;
    if (!size || !left)
        return 0;
    const char *found = *at == *literal ? at : memchr(at, *literal, left); /* most often none */
    if (found && size > 1) {
        left -= (size_t)(found - at);
        bool here = left >= size && memcmp(found, literal, size) == 0;
        found = here ? found : memmem(found, left, literal, size);
    }
    if (!found)
        return 0;
    match->start = (size_t)(found - text->text);
    match->end = walk->at = match->start + size;
    return 1;
}

static int next_piece(struct matcher_walk *walk, struct text_range *match)
{
    match->start = splitter_skip(&walk->splitter, walk->at);
    if (match->start == walk->splitter.size)
        return 0;
    match->end = walk->at = splitter_next(&walk->splitter, match->start);
    return 1;
}

int matcher_next(struct matcher_walk *walk, struct text_range *match, struct err *err)
{
    if (walk->matcher->splitter)
        return next_piece(walk, match);
    if (walk->matcher->is)
        return next_character(walk, match);
    if (walk->matcher->literal)
        return next_literal(walk, match);
    return regex_next(&walk->regex, match, err);
}

void matcher_walk_release(struct matcher_walk *walk)
{
    regex_walk_release(&walk->regex);
}
