/* sampler.h: chooses the next token: the most likely one, or a random one as Hugging Face does, by
 * temperature, then top_k (all that equal the k-th are kept), then top_p. Of the tokens that are
 * kept, in the order of ids, the first is chosen at which the sum of weights exceeds u times the
 * total; u has the upper 53 bits of splitmix64. libm is not used: the same logits and seed give the
 * same tokens on every machine.
 *
 *     struct sampling how = {.temperature = 0.8, .top_k = 40, .top_p = 1, .seed = 1};
 *     struct sampler sampler;
 *     if (sampler_init(&sampler, &how, config->vocab_size, &arena, err)) ...
 *     uint32_t id = sampler_next(&sampler, logits);
 */
#pragma once

#include <stdint.h>

#include "base/memory.h"

struct sampling {
    double temperature; /* 0: always the most likely token, of equal ones the lowest id */
    size_t top_k;       /* 0: all */
    double top_p;       /* 1: all */
    uint64_t seed;
};

struct sampler {
    struct sampling how;
    uint64_t state; /* of the random numbers */
    size_t count;   /* V */
    float *weights; /* [V] of the last draw: 1 for the most likely; 0 for excluded tokens */
    struct candidate *candidates; /* [V] */
};

/* Initialise for `count` logits; the arena owns the memory. */
int sampler_init(struct sampler *sampler, const struct sampling *how, size_t count,
                 struct arena *arena, struct err *err);

/* Choose the next token from finite logits [V]; return the next number of splitmix64. */
uint32_t sampler_next(struct sampler *sampler, const float *logits);
uint64_t sampler_random(uint64_t *state);

/* log Σ e^logit: a token's log probability is its logit minus this. In double, without libm. */
double logsumexp(const float *logits, size_t count);

/* logsumexp, and the entropy of the distribution: -Σ p log p, in nats. */
double logsumexp_entropy(double *entropy, const float *logits, size_t count);

/* Σ p (log p - log q), in nats: the Kullback-Leibler divergence of the distribution of logits y
 * from the distribution of logits x, whose logsumexp are given. */
double logits_divergence(const float *x, double x_sum, const float *y, double y_sum, size_t count);

/* The number of ids that come before `id` in the order of topk. */
size_t likelier(const float *logits, size_t count, uint32_t id);

/* A token and its log-probability before temperature, top-k and top-p, or its logit (topk). */
struct likely {
    uint32_t id;
    float logprob;
};

/* Find the `best_count` largest logits, or all, in descending order; of equal ones the lower id
 * first. `logprob` is the logit minus `log_sum`: logsumexp of all logits, or 0 to get the logit. */
void topk(struct likely *best, size_t best_count, const float *logits, size_t count,
          double log_sum);
