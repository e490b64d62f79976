/* decoder.h: from ids back to a text, as a tokenizer.json's `decoder` says: each token goes from
 * step to step, and what the last one hands on is text.
 *
 *     struct token_decoder decoder = {.steps = steps, .out = &buf};
 *     token_decoder_put(&decoder, bytes, size);      token after token
 *     token_decoder_end(&decoder);
 *     token_decoder_release(&decoder);
 *
 * Bytes that are not UTF-8 in the end become U+FFFD, as in other programs.
 */
#ifndef ATTN_TEXT_DECODER_H
#define ATTN_TEXT_DECODER_H

#include "text/matcher.h"

struct json;

enum { DECODER_STEPS_MAX = 16 };

struct decoder_step {
    const struct decoder_row *row;
    struct matcher matcher; /* Replace: what, … */
    const char *content; /* … by what; Strip: what; Metaspace: the sign; WordPiece: the prefix */
    size_t content_size;
    long long start, stop; /* Strip: at most so many on each side */
    bool fused;            /* … of all tokens in a row */
    bool strips_first;     /* Metaspace: no blank before the first token */
    bool cleans;           /* WordPiece: blanks before punctuation go */
    size_t index;
    struct decoder_step *next;
};

/* Read the value of `decoder`, a Sequence or one step; NULL and null: none. What was read lives in
 * the arena, and is released by the second, after a failure, too. */
int decoders_read(struct decoder_step **steps, const struct json *value, struct arena *arena,
                  struct err *err);
void decoders_release(struct decoder_step *steps);

/* ByteLevel alone: that of GPT-2's own files. */
int decoders_byte_level(struct decoder_step **steps, struct arena *arena, struct err *err);

/* That of SentencePiece's own models: signs are blanks, bytes are joined, and the blank before the
 * text goes, where one was put there. */
int decoders_sentencepiece(struct decoder_step **steps, bool prefixed, struct arena *arena,
                           struct err *err);

/* … or, of these, does not go. */
void decoders_keep_front(struct decoder_step *steps);

/* What stands for a blank in words, and WordPiece's sign of those that go on a word, NULL when
 * nothing does; are <0x00> to <0xFF> bytes; and the byte that such a word stands for, or -1. */
const struct matcher *decoders_sign(const struct decoder_step *steps);
const char *decoders_prefix(const struct decoder_step *steps);
bool decoders_join_bytes(const struct decoder_step *steps);
int decoder_byte_of(const char *token, size_t size);

struct token_decoder {
    const struct decoder_step *steps; /* NULL: tokens with blanks between them */
    struct buf *out;
    size_t count; /* of tokens */
    struct {
        size_t tokens; /* that came to the step */
        size_t stripped;
        bool done; /* nothing more is stripped */
        bool owes_blank;
        struct buf bytes; /* of byte tokens in a row; or what the step makes of a token */
    } states[DECODER_STEPS_MAX];
    struct buf rest; /* bytes that may begin a character */
};

void token_decoder_put(struct token_decoder *decoder, const char *token, size_t size);
void token_decoder_end(struct token_decoder *decoder);
void token_decoder_release(struct token_decoder *decoder);

#endif
