#!/usr/bin/env python3
"""Attribution of models with mixers, by transformers in float64.

usage: hybrids.py [FOLDER]...     writes golden-families/FOLDER/instruments.safetensors

A part's share is the direction of a logit difference, through the frozen final norm, times what the
part gives to the stream. What a source token gives to a head is the difference between two runs of
the layer: with the value of that token alone, and with none. Norms of contexts are frozen.
"""
import pathlib, sys

import numpy as np

from peer import torch
import transformers

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "oracle"))
from family_reference import to_bytes, write_safetensors

FAMILIES = sys.argv[1:] or ["qwen3_5_text", "lfm2", "lfm2-biases", "bamba", "granitemoehybrid-dense-rope",
                            "mamba", "mamba2", "falcon_mamba", "olmo_hybrid", "qwen3_next", "jamba"]
IDS = [1, 5, 9, 3, 7, 2]
READERS = ("self_attn", "linear_attn", "conv", "mamba", "mixer")
SCANS = {"torch_chunk_gated_delta_rule": 2, "mamba2_chunk_scan": 0, "mamba_selective_scan": 0}


class Sources:
    """Leaves the values of the token `only` in layer `at`; -1: of none."""

    def __init__(self, module):
        self.at = self.layer = self.only = None
        for name, index in SCANS.items():
            if hasattr(module, name):
                setattr(module, name, self.wrap(getattr(module, name), index, 2 if "selective" in name else 1))

    def wrap(self, scan, index, axis):
        def masked(*given, **named):
            given = list(given)
            given[index] = self.mask(given[index], axis)
            return scan(*given, **named)
        return masked

    def mask(self, x, axis):
        if self.at is None or self.at != self.layer:
            return x
        keep = (torch.arange(len(IDS)) == self.only).to(x.dtype)
        return x * keep.view([-1 if i == axis else 1 for i in range(x.dim())])


def part(module, *names):
    return next((found for name in names if (found := getattr(module, name, None)) is not None), None)


class Layer:
    """The reader of a layer, its MLP, and the last inputs of their parts."""

    def __init__(self, layer, index, sources):
        self.name = next(name for name in READERS if part(layer, name))
        self.reader = reader = getattr(layer, self.name)
        self.mlp = part(layer, "mlp", "feed_forward", "shared_mlp")
        self.mixes, self.seen = self.name != "self_attn", {}
        reader.register_forward_pre_hook(lambda *_: setattr(sources, "layer", index))
        self.out = part(reader, "o_proj", "out_proj")
        self.keep("read", self.out)
        self.norm = self.mixes and part(reader, "norm", "o_norm")
        if self.norm:
            self.keep("context", self.norm)
        if not self.mixes:
            reader.v_proj.register_forward_hook(lambda _, __, y: sources.mask(y, 1))
        if self.name == "conv":
            C = self.out.in_features
            reader.in_proj.register_forward_hook(
                lambda _, __, y: torch.cat([y[..., :2 * C], sources.mask(y[..., 2 * C:], 1)], -1))
        self.experts = self.mlp is not None and part(self.mlp, "experts")
        self.down = self.mlp is not None and not self.experts and part(self.mlp, "down_proj", "w2", "output_linear")
        if self.down:
            self.keep("active", self.down)
        if self.experts:
            self.keep("routed", self.experts, True)
            self.mlp.register_forward_hook(lambda _, __, y: self.seen.__setitem__("mlp", y))
        post = type(layer).__name__ == "OlmoHybridAttentionDecoderLayer"
        self.posts = [layer.post_attention_layernorm, layer.post_feedforward_layernorm] if post else [None, None]
        for i in range(2 * post):
            self.keep(i, self.posts[i])

    def keep(self, name, module, whole=False):
        module.register_forward_pre_hook(
            lambda _, given: self.seen.__setitem__(name, given if whole else given[0]))

    def last(self, name):
        x = self.seen[name]
        return x.reshape(len(IDS), -1)[-1]


def scale_of(norm):
    w = norm.weight
    return 1 + w if type(norm).__name__ in ("Qwen3_5RMSNorm", "Qwen3NextRMSNorm") else w


def frozen(u, norm, x):
    eps = getattr(norm, "variance_epsilon", getattr(norm, "eps", None))
    return u * scale_of(norm) / (x.pow(2).mean() + eps).sqrt()


