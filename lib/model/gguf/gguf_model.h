/* gguf_model.h: presents a GGUF file as the folder of a model. From its keys a config.json and the
 * files of a tokenizer are made in memory. Its tensors are in the folder's model.gguf, which is the
 * file itself; they get the names and layouts of their family when they are opened. All other code
 * reads this folder like any other.
 *
 *     struct folder folder;
 *     if (gguf_folder(&folder, "qwen3-0.6b-q8_0.gguf", &arena, err)) ...
 * */
#pragma once

#include "base/buf.h"
#include "base/file.h"
#include "format/gguf.h"
#include "format/safetensors.h"

#define GGUF_WEIGHTS_NAME "model.gguf"

/* Whether a path ends in .gguf. */
bool gguf_is_named(const char *path);

/* Make the folder of a GGUF file: gguf_folder of a file at a path, gguf_folder_held of a file whose
 * bytes are in memory. Path, name, bytes and arena must outlive the folder. */
int gguf_folder(struct folder *folder, const char *path, struct arena *arena, struct err *err);
int gguf_folder_held(struct folder *folder, const char *name, const char *bytes, size_t size,
                     struct arena *arena, struct err *err);

/* The name of the GGUF file that a folder was made from; NULL: it is an ordinary folder. */
const char *gguf_file_name(const struct folder *folder);

/* Open the tensors of a folder's GGUF file. A tensor that is already in the layout of its family is
 * read in place; others are copied, some of them as float32. */
int gguf_tensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                      struct err *err);

/* gguf_write_config: append the text of config.json. gguf_write_tokenizer: write the files of the
 * tokenizer into `out`, which must be all 0 before; out->name stays NULL if the GGUF file has no
 * tokenizer. */
int gguf_write_config(struct buf *out, const struct gguf *gguf, struct err *err);

struct gguf_tokenizer {
    const char *name; /* name of the file whose contents are in `file`: tokenizer.json or
                       * tokenizer.model */
    struct buf file;
    struct buf config; /* contents of tokenizer_config.json */
};

int gguf_write_tokenizer(struct gguf_tokenizer *out, const struct gguf *gguf, struct err *err);
