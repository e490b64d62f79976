#!/usr/bin/env python3
"""Effective attention and attribution of the small models of golden-families, in plain Python and
float64.

usage: instruments.py FOLDER...     writes FOLDER/instruments.safetensors

Uses the pass of family_reference.py. value_zeroing recomputes a layer with a token's values set to 0.
Attribution sends every part by itself through the operations that follow it, with the divisors of
norms fixed at their values in the whole pass.
"""
import json, math, pathlib, sys

from family_reference import (Model, Pass, Weights, flat, matmul, plus, read_safetensors, shape_of,
                              to_bytes, write_safetensors)


# --- effective attention ---------------------------------------------------------------------------

class Zeroed(Pass):
    """A layer with the values of one token set to 0, and an unchanged input."""

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
    """W_O, [H · d][C]."""
    m, n = p.m, p.m.names
    rows = p.w.take(f"{n['prefix']}{n['layers']}{layer}.{n['o']}.weight", [m.C, m.H * m.d])
    return list(zip(*rows))


def effective(p):
    m, found, rolled = p.m, {}, None
    T, group = len(p.ids), m.H // m.K
    for layer in range(m.L):
        at = f"h.{layer}."
        weights, v, rows = p.seen[at + "weights"], p.seen[at + "v"], out_rows(p, layer)
        added = [matmul(v[h // group], list(zip(*rows[h * m.d:(h + 1) * m.d]))) for h in range(m.H)]
        bias = p.vector(f"{m.names['prefix']}{m.names['layers']}{layer}.{m.names['o']}.bias", m.C)
        for i, wanted in enumerate(p.seen[at + "attn_out"]):  # the vectors sum to attn_out
            for c, value in enumerate(wanted):
                summed = math.fsum(weights[h][i][j] * added[h][j][c] for h in range(m.H) for j in range(T))
                assert abs(summed + (bias[c] if bias else 0.0) - value) < 1e-12
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
        mixed = [[(math.fsum(weights[h][i][j] for h in range(m.H)) / m.H + (i == j)) / 2
                  for j in range(T)] for i in range(T)]
        rolled = matmul(mixed, list(zip(*rolled))) if rolled else mixed
        found[at + "rollout"] = rolled
    return found


# --- attribution -----------------------------------------------------------------------------------

class Measured(Pass):
    """A pass that keeps the divisors of all norms of the last row."""

    def norm(self, x, name, rms=None):
        row, m = x[-1], self.m
        mean = 0 if m.rms else math.fsum(row) / len(row)
        self.roots = getattr(self, "roots", {})
        self.roots[name] = math.sqrt(math.fsum((v - mean) ** 2 for v in row) / len(row) + m.eps)
        return super().norm(x, name, rms)


class Way:
    """The linear map from a vector in the residual stream to the logit difference."""

    def __init__(self, p, answer, against):
        self.p, self.m, self.answer, self.against = p, p.m, answer, against
        self.kept = p.m.key("apply_residual_connection_post_layernorm", default=False)

    def at(self, layer):
        return f"{self.m.names['prefix']}{self.m.names['layers']}{layer}."

    def norm(self, x, name):
        m = self.m
        mean = 0 if m.rms else math.fsum(x) / len(x)
        return [(v - mean) / self.p.roots[name] * (w + m.gemma)
                for v, w in zip(x, self.p.vector(name + ".weight", len(x)))]

    def shift(self, name):
        return self.p.vector(name + ".bias", self.m.C) or [0.0] * self.m.C

    def rows(self, name, out, into):
        """A matrix, [out][into], and its bias."""
        return self.p.w.take(name + ".weight", [out, into]), self.p.vector(name + ".bias", out)

    def logit(self, x):
        """The logit difference from the residual stream after the last layer."""
        m, n = self.m, self.m.names
        if m.norm_first:
            x = self.norm(x, n["prefix"] + n["final"])
        return self.word(x)

    def word(self, x):
        m, n, width = self.m, self.m.names, self.m.key("word_embed_proj_dim", default=self.m.C)
        if width != m.C:
            x = matmul([x], self.rows(n["prefix"] + "project_out", width, m.C)[0])[0]
        head = self.p.w.take(n["head"] + ".weight", [m.V, width]) or (
            self.p.w.take(f"{n['prefix']}{n['words']}.weight", [m.V, width]))
        a, b = (math.fsum(u * v for u, v in zip(x, head[i])) for i in (self.answer, self.against))
        return (a - b) / m.key("logits_scaling", default=1.0)

    def on(self, x, layer, steps):
        """Apply the norms of the stream in the rest of a layer, and in later layers, then the logits."""
        for name in steps:
            x = self.norm(x, self.at(layer) + self.m.names[name])
        if layer + 1 < self.m.L:
            both = ["n1", "n2"] if self.kept or not self.m.norm_first else []
            return self.on(x, layer + 1, both)
        return self.logit(x)

    def steps(self, after):
        """Norms of the stream in a layer that follow "start", "n1", "attention", "n2" or "mlp"."""
        names = ["start", "n1", "attention", "n2", "mlp"] if self.kept else (
            ["start", "attention", "n1", "mlp", "n2"])
        left = names[names.index(after) + 1:]
        return [name for name in left if name in ("n1", "n2")] if (
            self.kept or not self.m.norm_first) else []

    def added(self, x, layer, after, post):
        """The logit difference of a vector that a sublayer adds, after its norm if there is one."""
        if self.m.names.get(post):
            x = self.norm(x, self.at(layer) + self.m.names[post])
        share = self.m.key("residual_multiplier", default=1.0)
        return self.on([share * v for v in x], layer, self.steps(after))

    def biases(self, layer, after, post, bias):
        share = self.m.key("residual_multiplier", default=1.0)
        total = self.added(bias, layer, after, post) if bias else 0.0
        if self.m.names.get(post):
            shift = self.shift(self.at(layer) + self.m.names[post])
            total += self.on([share * v for v in shift], layer, self.steps(after))
        return total

    def layer(self, layer):
        """The contributions of a layer: heads by source token, neurons, biases."""
        p, m, n, seen = self.p, self.m, self.m.names, self.p.seen
        T, at, group = len(p.ids), f"h.{layer}.", m.H // m.K
        out, out_bias = self.rows(self.at(layer) + n["o"], m.C, m.H * m.d)
        down, down_bias = self.rows(self.at(layer) + n["down"], m.C, m.I)
        heads = []
        for h in range(m.H):
            part = [row[h * m.d:(h + 1) * m.d] for row in out]
            read = [[a * v for v in seen[at + "v"][h // group][j]]
                    for j, a in enumerate(seen[at + "weights"][h][-1])]
            heads.append([self.added(row, layer, "attention", "post1") for row in matmul(read, part)])
        neurons = [self.added([act * row[i] for row in down], layer, "mlp", "post2")
                   for i, act in enumerate(seen[at + "mlp_act"][-1])]
        bias = (self.biases(layer, "attention", "post1", out_bias) +
                self.biases(layer, "mlp", "post2", down_bias))
        for name in self.steps("start"):
            bias += self.on(self.shift(self.at(layer) + n[name]), layer, self.steps(name))
        return heads, neurons, bias

    def begin(self):
        """The contributions of the embedding: token, position, bias."""
        p, m, prefix = self.p, self.m, self.m.names["prefix"]
        width, T = m.key("word_embed_proj_dim", default=m.C), len(p.ids)
        scale = math.sqrt(m.C) if m.gemma else m.key("embedding_multiplier", default=1.0)
        words = p.w.take(f"{prefix}{m.names['words']}.weight", [m.V, width])
        token, place, bias = [scale * v for v in words[p.ids[-1]]], [0.0] * m.C, 0.0
        P = m.key("max_position_embeddings")
        if width != m.C:
            token = matmul([token], self.rows(prefix + "project_in", m.C, width)[0])[0]
        if m.family == "opt":
            place = p.w.take(prefix + "embed_positions.weight", [P + 2, m.C])[T + 1]
        if m.family == "gpt_neo":
            place = p.w.take(prefix + "wpe.weight", [P, m.C])[T - 1]
        parts = [token, place]
        if m.family == "bloom":
            name = prefix + "word_embeddings_layernorm"
            parts = [self.norm(x, name) for x in parts]
            bias = self.on(self.shift(name), 0, self.steps("start"))
        return [self.on(x, 0, self.steps("start")) for x in parts] + [bias]

    def end(self):
        m, n = self.m, self.m.names
        bias = self.p.vector(n["head"] + ".bias", m.V)
        total = self.word(self.shift(n["prefix"] + n["final"])) if m.norm_first else 0.0
        divisor = m.key("logits_scaling", default=1.0)
        return total + ((bias[self.answer] - bias[self.against]) / divisor if bias else 0.0)


def attribution(p):
    m, logits = p.m, p.seen["logits"][-1]
    answer, against = logits.index(max(logits)), logits.index(min(logits))
    way = Way(p, answer, against)
    token, place, bias = way.begin()
    layers = [way.layer(layer) for layer in range(m.L)]
    rows = [[0.0] * (m.H + 1) + [bias, token, place]]
    rows += [[math.fsum(head) for head in heads] + [math.fsum(neurons), bias, 0.0, 0.0]
             for heads, neurons, bias in layers]
    rows.append([0.0] * (m.H + 1) + [way.end(), 0.0, 0.0])
    if not m.key("final_logit_softcapping"):
        wanted = logits[answer] - logits[against]
        assert abs(math.fsum(flat(rows)) - wanted) < 1e-9, (math.fsum(flat(rows)), wanted)
    found = {"answer": [answer, against], "attribution": rows,
             "attribution_by_neuron": [neurons for _, neurons, _ in layers]}
    for layer, (heads, _, _) in enumerate(layers):
        found[f"h.{layer}.attribution_by_source"] = heads
    return found


# --- all -------------------------------------------------------------------------------------------

def write(folder):
    model = Model(json.loads((folder / "config.json").read_text()))
    weights = Weights(read_safetensors(folder / "model.safetensors"), model.names["prefix"])
    data = (folder / "expected.safetensors").read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    ids = json.loads(header["__metadata__"]["ids"])
    p = Measured(model, weights, ids)
    found = {"ids": ids, **effective(p), **attribution(p)}
    write_safetensors(folder / "instruments.safetensors",
                      {name: ("F32", shape_of(x), to_bytes(flat(x), "F32"))
                       for name, x in found.items()})
    print(f"{folder.name}: {len(found)} tensors")


for name in sys.argv[1:]:
    write(pathlib.Path(name))
