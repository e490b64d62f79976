/* weights.h: a model's parameters, checked against the config when they are opened. float32 tensors
 * and bf16 matrices are read in place from the mapped file, others are converted on first use.
 *
 *     struct block_weights block;
 *     if (weights_block(weights, layer, SITE_RESID_POST, &block, err)) ...
 *     linear(machine, q, x, &block.self.q, ACTIVATION_NONE);
 */
#ifndef ATTN_MODEL_WEIGHTS_H
#define ATTN_MODEL_WEIGHTS_H

#include "base/sha256.h"
#include "format/safetensors.h"
#include "math/gemm.h"
#include "math/precision.h"
#include "math/rows.h"
#include "model/site.h"

struct argmax;
struct progress_sink;
struct stream;

/* --- tensors by name, in one file or in shards with an index: checkpoint.c -------------------- */

struct shard {
    const char *name; /* of the file */
    struct safetensors tensors;
};

struct checkpoint {
    const struct folder *folder;
    const struct tensor_format *format;
    const char *name; /* of the file with the tensors, or of the index */
    struct shard *shards;
    size_t count;
    struct arena arena;
};

/* A tensor and its file. */
struct found_tensor {
    const struct safetensors_entry *entry; /* NULL: not found */
    const char *file;
};

/* Whether a folder has weights or an index of them. */
bool checkpoint_is_there(const struct folder *folder);

/* Open all files; errors name the file; after a failure there is nothing to release. The folder
 * must outlive the checkpoint. */
int checkpoint_open(struct checkpoint *checkpoint, const struct folder *folder, struct err *err);
void checkpoint_release(struct checkpoint *checkpoint);

/* Refuse tensors of layers that the config does not have: the file is of another model. */
int checkpoint_check_layers(const struct checkpoint *checkpoint, const struct config *config,
                            struct err *err);

/* Find parameter `index` of the table, with a supported type and the config's shape. A parameter
 * that the model lacks, or that is optional and absent, is not found; this is not an error. */
int checkpoint_find_parameter(struct found_tensor *found, const struct checkpoint *checkpoint,
                              const struct config *config, size_t index, struct err *err);

/* Refuse tensors that are not parameters (and not known extras of older files): the file is of
 * another model. `found` returns the tensor of parameter `index`. */
int checkpoint_check_wanted(const struct checkpoint *checkpoint, const struct config *config,
                            const struct found_tensor *(*found)(void *context, size_t index),
                            void *context, struct err *err);

/* Refuse a tensor, if it was found, with a number that is not finite. */
int checkpoint_check_finite(const struct checkpoint *checkpoint, struct found_tensor found,
                            struct err *err);

/* --- parameters ------------------------------------------------------------------------------ */

struct attention_weights {
    struct norm norm;
    struct weight q, k, v; /* [C, H·dk], [C, Hkv·dk], [C, Hkv·dv] */
    struct weight joined;  /* q, k and v in one matrix, as in a file of GPT-2; else absent */
    struct weight out;     /* [H·dv, C] */
    struct norm q_norm, k_norm;
    struct norm post; /* of the output */
};

struct mlp_weights {
    struct norm norm;
    struct weight gate; /* [C, I] */
    struct weight fc;   /* [C, I] */
    struct weight proj; /* [I, C] */
    struct norm post;
};

struct block_weights {
    struct attention_weights self;
    struct attention_weights cross; /* of a decoder with an encoder */
    struct mlp_weights mlp;
};

struct weights {
    const struct config *config;
    struct checkpoint checkpoint;
    struct parameter *parameters; /* rows of the table; those in layers once for each layer */
    struct argmax *argmax;        /* of the unembedding; NULL until its first use */
    struct arena arena;           /* tensors that were converted, packed or rounded */
    bool packing;                 /* pack matrices on their first use; see gemm.h */
    bool packing_words;           /* pack the unembedding, too: worth it for many passes */
    bool packing_widened;         /* pack bf16 and quantised numbers, too, which become floats */
    size_t packing_bytes;         /* what matrices that are packed later may take; others are not */
    enum precision precision;     /* of products; bf16: matrices are rounded on first use */
    bool widens;                  /* round to rows, not to pairs: set by a pass for its processor */
};

