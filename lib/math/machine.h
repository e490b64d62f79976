/* machine.h: what the mathematics runs on: threads, generated kernels, and room to work in. */
#ifndef ATTN_MATH_MACHINE_H
#define ATTN_MATH_MACHINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/progress_sink.h"
#include "math/kernel.h"
#include "math/pool.h"

enum {
    COPY_COLUMNS = 64,               /* of a panel that is copied for one use, */
    PANEL_ROWS = 512,                /* and its rows at most */
    SUMS_ROOM = 1024 * COPY_COLUMNS, /* for as many sums, or numbers that they are made of */
};

struct machine {
    struct pool *pool;
    struct kernels *kernels;
    float **panels;   /* [thread][SUMS_ROOM] for a panel that is copied, or a row that is widened */
    float **sums;     /* [thread][SUMS_ROOM] for what a product makes of those, at most */
    float **segments; /* [thread][SUMS_ROOM] for the same of one segment (gemm.h) */
    float *rounded;   /* [rounded_size] for a matrix that is rounded; see machine_hold_rounded */
    size_t rounded_size;
    bool whole_sums; /* of many rows, no segments (gemm.h): the order that trained models/tiny */
    const struct progress_sink *progress; /* of the layers of a pass; NULL: not told */
    struct arena arena;
};

/* `threads` 0: as many as there are processors. */
int machine_open(struct machine *machine, size_t threads, struct err *err);
void machine_release(struct machine *machine);

/* Hold memory for x [rows, columns] of products in bf16, which is rounded into it (gemm.h). */
int machine_hold_rounded(struct machine *machine, size_t rows, size_t columns, struct err *err);

#endif
