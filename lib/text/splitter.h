/* splitter.h: texts cut into pieces by the patterns of the models that people hold, without a
 * regular expression's detours: a look at each character.
 *
 *     GPT-2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *     Llama 3   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
 *               ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *     Qwen 2    the same with \p{N} in place of \p{N}{1,3}
 *
 *     CLIP      's|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+
 *               some files have its two special tokens before these
 *
 * The first alternative that fits is a piece, and one fits everywhere, but for CLIP's blanks.
 * \p{L}, \p{N} and \s are those of utf8.h: marks are no letters, \p{N} is more than digits, \s is
 * White_Space.
 *
 *     struct splitter splitter = splitter_of(SPLITTER_GPT2, text, size);
 *     for (size_t at = 0; (at = splitter_skip(&splitter, at)) < size; at = end)
 *         end = splitter_next(&splitter, at);
 */
#ifndef ATTN_TEXT_SPLITTER_H
#define ATTN_TEXT_SPLITTER_H

#include "base/utf8.h"

enum splitter_kind {
    SPLITTER_NONE,
    SPLITTER_GPT2,
    SPLITTER_LLAMA3,
    SPLITTER_QWEN2,
    SPLITTER_CLIP,
    SPLITTER_CLIP_SPECIAL,
};

struct splitter {
    enum splitter_kind kind;
    const char *text; /* valid UTF-8 */
    size_t size;
};

struct splitter splitter_of(enum splitter_kind kind, const char *text, size_t size);

/* Where the next piece begins, from `at` on; and the end of the piece that begins at `at`, which is
 * before the end. */
size_t splitter_blanks_end(struct splitter *splitter, size_t at);

static inline size_t splitter_skip(struct splitter *splitter, size_t at)
{
    return splitter->kind < SPLITTER_CLIP ? at : splitter_blanks_end(splitter, at);
}

size_t splitter_next(struct splitter *splitter, size_t at);

/* The patterns that have a name: those above, and that of o200k, which no splitter knows. */
struct splitter_pattern {
    const char *name, *pattern;
    enum splitter_kind kind;
};

enum { PATTERN_GPT2, PATTERN_LLAMA3, PATTERN_QWEN2, PATTERN_O200K, PATTERN_COUNT };

extern const struct splitter_pattern splitter_patterns[PATTERN_COUNT];

/* Which of them, or CLIP's, a regular expression is, as files write it; NULL: none. */
const struct splitter_pattern *splitter_find(const char *pattern);

#endif
