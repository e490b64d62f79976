/* vectors.h: loops with the vectors of one instruction set: products of panels of floats, and
 * transposing of rows of numbers. A file that includes this header defines
 *
 *     vector, VECTOR_FLOATS   a vector and its number of floats, with vector_load, _store, _zero,
 *                             _all, _add and _multiply_add
 *     WORDS                   the number of words of a row that are transposed at a time
 *     vector_words            loads WORDS words of every WORDS-th of VECTOR_FLOATS rows, side by
 *                             side
 *     transpose_words         transposes each block of WORDS by WORDS words in WORDS such vectors
 *     IN_VECTORS              the function attribute that enables the instructions
 *     ROWS_MAX, REGISTERS     the maximum number of rows of B whose sums stay in registers, and the
 *                             number of registers for the sums of one row
 *     FOR_ROWS(DO)            expands to DO(1) DO(2) … DO(ROWS_MAX)
 *
 * and gets the loops as VECTOR_LOOPS (kernel.h). All instruction sets give the same bits. */
#pragma once

#include <assert.h>

#include "base/num.h"
#include "math/kernel.h"
#include "math/weight.h"

enum {
    COLUMNS = REGISTERS * VECTOR_FLOATS, /* columns of A that are multiplied at a time */
    THIRDS = ROWS_MAX / 3, /* number of pointers to rows of B, one for every third row; b_stride
                            * leads to the two rows after it */
    STEP = 8,              /* terms of a sum that are added between two prefetches */
    LINE_BYTES = 64,
    LINE_FLOATS = 16,
    PANEL_VECTORS = PANEL_FLOATS / VECTOR_FLOATS,
    FLOATS_AHEAD = 16 * 1024, /* floats prefetched ahead: 64 KiB, which fit in the second-level
                               * cache */
    WORD_BYTES = 4,           /* bytes of a word: a float, or two bf16 numbers */
    GROUPS = LANES / VECTOR_FLOATS,
};

_Static_assert(PANEL_FLOATS % COLUMNS == 0 && ROWS_MAX % 3 == 0, "nothing is left over");

#define ALWAYS_INLINE inline __attribute__((always_inline))
/* Sanitizers add a check to each access: unrolled loops would take minutes to compile. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define EACH(i, count) for (size_t i = 0; i < (count); i++)
#else
#define EACH(i, count) _Pragma("GCC unroll 16") for (size_t i = 0; i < (count); i++)
#endif
#define PREFETCH(address) __builtin_prefetch(address, 0, 2)

/* --- products of panels ----------------------------------------------------------------------- */

/* Prefetches are spread evenly over a product. If all came at once, they would fill the few buffers
 * that a core has for cache lines in transit, which are also needed for reading A and B. */

/* The part of a product that is computed next: some rows of B by some columns of A. `next` is the
 * address to prefetch from, `lines` cache lines in each step. */
struct part {
    const struct kernel_shape *shape;
    const float *a, *b;
    float *c;
    const char *next;
    size_t lines;
};

typedef void add_rows(struct part *part);

/* For each row t < `rows`: sums[t] += B[t][k] · the row of A at `a`. */
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

/* Multiply `rows` rows of B by COLUMNS columns of A. `rows` is a constant in each call, which keeps
 * the sums in registers. */
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
            PREFETCH(next);
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

/* Multiply all rows of B by COLUMNS columns of A, in passes of at most ROWS_MAX rows, about equally
 * many in each. */
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

/* The number of cache lines of the next A, or of a part of the next A, to prefetch in each step. */
static size_t lines_of_step(const struct kernel_shape *shape)
{
    size_t m = (size_t)shape->m;
    size_t passes = ((size_t)shape->n + ROWS_MAX - 1) / ROWS_MAX * (m / COLUMNS);
    size_t steps = num_max(1, passes * ((size_t)shape->k / STEP));
    size_t lines =
        shape->prefetch ? m * (size_t)shape->k / LINE_FLOATS / (size_t)shape->prefetch : 0;
    return (lines + steps - 1) / steps;
}

/* Multiply one row of B by a panel, one segment of the sum after the other. */
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
                PREFETCH(a + FLOATS_AHEAD + line);
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

/* Multiply one row of B by panels. Most time goes to reading A, so panels are read and prefetched
 * in the order of their addresses. */
IN_VECTORS static void multiply_row(const struct kernel_shape *shape, const float *a,
                                    const float *b, float *c)
{
    size_t numbers = (size_t)shape->k;
    assert(shape->n == 1 && !shape->accumulate);
    for (size_t column = 0; column < (size_t)shape->m; column += PANEL_FLOATS)
        multiply_panel(a + column * numbers, b, c + column, numbers);
}

