/* normalizer.h: the changes of a text before it is split: `normalizer` of a tokenizer.json, step by
 * step. The position of each byte in the original text stays known (aligned_text.h).
 *
 *     struct text_rewriter rewriters[2] = {0};
 *     struct text_limits limits = text_limits_of(text.size);
 *     if (normalize(steps, &out, &text, rewriters, &limits, err)) ...
 *     text_rewriter_release(&rewriters[0]);      and the other
 */
#ifndef ATTN_TEXT_NORMALIZER_H
#define ATTN_TEXT_NORMALIZER_H

#include "text/matcher.h"

struct json;

struct normalizer {
    struct normalizer *next;
    const char *name;
    const struct normalizer_row *row;
    struct matcher matcher; /* Replace: the search */
    const char *content;    /* Replace, Prepend, Append: the new text */
    size_t content_size;
    bool left, right;                /* Strip: on these sides */
    bool first;                      /* Prepend: only at the start of the original text */
    bool stays[256];                 /* true for ASCII that the step does not change */
    const struct charsmap *charsmap; /* Precompiled; NULL: it maps nothing */
    const struct added_tokens *kept; /* SentencePiece: tokens that are not mapped */
    bool collapses;                  /* SentencePiece: drop spaces at the start and after spaces */
};

/* Read the value of `normalizer`, a Sequence or one step; NULL and null: none. The steps live in
 * the arena; they are released by normalizers_release, also after a failure. */
int normalizers_read(struct normalizer **steps, const struct json *value, struct arena *arena,
                     struct err *err);
void normalizers_release(struct normalizer *steps);

/* The settings of the normalizer of a SentencePiece model. */
struct sentencepiece_rules {
    const struct added_tokens *kept; /* tokens that are not normalized */
    const unsigned char *charsmap;   /* the map of characters */
    size_t charsmap_size;
    bool collapses; /* remove spaces at both ends and repeated spaces */
    bool prefixes;  /* add a space before the text */
    bool escapes;   /* write spaces as ▁ */
};

int normalizers_sentencepiece(struct normalizer **steps, const struct sentencepiece_rules *rules,
                              struct arena *arena, struct err *err);

/* Change the steps of a SentencePiece model: add no space before texts, or only before the first
 * part of a text. False if they add none. */
bool normalizers_limit_prefix(struct normalizer **steps, bool removed, bool first);

/* True if a step is ByteLevel, which writes texts in GPT-2's alphabet. */
bool normalizers_encode_bytes(const struct normalizer *steps);

/* Apply all steps. The result is the text itself if nothing changes, else it lives in one of the
 * rewriters, which the caller releases. */
int normalize(const struct normalizer *steps, struct aligned_text *out,
              const struct aligned_text *text, struct text_rewriter rewriters[2],
              struct text_limits *limits, struct err *err);

#endif
