/* json_grammar.h: is this JSON? RFC 8259 to the letter, with the byte offset of the first offence.
 *
 * The door before cJSON, which is lenient: it checks UTF-8, escapes and surrogate pairs' form,
 * numbers (no leading zeros, no `1.`), control characters, nesting, and that nothing follows.
 */
#ifndef ATTN_FORMAT_JSON_GRAMMAR_H
#define ATTN_FORMAT_JSON_GRAMMAR_H

#include <stddef.h>

#include "base/err.h"

enum { JSON_DEPTH_MAX = 512 }; /* nested arrays and objects; cJSON's own limit is 1000 */

/* What a document would take as a tree. */
struct json_extent {
    size_t values;     /* objects, arrays and what is in them */
    size_t text_bytes; /* of all texts and names, as they are written */
};

/* 0 when the bytes are exactly one JSON value with white space around it; `extent`, which may be
 * NULL, is how much there is of it. */
int json_grammar_check(struct json_extent *extent, const char *bytes, size_t size, struct err *err);

/* Refuse the escape \u0000 in such a value: it is valid JSON, but would end texts early. */
int json_grammar_check_zeros(const char *bytes, size_t size, struct err *err);

#endif
