/* torch_random.h: the numbers that PyTorch draws on a CPU, from the same seed in the same order, so
 * that what textbooks print after torch.manual_seed(123) comes out here.
 *
 * One generator, mt19937. A uniform number takes a word (24 bits of it). Normal ones, 16 and more,
 * take a word each, 16 in a row at a time (Box-Muller, j and j + 8 are a pair; the last 16 are made
 * anew where 16 does not divide the count); fewer take four words a pair in double precision, the
 * second of which waits for the next such tensor. All bits are those of PyTorch's AVX2 builds.
 *
 *     torch_random_seed(&random, 123);                          torch.manual_seed(123)
 *     torch_random_uniform(&random, x, 6, 0, 1);                torch.rand(3, 2)
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

/* As torch.manual_seed (only the low 32 bits count), tensor.uniform_(low, high) and torch.rand,
 * tensor.normal_(mean, spread) and torch.randn on a float32 tensor of `count` numbers. */
void torch_random_seed(struct torch_random *random, uint64_t seed);
void torch_random_uniform(struct torch_random *random, float *x, size_t count, double low,
                          double high);
void torch_random_normal(struct torch_random *random, float *x, size_t count, double mean,
                         double spread);

/* Draw a tensor that no caller wants: what comes next is the same. */
void torch_random_skip_uniform(struct torch_random *random, size_t count);
void torch_random_skip_normal(struct torch_random *random, size_t count);

#endif
