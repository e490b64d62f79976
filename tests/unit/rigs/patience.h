/* patience.h: every case of a sweep, or one of a few where each costs many times as much, as under
 * valgrind, or where all are run elsewhere: ATTN_UNIT_FEW=1; with 2, of twice as many.
 *
 *     for (size_t i = 0; i < COUNT(shapes); i += one_of(7))
 */
#ifndef ATTN_TESTS_PATIENCE_H
#define ATTN_TESTS_PATIENCE_H

#include <stddef.h>
#include <stdlib.h>

static inline size_t one_of(size_t few)
{
    const char *times = getenv("ATTN_UNIT_FEW");
    return times ? few * (size_t)atoi(times) : 1;
}

#endif
