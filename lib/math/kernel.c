#include "math/kernel.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/memory.h"

#ifdef GENERATES
#include <libxsmm_generator.h>
#include <libxsmm_cpuid.h>
#include <libxsmm_version.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

enum {
    KERNELS_MAX = 512,
    WORK_FOR_CODE = 2 * 1024 * 1024, /* number of multiply-adds from which on it pays to generate
                                      * code */
    CODE_BYTES = 8 * 1024 * 1024,
    KERNEL_CODE_MAX = 64 * 1024, /* maximum size in bytes of one kernel's code; the largest one seen
                                  * has 12 KiB */
    CODE_ALIGN = 64,
    VECTOR = 16,            /* floats of an AVX-512 register */
    WIDTH_MAX = 4 * VECTOR, /* columns that libxsmm computes at a time */
    ROWS_OF_ONE_CHAIN = 12,
};

/* --- instruction sets ------------------------------------------------------------------------- */

/* The names of instruction sets that libxsmm accepts in LIBXSMM_TARGET. */
static const struct target_row {
    const char *name;
    enum kernel_target target;
} target_rows[] = {
    {"generic", TARGET_C},  {"none", TARGET_C},   {"0", TARGET_C},       {"sse", TARGET_OLD},
    {"sse3", TARGET_OLD},   {"wsm", TARGET_OLD},  {"sse4", TARGET_OLD},  {"snb", TARGET_OLD},
    {"avx", TARGET_OLD},    {"hsw", TARGET_AVX2}, {"avx2", TARGET_AVX2}, {"skx", TARGET_AVX512},
    {"clx", TARGET_AVX512}, {"cpx", TARGET_BF16}, {"spr", TARGET_TILES},
};

#if defined(__x86_64__) && defined(__GNUC__)
static bool has_fma(void)
{
    return __builtin_cpu_supports("fma");
}

/* This processor's instruction set. libxsmm_cpuid would execute the cpuid instruction each time,
 * which is slow under a hypervisor. */
static enum kernel_target target_of_processor(void)
{
    bool tiles = false;
#ifndef __clang__ /* clang 14 does not know the name amx-bf16 */
    tiles = __builtin_cpu_supports("amx-bf16");
#endif
    if (!__builtin_cpu_supports("avx2") || !has_fma())
        return TARGET_OLD;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512cd") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl"))
        return TARGET_AVX2;
    if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512bf16"))
        return TARGET_AVX512;
    return tiles ? TARGET_TILES : TARGET_BF16;
}

static bool runs(enum vector_form form)
{
    return form == VECTORS_AVX512 ? __builtin_cpu_supports("avx512f")
                                  : __builtin_cpu_supports("avx2") && has_fma();
}

static struct cpu_tuning tuning_of_maker(void)
{
    if (__builtin_cpu_is("amd"))
        return (struct cpu_tuning){.reads_in_order = true, .rows_in_order = runs(VECTORS_AVX512)};
    return (struct cpu_tuning){.slow_dots = true, .stalls_on_bursts = true}; /* Intel and others */
}
#else
static bool has_fma(void)
{
    return true; /* without the instruction, fmaf computes the same bits */
}

static enum kernel_target target_of_processor(void)
{
#ifdef __ARM_NEON
    return TARGET_NEON;
#else
    return TARGET_C;
#endif
}

static bool runs(enum vector_form form)
{
    return form == VECTORS_NEON;
}

static struct cpu_tuning tuning_of_maker(void)
{
    return (struct cpu_tuning){.slow_dots = true};
}
#endif

static const struct cpu_tuning *pretended; /* properties set by a test; NULL: the processor's own
                                            * properties */

struct cpu_tuning cpu_tuning(void)
{
    return pretended ? *pretended : tuning_of_maker();
}

void cpu_tuning_pretend(const struct cpu_tuning *tuning)
{
    pretended = tuning;
}

enum kernel_target target_choose(void)
{
    enum kernel_target target = target_of_processor();
    const char *wish = getenv("LIBXSMM_TARGET");
    for (size_t i = 0; wish && i < sizeof target_rows / sizeof *target_rows; i++)
        if (strcasecmp(wish, target_rows[i].name) == 0 && target_rows[i].target <= target)
            return target_rows[i].target;
    return target == TARGET_BF16 && cpu_tuning().slow_dots ? TARGET_AVX512 : target;
}

const struct vector_loops *vectors_find(enum vector_form form)
{
    static const struct vector_loops *const forms[] = {&vectors_avx512, &vectors_avx2,
                                                       &vectors_neon};
    return forms[form]->floats && runs(form) ? forms[form] : NULL;
}

const struct vector_loops *vectors_best(void)
{
    const struct vector_loops *best = NULL;
    for (int form = 0; form < VECTOR_FORMS && !best; form++)
        best = vectors_find((enum vector_form)form);
    return best;
}

/* --- the table -------------------------------------------------------------------------------- */

struct kernel_entry {
    struct kernel kernel;
    double work;  /* multiply-adds for which the kernel was fetched so far */
    bool settled; /* the code of the kernel was generated, or never will be */
};

