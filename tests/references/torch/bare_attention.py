"""Compute a model of the type `attention` with PyTorch in float64: the expected tensors of the tests.

    /usr/bin/python3 tests/references/torch/bare_attention.py models/life-grouped \\
        "Life is short, eat dessert first" > tests/references/golden/life-grouped/expected.json

Self-attention with projections, biases, grouped heads and an output projection, without or with a
causal mask, for every value of --attention that draws nothing at random.
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
        values = bytearray(data[8 + size + begin : 8 + size + end])
        found[name] = torch.frombuffer(values, dtype=torch.float32).reshape(entry["shape"]).double()
    return found


class Model:
    def __init__(self, folder):
        self.config = json.load(open(folder + "/config.json"))
        self.vocabulary = json.load(open(folder + "/vocab.json"))
        self.weights = read_tensors(folder + "/model.safetensors")

    def ids(self, sentence):
        return [self.vocabulary[word] for word in re.findall(r"\w+", sentence)]

    def linear(self, x, layer, name):
        y = x @ self.weights[f"h.{layer}.attn.{name}_proj.weight"]
        bias = self.weights.get(f"h.{layer}.attn.{name}_proj.bias")
        return y if bias is None else y + bias


def split_heads(rows, heads):
    return rows.reshape(rows.shape[0], heads, -1).transpose(0, 1)


def visible(way, count, causal):
    """Visible keys of each query, [count, count]; `way` is a value of --attention."""
    i = torch.arange(count)[:, None]
    j = torch.arange(count)[None, :]
    allowed = j <= i if causal else torch.ones(count, count, dtype=torch.bool)
    if way in ("dense", "linear") or way.startswith(("blocked", "lowrank")):
        return allowed
    union = torch.zeros(count, count, dtype=torch.bool)
    for part in way.split("+"):
        name, _, number = part.partition(":")
        n = int(number or math.ceil(math.sqrt(count)))
        union |= {
            "window": (i - j).abs() < n,
            "strided": (i - j) % n == 0,
            "global": (j < n) | (i < n),
            "sqrt": ((i - j).abs() < n) | ((i - j) % n == 0),
            "log": torch.log2((i - j).abs().clamp(min=1)) % 1 == 0,
        }[name]
    return union & allowed


def attend(q, k, v, way, causal, scale):
    """Scores, masked scores, weights and context of all heads."""
    if way.startswith("lowrank"):
        keys = k.shape[1]
        segments = min(int(way[8:]), keys)
        ends = [(r + 1) * keys // segments for r in range(segments)]
        of_key = [sum(end <= key for end in ends) for key in range(keys)]
        means = [k[:, [r == other for other in of_key]].mean(1, keepdim=True) for r in range(segments)]
        k = torch.cat([means[r] for r in of_key], dim=1)
    scores = q @ k.transpose(1, 2)
    hidden = ~visible(way, q.shape[1], causal)
    if way == "linear":
        scores = (torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).transpose(1, 2)
        masked = scores.masked_fill(hidden, 0)
        weights = masked / masked.sum(-1, keepdim=True)
    else:
        masked = (scores * scale).masked_fill(hidden, -math.inf)
        weights = torch.softmax(masked, dim=-1)
    return scores, masked, weights, weights @ v


def layer(x, model, number, way):
    """All tensors of one layer, by name. The heads of a group share keys and values."""
    config = model.config
    heads = config["n_head"]
    groups = config.get("n_kv_head", heads)
    q, k, v = (
        split_heads(model.linear(x, number, name), count)
        for name, count in (("q", heads), ("k", groups), ("v", groups))
    )
    keys, values = (t.repeat_interleave(heads // groups, dim=0) for t in (k, v))
    scale = config.get("scale") or 1 / math.sqrt(q.shape[2])
    found = attend(q, keys, values, way, config["causal"], scale)
    out = found[3].transpose(0, 1).reshape(x.shape[0], -1)
    if config["out_proj"]:
        out = model.linear(out, number, "out")
    names = ("q", "k", "v", "scores", "masked", "weights", "context", "attn_out")
    return {f"h.{number}.{name}": t for name, t in zip(names, (q, k, v, *found, out))}


def run(model, sentence, way="dense"):
    x = model.weights["wte.weight"][model.ids(sentence)]
    tensors = {"embedding": x}
    for number in range(model.config["n_layer"]):
        tensors.update(layer(x, model, number, way))
        x = tensors[f"h.{number}.attn_out"]
    return tensors


def shown(value):
    return "-inf" if value == -math.inf else struct.unpack("<f", struct.pack("<f", value))[0]


def main(folder, sentence):
    model = Model(folder)
    tensors = {
        name: {"shape": list(t.shape), "data": [shown(v) for v in t.flatten().tolist()]}
        for name, t in run(model, sentence).items()
    }
    json.dump({"sentence": sentence, "ids": model.ids(sentence), "tensors": tensors}, sys.stdout,
              separators=(",", ":"))
    print()


if __name__ == "__main__":
    main(*sys.argv[1:])
