/* tolerance.h: how far a number may be off, and why. */
#ifndef ATTN_TESTS_TOLERANCE_H
#define ATTN_TESTS_TOLERANCE_H

struct tolerance {
    const char *precision; /* as --precision names it */
    double share;          /* of a tensor's largest value */
    double weights;        /* of attention weights, absolute; 0: as all tensors */
    double of_random;      /* the share in models of random weights, … */
    double least;          /* … and what their numbers may be off besides */
};

/* Sums of float32 taken in another order differ in their last bits; a few layers make some 1e-7 of
 * a tensor's largest value of that. A wrong formula is off by far more. Random weights, with norms
 * far from 1, make scores so large that the softmax shows their last bits. */
static const struct tolerance tolerance_fp32 = {"f32", 1e-6, 0, 2e-5, 1e-5};

/* Each factor is off by one part in 256 at most; in sums these errors cancel out in part. All
 * models keep their attention weights within 5e-3 but for gpt2-micro: weights as large as 1 over 32
 * channels make 1.11e-2 of it in the second layer. Models of families have 8 to 24 channels, in
 * which little cancels out. */
static const struct tolerance tolerance_bf16 = {"bf16", 2e-2, 1.5e-2, 6e-2, 0};

#endif
