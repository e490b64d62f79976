#include "math/gemm.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "guarded.h"
#include "math/panels.h"
#include "patience.h"
#include "product_judge.h"

Suite *gemm_suite(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Around every edge of kernels, tiles and chunks. */
static const size_t sizes[] = {1, 2, 3, 11, 12, 13, 15, 16, 17, 63, 64, 65, 127, 128, 129};
static const size_t depths[] = {1, 2, 63, 64, 767, 768, 769, 1537};

enum { SIZE_MAX_HERE = 129, PAD = 3, LINE = 16 };

static struct product_judge judge;
static struct guarded x_memory, w_memory, y_memory, panel_memory;
static float bias[SIZE_MAX_HERE];

static void open_judge(void)
{
    uint32_t dice = 11;
    product_judge_open(&judge, SIZE_MAX_HERE, SIZE_MAX_HERE, depths, COUNT(depths));
    x_memory = guarded_open(SIZE_MAX_HERE * (judge.depth + LINE));
    w_memory = guarded_open(judge.depth * (SIZE_MAX_HERE + LINE));
    y_memory = guarded_open(SIZE_MAX_HERE * (SIZE_MAX_HERE + LINE));
    panel_memory = guarded_open(judge.depth * (SIZE_MAX_HERE + PANEL_COLUMNS));
    dice_fill(bias, COUNT(bias), &dice);
}

static void close_judge(void)
{
    guarded_close(&x_memory);
    guarded_close(&w_memory);
    guarded_close(&y_memory);
    guarded_close(&panel_memory);
    product_judge_close(&judge);
}

static void open_machine(struct machine *machine, const char *target, size_t threads)
{
    struct err err = {0};
    if (target)
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", target, 1), 0);
    ck_assert_msg(!machine_open(machine, threads, &err), "%s", err.text);
}

/* Room for rows of `columns` floats, `pad` apart, the last one ending at the forbidden page. */
static struct matrix placed(const struct guarded *memory, size_t rows, size_t columns, size_t pad)
{
    size_t stride = columns + pad;
    float *data = guarded_take(memory, (rows - 1) * stride + columns);
    return (struct matrix){data, rows, columns, stride};
}

static void fill(struct matrix to, const float *from, size_t from_stride)
{
    for (size_t row = 0; row < to.rows; row++)
        memcpy(to.data + row * to.stride, from + row * from_stride, to.columns * sizeof *from);
}

/* A product of the judge's numbers. */
struct example {
    size_t rows, columns, depth; /* depth: which of `depths` */
    size_t pad;                  /* what strides have beyond the columns */
    const float *bias;
    enum activation activation;
    bool packed;
};

/* The panels of a weight, the last one ending at the forbidden page. */
static const float *packed(const struct weight *w)
{
    float *panels = guarded_take(&panel_memory, panels_size(w));
    panels_fill(panels, w);
    return panels;
}

static const float untouched = 12345.0f;

/* Compute the example between forbidden pages; y stays valid until the next one. */
static struct matrix product_of(struct machine *machine, const struct example *e)
{
    size_t depth = depths[e->depth];
    struct matrix x = placed(&x_memory, e->rows, depth, e->pad);
    struct matrix w = placed(&w_memory, depth, e->columns, e->pad);
    struct matrix y = placed(&y_memory, e->rows, e->columns, e->pad);
    float *first = (float *)(void *)y_memory.pages;
    for (float *cell = first; cell < y.data + (y.rows - 1) * y.stride + y.columns; cell++)
        *cell = untouched;
    fill(x, judge.x, judge.depth);
    fill(w, judge.w, judge.columns);
    struct weight weight = {
        .data = w.data, .bias = e->bias, .in = depth, .out = e->columns, .stride = w.stride};
    if (e->packed)
        weight.panels = packed(&weight);
    linear(machine, y, x, &weight, e->activation);
    return y;
}

/* What comes before y's first row and what stands between its rows is as it was. */
static void check_untouched(struct matrix y)
{
    const float *first = (const float *)(const void *)y_memory.pages;
    for (const float *cell = first; cell < y.data; cell++)
        if (*cell != untouched)
            ck_abort_msg("a cell %zu before y was written", (size_t)(y.data - cell));
    for (size_t row = 0; row + 1 < y.rows; row++)
        for (size_t i = y.columns; i < y.stride; i++)
            if (y.data[row * y.stride + i] != untouched)
                ck_abort_msg("a cell behind row %zu was written", row);
}

static void check_bits(struct machine *machine, const struct example *e)
{
    struct matrix y = product_of(machine, e);
    float expected[SIZE_MAX_HERE];
    for (size_t row = 0; row < e->rows; row++) {
        memcpy(expected, judge.from_zero[e->depth] + row * judge.columns, sizeof expected);
        for (size_t i = 0; e->bias && i < e->columns; i++)
            expected[i] += e->bias[i];
        activate((struct matrix){expected, 1, e->columns, e->columns}, e->activation);
        if (memcmp(expected, y.data + row * y.stride, e->columns * sizeof *expected) != 0)
            ck_abort_msg("%s, %zu threads: [%zu, %zu] x [%zu, %zu]: row %zu has other bits",
                         kernels_target(machine->kernels), pool_threads(machine->pool), e->rows,
                         depths[e->depth], depths[e->depth], e->columns, row);
    }
    check_untouched(y);
}

/* None, some, or what fills the last cache line: rows that end at a page then begin within one. */
static size_t pad_of(size_t example, size_t columns)
{
    const size_t pads[] = {0, PAD, LINE - columns % LINE};
    return pads[example % COUNT(pads)];
}

static void check_all_sizes(struct machine *machine)
{
    for (size_t depth = 0; depth < COUNT(depths); depth++) {
        for (size_t i = 0; i < COUNT(sizes) * COUNT(sizes); i += one_of(67)) {
            struct example e = {
                .rows = sizes[i / COUNT(sizes)],
                .columns = sizes[i % COUNT(sizes)],
                .depth = depth,
                .pad = pad_of(i, sizes[i % COUNT(sizes)]),
            };
            check_bits(machine, &e);
            e.packed = true;
            check_bits(machine, &e);
        }
    }
}

/* Old processors have no fused multiply-add: their bits are their own. */
static bool is_fused(const struct machine *machine)
{
    const char *target = kernels_target(machine->kernels);
    return strcmp(target, "avx") != 0 && strcmp(target, "sse") != 0;
}

START_TEST(the_chain_is_the_product)
{
    for (size_t depth = 0; depth < COUNT(depths); depth++) {
        double unit = (double)depths[depth] * 0x1p-24;
        for (size_t i = 0; i < judge.rows * judge.columns; i++)
            if (!(fabs(judge.from_zero[depth][i] - judge.exact[depth][i]) <=
                  unit * judge.bound[depth][i]))
                ck_abort_msg("depth %zu, element %zu", depths[depth], i);
    }
}
END_TEST

START_TEST(every_size_is_one_chain_an_element)
{
    struct machine machine;
    open_machine(&machine, NULL, 1);
    if (is_fused(&machine))
        check_all_sizes(&machine);
    machine_release(&machine);
}
END_TEST

START_TEST(every_size_has_the_same_bits_with_avx2)
{
    struct machine machine;
    open_machine(&machine, "hsw", 1);
    if (is_fused(&machine))
        check_all_sizes(&machine);
    machine_release(&machine);
}
END_TEST

/* Sizes on both sides of the edges: plain C takes its time where it is not vectorised. */
START_TEST(plain_c_has_the_same_bits)
{
    static const size_t few[] = {1, 13, 64, 65};
    struct machine machine;
    open_machine(&machine, "generic", 1);
    ck_assert_str_eq(kernels_target(machine.kernels), "c");
    for (size_t i = 0; i < COUNT(few) * COUNT(few) * COUNT(depths); i++)
        check_bits(&machine, &(struct example){.rows = few[i % COUNT(few)],
                                               .columns = few[i / COUNT(few) % COUNT(few)],
                                               .depth = i / COUNT(few) / COUNT(few),
                                               .pad = PAD});
    machine_release(&machine);
}
END_TEST

START_TEST(threads_do_not_change_a_bit)
{
    for (size_t threads = 2; threads <= 5; threads++) {
        struct machine machine;
        open_machine(&machine, NULL, threads);
        for (size_t i = 0; i < COUNT(sizes) && is_fused(&machine); i += one_of(4))
            check_bits(&machine, &(struct example){.rows = 129,
                                                   .columns = sizes[i],
                                                   .depth = COUNT(depths) - 1 - i % 3,
                                                   .pad = PAD,
                                                   .bias = bias,
                                                   .activation = ACTIVATION_GELU_NEW});
        machine_release(&machine);
    }
}
END_TEST

START_TEST(bias_and_activation_follow_the_sum)
{
    struct machine machine;
    open_machine(&machine, NULL, 1);
    for (int activation = 0; activation < ACTIVATION_COUNT && is_fused(&machine); activation++)
        for (size_t i = 0; i < COUNT(sizes); i += one_of(4))
            check_bits(&machine, &(struct example){.rows = 65,
                                                   .columns = sizes[i],
                                                   .depth = i % COUNT(depths),
                                                   .pad = PAD,
                                                   .bias = i % 2 ? bias : NULL,
                                                   .activation = (enum activation)activation});
    machine_release(&machine);
}
END_TEST

START_TEST(targets_without_fma_compute_the_product_too)
{
    static const char *const targets[] = {"snb", "sse3"};
    for (size_t t = 0; t < COUNT(targets); t++) {
        struct machine machine;
        open_machine(&machine, targets[t], 1);
        for (size_t i = 0; i < COUNT(sizes) * COUNT(depths); i += one_of(11)) {
            size_t depth = i / COUNT(sizes);
            struct example e = {
                .rows = sizes[i % COUNT(sizes)], .columns = 65, .depth = depth, .pad = PAD};
            struct matrix y = product_of(&machine, &e);
            for (size_t cell = 0; cell < e.rows * e.columns; cell++) {
                size_t row = cell / e.columns;
                size_t at = row * judge.columns + cell % e.columns;
                double off =
                    fabs(y.data[row * y.stride + cell % e.columns] - judge.exact[depth][at]);
                if (!(off <= judge.bound[depth][at] * (double)depths[depth] * 0x1p-24))
                    ck_abort_msg("%s: row %zu is off by %g", targets[t], row, off);
            }
            check_untouched(y);
        }
        machine_release(&machine);
    }
}
END_TEST

/* Columns of a wider matrix are a weight of their own: GPT-2's q, k and v. */
START_TEST(a_part_of_a_wider_weight_is_that_part_of_the_product)
{
    enum { FIRST = 37, WIDTH = 70, ROWS = 20 };
    float y[ROWS * WIDTH];
    struct machine machine;
    open_machine(&machine, NULL, 1);
    struct weight part = {
        .data = judge.w + FIRST, .in = depths[5], .out = WIDTH, .stride = judge.columns};
    struct matrix x = {judge.x, ROWS, depths[5], judge.depth};
    linear(&machine, (struct matrix){y, ROWS, WIDTH, WIDTH}, x, &part, ACTIVATION_NONE);
    for (size_t row = 0; row < ROWS && is_fused(&machine); row++)
        ck_assert_mem_eq(y + row * WIDTH, judge.from_zero[5] + row * judge.columns + FIRST,
                         WIDTH * sizeof *y);
    machine_release(&machine);
}
END_TEST

/* Few rows stream, many are copied and grouped: each row has the bits it has among sixteen. */
START_TEST(the_number_of_rows_changes_no_bit)
{
    enum { ROWS = 600, IN = 100, OUT = 1600, SOME = 16 };
    static const size_t counts[] = {1, 2, 7, 8, 9, 127, 128, 511, 512, 513, ROWS};
    static float x[ROWS * IN], w[IN * OUT], y[ROWS * OUT], judged[ROWS * OUT];
    struct machine machine;
    uint32_t dice = 5;
    open_machine(&machine, NULL, 2);
    dice_fill(x, COUNT(x), &dice);
    dice_fill(w, COUNT(w), &dice);
    struct weight weight = {.data = w, .in = IN, .out = OUT, .stride = OUT};
    struct matrix all = {x, ROWS, IN, IN};
    struct matrix judge_rows = {judged, ROWS, OUT, OUT};
    for (size_t row = 0; row + SOME <= ROWS + SOME / 2; row += SOME / 2) { /* they overlap */
        size_t first = row + SOME <= ROWS ? row : ROWS - SOME;
        linear(&machine, matrix_rows(judge_rows, first, SOME), matrix_rows(all, first, SOME),
               &weight, ACTIVATION_NONE);
    }
    for (size_t i = 0; i < COUNT(counts) && is_fused(&machine); i += one_of(4)) {
        linear(&machine, (struct matrix){y, counts[i], OUT, OUT}, matrix_rows(all, 0, counts[i]),
               &weight, ACTIVATION_NONE);
        ck_assert_msg(memcmp(y, judged, counts[i] * OUT * sizeof *y) == 0, "%zu rows", counts[i]);
    }
    machine_release(&machine);
}
END_TEST

START_TEST(no_rows_are_no_work)
{
    struct machine machine;
    float weights[4] = {1, 2, 3, 4};
    open_machine(&machine, NULL, 2);
    struct weight w = {.data = weights, .in = 2, .out = 2, .stride = 2};
    linear(&machine, (struct matrix){NULL, 0, 2, 2}, (struct matrix){NULL, 0, 2, 2}, &w,
           ACTIVATION_GELU);
    machine_release(&machine);
}
END_TEST

Suite *gemm_suite(void)
{
    Suite *suite = suite_create("gemm");
    TCase *tests = tcase_create("gemm");
    tcase_add_unchecked_fixture(tests, open_judge, close_judge);
    tcase_add_test(tests, the_chain_is_the_product);
    tcase_add_test(tests, every_size_is_one_chain_an_element);
    tcase_add_test(tests, every_size_has_the_same_bits_with_avx2);
    tcase_add_test(tests, plain_c_has_the_same_bits);
    tcase_add_test(tests, threads_do_not_change_a_bit);
    tcase_add_test(tests, bias_and_activation_follow_the_sum);
    tcase_add_test(tests, targets_without_fma_compute_the_product_too);
    tcase_add_test(tests, a_part_of_a_wider_weight_is_that_part_of_the_product);
    tcase_add_test(tests, the_number_of_rows_changes_no_bit);
    tcase_add_test(tests, no_rows_are_no_work);
    suite_add_tcase(suite, tests);
    return suite;
}
