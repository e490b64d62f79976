/* weights.h: a model's parameters, checked against the config when they are opened. float32 tensors
 * and bf16 and quantised matrices, if not packed or rounded, are read in place, others converted.
 *
 *     struct weight q;
 *     if (weights_matrix(weights, slot_of(BRANCH_TEXT, SLOT_Q, layer), &q, err)) ...
 *     linear(machine, y, x, &q, ACTIVATION_NONE);
 */
#pragma once

#include "base/hash.h"
#include "format/safetensors.h"
#include "math/gemm.h"
#include "math/precision.h"
#include "math/rows.h"
#include "model/parameter_table.h"

struct argmax;

/* --- tensors by name, in one file or in shards with an index: checkpoint.c -------------------- */

struct shard {
    const char *name; /* name of the file */
    struct safetensors tensors;
};

struct checkpoint {
    const struct folder *folder;
    const struct tensor_format *format;
    const char *name; /* name of the file with the tensors, or of the index */
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

/* Settle in a config what its file decides: the end of an encoder; whether the stacks of an
 * encoder-decoder have tables of tokens of their own; a head with other numbers than the token
 * embedding is not tied to it, whatever config.json says. */
void checkpoint_settle(const struct checkpoint *checkpoint, struct config *config);

/* Of a mixer whose queries, keys and values have a tensor of convolution each: if these have other
 * numbers of rows, but as many together, cut their rows again. transformers 5 saves thirds of all
 * rows, whatever the sizes are. */
int checkpoint_cut_again(struct checkpoint *checkpoint, const struct config *config,
                         struct err *err);

/* Find the table that a file may have of sinusoidal positions; *table is NULL if there is none. */
int checkpoint_find_sines(const struct safetensors_entry **table,
                          const struct checkpoint *checkpoint, const struct config *config,
                          int branch, struct err *err);

/* Find a tensor by its name in the files; its entry is NULL if there is none. */
struct found_tensor checkpoint_find_exactly(const struct checkpoint *checkpoint, const char *name);

/* Find a tensor that is no parameter by its name: with the type and shape of a parameter, if there
 * is one; else found->entry is NULL. */
struct family_layout;
int checkpoint_find_extra(struct found_tensor *found, const struct checkpoint *checkpoint,
                          const struct config *config, const char *name,
                          const struct family_layout *layout, struct err *err);

/* Find the tensor of a slot, with a supported type and the shape of its layout (family.h). An
 * absent unembedding, or another tensor that files may lack, is no error: nothing is found. */
int checkpoint_find(struct found_tensor *found, const struct checkpoint *checkpoint,
                    const struct config *config, struct slot slot,
                    const struct family_layout *layout, struct err *err);

/* Refuse a file of another model. `wanted` NULL: with tensors of layers that the config lacks. Else
 * `wanted` has the names of the tensors of all parameters; refused are others, but for known extras
 * and families that are open to others, and copies of the table of tokens with other numbers. */
int checkpoint_check_names(const struct checkpoint *checkpoint, const struct config *config,
                           const struct hash_table *wanted, struct err *err);

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
    struct mlp_weights mlp;
};

/* Of any sublayer: its norm, the norm of its output, and its last matrix, W_O or W_down. */
struct sublayer_weights {
    struct norm norm, post;
    struct weight last;
};

/* How products and norms differ from the file, in some layers of the text and of the encoder (and,
 * if these have no end, outside of layers): a mistake that is tried (measure/mistakes.h). */
struct weights_change {
    size_t first_layer[BRANCH_SOURCE + 1], end_layer; /* SIZE_MAX: no end */
    int without_bias; /* SLOT_…: of this kind; SLOTS: of all; SLOT_NONE: they are there */
    int transposed;   /* SLOT_…: a square matrix of this kind is transposed; SLOT_NONE: none is */
    int layers_later; /* a layer has the matrices and norms of so many layers later */
    bool swaps_gate;  /* gate and up are exchanged */
    bool swaps_values; /* keys and values are exchanged */
    bool of_sample;    /* deviations of norms have the divisor n - 1 */
    bool other_offset; /* scales of norms are 1 + w, where they are w, or w */
    float epsilon;     /* epsilon of norms; below 0: the model's own */
};

struct weights {
    const struct config *config;
    struct checkpoint checkpoint;
    struct parameter *parameters; /* of each slot, in the order of slot_list */
    size_t parameter_count;
    const struct safetensors_entry *sines[BRANCH_SOURCE + 1]; /* tables of sinusoids; NULL: none */
    const float *ones;        /* scales of norms without any; NULL until its first use */
    struct argmax *argmax;    /* of the unembedding; NULL until its first use */
    struct arena arena;       /* of these fields, and of converted or rounded tensors */
    struct arena packed;      /* memory of packed tensors */
    bool packing;             /* pack matrices on their first use (math/weight.h) */
    bool packing_words;       /* also pack the unembedding; saves time over many passes */
    bool packing_quants;      /* pack quantised ones, also without `packing`, for decoding */
    bool packing_widened;     /* also pack bf16 numbers, which become floats */
    size_t packing_bytes;     /* left for what is packed; matrices that need more are not */
    enum precision precision; /* precision of products; bf16: matrices are rounded on first use */
    const struct weights_change *change; /* NULL: none */
    bool widens; /* bf16 matrices are kept as rows, not as pairs: a pass sets this */
};

/* Open the checkpoint and check all tensors; in a model that is only an encoder, they decide its
 * end. Errors name file and tensor. After a failure there is nothing to release. config and folder
 * must outlive the weights. */
int weights_open(struct weights *weights, struct config *config, const struct folder *folder,
                 struct err *err);
