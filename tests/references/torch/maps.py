"""Compare maps of ablations and metrics with hooks of transformers in float64.

    python3 tests/references/torch/maps.py ATTN [COUNT [CASES.csv]]

Draws COUNT settings (default 100): a model, a text of random ids, an answer, --with, --reference
and --metric; each head and each MLP is off in turn. Prints the largest difference of all cells, and
fails above LIMIT. With CASES.csv, writes a row for each cell of the first settings: the arguments,
the layer, the part and the number by hooks, which tests/cli/patch/maps_agree_with_hooks reads.
"""
import csv
import json
import random
import subprocess
import sys
import tempfile

import numpy
import torch
from transformers import AutoModelForCausalLM

LIMIT = 2e-5
WRITTEN = 12
MODELS = ["models/tiny", "tests/references/golden-families/llama", "tests/references/golden-families/gpt_neox",
          "tests/references/golden-families/mistral", "tests/references/golden-families/qwen2",
          "tests/references/golden-families/gpt_neo"]
METRICS = ["logit", "probability", "logprob", "kl", "js", "cosine"]
NAMES = {"gpt2": ("transformer.h", "attn.c_proj"), "gpt_neo": ("transformer.h", "attn.attention.out_proj"),
         "gpt_neox": ("gpt_neox.layers", "attention.dense")}


class Hooked:
    """A model whose heads and MLPs are captured, and one of them replaced."""

    def __init__(self, path):
        self.model = AutoModelForCausalLM.from_pretrained(
            path, dtype=torch.float64, attn_implementation="eager").eval()
        config = self.model.config
        layers, projection = NAMES.get(config.model_type, ("model.layers", "self_attn.o_proj"))
        self.layers = self.model.get_submodule(layers)
        self.heads, self.vocabulary = config.num_attention_heads, config.vocab_size
        self.values, self.patch, self.last = {}, None, None
        for i, layer in enumerate(self.layers):
            layer.get_submodule(projection).register_forward_pre_hook(
                lambda _, given, i=i: (self.at(i, given[0], True),))
            layer.mlp.register_forward_hook(lambda *given, i=i: self.at(i, given[2], False))
        self.layers[-1].register_forward_hook(self.keep_last)

    def keep_last(self, *given):
        out = given[2][0] if isinstance(given[2], tuple) else given[2]
        self.last = out.reshape(-1, out.shape[-1])[-1]

    def at(self, layer, x, of_heads):
        """Keep the values of a place, [parts, T, channels], and replace those of the patch."""
        wide = x[0] if x.dim() == 3 else x
        parts = wide.reshape(len(wide), self.heads if of_heads else 1, -1).transpose(0, 1).clone()
        self.values[layer, of_heads] = parts
        if self.patch and self.patch[:2] == (layer, of_heads):
            parts = parts.clone()
            parts[self.patch[2]] = self.patch[3]
        return parts.transpose(0, 1).reshape(x.shape)

    def run(self, ids, patch=None):
        self.patch = patch
        with torch.no_grad():
            return self.model(torch.tensor([ids])).logits[0, -1], self.last


def measure(metric, found, clean, answer, direction):
    logits, last = found
    logprob, base = logits.log_softmax(-1), clean[0].log_softmax(-1)
    if metric == "cosine":
        return torch.cosine_similarity(last, direction, dim=0)
    if metric == "kl":
        return (base.exp() * (base - logprob)).sum()
    if metric == "js":
        middle = ((base.exp() + logprob.exp()) / 2).log()
        return ((base.exp() * (base - middle)).sum() + (logprob.exp() * (logprob - middle)).sum()) / 2
    row = {"logit": logits, "probability": logprob.exp(), "logprob": logprob}[metric]
    return row[answer[0]] - (row[answer[1]] if len(answer) > 1 else 0)


def draw(models, rng, folder, number):
    path = rng.choice(MODELS)
    model = models.setdefault(path, None) or models.update({path: Hooked(path)}) or models[path]
    text = [rng.randrange(model.vocabulary) for _ in range(rng.randrange(2, 9))]
    answer = rng.sample(range(model.vocabulary), rng.choice([1, 2]))
    metric, way = METRICS[number % 6], ["zero", "mean", "reference", "resample"][number // 6 % 4]
    clean = model.run(text)
    values = dict(model.values)
    width = clean[1].shape[0]
    direction = torch.tensor([rng.gauss(0, 1) for _ in range(width)], dtype=torch.float32)
    if path == "models/tiny":  # whose answers are texts: the most likely token
        answer = [int(clean[0].argmax())]
    words = ["patch", "-m", path, "--ids", "--clean", ",".join(map(str, text)), "--with", {"reference": "mean"}.get(way, way)]
    if path != "models/tiny":
        words += ["--answer", ":".join(map(str, answer))]
    if metric == "cosine":
        numpy.save(f"{folder}/{number}.npy", direction.numpy())
        words += ["--metric", f"cosine:@{folder}/{number}.npy"]
    else:
        words += ["--metric", metric]
    if way == "zero":
        means = {key: torch.zeros_like(value) for key, value in values.items()}
    elif way == "mean":
        means = {key: value.mean(1, keepdim=True).expand_as(value) for key, value in values.items()}
    else:
        count = 1 if way == "resample" else 3
        texts = [[rng.randrange(model.vocabulary) for _ in range(len(text) + rng.randrange(3))]
                 for _ in range(count)]
        with open(f"{folder}/{number}.jsonl", "w", encoding="ascii") as file:
            file.writelines(json.dumps({"ids": one}) + "\n" for one in texts)
        words += ["--reference", f"{folder}/{number}.jsonl"]
        kept = []
        for one in texts:
            model.run(one)
            kept.append(dict(model.values))
        means = {key: sum(one[key][:, :len(text)] for one in kept) / count for key in values}
    wanted = {}
    for layer in range(len(model.layers)):
        for part in [*range(model.heads), "mlp"]:
            of_heads = part != "mlp"
            at = part if of_heads else 0
            found = model.run(text, (layer, of_heads, at, means[layer, of_heads][at]))
            wanted[layer, str(part)] = float(
                measure(metric, found, clean, answer, direction.double()))
    return words, metric, wanted


def main():
    attn, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    rng, models, worst, cells, rows = random.Random(5), {}, 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            words, metric, wanted = draw(models, rng, folder, number)
            done = subprocess.run([attn, *words, "--show", metric, "--format", "tidy"],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{words}: {done.stderr}")
            found = {}
            for row in csv.DictReader(done.stdout.splitlines()):
                part = row["head"] or row["column_token"]
                found[row["layer"], part] = float(row["value"])
            for (layer, part), value in wanted.items():
                gap = abs(found[str(layer), part] - value) / max(1, abs(value))
                worst, cells = max(worst, gap), cells + 1
                if gap > LIMIT:
                    sys.exit(f"{words}: layer {layer} {part}: expected {value}, "
                             f"found {found[str(layer), part]}")
                if len(sys.argv) > 3 and not {"--reference"} & set(words) and metric != "cosine":
                    rows.append([" ".join([*words, "--show", metric]), layer, part, f"{value:.9g}"])
    if len(sys.argv) > 3:
        keep = list(dict.fromkeys(row[0] for row in rows))[:WRITTEN]
        with open(sys.argv[3], "w", encoding="ascii", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(row for row in rows if row[0] in keep)
    print(f"{count} settings, {cells} cells: largest difference {worst:.2g}")


if __name__ == "__main__":
    main()
