/* machine.h: what the mathematics runs on: threads, generated kernels, and room to work in. */
#ifndef ATTN_MATH_MACHINE_H
#define ATTN_MATH_MACHINE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "math/kernel.h"
#include "math/pool.h"

struct machine {
    struct pool *pool;
    struct kernels *kernels;
    float **panels; /* [thread][PANEL_ROWS, COPY_COLUMNS] for a panel that is copied */
    struct arena arena;
};

/* `threads` 0: as many as there are processors. */
int machine_open(struct machine *machine, size_t threads, struct err *err);
void machine_release(struct machine *machine);

#endif
