/* torch_random.h: the random numbers of PyTorch on a CPU, for the same seed in the same order:
 * models of textbooks that begin with torch.manual_seed(123) get the same weights.
 *
 * The generator is mt19937. A uniform number takes 24 bits of a word. In tensors of 16 and more,
 * normal numbers take a word each, in blocks of 16 (Box-Muller; j and j + 8 are a pair; if 16 does
 * not divide the count, the last 16 are drawn again). In smaller tensors a pair takes four words,
 * in double precision, and the second number is kept for the next such tensor. All bits are those
 * of PyTorch's AVX2 builds.
 *
 *     torch_random_seed(&random, 123);                          torch.manual_seed(123)
 *     torch_random_uniform(&random, x, 6, 0, 1);                torch.rand(3, 2)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TORCH_RANDOM_WORDS = 624 };

struct torch_random {
    uint32_t state[TORCH_RANDOM_WORDS];
    size_t used;   /* words of the state that have been drawn */
    bool waiting;  /* `second` is valid */
    double second; /* the second of a pair of normal numbers */
};

/* As torch.manual_seed (only the low 32 bits count), tensor.uniform_(low, high) and torch.rand,
 * tensor.normal_(mean, spread) and torch.randn on a float32 tensor of `count` numbers. */
void torch_random_seed(struct torch_random *random, uint64_t seed);
void torch_random_uniform(struct torch_random *random, float *x, size_t count, double low,
                          double high);
void torch_random_normal(struct torch_random *random, float *x, size_t count, double mean,
                         double spread);

/* Skip the numbers of a tensor, which take a word each if they are uniform. */
void torch_random_skip_uniform(struct torch_random *random, size_t count);
void torch_random_skip_normal(struct torch_random *random, size_t count);
