/* assignment.h: which of one set goes with which of another, so that it costs the least (Kuhn,
 * 1955; Munkres, 1957): exactly, in n³ steps.
 *
 *     size_t match[4];
 *     if (assignment_find(match, costs, 4, &arena, err)) ...      costs: [4, 4]
 *
 * Where it costs no more, things go with those of their own number.
 */
#ifndef ATTN_MATH_ASSIGNMENT_H
#define ATTN_MATH_ASSIGNMENT_H

#include "base/arena.h"
#include "base/err.h"

int assignment_find(size_t *match, const double *costs, size_t count, struct arena *arena,
                    struct err *err);

#endif
