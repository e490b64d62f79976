/* normalizer.h: what a tokenizer.json does to a text before anything cuts it, step by step.
 *
 * After every step it is known where each byte stood in the text as given (aligned_text.h). Steps
 * are rows of one table; one that is not there is refused by its name.
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
    const struct normalizer_row *row;
    struct matcher matcher; /* Replace: what, … */
    const char *content;    /* … by what; Prepend, Append: what */
    size_t content_size;
    bool left, right;                /* Strip: on these sides */
    bool first;                      /* Prepend: to the front of the text as given alone */
    bool stays[256];                 /* by first byte: a character that `change` leaves alone */
    const struct charsmap *charsmap; /* Precompiled */
    const struct added_tokens *kept; /* … and what it leaves alone, */
    bool collapses;                  /* but for blanks after a blank or at the front */
    struct normalizer *next;
};

/* A kind of step: how its object is read, when it says more than its type and a text, and what it
 * does to a text: what it neither keeps nor replaces is gone; or what becomes of a character: it
 * writes how many bytes, or NORMALIZER_SAME. */
enum { NORMALIZER_BYTES = 6, NORMALIZER_SAME = -1 };

struct normalizer_row {
    const char *name;
    int (*read)(struct normalizer *step, const struct json *value, struct arena *arena,
                struct err *err);
    int (*apply)(const struct normalizer *step, struct text_rewriter *rewriter, struct err *err);
    int (*change)(char bytes[NORMALIZER_BYTES], uint32_t character);
    const char *content; /* the field of the text; NULL: there is none */
};

/* Read the value of `normalizer`, a Sequence or one step; NULL and null: none. What was read lives
 * in the arena, and is released by the second, after a failure, too. */
int normalizers_read(struct normalizer **steps, const struct json *value, struct arena *arena,
                     struct err *err);
void normalizers_release(struct normalizer *steps);

/* True where a step is ByteLevel: texts come in GPT-2's alphabet. */
bool normalizers_spell_bytes(const struct normalizer *steps);

/* A text after all steps: itself where nothing changes; else it lives in one of the rewriters,
 * which the caller releases. */
int normalize(const struct normalizer *steps, struct aligned_text *out,
              const struct aligned_text *text, struct text_rewriter rewriters[2],
              struct text_limits *limits, struct err *err);

/* NFC alone. */
int normalizers_compose(struct normalizer **steps, struct arena *arena, struct err *err);

/* The steps of SentencePiece's own models. */
struct sentencepiece_rules {
    const struct added_tokens *kept; /* those that are normalized stay as they are */
    const unsigned char *charsmap;   /* of characters that become others */
    size_t charsmap_size;
    bool collapses; /* blanks in a row are one, and there is none at the front and the end */
    bool prefixes;  /* a blank before the text */
    bool escapes;   /* blanks are ▁ */
};

int normalizers_sentencepiece(struct normalizer **steps, const struct sentencepiece_rules *rules,
                              struct arena *arena, struct err *err);

/* Of these: take the blank before texts away, or leave it only before the first stretch of a text.
 * False where there is none. */
bool normalizers_limit_prefix(struct normalizer **steps, bool removed, bool first);

/* --- Precompiled: normalizer_charsmap.c ------------------------------------------------------- */

int normalizer_read_charsmap(struct normalizer *step, const struct json *value, struct arena *arena,
                             struct err *err);
int charsmap_read(const struct charsmap **charsmap, const unsigned char *bytes, size_t size,
                  struct arena *arena, struct err *err);
int normalize_charsmap_longest(const struct normalizer *step, struct text_rewriter *rewriter,
                               struct err *err);
int normalize_charsmap(const struct normalizer *step, struct text_rewriter *rewriter,
                       struct err *err);

#endif
