/* weights.h: a model's parameters. All tensors are checked against the config when the weights are
 * opened. float32 tensors, and bf16 and quantised matrices that are neither packed nor rounded, are
 * read in place; others are converted.
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

/* Whether a folder has weights or an index of them. */
bool checkpoint_is_there(const struct folder *folder);

/* Open all files with tensors. An error names the file. After a failure there is nothing to
 * release. The folder must outlive the checkpoint. */
int checkpoint_open(struct checkpoint *checkpoint, const struct folder *folder, struct err *err);
void checkpoint_release(struct checkpoint *checkpoint);

/* Set in a config what only the tensors of its file decide: the variant of its family; the model's
 * end (enum model_end); whether encoder and decoder each have a table of tokens; whether the
 * unembedding has other numbers than the token embedding, and so is not tied to it, whatever
 * config.json says. */
void checkpoint_settle(const struct checkpoint *checkpoint, struct config *config);

/* For a mixer whose queries, keys and values each have a tensor of convolution: if these tensors
 * have other numbers of rows than expected, but the expected sum, divide their rows anew.
 * (transformers 5 saves a third of all rows in each, whatever the sizes are.) */
int checkpoint_cut_again(struct checkpoint *checkpoint, const struct config *config,
                         struct err *err);

/* Find a table of sinusoidal positions, which a file need not have: then *table is NULL. */
int checkpoint_find_sines(const struct safetensors_entry **table,
                          const struct checkpoint *checkpoint, const struct config *config,
                          int branch, struct err *err);

/* Find a tensor in the files by exactly this name; its entry is NULL if there is none. */
struct found_tensor checkpoint_find_exactly(const struct checkpoint *checkpoint, const char *name);

/* Find a tensor that is no parameter by its name. It must have the type and shape of a parameter.
 * If the files lack it found->entry is NULL. */
struct family_layout;
int checkpoint_find_extra(struct found_tensor *found, const struct checkpoint *checkpoint,
                          const struct config *config, const char *name,
                          const struct family_layout *layout, struct err *err);

/* Find the tensor of a slot. It must have a supported type and the shape of its layout (family.h).
 * If an unembedding is absent, or another tensor that files may lack, found->entry is NULL without
 * an error. */
int checkpoint_find(struct found_tensor *found, const struct checkpoint *checkpoint,
                    const struct config *config, struct slot slot,
                    const struct family_layout *layout, struct err *err);

/* Refuse the file of another model. With `wanted` NULL, refuse tensors of layers that the config
 * lacks. Else `wanted` has the names of the tensors of all parameters: refuse other tensors, except
 * known ones that are no parameters, and except in families that allow others; and refuse copies of
 * the table of tokens with other numbers. */
int checkpoint_check_names(const struct checkpoint *checkpoint, const struct config *config,
                           const struct hash_table *wanted, struct err *err);

/* Refuse a found tensor that contains infinity or NaN; without an entry do nothing. */
int checkpoint_check_finite(const struct checkpoint *checkpoint, struct found_tensor found,
                            struct err *err);

/* --- parameters ------------------------------------------------------------------------------ */

