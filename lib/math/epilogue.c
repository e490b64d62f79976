#include "math/epilogue.h"

#include <assert.h>

#include "math/isa.h"
#include "math/rows.h"

enum { USUAL_COLUMNS = 32 }; /* with a number that is known, the loop has no rest */

static inline void add_row(float *restrict to, const float *restrict sums,
                           const float *restrict bias, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += sums[i] + bias[i];
}

/* total += sums + bias. It reads sums again rather than y, which may be far from the processor. */
FOR_EACH_ISA
static void add_with_bias(struct matrix total, struct matrix sums, const float *bias)
{
    for (size_t row = 0; row < sums.rows; row++) {
        if (sums.columns == USUAL_COLUMNS)
            add_row(total.data, sums.data, bias, USUAL_COLUMNS);
        else
            add_row(total.data, sums.data, bias, sums.columns);
        total.data += total.stride;
        sums.data += sums.stride;
    }
}

static struct matrix tile_of(struct matrix whole, struct matrix sums, struct corner at)
{
    return matrix_columns(matrix_rows(whole, at.row, sums.rows), at.column, sums.columns);
}

void epilogue_apply(const struct epilogue *epilogue, struct matrix sums, struct corner at)
{
    const float *bias = epilogue->bias ? epilogue->bias + at.column : NULL;
    assert(!epilogue->total.data || epilogue->activation == ACTIVATION_NONE);
    if (epilogue->y.data)
        activate(tile_of(epilogue->y, sums, at), sums, bias, epilogue->activation);
    if (epilogue->total.data && bias)
        add_with_bias(tile_of(epilogue->total, sums, at), sums, bias);
    else if (epilogue->total.data)
        add_rows(tile_of(epilogue->total, sums, at), sums);
}
