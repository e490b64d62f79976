/* matcher.h: all matches in a text of a regular expression, a literal, or characters of a kind.
 *
 *     struct matcher_walk walk = matcher_walk(&matcher, text, size, &limits);
 *     while ((found = matcher_next(&walk, &match, err)) > 0) ...
 *     matcher_walk_release(&walk);
 *
 * Regular expressions are compiled by Oniguruma, as in Hugging Face's tokenizers: \s, \p{L}, nested
 * classes and greedy repetition mean the same. A search that backtracks too often in one text
 * (text_limits) is an error: `(a|a)*$` from a file does not hang the program. A pattern that reads
 * the rest of the text from every position, `a*c`, takes quadratic time.
 *
 * These patterns of common models are not compiled; their matches are found in one pass:
 *
 *     GPT-2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *     Llama 3   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}
 *               | ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *     Qwen 2    the same with \p{N} instead of \p{N}{1,3}
 *     CLIP      's|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+
 *               some files have its two special tokens before these
 *
 * The first alternative that matches is a piece. Only CLIP's patterns have no alternative for white
 * space. */
#pragma once

#include "base/utf8.h"
#include "text/aligned_text.h"

struct json;

enum splitter_kind {
    SPLITTER_NONE,
    SPLITTER_GPT2,
    SPLITTER_LLAMA3,
    SPLITTER_QWEN2,
    SPLITTER_CLIP,
    SPLITTER_CLIP_SPECIAL,
};

/* Patterns with a name. The pattern of o200k has a name, but no splitter of its own. */
struct splitter_pattern {
    const char *name, *pattern;
    enum splitter_kind kind;
};

enum {
    PATTERN_GPT2,
    PATTERN_LLAMA3,
    PATTERN_QWEN2,
    PATTERN_O200K,
    PATTERN_CLIP,
    PATTERN_CLIP_SPECIAL,
    PATTERN_GPT2_SHORT, /* GPT-2's pattern with contractions written shorter */
    PATTERN_COUNT
};

extern const struct splitter_pattern splitter_patterns[PATTERN_COUNT];

#define ROW_ALL SIZE_MAX

/* What is searched for: one of `is`, `literal`, `splitter` and `regex` is set. If all are 0, there
 * is nothing to search for, and matcher_next must not be called. */
struct matcher {
    bool (*is)(uint32_t character);
    bool near[0x800];    /* results of `is` for characters of one or two bytes */
    size_t row;          /* number of characters in a match of `is`; ROW_ALL: all adjacent
                          * characters for which `is` returns true */
    const char *literal; /* the text to search for, `literal_size` bytes; NULL: none */
    size_t literal_size;
    enum splitter_kind splitter;
    struct regex *regex; /* a compiled expression, owned; threads may share it; NULL: none */
    const char *pattern; /* the pattern's name in splitter_patterns; NULL: it has no name */
};

struct matcher_walk {
    const struct matcher *matcher;
    const char *text; /* valid UTF-8 */
    size_t size, at;
    struct text_limits *limits, own;
    struct re_registers *found;
};

/* Make `matcher` search for a regular expression in UTF-8. If the expression is wrong, the error
 * has Oniguruma's message. */
int matcher_set_pattern(struct matcher *matcher, const char *pattern, struct err *err);

/* Make `matcher` search for single characters for which `is` returns true. */
void matcher_set_kind(struct matcher *matcher, bool (*is)(uint32_t character));

void matcher_release(struct matcher *matcher);

/* Begin to search a text from left to right. All searches of one text may share `limits`; NULL:
 * this search has limits of its own. */
struct matcher_walk matcher_walk(const struct matcher *matcher, const char *text, size_t size,
                                 struct text_limits *limits);

/* Find the next match. Returns 1, 0 if there are no more, or -1 with `err`. */
int matcher_next(struct matcher_walk *walk, struct text_range *match, struct err *err);

void matcher_walk_release(struct matcher_walk *walk);

/* Append a text with every match replaced; true if there was a match. If a search needs too many
 * steps, the rest of the text is not changed. */
bool matcher_replace(const struct matcher *matcher, struct buf *out, const char *text, size_t size,
                     const char *content, size_t content_size);
