/* weights.h: a model's parameters. All tensors are checked against the config when the weights are
 * opened. float32 tensors, and bf16 and quantised matrices, are read in place; other tensors are
 * converted. Packed and rounded matrices are copies.
 *
 *     struct weight q;
 *     if (weights_matrix(weights, slot_of(BRANCH_TEXT, SLOT_Q, layer), &q, err)) ...
 *     linear(machine, y, x, &q, ACTIVATION_NONE);
 * */
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
    const char *name; /* name of the file with all tensors, or of the index */
    struct shard *shards;
    size_t count;
    struct arena arena;
};

/* A tensor, and the name of its file. */
struct found_tensor {
    const struct safetensors_entry *entry; /* NULL: there is no such tensor */
    const char *file;
};

/* Whether a folder has a file of weights, or an index of such files. */
bool checkpoint_is_there(const struct folder *folder);

/* Open all files with tensors. An error names the file. After a failure there is nothing to
 * release. The folder must outlive the checkpoint. */
int checkpoint_open(struct checkpoint *checkpoint, const struct folder *folder, struct err *err);
void checkpoint_release(struct checkpoint *checkpoint);

/* Set the parts of a config that depend on the tensors in its file: the variant of its family; the
 * model's end (enum model_end); whether encoder and decoder have different tables of tokens; and
 * whether the unembedding is tied to the token embedding: it is not if their numbers differ,
 * whatever config.json says. */
void checkpoint_settle(const struct checkpoint *checkpoint, struct config *config);

/* For mixers with separate tensors of the convolution for queries, keys and values: if the tensors
 * together have as many rows as expected, but divided differently, divide the rows as expected.
 * (transformers 5 saves a third of all rows in each tensor, whatever the sizes are.) */
int checkpoint_cut_again(struct checkpoint *checkpoint, const struct config *config,
                         struct err *err);

/* Find a table of sinusoidal positions in the files, and set *table to it, or to NULL if the files
 * have none, which is no error. */
int checkpoint_find_sines(const struct safetensors_entry **table,
                          const struct checkpoint *checkpoint, const struct config *config,
                          int branch, struct err *err);

/* Find the tensor with exactly this name in the files; its entry is NULL if there is none. */
struct found_tensor checkpoint_find_exactly(const struct checkpoint *checkpoint, const char *name);

/* Find a tensor that is not a parameter by its name. It must have a type that parameters may have,
 * and the shape of `layout`. found->entry is NULL if the files lack the tensor. */
struct family_layout;
int checkpoint_find_extra(struct found_tensor *found, const struct checkpoint *checkpoint,
                          const struct config *config, const char *name,
                          const struct family_layout *layout, struct err *err);

/* Find the tensor of a slot. It must have a supported type and the shape of its layout (family.h).
 * A missing tensor is an error, except the unembedding and a few others that files may lack: then
 * found->entry is NULL. */
int checkpoint_find(struct found_tensor *found, const struct checkpoint *checkpoint,
                    const struct config *config, struct slot slot,
                    const struct family_layout *layout, struct err *err);

/* Refuse files of another model. If `wanted` is NULL, refuse tensors of layers that the config
 * lacks. Otherwise `wanted` has the names of the tensors of all parameters: refuse other tensors,
 * unless they are known to be no parameters or the family allows other tensors; and, in a model
 * with an encoder, refuse copies of the table of tokens whose numbers differ from the table's. */
int checkpoint_check_names(const struct checkpoint *checkpoint, const struct config *config,
                           const struct hash_table *wanted, struct err *err);

/* Refuse a tensor that contains infinity or NaN. Do nothing if found.entry is NULL. */
int checkpoint_check_finite(const struct checkpoint *checkpoint, struct found_tensor found,
                            struct err *err);

/* --- parameters ------------------------------------------------------------------------------ */

