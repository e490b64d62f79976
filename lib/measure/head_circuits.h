/* head_circuits.h: the effect of heads by their weights alone (Elhage et al., 2021).
 *
 * A head maps a vector x of the stream to x·W_V·W_O; queries and keys of two vectors give
 * x·W_Q·W_Kᵀ·yᵀ. Biases and rotary embeddings are left out.
 *
 * Copying and successor: the logit that a word raises most. x is the word's embedding without its
 * position, after the norm before the attention, in every layer. Norms after the head lose their
 * divisors, which are the same for all logits, and their shifts; layers in between are skipped.
 *
 * Composition: ‖A·B‖ / (‖A‖ · ‖B‖) in Frobenius norms; A = W_V·W_O of a head, and B is W_Q·W_Kᵀ,
 * W_K·W_Qᵀ or W_V·W_O of a later one. The mean and scales of the norm before a head, not its
 * divisor, are part of its W_Q, W_K and W_V. For a random rotation of B it is 1/√C (root mean
 * square).
 *
 *     if (circuits_all_words(&words, &viewer, seed, &arena, err) ||
 *         circuits_count(found, random, &words, &viewer, seed, err)) ...
 *     if (circuits_report(&report, COMPOSE_K, &viewer, &arena, err)) ...
 */
#ifndef ATTN_MEASURE_HEAD_CIRCUITS_H
#define ATTN_MEASURE_HEAD_CIRCUITS_H

#include "measure/head_scores.h"

/* Pairs of words: does the logit of the second rise most when a head reads the first? */
struct circuit_words {
    const uint32_t *from, *to; /* [count] */
    size_t count;
    const uint32_t *among; /* [among_count], rising: words whose logits are compared; all of `to` */
    size_t among_count;
};

enum { CIRCUIT_WORDS_ALL = 4096, CIRCUIT_WORDS_SAMPLE = 1024 };

/* Every word, paired with itself, among all; of more than CIRCUIT_WORDS_ALL words a sample, drawn
 * by the seed from all parts of the vocabulary. */
int circuits_all_words(struct circuit_words *words, const struct viewer *viewer, uint64_t seed,
                       struct arena *arena, struct err *err);

/* Refuse, as not supported, models without W_V and W_O, or without logits. */
int circuits_check(const struct model *model, bool of_logits, struct err *err);

/* found [heads]: the number of pairs whose second word's logit rises most; random [heads]: the same
 * for the second word of another pair, which the seed chooses. */
int circuits_count(struct mean *found, struct mean *random, const struct circuit_words *words,
                   struct viewer *viewer, uint64_t seed, struct err *err);

enum composition { COMPOSE_Q, COMPOSE_K, COMPOSE_V, COMPOSITIONS };

extern const char *const composition_names[COMPOSITIONS];

/* A matrix of heads by later heads; NaN: not later, or one of them has no effect. The baseline 1/√C
 * is a fact. */
int circuits_report(struct report *report, enum composition way, struct viewer *viewer,
                    struct arena *arena, struct err *err);

#endif
