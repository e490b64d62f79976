/* generator.h: machine code of kernels, written by libxsmm.
 *
 *     struct generator generator = {.target = TARGET_AVX2};
 *     if (generator_can_write(&generator))
 *         code = generator_write(&generator, &shape);
 *     generator_release(&generator);
 */
#ifndef ATTN_MATH_GENERATOR_H
#define ATTN_MATH_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "math/kernel.h"
#include "math/target.h"

/* libxsmm writes for x86-64; elsewhere there is no generator, and no need of libxsmm. The Makefile
 * and dependencies.sh ask the same of the compiler. */
#if defined(__x86_64__) && defined(__linux__)
#define GENERATES
#endif

struct generator {
    enum target target;           /* becomes TARGET_C where code cannot be run */
    unsigned char *written, *run; /* two views of the code; NULL: there is none yet */
    size_t used;
};

/* Is there room for code? It is mapped at the first use. */
bool generator_can_write(struct generator *generator);
void generator_release(struct generator *generator);

/* Is there room for so many more kernels? Forget those that there are. */
bool generator_has_room(const struct generator *generator, size_t kernels);
void generator_forget(struct generator *generator);

/* The code of a kernel; NULL: it declines. */
kernel_code *generator_write(struct generator *generator, const struct kernel_shape *shape);

/* The library that writes it, with its version; NULL: there is none. */
const char *generator_library(void);

#endif
