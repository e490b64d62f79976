/* pre_tokenizer.h: the steps that split a text into pieces before the model: `pre_tokenizer` of a
 * tokenizer.json. Each step gets a piece and passes the pieces it makes of it on (encoder.h).
 *
 * Most steps search (matcher.h) and split at the matches: Digits, Punctuation, Split,
 * Whitespace. ByteLevel and Metaspace change the piece before it is split.
 */
#ifndef ATTN_TEXT_PRE_TOKENIZER_H
#define ATTN_TEXT_PRE_TOKENIZER_H

#include "text/matcher.h"

struct encoder;
struct json;

/* A range of a text after its normalization, or after a step that changed it. */
struct text_piece {
    const struct aligned_text *text;
    struct text_range range;
};

/* How a text is split at matches, as in Hugging Face's library. */
enum split_behavior {
    SPLIT_REMOVED,
    SPLIT_ISOLATED,
    SPLIT_MERGED_WITH_PREVIOUS,
    SPLIT_MERGED_WITH_NEXT,
    SPLIT_CONTIGUOUS, /* adjacent matches are one piece */
};

enum prepend_scheme { PREPEND_NEVER, PREPEND_FIRST, PREPEND_ALWAYS };

/* One step. ByteLevel, Metaspace and BertPreTokenizer become several steps. */
struct pre_tokenizer {
    struct pre_tokenizer *next;
    const char *name; /* of the type; NULL: a further step of the same type */
    int (*run)(const struct pre_tokenizer *step, struct encoder *encoder,
               const struct text_piece *piece, struct err *err);
    struct matcher matcher; /* separators; or the spaces that `sign` replaces */
    enum split_behavior behavior;
    bool inverted;               /* matches and the text between them change roles */
    enum prepend_scheme prepend; /* `sign`, unless the piece begins with it */
    const char *sign;            /* a space, or its replacement ▁ */
    size_t sign_size;
};

/* Read the value of `pre_tokenizer`, a Sequence or one step; NULL and null: none. The steps live in
 * the arena; they are released by pre_tokenizers_release, also after a failure. */
int pre_tokenizers_read(struct pre_tokenizer **steps, const struct json *value, struct arena *arena,
                        struct err *err);
void pre_tokenizers_release(struct pre_tokenizer *steps);

/* If ByteLevel is the only type of step, add the space before texts or remove it. */
int pre_tokenizers_set_prefix(struct pre_tokenizer **steps, bool wanted, struct arena *arena,
                              struct err *err);

/* The `run` of ByteLevel: writes bytes as characters of GPT-2's alphabet. */
int pre_tokenizer_encode_bytes(const struct pre_tokenizer *step, struct encoder *encoder,
                               const struct text_piece *piece, struct err *err);

#endif
