/* targets.h: the instruction set with which others are compared, and settings of processors. */
#pragma once

#include <stdlib.h>

#include "asserts.h"
#include "math/precision.h"
#include "math/kernel.h"

/* Plans of products as on processors of AMD and of Intel. */
static const struct cpu_tuning makers[] = {
    {.reads_in_order = true},
    {.slow_dots = true, .stalls_on_bursts = true},
};

/* Select the best instruction set of this processor for kernels opened afterwards; for bf16, one
 * without bf16 instructions, which add in another order. */
static inline void take_best_target(enum precision precision)
{
    if (precision == PRECISION_BF16)
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", "skx", 1), 0);
    else
        ck_assert_int_eq(unsetenv("LIBXSMM_TARGET"), 0);
}
