"""Make models whose layers keep a state, in the shapes of `attn-cli help sizes`, with random weights
in BF16: a folder of transformers and a GGUF file by llama.cpp's converter.

    python hybrids.py FOLDER NAME LLAMA_CPP

LLAMA_CPP is a folder with llama.cpp's converter.
"""
import json
import os
import subprocess
import sys

import torch
import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
GRANITE = ["mamba"] * 32
for layer in 10, 13, 17, 27:
    GRANITE[layer] = "attention"
SHAPES = {
    "qwen3.5-0.8b": ("Qwen3_5TextConfig", {
        "vocab_size": 248320, "hidden_size": 1024, "num_hidden_layers": 24,
        "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 256,
        "intermediate_size": 3584, "linear_num_value_heads": 16, "tie_word_embeddings": True}),
    "lfm2-350m": ("Lfm2Config", {
        "vocab_size": 65536, "hidden_size": 1024, "num_hidden_layers": 16,
        "num_attention_heads": 16, "num_key_value_heads": 8, "intermediate_size": 6656,
        "full_attn_idxs": [2, 5, 8, 10, 12, 14]}),
    "granite-4.0-h-350m": ("GraniteMoeHybridConfig", {
        "vocab_size": 100352, "hidden_size": 768, "num_hidden_layers": 32,
        "num_attention_heads": 12, "num_key_value_heads": 4, "intermediate_size": 2048,
        "num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 2048,
        "mamba_n_heads": 48, "mamba_d_head": 32, "mamba_d_state": 128, "layer_types": GRANITE,
        "attention_multiplier": 0.015625, "embedding_multiplier": 12.0, "logits_scaling": 3.0,
        "residual_multiplier": 0.246, "tie_word_embeddings": True}),
}


def main():
    folder, name, llama_cpp = sys.argv[1:]
    kind, options = SHAPES[name]
    torch.manual_seed(1)
    config = getattr(transformers, kind)(**options)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    model.save_pretrained(f"{folder}/{name}.part")
    # transformers saves other names of layer types than those of the published model
    keys = {key: options[key] for key in options if key == "layer_types"}
    subprocess.run([sys.executable, f"{HERE}/../gguf/convert.py", f"{folder}/{name}.part",
                    f"{folder}/{name}-bf16.gguf", json.dumps(keys), "MOSTLY_BF16"], check=True,
                   env=os.environ | {"LLAMA_CPP": llama_cpp})
    os.rename(f"{folder}/{name}.part", f"{folder}/{name}")


main()
