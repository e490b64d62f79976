#include "math/gemm.h"
#include "math/machine.h"

#include "../unit.h"
#include "../rigs/gemm_rig.h"
#include "../rigs/patience.h"
#include "../rigs/targets.h"

/* Sizes on both sides of every edge. Rows: one, those that stream (8), of libxsmm's kernels (12,
 * 16), of a tile (64), of a group (192 or 256, in place 512), of copied panels (384, of wide
 * matrices 192). Columns: of a register (16) and its multiples, of a panel (32), of a copied
 * one (64), of a slab (768). The sum: of a slab (16), of a chunk in place (192) and of a panel
 * (768). */
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

/* Every instruction set that LIBXSMM_TARGET leads to, but for plain C. NULL: the processor's. Each
 * is used as by every maker's processors. */
static const char *const targets[] = {NULL, "hsw"};

enum { PROCESSORS = COUNT(targets) * COUNT(makers) };

/* Plain C, with the processor's fused multiply-add and without, which takes longer. */
static const struct plain {
    const char *target;
    size_t step; /* as many times fewer products */
} plain[] = {{"generic", 1}, {"snb", 9}};

static struct gemm_rig rig;

/* Under valgrind the judge's own sums take most of the time: half of them there, the shorter ones.
 */
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

/* One of `step` products of all sizes, in place and packed. */
static void sweep(const struct edges *edges, const char *target, size_t step)
{
    struct machine machine;
    gemm_rig_machine(&machine, target, 1);
    size_t sizes = edges->row_count * edges->column_count * rig.judge.depth_count;
    for (size_t i = 0; i < sizes; i += step) {
        size_t weight = i / edges->row_count; /* the same one for all rows */
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

/* As sweep does, by one of PROCESSORS. */
static void sweep_by(size_t processor, const struct edges *edges, size_t step)
{
    target_pretend(&makers[processor % COUNT(makers)]);
    sweep(edges, targets[processor / COUNT(makers)], step);
    target_pretend(NULL);
}

TEST_LOOP(rows_around_every_edge, PROCESSORS)
{
    sweep_by((size_t)_i, &tall, one_of(29));
}

/* It takes its time where it is not vectorised: a few of all sizes, which step over all edges. */
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
