/* site_size.h: how many numbers a site has, counted from the model's sizes before anything runs. */
#ifndef ATTN_MODEL_SITE_SIZE_H
#define ATTN_MODEL_SITE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/config.h"
#include "model/site.h"

/* The floats of one layer, with `heads` of its query heads where it has heads, for a text of some
 * tokens and, where the model takes one, a source of so many; false: 64 bits are few. */
bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source);

#endif
