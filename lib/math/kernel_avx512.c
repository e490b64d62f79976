/* kernel_avx512.c: panels of floats with AVX-512, and of pairs, which the first rows widen.
 *
 * What is prefetched is asked for evenly, a little with each step: asked for all at once it would
 * fill the few places that a core has for lines on their way, which A and B have to pass, too. */
#include <assert.h>

#include "base/num.h"
#include "math/avx512.h"
#include "math/flush.h"
#include "math/kernel_body.h"

#ifdef AVX512

enum {
    REGISTERS = PANEL_FLOATS / LANES,
    ROWS_MAX = 12,         /* whose sums stay in registers */
    THIRDS = ROWS_MAX / 3, /* every third row of B: the next two need no pointer */
    STEP = 8,              /* numbers of a sum between prefetches */
    LINE_BYTES = 64,
};

/* Some rows of B, some columns of A, and what is prefetched meanwhile: so many lines a step. */
struct part {
    const struct kernel_shape *shape;
    const float *a, *b;
    float *c;
    const char *next;
    size_t lines;
    const uint32_t *pairs; /* of which A is made, in `widened`; NULL: it is made */
    size_t pairs_stride;
    float *widened;
};

/* Part of all rows that there are registers for. */
typedef void add_rows(struct part *part);

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define EACH(i, count) _Pragma("GCC unroll 12") for (size_t i = 0; i < (count); i++)

/* Row k of A; of a pair the second number comes first. */
IN_AVX512 static ALWAYS_INLINE void load_columns(__m512 columns[REGISTERS], struct part *part,
                                                 const float *a, size_t k, bool widens)
{
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
    EACH(i, REGISTERS)
    {
        if (!widens) {
            columns[i] = _mm512_loadu_ps(a + i * LANES);
        } else {
            __m512i pair = _mm512_loadu_si512(part->pairs + k / 2 * part->pairs_stride + i * LANES);
            columns[i] = _mm512_castsi512_ps(k % 2 ? _mm512_slli_epi32(pair, 16)
                                                   : _mm512_and_si512(pair, upper));
            _mm512_store_ps(part->widened + k * PANEL_FLOATS + i * LANES, columns[i]);
        }
    }
}

/* sums += b[k] · a row of A. */
IN_AVX512 static ALWAYS_INLINE void add_number(__m512 sums[ROWS_MAX][REGISTERS],
                                               const __m512 columns[REGISTERS],
                                               const float *const b[THIRDS], size_t k,
                                               size_t b_stride, size_t rows)
{
    EACH(t, rows)
    {
        __m512 x = _mm512_set1_ps(b[t / 3][t % 3 * b_stride + k]);
        EACH(i, REGISTERS)
        sums[t][i] = _mm512_fmadd_ps(x, columns[i], sums[t][i]);
    }
}

/* The number of rows is a constant wherever this is called, so that sums stay in registers. */
IN_AVX512 static ALWAYS_INLINE void add_tile(struct part *part, size_t rows, bool widens)
{
    size_t a_stride = (size_t)part->shape->a_stride;
    size_t b_stride = (size_t)part->shape->b_stride;
    size_t c_stride = (size_t)part->shape->c_stride;
    size_t rest = (size_t)part->shape->k;
    const float *a = part->a;
    const float *b[THIRDS];
    __m512 sums[ROWS_MAX][REGISTERS], columns[REGISTERS];
    EACH(i, (rows + 2) / 3)
    b[i] = part->b + 3 * i * b_stride;
    EACH(t, rows)
    EACH(i, REGISTERS)
    sums[t][i] = part->shape->accumulate ? _mm512_loadu_ps(part->c + t * c_stride + i * LANES)
                                         : _mm512_setzero_ps();
    for (; rest >= STEP; rest -= STEP) {
        for (size_t i = 0; i < part->lines; i++, part->next += LINE_BYTES)
            _mm_prefetch(part->next, _MM_HINT_T1);
        EACH(k, STEP)
        {
            load_columns(columns, part, a, k, widens);
            add_number(sums, columns, b, k, b_stride, rows);
            a += a_stride;
        }
        if (widens) {
            part->pairs += STEP / 2 * part->pairs_stride;
            part->widened += STEP * PANEL_FLOATS;
        }
        EACH(i, (rows + 2) / 3)
        b[i] += STEP;
    }
    for (size_t k = 0; k < rest; k++, a += a_stride) {
        load_columns(columns, part, a, k, widens);
        add_number(sums, columns, b, k, b_stride, rows);
    }
    EACH(t, rows)
    EACH(i, REGISTERS)
    _mm512_storeu_ps(part->c + t * c_stride + i * LANES, sums[t][i]);
}

