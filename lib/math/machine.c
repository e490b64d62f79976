#include "math/machine.h"

#include "base/heap.h"
#include "math/panels.h"

static int take_panels(struct machine *machine, size_t threads, struct err *err)
{
    size_t size = (size_t)PANEL_ROWS * COPY_COLUMNS;
    machine->panels = arena_alloc(&machine->arena, threads, sizeof *machine->panels, err);
    if (!machine->panels)
        return -1;
    for (size_t t = 0; t < threads; t++) {
        machine->panels[t] = arena_alloc(&machine->arena, size, sizeof(float), err);
        if (!machine->panels[t])
            return -1;
    }
    return 0;
}

int machine_open(struct machine *machine, size_t threads, struct err *err)
{
    *machine = (struct machine){0};
    threads = threads ? threads : pool_processors();
    if (pool_open(&machine->pool, threads, err) || kernels_open(&machine->kernels, err) ||
        take_panels(machine, threads, err)) {
        machine_release(machine);
        return -1;
    }
    return 0;
}

void machine_release(struct machine *machine)
{
    pool_free(machine->pool);
    kernels_free(machine->kernels);
    heap_free(machine->pairs);
    arena_release(&machine->arena);
    *machine = (struct machine){0};
}

int machine_hold_pairs(struct machine *machine, size_t count, struct err *err)
{
    if (count <= machine->pairs_held)
        return 0;
    uint32_t *pairs = heap_alloc(count, sizeof *pairs, err);
    if (!pairs)
        return -1;
    heap_free(machine->pairs);
    machine->pairs = pairs;
    machine->pairs_held = count;
    return 0;
}
