"""Those who are compared. What one of them can be measured in is a method that returns seconds:

    prefill(tokens)     a text in one pass, without logits
    capture(tokens)     the same, giving the attention of every head
    decode(cached)      one token more with so many in the cache, and its logits
    greedy(cached)      the same, and of the logits only which is the largest
    batch(texts)        many texts of 12 tokens in one pass
    head(texts)         a whole process: the attention of one head, a CSV file for each text
    mean(texts)         the mean attention of every head over texts of 4 to 40 tokens

`texts` is a number: so many texts. outputs() are the logits and the attention of a text,
continuation() the likeliest tokens that follow it.
"""
import json
import os
import shutil
import subprocess
import sys
import time

import numpy
import torch

from checkpoint import map_tensors
from gpt2 import GPT2

HERE = os.path.dirname(os.path.abspath(__file__))
LAYER, HEAD = "5", "3"
WORDS = 50257


def texts_of(count, tokens):
    """Ids that jump about in the vocabulary."""
    ids = [(7919 * i + 13) % WORDS for i in range(count * tokens)]
    return [ids[i : i + tokens] for i in range(0, len(ids), tokens)]


def mixed_texts(count):
    """Texts of 4 to 40 tokens."""
    lengths = [4 + 7919 * i % 37 for i in range(count)]
    ids = iter(texts_of(1, sum(lengths))[0])
    return [[next(ids) for _ in range(length)] for length in lengths]


def head_texts(count):
    return texts_of(count, 6 if count == 1 else 12)


def process(*command):
    """How long a process takes, from its start until it is gone; what it prints goes nowhere."""
    silence = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, file_actions=silence)
    _, status = os.waitpid(child, 0)
    seconds = time.perf_counter() - start
    if status:
        raise RuntimeError(f"{' '.join(command)}: ended with {status:#x}")
    return seconds


class Peer:
    def __init__(self, folder):
        self.folder, self.model = folder, f"{folder}/gpt2"
        self.out = f"{folder}/out/{type(self).__name__}"
        os.makedirs(self.out, exist_ok=True)

    def ids_file(self, count):
        path = f"{self.folder}/{count}.json"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(head_texts(count), file)
        return path


