#!/usr/bin/env python3
"""Activation and path patching with PyTorch's hooks in float64: the expected results of `patch`.

usage: patches.py [write]     prints a line for each model, or writes patches.safetensors beside it

Four decoders, written independently. Each part is an identity module; a patch is a forward hook on it
that returns the value of another run. Path patching (Wang et al., 2022, Appendix B) takes two runs: in
the first, hooks keep the contexts of all heads except the senders; in the second, only the receivers are
patched, all at once, with their values of the first.
"""
import json, math, pathlib, sys

import torch
from torch import nn
from torch.nn import functional

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "oracle"))
from family_reference import from_bytes, read_safetensors, to_bytes, write_safetensors

torch.set_default_dtype(torch.float64)
CLEAN, CORRUPT, ANSWER, AGAINST = [1, 5, 9, 3, 7, 2], [1, 6, 9, 8, 7, 2], 4, 9
BY_TOKEN, BY_HEAD = ("resid_pre", "resid_mid", "attn_out", "mlp_out"), ("context", "q", "k", "v", "weights")

NAMES = {  # prefix, layer, n1, n2, o, down, up, gate, words, final
    "opt": ("model.decoder.", "layers.{}.", "self_attn_layer_norm", "final_layer_norm", "self_attn.out_proj",
            "fc2", "fc1", None, "embed_tokens", "final_layer_norm"),
    "llama": ("model.", "layers.{}.", "input_layernorm", "post_attention_layernorm", "self_attn.o_proj",
              "mlp.down_proj", "mlp.up_proj", "mlp.gate_proj", "embed_tokens", "norm"),
    "gpt_neox": ("gpt_neox.", "layers.{}.", "input_layernorm", "post_attention_layernorm", "attention.dense",
                 "mlp.dense_4h_to_h", "mlp.dense_h_to_4h", None, "embed_in", "final_layer_norm")}
NAMES["smollm3"] = NAMES["llama"]  # three layers


