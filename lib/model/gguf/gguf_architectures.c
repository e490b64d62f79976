/* gguf_architectures.c: the architectures of llama.cpp that can be read, in one or several rows
 * each. */
#include "model/gguf/gguf_architectures.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"

/* Keys that several architectures have. */
#define WINDOW "attention.sliding_window", "sliding_window", KEY_WINDOW
#define NEEDED_WINDOW "attention.sliding_window", "sliding_window", KEY_SIZE, true
#define PATTERN "attention.sliding_window_pattern", "sliding_window_pattern", KEY_LAYERS
#define CLIP "attention.clamp_kqv", "clip_qkv", KEY_REAL
#define LOGIT_SCALE "logit_scale", "logit_scale", KEY_REAL, true
#define NORMED_HEADS(name) "blk.0.attn_q_norm.weight", name, KEY_HAS

/* Keys of experts. EXPERTS, CHOSEN: the number of experts, and how many each token uses; `name`:
 * the key of config.json. EXPERT_SIZE, SHARED_SIZE: hidden channels of an expert, and of the shared
 * expert; PLAIN_LAYERS: the layers without experts. GROUPED: all keys of experts in models that are
 * related to DeepSeek. */
#define EXPERTS(name) "expert_count", name, KEY_SIZE, true
#define CHOSEN(name) "expert_used_count", name, KEY_SIZE, true
#define EXPERT_SIZE "expert_feed_forward_length", "moe_intermediate_size", KEY_SIZE, true
#define SHARED_SIZE "expert_shared_feed_forward_length", "shared_expert_intermediate_size", KEY_SIZE
#define NO_INNER "feed_forward_length", "n_inner", KEY_REAL /* some files lack this key */
#define PLAIN_LAYERS "blk.%zu.ffn_gate_inp.weight", "mlp_only_layers", KEY_PLAIN
#define GROUPED(needed)                                                            \
    {EXPERTS("n_routed_experts")}, {CHOSEN("num_experts_per_tok")}, {EXPERT_SIZE}, \
        {"leading_dense_block_count", "first_k_dense_replace", KEY_COUNT},         \
        {"expert_shared_count", "n_shared_experts", KEY_COUNT},                    \
        {"expert_weights_scale", "routed_scaling_factor", KEY_REAL},               \
        {"expert_weights_norm", "norm_topk_prob", KEY_SWITCH},                     \
        {"expert_group_count", "n_group", KEY_SIZE, needed},                       \
    {                                                                              \
        "expert_group_used_count", "topk_group", KEY_SIZE, needed                  \
    }
/* Keys of latent attention. YARN_SCALE: the factor by which yarn multiplies scores, which is one
 * key in GGUF files and two keys in config.json. */
#define LATENT_Q "attention.q_lora_rank", "q_lora_rank", KEY_WINDOW
#define LATENT_KV "attention.kv_lora_rank", "kv_lora_rank", KEY_SIZE, true
#define YARN_SCALE(name) "rope.scaling.yarn_log_multiplier", name, KEY_TENTH

#define KEYS_OF_T5                                                                              \
    {"decoder_block_count", "num_decoder_layers", KEY_SIZE},                                    \
        {"attention.key_length", "d_kv", KEY_SIZE, true},                                       \
        {"attention.relative_buckets_count", "relative_attention_num_buckets", KEY_SIZE, true}, \
    {                                                                                           \
        "decoder_start_token_id", "decoder_start_token_id", KEY_REAL                            \
    }
#define GATED "\"gated-gelu\"", "feed_forward_proj", KEY_VALUE
#define GRANITE                                                  \
    {"attention.scale", "attention_multiplier", KEY_REAL, true}, \
        {"embedding_scale", "embedding_multiplier", KEY_REAL},   \
        {"residual_scale", "residual_multiplier", KEY_REAL},     \
    {                                                            \
        "logit_scale", "logits_scaling", KEY_REAL                \
    }
