/* reference_rotary.h: rotary frequencies by the published formulas, in long double. */
#pragma once

#include "math/rotary.h"

/* For a text of `length` tokens; see rotary.h. */
long double reference_frequency(const struct rotary *rotary, size_t pair, size_t length);
long double reference_amplitude(const struct rotary *rotary);
