/* mechanism_options.h: the options that change how a model attends: --attention, --mask-method,
 * --scale, --temperature, --dropout, --without, and the --seed of what is drawn.
 *
 *     struct mechanism mechanism;
 *     if (mechanism_options_read(&mechanism, options, err)) ...             (before a model is
 * open) if (viewer_set_mechanism(&viewer, &mechanism, err)) ...
 */
#ifndef ATTN_CMD_MECHANISM_OPTIONS_H
#define ATTN_CMD_MECHANISM_OPTIONS_H

#include "base/arena.h"
#include "base/err.h"
#include "model/mechanism.h"
#include "options.h"

/* What was given, each by itself; whether it fits together and to a model is not known yet. */
int mechanism_options_read(struct mechanism *mechanism, const struct options *options,
                           struct err *err);

/* The kinds of attention of a list, "dense,window:8,linear", each as a mechanism of its own. The
 * list is the arena's. */
int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct options *options, struct arena *arena, struct err *err);

#endif
