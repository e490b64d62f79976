/* gradients.h: the gradients of a logit, of a difference of two, or of any sum of logits, at the
 * selected sites of a pass (pass/back.h).
 *
 *     struct gradient_plan plan = {&viewer, &selection, {5, id, -1}};     (after token 5)
 *     if (gradients_make(&report, &plan, &pair, &arena, err)) ...
 */
#pragma once

#include "measure/question.h"
#include "pass/back.h"
#include "pass/tap.h"

struct logit_term {
    size_t position, id;
    float weight;
};

/* A pass over a text, and the walk back from a sum of its logits. */
struct gradient_walk {
    struct viewer *viewer;
    const struct text *text;
    struct question *question; /* answer -1 becomes the most likely token; NULL: `terms` */
    const struct logit_term *terms;
    size_t term_count;
    bool only_value;                   /* do not walk back */
    const struct selection *selection; /* the sites that the sink gets */
    tap_sink sink;                     /* gets gradients, in the reverse order of the pass, and
                                        * SITE_ATTENTION_GRADIENT before the weights; NULL: none */
    void *context;
    reader_sink *reader;                    /* as in pass/back.h; NULL: none */
    struct arena *arena;                    /* of the tape */
    double value;                           /* set: the sum */
    struct matrix token_rows[BRANCH_CROSS]; /* set, as in pass/back.h */
};

/* Refused: models without logits, what tape_check refuses, sites without a gradient that are
 * selected by name. */
int gradient_walk(struct gradient_walk *walk, struct err *err);

struct gradient_plan {
    struct viewer *viewer;
    const struct selection *selection;
    struct question question; /* answer -1 becomes the most likely token */
    size_t number;            /* number of the text, for messages */
    double value;             /* set: of the question */
};

/* Make the report of a text, whose arrays, `gradient.h.0.q`, have the shapes of the sites and their
 * gradients in place of values; with the embedding also `gradient.token_rows`, of the rows of the
 * table of tokens, scaled. `h.0.attention_gradient` is weights times gradient. Refused as above. */
int gradients_make(struct report *report, struct gradient_plan *plan,
                   const struct text_with_source *pair, struct arena *arena, struct err *err);

/* The bytes of a pass in a tape. */
double gradient_bytes(const struct config *config, const struct text_with_source *pair);

/* Add the memory of the gradients of a text. */
void gradients_add_memory(struct memory *memory, const struct gradient_plan *plan,
                          const struct text_with_source *pair);
