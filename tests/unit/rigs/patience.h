/* patience.h: every case of a sweep, or one of a few where each costs a hundred times as much:
 * generated code under valgrind, which sets ATTN_UNIT_FEW (tests/valgrind.sh).
 *
 *     for (size_t i = 0; i < COUNT(shapes); i += one_of(7))
 */
#ifndef ATTN_TESTS_PATIENCE_H
#define ATTN_TESTS_PATIENCE_H

#include <stddef.h>
#include <stdlib.h>

static inline size_t one_of(size_t few)
{
    return getenv("ATTN_UNIT_FEW") ? few : 1;
}

#endif
