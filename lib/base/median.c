#include "base/median.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(const double *first, size_t step_bytes, size_t count, double *sorted)
{
    for (size_t i = 0; i < count; i++)
        memcpy(&sorted[i], (const char *)first + i * step_bytes, sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}
