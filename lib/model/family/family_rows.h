/* family_rows.h: what the files with rows of families share: macros for names and defaults, and the
 * names and functions that several families use. */
#pragma once

#include "model/family/family.h"

#define NAMES_OF(prefix, layers, source_layers, wrapper, base, open, ...) \
    {                                                                     \
        prefix, layers, source_layers, wrapper, base, open,               \
        {                                                                 \
            __VA_ARGS__                                                   \
        }                                                                 \
    }
#define NAMES(prefix, layers, base, ...) \
    NAMES_OF(prefix, layers, NULL, NULL, base, false, __VA_ARGS__)
/* Names of a text model. In a model that also reads images, "language_model." comes before or after
 * "model.". */
#define WRAPPED(base) NAMES_OF("model.", "layers.", NULL, "language_model.", base, false, {NULL})

#define OF_CROSS .branch = BRANCH_CROSS
#define OF_SOURCE .branch = BRANCH_SOURCE
#define OF_PER_LAYER .branch = BRANCH_PER_LAYER
#define OF_LAUREL .branch = BRANCH_LAUREL
#define TRANSPOSED .transposed = true

/* Defaults that several families have. */
#define STACK                                                                           \
    .kind = MODEL_DECODER, .embedding_scale = 1, .projections = true, .out_proj = true, \
    .bos_id = -1, .eos_id = -1, .initializer_range = 0.02
#define DECODER STACK, .final_norm = true, .causal = true
#define RMS DECODER, .rms = true, .gated = true
#define LLAMA RMS, .style = STYLE_PRE, .epsilon = 1e-6f
#define LLAMA_5 RMS, .style = STYLE_PRE, .epsilon = 1e-5f
#define SHIFTED DECODER, .norm_shift = true, .epsilon = 1e-5f
#define TIED SHIFTED, .style = STYLE_PRE, .tied = true
#define NEIGHBOURS .rotary = {.neighbours = true}
#define NORMED_HEADS .head_norm = {.q = true, .k = true}
#define SILU_OF(theta) "hidden_act", "silu", 1, theta
#define SILU SILU_OF(1e4)
#define WITH(...)          \
    &(const struct config) \
    {                      \
        __VA_ARGS__        \
    }

/* Tensor names, and functions that read keys of config.json, which families in several files
 * use. */
extern const struct family_names family_llama_names, family_gpt2_names, family_qwen2_moe_names,
    family_latent_names;
void family_settle_llama(struct reading *reading);
void family_settle_qkv_bias(struct reading *reading);
void family_settle_ernie(struct reading *reading);
void family_settle_window(struct reading *reading);

/* Read the width of the window, and from "layer_types" which layers have it. Without this key every
 * `step`-th layer from `first` on has it. */
void family_windows(struct reading *reading, size_t first, size_t step);
void family_settle_switched_window(struct reading *reading);
void family_settle_granite(struct reading *reading);
/* True if the config.json was made from a GGUF file of a family whose own checkpoints stack the
 * experts: then the stacked experts of that file are split into one tensor per expert. */
bool family_has_separate_experts(const struct reading *reading);

/* Read the number of experts, the number of experts for each token, and the channels of an expert,
 * for all layers. If the key `chosen` is NULL each token uses `usual` experts; if `inner` is NULL
 * an expert is as wide as a plain MLP. Also choose the tensor names of GGUF files if each expert
 * has its own tensors. */
void family_read_experts(struct reading *reading, const char *experts, const char *chosen,
                         size_t usual, const char *inner);
/* Read the experts of Qwen; `usual`: default number of experts for each token. */
void family_read_qwen_experts(struct reading *reading, size_t usual, bool renormalised);

/* Read the experts of DeepSeek, which are chosen by groups. Defaults: the first `plain` layers have
 * no experts, each token uses `usual` experts, and there are `shared` shared experts. */
void family_read_grouped(struct reading *reading, long long plain, size_t usual, long long shared);

/* Refuse a config whose experts cannot be divided into equal groups, or whose chosen groups have
 * fewer experts than each token needs. `experts`, `groups`, `chosen_groups` and `chosen_key`: names
 * of keys for the error message; `chosen`: number of experts for each token. */
void family_check_groups(struct reading *reading, const char *experts, const char *groups,
                         const char *chosen_groups, const char *chosen_key, size_t chosen);

/* Read "mlp_layer_types", if config.json has it: it says which layers have experts. `chosen`:
 * number of experts for each token in these layers. */
void family_read_mlp_layers(struct reading *reading, size_t chosen);

/* If config.json has the key, refuse any text but `value`. */
void family_expect_text(struct reading *reading, const char *key, const char *value);

/* Read the heads of latent attention. The first channels of queries and keys have no rotary
 * embedding. `latent_q`, `unrotated` and `d_v` are defaults. The rotary embedding must be read
 * before this call, with the maximum number of rotated channels as config.d_k. */
void family_read_latent(struct reading *reading, size_t latent_q, size_t unrotated, size_t d_v);

bool family_default_scaling(struct reading *reading, enum rotary_scaling scaling, double factor,
                            double positions);
