#!/usr/bin/env python3
"""Effective attention and attribution of small decoders and masked models, in numpy and float64.

usage: instruments.py FOLDER...     writes FOLDER/instruments.safetensors

Uses the pass of layers.py. value_zeroing recomputes a layer with a token's values set to 0.
Attribution sends every part by itself through the operations that follow it, with the divisors of
norms fixed at their values in the whole pass: it follows the gradient of a logit difference from
the logits back to the embedding. It depends on descriptions of layers alone, not on families.
"""
import json, pathlib, sys

import numpy as np

from family_reference import notes_of, open_model, to_bytes, write_safetensors
from layers import ACTIVATIONS, PER_LAYER, TEXT, Id, Kind, Pass, Place, Project, Weights


# --- effective attention --------------------------------------------------------------------------

class Zeroed(Pass):
    """A layer with the values of one token set to 0, and an unchanged input."""

    def __init__(self, whole, layer, token):
        super().__init__(whole.model, whole.weights)
        self.token, self.keys = token, dict(whole.keys)
        self.out = self.layer(TEXT, layer, whole.tensors[f"h.{layer}.resid_pre"])

    def heads(self, s, layer, x, source):
        q, k, v = super().heads(s, layer, x, source)
        v = v.copy()
        v[:, self.token] = 0
        return q, k, v


def shares(rows):
    total = rows.sum(-1, keepdims=True)
    return np.divide(rows, total, out=rows.copy(), where=total != 0)


def attention_of(model, layer):
    return next(s for s in model.stacks[TEXT].read(layer) if s.kind == Kind.ATTEND)


def contexts_of(p, layer):
    """What multiplies the values of each context, [H, T, T]; the values [H, T, d]; the factors of
    norms of contexts, [H, T], with their divisors fixed."""
    head, at = attention_of(p.model, layer).head, f"h.{layer}."
    v, half = p.tensors[at + "v"].repeat(head.heads // head.kv_heads, 0), head.heads // 2
    if not head.differ:
        return p.tensors[at + "weights"], v, np.ones(v.shape[:2])
    square = (p.tensors[at + "context"] ** 2).mean(-1)
    return (p.tensors[at + "difference"], np.concatenate([v[:half], v[half:]], -1),
            (1 - head.differ) / np.sqrt(square + head.differ_norm.epsilon))


def cosine_distance(a, b):
    return 1 - (a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))


def effective(p):
    found, rolled = {}, None
    for layer in range(p.model.stacks[TEXT].layers):
        at, (weights, v, factors) = f"h.{layer}.", contexts_of(p, layer)
        out = p.weight(TEXT, Id.O, layer).T.reshape(*v.shape[::2], -1)
        added, bias = v @ out, p.bias(TEXT, Id.O, layer)
        scaled = weights * factors[..., None]
        summed = (scaled @ added).sum(0) + (0 if bias is None else bias)
        assert abs(summed - p.tensors[at + "attn_out"]).max() < 1e-12
        found[at + "value_weighted"] = abs(weights) * np.linalg.norm(v, axis=-1)[:, None]
        found[at + "norm_weighted"] = abs(scaled) * np.linalg.norm(added, axis=-1)[:, None]
        T = weights.shape[-1]
        if not p.model.stacks[TEXT].embed.given:
            moved = np.stack([cosine_distance(Zeroed(p, layer, j).out,
                                              p.tensors[at + "resid_post"]) for j in range(T)], 1)
            causal = attention_of(p.model, layer).score.ahead == 0
            found[at + "value_zeroing"] = shares(np.tril(moved) if causal else moved)
        mixed = (weights.mean(0) + np.eye(T)) / 2
        rolled = mixed if rolled is None else mixed @ rolled
        found[at + "rollout"] = rolled
    return found


# --- attribution ----------------------------------------------------------------------------------

