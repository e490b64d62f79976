/* stopwatch.h: a sink that measures how long a pass takes from keys and values to contexts: the
 * attention of all its layers, without what stands around it.
 *
 *     struct stopwatch stopwatch = {0};
 *     struct selection selection = {.sites = STOPWATCH_SITES};          (of every layer)
 *     ... viewer_watch(&viewer, &look, stopwatch_tap(&stopwatch), err) ...
 *     stopwatch.seconds
 *
 * Nothing else may be watched: a square, for example, costs more than all that is measured.
 */
#ifndef ATTN_LENS_STOPWATCH_H
#define ATTN_LENS_STOPWATCH_H

#include "model/tap.h"

/* What stands right before attention, and right after it. */
#define STOPWATCH_SITES (site_bit(SITE_V) | site_bit(SITE_CONTEXT))

struct stopwatch {
    double begun; /* 0: it stands */
    double seconds;
};

struct tap stopwatch_tap(struct stopwatch *stopwatch);

#endif
