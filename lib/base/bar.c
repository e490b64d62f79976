#include "base/bar.h"

#include <math.h>
#include <stdio.h>

enum { EIGHTHS = 8 };

const char *bar_draw(char bar[BAR_BYTES], double share)
{
    static const char *const parts[EIGHTHS] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)lround(fmax(fmin(share, 1), 0) * BAR_COLUMNS * EIGHTHS);
    char *at = bar;
    for (int column = 0; column < BAR_COLUMNS; column++, eighths -= EIGHTHS) {
        const char *part = eighths >= EIGHTHS ? "█" : parts[eighths > 0 ? eighths : 0];
        at += snprintf(at, (size_t)(bar + BAR_BYTES - at), "%s", part);
    }
    return bar;
}
