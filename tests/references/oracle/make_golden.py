#!/usr/bin/env python3
"""Make golden models with PyTorch: encoder-decoder models and multi-query attention.

    /usr/bin/python3 tests/references/oracle/make_golden.py models tests/references/golden

The numbers are the inputs and outputs of torch.nn.TransformerEncoder, TransformerDecoder and
MultiheadAttention in float64, recorded by hooks. Hooks cannot reach the queries, keys, values and
scores inside MultiheadAttention: they are computed from its weights, and the script checks that they
give the module's attention weights and output.
"""
import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

# --- weights ----------------------------------------------------------------------------------


class Weights:
    """Random tensors with attn-cli's names, [in, out]; float32 in the file, float64 in PyTorch."""

    def __init__(self, seed, spread):
        """`spread` of matrices makes attention uneven, but keeps all numbers small."""
        self.tensors = {}
        self.spread = spread
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, name, *shape, middle=0.0):
        spread = self.spread if len(shape) == 2 else 0.1
        self.tensors[name] = middle + spread * torch.randn(*shape, generator=self.generator)
        return self.tensors[name].double()

    def linear(self, module, name, rows, columns, bias=True):
        module.weight = nn.Parameter(self.draw(f"{name}.weight", rows, columns).T)
        if bias:
            module.bias = nn.Parameter(self.draw(f"{name}.bias", columns))

    def norm(self, module, name, size):
        module.weight = nn.Parameter(self.draw(f"{name}.weight", size, middle=1.0))
        module.bias = nn.Parameter(self.draw(f"{name}.bias", size))

    def attention(self, name, channels, heads, bias, kv_heads=None):
        """Heads of a group get the same columns of keys and values."""
        module = nn.MultiheadAttention(channels, heads, bias=bias, batch_first=True)
        kv_heads = kv_heads or heads
        width = channels // heads
        matrices, biases = [], []
        for part, count in ("q", heads), ("k", kv_heads), ("v", kv_heads):
            matrix = self.draw(f"{name}.{part}_proj.weight", channels, count * width)
            vector = self.draw(f"{name}.{part}_proj.bias", count * width) if bias else None
            share = lambda x: (
                x.unflatten(-1, (count, width)).repeat_interleave(heads // count, -2).flatten(-2))
            matrices.append(share(matrix).T)
            biases.append(share(vector) if bias else None)
        module.in_proj_weight = nn.Parameter(torch.cat(matrices))
        if bias:
            module.in_proj_bias = nn.Parameter(torch.cat(biases))
        self.linear(module.out_proj, f"{name}.out_proj", channels, channels, bias)
        return module

    def mlp(self, layer, name, channels, inner):
        self.linear(layer.linear1, f"{name}.c_fc", channels, inner)
        self.linear(layer.linear2, f"{name}.c_proj", inner, channels)

    def write(self, path):
        header, data, at = {}, b"", 0
        for name, tensor in self.tensors.items():
            end = at + 4 * tensor.numel()
            header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, end]}
            data += tensor.contiguous().numpy().astype("<f4").tobytes()
            at = end
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(len(text).to_bytes(8, "little") + text + data)


class GivenWeights(Weights):
    """The tensors of a file instead of random ones."""

    def __init__(self, path):
        bytes_ = path.read_bytes()
        begin = 8 + int.from_bytes(bytes_[:8], "little")
        self.tensors = {}
        for name, entry in json.loads(bytes_[8:begin]).items():
            start, end = (begin + offset for offset in entry["data_offsets"])
            values = torch.frombuffer(bytearray(bytes_[start:end]), dtype=torch.float32)
            self.tensors[name] = values.reshape(entry["shape"])

    def draw(self, name, *shape, middle=0.0):
        assert self.tensors[name].shape == shape, name
        return self.tensors[name].double()


# --- recorded tensors -------------------------------------------------------------------------


