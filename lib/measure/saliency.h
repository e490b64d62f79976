/* saliency.h: how much each token of a text adds to a logit, to first order: one number for each
 * token.
 *
 *     gradient      x · gradient of the logit at x
 *     integrated    (x - b) · Σ weight(t) · gradient at b + t (x - b)
 *
 * x are the scaled rows of the token table, for the tokens of the text and of its source; b is the
 * baseline. Position embeddings do not change. The products are summed over channels; `norm` is the
 * L2 norm of the products.
 *
 *     struct saliency_plan plan = {.viewer = &viewer, .question = &question, .steps = 50};
 *     if (saliency_make(&saliency, &report, &plan, &pair, &arena, err)) ...
 */
#pragma once

#include "base/progress_sink.h"
#include "measure/gradients.h"

enum saliency_method { SALIENCY_INTEGRATED, SALIENCY_GRADIENT, SALIENCY_METHODS };
enum saliency_rule {
    RULE_GAUSS_LEGENDRE,
    RULE_LEFT,
    RULE_MIDDLE,
    RULE_RIGHT,
    RULE_TRAPEZOID, /* as in captum: weights 1/n, at the ends 1/2n, which sum to 1 - 1/n */
    SALIENCY_RULES
};

extern const char *const saliency_rules[SALIENCY_RULES];

enum { SALIENCY_STEPS = 50 }; /* default number of points: enough for small models */

struct saliency_plan {
    struct viewer *viewer;
    struct question *question; /* answer -1 becomes the most likely token */
    enum saliency_method method;
    enum saliency_rule rule;
    size_t steps;                         /* number of points on the path */
    bool from_mean;                       /* true: the baseline is the mean row of the token
                                           * table */
    const uint32_t *from;                 /* token whose row is the baseline; NULL: the baseline is
                                           * zeros or, with `from_mean`, the mean */
    const struct progress_sink *progress; /* counts points; NULL: progress is not reported */
};

struct saliency {
    double value, baseline; /* `value`: the logit, or difference of two, that the question asks for;
                             * `baseline`: the same at the baseline; 0 for SALIENCY_GRADIENT */
    double missing;         /* error of the sum of all numbers: sum - (value - baseline) */
};

/* Add to the report of a text a table with a row for each token of its source and of itself.
 * Refused as by gradient_walk; a gradient that is not finite is an error. */
int saliency_make(struct saliency *saliency, struct report *report,
                  const struct saliency_plan *plan, const struct text_with_source *pair,
                  struct arena *arena, struct err *err);

void saliency_add_memory(struct memory *memory, const struct saliency_plan *plan,
                         const struct text_with_source *pair);
