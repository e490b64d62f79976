/* weights.h: a model's parameters as the forward pass wants them: borrowed views of the file.
 *
 * weights_open checks every tensor against the config before anything runs. float32 tensors are
 * used where they lie in the mapped file; others are read as float32 when they are first used.
 *
 *     struct block_weights block;
 *     if (weights_block(weights, layer, SITE_RESID_POST, &block, err)) ...
 *     linear(machine, q, x, &block.self.q, ACTIVATION_NONE);
 */
#ifndef ATTN_MODEL_WEIGHTS_H
#define ATTN_MODEL_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"
#include "format/safetensors.h"
#include "math/argmax.h"
#include "math/gemm.h"
#include "math/precision.h"
#include "math/rows.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/site.h"

struct attention_weights {
    struct norm norm;
    struct weight q, k, v; /* [C, H·dk], [C, Hkv·dk], [C, Hkv·dv] */
    struct weight joined;  /* q, k and v side by side as they lie in a file of GPT-2; else absent */
    struct weight out;     /* [H·dv, C] */
};

struct mlp_weights {
    struct norm norm;
    struct weight fc;   /* [C, I] */
    struct weight proj; /* [I, C] */
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
    enum precision precision;     /* of products; bf16: matrices are rounded when first used */
};

/* Open the checkpoint and check every tensor: there, of a supported type, of the config's shape; no
 * layer beyond those of the config. Errors name file and tensor. On failure nothing is held. config
 * and folder must outlive the weights. */
int weights_open(struct weights *weights, const struct config *config, const struct folder *folder,
                 struct err *err);
void weights_release(struct weights *weights);

/* The parameters of a layer that lead up to its site `last`, read as float32 by now, or its
 * matrices rounded to bf16; those after it are not looked at. Layers are counted through: see
 * config_layers. */
int weights_block(struct weights *weights, size_t layer, enum site last,
                  struct block_weights *block, struct err *err);

/* The final norm, of the decoder or the encoder; and the matrix [V, C] that makes logits (the token
 * embedding, where it is tied). */
int weights_final_norm(struct weights *weights, bool of_encoder, struct norm *norm,
                       struct err *err);
int weights_unembedding(struct weights *weights, const float **matrix, struct err *err);

/* What tells the largest logit without the others; it is made on first use. */
int weights_argmax(struct weights *weights, struct machine *machine, struct argmax **argmax,
                   struct err *err);

/* Is that matrix packed, in float32 or in bf16, for a product with rows of tokens? Then: [C, V]. */
bool weights_unembedding_is_packed(const struct weights *weights);
int weights_packed_unembedding(struct weights *weights, struct weight *weight, struct err *err);

/* y [C] = the embedding of a token; y += the embedding of a position (nothing, where there is
 * none). */
void weights_embed_token(const struct weights *weights, float *y, uint32_t id);
void weights_add_position(const struct weights *weights, float *y, size_t position);

/* Explain a pass that went wrong: if a parameter of this layer (-1: outside the layers) is not a
 * finite number, set the message that names it and return -1; else 0. */
int weights_check_finite(struct weights *weights, int layer, struct err *err);

/* What `info` lists. */
struct parameter_info {
    char name[64];
    const struct safetensors_entry *entry; /* NULL: absent, and not needed */
    const char *file;
};

size_t weights_parameter_count(const struct weights *weights);
struct parameter_info weights_parameter(const struct weights *weights, size_t index);

/* --- matrices in bf16: weights_bf16.c -------------------------------------------------------- */

/* The panels of a matrix [in, out]. Where the entry is several of these side by side, the panels of
 * one stand after those of the other, pairs_size(part) apart. NULL with `err`. */
const uint32_t *weights_bf16_matrix(const struct safetensors_entry *entry,
                                    const struct weight *part, struct arena *arena,
                                    struct err *err);

/* The same of a matrix [in, out] that the entry holds as [out, in]. */
const uint32_t *weights_bf16_transpose(const struct safetensors_entry *entry,
                                       const struct weight *weight, struct arena *arena,
                                       struct err *err);

#endif
