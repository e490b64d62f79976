/* sampler.h: which token comes next: the most likely one, or one drawn at random, as Hugging Face
 * does: temperature, then top_k (all that equal the k-th stay), then top_p. Of what stays, in the
 * order of ids, the first where the weights passed exceed u times their sum, u from splitmix64's
 * upper 53 bits. Without libm: same logits, same seed, same tokens everywhere.
 *
 *     struct sampling how = {.temperature = 0.8, .top_k = 40, .top_p = 1, .seed = 1};
 *     struct sampler sampler;
 *     if (sampler_init(&sampler, &how, config->vocab_size, &arena, err)) ...
 *     uint32_t id = sampler_next(&sampler, logits);
 */
#ifndef ATTN_MODEL_SAMPLER_H
#define ATTN_MODEL_SAMPLER_H

#include <stdint.h>

#include "base/memory.h"

struct sampling {
    double temperature; /* 0: always the most likely token, the lowest of equal ones */
    size_t top_k;       /* 0: all */
    double top_p;       /* 1: all */
    uint64_t seed;
};

struct sampler {
    struct sampling how;
    uint64_t state; /* of the random numbers */
    size_t count;   /* V */
    float *weights; /* [V] of the last draw: 1 for the most likely; 0 for what was left out */
    struct candidate *candidates; /* [V] */
};

/* For `count` logits; the memory is the arena's. */
int sampler_init(struct sampler *sampler, const struct sampling *how, size_t count,
                 struct arena *arena, struct err *err);

/* The next token's id, of finite logits [V]; the next of splitmix64's numbers. */
uint32_t sampler_next(struct sampler *sampler, const float *logits);
uint64_t sampler_random(uint64_t *state);

/* log Σ e^logit: a token's log probability is its logit less that. In double, without libm. */
double logsumexp(const float *logits, size_t count);

/* The same, and the entropy of what they make probable: -Σ p log p, in nats. */
double logsumexp_entropy(double *entropy, const float *logits, size_t count);

/* How many ids come before one, in the order of topk. */
size_t likelier(const float *logits, size_t count, uint32_t id);

/* A token and its log-probability before temperature, top-k and top-p. */
struct likely {
    uint32_t id;
    float logprob;
};

/* The `best_count` largest logits, the largest first, of equals the lower id. `logprob` is the
 * logit less `log_sum`: logsumexp of all logits, or 0 to have the logit itself. */
void topk(struct likely *best, size_t best_count, const float *logits, size_t count,
          double log_sum);

#endif
