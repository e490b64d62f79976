#include "text/jinja.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "text/jinja_value.h"

typedef struct jinja_node node;
typedef struct jinja_value value;

enum {
    RANGE_MAX = 1000000, /* maximum number of items of a range */
    ARGUMENTS_MAX = 16,  /* maximum number of arguments of a call */
};
/* Largest result of a calculation; sums of a few such numbers do not overflow. */
#define NUMBER_MAX 1000000000000000LL

static const value undefined = {.kind = JINJA_UNDEFINED}, none = {.kind = JINJA_NONE};

struct arguments {
    value items[ARGUMENTS_MAX];
    const char *names[ARGUMENTS_MAX]; /* name of each argument; NULL: it is given by position */
    size_t count;
};

/* --- filters, tests, methods and functions ---------------------------------------------------- */

static value *find_name(struct jinja_run *run, const char *name)
{
    value *found = NULL;
    for (struct jinja_scope *scope = run->scope; scope && !found; scope = scope->outer)
        found = jinja_dict_find(run, &scope->names, name, strlen(name));
    return found;
}

/* The argument at position `index` or with the name `name`; undefined: there is none. */
static value argument(const struct arguments *given, size_t index, const char *name)
{
    for (size_t i = 0; i < given->count; i++)
        if (given->names[i] ? name && strcmp(given->names[i], name) == 0 : i == index)
            return given->items[i];
    return undefined;
}

static bool is_stripped(struct jinja_run *run, const char *at, size_t size, value characters)
{
    uint32_t c = 0;
    if (!jinja_count_bytes(run, size + characters.size))
        return false;
    if (characters.kind == JINJA_TEXT)
        return jinja_find_text(characters, jinja_text(at, size));
    return utf8_decode(&c, at, size) && unicode_kind(c) == UNICODE_SPACE;
}

/* Remove white space, or the characters in the argument `chars`, from the left side of a text
 * (`sides` = 1), from its right side (2), or from both sides (3). */
static value strip(struct jinja_run *run, value self, const struct arguments *given, int sides)
{
    value text = jinja_text_of(run, self), characters = argument(given, 0, "chars");
    const char *first = text.of.text, *end = first + text.size;
    while (sides & 1 && first < end) {
        size_t size = jinja_character_size(first, end);
        if (!is_stripped(run, first, size, characters))
            break;
        first += size;
    }
    while (sides & 2 && end > first) {
        size_t before = utf8_before(first, (size_t)(end - first));
        if (!is_stripped(run, first + before, (size_t)(end - first) - before, characters))
            break;
        end = first + before;
    }
    return run->err->kind ? undefined : jinja_text(first, (size_t)(end - first));
}

/* Ways to change the case of ASCII letters. FIRST_CAPITAL, TITLE: a capital at the start of the
 * text, or of each word; all other letters become small. */
enum { SMALL, CAPITALS, FIRST_CAPITAL, TITLE };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static value change_case(struct jinja_run *run, value self, const struct arguments *given, int to)
{
    value text = jinja_text_of(run, self);
    char *made = jinja_has_room(run, text.size)
                     ? arena_text(run->arena, text.of.text, text.size, run->err)
                     : NULL;
    (void)given;
    for (size_t i = 0; made && i < text.size; i++) {
        bool begins_word = to == TITLE && i && !is_letter(made[i - 1]);
        bool up = to == CAPITALS || (to >= FIRST_CAPITAL && i == 0) || begins_word;
        if (made[i] >= (up ? 'a' : 'A') && made[i] <= (up ? 'z' : 'Z'))
            made[i] ^= 0x20;
    }
    return made ? jinja_text(made, text.size) : undefined;
}

static value length(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    value items = self.kind == JINJA_TEXT ? undefined : jinja_items_of(run, self);
    size_t count = items.kind ? items.of.list->count : jinja_count_characters(run, self);
    return run->err->kind ? undefined : jinja_integer((long long)count);
}

static value or_default(struct jinja_run *run, value self, const struct arguments *given,
                        int variant)
{
    (void)variant;
    (void)run;
    bool falsy = jinja_is_true(argument(given, 1, "boolean"));
    value other = argument(given, 0, "default_value");
    if (self.kind != JINJA_UNDEFINED && (!falsy || jinja_is_true(self)))
        return self;
    return other.kind ? other : jinja_text("", 0);
}

