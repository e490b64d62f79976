#include "math/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/guarded.h"
#include "../rigs/patience.h"
#include "../rigs/product_judge.h"
#include "base/memory.h"

enum { ROWS_MAX = 129, COLUMNS_MAX = 129, PAD = 5 };

static const size_t depths[] = {1, 2, 7, 16, 63, 64, 100, 768};

static struct product_judge judge;
static struct guarded a_memory, b_memory, c_memory;

static void open_judge(void)
{
    product_judge_open(&judge, ROWS_MAX, COLUMNS_MAX, depths, COUNT(depths));
    a_memory = guarded_open(judge.depth * (COLUMNS_MAX + PAD));
    b_memory = guarded_open(ROWS_MAX * (judge.depth + PAD));
    c_memory = guarded_open(ROWS_MAX * (COLUMNS_MAX + PAD));
}

static void close_judge(void)
{
    guarded_close(&a_memory);
    guarded_close(&b_memory);
    guarded_close(&c_memory);
    product_judge_close(&judge);
}

FIXTURE_ONCE(open_judge, close_judge)

static struct kernels *opened(const char *target)
{
    struct kernels *kernels = NULL;
    struct err err = {0};
    if (target)
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", target, 1), 0);
    else
        ck_assert_int_eq(unsetenv("LIBXSMM_TARGET"), 0);
    ck_assert_msg(!kernels_open(&kernels, &err), "%s", err.text);
    kernels_write_all(kernels);
    return kernels;
}

/* Rows of `width` floats with this stride; the last ends at a guard page. */
static float *laid_out(const struct guarded *memory, const float *from, size_t from_stride,
                       size_t rows, size_t width, size_t stride)
{
    float *to = guarded_take(memory, (rows - 1) * stride + width);
    for (size_t row = 0; row < rows; row++)
        memcpy(to + row * stride, from + row * from_stride, width * sizeof *to);
    return to;
}

static const float untouched = 12345.0f;

/* A shape of the judge's product, with `pad` floats between rows. */
static struct kernel_shape shape_of(size_t m, size_t n, size_t depth, int pad, int accumulate)
{
    return (struct kernel_shape){.m = (int)m,
                                 .n = (int)n,
                                 .k = (int)depths[depth],
                                 .a_stride = (int)m + pad,
                                 .b_stride = (int)depths[depth] + pad,
                                 .c_stride = (int)m + pad,
                                 .accumulate = accumulate};
}

/* Run the kernel on operands that end at guard pages; returns C. */
static const float *result_of(struct kernels *kernels, const struct kernel_shape *shape)
{
    struct kernel kernel;
    size_t m = (size_t)shape->m;
    size_t n = (size_t)shape->n;
    size_t k = (size_t)shape->k;
    size_t stride = (size_t)shape->c_stride;
    const float *a = laid_out(&a_memory, judge.w, COLUMNS_MAX, k, m, (size_t)shape->a_stride);
    const float *b = laid_out(&b_memory, judge.x, judge.depth, n, k, (size_t)shape->b_stride);
    float *c = guarded_take(&c_memory, (n - 1) * stride + m);
    for (size_t i = 0; i < (n - 1) * stride + m; i++)
        c[i] = shape->accumulate && i % stride < m
                   ? judge.start[i / stride * COLUMNS_MAX + i % stride]
                   : untouched;
    kernels_begin(kernels);
    kernels_get(kernels, &kernel, shape, 0);
    kernel_call(&kernel, a, b, c, a);
    return c;
}

static void check_pads(const struct kernel_shape *shape, const float *c)
{
    for (int row = 0; row < shape->n - 1; row++)
        for (int i = shape->m; i < shape->c_stride; i++)
            if (c[row * shape->c_stride + i] != untouched)
                ck_abort_msg("%d x %d x %d: row %d was written beyond its end", shape->n, shape->m,
                             shape->k, row);
}

/* Compare every element with one chain of fmaf. */
static void check_bits(struct kernels *kernels, size_t m, size_t n, size_t depth, int pad,
                       int accumulate)
{
    struct kernel_shape shape = shape_of(m, n, depth, pad, accumulate);
    const float *expected = accumulate ? judge.from_start[depth] : judge.from_zero[depth];
    const float *c = result_of(kernels, &shape);
    for (size_t row = 0; row < n; row++)
        if (memcmp(c + row * (size_t)shape.c_stride, expected + row * COLUMNS_MAX, m * sizeof *c))
            ck_abort_msg("%s: %zu x %zu x %d, accumulate %d, pad %d: row %zu has other bits",
                         kernels_target(kernels), n, m, shape.k, accumulate, pad, row);
    check_pads(&shape, c);
}