def see_attention(seen, layer, module, inputs, mask, prefix="", kv_heads=None, out="attn_out"):
    """Record all tensors of a MultiheadAttention under the names of a layer such as "h.0."."""
    query, key, value = inputs
    heads = module.num_heads
    step = heads // (kv_heads or heads)
    given, weights = module(query, key, value, attn_mask=mask, need_weights=True,
                            average_attn_weights=False)
    matrices = module.in_proj_weight.chunk(3)
    biases = module.in_proj_bias.chunk(3) if module.in_proj_bias is not None else [None] * 3
    q, k, v = (F.linear(x, w, b).unflatten(-1, (heads, -1)).transpose(1, 2)
               for x, w, b in zip(inputs, matrices, biases))
    scores = q @ k.transpose(-1, -2)
    masked = scores / math.sqrt(q.shape[-1])
    if mask is not None:
        masked = masked + mask
    context = weights @ v
    close(masked.softmax(-1), weights)
    close(module.out_proj(context.transpose(1, 2).flatten(-2)), given)
    tensors = {"q": q, "k": k[:, ::step], "v": v[:, ::step], "scores": scores, "masked": masked,
               "weights": weights, "context": context}
    for name, tensor in tensors.items():
        seen[f"{layer}{prefix}{name}"] = tensor
    seen[f"{layer}{out}"] = given


def close(a, b):
    assert torch.allclose(a, b, rtol=1e-12, atol=1e-12), (a - b).abs().max()


class Hooks:
    """A context manager that records the inputs and outputs of modules."""

    def __init__(self, *modules):
        self.inputs, self.outputs = {}, {}
        self.handles = [module.register_forward_hook(self.keep) for module in modules]

    def keep(self, module, inputs, output):
        self.inputs[module], self.outputs[module] = inputs, output

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for handle in self.handles:
            handle.remove()


def see_layer(seen, name, layer, hooks, norms, norm_first):
    """Record a layer's stream, norms and MLP. `norms`: (module, its name, name of its input)."""
    seen[f"{name}resid_pre"] = hooks.inputs[layer][0]
    for module, norm, total in norms:
        seen[f"{name}{norm}"] = hooks.outputs[module]
        if total:
            seen[f"{name}{total}"] = hooks.inputs[module][0]
    seen[f"{name}mlp_act"] = layer.activation(hooks.outputs[layer.linear1])
    seen[f"{name}mlp_out"] = hooks.outputs[layer.linear2]
    if norm_first:
        seen[f"{name}resid_post"] = hooks.outputs[layer]


# --- encoder and decoder ----------------------------------------------------------------------


def positions(count, channels):
    """The sinusoidal positions of Vaswani et al., 2017."""
    place = torch.arange(count).double()[:, None]
    rate = 10000.0 ** (-torch.arange(0, channels, 2).double() / channels)
    waves = torch.zeros(count, channels).double()
    waves[:, 0::2] = torch.sin(place * rate)
    waves[:, 1::2] = torch.cos(place * rate)
    return waves


