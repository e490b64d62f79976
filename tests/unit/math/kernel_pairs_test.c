#include "math/kernel.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/guarded.h"
#include "../rigs/pair_judge.h"
#include "../rigs/pair_ways.h"
#include "../rigs/patience.h"
#include "math/bf16.h"

enum { ROWS_MAX = 129, COLUMNS_MAX = 129, PAD = 5 };

static const size_t depths[] = {2, 4, 14, 64, 100, 768};

static struct pair_judge judges[2]; /* of chains, of tiles */
static struct guarded a_memory, b_memory, c_memory;

static void open_judge(void)
{
    for (size_t tiles = 0; tiles < 2; tiles++)
        pair_judge_open(&judges[tiles], ROWS_MAX, COLUMNS_MAX, depths, COUNT(depths), tiles);
    a_memory = guarded_open(judges->depth / 2 * (COLUMNS_MAX + PAD));
    b_memory = guarded_open(ROWS_MAX * (judges->depth / 2 + PAD));
    c_memory = guarded_open(ROWS_MAX * (COLUMNS_MAX + PAD));
}

static void close_judge(void)
{
    guarded_close(&a_memory);
    guarded_close(&b_memory);
    guarded_close(&c_memory);
    for (size_t tiles = 0; tiles < 2; tiles++)
        pair_judge_close(&judges[tiles]);
}

FIXTURE_ONCE(open_judge, close_judge)

static const float untouched = 12345.0f;

/* The first rows and columns of the judge's X and W as pairs. */
static const uint32_t *laid_out_a(const struct kernel_shape *shape)
{
    size_t stride = (size_t)shape->a_stride;
    size_t m = (size_t)shape->m;
    size_t pairs = (size_t)shape->k;
    uint32_t *a = (void *)guarded_take(&a_memory, (pairs - 1) * stride + m);
    for (size_t i = 0; i < pairs; i++) {
        const float *rows = judges->w + 2 * i * judges->columns;
        bf16_pair_rows(a + i * stride, rows, rows + judges->columns, m);
    }
    return a;
}

static const uint32_t *laid_out_b(const struct kernel_shape *shape)
{
    size_t stride = (size_t)shape->b_stride;
    size_t n = (size_t)shape->n;
    size_t pairs = (size_t)shape->k;
    uint32_t *b = (void *)guarded_take(&b_memory, (n - 1) * stride + pairs);
    for (size_t row = 0; row < n; row++)
        bf16_pair_row(b + row * stride, judges->x + row * judges->depth, 2 * pairs);
    return b;
}

/* C before the kernel runs: what is added to, and numbers that nobody should write to. */
static float *laid_out_c(const struct kernel_shape *shape)
{
    size_t m = (size_t)shape->m;
    size_t stride = (size_t)shape->c_stride;
    size_t count = ((size_t)shape->n - 1) * stride + m;
    float *c = guarded_take(&c_memory, count);
    for (size_t i = 0; i < count; i++)
        c[i] = shape->accumulate && i % stride < m
                   ? judges->start[i / stride * judges->columns + i % stride]
                   : untouched;
    return c;
}

static void check_bits(struct kernels *kernels, const struct kernel_shape *shape, size_t depth)
{
    struct kernel kernel;
    enum pair_way way = kernels_pair_way(kernels);
    const struct pair_judge *judge = &judges[pair_way_is_tiles(way)];
    const uint32_t *a = laid_out_a(shape);
    const uint32_t *b = laid_out_b(shape);
    float *c = laid_out_c(shape);
    const float *expected = shape->accumulate ? judge->from_start[depth] : judge->from_zero[depth];
    kernels_begin(kernels);
    kernels_get(kernels, &kernel, shape, 0);
    kernel_call(&kernel, a, b, c, a);
    for (size_t row = 0; row < (size_t)shape->n; row++) {
        const float *found = c + row * (size_t)shape->c_stride;
        if (memcmp(found, expected + row * judge->columns, (size_t)shape->m * sizeof *c))
            ck_abort_msg("%s: %d x %d x %d, accumulate %d, prefetch %d: row %zu has other bits",
                         pair_way_name(way), shape->n, shape->m, shape->k, shape->accumulate,
                         shape->prefetch, row);
        for (int i = shape->m; i < shape->c_stride && row + 1 < (size_t)shape->n; i++)
            if (found[i] != untouched)
                ck_abort_msg("row %zu was written beyond its end", row);
    }
}

