#include "text/jinja.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "text/jinja_tree.h"

typedef struct jinja_node node;
typedef struct jinja_value value;

enum {
    DEPTH_MAX = 100,       /* of calls in each other */
    STEPS_MAX = 1000000,   /* expressions that are evaluated, and turns of loops */
    BYTES_MAX = 256 << 20, /* of values */
    ARGUMENTS_MAX = 16,    /* of a call */
};
#define NUMBER_MAX 1000000000000000LL

static const value undefined = {.kind = JINJA_UNDEFINED}, none = {.kind = JINJA_NONE};

value jinja_text(const char *bytes, size_t size)
{
    return (value){.kind = JINJA_TEXT, .size = size, .of.text = bytes};
}

value jinja_boolean(bool truth)
{
    return (value){.kind = JINJA_BOOLEAN, .integer = truth};
}

/* A whole number up to NUMBER_MAX, so that sums of a few do not overflow. */
static value integer(long long number)
{
    return (value){.kind = JINJA_INTEGER, .integer = number};
}

/* --- values ----------------------------------------------------------------------------------- */

struct scope {
    struct jinja_map names;
    struct scope *outer;
};

struct run {
    struct arena *arena;
    struct err *err;
    struct buf *out;
    struct scope *scope, *globals;
    size_t line, steps, depth, bytes_before;
    enum node_kind leaves; /* NODE_BREAK, NODE_CONTINUE: the loop; else nothing */
};

struct arguments {
    value items[ARGUMENTS_MAX];
    const char *names[ARGUMENTS_MAX]; /* NULL: by position */
    size_t count;
};

