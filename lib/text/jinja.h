/* jinja.h: templates in Jinja, the language of chat templates: `for`, `if`, `set` and `macro`,
 * expressions, and the filters, tests and methods that such templates use, with the results of
 * Jinja 3 as transformers sets it up (trim_blocks, lstrip_blocks). Texts are UTF-8.
 *
 *     struct jinja_pair variables[] = {{"name", jinja_text("world", 5)}};
 *     struct jinja_dict map = {variables, 1};
 *     struct jinja *template = jinja_parse("Hello {{ name }}!", 17, &arena, err);
 *     if (!template || jinja_render(&buf, template, &map, &arena, err)) ...
 *
 * An unknown filter, test, method or function is refused only when it is used: templates contain
 * much that one message does not need. Unknown statements, and numbers with a fraction, are refused
 * when the template is parsed. */
#pragma once

#include "base/memory.h"

struct buf;
struct hash_index;
struct jinja;

enum jinja_kind {
    JINJA_UNDEFINED,
    JINJA_NONE,
    JINJA_BOOLEAN,
    JINJA_INTEGER,
    JINJA_TEXT,
    JINJA_LIST,
    JINJA_DICT,
    JINJA_MACRO,
};

struct jinja_value {
    enum jinja_kind kind;
    long long integer; /* an integer; 0 or 1 for a boolean */
    size_t size;       /* size of a text in bytes */
    union {
        const char *text;
        const struct jinja_list *list;
        struct jinja_dict *dict;
        const struct jinja_node *macro;
    } of;
};

struct jinja_list {
    struct jinja_value *items; /* array of `count` items */
    size_t count;
};

struct jinja_dict {
    struct jinja_pair *pairs; /* `count` pairs in the order in which they were set */
    size_t count;
    size_t room;              /* capacity of `pairs`; 0: they belong to the caller and are not
                               * changed */
    struct hash_index *index; /* indices of pairs by their keys; NULL: there are few pairs */
};

struct jinja_pair {
    const char *key;
    struct jinja_value value;
};

struct jinja_value jinja_text(const char *bytes, size_t size);
struct jinja_value jinja_boolean(bool truth);

/* The arena owns the template, which needs the text only while it is parsed. Errors name
 * the line. */
struct jinja *jinja_parse(const char *text, size_t size, struct arena *arena, struct err *err);

/* Append the template's text for the variables; values are made in the arena. Errors name the line;
 * an error that the template itself raises has only its message. Limits of nesting, steps and bytes
 * of values (jinja_value.c) refuse templates that would not end or would fill the stack or the
 * memory. */
int jinja_render(struct buf *out, const struct jinja *template, const struct jinja_dict *variables,
                 struct arena *arena, struct err *err);
