/* new_model.h: a new model in memory: a folder with config.json and a model.safetensors with every
 * tensor that the config needs. All numbers are 0 at first. The folder can be opened as a model, or
 * saved, at any time.
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
    struct new_model_tensor *tensors; /* [count] in the order embeddings, layers, other tensors */
    size_t count;
    struct arena arena;
};

/* Create a model from `text`, its config.json. If "architectures" in it names a
 * …ForSequenceClassification, the model gets a classifier. `name`: the folder's path, which is
 * borrowed. The new model must not move while its folder is used. An error in config.json names the
 * field. */
int new_model_open(struct new_model *new_model, const char *name, const char *text, size_t size,
                   struct err *err);
void new_model_release(struct new_model *new_model);

/* The tensor with a slot's numbers; NULL: the model has no such tensor. */
struct new_model_tensor *new_model_tensor(const struct new_model *new_model, struct slot slot);

/* --- random models of a well-known shape (--shape), the same on every machine ---------------- */

struct shape_row {
    const char *name;
    size_t n_layer, n_head, n_embd, n_positions, vocab_size;
    const char *family; /* model_type; NULL: "gpt2" */
    const char *keys;   /* further members of config.json, as JSON; NULL: the members of GPT-2 */
};

extern const struct shape_row shape_rows[];
extern const size_t shape_count;

/* shape_find: return the shape with a name, or NULL with a usage error of --shape. shape_config:
 * append the config.json of a shape. shape_make: make a model of a shape, with random weights.
 * shape_make_head: make a model that is attention alone, with one causal head and random weights.
 * The results of shape_make and shape_make_head are 0, or -1 with `err`. */
enum { HEAD_WIDTH = 64 };
const struct shape_row *shape_find(const char *name, struct err *err);
void shape_config(struct buf *text, const struct shape_row *row);
int shape_make(struct new_model *new_model, const char *name, struct err *err);
int shape_make_head(struct new_model *new_model, size_t width, struct err *err);
