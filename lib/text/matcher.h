/* matcher.h: where something occurs in a text: a pattern, a literal, characters of a kind.
 *
 *     struct matcher_walk walk = matcher_walk(&matcher, text, size, &limits);
 *     while ((found = matcher_next(&walk, &match, err)) > 0) ...
 *     matcher_walk_release(&walk);
 */
#ifndef ATTN_TEXT_MATCHER_H
#define ATTN_TEXT_MATCHER_H

#include "text/regex.h"
#include "text/splitter.h"

struct json;

#define ROW_ALL SIZE_MAX

struct matcher {
    bool (*is)(uint32_t character); /* every such character is a match, … */
    bool near[0x800];               /* … which of one or two bytes are; … */
    size_t row;                     /* … or so many in a row; ROW_ALL: all; else … */
    const char *literal;            /* … this text; else … */
    size_t literal_size;
    enum splitter_kind splitter; /* … its pieces; else … */
    struct regex *regex;         /* … this pattern, which the matcher owns */
    const char *pattern;         /* the name of either; NULL: it has none */
};

struct matcher_walk {
    const struct matcher *matcher;
    size_t at;
    struct splitter splitter;
    struct regex_walk regex;
};

/* Read `{"String": " "}` or `{"Regex": "\\s"}`; texts live as long as the arena. The second takes
 * a regular expression, which may be that of a splitter, `\s+` or
 * `[0-9][0-9][0-9]`. */
int matcher_read(struct matcher *matcher, const struct json *pattern, struct arena *arena,
                 struct err *err);
int matcher_set_pattern(struct matcher *matcher, const char *pattern, struct err *err);
void matcher_release(struct matcher *matcher);

/* Look for characters; and where the first one stands from `at` on, or the size. */
void matcher_set_kind(struct matcher *matcher, bool (*is)(uint32_t character));
size_t matcher_find_kind(const struct matcher *matcher, const char *text, size_t size, size_t at);

/* Walks of one text share its limits; NULL: those of this walk alone. */
struct matcher_walk matcher_walk(const struct matcher *matcher, const char *text, size_t size,
                                 struct text_limits *limits);

/* 1 with the next match, 0 when there is none left, -1 with `err`. */
int matcher_next(struct matcher_walk *walk, struct text_range *match, struct err *err);

void matcher_walk_release(struct matcher_walk *walk);

#endif
