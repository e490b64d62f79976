#include "math/gather.h"

#include <math.h>
#include <string.h>

#include "math/isa.h"

enum { CHAINS = 8 }; /* a fused multiply-add takes four steps, and two begin in each */

FOR_EACH_ISA
static void dots_of_eight(float *restrict y, const float *restrict x,
                          const float *const rows[CHAINS], struct gather_form form)
{
    float sums[CHAINS] = {0};
    for (size_t i = 0; i < form.width; i++)
        for (size_t c = 0; c < CHAINS; c++)
            sums[c] = fmaf(x[i], rows[c][i * form.step], sums[c]);
    memcpy(y, sums, sizeof sums);
}

void gather_dots(float *y, const float *x, const float *const *rows, size_t count,
                 struct gather_form form)
{
    for (size_t first = 0; first < count; first += CHAINS) {
        const float *eight[CHAINS];
        float found[CHAINS];
        size_t rest = count - first < CHAINS ? count - first : CHAINS;
        for (size_t c = 0; c < CHAINS; c++) /* the last one also fills missing places */
            eight[c] = rows[first + (c < rest ? c : rest - 1)];
        dots_of_eight(found, x, eight, form);
        memcpy(y + first, found, rest * sizeof *y);
    }
}