def experts_of(layer, u):
    """The shares of experts, and of what they have beside them."""
    x, chosen, weights = layer.seen["routed"]
    each = [u @ layer.experts(x, chosen, weights * (chosen == e))[-1] for e in range(layer.experts.num_experts)]
    whole = u @ layer.last("mlp")
    return each + ([whole - sum(each)] if hasattr(layer.mlp, "shared_expert") else [])


def attribution(folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager").eval()
    c, base = model.config, part(model, "model", "backbone")
    sources, ends = Sources(sys.modules[type(model).__module__]), {}
    layers = [Layer(layer, i, sources) for i, layer in enumerate(base.layers)]
    final = part(base, "norm", "norm_f", "final_layernorm", "embedding_norm")
    final.register_forward_pre_hook(lambda _, given: ends.__setitem__("x", given[0][0, -1]))
    run = lambda: model(torch.tensor([IDS]), use_cache=False).logits[0, -1]
    logits = run()
    answer, against = int(logits.argmax()), int(logits.argmin())
    words = model.get_output_embeddings().weight / getattr(c, "logits_scaling", 1)
    u = frozen(words[answer] - words[against], final, ends["x"])
    factor = getattr(c, "residual_multiplier", 1)
    heads = {False: getattr(c, "num_attention_heads", 0) if not all(l.mixes for l in layers) else 0, True: 0}
    found, whole = {"ids": IDS, "answer": [answer, against]}, []
    for layer in layers:  # the whole run, before those of the sources
        added = [factor * u if norm is None else frozen(u, norm, layer.last(i)) for i, norm in enumerate(layer.posts)]
        g = layer.last("read") / layer.last("context") if layer.norm else torch.ones(layer.out.in_features)
        count = next((getattr(layer.reader, name) for name in ("num_heads", "num_v_heads") if hasattr(layer.reader, name)),
                     1) if layer.mixes else heads[False]
        heads[layer.mixes] = count
        way = added[0] @ layer.out.weight
        mlp = [] if layer.mlp is None else experts_of(layer, added[1]) if layer.experts else \
            (added[1] @ layer.down.weight) * layer.last("active")
        bias = sum(a @ m.bias for a, m in zip(added, (layer.out, layer.down)) if m and m.bias is not None)
        whole.append((way * layer.last("read"), way * g, torch.as_tensor(mlp).flatten(), float(bias), count))
    one = {}
    for i, layer in enumerate(layers):
        for token in range(-1, len(IDS)):
            sources.at, sources.only = i, token
            run()
            one[i, token] = layer.last("context" if layer.norm else "read")
    C = 1 if heads[True] == 0 else heads[True]
    rows = [[0.0] * (heads[False] + C + 1) + [0.0, float(u_token(model, u, factor)), 0.0]]
    for i, (read, way, mlp, bias, count) in enumerate(whole):
        own = read.view(count, -1).sum(-1).tolist()
        none = [0.0] * (C if not layers[i].mixes else heads[False])
        rows.append((none + own if layers[i].mixes else own + none) + [float(mlp.sum()), bias, 0.0, 0.0])
        shares = torch.stack([(way * (one[i, j] - one[i, -1])).view(count, -1).sum(-1) for j in range(len(IDS))], -1)
        found[f"h.{i}.{'mix_' * layers[i].mixes}attribution_by_source"] = shares
    rows.append([0.0] * len(rows[0]))
    wanted = float(logits[answer] - logits[against])
    assert abs(np.sum(rows) - wanted) < 1e-6, (np.sum(rows), wanted)
    found["attribution"] = rows
    if layers[0].mlp is not None:
        experts = any(l.experts for l in layers)
        width = max(len(w[2]) for l, w in zip(layers, whole) if bool(l.experts) == experts)
        found["attribution_by_" + ("expert" if experts else "neuron")] = [
            w[2].tolist() if bool(l.experts) == experts else [np.nan] * width for l, w in zip(layers, whole)]
    return found


def u_token(model, u, factor):
    scale = getattr(model.config, "embedding_multiplier", 1)
    return u @ model.get_input_embeddings().weight[IDS[-1]] * scale


if __name__ == "__main__":
    with torch.no_grad():
        for name in FAMILIES:
            found = {key: torch.as_tensor(np.array(x, dtype=float) if not torch.is_tensor(x) else x)
                     for key, x in attribution(TESTS / "golden-families" / name).items()}
            write_safetensors(TESTS / "golden-families" / name / "instruments.safetensors",
                              {key: ("F32", list(x.shape), to_bytes(x.flatten().tolist(), "F32"))
                               for key, x in found.items()})
            print(f"{name}: {len(found)} tensors")
