/* squares.h: where a layer's squares go: scores, what leads from them to weights, and weights, [T,
 * S] of every head.
 *
 * They are as large as all else together, so each is written once, at the place where it stays:
 * memory that the tap lends, else a buffer of the pass, one layer deep, that is announced.
 */
#ifndef ATTN_MODEL_SQUARES_H
#define ATTN_MODEL_SQUARES_H

#include <stdbool.h>
#include <stddef.h>

#include "model/site.h"

struct pass;

enum { SQUARES = SITE_WEIGHTS - SITE_SCORES + 1 };

struct squares {
    float **places[SQUARES]; /* [sequence][head] in the layer that is next; NULL: no layer's */
    float *own[SQUARES];     /* [sequence][H, T, S] where they are not lent; NULL likewise */
};

/* In any layer. */
bool squares_are_wanted(const struct pass *pass, enum site site);

/* Reserve what is watched in any layer and not lent. */
int squares_init(struct pass *pass);

/* Find the places for a layer, before it is computed. */
int squares_begin(struct pass *pass, size_t layer);

/* The place of one head's; NULL: nobody wants it. */
float *squares_at(const struct pass *pass, enum site site, size_t sequence, size_t head);

/* Announce what was not lent. The numbers must be known to be sound. True: the pass is over. */
bool squares_announce(struct pass *pass, enum site site, size_t layer);

#endif