struct attention_weights {
    struct norm norm;
    struct weight q, k, v; /* [C, H·dk], [C, Hkv·dk], [C, Hkv·dv] */
    struct weight joined;  /* q, k and v in one matrix, as in a file of GPT-2; else weight_exists is
                            * false for it */
    struct weight out;     /* [H·dv, C] */
    struct norm q_norm, k_norm;
    struct norm post; /* norm of the output */
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

/* The weights of a sublayer of any kind: the norm before or after it, the norm of its output
 * (post), and its last matrix, W_O or W_down. */
struct sublayer_weights {
    struct norm norm, post;
    struct weight last;
};

/* Changes to the products and norms of a model, to try out a mistake (measure/mistakes.h). They
 * apply to the layers from first_layer[BRANCH_TEXT] or, in the encoder, first_layer[BRANCH_SOURCE]
 * to end_layer - 1; if end_layer is SIZE_MAX also to the last layers, and to weights outside of
 * layers. */
struct weights_change {
    size_t first_layer[BRANCH_SOURCE + 1], end_layer; /* end_layer SIZE_MAX: there is no end */
    int without_bias;  /* SLOT_…: the biases of this slot id are left out; SLOTS: all biases are;
                       * SLOT_NONE: none are */
    int transposed;    /* SLOT_…: square matrices of this slot id are transposed; SLOT_NONE: none
                       * are */
    int layers_later;  /* each layer uses the matrices and norms of the layer that comes this many
                       * layers later */
    bool swaps_gate;   /* the matrices of gate and up are exchanged */
    bool swaps_values; /* the matrices of keys and values are exchanged */
    bool of_sample;    /* layer norms divide by a standard deviation with divisor n - 1, not n */
    bool other_offset; /* norms multiply by 1 + w instead of w, or by w instead of 1 + w */
    float epsilon;     /* epsilon of all norms; below 0: the model's epsilon */
};

struct weights {
    const struct config *config;
    struct checkpoint checkpoint;
    struct parameter *parameters; /* in the order of slot_list */
    size_t parameter_count;
    const struct safetensors_entry *sines[BRANCH_SOURCE + 1]; /* tables of sinusoidal positions, of
                                                               * the text and of the source; NULL:
                                                               * there is none */
    const float *ones;        /* scales of norms that have none in the file; NULL before their first
                               * use */
    struct argmax *argmax;    /* searches for the largest logit; NULL before its first use */
    struct arena arena;       /* memory of the fields above, and of tensors that are converted or
                               * rounded */
    struct arena packed;      /* memory of packed tensors */
    bool packing;             /* pack matrices on their first use (math/weight.h) */
    bool packing_words;       /* pack the unembedding as well, which only saves time over many
                               * passes */
    bool packing_quants;      /* pack quantised matrices even without `packing`, for decoding */
    bool packing_widened;     /* with `packing`, pack bf16 matrices as well, whose numbers then
                               * become floats */
    size_t packing_bytes;     /* bytes that are left for packed matrices; a matrix that needs more
                               * is not packed */
    enum precision precision; /* precision of products; for bf16, matrices are rounded on their
                               * first use */
    const struct weights_change *change; /* NULL: products and norms are as in the file */
    bool widens; /* rounded matrices are used as rows, not as pairs of bf16; a pass sets this */
};

/* Open the checkpoint and check all tensors. checkpoint_settle may change the config, such as
 * config->end. An error names file and tensor. After a failure there is nothing to release. config
 * and folder must outlive the weights. */
int weights_open(struct weights *weights, struct config *config, const struct folder *folder,
                 struct err *err);
void weights_release(struct weights *weights);

/* Share weights with another thread. Tensors that are already converted, packed or rounded are
 * shared; each thread converts other tensors for itself. `weights` must outlive `shared`. */
int weights_share(struct weights *shared, const struct weights *weights,
                  const struct config *config, struct err *err);

/* Replace the parameter at an index by the same one of another model with the same tensors;
 * `others` must outlive `weights`. All parameters of a tensor, and a matrix and its bias, must be
 * taken from the same model. */
void weights_take(struct weights *weights, const struct weights *others, size_t index);

/* weights_matrix: the matrix of a slot, with its bias. weights_norm: a norm, with its shift.
 * weights_vector: all numbers of a slot's parameter as float32. They are made on their first use
 * and kept as long as the weights. If the model lacks the slot, *weight is a matrix that does not
 * exist (weight_exists), *norm has scales of 1, and *numbers is NULL. */
int weights_matrix(struct weights *weights, struct slot slot, struct weight *weight,
                   struct err *err);
int weights_norm(struct weights *weights, struct slot slot, struct norm *norm, struct err *err);
int weights_vector(struct weights *weights, struct slot slot, const float **numbers,
                   struct err *err);

/* The parameters of xIELU in the MLP to which `slot` belongs. */
int weights_xielu(struct weights *weights, struct slot slot, struct xielu *xielu, struct err *err);

/* For two heads that make one context (head_rule.differ): lambda = e^(q1 · k1) - e^(q2 · k2) +
 * differ. `powers`: the two powers of e; `vectors`: q1, k1, q2 and k2, each [dk]. */
struct lambda {
    float lambda;
    double powers[2];
    const float *vectors[4];
};
int weights_lambda(struct weights *weights, enum site_branch branch, size_t layer,
                   struct lambda *lambda, struct err *err);

/* Set *biases to the biases of a score rule for all distances (score_rule.h), which are made on
 * their first use; NULL if the rule has no biases that are read from parameters, as with ALiBi. */
struct score_rule;
int weights_biases(struct weights *weights, struct machine *machine, int branch,
                   const struct score_rule *rule, const float **biases, struct err *err);

/* The tensor with q, k and v side by side, as in GPT-2, as one matrix: then one product computes
 * all three. If there is no such tensor, products are in bf16, or weights->change is set, *joined
 * is a matrix that does not exist. */
int weights_joined(struct weights *weights, struct slot q, struct weight *joined, struct err *err);

/* The unembedding [C, V], without its bias. It is the token embedding if the config ties them or
 * the file lacks an unembedding. */
int weights_unembedding(struct weights *weights, struct weight *weight, struct err *err);

/* weights_attention: the parameters of a layer's attention; weights_block: the parameters of its
 * attention and of the MLP in the same branch. */
int weights_attention(struct weights *weights, int branch, size_t layer,
                      struct attention_weights *attention, struct err *err);
int weights_block(struct weights *weights, int branch, size_t layer, struct block_weights *block,
                  struct err *err);

/* The norms of a sublayer (layer.h) that the residual stream or the output goes through, and the
 * sublayer's last matrix. */
struct sublayer;
int weights_sublayer(struct weights *weights, const struct sublayer *s, size_t layer,
                     struct sublayer_weights *sublayer, struct err *err);

/* Set *argmax to an object that finds the largest logit without computing all logits. It is made on
 * its first use. */
int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err);