static struct kernel_shape shape_of(size_t m, size_t n, size_t depth, size_t form)
{
    int pad = n % 2 ? PAD : 0;
    return (struct kernel_shape){.m = (int)m,
                                 .n = (int)n,
                                 .k = (int)depths[depth] / 2,
                                 .a_stride = (int)m + pad,
                                 .b_stride = (int)depths[depth] / 2 + pad,
                                 .c_stride = (int)m + pad,
                                 .accumulate = form & 1,
                                 .prefetch = form >> 1 & 1,
                                 .pairs = 1};
}

static bool is_slow(struct kernels *kernels)
{
    enum pair_way way = kernels_pair_way(kernels);
    return way == PAIRS_BY_C || way == PAIRS_BY_TILES_IN_C;
}

/* Widths of panels and heads, and a few that fill no register or tile. */
TEST_LOOP(every_way_has_the_bits_of_its_chains, COUNT(pair_ways))
{
    static const size_t widths[] = {64, 16, 32, 48, 17, 33, 63, 1, 65, 80, 129};
    struct kernels *kernels = pair_way_open(&pair_ways[_i]);
    for (size_t i = 0; kernels && i < COUNT(widths); i++) {
        size_t step = i < 4 && !is_slow(kernels) ? one_of(10) : 16;
        for (size_t n = 1; n <= ROWS_MAX; n += step + (n >= 68 ? 19 : 0))
            for (size_t depth = n % 2; depth < COUNT(depths); depth += 2)
                for (size_t form = 0; form < 4; form++) {
                    struct kernel_shape shape = shape_of(widths[i], n, depth, form);
                    check_bits(kernels, &shape, depth);
                }
    }
    kernels_free(kernels);
}

/* A product of which the first pairs of B are 0 is that of the rest alone, if a kernel knows where
 * in a step of tiles the rest begins. */
TEST_LOOP(steps_go_on_where_they_were_left, COUNT(pair_ways))
{
    enum { M = 64, N = 20, PAIRS = 50, DEPTH = 4 };
    static uint32_t b[N * PAIRS];
    static float whole[N * M], parts[N * M];
    struct kernels *kernels = pair_way_open(&pair_ways[_i]);
    struct kernel_shape all = {M, N, PAIRS, M, PAIRS, M, .pairs = 1};
    const uint32_t *a = laid_out_a(&all);
    ck_assert_uint_eq(depths[DEPTH], 2 * PAIRS);
    for (int begun = 0; kernels && begun < 2 * TILE_PAIRS; begun++) {
        struct kernel kernel;
        struct kernel_shape rest = all;
        rest.begun = begun % TILE_PAIRS;
        rest.k -= begun;
        for (size_t row = 0; row < N; row++) {
            bf16_pair_row(b + row * PAIRS, judges->x + row * judges->depth, 2 * PAIRS);
            memset(b + row * PAIRS, 0, (size_t)begun * sizeof *b);
        }
        kernels_begin(kernels);
        kernels_get(kernels, &kernel, &all, 0);
        kernel_call(&kernel, a, b, whole, a);
        kernels_get(kernels, &kernel, &rest, 0);
        kernel_call(&kernel, a + begun * M, b + begun, parts, a);
        ck_assert_msg(memcmp(whole, parts, sizeof whole) == 0, "%d begun", begun);
    }
    kernels_free(kernels);
}

/* Panels of 64 columns are what everything is made of: they must not be left to C. */
TEST(where_there_are_instructions_panels_are_generated_code)
{
    struct kernels *kernels = pair_way_open(&(struct pair_case){"cpx", PAIRS_BY_DOT});
    for (size_t n = 1; n <= 64 && kernels; n++) {
        struct kernel kernel;
        struct kernel_shape shape = shape_of(64, n, n % COUNT(depths), n);
        kernels_begin(kernels);
        kernels_get(kernels, &kernel, &shape, 0);
        ck_assert_msg(kernel.code != NULL, "%zu rows", n);
    }
    kernels_free(kernels);
}

