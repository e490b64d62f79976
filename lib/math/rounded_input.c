/* rounded_input.c: what is multiplied with a weight in bf16 is rounded, too. */
#include "math/gemm.h"

#include <assert.h>

#include "base/num.h"
#include "math/bf16.h"
#include "math/machine.h"
#include "math/pool.h"

enum {
    ROUNDED_ROWS = 16, /* of x, by one thread at a time */
};

/* x rounded, as rows of pairs, or of floats. */
struct rounding {
    struct matrix x;
    uint32_t *pairs;
    float *floats;
    size_t stride;
};

bool input_widens(const struct machine *machine)
{
    return kernels_pair_way(machine->kernels) == PAIRS_BY_FMA;
}

static size_t stride_of_input(bool widens, size_t columns)
{
    return matrix_stride(widens ? 2 * bf16_pairs(columns) : bf16_pairs(columns));
}

size_t pairs_of_input(const struct machine *machine, size_t rows, size_t columns)
{
    return rows * stride_of_input(input_widens(machine), columns);
}

static void round_rows(void *context, size_t round, size_t thread)
{
    const struct rounding *r = context;
    size_t first = round * ROUNDED_ROWS;
    (void)thread;
    struct matrix x = matrix_rows(r->x, first, num_min(r->x.rows - first, ROUNDED_ROWS));
    if (r->floats) {
        bf16_round_rows(r->floats + first * r->stride, r->stride, x);
        return;
    }
    for (size_t row = 0; row < x.rows; row++)
        bf16_pair_row(r->pairs + (first + row) * r->stride, x.data + row * x.stride, x.columns);
}

struct matrix round_input(struct machine *machine, struct matrix x)
{
    bool widens = input_widens(machine);
    float *floats = (float *)machine->pairs;
    struct rounding rounding = {
        .x = x,
        .pairs = machine->pairs,
        .floats = widens ? floats : NULL,
        .stride = stride_of_input(widens, x.columns),
    };
    struct loop loop = {
        .rounds = (x.rows + ROUNDED_ROWS - 1) / ROUNDED_ROWS,
        .work = (double)x.rows * (double)x.columns,
        .round = round_rows,
    };
    size_t columns = widens ? 2 * bf16_pairs(x.columns) : bf16_pairs(x.columns);
    assert(pairs_of_input(machine, x.rows, x.columns) <= machine->pairs_held);
    pool_run(machine->pool, loop, &rounding);
    return (struct matrix){floats, x.rows, columns, rounding.stride};
}
