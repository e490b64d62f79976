#!/usr/bin/env python3
"""Compute head scores that depend on the weights alone, with numpy in float64.

usage: circuits.py     writes tests/references/oracle/circuits.safetensors

For tiny, two encoder-decoders (their decoder's self-attention) and the families that
unit/rigs/instruments_golden.h lists: the scores copying and successor (with the pairs of successor) unless a dense
layer is before the logits, and the compositions of all pairs of heads (-1: none). Written independently of the program: it uses whole matrices, [C, C], and norms
that divide. Models that clip q, k and v are left out: their heads are not products of matrices.
"""
import pathlib
import re

import numpy as np

from family_reference import open_model, to_bytes, write_safetensors
from layers import LAMBDAS, TEXT, By, Id, Kind, Over, Pass, Project, Weights


class Circuits(Pass):
    """The matrices of a model, to be multiplied by row vectors."""

    def __init__(self, folder):
        model, files = open_model(folder)
        super().__init__(model, Weights(model, files))
        self.stack = stack = model.stacks[TEXT]
        self.L, self.C, e, u = stack.layers, stack.width, stack.embed, stack.unembed
        head = self.attention(0).head
        self.H = head.heads
        self.bends = head.clip or head.by != By.PROJECT or head.norm_after_rotary
        words = self.weight(TEXT, Id.TOKENS)
        self.V, self.embedding = len(words), words * e.scale
        for layer in range(self.L):  # numbers that multiply the stream: their signs
            if any(s.scales for s in stack.read(layer)):
                self.embedding = self.embedding * np.sign(self.weight(TEXT, Id.LAYER_SCALE, layer))
        self.unembedding = (words if u.tied else self.weight(TEXT, Id.HEAD)).T
        if e.project == Project.TOKENS:
            self.embedding = self.embedding @ self.weight(TEXT, Id.EMBED_PROJECT).T
        self.embedding = self.norm(e.norm, TEXT, -1, self.embedding)
        if u.project:
            self.unembedding = self.weight(TEXT, Id.PROJECT_OUT).T @ self.unembedding

    def attention(self, layer):
        return next(s for s in self.stack.read(layer) if s.kind == Kind.ATTEND)

    def of_keys(self, layer):
        """The layer whose keys and values a layer reads."""
        other = self.attention(layer).head.kv_from
        return other if other >= 0 else layer

    def unshifted(self, rule, layer, x):
        return self.norm(rule, TEXT, layer, x) - (
            self.bias(TEXT, rule.id, layer) if rule.id and rule.shift else 0)

    def linear_norm(self, rule, layer, C):
        """A norm as a matrix [C, C], or one for each head, without divisor and shift."""
        centre = np.eye(C) - (0 if rule.rms or not rule.id else 1 / C)
        if not rule.id or not rule.scale:
            return centre
        return centre * (self.weight(TEXT, rule.id, layer) + rule.one_plus)[..., None, :]

    def rows(self, layer):
        """The matrices of q, k and v of each head, [C, d]."""
        h, C, other = self.attention(layer).head, self.C, self.of_keys(layer)
        q, k, v = (self.weight(TEXT, id, at).T for id, at in (
            (Id.Q, layer), (Id.K, other), (Id.K if h.v_is_k else Id.V, other)))
        if h.over == Over.WHOLE:
            q = q @ self.linear_norm(h.q_norm, layer, q.shape[1])
            k = k @ self.linear_norm(h.k_norm, other, k.shape[1])
        q, k, v = (x.reshape(C, count, -1).transpose(1, 0, 2)
                   for x, count in ((q, h.heads), (k, h.kv_heads), (v, h.kv_heads)))
        if h.over != Over.WHOLE:
            q, k = q @ self.linear_norm(h.q_norm, layer,
                                        h.d_k), k @ self.linear_norm(h.k_norm, other, h.d_k)
        return q, k, v

    def out(self, layer):
        return self.weight(TEXT, Id.O, layer).T.reshape(self.H, -1, self.C)

    def context(self, layer, head):
        """The matrices of v and o of a head; of two with one context, both have those of both."""
        h, v, out = self.attention(layer).head, self.rows(layer)[2], self.out(layer)
        if not h.differ:
            return v[head // (self.H // h.kv_heads)], out[head]
        c = head % (self.H // 2)
        g = c // (self.H // h.kv_heads)
        return (np.concatenate([v[g], v[g + h.kv_heads // 2]], -1),
                np.concatenate([out[2 * c], out[2 * c + 1]]))

    def sign(self, layer, head):
        """Of the second of two heads with one context, whose weights are subtracted: -lambda."""
        h = self.attention(layer).head
        if not h.differ or head < self.H // 2:
            return 1
        q1, k1, q2, k2 = (self.weight(TEXT, id, layer) for id in LAMBDAS)
        return -(np.exp(q1 @ k1) - np.exp(q2 @ k2) + h.differ)


def raised(f, layer, head, words):
    """Logits that a head adds for each of `words`, [words, V], without shifts and biases."""
    s, other = f.attention(layer), f.of_keys(layer)
    x = f.norm(f.attention(other).before, TEXT, other, f.embedding[words])
    v, out = f.context(layer, head)
    y = f.unshifted(s.out, layer, x @ v @ out * f.sign(layer, head))
    return f.unshifted(f.stack.unembed.norm, -1, y) @ f.unembedding


def share(f, pairs, among):
    found = np.zeros((f.L, f.H))
    for layer in range(f.L):
        for head in range(f.H):
            logits = raised(f, layer, head, [a for a, _ in pairs])
            for row, (_, b) in zip(logits, pairs):
                found[layer, head] += all(row[b] > row[i] for i in among if i != b)
    return found / len(pairs)


def compositions(f):
    scores, contexts, found = [], [], {}
    for layer in range(f.L):
        s, (q, k, _) = f.attention(layer), f.rows(layer)
        before, after = f.linear_norm(s.before, layer, f.C), f.linear_norm(s.out, layer, f.C)
        other = f.of_keys(layer)
        of_keys = f.linear_norm(f.attention(other).before, other, f.C)
        for h in range(f.H):
            g = h // (f.H // s.head.kv_heads)
            scores.append((layer, other, before @ q[h] @ (of_keys @ k[g]).T))
            if not s.head.differ or h < f.H // 2:
                v, out = f.context(layer, h)
                contexts.append((layer, other, of_keys @ v @ out @ after))
    size = np.linalg.norm
    for name, readers in (("q", scores), ("k", [(*at, qk.T) for *at, qk in scores]),
                          ("v", contexts)):
        cells = np.full((len(contexts), len(readers)), -1.0)
        for i, (layer, _, writes) in enumerate(contexts):
            for j, (later, of_keys, reads) in enumerate(readers):
                if (later if name == "q" else of_keys) > layer:
                    cells[i, j] = size(writes @ reads) / (size(writes) * size(reads))
        found[name + "_composition"] = cells
    return found


def tensors_of(f):
    if f.stack.unembed.transform:
        return compositions(f)
    words = list(range(f.V))
    step = max(1, f.V // 13)
    pairs = [(a, (a * 5 + 3) % f.V) for a in words[::step]]
    among = sorted({i for pair in pairs for i in pair})
    return {"copying": share(f, [(a, a) for a in words], words), "pairs": np.array(pairs, float),
            "successor": share(f, pairs, among), **compositions(f)}


def main():
    tests = pathlib.Path(__file__).resolve().parent.parent
    header = (tests / "unit/rigs/instruments_golden.h").read_text()
    names = re.findall(r'"([\w-]+)"', header.partition("instruments_families[] = {")[2].partition("/* with mixers")[0])
    folders = [tests.parent.parent / "models/tiny", tests / "golden/transformer-pre",
               tests / "golden/transformer-post",
               *(tests / "golden-families" / name for name in names)]
    models = {folder.name: Circuits(folder) for folder in folders}
    found = {f"{name}/{tensor}": x for name, f in models.items() if not f.bends
             for tensor, x in tensors_of(f).items()}
    write_safetensors(tests / "oracle/circuits.safetensors",
                      {name: ("F32", list(x.shape), to_bytes(x.flatten().tolist(), "F32"))
                       for name, x in found.items()})
    print(len(models), "models", len(found), "tensors")


if __name__ == "__main__":
    main()
