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
#include "model/config.h"

struct shard {
    const char *name; /* of the file, in the folder */
    struct safetensors tensors;
};

struct checkpoint {
    const struct folder *folder;
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

/* Open every file. Errors name it. On failure nothing is held. The folder must outlive it. */
int checkpoint_open(struct checkpoint *checkpoint, const struct folder *folder, struct err *err);
void checkpoint_release(struct checkpoint *checkpoint);

/* Find `name` or `transformer.name`. */
struct found_tensor checkpoint_find(const struct checkpoint *checkpoint, const char *name);

/* Refuse layers beyond those of the config: a file that has them is another model. */
int checkpoint_check_layers(const struct checkpoint *checkpoint, const struct config *config,
                            struct err *err);

/* Find parameter `index` of the table: there, of a supported type, of the config's shape. What the
 * model has not or may do without is not found, which is no error. */
int checkpoint_find_parameter(struct found_tensor *found, const struct checkpoint *checkpoint,
                              const struct config *config, size_t index, struct err *err);

/* Put before a message which tensor of which file it is about; returns -1. */
int checkpoint_blame(const struct checkpoint *checkpoint, const char *file, const char *tensor,
                     struct err *err);

#endif
