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
                            "mamba", "mamba2", "falcon_mamba", "olmo_hybrid", "qwen3_next", "jamba", "falcon_h1",
                            "falcon_h1-norm", "nemotron_h", "nemotron_h-latent-experts"]
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
        scan = getattr(scan, "whole", scan)  # not that of another model of the family

        def masked(*given, **named):
            given = list(given)
            given[index] = self.mask(given[index], axis)
            return scan(*given, **named)
        masked.whole = scan
        return masked

    def mask(self, x, axis):
        if self.at is None or self.at != self.layer:
            return x
        keep = (torch.arange(len(IDS)) == self.only).to(x.dtype)
        return x * keep.view([-1 if i == axis else 1 for i in range(x.dim())])


def part(module, *names):
    return next((found for name in names if (found := getattr(module, name, None)) is not None), None)


class Part:
    """The last inputs of parts of a module."""

    def __init__(self):
        self.seen = {}

    def keep(self, name, module, whole=False):
        module.register_forward_pre_hook(
            lambda _, given: self.seen.__setitem__(name, given if whole else given[0]))

    def last(self, name):
        x = self.seen[name]
        return x.reshape(len(IDS), -1)[-1]


class Reader(Part):
    """Attention, or a mixer."""

    def __init__(self, name, module, index, sources):
        super().__init__()
        self.module, self.mixes = module, part(module, "v_proj") is None or part(module, "A_log") is not None
        module.register_forward_pre_hook(lambda *_: setattr(sources, "layer", index))
        self.out = part(module, "o_proj", "out_proj")
        self.keep("read", self.out)
        self.norm = self.mixes and part(module, "norm", "o_norm")
        self.norm = None if isinstance(self.norm, torch.nn.Identity) else self.norm
        if self.norm:
            self.keep("context", self.norm)
        if not self.mixes:
            module.v_proj.register_forward_hook(lambda _, __, y: sources.mask(y, 1))
        if name == "conv":
            C = self.out.in_features
            module.in_proj.register_forward_hook(
                lambda _, __, y: torch.cat([y[..., :2 * C], sources.mask(y[..., 2 * C:], 1)], -1))

    def count(self, c):
        if not self.mixes:
            return c.num_attention_heads
        return next((getattr(self.module, name) for name in ("num_heads", "num_v_heads")
                     if hasattr(self.module, name)), 1)


class Layer(Part):
    """The readers of a layer, and its MLP."""

    def __init__(self, layer, index, sources):
        super().__init__()
        found = [(name, part(layer, name)) for name in READERS]
        self.readers = [Reader(name, module, index, sources) for name, module in found
                        if module is not None and part(module, "o_proj", "out_proj") is not None]
        self.mlp = part(layer, "mlp", "feed_forward", "shared_mlp", *([] if self.readers else ["mixer"]))
        self.experts = self.mlp is not None and part(self.mlp, "experts")
        self.down = self.mlp is not None and not self.experts and part(self.mlp, "down_proj", "w2", "output_linear")
        if self.down:
            self.keep("active", self.down)
        if self.experts:
            self.keep("routed", self.experts, True)
            self.latent = part(self.mlp, "fc2_latent_proj")
            if hasattr(self.mlp, "shared_experts"):
                self.mlp.shared_experts.register_forward_hook(
                    lambda _, __, y: self.seen.__setitem__("shared", y))
            self.mlp.register_forward_hook(lambda _, __, y: self.seen.__setitem__("mlp", y))
        post = type(layer).__name__ == "OlmoHybridAttentionDecoderLayer"
        self.posts = [layer.post_attention_layernorm, layer.post_feedforward_layernorm] if post else [None, None]
        for i in range(2 * post):
            self.keep(i, self.posts[i])


def scale_of(norm):
    w = norm.weight
    return 1 + w if type(norm).__name__ in ("Qwen3_5RMSNorm", "Qwen3NextRMSNorm") else w


