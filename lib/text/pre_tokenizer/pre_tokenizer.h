/* pre_tokenizer.h: how a tokenizer.json wants a text to be cut into pieces before its model sees
 * them, step by step: each step takes a piece and hands on what it cuts it into (encoder.h).
 *
 * Most are a search (matcher.h) and what becomes of that which is found: Digits, Punctuation,
 * Split, Whitespace. ByteLevel and Metaspace change the piece before they cut it.
 */
#ifndef ATTN_TEXT_PRE_TOKENIZER_H
#define ATTN_TEXT_PRE_TOKENIZER_H

#include "text/matcher.h"

struct encoder;
struct json;

/* A stretch of a text that was normalized, or of one that a step has changed. */
struct text_piece {
    const struct aligned_text *text;
    struct text_range range;
};

/* What becomes of what is found. */
enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS, /* matches in a row are one piece */
};

enum prepend_scheme { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS };

/* One step. ByteLevel, Metaspace and BertPreTokenizer are several. */
struct pre_tokenizer {
    const char *name; /* of the type; NULL: a further step of the same */
    int (*cut)(const struct pre_tokenizer *step, struct encoder *encoder,
               const struct text_piece *piece, struct err *err);
    struct matcher matcher; /* what cuts; or what is replaced by the sign */
    enum split_behavior behavior;
    bool inverted;               /* what is not found is what is meant */
    enum prepend_scheme prepend; /* the sign, to a piece that does not begin with it */
    const char *sign;            /* a space, or its replacement ▁ */
    size_t sign_size;
    struct pre_tokenizer *next;
};

/* Read the value of `pre_tokenizer`, a Sequence or one step; NULL and null: none. What was read
 * lives in the arena, and is released by the second, after a failure, too. */
int pre_tokenizers_read(struct pre_tokenizer **steps, const struct json *value, struct arena *arena,
                        struct err *err);
void pre_tokenizers_release(struct pre_tokenizer *steps);

/* Cut by a regular expression, which may be that of a splitter, and ByteLevel: what files leave
 * unsaid that have words of bytes alone. */
int pre_tokenizers_byte_level(struct pre_tokenizer **steps, const char *pattern,
                              struct arena *arena, struct err *err);

/* Where ByteLevel is all that cuts: put a blank before texts, or not. */
int pre_tokenizers_set_prefix(struct pre_tokenizer **steps, bool wanted, struct arena *arena,
                              struct err *err);

/* What a step does to a piece: hand on what a search cuts it into (pre_tokenizer_split.c), with
 * blanks as signs, or with the characters of GPT-2's alphabet for its bytes (pre_tokenizer_sign.c).
 */
int pre_tokenizer_split(const struct pre_tokenizer *step, struct encoder *encoder,
                        const struct text_piece *piece, struct err *err);
int pre_tokenizer_sign(const struct pre_tokenizer *step, struct encoder *encoder,
                       const struct text_piece *piece, struct err *err);
int pre_tokenizer_spell(const struct pre_tokenizer *step, struct encoder *encoder,
                        const struct text_piece *piece, struct err *err);

#endif
