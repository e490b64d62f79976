/* rotary.h: positions as rotations of queries and keys (Su et al., 2021).
 *
 * The first components of every head, or components from `first` on, are rotated in pairs: pair i
 * of the token at position t by the angle t · f_i with f_i = θ^(-2i / components), and the product
 * of a query and a key depends on their distance. Scalings change the frequencies for texts that
 * are longer than the training texts.
 *
 *     struct rotary rotary = {.components = 64, .theta = 10000};
 *     rotary_fill(cos_sin, &rotary, 0, tokens);              (once a text; cos_sin [tokens, 64])
 *     rotate(q, q, 64, &rotary, cos_sin);                    (in every layer)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "math/tensor.h"

enum rotary_scaling {
    ROTARY_PLAIN,
    ROTARY_LINEAR,       /* the frequency f is divided by `factor` */
    ROTARY_DYNAMIC,      /* a larger θ for texts longer than `positions` */
    ROTARY_LLAMA3,       /* f for short waves, f / factor for long ones, a mixture between them */
    ROTARY_YARN,         /* llama3 with another mixture, and an `amplitude` (Peng et al., 2023) */
    ROTARY_LONGROPE,     /* f divided by a list of factors, and an `amplitude` */
    ROTARY_PROPORTIONAL, /* f / factor of the first `turning` pairs; the others are not rotated */
};

enum { ROTARY_PAIRS_MAX = 128 }; /* the most pairs with longrope: it has a factor for each */

struct rotary {
    size_t components; /* rotated components of a head, even; 0: none */
    bool odd;          /* a head has `components` - 1 rotated components, an odd number, from which
                        * angles are computed */
    size_t first;      /* index of the first rotated component */
    size_t turning;    /* proportional: pairs that are rotated */
    bool neighbours;   /* pairs are 2i and 2i + 1; else i and i + components / 2 */
    double theta;
    enum rotary_scaling scaling;
    double factor; /* longrope: only for the amplitude; 0: positions / trained_positions */
    double low_frequency, high_frequency; /* llama3: low_freq_factor and high_freq_factor */
    double fast, slow;                    /* yarn: beta_fast and beta_slow */
    bool exact;            /* yarn: the ends of the mixture are not rounded to pairs */
    double amplitude;      /* yarn, longrope: factor of rotated vectors; 0: computed
                            * from `factor` */
    double long_amplitude; /* longrope: the amplitude of texts longer than trained_positions; 0:
                            * `amplitude` */
    double positions;      /* dynamic: the longest text with this θ; longrope: the longest text */
    double trained_positions;
    double growth; /* queries are multiplied by 1 + growth · ln(1 + ⌊position / trained_positions⌋);
                    * 0: they are not */
    float short_factors[ROTARY_PAIRS_MAX],
        long_factors
            [ROTARY_PAIRS_MAX]; /* longrope: factors of texts up to trained_positions, and of longer
                                 * texts */
};

/* For a text of `length` tokens, rotary_frequency: the angle of pair `pair` between neighbouring
 * positions; rotary_amplitude: the factor of all cosines and sines. */
double rotary_frequency(const struct rotary *rotary, size_t pair, size_t length);
double rotary_amplitude(const struct rotary *rotary, size_t length);

/* rotary_growth: the factor of the query at a position. rotary_grow multiplies queries, the first
 * at position `first`, by their factors. */
double rotary_growth(const struct rotary *rotary, size_t position);
void rotary_grow(struct matrix queries, const struct rotary *rotary, size_t first);

/* True if angles change when a text of `before` >= 1 tokens grows to `length` tokens. */
bool rotary_depends(const struct rotary *rotary, size_t before, size_t length);

/* cos_sin [rows, components]: cosines, then sines, of all pairs at positions first, first + 1, … in
 * a text of `length` tokens. Computed in float64 and rounded once. */
void rotary_fill(struct matrix cos_sin, const struct rotary *rotary, size_t first, size_t length);

/* y = x with its heads, of `width` columns each, rotated; y may be x. */
void rotate(struct matrix y, struct matrix x, size_t width, const struct rotary *rotary,
            struct matrix cos_sin);
