/* shard_list.h: the folders of a batch's shards, by the place of the whole.
 *
 *     struct shard_list list = {0};
 *     if (shard_list_find(&list, "parts/", err)) ...
 *     use(list.folders[0]);               (parts.1-of-3)
 *     shard_list_release(&list);
 */
#ifndef ATTN_CMD_SHARD_LIST_H
#define ATTN_CMD_SHARD_LIST_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

struct shard_list {
    const char *stem;     /* the place of the whole, without a slash at its end */
    const char **folders; /* [count] */
    size_t count;
    struct arena arena;
};

/* Find them beside that place. Refused: none, some of them, and those of several batches. */
int shard_list_find(struct shard_list *list, const char *target, struct err *err);
void shard_list_release(struct shard_list *list);

#endif
