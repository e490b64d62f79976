#include "math/machine.h"

#include "base/heap.h"
#include "base/num.h"
#include "math/tensor.h"

/* Room of so many floats for each thread. */
static float **take_rooms(struct machine *machine, size_t threads, size_t size, struct err *err)
{
    float **rooms = arena_alloc(&machine->arena, threads, sizeof *rooms, err);
    for (size_t t = 0; rooms && t < threads; t++) {
        rooms[t] = arena_alloc(&machine->arena, size, sizeof *rooms[t], err);
        if (!rooms[t])
            return NULL;
    }
    return rooms;
}

int machine_open(struct machine *machine, size_t threads, struct err *err)
{
    *machine = (struct machine){0};
    threads = threads ? threads : num_min(pool_processors(), POOL_THREADS_MAX);
    if (pool_open(&machine->pool, threads, err) || kernels_open(&machine->kernels, err))
        goto failed;
    machine->panels = take_rooms(machine, threads, SUMS_ROOM, err);
    machine->sums = machine->panels ? take_rooms(machine, threads, SUMS_ROOM, err) : NULL;
    machine->segments = machine->sums ? take_rooms(machine, threads, SUMS_ROOM, err) : NULL;
    if (machine->segments)
        return 0;
failed:
    machine_release(machine);
    return -1;
}

void machine_release(struct machine *machine)
{
    pool_free(machine->pool);
    kernels_free(machine->kernels);
    heap_free(machine->rounded);
    arena_release(&machine->arena);
    *machine = (struct machine){0};
}

int machine_hold_rounded(struct machine *machine, size_t rows, size_t columns, struct err *err)
{
    size_t size = rows * matrix_stride(columns);
    if (size <= machine->rounded_size)
        return 0;
    float *rounded = heap_alloc(size, sizeof *rounded, err);
    if (!rounded)
        return -1;
    heap_free(machine->rounded);
    machine->rounded = rounded;
    machine->rounded_size = size;
    return 0;
}
