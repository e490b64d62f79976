/* token_scores.h: log-probability, rank and entropy of each token of a text, after those before it.
 *
 *     struct scoring scoring = {.viewer = &viewer, .best_count = 5};
 *     if (scoring_check(&scoring, err) || scoring_run(&scored, &scoring, &look, &arena, err)) ...
 *     scored.tokens[i].logprob ...
 *
 * Texts share passes; logits are computed for a few rows at a time. A text longer than the context
 * is read in windows that advance by `stride` tokens: each token is scored in the first window that
 * has it, after context - stride tokens or more.
 */
#ifndef ATTN_MEASURE_TOKEN_SCORES_H
#define ATTN_MEASURE_TOKEN_SCORES_H

#include "lens/viewer.h"

struct likely;

struct token_score {
    float logprob;             /* natural; NaN, as the entropy: it is the first */
    float entropy;             /* of the distribution that the token comes from, in nats */
    size_t rank;               /* 1: the most likely; 0: it is the first */
    const struct likely *best; /* [best_count] the likeliest first; NULL: it is the first */
    float begin;               /* with `begins`: log-probability that the token is one of these */
};

struct scored {
    struct token_score *tokens; /* [count] */
    size_t count;
    size_t best_count; /* of every token */
};

struct scoring {
    struct viewer *viewer;
    size_t best_count; /* most likely tokens that are told of each; fewer in a small vocabulary */
    size_t context; /* the most tokens of a window, with a stride; else 0: texts are read whole */
    size_t stride;
    const bool *begins; /* [V] tokens that begin a word; NULL: probabilities stay where they are.
                         * A word ends where one of these is next: that probability moves from the
                         * first token of a word to the last one of the word before */
};

/* Refuse, as not supported, models without logits or whose tokens see those to come; as usage, a
 * stride that leaves a window without a token to begin with. */
int scoring_check(const struct scoring *scoring, struct err *err);

/* Score the pairs of a look into [look->count]; what is filled in is the arena's. */
int scoring_run(struct scored *scored, const struct scoring *scoring, const struct look *look,
                struct arena *arena, struct err *err);

/* --- logits of kept rows, which the lens needs, too ------------------------------------------- */

/* Make the logits of rows, some at a time; `see` is called for each, on any thread. */
struct logits_work {
    struct viewer *viewer;
    struct matrix rows;
    bool normed;
    void (*see)(void *context, size_t row, const float *logits, size_t count);
    void *context;
};

int logits_of_rows(const struct logits_work *work, struct err *err);

/* How many of so many rows have logits side by side. */
size_t logits_piece_rows(size_t words, size_t rows);

#endif
