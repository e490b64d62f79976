/* adamw.h: a step of AdamW, as PyTorch's torch.optim.AdamW takes it.
 *
 *     w -= rate · decay · w                  (matrices and embeddings only)
 *     m += (1 - beta_1) (g - m),  v += (1 - beta_2) (g² - v)
 *     w -= rate / (1 - beta_1^t) · m / (√v / √(1 - beta_2^t) + epsilon)
 *
 *     struct adamw adamw = {.beta_1 = 0.9, .beta_2 = 0.99, .epsilon = 1e-8, .decay = 0.1};
 *     if (adamw_take(&adamw, &new_model, &arena, err)) ...
 *     double norm = adamw_norm(&gradients);
 *     adamw_step(&adamw, &machine, &gradients, &(struct adamw_step){rate, factor});
 */
#ifndef ATTN_TRAIN_ADAMW_H
#define ATTN_TRAIN_ADAMW_H

#include <stddef.h>
#include <stdint.h>

#include "math/machine.h"
#include "train/parameters.h"

struct adamw {
    double beta_1, beta_2, epsilon, decay;
    uint64_t steps; /* taken so far */
    struct parameters means, squares;
};

struct adamw_step {
    double rate;
    float factor; /* of the gradients, where they are clipped; else 1 */
};

/* Memory for means and squares, all 0. */
int adamw_take(struct adamw *adamw, const struct new_model *new_model, struct arena *arena,
               struct err *err);

/* √Σ g² over all parameters. */
double adamw_norm(const struct parameters *gradients);

/* Change the new model's numbers by one step; the gradients become 0. */
void adamw_step(struct adamw *adamw, struct machine *machine, struct parameters *gradients,
                const struct adamw_step *step);

#endif
