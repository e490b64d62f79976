"""Convert a model folder to GGUF, with its tokenizer (a byte-level tokenizer.json, vocab.json and
merges.txt, SentencePiece's tokenizer.model, or none). FAMILIES has the values of model_type.

    /usr/bin/python3 tests/references/gguf/write.py MODEL FILE.gguf [F32|F16|BF16|Q8_0] [PRE]
    sh tests/references/gguf/freeze.sh                writes the files of this folder

Names, layouts and keys are those of llama.cpp's convert_hf_to_gguf.py. PRE is its name for the
pre-tokenizer of a tokenizer.json.
"""
import json
import os
import struct
import sys

import numpy

U8, U32, I32, F32, BOOL, STRING, ARRAY = 0, 4, 5, 6, 7, 8, 9  # types of values
TYPES = {"F32": 0, "F16": 1, "Q8_0": 8, "BF16": 30}  # types of tensors
ALIGNMENT = 32

LLAMA = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
}
NEOX = {
    "gpt_neox.embed_in": "token_embd", "gpt_neox.final_layer_norm": "output_norm",
    "embed_out": "output", "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "attention.query_key_value": "attn_qkv", "attention.dense": "attn_output",
    "mlp.dense_h_to_4h": "ffn_up", "mlp.dense_4h_to_h": "ffn_down",
}
GPT2 = {
    "wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm", "lm_head": "output",
    "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}
AFTER = LLAMA | {  # norms of outputs
    "post_attention_layernorm": "post_attention_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}
GEMMA = AFTER | {"pre_feedforward_layernorm": "ffn_norm"}
GEMMA4 = GEMMA | {
    "model.embed_tokens_per_layer": "per_layer_token_embd",
    "model.per_layer_model_projection": "per_layer_model_proj",
    "model.per_layer_projection_norm": "per_layer_proj_norm", "per_layer_input_gate": "inp_gate",
    "per_layer_projection": "proj", "post_per_layer_input_norm": "post_norm",
    "layer_scalar": "layer_output_scale", "router.proj": "ffn_gate_inp", "router": "ffn_gate_inp",
    "experts.gate_up_proj": "ffn_gate_up_exps", "experts.down_proj": "ffn_down_exps",
    "pre_feedforward_layernorm_2": "pre_ffw_norm_2",
    "post_feedforward_layernorm_1": "post_ffw_norm_1",
    "post_feedforward_layernorm_2": "post_ffw_norm_2",
}
PHI = LLAMA | {
    "model.final_layernorm": "output_norm", "self_attn.dense": "attn_output",
    "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
}
SEED = LLAMA | {"post_attention_layernorm": "post_attention_norm"}
MOE = LLAMA | {  # names of merge_experts
    "mlp.gate": "ffn_gate_inp", "mlp.experts.gate_proj": "ffn_gate_exps",
    "mlp.experts.up_proj": "ffn_up_exps", "mlp.experts.down_proj": "ffn_down_exps",
} | {f"mlp.{shared}.{part}_proj": f"ffn_{part}_shexp" for part in ("gate", "up", "down")
     for shared in ("shared_expert", "shared_experts", "shared_mlp")} | {
    "mlp.shared_expert_gate": "ffn_gate_inp_shexp", "mlp.gate.wg": "ffn_gate_inp",
    "self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm",
    "block_sparse_moe.gate": "ffn_gate_inp", "block_sparse_moe.router.layer": "ffn_gate_inp",
    "block_sparse_moe.experts.w1": "ffn_gate_exps", "block_sparse_moe.experts.w3": "ffn_up_exps",
    "block_sparse_moe.experts.w2": "ffn_down_exps", "block_sparse_moe.gates": "ffn_gate_exps",
    "block_sparse_moe.ups": "ffn_up_exps", "block_sparse_moe.output_linear": "ffn_down_exps",
    "shared_mlp.gates": "ffn_gate_shexp", "shared_mlp.ups": "ffn_up_shexp",
    "shared_mlp.output_linear": "ffn_down_shexp",
    "mlp.gate.e_score_correction": "exp_probs_b",
    "mlp.moe_statics.e_score_correction": "exp_probs_b",
    "block_sparse_moe.e_score_correction": "exp_probs_b",
}
LATENT = MOE | {
    "self_attn.q_a_proj": "attn_q_a", "self_attn.q_a_layernorm": "attn_q_a_norm",
    "self_attn.q_b_proj": "attn_q_b", "self_attn.kv_a_proj_with_mqa": "attn_kv_a_mqa",
    "self_attn.kv_a_layernorm": "attn_kv_a_norm", "self_attn.kv_b_proj": "attn_kv_b",
    "self_attn.k_b_proj": "attn_k_b", "self_attn.v_b_proj": "attn_v_b",
}
GPT_OSS = MOE | {
    "post_attention_layernorm": "post_attention_norm", "self_attn.sinks": "attn_sinks",
    "mlp.router": "ffn_gate_inp",
}
GLM_MOE = MOE | {"post_attention_layernorm": "post_attention_norm"}
HUNYUAN = LLAMA | {
    "self_attn.query_layernorm": "attn_q_norm", "self_attn.key_layernorm": "attn_k_norm",
}
GLM = LLAMA | {
    "mlp.gate_up_proj": "ffn_up", "post_self_attn_layernorm": "post_attention_norm",
    "post_mlp_layernorm": "post_ffw_norm",
}
PHI3 = LLAMA | {"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"}
STARCODER2 = LLAMA | {"mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}
BLOOM = NEOX | {
    "word_embeddings": "token_embd", "word_embeddings_layernorm": "token_embd_norm",
    "ln_f": "output_norm", "self_attention.query_key_value": "attn_qkv",
    "self_attention.dense": "attn_output", "ln_mlp": "attn_norm", "ln_attn": "attn_norm_2",
}
MPT = GPT2 | {
    "norm_1": "attn_norm", "norm_2": "ffn_norm", "norm_f": "output_norm",
    "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output",
    "ffn.up_proj": "ffn_up", "ffn.down_proj": "ffn_down",
}
DBRX = GPT2 | {
    "norm_f": "output_norm", "norm_attn_norm.norm_1": "attn_norm",
    "norm_attn_norm.norm_2": "attn_output_norm", "norm_attn_norm.attn.Wqkv": "attn_qkv",
    "norm_attn_norm.attn.out_proj": "attn_output", "ffn.router.layer": "ffn_gate_inp",
    "ffn.experts.mlp.w1": "ffn_gate_exps", "ffn.experts.mlp.v1": "ffn_up_exps",
    "ffn.experts.mlp.w2": "ffn_down_exps",
}
BERT = {
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
    "attention.self.query": "attn_q", "attention.self.key": "attn_k",
    "attention.self.value": "attn_v", "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
}
NOMIC = {
    "embeddings.word_embeddings": "token_embd", "embeddings.token_type_embeddings": "token_types",
    "emb_ln": "token_embd_norm", "attn.Wqkv": "attn_qkv", "attn.out_proj": "attn_output",
    "norm1": "attn_output_norm", "mlp.fc11": "ffn_up", "mlp.fc12": "ffn_gate",
    "mlp.fc2": "ffn_down", "norm2": "layer_output_norm",
}
DISTILBERT = {
    "distilbert.embeddings.word_embeddings": "token_embd",
    "distilbert.embeddings.position_embeddings": "position_embd",
    "distilbert.embeddings.LayerNorm": "token_embd_norm", "attention.q_lin": "attn_q",
    "attention.k_lin": "attn_k", "attention.v_lin": "attn_v", "attention.out_lin": "attn_output",
    "sa_layer_norm": "attn_output_norm", "ffn.lin1": "ffn_up", "ffn.lin2": "ffn_down",
    "output_layer_norm": "layer_output_norm",
}
T5 = {
    "shared": "token_embd", "lm_head": "output",
    "encoder.final_layer_norm": "enc.output_norm", "decoder.final_layer_norm": "dec.output_norm",
    "layer.0.layer_norm": "attn_norm", "layer.0.SelfAttention.q": "attn_q",
    "layer.0.SelfAttention.k": "attn_k", "layer.0.SelfAttention.v": "attn_v",
    "layer.0.SelfAttention.o": "attn_o",
    "layer.0.SelfAttention.relative_attention_bias": "attn_rel_b",
    "layer.1.layer_norm": "cross_attn_norm", "layer.1.EncDecAttention.q": "cross_attn_q",
    "layer.1.EncDecAttention.k": "cross_attn_k", "layer.1.EncDecAttention.v": "cross_attn_v",
    "layer.1.EncDecAttention.o": "cross_attn_o",
    "layer.1.EncDecAttention.relative_attention_bias": "cross_attn_rel_b",
    "layer.2.layer_norm": "ffn_norm", "layer.2.DenseReluDense.wi": "ffn_up",
    "layer.2.DenseReluDense.wi_0": "ffn_gate", "layer.2.DenseReluDense.wi_1": "ffn_up",
    "layer.2.DenseReluDense.wo": "ffn_down",
}
FAMILIES = {  # architecture, names, prefix of layers
    "gpt2": ("gpt2", GPT2, "h."), "gpt_bigcode": ("starcoder", GPT2, "h."),
    "gpt_neox": ("gptneox", NEOX, "gpt_neox.layers."),
    "bert": ("bert", BERT, "encoder.layer."),
    "nomic_bert": ("nomic-bert", NOMIC, "encoder.layers."),
    "distilbert": ("bert", DISTILBERT, "distilbert.transformer.layer."), "mpt": ("mpt", MPT, "blocks."), "dbrx": ("dbrx", DBRX, "blocks."), "bloom": ("bloom", BLOOM, "h."), "falcon": ("falcon", BLOOM, "h."),
} | {kind: (name, names, "model.layers.") for kind, name, names in (
    ("llama", "llama", LLAMA), ("qwen2", "qwen2", LLAMA), ("qwen3", "qwen3", LLAMA),
    ("granite", "granite", LLAMA), ("smollm3", "smollm3", LLAMA), ("olmo2", "olmo2", AFTER),
    ("gemma", "gemma", LLAMA), ("gemma2", "gemma2", GEMMA), ("gemma3_text", "gemma3", GEMMA),
    ("gemma4_text", "gemma4", GEMMA4),
    ("phi", "phi2", PHI), ("phi3", "phi3", PHI3), ("stablelm", "stablelm", LLAMA),
    ("starcoder2", "starcoder2", STARCODER2), ("olmo", "olmo", LLAMA), ("olmo3", "olmo2", AFTER),
    ("exaone4", "exaone4", AFTER), ("seed_oss", "seed_oss", SEED), ("arcee", "arcee", LLAMA),
    ("hunyuan_v1_dense", "hunyuan-dense", HUNYUAN), ("ernie4_5", "ernie4_5", LLAMA),
    ("glm", "chatglm", GLM), ("glm4", "glm4", GLM), ("cohere", "command-r", LLAMA),
    ("cohere2", "cohere2", LLAMA), ("nemotron", "nemotron", LLAMA),
    ("ministral3", "mistral3", LLAMA), ("mixtral", "llama", MOE), ("minimax_m2", "minimax-m2", MOE),
    ("qwen2_moe", "qwen2moe", MOE), ("qwen3_moe", "qwen3moe", MOE),
    ("olmoe", "olmoe", MOE), ("granitemoe", "granitemoe", MOE),
    ("granitemoeshared", "granitemoe", MOE), ("hunyuan_v1_moe", "hunyuan-moe", MOE),
    ("ernie4_5_moe", "ernie4_5-moe", MOE), ("dots1", "dots1", MOE),
    ("glm4_moe", "glm4moe", GLM_MOE), ("gpt_oss", "gpt-oss", GPT_OSS),
    ("deepseek_v2", "deepseek2", LATENT), ("deepseek_v3", "deepseek2", LATENT),
    ("glm4_moe_lite", "deepseek2", LATENT),
)} | {kind: ("t5", T5, "") for kind in ("t5", "mt5", "umt5")}
PAIRED = "llama", "ministral3", "mixtral", "granitemoe", "granitemoeshared", "granite", "smollm3", "olmo", "arcee"  # rows of queries and keys are in pairs
KEYS_OF_T5 = [("decoder_block_count", "num_decoder_layers", U32),
              ("attention.layer_norm_rms_epsilon", "layer_norm_epsilon", F32),
              ("attention.relative_buckets_count", "relative_attention_num_buckets", U32),
              ("decoder_start_token_id", "decoder_start_token_id", U32)]
EPSILONS = {"rms_norm_eps": "rms_", "layer_norm_eps": "", "layer_norm_epsilon": "",
            "norm_epsilon": "", "norm_eps": ""}
WINDOWED = "gpt_oss", "gemma2", "gemma3_text", "gemma4_text", "phi3", "olmo3", "exaone4", "cohere2"
# Further keys: theirs, ours, type.
KEYS = {
    "gpt_neox": [("use_parallel_residual", "use_parallel_residual", BOOL)],
    "stablelm": [("use_parallel_residual", "use_parallel_residual", BOOL)],
    "granite": [("attention.scale", "attention_multiplier", F32),
                ("embedding_scale", "embedding_multiplier", F32),
                ("residual_scale", "residual_multiplier", F32),
                ("logit_scale", "logits_scaling", F32)],
    "gemma2": [("attn_logit_softcapping", "attn_logit_softcapping", F32),
               ("final_logit_softcapping", "final_logit_softcapping", F32)],
    "gemma3_text": [("attention.sliding_window_pattern", "sliding_window_pattern", U32),
                    ("rope.freq_base_swa", "rope_local_base_freq", F32)],
    "gemma4_text": [
        ("final_logit_softcapping", "final_logit_softcapping", F32),
        ("attention.shared_kv_layers", "num_kv_shared_layers", U32),
        ("embedding_length_per_layer_input", "hidden_size_per_layer_input", U32),
        ("expert_count", "num_experts", U32), ("expert_used_count", "top_k_experts", U32),
        ("expert_feed_forward_length", "moe_intermediate_size", U32),
        ("attention.key_length_swa", "head_dim", U32),
        ("attention.value_length_swa", "head_dim", U32),
        ("rope.dimension_count_swa", "head_dim", U32),
        ("rope.freq_base_swa", "rope_theta_swa", F32)],
    "olmo": [("attention.clamp_kqv", "clip_qkv", F32)],
    "mpt": [("attention.clamp_kqv", "clip_qkv", F32),
            ("attention.max_alibi_bias", "alibi_bias_max", F32)],
    "cohere": [("logit_scale", "logit_scale", F32)],
    "cohere2": [("logit_scale", "logit_scale", F32),
                ("attention.sliding_window_pattern", "sliding_window_pattern", U32)],
    "phi3": [("rope.scaling.original_context_length", "original_max_position_embeddings", U32)],
    "t5": KEYS_OF_T5, "mt5": KEYS_OF_T5, "umt5": KEYS_OF_T5,
}
def expert_keys(count, used, *more):
    return [("expert_count", count, U32), ("expert_used_count", used, U32), *more]


SIZE = "expert_feed_forward_length", "moe_intermediate_size", U32
GROUPED = expert_keys(
    "n_routed_experts", "num_experts_per_tok", SIZE,
    ("leading_dense_block_count", "first_k_dense_replace", U32),
    ("expert_shared_count", "n_shared_experts", U32),
    ("expert_weights_scale", "routed_scaling_factor", F32),
    ("expert_weights_norm", "norm_topk_prob", BOOL), ("expert_group_count", "n_group", U32),
    ("expert_group_used_count", "topk_group", U32))
NEXT = "nextn_predict_layers", "num_nextn_predict_layers", U32
LATENT_KEYS = GROUPED + [
    ("attention.q_lora_rank", "q_lora_rank", U32), ("attention.kv_lora_rank", "kv_lora_rank", U32),
    ("attention.key_length_mla", "key_length_mla", U32),
    ("attention.value_length_mla", "value_length_mla", U32),
    ("expert_gating_func", "expert_gating_func", U32)]
GRANITE_MOE = KEYS["granite"] + expert_keys(
    "num_local_experts", "num_experts_per_tok",
    ("expert_shared_feed_forward_length", "shared_intermediate_size", U32))
KEYS |= {
    "ministral3": [("attention.temperature_scale", "llama_4_scaling_beta", F32)],
    "mixtral": expert_keys("num_local_experts", "num_experts_per_tok"),
    "minimax_m2": expert_keys("num_local_experts", "num_experts_per_tok",
                              ("expert_feed_forward_length", "intermediate_size", U32)),
    "qwen2_moe": expert_keys(
        "num_experts", "num_experts_per_tok", SIZE,
        ("expert_shared_feed_forward_length", "shared_expert_intermediate_size", U32)),
    "qwen3_moe": expert_keys("num_experts", "num_experts_per_tok", SIZE),
    "olmoe": expert_keys("num_experts", "num_experts_per_tok",
                         ("attention.clamp_kqv", "clip_qkv", F32)),
    "granitemoe": GRANITE_MOE, "granitemoeshared": GRANITE_MOE,
    "hunyuan_v1_moe": expert_keys("num_experts", "moe_topk"),
    "ernie4_5_moe": expert_keys(
        "moe_num_experts", "moe_k", SIZE, ("interleave_moe_layer_step", "moe_layer_interval", U32),
        ("leading_dense_block_count", "moe_layer_start_index", U32),
        ("expert_shared_count", "moe_num_shared_experts", U32)),
    "dots1": GROUPED, "glm4_moe": GROUPED + [NEXT], "deepseek_v2": LATENT_KEYS,
    "deepseek_v3": LATENT_KEYS, "glm4_moe_lite": LATENT_KEYS,
    "gpt_oss": expert_keys("num_local_experts", "num_experts_per_tok"),
    "dbrx": expert_keys("moe_num_experts", "moe_top_k",
                        ("attention.clamp_kqv", "clip_qkv", F32)),
}
YARN = [("factor", "factor", F32),
        ("original_context_length", "original_max_position_embeddings", U32),
        ("yarn_attn_factor", "attention_factor", F32), ("yarn_beta_fast", "beta_fast", F32),
        ("yarn_beta_slow", "beta_slow", F32), ("yarn_log_multiplier", "log_multiplier", F32)]


def read_tensors(path):
    """Tensors by name: views into the mapped file, for BF16 copies."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    data = numpy.memmap(path, numpy.uint8, "r", 8 + size)
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in ("F32", "F16", "BF16"):
            continue
        if name.startswith(("pooler.", "vocab_")):
            continue
        if name.endswith((".masked_bias", ".inv_freq", ".attn.bias")):
            continue
        raw = data[slice(*entry["data_offsets"])]
        if entry["dtype"] == "BF16":
            array = (raw.view("<u2").astype(numpy.uint32) << 16).view("<f4")
        else:
            array = raw.view("<f4" if entry["dtype"] == "F32" else "<f2")
        yield name, array.astype(numpy.float32, copy=False).reshape(entry["shape"])


def merge_experts(tensors):
    """One tensor for all experts, gates and the other inputs apart."""
    merged = {}
    for name, array in tensors:
        name = name.replace("e_score_correction_bias", "e_score_correction.bias")
        head, _, tail = name.partition(".experts.")
        part, _, ending = tail.rpartition("_proj")
        if tail.startswith("mlp.") or head[-1].isdigit():  # DBRX, Gemma 4: all experts in one
            yield name, array
        elif part and not ending.startswith("."):  # stacked, without an ending
            ending = ".bias" if ending else ".weight"
            array = array if ending == ".bias" else array.swapaxes(1, 2)
            halves = (array[:, ::2], array[:, 1::2]) if part == "gate_up" else [array]
            for which, half in zip(part.split("_"), halves):
                yield f"{head}.experts.{which}_proj{ending}", half
        elif tail:
            merged.setdefault(f"{head}.experts.{tail.split('.', 1)[1]}", []).append(
                (int(tail.split(".")[0]), array))
        elif name.endswith("input_linear.weight"):
            for part, half in zip(("gates", "ups"), numpy.split(array, 2, -2)):
                yield name.replace("input_linear", part), half
        else:
            yield name, array.reshape(-1) if "e_score" in name else array
    for name, experts in merged.items():
        yield name, numpy.stack([array for _, array in sorted(experts, key=lambda e: e[0])])


def split_heads(tensors, config):
    """Of latent attention: matrices of keys, transposed, and of values, for each head."""
    for name, array in tensors:
        if name.endswith("kv_b_proj.weight") and "key_length_mla" in config:
            parts = array.reshape(config["num_attention_heads"], -1, array.shape[1])
            keys, values = numpy.split(parts, [config["qk_nope_head_dim"]], 1)
            yield name.replace("kv_b", "k_b"), keys.swapaxes(1, 2)
            yield name.replace("kv_b", "v_b"), values
        elif ".experts.mlp." in name:
            stacked = array.reshape(config["moe_num_experts"], -1, array.shape[1])
            yield name + ".weight", stacked.swapaxes(1, 2) if name.endswith("w2") else stacked
        elif name.endswith("router.per_expert_scale"):
            yield name.replace("router.per_expert_scale", "experts.down_proj.scale"), array
        else:
            bare = name.endswith(("sinks", "layer_scalar", "s.gate_up_proj", "s.down_proj"))
            yield name.replace("language_model.", "") + ".weight" * bare, array


def settle_gemma4(config):
    """What convert_hf_to_gguf.py makes of the keys."""
    kinds = config["layer_types"]
    full = kinds.index("full_attention")
    sizes = (config.get("per_layer_config") or {}).get(str(full), {})
    wide = config.get("global_head_dim") or sizes["head_dim"]
    rotary = config.pop("rope_parameters")
    config |= {"key_length": wide, "value_length": wide,
               "rope_theta": rotary["full_attention"]["rope_theta"],
               "rope_theta_swa": rotary["sliding_attention"]["rope_theta"],
               "turning": int(wide * rotary["full_attention"]["partial_rotary_factor"] / 2)}
    first = len(kinds) - config["num_kv_shared_layers"]
    if config["use_double_wide_mlp"]:
        config["intermediate_size"] = [config["intermediate_size"] * (1 + (i >= first))
                                       for i in range(len(kinds))]
    heads = sizes.get("num_key_value_heads") or config.get("num_global_key_value_heads")
    if heads:
        config["num_key_value_heads"] = [
            heads if kind == "full_attention" else config["num_key_value_heads"] for kind in kinds]


def read_config(folder):
    with open(f"{folder}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    if config["model_type"] == "gemma4":
        config = config["text_config"]
    if config["model_type"] == "gemma4_text":
        settle_gemma4(config)
    if config["model_type"] == "glm4_moe":
        config.setdefault("partial_rotary_factor", 0.5)
    if config["model_type"] == "ministral3":
        scaling = config["rope_parameters"]
        config |= {"rope_theta": scaling["rope_theta"],
                   "llama_4_scaling_beta": scaling["llama_4_scaling_beta"],
                   "rope_scaling": scaling | {"log_multiplier": scaling["mscale_all_dim"]}}
    if config["model_type"] == "minimax_m2":
        config["partial_rotary_factor"] = config["rotary_dim"] / config["head_dim"]
    if config["model_type"] == "nomic_bert":
        config |= {"rope_theta": config["rotary_emb_base"],
                   "n_positions": config["max_trained_positions"]}
    if config["model_type"] == "distilbert":
        config |= {"hidden_size": config["dim"], "n_head": config["n_heads"],
                   "n_layer": config["n_layers"], "n_inner": config["hidden_dim"],
                   "layer_norm_eps": 1e-12}
    if config["model_type"] == "mpt":
        config |= {"n_embd": config["d_model"], "n_head": config["n_heads"],
                   "n_layer": config["n_layers"], "n_positions": config["max_seq_len"],
                   "alibi_bias_max": 8, "clip_qkv": config["attn_config"].get("clip_qkv")}
    if config["model_type"] == "dbrx":
        config |= config["attn_config"] | config["ffn_config"] | {
            "model_type": "dbrx", "hidden_size": config["d_model"],
            "num_attention_heads": config["n_heads"], "num_hidden_layers": config["n_layers"],
            "n_positions": config["max_seq_len"], "layer_norm_epsilon": 1e-5}
        config["num_key_value_heads"] = config["kv_n_heads"]
    if FAMILIES[config["model_type"]][1] is T5:
        config |= {"hidden_size": config["d_model"], "num_attention_heads": config["num_heads"],
                   "num_hidden_layers": config["num_layers"], "n_positions": 512,
                   "head_dim": config["d_kv"], "intermediate_size": config["d_ff"]}
        config.setdefault("layer_norm_epsilon", 1e-6)
    if "kv_lora_rank" in config:
        scaling = config.get("rope_scaling") or {}
        config.setdefault("first_k_dense_replace", 1)
        width, values = config["qk_nope_head_dim"] + config["qk_rope_head_dim"], "v_head_dim"
        if scaling.get("type") == "yarn":
            scaling |= {"rope_type": "yarn", "log_multiplier": 0.1 * scaling["mscale_all_dim"]}
        if config["model_type"] != "deepseek_v2":  # as newer files have it
            config |= {"expert_gating_func": 2, "key_length_mla": width,
                       "value_length_mla": config["v_head_dim"]}
            width, values = config["kv_lora_rank"] + config["qk_rope_head_dim"], "kv_lora_rank"
        config |= {"key_length": width, "value_length": config[values]}
    if config["model_type"] == "glm4_moe":
        config["num_nextn_predict_layers"] = 1
    return config


def rename(name, names, layers):
    name = name.removeprefix("transformer.")
    stem, ending = name.rsplit(".", 1)
    stack, *rest = stem.split(".block.")
    if rest:  # of T5, whose encoder has no cross-attention
        layer, stem = rest[0].split(".", 1)
        if stack == "encoder":
            stem = stem.replace("layer.1.", "layer.2.")
        return f"{stack[:3]}.blk.{layer}.{names[stem]}.{ending}"
    if names is T5:
        return f"{names[stem]}.{ending}"
    if not stem.startswith(layers):
        return f"{names[stem]}.{ending}"
    layer, stem = stem[len(layers):].split(".", 1)
    return f"blk.{layer}.{names[stem]}.{ending}"


def key_heads(config):
    if "key_length_mla" in config:
        return 1
    if config["model_type"] == "falcon" and not config["new_decoder_architecture"]:
        return 1
    if config.get("multi_query") and config["model_type"] == "gpt_bigcode":
        return 1
    heads = config.get("num_attention_heads") or config["n_head"]
    return config.get("num_key_value_heads") or config.get("num_kv_heads") or heads


def lay_out(name, array, config):
    """The tensor in the layout of convert_hf_to_gguf.py."""
    kind = config["model_type"]
    part = name.split(".")[-2]
    if kind == "gpt2" and part.startswith("c_") and array.ndim == 2:
        return array.T
    if kind == "gpt2":
        return array
    heads = config.get("num_attention_heads") or config["n_head"]
    if kind in PAIRED and part in ("q_proj", "k_proj"):
        count = heads if part == "q_proj" else config.get("num_key_value_heads", heads)
        halves = array.reshape(count, 2, array.shape[0] // count // 2, *array.shape[1:])
        return halves.swapaxes(1, 2).reshape(array.shape)
    if part == "query_key_value":
        groups = key_heads(config)
        split = array.reshape(groups, heads // groups + 2, -1, *array.shape[1:])
        parts = split[:, :-2], split[:, -2:-1], split[:, -1:]
        return numpy.concatenate([part.reshape(-1, *array.shape[1:]) for part in parts])
    if kind in ("gemma", "gemma2", "gemma3_text", "nemotron") and name.endswith("norm.weight"):
        return array + numpy.float32(1)
    return array


def bf16(array):
    """Round to nearest, ties to even."""
    bits = numpy.ascontiguousarray(array).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()


def q8_0(array):
    """Blocks of 32: a scale in F16 and 32 integers, halves rounded away from zero."""
    blocks = array.reshape(-1, 32)
    scales = numpy.abs(blocks).max(1, keepdims=True) / numpy.float32(127)
    inverse = numpy.divide(1, scales, out=numpy.zeros_like(scales), where=scales != 0)
    scaled = blocks * inverse
    whole = numpy.trunc(scaled + numpy.copysign(numpy.float32(0.5), scaled)).astype(numpy.int8)
    return numpy.concatenate([scales.astype("<f2").view(numpy.uint8), whole.view(numpy.uint8)],
                             1).tobytes()


def type_of(name, array, dtype):
    """Only matrices get the type; other tensors are always F32."""
    if array.ndim < 2 or name == "position_embd.weight":
        return "F32"
    return "F16" if dtype == "Q8_0" and array.shape[-1] % 32 else dtype


def size_of(array, dtype):
    """Size in bytes, with the padding before the next tensor."""
    size = array.size // 32 * 34 if dtype == "Q8_0" else array.size * (4 if dtype == "F32" else 2)
    return size + -size % ALIGNMENT


def encode(array, dtype):
    array = numpy.ascontiguousarray(array, "<f4")
    ways = {"F32": numpy.ndarray.tobytes, "BF16": bf16, "Q8_0": q8_0,
            "F16": lambda array: array.astype("<f2").tobytes()}
    numbers = ways[dtype](array)
    return numbers + bytes(-len(numbers) % ALIGNMENT)


def string(text):
    text = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(text)) + text


def pack(kind, what):
    if kind == STRING:
        return string(what)
    return struct.pack({U8: "<B", U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], what)


def value(key, kind, what):
    return string(key) + struct.pack("<I", kind) + pack(kind, what)


def array_of(key, kind, items):
    head = string(key) + struct.pack("<IIQ", ARRAY, kind, len(items))
    return head + b"".join(pack(kind, item) for item in items)


def rope_factors(config):
    """The factors by which Llama 3 divides rotary frequencies."""
    scaling = config["rope_scaling"]
    factor, old = scaling["factor"], scaling["original_max_position_embeddings"]
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    width = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    waves = 2 * numpy.pi * config["rope_theta"] ** (numpy.arange(0, width, 2) / width)
    smooth = (old / waves - low) / (high - low)
    between = 1 / ((1 - smooth) / factor + smooth)
    return numpy.where(waves < old / high, 1, numpy.where(waves > old / low, factor, between))


def extra_tensors(config):
    scaling = config.get("rope_scaling") or {}
    if "turning" in config:  # pairs that turn; the others stand still
        still = config["key_length"] // 2 - config["turning"]
        yield "rope_freqs.weight", numpy.array([1.0] * config["turning"] + [1e30] * still)
    if scaling.get("rope_type") == "llama3":
        yield "rope_freqs.weight", rope_factors(config)
    if scaling.get("type") == "longrope":
        for length in "long", "short":
            factors = numpy.array(scaling[f"{length}_factor"], "<f4")
            yield f"rope_factors_{length}.weight", factors


def rotary_base(config, scaling):
    base, width = config.get("rope_theta", 10000.0), config.get("head_dim", 0)
    return base * scaling["alpha"] ** (width / (width - 2)) if "alpha" in scaling else base


def rotary_values(name, config):
    scaling = config.get("rope_scaling") or {}
    if "linear" in (scaling.get("type"), scaling.get("rope_type")):
        yield value(f"{name}.rope.scaling.type", STRING, "linear")
        yield value(f"{name}.rope.scaling.factor", F32, scaling["factor"])
    if scaling.get("rope_type") == "yarn":
        yield value(f"{name}.rope.scaling.type", STRING, "yarn")
        for key, ours, kind in YARN:
            if ours in scaling:
                yield value(f"{name}.rope.scaling.{key}", kind, scaling[ours])
    if scaling.get("type") == "longrope":
        old = config["original_max_position_embeddings"]
        ratio = config["max_position_embeddings"] / old
        yield value(f"{name}.rope.scaling.attn_factor", F32,
                    numpy.sqrt(1 + numpy.log(ratio) / numpy.log(old)))
    if name not in ("gpt2", "starcoder", "bert", "bloom", "mpt", "falcon", "phi2", "t5"):
        yield value(f"{name}.rope.freq_base", F32, rotary_base(config, scaling))


def sizes_of(config):
    kind = config["model_type"]
    hidden = config.get("hidden_size") or config["n_embd"]
    heads = config.get("num_attention_heads") or config["n_head"]
    width = config.get("head_dim") or hidden // heads
    share = config.get("rotary_pct", config.get("partial_rotary_factor", 1))
    lengths = config.get("max_position_embeddings"), config.get("n_positions")
    inner = "intermediate_size", "ffn_hidden_size", "n_inner"
    sizes = {"context_length": next(filter(None, lengths), hidden if kind == "bloom" else 1024),
             "embedding_length": hidden,
             "block_count": (config.get("num_hidden_layers") or config["n_layer"])
             + config.get("num_nextn_predict_layers", 0),
             "attention.head_count": heads,
             "feed_forward_length": next(filter(None, map(config.get, inner)), 4 * hidden)}
    if kind not in ("gpt2", "gpt_neox", "nomic_bert"):
        sizes["attention.head_count_kv"] = key_heads(config)
    if kind not in ("gpt2", "gpt_neox", "gpt_bigcode", "bert", "distilbert", "bloom", "mpt", "falcon", "phi",
                    "phi3", "stablelm", "nomic_bert"):
        sizes |= {"attention.key_length": config.get("key_length", width),
                  "attention.value_length": config.get("value_length", width)}
    if kind not in ("gpt2", "gpt_bigcode", "bert", "distilbert", "bloom", "mpt", "falcon", "t5", "mt5",
                    "umt5", "nomic_bert"):
        sizes["rope.dimension_count"] = config.get("qk_rope_head_dim") or (
            config["key_length"] if kind == "gemma4_text" else int(width * share))
    if kind in WINDOWED:
        sizes["attention.sliding_window"] = config["sliding_window"] or 0
    return sizes | {"vocab_size": config["vocab_size"]}


def config_values(config):
    kind = config["model_type"]
    name = FAMILIES[kind][0]
    yield value("general.architecture", STRING, name)
    for key, ours, number in KEYS.get(kind, []):
        what = config.get(ours)
        if what is not None:
            yield value(f"{name}.{key}", number, what[0] if isinstance(what, list) else what)
    if kind in ("olmo3", "exaone4", "gemma4_text") and config.get("sliding_window"):
        yield array_of(f"{name}.attention.sliding_window_pattern", BOOL,
                       [layer == "sliding_attention" for layer in config["layer_types"]])
    if config.get("is_causal") is False:
        yield value(f"{name}.attention.causal", BOOL, False)
    yield from rotary_values(name, config)
    for key, size in sizes_of(config).items():
        write_size = array_of if isinstance(size, list) else value
        yield write_size(f"{name}.{key}", U32, size)
    ours = next((key for key in EPSILONS if key in config), "layer_norm_epsilon")
    yield value(f"{name}.attention.layer_norm_{EPSILONS[ours]}epsilon", F32,
                config.get(ours, 1e-12 if kind == "bert" else 1e-5))
    for key in "bos_token_id", "eos_token_id":
        if isinstance(config.get(key), int):
            yield value(f"tokenizer.ggml.{key}", U32, config[key])


def byte_level_values(document, pre, count):
    model = document["model"]
    words = {number: (word, 1) for word, number in model["vocab"].items()}
    for token in document["added_tokens"]:
        words[token["id"]] = token["content"], 3 if token["special"] else 4
    count = max(count, max(words) + 1)
    listed = [words.get(i, (f"[PAD{i}]", 5)) for i in range(count)]
    yield value("tokenizer.ggml.model", STRING, "gpt2")
    yield value("tokenizer.ggml.pre", STRING, pre)
    yield array_of("tokenizer.ggml.tokens", STRING, [word for word, _ in listed])
    yield array_of("tokenizer.ggml.token_type", I32, [kind for _, kind in listed])
    yield array_of("tokenizer.ggml.merges", STRING,
                   [m if isinstance(m, str) else " ".join(m) for m in model["merges"]])


def gemma_values(document):
    """Gemma 4's: pairs of whole texts, with ▁ for blanks."""
    words = {number: (word, 6 if word.startswith("<0x") else 1)
             for word, number in document["model"]["vocab"].items()}
    for token in document["added_tokens"]:
        words[token["id"]] = token["content"], 3 if token["special"] else 4
    listed = [words[i] for i in range(len(words))]
    yield value("tokenizer.ggml.model", STRING, "gemma4")
    yield array_of("tokenizer.ggml.tokens", STRING, [word for word, _ in listed])
    yield array_of("tokenizer.ggml.scores", F32, [-1000.0] * len(listed))
    yield array_of("tokenizer.ggml.token_type", I32, [kind for _, kind in listed])
    yield array_of("tokenizer.ggml.merges", STRING,
                   [" ".join(pair) for pair in document["model"]["merges"]])
    names = [word for word, _ in listed]
    yield value("tokenizer.ggml.unknown_token_id", U32, names.index("<unk>"))


def wordpiece_values(document, count):
    """BERT's: ▁ before tokens that begin a word, and no ## before the others."""
    special = {token["id"]: token["content"] for token in document["added_tokens"]}
    words = {number: word for word, number in document["model"]["vocab"].items()} | special
    listed = [words.get(i, f"[PAD{i}]") for i in range(max(count, max(words) + 1))]
    yield value("tokenizer.ggml.model", STRING, "bert")
    yield array_of("tokenizer.ggml.tokens", STRING,
                   [word if i in special or i not in words else word.removeprefix("##")
                    if word.startswith("##") else "▁" + word for i, word in enumerate(listed)])
    yield array_of("tokenizer.ggml.token_type", I32,
                   [3 if i in special else 1 if i in words else 5 for i in range(len(listed))])
    for key, name in (("unknown", "[UNK]"), ("cls", "[CLS]"), ("seperator", "[SEP]")):
        yield value(f"tokenizer.ggml.{key}_token_id", U32, listed.index(name))


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            what, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            what, at = data[at:at + size], at + size
        yield key >> 3, what


def sentencepiece_values(data):
    pieces, trainer, rules = [], {}, {}
    for number, what in fields(data):
        if number == 1:
            piece = dict(fields(what))
            text, kind = piece[1], piece.get(3, 1)
            pieces.append((text, struct.unpack("<f", piece.get(2, bytes(4)))[0], kind))
        if number == 2:
            trainer = dict(fields(what))
        if number == 3:
            rules = dict(fields(what))
    if trainer.get(3, 1) == 2:  # BPE: user-defined tokens are matched in the unchanged text
        pieces = [(text.replace("▁".encode(), b" ") if kind == 4 else text, score, kind)
                  for text, score, kind in pieces]
        yield value("tokenizer.ggml.model", STRING, "llama")
    else:
        yield value("tokenizer.ggml.model", STRING, "t5")
        yield value("tokenizer.ggml.add_eos_token", BOOL, False)
    if rules.get(2):
        yield array_of("tokenizer.ggml.precompiled_charsmap", U8, rules[2])
    yield array_of("tokenizer.ggml.tokens", STRING, [text for text, _, _ in pieces])
    yield array_of("tokenizer.ggml.scores", F32, [score for _, score, _ in pieces])
    yield array_of("tokenizer.ggml.token_type", I32, [kind for _, _, kind in pieces])
    yield value("tokenizer.ggml.add_space_prefix", BOOL, bool(rules.get(3, 1)))
    yield value("tokenizer.ggml.remove_extra_whitespaces", BOOL, bool(rules.get(4, 1)))


def tokenizer_values(folder, pre, count):
    if os.path.exists(f"{folder}/tokenizer.model"):
        with open(f"{folder}/tokenizer.model", "rb") as file:
            return sentencepiece_values(file.read())
    if os.path.exists(f"{folder}/tokenizer.json"):
        with open(f"{folder}/tokenizer.json", encoding="utf-8") as file:
            document = json.load(file)
        if document["model"].get("byte_fallback"):
            return gemma_values(document)
        if document["model"]["type"] == "WordPiece":
            return wordpiece_values(document, count)
        return byte_level_values(document, pre, count)
    if os.path.exists(f"{folder}/merges.txt"):
        with open(f"{folder}/vocab.json", encoding="utf-8") as file:
            vocab = json.load(file)
        with open(f"{folder}/merges.txt", encoding="utf-8") as file:
            merges = [line for line in file.read().split("\n") if line and line[:2] != "#v"]
        document = {"model": {"vocab": vocab, "merges": merges}, "added_tokens": []}
        return byte_level_values(document, pre, count)
    return [value("tokenizer.ggml.model", STRING, "no_vocab")]


def write(path, values, tensors, dtype):
    infos, offset = [], 0
    for name, array in tensors:
        kind = type_of(name, array, dtype)
        sizes = struct.pack(f"<I{array.ndim}Q", array.ndim, *reversed(array.shape))
        infos.append(string(name) + sizes + struct.pack("<IQ", TYPES[kind], offset))
        offset += size_of(array, kind)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(values)) + b"".join(values + infos)
    with open(path, "wb") as file:
        file.write(header + bytes(-len(header) % ALIGNMENT))
        for name, array in tensors:
            file.write(encode(array, type_of(name, array, dtype)))


def fuse(tensors):
    """Queries, keys and values in one tensor, as convert_hf_to_gguf.py --fuse-qkv writes them."""
    named = dict(tensors)
    return [(name.replace("attn_q.", "attn_qkv."),
             numpy.concatenate([named[name.replace("attn_q.", f"attn_{part}.")] for part in "qkv"])
             if "attn_q." in name else array)
            for name, array in tensors if "attn_k." not in name and "attn_v." not in name]


def count_words(folder):
    """The vocabulary size of a tokenizer."""
    if os.path.exists(f"{folder}/tokenizer.model"):
        with open(f"{folder}/tokenizer.model", "rb") as file:
            return sum(number == 1 for number, _ in fields(file.read()))
    with open(f"{folder}/tokenizer.json", encoding="utf-8") as file:
        document = json.load(file)
    ids = [*document["model"]["vocab"].values(), *(at["id"] for at in document["added_tokens"])]
    return max(ids) + 1


def small_model(words):
    """A GPT-2 of one channel, for a tokenizer without a model."""
    config = {"model_type": "gpt2", "vocab_size": words, "n_positions": 4, "n_embd": 1,
              "n_layer": 1, "n_head": 1, "n_inner": 1, "bos_token_id": 0, "eos_token_id": 1}
    shapes = {"wte.weight": [words, 1], "wpe.weight": [4, 1], "h.0.attn.c_attn.weight": [1, 3],
              "h.0.attn.c_attn.bias": [3]}
    for name in "attn.c_proj", "mlp.c_fc", "mlp.c_proj":
        shapes |= {f"h.0.{name}.weight": [1, 1], f"h.0.{name}.bias": [1]}
    for name in "h.0.ln_1", "h.0.ln_2", "ln_f":
        shapes |= {f"{name}.weight": [1], f"{name}.bias": [1]}
    return config, [(name, numpy.zeros(shape, "<f4")) for name, shape in shapes.items()]


def main():
    folder, path, dtype, pre = [*sys.argv[1:], *["F32", "gpt-2"][len(sys.argv) - 3:]]
    if os.path.exists(f"{folder}/config.json"):
        config = read_config(folder)
        read = read_tensors(f"{folder}/model.safetensors")
        tensors = [(name, array) for name, array in split_heads(merge_experts(read), config)
                   if not (name == "lm_head.weight" and config.get("tie_word_embeddings"))]
    else:
        config, tensors = small_model(count_words(folder))
    _, names, layers = FAMILIES[config["model_type"]]
    tensors = [(rename(name, names, layers), lay_out(name, array, config))
               for name, array in tensors]
    if config.get("num_nextn_predict_layers"):  # with the numbers of layer 1
        tensors += [(name.replace("blk.1.", "blk.2."), array) for name, array in tensors
                    if name.startswith("blk.1.")]
        tensors.append(("blk.2.nextn.enorm.weight", tensors[-1][1]))
    if "fused" in path:
        tensors = fuse(tensors)
    tensors += extra_tensors(config)
    values = [*config_values(config), *tokenizer_values(folder, pre, config["vocab_size"])]
    write(path, values, tensors, dtype)


if __name__ == "__main__":
    main()