void weights_release(struct weights *weights);

/* The same weights for another thread. Tensors that were converted, packed or rounded before are
 * shared; later ones are made by each thread. `weights` must outlive `shared`. */
int weights_share(struct weights *shared, const struct weights *weights,
                  const struct config *config, struct err *err);

/* Use a parameter of other weights, of a model of the same tensors, which must outlive them. A
 * matrix and its bias, or the parts of one tensor, are taken together. */
void weights_take(struct weights *weights, const struct weights *others, size_t index);

/* A matrix with its bias; a norm; or all numbers of a slot's tensor (of its expert), float32; made
 * on first use, and kept as long as the weights. Without such a slot the matrix does not exist
 * (weight_exists), the norm has scales of 1, and the numbers are NULL. */
int weights_matrix(struct weights *weights, struct slot slot, struct weight *weight,
                   struct err *err);
int weights_norm(struct weights *weights, struct slot slot, struct norm *norm, struct err *err);
int weights_vector(struct weights *weights, struct slot slot, const float **numbers,
                   struct err *err);

/* The parameters of the activation of the MLP that has a slot. */
int weights_xielu(struct weights *weights, struct slot slot, struct xielu *xielu, struct err *err);

/* Where two heads make one context (head_rule.differ): lambda = e^(q1 · k1) - e^(q2 · k2) + differ,
 * its two powers, and q1, k1, q2 and k2 [dk]. */
struct lambda {
    float lambda;
    double powers[2];
    const float *vectors[4];
};
int weights_lambda(struct weights *weights, enum site_branch branch, size_t layer,
                   struct lambda *lambda, struct err *err);

/* The biases of a rule in a branch by all distances (score_rule.h), made on first use; NULL:
 * none. */
struct score_rule;
int weights_biases(struct weights *weights, struct machine *machine, int branch,
                   const struct score_rule *rule, const float **biases, struct err *err);

/* The whole tensor that has q, k and v side by side, as in GPT-2, for one product in float32; if
 * there is none, or products are in bf16, a matrix that does not exist. */
int weights_joined(struct weights *weights, struct slot q, struct weight *joined, struct err *err);

/* The unembedding [C, V] without its bias: the token embedding if it is tied or a file lacks it. */
int weights_unembedding(struct weights *weights, struct weight *weight, struct err *err);

/* The parameters of an attention; of it and the MLP of the same branch of a layer. */
int weights_attention(struct weights *weights, int branch, size_t layer,
                      struct attention_weights *attention, struct err *err);
int weights_block(struct weights *weights, int branch, size_t layer, struct block_weights *block,
                  struct err *err);

/* The parameters on the way of the residual stream through a sublayer (layer.h). */
struct sublayer;
int weights_sublayer(struct weights *weights, const struct sublayer *s, size_t layer,
                     struct sublayer_weights *sublayer, struct err *err);

/* Finds the largest logit without computing all; made on first use. */
int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err);

/* y = the embedding of a token; y += the learned or sinusoidal embedding of a position, if there is
 * any (SIZE_MAX: of padding, which has no sinusoid); y += the embedding of a segment, if any. */
void weights_embed_token(const struct weights *weights, int branch, float *y, uint32_t id);
void weights_add_position(const struct weights *weights, int branch, float *y, size_t position);
void weights_add_segment(const struct weights *weights, float *y, size_t segment);

/* y [layers · channels] = a token's inputs of single layers. */
void weights_given_token(const struct weights *weights, float *y, uint32_t id);

/* After a pass with infinity or NaN: -1 with a message that names a parameter of a layer (its index
 * among all, config_layers; -1: outside of layers) that is not finite; 0: there is none. */
int weights_check_finite(struct weights *weights, int layer, struct err *err);

/* Bytes that all tensors use, about: copies of tensors that are converted, packed or rounded when
 * they are used; and all others, read in their file. The system can drop the pages of the file. */
struct weights_bytes {
    size_t heap, mapped;
};

struct weights_bytes weights_bytes(const struct weights *weights);

/* The parameter of a slot, by the slot's index in slot_list or by the slot. */
struct parameter_info {
    char name[PARAMETER_NAME_BYTES];
    struct slot slot;
    const struct safetensors_entry *entry; /* NULL: absent, or an earlier parameter has it */
    const char *file;
};

struct parameter_info weights_parameter(const struct weights *weights, size_t index);
struct parameter_info weights_parameter_of(const struct weights *weights, struct slot slot);

/* The tensor that has a slot's numbers: the index of its first slot, for weights_parameter; and the
 * slot's layout in it (family.h). SIZE_MAX: the model, or its files, have none. */
size_t weights_tensor(const struct weights *weights, struct slot slot,
                      struct family_layout *layout);

/* After numbers have changed where they lie: make what was made of them anew on its next use. */
void weights_renew(struct weights *weights);

/* Bytes that products read for `count` numbers of a matrix that is not packed. */
size_t weights_read_bytes(const struct weights *weights, size_t index, size_t count);

/* The digits of a hash of all tensors: SHA-256 over the name with its 0, the sizes (64 bits each)
 * and the numbers (float32) of each, in the order of `info`. It does not depend on the type in
 * which equal numbers are stored, the shards, or the order of tensors in files. */
void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1]);

/* A hash of a sample, at most 1024 numbers of each tensor: fast even for large models. Equal hashes
 * do not prove that two models are equal. */
enum { WEIGHTS_SAMPLE_DIGITS = 16 };
void weights_sample_hash(const struct weights *weights, char digits[WEIGHTS_SAMPLE_DIGITS + 1]);
