/* progress_sink.h: how far a long piece of work is, told by who does it to who shows it.
 *
 *     progress_tell(sink, i + 1, count);
 *     progress_tell_more(sink, i + 1, count, "prefill, 64 tokens");
 */
#ifndef ATTN_BASE_PROGRESS_SINK_H
#define ATTN_BASE_PROGRESS_SINK_H

#include <stddef.h>

struct progress_sink {
    void (*tell)(void *context, size_t done, size_t count, const char *note); /* NULL: no note */
    void *context;
};

/* `sink` NULL: no one wants to know. The second says what comes next, too. */
static inline void progress_tell_more(const struct progress_sink *sink, size_t done, size_t count,
                                      const char *note)
{
    if (sink)
        sink->tell(sink->context, done, count, note);
}

static inline void progress_tell(const struct progress_sink *sink, size_t done, size_t count)
{
    progress_tell_more(sink, done, count, NULL);
}

#endif
