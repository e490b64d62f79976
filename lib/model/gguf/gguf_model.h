/* gguf_model.h: a GGUF file as the folder that its model was made of: what its keys say stands
 * there as config.json and a tokenizer's files, held in memory, and its tensors, under the names
 * and in the layout of Hugging Face, in model.gguf, which is the file itself. So all else is as
 * with any model.
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

#define GGUF_WEIGHTS_NAME "model.gguf"

/* True for a file whose name ends in .gguf. */
bool gguf_is_named(const char *path);

/* Path and arena outlive the folder. Or of bytes in memory, which outlive it, too. */
int gguf_folder(struct folder *folder, const char *path, struct arena *arena, struct err *err);
int gguf_folder_held(struct folder *folder, const char *name, const char *bytes, size_t size,
                     struct arena *arena, struct err *err);

/* The name of the file that the folder is made of; NULL: it is an ordinary one. */
const char *gguf_file_name(const struct folder *folder);

/* Open the tensors of a folder's GGUF file. They are read in place where they lie as in Hugging
 * Face's files; where rows stand in another order they are copied as they are, and what is
 * transposed, or no matrix, becomes float32 where it is quantised. */
int gguf_tensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                      struct err *err);

/* --- what the parts share --------------------------------------------------------------------- */

/* How a tensor lies in a GGUF file, beside how it lies in Hugging Face's. */
enum gguf_layout {
    GGUF_SAME,
    GGUF_TRANSPOSED, /* GPT-2's matrices are [in, out] */
    GGUF_QUERIES,    /* rows of a head stand in pairs of those that turn together; … */
    GGUF_KEYS,       /* … of as many heads as keys have */
    GGUF_THIRDS,   /* all queries, all keys, all values; for q, k and v of a head, then the next */
    GGUF_PLUS_ONE, /* Gemma's scales with the 1 that is added to them */
};

struct gguf_tensor_name {
    const char *theirs, *ours; /* without what numbers the layer, .weight and .bias */
    enum gguf_layout layout;
};

struct gguf_config_key {
    const char *theirs, *ours; /* the first after the architecture's name and a dot */
    enum { GGUF_KEY_SIZE, GGUF_KEY_REAL, GGUF_KEY_FLAG } kind;
    bool needed;
};

/* What `general.architecture` may be. */
struct gguf_architecture {
    const char *name, *model_type;
    const char *layers; /* what a layer's number stands after in Hugging Face's names */
    const struct gguf_config_key *keys;
    const struct gguf_tensor_name *names;
    bool rotates;
    bool pairs;         /* GGUF_QUERIES and GGUF_KEYS are meant */
    bool asks_for_bias; /* the config says whether q, k, v and out have one */
    bool plus_one;      /* GGUF_PLUS_ONE is meant */
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

/* How a byte-level BPE cuts texts before pairs are joined: a row of tokenizer.ggml.pre. */
struct gguf_pre {
    const char *name;
    int pattern;      /* of splitter_patterns */
    bool digits;      /* each by itself, first */
    bool composes;    /* NFC, before */
    bool takes_whole; /* a piece that is an entry is not joined of parts */
    bool begins;      /* texts begin with BOS where no key says so */
};

/* By its name; NULL: there is none. */
const struct gguf_pre *gguf_find_pre(struct gguf_text name);

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
