"""A checkpoint of Hugging Face's for llama.cpp, as `attn-cli bench --save` writes it: gpt2, llama or
qwen2.

    python3 gguf.py MODEL FOLDER      write f32.gguf, f16.gguf and bf16.gguf, and the last of them
                                      as bf16/model.safetensors, too

GGUF, version 3: a header, keys with values, what tensors there are, their bytes on multiples of 32.
No vocabulary: llama.cpp takes ids as they are.
"""
import json
import os
import shutil
import struct
import sys

import numpy

from checkpoint import map_tensors, read_config

U32, F32, STRING = 4, 6, 8  # kinds of values
TYPES = {"F32": 0, "F16": 1, "BF16": 30}  # of tensors
ALIGNMENT = 32

NAMES = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    "wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm",
    "ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
    "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}


def name_of(name):
    """model.layers.3.mlp.up_proj.weight, or h.3.mlp.c_fc.weight, as blk.3.ffn_up.weight"""
    stem, ending = name.rsplit(".", 1)
    for layers in "model.layers.", "h.":
        if stem.startswith(layers):
            layer, stem = stem[len(layers):].split(".", 1)
            return f"blk.{layer}.{NAMES[stem]}.{ending}"
    return f"{NAMES[stem]}.{ending}"


def turned(name, array, config):
    """For "llama", llama.cpp turns neighbours, 2i and 2i + 1, where Hugging Face turns i and
    i + half: the rows of queries and keys change places. GPT-2's Conv1D is [in, out]."""
    if config.model_type == "gpt2":
        return array.T if ".c_" in name and array.ndim > 1 else array
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    count = heads.get(name.split(".")[-2])
    if not count or config.model_type != "llama":
        return array
    halves = array.reshape(count, 2, -1, array.size // array.shape[0])
    return halves.swapaxes(1, 2).reshape(array.shape)


def rounded(array, dtype):
    if dtype == "F16":
        return array.astype(numpy.float16)
    return bf16(array) if dtype == "BF16" else array


def bf16(array):
    """Rounded to nearest, ties to even."""
    bits = numpy.ascontiguousarray(array).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def value(key, kind, what):
    packed = string(what) if kind == STRING else struct.pack("<I" if kind == U32 else "<f", what)
    return string(key) + struct.pack("<I", kind) + packed


def values_of(config):
    kind = config.model_type
    both = [value("general.architecture", STRING, kind),
            value("tokenizer.ggml.model", STRING, "no_vocab")]
    if kind == "gpt2":
        numbers = {"context_length": config.n_positions, "embedding_length": config.n_embd,
                   "block_count": config.n_layer, "feed_forward_length": 4 * config.n_embd,
                   "attention.head_count": config.n_head, "vocab_size": config.vocab_size}
        epsilon = value("gpt2.attention.layer_norm_epsilon", F32, config.layer_norm_epsilon)
        return both + [epsilon, *(value(f"gpt2.{key}", U32, n) for key, n in numbers.items())]
    assert not getattr(config, "rope_scaling", None), "rope_scaling is not written"
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    numbers = {"context_length": config.max_position_embeddings,
               "embedding_length": config.hidden_size, "block_count": config.num_hidden_layers,
               "feed_forward_length": config.intermediate_size,
               "attention.head_count": config.num_attention_heads,
               "attention.head_count_kv": config.num_key_value_heads,
               "attention.key_length": width, "attention.value_length": width,
               "rope.dimension_count": width, "vocab_size": config.vocab_size}
    return [*both,
            value(f"{kind}.attention.layer_norm_rms_epsilon", F32, config.rms_norm_eps),
            value(f"{kind}.rope.freq_base", F32, config.rope_theta),
            *(value(f"{kind}.{key}", U32, number) for key, number in numbers.items())]


def type_of(name, array, dtype):
    """What is no matrix is float32 for llama.cpp in any case, and so are learned positions."""
    return dtype if array.ndim > 1 and name != "wpe.weight" else "F32"


def write_gguf(path, config, tensors, dtype):
    """Matrices in that type."""
    tensors = {name: turned(name, array, config) for name, array in tensors.items()}
    values, infos, offset = values_of(config), [], 0
    for name, array in tensors.items():
        stored = type_of(name, array, dtype)
        sizes = struct.pack(f"<I{array.ndim}Q", array.ndim, *reversed(array.shape))
        infos.append(string(name_of(name)) + sizes + struct.pack("<IQ", TYPES[stored], offset))
        size = array.size * (4 if stored == "F32" else 2)
        offset += -(-size // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, len(infos), len(values)))
        file.write(b"".join(values + infos))
        for name, array in tensors.items():
            file.write(bytes(-file.tell() % ALIGNMENT))
            rounded(array, type_of(name, array, dtype)).tofile(file)


def write_safetensors(path, tensors):
    """All in bf16."""
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, array in tensors.items():
        end = offset + 2 * array.size
        header[name] = {"dtype": "BF16", "shape": array.shape, "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for array in tensors.values():
            bf16(array).tofile(file)


def main():
    model, folder = sys.argv[1:]
    config, tensors = read_config(model), map_tensors(f"{model}/model.safetensors")
    for dtype in TYPES:
        write_gguf(f"{folder}/{dtype.lower()}.gguf", config, tensors, dtype)
    os.makedirs(f"{folder}/bf16", exist_ok=True)
    shutil.copy(f"{model}/config.json", f"{folder}/bf16")
    write_safetensors(f"{folder}/bf16/model.safetensors", tensors)


main()