struct attention_weights {
    struct norm norm;
    struct weight q, k, v; /* [C, H·dk], [C, Hkv·dk], [C, Hkv·dv] */
    struct weight joined;  /* q, k and v in one matrix, as in a file of GPT-2; else a matrix that
                            * does not exist */
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

/* For a sublayer of any kind: its norm, the norm of its output, and its last matrix, W_O or
 * W_down. */
struct sublayer_weights {
    struct norm norm, post;
    struct weight last;
};

/* A mistake that is tried (measure/mistakes.h): how products and norms differ from the file, in
 * layers from first_layer (of the text, of the encoder) up to but not including end_layer; if there
 * is no end, also outside of layers. */
struct weights_change {
    size_t first_layer[BRANCH_SOURCE + 1], end_layer; /* end_layer SIZE_MAX: no end */
    int without_bias; /* SLOT_…: biases of this kind of slot are left out; SLOTS: all biases;
                       * SLOT_NONE: no bias */
    int transposed;   /* SLOT_…: a square matrix of this kind is transposed; SLOT_NONE: none is */
    int layers_later; /* a layer has the matrices and norms of the layer this many layers later */
    bool swaps_gate;  /* gate and up are exchanged */
    bool swaps_values; /* keys and values are exchanged */
    bool of_sample;    /* deviations in norms are computed with the divisor n - 1 */
    bool other_offset; /* norms multiply by 1 + w instead of w, or by w instead of 1 + w */
    float epsilon;     /* epsilon of all norms; below 0: the model's own */
};

struct weights {
    const struct config *config;
    struct checkpoint checkpoint;
    struct parameter *parameters; /* in the order of slot_list */
    size_t parameter_count;
    const struct safetensors_entry *sines[BRANCH_SOURCE + 1]; /* tables of sinusoidal positions: of
                                                               * the text, of the source; NULL:
                                                               * none */
    const float *ones;        /* scales of norms that have none in the file; NULL before their first
                               * use */
    struct argmax *argmax;    /* searches for the largest logit; NULL before its first use */
    struct arena arena;       /* memory of the fields above, and of tensors that are converted or
                               * rounded */
    struct arena packed;      /* memory of packed tensors */
    bool packing;             /* pack matrices on their first use (math/weight.h) */
    bool packing_words;       /* `packing` includes the unembedding, which saves time over many
                               * passes */
    bool packing_quants;      /* pack quantised matrices even without `packing`, for decoding */
    bool packing_widened;     /* `packing` includes bf16 matrices, whose numbers become floats */
    size_t packing_bytes;     /* bytes that are left for packed matrices; a matrix that needs more
                               * is not packed */
    enum precision precision; /* precision of products; with bf16, matrices are rounded on their
                               * first use */
    const struct weights_change *change; /* NULL: products and norms are as in the file */
    bool widens; /* bf16 matrices are kept as rows, not as pairs; a pass sets it */
};

/* Open the checkpoint and check all tensors. The tensors may change the config, such as config->end
 * (checkpoint_settle). An error names file and tensor. After a failure there is nothing to release.
 * config and folder must outlive the weights. */
int weights_open(struct weights *weights, struct config *config, const struct folder *folder,
                 struct err *err);
void weights_release(struct weights *weights);

/* Make the same weights for another thread. Tensors that were converted, packed or rounded before
 * are shared; each thread makes later ones for itself. `weights` must outlive `shared`. */
int weights_share(struct weights *shared, const struct weights *weights,
                  const struct config *config, struct err *err);

/* Use the parameter with this index from the weights of another model that has the same tensors;
 * `others` must outlive `weights`. The parameters of a matrix and its bias, or of one tensor, must
 * all come from the same weights. */
void weights_take(struct weights *weights, const struct weights *others, size_t index);

/* weights_matrix: the matrix of a slot, with its bias; weights_norm: a norm; weights_vector: all
 * numbers of a slot's tensor, or of its expert, as float32. They are made on their first use and
 * kept as long as the weights. If the model lacks the slot the matrix does not exist
 * (weight_exists), the norm has scales of 1, and the numbers are NULL. */
int weights_matrix(struct weights *weights, struct slot slot, struct weight *weight,
                   struct err *err);
int weights_norm(struct weights *weights, struct slot slot, struct norm *norm, struct err *err);
int weights_vector(struct weights *weights, struct slot slot, const float **numbers,
                   struct err *err);

/* The parameters of xIELU, in the MLP that has this slot. */
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

/* The biases of a score rule in a branch for all distances (score_rule.h), made on their first use;
 * *biases is NULL if the rule has none. */
struct score_rule;
int weights_biases(struct weights *weights, struct machine *machine, int branch,
                   const struct score_rule *rule, const float **biases, struct err *err);

/* The tensor with q, k and v side by side, as in GPT-2, as one matrix, for one product in float32.
 * If there is no such tensor, or products are in bf16, *joined is a matrix that does not exist. */
int weights_joined(struct weights *weights, struct slot q, struct weight *joined, struct err *err);

/* The unembedding [C, V] without its bias. It is the token embedding if the config ties them, or if
 * the file lacks an unembedding. */
int weights_unembedding(struct weights *weights, struct weight *weight, struct err *err);

/* weights_attention: the parameters of a layer's attention; weights_block: the parameters of its
 * attention and of the MLP in the same branch. */
int weights_attention(struct weights *weights, int branch, size_t layer,
                      struct attention_weights *attention, struct err *err);
int weights_block(struct weights *weights, int branch, size_t layer, struct block_weights *block,
                  struct err *err);

/* The norms around a sublayer (layer.h), through which the residual stream goes, and the sublayer's
 * last matrix. */
struct sublayer;
int weights_sublayer(struct weights *weights, const struct sublayer *s, size_t layer,
                     struct sublayer_weights *sublayer, struct err *err);

/* Set *argmax to a search for the largest logit that does not compute all logits. It is made on its
 * first use. */
int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err);

