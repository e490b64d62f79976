#include "math/kernel.h"

#include <assert.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/heap.h"
#include "math/generator.h"
#include "math/kernel_body.h"
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
    enum target target;
    kernel_body *floats; /* where there is no code */
    enum pair_way way;
    bool way_chosen;
    bool all_code; /* for little work, too */
    struct hash_index index;
    struct entry *entries; /* [count], with room for KERNELS_MAX */
    size_t count;
    struct arena arena;
};

static kernel_body *body_of_floats(enum target target)
{
    if (!target_fuses() || target == TARGET_OLD)
        return floats_softly;
    return target == TARGET_NEON ? floats_neon : floats_plain;
}

int kernels_open(struct kernels **kernels, struct err *err)
{
    struct kernels *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    opened->target = target_choose();
    opened->generator.target = opened->target;
    opened->floats = body_of_floats(opened->target);
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
        return kernels->target == TARGET_NEON ? "neon" : "c";
    return kernels->generator.target >= TARGET_AVX512 ? "avx512" : "avx2";
}

/* --- pairs ------------------------------------------------------------------------------------ */

static enum pair_way choose_way(struct kernels *kernels)
{
    if (kernels->target >= TARGET_TILES && tiles_ask())
        return PAIRS_BY_TILES;
    bool dots = kernels->target == TARGET_BF16 && generator_can_write(&kernels->generator);
    return dots ? PAIRS_BY_DOT : PAIRS_NONE;
}

enum pair_way kernels_pair_way(struct kernels *kernels)
{
    if (!kernels->way_chosen)
        kernels->way = choose_way(kernels);
    kernels->way_chosen = true;
    return kernels->way;
}

const char *pair_way_name(enum pair_way way)
{
    static const char *const names[PAIR_WAYS] = {
        [PAIRS_NONE] = "float32",
        [PAIRS_BY_DOT] = "vdpbf16ps",
        [PAIRS_BY_TILES] = "amx",
    };
    return names[way];
}

/* --- the table -------------------------------------------------------------------------------- */

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

_Static_assert(sizeof(struct kernel_shape) == 10 * sizeof(int), "a shape's bytes are its numbers");

/* C that multiplies panels faster than libxsmm's code, which asks for the next one all at once, or,
 * with AVX2, not at all; NULL: it is slower. */
static kernel_body *body_of_panels(const struct kernels *kernels)
{
    if (kernels->target >= TARGET_AVX512)
        return target_habits().stalls_on_bursts ? floats_avx512 : NULL;
    return kernels->target == TARGET_AVX2 ? floats_avx2 : NULL;
}

static bool is_panel(const struct kernel_shape *shape)
{
    return !shape->pairs && shape->m % PANEL_FLOATS == 0 && shape->a_stride == shape->m;
}

bool kernels_prefetch_evenly(const struct kernels *kernels)
{
    return body_of_panels(kernels) != NULL;
}

bool kernels_read_in_order(const struct kernels *kernels)
{
    return kernels->target >= TARGET_AVX2 && target_habits().reads_in_order;
}

/* C that computes a shape. */
static kernel_body *find_body(const struct kernels *kernels, const struct kernel_shape *shape)
{
    if (shape->pairs)
        return tiles_amx;
    if (shape->panels)
        return kernels->target >= TARGET_AVX512 ? floats_avx512 : floats_avx2;
    kernel_body *panels = is_panel(shape) ? body_of_panels(kernels) : NULL;
    return panels ? panels : kernels->floats;
}

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
    kernels->entries[number] = (struct entry){.kernel = {*shape, NULL, find_body(kernels, shape)}};
    return &kernels->entries[number];
}

void kernels_get(struct kernels *kernels, struct kernel *kernel, const struct kernel_shape *shape,
                 double work)
{
    bool tiles = shape->pairs && kernels_pair_way(kernels) == PAIRS_BY_TILES;
    struct entry *entry = entry_of(kernels, shape);
    entry->work += work;
    if (tiles || shape->panels || entry->kernel.body == body_of_panels(kernels))
        entry->settled = true;
    bool worth = shape->pairs || kernels->all_code || entry->work >= WORK_FOR_CODE;
    if (!entry->settled && worth) {
        if (generator_can_write(&kernels->generator))
            entry->kernel.code = generator_write(&kernels->generator, shape);
        entry->settled = true;
    }
    assert(!shape->pairs || tiles || entry->kernel.code); /* libxsmm has one for every such shape */
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
