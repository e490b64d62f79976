/* tolerance.h: the largest accepted differences from the reference, with reasons. */
#pragma once

struct tolerance {
    const char *precision; /* as --precision names it */
    double share;          /* limit as a fraction of the tensor's largest value */
    double weights;        /* absolute limit for attention weights; 0: as for all tensors */
    double of_random;      /* limit as a fraction, for models of random weights */
    double least;          /* absolute limit that is added for models of random weights */
    double tie;            /* a lead of the chosen experts, as a fraction of the largest score, that
                              rounding may turn round: what follows is not compared */
};

/* Float32 sums in another order differ in their last bits: after a few layers by about 1e-7 of a
 * tensor's largest value. A wrong formula differs far more. Random weights, with norms far from 1,
 * give such large scores that the softmax amplifies differences of their last bits. */
static const struct tolerance tolerance_fp32 = {"f32", 1e-6, 0, 2e-5, 1e-5, 0};

/* Each factor has a relative error of at most 1/256; in sums these errors partly cancel. Attention
 * weights of all models stay within 5e-3, except those of gpt2-micro: with matrix elements as large
 * as 1 and 32 channels, its second layer has 1.11e-2. The models of families have 8 to 24 channels,
 * so that little cancels: products of pairs by avx512_bf16 reach 6.4e-2 in lfm2_moe-no-correction,
 * the other ways 3e-2. Experts of qwen3_next-mixed lead by 5e-4, an eighth of the unit of bf16:
 * avx512_bf16 of Zen 4 takes the next one. */
static const struct tolerance tolerance_bf16 = {"bf16", 2e-2, 1.5e-2, 7e-2, 0, 1e-3};
