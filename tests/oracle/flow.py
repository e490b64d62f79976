#!/usr/bin/python3
"""The flow of attention by networkx, whose algorithm is none of ours: usage: flow.py (from the root)

Writes tests/oracle/flow.safetensors, of tiny and of every model of golden-families. The attention is
what PyTorch computes of tiny in float64, else what family_reference.py does; a layer is the mean of
its heads and of the token itself, an edge as wide as that weight (Abnar and Zuidema, 2020).
"""
import contextlib, io, json, pathlib, sys

import networkx
import numpy as np

tests = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(tests / "oracle"), str(tests / "torch")]
from family_reference import (Model, Pass, Weights, from_bytes, read_safetensors, to_bytes,
                              write_safetensors)

with contextlib.redirect_stdout(io.StringIO()):
    import edits  # tiny, by PyTorch


def of_family(folder):
    model = Model(json.loads((folder / "config.json").read_text()))
    stored = read_safetensors(folder / "instruments.safetensors")["ids"]
    ids = [int(x) for x in from_bytes(stored["data"], stored["dtype"])]
    whole = Pass(model, Weights(read_safetensors(folder / "model.safetensors"),
                                model.names["prefix"]), ids)
    return ids, [np.array(whole.seen[f"h.{layer}.weights"]) for layer in range(model.L)]


def of_tiny():
    return edits.IDS, [edits.values(edits.IDS, f"h.{layer}.weights").numpy() for layer in range(2)]


def flows(attention):
    tokens = attention[0].shape[-1]
    graph, found = networkx.DiGraph(), []
    for layer, weights in enumerate(attention):
        width = (weights.mean(0) + np.eye(tokens)) / 2
        for i, j in zip(*width.nonzero()):
            graph.add_edge((layer + 1, i), (layer, j), capacity=float(width[i, j]))
        flow = np.zeros((tokens, tokens))
        for i in range(tokens):
            for j in range(i + 1):
                if graph.has_node((0, j)):
                    flow[i, j] = networkx.maximum_flow_value(graph, (layer + 1, i), (0, j))
        found.append(flow / flow.sum(1, keepdims=True))
    return found


models = {"tiny": of_tiny()}
for folder in sorted((tests / "golden-families").iterdir()):
    if (folder / "instruments.safetensors").exists():
        models[folder.name] = of_family(folder)
tensors = {}
for name, (ids, attention) in models.items():
    tensors[f"{name}/ids"] = np.array(ids, float)
    for layer, flow in enumerate(flows(attention)):
        tensors[f"{name}/h.{layer}.flow"] = flow
write_safetensors(tests / "oracle/flow.safetensors",
                  {name: ("F32", list(x.shape), to_bytes(x.flatten().tolist(), "F32"))
                   for name, x in tensors.items()})
print(len(models), "models", sum(x.size for name, x in tensors.items() if "flow" in name), "numbers")
