/* normalizer.h: the changes of a text before it is split: `normalizer` of a tokenizer.json, step by
 * step. The position of each byte in the original text stays known (aligned_text.h).
 *
 *     struct text_rewriter rewriters[2] = {0};
 *     struct text_limits limits = text_limits_of(text.size);
 *     if (normalize(steps, &out, &text, rewriters, &limits, err)) ...
 *     text_rewriter_release(&rewriters[0]);      and rewriters[1]
 */
#pragma once

#include "text/stages.h"

/* The settings of the normalizer of a SentencePiece model. */
struct sentencepiece_rules {
    const struct added_tokens *kept; /* tokens that are not normalized */
    const unsigned char *charsmap;   /* the map of characters */
    size_t charsmap_size;
    bool collapses; /* remove spaces at both ends and repeated spaces */
    bool prefixes;  /* add a space before the text, */
    bool first;     /* but not after added tokens */
    bool escapes;   /* write spaces as ▁ */
};

int normalizers_sentencepiece(struct stage **steps, const struct sentencepiece_rules *rules,
                              struct arena *arena, struct err *err);

/* Write the bytes of a range in GPT-2's alphabet. */
void normalize_bytes(struct text_rewriter *rewriter, struct text_range range);

/* True if a step is ByteLevel, which writes texts in GPT-2's alphabet. */
bool normalizers_encode_bytes(const struct stage *steps);

/* Apply all steps. The result is the text itself if nothing changes, else it lives in one of the
 * rewriters, which the caller releases. */
int normalize(const struct stage *steps, struct aligned_text *out, const struct aligned_text *text,
              struct text_rewriter rewriters[2], struct text_limits *limits, struct err *err);