static value fail(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

static value fail(struct run *run, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    err_unsupported(run->err, "line %zu: %s", run->line, text);
    return undefined;
}

static bool is_true(value v)
{
    return v.kind == JINJA_BOOLEAN || v.kind == JINJA_INTEGER ? v.integer != 0
           : v.kind == JINJA_TEXT                             ? v.size > 0
           : v.kind == JINJA_LIST                             ? v.of.list->count > 0
           : v.kind == JINJA_MAP                              ? v.of.map->count > 0
                                                              : v.kind == JINJA_MACRO;
}

static bool is_number(value v)
{
    return v.kind == JINJA_BOOLEAN || v.kind == JINJA_INTEGER;
}

/* A list, or a tuple, of `count` items that are undefined so far. */
static value make_list(struct run *run, size_t count)
{
    struct jinja_list *list = arena_alloc(run->arena, 1, sizeof *list, run->err);
    if (list && count)
        list->items = arena_alloc(run->arena, count, sizeof *list->items, run->err);
    if (!list || (count && !list->items))
        return undefined;
    list->count = count;
    return (value){.kind = JINJA_LIST, .of.list = list};
}

static value make_map(struct run *run)
{
    struct jinja_map *map = arena_alloc(run->arena, 1, sizeof *map, run->err);
    return map ? (value){.kind = JINJA_MAP, .of.map = map} : undefined;
}

/* The value of a key, which need not end in a 0; NULL: the map does not have it. */
static value *map_find(const struct jinja_map *map, const char *key, size_t size)
{
    for (size_t i = 0; i < map->count; i++)
        if (strncmp(map->pairs[i].key, key, size) == 0 && !map->pairs[i].key[size])
            return &map->pairs[i].value;
    return NULL;
}

static void map_set(struct run *run, struct jinja_map *map, const char *key, value v)
{
    value *found = map_find(map, key, strlen(key));
    if (found) {
        *found = v;
        return;
    }
    struct jinja_pair *pairs =
        arena_grow(run->arena, map->pairs, map->count, sizeof *pairs, run->err);
    if (!pairs)
        return;
    map->pairs = pairs;
    pairs[map->count++] = (struct jinja_pair){key, v};
}

/* The text of a value, as it is printed. */
static value text_of(struct run *run, value v)
{
    static const char *const words[] = {
        [JINJA_UNDEFINED] = "", [JINJA_NONE] = "None", [JINJA_MACRO] = ""};
    if (v.kind == JINJA_TEXT)
        return v;
    if (v.kind == JINJA_LIST || v.kind == JINJA_MAP)
        return fail(run, "expected a text, found a list or a mapping");
    const char *text = v.kind == JINJA_BOOLEAN ? (v.integer ? "True" : "False")
                       : v.kind == JINJA_INTEGER
                           ? arena_format(run->arena, run->err, "%lld", v.integer)
                           : words[v.kind];
    return text ? jinja_text(text, strlen(text)) : undefined;
}

static value joined(struct run *run, value a, value b)
{
    a = text_of(run, a);
    b = text_of(run, b);
    char *text = run->err->kind ? NULL : arena_room(run->arena, a.size + b.size + 1, 1, run->err);
    if (!text)
        return undefined;
    memcpy(text, a.of.text, a.size);
    memcpy(text + a.size, b.of.text, b.size);
    text[a.size + b.size] = '\0';
    return jinja_text(text, a.size + b.size);
}

static bool is_equal(value a, value b)
{
    if (is_number(a) && is_number(b))
        return a.integer == b.integer;
    if (a.kind != b.kind)
        return false;
    if (a.kind == JINJA_TEXT)
        return a.size == b.size && memcmp(a.of.text, b.of.text, a.size) == 0;
    if (a.kind == JINJA_MAP) {
        bool same = a.of.map->count == b.of.map->count;
        for (size_t i = 0; same && i < a.of.map->count; i++) {
            const struct jinja_pair *pair = &a.of.map->pairs[i];
            const value *other = map_find(b.of.map, pair->key, strlen(pair->key));
            same = other && is_equal(pair->value, *other);
        }
        return same;
    }
    bool same = a.kind != JINJA_LIST || a.of.list->count == b.of.list->count;
    for (size_t i = 0; same && a.kind == JINJA_LIST && i < a.of.list->count; i++)
        same = is_equal(a.of.list->items[i], b.of.list->items[i]);
    return same;
}

/* The size of the character at `at`. */
static size_t character_size(const char *at, const char *end)
{
    size_t size = 1;
    while (at + size < end && utf8_continues(at[size]))
        size++;
    return size;
}

/* The items of a value: of a list; the keys of a map; the characters of a text. */
static value items_of(struct run *run, value v)
{
    if (v.kind == JINJA_LIST)
        return v;
    size_t count = v.kind == JINJA_MAP ? v.of.map->count : 0;
    for (size_t i = 0; v.kind == JINJA_TEXT && i < v.size; i++)
        count += !utf8_continues(v.of.text[i]);
    if (v.kind != JINJA_MAP && v.kind != JINJA_TEXT && v.kind != JINJA_UNDEFINED)
        return fail(run, "expected a list");
    value list = make_list(run, count);
    const char *at = v.kind == JINJA_TEXT ? v.of.text : NULL;
    for (size_t i = 0; i < count && list.kind; i++) {
        const char *key = at ? at : v.of.map->pairs[i].key;
        size_t size = at ? character_size(at, v.of.text + v.size) : strlen(key);
        list.of.list->items[i] = jinja_text(key, size);
        at = at ? at + size : NULL;
    }
    return list;
}

static const char *find_text(value in, value text)
{
    return text.size <= in.size ? memmem(in.of.text, in.size, text.of.text, text.size) : NULL;
}

static bool is_in(struct run *run, value item, value in)
{
    if (in.kind == JINJA_TEXT) {
        if (item.kind != JINJA_TEXT)
            fail(run, "expected a text before 'in'");
        return item.kind == JINJA_TEXT && find_text(in, item);
    }
    value items = items_of(run, in);
    for (size_t i = 0; items.kind && i < items.of.list->count; i++)
        if (is_equal(item, items.of.list->items[i]))
            return true;
    return false;
}

/* --- filters, tests, methods and functions ---------------------------------------------------- */

static value *find_name(const struct run *run, const char *name)
{
    value *found = NULL;
    for (struct scope *scope = run->scope; scope && !found; scope = scope->outer)
        found = map_find(&scope->names, name, strlen(name));
    return found;
}

/* The argument at a position or with a name; undefined: there is none. */
static value argument(const struct arguments *given, size_t index, const char *name)
{
    for (size_t i = 0; i < given->count; i++)
        if (given->names[i] ? name && strcmp(given->names[i], name) == 0 : i == index)
            return given->items[i];
    return undefined;
}

static bool is_stripped(const char *at, size_t size, value characters)
{
    uint32_t c = 0;
    if (characters.kind == JINJA_TEXT)
        return find_text(characters, jinja_text(at, size));
    return utf8_decode(&c, at, size) && unicode_kind(c) == UNICODE_SPACE;
}

/* The text without white space, or the characters of an argument, at its left (1) or right (2). */
static value strip(struct run *run, value self, const struct arguments *given, int sides)
{
    value text = text_of(run, self), characters = argument(given, 0, "chars");
    const char *first = text.of.text, *end = first + text.size;
    while (sides & 1 && first < end) {
        size_t size = character_size(first, end);
        if (!is_stripped(first, size, characters))
            break;
        first += size;
    }
    while (sides & 2 && end > first) {
        size_t before = utf8_before(first, (size_t)(end - first));
        if (!is_stripped(first + before, (size_t)(end - first) - before, characters))
            break;
        end = first + before;
    }
    return run->err->kind ? undefined : jinja_text(first, (size_t)(end - first));
}

enum { SMALL, CAPITALS, FIRST_CAPITAL, TITLE }; /* letters of ASCII; TITLE: of each word */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static value change_case(struct run *run, value self, const struct arguments *given, int to)
{
    value text = text_of(run, self);
    char *made = run->err->kind ? NULL : arena_text(run->arena, text.of.text, text.size, run->err);
    (void)given;
    for (size_t i = 0; made && i < text.size; i++) {
        bool begins_word = to == TITLE && i && !is_letter(made[i - 1]);
        bool up = to == CAPITALS || (to >= FIRST_CAPITAL && i == 0) || begins_word;
        if (made[i] >= (up ? 'a' : 'A') && made[i] <= (up ? 'z' : 'Z'))
            made[i] ^= 0x20;
    }
    return made ? jinja_text(made, text.size) : undefined;
}

static value length(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    value items = items_of(run, self);
    return items.kind ? integer((long long)items.of.list->count) : undefined;
}

static value or_default(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)run;
    bool falsy = is_true(argument(given, 1, "boolean"));
    value other = argument(given, 0, "default_value");
    if (self.kind != JINJA_UNDEFINED && (!falsy || is_true(self)))
        return self;
    return other.kind ? other : jinja_text("", 0);
}

