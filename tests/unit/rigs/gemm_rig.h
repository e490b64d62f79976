/* gemm_rig.h: products of any shape between forbidden pages, held against the plain triple loop.
 *
 *     struct gemm_rig rig;
 *     gemm_rig_open(&rig, 129, 129, depths, COUNT(depths));
 *     gemm_rig_check(&rig, &machine, &(struct gemm_example){.rows = 8, .columns = 49, .depth = 3});
 *     gemm_rig_close(&rig);
 */
#ifndef ATTN_TESTS_GEMM_RIG_H
#define ATTN_TESTS_GEMM_RIG_H

#include <stdbool.h>

#include "guarded.h"
#include "math/gemm.h"
#include "product_judge.h"

struct gemm_rig {
    struct product_judge judge;
    float *bias; /* [columns] */
    float *row;  /* [columns] what a row of y must be */
    struct guarded x, w, y, total, panels;
    struct weight placed; /* what w and the panels hold at the moment */
    const float *placed_panels;
};

/* A product of the judge's numbers, cut off at any size. */
struct gemm_example {
    size_t rows, columns, depth; /* depth: which of the judge's */
    size_t pad;                  /* what strides have beyond the columns, at most a cache line */
    bool far;                    /* rows of W are kilobytes apart */
    bool bias;
    enum activation activation;
    bool packed;
    bool add; /* to a total, in place of an activation */
};

/* For products up to this size. */
void gemm_rig_open(struct gemm_rig *rig, size_t rows, size_t columns, const size_t *depths,
                   size_t depth_count);
void gemm_rig_close(struct gemm_rig *rig);

/* Pads of three kinds in turn: none, some, and what fills the last cache line. Rows that end at a
 * page begin within a line with the last. */
size_t gemm_rig_pad(size_t turn, size_t columns);

/* A machine for LIBXSMM_TARGET = `target` (NULL: as it is). */
void gemm_rig_machine(struct machine *machine, const char *target, size_t threads);

/* Compute the example, every operand ending at a forbidden page. Each element has the bits of the
 * judge's chain. Nothing beside y is written. */
void gemm_rig_check(struct gemm_rig *rig, struct machine *machine, const struct gemm_example *e);

#endif
