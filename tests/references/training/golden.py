"""Train small GPT-2 models with PyTorch: writes tests/references/training/*.json and *.safetensors.

    python3 tests/references/training/golden.py

NAME.json is a model's config. NAME.safetensors has its weights (w.*), ten batches (ids, targets), the
loss and the gradients of the first batch (loss, g.*), and the weights after ten steps of
torch.optim.AdamW (t.*), all computed in float64. Works with any version of PyTorch.
"""

import json
import os
import struct

import torch
from torch.nn import functional

HERE = os.path.dirname(os.path.abspath(__file__))
# The gradient of a key's bias is 0 except for rounding; a smaller epsilon would amplify this noise.
STEPS, RATE, BETAS, EPSILON, DECAY, CLIP = 10, 1e-3, (0.9, 0.99), 1e-5, 0.1, 0.5

CURVES = {
    "gelu_new": lambda x: functional.gelu(x, approximate="tanh"),
    "gelu": functional.gelu,
    "relu": functional.relu,
    "relu2": lambda x: functional.relu(x).square(),
    "silu": functional.silu,
    "tanh": torch.tanh,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}

# name, texts, tokens, config; 70 tokens are one whole block of attention and a part of the next
CASES = (
    ("tied", 3, 70, {"vocab_size": 11, "n_positions": 72, "n_embd": 8, "n_layer": 2, "n_head": 2}),
    ("untied", 2, 5, {"vocab_size": 7, "n_positions": 5, "n_embd": 12, "n_layer": 3, "n_head": 3,
                      "n_inner": 10, "tie_word_embeddings": False, "activation_function": "gelu",
                      "scale_attn_by_inverse_layer_idx": True, "layer_norm_epsilon": 1e-3}),
    ("relu", 2, 3, {"activation_function": "relu"}),
    ("silu", 2, 3, {"activation_function": "silu"}),
    ("tanh", 2, 3, {"activation_function": "tanh"}),
    ("quick_gelu", 2, 3, {"activation_function": "quick_gelu"}),
)
SMALL = {"vocab_size": 5, "n_positions": 4, "n_embd": 6, "n_layer": 1, "n_head": 2, "n_inner": 7}


def shapes(config):
    channels, inner = config["n_embd"], config.get("n_inner", 4 * config["n_embd"])
    yield "wte.weight", (config["vocab_size"], channels)
    yield "wpe.weight", (config["n_positions"], channels)
    for layer in range(config["n_layer"]):
        at = "h.%d." % layer
        for norm in ("ln_1", "ln_2"):
            yield at + norm + ".weight", (channels,)
            yield at + norm + ".bias", (channels,)
        for name, rows, columns in (("attn.c_attn", channels, 3 * channels),
                                    ("attn.c_proj", channels, channels),
                                    ("mlp.c_fc", channels, inner), ("mlp.c_proj", inner, channels)):
            yield at + name + ".weight", (rows, columns)
            yield at + name + ".bias", (columns,)
    yield "ln_f.weight", (channels,)
    yield "ln_f.bias", (channels,)
    if not config.get("tie_word_embeddings", True):
        yield "lm_head.weight", (config["vocab_size"], channels)


def norm(w, name, x, config):
    return functional.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"],
                                 config.get("layer_norm_epsilon", 1e-5))


def affine(w, name, x):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def attend(w, layer, x, config):
    texts, tokens, channels = x.shape
    heads = config["n_head"]
    scale = (channels // heads) ** -0.5
    if config.get("scale_attn_by_inverse_layer_idx"):
        scale /= layer + 1
    q, k, v = (part.reshape(texts, tokens, heads, -1).transpose(1, 2)
               for part in affine(w, "h.%d.attn.c_attn" % layer, x).split(channels, dim=2))
    scores = q @ k.transpose(2, 3) * scale
    future = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
    context = scores.masked_fill(future, -torch.inf).softmax(dim=3) @ v
    return affine(w, "h.%d.attn.c_proj" % layer, context.transpose(1, 2).reshape(x.shape))


def loss_of(w, ids, targets, config):
    x = w["wte.weight"][ids] + w["wpe.weight"][:ids.shape[1]]
    for layer in range(config["n_layer"]):
        at = "h.%d." % layer
        x = x + attend(w, layer, norm(w, at + "ln_1", x, config), config)
        curve = CURVES[config.get("activation_function", "gelu_new")]
        inner = curve(affine(w, at + "mlp.c_fc", norm(w, at + "ln_2", x, config)))
        x = x + affine(w, at + "mlp.c_proj", inner)
    head = w.get("lm_head.weight", w["wte.weight"])
    logits = norm(w, "ln_f", x, config) @ head.T
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())


def draw(config):
    weights = {}
    for name, shape in shapes(config):
        middle = 1.0 if "ln_" in name and name.endswith("weight") else 0.0
        weights[name] = (middle + 0.3 * torch.randn(shape)).double().requires_grad_()
    return weights


def train(w, ids, targets, config, loss_of):
    """Take ten steps; return the loss and the gradients of the first."""
    groups = [{"params": [t for t in w.values() if t.dim() == 2], "weight_decay": DECAY},
              {"params": [t for t in w.values() if t.dim() != 2], "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=RATE, betas=BETAS, eps=EPSILON)
    first = None
    for step in range(STEPS):
        optimiser.zero_grad()
        loss = loss_of(w, ids[step], targets[step], config)
        loss.backward()
        first = first or (loss.detach(), {name: t.grad.clone() for name, t in w.items()})
        torch.nn.utils.clip_grad_norm_(w.values(), CLIP)
        optimiser.step()
    return first


def write(path, tensors, notes):
    header, data = {"__metadata__": notes}, b""
    for name, tensor in tensors.items():
        values = tensor.detach().float().contiguous()
        body = values.numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(values.shape),
                        "data_offsets": [len(data), len(data) + len(body)]}
        data += body
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def record(name, config, w, texts, loss_of):
    """Train a model and write the two files of a case."""
    ids, targets = texts
    tensors = {"w." + key: t.detach().clone() for key, t in w.items()}
    loss, gradients = train(w, ids, targets, config, loss_of)
    tensors.update({"g." + key: t for key, t in gradients.items()})
    tensors.update({"t." + key: t for key, t in w.items()})
    tensors.update({"ids": ids, "targets": targets, "loss": loss.reshape(1)})
    write(os.path.join(HERE, name + ".safetensors"), tensors, {"made by": "golden.py"})
    with open(os.path.join(HERE, name + ".json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
        file.write("\n")


def main():
    torch.manual_seed(2017)
    for name, texts, tokens, settings in CASES:
        config = settings if "vocab_size" in settings else {**SMALL, **settings}
        w = draw(config)
        stream = torch.randint(config["vocab_size"], (STEPS, texts, tokens + 1))
        record(name, {"model_type": "gpt2", **config}, w, (stream[:, :, :-1], stream[:, :, 1:]),
               loss_of)


if __name__ == "__main__":
    main()
