#include "gemm_rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dice.h"
#include "math/kernel.h"
#include "math/machine.h"
#include "math/rows.h"

static const float untouched = 12345.0f;

enum { PAD = 3, LINE = 16, FAR = 2560 };

void gemm_rig_open(struct gemm_rig *rig, size_t rows, size_t columns, const size_t *depths,
                   size_t depth_count)
{
    uint32_t dice = 11;
    *rig = (struct gemm_rig){0};
    product_judge_open(&rig->judge, rows, columns, depths, depth_count);
    size_t depth = rig->judge.depth;
    rig->bias = arena_alloc(&rig->judge.arena, columns, sizeof *rig->bias, NULL);
    rig->row = arena_alloc(&rig->judge.arena, columns, sizeof *rig->row, NULL);
    ck_assert(rig->bias && rig->row);
    dice_fill(rig->bias, columns, &dice);
    rig->x = guarded_open(rows * (depth + LINE));
    rig->w = guarded_open(depth * (columns + LINE > FAR ? columns + LINE : FAR));
    rig->y = guarded_open(rows * (columns + LINE));
    rig->total = guarded_open(rows * (columns + LINE));
    rig->panels = guarded_open(depth * (columns + PANEL_COLUMNS));
}

void gemm_rig_close(struct gemm_rig *rig)
{
    guarded_close(&rig->x);
    guarded_close(&rig->w);
    guarded_close(&rig->y);
    guarded_close(&rig->total);
    guarded_close(&rig->panels);
    product_judge_close(&rig->judge);
}

size_t gemm_rig_pad(size_t turn, size_t columns)
{
    const size_t pads[] = {0, PAD, LINE - columns % LINE};
    return pads[turn % 3];
}

void gemm_rig_machine(struct machine *machine, const char *target, size_t threads)
{
    struct err err = {0};
    if (target)
        ck_assert_int_eq(setenv("LIBXSMM_TARGET", target, 1), 0);
    ck_assert_msg(!machine_open(machine, threads, &err), "%s", err.text);
    kernels_write_all(machine->kernels);
}

/* Memory for rows of `columns` floats; the last ends at a guard page. */
static struct matrix placed(const struct guarded *memory, size_t rows, size_t columns,
                            size_t stride)
{
    float *data = guarded_take(memory, (rows - 1) * stride + columns);
    return (struct matrix){data, rows, columns, stride};
}

static void fill(struct matrix to, const float *from, size_t from_stride)
{
    for (size_t row = 0; row < to.rows; row++)
        memcpy(to.data + row * to.stride, from + row * from_stride, to.columns * sizeof *from);
}

/* The weight of an example; reuses the last one if the shape is the same. */
static struct weight place_weight(struct gemm_rig *rig, const struct gemm_example *e)
{
    size_t depth = rig->judge.depths[e->depth];
    struct matrix w = placed(&rig->w, depth, e->columns, e->far ? FAR : e->columns + e->pad);
    struct weight weight = {.data = w.data, .in = depth, .out = e->columns, .stride = w.stride};
    if (memcmp(&weight, &rig->placed, sizeof weight) != 0) {
        float *panels = guarded_take(&rig->panels, panels_size(&weight));
        fill(w, rig->judge.w, rig->judge.columns);
        panels_fill(panels, &weight);
        rig->placed = weight;
        rig->placed_panels = panels;
    }
    weight.bias = e->bias ? rig->bias : NULL;
    weight.panels = e->packed ? rig->placed_panels : NULL;
    return weight;
}

/* Fill memory up to the end of a matrix with a marker. */
static void soil(const struct guarded *memory, struct matrix matrix)
{
    float *end = matrix.data + (matrix.rows - 1) * matrix.stride + matrix.columns;
    for (float *cell = (float *)(void *)memory->pages; cell < end; cell++)
        *cell = untouched;
}

static struct matrix total_of(const struct gemm_rig *rig, const struct gemm_example *e)
{
    return placed(&rig->total, e->rows, e->columns, e->columns + e->pad);
}

static struct matrix product_of(struct gemm_rig *rig, struct machine *machine,
                                const struct gemm_example *e)
{
    struct weight weight = place_weight(rig, e);
    struct matrix x = placed(&rig->x, e->rows, weight.in, weight.in + e->pad);
    struct matrix y = placed(&rig->y, e->rows, e->columns, e->columns + e->pad);
    soil(&rig->y, y);
    fill(x, rig->judge.x, rig->judge.depth);
    if (!e->add) {
        linear(machine, y, x, &weight, e->activation);
        return y;
    }
    struct matrix total = total_of(rig, e);
    soil(&rig->total, total);
    fill(total, rig->judge.start, rig->judge.columns);
    linear_add(machine, total, y, x, &weight);
    linear_add(machine, total, (struct matrix){0}, x, &weight);
    return y;
}

/* Memory before the first row and between rows must be unchanged. */
static void check_untouched(const struct guarded *memory, struct matrix y)
{
    const float *first = (const float *)(const void *)memory->pages;
    for (const float *cell = first; cell < y.data; cell++)
        if (*cell != untouched)
            ck_abort_msg("%zu cells before y, a cell was written", (size_t)(y.data - cell));
    for (size_t row = 0; row + 1 < y.rows; row++)
        for (size_t i = y.columns; i < y.stride; i++)
            if (y.data[row * y.stride + i] != untouched)
                ck_abort_msg("a cell after row %zu was written", row);
}

static void refuse_row(const struct gemm_rig *rig, const struct machine *machine,
                       const struct gemm_example *e, size_t row)
{
    size_t depth = rig->judge.depths[e->depth];
    ck_abort_msg("%s, %zu threads%s: [%zu, %zu] x [%zu, %zu]: row %zu is wrong",
                 kernels_target(machine->kernels), pool_threads(machine->pool),
                 e->packed ? ", packed" : "", e->rows, depth, depth, e->columns, row);
}

/* True if a row has the expected bits: the chain, then bias, then activation. */
static bool is_exact(const struct gemm_rig *rig, const struct gemm_example *e, size_t row,
                     const float *found)
{
    const float *chain = rig->judge.sum[e->depth] + row * rig->judge.columns;
    struct matrix expected = {rig->row, 1, e->columns, e->columns};
    memcpy(rig->row, chain, e->columns * sizeof *chain);
    activate(expected, expected, e->bias ? rig->bias : NULL, e->activation);
    return memcmp(rig->row, found, e->columns * sizeof *found) == 0;
}

/* True if the total has the row added twice, once with y and once without. */
static bool is_added(const struct gemm_rig *rig, const struct gemm_example *e, size_t row,
                     const float *added)
{
    struct matrix total = total_of(rig, e);
    const float *start = rig->judge.start + row * rig->judge.columns;
    for (size_t i = 0; i < e->columns; i++)
        rig->row[i] = start[i] + added[i] + added[i];
    return memcmp(rig->row, total.data + row * total.stride, e->columns * sizeof *added) == 0;
}

void gemm_rig_check(struct gemm_rig *rig, struct machine *machine, const struct gemm_example *e)
{
    struct matrix y = product_of(rig, machine, e);
    for (size_t row = 0; row < e->rows; row++) {
        const float *found = y.data + row * y.stride;
        if (!is_exact(rig, e, row, found) || (e->add && !is_added(rig, e, row, found)))
            refuse_row(rig, machine, e, row);
    }
    check_untouched(&rig->y, y);
    if (e->add)
        check_untouched(&rig->total, total_of(rig, e));
}