/* The first item, or the last if `from_end`. */
static value end_item(struct run *run, value self, const struct arguments *given, int from_end)
{
    value items = items_of(run, self);
    size_t count = items.kind ? items.of.list->count : 0;
    (void)given;
    return count ? items.of.list->items[from_end ? count - 1 : 0] : undefined;
}

static value to_text(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    return text_of(run, self);
}

static value to_list(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    return items_of(run, self);
}

static value reversed(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    value items = items_of(run, self);
    size_t count = items.kind ? items.of.list->count : 0;
    value list = make_list(run, count);
    for (size_t i = 0; list.kind && i < count; i++)
        list.of.list->items[i] = items.of.list->items[count - 1 - i];
    return list;
}

static value join(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value items = items_of(run, self), between = argument(given, 0, "d"), all = jinja_text("", 0);
    for (size_t i = 0; items.kind && i < items.of.list->count && !run->err->kind; i++)
        all = joined(run, i ? joined(run, all, between) : all, items.of.list->items[i]);
    return all;
}

static value replace(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value text = text_of(run, self), from = text_of(run, argument(given, 0, "old")),
          to = text_of(run, argument(given, 1, "new"));
    struct buf out = {0};
    const char *at = text.of.text, *end = at + text.size, *found = NULL;
    if (run->err->kind || !from.size)
        return run->err->kind ? undefined : fail(run, "replace: expected a text to replace");
    for (; (found = find_text(jinja_text(at, (size_t)(end - at)), from)); at = found + from.size) {
        buf_bytes(&out, at, (size_t)(found - at));
        buf_bytes(&out, to.of.text, to.size);
    }
    buf_bytes(&out, at, (size_t)(end - at));
    size_t size = out.size;
    const char *kept = buf_keep(&out, run->arena, run->err);
    return kept ? jinja_text(kept, size) : undefined;
}

static value split(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value by = argument(given, 0, "sep");
    if (self.kind != JINJA_TEXT || by.kind != JINJA_TEXT || !by.size)
        return fail(run, "split: expected a text that separates");
    size_t count = 1;
    const char *end = self.of.text + self.size, *at = self.of.text, *found = NULL;
    while ((found = find_text(jinja_text(at, (size_t)(end - at)), by)))
        at = found + by.size, count++;
    value list = make_list(run, count);
    at = self.of.text;
    for (size_t i = 0; list.kind && i < count; i++) {
        found = find_text(jinja_text(at, (size_t)(end - at)), by);
        list.of.list->items[i] = jinja_text(at, (size_t)((found ? found : end) - at));
        at = found ? found + by.size : end;
    }
    return list;
}

static value begins(struct run *run, value self, const struct arguments *given, int at_end)
{
    value part = argument(given, 0, NULL);
    if (self.kind != JINJA_TEXT || part.kind != JINJA_TEXT)
        return fail(run, "expected two texts");
    size_t at = at_end && part.size < self.size ? self.size - part.size : 0;
    return jinja_boolean(part.size <= self.size &&
                         memcmp(self.of.text + at, part.of.text, part.size) == 0);
}

static value get(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value key = argument(given, 0, NULL), other = argument(given, 1, NULL);
    if (self.kind != JINJA_MAP || key.kind != JINJA_TEXT)
        return fail(run, "get: expected a mapping and a key");
    const value *found = map_find(self.of.map, key.of.text, key.size);
    return found ? *found : other.kind ? other : none;
}

/* Pairs of keys and values. */
static value pairs_of(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    if (self.kind != JINJA_MAP)
        return self.kind ? fail(run, "items: expected a mapping") : make_list(run, 0);
    value list = make_list(run, self.of.map->count);
    for (size_t i = 0; list.kind && i < self.of.map->count; i++) {
        const struct jinja_pair *from = &self.of.map->pairs[i];
        value pair = make_list(run, 2);
        if (!pair.kind)
            return pair;
        pair.of.list->items[0] = jinja_text(from->key, strlen(from->key));
        pair.of.list->items[1] = from->value;
        list.of.list->items[i] = pair;
    }
    return list;
}

