/* gguf_architecture.c: what the keys and tensors of llama.cpp's architectures are called in Hugging
 * Face's files. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/gguf/gguf_model.h"

#define SIZE GGUF_KEY_SIZE
#define REAL GGUF_KEY_REAL
#define FLAG GGUF_KEY_FLAG

#define KEYS(...)                    \
    (const struct gguf_config_key[]) \
    {                                \
        __VA_ARGS__,                 \
        {                            \
            NULL                     \
        }                            \
    }

#define ROTATING                                                     \
    {"embedding_length", "hidden_size", SIZE, true},                 \
        {"block_count", "num_hidden_layers", SIZE, true},            \
        {"attention.head_count", "num_attention_heads", SIZE, true}, \
        {"feed_forward_length", "intermediate_size", SIZE, true},    \
        {"context_length", "max_position_embeddings", SIZE, true},   \
    {                                                                \
        "rope.freq_base", "rope_theta", REAL                         \
    }

static const struct gguf_config_key *const llama_keys =
    KEYS(ROTATING, {"attention.head_count_kv", "num_key_value_heads", SIZE},
         {"attention.layer_norm_rms_epsilon", "rms_norm_eps", REAL, true});

/* Layers with a window rotate by another theta. */
static const struct gguf_config_key *const gemma3_keys =
    KEYS(ROTATING, {"attention.head_count_kv", "num_key_value_heads", SIZE},
         {"attention.layer_norm_rms_epsilon", "rms_norm_eps", REAL, true},
         {"attention.sliding_window", "sliding_window", SIZE, true},
         {"rope.freq_base_swa", "rope_local_base_freq", REAL});

static const struct gguf_config_key *const neox_keys =
    KEYS(ROTATING, {"attention.layer_norm_epsilon", "layer_norm_eps", REAL, true},
         {"use_parallel_residual", "use_parallel_residual", FLAG});

static const struct gguf_config_key *const gpt2_keys = KEYS(
    {"embedding_length", "n_embd", SIZE, true}, {"block_count", "n_layer", SIZE, true},
    {"attention.head_count", "n_head", SIZE, true}, {"feed_forward_length", "n_inner", SIZE, true},
    {"context_length", "n_positions", SIZE, true},
    {"attention.layer_norm_epsilon", "layer_norm_epsilon", REAL, true});

#define NAMES(...)                    \
    (const struct gguf_tensor_name[]) \
    {                                 \
        __VA_ARGS__,                  \
        {                             \
            NULL                      \
        }                             \
    }

static const struct gguf_tensor_name *const llama_names =
    NAMES({"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm", GGUF_PLUS_ONE},
          {"output", "lm_head"}, {"attn_norm", "input_layernorm", GGUF_PLUS_ONE},
          {"attn_q", "self_attn.q_proj", GGUF_QUERIES}, {"attn_k", "self_attn.k_proj", GGUF_KEYS},
          {"attn_v", "self_attn.v_proj"}, {"attn_output", "self_attn.o_proj"},
          {"attn_q_norm", "self_attn.q_norm"}, {"attn_k_norm", "self_attn.k_norm"},
          {"ffn_norm", "post_attention_layernorm", GGUF_PLUS_ONE}, {"ffn_gate", "mlp.gate_proj"},
          {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"});

static const struct gguf_tensor_name *const gemma3_names = NAMES(
    {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm", GGUF_PLUS_ONE},
    {"output", "lm_head"}, {"attn_norm", "input_layernorm", GGUF_PLUS_ONE},
    {"attn_q", "self_attn.q_proj"}, {"attn_k", "self_attn.k_proj"}, {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"}, {"attn_q_norm", "self_attn.q_norm", GGUF_PLUS_ONE},
    {"attn_k_norm", "self_attn.k_norm", GGUF_PLUS_ONE},
    {"post_attention_norm", "post_attention_layernorm", GGUF_PLUS_ONE},
    {"ffn_norm", "pre_feedforward_layernorm", GGUF_PLUS_ONE},
    {"post_ffw_norm", "post_feedforward_layernorm", GGUF_PLUS_ONE}, {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"}, {"ffn_down", "mlp.down_proj"});

static const struct gguf_tensor_name *const neox_names =
    NAMES({"token_embd", "gpt_neox.embed_in"}, {"output_norm", "gpt_neox.final_layer_norm"},
          {"output", "embed_out"}, {"attn_norm", "input_layernorm"},
          {"attn_qkv", "attention.query_key_value", GGUF_THIRDS},
          {"attn_output", "attention.dense"}, {"ffn_norm", "post_attention_layernorm"},
          {"ffn_up", "mlp.dense_h_to_4h"}, {"ffn_down", "mlp.dense_4h_to_h"});

static const struct gguf_tensor_name *const gpt2_names = NAMES(
    {"token_embd", "wte"}, {"position_embd", "wpe"}, {"output_norm", "ln_f"}, {"output", "lm_head"},
    {"attn_norm", "ln_1"}, {"attn_qkv", "attn.c_attn", GGUF_TRANSPOSED},
    {"attn_output", "attn.c_proj", GGUF_TRANSPOSED}, {"ffn_norm", "ln_2"},
    {"ffn_up", "mlp.c_fc", GGUF_TRANSPOSED}, {"ffn_down", "mlp.c_proj", GGUF_TRANSPOSED});

static const struct gguf_architecture architectures[] = {
    {"gpt2", "gpt2", "h.", gpt2_keys, gpt2_names},
    {"llama", "llama", "model.layers.", llama_keys, llama_names, true, true, true},
    {"qwen2", "qwen2", "model.layers.", llama_keys, llama_names, true},
    {"qwen3", "qwen3", "model.layers.", llama_keys, llama_names, true, false, true},
    {"gemma", "gemma", "model.layers.", llama_keys, llama_names, true, false, true, true},
    {"gemma3", "gemma3_text", "model.layers.", gemma3_keys, gemma3_names, true, false, true, true},
    {"gptneox", "gpt_neox", "gpt_neox.layers.", neox_keys, neox_names, true, false, true},
};

int gguf_find_architecture(const struct gguf_architecture **architecture, const struct gguf *gguf,
                           struct err *err)
{
    static const char key[] = "general.architecture";
    struct gguf_text name = {NULL, 0};
    if (gguf_text(gguf, key, &name, err))
        return -1;
    if (!name.bytes)
        return err_set(err, "key '%s': expected a name such as \"llama\", found nothing", key);
    for (size_t i = 0; i < sizeof architectures / sizeof *architectures; i++) {
        *architecture = &architectures[i];
        if (gguf_is(name, architectures[i].name))
            return 0;
    }
    return err_unsupported(
        err,
        "key '%s': expected gpt2, llama, qwen2, qwen3, gemma, gemma3 or gptneox, "
        "found \"%.*s\": read other models from their Hugging Face files",
        key, (int)(name.size < 64 ? name.size : 64), name.bytes);
}

const char *gguf_key(char full[GGUF_KEY_BYTES], const struct gguf_architecture *architecture,
                     const char *key)
{
    snprintf(full, GGUF_KEY_BYTES, "%s.%s", architecture->name, key);
    return full;
}

int gguf_size(const struct gguf *gguf, const struct gguf_architecture *architecture,
              const char *key, long long *size, struct err *err)
{
    char full[GGUF_KEY_BYTES];
    return gguf_integer(gguf, gguf_key(full, architecture, key), 1, INT32_MAX, size, err);
}
