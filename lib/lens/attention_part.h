/* attention_part.h: a model's attentions, by what somebody calls them. A model has one, that looks
 * at its own text (`self`) or at another (`cross`); an encoder and its decoder have three.
 *
 *     if (attention_part_is_there(PART_CROSS, config))
 *         ... site_of(attention_part_sites(PART_CROSS, config), SITE_WEIGHTS) ...
 */
#ifndef ATTN_LENS_ATTENTION_PART_H
#define ATTN_LENS_ATTENTION_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "model/config.h"
#include "model/site.h"

struct attention_part {
    const char *name;  /* as in --attention-of */
    const char *words; /* for titles */
};

extern const struct attention_part attention_parts[]; /* by site_part */
extern const size_t attention_part_count;

/* Does a model have that attention? */
bool attention_part_is_there(enum site_part part, const struct config *config);

/* The one that a model has, or the decoder's first. */
enum site_part attention_part_first(const struct config *config);

/* The part whose sites it is watched by: a model's only attention has the sentence's. */
enum site_part attention_part_sites(enum site_part part, const struct config *config);

#endif
