#include "bench/benchmark.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/platform.h"
#include "math/avx512.h"

/* A limit is the best of a few short windows: whoever else has the processor for a while spoils
 * some of them, not what the machine can do. */
enum { WINDOWS = 4 };

static const double WINDOW = 0.001;    /* seconds of multiply-adds */
static const double SETTLING = 0.0003; /* before: until all threads are awake */
static const double ALL_THREADS = 1e9; /* multiply-adds: work that is worth every thread */

enum {
    WINDOW_BYTES = 32 * 1024 * 1024, /* read in some milliseconds */
    MEMORY_LEAST = WINDOWS * WINDOW_BYTES,
    MEMORY_MOST = 1024 * 1024 * 1024,
    CACHE_UNKNOWN = 64 * 1024 * 1024,
    PIECE_BYTES = 1024 * 1024, /* of memory, for one thread at a time */
};

/* What has been computed goes here, where every compiler must think that it is looked at. */
static _Atomic float result;

/* --- multiply-adds ---------------------------------------------------------------------------- */

enum { FMA_STEPS = 4096 }; /* of one call, which takes some 10 µs */

/* x · FACTOR + TERM goes to 1 and stays there: no subnormals, no infinities. */
#define FACTOR 0.75f
#define TERM 0.25f

/* The whole of a loop over vectors of a kind; `fused` makes x · factor + term of them. */
#define FMA_LOOP(vector, fused)                                       \
    vector chains[FMA_CHAINS];                                        \
    const vector factor = (vector){0} + FACTOR;                       \
    const vector term = (vector){0} + TERM;                           \
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
    return chains[0][0]

typedef float plain_vector __attribute__((vector_size(4 * sizeof(float))));

#define PLAIN_FMA(x, factor, term) ((x) * (factor) + (term))

static float loop_plain(void)
{
    FMA_LOOP(plain_vector, PLAIN_FMA);
}

#ifdef AVX512
IN_AVX512 static float loop_avx512(void)
{
    FMA_LOOP(__m512, _mm512_fmadd_ps);
}

__attribute__((target("avx2,fma"))) static float loop_avx2(void)
{
    FMA_LOOP(__m256, _mm256_fmadd_ps);
}

fma_loop *fma_loop_find(enum fma_form form)
{
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    fma_loop *const loops[FMA_FORMS] = {has_avx512() ? loop_avx512 : NULL, avx2 ? loop_avx2 : NULL,
                                        loop_plain};
    return loops[form];
}
#else
fma_loop *fma_loop_find(enum fma_form form)
{
    return form == FMA_PLAIN ? loop_plain : NULL;
}
#endif

const struct fma_row fma_rows[FMA_FORMS] = {{"avx512", 16}, {"avx2", 8}, {"plain", 4}};

/* What is done again and again, on every thread. */
struct rate_job {
    void (*call)(const void *context, size_t thread);
    const void *context;
    double begin, end; /* calls are counted between these moments, one a round at least */
    atomic_size_t calls;
};

static void repeat_call(void *context, size_t round, size_t thread)
{
    struct rate_job *job = context;
    size_t calls = 0;
    (void)round;
    while (clock_seconds() < job->begin)
        job->call(job->context, thread);
    do {
        job->call(job->context, thread);
        calls++;
    } while (clock_seconds() < job->end);
    atomic_fetch_add(&job->calls, calls);
}

/* Calls a second, of all threads. */
static double rate_of(struct pool *pool, void (*call)(const void *context, size_t thread),
                      const void *context)
{
    size_t threads = pool_threads(pool);
    double best = 0;
    for (int i = 0; i < WINDOWS; i++) {
        double begin = clock_seconds() + (threads > 1 ? SETTLING : 0);
        struct rate_job job = {call, context, begin, begin + WINDOW, 0};
        pool_run(pool, (struct loop){threads, ALL_THREADS, repeat_call}, &job);
        best = fmax(best, (double)job.calls / (clock_seconds() - begin));
    }
    return best;
}

static void call_loop(const void *context, size_t thread)
{
    fma_loop *const *loop = context;
    (void)thread;
    result = (*loop)();
}

double peak_fma(struct pool *pool, enum fma_form form)
{
    fma_loop *loop = fma_loop_find(form);
    double operations = 2.0 * FMA_STEPS * FMA_CHAINS * fma_rows[form].lanes;
    return loop ? operations * rate_of(pool, call_loop, &loop) : 0;
}

/* --- a kernel --------------------------------------------------------------------------------- */

/* Two bf16 numbers, about 1 each, or a float of about 1: none is subnormal, no sum is. */
enum { ONES = 0x3f803f80, KERNEL_ROWS = 64, KERNEL_SUM = 256 };

/* As `linear` asks for it, but of a shorter sum: all of it stays in the first two caches. What is
 * widened is floats. */