/* Multiply blocks of COLUMNS columns with vectors, and the remaining columns in plain C. */
static void multiply_floats(const struct kernel_shape *shape, const void *a, const void *b,
                            float *c, const void *next_a)
{
    struct part part = {shape, a, b, c, next_a, lines_of_step(shape)};
    struct kernel_shape rest = *shape;
    if (shape->panels) {
        multiply_row(shape, a, b, c);
        return;
    }
    for (; rest.m >= COLUMNS; rest.m -= COLUMNS) {
        add_columns(&part);
        part.a += COLUMNS;
        part.c += COLUMNS;
    }
    if (rest.m > 0)
        floats_plain(&rest, part.a, b, part.c, next_a);
}

/* --- rows as columns -------------------------------------------------------------------------- */

/* If byte offset `at` begins a cache line, prefetch the line that is rows->jump bytes further in
 * each of VECTOR_FLOATS rows, beginning with row `group`. Processors do not expect other rows to
 * follow these, and prefetch too late in strips. */
static ALWAYS_INLINE void prefetch_rows(const struct number_rows *rows, size_t group, size_t at)
{
    for (size_t i = 0; at % LINE_BYTES == 0 && i < VECTOR_FLOATS; i++) {
        const char *next = rows->at[group + i] + rows->jump + at;
        if (rows->jump == STRIP_AHEAD)
            __builtin_prefetch(next); /* the line is read soon: it is fetched into the first-level
                                       * cache */
        else
            PREFETCH(next);
    }
}

/* Load WORDS words of each of VECTOR_FLOATS rows, from row `row` and byte offset `byte` on, and
 * transpose them: columns[i] gets word i of every row. */
IN_VECTORS static ALWAYS_INLINE void load_columns(vector columns[WORDS],
                                                  const struct number_rows *rows, size_t row,
                                                  size_t byte)
{
    EACH(i, WORDS)
    columns[i] = vector_words(rows->at + row + i, byte);
    transpose_words(columns);
}

typedef uint32_t words __attribute__((vector_size(VECTOR_FLOATS * WORD_BYTES)));

/* first_numbers and second_numbers: the first or the second number of each bf16 pair, as a
 * float. */
IN_VECTORS static ALWAYS_INLINE vector first_numbers(vector pairs)
{
    return (vector)((words)pairs << 16);
}

IN_VECTORS static ALWAYS_INLINE vector second_numbers(vector pairs)
{
    return (vector)((words)pairs & 0xffff0000u);
}

IN_VECTORS static size_t transpose_blocks(float *to, size_t stride, const struct number_rows *rows,
                                          size_t count)
{
    size_t bytes = dtype_bytes(rows->dtype, 1);
    size_t step = WORDS * WORD_BYTES / bytes;
    size_t i = 0;
    for (; i + step <= count; i += step, to += step * stride) {
        for (size_t row = 0; row < LANES; row += VECTOR_FLOATS) {
            vector columns[WORDS];
            prefetch_rows(rows, row, i * bytes);
            load_columns(columns, rows, row, i * bytes);
            EACH(k, WORDS)
            {
                if (bytes == FLOAT_BYTES) {
                    vector_store(to + k * stride + row, columns[k]);
                    continue;
                }
                vector_store(to + 2 * k * stride + row, first_numbers(columns[k]));
                vector_store(to + (2 * k + 1) * stride + row, second_numbers(columns[k]));
            }
        }
    }
    return i;
}

/* sums[t][row] += row t of x · row `row` of `rows`, for `groups` groups of VECTOR_FLOATS rows from
 * row `first` on. Returns how many numbers of each row were multiplied. `groups`, `x_rows` and
 * `bytes`, the size of a number, are constants in each call. */
IN_VECTORS static ALWAYS_INLINE size_t multiply_groups(float (*sums)[LANES], struct matrix x,
                                                       const struct number_rows *rows, size_t first,
                                                       size_t groups, size_t x_rows, size_t bytes)
{
    size_t step = WORDS * WORD_BYTES / bytes;
    size_t i = 0;
    vector chains[GROUPS][ROWS_MAX], columns[GROUPS][WORDS];
    EACH(g, groups)
    EACH(t, x_rows) chains[g][t] = vector_load(sums[t] + first + g * VECTOR_FLOATS);
    for (; i + step <= x.columns; i += step) {
        EACH(g, groups)
        {
            prefetch_rows(rows, first + g * VECTOR_FLOATS, i * bytes);
            load_columns(columns[g], rows, first + g * VECTOR_FLOATS, i * bytes);
        }
        EACH(k, WORDS)
        EACH(t, x_rows)
        {
            const float *at = matrix_row(x, t) + i + k * WORD_BYTES / bytes;
            vector number = vector_all(at[0]);
            EACH(g, groups)
            chains[g][t] = vector_multiply_add(
                number, bytes == FLOAT_BYTES ? columns[g][k] : first_numbers(columns[g][k]),
                chains[g][t]);
            if (bytes == FLOAT_BYTES)
                continue;
            number = vector_all(at[1]);
            EACH(g, groups)
            chains[g][t] = vector_multiply_add(number, second_numbers(columns[g][k]), chains[g][t]);
        }
    }
    EACH(g, groups)
    EACH(t, x_rows) vector_store(sums[t] + first + g * VECTOR_FLOATS, chains[g][t]);
    return i;
}

