/* checkpoint.h: a model's tensors by name, in one file or in shards, as published.
 *
 * `model.safetensors`, or `model.safetensors.index.json` and the files it lists. Names are found
 * with and without the prefix `transformer.`.
 */
#ifndef ATTN_MODEL_CHECKPOINT_H
#define ATTN_MODEL_CHECKPOINT_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"
#include "format/safetensors.h"

struct shard {
    const char *name; /* of the file, in the folder */
    struct safetensors tensors;
};

struct checkpoint {
    const char *name; /* of the file that was opened first: of the tensors, or of their index */
    struct shard *shards;
    size_t count;
    struct arena arena;
};

/* A tensor that was found, and the file it is in. */
struct found_tensor {
    const struct safetensors_entry *entry; /* NULL: there is none */
    const char *file;
};

/* Open every file. Errors name it. On failure nothing is held. */
int checkpoint_open(struct checkpoint *checkpoint, const struct folder *folder, struct err *err);
void checkpoint_release(struct checkpoint *checkpoint);

/* Find `name` or `transformer.name`. */
struct found_tensor checkpoint_find(const struct checkpoint *checkpoint, const char *name);

#endif
