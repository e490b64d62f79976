/* patience.h: the step of a sweep: 1, or with ATTN_UNIT_FEW=1 `few`, because cases are slow, as
 * under valgrind, or all run elsewhere; with ATTN_UNIT_FEW=2 twice as many.
 *
 *     for (size_t i = 0; i < COUNT(shapes); i += one_of(7))
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

static inline size_t one_of(size_t few)
{
    const char *times = getenv("ATTN_UNIT_FEW");
    return times ? few * (size_t)atoi(times) : 1;
}
