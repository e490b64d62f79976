/* gguf_model.h: a GGUF file as the folder of a model: its keys are a config.json and the files of a
 * tokenizer, in memory; its tensors, with the names and layouts of their family, are in model.gguf,
 * which is the file itself. All other code reads it like any folder.
 *
 *     struct folder folder;
 *     if (gguf_folder(&folder, "qwen3-0.6b-q8_0.gguf", &arena, err)) ...
 */
#ifndef ATTN_MODEL_GGUF_MODEL_H
#define ATTN_MODEL_GGUF_MODEL_H

#include "base/buf.h"
#include "base/folder.h"
#include "format/gguf.h"
#include "format/safetensors.h"
#include "model/family/family.h"

#define GGUF_WEIGHTS_NAME "model.gguf"

/* True for a file whose name ends in .gguf. */
bool gguf_is_named(const char *path);

/* Path and arena outlive the folder. Or of bytes in memory, which outlive it, too. */
int gguf_folder(struct folder *folder, const char *path, struct arena *arena, struct err *err);
int gguf_folder_held(struct folder *folder, const char *name, const char *bytes, size_t size,
                     struct arena *arena, struct err *err);

/* The name of the file that the folder is made of; NULL: it is an ordinary one. */
const char *gguf_file_name(const struct folder *folder);

/* Open the tensors of a folder's GGUF file. Those with the layout of their family are read in
 * place; rows in another order are copied; a quantised tensor that is transposed, or is not a
 * matrix, becomes float32. */
int gguf_tensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                      struct err *err);

/* --- what the parts share --------------------------------------------------------------------- */

/* A key of a file, and of config.json. */
struct gguf_config_key {
    const char *theirs, *ours; /* the first after the architecture's name and a dot */
    enum { GGUF_KEY_SIZE, GGUF_KEY_REAL, GGUF_KEY_FLAG } kind;
    bool needed;
};

enum { GGUF_KEYS_MAX = 3 };

/* What `general.architecture` may be. */
struct gguf_architecture {
    const char *name, *model_type;
    bool pairs; /* rows of queries and keys are in pairs that are rotated together */
    struct gguf_config_key keys[GGUF_KEYS_MAX]; /* beyond those of all; ends with one of NULL */
};

/* The architecture that a file names; what is not known is refused. */
int gguf_find_architecture(const struct gguf_architecture **architecture, const struct gguf *gguf,
                           struct err *err);

/* "llama.block_count": the key of that architecture. */
enum { GGUF_KEY_BYTES = 128 };
const char *gguf_key(char full[GGUF_KEY_BYTES], const struct gguf_architecture *architecture,
                     const char *key);

/* A whole number under the architecture's key. */
int gguf_size(const struct gguf *gguf, const struct gguf_architecture *architecture,
              const char *key, long long *size, struct err *err);

/* Write config.json; and the files of a tokenizer, which has none where the name of its first is
 * NULL. */
int gguf_write_config(struct buf *out, const struct gguf *gguf, struct err *err);

struct gguf_tokenizer {
    const char *name; /* tokenizer.json or tokenizer.model, */
    struct buf file;
    struct buf config; /* and tokenizer_config.json */
};

int gguf_write_tokenizer(struct gguf_tokenizer *out, const struct gguf *gguf, struct err *err);

#endif
