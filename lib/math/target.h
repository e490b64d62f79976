/* target.h: the instructions that products are made of. */
#ifndef ATTN_MATH_TARGET_H
#define ATTN_MATH_TARGET_H

#include <stdbool.h>

enum target {
    TARGET_C,    /* plain C */
    TARGET_OLD,  /* the same, as if the processor had no fused multiply-add: it is computed */
    TARGET_NEON, /* those of arm64 */
    TARGET_AVX2,
    TARGET_AVX512,
    TARGET_BF16,  /* AVX-512 with vdpbf16ps, and that is faster than floats, or asked for */
    TARGET_TILES, /* AVX-512 with AMX, if the system's kernel grants it */
};

/* What this processor has, or less, where LIBXSMM_TARGET names less in libxsmm's words. */
enum target target_choose(void);

/* Does the processor multiply and add in one step? */
bool target_fuses(void);

/* What no flag of a processor tells, as it was seen on others of the same maker. */
struct habits {
    bool slow_dots;        /* vdpbf16ps takes longer than the multiply-adds that it stands for. */
    bool stalls_on_bursts; /* Products wait where much is prefetched at once, as libxsmm's kernels
                              do with the next panel: they reach three quarters of their peak. */
    bool reads_in_order;   /* Memory comes fastest in the order of its addresses. Otherwise from
                              sixteen places side by side, on pages of their own. */
};

struct habits target_habits(void);

/* For tests: as if these were its own, until NULL ends it. They change no bit of a result. */
void target_pretend(const struct habits *habits);

#endif