/* weights_embed_token: y = a token's embedding. weights_add_position: y += the learned or
 * sinusoidal embedding of a position, if the model has any (SIZE_MAX: of padding, which has no
 * sinusoid). weights_add_segment: y += a segment's embedding, if the model has any. */
void weights_embed_token(const struct weights *weights, int branch, float *y, uint32_t id);
void weights_add_position(const struct weights *weights, int branch, float *y, size_t position);
void weights_add_segment(const struct weights *weights, float *y, size_t segment);

/* y [layers · channels] = the extra inputs of all layers for a token (config->given). */
void weights_given_token(const struct weights *weights, float *y, uint32_t id);

/* After a pass that had infinity or NaN: look for a parameter of a layer with such a number. -1:
 * there is one, which the message names; 0: there is none. `layer` counts as in config_layers; -1:
 * parameters outside of layers. */
int weights_check_finite(struct weights *weights, int layer, struct err *err);

/* About how many bytes all tensors use. heap: copies of tensors that are converted, packed or
 * rounded when they are used; mapped: other tensors, which are read in their file. The system can
 * drop the pages of a file. */
struct weights_bytes {
    size_t heap, mapped;
};

struct weights_bytes weights_bytes(const struct weights *weights);

/* A parameter. weights_parameter finds it by its slot's index in slot_list, weights_parameter_of by
 * its slot. */
struct parameter_info {
    char name[PARAMETER_NAME_BYTES];
    struct slot slot;
    const struct safetensors_entry *entry; /* NULL: the file lacks it, or the tensor belongs to an
                                            * earlier parameter */
    const char *file;
};

struct parameter_info weights_parameter(const struct weights *weights, size_t index);
struct parameter_info weights_parameter_of(const struct weights *weights, struct slot slot);

/* The tensor that has a slot's numbers: returns the index of the tensor's first slot, for
 * weights_parameter, and sets the slot's layout in the tensor (family.h). SIZE_MAX: the model or
 * its files lack the tensor. */
size_t weights_tensor(const struct weights *weights, struct slot slot,
                      struct family_layout *layout);

/* Call this after numbers of parameters have changed in their memory: copies in other forms are
 * then made again on their next use. */
void weights_renew(struct weights *weights);

/* How many bytes products read for `count` numbers of a matrix that is not packed. */
size_t weights_read_bytes(const struct weights *weights, size_t index, size_t count);

/* Hash all tensors, as digits: SHA-256 over the name of each with its final 0, its sizes (64 bits
 * each) and its numbers (float32), in the order of `info`. The hash does not depend on the type in
 * which equal numbers are stored, on shards, or on the order of tensors in files. */
void weights_hash(const struct weights *weights, char digits[SHA256_DIGITS + 1]);

/* Hash a sample of at most 1024 numbers of each tensor, which is fast even for large models. Two
 * models with equal hashes may still differ. */
enum { WEIGHTS_SAMPLE_DIGITS = 16 };
void weights_sample_hash(const struct weights *weights, char digits[WEIGHTS_SAMPLE_DIGITS + 1]);