class Transformer:
    def __init__(self, config, weights):
        self.config = {"n_inner": 4 * config["n_embd"], "activation_function": "relu",
                       "norm_first": False, "final_norm": True, "positions": "sinusoidal",
                       "scale_embedding": True, "bias": True, "tie_word_embeddings": True,
                       "layer_norm_epsilon": 1e-5, **config}
        c = self.config
        self.weights = w = weights
        self.wte = w.draw("wte.weight", c["vocab_size"], c["n_embd"])
        if c["positions"] == "learned":
            self.wpe = w.draw("wpe.weight", c["n_positions"], c["n_embd"])
        kind = nn.TransformerEncoderLayer
        self.encoder = nn.TransformerEncoder(self.layer(kind), c["n_encoder_layer"],
                                             self.final_norm("enc.ln_f"))
        kind = nn.TransformerDecoderLayer
        self.decoder = nn.TransformerDecoder(self.layer(kind), c["n_layer"],
                                             self.final_norm("ln_f"))
        for i, layer in enumerate(self.encoder.layers):
            self.fill(layer, f"enc.{i}", layer.norm2)
        for i, layer in enumerate(self.decoder.layers):
            self.fill(layer, f"h.{i}", layer.norm3)
            w.norm(layer.norm2, f"h.{i}.ln_cross", c["n_embd"])
            layer.multihead_attn = self.attention(f"h.{i}.cross_attn")
        self.head = self.wte
        if not c["tie_word_embeddings"]:
            self.head = w.draw("lm_head.weight", c["vocab_size"], c["n_embd"])
        self.encoder.double()
        self.decoder.double()

    def layer(self, kind):
        c = self.config
        return kind(c["n_embd"], c["n_head"], c["n_inner"], dropout=0.0, batch_first=True,
                    activation=c["activation_function"], norm_first=c["norm_first"],
                    layer_norm_eps=c["layer_norm_epsilon"])

    def final_norm(self, name):
        c = self.config
        if not c["final_norm"]:
            return None
        norm = nn.LayerNorm(c["n_embd"], c["layer_norm_epsilon"])
        self.weights.norm(norm, name, c["n_embd"])
        return norm

    def attention(self, name):
        c = self.config
        return self.weights.attention(name, c["n_embd"], c["n_head"], c["bias"])

    def fill(self, layer, name, last_norm):
        c = self.config
        self.weights.norm(layer.norm1, f"{name}.ln_1", c["n_embd"])
        layer.self_attn = self.attention(f"{name}.attn")
        self.weights.norm(last_norm, f"{name}.ln_2", c["n_embd"])
        self.weights.mlp(layer, f"{name}.mlp", c["n_embd"], c["n_inner"])

    def embed(self, ids):
        c = self.config
        x = self.wte[ids]
        if c["scale_embedding"]:
            x = x * math.sqrt(c["n_embd"])
        learned = c["positions"] == "learned"
        return (x + (self.wpe[:len(ids)] if learned else positions(*x.shape)))[None]

    def see_encoder(self, seen, source):
        first = self.config["norm_first"]
        modules = [m for layer in self.encoder.layers for m in (layer, *layer.children())]
        with Hooks(*modules) as hooks:
            memory = self.encoder(source)
        for i, layer in enumerate(self.encoder.layers):
            name = f"enc.{i}."
            norms = ([(layer.norm1, "ln_1", None), (layer.norm2, "ln_2", "resid_mid")] if first else
                     [(layer.norm1, "ln_1", "resid_mid"), (layer.norm2, "ln_2", "resid_post")])
            see_layer(seen, name, layer, hooks, norms, first)
            see_attention(seen, name, layer.self_attn, hooks.inputs[layer.self_attn], None)
            close(seen[f"{name}attn_out"], hooks.outputs[layer.self_attn][0])
        return memory

    def see_decoder(self, seen, x, memory):
        first = self.config["norm_first"]
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1]).double()
        modules = [m for layer in self.decoder.layers for m in (layer, *layer.children())]
        with Hooks(*modules) as hooks:
            y = self.decoder(x, memory, tgt_mask=mask)
        for i, layer in enumerate(self.decoder.layers):
            name = f"h.{i}."
            norms = ([(layer.norm1, "ln_1", None), (layer.norm2, "ln_cross", "resid_mid"),
                      (layer.norm3, "ln_2", "resid_cross")] if first else
                     [(layer.norm1, "ln_1", "resid_mid"), (layer.norm2, "ln_cross", "resid_cross"),
                      (layer.norm3, "ln_2", "resid_post")])
            see_layer(seen, name, layer, hooks, norms, first)
            see_attention(seen, name, layer.self_attn, hooks.inputs[layer.self_attn], mask)
            close(seen[f"{name}attn_out"], hooks.outputs[layer.self_attn][0])
            inputs = hooks.inputs[layer.multihead_attn]
            see_attention(seen, name, layer.multihead_attn, inputs, None, "cross_", None,
                          "cross_out")
            close(seen[f"{name}cross_out"], hooks.outputs[layer.multihead_attn][0])
        return y

    def run(self, ids, source_ids):
        seen = {"embedding": self.embed(ids), "source_embedding": self.embed(source_ids)}
        memory = self.see_encoder(seen, seen["source_embedding"])
        y = self.see_decoder(seen, seen["embedding"], memory)
        if self.config["final_norm"]:
            seen["enc.ln_f"], seen["ln_f"] = memory, y
        seen["logits"] = y @ self.head.T
        return seen


