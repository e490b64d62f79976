/* shown_tokens.h: tokens as people should see them, where a vocabulary writes blanks as signs and
 * bytes by their number: "▁the" is " the", "<0xE2>" is that byte.
 */
#ifndef ATTN_TEXT_SHOWN_TOKENS_H
#define ATTN_TEXT_SHOWN_TOKENS_H

#include "text/word_table.h"

struct decoder_step;

struct shown_tokens {
    struct word_place *places; /* [count] by id; NULL: tokens are shown as they are */
    size_t count;
    char *bytes;
};

/* Make them of the words, as the decoder says; what it needs is the arena's. */
int shown_tokens_init(struct shown_tokens *shown, const struct word_table *words,
                      const struct decoder_step *decoders, struct arena *arena, struct err *err);

/* The shown bytes of an id; NULL: those that it has, or it is no word of the vocabulary. */
const char *shown_tokens_at(const struct shown_tokens *shown, uint32_t id, size_t *size);

#endif
