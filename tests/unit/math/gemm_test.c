#include "math/gemm.h"
#include "math/machine.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/gemm_rig.h"
#include "../rigs/patience.h"

/* gemm_edges_test.c has the sizes around every edge. */
static const size_t sizes[] = {1, 2, 3, 11, 12, 13, 15, 16, 17, 63, 64, 65, 127, 128, 129};
static const size_t depths[] = {1, 2, 63, 511, 512, 513, 1024, 1537};

enum { SIZE_MAX_HERE = 129, PAD = 3 };

static struct gemm_rig rig;

static void open_rig(void)
{
    gemm_rig_open(&rig, SIZE_MAX_HERE, SIZE_MAX_HERE, depths, COUNT(depths));
}

static void close_rig(void)
{
    gemm_rig_close(&rig);
}

FIXTURE_ONCE(open_rig, close_rig)

TEST(threads_do_not_change_a_bit)
{
    for (size_t threads = 2; threads <= 5; threads++) {
        struct machine machine;
        gemm_rig_machine(&machine, NULL, threads);
        for (size_t i = 0; i < COUNT(sizes); i += one_of(4))
            gemm_rig_check(&rig, &machine,
                           &(struct gemm_example){.rows = 129,
                                                  .columns = sizes[i],
                                                  .depth = COUNT(depths) - 1 - i % 3,
                                                  .pad = PAD,
                                                  .bias = true,
                                                  .activation = ACTIVATION_GELU_NEW});
        gemm_rig_check(
            &rig, &machine,
            &(struct gemm_example){.rows = 1, .columns = 129, .depth = 5, .packed = true});
        machine_release(&machine);
    }
}

/* One row and more columns than a round takes: bf16 in panels, in place as float32 and as bf16. */
TEST_LOOP(a_row_by_many_columns_is_one_chain_for_each, 9)
{
    enum { IN = 3, OUT = SUMS_ROOM + 40, PANELS = (OUT + PANEL_COLUMNS - 1) / PANEL_COLUMNS };
    static float w[IN * OUT], panels[PANELS * PANEL_COLUMNS * IN], y[OUT];
    static uint16_t halves[IN * OUT];
    float x[IN] = {0.3f, -1.7f, 2.9f};
    struct weight weight = {.data = w, .in = IN, .out = OUT, .stride = OUT};
    struct machine machine;
    uint32_t dice = 7;
    dice_fill(w, COUNT(w), &dice);
    for (size_t i = 0; i < COUNT(w); i++)
        w[i] = bf16_value(halves[i] = bf16_round(w[i]));
    ck_assert_uint_eq(panels_size(&weight), COUNT(panels));
    panels_fill(panels, &weight);
    if (_i / 3 == 0)
        weight.panels = panels;
    else if (_i / 3 == 1)
        weight =
            (struct weight){.halves = (const char *)halves, .in = IN, .out = OUT, .stride = OUT};
    gemm_rig_machine(&machine, _i % 3 == 2 ? "hsw" : NULL, _i % 3 == 1 ? 3 : 1);
    linear(&machine, (struct matrix){y, 1, OUT, OUT}, (struct matrix){x, 1, IN, IN}, &weight,
           ACTIVATION_NONE);
    for (size_t i = 0; i < OUT; i++) {
        float sum = 0;
        for (size_t k = 0; k < IN; k++)
            sum = fmaf(x[k], w[k * OUT + i], sum);
        ck_assert_msg(memcmp(&sum, &y[i], sizeof sum) == 0, "column %zu", i);
    }
    machine_release(&machine);
}

TEST(bias_and_activation_follow_the_sum)
{
    struct machine machine;
    gemm_rig_machine(&machine, NULL, 1);
    for (int activation = 0; activation < ACTIVATION_COUNT; activation++)
        for (size_t i = 0; i < COUNT(sizes); i += one_of(4))
            gemm_rig_check(&rig, &machine,
                           &(struct gemm_example){.rows = 65,
                                                  .columns = sizes[i],
                                                  .depth = i % COUNT(depths),
                                                  .pad = PAD,
                                                  .bias = i % 2,
                                                  .activation = (enum activation)activation});
    machine_release(&machine);
}