/* Keys of mixers; `name`: the key in config.json. */
#define EPSILON(name) "attention.layer_norm_rms_epsilon", name, KEY_REAL, true
#define TAPS(name) "ssm.conv_kernel", name, KEY_SIZE, true
#define STATE(name) "ssm.state_size", name, KEY_SIZE, true
#define GROUPS(name) "ssm.group_count", name, KEY_SIZE, true
#define RANK(name) "ssm.time_step_rank", name, KEY_SIZE, true
#define INNER(name, divisor) "ssm.inner_size", name, KEY_SIZE, true, divisor
#define SECTIONS \
    "rope.dimension_sections", NULL, KEY_SIZE /* has no effect: it is for images; in a text all
                                               * channels are rotated by the position */
#define MIXERS(tensor) "blk.%zu." tensor, "layer_types", KEY_MIXERS
#define MAMBA2                                                                    \
    {TAPS("mamba_d_conv")}, {STATE("mamba_d_state")}, {GROUPS("mamba_n_groups")}, \
    {                                                                             \
        RANK("mamba_n_heads")                                                     \
    }
#define EXPANDED INNER("mamba_expand", "embedding_length")
#define GRANITE_HYBRID                                                               \
    MAMBA2, {EXPANDED}, {MIXERS("ssm_out.weight")},                                  \
        {"expert_shared_feed_forward_length", "shared_intermediate_size", KEY_SIZE}, \
        {"true", "separate_experts", KEY_VALUE}, GRANITE
#define SHORT_CONV                                                                \
    {EPSILON("norm_eps")}, {"shortconv.l_cache", "conv_L_cache", KEY_SIZE, true}, \
    {                                                                             \
        MIXERS("shortconv.conv.weight")                                           \
    }
/* Keys of models whose layers have only a mixer: the keys for heads of attention and the width of
 * the MLP have no effect. */
#define ALONE                                                                                   \
    {EPSILON("layer_norm_epsilon")}, {"attention.head_count", NULL, KEY_COUNT},                 \
        {"attention.head_count_kv", NULL, KEY_COUNT}, {"feed_forward_length", NULL, KEY_COUNT}, \
        {TAPS("conv_kernel")},                                                                  \
    {                                                                                           \
        STATE("state_size")                                                                     \
    }
#define MAMBA                               \
    ALONE, {RANK("time_step_rank")},        \
    {                                       \
        INNER("expand", "embedding_length") \
    }
/* Keys of Nemotron-H, whose layers have one sublayer each. */
#define NEMOTRON                                                                     \
    {"attention.layer_norm_epsilon", "layer_norm_epsilon", KEY_REAL, true},          \
        {"attention.layer_norm_rms_epsilon", NULL, KEY_REAL}, {TAPS("conv_kernel")}, \
        {STATE("ssm_state_size")}, {GROUPS("n_groups")}, {RANK("mamba_num_heads")},  \
        {INNER("mamba_head_dim", "ssm.time_step_rank")},                             \
        {"rope.dimension_count", NULL, KEY_COUNT},                                   \
    {                                                                                \
        "blk.%zu.attn_output.weight", "layers_block_type", KEY_SUBLAYERS             \
    }
#define DELTA                                                               \
    {TAPS("linear_conv_kernel_dim")}, {STATE("linear_key_head_dim")},       \
        {GROUPS("linear_num_key_heads")}, {RANK("linear_num_value_heads")}, \
        {INNER("linear_value_head_dim", "ssm.time_step_rank")},             \
    {                                                                       \
        MIXERS("ssm_out.weight")                                            \
    }
#define ROUTER "blk.0.ffn_gate_inp.weight"
#define PER_LAYER                                                                          \
    {"attention.shared_kv_layers", "num_kv_shared_layers", KEY_COUNT},                     \
        {"embedding_length_per_layer_input", "hidden_size_per_layer_input", KEY_COUNT},    \
        {"final_logit_softcapping", "final_logit_softcapping", KEY_REAL}, {NEEDED_WINDOW}, \
        {PATTERN},                                                                         \
    {                                                                                      \
        "per_layer_token_embd.weight", "vocab_size_per_layer_input", KEY_ROWS              \
    }
#define DEEPSEEK_V3                                                                      \
    .latent = true, .scaling = {{YARN_SCALE("mscale")}, {YARN_SCALE("mscale_all_dim")}}, \
    .keys = {GROUPED(true), {LATENT_Q}, {LATENT_KV}}
#define IN(name) "{", name, KEY_OPEN
#define OUT "}", NULL, KEY_CLOSE