struct kernels {
    enum kernel_target target;
    enum kernel_target code_target; /* equal to `target`, or TARGET_C after memory for code could
                                     * not be mapped */
    unsigned char *write, *run;     /* two mappings of the memory for code; NULL: it is
                                     * not mapped */
    size_t code_bytes;
    kernel_body *floats; /* the kernel in C for products of floats */
    enum pair_way way;
    bool way_chosen;
    bool all_code; /* true: code is generated even for kernels with little work */
    struct hash_index index;
    struct kernel_entry *entries; /* [count] in use, with room for KERNELS_MAX */
    size_t count;
    struct arena arena;
};

/* --- machine code ----------------------------------------------------------------------------- */

#ifdef GENERATES

/* Code is written through one mapping and executed through the other: neither is both writable and
 * executable. */
static void map_code(struct kernels *kernels)
{
    int descriptor = memfd_create("attn-kernels", MFD_CLOEXEC);
    if (descriptor < 0)
        return;
    if (ftruncate(descriptor, CODE_BYTES) == 0) {
        int shared = MAP_SHARED;
        void *write = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, shared, descriptor, 0);
        void *run = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, shared, descriptor, 0);
        kernels->write = write == MAP_FAILED ? NULL : write;
        kernels->run = run == MAP_FAILED ? NULL : run;
    }
    close(descriptor);
}

static void unmap_code(struct kernels *kernels)
{
    if (kernels->write)
        munmap(kernels->write, CODE_BYTES);
    if (kernels->run)
        munmap(kernels->run, CODE_BYTES);
}

static const libxsmm_gemm_descriptor *describe(libxsmm_descriptor_blob *blob,
                                               const struct kernel_shape *shape)
{
    float beta = shape->accumulate ? 1.0f : 0.0f;
    int prefetch = shape->prefetch ? LIBXSMM_GEMM_PREFETCH_AL2 : LIBXSMM_GEMM_PREFETCH_NONE;
    if (shape->pairs) /* libxsmm counts pairs in the stride of A, but numbers in k and in the stride
                       * of B */
        return libxsmm_bsgemm_descriptor_init(blob, shape->m, shape->n, 2 * shape->k,
                                              shape->a_stride, 2 * shape->b_stride, shape->c_stride,
                                              1.0f, beta, LIBXSMM_GEMM_FLAG_VNNI_A, prefetch);
    return libxsmm_sgemm_descriptor_init(blob, shape->m, shape->n, shape->k, shape->a_stride,
                                         shape->b_stride, shape->c_stride, 1.0f, beta,
                                         LIBXSMM_GEMM_FLAG_NONE, prefetch);
}

/* Return libxsmm's id of an instruction set whose code computes each sum in one chain. With
 * AVX-512, libxsmm 1.17 splits a sum into several chains in blocks of one vector and fewer than 12
 * rows, which changes the bits. Such blocks occur with few rows, and in the last columns if there
 * are more than 64, because libxsmm chooses the rows of a block for 64 columns. Sums of pairs,
 * which have 64 columns, are never split. */
static unsigned instructions_for(enum kernel_target target, const struct kernel_shape *shape)
{
    int rest = shape->m % WIDTH_MAX;
    bool narrow_rest = shape->m > WIDTH_MAX && rest > 0 && rest <= VECTOR;
    bool splits_sums = shape->n < ROWS_OF_ONE_CHAIN || narrow_rest;
    if (shape->pairs)
        return LIBXSMM_X86_AVX512_CPX;
    return target >= TARGET_AVX512 && !splits_sums ? LIBXSMM_X86_AVX512_CORE : LIBXSMM_X86_AVX2;
}

