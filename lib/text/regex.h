/* regex.h: the regular expressions of tokenizers, by Oniguruma: the library, and the version, that
 * Hugging Face's tokenizers are built with, so that \s, \p{L}, a class inside a class and what is
 * read greedily mean the same.
 *
 *     struct regex *regex = NULL;
 *     if (regex_open(&regex, "[0-9][0-9][0-9]", err)) ...
 *     struct regex_walk walk = {.regex = regex, .text = text, .size = size};
 *     while ((found = regex_next(&walk, &match, err)) > 0) ...
 *     regex_walk_release(&walk);
 *     regex_free(regex);
 *
 * Searches that go back and forth too often in one text (text_limits) are an error: `(a|a)*$` from
 * a file does not hang the program. A pattern that reads all of the text from every place, `a*c`,
 * takes the square of its size.
 */
#ifndef ATTN_TEXT_REGEX_H
#define ATTN_TEXT_REGEX_H

#include "base/err.h"
#include "text/aligned_text.h"

struct regex;

/* Compile a pattern in UTF-8; refused with Oniguruma's words. Threads may share it. */
int regex_open(struct regex **regex, const char *pattern, struct err *err);
void regex_free(struct regex *regex);

/* All matches of one text, from left to right. */
struct regex_walk {
    const struct regex *regex;
    const char *text; /* valid UTF-8 */
    size_t size;
    struct text_limits *limits; /* of the text; NULL: of this walk alone */
    size_t at;
    struct text_limits own;
    struct re_registers *found;
};

/* 1 with the next match, 0 when there is none left, -1 with `err`. */
int regex_next(struct regex_walk *walk, struct text_range *match, struct err *err);
void regex_walk_release(struct regex_walk *walk);

#endif
