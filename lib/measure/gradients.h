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
    struct question *question; /* asks for the logit, or the difference of two; answer -1 becomes
                                * the most likely token; NULL: the sum of `terms` is used */
    const struct logit_term *terms;
    size_t term_count;
    bool only_value;                   /* compute only `value`: do not walk back */
    const struct selection *selection; /* the sites whose gradients the sink receives */
    tap_sink sink;                     /* receives gradients, in the reverse order of the pass, with
                                        * SITE_ATTENTION_GRADIENT before the weights; NULL: no
                                        * sink */
    void *context;
    reader_sink *reader;                    /* called for each reader, as in pass/back.h; NULL: not
                                             * called */
    struct arena *arena;                    /* owns the tape */
    double value;                           /* result: the sum of logits */
    struct matrix token_rows[BRANCH_CROSS]; /* result: gradients of the embedding rows of tokens, as
                                             * in pass/back.h */
};

/* Run the pass, and walk back from the sum of logits. Refused: models without logits, what
 * tape_check refuses, and sites without a gradient that are selected by name. */
int gradient_walk(struct gradient_walk *walk, struct err *err);

struct gradient_plan {
    struct viewer *viewer;
    const struct selection *selection;
    struct question question; /* answer -1 becomes the most likely token */
    size_t number;            /* number of the text, for messages */
    double value;             /* result: the logit, or the difference of two logits */
};

/* Make the report of a text. Its arrays, such as `gradient.h.0.q`, have the shapes of the sites,
 * and gradients in place of values. If the embedding is selected, there is also
 * `gradient.token_rows`: the gradients of the scaled rows of the token table.
 * `h.0.attention_gradient` is weights times gradient. Refused as by gradient_walk. */
int gradients_make(struct report *report, struct gradient_plan *plan,
                   const struct text_with_source *pair, struct arena *arena, struct err *err);

/* Return the bytes that a text's gradients need: a tape of its pass, and the walk back. */
double gradient_bytes(const struct config *config, const struct text_with_source *pair);

/* Add the memory of the gradients of a text. */
void gradients_add_memory(struct memory *memory, const struct gradient_plan *plan,
                          const struct text_with_source *pair);