/* With one row of x all groups are multiplied at once: the sums of one group alone would wait for
 * the latency of each multiply-add. */
#define MULTIPLY_ROWS(count)                                                               \
    IN_VECTORS static size_t multiply_rows_##count(float(*sums)[LANES], struct matrix x,   \
                                                   const struct number_rows *rows)         \
    {                                                                                      \
        enum { TOGETHER = (count) == 1 ? GROUPS : 1 };                                     \
        size_t done = 0;                                                                   \
        for (size_t row = 0; row < LANES; row += TOGETHER * VECTOR_FLOATS)                 \
            done = rows->dtype == DTYPE_F32                                                \
                       ? multiply_groups(sums, x, rows, row, TOGETHER, count, FLOAT_BYTES) \
                       : multiply_groups(sums, x, rows, row, TOGETHER, count, BF16_BYTES); \
        return done;                                                                       \
    }

FOR_ROWS(MULTIPLY_ROWS)

#define NAME_MULTIPLY(count) multiply_rows_##count,

static size_t multiply_blocks(float (*sums)[LANES], struct matrix x, const struct number_rows *rows)
{
    static size_t (*const by_count[])(float(*sums)[LANES], struct matrix x,
                                      const struct number_rows *rows) = {NULL,
                                                                         FOR_ROWS(NAME_MULTIPLY)};
    return by_count[x.rows](sums, x, rows);
}

/* --- quantised rows, packed side by side ------------------------------------------------------ */

enum {
    QUANT_VECTORS = QUANT_COLUMNS / VECTOR_FLOATS,
    QUANTS_AHEAD = 4 * 1024,
    WORD_BITS = 32,
};

typedef int32_t integers __attribute__((vector_size(VECTOR_FLOATS * WORD_BYTES)));

/* QUANT_COLUMNS packed rows, in vectors that have one element for each row: number = integer · step
 * + less, where the integers are in the bits of `words`. */
struct packed_rows {
    const char *words[QUANT_VECTORS];
    vector steps[QUANT_VECTORS], less[QUANT_VECTORS];
};

/* How the numbers of packed rows are used. If `copies` is true: to[i · columns] = number i;
 * otherwise sums += x · number. `copies` is a constant in each call. */
struct packed_use {
    bool copies;
    const float *x;
    float *to;
    size_t columns;
};

/* Use one integer of each of `count` words. If `shift` is 0, it is the bits that `mask` selects,
 * left in their place; otherwise it is the word shifted right by `shift`. */
IN_VECTORS static ALWAYS_INLINE void use_integers(vector sums[QUANT_VECTORS],
                                                  const struct packed_use *use,
                                                  const struct packed_rows *some, size_t count,
                                                  words mask, uint32_t shift)
{
    EACH(j, count)
    {
        vector x = use->copies ? vector_zero() : vector_all(use->x[j]);
        EACH(v, QUANT_VECTORS)
        {
            const void *at = some->words[v] + j * LANES * WORD_BYTES;
            words word = (words)vector_load(at);
            integers integer = (integers)(shift ? word >> shift : word & mask);
            vector number = vector_multiply_add(__builtin_convertvector(integer, vector),
                                                some->steps[v], some->less[v]);
            if (use->copies)
                vector_store(use->to + j * use->columns + v * VECTOR_FLOATS, number);
            else
                sums[v] = vector_multiply_add(x, number, sums[v]);
        }
    }
}

static ALWAYS_INLINE void use_advance(struct packed_use *use, size_t numbers)
{
    if (use->copies)
        use->to += numbers * use->columns;
    else
        use->x += numbers;
}

/* Use the next `packing.numbers` numbers of QUANT_COLUMNS packed rows; return the address after
 * them. `packing` is a constant in each call, as long as no code uses its address. Most integers
 * are not shifted to the low end of their word: in its place, each is larger by a power of 2, and
 * its step is made smaller by the same factor. Only the last integer of a word is shifted, as its
 * top bit would make it look negative. A fused multiply-add rounds once: if the type subtracts a
 * number, integer · step is exact, because they have at most 5 and 17 binary digits; otherwise the
 * subtracted number is exact. */
