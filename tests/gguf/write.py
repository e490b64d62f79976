"""Convert a model folder to GGUF: gpt2, llama, qwen2, qwen3, gemma or gpt_neox, with its tokenizer (a
byte-level tokenizer.json, vocab.json and merges.txt, SentencePiece's tokenizer.model, or none).

    /usr/bin/python3 tests/gguf/write.py MODEL FILE.gguf [F32|F16|BF16|Q8_0] [PRE]
    sh tests/gguf/freeze.sh                writes the files of this folder

Names, layouts and keys are those of llama.cpp's convert_hf_to_gguf.py. PRE is its name for the
pre-tokenizer of a tokenizer.json.
"""
import json
import os
import struct
import sys

import numpy

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9  # types of values
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
FAMILIES = {  # architecture, names, prefix of layers
    "gpt2": ("gpt2", GPT2, "h."), "llama": ("llama", LLAMA, "model.layers."),
    "qwen2": ("qwen2", LLAMA, "model.layers."), "qwen3": ("qwen3", LLAMA, "model.layers."),
    "gemma": ("gemma", LLAMA, "model.layers."),
    "gpt_neox": ("gptneox", NEOX, "gpt_neox.layers."),
}


def read_tensors(path):
    """Tensors by name: views into the mapped file, for BF16 copies."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
    data = numpy.memmap(path, numpy.uint8, "r", 8 + size)
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in ("F32", "F16", "BF16"):
            continue
        if name.endswith((".masked_bias", ".inv_freq", ".attn.bias")):
            continue
        raw = data[slice(*entry["data_offsets"])]
        if entry["dtype"] == "BF16":
            array = (raw.view("<u2").astype(numpy.uint32) << 16).view("<f4")
        else:
            array = raw.view("<f4" if entry["dtype"] == "F32" else "<f2")
        yield name, array.astype(numpy.float32, copy=False).reshape(entry["shape"])


def rename(name, names, layers):
    name = name.removeprefix("transformer.")
    stem, ending = name.rsplit(".", 1)
    if not stem.startswith(layers):
        return f"{names[stem]}.{ending}"
    layer, stem = stem[len(layers):].split(".", 1)
    return f"blk.{layer}.{names[stem]}.{ending}"


def lay_out(name, array, config):
    """The tensor in the layout of convert_hf_to_gguf.py."""
    kind = config["model_type"]
    part = name.split(".")[-2]
    if kind == "gpt2" and part.startswith("c_") and array.ndim == 2:
        return array.T
    if kind == "gpt2":
        return array
    heads = config["num_attention_heads"]
    if kind == "llama" and part in ("q_proj", "k_proj"):
        count = heads if part == "q_proj" else config.get("num_key_value_heads", heads)
        halves = array.reshape(count, 2, array.shape[0] // count // 2, *array.shape[1:])
        return halves.swapaxes(1, 2).reshape(array.shape)
    if part == "query_key_value":
        split = array.reshape(heads, 3, -1, *array.shape[1:])
        return numpy.concatenate([split[:, i].reshape(-1, *array.shape[1:]) for i in range(3)])
    if kind == "gemma" and name.endswith("norm.weight"):
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
    return struct.pack({U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}[kind], what)


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


def config_values(config):
    kind = config["model_type"]
    name = FAMILIES[kind][0]
    yield value("general.architecture", STRING, name)
    if kind == "gpt2":
        sizes = {"context_length": config.get("n_positions", 1024),
                 "embedding_length": config["n_embd"], "block_count": config["n_layer"],
                 "attention.head_count": config["n_head"],
                 "feed_forward_length": config.get("n_inner") or 4 * config["n_embd"]}
        epsilon = "attention.layer_norm_epsilon", config.get("layer_norm_epsilon", 1e-5)
    else:
        heads = config["num_attention_heads"]
        width = config.get("head_dim") or config["hidden_size"] // heads
        sizes = {"context_length": config["max_position_embeddings"],
                 "embedding_length": config["hidden_size"],
                 "block_count": config["num_hidden_layers"], "attention.head_count": heads,
                 "feed_forward_length": config["intermediate_size"]}
        if kind == "gpt_neox":
            sizes["rope.dimension_count"] = int(width * config["rotary_pct"])
            epsilon = "attention.layer_norm_epsilon", config["layer_norm_eps"]
            yield value(f"{name}.use_parallel_residual", BOOL, config["use_parallel_residual"])
        else:
            sizes |= {"attention.head_count_kv": config.get("num_key_value_heads", heads),
                      "attention.key_length": width, "attention.value_length": width,
                      "rope.dimension_count": width}
            epsilon = "attention.layer_norm_rms_epsilon", config["rms_norm_eps"]
        scaling = config.get("rope_scaling") or {}
        if "linear" in (scaling.get("type"), scaling.get("rope_type")):
            yield value(f"{name}.rope.scaling.type", STRING, "linear")
            yield value(f"{name}.rope.scaling.factor", F32, scaling["factor"])
        yield value(f"{name}.rope.freq_base", F32, config.get("rope_theta", 10000.0))
    sizes["vocab_size"] = config["vocab_size"]
    for key, size in sizes.items():
        yield value(f"{name}.{key}", U32, size)
    yield value(f"{name}.{epsilon[0]}", F32, epsilon[1])
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
    pieces, rules = [], {}
    for number, what in fields(data):
        if number == 1:
            piece = dict(fields(what))
            text, kind = piece[1], piece.get(3, 1)
            if kind == 4:  # user-defined: matched in the unchanged text
                text = text.replace("▁".encode(), b" ")
            pieces.append((text, struct.unpack("<f", piece.get(2, bytes(4)))[0], kind))
        if number == 3:
            rules = dict(fields(what))
    yield value("tokenizer.ggml.model", STRING, "llama")
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
            return byte_level_values(json.load(file), pre, count)
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
        with open(f"{folder}/config.json", encoding="utf-8") as file:
            config = json.load(file)
        tensors = [(name, array) for name, array in read_tensors(f"{folder}/model.safetensors")
                   if not (name == "lm_head.weight" and config.get("tie_word_embeddings"))]
    else:
        config, tensors = small_model(count_words(folder))
    _, names, layers = FAMILIES[config["model_type"]]
    tensors = [(rename(name, names, layers), lay_out(name, array, config))
               for name, array in tensors]
    if (config.get("rope_scaling") or {}).get("rope_type") == "llama3":
        tensors.append(("rope_freqs.weight", rope_factors(config)))
    values = [*config_values(config), *tokenizer_values(folder, pre, config["vocab_size"])]
    write(path, values, tensors, dtype)


if __name__ == "__main__":
    main()
