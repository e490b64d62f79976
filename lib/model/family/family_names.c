/* family_names.c: what each family calls its tensors, and how they lie. */
#include "model/family/family.h"

#define NAMES(prefix, layers, base, ...) \
    {                                    \
        prefix, layers, base,            \
        {                                \
            __VA_ARGS__                  \
        }                                \
    }

const struct family_names llama_names = NAMES(
    "model.", "layers.", NULL, {PARAMETER_WTE, "embed_tokens", LAYOUT_ROWS},
    {PARAMETER_LN_F, "norm", LAYOUT_ROWS}, {PARAMETER_LM_HEAD, "lm_head", LAYOUT_ROWS},
    {PARAMETER_LN_1, "input_layernorm", LAYOUT_ROWS},
    {PARAMETER_Q, "self_attn.q_proj", LAYOUT_ROWS}, {PARAMETER_K, "self_attn.k_proj", LAYOUT_ROWS},
    {PARAMETER_V, "self_attn.v_proj", LAYOUT_ROWS},
    {PARAMETER_OUT, "self_attn.o_proj", LAYOUT_ROWS},
    {PARAMETER_Q_NORM, "self_attn.q_norm", LAYOUT_ROWS},
    {PARAMETER_K_NORM, "self_attn.k_norm", LAYOUT_ROWS},
    {PARAMETER_LN_2, "post_attention_layernorm", LAYOUT_ROWS},
    {PARAMETER_GATE, "mlp.gate_proj", LAYOUT_ROWS}, {PARAMETER_FC, "mlp.up_proj", LAYOUT_ROWS},
    {PARAMETER_MLP_PROJ, "mlp.down_proj", LAYOUT_ROWS});

const struct family_names olmo2_names =
    NAMES("model.", "layers.", &llama_names,
          {PARAMETER_LN_1_POST, "post_attention_layernorm", LAYOUT_ROWS},
          {PARAMETER_LN_2_POST, "post_feedforward_layernorm", LAYOUT_ROWS});

const struct family_names gemma_names = NAMES(
    "model.", "layers.", &olmo2_names, {PARAMETER_LN_2, "pre_feedforward_layernorm", LAYOUT_ROWS});

const struct family_names phi3_names =
    NAMES("model.", "layers.", &llama_names, {PARAMETER_Q, "self_attn.qkv_proj", LAYOUT_JOINED},
          {PARAMETER_K, "self_attn.qkv_proj", LAYOUT_JOINED},
          {PARAMETER_V, "self_attn.qkv_proj", LAYOUT_JOINED},
          {PARAMETER_GATE, "mlp.gate_up_proj", LAYOUT_FIRST_HALF},
          {PARAMETER_FC, "mlp.gate_up_proj", LAYOUT_LAST_HALF});

const struct family_names phi_names =
    NAMES("model.", "layers.", &llama_names, {PARAMETER_LN_F, "final_layernorm", LAYOUT_ROWS},
          {PARAMETER_OUT, "self_attn.dense", LAYOUT_ROWS}, {PARAMETER_FC, "mlp.fc1", LAYOUT_ROWS},
          {PARAMETER_MLP_PROJ, "mlp.fc2", LAYOUT_ROWS});

const struct family_names starcoder2_names =
    NAMES("model.", "layers.", &llama_names, {PARAMETER_FC, "mlp.c_fc", LAYOUT_ROWS},
          {PARAMETER_MLP_PROJ, "mlp.c_proj", LAYOUT_ROWS});

const struct family_names opt_names = NAMES(
    "model.decoder.", "layers.", &llama_names, {PARAMETER_WPE, "embed_positions", LAYOUT_ROWS},
    {PARAMETER_PROJECT_IN, "project_in", LAYOUT_ROWS},
    {PARAMETER_PROJECT_OUT, "project_out", LAYOUT_ROWS},
    {PARAMETER_LN_F, "final_layer_norm", LAYOUT_ROWS},
    {PARAMETER_LN_1, "self_attn_layer_norm", LAYOUT_ROWS},
    {PARAMETER_LN_2, "final_layer_norm", LAYOUT_ROWS},
    {PARAMETER_OUT, "self_attn.out_proj", LAYOUT_ROWS}, {PARAMETER_FC, "fc1", LAYOUT_ROWS},
    {PARAMETER_MLP_PROJ, "fc2", LAYOUT_ROWS});

