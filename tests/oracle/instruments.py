#!/usr/bin/env python3
"""What instruments find in the small models of golden-families, in plain Python and float64.

usage: instruments.py FOLDER...     writes FOLDER/instruments.safetensors

The pass is that of family_reference.py. Effective attention comes from its values, that without a
token's values from a pass in which they are 0. Attribution pushes every part forward, by itself,
through what comes after it, whose norms divide by what they divide by in the whole pass.
"""
import json, math, pathlib, sys

from family_reference import (Model, Pass, Weights, flat, matmul, plus, read_safetensors, shape_of,
                              to_bytes, write_safetensors)


# --- effective attention ---------------------------------------------------------------------------

class Zeroed(Pass):
    """A layer in which one token's values are 0; what comes before it is as it was."""

    def __init__(self, whole, layer, token):
        self.m, self.w, self.seen, self.token = whole.m, whole.w, {}, token
        self.out = self.block(whole.seen[f"h.{layer}.resid_pre"], layer)

    def queries_keys_values(self, x, at):
        q, k, v = super().queries_keys_values(x, at)
        return q, k, [[[0.0] * len(row) if j == self.token else row for j, row in enumerate(head)]
                      for head in v]


def length(x):
    return math.sqrt(math.fsum(v * v for v in x))


def shares(rows):
    return [[v / math.fsum(row) for v in row] if math.fsum(row) else row for row in rows]


def out_rows(p, layer):
    """W_O as [H · d][C]."""
    m, n = p.m, p.m.names
    rows = p.w.take(f"{n['prefix']}{n['layers']}{layer}.{n['o']}.weight", [m.C, m.H * m.d])
    return list(zip(*rows))


def largest_flow(capacities, source, sink):
    """By shortest ways (Edmonds and Karp); capacities {(from, to): c}. Checked by the cut it leaves."""
    left = dict(capacities)
    near = {}
    for a, b in capacities:
        left.setdefault((b, a), 0.0)
        near.setdefault(a, set()).add(b), near.setdefault(b, set()).add(a)
    total = 0.0
    while True:
        came, queue = {source: None}, [source]
        for node in queue:
            for target in near[node]:
                if target not in came and left[node, target] > 1e-14:
                    came[target] = node
                    queue.append(target)
        if sink not in came:
            cut = math.fsum(c for (a, b), c in capacities.items() if a in came and b not in came)
            assert abs(cut - total) < 1e-11, (cut, total)
            return total
        path, node = [], sink
        while came[node] is not None:
            path.append((came[node], node))
            node = came[node]
        most = min(left[edge] for edge in path)
        for a, b in path:
            left[a, b] -= most
            left[b, a] += most
        total += most


def effective(p):
    m, found, mixed, rolled = p.m, {}, [], None
    T, group = len(p.ids), m.H // m.K
    for layer in range(m.L):
        at = f"h.{layer}."
        weights, v, rows = p.seen[at + "weights"], p.seen[at + "v"], out_rows(p, layer)
        added = [matmul(v[h // group], list(zip(*rows[h * m.d:(h + 1) * m.d]))) for h in range(m.H)]
        for name, vectors in ("value_weighted", [v[h // group] for h in range(m.H)]), (
                "norm_weighted", added):
            found[at + name] = [[[a * length(vectors[h][j]) for j, a in enumerate(row)]
                                 for row in weights[h]] for h in range(m.H)]
        out = p.seen[at + "resid_post"]
        moved = [[0.0] * T for _ in range(T)]
        for j in range(T):
            for i, row in enumerate(Zeroed(p, layer, j).out):
                product = math.fsum(a * b for a, b in zip(row, out[i]))
                moved[i][j] = 1 - product / (length(row) * length(out[i])) if j <= i else 0.0
        found[at + "value_zeroing"] = shares(moved)
        mixed.append([[(math.fsum(weights[h][i][j] for h in range(m.H)) / m.H + (i == j)) / 2
                       for j in range(T)] for i in range(T)])
        rolled = matmul(mixed[-1], list(zip(*rolled))) if rolled else mixed[-1]
        found[at + "rollout"] = rolled
        edges = {((l + 1, i), (l, j)): mixed[l][i][j]
                 for l in range(layer + 1) for i in range(T) for j in range(i + 1)}
        found[at + "flow"] = shares([[largest_flow(edges, (layer + 1, i), (0, j)) if j <= i else 0.0
                                      for j in range(T)] for i in range(T)])
    return found


# --- all -------------------------------------------------------------------------------------------

def write(folder):
    model = Model(json.loads((folder / "config.json").read_text()))
    weights = Weights(read_safetensors(folder / "model.safetensors"), model.names["prefix"])
    data = (folder / "expected.safetensors").read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    ids = json.loads(header["__metadata__"]["ids"])
    found = {"ids": ids, **effective(Pass(model, weights, ids))}
    write_safetensors(folder / "instruments.safetensors",
                      {name: ("F32", shape_of(x), to_bytes(flat(x), "F32"))
                       for name, x in found.items()})
    print(f"{folder.name}: {len(found)} tensors")


for name in sys.argv[1:]:
    write(pathlib.Path(name))
