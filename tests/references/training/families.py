"""Train small decoders of other families with PyTorch, as golden.py does for GPT-2: writes
tests/references/training/*.json and *.safetensors.

    /usr/bin/python3 tests/references/training/families.py

The forward pass follows the published formulas of these families. Weights are [out, in]. The rotary
embedding pairs the channels i and i + half its width, in GPT-J neighbours.
"""

import json
import os
import sys

import torch
from torch.nn import functional

import golden

sys.path.insert(0, os.path.join(golden.HERE, "..", "oracle"))
from family_layers import describe
from layers import TEXT, frequencies

SMALL = {"vocab_size": 7, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
         "intermediate_size": 10, "max_position_embeddings": 16, "rope_theta": 50.0}

# name, texts, tokens, config; 70 tokens are one whole block of attention and a part of the next
CASES = (
    ("llama", 2, 70, {"model_type": "llama", "vocab_size": 11, "hidden_size": 12,
                      "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 2,
                      "head_dim": 4, "intermediate_size": 10, "max_position_embeddings": 72,
                      "rms_norm_eps": 1e-3, "rope_theta": 1000.0}),
    ("llama_tied", 2, 5, {"model_type": "llama", "num_hidden_layers": 2, "num_key_value_heads": 1,
                          "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True,
                          "rope_scaling": {"rope_type": "linear", "factor": 3.0}}),
    ("qwen3", 2, 5, {"model_type": "qwen3", "num_attention_heads": 4, "num_key_value_heads": 2,
                     "head_dim": 4}),
    ("smollm3", 2, 5, {"model_type": "smollm3", "num_hidden_layers": 2, "num_key_value_heads": 1,
                       "no_rope_layers": [0, 1]}),
    ("granite", 2, 5, {"model_type": "granite", "embedding_multiplier": 2.0, "logits_scaling": 1.5,
                       "attention_multiplier": 0.2, "residual_multiplier": 0.4}),
    ("gemma", 2, 5, {"model_type": "gemma", "num_key_value_heads": 1, "head_dim": 4}),
    ("phi3", 2, 5, {"model_type": "phi3", "num_attention_heads": 4, "num_key_value_heads": 2}),
    ("stablelm", 2, 5, {"model_type": "stablelm", "num_key_value_heads": 2, "partial_rotary_factor": 0.5}),
    ("starcoder2", 2, 5, {"model_type": "starcoder2", "num_key_value_heads": 1, "use_bias": True}),
    ("gpt_neox", 2, 5, {"model_type": "gpt_neox", "rotary_pct": 0.5, "num_attention_heads": 2,
                        "rotary_emb_base": 50.0}),
    ("gptj", 2, 5, {"model_type": "gptj", "n_inner": 10, "n_positions": 16, "rotary_dim": 2,
                    "rope_theta": 10000.0}),
    ("opt", 2, 5, {"model_type": "opt", "ffn_dim": 10, "word_embed_proj_dim": 8}),
    ("mistral", 2, 5, {"model_type": "mistral", "num_key_value_heads": 1, "sliding_window": 5}),
    ("llama_dynamic", 2, 5, {"model_type": "llama", "max_position_embeddings": 3,
                             "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}),
    ("llama_llama3", 2, 5, {"model_type": "llama",
                            "rope_scaling": {"rope_type": "llama3", "factor": 4.0,
                                             "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                             "original_max_position_embeddings": 16}}),
    ("llama_yarn", 2, 5, {"model_type": "llama",
                          "rope_scaling": {"rope_type": "yarn", "factor": 4.0,
                                           "original_max_position_embeddings": 4}}),
    ("phi3_longrope", 2, 5, {"model_type": "phi3", "original_max_position_embeddings": 4,
                             "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.5],
                                              "long_factor": [2.0, 3.0]}}),
    ("arcee", 2, 5, {"model_type": "arcee", "num_key_value_heads": 1, "head_dim": 6}),
    ("nemotron", 2, 5, {"model_type": "nemotron", "num_key_value_heads": 1, "head_dim": 8,
                        "partial_rotary_factor": 0.5}),
    ("seed_oss", 2, 5, {"model_type": "seed_oss", "num_attention_heads": 4, "num_key_value_heads": 2,
                        "head_dim": 4, "attention_bias": True}),
    ("ernie4_5", 2, 5, {"model_type": "ernie4_5", "num_key_value_heads": 1, "head_dim": 4}),
    ("helium", 2, 5, {"model_type": "helium", "num_key_value_heads": 1, "head_dim": 4}),
)

ATTENTION = {"q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
             "out": "self_attn.o_proj", "q_norm": "self_attn.q_norm", "k_norm": "self_attn.k_norm"}
LLAMA = {"words": "model.embed_tokens", "norm": "model.norm", "layer": "model.layers.%d.",
         "norm_1": "input_layernorm", "norm_2": "post_attention_layernorm", **ATTENTION,
         "gate": "mlp.gate_proj", "up": "mlp.up_proj", "down": "mlp.down_proj"}
STARCODER = {**LLAMA, "up": "mlp.c_fc", "down": "mlp.c_proj"}
OPT = {**ATTENTION, "words": "model.decoder.embed_tokens",
       "positions": "model.decoder.embed_positions", "norm": "model.decoder.final_layer_norm",
       "layer": "model.decoder.layers.%d.", "norm_1": "self_attn_layer_norm",
       "norm_2": "final_layer_norm", "out": "self_attn.out_proj", "up": "fc1", "down": "fc2"}
NEOX = {"words": "gpt_neox.embed_in", "norm": "gpt_neox.final_layer_norm", "head": "embed_out",
        "layer": "gpt_neox.layers.%d.", "norm_1": "input_layernorm",
        "norm_2": "post_attention_layernorm", "joined": "attention.query_key_value",
        "out": "attention.dense", "up": "mlp.dense_h_to_4h", "down": "mlp.dense_4h_to_h"}
GPTJ = {"words": "transformer.wte", "norm": "transformer.ln_f", "layer": "transformer.h.%d.",
        "norm_1": "ln_1", "norm_2": "ln_1", "up": "mlp.fc_in", "down": "mlp.fc_out",
        **{short: "attn.%s_proj" % short for short in ("q", "k", "v", "out")}}


class Decoder:
    """A decoder of a family; weights are drawn when they are first used."""

    def __init__(self, config):
        self.config, kind = config, config["model_type"]
        self.w = {}
        self.channels = config["hidden_size"]
        self.heads = config["num_attention_heads"]
        self.groups = config.get("num_key_value_heads", self.heads)
        self.width = config.get("head_dim", self.channels // self.heads)
        self.names = {"starcoder2": STARCODER, "opt": OPT, "gpt_neox": NEOX,
                      "gptj": GPTJ}.get(kind, LLAMA)
        self.rms = kind in ("llama", "mistral", "qwen3", "smollm3", "granite", "gemma", "phi3",
                            "arcee", "seed_oss", "ernie4_5", "helium")
        self.rotary_layers = config.get("no_rope_layers", [1] * config["num_hidden_layers"])
        self.offset = 1.0 if kind in ("gemma", "nemotron") else 0.0
        self.embedding_scale = self.channels ** 0.5 if kind == "gemma" else (
            config.get("embedding_multiplier", 1.0))
        self.scale = config.get("attention_multiplier", self.width ** -0.5)
        self.share = config.get("residual_multiplier", 1.0)
        self.gated = (self.rms or kind == "stablelm") and kind != "arcee"
        self.fused = kind == "phi3"
        self.head_norms = kind == "qwen3"
        self.tied = config.get("tie_word_embeddings",
                               kind in ("smollm3", "gemma", "starcoder2", "opt", "ernie4_5"))
        self.parallel = kind in ("gpt_neox", "gptj")
        self.neighbours = kind in ("gptj", "ernie4_5", "helium")
        share = config.get("partial_rotary_factor", config.get("rotary_pct", 1.0))
        self.rotary_width = 0 if "positions" in self.names else config.get(
            "rotary_dim", int(self.width * share))
        defaults = {"phi3": 1e-5, "arcee": 1e-5, "ernie4_5": 1e-5, "helium": 1e-8}
        self.epsilon = config.get("rms_norm_eps", defaults.get(kind, 1e-6 if self.rms else 1e-5))
        self.curve = golden.CURVES[{"starcoder2": "gelu_new", "gemma": "gelu_new",
                                    "gptj": "gelu_new", "gpt_neox": "gelu",
                                    "opt": "relu", "arcee": "relu2",
                                    "nemotron": "relu2"}.get(kind, "silu")]
        biased = config.get("attention_bias") or kind in ("starcoder2", "opt", "gpt_neox")
        self.biases = {"q", "k", "v", "joined", "out", "gate", "up", "down"} if biased else set()
        self.biases = {"gptj": {"up", "down"}, "seed_oss": {"q", "k", "v"}}.get(kind, self.biases)

    def weight(self, name, shape, middle=0.0):
        if name not in self.w:
            self.w[name] = (middle + 0.3 * torch.randn(shape)).double().requires_grad_()
        return self.w[name]

    def affine(self, at, slot, x, outputs):
        name = at + self.names[slot]
        y = x @ self.weight(name + ".weight", (outputs, x.shape[-1])).T
        return y + self.weight(name + ".bias", (outputs,)) if slot in self.biases else y

    def normed(self, name, x):
        middle = 1.0 - self.offset
        scale = self.offset + self.weight(name + ".weight", x.shape[-1:], middle)
        if self.rms:
            return x / (x.pow(2).mean(-1, keepdim=True) + self.epsilon).sqrt() * scale
        return functional.layer_norm(x, x.shape[-1:], scale,
                                     self.weight(name + ".bias", x.shape[-1:]), self.epsilon)

    def rotate(self, x):
        """The rotary embedding of x, [texts, heads, tokens, width]."""
        half = self.rotary_width // 2
        pairs = torch.arange(half, dtype=torch.double)
        angle, amplitude = self.config["rope_theta"] ** (-2 * pairs / self.rotary_width), 1.0
        if "rope_scaling" in self.config:
            rotary = describe(self.config, {}).stacks[TEXT].read(0)[0].head.rotary
            scaled, amplitude = frequencies(rotary, x.shape[2])
            angle = torch.tensor(scaled, dtype=torch.double)
        angles = torch.arange(x.shape[2], dtype=torch.double)[:, None] * angle
        cosines, sines = amplitude * angles.cos(), amplitude * angles.sin()
        if self.neighbours:
            a, b, rest = x[..., 0:2 * half:2], x[..., 1:2 * half:2], x[..., 2 * half:]
            rotated = torch.stack((a * cosines - b * sines, b * cosines + a * sines), dim=4)
            return torch.cat((rotated.flatten(3), rest), dim=3)
        a, b, rest = x.split((half, half, self.width - 2 * half), dim=3)
        return torch.cat((a * cosines - b * sines, b * cosines + a * sines, rest), dim=3)

    def project_heads(self, at, x):
        sizes = [count * self.width for count in (self.heads, self.groups, self.groups)]
        if self.fused:
            w = self.weight(at + "self_attn.qkv_proj.weight", (sum(sizes), self.channels))
            return (x @ w.T).split(sizes, dim=2)
        if "joined" in self.names:  # query, key and value of each head
            heads = self.affine(at, "joined", x, sum(sizes))
            return heads.unflatten(2, (self.heads, 3, self.width)).unbind(3)
        return [self.affine(at, slot, x, size) for slot, size in zip("qkv", sizes)]

    def attend(self, at, x, rotary):
        texts, tokens, _ = x.shape
        q, k, v = (part.reshape(texts, tokens, -1, self.width) for part in self.project_heads(at, x))
        if self.head_norms:
            q = self.normed(at + self.names["q_norm"], q)
            k = self.normed(at + self.names["k_norm"], k)
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        if rotary and self.rotary_width:
            q, k = self.rotate(q), self.rotate(k)
        k, v = (part.repeat_interleave(self.heads // self.groups, dim=1) for part in (k, v))
        future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        weights = (q @ k.transpose(2, 3) * self.scale).masked_fill(future, -torch.inf).softmax(dim=3)
        context = (weights @ v).transpose(1, 2).reshape(texts, tokens, -1)
        return self.affine(at, "out", context, self.channels)

    def mlp(self, at, x):
        inner = self.config["intermediate_size"]
        if self.fused:
            w = self.weight(at + "mlp.gate_up_proj.weight", (2 * inner, self.channels))
            gate, up = (x @ w.T).split(inner, dim=2)
            x = self.curve(gate) * up
        elif self.gated:
            x = self.curve(self.affine(at, "gate", x, inner)) * self.affine(at, "up", x, inner)
        else:
            x = self.curve(self.affine(at, "up", x, inner))
        return self.affine(at, "down", x, self.channels)

    def loss(self, ids, targets):
        names, vocabulary = self.names, self.config["vocab_size"]
        words = self.weight(names["words"] + ".weight", (vocabulary, self.channels))
        x = words[ids] * self.embedding_scale
        if "positions" in names:
            before = 2 if names is OPT else 0
            rows = before + self.config["max_position_embeddings"]
            table = self.weight(names["positions"] + ".weight", (rows, self.channels))
            x = x + table[before:before + ids.shape[1]]
        for layer in range(self.config["num_hidden_layers"]):
            at = names["layer"] % layer
            first = x
            normed = self.normed(at + names["norm_1"], x)
            x = x + self.share * self.attend(at, normed, self.rotary_layers[layer])
            normed = self.normed(at + names["norm_2"], first if self.parallel else x)
            x = x + self.share * self.mlp(at, normed)
        x = self.normed(names["norm"], x)
        head = words if self.tied else self.weight(
            names.get("head", "lm_head") + ".weight", words.shape)
        logits = x @ head.T / self.config.get("logits_scaling", 1.0)
        if names is GPTJ:
            logits = logits + self.weight("lm_head.bias", (vocabulary,))
        return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def main():
    torch.manual_seed(2023)
    for name, texts, tokens, settings in CASES:
        config = {**SMALL, **settings}
        decoder = Decoder(config)
        stream = torch.randint(config["vocab_size"], (golden.STEPS, texts, tokens + 1))
        ids, targets = stream[:, :, :-1], stream[:, :, 1:]
        decoder.loss(ids[0], targets[0])
        golden.record(name, config, decoder.w, (ids, targets),
                      lambda w, ids, targets, config: decoder.loss(ids, targets))


if __name__ == "__main__":
    main()