static const struct gguf_architecture architectures[] = {
    {"gpt2", "gpt2"},
    {"llama", "mixtral", .pairs = true, .marker = ROUTER,
     .keys = {{EXPERTS("num_local_experts")}, {CHOSEN("num_experts_per_tok")}}},
    {"llama", "llama", .pairs = true},        /* also for Mistral's models */
    {"mistral3", "ministral3", .pairs = true, /* also for the text model inside a model of type
                                               * mistral3 */
     .scaling = {{"attention.temperature_scale", "llama_4_scaling_beta", KEY_REAL},
                 {"1", "mscale", KEY_VALUE},
                 {"rope.scaling.yarn_log_multiplier", "mscale_all_dim", KEY_REAL}}},
    {"minimax-m2", "minimax_m2",
     .keys = {{EXPERTS("num_local_experts")}, {CHOSEN("num_experts_per_tok")}}},
    {"qwen2moe", "qwen2_moe",
     .keys = {{EXPERTS("num_experts")},
              {CHOSEN("num_experts_per_tok")},
              {EXPERT_SIZE},
              {SHARED_SIZE},
              {PLAIN_LAYERS}}},
    {"qwen3moe", "qwen3_moe",
     .keys = {{EXPERTS("num_experts")},
              {CHOSEN("num_experts_per_tok")},
              {EXPERT_SIZE},
              {PLAIN_LAYERS},
              {"true", "norm_topk_prob", KEY_VALUE}}},
    {"olmoe", "olmoe", .keys = {{EXPERTS("num_experts")}, {CHOSEN("num_experts_per_tok")}, {CLIP}}},
    {"granitemoe", "granitemoe", .pairs = true, .variant = true,
     .keys = {{EXPERTS("num_local_experts")},
              {CHOSEN("num_experts_per_tok")},
              {"true", "separate_experts", KEY_VALUE},
              {"expert_shared_feed_forward_length", "shared_intermediate_size", KEY_COUNT},
              GRANITE}},
    {"hunyuan-moe", "hunyuan_v1_moe", .keys = {{EXPERTS("num_experts")}, {CHOSEN("moe_topk")}}},
    {"ernie4_5-moe", "ernie4_5_moe", .bias_key = "use_bias",
     .keys = {{EXPERTS("moe_num_experts")},
              {CHOSEN("moe_k")},
              {EXPERT_SIZE},
              {"interleave_moe_layer_step", "moe_layer_interval", KEY_SIZE},
              {"leading_dense_block_count", "moe_layer_start_index", KEY_COUNT},
              {"expert_shared_count", "moe_num_shared_experts", KEY_COUNT}}},
    {"dots1", "dots1", .keys = {GROUPED(false)}},
    {"glm4moe", "glm4_moe", .names = {{"post_attention_norm", SLOT_NORM_2}},
     .keys = {GROUPED(false), {NORMED_HEADS("use_qk_norm")}}},
    {"deepseek2", "deepseek_v3", DEEPSEEK_V3, .marker = "deepseek2.expert_gating_func",
     .marked = 2},
    /* also for models of GLM 4.7 */
    {"deepseek2", "deepseek_v3", DEEPSEEK_V3, .marker = "blk.%zu.exp_probs_b.bias"},
    {"deepseek2", "deepseek_v2", .latent = true,
     .scaling = {{YARN_SCALE("mscale")}, {YARN_SCALE("mscale_all_dim")}},
     .keys = {GROUPED(false),
              {LATENT_Q},
              {LATENT_KV},
              {"\"group_limited_greedy\"", "topk_method", KEY_VALUE}}},
    {"dbrx", "dbrx", .variant = true, .names = {{"attn_output_norm", SLOT_NORM_2}},
     .keys = {{IN("attn_config")},
              {"attention.head_count_kv", "kv_n_heads", KEY_SIZE, true},
              {CLIP},
              {OUT},
              {IN("ffn_config")},
              {EXPERTS("moe_num_experts")},
              {CHOSEN("moe_top_k")},
              {"feed_forward_length", "ffn_hidden_size", KEY_SIZE, true},
              {"true", "separate_experts", KEY_VALUE},
              {OUT}}},
    {"gpt-oss", "gpt_oss", .variant = true, .names = {{"post_attention_norm", SLOT_NORM_2}},
     .scaling = {{"false", "truncate", KEY_VALUE}},
     .keys = {{EXPERTS("num_local_experts")},
              {CHOSEN("num_experts_per_tok")},
              {"true", "separate_experts", KEY_VALUE},
              {NEEDED_WINDOW}}},
    {"qwen35", "qwen3_5_text", .tiled = true, .names = {{"post_attention_norm", SLOT_NORM_2}},
     .keys = {DELTA, {SECTIONS}}},
    {"qwen35moe", "qwen3_5_moe_text", .tiled = true,
     .names = {{"post_attention_norm", SLOT_NORM_2}},
     .keys = {DELTA,
              {SECTIONS},
              {NO_INNER},
              {EXPERTS("num_experts")},
              {CHOSEN("num_experts_per_tok")},
              {EXPERT_SIZE},
              {SHARED_SIZE}}},
    {"qwen3next", "qwen3_next", .variant = 2, .names = {{"post_attention_norm", SLOT_NORM_2}},
     .keys = {DELTA,
              {NO_INNER},
              {EXPERTS("num_experts")},
              {CHOSEN("num_experts_per_tok")},
              {EXPERT_SIZE},
              {SHARED_SIZE},
              {PLAIN_LAYERS}}},
    {"lfm2", "lfm2", .names = {{"token_embd_norm", SLOT_FINAL_NORM}},
     .keys = {SHORT_CONV, {"false", "block_auto_adjust_ff_dim", KEY_VALUE}}},
    {"lfm2moe", "lfm2_moe", .names = {{"token_embd_norm", SLOT_FINAL_NORM}},
     .keys = {SHORT_CONV,
              {EXPERTS("num_experts")},
              {CHOSEN("num_experts_per_tok")},
              {EXPERT_SIZE},
              {"leading_dense_block_count", "num_dense_layers", KEY_COUNT, true},
              {"expert_weights_scale", "routed_scaling_factor", KEY_REAL}}},
    {"granitehybrid", "bamba", .pairs = true, .marker = "granitehybrid.rope.scaling.finetuned",
     .marked = 1,
     .keys = {MAMBA2,
              {EXPANDED},
              {"blk.%zu.ssm_out.weight", "attn_layer_indices", KEY_PLAIN},
              {"rope.dimension_count", NULL, KEY_COUNT}}},
    {"granitehybrid", "granitemoehybrid", .pairs = true, .variant = true, .marker = ROUTER,
     .keys = {GRANITE_HYBRID, {EXPERTS("num_local_experts")}, {CHOSEN("num_experts_per_tok")}}},
    {"granitehybrid", "granitemoehybrid", .pairs = true, .variant = true,
     .keys = {GRANITE_HYBRID, {"0", "num_local_experts", KEY_VALUE}}},
    {"falcon-h1", "falcon_h1", .names = {{"attn_output", SLOT_O}},
     .keys = {MAMBA2,
              {INNER("mamba_d_ssm", NULL)},
              {"blk.0.ssm_norm.weight", "mamba_rms_norm", KEY_HAS},
              {"false", "mamba_norm_before_gate", KEY_VALUE},
              {"output.weight", NULL, KEY_HAS, true}}},
    {"nemotron_h", "nemotron_h", .pairs = true, .keys = {NEMOTRON}},
    {"nemotron_h_moe", "nemotron_h", .pairs = true,
     .keys = {NEMOTRON,
              {EXPERTS("n_routed_experts")},
              /* in GGUF files the value is a single number, also where config.json has a list */
              {"expert_used_count", "num_experts_per_tok", KEY_COUNT, true},
              {EXPERT_SIZE},
              {"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size", KEY_SIZE,
               true},
              {"expert_weights_scale", "routed_scaling_factor", KEY_REAL},
              {"expert_weights_norm", "norm_topk_prob", KEY_SWITCH},
              {"expert_group_count", "n_group", KEY_SIZE},
              {"expert_group_used_count", "topk_group", KEY_SIZE},
              {"moe_latent_size", "moe_latent_size", KEY_SIZE}}},
    {"mamba", "falcon_mamba", .alone = true, .marker = "mamba.ssm.dt_b_c_rms", .marked = 1,
     .keys = {MAMBA}},
    {"mamba", "mamba", .alone = true, .keys = {MAMBA}},
    {"mamba2", "mamba2", .alone = true,
     .keys = {ALONE,
              {GROUPS("n_groups")},
              {RANK("num_heads")},
              {INNER("head_dim", "ssm.time_step_rank")}}},
    {"jamba", "jamba",
     .keys = {{MIXERS("ssm_out.weight")},
              {PLAIN_LAYERS},
              {EXPERTS("num_experts")},
              {CHOSEN("num_experts_per_tok")},
              {TAPS("mamba_d_conv")},
              {STATE("mamba_d_state")},
              {RANK("mamba_dt_rank")},
              {EXPANDED}}},
    {"kimi-linear", "kimi_linear", .latent = true,
     .keys = {{EXPERTS("num_experts")},
              {CHOSEN("num_experts_per_token")},
              {EXPERT_SIZE},
              {"leading_dense_block_count", "first_k_dense_replace", KEY_COUNT, true},
              {"expert_shared_count", "num_shared_experts", KEY_COUNT, true},
              {"expert_weights_scale", "routed_scaling_factor", KEY_REAL},
              {LATENT_Q},
              {LATENT_KV},
              {"attention.head_count", "num_attention_heads", KEY_SIZE, true},
              {IN("linear_attn_config")},
              {"attention.head_count", "num_heads", KEY_SIZE, true},
              {"kda.head_dim", "head_dim", KEY_SIZE, true},
              {TAPS("short_conv_kernel_size")},
              {MIXERS("ssm_a")},
              {OUT}}},
    {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},
    {"granite", "granite", .pairs = true, .keys = {GRANITE}},
    {"smollm3", "smollm3", .pairs = true},
    {"phi3", "phi3", .keys = {{WINDOW}}},
    {"olmo", "olmo", .pairs = true, .keys = {{CLIP}}},
    {"olmo2", "olmo3", .marker = "olmo2.attention.sliding_window",
     .keys = {{WINDOW},
              {PATTERN},
              /* the file has one base of rotary embeddings, also for layers with a window */
              {"rope.freq_base", "rope_local_base_freq", KEY_REAL}}},
    {"olmo2", "olmo2"},
    {"exaone4", "exaone4", .keys = {{WINDOW}, {PATTERN}}},
    {"seed_oss", "seed_oss", .names = {{"post_attention_norm", SLOT_NORM_2}}},
    {"arcee", "arcee", .pairs = true},
    {"hunyuan-dense", "hunyuan_v1_dense"},
    {"ernie4_5", "ernie4_5", .bias_key = "use_bias"},
    {"chatglm", "glm"},
    {"glm4", "glm4"},
    {"command-r", "cohere", .keys = {{LOGIT_SCALE}, {NORMED_HEADS("use_qk_norm")}}},
    {"cohere2", "cohere2", .keys = {{LOGIT_SCALE}, {NEEDED_WINDOW}, {PATTERN}}},
    {"gemma", "gemma"},
    {"gemma2", "gemma2", .wide_layers = 46,
     .keys = {{WINDOW},
              {"attn_logit_softcapping", "attn_logit_softcapping", KEY_REAL},
              {"final_logit_softcapping", "final_logit_softcapping", KEY_REAL}}},
    {"gemma3", "gemma3_text", .wide_layers = 62, /* in Gemma 3, layers with a window have their own
                                                  * base of the rotary embedding */
     .keys = {{NEEDED_WINDOW},
              {PATTERN},
              {"rope.freq_base_swa", "rope_local_base_freq", KEY_REAL}}},
    {"gemma3n", "gemma3n_text",
     .keys = {PER_LAYER,
              {"rope.freq_base_swa", "rope_local_base_freq", KEY_REAL},
              {"feed_forward_length", "intermediate_size", KEY_LIST, true},
              {"activation_sparsity_scale", "activation_sparsity_pattern", KEY_SHARES, true},
              {"altup.num_inputs", "altup_num_inputs", KEY_SIZE, true},
              {"altup.active_idx", "altup_active_idx", KEY_COUNT, true},
              {"blk.0.laurel_l.weight", "laurel_rank", KEY_ROWS}}},
    {"gemma4", "gemma4_text", .mixed = true, .variant = true,
     .keys = {PER_LAYER,
              {"attention.head_count_kv", NULL, KEY_COUNT}, /* has no effect here, since put_mixed
                                                             * writes this number */
              {"expert_count", "num_experts", KEY_SIZE},
              {"expert_used_count", "top_k_experts", KEY_SIZE},
              {"expert_feed_forward_length", "moe_intermediate_size", KEY_SIZE},
              {ROUTER, "enable_moe_block", KEY_HAS},
              {"true", "separate_experts", KEY_VALUE}}},
    {"phi2", "phi"},
    {"stablelm", "stablelm", .bias_key = "use_qkv_bias",
     .keys = {{"blk.0.ffn_norm.weight", "use_parallel_residual", KEY_LACKS},
              {NORMED_HEADS("qk_layernorm")}}},
    {"nemotron", "nemotron"},
    {"starcoder", "gpt_bigcode"},
    {"starcoder2", "starcoder2", .bias_key = "use_bias"},
    {"gptneox", "gpt_neox", .keys = {{"use_parallel_residual", "use_parallel_residual", KEY_FLAG}}},
    {"bloom", "bloom"},
    {"mpt", "mpt", .keys = {{"context_length", "max_seq_len", KEY_SIZE}, {CLIP}}},
    {"bert", "bert", .marker = "token_types.weight"},
    {"bert", "distilbert"},
    {"jina-bert-v2", "bert", .variant = 1,
     .keys = {{"\"alibi\"", "position_embedding_type", KEY_VALUE},
              {"\"geglu\"", "feed_forward_type", KEY_VALUE}}},
    {"nomic-bert", "nomic_bert"},
    {"t5", "umt5", .marker = "dec.blk.1.attn_rel_b.weight", .variant = true,
     .keys = {KEYS_OF_T5, {GATED}}},
    {"t5", "t5", .marker = "dec.blk.0.ffn_gate.weight", .variant = true,
     .keys = {KEYS_OF_T5, {GATED}}},
    {"t5", "t5", .keys = {KEYS_OF_T5}},
    {"falcon", "falcon", .marker = "blk.0.attn_norm_2.weight", .variant = true,
     .names = {{"attn_norm_2", SLOT_NORM_1}, {"attn_norm", SLOT_NORM_2}},
     .keys = {{"true", "new_decoder_architecture", KEY_VALUE}}},
    {"falcon", "falcon",
     .keys = {{"true", "new_decoder_architecture", KEY_VALUE},
              {"1", "num_ln_in_parallel_attn", KEY_VALUE}}},
};

