#!/usr/bin/env python3
"""JinaBERT (jina-embeddings-v2) in PyTorch, as its authors' modeling_bert.py computes it, which
transformers does not contain. Compares attn-cli with models of random weights, in float64.

usage: jina.py BUILD/attn-cli [FOLDER]     FOLDER: also keep the first model, with expected.json
"""
import json, math, pathlib, sys, tempfile

from peer import LIMIT, ids_of, off, results
import torch
from safetensors.torch import save_file
from torch.nn.functional import gelu, layer_norm, linear, relu


def slopes(heads):
    power = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    return first if power == heads else first + slopes(2 * power)[0::2][:heads - power]


class Jina:
    """The pass, from tensors with the names of the published files."""

    def __init__(self, config, tensors):
        self.c, self.t = config, {name: t.double() for name, t in tensors.items()}

    def linear(self, name, x):
        return linear(x, self.t[name + ".weight"], self.t.get(name + ".bias"))

    def norm(self, name, x):
        return layer_norm(x, x.shape[-1:], self.t[name + ".weight"], self.t[name + ".bias"],
                          self.c["layer_norm_eps"])

    def __call__(self, ids, segments):
        c, seen = self.c, {}
        x = self.t["embeddings.word_embeddings.weight"][ids]
        x = x + self.t["embeddings.token_type_embeddings.weight"][segments]
        x = self.norm("embeddings.LayerNorm", x)
        heads, width = c["num_attention_heads"], c["intermediate_size"]
        at = torch.arange(len(ids))
        bias = -torch.tensor(slopes(heads)).double()[:, None, None] * (at[:, None] - at).abs()
        for layer in range(c["num_hidden_layers"]):
            name = f"encoder.layer.{layer}."
            q, k, v = (self.linear(f"{name}attention.self.{part}", x)
                       for part in ("query", "key", "value"))
            if c.get("auto_map"):  # the variant with norms of queries and keys
                q = self.norm(name + "attention.self.layer_norm_q", q)
                k = self.norm(name + "attention.self.layer_norm_k", k)
            q, k, v = (y.unflatten(-1, (heads, -1)).transpose(0, 1) for y in (q, k, v))
            weights = (q @ k.transpose(1, 2) / math.sqrt(q.shape[-1]) + bias).softmax(-1)
            context = (weights @ v).transpose(0, 1).flatten(1)
            out = self.norm(name + "attention.output.LayerNorm",
                            self.linear(name + "attention.output.dense", context) + x)
            act = gelu if c["feed_forward_type"] == "geglu" else relu
            if c.get("auto_map"):
                x = self.norm(name + "layer_norm_1", x + out)
                hidden = self.linear(name + "mlp.up_gated_layer", x)
                hidden = hidden[:, :width] * act(hidden[:, width:])
                x = self.norm(name + "layer_norm_2", x + self.linear(name + "mlp.down_layer", hidden))
            else:
                hidden = self.linear(name + "mlp.gated_layers", out)
                hidden = act(hidden[:, :width]) * hidden[:, width:]
                x = self.norm(name + "mlp.layernorm", self.linear(name + "mlp.wo", hidden) + out)
            seen |= {f"h.{layer}.weights": weights, f"h.{layer}.resid_post": x}
        return seen


def draw(config):
    C, I = config["hidden_size"], config["intermediate_size"]
    sizes = {"embeddings.word_embeddings": (config["vocab_size"], C),
             "embeddings.token_type_embeddings": (2, C), "embeddings.LayerNorm": C}
    for layer in range(config["num_hidden_layers"]):
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            sizes[f"encoder.layer.{layer}.attention.{part}"] = (C, C)
        sizes[f"encoder.layer.{layer}.attention.output.LayerNorm"] = C
        normed = "auto_map" in config
        up, down = ("up_gated_layer", "down_layer") if normed else ("gated_layers", "wo")
        sizes[f"encoder.layer.{layer}.mlp.{up}"] = (2 * I, C)
        sizes[f"encoder.layer.{layer}.mlp.{down}"] = (C, I)
        for name in (("attention.self.layer_norm_q", "attention.self.layer_norm_k", "layer_norm_1",
                      "layer_norm_2") if normed else ("mlp.layernorm",)):
            sizes[f"encoder.layer.{layer}.{name}"] = C
    tensors = {}
    for name, size in sizes.items():
        matrix = isinstance(size, tuple)
        tensors[name + ".weight"] = (torch.randn(size) / math.sqrt(C) * 2 if matrix
                                     else 1 + torch.randn(size) / 4)
        if not matrix or not name.endswith(("embeddings", "gated_layers", "up_gated_layer")):
            tensors[name + ".bias"] = torch.randn(size[0] if matrix else size) / 4
    return tensors


def check(program, config, folder):
    torch.manual_seed(0)
    tensors, ids = draw(config), [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8]
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "expected.json").write_text(json.dumps({"ids": ids[:6], "greedy": [1]}))
    save_file(tensors, folder / "model.safetensors")
    worst, segments = 0, torch.zeros(len(ids), dtype=torch.long)
    for name, wanted in Jina(config, tensors)(torch.tensor(ids), segments).items():
        found = results(program, "run", "-m", folder, "--ids", ids_of(ids), "--show",
                        name.split(".")[-1], "--layer", name.split(".")[1])[0]
        worst = max(worst, off(found["tensors"][name], wanted))
    return worst


SMALL = dict(model_type="bert", architectures=["JinaBertModel"], position_embedding_type="alibi",
             feed_forward_type="geglu", hidden_act="gelu", vocab_size=40, type_vocab_size=2,
             layer_norm_eps=0.03, max_position_embeddings=8192, hidden_size=24,
             num_hidden_layers=2, num_attention_heads=4, intermediate_size=32)
CONFIGS = [SMALL, SMALL | dict(num_attention_heads=6, num_hidden_layers=3),
           SMALL | dict(num_attention_heads=12, feed_forward_type="reglu"),
           SMALL | dict(auto_map={"AutoModel": "jinaai/jina-bert-v2-qk-post-norm--x.JinaBertModel"})]
count = 0
for config in CONFIGS:
    with tempfile.TemporaryDirectory() as folder:
        keeps = len(sys.argv) > 2 and config is SMALL
        error = check(sys.argv[1], config, pathlib.Path(sys.argv[2] if keeps else folder))
        count += error <= LIMIT
        print(f"{config['num_attention_heads']} heads: {error:.1e}", file=sys.stderr)
print(count, "models agree")
