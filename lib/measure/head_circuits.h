/* head_circuits.h: the effect of heads according to their weights alone (Elhage et al., 2021).
 *
 * A head maps a vector x of the residual stream to x·W_V·W_O; vectors x and y have the attention
 * score x·W_Q·W_Kᵀ·yᵀ. Biases and rotary embeddings are ignored.
 *
 * The scores copying and successor ask which logit rises most when a head reads a word. In every
 * layer, x is the word's embedding without position, after the norm before the attention. For norms
 * after the head, the divisors, which are equal for all logits, and the shifts are ignored; later
 * layers are skipped. If two heads make one context, W_V has the values of both heads, and W_O of
 * the second head is multiplied by -lambda.
 *
 * Composition: ‖A·B‖ / (‖A‖ · ‖B‖) in Frobenius norms; A = W_V·W_O of a head, and B is W_Q·W_Kᵀ,
 * W_K·W_Qᵀ or W_V·W_O of a later head. W_Q, W_K and W_V include the scales of the norm before them
 * and its subtraction of the mean, but not its divisor and shift; W_Q, W_K and W_O also include the
 * scales of a norm after them. The baseline is 1/√C, the root mean square for a random rotation of
 * B.
 *
 *     if (circuits_all_words(&words, &viewer, seed, &arena, err) ||
 *         circuits_count(found, random, &words, &viewer, seed, err)) ...
 *     if (circuits_report(&report, COMPOSE_K, &viewer, &arena, err)) ...
 */
#pragma once

#include "measure/head_scores.h"

/* Pairs of words. A pair counts for a head if reading `from` raises the logit of `to` most. */
struct circuit_words {
    const uint32_t *from, *to; /* [count] token ids of the first and the second words */
    size_t count;
    const uint32_t *among; /* [among_count] ascending: ids of the words that compete; they include
                            * all of `to` */
    size_t among_count;
};

enum { CIRCUIT_WORDS_ALL = 4096, CIRCUIT_WORDS_SAMPLE = 1024 };

/* Pair every word with itself, in competition with all words. A vocabulary of more than
 * CIRCUIT_WORDS_ALL words gives a sample of CIRCUIT_WORDS_SAMPLE pairs, spread over the vocabulary
 * and drawn by `seed`. */
int circuits_all_words(struct circuit_words *words, const struct viewer *viewer, uint64_t seed,
                       struct arena *arena, struct err *err);

/* Refuse, as not supported, models without a residual stream, W_V or W_O, models with features that
 * this file does not support and, if `of_logits`, models without logits. */
int circuits_check(const struct model *model, bool of_logits, struct err *err);

/* Count pairs for each head: in found [heads], pairs in which the logit of the second word rises
 * most; in random [heads], the baseline, pairs with the second word of another pair, chosen by
 * `seed`. */
int circuits_count(struct mean *found, struct mean *random, const struct circuit_words *words,
                   struct viewer *viewer, uint64_t seed, struct err *err);

enum { PROMOTIONS = 5 };

/* The tokens whose logits rise and fall most when a head reads `from`, computed as for copying
 * (above). The divisors of norms are left out, so changes can only be compared within one head and
 * one word. */
struct promotion {
    uint32_t from;
    struct promoted {
        uint32_t id;
        float change;
    } raised[PROMOTIONS], lowered[PROMOTIONS]; /* the largest change first */
};

/* Fill in promotions [heads, across], with `across` words for each head. The caller sets `from` of
 * each promotion. */
int circuits_promote(struct promotion *promotions, size_t across, struct viewer *viewer,
                     struct err *err);

enum composition { COMPOSE_Q, COMPOSE_K, COMPOSE_V, COMPOSITIONS };

extern const char *const composition_names[COMPOSITIONS];

/* Report a matrix of heads by heads of later layers; NaN: the column's head is not later, or a head
 * has no effect. Two heads that make one context are one writer, and read values as one head. The
 * baseline 1/√C is a fact of the report. */
int circuits_report(struct report *report, enum composition way, struct viewer *viewer,
                    struct arena *arena, struct err *err);
