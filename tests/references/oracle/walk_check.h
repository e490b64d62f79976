/* walk_check.h: compares the explanation of every query, in every head and attention layer of a
 * golden model, with the reference.
 */
#pragma once

#include "program_check.h"

/* Print a line for each attention with its largest error; each attention counts as one check. */
void walk_check(struct tally *tally, const struct golden *golden);
