/* token_scores.h: log-probability, rank and entropy of each token given the tokens before it; in a
 * masked model, given all other tokens.
 *
 *     struct scoring scoring = {.viewer = &viewer, .best_count = 5};
 *     if (scoring_check(&scoring, err) || scoring_run(&scored, &scoring, &asked, &arena, err)) ...
 *     scored.tokens[i].logprob ...
 *
 * Texts share passes; logits are computed for a few rows at a time. A text longer than the context
 * is read in windows that advance by `stride` tokens: each token is scored in the first window that
 * has it, after context - stride tokens or more, or after all tokens before it.
 *
 * A masked model reads a copy of the text for each token, in which that token is masked
 * (pseudo-log-likelihood; Salazar et al., 2020). Special tokens have no score. A text that has mask
 * tokens is read once: these have no log-probability, but an entropy and the most likely tokens. */
#pragma once

#include "lens/viewer.h"

struct likely;

struct token_score {
    float logprob;             /* in nats; NaN: no score, such as for the first token of a causal
                                * model */
    float entropy;             /* entropy of the distribution that predicts this token, in nats;
                                * NaN: no score */
    size_t rank;               /* rank of the token, from 1, the most likely; 0: no score */
    const struct likely *best; /* [best_count] the most likely tokens, the most likely first; NULL:
                                * not computed */
    float begin;               /* with `begins`: log-probability that a token of `begins` is at this
                                * position */
};

struct scored {
    struct token_score *tokens; /* [count], and with `next`, `ends` or `begins` one more, for the
                                 * token after the text */
    size_t count;
    size_t best_count; /* number of most likely tokens kept for every token */
    bool fills;        /* true: only mask tokens of the text or, with `next`, the next token have
                 * results */
};

struct scoring {
    struct viewer *viewer;
    size_t best_count; /* number of most likely tokens to keep for each token; fewer in a small
                        * vocabulary */
    bool within_word;  /* also mask the later tokens of the token's word (Kauf and Ivanova, 2023) */
    size_t fill_count; /* number of most likely tokens to keep for mask tokens and, with `next`, for
                        * the next token */
    bool next;         /* find the tokens that may follow a text, as for a mask, instead of
                        * scores */
    bool ends;         /* also compute the entropy of the prediction after a text */
    size_t context;    /* maximum number of tokens in a window; 0: texts are read whole */
    size_t stride;
    const bool *begins; /* [V] true for tokens that begin a word; NULL: `begin` is not computed. A
                         * word ends where one of these comes next; the probability of that moves
                         * from the first token of a word to the last token of the word before */
};

/* True if a text has mask tokens that a masked model is to fill in. */
bool text_has_mask(const struct tokenized *text, const struct viewer *viewer);

/* Refuse, as not supported, models as logits_check does; as usage, a stride of the whole context or
 * more, `= resample` in a masked model, options for the other kind of model and, with a stride,
 * edits of single tokens or columns and edits with values of a file or a text. */
int scoring_check(const struct scoring *scoring, struct err *err);

/* Score the pairs of `asked` into scored [asked->count]; the arena owns the scores of tokens. */
int scoring_run(struct scored *scored, const struct scoring *scoring,
                const struct capture_request *asked, struct arena *arena, struct err *err);

/* The bytes that scoring a pair needs: for the pass; for the rows that the pass leaves; for the
 * logits that are made from these rows after the pass; and for the scores. */
struct scoring_memory {
    double pass, rows, logits, held;
};

struct scoring_memory scoring_memory(const struct scoring *scoring,
                                     const struct text_with_source *pair);
void scoring_add_memory(struct memory *memory, const struct scoring *scoring,
                        const struct text_with_source *pair);

/* --- logits of kept rows, also for the lens --------------------------------------------------- */

/* Make the logits of `rows`, some at a time; `see` is called for each row, on any thread. */
struct logits_work {
    struct viewer *viewer;
    struct matrix rows;
    bool normed;
    void (*see)(void *context, size_t row, const float *logits, size_t count);
    void *context;
};

int logits_of_rows(const struct logits_work *work, struct err *err);

/* logits_piece_rows returns how many of `rows` rows have their logits computed at once, for a
 * vocabulary of `words`; logits_piece_bytes returns the bytes of these logits. */
size_t logits_piece_rows(size_t words, size_t rows);
double logits_piece_bytes(const struct viewer *viewer, size_t rows);
