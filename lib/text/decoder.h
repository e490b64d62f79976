/* decoder.h: from tokens back to a text, by the steps of `decoder` in a tokenizer.json: each token
 * passes through all steps, and the last one writes text.
 *
 *     struct token_decoder decoder = {.steps = steps, .out = &buf};
 *     token_decoder_put(&decoder, bytes, size);      token after token
 *     token_decoder_end(&decoder);
 *     token_decoder_release(&decoder);
 *
 * Bytes of the result that are not UTF-8 become U+FFFD, as in other programs.
 */
#ifndef ATTN_TEXT_DECODER_H
#define ATTN_TEXT_DECODER_H

#include "text/matcher.h"

struct json;

enum { DECODER_STEPS_MAX = 16 };

struct decoder_step {
    struct decoder_step *next;
    const struct decoder_row *row;
    struct matcher matcher; /* Replace, Metaspace, BPEDecoder: the search */
    const char *content;    /* the replacement; Strip: the text to remove; WordPiece: the prefix */
    size_t content_size;
    long long start, stop; /* Strip: the most removals on each side */
    bool fused;            /* Strip: counts over all tokens, not for each */
    bool strips_first;     /* Metaspace: no space before the first token */
    bool cleans;           /* WordPiece: remove spaces before punctuation */
    size_t index;
};

/* Read the value of `decoder`, a Sequence or one step; NULL and null: none. The steps live in the
 * arena; they are released by decoders_release, also after a failure. */
int decoders_read(struct decoder_step **steps, const struct json *value, struct arena *arena,
                  struct err *err);
void decoders_release(struct decoder_step *steps);

/* Remove the step that strips the space before the text. */
void decoders_keep_front(struct decoder_step *steps);

/* decoders_sign returns the sign of a space in tokens, decoders_prefix the prefix of WordPiece's
 * tokens that continue a word; NULL if there is none. decoders_join_bytes is true if <0x00> to
 * <0xFF> are bytes; decoder_byte_of returns the byte of such a token, or -1. */
const struct matcher *decoders_sign(const struct decoder_step *steps);
const char *decoders_prefix(const struct decoder_step *steps);
bool decoders_join_bytes(const struct decoder_step *steps);
int decoder_byte_of(const char *token, size_t size);

struct token_decoder {
    const struct decoder_step *steps; /* NULL: tokens are separated by spaces */
    struct buf *out;
    size_t count; /* number of tokens */
    struct decoder_state {
        size_t tokens; /* number of tokens that the step received */
        size_t stripped;
        bool done; /* nothing more is stripped */
        bool owes_space;
        struct buf bytes; /* adjacent byte tokens, or the rewritten token */
    } states[DECODER_STEPS_MAX];
    struct buf rest; /* bytes that may begin a character */
};

void token_decoder_put(struct token_decoder *decoder, const char *token, size_t size);
void token_decoder_end(struct token_decoder *decoder);
void token_decoder_release(struct token_decoder *decoder);

#endif
