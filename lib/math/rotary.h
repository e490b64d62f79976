/* rotary.h: positions as rotations of queries and keys (Su et al., 2021).
 *
 * The first components of every head, or components from `first` on, are rotated in pairs. At
 * position t, pair i is rotated by the angle t · f_i with f_i = θ^(-2i / components): the product
 * of a query and a key depends on their distance. Scalings change the frequencies f_i for texts
 * that are longer than the training texts.
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
    ROTARY_DYNAMIC,      /* θ is larger for texts longer than `positions` */
    ROTARY_LLAMA3,       /* short waves have the frequency f, long waves f / factor, waves in
                          * between a mixture of both */
    ROTARY_YARN,         /* as ROTARY_LLAMA3, with another mixture and an `amplitude` (Peng et al.,
                          * 2023) */
    ROTARY_LONGROPE,     /* each pair's frequency f is divided by a factor of its own; also an
                          * `amplitude` */
    ROTARY_PROPORTIONAL, /* the first `turning` pairs have the frequency f / factor; other pairs are
                          * not rotated */
};

enum {
    ROTARY_PAIRS_MAX = 128
}; /* maximum number of pairs with longrope, which has a factor for
                                  * each pair */

struct rotary {
    size_t components; /* number of rotated components of a head, even; 0: nothing is rotated */
    bool odd;          /* frequencies are computed with `components` - 1, an odd number, in place of
                        * `components` */
    size_t first;      /* index of the first rotated component */
    size_t turning;    /* proportional: number of pairs that are rotated */
    bool neighbours;   /* pair i is components 2i and 2i + 1; otherwise i and i + components / 2 */
    double theta;
    enum rotary_scaling scaling;
    double factor; /* divides frequencies; dynamic: makes θ larger; longrope: used only for the
                    * amplitude, where 0 means positions / trained_positions */
    double low_frequency, high_frequency; /* llama3: low_freq_factor and high_freq_factor of the
                                           * model's config */
    double fast, slow;                    /* yarn: beta_fast and beta_slow of the model's config */
    bool exact;            /* yarn: the ends of the mixture are fractional indices of pairs; false:
                            * they are rounded outwards to whole pairs */
    double amplitude;      /* yarn, longrope: factor of rotated vectors; 0: computed from
                            * `factor` */
    double long_amplitude; /* longrope: the amplitude of texts longer than trained_positions; 0: the
                            * same as `amplitude` */
    double positions;      /* dynamic: tokens of the longest text with an unchanged θ; longrope:
                            * tokens of the longest text */
    double trained_positions;
    double growth; /* queries are multiplied by 1 + growth · ln(1 + ⌊position / trained_positions⌋);
                    * 0: queries are not multiplied */
    float short_factors[ROTARY_PAIRS_MAX],
        long_factors
            [ROTARY_PAIRS_MAX]; /* longrope: factors of texts up to trained_positions, and of longer
                                 * texts */
};

/* rotary_frequency: the angle in radians between neighbouring positions, for pair `pair` in a text
 * of `length` tokens. rotary_amplitude: the factor of all cosines and sines in such a text. */
double rotary_frequency(const struct rotary *rotary, size_t pair, size_t length);
double rotary_amplitude(const struct rotary *rotary, size_t length);

/* rotary_growth: the factor of a query at a position. rotary_grow multiplies queries by their
 * factors; the first query is at position `first`. */
double rotary_growth(const struct rotary *rotary, size_t position);
void rotary_grow(struct matrix queries, const struct rotary *rotary, size_t first);

/* True if angles change when a text of `before` >= 1 tokens grows to `length` tokens. */
bool rotary_depends(const struct rotary *rotary, size_t before, size_t length);

/* cos_sin [rows, components] = cosines, then sines, of all pairs at positions first, first + 1, …
 * in a text of `length` tokens, multiplied by rotary_amplitude. Computed in float64 and rounded
 * once. */
void rotary_fill(struct matrix cos_sin, const struct rotary *rotary, size_t first, size_t length);

/* y = x with each head, which has `width` columns, rotated; y may be x. */
void rotate(struct matrix y, struct matrix x, size_t width, const struct rotary *rotary,
            struct matrix cos_sin);
