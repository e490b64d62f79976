"""GPT-2 in PyTorch, as it is usually written; and as graphs for ONNX Runtime.

    python3 gpt2.py MODEL FOLDER      export plain.onnx, attention.onnx and cache.onnx
"""
import sys

import torch
import torch.nn.functional as F

from checkpoint import map_tensors, read_config

torch.set_num_threads(1)
torch.set_grad_enabled(False)


class GPT2(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.config = read_config(folder)
        for name, array in map_tensors(f"{folder}/model.safetensors").items():
            self.register_buffer(name.replace(".", "_"), torch.from_numpy(array))

    def linear(self, x, name):
        """x · W + b over the last axis, as Hugging Face's Conv1D does it."""
        weight, bias = getattr(self, name + "_weight"), getattr(self, name + "_bias")
        y = torch.addmm(bias, x.reshape(-1, x.shape[-1]), weight)
        return y.view(x.shape[:-1] + (weight.shape[1],))

    def norm(self, x, name):
        weight, bias = getattr(self, name + "_weight"), getattr(self, name + "_bias")
        return F.layer_norm(x, weight.shape, weight, bias, 1e-5)

    def heads(self, x):
        """[batch, token, channel] as [batch, head, token, dim]"""
        return x.view(x.shape[0], x.shape[1], self.config.n_head, -1).transpose(1, 2)

    def attend(self, x, name, past):
        q, k, v = map(self.heads, self.linear(x, name + "_c_attn").chunk(3, -1))
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        future = torch.ones(q.shape[2], k.shape[2]).triu(1 + k.shape[2] - q.shape[2]).bool()
        scores = q @ k.transpose(2, 3) / q.shape[3] ** 0.5
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        context = (weights @ v).transpose(1, 2).reshape(x.shape)
        return self.linear(context, name + "_c_proj"), weights, (k, v)

    def forward(self, ids, pasts=None):
        """ln_f, the attention of every layer, and its keys and values"""
        start = 0 if pasts is None else pasts[0][0].shape[2]
        positions = torch.arange(start, start + ids.shape[1])
        x = self.wte_weight[ids] + self.wpe_weight[positions]
        attention, presents = [], []
        for layer in range(self.config.n_layer):
            block = f"h_{layer}"
            past = None if pasts is None else pasts[layer]
            normed = self.norm(x, block + "_ln_1")
            out, weights, present = self.attend(normed, block + "_attn", past)
            x = x + out
            hidden = self.linear(self.norm(x, block + "_ln_2"), block + "_mlp_c_fc")
            x = x + self.linear(F.gelu(hidden, approximate="tanh"), block + "_mlp_c_proj")
            attention.append(weights)
            presents.append(present)
        return self.norm(x, "ln_f"), attention, presents

    def unembed(self, x):
        return x @ self.wte_weight.T


class Graph(torch.nn.Module):
    """One of the graphs: what goes in and what comes out, one after another."""

    def __init__(self, model, kind):
        super().__init__()
        self.model, self.kind = model, kind

    def forward(self, ids, *past):
        pasts = list(zip(past[0::2], past[1::2])) if past else None
        x, attention, presents = self.model(ids, pasts)
        if self.kind == "plain":
            return (x,)
        if self.kind == "attention":
            return (x, *attention)
        return (self.model.unembed(x), *attention, *(t for pair in presents for t in pair))


def export(model, kind, path):
    layers, heads = model.config.n_layer, model.config.n_head
    width = model.config.n_embd // heads
    inputs, axes = ["ids"], {"ids": {0: "batch", 1: "token"}}
    outputs = ["logits" if kind == "cache" else "ln_f"]
    past = ()
    if kind != "plain":
        outputs += [f"weights.{layer}" for layer in range(layers)]
    if kind == "cache":
        names = [f"{kv}.{layer}" for layer in range(layers) for kv in "kv"]
        inputs += ["past." + name for name in names]
        outputs += ["present." + name for name in names]
        past = tuple(torch.zeros(1, heads, 2, width) for _ in names)
        axes.update({"past." + name: {0: "batch", 2: "past"} for name in names})
    torch.onnx.export(Graph(model, kind), (torch.tensor([[1, 2, 3]]), *past), path,
                      input_names=inputs, output_names=outputs, dynamic_axes=axes,
                      opset_version=17)


if __name__ == "__main__":
    gpt2 = GPT2(sys.argv[1])
    for graph in "plain", "attention", "cache":
        export(gpt2, graph, f"{sys.argv[2]}/{graph}.onnx")