/* The first item, or the last if `from_end`. */
static value end_item(struct jinja_run *run, value self, const struct arguments *given,
                      int from_end)
{
    value items = jinja_items_of(run, self);
    size_t count = items.kind ? items.of.list->count : 0;
    (void)given;
    return count ? items.of.list->items[from_end ? count - 1 : 0] : undefined;
}

static value to_text(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    return jinja_text_of(run, self);
}

static value to_list(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    return jinja_items_of(run, self);
}

static value reversed(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    value items = jinja_items_of(run, self);
    size_t count = items.kind ? items.of.list->count : 0;
    value list = jinja_make_list(run, count);
    for (size_t i = 0; list.kind && i < count; i++)
        list.of.list->items[i] = items.of.list->items[count - 1 - i];
    return list;
}

static value join(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value items = jinja_items_of(run, self), between = jinja_text_of(run, argument(given, 0, "d"));
    struct buf out = {0};
    for (size_t i = 0; items.kind && i < items.of.list->count; i++) {
        value text = jinja_text_of(run, items.of.list->items[i]);
        if (!jinja_count_bytes(run, text.size + between.size))
            break;
        buf_bytes(&out, between.of.text, i ? between.size : 0);
        buf_bytes(&out, text.of.text, text.size);
    }
    return jinja_keep(run, &out);
}

static value replace(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value text = jinja_text_of(run, self), from = jinja_text_of(run, argument(given, 0, "old")),
          to = jinja_text_of(run, argument(given, 1, "new"));
    struct buf out = {0};
    const char *at = text.of.text, *end = at + text.size, *found = NULL;
    if (run->err->kind || !from.size)
        return run->err->kind ? undefined : jinja_fail(run, "replace: expected a text to replace");
    jinja_count_bytes(run, text.size);
    while ((found = jinja_find_text(jinja_text(at, (size_t)(end - at)), from)) &&
           jinja_count_bytes(run, to.size)) {
        buf_bytes(&out, at, (size_t)(found - at));
        buf_bytes(&out, to.of.text, to.size);
        at = found + from.size;
    }
    buf_bytes(&out, at, (size_t)(end - at));
    return jinja_keep(run, &out);
}

static value split(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value by = argument(given, 0, "sep");
    if (self.kind != JINJA_TEXT || by.kind != JINJA_TEXT || !by.size)
        return jinja_fail(run, "split: expected a text that separates");
    size_t count = 1;
    const char *end = self.of.text + self.size, *at = self.of.text, *found = NULL;
    jinja_count_bytes(run, self.size);
    while ((found = jinja_find_text(jinja_text(at, (size_t)(end - at)), by)))
        at = found + by.size, count++;
    value list = jinja_make_list(run, count);
    at = self.of.text;
    for (size_t i = 0; list.kind && i < count; i++) {
        found = jinja_find_text(jinja_text(at, (size_t)(end - at)), by);
        list.of.list->items[i] = jinja_text(at, (size_t)((found ? found : end) - at));
        at = found ? found + by.size : end;
    }
    return list;
}

static value begins(struct jinja_run *run, value self, const struct arguments *given, int at_end)
{
    value part = argument(given, 0, NULL);
    if (self.kind != JINJA_TEXT || part.kind != JINJA_TEXT)
        return jinja_fail(run, "expected two texts");
    size_t at = at_end && part.size < self.size ? self.size - part.size : 0;
    return jinja_boolean(part.size <= self.size && jinja_count_bytes(run, part.size) &&
                         memcmp(self.of.text + at, part.of.text, part.size) == 0);
}

static value get(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    value key = argument(given, 0, NULL), other = argument(given, 1, NULL);
    if (self.kind != JINJA_DICT || key.kind != JINJA_TEXT)
        return jinja_fail(run, "get: expected a mapping and a key");
    const value *found = jinja_dict_find(run, self.of.dict, key.of.text, key.size);
    return found ? *found : other.kind ? other : none;
}