TEST(tiles_can_be_left_out)
{
    struct kernels *kernels = NULL;
    ck_assert_int_eq(kernels_open(&kernels, NULL), 0);
    kernels_leave_tiles(kernels);
    ck_assert(!pair_way_is_tiles(kernels_pair_way(kernels)));
    kernels_free(kernels);
}

/* One element: start + x[0] · w[0] + x[1] · w[1]. */
static float element(struct kernels *kernels, const float x[2], const float w[2], float start)
{
    enum { M = 64 };
    struct kernel kernel;
    struct kernel_shape shape = {M, 1, 1, M, 1, M, .accumulate = 1, .pairs = 1};
    uint32_t a[M], b;
    float c[M];
    for (size_t i = 0; i < M; i++) {
        bf16_pair_row(&a[i], w, 2);
        c[i] = start;
    }
    bf16_pair_row(&b, x, 2);
    kernels_begin(kernels);
    kernels_get(kernels, &kernel, &shape, 0);
    kernel_call(&kernel, a, &b, c, a);
    for (size_t i = 1; i < M; i++)
        ck_assert_mem_eq(&c[i], &c[0], sizeof *c);
    return c[0];
}

static void check_special_numbers(struct kernels *kernels)
{
    static const struct {
        float x[2], w[2], start, expected, of_tiles;
    } cases[] = {
        {{0x1p-130f, 0}, {0x1p100f, 0}, 0, 0, 0},                /* a subnormal factor is 0 */
        {{0x1p100f, 0}, {0x1p-130f, 0}, 0, 0, 0},                /* on either side */
        {{0, 0}, {0, 0}, 0x1p-130f, 0, 0},                       /* a subnormal sum, */
        {{0x1p-70f, 0}, {0x1p-70f, 0}, 0, 0, 0},                 /* before and after */
        {{-0x1p-70f, 0}, {0x1p-60f, 0}, 0, -0.0f, 0},            /* its sign remains, in a chain */
        {{0x1p-63f, 0}, {0x1p-63f, 0}, 0, 0x1p-126f, 0x1p-126f}, /* the smallest that counts */
        {{0x1p-75f, 0}, {-0x1.8p-76f, 0}, 0x1p-126f, 0, 0x1p-126f}, /* none that rounds up to it */
        {{0x1p-75f, 0}, {-0x1p-76f, 0}, 0x1p-126f, 0x1p-126f, 0x1p-126f}, /* as a tie does */
        {{1, 0x1p100f}, {1, -0x1p27f}, 0x1p127f, 1, 0}, /* the second product comes first, */
        {{0x1p100f, 1}, {-0x1p27f, 1}, 0x1p127f, 0, 0}, /* else 1 is lost; tiles add both later */
        {{0x1p100f, 0}, {0x1p100f, 0}, 1, INFINITY, INFINITY},
        {{INFINITY, 1}, {1, 1}, 0, INFINITY, INFINITY},
    };
    enum pair_way way = kernels_pair_way(kernels);
    for (size_t i = 0; i < COUNT(cases); i++) {
        float found = element(kernels, cases[i].x, cases[i].w, cases[i].start);
        float expected = pair_way_is_tiles(way) ? cases[i].of_tiles : cases[i].expected;
        ck_assert_msg(memcmp(&found, &expected, sizeof found) == 0,
                      "%s, case %zu: expected %a, found %a", pair_way_name(way), i, expected,
                      found);
    }
    ck_assert(isnan(element(kernels, (float[2]){INFINITY, 1}, (float[2]){0, 1}, 0)));
    ck_assert(isnan(element(kernels, (float[2]){1, NAN}, (float[2]){1, 1}, 0)));
    ck_assert(isnan(element(kernels, (float[2]){1, 1}, (float[2]){1, 1}, NAN)));
}

TEST_LOOP(subnormal_numbers_are_0_and_nothing_else_is_lost, COUNT(pair_ways))
{
    struct kernels *kernels = pair_way_open(&pair_ways[_i]);
    if (kernels)
        check_special_numbers(kernels);
    kernels_free(kernels);
}
