/* texts.h: chooses the tensors of texts that `run`, `page` and `generate --show` write. */
#pragma once

#include "lens/report.h"
#include "lens/selection.h"
#include "lens/viewer.h"

struct driver;

struct request {
    struct selection selection;
    struct derivation derivation;
    /* true if the user chose the output: by a format other than text, or by --show, --layer,
     * --head, --query, --pool or --align */
    bool chosen;
};

/* For the hook `open`: read --show, --layer, --head, --mean, --words and similar options, and set
 * the driver's `derivation`, which belongs to each report. The default tensors and layers depend on
 * the format. Refused: tensors that the model does not have with its mechanism. */
int request_make(struct request *request, struct driver *driver, struct err *err);

/* Add the memory of a pass that captures the tensors of a request, and of the results derived from
 * them. `by_map`: viewer_capture_by_map runs the pass. Returns the size in bytes of the result's
 * tensors. */
double request_add_memory(struct memory *memory, const struct request *request,
                          const struct viewer *viewer, const struct text_with_source *pair,
                          bool by_map);
