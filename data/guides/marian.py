"""Write the bundled model `translate` in the layout of Marian's models (Opus-MT): the same numbers,
with the names, the order of channels and the config of that family.

    python3 data/guides/marian.py FOLDER [MODEL]      MODEL: a folder (default: models/translate)
"""
import array
import json
import os
import shutil
import struct
import sys

STACKS = {"enc.0.": "model.encoder.layers.0.", "h.0.": "model.decoder.layers.0."}
NAMES = {"ln_1": "self_attn_layer_norm", "ln_cross": "encoder_attn_layer_norm",
         "ln_2": "final_layer_norm", "cross_attn": "encoder_attn", "attn": "self_attn",
         "mlp.c_fc": "fc1", "mlp.c_proj": "fc2"}
WRITERS = "ln_1", "ln_2", "ln_cross", "out_proj", "c_proj"  # to the stream: the others read it


def read(path):
    """Yield the name of each tensor and its rows; a vector is one row."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    for name, at in header.items():
        if name != "__metadata__":
            numbers = array.array("f", data[slice(*at["data_offsets"])])
            width = at["shape"][-1]
            yield name, [numbers[i:i + width] for i in range(0, len(numbers), width)]


def halves(row):
    """Sines and cosines alternate in `translate`; Marian has all sines, then all cosines."""
    return [*row[0::2], *row[1::2]]


def convert(name, rows):
    if name == "wte.weight":
        return "model.shared.weight", [halves(row) for row in rows]
    stack = next(stack for stack in STACKS if name.startswith(stack))
    part, ending = name[len(stack):].rsplit(".", 1)
    ours = next(ours for ours in NAMES if f"{part}.".startswith(f"{ours}."))
    if part.endswith(WRITERS):
        rows = [halves(row) for row in rows]
    elif len(rows) > 1:
        rows = halves(rows)
    if len(rows) > 1:  # [in, out] becomes [out, in]
        rows = list(zip(*rows))
    return f"{STACKS[stack]}{NAMES[ours]}{part[len(ours):]}.{ending}", rows


def main():
    folder, model = [*sys.argv[1:], "models/translate"][:2]
    tensors = dict(convert(*tensor) for tensor in read(f"{model}/model.safetensors"))
    shared = tensors["model.shared.weight"]
    tensors["final_logits_bias"] = [[0] * len(shared)]
    config = {"model_type": "marian", "architectures": ["MarianMTModel"],
              "d_model": len(shared[0]), "vocab_size": len(shared), "encoder_layers": 1,
              "decoder_layers": 1, "encoder_attention_heads": 1, "decoder_attention_heads": 1,
              "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "activation_function": "relu",
              "scale_embedding": True, "max_position_embeddings": 64, "pad_token_id": 0,
              "decoder_start_token_id": 0, "eos_token_id": 1, "is_encoder_decoder": True}
    header, data = {}, b""
    for name, rows in tensors.items():
        begin = len(data)
        data += array.array("f", [number for row in rows for number in row]).tobytes()
        is_matrix = len(rows) > 1 or name == "final_logits_bias"
        header[name] = {"dtype": "F32", "data_offsets": [begin, len(data)],
                        "shape": [len(rows), len(rows[0])] if is_matrix else [len(rows[0])]}
    text = json.dumps(header).encode()
    os.makedirs(folder)
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
    shutil.copy(f"{model}/vocab.json", folder)


main()