static value call_test(struct run *run, const char *name, value self,
                       const struct arguments *given);

static value member(struct run *run, value of, value key);

/* The items whose attribute passes a test, or is true; without `passes` the others. */
static value select_by(struct run *run, value self, const struct arguments *given, int passes)
{
    value items = items_of(run, is_true(self) ? self : undefined), name = argument(given, 1, NULL);
    size_t count = items.kind ? items.of.list->count : 0, kept = 0;
    value list = make_list(run, count);
    const char *test = NULL;
    if (name.kind == JINJA_TEXT &&
        !(test = arena_text(run->arena, name.of.text, name.size, run->err)))
        return undefined;
    struct arguments rest = {.count = given->count > 2, .items = {argument(given, 2, NULL)}};
    for (size_t i = 0; list.kind && i < count && !run->err->kind; i++) {
        value of = member(run, items.of.list->items[i], argument(given, 0, NULL));
        if (test)
            of = call_test(run, test, of, &rest);
        if (is_true(of) == passes)
            list.of.list->items[kept++] = items.of.list->items[i];
    }
    value cut = make_list(run, kept);
    if (kept && list.kind && cut.kind)
        memcpy(cut.of.list->items, list.of.list->items, kept * sizeof cut);
    return cut;
}

static value map_attribute(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value items = items_of(run, self), name = argument(given, SIZE_MAX, "attribute");
    size_t count = items.kind ? items.of.list->count : 0;
    value list = make_list(run, count);
    if (!name.kind)
        return fail(run, "map: expected an attribute");
    for (size_t i = 0; list.kind && i < count; i++)
        list.of.list->items[i] = member(run, items.of.list->items[i], name);
    return list;
}

static value range(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)self;
    value a = argument(given, 0, NULL), b = argument(given, 1, NULL);
    long long first = given->count > 1 ? a.integer : 0,
              end = given->count > 1 ? b.integer : a.integer;
    if (!is_number(a) || given->count > 2 || end - first > STEPS_MAX)
        return fail(run, "range: expected one or two numbers, and a short range");
    value list = make_list(run, end > first ? (size_t)(end - first) : 0);
    for (size_t i = 0; list.kind && i < list.of.list->count; i++)
        list.of.list->items[i] = integer(first + (long long)i);
    return list;
}

static value namespace(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)self;
    value map = make_map(run);
    for (size_t i = 0; map.kind && i < given->count; i++)
        if (given->names[i])
            map_set(run, map.of.map, given->names[i], given->items[i]);
    return map;
}

/* The date, from the variable of this name: seconds since 1970. */
static value strftime_now(struct run *run, value self, const struct arguments *given, int variant)
{
    const value *now = find_name(run, "strftime_now");
    value format = text_of(run, argument(given, 0, NULL));
    time_t seconds = now ? (time_t)now->integer : 0;
    struct tm date = {0};
    char text[256];
    (void)self;
    (void)variant;
    if (!now || run->err->kind || !localtime_r(&seconds, &date))
        return fail(run, "a date that is not known");
    const char *kept = arena_text(run->arena, format.of.text, format.size, run->err);
    size_t size = kept ? strftime(text, sizeof text, kept, &date) : 0;
    kept = kept ? arena_text(run->arena, text, size, run->err) : NULL;
    return kept ? jinja_text(kept, size) : undefined;
}

static value raise_exception(struct run *run, value self, const struct arguments *given,
                             int variant)
{
    (void)variant;
    (void)self;
    value text = text_of(run, argument(given, 0, NULL));
    if (!run->err->kind)
        err_set(run->err, "the template refuses it: %.*s", (int)text.size, text.of.text);
    return undefined;
}

static value equals(struct run *run, value self, const struct arguments *given, int expected)
{
    (void)run;
    return jinja_boolean(is_equal(self, argument(given, 0, NULL)) == expected);
}

static value is_one_of(struct run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    return jinja_boolean(is_in(run, self, argument(given, 0, NULL)));
}

static value divides(struct run *run, value self, const struct arguments *given, int expected)
{
    value by = given->count ? argument(given, 0, NULL) : integer(2);
    if (!is_number(self) || !is_number(by) || !by.integer)
        return fail(run, "expected numbers");
    return jinja_boolean((self.integer % by.integer == 0) == expected);
}

enum use { FILTER = 1, METHOD = 2, FUNCTION = 4, TEST = 8 };

