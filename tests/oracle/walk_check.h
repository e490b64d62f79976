/* walk_check.h: compares the explanation of every query, in every head and attention layer of a
 * golden model, with the reference.
 */
#ifndef ATTN_TESTS_WALK_CHECK_H
#define ATTN_TESTS_WALK_CHECK_H

#include "program_check.h"

/* Print a line for each attention with its largest error; each attention counts as one check. */
void walk_check(struct tally *tally, const struct golden *golden);

#endif
