/* shard_manifest.h: the manifest of a shard, read line by line as manifest.h writes it.
 *
 *     struct shard_manifest shard = {0};
 *     if (shard_manifest_open(&shard, "parts.1-of-3", err)) ...
 *     bool more = true;
 *     while (!shard_manifest_next(&shard, &more, err) && more)
 *         use(shard.item, shard.item_size, shard.item_failed);
 *     ... shard.files ...
 *     shard_manifest_close(&shard);
 */
#ifndef ATTN_CMD_SHARD_MANIFEST_H
#define ATTN_CMD_SHARD_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/line_reader.h"
#include "format/json.h"
#include "manifest.h"

struct shard_manifest {
    const char *folder;
    const char *path;
    const char *lines[MANIFEST_LINES]; /* of the head, each with its end */
    size_t line_count;
    bool in_items;
    const char *item; /* one line of JSON, until the next one is read */
    size_t item_size;
    struct json *root;  /* the same, parsed */
    struct json *files; /* behind the last item: those that belong to no item */
    struct line_reader reader;
    struct arena arena;
};

/* Open it and read its head. A folder without a manifest is a shard that is not finished. */
int shard_manifest_open(struct shard_manifest *shard, const char *folder, struct err *err);
void shard_manifest_close(struct shard_manifest *shard);

/* Read the next item; `*more` is false behind the last one, when all of the manifest is read. */
int shard_manifest_next(struct shard_manifest *shard, bool *more, struct err *err);

/* One file of a list, {"file": …, "bytes": …, "sha256": …}: its name, which lies below the folder.
 */
struct shard_file {
    const char *name;
    const char *sha256;
};

int shard_manifest_file(const struct shard_manifest *shard, const struct json *entry,
                        struct shard_file *file, struct err *err);

#endif
