/* decoder.h: from tokens back to a text, by the steps of `decoder` in a tokenizer.json: each token
 * passes through all steps, and the output of the last step is the text.
 *
 *     struct token_decoder decoder = {.steps = steps, .out = &buf};
 *     token_decoder_put(&decoder, bytes, size);      token after token
 *     token_decoder_end(&decoder);
 *     token_decoder_release(&decoder);
 *
 * Bytes of the result that are not UTF-8 become U+FFFD, as in other programs. */
#pragma once

#include "base/buf.h"
#include "text/stages.h"

enum { DECODER_STEPS_MAX = 16 };

/* decoders_sign returns the sign of a space in tokens, decoders_prefix the prefix of WordPiece's
 * tokens that continue a word; NULL if there is none. decoders_join_bytes is true if <0x00> to
 * <0xFF> are bytes; decoder_byte_of returns the byte of such a token, or -1. */
const struct matcher *decoders_sign(const struct stage *steps);
const char *decoders_prefix(const struct stage *steps);
bool decoders_join_bytes(const struct stage *steps);
int decoder_byte_of(const char *token, size_t size);

struct token_decoder {
    const struct stage *steps; /* NULL: tokens are separated by spaces */
    struct buf *out;
    size_t count; /* number of tokens so far */
    struct decoder_state {
        size_t tokens; /* number of tokens that the step received */
        size_t stripped;
        bool done; /* nothing more is stripped at the start of the text */
        bool owes_space;
        struct buf bytes; /* adjacent byte tokens, or the rewritten token */
    } states[DECODER_STEPS_MAX];
    struct buf rest; /* last bytes, which may begin a character that the next token completes */
};

void token_decoder_put(struct token_decoder *decoder, const char *token, size_t size);
void token_decoder_end(struct token_decoder *decoder);
void token_decoder_release(struct token_decoder *decoder);
