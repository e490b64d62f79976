/* rotary.h: positions as rotations of queries and keys (Su et al., 2021).
 *
 * The first components of every head turn in pairs: pair i of the token at position t by the angle
 * t · f_i with f_i = θ^(-2i / components), so that a query's product with a key depends on how far
 * they are apart. Scalings change the frequencies for texts longer than those of the training.
 *
 *     struct rotary rotary = {.components = 64, .theta = 10000};
 *     rotary_fill(waves, &rotary, 0, tokens);              (once a text; waves [tokens, 64])
 *     rotate(q, q, 64, &rotary, waves);                    (in every layer)
 */
#ifndef ATTN_MATH_ROTARY_H
#define ATTN_MATH_ROTARY_H

#include <stdbool.h>
#include <stddef.h>

#include "math/tensor.h"

enum rotary_scaling {
    ROTARY_PLAIN,
    ROTARY_LINEAR,   /* f / factor */
    ROTARY_DYNAMIC,  /* a larger θ for texts that are longer than `positions` */
    ROTARY_LLAMA3,   /* short waves as they are, long ones f / factor, between them a mixture */
    ROTARY_YARN,     /* the same by another ramp, and longer vectors (Peng et al., 2023) */
    ROTARY_LONGROPE, /* f divided by a list of factors, and longer vectors */
};

enum { ROTARY_PAIRS_MAX = 128 }; /* where each pair has a factor of its own */

struct rotary {
    size_t components; /* of a head that turn, even; 0: none */
    bool neighbours;   /* pairs are 2i and 2i + 1; else i and i + components / 2 */
    double theta;
    enum rotary_scaling scaling;
    double factor;
    double low_frequency, high_frequency; /* llama3 */
    double fast, slow;                    /* yarn's beta */
    double amplitude; /* of what has turned, yarn and longrope; 0: as the scaling has it */
    double positions; /* dynamic, longrope: that the model takes */
    double trained_positions;
    float short_factors[ROTARY_PAIRS_MAX],
        long_factors[ROTARY_PAIRS_MAX]; /* longrope: up to these, beyond */
};

/* How far pair `pair` of a text of `length` tokens turns from one position to the next; and what
 * all cosines and sines are multiplied with. */
double rotary_frequency(const struct rotary *rotary, size_t pair, size_t length);
double rotary_amplitude(const struct rotary *rotary);

/* Do tokens turn otherwise in a text of `length` tokens than in one of `before`, at least 1? */
bool rotary_depends(const struct rotary *rotary, size_t before, size_t length);

/* waves [rows, components]: the cosines, then the sines, of the pairs at positions first, first +
 * 1, … of a text of `length` tokens. In float64, rounded once. */
void rotary_fill(struct matrix waves, const struct rotary *rotary, size_t first, size_t length);

/* y = x, turned: heads of `width` columns side by side, row by row; y may be x. */
void rotate(struct matrix y, struct matrix x, size_t width, const struct rotary *rotary,
            struct matrix waves);

#endif
