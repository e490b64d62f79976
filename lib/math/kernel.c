#include "math/kernel.h"

#include <libxsmm_generator.h>
#include <libxsmm_cpuid.h>
#include <libxsmm_version.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/heap.h"

enum {
    KERNELS_MAX = 512,
    CODE_BYTES = 8 * 1024 * 1024,
    KERNEL_CODE_MAX = 64 * 1024, /* one kernel; the largest seen has 12 KiB */
    CODE_ALIGN = 64,
    VECTOR = 16,            /* floats of an AVX-512 register */
    WIDTH_MAX = 4 * VECTOR, /* columns that libxsmm computes at a time */
    ROWS_OF_ONE_CHAIN = 12,
    WORK_FOR_CODE = 2 * 1024 * 1024, /* multiply-adds in which code saves what it takes to write */
};

struct entry {
    struct kernel kernel;
    double work;  /* multiply-adds that it was fetched for so far */
    bool settled; /* it has its code, or never will */
};

struct kernels {
    int target;    /* libxsmm's number of an instruction set; below LIBXSMM_X86_AVX2: plain C */
    bool soft;     /* there is no fused multiply-add */
    bool all_code; /* for little work, too */
    struct hash_index index;
    struct entry *entries; /* [count], with room for KERNELS_MAX */
    size_t count;
    unsigned char *written, *run; /* two views of CODE_BYTES of code; NULL: there is none yet */
    size_t code_used;
    struct arena arena;
};

/* libxsmm's own names for LIBXSMM_TARGET. */
static const struct target_row {
    const char *name;
    int target;
} target_rows[] = {
    {"generic", LIBXSMM_X86_GENERIC}, {"none", LIBXSMM_X86_GENERIC},
    {"0", LIBXSMM_X86_GENERIC},       {"sse", LIBXSMM_X86_SSE3},
    {"sse3", LIBXSMM_X86_SSE3},       {"wsm", LIBXSMM_X86_SSE4},
    {"sse4", LIBXSMM_X86_SSE4},       {"snb", LIBXSMM_X86_AVX},
    {"avx", LIBXSMM_X86_AVX},         {"hsw", LIBXSMM_X86_AVX2},
    {"avx2", LIBXSMM_X86_AVX2},       {"skx", LIBXSMM_X86_AVX512_CORE},
    {"clx", LIBXSMM_X86_AVX512_CLX},  {"cpx", LIBXSMM_X86_AVX512_CPX},
};

#if defined(__x86_64__) && defined(__GNUC__)
static bool has_fma(void)
{
    return __builtin_cpu_supports("fma");
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && has_fma();
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl");
}

/* What the processor has. libxsmm_cpuid tells the same, but asks the processor anew, and under a
 * hypervisor each question is a trap. */
static int best_target(void)
{
    if (has_avx512() && __builtin_cpu_supports("avx512vnni"))
        return __builtin_cpu_supports("avx512bf16") ? LIBXSMM_X86_AVX512_CPX
                                                    : LIBXSMM_X86_AVX512_CLX;
    if (has_avx512())
        return LIBXSMM_X86_AVX512_CORE;
    if (has_avx2())
        return LIBXSMM_X86_AVX2;
    if (__builtin_cpu_supports("avx"))
        return LIBXSMM_X86_AVX;
    if (__builtin_cpu_supports("sse4.2"))
        return LIBXSMM_X86_SSE4;
    return __builtin_cpu_supports("sse3") ? LIBXSMM_X86_SSE3 : LIBXSMM_X86_GENERIC;
}
#else
static bool has_fma(void)
{
    return true; /* or the C library knows better */
}

static int best_target(void)
{
    return LIBXSMM_X86_GENERIC;
}
#endif

/* The same, or less where LIBXSMM_TARGET asks for less. */
static int choose_target(void)
{
    int target = best_target();
    const char *wish = getenv("LIBXSMM_TARGET");
    for (size_t i = 0; wish && i < sizeof target_rows / sizeof *target_rows; i++)
        if (strcasecmp(wish, target_rows[i].name) == 0 && target_rows[i].target < target)
            target = target_rows[i].target;
    return target;
}

