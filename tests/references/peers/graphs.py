"""Export a Llama, written in PyTorch in the usual way, as graphs for ONNX Runtime.

    python graphs.py MODEL FOLDER      writes plain.onnx, attention.onnx and cache.onnx
"""
import json
import sys
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from safetensors.torch import load_file

torch.set_grad_enabled(False)


class Llama(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        with open(f"{folder}/config.json", encoding="utf-8") as file:
            self.config = SimpleNamespace(**json.load(file))
        for name, tensor in load_file(f"{folder}/model.safetensors").items():
            self.register_buffer(name.replace(".", "_"), tensor)

    def linear(self, x, name):
        return F.linear(x, getattr(self, name + "_weight"), getattr(self, name + "_bias", None))

    def norm(self, x, name):
        root = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.config.rms_norm_eps)
        return getattr(self, name + "_weight") * (x * root)

    def heads(self, x):
        """[batch, token, channel] as [batch, head, token, dim]"""
        width = self.config.hidden_size // self.config.num_attention_heads
        return x.view(x.shape[0], x.shape[1], -1, width).transpose(1, 2)

    def waves(self, start, tokens, width):
        powers = torch.arange(0, width, 2, dtype=torch.float64) / width
        theta = self.config.rope_parameters["rope_theta"]
        angles = torch.arange(start, start + tokens)[:, None] * theta ** -powers
        angles = torch.cat((angles, angles), -1)
        return angles.cos().float(), angles.sin().float()

    def attend(self, x, name, waves, past):
        q, k, v = (self.heads(self.linear(x, f"{name}_{part}_proj")) for part in "qkv")
        q, k = (self.turn(part, *waves) for part in (q, k))
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        group = q.shape[1] // k.shape[1]
        keys, values = (part.repeat_interleave(group, 1) for part in (k, v))
        future = torch.ones(q.shape[2], k.shape[2]).triu(1 + k.shape[2] - q.shape[2]).bool()
        scores = q @ keys.transpose(2, 3) / q.shape[3] ** 0.5
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        context = (weights @ values).transpose(1, 2).reshape(x.shape)
        return self.linear(context, name + "_o_proj"), weights, (k, v)

    @staticmethod
    def turn(x, cosines, sines):
        first, last = x.chunk(2, -1)
        return x * cosines + torch.cat((-last, first), -1) * sines

    def forward(self, ids, pasts=None):
        """Output of the last norm; attention, keys and values of every layer."""
        start = 0 if pasts is None else pasts[0][0].shape[2]
        width = self.config.hidden_size // self.config.num_attention_heads
        waves = self.waves(start, ids.shape[1], width)
        x = self.model_embed_tokens_weight[ids]
        attention, presents = [], []
        for layer in range(self.config.num_hidden_layers):
            block = f"model_layers_{layer}"
            past = None if pasts is None else pasts[layer]
            normed = self.norm(x, block + "_input_layernorm")
            out, weights, present = self.attend(normed, block + "_self_attn", waves, past)
            x = x + out
            normed = self.norm(x, block + "_post_attention_layernorm")
            gate = F.silu(self.linear(normed, block + "_mlp_gate_proj"))
            hidden = gate * self.linear(normed, block + "_mlp_up_proj")
            x = x + self.linear(hidden, block + "_mlp_down_proj")
            attention.append(weights)
            presents.append(present)
        return self.norm(x, "model_norm"), attention, presents

    def unembed(self, x):
        return x @ getattr(self, "lm_head_weight", self.model_embed_tokens_weight).T


class Graph(torch.nn.Module):
    """One of the graphs, with flat lists of inputs and outputs."""

    def __init__(self, model, kind):
        super().__init__()
        self.model, self.kind = model, kind

    def forward(self, ids, *past):
        x, attention, presents = self.model(ids, list(zip(past[0::2], past[1::2])) or None)
        if self.kind == "plain":
            return (x,)
        if self.kind == "attention":
            return (x, *attention)
        return (self.model.unembed(x), *(t for pair in presents for t in pair))


def export(model, kind, path):
    config = model.config
    names = [f"{kv}.{layer}" for layer in range(config.num_hidden_layers) for kv in "kv"]
    inputs, axes = ["ids"], {"ids": {0: "batch", 1: "token"}}
    outputs = {"plain": ["ln_f"], "cache": ["logits", *(f"present.{name}" for name in names)],
               "attention": ["ln_f", *(f"weights.{i}" for i in range(config.num_hidden_layers))]}
    past = ()
    if kind == "cache":
        inputs += ["past." + name for name in names]
        past = tuple(torch.zeros(1, config.num_key_value_heads, 2, config.head_dim) for _ in names)
        axes.update({"past." + name: {0: "batch", 2: "past"} for name in names})
    torch.onnx.export(Graph(model, kind), (torch.tensor([[1, 2, 3]]), *past), path,
                      input_names=inputs, output_names=outputs[kind], dynamic_axes=axes,
                      opset_version=17, dynamo=False)


if __name__ == "__main__":
    llama = Llama(sys.argv[1])
    for graph in "plain", "attention", "cache":
        export(llama, graph, f"{sys.argv[2]}/{graph}.onnx")
