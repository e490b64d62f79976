#include "lens/stopwatch.h"

#include "base/clock.h"

/* Of several texts the last value begins, and the first context ends. */
static int see(void *context, const struct announcement *seen, struct err *err)
{
    struct stopwatch *stopwatch = context;
    double now = clock_seconds();
    (void)err;
    if (seen->site == SITE_V) {
        stopwatch->begun = now;
    } else if (stopwatch->begun > 0) {
        stopwatch->seconds += now - stopwatch->begun;
        stopwatch->begun = 0;
    }
    return 0;
}

struct tap stopwatch_tap(struct stopwatch *stopwatch)
{
    return (struct tap){.sink = see, .context = stopwatch};
}
