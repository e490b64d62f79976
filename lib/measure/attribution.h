/* attribution.h: direct logit attribution: the contributions of embedding, heads, MLPs and biases
 * to the logit of a token, or to the difference of two.
 *
 * With the divisors of the norms frozen at their values the pass is linear, and a direction in the
 * space of logits goes back through it, layer by layer (u in attribution.c). The contribution of a
 * part is its product with u, in float64. Contributions sum to the logit before a cap. Edits change
 * the contributions that pass them, and the values that they add are the part "edits".
 *
 *     struct question question = {.answer = -1, .against = -1};
 *     struct attribution_plan plan = {&viewer, BY_PART, &question};
 *     if (attribution_make(&attribution, &report, &plan, &arena, err)) ...
 */
#ifndef ATTN_MEASURE_ATTRIBUTION_H
#define ATTN_MEASURE_ATTRIBUTION_H

#include "measure/text_origin.h"

enum attribution_by { BY_PART, BY_SOURCE, BY_NEURON, ATTRIBUTION_WAYS };

extern const struct attribution_way {
    const char *name;  /* as in --by */
    const char *about; /* a line for help */
} attribution_ways[ATTRIBUTION_WAYS];

struct attribution_plan {
    struct viewer *viewer;
    enum attribution_by by;
    struct question *question; /* its answer is filled in */
    size_t number;             /* of the text, by which '= resample' draws */
};

struct attribution {
    double logit; /* or the difference */
    double sum;   /* of all contributions */
};

/* Run the report's text up to the position, where its sentence ends from then on. Add, in memory of
 * the arena, a sheet of all parts [L + 2, H + 4] (H + 5 with edits), of each layer's sources [H,
 * T], or of neurons [L, I]; and for people a table of the strongest. Refused: as not supported,
 * models other than decoders of one text; as usage, edits of logits. */
int attribution_make(struct attribution *attribution, struct report *report,
                     const struct attribution_plan *plan, struct arena *arena, struct err *err);

#endif
