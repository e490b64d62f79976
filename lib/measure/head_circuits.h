/* head_circuits.h: what heads do by their weights alone (Elhage et al., 2021).
 *
 * A head reads a vector x of the stream by W_V and adds x·W_V·W_O to it; what its queries and keys
 * see of two is x·W_Q·W_Kᵀ·yᵀ. All biases are left out, and so are rotations of queries and keys.
 *
 * Which logit a word raises most: x is the word's embedding, without a place, as the norm in front
 * of the attention makes it, whatever the layer. Of the norms after it (of what is added, the last
 * one) the mean is taken off and the scales are applied; their divisors, above 0 and the same for
 * all logits, change no order, and shifts depend on no word. Layers between are passed by.
 *
 * How heads compose: ‖A·B‖ / (‖A‖ · ‖B‖), by Frobenius, where A = W_V·W_O of a head and B is what
 * one of a later layer reads by: W_Q·W_Kᵀ, W_K·W_Qᵀ or W_V·W_O. The norm in front of each head is
 * in its W_Q, W_K and W_V: mean and scales, not the divisor. Of two matrices of which one is turned
 * at random that is 1/√C (the root of the mean square).
 *
 *     struct circuit_words words;
 *     if (circuits_all_words(&words, &viewer, seed, &arena, err) ||
 *         circuits_count(found, random, &words, &viewer, seed, err)) ...
 *     if (circuits_compose(values, COMPOSE_K, &viewer, err)) ...
 */
#ifndef ATTN_MEASURE_HEAD_CIRCUITS_H
#define ATTN_MEASURE_HEAD_CIRCUITS_H

#include "measure/head_scores.h"

/* Words that heads read, and those whose logit should rise most. */
struct circuit_words {
    const uint32_t *from, *to; /* [count] */
    size_t count;
    const uint32_t *among; /* [among_count], rising: whose logits are looked at; all of `to` */
    size_t among_count;
};

enum { CIRCUIT_WORDS_ALL = 4096, CIRCUIT_WORDS_SAMPLE = 1024 };

/* Every word, to itself, among all; of more than CIRCUIT_WORDS_ALL so many, drawn by the seed, one
 * from each stretch of the vocabulary. */
int circuits_all_words(struct circuit_words *words, const struct viewer *viewer, uint64_t seed,
                       struct arena *arena, struct err *err);

/* Refused, as not supported: models without logits; without W_V and W_O. */
int circuits_check(const struct model *model, bool of_logits, struct err *err);

/* found [heads]: how many words raise the logit of the other word most; random [heads]: that of the
 * word of another pair, which the seed chooses. */
int circuits_count(struct mean *found, struct mean *random, const struct circuit_words *words,
                   struct viewer *viewer, uint64_t seed, struct err *err);

enum composition { COMPOSE_Q, COMPOSE_K, COMPOSE_V, COMPOSITIONS };

extern const char *const composition_names[COMPOSITIONS];

/* values [L · H, L · H]: how a head, a row, composes with one of a later layer, a column; NaN: it
 * is not later, or one of them does nothing. */
int circuits_compose(float *values, enum composition way, struct viewer *viewer, struct err *err);

/* The same as a matrix of heads by heads; its baseline, 1/√C, is a fact. */
int circuits_report(struct report *report, enum composition way, struct viewer *viewer,
                    struct arena *arena, struct err *err);

#endif
