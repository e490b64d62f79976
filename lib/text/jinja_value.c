#include "text/jinja_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"

typedef struct jinja_value value;

static const value undefined = {.kind = JINJA_UNDEFINED};

value jinja_text(const char *bytes, size_t size)
{
    return (value){.kind = JINJA_TEXT, .size = size, .of.text = bytes};
}

value jinja_boolean(bool truth)
{
    return (value){.kind = JINJA_BOOLEAN, .integer = truth};
}

value jinja_integer(long long number)
{
    return (value){.kind = JINJA_INTEGER, .integer = number};
}

value jinja_fail(struct jinja_run *run, const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    err_unsupported(run->err, "line %zu: %s", run->line, text);
    return undefined;
}

bool jinja_is_true(value v)
{
    return v.kind == JINJA_BOOLEAN || v.kind == JINJA_INTEGER ? v.integer != 0
           : v.kind == JINJA_TEXT                             ? v.size > 0
           : v.kind == JINJA_LIST                             ? v.of.list->count > 0
           : v.kind == JINJA_MAP                              ? v.of.map->count > 0
                                                              : v.kind == JINJA_MACRO;
}

bool jinja_is_number(value v)
{
    return v.kind == JINJA_BOOLEAN || v.kind == JINJA_INTEGER;
}

/* A list, or a tuple, of `count` items that are undefined so far. */
value jinja_make_list(struct jinja_run *run, size_t count)
{
    struct jinja_list *list = arena_alloc(run->arena, 1, sizeof *list, run->err);
    if (list && count)
        list->items = arena_alloc(run->arena, count, sizeof *list->items, run->err);
    if (!list || (count && !list->items))
        return undefined;
    list->count = count;
    return (value){.kind = JINJA_LIST, .of.list = list};
}

value jinja_make_map(struct jinja_run *run)
{
    struct jinja_map *map = arena_alloc(run->arena, 1, sizeof *map, run->err);
    return map ? (value){.kind = JINJA_MAP, .of.map = map} : undefined;
}

/* The value of a key, which need not end in a 0; NULL: the map does not have it. */
value *jinja_map_find(const struct jinja_map *map, const char *key, size_t size)
{
    for (size_t i = 0; i < map->count; i++)
        if (strncmp(map->pairs[i].key, key, size) == 0 && !map->pairs[i].key[size])
            return &map->pairs[i].value;
    return NULL;
}

void jinja_map_set(struct jinja_run *run, struct jinja_map *map, const char *key, value v)
{
    value *found = jinja_map_find(map, key, strlen(key));
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
value jinja_text_of(struct jinja_run *run, value v)
{
    static const char *const words[] = {
        [JINJA_UNDEFINED] = "", [JINJA_NONE] = "None", [JINJA_MACRO] = ""};
    if (v.kind == JINJA_TEXT)
        return v;
    if (v.kind == JINJA_LIST || v.kind == JINJA_MAP)
        return jinja_fail(run, "expected a text, found a list or a mapping");
    const char *text = v.kind == JINJA_BOOLEAN ? (v.integer ? "True" : "False")
                       : v.kind == JINJA_INTEGER
                           ? arena_format(run->arena, run->err, "%lld", v.integer)
                           : words[v.kind];
    return text ? jinja_text(text, strlen(text)) : undefined;
}

value jinja_joined(struct jinja_run *run, value a, value b)
{
    a = jinja_text_of(run, a);
    b = jinja_text_of(run, b);
    char *text = run->err->kind ? NULL : arena_room(run->arena, a.size + b.size + 1, 1, run->err);
    if (!text)
        return undefined;
    memcpy(text, a.of.text, a.size);
    memcpy(text + a.size, b.of.text, b.size);
    text[a.size + b.size] = '\0';
    return jinja_text(text, a.size + b.size);
}

bool jinja_is_equal(value a, value b)
{
    if (jinja_is_number(a) && jinja_is_number(b))
        return a.integer == b.integer;
    if (a.kind != b.kind)
        return false;
    if (a.kind == JINJA_TEXT)
        return a.size == b.size && memcmp(a.of.text, b.of.text, a.size) == 0;
    if (a.kind == JINJA_MAP) {
        bool same = a.of.map->count == b.of.map->count;
        for (size_t i = 0; same && i < a.of.map->count; i++) {
            const struct jinja_pair *pair = &a.of.map->pairs[i];
            const value *other = jinja_map_find(b.of.map, pair->key, strlen(pair->key));
            same = other && jinja_is_equal(pair->value, *other);
        }
        return same;
    }
    bool same = a.kind != JINJA_LIST || a.of.list->count == b.of.list->count;
    for (size_t i = 0; same && a.kind == JINJA_LIST && i < a.of.list->count; i++)
        same = jinja_is_equal(a.of.list->items[i], b.of.list->items[i]);
    return same;
}

/* The size of the character at `at`. */
size_t jinja_character_size(const char *at, const char *end)
{
    size_t size = 1;
    while (at + size < end && utf8_continues(at[size]))
        size++;
    return size;
}

/* The items of a value: of a list; the keys of a map; the characters of a text. */
value jinja_items_of(struct jinja_run *run, value v)
{
    if (v.kind == JINJA_LIST)
        return v;
    size_t count = v.kind == JINJA_MAP ? v.of.map->count : 0;
    for (size_t i = 0; v.kind == JINJA_TEXT && i < v.size; i++)
        count += !utf8_continues(v.of.text[i]);
    if (v.kind != JINJA_MAP && v.kind != JINJA_TEXT && v.kind != JINJA_UNDEFINED)
        return jinja_fail(run, "expected a list");
    value list = jinja_make_list(run, count);
    const char *at = v.kind == JINJA_TEXT ? v.of.text : NULL;
    for (size_t i = 0; i < count && list.kind; i++) {
        const char *key = at ? at : v.of.map->pairs[i].key;
        size_t size = at ? jinja_character_size(at, v.of.text + v.size) : strlen(key);
        list.of.list->items[i] = jinja_text(key, size);
        at = at ? at + size : NULL;
    }
    return list;
}

const char *jinja_find_text(value in, value text)
{
    return text.size <= in.size ? memmem(in.of.text, in.size, text.of.text, text.size) : NULL;
}

bool jinja_is_in(struct jinja_run *run, value item, value in)
{
    if (in.kind == JINJA_TEXT) {
        if (item.kind != JINJA_TEXT)
            jinja_fail(run, "expected a text before 'in'");
        return item.kind == JINJA_TEXT && jinja_find_text(in, item);
    }
    value items = jinja_items_of(run, in);
    for (size_t i = 0; items.kind && i < items.of.list->count; i++)
        if (jinja_is_equal(item, items.of.list->items[i]))
            return true;
    return false;
}
