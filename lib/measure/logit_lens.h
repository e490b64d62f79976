/* logit_lens.h: the prediction of each layer: a vector of the residual stream passes through the
 * final norm, recomputed for it, and the unembedding ("logit lens"; nostalgebraist, 2020).
 *
 *     struct lens_plan plan = {.viewer = &viewer, .target = -1, .against = -1, .best_count = 1};
 *     struct logit_lens lens;
 *     if (lens_find_site(&plan.site, NULL, &config, err) ||
 *         selection_layers(&selection, NULL, &config, &arena, err) || ...
 *         lens_capture(&lens, &plan, &pair, &arena, err)) ...
 *
 * For the output of the last layer, the logits are bit for bit the model's own. */
#pragma once

#include "lens/prediction.h"
#include "measure/jacobian_lens.h"
#include "measure/question.h"

struct lens_cell {
    const struct likely *best; /* [best_count] most likely tokens, best first */
    float entropy;             /* entropy of the prediction, in nats */
    float kl;                  /* Σ p log(p / q), p: the model's own output, q: this cell */
    float target;              /* the target's log-probability, or the difference of two logits;
                                * NaN: no target */
    size_t rank;               /* rank of the target, from 1; 0: no target */
};

struct lens_plan {
    struct viewer *viewer;
    enum site site;
    struct layers layers;
    size_t best_count;
    long long target, against; /* token ids; target -1: the text's next token or, if the model is
                                * not causal, the token itself, unless it is the mask; against -1:
                                * no second token */
    bool is_mean;              /* true if the lens is a mean over texts: its columns are then
                                * positions, not tokens */
    bool of_one; /* compute only the token at `position`, whose number in tables is -1; `known` must
                  * be NULL */
    size_t position;
    bool is_brief; /* compute only `best`, `entropy` and `target`, which is faster */
    const struct jacobian_lens *jacobian; /* lens whose matrices multiply the vectors of the layers
                                           * that it has; NULL: vectors are not multiplied */
    struct lens_known *known; /* cache of the previous text; replaced by a cache of this text;
                               * NULL: no cache */
};

struct logit_lens {
    const struct lens_plan *plan; /* the plan, which the caller owns */
    size_t tokens, best_count;
    struct lens_cell *cells; /* [layers, tokens] the computed cells */
};

/* A cache of one text (borrowed). The next text reuses the cells of its first tokens, as long as
 * their vectors, and the tokens after them, are equal. */
struct lens_known {
    struct logit_lens lens;
    const struct report *report; /* contains the vectors from which the cells were computed */
    const uint32_t *ids;
};

/* Find the site `name`, or for NULL the output of layers. Refuses, as usage, a site that is not in
 * layers or not as wide as the stream. */
int lens_find_site(enum site *site, const char *name, const struct config *config, struct err *err);

/* Compute the lens of a text; the arena owns the results. */
int lens_capture(struct logit_lens *lens, const struct lens_plan *plan,
                 const struct text_with_source *pair, struct arena *arena, struct err *err);

void lens_add_memory(struct memory *memory, const struct lens_plan *plan,
                     const struct text_with_source *pair);

enum lens_number {
    LENS_BEST,    /* the most likely token, with its probability */
    LENS_ID,      /* id of the most likely token */
    LENS_ENTROPY, /* entropy of the distribution, in nats */
    LENS_KL,      /* divergence from the model's own output, in nats */
    LENS_RANK,    /* rank of the target, from 1 */
    LENS_TARGET,  /* probability of the target, or difference of two logits */
    LENS_NUMBERS
};

extern const char *const lens_numbers[LENS_NUMBERS]; /* values of --show */

/* Add numbers (1 << LENS_KL | ...) to the report of the text; the report borrows the lens. Data:
 * the table "lens" by layer and token and, with LENS_BEST and a best_count above 1, "best" with the
 * likely tokens. People and pictures: an array for each number, layers by tokens. */
int lens_report(struct report *report, const struct logit_lens *lens, unsigned numbers,
                const struct tokenizer *tokenizer, struct arena *arena, struct err *err);

/* --- facts of a page -----------------------------------------------------------------------------
 *
 * The most likely tokens after each token of the text or, for a masked model, in the place of each
 * token:
 *
 *     if (next_tokens_plan(&plan, &viewer, 50, true, &arena, err)) ...
 *     site_set_join(&selection.sites, next_tokens_sites(&plan));
 *     ... viewer_capture, of all layers ...
 *     if (next_tokens_of_report(&facts.next, &plan, &report, &sentence, &arena, err)) ...
 */

struct next_plan {
    struct lens_plan lenses[STREAM_STEPS];
    enum stream_step steps[STREAM_STEPS];
    size_t count; /* number of steps; 0: nothing is predicted */
};

/* Plan the steps. There are none if best_count is 0, if logits_check refuses, or for a model that
 * answers from the mean of all tokens, with a number or with independent classes. With `all_steps`,
 * there is a step after each layer and, if norms do not follow sums, also after the embedding and,
 * in models of up to 4 layers that have resid_mid, after each sublayer. Without `all_steps`, there
 * is only the last step. */
int next_tokens_plan(struct next_plan *plan, struct viewer *viewer, size_t best_count,
                     bool all_steps, struct arena *arena, struct err *err);

struct site_set next_tokens_sites(const struct next_plan *plan);

/* Add the memory of the pass and of the next tokens of all steps. */
void next_tokens_add_memory(struct memory *memory, const struct next_plan *plan,
                            const struct text_with_source *pair);

enum next_without {
    WITHOUT_HEAD, /* [layers, heads] the head's context is set to 0 */
    WITHOUT_KEY,  /* [source tokens, then the text's tokens] the position cannot attend to the
                   * token; NaN: the token is the position itself, or is never visible to it */
};

/* Find the probability that the most likely token at tokenized_opening has without each head or
 * key, and the token that is then the most likely one. The viewer must have no edits. */
struct without_parts {
    const float *shares;
    const struct label *tops; /* a label without text: the position never attends to the key */
};

int next_tokens_without(struct without_parts *found, struct viewer *viewer,
                        const struct text_with_source *pair, enum next_without what,
                        struct arena *arena, struct err *err);

/* Find the next tokens of a report; `found` is unchanged if the plan has no steps. */
int next_tokens_of_report(const struct next_tokens **found, const struct next_plan *plan,
                          const struct report *report, const struct tokenized *text,
                          struct arena *arena, struct err *err);
