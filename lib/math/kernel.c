#include "math/kernel.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/heap.h"
#include "math/generator.h"
#include "math/target.h"

enum {
    KERNELS_MAX = 512,
    WORK_FOR_CODE = 2 * 1024 * 1024, /* multiply-adds in which code saves what it takes to write */
};

struct entry {
    struct kernel kernel;
    double work;  /* multiply-adds that it was fetched for so far */
    bool settled; /* it has its code, or never will */
};

struct kernels {
    struct generator generator;
    bool soft;     /* there is no fused multiply-add */
    bool all_code; /* for little work, too */
    struct hash_index index;
    struct entry *entries; /* [count], with room for KERNELS_MAX */
    size_t count;
    struct arena arena;
};

int kernels_open(struct kernels **kernels, struct err *err)
{
    struct kernels *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    opened->generator.target = target_choose();
    opened->soft = !target_fuses() || opened->generator.target == TARGET_OLD;
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
    generator_release(&kernels->generator);
    arena_release(&kernels->arena);
    heap_free(kernels);
}

void kernels_write_all(struct kernels *kernels)
{
    kernels->all_code = true;
}

const char *kernels_target(struct kernels *kernels)
{
    if (!generator_can_write(&kernels->generator))
        return "c";
    return kernels->generator.target >= TARGET_AVX512 ? "avx512" : "avx2";
}

bool kernels_have_bf16(struct kernels *kernels)
{
    return generator_can_write(&kernels->generator) && kernels->generator.target >= TARGET_BF16;
}

const char *kernels_library(void)
{
    return generator_library();
}

void kernels_begin(struct kernels *kernels)
{
    if (kernels->count + KERNELS_AT_ONCE <= KERNELS_MAX &&
        generator_has_room(&kernels->generator, KERNELS_AT_ONCE))
        return;
    memset(kernels->index.slots, 0, (kernels->index.mask + 1) * sizeof *kernels->index.slots);
    kernels->count = 0;
    generator_forget(&kernels->generator);
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

void kernels_get(struct kernels *kernels, struct kernel *kernel, const struct kernel_shape *shape,
                 double work)
{
    struct entry *entry = entry_of(kernels, shape);
    entry->work += work;
    bool worth = kernels->all_code || entry->work >= WORK_FOR_CODE || shape->pairs; /* C is slow */
    if (!entry->settled && worth) {
        if (generator_can_write(&kernels->generator))
            entry->kernel.code = generator_write(&kernels->generator, shape);
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
