#include "train/grammar.h"

#include <string.h>

#include "base/utf8.h"

struct name {
    const char *text;
    size_t size;
};

/* The walk through a rule's alternatives: its lines in one text, every blank a plain one. */
struct reader {
    struct grammar *grammar;
    const struct grammar_rule *rule;
    const char *at, *end;
    struct name *names; /* [GRAMMAR_NAMES_MAX] of what is remembered */
    struct map *tags;   /* of all alternatives, to their numbers */
    struct err *err;
};

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t name_size(const char *at, const char *end)
{
    size_t size = 0;
    while (at + size < end && is_name(at[size]))
        size++;
    return size;
}

static const char *next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline + 1 : end;
}

static bool begins_rule(const char *line, const char *end)
{
    return line < end && !is_blank(*line) && *line != '#';
}

size_t grammar_find(const struct grammar *grammar, const char *name, size_t size)
{
    uint32_t rule = 0;
    return map_get(&grammar->numbers, name, size, &rule) ? rule : GRAMMAR_NONE;
}

static int fail(const struct reader *r, const char *expected)
{
    int rest = (int)(r->end - r->at);
    int shown = rest < 12 ? rest : 12;
    if (!rest)
        return err_set(r->err, "line %zu: rule '%.*s': expected %s, found the end", r->rule->line,
                       (int)r->rule->size, r->rule->name, expected);
    return err_set(r->err, "line %zu: rule '%.*s': expected %s, found '%.*s'", r->rule->line,
                   (int)r->rule->size, r->rule->name, expected, shown, r->at);
}

/* --- what stands between < and > ------------------------------------------------------------- */

/* The number of what is remembered under the name that comes. */
static int read_name(struct reader *r, size_t *number)
{
    size_t size = name_size(r->at, r->end);
    size_t *count = &r->grammar->name_count;
    if (!size)
        return fail(r, "a name");
    for (*number = 0; *number < *count; ++*number)
        if (r->names[*number].size == size && memcmp(r->names[*number].text, r->at, size) == 0)
            break;
    if (*number == GRAMMAR_NAMES_MAX)
        return fail(r, "no more names");
    if (*number == *count)
        r->names[(*count)++] = (struct name){r->at, size};
    r->at += size;
    return 0;
}

static char next_char(const struct reader *r)
{
    return r->at < r->end ? *r->at : '\0';
}

/* rule, name:rule or name; after a rule /name or !name. */
static int read_reference(struct reader *r, struct grammar_part *part)
{
    size_t size = name_size(r->at, r->end);
    bool remembers = r->at + size < r->end && r->at[size] == ':';
    bool repeats = !remembers && grammar_find(r->grammar, r->at, size) == GRAMMAR_NONE;
    if ((remembers || repeats) && read_name(r, &part->name))
        return -1;
    r->at += remembers;
    if (!repeats) {
        size = name_size(r->at, r->end);
        part->rule = grammar_find(r->grammar, r->at, size);
        if (part->rule == GRAMMAR_NONE)
            return fail(r, "the name of a rule");
        r->at += size;
    }
    if (!repeats && (next_char(r) == '/' || next_char(r) == '!')) {
        part->other = *r->at++ == '!';
        if (read_name(r, &part->like))
            return -1;
    }
    if (next_char(r) != '>')
        return fail(r, "'>'");
    r->at++;
    return 0;
}

/* --- alternatives ---------------------------------------------------------------------------- */

static const struct grammar_part no_part = {NULL,         0,    GRAMMAR_NONE, GRAMMAR_NONE,
                                            GRAMMAR_NONE, false};

/* Where the alternative that begins here ends: at a | or the end; and the parts it has at most. */
static const char *end_of_choice(const char *at, const char *end, size_t *parts)
{
    for (*parts = 1; at < end && *at != '|'; at++) {
        *parts += *at == '<' ? 2 : 0;
        at += *at == '\\' && at + 1 < end;
    }
    return at;
}

static int read_weight(struct reader *r, uint64_t *weight)
{
    *weight = 1;
    if (next_char(r) != '*')
        return 0;
    r->at++;
    for (*weight = 0; next_char(r) >= '0' && next_char(r) <= '9'; r->at++)
        if (*weight <= GRAMMAR_WEIGHT_MAX)
            *weight = *weight * 10 + (uint64_t)(*r->at - '0');
    if (*weight < 1 || *weight > GRAMMAR_WEIGHT_MAX || (r->at < r->end && *r->at != ' '))
        return fail(r, "a weight from 1 to 1000000 after '*'");
    return 0;
}

/* Take a tag off the end of the alternative, or make its text its tag. */
static int read_tag(struct reader *r, struct grammar_choice *choice, const char **end)
{
    struct name tag = {r->at, (size_t)(*end - r->at)};
    const char *at = *end;
    while (at > r->at && is_name(at[-1]))
        at--;
    bool tagged = at < *end && at > r->at && at[-1] == '#' && (at - 1 == r->at || at[-2] == ' ');
    if (tagged) {
        tag = (struct name){at - 1, (size_t)(*end - at) + 1};
        *end = at - 1;
    }
    uint32_t number = (uint32_t)r->tags->count;
    bool known = map_get(r->tags, tag.text, tag.size, &number);
    choice->tag = number;
    return known ? 0 : map_put(r->tags, tag.text, tag.size, number, r->err);
}

static void trim(const char **from, const char **end)
{
    while (*from < *end && **from == ' ')
        ++*from;
    while (*end > *from && (*end)[-1] == ' ')
        --*end;
}