/* One row and consecutive panels; the last ends at a guard page. */
TEST_LOOP(a_row_by_several_panels_has_the_same_bits, 2)
{
    enum { PANEL = 32, PANELS = COLUMNS_MAX / PANEL };
    struct kernels *kernels = opened(_i ? "hsw" : NULL);
    bool has_kernel = target_choose() >= TARGET_AVX2;
    for (size_t i = 0; has_kernel && i < COUNT(depths) * PANELS; i++) {
        size_t depth = i / PANELS;
        size_t columns = PANEL * (i % PANELS + 1);
        struct kernel_shape shape = shape_of(columns, 1, depth, 0, 0);
        struct kernel kernel;
        float *a = guarded_take(&a_memory, depths[depth] * columns);
        const float *b = laid_out(&b_memory, judge.x, 0, 1, depths[depth], 0);
        float *c = guarded_take(&c_memory, columns);
        for (size_t at = 0; at < depths[depth] * columns; at++) {
            size_t row = at / PANEL % depths[depth];
            size_t panel = at / PANEL / depths[depth];
            a[at] = judge.w[row * COLUMNS_MAX + panel * PANEL + at % PANEL];
        }
        shape.panels = true;
        kernels_begin(kernels);
        kernels_get(kernels, &kernel, &shape, 0);
        kernel_call(&kernel, a, b, c, a);
        ck_assert_mem_eq(c, judge.sum[depth], columns * sizeof *c);
    }
    kernels_free(kernels);
}

/* Every number of rows up to a tile and a few more, then around two tiles; columns around every
 * multiple of a register. */
static void check_shapes(const char *target)
{
    static const size_t widths[] = {1,  2,  3,  15, 16, 17, 31, 32,  33,  47,  48,  49,  63, 64,
                                    65, 79, 80, 81, 95, 96, 97, 111, 112, 113, 127, 128, 129};
    struct kernels *kernels = opened(target);
    for (size_t n = 1; n <= ROWS_MAX; n = n == 68 ? ROWS_MAX - 2 : n + 1)
        for (size_t i = n % one_of(27); i < COUNT(widths); i += one_of(27))
            for (size_t depth = n % 3; depth < COUNT(depths); depth += 3)
                for (int accumulate = 0; accumulate < 2; accumulate++)
                    check_bits(kernels, widths[i], n, depth, n % 2 ? PAD : 0, accumulate);
    kernels_free(kernels);
}

TEST(kernels_of_this_processor_are_one_chain_for_each_element)
{
    check_shapes(NULL);
}

TEST(kernels_of_avx2_are_one_chain_for_each_element)
{
    check_shapes("hsw");
}

static void check_plain(const char *target)
{
    static const size_t widths[] = {1, 2, 16, 65, 83, 129};
    static const size_t heights[] = {1, 3, 64};
    struct kernels *kernels = opened(target);
    ck_assert_str_eq(kernels_target(kernels), "c");
    for (size_t i = 0; i < COUNT(widths) * COUNT(heights) * COUNT(depths); i++)
        check_bits(kernels, widths[i % COUNT(widths)], heights[i / COUNT(widths) % COUNT(heights)],
                   i / COUNT(widths) / COUNT(heights), i % 2 ? PAD : 0, i % 3 == 0);
    kernels_free(kernels);
}

TEST(plain_c_is_one_chain_for_each_element)
{
    check_plain("generic");
}

/* Processors without the instruction compute the same in C. */
TEST(software_fused_multiply_add_gives_the_same_chain)
{
    check_plain("snb");
}

TEST(targets_have_the_names_of_libxsmm)
{
    static const struct {
        const char *wish;
        size_t target;
    } cases[] = {
        {"generic", 0}, {"none", 0}, {"0", 0},   {"sse", 0},  {"sse3", 0}, {"wsm", 0}, {"sse4", 0},
        {"snb", 0},     {"avx", 0},  {"hsw", 1}, {"avx2", 1}, {"HSW", 1},  {"skx", 2}, {"clx", 2},
    };
    struct kernels *best = opened(NULL);
    bool arm = strcmp(kernels_target(best), "neon") == 0;
    const char *rising[] = {"c", arm ? "neon" : "avx2", "avx512"};
    size_t highest = 0;
    while (strcmp(rising[highest], kernels_target(best)) != 0)
        highest++;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct kernels *kernels = opened(cases[i].wish);
        size_t target = cases[i].target;
        ck_assert_str_eq(kernels_target(kernels), rising[target < highest ? target : highest]);
        kernels_free(kernels);
    }
    kernels_free(best);
}

