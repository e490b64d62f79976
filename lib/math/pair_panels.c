/* pair_panels.c: a few rows, or in the order of tiles one, times panels of pairs, which are widened
 * to floats on their way.
 *
 * To read the panels is most of the work. So some stand side by side, and each gives a few pairs
 * before the next does: they are streams of memory on pages of their own, of which most
 * processors fetch more at a time than of one. */
#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "math/avx2.h"
#include "math/flush.h"
#include "math/gemm.h"
#include "math/kernel_body.h"

#ifdef AVX512

enum {
    AT_ONCE = 4,      /* pairs of a panel before the next one has its turn */
    PAIRS_AHEAD = 32, /* what is prefetched of all: 8 KB */
    FEW = 4,          /* rows that share what is widened */
    MANY = 8,         /* rows: more than these share floats in memory */
    REGISTERS = 8,    /* the most that sums of a row take, side by side */
};

_Static_assert(TILE_PAIRS % AT_ONCE == 0, "a step of tiles ends where a part ends");

/* A few pairs of a panel, a few rows, and what is prefetched meanwhile. */
struct part {
    const uint32_t *a, *next;
    const void *b; /* floats, or pairs where tiles' order is wanted */
    float *c;
    size_t pairs, b_stride, c_stride;
    float *seconds, *firsts; /* chains of a step of tiles, which begins or ends here */
    bool begins, ends;
};

/* Some rows of a part, by all columns. */
typedef void add_part(const struct part *part, size_t rows);

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define EACH(i, count) _Pragma("GCC unroll 8") for (size_t i = 0; i < (count); i++)

/* Rows and registers are constants wherever these are called: so sums stay in registers. */
IN_AVX512 static ALWAYS_INLINE void add_tile_avx512(const struct part *part, size_t rows,
                                                    size_t registers)
{
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
    const uint32_t *a = part->a;
    const float *b = part->b;
    __m512 sums[FEW][REGISTERS];
    EACH(t, rows)
    EACH(i, registers)
    sums[t][i] = _mm512_loadu_ps(part->c + t * part->c_stride + i * LANES);
    for (size_t k = 0; k < part->pairs; k++, a += PAIR_COLUMNS)
        EACH(i, registers)
        {
            __m512i pair = _mm512_loadu_si512(a + i * LANES);
            __m512 second = _mm512_castsi512_ps(_mm512_and_si512(pair, upper));
            __m512 first = _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16));
            __builtin_prefetch(part->next + k * PAIR_COLUMNS + i * LANES);
            EACH(t, rows)
            {
                const float *x = b + t * part->b_stride + 2 * k;
                sums[t][i] = _mm512_fmadd_ps(_mm512_set1_ps(x[0]), second, sums[t][i]);
                sums[t][i] = _mm512_fmadd_ps(_mm512_set1_ps(x[1]), first, sums[t][i]);
            }
        }
    EACH(t, rows)
    EACH(i, registers)
    _mm512_storeu_ps(part->c + t * part->c_stride + i * LANES, sums[t][i]);
}

IN_AVX512 static void add_avx512(const struct part *part, size_t rows)
{
    enum { ALL = PAIR_COLUMNS / LANES };
    if (rows == 1)
        add_tile_avx512(part, 1, ALL);
    else if (rows == 2)
        add_tile_avx512(part, 2, ALL);
    else if (rows == 3)
        add_tile_avx512(part, 3, ALL);
    else
        add_tile_avx512(part, FEW, ALL);
}

IN_AVX2 static ALWAYS_INLINE void add_tile_avx2(const struct part *part, size_t rows, size_t column,
                                                size_t registers)
{
    const __m256i upper = _mm256_set1_epi32((int)0xffff0000);
    const uint32_t *a = part->a + column;
    const float *b = part->b;
    float *c = part->c + column;
    __m256 sums[FEW][REGISTERS];
    EACH(t, rows)
    EACH(i, registers)
    sums[t][i] = _mm256_loadu_ps(c + t * part->c_stride + i * HALF_LANES);
    for (size_t k = 0; k < part->pairs; k++, a += PAIR_COLUMNS)
        EACH(i, registers)
        {
            __m256i pair = _mm256_loadu_si256((const __m256i *)(const void *)(a + i * HALF_LANES));
            __m256 second = _mm256_castsi256_ps(_mm256_and_si256(pair, upper));
            __m256 first = _mm256_castsi256_ps(_mm256_slli_epi32(pair, 16));
            if (i % 2 == 0) /* once a cache line */
                __builtin_prefetch(part->next + k * PAIR_COLUMNS + column + i * HALF_LANES);
            EACH(t, rows)
            {
                const float *x = b + t * part->b_stride + 2 * k;
                sums[t][i] = _mm256_fmadd_ps(_mm256_set1_ps(x[0]), second, sums[t][i]);
                sums[t][i] = _mm256_fmadd_ps(_mm256_set1_ps(x[1]), first, sums[t][i]);
            }
        }
    EACH(t, rows)
    EACH(i, registers)
    _mm256_storeu_ps(c + t * part->c_stride + i * HALF_LANES, sums[t][i]);
}

IN_AVX2 static void add_avx2(const struct part *part, size_t rows)
{
    size_t registers = rows == 1 ? 8 : rows == 2 ? 4 : 2;
    for (size_t column = 0; column < PAIR_COLUMNS; column += registers * HALF_LANES)
        if (rows == 1)
            add_tile_avx2(part, 1, column, 8);
        else if (rows == 2)
            add_tile_avx2(part, 2, column, 4);
        else if (rows == 3)
            add_tile_avx2(part, 3, column, 2);
        else
            add_tile_avx2(part, FEW, column, 2);
}

