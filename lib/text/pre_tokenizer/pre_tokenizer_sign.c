/* pre_tokenizer_sign.c: pieces that change before they are cut. */
#include <string.h>

#include "text/encoder.h"
#include "text/pre_tokenizer/pre_tokenizer.h"
#include "text/word_table.h"

enum { SIGN_BYTES = 2, SIGNS_BYTES = 512 }; /* of GPT-2's alphabet, beyond ASCII; of many */

/* A rewriter with the memory of the last one. */
static struct text_rewriter begin(struct encoder *encoder, const struct text_piece *piece)
{
    struct text_rewriter rewriter = encoder->spare;
    encoder->spare = (struct text_rewriter){0};
    text_rewriter_restart(&rewriter, piece->text, &encoder->limits);
    return rewriter;
}

/* Hand on what a rewriter made of a piece. */
static int hand_on(const struct pre_tokenizer *step, struct encoder *encoder,
                   struct text_rewriter *rewriter, struct err *err)
{
    struct aligned_text text;
    int failed = text_rewriter_finish(rewriter, &text, err);
    if (failed)
        err_prefix(err, "pre_tokenizer: %s",
                   step->cut == pre_tokenizer_spell ? "ByteLevel" : "Metaspace");
    if (!failed && text.size) {
        struct text_piece piece = {&text, {0, text.size}};
        failed = encoder_pass(encoder, step->next, &piece, err);
    }
    text_rewriter_release(&encoder->spare); /* of a step after this one */
    encoder->spare = *rewriter;
    return failed;
}

/* Does the sign go before the piece? */
static bool prepends(const struct pre_tokenizer *step, const struct text_piece *piece)
{
    size_t hint = 0;
    struct text_range range = piece->range;
    const char *bytes = piece->text->bytes + range.start;
    size_t size = range.end - range.start;
    if (step->prepend == PREPEND_NEVER ||
        (size >= step->sign_size && memcmp(bytes, step->sign, step->sign_size) == 0) ||
        (step->matcher.literal && *bytes == ' ')) /* it is about to be one */
        return false;
    return step->prepend == PREPEND_ALWAYS ||
           aligned_text_place(piece->text, range, &hint).start == 0;
}

int pre_tokenizer_sign(const struct pre_tokenizer *step, struct encoder *encoder,
                       const struct text_piece *piece, struct err *err)
{
    struct text_range range = piece->range;
    const char *bytes = piece->text->bytes;
    const char *blank = memchr(bytes + range.start, ' ', range.end - range.start);
    bool prepended = prepends(step, piece);
    if (!step->matcher.literal)
        blank = NULL;
    if (!blank && !prepended)
        return encoder_pass(encoder, step->next, piece, err);
    struct text_rewriter rewriter = begin(encoder, piece);
    size_t at = range.start;
    if (prepended)
        text_rewriter_replace(&rewriter, at, at, step->sign, step->sign_size);
    for (; blank; blank = memchr(bytes + at, ' ', range.end - at)) {
        size_t place = (size_t)(blank - bytes);
        text_rewriter_keep(&rewriter, at, place);
        at = place + 1;
        text_rewriter_replace(&rewriter, place, at, step->sign, step->sign_size);
    }
    text_rewriter_keep(&rewriter, at, range.end);
    return hand_on(step, encoder, &rewriter, err);
}

int pre_tokenizer_spell(const struct pre_tokenizer *step, struct encoder *encoder,
                        const struct text_piece *piece, struct err *err)
{
    if (!step->next) /* the model's own words are bytes */
        return encoder_pass(encoder, NULL, piece, err);
    const char *bytes = piece->text->bytes;
    struct text_rewriter rewriter = begin(encoder, piece);
    for (size_t at = piece->range.start, next; at < piece->range.end; at = next) {
        char signs[SIGNS_BYTES];
        size_t size = 0;
        next = at;
        while (next < piece->range.end && bytes[next] > ' ' && bytes[next] < 0x7F)
            next++; /* they stand for themselves */
        if (next > at)
            text_rewriter_keep(&rewriter, at, next);
        for (at = next; next < piece->range.end && size + SIGN_BYTES <= sizeof signs; next++) {
            uint32_t c = byte_alphabet_sign((unsigned char)bytes[next]);
            if (c < 0x80)
                break;
            size += utf8_encode(signs + size, c);
        }
        text_rewriter_replace_bytes(&rewriter, at, signs, size, SIGN_BYTES);
    }
    return hand_on(step, encoder, &rewriter, err);
}
