/* new_model.h: a model that is being made: every tensor its config asks for, in memory, to be
 * filled.
 *
 * The tensors lie in the bytes of a model.safetensors from the beginning, all 0: at any time it can
 * be opened as a model, or saved as a directory that other programs read.
 *
 *     struct new_model new_model = {0};
 *     if (new_model_open(&new_model, "fresh", text, size, err)) ...
 *     for (size_t i = 0; i < new_model.count; i++)
 *         fill(new_model.tensors[i].data, new_model.tensors[i].count);
 *     new_model_add_file(&new_model, "vocab.json", words, words_size);
 *     if (folder_save(&new_model.folder, "fresh", err)) ...
 *     new_model_release(&new_model);
 */
#ifndef ATTN_MODEL_NEW_MODEL_H
#define ATTN_MODEL_NEW_MODEL_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"
#include "model/config.h"
#include "model/parameter_table.h"

enum { NEW_MODEL_FILES_MAX = 10 };

struct new_model_tensor {
    enum parameter_id id; /* its row of the table */
    const char *name;
    size_t shape[2];
    size_t rank;
    size_t count; /* numbers: the product of the shape */
    float *data;
};

struct new_model {
    struct folder folder;
    struct folder_file files[NEW_MODEL_FILES_MAX]; /* the weights first, config.json last */
    struct config config;
    struct new_model_tensor *tensors; /* embeddings, layer by layer, what comes after them */
    size_t count;
    struct new_model_tensor **rows; /* of the table, in every layer; NULL: it has none */
    struct arena arena;
};

/* Begin a model of a config, the text of a config.json; `name` is the folder's path, borrowed. The
 * new model must not move while its folder is used. Errors name the field. */
int new_model_open(struct new_model *new_model, const char *name, const char *text, size_t size,
                   struct err *err);
void new_model_release(struct new_model *new_model);

/* The tensor of a row of the table, NULL where the model has none; `layer` is 0 outside layers. */
struct new_model_tensor *new_model_tensor(const struct new_model *new_model, enum parameter_id id,
                                          size_t layer);

/* One file more, of a tokenizer for example; name and bytes are borrowed. */
void new_model_add_file(struct new_model *new_model, const char *name, const char *bytes,
                        size_t size);

#endif
