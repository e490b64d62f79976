/* listing.h: the names in a directory, in the order of their bytes.
 *
 *     struct listing listing;
 *     if (listing_read(&listing, "out/0000", &arena, err)) ...
 *     for (size_t i = 0; i < listing.count; i++)
 *         use(listing.names[i]);
 */
#ifndef ATTN_BASE_LISTING_H
#define ATTN_BASE_LISTING_H

#include "base/arena.h"

struct listing {
    const char **names; /* [count], without "." and "..", the arena's */
    size_t count;
};

int listing_read(struct listing *listing, const char *path, struct arena *arena, struct err *err);

/* Add a copy of a name after the last. */
int listing_add(struct listing *listing, const char *name, struct arena *arena, struct err *err);

#endif
