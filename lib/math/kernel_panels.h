/* kernel_panels.h: panels of floats by vectors of one width. A file that includes this says of
 * which, and calls panels_floats:
 *
 *     vector        VECTOR_FLOATS floats, with vector_load, _store, _zero, _all, _add and
 *                   _multiply_add
 *     IN_VECTORS    the instructions that these take
 *     ROWS_MAX      rows whose sums stay in registers, REGISTERS a row
 *     FOR_ROWS(DO)  DO(1) up to DO(ROWS_MAX)
 *
 * What is prefetched is asked for evenly, a little with each step: asked for all at once it would
 * fill the few places that a core has for lines on their way, which A and B have to pass, too. */
#ifndef ATTN_MATH_KERNEL_PANELS_H
#define ATTN_MATH_KERNEL_PANELS_H

#include <assert.h>

#include "base/num.h"
#include "math/kernel.h"

enum {
    COLUMNS = REGISTERS * VECTOR_FLOATS, /* at a time */
    THIRDS = ROWS_MAX / 3,               /* every third row of B: the next two need no pointer */
    STEP = 8,                            /* numbers of a sum between prefetches */
    LINE_BYTES = 64,
    LINE_FLOATS = 16,
    PANEL_VECTORS = PANEL_FLOATS / VECTOR_FLOATS,
    FLOATS_AHEAD = 16 * 1024, /* 64 KiB, which wait in the second cache */
};

_Static_assert(PANEL_FLOATS % COLUMNS == 0 && ROWS_MAX % 3 == 0, "nothing is left over");

/* Some rows of B, some columns of A, and what is prefetched meanwhile: so many lines a step. */
struct part {
    const struct kernel_shape *shape;
    const float *a, *b;
    float *c;
    const char *next;
    size_t lines;
};

/* Part of all rows that there are registers for. */
typedef void add_rows(struct part *part);

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define EACH(i, count) _Pragma("GCC unroll 12") for (size_t i = 0; i < (count); i++)

/* sums += b[k] · a row of A. */
IN_VECTORS static ALWAYS_INLINE void add_number(vector sums[ROWS_MAX][REGISTERS], const float *a,
                                                const float *const b[THIRDS], size_t k,
                                                size_t b_stride, size_t rows)
{
    vector columns[REGISTERS];
    EACH(i, REGISTERS) columns[i] = vector_load(a + i * VECTOR_FLOATS);
    EACH(t, rows)
    {
        vector x = vector_all((b[t / 3] + k)[t % 3 * b_stride]);
        EACH(i, REGISTERS)
        sums[t][i] = vector_multiply_add(x, columns[i], sums[t][i]);
    }
}

/* The number of rows is a constant wherever this is called, so that sums stay in registers. */
IN_VECTORS static ALWAYS_INLINE void add_tile(struct part *part, size_t rows)
{
    size_t a_stride = (size_t)part->shape->a_stride;
    size_t b_stride = (size_t)part->shape->b_stride;
    size_t c_stride = (size_t)part->shape->c_stride;
    size_t rest = (size_t)part->shape->k;
    const float *a = part->a;
    const char *next = part->next;
    float *c = part->c;
    const float *b[THIRDS];
    vector sums[ROWS_MAX][REGISTERS];
    EACH(i, (rows + 2) / 3)
    b[i] = part->b + 3 * i * b_stride;
    EACH(t, rows)
    EACH(i, REGISTERS)
    sums[t][i] =
        part->shape->accumulate ? vector_load(c + t * c_stride + i * VECTOR_FLOATS) : vector_zero();
    for (; rest >= STEP; rest -= STEP) {
        for (size_t i = 0; i < part->lines; i++, next += LINE_BYTES)
            _mm_prefetch(next, _MM_HINT_T1);
        EACH(k, STEP)
        {
            add_number(sums, a, b, k, b_stride, rows);
            a += a_stride;
        }
        EACH(i, (rows + 2) / 3)
        b[i] += STEP;
    }
    for (size_t k = 0; k < rest; k++, a += a_stride)
        add_number(sums, a, b, k, b_stride, rows);
    EACH(t, rows)
    EACH(i, REGISTERS)
    vector_store(c + t * c_stride + i * VECTOR_FLOATS, sums[t][i]);
    part->next = next;
}

