#include "math/transpose.h"

#include <assert.h>

#include "math/avx2.h"
#include "math/tensor.h"

static void transpose_from(size_t first, float *to, size_t stride, const struct number_rows *rows,
                           size_t count)
{
    for (size_t i = first; i < count; i++)
        for (size_t row = 0; row < rows->count; row++)
            to[i * stride + row] = number_at(rows, row, i);
}

static size_t transpose_plain(float *to, size_t stride, const struct number_rows *rows,
                              size_t count)
{
    transpose_from(0, to, stride, rows, count);
    return count;
}

#ifdef AVX512

IN_AVX512 static inline void store_words(float *to, size_t stride, const __m512 words[LANES],
                                         size_t bytes)
{
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
#pragma GCC unroll 16
    for (size_t k = 0; k < LANES; k++) {
        __m512i pair = _mm512_castps_si512(words[k]);
        if (bytes == FLOAT_BYTES) {
            _mm512_storeu_ps(to + k * stride, words[k]);
            continue;
        }
        _mm512_storeu_si512(to + 2 * k * stride, _mm512_slli_epi32(pair, 16));
        _mm512_storeu_si512(to + (2 * k + 1) * stride, _mm512_and_si512(pair, upper));
    }
}

IN_AVX512 static size_t transpose_avx512(float *to, size_t stride, const struct number_rows *rows,
                                         size_t count)
{
    size_t step = LANES * LANE_BYTES / rows->bytes;
    size_t i = 0;
    for (; i + step <= count; i += step) {
        __m512 words[LANES];
        prefetch_rows(rows, i * rows->bytes);
        load_words(words, rows, i * rows->bytes);
        transpose_registers(words);
        store_words(to + i * stride, stride, words, rows->bytes);
    }
    return i;
}

IN_AVX2 static inline void store_half(float *to, size_t stride, const __m256 words[HALF_LANES],
                                      size_t bytes)
{
    const __m256i upper = _mm256_set1_epi32((int)0xffff0000);
#pragma GCC unroll 8
    for (size_t k = 0; k < HALF_LANES; k++) {
        __m256 pair = words[k];
        if (bytes == FLOAT_BYTES) {
            _mm256_storeu_ps(to + k * stride, pair);
            continue;
        }
        __m256i low = _mm256_slli_epi32(_mm256_castps_si256(pair), 16);
        _mm256_storeu_ps(to + 2 * k * stride, _mm256_castsi256_ps(low));
        _mm256_storeu_ps(to + (2 * k + 1) * stride,
                         _mm256_and_ps(pair, _mm256_castsi256_ps(upper)));
    }
}

IN_AVX2 static size_t transpose_avx2(float *to, size_t stride, const struct number_rows *rows,
                                     size_t count)
{
    size_t step = HALF_LANES * LANE_BYTES / rows->bytes;
    size_t i = 0;
    for (; i + step <= count; i += step) {
        prefetch_rows(rows, i * rows->bytes);
        for (size_t half = 0; half < LANES; half += HALF_LANES) {
            __m256 words[HALF_LANES];
#pragma GCC unroll 8
            for (size_t row = 0; row < HALF_LANES; row++)
                words[row] = _mm256_loadu_ps(
                    (const float *)(const void *)(rows->at[half + row] + i * rows->bytes));
            transpose_registers_avx2(words);
            store_half(to + i * stride + half, stride, words, rows->bytes);
        }
    }
    return i;
}

transpose_loop *transpose_find(enum transpose_form form)
{
    transpose_loop *const loops[TRANSPOSE_FORMS] = {has_avx512() ? transpose_avx512 : NULL,
                                                    has_avx2() ? transpose_avx2 : NULL, NULL,
                                                    transpose_plain};
    return loops[form];
}

#elif defined(__ARM_NEON)
#include <arm_neon.h>

enum { QUARTER_LANES = LANES / 4 };