/* Two views of the same pages: code is written through one and run through the other, so that no
 * page is ever writable where it is executable. Without both, plain C does the work. */
static void map_code(struct kernels *kernels)
{
    int descriptor = memfd_create("attn-kernels", MFD_CLOEXEC);
    if (descriptor < 0)
        return;
    if (ftruncate(descriptor, CODE_BYTES) == 0) {
        int shared = MAP_SHARED;
        void *written = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, shared, descriptor, 0);
        void *run = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, shared, descriptor, 0);
        kernels->written = written == MAP_FAILED ? NULL : written;
        kernels->run = run == MAP_FAILED ? NULL : run;
    }
    close(descriptor);
}

/* Is there room for code? It is mapped at the first use. */
static bool can_write(struct kernels *kernels)
{
    if (kernels->target < LIBXSMM_X86_AVX2)
        return false;
    if (!kernels->written && !kernels->run)
        map_code(kernels);
    if (!kernels->written || !kernels->run)
        kernels->target = LIBXSMM_X86_GENERIC;
    return kernels->target != LIBXSMM_X86_GENERIC;
}

int kernels_open(struct kernels **kernels, struct err *err)
{
    struct kernels *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    opened->target = choose_target();
    opened->soft = !has_fma() || (opened->target > LIBXSMM_X86_GENERIC && /* … and older */
                                  opened->target < LIBXSMM_X86_AVX2);
    opened->entries = arena_room(&opened->arena, KERNELS_MAX, sizeof *opened->entries, err);
    if (!opened->entries || hash_index_init(&opened->index, KERNELS_MAX, &opened->arena, err)) {
        kernels_free(opened);
        return -1;
    }
    *kernels = opened;
    return 0;
}

void kernels_free(struct kernels *kernels)
{
    if (!kernels)
        return;
    if (kernels->written)
        munmap(kernels->written, CODE_BYTES);
    if (kernels->run)
        munmap(kernels->run, CODE_BYTES);
    arena_release(&kernels->arena);
    heap_free(kernels);
}

void kernels_write_all(struct kernels *kernels)
{
    kernels->all_code = true;
}

const char *kernels_target(struct kernels *kernels)
{
    if (!can_write(kernels))
        return "c";
    if (kernels->target >= LIBXSMM_X86_AVX512)
        return "avx512";
    return "avx2";
}

bool kernels_have_bf16(struct kernels *kernels)
{
    return kernels->target >= LIBXSMM_X86_AVX512_CPX && can_write(kernels);
}

const char *kernels_library(void)
{
    return "libxsmm " LIBXSMM_CONFIG_VERSION;
}

void kernels_begin(struct kernels *kernels)
{
    bool room = kernels->count + KERNELS_AT_ONCE <= KERNELS_MAX &&
                kernels->code_used + KERNELS_AT_ONCE * KERNEL_CODE_MAX <= CODE_BYTES;
    if (room)
        return;
    memset(kernels->index.slots, 0, (kernels->index.mask + 1) * sizeof *kernels->index.slots);
    kernels->count = 0;
    kernels->code_used = 0;
}

_Static_assert(sizeof(struct kernel_shape) == 9 * sizeof(int), "a shape's bytes are its numbers");

/* The entry of a shape, which is new and without code the first time. */
static struct entry *entry_of(struct kernels *kernels, const struct kernel_shape *shape)
{
    uint32_t number = 0;
    struct hash_probe probe =
        hash_probe(&kernels->index, hash_bytes((const char *)shape, sizeof *shape));
    while (hash_next(&probe, &number))
        if (memcmp(&kernels->entries[number].kernel.shape, shape, sizeof *shape) == 0)
            return &kernels->entries[number];
    assert(kernels->count < KERNELS_MAX);
    number = (uint32_t)kernels->count++;
    hash_put(&probe, number);
    kernels->entries[number] = (struct entry){.kernel = {*shape, NULL, kernels->soft}};
    return &kernels->entries[number];
}

