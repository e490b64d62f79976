"""Bare attention, as PyTorch computes it in float64: what a golden model of that type must give.

    /usr/bin/python3 tests/torch/bare_attention.py models/life-grouped \\
        "Life is short, eat dessert first" > tests/golden/life-grouped/expected.json

One text that looks at itself, projections and grouped heads; dense and unmasked or causal.
"""

import json
import math
import re
import struct
import sys

import torch


def read_tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values = torch.frombuffer(bytearray(data[8 + size + begin : 8 + size + end]), dtype=torch.float32)
        found[name] = values.reshape(entry["shape"]).double()
    return found


def split_heads(rows, heads):
    return rows.reshape(rows.shape[0], heads, -1).transpose(0, 1)


def layer(x, weights, config, number):
    """Every tensor of one layer by its name; keys and values serve the heads of their group."""
    heads = config["n_head"]
    groups = config.get("n_kv_head", heads)
    q, k, v = (
        split_heads(x @ weights[f"h.{number}.attn.{name}_proj.weight"], count)
        for name, count in (("q", heads), ("k", groups), ("v", groups))
    )
    keys, values = (t.repeat_interleave(heads // groups, dim=0) for t in (k, v))
    scores = q @ keys.transpose(1, 2)
    masked = scores / math.sqrt(config["d_k"])
    if config["causal"]:
        future = torch.ones(masked.shape[1:], dtype=torch.bool).triu(1)
        masked = masked.masked_fill(future, -math.inf)
    shares = torch.softmax(masked, dim=-1)
    context = shares @ values
    out = context.transpose(0, 1).reshape(x.shape[0], -1)
    names = ("q", "k", "v", "scores", "masked", "weights", "context", "attn_out")
    tensors = (q, k, v, scores, masked, shares, context, out)
    return {f"h.{number}.{name}": tensor for name, tensor in zip(names, tensors)}


def shown(value):
    return "-inf" if value == -math.inf else struct.unpack("<f", struct.pack("<f", value))[0]


def main(folder, sentence):
    config = json.load(open(folder + "/config.json"))
    vocabulary = json.load(open(folder + "/vocab.json"))
    weights = read_tensors(folder + "/model.safetensors")
    assert not config["out_proj"] and not config["bias"]
    ids = [vocabulary[word] for word in re.findall(r"\w+", sentence)]
    x = weights["wte.weight"][ids]
    tensors = {"embedding": x}
    for number in range(config["n_layer"]):
        tensors.update(layer(x, weights, config, number))
        x = tensors[f"h.{number}.attn_out"]
    tensors = {
        name: {"shape": list(t.shape), "data": [shown(v) for v in t.flatten().tolist()]}
        for name, t in tensors.items()
    }
    json.dump({"sentence": sentence, "ids": ids, "tensors": tensors}, sys.stdout)
    print()


main(*sys.argv[1:])