/* Open the checkpoint and check all tensors. Errors name file and tensor. After a failure there is
 * nothing to release. config and folder must outlive the weights. */
int weights_open(struct weights *weights, const struct config *config, const struct folder *folder,
                 struct err *err);
void weights_release(struct weights *weights);

/* The same weights for another thread. Tensors that were converted, packed or rounded before are
 * shared; later ones are made by each thread. `weights` must outlive `shared`, which is released by
 * weights_release_shared. */
int weights_share(struct weights *shared, const struct weights *weights,
                  const struct config *config, struct err *err);
void weights_release_shared(struct weights *shared);

/* The parameters of a layer up to its site `last`, converted or rounded if needed. The index of a
 * layer is that of config_layers. */
int weights_block(struct weights *weights, size_t layer, enum site last,
                  struct block_weights *block, struct err *err);

/* The final norm of the decoder or the encoder; the unembedding [C, V] (the token embedding, if it
 * is tied). */
int weights_final_norm(struct weights *weights, bool of_encoder, struct norm *norm,
                       struct err *err);
int weights_unembedding(struct weights *weights, struct weight *weight, struct err *err);

/* The norm of embeddings; the projection of their channels to those of the residual stream, or
 * (`out`) back; the bias of logits [V], or NULL. */
int weights_embedding_norm(struct weights *weights, struct norm *norm, struct err *err);
int weights_projection(struct weights *weights, bool out, struct weight *weight, struct err *err);
int weights_logit_bias(struct weights *weights, const float **bias, struct err *err);

/* Finds the largest logit without computing all; made on first use. */
int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err);

/* y [C] = the embedding of a token; y += the embedding of a position, if the model has any. */
void weights_embed_token(const struct weights *weights, float *y, uint32_t id);
void weights_add_position(const struct weights *weights, float *y, size_t position);

/* After a pass with NaN: -1 with a message that names a parameter of this layer (-1: outside the
 * layers) with a number that is not finite; 0 if there is none. */
int weights_check_finite(struct weights *weights, int layer, struct err *err);

/* Bytes of all tensors that are converted, packed or rounded when they are used. */
size_t weights_heap_bytes(const struct weights *weights);

/* A parameter in `info`. */
struct parameter_info {
    char name[128];
    const struct safetensors_entry *entry; /* NULL: optional and absent */
    const char *file;
};

size_t weights_parameter_count(const struct weights *weights);
struct parameter_info weights_parameter(const struct weights *weights, size_t index);

/* Bytes that products read for `count` numbers of a matrix: of a quantised one, those of blocks. */
size_t weights_read_bytes(const struct weights *weights, size_t index, size_t count);

/* The digits of a hash of all tensors: SHA-256 over the name with its 0, the sizes (64 bits each)
 * and the numbers (float32) of each, in the order of `info`. It does not depend on the type of the
 * numbers, the shards, or the order of tensors in files. */
void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1]);

/* A hash of a sample, a thousand numbers of each tensor, which takes milliseconds for any model.
 * Equal hashes do not prove that two models are equal. */
enum { WEIGHTS_SAMPLE_DIGITS = 16 };
void weights_sample_hash(const struct weights *weights, char digits[WEIGHTS_SAMPLE_DIGITS + 1]);

/* --- matrices in bf16: weights_bf16.c -------------------------------------------------------- */

/* The panels of a matrix [in, out], or of several joined ones, pairs_size(part) apart; or of a
 * matrix whose columns are the view's rows of the entry. NULL with `err`. */
const uint32_t *weights_bf16_matrix(const struct safetensors_entry *entry,
                                    const struct weight *part, struct arena *arena,
                                    struct err *err);
const uint32_t *weights_bf16_rows(const struct safetensors_entry *entry,
                                  const struct row_view *view, const struct weight *weight,
                                  struct arena *arena, struct err *err);

/* All numbers of an entry in bf16, in the order of the file; in place if they are bf16 there. NULL
 * with `err`. */
const char *weights_bf16_numbers(const struct safetensors_entry *entry, struct arena *arena,
                                 struct err *err);

#endif