#define ADD_ROWS(count)                                       \
    IN_AVX512 static void add_rows_##count(struct part *part) \
    {                                                         \
        if (part->pairs)                                      \
            add_tile(part, count, true);                      \
        else                                                  \
            add_tile(part, count, false);                     \
    }

ADD_ROWS(1)
ADD_ROWS(2)
ADD_ROWS(3)
ADD_ROWS(4)
ADD_ROWS(5)
ADD_ROWS(6)
ADD_ROWS(7)
ADD_ROWS(8)
ADD_ROWS(9)
ADD_ROWS(10)
ADD_ROWS(11)
ADD_ROWS(12)

static add_rows *const rows_by_count[ROWS_MAX + 1] = {
    NULL,       add_rows_1, add_rows_2, add_rows_3,  add_rows_4,  add_rows_5, add_rows_6,
    add_rows_7, add_rows_8, add_rows_9, add_rows_10, add_rows_11, add_rows_12};

/* All rows of some columns, as evenly as can be. */
static void add_columns(struct part *part)
{
    struct part rest = *part;
    size_t n = (size_t)part->shape->n;
    for (size_t passes = (n + ROWS_MAX - 1) / ROWS_MAX; passes > 0; passes--) {
        size_t rows = (n + passes - 1) / passes;
        rows_by_count[rows](&rest);
        rest.pairs = NULL;
        rest.b += rows * (size_t)part->shape->b_stride;
        rest.c += rows * (size_t)part->shape->c_stride;
        n -= rows;
    }
    part->next = rest.next;
}

/* What a step prefetches for all of A, or its share, to be asked for; a sum has `numbers`. */
static size_t lines_of_step(const struct kernel_shape *shape, size_t numbers)
{
    size_t m = (size_t)shape->m;
    size_t passes = ((size_t)shape->n + ROWS_MAX - 1) / ROWS_MAX * (m / PANEL_FLOATS);
    size_t steps = num_max(1, passes * (numbers / STEP));
    size_t lines = shape->prefetch ? m * (size_t)shape->k / LANES / (size_t)shape->prefetch : 0;
    return (lines + steps - 1) / steps;
}

void floats_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                   const void *next_a)
{
    struct part part = {shape, a, b, c, next_a, lines_of_step(shape, (size_t)shape->k)};
    for (size_t column = 0; column < (size_t)shape->m; column += PANEL_FLOATS) {
        add_columns(&part);
        part.a += PANEL_FLOATS;
        part.c += PANEL_FLOATS;
    }
}

void widened_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                    const void *next_a)
{
    float widened[2 * WIDENED_PAIRS * PANEL_FLOATS] __attribute__((aligned(LINE_BYTES)));
    size_t k = 2 * (size_t)shape->k;
    struct kernel_shape floats = *shape;
    struct part part = {&floats,
                        widened,
                        b,
                        c,
                        next_a,
                        lines_of_step(shape, k),
                        .pairs_stride = (size_t)shape->a_stride};
    unsigned usual = flush_begin();
    assert(shape->k <= WIDENED_PAIRS);
    floats.k = (int)k;
    floats.a_stride = PANEL_FLOATS;
    for (size_t column = 0; column < (size_t)shape->m; column += PANEL_FLOATS) {
        part.pairs = (const uint32_t *)a + column;
        part.widened = widened;
        part.c = c + column;
        add_columns(&part);
    }
    flush_end(usual);
}
#else
void floats_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                   const void *next_a)
{
    floats_plain(shape, a, b, c, next_a);
}

void widened_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                    const void *next_a)
{
    (void)shape, (void)a, (void)b, (void)c, (void)next_a; /* nothing widens here */
}
#endif
