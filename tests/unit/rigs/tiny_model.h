/* tiny_model.h: model folders in memory with any config, random weights and any damage.
 *
 *     struct tiny_model model;
 *     tiny_model_make(&model, JSON({"model_type": "gpt2", ...}));
 *     tiny_model_tensor(&model, "h.0.ln_1.bias")->values[3] = NAN;
 *     tiny_model_write(&model, 0);
 *     ... weights_open(&weights, &model.config, &model.folder, err) ...
 *     tiny_model_release(&model);
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/safetensors.h"
#include "model/config.h"

/* Writes JSON without backslashes. */
#define JSON(...) #__VA_ARGS__

enum { TINY_TENSORS_MAX = 96 };

struct tiny_tensor {
    char name[64];
    enum dtype dtype; /* of the file */
    size_t rank;
    size_t shape[4];
    size_t count;
    float *values; /* [count] */
};

struct tiny_model {
    struct folder folder; /* "tiny-model", with config.json and model.safetensors */
    struct config config;
    struct tiny_tensor tensors[TINY_TENSORS_MAX];
    size_t count;
    struct folder_file files[2];
    struct buf bytes; /* of model.safetensors */
    struct arena arena;
};

/* Make all tensors of the config in float32, small multiples of 1/256, which F16 and BF16 represent
 * exactly, and write the file. Write it again after a change. */
void tiny_model_make(struct tiny_model *model, const char *config);
void tiny_model_release(struct tiny_model *model);

/* Write model.safetensors; its data begins `shift` bytes after a multiple of 64. */
void tiny_model_write(struct tiny_model *model, size_t shift);

/* The tensor of that name, which must exist. */
struct tiny_tensor *tiny_model_tensor(struct tiny_model *model, const char *name);

/* Add a tensor of zeros; remove one; change the type of all. */
struct tiny_tensor *tiny_model_add(struct tiny_model *model, const char *name, enum dtype dtype,
                                   size_t rank, const size_t *shape);
void tiny_model_drop(struct tiny_model *model, const char *name);
void tiny_model_retype(struct tiny_model *model, enum dtype dtype);
