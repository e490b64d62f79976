#include "base/amount.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *amount_write(char text[AMOUNT_BYTES], double value, const char *unit)
{
    int decimals = value < 1 ? 3 : value < 10 ? 2 : value < 100 ? 1 : 0;
    snprintf(text, AMOUNT_BYTES, "%.*f %s", decimals, value, unit);
    return text;
}

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

const char *bar_draw(char bar[BAR_BYTES], double share, int columns)
{
    enum { EIGHTHS = 8 };
    static const char *const parts[EIGHTHS] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)lround(fmax(fmin(share, 1), 0) * columns * EIGHTHS);
    char *at = bar;
    for (int column = 0; column < columns; column++, eighths -= EIGHTHS) {
        const char *part = eighths >= EIGHTHS ? "█" : parts[eighths > 0 ? eighths : 0];
        at += snprintf(at, (size_t)(bar + BAR_BYTES - at), "%s", part);
    }
    return bar;
}

double growth_exponent(const size_t *x, const double *y, size_t count)
{
    size_t first = count / 2 - (count > 1 && count % 2 == 0);
    double n = (double)(count - first);
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (size_t i = first; i < count; i++) {
        double log_x = log((double)x[i]);
        double log_y = log(y[i]);
        sum_x += log_x;
        sum_y += log_y;
        sum_xx += log_x * log_x;
        sum_xy += log_x * log_y;
    }
    double spread = n * sum_xx - sum_x * sum_x;
    return n >= 2 && spread > 0 ? (n * sum_xy - sum_x * sum_y) / spread : NAN;
}
