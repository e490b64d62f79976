/* aligned_text.h: a text that was changed on its way to a model, and where each of its bytes stood
 * in the text as it was given: "▁Life" for "Life", "é" for "e" and an accent.
 *
 *     struct text_rewriter rewriter = {.in = text};
 *     text_rewriter_keep(&rewriter, 0, 4);                    what stays, from left to right,
 *     text_rewriter_replace(&rewriter, 4, 5, "▁", 3);         and what becomes something else
 *     if (text_rewriter_finish(&rewriter, &out, err)) ...
 *     text_rewriter_release(&rewriter);
 *
 * What stays is copied only when something was replaced: a text that is as it should be costs a
 * look.
 */
#ifndef ATTN_TEXT_ALIGNED_TEXT_H
#define ATTN_TEXT_ALIGNED_TEXT_H

#include <stdint.h>

#include "base/buf.h"

/* Bytes from `at` on, in units of some bytes. Each unit stands for as many bytes as all others,
 * from `start` on in a row: one byte for one is what stayed; three for one are blanks that became
 * ▁; a unit may stand for none. */
struct alignment {
    size_t at;
    size_t start;
    uint32_t unit;  /* of the text as it is, at least 1 */
    uint32_t given; /* what each stood for in the text as given */
};

struct aligned_text {
    const char *bytes; /* valid UTF-8 */
    size_t size;
    size_t start; /* where the first byte stood, when there are no parts */
    const struct alignment *parts;
    size_t part_count; /* 0: byte for byte from `start` on */
};

/* A range of bytes. */
struct text_range {
    size_t start, end;
};

/* Where bytes stood in the text as given; `hint` begins as 0, and makes it quick where ranges come
 * from left to right. The second is for a text that has parts. */
struct text_range aligned_text_find(const struct aligned_text *text, struct text_range range,
                                    size_t *hint);

static inline struct text_range aligned_text_place(const struct aligned_text *text,
                                                   struct text_range range, size_t *hint)
{
    if (text->part_count)
        return aligned_text_find(text, range, hint);
    return (struct text_range){text->start + range.start, text->start + range.end};
}

/* What the steps of a tokenizer may make of one text: a few chained replacements of "a" by ten
 * would otherwise fill the memory, and a pattern that goes back in every word take hours. */
struct text_limits {
    size_t size_max;   /* bytes, however steps change it */
    size_t steps_left; /* backtracking of all searches by regular expressions (matcher.h) */
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
    struct text_limits *limits; /* NULL: none */
    struct buf bytes;
    struct alignment *parts;
    size_t part_count, part_room;
    size_t next_at, next_start; /* where the last part ends, if it ends with a unit */
    size_t hint;
    struct text_range kept; /* what stays and was not copied yet */
    bool changed;
    bool failed, too_long;
    size_t too_large; /* bytes that stand for one thing, or it for them */
};

/* The bytes [start, end) stay; or become others, none of them it may be; or others come in, where
 * start is end. Ranges come from left to right; what lies between them is gone. */
void text_rewriter_keep(struct text_rewriter *rewriter, size_t start, size_t end);
void text_rewriter_replace(struct text_rewriter *rewriter, size_t start, size_t end,
                           const char *bytes, size_t size);

/* Each of the bytes from `start` on becomes `unit` others, `size` in all. */
void text_rewriter_replace_bytes(struct text_rewriter *rewriter, size_t start, const char *bytes,
                                 size_t size, size_t unit);

/* The new text, which lives as long as the rewriter; `in` itself when nothing changed. */
int text_rewriter_finish(struct text_rewriter *rewriter, struct aligned_text *out, struct err *err);
void text_rewriter_release(struct text_rewriter *rewriter);

/* Begin anew with the memory that is there. */
void text_rewriter_restart(struct text_rewriter *rewriter, const struct aligned_text *in,
                           struct text_limits *limits);

#endif
