/* trace.h: what a pass gave of one query of one head: its rows of everything on the way from the
 * input of an attention to its output. One pass serves all queries.
 *
 *     struct trace trace;
 *     struct explain_request request = {.layer = 0, .head = 0, .query = 1};
 *     if (trace_run(&trace, &viewer, &pair, &request, &arena, err)) ...
 *     trace.scores[j] ...                         (of the query with key j)
 *     trace_set_query(&trace, 2);                  (now of another query)
 */
#ifndef ATTN_EXPLAIN_TRACE_H
#define ATTN_EXPLAIN_TRACE_H

#include "base/arena.h"
#include "base/err.h"
#include "explain/explanation.h"
#include "lens/viewer.h"
#include "model/site.h"
#include "model/weights.h"

/* T tokens look at S keys; vectors are dense. All of it lives as long as the arena and the viewer.
 */
struct trace {
    const struct report *report;
    const struct config *config; /* the model's, as this one of its attentions has it */
    enum site_part part;
    struct attention_weights weights; /* the layer's */
    size_t layer, head, query;
    size_t group;            /* the key/value head that the head looks at */
    size_t keys;             /* S */
    float scale, base_scale; /* of the scores; and without the temperature in it */

    size_t input_size;   /* C */
    const float *tokens; /* [T, C] what a first layer's input is the sum of; NULL: it is no sum */
    const float *positions; /* [T, C] */
    const float *streams; /* [T, C] before the norm, where norms come first; NULL: there is none */
    const float *inputs;  /* [T, C] what queries are made of */
    const float *sources; /* [S, C] what keys and values are made of: the same, or another text */
    const float *k;       /* [S, dk] */
    const float *v;       /* [S, dv] */

    /* Of the query: its rows of the above, and what follows from them. */
    const float *token, *position, *stream, *x;
    const float *q;       /* [dk] */
    const float *scores;  /* [S] */
    const float *softmax; /* [S] of all keys, where the mask comes after it; else NULL */
    const float *masked;  /* [S] */
    const float *weight;  /* [S] */
    const float *context; /* [dv] */
    const float *out;     /* [w.out] of the layer's attention */
};

/* Run the pair through the model up to the output of that attention. */
int trace_run(struct trace *trace, struct viewer *viewer, const struct text_pair *pair,
              const struct explain_request *request, struct arena *arena, struct err *err);

/* From now on it is another query's. */
void trace_set_query(struct trace *trace, size_t query);

/* The context [dv] that another head has for the same query. */
const float *trace_context(const struct trace *trace, size_t head);

#endif
