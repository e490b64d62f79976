/* choice.h: how likely a chosen token was, and which ones were most likely.
 *
 *     struct choice choice;
 *     choice_make(&choice, text.logits, config->vocab_size, text.chosen);
 */
#ifndef ATTN_LENS_CHOICE_H
#define ATTN_LENS_CHOICE_H

#include <stddef.h>
#include <stdint.h>

enum { CHOICE_BEST = 5 };

/* A token and the logarithm of its probability, as the model gives it: before any temperature and
 * whatever is left out. */
struct likely {
    uint32_t id;
    float logprob;
};

struct choice {
    struct likely chosen;
    struct likely best[CHOICE_BEST]; /* the most likely first */
    size_t best_count;               /* fewer in a vocabulary of fewer words */
};

void choice_make(struct choice *choice, const float *logits, size_t count, uint32_t chosen);

#endif
