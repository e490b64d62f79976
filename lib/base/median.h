/* median.h: the middle one of several measurements: what one slow or one lucky run cannot move. */
#ifndef ATTN_BASE_MEDIAN_H
#define ATTN_BASE_MEDIAN_H

#include <stddef.h>

/* Of one member of `count` structs, at least one, that stand `step_bytes` apart, the first at
 * `first`; the mean of the middle two where their number is even. `sorted` is room for `count`. */
double median(const double *first, size_t step_bytes, size_t count, double *sorted);

#endif
