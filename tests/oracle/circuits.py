#!/usr/bin/env python3
"""Compute head scores that depend on the weights alone, with numpy in float64.

usage: circuits.py     writes tests/oracle/circuits.safetensors

For tiny, two encoder-decoders and each model of golden-families: the scores copying and successor
(with the pairs of successor), and the compositions of all pairs of heads (-1: none). Written
independently of the program: it uses whole matrices, [C, C], and norms that divide.
"""
import json, math, pathlib, sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from family_reference import (Model, Weights, from_bytes, read_safetensors, to_bytes,
                              write_safetensors)


class Family:
    """The matrices of a model of golden-families, to be multiplied by row vectors."""

    def __init__(self, folder):
        self.m = m = Model(json.loads((folder / "config.json").read_text()))
        self.w = Weights(read_safetensors(folder / "model.safetensors"), m.names["prefix"])
        self.L, self.H, self.K, self.C, self.V, self.d = m.L, m.H, m.K, m.C, m.V, m.d
        prefix = m.names["prefix"]
        width = m.key("word_embed_proj_dim", default=m.C)
        words = self.take(f"{prefix}{m.names['words']}.weight", m.V, width)
        scale = np.sqrt(m.C) if m.gemma else m.key("embedding_multiplier", default=1.0)
        self.embedding = words * scale
        head = self.w.take(m.names["head"] + ".weight", [m.V, width])
        self.unembedding = (np.array(head) if head else words).T
        if width != m.C:
            self.embedding = self.embedding @ self.take(prefix + "project_in.weight", m.C, width).T
            self.unembedding = self.take(prefix + "project_out.weight", width, m.C).T @ self.unembedding
        if m.family == "bloom":
            self.embedding = self.norm(self.embedding, prefix + "word_embeddings_layernorm", True)
        self.final = prefix + m.names["final"] if m.norm_first else None

    def take(self, name, *shape):
        return np.array(self.w.take(name, list(shape)))

    def norm(self, x, name, shift):
        rows = self.w.take(name + ".bias", [x.shape[-1]])
        mean = 0 if self.m.rms else x.mean(-1, keepdims=True)
        root = np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + self.m.eps)
        scale = self.take(name + ".weight", x.shape[-1])[0] + self.m.gemma
        return (x - mean) / root * scale + (np.array(rows[0]) if rows and shift else 0)

    def linear_norm(self, name):
        """A norm as a matrix [C, C], without divisor and shift."""
        centre = np.eye(self.C) - (0 if self.m.rms else 1 / self.C)
        return centre @ np.diag(self.take(name + ".weight", self.C)[0] + self.m.gemma)

    def at(self, layer):
        return f"{self.m.names['prefix']}{self.m.names['layers']}{layer}."

    def before(self, layer):
        name = self.m.names.get("n1")
        return self.at(layer) + name if name and self.m.norm_first else None

    def after(self, layer):
        name = self.m.names.get("post1")
        return self.at(layer) + name if name else None

    def rows(self, layer):
        """The matrices of q, k and v of each head, [C, d]."""
        n, at = self.m.names, self.at(layer)
        H, K, d, C = self.H, self.K, self.d, self.C
        if n.get("qkv"):
            parts = self.take(at + n["qkv"] + ".weight", (H + 2 * K) * d, C).reshape(H + 2 * K, d, C)
            group = H // K
            if self.m.grouped:
                by_group = parts.reshape(K, group + 2, d, C)
                q, k, v = by_group[:, :group].reshape(H, d, C), by_group[:, group], by_group[:, -1]
            else:
                q, k, v = parts[:H], parts[H:H + K], parts[H + K:]
        else:
            q, k, v = (self.take(f"{at}{n[name]}.weight", count * d, C).reshape(count, d, C)
                       for name, count in (("q", H), ("k", K), ("v", K)))
            for name, x in (("qn", q), ("kn", k)):
                full = at + n[name] + ".weight" if n.get(name) else None
                if full and self.w.name(full):
                    size = x.shape[0] * d if self.m.family == "olmo2" else d
                    x *= (self.take(full, size)[0] + self.m.gemma).reshape(-1, d, 1)
        return [x.transpose(0, 2, 1) for x in (q, k, v)]

    def out(self, layer):
        name = self.at(layer) + self.m.names["o"] + ".weight"
        return self.take(name, self.C, self.H * self.d).T.reshape(self.H, self.d, self.C)


