"""attn-cli beside llama.cpp and PyTorch: decoders of one shape, same weights, one thread each.

    python3 decoders.py ATTN FOLDER...      each FOLDER as run.sh has made it

llama.cpp keeps keys and values in float16, as it usually does; logits are compared with those that
it computes with a float32 cache, too, where it rounds nothing.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import numpy
import torch

from checkpoint import read_config
from gpt2 import GPT2
from llama import Llama
from rounds import ROUNDS, print_line, print_row

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENS, CACHED, TIMES = 256, 64, 3
TASKS, KINDS = ("prefill", "decode"), 4
FLOAT32_CACHE = {"kvCacheKeyType": 0, "kvCacheValueType": 0, "flashAttention": False}


class Ours:
    def __init__(self, program, model, precision="fp32"):
        self.program, self.model, self.precision = program, model, precision

    def bench(self, task, *options):
        command = [self.program, "bench", self.model, "--threads", "1", "--repeat", str(TIMES)]
        command += ["--precision", self.precision, "--json", "--quiet", "--only", task, *options]
        results = json.loads(subprocess.check_output(command))["results"]
        return results[-1]["seconds"]

    def prefill(self):
        return self.bench("prefill", "--tokens", str(TOKENS))

    def decode(self):
        return self.bench("decode")

    def logits(self, ids):
        path = f"{self.model}/logits.npy"
        subprocess.check_call([self.program, "run", "-m", self.model, "--threads", "1", "--ids",
                               ",".join(map(str, ids)), "--show", "logits", "--precision",
                               self.precision, "-o", path, "--force"])
        return numpy.load(path)


class LlamaCpp:
    def __init__(self, path, ids, options):
        self.path, self.ids = path, ids
        command = [shutil.which("node"), f"{HERE}/llama.mjs", path, json.dumps(options)]
        self.server = subprocess.Popen(command, text=True, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)

    def ask(self, **request):
        print(json.dumps(request), file=self.server.stdin, flush=True)
        return json.loads(self.server.stdout.readline())["seconds"]

    def median(self, **request):
        return statistics.median(self.ask(**request) for _ in range(TIMES))

    def prefill(self):
        return self.median(ids=self.ids)

    def decode(self):
        return self.median(ids=self.ids[: CACHED + 1], cached=CACHED)

    def logits(self, ids):
        self.ask(ids=ids, write=f"{self.path}.logits")
        return numpy.fromfile(f"{self.path}.logits", numpy.float32).reshape(len(ids), -1)

    def close(self):
        self.server.stdin.close()
        self.server.wait()


class PyTorch:
    def __init__(self, folder, ids):
        gpt2 = read_config(folder).model_type == "gpt2"
        self.model, self.ids = (GPT2 if gpt2 else Llama)(folder), torch.tensor([ids])

    def prefill(self):
        start = time.perf_counter()
        self.model(self.ids)
        return time.perf_counter() - start

    def decode(self):
        *_, presents = self.model(self.ids[:, :CACHED])
        start = time.perf_counter()
        x, *_ = self.model(self.ids[:, CACHED : CACHED + 1], presents)
        self.model.unembed(x)
        return time.perf_counter() - start

    def logits(self, ids):
        return self.model.unembed(self.model(torch.tensor([ids]))[0])[0].numpy()


def print_difference(name, ours, other):
    difference = numpy.abs(ours - other)
    same = (ours.argmax(-1) == other.argmax(-1)).mean()
    print_line(f"  {name}", [f"{difference.max():.1e}", f"{same:.0%}"])


def compare(program, folder, rows_left):
    """Like beside like: what computes in 16 bits beside what has 16 bits."""
    config = read_config(folder)
    ids = [(7919 * i + 13) % config.vocab_size for i in range(TOKENS)]
    halves = f"{folder}/bf16.gguf"
    kinds = [("float32 beside F32", Ours(program, folder), "f32"),
             ("a BF16 file in float32 beside BF16", Ours(program, halves), "bf16"),
             ("bf16 beside BF16, of one file", Ours(program, halves, "bf16"), "bf16"),
             ("bf16 beside F16", Ours(program, halves, "bf16"), "f16")]
    torch_peer = PyTorch(folder, ids)
    logits = kinds[0][1].logits(ids[:CACHED])
    print_line(os.path.basename(folder), ["attn-cli", "llama.cpp", "PyTorch"])
    for name, ours, file in kinds:
        llama = LlamaCpp(f"{folder}/{file}.gguf", ids, {})
        peers = [ours, llama, torch_peer if file == "f32" else None]
        print(name)
        for task in TASKS:
            print_row(f"  {task}", [peer and getattr(peer, task) for peer in peers], rows_left)
            rows_left -= 1
        llama.close()
    print_line(f"logits up to {numpy.abs(logits).max():.3g} of", ["off by", "same likeliest"])
    print_difference("PyTorch", logits, torch_peer.logits(ids[:CACHED]))
    for name, options in ("llama.cpp", FLOAT32_CACHE), ("… with a float16 cache", {}):
        llama = LlamaCpp(f"{folder}/f32.gguf", ids, options)
        print_difference(name, logits, llama.logits(ids[:CACHED]))
        llama.close()
    print()


def main():
    program, *folders = map(os.path.abspath, sys.argv[1:])
    print(f"Random weights, one thread; medians over {ROUNDS} rounds, in milliseconds of attn-cli,"
          f"\nand how many times as long others take: a text of {TOKENS} tokens, and one token "
          f"more\nwith {CACHED} in the cache and its logits.\n")
    for i, folder in enumerate(folders):
        compare(program, folder, (len(folders) - i) * KINDS * len(TASKS))


main()
