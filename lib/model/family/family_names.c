/* family_names.c: what each family calls its tensors, and how they lie. */
#include "model/family/family.h"

#define NAMES(prefix, layers, base, ...) \
    {                                    \
        prefix, layers, base,            \
        {                                \
            __VA_ARGS__                  \
        }                                \
    }

const struct family_names llama_names =
    NAMES("model.", "layers.", NULL, {PARAMETER_WTE, "embed_tokens"}, {PARAMETER_LN_F, "norm"},
          {PARAMETER_LM_HEAD, "lm_head"}, {PARAMETER_LN_1, "input_layernorm"},
          {PARAMETER_Q, "self_attn.q_proj"}, {PARAMETER_K, "self_attn.k_proj"},
          {PARAMETER_V, "self_attn.v_proj"}, {PARAMETER_OUT, "self_attn.o_proj"},
          {PARAMETER_Q_NORM, "self_attn.q_norm"}, {PARAMETER_K_NORM, "self_attn.k_norm"},
          {PARAMETER_LN_2, "post_attention_layernorm"}, {PARAMETER_GATE, "mlp.gate_proj"},
          {PARAMETER_FC, "mlp.up_proj"}, {PARAMETER_MLP_PROJ, "mlp.down_proj"});

const struct family_names olmo2_names =
    NAMES("model.", "layers.", &llama_names, {PARAMETER_LN_1_POST, "post_attention_layernorm"},
          {PARAMETER_LN_2_POST, "post_feedforward_layernorm"});

const struct family_names gemma_names =
    NAMES("model.", "layers.", &olmo2_names, {PARAMETER_LN_2, "pre_feedforward_layernorm"});

const struct family_names phi3_names =
    NAMES("model.", "layers.", &llama_names, {PARAMETER_Q, "self_attn.qkv_proj", LAYOUT_JOINED},
          {PARAMETER_K, "self_attn.qkv_proj", LAYOUT_JOINED},
          {PARAMETER_V, "self_attn.qkv_proj", LAYOUT_JOINED},
          {PARAMETER_GATE, "mlp.gate_up_proj", LAYOUT_FIRST_HALF},
          {PARAMETER_FC, "mlp.gate_up_proj", LAYOUT_LAST_HALF});

const struct family_names phi_names = NAMES(
    "model.", "layers.", &llama_names, {PARAMETER_LN_F, "final_layernorm"},
    {PARAMETER_OUT, "self_attn.dense"}, {PARAMETER_FC, "mlp.fc1"}, {PARAMETER_MLP_PROJ, "mlp.fc2"});

const struct family_names starcoder2_names =
    NAMES("model.", "layers.", &llama_names, {PARAMETER_FC, "mlp.c_fc"},
          {PARAMETER_MLP_PROJ, "mlp.c_proj"});

const struct family_names opt_names =
    NAMES("model.decoder.", "layers.", &llama_names, {PARAMETER_WPE, "embed_positions"},
          {PARAMETER_PROJECT_IN, "project_in"}, {PARAMETER_PROJECT_OUT, "project_out"},
          {PARAMETER_LN_F, "final_layer_norm"}, {PARAMETER_LN_1, "self_attn_layer_norm"},
          {PARAMETER_LN_2, "final_layer_norm"}, {PARAMETER_OUT, "self_attn.out_proj"},
          {PARAMETER_FC, "fc1"}, {PARAMETER_MLP_PROJ, "fc2"});

const struct family_names neox_names = NAMES(
    "gpt_neox.", "layers.", &llama_names, {PARAMETER_WTE, "embed_in"},
    {PARAMETER_LN_F, "final_layer_norm"}, {PARAMETER_LM_HEAD, "embed_out"},
    {PARAMETER_Q, "attention.query_key_value", LAYOUT_GROUPED},
    {PARAMETER_K, "attention.query_key_value", LAYOUT_GROUPED},
    {PARAMETER_V, "attention.query_key_value", LAYOUT_GROUPED}, {PARAMETER_OUT, "attention.dense"},
    {PARAMETER_FC, "mlp.dense_h_to_4h"}, {PARAMETER_MLP_PROJ, "mlp.dense_4h_to_h"});

const struct family_names bloom_names = NAMES(
    "transformer.", "h.", &neox_names, {PARAMETER_WTE, "word_embeddings"},
    {PARAMETER_EMBEDDING_NORM, "word_embeddings_layernorm"}, {PARAMETER_LN_F, "ln_f"},
    {PARAMETER_LM_HEAD, "lm_head"}, {PARAMETER_Q, "self_attention.query_key_value", LAYOUT_GROUPED},
    {PARAMETER_K, "self_attention.query_key_value", LAYOUT_GROUPED},
    {PARAMETER_V, "self_attention.query_key_value", LAYOUT_GROUPED},
    {PARAMETER_OUT, "self_attention.dense"});

/* Two norms of the same stream; with one or none in parallel, bloom's names. */
const struct family_names falcon_names = NAMES(
    "transformer.", "h.", &bloom_names, {PARAMETER_LN_1, "ln_attn"}, {PARAMETER_LN_2, "ln_mlp"});

const struct family_names gpt_neo_names =
    NAMES("transformer.", "h.", NULL, {PARAMETER_WTE, "wte"}, {PARAMETER_WPE, "wpe"},
          {PARAMETER_LN_F, "ln_f"}, {PARAMETER_LM_HEAD, "lm_head"}, {PARAMETER_LN_1, "ln_1"},
          {PARAMETER_LN_2, "ln_2"}, {PARAMETER_Q, "attn.attention.q_proj"},
          {PARAMETER_K, "attn.attention.k_proj"}, {PARAMETER_V, "attn.attention.v_proj"},
          {PARAMETER_OUT, "attn.attention.out_proj"}, {PARAMETER_FC, "mlp.c_fc"},
          {PARAMETER_MLP_PROJ, "mlp.c_proj"});

const struct family_names gptj_names = NAMES(
    "transformer.", "h.", &gpt_neo_names, {PARAMETER_Q, "attn.q_proj"},
    {PARAMETER_K, "attn.k_proj"}, {PARAMETER_V, "attn.v_proj"}, {PARAMETER_OUT, "attn.out_proj"},
    {PARAMETER_FC, "mlp.fc_in"}, {PARAMETER_MLP_PROJ, "mlp.fc_out"});
