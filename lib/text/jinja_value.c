#include "text/jinja_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/utf8.h"

typedef struct jinja_value value;

enum {
    DEPTH_MAX = 500,     /* maximum nesting depth of expressions, statements, calls and compared
                          * values */
    STEPS_MAX = 1000000, /* maximum number of steps of a run: expressions, statements, turns of
                          * loops and compared values */
    MEBIBYTES_MAX = 64,  /* maximum MiB of values that are made, and of texts that are read and
                          * written */
    PAIRS_FEW = 16,      /* a map with fewer pairs has no index */
};

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

/* --- limits ----------------------------------------------------------------------------------- */

/* True if `size` more bytes are within the limit. */
bool jinja_has_room(struct jinja_run *run, size_t size)
{
    const size_t most = (size_t)MEBIBYTES_MAX << 20;
    size_t taken = run->arena->taken_bytes - run->bytes_before + run->bytes_read;
    if (taken > most || size > most - taken)
        jinja_fail(run, "expected at most %d MiB of values, found more", MEBIBYTES_MAX);
    return !run->err->kind;
}

/* Count the bytes of a text that is read or written. */
bool jinja_count_bytes(struct jinja_run *run, size_t size)
{
    bool fits = jinja_has_room(run, size);
    run->bytes_read += fits ? size : 0;
    return fits;
}

bool jinja_count_step(struct jinja_run *run)
{
    if (++run->steps > STEPS_MAX)
        jinja_fail(run, "expected at most %d steps, found more", STEPS_MAX);
    return jinja_has_room(run, 0);
}

/* Begin an expression, statements or a comparison within another; `run->depth--` ends it. */
bool jinja_enter(struct jinja_run *run)
{
    if (++run->depth > DEPTH_MAX)
        jinja_fail(run, "expected at most %d levels of nesting, found more", DEPTH_MAX);
    return jinja_count_step(run);
}

/* --- values ----------------------------------------------------------------------------------- */

bool jinja_is_true(value v)
{
    return v.kind == JINJA_BOOLEAN || v.kind == JINJA_INTEGER ? v.integer != 0
           : v.kind == JINJA_TEXT                             ? v.size > 0
           : v.kind == JINJA_LIST                             ? v.of.list->count > 0
           : v.kind == JINJA_DICT                             ? v.of.dict->count > 0
                                                              : v.kind == JINJA_MACRO;
}

bool jinja_is_number(value v)
{
    return v.kind == JINJA_BOOLEAN || v.kind == JINJA_INTEGER;
}

/* A list, or a tuple, of `count` items that are undefined so far. */
value jinja_make_list(struct jinja_run *run, size_t count)
{
    struct jinja_list *list = jinja_has_room(run, count * sizeof *list->items)
                                  ? arena_alloc(run->arena, 1, sizeof *list, run->err)
                                  : NULL;
    if (list && count)
        list->items = arena_alloc(run->arena, count, sizeof *list->items, run->err);
    if (!list || (count && !list->items))
        return undefined;
    list->count = count;
    return (value){.kind = JINJA_LIST, .of.list = list};
}

value jinja_make_dict(struct jinja_run *run)
{
    struct jinja_dict *dict = arena_alloc(run->arena, 1, sizeof *dict, run->err);
    return dict ? (value){.kind = JINJA_DICT, .of.dict = dict} : undefined;
}

static bool has_key(const struct jinja_pair *pair, const char *key, size_t size)
{
    return strnlen(pair->key, size + 1) == size && memcmp(pair->key, key, size) == 0;
}

/* The value of a key, which need not end in a 0; NULL: the map does not have it. */
value *jinja_dict_find(struct jinja_run *run, const struct jinja_dict *dict, const char *key,
                       size_t size)
{
    uint32_t at = 0;
    if (!jinja_count_bytes(run, size))
        return NULL;
    if (dict->index) {
        struct hash_probe probe = hash_probe(dict->index, hash_bytes(key, size));
        while (hash_next(&probe, &at))
            if (has_key(&dict->pairs[at], key, size))
                return &dict->pairs[at].value;
        return NULL;
    }
    while (at < dict->count && !has_key(&dict->pairs[at], key, size))
        at++;
    return at < dict->count ? &dict->pairs[at].value : NULL;
}

static void dict_index(struct jinja_dict *dict, size_t at)
{
    const char *key = dict->pairs[at].key;
    struct hash_probe probe = hash_probe(dict->index, hash_bytes(key, strlen(key)));
    uint32_t other = 0;
    while (hash_next(&probe, &other))
        continue;
    hash_put(&probe, (uint32_t)at);
}

/* Double the room for pairs; a map of at least PAIRS_FEW pairs gets an index. */
static bool dict_grow(struct jinja_run *run, struct jinja_dict *dict)
{
    size_t room = dict->count < PAIRS_FEW / 2 ? PAIRS_FEW / 2 : 2 * dict->count;
    struct jinja_pair *pairs = arena_room(run->arena, room, sizeof *pairs, run->err);
    if (!pairs)
        return false;
    if (dict->count)
        memcpy(pairs, dict->pairs, dict->count * sizeof *pairs);
    dict->pairs = pairs;
    dict->room = room;
    if (dict->count < PAIRS_FEW)
        return true;
    dict->index = arena_alloc(run->arena, 1, sizeof *dict->index, run->err);
    if (!dict->index || hash_index_init(dict->index, room, run->arena, run->err))
        return false;
    for (size_t i = 0; i < dict->count; i++)
        dict_index(dict, i);
    return true;
}

