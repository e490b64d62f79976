/* rounded_input.c: what is multiplied with a weight in bf16 is rounded, too. */
#include "math/gemm.h"

#include <assert.h>

#include "math/bf16.h"
#include "math/machine.h"
#include "math/pool.h"

enum { ROUNDED_ROWS = 16 }; /* of x, by one thread at a time */

/* x rounded, as rows of pairs. */
struct rounding {
    struct matrix x;
    uint32_t *pairs;
    size_t stride;
};

static size_t stride_of_input(size_t columns)
{
    return matrix_stride(bf16_pairs(columns));
}

size_t pairs_of_input(size_t rows, size_t columns)
{
    return rows * stride_of_input(columns);
}

static void round_rows(void *context, size_t round, size_t thread)
{
    const struct rounding *r = context;
    size_t first = round * ROUNDED_ROWS;
    (void)thread;
    for (size_t row = first; row < r->x.rows && row < first + ROUNDED_ROWS; row++)
        bf16_pair_row(r->pairs + row * r->stride, r->x.data + row * r->x.stride, r->x.columns);
}

struct matrix round_input(struct machine *machine, struct matrix x)
{
    struct rounding rounding = {x, machine->pairs, stride_of_input(x.columns)};
    struct loop loop = {
        .rounds = (x.rows + ROUNDED_ROWS - 1) / ROUNDED_ROWS,
        .work = (double)x.rows * (double)x.columns,
        .round = round_rows,
    };
    assert(pairs_of_input(x.rows, x.columns) <= machine->pairs_held);
    pool_run(machine->pool, loop, &rounding);
    return (struct matrix){(float *)machine->pairs, x.rows, bf16_pairs(x.columns), rounding.stride};
}
