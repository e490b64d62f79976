/* flush.h: for a moment, the processor takes subnormal numbers for 0, as instructions for bf16 do.
 * Elsewhere than on x86 nothing relies on it.
 *
 *     unsigned usual = flush_begin();
 *     ... a call that no compiler looks into ...
 *     flush_end(usual);
 */
#ifndef ATTN_MATH_FLUSH_H
#define ATTN_MATH_FLUSH_H

#if defined(__x86_64__)
#include <xmmintrin.h>

static inline unsigned flush_begin(void)
{
    enum { OPERANDS = 0x40, RESULTS = 0x8000 };
    unsigned usual = _mm_getcsr();
    _mm_setcsr(usual | OPERANDS | RESULTS);
    return usual;
}

static inline void flush_end(unsigned usual)
{
    _mm_setcsr(usual);
}
#else
static inline unsigned flush_begin(void)
{
    return 0;
}

static inline void flush_end(unsigned usual)
{
    (void)usual;
}
#endif

#endif