void jinja_dict_set(struct jinja_run *run, struct jinja_dict *dict, const char *key, value v)
{
    value *found = jinja_dict_find(run, dict, key, strlen(key));
    if (found)
        *found = v;
    if (found || run->err->kind || (dict->count >= dict->room && !dict_grow(run, dict)))
        return;
    dict->pairs[dict->count++] = (struct jinja_pair){key, v};
    if (dict->index)
        dict_index(dict, dict->count - 1);
}

/* The text of a value, as it is printed. */
value jinja_text_of(struct jinja_run *run, value v)
{
    static const char *const words[] = {
        [JINJA_UNDEFINED] = "", [JINJA_NONE] = "None", [JINJA_MACRO] = ""};
    if (v.kind == JINJA_TEXT)
        return v;
    if (v.kind == JINJA_LIST || v.kind == JINJA_DICT)
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
    char *text = jinja_has_room(run, a.size + b.size)
                     ? arena_room(run->arena, a.size + b.size + 1, 1, run->err)
                     : NULL;
    if (!text)
        return undefined;
    memcpy(text, a.of.text, a.size);
    memcpy(text + a.size, b.of.text, b.size);
    text[a.size + b.size] = '\0';
    return jinja_text(text, a.size + b.size);
}

/* Make a text of the contents of `out`, and release `out`. */
value jinja_keep(struct jinja_run *run, struct buf *out)
{
    size_t size = out->size;
    const char *kept = jinja_has_room(run, size) ? buf_keep(out, run->arena, run->err) : NULL;
    buf_release(out);
    return kept ? jinja_text(kept, size) : undefined;
}

static bool same_items(struct jinja_run *run, const struct jinja_list *a,
                       const struct jinja_list *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++)
        same = jinja_is_equal(run, a->items[i], b->items[i]);
    return same;
}

static bool same_pairs(struct jinja_run *run, const struct jinja_dict *a,
                       const struct jinja_dict *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        const struct jinja_pair *pair = &a->pairs[i];
        const value *other = jinja_dict_find(run, b, pair->key, strlen(pair->key));
        same = other && jinja_is_equal(run, pair->value, *other);
    }
    return same;
}

/* True if two values are equal; false, with an error, beyond the limits. */
bool jinja_is_equal(struct jinja_run *run, value a, value b)
{
    bool same = jinja_enter(run);
    if (same && jinja_is_number(a) && jinja_is_number(b))
        same = a.integer == b.integer;
    else if (same && a.kind != b.kind)
        same = false;
    else if (same && a.kind == JINJA_TEXT)
        same = a.size == b.size && jinja_count_bytes(run, a.size) &&
               memcmp(a.of.text, b.of.text, a.size) == 0;
    else if (same && a.kind == JINJA_DICT)
        same = same_pairs(run, a.of.dict, b.of.dict);
    else if (same && a.kind == JINJA_LIST)
        same = same_items(run, a.of.list, b.of.list);
    run->depth--;
    return same;
}

/* The size of the character at `at` in bytes. */
size_t jinja_character_size(const char *at, const char *end)
{
    size_t size = 1;
    while (at + size < end && utf8_continues(at[size]))
        size++;
    return size;
}

/* The number of characters of a text. */
size_t jinja_count_characters(struct jinja_run *run, value text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.size && (i || jinja_count_bytes(run, text.size)); i++)
        count += !utf8_continues(text.of.text[i]);
    return count;
}

/* The characters [first, last) of a text; both numbers are at most the number of characters. */
value jinja_characters_of(struct jinja_run *run, value text, size_t first, size_t last)
{
    const char *at = text.of.text, *end = at + text.size, *begin = NULL;
    for (size_t i = 0; at < end && i < last && (i || jinja_count_bytes(run, text.size)); i++) {
        begin = i == first ? at : begin;
        at += jinja_character_size(at, end);
    }
    return begin ? jinja_text(begin, (size_t)(at - begin)) : jinja_text("", 0);
}

/* The items of a list, the keys of a map, or the characters of a text, as a list. */
value jinja_items_of(struct jinja_run *run, value v)
{
    if (v.kind == JINJA_LIST)
        return v;
    size_t count = v.kind == JINJA_DICT   ? v.of.dict->count
                   : v.kind == JINJA_TEXT ? jinja_count_characters(run, v)
                                          : 0;
    if (v.kind != JINJA_DICT && v.kind != JINJA_TEXT && v.kind != JINJA_UNDEFINED)
        return jinja_fail(run, "expected a list");
    value list = jinja_make_list(run, count);
    const char *at = v.kind == JINJA_TEXT ? v.of.text : NULL;
    for (size_t i = 0; i < count && list.kind; i++) {
        const char *key = at ? at : v.of.dict->pairs[i].key;
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
        return item.kind == JINJA_TEXT && jinja_count_bytes(run, in.size) &&
               jinja_find_text(in, item);
    }
    if (in.kind == JINJA_DICT)
        return item.kind == JINJA_TEXT && jinja_dict_find(run, in.of.dict, item.of.text, item.size);
    value items = jinja_items_of(run, in);
    for (size_t i = 0; items.kind && i < items.of.list->count && !run->err->kind; i++)
        if (jinja_is_equal(run, item, items.of.list->items[i]))
            return true;
    return false;
}
