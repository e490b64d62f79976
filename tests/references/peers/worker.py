"""A program with its model loaded: reads requests as lines of JSON, answers with lines of seconds.

    python worker.py PROGRAM MODELS GRAPHS THREADS f32|Q4_1|bf16 MODEL

MODEL is smollm2 or a shape of hybrids.py. PROGRAM is attn, bench, eager, sdpa, onnx or llama. A request is {"task": "prefill", "tokens": 64}.
Tasks: prefill, a text in one pass without logits; capture, the same with the attention of every
head; first, the prefill of a model that was just opened; decode, one more token after that many,
with its logits. The answer is the fastest of the passes that fit into SECONDS (at least one), or
null if a program cannot do a task. CLOCK=processor measures the time of processors instead.
"""
import json
import os
import subprocess
import sys
import time

import numpy

PEER, MODELS, GRAPHS, THREADS, PRECISION, MODEL = sys.argv[1:]
GGUF = {"Q4_1": f"{MODELS}/SmolLM2-135M-Instruct.Q4_1.gguf"}
WORDS = 49152
SECONDS = 0.05
OF_PROCESSOR = os.environ.get("CLOCK") == "processor"
clock = time.process_time if OF_PROCESSOR else time.perf_counter


def ids_of(count):
    """Ids spread over the vocabulary."""
    return [(7919 * i + 13) % WORDS for i in range(count)]


class Attn:
    """attn-cli's library, whose callback gets tensors without a copy. It packs weights at the second
    run of a model."""

    def __init__(self):
        import attn

        attn.Run._take = lambda run, tensor: None
        self.open = lambda: attn.Model(GGUF.get(PRECISION, f"{MODELS}/{MODEL}"), int(THREADS))
        self.model = self.open()

    def prefill(self, tokens, show="ln_f", model=None):
        ids, model = ids_of(tokens), model or self.model
        start = clock()
        model.run(ids, show=show)
        return clock() - start

    def capture(self, tokens):
        return self.prefill(tokens, "weights")

    def first(self, tokens):
        return self.prefill(tokens, model=self.open())

    def decode(self, cached):
        ids, cache = ids_of(cached + 1), self.model.cache()
        cache.step(ids[:-1], show="ln_f")
        start = clock()
        cache.step(ids[-1:])
        return clock() - start


class Bench:
    """`attn-cli bench`, for bf16, which the library does not have."""

    def prefill(self, tokens, task="prefill"):
        found = subprocess.check_output(
            [os.environ["ATTN"], "bench", f"{MODELS}/{MODEL}", "--threads", THREADS, "--repeat", "1",
             "--precision", PRECISION, "--format", "json", "--quiet", "--only", task, "--tokens",
             str(tokens)])
        return json.loads(found)["tables"]["bench"][0]["seconds"]

    def decode(self, cached):
        return self.prefill(cached, "decode")


class Transformers:
    """transformers: eager returns the attention; sdpa, PyTorch's fused kernel, does not."""

    def __init__(self):
        import torch
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(int(THREADS))
        torch.set_grad_enabled(False)
        self.torch = torch
        dtype = torch.float32 if PRECISION == "f32" else torch.bfloat16
        self.model = AutoModelForCausalLM.from_pretrained(
            f"{MODELS}/{MODEL}", dtype=dtype, attn_implementation=PEER).eval()

    def timed(self, model, ids, **options):
        ids = self.torch.tensor([ids])
        start = clock()
        model(ids, **options)
        return clock() - start

    def prefill(self, tokens):
        return self.timed(self.model.model, ids_of(tokens), use_cache=False)

    def capture(self, tokens):
        return self.timed(self.model.model, ids_of(tokens), use_cache=False,
                          output_attentions=True)

    def decode(self, cached):
        ids = ids_of(cached + 1)
        cache = self.model(self.torch.tensor([ids[:-1]]), use_cache=True).past_key_values
        return self.timed(self.model, ids[-1:], past_key_values=cache, use_cache=True)


class OnnxRuntime:
    def __init__(self):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(THREADS)
        self.open = lambda kind: onnxruntime.InferenceSession(
            f"{GRAPHS}/{kind}.onnx", options, providers=["CPUExecutionProvider"])
        self.sessions = {}

    def timed(self, kind, inputs):
        session = self.sessions.get(kind) or self.sessions.setdefault(kind, self.open(kind))
        start = clock()
        found = session.run(None, inputs)
        return clock() - start, session, found

    def prefill(self, tokens):
        return self.timed("plain", {"ids": numpy.array([ids_of(tokens)])})[0]

    def capture(self, tokens):
        return self.timed("attention", {"ids": numpy.array([ids_of(tokens)])})[0]

    def decode(self, cached):
        ids = ids_of(cached + 1)
        session = self.sessions.get("cache") or self.sessions.setdefault("cache",
                                                                         self.open("cache"))
        shape = session.get_inputs()[1].shape
        inputs = {entry.name: numpy.zeros((1, shape[1], cached, shape[3]), numpy.float32)
                  for entry in session.get_inputs()[1:]}
        return self.timed("cache", inputs | {"ids": numpy.array([ids[-1:]])})[0]


class LlamaCpp:
    """llama.cpp: keys and values in float16, its default; logits of the last token only."""

    def __init__(self):
        import llama

        self.llama = llama.Llama(GGUF.get(PRECISION, f"{MODELS}/{MODEL}-{PRECISION}.gguf"),
                                 threads=int(THREADS))

    def timed(self, **request):
        return self.llama.ask(**request)["processor" if OF_PROCESSOR else "seconds"]

    def prefill(self, tokens):
        return self.timed(ids=ids_of(tokens))

    def decode(self, cached):
        return self.timed(ids=ids_of(cached + 1), cached=cached)


def fastest(run, tokens):
    end, seconds = time.perf_counter() + SECONDS, []
    while not seconds or time.perf_counter() < end:
        seconds.append(run(tokens))
    return min(seconds)


def main():
    kinds = {"attn": Attn, "bench": Bench, "onnx": OnnxRuntime, "llama": LlamaCpp}
    program = kinds.get(PEER, Transformers)()
    for line in sys.stdin:
        request = json.loads(line)
        run = getattr(program, request["task"], None)
        print(json.dumps(run and fastest(run, request["tokens"])), flush=True)


main()
