/* request.h: what is asked of a model, read from options.
 *
 *     struct request request;
 *     if (request_make(&request, options, format, &viewer, &arena, err) ||
 *         viewer_set_mechanism(&viewer, &request.mechanism, err) ||
 *         viewer_look(&viewer, &(struct look){.selection = &request.selection, ...}, &arena, err))
 */
#ifndef ATTN_CMD_REQUEST_H
#define ATTN_CMD_REQUEST_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/derive.h"
#include "lens/selection.h"
#include "lens/viewer.h"
#include "options.h"
#include "write/format.h"

struct request {
    struct mechanism mechanism; /* the viewer must be set to it before it looks */
    struct selection selection;
    struct derivation derivation;
    bool chosen; /* layers or tensors were named */
};

/* Where no tensors or layers are named they are those the format is for; NULL: weights of every
 * layer. What the model does not have, with that mechanism, is refused. */
int request_make(struct request *request, const struct options *options,
                 const struct format *format, const struct viewer *viewer, struct arena *arena,
                 struct err *err);

/* Its parts. --attention, --mask-method, --scale, --temperature, --dropout, --without and --seed,
 * each by itself: whether they fit together and to a model is not known yet. */
int mechanism_options_read(struct mechanism *mechanism, const struct mechanism_options *options,
                           struct err *err);

/* The kinds of attention of a list, "dense,window:8,linear", each a mechanism; the arena's. */
int mechanism_options_list(struct mechanism **mechanisms, size_t *count,
                           const struct mechanism_options *options, struct arena *arena,
                           struct err *err);

/* --mean, --words and --hide-first; `keeps_first`: the output can hide it by itself. */
int read_derivation(struct derivation *how, const struct select_options *options, bool keeps_first,
                    struct err *err);

/* --layer, else those that the format is for; a mean over layers is one over all. */
const char *request_layer(const struct format *format, const struct select_options *options,
                          const struct derivation *how);

#endif