class Ours(Peer):
    name = "attn-cli"

    def __init__(self, folder, program):
        super().__init__(folder)
        self.program = program

    def bench(self, task, *tokens):
        command = [self.program, "bench", self.model, "--threads", "1", "--repeat", "1", "--json",
                   "--quiet"]
        found = subprocess.check_output([*command, "--only", task, *tokens])
        return json.loads(found)["results"][0]["seconds"]

    def prefill(self, tokens):
        return self.bench("prefill", "--tokens", str(tokens))

    def capture(self, tokens):
        return self.bench("capture", "--tokens", str(tokens))

    def decode(self, _):
        return self.bench("decode")

    def greedy(self, _):
        return self.bench("greedy")

    def batch(self, _):
        return self.bench("batch")

    def run(self, *options):
        return process(self.program, "run", "--quiet", "--threads", "1", *options)

    def head(self, count):
        """One text by its ids; many as sentences, which are tokenized, too."""
        chosen = ["--layer", LAYER, "--head", HEAD, "--format", "csv", "-o", f"{self.out}/",
                  "--force"]
        if count == 1:
            ids = ",".join(map(str, head_texts(1)[0]))
            return self.run("-m", self.model, "--ids", ids, *chosen)
        with open(f"{self.folder}/texts", "w", encoding="utf-8") as file:
            file.writelines(" ".join(f"w{i}" for i in t) + "\n" for t in head_texts(count))
        return self.run("-m", f"{self.folder}/words", "-f", f"{self.folder}/texts", *chosen)

    def mean(self, count):
        """A whole process, from the file to the table."""
        with open(f"{self.folder}/mixed.jsonl", "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"ids": text}) + "\n" for text in mixed_texts(count))
        return process(self.program, "batch", f"{self.folder}/mixed.jsonl", "-m", self.model,
                       "--reduce", "mean", "--format", "tidy", "--threads", "1", "-q")

    def ideal_mean(self, count):
        """As many tokens at the speed of one long text, nothing watched."""
        return sum(map(len, mixed_texts(count))) * self.prefill(512) / 512

    def outputs(self, text):
        path = f"{self.out}/ours.safetensors"
        self.run("-m", self.model, "--ids", ",".join(map(str, text)), "--show", "weights,logits",
                 "--layer", "all", "-o", path, "--force")
        tensors = map_tensors(path)
        weights = [tensors[f"h.{layer}.weights"] for layer in range(len(tensors) - 1)]
        return tensors["logits"], numpy.stack(weights)

    def continuation(self, text, count):
        command = [self.program, "generate", "-m", self.model, "-n", str(count), "--no-stop"]
        found = subprocess.check_output([*command, "--ids", ",".join(map(str, text))])
        return list(map(int, found.split(b",")))[len(text):]


class PyTorch(Peer):
    name, version = "PyTorch", torch.__version__

    def __init__(self, folder):
        super().__init__(folder)
        self.gpt2 = GPT2(self.model)

    def run(self, texts):
        ids = torch.tensor(texts)
        start = time.perf_counter()
        self.gpt2(ids)
        return time.perf_counter() - start

    def prefill(self, tokens):
        return self.run(texts_of(1, tokens))

    def capture(self, tokens):
        return self.run(texts_of(1, tokens))  # attention is there in any case

    def decode(self, cached):
        ids = torch.tensor(texts_of(1, cached + 1))
        _, _, presents = self.gpt2(ids[:, :cached])
        start = time.perf_counter()
        x, _, _ = self.gpt2(ids[:, cached:], presents)
        self.gpt2.unembed(x)
        return time.perf_counter() - start

    def greedy(self, cached):
        ids = torch.tensor(texts_of(1, cached + 1))
        _, _, presents = self.gpt2(ids[:, :cached])
        start = time.perf_counter()
        x, _, _ = self.gpt2(ids[:, cached:], presents)
        self.gpt2.unembed(x).argmax()
        return time.perf_counter() - start

    def continuation(self, text, count):
        found, fresh, presents = [], text, None
        for _ in range(count):
            x, _, presents = self.gpt2(torch.tensor([fresh]), presents)
            fresh = [int(self.gpt2.unembed(x[0, -1]).argmax())]
            found += fresh
        return found

    def batch(self, count):
        return self.run(texts_of(count, 12))

    def head(self, count):
        return process(sys.executable, f"{HERE}/one_head.py", "torch", self.model,
                       self.ids_file(count), LAYER, HEAD, self.out)

    def mean(self, count, batch=32):
        """Padded at the end, where the causal mask hides it; the model is loaded already."""
        texts = mixed_texts(count)
        longest = max(map(len, texts))
        config = self.gpt2.config
        start = time.perf_counter()
        total = torch.zeros(config.n_layer, config.n_head, longest, longest)
        seen = torch.zeros(longest, 1)
        for first in range(0, count, batch):
            part = texts[first : first + batch]
            width = max(map(len, part))
            _, attention, _ = self.gpt2(torch.tensor([t + [0] * (width - len(t)) for t in part]))
            real = (torch.arange(width) < torch.tensor([[len(t)] for t in part])).float()
            for layer, weights in enumerate(attention):
                total[layer, :, :width, :width] += (weights * real[:, None, :, None]).sum(0)
            seen[:width, 0] += real.sum(0)
        self.means = total / seen
        return time.perf_counter() - start

    def outputs(self, text):
        x, weights, _ = self.gpt2(torch.tensor([text]))
        return self.gpt2.unembed(x)[0].numpy(), torch.cat(weights).numpy()


class OnnxRuntime(Peer):
    name = "ONNX Runtime"

    def __init__(self, folder, layers=12):
        super().__init__(folder)
        self.weights = [f"weights.{layer}" for layer in range(layers)]
        self.node = shutil.which("node")
        with open(f"{folder}/package.json", encoding="utf-8") as file:
            self.version = json.load(file)["devDependencies"]["onnxruntime-node"]
        self.server = subprocess.Popen([self.node, f"{HERE}/onnx.mjs"], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, graph, texts, fetch, **more):
        request = {"graph": f"{self.folder}/{graph}.onnx", "texts": texts, "fetch": fetch, **more}
        print(json.dumps(request), file=self.server.stdin, flush=True)
        return json.loads(self.server.stdout.readline())["seconds"]

    def prefill(self, tokens):
        return self.run("plain", texts_of(1, tokens), ["ln_f"])

    def capture(self, tokens):
        return self.run("attention", texts_of(1, tokens), ["ln_f", *self.weights])

    def decode(self, cached):
        """The keys and values must come out again: they are what the next token looks at."""
        presents = [f"present.{kv}.{layer}" for layer in range(len(self.weights)) for kv in "kv"]
        return self.run("cache", texts_of(1, 1), ["logits", *presents], past=cached)

    def batch(self, count):
        return self.run("plain", texts_of(count, 12), ["ln_f"])

    def head(self, count):
        return process(self.node, f"{HERE}/onnx.mjs", f"{self.folder}/attention.onnx",
                       self.ids_file(count), LAYER, HEAD, self.out)

    def outputs(self, text):
        path = f"{self.out}/onnx.f32"
        self.run("cache", [text], ["logits", *self.weights], write=path)
        found = numpy.fromfile(path, numpy.float32)
        logits, weights = numpy.split(found, [len(text) * WORDS])
        square = (len(text), len(text))
        return logits.reshape(-1, WORDS), weights.reshape(len(self.weights), -1, *square)


class Numpy(Peer):
    name, version = "numpy", numpy.__version__

    def head(self, count):
        return process(sys.executable, f"{HERE}/one_head.py", "numpy", self.model,
                       self.ids_file(count), LAYER, HEAD, self.out)
