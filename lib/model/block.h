/* block.h: one layer: attention, and in all but bare attention the norms, the residual stream and
 * the MLP around it. */
#ifndef ATTN_MODEL_BLOCK_H
#define ATTN_MODEL_BLOCK_H

#include "model/pass.h"

/* Take the stream pass->scratch.x through a layer. True when the pass is over: nothing beyond is
 * watched, or something failed. */
bool block(struct pass *pass, size_t layer);

#endif
