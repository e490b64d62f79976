/* jinja_value.h: the values of a template that runs, and its limits.
 *
 * A function that fails sets the error of the run, and returns undefined, false or NULL. */
#pragma once

#include "text/jinja_tree.h"

struct jinja_scope {
    struct jinja_dict names;
    struct jinja_scope *outer;
};

struct jinja_run {
    struct arena *arena;
    struct err *err;
    struct buf *out;
    struct jinja_scope *scope, *globals;
    size_t line, steps, depth;
    size_t bytes_before;   /* bytes in the arena before the run */
    size_t bytes_read;     /* bytes of texts that were read or written, without the bytes
                            * of values */
    enum node_kind leaves; /* NODE_BREAK or NODE_CONTINUE: the rest of a loop's body is skipped;
                            * else: nothing is skipped */
};

/* Fail with a message, which names the line. Returns an undefined value. */
struct jinja_value jinja_fail(struct jinja_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- limits: all work is counted, so that every template ends -----------------------------------
 *
 * Each function returns true if the run may continue. Code that compares, copies or searches a text
 * counts its bytes; the functions below do so, except jinja_find_text. */

/* Begin an expression, statements or a comparison inside another; `run->depth--` ends it. */
bool jinja_enter(struct jinja_run *run);
bool jinja_count_step(struct jinja_run *run);

/* jinja_count_bytes counts bytes that are read or written. jinja_has_room returns true if the
 * values may grow by `size` bytes. */
bool jinja_count_bytes(struct jinja_run *run, size_t size);
bool jinja_has_room(struct jinja_run *run, size_t size);

/* --- values ----------------------------------------------------------------------------------- */

struct jinja_value jinja_integer(long long number);
bool jinja_is_true(struct jinja_value v);
bool jinja_is_number(struct jinja_value v);
bool jinja_is_equal(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
bool jinja_is_in(struct jinja_run *run, struct jinja_value item, struct jinja_value in);

/* jinja_make_list: a list, or a tuple, of `count` items that are undefined so far. jinja_make_dict:
 * an empty map. */
struct jinja_value jinja_make_list(struct jinja_run *run, size_t count);
struct jinja_value jinja_make_dict(struct jinja_run *run);

/* The value of a key, which need not end in a 0; NULL: the map does not have it. */
struct jinja_value *jinja_dict_find(struct jinja_run *run, const struct jinja_dict *dict,
                                    const char *key, size_t size);
void jinja_dict_set(struct jinja_run *run, struct jinja_dict *dict, const char *key,
                    struct jinja_value v);

/* The text of a value, as it is printed; jinja_joined: the texts of two values joined; jinja_keep:
 * the text in `out`, which is released. */
struct jinja_value jinja_text_of(struct jinja_run *run, struct jinja_value v);
struct jinja_value jinja_joined(struct jinja_run *run, struct jinja_value a, struct jinja_value b);
struct jinja_value jinja_keep(struct jinja_run *run, struct buf *out);

/* The first occurrence of `text` in the text `in`; NULL: it does not occur. The bytes are not
 * counted as work. */
const char *jinja_find_text(struct jinja_value in, struct jinja_value text);

/* jinja_character_size: the size of the character at `at` in bytes. jinja_characters_of: the
 * characters [first, last) of a text; both numbers are at most jinja_count_characters. */
size_t jinja_character_size(const char *at, const char *end);
size_t jinja_count_characters(struct jinja_run *run, struct jinja_value text);
struct jinja_value jinja_characters_of(struct jinja_run *run, struct jinja_value text, size_t first,
                                       size_t last);

/* The items of a list, the keys of a map, or the characters of a text, as a list. */
struct jinja_value jinja_items_of(struct jinja_run *run, struct jinja_value v);