class Native(Family):
    """A model with attn-cli's own tensor names; of encoder-decoders, the decoder's self-attention."""

    def __init__(self, folder):
        entries = read_safetensors(folder / "model.safetensors")
        config = json.loads((folder / "config.json").read_text())
        self.L, self.H, self.C, self.V = (config[n] for n in ("n_layer", "n_head", "n_embd", "vocab_size"))
        self.K, self.d = self.H, self.C // self.H
        self.t = {name: np.array(from_bytes(e["data"], e["dtype"])).reshape(e["shape"])
                  for name, e in entries.items()}
        self.m = type("m", (), dict(rms=False, gemma=0, eps=config.get("layer_norm_epsilon", 1e-5)))
        self.w = self
        self.norm_first = config.get("norm_first", config["model_type"] == "gpt2")
        scaled = config.get("scale_embedding", config["model_type"] == "transformer")
        self.embedding = self.t["wte.weight"] * (math.sqrt(self.C) if scaled else 1)
        self.unembedding = self.t.get("lm_head.weight", self.t["wte.weight"]).T
        self.final = "ln_f" if config.get("final_norm", True) else None

    def take(self, name, *shape):
        return [self.t[name]]

    def at(self, layer):
        return f"h.{layer}."

    def before(self, layer):
        return self.at(layer) + "ln_1" if self.norm_first else None

    def after(self, layer):
        return None

    def rows(self, layer):
        at = self.at(layer) + "attn."
        joined = self.t.get(at + "c_attn.weight")
        parts = ([self.t[at + f"{n}_proj.weight"] for n in "qkv"] if joined is None
                 else np.split(joined, 3, axis=1))
        return [part.reshape(self.C, self.H, self.d).transpose(1, 0, 2) for part in parts]

    def out(self, layer):
        at = self.at(layer) + "attn."
        w = self.t.get(at + "c_proj.weight", self.t.get(at + "out_proj.weight"))
        return w.reshape(self.H, self.d, self.C)


def raised(f, layer, head, words):
    """Logits that a head adds for each of `words`, [words, V], without shifts and biases."""
    x = f.embedding[words]
    if f.before(layer):
        x = f.norm(x, f.before(layer), True)
    y = x @ f.rows(layer)[2][head // (f.H // f.K)] @ f.out(layer)[head]
    if f.after(layer):
        y = f.norm(y, f.after(layer), False)
    if f.final:
        y = f.norm(y, f.final, False)
    return y @ f.unembedding


def share(f, pairs, among):
    found = np.zeros((f.L, f.H))
    for layer in range(f.L):
        for head in range(f.H):
            logits = raised(f, layer, head, [a for a, _ in pairs])
            for row, (_, b) in zip(logits, pairs):
                found[layer, head] += all(row[b] > row[i] for i in among if i != b)
    return found / len(pairs)


def compositions(f):
    heads, found = [], {}
    for layer in range(f.L):
        q, k, v = f.rows(layer)
        out, before, after = f.out(layer), np.eye(f.C), np.eye(f.C)
        if f.before(layer):
            before = f.linear_norm(f.before(layer))
        if f.after(layer):
            after = f.linear_norm(f.after(layer))
        for h in range(f.H):
            g = h // (f.H // f.K)
            heads.append((layer, before @ q[h] @ (before @ k[g]).T, before @ v[g] @ out[h] @ after))
    size = np.linalg.norm
    for name, read in (("q", lambda qk, ov: qk), ("k", lambda qk, ov: qk.T), ("v", lambda qk, ov: ov)):
        cells = np.full((len(heads), len(heads)), -1.0)
        for i, (layer, _, writes) in enumerate(heads):
            for j, (later, qk, ov) in enumerate(heads):
                if later > layer:
                    reads = read(qk, ov)
                    cells[i, j] = size(writes @ reads) / (size(writes) * size(reads))
        found[name + "_composition"] = cells
    return found


def tensors_of(f):
    words = list(range(f.V))
    step = max(1, f.V // 13)
    pairs = [(a, (a * 5 + 3) % f.V) for a in words[::step]]
    among = sorted({i for pair in pairs for i in pair})
    return {"copying": share(f, [(a, a) for a in words], words), "pairs": np.array(pairs, float),
            "successor": share(f, pairs, among), **compositions(f)}


tests = pathlib.Path(__file__).resolve().parent.parent
all_of_them = {"tiny": Native(tests.parent / "models/tiny")}
for name in ("transformer-pre", "transformer-post"):
    all_of_them[name] = Native(tests / "golden" / name)
for folder in sorted((tests / "golden-families").iterdir()):
    if (folder / "config.json").exists():
        all_of_them[folder.name] = Family(folder)
found = {f"{model}/{name}": x for model, f in all_of_them.items() for name, x in tensors_of(f).items()}
write_safetensors(tests / "oracle/circuits.safetensors",
                  {name: ("F32", list(x.shape), to_bytes(x.flatten().tolist(), "F32"))
                   for name, x in found.items()})
print(len(all_of_them), "models", len(found), "tensors")
