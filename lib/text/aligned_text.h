/* aligned_text.h: a changed text and the position of each byte in the original text: "▁Life" for
 * "Life", "é" for "e" and an accent.
 *
 *     struct text_rewriter rewriter = {.in = text};
 *     text_rewriter_keep(&rewriter, 0, 4);                    from left to right
 *     text_rewriter_replace(&rewriter, 4, 5, "▁", 3);
 *     if (text_rewriter_finish(&rewriter, &out, err)) ...
 *     text_rewriter_release(&rewriter);
 *
 * Nothing is copied unless something changes. */
#pragma once

#include <stdint.h>

#include "base/buf.h"

/* Bytes of a changed text from `at` on, in units of equal size, each made of `original` adjacent
 * bytes of the original text, from `start` on. `unit` and `original` are 1 and 1 for unchanged
 * text, 3 and 1 for spaces that became ▁; `original` is 0 for inserted text. */
struct alignment {
    size_t at;
    size_t start;
    uint32_t unit;     /* number of bytes of a unit in the changed text, at least 1 */
    uint32_t original; /* number of bytes of the original text for each unit */
};

struct aligned_text {
    const char *bytes; /* valid UTF-8 */
    size_t size;
    size_t start; /* if `part_count` is 0: position of `bytes` in the original text */
    const struct alignment *parts;
    size_t part_count; /* 0: the text equals the original text from `start` on */
};

/* A range of bytes, [start, end). */
struct text_range {
    size_t start, end;
};

/* The bytes of the original text that a range was made from. `*hint` is 0 at first, and makes
 * ascending ranges faster. aligned_text_find_origin() is only for a text with parts. */
struct text_range aligned_text_find_origin(const struct aligned_text *text, struct text_range range,
                                           size_t *hint);

static inline struct text_range aligned_text_origin(const struct aligned_text *text,
                                                    struct text_range range, size_t *hint)
{
    if (text->part_count)
        return aligned_text_find_origin(text, range, hint);
    return (struct text_range){text->start + range.start, text->start + range.end};
}

/* Limits for the steps of a tokenizer on one text: without them, chained replacements of "a" by
 * "aaaaaaaa" would fill the memory, and patterns that backtrack in every word would take hours. */
struct text_limits {
    size_t size_max;   /* maximum size in bytes of the text after a step */
    size_t steps_left; /* steps of backtracking that searches may still use (matcher.h) */
};

enum {
    TEXT_GROWTH = 64,
    TEXT_GROWTH_BYTES = 65536,
    REGEX_STEPS = 1 << 22,
    REGEX_STEPS_PER_BYTE = 128,
};

struct text_limits text_limits_of(size_t text_size);

struct text_rewriter {
    const struct aligned_text *in;
    struct text_limits *limits; /* NULL: no limits */
    struct buf bytes;
    struct alignment *parts;
    size_t part_count, part_capacity;
    size_t next_at, next_start; /* the end of the last part's whole units, in the changed and in the
                                 * original text */
    size_t hint;
    struct text_range kept; /* bytes of `in` that are kept, and not copied yet */
    bool changed;
    bool failed, too_long;
    size_t too_large; /* size of a unit that exceeds 32 bits, which is an error; 0: none does */
};

/* Keep the bytes [start, end) of `in`, or replace them by `bytes`; if start = end, insert `bytes`.
 * Ranges ascend; bytes of `in` outside of all ranges are dropped. */
void text_rewriter_keep(struct text_rewriter *rewriter, size_t start, size_t end);
void text_rewriter_replace(struct text_rewriter *rewriter, size_t start, size_t end,
                           const char *bytes, size_t size);

/* Set `*out` to the new text, valid until the rewriter is restarted or released, or to `in` if
 * nothing changed. */
int text_rewriter_finish(struct text_rewriter *rewriter, struct aligned_text *out, struct err *err);
void text_rewriter_release(struct text_rewriter *rewriter);

/* Begin another text with the same memory. */
void text_rewriter_restart(struct text_rewriter *rewriter, const struct aligned_text *in,
                           struct text_limits *limits);
