"""The expected output of tests/cli/edits/logits_are_those_of_pytorch: `tiny` in float64, with edits.

    /usr/bin/python3 tests/references/torch/edits.py >tests/cli/edits/logits_are_those_of_pytorch/out
"""

import json
import math
import os
import struct

import numpy
import torch

MODEL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models", "tiny")
IDS = [267, 364, 511, 300, 12, 77, 900, 5, 42]
# The texts of --reference in that test.
OTHERS = [
    [267, 363, 894, 301, 259, 295, 292, 280, 277, 708, 928, 820],
    [32, 364, 601, 429, 259, 1017, 277, 750, 597, 327],
]


def load():
    with open(os.path.join(MODEL, "model.safetensors"), "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, row in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            first, end = (8 + size + offset for offset in row["data_offsets"])
            numbers = numpy.frombuffer(data[first:end], {"F32": "<f4", "F16": "<f2"}[row["dtype"]])
            tensors[name] = torch.from_numpy(numbers.astype("f8")).reshape(row["shape"])
    return tensors


W = load()
with open(os.path.join(MODEL, "config.json")) as file:
    CONFIG = json.load(file)


def linear(x, name):
    return x @ W[name + ".weight"] + W[name + ".bias"]


def norm(x, name):
    return torch.layer_norm(x, x.shape[-1:], W[name + ".weight"], W[name + ".bias"], 1e-5)


def gelu(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def run(ids, hook):
    """The logits; `hook` receives each tensor and returns the tensor that replaces it."""
    tokens = len(ids)
    heads = CONFIG["n_head"]
    x = hook("embedding", W["wte.weight"][ids] + W["wpe.weight"][:tokens])
    future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    for layer in range(CONFIG["n_layer"]):
        h = f"h.{layer}."
        qkv = linear(hook(h + "ln_1", norm(x, h + "ln_1")), h + "attn.c_attn")
        q, k, v = (
            hook(h + name, part.reshape(tokens, heads, -1).transpose(0, 1))
            for name, part in zip("qkv", qkv.split(x.shape[1], 1))
        )
        scores = hook(h + "scores", q @ k.transpose(1, 2)) / math.sqrt(q.shape[-1])
        masked = hook(h + "masked", scores.masked_fill(future, -math.inf))
        context = hook(h + "context", hook(h + "weights", masked.softmax(-1)) @ v)
        out = linear(context.transpose(0, 1).reshape(tokens, -1), h + "attn.c_proj")
        x = hook(h + "resid_mid", x + hook(h + "attn_out", out))
        inner = gelu(linear(hook(h + "ln_2", norm(x, h + "ln_2")), h + "mlp.c_fc"))
        x = x + hook(h + "mlp_out", linear(hook(h + "mlp_act", inner), h + "mlp.c_proj"))
        x = hook(h + "resid_post", x)
    return hook("ln_f", norm(x, "ln_f")) @ W["wte.weight"].T


def edit(site, change):
    def hook(name, value):
        if name == site:
            value = value.clone()
            change(value)
        return value

    return hook


def values(ids, site):
    found = []
    run(ids, lambda name, value: found.append(value) or value if name == site else value)
    return found[0]


def put(places, number):
    return lambda value: value.__setitem__(places, number)


def scale(number):
    return lambda value: value.mul_(number)


ALL = slice(None)
MEAN = sum(values(ids, "h.0.context")[:, : len(IDS)] for ids in OTHERS) / len(OTHERS)
CASES = [("none", edit("", None))]
CASES += [
    (f"--edit {site} * 0.5", edit(site, scale(0.5)))
    for site in ["embedding", "ln_f"]
    + ["h.1." + name for name in "ln_1 q k v scores attn_out resid_mid ln_2 mlp_act mlp_out".split()]
]
CASES += [
    ("--ablate 0.1", edit("h.0.context", put(1, 0))),
    ("--knockout 0:8:6", edit("h.0.masked", put((ALL, 8, 6), -math.inf))),
    ("--edit h.1.weights[head=1,query=8,key=0] = 0.5", edit("h.1.weights", put((1, 8, 0), 0.5))),
    ("--edit h.0.resid_post[token=-1,channel=3] = 2.5", edit("h.0.resid_post", put((-1, 3), 2.5))),
    ("--ablate 0.1=mean", edit("h.0.context", put(1, MEAN[1]))),
]

for title, hook in CASES:
    print(title, *(f"{number:.3f}" for number in run(IDS, hook)[-1][:5].tolist()))
