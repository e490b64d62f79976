#!/usr/bin/env python3
"""Compare the tensors that oracle/instruments.py wrote with PyTorch's modules in float64.

usage: instruments.py     prints a line for each model

Three decoders: opt (layer norms, learned positions, biases), llama (RMS norms, grouped heads, gated
MLP) and gpt_neox (parallel blocks, joined projections). For value zeroing, a forward hook sets a
token's values to 0. Attribution is gradient times value of each part; the divisors of norms and the
inputs of sublayers are detached from the graph.
"""
import json, math, pathlib, sys

import torch
from torch import nn
from torch.nn import functional

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "oracle"))
from family_reference import from_bytes, read_safetensors

torch.set_default_dtype(torch.float64)

NAMES = {  # prefix, layer, n1, q (or joined qkv), k, v, o, n2, gate, up, down
    "opt": ("model.decoder.", "layers.{}.", "self_attn_layer_norm", "self_attn.q_proj", "self_attn.k_proj",
            "self_attn.v_proj", "self_attn.out_proj", "final_layer_norm", None, "fc1", "fc2"),
    "llama": ("model.", "layers.{}.", "input_layernorm", "self_attn.q_proj", "self_attn.k_proj",
              "self_attn.v_proj", "self_attn.o_proj", "post_attention_layernorm", "mlp.gate_proj",
              "mlp.up_proj", "mlp.down_proj"),
    "gpt_neox": ("gpt_neox.", "layers.{}.", "input_layernorm", "attention.query_key_value", None, None,
                 "attention.dense", "post_attention_layernorm", None, "mlp.dense_h_to_4h",
                 "mlp.dense_4h_to_h")}


class Norm(nn.Module):
    """A norm whose divisor has no gradient."""

    def __init__(self, weight, bias, eps, rms):
        super().__init__()
        self.weight, self.eps, self.rms = nn.Parameter(weight), eps, rms
        self.bias = nn.Parameter(bias) if bias is not None else None

    def forward(self, x):
        x = x if self.rms else x - x.mean(-1, keepdim=True)
        y = x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt().detach() * self.weight
        return y if self.bias is None else y + self.bias


