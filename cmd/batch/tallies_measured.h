/* tallies_measured.h: what --reduce found, ready to be written: all groups, and in columns the
 * settings in which they differ.
 */
#ifndef ATTN_CMD_TALLIES_MEASURED_H
#define ATTN_CMD_TALLIES_MEASURED_H

#include "base/arena.h"
#include "base/err.h"
#include "lens/measure.h"
#include "tallies.h"

/* Some of their measures, one bit each, in memory of the arena. */
int tallies_measure(struct measured_list *list, const struct tallies *tallies, unsigned measures,
                    struct arena *arena, struct err *err);

#endif