static const struct function {
    const char *name;
    unsigned uses;
    value (*call)(struct run *run, value self, const struct arguments *given, int variant);
    int variant;
} functions[] = {
    {"trim", FILTER, strip, 3},
    {"strip", METHOD, strip, 3},
    {"lstrip", METHOD, strip, 1},
    {"rstrip", METHOD, strip, 2},
    {"upper", FILTER | METHOD, change_case, CAPITALS},
    {"lower", FILTER | METHOD, change_case, SMALL},
    {"capitalize", FILTER | METHOD, change_case, FIRST_CAPITAL},
    {"title", FILTER | METHOD, change_case, TITLE},
    {"length", FILTER, length},
    {"count", FILTER, length},
    {"default", FILTER, or_default},
    {"d", FILTER, or_default},
    {"first", FILTER, end_item, false},
    {"last", FILTER, end_item, true},
    {"string", FILTER, to_text},
    {"safe", FILTER, to_text},
    {"list", FILTER, to_list},
    {"keys", METHOD, to_list},
    {"reverse", FILTER, reversed},
    {"join", FILTER, join},
    {"replace", FILTER | METHOD, replace},
    {"split", METHOD, split},
    {"startswith", METHOD, begins, false},
    {"endswith", METHOD, begins, true},
    {"get", METHOD, get},
    {"items", FILTER | METHOD, pairs_of},
    {"selectattr", FILTER, select_by, true},
    {"rejectattr", FILTER, select_by, false},
    {"map", FILTER, map_attribute},
    {"range", FUNCTION, range},
    {"namespace", FUNCTION, namespace},
    {"dict", FUNCTION, namespace},
    {"raise_exception", FUNCTION, raise_exception},
    {"strftime_now", FUNCTION, strftime_now},
    {"equalto", TEST, equals, true},
    {"eq", TEST, equals, true},
    {"ne", TEST, equals, false},
    {"in", TEST, is_one_of},
    {"divisibleby", TEST, divides, true},
    {"even", TEST, divides, true},
    {"odd", TEST, divides, false},
};

/* Tests of the kind of a value: bits 1 << kind. */
static const struct kind_test {
    const char *name;
    unsigned kinds;
} kind_tests[] = {
    {"defined", ~(1u << JINJA_UNDEFINED)},
    {"undefined", 1u << JINJA_UNDEFINED},
    {"none", 1u << JINJA_NONE},
    {"string", 1u << JINJA_TEXT},
    {"mapping", 1u << JINJA_MAP},
    {"sequence", 1u << JINJA_TEXT | 1u << JINJA_LIST | 1u << JINJA_MAP},
    {"iterable", 1u << JINJA_TEXT | 1u << JINJA_LIST | 1u << JINJA_MAP | 1u << JINJA_UNDEFINED},
    {"number", 1u << JINJA_INTEGER | 1u << JINJA_BOOLEAN},
    {"integer", 1u << JINJA_INTEGER},
    {"boolean", 1u << JINJA_BOOLEAN},
    {"callable", 1u << JINJA_MACRO},
};

static value call(struct run *run, enum use use, const char *name, value self,
                  const struct arguments *given)
{
    static const char *const kinds[] = {
        [FILTER] = "filter", [METHOD] = "method", [FUNCTION] = "function", [TEST] = "test"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].uses & use && strcmp(functions[i].name, name) == 0)
            return functions[i].call(run, self, given, functions[i].variant);
    return fail(run, "expected a %s that is known, found '%s'", kinds[use], name);
}

static value call_test(struct run *run, const char *name, value self, const struct arguments *given)
{
    for (size_t i = 0; i < sizeof kind_tests / sizeof *kind_tests; i++)
        if (strcmp(kind_tests[i].name, name) == 0)
            return jinja_boolean(kind_tests[i].kinds >> self.kind & 1);
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
        return jinja_boolean(self.kind == JINJA_BOOLEAN && self.integer == (*name == 't'));
    return call(run, TEST, name, self, given);
}

/* --- expressions ------------------------------------------------------------------------------ */

static value evaluate(struct run *run, const node *n);
static void execute(struct run *run, const node *first);

/* An item of a list or a text by its number, or of a mapping by its key; undefined: it has none. */
static value member(struct run *run, value of, value key)
{
    if (of.kind == JINJA_UNDEFINED)
        return fail(run, "expected a value before '%.*s', found undefined",
                    key.kind == JINJA_TEXT ? (int)key.size : 0,
                    key.kind == JINJA_TEXT ? key.of.text : "");
    if (of.kind == JINJA_MAP && key.kind == JINJA_TEXT) {
        const value *found = map_find(of.of.map, key.of.text, key.size);
        return found ? *found : undefined;
    }
    if ((of.kind != JINJA_LIST && of.kind != JINJA_TEXT) || !is_number(key))
        return undefined;
    value items = items_of(run, of);
    long long count = items.kind ? (long long)items.of.list->count : 0;
    long long at = key.integer < 0 ? key.integer + count : key.integer;
    return at >= 0 && at < count ? items.of.list->items[at] : undefined;
}

/* A bound of a slice as Python takes it, within [least, most]. */
static long long bound(value v, long long count, long long other, long long least, long long most)
{
    long long at = !is_number(v) ? other : v.integer < 0 ? v.integer + count : v.integer;
    return at < least ? least : at > most ? most : at;
}

