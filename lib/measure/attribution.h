/* attribution.h: direct logit attribution: the contributions of embedding, heads, MLPs and biases
 * to the logit of a token, or to the difference of two logits.
 *
 * With the divisors of norms frozen, the logit is linear in what each part adds to the residual
 * stream: the direction that raises it (u in attribution.c) is propagated back, layer by layer. The
 * contribution of a part is the dot product of its output with u, in float64. Contributions sum to
 * the logit before a cap. Numbers that an edit sets or adds count as the part "edits". If the logit
 * is computed from the mean of all tokens, a contribution is summed over the tokens.
 *
 *     struct question question = {.answer = -1, .against = -1};
 *     struct attribution_plan plan = {&viewer, BY_PART, &question};
 *     if (attribution_make(&attribution, &report, &plan, &arena, err)) ...
 */
#pragma once

#include "lens/dictionary.h"
#include "measure/question.h"

enum attribution_by {
    BY_PART,
    BY_KEY,
    BY_NEURON,
    BY_EXPERT,
    BY_FEATURE,
    BY_TOKEN,
    ATTRIBUTION_WAYS
};

extern const struct attribution_way {
    const char *name;  /* a value of the option --by */
    const char *about; /* description in the help of --by */
    const char *tensor;
} attribution_ways[ATTRIBUTION_WAYS];

struct attribution_plan {
    struct viewer *viewer;
    enum attribution_by by;              /* any value but BY_TOKEN, which measure/saliency.h
                                          * computes */
    struct question *question;           /* answer -1 becomes the most likely token */
    size_t number;                       /* number of the text, for error messages and for edits
                                          * with `= resample` */
    const struct dictionary *dictionary; /* the dictionary for BY_FEATURE, which must write to the
                                          * stream */
    struct layers layers; /* layers to report; if there are none, all layers and, by part, also the
                           * embedding and the final norm */
};

struct attribution {
    double logit; /* logit of the answer, or difference of two logits, before the logit cap */
    double sum;   /* sum of all contributions */
};

/* Run the report's text up to the position, or all of it if the model is not causal, and end the
 * report's text there. Add arrays, owned by the arena, with rows only for the listed layers. By
 * part: [L + 2, H + 4], with more columns for the heads of cross-attention and of mixers, and one
 * more column each for per-layer inputs, low-rank branches and edits. By key: for each layer [H,
 * T], then [H, S] for cross-attention, then a mixer's [heads, T]. By neuron: [L, I]. By expert: [L,
 * E] (E + 1 with a shared expert; NaN in layers without experts). By feature: [1, F + 3]: after the
 * features the bias and the error of the reconstruction, and the rest of the logit. People also get
 * a table of the largest contributions. Refused as not supported: models without logits, models
 * whose architecture attribution does not support, edits of whole rows, neurons of models with
 * experts or without MLPs, experts of models without experts, and, by feature, a dictionary that
 * does not write to the stream. Refused as usage: edits of logits. */
int attribution_make(struct attribution *attribution, struct report *report,
                     const struct attribution_plan *plan, struct arena *arena, struct err *err);

void attribution_add_memory(struct memory *memory, const struct viewer *viewer,
                            enum attribution_by by, const struct text_with_source *pair);
