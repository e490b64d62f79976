/* new_model.h: a new model: every tensor that a config needs, in the bytes of a model.safetensors.
 * All numbers are 0 at first. It can be opened as a model, or saved, at any time.
 *
 *     if (new_model_open(&new_model, "fresh", text, size, err)) ...
 *     for (size_t i = 0; i < new_model.count; i++)
 *         fill(new_model.tensors[i].data, new_model.tensors[i].count);
 *     new_model_release(&new_model);
 * */
#pragma once

#include "base/file.h"
#include "base/memory.h"
#include "model/config.h"
#include "model/parameter_table.h"

enum { NEW_MODEL_FILES_MAX = 10 };

struct new_model_tensor {
    struct slot slot; /* the tensor's first slot; a tensor may have several, such as q, k and v */
    const char *name;
    size_t shape[SLOT_RANK_MAX + 1];
    size_t rank;
    size_t count; /* number of elements: the product of the shape */
    float *data;
};

struct new_model {
    struct folder folder;
    struct folder_file files[NEW_MODEL_FILES_MAX]; /* the file of weights first, config.json last */
    struct config config;
    struct new_model_tensor *tensors; /* in the order: embeddings, layers, all others */
    size_t count;
    struct arena arena;
};

/* Begin a model. `text`: its config.json; if this names a class of transformers that classifies,
 * the model gets a classifier. `name`: the folder's path, which is borrowed. The new model must not
 * move while its folder is used. An error in the text names the field. */
int new_model_open(struct new_model *new_model, const char *name, const char *text, size_t size,
                   struct err *err);
void new_model_release(struct new_model *new_model);

/* The tensor of a slot; NULL: the model has none. */
struct new_model_tensor *new_model_tensor(const struct new_model *new_model, struct slot slot);

/* --- random models of a well-known shape (--shape), the same on every machine ---------------- */

struct shape_row {
    const char *name;
    size_t n_layer, n_head, n_embd, n_positions, vocab_size;
    const char *family; /* model_type; NULL: "gpt2" */
    const char *keys;   /* other members of config.json, as text; NULL: GPT-2's */
};

extern const struct shape_row shape_rows[];
extern const size_t shape_count;

/* shape_find: a row by its name, or NULL with a usage error of --shape. shape_config: append the
 * config.json of a shape. shape_make: make a model of a shape, with random weights.
 * shape_make_head: make a model that is attention alone, with one causal head. */
enum { HEAD_WIDTH = 64 };
const struct shape_row *shape_find(const char *name, struct err *err);
void shape_config(struct buf *text, const struct shape_row *row);
int shape_make(struct new_model *new_model, const char *name, struct err *err);
int shape_make_head(struct new_model *new_model, size_t width, struct err *err);
