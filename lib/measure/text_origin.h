/* text_origin.h: where the numbers of a text come from, for what is no report of a look at it: its
 * page begins with that, and so does its JSON.
 *
 *     struct text_origin origin = {&viewer, "attention window:4", NULL};
 *     struct report report = text_origin_report(&origin, &pair.sentence);
 */
#ifndef ATTN_MEASURE_TEXT_ORIGIN_H
#define ATTN_MEASURE_TEXT_ORIGIN_H

#include "lens/viewer.h"
#include "write/format.h"

struct text_origin {
    const struct viewer *viewer;
    const char *mechanism;          /* how it attends, in words; NULL: as the model does */
    const struct tokenized *source; /* that an encoder reads; NULL: nothing */
};

/* Find out how it attends, in words of the arena. */
int text_origin_attends(struct text_origin *origin, struct arena *arena, struct err *err);

/* Refuse, as not supported, what is no decoder of one text: models without logits, of two texts, or
 * whose tokens look ahead. */
int text_origin_check(const struct viewer *viewer, struct err *err);

/* Refuse, as usage, edits of logits, where logits are made of rows that a pass gives. */
int text_origin_check_edits(const struct edits *edits, struct err *err);

/* A report without tensors. */
struct report text_origin_report(const struct text_origin *origin,
                                 const struct tokenized *sentence);

#endif
