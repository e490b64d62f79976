/* tiles.c: products of pairs with AMX, in blocks of up to four tiles of 16 rows by 16 columns. */
#include <string.h>

#include "base/platform.h"
#include "math/kernel.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>

#define IN_AMX __attribute__((target("amx-tile,amx-bf16")))
#define ALWAYS_INLINE inline __attribute__((always_inline))

bool tiles_ask(void)
{
    return platform_grants_tiles();
}

enum { TILE = 16, LINE_BYTES = 64 }; /* TILE: the number of rows of a tile, and of its columns */

/* The operand of the instruction ldtilecfg. */
struct tile_shapes {
    uint8_t palette, start;
    uint8_t zero[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

_Static_assert(sizeof(struct tile_shapes) == 64, "the shapes of tiles are 64 bytes");

/* A block of C: up to two tiles of rows by up to two tiles of columns. */
struct tile_block {
    const uint32_t *a, *b;
    float *c;
    size_t a_stride, b_stride, c_stride; /* in bytes */
    size_t rows, columns;
    size_t shaped[3]; /* the rows, columns and pairs for which the tiles are configured */
    bool accumulate;
    const char *next; /* the address to prefetch from, `lines` cache lines in each step */
    size_t lines;
};

static size_t within_tile(size_t size, size_t tile)
{
    size_t rest = size > tile * TILE ? size - tile * TILE : 0;
    return rest < TILE ? rest : TILE;
}

/* Configure tiles 0 to 3 for sums, 4 and 5 for rows of B, 6 and 7 for columns of A. Most blocks of
 * a product have the same shapes, and tiles are configured again only if the shapes change. */
IN_AMX static void set_shapes(struct tile_block *block, size_t pairs)
{
    size_t shaped[3] = {block->rows, block->columns, pairs};
    struct tile_shapes shapes = {.palette = 1};
    if (memcmp(block->shaped, shaped, sizeof shaped) == 0)
        return;
    memcpy(block->shaped, shaped, sizeof shaped);
    for (size_t i = 0; i < 2; i++) {
        size_t rows = within_tile(block->rows, i);
        shapes.rows[4 + i] = (uint8_t)rows;
        shapes.row_bytes[4 + i] = rows ? (uint16_t)(pairs * sizeof(uint32_t)) : 0;
        for (size_t j = 0; j < 2; j++) {
            size_t columns = within_tile(block->columns, j);
            shapes.rows[2 * i + j] = columns ? (uint8_t)rows : 0;
            shapes.row_bytes[2 * i + j] = rows ? (uint16_t)(columns * sizeof(float)) : 0;
            shapes.rows[6 + j] = columns ? (uint8_t)pairs : 0;
            shapes.row_bytes[6 + j] = (uint16_t)(columns * sizeof(float));
        }
    }
    __asm__ volatile("ldtilecfg %0"
                     :
                     /* not _tile_loadconfig: gcc believes that it reads only 8 bytes */
                     : "m"(shapes));
}

static inline float *sums_at(const struct tile_block *block, size_t row, size_t column)
{
    return block->c + row * (block->c_stride / sizeof(float)) + column;
}

/* Run DO(tile, address in C, stride) for each tile of sums. The tile must be a constant. */
#define FOR_EACH_SUM(block, DO)                                   \
    do {                                                          \
        DO(0, sums_at(block, 0, 0), (block)->c_stride);           \
        if ((block)->columns > TILE)                              \
            DO(1, sums_at(block, 0, TILE), (block)->c_stride);    \
        if ((block)->rows > TILE)                                 \
            DO(2, sums_at(block, TILE, 0), (block)->c_stride);    \
        if ((block)->rows > TILE && (block)->columns > TILE)      \
            DO(3, sums_at(block, TILE, TILE), (block)->c_stride); \
    } while (0)

#define SET_TO_ZERO(tile, sums, stride) _tile_zero(tile)

IN_AMX static ALWAYS_INLINE void add_steps(struct tile_block *block, size_t steps, size_t pairs,
                                           bool two_rows, bool two_columns)
{
    size_t a_step = pairs * block->a_stride / sizeof *block->a;
    size_t below = TILE * block->b_stride / sizeof *block->b;
    for (size_t i = 0; i < steps; i++, block->a += a_step, block->b += pairs) {
        _tile_loadd(6, block->a, block->a_stride);
        _tile_loadd(4, block->b, block->b_stride);
        _tile_dpbf16ps(0, 4, 6);
        if (two_columns) {
            _tile_loadd(7, block->a + TILE, block->a_stride);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (two_rows) {
            _tile_loadd(5, block->b + below, block->b_stride);
            _tile_dpbf16ps(2, 5, 6);
        }
        if (two_rows && two_columns)
            _tile_dpbf16ps(3, 5, 7);
        for (size_t line = 0; line < block->lines; line++, block->next += LINE_BYTES)
            _mm_prefetch(block->next, _MM_HINT_T1);
    }
}

/* Compute a block of C: add products in `steps` steps of `pairs` pairs. */
IN_AMX static void add_block(struct tile_block *block, size_t steps, size_t pairs)
{
    if (steps == 0 || pairs == 0)
        return;
    set_shapes(block, pairs);
    if (block->accumulate)
        FOR_EACH_SUM(block, _tile_loadd);
    else
        FOR_EACH_SUM(block, SET_TO_ZERO);
    if (block->rows > TILE && block->columns > TILE)
        add_steps(block, steps, pairs, true, true);
    else if (block->rows > TILE)
        add_steps(block, steps, pairs, true, false);
    else if (block->columns > TILE)
        add_steps(block, steps, pairs, false, true);
    else
        add_steps(block, steps, pairs, false, false);
    FOR_EACH_SUM(block, _tile_stored);
    block->accumulate = true;
}

IN_AMX void tiles_amx(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                      const void *next_a)
{
    enum { BLOCK = 2 * TILE };
    size_t n = (size_t)shape->n;
    size_t m = (size_t)shape->m;
    size_t blocks = ((n + BLOCK - 1) / BLOCK) * ((m + BLOCK - 1) / BLOCK);
    size_t shares = blocks * (size_t)shape->prefetch;
    size_t step_lines = TILE_PAIRS * (size_t)shape->a_stride * sizeof(uint32_t) / LINE_BYTES;
    struct tile_block block = {
        .a_stride = (size_t)shape->a_stride * sizeof(uint32_t),
        .b_stride = (size_t)shape->b_stride * sizeof(uint32_t),
        .c_stride = (size_t)shape->c_stride * sizeof(float),
        .next = next_a,
        .lines = shape->prefetch ? (step_lines + shares - 1) / shares : 0,
    };
    for (size_t column = 0; column < m; column += BLOCK) {
        block.columns = m - column < BLOCK ? m - column : BLOCK;
        for (size_t row = 0; row < n; row += BLOCK) {
            block.rows = n - row < BLOCK ? n - row : BLOCK;
            block.a = (const uint32_t *)a + column;
            block.b = (const uint32_t *)b + row * (size_t)shape->b_stride;
            block.c = c + row * (size_t)shape->c_stride + column;
            block.accumulate = shape->accumulate;
            add_block(&block, (size_t)shape->k / TILE_PAIRS, TILE_PAIRS);
            add_block(&block, 1, (size_t)shape->k % TILE_PAIRS);
        }
    }
    _tile_release();
}
#else
bool tiles_ask(void)
{
    return false;
}

void tiles_amx(const struct kernel_shape *shape, const void *a, const void *b, float *c,
               const void *next_a)
{
    (void)shape, (void)a, (void)b, (void)c,
        (void)next_a; /* never called: tiles_ask returns false */
}
#endif
