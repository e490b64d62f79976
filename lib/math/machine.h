/* machine.h: what the mathematics runs on: threads and generated kernels. */
#ifndef ATTN_MATH_MACHINE_H
#define ATTN_MATH_MACHINE_H

#include <stddef.h>

#include "base/err.h"
#include "math/kernel.h"
#include "math/pool.h"

struct machine {
    struct pool *pool;
    struct kernels *kernels;
};

/* `threads` 0: as many as there are processors. */
int machine_open(struct machine *machine, size_t threads, struct err *err);
void machine_release(struct machine *machine);

#endif
