/* sampler.h: chooses the next token: the most likely one, or a random one as Hugging Face does, by
 * temperature, then top_k (all tokens as likely as the k-th are kept), then top_p. A random token
 * is the first kept token, in the order of ids, at which the sum of weights exceeds u times the
 * total; u is the upper 53 bits of splitmix64, as a number below 1. libm is not used: the same
 * logits and seed give the same tokens on every machine.
 *
 *     struct sampling how = {.temperature = 0.8, .top_k = 40, .top_p = 1, .seed = 1};
 *     struct sampler sampler;
 *     if (sampler_init(&sampler, &how, config->vocab_size, &arena, err)) ...
 *     uint32_t id = sampler_next(&sampler, logits);
 * */
#pragma once

#include <stdint.h>

#include "base/memory.h"

struct sampling {
    double temperature; /* 0: the most likely token is chosen; of equally likely tokens, the one
                         * with the lowest id */
    size_t top_k;       /* how many of the most likely tokens are kept; 0: all tokens */
    double top_p;       /* the share of probability that is kept; 1: all tokens are kept */
    uint64_t seed;
};

struct sampler {
    struct sampling how;
    uint64_t state; /* state of the random numbers */
    size_t count;   /* number of logits, V */
    float *weights; /* [V]: weights of the tokens in the last choice: 1 for the most likely token, 0
                     * for excluded tokens; NULL if the temperature is 0 */
    struct candidate *candidates; /* [V] memory for top_k and top_p */
};

/* Initialise a sampler for `count` logits. The arena owns its memory. */
int sampler_init(struct sampler *sampler, const struct sampling *how, size_t count,
                 struct arena *arena, struct err *err);

/* sampler_next: choose the next token from finite logits [V]. sampler_random: the next number of
 * splitmix64. */
uint32_t sampler_next(struct sampler *sampler, const float *logits);
uint64_t sampler_random(uint64_t *state);

/* Return log Σ e^logit, summed in double, without libm. The log-probability of a token is its logit
 * minus this number. */
double logsumexp(const float *logits, size_t count);

/* Return logsumexp, and set *entropy to the entropy of the distribution, -Σ p log p, in nats. */
double logsumexp_entropy(double *entropy, const float *logits, size_t count);

/* Return the Kullback-Leibler divergence of q from p, Σ p (log p - log q), in nats, where p is the
 * distribution of the logits x and q the distribution of the logits y. x_sum and y_sum are the
 * logsumexp of x and y. */
double logits_divergence(const float *x, double x_sum, const float *y, double y_sum, size_t count);

/* Return how many ids come before `id` in the order of topk, which puts larger logits first. */
size_t likelier(const float *logits, size_t count, uint32_t id);

/* A token, and its log-probability before temperature, top_k and top_p, or its logit (see topk). */
struct likely {
    uint32_t id;
    float logprob;
};

/* Find the `best_count` largest logits, or all if there are fewer: the largest first and, of equal
 * logits, the lower id first. `logprob` becomes the logit minus `log_sum`, which is the logsumexp
 * of all logits, or 0 to get the logit. */
void topk(struct likely *best, size_t best_count, const float *logits, size_t count,
          double log_sum);