enum { ARCHITECTURES = sizeof architectures / sizeof *architectures };

const struct gguf_tensor_name gguf_tensor_names[] = {
    {"token_embd", SLOT_TOKENS},
    {"token_embd_norm", SLOT_EMBED_NORM},
    {"position_embd", SLOT_POSITIONS},
    {"token_types", SLOT_SEGMENTS},
    {"output_norm", SLOT_FINAL_NORM},
    {"output", SLOT_UNEMBED},
    {"attn_norm", SLOT_NORM_1},
    {"attn_qkv", SLOT_Q, true, BRANCH_MIXER},
    {"attn_q", SLOT_Q, .branch = BRANCH_MIXER},
    {"attn_k", SLOT_K, .branch = BRANCH_MIXER},
    {"attn_v", SLOT_V, .branch = BRANCH_MIXER},
    {"attn_output", SLOT_O, .branch = BRANCH_MIXER},
    {"attn_qkv", SLOT_Q, true},
    {"attn_q_a", SLOT_Q_DOWN},
    {"attn_q_a_norm", SLOT_Q_DOWN_NORM},
    {"attn_q_b", SLOT_Q_UP},
    {"attn_kv_a_mqa", SLOT_KV_DOWN, true},
    {"attn_kv_a_norm", SLOT_KV_DOWN_NORM},
    {"attn_kv_b", SLOT_K, true},
    {"attn_k_b", SLOT_K, true}, /* join_heads joins this tensor with attn_v_b */
    {"attn_sinks", SLOT_SINKS},
    {"attn_q", SLOT_Q},
    {"attn_q", SLOT_Q, true}, /* a tensor of queries and gates: for each head the rows of its query,
                               * then of its gate */
    {"attn_k", SLOT_K},
    {"attn_v", SLOT_V},
    {"attn_output", SLOT_O},
    {"attn_o", SLOT_O}, /* T5's name of attn_output */
    {"attn_rel_b", SLOT_LAYER_BIASES},
    {"attn_q_norm", SLOT_Q_NORM},
    {"attn_k_norm", SLOT_K_NORM},
    {"post_attention_norm", SLOT_NORM_1_POST},
    {"attn_output_norm", SLOT_NORM_1}, /* this name and the next are for models that norm the sums
                                        * after sublayers */
    {"layer_output_norm", SLOT_NORM_2},
    {"ffn_norm", SLOT_NORM_2},
    {"ffn_gate", SLOT_GATE},
    {"ffn_up", SLOT_GATE, true},
    {"ffn_up", SLOT_UP},
    {"ffn_down", SLOT_DOWN},
    {"ffn_gate_inp", SLOT_ROUTER},
    {"exp_probs_b.bias", SLOT_CORRECTION},
    {"ffn_gate_exps", SLOT_EXPERT_GATE},
    {"ffn_up_exps", SLOT_EXPERT_UP},
    {"ffn_down_exps", SLOT_EXPERT_DOWN},
    {"ffn_gate_shexp", SLOT_SHARED_GATE},
    {"ffn_up_shexp", SLOT_SHARED_UP},
    {"ffn_down_shexp", SLOT_SHARED_DOWN},
    {"ffn_gate_inp_shexp", SLOT_SHARED_SWITCH},
    {"ffn_latent_down", SLOT_EXPERT_IN},
    {"ffn_latent_up", SLOT_EXPERT_OUT},
    {"post_ffw_norm", SLOT_NORM_2_POST},
    {"ffn_gate_inp.scale", SLOT_ROUTER_NORM}, /* names of Gemma 4 from here on */
    {"ffn_gate_up_exps", SLOT_EXPERT_GATE, true},
    {"ffn_down_exps.scale", SLOT_EXPERT_SCALE},
    {"pre_ffw_norm_2", SLOT_EXPERT_NORM},
    {"post_ffw_norm_1", SLOT_SHARED_POST},
    {"post_ffw_norm_2", SLOT_EXPERTS_POST},
    {"per_layer_token_embd", SLOT_GIVEN_TOKENS},
    {"per_layer_model_proj", SLOT_GIVEN_PROJECT},
    {"per_layer_proj_norm", SLOT_GIVEN_NORM},
    {"inp_gate", SLOT_GATE, .branch = BRANCH_PER_LAYER},
    {"proj", SLOT_DOWN, .branch = BRANCH_PER_LAYER},
    {"post_norm", SLOT_NORM_2_POST, .branch = BRANCH_PER_LAYER},
    {"layer_output_scale", SLOT_LAYER_SCALE},
    {"altup_proj", SLOT_COPY_IN}, /* names of Gemma 3n from here on */
    {"altup_unembd_proj", SLOT_COPY_OUT},
    {"altup_router_norm", SLOT_COPY_NORM},
    {"altup_router", SLOT_COPY_ROUTER},
    {"altup_predict_coef", SLOT_COPY_PREDICT},
    {"altup_correct_coef", SLOT_COPY_CORRECT},
    {"altup_correct_scale", SLOT_COPY_SCALE},
    {"laurel_l", SLOT_UP, .branch = BRANCH_LAUREL},
    {"laurel_r", SLOT_DOWN, .branch = BRANCH_LAUREL},
    {"laurel_post_norm", SLOT_NORM_2_POST, .branch = BRANCH_LAUREL},
    {"attn_gate", SLOT_OUT_GATE, .branch = BRANCH_MIXER}, /* names of mixers from here on */
    {"shortconv.in_proj", SLOT_K, true, BRANCH_MIXER},
    {"shortconv.conv", SLOT_CONV_V, .branch = BRANCH_MIXER},
    {"shortconv.out_proj", SLOT_O, .branch = BRANCH_MIXER},
    {"ssm_in", SLOT_OUT_GATE, true, BRANCH_MIXER},
    {"ssm_in", SLOT_V, true, BRANCH_MIXER},
    {"ssm_x", SLOT_STEP_DOWN, true, BRANCH_MIXER},
    {"ssm_ba", SLOT_BETA, true, BRANCH_MIXER},
    {"ssm_conv1d", SLOT_CONV_Q, true, BRANCH_MIXER},
    {"ssm_conv1d", SLOT_CONV_V, true, BRANCH_MIXER},
    {"ssm_conv1d", SLOT_CONV_V, .branch = BRANCH_MIXER},
    {"ssm_alpha", SLOT_STEP, .branch = BRANCH_MIXER},
    {"ssm_beta", SLOT_BETA, .branch = BRANCH_MIXER},
    {"ssm_dt.bias", SLOT_STEP_SHIFT, .branch = BRANCH_MIXER},
    {"ssm_conv1d_q", SLOT_CONV_Q, .branch = BRANCH_MIXER},
    {"ssm_conv1d_k", SLOT_CONV_K, .branch = BRANCH_MIXER},
    {"ssm_conv1d_v", SLOT_CONV_V, .branch = BRANCH_MIXER},
    {"ssm_f_a", SLOT_STEP_DOWN, .branch = BRANCH_MIXER},
    {"ssm_f_b", SLOT_STEP, .branch = BRANCH_MIXER},
    {"ssm_g_a", SLOT_OUT_GATE_DOWN, .branch = BRANCH_MIXER},
    {"ssm_g_b", SLOT_OUT_GATE, .branch = BRANCH_MIXER},
    {"ssm_dt", SLOT_STEP, .branch = BRANCH_MIXER},
    {"ssm_dt_norm", SLOT_STEP_NORM, .branch = BRANCH_MIXER},
    {"ssm_b_norm", SLOT_K_NORM, .branch = BRANCH_MIXER},
    {"ssm_c_norm", SLOT_Q_NORM, .branch = BRANCH_MIXER},
    {"ssm_a", SLOT_DECAY, .branch = BRANCH_MIXER},
    {"ssm_d", SLOT_SKIP, .branch = BRANCH_MIXER},
    {"ssm_norm", SLOT_OUT_NORM, .branch = BRANCH_MIXER},
    {"ssm_out", SLOT_O, .branch = BRANCH_MIXER},
    {NULL},
};

