/* weights.h: a model's parameters as the forward pass wants them, checked against the config before
 * anything runs: float32 tensors and bf16 matrices where they lie in the mapped file, others
 * converted on first use.
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

/* --- tensors by name: checkpoint.c: one file, or an index and the files in it ----------------- */

struct shard {
    const char *name; /* of the file, in the folder */
    struct safetensors tensors;
};

struct checkpoint {
    const struct folder *folder;
    const struct tensor_format *format;
    const char *name; /* of the file that was opened first: of the tensors, or of their index */
    struct shard *shards;
    size_t count;
    struct arena arena;
};

/* A tensor that was found, and the file it is in. */
struct found_tensor {
    const struct safetensors_entry *entry; /* NULL: there is none */
    const char *file;
};

/* Does a folder hold weights, or an index of them? */
bool checkpoint_is_there(const struct folder *folder);

/* Open every file; errors name it; on failure nothing is held; the folder must outlive it. */
int checkpoint_open(struct checkpoint *checkpoint, const struct folder *folder, struct err *err);
void checkpoint_release(struct checkpoint *checkpoint);

/* Refuse layers beyond those of the config: a file that has them is another model. */
int checkpoint_check_layers(const struct checkpoint *checkpoint, const struct config *config,
                            struct err *err);

/* Find parameter `index` of the table, of a supported type and the config's shape. What the model
 * has not or may do without is not found, which is no error. */
int checkpoint_find_parameter(struct found_tensor *found, const struct checkpoint *checkpoint,
                              const struct config *config, size_t index, struct err *err);

/* Refuse a tensor that is none of those found, and nothing that older files keep beside them: a
 * file that has it is another model. `found` gives what was found of parameter `index`. */
int checkpoint_check_wanted(const struct checkpoint *checkpoint, const struct config *config,
                            const struct found_tensor *(*found)(void *context, size_t index),
                            void *context, struct err *err);

/* Refuse a tensor, if there is one, with a number that is not finite. */
int checkpoint_check_finite(const struct checkpoint *checkpoint, struct found_tensor found,
                            struct err *err);

/* --- parameters ------------------------------------------------------------------------------ */

struct attention_weights {
    struct norm norm;
    struct weight q, k, v; /* [C, H·dk], [C, Hkv·dk], [C, Hkv·dv] */
    struct weight joined;  /* q, k and v side by side as they lie in a file of GPT-2; else absent */
    struct weight out;     /* [H·dv, C] */
    struct norm q_norm, k_norm;
    struct norm post; /* of what is added */
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
    struct attention_weights cross; /* of a decoder that looks at an encoder */
    struct mlp_weights mlp;
};

struct weights {
    const struct config *config;
    struct checkpoint checkpoint;
    struct parameter *parameters; /* the rows of the table, those in layers once a layer */
    struct argmax *argmax;        /* of the matrix that makes logits; NULL until it is used */
    struct arena arena;           /* tensors that had to be converted, packed or rounded */
    bool packing;                 /* matrices are packed when they are first used; see gemm.h */
    bool packing_words;           /* so is the one that makes logits: it pays over many passes */
    enum precision precision;     /* of products; bf16: matrices are rounded when first used … */
    bool widens; /* … to rows, not to pairs: a pass says what its machine takes */
};

/* Open the checkpoint and check every tensor. Errors name file and tensor. On failure nothing is
 * held. config and folder must outlive the weights. */
int weights_open(struct weights *weights, const struct config *config, const struct folder *folder,
                 struct err *err);
void weights_release(struct weights *weights);

/* The same weights for another thread: tensors that are converted, packed or rounded by now are
 * shared, each makes others for itself. The first must outlive the second, which is released by
 * weights_release_shared. */
int weights_share(struct weights *shared, const struct weights *weights,
                  const struct config *config, struct err *err);
void weights_release_shared(struct weights *shared);

/* The parameters of a layer that lead up to its site `last`, read or rounded by now. Layers are
 * counted through: see config_layers. */
int weights_block(struct weights *weights, size_t layer, enum site last,
                  struct block_weights *block, struct err *err);

/* The final norm, of the decoder or the encoder; the matrix [C, V] that makes logits (the token
 * embedding, where it is tied). */
int weights_final_norm(struct weights *weights, bool of_encoder, struct norm *norm,
                       struct err *err);
int weights_unembedding(struct weights *weights, struct weight *weight, struct err *err);

/* The norm of embeddings; what leads from their channels to the stream's, and back; what is added
 * to logits [V], NULL: nothing. */
int weights_embedding_norm(struct weights *weights, struct norm *norm, struct err *err);
int weights_projection(struct weights *weights, bool out, struct weight *weight, struct err *err);
int weights_logit_bias(struct weights *weights, const float **bias, struct err *err);

/* What tells the largest logit without the others; it is made on first use. */
int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err);

/* y [C] = the embedding of a token; y += that of a position, where there is one. */
void weights_embed_token(const struct weights *weights, float *y, uint32_t id);
void weights_add_position(const struct weights *weights, float *y, size_t position);

/* After a pass that went wrong: -1 with a message that names a parameter of this layer (-1: outside
 * the layers) that is not a finite number; 0: there is none. */
int weights_check_finite(struct weights *weights, int layer, struct err *err);

/* The bytes of a number of the matrices as products read them: of bf16 where all of them are. */
size_t weights_number_bytes(const struct weights *weights);

/* What `info` lists. */
struct parameter_info {
    char name[128];
    const struct safetensors_entry *entry; /* NULL: absent, and not needed */
    const char *file;
};

size_t weights_parameter_count(const struct weights *weights);
struct parameter_info weights_parameter(const struct weights *weights, size_t index);

/* The digits of a hash of all tensors: SHA-256 over the name with its 0, the sizes (64 bits each)
 * and the numbers (float32) of each, in the order of `info`. Files of other types, parts or orders
 * that hold the same numbers have the same. */
void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1]);

/* The same of a sample, a thousand numbers of each tensor: milliseconds for any model. It tells
 * models apart; that two are equal it does not prove. */
enum { WEIGHTS_SAMPLE_DIGITS = 16 };
void weights_sample_hash(const struct weights *weights, char digits[WEIGHTS_SAMPLE_DIGITS + 1]);

/* --- matrices in bf16: weights_bf16.c -------------------------------------------------------- */

/* The panels of a matrix [in, out], or of several side by side, pairs_size(part) apart; or of one
 * whose columns are the view's rows of the entry. NULL with `err`. */
const uint32_t *weights_bf16_matrix(const struct safetensors_entry *entry,
                                    const struct weight *part, struct arena *arena,
                                    struct err *err);
const uint32_t *weights_bf16_rows(const struct safetensors_entry *entry,
                                  const struct row_view *view, const struct weight *weight,
                                  struct arena *arena, struct err *err);

/* All numbers of an entry in bf16, in the order of the file: there, where they are. NULL with
 * `err`. */
const char *weights_bf16_numbers(const struct safetensors_entry *entry, struct arena *arena,
                                 struct err *err);

#endif