class Decoder(nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.c = c = json.loads((folder / "config.json").read_text())
        self.entries = read_safetensors(folder / "model.safetensors")
        self.family, self.L = c["model_type"], c["num_hidden_layers"]
        self.H = c["num_attention_heads"]
        self.K = c.get("num_key_value_heads") or self.H
        self.d = c.get("head_dim") or c["hidden_size"] // self.H
        self.parts = nn.ModuleDict({f"{name} {layer}": nn.Identity() for layer in range(self.L)
                                    for name in BY_TOKEN + BY_HEAD})

    def tensor(self, name):
        entry = self.entries.get(name)
        return None if entry is None else torch.tensor(
            from_bytes(entry["data"], entry["dtype"])).double().view(entry["shape"])

    def linear(self, x, name):
        return functional.linear(x, self.tensor(name + ".weight"), self.tensor(name + ".bias"))

    def norm(self, x, name):
        eps = self.c.get("rms_norm_eps") or self.c.get("layer_norm_eps") or 1e-5
        weight, bias = self.tensor(name + ".weight"), self.tensor(name + ".bias")
        if "rms_norm_eps" in self.c:
            return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight
        return functional.layer_norm(x, x.shape[-1:], weight, bias, eps)

    def rotate(self, x, layer):
        plain = self.family == "opt" or not self.c.get("no_rope_layers", [1] * self.L)[layer]
        r = 0 if plain else int(self.d * self.c.get("rotary_pct", 1))
        if not r:
            return x
        angles = torch.outer(torch.arange(x.shape[-2]).double(),
                             self.c["rope_theta"] ** (-torch.arange(0, r, 2) / r))
        a, b = x[..., :r // 2], x[..., r // 2:r]
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin(),
                          x[..., r:]], -1)

    def project(self, y, at):
        T = y.shape[0]
        if self.family == "gpt_neox":
            joined = self.linear(y, at + "attention.query_key_value")
            return joined.view(T, self.H, 3, self.d).permute(2, 1, 0, 3)
        return (self.linear(y, f"{at}self_attn.{name}_proj").view(T, -1, self.d).transpose(0, 1)
                for name in "qkv")

    def attention(self, y, layer, at, out):
        part = lambda name, x: self.parts[f"{name} {layer}"](x)
        T = y.shape[0]
        q, k, v = self.project(y, at)
        q, k, v = part("q", self.rotate(q, layer)), part("k", self.rotate(k, layer)), part("v", v)
        k, v = (x.repeat_interleave(self.H // self.K, 0) for x in (k, v))
        scores = (q @ k.transpose(1, 2) / math.sqrt(self.d)).masked_fill(
            torch.ones(T, T).triu(1).bool(), -math.inf)
        context = part("context", part("weights", scores.softmax(-1)) @ v)
        return part("attn_out", self.linear(context.transpose(0, 1).reshape(T, -1), at + out))

    def mlp(self, y, layer, at, down, up, gate):
        hidden = self.linear(y, at + up)
        if gate:
            hidden = functional.silu(self.linear(y, at + gate)) * hidden
        else:
            hidden = (functional.relu if self.family == "opt" else functional.gelu)(hidden)
        return self.parts[f"mlp_out {layer}"](self.linear(hidden, at + down))

    def forward(self, ids):
        prefix, block, n1, n2, out, down, up, gate, words, final = NAMES[self.family]
        words = self.tensor(f"{prefix}{words}.weight")
        x = words[ids]
        if self.family == "opt":
            x = x + self.tensor(prefix + "embed_positions.weight")[2:len(ids) + 2]
        for layer in range(self.L):
            at = prefix + block.format(layer)
            x = self.parts[f"resid_pre {layer}"](x)
            added = self.attention(self.norm(x, at + n1), layer, at, out)
            middle = x if self.family == "gpt_neox" else self.parts[f"resid_mid {layer}"](x + added)
            x = x + added + self.mlp(self.norm(middle, at + n2), layer, at, down, up, gate) \
                if self.family == "gpt_neox" else \
                middle + self.mlp(self.norm(middle, at + n2), layer, at, down, up, gate)
        head = self.tensor("embed_out.weight" if self.family == "gpt_neox" else "lm_head.weight")
        logits = self.norm(x, prefix + final)[-1] @ (words if head is None else head).T
        return float(logits[ANSWER] - logits[AGAINST])

    def run(self, ids, changes=()):
        """The logit difference, and the output of every part; `changes` are pairs of a part and a hook."""
        seen, handles = {}, []
        for name, change in changes:
            handles.append(self.parts[name].register_forward_hook(lambda _, __, x, f=change: f(x)))
        for name, part in self.parts.items():
            handles.append(part.register_forward_hook(lambda _, __, x, n=name: seen.__setitem__(n, x)))
        with torch.no_grad():
            logit = self(torch.tensor(ids))
        for handle in handles:
            handle.remove()
        return logit, seen


def put(other, index):
    def change(x):
        x = x.clone()
        x[index] = other[index]
        return x
    return change


def patches(model):
    clean, given = model.run(CLEAN)
    corrupt, own = model.run(CORRUPT)
    found = {"answer": [clean, corrupt]}
    for name in BY_TOKEN + BY_HEAD:
        if f"{name} 0" not in given:
            continue
        count = given[f"{name} 0"].shape[0]
        found[name] = [[model.run(CORRUPT, [(part, put(given[part], i))])[0] for i in range(count)]
                       for part in (f"{name} {layer}" for layer in range(model.L))]

    def send(senders, end):
        """A run in which the heads of the layers before `end` keep their contexts, except the senders."""
        changes = [(part, lambda x, y=own[part]: y) for part in (f"context {i}" for i in range(end))]
        changes += [(f"context {layer}", put(given[f"context {layer}"], head)) for layer, head in senders]
        return model.run(CORRUPT, changes)

    def receive(senders, receivers):
        """The answer if only the receivers, (part, head), get what they have with the senders patched."""
        seen = send(senders, max(int(part.split()[1]) for part, _ in receivers))[1]
        return model.run(CORRUPT, [(part, put(seen[part], head)) for part, head in receivers])[0]

    def senders_before(end):
        return [[[(layer, head)] for head in range(model.H)] for layer in range(end)]

    found["paths"] = [[send(one, model.L)[0] for one in row] for row in senders_before(model.L)]
    last = model.L - 1
    for name in "qkv":
        part = f"{name} {last}"
        found["to_" + name] = [[[receive(one, [(part, head)]) for one in row] for row in senders_before(last)]
                               for head in range(own[part].shape[0])]

    # sets: the queries of two heads and a key in the last layer, and a query one layer earlier
    sets = [("q", last, 0), ("q", last, model.H - 1), ("k", last, 0)] + [("q", last - 1, 1)] * (last > 1)
    receivers = [(f"{name} {layer}", head) for name, layer, head in sets]
    senders = [(0, 0), (last - 1, 1)]
    alone_and_all = [[one] for one in senders] + [senders]
    found["receivers"] = [["qkv".index(name), layer, head] for name, layer, head in sets]
    found["senders"] = senders
    found["to_set"] = [[receive(one, receivers) for one in row] for row in senders_before(last)]
    found["joint_to_set"] = [receive(some, receivers) for some in alone_and_all]
    found["joint_to_logits"] = [send(some, model.L)[0] for some in alone_and_all]
    return found


def check(folder, write):
    model = Decoder(folder)
    found = {name: torch.tensor(x).double() for name, x in patches(model).items()}
    assert abs(found["answer"][0] - found["answer"][1]) > 1e-3, found["answer"]
    path = folder / "patches.safetensors"
    if write:
        write_safetensors(path, {name: ("F32", list(x.shape), to_bytes(x.flatten().tolist(), "F32"))
                                 for name, x in found.items()})
    golden = {name: torch.tensor(from_bytes(entry["data"], "F32")).double().view(entry["shape"])
              for name, entry in read_safetensors(path).items()}
    assert set(golden) == set(found), set(golden) ^ set(found)
    worst = max(float((x - golden[name]).abs().max() / x.abs().max()) for name, x in found.items())
    print(f"{folder.name}: {len(found)} tensors, {worst:.0e} of the largest value at most")
    return worst < 1e-6


sys.exit(not all([check(TESTS / "golden-families" / name, sys.argv[1:] == ["write"]) for name in NAMES]))
