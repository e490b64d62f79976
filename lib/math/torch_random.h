/* torch_random.h: the numbers that PyTorch draws on a CPU, from the same seed in the same order, so
 * that what textbooks print after torch.manual_seed(123) comes out here.
 *
 * One generator, mt19937, 32 bits at a time; what differs is how many words a number takes:
 *
 *     uniform                  one word a number, of which 24 bits are used
 *     normal, 16 and more      one word a number; each 16 in a row make 16 normal ones
 *                              (Box-Muller: j and j + 8 are a pair). Where 16 does not divide the
 *                              count, 16 more words are drawn and the last 16 numbers made anew
 *     normal, fewer than 16    four words a pair, in double precision; the second number of a pair
 *                              waits for whoever draws the next such tensor
 *
 * All bits are those of PyTorch's builds for x86-64 with AVX2, on every machine. (Fewer than 16 go
 * through the C library, in double precision as there.)
 *
 *     torch_random_seed(&random, 123);                          torch.manual_seed(123)
 *     torch_random_uniform(&random, x, 6, 0, 1);                torch.rand(3, 2)
 *     torch_random_normal(&random, x, 18, 0, 1);                nn.Embedding(6, 3), torch.randn(18)
 */
#ifndef ATTN_MATH_TORCH_RANDOM_H
#define ATTN_MATH_TORCH_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TORCH_RANDOM_WORDS = 624 };

struct torch_random {
    uint32_t state[TORCH_RANDOM_WORDS];
    size_t used;   /* words of the state that were given out */
    bool waiting;  /* the second of a pair of normal numbers */
    double second; /* … which is this one */
};

/* As torch.manual_seed: of the seed only the low 32 bits count. */
void torch_random_seed(struct torch_random *random, uint64_t seed);

/* As tensor.uniform_(low, high) and torch.rand on a float32 tensor of `count` numbers. */
void torch_random_uniform(struct torch_random *random, float *x, size_t count, double low,
                          double high);

/* As tensor.normal_(mean, spread) and torch.randn. */
void torch_random_normal(struct torch_random *random, float *x, size_t count, double mean,
                         double spread);

/* Draw a tensor that no caller wants: what comes next is the same. */
void torch_random_skip_uniform(struct torch_random *random, size_t count);
void torch_random_skip_normal(struct torch_random *random, size_t count);

#endif