/* In place: rows become columns. */
static inline void transpose_registers_neon(uint32x4_t a[QUARTER_LANES])
{
    uint64x2_t even[] = {vreinterpretq_u64_u32(vtrn1q_u32(a[0], a[1])),
                         vreinterpretq_u64_u32(vtrn1q_u32(a[2], a[3]))};
    uint64x2_t odd[] = {vreinterpretq_u64_u32(vtrn2q_u32(a[0], a[1])),
                        vreinterpretq_u64_u32(vtrn2q_u32(a[2], a[3]))};
    a[0] = vreinterpretq_u32_u64(vtrn1q_u64(even[0], even[1]));
    a[1] = vreinterpretq_u32_u64(vtrn1q_u64(odd[0], odd[1]));
    a[2] = vreinterpretq_u32_u64(vtrn2q_u64(even[0], even[1]));
    a[3] = vreinterpretq_u32_u64(vtrn2q_u64(odd[0], odd[1]));
}

static inline void store_quarter(float *to, size_t stride, const uint32x4_t words[QUARTER_LANES],
                                 size_t bytes)
{
    for (size_t k = 0; k < QUARTER_LANES; k++) {
        uint32x4_t pair = words[k];
        if (bytes == FLOAT_BYTES) {
            vst1q_f32(to + k * stride, vreinterpretq_f32_u32(pair));
            continue;
        }
        uint32x4_t upper = vandq_u32(pair, vdupq_n_u32(0xffff0000));
        vst1q_f32(to + 2 * k * stride, vreinterpretq_f32_u32(vshlq_n_u32(pair, 16)));
        vst1q_f32(to + (2 * k + 1) * stride, vreinterpretq_f32_u32(upper));
    }
}

static size_t transpose_neon(float *to, size_t stride, const struct number_rows *rows, size_t count)
{
    size_t step = QUARTER_LANES * LANE_BYTES / rows->bytes;
    size_t i = 0;
    for (; i + step <= count; i += step) {
        if (i % (LANES / QUARTER_LANES * step) == 0) /* once a cache line */
            prefetch_rows(rows, i * rows->bytes);
        for (size_t row = 0; row < LANES; row += QUARTER_LANES) {
            uint32x4_t words[QUARTER_LANES];
            for (size_t k = 0; k < QUARTER_LANES; k++)
                words[k] = vreinterpretq_u32_u8(
                    vld1q_u8((const uint8_t *)rows->at[row + k] + i * rows->bytes));
            transpose_registers_neon(words);
            store_quarter(to + i * stride + row, stride, words, rows->bytes);
        }
    }
    return i;
}

transpose_loop *transpose_find(enum transpose_form form)
{
    return form == TRANSPOSE_NEON    ? transpose_neon
           : form == TRANSPOSE_PLAIN ? transpose_plain
                                     : NULL;
}
#else
transpose_loop *transpose_find(enum transpose_form form)
{
    return form == TRANSPOSE_PLAIN ? transpose_plain : NULL;
}
#endif

void transpose_rows(float *to, size_t stride, const struct number_rows *rows, size_t count)
{
    enum transpose_form form = TRANSPOSE_AVX512;
    while (!transpose_find(form))
        form++;
    size_t done = rows->count == LANES ? transpose_find(form)(to, stride, rows, count) : 0;
    transpose_from(done, to, stride, rows, count);
}

void transpose(struct matrix y, struct matrix x)
{
    assert(y.rows == x.columns && y.columns == x.rows);
    struct number_rows rows = {.bytes = FLOAT_BYTES, .jump = LANES * x.stride * FLOAT_BYTES};
    for (size_t row = 0; row < x.rows; row += LANES) {
        rows.count = x.rows - row < LANES ? x.rows - row : LANES;
        for (size_t i = 0; i < rows.count; i++)
            rows.at[i] = (const char *)(x.data + (row + i) * x.stride);
        transpose_rows(y.data + row, y.stride, &rows, x.columns);
    }
}
