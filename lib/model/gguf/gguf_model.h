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

struct json;
struct model;
struct progress_sink;
struct rotary;
struct stream;

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

/* Write a model as a GGUF file, its matrices in the types that they have, all else in F32. Refused
 * is, before anything is written, what such a file cannot say: a family, a field of its config, a
 * way to cut texts. */
int gguf_export(struct stream *out, const struct model *model, const struct progress_sink *progress,
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
    enum { GGUF_KEY_SIZE, GGUF_KEY_FLOAT, GGUF_KEY_DOUBLE, GGUF_KEY_FLAG } kind;
    size_t offset; /* in struct config */
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

/* "blk.3.attn_q.weight" as "model.layers.3.self_attn.q_proj.weight", the arena's, or back where it
 * is not theirs; NULL: the table has no such name. */
const struct gguf_tensor_name *gguf_rename(const char **to, const char *name, bool is_theirs,
                                           const struct gguf_architecture *architecture,
                                           struct arena *arena, struct err *err);

/* That of a `model_type`. */
int gguf_architecture_of(const struct gguf_architecture **architecture, const char *model_type,
                         struct err *err);

/* "llama.block_count": the key of that architecture. */
enum { GGUF_KEY_BYTES = 128 };
const char *gguf_key(char full[GGUF_KEY_BYTES], const struct gguf_architecture *architecture,
                     const char *key);

/* A whole number under the architecture's key. */
int gguf_size(const struct gguf *gguf, const struct gguf_architecture *architecture,
              const char *key, long long *size, struct err *err);

/* The factors [components / 2] by which pairs, at most ROTARY_PAIRS_MAX, turn more slowly than
 * without scaling. */
void gguf_factors(float *factors, const struct rotary *rotary);

/* Put the numbers that Llama 3's factors are of, in full; and read them into a rotation whose
 * components and theta are known: its scaling is ROTARY_PLAIN where there are none, or where
 * these are not their factors. */
int gguf_put_llama3(struct gguf *gguf, const struct rotary *rotary, struct err *err);
int gguf_read_llama3(struct rotary *rotary, const struct gguf *gguf, const float *factors,
                     struct err *err);

/* Does a layout of the table mean that the tensor lies otherwise here? Then, but for what is
 * transposed or has a 1 added, which of `rows` rows of a GGUF file is its row `row`. */
bool gguf_is_laid_out_anew(const struct safetensors_entry *entry, enum gguf_layout layout,
                           const struct gguf_architecture *architecture);
size_t gguf_stored_row(size_t row, size_t rows, enum gguf_layout layout, size_t heads);

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

/* The first that does as a tokenizer.json's stages, NULL where there are none; what none does is
 * refused, as what else has no place in a GGUF file. */
int gguf_read_pre(const struct gguf_pre **row, const struct json *normalizer,
                  const struct json *cuts, bool takes_whole, struct err *err);
int gguf_refuse_stage(const char *type, struct err *err);

/* Put the keys of a model's tokenizer: tokenizer.model, tokenizer.json or vocab.json. */
int gguf_export_tokenizer(struct gguf *gguf, const struct model *model, struct err *err);

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