/* The pairs of keys and values of a map, as a list. */
static value pairs_of(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)given;
    if (self.kind != JINJA_DICT)
        return self.kind ? jinja_fail(run, "items: expected a mapping") : jinja_make_list(run, 0);
    value list = jinja_make_list(run, self.of.dict->count);
    for (size_t i = 0; list.kind && i < self.of.dict->count; i++) {
        const struct jinja_pair *from = &self.of.dict->pairs[i];
        value pair = jinja_make_list(run, 2);
        if (!pair.kind)
            return pair;
        pair.of.list->items[0] = jinja_text(from->key, strlen(from->key));
        pair.of.list->items[1] = from->value;
        list.of.list->items[i] = pair;
    }
    return list;
}

static value call_test(struct jinja_run *run, const char *name, value self,
                       const struct arguments *given);

static value member(struct jinja_run *run, value of, value key);

/* The items whose attribute passes a test or, without a test, is true. If `passes` is 0: all other
 * items. */
static value select_by(struct jinja_run *run, value self, const struct arguments *given, int passes)
{
    value items = jinja_items_of(run, jinja_is_true(self) ? self : undefined),
          name = argument(given, 1, NULL);
    size_t count = items.kind ? items.of.list->count : 0, kept = 0;
    value list = jinja_make_list(run, count);
    const char *test = NULL;
    if (name.kind == JINJA_TEXT &&
        !(test = arena_text(run->arena, name.of.text, name.size, run->err)))
        return undefined;
    struct arguments rest = {.count = given->count > 2, .items = {argument(given, 2, NULL)}};
    for (size_t i = 0; list.kind && i < count && !run->err->kind; i++) {
        value of = member(run, items.of.list->items[i], argument(given, 0, NULL));
        if (test)
            of = call_test(run, test, of, &rest);
        if (jinja_is_true(of) == passes)
            list.of.list->items[kept++] = items.of.list->items[i];
    }
    value cut = jinja_make_list(run, kept);
    if (kept && list.kind && cut.kind)
        memcpy(cut.of.list->items, list.of.list->items, kept * sizeof cut);
    return cut;
}

static value map_attribute(struct jinja_run *run, value self, const struct arguments *given,
                           int variant)
{
    (void)variant;
    value items = jinja_items_of(run, self), name = argument(given, SIZE_MAX, "attribute");
    size_t count = items.kind ? items.of.list->count : 0;
    value list = jinja_make_list(run, count);
    if (!name.kind)
        return jinja_fail(run, "map: expected an attribute");
    for (size_t i = 0; list.kind && i < count && !run->err->kind; i++)
        list.of.list->items[i] = member(run, items.of.list->items[i], name);
    return list;
}

static value range(struct jinja_run *run, value self, const struct arguments *given, int variant)
{
    (void)variant;
    (void)self;
    value a = argument(given, 0, NULL), b = argument(given, 1, NULL);
    long long first = given->count > 1 ? a.integer : 0,
              end = given->count > 1 ? b.integer : a.integer;
    if (!jinja_is_number(a) || given->count > 2 || end - first > RANGE_MAX)
        return jinja_fail(run, "range: expected one or two numbers, and a short range");
    value list = jinja_make_list(run, end > first ? (size_t)(end - first) : 0);
    for (size_t i = 0; list.kind && i < list.of.list->count; i++)
        list.of.list->items[i] = jinja_integer(first + (long long)i);
    return list;
}

static value namespace(struct jinja_run *run, value self, const struct arguments *given,
                       int variant)
{
    (void)variant;
    (void)self;
    value dict = jinja_make_dict(run);
    for (size_t i = 0; dict.kind && i < given->count; i++)
        if (given->names[i])
            jinja_dict_set(run, dict.of.dict, given->names[i], given->items[i]);
    return dict;
}

/* Format the date of the variable `strftime_now`, which has the seconds since 1970. */
static value strftime_now(struct jinja_run *run, value self, const struct arguments *given,
                          int variant)
{
    const value *now = find_name(run, "strftime_now");
    value format = jinja_text_of(run, argument(given, 0, NULL));
    time_t seconds = now ? (time_t)now->integer : 0;
    struct tm date = {0};
    char text[256];
    (void)self;
    (void)variant;
    if (!now || run->err->kind || !localtime_r(&seconds, &date))
        return jinja_fail(run, "a date that is not known");
    const char *kept = arena_text(run->arena, format.of.text, format.size, run->err);
    size_t size = kept ? strftime(text, sizeof text, kept, &date) : 0;
    kept = kept ? arena_text(run->arena, text, size, run->err) : NULL;
    return kept ? jinja_text(kept, size) : undefined;
}