static const libxsmm_gemm_descriptor *describe(libxsmm_descriptor_blob *blob,
                                               const struct kernel_shape *shape)
{
    float beta = shape->accumulate ? 1.0f : 0.0f;
    int prefetch = shape->prefetch ? LIBXSMM_GEMM_PREFETCH_AL2 : LIBXSMM_GEMM_PREFETCH_NONE;
    if (shape->pairs) /* counted in numbers, but for the rows of A */
        return libxsmm_bsgemm_descriptor_init(blob, shape->m, shape->n, 2 * shape->k,
                                              shape->a_stride, 2 * shape->b_stride, shape->c_stride,
                                              1.0f, beta, LIBXSMM_GEMM_FLAG_VNNI_A, prefetch);
    return libxsmm_sgemm_descriptor_init(blob, shape->m, shape->n, shape->k, shape->a_stride,
                                         shape->b_stride, shape->c_stride, 1.0f, beta,
                                         LIBXSMM_GEMM_FLAG_NONE, prefetch);
}

/* Let libxsmm write the kernel's code at `room`; returns its size, 0 when it declines. */
static size_t write_code(unsigned char *room, int target, const struct kernel_shape *shape)
{
    libxsmm_descriptor_blob blob;
    const libxsmm_gemm_descriptor *descriptor = describe(&blob, shape);
    if (!descriptor)
        return 0;
    libxsmm_generated_code generated = {
        .generated_code = room,
        .buffer_size = KERNEL_CODE_MAX,
        .code_type = 2, /* machine code */
        .arch = (unsigned)target,
    };
    libxsmm_generator_gemm_kernel(&generated, descriptor);
    return generated.last_error ? 0 : generated.code_size;
}

/* Where the work falls into pieces of one vector and fewer than 12 rows, libxsmm 1.17 splits each
 * sum into several chains with AVX-512: other bits. Few rows are such pieces; so is what more than
 * 64 columns leave over, because the rows are cut for the 64 then. */
static bool splits_sums(const struct kernel_shape *shape)
{
    int rest = shape->m % WIDTH_MAX;
    bool narrow_rest = shape->m > WIDTH_MAX && rest > 0 && rest <= VECTOR;
    bool narrow = shape->m <= VECTOR || !shape->pairs;
    return (shape->n < ROWS_OF_ONE_CHAIN && narrow) || narrow_rest;
}

/* The code of a new kernel, or NULL: plain C must do. */
static void *generate(struct kernels *kernels, const struct kernel_shape *shape)
{
    int target = kernels->target;
    if (!can_write(kernels))
        return NULL;
    if (shape->pairs && (!kernels_have_bf16(kernels) || splits_sums(shape)))
        return NULL;
    if (target >= LIBXSMM_X86_AVX512 && splits_sums(shape))
        target = LIBXSMM_X86_AVX2;
    size_t at = kernels->code_used;
    size_t size = write_code(kernels->written + at, target, shape);
    kernels->code_used += (size + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
    return size ? kernels->run + at : NULL;
}

void kernels_get(struct kernels *kernels, struct kernel *kernel, const struct kernel_shape *shape,
                 double work)
{
    struct entry *entry = entry_of(kernels, shape);
    entry->work += work;
    bool worth = kernels->all_code || entry->work >= WORK_FOR_CODE || shape->pairs; /* C is slow */
    if (!entry->settled && worth) {
        void *code = generate(kernels, shape);
        memcpy(&entry->kernel.code, &code, sizeof code); /* ISO C has no cast from data to code */
        entry->settled = true;
    }
    *kernel = entry->kernel;
}

void kernel_call(const struct kernel *kernel, const void *a, const void *b, float *c,
                 const void *next_a)
{
    if (kernel->code)
        kernel->code(a, b, c, next_a, b, c);
    else
        kernel_call_plain(kernel, a, b, c);
}
