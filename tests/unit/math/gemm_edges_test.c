#include "math/gemm.h"
#include "math/machine.h"

#include "../unit.h"
#include "../rigs/gemm_rig.h"
#include "../rigs/patience.h"
#include "../rigs/targets.h"

/* Sizes around every edge. Rows: 1; streaming (8); kernels of libxsmm (12, 16); a tile (64); a
 * group (192 or 256, in place 512); copied panels (384, for wide matrices 192). Columns: a register
 * (16) and its multiples; a panel (32); a copied panel (64); a slab (768). Depth: a slab (16); a
 * chunk in place (192); a panel (768). */
struct edges {
    const size_t *rows, *columns;
    size_t row_count, column_count;
};

static const size_t all_rows[] = {1,   2,   3,   7,   8,   9,   11,  12,  13,  15,
                                  16,  17,  63,  64,  65,  127, 128, 129, 191, 192,
                                  193, 255, 256, 257, 383, 384, 385, 511, 512, 513};
static const size_t few_columns[] = {1, 16, 17, 48, 64, 65, 129};
static const size_t few_depths[] = {1, 17, 193, 768, 769};

static const size_t few_rows[] = {1, 2, 7, 8, 9, 12, 16, 17};
static const size_t all_columns[] = {2,   3,   15,  16,  17,  31,  32,  33,   47,   48,  49,
                                     63,  64,  65,  79,  80,  81,  95,  96,   97,   111, 112,
                                     113, 127, 128, 129, 767, 768, 769, 1535, 1536, 1537};
static const size_t all_depths[] = {1,   2,   3,   15,  16,  17,  63,   191,
                                    192, 193, 385, 767, 768, 769, 1536, 1537};

static const struct edges tall = {all_rows, few_columns, COUNT(all_rows), COUNT(few_columns)};
static const struct edges wide = {few_rows, all_columns, COUNT(few_rows), COUNT(all_columns)};

/* Every target of LIBXSMM_TARGET except plain C; NULL: this processor. Each is tested with the
 * settings for processors of every maker. */
static const char *const targets[] = {NULL, "hsw"};

enum { PROCESSORS = COUNT(targets) * COUNT(makers) };

/* Plain C with fused multiply-add of the processor, and without, which is slower. */
static const struct plain {
    const char *target;
    size_t step; /* test every step-th product */
} plain[] = {{"generic", 1}, {"snb", 9}};

static struct gemm_rig rig;

/* Under valgrind only the shorter half of depths: the judge's sums take most of the time. */
static void open_tall(void)
{
    size_t half = one_of(2) == 1 ? 1 : 2;
    gemm_rig_open(&rig, 513, 129, few_depths, COUNT(few_depths) / half);
}

static void open_wide(void)
{
    size_t half = one_of(2) == 1 ? 1 : 2;
    gemm_rig_open(&rig, 17, 1537, all_depths, COUNT(all_depths) / half);
}

static void close_rig(void)
{
    gemm_rig_close(&rig);
}

FIXTURE_ONCE(open_tall, close_rig)

/* Check every step-th combination of sizes, in place and packed. */
static void sweep(const struct edges *edges, const char *target, size_t step)
{
    struct machine machine;
    gemm_rig_machine(&machine, target, 1);
    size_t sizes = edges->row_count * edges->column_count * rig.judge.depth_count;
    for (size_t i = 0; i < sizes; i += step) {
        size_t weight = i / edges->row_count; /* all rows use the same weight */
        struct gemm_example e = {.rows = edges->rows[i % edges->row_count],
                                 .columns = edges->columns[weight % edges->column_count],
                                 .depth = weight / edges->column_count,
                                 .far = weight % 4 == 3,
                                 .bias = i % 2,
                                 .add = i % 3 == 0};
        e.pad = gemm_rig_pad(weight, e.columns);
        gemm_rig_check(&rig, &machine, &e);
        e.packed = true;
        gemm_rig_check(&rig, &machine, &e);
    }
    machine_release(&machine);
}

/* sweep() as on one of PROCESSORS. */
static void sweep_by(size_t processor, const struct edges *edges, size_t step)
{
    cpu_tuning_pretend(&makers[processor % COUNT(makers)]);
    sweep(edges, targets[processor / COUNT(makers)], step);
    cpu_tuning_pretend(NULL);
}

TEST_LOOP(rows_around_every_edge, PROCESSORS)
{
    sweep_by((size_t)_i, &tall, one_of(29));
}

/* Slow without vectors: fewer combinations, which still have all sizes. */
TEST_LOOP(plain_c_around_every_edge, COUNT(plain))
{
    sweep(&tall, plain[_i].target, 7 * plain[_i].step);
}

FIXTURE_ONCE(open_wide, close_rig)

TEST_LOOP(columns_and_sums_around_every_edge, PROCESSORS)
{
    sweep_by((size_t)_i, &wide, one_of(331));
}

TEST_LOOP(plain_c_around_every_edge_of_wide_matrices, COUNT(plain))
{
    sweep(&wide, plain[_i].target, 37 * plain[_i].step);
}