static value slice(struct run *run, const node *n)
{
    value of = evaluate(run, n->a);
    value first = n->b ? evaluate(run, n->b) : none, end = n->c ? evaluate(run, n->c) : none;
    value by = n->d ? evaluate(run, n->d) : integer(1), items = items_of(run, of);
    if (!items.kind || !is_number(by) || !by.integer)
        return run->err->kind ? undefined : fail(run, "a slice: expected numbers");
    long long count = (long long)items.of.list->count, step = by.integer;
    bool back = step < 0;
    long long at =
        bound(first, count, back ? count - 1 : 0, back ? -1 : 0, back ? count - 1 : count);
    long long last = is_number(end) ? bound(end, count, 0, back ? -1 : 0, count)
                     : back         ? -1
                                    : count;
    long long most = back ? (at - last - step - 1) / -step : (last - at + step - 1) / step;
    value list = make_list(run, most > 0 ? (size_t)most : 0);
    for (size_t i = 0; list.kind && i < list.of.list->count; i++)
        list.of.list->items[i] = items.of.list->items[at + (long long)i * step];
    return of.kind == JINJA_TEXT ? join(run, list, &(struct arguments){0}, 0) : list;
}

static bool evaluate_arguments(struct run *run, struct arguments *given, const node *first)
{
    *given = (struct arguments){0};
    for (const node *n = first; n && !run->err->kind; n = n->next) {
        if (given->count == ARGUMENTS_MAX)
            fail(run, "expected at most %d arguments", ARGUMENTS_MAX);
        else {
            bool named = n->kind == NODE_ARGUMENT;
            given->names[given->count] = named ? n->name : NULL;
            given->items[given->count++] = evaluate(run, named ? n->a : n);
        }
    }
    return !run->err->kind;
}

/* Run statements in a scope of their own; their output as a text. */
static value capture(struct run *run, const node *body)
{
    struct buf out = {0}, *outer = run->out;
    run->out = &out;
    execute(run, body);
    run->out = outer;
    size_t size = out.size;
    const char *kept = run->err->kind ? NULL : buf_keep(&out, run->arena, run->err);
    buf_release(&out);
    return kept ? jinja_text(kept, size) : undefined;
}

static value call_macro(struct run *run, const node *macro, const struct arguments *given)
{
    struct scope own = {.outer = run->globals}, *outer = run->scope;
    size_t index = 0;
    if (++run->depth > DEPTH_MAX)
        return fail(run, "expected fewer calls in each other");
    run->scope = &own;
    for (const node *name = macro->a; name && !run->err->kind; name = name->next, index++) {
        value v = argument(given, index, name->name);
        map_set(run, &own.names, name->name, v.kind || !name->b ? v : evaluate(run, name->b));
    }
    value text = capture(run, macro->body);
    run->scope = outer;
    run->depth--;
    return text;
}

static value evaluate_call(struct run *run, const node *n)
{
    struct arguments given;
    value self = n->a->kind == NODE_MEMBER ? evaluate(run, n->a->a) : undefined;
    if (!evaluate_arguments(run, &given, n->b))
        return undefined;
    if (n->a->kind == NODE_MEMBER && self.kind != JINJA_TEXT && self.kind != JINJA_MAP)
        return fail(run, "expected a text or a mapping before '.%s'", n->a->name);
    if (n->a->kind == NODE_MEMBER)
        return call(run, METHOD, n->a->name, self, &given);
    const value *found = n->a->kind == NODE_NAME ? find_name(run, n->a->name) : NULL;
    if (found && found->kind == JINJA_MACRO)
        return call_macro(run, found->of.macro, &given);
    return n->a->kind == NODE_NAME ? call(run, FUNCTION, n->a->name, undefined, &given)
                                   : fail(run, "expected a function");
}

/* -1, 0 or 1: the order of numbers or texts. */
static int order(struct run *run, value a, value b)
{
    if (is_number(a) && is_number(b))
        return (a.integer > b.integer) - (a.integer < b.integer);
    if (a.kind != JINJA_TEXT || b.kind != JINJA_TEXT)
        return fail(run, "expected two numbers or two texts to compare").kind;
    int first = memcmp(a.of.text, b.of.text, a.size < b.size ? a.size : b.size);
    return first ? first : (a.size > b.size) - (a.size < b.size);
}

static value concatenated(struct run *run, value a, value b)
{
    size_t count = a.of.list->count, more = b.of.list->count;
    value list = make_list(run, count + more);
    for (size_t i = 0; list.kind && i < count + more; i++)
        list.of.list->items[i] = i < count ? a.of.list->items[i] : b.of.list->items[i - count];
    return list;
}

static value sum_or_product(struct run *run, value a, value b, enum binary binary)
{
    long long number = a.integer + (binary == MINUS ? -b.integer : b.integer);
    bool is_large = binary == TIMES && __builtin_mul_overflow(a.integer, b.integer, &number);
    return is_large || number > NUMBER_MAX || number < -NUMBER_MAX
               ? fail(run, "expected a number up to %lld", NUMBER_MAX)
               : integer(number);
}

