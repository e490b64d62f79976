"""Write a mixture whose numbers are all 0, as a file of holes: 2 layers with 16 experts of 3 million
numbers each; tokens have the first two.

    python3 sparse_mixture.py F32|BF16|Q8_0 FOLDER

Q8_0 is FOLDER/model.gguf. Prints the bytes of all numbers but those of the other 14 experts.
"""
import json
import os
import struct
import sys

C, INNER, EXPERTS, LAYERS, HEADS = 512, 2048, 16, 2, 8
NAMES = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
         "block_sparse_moe.gate": "ffn_gate_inp"}
NAMES |= {f"self_attn.{letter}_proj": f"attn_{name}"
          for letter, name in (("q", "q"), ("k", "k"), ("v", "v"), ("o", "output"))}
W = {"w1": "ffn_gate_exps", "w3": "ffn_up_exps", "w2": "ffn_down_exps"}


def tensors(gguf):
    yield "token_embd" if gguf else "model.embed_tokens", [64, C]
    yield "output_norm" if gguf else "model.norm", [C]
    yield "output" if gguf else "lm_head", [64, C]
    for layer in range(LAYERS):
        for name, theirs in NAMES.items():
            shape = [C] if "norm" in name else [EXPERTS if "gate" in name else C, C]
            yield f"blk.{layer}.{theirs}" if gguf else f"model.layers.{layer}.{name}", shape
        for name, theirs in W.items():
            shape = [C, INNER] if name == "w2" else [INNER, C]
            if gguf:
                yield f"blk.{layer}.{theirs}", [EXPERTS, *shape]
            for e in [] if gguf else range(EXPERTS):
                yield f"model.layers.{layer}.block_sparse_moe.experts.{e}.{name}", shape


def bytes_of(shape, kind):
    count = 1
    for size in shape:
        count *= size
    return count * 4 if kind == "F32" else count * 2 if kind == "BF16" else count // 32 * 34


def text(what):
    return struct.pack("<Q", len(what)) + what.encode()


def gguf_header(placed):
    number = {"context_length": 64, "embedding_length": C, "block_count": LAYERS,
              "attention.head_count": HEADS, "feed_forward_length": INNER,
              "expert_count": EXPERTS, "expert_used_count": 2}
    out = b"GGUF" + struct.pack("<IQQ", 3, len(placed), len(number) + 2)
    out += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    out += text("llama.attention.layer_norm_rms_epsilon") + struct.pack("<If", 6, 1e-5)
    for key, value in number.items():
        out += text(f"llama.{key}") + struct.pack("<II", 4, value)
    for name, kind, shape, at in placed:
        out += text(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape[::-1])
        out += struct.pack("<IQ", {"F32": 0, "Q8_0": 8}[kind], at)
    return out + bytes(-len(out) % 32)


def main():
    wanted, folder = sys.argv[1:]
    placed, at, needed, gguf = [], 0, 0, wanted == "Q8_0"
    for name, shape in tensors(gguf):
        kind = "F32" if gguf and len(shape) == 1 else wanted
        size = bytes_of(shape, kind)
        placed.append((name + ".weight", kind, shape, at))
        at += size + -size % 32
        chosen = name.split("experts.")[-1][:2] in ("0.", "1.") if "experts" in name else True
        needed += size * 2 // EXPERTS if "_exps" in name else size * chosen
    os.makedirs(folder, exist_ok=True)
    config = {"model_type": "mixtral", "vocab_size": 64, "hidden_size": C, "num_key_value_heads": 8,
              "intermediate_size": INNER, "num_hidden_layers": LAYERS,
              "num_attention_heads": HEADS, "num_local_experts": EXPERTS,
              "num_experts_per_tok": 2, "max_position_embeddings": 64}
    header = json.dumps({name: {"dtype": kind, "shape": shape, "data_offsets":
                                [at, at + bytes_of(shape, kind)]}
                         for name, kind, shape, at in placed}).encode()
    with open(f"{folder}/config.json", "w", encoding="ascii") as file:
        json.dump(config, file)
    with open(f"{folder}/model.{'gguf' if gguf else 'safetensors'}", "wb") as file:
        file.write(gguf_header(placed) if gguf else struct.pack("<Q", len(header)) + header)
        file.truncate(file.tell() + at)
    print(needed)


main()
