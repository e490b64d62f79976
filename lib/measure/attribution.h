/* attribution.h: direct logit attribution: the contributions of embedding, heads, MLPs and biases
 * to the logit of a token, or to the difference of two.
 *
 * The divisors of the norms are those of this pass: the rest is linear, and a direction in the
 * space of logits goes back through it, layer by layer (u in attribution.c). The contribution of a
 * part is its product with u, in float64. All parts together are the logit, but for the rounding of
 * the pass; a cap on logits comes after it.
 *
 * In an edited run the parts sum to that run's logit. Edits of attention, of a head's context or of
 * an MLP's hidden channels change the contributions of heads and MLPs. Edits of what these add to
 * the stream, of the stream or of norms change the contributions that pass them, and add the values
 * that they put there: the part "edits".
 *
 *     struct attribution_question question = {.answer = -1, .against = -1};
 *     struct attribution attribution;
 *     if (attribution_make(&attribution, &viewer, &pair, &question, &arena, err)) ...
 *     format->write(&out, &attribution.report, &place, err)
 */
#ifndef ATTN_MEASURE_ATTRIBUTION_H
#define ATTN_MEASURE_ATTRIBUTION_H

#include "measure/text_origin.h"

enum attribution_by { BY_PART, BY_SOURCE, BY_NEURON, ATTRIBUTION_WAYS };

struct attribution_way {
    const char *name;  /* as in --by */
    const char *about; /* a line for help */
};

extern const struct attribution_way attribution_ways[ATTRIBUTION_WAYS];

struct attribution_question {
    enum attribution_by by;
    size_t position;           /* the token after which the answer stands */
    long long answer, against; /* ids; -1: the likeliest; none */
    size_t number;             /* of the text among all: '= resample' draws by it */
};

struct attribution {
    struct report report;
    uint32_t answer;
    double logit; /* of the answer, less that of the other */
    double sum;   /* of all parts */
};

/* Run the text up to the position. The report, whose memory is the arena's, has a sheet of all
 * parts, [L + 2, H + 4], or H + 5 if the viewer edits; by source one for each layer, [H, T]; or one
 * of neurons, [L, I]; and for people a table of the strongest. Refused, as not supported: models of
 * two texts, whose tokens look ahead, or that have no logits; as usage: edits of logits. */
int attribution_make(struct attribution *attribution, struct viewer *viewer,
                     const struct text_pair *pair, const struct attribution_question *question,
                     struct arena *arena, struct err *err);

#endif