#define ADD_ROWS(count)                                        \
    IN_VECTORS static void add_rows_##count(struct part *part) \
    {                                                          \
        add_tile(part, count);                                 \
    }

FOR_ROWS(ADD_ROWS)

#define NAME_ROWS(count) add_rows_##count,

static add_rows *const rows_by_count[ROWS_MAX + 1] = {NULL, FOR_ROWS(NAME_ROWS)};

/* All rows of some columns, as evenly as can be. */
static void add_columns(struct part *part)
{
    struct part rest = *part;
    size_t n = (size_t)part->shape->n;
    for (size_t passes = (n + ROWS_MAX - 1) / ROWS_MAX; passes > 0; passes--) {
        size_t rows = (n + passes - 1) / passes;
        rows_by_count[rows](&rest);
        rest.b += rows * (size_t)part->shape->b_stride;
        rest.c += rows * (size_t)part->shape->c_stride;
        n -= rows;
    }
    part->next = rest.next;
}

/* What a step prefetches for all of A, or its share, to be asked for. */
static size_t lines_of_step(const struct kernel_shape *shape)
{
    size_t m = (size_t)shape->m;
    size_t passes = ((size_t)shape->n + ROWS_MAX - 1) / ROWS_MAX * (m / COLUMNS);
    size_t steps = num_max(1, passes * ((size_t)shape->k / STEP));
    size_t lines =
        shape->prefetch ? m * (size_t)shape->k / LINE_FLOATS / (size_t)shape->prefetch : 0;
    return (lines + steps - 1) / steps;
}

/* One row of B and a panel, a segment of the sum after the other. */
IN_VECTORS static ALWAYS_INLINE void multiply_panel(const float *a, const float *b, float *c,
                                                    size_t numbers)
{
    for (size_t first = 0; first < numbers; first += SUM_SEGMENT) {
        vector sums[PANEL_VECTORS];
        EACH(i, PANEL_VECTORS)
        sums[i] = vector_zero();
        for (size_t k = first; k < num_min(first + SUM_SEGMENT, numbers); k++, a += PANEL_FLOATS) {
            vector x = vector_all(b[k]);
            for (size_t line = 0; line < PANEL_FLOATS; line += LINE_FLOATS)
                _mm_prefetch((const char *)(a + FLOATS_AHEAD + line), _MM_HINT_T1);
            EACH(i, PANEL_VECTORS)
            sums[i] = vector_multiply_add(x, vector_load(a + i * VECTOR_FLOATS), sums[i]);
        }
        EACH(i, PANEL_VECTORS)
        {
            float *to = c + i * VECTOR_FLOATS;
            vector_store(to, first > 0 ? vector_add(vector_load(to), sums[i]) : sums[i]);
        }
    }
}

/* One row of B waits for nothing but memory, where panels lie one after the other: what follows is
 * prefetched in that order. */
IN_VECTORS static void multiply_row(const struct kernel_shape *shape, const float *a,
                                    const float *b, float *c)
{
    size_t numbers = (size_t)shape->k;
    assert(shape->n == 1 && !shape->accumulate);
    for (size_t column = 0; column < (size_t)shape->m; column += PANEL_FLOATS)
        multiply_panel(a + column * numbers, b, c + column, numbers);
}

static void panels_floats(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                          const void *next_a)
{
    if (shape->panels) {
        multiply_row(shape, a, b, c);
        return;
    }
    struct part part = {shape, a, b, c, next_a, lines_of_step(shape)};
    for (size_t column = 0; column < (size_t)shape->m; column += COLUMNS) {
        add_columns(&part);
        part.a += COLUMNS;
        part.c += COLUMNS;
    }
}

#endif
