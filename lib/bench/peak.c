/* peak.c: what the machine can do: multiply-adds in registers, bytes read from memory. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/platform.h"
#include "bench/benchmark.h"
#include "math/avx512.h"

/* A limit is the best of a few short windows: other processes take the processor for some. */
enum { WINDOWS = 4 };

static const double WINDOW = 0.004;    /* seconds of multiply-adds */
static const double ALL_THREADS = 1e9; /* multiply-adds: work that is worth every thread */

enum {
    WINDOW_BYTES = 32 * 1024 * 1024, /* read in some milliseconds */
    MEMORY_LEAST = WINDOWS * WINDOW_BYTES,
    MEMORY_MOST = 1024 * 1024 * 1024,
    CACHE_UNKNOWN = 64 * 1024 * 1024,
    PIECE_BYTES = 1024 * 1024, /* read by one thread at a time */
};

static _Atomic float result; /* so that no compiler leaves a loop out */

/* --- multiply-adds ---------------------------------------------------------------------------- */

enum {
    FMA_STEPS = 4096, /* of one call, which takes some 10 µs */
    FMA_CHAINS = 12,  /* a latency of 4 cycles and 2 units need 8; 16 registers hold them */
};

/* x · 0.75 + 0.25 converges to 1: no subnormals, no infinities. */
#define FMA_LOOP(vector, fused)                                       \
    vector chains[FMA_CHAINS];                                        \
    const vector factor = (vector){0} + 0.75f;                        \
    const vector term = (vector){0} + 0.25f;                          \
    for (int i = 0; i < FMA_CHAINS; i++)                              \
        chains[i] = (vector){0} + (float)i;                           \
    for (int step = 0; step < FMA_STEPS; step++) {                    \
        _Pragma("GCC unroll 12") for (int i = 0; i < FMA_CHAINS; i++) \
        {                                                             \
            chains[i] = fused(chains[i], factor, term);               \
        }                                                             \
    }                                                                 \
    for (int i = 1; i < FMA_CHAINS; i++)                              \
        chains[0] += chains[i];                                       \
    result = chains[0][0]

typedef float plain_vector __attribute__((vector_size(4 * sizeof(float))));

#define PLAIN_FMA(x, factor, term) ((x) * (factor) + (term))

static void loop_plain(void)
{
    FMA_LOOP(plain_vector, PLAIN_FMA);
}

#ifdef AVX512
IN_AVX512 static void loop_avx512(void)
{
    FMA_LOOP(__m512, _mm512_fmadd_ps);
}

__attribute__((target("avx2,fma"))) static void loop_avx2(void)
{
    FMA_LOOP(__m256, _mm256_fmadd_ps);
}
#endif

struct fma_form {
    const char *name;
    int lanes;
    void (*loop)(void);
};

static struct fma_form widest_form(void)
{
#ifdef AVX512
    if (has_avx512())
        return (struct fma_form){"avx512", 16, loop_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct fma_form){"avx2", 8, loop_avx2};
#endif
    return (struct fma_form){"plain", 4, loop_plain};
}

const char *peak_vectors(void)
{
    return widest_form().name;
}

struct fma_job {
    struct fma_form form;
    double end; /* each thread calls the loop until then, at least once */
    atomic_size_t calls;
};

static void repeat_loop(void *context, size_t round, size_t thread)
{
    struct fma_job *job = context;
    size_t calls = 0;
    (void)round, (void)thread;
    do {
        job->form.loop();
        calls++;
    } while (clock_seconds() < job->end);
    atomic_fetch_add(&job->calls, calls);
}

static double measure_operations(struct pool *pool)
{
    double best = 0;
    for (int i = 0; i < WINDOWS; i++) {
        double start = clock_seconds();
        struct fma_job job = {widest_form(), start + WINDOW, 0};
        pool_run(pool, (struct loop){pool_threads(pool), ALL_THREADS, repeat_loop}, &job);
        double each = 2.0 * FMA_STEPS * FMA_CHAINS * job.form.lanes;
        best = fmax(best, each * (double)job.calls / (clock_seconds() - start));
    }
    return best;
}

/* --- memory ----------------------------------------------------------------------------------- */

int peak_init(struct peak *peak, struct arena *arena, struct err *err)
{
    size_t cache = platform_cache_bytes();
    peak->cache_bytes = cache ? cache : CACHE_UNKNOWN;
    size_t size = 2 * peak->cache_bytes;
    size = size < MEMORY_LEAST ? MEMORY_LEAST : size > MEMORY_MOST ? MEMORY_MOST : size;
    peak->size_bytes = size / WINDOW_BYTES * WINDOW_BYTES;
    peak->next_byte = 0;
    peak->data = arena_alloc(arena, peak->size_bytes, 1, err);
    if (!peak->data)
        return -1;
    memset(peak->data, 1, peak->size_bytes); /* untouched, it would be one page of zeros */
    return 0;
}

enum { SUMS = 16 }; /* independent, so that none waits for another */

/* Checks added by a sanitizer would be measured too. */
FOR_EACH_ISA
__attribute__((no_sanitize("address", "thread", "undefined"))) static float add_up(
    const float *data, size_t count)
{
    float sums[SUMS][LANES] = {{0}};
    for (size_t i = 0; i < count; i += SUMS * LANES)
        for (size_t sum = 0; sum < SUMS; sum++)
            for (size_t lane = 0; lane < LANES; lane++)
                sums[sum][lane] += data[i + sum * LANES + lane];
    for (size_t sum = 1; sum < SUMS; sum++)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[0][lane] += sums[sum][lane];
    return add_lanes(sums[0]);
}

static void read_piece(void *context, size_t round, size_t thread)
{
    const float *data = context;
    size_t count = PIECE_BYTES / sizeof *data;
    (void)thread;
    result = add_up(data + round * count, count);
}

/* Each call reads the next windows: what was read before has left the caches by then. */
static double measure_reads(struct peak *peak, struct pool *pool)
{
    double best = 0;
    for (int i = 0; i < WINDOWS; i++) {
        double start = clock_seconds();
        pool_run(pool, (struct loop){WINDOW_BYTES / PIECE_BYTES, ALL_THREADS, read_piece},
                 peak->data + peak->next_byte / sizeof *peak->data);
        best = fmax(best, WINDOW_BYTES / (clock_seconds() - start));
        peak->next_byte = (peak->next_byte + WINDOW_BYTES) % peak->size_bytes;
    }
    return best;
}

struct limits peak_measure(struct peak *peak, struct pool *pool)
{
    return (struct limits){measure_operations(pool), measure_reads(peak, pool)};
}
