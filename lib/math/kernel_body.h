/* kernel_body.h: kernels that are written in C, each for any shape. */
#ifndef ATTN_MATH_KERNEL_BODY_H
#define ATTN_MATH_KERNEL_BODY_H

#include "math/kernel.h"

/* Of floats, in plain C; the second fuses multiply and add by itself (portable_math.h), the third
 * takes instructions of arm64, where there are any. */
kernel_body floats_plain;
kernel_body floats_softly;
kernel_body floats_neon;

/* Of A that is a panel, without gaps, of whole PANEL_FLOATS; or several (shape.panels), of so many
 * columns each, by one row. */
enum { PANEL_FLOATS = 32 };
kernel_body floats_avx2;
kernel_body floats_avx512;

/* The same of A in pairs, which B's first rows widen for all others; B has floats, of each pair the
 * second first. In the order of vdpbf16ps, of so many pairs at most. */
enum { WIDENED_PAIRS = 384 };
kernel_body widened_avx2;
kernel_body widened_avx512;

/* Of pairs, in the order of vdpbf16ps: in plain C; and widened to floats on their way. */
kernel_body pairs_plain;
kernel_body pairs_avx2;
kernel_body pairs_avx512;

/* Of panels of pairs, with floats; or with one row of pairs, in the order of tdpbf16ps, of so many
 * panels at most. */
enum { PANELS_TOGETHER = 4 };
kernel_body pair_panels_avx2;
kernel_body pair_panels_avx512;
kernel_body tile_panels_avx512;

/* Of pairs, in the order of tdpbf16ps: TILE_PAIRS of a row at a time, their second numbers summed
 * apart from the first. In plain C, or by AMX, which the kernel of the system must grant first. */
kernel_body tiles_plain;
kernel_body tiles_amx;
bool tiles_ask(void);

#endif
