#include "math/kernel.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/guarded.h"
#include "../rigs/pair_judge.h"
#include "../rigs/patience.h"
#include "math/bf16.h"

enum { ROWS_MAX = 129, COLUMNS_MAX = 129, PAD = 5 };

static const size_t depths[] = {2, 4, 14, 64, 100, 768};

static struct pair_judge judge;
static struct guarded a_memory, b_memory, c_memory;

static void open_judge(void)
{
    pair_judge_open(&judge, ROWS_MAX, COLUMNS_MAX, depths, COUNT(depths));
    a_memory = guarded_open(judge.depth / 2 * (COLUMNS_MAX + PAD));
    b_memory = guarded_open(ROWS_MAX * (judge.depth / 2 + PAD));
    c_memory = guarded_open(ROWS_MAX * (COLUMNS_MAX + PAD));
}

static void close_judge(void)
{
    guarded_close(&a_memory);
    guarded_close(&b_memory);
    guarded_close(&c_memory);
    pair_judge_close(&judge);
}

FIXTURE_ONCE(open_judge, close_judge)

static struct kernels *opened(const char *target)
{
    struct kernels *kernels = NULL;
    struct err err = {0};
    if (target)
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", target, 1), 0);
    ck_assert_msg(!kernels_open(&kernels, &err), "%s", err.text);
    return kernels;
}

static const float untouched = 12345.0f;

