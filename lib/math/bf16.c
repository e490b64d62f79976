#include "math/bf16.h"

#include "math/isa.h"

static inline uint32_t pair_of(float first, float second)
{
    return bf16_round(first) | (uint32_t)bf16_round(second) << 16;
}

FOR_EACH_ISA
static void pair_plain(uint32_t *restrict pairs, const float *restrict row, size_t count)
{
    for (size_t i = 0; i < count / 2; i++)
        pairs[i] = pair_of(row[2 * i], row[2 * i + 1]);
    if (count % 2)
        pairs[count / 2] = pair_of(row[count - 1], 0);
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum { SOME = 32 }; /* numbers at a time */

/* By the instruction that rounds, which is the same but for subnormal numbers: those it takes for
 * 0. How many numbers it is for: up to the first of these, or to the last whole step. */
__attribute__((target("avx512f,avx512dq,avx512bf16"))) static size_t pair_avx512(
    uint32_t *restrict pairs, const float *restrict row, size_t count)
{
    enum { SUBNORMAL = 0x20 };
    size_t i = 0;
    for (; i + SOME <= count; i += SOME) {
        __m512 low = _mm512_loadu_ps(row + i);
        __m512 high = _mm512_loadu_ps(row + i + SOME / 2);
        if (_mm512_fpclass_ps_mask(low, SUBNORMAL) | _mm512_fpclass_ps_mask(high, SUBNORMAL))
            break;
        _mm512_storeu_si512(pairs + i / 2, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
    return i;
}

static size_t pair_some(uint32_t *restrict pairs, const float *restrict row, size_t count)
{
    return __builtin_cpu_supports("avx512bf16") ? pair_avx512(pairs, row, count) : 0;
}
#else
static size_t pair_some(uint32_t *restrict pairs, const float *restrict row, size_t count)
{
    (void)pairs, (void)row, (void)count;
    return 0;
}
#endif

void bf16_pair_row(uint32_t *restrict pairs, const float *restrict row, size_t count)
{
    size_t done = pair_some(pairs, row, count);
    pair_plain(pairs + done / 2, row + done, count - done);
}

FOR_EACH_ISA
void bf16_pair_rows(uint32_t *restrict pairs, const float *restrict first,
                    const float *restrict second, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i] = pair_of(first[i], second[i]);
}

FOR_EACH_ISA
void bf16_put_second(uint32_t *restrict pairs, const float *restrict row, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i] = (pairs[i] & 0xffff) | (uint32_t)bf16_round(row[i]) << 16;
}

FOR_EACH_ISA
void bf16_round_each(float *restrict to, const float *restrict row, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = bf16_rounded(row[i]);
}

static inline void round_row(float *restrict to, const float *restrict row, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        to[2 * i] = bf16_rounded(row[2 * i + 1]);
        to[2 * i + 1] = bf16_rounded(row[2 * i]);
    }
    if (count % 2) {
        to[count - 1] = 0;
        to[count] = bf16_rounded(row[count - 1]);
    }
}

FOR_EACH_ISA
void bf16_round_rows(float *to, size_t stride, struct matrix x)
{
    enum { USUAL = 64 }; /* columns: with a number that is known, a loop has no rest */
    for (size_t row = 0; row < x.rows; row++, to += stride, x.data += x.stride) {
        if (x.columns == USUAL)
            round_row(to, x.data, USUAL);
        else
            round_row(to, x.data, x.columns);
    }
}

FOR_EACH_ISA
void bf16_round_in_place(struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++, x.data += x.stride) {
        float *pairs = x.data;
#pragma omp simd
        for (size_t i = 0; i < x.columns / 2; i++) {
            float first = bf16_rounded(pairs[2 * i]);
            pairs[2 * i] = bf16_rounded(pairs[2 * i + 1]);
            pairs[2 * i + 1] = first;
        }
    }
}

FOR_EACH_ISA
void bf16_widen_row(float *restrict to, const uint32_t *restrict pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[2 * i] = bf16_second(pairs[i]);
        to[2 * i + 1] = bf16_first(pairs[i]);
    }
}

FOR_EACH_ISA
void bf16_widen_pairs(float *restrict seconds, float *restrict firsts,
                      const uint32_t *restrict pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        seconds[i] = bf16_value((uint16_t)(pairs[i] >> 16));
        firsts[i] = bf16_value((uint16_t)pairs[i]);
    }
}