TEST(unknown_targets_are_ignored)
{
    static const char *const wishes[] = {"", "zen9", "avx2 ", "1"};
    struct kernels *best = opened(NULL);
    for (size_t i = 0; i < COUNT(wishes); i++) {
        struct kernels *kernels = opened(wishes[i]);
        ck_assert_str_eq(kernels_target(kernels), kernels_target(best));
        kernels_free(kernels);
    }
    kernels_free(best);
}

TEST(libxsmm_reports_its_version)
{
#ifdef GENERATES
    ck_assert_int_eq(strncmp(kernels_library(), "libxsmm 1.", 10), 0);
#else
    ck_assert_ptr_null(kernels_library());
#endif
}

static bool generates(struct kernels *kernels)
{
    return strncmp(kernels_target(kernels), "avx", 3) == 0;
}

TEST(a_kernel_is_generated_once)
{
    struct kernels *kernels = opened(NULL);
    struct kernel_shape shape = shape_of(48, 16, 4, 0, 0);
    struct kernel first, second;
    kernels_begin(kernels);
    kernels_get(kernels, &first, &shape, 0);
    kernels_begin(kernels);
    kernels_get(kernels, &second, &shape, 0);
    ck_assert_mem_eq(&first, &second, sizeof first);
    ck_assert_int_eq(first.code != NULL, generates(kernels));
    kernels_free(kernels);
}

/* Code is generated after enough work of a shape, and gives the same bits as C. */
TEST(code_is_generated_after_enough_work)
{
    static const double work[] = {1, 1e6, 1e6, 1e6};
    struct kernels *kernels = NULL;
    struct kernel_shape shape = shape_of(17, 5, 4, 0, 0);
    float results[COUNT(work)][5 * 17];
    ck_assert_int_eq(unsetenv("LIBXSMM_TARGET"), 0);
    ck_assert_int_eq(kernels_open(&kernels, NULL), 0);
    for (size_t i = 0; i < COUNT(work); i++) {
        struct kernel kernel;
        kernels_begin(kernels);
        kernels_get(kernels, &kernel, &shape, work[i]);
        if (generates(kernels))
            ck_assert_int_eq(kernel.code != NULL, i == COUNT(work) - 1);
        const float *a = laid_out(&a_memory, judge.w, COLUMNS_MAX, 63, 17, 17);
        const float *b = laid_out(&b_memory, judge.x, judge.depth, 5, 63, 63);
        kernel_call(&kernel, a, b, results[i], a);
        ck_assert_mem_eq(results[i], results[0], sizeof *results);
    }
    kernels_free(kernels);
}

TEST(three_thousand_shapes_need_no_more_memory_than_one)
{
    struct kernels *kernels = opened(NULL);
    heap_fail_at(1, 1);
    for (size_t i = 0; i < 3000; i += one_of(4))
        check_bits(kernels, 1 + i % 67, 1 + i / 67, i % (COUNT(depths) - 1), PAD, 0);
    heap_fail_at(0, 0);
    kernels_free(kernels);
}

TEST(kernels_fetched_together_stay_valid_together)
{
    struct kernels *kernels = opened(NULL);
    for (size_t round = 0; round < 40;
         round += one_of(3)) { /* enough shapes to evict others from the table */
        struct kernel together[KERNELS_AT_ONCE];
        kernels_begin(kernels);
        for (size_t i = 0; i < COUNT(together); i++) {
            struct kernel_shape shape = shape_of(1 + i, 1 + round, 2, 0, 0);
            kernels_get(kernels, &together[i], &shape, 0);
        }
        for (size_t i = 0; i < COUNT(together); i++) {
            float c[ROWS_MAX * COLUMNS_MAX];
            const float *a = laid_out(&a_memory, judge.w, COLUMNS_MAX, 7, 1 + i, 1 + i);
            const float *b = laid_out(&b_memory, judge.x, judge.depth, 1 + round, 7, 7);
            kernel_call(&together[i], a, b, c, a);
            ck_assert(c[round * (1 + i) + i] == judge.from_zero[2][round * COLUMNS_MAX + i]);
        }
    }
    kernels_free(kernels);
}

TEST(a_table_without_memory_is_an_error)
{
    struct kernels *kernels = NULL;
    for (size_t nth = 1; nth <= 2; nth++) {
        struct err err = {0};
        heap_fail_at(nth, 0);
        ck_assert_int_eq(kernels_open(&kernels, &err), -1);
        ck_assert_ptr_nonnull(strstr(err.text, "out of memory"));
    }
    kernels_free(NULL);
}