/* a // b and a % b, rounded down. */
static value divided(struct run *run, value a, value b, bool remainder)
{
    if (!b.integer || b.integer == -1)
        return fail(run, "expected another divisor than 0 or -1");
    long long quotient = a.integer / b.integer, rest = a.integer % b.integer;
    bool down = rest && (rest < 0) != (b.integer < 0);
    return integer(remainder ? rest + (down ? b.integer : 0) : quotient - down);
}

static value evaluate_binary(struct run *run, const node *n)
{
    value a = evaluate(run, n->a), b = evaluate(run, n->b);
    bool numbers = is_number(a) && is_number(b);
    if (run->err->kind)
        return undefined;
    switch (n->binary) {
    case EQUAL:
    case UNEQUAL:
        return jinja_boolean(is_equal(a, b) == (n->binary == EQUAL));
    case IN:
    case NOT_IN:
        return jinja_boolean(is_in(run, a, b) == (n->binary == IN));
    case LESS:
        return jinja_boolean(order(run, a, b) < 0);
    case MOST:
        return jinja_boolean(order(run, a, b) <= 0);
    case MORE:
        return jinja_boolean(order(run, a, b) > 0);
    case LEAST:
        return jinja_boolean(order(run, a, b) >= 0);
    case JOINED:
        return joined(run, a, b);
    case PLUS:
        if (a.kind == JINJA_TEXT && b.kind == JINJA_TEXT)
            return joined(run, a, b);
        if (a.kind == JINJA_LIST && b.kind == JINJA_LIST)
            return concatenated(run, a, b);
        /* fall through */
    case MINUS:
    case TIMES:
        if (numbers)
            return sum_or_product(run, a, b, n->binary);
        break;
    case QUOTIENT:
    case REMAINDER:
        if (numbers)
            return divided(run, a, b, n->binary == REMAINDER);
    }
    return fail(run, "expected two numbers, or two texts or lists to add");
}

static value evaluate_list(struct run *run, const node *n)
{
    size_t count = 0;
    for (const node *item = n->a; item; item = item->next)
        count++;
    value list = make_list(run, count);
    count = 0;
    for (const node *item = n->a; item && list.kind; item = item->next)
        list.of.list->items[count++] = evaluate(run, item);
    return list;
}

static value evaluate_map(struct run *run, const node *n)
{
    value map = make_map(run);
    for (const node *pair = n->a; pair && map.kind; pair = pair->next) {
        value key = text_of(run, evaluate(run, pair->a)), v = evaluate(run, pair->b);
        const char *name =
            run->err->kind ? NULL : arena_text(run->arena, key.of.text, key.size, run->err);
        if (!name)
            return undefined;
        map_set(run, map.of.map, name, v);
    }
    return map;
}

static void count_step(struct run *run)
{
    if (++run->steps > STEPS_MAX || run->arena->taken_bytes > run->bytes_before + BYTES_MAX)
        fail(run, "expected a template that needs less work");
}

static value evaluate(struct run *run, const node *n)
{
    struct arguments given;
    value v = undefined;
    run->line = n->line;
    count_step(run);
    if (run->err->kind)
        return undefined;
    switch (n->kind) {
    case NODE_VALUE:
        return n->value;
    case NODE_NAME: {
        const value *found = find_name(run, n->name);
        return found ? *found : undefined;
    }
    case NODE_LIST:
        return evaluate_list(run, n);
    case NODE_MAP:
        return evaluate_map(run, n);
    case NODE_MEMBER:
        return member(run, evaluate(run, n->a), jinja_text(n->name, strlen(n->name)));
    case NODE_ITEM:
        v = evaluate(run, n->a);
        return member(run, v, evaluate(run, n->b));
    case NODE_SLICE:
        return slice(run, n);
    case NODE_CALL:
        return evaluate_call(run, n);
    case NODE_FILTER:
    case NODE_TEST:
        v = evaluate(run, n->a);
        if (!evaluate_arguments(run, &given, n->b))
            return undefined;
        return n->kind == NODE_TEST ? call_test(run, n->name, v, &given)
                                    : call(run, FILTER, n->name, v, &given);
    case NODE_NOT:
        return jinja_boolean(!is_true(evaluate(run, n->a)));
    case NODE_MINUS:
        v = evaluate(run, n->a);
        return is_number(v) ? integer(-v.integer) : fail(run, "expected a number after '-'");
    case NODE_AND:
        v = evaluate(run, n->a);
        return is_true(v) ? evaluate(run, n->b) : v;
    case NODE_OR:
        v = evaluate(run, n->a);
        return is_true(v) ? v : evaluate(run, n->b);
    case NODE_CHOOSE:
        return is_true(evaluate(run, n->a)) ? evaluate(run, n->b)
               : n->c                       ? evaluate(run, n->c)
                                            : undefined;
    case NODE_BINARY:
        return evaluate_binary(run, n);
    default:
        return fail(run, "expected a value");
    }
}

