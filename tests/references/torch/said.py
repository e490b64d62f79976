"""Expected results of `attn-cli score` and `attn-cli lens` for a GPT-2, Llama or GPT-NeoX, in float64.

    /usr/bin/python3 tests/references/torch/said.py FOLDER 1,2,3      CSV: what,layer,token,name,value
"""

import json
import struct
import sys

import torch
from torch.nn import functional


def read_tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    found = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        values = bytearray(data[8 + size + begin : 8 + size + end])
        found[name] = torch.frombuffer(values, dtype=torch.float32).reshape(entry["shape"]).double()
    return found


def attend(q, k, v):
    """Causal attention: q, k and v are [H, T, D], the result is [T, H · D]."""
    k, v = (x.repeat_interleave(q.shape[0] // x.shape[0], 0) for x in (k, v))
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    later = torch.ones(scores.shape[1:]).triu(1).bool()
    context = scores.masked_fill(later, float("-inf")).softmax(-1) @ v
    return context.transpose(0, 1).reshape(q.shape[1], -1)


def heads(rows, count):
    return rows.reshape(rows.shape[0], count, -1).transpose(0, 1)


def rotate(x, base, rotated):
    """Rotary embedding of the first `rotated` channels; channel i is paired with i + rotated / 2."""
    angles = torch.arange(x.shape[1])[:, None] * base ** (-torch.arange(0, rotated, 2).double() / rotated)
    cos, sin = (torch.cat([f(angles)] * 2, -1) for f in (torch.cos, torch.sin))
    rows, rest = x[..., :rotated], x[..., rotated:]
    a, b = rows.chunk(2, -1)
    return torch.cat([rows * cos + torch.cat([-b, a], -1) * sin, rest], -1)


class Model:
    def __init__(self, folder):
        self.c = json.load(open(folder + "/config.json"))
        self.w = read_tensors(folder + "/model.safetensors")

    def layernorm(self, x, name, epsilon):
        return functional.layer_norm(
            x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"], epsilon
        )

    def linear(self, x, name):
        return functional.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))


class GPT2(Model):
    layers = property(lambda self: self.c["n_layer"])

    def norm(self, x, name="ln_f"):
        return self.layernorm(x, name, self.c["layer_norm_epsilon"])

    def conv(self, x, name):
        return x @ self.w[name + ".weight"] + self.w[name + ".bias"]

    def embed(self, ids):
        return self.w["wte.weight"][ids] + self.w["wpe.weight"][: len(ids)]

    def block(self, x, layer):
        h = f"h.{layer}."
        q, k, v = self.conv(self.norm(x, h + "ln_1"), h + "attn.c_attn").chunk(3, -1)
        out = self.conv(attend(*(heads(y, self.c["n_head"]) for y in (q, k, v))), h + "attn.c_proj")
        hidden = self.conv(self.norm(x + out, h + "ln_2"), h + "mlp.c_fc")
        return out, self.conv(functional.gelu(hidden, approximate="tanh"), h + "mlp.c_proj")

    def unembed(self, x):
        return self.norm(x) @ self.w["wte.weight"].T


class Llama(Model):
    layers = property(lambda self: self.c["num_hidden_layers"])

    def norm(self, x, name="model.norm"):
        mean = x.pow(2).mean(-1, keepdim=True)
        return x / (mean + self.c["rms_norm_eps"]).sqrt() * self.w[name + ".weight"]

    def embed(self, ids):
        return self.w["model.embed_tokens.weight"][ids]

    def block(self, x, layer):
        h = f"model.layers.{layer}."
        rows = self.norm(x, h + "input_layernorm")
        q, k, v = (self.linear(rows, f"{h}self_attn.{name}_proj") for name in "qkv")
        q, k, v = (heads(y, y.shape[1] // self.c["head_dim"]) for y in (q, k, v))
        q, k = (rotate(y, self.c["rope_theta"], self.c["head_dim"]) for y in (q, k))
        out = self.linear(attend(q, k, v), h + "self_attn.o_proj")
        rows = self.norm(x + out, h + "post_attention_layernorm")
        gate = functional.silu(self.linear(rows, h + "mlp.gate_proj"))
        return out, self.linear(gate * self.linear(rows, h + "mlp.up_proj"), h + "mlp.down_proj")

    def unembed(self, x):
        return self.linear(self.norm(x), "lm_head")


class NeoX(Model):
    layers = property(lambda self: self.c["num_hidden_layers"])

    def norm(self, x, name="gpt_neox.final_layer_norm"):
        return self.layernorm(x, name, self.c["layer_norm_eps"])

    def embed(self, ids):
        return self.w["gpt_neox.embed_in.weight"][ids]

    def block(self, x, layer):
        h = f"gpt_neox.layers.{layer}."
        rows = self.linear(self.norm(x, h + "input_layernorm"), h + "attention.query_key_value")
        q, k, v = heads(rows, self.c["num_attention_heads"]).chunk(3, -1)
        rotated = int(q.shape[-1] * self.c["rotary_pct"])
        q, k = (rotate(y, self.c["rotary_emb_base"], rotated) for y in (q, k))
        out = self.linear(attend(q, k, v), h + "attention.dense")
        rows = self.norm(x, h + "post_attention_layernorm")
        hidden = functional.gelu(self.linear(rows, h + "mlp.dense_h_to_4h"))
        return out, self.linear(hidden, h + "mlp.dense_4h_to_h")

    def unembed(self, x):
        return self.linear(self.norm(x), "embed_out")


def tell(what, layer, token, **numbers):
    for name, value in numbers.items():
        print(f"{what},{layer},{token},{name},{float(value):.12g}")


def entropy(logs):
    return -(logs.exp() * logs).sum()


def rank(logs, target):
    return 1 + (logs > logs[target]).sum()


def main(folder, ids):
    kind = {"gpt2": GPT2, "llama": Llama, "gpt_neox": NeoX}
    model = kind[json.load(open(folder + "/config.json"))["model_type"]](folder)
    ids = [int(i) for i in ids.split(",")]
    x = model.embed(ids)
    sites = {"resid_pre": [], "attn_out": [], "mlp_out": [], "resid_post": []}
    for layer in range(model.layers):
        attention, mlp = model.block(x, layer)
        post = x + attention + mlp
        for site, value in zip(sites, (x, attention, mlp, post)):
            sites[site].append(value)
        x = post
    last = model.unembed(x).log_softmax(-1)
    for token, logs in enumerate(last[:-1], 1):
        target = ids[token]
        tell("score", "", token, logprob_nats=logs[target], surprisal_nats=-logs[target])
        tell("score", "", token, entropy_nats=entropy(logs), rank=rank(logs, target))
    for site, rows in sites.items():
        for layer, row in enumerate(rows):
            for token, logs in enumerate(model.unembed(row).log_softmax(-1)):
                tell(site, layer, token, best=logs.max().exp(), id=logs.argmax())
                tell(site, layer, token, entropy_nats=entropy(logs))
                tell(site, layer, token, kl=(last[token].exp() * (last[token] - logs)).sum())
                if token + 1 < len(ids):
                    target = ids[token + 1]
                    tell(site, layer, token, rank=rank(logs, target), target=logs[target].exp())


main(*sys.argv[1:])