/* One row in the order of tiles: in a step second and first numbers are summed apart. */
IN_AVX512 static void add_to_chains(const struct part *part, size_t rows)
{
    enum { ALL = PAIR_COLUMNS / LANES };
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
    const uint32_t *a = part->a;
    const uint32_t *b = part->b;
    __m512 seconds[ALL], firsts[ALL];
    (void)rows;
    EACH(i, ALL)
    {
        seconds[i] =
            part->begins ? _mm512_setzero_ps() : _mm512_loadu_ps(part->seconds + i * LANES);
        firsts[i] = part->begins ? _mm512_setzero_ps() : _mm512_loadu_ps(part->firsts + i * LANES);
    }
    for (size_t k = 0; k < part->pairs; k++, a += PAIR_COLUMNS) {
        __m512i x = _mm512_set1_epi32((int)b[k]);
        __m512 x_second = _mm512_castsi512_ps(_mm512_and_si512(x, upper));
        __m512 x_first = _mm512_castsi512_ps(_mm512_slli_epi32(x, 16));
        EACH(i, ALL)
        {
            __m512i pair = _mm512_loadu_si512(a + i * LANES);
            __m512 second = _mm512_castsi512_ps(_mm512_and_si512(pair, upper));
            __m512 first = _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16));
            __builtin_prefetch(part->next + k * PAIR_COLUMNS + i * LANES);
            seconds[i] = _mm512_fmadd_ps(x_second, second, seconds[i]);
            firsts[i] = _mm512_fmadd_ps(x_first, first, firsts[i]);
        }
    }
    EACH(i, ALL)
    {
        float *sums = part->c + i * LANES;
        _mm512_storeu_ps(part->seconds + i * LANES, seconds[i]);
        _mm512_storeu_ps(part->firsts + i * LANES, firsts[i]);
        if (part->ends)
            _mm512_storeu_ps(
                sums, _mm512_add_ps(_mm512_loadu_ps(sums), _mm512_add_ps(firsts[i], seconds[i])));
    }
}

static void add_rows_of_part(struct part part, size_t rows, add_part *add)
{
    for (size_t row = 0; row < rows; row += FEW) {
        add(&part, num_min(FEW, rows - row));
        part.b = (const float *)part.b + FEW * part.b_stride;
        part.c += FEW * part.c_stride;
    }
}

/* b: floats; or pairs, which are as large. */
static void multiply(const struct kernel_shape *shape, const uint32_t *a, const float *b, float *c,
                     add_part *add)
{
    float chains[PANELS_TOGETHER][2][PAIR_COLUMNS];
    bool tiles = add == add_to_chains;
    size_t c_stride = (size_t)shape->c_stride;
    size_t pairs = (size_t)shape->k;
    size_t panel_size = pairs * PAIR_COLUMNS;
    size_t panels = (size_t)shape->m / PAIR_COLUMNS;
    unsigned usual = flush_begin();
    assert(!tiles || (panels <= PANELS_TOGETHER && shape->n == 1));
    for (size_t row = 0; !shape->accumulate && row < (size_t)shape->n; row++)
        memset(c + row * c_stride, 0, (size_t)shape->m * sizeof *c);
    for (size_t k = 0; k < pairs; k += AT_ONCE) {
        size_t ahead = k + PAIRS_AHEAD / panels;
        ahead += ahead < pairs ? 0 : (panels - 1) * pairs; /* in the panels that come next */
        for (size_t i = 0; i < panels; i++) {
            const uint32_t *panel = a + i * panel_size;
            struct part part = {panel + k * PAIR_COLUMNS,
                                panel + ahead * PAIR_COLUMNS,
                                b + (tiles ? k : 2 * k),
                                c + i * PAIR_COLUMNS,
                                num_min(AT_ONCE, pairs - k),
                                (size_t)shape->b_stride,
                                c_stride,
                                chains[i][0],
                                chains[i][1],
                                .begins = k % TILE_PAIRS == 0,
                                .ends =
                                    k % TILE_PAIRS + AT_ONCE == TILE_PAIRS || k + AT_ONCE >= pairs};
            add_rows_of_part(part, (size_t)shape->n, add);
        }
    }
    flush_end(usual);
}

void pair_panels_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                        const void *next_a)
{
    if (shape->n > MANY && shape->m == PAIR_COLUMNS)
        widened_avx512(shape, a, b, c, next_a);
    else
        multiply(shape, a, b, c, add_avx512);
}

void pair_panels_avx2(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                      const void *next_a)
{
    if (shape->n > MANY && shape->m == PAIR_COLUMNS)
        widened_avx2(shape, a, b, c, next_a);
    else
        multiply(shape, a, b, c, add_avx2);
}

void tile_panels_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                        const void *next_a)
{
    (void)next_a;
    multiply(shape, a, b, c, add_to_chains);
}
#else
void pair_panels_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                        const void *next_a)
{
    (void)shape, (void)a, (void)b, (void)c, (void)next_a; /* nothing widens here */
}

void pair_panels_avx2(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                      const void *next_a)
{
    (void)shape, (void)a, (void)b, (void)c, (void)next_a;
}

void tile_panels_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                        const void *next_a)
{
    (void)shape, (void)a, (void)b, (void)c, (void)next_a;
}
#endif