static struct kernel_shape shape_of(enum precision precision, struct kernels *kernels)
{
    bool pairs = precision == PRECISION_BF16 && kernels_pair_way(kernels) != PAIRS_BY_FMA;
    int columns = pairs ? PAIR_COLUMNS : PANEL_COLUMNS;
    return (struct kernel_shape){columns,    KERNEL_ROWS, KERNEL_SUM,    columns,
                                 KERNEL_SUM, columns,     .pairs = pairs};
}

int peak_kernel_init(struct peak_kernel *peak, size_t threads, struct arena *arena, struct err *err)
{
    size_t weights = (size_t)PAIR_COLUMNS * KERNEL_SUM;
    size_t inputs = (size_t)KERNEL_ROWS * KERNEL_SUM;
    peak->weights = arena_alloc(arena, weights, sizeof *peak->weights, err);
    peak->inputs = arena_alloc(arena, inputs, sizeof *peak->inputs, err);
    peak->sums = arena_alloc(arena, threads, PAIR_COLUMNS * KERNEL_ROWS * sizeof(float), err);
    if (!peak->weights || !peak->inputs || !peak->sums)
        return -1;
    for (size_t i = 0; i < weights; i++)
        peak->weights[i] = ONES;
    for (size_t i = 0; i < inputs; i++)
        peak->inputs[i] = ONES;
    return 0;
}

static void call_kernel(const void *context, size_t thread)
{
    const struct peak_kernel *peak = context;
    kernel_call(&peak->kernel, peak->weights, peak->inputs,
                peak->sums + thread * PAIR_COLUMNS * KERNEL_ROWS, peak->weights);
}

double peak_kernel(struct pool *pool, struct kernels *kernels, struct peak_kernel *peak,
                   enum precision precision)
{
    struct kernel_shape shape = shape_of(precision, kernels);
    double products = (double)shape.m * shape.n * shape.k * (shape.pairs ? 2 : 1);
    kernels_begin(kernels);
    kernels_get(kernels, &peak->kernel, &shape, ALL_THREADS);
    return 2 * products * rate_of(pool, call_kernel, peak);
}

/* --- memory ----------------------------------------------------------------------------------- */

int peak_memory_init(struct peak_memory *memory, struct arena *arena, struct err *err)
{
    size_t cache = platform_cache_bytes();
    memory->cache_bytes = cache ? cache : CACHE_UNKNOWN;
    size_t size = 2 * memory->cache_bytes;
    size = size < MEMORY_LEAST ? MEMORY_LEAST : size > MEMORY_MOST ? MEMORY_MOST : size;
    memory->size_bytes = size / WINDOW_BYTES * WINDOW_BYTES;
    memory->next_byte = 0;
    memory->data = arena_alloc(arena, memory->size_bytes, 1, err);
    if (!memory->data)
        return -1;
    memset(memory->data, 1, memory->size_bytes); /* untouched, it would be one page of zeros */
    return 0;
}

/* A processor may fetch more at a time of several pages than of one. As many sums, so that none
 * waits for another. */
enum { STREAMS = 16 };

/* LANES floats of every stream at a time; streams that lie LANES apart are one. Checks that a
 * sanitizer adds would be what is measured. */
FOR_EACH_ISA
__attribute__((no_sanitize("address", "thread", "undefined"))) static float add_up(
    const float *data, size_t count, size_t apart)
{
    float sums[STREAMS][LANES] = {{0}};
    size_t step = apart == LANES ? STREAMS * LANES : LANES;
    size_t end = apart == LANES ? count : apart;
    for (size_t i = 0; i < end; i += step)
        for (size_t stream = 0; stream < STREAMS; stream++)
            for (size_t lane = 0; lane < LANES; lane++)
                sums[stream][lane] += data[i + stream * apart + lane];
    for (size_t stream = 1; stream < STREAMS; stream++)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[0][lane] += sums[stream][lane];
    return add_lanes(sums[0]);
}

/* Some megabytes in a row, read once. */
struct read_job {
    const float *data;
    size_t pieces;
    size_t apart; /* floats from a stream to the next */
};

static void read_piece(void *context, size_t round, size_t thread)
{
    const struct read_job *job = context;
    size_t count = PIECE_BYTES / sizeof *job->data;
    (void)thread;
    result = add_up(job->data + round * count, count, job->apart);
}

/* The next windows in a row, round and round: whatever was read before has left the caches by then,
 * and a call takes as long where these are large. By turns straight on, and side by side. */
double peak_read(struct pool *pool, struct peak_memory *memory)
{
    double best = 0;
    for (int i = 0; i < WINDOWS; i++) {
        struct read_job job = {memory->data + memory->next_byte / sizeof *memory->data,
                               WINDOW_BYTES / PIECE_BYTES,
                               i % 2 ? LANES : PIECE_BYTES / sizeof *memory->data / STREAMS};
        double start = clock_seconds();
        pool_run(pool, (struct loop){job.pieces, ALL_THREADS, read_piece}, &job);
        best = fmax(best, WINDOW_BYTES / (clock_seconds() - start));
        memory->next_byte = (memory->next_byte + WINDOW_BYTES) % memory->size_bytes;
    }
    return best;
}