/* Plain text up to the next reference, escapes resolved, into `to`. */
static void read_plain(struct reader *r, struct grammar_part *part, char *to)
{
    *part = no_part;
    part->text = to;
    for (; r->at < r->end && *r->at != '<'; r->at++) {
        r->at += *r->at == '\\' && r->at + 1 < r->end;
        to[part->size++] = *r->at;
    }
}

static int read_parts(struct reader *r, struct grammar_choice *choice)
{
    char *text = arena_alloc(&r->grammar->arena, (size_t)(r->end - r->at) + 1, 1, r->err);
    if (!text)
        return -1;
    while (r->at < r->end) {
        struct grammar_part *part = &choice->parts[choice->part_count++];
        *part = no_part;
        if (*r->at == '<') {
            r->at++;
            if (read_reference(r, part))
                return -1;
        } else {
            read_plain(r, part, text);
            text += part->size;
        }
    }
    return 0;
}

static int read_choice(struct reader *r, struct grammar_choice *choice)
{
    struct reader inner = *r;
    size_t parts = 0;
    const char *end = end_of_choice(r->at, r->end, &parts);
    r->at = end < r->end ? end + 1 : end;
    inner.end = end;
    trim(&inner.at, &inner.end);
    choice->parts = arena_alloc(&r->grammar->arena, parts, sizeof *choice->parts, r->err);
    if (!choice->parts || read_weight(&inner, &choice->weight))
        return -1;
    trim(&inner.at, &inner.end);
    if (read_tag(&inner, choice, &inner.end))
        return -1;
    trim(&inner.at, &inner.end);
    return read_parts(&inner, choice);
}

/* --- rules ----------------------------------------------------------------------------------- */

/* The lines of a rule as one text, blanks made one, comments left out. */
static char *join_lines(const char *at, const char *end, size_t *size, struct arena *arena,
                        struct err *err)
{
    const char *stop = next_line(at, end);
    while (stop < end && !begins_rule(stop, end))
        stop = next_line(stop, end);
    char *text = arena_alloc(arena, (size_t)(stop - at) + 1, 1, err);
    for (*size = 0; text && at < stop; at++) {
        if (*at == '#' && at[-1] == '\n')
            at = next_line(at, stop) - 1;
        else if (!is_blank(*at))
            text[(*size)++] = *at;
        else if (*size && text[*size - 1] != ' ')
            text[(*size)++] = ' ';
    }
    return text;
}

static int name_rule(struct grammar *g, const char *line, const char *end, size_t number,
                     struct err *err)
{
    size_t size = name_size(line, end);
    const char *at = line + size;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    if (!size || at == end || *at != '=')
        return err_set(err, "line %zu: expected a rule, 'name = …', or a comment", number);
    if (grammar_find(g, line, size) != GRAMMAR_NONE)
        return err_set(err, "line %zu: rule '%.*s' is there already", number, (int)size, line);
    if (map_put(&g->numbers, line, size, (uint32_t)g->rule_count, err))
        return -1;
    struct grammar_rule *rule = &g->rules[g->rule_count++];
    *rule = (struct grammar_rule){.name = line, .size = size, .line = number};
    rule->body = join_lines(at + 1, end, &rule->body_size, &g->arena, err);
    if (!rule->body)
        return -1;
    const char *stop = rule->body + rule->body_size;
    size_t parts = 0;
    rule->choice_count = 1;
    for (const char *bar = rule->body; (bar = end_of_choice(bar, stop, &parts)) < stop; bar++)
        rule->choice_count++;
    return 0;
}

static int name_rules(struct grammar *g, const char *text, const char *end, struct err *err)
{
    size_t number = 1;
    size_t count = 0;
    for (const char *line = text; line < end; line = next_line(line, end))
        count += begins_rule(line, end);
    if (!count)
        return err_set(err, "expected a rule, found none");
    g->rules = arena_alloc(&g->arena, count, sizeof *g->rules, err);
    if (!g->rules)
        return -1;
    for (const char *line = text; line < end; line = next_line(line, end), number++)
        if (begins_rule(line, end) && name_rule(g, line, end, number, err))
            return -1;
    return 0;
}

static int read_rules(struct reader *r)
{
    struct grammar *g = r->grammar;
    for (size_t i = 0; i < g->rule_count; i++) {
        struct grammar_rule *rule = &g->rules[i];
        rule->choices = arena_alloc(&g->arena, rule->choice_count, sizeof *rule->choices, r->err);
        if (!rule->choices)
            return -1;
        r->rule = rule;
        r->at = rule->body;
        r->end = rule->body + rule->body_size;
        for (size_t c = 0; c < rule->choice_count; c++)
            if (read_choice(r, &rule->choices[c]))
                return -1;
        if (grammar_draw_prepare(rule, &g->arena, r->err))
            return -1;
    }
    return 0;
}

int grammar_read(struct grammar *grammar, const char *text, size_t size, struct err *err)
{
    size_t invalid = utf8_invalid_at(text, size);
    struct map tags = {0};
    struct reader reader = {.grammar = grammar, .tags = &tags, .err = err};
    *grammar = (struct grammar){0};
    if (invalid < size)
        return err_set(err, "expected a text in UTF-8, found the byte 0x%02x at byte %zu",
                       (unsigned char)text[invalid], invalid);
    const char *copy = arena_text(&grammar->arena, text, size, err);
    reader.names = arena_alloc(&grammar->arena, GRAMMAR_NAMES_MAX, sizeof *reader.names, err);
    int failed = !copy || !reader.names || name_rules(grammar, copy, copy + size, err) ||
                 read_rules(&reader);
    map_release(&tags);
    if (failed)
        grammar_release(grammar);
    return failed ? -1 : 0;
}

void grammar_release(struct grammar *grammar)
{
    map_release(&grammar->numbers);
    arena_release(&grammar->arena);
    *grammar = (struct grammar){0};
}
