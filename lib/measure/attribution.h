/* attribution.h: direct logit attribution: the contributions of embedding, heads, MLPs and biases
 * to the logit of a token, or to the difference of two logits.
 *
 * With the divisors of norms frozen, the pass is linear, and a direction in logit space can be
 * propagated back through it, layer by layer (u in attribution.c). The contribution of a part is
 * the dot product of its output with u, in float64. Contributions sum to the logit before a cap.
 * Edits act on contributions that pass them; values added by edits count as the part "edits".
 *
 *     struct question question = {.answer = -1, .against = -1};
 *     struct attribution_plan plan = {&viewer, BY_PART, &question};
 *     if (attribution_make(&attribution, &report, &plan, &arena, err)) ...
 */
#pragma once

#include "measure/question.h"

enum attribution_by { BY_PART, BY_SOURCE, BY_NEURON, BY_EXPERT, ATTRIBUTION_WAYS };

extern const struct attribution_way {
    const char *name;  /* value of --by */
    const char *about; /* line of help */
    const char *tensor;
} attribution_ways[ATTRIBUTION_WAYS];

struct attribution_plan {
    struct viewer *viewer;
    enum attribution_by by;
    struct question *question; /* the answer is filled in */
    size_t number;             /* number of the text, for '= resample' */
    struct layers layers;      /* listed layers; none: all, with embedding and final norm */
};

struct attribution {
    double logit; /* of the answer, or difference of two */
    double sum;   /* sum of all contributions */
};

/* Run the report's text up to the position, or all of it if later tokens matter, and end its
 * sentence there. Add a sheet, owned by the arena, of all parts [L + 2, H + 4] (2 H with
 * cross-attention, + 5 with edits), of each layer's sources [H, T] (then those of cross-attention
 * [H, S]), of neurons [L, I], or of experts [L, E] (E + 1 with a shared one; NaN in layers
 * without); only of the listed layers, and for people a table of the largest. Refused: as not
 * supported, models without logits, neurons of models with experts, and experts of others; as
 * usage, edits of logits. */
int attribution_make(struct attribution *attribution, struct report *report,
                     const struct attribution_plan *plan, struct arena *arena, struct err *err);

/* Add the memory of the attribution of a text. */
void attribution_add_memory(struct memory *memory, const struct viewer *viewer,
                            enum attribution_by by, const struct text_with_source *pair);