class Block(nn.Module):
    def __init__(self, model, layer):
        super().__init__()
        c = self.c = model.config
        self.family = c["model_type"]
        self.H = c["num_attention_heads"]
        self.K = c.get("num_key_value_heads") or self.H
        self.d = c.get("head_dim") or c["hidden_size"] // self.H
        names = NAMES[self.family]
        at = names[0] + names[1].format(layer)
        self.n1, self.n2 = model.norm(at + names[2]), model.norm(at + names[7])
        self.q, self.k, self.v, self.o, self.gate, self.up, self.down = (
            model.linear(at + name) if name else None for name in names[3:7] + names[8:])

    def rotate(self, x):
        c, d = self.c, self.d
        r = 0 if self.family == "opt" else int(d * c.get("rotary_pct", 1))
        if not r:
            return x
        angles = torch.outer(torch.arange(x.shape[-2]).double(),
                             c["rope_theta"] ** (-torch.arange(0, r, 2) / r))
        a, b = x[..., :r // 2], x[..., r // 2:r]
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([a * cos - b * sin, b * cos + a * sin, x[..., r:]], -1)

    def values(self, v, token):
        """The output of the projection `v`, with the token's values set to 0."""
        v = v.clone()
        if self.k is None:  # joined: q, k and v of each head
            v.view(v.shape[0], self.H, 3, self.d)[token, :, 2] = 0
        else:
            v[token] = 0
        return v

    def forward(self, x):
        T = x.shape[0]
        y = self.n1(x.detach())
        if self.k is None:
            q, k, v = self.q(y).view(T, self.H, 3, self.d).permute(2, 1, 0, 3)
        else:
            q, k, v = (part(y).view(T, -1, self.d).transpose(0, 1) for part in (self.q, self.k, self.v))
        q, k = self.rotate(q), self.rotate(k)
        k, v = (part.repeat_interleave(self.H // self.K, 0) for part in (k, v))
        scores = q @ k.transpose(1, 2) / math.sqrt(self.d)
        hidden = torch.ones(T, T).triu(1).bool()
        self.weights = scores.masked_fill(hidden, -math.inf).softmax(-1).detach()
        self.read = v.detach()
        self.z = (self.weights @ self.read).requires_grad_()
        added = self.o(self.z.transpose(0, 1).reshape(T, -1))
        middle = x if self.family == "gpt_neox" else x + added
        y = self.n2(middle.detach())
        if self.gate:
            act = functional.silu(self.gate(y)) * self.up(y)
        else:
            act = (functional.relu if self.family == "opt" else functional.gelu)(self.up(y))
        self.act = act.detach().requires_grad_()
        return x + added + self.down(self.act)


class Model(nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.config = json.loads((folder / "config.json").read_text())
        self.entries = read_safetensors(folder / "model.safetensors")
        prefix = NAMES[self.config["model_type"]][0]
        words = {"opt": "embed_tokens", "llama": "embed_tokens", "gpt_neox": "embed_in"}
        final = {"opt": "final_layer_norm", "llama": "norm", "gpt_neox": "final_layer_norm"}
        family = self.config["model_type"]
        self.blocks = nn.ModuleList(Block(self, i) for i in range(self.config["num_hidden_layers"]))
        self.words = self.tensor(f"{prefix}{words[family]}.weight")
        self.places = self.tensor(prefix + "embed_positions.weight")
        self.final = self.norm(prefix + final[family])
        head = self.tensor("embed_out.weight" if family == "gpt_neox" else "lm_head.weight")
        self.head = self.words if head is None else head

    def tensor(self, name):
        entry = self.entries.get(name)
        return None if entry is None else torch.tensor(
            from_bytes(entry["data"], entry["dtype"])).double().view(entry["shape"])

    def norm(self, name):
        c = self.config
        eps = c.get("rms_norm_eps") or c.get("layer_norm_eps") or 1e-5
        return Norm(self.tensor(name + ".weight"), self.tensor(name + ".bias"), eps, "rms_norm_eps" in c)

    def linear(self, name):
        weight, bias = self.tensor(name + ".weight"), self.tensor(name + ".bias")
        made = nn.Linear(weight.shape[1], weight.shape[0], bias is not None)
        made.weight.data = weight
        if bias is not None:
            made.bias.data = bias
        return made

    def forward(self, ids):
        T = len(ids)
        self.token = self.words[ids].requires_grad_()
        self.place = (torch.zeros_like(self.token) if self.places is None
                      else self.places[2:T + 2]).clone().requires_grad_()
        self.streams = [self.token + self.place]
        for block in self.blocks:
            self.streams.append(block(self.streams[-1]))
        return self.final(self.streams[-1]) @ self.head.T


def lengths(x):
    return x.pow(2).sum(-1).sqrt()


def effective(model):
    found, rolled = {}, None
    with torch.no_grad():
        for layer, block in enumerate(model.blocks):
            at, (H, T, d) = f"h.{layer}.", block.read.shape
            rows = block.o.weight.T.view(H, d, -1)
            found[at + "value_weighted"] = block.weights * lengths(block.read)[:, None]
            found[at + "norm_weighted"] = block.weights * lengths(block.read @ rows)[:, None]
            mixed = (block.weights.mean(0) + torch.eye(T)) / 2
            rolled = found[at + "rollout"] = mixed if rolled is None else mixed @ rolled
            x, moved = model.streams[layer], []
            for token in range(T):
                source = block.q if block.k is None else block.v
                hook = source.register_forward_hook(lambda _, __, y: block.values(y, token))
                moved.append(1 - functional.cosine_similarity(block(x), model.streams[layer + 1]))
                hook.remove()
            moved = torch.stack(moved, 1).tril()
            found[at + "value_zeroing"] = moved / moved.sum(1, keepdim=True)
    return found


def attribution(model, ids, answer, against):
    logits = model(ids)[-1]
    (logits[answer] - logits[against]).backward()

    def of(part):
        return (part.grad * part).detach() if part is not None and part.grad is not None else torch.zeros(1)
    found, rows = {}, []
    H = model.blocks[0].H
    rows.append(torch.cat([torch.zeros(H + 2), of(model.token)[-1].sum()[None], of(model.place)[-1].sum()[None]]))
    for layer, block in enumerate(model.blocks):
        g = block.z.grad[:, -1]
        found[f"h.{layer}.attribution_by_source"] = (
            block.weights[:, -1] * (block.read * g[:, None]).sum(-1))
        bias = of(block.o.bias).sum() + of(block.down.bias).sum()
        rows.append(torch.cat([of(block.z)[:, -1].sum(-1), of(block.act)[-1].sum()[None], bias[None],
                               torch.zeros(2)]))
    rows.append(torch.cat([torch.zeros(H + 1), of(model.final.bias).sum()[None], torch.zeros(2)]))
    found["attribution"] = torch.stack(rows)
    found["attribution_by_neuron"] = torch.stack([of(block.act)[-1] for block in model.blocks])
    return found


def check(folder):
    golden = {name: torch.tensor(from_bytes(entry["data"], "F32")).double().view(entry["shape"])
              for name, entry in read_safetensors(folder / "instruments.safetensors").items()}
    ids, model = golden["ids"].long(), Model(folder)
    found = attribution(model, ids, *golden["answer"].long().tolist())
    found.update(effective(model))
    worst = 0
    for name, tensor in found.items():
        wanted = golden[name]
        assert tensor.shape == wanted.shape, (name, tensor.shape, wanted.shape)
        worst = max(worst, float((tensor - wanted).abs().max() / wanted.abs().max()))
    left = set(golden) - set(found) - {"ids", "answer"}
    assert not left, left
    print(f"{folder.name}: {len(found)} tensors, {worst:.0e} of the largest value at most")
    return worst < 1e-6


sys.exit(not all([check(TESTS / "golden-families" / name) for name in NAMES]))
