"""Compare the training speed of attn-cli and PyTorch, in tokens per second, on the same shapes.

    OPENBLAS_NUM_THREADS=2 OMP_NUM_THREADS=2 python3 tests/references/peers/training.py build/attn-cli

Steps of AdamW with clipping, fp32, no dropout. Both are measured ROUNDS times in turn; the best
round counts. Uses Debian's PyTorch, which needs OpenBLAS (libopenblas0-pthread) to be fast.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional

ROUNDS, STEPS, VOCABULARY = 3, 12, 1024
# channels, layers, heads, texts, tokens
SHAPES = ((96, 2, 4, 32, 64), (256, 4, 4, 16, 128))
THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.attn, self.proj = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.fc, self.out = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x, future):
        texts, tokens, channels = x.shape
        q, k, v = (part.view(texts, tokens, self.heads, -1).transpose(1, 2)
                   for part in self.attn(self.ln_1(x)).split(channels, 2))
        scores = q @ k.transpose(2, 3) * (channels // self.heads) ** -0.5
        context = scores.masked_fill(future, -torch.inf).softmax(3) @ v
        x = x + self.proj(context.transpose(1, 2).reshape(x.shape))
        return x + self.out(functional.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, channels, layers, heads, tokens):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCABULARY, channels), nn.Embedding(tokens, channels)
        self.blocks = nn.ModuleList([Block(channels, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(channels)
        self.register_buffer("future", torch.ones(tokens, tokens, dtype=torch.bool).triu(1))

    def forward(self, ids):
        x = self.words(ids) + self.places.weight
        for block in self.blocks:
            x = block(x, self.future)
        return self.norm(x) @ self.words.weight.T


def of_torch(channels, layers, heads, texts, tokens):
    torch.set_num_threads(THREADS)
    model = Model(channels, layers, heads, tokens)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    began = 0.0
    for step in range(STEPS + 2):
        if step == 2:
            began = time.perf_counter()
        ids = torch.randint(VOCABULARY, (texts, tokens + 1))
        optimiser.zero_grad()
        logits = model(ids[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return STEPS * texts * tokens / (time.perf_counter() - began)


def of_attn(folder, shape):
    channels, layers, heads, texts, tokens = shape
    path = os.path.join(folder, "model")
    config = {"model_type": "gpt2", "vocab_size": VOCABULARY, "n_embd": channels,
              "n_layer": layers, "n_head": heads, "n_positions": tokens}
    for name, text in (("config.json", json.dumps(config)),
                       ("vocab.json", json.dumps(["w%d" % i for i in range(VOCABULARY)])),
                       ("texts", "".join("w%d\n" % (i * 7919 % VOCABULARY) for i in range(20000)))):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run([sys.argv[1], "train", "-q", "--force", "--data", folder + "/texts", "--config",
                    folder + "/config.json", "--vocab", folder + "/vocab.json", "--steps",
                    str(STEPS), "--batch-size", str(texts), "--context", str(tokens), "--threads",
                    str(THREADS), "--save-every", "1000000", "-o", path], check=True)
    with open(os.path.join(path, "log.csv"), encoding="utf-8") as file:
        return float(file.readlines()[-1].split(",")[-1])


def main():
    print("%d threads, tokens a second        PyTorch   attn-cli  ratio" % THREADS)
    for shape in SHAPES:
        best = [0.0, 0.0]
        for _ in range(ROUNDS):
            best[0] = max(best[0], of_torch(*shape))
            with tempfile.TemporaryDirectory() as folder:
                best[1] = max(best[1], of_attn(folder, shape))
        print("%4d channels, %d layers, %2d x %3d  %9.0f  %9.0f  %5.2f" %
              (shape[0], shape[1], shape[3], shape[4], *best, best[1] / best[0]))


if __name__ == "__main__":
    main()
