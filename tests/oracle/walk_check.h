/* walk_check.h: what `explain` says of every query of every head of every attention of a golden
 * model, held against the reference.
 */
#ifndef ATTN_TESTS_WALK_CHECK_H
#define ATTN_TESTS_WALK_CHECK_H

#include "program_check.h"

/* Print a line for each attention, with the largest error of its numbers; each counts one. */
void walk_check(struct tally *tally, const struct golden *golden);

#endif
