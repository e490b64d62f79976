#include "bench/peak.h"

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "math/avx512.h"
#include "math/isa.h"

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

#ifdef AVX512
IN_AVX512 static float loop_avx512(void)
{
    __m512 chains[FMA_CHAINS];
    const __m512 factor = _mm512_set1_ps(FACTOR);
    const __m512 term = _mm512_set1_ps(TERM);
    for (int i = 0; i < FMA_CHAINS; i++)
        chains[i] = _mm512_set1_ps((float)i);
    for (int step = 0; step < FMA_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_CHAINS; i++)
            chains[i] = _mm512_fmadd_ps(chains[i], factor, term);
    }
    for (int i = 1; i < FMA_CHAINS; i++)
        chains[0] = _mm512_add_ps(chains[0], chains[i]);
    return _mm512_cvtss_f32(chains[0]);
}

__attribute__((target("avx2,fma"))) static float loop_avx2(void)
{
    __m256 chains[FMA_CHAINS];
    const __m256 factor = _mm256_set1_ps(FACTOR);
    const __m256 term = _mm256_set1_ps(TERM);
    for (int i = 0; i < FMA_CHAINS; i++)
        chains[i] = _mm256_set1_ps((float)i);
    for (int step = 0; step < FMA_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_CHAINS; i++)
            chains[i] = _mm256_fmadd_ps(chains[i], factor, term);
    }
    for (int i = 1; i < FMA_CHAINS; i++)
        chains[0] = _mm256_add_ps(chains[0], chains[i]);
    return _mm256_cvtss_f32(chains[0]);
}

static fma_loop *find_vector_loop(enum fma_form form)
{
    if (form == FMA_AVX512 && has_avx512())
        return loop_avx512;
    if (form == FMA_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return loop_avx2;
    return NULL;
}
#else
static fma_loop *find_vector_loop(enum fma_form form)
{
    (void)form;
    return NULL;
}
#endif

typedef float vector __attribute__((vector_size(4 * sizeof(float))));

static float loop_plain(void)
{
    vector chains[FMA_CHAINS];
    const vector factor = {FACTOR, FACTOR, FACTOR, FACTOR};
    const vector term = {TERM, TERM, TERM, TERM};
    for (int i = 0; i < FMA_CHAINS; i++)
        chains[i] = term * (float)i;
    for (int step = 0; step < FMA_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_CHAINS; i++)
            chains[i] = chains[i] * factor + term;
    }
    for (int i = 1; i < FMA_CHAINS; i++)
        chains[0] += chains[i];
    return chains[0][0];
}

fma_loop *fma_loop_find(enum fma_form form)
{
    return form == FMA_PLAIN ? loop_plain : find_vector_loop(form);
}

int fma_lanes(enum fma_form form)
{
    static const int lanes[FMA_FORMS] = {[FMA_AVX512] = 16, [FMA_AVX2] = 8, [FMA_PLAIN] = 4};
    return lanes[form];
}

const char *fma_name(enum fma_form form)
{
    static const char *const names[FMA_FORMS] = {"avx512", "avx2", "plain"};
    return names[form];
}

struct fma_job {
    fma_loop *loop;
    double begin, end; /* calls are counted between these moments, one a round at least */
    atomic_size_t calls;
};

static void repeat_loop(void *context, size_t round, size_t thread)
{
    struct fma_job *job = context;
    size_t calls = 0;
    (void)round, (void)thread;
    while (clock_seconds() < job->begin)
        result = job->loop();
    do {
        result = job->loop();
        calls++;
    } while (clock_seconds() < job->end);
    atomic_fetch_add(&job->calls, calls);
}

static double fma_window(struct pool *pool, enum fma_form form, fma_loop *loop)
{
    size_t threads = pool_threads(pool);
    struct fma_job job = {.loop = loop, .begin = clock_seconds() + (threads > 1 ? SETTLING : 0)};
    job.end = job.begin + WINDOW;
    pool_run(pool, (struct loop){threads, ALL_THREADS, repeat_loop}, &job);
    double operations = 2.0 * FMA_STEPS * FMA_CHAINS * fma_lanes(form);
    return operations * (double)job.calls / (clock_seconds() - job.begin);
}

double peak_fma(struct pool *pool, enum fma_form form)
{
    fma_loop *loop = fma_loop_find(form);
    double best = 0;
    for (int i = 0; loop && i < WINDOWS; i++)
        best = fmax(best, fma_window(pool, form, loop));
    return best;
}

/* --- memory ----------------------------------------------------------------------------------- */

/* The system says "32768K"; 0 where it does not say. */
static size_t cache_size_bytes(void)
{
    char text[32] = "";
    int descriptor = open("/sys/devices/system/cpu/cpu0/cache/index3/size", O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return 0;
    ssize_t size = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    return size > 0 ? strtoul(text, NULL, 10) * 1024 : 0;
}

int peak_memory_init(struct peak_memory *memory, struct arena *arena, struct err *err)
{
    size_t cache = cache_size_bytes();
    size_t size = 0;
    memory->cache_bytes = cache ? cache : CACHE_UNKNOWN;
    size = 2 * memory->cache_bytes;
    size = size < MEMORY_LEAST ? MEMORY_LEAST : size > MEMORY_MOST ? MEMORY_MOST : size;
    memory->size_bytes = size / WINDOW_BYTES * WINDOW_BYTES;
    memory->next_byte = 0;
    memory->data = arena_alloc(arena, memory->size_bytes, 1, err);
    if (!memory->data)
        return -1;
    memset(memory->data, 1, memory->size_bytes); /* untouched, it would be one page of zeros */
    return 0;
}

enum { ROWS = 4 }; /* of LANES sums, so that no sum waits for another */

/* Checks that a sanitizer adds would be what is measured. */
FOR_EACH_ISA
__attribute__((no_sanitize("address", "thread", "undefined"))) static float add_up(
    const float *data, size_t count)
{
    float sums[ROWS * LANES] = {0};
    for (size_t i = 0; i < count; i += ROWS * LANES)
        for (size_t lane = 0; lane < ROWS * LANES; lane++)
            sums[lane] += data[i + lane];
    for (size_t lane = 1; lane < ROWS * LANES; lane++)
        sums[0] += sums[lane];
    return sums[0];
}

/* Some megabytes in a row, read once. */
struct read_job {
    const float *data;
    size_t pieces;
};

static void read_piece(void *context, size_t round, size_t thread)
{
    const struct read_job *job = context;
    size_t count = PIECE_BYTES / sizeof *job->data;
    (void)thread;
    result = add_up(job->data + round * count, count);
}

/* The next windows in a row, round and round: whatever was read before has left the caches by then,
 * and a call takes as long where these are large. */
double peak_read(struct pool *pool, struct peak_memory *memory)
{
    double best = 0;
    for (int i = 0; i < WINDOWS; i++) {
        struct read_job job = {memory->data + memory->next_byte / sizeof *memory->data,
                               WINDOW_BYTES / PIECE_BYTES};
        double start = clock_seconds();
        pool_run(pool, (struct loop){job.pieces, ALL_THREADS, read_piece}, &job);
        best = fmax(best, WINDOW_BYTES / (clock_seconds() - start));
        memory->next_byte = (memory->next_byte + WINDOW_BYTES) % memory->size_bytes;
    }
    return best;
}
