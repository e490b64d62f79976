/* vectors_neon.c: the loops of vectors.h with NEON instructions. */
#include "math/kernel.h"

#ifdef __ARM_NEON
#include <arm_neon.h>

enum { VECTOR_FLOATS = 4, WORDS = 4, REGISTERS = 4, ROWS_MAX = 6 };

#define IN_VECTORS
#define FOR_ROWS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6)
#define vector float32x4_t
#define vector_zero() vdupq_n_f32(0)
#define vector_all vdupq_n_f32
#define vector_load vld1q_f32
#define vector_words(rows, byte) vector_load((const float *)(const void *)(*(rows) + (byte)))
#define vector_store vst1q_f32
#define vector_add vaddq_f32
#define vector_multiply_add(a, b, sum) vfmaq_f32(sum, a, b)

/* Transpose in two steps. Each step interleaves the first two vectors with the last two. */
static inline void transpose_words(vector a[WORDS])
{
    vector b[] = {vzip1q_f32(a[0], a[2]), vzip2q_f32(a[0], a[2]), vzip1q_f32(a[1], a[3]),
                  vzip2q_f32(a[1], a[3])};
    a[0] = vzip1q_f32(b[0], b[2]);
    a[1] = vzip2q_f32(b[0], b[2]);
    a[2] = vzip1q_f32(b[1], b[3]);
    a[3] = vzip2q_f32(b[1], b[3]);
}

#include "math/vectors.h"

const struct vector_loops vectors_neon = VECTOR_LOOPS;
#else
const struct vector_loops vectors_neon = {0};
#endif
