/* gemm_rig.h: products of any shape between guard pages, compared with the plain triple loop.
 *
 *     struct gemm_rig rig;
 *     gemm_rig_open(&rig, 129, 129, depths, COUNT(depths));
 *     gemm_rig_check(&rig, &machine, &(struct gemm_example){.rows = 8, .columns = 49, .depth = 3});
 *     gemm_rig_close(&rig);
 */
#pragma once

#include <stdbool.h>

#include "guarded.h"
#include "math/gemm.h"
#include "product_judge.h"

struct gemm_rig {
    struct product_judge judge;
    float *bias; /* [columns] */
    float *row;  /* [columns], an expected row of y */
    struct guarded x, w, y, total, panels;
    struct weight placed; /* the present contents of w and the panels */
    const float *placed_panels;
};

/* A product of a part of the judge's numbers. */
struct gemm_example {
    size_t rows, columns, depth; /* depth: index of the judge's depths */
    size_t pad;                  /* stride - columns, at most a cache line */
    bool far;                    /* strides of W are kilobytes */
    bool bias;
    enum activation activation;
    bool packed;
    bool add; /* add to a total instead of an activation */
};

/* For products up to this size. */
void gemm_rig_open(struct gemm_rig *rig, size_t rows, size_t columns, const size_t *depths,
                   size_t depth_count);
void gemm_rig_close(struct gemm_rig *rig);

/* One of three pads in turn: none, some, and up to the end of the cache line. Only with the last do
 * rows that end at a page begin at a cache line. */
size_t gemm_rig_pad(size_t turn, size_t columns);

/* Open a machine with LIBXSMM_TARGET = `target` (NULL: unchanged). */
void gemm_rig_machine(struct machine *machine, const char *target, size_t threads);

/* Compute the example with operands that end at guard pages. Every element must have the bits of
 * the judge's chain, and only y may be written. */
void gemm_rig_check(struct gemm_rig *rig, struct machine *machine, const struct gemm_example *e);