/* Whether a file has the tensor or key that `marker` names. %zu in the name stands for any
 * layer. */
static bool has_marker(const struct gguf *gguf, const char *marker)
{
    char name[64];
    bool has = gguf_find(gguf, marker) || gguf_value(gguf, marker);
    for (size_t i = 0; strstr(marker, "%zu") && i < CONFIG_FLAGS_MAX && !has; i++) {
        snprintf(name, sizeof name, marker, i);
        has = gguf_find(gguf, name);
    }
    return has;
}

int gguf_find_architecture(const struct gguf_architecture **architecture, const struct gguf *gguf,
                           struct err *err)
{
    static const char key[] = "general.architecture";
    struct gguf_text name = {NULL, 0};
    struct buf known = {0};
    if (gguf_text(gguf, key, &name, err))
        return -1;
    if (!name.bytes)
        return err_set(err, "key '%s': expected a name such as \"llama\", found nothing", key);
    for (size_t i = 0; i < ARCHITECTURES; i++) {
        const char *marker = architectures[i].marker;
        double marked = architectures[i].marked;
        double found = marked;
        *architecture = &architectures[i];
        bool flag = false;
        if (gguf_is(name, architectures[i].name) && (!marker || has_marker(gguf, marker)) &&
            (marked == 0 || !gguf_double(gguf, marker, -1e12, 1e12, &found, NULL) ||
             (!gguf_bool(gguf, marker, &flag, NULL) && flag)) &&
            found == marked) {
            buf_release(&known);
            return 0;
        }
        if (marker)
            continue;
        buf_format(&known, "%s%s",
                   i == 0                  ? ""
                   : i + 1 < ARCHITECTURES ? ", "
                                           : " or ",
                   architectures[i].name);
    }
    if (!buf_check(&known, err))
        err_unsupported(err,
                        "key '%s': expected %s, found \"%.*s\": read other models from their "
                        "Hugging Face files",
                        key, known.bytes, (int)(name.size < 64 ? name.size : 64), name.bytes);
    buf_release(&known);
    return -1;
}