/* --- statements ------------------------------------------------------------------------------- */

static void assign(struct run *run, const node *target, value v)
{
    if (target->kind == NODE_MEMBER) {
        value of = evaluate(run, target->a);
        if (of.kind == JINJA_MAP)
            map_set(run, of.of.map, target->name, v);
        else
            fail(run, "expected a namespace before '.%s'", target->name);
    } else if (target->kind != NODE_NAME)
        fail(run, "expected a name before '='");
    else if (!target->next)
        map_set(run, &run->scope->names, target->name, v);
    else {
        value items = items_of(run, v);
        size_t i = 0;
        for (; target && items.kind && i < items.of.list->count; target = target->next)
            map_set(run, &run->scope->names, target->name, items.of.list->items[i++]);
        if (items.kind && (target || i < items.of.list->count))
            fail(run, "expected as many values as names");
    }
}

/* What a template can ask of the loop it is in. */
static void set_loop(struct run *run, const struct jinja_list *list, size_t index)
{
    const struct jinja_pair members[] = {
        {"index", integer((long long)index + 1)},
        {"index0", integer((long long)index)},
        {"revindex", integer((long long)(list->count - index))},
        {"revindex0", integer((long long)(list->count - index) - 1)},
        {"first", jinja_boolean(index == 0)},
        {"last", jinja_boolean(index + 1 == list->count)},
        {"length", integer((long long)list->count)},
        {"previtem", index ? list->items[index - 1] : undefined},
        {"nextitem", index + 1 < list->count ? list->items[index + 1] : undefined},
    };
    value loop = make_map(run);
    for (size_t i = 0; loop.kind && i < sizeof members / sizeof *members; i++)
        map_set(run, loop.of.map, members[i].key, members[i].value);
    map_set(run, &run->scope->names, "loop", loop);
}

static void execute_for(struct run *run, const node *n)
{
    value items = items_of(run, evaluate(run, n->b));
    struct scope *outer = run->scope, own = {.outer = outer};
    size_t kept = 0;
    value list = items.kind ? make_list(run, items.of.list->count) : undefined;
    run->scope = &own;
    for (size_t i = 0; list.kind && i < items.of.list->count && !run->err->kind; i++) {
        if (n->c)
            assign(run, n->a, items.of.list->items[i]);
        if (!n->c || is_true(evaluate(run, n->c)))
            list.of.list->items[kept++] = items.of.list->items[i];
    }
    const struct jinja_list chosen = {list.kind ? list.of.list->items : NULL, kept};
    for (size_t i = 0; i < kept && !run->err->kind && run->leaves != NODE_BREAK; i++) {
        count_step(run);
        own.names.count = 0; /* what one turn sets, the next does not see */
        assign(run, n->a, chosen.items[i]);
        set_loop(run, &chosen, i);
        run->leaves = NODE_OUTPUT;
        execute(run, n->body);
    }
    run->leaves = NODE_OUTPUT;
    run->scope = outer;
    if (!kept)
        execute(run, n->otherwise);
}

static void execute(struct run *run, const node *n)
{
    for (; n && !run->err->kind && run->leaves == NODE_OUTPUT; n = n->next) {
        value v = undefined;
        run->line = n->line;
        switch (n->kind) {
        case NODE_OUTPUT:
            v = text_of(run, evaluate(run, n->a));
            if (!run->err->kind)
                buf_bytes(run->out, v.of.text, v.size);
            break;
        case NODE_SET:
            v = evaluate(run, n->b);
            assign(run, n->a, v);
            break;
        case NODE_CAPTURE:
            assign(run, n->a, capture(run, n->body));
            break;
        case NODE_IF:
            v = evaluate(run, n->a);
            execute(run, is_true(v) ? n->body : n->otherwise);
            break;
        case NODE_FOR:
            execute_for(run, n);
            break;
        case NODE_MACRO:
            map_set(run, &run->scope->names, n->name, (value){.kind = JINJA_MACRO, .of.macro = n});
            break;
        default:
            run->leaves = n->kind; /* break and continue */
        }
    }
}

int jinja_render(struct buf *out, const struct jinja *template, const struct jinja_map *variables,
                 struct arena *arena, struct err *err)
{
    struct scope globals = {0};
    struct run run = {
        .arena = arena, .err = err, .out = out, .scope = &globals, .globals = &globals};
    run.leaves = NODE_OUTPUT;
    run.bytes_before = arena->taken_bytes;
    for (size_t i = 0; i < variables->count; i++)
        map_set(&run, &globals.names, variables->pairs[i].key, variables->pairs[i].value);
    execute(&run, template->body);
    return err_if(err->kind || buf_check(out, err));
}
