/* reference_rotary.h: what rotations turn by: the published formulas, in long double and by the C
 * library. */
#ifndef ATTN_TESTS_REFERENCE_ROTARY_H
#define ATTN_TESTS_REFERENCE_ROTARY_H

#include "math/rotary.h"

/* Of a text of `length` tokens; see rotary.h. */
long double reference_frequency(const struct rotary *rotary, size_t pair, size_t length);
long double reference_amplitude(const struct rotary *rotary);

#endif