static value raise_exception(struct jinja_run *run, value self, const struct arguments *given,
                             int variant)
{
    (void)variant;
    (void)self;
    value text = jinja_text_of(run, argument(given, 0, NULL));
    if (!run->err->kind)
        err_set(run->err, "the template refuses it: %.*s", (int)text.size, text.of.text);
    return undefined;
}

static value equals(struct jinja_run *run, value self, const struct arguments *given, int expected)
{
    return jinja_boolean(jinja_is_equal(run, self, argument(given, 0, NULL)) == expected);
}

static value is_one_of(struct jinja_run *run, value self, const struct arguments *given,
                       int variant)
{
    (void)variant;
    return jinja_boolean(jinja_is_in(run, self, argument(given, 0, NULL)));
}

static value divides(struct jinja_run *run, value self, const struct arguments *given, int expected)
{
    value by = given->count ? argument(given, 0, NULL) : jinja_integer(2);
    if (!jinja_is_number(self) || !jinja_is_number(by) || !by.integer)
        return jinja_fail(run, "expected numbers");
    return jinja_boolean((self.integer % by.integer == 0) == expected);
}

enum use { FILTER = 1, METHOD = 2, FUNCTION = 4, TEST = 8 };

static const struct function {
    const char *name;
    unsigned uses;
    value (*call)(struct jinja_run *run, value self, const struct arguments *given, int variant);
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

/* Tests that accept some kinds of values. `kinds` has a bit 1 << kind for each of them. */
static const struct kind_test {
    const char *name;
    unsigned kinds;
} kind_tests[] = {
    {"defined", ~(1u << JINJA_UNDEFINED)},
    {"undefined", 1u << JINJA_UNDEFINED},
    {"none", 1u << JINJA_NONE},
    {"string", 1u << JINJA_TEXT},
    {"mapping", 1u << JINJA_DICT},
    {"sequence", 1u << JINJA_TEXT | 1u << JINJA_LIST | 1u << JINJA_DICT},
    {"iterable", 1u << JINJA_TEXT | 1u << JINJA_LIST | 1u << JINJA_DICT | 1u << JINJA_UNDEFINED},
    {"number", 1u << JINJA_INTEGER | 1u << JINJA_BOOLEAN},
    {"integer", 1u << JINJA_INTEGER},
    {"boolean", 1u << JINJA_BOOLEAN},
    {"callable", 1u << JINJA_MACRO},
};

static value call(struct jinja_run *run, enum use use, const char *name, value self,
                  const struct arguments *given)
{
    static const char *const kinds[] = {
        [FILTER] = "filter", [METHOD] = "method", [FUNCTION] = "function", [TEST] = "test"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (functions[i].uses & use && strcmp(functions[i].name, name) == 0)
            return functions[i].call(run, self, given, functions[i].variant);
    return jinja_fail(run, "expected a %s that is known, found '%s'", kinds[use], name);
}

static value call_test(struct jinja_run *run, const char *name, value self,
                       const struct arguments *given)
{
    for (size_t i = 0; i < sizeof kind_tests / sizeof *kind_tests; i++)
        if (strcmp(kind_tests[i].name, name) == 0)
            return jinja_boolean(kind_tests[i].kinds >> self.kind & 1);
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0)
        return jinja_boolean(self.kind == JINJA_BOOLEAN && self.integer == (*name == 't'));
    return call(run, TEST, name, self, given);
}

/* --- expressions ------------------------------------------------------------------------------ */

static value evaluate(struct jinja_run *run, const node *n);
static void execute(struct jinja_run *run, const node *first);

/* An item of a list or a text by its number, or of a mapping by its key; undefined: there is no
 * such item. */
static value member(struct jinja_run *run, value of, value key)
{
    if (of.kind == JINJA_UNDEFINED)
        return jinja_fail(run, "expected a value before '%.*s', found undefined",
                          key.kind == JINJA_TEXT ? (int)key.size : 0,
                          key.kind == JINJA_TEXT ? key.of.text : "");
    if (of.kind == JINJA_DICT && key.kind == JINJA_TEXT) {
        const value *found = jinja_dict_find(run, of.of.dict, key.of.text, key.size);
        return found ? *found : undefined;
    }
    if ((of.kind != JINJA_LIST && of.kind != JINJA_TEXT) || !jinja_is_number(key))
        return undefined;
    bool is_text = of.kind == JINJA_TEXT;
    long long count = (long long)(is_text ? jinja_count_characters(run, of) : of.of.list->count);
    long long at = key.integer < 0 ? key.integer + count : key.integer;
    if (at < 0 || at >= count)
        return undefined;
    return is_text ? jinja_characters_of(run, of, (size_t)at, (size_t)at + 1)
                   : of.of.list->items[at];
}

/* A bound of a slice, as in Python: negative numbers count from the end. If `v` is not a number,
 * the bound is `other`. The result is limited to [least, most]. */
static long long bound(value v, long long count, long long other, long long least, long long most)
{
    long long at = !jinja_is_number(v) ? other : v.integer < 0 ? v.integer + count : v.integer;
    return at < least ? least : at > most ? most : at;
}

static value slice(struct jinja_run *run, const node *n)
{
    value of = evaluate(run, n->a);
    value first = n->b ? evaluate(run, n->b) : none, end = n->c ? evaluate(run, n->c) : none;
    value by = n->d ? evaluate(run, n->d) : jinja_integer(1);
    /* true if the result is a part of a text, not a list */
    bool cuts = of.kind == JINJA_TEXT && by.integer == 1;
    value items = cuts ? undefined : jinja_items_of(run, of);
    if ((!cuts && !items.kind) || !jinja_is_number(by) || !by.integer)
        return run->err->kind ? undefined : jinja_fail(run, "a slice: expected numbers");
    long long count = (long long)(cuts ? jinja_count_characters(run, of) : items.of.list->count);
    long long step = by.integer;
    bool back = step < 0;
    long long at =
        bound(first, count, back ? count - 1 : 0, back ? -1 : 0, back ? count - 1 : count);
    long long last = jinja_is_number(end) ? bound(end, count, 0, back ? -1 : 0, count)
                     : back               ? -1
                                          : count;
    long long most = back ? (at - last - step - 1) / -step : (last - at + step - 1) / step;
    if (cuts)
        return most > 0 ? jinja_characters_of(run, of, (size_t)at, (size_t)last)
                        : jinja_text("", 0);
    value list = jinja_make_list(run, most > 0 ? (size_t)most : 0);
    for (size_t i = 0; list.kind && i < list.of.list->count; i++)
        list.of.list->items[i] = items.of.list->items[at + (long long)i * step];
    return of.kind == JINJA_TEXT ? join(run, list, &(struct arguments){0}, 0) : list;
}

static bool evaluate_arguments(struct jinja_run *run, struct arguments *given, const node *first)
{
    *given = (struct arguments){0};
    for (const node *n = first; n && !run->err->kind; n = n->next) {
        if (given->count == ARGUMENTS_MAX)
            jinja_fail(run, "expected at most %d arguments", ARGUMENTS_MAX);
        else {
            bool named = n->kind == NODE_ARGUMENT;
            given->names[given->count] = named ? n->name : NULL;
            given->items[given->count++] = evaluate(run, named ? n->a : n);
        }
    }
    return !run->err->kind;
}

/* Run statements in the current scope, and return their output as a text. */
static value capture(struct jinja_run *run, const node *body)
{
    struct buf out = {0}, *outer = run->out;
    run->out = &out;
    execute(run, body);
    run->out = outer;
    return jinja_keep(run, &out);
}

static value call_macro(struct jinja_run *run, const node *macro, const struct arguments *given)
{
    struct jinja_scope own = {.outer = run->globals}, *outer = run->scope;
    size_t index = 0;
    run->scope = &own;
    for (const node *name = macro->a; name && !run->err->kind; name = name->next, index++) {
        value v = argument(given, index, name->name);
        jinja_dict_set(run, &own.names, name->name,
                       v.kind || !name->b ? v : evaluate(run, name->b));
    }
    value text = capture(run, macro->body);
    run->scope = outer;
    return text;
}

static value evaluate_call(struct jinja_run *run, const node *n)
{
    struct arguments given;
    value self = n->a->kind == NODE_MEMBER ? evaluate(run, n->a->a) : undefined;
    if (!evaluate_arguments(run, &given, n->b))
        return undefined;
    if (n->a->kind == NODE_MEMBER && self.kind != JINJA_TEXT && self.kind != JINJA_DICT)
        return jinja_fail(run, "expected a text or a mapping before '.%s'", n->a->name);
    if (n->a->kind == NODE_MEMBER)
        return call(run, METHOD, n->a->name, self, &given);
    const value *found = n->a->kind == NODE_NAME ? find_name(run, n->a->name) : NULL;
    if (found && found->kind == JINJA_MACRO)
        return call_macro(run, found->of.macro, &given);
    return n->a->kind == NODE_NAME ? call(run, FUNCTION, n->a->name, undefined, &given)
                                   : jinja_fail(run, "expected a function");
}

/* Compare two numbers or two texts. Returns a number below, equal to or above 0, as memcmp does. */
static int order(struct jinja_run *run, value a, value b)
{
    if (jinja_is_number(a) && jinja_is_number(b))
        return (a.integer > b.integer) - (a.integer < b.integer);
    if (a.kind != JINJA_TEXT || b.kind != JINJA_TEXT)
        return jinja_fail(run, "expected two numbers or two texts to compare").kind;
    size_t both = a.size < b.size ? a.size : b.size;
    int first = jinja_count_bytes(run, both) ? memcmp(a.of.text, b.of.text, both) : 0;
    return first ? first : (a.size > b.size) - (a.size < b.size);
}

static value concatenated(struct jinja_run *run, value a, value b)
{
    size_t count = a.of.list->count, more = b.of.list->count;
    value list = jinja_make_list(run, count + more);
    for (size_t i = 0; list.kind && i < count + more; i++)
        list.of.list->items[i] = i < count ? a.of.list->items[i] : b.of.list->items[i - count];
    return list;
}

static value sum_or_product(struct jinja_run *run, value a, value b, enum binary binary)
{
    long long number = a.integer + (binary == MINUS ? -b.integer : b.integer);
    bool is_large = binary == TIMES && __builtin_mul_overflow(a.integer, b.integer, &number);
    return is_large || number > NUMBER_MAX || number < -NUMBER_MAX
               ? jinja_fail(run, "expected a number up to %lld", NUMBER_MAX)
               : jinja_integer(number);
}

/* a % b if `remainder`, else a // b; the quotient is rounded down, as in Python. */
static value divided(struct jinja_run *run, value a, value b, bool remainder)
{
    if (!b.integer || b.integer == -1)
        return jinja_fail(run, "expected another divisor than 0 or -1");
    long long quotient = a.integer / b.integer, rest = a.integer % b.integer;
    bool down = rest && (rest < 0) != (b.integer < 0);
    return jinja_integer(remainder ? rest + (down ? b.integer : 0) : quotient - down);
}

static value evaluate_binary(struct jinja_run *run, const node *n)
{
    value a = evaluate(run, n->a), b = evaluate(run, n->b);
    bool numbers = jinja_is_number(a) && jinja_is_number(b);
    if (run->err->kind)
        return undefined;
    switch (n->binary) {
    case EQUAL:
    case UNEQUAL:
        return jinja_boolean(jinja_is_equal(run, a, b) == (n->binary == EQUAL));
    case IN:
    case NOT_IN:
        return jinja_boolean(jinja_is_in(run, a, b) == (n->binary == IN));
    case LESS:
        return jinja_boolean(order(run, a, b) < 0);
    case MOST:
        return jinja_boolean(order(run, a, b) <= 0);
    case MORE:
        return jinja_boolean(order(run, a, b) > 0);
    case LEAST:
        return jinja_boolean(order(run, a, b) >= 0);
    case JOINED:
        return jinja_joined(run, a, b);
    case PLUS:
        if (a.kind == JINJA_TEXT && b.kind == JINJA_TEXT)
            return jinja_joined(run, a, b);
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
    return jinja_fail(run, "expected two numbers, or two texts or lists to add");
}

static value evaluate_list(struct jinja_run *run, const node *n)
{
    size_t count = 0;
    for (const node *item = n->a; item; item = item->next)
        count++;
    value list = jinja_make_list(run, count);
    count = 0;
    for (const node *item = n->a; item && list.kind; item = item->next)
        list.of.list->items[count++] = evaluate(run, item);
    return list;
}

static value evaluate_map(struct jinja_run *run, const node *n)
{
    value map = jinja_make_dict(run);
    for (const node *pair = n->a; pair && map.kind; pair = pair->next) {
        value key = jinja_text_of(run, evaluate(run, pair->a)), v = evaluate(run, pair->b);
        if (!jinja_has_room(run, key.size))
            return undefined;
        if (memchr(key.of.text, '\0', key.size))
            return jinja_fail(run, "expected a key without U+0000");
        const char *name = arena_text(run->arena, key.of.text, key.size, run->err);
        if (!name)
            return undefined;
        jinja_dict_set(run, map.of.dict, name, v);
    }
    return map;
}

static value evaluate_filter(struct jinja_run *run, const node *n)
{
    struct arguments given;
    value self = evaluate(run, n->a);
    if (!evaluate_arguments(run, &given, n->b))
        return undefined;
    return n->kind == NODE_TEST ? call_test(run, n->name, self, &given)
                                : call(run, FILTER, n->name, self, &given);
}

static value evaluate_node(struct jinja_run *run, const node *n)
{
    value v = undefined;
    switch (n->kind) {
    case NODE_VALUE:
        return n->value;
    case NODE_NAME: {
        const value *found = find_name(run, n->name);
        return found ? *found : undefined;
    }
    case NODE_LIST:
        return evaluate_list(run, n);
    case NODE_DICT:
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
        return evaluate_filter(run, n);
    case NODE_NOT:
        return jinja_boolean(!jinja_is_true(evaluate(run, n->a)));
    case NODE_MINUS:
        v = evaluate(run, n->a);
        return jinja_is_number(v) ? jinja_integer(-v.integer)
                                  : jinja_fail(run, "expected a number after '-'");
    case NODE_AND:
        v = evaluate(run, n->a);
        return jinja_is_true(v) ? evaluate(run, n->b) : v;
    case NODE_OR:
        v = evaluate(run, n->a);
        return jinja_is_true(v) ? v : evaluate(run, n->b);
    case NODE_CHOOSE:
        return jinja_is_true(evaluate(run, n->a)) ? evaluate(run, n->b)
               : n->c                             ? evaluate(run, n->c)
                                                  : undefined;
    case NODE_BINARY:
        return evaluate_binary(run, n);
    default:
        return jinja_fail(run, "expected a value");
    }
}

static value evaluate(struct jinja_run *run, const node *n)
{
    run->line = n->line;
    value v = jinja_enter(run) ? evaluate_node(run, n) : undefined;
    run->depth--;
    return v;
}

/* --- statements ------------------------------------------------------------------------------- */

static void assign(struct jinja_run *run, const node *target, value v)
{
    if (target->kind == NODE_MEMBER) {
        value of = evaluate(run, target->a);
        if (of.kind == JINJA_DICT)
            jinja_dict_set(run, of.of.dict, target->name, v);
        else
            jinja_fail(run, "expected a namespace before '.%s'", target->name);
    } else if (target->kind != NODE_NAME)
        jinja_fail(run, "expected a name before '='");
    else if (!target->next)
        jinja_dict_set(run, &run->scope->names, target->name, v);
    else {
        value items = jinja_items_of(run, v);
        size_t i = 0;
        for (; target && items.kind && i < items.of.list->count; target = target->next)
            jinja_dict_set(run, &run->scope->names, target->name, items.of.list->items[i++]);
        if (items.kind && (target || i < items.of.list->count))
            jinja_fail(run, "expected as many values as names");
    }
}

/* Set the members of `loop`, which a template can read in the body of a loop; they change with each
 * turn. */
static void set_loop(struct jinja_run *run, value loop, const struct jinja_list *list, size_t index)
{
    const struct jinja_pair members[] = {
        {"index", jinja_integer((long long)index + 1)},
        {"index0", jinja_integer((long long)index)},
        {"revindex", jinja_integer((long long)(list->count - index))},
        {"revindex0", jinja_integer((long long)(list->count - index) - 1)},
        {"first", jinja_boolean(index == 0)},
        {"last", jinja_boolean(index + 1 == list->count)},
        {"length", jinja_integer((long long)list->count)},
        {"previtem", index ? list->items[index - 1] : undefined},
        {"nextitem", index + 1 < list->count ? list->items[index + 1] : undefined},
    };
    for (size_t i = 0; loop.kind && i < sizeof members / sizeof *members; i++)
        jinja_dict_set(run, loop.of.dict, members[i].key, members[i].value);
    jinja_dict_set(run, &run->scope->names, "loop", loop);
}

static void execute_for(struct jinja_run *run, const node *n)
{
    value items = jinja_items_of(run, evaluate(run, n->b));
    struct jinja_scope *outer = run->scope, own = {.outer = outer};
    size_t kept = 0;
    value list = items.kind ? jinja_make_list(run, items.of.list->count) : undefined;
    run->scope = &own;
    for (size_t i = 0; list.kind && i < items.of.list->count && !run->err->kind; i++) {
        if (n->c)
            assign(run, n->a, items.of.list->items[i]);
        if (!n->c || jinja_is_true(evaluate(run, n->c)))
            list.of.list->items[kept++] = items.of.list->items[i];
    }
    const struct jinja_list chosen = {list.kind ? list.of.list->items : NULL, kept};
    value loop = kept ? jinja_make_dict(run) : undefined;
    for (size_t i = 0; i < kept && run->leaves != NODE_BREAK && jinja_count_step(run); i++) {
        own.names.count = 0; /* variables set in one turn are not visible in the next */
        own.names.index = NULL;
        assign(run, n->a, chosen.items[i]);
        set_loop(run, loop, &chosen, i);
        run->leaves = NODE_OUTPUT;
        execute(run, n->body);
    }
    run->leaves = NODE_OUTPUT;
    run->scope = outer;
    if (!kept)
        execute(run, n->otherwise);
}

/* Return the statements of the branch whose condition is true, else of `else`; NULL: there are
 * none. An `elif` is parsed as an `if` that is the only statement in `otherwise`. */
static const node *branch_of(struct jinja_run *run, const node *n)
{
    bool holds = jinja_is_true(evaluate(run, n->a));
    while (!holds && n->otherwise && n->otherwise->kind == NODE_IF && !n->otherwise->next) {
        n = n->otherwise;
        holds = jinja_is_true(evaluate(run, n->a));
    }
    return holds ? n->body : n->otherwise;
}

static void execute_statement(struct jinja_run *run, const node *n)
{
    value v = undefined;
    switch (n->kind) {
    case NODE_OUTPUT:
        v = jinja_text_of(run, evaluate(run, n->a));
        if (jinja_count_bytes(run, v.size))
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
        execute(run, branch_of(run, n));
        break;
    case NODE_FOR:
        execute_for(run, n);
        break;
    case NODE_MACRO:
        jinja_dict_set(run, &run->scope->names, n->name,
                       (value){.kind = JINJA_MACRO, .of.macro = n});
        break;
    default:
        run->leaves = n->kind; /* NODE_BREAK or NODE_CONTINUE */
    }
}

static void execute(struct jinja_run *run, const node *n)
{
    if (!n)
        return;
    run->line = n->line;
    for (bool goes_on = jinja_enter(run); goes_on && n && run->leaves == NODE_OUTPUT; n = n->next) {
        run->line = n->line;
        execute_statement(run, n);
        goes_on = jinja_count_step(run);
    }
    run->depth--;
}

int jinja_render(struct buf *out, const struct jinja *template, const struct jinja_dict *variables,
                 struct arena *arena, struct err *err)
{
    struct jinja_scope globals = {0};
    struct jinja_run run = {
        .arena = arena, .err = err, .out = out, .scope = &globals, .globals = &globals};
    run.leaves = NODE_OUTPUT;
    run.bytes_before = arena->taken_bytes;
    for (size_t i = 0; i < variables->count; i++)
        jinja_dict_set(&run, &globals.names, variables->pairs[i].key, variables->pairs[i].value);
    execute(&run, template->body);
    return err_if(err->kind || buf_check(out, err));
}
