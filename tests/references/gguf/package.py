"""Write small models with the official Python package `gguf` (with its names of tensors and keys),
and compare attn-cli's logits of these files with transformers' of the folders.

    python3 -m venv build/gguf && build/gguf/bin/pip install gguf torch transformers
    build/gguf/bin/python tests/references/gguf/package.py build/attn-cli [FAMILY...]

write.py gives the numbers in the layouts of convert_hf_to_gguf.py. Each line is a family and its
worst difference, as a fraction of the largest logit; over 1e-5 fails.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import gguf
import numpy
import torch
import transformers

import write

NAMES = ("llama", "qwen3", "gemma2", "phi3", "olmo2", "falcon", "granite", "starcoder2", "glm4",
         "cohere2", "t5", "t5-gated-untied", "mt5", "umt5", "ministral3", "mixtral", "minimax_m2",
         "qwen3_moe", "olmoe", "granitemoe", "granitemoeshared", "hunyuan_v1_moe", "ernie4_5_moe", "dots1",
         "glm4_moe", "gpt_oss", "deepseek_v2", "deepseek_v3", "glm4_moe_lite", "dbrx", "gemma4-experts")
BOUND = 1e-5  # sums in another order
ARCHITECTURES = {name: number for number, name in gguf.MODEL_ARCH_NAMES.items()}
SETTERS = {  # methods of GGUFWriter for keys of write.py
    "context_length": "context_length", "embedding_length": "embedding_length",
    "block_count": "block_count", "feed_forward_length": "feed_forward_length",
    "attention.head_count": "head_count", "attention.head_count_kv": "head_count_kv",
    "attention.key_length": "key_length", "attention.value_length": "value_length",
    "rope.dimension_count": "rope_dimension_count", "vocab_size": "vocab_size",
    "attention.sliding_window": "sliding_window", "attention.scale": "attention_scale",
    "attention.sliding_window_pattern": "sliding_window_pattern",
    "embedding_scale": "embedding_scale", "residual_scale": "residual_scale",
    "logit_scale": "logit_scale", "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope.scaling.original_context_length": "rope_scaling_orig_ctx_len",
    "decoder_block_count": "decoder_block_count", "attention.clamp_kqv": "clamp_kqv",
    "decoder_start_token_id": "decoder_start_token_id",
    "attention.relative_buckets_count": "relative_attn_buckets_count",
    "attention.layer_norm_rms_epsilon": "layer_norm_rms_eps",
    "attention.temperature_scale": "attn_temperature_scale",
    "attention.q_lora_rank": "q_lora_rank", "attention.kv_lora_rank": "kv_lora_rank",
    "attention.shared_kv_layers": "shared_kv_layers",
    "attention.key_length_swa": "key_length_swa", "attention.value_length_swa": "value_length_swa",
    "rope.dimension_count_swa": "rope_dimension_count_swa",
    "rope.freq_base_swa": "rope_freq_base_swa",
    "attention.key_length_mla": "key_length_mla",
    "attention.value_length_mla": "value_length_mla",
    "original_context_length": "orig_ctx_len", "yarn_log_multiplier": "yarn_log_mul",
}


def copy(folder, to):
    """The folder without what a GGUF file cannot say."""
    config = write.read_config(folder)
    if config["model_type"] == "gemma2":
        config["query_pre_attn_scalar"] = config["head_dim"]
    if isinstance(config.get("moe_topk"), list):
        config["moe_topk"] = config["moe_topk"][0]
        config["rope_scaling"] = None
    if config["model_type"] in ("starcoder2", "dots1"):
        config["sliding_window"] = None
    if "relative_attention_max_distance" in config:
        config["relative_attention_max_distance"] = 128
    with open(f"{to}/config.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    if "turning" in config:  # Gemma 4, whose keys differ
        shutil.copy(f"{folder}/config.json", to)
    shutil.copy(f"{folder}/model.safetensors", to)
    return config


def keys_of(config):
    """Methods and their arguments."""
    kind = config["model_type"]
    for key, number in write.sizes_of(config).items():
        yield SETTERS[key], number
    for key, ours, _ in write.KEYS.get(kind, []):
        if config.get(ours) is not None:
            yield (SETTERS.get(key, key), config[ours] if key != "expert_gating_func"
                   else gguf.ExpertGatingFuncType(config[ours]))
    if "turning" in config:
        yield "sliding_window_pattern", [kind == "sliding_attention"
                                         for kind in config["layer_types"]]
    scaling = config.get("rope_scaling") or {}
    if scaling.get("rope_type") == "yarn":
        yield "rope_scaling_type", gguf.RopeScalingType.YARN
        for key, ours, _ in write.YARN:
            if ours in scaling:
                yield f"rope_scaling_{SETTERS.get(key, key)}", scaling[ours]
    epsilon = next(key for key in write.EPSILONS if key in config)
    yield f"layer_norm_{write.EPSILONS[epsilon]}eps", config[epsilon]
    if kind not in ("falcon", "t5", "mt5", "umt5"):
        yield "rope_freq_base", config.get("rope_theta", 10000.0)


def write_model(folder, config, path):
    arch = ARCHITECTURES[write.FAMILIES[config["model_type"]][0]]
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    for key, number in keys_of(config):
        getattr(writer, f"add_{key}")(number)
    writer.add_tokenizer_model("no_vocab")
    layers = config.get("num_hidden_layers") or config["n_layer"]
    names = gguf.get_tensor_name_map(arch, layers)
    tensors = write.read_tensors(f"{folder}/model.safetensors")
    split = {}  # halves of Granite's tensors have no name before
    for name, array in write.split_heads(write.merge_experts(tensors), config):
        if name.endswith((".gates.weight", ".ups.weight")):
            _, own, prefix = write.FAMILIES[config["model_type"]]
            split[name] = write.rename(name, own, prefix)
        if name == "lm_head.weight" and config.get("tie_word_embeddings"):
            continue
        theirs = names.get_name(name.replace("router.scale", "router.proj.scale"),
                                (".weight", ".bias", ".scale")) or split.get(name)
        assert theirs, f"{name}: the package knows no such tensor"
        writer.add_tensor(theirs, numpy.ascontiguousarray(write.lay_out(name, array, config)))
    for name, array in write.extra_tensors(config) if "turning" in config else ():
        writer.add_tensor(name, array.astype("<f4"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def difference(program, folder, scratch):
    config = copy(folder, scratch)
    path = f"{scratch}/model.gguf"
    write_model(folder, config, path)
    ids = [(7 * i * i + 3 * i + 1) % config["vocab_size"] for i in range(16)]
    source = ["--source", "7,3,5,2,9"] if config.get("is_encoder_decoder") else []
    subprocess.check_call([program, "run", "-m", path, "--ids", ",".join(map(str, ids)), "--show",
                           "logits", "-o", f"{scratch}/logits.npy", *source])
    kind = transformers.AutoModelForSeq2SeqLM if source else transformers.AutoModelForCausalLM
    model = kind.from_pretrained(scratch, dtype=torch.float64, attn_implementation="eager",
                                 experts_implementation="eager")
    with torch.no_grad():
        theirs = (model(torch.tensor([[7, 3, 5, 2, 9]]), decoder_input_ids=torch.tensor([ids]))
                  if source else model(torch.tensor([ids]))).logits[0].numpy()
    return numpy.abs(numpy.load(f"{scratch}/logits.npy") - theirs).max() / numpy.abs(theirs).max()


def main():
    transformers.utils.logging.disable_progress_bar()
    for kind in transformers.DeepseekV2Config, transformers.DeepseekV3Config:
        kind.validate = lambda config: None  # which expects hidden_size = heads * something
    program, *names = sys.argv[1:]
    failed = 0
    for name in names or NAMES:
        with tempfile.TemporaryDirectory() as scratch:
            off = difference(os.path.abspath(program), f"tests/references/golden-families/{name}", scratch)
        failed += not off <= BOUND
        print(f"{name:12} {off:.2g}", flush=True)
    sys.exit(failed != 0)


main()