class Measured(Pass):
    """A pass that keeps the divisors of all norms of the last row."""

    def __init__(self, model, weights):
        super().__init__(model, weights)
        self.divisors = {}

    def norm(self, rule, part, layer, x):
        row = x[-1] if rule.rms else x[-1] - x[-1].mean(-1, keepdims=True)
        self.divisors[part, rule.id, layer] = np.sqrt((row * row).mean(-1) + rule.epsilon)
        return super().norm(rule, part, layer, x)


class Way:
    """Goes back from the logit difference; `g` is its gradient at the current vector."""

    def __init__(self, p, answer, against):
        self.p, self.stack, self.answer, self.against = p, p.model.stacks[TEXT], answer, against
        self.bias = 0.0  # contributions of biases since `take` was called

    def take(self):
        bias, self.bias = self.bias, 0.0
        return bias

    def norm(self, g, rule, layer=-1, part=TEXT):
        """Back through a norm."""
        if not rule.id:
            return g
        if rule.shift:
            self.bias += g @ self.p.bias(part, rule.id, layer)
        if rule.scale:
            g = g * (self.p.weight(part, rule.id, layer) + rule.one_plus)
        g = g / self.p.divisors[part, rule.id, layer]
        return g if rule.rms else g - g.mean()

    def linear(self, g, id, layer=-1, part=TEXT):
        bias = self.p.bias(part, id, layer)
        if bias is not None:
            self.bias += g @ bias
        return g @ self.p.weight(part, id, layer)

    def end(self):
        """The gradient of the last layer's output."""
        u = self.stack.unembed
        head = self.p.weight(TEXT, Id.TOKENS if u.tied else Id.HEAD)
        bias = self.p.bias(TEXT, Id.HEAD)
        if bias is not None:
            self.bias += (bias[self.answer] - bias[self.against]) / u.divisor
        g = (head[self.answer] - head[self.against]) * u.input_factor / u.divisor
        if u.transform:
            g = self.dense(g)
        return self.norm(self.linear(g, Id.PROJECT_OUT) if u.project else g, u.norm)

    def dense(self, g):
        """Back through the dense layer of a masked model, with act(z) / z as a constant."""
        u, tensors = self.stack.unembed, self.p.tensors
        y = tensors["ln_f" if u.norm.id else f"h.{self.stack.layers - 1}.resid_post"][-1]
        z = self.p.linear(y, TEXT, Id.TRANSFORM)
        return self.linear(self.norm(g, u.transform_norm) * ACTIVATIONS[u.transform](z) / z,
                           Id.TRANSFORM)

    def sublayer(self, s, g, layer):
        """Contributions of heads by source token, or of neurons or experts."""
        tensors, at = self.p.tensors, f"h.{layer}."
        if s.kind == Kind.MLP and s.mlp.experts:
            beside = bool(s.mlp.expert_norm.id)
            x = tensors[at + ("ln_experts" if beside else "ln_2")]
            weights = tensors[at + "expert_weights"][-1]
            outs = [self.p.feed(s, layer, x, "EXPERT_", e)[-1] for e in range(s.mlp.experts)]
            shared = [g @ tensors[at + "shared_out"][-1]] if s.mlp.shared_inner else []
            g = self.norm(g, s.mlp.experts_post, layer)
            return np.array([w * (g @ out) for w, out in zip(weights, outs)] + shared)
        if s.kind == Kind.MLP:
            act = tensors[at + ("mlp_act" if s.part == TEXT else "per_layer_act")][-1]
            return act * self.linear(g, Id.DOWN, layer, s.part)
        weights, v, factors = contexts_of(self.p, layer)
        read = (weights[:, -1] * factors[:, -1:])[..., None] * v
        return (read * self.linear(g, Id.O, layer).reshape(len(v), 1, -1)).sum(-1)

    def layer(self, g, layer):
        """The gradient of the input of a layer, and the contributions of heads, of neurons, and of
        the layer's own input (or None)."""
        found = {}
        for s in reversed(self.stack.read(layer)):
            g = self.norm(g, s.after, layer)
            if s.scales:
                g = g * self.p.weight(TEXT, Id.LAYER_SCALE, layer)
            found[s.kind, s.part] = self.sublayer(
                s, self.norm(s.factor * g, s.out, layer, s.part), layer)
            if s.adds_to_normed:
                g = self.norm(g, s.before, layer)
        return g, found[Kind.ATTEND, TEXT], found[Kind.MLP, TEXT], found.get(
            (Kind.MLP, PER_LAYER))

    def begin(self, g, ids):
        """The contributions of the last token and its position."""
        p, e = self.p, self.stack.embed
        if e.project == Project.LAST:
            g = self.linear(g, Id.EMBED_PROJECT)
        g = self.norm(g, e.norm)
        place = g @ p.places(self.stack, np.array(ids))[-1] if e.place != Place.NOWHERE else 0.0
        if e.segments:
            place += g @ p.weight(TEXT, Id.SEGMENTS)[0]
        if e.project == Project.TOKENS:
            g = self.linear(g, Id.EMBED_PROJECT)
        return e.scale * (g @ p.weight(TEXT, Id.TOKENS)[ids[-1]]), place


