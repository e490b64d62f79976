/* progress_sink.h: reports of the progress of long work.
 *
 *     progress_tell(sink, i + 1, count);
 */
#pragma once

#include <stddef.h>

struct progress_sink {
    /* `done` of `count` parts of the work are done; `note`: the next part ("prefill, 64 tokens"),
     * or NULL */
    void (*report)(void *context, size_t done, size_t count, const char *note);
    void *context;
};

static inline void progress_tell(const struct progress_sink *sink, size_t done, size_t count)
{
    if (sink)
        sink->report(sink->context, done, count, NULL);
}
