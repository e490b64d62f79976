#include "math/generator.h"

#ifdef GENERATES

#include <libxsmm_generator.h>
#include <libxsmm_cpuid.h>
#include <libxsmm_version.h>

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    CODE_BYTES = 8 * 1024 * 1024,
    KERNEL_CODE_MAX = 64 * 1024, /* one kernel; the largest seen has 12 KiB */
    CODE_ALIGN = 64,
    VECTOR = 16,            /* floats of an AVX-512 register */
    WIDTH_MAX = 4 * VECTOR, /* columns that libxsmm computes at a time */
    ROWS_OF_ONE_CHAIN = 12,
};

/* Two views of the same pages: code is written through one and run through the other, so that no
 * page is ever writable where it is executable. */
static void map_code(struct generator *generator)
{
    int descriptor = memfd_create("attn-kernels", MFD_CLOEXEC);
    if (descriptor < 0)
        return;
    if (ftruncate(descriptor, CODE_BYTES) == 0) {
        int shared = MAP_SHARED;
        void *written = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, shared, descriptor, 0);
        void *run = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, shared, descriptor, 0);
        generator->written = written == MAP_FAILED ? NULL : written;
        generator->run = run == MAP_FAILED ? NULL : run;
    }
    close(descriptor);
}

bool generator_can_write(struct generator *generator)
{
    if (generator->target < TARGET_AVX2)
        return false;
    if (!generator->written && !generator->run)
        map_code(generator);
    if (!generator->written || !generator->run)
        generator->target = TARGET_C;
    return generator->target != TARGET_C;
}

void generator_release(struct generator *generator)
{
    if (generator->written)
        munmap(generator->written, CODE_BYTES);
    if (generator->run)
        munmap(generator->run, CODE_BYTES);
    generator->written = generator->run = NULL;
}

bool generator_has_room(const struct generator *generator, size_t kernels)
{
    return generator->used + kernels * KERNEL_CODE_MAX <= CODE_BYTES;
}

void generator_forget(struct generator *generator)
{
    generator->used = 0;
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

/* Where the work falls into pieces of one vector and fewer than 12 rows, libxsmm 1.17 splits each
 * sum into several chains with AVX-512: other bits. Few rows are such pieces; so is what more than
 * 64 columns leave over, because the rows are cut for the 64 then. Of pairs there are 64 columns,
 * which it never splits. */
static bool splits_sums(const struct kernel_shape *shape)
{
    int rest = shape->m % WIDTH_MAX;
    bool narrow_rest = shape->m > WIDTH_MAX && rest > 0 && rest <= VECTOR;
    return shape->n < ROWS_OF_ONE_CHAIN || narrow_rest;
}

/* libxsmm's number of the instructions for a shape, by which each sum is one chain. */
static unsigned instructions_for(enum target target, const struct kernel_shape *shape)
{
    if (shape->pairs)
        return LIBXSMM_X86_AVX512_CPX;
    bool whole = target >= TARGET_AVX512 && !splits_sums(shape);
    return whole ? LIBXSMM_X86_AVX512_CORE : LIBXSMM_X86_AVX2;
}

kernel_code *generator_write(struct generator *generator, const struct kernel_shape *shape)
{
    libxsmm_descriptor_blob blob;
    libxsmm_generated_code generated = {
        .generated_code = generator->written + generator->used,
        .buffer_size = KERNEL_CODE_MAX,
        .code_type = 2, /* machine code */
        .arch = instructions_for(generator->target, shape),
    };
    const libxsmm_gemm_descriptor *descriptor = describe(&blob, shape);
    void *run = generator->run + generator->used;
    kernel_code *code = NULL;
    if (!descriptor)
        return NULL;
    libxsmm_generator_gemm_kernel(&generated, descriptor);
    if (generated.last_error || generated.code_size == 0)
        return NULL;
    generator->used += (generated.code_size + CODE_ALIGN - 1) / CODE_ALIGN * CODE_ALIGN;
    memcpy(&code, &run, sizeof code); /* ISO C has no cast from data to code */
    return code;
}

const char *generator_library(void)
{
    return "libxsmm " LIBXSMM_CONFIG_VERSION;
}

#else

bool generator_can_write(struct generator *generator)
{
    (void)generator;
    return false;
}

void generator_release(struct generator *generator)
{
    (void)generator;
}

bool generator_has_room(const struct generator *generator, size_t kernels)
{
    (void)generator, (void)kernels;
    return true;
}

void generator_forget(struct generator *generator)
{
    (void)generator;
}

kernel_code *generator_write(struct generator *generator, const struct kernel_shape *shape)
{
    (void)generator, (void)shape;
    return NULL;
}

const char *generator_library(void)
{
    return NULL;
}

#endif