IN_VECTORS static ALWAYS_INLINE const char *use_quants(vector sums[QUANT_VECTORS],
                                                       struct packed_use *use, const char *at,
                                                       struct dtype_packing packing)
{
    size_t of_word = WORD_BITS / packing.bits, count = packing.numbers / of_word;
    size_t head = LANES * FLOAT_BYTES * (packing.has_less ? 2 : 1);
    size_t bytes = head + LANES * packing.numbers * packing.bits / 8; /* bytes of LANES rows */
    size_t all = QUANT_COLUMNS / LANES * bytes;
    struct packed_rows some;
    words mask = (words){0} + ((1U << packing.bits) - 1);
    EACH(v, QUANT_VECTORS)
    {
        const char *from = at + v / GROUPS * bytes + v % GROUPS * sizeof(vector);
        some.words[v] = from + head;
        some.steps[v] = vector_load((const float *)(const void *)from);
        some.less[v] = some.steps[v] * (float)packing.offset;
        if (packing.has_less)
            some.less[v] = -vector_load((const float *)(const void *)from + LANES);
    }
    for (size_t i = 0; i + 1 < of_word; i++, mask <<= packing.bits) {
        EACH(line, all / LINE_BYTES / (of_word - 1))
        PREFETCH(at + QUANTS_AHEAD + (i + line * (of_word - 1)) * LINE_BYTES);
        use_integers(sums, use, &some, count, mask, 0);
        use_advance(use, count);
        EACH(v, QUANT_VECTORS) some.steps[v] *= 1 / (float)(1U << packing.bits);
        __asm__ volatile(
            "" ::
                : "memory"); /* forces reading the words again: registers have no room for them */
    }
    EACH(v, QUANT_VECTORS) some.steps[v] *= (float)(1U << (WORD_BITS - packing.bits));
    use_integers(sums, use, &some, count, mask, WORD_BITS - (uint32_t)packing.bits);
    use_advance(use, count);
    return at + all;
}

/* y = x · QUANT_COLUMNS packed rows, one segment of the sum after the other. */
IN_VECTORS static ALWAYS_INLINE void multiply_strip(float *y, const float *x, const char *strip,
                                                    size_t count, struct dtype_packing packing)
{
    struct packed_use use = {.copies = false, .x = x};
    for (size_t first = 0; first < count; first += SUM_SEGMENT) {
        vector sums[QUANT_VECTORS];
        EACH(v, QUANT_VECTORS) sums[v] = vector_zero();
        for (size_t k = first; k < num_min(first + SUM_SEGMENT, count); k += packing.numbers)
            strip = use_quants(sums, &use, strip, packing);
        EACH(v, QUANT_VECTORS)
        {
            float *to = y + v * VECTOR_FLOATS;
            vector_store(to, first > 0 ? vector_add(vector_load(to), sums[v]) : sums[v]);
        }
    }
}

/* Copy `count` numbers of QUANT_COLUMNS packed rows to columns of y [count, columns]. */
IN_VECTORS static ALWAYS_INLINE void copy_strip(float *y, size_t columns, const char *strip,
                                                size_t count, struct dtype_packing packing)
{
    struct packed_use use = {.copies = true, .to = y, .columns = columns};
    for (size_t k = 0; k < count; k += packing.numbers)
        strip = use_quants(NULL, &use, strip, packing);
}

/* The packings that exist: the numbers that share a step, the bits of an integer, the offset, and
 * whether a value is subtracted (struct dtype_packing). */
#define FOR_PACKINGS(DO)   \
    DO(16, 4, 0, true)     \
    DO(16, 4, -8, false)   \
    DO(16, 8, -128, false) \
    DO(32, 4, 0, true)     \
    DO(32, 4, -8, false)   \
    DO(32, 8, 0, true)     \
    DO(32, 8, -128, false)

#define USE_PACKED(numbers_, bits_, offset_, less_)                                          \
    else if (packing.numbers == (numbers_) && packing.bits == (bits_) &&                     \
             packing.offset == (offset_) && packing.has_less == (less_))                     \
    {                                                                                        \
        if (x)                                                                               \
            multiply_strip(y, x, strip, count,                                               \
                           (struct dtype_packing){(numbers_), (bits_), (offset_), (less_)}); \
        else                                                                                 \
            copy_strip(y, columns, strip, count,                                             \
                       (struct dtype_packing){(numbers_), (bits_), (offset_), (less_)});     \
    }

IN_VECTORS static void use_strip(float *y, size_t columns, const float *x, const char *strip,
                                 size_t count, struct dtype_packing packing)
{
    if (count == 0)
        return;
    FOR_PACKINGS(USE_PACKED)
}

#define VECTOR_LOOPS                                                             \
    {                                                                            \
        multiply_floats, transpose_blocks, multiply_blocks, ROWS_MAX, use_strip, \
    }