/* The first rows and columns of the judge's X and W as pairs. */
static const uint32_t *laid_out_a(const struct kernel_shape *shape)
{
    size_t stride = (size_t)shape->a_stride;
    size_t m = (size_t)shape->m;
    size_t pairs = (size_t)shape->k;
    uint32_t *a = (void *)guarded_take(&a_memory, (pairs - 1) * stride + m);
    for (size_t i = 0; i < pairs; i++) {
        const float *rows = judge.w + 2 * i * judge.columns;
        bf16_pair_rows(a + i * stride, rows, rows + judge.columns, m);
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
        bf16_pair_row(b + row * stride, judge.x + row * judge.depth, 2 * pairs);
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
                   ? judge.start[i / stride * judge.columns + i % stride]
                   : untouched;
    return c;
}

static void check_bits(struct kernels *kernels, const struct kernel_shape *shape, size_t depth)
{
    struct kernel kernel;
    const uint32_t *a = laid_out_a(shape);
    const uint32_t *b = laid_out_b(shape);
    float *c = laid_out_c(shape);
    const float *expected = shape->accumulate ? judge.from_start[depth] : judge.from_zero[depth];
    kernels_begin(kernels);
    kernels_get(kernels, &kernel, shape, 0);
    kernel_call(&kernel, a, b, c, a);
    for (size_t row = 0; row < (size_t)shape->n; row++) {
        const float *found = c + row * (size_t)shape->c_stride;
        if (memcmp(found, expected + row * judge.columns, (size_t)shape->m * sizeof *c))
            ck_abort_msg("%d x %d x %d, accumulate %d, prefetch %d: row %zu has other bits",
                         shape->n, shape->m, shape->k, shape->accumulate, shape->prefetch, row);
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

/* Widths with code, and a few of those that are left to plain C, which takes its time. */
TEST(this_processors_kernels_are_one_chain_an_element)
{
    static const size_t widths[] = {17, 33, 63, 64, 1, 16, 65, 80, 129};
    struct kernels *kernels = opened(NULL);
    size_t with_code = kernels_have_bf16(kernels) ? 4 : 0;
    for (size_t i = 0; i < COUNT(widths); i++) {
        size_t step = i < with_code ? one_of(10) : 16;
        for (size_t n = 1; n <= ROWS_MAX; n += step + (n >= 68 ? 19 : 0))
            for (size_t depth = n % 2; depth < COUNT(depths); depth += 2)
                for (size_t form = 0; form < 4; form++) {
                    struct kernel_shape shape = shape_of(widths[i], n, depth, form);
                    check_bits(kernels, &shape, depth);
                }
    }
    kernels_free(kernels);
}

TEST(plain_c_is_one_chain_an_element)
{
    static const size_t widths[] = {1, 16, 65};
    static const size_t heights[] = {1, 3, 16};
    struct kernels *kernels = opened("generic");
    ck_assert(!kernels_have_bf16(kernels));
    for (size_t i = 0; i < COUNT(widths) * COUNT(heights) * COUNT(depths); i++) {
        size_t depth = i / COUNT(widths) / COUNT(heights);
        struct kernel_shape shape = shape_of(
            widths[i % COUNT(widths)], heights[i / COUNT(widths) % COUNT(heights)], depth, i % 2);
        check_bits(kernels, &shape, depth);
    }
    kernels_free(kernels);
}

/* Panels of 64 columns are what everything is made of: they must not fall back to plain C. */
TEST(where_there_are_instructions_panels_are_generated_code)
{
    struct kernels *kernels = opened(NULL);
    for (size_t n = 1; n <= 64 && kernels_have_bf16(kernels); n++) {
        struct kernel kernel;
        struct kernel_shape shape = shape_of(64, n, n % COUNT(depths), n);
        kernels_begin(kernels);
        kernels_get(kernels, &kernel, &shape, 0);
        ck_assert_msg(kernel.code != NULL, "%zu rows", n);
    }
    kernels_free(kernels);
}

TEST(older_processors_have_no_instructions_for_it)
{
    static const char *const targets[] = {"generic", "snb", "hsw", "skx", "clx"};
    for (size_t i = 0; i < COUNT(targets); i++) {
        struct kernels *kernels = opened(targets[i]);
        ck_assert_msg(!kernels_have_bf16(kernels), "%s", targets[i]);
        kernels_free(kernels);
    }
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
        float x[2], w[2], start, expected;
    } cases[] = {
        {{0x1p-130f, 0}, {0x1p100f, 0}, 0, 0},        /* a subnormal factor is 0 */
        {{0x1p100f, 0}, {0x1p-130f, 0}, 0, 0},        /* on either side */
        {{0, 0}, {0, 0}, 0x1p-130f, 0},               /* a subnormal sum, */
        {{0x1p-70f, 0}, {0x1p-70f, 0}, 0, 0},         /* before and after */
        {{-0x1p-70f, 0}, {0x1p-60f, 0}, 0, -0.0f},    /* its sign remains */
        {{0x1p-63f, 0}, {0x1p-63f, 0}, 0, 0x1p-126f}, /* the smallest that counts */
        {{1, 0x1p100f}, {1, -0x1p27f}, 0x1p127f, 1},  /* the second product comes first */
        {{0x1p100f, 1}, {-0x1p27f, 1}, 0x1p127f, 0},  /* else 1 is lost */
        {{0x1p100f, 0}, {0x1p100f, 0}, 1, INFINITY},
        {{INFINITY, 1}, {1, 1}, 0, INFINITY},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        float found = element(kernels, cases[i].x, cases[i].w, cases[i].start);
        ck_assert_msg(memcmp(&found, &cases[i].expected, sizeof found) == 0,
                      "%s, case %zu: expected %a, found %a", kernels_target(kernels), i,
                      cases[i].expected, found);
    }
    ck_assert(isnan(element(kernels, (float[2]){INFINITY, 1}, (float[2]){0, 1}, 0)));
    ck_assert(isnan(element(kernels, (float[2]){1, NAN}, (float[2]){1, 1}, 0)));
    ck_assert(isnan(element(kernels, (float[2]){1, 1}, (float[2]){1, 1}, NAN)));
}

TEST(subnormal_numbers_are_0_and_nothing_else_is_lost)
{
    static const char *const targets[] = {NULL, "generic"};
    for (size_t i = 0; i < COUNT(targets); i++) {
        struct kernels *kernels = opened(targets[i]);
        check_special_numbers(kernels);
        kernels_free(kernels);
    }
}
