/* progress_sink.h: how far a long piece of work is, told by who does it to who shows it.
 *
 *     progress_tell(sink, i + 1, count);
 */
#ifndef ATTN_BASE_PROGRESS_SINK_H
#define ATTN_BASE_PROGRESS_SINK_H

#include <stddef.h>

struct progress_sink {
    void (*tell)(void *context, size_t done, size_t count);
    void *context;
};

/* `sink` NULL: no one wants to know. */
static inline void progress_tell(const struct progress_sink *sink, size_t done, size_t count)
{
    if (sink)
        sink->tell(sink->context, done, count);
}

#endif