/* Columns of a wider matrix as a weight: q, k and v of GPT-2. */
TEST(columns_of_a_weight_give_columns_of_the_product)
{
    enum { FIRST = 37, WIDTH = 70, ROWS = 20 };
    const struct product_judge *judge = &rig.judge;
    float y[ROWS * WIDTH];
    struct machine machine;
    gemm_rig_machine(&machine, NULL, 1);
    struct weight part = {
        .data = judge->w + FIRST, .in = depths[5], .out = WIDTH, .stride = judge->columns};
    struct matrix x = {judge->x, ROWS, depths[5], judge->depth};
    linear(&machine, (struct matrix){y, ROWS, WIDTH, WIDTH}, x, &part, ACTIVATION_NONE);
    for (size_t row = 0; row < ROWS; row++)
        ck_assert_mem_eq(y + row * WIDTH, judge->sum[5] + row * judge->columns + FIRST,
                         WIDTH * sizeof *y);
    machine_release(&machine);
}

/* Few rows are streamed, many are copied in groups; expected: products of sixteen rows. */
TEST(the_number_of_rows_does_not_change_a_bit)
{
    enum { ROWS = 600, IN = 100, OUT = 1600, SOME = 16 };
    static const size_t counts[] = {1, 2, 7, 8, 9, 127, 128, 511, 512, 513, ROWS};
    static float x[ROWS * IN], w[IN * OUT], y[ROWS * OUT], judged[ROWS * OUT];
    struct machine machine;
    uint32_t dice = 5;
    gemm_rig_machine(&machine, NULL, 2);
    dice_fill(x, COUNT(x), &dice);
    dice_fill(w, COUNT(w), &dice);
    struct weight weight = {.data = w, .in = IN, .out = OUT, .stride = OUT};
    struct matrix all = {x, ROWS, IN, IN};
    struct matrix judge_rows = {judged, ROWS, OUT, OUT};
    for (size_t row = 0; row + SOME <= ROWS + SOME / 2; row += SOME / 2) { /* overlapping */
        size_t first = row + SOME <= ROWS ? row : ROWS - SOME;
        linear(&machine, matrix_rows(judge_rows, first, SOME), matrix_rows(all, first, SOME),
               &weight, ACTIVATION_NONE);
    }
    for (size_t i = 0; i < COUNT(counts); i += one_of(4)) {
        linear(&machine, (struct matrix){y, counts[i], OUT, OUT}, matrix_rows(all, 0, counts[i]),
               &weight, ACTIVATION_NONE);
        ck_assert_msg(memcmp(y, judged, counts[i] * OUT * sizeof *y) == 0, "%zu rows", counts[i]);
    }
    machine_release(&machine);
}

/* bf16 in place: one row is streamed, many are copied. */
TEST(bf16_in_place_gives_the_bits_of_float32)
{
    enum { ROWS = 70, IN = 100, OUT = 150, FIRST = 7, WIDTH = 130 };
    static const size_t counts[] = {1, 2, 9, ROWS};
    static float x[ROWS * IN], w[IN * OUT], y[ROWS * OUT], judged[ROWS * OUT];
    static char halves[IN * OUT * BF16_BYTES + 1];
    struct machine machine;
    uint32_t dice = 7;
    gemm_rig_machine(&machine, NULL, 2);
    dice_fill(x, COUNT(x), &dice);
    dice_fill(w, COUNT(w), &dice);
    for (size_t i = 0; i < COUNT(w); i++) {
        uint16_t half = bf16_round(w[i]);
        memcpy(halves + 1 + i * sizeof half, &half, sizeof half);
        w[i] = bf16_value(half);
    }
    struct weight floats = {.data = w, .in = IN, .out = OUT, .stride = OUT};
    struct weight lying = {.halves = halves + 1, .in = IN, .out = OUT, .stride = OUT};
    struct weight part = weight_columns(&floats, FIRST, WIDTH);
    struct weight same = weight_columns(&lying, FIRST, WIDTH);
    for (size_t i = 0; i < COUNT(counts); i++) {
        struct matrix rows = {x, counts[i], IN, IN};
        linear(&machine, (struct matrix){judged, counts[i], WIDTH, WIDTH}, rows, &part,
               ACTIVATION_GELU);
        linear(&machine, (struct matrix){y, counts[i], WIDTH, WIDTH}, rows, &same, ACTIVATION_GELU);
        ck_assert_mem_eq(y, judged, counts[i] * WIDTH * sizeof *y);
    }
    machine_release(&machine);
}

TEST(zero_rows_are_valid)
{
    struct machine machine;
    float weights[4] = {1, 2, 3, 4};
    gemm_rig_machine(&machine, NULL, 2);
    struct weight w = {.data = weights, .in = 2, .out = 2, .stride = 2};
    linear(&machine, (struct matrix){NULL, 0, 2, 2}, (struct matrix){NULL, 0, 2, 2}, &w,
           ACTIVATION_GELU);
    machine_release(&machine);
}