# --- multi-query attention --------------------------------------------------------------------


class MultiQuery:
    def __init__(self, config, seed):
        self.config = c = config
        self.weights = w = Weights(seed, 0.35)
        self.wte = w.draw("wte.weight", c["vocab_size"], c["n_embd"])
        self.layers = [w.attention(f"h.{i}.attn", c["n_embd"], c["n_head"], c["bias"],
                                   c["n_kv_head"]).double() for i in range(c["n_layer"])]

    def run(self, ids, _):
        x = self.wte[ids][None]
        seen = {"embedding": x}
        for i, layer in enumerate(self.layers):
            see_attention(seen, f"h.{i}.", layer, (x, x, x), None,
                          kv_heads=self.config["n_kv_head"])
            x = seen[f"h.{i}.attn_out"]
        return seen


# --- folders ----------------------------------------------------------------------------------

WORDS = ("<s> the a cat dog sees eats sleeps old black le la un chat chien voit mange dort vieux "
         "noir").split()


def number(value):
    return "-inf" if value == -math.inf else float(f"{value:.9g}")


def write_expected(folder, model, words, sentence, source=None):
    ids = [words.index(word) for word in sentence.split()]
    source_ids = [words.index(word) for word in source.split()] if source else None
    expected = {"sentence": sentence, "source": source, "ids": ids, "source_ids": source_ids,
                "tensors": {}}
    with torch.no_grad():
        for name, tensor in model.run(ids, source_ids).items():
            expected["tensors"][name] = {
                "shape": list(tensor[0].shape),
                "data": [number(x) for x in tensor[0].contiguous().flatten().tolist()]}
    if not source:
        del expected["source"], expected["source_ids"]
    folder.mkdir(exist_ok=True)
    text = json.dumps(expected, ensure_ascii=False, separators=(",", ":"))
    (folder / "expected.json").write_text(text + "\n")


def write(folder, model, given, kind, sentence, source=None):
    write_expected(folder, model, WORDS, sentence, source)
    config = {"model_type": kind, "vocab_size": len(WORDS), **given}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "vocab.json").write_text(json.dumps(WORDS) + "\n")
    model.weights.write(folder / "model.safetensors")


TRANSFORMERS = {
    # the defaults of torch.nn.Transformer, with the positions and embedding of the paper
    "transformer-post": dict(n_embd=24, n_encoder_layer=2, n_layer=3, n_head=3, n_inner=40),
    # as in most later models
    "transformer-pre": dict(n_embd=20, n_encoder_layer=3, n_layer=2, n_head=4, norm_first=True,
                            activation_function="gelu", positions="learned", n_positions=12,
                            scale_embedding=False, tie_word_embeddings=False),
    # as in the paper: no norm after the last layer, projections without biases
    "transformer-paper": dict(n_embd=18, n_head=2, n_inner=36, final_norm=False, bias=False,
                              layer_norm_epsilon=1e-6),
}


def main(models, target):
    for seed, (name, given) in enumerate(TRANSFORMERS.items()):
        full = {"vocab_size": len(WORDS), "n_encoder_layer": 1, "n_layer": 1, **given}
        model = Transformer(full, Weights(2017 + seed, 0.16))
        write(target / name, model, given, "transformer",
              "<s> le vieux chien voit un chat noir", "the old dog sees a black cat")
    given = dict(n_embd=24, n_layer=2, n_head=4, n_kv_head=1, out_proj=True, bias=True)
    model = MultiQuery({"vocab_size": len(WORDS), **given}, 2019)
    write(target / "multi-query", model, given, "attention", "the old cat sees a black dog")


    trained = models / "translate"
    model = Transformer(json.loads((trained / "config.json").read_text()),
                        GivenWeights(trained / "model.safetensors"))
    write_expected(target / "translate", model,
                   list(json.loads((trained / "vocab.json").read_text())),
                   "<s> le petit chat noir voit une vache blanche",
                   "the small black cat sees a white cow")


main(*map(pathlib.Path, sys.argv[1:]))
