#include "math/weight.h"

#include <stdbool.h>

#include "math/panels.h"

struct weight weight_columns(const struct weight *whole, size_t first, size_t count)
{
    struct weight part = *whole;
    bool whole_panels = whole->panels && first % PANEL_COLUMNS == 0;
    part.panels = whole_panels ? whole->panels + first * whole->in : NULL;
    part.data += first;
    part.bias = whole->bias ? whole->bias + first : NULL;
    part.out = count;
    return part;
}
