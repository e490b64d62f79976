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

/* Do products wait where much is prefetched at once, as libxsmm's kernels do with the next panel?
 * AMD's processors were seen at nine tenths of their peak with those, Intel's at three quarters. */
bool target_stalls_on_bursts(void);

/* Does memory come fastest in the order of its addresses? It was seen to on AMD's Zen 5; of Intel's
 * more comes from sixteen places side by side, on pages of their own. */
bool target_reads_in_order(void);

#endif