def frozen(u, norm, x):
    eps = getattr(norm, "variance_epsilon", getattr(norm, "eps", None))
    return u * scale_of(norm) / (x.pow(2).mean() + eps).sqrt()


def experts_of(layer, u):
    """The shares of experts, and of what they have beside them."""
    x, chosen, weights = layer.seen["routed"]
    way = u @ layer.latent.weight if isinstance(layer.latent, torch.nn.Linear) else u
    each = [way @ layer.experts(x, chosen, weights * (chosen == e))[-1] for e in range(layer.experts.num_experts)]
    if "shared" in layer.seen:
        return each + [u @ layer.last("shared")]
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
    words = words * getattr(c, "lm_head_multiplier", 1)
    u = frozen(words[answer] - words[against], final, ends["x"])
    factor = getattr(c, "residual_multiplier", 1)
    factors = {False: getattr(c, "attention_out_multiplier", factor), True: getattr(c, "ssm_out_multiplier", factor)}
    of_mlp = getattr(c, "mlp_multipliers", [1, factor])[1]
    readers = [(i, reader) for i, layer in enumerate(layers) for reader in layer.readers]
    heads = {mixes: max([reader.count(c) for _, reader in readers if reader.mixes == mixes] or [0]) for mixes in (False, True)}
    found, rows, ways = {"ids": IDS, "answer": [answer, against]}, [], []
    empty = lambda: [0.0] * (heads[False] + heads[True] + 4)
    rows = [empty()]
    rows[0][-2] = float(u_token(model, u))
    neurons = []
    for layer in layers:  # the whole run, before those of the sources
        row = empty()
        norms = [(lambda x, norm=norm, i=i: x if norm is None else frozen(x, norm, layer.last(i)))
                 for i, norm in enumerate(layer.posts)]
        for reader in layer.readers:
            added = norms[0](factors[reader.mixes] * u)
            g = reader.last("read") / reader.last("context") if reader.norm else torch.ones(reader.out.in_features)
            way, count, first = added @ reader.out.weight, reader.count(c), heads[False] * reader.mixes
            row[first:first + count] = (way * reader.last("read")).view(count, -1).sum(-1).tolist()
            row[-3] += float(added @ reader.out.bias) if reader.out.bias is not None else 0
            ways.append(way * g)
        added = norms[1](of_mlp * u)
        mlp = [] if layer.mlp is None else experts_of(layer, added) if layer.experts else \
            (added @ layer.down.weight) * layer.last("active")
        last = layer.down or layer.experts and layer.latent
        row[-3] += float(added @ last.bias) if getattr(last, "bias", None) is not None else 0
        neurons.append(torch.as_tensor(mlp).flatten())
        row[-4] = float(neurons[-1].sum())
        rows.append(row)
    one = {}
    for i in range(len(layers)):
        for token in range(-1, len(IDS)):
            sources.at, sources.only = i, token
            run()
            for reader in layers[i].readers:
                one[reader, token] = reader.last("context" if reader.norm else "read")
    for (i, reader), way in zip(readers, ways):
        shares = [(way * (one[reader, j] - one[reader, -1])).view(reader.count(c), -1).sum(-1) for j in range(len(IDS))]
        found[f"h.{i}.{'mix_' * reader.mixes}attribution_by_source"] = torch.stack(shares, -1)
    rows.append(empty())
    wanted = float(logits[answer] - logits[against])
    assert abs(np.sum(rows) - wanted) < 1e-6, (np.sum(rows), wanted)
    found["attribution"] = rows
    if any(layer.mlp is not None for layer in layers):
        experts = any(l.experts for l in layers)
        own = [w if l.mlp is not None and bool(l.experts) == experts else None for l, w in zip(layers, neurons)]
        width = max(len(w) for w in own if w is not None)
        found["attribution_by_" + ("expert" if experts else "neuron")] = [
            [np.nan if l.mlp is not None else 0.0] * width if w is None else w.tolist() for l, w in zip(layers, own)]
    return found


def u_token(model, u):
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
