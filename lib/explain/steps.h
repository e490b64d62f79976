/* steps.h: a walk as the steps of an explanation; the inside of explanation.c. */
#ifndef ATTN_EXPLAIN_STEPS_H
#define ATTN_EXPLAIN_STEPS_H

#include "explain/explanation.h"
#include "explain/walk.h"

/* Make all steps, with what they take or without; they are the arena's. */
int steps_make(struct explanation *explanation, const struct walk *walk, int digits, bool gives,
               struct arena *arena, struct err *err);

#endif
