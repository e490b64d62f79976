/* kernel_body.h: kernels that are written in C, each for any shape. */
#ifndef ATTN_MATH_KERNEL_BODY_H
#define ATTN_MATH_KERNEL_BODY_H

#include "math/kernel.h"

/* Of floats, in plain C; the second fuses multiply and add by itself (soft_fmaf.h), the third
 * takes instructions of arm64, where there are any. */
kernel_body floats_plain;
kernel_body floats_softly;
kernel_body floats_neon;

/* Of A that is a panel, without gaps, of whole PANEL_FLOATS; or several (shape.panels), of so many
 * columns each, by one row. */
enum { PANEL_FLOATS = 32 };
kernel_body floats_avx2;
kernel_body floats_avx512;

/* Of pairs by AMX, which the kernel of the system must grant first. A sum is taken TILE_PAIRS at a
 * time, their second products apart from the first. */
enum { TILE_PAIRS = 16 };
kernel_body tiles_amx;
bool tiles_ask(void);

#endif
