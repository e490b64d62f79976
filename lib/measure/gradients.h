/* gradients.h: the gradients of a logit, or of a difference of two, at the selected sites of a pass
 * (model/back.h).
 *
 *     struct gradient_plan plan = {&viewer, &selection, {5, id, -1}};     (after token 5)
 *     if (gradients_make(&report, &plan, &pair, &arena, err)) ...
 */
#pragma once

#include "measure/question.h"

struct gradient_plan {
    struct viewer *viewer;
    const struct selection *selection;
    struct question question;
    size_t number; /* of the text, for messages */
};

/* Make the report of a text, whose arrays, `gradient.h.0.q`, have the shapes of the sites and their
 * gradients in place of values; with the embedding also `gradient.token_rows`, of the rows of the
 * table of tokens, scaled. Refused: models without logits, and what tape_run refuses. */
int gradients_make(struct report *report, const struct gradient_plan *plan,
                   const struct text_with_source *pair, struct arena *arena, struct err *err);

/* Add the memory of the gradients of a text. */
void gradients_add_memory(struct memory *memory, const struct gradient_plan *plan,
                          const struct text_with_source *pair);
