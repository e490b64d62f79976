"""Write the files of torch.save that the tests read, with PyTorch 1.6 or later.

    python3 tests/references/torch/saved.py        from the repository's root

tests/refusals/pickled: `life` with an nn.Parameter, two tensors that share a storage, and a transposed
tensor. tests/cli/models/weights_that_pytorch_saved: gpt_neo in two shards, with its masks, a tied
tensor and the _metadata of state_dict(), in pickle protocol 4; and bert with the names of old files
(gamma, beta), a copy of the tied head and the positions as a buffer.
"""

import collections
import json
import pathlib
import struct

import torch

TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "BOOL": torch.bool,
         "U8": torch.uint8}


def read(folder):
    data = pathlib.Path(folder, "model.safetensors").read_bytes()
    size = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:size])
    header.pop("__metadata__", None)
    tensors = collections.OrderedDict()
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        part = bytearray(data[size + begin:size + end])
        tensors[name] = torch.frombuffer(part, dtype=TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def save_life(folder):
    life = read("models/life")
    query, key, value = (f"h.0.attn.{name}_proj.weight" for name in "qkv")
    both = torch.cat([life[query], life[key]])
    life["wte.weight"] = torch.nn.Parameter(life["wte.weight"])
    life[query], life[key] = both[:3], both[3:]
    life[value] = life[value].t().contiguous().t()
    torch.save(life, folder / "pytorch_model.bin")


def save_shards(folder):
    tensors = read("tests/references/golden-families/gpt_neo")
    tensors["lm_head.weight"] = tensors["transformer.wte.weight"]
    names = ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"]
    places = {name: names[".h.1." in name or ".ln_f." in name] for name in tensors}
    for file in names:
        shard = collections.OrderedDict((k, v) for k, v in tensors.items() if places[k] == file)
        shard._metadata = collections.OrderedDict([("", {"version": 1})])
        torch.save(shard, folder / file, pickle_protocol=4)
    text = json.dumps({"metadata": {}, "weight_map": places}, indent=1)
    (folder / "pytorch_model.bin.index.json").write_text(text + "\n")


def save_bert(folder):
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    tensors = collections.OrderedDict()
    for name, values in read("tests/references/golden-families/bert").items():
        for new in old:
            name = name.replace(new, old[new])
        tensors[name] = values
    words = tensors["bert.embeddings.word_embeddings.weight"]
    tensors["cls.predictions.decoder.weight"] = words
    tensors["bert.embeddings.position_ids"] = torch.arange(12).reshape(1, 12)
    torch.save(tensors, folder / "bert.bin")


save_life(pathlib.Path("tests/refusals/pickled"))
save_shards(pathlib.Path("tests/cli/models/weights_that_pytorch_saved"))
save_bert(pathlib.Path("tests/cli/models/weights_that_pytorch_saved"))
