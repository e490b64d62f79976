/* logit_lens.h: what each layer would predict: a vector of the residual stream goes through the
 * final norm, recomputed for it, to logits (the "logit lens"; nostalgebraist, 2020).
 *
 *     struct lens_plan plan = {.viewer = &viewer, .target = -1, .best_count = 1};
 *     struct logit_lens lens;
 *     if (lens_find_site(&plan.site, NULL, &config, err) ||
 *         selection_layers(&selection, NULL, &config, &arena, err) || ...
 *         lens_look(&lens, &plan, &pair, &arena, err)) ...
 *
 * Of the last layer's output these are the model's own logits, bit for bit.
 */
#ifndef ATTN_MEASURE_LOGIT_LENS_H
#define ATTN_MEASURE_LOGIT_LENS_H

#include "draw/page.h"
#include "measure/text_origin.h"

struct lens_cell {
    const struct likely *best; /* [best_count] the most likely first */
    float entropy;             /* in nats */
    float kl;                  /* Σ p log(p / q) with the model's own p and this cell's q */
    float target;              /* log-probability, or logit difference of two; NaN: no target */
    size_t rank;               /* of the target, 1 for the most likely; 0: no target */
};

struct lens_plan {
    struct viewer *viewer;
    enum site site;
    struct layers layers;
    size_t best_count;
    long long target, against; /* ids; -1: the next token of the text; no difference */
    bool is_mean;              /* for means over texts: numbers of positions, without the tokens */
    bool is_last;              /* of the last token alone, as position -1 */
    bool is_brief;             /* `best`, `entropy` and `target` alone, in less time */
    struct lens_known *known;  /* of a text before, then of this one; NULL: nothing is */
};

struct logit_lens {
    const struct lens_plan *plan; /* borrowed */
    size_t tokens, best_count;
    struct lens_cell *cells; /* [layers, tokens] */
};

/* What was seen of a text, borrowed: a next one with the same first rows has the same cells. */
struct lens_known {
    struct logit_lens lens;
    struct matrix ends; /* [tokens, C] what logits are made of */
    const uint32_t *ids;
};

/* A site of every layer that is as wide as the stream; NULL: the output of the layer. Others are
 * refused as usage. */
int lens_find_site(enum site *site, const char *name, const struct config *config, struct err *err);

/* Results are the arena's. */
int lens_look(struct logit_lens *lens, const struct lens_plan *plan, const struct text_pair *pair,
              struct arena *arena, struct err *err);

enum lens_number {
    LENS_BEST,    /* the most likely token, and its probability */
    LENS_ID,      /* of that token */
    LENS_ENTROPY, /* of all tokens, in nats */
    LENS_KL,      /* divergence from the last layer, in nats */
    LENS_RANK,    /* of the target; 1 is the most likely */
    LENS_TARGET,  /* its probability, or the logit difference of two */
    LENS_NUMBERS
};

extern const char *const lens_numbers[LENS_NUMBERS]; /* as in --show */

/* Add numbers (1 << LENS_KL | ...) to the report of the text, which borrows the lens. For data a
 * table "lens" with a row for each layer and token, and "best" with the most likely tokens of each;
 * for people and pictures a sheet for each number, layers by tokens. */
int lens_report(struct report *report, const struct logit_lens *lens, unsigned numbers,
                const struct tokenizer *tokenizer, struct arena *arena, struct err *err);

/* --- as facts of a page -------------------------------------------------------------------------
 *
 * The most likely tokens after each token of the text:
 *
 *     if (next_tokens_plan(&plan, &viewer, 50, true, &arena, err)) ...
 *     selection.sites |= next_tokens_sites(&plan);
 *     ... look at the text, all layers ...
 *     if (next_tokens_of_report(&facts.next, &plan, &report, &sentence, &arena, err)) ...
 */

struct next_plan {
    struct lens_plan lenses[PAGE_STEPS];
    enum page_step steps[PAGE_STEPS];
    size_t count; /* 0: the model predicts no next token */
};

/* `all_steps`: after the embedding and each layer, in models of up to 4 layers after each attention
 * and MLP; false: at the end only. */
int next_tokens_plan(struct next_plan *plan, struct viewer *viewer, size_t best_count,
                     bool all_steps, struct arena *arena, struct err *err);

uint64_t next_tokens_sites(const struct next_plan *plan);

/* Unchanged if nothing is predicted. */
int next_tokens_of_report(const struct page_next **found, const struct next_plan *plan,
                          const struct report *report, const struct tokenized *sentence,
                          struct arena *arena, struct err *err);

#endif
