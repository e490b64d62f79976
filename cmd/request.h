/* request.h: what is asked of a model, read from options: the same for `run` and for one item of
 * `batch`.
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

#endif
