/* targets.h: the instruction set that the others are held against, and processors of its kind. */
#ifndef ATTN_TESTS_TARGETS_H
#define ATTN_TESTS_TARGETS_H

#include <stdlib.h>

#include "asserts.h"
#include "math/precision.h"
#include "math/target.h"

/* By which products are planned as on AMD's processors, and as on Intel's. */
static const struct habits makers[] = {
    {.reads_in_order = true},
    {.slow_dots = true, .stalls_on_bursts = true},
};

/* Kernels opened from now on take the best that this processor has; for bf16 without instructions
 * for it, which sum in orders of their own. */
static inline void take_best_target(enum precision precision)
{
    if (precision == PRECISION_BF16)
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", "skx", 1), 0);
    else
        ck_assert_int_eq(unsetenv("LIBXSMM_TARGET"), 0);
}

#endif
