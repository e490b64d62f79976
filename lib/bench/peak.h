/* peak.h: what this machine can do at most, right now: multiply-adds, and bytes from memory.
 *
 * Measured in a few milliseconds, before and after whatever is held against it: clocks and
 * neighbours change from one second to the next.
 *
 *     double operations = peak_fma(pool, FMA_AVX512);
 *     if (peak_memory_init(&memory, &arena, err)) ...
 *     double bytes = peak_read(pool, &memory);
 */
#ifndef ATTN_BENCH_PEAK_H
#define ATTN_BENCH_PEAK_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "math/pool.h"

/* Kinds of vectors, the widest first. Plain is what C has everywhere: a product, then a sum, four
 * floats at a time. */
enum fma_form { FMA_AVX512, FMA_AVX2, FMA_PLAIN, FMA_FORMS };

extern const struct fma_row {
    const char *name;
    int lanes; /* floats of its vectors */
} fma_rows[FMA_FORMS];

enum { FMA_CHAINS = 12 }; /* a latency of 4 cycles and 2 units need 8; 16 registers hold them */

/* Some thousand multiply-adds in every lane of so many chains that do not depend on each other;
 * nothing is read and nothing is written. Returns what they come to, so that no compiler leaves
 * them out. NULL where this processor does not have the instructions. */
typedef float fma_loop(void);
fma_loop *fma_loop_find(enum fma_form form);

/* Floating-point operations a second on all threads of the pool, two for each multiply-add; 0 where
 * the processor does not have the instructions. */
double peak_fma(struct pool *pool, enum fma_form form);

/* More memory than the caches hold. */
struct peak_memory {
    float *data;
    size_t size_bytes;
    size_t cache_bytes; /* the last level of the caches */
    size_t next_byte;   /* where it is read next */
};

int peak_memory_init(struct peak_memory *memory, struct arena *arena, struct err *err);

/* Bytes a second that all threads of the pool together read from memory. */
double peak_read(struct pool *pool, struct peak_memory *memory);

#endif
