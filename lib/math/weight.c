#include "math/weight.h"

#include <assert.h>

#include "math/gemm_bf16.h"
#include "math/panels.h"

bool weight_can_slice(const struct weight *whole, size_t first)
{
    return !whole->pairs || first % PAIR_COLUMNS == 0;
}

struct weight weight_columns(const struct weight *whole, size_t first, size_t count)
{
    assert(weight_can_slice(whole, first));
    struct weight part = *whole;
    bool whole_panels = whole->panels && first % PANEL_COLUMNS == 0;
    part.panels = whole_panels ? whole->panels + first * whole->in : NULL;
    part.pairs = whole->pairs ? whole->pairs + first * ((whole->in + 1) / 2) : NULL;
    part.data = whole->data ? whole->data + first : NULL;
    part.bias = whole->bias ? whole->bias + first : NULL;
    part.out = count;
    return part;
}
