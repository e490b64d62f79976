/* weight_init.h: initial weights, which are the random numbers that PyTorch draws from the same
 * seed. Models of textbooks that begin with torch.manual_seed(123) get the same weights.
 *
 * Bare attention, as in textbooks: `torch.manual_seed(123); nn.Embedding(50000, 3)`, whose first
 * rows are used; then the seed is set again, and for each layer
 *
 *     RAND: torch.rand for W_query, W_key, W_value of head 0, of head 1, …, and the output
 *     projection; a key/value head follows the first query head that uses it; biases are 0
 *     LINEAR: nn.Linear, weight and bias, for W_query, W_key, W_value and the output projection
 *
 * GPT-2, as GPT2LMHeadModel(config) of transformers since 4.27: every matrix is normal with the
 * standard deviation `initializer_range`, divided by √(2 n_layer) for output projections. All
 * matrices are drawn when modules are made, and again when modules are initialised; output
 * projections are drawn a third time.
 *
 * Decoders like Llama, as LlamaForCausalLM(config): every matrix is normal with the standard
 * deviation `initializer_range`. All matrices are drawn when modules are made, as by nn.Embedding
 * and nn.Linear, and again when modules are initialised.
 *
 *     struct weight_init init = {.seed = 123};
 *     if (new_model_open(&new_model, …) || weight_init_draw(&new_model, &init, err)) ...
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "math/rng.h"

struct new_model;
struct progress_sink;

enum weight_init_way { WEIGHT_INIT_RAND, WEIGHT_INIT_LINEAR };

enum { WEIGHT_INIT_TABLE_ROWS = 50000 }; /* rows of the embedding in textbooks */

struct weight_init {
    uint64_t seed;
    enum weight_init_way way; /* how the weights of bare attention are drawn: as RAND or as LINEAR
                               * (comment at the top) */
    size_t table_rows;        /* rows of bare attention's nn.Embedding, at least vocab_size; 0:
                               * WEIGHT_INIT_TABLE_ROWS */
    const struct progress_sink *progress; /* receives the number of finished layers; NULL: no
                                           * reports */
};

/* Fill a new model whose weights are all 0. It is an error if the model is of another kind than the
 * three at the top of this file. */
int weight_init_draw(struct new_model *new_model, const struct weight_init *init, struct err *err);

/* Fill the classifier of a model of any family, whose other weights come from a model without a
 * classifier: matrices are normal, with the standard deviation `initializer_range`. */
void weight_init_classes(struct new_model *new_model, uint64_t seed);

enum { ORIGIN_SEED = 123 }; /* seed of the bundled random models */

/* --- random numbers ---------------------------------------------------------------------------
 *
 * The random numbers of PyTorch on a CPU, for the same seed, in order. The generator is mt19937. A
 * uniform number uses 24 bits of a word. In tensors of 16 or more numbers, each normal number uses
 * a word. They are made in blocks of 16 by the Box-Muller method, where numbers j and j + 8 of a
 * block are a pair; if 16 does not divide the count, the last 16 are drawn again. In smaller
 * tensors, a pair uses four words, in double precision; if its second number is left over, it is
 * the first number of the next small tensor. All bits are as in PyTorch's AVX2 builds.
 *
 *     torch_random_seed(&random, 123);                          torch.manual_seed(123)
 *     torch_random_uniform(&random, x, 6, 0, 1);                torch.rand(3, 2)
 */

struct torch_random {
    struct twister words;
    bool waiting;  /* true: `second` is the next normal number of a small tensor; false: a new pair
                    * must be drawn */
    double second; /* the second number of the last pair of normally distributed numbers */
};

/* torch_random_seed: as torch.manual_seed; only the low 32 bits of the seed count.
 * torch_random_uniform: as tensor.uniform_(low, high) and torch.rand. torch_random_normal: as
 * tensor.normal_(mean, spread) and torch.randn, for a float32 tensor of `count` numbers. */
void torch_random_seed(struct torch_random *random, uint64_t seed);
void torch_random_uniform(struct torch_random *random, float *x, size_t count, double low,
                          double high);
void torch_random_normal(struct torch_random *random, float *x, size_t count, double mean,
                         double spread);

/* Skip the random numbers of a tensor of `count` numbers: torch_random_skip_uniform the uniform
 * numbers, which use one word each, torch_random_skip_normal the normal numbers. */
void torch_random_skip_uniform(struct torch_random *random, size_t count);
void torch_random_skip_normal(struct torch_random *random, size_t count);
