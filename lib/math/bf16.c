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
