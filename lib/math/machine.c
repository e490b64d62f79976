#include "math/machine.h"

int machine_open(struct machine *machine, size_t threads, struct err *err)
{
    *machine = (struct machine){0};
    if (pool_open(&machine->pool, threads ? threads : pool_processors(), err) ||
        kernels_open(&machine->kernels, err)) {
        machine_release(machine);
        return -1;
    }
    return 0;
}

void machine_release(struct machine *machine)
{
    pool_free(machine->pool);
    kernels_free(machine->kernels);
    *machine = (struct machine){0};
}