const struct family_names neox_names =
    NAMES("gpt_neox.", "layers.", &llama_names, {PARAMETER_WTE, "embed_in", LAYOUT_ROWS},
          {PARAMETER_LN_F, "final_layer_norm", LAYOUT_ROWS},
          {PARAMETER_LM_HEAD, "embed_out", LAYOUT_ROWS},
          {PARAMETER_Q, "attention.query_key_value", LAYOUT_GROUPED},
          {PARAMETER_K, "attention.query_key_value", LAYOUT_GROUPED},
          {PARAMETER_V, "attention.query_key_value", LAYOUT_GROUPED},
          {PARAMETER_OUT, "attention.dense", LAYOUT_ROWS},
          {PARAMETER_FC, "mlp.dense_h_to_4h", LAYOUT_ROWS},
          {PARAMETER_MLP_PROJ, "mlp.dense_4h_to_h", LAYOUT_ROWS});

const struct family_names bloom_names =
    NAMES("transformer.", "h.", &neox_names, {PARAMETER_WTE, "word_embeddings", LAYOUT_ROWS},
          {PARAMETER_EMBEDDING_NORM, "word_embeddings_layernorm", LAYOUT_ROWS},
          {PARAMETER_LN_F, "ln_f", LAYOUT_ROWS}, {PARAMETER_LM_HEAD, "lm_head", LAYOUT_ROWS},
          {PARAMETER_Q, "self_attention.query_key_value", LAYOUT_GROUPED},
          {PARAMETER_K, "self_attention.query_key_value", LAYOUT_GROUPED},
          {PARAMETER_V, "self_attention.query_key_value", LAYOUT_GROUPED},
          {PARAMETER_OUT, "self_attention.dense", LAYOUT_ROWS});

/* Two norms of the same stream; with one or none in parallel, bloom's names. */
const struct family_names falcon_names =
    NAMES("transformer.", "h.", &bloom_names, {PARAMETER_LN_1, "ln_attn", LAYOUT_ROWS},
          {PARAMETER_LN_2, "ln_mlp", LAYOUT_ROWS});

const struct family_names gpt_neo_names = NAMES(
    "transformer.", "h.", NULL, {PARAMETER_WTE, "wte", LAYOUT_ROWS},
    {PARAMETER_WPE, "wpe", LAYOUT_ROWS}, {PARAMETER_LN_F, "ln_f", LAYOUT_ROWS},
    {PARAMETER_LM_HEAD, "lm_head", LAYOUT_ROWS}, {PARAMETER_LN_1, "ln_1", LAYOUT_ROWS},
    {PARAMETER_LN_2, "ln_2", LAYOUT_ROWS}, {PARAMETER_Q, "attn.attention.q_proj", LAYOUT_ROWS},
    {PARAMETER_K, "attn.attention.k_proj", LAYOUT_ROWS},
    {PARAMETER_V, "attn.attention.v_proj", LAYOUT_ROWS},
    {PARAMETER_OUT, "attn.attention.out_proj", LAYOUT_ROWS},
    {PARAMETER_FC, "mlp.c_fc", LAYOUT_ROWS}, {PARAMETER_MLP_PROJ, "mlp.c_proj", LAYOUT_ROWS});

const struct family_names gptj_names =
    NAMES("transformer.", "h.", &gpt_neo_names, {PARAMETER_Q, "attn.q_proj", LAYOUT_ROWS},
          {PARAMETER_K, "attn.k_proj", LAYOUT_ROWS}, {PARAMETER_V, "attn.v_proj", LAYOUT_ROWS},
          {PARAMETER_OUT, "attn.out_proj", LAYOUT_ROWS}, {PARAMETER_FC, "mlp.fc_in", LAYOUT_ROWS},
          {PARAMETER_MLP_PROJ, "mlp.fc_out", LAYOUT_ROWS});
