/* gguf_model.h: a GGUF file as the folder of a model: its keys are a config.json and the files of a
 * tokenizer, in memory; its tensors, with the names and layouts of their family, are in model.gguf,
 * which is the file itself. All other code reads it like any folder.
 *
 *     struct folder folder;
 *     if (gguf_folder(&folder, "qwen3-0.6b-q8_0.gguf", &arena, err)) ...
 */
#pragma once

#include "base/buf.h"
#include "base/file.h"
#include "format/gguf.h"
#include "format/safetensors.h"

#define GGUF_WEIGHTS_NAME "model.gguf"

/* True for names that end in .gguf. */
bool gguf_is_named(const char *path);

/* The folder of a GGUF file, or of its bytes. Path, bytes and arena must outlive the folder. */
int gguf_folder(struct folder *folder, const char *path, struct arena *arena, struct err *err);
int gguf_folder_held(struct folder *folder, const char *name, const char *bytes, size_t size,
                     struct arena *arena, struct err *err);

/* The name of a folder's GGUF file; NULL: it is an ordinary folder. */
const char *gguf_file_name(const struct folder *folder);

/* Open the tensors of a folder's GGUF file. Those with the layout of their family are read in
 * place; others are copied, some of them as float32. */
int gguf_tensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                      struct err *err);

/* Write config.json; write a tokenizer's files; out->name stays NULL if there is no tokenizer. */
int gguf_write_config(struct buf *out, const struct gguf *gguf, struct err *err);

struct gguf_tokenizer {
    const char *name; /* name of `file`: tokenizer.json or tokenizer.model */
    struct buf file;
    struct buf config; /* tokenizer_config.json */
};

int gguf_write_tokenizer(struct gguf_tokenizer *out, const struct gguf *gguf, struct err *err);