/* Generate the code of a shape; return NULL if libxsmm has no code for it. */
static kernel_code *generate(struct kernels *kernels, const struct kernel_shape *shape)
{
    libxsmm_descriptor_blob blob;
    libxsmm_generated_code generated = {
        .generated_code = kernels->write + kernels->code_bytes,
        .buffer_size = KERNEL_CODE_MAX,
        .code_type = 2, /* 2: generate machine code, not assembly */
        .arch = instructions_for(kernels->code_target, shape),
    };
    const libxsmm_gemm_descriptor *descriptor = describe(&blob, shape);
    void *run = kernels->run + kernels->code_bytes;
    kernel_code *code = NULL;
    if (!descriptor)
        return NULL;
    libxsmm_generator_gemm_kernel(&generated, descriptor);
    if (generated.last_error || generated.code_size == 0)
        return NULL;
    kernels->code_bytes += (generated.code_size + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
    memcpy(&code, &run, sizeof code); /* ISO C has no cast from data to code */
    return code;
}

const char *kernels_library(void)
{
    return "libxsmm " LIBXSMM_CONFIG_VERSION;
}
#else
static void map_code(struct kernels *kernels)
{
    (void)kernels;
}

static void unmap_code(struct kernels *kernels)
{
    (void)kernels;
}

static kernel_code *generate(struct kernels *kernels, const struct kernel_shape *shape)
{
    (void)kernels, (void)shape;
    return NULL;
}

const char *kernels_library(void)
{
    return NULL;
}
#endif

static bool can_generate(struct kernels *kernels)
{
    if (kernels->code_target < TARGET_AVX2)
        return false;
    if (!kernels->write && !kernels->run)
        map_code(kernels);
    if (!kernels->write || !kernels->run)
        kernels->code_target = TARGET_C;
    return kernels->code_target != TARGET_C;
}

const char *kernels_target(struct kernels *kernels)
{
    if (!can_generate(kernels))
        return kernels->target == TARGET_NEON ? "neon" : "c";
    return kernels->code_target >= TARGET_AVX512 ? "avx512" : "avx2";
}

/* --- opening ---------------------------------------------------------------------------------- */

int kernels_open(struct kernels **kernels, struct err *err)
{
    struct kernels *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    opened->target = opened->code_target = target_choose();
    opened->floats = !has_fma() || opened->target == TARGET_OLD ? floats_softly
                     : opened->target == TARGET_NEON            ? vectors_neon.floats
                                                                : floats_plain;
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
    unmap_code(kernels);
    arena_release(&kernels->arena);
    heap_free(kernels);
}

void kernels_write_all(struct kernels *kernels)
{
    kernels->all_code = true;
}

void kernels_begin(struct kernels *kernels)
{
    if (kernels->count + KERNELS_AT_ONCE <= KERNELS_MAX &&
        kernels->code_bytes + (size_t)KERNELS_AT_ONCE * KERNEL_CODE_MAX <= CODE_BYTES)
        return;
    memset(kernels->index.slots, 0, (kernels->index.mask + 1) * sizeof *kernels->index.slots);
    kernels->count = 0;
    kernels->code_bytes = 0;
}

/* --- choosing --------------------------------------------------------------------------------- */

enum pair_way kernels_pair_way(struct kernels *kernels)
{
    if (kernels->way_chosen)
        return kernels->way;
    kernels->way_chosen = true;
    if (kernels->target >= TARGET_TILES && tiles_ask())
        kernels->way = PAIRS_BY_TILES;
    else if (kernels->target == TARGET_BF16 && can_generate(kernels))
        kernels->way = PAIRS_BY_DOT;
    return kernels->way;
}

const char *pair_way_name(enum pair_way way)
{
    static const char *const names[PAIR_WAYS] = {"float32", "vdpbf16ps", "amx"};
    return names[way];
}

/* The kernel in C that multiplies panels faster than libxsmm's code, which prefetches the next
 * panel all at once or, with AVX2, not at all; NULL: none is faster. */
static kernel_body *body_of_panels(const struct kernels *kernels)
{
    if (kernels->target >= TARGET_AVX512)
        return cpu_tuning().stalls_on_bursts ? vectors_avx512.floats : NULL;
    return kernels->target == TARGET_AVX2 ? vectors_avx2.floats : NULL;
}

bool kernels_prefetch_evenly(const struct kernels *kernels)
{
    return body_of_panels(kernels) != NULL;
}

bool kernels_read_in_order(const struct kernels *kernels)
{
    return kernels->target >= TARGET_AVX2 && cpu_tuning().reads_in_order;
}

static kernel_body *find_body(const struct kernels *kernels, const struct kernel_shape *shape)
{
    bool panel = !shape->pairs && shape->m % PANEL_FLOATS == 0 && shape->a_stride == shape->m;
    kernel_body *panels = panel ? body_of_panels(kernels) : NULL;
    if (shape->pairs)
        return tiles_amx;
    if (shape->panels)
        return kernels->target >= TARGET_AVX512 ? vectors_avx512.floats : vectors_avx2.floats;
    return panels ? panels : kernels->floats;
}

_Static_assert(sizeof(struct kernel_shape) == 10 * sizeof(int), "a shape's bytes are its numbers");

/* Find the entry of a shape in the table; the first time, make an entry without code. */
static struct kernel_entry *entry_of(struct kernels *kernels, const struct kernel_shape *shape)
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
    kernels->entries[number] =
        (struct kernel_entry){.kernel = {*shape, NULL, find_body(kernels, shape)}};
    return &kernels->entries[number];
}

void kernels_get(struct kernels *kernels, struct kernel *kernel, const struct kernel_shape *shape,
                 double work)
{
    bool tiles = shape->pairs && kernels_pair_way(kernels) == PAIRS_BY_TILES;
    struct kernel_entry *entry = entry_of(kernels, shape);
    entry->work += work;
    if (tiles || shape->panels || entry->kernel.body == body_of_panels(kernels))
        entry->settled = true;
    bool worth = shape->pairs || kernels->all_code || entry->work >= WORK_FOR_CODE;
    if (!entry->settled && worth) {
        entry->kernel.code = can_generate(kernels) ? generate(kernels, shape) : NULL;
        entry->settled = true;
    }
    assert(!shape->pairs || tiles || entry->kernel.code); /* for products of pairs, libxsmm always
                                                           * has code */
    *kernel = entry->kernel;
}

void kernel_call(const struct kernel *kernel, const void *a, const void *b, float *c,
                 const void *next_a)
{
    if (kernel->code)
        kernel->code(a, b, c, next_a, b, c);
    else
        kernel->body(&kernel->shape, a, b, c, next_a);
}