/* weights_embed_token: set y to a token's embedding. weights_add_position: add the learned or
 * sinusoidal embedding of a position to y, if the model has any. Position SIZE_MAX is padding,
 * which has no sinusoid. weights_add_segment: add a segment's embedding to y, if the model has
 * any. */
void weights_embed_token(const struct weights *weights, int branch, float *y, uint32_t id);
void weights_add_position(const struct weights *weights, int branch, float *y, size_t position);
void weights_add_segment(const struct weights *weights, float *y, size_t segment);

/* Set y [layers · channels] to a token's row of the table of the layers' extra inputs
 * (config->given). */
void weights_given_token(const struct weights *weights, float *y, uint32_t id);

/* After a pass with infinity or NaN, look for a parameter of a layer that contains such a number.
 * Returns -1 if there is one, which the message names, or else 0. `layer` counts as in
 * config_layers; -1: parameters outside of layers. */
int weights_check_finite(struct weights *weights, int layer, struct err *err);

/* About how many bytes all tensors use. heap: copies of tensors that are converted, packed or
 * rounded when they are used; mapped: tensors that are read in their mapped file, whose pages the
 * system may drop. */
struct weights_bytes {
    size_t heap, mapped;
};

struct weights_bytes weights_bytes(const struct weights *weights);

/* What is known about a parameter. weights_parameter: find it by the index of its slot in
 * slot_list; weights_parameter_of: find it by its slot. */
struct parameter_info {
    char name[PARAMETER_NAME_BYTES];
    struct slot slot;
    const struct safetensors_entry *entry; /* the tensor; NULL: the file lacks it, or it was listed
                                            * for an earlier parameter already */
    const char *file;
};

struct parameter_info weights_parameter(const struct weights *weights, size_t index);
struct parameter_info weights_parameter_of(const struct weights *weights, struct slot slot);

/* Find the tensor that has a slot's numbers: return the index, for weights_parameter, of the first
 * parameter in this tensor, and set *layout to the slot's layout in the tensor (family.h).
 * SIZE_MAX: the model or its files lack the tensor. */
size_t weights_tensor(const struct weights *weights, struct slot slot,
                      struct family_layout *layout);

/* Call this after the numbers of parameters were changed in memory: packed and rearranged copies
 * are then made again on their next use. */
void weights_renew(struct weights *weights);

/* How many bytes a product reads for `count` numbers of the parameter at `index`, if it is not
 * packed. */
size_t weights_read_bytes(const struct weights *weights, size_t index, size_t count);

/* Hash all tensors with SHA-256, as hexadecimal digits. The hash is over each tensor's name with
 * its final 0, its sizes (64 bits each) and its numbers (float32), in the order of `info`. It does
 * not depend on the type in which equal numbers are stored, on shards, or on the order of tensors
 * in files. */
void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1]);

/* Hash a sample of at most 1024 numbers of each tensor, which is fast even for large models. Two
 * models with equal hashes may still differ. */
enum { WEIGHTS_SAMPLE_DIGITS = 16 };
void weights_sample_hash(const struct weights *weights, char digits[WEIGHTS_SAMPLE_DIGITS + 1]);