def of_mlps(stack, found):
    """Contributions of neurons; of experts, if there are any, NaN in other layers."""
    rules = [next(s.mlp for s in stack.read(layer) if s.kind == Kind.MLP)
             for layer in range(stack.layers)]
    widths = [m.experts + (m.shared_inner > 0) for m in rules if m.experts]
    if not widths:
        most = max(len(x) for x in found)
        return {"attribution_by_neuron": np.array(
            [np.pad(x, (0, most - len(x)), constant_values=np.nan) for x in found])}
    return {"attribution_by_expert": np.array(
        [x if m.experts else np.full(widths[0], np.nan) for m, x in zip(rules, found)])}


def attribution(p, ids):
    stack, logits = p.model.stacks[TEXT], p.tensors["logits"][-1]
    answer, against = int(logits.argmax()), int(logits.argmin())
    way, layers = Way(p, answer, against), []
    g, H = way.end(), len(contexts_of(p, 0)[1])
    none = [0.0] if stack.embed.given else []  # of what each layer is given
    rows = [[0.0] * (H + 1) + [way.take(), 0.0, 0.0] + none]
    for layer in reversed(range(stack.layers)):
        g, heads, neurons, given = way.layer(g, layer)
        layers.insert(0, (heads, neurons))
        rows.insert(0, [*heads.sum(-1), neurons.sum(), way.take(), 0.0, 0.0]
                    + ([] if given is None else [given.sum()]))
    token, place = way.begin(g, ids)
    rows.insert(0, [0.0] * (H + 1) + [way.take(), token, place] + none)
    if not stack.unembed.cap:
        wanted = logits[answer] - logits[against]
        assert abs(np.sum(rows) - wanted) < 1e-9, (np.sum(rows), wanted)
    found = {"answer": np.array([answer, against]), "attribution": np.array(rows),
             **of_mlps(stack, [mlp for _, mlp in layers])}
    for layer, (heads, _) in enumerate(layers):
        found[f"h.{layer}.attribution_by_source"] = heads
    return found


# --- all ------------------------------------------------------------------------------------------

def lacks(model):
    """Why a model has no attribution, or None."""
    stack = model.stacks[TEXT]
    u = stack.unembed
    if len(model.stacks) > 1 or not u.head or (u.transform and not u.transform_norm.id):
        return "no logits of a text alone"
    return None


def write(folder):
    model, files = open_model(folder)
    why = lacks(model)
    if why:
        return print(f"{folder.name}: no instruments: {why}")
    ids = json.loads(notes_of(folder / "expected.safetensors")["ids"])
    p = Measured(model, Weights(model, files)).run(ids)
    found = {"ids": np.array(ids), **effective(p), **attribution(p, ids)}
    write_safetensors(folder / "instruments.safetensors",
                      {name: ("F32", list(x.shape), to_bytes(x.ravel().tolist(), "F32"))
                       for name, x in found.items()})
    print(f"{folder.name}: {len(found)} tensors")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(pathlib.Path(name))
